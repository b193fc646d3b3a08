"""The check that runs before anything is built."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "prerequisites.sh"


def run_check(
    path: Path, *arguments: str, home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *arguments],
        env={**os.environ, "PATH": str(path), "HOME": str(home or path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with the tools that every system has, and apt-get, but none that the build needs."""
    for tool in ["sort", "head", "cut", "printf", "id"]:
        found = shutil.which(tool)
        assert found, f"{tool} is part of every POSIX system"
        (tmp_path / tool).symlink_to(found)
    apt = tmp_path / "apt-get"
    apt.write_text("#!/bin/sh\n")
    apt.chmod(0o755)
    return tmp_path


def add_tool(path: Path, name: str, script: str) -> None:
    tool = path / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def test_everything_missing_is_named_with_its_command(bare_path: Path) -> None:
    result = run_check(bare_path, "python3", "1.88")
    assert result.returncode == 1
    for command in [
        "apt-get install -y git",
        "apt-get install -y build-essential",
        "apt-get install -y python3 python3-venv",
        "apt-get install -y curl ca-certificates",
        "https://sh.rustup.rs",
        '. "$HOME/.cargo/env"',
    ]:
        assert command in result.stderr


def test_rustup_is_fetched_with_what_is_there(bare_path: Path) -> None:
    add_tool(bare_path, "wget", "exit 0")
    result = run_check(bare_path, "python3", "1.88")
    assert "wget -qO- https://sh.rustup.rs | sh" in result.stderr
    assert "curl" not in result.stderr


def test_a_rust_that_is_not_on_the_path_is_found(
    bare_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / ".cargo" / "bin").mkdir(parents=True)
    add_tool(home / ".cargo" / "bin", "cargo", "exit 0")
    result = run_check(bare_path, "python3", "1.88", home=home)
    assert "installed in ~/.cargo/bin" in result.stderr
    assert "sh.rustup.rs" not in result.stderr


def test_a_compiler_without_the_c_librarys_headers_is_found_out(bare_path: Path) -> None:
    for tool in ["mktemp", "rm"]:
        (bare_path / tool).symlink_to(shutil.which(tool) or "")
    # Debian's gcc without libc6-dev.
    add_tool(bare_path, "gcc", 'echo "a.c:1:10: fatal error: stdio.h: No such file" >&2; exit 1')
    result = run_check(bare_path, "python3", "1.88")
    assert "apt-get install -y libc6-dev" in result.stderr
    assert "build-essential" not in result.stderr


def test_python_without_venv_names_the_package_of_its_version(bare_path: Path) -> None:
    for tool in ["git", "cc", "cargo"]:
        add_tool(bare_path, tool, "exit 0")
    add_tool(bare_path, "rustc", "echo 'rustc 1.95.0 (abc 2026-01-01)'")
    # Debian's python3 without python3-venv: the import fails, everything else works.
    add_tool(
        bare_path,
        "python3",
        'case "$2" in *ensurepip*) exit 1;; *print*) echo 3.11;; *) exit 0;; esac',
    )
    result = run_check(bare_path, "python3", "1.88")
    assert result.returncode == 1
    assert "apt-get install -y python3.11-venv" in result.stderr
    assert "git" not in result.stderr


@pytest.mark.parametrize(
    ("found", "wanted", "accepted"),
    [("1.88.0", "1.88", True), ("1.100.0", "1.88", True), ("1.63.0", "1.88", False)],
)
def test_rust_versions_compare_as_numbers(
    bare_path: Path, found: str, wanted: str, accepted: bool
) -> None:
    for tool in ["git", "cc", "cargo", "python3"]:
        add_tool(bare_path, tool, "exit 0")
    add_tool(bare_path, "rustc", f"echo 'rustc {found} (abc 2026-01-01)'")
    result = run_check(bare_path, "python3", wanted)
    assert (result.returncode == 0) == accepted, result.stderr
