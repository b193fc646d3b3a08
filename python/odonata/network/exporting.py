"""Networks as files that other programs read.

The engine writes every format but GEXF, which is made here of its GraphML: the format of Gephi
(https://gexf.net, version 1.2), which networkx reads as well.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from odonata.errors import OutputError
from odonata.output import create, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO

    from odonata.scenario import Scenario

#: How the names of files of each format end.
FORMATS = {
    "graphml": ".graphml",
    "gexf": ".gexf",
    "edge-list": ".edges",
    "ibsim": ".net",
    "opensm-root-guids": ".root-guids",
    "opensm-guid-routing-order": ".routing-order",
    "opensm-ids": ".ids",
    "opensm-lfts": ".lfts",
    "forwarding-tables": ".forwarding",
    "virtual-channels": ".channels",
}
_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
_GEXF = "http://www.gexf.net/1.2draft"
#: GEXF's names of GraphML's types.
_TYPES = {"int": "integer", "string": "string"}


def format_of(path: str | os.PathLike[str] | None, asked: str | None) -> str:
    """The format that is asked for, or that the name of the file ends in.

    Args:
        path: The file. Default: one whose name follows from the format.
        asked: A format. Default: by the name; GraphML without any.

    Raises:
        OutputError: If the name ends in that of another format, or says none.
    """
    ending = "" if path is None else Path(path).suffix.lower()
    by_name = next((name for name, end in FORMATS.items() if end == ending), None)
    if asked is not None and by_name not in (None, asked):
        raise OutputError(
            f'{path}: found the ending "{ending}", which is that of {by_name}, and the format '
            f'{asked}; allowed: "{FORMATS[asked]}" or the format {by_name}'
        )
    if asked is None and by_name is None and path is not None:
        raise OutputError(
            f'{path}: found the ending "{ending}"; allowed for networks: '
            f"{', '.join(FORMATS.values())}, or any ending beside a format that is asked for"
        )
    return asked or by_name or "graphml"


def export_network(scenario: Scenario, format: str, path: Path) -> None:
    """Writes the network of a scenario.

    Args:
        scenario: It may lack jobs.
        format: As of ``odonata topology export``.
        path: The file, which must not exist yet.

    Raises:
        ScenarioError: If the network cannot be built or written in that format.
        OSError: If the file cannot be written.
    """
    from odonata import _engine
    from odonata.simulate import ask_engine

    if format != "gexf":
        write_file(path, ask_engine(_engine.export, scenario, format))
        return
    graphml = io.BytesIO(ask_engine(_engine.export, scenario, "graphml").encode())
    with create(path, "w") as out:
        _write_gexf(graphml, out)


def _write_gexf(graphml: IO[bytes], out: IO[str]) -> None:
    """Writes the graph of a GraphML file of the engine's, with the same attributes, as GEXF."""
    keys: dict[str, tuple[str, str, str]] = {}
    facts: dict[str, str] = {}
    section = ""
    for _, element in ElementTree.iterparse(graphml):
        kind = element.tag.removeprefix(_GRAPHML)
        if kind == "key":
            keys[element.attrib["id"]] = (
                element.attrib["for"],
                element.attrib["attr.name"],
                _TYPES[element.attrib["attr.type"]],
            )
        elif kind == "data" and keys[element.attrib["key"]][0] == "graph":
            facts[keys[element.attrib["key"]][1]] = element.text or ""
        elif kind in ("node", "edge"):
            if not section:
                _write_head(out, keys, facts)
            if section != kind:
                out.write(f"    </{section}s>\n" if section else "")
                out.write(f"    <{kind}s>\n")
                section = kind
            _write_element(out, element, keys)
            # Large networks would otherwise stay in memory as a whole.
            element.clear()
    out.write(f"    </{section}s>\n  </graph>\n</gexf>\n")


def _write_head(out: IO[str], keys: dict[str, tuple[str, str, str]], facts: dict[str, str]) -> None:
    about = f"{facts['title']}; link classes: {facts['link_classes']}"
    out.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<gexf xmlns="{_GEXF}" version="1.2">\n'
        "  <meta>\n    <creator>Odonata</creator>\n"
        f"    <description>{escape(about)}</description>\n  </meta>\n"
        '  <graph mode="static" defaultedgetype="undirected">\n'
    )
    for of in ("node", "edge"):
        out.write(f'    <attributes class="{of}">\n')
        for key, (whose, title, type_) in keys.items():
            if whose == of:
                out.write(
                    f"      <attribute id={quoteattr(key)} title={quoteattr(title)} "
                    f'type="{type_}"/>\n'
                )
        out.write("    </attributes>\n")


def _write_element(
    out: IO[str], element: ElementTree.Element, keys: dict[str, tuple[str, str, str]]
) -> None:
    values = {data.attrib["key"]: data.text or "" for data in element}
    attributes: Iterable[tuple[str, str]] = element.attrib.items()
    kind = element.tag.removeprefix(_GRAPHML)
    if kind == "node":
        answer = {keys[key][1]: value for key, value in values.items()}
        # What Gephi writes beside the point.
        attributes = [*attributes, ("label", f"{answer['kind']} {answer['number']}")]
    begin = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes)
    written = "".join(
        f"<attvalue for={quoteattr(key)} value={quoteattr(value)}/>"
        for key, value in values.items()
    )
    out.write(f"      <{kind} {begin}><attvalues>{written}</attvalues></{kind}>\n")
