"""Scenarios: what is simulated, from a TOML file or built in code.

``scenario.py`` has the class :class:`Scenario`; the engine reads and checks what it holds.
``toml_source.py`` and ``toml_text.py`` read and write files; ``files.py`` finds the files that a
scenario names; ``problem.py`` says what is wrong; ``schema.py`` makes the JSON Schema;
``starting.py`` writes a first scenario. The classes of tables are in ``odonata.network``,
``odonata.motif`` and the like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odonata.lazy import on_first_use

if TYPE_CHECKING:
    from odonata.scenario.scenario import (
        Scenario,
        ScenarioLike,
        Simulation,
        as_scenario,
        set_key,
        typed_value,
    )

__all__ = ["Scenario", "ScenarioLike", "Simulation", "as_scenario", "set_key", "typed_value"]

__getattr__, __dir__ = on_first_use(__name__, dict.fromkeys(__all__, "odonata.scenario.scenario"))
