"""Traffic of a scenario: what ranks offer whatever the network does."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Tag, model_validator

from odonata.model import (
    Bandwidth,
    Count,
    Index,
    PositiveDuration,
    PositiveSize,
    Table,
    chosen_by,
    tag,
)
from odonata.problem import problem
from odonata.units import describe


class TrafficBase(Table):
    """What all open-loop traffic has."""

    message: PositiveSize
    """Size of each message."""
    process: Literal["poisson", "periodic", "bernoulli"] = "poisson"
    """When a rank starts its messages: exponential gaps, fixed gaps, or with a fixed probability
    in every slot."""
    load: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Offered load of a node, as a fraction of the bandwidth of its terminal link; its ranks
    share it."""
    rate: Bandwidth | None = None
    """Offered load of a rank."""
    interval: PositiveDuration | None = None
    """Mean time between two messages of a rank."""
    slot: PositiveDuration | None = None
    """With `process = "bernoulli"`: length of a slot. Default: the time that a message takes on
    the terminal link."""

    @model_validator(mode="after")
    def _one_rate(self) -> TrafficBase:
        given = [k for k in ("load", "rate", "interval") if getattr(self, k) is not None]
        if len(given) != 1:
            found = " and ".join(f"`{key}`" for key in given) or "none of them"
            raise problem(given[-1] if given else "load", found, "one of load, rate and interval")
        if self.slot is not None and self.process != "bernoulli":
            raise problem("slot", describe(self.slot), 'only with process = "bernoulli"')
        return self

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        if self.load is not None:
            offered = {"load": self.load}
        elif self.rate is not None:
            offered = {"rate_bytes_per_s": int(self.rate)}
        else:
            offered = {"interval_ps": int(self.interval or 0)}
        return {
            "pattern": self.pattern_form(),
            "message_bytes": int(self.message),
            "process": self.process,
            "slot_ps": None if self.slot is None else int(self.slot),
            "offered": offered,
        }

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern}  # type: ignore[attr-defined]


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
    ]
    """Whom a rank sends to: any other rank (`uniform-random`), any rank and itself, the partner
    in a random permutation, r + ⌈n/2⌉ − 1 (`tornado`), the mirror place in a square matrix
    (`transpose`), a random rank or the partner in the other half, either neighbour, or the rank
    at the same place of the group half-way round (`group-tornado`)."""


class GroupShift(TrafficBase):
    """Traffic to another group: ADV+k, the worst case of minimal routing on a dragonfly."""

    pattern: Literal["adversarial", "group-shift"]
    """To a random rank (`adversarial`) or to the rank at the same place (`group-shift`) of the
    group k groups further."""
    k: int = 1
    """Distance in groups, among those where the job has ranks."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "k": self.k}


class Shift(TrafficBase):
    """Traffic to the rank a fixed distance further."""

    pattern: Literal["shift"] = "shift"
    """The pattern."""
    offset: Count
    """Rank r sends to r + offset (modulo the number of ranks)."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "offset": self.offset}


class Stencil(TrafficBase):
    """Traffic to the neighbours in a grid of ranks."""

    pattern: Literal["stencil"] = "stencil"
    """The pattern."""
    grid: Annotated[list[Count], Field(min_length=1, max_length=4)]
    """Ranks along each dimension; their product is the number of ranks."""
    periodic: bool = True
    """Whether the grid wraps around."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "grid": self.grid, "periodic": self.periodic}


class HotSpot(TrafficBase):
    """Traffic of which a share goes to a few ranks, the rest to any rank."""

    pattern: Literal["hot-spot"] = "hot-spot"
    """The pattern."""
    hot_ranks: Annotated[list[Index], Field(min_length=1)]
    """Ranks that draw more traffic."""
    fraction: Annotated[float, Field(ge=0, le=1)]
    """Share of the messages that goes to them."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "hot_ranks": self.hot_ranks, "fraction": self.fraction}


_PLAIN = (
    "uniform-random|uniform-or-self|permutation|tornado|transpose|bisection|bisection-pairs"
    "|neighbour|group-tornado"
)
_GROUPED = "adversarial|group-shift"
AnyTraffic = Annotated[
    Annotated[Traffic, Tag(tag(_PLAIN))]
    | Annotated[GroupShift, Tag(tag(_GROUPED))]
    | Annotated[Shift, Tag(tag("shift"))]
    | Annotated[Stencil, Tag(tag("stencil"))]
    | Annotated[HotSpot, Tag(tag("hot-spot"))],
    chosen_by("pattern", _PLAIN, _GROUPED, "shift", "stencil", "hot-spot"),
]
