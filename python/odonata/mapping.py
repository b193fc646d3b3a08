"""What a mapping of ranks to nodes costs before anything is simulated.

``odonata.mapping(scenario)`` is :func:`odonata.mapping_costs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from odonata import names
from odonata.errors import ScenarioError
from odonata.lazy import callable_as
from odonata.scenario import Scenario, ScenarioLike, as_scenario

if TYPE_CHECKING:
    from odonata._engine import KnownRoutes

#: Mappings that ``compare`` sets beside each other, by what a scenario calls them.
COMPARED: dict[str, Any] = {
    **{name: name for name in names.MAPPING_START},
    "graph-bisection, swapped for hop-bytes": {"policy": "graph-bisection", "refine": "swap"},
    "graph-bisection, swapped for link load": {
        "policy": "graph-bisection",
        "refine": "swap",
        "objective": "link-load",
    },
}


def mapping_costs(scenario: ScenarioLike) -> list[dict[str, Any]]:
    """What the mapping of each job costs, as `odonata mapping` prints it.

    The figures are of one iteration of a motif that has iterations, of all that the job does
    otherwise, and of a made-up amount of messages for traffic. Routes are minimal, every decision
    on them taken with the same probability; jobs do not see each other.

    Args:
        scenario: Its jobs' placements and mappings count.

    Returns:
        Per job, in their order: ``job``, ``mapping``, ``ranks``, ``nodes``, ``per_iteration``,
        ``bytes``, ``share_in_node``, ``share_in_router``, ``share_in_group``, ``hop_bytes``,
        ``mean_hops``, ``link_time_ns``, ``busiest_KIND_ns`` and ``busiest_KIND`` for the kinds
        terminal, local and global, and ``node_of_rank`` (index among the job's nodes).

    Raises:
        ScenarioError: If the jobs do not fit, or it cannot be found out what they send.
    """
    return _costs(as_scenario(scenario), None)


def _costs(scenario: Scenario, known: KnownRoutes | None) -> list[dict[str, Any]]:
    from odonata import _engine
    from odonata.simulate import ask_engine

    jobs: list[dict[str, Any]] = ask_engine(_engine.mapping, scenario, known)["jobs"]
    for found, job in zip(jobs, scenario.job, strict=True):
        found["mapping"] = _words(job.mapping)
    return jobs


def compare_mappings(
    scenario: ScenarioLike, compared: Sequence[str] = tuple(COMPARED)
) -> Iterator[tuple[str, list[dict[str, Any]] | None, str]]:
    """What other mappings of the same jobs on the same nodes would cost.

    Args:
        scenario: Its jobs' mappings do not count.
        compared: Names in ``COMPARED``.

    Yields:
        Name, ``mapping_costs``, and an empty text; or name, ``None``, and why there are none.
    """
    from odonata._engine import KnownRoutes
    from odonata.study.local import available_processors

    what = as_scenario(scenario)
    known = KnownRoutes()

    def costs(name: str) -> list[dict[str, Any]]:
        changes = {f"job.{place}.mapping": COMPARED[name] for place in range(len(what.job))}
        return _costs(what.with_set(changes), known)

    # The engine works without Python's lock. Those that take longest come last, and begin first.
    with ThreadPoolExecutor(available_processors()) as pool:
        under_way = {name: pool.submit(costs, name) for name in reversed(compared)}
        try:
            for name in compared:
                try:
                    found = under_way[name].result()
                except ScenarioError as error:
                    yield name, None, str(error)
                    continue
                for job in found:
                    job["mapping"] = name
                yield name, found, ""
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _words(mapping: Any) -> str:
    """A job's mapping in a few words."""
    if isinstance(mapping, str):
        return mapping
    if isinstance(mapping, list):
        return "a list"
    if mapping.file is not None:
        return str(mapping.file)
    if mapping.refine is None:
        return str(mapping.policy)
    objective = (mapping.objective or "hop-bytes").replace("link-load", "link load")
    return f"{mapping.policy}, swapped for {objective}"


callable_as(__name__, f"{__name__}:mapping_costs")
