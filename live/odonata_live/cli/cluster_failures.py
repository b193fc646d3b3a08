"""``odonata cluster failures``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli.shared import command, notices, progress_terminal
from odonata.terminal import say
from odonata_live.cli.cluster_inputs import read_text


@command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.argument(
    "outputs", metavar="OUTPUT...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Scenario to write, beside SCENARIO: the same with the table; must not exist yet.  "
    "[default: prints the table]",
)
def failures(scenario: Path, outputs: tuple[Path, ...], out: Path | None) -> None:
    """Read what of a cluster's network does not work, as [failures] of its scenario.

    SCENARIO is of the whole network: family = "ibnetdiscover", or a machine with hosts. Each
    OUTPUT is what a program prints now: ibnetdiscover, iblinkinfo, ibqueryerrors, ibdiagnet (the
    file ibdiagnet2.db_csv), sinfo -R, sinfo or scontrol show nodes. They are recognised from their
    content; - is standard input.
    """
    from odonata import _engine
    from odonata.errors import ClusterError
    from odonata.output import check_new_file, new_file, write_file
    from odonata.scenario import Scenario
    from odonata.simulate import ask_engine
    from odonata_live.cluster.broken import broken, written

    whole = Scenario.from_file(scenario)
    if out is not None:
        check_new_file(out)
        if out.resolve().parent != scenario.resolve().parent:
            raise ClusterError(
                f"--out: found {out}; allowed: a file in the directory of {scenario}, from which "
                "its names of files lead"
            )
    found = broken(whole, [(str(path), read_text(path)) for path in outputs])
    notice = notices(progress_terminal())
    for sentence in found.notices:
        notice(sentence)
    if not found.table:
        notice("nothing that [failures] can say is broken")
        return
    text = scenario.read_text(encoding="utf-8").rstrip("\n") + "\n\n" + written(found)
    now = Scenario.from_toml(text, file=str(scenario))
    described = ask_engine(_engine.topology, now)["description"]
    notice(
        f"left: {described['nodes'] - described.get('nodes_out_of_service', 0):,} of "
        f"{described['nodes']:,} nodes"
    )
    if out is None:
        say(written(found).rstrip("\n"))
        return
    with new_file(out) as partial:
        write_file(partial, text)
    say(f"Written: {out}")
