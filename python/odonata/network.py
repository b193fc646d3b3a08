"""The `[network]` table of a scenario: what is wired, and how packets are routed on it.

The engine declares the tables; :mod:`odonata.declared` makes the classes. What every
family has is in ``bases.py``.
"""

from odonata.declared import classes_of

globals().update(classes_of(__name__))
