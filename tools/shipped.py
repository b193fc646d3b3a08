"""Runs tests/shipped as users have it: in an environment that has what `make build` installs.

    .venv/bin/python tools/shipped.py [OPTION of pytest …]

What is installed on request, and what only tests need, is absent from target/shipped, apart from
pytest. The engine and the package are those of the checkout. At the end stands how much processor
time it took, beside the slowest tests.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / "target" / "shipped"
PYTHON = ENVIRONMENT / "bin" / "python"


def requirements(*extra: str) -> list[str]:
    """What pyproject.toml asks for, as pip reads it."""
    command = [sys.executable, "tools/requirements.py", *extra]
    asked = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return asked.stdout.splitlines()


def make_environment() -> None:
    """Installs what `make build` does, unless it is there already."""
    build_tool = "maturin"
    tests = [one for one in requirements("dev") if one.startswith("pytest")]
    wanted = [*(one for one in requirements() if not one.startswith(build_tool)), *tests]
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    made_of = hashlib.sha256("\n".join([*wanted, constraints, sys.version]).encode()).hexdigest()
    stamp = ENVIRONMENT / "made-of"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == made_of:
        return
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    options = (
        *("--quiet", "--no-compile", "--disable-pip-version-check"),
        *("--constraint", "constraints.txt"),
    )
    pip = [PYTHON, "-m", "pip", "install", *options, *wanted]
    subprocess.run(pip, cwd=ROOT, check=True)
    stamp.write_text(made_of, encoding="utf-8")


def link_package() -> None:
    """Puts the checkout's package, as it is installed beside this interpreter, into it."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    asked = subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True)
    here, there = Path(sysconfig.get_paths()["purelib"]), Path(asked.stdout.strip())
    for one in here.glob("odonata*"):
        target = there / one.name
        if one.is_dir():
            shutil.copytree(one, target, dirs_exist_ok=True)
        else:
            shutil.copy(one, target)


def main(options: list[str]) -> int:
    """Runs the tests; returns pytest's exit code."""
    make_environment()
    link_package()
    environment = {**os.environ, "ODONATA_SHIPPED": str(ENVIRONMENT)}
    command = [PYTHON, "-m", "pytest", "--durations=8", *options, "tests/shipped"]
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    minutes = (used.ru_utime + used.ru_stime) / 60
    print(f"What ships, in an environment of its own: {minutes:.1f} minutes of processor time")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
