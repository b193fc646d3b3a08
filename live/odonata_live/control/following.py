"""Circuits that follow what a job's nodes are seen to send.

Routers forward by an entry for each pair of nodes, and count its bytes. Every period these counts
become the job's traffic, for which its circuits are chosen as the simulator chooses them
(`circuits = "traffic"` of `[network.optical]`); they change if that is worth it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from odonata.errors import ControlError, ScenarioError
from odonata_live.control.circuits import Connections, Settings
from odonata_live.control.controller import Controller, Decision
from odonata_live.control.flows import bytes_by_pair, set_ways
from odonata_live.control.journal import Port
from odonata_live.control.network import Network
from odonata_live.control.plant import Plant
from odonata_live.control.routers import Routers

Pair = tuple[str, str]


@dataclass(frozen=True)
class Rule:
    """When circuits change.

    Attributes:
        margin: What new ones must bring more than those that are set, as a share.
        horizon_s: Within which time, in seconds, counting that of the change.
        drain_s: How long packets under way get to leave circuits that are taken down.
        lossy: Whether a change goes on where some pair has no other way meanwhile.
    """

    margin: float = 0.05
    horizon_s: float = 600.0
    drain_s: float = 0.1
    lossy: bool = False


@dataclass(frozen=True)
class Round:
    """What one look at the counters led to.

    Attributes:
        sent: Bytes that the job's nodes sent since the last look.
        gain: What the best circuits for that bring more than those that are set, as a share.
        made: Connections made.
        broken: Connections broken.
        seconds: How long the change took; 0 without one.
        why: What was done, or why nothing.
    """

    sent: int
    gain: float
    made: int
    broken: int
    seconds: float
    why: str


class Follower:
    """The circuits and the routers' entries of one job; routers stay connected until `close`.

    Args:
        plant: With routers and addresses.
        job: The job's number.
        nodes: Names of its nodes.
        rule: When circuits change.
        wait_s: How long another command may be at work.
        say: What people should know besides.

    Raises:
        ControlError: If the plant has no routers, or the nodes are not its.
    """

    def __init__(
        self,
        plant: Plant,
        job: int,
        nodes: Sequence[str],
        rule: Rule,
        *,
        wait_s: float = 30.0,
        say: Callable[[str], None] = print,
    ) -> None:
        if plant.network is None or not plant.routers:
            raise ControlError(
                f"{plant.file}: router: found nothing; allowed: [[router]] for each router of the "
                "network, whose counters are read and whose entries follow the circuits"
            )
        self.network: Network = plant.network
        self.network.numbers(nodes)
        if len(nodes) < 2:
            raise ControlError("found one node; allowed: two or more, which send to each other")
        self.plant, self.job, self.nodes = plant, job, tuple(nodes)
        self.rule, self.wait_s, self.say = rule, wait_s, say
        self._pairs = [(one, other) for one in nodes for other in nodes if one != other]
        self._node_of = {plant.addresses[name]: name for name in nodes}
        self._routers = Routers(plant)
        #: Bytes of each pair as of the last look; `None`: nobody has looked.
        self._counted: dict[Pair, int] | None = None
        self._change_s = 0.0

    def close(self) -> None:
        """Ends the connections to routers; their entries stay."""
        self._routers.close()

    # --- Routers --------------------------------------------------------------------

    def _route(self, settings: Sequence[Connections], going: Sequence[Connections] = ()) -> int:
        """Gives all routers the entries for circuits; how many were new.

        Raises:
            ScenarioError: If no way joins some pair.
            DeviceError: If a router does not do as told.
        """
        ways = self.network.ways(settings, self._pairs, going)
        routers = self.plant.routers
        return set_ways(
            {number: self._routers.session(number) for number in range(len(routers))},
            ways,
            self._pairs,
            self.plant.addresses,
            lambda router, port: routers[router].port(port),
            job=self.job,
            drain_s=self.rule.drain_s,
        )[0]

    def _count(self) -> dict[Pair, int]:
        """Bytes of each pair so far, as the router of its sender counts them."""
        found: dict[Pair, int] = {}
        for number in sorted({self.network.router_of(name) for name in self.nodes}):
            for (source, target), count in bytes_by_pair(
                self._routers.session(number), self.job
            ).items():
                pair = self._node_of.get(source), self._node_of.get(target)
                if pair[0] is None or pair[1] is None or self.network.router_of(pair[0]) != number:
                    continue
                found[pair[0], pair[1]] = count
        return found

    def sent(self) -> list[tuple[str, str, float]] | None:
        """What nodes have sent to each other since the last look; `None`: nobody had looked.

        Counts that are less than they were began anew, as those of a router that was restarted do:
        what they have is what was sent since.
        """
        now, before = self._count(), self._counted
        self._counted = now
        if before is None:
            return None
        back = [pair for pair, count in now.items() if count < before.get(pair, 0)]
        if back:
            some = f"{back[0][0]} to {back[0][1]}"
            self.say(f"counters of {len(back)} pairs began anew, such as that from {some}")
        return [
            (*pair, float(count if pair in back else count - before.get(pair, 0)))
            for pair, count in now.items()
        ]

    # --- Rounds ---------------------------------------------------------------------

    def begin(self) -> int:
        """Gives routers the entries for the circuits that are set; how many were new.

        Raises:
            ControlError: If another command is at work for too long.
            ScenarioError: If no way joins some pair.
            DeviceError: If a switch or a router does not answer.
        """
        with Controller(self.plant, wait_s=self.wait_s) as control:
            held = control.settings()
        return self._route(self._ordered(held))

    def round(self) -> Round:
        """Looks at the counters once, and changes circuits if that is worth it.

        Raises:
            ControlError: If another command is at work for too long, or other jobs' circuits are in
                the way.
            DeviceError: If a switch or a router does not answer or do as told.
        """
        sent = self.sent()
        if sent is None:
            return Round(0, 0.0, 0, 0, 0.0, "first look")
        amount = int(sum(row[2] for row in sent))
        if not amount:
            # Nothing is known of what comes after a time without traffic.
            return Round(0, 0.0, 0, 0, 0.0, "nothing was sent")
        begin = time.monotonic()
        with Controller(self.plant, wait_s=self.wait_s) as control:
            held = control.settings()
            decided, owned = self.plant.for_nodes(self.job, self.nodes, sent)(held)
            after = {**held, **decided}
            ends = [
                [frozenset(c.ends for c in of[name]) for name in self.plant.names]
                for of in (held, after)
            ]
            names = self.plant.names
            changing = [n for n, old, new in zip(names, *ends, strict=True) if old != new]
            if not changing:
                return Round(amount, 0.0, 0, 0, 0.0, "the circuits are those for it")
            numbers = {name: number for number, name in enumerate(names)}
            is_worth, gain = self.network.worth(
                self.nodes,
                sent,
                (self._ordered(held), self._ordered(after)),
                {(numbers[name], side, port) for name, side, port in owned},
                self.rule.margin,
                min(1.0, self._change_s / self.rule.horizon_s),
            )
            if not is_worth:
                return Round(amount, gain, 0, 0, 0.0, "others are not worth the change")
            made, broken = self._change(control, held, after, owned, changing)
        self._change_s = time.monotonic() - begin
        return Round(amount, gain, made, broken, self._change_s, "changed")

    def _ordered(self, settings: Settings) -> list[Connections]:
        return [settings.get(name, frozenset()) for name in self.plant.names]

    def _change(
        self,
        control: Controller,
        held: Mapping[str, Connections],
        after: Mapping[str, Connections],
        owned: frozenset[Port],
        changing: Sequence[str],
    ) -> tuple[int, int]:
        """Changes switches so that nothing is lost; how many connections are made and broken.

        Packets leave the circuits that go before these are taken down, and take the new ones once
        they are there. Where the rest of the network does not join all pairs meanwhile, switches
        change one after the other, in an order in which it does.
        """
        made = broken = 0
        now, left = dict(held), list(changing)
        while left:
            part, why = self._leave(now, after, left)
            if not part:
                if not self.rule.lossy:
                    raise ControlError(
                        f"switches {', '.join(left)} cannot change without a loss: {why}; with "
                        "--lossy they change all the same"
                    )
                part = left
            now |= {name: after[name] for name in part}
            left = [name for name in left if name not in part]
            time.sleep(self.rule.drain_s)
            outcome = control.set_circuits(self.job, _decided(dict(now), owned))
            self._route(self._ordered(now))
            made, broken = made + outcome.made, broken + outcome.broken
        return made, broken

    def _leave(
        self, now: Mapping[str, Connections], after: Mapping[str, Connections], left: Sequence[str]
    ) -> tuple[Sequence[str], str]:
        """Leads packets off the circuits of switches that are to change: of all, or of one.

        Returns:
            Which; none if every one of them is needed, and why.
        """
        why = ""
        for part in (left, *([name] for name in left if len(left) > 1)):
            going = []
            for name in self.plant.names:
                kept = {c.ends for c in (after if name in part else now).get(name, ())}
                going.append(frozenset(c for c in now.get(name, ()) if c.ends not in kept))
            try:
                self._route(self._ordered(now), going)
            except ScenarioError as error:
                why = str(error)
            else:
                return part, ""
        return [], why


def _decided(settings: Settings, owned: frozenset[Port]) -> Decision:
    return lambda _: (settings, owned)
