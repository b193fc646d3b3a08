//! Q-adaptive routing: routers learn how long packets take through their ports.

mod feedback;

use odonata_declare::Named;
use odonata_units::{PortId, RouterId};
use serde::{Deserialize, Serialize};

use super::channels::channel_count;
use super::grouped::{GroupedRoutes, LocalLinks, Place};
use super::legs::{eject, possible_eject};
use super::{
    Algorithm, AlgorithmKeys, Hop, NONE, PacketRoute, RelevantDestination, RouterView, Routing,
    RoutingError, RoutingSpec, Usual,
};
use crate::topology::{LinkClass, LinkKind, Peer, Topology};
use feedback::{Feedback, MOST_ROWS};

/// Most router-router hops of a route, and the virtual channels it needs.
const MOST_HOPS: u32 = 5;
/// Marks in [`PacketRoute::phase`], above the number of hops, a packet that has
/// left its source's group.
const AWAY: u8 = 8;
/// log2 of the picoseconds of a tick, in which packets carry the time of their
/// last decision.
const TICK_SHIFT: u32 = 8;

odonata_declare::table! {
    /// Keys of `q-adaptive`.
    pub struct QAdaptiveKeys {
        /// How much worse than the best port the minimal port may be, as a share of its own time,
        /// for the source router still to take it. Default: 0.2.
        source_threshold: Option<f64> = None => Notes::FRACTION,
        /// The same as `source_threshold` in the first router of an intermediate group. Default:
        /// 0.35.
        intermediate_threshold: Option<f64> = None => Notes::FRACTION,
        /// Learning rate towards shorter times. Default: 0.2.
        rate_down: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// Learning rate towards longer times. Default: 0.04.
        rate_up: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// Probability that a decision takes a random port. Default: 0.001.
        exploration: Option<f64> = None => Notes::FRACTION,
        /// Up to what moment the learned time of a hop counts: the arrival of the packet's head
        /// (`head`) or of its tail (`tail`). Default: `tail`, as its authors count it, whose packets
        /// are one flit.
        #[serde(skip_serializing_if = "Option::is_none")]
        hop_time: Option<HopTime> = None,
    }
}

impl AlgorithmKeys for QAdaptiveKeys {
    /// It learns from every packet.
    const PER_MESSAGE: bool = false;

    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        let default = QAdaptiveOptions::default();
        Ok(RoutingSpec::new(Algorithm::QAdaptive(QAdaptiveOptions {
            source_threshold: self.source_threshold.unwrap_or(default.source_threshold),
            intermediate_threshold: (self.intermediate_threshold)
                .unwrap_or(default.intermediate_threshold),
            rate_down: self.rate_down.unwrap_or(default.rate_down),
            rate_up: self.rate_up.unwrap_or(default.rate_up),
            exploration: self.exploration.unwrap_or(default.exploration),
            delay_ps: usual.delay_ps,
            packet_bytes: match self.hop_time.unwrap_or_default() {
                HopTime::Head => 0,
                HopTime::Tail => usual.packet_bytes,
            },
            flit_bytes: usual.flit_bytes,
        })))
    }
}

/// Parameters of [`QAdaptive`]. The defaults are those with which its authors run
/// a dragonfly of 1,056 nodes (p = 4, a = 8, h = 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QAdaptiveOptions {
    /// By how much, as a share of its own estimate, the minimal port may be worse
    /// than the best one and still be taken by the source router; 0 to 1.
    pub source_threshold: f64,
    /// The same in the first router of an intermediate group.
    pub intermediate_threshold: f64,
    /// Learning rate towards a shorter time, above 0 to 1.
    pub rate_down: f64,
    /// Learning rate towards a longer time, above 0 to 1.
    pub rate_up: f64,
    /// Probability that a decision takes a random port instead; 0 to 1.
    pub exploration: f64,
    /// Time that a router takes besides the links' latencies, in ps: with them, it
    /// makes the estimates with which a run begins.
    pub delay_ps: u64,
    /// Bytes of a packet whose time on a link counts as part of a hop, from the head's arrival to
    /// the tail's; 0: a hop is over when the head has come.
    pub packet_bytes: u64,
    /// Bytes of a packet that come with its head.
    pub flit_bytes: u64,
}

