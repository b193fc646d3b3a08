"""Makes a release and tries it; uploads nothing.

    make release                                 # all of it
    python3 tools/release.py [--stage STAGE]...  # checks, tests, build or try alone
        [--skip-tests] [--python PATH]... [--rehearsal]

checks  nothing uncommitted, one version everywhere, a changelog with a dated entry for it that is
        not older than the code, and the linters.
tests   make test.
build   an sdist, and from what is unpacked of it the wheels for manylinux on x86-64 and aarch64,
        by Zig's linker. A wheel serves all Pythons from 3.10 on (abi3).
try     that each wheel holds all files of the package; those that this machine runs are installed
        into bare environments of each Python found, and used: version, examples, a run with its
        pictures, a report, a study, the man page, and a notebook in the newest of them.

A rehearsal builds in a fraction of the time, with all checks of the engine; RELEASE.txt says so.
What comes out lies in target/dist/VERSION, with RELEASE.txt, which says what was done and what was
left out. Needs Python 3.10 or newer, git, and a Rust toolchain with the targets of both
architectures (rustup target add aarch64-unknown-linux-gnu).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from third_party import FILE as THIRD_PARTY_FILE
from third_party import LicenceError, third_party

ROOT = Path(__file__).resolve().parents[1]
STAGES = ("checks", "tests", "build", "try")
#: The last is the one in which the notebook is tried.
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
#: By the name of a machine, which is also in the name of its wheel: the machine in an ELF header.
MACHINES = {"x86_64": 62, "aarch64": 183}
#: Its C library is 2.17 of 2012, which all of today's distributions have, or a later one.
PLATFORM = "manylinux2014"
#: What a wheel holds.
PACKAGES = ("python/odonata", "live/odonata_live", "studies/odonata_studies")
NOTEBOOK = ROOT / "examples" / "notebooks" / "first_run.ipynb"


class ReleaseError(Exception):
    """Why there is no release."""


def say(sentence: str) -> None:
    """Tells how far it is."""
    print(f"release: {sentence}", flush=True)


def call(*command: str | Path, directory: Path = ROOT, **variables: str) -> str:
    """Runs a program and returns what it prints.

    Raises:
        ReleaseError: If it fails.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=directory,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-40:])
        raise ReleaseError(f"{' '.join(words)} ended with {done.returncode}:\n{last}")
    return done.stdout


# --- Checks -------------------------------------------------------------------


def version() -> str:
    """The version of the workspace, from which all others follow."""
    found = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), flags=re.M)
    assert found
    return found[1]


def other_versions(expected: str) -> list[str]:
    """Places that say another version than the workspace, or one of their own."""
    faults = []
    for file in sorted(ROOT.glob("crates/*/Cargo.toml")):
        if "version.workspace = true" not in file.read_text():
            faults.append(f"{file.relative_to(ROOT)} does not take the version of the workspace")
    lock = (ROOT / "Cargo.lock").read_text()
    for name, found in re.findall(r'name = "(odonata[\w-]*)"\nversion = "(.+)"', lock):
        if found != expected:
            faults.append(f"Cargo.lock has {name} {found}")
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    if citation is None or citation[1].strip("\"'") != expected:
        faults.append(f"CITATION.cff has version {citation[1] if citation else 'none'}")
    return faults


