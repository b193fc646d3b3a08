"""Traffic of a scenario: what ranks offer whatever the network does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Tag, model_validator

from odonata import names
from odonata.model import (
    PLUG_IN,
    Bandwidth,
    Count,
    Delay,
    FileName,
    Index,
    PositiveDuration,
    PositiveGlobalLoad,
    PositiveShare,
    PositiveSize,
    Table,
    by_form,
    chosen_by,
    is_number,
    is_text,
    not_ours,
    tag,
)
from odonata.normal_form import LATER, normal_form
from odonata.plug_in_forms import reference
from odonata.problem import problem
from odonata.units import Duration, GlobalLoad, Quantity, Share, describe


def _is_global_load(value: Any) -> bool:
    return isinstance(value, GlobalLoad) or (is_text(value) and "tgll" in value.lower())


def _is_share(value: Any) -> bool:
    return isinstance(value, Share) or (is_text(value) and "%" in value)


def _is_fraction(value: Any) -> bool:
    return is_number(value) and not isinstance(value, Quantity)


_LOADS = {
    "a number": _is_fraction,
    'a theoretical global link load such as "90 % TGLL"': _is_global_load,
    'a share such as "50 %"': _is_share,
}
_NUMBER, _GLOBAL, _SHARE = _LOADS


class TrafficBase(Table):
    """What all open-loop traffic has."""

    message: PositiveSize | None = None
    """Size of each message. May be left out with `interval` and either `load` or `rate`, from
    which it then follows."""
    process: names.Process = "poisson"
    """When a rank starts its messages: exponential gaps, fixed gaps after a random fraction of
    one (`periodic`) or with all ranks at once (`aligned`), or with a fixed probability in every
    slot."""
    load: (
        Annotated[
            Annotated[float, Field(gt=0, allow_inf_nan=False), Tag(tag(_NUMBER))]
            | Annotated[PositiveGlobalLoad, Tag(tag(_GLOBAL))]
            | Annotated[PositiveShare, Tag(tag(_SHARE))],
            by_form(_LOADS),
        ]
        | None
    ) = None
    """Offered load of a node, as a fraction of the bandwidth of its terminal link; its ranks
    share it; with a matrix of rates, of the average node. Or a theoretical global link load such as
    `"90 % TGLL"` (Kang et al. 2019, equation 4): size of a message over the time between two of a
    rank, as a part of the bandwidth of a global link; of messages that a rank sends at once (`to =
    "all"`) one counts."""
    rate: Bandwidth | None = None
    """Offered load of a rank, with a matrix of rates of the average one; with `to = "all"` of all
    that the rank with most partners sends."""
    interval: PositiveDuration | None = None
    """Mean time between two messages of a rank, whether the last one has arrived or not; with
    `to = "all"` between two times at which it sends."""
    messages: Count | None = None
    """How often each rank sends; then it is done. Default: without end."""
    slot: PositiveDuration | None = None
    """With `process = "bernoulli"`: length of a slot. Default: the time that a message takes on
    the terminal link."""
    drift: Annotated[Delay, LATER] = Duration(0)
    """With `process = "drifting"`: mean of an exponentially distributed time by which each gap is
    longer, so that ranks that begin together come out of step: so CODES' synthetic workloads send
    (1 ns)."""

    @model_validator(mode="after")
    def _one_rate(self) -> TrafficBase:
        given = [k for k in ("load", "rate", "interval") if getattr(self, k) is not None]
        found = " and ".join(f"`{key}`" for key in given) or "none of them"
        if self.message is None:
            if len(given) != 2 or "interval" not in given:
                allowed = "a size, or `interval` together with `load` or `rate`"
                raise problem("message", f"nothing with {found}", allowed)
        elif len(given) == 2 and "interval" in given:
            allowed = f"only without `message`, which then follows from {found}"
            raise problem("interval", f"{found} and `message`", allowed)
        elif len(given) != 1:
            raise problem(given[-1] if given else "load", found, "one of load, rate and interval")
        if self.slot is not None and self.process != "bernoulli":
            raise problem("slot", describe(self.slot), 'only with process = "bernoulli"')
        if self.drift and self.process != "drifting":
            raise problem("drift", describe(self.drift), 'only with process = "drifting"')
        return self

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form; files are found relative to `directory`."""
        offered: dict[str, Any]
        if isinstance(self.load, GlobalLoad):
            offered = {"tgll": self.load.fraction}
        elif self.load is not None:
            share = self.load
            offered = {"load": share.fraction if isinstance(share, Share) else share}
        elif self.rate is not None:
            offered = {"rate_bytes_per_s": int(self.rate)}
        else:
            offered = {"interval_ps": int(self.interval or 0)}
        # Together with a size, the interval is what is offered.
        idle = ("interval",) if self.message is not None else ()
        common = normal_form(self, directory, without=(*self._pattern_keys(), *idle))
        return {
            "interval_ps": None,
            **common,
            "pattern": self.pattern_form(directory),
            "offered": offered,
        }

    def _pattern_keys(self) -> set[str]:
        """Keys of the pattern, and those that say how much is offered."""
        return {*type(self).model_fields} - {*TrafficBase.model_fields} | {"load", "rate"}

    def pattern_form(self, directory: Path) -> dict[str, Any]:
        """The engine's form of the pattern."""
        form = normal_form(self, directory, without=TrafficBase.model_fields)
        return {"name": form.pop("pattern"), **form}


