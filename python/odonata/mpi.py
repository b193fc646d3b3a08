"""The `[mpi]` table of a scenario: how ranks send and receive."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, Tag, model_validator

from odonata import names
from odonata.collectives import Collectives
from odonata.model import (
    Bandwidth,
    Delay,
    PositiveSize,
    Table,
    by_form,
    is_table,
    is_text,
    tag,
)
from odonata.normal_form import LATER, InEngine
from odonata.problem import problem
from odonata.units import Duration, Size


class HostTime(Table):
    """What messages of a size cost the rank that sends and the rank that receives, each."""

    size: PositiveSize
    """Of the message."""
    time: Delay
    """For which either rank is busy with it."""


def _points(times: list[HostTime]) -> list[list[int]]:
    """Bytes and picoseconds."""
    return [[int(point.size), int(point.time)] for point in times]


def _collectives(given: str | Collectives) -> dict[str, Any]:
    table = Collectives(library=given) if isinstance(given, str) else given  # type: ignore[arg-type]
    return table.engine_form()


#: Times by size of a message.
HostTimes = Annotated[list[HostTime], Field(max_length=16), InEngine(value=_points)]


def times_grow(times: list[HostTime], key: str = "host_times") -> None:
    """Whether sizes grow, and times do not fall.

    Raises:
        PydanticCustomError: Which point does not fit the one before.
    """
    size, time = Size(0), Duration(0)
    for position, point in enumerate(times):
        if point.size <= size:
            allowed = f"more than {size}, the one before"
            raise problem(f"{key}[{position}].size", f'"{point.size}"', allowed)
        if point.time < time:
            allowed = f"at least {time}, the one before"
            raise problem(f"{key}[{position}].time", f'"{point.time}"', allowed)
        size, time = point.size, point.time


class WithinNode(Table):
    """What messages between two ranks of one node cost them.

    They go through its memory, whose latency and bandwidth are those of `network.nic`.
    """

    send_overhead: Delay = Duration(0)
    """Time that a rank is busy with a message that it sends."""
    receive_overhead: Delay = Duration(0)
    """The same with a message that it receives."""
    host_times: HostTimes = Field(default_factory=list)
    """What a message costs either rank by its size, besides, as the other `host_times`."""

    @model_validator(mode="after")
    def _times_grow(self) -> WithinNode:
        times_grow(self.host_times)
        return self


class Mpi(Table):
    """How the ranks of jobs with a motif send and receive; jobs with traffic have none of it.

    The parameters of LogGPS (Ino, Fujimoto, Hagihara 2001) that are not the network's.
    """

    eager_limit: Size | None = None
    """Messages between nodes that are longer ask first (rendezvous): the sender sends a request,
    the receiver grants it when it has a receive for it, then the message is sent. Default: no
    message asks."""
    rendezvous_completion: Annotated[names.RendezvousCompletion, LATER] = "sent"
    """When such a message is complete at its sender: when its last byte has left the node, or when
    the receiver has taken it in and said so by a message of its own (FIN), as where the receiver
    fetches the data: SST's Firefly and most MPI libraries by RDMA read. Matters where a rank waits
    for its sends before it goes on, up to 20 % of run time
    ([long messages](packet-model.md#overheads-and-long-messages))."""
    control_message: PositiveSize = Size("64 B")
    """Size of a request, grant or FIN; at most a packet."""
    send_overhead: Delay = Duration(0)
    """Time that a rank is busy with a message that it sends."""
    receive_overhead: Delay = Duration(0)
    """The same with a message, or a request, that it receives. Starts when the message has come,
    its receive is posted, and nothing else keeps the rank busy."""
    gap: Delay = Duration(0)
    """Time for which an interface sends nothing after a message, requests and grants apart: what
    *g* of LogGP is beyond the time that a byte takes."""
    send_delay: Annotated[Delay, LATER] = Duration(0)
    """Time between a rank's handing a message over, be it of the job or of the protocol, and its
    interface's having it. Keeps nobody busy, unlike `send_overhead`: the rank goes on meanwhile.
    CODES' delays of hosts are such: 3.51 µs with the defaults of its MPI replay."""
    delay_times: Annotated[HostTimes, LATER] = Field(default_factory=list)
    """The same by the size of a message, besides, as points of growing size: buffers and buses on
    its way that do not keep the rank. Short messages may overtake longer ones."""
    copy_bandwidth: Bandwidth | None = None
    """Rate at which ranks copy the messages that they send and receive, besides. Default: copying
    takes no time."""
    host_times: Annotated[HostTimes, LATER] = Field(default_factory=list)
    """What a message costs either rank by its size, besides all of that, as libraries have
    protocols, buffers and copies for some sizes and not for others: points of growing size, with
    straight lines from 0 B in no time through all of them, and on beyond the last."""
    within_node: Annotated[WithinNode | None, LATER] = None
    """What messages between two ranks of one node cost them instead of all that; they have no
    `send_delay` then. Default: they cost what all others cost."""
    collectives: Annotated[
        Annotated[names.Library, Tag(tag("a library"))]
        | Annotated[Collectives, Tag(tag("a table"))],
        by_form({"a library": is_text, "a table": is_table}),
        InEngine("collectives", value=_collectives),
    ] = "mpich"
    """By which algorithms they carry out collectives: as the rules of a library say, or a table."""

    @model_validator(mode="after")
    def _times_grow(self) -> Mpi:
        times_grow(self.host_times)
        times_grow(self.delay_times, "delay_times")
        return self
