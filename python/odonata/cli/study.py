"""``odonata study``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import display
from odonata.cli import options
from odonata.cli.numeric import Whole
from odonata.cli.shared import command, escape, goes_on_in, new_table, notices, progress_terminal
from odonata.terminal import terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from rich.console import Console

    from odonata.scenario import Scenario
    from odonata.study.file import StudyFile
    from odonata.study.findings import Verdict
    from odonata.study.run import Estimate
    from odonata.study.study import Study
    from odonata.study.sweep import Sweep, SweepPoint
    from odonata.study.task import Executor

#: Points that ``--dry-run`` lists.
_LISTED = 40
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _FileOrName(click.Path):
    """A study file or the name of a study; a shell completes both."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from odonata.study.installed import names

        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return found or super().shell_complete(ctx, param, incomplete)


@command()
@click.argument("study", metavar="FILE|NAME", type=_FileOrName(path_type=str))
@click.option("--quick", is_flag=True, help="A coarse version that takes a minute or two.")
@click.option(
    "--only",
    metavar="CONDITION",
    help="Simulate only some points, e.g. \"routing == 'minimal' and alpha >= 1\". The dataset "
    "keeps the points of earlier runs.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help=("List the points and estimate what the missing ones cost; run nothing."),
)
@click.option(
    "--scenarios",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the scenario of each point into DIR, as files for odonata run; run nothing. DIR "
    "must not exist yet, or be empty.",
)
@options.out(
    "Directory for the results. If the study has been there before, it continues. Default: "
    "results/NAME, or results/NAME-quick."
)
@click.option(
    "--jobs",
    type=Whole(1, 1024),
    metavar="K",
    help="Simulations at a time, each a process with one thread. Default: one per processor. With "
    "--slurm: number of batch jobs; default: 1.",
)
@click.option(
    "--executor",
    type=click.Choice(["local", "dask"]),
    default="local",
    help="Where to simulate: here, or on the workers of a Dask cluster "
    "(pip install distributed; with --slurm dask-jobqueue cryptography, too).",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="With dask: an existing scheduler, e.g. tls://host:8786."
)
@click.option(
    "--slurm",
    multiple=True,
    metavar="KEY=VALUE",
    help="With dask: a cluster of batch jobs on Slurm; parameters of dask_jobqueue.SLURMCluster, "
    "e.g. cores=16 memory=32GB walltime=01:00:00. May be given several times.",
)
@click.option(
    "--tls-ca-file",
    type=_FILE,
    metavar="PEM",
    help="With dask: the authorities that sign the certificates of the cluster's processes. With "
    "--slurm, certificates are made unless given.",
)
@click.option("--tls-cert", type=_FILE, metavar="PEM", help="With dask: your own certificate.")
@click.option(
    "--tls-key",
    type=_FILE,
    metavar="PEM",
    help="With dask: its private key, unless --tls-cert holds both.",
)
@click.option(
    "--unencrypted",
    is_flag=True,
    help="With dask: send data to other machines unencrypted. Anyone on the way can read and "
    "change it, and so run code with your rights, here and on the workers.",
)
def study(
    study: str,
    quick: bool,
    only: str | None,
    dry_run: bool,
    scenarios: Path | None,
    out: Path | None,
    jobs: int | None,
    executor: str,
    scheduler: str | None,
    slurm: tuple[str, ...],
    tls_ca_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    unencrypted: bool,
) -> None:
    """Run a study: many simulations for one question, with one dataset, pictures and a page.

    FILE is a study file (docs/studies.md). Studies by NAME: validation compares the packet engine
    with theory and with other simulators; resilience says what failures cost families of networks;
    gpcnet is that benchmark, under each scheme of congestion control;
    salimibeni2022 looks for long tails of collectives in simulated months of a dragonfly+.
    """
    from odonata.study import installed
    from odonata.study.file import StudyFile

    tls = {"--tls-ca-file": tls_ca_file, "--tls-cert": tls_cert, "--tls-key": tls_key}
    where = _executor(executor, scheduler, slurm, jobs, tls, unencrypted)
    file = Path(study)
    found = None if file.is_file() else installed.find(study)
    is_program = found is not None and not isinstance(found, Path)
    if scenarios is not None:
        of_runs: dict[str, object] = {
            "--dry-run": dry_run,
            "--out": out,
            "--jobs": jobs,
            "--executor dask": executor != "local",
        }
        allowed = "--scenarios alone, or with --quick" + ("" if is_program else " or --only")
        for option, value in of_runs.items():
            if value:
                allowed += ", as nothing is simulated"
                raise click.UsageError(f"found {option} with --scenarios; allowed: {allowed}")
    if found is not None and not isinstance(found, Path):
        for option, value in (("--only", only), ("--executor dask", executor != "local")):
            if value:
                raise click.UsageError(f"{option} is for study files; {study} is none")
        if scenarios is not None or dry_run:
            _show_program(study, found, quick, out, scenarios)
        else:
            _run_program(study, found, quick, out, jobs)
        return
    if found is not None:
        file = found
    elif not file.suffix and not file.exists():
        known = ", ".join(installed.names())
        raise click.UsageError(f"found {study}; allowed: a study file, or one of {known}")
    chosen = StudyFile.from_file(file)
    if scenarios is not None:
        from odonata.study.sweep import Sweep

        of_file = _selected(Sweep(chosen, quick=quick), only)
        listed = [(one.number, one.name, one.scenario) for one in of_file]
        _write_scenarios(chosen.title, listed, scenarios)
        return
    _run_file(chosen, file, quick, only, dry_run, out, where)


