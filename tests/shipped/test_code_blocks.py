"""Every code block of the README and of docs/ is run, or at least checked against what there is.

A block runs as it stands, those of a page one after another, in a folder of its own in which
`examples/` has the scenarios of the project with less to simulate (`QUICK`), and files that a page
speaks of without having them (`FILES`). One that cannot says why, in the line above it:

    <!-- not run: needs a Slurm cluster -->
    <!-- run with --dry-run: a study, up to days -->

Commands of the second kind run with that option added. Whether it runs or not, the options and
choices of every `odonata` command are checked by the command's own parser, calls of the Python
interface by its signatures, and TOML by a parser.
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import matplotlib.pyplot as plt
import pytest

import odonata
from command import call
from odonata import Scenario, shipped
from odonata.batch import JobLog
from odonata.cli.commands import odonata as command
from odonata.scenario.toml_source import parse_toml

ROOT = Path(__file__).resolve().parents[2]
#: Signatures and help texts, made from what they describe.
GENERATED = {"python-reference.md"}
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED),
    *sorted((ROOT / "studies" / "pages").glob("*.md")),
]
SHELL = ("sh", "console")

#: What makes the examples quick: 72 nodes, and little to send.
SMALL = {"network.p": 2, "network.a": 4, "network.h": 2}
QUICK: dict[str, dict[str, object]] = {
    "demo.toml": {
        **SMALL,
        "job.0.nodes": 24,
        "job.1.nodes": 16,
        "job.0.motif.iterations": 2,
        "job.*.motif.message": "2 KiB",
    },
    "interference.toml": {
        "job.0.motif.iterations": 2,
        "job.0.motif.message": "4 KiB",
        "job.1.traffic.messages": 5,
        "job.2.traffic.messages": 2,
    },
    "uniform-load.toml": {
        **SMALL,
        "job.0.nodes": 72,
        "simulation.warmup": "2 us",
        "simulation.duration": "4 us",
    },
    "two-stencils.toml": {"job.*.motif.iterations": 1, "job.*.motif.message": "2 KiB"},
}
#: The same of study files: what stands there, and what stands there for the test.
QUICK_STUDIES = {"two-stencils.toml": ("200 kB", "2 kB")}
#: Where the blocks of a page take files that are the reader's own: which example stands for each.
FILES = {
    "scenario.toml": "two-stencils.toml",
    "big.toml": "two-stencils.toml",
}
#: The same for files that no example is: what makes each.
MADE: dict[str, Callable[[Path], object]] = {
    **dict.fromkeys(
        ("KTH-SP2-1996-2.1-cln.swf", "year.parquet", "theta_1000.swf"),
        lambda path: recorded_log(path, nodes=100, jobs=200),
    ),
    "theta_2022.swf": lambda path: recorded_log(path, nodes=4392, jobs=40),
    "small.swf": lambda path: recorded_log(path, nodes=72, jobs=8),
    "small.toml": lambda path: path.write_text(
        'network = { family = "dragonfly", p = 2, a = 4, h = 2, routing = "minimal" }\n'
    ),
    "kth.toml": lambda path: path.write_text(
        next(
            block.text
            for block in BLOCKS[ROOT / "docs" / "scheduling.md"]
            if block.language == "toml" and "KTH-SP2" in block.text
        )
    ),
    "queue.toml": lambda path: path.write_text(
        next(
            block.text
            for block in BLOCKS[ROOT / "docs" / "scheduling.md"]
            if block.language == "toml" and "[[job]]" in block.text
        )
    ),
    "slurm.txt": lambda path: path.write_text(
        "JobID|Submit|Start|End|State|NNodes|NodeList\n"
        "1|2022-03-01T08:00:00|2022-03-01T08:00:10|2022-03-01T09:00:00|COMPLETED|2|n[0-1]\n"
        "2|2022-03-01T08:00:20|2022-03-01T08:00:30|2022-03-01T08:04:00|COMPLETED|1|n1\n"
    ),
    # Three columns of sacct, a node of eight processors, one partition, a class of service, shares.
    "march.txt": lambda path: path.write_text(
        "JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|"
        "NNodes|NCPUS|NodeList|ReqTRES|ReqMem|Constraints|Priority\n"
        + "".join(
            f"{job}|ann|lab|main|normal|COMPLETED|{t}|{t}|{t + 9}|{t + 99}|90|10|1|8|n0|"
            "cpu=8,mem=100M,node=1|100M||9\n"
            for job, t in ((1, 1740787200), (2, 1740787210))
        )
    ),
    "slurm.conf": lambda path: path.write_text(
        "SelectTypeParameters=CR_Core_Memory\nPriorityType=priority/multifactor\n"
        "NodeName=n[0-1] CPUs=8 RealMemory=1000\n"
        "PartitionName=main Nodes=ALL Default=YES MaxTime=60\n"
    ),
    "qos.txt": lambda path: path.write_text("Name|Priority|GrpTRES|Flags\nnormal|0||\n"),
    "shares.txt": lambda path: path.write_text(
        "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\n"
        "root|||0|0|0|\n lab||1|1|0|0|\n  lab|ann|1|1|0|0|1\n"
    ),
    "mira.swf": lambda path: recorded_log(path, nodes=82_944, jobs=20),
    "gains.csv": lambda path: path.write_text(
        "traffic,nodes,speed_up\n"
        + "".join(f"{mode},512,0.2\n{mode},65536,0.1\n" for mode in GRAP_MODES)
    ),
    "hosts.txt": lambda path: path.write_text("".join(f"lrdn{node:04d}\n" for node in range(1, 9))),
    "plant.toml": lambda path: path.write_text(
        'store = "circuits.sqlite"\nscenario = "examples/steered-fat-tree.toml"\n'
        'nodes = "n[0-127]"\n[driver.ocs]\nkind = "recorder"\n'
        + "".join(f'[[switch]]\nname = "ocs{n}"\ndriver = "ocs"\n' for n in range(16))
    ),
    "ng_netnoise_mpi_lat.out": lambda path: path.write_text(
        "#size\trtt\n" + "".join(f"1\t{2 + k * 37 % 11 / 10}\n" for k in range(60))
    ),
    "mira-2019-01.txt": lambda path: path.write_text(
        "Submit Runtime Walltime Nodes\n0 100 200 512\n60 3600 4000 1024\n"
    ),
    "queue.json": lambda path: path.write_text(
        '{"jobs": [{"job_id": 1, "job_state": "RUNNING", "nodes": "n[0-1]"}]}'
    ),
    "times.txt": lambda path: path.write_text(
        "\n".join(str(1 + k % 7 + k / 50) for k in range(60))
    ),
    "probes.csv": lambda path: path.write_text(
        "time_s,collective,placement,b,time_us\n"
        + "".join(
            f"{k // 4},{('bcast', 'reduce')[k % 2]},{('near', 'far')[k // 2 % 2]},"
            f"{k * 7 % 10 / 10},{10 + k * 13 % 17}\n"
            for k in range(160)
        )
    ),
    "SCENARIO": lambda path: path.write_bytes((ROOT / "examples" / "fat-tree.toml").read_bytes()),
    "RESULT": lambda path: odonata.run(ROOT / "examples" / "fat-tree.toml").save(path),
}


GRAP_MODES = ("minimal-balance", "adaptive", "custom-balance", "custom")


def recorded_log(path: Path, *, nodes: int, jobs: int) -> None:
    """A log with starts, as EASY gives them."""
    log = odonata.generate_job_log(nodes=nodes, jobs=jobs, request_factor=2)
    started = odonata.schedule(log).jobs
    table = started.select(["id", "submit_s", "start_s", "run_s", "requested_s", "nodes"])
    JobLog.from_table(table, machine_nodes=nodes).save(path)


#: Results of earlier runs, of the example `demo`, that a page goes on from.
EARLIER = {
    "results.md": ("results/demo-1",),
    "tails.md": ("results/demo-1",),
}


@dataclass(frozen=True)
class Block:
    """A code block.

    Attributes:
        page: Where it is.
        line: Its first line, counted from 1.
        language: What it says it is.
        text: Its lines, without the indentation of the fence.
        mark: `not run`, or `run with` and an option, if it says so.
    """

    page: Path
    line: int
    language: str
    text: str
    mark: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def runs(self) -> bool:
        """Whether it is run."""
        return self.language in (*SHELL, "python") and self.mark != "not run"

    @property
    def installed(self) -> str:
        """Its lines without those whose comment names a package that is not installed here."""
        asked = re.compile(r"# .*pip install (\w+)")
        return "".join(
            line
            for line in self.text.splitlines(keepends=True)
            if (found := asked.search(line)) is None or find_spec(found[1]) is not None
        )

    @property
    def added(self) -> list[str]:
        """Options that its commands get."""
        return (self.mark or "").removeprefix("not run").removeprefix("run with ").split()


MARK = r" *<!-- (not run|run with --[\w-]+): (.+) -->"


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page."""
    found = []
    lines = page.read_text(encoding="utf-8").splitlines()
    fence, start = None, 0
    for number, line in enumerate(lines):
        opening = re.fullmatch(r"( *)```(\w*).*", line)
        if fence is None and opening:
            fence, start = opening, number
        elif fence is not None and line == f"{fence[1]}```":
            above = re.fullmatch(MARK, lines[start - 1])
            inside = [text.removeprefix(fence[1]) for text in lines[start + 1 : number]]
            text = "\n".join(inside) + "\n"
            found.append(Block(page, start + 2, fence[2], text, above and above[1]))
            fence = None
    assert fence is None, f"{page.name}:{start + 1}: a block without end"
    return found


