"""Study files, one for each publication; each is an entry point of its name."""

from __future__ import annotations

from pathlib import Path

#: Where the files lie.
LIBRARY = Path(__file__).resolve().parent

dragonfly_design = LIBRARY / "dragonfly-design.toml"
feng2023 = LIBRARY / "feng2023.toml"
kang2019 = LIBRARY / "kang2019.toml"
kang2019_codes = LIBRARY / "kang2019-codes.toml"
kaplan2017 = LIBRARY / "kaplan2017.toml"
michelogiannakis2019 = LIBRARY / "michelogiannakis2019.toml"
sharing = LIBRARY / "sharing.toml"
