"""``odonata control``: circuits of optical switches in use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from odonata.cli import options
from odonata.cli.numeric import SHARE, TIME, Number, Whole
from odonata.cli.shared import escape, group, new_table, print_json
from odonata.errors import ControlError, DeviceError, OdonataError
from odonata.numbers import finite
from odonata.terminal import say, terminal

if TYPE_CHECKING:
    from odonata_live.control import Controller, Outcome, Plant
    from odonata_live.control.following import Round

#: Shortest time between two looks at ports.
_SHORTEST_S = 0.02
Command = TypeVar("Command", bound=Callable[..., Any])

_wait = click.option(
    "--wait",
    type=Number(),
    default=30.0,
    metavar="SECONDS",
    help="How long to wait while another of these commands is at work.",
)


def _plant_argument(command: Command) -> Command:
    return click.argument("plant", type=click.Path(path_type=Path, dir_okay=False))(command)


@group()
def control() -> None:
    """Circuits of optical switches: set for a job, verified, given back.

    PLANT is a file of the site's switches; docs/circuit-control.md says how to write one.
    """


@control.command()
@_plant_argument
@_wait
@options.json
def show(plant: Path, wait: float, as_json: bool) -> None:
    """Show what the switches hold now, and which job owns what."""
    with _controller(plant, wait) as at_work:
        held = at_work.settings()
        owners = at_work.journal.owners()
        jobs = at_work.journal.jobs()
        open_ = [change.number for change in at_work.journal.open_transactions()]
    owned: dict[int, int] = {}
    for job in owners.values():
        owned[job] = owned.get(job, 0) + 1
    if as_json:
        rows = {
            name: [[c.ingress, c.egress, c.job] for c in sorted(connections)]
            for name, connections in held.items()
        }
        running = {str(job): owned.get(job, 0) for job, on in jobs.items() if on}
        print_json({"connections": rows, "ports_of_jobs": running, "open_transactions": open_})
        return
    out = terminal()
    table = new_table("switch", right=("ingress", "egress", "job"), keys=2)
    for name, connections in held.items():
        for connection in sorted(connections):
            owner = str(connection.job) if connection.job else "-"
            table.add_row(escape(name), *map(str, connection.ends), owner)
    out.print(table)
    for job, on in jobs.items():
        if on:
            out.print(f"job {job} owns {owned.get(job, 0)} ports")
    for number in open_:
        out.print(f"transaction {number} has not ended; `odonata control recover` ends it")


@control.command(name="set")
@_plant_argument
@click.option(
    "--job", type=Whole(1), required=True, metavar="JOBID", help=("The job that gets the circuits.")
)
@click.option(
    "--circuits",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The circuits: one line `switch ingress egress` for each.",
)
@options.hosts(
    "The job's nodes: the circuits are chosen as the simulator chooses them", old="--nodes"
)
@click.option(
    "--traffic",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --hosts, what the nodes send: one line `node node bytes` for each pair.  [default: "
    "the same between all pairs]",
)
@_wait
@options.json
def set_(
    plant: Path,
    job: int,
    circuits: Path | None,
    hosts: str | None,
    traffic: Path | None,
    wait: float,
    as_json: bool,
) -> None:
    """Give a job circuits; on return either all of them are set and verified, or none is."""
    if (circuits is None) == (hosts is None):
        raise click.UsageError("give one of --circuits FILE and --hosts HOSTS")
    if traffic is not None and hosts is None:
        raise click.UsageError("--traffic needs --hosts")
    read = _plant(plant)
    names: Collection[str]
    if circuits is not None:
        rows = [
            (words[0], _whole(words[1], where), _whole(words[2], where))
            for words, where in _rows(circuits, "switch ingress egress")
        ]
        decide = read.for_circuits(job, rows)
        names = {name for name, _, _ in rows}
    else:
        sent = None
        if traffic is not None:
            sent = [
                (words[0], words[1], _amount(words[2], where))
                for words, where in _rows(traffic, "node node bytes")
            ]
        from odonata.machines.hosts import read_hosts

        nodes = read_hosts(hosts or "")
        decide = read.for_nodes(job, nodes, sent)
        names = read.switches_of(nodes)
    with _controller(read, wait) as at_work:
        outcome = at_work.set_circuits(job, decide, names)
    _tell(outcome, as_json)


@control.command(name="give-back")
@_plant_argument
@click.argument("job", type=Whole(1), required=False)
@click.option(
    "--ended", is_flag=True, help=("Take back the circuits of all jobs that Slurm no longer knows.")
)
@_wait
@options.json
def give_back(plant: Path, job: int | None, ended: bool, wait: float, as_json: bool) -> None:
    """Take back what JOB owns. Its circuits stay lit until others need their ports."""
    if (job is None) != ended:
        raise click.UsageError("give one of JOB and --ended")
    if job is not None:
        with _controller(plant, wait) as at_work:
            outcome = at_work.give_back(job)
        _tell(outcome, as_json)
        return
    from odonata_live.cluster.slurm import ask

    with _controller(plant, wait) as at_work:
        # Asked while nobody sets circuits: a job that is not known now has not just begun.
        known = set(ask(["squeue", "--noheader", "--array", "--format=%A"]).split())
        jobs = [job for job, on in at_work.journal.jobs().items() if on and str(job) not in known]
        for job in jobs:
            at_work.give_back(job)
    if as_json:
        print_json({"given_back": jobs})
    else:
        terminal().print(f"{len(jobs)} jobs have ended: {', '.join(map(str, jobs)) or 'none'}")


@control.command()
@_plant_argument
@_wait
@options.json
def verify(plant: Path, wait: float, as_json: bool) -> None:
    """Read all switches and compare them with the journal; change nothing."""
    with _controller(plant, wait) as at_work:
        found = at_work.verify()
    if as_json:
        print_json({"differences": found})
    if found:
        raise DeviceError("\n".join([f"{len(found)} differences:", *found]))
    if not as_json:
        terminal().print("switches hold what the journal says")


@control.command()
@_plant_argument
@_wait
@options.json
def recover(plant: Path, wait: float, as_json: bool) -> None:
    """Bring switches and journal into agreement after a crash, a lost switch, or a lost journal."""
    with _controller(plant, wait) as at_work:
        said = at_work.recover()
    if as_json:
        print_json({"done": said})
        return
    out = terminal()
    for sentence in said or ["nothing was to be done"]:
        out.print(escape(sentence))


@control.command()
@_plant_argument
@options.hosts("Between these nodes only, not all of the plant", old="--nodes")
@click.option(
    "--by",
    type=click.Choice(["destination", "pair"]),
    default="destination",
    help="Whether entries match the destination of a packet only, or the pair of source and "
    "destination.",
)
@_wait
@options.json
def routes(plant: Path, hosts: str | None, by: str, wait: float, as_json: bool) -> None:
    """Print routers' forwarding entries for the circuits held now, as the simulator routes."""
    from odonata.machines.hosts import read_hosts
    from odonata_live.control.network import by_destination, flows

    read = _plant(plant)
    network = read.network
    if network is None:
        raise ControlError(f"{plant}: scenario: found nothing; allowed: the network's scenario")
    names = list(network.nodes) if hosts is None else read_hosts(hosts)
    pairs = [(one, other) for one in names for other in names if one != other]
    held = {}
    if read.switches:
        with _controller(read, wait) as at_work:
            held = at_work.settings()
    ways = network.ways([held[name] for name in read.names], pairs)
    entries: dict[int, list[tuple[str, str, int]]]
    if by == "pair":
        entries = {
            router: [(one, other, port) for (one, other), port in sorted(of.items())]
            for router, of in flows(ways, pairs).items()
        }
    else:
        entries = {
            router: [("", to, port) for to, port in sorted(of.items())]
            for router, of in by_destination(ways, pairs).items()
        }
    if as_json:
        rows = [
            {"router": router, "from": one or None, "to": other, "port": port}
            for router, of in sorted(entries.items())
            for one, other, port in of
        ]
        print_json({"entries": rows})
        return
    for router, of in sorted(entries.items()):
        for one, other, port in of:
            sender = f"{one} " if one else ""
            say(f"{router} {sender}{other} {port}")


