"""What a scenario says of a real machine besides its network: hosts, and times of its nodes.

The engine declares the tables; :mod:`odonata.declared` makes the classes.
"""

from odonata.declared import classes_of

globals().update(classes_of(__name__))
