"""Rates of a job are over its own time, and what is said of one that the run's end cuts off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import odonata
from command import call
from odonata import Scenario
from odonata.report.html import write_report

#: Rate of every link, 16 GiB/s.
RATE = 16 * 2**30
MB = 1_000_000


def crossbar(*jobs: dict[str, Any], **simulation: Any) -> Scenario:
    return Scenario.from_dict(
        {
            "network": {"family": "crossbar", "nodes": 8},
            "simulation": simulation,
            "job": list(jobs),
        }
    )


def swap(name: str, size: str, iterations: int, **more: Any) -> dict[str, Any]:
    """Two nodes send to each other at the same time, again and again."""
    motif = {"kind": "shift", "offset": 1, "message": size, "iterations": iterations, **more}
    return {"name": name, "nodes": 2, "motif": motif}


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_short_job_beside_a_long_one_has_its_own_rate(engine: str, tmp_path: Path) -> None:
    # 4 MB at 16 GiB/s are 233 us; the other job runs 100 times as long.
    scenario = crossbar(swap("short", "4 MB", 1), swap("long", "4 MB", 100), engine=engine)
    result = odonata.run(scenario)
    short, long = result.summary_dict["jobs"]
    assert long["run_time_ps"] > 99 * short["run_time_ps"]
    for job, sent in ((short, 4 * MB), (long, 400 * MB)):
        # Both nodes deliver what each of them sends.
        over = sent / (job["run_time_ps"] / 1e12)
        assert job["accepted_bytes_per_s_per_node"] == pytest.approx(over, rel=1e-12)
        assert job["offered_bytes_per_s"] == pytest.approx(2 * over, rel=1e-12)
        # All of the link, but for the latency, which is less than 1 us.
        assert over == pytest.approx(RATE, rel=0.005)
    result.save(tmp_path / "both")
    shown = call("show", "both", directory=tmp_path).stdout
    assert shown.count("17.1 GB/s") + shown.count("17.2 GB/s") >= 3
    page = write_report(tmp_path / "both", out=tmp_path / "report.html").read_text(encoding="utf-8")
    assert "MB/s" not in page
    swept = odonata.sweep(
        scenario, {}, measure=["job.short.accepted_bytes_per_s"], jobs=1, repetitions=2
    )
    assert swept.table["accepted_bytes_per_s"].to_pylist() == [short["accepted_bytes_per_s"]] * 2


def test_the_warm_up_is_no_part_of_it() -> None:
    # The warm-up ends when half of 233 us is over, and after the job of 1 MB.
    jobs = (swap("first", "1 MB", 1), swap("half", "4 MB", 1), swap("late", "4 MB", 1))
    jobs[2]["start"] = "200 us"
    result = odonata.run(crossbar(*jobs, warmup="116 us", duration="1 ms"))
    rates = [job["accepted_bytes_per_s_per_node"] for job in result.summary_dict["jobs"]]
    # One that ended before has no time that counts, and so no rate.
    assert rates[0] is None
    assert rates[1:] == pytest.approx([RATE, RATE], rel=0.005)
    assert "–" in call_text(result)


def call_text(result: odonata.Result) -> str:
    from io import StringIO

    from rich.console import Console

    from odonata.report.summaries import print_summary

    console = Console(file=StringIO(), width=200)
    print_summary(console, result, None)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_job_with_a_motif_is_cut_off_not_saturated(engine: str, tmp_path: Path) -> None:
    # An iteration takes 10 us and the 23.3 us of 400 kB, less than 1 us of latency: after 110 us
    # three have ended.
    job = swap("halo", "400 kB", 20, compute="10 us")
    late = swap("late", "4 kB", 1) | {"start": "1 ms"}
    result = odonata.run(crossbar(job, late, engine=engine, duration="110 us"))
    halo, other = result.summary_dict["jobs"]
    assert (halo["iterations_ended"], halo["iterations"]) == (3, 20)
    assert other["iterations_ended"] == 0 and other["accepted_bytes_per_s"] is None
    ends = result.table("iterations").to_pylist()[:20]
    assert all(one["end_ps"] is not None for one in ends[:3])
    assert all(one["end_ps"] is None for one in ends[3:])
    assert ends[2]["end_ps"] == pytest.approx(3 * (10e6 + 400_000 / RATE * 1e12), rel=0.03)
    text = call_text(result)
    assert "saturated" not in text and "offered" not in text
    assert "halo was not finished when the run ended, after 110 µs: 3 of 20 iterations" in text
    assert "late had not started when the run ended" in text
    result.save(tmp_path / "cut")
    page = write_report(tmp_path / "cut", out=tmp_path / "report.html").read_text(encoding="utf-8")
    assert "halo was not finished when the run ended" in page


def test_what_hosts_would_add_is_said_where_it_matters() -> None:
    # 100 messages of 4 kB take 23 us, at 405 ns for each end they would busy ranks for 81 us.
    short, long = swap("short", "4 kB", 100), swap("long", "4 MB", 1)
    text = call_text(odonata.run(crossbar(short, long)))
    line = next(row for row in text.splitlines() if row.startswith("Messages cost"))
    share = float(line.partition("add up to ")[2].partition(" %")[0])
    result = odonata.run(crossbar(short))
    (job,) = result.summary_dict["jobs"]
    assert share == pytest.approx(100 * 100 * 810e3 / job["run_time_ps"], rel=0.01)
    assert "of the run time of short." in line and "long" not in line
    priced = crossbar(short).with_set({"mpi.send_overhead": "100 ns"})
    for quiet in (crossbar(long), priced):
        assert "Messages cost" not in call_text(odonata.run(quiet))


def test_open_loop_traffic_can_be_saturated() -> None:
    # Seven nodes send to one: its link delivers a seventh of what is offered.
    traffic = {
        "pattern": "hot-spot",
        "hot_ranks": [0],
        "fraction": 1,
        "message": "4 KiB",
        "load": 1,
    }
    result = odonata.run(crossbar({"nodes": 8, "traffic": traffic}, duration="400 us"))
    assert "saturated" in call_text(result)