impl Default for QAdaptiveOptions {
    fn default() -> Self {
        Self {
            source_threshold: 0.2,
            intermediate_threshold: 0.35,
            rate_down: 0.2,
            rate_up: 0.04,
            exploration: 0.001,
            delay_ps: 0,
            packet_bytes: 0,
            flit_bytes: 0,
        }
    }
}

/// When a hop is over whose time [`QAdaptive`] learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum HopTime {
    /// When the packet's head has come.
    ///
    /// The router has then decided about it.
    Head,
    /// When its tail has come.
    ///
    /// As with the authors of the algorithm, whose packets are one flit: so a detour costs at
    /// least the time for which its packet takes the links.
    #[default]
    Tail,
}

/// Q-adaptive routing (Kang, Wang, Lan, "Q-adaptive: A Multi-Agent Reinforcement
/// Learning Based Routing on Dragonfly Network", HPDC 2021), for dragonflies with
/// all-to-all groups.
///
/// Every router is an agent. Its *two-level Q-table* has a row for every group of
/// destination and, within that, every place of a source node on its router
/// (`g·p` rows), and a column for every port to another router: an estimate of the
/// time until the packet reaches the destination's group that way. When a packet
/// comes to a router that is not its first, the router tells the one before how
/// long the hop took (from decision to decision) plus its own least estimate for
/// the same row, or 0 in the destination's group. The sum changes the estimate of
/// the port by *hysteretic* learning: by `rate_down` of the difference if it is
/// less, by the smaller `rate_up` if it is more. It travels as a credit does and
/// arrives one latency of the link later.
///
/// | where | port |
/// |---|---|
/// | source router | the best of all ports if its estimate is lower than that of the minimal port by at least `source_threshold` of that, else the minimal one |
/// | first router of an intermediate group, if the packet came directly from the source router | minimal if it has a link to the destination's group; else to a random router of the group if that is better by `intermediate_threshold`, else minimal |
/// | anywhere else | minimal |
///
/// With probability `exploration`, the first two take a random port to another
/// router. Traffic inside one group is minimal and sends no feedback. Routes have
/// five hops at most; the virtual channel is the number of hops made so far, so
/// that there are five and no cycle of dependencies.
///
/// The rules for ports, rows and channels, and the defaults, are facts taken from
/// the authors' published implementation (SPEAR-IIT/sst-elements,
/// `merlin/topology/dragonfly.cc`, its `destG_srcN` rows and decisions in the
/// source and the first intermediate group) and its run scripts. Resolved here:
///
/// - a run begins with the times of the shortest way through each port in an empty
///   network: latencies, router delays and, with `packet_bytes`, that of a packet on the link;
/// - the authors' packets are a single flit, so that what passes from decision to decision has
///   the packet's time on the link in it. Where packets are longer it has not, and an idle detour
///   looks as if it cost latency alone; [`HopTime::Tail`] adds it;
/// - where several links lead to the destination's group, those on a shortest way
///   are minimal, and the one with the least estimate is meant; ties go to the
///   first port;
/// - the least estimate is taken over all ports, that of arrival included;
/// - a packet carries the time of its last decision in units of 256 ps, and an
///   estimate travels with 12 significant bits.
#[derive(Clone, Debug)]
pub struct QAdaptive {
    routes: GroupedRoutes,
    options: QAdaptiveOptions,
    /// Ports to other routers, by router in the order of ports.
    links: Vec<LocalLink>,
    /// First entry of every router in `links`, and one past the last.
    first_link: Vec<u32>,
    /// Place among the nodes of its router. Shape: nodes.
    slot_of_node: Vec<u16>,
    /// Most nodes of a router.
    slots: u32,
    /// Time of a hop over a local and a global link in an empty network, in ps.
    hop_ps: [f32; 2],
    channels: u8,
}

/// A port that leads to another router.
#[derive(Clone, Copy, Debug)]
struct LocalLink {
    port: u16,
    router: u32,
    /// From the arrival of a packet's head at the other end to that of its tail, in ps, as far as
    /// it counts.
    tail_ps: f32,
}

