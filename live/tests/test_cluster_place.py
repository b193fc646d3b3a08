"""Placement on a cluster in use, without one: constraints, submissions, files, the journal."""

import os
import shutil
import sqlite3
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odonata._engine import ClusterPlacement, SpecError, cluster_policies
from odonata.errors import ClusterError
from odonata_live.cli.cluster_place import MODES, POLICIES
from odonata_live.cluster import commands, constraints, jobs, journal, model, submitting
from odonata_live.cluster.slurm_files import SHIPPED, job_submit_lua
from odonata_live.cluster.submitting import is_alive, to_be_placed

# --- The engine -----------------------------------------------------------------------


def test_policies_are_the_engines() -> None:
    assert tuple(name for name, _ in cluster_policies()) == POLICIES
    for policy in POLICIES:
        ClusterPlacement([0, 0], [0], policy)
    for mode in MODES:
        ClusterPlacement([0, 0], [0], "grap", mode)
    with pytest.raises(SpecError, match="grap, contiguous"):
        ClusterPlacement([0, 0], [0], "best")
    with pytest.raises(SpecError, match="router 3"):
        ClusterPlacement([0, 3], [0])


# --- Constraints ----------------------------------------------------------------------

MACHINE = model.Machine(
    {
        f"n{i}": model.Node(f"n{i}", "IDLE", features=frozenset({"fat"} if i < 4 else {"thin"}))
        for i in range(8)
    },
    {
        "main": model.Partition("main", tuple(f"n{i}" for i in range(8)), exclusive=True),
        "shared": model.Partition("shared", ("n0", "n1"), time_limit_s=600),
        "down": model.Partition("down", ("n0",), is_up=False, exclusive=True),
    },
)
JOB = jobs.Job("7", 7, "PENDING", partitions=("main",), count=2, most=2)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": "7+0"}, "heterogeneous"),
        ({"id": "7_[0-9%2]"}, "tasks of its array"),
        ({"required": ("n1", "n2")}, "names nodes"),
        ({"reservation": "r"}, "reservation r"),
        ({"gres": "gpu:1"}, "gpu:1"),
        ({"most": 4}, "2 to 4 nodes"),
        ({"partitions": ("main", "shared")}, "several partitions"),
        ({"partitions": ("shared",)}, "shares nodes"),
        ({"partitions": ("shared",), "exclusive": True, "limit_s": 601}, "time limit"),
        ({"partitions": ("gone",)}, "not known"),
    ],
)
def test_what_is_left_to_slurm(changes: dict[str, object], why: str) -> None:
    with pytest.raises(constraints.LeftToSlurm, match=why):
        constraints.partition_of(replace(JOB, **changes), MACHINE, whole_nodes=False)


def test_what_is_placed() -> None:
    assert constraints.partition_of(JOB, MACHINE, whole_nodes=False).name == "main"
    shared = replace(JOB, partitions=("shared",))
    assert constraints.partition_of(shared, MACHINE, whole_nodes=True).name == "shared"
    assert constraints.limit_s(shared, MACHINE.partitions["shared"]) == 600
    with pytest.raises(constraints.NotYet, match="down"):
        down = replace(JOB, partitions=("down",))
        constraints.partition_of(down, MACHINE, whole_nodes=False)


def test_nodes_that_a_job_may_have() -> None:
    numbers = {f"n{i}": i for i in range(8)}
    main = MACHINE.partitions["main"]

    def may(**changes: object) -> set[int]:
        return set(constraints.may_have(replace(JOB, **changes), main, MACHINE, numbers))

    assert may() == set(range(8))
    assert may(features="fat", excluded=("n0",)) == {1, 2, 3}
    assert may(features="fat|thin") == set(range(8))
    for features in ("fat&thin", "[rack1*2]", "fat&thin|x", "fat*2"):
        with pytest.raises(constraints.LeftToSlurm):
            may(features=features)


