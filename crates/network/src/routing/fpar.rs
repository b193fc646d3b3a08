//! Fully progressive adaptive routing on groups of leaves and spines.

mod links;
mod program;

use std::cmp::Ordering;

use odonata_units::RouterId;

use super::channels::channel_count;
use super::choice::Choice;
use super::grouped::{GroupedRoutes, LocalLinks, Place};
use super::legs::{eject, possible_eject};
use super::{
    Algorithm, AlgorithmKeys, Hop, PacketRoute, RelevantDestination, RouterView, Routing,
    RoutingError, RoutingSpec, Usual,
};
use crate::topology::Topology;
use links::{LayerLinks, SpineLinks};
pub use program::FparRules;
use program::MOST_PORTS;

/// In the source group, on channel 0; or on a minimal path.
const OUT: u8 = 0;
/// In an intermediate group, on channel 0.
const BETWEEN: u8 = 1;
/// On channel 1: minimal from here on.
const HOME: u8 = 2;

/// The three kinds of paths, the shortest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Up, across, down: directly to the destination's group.
    Minimal,
    /// Across twice, by way of a spine of an intermediate group.
    Spine,
    /// Across twice, and down to a leaf of the intermediate group and up again.
    Leaf,
}

odonata_declare::table! {
    /// Keys of `fpar`.
    pub struct FparKeys {
        /// How one of the ports that the threshold counts as free is chosen: at random, or by the
        /// shorter queue. No effect with `rules` = `codes` and `codes-mended`.
        choice: Choice = Choice::default(),
        /// The share of a port's queue up to which a path counts as free. Default: 0.75.
        threshold_share: Option<f64> = None => Notes {
            key: Some("threshold"),
            called: Some("a number from 0 to 1"),
            ..Notes::FRACTION
        },
        /// How what the algorithm's description leaves open is resolved: by the text of the papers
        /// (`paper`); as the program of Kang et al. 2019 did (`codes`: two kinds of paths, scores
        /// in whole per cent, and the best port drawn among the running minima, counted from the
        /// first port on); or as that program was meant to (`codes-mended`: the best port drawn
        /// among the ports of least score).
        #[serde(skip_serializing_if = "is_paper")]
        rules: FparRules = FparRules::Paper,
    }
}

fn is_paper(rules: &FparRules) -> bool {
    *rules == FparRules::Paper
}

/// The threshold where a scenario gives none: half of what channel 0 may hold at the other end of
/// a link waits here, when all of that is full. Packets on their way out use one of the two
/// channels, so that at 0.5 (Kang et al. 2019, section 3.1.2) every path with a full channel counts
/// as congested, and they leave minimal paths that still move.
const DEFAULT_SHARE: f64 = 0.75;

impl AlgorithmKeys for FparKeys {
    fn spec(&self, _usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        Ok(RoutingSpec {
            choice: self.choice,
            ..RoutingSpec::new(Algorithm::Fpar {
                threshold: self.threshold_share.unwrap_or(DEFAULT_SHARE),
                rules: self.rules,
            })
        })
    }
}

