"""A machine of one's own: from a network and measurements to a scenario and a page of its fit."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import odonata.machines.measurements as measured
from odonata.cli.commands import odonata as command
from odonata.machines.calibration import BY_SIZE
from odonata.machines.prediction import Predictor
from odonata.scenario import Scenario
from small_machine import SMALL, small
from test_calibration import made


def said(*arguments: str | Path) -> str:
    answer = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert answer.exit_code != 0, answer.output
    return " ".join(f"{answer.output} {answer.exception}".split())


def without_hosts(directory: Path) -> Path:
    network = directory / "network.toml"
    network.write_text(SMALL.partition("[machine]")[0])
    return network


def test_a_machine_is_made_of_its_network_and_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times that its own hosts made: predictions agree as in test_calibration."""
    starts = [one.start for one in BY_SIZE.free]
    rows = made(Predictor(small()), BY_SIZE.host_model(starts), 4)
    monkeypatch.setattr(measured, "read_measurements", lambda paths: rows)
    network, out = without_hosts(tmp_path), tmp_path / "ours"
    options = ["--network", network, "--hosts", "node[01-16]", "--measurements", "runs"]
    done = CliRunner().invoke(
        command,
        ["machine", "new", *map(str, options), "--name", "Ours", "--jobs", "1", "--out", str(out)],
    )
    assert done.exit_code == 0, done.output
    assert {file.name for file in out.iterdir()} >= {
        "machine.toml", "fit.md", "fit.png", "measurements.csv",
    }  # fmt: skip
    machine = Scenario.from_file(out / "machine.toml")
    assert machine.machine is not None and machine.machine.name == "Ours"
    predictor = Predictor(machine)
    cases = [predictor.case(row.hosts, row.operation, row.algorithm, row.bytes) for row in rows]
    times = [predictor.predict(case).median_ns for case in cases]
    off = np.abs([time / row.median_ns - 1 for time, row in zip(times, rows, strict=True)])
    assert np.median(off) < 0.05 and np.quantile(off, 0.9) < 0.15
    page = (out / "fit.md").read_text()
    assert "# How well the model of Ours fits" in page
    assert f"{len(rows)} measurements were read: allgather, allreduce on 4 nodes" in page
    assert "| allreduce | 4 |" in page and "left out" in page
    assert "message of 64 MiB" in page and "not determined by the measurements" in page
    assert len((out / "measurements.csv").read_text().splitlines()) == 1 + len(rows)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    network = without_hosts(tmp_path)
    (tmp_path / "named.toml").write_text(SMALL)
    rest = ("--measurements", tmp_path, "--out", tmp_path / "none")
    assert "--network: found none" in said("machine", "new", *rest)
    assert "--measurements: found none" in said("machine", "new", "--network", network)
    lacks = said("machine", "new", "--network", network, *rest)
    assert "names no hosts; allowed: a list such as n[001-128]" in lacks
    twice = said("machine", "new", "--network", tmp_path / "named.toml", "--hosts", "n1", *rest)
    assert "names its hosts; leave the option out" in twice
    assert not (tmp_path / "none").exists()
