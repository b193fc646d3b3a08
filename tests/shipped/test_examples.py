"""Every example that ships is run by the command that its list gives, with less to simulate."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from command import call
from odonata import Scenario
from odonata.machines.hosts import hosts_of
from odonata.shipped import EXAMPLES
from test_code_blocks import recorded_log

ROOT = Path(__file__).resolve().parents[2]
#: Scenarios that are part of the package have a list of their own.
SCENARIOS = [
    file for file in sorted((ROOT / "examples").glob("*.toml")) if file.stem not in EXAMPLES
]
MACHINES = sorted((ROOT / "examples" / "machines").glob("*.toml"))

#: What makes an example quick: 72 nodes, few messages, a short time of open-loop traffic.
SMALL = ("network.p=2", "network.a=4", "network.h=2")
SHORT = ("simulation.warmup=2 us", "simulation.duration=4 us")
LESS: dict[str, tuple[str, ...]] = {
    "adversarial": (*SMALL, *SHORT, "job.0.nodes=72"),
    "demo": (
        *(*SMALL, "job.0.nodes=24", "job.1.nodes=16", "job.0.motif.iterations=2"),
        "job.*.motif.message=2 KiB",
    ),
    "dragonfly-plus": SHORT,
    "fat-tree": ("job.1.traffic.messages=3",),
    "interference": (
        *("job.0.motif.iterations=2", "job.0.motif.message=4 KiB"),
        *("job.1.traffic.messages=5", "job.2.traffic.messages=2"),
    ),
    "kang2019-codes": ("job.0.traffic.messages=1",),
    "two-stencils": ("job.*.motif.iterations=1", "job.*.motif.message=2 KiB"),
    "uniform-load": (*SMALL, *SHORT, "job.0.nodes=72"),
}


def options(name: str) -> list[str]:
    """The options that make an example quick."""
    return [word for change in LESS.get(name, ()) for word in ("--set", change)]


def command(file: Path) -> list[str]:
    """What to call with a scenario: as its first lines say, else `run`."""
    text = file.read_text(encoding="utf-8").replace("\\\n#", "")
    said = re.search(r"^# +odonata (schedule .*)$", text, flags=re.M)
    if said is None:
        return ["run", str(file), *options(file.stem)]
    return said[1].replace(f"examples/{file.name}", str(file)).split()


@pytest.mark.usefixtures("rendered_once", "simulated_here")
@pytest.mark.parametrize("file", SCENARIOS, ids=lambda path: path.stem)
def test_scenarios_run(file: Path, tmp_path: Path) -> None:
    recorded_log(tmp_path / "theta_2022.swf", nodes=4392, jobs=40)
    done = call(*command(file), directory=tmp_path)
    if done.returncode == 2 and "shared/data" in "".join(done.stderr.split()):
        assert "eeds" in file.read_text(encoding="utf-8")
        pytest.skip(f"{file.name} needs data files that are not part of the repository")
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("rendered_once", "simulated_here")
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_package_run_as_listed(name: str, tmp_path: Path) -> None:
    answer = json.loads(call("example", name, "--json", directory=tmp_path).stdout)
    program, *arguments = shlex.split(answer["command"])
    assert program == "odonata"
    if arguments[0] in ("run", "interference"):
        arguments += options(name)
    done = call(*arguments, directory=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", MACHINES, ids=lambda path: path.stem)
def test_machines_predict(file: Path, tmp_path: Path) -> None:
    hosts = ",".join(list(hosts_of(Scenario.from_file(file)))[:4])
    asked = ("--collective", "allreduce", "--algorithm", "recursive_doubling", "--bytes", "1 KiB")
    done = call("predict-collective", file, "--hosts", hosts, *asked, directory=tmp_path)
    assert done.returncode == 0, done.stderr
