//! What a job's traffic puts on every link of a network of groups, on average:
//! expectations, not samples, so that no link looks full by chance.
//!
//! Minimal routes between two groups take each of their global links alike, as
//! `minimal` routing with `minimal_links = "all"` does; inside a group they take all
//! shortest ways alike. Detours go by way of every other group alike (Valiant).
//! Expectations are linear, so what leaves a router for a group is summed before it
//! is spread over that group's links.

use odonata_flow::LinkNumbers;
use odonata_flow::share::{LinkId, Use};
use odonata_network::routing::{AnyRouting, expected_use};
use odonata_network::{Peer, Topology};
use odonata_units::{GroupId, NodeId, PortId, RouterId};

/// Who sends to whom within a job, its nodes in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traffic {
    /// Every node to every other.
    Uniform,
    /// To the six neighbours in a periodic grid as close to a cube as can be.
    Stencil,
    /// To the one before and the one after, in a circle.
    Ring,
    /// To the one half of the job away.
    Halves,
}

impl Traffic {
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("uniform", Self::Uniform),
        ("stencil", Self::Stencil),
        ("ring", Self::Ring),
        ("halves", Self::Halves),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, traffic)| traffic)
    }

    /// Calls `visit(from, to, share of what `from` sends)`; of uniform traffic, which
    /// is summed up otherwise, nothing.
    fn pairs(self, nodes: usize, mut visit: impl FnMut(usize, usize, f64)) {
        let offsets: Vec<usize> = match self {
            Self::Uniform => vec![],
            Self::Ring => vec![1, nodes - 1],
            Self::Halves => vec![nodes / 2],
            Self::Stencil => {
                let [x, y, _] = sides(nodes);
                // Rows follow each other, so that a neighbour is an offset away; the
                // grid is closed in the order of nodes, as a twisted torus.
                let ways = [1, x, x * y];
                ways.into_iter()
                    .flat_map(|way| [way % nodes, nodes - way % nodes])
                    .collect()
            }
        };
        let share = 1.0 / offsets.len() as f64;
        for from in 0..nodes {
            for offset in &offsets {
                visit(from, (from + offset) % nodes, share);
            }
        }
    }
}

/// Sides of a grid of at least `nodes` places, as alike as can be.
fn sides(nodes: usize) -> [usize; 3] {
    let x = (1..).find(|x| x * x * x >= nodes).unwrap_or(1);
    let y = (1..).find(|y| x * y * y >= nodes).unwrap_or(1);
    [x, y, nodes.div_ceil(x * y)]
}

/// Global link from one group to another: where it leaves and where it arrives.
#[derive(Clone, Copy, Debug)]
struct Exit {
    port: u32,
    from: u32,
    to: u32,
}

/// A network, ready to have traffic spread over it.
pub(super) struct Footprints {
    numbers: LinkNumbers,
    groups: usize,
    router_of_node: Vec<u32>,
    group_of_router: Vec<u32>,
    /// Place of each router within its group.
    place: Vec<u32>,
    routers_of: Vec<Vec<u32>>,
    /// By source and destination group.
    exits: Vec<Vec<Exit>>,
    /// What one unit between two routers of a group puts on its ports, by group,
    /// source and destination place.
    local: Vec<Vec<Vec<(u32, f64)>>>,
    /// What one unit from group to group by way of a third puts on that one's ports,
    /// by (from, by way of, to).
    transit: Vec<Vec<(u32, f64)>>,
    /// Sums in the making. Shape: links, or as said.
    load: Vec<f64>,
}

/// A job's use of links per unit of what each of its nodes sends, detours apart.
pub(super) struct Footprint {
    /// Minimal routes; the nodes' own links included.
    pub minimal: Vec<f64>,
    /// The same by way of other groups, of traffic between groups.
    pub detours: Option<Vec<f64>>,
}

