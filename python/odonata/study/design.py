"""Networks for a machine of some size: laid out, priced and compared under traffic.

Every family is laid out for the same number of nodes by :mod:`odonata.network.layouts`, and the
same job of that many nodes runs on each. Its figure is its *share*: the time that its messages
take on the links of nodes alone, by the time that it takes on the network.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from odonata.columns import numbers, rows_labelled
from odonata.errors import Problem, ScenarioError
from odonata.network.cost import Prices, Watts
from odonata.network.layouts import (
    IN_PORTS,
    KINDS,
    ONE_SWITCH,
    REFERENCE,
    Fitted,
    Layout,
    fit,
    scenario_of,
)
from odonata.output import Claim, picture, warn, write_csv, write_file, write_json
from odonata.progress import StudyBar, following
from odonata.results import Result
from odonata.results.stored import Every, Maybe, OrNull, read_keys, refusal
from odonata.study.execution import STORE_FILE, Point, Record, Store, run_points
from odonata.units import Rate, UnitError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from odonata.scenario import Scenario

#: The outcome in its directory, and the report beside it.
RESULT_FILE, REPORT_FILE = "design.json", "report.html"
#: Fewest and most nodes: a family needs some, and wiring has to take seconds.
NODES = (16, 100_000)
#: Fewest and most ports of a switch.
RADIX = (8, 1024)
#: Bandwidth of every link of the network, where nothing else is said.
BANDWIDTH = "25 GB/s"
#: What joins the GPUs of a node: NVLink 4 through NVSwitch, 450 GB/s each way (NVIDIA H100 Tensor
#: Core GPU Architecture, 2022); the latency is assumed.
_INSIDE = {"kind": "switch", "bandwidth": "450 GB/s", "latency": "200 ns"}
#: Most GPUs of a node, and most networks side by side.
GPUS, RAILS = 64, 8
#: Steps of an all-to-all that stand for all of them; on nodes in random order they are random
#: permutations.
_STEPS = 8
#: Messages by engine, whose transmission takes much longer than links' latencies: the flow engine
#: does as much for a large one as for a small one.
_MESSAGE = {"flow": "512 KiB", "packet": "64 KiB"}
#: Paths of a flow: twice as many cost nearly twice the time.
_PATHS = 4
#: Rates of flows are updated after 50 KB of a link, a tenth of a message, on a network of less
#: bandwidth than its kind stands for (a torus) at a tenth of what it takes there: twice as often
#: costs nearly twice the time.
_SETTLE_BYTES = 50e3
#: By which the steps are spread evenly: the golden ratio.
_GOLDEN = (math.sqrt(5) - 1) / 2

#: What a job can do, and what that is.
TRAFFIC: Mapping[str, str] = {
    "uniform": f"every node sends to random others: {_STEPS} random permutations in turn",
    "all-to-all": f"{_STEPS} steps of a pairwise all-to-all, spread over all, nodes in order",
    "stencil": "two exchanges with six neighbours in three dimensions, nodes in order",
    "scattered-stencil": "the same on nodes in random order",
    "worst-shift": "every node sends to the next group, pod or router, or half round its ring",
}
#: What is compared where nothing else is said.
USUAL = ("uniform", "all-to-all", "stencil")
EQUAL = ("nodes", "cost")


@dataclass(frozen=True)
class Measured:
    """A job on a network.

    Attributes:
        traffic: One of :data:`TRAFFIC`.
        engine: ``flow`` or ``packet``.
        routing: Which was fastest, as in a scenario.
        run_time_ps: How long it took.
        share: The time on the nodes' links alone, by that.
    """

    traffic: str
    engine: str
    routing: str | Mapping[str, str]
    run_time_ps: int
    share: float


@dataclass(frozen=True)
class Laid:
    """A network that was laid out, with what it costs and delivers.

    Attributes:
        name: Its kind.
        network: As in a scenario.
        nodes: Nodes that it has, at least those that were asked for.
        switches: Its switches.
        radix: Most connected ports of one.
        ports: Connected ports of all.
        optical_cables: Optical ones, of the cables between switches.
        static_watts: Static power, with the watts of ``odonata topology describe --cost``.
        price: Of all parts.
        relative_price: By that of one switch for the same nodes, else of the full fat tree.
        bound: Share of their bandwidth that nodes can send to random others over shortest paths.
        measured: What was simulated.
    """

    name: str
    network: Mapping[str, Any]
    nodes: int
    switches: int
    radix: int
    ports: int
    optical_cables: int
    static_watts: float
    price: float
    relative_price: float
    bound: float
    measured: Sequence[Measured] = field(default=())

    @property
    def engines(self) -> list[str]:
        """The engines that simulated it."""
        return list(dict.fromkeys(one.engine for one in self.measured))

    def share(self, traffic: str, engine: str) -> float:
        """The share of a traffic; NaN if it was not simulated."""
        found = (m.share for m in self.measured if (m.traffic, m.engine) == (traffic, engine))
        return next(found, math.nan)

    @property
    def layout(self) -> str:
        """Its numbers, for people."""
        return ", ".join(
            f"{key} {'×'.join(map(str, value)) if isinstance(value, list) else value}"
            for key, value in self.network.items()
            if key not in ("family", "wiring_seed") and value != 1
        )


@dataclass(frozen=True)
class Design:
    """Networks for a number of nodes, side by side.

    Attributes:
        nodes: Nodes that were asked for, and that the jobs run on.
        radix: Most ports of a switch.
        equal: ``nodes``: the cheapest layout of full bandwidth of each family; ``cost``: that of
            most bandwidth for the budget.
        traffic: What was compared.
        prices: Of parts; ``None`` where prices count in ports of a switch.
        budget: What a network may cost at most, if there is such a limit.
        networks: Those that fit, in the order of families.
        left_out: Families that do not fit, with the reason.
        gpus: GPUs of each node, each with an interface of its own; a rank of the jobs runs on each.
        rails: Networks side by side, on which the interfaces of a node are in turn.
        bandwidth: Of every link.
    """

    nodes: int
    radix: int
    equal: str
    traffic: Sequence[str]
    prices: Mapping[str, float | None] | None
    budget: float | None
    networks: Sequence[Laid]
    left_out: Mapping[str, str]
    gpus: int = 1
    rails: int = 1
    bandwidth: str = BANDWIDTH

    @property
    def interfaces(self) -> int:
        """Interfaces of a node, a rank at each: one of each GPU, without GPUs one on each rail."""
        return self.gpus if self.gpus > 1 else self.rails

    @property
    def who(self) -> str:
        """For how many nodes, in words."""
        gpus = "" if self.gpus == 1 else f" of {self.gpus} GPUs"
        rails = "" if self.rails == 1 else f" on {self.rails} rails"
        all_ = "" if self.interfaces == 1 else f" ({self.nodes * self.interfaces:,} interfaces)"
        return f"{self.nodes:,} nodes{gpus}{rails}{all_}"

    @property
    def inside(self) -> dict[str, Any]:
        """The table `[node]` of nodes of several interfaces; nothing without."""
        if self.interfaces == 1:
            return {}
        node = {"ranks": self.interfaces, "interfaces": self.interfaces, "planes": self.rails}
        return {"node": {**node, "interface": "rail", "network": _INSIDE}}

    @property
    def engines(self) -> list[str]:
        """The engines that simulated."""
        return self.networks[0].engines

    @property
    def reference(self) -> Laid:
        """The network by which others are measured: one switch, the full fat tree, or the next."""
        return self.networks[0]

    @property
    def dear_as_one(self) -> str:
        """What has a relative price of 1: full fat trees even where a budget leaves them out."""
        return ONE_SWITCH if self.reference.name == ONE_SWITCH else "full fat tree"

    def per_money(self, laid: Laid, traffic: str, engine: str) -> float:
        """What a network's nodes get for the money, by what those of :attr:`reference` get."""
        mine, its = (
            one.share(traffic, engine) / one.relative_price for one in (laid, self.reference)
        )
        return mine / its

    @property
    def content(self) -> dict[str, Any]:
        """All of it, as it is saved."""
        return asdict(self)

    @property
    def table(self) -> pa.Table:
        """One row per network: layout, cost, and for each traffic and engine its share."""
        rows = []
        for one in self.networks:
            row = {k: v for k, v in asdict(one).items() if k not in ("network", "measured")}
            row["layout"] = one.layout
            for engine in self.engines:
                for traffic in self.traffic:
                    name = f"{traffic.replace('-', '_')}_{engine}"
                    row[f"{name}_share"] = one.share(traffic, engine)
                    row[f"{name}_per_money"] = self.per_money(one, traffic, engine)
            rows.append(row)
        return pa.Table.from_pylist(rows)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Shares over prices, a panel for each traffic.

        Args:
            path: Where to write the picture: PNG, PDF or SVG, by how the name ends.
        """
        from odonata.plots import drawn
        from odonata.plots.design import draw_design, size_of

        return drawn(path, size_of(self), lambda figure: draw_design(figure, self))

    def _repr_html_(self) -> str:
        shown: str = self.table.to_pandas()._repr_html_()
        return shown


def design(
    nodes: int,
    *,
    traffic: Sequence[str] = USUAL,
    radix: int = 64,
    equal: str | None = None,
    price: Mapping[str, float] | Prices | None = None,
    budget: float | None = None,
    gpus: int = 1,
    rails: int = 1,
    bandwidth: str = BANDWIDTH,
    packets: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[float, int], object] | bool = False,
    notice: Callable[[str], object] = warn,
) -> Design:
    """Lays out a network of every family for a number of nodes, and compares them under traffic.

    Args:
        nodes: Nodes that each needs at least; the jobs run on so many.
        traffic: What is compared: ``uniform``, ``all-to-all``, ``stencil``, ``scattered-stencil``,
            ``worst-shift``.
        radix: Most ports of a switch.
        equal: ``nodes``: of each family the cheapest layout that carries uniform traffic at full
            bandwidth over shortest paths. ``cost``: that of most bandwidth for the budget. Default:
            ``cost`` with a budget, else ``nodes``.
        price: Prices of parts, as of ``odonata topology describe --price``; with ``local_cable``,
            cables in groups and pods are of copper. Default: a connected port costs 1, an optical
            cable 1, a copper one nothing.
        budget: Most that a network may cost. Default with ``equal="cost"``: as much as the
            cheapest full fat tree.
        gpus: GPUs of a node, each with an interface of its own, on a switch of 450 GB/s inside the
            node. Networks are laid out for all interfaces; jobs have a rank on each GPU.
        rails: Networks side by side: interfaces of a node are on them in turn; a node without GPUs
            has one on each, with a rank of jobs. A price is that of all of them.
        bandwidth: Of every link, such as ``"50 GB/s"``.
        packets: Whether to simulate packets as well, under the family's adaptive routing.
        jobs: Simulations at a time. Default: one per processor.
        out: Directory for table, picture, report and scenarios; simulations that are there are not
            repeated. Default: nothing is kept.
        progress: Whether to show how far it is, or a function that is called with the share and the
            simulations done.
        notice: Called with what a person should know. Default: a warning.

    Raises:
        ScenarioError: If an argument is wrong, or no family fits.
        OutputError: If the directory cannot be written.
        KeyboardInterrupt: If it was interrupted.
    """
    found = lay_out(
        nodes,
        traffic=traffic,
        radix=radix,
        equal=equal,
        price=price,
        budget=budget,
        gpus=gpus,
        rails=rails,
        bandwidth=bandwidth,
    )
    title = f"Networks for {found.design.who}"
    with following(progress, lambda console: StudyBar(console, title), title) as reporting:
        if out is None:
            with tempfile.TemporaryDirectory() as directory:
                return found.simulated(Path(directory), packets, jobs, reporting, notice)
        with Claim(Path(out), goes_on=STORE_FILE) as claim:
            done = found.simulated(claim.directory, packets, jobs, reporting, notice)
            write(done, claim, notice)
    return done


@dataclass(frozen=True)
class Chosen:
    """What is going to be simulated.

    Attributes:
        design: Without what is measured.
        fitted: The networks' layouts, by name.
    """

    design: Design
    fitted: Mapping[str, Fitted]

    def points(self, packets: bool) -> list[Point]:
        """The simulations."""
        found = []
        for name, fitted in self.fitted.items():
            tried = [("flow", routing) for routing in fitted.kind.flows]
            tried += [("packet", fitted.kind.adaptive)] if packets else []
            for traffic in self.design.traffic:
                for engine, routing in tried:
                    what = traffic_scenario(self.design, fitted, traffic, engine, routing)
                    cost = 4.0 if engine == "packet" or routing in ("valiant", "ugal-l") else 1.0
                    cost /= min(fitted.layout.bound, 1.0)
                    key = json.dumps([name, traffic, engine, routing])
                    found.append(Point(key, what, _keep, cost))
        return found

    def simulated(
        self,
        directory: Path,
        packets: bool,
        jobs: int | None,
        progress: Callable[..., object] | None,
        notice: Callable[[str], object],
    ) -> Design:
        """Simulates what is missing in a directory.

        Args:
            directory: Of the results.
            packets: As of :func:`design`.
            jobs: As of :func:`design`.
            progress: As of ``run_points``.
            notice: As of :func:`design`.
        """
        with Store(directory / STORE_FILE) as store:
            records = run_points(
                self.points(packets), jobs=jobs, store=store, progress=progress, notice=notice
            )
        best: dict[str, dict[tuple[str, str], Measured]] = {}
        for key, record in records.items():
            name, traffic, engine, routing = json.loads(key)
            took = record["run_time_ps"]
            one = Measured(traffic, engine, routing, took, record["least_ps"] / took)
            here = best.setdefault(name, {})
            known = here.get((traffic, engine))
            if known is None or one.run_time_ps < known.run_time_ps:
                here[traffic, engine] = one
        networks = [
            Laid(**{**vars(one), "measured": tuple(best[one.name].values())})
            for one in self.design.networks
        ]
        return Design(**{**vars(self.design), "networks": networks})


def lay_out(
    nodes: int,
    *,
    traffic: Sequence[str] = USUAL,
    radix: int = 64,
    equal: str | None = None,
    price: Mapping[str, float] | Prices | None = None,
    budget: float | None = None,
    gpus: int = 1,
    rails: int = 1,
    bandwidth: str = BANDWIDTH,
) -> Chosen:
    """Chooses the layouts that :func:`design` simulates; its arguments are the same.

    Raises:
        ScenarioError: If an argument is wrong, or no family fits.
    """
    if not 1 <= gpus <= GPUS:
        _refuse("gpus", f"{gpus:,}", f"1 to {GPUS}")
    if not 1 <= rails <= RAILS or (gpus > 1 and gpus % rails):
        of = "" if gpus == 1 else f", of which {gpus} GPUs are a multiple"
        _refuse("rails", f"{rails:,}", f"1 to {RAILS}{of}")
    try:
        rate = str(Rate(bandwidth))
    except UnitError as error:
        _refuse("bandwidth", error.found, error.allowed)
    # Of each rail.
    each = max(gpus // rails, 1)
    interfaces = nodes * each
    said = f"{nodes:,}" if gpus == 1 else f"{nodes:,} of {gpus} GPUs"
    for key, value, found_, (first, last) in (
        ("nodes", interfaces, said, NODES),
        ("radix", radix, f"{radix:,}", RADIX),
    ):
        if not first <= value <= last:
            of = " interfaces" if key == "nodes" and gpus > 1 else ""
            _refuse(key, found_, f"{first:,} to {last:,}{of}")
    if not traffic:
        _refuse("traffic", "none", ", ".join(TRAFFIC))
    for number, given in enumerate(traffic):
        if given not in TRAFFIC:
            _refuse("traffic", f'"{given}"', ", ".join(TRAFFIC))
        if given in traffic[:number]:
            _refuse("traffic", f'"{given}" twice', "each once")
    equal = equal or ("nodes" if budget is None else "cost")
    if equal not in EQUAL:
        _refuse("equal", f'"{equal}"', ", ".join(EQUAL))
    if budget is not None and (equal != "cost" or not 0 < budget < math.inf):
        _refuse("budget", f'{budget:g} with equal = "{equal}"', 'a price above 0, with "cost"')
    prices = price if isinstance(price, Prices) else Prices(**price) if price else None
    # A layout is that of one rail, its price that of all.
    of_one = vars(IN_PORTS if prices is None else prices)
    counted = Prices(**{k: None if v is None else v * rails for k, v in of_one.items()})
    trees = KINDS[REFERENCE]
    full = fit(trees, interfaces, radix, counted, most=None, full=True, multiple=each)
    reference = None if isinstance(full, str) else full.price
    if equal == "cost" and budget is None:
        if reference is None:
            _refuse("budget", "none, and no fat tree fits whose price it could be", "a price")
        budget = reference
    fitted: dict[str, Fitted] = {}
    left_out: dict[str, str] = {}
    for name, kind in KINDS.items():
        most = reference if budget is None else budget
        if name == REFERENCE and budget is None:
            one: Fitted | str = full
        elif name == "fat tree 1:2" and REFERENCE in fitted and budget is not None:
            one = "the full fat tree is within the budget"
        else:
            one = fit(
                *(kind, interfaces, radix, counted),
                most=most,
                full=budget is None,
                multiple=each,
            )
        if isinstance(one, str):
            left_out[name] = one
        else:
            fitted[name] = one
    if not fitted:
        reasons = "".join(f"\n  {name}: {why}" for name, why in left_out.items())
        allowed = "a larger radix or budget"
        message = f"found no family for {nodes:,} nodes; allowed: {allowed}{reasons}"
        raise ScenarioError([Problem("nodes", message, f"{nodes:,}", allowed)])
    # Where neither one switch nor a full tree fits, prices are relative to the first network's.
    by = None if ONE_SWITCH in fitted else reference
    by = by or next(iter(fitted.values())).price or 1.0
    networks = [_laid(name, one, by, rails) for name, one in fitted.items()]
    found = Design(
        nodes=nodes,
        radix=radix,
        equal=equal,
        traffic=tuple(traffic),
        prices=None if prices is None else vars(prices),
        budget=budget,
        networks=networks,
        left_out=left_out,
        gpus=gpus,
        rails=rails,
        bandwidth=rate,
    )
    return Chosen(found, fitted)


def _refuse(key: str, found: str, allowed: str) -> None:
    raise ScenarioError([Problem(key, f"found {found}; allowed: {allowed}", found, allowed)])


def _laid(name: str, fitted: Fitted, by: float, rails: int) -> Laid:
    made_of = fitted.parts
    return Laid(
        name=name,
        network=fitted.layout.network,
        nodes=made_of.nodes * rails,
        switches=sum(made_of.switches.values()) * rails,
        radix=max(made_of.switches),
        ports=sum(ports * count for ports, count in made_of.switches.items()) * rails,
        optical_cables=made_of.optical_cables * rails,
        static_watts=math.fsum(made_of.static_watts(Watts()).values()) * rails,
        price=fitted.price,
        relative_price=fitted.price / by,
        bound=fitted.layout.bound,
    )


def traffic_scenario(
    found: Design, fitted: Fitted, traffic: str, engine: str, routing: str | dict[str, str]
) -> Scenario:
    """A job on all nodes of a layout.

    Args:
        found: What nodes are.
        fitted: The layout.
        traffic: One of :data:`TRAFFIC`.
        engine: ``flow`` or ``packet``.
        routing: Of the network.
    """
    job: dict[str, Any] = {"name": traffic, "nodes": found.nodes}
    if found.interfaces > 1:
        job["ranks_per_node"] = found.interfaces
    # Successive ends of a rail are as many ranks apart as there are rails.
    ranks, shift = found.nodes * found.interfaces, fitted.layout.shift * found.rails
    job["motif"] = _motif(traffic, ranks, shift, _MESSAGE[engine])
    if traffic in ("uniform", "scattered-stencil"):
        job["placement"] = "random-node"
    simulation: dict[str, Any] = {"engine": engine}
    if engine == "flow":
        settle_s = _SETTLE_BYTES / Rate(found.bandwidth)
        settle_s /= min(fitted.layout.bound / fitted.kind.enough, 1.0)
        simulation |= {"paths": _PATHS, "settle": f"{settle_s * 1e6:.3g} us"}
    tables = {"simulation": simulation, "job": [job], **found.inside}
    return scenario_of(fitted.kind, fitted.layout, routing, found.bandwidth, **tables)


def _motif(traffic: str, nodes: int, shift: int, message: str) -> dict[str, Any]:
    if traffic == "worst-shift":
        return {"kind": "shift", "message": message, "offset": shift % nodes or 1,
                "iterations": 2}  # fmt: skip
    if traffic in ("uniform", "all-to-all"):
        steps = (1 + int((step * _GOLDEN % 1) * (nodes - 1)) for step in range(1, _STEPS + 1))
        shifts = [{"kind": "shift", "message": message, "offset": step} for step in steps]
        return {"kind": "phases", "phases": shifts}
    return {"kind": "halo3d", "message": message, "iterations": 2}


def _keep(result: Result) -> Record:
    """The run time, and the least that what leaves nodes takes on their links."""
    (job,) = result.summary_dict["jobs"]
    assert result.scenario is not None
    sent = job["bytes_created"]
    if result.scenario.node is not None:
        # Out of the nodes and into them.
        rows = rows_labelled(result.links, "class", "interface")
        sent = numbers(result.links, "bytes")[rows].sum() / 2
    links: Any = result.scenario.network.links
    least_s = sent / job["ranks"] / links.terminal.bandwidth
    return {"run_time_ps": job["run_time_ps"], "least_ps": float(least_s * 1e12)}


def write(found: Design, claim: Claim, notice: Callable[[str], object] = warn) -> None:
    """Writes ``design.json``, the table as CSV, a scenario of each network, picture and report.

    Args:
        found: What was found.
        claim: Of the directory.
        notice: Called with what became of earlier files and of pictures. Default: a warning.
    """
    from odonata.report.html import write_report

    with claim.updating(notice=notice) as partial:
        write_json(partial / RESULT_FILE, found.content)
        write_csv(partial / "design.csv", found.table)
        for one in found.networks:
            write_file(partial / f"{file_name(one)}.toml", toml_of(found, one))
    with claim.adding() as partial, picture(Path("design.png"), notice):
        found.plot(partial / "design.png")
    with claim.adding() as partial:
        write_report(claim.directory, out=partial / REPORT_FILE)


def file_name(laid: Laid) -> str:
    """What the scenario of a network is called."""
    return re.sub(r"[^a-z0-9]+", "-", laid.name.lower().replace("+", "-plus")).strip("-")


def toml_of(found: Design, laid: Laid) -> str:
    """The scenario of a network with the first traffic, under adaptive routing."""
    kind = KINDS[laid.name]
    layout = Layout(dict(laid.network), laid.nodes, 0, 0, 0, laid.bound, 1)
    job = {"nodes": found.nodes, "motif": {"kind": "halo3d", "message": "64 KiB"}}
    if found.interfaces > 1:
        job["ranks_per_node"] = found.interfaces
    title = f"{found.who} on a {laid.name}"
    tables = {"title": title, "job": [job], **found.inside}
    return scenario_of(kind, layout, kind.adaptive, found.bandwidth, **tables).to_toml()


_MEASURED = {"traffic": str, "engine": str, "routing": object, "run_time_ps": int, "share": float}
_LAID = {
    **dict.fromkeys(("nodes", "switches", "radix", "ports", "optical_cables"), int),
    **dict.fromkeys(("static_watts", "price", "relative_price", "bound"), float),
    "name": str,
    "network": Every(object),
    "measured": [_MEASURED],
}
_FORM = {
    "nodes": int,
    "radix": int,
    "equal": str,
    "traffic": [str],
    "prices": OrNull(Every(Maybe(float))),
    "budget": OrNull(float),
    "networks": [_LAID],
    "left_out": Every(str),
    "gpus": Maybe(int),
    "rails": Maybe(int),
    "bandwidth": Maybe(str),
}


def load(directory: Path) -> Design:
    """What was found there.

    Raises:
        OutputError: If it cannot be read.
    """
    file = directory / RESULT_FILE
    saved = read_keys(file, _FORM)
    if not saved["networks"]:
        raise refusal(file, "it has no network")
    networks = []
    for one in saved["networks"]:
        measured = tuple(Measured(**{key: m[key] for key in _MEASURED}) for m in one["measured"])
        networks.append(Laid(**{**{key: one[key] for key in _LAID}, "measured": measured}))
    # What it does not say was not asked for yet.
    return Design(**{**{key: saved[key] for key in _FORM if key in saved}, "networks": networks})


__all__ = ["TRAFFIC", "Design", "Laid", "Measured", "design", "lay_out", "load", "write"]
