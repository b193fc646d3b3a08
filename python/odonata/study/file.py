"""Study files: a scenario, the axes along which it changes, what to measure, what to draw.

The engine declares the tables and reads them; ``bases.py`` and ``measures.py`` have what they can
do besides.
"""

from odonata.declared import study_classes
from odonata.study.bases import AxisBase, FindingBase, StudyBase, StudyTable
from odonata.study.measures import RESULT_TABLES, MeasureBase

_bases = {"Axis": AxisBase, "Finding": FindingBase, "Measure": MeasureBase, "StudyFile": StudyBase}
globals().update(study_classes(_bases, StudyTable))
# An editor completes the names of what a run writes.
globals()["Measure"].keys["table"].kind = {"one-of": [*RESULT_TABLES]}
