"""Shared by all Python tests."""

import signal
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# The same cases in every run, and no deadlines: machines that test are often busy.
# `pytest --hypothesis-profile=default` tries others.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# Shells start background jobs with interrupts ignored, which would make the tests
# that interrupt a run wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