impl QAdaptive {
    /// Q-adaptive routing on `topology`; with `virtual_channels`, channel `i` is
    /// merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If an option is out of its range, the groups are not all-to-all or not
    /// joined in pairs, or a table would not fit.
    pub fn new(
        topology: &Topology,
        options: QAdaptiveOptions,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        check(&options)?;
        let routes = GroupedRoutes::new(topology)?;
        all_to_all(&routes)?;
        let tail = (options.packet_bytes).saturating_sub(options.flit_bytes);
        let tail_ps = |class: &LinkClass| class.bandwidth.duration_of(tail).0 as f32;
        let mut slot_of_node = vec![0; topology.nodes()];
        let mut slots = 1;
        let (mut links, mut first_link) = (vec![], vec![0]);
        for router in 0..topology.routers() as u32 {
            let ports = topology.ports_of(RouterId(router));
            let mut nodes = 0;
            for port in ports.clone() {
                match topology.peer[port] {
                    Peer::Node(node) => {
                        slot_of_node[node.index()] = nodes;
                        nodes += 1;
                    }
                    Peer::Port(peer) => links.push(LocalLink {
                        port: (port - ports.start) as u16,
                        router: routes.router_of_port(peer.0),
                        tail_ps: tail_ps(topology.link_class(PortId(port as u32))),
                    }),
                    Peer::Unconnected => {}
                }
            }
            slots = slots.max(u32::from(nodes));
            first_link.push(links.len() as u32);
        }
        let rows = u64::from(routes.groups()) * u64::from(slots);
        if rows > MOST_ROWS {
            return Err(RoutingError::TooLarge {
                what: "rows of a Q-table (groups times nodes per router)",
                found: rows,
                limit: MOST_ROWS,
                algorithm: "q-adaptive",
                advice: "model a part of the machine",
            });
        }
        let longest = |kind: LinkKind| {
            let classes = topology.link_classes.iter().filter(|c| c.kind == kind);
            let hop = |class: &LinkClass| {
                let packet = class.bandwidth.duration_of(options.packet_bytes).0;
                class.latency.0.saturating_add(packet)
            };
            let hop = classes.map(hop).max().unwrap_or(0);
            hop.saturating_add(options.delay_ps) as f32
        };
        Ok(Self {
            hop_ps: [longest(LinkKind::Local), longest(LinkKind::Global)],
            routes,
            options,
            links,
            first_link,
            slot_of_node,
            slots,
            channels: channel_count("q-adaptive", MOST_HOPS, 1, virtual_channels)?,
        })
    }

    #[inline]
    fn links(&self, router: u32) -> &[LocalLink] {
        let first = &self.first_link[router as usize..];
        &self.links[first[0] as usize..first[1] as usize]
    }

