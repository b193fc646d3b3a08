"""No text of others is a command to the terminal, whichever command prints it."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from command import Done, call
from odonata.progress import Lines, PredictionsBar, StudyBar
from odonata.terminal import _kind, clean, clean_json, terminal
from odonata_live.cluster.journal import Journal
from odonata_live.cluster.watch import Store
from sources import SOURCES

#: Colours, a window's title, bells, the same in one letter, overwriting, text that runs the other
#: way, and markup of ours.
NAME = "\x1b[31mred\x1b]0;pwn\x07\x9b5m\x00\b\r\u202edet[/b][link=x]"
#: What must not come out but for tabs and ends of lines.
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SHOWN = r"\x1b[31mred\x1b]0;pwn\x07\x9b5m\x00\x08\x0d\u202edet[/b][link=x]"


def test_what_a_terminal_would_obey_is_in_letters() -> None:
    assert clean(NAME) == SHOWN
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x3000))))
    assert not COMMANDS.search(clean(every))
    # What people write stays as it is.
    for text in ("a\tb\n", "Größe – 5 µs × 2 → naïve", "日本語", "\N{FAMILY}\u200d\N{GIRL}"):
        assert clean(text) == text
    # JSON means what it did, whatever the terminal.
    written = json.dumps({NAME: every}, ensure_ascii=False)
    assert not COMMANDS.search(clean_json(written))
    assert json.loads(clean_json(written)) == {NAME: every}


@pytest.mark.parametrize("colour", [False, True])
def test_tables_titles_texts_and_bars(colour: bool) -> None:
    out = io.StringIO()
    console = _kind()(
        file=out, force_terminal=colour, width=300, highlight=False, legacy_windows=False
    )
    table = Table(title=escape(NAME))
    table.add_column(escape(NAME))
    table.add_row(escape(NAME))
    table.add_row(Text(NAME))
    console.print(table)
    console.print(NAME, markup=False)
    console.print(f"[bold]{escape(NAME)}[/]")
    console.print(Text(NAME, style="red"))
    with StudyBar(console, NAME) as bar:
        bar(0.5, 3)
    with PredictionsBar(console) as bar:
        bar(1, 3, NAME)
    console.print("half", end="\r")
    printed = out.getvalue()
    # A line to be overwritten, and commands of rich's own: colours, the cursor, erasing.
    own = re.sub(r"\x1b\[[\d;?]*[A-Za-z]|half\r|\r", "", printed)
    assert not COMMANDS.search(own)
    assert "\x1b]0" not in printed and "\x1b[31mred" not in printed
    # Rich leaves some characters out of texts, itself.
    assert own.count(r"\x1b[31mred\x1b]0;pwn") >= (9 if colour else 7)


def test_all_that_is_printed_goes_through_one_module() -> None:
    """`sys.stdout.write` of JSON beside it, and what nodes without Odonata say to each other."""
    found = set()
    for name, path in SOURCES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in ("print", "click.echo", "click.secho", "Console", "rich.print") or (
                called.startswith(("sys.stdout.write", "sys.stderr.write", "sys.__std"))
            ):
                found.add(f"{name}: {called}")
    assert found == {
        "odonata/terminal.py: click.echo",
        "odonata/cli/shared.py: sys.stdout.write",
        "odonata/cli/streams.py: print",
        "odonata_live/cluster/on_nodes/measure.py: print",
    }


# --- Commands -------------------------------------------------------------------------

QUOTED = json.dumps(NAME.replace("\0", ""))
SCENARIO = f"""\
title = {QUOTED}
[network]
family = "dragonfly"
p = 1
a = 2
h = 1
[record]
rank_activity = true
messages = "all"
[[job]]
name = {QUOTED}
nodes = 4
motif = {{ kind = "all-to-all", message = "1 KiB" }}
[[job]]
name = "b"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""
STUDY = f"""\
title = {QUOTED}
base = "s.toml"
[[axis]]
key = "network.routing"
values = ["minimal", "valiant"]
[[measure]]
figure = "job.b.run_time_ps"
name = "time"
"""
#: Without what file names cannot hold.
FILE = NAME.replace("\0", "").replace("/", "") + ".swf"


def test_where_no_bar_can_be_a_line_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    out = io.StringIO()
    lines = Lines(Console(file=out, width=40), "Simulating")
    # A resumed run begins in the middle.
    for later, share in ((0, 0.5), (10, 0.55), (31, 0.6), (40, 0.62), (62, 0.7)):
        now = 1000.0 + later
        lines(share)
    # 0.1 in 31 s: 0.4 in 124 s; 0.2 in 62 s: 0.3 in 93 s.
    assert out.getvalue().splitlines() == [
        "Simulating: 60.0 % done, about 2 min 04 s left",
        "Simulating: 70.0 % done, about 1 min 33 s left",
    ]
    terminal = io.StringIO()
    drawn = Lines(Console(file=terminal, force_terminal=True), "Simulating")
    now += 100
    drawn(0.9)
    assert terminal.getvalue() == ""