@pytest.mark.parametrize(
    ("dependency", "states", "outcome"),
    [
        ("", {}, None),
        ("afterany:3(unfulfilled)", {"3": "RUNNING"}, constraints.NotYet),
        ("afterany:3(unfulfilled)", {"3": "FAILED"}, None),
        ("afterany:3(unfulfilled)", {}, None),
        ("afterok:3(unfulfilled)", {"3": "COMPLETED"}, None),
        ("afterok:3(unfulfilled)", {"3": "FAILED"}, constraints.LeftToSlurm),
        ("afterok:3(unfulfilled)", {}, constraints.LeftToSlurm),
        (
            "afterok:3(unfulfilled),afterany:4",
            {"3": "COMPLETED", "4": "PENDING"},
            constraints.NotYet,
        ),
        ("afternotok:3", {"3": "TIMEOUT"}, None),
        ("after:3(unfulfilled)", {"3": "RUNNING"}, None),
        ("singleton(unfulfilled)", {}, constraints.LeftToSlurm),
        ("afterok:3?afterok:4", {"3": "COMPLETED"}, constraints.LeftToSlurm),
    ],
)
def test_dependencies(
    dependency: str, states: dict[str, str], outcome: type[Exception] | None
) -> None:
    job = replace(JOB, dependency=dependency)
    if outcome is None:
        constraints.check_dependency(job, states.get)
    else:
        with pytest.raises(outcome):
            constraints.check_dependency(job, states.get)


# --- Commands: no text of users gets into them -----------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.text(min_size=1), st.lists(st.text(min_size=1), min_size=1))
def test_commands_hold_ids_and_names_alone(job: str, nodes: list[str]) -> None:
    for make in (
        lambda: commands.pin(job, ["n1"]),
        lambda: commands.pin("1", nodes),
        lambda: commands.begin(job),
        lambda: commands.withdraw(job),
        lambda: "\n".join(commands.leave(job, pinned=True, refused=True)),
    ):
        try:
            text = make()
        except ClusterError:
            continue
        assert (text.isascii() and text.isprintable()) or text.count("\n") == 1
        assert not set(text) & set("\"';`$\\|&<>(){}")


# --- Submissions ----------------------------------------------------------------------

WAITS = (f"--begin=uts{jobs.UNTIL_PLACED_S}", f"--comment={submitting.MARK}")
BEGIN, MARK = WAITS


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (["job.sh", "-w", "x"], [*WAITS, "job.sh", "-w", "x"]),
        (["-N", "3", "--wrap", "sleep 1"], ["-N", "3", "--wrap", "sleep 1", *WAITS]),
        (["--comment=a;b", "job.sh"], [BEGIN, f"{MARK} a;b", "job.sh"]),
        (["--comment", "it's", "-N3"], ["-N3", BEGIN, f"{MARK} it's"]),
        (["--array=0-3", "--parsable", "x"], ["--array=0-3", "--parsable", *WAITS, "x"]),
        (["-Q", "x"], ["-Q", *WAITS, "x"]),
    ],
)
def test_arguments_of_held_jobs(given_: list[str], expected: list[str]) -> None:
    assert to_be_placed(given_) == (expected, None)


@pytest.mark.parametrize(
    "given_",
    [
        *(["-w", "n1", "x"], ["-wn1", "x"], ["--nodelist=n1", "x"], ["-H", "x"], ["-QH", "x"]),
        *(["--hold"], ["-b", "now+1hour", "x"], ["--array=0-9%2", "x"], ["-a", "0-9%2", "x"]),
        *(["-N1", ":", "-N2", "x"], ["--reservation=r", "x"], ["--deadline=now+1hour", "x"]),
    ],
)
def test_arguments_that_are_slurms(given_: list[str]) -> None:
    arguments, why = to_be_placed(given_)
    assert arguments == given_
    assert why is not None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("#SBATCH -N2", None),
        ("#SBATCH --hold", "held"),
        ("#SBATCH -N2 -w n3 # there", "names nodes"),
        ("#SBATCH --array=0-9%2", "array"),
        ("#SBATCH hetjob", "heterogeneous"),
        ("echo\n#SBATCH --hold", None),
        ('#SBATCH --comment="a b"', None),
    ],
)
def test_options_in_scripts_count(line: str, why: str | None) -> None:
    script = f"#!/bin/sh\n# a job\n{line}\nsleep 1\n"
    arguments, answer = to_be_placed(["-N1", "job.sh"], {"job.sh": script}.get)
    assert (answer is None) == (why is None) and (why or "") in (answer or "")
    if "comment" in line:
        assert arguments == ["-N1", BEGIN, f"{MARK} a b", "job.sh"]
    # With --wrap there is no script.
    assert to_be_placed(["--wrap", "x", "job.sh"], {"job.sh": script}.get)[1] is None


