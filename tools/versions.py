"""Checks the oldest Rust and the oldest and newest Python that the project promises.

    make versions                     # after make test, whose engine it takes

rust     that the workspace compiles with the toolchain of `rust-version` in Cargo.toml.
types    that mypy finds nothing with the rules of these Pythons.
pythons  that tests of the package pass on each of them, in an environment of its own in
         target/versions: the checked engine serves all (abi3).

What is not installed is left out and named at the end: `rustup toolchain install VERSION
--profile minimal`; a Python on the PATH as `python3.13`, or one of pyenv's.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from release import PYTHONS, ROOT, ReleaseError, call, interpreters

#: Where environments and what the oldest Rust compiles lie.
PLACE = ROOT / "target" / "versions"
#: What those tests import besides the package's dependencies.
NEEDED = ("hypothesis", "jsonschema", "polars", "pytest", "scipy")
#: Tests of what depends on the Python that runs it: types, TOML, processes, files, signals.
TESTS = (
    *("test_api.py", "test_files.py", "test_interrupts.py", "test_output.py"),
    *("test_results.py", "test_scenario.py", "test_scenario_errors.py", "test_scenario_units.py"),
    *("test_snapshots.py", "test_sweep.py", "test_trace.py"),
)


#: It types commands of live/, which is no part of these environments.
OF_LIVE = "tests/python/test_snapshots.py::test_commands_print_what_they_did[operator]"


def oldest_rust() -> str | None:
    """Compiles with it; why not, if it is not installed.

    Raises:
        ReleaseError: If the workspace does not compile.
    """
    found = re.search(r'^rust-version = "(.+)"', (ROOT / "Cargo.toml").read_text(), flags=re.M)
    assert found
    version = found[1]
    asked = subprocess.run(["cargo", f"+{version}", "--version"], capture_output=True, check=False)
    if asked.returncode:
        return f"Rust {version}: not installed"
    check = ("check", "--workspace", "--locked", "--quiet", "--profile", "quick")
    call("cargo", f"+{version}", *check, CARGO_TARGET_DIR=str(PLACE / "rust"))
    print(f"versions: Rust {version} compiles the workspace", flush=True)
    return None


def types(version: str) -> None:
    """Checks types by the rules of a Python.

    Raises:
        ReleaseError: If there are mistakes.
    """
    mypy = Path(sys.executable).with_name("mypy")
    call(mypy, "--python-version", version, "--cache-dir", PLACE / f"mypy-{version}")
    print(f"versions: types are right for Python {version}", flush=True)


def tests(version: str, program: str) -> None:
    """Runs the tests on a Python.

    Raises:
        ReleaseError: If one fails.
    """
    environment = PLACE / f"python-{version}"
    python = environment / "bin" / "python"
    if not python.exists():
        call(program, "-m", "venv", environment)
    asked = call(python, ROOT / "tools" / "requirements.py").splitlines()
    own = [one for one in asked if not one.startswith("maturin")]
    script = environment / "bin" / "odonata"
    script.write_text(f"#!{python}\nfrom odonata.cli import main\n\nmain()\n")
    script.chmod(0o755)
    # As users get it: constraints.txt is of one Python.
    call(python, "-m", "pip", "install", "--quiet", *own, *NEEDED, PIP_CONSTRAINT="")
    files = [str(ROOT / "tests" / "python" / name) for name in TESTS]
    call(
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *("--deselect", OF_LIVE),
        *files,
        PYTHONPATH=str(ROOT / "python"),
    )
    print(f"versions: tests pass on Python {version}", flush=True)


def main() -> int:
    """Checks all; returns the exit code."""
    missing = []
    try:
        missing.append(oldest_rust())
        found = interpreters(())
        for version in (PYTHONS[0], PYTHONS[-1]):
            types(version)
            if version in found:
                tests(version, found[version])
            else:
                missing.append(f"Python {version}: not installed")
    except ReleaseError as fault:
        print(f"versions: {fault}", file=sys.stderr)
        return 1
    for one in filter(None, missing):
        print(f"versions: SKIPPED {one}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
