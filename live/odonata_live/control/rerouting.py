"""Routes around links that are down: what routers say of their ports, and the entries that follow.

Routers forward by an entry for each pair of nodes. Which of their ports are down they say
themselves (OpenFlow 1.3.5, sections 7.3.5.7 and 7.4.3); the entries are those of the simulator for
the network with these links in `[failures]`.
"""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from odonata.errors import ControlError, DeviceError
from odonata.output import lock
from odonata_live.cluster.store import StoreFile
from odonata_live.control.drivers.openflow import Session
from odonata_live.control.flows import set_ways
from odonata_live.control.network import Hop, Network
from odonata_live.control.plant import Plant
from odonata_live.control.routers import Routers

Pair = tuple[str, str]
#: Pairs and ports that are named to people.
_NAMED = 4


class RouteJournal(StoreFile):
    """What routers were found to have lost, and what was changed for it, before and after."""

    application = 0x4F44524A
    version = 1
    content = "routes"
    made_by = "odonata control reroute"
    tables = """
        CREATE TABLE changes (
            number INTEGER PRIMARY KEY, began_s REAL NOT NULL, ended_s REAL, dark TEXT NOT NULL,
            cut TEXT NOT NULL, made INTEGER, removed INTEGER, error TEXT NOT NULL DEFAULT ''
        )
    """

    def begin(self, dark: Sequence[str], cut: Sequence[Pair]) -> int:
        """Writes that entries are going to be changed, for which links and without which pairs."""
        with self.transaction():
            cursor = self._db.execute(
                "INSERT INTO changes (began_s, dark, cut) VALUES (?, ?, ?)",
                (time.time(), json.dumps(dark), json.dumps(cut)),
            )
        return cursor.lastrowid or 0

    def end(self, number: int, made: int, removed: int, error: str = "") -> None:
        """Writes what became of a change."""
        with self.transaction():
            self._db.execute(
                "UPDATE changes SET ended_s = ?, made = ?, removed = ?, error = ? WHERE number = ?",
                (time.time(), made, removed, error, number),
            )

    def changes(self) -> list[tuple[list[str], list[Pair], int | None, int | None, str]]:
        """All changes, the oldest first.

        Each has the links that were down, the pairs without a way, the numbers of entries set and
        taken off (`None`: a crash came first), and the error that ended it.
        """
        rows = self._db.execute(
            "SELECT dark, cut, made, removed, error FROM changes ORDER BY number"
        )
        return [
            (json.loads(dark), [(one, other) for one, other in json.loads(cut)], *rest)
            for dark, cut, *rest in rows
        ]


@dataclass(frozen=True)
class Look:
    """What one look at the routers' ports led to.

    Attributes:
        dark: Links that are down, as `r0:3 - r4:1`, and ports to nodes, as `r0:1 - n0`.
        cut: Pairs of nodes that no way is left for.
        made: Entries that were set.
        removed: Entries that were taken off.
        seconds: How long that took; 0 where nothing was to be done.
    """

    dark: tuple[str, ...]
    cut: tuple[Pair, ...]
    made: int = 0
    removed: int = 0
    seconds: float = 0.0


