"""What a scenario says of a real machine beside its network: its hosts, and what its nodes take."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from odonata.declared import HostTimes, WithinNode
from odonata.model import (
    Bandwidth,
    Delay,
    FileName,
    Index,
    PositiveDelay,
    PositiveShare,
    PositiveSize,
    Table,
)
from odonata.problem import grow, problem
from odonata.units import Duration, Rate, Share, describe


class HostRange(Table):
    """Hosts that follow each other on nodes that do."""

    names: Annotated[str, Field(min_length=1)]
    """Their names, as a list of hosts that Slurm writes: `"nid[001000-001255]"`."""
    first_node: Index
    """Node of the first; the others are on the nodes after it."""


class SizedRate(Table):
    """A rate of memory for vectors of a size."""

    size: PositiveSize
    """Of the vector; between two sizes the time of a byte goes with the logarithm of the size,
    below the first and above the last it stays."""
    bandwidth: Bandwidth
    """The rate."""


class SizedSpread(Table):
    """How far single calls are from their median, for vectors of a size."""

    size: PositiveSize
    """Of the vector; between two sizes with the logarithm of the size."""
    p10: Annotated[float, Field(gt=0, le=1)]
    """10th percentile over median."""
    p90: Annotated[float, Field(ge=1)]
    """90th percentile over median."""


def _sizes_grow(table: Machine | SharedNodes) -> None:
    """Whether the sizes of its points grow."""
    sizes = {
        "combine": [point.size for point in table.combine],
        "copy": [point.size for point in table.copy_rates],
        "spread": [point.size for point in table.spread],
    }
    for key, points in sizes.items():
        for position, (before, size) in enumerate(itertools.pairwise(points), 1):
            if size <= before:
                allowed = f"more than {before}, the one before"
                raise problem(f"{key}[{position}].size", f'"{size}"', allowed)


class SharedNodes(Table):
    """What collectives take on nodes that several ranks share each.

    All of it, in place of what `[mpi]`, `[machine]` and `network.nic` say of one rank a node.
    """

    per_node: Annotated[int, Field(ge=2)]
    """Ranks a node with which it was found; it is taken for any number above one."""
    send_overhead: Delay = Duration(0)
    """As `mpi.send_overhead`."""
    receive_overhead: Delay = Duration(0)
    """As `mpi.receive_overhead`."""
    send_delay: Delay = Duration(0)
    """As `mpi.send_delay`."""
    redirect_overhead: Delay = Duration(0)
    """As `mpi.redirect_overhead`."""
    host_times: HostTimes = Field(default_factory=list)
    """As `mpi.host_times`."""
    delay_times: HostTimes = Field(default_factory=list)
    """As `mpi.delay_times`."""
    within_node: WithinNode = Field(default_factory=WithinNode)
    """As `mpi.within_node`."""
    loopback_latency: Delay = Duration("500 ns")
    """As `network.nic.loopback_latency`."""
    loopback_bandwidth: Bandwidth = Rate("16 GB/s")
    """As `network.nic.loopback_bandwidth`: of all ranks of a node together."""
    rank_bandwidth: Bandwidth | None = None
    """As `machine.rank_bandwidth`."""
    call: Delay = Duration(0)
    """As `machine.call`."""
    entry_delay: Delay = Duration(0)
    """As `machine.entry_delay`."""
    combine: list[SizedRate] = Field(default_factory=list)
    """As `machine.combine`."""
    copy_rates: Annotated[list[SizedRate], Field(alias="copy")] = Field(default_factory=list)
    """As `machine.copy`."""
    spread: list[SizedSpread] = Field(default_factory=list)
    """As `machine.spread`."""

    @model_validator(mode="after")
    def _points_grow(self) -> SharedNodes:
        grow(self, "host_times")
        grow(self, "delay_times")
        _sizes_grow(self)
        return self


class ManyRanks(Table):
    """What differs in jobs of many ranks, where libraries send by other means.

    UCX takes InfiniBand's dynamically connected transport, of eight connections that move from one
    peer to the next, instead of a connection to each.
    """

    above: Annotated[int, Field(ge=1)]
    """Jobs of more ranks."""
    rank_bandwidth: Bandwidth | None = None
    """`machine.rank_bandwidth` of theirs. Default: the same."""


class Background(Table):
    """What else a machine does while a collective runs, where its spread is simulated.

    Other jobs have the nodes that real ones got, and send as proxy applications were measured to.
    """

    jobs: FileName | None = None
    """Nodes of real jobs: a text with a list of hosts of a job in every line, as
    `squeue -h -t R -o %N` prints it, or an archive of files of a job each, one host in a line."""
    busy: PositiveShare = Share("85 %")
    """Share of the hosts that jobs have, the collective's among them."""
    compute_rate: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    """How many times faster a node computes, and so sends, than those of 64 ranks on which the
    applications were measured."""
    detour_interval: PositiveDelay = Duration("4 ms")
    """Mean time between two interruptions of a rank by its system. A kernel's clock of 250 Hz."""
    detour_time: Delay = Duration("3.2 us")
    """Mean time that one takes; `0 s`: none does. As on a node of Alps (De Sensi et al. 2023)."""

    @model_validator(mode="before")
    @classmethod
    def _of_older_files(cls, keys: Any) -> Any:
        if isinstance(keys, Mapping) and "pace" in keys and "compute_rate" not in keys:
            sentence = "machine.background.pace is called compute_rate now; pace will be an error"
            warnings.warn(sentence, FutureWarning, stacklevel=2)
            return {"compute_rate" if key == "pace" else key: keys[key] for key in keys}
        return keys


class Machine(Table):
    """A real machine: the names of its hosts, and what collectives take beside their messages.

    Runs do not depend on it; predictions do.
    """

    name: str = ""
    """Its name, for people."""
    hosts: list[HostRange] = Field(default_factory=list)
    """Which node of the network each host is."""
    hosts_file: FileName | None = None
    """The same in a file: in every line a list of hosts and the node of the first."""
    rank_bandwidth: Bandwidth | None = None
    """What one rank has of its node's interfaces, as `network.nic.rank_bandwidth`, where flows
    predict; packets have all of them."""
    call: Delay = Duration(0)
    """What a call of a collective takes a rank before its first message."""
    entry_delay: Delay = Duration(0)
    """Mean time by which ranks enter a call late, with an exponential distribution: who waits for
    n ranks waits 1 + 1/2 + … + 1/n of it, who waits for a root once."""
    combine: list[SizedRate] = Field(default_factory=list)
    """Rate at which a rank combines what it receives with its own, by size of the whole vector:
    what fits into a cache is combined faster. Instead of `mpi.collectives.combine_bandwidth`."""
    copy_rates: Annotated[list[SizedRate], Field(alias="copy")] = Field(default_factory=list)
    """Rate at which a rank copies within its memory before a collective's first message: into the
    buffer of the result, or into another order."""
    spread: list[SizedSpread] = Field(default_factory=list)
    """How measured calls scatter around their median. Without it predictions have no
    percentiles."""
    background: Background | None = None
    """What else the machine does. With its `jobs`, or those of `--background`, the spread of
    predictions is simulated instead of `spread`."""
    many_ranks: ManyRanks | None = None
    """What differs in jobs of many ranks with one on each node."""
    shared: SharedNodes | None = None
    """What all that is where several ranks share each node. Default: as with one."""

    @model_validator(mode="after")
    def _hosts_once(self) -> Machine:
        if self.hosts and self.hosts_file is not None:
            raise problem("hosts_file", describe(self.hosts_file), "either `hosts` or `hosts_file`")
        _sizes_grow(self)
        return self
