"""The network of a schedule: what slows its jobs down or makes them faster."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odonata import names
from odonata.batch.declared import FlowNetwork, PacketNetwork
from odonata.batch.options import OptionError, read
from odonata.bounded import csv_rows, read_text
from odonata.errors import JobLogError
from odonata.numbers import finite

if TYPE_CHECKING:
    from odonata.scenario import Scenario, ScenarioLike

#: Traffics of Feng et al. 2023, section 5.1.4, by sizes in nodes: what users of a
#: reconfigurable dragonfly of groups of 288 nodes are assumed to choose. Jobs that fit
#: into a group have none.
FENG2023_MIX = (
    "289..575:minimal-balance",
    "576..65536:minimal-balance=40%,adaptive=40%,custom-balance=10%,custom=10%",
    "65537..:minimal-balance",
)

#: Traffics of jobs that share links, where nothing is known of them: those of Feng et al. 2023's
#: figure 4 in equal parts.
COMMON_MIX = ("uniform=1,stencil=1,ring=1",)

#: As a mix: the traffic of a job follows from its GRAP mode.
BY_MODE = "by-mode"


#: Largest number of nodes that the engine counts.
_MOST_NODES = 2**32 - 1


@dataclass(frozen=True)
class Mix:
    """The traffic of jobs of some size.

    Attributes:
        shares: Traffics and their shares of the jobs, in any unit.
        first: Fewest nodes.
        last: Most nodes; ``None`` for no limit.
        user: Jobs of this user only.
        name: Jobs that the log calls by this name only.
    """

    shares: Mapping[str, float]
    first: int = 1
    last: int | None = None
    user: str | None = None
    name: str | None = None

    @classmethod
    def read(cls, text: str) -> Mix:
        """Reads ``[FROM..TO:]NAME[=SHARE],…``, such as ``576..65536:adaptive=40%,custom=60%``.

        Raises:
            JobLogError: If it is none.
        """
        one = read("mix", "mix", text)
        last = None if one["to"] == _MOST_NODES else one["to"]
        return cls(dict(one["shares"]), one["from"], last, one.get("user"), one.get("name"))

    def for_engine(self) -> dict[str, Any]:
        """In the engine's form."""
        last = _MOST_NODES if self.last is None else self.last
        form = {"from": self.first, "to": last, "shares": list(self.shares.items())}
        asked = {"user": self.user, "name": self.name}
        return {**form, **{key: value for key, value in asked.items() if value is not None}}


def mixes_for_engine(mixes: Sequence[Mix | str]) -> list[dict[str, Any]]:
    """Mixes in the engine's form.

    Raises:
        JobLogError: If a text is none.
    """
    read = [one if isinstance(one, Mix) else Mix.read(one) for one in mixes]
    return [one.for_engine() for one in read]