def _executor(
    executor: str,
    scheduler: str | None,
    slurm: Sequence[str],
    jobs: int | None,
    tls: Mapping[str, Path | None],
    unencrypted: bool,
) -> Executor:
    """Where to simulate, by the options; `tls` are those that name files, by their names."""
    from odonata.scenario import typed_value
    from odonata.study.local import LocalExecutor
    from odonata.study.remote import Certificates, DaskExecutor

    if executor == "local":
        of_dask = {"--scheduler": scheduler, "--slurm": slurm, **tls, "--unencrypted": unencrypted}
        for option, given in of_dask.items():
            if given:
                raise click.UsageError(f"{option} has a meaning with --executor dask only")
        return LocalExecutor(jobs)
    if (scheduler is None) == (not slurm):
        raise click.UsageError("--executor dask needs either --scheduler or --slurm")
    ca, cert, key = tls.values()
    certificates = None
    if ca is not None and cert is not None:
        certificates = Certificates(ca, cert, key)
    elif any(tls.values()):
        raise click.UsageError("--tls-ca-file and --tls-cert are needed both, or neither")
    if certificates is not None and unencrypted:
        raise click.UsageError("--unencrypted: certificates are for connections with TLS")
    if scheduler is not None:
        if jobs is not None:
            raise click.UsageError("--jobs: with --scheduler its workers are as many as they are")
        return DaskExecutor(scheduler, certificates=certificates, unencrypted=unencrypted)
    parameters: dict[str, Any] = {}
    for text in slurm:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise click.UsageError(f'--slurm: found "{text}"; allowed: KEY=VALUE, e.g. cores=16')
        parameters[name] = value if name == "walltime" else typed_value(value)
    return DaskExecutor(
        slurm=parameters, jobs=jobs, certificates=certificates, unencrypted=unencrypted
    )


def _run_program(
    name: str, make: Callable[[], Study], quick: bool, out: Path | None, jobs: int | None
) -> None:
    from odonata.progress import StudyBar
    from odonata.study import run_program

    directory = out or Path("results") / (f"{name}-quick" if quick else name)
    chosen = make()
    progress = progress_terminal()
    with StudyBar(progress, chosen.title) as bar, goes_on_in(directory):
        lines = run_program(
            chosen, directory, quick=quick, jobs=jobs, progress=bar, notice=notices(progress)
        )
    console = terminal()
    console.print(f"[bold]{escape(chosen.title)}[/]")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _run_file(
    chosen: StudyFile,
    file: Path,
    quick: bool,
    only: str | None,
    dry_run: bool,
    out: Path | None,
    where: Executor,
) -> None:
    from odonata.output import Claim
    from odonata.progress import SweepBar
    from odonata.report.points import print_failed
    from odonata.study.execution import STORE_FILE
    from odonata.study.findings import judge
    from odonata.study.page import PAGE_FILE, write_page
    from odonata.study.run import estimate, run_sweep
    from odonata.study.sweep import Sweep, raise_failed

    name = file.stem
    directory = out or Path("results") / (f"{name}-quick" if quick else name)
    sweep = Sweep(chosen, quick=quick, go_on=not dry_run)
    points = _selected(sweep, only)
    if dry_run:
        _print_points(chosen, points, estimate(points, directory), directory)
        return
    # A finding or figure with a wrong condition is found out before anything is simulated.
    judge(chosen, _empty(chosen))
    progress = progress_terminal()
    notice = notices(progress)
    command = f"odonata study {_named(file)}" + (" --quick" if quick else "")
    total = len(sweep.points)
    with Claim(directory, goes_on=STORE_FILE) as claim:
        with SweepBar(progress, chosen.title) as bar, goes_on_in(directory):
            table = run_sweep(
                sweep,
                directory,
                points=points,
                executor=where,
                progress=bar,
                notice=notice,
                claim=claim,
            )
        with claim.adding() as partial:
            verdicts = write_page(
                chosen,
                table,
                partial,
                command=command,
                total=total,
                quick=quick,
                points=[point.axes for point in sweep.points],
                notice=notice,
            )
    console = terminal()
    print_verdicts(console, chosen, verdicts)
    console.print(f"{len(table)} of {total} points are done", highlight=False)
    print_failed(console, [one.row for one in sweep.failed])
    console.print(f"Results: {directory} ({PAGE_FILE}, dataset.parquet)", markup=False)
    raise_failed(sweep, directory)


