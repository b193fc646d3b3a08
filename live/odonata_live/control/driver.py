"""What every kind of optical switch can do: the interface of drivers.

A site adds a switch of its own by a class with these methods, see docs/circuit-control.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from odonata.errors import ControlError
from odonata_live.control.circuits import Connection, Connections

if TYPE_CHECKING:
    from odonata_live.control.plant import Switch


class Driver(Protocol):
    """Sets and reads the connections of switches of one kind.

    Methods raise :class:`odonata.errors.DeviceError` if a switch refuses something, does not
    answer in time, or answers nonsense. Whatever they raise: the controller reads the switch again
    before it does anything else, and takes nothing for granted that it has not read.

    Attributes:
        keeps_jobs: Whether a switch itself remembers the job of a connection, so that
            :meth:`read` can tell it; otherwise `read` gives 0 for all.
    """

    keeps_jobs: bool

    def read(self, switch: Switch) -> Connections:
        """All connections that the switch has now: what it holds, not what was sent to it."""
        ...

    def make(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """Makes connections. May return before they are there.

        Both ports of each are dark, or joined to each other already: then only its job changes,
        and light goes on without a gap.
        """
        ...

    def break_(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """Breaks connections that are there, and no others. May return before they are gone."""
        ...

    def barrier(self, switch: Switch) -> None:
        """Returns when everything that was sent before is done; raises if it was refused."""
        ...

    def close(self) -> None:
        """Ends connections to switches; they keep what they have."""
        ...


#: A driver from the keys of its table in the plant's file, less `kind`, and the descriptor of
#: the lock that children which change switches must inherit.
Maker = Callable[[Mapping[str, Any], int], Driver]

#: Module of each driver that comes with Odonata; it has a function `driver`, a :data:`Maker`.
KINDS = {
    "openflow": "odonata_live.control.drivers.openflow",
    "mirred": "odonata_live.control.drivers.mirred",
    "recorder": "odonata_live.control.drivers.recorder",
}


def make_driver(name: str, table: Mapping[str, Any], lock: int) -> Driver:
    """The driver of a table `[driver.NAME]`.

    Args:
        name: Its name.
        table: Its keys. `kind` is one of :data:`KINDS`, or `package.module` of a site's own.
        lock: Descriptor of the lock.

    Raises:
        ControlError: If there is no such kind, or a key is wrong.
    """
    keys = dict(table)
    kind = keys.pop("kind", None)
    where = f"[driver.{name}]"
    if not isinstance(kind, str) or not all(part.isidentifier() for part in kind.split(".")):
        raise ControlError(
            f"{where} kind: found {kind!r}; allowed: {', '.join(KINDS)}, or the name of a module"
        )
    if kind not in KINDS and "." not in kind:
        raise ControlError(
            f"{where} kind: found {kind!r}; allowed: {', '.join(KINDS)}, or package.module of a "
            "driver of your own"
        )
    try:
        maker: Maker = importlib.import_module(KINDS.get(kind, kind)).driver
    except (ImportError, AttributeError) as error:
        raise ControlError(f"{where} kind {kind}: cannot be loaded: {error}") from error
    try:
        return maker(keys, lock)
    except ControlError as error:
        raise ControlError(f"{where} {error}") from error


def only(keys: Mapping[str, Any], allowed: Mapping[str, type | tuple[type, ...]]) -> None:
    """Checks the keys of a driver's table.

    Raises:
        ControlError: If there is one that is not allowed, or of another type.
    """
    for key, value in keys.items():
        if key not in allowed:
            names = ", ".join(allowed) or "none"
            raise ControlError(f"{key}: no such key; allowed: {names}")
        if not isinstance(value, allowed[key]) or isinstance(value, bool):
            raise ControlError(f"{key}: found {value!r}; allowed: {allowed[key]}")
