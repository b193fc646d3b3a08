"""What the command line does, as functions; ``docs/python.md`` is their guide.

Those with a room of their own are there: ``run``, ``sweep``, ``interference``, ``compare``,
``schedule``, ``write_report``, ``example``. All of them are in the package ``odonata`` itself.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from odonata import _engine, names
from odonata.libraries import library
from odonata.network.exporting import export_network, format_of
from odonata.output import Claim, new_file, warn
from odonata.progress import ProofBar, StudyBar, following
from odonata.report.html.parts import facts, table
from odonata.results import Result
from odonata.scenario import Scenario, ScenarioLike, as_scenario
from odonata.scenario.keys import changed_scenario
from odonata.simulate import Progress, ask_engine
from odonata.simulate import run as run_scenario

if TYPE_CHECKING:
    import networkx
    from matplotlib.figure import Figure

    from odonata.study.saturation import Saturation

_KINDS = tuple(names.LINK_KIND)


# --- Verification -------------------------------------------------------------------------


@dataclass(frozen=True)
class Verification:
    """Whether packets could wait for each other for ever.

    Attributes:
        safe: Whether no cycle was found.
        proven: Whether all routes were followed; if not, `safe` says nothing.
        verdict: The result in a sentence.
        cycle: Channels that wait for each other, if a cycle was found.
        channels: Virtual channels of all links.
        dependencies: Pairs of channels of which a packet may hold one while it waits for the
            other; ``None`` where there is a cycle.
        virtual_channels: Number of virtual channels of each link.
        longest_route: Routers on the longest route.
    """

    safe: bool
    proven: bool
    verdict: str
    cycle: Sequence[str]
    channels: int
    dependencies: int | None
    virtual_channels: int
    longest_route: int

    def __bool__(self) -> bool:
        """Whether it is proven to be safe."""
        return self.safe and self.proven


def verify(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], object] | bool = False,
    **named: Any,
) -> Verification:
    """Proves that no packets can wait for each other forever, or shows how they could.

    The proof searches the channel dependency graph of network and routing for a cycle (Dally and
    Seitz 1987).

    Args:
        scenario: A scenario or the name of its file.
        set: Keys to change and their values, such as ``{"network.routing": "par"}``.
        seconds: Longest time to take. Default: as long as it takes.
        progress: Whether to show the progress, or a function that is called with the number of
            destinations that are done and the number of all destinations.
        **named: Changes by the last part of a key, such as ``routing="par"``, as of :func:`sweep`.

    Raises:
        ScenarioError: If the scenario is wrong.
        KeyboardInterrupt: If it was interrupted.
    """
    with following(progress, ProofBar, "Proving") as reporting:
        what = changed_scenario(scenario, set, named)
        found = ask_engine(_engine.verify, what, reporting, seconds=seconds)
    return Verification(**{key: found[key] for key in Verification.__dataclass_fields__})


# --- Saturation ---------------------------------------------------------------------------


def saturation(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    highest: float = 1.0,
    tolerance: float = 0.01,
    seeds: int = 1,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[float, int], object] | bool = False,
    notice: Callable[[str], object] = warn,
    **named: Any,
) -> Saturation:
    """Finds the load above which a network delivers less than it is offered.

    Args:
        scenario: With at least one job whose traffic has a ``load``, and a duration; or the name
            of its file.
        set: Keys to change and their values, such as ``{"network.routing": "par"}``.
        highest: Highest load to offer, as a fraction of the terminal bandwidth, or of a job's
            ``rate``.
        tolerance: Width of the last bracket around the saturation load, as a share of that load.
        seeds: Searches, with successive seeds: several give a 95 % interval of the load.
        jobs: Simulations at a time. Default: one per processor.
        out: Directory for curve and picture; a search that was there before continues. Default:
            nothing is kept.
        progress: Whether to show how far it is, or a function that is called with the share and the
            simulations done.
        notice: Called with what a person should know. Default: a warning.
        **named: Changes by the last part of a key, such as ``routing="par"``, as of :func:`sweep`.

    Raises:
        ValueError: If there are no seeds.
        ScenarioError: If the scenario has no load to change, or cannot be run.
        OutputError: If the directory cannot be written.
        KeyboardInterrupt: If it was interrupted.
    """
    from odonata.study.execution import STORE_FILE
    from odonata.study.saturation import find_saturation, write

    if seeds < 1:
        raise ValueError(f"seeds: found {seeds}; allowed: at least 1")
    what = changed_scenario(scenario, set, named)
    options: dict[str, Any] = {
        "seeds": seeds,
        "highest": highest,
        "tolerance": tolerance,
        "jobs": jobs or os.cpu_count() or 1,
        "notice": notice,
    }
    title = "Looking for saturation"
    with following(progress, lambda console: StudyBar(console, title), title) as reporting:
        if out is None:
            with tempfile.TemporaryDirectory() as directory:
                return find_saturation(what, Path(directory), progress=reporting, **options)
        with Claim(Path(out), goes_on=STORE_FILE) as claim:
            found = find_saturation(what, claim.directory, progress=reporting, **options)
            write(found, what, claim, notice)
    return found


# --- Replay -------------------------------------------------------------------------------


def replay(
    *traces: str | os.PathLike[str],
    network: ScenarioLike | None = None,
    set: Mapping[str, Any] | None = None,
    compute_scale: float | None = None,
    gap: str | None = None,
    ranks_per_node: int = 1,
    repeat_rank: names.RepeatRank | None = None,
    ranks: int | None = None,
    start: dict[str, Any] | None = None,
    end: dict[str, Any] | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool = False,
) -> Result:
    """Replays traces of real applications, each as a job, side by side.

    Args:
        *traces: Files of the formats in :data:`odonata.names.TRACE_FORMAT`.
        network: A scenario, or its file, whose jobs are replaced by the traces. Default: the
            smallest balanced dragonfly with enough nodes.
        set: Keys of the scenario and their values, such as ``{"network.routing": "par"}``.
        compute_scale: Factor for the time between calls; 0 replays the communication alone.
        gap: Time that replaces every time between two calls, e.g. ``"1 us"``.
        ranks_per_node: Ranks on each node.
        repeat_rank: How the DUMPI trace of one rank stands for all ranks.
        ranks: With `repeat_rank`: number of ranks.
        start: Where to start, e.g. ``{"region": "timestep", "iteration": 11}``.
        end: Where to end.
        threads: Threads that simulate; results do not depend on their number.
        progress: Whether to show how far it is, or a function that is called with it.

    Raises:
        TraceError: If a trace is damaged or of no known format.
        ScenarioError: If it cannot be run.
        KeyboardInterrupt: If it was interrupted.
    """
    from odonata.simulate.replaying import check_trace, replay_scenario

    checked = [
        check_trace(file, ranks=ranks, repeat_rank=repeat_rank, start=start, end=end)
        for file in traces
    ]
    scenario = replay_scenario(
        checked,
        network=None if network is None else as_scenario(network),
        compute_scale=compute_scale,
        gap=gap,
        ranks_per_node=ranks_per_node,
        repeat_rank=repeat_rank,
        start=start,
        end=end,
    )
    return run_scenario(scenario, set=set, threads=threads, progress=progress)


def describe_trace(file: str | os.PathLike[str], *, records: int = 0) -> dict[str, Any]:
    """What a trace of an application holds, read to its end.

    Args:
        file: Of a format in :data:`odonata.names.TRACE_FORMAT`.
        records: How many of its first records to include, as texts.

    Returns:
        ``file``, ``format``, ``ranks``, ``records``, ``facts`` (what the format says besides),
        ``kinds`` (records and bytes sent by kind) and ``samples`` (the first records).

    Raises:
        TraceError: If it is damaged or of no known format.
        InternalError: If the engine has a defect.
    """
    from odonata.simulate.replaying import ask

    found: dict[str, Any] = ask(_engine.trace_summary, os.fspath(file), records)
    return found


# --- Topology -----------------------------------------------------------------------------


class Topology:
    """What is wired.

    Attributes:
        description: Counts, distances, links per class, an estimate of the bisection.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._raw = ask_engine(_engine.topology, scenario)
        self._scenario = scenario
        self.description: dict[str, Any] = self._raw["description"]

    @property
    def links(self) -> pa.Table:
        """One row per link: ``a`` and ``b``, ``kind``, ``class``.

        Ends are routers, numbered from 0; of terminal links ``a`` is the node.
        """
        classes = [one["name"] for one in self.description["link_classes"]]
        routers = np.asarray(self._raw["node_router"])
        known = np.asarray(self._raw["link_class"])
        a = np.concatenate([np.arange(len(routers)), np.asarray(self._raw["link_a"])])
        b = np.concatenate([routers, np.asarray(self._raw["link_b"])])
        kinds = np.concatenate([np.zeros(len(routers), int), np.asarray(self._raw["link_kind"])])
        terminal = classes.index("terminal") if "terminal" in classes else 0
        of_class = np.concatenate([np.full(len(routers), terminal), known])
        return pa.table(
            {
                "a": pa.array(a, pa.int64()),
                "b": pa.array(b, pa.int64()),
                "kind": [_KINDS[kind] for kind in kinds],
                "class": [classes[one] for one in of_class],
            }
        )

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The links between routers, as pairs of their numbers; parallel ones several times."""
        return list(zip(self._raw["link_a"].tolist(), self._raw["link_b"].tolist(), strict=True))

    def to_networkx(self) -> networkx.MultiGraph:
        """A graph of networkx: ``("router", 0)``, ``("node", 0)``, …, with link classes.

        Routers have the attribute ``group``; links have ``kind`` and ``class``.

        Raises:
            LibraryError: If networkx is not installed (``pip install networkx``).
        """
        nx = library("networkx", "a graph of networkx")
        graph = nx.MultiGraph(name=str(self.description["network"]))
        for router, group in enumerate(self._raw["group_of_router"].tolist()):
            graph.add_node(("router", router), group=group)
        for node in range(len(self._raw["node_router"])):
            graph.add_node(("node", node))
        for row in self.links.to_pylist():
            first = "node" if row["kind"] == "terminal" else "router"
            graph.add_edge(
                (first, row["a"]), ("router", row["b"]), kind=row["kind"], **{"class": row["class"]}
            )
        return graph

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A picture of it.

        Args:
            path: Where to write it: PNG, PDF or SVG, by how the name ends.
        """
        from odonata.network.damage import damage_of
        from odonata.plots import Wiring, draw_topology, drawn

        damage = damage_of(self._scenario, self._raw)
        wiring = Wiring.of_description(self._raw if damage is None else damage.whole)
        network = str(self.description["network"])
        return drawn(
            path, (7.6, 6.8), lambda figure: draw_topology(figure, wiring, network, damage=damage)
        )

    def export(self, file: str | os.PathLike[str], format: str | None = None) -> Path:
        """Writes it as a file that other programs can read.

        Args:
            file: Must not exist yet.
            format: As of ``odonata topology export``. Default: by how the name ends.

        Raises:
            OutputError: If the file exists or cannot be written, or its name ends in that of
                another format.
        """
        chosen = format_of(file, format)
        with new_file(Path(file)) as partial:
            export_network(self._scenario, chosen, partial)
        return Path(file)

    def __repr__(self) -> str:
        one = self.description
        return f"<{one['network']}: {one['nodes']:,} nodes, {one['routers']:,} routers>"

    def _repr_html_(self) -> str:
        from odonata.report.summaries import readable

        plain = [
            readable(key, value)
            for key, value in self.description.items()
            if isinstance(value, (str, int, float)) and not isinstance(value, bool)
        ]
        classes = self.description["link_classes"]
        heads = list(dict.fromkeys(key for one in classes for key in one))
        rows = [[readable(key, one.get(key))[1] for key in heads] for one in classes]
        shown = [readable(key, 0)[0] for key in heads]
        return facts(plain) + table(shown, rows, "Link classes")


def topology(
    scenario: ScenarioLike, *, set: Mapping[str, Any] | None = None, **named: Any
) -> Topology:
    """Looks at the network of a scenario without running it.

    Args:
        scenario: A scenario or the name of its file.
        set: Keys to change and their values, such as ``{"network.routing": "par"}``.
        **named: Changes by the last part of a key, such as ``routing="par"``, as of :func:`sweep`.

    Raises:
        ScenarioError: If the scenario is wrong.
    """
    return Topology(changed_scenario(scenario, set, named))
