"""Shared by the tests that need no real components."""

import repeatable  # noqa: F401
