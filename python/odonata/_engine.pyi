"""The engine: the Rust side of Odonata. People use the functions of the package instead."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

VERSION: str
"""Version of the engine."""
SOURCES: str
"""Names its sources: others may simulate otherwise, whatever their version says."""

MOST_TEXT_BYTES: int
"""Most bytes of a text that is read whole."""

class SpecError(Exception):
    """A scenario that cannot be simulated as written.

    Its ``args`` are the key path, the message, and what was found and what is allowed, empty
    where unknown.
    """

    args: tuple[str, str, str, str]

class SimulationError(Exception):
    """A simulation that could not go on, or a proof without verdict."""

class CheckpointError(Exception):
    """A checkpoint that is missing, damaged, or of another run, version or build."""

class InternalError(Exception):
    """A defect of the engine; please report it."""

class ProgressReport(TypedDict):
    """How far a run is: simulated time, what was delivered, and which fraction is done."""

    now_ps: int
    packets_delivered: int
    bytes_delivered: int
    packet_hops: int
    fraction: float

class JobLog:
    """A job log that the engine holds."""

    @staticmethod
    def read(path: str, spec_json: str) -> JobLog:
        """Reads a log; options as JSON."""

    @staticmethod
    def generate(spec_json: str) -> JobLog:
        """Draws a synthetic log; parameters as JSON."""

    @staticmethod
    def from_columns(
        given: dict[str, Any],
        epoch: int | None = None,
        machine_nodes: int | None = None,
        machine_processors: int | None = None,
        header: list[tuple[str, str]] = ...,
        unit: str = ...,
        unit_because: str = ...,
        processors_per_node: int | None = None,
    ) -> JobLog:
        """A log from columns: int64 and float64 arrays, lists of texts."""

    def scaled(self, spec_json: str) -> JobLog:
        """The log scaled; factors as JSON."""

    def __len__(self) -> int:
        """Number of jobs."""

    def columns(self) -> dict[str, Any]:
        """The columns by name; ``names`` lists the texts of labels."""

    def meta(self) -> dict[str, Any]:
        """What the log says of itself."""

    def report(self) -> dict[str, Any] | None:
        """What the reader counted; ``None`` for a log that was not read."""

    def swf(self) -> bytes:
        """The log in the Standard Workload Format."""

    def schedule(
        self, spec_json: str, progress: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]:
        """Simulates the log; options as JSON. Returns tables and ``meta``."""

    def schedule_as_slurm(
        self, spec_json: str, progress: Callable[[int, int], object] | None = None
    ) -> dict[str, Any]:
        """Simulates the log as Slurm schedules it; options as JSON."""

    def outages_by_network(self, network_json: str) -> list[tuple[list[int], int, int | None]]:
        """Nodes that the failures of a network, in JSON, take out during the log.

        Returns:
            These of each outage, when they fail and, or ``None``, work again, in the log's time.
        """

    def recorded(self, spec_json: str) -> dict[str, Any]:
        """The schedule that the log recorded, with the figures of a simulated one."""

class ClusterPlacement:
    """A cluster's wiring and how jobs are placed on it: the functions that simulations use."""

    def __init__(
        self,
        router_of_node: list[int],
        group_of_router: list[int],
        policy: str = ...,
        mode: str = ...,
        seed: int = ...,
    ) -> None:
        """A cluster.

        Args:
            router_of_node: Number of the router that each node is attached to.
            group_of_router: Number of each router's group.
            policy: One of ``cluster_policies``.
            mode: Of large jobs under GRAP; where it needs numbers, those that simulations give.
            seed: Of policies that draw.

        Raises:
            SpecError: If there is no such policy or mode, or the wiring is none.
        """

    def decide(
        self,
        *,
        now: int,
        out: list[int],
        holders: list[tuple[int, list[int]]],
        queue: list[tuple[int, int, int | None, int]],
        sets: list[list[int]],
        withheld: list[tuple[int, int, list[int]]],
        depth: int,
    ) -> tuple[
        list[tuple[int, list[int], list[int], bool]], list[tuple[int, int | None, bool, str]]
    ]:
        """Looks at a queue once, as a simulation does in every pass. Times are in any unit.

        Args:
            now: The time.
            out: Nodes that no job may be given; those of running jobs may be among them.
            holders: Jobs that hold nodes: expected end, nodes.
            queue: Waiting jobs in order: nodes, believed run time, which of the sets of nodes they
                may have, what seeds policies that draw.
            sets: These sets.
            withheld: Reservations: start, end, nodes.
            depth: How many of the first jobs that cannot start get a reservation; 0: none
                overtakes.

        Returns:
            Jobs that start, with nodes, numbers of groups of their own, and whether they overtake;
            the others with their expected start, if they have a reservation, whether not even the
            idle cluster would hold them, and why they wait.

        Raises:
            SpecError: If there is no such node or set.
        """

