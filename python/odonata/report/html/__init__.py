"""Reports: one HTML file of a run, a comparison, a study, a schedule, to pass on.

The file needs nothing besides itself: no network, no Odonata. Its charts are Bokeh's, whose
JavaScript comes with the Python package and is written into the file. ``page.py`` puts a file
together, ``charts.py`` draws, and each kind of result has a module that says what is shown of it.
"""

from odonata.report.html.page import write_report

__all__ = ["write_report"]
