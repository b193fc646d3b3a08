//! Minimal routing along all dimensions of a lattice at once, with escape channels.

use odonata_units::RouterId;

use super::channels::channel_count;
use super::choice::{Choice, Emptiest};
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::tabled::Tabled;
use super::{Algorithm, AlgorithmKeys, Hop, PacketRoute, RouterView, Routing, RoutingSpec, Usual};
use crate::topology::Topology;

odonata_declare::table! {
    /// Keys of `minimal-adaptive`.
    pub struct MinimalAdaptiveKeys {}
}

impl AlgorithmKeys for MinimalAdaptiveKeys {
    /// It asks for room for every packet.
    const PER_MESSAGE: bool = false;

    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec::new(Algorithm::MinimalAdaptive))
    }
}

/// Minimal adaptive routing with escape channels on tori, meshes and HyperX (Duato, "A new theory
/// of deadlock-free adaptive routing in wormhole networks", IEEE TPDS 4(12), 1993): at every router
/// a packet takes, of the hops that bring it nearer to its destination in any dimension, the one
/// with the emptiest port of those behind which the adaptive channel has room for it. If none has,
/// it waits for the hop of [dimension order](Tabled::dimension_order) on its channels, the escape
/// channels.
///
/// So packets wait for room behind escape channels only: on the adaptive channel room is promised
/// to a packet as it decides ([`Routing::RESERVES`]), and what it then waits for is the link. In
/// the graph of who waits for whom, channels wait for escape channels alone. Along a route those
/// are taken in the order of dimension order, since both kinds of hops are minimal, so that the
/// escape channels close no cycle among each other either, whatever adaptive hops lie between.
///
/// A packet decides once, when it comes to a router. One that has decided to escape waits for that
/// hop also when the room of others comes back before.
#[derive(Clone, Debug)]
pub struct MinimalAdaptive {
    base: Tabled,
    /// Channels of dimension order.
    escapes: u8,
    channels: u8,
}

impl MinimalAdaptive {
    /// One adaptive channel above the escape channels, of which there are two where a row is a
    /// ring, else one. With `virtual_channels`, channel `i` is merged into
    /// `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If the routers form no lattice, or too large a one.
    pub fn new(topology: &Topology, virtual_channels: Option<u8>) -> Result<Self, RoutingError> {
        let base = Tabled::dimension_order(topology, Choice::ByLoad, virtual_channels)?;
        let escapes = base.virtual_channels();
        let needed = u32::from(escapes) + 1;
        Ok(Self {
            base,
            escapes,
            channels: channel_count("minimal-adaptive", needed, 1, virtual_channels)?,
        })
    }

    /// The hops that bring a packet nearer to router `to`, another than `at`, in any dimension, on
    /// the adaptive channel.
    fn nearer(&self, at: RouterId, to: u32) -> impl Iterator<Item = Hop> + '_ {
        let vc = self.channels - 1;
        self.base
            .unaligned(at, to)
            .flat_map(move |(dimension, _, there)| {
                let hops = self.base.along(at, dimension, there).iter();
                hops.map(move |&hop| Hop { vc, ..hop })
            })
    }
}

impl Routing for MinimalAdaptive {
    const RESERVES: bool = true;

    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn waits_for_room(&self, hop: Hop) -> bool {
        hop.vc < self.escapes
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        _injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        let to = route.destination_router;
        if at.0 == to {
            return eject(route);
        }
        let mut draw = view.random_below(u32::MAX);
        let mut emptiest = Emptiest::new();
        for hop in self.nearer(at, to) {
            // Merged into an escape channel it is waited for, so that it need not have room.
            if self.waits_for_room(hop) || view.has_room(hop) {
                emptiest.offer(view.occupancy_bytes(hop.port), hop, &mut draw);
            }
        }
        match emptiest.found() {
            Some(hop) => hop,
            None => self.base.choose(view, at, to, route),
        }
    }

    fn possible_hops(
        &self,
        at: RouterId,
        _injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        let to = route.destination_router;
        if at.0 == to {
            return out.push(possible_eject(route));
        }
        let escapes = self.base.listed(at, to).iter().copied();
        out.extend(self.nearer(at, to).chain(escapes).map(|hop| {
            let vc = hop.vc;
            (hop, PacketRoute { vc, ..*route })
        }));
    }
}

#[cfg(test)]
mod tests;
