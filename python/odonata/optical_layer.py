"""Optical switches of hierarchical networks: the table `[network.optical]`."""

from __future__ import annotations

from pydantic import model_validator

from odonata import names
from odonata.model import Count, FileName, Table
from odonata.problem import requires


class OpticalLayer(Table):
    """Optical switches between the leaves of a fat tree and the switches above them.

    They decide to which pod's switches an uplink of a leaf leads; links down stay
    (Michelogiannakis et al. 2019, section 4.3). A pod is here what lies below one switch of
    level 2.
    """

    switch_ports: Count = 16
    """Ports on either side of a switch: ingress ports, where uplinks leave leaves, and egress
    ports, where they come to switches of level 2."""
    links_per_switch: Count = 1
    """Uplinks of every pod on each switch, a divisor of those of a pod's leaves. A switch joins
    switch_ports / links_per_switch neighbouring pods: with 1 as many as it has ports, by one link
    of a leaf each; with half of `switch_ports` two, by many."""
    circuits: names.UplinkCircuits = "unsteered"
    """Which circuits are set for the run: every uplink to its own pod (`unsteered`), by what the
    jobs send from pod to pod (`jobs`; algorithm 1 of Michelogiannakis et al. 2019), or those of a
    list (`file`)."""
    circuits_file: FileName | None = None
    """With `circuits = "file"`: the list, relative to the scenario: `switch ingress egress` in
    every line. Ports that no line names keep the circuit that they have unsteered."""

    @model_validator(mode="after")
    def _consistent(self) -> OpticalLayer:
        listed = self.circuits == "file"
        requires(self, "circuits_file", when=listed, why='circuits = "file"')
        return self
