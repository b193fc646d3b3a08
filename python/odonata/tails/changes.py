"""When a series of times changed: change points of its distribution's place."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata.errors import SampleError
from odonata.tails.measures import as_samples

#: Moments on each side of a change, at least.
LEAST = 5
#: A change is taken for one if fewer than this share of shuffled series have as large a one.
LEVEL = 0.01
_SHUFFLES = 999
#: Longer parts are searched by the medians of this many equally long pieces at first.
_FINEST = 200


@dataclass(frozen=True)
class Change:
    """A moment at which samples became larger or smaller.

    Attributes:
        index: Of the first sample after it, in the order of time.
        at: When that was.
        before: Median of the samples from the change before, or from the beginning.
        after: Median of those up to the next, or to the end.
        p: Share of shuffled series that have as large a change; the least is 0.001.
    """

    index: int
    at: float
    before: float
    after: float
    p: float

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return asdict(self)


def find_changes(values: ArrayLike, times: ArrayLike | None = None) -> list[Change]:
    """Finds when a series changed, by ranks, so that a long tail is of no matter.

    Circular binary segmentation (Olshen, Venkatraman, Lucito and Wigler 2004) on ranks: the piece
    of a part whose mean rank differs most from that of the rest, in units of what chance makes of
    it, stays if fewer than 1 % of 999 shuffled copies of the part have such a piece; then each side
    of its ends is searched. So of series without any change 1 % show one. It supposes that samples
    of one moment do not depend on those before: a series that wanders has changes everywhere.

    Args:
        values: Samples.
        times: When each was taken, in any order; 0, 1, 2, … if not given. Samples of one moment,
            such as the iterations of a run, count as one, their median: at least 10 moments.

    Returns:
        The changes, in the order of time.

    Raises:
        SampleError: If there are too few moments, a sample is not finite, or there are more or
            fewer times than samples.
    """
    samples = as_samples(values)
    when = np.arange(samples.size, dtype=np.float64) if times is None else as_samples(times)
    if when.size != samples.size:
        raise SampleError(f"found {samples.size} samples of {when.size} times; allowed: as many")
    order = np.argsort(when, kind="stable")
    samples, when = samples[order], when[order]
    begins = np.flatnonzero(np.diff(when, prepend=-np.inf))
    if begins.size < 2 * LEAST:
        raise SampleError(
            f"found samples of {begins.size} moments; allowed, to find changes: {2 * LEAST} or more"
        )
    edges = np.append(begins, samples.size)
    moments = np.array([np.median(samples[a:b]) for a, b in itertools.pairwise(edges)])
    random = np.random.default_rng(0)
    found: dict[int, float] = {}
    waiting = [(0, moments.size)]
    while waiting:
        begin, end = waiting.pop()
        if end - begin < 2 * LEAST:
            continue
        inner, p = _piece(moments[begin:end], random)
        if p < LEVEL:
            cuts = [begin + at for at in inner if 0 < at < end - begin]
            found.update(dict.fromkeys(cuts, p))
            waiting += itertools.pairwise([begin, *cuts, end])
    places = _settled(moments, sorted(found))
    bounds = [0, *(int(edges[place]) for place in places), samples.size]
    return [
        Change(
            index=bounds[number],
            at=float(when[bounds[number]]),
            before=float(np.median(samples[bounds[number - 1] : bounds[number]])),
            after=float(np.median(samples[bounds[number] : bounds[number + 1]])),
            p=p,
        )
        for number, p in enumerate((found[place] for place in sorted(found)), 1)
    ]


def _piece(part: NDArray[np.float64], random: np.random.Generator) -> tuple[tuple[int, int], float]:
    """The piece whose ranks differ most from the rest's, and its p-value."""
    count = min(part.size, _FINEST)
    edges = np.round(np.linspace(0, part.size, count + 1)).astype(np.int64)
    ranks = _ranks(np.array([np.median(part[a:b]) for a, b in itertools.pairwise(edges)]))
    spread = float(ranks.std())
    if spread == 0:
        return (0, 0), 1.0
    begin, end = np.triu_indices(count + 1, 1)
    size = end - begin
    long = np.minimum(size, count - size) >= LEAST
    # What is left on either side is nothing, or long enough itself.
    long &= ((begin == 0) | (begin >= LEAST)) & ((end == count) | (end <= count - LEAST))
    begin, end, size = begin[long], end[long], size[long]
    scale = spread * np.sqrt(size * (count - size) / count)

    def furthest(series: NDArray[np.float64]) -> tuple[int, float]:
        sums = np.concatenate([[0.0], np.cumsum(series)])
        far = np.abs(sums[end] - sums[begin]) / scale
        best = int(far.argmax())
        return best, float(far[best])

    best, value = furthest(ranks)
    beyond = 0
    for _ in range(_SHUFFLES):
        # Half a millionth, for sums that differ by rounding only.
        beyond += furthest(random.permutation(ranks))[1] >= value - 5e-7
        if beyond >= LEVEL * (_SHUFFLES + 1):
            return (0, 0), 1.0
    p = (beyond + 1) / (_SHUFFLES + 1)
    return (int(edges[begin[best]]), int(edges[end[best]])), p


def _settled(moments: NDArray[np.float64], places: list[int]) -> list[int]:
    """Each change where what is between its neighbours splits best."""
    settled = list(places)
    for number in range(len(places)):
        low = settled[number - 1] if number else 0
        high = places[number + 1] if number + 1 < len(places) else moments.size
        ranks = _ranks(moments[low:high])
        first = np.arange(1, ranks.size)
        scale = np.sqrt(first * (ranks.size - first))
        settled[number] = low + int(first[(np.abs(np.cumsum(ranks)[:-1]) / scale).argmax()])
    return settled


def _ranks(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks around 0; equal samples share theirs."""
    _, inverse, counts = np.unique(part, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2.0)[inverse]
    return np.asarray(ranks - ranks.mean(), dtype=np.float64)
