"""What is wrong with a file: key path, what was found, what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from odonata.errors import Problem, ScenarioError


def refused(path: str, found: str, allowed: str) -> ScenarioError:
    """The error of a key's value."""
    return ScenarioError([Problem(path, f"found {found}; allowed: {allowed}", found, allowed)])


def key_path(parts: Iterable[int | str]) -> str:
    """A key path as people write it: ``job[1].motif.message``."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def nearest(word: str, known: Sequence[str]) -> str:
    """The known word that is most like `word`, or an empty string."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return close[0]
    prefixed = [k for k in known if k.startswith(word) or word.startswith(k)]
    return prefixed[0] if len(prefixed) == 1 and word else ""
