"""A job of a real Slurm finds its circuits set when it starts, or starts without."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

from emulated_slurm import EmulatedSlurm
from odonata_live.control import Controller, Plant

SCRIPTS = Path(__file__).resolve().parents[3] / "examples" / "control"

#: Four groups of two nodes; a switch takes a link of each.
SCENARIO = """
title = "eight nodes"
[network]
family = "reconfigurable-dragonfly"
p = 1
a = 2
h = 2
g = 4
"""


def script(directory: Path, name: str, limit_s: int) -> Path:
    """A script of ours, as a site would call it."""
    odonata = directory / "odonata"
    program = "import sys; from odonata.cli import main; main()"
    odonata.write_text(f'#!/bin/sh\nexec {sys.executable} -c {shlex.quote(program)} "$@"\n')
    odonata.chmod(0o755)
    file = directory / name
    file.write_text(
        f"#!/bin/sh\nexport ODONATA_PLANT={directory}/plant.toml ODONATA={odonata}\n"
        f"export ODONATA_LIMIT={limit_s}\nexec {SCRIPTS / name}\n"
    )
    file.chmod(0o755)
    return file


def test_a_job_starts_with_its_circuits_or_after_the_limit_without(
    slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    (tmp_path / "machine.toml").write_text(SCENARIO)
    rows = "".join(f'[[switch]]\nname = "s{n}"\ndriver = "files"\n' for n in range(4))
    (tmp_path / "plant.toml").write_text(
        'store = "circuits.sqlite"\nscenario = "machine.toml"\nnodes = "n[0-7]"\n'
        f'[driver.files]\nkind = "recorder"\n{rows}'
    )
    plant = Plant.from_file(tmp_path / "plant.toml")
    limit = tmp_path / "limit"
    # A limit that a loaded host keeps for the first job, and one that nobody has to wait for.
    prolog = script(tmp_path, "prolog.sh", 300)
    text = prolog.read_text().replace("ODONATA_LIMIT=300", f'ODONATA_LIMIT="$(cat {limit})"')
    prolog.write_text(text)
    limit.write_text("300")
    cluster = slurm(
        8,
        cores=1,
        parameters={
            "PrologSlurmctld": str(prolog),
            "EpilogSlurmctld": str(script(tmp_path, "epilog.sh", 300)),
        },
    )
    seen = tmp_path / "seen"
    name = "a'b\"; touch " + str(tmp_path / "hurt") + "; $(touch hurt)\n`touch hurt`"
    look = f"cp {tmp_path}/s0.json {seen}"
    job = cluster.submit("-N4", "--exclusive", f"--job-name={name}", command=look)
    cluster.wait_until_done(timeout_s=240)
    # What the job found as it started: both links of its two groups, joined, and its number.
    rows = json.loads(seen.read_text())
    assert {row[2] for row in rows} == {job} and len(rows) == 2
    deadline = time.monotonic() + 240
    while True:
        with Controller(plant, wait_s=240) as control:
            if control.journal.jobs() == {job: False}:
                assert control.verify() == [] and not control.journal.owners()
                break
        assert time.monotonic() < deadline, "the epilog has not given the circuits back"
        time.sleep(0.1)
    limit.write_text("1")
    with Controller(plant) as control:
        # While somebody else is at work for longer than the limit.
        cluster.submit("-N8", "--exclusive", command=f"touch {tmp_path}/started")
        deadline = time.monotonic() + 240
        while not (tmp_path / "started").exists():
            assert time.monotonic() < deadline, "the job waits for its circuits for ever"
            time.sleep(0.1)
        assert control.journal.jobs() == {job: False}
    cluster.wait_until_done(timeout_s=240)
    assert not list(tmp_path.rglob("hurt"))
