"""Shared by the tests of studies: what those of Odonata share, and the scripts."""

import signal
import sys
from pathlib import Path

STUDIES = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(STUDIES / "scripts"), str(STUDIES.parent / "tests")]

from fixtures import rendered_once, simulated_here  # noqa: E402

__all__ = ["rendered_once", "simulated_here"]

signal.signal(signal.SIGINT, signal.default_int_handler)