def test_heartbeats(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    assert not is_alive(beat, 60)
    for text, alive in (
        ("1000\n", True),
        ("939", False),
        ("1061", False),
        ("x", False),
        ("", False),
    ):
        beat.write_text(text)
        assert is_alive(beat, 60, 1000) is alive


def fake(directory: Path, name: str, script: str) -> None:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_submit_is_sbatch(tmp_path: Path) -> None:
    """Arguments reach sbatch as they are, letter by letter; its code and output are ours."""
    fake(tmp_path / "bin", "sbatch", 'printf "%s\\0" "$@"; exit 17')
    words = ["-N2", "--job-name=a'b\";$(touch x)\n`y`", "--wrap", "echo ; rm -rf 'q'"]
    import sys

    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import odonata.cli; odonata.cli.main()",
            "cluster",
            "submit",
            *words,
        ],
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 17
    assert run.stdout.split("\0")[:-1] == [*words, *WAITS]
    assert not (tmp_path / "x").exists()


# --- The watchdog ---------------------------------------------------------------------

WATCHDOG = SHIPPED / "leave-waiting-jobs.sh"


def watch(tmp_path: Path, beat: str | None, queue: str) -> list[str]:
    # As many letters of a comment as are asked for.
    line = 'case "$*" in *k*) cut -c 1-{} ;; *) sed "s/|[^|]*|[^|]*$/|./" ;; esac'
    fake(tmp_path / "bin", "squeue", f"cat {tmp_path}/queue | {line.format(60)}")
    fake(tmp_path / "bin", "scontrol", f"cat >> {tmp_path}/asked")
    fake(tmp_path / "bin", "logger", "exit 1")
    (tmp_path / "queue").write_text(queue)
    (tmp_path / "asked").write_text("")
    heart = tmp_path / "a b"
    heart.unlink(missing_ok=True)
    if beat is not None:
        heart.write_text(beat)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    subprocess.run([WATCHDOG, str(heart), "60"], env=environment, check=True)
    return (tmp_path / "asked").read_text().splitlines()


#: Job, begin time, nodes, comment. Who holds a job is not asked: a hold stays.
QUEUE = (
    "10|BEGIN||odonata-place\n2|BEGIN|n[1-2]|odonata-place\n3|N/A|n3|odonata-place\n"
    "4|N/A||odonata-place\n5|BEGIN||somebody's\n6|1900000000||odonata-place\n7|BEGIN|n1|\n"
    "8|N/A|n1|odonata-plac\n;reboot|BEGIN||odonata-place\n$(x)|BEGIN||odonata-place\n"
).replace("BEGIN", str(jobs.UNTIL_PLACED_S))
#: Nodes are taken from whom bears the mark; who waits to be placed may begin.
RELEASED = [
    *(f"update jobid={job} ReqNodeList=" for job in (10, 2, 3)),
    *(f"update jobid={job} StartTime=now" for job in (10, 2, 5, 7)),
]


def test_watchdog_releases_what_is_ours_alone(tmp_path: Path) -> None:
    now = int(time.time())
    assert watch(tmp_path, str(now), QUEUE) == []
    for beat in (None, str(now - 100), "", "soon", str(now + 1000)):
        assert watch(tmp_path, beat, QUEUE) == RELEASED, beat
    assert watch(tmp_path, None, "") == []


def test_watchdog_says_when_it_cannot(tmp_path: Path) -> None:
    fake(tmp_path / "bin", "squeue", "exit 1")
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for arguments, code in (([str(tmp_path / "none")], 1), ([str(tmp_path), "x"], 2)):
        run = subprocess.run(
            [WATCHDOG, *arguments], env=environment, capture_output=True, check=False
        )
        assert run.returncode == code
        assert run.stderr


