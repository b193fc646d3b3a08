"""What a simulation found out: tables, summary, pictures, and the directory that keeps them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from odonata.errors import OutputError
from odonata.libraries import library
from odonata.output import CHECKPOINT_FILE, Claim, warn, write_file, write_json, write_parquet
from odonata.results.stored import Maybe, read_keys
from odonata.results.summary import LinkName, most_loaded_links, saturated_jobs, summarise, to_table
from odonata.results.tables import SCHEMA_VERSION, TABLES, build_tables, read_tables
from odonata.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from odonata.plots import Plots

#: Files of a result directory besides the tables and pictures.
SCENARIO_FILE = "scenario.toml"
RESULT_FILE = "result.json"
SUMMARY_FILE = "summary.json"
#: The one file that differs between two runs of the same scenario and seed.
TIMING_FILE = "timing.json"

#: Entries of ``meta`` that depend on the machine, the moment or the number of threads.
TIMING_KEYS = (
    *("threads", "events", "cpu_seconds", "wall_seconds", "peak_rss_bytes", "peak_packets"),
    *("bytes_per_packet", "bytes_per_port"),
)

#: What ``result.json`` says; more of it may be missing in results of before it was said.
_META = {
    **dict.fromkeys(("version", "title", "network", "routing"), str),
    **dict.fromkeys(("schema", "seed", "nodes", "routers", "groups", "packet_bytes"), int),
    **dict.fromkeys(("warmup_ps", "end_ps", "packet_hops"), int),
    **dict.fromkeys(("created_bytes", "delivered_bytes", "backlog_bytes", "in_flight_bytes"), int),
    "link_classes": [str],
    **dict.fromkeys(("virtual_channels", "timeline_bin_ps"), Maybe(int)),
    **dict.fromkeys(("warmup_found", "precision_reached"), Maybe(bool)),
    "precision": Maybe(float),
    "skipped": Maybe([object]),
}


class Result:
    """The result of one run.

    Every table is an Arrow table whose columns ``docs/results.md`` describes; ``to_pandas``
    and ``to_polars`` give the same table to the libraries of that name, without copying where
    they can. Pictures come from ``plot``.

    Attributes:
        meta: What was simulated: network, routing, seed, version, simulated time, bytes.
        timing: What the run cost: CPU and wall seconds, events, memory, threads.
        scenario: The scenario as it was run, or ``None`` if unknown.
    """

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        meta: Mapping[str, Any],
        timing: Mapping[str, Any] | None = None,
        scenario: Scenario | None = None,
    ) -> None:
        self._tables = dict(tables)
        self.meta = dict(meta)
        self.timing = dict(timing or {})
        self.scenario = scenario
        #: The directory with the checkpoint of this run, until the result is saved.
        self.claim: Claim | None = None

    @classmethod
    def from_engine(cls, raw: Mapping[str, Any], scenario: Scenario | None = None) -> Result:
        """Takes over what the engine returned.

        Args:
            raw: ``meta`` and one dict of arrays per table.
            scenario: The scenario as it was run.
        """
        meta = {key: value for key, value in raw["meta"].items() if key not in TIMING_KEYS}
        timing = {key: raw["meta"][key] for key in TIMING_KEYS if key in raw["meta"]}
        return cls(build_tables(raw, meta), meta, timing, scenario)

    # --- Tables -----------------------------------------------------------------------

    @property
    def jobs(self) -> pa.Table:
        """One row per job."""
        return self._tables["jobs"]

    @property
    def links(self) -> pa.Table:
        """One row per direction of every link."""
        return self._tables["links"]

    @property
    def routers(self) -> pa.Table:
        """One row per router: where it is."""
        return self._tables["routers"]

    @property
    def messages(self) -> pa.Table:
        """One row per recorded message."""
        return self._tables["messages"]

    @property
    def timeline(self) -> pa.Table:
        """One row per slice of time and job."""
        return self._tables["timeline"]

    @property
    def statistics(self) -> pa.Table:
        """How sure the means of traffic are."""
        return self._tables["statistics"]

    @property
    def histograms(self) -> pa.Table:
        """Latency distributions."""
        return self._tables["histograms"]

    @property
    def routers_visited(self) -> pa.Table:
        """How far packets travelled."""
        return self._tables["routers_visited"]

    @property
    def iterations(self) -> pa.Table:
        """Progress of closed-loop jobs."""
        return self._tables["iterations"]

    @property
    def placement(self) -> pa.Table:
        """Node, router and group of each rank."""
        return self._tables["placement"]

    @cached_property
    def summary(self) -> pa.Table:
        """The run in figures: one row each."""
        return to_table(self.summary_dict)

    @cached_property
    def summary_dict(self) -> dict[str, Any]:
        """The same figures nested as in ``summary.json``, with the most loaded links."""
        return summarise(self._tables, self.meta)

    def table(self, name: str) -> pa.Table:
        """A table by its name.

        Raises:
            KeyError: If there is none of that name; lists those that exist.
        """
        if name not in TABLES:
            raise KeyError(f"no table {name!r}; there are {', '.join(TABLES)}")
        return self.summary if name == "summary" else self._tables[name]

    def to_pandas(self, name: str) -> pd.DataFrame:
        """A table as a pandas data frame; columns without empty values share their memory.

        Warns where messages are asked for and none were recorded.
        """
        return self._recorded(name).to_pandas(split_blocks=True)

    def _recorded(self, name: str) -> pa.Table:
        """A table, with a warning if it is empty as its rows were not to be recorded."""
        table = self.table(name)
        not_asked = self.scenario is not None and self.scenario.record.messages == "none"
        if name == "messages" and not table.num_rows and not_asked:
            warn('no message was recorded: set={"record.messages": "all"} records them')
        return table

    def to_polars(self, name: str) -> pl.DataFrame:
        """A table as a polars data frame, which shares its memory; warns as `to_pandas` does.

        Raises:
            LibraryError: If polars is not installed (``pip install polars``).
        """
        frame: pl.DataFrame = library("polars", "a data frame of polars").from_arrow(
            self._recorded(name)
        )
        return frame

    # --- Questions --------------------------------------------------------------------

    @property
    def measured_ps(self) -> int:
        """Simulated time from warm-up to the end, in picoseconds."""
        return max(int(self.meta["end_ps"]) - int(self.meta["warmup_ps"]), 0)

    def most_loaded_links(
        self, count: int = 10, kinds: tuple[str, ...] = ("local", "global")
    ) -> list[LinkName]:
        """The links with the highest utilisation, with readable names.

        Args:
            count: How many at most; links that carried nothing are left out.
            kinds: Which of ``terminal``, ``local`` and ``global`` links.
        """
        return most_loaded_links(self._tables, self.measured_ps, count, kinds)

    @property
    def plot(self) -> Plots:
        """Pictures of this result; see :class:`odonata.plots.Plots`."""
        from odonata.plots import Plots

        return Plots(self)

    def __repr__(self) -> str:
        """What was run, in one line."""
        names = ", ".join(self.jobs["name"].to_pylist())
        return f"<Result of {self.meta['network']}, {self.meta['routing']}; jobs: {names}>"

    def __str__(self) -> str:
        """What was run and how it went, a line per job."""
        from odonata import display

        lines = [
            f"{self.meta['network']}, {self.meta['routing']} routing, seed {self.meta['seed']}"
        ]
        full = saturated_jobs(self.summary_dict)
        for job in self.summary_dict["jobs"]:
            facts = [
                ("run time", display.duration(job["run_time_ps"])),
                ("mean latency", display.duration(job["message_latency_mean_ps"])),
                ("p99", display.duration(job["message_latency_p99_ps"])),
                ("delivered", display.rate(job["accepted_bytes_per_s_per_node"]) + " per node"),
            ]
            known = [f"{what} {text}" for what, text in facts if display.NO_VALUE not in text]
            if job["name"] in full:
                known.append("saturated: latencies grow with the length of the run")
            told = ", ".join([f"{job['nodes']:,} nodes", *known])
            lines.append(f"  {job['name']}: {told}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What was run and how it went, for notebooks."""
        from odonata import display
        from odonata.report.html.parts import facts, table

        run = self.summary_dict["run"]
        answer = [
            ("network", str(run["network"])),
            ("routing", str(run["routing"])),
            ("seed", str(run["seed"])),
            ("simulated", display.duration(run["simulated_ps"])),
        ]
        jobs = [
            [
                job["name"],
                f"{job['nodes']:,}",
                display.duration(job["run_time_ps"]),
                display.duration(job["message_latency_median_ps"]),
                display.duration(job["message_latency_p99_ps"]),
                display.rate(job["accepted_bytes_per_s_per_node"]),
            ]
            for job in self.summary_dict["jobs"]
        ]
        links = [
            [one["class"], f"{one['links']:,}", *map(display.percent, busy)]
            for one in self.summary_dict["link_classes"]
            for busy in [[one["utilisation_mean"], one["utilisation_max"], one["stall_mean"]]]
        ]
        head = ["job", "nodes", "run time", "latency: median", "p99", "delivered per node"]
        return (
            facts(answer)
            + table(head, jobs, "Jobs")
            + table(["links", "number", "busy: mean", "max", "blocked: mean"], links, "Links")
        )

    # --- On disk ----------------------------------------------------------------------

    def save(
        self,
        directory: str | os.PathLike[str],
        *,
        plots: bool | Sequence[str] = False,
        notice: Callable[[str], object] = warn,
    ) -> Path:
        """Writes the tables, all or none, and then the pictures.

        Args:
            directory: Must not exist yet, or be empty.
            plots: Whether to draw the pictures too, or the names of some of them.
            notice: Called with the picture that could not be drawn, and why. Default: a warning.

        Returns:
            The directory.

        The checkpoint of the run, if there is one, is removed then.

        Raises:
            OutputError: If the directory holds something already or cannot be written.
        """
        directory = Path(directory)
        held, self.claim = self.claim, None
        same = held is not None and directory.absolute() == held.directory.absolute()
        claim = held if held is not None and same else Claim(directory)
        try:
            with claim.adding() as partial:
                self._write_tables(partial)
                if self.scenario is not None:
                    # Its paths are relative to where it will be, not to where it is now.
                    text = self.scenario.to_toml(directory=directory)
                    write_file(partial / SCENARIO_FILE, text)
            if plots:
                # Only now that the tables are safe.
                with claim.adding() as partial:
                    names = None if isinstance(plots, bool) else plots
                    self.plot.save_all(partial, names, notice=notice)
        except BaseException:
            claim.release()
            raise
        claim.end()
        if held is not None:
            held.end()
        return directory

    def _write_tables(self, directory: Path) -> None:
        for name in TABLES:
            # All options that shape the bytes are fixed here, so that equal tables
            # are equal files.
            write_parquet(
                directory / f"{name}.parquet",
                self.table(name),
                compression="zstd",
                compression_level=3,
                version="2.6",
                data_page_version="2.0",
                row_group_size=1 << 20,
            )
        write_json(directory / RESULT_FILE, {"schema": SCHEMA_VERSION, **self.meta})
        write_json(directory / SUMMARY_FILE, self.summary_dict)
        write_json(directory / TIMING_FILE, self.timing)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Result:
        """Reads a directory that ``save`` or ``odonata run`` has written.

        Raises:
            OutputError: If it is no result directory, or one of another format version.
            ScenarioError: If its scenario has been changed into none.
        """
        directory = Path(directory)
        if (directory / CHECKPOINT_FILE).exists():
            raise OutputError(
                f"{directory}: the run is not finished. Go on with it: "
                f"odonata run SCENARIO --resume {directory}"
            )
        meta = read_keys(directory / RESULT_FILE, {"schema": object})
        if meta["schema"] != SCHEMA_VERSION:
            raise OutputError(
                f"{directory}: written in format {meta['schema']}; this version of Odonata reads "
                f"format {SCHEMA_VERSION}. Run its {SCENARIO_FILE} again."
            )
        meta = read_keys(directory / RESULT_FILE, _META)
        del meta["schema"]
        timing = read_keys(directory / TIMING_FILE, dict.fromkeys(TIMING_KEYS, Maybe(float)))
        tables = read_tables(directory, meta)
        scenario = directory / SCENARIO_FILE
        return cls(
            tables, meta, timing, Scenario.from_file(scenario) if scenario.exists() else None
        )
