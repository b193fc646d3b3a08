"""Options of ``odonata schedule`` for the network that its jobs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from odonata.batch import Network

_Command = TypeVar("_Command", bound=Callable[..., Any])

_PLACEMENTS = ("contiguous", "spread", "random-node", "random-router", "random-group")

_OPTIONS = (
    click.option(
        "--network",
        type=click.Choice(["none", "table", "flow", "packet"]),
        default="none",
        show_default=True,
        help="What slows jobs down or makes them faster: nothing (they run as long as the log "
        "says), a table of speed-ups, the links of a machine that running jobs share as flows, or "
        "the same packet by packet (small machines, short logs).",
    ),
    click.option(
        "--mix",
        multiple=True,
        metavar="[FROM..TO:]NAME=SHARE,…",
        help="Traffic of jobs of FROM to TO nodes, drawn by shares, e.g. "
        "576..65536:adaptive=40%,custom=60%. May be given several times. Or by-mode: it follows "
        "from the job's GRAP mode.  [default: with table by-mode under --grap, else that of Feng "
        "et al. 2023; with flow uniform, stencil and ring alike]",
    ),
    click.option(
        "--mpi-share",
        metavar="SHARE",
        help="How much of their time jobs communicate: log, a share such as 30%, or two between "
        "which it is drawn such as 10%..50%.  [default: log]",
    ),
    click.option(
        "--speed-ups",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help="With --network table: CSV file with the columns traffic, nodes, speed_up (part of "
        "the communication's time that is saved).",
    ),
    click.option(
        "--machine",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="SCENARIO",
        help="With --network flow or packet: scenario file whose [network] the jobs share, with "
        "its routing.",
    ),
    click.option(
        "--injection",
        metavar="SHARE",
        help="With --network flow or packet: part of its link's rate that a node sends at while it "
        "communicates.  [default: 25%]",
    ),
    click.option(
        "--placement",
        type=click.Choice(_PLACEMENTS),
        help="With --network flow or packet: which free nodes a job gets.  [default: contiguous; "
        "with --grap those of its groups]",
    ),
    click.option(
        "--window",
        "packet_window",
        metavar="TIME",
        help="With --network packet: simulated time in which traffic counts.  [default: 200us]",
    ),
    click.option(
        "--warmup",
        metavar="TIME",
        help="With --network packet: simulated time before it.  [default: 50us]",
    ),
    click.option(
        "--message",
        metavar="SIZE",
        help="With --network packet: size of a message.  [default: 4KiB]",
    ),
    click.option(
        "--stretch",
        type=click.Choice(["throughput", "latency"]),
        help="With --network packet: what stretches communication: the part of what a job sends "
        "that arrives, or that and how much longer its messages take than alone.  [default: "
        "throughput]",
    ),
    click.option(
        "--switch-delay",
        metavar="TIME",
        help="With circuits for jobs: how long a job stands still at its "
        "beginning while circuits are set, if any changes.  [default: 100ms]",
    ),
    click.option(
        "--network-seed",
        type=int,
        metavar="N",
        help="Seed of what is drawn for jobs, modes included.  [default: 1]",
    ),
)


def network_options(command: _Command) -> _Command:
    """Adds the options of :class:`NetworkOptions` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class NetworkOptions:
    """The options as given."""

    network: str
    mix: tuple[str, ...]
    mpi_share: str | None
    speed_ups: Path | None
    machine: Path | None
    injection: str | None
    placement: str | None
    network_seed: int | None
    switch_delay: str | None
    window: str | None
    warmup: str | None
    message: str | None
    stretch: str | None
    #: Whether GRAP places.
    grap: bool

    def read(self) -> Network | None:
        """The network.

        Raises:
            click.UsageError: If options do not go together.
        """
        from odonata.batch.network import (
            BY_MODE,
            COMMON_MIX,
            FENG2023_MIX,
            SharedLinks,
            SharedPackets,
            SpeedUps,
        )

        table = {"--speed-ups": self.speed_ups}
        packet = {
            "--window": self.window,
            "--warmup": self.warmup,
            "--message": self.message,
            "--stretch": self.stretch,
        }
        shared = {
            "--machine": self.machine,
            "--injection": self.injection,
            "--placement": self.placement,
            "--switch-delay": self.switch_delay,
        }
        both: dict[str, Any] = {
            "--mix": self.mix or None,
            "--mpi-share": self.mpi_share,
        }
        if not self.grap:
            both["--network-seed"] = self.network_seed
        others: dict[str, dict[str, Any]] = {
            "none": {**both, **table, **shared, **packet},
            "table": {**shared, **packet},
            "flow": {**table, **packet},
            "packet": table,
        }
        for option, value in others[self.network].items():
            if value is not None:
                raise click.UsageError(f"{option}: has no meaning with --network {self.network}")
        if self.network == "none":
            return None
        mix: tuple[str, ...] | str = self.mix
        if mix == (BY_MODE,):
            mix = BY_MODE
        common: dict[str, Any] = {
            "communication_share": self.mpi_share or "log",
            "seed": 1 if self.network_seed is None else self.network_seed,
        }
        if self.network in ("flow", "packet"):
            if self.machine is None:
                raise click.UsageError(f"--network {self.network}: needs --machine SCENARIO")
            common |= {
                "mix": mix or COMMON_MIX,
                "machine": self.machine,
                "injection": self.injection or 0.25,
                "placement": self.placement or "contiguous",
                "switch_delay": self.switch_delay or "100 ms",
            }
            if self.network == "flow":
                return SharedLinks(**common)
            window: dict[str, Any] = {
                name.removeprefix("--"): value for name, value in packet.items() if value
            }
            return SharedPackets(**common, **window)
        if self.speed_ups is None:
            raise click.UsageError("--network table: needs --speed-ups FILE")
        usual = BY_MODE if self.grap else FENG2023_MIX
        return SpeedUps.read(self.speed_ups, mix=mix or usual, **common)
