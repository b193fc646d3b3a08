"""An emulated Slurm and its simulation side by side.

By hand, with as many jobs as one likes:

    python tests/live/test_slurm_schedules.py DIRECTORY JOBS SEED GAP_S SLEEP_S SLEEP_S
"""

import sys
from collections.abc import Callable
from pathlib import Path

from emulated_slurm import EmulatedSlurm
from odonata.batch import schedule_as_slurm
from odonata.cli.slurm import beside_recorded
from slurm_workload import NODES, PARAMETERS, PARTITIONS, record, run, sleep_jobs


def test_a_short_queue_is_scheduled_as_slurm_does(
    slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    """Sixty jobs of a minute and a half; docs/scheduling.md has longer runs and their figures."""
    cluster = slurm(NODES, partitions=PARTITIONS, parameters=PARAMETERS)
    run(cluster, sleep_jobs(60, seed=3, gap_s=0.6, sleep_s=(10, 25)), timeout_s=240)
    jobs, listing, configuration = record(cluster, tmp_path)
    simulated = schedule_as_slurm(listing, configuration)
    figures = beside_recorded(simulated.jobs)
    assert figures["jobs"] == 60
    assert simulated.summary["refused"] == 0
    # One run of a machine that others use too: a guard against defects, not the figure.
    assert figures["rank_correlation_of_starts"] >= 0.9
    waits = figures["mean_wait_s"]
    assert abs(waits["simulated"] - waits["recorded"]) <= max(2.0, 0.2 * waits["recorded"])
    # The text of the same jobs leads to the same schedule.
    as_text = schedule_as_slurm(jobs, configuration)
    assert as_text.jobs["start_s"].to_pylist() == simulated.jobs["start_s"].to_pylist()


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True)
    count, seed = int(sys.argv[2]), int(sys.argv[3])
    gap_s, sleep_s = float(sys.argv[4]), (int(sys.argv[5]), int(sys.argv[6]))
    with EmulatedSlurm(NODES, partitions=PARTITIONS, parameters=PARAMETERS) as emulated:
        run(emulated, sleep_jobs(count, seed, gap_s, sleep_s), timeout_s=3600)
        _, listing, configuration = record(emulated, directory)
    result = beside_recorded(schedule_as_slurm(listing, configuration).jobs)
    print({name: value for name, value in result.items() if name != "rows"})
