"""A day of jobs through the daemon on an emulated Slurm, beside the simulator."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

import placed_slurm
from emulated_slurm import EmulatedSlurm
from odonata.batch import JobLog, schedule
from odonata_live.cluster.journal import RELEASED, WITHDRAWN, Journal
from odonata_live.cluster.queue import hosts
from placed_slurm import Daemon, DayJob, finished, submit_day, wait_until_done

GROUPS, SIZE = 8, 8


@pytest.mark.parametrize("source", ["theta", "synthetic"])
def test_a_day_is_placed_as_the_simulator_places_it(
    slurm: Callable[..., EmulatedSlurm], source: str
) -> None:
    """64 nodes in 8 groups, GRAP, EASY. The simulator gets the events that the daemon saw.

    Its clock is the daemon's, in milliseconds: jobs come when they were seen first and run from
    their decision until they were seen gone. It knows of no node that stops answering for a while
    and of no decision that Slurm did not carry out, as happens on a busy machine: such a day is
    begun anew.
    """
    if source == "theta" and not placed_slurm.THETA.exists():
        pytest.skip("needs theta-jobs of the shared data; the synthetic day stands in for it")
    if source == "synthetic" and placed_slurm.THETA.exists():
        pytest.skip("the day of theta-jobs is there")
    make = placed_slurm.theta_day if source == "theta" else placed_slurm.synthetic_day
    day = make(200, GROUPS * SIZE, 25.0, 4.0)
    for _ in range(3):
        disturbances = place_a_day(slurm, day)
        if not disturbances:
            return
    pytest.fail(f"no day of three without what the simulator is not told: {disturbances}")


def place_a_day(slurm: Callable[..., EmulatedSlurm], day: list[DayJob]) -> list[object]:
    """Has a day placed and compares it; what made it another day than the simulator's, if any."""
    cluster = slurm(
        GROUPS * SIZE,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters=placed_slurm.PARAMETERS,
        topology=placed_slurm.topology(GROUPS, SIZE),
    )
    daemon = Daemon(cluster, "--policy", "grap", "--patience", "2 min")
    daemon.start()
    ids = submit_day(cluster, day)
    wait_until_done(cluster, 400, daemon)
    daemon.wait_for_a_cycle()
    daemon.wait_for_a_cycle()
    daemon.end()
    journal = Journal(daemon.journal)
    made = journal.decisions()
    decisions = {int(one.job): one for one in made}
    events = journal.events()
    journal.close()

    # No job is lost, none left to Slurm, none placed twice.
    assert set(decisions) == set(ids), daemon.said()
    assert not [one for one in decisions.values() if one.state == RELEASED]
    ended = finished(cluster)
    assert {job: len(ended.get(job, ())) for job in ids} == dict.fromkeys(ids, 1)
    assert {ended[job][0]["JobState"] for job in ids} == {"COMPLETED"}
    # None started on other nodes than decided.
    for job in ids:
        assert set(hosts(ended[job][0]["NodeList"], "finished")) == set(decisions[job].nodes)
    check_groups(day, ids, decisions, ended)
    disturbances: list[object] = [one for one in made if one.state == WITHDRAWN]
    disturbances += [event for event in events if event[1] == "withheld"]
    if not disturbances:
        check_against_simulator(ids, decisions, events)
    cluster.close()
    return disturbances


def group(node: str) -> int:
    return int(node[1:]) // SIZE


def check_groups(day: list[DayJob], ids: list[int], decisions: dict, ended: dict) -> None:  # type: ignore[type-arg]
    """Large jobs own their groups: none that spans groups overlaps another one there in time."""
    spans = []
    for job, wanted in zip(ids, day, strict=True):
        groups = {group(node) for node in decisions[job].nodes}
        assert len(decisions[job].nodes) == wanted.nodes
        # Small jobs sit in one group; large ones in as few as hold them.
        assert len(groups) == -(-wanted.nodes // SIZE)
        owned = {f"g{number}" for number in groups} if len(groups) > 1 else set()
        assert set(decisions[job].owned) == owned
        record = ended[job][0]
        if owned:
            start, end = pd.Timestamp(record["StartTime"]), pd.Timestamp(record["EndTime"])
            spans.append((start, end, groups, job))
    assert spans
    for index, (start, end, groups, job) in enumerate(spans):
        for other_start, other_end, other_groups, other in spans[:index]:
            apart = end <= other_start or other_end <= start
            assert apart or not groups & other_groups, (job, other)


def check_against_simulator(ids: list[int], decisions: dict, events: list) -> None:  # type: ignore[type-arg]
    came = {int(job): (time, limit) for time, kind, job, _, limit in events if kind == "came"}
    gone = {int(job): time for time, kind, job, _, _ in events if kind == "ended"}
    first = min(time for time, _ in came.values())
    order = sorted(ids)
    table = pd.DataFrame(
        {
            "id": [str(job) for job in order],
            "submit_s": [came[job][0] - first for job in order],
            "run_s": [gone[job] - decisions[job].time_ms for job in order],
            "requested_s": [came[job][1] for job in order],
            "nodes": [len(decisions[job].nodes) for job in order],
        }
    )
    simulated = schedule(
        JobLog.from_table(table, machine_nodes=GROUPS * SIZE),
        policy="easy",
        enforce_limits=False,
        grap_groups=GROUPS,
        grap_modes=["adaptive"],
    ).jobs.to_pandas()
    free = dict.fromkeys((f"n{i}" for i in range(GROUPS * SIZE)), 0)
    wrong = []
    rows = {int(row.id): row for row in simulated.itertuples()}
    for job in sorted(ids, key=lambda job: decisions[job].id):
        row, one = rows[job], decisions[job]
        counts: dict[int, int] = {}
        for node in one.nodes:
            counts[group(node)] = counts.get(group(node), 0) + 1
        theirs = dict(tuple(map(int, part.split(":"))) for part in row.group_nodes.split(","))
        # In each group the lowest nodes that were free by the same events.
        lowest = []
        for number, count in theirs.items():
            names = [f"n{number * SIZE + index}" for index in range(SIZE)]
            lowest += [name for name in names if free[name] <= one.time_ms][:count]
        if row.start_s + first != one.time_ms or theirs != counts or set(lowest) != set(one.nodes):
            wrong.append((job, one.time_ms - first, row.start_s, counts, theirs, lowest, one.nodes))
        for node in one.nodes:
            free[node] = gone[job]
    if wrong:
        begin = min(first + one[1] for one in wrong)
        near = [event for event in events if abs(event[0] - begin) < 4000]
        made = [one for one in decisions.values() if abs(one.time_ms - begin) < 4000]
        pytest.fail(f"{len(wrong)} of {len(ids)}: {wrong[:3]}, beside {near} and {made}")