    /// The estimates of router `at` for a row, one per way.
    #[inline]
    fn estimates<'m>(&self, at: u32, row: u32, q_table: &'m [f32]) -> &'m [f32] {
        let columns = self.links(at).len();
        q_table
            .get(row as usize * columns..(row as usize + 1) * columns)
            .unwrap_or(&[])
    }

    #[inline]
    fn row(&self, group: u32, slot: u32) -> u32 {
        group * self.slots + slot
    }

    /// The ways of router `at` that are minimal towards `group`, another than its
    /// own, by their numbers.
    fn minimal_links(&self, at: u32, group: u32) -> impl Iterator<Item = usize> {
        let here = self.routes.place(at);
        let direct = self.routes.has_global_link(here, group);
        self.links(at)
            .iter()
            .enumerate()
            .filter_map(move |(number, link)| {
                let there = self.routes.place(link.router);
                let serves = if direct {
                    there.group == group
                } else {
                    there.group == here.group && self.routes.has_global_link(there, group)
                };
                serves.then_some(number)
            })
    }

    /// The minimal way with the least estimate.
    fn minimal_way(&self, at: u32, group: u32, estimates: &[f32]) -> usize {
        let estimate = |link: usize| estimates.get(link).copied().unwrap_or(0.0);
        let links = self.minimal_links(at, group);
        links
            .min_by(|&a, &b| estimate(a).total_cmp(&estimate(b)))
            .unwrap_or(0)
    }

    /// Whether `other` is better than `minimal` by at least a share of that.
    fn prefers(other: f32, minimal: f32, threshold: f64) -> bool {
        f64::from(minimal - other) >= threshold * f64::from(minimal) && other < minimal
    }

    /// The way that a packet for another group takes from router `at`.
    fn choose<V: RouterView>(
        &self,
        view: &mut V,
        at: u32,
        group: u32,
        row: u32,
        phase: u8,
    ) -> usize {
        let count = self.links(at).len();
        let Decision::Free { first_of_group } = self.decision(at, group, phase) else {
            return self.minimal_way(at, group, self.estimates(at, row, view.q_table()));
        };
        let random_local = first_of_group.then(|| {
            let here = self.routes.place(at);
            let other = view.random_below(self.routes.group_size(here.group) - 1);
            let local = other + u32::from(other >= here.local);
            let router = self.routes.router(Place { local, ..here });
            let leads_there = |link: &LocalLink| link.router == router;
            self.links(at).iter().position(leads_there).unwrap_or(0)
        });
        let scale = 1 << 24;
        let explores =
            f64::from(view.random_below(scale)) < self.options.exploration * f64::from(scale);
        if explores {
            return view.random_below(count as u32) as usize;
        }
        let estimates = self.estimates(at, row, view.q_table());
        let estimate = |link: usize| estimates.get(link).copied().unwrap_or(0.0);
        let minimal = self.minimal_way(at, group, estimates);
        let (other, threshold) = match random_local {
            Some(link) => (link, self.options.intermediate_threshold),
            None => {
                let best = (0..count).min_by(|&a, &b| estimate(a).total_cmp(&estimate(b)));
                (best.unwrap_or(minimal), self.options.source_threshold)
            }
        };
        if Self::prefers(estimate(other), estimate(minimal), threshold) {
            other
        } else {
            minimal
        }
    }

    /// What router `at` may decide about a packet for `group`, another than its own.
    fn decision(&self, at: u32, group: u32, phase: u8) -> Decision {
        let here = self.routes.place(at);
        match phase {
            0 => Decision::Free {
                first_of_group: false,
            },
            phase if phase == AWAY | 1 && !self.routes.has_global_link(here, group) => {
                Decision::Free {
                    first_of_group: true,
                }
            }
            _ => Decision::Minimal,
        }
    }

    /// The phase of a packet behind `link` of a router in `group`.
    fn phase_behind(&self, phase: u8, link: &LocalLink, group: u32) -> u8 {
        let away = u8::from(self.routes.place(link.router).group != group) * AWAY;
        (phase + 1) | away
    }

    fn channel(&self, phase: u8) -> u8 {
        (phase & (AWAY - 1)).min(self.channels - 1)
    }

    /// The port to router number `to` of one's own group.
    fn direct(&self, here: Place, to: u32) -> u16 {
        match self.routes.local_links(here.group, here.local, to) {
            LocalLinks::Only(port) => port,
            LocalLinks::AnyOf(links) => links[0].port,
        }
    }
}

/// What a router may do with a packet for another group.
enum Decision {
    /// Send it minimally.
    Minimal,
    /// Compare estimates: all ports, or a random router of the group if it is the
    /// first router of an intermediate group.
    Free { first_of_group: bool },
}

fn check(options: &QAdaptiveOptions) -> Result<(), RoutingError> {
    for (option, value, positive) in [
        ("source_threshold", options.source_threshold, false),
        (
            "intermediate_threshold",
            options.intermediate_threshold,
            false,
        ),
        ("exploration", options.exploration, false),
        ("rate_down", options.rate_down, true),
        ("rate_up", options.rate_up, true),
    ] {
        if !(0.0..=1.0).contains(&value) || (positive && value == 0.0) {
            return Err(RoutingError::BadOption {
                option,
                found: value.to_string(),
                allowed: match positive {
                    true => "a learning rate is above 0 and at most 1",
                    false => "it must be from 0 to 1",
                },
            });
        }
    }
    Ok(())
}

fn all_to_all(routes: &GroupedRoutes) -> Result<(), RoutingError> {
    for group in 0..routes.groups() {
        let size = routes.group_size(group);
        for from in 0..size {
            for to in (0..size).filter(|&to| to != from) {
                if routes.local_distance(group, from, to) > 1 {
                    let router = |local| RouterId(routes.router(Place { group, local }));
                    return Err(RoutingError::NotAllToAll {
                        algorithm: "q-adaptive",
                        from: router(from),
                        to: router(to),
                    });
                }
            }
        }
    }
    Ok(())
}

impl Routing for QAdaptive {
    const LEARNS: bool = true;

    fn virtual_channels(&self) -> u8 {
        self.channels
    }