class JobsOnNetwork:
    """Jobs on named nodes of a machine whose links they share as flows, and their speeds."""

    def __init__(self, spec_json: str, sizes: list[int], *, owned: bool) -> None:
        """A machine without jobs.

        Args:
            spec_json: The network of a schedule, level ``flow``, as JSON.
            sizes: Nodes of all jobs that may come; what each does is drawn by its place here.
            owned: Whether large jobs will have groups of their own, so that a machine whose
                circuits are set for jobs sets them; otherwise they join all groups alike.

        Raises:
            SpecError: If the network is another one, or what jobs do is left to a log or to modes.
        """

    def nodes_of_group(self) -> list[list[int]]:
        """Nodes of every group of the machine, ascending."""

    def begin(self, job: int, nodes: list[int], *, shares: bool) -> float:
        """A job begins on these nodes: seconds until its circuits pass light, if any changes.

        Args:
            job: Its place in `sizes`.
            nodes: The machine's nodes that it has.
            shares: It has its groups with other jobs: it gets no circuits, and goes by links that
                join all groups alike.

        Raises:
            SpecError: If there is no such job or node, another job has a node, or its groups
                cannot have circuits of their own.
        """

    def end(self, job: int) -> None:
        """A job ends; of one that has not begun nothing does."""

    def settle(self) -> list[tuple[int, float]]:
        """Jobs with new speeds after all that began and ended at a time.

        In seconds of work per second; who never had one goes at 1.
        """

def cluster_policies() -> list[tuple[str, str]]:
    """Policies of ``ClusterPlacement``: name and text of each."""

def registry() -> list[dict[str, Any]]:
    """All that is called by a name: lists with their entries, of name, text and options."""

def tables() -> list[dict[str, Any]]:
    """Tables of a scenario that are declared: name, text, keys and rules of each."""

def families() -> list[dict[str, Any]]:
    """Families of networks: name, table, routing and links of each."""

def kinds() -> list[dict[str, Any]]:
    """Tables of which a key says the kind: name, key, kinds and plug-in of each."""

def forms() -> list[dict[str, Any]]:
    """Values that have one of several forms: name, text and forms of each."""

def schedule_tables() -> dict[str, Any]:
    """The tables of `[schedule]`, and the ``levels`` of its network."""

def study_tables() -> list[dict[str, Any]]:
    """The tables of study files, as `tables`."""

def written(grammar: str, text: str, orders: Sequence[str]) -> str:
    """What a text of a grammar says, as JSON; ``ValueError`` with what was found and allowed."""

def kind_form(name: str, text: str, directory: str) -> str:
    """The engine's form of a motif or traffic in JSON; ``ValueError`` with all mistakes."""

def scenario_form(text: str, directory: str) -> str:
    """A scenario file in the engine's form; ``ValueError`` with all mistakes."""

#: A mistake: key path, message, what was found, what is allowed (empty where unknown).
_Mistake = tuple[str, str, str, str]

def checked(
    text: str, directory: str, plug_ins: Mapping[str, Sequence[str]]
) -> tuple[str, list[_Mistake]]:
    """A scenario in JSON as people write it, and all mistakes in it.

    Every word of two spellings is as its key has it. ``schedule`` is not looked into. ``plug_ins``
    are the names of plug-ins by kind.
    """

