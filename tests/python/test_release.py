"""What a release is refused for, without building one (tools/release.py)."""

from __future__ import annotations

import datetime
import fnmatch
import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DAY = datetime.date(2026, 3, 2)
HEAD = "# Changelog\n\n"
OLDER = "\n## [0.1.0] - 2026-01-01\n\n- All.\n"


@pytest.fixture(scope="module")
def release() -> Iterator[dict[str, Any]]:
    # As if it were started: its directory is where it finds the other tools.
    sys.path.insert(0, str(ROOT / "tools"))
    yield runpy.run_path(str(ROOT / "tools" / "release.py"))
    sys.path.remove(str(ROOT / "tools"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        # Entries of an older version, or of none yet, are none of this version.
        ("", "the newest entry is nothing"),
        (OLDER, "the newest entry is [0.1.0] - 2026-01-01; expected: [0.2.0]"),
        ("## [Unreleased]\n\n### Added\n\n- B.\n" + OLDER, "[Unreleased] has entries"),
        (
            "## [Unreleased]\n\n- B.\n\n## [0.2.0] - 2026-03-02\n\n- A.\n",
            "[Unreleased] has entries",
        ),
        ("## [0.2.0]\n\n- A.\n", "expected: [0.2.0] - YYYY-MM-DD"),
        # The code was changed on 1 March, after what the entry can know of.
        ("## [0.2.0] - 2026-02-28\n\n- A.\n", "is of 2026-02-28, and the code was changed on 2026"),
        ("## [0.2.0] - 2026-03-03\n\n- A.\n", "has not come yet"),
        ("## [0.2.0] - 2026-02-30\n\n- A.\n", "does not exist"),
        ("## [0.2.0] - 2026-03-02\n" + OLDER, "says nothing"),
    ],
)
def test_a_stale_changelog_is_refused(release: dict[str, Any], text: str, fault: str) -> None:
    changed = DAY - datetime.timedelta(days=1)
    faults = release["stale_changelog"](HEAD + text, "0.2.0", changed, DAY)
    assert any(fault in one for one in faults), faults


def test_a_changelog_of_the_day_passes(release: dict[str, Any]) -> None:
    text = HEAD + "## [Unreleased]\n\n## [0.2.0] - 2026-03-02\n\n- A.\n" + OLDER
    assert release["stale_changelog"](text, "0.2.0", DAY, DAY) == []


def test_there_is_one_version(release: dict[str, Any]) -> None:
    expected = release["version"]()
    assert release["other_versions"](expected) == []
    # The same places are found out of step with any other.
    assert "CITATION.cff has version " + expected in release["other_versions"]("9.9.9")


def test_a_python_that_is_none_is_refused(release: dict[str, Any], tmp_path: Path) -> None:
    program = tmp_path / "python3.12"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(release["ReleaseError"], match="is no Python"):
        release["interpreters"]([str(program)])


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_the_licences_of_what_is_compiled_in_are_told_with_their_texts(
    release: dict[str, Any],
) -> None:
    text = release["third_party"]("x86_64-unknown-linux-gnu")
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    for name in ("metis-sys", "pyo3", "serde", "blake3"):
        version = lock.split(f'name = "{name}"\nversion = "')[1].split('"')[0]
        assert f"\n{name} {version}  " in text
    # METIS itself lies in its crate; what only tests and the build need is not compiled in.
    assert "metis-sys" in text.split("vendor/metis/LICENSE")[0].splitlines()[-1]
    assert "\nproptest " not in text
    assert "\nmaturin " not in text


def test_a_crate_without_a_licence_that_may_be_taken_is_refused(tmp_path: Path) -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "third_party.py"))
    package = {"name": "a", "version": "1", "repository": None}
    package |= {"manifest_path": str(tmp_path / "Cargo.toml")}
    assert tool["_crate"](package | {"license": "MIT/Apache-2.0"}).texts == {}
    with pytest.raises(tool["LicenceError"], match="brings no text"):
        tool["_crate"](package | {"license": "MIT"})


def test_the_container_takes_what_a_release_leaves(release: dict[str, Any]) -> None:
    """A wheel for each machine, a Python that it is tried on, and a command that is there."""
    steps = (ROOT / "packaging" / "Containerfile").read_text().replace("\\\n", " ")
    pattern = re.search(r'/wheels/(\*"\$\(uname -m\)"\.whl)', steps)
    assert pattern and "COPY *.whl /wheels/" in steps
    for machine in release["MACHINES"]:
        wanted = pattern[1].replace('"$(uname -m)"', machine)
        names = [
            f"odonata-0.1.0-cp310-abi3-{release['PLATFORM']}_{other}.whl"
            for other in release["MACHINES"]
        ]
        assert [name for name in names if fnmatch.fnmatch(name, wanted)] == [
            f"odonata-0.1.0-cp310-abi3-{release['PLATFORM']}_{machine}.whl"
        ]
    base = re.search(r"^ARG BASE=python:(\d+\.\d+)", steps, flags=re.M)
    assert base and base[1] in release["PYTHONS"]
    command = re.search(r'^ENTRYPOINT \["(.+)"\]', steps, flags=re.M)
    scripts = (ROOT / "pyproject.toml").read_text().split("[project.scripts]")[1].split("[")[0]
    assert command and f"{command[1]} = " in scripts