    fn initial_q_table(&self, at: RouterId) -> Vec<f32> {
        let here = self.routes.place(at.0);
        let [local, global] = self.hop_ps;
        // From the router at the other end to `group`.
        let from = |there: Place, group: u32| match there.group == group {
            true => 0.0,
            false if self.routes.has_global_link(there, group) => global,
            false => local + global,
        };
        let estimate = |link: &LocalLink, group: u32| {
            let there = self.routes.place(link.router);
            let hop = if there.group == here.group {
                local
            } else {
                global
            };
            hop + from(there, group)
        };
        let mut q_table = vec![];
        for group in 0..self.routes.groups() {
            let row: Vec<f32> = self
                .links(at.0)
                .iter()
                .map(|link| estimate(link, group))
                .collect();
            for _ in 0..self.slots {
                q_table.extend_from_slice(&row);
            }
        }
        q_table
    }

    fn learn(&self, at: RouterId, q_table: &mut [f32], port: u16, feedback: u32) {
        let Feedback { row, ps } = Feedback::unpack(feedback);
        let links = self.links(at.0);
        let Ok(column) = links.binary_search_by_key(&port, |link| link.port) else {
            return;
        };
        let Some(estimate) = q_table.get_mut(row as usize * links.len() + column) else {
            return;
        };
        let difference = ps as f32 + links[column].tail_ps - *estimate;
        let rate = match difference < 0.0 {
            true => self.options.rate_down,
            false => self.options.rate_up,
        };
        *estimate += rate as f32 * difference;
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        let here = self.routes.place(at.0);
        let there = self.routes.place(route.destination_router);
        let slot = match injected {
            true => u32::from(self.slot_of_node[view.source_node().index()]),
            false => route.intermediate,
        };
        // Packets that bring no feedback any more have no row.
        let row = match slot {
            NONE => 0,
            slot => self.row(there.group, slot),
        };
        let now = (view.now_ps() >> TICK_SHIFT) as u32;
        if !injected && slot != NONE {
            let hop = u64::from(now.wrapping_sub(route.waypoint)) << TICK_SHIFT;
            let rest = match here.group == there.group {
                true => 0.0,
                false => {
                    let estimates = self.estimates(at.0, row, view.q_table()).iter();
                    estimates.copied().reduce(f32::min).unwrap_or(0.0)
                }
            };
            let ps = hop.saturating_add(rest as u64);
            view.send_feedback(Feedback { row, ps }.pack());
        }
        if at.0 == route.destination_router {
            return eject(route);
        }
        let vc = self.channel(route.phase);
        if here.group == there.group {
            (route.intermediate, route.waypoint) = (NONE, NONE);
            route.phase += 1;
            let port = self.direct(here, there.local);
            return Hop { port, vc };
        }
        let number = self.choose(view, at.0, there.group, row, route.phase);
        let link = &self.links(at.0)[number];
        route.phase = self.phase_behind(route.phase, link, here.group);
        (route.intermediate, route.waypoint) = (slot, now);
        Hop {
            port: link.port,
            vc,
        }
    }

    /// What a packet carries for learning, the time and the place of its source
    /// among the nodes of its router, is left at 0: no hop depends on it.
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
        let here = self.routes.place(at.0);
        let there = self.routes.place(route.destination_router);
        let vc = self.channel(route.phase);
        if here.group == there.group {
            let port = self.direct(here, there.local);
            let route = PacketRoute {
                intermediate: NONE,
                waypoint: NONE,
                phase: route.phase + 1,
                vc,
                ..*route
            };
            return out.push((Hop { port, vc }, route));
        }
        let mut push = |number: usize| {
            let link = &self.links(at.0)[number];
            let route = PacketRoute {
                intermediate: 0,
                waypoint: 0,
                phase: self.phase_behind(route.phase, link, here.group),
                vc,
                ..*route
            };
            out.push((
                Hop {
                    port: link.port,
                    vc,
                },
                route,
            ));
        };
        match self.decision(at.0, there.group, route.phase) {
            Decision::Free { .. } => (0..self.links(at.0).len()).for_each(&mut push),
            Decision::Minimal => self.minimal_links(at.0, there.group).for_each(&mut push),
        }
    }

    fn relevant_destination(
        &self,
        at: RouterId,
        _injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        self.routes.relevant_destination(at, route)
    }
}

#[cfg(test)]
mod tests;