def feng2023_modes(nodes: int, groups: int) -> tuple[str, ...]:
    """The GRAP modes that Feng et al. 2023, section 5.1.4, assume users to choose.

    Large jobs from two groups to 79 % of the machine (576 to 65,536 of 82,944 nodes in groups of
    288) use Minimal Balance (40 %), Adaptive (40 %), Custom Balance (10 %) and Custom (10 %), all
    other large ones Minimal Balance.

    Args:
        nodes: Nodes of the machine.
        groups: Its groups.

    Returns:
        Mixes for jobs that are larger than a group.
    """
    group = -(-nodes // groups)
    least, most = 2 * group, round(nodes * 65_536 / 82_944)
    if least > most:
        return (f"{group + 1}..:minimal-balance",)
    return (
        f"{group + 1}..{least - 1}:minimal-balance",
        f"{least}..{most}:minimal-balance=40%,adaptive=40%,custom-balance=10%,custom=10%",
        f"{most + 1}..:minimal-balance",
    )


def _share(text: str) -> float:
    """A number, or per cent.

    Raises:
        ValueError: If it is neither.
    """
    text = text.strip()
    return finite(text[:-1]) / 100 if text.endswith("%") else finite(text)


@dataclass(frozen=True)
class Network(ABC):
    """What every level of a network has: :class:`SpeedUps` and :class:`SharedLinks`.

    Attributes:
        mix: The traffic of jobs by size, as :class:`Mix` or its text; who is in none does not
            use the network. Or ``"by-mode"``: it follows from the job's GRAP mode.
        communication_share: How much of their run time jobs communicate: ``"log"`` (what the
            log says; where it says nothing the mean of the jobs of that size class), a share
            such as ``0.3``, or two between which it is drawn, ``(0.1, 0.5)`` or ``"0.1..0.5"``.
        seed: Of what is drawn.
    """

    mix: Sequence[Mix | str] | str = ()
    communication_share: str | float | tuple[float, float] = "log"
    seed: int = 1

    @abstractmethod
    def level(self) -> dict[str, Any]:
        """The level and its parameters in the engine's form."""

    def groups(self) -> int | None:
        """Groups of the machine, where it knows them."""
        return None

    def for_engine(self) -> dict[str, Any]:
        """In the engine's form.

        Raises:
            JobLogError: If a parameter makes no sense.
        """
        mix = None
        if self.mix != BY_MODE:
            given = [self.mix] if isinstance(self.mix, str) else self.mix
            mix = mixes_for_engine(given)
        return {
            "mix": mix,
            "communication_share": communication_share_for_engine(self.communication_share),
            "seed": self.seed,
            "level": self.level(),
        }


def communication_share_for_engine(share: str | float | tuple[float, float]) -> Any:
    """How much of their time jobs communicate, in the engine's form.

    Raises:
        OptionError: If it is none.
    """
    if isinstance(share, str):
        return read("mpi-share", "communication share", share)
    return {"between": list(share)} if isinstance(share, tuple) else {"fixed": float(share)}


def injection_for_engine(share: str | float) -> float:
    """A part of a link's rate.

    Raises:
        OptionError: If it is none.
    """
    if isinstance(share, str):
        return float(read("injection", "injection", share))
    return float(share)


@dataclass(frozen=True)
class SpeedUps(Network):
    """Speed-ups from a table: accelerated time = time − communication time × speed-up.

    Feng et al. 2023, section 5.1.4. Which other jobs run makes no difference.

    Attributes:
        speed_ups: The part of its communication's time that a traffic saves, by nodes; linear in
            the logarithm of the size in between, and that of the nearest beyond.
    """

    speed_ups: Mapping[str, Mapping[int, float]] | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], **others: Any) -> SpeedUps:
        """Reads a CSV file with the columns ``traffic``, ``nodes``, ``speed_up``.

        Args:
            path: The file.
            others: The other attributes.

        Raises:
            JobLogError: If it is none.
        """
        speed_ups: dict[str, dict[int, float]] = {}
        rows = csv_rows(read_text(path, JobLogError), str(path), JobLogError)
        _, header = next(rows, (1, []))
        wanted = ("traffic", "nodes", "speed_up")
        if missing := [name for name in wanted if name not in header]:
            raise JobLogError(
                f"{path}: found no column {', '.join(missing)}; allowed: a CSV file with the "
                "columns traffic, nodes, speed_up"
            )
        columns = [header.index(name) for name in wanted]
        for line, row in rows:
            traffic, nodes, gain = (row[at] if at < len(row) else "" for at in columns)
            try:
                speed_ups.setdefault(traffic, {})[int(nodes)] = _share(gain)
            except ValueError:
                raise JobLogError(
                    f"{path}, line {line}: found {nodes:.40} nodes, speed-up {gain:.40}; allowed: "
                    "a whole number and a share such as 0.32"
                ) from None
        return cls(speed_ups=speed_ups, **others)

    def level(self) -> dict[str, Any]:
        """The level and its parameters in the engine's form."""
        tables = []
        for traffic, gains in (self.speed_ups or {}).items():
            sizes = sorted(gains)
            gain = [gains[size] for size in sizes]
            tables.append({"traffic": traffic, "nodes": sizes, "speed_up": gain})
        return {"table": {"speed_ups": tables}}


