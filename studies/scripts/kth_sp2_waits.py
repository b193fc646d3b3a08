"""Waits of KTH SP2, recorded and simulated: the figure of pages/study-schedules.md.

    .venv/bin/python studies/scripts/kth_sp2_waits.py    # seconds; needs ../shared/data

Leaves pages/figures/kth-sp2-waits.png. Where the log is absent it says so and changes nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import odonata
from odonata.batch import recorded_schedule
from odonata.batch.plots import SchedulePlots

HOME = Path(__file__).resolve().parents[1]
LOG = "shared/data/kth-sp2-jobs/KTH-SP2-1996-2.1-cln.swf"


def main() -> None:
    """Draws the figure."""
    found = next((above / LOG for above in HOME.parents if (above / LOG).exists()), None)
    if found is None:
        print(f"skipped: there is no ../{LOG}", file=sys.stderr)
        return
    log = odonata.read_job_log(found)
    simulated = [odonata.schedule(log, policy=policy) for policy in ("easy", "conservative")]
    SchedulePlots([recorded_schedule(log), *simulated]).waits(
        HOME / "pages/figures/kth-sp2-waits.png"
    )


if __name__ == "__main__":
    main()
