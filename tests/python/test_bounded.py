"""Files that would take all memory or never end are refused, by every reader, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import call
from odonata import bounded
from odonata.errors import MachineError
from odonata.machines.background import read_jobs
from odonata.machines.measurements import read_measurements

ALL: Callable[[str], bool] = lambda _: True  # noqa: E731


class Zeros(io.RawIOBase):
    """A file of zeros, for archives that hold more than memory does."""

    def read(self, size: int = -1) -> bytes:
        return bytes(size)


def archive(path: Path, *files: tuple[str, bytes | int]) -> Path:
    """A tar archive, compressed as its name says, of texts or so many zeros."""
    with tarfile.open(path, "w:" + path.suffix[1:].replace("tar", "")) as written:
        for name, content in files:
            member = tarfile.TarInfo(name)
            zeros = isinstance(content, int)
            member.size = content if zeros else len(content)
            written.addfile(member, Zeros() if zeros else io.BytesIO(content))
    return path


def block(name: str, size: int, kind: bytes) -> bytes:
    """The header of a member, whatever follows it."""
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tar.xz", "tar.bz2"])
def test_archives_of_all_kinds_are_read(tmp_path: Path, ending: str) -> None:
    long = "a/" * 120 + "long.txt"
    files = [("1.txt", b"n0\nn1\n"), ("._1.txt", b"of a Mac"), (long, b"x" * 100_000)]
    path = archive(tmp_path / f"a.{ending}", *files)
    assert list(bounded.members(path, ALL)) == [files[0], files[2]]
    assert list(bounded.members(path, lambda name: name == "1.txt")) == [files[0]]
    assert bounded.is_archive(path)
    text = tmp_path / "text"
    text.write_text("n[0-3]\n")
    assert not bounded.is_archive(text)


def refused(path: Path) -> str:
    with pytest.raises(MachineError) as error:
        list(bounded.members(path, ALL, MachineError))
    message = str(error.value)
    assert str(path) in message
    return message


def test_large_files_in_an_archive_are_refused(tmp_path: Path) -> None:
    most = bounded.MOST_MEMBER_BYTES
    assert "big in it is larger than 64 MiB" in refused(
        archive(tmp_path / "one.tar.gz", ("big", most + 1))
    )
    # What is not read may be as large as the whole may be.
    with_other = archive(tmp_path / "other.tar.gz", ("big", most // 2), ("1.txt", b"n0"))
    assert list(bounded.members(with_other, lambda name: name == "1.txt")) == [("1.txt", b"n0")]
    together = archive(tmp_path / "all.tar", *((str(n), most) for n in range(5)))
    assert "larger than 256 MiB; split it" in refused(together)


@pytest.mark.parametrize(
    "compress",
    [gzip.compress, partial(lzma.compress, preset=0), partial(bz2.compress, compresslevel=1)],
)
def test_what_an_archive_unpacks_to_has_an_end(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "zeros"
    skipped = block("zeros", 65 << 20, b"0") + bytes(65 << 20)
    path.write_bytes(compress(skipped))
    with pytest.raises(MachineError, match="it holds more than 64 MiB, the most that is read"):
        list(bounded.members(path, lambda _: False, MachineError))


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        # Names and extended headers, which tarfile reads into memory as large as they say.
        (b"L", bytes(70 << 20)),
        (b"x", b"30 comment=" + b"a" * (70 << 20)),
        (b"g", b"30 comment=" + b"a" * (2 << 20)),
    ],
)
def test_what_describes_a_file_is_limited(tmp_path: Path, kind: bytes, content: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(block("header", len(content), kind) + content)
    assert "what describes a file in it is larger than 1 MiB" in refused(path)


def test_maps_of_holes_are_limited(tmp_path: Path) -> None:
    """A sparse file of format 1.0 has its map, as long as it says, before what it holds."""
    records = b"".join(
        b"%d %s\n" % (len(text) + 4, text)
        for text in (b"GNU.sparse.major=1", b"GNU.sparse.minor=0", b"GNU.sparse.name=a")
    )
    numbers = b"1000000000\n" + b"0\n" * (1 << 20)
    blocks = block("p", len(records), b"x") + records.ljust(-(-len(records) // 512) * 512, b"\0")
    path = tmp_path / "sparse.tar"
    path.write_bytes(blocks + block("a", len(numbers), b"0") + numbers)
    assert "what describes a file in it is larger than 1 MiB" in refused(path)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    whole = archive(tmp_path / "a.tar.gz", ("1.txt", os.urandom(3000)))
    for length in (0, 5, 300, whole.stat().st_size // 2):
        path = tmp_path / "cut"
        path.write_bytes(whole.read_bytes()[:length])
        assert "cannot be read" in refused(path)
    # One that ends before the first file does: looking whether it is an archive reads so far.
    cut = tmp_path / "cut.tar.bz2"
    cut.write_bytes(bz2.compress(os.urandom(3_000))[:100])
    for read in (bounded.is_archive, lambda path, error: [*bounded.members(path, bool, error)]):
        with pytest.raises(MachineError, match=r"cut\.tar\.bz2: cannot be read: it is damaged"):
            read(cut, MachineError)


def test_the_commands_that_read_archives_say_what_is_too_large(tmp_path: Path) -> None:
    big = ("run/0/4_ring_int32.csv", bounded.MOST_MEMBER_BYTES + 1)
    with pytest.raises(MachineError, match=r"4_ring_int32.csv in it is larger than 64 MiB"):
        read_measurements([archive(tmp_path / "m.tar.gz", big)])
    jobs = archive(tmp_path / "jobs.tar.gz", ("1.txt", bounded.MOST_MEMBER_BYTES + 1))
    with pytest.raises(MachineError, match=r"1.txt in it is larger than 64 MiB"):
        read_jobs(jobs, {"n0": 0, "n1": 1})


def test_texts_are_read_as_they_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffä\r\nb\rc".encode())
    assert bounded.read_text(path) == "ä\nb\nc"
    path.write_bytes(gzip.compress(b"packed"))
    assert bounded.read_text(path) == "packed"
    path.write_bytes(b"a\xff")
    assert bounded.read_text(path, errors="replace") == "a\ufffd"
    with pytest.raises(MachineError, match="text: cannot be read: byte 1 is not UTF-8"):
        bounded.read_text(path, MachineError)
    path.write_bytes("a".encode("utf-16"))
    with pytest.raises(MachineError, match="text in UTF-16"):
        bounded.read_text(path, MachineError)
    path.write_text("[" * 100_000)
    with pytest.raises(MachineError, match="nested too deeply"):
        bounded.read_json(path, MachineError)
    with pytest.raises(FileNotFoundError):
        bounded.read_bytes(tmp_path / "none")


def test_tables_say_first_how_large_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    zeros = pa.nulls(1 << 20, pa.int64())
    pq.write_table(pa.table(dict.fromkeys("abcde", zeros)), path)
    assert bounded.read_parquet(path).num_columns == 5
    # Eight bytes for each of its numbers.
    monkeypatch.setattr(bounded, "_MOST_TABLE_BYTES", (5 * 8 << 20) - 1)
    monkeypatch.setattr(bounded, "_MOST_TABLE_TIMES", 1)
    with pytest.raises(OSError, match="1,048,576 rows of 5 columns"):
        bounded.read_parquet(path)
    assert bounded.read_parquet(path, ["a"]).num_rows == len(zeros)


def test_rows_of_texts_are_read_or_refused() -> None:
    rows = bounded.csv_rows('a,b\n\n"1\n2",3\n', "t.csv", MachineError)
    assert list(rows) == [(1, ["a", "b"]), (4, ["1\n2", "3"])]
    with pytest.raises(MachineError, match=r"t.csv: line 1: field larger"):
        list(bounded.csv_rows("x" * 200_000, "t.csv", MachineError))


DEVICE = "/dev/zero"
NETWORK = '[network]\nfamily = "dragonfly"\np = 2\na = 4\nh = 2\n'
IN_SCENARIO = {
    "matrix": f'{NETWORK}[[job]]\nmotif = {{ kind = "matrix", file = "{DEVICE}" }}\n',
    "traffic": f'{NETWORK}[[job]]\nnodes = 4\ntraffic = {{ pattern = "uniform-random", load = 0.5, '
    f'message = "1 kB" }}\n[[job]]\nmotif = {{ kind = "matrix", file = "{DEVICE}" }}\n',
    "trace": f'{NETWORK}[[job]]\nmotif = {{ kind = "trace", file = "{DEVICE}" }}\n',
    "phases": f'{NETWORK}[[job]]\nnodes = 4\nmotif = {{ kind = "phases", file = "{DEVICE}" }}\n',
    "mapping": f"{NETWORK}[[job]]\nnodes = 4\n"
    f'motif = {{ kind = "all-to-all", message = "1 kB" }}\nmapping = {{ file = "{DEVICE}" }}\n',
    **{
        family: f'[network]\nfamily = "{family}"\nfile = "{DEVICE}"\n'
        for family in ("graphml", "edge-list", "ibnetdiscover", "cray-xc-file")
    },
}
COMMANDS = [
    *(
        f"{command} {DEVICE}"
        for command in (
            *("run", "show", "report", "ranks", "study", "verify", "tails", "mapping", "export"),
            *("measurements", "schedule", "replay", "saturation", "interference"),
            *("topology describe", "trace show", "log describe", "control routes"),
        )
    ),
    f"compare {DEVICE} {DEVICE}",
    f"sweep {DEVICE} --set network.p=1,2",
    f"topology export {DEVICE} --out x.graphml",
    f"log convert {DEVICE} o.swf",
    f"cluster utilisation --squeue {DEVICE} --nodes 10",
    f"cluster utilisation --squeue empty --sinfo {DEVICE}",
    f"cluster utilisation --squeue empty --nodes 10 --topology {DEVICE}",
    f"cluster utilisation --squeue empty --nodes 10 --communication {DEVICE}",
    f"cluster show --squeue empty --sinfo {DEVICE}",
    f"predict-collective MACHINE --hosts {DEVICE} --collective allreduce --bytes 8",
    "predict-collective MACHINE --hosts hosts --collective allreduce --algorithm ring --bytes 8 "
    f"--background {DEVICE}",
    f"calibrate MACHINE --measurements {DEVICE}",
    f"slurm log.swf --conf {DEVICE}",
    *(f"topology describe {name}.toml" for name in IN_SCENARIO if "-" in name or name == "graphml"),
    *(f"run {name}.toml" for name in ("matrix", "trace", "phases", "mapping")),
    "saturation traffic.toml",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_inputs_without_end_are_refused_by_every_command(line: str, tmp_path: Path) -> None:
    for name, text in IN_SCENARIO.items():
        (tmp_path / f"{name}.toml").write_text(text)
    (tmp_path / "empty").touch()
    (tmp_path / "hosts").write_text("lrdn0001\nlrdn0002\n")
    (tmp_path / "log.swf").write_text("1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n")
    machine = Path(__file__).parents[2] / "examples/machines/leonardo.toml"
    arguments = line.replace("MACHINE", str(machine)).split()
    code, _, error = call(*arguments, directory=tmp_path)
    assert code in (2, 4), error
    # By its name, or as the directory of results that it is not.
    assert re.search(rf'{DEVICE}(/result\.json)?:|"{DEVICE}"', error), error


def test_a_pipe_without_end_is_refused(tmp_path: Path) -> None:
    program = "import odonata.cli, sys; odonata.cli.main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "cluster", "utilisation", "--nodes", "10"]
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = subprocess.run(
            [*command, "--squeue", "-"], stdin=endless.stdout, capture_output=True, check=False
        )
        endless.kill()
    assert done.returncode == 2
    assert b"more than 256 MiB" in done.stderr
