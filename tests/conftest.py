"""Shared by all tests of Python, those with real components included."""

import os
import signal

from fixtures import rendered_once, simulated_here

__all__ = ["rendered_once", "simulated_here"]

# Shells start background jobs with interrupts ignored, which would make the tests
# that interrupt a run wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A shell may say how wide its terminal is: tests that read what is printed say it themselves.
os.environ.pop("COLUMNS", None)
