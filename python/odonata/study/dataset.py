"""The dataset of a study: one Parquet file, one row per point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from odonata.columns import table_of
from odonata.errors import OutputError
from odonata.output import reason, write_json, write_parquet
from odonata.results.stored import read_keys, read_table
from odonata.study.bases import STUDY_FILE
from odonata.study.file import StudyFile
from odonata.study.sweep import FailedPoint, SweepPoint

DATASET_FILE = "dataset.parquet"
#: Points that failed, where there are any.
FAILED_FILE = "failed.json"
#: Changes when columns that every dataset has change their name, type or meaning.
DATASET_VERSION = 1


def dataset_schema(study: StudyFile) -> pa.Schema:
    """Columns of a study's dataset; they follow from the study file alone.

    ``point`` (place of the point in the study), one column per axis, ``seed``, one per measure
    (float64, unit in the name), ``saturated`` (jobs whose traffic piled up), ``aborted`` (jobs that
    were), ``fingerprint`` (of the scenario), ``version`` (of Odonata). An axis is int64, float64,
    bool or text, whatever all of its values are; empty where it does not apply. Every field carries
    its description, and its unit where it has one.
    """
    fields = [_field("point", pa.int32(), "place of the point in the study, from 0")]
    for axis in study.axis:
        keys = axis.key if axis.key is not None else "several keys"
        text = f"axis: {keys if isinstance(keys, str) else ', '.join(keys)}"
        fields.append(_field(axis.column, _axis_type([v for v, _ in axis.settings()]), text))
    fields.append(_field("seed", pa.int64(), "seed of the repetition"))
    for measure in study.measure:
        fields.append(
            _field(measure.column_name, pa.float64(), measure.label, unit=measure.unit_text)
        )
    text = "jobs whose traffic piled up, so that their latencies grow with the simulated time"
    names = pa.list_(pa.field("element", pa.string()))
    fields.append(_field("saturated", names, text))
    text = "jobs that were aborted, as a packet of them was lost too often"
    fields.append(_field("aborted", names, text))
    fields.append(_field("fingerprint", pa.string(), "SHA-256 of all that the result depends on"))
    fields.append(_field("version", pa.string(), "version of Odonata that simulated"))
    return pa.schema(
        fields, metadata={"title": study.title, "odonata_dataset": str(DATASET_VERSION)}
    )


def _field(name: str, kind: pa.DataType, description: str, unit: str = "") -> pa.Field:
    metadata = {"description": description, **({"unit": unit} if unit else {})}
    return pa.field(name, kind, metadata=metadata)


def _axis_type(values: Sequence[Any]) -> pa.DataType:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    if kinds <= {int, float}:
        return pa.float64()
    return pa.string()


def build_dataset(
    study: StudyFile, points: Iterable[SweepPoint], records: Mapping[str, Mapping[str, Any]]
) -> pa.Table:
    """The dataset of all points that are done, in the study's order.

    Args:
        study: The study.
        points: Of the study.
        records: By the points' fingerprints.
    """
    schema = dataset_schema(study)
    rows = []
    for point in points:
        record = records.get(point.fingerprint())
        if record is None:
            continue
        axes = {
            name: value if value is None or not pa.types.is_string(kind) else _text(value)
            for name, value in point.axes.items()
            for kind in (schema.field(name).type,)
        }
        rows.append(
            {
                "point": point.number,
                **axes,
                "seed": point.scenario.seed,
                **record["values"],
                # Unknown of points that were simulated before it was kept.
                "saturated": record.get("saturated"),
                "aborted": record.get("aborted"),
                "fingerprint": point.scenario_fingerprint,
                "version": record["version"],
            }
        )
    return table_of(rows, schema)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_dataset(table: pa.Table, directory: Path) -> Path:
    """Writes the dataset where there is none; equal datasets are equal files.

    Returns:
        The file.

    Raises:
        OutputError: If it cannot be written.
    """
    file = directory / DATASET_FILE
    try:
        write_parquet(
            file,
            table,
            compression="zstd",
            compression_level=3,
            version="2.6",
            data_page_version="2.0",
            row_group_size=1 << 20,
        )
    except OSError as error:
        raise OutputError(f"{file}: cannot be written: {reason(error)}") from error
    return file


def write_failed(failed: Sequence[FailedPoint], directory: Path) -> None:
    """Writes which points of a study failed, and why."""
    write_json(directory / FAILED_FILE, {"points": [point.row for point in failed]})


def read_failed(directory: Path) -> list[dict[str, Any]]:
    """The points that failed when a study was last run in a directory: axes, seed, error.

    Raises:
        OutputError: If that cannot be read.
    """
    file = directory / FAILED_FILE
    if not file.exists():
        return []
    found: list[dict[str, Any]] = read_keys(file, {"points": [{"error": str}]})["points"]
    return found


def read_dataset(directory: Path, study: StudyFile | None = None) -> pa.Table:
    """The dataset in a study's directory.

    Args:
        directory: Which.
        study: Whose. Default: that of the directory.

    Raises:
        OutputError: If there is none, it cannot be read, or is not as the study's is.
    """
    file = directory / DATASET_FILE
    if not file.exists():
        raise OutputError(f"{directory}: holds no {DATASET_FILE}; run the study there")
    full = ("point", "seed", "fingerprint", "version")
    schema = dataset_schema(study or StudyFile.from_file(directory / STUDY_FILE))
    return read_table(file, schema, full=full, later=("saturated", "aborted"), measured=False)
