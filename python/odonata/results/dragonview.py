"""Loads of links as tables that DragonView draws.

DragonView (https://github.com/LLNL/DragonView) shows groups, rows and columns of Cray's XC with
counters of their links. What it loads is in its ``README.md``, ``app/src/data.js`` and, for the
colours, ``app/data/dump_net.py``:

- ``runs.csv``: ``name,counters,jobs``, a row per run with the files of the other two kinds;
- counters: ``sg,sr,sc,dg,dr,dc,color`` and then counters of any name, a row per link and direction;
  colours are ``g`` within a row, ``k`` within a column and ``b`` between groups;
- jobs: ``g,r,c,n,core,jobid``, a row per core; ``jobid`` is a number.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from odonata.columns import codes, labels, numbers
from odonata.errors import NotRecordedError
from odonata.output import Claim, create

if TYPE_CHECKING:
    from odonata.results import Result

#: Counters of a link: columns of ``links``.
COUNTERS = ("bytes", "packets", "busy_ps", "stall_ps", "utilisation")

_ENDS = ("sg", "sr", "sc", "dg", "dr", "dc")


def write_tables(results: Mapping[str, Result], directory: Path) -> None:
    """Writes the tables of some runs.

    A group without rows and columns is one row: its routers are the columns, in their order.
    Links between nodes and routers have no place in the form. Parallel links are rows of their
    own, as DragonView itself takes their sums and maxima. A job has its row in ``jobs`` as its
    number, and its ranks on a node are cores 0, 1, … there.

    Args:
        results: By the names that DragonView is to show.
        directory: Where to; must not exist yet, or be empty.

    Raises:
        NotRecordedError: If a run's network has no groups with links within and between them.
        OutputError: If there is something already, or it cannot be written.
    """
    tables = {}
    for name, result in results.items():
        places = _places(result, name)
        tables[f"{name}.links.csv"] = ([*_ENDS, "color", *COUNTERS], _links(result, places))
        tables[f"{name}.jobs.csv"] = (["g", "r", "c", "n", "core", "jobid"], _cores(result, places))
    runs = [(name, f"{name}.links.csv", f"{name}.jobs.csv") for name in results]
    tables["runs.csv"] = (["name", "counters", "jobs"], runs)
    with Claim(directory) as claim, claim.adding() as partial:
        for file, (head, rows) in tables.items():
            _write(partial / file, head, rows)


def _places(result: Result, name: str) -> npt.NDArray[np.int64]:
    """Group, row and column of every router.

    Raises:
        NotRecordedError: If the network has no groups in the sense of a dragonfly.
    """
    known = labels(result.links, "kind")
    kinds = {known[code] for code in np.unique(codes(result.links, "kind"))}
    if not {"local", "global"} <= kinds:
        raise NotRecordedError(
            f"{name}: found {result.meta['network']}; DragonView's tables are of networks with "
            "links within groups and between them, such as dragonflies"
        )
    group = numbers(result.routers, "group").astype(np.int64)
    row, column = numbers(result.routers, "row"), numbers(result.routers, "column")
    if (row < 0).any():
        row, column = np.zeros(len(group)), _counted(group)
    return np.stack([group, row, column], axis=1).astype(np.int64)


def _links(result: Result, places: npt.NDArray[np.int64]) -> list[tuple[Any, ...]]:
    links = result.links
    source, target = numbers(links, "from_router"), numbers(links, "to_router")
    between = (source >= 0) & (target >= 0)
    at, to = places[source[between]], places[target[between]]
    color = np.where(at[:, 0] != to[:, 0], "b", np.where(at[:, 1] == to[:, 1], "g", "k"))
    columns = [*at.T, *to.T, color, *(numbers(links, one)[between] for one in COUNTERS)]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _cores(result: Result, places: npt.NDArray[np.int64]) -> list[tuple[int, ...]]:
    injects = numbers(result.links, "from_node") >= 0
    node_of = numbers(result.links, "from_node")[injects]
    router_of_node = np.zeros(int(result.meta["nodes"]), dtype=np.int64)
    router_of_node[node_of] = numbers(result.links, "to_router")[injects]
    on_router = _counted(router_of_node)

    placement = result.placement
    job, node = numbers(placement, "job"), numbers(placement, "node")
    # DragonView asks core 0 of a node for its job, so that each job on it begins there.
    core = _counted(job.astype(np.int64) * len(router_of_node) + node)
    place = places[router_of_node[node]]
    return list(
        zip(*(column.tolist() for column in (*place.T, on_router[node], core, job)), strict=True)
    )


def _counted(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many equal ones come before each."""
    order = np.argsort(keys, kind="stable")
    count = np.empty(len(keys), dtype=np.int64)
    count[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
    return count


def _write(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with create(path, "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
