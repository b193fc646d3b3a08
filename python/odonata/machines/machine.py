"""What a scenario says of a real machine besides its network: hosts, and times of its nodes."""

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
from odonata.terminal import clean
from odonata.units import Duration, Rate, Share, describe


class HostRange(Table):
    """Hosts with consecutive names on consecutive nodes."""

    names: Annotated[str, Field(min_length=1)]
    """Names of the hosts, as a host list in Slurm's notation: `"nid[001000-001255]"`."""
    first_node: Index
    """Node of the first host; the other hosts are on the nodes after it."""


class SizedRate(Table):
    """A memory rate for vectors of a given size."""

    size: PositiveSize
    """Size of the vector. Between two sizes the time per byte is interpolated linearly in the
    logarithm of the size; below the first and above the last size it is constant."""
    bandwidth: Bandwidth
    """The rate."""


class SizedSpread(Table):
    """How far single calls scatter around their median, for vectors of a given size."""

    size: PositiveSize
    """Size of the vector; between two sizes the percentiles are interpolated in the logarithm of
    the size."""
    p10: Annotated[float, Field(gt=0, le=1)]
    """10th percentile divided by the median."""
    p90: Annotated[float, Field(ge=1)]
    """90th percentile divided by the median."""


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
    """What collectives take if several ranks share each node.

    All of it, in place of what `[mpi]`, `[machine]` and `network.nic` say of one rank a node.
    """

    per_node: Annotated[int, Field(ge=2)]
    """Ranks per node for which these values were fitted; they are used for any number above one."""
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
    """As `network.nic.loopback_bandwidth`: the bandwidth of all ranks of a node together."""
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
    """Jobs with more ranks than this are jobs of many ranks."""
    rank_bandwidth: Bandwidth | None = None
    """`machine.rank_bandwidth` for jobs of many ranks. Default: the same as for other jobs."""


class Background(Table):
    """What else the machine does while a collective runs, for simulating the spread.

    Other jobs have the nodes that real ones got, and send as proxy applications were measured to.
    """

    jobs: FileName | None = None
    """Nodes of real jobs: a text file with the host list of one job per line, as `squeue -h -t R -o
    %N` prints it, or an archive with one file per job and one host per line."""
    busy: PositiveShare = Share("85 %")
    """Share of the hosts that jobs occupy, the collective's own job included."""
    compute_rate: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    """How many times faster a node computes, and therefore sends, than the nodes of 64 ranks on
    which the applications were measured."""
    detour_interval: PositiveDelay = Duration("4 ms")
    """Mean time between two interruptions of a rank by the operating system. The default is the
    period of a kernel clock of 250 Hz."""
    detour_time: Delay = Duration("3.2 us")
    """Mean time that an interruption takes; `0 s`: no interruptions. The default is that of a node
    of Alps (De Sensi et al. 2023)."""

    @model_validator(mode="before")
    @classmethod
    def _of_older_files(cls, keys: Any) -> Any:
        if isinstance(keys, Mapping) and "pace" in keys and "compute_rate" not in keys:
            sentence = "machine.background.pace is called compute_rate now; pace will be an error"
            warnings.warn(clean(sentence), FutureWarning, stacklevel=2)
            return {"compute_rate" if key == "pace" else key: keys[key] for key in keys}
        return keys


class Machine(Table):
    """A real machine: its hosts, and the times that collectives take besides their messages.

    Runs do not depend on it; predictions do.
    """

    name: str = ""
    """Name of the machine, for people."""
    hosts: list[HostRange] = Field(default_factory=list)
    """Which host is which node of the network."""
    hosts_file: FileName | None = None
    """File with the same information: on every line a host list and the node of its first host."""
    blocking_eager_limit: PositiveSize | None = None
    """`mpi.eager_limit` for algorithms whose ranks wait for each of their sends (`MPI_Send`,
    `MPI_Sendrecv`): UCX sends longer messages at once for them than for `MPI_Isend`. Default: the
    same for all."""
    rank_bandwidth: Bandwidth | None = None
    """Bandwidth that one rank has of its node's interfaces, as `network.nic.rank_bandwidth`, in
    predictions with flows; in predictions with packets a rank has all of it."""
    call: Delay = Duration(0)
    """Time that a call of a collective takes a rank before its first message."""
    entry_delay: Delay = Duration(0)
    """Mean of the exponentially distributed time by which a rank enters a call late: a rank that
    waits for n ranks waits 1 + 1/2 + … + 1/n times this mean, one that waits for a root once."""
    combine: list[SizedRate] = Field(default_factory=list)
    """Rate at which a rank combines received data with its own, by the size of the whole vector:
    data that fits into a cache is combined faster. Replaces `mpi.collectives.combine_bandwidth`."""
    copy_rates: Annotated[list[SizedRate], Field(alias="copy")] = Field(default_factory=list)
    """Rate at which a rank copies data within its memory before a collective's first message, to
    the result buffer or into another order."""
    spread: list[SizedSpread] = Field(default_factory=list)
    """How measured calls scatter around their median. Without it, predictions have no
    percentiles."""
    background: Background | None = None
    """What else the machine does. With its `jobs`, or those of `--background`, the spread of
    predictions is simulated and `spread` is not used."""
    many_ranks: ManyRanks | None = None
    """What differs in jobs of many ranks with one rank on each node."""
    shared: SharedNodes | None = None
    """The values that replace those above if several ranks share each node. Default: the same as
    with one rank per node."""

    @model_validator(mode="after")
    def _hosts_once(self) -> Machine:
        if self.hosts and self.hosts_file is not None:
            raise problem("hosts_file", describe(self.hosts_file), "either `hosts` or `hosts_file`")
        _sizes_grow(self)
        return self
