"""Traffic of a scenario: what ranks offer whatever the network does.

The engine declares the tables; :mod:`odonata.declared` makes the classes.
"""

from odonata.declared import classes_of

globals().update(classes_of(__name__))
