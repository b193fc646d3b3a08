"""Texts of tables and of their fields, as they stand in the sources."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

#: What stands between a table's own text and that of its fields.
FIELDS = "\n\nAttributes:\n"


@cache
def _texts(module: str) -> dict[str, dict[str, str]]:
    """The texts below the fields of a module's classes, by class and field.

    None where there is no source, as of classes that were typed into an interpreter.
    """
    texts: dict[str, dict[str, str]] = {}
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return texts
    for one in ast.walk(ast.parse(source)):
        if isinstance(one, ast.ClassDef):
            own = texts.setdefault(one.name, {})
            for field, text in zip(one.body, one.body[1:], strict=False):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                    and isinstance(text.value.value, str)
                ):
                    own[field.target.id] = inspect.cleandoc(text.value.value)
    return texts


def text_of_field(table: type, name: str) -> str | None:
    """The text below a field, in the class or a base of it.

    Python does not keep it. Reading the sources takes as long as creating the tables, so they are
    read when somebody asks.
    """
    found = (_texts(base.__module__).get(base.__name__, {}).get(name) for base in table.__mro__)
    return next((text for text in found if text is not None), None)


def sentence(text: str, default: object, *, is_required: bool, is_plain: bool) -> str:
    """What is said of a field in help.

    Args:
        text: Its text.
        default: What it is by default.
        is_required: Whether it must be given.
        is_plain: Whether the default is a value that can be shown.
    """
    text = " ".join(text.split())
    if is_required:
        return f"{text} Must be given."
    if default is None or not is_plain or "Default:" in text:
        return text
    return f"{text} Default: {str(default) or 'empty'}."