def checked_table(
    name: str, text: str, plug_ins: Mapping[str, Sequence[str]]
) -> tuple[str, list[_Mistake]]:
    """One table by itself in JSON, as ``checked`` has it, and all mistakes in it."""

def chosen_algorithm(
    spec_json: str, operation: str, bytes: int, ranks: int, per_node: int
) -> tuple[str, int | None, str | None]:
    """What a scenario's collectives choose: algorithm, bytes of segments, NCCL's protocol."""

def faults(spec_json: str) -> list[_Mistake]:
    """Everything that keeps a scenario in the engine's form from being simulated."""

def read_toml(text: str) -> dict[str, Any]:
    """The values of a TOML text; ``ValueError`` with line and column."""

def read_quantity(kind: str, text: str) -> int:
    """The number of base units; ``ValueError`` with what was found, allowed and meant."""

def check_quantity(kind: str, value: int) -> int:
    """The number, if a quantity may be so large; ``ValueError`` as of `read_quantity`."""

def quantity_text(kind: str, value: int) -> str:
    """The shortest exact text of a number of base units."""

def quantity_facts(
    kind: str,
) -> tuple[str, str, list[tuple[str, int, int]], str, int, str]:
    """Of a kind of quantity: name, base unit, units, an example, the largest, what is accepted."""

def engine_form(text: str, directory: str) -> str:
    """The engine's form of a scenario in JSON; ``ValueError`` with all mistakes."""

def result_tables() -> list[dict[str, Any]]:
    """Tables of a result that the engine fills: name, text and columns of each."""

def key_lines(text: str) -> dict[str, int]:
    """Line of every key of a TOML text by its path; ``ValueError`` if it is none."""

def read_file(path: str | os.PathLike[str], most: int) -> bytes:
    """What a file of at most `most` bytes holds, decompressed; ``OSError`` if it cannot be read."""

class OpenFile:
    """A file that is open for reading, decompressed; ``OSError`` if it cannot be read."""

    def __init__(self, path: str | os.PathLike[str]) -> None: ...
    def read(self, bytes: int) -> bytes:
        """The next bytes; fewer at the end."""

def expand_hostlist(list: str) -> list[str]:
    """Names of the hosts of a list as Slurm writes it; ``ValueError`` if it is none."""