BLOCKS = {page: blocks(page) for page in PAGES}


def commands(block: Block) -> list[list[str]]:
    """The commands of a shell block, one list of words each."""
    text = block.text.replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in text.splitlines()]
    if "\n$ " in f"\n{text}":
        # What does not begin with a prompt is what a command has printed.
        lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def ours(words: list[str]) -> list[str] | None:
    """The arguments of a call of `odonata`, without what the shell does with it."""
    for place, word in enumerate(words[:3]):
        if word in ("odonata", ".venv/bin/odonata"):
            rest = words[place + 1 :]
            ends = [at for at, end in enumerate(rest) if end in ("&", "|", ">", "&&")]
            return rest[: min(ends, default=len(rest))]
    return None


def parse(arguments: list[str]) -> None:
    """Lets the parsers of the command and its subcommands take the arguments, and runs nothing."""
    context = command.make_context("odonata", list(arguments))
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, inner, rest = context.command.resolve_command(context, rest)
        assert inner is not None and name is not None
        context = inner.make_context(name, rest, parent=context)


def shown() -> Iterator[tuple[str, list[str]]]:
    for found in BLOCKS.values():
        for block in found:
            if block.language in SHELL:
                for words in commands(block):
                    if (arguments := ours(words)) is not None:
                        yield block.place, arguments


