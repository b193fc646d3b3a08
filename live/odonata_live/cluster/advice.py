"""Whether now is a bad time: what a job's communication will take, and when it would take less.

Quantiles of the time come from quantile regression, linear or boosted, and are made into an
interval that holds as often as it says by conformal calibration (Romano, Patterson and Candès,
"Conformalized Quantile Regression", NeurIPS 2019). The probability of a long-tailed run comes from
logistic regression or boosting. Which of the two models is taken, and how far it is believed, is
decided by later runs that it has not seen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odonata.errors import ClusterError
from odonata_live.cluster.outcomes import LEAST_OF_A_KIND, WATCHED, Features, History, Kind, Outcome

#: A run is long-tailed if its mean time is above this quantile of the runs of its kind before it.
LONG_QUANTILE = 0.85
#: What the interval of the expected time covers.
COVERAGE = 0.9
#: Outcomes from which on anything is predicted, and from which on boosting is tried.
LEAST = 10
LEAST_FOR_BOOSTING = 60
#: Part of the outcomes, the latest, that calibrates and chooses between models.
_HELD_BACK = 0.3
#: Where the runs are cut to see how models do on those that follow.
_FOLDS = (0.4, 0.6, 0.8)
#: How far ahead a better time is looked for.
HORIZON_H = 24

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """What is expected of a job.

    Attributes:
        expected_us: Median of its mean time.
        low_us: Lower end of an interval that holds it in nine of ten cases.
        high_us: Its upper end.
        p_long: Probability that it is long-tailed.
        long_us: Above which it is: 85th percentile of the runs of its kind.
    """

    expected_us: float
    low_us: float
    high_us: float
    p_long: float
    long_us: float

    def to_dict(self) -> dict[str, float]:
        """All of it by name."""
        return asdict(self)


class Advisor:
    """Predicts outcomes from earlier ones.

    Args:
        outcomes: Jobs that ran, in any order. Kinds with fewer than three are left out.
        history: A watcher's samples.
        seed: Of the boosting.

    Attributes:
        used: The outcomes that are used, in the order of time.
        features: What models see of an outcome.
        models: Which model gives the quantiles, which the probability.
        scale: By kind, the median time, µs.
        long: By kind, the time above which a run is long-tailed, µs.

    Raises:
        ClusterError: If there are too few outcomes.
    """

    def __init__(
        self, outcomes: Sequence[Outcome], history: History | None = None, seed: int = 0
    ) -> None:
        from threadpoolctl import threadpool_limits

        by_kind: dict[Kind, list[float]] = {}
        for one in outcomes:
            by_kind.setdefault(one.kind, []).append(one.time_us)
        by_kind = {kind: t for kind, t in by_kind.items() if len(t) >= LEAST_OF_A_KIND}
        self.used = sorted(
            (one for one in outcomes if one.kind in by_kind), key=lambda one: one.time_s
        )
        if len(self.used) < LEAST:
            raise ClusterError(
                f"found {len(self.used)} outcomes of kinds with at least {LEAST_OF_A_KIND}; "
                f"allowed: at least {LEAST}. Measure more: "
                "odonata cluster probe STORE --repeat 50 --every '2 h'"
            )
        self.scale = {kind: float(np.median(t)) for kind, t in by_kind.items()}
        self.long = {kind: float(np.quantile(t, LONG_QUANTILE)) for kind, t in by_kind.items()}
        self.features = Features(self.used, history or History())
        table = self.features.table(self.used)
        self._prepare(table)
        x = self._scaled(table)
        y = np.log([one.time_us / self.scale[one.kind] for one in self.used])
        long = np.array([one.time_us > self.long[one.kind] for one in self.used])
        kept = _first_of_later(self.used)
        self._seed = seed
        # Small tables are faster so.
        with threadpool_limits(1):
            self._fit_quantiles(x, y, kept)
            self._fit_probability(x, long)
        self.models = (self._quantile_kind, self._probability_kind)

    # --- Numbers ----------------------------------------------------------------------

    def _prepare(self, table: Floats) -> None:
        known = np.isfinite(table)
        count = np.maximum(known.sum(axis=0), 1)
        filled = np.where(known, table, 0.0)
        self._centre = filled.sum(axis=0) / count
        spread = np.sqrt((np.where(known, table - self._centre, 0.0) ** 2).sum(axis=0) / count)
        self._keep = spread > 1e-12
        self._spread = np.where(self._keep, spread, 1.0)

    def _scaled(self, table: Floats) -> Floats:
        """The table with mean 0 and spread 1.

        What is not known is the mean, what never changes is left out.
        """
        scaled = np.where(np.isfinite(table), (table - self._centre) / self._spread, 0.0)
        return np.asarray(scaled[:, self._keep])

    # --- Times ------------------------------------------------------------------------

    def _fit_quantiles(self, x: Floats, y: Floats, kept: int) -> None:
        ends = ((1 - COVERAGE) / 2, 0.5, (1 + COVERAGE) / 2)
        candidates = ["linear"]
        if kept >= LEAST_FOR_BOOSTING:
            candidates.append("boosting")
        losses = {}
        fitted = {}
        for name in candidates:
            fitted[name] = [self._quantile_model(name, q).fit(x[:kept], y[:kept]) for q in ends]
            losses[name] = _pinball(y[kept:], fitted[name][1].predict(x[kept:]), 0.5)
        best = min(losses, key=lambda name: losses[name])
        self._quantile_kind, self._quantile_models = best, fitted[best]
        low, _, high = (model.predict(x[kept:]) for model in fitted[best])
        # The latest runs tell by how much the interval has to be wider, or may be narrower.
        missed = np.sort(np.maximum(low - y[kept:], y[kept:] - high))
        rank = math.ceil(COVERAGE * (len(missed) + 1))
        self._widen = float(missed[min(rank, len(missed)) - 1])

    def _quantile_model(self, name: str, quantile: float) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import QuantileRegressor

        if name == "linear":
            return QuantileRegressor(quantile=quantile, alpha=0.01)
        return HistGradientBoostingRegressor(
            loss="quantile",
            quantile=quantile,
            max_iter=150,
            learning_rate=0.05,
            max_leaf_nodes=8,
            min_samples_leaf=10,
            random_state=self._seed,
        )

    # --- Long tails -------------------------------------------------------------------

    def _fit_probability(self, x: Floats, long: NDArray[np.bool_]) -> None:
        """Chooses a model, and by how much to believe it, by runs that came after its own.

        Models that saw few runs are too sure. Their distance from the base rate is multiplied by
        the factor, at most 1, that fits what came later best; 0 is the base rate itself.
        """
        self._base = float((long.sum() + 1) / (len(long) + 2))
        self._probability_kind, self._probability_model, self._belief = "base rate", None, 0.0
        least = math.inf
        candidates = ["logistic"]
        if len(long) >= LEAST_FOR_BOOSTING:
            candidates.append("boosting")
        for name in candidates:
            beyond, rest = self._out_of_sample(name, x, long)
            power = float((beyond**2).sum())
            belief = min(max(float((beyond * rest).sum()) / power, 0.0), 1.0) if power else 0.0
            loss = float(((rest - belief * beyond) ** 2).sum())
            if belief > 0 and loss < least:
                least, self._belief, self._probability_kind = loss, belief, name
        if self._belief > 0:
            self._probability_model = self._class_model(self._probability_kind).fit(x, long)

    def _out_of_sample(
        self, name: str, x: Floats, long: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """By how much forecasts of later runs, and these runs, were above the base rate before."""
        beyond, rest = [np.empty(0)], [np.empty(0)]
        moments = np.array([one.time_s for one in self.used])
        edges = [int(np.searchsorted(moments, moments[round(p * (len(x) - 1))])) for p in _FOLDS]
        for begin, end in itertools.pairwise([*edges, len(x)]):
            first = long[:begin]
            if begin == end or not first.any() or first.all():
                continue
            base = (first.sum() + 1) / (begin + 2)
            model = self._class_model(name).fit(x[:begin], first)
            beyond.append(model.predict_proba(x[begin:end])[:, 1] - base)
            rest.append(long[begin:end] - base)
        return np.concatenate(beyond), np.concatenate(rest)

    def _class_model(self, name: str) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression

        if name == "logistic":
            return LogisticRegression(C=0.3, max_iter=1_000)
        return HistGradientBoostingClassifier(
            max_iter=80,
            learning_rate=0.05,
            max_leaf_nodes=8,
            min_samples_leaf=10,
            l2_regularization=1.0,
            random_state=self._seed,
        )

    # --- Answers ----------------------------------------------------------------------

    def forecasts(self, asked: Sequence[Outcome]) -> list[Forecast]:
        """What is expected of jobs, whose outcome is not looked at.

        Raises:
            ClusterError: If nothing of a job's kind was measured.
        """
        for one in asked:
            if one.kind not in self.scale:
                known = "; ".join(
                    f"{k.collective} of {k.size_bytes} B, {k.placement}, {k.ranks} ranks"
                    for k in sorted(self.scale)
                )
                raise ClusterError(
                    f"nothing is known of {one.kind.collective} of {one.kind.size_bytes} B, "
                    f"{one.kind.placement}, {one.kind.ranks} ranks; measured were: {known}"
                )
        if not asked:
            return []
        x = self._scaled(self.features.table(asked))
        low, middle, high = np.sort([m.predict(x) for m in self._quantile_models], axis=0)
        low, high = low - self._widen, high + self._widen
        middle = np.clip(middle, np.minimum(low, high), np.maximum(low, high))
        if self._probability_model is None:
            p = np.full(len(asked), self._base)
        else:
            p = self._probability_model.predict_proba(x)[:, 1]
            p = self._base + self._belief * (p - self._base)
        return [
            Forecast(
                expected_us=self.scale[one.kind] * math.exp(b),
                low_us=self.scale[one.kind] * math.exp(a),
                high_us=self.scale[one.kind] * math.exp(c),
                p_long=float(d),
                long_us=self.long[one.kind],
            )
            for one, a, b, c, d in zip(asked, low, middle, high, p, strict=True)
        ]


def _first_of_later(outcomes: Sequence[Outcome]) -> int:
    """Where the part begins that is held back: between two runs, never within one."""
    at = round(len(outcomes) * (1 - _HELD_BACK))
    while at > 1 and outcomes[at - 1].time_s == outcomes[at].time_s:
        at -= 1
    return at


def _pinball(y: Floats, predicted: Floats, quantile: float) -> float:
    over = y - predicted
    return float(np.mean(np.maximum(quantile * over, (quantile - 1) * over)))


# --- When -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Advice:
    """When to submit.

    Attributes:
        now: What is expected now.
        wait_h: After how many hours to submit; 0: at once.
        then: What is expected then.
        reason: Why, in words.
    """

    now: Forecast
    wait_h: int
    then: Forecast
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return asdict(self)


def advise(advisor: Advisor, job: Outcome, history: History, horizon_h: int = HORIZON_H) -> Advice:
    """Whether to submit now or later.

    The utilisation of the next hours is forecast as usual for the hour of the day, and by how far
    it is from usual now, which fades as it faded in the past. Waiting is advised where it takes at
    least a third of the risk of a long tail away, and at least 5 points: until the first hour with
    nearly the least risk.

    Args:
        advisor: Which knows the job's kind.
        job: What is to be submitted, with the utilisation now.
        history: A watcher's samples; without two days of them, nothing is said of later.
        horizon_h: How far to look.

    Raises:
        ClusterError: If nothing of the job's kind was measured.
    """
    (now,) = advisor.forecasts([job])
    ahead = forecast_busy(job, history, horizon_h)
    if not ahead:
        return Advice(now, 0, now, "what comes is not known: there are no two days of samples")
    later = advisor.forecasts(
        [
            Outcome(job.time_s + 3600.0 * (hour + 1), job.kind, busy, past=before)
            for hour, (before, busy) in enumerate(itertools.pairwise([job.busy, *ahead]))
        ]
    )
    risks = [one.p_long for one in later]
    least = min(risks)
    if now.p_long - least < max(0.05, now.p_long / 3):
        return Advice(now, 0, now, "no hour of the next day is much better")
    good = least + 0.2 * (now.p_long - least)
    at = next(hour for hour, risk in enumerate(risks) if risk <= good)
    return Advice(now, at + 1, later[at], "the network is usually less busy then")


def forecast_busy(job: Outcome, history: History, hours: int) -> list[dict[str, float]]:
    """The utilisation of the next hours; empty if the history is shorter than two days.

    Forms of it that the history does not have stay as they are now.
    """
    times = np.array(history.times)
    if len(times) < 2 or times[-1] - times[0] < 2 * 86_400:
        return []
    hour = np.floor(times / 3600).astype(np.int64)
    first = int(hour.min())
    found: list[dict[str, float]] = [dict(job.busy) for _ in range(hours)]
    for name in WATCHED:
        values = history.values[name]
        known = np.isfinite(values)
        if name not in job.busy or not known.any():
            continue
        count = np.bincount(hour[known] - first)
        mean = np.bincount(hour[known] - first, values[known]) / np.maximum(count, 1)
        by_hour = np.where(count > 0, mean, np.nan)
        of_day = (first + np.arange(len(by_hour))) % 24
        usual = np.array(
            [
                np.nanmean(by_hour[of_day == h]) if (count[of_day == h] > 0).any() else np.nan
                for h in range(24)
            ]
        )
        usual = np.where(np.isfinite(usual), usual, np.nanmean(usual))
        rest = by_hour - usual[of_day]
        both = np.isfinite(rest[1:]) & np.isfinite(rest[:-1])
        power = float((rest[:-1][both] ** 2).sum())
        fades = float((rest[1:][both] * rest[:-1][both]).sum()) / power if power > 1e-12 else 0.0
        fades = min(max(fades, 0.0), 0.999)
        here = int(job.time_s // 3600)
        off = job.busy[name] - usual[here % 24]
        for step in range(hours):
            value = usual[(here + step + 1) % 24] + off * fades ** (step + 1)
            found[step][name] = float(min(max(value, 0.0), 1.0))
    # The exposure of the job's groups is taken to change as what leaves all groups does.
    for name, whole in (
        ("exposure", "b_between_groups"),
        ("exposure_islands", "b_between_islands"),
    ):
        if name in job.busy and job.busy.get(whole):
            for step in range(hours):
                ratio = found[step].get(whole, job.busy[whole]) / job.busy[whole]
                found[step][name] = job.busy[name] * ratio
    return found