def stale_changelog(
    text: str, expected: str, changed: datetime.date, today: datetime.date
) -> list[str]:
    """What is wrong with a changelog for a release of a version.

    Args:
        text: The changelog, in the form of Keep a Changelog.
        expected: The version.
        changed: When the code was last changed.
        today: Later entries are refused.
    """
    parts = re.split(r"^## ", text, flags=re.M)[1:]
    entries = {part.splitlines()[0]: "\n".join(part.splitlines()[1:]).strip() for part in parts}
    unreleased = entries.pop("[Unreleased]", "")
    faults = []
    if re.search(r"^\s*[-*] ", unreleased, flags=re.M):
        faults.append(f"[Unreleased] has entries: they belong under [{expected}] with its date")
    first = next(iter(entries), "nothing")
    dated = re.fullmatch(r"\[(.+)\] - (\d{4}-\d{2}-\d{2})", first)
    if dated is None or dated[1] != expected:
        return [*faults, f"the newest entry is {first}; expected: [{expected}] - YYYY-MM-DD"]
    try:
        date = datetime.date.fromisoformat(dated[2])
    except ValueError:
        return [*faults, f"[{expected}] has the date {dated[2]}, which does not exist"]
    if date < changed:
        faults.append(f"[{expected}] is of {date}, and the code was changed on {changed}")
    if date > today:
        faults.append(f"[{expected}] is of {date}, which has not come yet")
    if not entries[first]:
        faults.append(f"[{expected}] says nothing")
    return faults


def check(expected: str) -> None:
    """Everything that is known without building.

    Raises:
        ReleaseError: Names all that is wrong.
    """
    faults = [f"not committed: {line}" for line in call("git", "status", "--short").splitlines()]
    faults += other_versions(expected)
    last = call("git", "log", "-1", "--format=%cs", "--", "crates", *PACKAGES).strip()
    faults += stale_changelog(
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        expected,
        datetime.date.fromisoformat(last),
        datetime.datetime.now(datetime.timezone.utc).date(),
    )
    tag = f"v{expected}"
    if call("git", "tag", "--list", tag).strip() and not call(
        *("git", "tag", "--points-at", "HEAD", "--list", tag)
    ):
        faults.append(f"{tag} is the name of another commit: the version has been released")
    if faults:
        raise ReleaseError("\n".join(faults))
    call("make", "lint")


# --- Build --------------------------------------------------------------------