class Rerouter:
    """The entries of a plant's routers for what is left of its network; one at a time.

    Args:
        plant: With routers and addresses, and without optical switches.
        nodes: Between which packets are led; `None`: all.
        wait_s: How long another command may be at work.
        say: What people should know besides.

    Raises:
        ControlError: If the plant has no routers or has optical switches, or a node is not its.
    """

    def __init__(
        self,
        plant: Plant,
        nodes: Sequence[str] | None = None,
        *,
        wait_s: float = 30.0,
        say: Callable[[str], None] = print,
    ) -> None:
        network = plant.network
        if network is None or not plant.routers:
            raise ControlError(
                f"{plant.file}: router: found nothing; allowed: [[router]] for each router of the "
                "network, which says what of its links is down and takes entries"
            )
        if plant.switches:
            raise ControlError(
                f"{plant.file}: switch: found {len(plant.switches)} optical switches; allowed: "
                "none, as failed links are not simulated where optical switches set circuits"
            )
        names = list(network.nodes) if nodes is None else list(nodes)
        network.numbers(names)
        if len(names) < 2:
            raise ControlError("found one node; allowed: two or more, which send to each other")
        self.network: Network = network
        self.plant, self.wait_s, self.say = plant, wait_s, say
        self._pairs = [(one, other) for one in names for other in names if one != other]
        self._number = [
            {plant.routers[router].port(port): port for port in range(network.radix[router])}
            for router in range(network.routers)
        ]
        self._routers = Routers(plant)
        self._strange: set[tuple[str, int]] = set()
        #: The look that routers have been given the entries of.
        self._last: Look | None = None

    def __enter__(self) -> Rerouter:
        """Takes the lock and opens the journal.

        Raises:
            ControlError: If another process holds the lock for too long.
            OutputError: If the journal cannot be opened or made.
            ClusterError: If it is damaged, or of something else.
        """
        path = self.plant.store.with_name(self.plant.store.name + ".lock")
        busy = (
            f"{path}: another `odonata control` has been at work for {self.wait_s:g} s; try again "
            "when it has ended"
        )
        with ExitStack() as ends:
            ends.enter_context(lock(path, self.wait_s, busy, ControlError))
            self.journal = RouteJournal(self.plant.store, create=True)
            ends.callback(self.journal.close)
            ends.callback(self._routers.close)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ends.close()

    # --- Routers --------------------------------------------------------------------

    def _ports(self, number: int) -> set[int]:
        """Ports of a router that are down or not there; tells of those that it alone has."""
        name, known = self.plant.routers[number].name, self._number[number]
        works = self._routers.session(number).ports()
        for port in sorted(works.keys() - known.keys()):
            if (name, port) not in self._strange:
                self._strange.add((name, port))
                self.say(
                    f"router {name} reports port {port}, which the network does not have; it is "
                    "passed over"
                )
        return {port for own, port in known.items() if not works.get(own, False)}

    def _dark(self) -> tuple[set[Hop], dict[int, Session]]:
        """Both ends of links that are down, and the routers that answer.

        Raises:
            DeviceError: If a router does not answer that others are joined with.
        """
        dark: set[Hop] = set()
        silent: dict[int, DeviceError] = {}
        sessions = {}
        for router in range(self.network.routers):
            try:
                dark |= {(router, port) for port in self._ports(router)}
                sessions[router] = self._routers.session(router)
            except DeviceError as error:
                self._routers.lose(router)
                silent[router] = error
        links = self.network.links
        dark |= {links[end] for end in dark if end in links}
        for router, why in silent.items():
            # One whose links are all down needs no entries.
            if any(at == router and (at, port) not in dark for at, port in links):
                raise why
            dark |= {(router, port) for port in range(self.network.radix[router])}
        return dark, sessions

    # --- Looks ----------------------------------------------------------------------

    def look(self) -> Look:
        """Asks routers for their ports once, and gives them the entries for what is left.

        Raises:
            DeviceError: If a router does not answer or do as told; some entries may then be set.
            ScenarioError: If the network's routing does not take what is left.
        """
        dark, sessions = self._dark()
        begin = time.monotonic()
        said = tuple(self._words(end) for end in sorted(dark) if self._is_first(end))
        if self._last is not None and self._last.dark == said:
            return Look(said, self._last.cut)
        ways, cut = self.network.ways_around(self._pairs, dark)
        change = self.journal.begin(said, cut)
        self._last = None
        try:
            made, removed = set_ways(
                sessions,
                list(ways.values()),
                list(ways),
                self.plant.addresses,
                lambda router, port: self.plant.routers[router].port(port),
            )
        except DeviceError as error:
            for router in sessions:
                self._routers.lose(router)
            self.journal.end(change, 0, 0, str(error))
            raise
        self.journal.end(change, made, removed)
        self._last = Look(said, tuple(cut), made, removed, time.monotonic() - begin)
        return self._last

    def wait(self, longest_s: float) -> None:
        """Returns when a router says something unasked, as of a port, or after a time."""
        streams = [
            self._routers.session(router)
            for router in range(self.network.routers)
            if self._routers.is_open(router)
        ]
        if any(session.has_news for session in streams):
            return
        select.select(streams, [], [], longest_s)

    def _is_first(self, end: Hop) -> bool:
        """Whether a link is told by this one of its ends."""
        return self.network.links.get(end, end) >= end

    def _words(self, end: Hop) -> str:
        return " - ".join(
            self._name(one) if isinstance(one, tuple) else one
            for one in (
                end,
                self.network.links.get(end) or self.network.node_at.get(end, "nothing"),
            )
        )

    def _name(self, end: Hop) -> str:
        router = self.plant.routers[end[0]]
        return f"{router.name}:{router.port(end[1])}"


def told(found: Look) -> str:
    """A line for a look after which entries were changed."""
    links = _some(found.dark, "all links are up", "links are down: ")
    cut = _some([f"{one} to {other}" for one, other in found.cut], "", "; no way is left from ")
    return (
        f"{links}{cut}; {found.made} entries set, {found.removed} taken off in "
        f"{found.seconds:.3f} s"
    )


def _some(all_: Sequence[str], none: str, what: str) -> str:
    more = f" and {len(all_) - _NAMED} more" if len(all_) > _NAMED else ""
    return what + ", ".join(all_[:_NAMED]) + more if all_ else none