def test_every_command_that_is_shown_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # Files that it names need not be there.
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *_: Path(value))
    wrong = []
    seen = 0
    for place, arguments in shown():
        seen += 1
        try:
            parse(arguments)
        except click.ClickException as error:
            wrong.append(f"{place}: odonata {shlex.join(arguments)}: {error.format_message()}")
    assert not wrong, "\n".join(wrong)
    assert seen > 100


@pytest.mark.parametrize("arguments", ["run a.toml --sett x=1", "run a.toml --threads many"])
def test_a_wrong_option_would_be_found(arguments: str) -> None:
    with pytest.raises(click.ClickException):
        parse(arguments.split())


def test_python_blocks_call_what_there_is() -> None:
    wrong = []
    for found in BLOCKS.values():
        for block in found:
            if block.language == "python":
                wrong += [f"{block.place}: {why}" for why in _calls(ast.parse(block.text))]
    assert not wrong, "\n".join(wrong)


def _calls(tree: ast.AST) -> Iterator[str]:
    """What a block calls of the package that it does not have."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if not isinstance(node.func.value, ast.Name) or node.func.value.id != "odonata":
            continue
        function: Any = getattr(odonata, node.func.attr, None)
        if function is None:
            yield f"no odonata.{node.func.attr}"
            continue
        keywords = {word.arg: None for word in node.keywords if word.arg}
        try:
            inspect.signature(function).bind(*node.args, **keywords)
        except TypeError as error:
            yield f"odonata.{node.func.attr}: {error}"


def test_toml_blocks_are_toml() -> None:
    for found in BLOCKS.values():
        for block in found:
            if block.language == "toml":
                assert parse_toml(block.text, block.place), block.place


def test_marks_belong_to_blocks() -> None:
    for page, found in BLOCKS.items():
        marks = re.findall(f"^{MARK}$", page.read_text(encoding="utf-8"), flags=re.M)
        assert len(marks) == sum(block.mark is not None for block in found), page.name


#: How many blocks run, by what they add, and how many do not: shell and Python. Whoever adds one
#: counts it.
COUNTS = {"run": 61, "run with --dry-run": 8, "not run": 106}


def test_as_many_blocks_run_as_are_said_to() -> None:
    runnable = [b for found in BLOCKS.values() for b in found if b.language in (*SHELL, "python")]
    assert dict(Counter(block.mark or "run" for block in runnable)) == COUNTS


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, with less to simulate."""
    folder = tmp_path_factory.mktemp("blocks") / "examples"
    folder.mkdir()
    for sources in (ROOT / "python" / "odonata" / "examples", ROOT / "examples"):
        for source in sources.iterdir():
            (folder / source.name).unlink(missing_ok=True)
            (folder / source.name).symlink_to(source)
    (folder / "studies").unlink()
    shutil.copytree(ROOT / "examples" / "studies", folder / "studies")
    for name, (there, here) in QUICK_STUDIES.items():
        file = folder / "studies" / name
        text = file.read_text(encoding="utf-8")
        assert there in text
        file.write_text(text.replace(there, here), encoding="utf-8")
    for name, changes in QUICK.items():
        (folder / name).unlink()
        scenario = Scenario.from_file(ROOT / "examples" / name).with_set(changes)
        (folder / name).write_text(scenario.to_toml(), encoding="utf-8")
    return folder