def unpack(archive: Path, source: Path) -> Path:
    """Unpacks an sdist; returns its directory.

    Cargo knows changed files by their times, and those in an sdist are always the same. So files
    that an earlier sdist left there stay if they are equal, and all others are of now.
    """
    with tarfile.open(archive) as opened:
        files = {one.name: opened.extractfile(one) for one in opened.getmembers() if one.isfile()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    # Cargo would find the repository's own settings above, and nobody notice that they lack.
    if not any(name.endswith("/.cargo/config.toml") for name in contents):
        raise ReleaseError(f"{archive.name} lacks .cargo/config.toml")
    for file in source.rglob("*"):
        name = str(file.relative_to(source))
        if file.is_file() and (name not in contents or file.read_bytes() != contents[name]):
            file.unlink()
    for name, content in contents.items():
        if not (source / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(content)
    return source / next(iter(contents)).split("/")[0]


def with_texts(settings: Path, own: str, unpacked: Path, target: str) -> None:
    """Leaves the licences of all that is compiled in where the wheel takes them from.

    Raises:
        ReleaseError: If a crate must not be given away, or the settings have changed.
    """
    ours = 'license-files = ["LICENSE"]'
    if ours not in own:
        raise ReleaseError(f"pyproject.toml has no line {ours}")
    try:
        text = third_party(target, unpacked)
    except LicenceError as error:
        raise ReleaseError(str(error)) from None
    (unpacked / THIRD_PARTY_FILE).write_text(text, encoding="utf-8")
    both = f'license-files = ["LICENSE", "{THIRD_PARTY_FILE}"]'
    settings.write_text(own.replace(ours, both), encoding="utf-8")


def build(out: Path, profile: str) -> None:
    """Makes the sdist, and from it the wheels.

    Args:
        out: Directory for them, which is emptied.
        profile: Cargo's.
    """
    shutil.rmtree(out, ignore_errors=True)
    programs = ROOT / "target" / "dist" / "tools" / "bin"
    if not (programs / "maturin").exists():
        say("installing maturin and Zig")
        call(sys.executable, "-m", "venv", programs.parent)
        wanted = call(sys.executable, "tools/requirements.py", "release").split()
        constraints = str(ROOT / "constraints.txt")
        call(programs / "pip", "install", "-q", *wanted, PIP_CONSTRAINT=constraints)
    call(sys.executable, "tools/stubs.py")
    say("sdist")
    call(programs / "maturin", "sdist", "--out", out)
    (archive,) = out.glob("*.tar.gz")
    unpacked = unpack(archive, ROOT / "target" / "dist" / "source")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    settings = unpacked / "pyproject.toml"
    own = settings.read_text(encoding="utf-8")
    for machine in MACHINES:
        with_texts(settings, own, unpacked, f"{machine}-unknown-linux-gnu")
        say(f"wheel for {machine} (4 minutes of processor time)")
        call(
            *(programs / "maturin", "build", "--profile", profile, "--locked", "--zig"),
            *(
                "--target",
                f"{machine}-unknown-linux-gnu",
                "--compatibility",
                PLATFORM,
                "--out",
                out,
            ),
            directory=unpacked,
            PATH=path,
            CARGO_TARGET_DIR=str(ROOT / "target"),
            CARGO_INCREMENTAL="0",
        )


# --- Trial --------------------------------------------------------------------


def check_files(wheel: Path, machine: str) -> None:
    """Checks that a wheel has all files of the package and an engine for its machine.

    Raises:
        ReleaseError: If not.
    """
    tracked = call("git", "ls-files", *PACKAGES).split()
    expected = {file.split("/", 1)[1] for file in tracked} | {"odonata/network/__init__.pyi"}
    data = call("git", "ls-files", "packaging/odonata.data").split()
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        engine = opened.read("odonata/_engine.abi3.so")
    installed = {name.split(".data/", 1)[1] for name in names if ".data/" in name}
    missing = expected - names
    missing |= {file.split(".data/", 1)[1] for file in data} - installed
    for licence in ("LICENSE", THIRD_PARTY_FILE):
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names):
            missing.add(licence)
    if missing:
        raise ReleaseError(f"{wheel.name} lacks {', '.join(sorted(missing))}")
    if int.from_bytes(engine[18:20], "little") != MACHINES[machine]:
        raise ReleaseError(f"the engine in {wheel.name} is not for {machine}")


def interpreters(given: Sequence[str]) -> dict[str, str]:
    """Pythons by version: those given, then those on the PATH, then pyenv's."""
    found: dict[str, str] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [shutil.which(f"python{one}") or "" for one in PYTHONS]
    of_pyenv = [str(file) for one in PYTHONS for file in pyenv.glob(f"{one}.*/bin/python")]
    for program in (*given, *filter(None, named), *of_pyenv):
        # pyenv's names on the PATH may be of versions that are not switched on.
        ask = "import sys; print('%d.%d' % sys.version_info[:2])"
        asked = subprocess.run([program, "-c", ask], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            found.setdefault(asked.stdout.strip(), program)
        elif program in given:
            raise ReleaseError(f"{program} is no Python")
    return {one: found[one] for one in PYTHONS if one in found}


def smoke(wheel: Path, python: str, expected: str, notebook: bool) -> None:
    """Installs a wheel into an environment of its own and uses it, far from the repository."""
    # What users have: no constraints, and none of the repository's modules.
    bare = {"PIP_CONSTRAINT": "", "PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    with tempfile.TemporaryDirectory(prefix="odonata-release-") as name:
        directory = Path(name)
        environment = directory / "environment"
        call(python, "-m", "venv", environment)
        run = environment / "bin" / "python"
        call(run, "-m", "pip", "install", "-q", wheel, directory=directory, **bare)

        def odonata(*arguments: str) -> str:
            return call(environment / "bin" / "odonata", *arguments, directory=directory, **bare)

        def need(file: str) -> None:
            if not (directory / file).is_file():
                raise ReleaseError(f"Python at {python}: there is no {file}")

        answer = odonata("--version").strip()
        if answer != f"odonata {expected}":
            raise ReleaseError(f"odonata --version prints {answer}; expected: odonata {expected}")
        for example in ("demo", "wiring", "trace", "job-log"):
            odonata("example", example)
        odonata("run", "demo.toml", "--out", "result")
        need("result/overview.png")
        odonata("report", "result", "--out", "report.html")
        need("report.html")
        odonata("topology", "describe", "wiring.toml")
        odonata("study", "kaplan2017", "--quick", "--dry-run")
        odonata("cluster", "slurm-files", "files", "--partition", "main", "--heartbeat", "beat")
        need("files/job_submit.lua")
        need("environment/share/man/man1/odonata.1")
        if notebook:
            call(run, "-m", "pip", "install", "-q", "nbclient", "ipykernel", **bare)
            book = (
                "import sys, nbclient, nbformat\n"
                "book = nbformat.read(sys.argv[1], as_version=4)\n"
                "nbclient.NotebookClient(book, timeout=600, kernel_name='python3').execute()\n"
            )
            call(run, "-c", book, NOTEBOOK, directory=directory, **bare)


def try_wheels(out: Path, expected: str, given: Sequence[str]) -> list[str]:
    """Tries all wheels; returns what was done and what was not, a line each."""
    done = []
    pythons = interpreters(given)
    for machine in MACHINES:
        wheels = list(out.glob(f"*{machine}.whl"))
        if len(wheels) != 1:
            raise ReleaseError(f"{len(wheels)} wheels for {machine} in {out}; expected: 1")
        wheel = wheels[0]
        check_files(wheel, machine)
        if machine != platform.machine():
            done.append(f"{machine}: NOT RUN, as this machine is {platform.machine()}; files whole")
            continue
        for one in PYTHONS:
            if one not in pythons:
                done.append(f"{machine}, Python {one}: NOT TRIED, as there is none here")
                continue
            notebook = one == list(pythons)[-1]
            say(f"trying {wheel.name} on Python {one}")
            smoke(wheel, pythons[one], expected, notebook)
            done.append(f"{machine}, Python {one}: works{', with a notebook' * notebook}")
    return done


def main() -> int:
    """Runs the stages; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stage", action="append", choices=STAGES, help="only this; repeatable")
    parser.add_argument("--skip-tests", action="store_true", help="RELEASE.txt says so")
    parser.add_argument("--rehearsal", action="store_true", help="build quickly, with all checks")
    parser.add_argument(
        "--python", action="append", default=[], metavar="PATH", help="to try wheels on; repeatable"
    )
    options = parser.parse_args()
    stages = options.stage or STAGES
    expected = version()
    out = ROOT / "target" / "dist" / expected
    lines = [f"Odonata {expected}, commit {call('git', 'rev-parse', 'HEAD').strip()}", ""]
    if options.rehearsal:
        lines.insert(1, "REHEARSAL: not to be given away")
    try:
        for stage in STAGES:
            if stage not in stages or (stage == "tests" and options.skip_tests):
                lines.append(f"{stage}: SKIPPED")
                continue
            say(stage)
            if stage == "checks":
                check(expected)
            elif stage == "tests":
                call("make", "test")
            elif stage == "build":
                build(out, "quick" if options.rehearsal else "release")
            else:
                lines += try_wheels(out, expected, options.python)
            lines.append(f"{stage}: done")
    except ReleaseError as fault:
        print(f"No release: {fault}", file=sys.stderr)
        return 1
    files = sorted([*out.glob("*.whl"), *out.glob("*.tar.gz")])
    for file in files:
        lines.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")
    text = "\n".join(lines) + "\n"
    if files:
        (out / "RELEASE.txt").write_text(text, encoding="utf-8")
    print(f"\n{text}\nNothing was uploaded. The files are in {out.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
