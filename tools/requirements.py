"""Prints what pyproject.toml asks for, one requirement a line, as pip reads it.

``requirements.py`` prints the dependencies of the package and maturin, which builds it;
``requirements.py EXTRA`` prints those of an optional group. Installing them separately from
the package keeps a changed source file from running pip's resolver again.
"""

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10; pip carries its own copy
    from pip._vendor import tomli as tomllib

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
if len(sys.argv) > 1:
    requirements = project["project"]["optional-dependencies"][sys.argv[1]]
else:
    requirements = project["project"]["dependencies"] + project["build-system"]["requires"]
print("\n".join(requirements))
