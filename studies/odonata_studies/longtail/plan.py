"""Which simulations the study is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from odonata.study.execution import Point, Record
from odonata_studies.longtail import machine
from odonata_studies.longtail.months import DAYS, Moment, simulate_months
from odonata_studies.longtail.probes import (
    APPLICATION_PROBES,
    LARGE,
    LAST,
    PROBE,
    SECOND,
    Samples,
    Setting,
    keep_probe,
    samples_of,
    scenario_of,
)

#: Routing algorithms that are compared; the first is what the machine is taken to have.
ROUTINGS = ("fpar", "par", "minimal", "valiant")
#: Factors for what the background's jobs send.
INTENSITIES = (1.0, 3.0)
#: Utilisations of figure 5 (0.17 to 0.21 and 0.70 to 0.74), and about what was usual (section 6).
LOW, HIGH, USUAL = 0.19, 0.72, 0.55
#: Utilisations of figure 6, by application.
FIGURE_6 = {"HACC": (0.34, 0.58), "miniAMR": (0.51, 0.64)}
#: What else the machine may have been: changes of the setting, by name.
EXPERIMENTS: Mapping[str, Mapping[str, object]] = {
    "standard": {},
    "three times the bytes": {"intensity": 3.0},
    "islands tapered 1 : 1": {"global_links": 12},
    "islands tapered 4 : 1": {"global_links": 3},
    "paths of whole messages": {"per_message": True},
    "minimal routes": {"routing": "minimal"},
    "MPICH's algorithms": {"library": "mpich"},
    "combining at 1.2 GB/s": {"combine": "1200 MB/s"},
    "calls every 1 ms": {"pause_us": 1000},
    "packets of 4 KiB": {"packet": "4 KiB"},
}
#: The same with the machine's jobs on other nodes: by the paper's account of Slurm.
PACKED = "jobs packed into groups"


@dataclass(frozen=True)
class Extent:
    """How much is simulated.

    Attributes:
        moments: Of three months.
        month_ms: Simulated at each.
        long_ms: Simulated where distributions are compared.
        experiment_ms: Simulated in every experiment.
        application_ms: Simulated of applications.
        each: Moments at each utilisation, where distributions are compared.
        intensities: Of the months.
        experiments: Names of those that are made.
    """

    moments: int = 88
    month_ms: int = 30
    long_ms: int = 100
    experiment_ms: int = 60
    application_ms: int = 60
    each: int = 16
    intensities: tuple[float, ...] = INTENSITIES
    experiments: tuple[str, ...] = (*EXPERIMENTS, PACKED)


#: A glimpse of what the study makes, too small for any finding.
QUICK = Extent(
    moments=12,
    month_ms=12,
    long_ms=30,
    experiment_ms=20,
    application_ms=30,
    each=1,
    intensities=(1.0,),
    experiments=("standard", "three times the bytes", "islands tapered 4 : 1"),
)


@dataclass(frozen=True)
class Plan:
    """The moments, and what is simulated at them.

    Attributes:
        extent: How much.
    """

    extent: Extent = field(default_factory=Extent)

    @cached_property
    def moments(self) -> list[Moment]:
        """In the order of time, with jobs where a real machine has them."""
        return simulate_months(self._times)

    @cached_property
    def packed(self) -> list[Moment]:
        """The same jobs where the paper says that Slurm puts them."""
        return simulate_months(self._times, "packed")

    @cached_property
    def _times(self) -> list[float]:
        random = Random(5)
        return sorted(random.uniform(0, DAYS) for _ in range(self.extent.moments))

    def near(self, b: float) -> list[Moment]:
        """As many moments of nearest utilisation as are compared."""
        nearest = sorted(self.moments, key=lambda one: (abs(one.b - b), one.number))
        return nearest[: self.extent.each]

    def month(self, intensity: float) -> Setting:
        """The setting at all moments."""
        return Setting(duration_ms=self.extent.month_ms, intensity=intensity, attribution=True)

    def pair(self, partner: int = LAST, intensity: float = 1.0) -> Setting:
        """The setting of ping-pongs at all moments."""
        duration_ms = self.extent.month_ms
        return Setting(duration_ms=duration_ms, pair=True, partner=partner, intensity=intensity)

    def long(self, scenario: str, routing: str, intensity: float) -> Setting:
        """A setting for distributions."""
        return Setting(
            scenario=scenario,
            routing=routing,
            intensity=intensity,
            sizes=(LARGE,),
            duration_ms=self.extent.long_ms,
        )

    def experiment(self, name: str) -> Setting:
        """The setting of an experiment."""
        changes = dict(EXPERIMENTS.get(name, {}))
        return Setting(sizes=(LARGE,), duration_ms=self.extent.experiment_ms).but(**changes)

    def application(self, name: str, intensity: float = 1.0) -> Setting:
        """The setting with an application as the probe."""
        duration_ms = self.extent.application_ms
        return Setting(application=name, duration_ms=duration_ms, intensity=intensity)

    def experiment_moments(self, name: str, b: float) -> list[Moment]:
        """The moments of an experiment."""
        numbers = [moment.number for moment in self.near(b)]
        return [(self.packed if name == PACKED else self.moments)[n] for n in numbers]

    def points(self) -> list[Point]:
        """All simulations, those first that matter most."""
        chosen: dict[str, tuple[Moment, Setting]] = {}

        def add(moments: Sequence[Moment], setting: Setting, kind: str = "") -> None:
            for moment in moments:
                chosen.setdefault(name_of(moment, setting, kind), (moment, setting))

        away = machine.DIFFERENT_ISLANDS
        usual, *other_routings = ROUTINGS
        for b in (HIGH, LOW):
            add(self.near(b), self.long(away, usual, 1.0))
        for b in (USUAL, LOW):
            for scenario in machine.SCENARIOS:
                add(self.near(b), self.long(scenario, usual, 1.0))
        add(self.moments, self.pair())
        first, *others = self.extent.intensities
        add(self.moments, self.month(first))
        for name in APPLICATION_PROBES:
            for b in FIGURE_6[name]:
                add(self.near(b), self.application(name))
        for routing in other_routings:
            for b in (HIGH, LOW):
                add(self.near(b), self.long(away, routing, 1.0))
        for name in self.extent.experiments:
            kind = PACKED if name == PACKED else ""
            for b in (HIGH, LOW):
                add(self.experiment_moments(name, b), self.experiment(name), kind)
        for intensity in others:
            for routing in (usual, "minimal"):
                add(self.near(HIGH), self.long(away, routing, intensity))
            add(self.moments, self.month(intensity))
            add(self.moments, self.pair(intensity=intensity))
            for name in APPLICATION_PROBES:
                for b in FIGURE_6[name]:
                    add(self.near(b), self.application(name, intensity))
        add(self.moments, self.pair(SECOND))
        # The most important first: what is simulated begins with the greatest cost.
        return [
            Point(name, scenario_of(moment, setting), keep_probe, 1.0 + 1e-6 * (len(chosen) - n))
            for n, (name, (moment, setting)) in enumerate(chosen.items())
        ]


def name_of(moment: Moment, setting: Setting, kind: str = "") -> str:
    """Name of a simulation."""
    return f"moment {moment.number}: {setting.name}" + (f", {kind}" if kind else "")


@dataclass(frozen=True)
class Found:
    """What was simulated.

    Attributes:
        plan: Of the study.
        records: By the names of its points; some may be missing.
    """

    plan: Plan
    records: Mapping[str, Record]

    def record(self, moment: Moment, setting: Setting, kind: str = "") -> Record | None:
        """The record of a simulation, if it is done."""
        return self.records.get(name_of(moment, setting, kind))

    def samples(
        self, moments: Sequence[Moment], setting: Setting, kind: str = ""
    ) -> list[list[Samples]]:
        """The samples by collective and size, for each moment that is done."""
        records = [self.record(moment, setting, kind) for moment in moments]
        return [samples_of(record, setting) for record in records if record is not None]

    def times(
        self,
        moments: Sequence[Moment],
        setting: Setting,
        collective: str,
        size: int = LARGE,
        kind: str = "",
    ) -> list[list[float]]:
        """The times of one collective in µs, for each moment that is done."""
        return [
            one.us.tolist()
            for found in self.samples(moments, setting, kind)
            for one in found
            if (one.collective, one.size) == (collective, size) and len(one.us)
        ]


__all__ = ["PROBE", "QUICK", "Extent", "Found", "Plan", "name_of"]
