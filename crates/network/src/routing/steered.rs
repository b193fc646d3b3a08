//! Up by an idle circuit that shortens the way, or else by any link up.

use odonata_units::RouterId;

use super::adaptive::threshold;
use super::choice::Choice;
use super::error::RoutingError;
use super::legs::{eject, possible_eject};
use super::tabled::Tabled;
use super::{Algorithm, AlgorithmKeys, Hop, PacketRoute, RouterView, Routing, RoutingSpec, Usual};
use crate::topology::Topology;

odonata_declare::table! {
    /// Keys of `steered`.
    pub struct SteeredKeys {
        /// How one of several idle links is chosen, or one of all links up: at random, or
        /// `by-destination`, as `up-down` does.
        choice: Choice = Choice::default(),
        /// The queue up to which a circuit counts as empty, including bytes that have been sent but
        /// not yet credited. Default: what a link carries during one round trip of credits, plus a
        /// packet.
        threshold_bytes: Option<u64> = None => Notes { called: Some("a size"), ..Notes::NONE },
    }
}

impl AlgorithmKeys for SteeredKeys {
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        // A link that is in use shows what it carries during one round trip of credits, and the
        // packet that is being sent, though nothing waits for it: four packets less than three.
        let buffer = usual.buffer().saturating_sub(3 * usual.packet_bytes);
        Ok(RoutingSpec {
            choice: self.choice,
            ..RoutingSpec::new(Algorithm::Steered {
                threshold_bytes: threshold(self.threshold_bytes, buffer)?,
            })
        })
    }
}

/// The second routing strategy of Michelogiannakis et al., "Bandwidth steering in HPC using
/// silicon nanophotonics", SC 2019, section 4.4, for fat trees whose uplinks optical switches
/// have led to other pods: a packet that goes up takes a link from which the rest of its way is
/// shortest if nothing is queued for it; if something is queued for all of those, it takes any
/// link up, drawn among all of them. Decided for every packet at every router. (The first
/// strategy, always one of the shortest, is [`Tabled::up_down`].)
///
/// What is queued is [`RouterView::occupancy_bytes`], which includes what has been sent and not
/// yet credited: what simulators of routers with credits know of a queue. Where all links up lead
/// to equally short ways, as in a fat tree without circuits, all are drawn alike, whatever their
/// queues.
///
/// No packet goes up after it has gone down, so one virtual channel is enough, whichever links
/// up are taken.
#[derive(Clone, Debug)]
pub struct Steered {
    shortest: Tabled,
    /// Where the links up of each router start in `up`, and one past the last.
    /// Shape: routers + 1.
    first_up: Vec<u32>,
    /// Links up, router by router, ascending by port.
    up: Vec<Hop>,
    /// Occupancy up to which a queue counts as empty, in bytes.
    threshold_bytes: u64,
}

impl Steered {
    /// Over the up-down paths of a network. `choice` draws among several idle links, and among
    /// all of them.
    ///
    /// # Errors
    /// As [`Tabled::up_down`]; or if not every router has a way to every other with nodes, the
    /// threshold is negative, or the choice is by load, as what is loaded is avoided already.
    pub fn new(
        topology: &Topology,
        choice: Choice,
        threshold_bytes: i64,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        if choice == Choice::ByLoad {
            return Err(RoutingError::BadOption {
                option: "choice",
                found: "by-load".into(),
                allowed: "`steered` goes by queues already; use \"random\" or \"by-destination\", or \
                          `up-down`",
            });
        }
        let threshold_bytes =
            u64::try_from(threshold_bytes).map_err(|_| RoutingError::BadOption {
                option: "threshold",
                found: threshold_bytes.to_string(),
                allowed: "it must be at least 0",
            })?;
        let (shortest, ways_up) = Tabled::up_down_with_ways_up(topology, choice, virtual_channels)?;
        if let Some((from, to)) = shortest.without_way() {
            return Err(RoutingError::NoWayOn { from, to });
        }
        let mut first_up = vec![0];
        let mut up = vec![];
        for mut of_router in ways_up {
            of_router.sort_unstable_by_key(|hop| hop.port);
            up.append(&mut of_router);
            first_up.push(up.len() as u32);
        }
        Ok(Self {
            shortest,
            first_up,
            up,
            threshold_bytes,
        })
    }

    /// See [`AnyRouting::without_order`](super::AnyRouting::without_order).
    pub(super) fn without_order(&self) -> Option<(RouterId, RouterId)> {
        self.shortest.without_order
    }

    /// All links up of a router.
    #[inline]
    fn ways_up(&self, at: RouterId) -> &[Hop] {
        let bounds = &self.first_up[at.index()..at.index() + 2];
        &self.up[bounds[0] as usize..bounds[1] as usize]
    }

    /// The hops at `at` by which ways to router `to` are shortest, and all links up if there are
    /// others, and those go up.
    #[inline]
    fn links(&self, at: RouterId, to: u32) -> (&[Hop], Option<&[Hop]>) {
        let shortest = self.shortest.listed(at, to);
        let up = self.ways_up(at);
        let others = shortest.len() < up.len()
            && up
                .binary_search_by_key(&shortest[0].port, |hop| hop.port)
                .is_ok();
        (shortest, others.then_some(up))
    }
}

impl Routing for Steered {
    fn virtual_channels(&self) -> u8 {
        self.shortest.virtual_channels()
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        _injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        if at.0 == route.destination_router {
            return eject(route);
        }
        let (shortest, up) = self.links(at, route.destination_router);
        let Some(up) = up else {
            return self.shortest.choose_of(view, at, shortest, route);
        };
        // At most as many bits as a switch has links up; of more, the first are looked at.
        let mut idle = 0u64;
        for (index, hop) in shortest.iter().take(u64::BITS as usize).enumerate() {
            idle |= u64::from(view.occupancy_bytes(hop.port) <= self.threshold_bytes) << index;
        }
        match idle.count_ones() {
            0 => self.shortest.choose_of(view, at, up, route),
            1 => shortest[idle.trailing_zeros() as usize],
            several => {
                for _ in 0..view.random_below(several) {
                    idle &= idle - 1;
                }
                shortest[idle.trailing_zeros() as usize]
            }
        }
    }

    fn possible_hops(
        &self,
        at: RouterId,
        _injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        if at.0 == route.destination_router {
            return out.push(possible_eject(route));
        }
        let (shortest, up) = self.links(at, route.destination_router);
        let route = PacketRoute { vc: 0, ..*route };
        out.extend(up.unwrap_or(shortest).iter().map(|&hop| (hop, route)));
    }
}

#[cfg(test)]
mod tests;
