"""Shared by the tests of the live side: what they share with those of Odonata."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import repeatable  # noqa: F401

signal.signal(signal.SIGINT, signal.default_int_handler)
