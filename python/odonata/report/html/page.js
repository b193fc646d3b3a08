"use strict";
// The page's own script: colours of charts, links one by one, printing. No request is ever made.
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const choice = document.getElementById("scheme");
  const data = JSON.parse(document.getElementById("data").textContent);

  // --- Colours ---------------------------------------------------------------------------

  const INK = { light: "#1b1f24", dark: "#e6e9ed" };
  const QUIET = { light: "#57606a", dark: "#a3adb8" };
  const GRID = { light: "#e6e6e6", dark: "#333b44" };
  const PAGE = { light: "#ffffff", dark: "#15191e" };
  // Of each kind of part of a chart, what has which colour.
  const PARTS = {
    Title: { text_color: INK },
    Axis: {
      axis_label_text_color: INK, major_label_text_color: QUIET,
      axis_line_color: QUIET, major_tick_line_color: QUIET,
    },
    Grid: { grid_line_color: GRID },
    Legend: { label_text_color: INK },
    ColorBar: { title_text_color: INK, major_label_text_color: QUIET },
  };
  const ofKind = (model, kind) => model.type === kind || (kind === "Axis" && /Axis$/.test(model.type));
  let drawn = "light";

  function paint(scheme) {
    root.dataset.scheme = scheme;
    if (drawn === scheme || !window.Bokeh) return;
    const from = drawn;
    drawn = scheme;
    for (const page of Bokeh.documents) {
      for (const model of page._all_models.values()) {
        for (const [kind, colours] of Object.entries(PARTS)) {
          if (!ofKind(model, kind)) continue;
          const set = {};
          for (const [name, pair] of Object.entries(colours)) {
            // A grid that is not drawn stays so.
            if (model[name] !== null && model[name]?.value !== null) set[name] = pair[scheme];
          }
          model.setv(set);
        }
        if (/ColorMapper$/.test(model.type)) model.palette = [...model.palette].reverse();
        for (const name of ["line_color", "fill_color"]) {
          const value = model[name]?.value;
          if (value === "#000000" && scheme === "dark") model[name] = { value: "#ffffff" };
          else if (value === "#FFFFFF" || value === PAGE[from]) model[name] = { value: PAGE[scheme] };
          else if (value === "#ffffff" && from === "dark") model[name] = { value: "#000000" };
        }
      }
    }
  }
  const wanted = () => choice.value || (system.matches ? "dark" : "light");
  const repaint = () => paint(wanted());
  choice.addEventListener("change", repaint);
  system.addEventListener("change", repaint);
  root.dataset.scheme = wanted();

  // On paper all charts are light; drawing them takes a moment.
  function print() {
    const folded = [...document.querySelectorAll("main details:not([open])")];
    for (const one of folded) one.open = true;
    paint("light");
    setTimeout(() => {
      window.print();
      for (const one of folded) one.open = false;
      repaint();
    }, 300);
  }
  document.getElementById("print").addEventListener("click", print);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === "p") {
      event.preventDefault();
      print();
    }
  });

  // --- Text ------------------------------------------------------------------------------

  function withUnit(value, unit) {
    const prefixes = ["", "k", "M", "G", "T", "P"];
    let place = 0;
    while (value >= 999.5 && place < prefixes.length - 1) { value /= 1000; place += 1; }
    const digits = place === 0 && Number.isInteger(value) ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return `${value.toFixed(digits)} ${prefixes[place]}${unit}`;
  }
  const percent = (share) => `${(100 * share).toFixed(share && share < 0.01 ? 2 : 1)} %`;
  function element(tag, text, kind) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  }

  // --- Links one by one ------------------------------------------------------------------

  const MOST_ROWS = 200;

  function drill(section, links) {
    const box = section.querySelector(".drill");
    if (!box || !links) return;
    const [from, to, order] = ["from", "to", "order"].map((name) => box.querySelector(`.${name}`));
    const body = box.querySelector("tbody"), caption = box.querySelector("caption");
    const one = box.querySelector(".one");
    const several = !links.byRouter;
    const router = (r) => (several ? `r${r} (g${links.group[r]})` : `r${r}`);
    const end = (which, i) => {
      const at = links[`${which}Router`][i];
      return at < 0 ? `node ${links[`${which}Node`][i]}` : router(at);
    };
    const name = (i) => `${end("from", i)} → ${end("to", i)}`;
    const unit = (which, i) => {
      if (several) return links[`${which}Group`][i];
      const at = links[`${which}Router`][i];
      return at >= 0 ? at : links[`${which === "from" ? "to" : "from"}Router`][i];
    };
    const pairs = new Map();
    for (let i = 0; i < links.link.length; i += 1) {
      const key = `${unit("from", i)} ${unit("to", i)}`;
      if (!pairs.has(key)) pairs.set(key, []);
      pairs.get(key).push(i);
    }
    const units = (which) => [...new Set([...pairs.keys()].map((key) => +key.split(" ")[which]))]
      .sort((a, b) => a - b);
    const fill = (select, values) => select.replaceChildren(
      ...values.map((value) => Object.assign(element("option", String(value)), { value })));
    fill(from, units(0));
    fill(to, units(1));

    function show() {
      const found = [...(pairs.get(`${from.value} ${to.value}`) ?? [])];
      const by = links[order.value];
      found.sort((a, b) => by[b] - by[a] || a - b);
      const what = `${box.dataset.unit} ${from.value} to ${box.dataset.unit} ${to.value}`;
      caption.textContent = found.length === 0 ? `No link from ${what} is listed`
        : `${found.length} ${found.length === 1 ? "link" : "links"} from ${what}`
          + (found.length > MOST_ROWS ? `, the first ${MOST_ROWS} of them` : "");
      body.replaceChildren(...found.slice(0, MOST_ROWS).map(row));
      one.replaceChildren();
    }
    function row(i) {
      const line = element("tr");
      const first = element("th");
      first.scope = "row";
      const button = element("button", name(i));
      button.type = "button";
      button.addEventListener("click", () => {
        for (const other of body.children) other.removeAttribute("aria-current");
        line.setAttribute("aria-current", "true");
        detail(i);
      });
      first.append(button);
      line.append(first, element("td", links.classes[links.kind[i]]),
        element("td", percent(links.busy[i]), "figure"),
        element("td", percent(links.blocked[i]), "figure"),
        element("td", withUnit(links.bytes[i], "B"), "figure"));
      return line;
    }
    function detail(i) {
      const facts = element("dl", undefined, "facts");
      const rows = [
        ["link", `${name(i)} (${links.classes[links.kind[i]]}), row ${links.link[i]} of links.parquet`],
        ["bandwidth", withUnit(links.bandwidth[i], "B/s")],
        ["sent in the measured time", withUnit(links.bytes[i], "B")],
        ["busy", percent(links.busy[i])],
        ["free, but the buffer beyond was full", percent(links.blocked[i])],
      ];
      for (const [key, value] of rows) {
        const pair = element("div");
        pair.append(element("dt", key), element("dd", value));
        facts.append(pair);
      }
      one.replaceChildren(facts);
      if (!links.jobAt) return;
      const total = Math.max(links.bytes[i], 1);
      const list = element("ul");
      links.jobAt.forEach((at, k) => {
        if (at !== i) return;
        const share = links.jobBytes[k] / total;
        const entry = element("li", `${links.jobNames[links.job[k]]}: `
          + `${withUnit(links.jobBytes[k], "B")} (${percent(share)}) `);
        const bar = element("span", undefined, "bar");
        bar.style.width = `${Math.round(160 * share)}px`;
        entry.append(bar);
        list.append(entry);
      });
      one.append(element("p", "Sent by"), list);
    }
    for (const select of [from, to, order]) select.addEventListener("change", show);
    if (from.options.length) {
      // The first thing to see are the links where the most loaded one is.
      const busiest = links.link.findIndex((_, i) => links.fromRouter[i] >= 0 && links.toRouter[i] >= 0);
      const first = Math.max(busiest, 0);
      from.value = String(unit("from", first));
      to.value = String(unit("to", first));
    }
    show();
    return (row, column) => {
      from.value = String(row);
      to.value = String(column);
      show();
    };
  }

  // --- Charts ----------------------------------------------------------------------------

  const choose = new Map();
  for (const [key, section] of Object.entries(data)) {
    const chosen = drill(document.getElementById(key), section.links);
    if (chosen) choose.set(key, chosen);
  }
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        const range = document.createRange();
        range.selectNodeContents(button.parentElement.querySelector("code"));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        button.textContent = "Selected";
      }
    });
  }

  // A cell of a map of loads leads to its links.
  function connect(page) {
    for (const model of page._all_models.values()) {
      if (model.type !== "ColumnDataSource" || !/^pairs /.test(model.name ?? "")) continue;
      const chosen = choose.get(model.name.slice(6));
      if (!chosen) continue;
      model.selected.properties.indices.change.connect(() => {
        const [at] = model.selected.indices;
        if (at !== undefined) chosen(model.data.row[at], model.data.column[at]);
      });
    }
  }
  const charts = document.querySelectorAll("main figure > div[data-root-id]").length;
  function ready() {
    const there = window.Bokeh && Bokeh.documents.length > 0
      && Bokeh.documents.reduce((sum, page) => sum + page.roots().length, 0) >= charts;
    if (charts && !there) { setTimeout(ready, 20); return; }
    if (charts) for (const page of Bokeh.documents) connect(page);
    repaint();
    root.dataset.ready = "true";
  }
  ready();
})();
