"""Tables of `[schedule]`, which :mod:`odonata.batch.table` puts together.

The engine declares the tables; :mod:`odonata.declared` makes the classes.
"""

from odonata.declared import classes_of

globals().update(classes_of(__name__))
