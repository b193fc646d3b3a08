"""Makers of the pages and figures of ``docs/`` that come out of the code."""