@control.command()
@_plant_argument
@click.option(
    "--job", type=Whole(1), required=True, metavar="JOBID", help="The job whose circuits follow."
)
@options.hosts("The job's nodes", old="--nodes", required=True)
@click.option(
    "--every", type=TIME, default="10 s", help="How often the routers' counters are read."
)
@click.option(
    "--rounds",
    type=Whole(1),
    metavar="COUNT",
    help="End after so many looks at the counters.  [default: go on until SIGTERM]",
)
@click.option(
    "--hysteresis",
    type=SHARE,
    default="5 %",
    help="How much more new circuits must bring for what was sent than those that are set.",
)
@click.option(
    "--horizon",
    type=TIME,
    default="10 min",
    help="Within which time they must bring that, counting the time that the last change took.",
)
@click.option(
    "--drain",
    type=Number(0.0, 60.0),
    default=0.1,
    metavar="SECONDS",
    help="How long packets under way get to leave circuits before these are taken down.",
)
@click.option(
    "--lossy",
    is_flag=True,
    help="Change also where some nodes have no other way meanwhile: their packets are lost.",
)
@_wait
@options.json_lines
def follow(
    plant: Path,
    job: int,
    hosts: str,
    every: int,
    rounds: int | None,
    hysteresis: float,
    horizon: int,
    drain: float,
    lossy: bool,
    wait: float,
    as_json: bool,
) -> None:
    """Let a job's circuits follow what its nodes are seen to send.

    The routers of PLANT (its [[router]] tables) forward by entries that this command sets, and
    count the bytes of every pair of nodes. Packets leave circuits before these are taken down.
    """
    import time

    from odonata.machines.hosts import read_hosts
    from odonata_live.cluster.stopping import stopping
    from odonata_live.control.following import Follower, Rule

    rule = Rule(hysteresis, float(horizon), drain, lossy)
    complain = terminal(stderr=True).print
    follower = Follower(
        _plant(plant), job, read_hosts(hosts), rule, wait_s=wait, say=lambda s: complain(escape(s))
    )
    number, led = 0, True
    with stopping():
        # What is wrong from the beginning is for people to mend.
        follower.begin()
        while rounds is None or number < rounds:
            begin = time.monotonic()
            try:
                if not led:
                    # A router that was restarted has lost its entries.
                    follower.begin()
                    led = True
                found = follower.round()
            except OdonataError as error:
                # A switch that does not answer now may do so at the next look.
                complain(escape(f"look {number}: {error}"))
                follower.close()
                led = False
            else:
                if as_json:
                    print_json({"look": number, **asdict(found)}, indent=None)
                else:
                    say(_told(number, found))
                # Whoever reads a pipe waits for this look, not for the last.
                sys.stdout.flush()
            number += 1
            if rounds is None or number < rounds:
                time.sleep(max(0.0, begin + every - time.monotonic()))
    follower.close()


