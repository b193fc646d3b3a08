"""``docs/scenario.md`` from the JSON Schema of scenario files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from generators.scenario_examples import EXAMPLES
from odonata.scenario.schema import scenario_schema
from odonata.units import Rate

Schema = Mapping[str, Any]

#: What a row says of its key at most, and what a cell holds at most, in characters.
LONGEST_LINE = 200
LONGEST_CELL = 300
#: Keys by which a table says what it is.
CHOOSERS = ("family", "kind", "pattern", "level")

INTRODUCTION = """\
# Scenario files

A scenario says what is wired, how packets are routed, and which jobs send what. It is a
[TOML](https://toml.io) file, which `odonata run FILE` simulates. The bundled example:

```toml
{example}```

- A quantity is a text with a unit: `"100 ns"`, `"4 KiB"`, `"16 GB/s"`. kB, MB, GB are powers of
  1000; KiB, MiB, GiB are powers of 1024. A number without a unit is an error.
- Simulated times and durations are at most 50 days; latencies, delays and overheads of links,
  routers, interfaces and MPI are at most 1 h. If a run has no `duration` and its jobs are not done
  after 50 days, it ends with an error that names one of these jobs.
- Paths are relative to the scenario file.
- A wrong key, unit or value is an error that names the file, the line, the key, what was found and
  what is allowed. All mistakes of a file are reported at once.
- `--set` changes a key for one run: `odonata run FILE --set network.routing=valiant --set
  job.0.motif.message="1 MB"`. Jobs are numbered from 0.
- `odonata schema` prints the JSON Schema from which this page is generated. With this schema, an
  editor completes and checks scenario files as you type.

Keys in **bold** are required.
"""

#: The sections of tables, in their order: name, level and heading, where the table stands. What is
#: not here is described where it is used.
SECTIONS = {
    name: (level, heading, where)
    for name, level, heading, where in re.findall(
        r"(?m)^(\w+) \| (#+) (.*?) \| (.*)$",
        """\
Routing | ### Routing | `[network.routing]`
OpticalLayer | ### Optical switches | `[network.optical]` with `family` = `fat-tree`; see [steering](optical-switches.md#steered-fat-trees)
NamedLink | ### Link classes of a wiring file | `[network.links]` with `family` = `edge-list`, `graphml`, `gml` or `anynet`, by class name
Router | ### Routers | `[network.router]`
TrafficClass | #### Traffic classes | `[[network.router.traffic_class]]`; see [traffic classes](congestion-control.md#traffic-classes)
Nic | ### Network interfaces | `[network.nic]`
CongestionControl | #### Congestion control | `[network.nic.congestion_control]`
Failures | ## Failures | `[failures]`; see [failures](failures.md)
LinkFailure | ### Failed links | `[failures] links = [ { routers = …, … }, … ]`
Outage | ### Outages | `[failures] outages = [ { routers = …, at = … }, … ]`
DrawnFailures | ### Failures at random | `[failures] draw = [ { part = …, … }, … ]`
Node | ## Nodes | `[node]`; see [nodes with an inside](topologies.md#nodes-with-an-inside)
NodeNetwork | ### Networks within a node | `[node.network]`
Storage | ## Storage | `[storage]`; see [storage](storage.md)
ServerBuffer | ### Burst buffers | `[storage.burst_buffer]`
Simulation | ## Simulation | `[simulation]`
Skip | ### Skipped iterations | `[simulation] skip = { … }`
Mpi | ## Message protocol | `[mpi]`
HostTime | ### Host times | `[mpi] host_times = [ { size = …, time = … }, … ]`
WithinNode | ### Messages within a node | `[mpi.within_node]`
Noise | ### Noise | `[mpi.noise]`
Collectives | ### Collectives | `[mpi.collectives]`; see [collectives](collectives.md)
Nccl | #### NCCL | `[mpi.collectives.nccl]`; see [NCCL](collectives.md#what-the-libraries-choose)
Record | ## Record | `[record]`
Arrivals | ### Arrivals | `[record] arrivals = { … }`
Machine | ## Machine | `[machine]`; see [machines](machines.md)
HostRange | ### Hosts | `[machine] hosts = [ { names = …, first_node = … }, … ]`
SizedRate | ### Rates by size | `[[machine.combine]]` and `[[machine.copy]]`
SizedSpread | ### Spread by size | `[[machine.spread]]`
SizedError | ### Errors by size | `[[machine.errors]]`
Background | ### Background | `[machine.background]`
SharedNodes | ### Shared nodes | `[machine.shared]`
MessageCosts | ### Costs of NCCL's messages | `[machine.shared.ll]`, `[machine.shared.exchange]`, `exchange` of `[[machine.many_ranks]]`
InlineMessages | ### Inline messages | `[machine.shared] exchange_inline`
ManyRanks | ### Many ranks | `[[machine.many_ranks]]`
FreshBuffers | ### Fresh buffers | `[machine.fresh_buffers]`
Job | ## Jobs | `[[job]]`, once for each job
MessageClass | ### Classes of messages | `[[job.message_class]]`; see [traffic classes](congestion-control.md#traffic-classes)
TimeBorder | #### Part of a trace: by time | `start` or `end` of a trace: `{ time = … }`
RegionBorder | #### Part of a trace: by function | `start` or `end` of a trace: `{ region = …, iteration = … }`
MarkerBorder | #### Part of a trace: by marker | `start` or `end` of a trace: `{ marker = …, iteration = … }`
Phases | ### Phases | `motif = { kind = "phases", … }`
ComputePhase | #### Computing between phases | In a list of phases: `{ compute = … }`
RepeatPhase | #### Repeated phases | In a list of phases: `{ repeat = …, phases = [ … ] }`
PlacementTable | ### Placement within groups | `placement = { … }`
RankMapPlacement | ### Placement by a map of ranks | `placement = { rank_map = … }`
MappingTable | ### Mapping | `mapping = { … }`
PlacementPlugIn | ### Placement by a plug-in | `placement = { plug_in = …, … }`
MappingPlugIn | ### Mapping by a plug-in | `mapping = { plug_in = …, … }`
ScheduleTable | ## Schedule of a job log | `[schedule]`, which `odonata schedule` runs
Reading | ### Reading of a log | `[schedule.reading]`
MultifactorTable | ### Multifactor priority | `[schedule.multifactor]` with `order = "multifactor"`
Grap | ### GRAP | `[schedule.grap]`; see [GRAP](optical-switches.md#grap)
Maintenance | ### Maintenance | `[[schedule.maintenance]]`
Reservation | ### Reservations | `[[schedule.reservation]]`
NodeOutage | ### Outages | `[[schedule.outage]]`; see [failures](failures.md#nodes-of-a-queue)
NodeFailures | ### Failures of nodes | `[schedule.failures]`
Hold | ### Holding jobs | `[schedule.hold]`
""",
    )
}

#: The heading of all tables of link classes, of which every family of networks has one.
LINK_CLASSES = "Link classes"


def _heading(name: str) -> str:
    """The heading of a table; an empty string where it has none of its own."""
    return LINK_CLASSES if name.endswith("Links") else SECTIONS.get(name, ("", "", ""))[1]


LINKS_TEXT = """\
`[network.links]` has one table per link class, such as
`global = { bandwidth = "25 GB/s", latency = "500 ns" }`. Both directions of a link have the full
bandwidth. By default every link of every family has the same bandwidth, between routers as between
nodes and routers: networks are compared by what is wired, not by what a family's links are like,
and a network of one router carries all that its nodes send.
"""


def scenario_page(root: Path) -> str:
    """The page.

    Args:
        root: Of the repository.
    """
    schema = scenario_schema()
    example = (root / "examples" / "demo.toml").read_text(encoding="utf-8")
    page = _Page(schema["$defs"])
    page.text(INTRODUCTION.format(example=example))
    page.table("## Top level", "", schema["properties"], ["network"])
    network = schema["properties"]["network"]
    page.choice("## Network", "`[network]`: what is wired.", network, "Family")
    page.sections("Routing", "OpticalLayer")
    page.links(network)
    page.sections("NamedLink", "MessageClass")
    job = schema["$defs"]["Job"]["properties"]
    applications, motifs = page.split(job["motif"], "flop_rate")
    motifs = {"oneOf": [kind for kind in motifs["oneOf"] if kind["$ref"] != "#/$defs/Phases"]}
    page.choice(
        "### Motifs",
        "`motif = { kind = …, … }`: what the ranks of a job do, waiting for the messages that they "
        "receive. The job ends when all ranks are done.",
        motifs,
        "Motif",
    )
    page.sections("TimeBorder", "MarkerBorder")
    page.choice(
        "### Applications",
        "`motif = { kind = …, … }` with the communication skeleton of an application; [applications]"
        "(applications.md) says what each skeleton models, and gives the sources of its defaults.",
        applications,
        "Application",
    )
    page.sections("Phases", "RepeatPhase")
    page.choice(
        "### Traffic",
        "`traffic = { pattern = …, … }`: what the ranks of a job send, regardless of what the "
        "network delivers, until the end of the run or for a number of `messages`. The amount "
        "follows from one of `load`, `rate` and `interval` together with the size of a `message`; "
        "or from `load` or `rate` together with `interval`, which determine the size.",
        job["traffic"],
        "Traffic",
    )
    page.sections("PlacementTable", "Grap")
    page.choice(
        "### Network of a schedule",
        "`[schedule.network]`: what slows jobs down or makes them faster; see [scheduling]"
        "(scheduling.md#the-network-in-the-loop).",
        page.inner("ScheduleTable", "network"),
        "Level",
    )
    page.sections("Maintenance", "Hold")
    return page.finish()


class _Page:
    """The page as it grows."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions
        self._parts: list[str] = []
        self._described: set[str] = set()

    def text(self, text: str) -> None:
        """Adds a paragraph."""
        self._parts.append(text)

    def sections(self, first: str, last: str) -> None:
        """Adds the sections of tables from one to another."""
        names = list(SECTIONS)
        for name in names[names.index(first) : names.index(last) + 1]:
            self.definition(name)

    def definition(self, name: str) -> None:
        """Adds the section of a table."""
        level, heading, where = SECTIONS[name]
        self._described.add(name)
        definition = self._definitions[name]
        self.table(
            f"{level} {heading}",
            f"{where}. {_first_paragraph(definition)}",
            definition["properties"],
            definition.get("required", ()),
            EXAMPLES.get(name, ""),
        )

    def inner(self, name: str, key: str) -> Schema:
        """What a key of a table accepts."""
        value: Schema = self._definitions[name]["properties"][key]
        return value

    def split(self, value: Schema, key: str) -> tuple[Schema, Schema]:
        """The kinds of a table that have a key, and those that do not."""
        having, others = [], []
        for choice in value["oneOf"]:
            definition = self._definitions[choice["$ref"].rsplit("/", 1)[1]]
            (having if key in definition["properties"] else others).append(choice)
        return {"oneOf": having}, {"oneOf": others}

    def choice(self, heading: str, text: str, value: Schema, word: str) -> None:
        """Adds the sections of a table of several kinds: what they share, then each."""
        names = [choice["$ref"].rsplit("/", 1)[1] for choice in value["oneOf"]]
        self._described.update(names)
        kinds = [self._definitions[name] for name in names]
        shared = {
            key: property_
            for key, property_ in kinds[0]["properties"].items()
            if sum(self._same(kind["properties"].get(key), property_) for kind in kinds)
            > len(kinds) / 2
        }
        required = [
            key for key in shared if sum(key in kind["required"] for kind in kinds) > len(kinds) / 2
        ]
        self.table(
            heading,
            f"{text} All kinds have these keys; the sections below list what each kind adds.",
            shared,
            required,
        )
        for kind in kinds:
            own = {
                key: property_
                for key, property_ in kind["properties"].items()
                if not self._same(shared.get(key), property_)
            }
            # What says the kind stands in the heading, unless one table serves for many.
            chooser = next(key for key in CHOOSERS if key in own)
            constants = _constants(own[chooser])
            of_traffic = "traffic " if word == "Traffic" else ""
            named = (EXAMPLES.get(f"{of_traffic}{constant}") for constant in constants)
            example = next((text for text in named if text), "")
            if not constants:
                title = f"`{chooser}` = the name of a plug-in"
            elif len(constants) == 1:
                del own[chooser]
                title = f'`{chooser} = "{constants[0]}"`'
            elif len(constants) < 4:
                title = f"`{chooser}` = " + " or ".join(f'`"{c}"`' for c in constants)
            else:
                title = "simple patterns"
            text = _first_paragraph(kind)
            self.table(f"#### {word}: {title}", text, own, kind["required"], example)

    def _same(self, one: Schema | None, other: Schema) -> bool:
        """Whether a page says the same of two keys: tables of link classes have one section."""
        return one is not None and (
            one == other
            or ("$ref" in one and "$ref" in other and self._said(one) == self._said(other))
        )

    def _said(self, value: Schema) -> tuple[list[str], str]:
        return list(self._kinds(value)), str(value.get("description"))

    def links(self, network: Schema) -> None:
        """Adds the link classes of all families of networks."""
        self._parts += [f"### {LINK_CLASSES}\n", LINKS_TEXT]
        self._parts.append(
            "| class | default bandwidth | default latency | links |\n|---|---|---|---|"
        )
        rows: dict[str, str] = {}
        for name, definition in self._definitions.items():
            if _heading(name) != LINK_CLASSES:
                continue
            self._described.add(name)
            for link_class, property_ in definition["properties"].items():
                self._described.add(property_["$ref"].rsplit("/", 1)[1])
                keys = self._resolved(property_)["properties"]
                bandwidth = Rate(keys["bandwidth"]["default"]) / 2**30
                rows.setdefault(
                    link_class,
                    f"| `{link_class}` | {bandwidth:.2f} GiB/s | {keys['latency']['default']} "
                    f"| {_cell(property_['description'])} |",
                )
        self._parts += [*rows.values(), ""]
        self._described.add("Link")
        keys = {
            key: {k: v for k, v in property_.items() if k != "default"}
            for key, property_ in self._definitions["Link"]["properties"].items()
        }
        self.table("", "", keys, ())

    def table(
        self,
        heading: str,
        text: str,
        properties: Mapping[str, Schema],
        required: Collection[str],
        example: str = "",
    ) -> None:
        """Adds a heading, a text, an example and one row per key, those that must be given first.

        A row says in one line what the key does; what else there is to say of it follows the table.
        """
        self._parts += [f"{part}\n" for part in (heading, text) if part]
        if example:
            self._parts.append(f"```toml\n{example}```\n")
        if not properties:
            return
        self._parts.append("| key | value | default | meaning |\n|---|---|---|---|")
        more = []
        for key in sorted(properties, key=lambda key: (key not in CHOOSERS, key not in required)):
            value = properties[key]
            shown = f"**`{key}`**" if key in required else f"`{key}`"
            line, rest = _lead(value.get("description") or _first_paragraph(self._resolved(value)))
            kinds = " or ".join(dict.fromkeys(self._kinds(value)))
            if len(kinds) > LONGEST_CELL:
                kinds, rest = "see below", f"One of {kinds}. {rest}"
            if rest:
                more.append(
                    f"- **`{key}`**:{rest}" if rest.startswith("\n") else f"- **`{key}`**: {rest}"
                )
            self._parts.append(f"| {shown} | {_cell(kinds)} | {_default(value)} | {_cell(line)} |")
        self._parts += ["", *more, ""] if more else [""]

    def finish(self) -> str:
        """The whole page.

        Raises:
            ValueError: If the schema has a table that no section describes.
        """
        forgotten = set(self._definitions) - self._described
        if forgotten:
            raise ValueError(f"no section of docs/scenario.md describes {sorted(forgotten)}")
        return "\n".join(self._parts).rstrip() + "\n"

    def _resolved(self, value: Schema) -> Schema:
        return self._definitions[value["$ref"].rsplit("/", 1)[1]] if "$ref" in value else value

    def _kinds(self, value: Schema) -> Iterator[str]:
        """What a key accepts, in words."""
        if "$ref" in value:
            name = value["$ref"].rsplit("/", 1)[1]
            heading = _heading(name)
            yield f"[table](#{_anchor(heading)})" if heading else "table"
        elif "oneOf" in value:
            for choice in value["oneOf"]:
                yield from self._kinds(choice)
        elif "const" in value or "enum" in value:
            yield ", ".join(f'`"{constant}"`' for constant in _constants(value))
        elif "x-quantity" in value:
            words = {"duration": "duration", "size": "size", "rate": "bandwidth", "share": "share"}
            words["floprate"] = "computing rate"
            words["globalload"] = "theoretical global link load"
            words["span"] = "duration"
            quantity = words[value["x-quantity"]]
            yield f'{quantity}, e.g. `"{value["examples"][0]}"`'
        elif value.get("type") == "array":
            items = " or ".join(dict.fromkeys(self._kinds(value["items"])))
            plural = items.replace("whole number", "whole numbers")
            yield f"list: {items}" if plural == items else f"list of {plural}"
        elif isinstance(value.get("additionalProperties"), dict):
            yield from self._kinds(value["additionalProperties"])
        else:
            yield _plain(value)


def _lead(text: str) -> tuple[str, str]:
    """What a text says in one line, and the rest of it."""
    text = text.replace("\n", " ")
    if len(text) <= LONGEST_LINE:
        return text, ""
    if text.startswith("`"):  # What each value means.
        values = re.split(r"; (?=`)", text.removesuffix("."))
        return "One of the values below.", "".join(f"\n  - {value}" for value in values)
    # At the end of the first sentence; where that is too long, at a colon or semicolon.
    sentence = _end(r"(?<!et al)\. ", text)
    ends = [sentence, _end(r": ", text), _end(r"; ", text)]
    near = [
        end
        for end in ends
        if end <= LONGEST_LINE and not text[:end].startswith(("With ", "Without "))
    ]
    end = near[0] if near else min(sentence, ends[2])
    line = text[:end].rstrip(" :;")
    rest = text[end:].strip()
    return line if line.endswith(".") else f"{line}.", rest[:1].upper() + rest[1:]


def _end(pattern: str, text: str) -> int:
    """Behind the first place of a pattern; the end of the text where there is none."""
    return next((found.end() for found in re.finditer(pattern, text)), len(text))


def _first_paragraph(definition: Schema) -> str:
    # The rest of a description is for programmers.
    text: str = definition.get("description", "")
    return text.split("\n\n")[0].replace("\n", " ")


def _constants(definition: Schema) -> list[str]:
    return [definition["const"]] if "const" in definition else list(definition.get("enum", ()))


def _plain(value: Schema) -> str:
    words = {"integer": "whole number", "number": "number", "string": "text", "object": "table"}
    kind: str = words.get(value["type"], value["type"])
    if value["type"] == "boolean":
        return "`true` or `false`"
    least = value.get("minimum", value.get("exclusiveMinimum"))
    most = value.get("maximum", value.get("exclusiveMaximum"))
    if "exclusiveMinimum" in value:
        kind += f" above {least}"
    elif least is not None:
        kind += f" from {least}"
    if most is not None and most < 2**31:
        kind += f" to {most}"
    return kind


def _anchor(heading: str) -> str:
    return "".join(c for c in heading.lower() if c.isalnum() or c in " -_").replace(" ", "-")


def _default(value: Schema) -> str:
    if "default" not in value or "const" in value:
        return ""
    default = value["default"]
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f'`"{default}"`' if isinstance(default, str) else f"`{default}`"


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")
