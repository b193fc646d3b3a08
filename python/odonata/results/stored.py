"""Reads back what results consist of, and refuses what is not as it was written.

A table must have its columns, of their types, with values where there always are some; a JSON file
its keys, with what they hold. What is refused is named by file, and by column or key, so that no
command comes upon it later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from odonata.bounded import read_json, read_parquet
from odonata.columns import absent, in_one, labels, numbers
from odonata.errors import OutputError
from odonata.output import reason

#: Largest number: sums of some remain numbers.
_MOST_FLOAT = 1e300


@dataclass(frozen=True)
class OrNull:
    """What a key may hold, or null.

    Attributes:
        form: What it holds.
    """

    form: Any


class Maybe(OrNull):
    """The same of a key that may be missing."""


@dataclass(frozen=True)
class Every:
    """An object with keys of any name.

    Attributes:
        form: What each holds.
    """

    form: Any


#: Any number, what is none and what is not finite too.
ANY_NUMBER = (int, float)
#: What a value of a JSON file must be: `str`; `bool`; `int`, whole and not negative; `float`, any
#: finite number; `ANY_NUMBER`; a mapping of keys; a list of one form for all items; `object`,
#: anything; or one of the classes above.
Form = Any

#: How the types of a form are called in errors.
_CALLED = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    ANY_NUMBER: "a number",
}


def _flaw(value: Any, form: Form, key: str) -> tuple[str, str] | None:
    """The first key that does not hold what it should, and what that is."""
    if isinstance(form, OrNull):
        return None if value is None else _flaw(value, form.form, key)
    if isinstance(form, (Mapping, Every)):
        if not isinstance(value, dict):
            return key, "an object"
        inner = dict.fromkeys(value, form.form) if isinstance(form, Every) else form
        for name, below in inner.items():
            path = f"{key}.{name}" if key else name
            if name not in value and not isinstance(below, Maybe):
                return path, "this key"
            found = _flaw(value.get(name), below, path)
            if found is not None:
                return found
        return None
    if isinstance(form, list):
        if not isinstance(value, list):
            return key, "a list"
        items = (_flaw(item, form[0], f"{key}[{place}]") for place, item in enumerate(value))
        return next((flaw for flaw in items if flaw is not None), None)
    if form is int:
        sound = type(value) is int and 0 <= value < 1 << 64
    elif form is float:
        sound = type(value) in (int, float) and -_MOST_FLOAT <= value <= _MOST_FLOAT
    else:
        sound = isinstance(value, form)
    return None if sound else (key, _CALLED[form])


def flaw_of(content: Any, form: Form) -> str | None:
    """Which key of a JSON value does not hold what it should, and what that is."""
    flaw = _flaw(content, form, "")
    if flaw is None:
        return None
    key, allowed = flaw
    return f'key "{key}"; allowed: {allowed}' if key else f"allowed: {allowed}"


def refusal(file: Path, what: str) -> OutputError:
    """The error of a file that is not as it was written."""
    return OutputError(
        f"{file}: not as it was written: {what}. Run again what made {file.parent}, in another "
        "directory"
    )


@contextmanager
def _missing_or_damaged(file: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise OutputError(
            f"{file.parent}: not a result directory: {file.name} is missing"
        ) from None
    except pa.ArrowException as error:
        raise OutputError(f"{file}: cannot be read: {error}") from error
    except OSError as error:
        raise OutputError(f"{file}: cannot be read: {reason(error)}") from error
    except ValueError as error:
        raise OutputError(f"{file}: cannot be read: {error}") from error


def read_keys(file: Path, form: Form) -> Any:
    """What a JSON file of a result holds.

    Args:
        file: Which.
        form: What it must hold; other keys are left as they are.

    Raises:
        OutputError: If it is missing, cannot be read or holds something else; tells the key.
    """
    with _missing_or_damaged(file):
        content = read_json(file)
    flaw = flaw_of(content, form)
    if flaw is not None:
        raise refusal(file, flaw)
    return content


def read_table(
    file: Path,
    schema: pa.Schema,
    *,
    full: Collection[str] = (),
    later: Collection[str] = (),
    measured: bool = True,
) -> pa.Table:
    """A table of a result.

    Args:
        file: In Parquet.
        schema: Its columns. Those that are not nullable have a value in every row. Other columns
            are left out.
        full: Columns that have a value in every row, whatever the schema says.
        later: Columns that files of before they existed lack.
        measured: Whether numbers are what was measured: finite, and whole ones not negative.

    Raises:
        OutputError: If it is missing, cannot be read or holds something else; tells the column.
    """
    with _missing_or_damaged(file):
        table = read_parquet(file)
        table.validate(full=True)
    for field in schema:
        count = table.column_names.count(field.name)
        if count == 0 and field.name in later:
            continue
        if count != 1:
            raise refusal(file, f'{"no" if not count else "more than one"} column "{field.name}"')
        found = table.schema.field(field.name).type
        if found != field.type:
            raise refusal(file, f'column "{field.name}" is of {found}; allowed: {field.type}')
        nullable = field.nullable and field.name not in full
        wrong = _wrong(table, field.with_nullable(nullable), measured)
        if wrong is not None:
            row, what = wrong
            raise refusal(file, f'column "{field.name}" has {what} in row {row}')
    return table.select([name for name in schema.names if name in table.column_names])


def _wrong(table: pa.Table, field: pa.Field, measured: bool) -> tuple[int, str] | None:
    """The first row whose value a column cannot have, and what that is."""
    missing = absent(in_one(table[field.name]))
    if missing.any() and not field.nullable:
        return int(missing.argmax()), "no value"
    if not measured:
        return None
    if pa.types.is_integer(field.type):
        bad, what = numbers(table, field.name) < 0, "a number below 0"
    elif pa.types.is_floating(field.type):
        bad, what = ~(np.abs(numbers(table, field.name)) <= _MOST_FLOAT), "no finite number"
    else:
        return None
    bad &= ~missing
    return (int(bad.argmax()), what) if bad.any() else None


def check_texts(file: Path, table: pa.Table, column: str, allowed: Collection[str]) -> None:
    """Refuses a column of labels that holds others than it may.

    Raises:
        OutputError: If it does.
    """
    other = [text for text in labels(table, column) if text not in allowed]
    if other:
        raise refusal(
            file, f'column "{column}" has "{other[0]:.40}"; allowed: {", ".join(allowed)}'
        )


def check_below(
    file: Path, table: pa.Table, column: str, most: int | npt.NDArray[Any], what: str
) -> None:
    """Refuses a column that numbers rows of another table, or things, of which there are fewer.

    Args:
        file: Of the table.
        table: Which.
        column: Of whole numbers.
        most: How many there are, or how many for each row.
        what: What they are, for people.

    Raises:
        OutputError: If a number is none of them.
    """
    values = numbers(table, column)
    bad = values >= most
    if bad.any():
        row = int(bad.argmax())
        there = int(np.broadcast_to(most, len(values))[row])
        raise refusal(
            file, f'column "{column}" has {values[row]} in row {row}; there are {there} {what}'
        )
