"""What tables of a kind have in common beside keys: networks, motifs and traffic."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from odonata import _engine
from odonata.plug_ins.forms import with_plug_in
from odonata.table import Key, Table

#: The warning about UGAL-L where no rule is known that serves uniform and adversarial traffic alike
#: (``docs/adaptive-routing.md``).
UGAL_L_ON_GRIDS = (
    'routing = "ugal-l" knows too little in the 2-D groups of a Cray XC: by its default threshold '
    'it may deliver half of what minimal or Valiant routing does. Use "par" or "ugal-g", or give '
    "a threshold of your own"
)

_ROUTING = """\
How packets are routed: the name of an algorithm, or a table with its parameters. Default:
`tago` on a reconfigurable dragonfly with all-to-all groups, `up-down` on a fat tree,
`dimension-order` on a torus or HyperX, else `minimal` if the network has groups and
`shortest-path` if it has none; with `family = "codes"` it depends on the model of the
configuration."""


def _keys(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


class LinkClasses(Table):
    """Link classes of a network."""


class NetworkBase(Table):
    """What every family of networks has."""

    keys = _keys(
        Key(key="router", text="The router model.", kind={"table": "Router"}, default={}),
        Key(key="nic", text="The network interface of a node.", kind={"table": "Nic"}, default={}),
        Key(
            key="routing",
            text=_ROUTING,
            kind={"table": "Routing"},
            short="algorithm",
            called="a name",
            optional=True,
        ),
    )
    chooser = "family"

    #: The link classes as the family declares them; nothing if they are those of a file.
    link_facts: ClassVar[dict[str, Any] | None] = None

    def link_classes(self) -> list[str]:
        """Names of the link classes that this network has, but for those that the engine has."""
        if self.link_facts is None:
            return [*self.links]
        given_only = self.link_facts["given_only"]
        only_given = given_only is not None and self._holds(given_only)
        only = {one["name"]: one["only"] for one in self.link_facts["classes"]}
        return [
            key.key
            for name, key in type(self.links).keys.items()
            if (not only_given or self.links.is_given(name))
            and (not only.get(key.key) or any(map(self._holds, only[key.key])))
        ]

    def _holds(self, tests: Iterable[tuple[str, Any]]) -> bool:
        """Whether keys are given, or not, or have some values, as the engine declares it."""
        for key, test in tests:
            value = getattr(self, key)
            if isinstance(test, str):
                if (value is not None) != (test == "given"):
                    return False
            elif (value == next(iter(test.values()))) != ("is" in test):
                return False
        return True

    def notices(self, directory: Path) -> list[str]:
        """What a person should know about the files that it is read from, sentences."""
        return []

    def notices_of_routing(self, directory: Path) -> list[str]:
        """What a person should know about how packets are routed here by default, sentences."""
        routing = self.routing
        if isinstance(routing, Table):
            plain = routing.threshold is None and routing.queue is None
            routing = routing.algorithm if plain else None
        is_known_to_fall_short = routing == "ugal-l" and self._groups_are_grids(directory)
        return [UGAL_L_ON_GRIDS] if is_known_to_fall_short else []

    def _groups_are_grids(self, directory: Path) -> bool:
        """Whether groups are those of a Cray XC, which alone have links along columns."""
        return "black" in self.link_classes()


class ConfiguredNetwork(NetworkBase):
    """A network of which a configuration of CODES may say more than what is wired."""

    def _facts(self, directory: Path) -> dict[str, Any]:
        """What the configuration says besides the network.

        Nothing if it cannot be read: the engine says so where it builds the network.
        """
        if self.file is None:
            return {}
        try:
            return _engine.codes_facts(str(directory / self.file))
        except _engine.SpecError:
            return {}

    def notices(self, directory: Path) -> list[str]:
        """What of the configuration is not used."""
        found: list[str] = self._facts(directory).get("notices", [])
        return found

    def _groups_are_grids(self, directory: Path) -> bool:
        return bool(self._facts(directory).get("model") == "dragonfly_custom")


class DiscoveredNetwork(NetworkBase):
    """A network of which it matters what is counted as its nodes."""

    def notices(self, directory: Path) -> list[str]:
        """What is a node, and what is left out."""
        from odonata.network.subnets import counted, read_subnet

        spread = "each port is a node"
        if self.interfaces == "joined":
            spread = (
                "each is one node on the switch of its first adapter, with the bandwidth of all; "
                'interfaces = "nodes" makes each port a node'
            )
        try:
            subnet = read_subnet(directory / self.file)
        except _engine.SpecError:
            # The engine says so where it builds the network.
            return []
        return counted(subnet, "a node each", spread)


class MotifBase(Table):
    """What every motif has."""

    read_as = "Motif"
    chooser = "kind"

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form; files are found relative to `directory`."""
        data = with_plug_in(self.read_as, self.as_written())
        form = _engine.kind_form(self.read_as, json.dumps(data), str(directory))
        found: dict[str, Any] = json.loads(form)
        return found


class TrafficBase(MotifBase):
    """What all open-loop traffic has."""

    read_as = "Traffic"
    chooser = "pattern"


class LevelBase(Table):
    """A level of the network of a schedule."""

    read_as = "ScheduleNetwork"
    chooser = "level"

    @property
    def is_by_mode(self) -> bool:
        """Whether traffic follows from the job's GRAP mode."""
        from odonata.batch.network import BY_MODE

        return bool(self.mix == [BY_MODE])

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form: the machine's network in place of its file."""
        from odonata.scenario import Scenario

        form = super().engine_form(directory)
        named = getattr(self, "machine", None)
        if named is not None:
            machine = Scenario.from_file(directory / named).normalised()
            form["machine"] = {
                "network": machine["network"],
                "packet_bytes": machine["simulation"]["packet_bytes"],
            }
        return form
