"""``odonata trace show`` on small files; the readers themselves are tested in Rust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from odonata.cli import main
from odonata.errors import ExitCode

SCHEDULE = """\
num_ranks 2

rank 0 {
l1: send 4096b to 1 tag 5
l2: calc 100
l2 requires l1
}

rank 1 {
l1: recv 4096b from 0 tag 5
}
"""


def odonata(*arguments: str) -> ExitCode:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return ExitCode(stopped.value.code)


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    file = tmp_path / "a.goal"
    file.write_text(SCHEDULE)
    return file


def test_counts_by_kind(schedule: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert odonata("trace", "show", str(schedule), "--records", "1", "--json") == ExitCode.OK
    (found,) = json.loads(capsys.readouterr().out)["traces"]
    assert (found["format"], found["ranks"], found["records"]) == ("GOAL schedule (text)", 2, 3)
    assert found["facts"] == {"dependencies": "1"}
    assert {row["kind"]: row["bytes_sent"] for row in found["kinds"]} == {
        "calc": 0,
        "recv": 0,
        "send": 4096,
    }
    assert len(found["samples"]) == 1
    assert "Send" in found["samples"][0]


def test_several_files_for_people(
    schedule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = tmp_path / "b.cm"
    matrix.write_text("Nodes 4\nConnections 1\n0->3 start 0 size 2000000\n")
    assert odonata("trace", "show", str(schedule), str(matrix)) == ExitCode.OK
    # Lines may be broken anywhere between words.
    out = " ".join(capsys.readouterr().out.split())
    assert "GOAL schedule (text)" in out
    assert "htsim connection matrix" in out
    assert "2.00 MB" in out


def test_damage_is_told_with_file_and_line(
    schedule: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule.write_text(SCHEDULE.replace("to 1", "to 7"))
    assert odonata("trace", "show", str(schedule)) == ExitCode.USAGE
    error = " ".join(capsys.readouterr().err.split())
    assert f"{schedule}: line 4: rank 7, but there are the ranks 0 to 1" in error


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.txt"
    file.write_text("nothing that anybody knows\n")
    assert odonata("trace", "show", str(file)) == ExitCode.USAGE
    assert "of none of the formats" in " ".join(capsys.readouterr().err.split())
    assert odonata("trace", "show", str(tmp_path / "absent")) == ExitCode.USAGE
    assert "cannot be opened" in " ".join(capsys.readouterr().err.split())
