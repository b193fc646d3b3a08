"""Shared by the tests that need no real components."""

from hypothesis import settings

# The same cases in every run, and no deadlines: machines that test are often busy.
# `pytest --hypothesis-profile=default` tries others.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