/// Fully progressive adaptive routing, FPAR (Shpiner et al., "Dragonfly+: Low
/// Cost Topology for Scaling Datacenters", HiPINEB 2017), as Kang et al. 2019,
/// section 3.1.2 and figure 3, describe it, for groups of leaves and spines.
///
/// Between two groups there are three kinds of paths: minimal; by way of a spine
/// of an intermediate group; by way of a leaf of an intermediate group. Every
/// router that a packet comes to on virtual channel 0 chooses among the paths that
/// start there by the *score* of their output ports, the occupancy of the port's
/// queue divided by its length: the first kind whose best port has a score not
/// above the threshold `T`; a longer kind needs a score below `T`, and is only
/// looked at if the scores of all ports of all shorter kinds are above `T`.
/// If there is none, the port of least score of the shortest kind. A packet
/// moves to channel 1 where an intermediate spine or leaf sends it towards its
/// destination's group, and is routed minimally from there on.
///
/// What the description leaves open is resolved so by default ([`FparRules`] has others):
///
/// - *Queue and length.* The occupancy is what every adaptive algorithm here
///   sees: bytes that wait for the port, and bytes sent through it whose credits
///   have not come back, of all channels together. The length is the buffer that
///   the other end of the link has for the channels of this algorithm together. A
///   score can exceed 1, since bytes may wait here while the buffer there is
///   full.
/// - *Candidates.* All ports of all kinds, as "all shorter paths" must be above
///   the threshold.
/// - *Which of several.* With [`Choice::ByLoad`] the port of least score, ties at
///   random; with [`Choice::Random`] any of the ports of the kind that the
///   threshold counts as free, and the port of least score if none is.
/// - *Source leaf.* Every spine is a candidate, of the shortest kind that it can
///   continue with: minimal if it has a link to the destination's group. What
///   was intended does not bind the spine, which decides anew; the decision of
///   the leaf is only that for a port.
/// - *Source spine.* Its own global links: those to the destination's group are
///   minimal; those to a spine that has a link to the destination's group go by
///   way of a spine; the others go by way of a leaf.
/// - *Intermediate spine.* Its own links to the destination's group (by way of
///   a spine, channel 1), or down to any leaf (by way of a leaf, channel 0). It
///   never starts for a third group.
/// - *Intermediate leaf.* Up, on channel 1, to a spine with a link to the
///   destination's group. A router that sends a packet on minimally takes the port of
///   least score of those that serve.
/// - *Inside a group* traffic goes up to the spine with the least score and down.
///
/// Two channels. Routes ascend in the order up 0, across 0, down 0, up 1, across 1,
/// down 1, so that channel dependencies close no cycle. Routes have six hops at
/// most.
#[derive(Clone, Debug)]
pub struct Fpar {
    routes: GroupedRoutes,
    leaves: u32,
    spines: SpineLinks,
    layers: LayerLinks,
    /// Link class of each port. Shape: ports.
    class_of_port: Vec<u8>,
    /// Queue length of a port of each class, in bytes.
    length: Vec<u64>,
    /// The threshold times the length, in bytes.
    limit: Vec<f64>,
    /// How one of several free ports of a kind is chosen.
    choice: Choice,
    /// How what the description leaves open is resolved.
    rules: FparRules,
    /// The threshold in whole per cent.
    per_cent: u64,
    /// Virtual channels in use: 2, or 1 if merged.
    channels: u8,
}

/// An output port that a packet could take.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    kind: Kind,
    port: u16,
    channel: u8,
    /// Phase of the packet behind it.
    phase: u8,
}

impl Candidate {
    /// The score of no port.
    const NONE: Self = Self {
        kind: Kind::Minimal,
        port: 0,
        channel: 0,
        phase: OUT,
    };
}

/// The ports of one kind: those that have the least score, and how many are free.
#[derive(Clone, Copy)]
struct Best {
    occupancy: u64,
    class: usize,
    ties: u32,
    /// The first of those with the least score.
    first: Candidate,
    /// Ports whose score is below the threshold.
    below: u32,
    /// Ports whose score is exactly the threshold.
    at: u32,
}

/// Which ports of a kind serve.
#[derive(Clone, Copy)]
enum Among {
    /// The ports of least score.
    Least,
    /// The ports below the threshold, or at it as well.
    Free { at_it_too: bool },
}

