"""Three months of a machine's queue, simulated: which jobs run where at a moment."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from odonata_live.cluster.queue import QueuedJob
from odonata_live.cluster.utilisation import spanning, utilisation
from odonata_studies.longtail import machine

DAYS = 90
_DAY_S = 86_400
#: Days for which users want equally much; then another share of the machine: 0.05 to 0.9.
_STEADY_DAYS = 1
#: Part of the jobs that have one node: assumed. ("We experimentally observed many jobs that only
#: allocate one node", 5.1.)
_ONE_NODE = 0.5
#: Nodes of the others: 100 quantiles (0.005, 0.015 …) of the 2,215 jobs of at least 4 nodes of a
#: week on Leonardo, the same centre's next machine (github.com/HLC-Lab/pico, tracer/sinfo, MIT).
SIZES = (
    *(4,) * 37, 5, 5, 5, 5, 6, 6, *(8,) * 19, 9, 9, 9, 10, 12, 12, 14, *(16,) * 12,
    20, 20, 20, 21, 25, 32, 32, 32, 32, 35, 63, 64, 64, 80, 81, 96, 128, 128, 201,
)  # fmt: skip
#: Seconds that jobs run: 50 quantiles (0.01, 0.03 …) of the 23,911 jobs of Theta in 2022, cut at
#: what they asked for (reports.alcf.anl.gov/data).
RUN_TIMES_S = (
    38, 47, 58, 61, 77, 92, 117, 162, 255, 394, 572, 704, 871, 1071, 1284, 1737, 1800, 2061, 2321,
    2347, 2387, 2700, 3272, 3531, 3551, 3583, 3600, 3982, 5069, 6084, 6920, 7221, 7960, 8875, 9709,
    10070, 10509, 10800, 10800, 10800, 10800, 10800, 12600, 15925, 20783, 21600, 21600, 25200,
    32400, 85363,
)  # fmt: skip


@dataclass(frozen=True)
class Application:
    """What the nodes of a job send to those next to them in a 3-D grid.

    Attributes:
        name: Of the application.
        message_bytes: To each of the six.
        interval_us: Between two exchanges.
    """

    name: str
    message_bytes: int
    interval_us: int

    @property
    def bytes_per_s(self) -> float:
        """The rate of a node that has six neighbours."""
        return 6e6 * self.message_bytes / self.interval_us


def _scaled(
    name: str, seconds: float, messages: float, message_bytes: float, partners: float
) -> Application:
    """The traffic of a node, from what a rank of 64 on one node was measured to send.

    A node has the 64 ranks as a cube of 4 × 4 × 4: of each of its six faces the 16 ranks there
    send to the next node. It is taken to be as fast as 12 of the nodes measured on (four V100 have
    31 TFLOP/s, a Xeon Phi some 2.6), and to have so much larger a problem that an exchange comes as
    often as measured: its faces grow with 12^(2/3).
    """
    exchanges = messages / partners
    return Application(
        name, round(16 * 12 ** (2 / 3) * message_bytes), round(1e6 * seconds / exchanges)
    )


#: Measured by mpiP (github.com/CNCA-CeNAT/comm-patterns-clustering, MIT): run time, and per rank
#: messages, their mean size and partners.
APPLICATIONS = (
    _scaled("AMG2013", 373.0, 15_310, 20_491, 59.9),
    _scaled("LULESH", 1890.0, 264_829, 16_039, 16.5),
    _scaled("miniAMR", 17.0, 20_272, 40_916, 6.45),
    _scaled("miniFE", 404.0, 5_975, 57_962, 17.4),
    _scaled("miniMD", 48.2, 25_872, 48_202, 7.02),
)


@dataclass(frozen=True)
class Running:
    """A job that runs.

    Attributes:
        id: Its number.
        nodes: Its nodes, ascending.
    """

    id: int
    nodes: tuple[int, ...]

    @property
    def application(self) -> Application:
        """What it runs; drawn by its number."""
        return APPLICATIONS[Random(self.id).randrange(len(APPLICATIONS))]

    @property
    def phase(self) -> float:
        """Where in the interval between its exchanges it is, from 0 to 1."""
        return Random(~self.id).random()

    @property
    def queued(self) -> QueuedJob:
        """As a queue tells it."""
        return QueuedJob(str(self.id), "RUNNING", tuple(map(machine.name_of, self.nodes)))


@dataclass(frozen=True)
class Moment:
    """The machine at some time.

    Attributes:
        number: Of the moment, in the order of time.
        day: Since the begin.
        jobs: That run.
    """

    number: int
    day: float
    jobs: tuple[Running, ...]

    @cached_property
    def b(self) -> float:
        """Background network utilisation by equation 2; the probe is not counted."""
        return utilisation([job.queued for job in self.jobs], machine.NODES).b

    def indicators(self) -> dict[str, float]:
        """What can be known of it without privileges, by name.

        `b1` and `b` (equations 1 and 2); `between groups`, `between islands`: by the part of a
        job's other nodes that are in others; `exposed`: b1 of the nodes at the probe's own leaves,
        when it is on different islands; `sending`: bytes per second that jobs are known to send
        between islands, over what the global links carry.
        """
        queue = [job.queued for job in self.jobs]
        names = {machine.name_of(node): node for node in machine.nodes()}
        whole = utilisation(queue, machine.NODES)
        leaves = {machine.leaf_of(n) for n in machine.probe_nodes(machine.DIFFERENT_ISLANDS)}
        near = [name for name, node in names.items() if machine.leaf_of(node) in leaves]
        islands = {name: str(machine.island_of(node)) for name, node in names.items()}
        groups = {name: str(machine.leaf_of(node)) for name, node in names.items()}
        capacity = machine.ISLANDS * machine.SPINES * machine.GLOBAL_LINKS * 12.5e9
        return {
            "b1": whole.b1,
            "b": whole.b,
            "between groups": spanning(queue, groups, machine.NODES),
            "between islands": spanning(queue, islands, machine.NODES),
            "exposed": utilisation(queue, near).b1,
            "sending": sum(
                job.application.bytes_per_s * spanning([job.queued], islands, 1)
                for job in self.jobs
            )
            / capacity,
        }


def place_packed(idle: dict[int, list[int]], size: int, random: Random) -> list[int] | None:
    """Takes nodes as the paper says that Slurm does (4.1); none if too few are idle.

    The idle nodes of one group if they suffice, of the group with the fewest such; else those of
    the group with the fewest idle nodes, and so on.

    Args:
        idle: Idle nodes by leaf; what is taken is removed.
        size: Nodes wanted.
        random: Not used: nothing is drawn.
    """
    if sum(map(len, idle.values())) < size:
        return None

    def few(leaf: int) -> tuple[int, int]:
        return len(idle[leaf]), leaf

    enough = [leaf for leaf, free in idle.items() if len(free) >= size]
    order = [min(enough, key=few)] if enough else sorted(idle, key=few)
    taken: list[int] = []
    for leaf in order:
        count = min(size - len(taken), len(idle[leaf]))
        taken += idle[leaf][:count]
        del idle[leaf][:count]
    return sorted(taken)


#: For jobs on Leonardo up to this many nodes: the part that is in one of its 22 cells, and in how
#: many others are as a rule. (Of 4, 8, 16 nodes 54, 31, 7 % are in one, 1.7, 2.1, 3.0 on average;
#: those of 32 in 5.7.) Nodes in a cell are nearly all on different leaves: 16 on 14.8.
_CELLS = ((6, 0.54, (2, 3)), (12, 0.31, (2, 3)), (24, 0.07, (3, 4)), (machine.NODES, 0.0, (4,)))


def place_scattered(idle: dict[int, list[int]], size: int, random: Random) -> list[int] | None:
    """Takes nodes as Slurm does on Leonardo; none if too few are idle.

    As many islands as jobs of that size have cells there, the same number in each as far as there
    are idle ones, any nodes in them.

    Args:
        idle: Idle nodes by leaf; what is taken is removed.
        size: Nodes wanted.
        random: For the draws.
    """
    if sum(map(len, idle.values())) < size:
        return None
    free: list[list[int]] = [[] for _ in range(machine.ISLANDS)]
    for nodes in idle.values():
        for node in nodes:
            free[machine.island_of(node)].append(node)
    _, alone, several = next(one for one in _CELLS if size <= one[0])
    count = 1 if random.random() < alone else random.choice(several)
    order = random.sample(range(machine.ISLANDS), machine.ISLANDS)
    taken: list[int] = []
    for island in order[:count]:
        share = min(-(-size // count), size - len(taken), len(free[island]))
        taken += random.sample(free[island], share)
    if len(taken) < size:
        # Where there are not enough, the others are anywhere.
        others = sorted(set().union(*free).difference(taken))
        taken += random.sample(others, size - len(taken))
    for node in taken:
        idle[machine.leaf_of(node)].remove(node)
    return sorted(taken)


#: Which nodes jobs get, by name.
POLICIES = {"scattered": place_scattered, "packed": place_packed}


def simulate_months(
    times: Iterable[float], policy: str = "scattered", seed: int = 1, days: int = DAYS
) -> list[Moment]:
    """Replays months of a queue, and looks at it at some times.

    Jobs come at random and start in the order of the queue; those behind one that does not fit
    start before it if they do.

    Args:
        times: Days since the begin, ascending.
        policy: One of :data:`POLICIES`.
        seed: Of all draws.
        days: How long.
    """
    # A stream of its own, so that the same jobs come under every policy.
    random, choices, place = Random(seed), Random(~seed), POLICIES[policy]
    idle: dict[int, list[int]] = {}
    held = machine.reserved()
    for node in machine.nodes():
        if node not in held:
            idle.setdefault(machine.leaf_of(node), []).append(node)
    work = (_ONE_NODE + (1 - _ONE_NODE) * sum(SIZES) / len(SIZES)) * (
        sum(RUN_TIMES_S) / len(RUN_TIMES_S)
    )
    waiting: list[tuple[int, int, float]] = []
    running: dict[int, list[int]] = {}
    ends: list[tuple[float, int]] = []
    found: list[Moment] = []
    looks: Sequence[float] = list(times)
    now, number, wanted, until = 0.0, 0, 0.0, 0.0
    while len(found) < len(looks):
        if now >= until:
            wanted, until = random.uniform(0.05, 0.9), until + _STEADY_DAYS * _DAY_S
        now += random.expovariate(wanted * machine.NODES / work)
        while ends and ends[0][0] <= now:
            _look(found, looks, ends[0][0], running)
            _, ended = heapq.heappop(ends)
            for node in running.pop(ended):
                free = idle[machine.leaf_of(node)]
                free.append(node)
                free.sort()
        _look(found, looks, now, running)
        if now > days * _DAY_S and len(found) < len(looks):
            raise ValueError(f"a look at day {looks[len(found)]:g}; allowed: below {days}")
        number += 1
        size = 1 if random.random() < _ONE_NODE else random.choice(SIZES)
        waiting.append((number, size, float(random.choice(RUN_TIMES_S))))
        still = []
        for one in waiting:
            taken = place(idle, one[1], choices)
            if taken is None:
                still.append(one)
                continue
            running[one[0]] = taken
            heapq.heappush(ends, (now + one[2], one[0]))
        waiting = still
    return found


def _look(
    found: list[Moment], looks: Sequence[float], now: float, running: dict[int, list[int]]
) -> None:
    """Keeps what runs at every time of interest before `now`, where something changes."""
    while len(found) < len(looks) and looks[len(found)] * _DAY_S < now:
        jobs = tuple(Running(id_, tuple(nodes)) for id_, nodes in running.items())
        found.append(Moment(len(found), looks[len(found)], jobs))
