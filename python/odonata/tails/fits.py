"""Families of distributions fitted to samples, and ranked."""

from __future__ import annotations

import math
import signal
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import active_children, get_context
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata.errors import SampleError
from odonata.processes import isolated_main
from odonata.tails.measures import as_samples

#: What fits can be ranked by; less is better.
CRITERIA = ("aic", "bic", "ks", "squared_error")

#: How long the fit of one family may take.
TIME_LIMIT_S = 20.0
#: Samples that are fitted at most: maximum likelihood of the slow families takes seconds then.
MOST_SAMPLES = 2_000
#: Fits that differ by less than this in the share below every sample are the same distribution.
SAME = 1e-3
#: By how much what rounding leaves of a fitted density may exceed 1 in all.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Fit:
    """One family, fitted to samples by maximum likelihood.

    Attributes:
        family: Its name in ``scipy.stats``.
        parameters: Shapes, location and scale, by SciPy's names.
        log_likelihood: Of all samples that were fitted.
        aic: Akaike's criterion.
        bic: The Bayesian criterion.
        ks: Greatest distance between fitted and empirical distribution (Kolmogorov and Smirnov).
            It has no p-value here: the parameters come from the same samples.
        squared_error: Sum of squares of fitted density minus histogram, over 100 bins. It depends
            on the bins; given because published rankings use it.
        same_as: The better one that is the same distribution by another name, as an Erlang
            distribution is a gamma distribution; empty if there is none.
        failure: Why there is no fit; empty if there is one.
    """

    family: str
    parameters: dict[str, float]
    log_likelihood: float = math.nan
    aic: float = math.inf
    bic: float = math.inf
    ks: float = math.inf
    squared_error: float = math.inf
    same_as: str = ""
    failure: str = ""

    def distribution(self) -> Any:
        """The fitted distribution, as ``scipy.stats`` has it."""
        from scipy import stats

        return getattr(stats, self.family)(*self.parameters.values())

    def to_dict(self) -> dict[str, Any]:
        """All of it by name; of a family that failed, its name and why."""
        if self.failure:
            return {"family": self.family, "failure": self.failure}
        content = asdict(self)
        del content["failure"]
        return content


def all_families() -> tuple[str, ...]:
    """Names of all continuous families of ``scipy.stats``."""
    from scipy import stats

    names = (name for name in dir(stats) if isinstance(getattr(stats, name), stats.rv_continuous))
    return tuple(sorted(names))


def fit_families(
    values: ArrayLike,
    families: Sequence[str] | None = None,
    *,
    rank_by: str = "bic",
    time_limit_s: float = TIME_LIMIT_S,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Fit]:
    """Fits families to samples, the best first; those that failed stand at the end.

    The best of a hundred families fits by chance better than it deserves: the winner's criterion is
    biased, and families within about 2 of it are as good. AIC prefers families of more parameters,
    of which this many have one that fits this sample's chance: by it, the family that samples came
    from was among the five best in 177 of 200 trials, by BIC in 198
    (studies/scripts/tails_families.py).

    Args:
        values: Samples. Of more than 2,000, every this many in sorted order are fitted, so that all
            parts of the distribution are kept.
        families: Names in ``scipy.stats``; all of them if `None`.
        rank_by: One of :data:`CRITERIA`.
        time_limit_s: For one family; what takes longer has failed.
        processes: That fit at the same time; one for each processor if `None`.
        progress: Called with the number of families done and of all.

    Raises:
        SampleError: If there are fewer than 20 samples, they are all equal, one is not finite, or
            a family or criterion is unknown.
        KeyboardInterrupt: If it was interrupted.
    """
    samples = np.sort(as_samples(values, least=20))
    if samples[0] == samples[-1]:
        raise SampleError(f"all {samples.size} samples are {samples[0]:g}: nothing to fit")
    if rank_by not in CRITERIA:
        raise SampleError(f"found rank_by={rank_by!r}; allowed: {', '.join(CRITERIA)}")
    known = all_families()
    names = tuple(known if families is None else families)
    if unknown := [name for name in names if name not in known]:
        raise SampleError(f"found family {unknown[0]!r}; allowed: {', '.join(known)}")
    if samples.size > MOST_SAMPLES:
        places = (np.arange(MOST_SAMPLES) + 0.5) * samples.size / MOST_SAMPLES
        samples = samples[places.astype(np.int64)]
    fit = partial(_fit, samples=samples, time_limit_s=time_limit_s)
    fits = []
    others = set(active_children())
    # Fresh processes: a copy of this one would hold the locks of its threads.
    with ProcessPoolExecutor(processes, get_context("spawn"), _leave_interrupts) as pool:
        try:
            with isolated_main():
                under_way = [pool.submit(fit, name) for name in names]
            for done, one in enumerate(under_way, 1):
                fits.append(one.result())
                if progress is not None:
                    progress(done, len(names))
        except BaseException:
            # A fit that nobody wants may take all of its time; without processes the pool ends.
            for process in set(active_children()) - others:
                process.terminate()
            raise
    fits.sort(key=lambda found: _rank(found[0], rank_by))
    return _without_copies(fits, rank_by)


