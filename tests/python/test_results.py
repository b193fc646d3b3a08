"""Tables, summary and the result directory."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odonata.errors import OutputError
from odonata.results import Result
from odonata.results.tables import TABLES, to_markdown
from odonata.scenario import Scenario
from synthetic import engine_result

SCENARIO = Scenario.from_toml("""
title = "Two made-up jobs"
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
[[job]]
nodes = 4
motif = { kind = "all-to-all", message = "1 kB" }
""")


@pytest.fixture(scope="module")
def result() -> Result:
    return Result.from_engine(engine_result(), SCENARIO)


def digests(directory: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(directory.iterdir())
        if file.name != "timing.json"
    }


def test_tables_have_the_documented_columns(result: Result) -> None:
    for name, schema in TABLES.items():
        assert result.table(name).schema.names == [column.name for column in schema.columns]


def test_absent_values_are_nulls(result: Result) -> None:
    # A link starts either at a router or at a node.
    links = result.to_pandas("links")
    assert (links["from_router"].isna() ^ links["from_node"].isna()).all()


def test_a_column_too_many_or_too_few_is_noticed() -> None:
    raw = engine_result()
    del raw["jobs"]["ranks"]
    with pytest.raises(ValueError, match=r"jobs: missing columns \['ranks'\]"):
        Result.from_engine(raw)


def test_numeric_columns_share_the_engines_memory() -> None:
    raw = engine_result()
    table = Result.from_engine(raw).links
    buffer = table["busy_ps"].chunk(0).buffers()[1]
    assert buffer.address == raw["links"]["busy_ps"].ctypes.data


def test_summary_names_links_by_router_and_group(result: Result) -> None:
    # 4 routers per group.
    first = result.most_loaded_links(count=1)[0]
    row = result.links.slice(first["link"], 1).to_pylist()[0]
    source, target = row["from_router"], row["to_router"]
    assert first["name"] == (
        f"r{source} (g{source // 4}) → r{target} (g{target // 4}), {row['class']}"
    )
    assert first["utilisation"] == max(
        u
        for u, kind in zip(
            result.links["utilisation"].to_pylist(), result.links["kind"].to_pylist(), strict=True
        )
        if kind != "terminal"
    )


def test_summary_figures_agree_with_the_tables(result: Result) -> None:
    summary = result.summary_dict
    halo = summary["jobs"][0]
    assert halo["run_time_ps"] == halo["end_ps"] - halo["start_ps"]
    glob = next(entry for entry in summary["link_classes"] if entry["class"] == "global")
    # A dragonfly with p=2 a=4 h=2 has 9 groups and 9·8 directed global links.
    assert glob["links"] == 72
    frame = result.to_pandas("links")
    chosen = frame[frame["class"] == "global"]
    assert glob["utilisation_mean"] == pytest.approx(chosen["utilisation"].mean())
    table = result.to_pandas("summary").set_index(["scope", "name", "quantity"])["value"]
    assert table["job", "halo", "message_latency_p99_ps"] == halo["message_latency_p99_ps"]


def test_saved_results_load_again_equal(result: Result, tmp_path: Path) -> None:
    # A name with "=" must not be taken for a partition of a data set.
    loaded = Result.load(result.save(tmp_path / "routing=par"))
    assert loaded.meta == result.meta
    assert loaded.timing == result.timing
    assert loaded.scenario is not None
    assert loaded.scenario.to_dict() == SCENARIO.to_dict()
    for name in TABLES:
        assert loaded.table(name).equals(result.table(name), check_metadata=True), name


def test_units_of_all_tables_are_in_the_files(result: Result, tmp_path: Path) -> None:
    """Columns of times, bytes and rates say so in their names, wherever in them."""
    directory = result.save(tmp_path / "out")
    for table in TABLES:
        for field in pq.read_schema(directory / f"{table}.parquet"):
            words = field.name.split("_")
            if words[-3:] == ["bytes", "per", "s"]:
                unit = b"B/s"
            elif words[-1] == "ps":
                unit = b"ps"
            else:
                unit = b"B" if "bytes" in words else None
            assert field.metadata.get(b"unit") == unit, (table, field.name)
            assert field.metadata[b"description"]


def test_units_are_in_the_files(result: Result, tmp_path: Path) -> None:
    directory = result.save(tmp_path / "out")
    schema = pq.read_schema(directory / "links.parquet")
    found = {name: schema.field(name).metadata for name in schema.names}
    units = {name: metadata.get(b"unit", b"").decode() for name, metadata in found.items()}
    assert units["busy_ps"] == "ps"
    assert units["bytes"] == "B"
    assert units["bandwidth_bytes_per_s"] == "B/s"
    assert units["utilisation"] == ""
    assert schema.field("busy_ps").metadata[b"description"]


def test_equal_results_are_equal_files(tmp_path: Path) -> None:
    first = Result.from_engine(engine_result(), SCENARIO).save(tmp_path / "a", plots=True)
    raw = engine_result()
    raw["meta"] |= {"wall_seconds": 77.0, "threads": 8, "events": 1}
    second = Result.from_engine(raw, SCENARIO).save(tmp_path / "b", plots=True)
    assert digests(first) == digests(second)
    assert json.loads((second / "timing.json").read_text())["threads"] == 8


def test_a_directory_with_results_is_never_touched(result: Result, tmp_path: Path) -> None:
    directory = result.save(tmp_path / "out")
    before = digests(directory)
    with pytest.raises(OutputError, match=r"already holds files.*--out"):
        result.save(directory)
    assert digests(directory) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_failing_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = Result.from_engine(engine_result())

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", full_disk)
    with pytest.raises(OutputError, match="no space left on device"):
        result.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("after_tables", [0, 1, 5, 8])
def test_a_killed_save_leaves_no_half_directory(tmp_path: Path, after_tables: int) -> None:
    script = f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from synthetic import engine_result
        import pyarrow.parquet as pq
        from odonata import results
        write, written = pq.write_table, 0
        def dying_write(*arguments, **options):
            global written
            if written == {after_tables}:
                os.kill(os.getpid(), signal.SIGKILL)
            write(*arguments, **options)
            written += 1
        pq.write_table = dying_write
        results.Result.from_engine(engine_result()).save({str(tmp_path / "out")!r})
    """
    code = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=False, env=dict(os.environ)
    ).returncode
    assert code == -signal.SIGKILL
    with pytest.raises(OutputError, match=r"result\.json is missing"):
        Result.load(tmp_path / "out")
    # The next run is not disturbed by what the killed one left.
    Result.from_engine(engine_result()).save(tmp_path / "out")


def test_loading_something_else_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"not a result directory: result\.json is missing"):
        Result.load(tmp_path)


def test_loading_another_format_says_so(result: Result, tmp_path: Path) -> None:
    directory = result.save(tmp_path / "out")
    meta = json.loads((directory / "result.json").read_text())
    (directory / "result.json").write_text(json.dumps({**meta, "schema": 99}))
    with pytest.raises(OutputError, match="written in format 99"):
        Result.load(directory)


def test_every_column_is_documented() -> None:
    text = to_markdown()
    for schema in TABLES.values():
        for column in schema.columns:
            assert f"`{column.name}`" in text
            assert column.doc


def test_tables_are_arrow(result: Result) -> None:
    assert isinstance(result.summary, pa.Table)
    with pytest.raises(KeyError, match="there are jobs, links"):
        result.table("job")


def test_polars_and_pandas_see_the_same_table(result: Result) -> None:
    jobs = result.to_polars("jobs")
    assert jobs["name"].to_list() == result.to_pandas("jobs")["name"].to_list()
    links = result.to_polars("links")
    assert links.filter(links["kind"] == "global").height == 72