def _selected(sweep: Sweep, only: str | None) -> Sequence[SweepPoint]:
    """The points that ``--only`` is true of.

    Raises:
        click.UsageError: If there is none.
    """
    points = sweep.points if only is None else sweep.select(only)
    if not points:
        raise click.UsageError(f'--only: "{only}" is true of none of {len(sweep.points)} points')
    return points


def _write_scenarios(
    title: str, points: Sequence[tuple[int, str, Scenario]], directory: Path
) -> None:
    """Writes the scenario of each point, for ``--scenarios``; its comment says which point it is.

    Args:
        title: Of the study.
        points: Number, name and scenario of each.
        directory: Where to.

    Raises:
        OutputError: If the directory holds something already or cannot be written.
    """
    from odonata.output import Claim, write_file

    digits = len(str(points[-1][0]))
    with Claim(directory, option="--scenarios") as claim, claim.adding() as partial:
        for number, name, scenario in points:
            text = f"# {title}\n# Point {number}: {name}\n\n"
            text += scenario.to_toml(directory=directory)
            write_file(partial / f"point-{number:0{digits}}.toml", text)
    console = terminal()
    console.print(f"{len(points)} scenarios: {directory}", markup=False, highlight=False)


def _show_program(
    name: str, make: Callable[[], Study], quick: bool, out: Path | None, scenarios: Path | None
) -> None:
    """The points of a study that is no file, for ``--dry-run``; or their scenarios."""
    from odonata.study.cost import HOPS_PER_S, packet_hops
    from odonata.study.execution import STORE_FILE, Store

    chosen = make()
    points = chosen.points(quick)
    if scenarios is not None:
        listed = [(number, one.name, one.scenario) for number, one in enumerate(points)]
        _write_scenarios(chosen.title, listed, scenarios)
        return
    directory = out or Path("results") / (f"{name}-quick" if quick else name)
    done = [False] * len(points)
    if (directory / STORE_FILE).exists():
        with Store(directory / STORE_FILE) as store:
            done = [store.get(one) is not None for one in points]
    hops = [packet_hops(one.scenario) for one in points]
    console = terminal()
    console.print(chosen.title, style="bold", markup=False)
    table = new_table(keys=2)
    for column in ("point", "what", "packet-hops"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for number, (one, work) in enumerate(zip(points[:_LISTED], hops, strict=False)):
        table.add_row(str(number), escape(one.name), "?" if work is None else display.count(work))
    console.print(table)
    if len(points) > _LISTED:
        console.print(f"… and {len(points) - _LISTED} more")
    known = [(work, is_done) for work, is_done in zip(hops, done, strict=True) if work is not None]
    text = f"{len(points)} points, {sum(done)} of them done in {escape(str(directory))}"
    if known:
        missing_s = sum(work for work, is_done in known if not is_done) / HOPS_PER_S
        took = display.duration(int(missing_s * 1e12))
        text += f"; the others take about {took} of processor time (a rule of thumb)"
    console.print(f"{text}.", soft_wrap=True)
    if None in hops:
        console.print(f"The work of {hops.count(None)} points is unknown and not counted.")


def print_verdicts(console: Console, chosen: StudyFile, verdicts: Sequence[Verdict]) -> None:
    """Prints a study's title and what its data say of published findings."""
    console.print(chosen.title, style="bold", markup=False, soft_wrap=True)
    for verdict in verdicts:
        text = f"{verdict.text}: {verdict.finding.claim}; published {verdict.published}"
        console.print(f"  {text}, ours {verdict.ours}", markup=False, soft_wrap=True)


def _named(file: Path) -> str:
    """How a study is called on the command line."""
    from odonata.study.installed import name_of

    return name_of(file) or file.as_posix()


def _empty(chosen: StudyFile) -> Any:
    from odonata.study.dataset import build_dataset

    return build_dataset(chosen, [], {})


def _print_points(
    chosen: StudyFile, points: Sequence[SweepPoint], cost: Estimate, directory: Path
) -> None:
    """The points and what is missing, for ``--dry-run``."""
    console = terminal()
    console.print(chosen.title, style="bold", markup=False)
    axes = (escape(axis.column) for axis in chosen.axis)
    table = new_table(right=("point", *axes, "seed", "packet-hops"), keys=len(chosen.axis) + 2)
    for point in points[:_LISTED]:
        values = ["–" if value is None else str(value) for value in point.axes.values()]
        hops = "?" if point.packet_hops is None else display.count(point.packet_hops)
        table.add_row(str(point.number), *map(escape, values), str(point.scenario.seed), hops)
    console.print(table)
    if len(points) > _LISTED:
        console.print(f"… and {len(points) - _LISTED} more")
    basis = "by those that are done" if cost.measured else "a rule of thumb"
    console.print(
        f"{cost.points} points, {cost.done} of them done in {escape(str(directory))}; the others "
        f"take about {display.duration(int(cost.cpu_s * 1e12))} of processor time ({basis})",
        soft_wrap=True,
    )
    for sentence in cost.outdated:
        notices(console)(sentence)
    if cost.unknown:
        console.print(
            f"The work of {cost.unknown} points is unknown; they count as the others on average."
        )
