"""Writes scenarios as TOML that people like to read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: Inline tables are used up to this width, and for whatever lies below them.
_WIDTH = 96


def toml_text(data: Mapping[str, Any]) -> str:
    """The TOML text of nested dicts, lists, texts, numbers and booleans.

    Small tables without tables of their own are written inline, lists of tables as
    ``[[…]]``; top-level tables always get a header.
    """
    lines: list[str] = []
    _table(data, (), lines)
    return "\n".join(lines).strip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    below: list[tuple[str, Any]] = []
    for key, value in table.items():
        if _is_table_list(value):
            below.append((key, value))
            continue
        line = f"{_key(key)} = {_value(value)}"
        if isinstance(value, Mapping) and (not path or len(line) > _WIDTH or _is_deep(value)):
            below.append((key, value))
        else:
            lines.append(line)
    for key, value in below:
        inner = (*path, key)
        name = ".".join(map(_key, inner))
        for item in value if isinstance(value, list) else [value]:
            lines += ["", f"[[{name}]]" if isinstance(value, list) else f"[{name}]"]
            _table(item, inner, lines)


def _is_table_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _is_deep(table: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Mapping) for value in table.values())


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, except that TOML also forbids a bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no TOML form for {type(value).__name__}")
