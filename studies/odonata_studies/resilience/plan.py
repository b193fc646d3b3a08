"""What is simulated: networks at equal cost, what fails of them, and under which traffic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

from odonata import Scenario, _engine
from odonata.results import Result
from odonata.simulate import ask_engine
from odonata.study.execution import Point, Record
from odonata_studies.networks import FAMILIES, NETWORKS

#: Bandwidth of every link.
RATE = 12.5e9
SEEDS = (1, 2, 3, 4, 5)
#: What is measured under each traffic.
TRAFFIC: Mapping[str, str] = {
    "uniform": "delivered",
    "worst shift": "delivered",
    "latency": "p99_ns",
    "stencil": "run_us",
}
#: Over tables made for what is left, one of all shortest paths at random; or by load.
ROUTINGS = ("tables", "adaptive")


@dataclass(frozen=True)
class Layout:
    """A network that is compared.

    Attributes:
        name: For people.
        network: As in a scenario, without routing and links.
        shift: From a node to the one that makes the worst shift.
        global_class: The links between groups, or ``None`` where all links are alike.
        routing: By name, as a scenario has it.
        whole_groups: Routings that need every link within a group.
    """

    name: str
    network: dict[str, Any]
    shift: int
    global_class: str | None
    routing: Mapping[str, Any]
    whole_groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """What fails at random.

    Attributes:
        part: ``global links``, or ``links`` between any routers, or ``routers``.
        percent: Share of all.
    """

    part: str
    percent: int

    def __str__(self) -> str:
        return f"{self.percent} % of {self.part}" if self.percent else "nothing"

    def table(self, layout: Layout) -> dict[str, Any]:
        """As a scenario has it."""
        if not self.percent:
            return {}
        draw = {"part": self.part.rpartition(" ")[2], "share": f"{self.percent} %"}
        if self.part == "global links" and layout.global_class is not None:
            draw["link_class"] = layout.global_class
        return {"failures": {"draw": [draw]}}


def _routing(tables: Any, adaptive: Any) -> dict[str, Any]:
    return dict(zip(ROUTINGS, (tables, adaptive), strict=True))


#: Shortest paths, and the shorter queue where there are several.
BY_LOAD = {"algorithm": "shortest-path", "choice": "by-load"}
#: Detours over any shortest paths: what is left of a lattice is none, and ``dal`` needs one.
_OVER_TABLES = {"algorithm": "ugal-l", "paths": "shortest-path"}
_SHARED = NETWORKS[1024]
#: All have four switch ports and one and a half optical cables per node: those of
#: `odonata_studies.networks` that do, and of the other families one that does.
LAYOUTS = (
    Layout(
        "fat tree, tapered 1:2", *_SHARED["fat tree, tapered 1:2"], "level2",
        _routing("up-down", {"algorithm": "up-down", "choice": "by-load"}),
    ),
    Layout(
        "dragonfly", {"family": "dragonfly", "p": 4, "a": 8, "h": 5, "g": 32}, 32, "global",
        _routing("shortest-path", "par"),
    ),
    Layout(
        "dragonfly+", *_SHARED["dragonfly+"], "global", _routing("shortest-path", "fpar"),
        whole_groups=("adaptive",),
    ),
    Layout("HyperX 3-D", *_SHARED["HyperX 3-D"], None, _routing("shortest-path", _OVER_TABLES)),
    # Detours of twice twelve links would need more virtual channels than a link has.
    Layout("torus 3-D", *_SHARED["torus 3-D"], None, _routing("shortest-path", BY_LOAD)),
    Layout(
        "Slim Fly", {"family": "slim-fly", "q": 8, "p": 4}, 4, "global",
        _routing("shortest-path", "ugal-l"),
    ),
    Layout(
        "Jellyfish",
        {"family": "jellyfish", "routers": 256, "degree": 12, "p": 4, "wiring_seed": 1}, 4, None,
        _routing("shortest-path", "ugal-l"),
    ),
)  # fmt: skip
NOTHING = Failure("global links", 0)
FAILURES = (
    NOTHING,
    *(Failure("global links", percent) for percent in (2, 5, 10)),
    Failure("links", 10),
    Failure("routers", 5),
)
#: Out of the same 180 switches of 12 ports: the fat tree of Singla et al. 2012 (figure 8), and a
#: Jellyfish with three nodes at each switch (540; the paper's has 544).
SINGLA = (
    Layout(
        "fat tree", {"family": "fat-tree", "radix": 12, "nodes": 432, "levels": 3}, 36, None,
        {
            "by load": BY_LOAD,
            "flows": "shortest-path",
            "up-down": {"algorithm": "up-down", "choice": "by-load"},
        },
    ),
    Layout(
        "random graph",
        {"family": "jellyfish", "routers": 180, "degree": 9, "p": 3, "wiring_seed": 1}, 3, None,
        {"by load": BY_LOAD, "flows": "shortest-path"},
    ),
)  # fmt: skip
SINGLA_FAILURES = (NOTHING, *(Failure("links", percent) for percent in (5, 10, 15)))


@dataclass(frozen=True)
class Case:
    """A simulation.

    Attributes:
        layout: The network.
        routing: One of its routings.
        failure: What fails.
        traffic: One of `TRAFFIC`, or ``permutation``.
        seed: Of what fails, of the traffic and of the placement.
        duration_us: Of endless traffic; its second half is measured.
    """

    layout: Layout
    routing: str
    failure: Failure
    traffic: str
    seed: int
    duration_us: int = 30

    @property
    def name(self) -> str:
        """Names the point."""
        parts = (self.layout.name, self.routing, self.failure, self.traffic, self.seed)
        return " / ".join(str(part) for part in parts)

    @cached_property
    def damaged(self) -> dict[str, Any]:
        """Seed, network and failures."""
        link = {"bandwidth": f"{RATE / 1e9:g} GB/s", "latency": "100 ns"}
        classes = FAMILIES[self.layout.network["family"]].links
        links = {"terminal": {**link, "latency": "10 ns"}} | dict.fromkeys(classes, link)
        return {
            "seed": self.seed,
            "network": {**self.layout.network, "links": links},
            **self.failure.table(self.layout),
        }

    @property
    def left(self) -> Left:
        """What the failures leave."""
        return _left(json.dumps(self.damaged))

    def scenario(self) -> Scenario:
        """One job on all nodes that are left."""
        data = json.loads(json.dumps(self.damaged))
        data["network"]["routing"] = self.layout.routing[self.routing]
        data["simulation"] = {"packet": "1 KiB"}
        if self.routing == "flows":
            data["simulation"]["engine"] = "flow"
        job: dict[str, Any] = {"nodes": self.left.nodes}
        if self.traffic == "stencil":
            job["motif"] = {"kind": "halo3d", "message": "64 KiB", "iterations": 2}
            job["placement"] = "random-node"
        else:
            pattern: dict[str, Any] = {"pattern": "uniform-random"}
            if self.traffic == "worst shift":
                pattern = {"pattern": "shift", "offset": self.layout.shift}
            elif self.traffic == "permutation":
                pattern = {"pattern": "permutation"}
            load = 0.2 if self.traffic == "latency" else 1.0
            job["traffic"] = {**pattern, "message": "1 KiB", "load": load}
            data["simulation"] |= {
                "duration": f"{self.duration_us} us",
                "warmup": f"{self.duration_us // 2} us",
            }
        return Scenario.from_dict({**data, "job": [job]})

    def point(self) -> Point:
        """As the study runs it."""
        return Point(self.name, self.scenario(), figures_of)


@dataclass(frozen=True)
class Left:
    """What failures leave of a network.

    Attributes:
        nodes: Nodes in service.
        bisection: Bandwidth between halves of these, as a share of that of one half.
    """

    nodes: int
    bisection: float


@cache
def _left(damaged: str) -> Left:
    described = ask_engine(_engine.topology, Scenario.from_dict(json.loads(damaged)))
    whole = described["description"]
    lost = int(sum(described.get("node_out_of_service", [])))
    return Left(int(whole["nodes"]) - lost, float(whole["bisection_ratio"]))


def figures_of(result: Result) -> Record:
    """What is kept of a simulation."""
    job = result.to_pandas("jobs").iloc[0]
    return {
        "nodes": int(job["ranks"]),
        "delivered": float(job["accepted_bytes_per_s"]) / (float(job["ranks"]) * RATE),
        "p99_ns": float(job["message_latency_p99_ps"]) / 1e3,
        "run_us": float(job["end_ps"] - job["start_ps"]) / 1e6,
    }


def cases() -> Iterator[Case]:
    """All that is simulated."""
    for layout, routing, failure in product(LAYOUTS, ROUTINGS, FAILURES):
        if failure.part != "global links" and routing in layout.whole_groups:
            continue
        # Where all links are alike, those are the global ones.
        if failure.part == "links" and layout.global_class is None:
            continue
        for traffic, seed in product(TRAFFIC, SEEDS):
            yield Case(layout, routing, failure, traffic, seed)
    for layout in SINGLA:
        for routing, failure in product(layout.routing, SINGLA_FAILURES):
            for seed in SEEDS:
                yield Case(layout, routing, failure, "permutation", seed)


def few_cases() -> Iterator[Case]:
    """A glimpse of two families and of what is compared, too short for any figure."""
    for layout, failure in product(LAYOUTS[:1] + LAYOUTS[-2:-1], (NOTHING, FAILURES[3])):
        yield Case(layout, "adaptive", failure, "uniform", SEEDS[0], duration_us=6)
    for layout, failure in product(SINGLA, (NOTHING, SINGLA_FAILURES[-1])):
        yield Case(layout, "by load", failure, "permutation", SEEDS[0], duration_us=6)
