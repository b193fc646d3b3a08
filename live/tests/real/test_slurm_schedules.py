"""An emulated Slurm and its simulation side by side.

By hand, with as many jobs as one likes; DIRECTORY gets what tests with recorded runs read:

    python live/tests/real/test_slurm_schedules.py DIRECTORY JOBS SEED GAP_S SLEEP_S SLEEP_S
"""

import sys
from collections.abc import Callable
from pathlib import Path

import slurm_passes
from emulated_slurm import EmulatedSlurm
from odonata.batch import schedule_as_slurm
from odonata.cli.slurm import beside_recorded
from slurm_workload import NODES, PARAMETERS, PARTITIONS, record, run, sleep_jobs


def test_what_slurm_leaves_is_simulated(
    slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    """Forty jobs of half a minute: every one is recorded and simulated, from text and JSON alike.

    How closely waits agree is not asserted here: when jobs come within a second, and what else the
    host does, changes them from run to run. Recorded runs tell (tests/python/test_slurm.py,
    crates/scheduler/src/slurm/simulate/tests.rs).
    """
    cluster = slurm(NODES, partitions=PARTITIONS, parameters=PARAMETERS)
    run(cluster, sleep_jobs(40, seed=3, gap_s=0.3, sleep_s=(3, 8)), timeout_s=600)
    assert {job["JobState"] for job in cluster.jobs().values()} == {"COMPLETED"}
    jobs, listing, configuration = record(cluster, tmp_path)
    simulated = schedule_as_slurm(listing, configuration)
    figures = beside_recorded(simulated.jobs)
    assert figures["jobs"] == 40
    assert simulated.summary["refused"] == 0
    assert set(simulated.jobs["fate"].to_pylist()) == {"finished"}
    # The text of the same jobs leads to the same schedule.
    as_text = schedule_as_slurm(jobs, configuration)
    assert as_text.jobs["start_s"].to_pylist() == simulated.jobs["start_s"].to_pylist()
    # Four runs beside three busy processes and compilers on two cores had 0.98 to 0.99; a schedule
    # of other jobs has about 0.
    assert figures["rank_correlation_of_starts"] >= 0.7


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True)
    count, seed = int(sys.argv[2]), int(sys.argv[3])
    gap_s, sleep_s = float(sys.argv[4]), (int(sys.argv[5]), int(sys.argv[6]))
    parameters = {**PARAMETERS, **slurm_passes.PARAMETERS}
    with EmulatedSlurm(NODES, partitions=PARTITIONS, parameters=parameters) as emulated:
        run(emulated, sleep_jobs(count, seed, gap_s, sleep_s), timeout_s=3600)
        _, listing, configuration = record(emulated, directory)
        log = (emulated.directory / "log" / "slurmctld.log").read_text()
    (directory / "passes.txt").write_text(slurm_passes.passes(log, listing.read_text()))
    result = beside_recorded(schedule_as_slurm(listing, configuration).jobs)
    print({name: value for name, value in result.items() if name != "rows"})
