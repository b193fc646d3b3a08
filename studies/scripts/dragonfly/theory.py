"""Saturation throughput of dragonflies in closed form.

All bounds are fractions of a node's injection bandwidth. They hold for all-to-all groups with one
link between any two groups (g = a·h + 1) and links that are all equally fast: the load of the
busiest link is written down as a multiple of the offered load, and must not exceed one.
``pages/dragonfly-theory.md`` derives them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dragonfly:
    """Parameters of a dragonfly with one link between any two groups.

    Attributes:
        p: Nodes per router.
        a: Routers per group.
        h: Global links per router.
    """

    p: int
    a: int
    h: int

    @property
    def g(self) -> int:
        """Groups."""
        return self.a * self.h + 1

    @property
    def nodes(self) -> int:
        """Nodes of the machine."""
        return self.p * self.a * self.g

    @property
    def nodes_per_group(self) -> int:
        """Nodes of a group."""
        return self.p * self.a

    @property
    def leaving(self) -> float:
        """Share of uniform random traffic that leaves its group."""
        return (self.nodes - self.nodes_per_group) / (self.nodes - 1)

    # --- Uniform random ---------------------------------------------------------------

    def uniform_minimal(self) -> float:
        """Minimal routing: the terminal links, unless global or local links are busier."""
        others = self.nodes - 1
        global_load = self.nodes_per_group**2 / others
        local_load = self.p**2 * (2 * self.a * self.h + 1) / others
        return min(1.0, 1 / global_load, 1 / local_load)

    def uniform_valiant_group(self) -> float:
        """Valiant via a random group: two global hops for all traffic that leaves its group."""
        return self.h / (2 * self.p * self.leaving)

    def uniform_valiant_router(self) -> float:
        """Valiant via a random router: up to four local hops besides the two global ones."""
        elsewhere = (self.a - 1) / self.a
        direct = 1 / (self.a - 1)
        within = 1 * direct + 2 * (1 - direct)
        hops = 4 * elsewhere * self.leaving + within * (1 - self.leaving)
        return min(self.uniform_valiant_group(), (self.a - 1) / (self.p * hops))

    # --- ADV+1: every node sends to random nodes of the next group ----------------------

    def adversarial_minimal(self) -> float:
        """Minimal routing: a·p nodes share one link."""
        return 1 / self.nodes_per_group

    def adversarial_valiant(self) -> float:
        """Valiant: two flows on every global link but the direct one.

        One is outward traffic of the link's own group, the other homeward traffic on its second
        link; each is 1/(g - 2) of a group's traffic.
        """
        return (self.g - 2) / (2 * self.nodes_per_group)

    def adversarial_adaptive(self) -> float:
        """Any mixture of minimal and Valiant routes: the direct link is full as well."""
        return self.adversarial_valiant() + self.adversarial_minimal()

    def adversarial_ugal_local(self, candidates: int = 1) -> float:
        """UGAL-L via a group: what cannot be distinguished must fit on the direct link.

        At the a - 1 routers of a group that do not own the direct link, a non-minimal candidate
        leads through one of the owner's other h - 1 global links with probability
        (h - 1)/(g - 2). It then has the same first port, the same queue, and more hops, so that
        the packet goes minimally; with several candidates, if all of them do.
        """
        alike = ((self.h - 1) / (self.g - 2)) ** candidates
        undivertible = (self.a - 1) * self.p * alike
        return min(1 / undivertible, self.adversarial_adaptive())

    def adversarial_ugal_local_node(self) -> float:
        """UGAL-L via the router of any node of the machine, as in BookSim's dragonfly.

        A candidate in the source's own group (1/g) is a minimal route, one in the destination's
        group (1/g) goes over the direct link as well.
        """
        undivertible = 2 * self.nodes_per_group + (self.a - 1) * self.p * (self.h - 1)
        return min(self.g / undivertible, self.adversarial_adaptive())

    # --- ADV+h --------------------------------------------------------------------------

    def adversarial_h_valiant_group(self) -> float:
        """Valiant via a group under ADV+h: h flows on one local link of every intermediate group.

        The groups that a router's h global links lead to all send to groups that the next router
        has the links to (García et al. 2012). Besides, the local link between the two carries what
        its router's own nodes send out over the next router's links, and what arrives for it.
        """
        flow = self.nodes_per_group / (self.g - 2)
        transit = self.h * flow
        outward = self.p * self.h / (self.g - 2)
        arriving = self.h * flow / self.a
        return 1 / (transit + outward + arriving)
