"""Turns what validation finds into problems: key path, what was found, what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from odonata.errors import Problem
from odonata.plug_ins import Kind, known
from odonata.units import describe


def problem(key: str, found: str, allowed: str) -> PydanticCustomError:
    """What a table's own check raises about its `key` (dotted, relative to the table)."""
    return PydanticCustomError(
        "rule",
        "found {found}; allowed: {allowed}",
        {"key": key, "found": found, "allowed": allowed, "hint": ""},
    )


def problems(error: ValidationError, table: type[BaseModel]) -> list[Problem]:
    """What validation of `table` found, each with the key path as people write it."""
    return [_problem(details, table) for details in error.errors(include_url=False)]


def known_keys(table: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Keys of the table at a location below `table`; tags in it choose members of unions."""
    here: Any = table
    for part in location:
        here = _step(here, part)
    tables = [t for t, _ in _members(here) if isinstance(t, type) and issubclass(t, BaseModel)]
    return [field.alias or name for t in tables for name, field in t.model_fields.items()]


def _step(annotation: Any, part: int | str) -> Any:
    """Type of the values at one part of a location."""
    for member, name in _members(annotation):
        if is_tag(part):
            if name == part:
                return member
        elif isinstance(member, type) and issubclass(member, BaseModel):
            for key, field in member.model_fields.items():
                if part in (key, field.alias):
                    return field.annotation
        elif get_origin(member) in (list, dict):
            return get_args(member)[-1]
    return None


def _members(annotation: Any, name: str = "") -> list[tuple[Any, str]]:
    """Members of a union (or the type itself), each with its tag."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        tags = [item.tag for item in metadata if isinstance(item, Tag)]
        # A union with a tag is one member of the union around it.
        return [(inner, tags[0])] if tags else _members(inner, name)
    if get_origin(annotation) in (Union, UnionType):
        return [member for part in get_args(annotation) for member in _members(part, name)]
    return [(annotation, name)]


def key_path(parts: Iterable[int | str]) -> str:
    """A key path as people write it: ``job[1].motif.message``."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def is_tag(part: int | str) -> bool:
    """Whether a part of a location is the tag of a union's member, not a key."""
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")


def nearest(word: str, known: Sequence[str]) -> str:
    """The known word that is most like `word`, or an empty string."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return close[0]
    prefixed = [k for k in known if k.startswith(word) or word.startswith(k)]
    return prefixed[0] if len(prefixed) == 1 and word else ""


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)


def _problem(error: ErrorDetails, table: type[BaseModel]) -> Problem:
    location = error["loc"]
    context: dict[str, Any] = error.get("ctx", {})
    kind = error["type"]
    keys = [part for part in location if not is_tag(part)]
    found, allowed, hint = describe(error["input"]), error["msg"], ""

    if kind in ("quantity", "rule"):
        found, allowed, hint = context["found"], context["allowed"], context["hint"]
        keys += [key for key in context.get("key", "").split(".") if key]
    elif kind == "extra_forbidden":
        siblings = known_keys(table, location[:-1])
        name = str(keys[-1])
        near = nearest(name, siblings)
        allowed = _listed(siblings)
        hint = f"did you mean `{near}`?" if near else ""
        message = "unknown key" + (f" ({hint})" if hint else "") + f"; allowed here: {allowed}"
        return Problem(key_path(keys), message, f"the key {name}", allowed)
    elif kind == "missing":
        return Problem(key_path(keys), "missing; this key must be given", "nothing", "a value")
    elif kind == "union_tag_invalid":
        tags = context["expected_tags"].strip("'").split("', '")
        words = [word for text in tags for word in text[1:-1].split("|") if word != _PLUG_IN]
        discriminator = str(context["discriminator"]).removesuffix("()")
        words += _plug_ins(discriminator)
        if discriminator == "form":
            allowed = " or ".join(words)
        else:
            value = error["input"]
            if isinstance(value, dict):
                keys.append(discriminator)
                found = describe(value.get(discriminator))
                near = nearest(str(value.get(discriminator)), words)
                hint = f'did you mean "{near}"?' if near else ""
                allowed = _listed(f'"{word}"' for word in words)
            else:
                allowed = f"a table with `{discriminator}` = {_listed(words)}"
    elif kind == "literal_error":
        words = [w.strip("'") for w in context["expected"].replace(" or ", ", ").split(", ")]
        words += _plug_ins(str(keys[-1]) if keys else "")
        allowed = _listed(f'"{word}"' for word in words)
        if isinstance(error["input"], str):
            near = nearest(error["input"], words)
            hint = f'did you mean "{near}"?' if near else ""
    else:
        allowed = _ALLOWED[kind].format(**context) if kind in _ALLOWED else error["msg"]
    message = f"found {found}; allowed: {allowed}" + (f" ({hint})" if hint else "")
    return Problem(key_path(keys), message, found, allowed)


#: Tag of the member of a union that is for plug-ins.
_PLUG_IN = "the name of a plug-in"


def _plug_ins(key: str) -> Sequence[str]:
    """Names of plug-ins that the key takes."""
    kinds: dict[str, Kind] = {
        "placement": "placement",
        "mapping": "mapping",
        "pattern": "pattern",
        "kind": "application",
        "order": "order",
    }
    return known(kinds[key]) if key in kinds else ()


#: What is allowed, by pydantic's name of the error.
_ALLOWED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "a text in quotes",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "string_too_short": "at least {min_length} characters",
    "string_pattern_mismatch": "a text that matches {pattern}",
}
