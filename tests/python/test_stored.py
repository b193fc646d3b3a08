"""What a result consists of is as it was written, or refused by the name of what is not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import call
from odonata.errors import ExitCode, OutputError
from odonata.results import Result
from odonata.results.critical_path import critical_path, shares
from odonata.results.stored import Every, Maybe, OrNull, read_keys
from odonata.results.tables import ENGINE_TABLES
from odonata.scenario import Scenario
from synthetic import engine_result
from test_output import LOADED, LOG, SCENARIO, STUDY


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    scenario = Scenario.from_toml(SCENARIO)
    directory = tmp_path_factory.mktemp("saved") / "out"
    return Result.from_engine(engine_result(), scenario).save(directory)


def change_table(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Writes a table anew; what is said of all of it stays."""
    table = pq.read_table(file)
    pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), file)


def change_keys(file: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def with_column(name: str, values: Callable[[pa.ChunkedArray], Any]) -> Callable[..., pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.column_names.index(name)
        return table.set_column(place, name, pa.array(values(table[name])))

    return change


def with_value(name: str, row: int, value: Any) -> Callable[..., pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        values[row] = value
        field = table.schema.field(name).with_nullable(True)
        place = table.column_names.index(name)
        return table.set_column(place, field, pa.array(values, field.type))

    return change


TAMPERED: dict[str, tuple[str, Callable[..., Any] | None, str]] = {
    # The three that ended in an internal error.
    "no stall": (
        "links.parquet",
        lambda table: table.drop_columns(["stall_ps"]),
        'links.parquet: not as it was written: no column "stall_ps"',
    ),
    "no group": (
        "routers.parquet",
        lambda table: table.drop_columns(["group"]),
        'routers.parquet: not as it was written: no column "group"',
    ),
    "no iterations": (
        "iterations.parquet",
        None,
        "not a result directory: iterations.parquet is missing",
    ),
    "renamed": (
        "jobs.parquet",
        lambda table: table.rename_columns({"end_ps": "xend_ps"}),
        'jobs.parquet: not as it was written: no column "end_ps"',
    ),
    "a column twice": (
        "jobs.parquet",
        lambda table: table.append_column("end_ps", table["end_ps"]),
        'jobs.parquet: not as it was written: more than one column "end_ps"',
    ),
    "text": (
        "links.parquet",
        with_column("busy_ps", lambda column: ["<script>"] * len(column)),
        'column "busy_ps" is of string; allowed: int64',
    ),
    "no value": (
        "links.parquet",
        with_value("bytes", 3, None),
        'column "bytes" has no value in row 3',
    ),
    "negative": (
        "timeline.parquet",
        with_value("messages", 7, -2),
        'column "messages" has a number below 0 in row 7',
    ),
    "infinite": (
        "links.parquet",
        with_value("utilisation", 5, float("inf")),
        'column "utilisation" has no finite number in row 5',
    ),
    # Arrays are made as long as the largest number that counts something.
    "beyond the network": (
        "links.parquet",
        with_value("from_router", 0, 2**31 - 1),
        'column "from_router" has 2147483647 in row 0; there are 36 routers',
    ),
    "a job that is none": (
        "placement.parquet",
        with_value("job", 1, 2),
        'column "job" has 2 in row 1; there are 2 jobs',
    ),
    "a rank of another job's number": (
        "placement.parquet",
        with_value("rank", 40, 36),
        'column "rank" has 36 in row 40; there are 36 ranks',
    ),
    "too many ranks": (
        "jobs.parquet",
        with_value("ranks", 0, 2**31 - 1),
        "placement.parquet: not as it was written: it has not one row for each rank",
    ),
    "rows twice": (
        "jobs.parquet",
        lambda table: pa.concat_tables([table, table]),
        'column "job" does not number its rows',
    ),
    "fewer rows": (
        "routers.parquet",
        lambda table: table.slice(0, 0),
        'result.json: not as it was written: key "routers" does not fit the tables',
    ),
    "a label": (
        "links.parquet",
        with_value("kind", 0, "\x1b[2J"),
        'column "kind" has "\\x1b[2J"; allowed: terminal, local, global',
    ),
    "no table": ("links.parquet", "no Parquet", "links.parquet: cannot be read"),
    "no key": (
        "result.json",
        lambda content: content.pop("nodes"),
        'result.json: not as it was written: key "nodes"; allowed: this key',
    ),
    "null": (
        "result.json",
        lambda content: content.update(title=None),
        'key "title"; allowed: a text',
    ),
    "endless": (
        "result.json",
        lambda content: content.update(nodes=10**12),
        'result.json: not as it was written: key "nodes" does not fit the tables',
    ),
    "a list": (
        "result.json",
        lambda content: content.update(link_classes=["terminal", 3]),
        'key "link_classes[1]"; allowed: a text',
    ),
    "not finite": (
        "timing.json",
        lambda content: content.update(wall_seconds=float("nan")),
        'timing.json: not as it was written: key "wall_seconds"; allowed: a number',
    ),
    "no object": ("timing.json", "[]", "timing.json: not as it was written: allowed: an object"),
    "no JSON": ("result.json", "{", "result.json: cannot be read"),
}


def tamper(directory: Path, name: str, change: Any) -> None:
    file = directory / name
    if change is None:
        file.unlink()
    elif isinstance(change, str):
        file.write_text(change)
    else:
        (change_table if file.suffix == ".parquet" else change_keys)(file, change)


@pytest.mark.parametrize("case", TAMPERED)
def test_a_result_that_was_changed_is_refused(saved: Path, tmp_path: Path, case: str) -> None:
    """By every command, with the file and the column or key, and the exit code of results."""
    name, change, message = TAMPERED[case]
    shutil.copytree(saved, tmp_path / "out")
    tamper(tmp_path / "out", name, change)
    for arguments in (
        ("show", "out"),
        ("report", "out", "--out", "x.html"),
        ("export", "out", "--out", "e"),
        ("ranks", "out"),
        ("compare", "out", saved, "--out", "c"),
        ("compare", saved, "out", "--out", "c"),
    ):
        done = call(*arguments, directory=tmp_path)
        assert done.returncode == ExitCode.OUTPUT, (arguments, done.stderr)
        assert message in done.stderr, (arguments, done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_tables_of_later_versions_and_more_columns_are_read(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(saved, out)
    (out / "arrivals.parquet").unlink()
    change_table(
        out / "links.parquet",
        lambda table: table.append_column("new", pa.array(np.arange(table.num_rows))),
    )
    change_keys(out / "result.json", lambda content: content.update(new=[1]))
    for key in ("virtual_channels", "warmup_found"):
        change_keys(out / "result.json", lambda content, key=key: content.pop(key, None))
    loaded = Result.load(out)
    assert loaded.links.equals(Result.load(saved).links)
    assert loaded.table("arrivals").num_rows == 0


@pytest.mark.usefixtures("simulated_here")
@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        (
            ("run", "s.toml", "--replications", "2"),
            [
                ("replications.parquet", "mean", 'no column "mean"'),
                ("scenario.toml", None, "scenario.toml"),
            ],
        ),
        (
            ("schedule", "log.swf", "--no-plots"),
            [
                ("jobs.parquet", "wait_s", 'no column "wait_s"'),
                ("occupancy.parquet", "busy_nodes", 'no column "busy_nodes"'),
                ("summary.json", "easy.wait_s.mean", 'key "easy.wait_s.mean"; allowed: this key'),
                ("timing.json", "easy", 'key "easy"; allowed: this key'),
                ("timing.json", "easy.cpu_seconds", 'key "easy.cpu_seconds"; allowed: this key'),
                ("result.json", "machine_nodes", 'key "machine_nodes"; allowed: this key'),
            ],
        ),
        (
            ("study", "study.toml"),
            [("dataset.parquet", "run_time_ps", 'no column "run_time_ps"')],
        ),
        (
            ("interference", "s.toml"),
            [
                ("slowdowns.parquet", "slowdown", 'no column "slowdown"'),
                ("slowdowns.parquet", "rows", 'column "quantity" has no quantity "mean" of job'),
                ("waits.parquet", None, "not a result directory: waits.parquet is missing"),
                ("interference.json", "target", ""),
            ],
        ),
        (
            ("saturation", "load.toml", "--highest", "0.2", "--tolerance", "50%"),
            [("saturation.parquet", "latency_ps", 'no column "latency_ps"')],
        ),
    ],
)
def test_other_results_that_were_changed_are_refused(
    tmp_path: Path, arguments: tuple[str, ...], changes: list[tuple[str, str | None, str]]
) -> None:
    for name, text in (
        *(("s.toml", SCENARIO), ("load.toml", LOADED), ("study.toml", STUDY), ("log.swf", LOG)),
    ):
        (tmp_path / name).write_text(text)
    done = call(*arguments, "--out", "whole", directory=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    for name, what, message in changes:
        shutil.copytree(tmp_path / "whole", tmp_path / "out")

        def without(content: Any, what: str | None = what) -> Any:
            if isinstance(content, pa.Table):
                return content.slice(0, 1) if what == "rows" else content.drop_columns([what])
            assert what is not None
            *above, last = what.split(".")
            for key in above:
                content = content[key]
            del content[last]
            return None

        tamper(tmp_path / "out", name, None if what is None else without)
        refused = 0
        for command in (("show", "out"), ("report", "out", "--out", "x.html")):
            done = call(*command, directory=tmp_path)
            assert done.returncode in (ExitCode.OK, ExitCode.USAGE, ExitCode.OUTPUT), done.stderr
            assert not done.returncode or message in done.stderr, (command, done.stderr)
            refused += done.returncode != 0
            (tmp_path / "x.html").unlink(missing_ok=True)
        # What no command reads is not missed, and what may be absent neither.
        assert refused or name == "interference.json", name
        shutil.rmtree(tmp_path / "out")


def test_reports_of_texts_that_are_damaged_are_refused(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "out")
    (tmp_path / "out" / "scenario.toml").write_bytes(b"title = '\x82'")
    for texts, message in (
        ({}, "scenario.toml"),
        ({"conclusion.txt": "", "comparisons.csv": "section,case\n1,2\n"}, 'no column "verdict"'),
        ({"comparisons.csv": "case,verdict\n1\n"}, "1 cells in row 0; the header has 2"),
        ({"comparisons.csv": ""}, "cannot be read"),
        ({"comparisons.csv": "case,verdict\n1,holds\n", "x.md": "\udc82"}, "byte 0 is not UTF-8"),
    ):
        for name, text in texts.items():
            (tmp_path / "out" / name).write_text(text, errors="surrogateescape")
        done = call("report", "out", "--out", "x.html", directory=tmp_path)
        assert done.returncode in (ExitCode.USAGE, ExitCode.OUTPUT), done.stderr
        assert message in done.stderr


def test_keys_say_what_they_hold(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    form = {"a": int, "b": [Maybe(float)], "c": Every({"d": str}), "e": Maybe(bool)}
    form |= {"f": OrNull(int)}
    for text, message in (
        ('{"a": 1, "b": [1, 2.5, null], "c": {"x": {"d": ""}}, "f": null}', None),
        ('{"a": true, "b": [], "c": {}}', 'key "a"; allowed: a whole number'),
        ('{"a": 1e3, "b": [], "c": {}}', 'key "a"; allowed: a whole number'),
        ('{"a": 18446744073709551616, "b": [], "c": {}}', 'key "a"; allowed: a whole number'),
        ('{"a": 1, "b": [1, Infinity], "c": {}}', r'key "b\[1\]"; allowed: a number'),
        ('{"a": 1, "b": [], "c": {"x": {}}}', r'key "c\.x\.d"; allowed: this key'),
        ('{"a": 1, "b": [], "c": {}, "e": 0}', 'key "e"; allowed: true or false'),
        ('{"a": 1, "b": [], "c": {}}', 'key "f"; allowed: this key'),
        ("[" * 100_000, "cannot be read: it is nested too deeply"),
    ):
        file.write_text(text)
        if message is None:
            assert read_keys(file, form) == json.loads(text)
        else:
            with pytest.raises(OutputError, match=message):
                read_keys(file, form)


@pytest.mark.parametrize(("sent", "loops"), [(5, True), (4, False)])
def test_waits_that_cause_each_other_end(sent: int, loops: bool) -> None:
    """Ranks 0 and 1 wait until 5 for what the other sent at that time; as no rank has sent anything
    before, a path through them would go round for ever. From 4 it goes back to where they began."""
    raw = engine_result()
    wait = ENGINE_TABLES["rank_activity"].columns[4].labels
    assert isinstance(wait, tuple)
    raw["rank_activity"] = {
        "job": [0, 0],
        "rank": [0, 1],
        "begin_ps": [0, 0],
        "end_ps": [5, 5],
        "activity": [wait.index("wait-to-receive")] * 2,
        "collective": [-1, -1],
        "parallelism": [-1, -1],
        "cause_rank": [1, 0],
        "cause_ps": [sent, sent],
    }
    result = Result.from_engine(raw)
    if loops:
        with pytest.raises(OutputError, match="waits cause waits"):
            critical_path(result, 0)
    else:
        assert sum(shares(critical_path(result, 0)).values()) == 5
