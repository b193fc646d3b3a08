"""A switch that is a file: for tests, rehearsals, and sites without switches yet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from odonata.bounded import read_json
from odonata.errors import DeviceError
from odonata.output import rewrite
from odonata_live.control.circuits import Connection, Connections
from odonata_live.control.driver import only
from odonata_live.control.plant import Switch


class Recorder:
    """Keeps connections of switches in a file each, which it replaces as a whole.

    Refuses what a real switch would not do either: a port in two connections, and breaking what is
    not there.
    """

    keeps_jobs = True

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: What was asked, in order: method, switch, connections.
        self.calls: list[tuple[str, str, tuple[Connection, ...]]] = []

    def _file(self, switch: Switch) -> Path:
        return self.directory / f"{switch.name}.json"

    def read(self, switch: Switch) -> Connections:
        """As the interface says."""
        self.calls.append(("read", switch.name, ()))
        return self._held(switch)

    def _held(self, switch: Switch) -> Connections:
        try:
            rows = read_json(self._file(switch))
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError) as error:
            raise DeviceError(f"switch {switch.name}: {error}") from error
        return frozenset(Connection(*row) for row in rows)

    def make(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """As the interface says."""
        self.calls.append(("make", switch.name, tuple(connections)))
        held = self._held(switch)
        for connection in connections:
            held = frozenset(c for c in held if c.ends != connection.ends)
            for other in held:
                if connection.ingress == other.ingress or connection.egress == other.egress:
                    raise DeviceError(
                        f"switch {switch.name}: {connection.ends} meets {other.ends}: a port takes "
                        "one connection"
                    )
            held |= {connection}
        self._write(switch, held)

    def break_(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """As the interface says."""
        self.calls.append(("break", switch.name, tuple(connections)))
        held = self._held(switch)
        ends = {connection.ends for connection in connections}
        if missing := ends - {c.ends for c in held}:
            raise DeviceError(f"switch {switch.name}: there is no connection {min(missing)}")
        self._write(switch, (c for c in held if c.ends not in ends))

    def _write(self, switch: Switch, connections: Iterable[Connection]) -> None:
        rows = [[c.ingress, c.egress, c.job] for c in sorted(connections)]
        try:
            rewrite(self._file(switch), json.dumps(rows))
        except OSError as error:
            raise DeviceError(f"switch {switch.name}: {error}") from error

    def barrier(self, switch: Switch) -> None:
        """As the interface says: writing has ended."""
        self.calls.append(("barrier", switch.name, ()))

    def close(self) -> None:
        """As the interface says."""


def driver(keys: Mapping[str, Any], lock: int) -> Recorder:
    """A recorder in the directory `directory`."""
    only(keys, {"directory": str})
    return Recorder(Path(keys.get("directory", ".")))
