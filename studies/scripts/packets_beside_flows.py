"""Schedules with packets in the loop beside schedules with flows, for pages/study-schedules.md.

    .venv/bin/python studies/scripts/packets_beside_flows.py       # minutes

150 jobs of Lublin and Feitelson's model on a dragonfly of 72 nodes (p = 2, a = 4, h = 2), all links
10 GB/s, jobs that communicate 20 to 80 % of their time. Writes the table of the page.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import odonata
from odonata.batch import SharedLinks, SharedPackets, generate_job_log
from odonata_studies.marked import markdown, write_tables

HOME = Path(__file__).resolve().parents[1]
MACHINE = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
g = 9
routing = "{routing}"
[network.links]
terminal = {{ bandwidth = "10 GB/s", latency = "10 ns" }}
local = {{ bandwidth = "10 GB/s", latency = "10 ns" }}
global = {{ bandwidth = "10 GB/s", latency = "100 ns" }}
[[job]]
name = "any"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""


def main() -> None:
    """Schedules, and writes the table."""
    log = generate_job_log(nodes=72, jobs=150, seed=3)
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as directory:
        for routing in ("minimal", "par"):
            file = Path(directory) / f"{routing}.toml"
            file.write_text(MACHINE.format(routing=routing), encoding="utf-8")
            for placement in ("contiguous", "random-node"):
                for injection in (0.25, 0.5, 1.0):
                    given = {
                        "mix": ["uniform=1,stencil=1,ring=1,halves=1"],
                        "communication_share": (0.2, 0.8),
                        "machine": file,
                        "injection": injection,
                        "placement": placement,
                    }
                    found = []
                    for network in (
                        SharedLinks(**given),  # type: ignore[arg-type]
                        SharedPackets(**given),  # type: ignore[arg-type]
                        SharedPackets(**given, stretch="latency"),  # type: ignore[arg-type]
                    ):
                        started = time.process_time()
                        schedule = odonata.schedule(
                            log, network=network, estimates="perfect", enforce_limits=False
                        )
                        jobs = schedule.jobs.to_pandas()
                        long = jobs[jobs["log_run_s"] >= 60]
                        stretch = float((long["run_s"] / long["log_run_s"]).mean())
                        cost = time.process_time() - started
                        found.append((stretch, schedule.summary["wait_s"]["mean"] / 3600, cost))
                    (flow, flow_wait, _), (packet, packet_wait, cost), (late, _, _) = found
                    row = [routing, placement, f"{injection:.0%}".replace("%", " %")]
                    row += [f"× {flow:.3f}", f"× {packet:.3f}", f"× {late:.3f}"]
                    row += [f"{flow_wait:.2f} h", f"{packet_wait:.2f} h", f"{cost:.1f} s"]
                    rows.append(row)
                    print(*row, flush=True)
    header = [
        *("routing", "placement", "nodes send at", "run times, flows", "run times, packets"),
        *("run times, packets by latency", "mean wait, flows", "mean wait, packets"),
        "CPU time, packets",
    ]
    page = HOME / "pages" / "study-schedules.md"
    tables = {"packets": markdown(header, rows, labels=3)}
    write_tables(page, tables)


if __name__ == "__main__":
    main()
