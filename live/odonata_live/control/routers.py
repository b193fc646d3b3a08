"""Connections to the OpenFlow routers of a plant."""

from __future__ import annotations

from odonata_live.control.drivers.openflow import OpenFlow, Session, driver
from odonata_live.control.plant import Plant, Switch


class Routers:
    """Connections that are opened when they are first asked for, and stay until :meth:`close`.

    Args:
        plant: With routers.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._drivers: dict[str, OpenFlow] = {}

    def _as_switch(self, number: int) -> Switch:
        router = self._plant.routers[number]
        return Switch(router.name, router.driver, 0, True, router.device)

    def session(self, number: int) -> Session:
        """The connection to a router, by its number in the plant.

        Raises:
            DeviceError: If the router does not answer.
        """
        name = self._plant.routers[number].driver
        if name not in self._drivers:
            keys = self._plant.drivers[name]
            own = {key: value for key, value in keys.items() if key != "kind"}
            self._drivers[name] = driver(own, -1)
        return self._drivers[name].session(self._as_switch(number))

    def lose(self, number: int) -> None:
        """Ends the connection to a router, if there is one: the next call opens a new one."""
        if found := self._drivers.get(self._plant.routers[number].driver):
            found.lose(self._as_switch(number))

    def is_open(self, number: int) -> bool:
        """Whether there is a connection to a router."""
        router = self._plant.routers[number]
        return router.driver in self._drivers and self._drivers[router.driver].is_open(router.name)

    def close(self) -> None:
        """Ends all connections; routers keep their entries."""
        for one in self._drivers.values():
            one.close()
        self._drivers.clear()
