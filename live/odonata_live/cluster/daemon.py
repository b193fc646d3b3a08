"""Runs the placement for weeks, whatever happens to it, to the journal, or to Slurm."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from odonata.errors import ClusterError, OdonataError
from odonata.output import lock, rewrite
from odonata_live.cluster import commands, slurm
from odonata_live.cluster.journal import Journal, open_journal
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.placing import Counts, Placer, Rules
from odonata_live.cluster.pulse import Pulse
from odonata_live.cluster.stopping import Stopped

#: After failures in a row the period is multiplied by 2, 4, 8, 16.
_LARGEST_BACK_OFF = 16
#: Longest rest after a slow answer: far below the watchdog's patience.
_LONGEST_REST_S = 10.0
#: Cycles between which there are more than this many periods, and than this, are silent in between.
_SILENT_PERIODS, _SILENT_S = 3, 3.0
#: How often what is long over is forgotten.
_FORGET_EVERY_S = 3600.0


@dataclass
class Daemon:
    """How to run it.

    Attributes:
        topology: Which node is attached to which router.
        rules: How to place.
        path: The journal.
        heartbeat: A file that says that we live; renewed after every cycle that went well.
        most_silent_s: With a heartbeat: where nobody looked at the jobs for longer than this in the
            last hour, as the daemon was killed, all are left to Slurm.
        metrics: A file for Prometheus.
        period_s: Between two cycles.
        keep_s: How long the journal keeps what is over.
        timeout_s: For each question to Slurm.
        lock_s: How long to wait for another one to end.
        shadow: Decide beside Slurm; nothing is changed.
        say: Called with a line for people.
    """

    topology: Topology
    rules: Rules
    path: Path
    heartbeat: Path | None = None
    most_silent_s: float = 120.0
    metrics: Path | None = None
    period_s: float = 1.0
    keep_s: float = 90 * 86400.0
    timeout_s: float = slurm.TIMEOUT_S
    lock_s: float = 30.0
    shadow: bool = False
    say: Callable[[str], None] = print

    def run(self, *, cycles: int | None = None) -> Counts:
        """Places until the process is stopped (:mod:`odonata_live.cluster.stopping`).

        Args:
            cycles: After how many to end besides, failures among them.

        Raises:
            OutputError: If another one places with this journal, or it cannot be made.
        """
        counts = Counts()
        name = self.path.with_name(f".{self.path.name}.lock")
        busy = f"{self.path}: another process places with it"
        # `scontrol` inherits the lock: it is free when the last of them has ended.
        with lock(name, self.lock_s, busy) as number:
            session = commands.Session(max(self.timeout_s, 60.0), (number,))
            pulse = None
            if self.heartbeat is not None:
                usual = max(_SILENT_PERIODS * self.period_s, _SILENT_S)
                pulse = Pulse(self.heartbeat, usual)
            try:
                self._place(session, counts, pulse, cycles)
            except Stopped:
                if pulse is not None:
                    # Who ends on purpose lets nobody wait meanwhile.
                    with contextlib.suppress(OSError):
                        pulse.rest(time.time())
        return counts

    def _place(
        self, session: commands.Session, counts: Counts, pulse: Pulse | None, cycles: int | None
    ) -> None:
        placer: Placer | None = None
        failures = done = 0
        try:
            forgot = -float("inf")
            while cycles is None or done < cycles:
                done += 1
                begin = time.monotonic()
                try:
                    if placer is None:
                        placer = self._placer(session, counts)
                    self._rest_if_silent(pulse, placer)
                    if pulse is not None:
                        pulse.begin(time.time())
                    placer.cycle()
                    if placer.journal is not None and begin - forgot > _FORGET_EVERY_S:
                        placer.journal.forget(int(1000 * (time.time() - self.keep_s)))
                        forgot = begin
                    if pulse is not None:
                        (pulse.rest if placer.rests else pulse.beat)(time.time())
                    if failures:
                        self.say(f"goes on, after {failures} failures")
                    failures = 0
                except (OdonataError, OSError, sqlite3.Error) as error:
                    counts.failures += 1
                    failures += 1
                    if failures == 1:
                        self.say(f"nothing is placed: {error}")
                    # What is in memory may be of a cycle that was cut off: begin anew.
                    if placer is not None and placer.journal is not None:
                        placer.journal.close()
                    placer = None
                    if pulse is not None and isinstance(error, ClusterError):
                        with contextlib.suppress(OSError):
                            pulse.no_answer(time.time())
                self._write_metrics(counts, failures)
                took = time.monotonic() - begin
                wait = self.period_s * min(2**failures, _LARGEST_BACK_OFF) - took
                # Where Slurm answers slowly it gets as much rest as its answers took.
                rest = min(max(took - counts.last_command_s, 0.05), _LONGEST_REST_S)
                if cycles is None or done < cycles:
                    time.sleep(max(wait, rest))
        finally:
            if placer is not None and placer.journal is not None:
                placer.journal.close()

    def _rest_if_silent(self, pulse: Pulse | None, placer: Placer) -> None:
        """Each silence may cost jobs as much as it lasted; together they are bounded, too."""
        rests = ""
        if pulse is not None and (silent_s := pulse.silent_s(time.time())) > self.most_silent_s:
            rests = f"nobody looked at the queue for {silent_s:.0f} s of the last hour"
            # Before anything else: who is killed while leaving jobs was not silent, and holds none.
            pulse.rest(time.time())
        if bool(rests) != bool(placer.rests):
            self.say(f"rests, and leaves jobs to Slurm: {rests}" if rests else "places again")
        placer.rests = rests
        placer.counts.resting = int(bool(rests))

    def _placer(self, session: commands.Session, counts: Counts) -> Placer:
        journal: Journal = open_journal(self.path, self.say)
        return Placer(
            self.topology,
            self.rules,
            journal,
            session,
            shadow=self.shadow,
            timeout_s=self.timeout_s,
            say=self.say,
            counts=counts,
        )

    def _write_metrics(self, counts: Counts, failures: int) -> None:
        if self.metrics is None:
            return
        lines: list[str] = []
        for name, kind, meaning in _METRICS:
            metric = f"odonata_place_{name}" + ("_total" if kind == "counter" else "")
            value = getattr(counts, name)
            lines += [f"# HELP {metric} {meaning}", f"# TYPE {metric} {kind}", f"{metric} {value}"]
        up = "odonata_place_up"
        lines += [f"# HELP {up} Whether the last cycle went well.", f"# TYPE {up} gauge"]
        lines.append(f"{up} {int(failures == 0)}")
        at = "odonata_place_cycle_timestamp_seconds"
        lines += [f"# HELP {at} When the last cycle was.", f"# TYPE {at} gauge"]
        lines.append(f"{at} {time.time():.3f}")
        try:
            rewrite(self.metrics, "\n".join(lines) + "\n")
        except OSError as error:
            self.say(f"metrics cannot be written: {error}")


_METRICS = (
    ("cycles", "counter", "Cycles that went well."),
    ("failures", "counter", "Cycles that did not."),
    ("decided", "counter", "Jobs that were given nodes."),
    ("withdrawn", "counter", "Decisions that were taken back before their job began."),
    ("left", "counter", "Jobs that were left to Slurm."),
    ("elsewhere", "counter", "Jobs that began on other nodes than decided."),
    ("refused", "counter", "Commands that Slurm refused."),
    ("waiting", "gauge", "Jobs that wait for nodes."),
    ("resting", "gauge", "Whether all jobs are left to Slurm, as nobody looked for too long."),
    ("holding", "gauge", "Jobs that hold the nodes of a decision."),
    ("last_cycle_s", "gauge", "How long the last cycle took, seconds."),
    ("last_decide_s", "gauge", "How long its decision took, seconds."),
    ("last_command_s", "gauge", "How long its commands took, seconds."),
)
