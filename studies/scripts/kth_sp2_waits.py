"""Waits of KTH SP2, recorded and simulated: the figure of pages/study-schedules.md.

    .venv/bin/python studies/scripts/kth_sp2_waits.py    # seconds; needs ../shared/data

Leaves pages/figures/kth-sp2-waits.png. Where the log is absent it says so and changes nothing.
"""

from __future__ import annotations

from pathlib import Path

import odonata
from odonata.batch import recorded_schedule
from odonata.batch.plots import SchedulePlots
from odonata_studies.rows import beside

HOME = Path(__file__).resolve().parents[1]
LOG = "shared/data/kth-sp2-jobs/KTH-SP2-1996-2.1-cln.swf"


def main() -> None:
    """Draws the figure."""
    found = beside(LOG)
    if found is None:
        return
    log = odonata.read_job_log(found)
    simulated = [odonata.schedule(log, policy=policy) for policy in ("easy", "conservative")]
    SchedulePlots([recorded_schedule(log), *simulated]).waits(
        HOME / "pages/figures/kth-sp2-waits.png"
    )


if __name__ == "__main__":
    main()
