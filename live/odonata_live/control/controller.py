"""Changes circuits as transactions: all of a job's circuits are there, verified, or none is.

Plan, journal, apply with barriers, read back, verify, commit. A change of which the journal does
not know the end is finished from what the switches say: they are read, and nothing else counts.
Feng et al. (ICS 2023, section 3, principle 1): no circuit of another job is touched, neither what
the journal knows as one nor what a switch itself says is one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from odonata.errors import ControlError, DeviceError
from odonata.output import lock
from odonata_live.control.circuits import (
    LARGEST_JOB,
    NOBODY,
    Connection,
    Connections,
    Settings,
    between,
    check,
    merged,
    touched,
)
from odonata_live.control.driver import Driver, make_driver
from odonata_live.control.journal import Journal, Port, Transaction
from odonata_live.control.plant import Plant

#: From what switches hold to what they are to hold, and the ports that the job then owns. Switches
#: that it leaves out stay as they are.
Decision = Callable[[Settings], tuple[Settings, frozenset[Port]]]


@dataclass
class Outcome:
    """What a change did.

    Attributes:
        job: For whom.
        made: Connections made.
        broken: Connections broken.
        seconds: Time by stage: `read`, `decide`, `journal`, `make`, `break`, `barrier`, `verify`.
        note: What a person should know besides; empty if nothing.
    """

    job: int
    made: int = 0
    broken: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    note: str = ""

    @contextlib.contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Adds the time that passes inside to a stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begin


class Controller:
    """The circuits of a plant. Only one at a time; the kernel ends its lock with the process.

    Args:
        plant: The switches.
        wait_s: How long another process may hold the lock.
        wrap: Put around each driver; for tests that let them fail.
    """

    def __init__(
        self, plant: Plant, *, wait_s: float = 30.0, wrap: Callable[[Driver], Driver] | None = None
    ) -> None:
        self.plant = plant
        self._wait_s = wait_s
        self._wrap = wrap
        self._drivers: dict[str, Driver] = {}

    def __enter__(self) -> Controller:
        """Takes the lock and opens the journal.

        Raises:
            ControlError: If another process holds the lock for too long.
            OutputError: If the journal cannot be opened or made.
            ClusterError: If it is damaged.
        """
        if not self.plant.switches:
            raise ControlError(
                f"{self.plant.file}: switch: found nothing; allowed: [[switch]] for each optical "
                "switch, or `odonata control reroute`, which needs none"
            )
        path = self.plant.store.with_name(self.plant.store.name + ".lock")
        busy = (
            f"{path}: another `odonata control` has been at work for {self._wait_s:g} s; try "
            "again when it has ended"
        )
        with contextlib.ExitStack() as ends:
            self._lock = ends.enter_context(lock(path, self._wait_s, busy, ControlError))
            self.journal = Journal(self.plant.store, create=True)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        for driver in self._drivers.values():
            driver.close()
        self._drivers.clear()
        self.journal.close()
        self._ends.close()

    # --- What people ask ------------------------------------------------------------

    def set_circuits(
        self, job: int, decide: Decision, switches: Iterable[str] | None = None
    ) -> Outcome:
        """Gives a job circuits. If it has some, they are replaced.

        Args:
            job: The job's number, from 1.
            decide: Which; called with what the switches hold.
            switches: Which switches to ask; all by default.

        Raises:
            ControlError: If a circuit of another job would be touched, or makes no sense; then
                nothing is changed.
            DeviceError: If a switch does not do as told; then all are as they were, or the message
                says which are not.
        """
        if not NOBODY < job <= LARGEST_JOB:
            raise ControlError(f"found job {job}; allowed: 1 to {LARGEST_JOB}")
        names = sorted(self.plant.switches if switches is None else switches)
        self._finish_open(names)
        outcome = Outcome(job)
        with outcome.timing("read"):
            before = self._read(names, self.journal.settings(names))
        with outcome.timing("decide"):
            # What it has is its to change, and nobody's if it is not to have it any more.
            own = {name: _disowned(connections, job) for name, connections in before.items()}
            decided, ports = decide(own)
            after = {**own, **{name: check(name, decided[name]) for name in decided}}
            self._check_ports(own, after, ports)
            self._check_principle(job, before, after, ports)
        with outcome.timing("journal"):
            change = self.journal.begin("set", job, before, after, ports)
        return self._carry_out(change, outcome)

    def give_back(self, job: int) -> Outcome:
        """Takes a job's circuits back: its ports are nobody's, what it has set stays lit.

        Taking circuits down would be work for nothing: they go when others need their ports.

        Raises:
            DeviceError: If a switch does not do as told. The job has given its circuits back then
                as soon as it does, by this command or any other.
        """
        owners = self.journal.owners()
        ports = {name for (name, _, _), owner in owners.items() if owner == job}
        known = self.journal.settings(self.plant.switches)
        labelled = {name for name, found in known.items() if any(c.job == job for c in found)}
        names = sorted((ports | labelled) & set(self.plant.switches))
        self._finish_open(names)
        outcome = Outcome(job)
        running = self.journal.jobs().get(job)
        if running is None:
            # Switches may know of it all the same, where a journal was lost.
            found = self.settings()
            names = [n for n in sorted(found) if any(c.job == job for c in found[n])]
        if not running and not names:
            known_as = "has no circuits" if running is None else "has given its circuits back"
            outcome.note = f"job {job} {known_as}"
            return outcome
        with outcome.timing("read"):
            before = self._read(names, self.journal.settings(names))
        after = {name: _disowned(connections, job) for name, connections in before.items()}
        with outcome.timing("journal"):
            change = self.journal.begin("give-back", job, before, after, ())
        return self._carry_out(change, outcome)

    def verify(self) -> list[str]:
        """Differences between switches and journal, a sentence each; changes nothing."""
        found = [
            f"transaction {change.number} ({change.kind} of job {change.job}) has not ended"
            for change in self.journal.open_transactions()
        ]
        wanted = self.journal.settings(self.plant.switches)
        owners = self.journal.owners()
        for name in sorted(self.plant.switches):
            try:
                now = self._read([name], wanted)[name]
            except DeviceError as error:
                found.append(str(error))
                continue
            for connection in sorted(wanted[name] - now):
                found.append(f"switch {name}: {_says(connection)} is missing")
            for connection in sorted(now - wanted[name]):
                found.append(f"switch {name}: {_says(connection)} is not in the journal")
            for connection in sorted(now):
                ends = (("ingress", connection.ingress), ("egress", connection.egress))
                of = {owners.get((name, *end), NOBODY) for end in ends}
                if len(of) > 1:
                    who = " and ".join(_owner(job) for job in sorted(of))
                    found.append(f"switch {name}: {_says(connection)} joins ports of {who}")
        return found

    def recover(self) -> list[str]:
        """Brings switches and journal together after anything; says what it did.

        Changes without an end are ended: what switches hold in full is kept, a job's new circuits
        that are there in part are taken back, what was being given back is given back. Then, port
        by port: what a job owns is set as the journal says; of what nobody owns the journal takes
        over what the switch has. Jobs that only switches know of (the journal was lost) keep what
        is theirs. The same journal and the same switches always end the same.

        Raises:
            DeviceError: If a switch does not answer or does not do as told; the others are done.
        """
        said, failures = [], []
        for change in self.journal.open_transactions():
            try:
                how = self._finish(change)
                said.append(f"transaction {change.number} of job {change.job}: {how}")
            except DeviceError as error:
                failures.append(str(error))
        for name in sorted(self.plant.switches):
            try:
                said += self._reconcile(name)
            except DeviceError as error:
                failures.append(str(error))
        if failures:
            raise DeviceError("; ".join(dict.fromkeys(failures)))
        return said

    def settings(self) -> dict[str, Connections]:
        """What all switches hold now."""
        names = sorted(self.plant.switches)
        return self._read(names, self.journal.settings(names))

    # --- Checks ---------------------------------------------------------------------

    def _check_ports(self, before: Settings, after: Settings, ports: Iterable[Port]) -> None:
        for name, connections in after.items():
            switch = self.plant.switches[name]
            lit = {connection.ends for connection in connections}
            for connection in sorted(connections - before[name]):
                for side, port in zip(("ingress", "egress"), connection.ends, strict=True):
                    if not 0 <= port < switch.ports:
                        raise ControlError(
                            f"switch {name}: found {side} port {port}; allowed: 0 to "
                            f"{switch.ports - 1}"
                        )
                ingress, egress = connection.ends
                if not switch.one_way and ((egress, ingress) not in lit or ingress == egress):
                    raise ControlError(
                        f"switch {name}: port {ingress} to {egress} leads one way; its circuits "
                        "join two ports both ways"
                    )
        for name, side, port in ports:
            if name not in after or not 0 <= port < self.plant.switches[name].ports:
                raise ControlError(f"switch {name} has no {side} port {port} that a job could own")

    def _check_principle(
        self, job: int, before: Settings, after: Settings, ports: frozenset[Port]
    ) -> None:
        """Principle 1, by the journal and by the switches."""
        owners = self.journal.owners()
        for port in sorted(ports):
            if owners.get(port, job) != job:
                raise ControlError(
                    f"switch {port[0]}: {port[1]} port {port[2]} belongs to job {owners[port]}, "
                    f"not to job {job}; when it has ended: odonata control give-back {owners[port]}"
                )
        for name in after:
            for connection in sorted(before[name] ^ after[name]):
                ends = (("ingress", connection.ingress), ("egress", connection.egress))
                whose = {connection.job, *(owners.get((name, *end), NOBODY) for end in ends)}
                if others := whose - {NOBODY, job}:
                    says = "the switch says it belongs" if connection.job in others else "belongs"
                    raise ControlError(
                        f"switch {name}: {_says(connection)} would change for job {job}, but "
                        f"{says} to job {min(others)}, whose circuits are not touched"
                    )

    # --- Work -----------------------------------------------------------------------

    def _driver(self, name: str) -> Driver:
        kind = self.plant.switches[name].driver
        if kind not in self._drivers:
            driver = make_driver(kind, self.plant.drivers[kind], self._lock)
            self._drivers[kind] = self._wrap(driver) if self._wrap else driver
        return self._drivers[kind]

    def _read(self, names: Iterable[str], labels: Settings) -> dict[str, Connections]:
        """What switches hold; jobs of those that do not keep them are those of `labels`."""
        found = {}
        for name in names:
            driver = self._driver(name)
            connections = check(name, driver.read(self.plant.switches[name]))
            if not driver.keeps_jobs:
                jobs = {c.ends: c.job for c in labels.get(name, ())}
                connections = frozenset(
                    replace(c, job=jobs.get(c.ends, NOBODY)) for c in connections
                )
            found[name] = connections
        return found

    def _apply(self, before: Settings, after: Settings, outcome: Outcome) -> None:
        switches = self.plant.switches
        for step in between(before, after):
            with outcome.timing(step.action):
                for name, connections in step.connections.items():
                    driver = self._driver(name)
                    act = driver.make if step.action == "make" else driver.break_
                    act(switches[name], connections)
                    if step.action == "break":
                        outcome.broken += len(connections)
                    else:
                        known = {c.ends for c in before[name]}
                        outcome.made += sum(c.ends not in known for c in connections)
            with outcome.timing("barrier"):
                for name in step.connections:
                    self._driver(name).barrier(switches[name])

    def _carry_out(self, change: Transaction, outcome: Outcome) -> Outcome:
        try:
            self._apply(change.before, change.after, outcome)
            with outcome.timing("verify"):
                found = self._read(change.after, change.after)
                _same(found, change.after)
        except Exception as error:
            try:
                how = self._finish(change)
            except DeviceError as second:
                kept = "is given back" if change.kind == "give-back" else "is taken back"
                raise DeviceError(
                    f"{error}; what was begun {kept} as soon as the switch answers (`odonata "
                    f"control recover`): {second}"
                ) from error
            if how == _COMMITTED:
                outcome.note = f"done, after: {error}"
                return outcome
            if isinstance(error, DeviceError):
                raise DeviceError(f"{error}; all switches are as they were") from error
            raise
        with outcome.timing("journal"):
            self.journal.commit(change, self._kept(change.job, found))
        return outcome

    def _finish_open(self, names: Iterable[str]) -> None:
        """Ends what crashes left, as far as it can; raises if it is in the way."""
        wanted = set(names)
        for change in self.journal.open_transactions():
            try:
                self._finish(change)
            except DeviceError:
                if wanted & set(change.after):
                    raise

    def _finish(self, change: Transaction) -> str:
        """Ends a change by what the switches say; how."""
        now, failures = {}, []
        labels = {
            name: after | {c for c in change.before[name] if c.ends not in {d.ends for d in after}}
            for name, after in change.after.items()
        }
        for name in sorted(change.after):
            if name not in self.plant.switches:
                raise DeviceError(
                    f"transaction {change.number} changed switch {name}, which is no longer in "
                    f"{self.plant.file}; put it back"
                )
            driver, switch = self._driver(name), self.plant.switches[name]
            # What it refused before has been reported already.
            with contextlib.suppress(DeviceError):
                driver.barrier(switch)
            try:
                now[name] = self._read([name], labels)[name]
            except DeviceError as error:
                failures.append(str(error))
        ports = {name: touched(change.before[name], change.after[name]) for name in now}
        done = {name: merged(now[name], change.after[name], ports[name]) for name in now}
        whole = all(_equal(now[name], done[name], self._driver(name)) for name in now)
        if change.kind != "undo" and whole and not failures:
            self.journal.commit(change, self._kept(change.job, done))
            return _COMMITTED
        if change.kind == "set":
            # Decided for good: a switch that comes back with all of it must not decide otherwise.
            change = self.journal.undo(change)
        wanted = change.after if change.kind == "give-back" else change.before
        target = {name: merged(now[name], wanted[name], ports[name]) for name in now}
        for name in sorted(now):
            try:
                self._apply({name: now[name]}, {name: target[name]}, Outcome(change.job))
                found = self._read([name], target)
                _same(found, {name: target[name]})
            except DeviceError as error:
                failures.append(str(error))
                continue
            self.journal.narrow(change, name, self._kept(change.job, target)[name])
        if failures:
            raise DeviceError("; ".join(failures))
        if change.kind == "give-back":
            self.journal.commit(change, self._kept(change.job, target))
            return _COMMITTED
        self.journal.abort(change, self._kept(change.job, target), "taken back")
        return "taken back"

    def _kept(self, job: int, found: Settings) -> dict[str, Connections]:
        """What the journal keeps of what was found: at other jobs' ports what it knows already."""
        known = self.journal.settings(found)
        others = [port for port, owner in self.journal.owners().items() if owner != job]
        kept = {}
        for name in found:
            ingress = {port for on, side, port in others if on == name and side == "ingress"}
            egress = {port for on, side, port in others if on == name and side == "egress"}
            kept[name] = merged(found[name], known[name], (ingress, egress))
        return kept

    def _reconcile(self, name: str) -> list[str]:
        known = self.journal.settings([name])
        now = self._read([name], known)[name]
        owners = {p[1:]: job for p, job in self.journal.owners().items() if p[0] == name}
        jobs = self.journal.jobs()

        def owner(connection: Connection) -> set[int]:
            ends = (("ingress", connection.ingress), ("egress", connection.egress))
            return {owners.get(end, NOBODY) for end in ends} - {NOBODY}

        kept = {c for c in known[name] if owner(c)}
        adopted: dict[int, set[Port]] = {}
        for connection in sorted(now):
            if whose := owner(connection):
                alive = connection.job != NOBODY and jobs.get(connection.job, True)
                if alive and connection.job not in whose:
                    raise DeviceError(
                        f"switch {name}: it says that {_says(connection)} is there, but by the "
                        f"journal its ports belong to job {min(whose)}; give back the one that "
                        "has ended: odonata control give-back"
                    )
                continue
            if connection.job != NOBODY and jobs.get(connection.job, True):
                ends = {(name, "ingress", connection.ingress), (name, "egress", connection.egress)}
                adopted.setdefault(connection.job, set()).update(ends)
                kept.add(connection)
            else:
                kept.add(replace(connection, job=NOBODY))
        target = check(name, kept)
        said = [f"switch {name}: job {job} is only known there; kept" for job in sorted(adopted)]
        if now != target:
            said += [f"switch {name}: {_says(c)} was missing; set" for c in sorted(target - now)]
            said += [
                f"switch {name}: {_says(c)} was there; taken off" for c in sorted(now - target)
            ]
            self._apply({name: now}, {name: target}, Outcome(NOBODY))
            _same(self._read([name], {name: target}), {name: target})
        elif known[name] != target and not adopted:
            said.append(f"switch {name}: the journal takes over what nobody owns")
        every = {job: ports | self._ports_of(job) for job, ports in adopted.items()}
        self.journal.keep({name: target}, every)
        return said

    def _ports_of(self, job: int) -> set[Port]:
        return {port for port, owner in self.journal.owners().items() if owner == job}


_COMMITTED = "committed"


def _disowned(connections: Connections, job: int) -> Connections:
    return frozenset(replace(c, job=NOBODY) if c.job == job else c for c in connections)


def _owner(job: int) -> str:
    return f"job {job}" if job else "nobody"


def _says(connection: Connection) -> str:
    return f"circuit {connection.ingress} → {connection.egress} of {_owner(connection.job)}"


def _equal(now: Connections, wanted: Connections, driver: Driver) -> bool:
    if driver.keeps_jobs:
        return now == wanted
    return {c.ends for c in now} == {c.ends for c in wanted}


def _same(found: Settings, wanted: Mapping[str, Connections]) -> None:
    """Raises DeviceError where a switch does not hold what it should."""
    for name in sorted(wanted):
        missing, strange = wanted[name] - found[name], found[name] - wanted[name]
        if missing or strange:
            what = [f"{_says(c)} is missing" for c in sorted(missing)]
            what += [f"{_says(c)} is there" for c in sorted(strange)]
            raise DeviceError(f"switch {name}, read back: {'; '.join(what[:4])}")