@pytest.mark.usefixtures("rendered_once", "simulated_here")
@pytest.mark.parametrize(
    "page",
    [page for page, found in BLOCKS.items() if any(block.runs for block in found)],
    ids=lambda page: page.name,
)
def test_blocks_run(
    page: Path, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # What a block registers is gone with it.
    monkeypatch.setattr("odonata.plug_ins.registered._REGISTERED", {})
    (tmp_path / "examples").symlink_to(examples)
    monkeypatch.setattr(shipped, "resources", SimpleNamespace(files=lambda _: examples.parent))
    running = [block for block in BLOCKS[page] if block.runs]
    for name, example in FILES.items():
        if any(name in block.text for block in running):
            (tmp_path / name).write_bytes((examples / example).read_bytes())
    for name, make in MADE.items():
        if any(name in block.text for block in running):
            make(tmp_path / name)
    for directory in EARLIER.get(page.name, ()):
        demo = Scenario.from_file(examples / "demo.toml").with_set({"record.messages": "all"})
        odonata.run(demo).save(directory)
    names: dict[str, object] = {}
    for block in running:
        if block.language == "python":
            exec(compile(block.installed, block.place, "exec"), names)
            plt.close("all")
            continue
        for words in commands(block):
            arguments = ours(words)
            assert arguments is not None, f"{block.place}: only odonata's commands are run: {words}"
            done = call(*arguments, *block.added, directory=tmp_path)
            assert done.returncode == 0, f"{block.place}: {words}\n{done.stderr}"