impl Fpar {
    /// FPAR on `topology` with the threshold `T`; with `virtual_channels`, channel
    /// `i` is merged into `min(i, virtual_channels - 1)`.
    ///
    /// # Errors
    /// If `threshold` is not between 0 and 1, or the network does not consist of
    /// groups of leaves and spines, every two of which are joined.
    pub fn new(
        topology: &Topology,
        threshold: f64,
        choice: Choice,
        rules: FparRules,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        if !(0.0..=1.0).contains(&threshold) {
            return Err(RoutingError::BadOption {
                option: "threshold",
                found: threshold.to_string(),
                allowed: "it is the share of a port's queue up to which a path counts as free, \
                          from 0 to 1",
            });
        }
        let shape = topology
            .leaf_spine()
            .map_err(|reason| RoutingError::NotLeafSpine {
                algorithm: "fpar",
                reason,
            })?;
        let routes = GroupedRoutes::new(topology)?;
        let channels = channel_count("fpar", 2, 2, virtual_channels)?;
        let spines = SpineLinks::new(topology, &routes, shape)?;
        let layers = LayerLinks::new(&routes, topology.groups, shape);
        let most_ports = spines.most() + layers.most();
        if rules != FparRules::Paper && most_ports > MOST_PORTS {
            return Err(RoutingError::TooLarge {
                what: "ports of one router to choose among",
                found: most_ports as u64,
                limit: MOST_PORTS as u64,
                algorithm: "fpar",
                advice: "use rules = \"paper\", which has no such limit",
            });
        }
        let length: Vec<u64> = (topology.link_classes.iter())
            .map(|class| class.buffer.0.saturating_mul(u64::from(channels)))
            .collect();
        Ok(Self {
            spines,
            layers,
            routes,
            leaves: shape.leaves,
            class_of_port: topology.class_of_port.iter().map(|class| class.0).collect(),
            limit: length.iter().map(|&l| threshold * l as f64).collect(),
            length,
            choice,
            rules,
            // A number of per cent that was meant whole may lie a rounding below it.
            per_cent: (threshold * 100.0 + 1e-9) as u64,
            channels,
        })
    }

    /// Number of a spine among all spines.
    #[inline]
    fn spine(&self, here: Place) -> usize {
        self.spines.number(here.group, here.local - self.leaves)
    }

    /// Tells `visit` every port that a packet at `here` for `there`, which is not
    /// the router itself, may take.
    #[inline]
    fn candidates(&self, here: Place, there: Place, phase: u8, visit: &mut impl FnMut(Candidate)) {
        let is_leaf = here.local < self.leaves;
        let home = Candidate {
            kind: Kind::Minimal,
            port: 0,
            channel: self.channels - 1,
            phase: HOME,
        };
        let out = Candidate {
            channel: 0,
            phase: OUT,
            ..home
        };
        if here.group == there.group {
            // Down to the destination, or up to any spine on the way there.
            let onward = if phase == HOME { home } else { out };
            return self.towards(here, there.local, |port| {
                visit(Candidate { port, ..onward })
            });
        }
        match (is_leaf, phase) {
            (true, OUT) => {
                let kinds = self.spines.kinds(here.group, there.group);
                for link in self.layers.of(here) {
                    if let Some(kind) = kinds[usize::from(link.to)] {
                        let port = link.port;
                        visit(Candidate { kind, port, ..out });
                    }
                }
            }
            (true, _) => {
                let kinds = self.spines.kinds(here.group, there.group);
                for link in self.layers.of(here) {
                    if kinds[usize::from(link.to)] == Some(Kind::Minimal) {
                        let port = link.port;
                        visit(Candidate { port, ..home });
                    }
                }
            }
            (false, OUT) => {
                for link in self.spines.all(self.spine(here)) {
                    let (kind, phase) = if link.group == there.group {
                        (Kind::Minimal, OUT)
                    } else if self.spines.has(link.spine as usize, there.group) {
                        (Kind::Spine, BETWEEN)
                    } else {
                        (Kind::Leaf, BETWEEN)
                    };
                    visit(Candidate {
                        kind,
                        port: link.port,
                        channel: 0,
                        phase,
                    });
                }
            }
            (false, phase) => {
                for link in self.spines.to(self.spine(here), there.group) {
                    visit(Candidate {
                        kind: Kind::Spine,
                        port: link.port,
                        ..home
                    });
                }
                if phase == BETWEEN {
                    let down = Candidate {
                        kind: Kind::Leaf,
                        phase: BETWEEN,
                        ..out
                    };
                    for link in self.layers.of(here) {
                        let port = link.port;
                        visit(Candidate { port, ..down });
                    }
                }
            }
        }
    }

    /// The ports on the way to router number `to` of the same group.
    #[inline]
    fn towards(&self, here: Place, to: u32, mut visit: impl FnMut(u16)) {
        match self.routes.local_links(here.group, here.local, to) {
            LocalLinks::Only(port) => visit(port),
            LocalLinks::AnyOf(links) => links.iter().for_each(|link| visit(link.port)),
        }
    }

