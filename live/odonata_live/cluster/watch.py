"""A sampler that keeps the history of a cluster's network utilisation, for weeks.

It asks Slurm once a period, keeps every answer in an SQLite file, and goes on whatever happens:
killed, it has lost at most the sample that it was taking; where Slurm does not answer or answers
what cannot be read, that is kept, too, and it asks less often for a while.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odonata.errors import ClusterError
from odonata.output import lock, rewrite
from odonata_live.cluster import nodes as cluster_nodes
from odonata_live.cluster import queue, slurm
from odonata_live.cluster.model import read_nodes
from odonata_live.cluster.store import StoreFile
from odonata_live.cluster.utilisation import spanning, utilisation

#: How often the cluster's nodes are asked for: they hardly ever change.
_NODES_EVERY_S = 3600.0
#: After failures in a row the period is multiplied by 2, 4, 8, 16.
_LARGEST_BACK_OFF = 16
#: An answer that takes long is a sign of load: the next question waits this many times as long.
_REST = 10.0

_TABLES = """
CREATE TABLE samples (
    id INTEGER PRIMARY KEY,
    time_s REAL NOT NULL,
    asked_s REAL NOT NULL,
    b1 REAL, b REAL, b_shared REAL,
    b_between_islands REAL, b_between_groups REAL,
    n_c INTEGER, n_t INTEGER, n_c_dup INTEGER, n_a INTEGER,
    running_jobs INTEGER, communicating_jobs INTEGER, pending_jobs INTEGER, other_jobs INTEGER,
    jobs BLOB,
    error TEXT
);
CREATE INDEX samples_by_time ON samples (time_s);
"""

#: Columns of a sample, in order, but for the jobs themselves.
COLUMNS = (
    *("time_s", "asked_s", "b1", "b", "b_shared", "b_between_islands", "b_between_groups"),
    *("n_c", "n_t", "n_c_dup", "n_a"),
    *("running_jobs", "communicating_jobs", "pending_jobs", "other_jobs", "error"),
)


class Store(StoreFile):
    """The samples of one cluster, in a file that survives kills and full disks.

    Each sample is one transaction of SQLite with a write-ahead log: it is there whole, or not.
    """

    application = 0x4F646F6E  # "Odon"
    version = 1
    tables = _TABLES
    content = "samples"
    made_by = "odonata cluster watch"

    def add(self, sample: Mapping[str, Any], jobs: list[queue.QueuedJob] | None) -> None:
        """Adds a sample.

        Args:
            sample: By names of :data:`COLUMNS`; what is missing is empty.
            jobs: All jobs of the queue; `None` if Slurm did not tell.

        Raises:
            sqlite3.Error: If it cannot be written; the store is as before.
        """
        packed = None
        if jobs is not None:
            rows = [[job.id, job.state, list(job.nodes)] for job in jobs]
            packed = zlib.compress(json.dumps(rows, separators=(",", ":")).encode())
        names = (*COLUMNS, "jobs")
        places = ", ".join("?" * len(names))
        with self.transaction():
            self._db.execute(
                f"INSERT INTO samples ({', '.join(names)}) VALUES ({places})",
                (*(sample.get(name) for name in COLUMNS), packed),
            )

    def forget(self, before_s: float) -> int:
        """Removes samples older than a time (Unix, seconds); returns how many."""
        with self.transaction():
            return self._db.execute("DELETE FROM samples WHERE time_s < ?", (before_s,)).rowcount

    def forget_oldest(self, largest_bytes: int) -> int:
        """Removes the oldest samples while the samples take more than this many bytes."""
        removed = 0
        while True:
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
            (size,) = self._db.execute("PRAGMA page_size").fetchone()
            (count,) = self._db.execute("SELECT count(*) FROM samples").fetchone()
            if (pages - free) * size <= largest_bytes or count <= 1:
                return removed
            with self.transaction():
                removed += self._db.execute(
                    "DELETE FROM samples WHERE id IN "
                    "(SELECT id FROM samples ORDER BY id LIMIT max(1, ? / 10))",
                    (count,),
                ).rowcount

    def samples(self, since_s: float = 0, until_s: float = float("inf")) -> list[dict[str, Any]]:
        """Samples of a time, in the order in which they were taken."""
        found = self._db.execute(
            f"SELECT {', '.join(COLUMNS)} FROM samples WHERE time_s BETWEEN ? AND ? ORDER BY id",
            (since_s, until_s),
        )
        return [dict(zip(COLUMNS, row, strict=True)) for row in found]

    def queue_at(self, time_s: float) -> list[queue.QueuedJob]:
        """The queue of the last sample not after a time.

        Raises:
            ClusterError: If there is none.
        """
        row = self._db.execute(
            "SELECT jobs FROM samples WHERE time_s <= ? AND jobs IS NOT NULL "
            "ORDER BY time_s DESC LIMIT 1",
            (time_s,),
        ).fetchone()
        if row is None:
            raise ClusterError(f"{self.path}: no sample up to {_clock(time_s)}")
        return [
            queue.QueuedJob(id_, state, tuple(nodes))
            for id_, state, nodes in json.loads(zlib.decompress(row[0]))
        ]


def _clock(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_s))


@dataclass
class Watch:
    """How to watch.

    Attributes:
        period_s: Between two questions.
        timeout_s: For one answer of Slurm.
        keep_s: Older samples are removed; never if `None`.
        largest_bytes: The oldest samples are removed where the store becomes larger.
        topology: To tell what is sent between islands and groups.
        metrics: A file for Prometheus' node exporter (textfile collector), written anew each time.
        say: Called with a line for people when something changes: Slurm fails, answers again, a
            sample could not be kept, the clock was set.
        kept: Samples that were kept so far, failures among them.
    """

    period_s: float = 60.0
    timeout_s: float = slurm.TIMEOUT_S
    keep_s: float | None = None
    largest_bytes: int = 1 << 30
    topology: cluster_nodes.Topology | None = None
    metrics: Path | None = None
    say: Callable[[str], None] = print
    kept: int = 0

    def run(
        self,
        path: Path,
        *,
        for_s: float = float("inf"),
        stop: Callable[[float], bool | None] = time.sleep,
    ) -> None:
        """Watches until `for_s` seconds have passed or `stop` says so.

        Args:
            path: The store, which is made if there is none and gone on with if there is.
            for_s: How long.
            stop: Waits this many seconds and says whether to end.

        Raises:
            OutputError: If the store cannot be opened, or another process watches into it.
            ClusterError: If it is no store.
        """
        busy = f"{path}: another process watches into it"
        with lock(path.with_name(f".{path.name}.lock"), 0.0, busy):
            store = Store(path, create=True)
            try:
                self._sample_for(store, for_s, stop)
            finally:
                store.close()

    def _sample_for(self, store: Store, for_s: float, stop: Callable[[float], bool | None]) -> None:
        begin = time.monotonic()
        failures = 0
        nodes: int | None = None
        nodes_asked = -float("inf")
        offset = time.time() - begin
        while True:
            asked = time.monotonic()
            # Slurm's times and people's are of the system's clock; waiting is not.
            if abs(time.time() - asked - offset) > 2.0:
                self.say(f"the clock was set by {time.time() - asked - offset:+.0f} s")
                offset = time.time() - asked
            sample: dict[str, Any] = {"time_s": time.time()}
            jobs: list[queue.QueuedJob] | None = None
            try:
                if nodes is None or asked - nodes_asked >= _NODES_EVERY_S:
                    answer = slurm.ask(cluster_nodes.COMMAND, self.timeout_s)
                    nodes, nodes_asked = len(read_nodes(answer)), asked
                jobs = queue.read_queue(slurm.ask(queue.COMMAND, self.timeout_s))
                sample.update(self._figures(jobs, nodes))
                if failures:
                    self.say(f"Slurm answers again, after {failures} failures")
                failures = 0
            except ClusterError as error:
                if failures == 0:
                    self.say(str(error))
                failures += 1
                jobs, sample["error"] = None, str(error)
            took = time.monotonic() - asked
            sample["asked_s"] = took
            self.kept += self._keep(store, sample, jobs)
            back_off = min(2**failures, _LARGEST_BACK_OFF)
            wait = max(self.period_s * back_off - took, _REST * took)
            left = begin + for_s - time.monotonic()
            if left <= wait or stop(wait):
                return

    def _figures(self, jobs: list[queue.QueuedJob], nodes: int) -> dict[str, Any]:
        figures = utilisation(jobs, nodes).to_dict()
        if self.topology is not None:
            islands = self.topology.island_of_node()
            figures["b_between_islands"] = spanning(jobs, islands, nodes)
            figures["b_between_groups"] = spanning(jobs, self.topology.leaf_of_node, nodes)
        return figures

    def _keep(
        self, store: Store, sample: Mapping[str, Any], jobs: list[queue.QueuedJob] | None
    ) -> bool:
        try:
            store.add(sample, jobs)
            if self.keep_s is not None:
                store.forget(float(sample["time_s"]) - self.keep_s)
            store.forget_oldest(self.largest_bytes)
            if self.metrics is not None:
                write_metrics(self.metrics, sample)
        except (sqlite3.Error, OSError) as error:
            self.say(f"a sample could not be kept: {error}")
            return False
        return True


#: Metrics for Prometheus: name, column, meaning.
_METRICS = (
    ("odonata_cluster_utilisation", "b", "Background network utilisation, equation 2."),
    ("odonata_cluster_communicating_ratio", "b1", "Nodes of communicating jobs over all nodes."),
    ("odonata_cluster_between_groups_ratio", "b_between_groups", "Sent between groups."),
    ("odonata_cluster_between_islands_ratio", "b_between_islands", "Sent between islands."),
    ("odonata_cluster_nodes", "n_t", "Nodes of the cluster."),
    ("odonata_cluster_running_jobs", "running_jobs", "Jobs that run."),
    ("odonata_cluster_pending_jobs", "pending_jobs", "Jobs that wait."),
    ("odonata_cluster_answer_seconds", "asked_s", "How long Slurm took to answer."),
    ("odonata_cluster_sample_timestamp_seconds", "time_s", "When this was sampled."),
)


def write_metrics(path: Path, sample: Mapping[str, Any]) -> None:
    """Writes a sample in Prometheus' text format, whole or not at all.

    Raises:
        OSError: If it cannot be written.
    """
    lines = []
    for name, column, meaning in _METRICS:
        if (value := sample.get(column)) is not None:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name} {value:.10g}"]
    up = "odonata_cluster_slurm_up"
    lines += [f"# HELP {up} Whether Slurm answered.", f"# TYPE {up} gauge"]
    lines.append(f"{up} {int(sample.get('error') is None)}")
    rewrite(path, "\n".join(lines) + "\n")
