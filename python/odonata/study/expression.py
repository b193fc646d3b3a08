"""Conditions of study files and of ``--only``: ``routing == 'minimal' and alpha >= 1``.

The syntax is a part of Python's: names, numbers, texts, lists, comparisons, ``in``, ``and``,
``or``, ``not`` and parentheses. Nothing is executed: the text is parsed, and only these are
understood.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from odonata.errors import Problem, ScenarioError
from odonata.scenario.problem import nearest
from odonata.units import Duration, Quantity, Rate, Size, UnitError

ALLOWED = (
    "names, numbers, texts in quotes, lists, ==, !=, <, <=, >, >=, in, not in, and, or, not, ( )"
)

_ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
#: The value of a part of a condition, by the values of its names.
_Term = Callable[[Mapping[str, Any]], Any]
_CONSTANTS = {"none": None, "true": True, "false": False}


class _Unknown:
    """The value of a name that has none yet, and of what depends on it."""


_UNKNOWN = _Unknown()


class ConditionError(ValueError):
    """A text that is no condition.

    Attributes:
        found: The part that is wrong.
        allowed: What would be accepted there.
    """

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(f"found {found}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed


class Condition:
    """A condition on named values.

    Args:
        text: The condition.
        names: Names that it may use.

    Raises:
        ConditionError: If it is none, or uses another name.
    """

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            where = f" at column {error.offset}" if isinstance(error, SyntaxError) else ""
            raise ConditionError(f"{text!r}, no condition{where}", ALLOWED) from None
        #: Names that it uses.
        self.names: frozenset[str] = frozenset(_check(tree, frozenset(names)))
        self._term = _term(tree)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it is true of single values; one that is absent equals only ``none``."""
        return bool(self._term(values))

    def fails(self, values: Mapping[str, Any]) -> bool:
        """Whether it is false whatever the names are that `values` lacks."""
        found = self._term(values)
        return found is not _UNKNOWN and not found

    def mask(self, columns: Mapping[str, Any], rows: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Where it is true of columns.

        Args:
            columns: Arrays of one length, by name.
            rows: That length.
        """
        return np.broadcast_to(np.asarray(self._term(columns), dtype=bool), rows)


def condition_of(text: str | None, names: Collection[str], key: str, file: str) -> Condition | None:
    """The condition that a key of a study file is; `None` if it is not given.

    Raises:
        ScenarioError: If it is none; names the key.
    """
    if text is None:
        return None
    try:
        return Condition(text, names)
    except ConditionError as error:
        problem = Problem(key, str(error), error.found, error.allowed)
        raise ScenarioError([problem], file) from None


def _check(node: ast.expr, names: frozenset[str]) -> set[str]:
    """The names that an expression uses.

    Raises:
        ConditionError: If some part of it is not allowed.
    """
    below: list[ast.expr] = []
    match node:
        case ast.Name(id=name):
            if name in _CONSTANTS:
                return set()
            if name not in names:
                near = nearest(name, sorted(names))
                hint = f" (did you mean {near}?)" if near else ""
                raise ConditionError(f"the name {name}", (", ".join(names) or "no name") + hint)
            return {name}
        case ast.Constant(value=value):
            if not isinstance(value, (str, int, float)):
                raise ConditionError(ast.unparse(node), ALLOWED)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            pass
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            below = [operand]
        case ast.BoolOp(values=values):
            below = values
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            below = elements
        case ast.Compare(left=left, ops=operators, comparators=right):
            for sign, operand in zip(operators, right, strict=True):
                if isinstance(sign, (ast.Is, ast.IsNot)):
                    raise ConditionError(ast.unparse(node), ALLOWED)
                if isinstance(sign, (ast.In, ast.NotIn)) and not isinstance(
                    operand, (ast.List, ast.Tuple)
                ):
                    raise ConditionError(ast.unparse(operand), "a list after `in`, such as [1, 2]")
            below = [left, *right]
        case _:
            raise ConditionError(ast.unparse(node), ALLOWED)
    return {name for part in below for name in _check(part, names)}


def _term(node: ast.expr) -> _Term:
    """A part of a condition as a function of single values or of columns.

    Of names without a value it is `_UNKNOWN`, as in Kleene's logic.
    """
    match node:
        case ast.Name(id=name):
            if name in _CONSTANTS:
                return _always(_CONSTANTS[name])
            return lambda values: values.get(name, _UNKNOWN)
        case ast.Constant(value=value):
            return _always(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return _always(-value)
        case ast.UnaryOp(operand=operand):
            term = _term(operand)
            return lambda values: _not(term(values))
        case ast.BoolOp(op=junction, values=parts):
            return _joined([_term(part) for part in parts], isinstance(junction, ast.Or))
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return _listed([_term(element) for element in elements])
        case ast.Compare(left=left, ops=signs, comparators=right):
            return _compared([_term(part) for part in (left, *right)], signs)
    raise AssertionError("an expression that was checked")


def _always(value: Any) -> _Term:
    return lambda values: value


def _joined(parts: Sequence[_Term], decided: bool) -> _Term:
    """Parts joined by `or` (decided by one that is true) or `and` (by one that is false)."""

    def term(values: Mapping[str, Any]) -> Any:
        result: Any = not decided
        for part in parts:
            value = part(values)
            # Most of many combinations fail at the first of many parts.
            if isinstance(value, (bool, np.bool_)) and bool(value) is decided:
                return decided
            if value is _UNKNOWN or result is _UNKNOWN:
                result = _UNKNOWN
            elif decided:
                result = np.logical_or(result, value)
            else:
                result = _and(result, value)
        return result

    return term


def _listed(elements: Sequence[_Term]) -> _Term:
    def term(values: Mapping[str, Any]) -> Any:
        found = [element(values) for element in elements]
        return _UNKNOWN if _UNKNOWN in found else found

    return term


def _compared(parts: Sequence[_Term], signs: Sequence[ast.cmpop]) -> _Term:
    first, *others = parts
    steps = list(zip(signs, others, strict=True))

    def term(values: Mapping[str, Any]) -> Any:
        result: Any = True
        here = first(values)
        for sign, other in steps:
            there = other(values)
            if here is _UNKNOWN or there is _UNKNOWN:
                return _UNKNOWN
            result = _and(result, _compare(sign, here, there))
            here = there
        return result

    return term


def _and(left: Any, right: Any) -> Any:
    return right if left is True else np.logical_and(left, right)


def _not(value: Any) -> Any:
    if value is _UNKNOWN:
        return value
    return not value if isinstance(value, bool) else np.logical_not(value)


def _compare(sign: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(sign, (ast.In, ast.NotIn)):
        found: Any = False
        for element in right:
            equal = _equal(left, element)
            found = equal if found is False else np.logical_or(found, equal)
        return _not(found) if isinstance(sign, ast.NotIn) else found
    if isinstance(sign, ast.Eq):
        return _equal(left, right)
    if isinstance(sign, ast.NotEq):
        return _not(_equal(left, right))
    if left is None or right is None:
        return False
    left, right = _alike(left, right)
    if isinstance(left, str) != isinstance(right, str):
        # Such as a name that is a text where it applies, compared with a number.
        return False
    return _ORDER[type(sign)](left, right)


def _equal(left: Any, right: Any) -> Any:
    left, right = _alike(left, right)
    return left == right


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Two texts that are quantities of one kind become these quantities."""
    if isinstance(left, str) and isinstance(right, str):
        return _texts_alike(left, right)
    return left, right


@functools.lru_cache(maxsize=1 << 12)
def _texts_alike(left: str, right: str) -> tuple[Any, Any]:
    """As `_alike`. Kept, as a study compares the few values of its axes for every combination."""
    kinds: tuple[type[Quantity], ...] = (Duration, Size, Rate)
    for kind in kinds:
        try:
            return kind(left), kind(right)
        except UnitError:
            continue
    return left, right