class Traffic(TrafficBase):
    """Traffic by a pattern that needs no parameter."""

    pattern: Literal[
        "uniform-random",
        "uniform-or-self",
        "permutation",
        "tornado",
        "transpose",
        "bisection",
        "bisection-pairs",
        "neighbour",
        "group-tornado",
        "within-group",
        "longest-matching",
        "two-hop",
    ]
    """Whom a rank sends to: any other rank (`uniform-random`), any rank and itself, the partner
    in a random permutation, r + ⌈n/2⌉ − 1 (`tornado`), the mirror place in a square matrix
    (`transpose`), a random rank or the partner in the other half, either neighbour, the rank at
    the same place of the group half-way round (`group-tornado`), any other rank of the same
    group (`within-group`), or the rank at the same place of another router: of that with which the
    routers' paths are the longest in all (`longest-matching`), or of that two links further on
    closed chains of links (`two-hop`)."""


class GroupShift(TrafficBase):
    """Traffic to another group: ADV+k, the worst case of minimal routing on a dragonfly."""

    pattern: Literal["adversarial", "group-shift"]
    """To a random rank (`adversarial`) or to the rank at the same place (`group-shift`) of the
    group k groups further."""
    k: int = 1
    """Distance in groups, among those where the job has ranks."""


class Shift(TrafficBase):
    """Traffic to the rank a fixed distance further."""

    pattern: Literal["shift"] = "shift"
    """The pattern."""
    offset: Count
    """Rank r sends to r + offset (modulo the number of ranks)."""


class Stencil(TrafficBase):
    """Traffic to the neighbours in a grid of ranks."""

    pattern: Literal["stencil"] = "stencil"
    """The pattern."""
    grid: Annotated[list[Count], Field(min_length=1, max_length=4)] | None = None
    """Ranks along each dimension; their product is the number of ranks. Default: as nearly equal
    as the number of ranks allows."""
    dimensions: Annotated[int, Field(ge=1, le=4)] | None = None
    """Dimensions of the grid, where it is not given. Default: 3."""
    periodic: bool = True
    """Whether the grid wraps around."""
    to: names.Turn = "random"
    """Which neighbours get a message: a random one, the next in turn, or all, one each."""

    @model_validator(mode="after")
    def _one_grid(self) -> Stencil:
        if self.grid is not None and self.dimensions is not None:
            raise problem("dimensions", describe(self.dimensions), "either `grid` or `dimensions`")
        return self


class GroupPeers(TrafficBase):
    """Traffic to the ranks at the same place of all other groups where the job has ranks."""

    pattern: Literal["group-peers"] = "group-peers"
    """The pattern."""
    to: names.Turn = "random"
    """Which of them get a message: a random one, the next in turn, or all, one each."""


class BroadcastTraffic(TrafficBase):
    """Traffic of one rank to all others, a message to each every time."""

    pattern: Literal["broadcast"] = "broadcast"
    """The pattern."""
    root: Index = 0
    """The rank that sends."""


class HotSpot(TrafficBase):
    """Traffic of which a share goes to a few ranks, the rest to any rank."""

    pattern: Literal["hot-spot"] = "hot-spot"
    """The pattern."""
    hot_ranks: Annotated[list[Index], Field(min_length=1)]
    """Ranks that draw more traffic."""
    fraction: Annotated[float, Field(ge=0, le=1)]
    """Share of the messages that goes to them."""


class MatrixTraffic(TrafficBase):
    """Traffic by a matrix of rates, such as the probabilities that one rack sends to another."""

    pattern: Literal["matrix"] = "matrix"
    """The pattern."""
    file: FileName
    """The matrix, relative to the scenario, in any [format](bring-your-application.md#matrices):
    bytes, shares or probabilities; only their proportions count. `load`, `rate` or `interval` say
    how much the average rank offers."""
    between: names.Between = "ranks"
    """What a row and a column of the matrix is, in the order of those on which the job has ranks:
    its ranks, or nodes, routers (racks with a router each) or groups, whose ranks share what they
    send and receive evenly."""


_PLAIN = (
    "uniform-random|uniform-or-self|permutation|tornado|transpose|bisection|bisection-pairs"
    "|neighbour|group-tornado|within-group|longest-matching|two-hop"
)
_GROUPED = "adversarial|group-shift"


class PlugInTraffic(TrafficBase):
    """Traffic with the pattern of a [plug-in](plug-ins.md)."""

    pattern: Annotated[str, not_ours("pattern")]
    """Its name."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What it is given."""

    def pattern_form(self, directory: Path) -> dict[str, Any]:
        """What stands for it in the engine's form."""
        return reference("pattern", self.pattern, self.parameters)


AnyTraffic = Annotated[
    Annotated[Traffic, Tag(tag(_PLAIN))]
    | Annotated[GroupShift, Tag(tag(_GROUPED))]
    | Annotated[Shift, Tag(tag("shift"))]
    | Annotated[Stencil, Tag(tag("stencil"))]
    | Annotated[GroupPeers, Tag(tag("group-peers"))]
    | Annotated[BroadcastTraffic, Tag(tag("broadcast"))]
    | Annotated[HotSpot, Tag(tag("hot-spot"))]
    | Annotated[MatrixTraffic, Tag(tag("matrix"))]
    | Annotated[PlugInTraffic, Tag(tag(PLUG_IN))],
    chosen_by(
        "pattern",
        *(_PLAIN, _GROUPED, "shift", "stencil", "group-peers", "broadcast", "hot-spot", "matrix"),
        plug_ins="pattern",
    ),
]