@dataclass(frozen=True)
class SharedMachine(Network):
    """Running jobs share the network of a machine.

    Traffics of the mix are ``uniform`` (every node to every other), ``stencil`` (six neighbours in
    a grid), ``neighbouring`` (eight, four of them a group's nodes or two away), ``ring`` (two) and
    ``halves`` (the one half of the job away).

    Attributes:
        machine: Scenario file, or scenario, whose ``[network]`` the jobs run on. On a
            reconfigurable dragonfly with ``circuits = "jobs"`` large jobs get circuits of their
            own when they begin; that needs GRAP.
        injection: Part of its link's rate that a node sends at while it communicates, such as
            ``0.25`` or ``"25%"``.
        placement: Which free nodes a job gets, where the scheduler only counts them:
            ``contiguous``, ``spread``, ``random-node``, ``random-router``, ``random-group``,
            ``even``, ``level-spread``, ``hybrid``, ``best-fit``.
        switch_delay: How long a job stands still at its beginning while circuits are set for it,
            if any changes.
        applications: Scenario with the ``[[job]]``s whose names the mix may have; a job then does
            what that one says, and its network sees its messages. By default the machine's.
        is_queue: The jobs of `applications` are the log, in its order.
        windows: File that keeps what windows of applications came to, so that a schedule that was
            interrupted goes on from there.
        window_iterations: With applications: iterations that a job goes through at most in a
            window; where an iteration of another takes longer, a part of it is simulated. By
            default 8.
    """

    machine: ScenarioLike | None = None
    injection: float | str = FlowNetwork.keys["injection"].default
    placement: str = "contiguous"
    switch_delay: str = str(FlowNetwork.keys["switch_delay"].default)
    applications: Scenario | None = None
    is_queue: bool = False
    windows: str | os.PathLike[str] | None = None
    window_iterations: int | None = None

    def for_engine(self) -> dict[str, Any]:
        """In the engine's form, with the applications that the mix names.

        Raises:
            JobLogError: If a parameter makes no sense.
        """
        form = super().for_engine()
        source = self.applications or self.scenario()
        scenario = source.normalised()
        placed = ["placement" in job.as_written() for job in source.job]
        pairs = list(zip(scenario["jobs"], placed, strict=True))
        if self.is_queue:
            pairs.sort(key=lambda pair: pair[0].get("submit_s") or 0)
        jobs = [job for job, _ in pairs]
        names = {job["name"] for job in jobs}
        drawn = {name for one in form["mix"] or () for name, _ in one["shares"]}
        if self.is_queue or names & drawn:
            form["applications"] = {
                "jobs": jobs,
                "placed": [is_placed for _, is_placed in pairs],
                "simulation": scenario["simulation"],
                "mpi": scenario["mpi"],
                "seed": self.seed,
                "queue": self.is_queue,
                "window_iterations": self.window_iterations,
                "keep": None if self.windows is None else os.fspath(self.windows),
            }
        else:
            noise = "a noise of ranks" if source.mpi.noise else None
            for key, found in (
                ("windows", self.windows),
                ("window_iterations", self.window_iterations),
                ("mpi.noise", noise),
            ):
                if found is not None:
                    allowed = "nothing, as no job has an application"
                    raise JobLogError(f"{key}: found {found}; allowed: {allowed}")
        return form

    def nodes(self) -> int:
        """Nodes of the machine that are not out of service.

        Raises:
            JobLogError: If it cannot be built.
        """
        from odonata import _engine
        from odonata.batch.engine import ask

        form = {**self.scenario().normalised(), "jobs": []}
        wiring = ask(_engine.topology, json.dumps(form))
        working = len(wiring["node_router"]) - int(sum(wiring.get("node_out_of_service", ())))
        # Of nodes with an inside the wiring has the ranks.
        ranks: int = (form["network"].get("node") or {"ranks": 1})["ranks"]
        return working // ranks

    def scenario(self) -> Scenario:
        """The scenario of the machine.

        Raises:
            JobLogError: If none is given.
        """
        from odonata.scenario import as_scenario

        machine = self.machine
        if machine is None:
            raise JobLogError("network: names no machine; give a scenario file with a [network]")
        return as_scenario(machine)

    def groups(self) -> int | None:
        """Groups of the machine, where its family says so."""
        groups = self.scenario().normalised()["network"]["topology"].get("g")
        return int(groups) if groups else None

    def sets_circuits_for_jobs(self) -> bool:
        """Whether the machine's circuits are set for its jobs.

        Raises:
            JobLogError: If no machine is given.
        """
        return bool(self.scenario().normalised()["network"]["topology"].get("circuits") == "jobs")

    def machine_for_engine(self) -> dict[str, Any]:
        """The machine in the engine's form.

        Raises:
            JobLogError: If a parameter makes no sense.
        """
        from odonata.units import Duration, UnitError

        try:
            delay = int(Duration(self.switch_delay))
        except UnitError as error:
            raise JobLogError(f"switch delay: {error}") from None
        return {
            "machine": self.scenario().normalised()["network"],
            "injection": injection_for_engine(self.injection),
            "placement": {"policy": self.placement},
            "switch_delay_ps": delay,
        }


@dataclass(frozen=True)
class SharedLinks(SharedMachine):
    """Running jobs share the links of a machine, as flows."""

    def level(self) -> dict[str, Any]:
        """The level and its parameters in the engine's form."""
        return {"flow": self.machine_for_engine()}


@dataclass(frozen=True)
class SharedPackets(SharedMachine):
    """Running jobs share the network of a machine packet by packet.

    Whenever jobs have begun or ended, a window of the traffic of all that run is simulated. For
    small machines and short logs: a window of 72 nodes takes hundredths of a second.

    Attributes:
        warmup: Simulated time before anything counts.
        window: Simulated time in which it counts.
        message: Size of a message.
        stretch: What stretches a job's communication: ``throughput``, the part of what it sends
            that arrives; or ``latency``, that or how much longer its messages take than alone,
            whichever is worse.
    """

    warmup: str = str(PacketNetwork.keys["warmup"].default)
    window: str = str(PacketNetwork.keys["window"].default)
    message: str = str(PacketNetwork.keys["message"].default)
    stretch: str = PacketNetwork.keys["stretch"].default

    def level(self) -> dict[str, Any]:
        """The level and its parameters in the engine's form."""
        from odonata.units import Duration, Size, UnitError

        if self.stretch not in names.STRETCH:
            raise OptionError("stretch", f'"{self.stretch}"', ", ".join(names.STRETCH))
        numbers: dict[str, int] = {}
        for key, unit, text in (
            ("warmup_ps", Duration, self.warmup),
            ("window_ps", Duration, self.window),
            ("message_bytes", Size, self.message),
        ):
            try:
                numbers[key] = int(unit(text))
            except UnitError as error:
                raise JobLogError(f"{key.rpartition('_')[0]}: {error}") from None
        simulation = self.scenario().normalised()["simulation"]
        return {
            "packet": {
                "machine": self.machine_for_engine(),
                "packet_bytes": simulation["packet_bytes"],
                "stretch": self.stretch,
                **numbers,
            }
        }
