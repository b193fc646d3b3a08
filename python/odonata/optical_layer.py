"""Optical switches of hierarchical networks: the table `[network.optical]`."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from odonata import names
from odonata.model import Count, Delay, FileName, PositiveDuration, Table
from odonata.normal_form import LATER
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
    """Which circuits are set. For the whole run: every uplink to its own pod (`unsteered`), by what
    all jobs send from pod to pod (`jobs`), by a matrix of that (`matrix`), or those of a list
    (`file`). During the run: by what the jobs that run send, anew as jobs begin and end
    (`running-jobs`), or every `period` by what was sent since the last time (`traffic`)."""
    circuits_file: FileName | None = None
    """With `circuits = "file"`: the list, relative to the scenario: `switch ingress egress` in
    every line. Ports that no line names keep the circuit that they have unsteered."""
    matrix_file: Annotated[FileName | None, LATER] = None
    """With `circuits = "matrix"`: what pods send to each other, in any unit: for each pod that
    sends, from pod 0, a line of as many numbers, separated by spaces or commas. Relative to the
    scenario."""
    steering: Annotated[names.UplinkSteering, LATER] = "matching"
    """How circuits are chosen for traffic."""
    period: Annotated[PositiveDuration | None, LATER] = None
    """With `traffic`: how often circuits are set. With `running-jobs`: how often it is looked for
    jobs that have ended; starts are known. Default: 10 us."""
    reconfiguration: Annotated[Delay | None, LATER] = None
    """How long switches take, once nothing is left in the circuits that change, until those pass
    light and routing knows them: 20 us for a switch, 204 ms with the polling of ports by electronic
    switches (Michelogiannakis et al. 2019, section 5). Default: 20 us."""

    @model_validator(mode="after")
    def _consistent(self) -> OpticalLayer:
        listed = self.circuits == "file"
        requires(self, "circuits_file", when=listed, why='circuits = "file"')
        by_matrix = self.circuits == "matrix"
        requires(self, "matrix_file", when=by_matrix, why='circuits = "matrix"')
        return self