impl Footprints {
    /// Of a network of groups each two of which are joined by a link.
    pub(super) fn new(topology: &Topology, minimal: &AnyRouting) -> Self {
        let router_of_port = topology.router_of_every_port();
        let groups = topology.groups as usize;
        let group_of_router: Vec<u32> = topology.group_of_router.iter().map(|g| g.0).collect();
        let mut routers_of = vec![vec![]; groups];
        let mut place = vec![0; topology.routers()];
        for (router, &group) in group_of_router.iter().enumerate() {
            place[router] = routers_of[group as usize].len() as u32;
            routers_of[group as usize].push(router as u32);
        }
        let mut exits = vec![vec![]; groups * groups];
        for (port, peer) in topology.peer.iter().enumerate() {
            let Peer::Port(peer) = peer else { continue };
            let (from, to) = (router_of_port[port].0, router_of_port[peer.index()].0);
            let (s, d) = (group_of_router[from as usize], group_of_router[to as usize]);
            if s != d {
                let exit = Exit {
                    port: port as u32,
                    from,
                    to,
                };
                exits[s as usize * groups + d as usize].push(exit);
            }
        }
        let local = routers_of.iter().map(|routers| {
            let each = |&from: &u32| {
                routers
                    .iter()
                    .map(move |&to| (RouterId(from), RouterId(to)))
            };
            let pairs: Vec<_> = routers.iter().flat_map(each).collect();
            let mut ways: Vec<Vec<(u32, f64)>> = vec![vec![]; pairs.len()];
            expected_use(
                topology,
                minimal,
                &pairs,
                &mut |pair, port: PortId, share| {
                    ways[pair].push((port.0, share));
                },
            );
            ways
        });
        let router_of_node = topology.port_of_node.iter();
        let mut footprints = Self {
            numbers: LinkNumbers::new(topology),
            groups,
            router_of_node: router_of_node
                .map(|port| router_of_port[port.index()].0)
                .collect(),
            local: local.collect(),
            group_of_router,
            place,
            routers_of,
            exits,
            transit: vec![],
            load: vec![0.0; topology.ports() + topology.nodes()],
        };
        footprints.transit = footprints.transits();
        footprints
    }

    /// Group of each node.
    pub(super) fn group_of(&self, node: NodeId) -> GroupId {
        GroupId(self.group_of_router[self.router_of_node[node.index()] as usize])
    }

    fn exits(&self, from: usize, to: usize) -> &[Exit] {
        &self.exits[from * self.groups + to]
    }

    fn way(&self, from: u32, to: u32) -> &[(u32, f64)] {
        let group = self.group_of_router[from as usize] as usize;
        let size = self.routers_of[group].len();
        let (a, b) = (self.place[from as usize], self.place[to as usize]);
        &self.local[group][a as usize * size + b as usize]
    }

    fn transits(&self) -> Vec<Vec<(u32, f64)>> {
        let n = self.groups;
        let mut all = Vec::with_capacity(n * n * n);
        let mut load = vec![0.0; self.load.len()];
        for from in 0..n {
            for by in 0..n {
                for to in 0..n {
                    let mut touched = vec![];
                    if from != by && by != to && from != to {
                        let (ins, outs) = (self.exits(from, by), self.exits(by, to));
                        let share = 1.0 / (ins.len() * outs.len()) as f64;
                        for entry in ins {
                            for exit in outs {
                                for &(port, part) in self.way(entry.to, exit.from) {
                                    if load[port as usize] == 0.0 {
                                        touched.push(port);
                                    }
                                    load[port as usize] += part * share;
                                }
                            }
                        }
                    }
                    let take = |port: u32| (port, std::mem::take(&mut load[port as usize]));
                    all.push(touched.into_iter().map(take).collect());
                }
            }
        }
        all
    }