def run(
    spec_json: str,
    progress: Callable[[ProgressReport], object] | None = None,
    *,
    checkpoint_file: str | None = None,
    resume: bool = False,
    every_wall_s: float | None = None,
    every_simulated_ps: int | None = None,
    checkpointed: Callable[[dict[str, Any]], object] | None = None,
    identity_json: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Simulates a scenario.

    Args:
        spec_json: The scenario in normalised form (``Scenario.normalised_json``).
        progress: Is called about five times a second, in the calling thread. What it raises
            ends the run and is raised here. Before that a last checkpoint is written.
        checkpoint_file: Where to write checkpoints. It stays when the run ends.
        resume: Whether to go on from the checkpoint there.
        every_wall_s: Time on the clock between two checkpoints. If neither this nor the next is
            given, a resumed run writes them as often as before.
        every_simulated_ps: Simulated time between two checkpoints.
        checkpointed: Is called with the attributes of a ``CheckpointEvent``.
        identity_json: With `checkpoint_file`: what is simulated; ``result`` must be equal to go
            on, ``keys`` is kept beside it for messages.

    Returns:
        ``meta`` with scalars, and one dict of columns per table: numpy arrays, lists for text.

    Raises:
        SpecError: If the scenario cannot be simulated as written.
        SimulationError: If the simulation could not go on.
        KeyboardInterrupt: If it was interrupted.
        CheckpointError: If it cannot go on from the checkpoint.
        InternalError: If the engine has a defect.
    """

def bench(
    family: str = "dragonfly",
    nodes: int | None = None,
    routing: str | None = None,
    choice: str = "random",
    load: float = 0.5,
    threads: int = 1,
    seed: int = 1,
    progress: Callable[[ProgressReport], object] | None = None,
    duration_ps: int | None = None,
) -> dict[str, Any]:
    """Runs the reference benchmark: uniform random traffic on a network.

    Args:
        family: Of the network, by its name in scenarios.
        nodes: Of a dragonfly 1056, 16512 or 82944. Default: about a thousand.
        routing: Algorithm. Default: the family's.
        choice: How one of several minimal links is chosen.
        load: Offered load as a fraction of the terminal bandwidth.
        threads: Threads that simulate.
        seed: Of every random choice.
        progress: As in ``run``.
        duration_ps: Simulated time after warm-up. Default: by the number of nodes.

    Returns:
        Its figures.

    Raises:
        SpecError: If there is no such network, or the algorithm does not fit it.
        ValueError: If there is no such algorithm or choice.
    """

def optical_plant(
    spec_json: str,
) -> tuple[bool, list[list[tuple[int, int, int]]], list[list[tuple[int, int, int]]]] | None:
    """What the optical switches of a scenario's network are plugged into.

    Returns:
        Whether circuits lead one way, and group, router and port of the router behind every
        ingress and behind every egress port (shape: switches × ports); ``None`` without switches.
    """

def circuits_of_groups(
    spec_json: str, groups: list[int], sent: list[tuple[int, int, int]] | None = None
) -> list[tuple[int, int, int]]:
    """Circuits between the groups of a job that owns their links: switch, port, port.

    Args:
        spec_json: A scenario with a reconfigurable dragonfly.
        groups: The job's.
        sent: Bytes between them, by place in ``groups``; by default as much between every two.

    Raises:
        SpecError: If there are none.
    """

def worth_a_change(
    groups: int,
    sent: list[float],
    before: list[int],
    during: list[int],
    after: list[int],
    margin: float,
    change: float,
) -> tuple[bool, float, float]:
    """Whether other circuits between groups, or pods, are worth the change for what these send.

    Args:
        groups: How many.
        sent: Bytes, row by row, by sender. Shape: groups · groups.
        before: Circuits that are set, in the same shape.
        during: Those of them that stay.
        after: Those that are to be set.
        margin: What these must bring more, as a share.
        change: Share of the time that counts which the change takes.

    Returns:
        That, and what circuits bring before and after it.

    Raises:
        ValueError: If an amount is none, or they are not as many as pairs of groups.
    """

def routes(
    spec_json: str, pairs: list[tuple[int, int]], silent: list[tuple[int, int]] = ...
) -> list[list[tuple[int, int]]]:
    """Ways between pairs of nodes through an idle network.

    Args:
        spec_json: The scenario.
        pairs: Numbers of sender and receiver.
        silent: Ingress ports of a fat tree's optical switches that lead nowhere: switch, port.

    Returns:
        Routers, and the port that a packet leaves each by. Shape: pairs × hops.

    Raises:
        SpecError: If there is no such node, or no way.
    """

def steer_uplinks(
    pods: int,
    amounts: list[float],
    switches: list[tuple[list[int], list[int]]],
    steering: str,
) -> list[list[int]]:
    """Egress port of every ingress port of optical switches between uplinks and pods.

    Args:
        pods: Number of pods.
        amounts: What they send to each other, row by row. Shape: pods × pods.
        switches: Pods of the ingress and of the egress ports of each.
        steering: How circuits are chosen, by name.

    Returns:
        The ports. Shape: switches × radix.

    Raises:
        ValueError: If the traffic or a switch makes no sense.
    """

def topology(spec_json: str, at_ps: int | None = None) -> dict[str, Any]:
    """Describes a scenario's network.

    Args:
        spec_json: The scenario.
        at_ps: When in the run; by default without what fails for all of it.

    Returns:
        ``description`` with figures, and arrays: ``group_of_router`` (and, in 2-D groups,
        ``router_row`` and ``router_column``), ``node_router``, and per link between routers
        ``link_a``, ``link_b`` (routers), ``link_kind`` (1 local, 2 global), ``link_class``.
    """

def bisection(spec_json: str, steps: int = 2_000_000) -> dict[str, Any]:
    """Looks for the bisection width of a scenario's network.

    Args:
        spec_json: The scenario in normalised form.
        steps: Partial assignments at which the search for the exact width gives up.

    Returns:
        The attributes of ``odonata.network.bisection.Width`` that are not of a sweep, ``nodes`` and
        ``routers``.
    """

class KnownRoutes:
    """Routes between the nodes of jobs, found once for several mappings of them.

    Several threads may use it at once.
    """

    def __init__(self) -> None: ...

def mapping(spec_json: str, known: KnownRoutes | None = None) -> dict[str, Any]:
    """Tells what the mappings of a scenario's jobs cost.

    Args:
        spec_json: The scenario in normalised form.
        known: What mappings of the same jobs found out about routes; gets to know more.

    Returns:
        ``network``, and ``jobs``: of each ``job``, ``ranks``, ``nodes``, ``per_iteration``,
        ``bytes``, ``share_in_node``, ``share_in_router``, ``share_in_group``, ``hop_bytes``,
        ``mean_hops``, ``link_time_ns``; the longest time for which a link of each kind is occupied
        (``busiest_terminal_ns``, ``busiest_local_ns``, ``busiest_global_ns``) and which it is
        (without ``_ns``); ``node_of_rank``. ``None`` where nothing is sent.
    """

def program(spec_json: str, job: int, iterations: int) -> str:
    """Lists what the ranks of a job do.

    Args:
        spec_json: The scenario in normalised form.
        job: Its place among the scenario's.
        iterations: How many of them; all that it does if it has fewer.

    Returns:
        JSON: ``channels`` (messages match receives of their own only), ``largest`` (bytes of a
        message), and ``ranks``: for each a list of steps, ``{"compute": ps}``,
        ``{"send": [to, bytes, channel, request]}``, ``{"receive": [from or null, channel,
        request]}``, ``{"wait": [request …]}`` or ``"end"`` of an iteration.
    """

def place(spec_json: str) -> dict[str, Any]:
    """Places a scenario's jobs.

    Args:
        spec_json: The scenario in normalised form.

    Returns:
        ``jobs``, the nodes of each in the order of its placement; ``free``, those that are left.
    """

def verify(
    spec_json: str,
    progress: Callable[[int, int], object] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 1,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Proves that no packets can wait for each other forever, or shows how they could.

    Args:
        spec_json: The scenario in normalised form.
        progress: Is called with the number of destinations done and of all.
        limit: Most hops to consider.
        sample: Walk the routes to so many random destinations only; then it is no proof.
        seed: Of that choice.
        seconds: Longest time; what is known by then is reported, ``proven`` is then False. An
            interruption (``KeyboardInterrupt``) says it in its message.

    Returns:
        ``safe``, ``proven``, ``virtual_channels``, ``channels``, ``dependencies`` (``None``
        if there is a cycle), ``longest_route``, ``cycle`` (texts), ``verdict``, ``network``.
    """

def optical_parts(spec_json: str) -> tuple[int, int, int, bool] | None:
    """The optical switches of a scenario's network: how many, ports of each, connected ones.

    Args:
        spec_json: The scenario in normalised form.

    Returns:
        Switches; ports of each, where circuits lead one way those on either side; ports connected
        on all of them, counted likewise; whether circuits lead one way. None if it has none.

    Raises:
        SpecError: If the parameters make no network.
    """

def export(spec_json: str, format: str) -> str:
    """A scenario's network as the text of a file.

    Args:
        spec_json: The scenario in normalised form.
        format: ``graphml`` or ``edge-list``.

    Raises:
        SpecError: If there is no such format, or the parameters make no network.
    """

def write_otf2(
    path: str, names: str, counts: npt.NDArray[np.uint64], events: npt.NDArray[np.uint64]
) -> None:
    """Writes an OTF2 archive of ranks.

    Args:
        path: Its anchor file; the folder of the same name without ending must not exist.
        names: JSON: ``creator``; ``ticks_per_second``; ``processes``, the name of each location's;
            ``regions``, name, role and programming model of each, as OTF2 numbers them; ``comms``,
            name and locations of each.
        counts: Number of events of each location.
        events: Seven values of each, location by location in the order of time: ticks; kind (12, 13
            region entered, left; 14, 18 message sent, received; 15, 19 without blocking; 16, 17
            request completed, posted); region or peer; communicator; tag; bytes; request.

    Raises:
        OSError: If it cannot be written, or something is not as described.
    """

def trace_summary(path: str, records: int = 0) -> dict[str, Any]:
    """Reads a whole trace file and tells what it holds.

    Args:
        path: A DUMPI trace or job description, a GOAL schedule, the anchor file of an OTF2
            archive, an htsim connection matrix or a packet trace.
        records: How many of its first records to add as texts.

    Returns:
        ``file``, ``format``, ``ranks``, ``records``, ``facts`` by name, ``kinds`` (``kind``,
        ``records``, ``bytes_sent``; most frequent first), ``samples``.

    Raises:
        SpecError: If the file is of no known format or damaged.
        InternalError: If the engine has a defect.
    """

def replay_facts(path: str, options: str = "{}") -> dict[str, Any]:
    """Checks that a trace can be replayed and tells what a replay does.

    Args:
        path: As for `trace_summary`.
        options: JSON: ``ranks`` that the trace must have, or for which one rank's is repeated;
            ``repeat_rank`` (``offset`` or ``xor``), to let one rank's trace stand for all;
            ``start`` and ``end`` of the part that is replayed, as in a normalised scenario.

    Returns:
        ``file``, ``format``, ``ranks``, and ``facts``, a list of names and values.

    Raises:
        SpecError: If the file is of no known format, damaged, or its ranks contradict each other.
        InternalError: If the engine has a defect.
    """

def checkpoint_header(path: str) -> dict[str, Any]:
    """What the checkpoint in a file says about itself.

    Returns:
        ``version``, ``sources``, ``at``, ``scenario`` and ``keys`` (as in ``identity_json``), and
        what the run cost and found so far.

    Raises:
        CheckpointError: If there is no such file or it is no whole checkpoint.
    """

def parts_of_trace(path: str) -> list[str]:
    """All files that a trace consists of, itself first; only itself if it cannot be read."""

def parts_of_codes(path: str) -> list[str]:
    """A configuration of CODES and the lists of links that it names."""

def parts_of_tables(path: str) -> list[str]:
    """The files of a directory of forwarding tables that are read, or the file itself."""

def read_ibnetdiscover(path: str) -> dict[str, Any]:
    """What is cabled in an InfiniBand subnet: ``switches``, ``hosts``, ``cables``."""

def named_graph(path: str, family: str) -> dict[str, Any]:
    """The graph of a wiring file by its names: ``vertices``, ``edges``."""

def starving_classes(classes: str) -> list[str]:
    """Sentences on classes of traffic, in JSON, that may get nothing."""

def codes_facts(path: str) -> dict[str, Any]:
    """What a configuration of CODES says besides the network.

    Returns:
        ``model``; ``routing`` and ``router_delay_ps``, None where they are the scenario's; and
        ``notices``, sentences such as which keys are not used.

    Raises:
        SpecError: If it cannot be read, or has keys that its model does not.
        InternalError: If the engine has a defect.
    """

def tracer_config(path: str) -> dict[str, Any]:
    """The jobs of a configuration of TraceR.

    Returns:
        ``global_map``, and ``jobs``: ``trace``, ``map``, ``ranks`` and ``iterations`` of each; maps
        that it does not name are None.

    Raises:
        SpecError: If the file is none.
        InternalError: If the engine has a defect.
    """

def codes_jobs(workload: str, allocation: str) -> list[dict[str, Any]]:
    """Jobs of a workload file of CODES with the nodes of an allocation file.

    Returns:
        ``name``, ``ranks``, ``nodes`` and ``synthetic`` of each.

    Raises:
        SpecError: If one of the files is damaged or they do not fit each other.
        InternalError: If the engine has a defect.
    """

def default_scenario() -> str:
    """The engine's own defaults, as the normalised form of a dragonfly without jobs."""

def student_t95(degrees: int) -> float:
    """Half the width of a 95 % confidence interval in standard errors (Student's t)."""

def _panic() -> None: ...
