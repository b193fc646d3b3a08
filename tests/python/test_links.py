"""Nothing is written through a link that lies in the place of a file of ours."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from command import call
from odonata.errors import OutputError
from odonata.output import CLAIM_FILE, Claim, create, rewrite, subdirectory, write_file
from odonata.plots import new_figure, save
from odonata.shipped import example
from odonata.study.execution import Store as Points
from odonata_live.cluster.journal import open_journal
from odonata_live.cluster.pulse import Pulse
from odonata_live.cluster.slurm_files import write_slurm_files
from odonata_live.cluster.store import StoreFile
from odonata_live.cluster.watch import Store, Watch, write_metrics
from odonata_live.control.circuits import Connection
from odonata_live.control.drivers.recorder import Recorder
from odonata_live.control.plant import Switch
from sources import SOURCES

ROOT = Path(__file__).parents[2]

# --- The sources ----------------------------------------------------------------------

#: Where files are opened to write; measure.py runs without Odonata, streams.py opens /dev/null.
OPENS = {
    *("odonata/output.py", "odonata/cli/streams.py"),
    "odonata_live/cluster/on_nodes/measure.py",
}
#: Methods and functions that open a file by its name to write it, or change its mode.
WRITES = {
    *("write_text", "write_bytes", "touch", "chmod", "lchmod", "savetxt", "to_csv", "to_parquet"),
    *("copyfile", "copytree", "symlink_to", "hardlink_to", "NamedTemporaryFile", "mkstemp"),
    *("extractall",),
}
#: The same, of libraries by the names that they have here.
OF_LIBRARIES = {
    *(("pq", "write_table"), ("pacsv", "write_csv"), ("pc", "write_csv"), ("shutil", "copy")),
    *(("shutil", "copy2"), ("shutil", "move"), ("np", "save"), ("np", "savez")),
}
FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}


def opens_to_write(call: ast.Call) -> bool:
    """Whether a call opens a file to write, by a name of its own or of a library."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    module = of.id if isinstance(of, ast.Name) else ""
    if name in WRITES or (module, name) in OF_LIBRARIES:
        return True
    if name == "open" and module == "os":
        return any(isinstance(n, ast.Attribute) and n.attr in FLAGS for n in ast.walk(call))
    if name in ("open", "GzipFile", "BZ2File", "LZMAFile", "ZipFile", "TarFile"):
        named = [word.value for word in call.keywords if word.arg == "mode"]
        # The mode is the first argument of a path's method, the second of a function.
        at = 0 if of is not None and module not in ("gzip", "tarfile", "io", "os", "lzma") else 1
        modes = [*call.args[at : at + 1], *named]
        text = "".join(str(m.value) for m in modes if isinstance(m, ast.Constant))
        into = any(word.arg == "fileobj" for word in call.keywords)
        return bool(set(text) & set("wax+")) and not into
    return False


def test_every_file_is_opened_by_one_function() -> None:
    found = set()
    for name, path in SOURCES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and opens_to_write(node):
                found.add(name)
    assert found == OPENS
    for text in ("p.write_text(t)", "open(p, 'w')", "p.open('ab')", "os.open(p, os.O_RDWR)"):
        assert opens_to_write(ast.parse(text, mode="eval").body)  # type: ignore[arg-type]
    for text in ("open(p)", "p.open('rb')", "gzip.GzipFile('', 'wb', fileobj=f)", "copy(d)"):
        assert not opens_to_write(ast.parse(text, mode="eval").body)  # type: ignore[arg-type]


def test_rust_makes_new_files_only() -> None:
    """`create_new` follows no link; what else opens a file to write may."""
    writes = re.compile(r"File::create\(|fs::write\(|fs::copy\(|\.(truncate|append|create)\(true\)")
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        if "testdata" in path.parts or path.stem.endswith("tests") or "tests" in path.parts:
            continue
        source = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        assert not writes.search(source), path
    assert writes.search("let mut file = File::create(partial)?;")


# --- What happens ---------------------------------------------------------------------

STUDY = """\
title = "s"
[scenario.network]
family = "hyperx"
size = [2, 2]
p = 1
[[scenario.job]]
name = "a"
nodes = 4
motif = { kind = "all-to-all", message = "1 KiB" }
[[axis]]
key = "network.routing"
values = ["minimal", "valiant"]
[[measure]]
figure = "job.a.run_time_ps"
"""


class Attack:
    """A directory in which somebody puts links to a file and a directory of somebody else."""

    def __init__(self, directory: Path) -> None:
        self.here = directory / "here"
        self.here.mkdir()
        self.victim = directory / "victim"
        self.victim.write_text('{"fingerprint": "x", "name": "y", "record": {}}\nmine')
        self.victim.chmod(0o640)
        self.theirs = directory / "theirs"
        self.theirs.mkdir()
        self.before = self.state()

    def link(self, name: str, to: Path | None = None) -> None:
        path = self.here / name
        path.unlink(missing_ok=True)
        path.symlink_to(to or self.victim)

    def state(self) -> tuple[object, ...]:
        status = self.victim.stat()
        return (
            self.victim.read_bytes(),
            status.st_mode,
            status.st_mtime_ns,
            [*self.theirs.iterdir()],
        )

    def study(self) -> str:
        (self.here / "s.toml").write_text(STUDY)
        done = call("study", "s.toml", "--out", "out", directory=self.here)
        return "" if done.returncode == 0 else done.stderr


