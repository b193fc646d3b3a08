"""Long tails: how samples of times are distributed, and what they go with.

The same functions serve what was measured on a cluster, what a simulation gave, and public data.
``odonata.tails(samples)`` does what ``odonata tails`` does.
"""

from odonata.lazy import callable_as
from odonata.tails.changes import Change, find_changes
from odonata.tails.correlation import Correlation, correlate
from odonata.tails.fits import Fit, fit_families
from odonata.tails.measures import Tail, measure_tail
from odonata.tails.modes import Modes, dip_test, find_modes
from odonata.tails.samples import read_samples

__all__ = [
    "Change",
    "Correlation",
    "Fit",
    "Modes",
    "Tail",
    "correlate",
    "dip_test",
    "find_changes",
    "find_modes",
    "fit_families",
    "measure_tail",
    "read_samples",
]

callable_as(__name__, "odonata.commands:tails")
