"""Runs what the `[schedule]` table of a scenario says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from odonata.batch.declared import (
    FlowNetwork,
    Maintenance,
    PacketNetwork,
    Reservation,
    SpeedUpNetwork,
)
from odonata.batch.joblog import JobLog, queue_log, read_job_log
from odonata.batch.network import (
    BY_MODE,
    COMMON_MIX,
    FENG2023_MIX,
    Network,
    SharedLinks,
    SharedPackets,
    SpeedUps,
)
from odonata.batch.options import Outage, Window, numbers, times
from odonata.batch.schedules import Schedule, capacity_of, recorded_schedule, schedule_table
from odonata.batch.table import ScheduleTable
from odonata.batch.withheld import FAILURES, MAINTENANCE, cost_of, without_effect
from odonata.errors import Problem
from odonata.scenario import Scenario, as_scenario


class ScheduleRun:
    """The log of a scenario's `[schedule]`, read, and the schedules that it asks for.

    Attributes:
        log: The log.
        names: Of the schedules, the first and those to compare it with.

    Args:
        scenario: With a `[schedule]`.
        windows_file: File that keeps what windows of applications came to, see
            :class:`~odonata.batch.network.SharedMachine`.

    Raises:
        ScenarioError: If it has none.
        JobLogError: If the log cannot be read, or a window of time is none of the log's.
    """

    def __init__(self, scenario: Scenario, windows_file: Path | None = None) -> None:
        self.log: JobLog
        if scenario.schedule is None:
            message = "missing; `odonata schedule` runs a scenario with a [schedule], or a job log"
            raise scenario.error([Problem("schedule", message, "nothing", "a table")])
        self._scenario = scenario
        self._table: ScheduleTable = scenario.schedule
        self._tables = self._table.variants
        self.names = list(self._tables)
        self._windows_file = windows_file
        if self._table.log is None:
            self.log = queue_log(scenario, self._machine_nodes())
        else:
            reading = self._table.reading
            self.log = read_job_log(
                scenario.directory / self._table.log,
                **{name: getattr(reading, name) for name in type(reading).keys},
                machine_nodes=self._table.nodes,
            )
        self._networks = {
            name: None if table is None else self._read_network(table)
            for name, table in self._tables.items()
        }
        self._windows = self._read_windows()
        self._outages = {
            name: [] if table is None else self._read_outages(table)
            for name, table in self._tables.items()
        }

    def run(self, name: str, progress: Callable[[int, int], object] | None = None) -> Schedule:
        """Makes one of the schedules.

        Args:
            name: One of :attr:`names`.
            progress: Is called with the number of jobs that have ended and of all.

        Raises:
            JobLogError: If it cannot be made.
            KeyboardInterrupt: If it was interrupted.
        """
        return self._made(name, None, progress)

    @property
    def costly(self) -> list[str]:
        """What the first schedule is also made without: maintenance, failures of nodes."""
        first = self._tables[self.names[0]]
        maintenance = any(one.name == MAINTENANCE for one in self._windows)
        failures = first is not None and bool(first.outage or first.failures)
        # What the network itself loses stays, and jobs on it would be requeued there.
        if first is not None and not first.requeue and self._network_fails(first):
            failures = False
        return [MAINTENANCE] * maintenance + [FAILURES] * failures

    def without(
        self, what: str, beside: Schedule, progress: Callable[[int, int], object] | None = None
    ) -> Schedule:
        """Makes the first schedule again as it were without something, and says what that costs.

        Args:
            what: One of :attr:`costly`.
            beside: The first schedule; its summary gets it under ``costs``.
            progress: As of :meth:`run`.
        """
        without = self._made(beside.name, what, progress)
        beside.summary.setdefault("costs", {})[what] = cost_of(what, beside, without)
        return without

    def _made(
        self, which: str, without: str | None, progress: Callable[[int, int], object] | None
    ) -> Schedule:
        table = self._tables[which]
        counted: dict[str, Any] = {
            "nodes": self._table.nodes,
            "share_processors": self._table.share,
            "whole_nodes": self._table.whole_nodes,
            "tau": self._table.tau,
            "interval": self._table.interval,
        }
        if table is None:
            return recorded_schedule(self.log, **counted)
        written = table.as_written()
        for resolved in ("compare", "network", "maintenance", "reservation", "outage", "reading"):
            written.pop(resolved, None)
        if without == FAILURES:
            # What is done with jobs whose nodes fail has no meaning then.
            for key in ("failures", "requeue"):
                written.pop(key, None)
        hidden = MAINTENANCE if without == MAINTENANCE else None
        counts = (counted[key] for key in ("nodes", "share_processors", "whole_nodes"))
        return schedule_table(
            self.log,
            written,
            capacity_of(self.log, *counts),
            grap_modes=None if table.grap is None else table.grap.modes,
            seed=self._scenario.seed,
            network=self._networks[which],
            windows=[one for one in self._windows if one.name != hidden],
            outages=[] if without == FAILURES else self._outages[which],
            name=which if without is None else f"{which} without {without}",
            progress=progress,
        )

    def without_effect(self, made: Schedule) -> list[str]:
        """Sentences on maintenance, reservations and outages that began after all jobs had ended.

        Args:
            made: One of the schedules.
        """
        starts = [(one.name, one.start) for one in self._windows]
        starts += [("outage", one.at) for one in self._outages.get(made.name, ())]
        return without_effect(made.jobs, starts, self.log.meta["epoch"])

    def _network_fails(self, table: ScheduleTable) -> bool:
        network = table.network
        if not isinstance(network, (FlowNetwork, PacketNetwork)):
            return False
        return bool(as_scenario(_machine(network, self._scenario)).to_dict().get("failures"))

    def _machine_nodes(self) -> int:
        """Nodes of the machine, which no log says."""
        if self._table.nodes is not None:
            return self._table.nodes
        network = self._table.network
        assert isinstance(network, (FlowNetwork, PacketNetwork))
        return SharedLinks(machine=_machine(network, self._scenario)).nodes()

    def _read_network(self, table: ScheduleTable) -> Network | None:
        given = table.network
        if given is None:
            return None
        directory = self._scenario.directory
        mix: Any = BY_MODE if given.is_by_mode else given.mix
        common: dict[str, Any] = {
            "communication_share": given.mpi_share,
            "seed": self._scenario.seed,
        }
        if isinstance(given, SpeedUpNetwork):
            usual = BY_MODE if table.grap is not None else FENG2023_MIX
            return SpeedUps.read(directory / given.speed_ups, mix=mix or usual, **common)
        common |= {
            "mix": mix or COMMON_MIX,
            "machine": _machine(given, self._scenario),
            "injection": given.injection,
            "placement": given.placement or SharedLinks.placement,
            "switch_delay": str(given.switch_delay),
            "applications": self._scenario if self._scenario.job else None,
            "is_queue": self._table.log is None,
            "windows": self._windows_file,
            "window_iterations": given.window_iterations,
        }
        if isinstance(given, FlowNetwork):
            return SharedLinks(**common)
        return SharedPackets(
            **common,
            window=str(given.window),
            warmup=str(given.warmup),
            message=str(given.message),
            stretch=given.stretch,
        )

    def _times(self, path: str, start: str, end: str | None) -> tuple[int, int | None]:
        first = int(self.log.jobs["submit_s"][0].as_py()) if len(self.log) else 0
        return times(f"schedule.{path}", start, end, first, self.log.meta["epoch"])

    def _read_outages(self, table: ScheduleTable) -> list[Outage]:
        found = []
        for position, one in enumerate(table.outage):
            path = f"outage[{position}]"
            nodes = numbers(f"schedule.{path}.nodes", one.nodes)
            found.append(Outage(nodes, *self._times(path, one.at, one.until)))
        return found

    def _read_windows(self) -> list[Window]:
        found = []
        for kind in ("maintenance", "reservation"):
            windows: list[Maintenance | Reservation] = getattr(self._table, kind)
            for position, one in enumerate(windows):
                path = f"{kind}[{position}]"
                start, end = self._times(path, one.start, one.end)
                assert end is not None
                users = tuple(one.users) if isinstance(one, Reservation) else ()
                which = None
                if one.which is not None:
                    which = numbers(f"schedule.{path}.which", one.which)
                found.append(Window(start, end, one.nodes, users, kind, which))
        return found


def _machine(network: FlowNetwork | PacketNetwork, scenario: Scenario) -> Scenario | Path:
    """The scenario whose network the jobs share."""
    return scenario if network.machine is None else scenario.directory / network.machine


def run_schedules(scenario: Scenario) -> list[Schedule]:
    """Makes the schedules that a scenario's `[schedule]` asks for.

    Args:
        scenario: With a `[schedule]`.

    Returns:
        The schedule of its policy and order, and those that it is compared with; with maintenance
        or failures of nodes also the first without these, and what they cost in the first one's
        summary.

    Raises:
        ScenarioError: If it has none.
        JobLogError: If the log cannot be read, or not be scheduled as asked.
        KeyboardInterrupt: If it was interrupted.
    """
    run = ScheduleRun(scenario)
    made = [run.run(name) for name in run.names]
    return [*made, *(run.without(what, made[0]) for what in run.costly)]