def points(attack: Attack) -> None:
    attack.link("points.jsonl")
    with pytest.raises(OutputError, match=r"points\.jsonl is a link"):
        Points(attack.here / "points.jsonl")


def claimed(attack: Attack) -> None:
    attack.link(CLAIM_FILE)
    with pytest.raises(OutputError, match="is a link; remove it"):
        Claim(attack.here)


def partial_directory(attack: Attack) -> None:
    attack.link(".results.partial", attack.theirs)
    with Claim(attack.here) as claim, claim.adding() as partial:
        write_file(partial / "a", "ours")
    assert (attack.here / "a").read_text() == "ours"


def partial_directory_swapped(attack: Attack) -> None:
    """Somebody is faster: what was written before is what appears, and nothing of theirs moves."""
    with Claim(attack.here) as claim, claim.adding() as partial:
        write_file(partial / "a", "ours")
        partial.rename(attack.here / "aside")
        attack.link(".results.partial", attack.theirs)
    assert (attack.here / "a").read_text() == "ours"


def result_files(attack: Attack) -> None:
    """Links of names that results get are replaced, and moved aside as links."""
    attack.link("a")
    with Claim(attack.here, goes_on="a") as claim, claim.updating() as partial:
        write_file(partial / "b", "ours")
    attack.link("b")
    with (
        Claim(attack.here, goes_on="a") as claim,
        claim.updating(notice=lambda _: None) as partial,
    ):
        write_file(partial / "b", "ours again")
    assert (attack.here / "b").read_text() == "ours again"
    assert not (attack.here / "b").is_symlink()


def files(attack: Attack) -> None:
    attack.link("a")
    with pytest.raises(FileExistsError):
        create(attack.here / "a")
    attack.link(".b.partial")
    attack.link("b")
    rewrite(attack.here / "b", "ours", permissions=0o755)
    assert (attack.here / "b").read_text() == "ours"
    os.mkfifo(attack.here / "pipe")
    with pytest.raises(OutputError, match="pipe is no file"):
        Points(attack.here / "pipe")


def folders(attack: Attack) -> None:
    attack.link("ring", attack.theirs)
    with pytest.raises(OutputError):
        example("otf2", attack.here)
    with pytest.raises(OSError, match="no directory"):
        subdirectory(attack.here, "ring")


def slurm_files(attack: Attack) -> None:
    for name in ("job_submit.lua", "leave-waiting-jobs.sh", ".job_submit.lua.partial"):
        attack.link(name)
    for path in write_slurm_files(attack.here, Path("/run/beat"), ["main"], 60):
        assert not path.is_symlink()


def daemons(attack: Attack) -> None:
    for name in ("beat", ".beat.partial", "metrics", ".metrics.partial"):
        attack.link(name)
    Pulse(attack.here / "beat", 3.0).beat(5.0)
    write_metrics(attack.here / "metrics", {"error": None})
    assert (attack.here / "beat").stat().st_mode & 0o777 == 0o644


def locks(attack: Attack) -> None:
    attack.link(".b.sqlite.lock")
    with pytest.raises(OutputError, match="is a link"):
        Watch().run(attack.here / "b.sqlite", stop=lambda _: True)


@pytest.mark.parametrize("make", [open_journal, lambda path: Store(path, create=True)])
def test_stores_are_no_links_and_nobody_elses(
    tmp_path: Path, make: Callable[[Path], StoreFile]
) -> None:
    attack = Attack(tmp_path)
    attack.link("store")
    with pytest.raises(OutputError, match="is a link"):
        make(attack.here / "store")
    attack.link("none", tmp_path / "none")
    with pytest.raises(OutputError, match="is a link"):
        make(attack.here / "none")
    assert attack.state() == attack.before and not (tmp_path / "none").exists()
    make(attack.here / "new").close()
    for path in attack.here.glob("new*"):
        assert path.stat().st_mode & 0o777 == 0o600


def switches(attack: Attack) -> None:
    switch = Switch("s", "recorder", 4, 4, {})
    for name in ("s.json", ".s.json.partial"):
        attack.link(name)
    attack.link("s.json", attack.here / "none")
    Recorder(attack.here).make(switch, [Connection(1, 2, 1)])
    assert not (attack.here / "none").exists()


def pictures(attack: Attack) -> None:
    attack.link("a.png")
    save(new_figure(2, 2), attack.here / "a.png")
    assert not (attack.here / "a.png").is_symlink()


def whole_studies(attack: Attack) -> None:
    """Each file that a study leaves is a link in turn."""
    assert attack.study() == ""
    out = attack.here / "out"
    names = sorted(path.name for path in out.iterdir())
    assert {"points.jsonl", "dataset.parquet", "study.toml"} <= set(names)
    for name in names:
        attack.link(f"out/{name}")
        said = attack.study()
        assert attack.state() == attack.before, name
        assert ("is a link" in said) == (name == "points.jsonl"), (name, said)
        if (out / name).is_symlink():
            (out / name).unlink()


ATTACKS = [
    *(points, claimed, partial_directory, partial_directory_swapped, result_files, files),
    *(folders, slurm_files, daemons, locks, switches, pictures, whole_studies),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_what_a_link_leads_to_stays_as_it_was(
    tmp_path: Path, attack: Callable[[Attack], None]
) -> None:
    somebody = Attack(tmp_path)
    attack(somebody)
    assert somebody.state() == somebody.before
