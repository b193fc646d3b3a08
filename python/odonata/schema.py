"""The JSON Schema of scenario files, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from odonata.documented import FIELDS
from odonata.model import described_fields
from odonata.scenario import Scenario

#: Keys by which a table says what it is; validation needs them.
_CHOOSERS = ("family", "kind", "pattern", "level")


class _Generator(GenerateJsonSchema):
    """TOML has no null: what may be left out is simply not required."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if "default" in schema and schema["default"] is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        whole = super().model_schema(schema)
        for name, field in described_fields(schema["cls"]).items():
            if field.description is not None:
                key = field.alias or name
                whole["properties"][key].setdefault("description", field.description)
        return whole

    def get_title_from_name(self, name: str) -> str:
        # Field names are clear by themselves; generated titles only repeat them.
        return ""


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario, as a TOML reader gives it.

    Every key has a description. Quantities carry ``x-quantity`` (what they measure) and
    ``x-units`` (units that are accepted).
    """
    schema = _schema_of(Scenario, "Odonata scenario", _CHOOSERS)
    schema["required"].remove("network")
    return {**schema, "anyOf": [{"required": ["network"]}, {"required": ["schedule"]}]}


def study_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a study file, as a TOML reader gives it.

    The base scenario in it, and the values of axes, are checked when the study is read.
    """
    from odonata.study.file import StudyFile

    return _schema_of(StudyFile, "Odonata study", ())


def _schema_of(table: type[BaseModel], title: str, choosers: tuple[str, ...]) -> dict[str, Any]:
    schema = table.model_json_schema(by_alias=True, schema_generator=_Generator)
    for one in (schema, *schema.get("$defs", {}).values()):
        if "description" in one:
            # Every property has its own.
            one["description"] = one["description"].partition(FIELDS)[0]
    definitions = schema.pop("$defs")
    for definition in definitions.values():
        properties = definition.get("properties", {})
        required = definition.setdefault("required", [])
        # A key with one value says which of several tables this is; a file must give it, though
        # Python code may leave it out.
        required += [
            key for key in choosers if "const" in properties.get(key, {}) and key not in required
        ]
        if not required:
            del definition["required"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **_without_empty_titles({k: v for k, v in schema.items() if k != "title"}),
        "$defs": _without_empty_titles(definitions),
    }


def _without_empty_titles(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: _without_empty_titles(value)
            for key, value in schema.items()
            if not (key == "title" and value == "")
        }
    if isinstance(schema, list):
        return [_without_empty_titles(value) for value in schema]
    return schema