#: A log of one job: number, submission, wait, run time, size …
LOG = "; MaxNodes: 8\n1 0 5 60 4 -1 -1 4 90 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("names")
    (directory / "s.toml").write_text(SCENARIO)
    (directory / "study.toml").write_text(STUDY)
    (directory / FILE).write_text(LOG)
    names = [f"n{i}" for i in range(4)]
    (directory / "nodes").write_text("".join(f"NodeName={n} State=ALLOCATED\n" for n in names))
    odd = NAME.replace(" ", "").replace("\r", "").replace("\0", "")
    (directory / "queue").write_text(f"{odd}|RUNNING|n[0-3]\n")
    switches = f"SwitchName={odd}0 Nodes=n[0-1]\nSwitchName={odd}1 Nodes=n[2-3]\n"
    (directory / "topology").write_text(switches)
    values = "".join(f"{odd},{i}\n" for i in range(30))
    (directory / "times.csv").write_text(f"{odd},time\n{values}")
    journal = Journal(directory / "journal", create=True)
    journal.decide([(NAME, [NAME], [NAME], 1000, False)], "grap", 10)
    journal.keep_waits([(NAME + "w", 99, NAME)], 10)
    journal.close()
    store = Store(directory / "watched", create=True)
    store.add({"time_s": 1.0, "asked_s": 0.1, "error": NAME}, None)
    store.close()
    done = call("run", "s.toml", "--out", "one", "--no-plots", directory=directory)
    check(done, SHOWN.replace(r"\x00", ""))
    for arguments in (
        ("run", "s.toml", "--out", "two", "--no-plots", "--set", "network.routing=valiant"),
        ("study", "study.toml", "--out", "study"),
    ):
        check(call(*arguments, directory=directory))
    return directory


def check(done: Done, expected: str = r"\x1b[31mred") -> None:
    assert done.returncode == 0, done.stderr
    check_clean(done)
    # Tables wrap names where the terminal is narrow.
    printed = re.sub(r"\s", "", done.stdout + done.stderr)
    assert re.sub(r"\s", "", expected) in printed, done


def check_clean(done: Done) -> None:
    for text in (done.stdout, done.stderr):
        assert (found := COMMANDS.search(text)) is None, text[found.start() - 40 :][:80]


CLUSTER = ("--squeue", "queue", "--topology", "topology")
PRINT = [
    ("show", "one"),
    ("show", "study"),
    ("ranks", "one"),
    ("compare", "one", "two"),
    ("study", "study.toml", "--dry-run"),
    ("study", "study.toml", "--out", "study"),
    ("sweep", "s.toml", "--set", "network.routing=minimal,valiant"),
    ("mapping", "s.toml"),
    ("interference", "s.toml"),
    ("log", "describe", FILE),
    ("schedule", FILE, "--compare", "fcfs"),
    ("cluster", "show", "--nodes", "nodes", *CLUSTER),
    ("cluster", "utilisation", "--nodes", "4", *CLUSTER),
    ("cluster", "decisions", "journal"),
    ("tails", "times.csv", "--column", "time", "--by", NAME.replace("\r", "").replace("\0", "")),
]


@pytest.mark.parametrize("arguments", PRINT, ids=lambda arguments: "-".join(arguments[:2]))
def test_names_that_commands_print(folder: Path, arguments: tuple[str, ...]) -> None:
    if "--out" not in arguments and arguments[0] in (
        *("compare", "sweep", "interference", "schedule"),
    ):
        arguments = (*arguments, "--out", str(folder / f"{arguments[0]}-out"))
    check(call(*arguments, directory=folder))


@pytest.mark.parametrize(
    "arguments",
    [
        *(("show", "one"), ("ranks", "one"), ("cluster", "decisions", "journal")),
        *(("cluster", "show", "--nodes", "nodes", *CLUSTER), ("cluster", "history", "watched")),
        ("mapping", "s.toml"),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_names_in_json_are_what_they_were(folder: Path, arguments: tuple[str, ...]) -> None:
    done = call(*arguments, "--json", directory=folder)
    assert done.returncode == 0, done.stderr
    check_clean(done)
    assert "\x1b[31mred" in str(json.loads(done.stdout)).encode().decode("unicode_escape")


def test_names_in_csv(folder: Path) -> None:
    done = call("cluster", "history", "watched", "--csv", directory=folder)
    assert SHOWN in done.stdout
    assert not COMMANDS.search(done.stdout.replace("\r\n", ""))


@pytest.mark.parametrize(
    "arguments",
    [
        *(("run", NAME), ("run", "s.toml", "--set", f"{NAME}=1"), ("show", NAME), (NAME,)),
        *(("run", "s.toml", "--set", f"network.routing={NAME}"), ("study", NAME)),
        *(("tails", NAME), ("cluster", "show", "--nodes", NAME, "--squeue", NAME), ("log", NAME)),
        *(("trace", "show", NAME), ("topology", "describe", "bad.toml"), ("run", "bad.toml")),
        *(("cluster", "decisions", NAME), ("run", "s.toml", f"--{NAME}"), ("ranks", "one", NAME)),
        *(("control", "show", "plant.toml"), ("schedule", "bad.toml"), ("verify", "keys.toml")),
        ("cluster", "utilisation", "--nodes", "4", "--squeue", "bad.toml"),
    ],
    ids=lambda arguments: ascii("-".join(arguments))[:30],
)
def test_errors_that_quote_names(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "bad.toml").write_text(f"# {NAME}\n{NAME}|{NAME}|{NAME}\n", newline="")
    (folder / "plant.toml").write_text(
        f"store = 'x'\n[driver.d]\nkind = 'recorder'\n[[switch]]\nname = {QUOTED}\n"
    )
    (folder / "keys.toml").write_text(f'[network]\nfamily = {QUOTED}\n{QUOTED} = 1\n"" = 2\n')
    arguments = tuple(argument.replace("\0", "") for argument in arguments)
    done = call(*arguments, directory=folder)
    assert done.returncode not in (0, 70), done
    check_clean(done)
    assert "red" in done.stderr or "bad.toml" in done.stderr


def test_the_terminal_of_standard_error_is_the_same() -> None:
    assert type(terminal()) is type(terminal(stderr=True))