def test_lua_is_written_for_a_site() -> None:
    text = job_submit_lua(Path("/run/beat"), ["main", "long-jobs"], 90)
    assert '{ ["main"] = true, ["long-jobs"] = true }' in text
    assert '"/run/beat"' in text
    assert "local seconds = 90" in text
    with pytest.raises(ClusterError, match="letters"):
        job_submit_lua(Path("/x"), ['"] = os.execute("id") --'], 90)


@pytest.mark.skipif(
    not any(map(shutil.which, ("lua", "lua5.4", "lua5.3"))), reason="needs a Lua interpreter"
)
def test_lua_holds_whom_it_should(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    (tmp_path / "job_submit.lua").write_text(job_submit_lua(beat, ["main"], 60))
    harness = (
        "slurm = { SUCCESS = 0 }\ndofile('job_submit.lua')\n"
        "local list = { main = { flag_default = 1 }, other = { flag_default = 0 } }\n"
        "local function try(job) slurm_job_submit(job, list, 0)\n"
        "print(job.priority, job.begin_time, job.comment) end\n"
        "try({ partition = 'main', priority = 4294967294 })\n"
        "try({ comment = 'mine' })\n"
        "try({ partition = 'other' })\n"
        "try({ partition = 'main', req_nodes = 'n1' })\n"
        "try({ partition = 'main', array_inx = '0-9%2' })\n"
    )
    (tmp_path / "try.lua").write_text(harness)
    lua = next(filter(None, map(shutil.which, ("lua", "lua5.4", "lua5.3"))))

    def run() -> list[str]:
        done = subprocess.run(
            [lua, "try.lua"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    assert run()[0] == "4294967294\tnil\tnil"
    beat.write_text(f"{int(time.time())}\n")
    begin = jobs.UNTIL_PLACED_S
    assert run() == [
        f"4294967294\t{begin}\todonata-place",
        f"nil\t{begin}\todonata-place mine",
        *["nil\tnil\tnil"] * 3,
    ]


# --- The journal ----------------------------------------------------------------------


def test_journal_keeps_what_was_decided(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    kept = journal.open_journal(path)
    (one, other) = kept.decide(
        [("1", ["n0", "n1"], ["g0"], 60_000, False), ("2", ["n2"], [], 1000, True)], "grap", 10
    )
    kept.keep_waits([("3", 99, "why")], 10)
    kept.keep_waits([("3", 98, "still")], 20)
    kept.change([one], journal.RUNNING, 15, got=["n0", "n1"])
    kept.close()
    kept = journal.open_journal(path)
    found = kept.decisions(states=journal.OPEN)
    assert [(one.job, one.state, one.got) for one in found] == [
        ("1", "running", ("n0", "n1")),
        ("2", "decided", None),
    ]
    assert found[1] == other
    assert kept.waits() == [journal.Wait("3", 10, 20, 98, "still")]
    kept.forget(1 << 50)
    assert len(kept.decisions()) == 2
    kept.close()


@pytest.mark.parametrize("damage", ["cut", "zeros", "text"])
def test_damaged_journals_are_put_aside(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "journal"
    kept = journal.open_journal(path)
    for job in range(200):
        kept.decide([(str(job), ["n0"] * 20, [], 1, False)], "grap", job)
    kept.close()
    size = path.stat().st_size
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: size // 2 + 100]
    elif damage == "zeros":
        content[4096 : size - 4096] = bytes(size - 2 * 4096)
    else:
        content = bytearray(b"not a database " * 1000)
    path.write_bytes(content)
    said: list[str] = []
    fresh = journal.open_journal(path, said.append)
    assert fresh.decisions() == []
    fresh.close()
    assert "put aside" in said[0]
    assert len(list(tmp_path.glob("journal.damaged-*"))) == 1


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    kept = journal.open_journal(tmp_path / "journal")
    kept.decide([("1", ["n0"], [], 1, False)], "grap", 1)
    kept._db.execute("PRAGMA max_page_count = 12")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for _ in range(1000):
            kept.decide([("2", ["n" * 500], [], 1, False)] * 10, "grap", 2)
    assert len(kept.decisions()) % 10 == 1
    kept.close()
