"""Circuits of optical switches in use: set before a job starts, verified, given back after it."""

from odonata.control.circuits import Connection, Step, between
from odonata.control.controller import Controller, Outcome
from odonata.control.driver import Driver
from odonata.control.journal import Journal
from odonata.control.plant import Plant, Switch

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
