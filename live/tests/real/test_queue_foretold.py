"""What is predicted of a queue on an emulated Slurm, beside what becomes of it.

By hand, with as many jobs and as long ones as one likes:

    python live/tests/real/test_queue_foretold.py JOBS SEED SECONDS

where SECONDS is how long the longest job sleeps.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import placed_slurm
from emulated_slurm import EmulatedSlurm
from network_experiment import CLI
from odonata_live.cluster.what_if import read_last_backfill
from placed_slurm import wait_until_done

GROUPS, SIZE = 4, 8


#: Groups as large as the cluster's, two links between every two of them.
MACHINE = f"""[network]
family = "dragonfly"
p = {SIZE}
a = 1
h = {2 * (GROUPS - 1)}
g = {GROUPS}
"""


def predict(cluster: EmulatedSlurm, known: Path, *options: str) -> dict[str, Any]:
    """What is said of the queue as it is now."""
    answer = subprocess.run(
        [*CLI, "cluster", "what-if", "--json", "--run-times", str(known), *options],
        env=cluster.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def predict_and_wait(
    cluster: EmulatedSlurm, directory: Path, count: int, seed: int, longest_s: float
) -> dict[str, Any]:
    """Fills a queue, predicts it, lets it run; how far the starts under plain Slurm are off."""
    draw = random.Random(seed)
    sleeps: dict[int, float] = {}
    # A controller that has just started takes some seconds to its first pass.
    time.sleep(4)
    for _ in range(count):
        nodes = min(GROUPS * SIZE, max(1, round(2 ** draw.uniform(0, 4.6))))
        sleep = round(draw.uniform(longest_s / 4, longest_s), 1)
        # Slurm ends a job at its limit, and the longest takes a little longer than it sleeps.
        least_min = math.ceil((longest_s + 15) / 60)
        options = [f"-N{nodes}", f"-t{draw.choice((1, 2, 5)) * least_min}"]
        sleeps[cluster.submit(*options, command=f"sleep {sleep}")] = sleep
    wait_for_backfill(cluster)
    known = directory / "runs.csv"
    known.write_text("".join(f"{job},{sleep}\n" for job, sleep in sleeps.items()))
    policies = ("--policy", "slurm", "--policy", "grap", "--policy", "contiguous")
    found = predict(cluster, known, *policies)
    undrawn = predict(cluster, known, "--policy", "slurm", "--draws", "1")
    machine = directory / "machine.toml"
    machine.write_text(MACHINE)
    flows = ("--network", "flow", "--machine", str(machine), "--mpi-share", "50%")
    on_network = predict(cluster, known, *policies, *flows, "--injection", "100%")
    wait_until_done(cluster, 600 + count * longest_s, every_s=longest_s / 20)
    # The moment from which its starts count: when the command had its answers.
    asked = found["slurm"]["now_s"]
    starts = {str(job): int(record["StartTime"]) for job, record in cluster.jobs().items()}
    errors, waits, late, within = [], [], [], []
    for job in found["slurm"]["jobs"]:
        assert job["start_s"] is not None
        actual = max(0.0, starts[job["job"]] - asked)
        # To the second in which Slurm tells a start.
        within.append(job["early_s"] - 1 <= actual <= job["late_s"] + 1)
        errors.append(abs(job["start_s"] - actual))
        late.append(actual - job["start_s"])
        waits.append(actual)
    return {
        "predicted": {policy: one["summary"] for policy, one in found.items()},
        "on_network": {policy: one["summary"] for policy, one in on_network.items()},
        "jobs": len(errors),
        "mean_error_s": statistics.fmean(errors),
        "median_error_s": statistics.median(errors),
        "mean_wait_s": statistics.fmean(waits),
        "mean_lateness_s": statistics.fmean(late),
        "mean_error_share": statistics.fmean(errors) / statistics.fmean(waits),
        "undrawn_error_share": error_share(undrawn["slurm"], starts),
        "within_share": statistics.fmean(within),
        "makespan_share": max(errors) / max(waits),
    }


def wait_for_backfill(cluster: EmulatedSlurm) -> None:
    """Until Slurm says when backfill looked last, as a cluster in use always does."""
    for _ in range(60):
        said = subprocess.run(
            ["sdiag"], env=cluster.environment, capture_output=True, text=True, check=True
        )
        if read_last_backfill(said.stdout) is not None:
            return
        time.sleep(0.5)
    raise AssertionError("backfill has not looked for half a minute")


def error_share(predicted: dict[str, Any], starts: dict[str, int]) -> float:
    """Mean distance of starts from those predicted, over the mean wait from the prediction on."""
    actual = {
        job["job"]: max(0.0, starts[job["job"]] - predicted["now_s"]) for job in predicted["jobs"]
    }
    off = [abs(job["start_s"] - actual[job["job"]]) for job in predicted["jobs"]]
    return statistics.fmean(off) / statistics.fmean(actual.values())


def start_cluster(start: Callable[..., EmulatedSlurm]) -> EmulatedSlurm:
    return start(
        GROUPS * SIZE,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters=placed_slurm.PARAMETERS,
        topology=placed_slurm.topology(GROUPS, SIZE),
    )


def test_a_queue_is_predicted_under_every_policy(
    slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    """How close predictions are depends on what else the host does; figures in the docs.

    Jobs are long enough for waits to be longer than the second in which Slurm tells a start.
    """
    figures = predict_and_wait(start_cluster(slurm), tmp_path, 20, seed=1, longest_s=6)
    predicted = figures["predicted"]
    assert set(predicted) == {"slurm", "grap", "contiguous"}
    for one in predicted.values():
        assert one["jobs"] == one["start"] == figures["jobs"] >= 1
    # Large jobs wait for groups of their own: they cannot have more of them.
    assert predicted["grap"]["mean_groups"] <= predicted["contiguous"]["mean_groups"]
    assert figures["mean_error_share"] < 1
    # A link between groups carries less than one node sends: large jobs take longer.
    shared = figures["on_network"]
    assert all(one["start"] == one["jobs"] for one in shared.values())
    assert all(one["mean_stretch"] > 1 for one in shared.values())
    assert all(one["mean_stretch"] == 1 for one in predicted.values())


if __name__ == "__main__":
    count, seed, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with start_cluster(EmulatedSlurm) as emulated:
        print(
            json.dumps(
                predict_and_wait(emulated, emulated.directory, count, seed, seconds), indent=1
            )
        )
