//! Questions that an algorithm asks one of those that it is made of.

use odonata_units::RouterId;

use super::{Hop, PacketRoute, RouterView, Routing, RoutingTask};

/// [`Routing::next_hop`].
pub(super) struct NextHop<'a, V> {
    pub(super) view: V,
    pub(super) at: RouterId,
    pub(super) injected: bool,
    pub(super) route: &'a mut PacketRoute,
}

impl<V: RouterView> RoutingTask for NextHop<'_, V> {
    type Output = Hop;

    fn run<R: Routing>(mut self, routing: &R) -> Hop {
        routing.next_hop(&mut self.view, self.at, self.injected, self.route)
    }
}

/// [`Routing::possible_hops_in_parts`], or without `as_if` all of it as hops of the packet itself.
pub(super) struct PossibleHops<'a> {
    pub(super) at: RouterId,
    pub(super) injected: bool,
    pub(super) route: PacketRoute,
    pub(super) own: &'a mut Vec<(Hop, PacketRoute)>,
    pub(super) as_if: Option<&'a mut Vec<PacketRoute>>,
}

impl RoutingTask for PossibleHops<'_> {
    type Output = ();

    fn run<R: Routing>(self, routing: &R) {
        let (at, injected, route) = (self.at, self.injected, &self.route);
        match self.as_if {
            Some(as_if) => routing.possible_hops_in_parts(at, injected, route, self.own, as_if),
            None => routing.possible_hops(at, injected, route, self.own),
        }
    }
}

/// [`Routing::next_hop_reads_occupancy`].
pub(super) struct NextHopReads {
    pub(super) injected: bool,
    pub(super) route: PacketRoute,
}

impl RoutingTask for NextHopReads {
    type Output = bool;

    fn run<R: Routing>(self, routing: &R) -> bool {
        routing.next_hop_reads_occupancy(self.injected, &self.route)
    }
}
