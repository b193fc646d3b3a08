"""Jobs of a scenario: who sends what to whom and when, and where its ranks sit.

The engine declares the tables; :mod:`odonata.declared` makes the classes.
"""

from odonata.declared import classes_of

globals().update(classes_of(__name__))