    /// Whether the first score is lower than the second; both are a number of
    /// bytes and the link class whose queue length it is measured by.
    #[inline]
    fn lower(&self, a: (u64, usize), b: (u64, usize)) -> bool {
        if a.1 == b.1 {
            return a.0 < b.0;
        }
        let times =
            |occupancy: u64, class: usize| u128::from(occupancy) * u128::from(self.length[class]);
        times(a.0, b.1) < times(b.0, a.1)
    }

    /// The kind of path to take; which of its ports serve, and how many those are.
    fn decide(&self, best: [Option<Best>; 3]) -> Option<(usize, Best, Among, u32)> {
        let mut shorter_are_above = true;
        let mut shortest = None;
        for (kind, best) in best.into_iter().enumerate() {
            let Some(best) = best else { continue };
            let at_it_too = shortest.is_none();
            let free = best.below + if at_it_too { best.at } else { 0 };
            if free > 0 && shorter_are_above {
                return Some(match self.choice {
                    Choice::ByLoad => (kind, best, Among::Least, best.ties),
                    Choice::Random | Choice::ByDestination => {
                        (kind, best, Among::Free { at_it_too }, free)
                    }
                });
            }
            shorter_are_above &= best.below + best.at == 0;
            shortest = shortest.or(Some((kind, best, Among::Least, best.ties)));
        }
        shortest
    }

    /// Whether a port's score is below the threshold, at it, or above.
    #[inline]
    fn against_threshold(&self, (occupancy, class): (u64, usize)) -> Ordering {
        (occupancy as f64).total_cmp(&self.limit[class])
    }
}

impl Routing for Fpar {
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
        if at.0 == route.destination_router {
            return eject(route);
        }
        let here = self.routes.place(at.0);
        let there = self.routes.place(route.destination_router);
        let first = self.routes.first_port(at.0) as usize;
        let class = |port: u16| usize::from(self.class_of_port[first + usize::from(port)]);
        if self.rules != FparRules::Paper {
            let chosen = self.by_program(view, here, there, route.phase, first);
            route.phase = chosen.phase;
            return Hop {
                port: chosen.port,
                vc: chosen.channel,
            };
        }
        let mut best: [Option<Best>; 3] = [None; 3];
        self.candidates(here, there, route.phase, &mut |candidate| {
            let score = (view.occupancy_bytes(candidate.port), class(candidate.port));
            let best = best[candidate.kind as usize].get_or_insert(Best {
                occupancy: score.0,
                class: score.1,
                ties: 0,
                first: candidate,
                below: 0,
                at: 0,
            });
            match self.against_threshold(score) {
                Ordering::Less => best.below += 1,
                Ordering::Equal => best.at += 1,
                Ordering::Greater => {}
            }
            if self.lower(score, (best.occupancy, best.class)) {
                (best.occupancy, best.class) = score;
                (best.ties, best.first) = (1, candidate);
            } else if !self.lower((best.occupancy, best.class), score) {
                best.ties += 1;
            }
        });
        let Some((kind, best, among, ports)) = self.decide(best) else {
            unreachable!("every two groups are joined, so a packet has a way on");
        };
        let mut chosen = best.first;
        // The first of least score serves in any case; alone, it is the one.
        if ports > 1 {
            let mut skip = view.random_below(ports);
            self.candidates(here, there, route.phase, &mut |candidate| {
                if candidate.kind as usize != kind {
                    return;
                }
                let score = (view.occupancy_bytes(candidate.port), class(candidate.port));
                let serves = match among {
                    Among::Least => !self.lower((best.occupancy, best.class), score),
                    Among::Free { at_it_too } => {
                        let against = self.against_threshold(score);
                        against.is_lt() || at_it_too && against.is_eq()
                    }
                };
                if serves {
                    if skip == 0 {
                        chosen = candidate;
                    }
                    skip = skip.wrapping_sub(1);
                }
            });
        }
        let Candidate {
            port,
            channel,
            phase,
            ..
        } = chosen;
        route.phase = phase;
        Hop { port, vc: channel }
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
        let here = self.routes.place(at.0);
        let there = self.routes.place(route.destination_router);
        self.candidates(here, there, route.phase, &mut |candidate| {
            let Candidate {
                port,
                channel,
                phase,
                ..
            } = candidate;
            let route = PacketRoute {
                phase,
                vc: channel,
                ..*route
            };
            out.push((Hop { port, vc: channel }, route));
        });
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
