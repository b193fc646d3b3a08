"""``docs/python-reference.md`` from the docstrings of the package's public names."""

from __future__ import annotations

import inspect
from typing import Any

import odonata

INTRODUCTION = """\
# Odonata in Python: reference

What `import odonata` offers, from its docstrings; `help(odonata.run)` says the same. The [guide](python.md) says what
to do with it.
"""

#: What a reader looks for first; the rest follows by name.
FIRST = (
    *("run", "sweep", "compare", "interference", "saturation", "replay", "schedule"),
    *("verify", "design", "topology", "write_report", "example", "first_scenario"),
)


def api_page() -> str:
    """The page."""
    functions = [*FIRST, *(name for name in odonata.__all__ if name not in FIRST)]
    parts = [INTRODUCTION]
    for wanted, title in ((inspect.isfunction, "Functions"), (inspect.isclass, "Classes")):
        parts.append(f"## {title}\n")
        for name in functions:
            value = getattr(odonata, name)
            if wanted(value):
                parts.append(_entry(name, value))
    return "\n".join(parts)


def _entry(name: str, value: Any) -> str:
    lines = [f"### {name}\n"]
    if inspect.isfunction(value):
        lines.append(f"```python\n{_signature(name, value)}\n```\n")
    lines.append(f"```text\n{inspect.getdoc(value) or ''}\n```\n")
    if inspect.isclass(value) and not issubclass(value, BaseException):
        members = [
            f"| `{key}` | {_first(member)} |"
            for key, member in sorted(vars(value).items())
            if not key.startswith("_") and not key.startswith("model_") and _first(member)
        ]
        if members:
            lines.append("| | |\n|---|---|\n" + "\n".join(members) + "\n")
    return "\n".join(lines)


def _signature(name: str, value: Any) -> str:
    """The call with its defaults; types are in the text."""
    parts, starred = [], False
    for one in inspect.signature(value).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        if one.kind is one.VAR_POSITIONAL:
            parts.append(f"*{one.name}")
            starred = True
        elif one.default is one.empty:
            parts.append(one.name)
        elif callable(one.default):
            parts.append(f"{one.name}=…")
        else:
            # As ruff has it, which formats blocks of pages too.
            parts.append(f"{one.name}={one.default!r}".replace("'", '"'))
    line = f"odonata.{name}({', '.join(parts)})"
    return line if len(line) <= 110 else f"odonata.{name}(\n    " + ",\n    ".join(parts) + ",\n)"


def _first(member: Any) -> str:
    if not (inspect.isroutine(member) or isinstance(member, (property, classmethod))):
        return ""
    text = inspect.getdoc(member) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")
