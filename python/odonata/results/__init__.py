"""What a run found out: tables, figures, and the directory that keeps them.

``result.py`` has the class :class:`Result`. ``tables.py`` holds what the engine fills
(``result_tables.py``, generated) as Arrow tables; ``stored.py`` reads back what lies in a directory
and refuses what is not as it was written; ``summary.py`` computes figures; ``kinds.py`` tells which
command left a directory. The others are formats of other programs: OTF2, Perfetto, Pipit,
DragonView.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odonata.lazy import on_first_use

if TYPE_CHECKING:
    from odonata.results.result import RESULT_FILE, SCENARIO_FILE, TIMING_FILE, Result

__all__ = ["RESULT_FILE", "SCENARIO_FILE", "TIMING_FILE", "Result"]

__getattr__, __dir__ = on_first_use(__name__, dict.fromkeys(__all__, "odonata.results.result"))
