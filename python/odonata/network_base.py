"""What every family of networks has: links, routing, and what is known of its files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, Tag, model_validator

from odonata import names
from odonata.declared import Nic, Router, Routing
from odonata.model import (
    Bandwidth,
    PositiveDelay,
    PositiveSize,
    Table,
    by_form,
    is_table,
    is_text,
    tag,
)
from odonata.problem import Test, holds, problem
from odonata.units import Duration, Rate


class Link(Table):
    """What all links of one class have in common; both directions have the full bandwidth."""

    bandwidth: Bandwidth = Rate("16 GiB/s")
    """Rate of each direction."""
    latency: PositiveDelay = Duration("30 ns")
    """Propagation delay of each direction."""
    buffer: PositiveSize | None = None
    """Input buffer at the receiving router, per virtual channel. Default: what the link
    carries during one round trip (twice its latency, the router delay and the credit
    delay), plus four packets."""


class NamedLink(Link):
    """A link class of a wiring file."""

    kind: names.LinkKind | None = None
    """Kind of the links. Default: the kind that the class's name says, else `local`."""


class LongLink(Link):
    """The links between groups, and above level 2 of a fat tree."""

    latency: PositiveDelay = Duration("300 ns")
    """Propagation delay of each direction."""


class Links(Table):
    """Link classes of a network."""

    terminal: Link = Field(default_factory=Link)
    """Between nodes and routers."""


RoutingChoice = Annotated[
    Annotated[names.Routing, Tag(tag("a name"))] | Annotated[Routing, Tag(tag("a table"))],
    by_form({"a name": is_text, "a table": is_table}),
]

#: The warning about UGAL-L where no rule is known that serves uniform and adversarial traffic alike
#: (``docs/adaptive-routing.md``).
UGAL_L_ON_GRIDS = (
    'routing = "ugal-l" knows too little in the 2-D groups of a Cray XC: by its default threshold '
    'it may deliver half of what minimal or Valiant routing does. Use "par" or "ugal-g", or give '
    "a threshold of your own"
)

#: Tests of keys that all hold.
Tests = tuple[Test, ...]


class NetworkBase(Table):
    """What every family of networks has."""

    #: Link classes that not every network of the family has, and when one has them.
    links_only: ClassVar[dict[str, tuple[Tests, ...]]] = {}
    #: When only the link classes that are given count, as the engine has the others.
    links_given_only: ClassVar[Tests | None] = None

    router: Router = Field(default_factory=Router)
    """The router model."""
    nic: Nic = Field(default_factory=Nic)
    """The network interface of a node."""
    routing: RoutingChoice | None = None
    """How packets are routed: the name of an algorithm, or a table with its parameters. Default:
    `tago` on a reconfigurable dragonfly with all-to-all groups, `up-down` on a fat tree,
    `dimension-order` on a torus or HyperX, else `minimal` if the network has groups and
    `shortest-path` if it has none; with `family = "codes"` it depends on the model of the
    configuration."""

    def link_classes(self) -> list[str]:
        """Names of the link classes that this network has, but for those that the engine has."""
        links: Links | dict[str, Link] = self.links  # type: ignore[attr-defined]
        if isinstance(links, dict):
            return [*links]
        unused = self._unused_links()
        keys = {name: field.alias or name for name, field in type(links).model_fields.items()}
        if self.links_given_only is not None and holds(self, *self.links_given_only):
            keys = {name: key for name, key in keys.items() if name in links.model_fields_set}
        return [key for key in keys.values() if key not in unused]

    def _unused_links(self) -> list[str]:
        return [
            name
            for name, only in self.links_only.items()
            if not any(holds(self, *tests) for tests in only)
        ]

    @model_validator(mode="after")
    def _with_default_links(self) -> NetworkBase:
        links: Links | dict[str, Link] = self.links  # type: ignore[attr-defined]
        if isinstance(links, dict):
            return self
        unused = self._unused_links()
        for name in unused:
            if name in links.model_fields_set:
                keys = {key: field.alias or key for key, field in type(links).model_fields.items()}
                used = ", ".join(key for key in keys.values() if key not in unused)
                raise problem(f"links.{name}", f"`{name}`, which this network has not", used)
        return self

    def notices(self, directory: Path) -> list[str]:
        """What a person should know about the files that it is read from, sentences."""
        return []

    def notices_of_routing(self, directory: Path) -> list[str]:
        """What a person should know about how packets are routed here by default, sentences."""
        match self.routing:
            case "ugal-l" | Routing(algorithm="ugal-l", threshold=None, queue=None):
                return [UGAL_L_ON_GRIDS] if self._groups_are_grids(directory) else []
        return []

    def _groups_are_grids(self, directory: Path) -> bool:
        """Whether groups are those of a Cray XC, which alone have links along columns."""
        return "black" in self.link_classes()


class ConfiguredNetwork(NetworkBase):
    """A network of which a configuration of CODES may say more than what is wired."""

    def _facts(self, directory: Path) -> dict[str, Any]:
        """What the configuration says besides the network.

        Nothing if it cannot be read: the engine says so where it builds the network.
        """
        from odonata import _engine

        file: str | None = self.file  # type: ignore[attr-defined]
        if file is None:
            return {}
        try:
            return _engine.codes_facts(str(directory / file))
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
        from odonata import _engine
        from odonata.subnets import counted, read_subnet

        joined = self.interfaces == "joined"  # type: ignore[attr-defined]
        spread = "each port is a node"
        if joined:
            spread = (
                "each is one node on the switch of its first adapter, with the bandwidth of all; "
                'interfaces = "nodes" makes each port a node'
            )
        try:
            subnet = read_subnet(directory / self.file)  # type: ignore[attr-defined]
        except _engine.SpecError:
            # The engine says so where it builds the network.
            return []
        return counted(subnet, "a node each", spread)