@control.command()
@_plant_argument
@options.hosts("Between these nodes only, not all of the plant")
@click.option(
    "--every",
    type=TIME,
    default="1 s",
    help="How often routers are asked for their ports at the least; what they say unasked is dealt "
    "with at once.",
)
@click.option(
    "--rounds",
    type=Whole(1),
    metavar="COUNT",
    help="End after so many looks at the ports.  [default: go on until SIGTERM]",
)
@_wait
@options.json_lines
def reroute(
    plant: Path, hosts: str | None, every: int, rounds: int | None, wait: float, as_json: bool
) -> None:
    """Give routers entries that lead around links that are down, and back when they are up.

    The routers of PLANT (its [[router]] tables; it has no optical switches) say which of their
    ports are down. Entries are those that the simulator finds for the network with these links
    in [failures]; only what differs is changed.
    """
    import time

    from odonata.machines.hosts import read_hosts
    from odonata_live.cluster.stopping import stopping
    from odonata_live.control.rerouting import Rerouter, told

    complain = terminal(stderr=True).print
    rerouter = Rerouter(
        _plant(plant),
        None if hosts is None else read_hosts(hosts),
        wait_s=wait,
        say=lambda sentence: complain(escape(sentence)),
    )
    number, complaint = 0, ""
    with stopping(), rerouter:
        while rounds is None or number < rounds:
            begin = time.monotonic()
            try:
                found = rerouter.look()
            except OdonataError as error:
                # What is wrong from the beginning is for people to mend.
                if number == 0:
                    raise
                if str(error) != complaint:
                    complain(escape(f"look {number}: entries stay as they are: {error}"))
                complaint = str(error)
            else:
                complaint = ""
                if found.seconds:
                    if as_json:
                        print_json({"look": number, **asdict(found)}, indent=None)
                    else:
                        say(f"look {number}: {told(found)}")
                    sys.stdout.flush()
            number += 1
            if rounds is None or number < rounds:
                rerouter.wait(max(0.0, begin + every - time.monotonic()))
                # A port that comes and goes is not followed more often than this.
                time.sleep(_SHORTEST_S)


def _told(number: int, found: Round) -> str:
    """A line for one look at the counters."""
    from odonata.units import Size

    said = f"look {number}: {Size(found.sent)} sent, {found.why}"
    if found.gain:
        said += f", which bring {100 * found.gain:.0f} % more"
    if found.why == "changed":
        said += f": {found.made} connections made, {found.broken} broken in {found.seconds:.2f} s"
    return said


def _plant(file: Path) -> Plant:
    from odonata_live.control import Plant

    return Plant.from_file(file)


def _controller(plant: Path | Plant, wait: float) -> Controller:
    from odonata_live.control import Controller

    return Controller(_plant(plant) if isinstance(plant, Path) else plant, wait_s=wait)


def _tell(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        print_json(asdict(outcome))
        return
    out = terminal()
    took = ", ".join(f"{stage} {1000 * time:.1f} ms" for stage, time in outcome.seconds.items())
    out.print(f"job {outcome.job}: {outcome.made} connections made, {outcome.broken} broken")
    if took:
        out.print(took)
    if outcome.note:
        out.print(escape(outcome.note))


def _rows(file: Path, form: str) -> Iterator[tuple[list[str], str]]:
    """The three words of every line, and where they stand."""
    from odonata.bounded import read_text

    for number, line in enumerate(read_text(file, ControlError).splitlines(), start=1):
        words = line.split("#")[0].split()
        where = f"{file}, line {number}"
        if words and len(words) != 3:
            raise ControlError(f'{where}: found "{line.strip()}"; allowed: {form}')
        if words:
            yield words, where


def _whole(word: str, where: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 7):
        raise ControlError(f'{where}: found "{word}"; allowed: the number of a port, from 0')
    return int(word)


def _amount(word: str, where: str) -> float:
    try:
        amount = finite(word)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 2.0**63:
        raise ControlError(f'{where}: found "{word}"; allowed: a number of bytes, at least 0')
    return amount
