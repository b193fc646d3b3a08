"""Skeletons of applications: what well-known applications compute and send.

The engine declares the tables; :mod:`odonata.declared` makes the classes.
``docs/applications.md`` says what each skeleton models.
"""

from odonata.declared import classes_of

globals().update(classes_of(__name__))
