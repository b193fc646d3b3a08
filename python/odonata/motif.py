"""Motifs of jobs: closed loop, each rank waits for what it receives.

The engine declares the tables; :mod:`odonata.declared` makes the classes.
"""

from odonata.declared import classes_of

globals().update(classes_of(__name__))
