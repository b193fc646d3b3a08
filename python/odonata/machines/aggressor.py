"""A job that sends as much as it can, beside which a collective is predicted.

Its two kinds are those of De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect" (SC
2020, section III-A), and of the measurements of github.com/HLC-Lab/CRAB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from odonata.errors import MachineError
from odonata.scenario import Scenario
from odonata.units import Duration, Size

Kind = Literal["incast", "all-to-all"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: It begins so early before the collective at least, and so much earlier at most, picoseconds: a
#: steady state takes several times what an exchange takes, and its phase is drawn.
WARM_PS, PHASES_PS = 200_000_000, 100_000_000


@dataclass(frozen=True)
class Aggressor:
    """A job beside a collective.

    Attributes:
        kind: `incast`: all send to the first of its hosts, again and again. `all-to-all`: all send
            to all.
        hosts: Its hosts, one rank on each.
        size: Of each message.
        burst: For how long it sends at a time if nobody else does: whole rounds, which take longer
            where links are shared; ``None``: all the time.
        pause: For how long it sends nothing after that.
        calls: Calls of the collective, each in another phase of the aggressor.
    """

    kind: Kind
    hosts: tuple[str, ...]
    size: Size
    burst: Duration | None = None
    pause: Duration | None = None
    calls: int = 5

    def __post_init__(self) -> None:
        """Checks it.

        Raises:
            MachineError: If it is none that is possible.
        """
        if self.kind not in KINDS:
            raise MachineError(f'--beside: found "{self.kind}"; allowed: {", ".join(KINDS)}')
        if len(self.hosts) < 2:
            raise MachineError(
                f"--beside-hosts: found {len(self.hosts)} hosts; allowed: two or more, which send "
                "to each other"
            )
        if (self.burst is None) != (self.pause is None):
            raise MachineError("--burst and --pause: found one of them; allowed: both, or neither")
        if self.calls < 1:
            raise MachineError(f"--beside-calls: found {self.calls}; allowed: at least 1")

    @property
    def words(self) -> list[str]:
        """The options of `odonata predict-collective` that describe it."""
        words = ["--beside", self.kind, "--beside-hosts", ",".join(self.hosts)]
        words += ["--beside-bytes", f"{int(self.size)} B", "--beside-calls", str(self.calls)]
        if self.burst is not None:
            words += ["--burst", f"{int(self.burst)} ps", "--pause", f"{int(self.pause or 0)} ps"]
        return words

    def job(
        self, scenario: Scenario, nodes: Sequence[int], call: int, until_ps: float
    ) -> dict[str, Any]:
        """The engine's form of the job, for one call of the collective.

        Args:
            scenario: Of the machine.
            nodes: Of its hosts.
            call: Number of the call, whose phase is drawn by it and the scenario's seed.
            until_ps: Time of the run that it sends to at least.
        """
        # No round is shorter, as each fills the link of a node.
        round_ps = self._round_ps(scenario)
        rounds = int(until_ps / round_ps) + 2
        operation = {"operation": "gather", "algorithm": "linear", "root": 0}
        if self.kind == "all-to-all":
            operation = {"operation": "alltoall", "algorithm": "linear"}
        motif: dict[str, Any] = {
            "kind": "collective",
            **operation,
            "message": f"{int(self.size)} B",
        }
        if self.burst is None:
            motif["iterations"] = rounds
        else:
            in_burst = max(1, round(int(self.burst) / round_ps))
            pause = int(self.pause or 0)
            bursts = int(until_ps / (in_burst * round_ps + pause)) + 2
            phases = [{**motif, "iterations": in_burst}, {"compute": f"{pause} ps"}]
            motif = {"kind": "phases", "iterations": bursts, "phases": phases}
        random = np.random.default_rng([scenario.seed, call])
        data = scenario.to_dict()
        data.pop("storage", None)
        data["job"] = [
            {
                "name": "aggressor",
                "nodes": len(nodes),
                "placement": list(nodes),
                "start": f"{int(random.uniform(0, PHASES_PS))} ps",
                "motif": motif,
            }
        ]
        with_it = Scenario.from_dict(data, directory=scenario.directory)
        job: dict[str, Any] = with_it.normalised()["jobs"][0]
        return job

    def _round_ps(self, scenario: Scenario) -> float:
        """What a round takes where the link of a node is all that limits it."""
        links = scenario.normalised()["network"]["links"]
        rate = links["terminal"]["bandwidth_bytes_per_s"]
        return 1e12 * (len(self.hosts) - 1) * int(self.size) / float(rate)


@dataclass(frozen=True)
class Beside:
    """How much longer a collective takes beside another job.

    Attributes:
        kind: Of the other job.
        hosts: It has.
        calls: That were simulated.
        median: Time beside it over the time alone, of the call in the middle.
        least: The same of the quickest call.
        most: And of the slowest.
    """

    kind: str
    hosts: int
    calls: int
    median: float
    least: float
    most: float
