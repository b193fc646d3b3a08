"""Circuits of optical switches in use: set before a job starts, verified, given back after it."""

from odonata_live.control.circuits import Connection, Step, between
from odonata_live.control.controller import Controller, Outcome
from odonata_live.control.driver import Driver
from odonata_live.control.journal import Journal
from odonata_live.control.plant import Plant, Switch

__all__ = [
    "Connection",
    "Controller",
    "Driver",
    "Journal",
    "Outcome",
    "Plant",
    "Step",
    "Switch",
    "between",
]
