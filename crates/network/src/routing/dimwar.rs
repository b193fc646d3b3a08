//! Adaptive routing along the dimensions of a HyperX.

use odonata_units::RouterId;

use super::adaptive::threshold;
use super::channels::channel_count;
use super::choice::Choice;
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::rows::{AsideKeys, complete_rows, goes_aside};
use super::tabled::Tabled;
use super::{Algorithm, AlgorithmKeys, Hop, PacketRoute, RouterView, Routing, RoutingSpec, Usual};
use crate::topology::Topology;

/// Channel of the hop to another router of the row, and of the one to the right place.
const ROW_DETOUR: u8 = 0;
const ALIGNING: u8 = 1;

odonata_declare::table! {
    /// Keys of `dimwar`.
    pub struct DimWarKeys {
        /// How one of several parallel links is chosen: at random, or by the shorter queue.
        choice: Choice = Choice::default(),
        /// The advantage of the direct hop.
        direct: AsideKeys = AsideKeys::default() => Notes::FLAT,
    }
}

impl AlgorithmKeys for DimWarKeys {
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec {
            choice: self.choice,
            ..RoutingSpec::new(Algorithm::DimWar {
                threshold_bytes: threshold(self.direct.threshold_bytes, usual.buffer())?,
            })
        })
    }
}

/// Dimensionally weighted adaptive routing, DimWAR (McDonald, Isaev, Flores, Davis and Kim,
/// "Practical and efficient incremental adaptive routing for HyperX networks", SC 2019, section
/// 5.1). Packets take one dimension after the other. In each they go to the right place
/// directly, or first to any other router of the row, once: every router decides by the
/// occupancies of its own ports, each weighted by the hops that a packet then has to make.
///
/// Two virtual channels: 0 for the hop aside, 1 for the one to the right place. Along a route
/// they alternate in one order, 0 before 1 within a dimension and one dimension before the next,
/// so there is no cycle of dependencies.
#[derive(Clone, Debug)]
pub struct DimWar {
    base: Tabled,
    /// Routers along each dimension.
    sizes: Vec<u32>,
    /// Advantage of the direct hop, in bytes of weighted occupancy.
    threshold_bytes: i64,
    channels: u8,
}

impl DimWar {
    /// DimWAR; a packet goes aside if `q_d · h > q_a · (h + 1) + threshold_bytes`, where `q_d`
    /// and `q_a` are the occupancies of the direct port and of the best one aside, and `h` the
    /// dimensions in which the packet is not yet at the right place. `choice` chooses among
    /// parallel links. With `virtual_channels`, channel `i` is merged into
    /// `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If the routers form no lattice all of whose rows are all-to-all.
    pub fn new(
        topology: &Topology,
        choice: Choice,
        threshold_bytes: i64,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let base = Tabled::dimension_order(topology, choice, None)?;
        Ok(Self {
            base,
            sizes: complete_rows(topology, "dimwar")?,
            threshold_bytes,
            channels: channel_count("dimwar", 2, 1, virtual_channels)?,
        })
    }

    fn on_channel(&self, hop: Hop, vc: u8) -> Hop {
        let vc = vc.min(self.channels - 1);
        Hop { vc, ..hop }
    }

    /// Where a packet at `at` is along the first dimension in which it is not yet at the right
    /// place, and how many such dimensions there are.
    fn bearing(&self, at: RouterId, to: u32) -> RemainingPath {
        let mut differing = self.base.unaligned(at, to);
        let (dimension, here, there) = differing.next().unwrap_or((0, 0, 0));
        RemainingPath {
            dimension: dimension as u32,
            here,
            there,
            hops: 1 + differing.count() as u64,
        }
    }

    /// The places of the row that are neither here nor there.
    fn asides(&self, bearing: &RemainingPath) -> impl Iterator<Item = u32> + use<> {
        let ends = [bearing.here, bearing.there];
        (0..self.sizes[bearing.dimension as usize]).filter(move |place| !ends.contains(place))
    }

    /// Whether a packet may still go aside in its dimension.
    fn may_leave(route: &PacketRoute, bearing: &RemainingPath) -> bool {
        // A dimension is counted from 1 once the packet has gone aside in it.
        u32::from(route.phase) != bearing.dimension + 1
    }
}

/// What of its way is before a packet.
struct RemainingPath {
    dimension: u32,
    here: u32,
    there: u32,
    hops: u64,
}

impl Routing for DimWar {
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
        let direct = self.base.choose(view, at, to, route);
        let bearing = self.bearing(at, to);
        if !Self::may_leave(route, &bearing) {
            return self.on_channel(direct, ALIGNING);
        }
        let dimension = bearing.dimension as usize;
        let mut best: Option<(u64, Hop)> = None;
        // From where the row is looked through, so that equal ones are taken alike.
        let others = self.sizes[dimension];
        let begin = view.random_below(others);
        for place in 0..others {
            let place = (begin + place) % others;
            if place == bearing.here || place == bearing.there {
                continue;
            }
            for &hop in self.base.along(at, dimension, place) {
                let occupancy = view.occupancy_bytes(hop.port);
                if best.is_none_or(|(least, _)| occupancy < least) {
                    best = Some((occupancy, hop));
                }
            }
        }
        let ahead = view.occupancy_bytes(direct.port);
        match best {
            Some((occupancy, hop))
                if goes_aside(ahead, occupancy, bearing.hops, self.threshold_bytes) =>
            {
                route.phase = (bearing.dimension + 1) as u8;
                self.on_channel(hop, ROW_DETOUR)
            }
            _ => self.on_channel(direct, ALIGNING),
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
        let bearing = self.bearing(at, to);
        for &hop in self.base.listed(at, to) {
            let hop = self.on_channel(hop, ALIGNING);
            out.push((
                hop,
                PacketRoute {
                    vc: hop.vc,
                    ..*route
                },
            ));
        }
        if Self::may_leave(route, &bearing) {
            for place in self.asides(&bearing) {
                for &hop in self.base.along(at, bearing.dimension as usize, place) {
                    let hop = self.on_channel(hop, ROW_DETOUR);
                    let phase = (bearing.dimension + 1) as u8;
                    let aside = PacketRoute {
                        vc: hop.vc,
                        phase,
                        ..*route
                    };
                    out.push((hop, aside));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
