//! Adaptive routing across all dimensions of a HyperX at once.

use odonata_units::RouterId;

use super::adaptive::threshold;
use super::channels::channel_count;
use super::choice::{Choice, Emptiest};
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::rows::{AsideKeys, complete_rows, goes_aside};
use super::tabled::Tabled;
use super::{
    Algorithm, AlgorithmKeys, Hop, NONE, PacketRoute, RouterView, Routing, RoutingSpec, Usual,
};
use crate::topology::Topology;

/// Most dimensions: a packet has a bit for each.
const MOST_DIMENSIONS: usize = 31;

odonata_declare::table! {
    /// Keys of `dal`.
    pub struct DalKeys {
        /// The advantage of hops to the right place.
        direct: AsideKeys = AsideKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for DalKeys {
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec::new(Algorithm::Dal {
            threshold_bytes: threshold(self.direct.threshold_bytes, usual.buffer())?,
        }))
    }
}

/// Dimensionally adaptive, load-balanced routing, DAL (Ahn, Binkert, Davis, McLaren and Schreiber,
/// "HyperX: topology, routing, and packaging of efficient large-scale networks", SC 2009, section
/// 4.2). At every router a packet takes, in any of the dimensions in which it is not yet at the
/// right place, the hop to that place, or one to any other router of the row, once in each
/// dimension; by the occupancies of the router's own ports, each weighted by the hops that a packet
/// then has to make.
///
/// The virtual channel is the number of hops made so far (the distance classes of McDonald et al.,
/// SC 2019, section 5.2), two for each dimension: a packet only waits for a higher channel than
/// those it holds. Ahn et al. have escape channels instead, for which packets would have to decide
/// anew while they wait.
#[derive(Clone, Debug)]
pub struct Dal {
    base: Tabled,
    /// Routers along each dimension.
    sizes: Vec<u32>,
    /// Advantage of hops to the right place, in bytes of weighted occupancy.
    threshold_bytes: i64,
    channels: u8,
}

impl Dal {
    /// DAL; a packet goes aside if `q_d · h > q_a · (h + 1) + threshold_bytes`, where `q_d` and
    /// `q_a` are the occupancies of the best port to the right place of a dimension and of the best
    /// one aside, and `h` the dimensions in which the packet is not yet at the right place. With
    /// `virtual_channels`, channel `i` is merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If the routers form no lattice all of whose rows are all-to-all.
    pub fn new(
        topology: &Topology,
        threshold_bytes: i64,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let base = Tabled::dimension_order(topology, Choice::Random, None)?;
        let sizes = complete_rows(topology, "dal")?;
        if sizes.len() > MOST_DIMENSIONS {
            return Err(RoutingError::TooLarge {
                what: "dimensions",
                found: sizes.len() as u64,
                limit: MOST_DIMENSIONS as u64,
                algorithm: "dal",
                advice: "use `dimension-order`",
            });
        }
        // Where a row has two routers there is no other to go by.
        let hops: u32 = sizes.iter().map(|&size| (size - 1).min(2)).sum();
        Ok(Self {
            base,
            threshold_bytes,
            channels: channel_count("dal", hops.max(1), sizes.len() as u32, virtual_channels)?,
            sizes,
        })
    }

    /// The hop on the channel of the hops made so far, which it counts, with what the packet has
    /// gone aside in.
    fn make(&self, hop: Hop, gone_aside: u32, route: &mut PacketRoute) -> Hop {
        let vc = route.phase.min(self.channels - 1);
        route.phase = route.phase.saturating_add(1);
        route.intermediate = gone_aside;
        Hop { vc, ..hop }
    }

    /// The dimensions, a bit each, in which a packet has gone aside.
    fn gone_aside(route: &PacketRoute) -> u32 {
        match route.intermediate {
            NONE => 0,
            dimensions => dimensions,
        }
    }
}

impl Routing for Dal {
    fn virtual_channels(&self) -> u8 {
        self.channels
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
        let gone_aside = Self::gone_aside(route);
        // Of equally empty ports each is taken as often, all by one draw.
        let (mut direct, mut aside) = (Emptiest::new(), Emptiest::new());
        let mut draw = view.random_below(u32::MAX);
        let mut hops = 0;
        for (dimension, here, there) in self.base.unaligned(at, to) {
            hops += 1;
            for &hop in self.base.along(at, dimension, there) {
                direct.offer(view.occupancy_bytes(hop.port), (hop, gone_aside), &mut draw);
            }
            let bit = 1 << dimension;
            if gone_aside & bit != 0 {
                continue;
            }
            for place in (0..self.sizes[dimension]).filter(|p| ![here, there].contains(p)) {
                for &hop in self.base.along(at, dimension, place) {
                    let occupancy = view.occupancy_bytes(hop.port);
                    aside.offer(occupancy, (hop, gone_aside | bit), &mut draw);
                }
            }
        }
        let leaves = goes_aside(
            direct.occupancy(),
            aside.occupancy(),
            hops,
            self.threshold_bytes,
        );
        let (hop, gone_aside) = match aside.found() {
            Some(aside_hop) if leaves => aside_hop,
            _ => direct
                .found()
                .expect("a dimension in which the packet has to go on"),
        };
        self.make(hop, gone_aside, route)
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
        let gone_aside = Self::gone_aside(route);
        let mut push = |hop: Hop, gone_aside: u32| {
            let mut route = *route;
            let hop = self.make(hop, gone_aside, &mut route);
            route.vc = hop.vc;
            out.push((hop, route));
        };
        for (dimension, here, there) in self.base.unaligned(at, to) {
            for &hop in self.base.along(at, dimension, there) {
                push(hop, gone_aside);
            }
            let bit = 1 << dimension;
            if gone_aside & bit != 0 {
                continue;
            }
            for place in (0..self.sizes[dimension]).filter(|p| ![here, there].contains(p)) {
                for &hop in self.base.along(at, dimension, place) {
                    push(hop, gone_aside | bit);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
