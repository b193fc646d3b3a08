"""What people are shown of results: on a terminal (``summaries.py``), as one file (``html``).

``odonata.report(directory)`` is :func:`odonata.write_report`.
"""

from odonata.lazy import callable_as

callable_as(__name__, "odonata.report.html:write_report")
