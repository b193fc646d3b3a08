"""``odonata cluster what-if``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli import options
from odonata.cli.keys import given_options, key_options, keys_given
from odonata.cli.log import read_log, reading_options
from odonata.cli.numeric import TIME, Number, Whole
from odonata.cli.schedule_options import READING, options_of
from odonata.cli.shared import command, escape, new_table, print_json
from odonata.terminal import say, terminal
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_inputs import read_text, read_topology
from odonata_live.cli.cluster_place import POLICIES

if TYPE_CHECKING:
    from odonata.batch.network import SharedLinks
    from odonata_live.cluster.lost_switch import LostSwitch
    from odonata_live.cluster.what_if import Predicted, RunTimes, Snapshot

SLURM = "slurm"
NETWORK = options_of("network.injection", "network.switch_delay", level="flow")


@command("what-if")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    type=click.Choice([SLURM, *POLICIES]),
    default=(SLURM, "grap", "contiguous"),
    help="Plain Slurm, or a policy that chooses nodes; may be given several times.",
)
@click.option("--for", "horizon", type=TIME, default="12 h", help="How far ahead to look.")
@click.option(
    "--run-times",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Known run times, as lines JOB,SECONDS.",
)
@click.option(
    "--share",
    type=Number(0, 10, above=True),
    default=1.0,
    help="For all other jobs: run time divided by time limit.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="[START..[END],]NODES",
    help="Nodes such as n[0-3], or a switch of the topology with all nodes below it, that no job "
    "gets from now on, or in a time such as 3h..+2h,n[0-3] (from now, dates, 12:00; UTC): "
    "starts with and without them side by side, and when the last job there has ended. With "
    "--machine also a switch of its network that no node needs, such as a spine: the bandwidth "
    "that is left, and when the last job has ended that may miss it. May be given several times.",
)
@cluster_options.squeue
@cluster_options.sinfo()
@cluster_options.topology()
@cluster_options.group
@click.option(
    "--network",
    type=click.Choice(["none", "flow"]),
    default="none",
    help="What makes run times longer: nothing, or the links of a machine that running jobs share "
    "as flows, so that run times follow from who is placed where (as in `odonata schedule`).",
)
@click.option(
    "--machine",
    type=click.Path(path_type=Path),
    metavar="SCENARIO",
    help="With --network flow, or --without a spine: scenario file whose [network] is that of the "
    "cluster, with its routing; its groups are the cluster's, in the same order.",
)
@click.option(
    "--mpi-share",
    metavar="SHARE",
    help="With --network flow: the share of their time that jobs communicate: one share such as "
    "30%, or two between which each job's share is drawn, such as 10%..50%.",
)
@click.option(
    "--mix",
    multiple=True,
    metavar="MIX",
    help="With --network flow: traffic of jobs of FROM to TO nodes, drawn by shares, e.g. "
    "2..64:uniform=40%,ring=60%; may be given several times.  [default: uniform, stencil and "
    "ring in equal shares]",
)
@partial(key_options, options=NETWORK)
@click.option("--network-seed", type=Whole(0), default=1, help="Seed of what is drawn for jobs.")
@click.option(
    "--draws",
    type=Whole(1, 10_001),
    default=21,
    help="Under plain Slurm without a network: how often to draw the tenths of a second that "
    "Slurm does not report and that may decide which job overtakes which. A start is the "
    "median of the draws, and --jobs shows the range that holds eight in ten of them; with 1 "
    "nothing is drawn.",
)
@click.option("--jobs", "list_jobs", is_flag=True, help="Show every job's start under each policy.")
@options.renamed(
    "--log",
    old="--replay",
    type=click.Path(path_type=Path),
    metavar="LOG",
    help="Instead of the queue: simulate a log of the past (sacct, scontrol show jobs, JSON) and "
    "report how far the simulation is from what happened. Needs --conf.",
)
@reading_options
@click.option(
    "--conf",
    "configuration",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="slurm.conf or listings of scontrol show config, nodes, partitions.  "
    "[default: asks Slurm]",
)
@cluster_options.timeout
@options.json
def what_if(
    policies: tuple[str, ...],
    horizon: int,
    run_times: Path | None,
    share: float,
    without: tuple[str, ...],
    squeue: Path | None,
    sinfo: Path | None,
    topology: Path | None,
    level: str,
    network: str,
    machine: Path | None,
    mpi_share: str | None,
    mix: tuple[str, ...],
    network_seed: int,
    draws: int,
    list_jobs: bool,
    log: Path | None,
    configuration: tuple[Path, ...],
    timeout: float,
    as_json: bool,
    **how: Any,
) -> None:
    """Predict when waiting jobs will start: under plain Slurm, GRAP and others, side by side.

    Starts from the jobs that run now, on their nodes. Later submissions are unknown, and so are
    run times: by default every job runs up to its time limit, wherever it is placed.
    """
    from odonata_live.cluster.running import check_machine
    from odonata_live.cluster.what_if import RunTimes, read_run_times, summary, why_not

    if log is not None:
        if not configuration:
            raise click.UsageError("--log needs --conf: the cluster that the log is of")
        _only_of_logs()
        _replay(log, how, configuration, as_json)
        return
    if given := [one.option for one, _ in given_options(READING, how)]:
        raise click.UsageError(f"{given[0]} needs --log: a job log")
    if (squeue is None) != (sinfo is None):
        raise click.UsageError("--squeue and --sinfo go together: they are of the same moment")
    if squeue is not None and SLURM in policies and not configuration:
        raise click.UsageError(
            "--squeue with --policy slurm needs --conf: slurm.conf, or what scontrol show config, "
            "nodes and partitions printed"
        )
    links = None
    if network == "flow":
        if machine is None or mpi_share is None:
            raise click.UsageError("--network flow needs --machine SCENARIO and --mpi-share SHARE")
        from odonata.batch.network import COMMON_MIX, SharedLinks

        links = SharedLinks(
            mix=mix or COMMON_MIX,
            communication_share=mpi_share,
            seed=network_seed,
            machine=machine,
            **keys_given(NETWORK, how),
        )
    elif mpi_share is not None or mix or keys_given(NETWORK, how):
        options = ", ".join(one.option for one in NETWORK)
        raise click.UsageError(f"--mpi-share, --mix, {options} need --network flow")
    elif machine is not None and not without:
        raise click.UsageError("--machine needs --network flow, or --without a switch of it")
    known = {} if run_times is None else read_run_times(read_text(run_times), str(run_times))
    runs = RunTimes(known, share)
    look = _look(
        *(policies, topology, configuration, timeout),
        None if squeue is None or sinfo is None else (squeue, sinfo),
    )
    snapshot = look.snapshot
    if machine is not None:
        check_machine(machine, snapshot.topology)
    predict = partial(_predict, look, policies, horizon, runs, level, draws)
    found = predict(links, snapshot)
    taken = _without(snapshot, without, machine)
    gone = frozenset(node for one in taken for node in one.nodes)
    switches = [one.switch for one in taken if one.switch is not None]
    left = snapshot
    for one in taken:
        left = left.without(one.nodes, one.begin_s, one.end_s) if one.nodes else left
    fewer: dict[str, list[Predicted]] = {}
    if switches and links is not None:
        if any(one.switch is not None and one.begin_s is not None for one in taken):
            raise click.UsageError(
                "--without a switch at a time does not go with --network flow, whose links stay "
                "as they are: leave out START..END, for run times as they are without it"
            )
        links = replace(links, machine=switches[-1].machine)
    if gone or (switches and links is not None):
        fewer = predict(links, left)
    ends: dict[str, float] = {}
    crossing: dict[str, float] = {}
    everywhere = frozenset(snapshot.machine.nodes)
    for one in taken:
        # Jobs that end before are gone when it is taken.
        wait = 0.0 if one.begin_s is None else one.begin_s - snapshot.now_s

        def later(found: dict[str, float], wait: float = wait) -> dict[str, float]:
            return {job: end for job, end in found.items() if end > wait or not wait}

        ends |= later(snapshot.ends_s(one.nodes, runs))
        if one.switch is not None:
            crossing |= later(snapshot.ends_s(everywhere, runs, apart=True))
            crossing |= later(snapshot.ends_s(frozenset(one.switch.hosts), runs))
    rails = any(one.hosts for one in switches)
    if as_json:

        def to_dict(found: dict[str, list[Predicted]]) -> dict[str, Any]:
            return {
                policy: {
                    "now_s": snapshot.now_s,
                    "summary": summary(jobs),
                    "jobs": [{**job.__dict__, "wait_s": job.wait_s} for job in jobs],
                }
                for policy, jobs in found.items()
            }

        said: dict[str, Any] = to_dict(found)
        if gone:
            there = {"nodes": sorted(gone), "ends_s": ends, "free_s": max(ends.values(), default=0)}
            said["without"] = {**there, **to_dict(fewer)}
        if switches:
            lost = {"switches": [one.to_json() for one in switches]}
            said["without_switches"] = {**lost, "ends_s": crossing, **to_dict(fewer)}
        if times := [one.to_json() for one in taken if one.begin_s is not None]:
            said["without_times"] = times
        if held := snapshot.held():
            said["held"] = [job.id for job in held]
        print_json(said)
        return
    out = terminal()
    for one in taken:
        if one.begin_s is not None:
            out.print(escape(one.sentence(snapshot.now_s)), soft_wrap=True, highlight=False)
    is_later = any(one.begin_s is not None for one in taken)
    then = " then" if is_later else ""
    if gone:
        running = f"no job runs there{then}"
        if ends:
            last = max(ends, key=lambda id_: ends[id_])
            running = f"jobs there{then}: {len(ends)}; the last, {escape(last)}, "
            running += _end(snapshot, runs, last, ends[last])
        out.print(f"without {len(gone)} nodes: {running}", soft_wrap=True)
    for switch in switches:
        out.print(escape(switch.sentence()), soft_wrap=True)
    if switches:
        where = "over several leaves" + (" or on these hosts" if rails else "")
        running = f"no job runs {where}{then}"
        if crossing:
            last = max(crossing, key=lambda id_: crossing[id_])
            running = f"jobs {where}, which may miss it: {len(crossing)}; the last, "
            running += f"{escape(last)}, {_end(snapshot, runs, last, crossing[last])}"
        out.print(running, soft_wrap=True)
    if fewer:
        fewer = {f"{policy} without": jobs for policy, jobs in fewer.items()}
        found = {
            name: jobs
            for pair in zip(found.items(), fewer.items(), strict=True)
            for name, jobs in pair
        }
    headings = ["jobs", "start", "mean wait", "median", "p95", "slowdown", "groups"]
    table = new_table("", right=headings + ["stretch"] * (links is not None))
    # Means say something beside each other if they are of the same jobs.
    started = [{job.job for job in jobs if job.start_s is not None} for jobs in found.values()]
    common = set.intersection(*started)
    are_same = all(one == common for one in started)
    for policy, jobs in found.items():
        row = summary(jobs, common)
        waits = (_time(row[f"{name}_wait_s"]) for name in ("mean", "median", "p95"))
        table.add_row(
            *(policy, str(row["jobs"]), str(row["start"]), *waits),
            *(_figure(row["mean_slowdown"]), _figure(row["mean_groups"])),
            *([_figure(row["mean_stretch"])] if links is not None else []),
        )
    out.print(table)
    if not are_same:
        out.print(
            f"Waits, slowdown, groups{', stretch' if links is not None else ''}: of the "
            f"{len(common):,} jobs that start under all of them.",
            soft_wrap=True,
        )
    for line in _notes(snapshot, policies):
        out.print(escape(line), soft_wrap=True, highlight=False)
    reasons = {}
    for policy, jobs in found.items():
        of = left if policy.endswith(" without") else snapshot
        reasons[policy] = why_not(of, jobs, horizon)
    alike = len(found) > 1 and all(one == next(iter(reasons.values())) for one in reasons.values())
    for policy, why in list(reasons.items())[: 1 if alike else None]:
        for count, first, reason in why:
            jobs_ = f"{count:,} jobs do" if count != 1 else "1 job does"
            such = f", such as {first}" if count > 1 else f" ({first})"
            out.print(
                f"{'all' if alike else policy}: {jobs_} not start{such}: {escape(reason)}",
                soft_wrap=True,
                highlight=False,
            )
    if links is not None and links.sets_circuits_for_jobs():
        out.print(
            "Circuits: under grap of each large job, between its groups; otherwise as many between "
            "every two groups.",
            soft_wrap=True,
        )
    if list_jobs:
        _list(found)


def _only_of_logs() -> None:
    """Refuses options that `--log` has no use for."""
    context = click.get_current_context()
    used = {"log", "configuration", "as_json", *(one.parameter for one in READING)}
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if name not in used and source is click.core.ParameterSource.COMMANDLINE:
            instead = "; give topology.conf by another --conf" if name == "topology" else ""
            raise click.UsageError(
                f"{option.opts[0]} and --log do not go together: a log is simulated under plain "
                f"Slurm, of --conf alone{instead}"
            )


def _notes(snapshot: Snapshot, policies: tuple[str, ...]) -> Iterator[str]:
    """What people have to know of jobs that are left out, or that no policy places."""
    if held := snapshot.held():
        reasons = Counter(job.reason or "priority 0" for job in held)
        why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons.most_common(4))
        yield f"held, and so left out: {_jobs([job.id for job in held])}; {why}"
    named = [id_ for id_, job in snapshot.waiting() if job.required]
    if named and (ours := ", ".join(policy for policy in policies if policy != SLURM)):
        yield (
            f"not placed by {ours}, as they name their nodes: {_jobs(named)}; Slurm starts them "
            "once these are free"
        )


def _jobs(ids: list[str]) -> str:
    return f"1 job ({ids[0]})" if len(ids) == 1 else f"{len(ids):,} jobs, such as {ids[0]}"


@dataclass(frozen=True)
class _Look:
    """The cluster now, and what a prediction of plain Slurm needs beside it.

    Attributes:
        snapshot: The cluster.
        listing: What squeue printed.
        configuration: Slurm's files or listings: name and text of each.
        backfilled_s: The second in which backfill began its last pass, where known.
    """

    snapshot: Snapshot
    listing: str
    configuration: list[tuple[str, str]]
    backfilled_s: int | None


def _look(
    policies: tuple[str, ...],
    topology: Path | None,
    configuration: tuple[Path, ...],
    timeout: float,
    files: tuple[Path, Path] | None,
) -> _Look:
    """Asks Slurm, or reads files.

    Args:
        policies: What is to be predicted.
        topology: The file that names it; by default Slurm is asked.
        configuration: Slurm's files.
        timeout: Of Slurm's commands, seconds.
        files: What squeue and sinfo printed; by default Slurm is asked.
    """
    import time

    from odonata_live.cluster import slurm, survey
    from odonata_live.cluster.what_if import (
        Snapshot,
        read_last_backfill,
        read_snapshot,
        unaccounted,
    )

    given = [(path.name, read_text(path)) for path in configuration]
    diagnosis = listing = ""
    if files is not None:
        squeue, sinfo = files
        listing = read_text(squeue)
        wiring = None if topology is None else read_topology(topology)
        now, machine, jobs, wiring = read_snapshot(
            (str(squeue), listing), (str(sinfo), read_text(sinfo)), given, wiring
        )
    else:
        if SLURM in policies:
            listing = slurm.ask(("squeue", "--json"), timeout)
            diagnosis = slurm.ask(("sdiag",), timeout)
        jobs, _ = survey.ask_jobs(timeout)
        now = time.time()
        wiring = survey.ask_topology(timeout) if topology is None else read_topology(topology)
        machine = survey.ask_machine(timeout)
    unknown = unaccounted(machine, jobs)
    if unknown and files is None:
        time.sleep(1)
        again, _ = survey.ask_jobs(timeout)
        unknown &= unaccounted(survey.ask_machine(timeout), again)
    if unknown:
        names = ", ".join(sorted(unknown)[:4]) + (", …" if len(unknown) > 4 else "")
        say(
            f"{len(unknown)} nodes are busy with jobs that Slurm does not show ({names}): no job "
            "is taken to get them; ask as a user who sees all jobs (PrivateData in slurm.conf)",
            err=True,
        )
    if not machine.partitions:
        say(
            "no partition is known: jobs are taken to be allowed all nodes; give --conf, or nodes "
            "as `scontrol show nodes` or `sinfo --json` print them",
            err=True,
        )
    if SLURM in policies and not given:
        given = [
            (what, slurm.ask(("scontrol", "show", what), timeout))
            for what in ("config", "nodes", "partitions")
        ]
        if re.search(r"(?m)^TopologyPlugin\s*=.*/tree", given[0][1]):
            given.append(("topology", slurm.ask(("scontrol", "show", "topology"), timeout)))
    snapshot = Snapshot(now, machine, jobs, wiring, unknown)
    return _Look(snapshot, listing, given, read_last_backfill(diagnosis))


@dataclass(frozen=True)
class _Taken:
    """What ``--without`` names.

    Attributes:
        name: The nodes or the switch.
        nodes: Nodes that no job gets.
        switch: A switch of the network that no node needs.
        begin_s: From when on, Unix seconds; `None`: now, for ever.
        end_s: Until when; `None`: for ever.
    """

    name: str
    nodes: frozenset[str]
    switch: LostSwitch | None
    begin_s: int | None
    end_s: int | None

    def sentence(self, now_s: float) -> str:
        """Its time, for people."""
        from odonata.batch.describe import moment_text

        assert self.begin_s is not None
        until = "for ever" if self.end_s is None else f"to {moment_text(self.end_s, 0)}"
        begins = _time(max(0.0, self.begin_s - now_s))
        return f"{self.name} is out from {moment_text(self.begin_s, 0)} {until}, {begins} from now"

    def to_json(self) -> dict[str, Any]:
        """Its time, for ``--json``."""
        return {"without": self.name, "begin_s": self.begin_s, "end_s": self.end_s}


def _without(snapshot: Snapshot, named: tuple[str, ...], machine: Path | None) -> list[_Taken]:
    """What is named: nodes, or switches of the network, each without those before."""
    from odonata.batch.describe import moment_text
    from odonata.batch.options import moment, outage_keys, times
    from odonata.errors import ClusterError, JobLogError
    from odonata_live.cluster.lost_switch import lost_switch

    found: list[_Taken] = []
    before: Any = machine
    now = int(snapshot.now_s)
    for what in named:
        begin, end = None, None
        if ".." in what.partition(",")[0]:
            try:
                keys = outage_keys(what, "--without")
                start = _dated(keys["at"], now)
                until = keys.get("until")
                if until is not None:
                    until = _dated(until, max(now, moment(start, now, 0)))
                begin, end = times("--without", start, until, now, 0)
            except JobLogError:
                # Its words are of logs.
                raise click.UsageError(
                    f'--without: found "{what}"; allowed: START..END,NODES or START..,NODES (for '
                    "ever), of durations from now such as 3h..+10min, of the next 12:00..14:00 "
                    "(UTC), or of dates such as 2026-12-01T12:00 (UTC); END lies after START, and "
                    f"after now, {moment_text(now, 0)}"
                ) from None
            what = keys["nodes"]
        try:
            found.append(_Taken(what, snapshot.named(what), None, begin, end))
        except ClusterError:
            if machine is None:
                raise
            lost = lost_switch(before, what)
            before = lost.machine
            found.append(_Taken(what, frozenset(), lost, begin, end))
    return found


def _dated(text: str, after_s: int) -> str:
    """A time of day, UTC, as the date at which it is next; anything else as it is."""
    if (clock := re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text, re.ASCII)) is None:
        return text
    after = datetime.fromtimestamp(after_s, timezone.utc)
    then = after.replace(hour=int(clock[1]), minute=int(clock[2]), second=0)
    return (then if then > after else then + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")


def _end(snapshot: Snapshot, runs: RunTimes, job: str, end_s: float) -> str:
    """When a running job ends, for people."""
    from odonata_live.cluster.constraints import FOREVER_S

    limits = [snapshot.limit_s(one) for one in snapshot.jobs if one.id == job]
    if job not in runs.known and FOREVER_S in limits:
        return "has no time limit (unlimited)"
    return f"ends in {_time(end_s)}"


def _predict(
    look: _Look,
    policies: tuple[str, ...],
    horizon: int,
    run_times: RunTimes,
    level: str,
    draws: int,
    links: SharedLinks | None,
    snapshot: Snapshot,
) -> dict[str, list[Predicted]]:
    """The waiting jobs of a snapshot by policy.

    Args:
        look: What else Slurm said then.
        policies: Their names.
        horizon: How far to look, seconds.
        run_times: Of the jobs.
        level: What a group is.
        draws: How often to draw.
        links: The network that jobs share.
        snapshot: The cluster.
    """
    from odonata_live.cluster.placing import Rules
    from odonata_live.cluster.what_if import under_policy, under_slurm

    found: dict[str, list[Predicted]] = {}
    for policy in dict.fromkeys(policies):
        if policy == SLURM:
            found[policy] = under_slurm(
                *(snapshot, look.listing, look.configuration, run_times, horizon),
                *(look.backfilled_s, links, level, draws),
            )
        else:
            rules = Rules(policy=policy, level=level)
            found[policy] = under_policy(snapshot, rules, run_times, horizon, links)
    return found


def _replay(
    log: Path, how: Mapping[str, Any], configuration: tuple[Path, ...], as_json: bool
) -> None:
    from odonata.batch.slurm import schedule_as_slurm
    from odonata_live.cluster.what_if import replay_error

    simulated = schedule_as_slurm(read_log(log, how), list(configuration))
    columns = ["submit_s", "start_s", "recorded_wait_s"]
    both = simulated.jobs.select(columns).to_pandas().dropna()
    recorded = (both["submit_s"] + both["recorded_wait_s"]).tolist()
    figures = replay_error(recorded, both["start_s"].tolist(), both["submit_s"].tolist())
    if as_json:
        print_json({"error": figures, "notes": simulated.notes})
        return
    out = terminal()
    for note in simulated.notes:
        out.print(f"Note: {escape(note)}", soft_wrap=True)
    if not figures["jobs"]:
        out.print("no job of the log started both in it and in the simulation")
        return
    out.print(
        f"{figures['jobs']} jobs: starts are off by {_time(figures['median_error_s'])} (median), "
        f"{_time(figures['mean_error_s'])} (mean)",
        soft_wrap=True,
    )
    out.print(
        f"mean wait {_time(figures['mean_wait_s'])} as recorded, "
        f"{_time(figures['mean_simulated_wait_s'])} simulated; "
        f"{100 * (figures['share_within_10_percent'] or 0):.0f} % of waits within 10 %",
        soft_wrap=True,
    )


def _list(found: dict[str, list[Predicted]]) -> None:
    table = new_table("job", right=("nodes", *found))
    by_id = {policy: {job.job: job for job in jobs} for policy, jobs in found.items()}
    first = next(iter(found.values()), [])
    for job in first:
        cells = (_start(by_id[policy].get(job.job)) for policy in found)
        table.add_row(escape(job.job), str(job.nodes), *cells)
    terminal().print("starts from now:")
    terminal().print(table)


def _start(job: Predicted | None) -> str:
    """When it starts, and between what eight in ten draws lie where these differ."""
    if job is None or job.start_s is None:
        return _time(None)
    text = _time(job.start_s)
    if job.early_s is None or (job.late_s is not None and job.late_s - job.early_s < 1):
        return text
    return f"{text} ({_time(job.early_s)} to {_time(job.late_s)})"


def _time(seconds: Any) -> str:
    from odonata.display import clock

    if seconds is None:
        return "–"
    return clock(seconds) if seconds >= 100 else f"{seconds:.1f} s"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
