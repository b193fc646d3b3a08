"""The JSON Schema of scenario files, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from odonata import names
from odonata.plug_ins import ours
from odonata.scenario import Scenario
from odonata.scenario.documented import FIELDS
from odonata.table import CHOICES, CLASSES, FORMS, Key, Table, written
from odonata.units import QUANTITIES

#: The schema that every scenario and study has.
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_INDEX = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario, as a TOML reader gives it.

    Every key has a description. Quantities carry ``x-quantity`` (what they measure) and
    ``x-units`` (units that are accepted).
    """
    definitions: dict[str, Any] = {}
    whole = _table(Scenario, definitions)
    return {
        "$schema": _DIALECT,
        **whole,
        "title": "Odonata scenario",
        "anyOf": [{"required": ["network"]}, {"required": ["schedule"]}],
        "$defs": dict(sorted(definitions.items())),
    }


def _table(table: type[Table], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a table; those that it refers to come into `definitions`."""
    about = (table.__doc__ or "").partition(FIELDS)[0]
    required = [
        key.key for key in table.keys.values() if key.is_needed or key.name == table.chooser
    ]
    return {
        "title": table.__name__,
        "type": "object",
        "description": about,
        "properties": {key.key: _key(key, definitions) for key in table.keys.values()},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _reference(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    if name not in definitions and name in CLASSES:
        definitions[name] = {}
        definitions[name] = _table(CLASSES[name], definitions)
    return {"$ref": f"#/$defs/{name}"}


def _key(key: Key, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key's values, with its text and default."""
    facts, kind = key.facts, key.kind
    forms = []
    if key.words and kind != "text":
        forms.append(_one_of(key.words))
    if facts.get("short"):
        forms.append(_key_alone(CLASSES[kind["table"]].keys[facts["short"]], definitions))
    forms.append(_kind(kind, facts, definitions))
    if facts.get("number"):
        limits = {"least": facts["number"]["least"], "most": facts["number"]["most"]}
        forms.append(_kind("number", limits, definitions))
    found: dict[str, Any] = {"description": key.text}
    if not key.is_made and key.default is not None:
        found["default"] = written(key.default, "given")
    return found | (forms[0] if len(forms) == 1 else {"oneOf": forms})


def _key_alone(key: Key, definitions: dict[str, Any]) -> dict[str, Any]:
    return _kind(key.kind, key.facts, definitions)


def _one_of(names: list[str]) -> dict[str, Any]:
    return {"type": "string", **({"const": names[0]} if len(names) == 1 else {"enum": names})}


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _kind(kind: Any, facts: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of values of a kind, within the limits that are declared of them."""
    ends = {"minimum": "least", "exclusiveMinimum": "more_than", "maximum": "most"}
    limits = {name: _plain(facts[end]) for name, end in ends.items() if facts.get(end) is not None}
    entries = [("min", facts.get("fewest_entries")), ("max", facts.get("most_entries"))]
    match kind:
        case "flag":
            return {"type": "boolean"}
        case "integer" | "signed":
            return {"type": "integer", **limits}
        case "number":
            return {"type": "number", **limits}
        case "text":
            named = {"not": {"enum": [*ours(facts["not"])]}} if "not" in facts else {}
            return {
                "type": "string",
                **named,
                **{f"{end}Length": count for end, count in entries if count is not None},
            }
        case "numbers":
            numbers = {"type": "array", "items": _INDEX, "minItems": 1}
            return {"oneOf": [numbers, {"type": "string"}]}
        case "label":
            return {"type": ["string", "number", "boolean"]}
        case "any":
            return {}
    ((what, of),) = kind.items()
    match what:
        case "quantity":
            return QUANTITIES[of].json_schema()
        case "name":
            return _one_of([*getattr(names, of.upper())])
        case "one-of":
            return _one_of(of)
        case "file" | "written":
            return {"type": "string"}
        case "list":
            inner = {k: v for k, v in facts.items() if not k.endswith("_entries")}
            return {
                "type": "array",
                "items": _kind(of, inner, definitions),
                **{f"{end}Items": count for end, count in entries if count is not None},
            }
        case "by-name":
            values = _kind(of, facts, definitions) or True
            return {"type": "object", "additionalProperties": values}
        case "tables":
            return {"type": "object", "additionalProperties": _reference(of, definitions)}
        case "kinds":
            _, classes, plug_in = CHOICES[of]
            members = [*dict.fromkeys(classes.values()), *([plug_in] if plug_in else [])]
            return {"oneOf": [_reference(one.__name__, definitions) for one in members]}
        case "forms":
            forms = FORMS[of]
            if "plug-in" in forms[0]["fits"]:
                # Readers of the schema meet the names of ours first.
                forms = [forms[1], forms[0], *forms[2:]]
            return {"oneOf": [_form(of, form, definitions) for form in forms]}
    return _reference(of, definitions)


def _form(name: str, form: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a form of a value."""
    fits = form["fits"] if isinstance(form["fits"], dict) else {}
    if "plug-in-table" in fits:
        return _reference(f"{name}PlugIn", definitions)
    facts = form["value"] | ({"not": fits["plug-in"]} if "plug-in" in fits else {})
    return _kind(facts["kind"], facts, definitions)


def study_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a study file, as a TOML reader gives it.

    The base scenario in it, and the values of axes, are checked when the study is read.
    """
    from odonata.study.file import StudyFile

    definitions: dict[str, Any] = {}
    whole = {**_table(StudyFile, definitions), "title": "Odonata study"}
    return {"$schema": _DIALECT, **whole, "$defs": dict(sorted(definitions.items()))}