def _rank(fit: Fit, rank_by: str) -> tuple[bool, bool, float, str]:
    return bool(fit.failure), bool(fit.same_as), getattr(fit, rank_by), fit.family


def _without_copies(fits: list[tuple[Fit, NDArray[np.float64]]], rank_by: str) -> list[Fit]:
    """Marks fits that a better one makes superfluous, and puts them behind all others."""
    marked: list[Fit] = []
    different: list[tuple[Fit, NDArray[np.float64]]] = []
    for fit, below in fits:
        if not fit.failure:
            same = (one for one, other in different if np.abs(below - other).max() < SAME)
            if (first := next(same, None)) is None:
                different.append((fit, below))
            else:
                fit = replace(fit, same_as=first.family)
        marked.append(fit)
    return sorted(marked, key=lambda one: _rank(one, rank_by))


def _leave_interrupts() -> None:
    """Ctrl-C in a terminal goes to all processes: who started this one ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _OutOfTimeError(Exception):
    pass


class _NoDensityError(Exception):
    """What was fitted is no density of the samples."""


def _stop(signal_number: int, frame: FrameType | None) -> None:
    raise _OutOfTimeError


def _fit(
    name: str, samples: NDArray[np.float64], time_limit_s: float
) -> tuple[Fit, NDArray[np.float64]]:
    """The fit, and what share it has below each sample."""
    from scipy import stats

    family = getattr(stats, name)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, time_limit_s)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _rated(name, family, family.fit(samples), samples)
    except _OutOfTimeError:
        failure = f"not done within {time_limit_s:g} s"
    except Exception as error:  # whatever a family raises, the others are fitted
        failure = str(error) if isinstance(error, _NoDensityError) else _described(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Fit(name, {}, failure=failure), np.empty(0)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _rated(
    name: str, family: Any, parameters: tuple[float, ...], samples: NDArray[np.float64]
) -> tuple[Fit, NDArray[np.float64]]:
    likelihood = float(family.logpdf(samples, *parameters).sum())
    if not math.isfinite(likelihood):
        raise _NoDensityError("the fitted density is 0 or infinite at a sample")
    n, free = samples.size, len(parameters)
    # A distribution on the circle has no end, and series of special functions can go astray.
    span = samples[-1] - samples[0]
    around = np.clip(
        [samples[0] - 100 * span, samples[-1] + 100 * span], *family.support(*parameters)
    )
    low, *of_samples, high = family.cdf([around[0], *samples, around[1]], *parameters)
    cdf = np.asarray(of_samples)
    in_all = float(max(high, cdf.max()) - min(low, cdf.min()))
    if not in_all <= 1 + _ROUNDING:
        raise _NoDensityError(f"the fitted density is {in_all:.3g} in all, not 1")
    steps = np.arange(n + 1) / n
    density, edges = np.histogram(samples, bins=100, density=True)
    centres = (edges[1:] + edges[:-1]) / 2
    error = float(((family.pdf(centres, *parameters) - density) ** 2).sum())
    shapes = [shape.strip() for shape in family.shapes.split(",")] if family.shapes else []
    fit = Fit(
        family=name,
        parameters=dict(zip([*shapes, "loc", "scale"], map(float, parameters), strict=True)),
        log_likelihood=likelihood,
        aic=2 * free - 2 * likelihood,
        bic=free * math.log(n) - 2 * likelihood,
        ks=float(max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max())),
        squared_error=error if math.isfinite(error) else math.inf,
    )
    return fit, cdf