    /// What a job on these nodes puts on links when each node sends one unit;
    /// with `detours` also what goes by way of other groups.
    pub(super) fn of(&mut self, traffic: Traffic, nodes: &[NodeId], detours: bool) -> Footprint {
        let n = self.groups;
        let routers = self.group_of_router.len();
        // What leaves each router for each group, and arrives at each from each;
        // between groups it is their sum.
        let mut out = vec![0.0; routers * n];
        let mut inn = vec![0.0; routers * n];
        let mut load = std::mem::take(&mut self.load);
        load.fill(0.0);
        let mut own = vec![0.0; routers];
        let mut of_group = vec![0.0; n];
        for node in nodes {
            let router = self.router_of_node[node.index()] as usize;
            own[router] += 1.0;
            of_group[self.group_of_router[router] as usize] += 1.0;
            load[self.numbers.node(*node).index()] += 1.0;
        }
        let here: Vec<u32> = (0..routers as u32)
            .filter(|&r| own[r as usize] > 0.0)
            .collect();
        if traffic == Traffic::Uniform {
            let others = (nodes.len() - 1) as f64;
            for &a in &here {
                let group = self.group_of_router[a as usize] as usize;
                for to in (0..n).filter(|&to| to != group) {
                    let amount = own[a as usize] * of_group[to] / others;
                    out[a as usize * n + to] = amount;
                    inn[a as usize * n + to] = amount;
                }
                for &b in here.iter().filter(|&&b| b != a) {
                    if self.group_of_router[b as usize] as usize == group {
                        let amount = own[a as usize] * own[b as usize] / others;
                        for &(port, part) in self.way(a, b) {
                            load[port as usize] += amount * part;
                        }
                    }
                }
            }
        }
        traffic.pairs(nodes.len(), |from, to, amount| {
            let a = self.router_of_node[nodes[from].index()];
            let b = self.router_of_node[nodes[to].index()];
            let (s, d) = (
                self.group_of_router[a as usize],
                self.group_of_router[b as usize],
            );
            if s == d {
                for &(port, part) in self.way(a, b) {
                    load[port as usize] += amount * part;
                }
            } else {
                out[a as usize * n + d as usize] += amount;
                inn[b as usize * n + s as usize] += amount;
            }
        });
        let between: Vec<f64> = (0..n * n)
            .map(|pair| {
                let (from, to) = (pair / n, pair % n);
                let routers = self.routers_of[from].iter();
                routers.map(|&router| out[router as usize * n + to]).sum()
            })
            .collect();
        let detoured = (detours && n > 2 && between.iter().any(|&sum| sum > 0.0)).then(|| {
            let mut load = load.clone();
            let by = 1.0 / (n - 2) as f64;
            // What goes from a group to another goes to each third one alike.
            let turn = |of: &[f64]| {
                let mut turned = vec![0.0; of.len()];
                for &router in &here {
                    let row = &of[router as usize * n..(router as usize + 1) * n];
                    let sum: f64 = row.iter().sum();
                    let own = self.group_of_router[router as usize] as usize;
                    for group in (0..n).filter(|&group| group != own) {
                        turned[router as usize * n + group] = (sum - row[group]) * by;
                    }
                }
                turned
            };
            let mut legs = vec![0.0; n * n];
            for from in 0..n {
                for to in (0..n).filter(|&to| to != from) {
                    let amount = between[from * n + to] * by;
                    if amount == 0.0 {
                        continue;
                    }
                    for third in (0..n).filter(|&third| third != from && third != to) {
                        legs[from * n + third] += amount;
                        legs[third * n + to] += amount;
                        let way = &self.transit[(from * n + third) * n + to];
                        for &(port, part) in way {
                            load[port as usize] += amount * part;
                        }
                    }
                }
            }
            self.spread(&here, &turn(&out), &turn(&inn), &legs, &mut load);
            load
        });
        self.spread(&here, &out, &inn, &between, &mut load);
        self.load = vec![0.0; load.len()];
        Footprint {
            minimal: load,
            detours: detoured,
        }
    }

    /// Adds what goes from routers to groups, from groups to routers, and between
    /// groups.
    fn spread(&self, here: &[u32], out: &[f64], inn: &[f64], between: &[f64], load: &mut [f64]) {
        let n = self.groups;
        for &router in here {
            let group = self.group_of_router[router as usize] as usize;
            for other in (0..n).filter(|&other| other != group) {
                let leaves = out[router as usize * n + other];
                let exits = self.exits(group, other);
                let share = 1.0 / exits.len() as f64;
                if leaves > 0.0 {
                    for exit in exits {
                        for &(port, part) in self.way(router, exit.from) {
                            load[port as usize] += leaves * share * part;
                        }
                    }
                }
                let arrives = inn[router as usize * n + other];
                if arrives > 0.0 {
                    for entry in self.exits(other, group) {
                        for &(port, part) in self.way(entry.to, router) {
                            load[port as usize] += arrives * share * part;
                        }
                    }
                }
            }
        }
        for from in 0..n {
            for to in (0..n).filter(|&to| to != from) {
                let exits = self.exits(from, to);
                for exit in exits {
                    load[exit.port as usize] += between[from * n + to] / exits.len() as f64;
                }
            }
        }
    }
}

/// The links of a footprint that carry anything.
pub(super) fn uses(load: impl Iterator<Item = f64>) -> Vec<Use> {
    let all = (0..).zip(load);
    let used = all.filter(|&(_, share)| share > 0.0);
    used.map(|(link, share)| Use {
        link: LinkId(link),
        share,
    })
    .collect()
}
