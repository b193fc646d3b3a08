"""Shared by all Python tests."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# The same cases in every run, and no deadlines: machines that test are often busy.
# `pytest --hypothesis-profile=default` tries others.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
