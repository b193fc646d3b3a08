"""The command line ``odonata``; ``docs/cli.md`` is its manual."""

from odonata.cli.main import main

__all__ = ["main"]
