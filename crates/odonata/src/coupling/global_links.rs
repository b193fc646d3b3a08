//! Which global links join which groups: those of a wiring, or the circuits of a job.

use odonata_network::{Peer, Topology};

/// No place.
const NONE: u32 = u32::MAX;

/// A global link from one group to another: where it leaves and where it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GlobalLink {
    /// The port.
    pub port: u32,
    /// Its router.
    pub from: u32,
    /// The router at the other end.
    pub to: u32,
}

/// Global links by the groups that they join.
pub(super) struct GlobalLinks {
    /// Groups, ascending, and the place of each group of the machine among them.
    groups: Vec<u32>,
    place: Vec<u32>,
    /// By source and destination place.
    links: Vec<Vec<GlobalLink>>,
}

impl GlobalLinks {
    /// No links between `groups`, ascending, of `all` groups.
    pub(super) fn none(all: usize, groups: Vec<u32>) -> Self {
        let mut place = vec![NONE; all];
        for (at, &group) in (0..).zip(&groups) {
            place[group as usize] = at;
        }
        Self {
            links: vec![vec![]; groups.len() * groups.len()],
            place,
            groups,
        }
    }

    /// All global links of a network.
    pub(super) fn of(topology: &Topology) -> Self {
        let router_of_port = topology.router_of_every_port();
        let all = topology.groups as usize;
        let mut global_links = Self::none(all, (0..topology.groups).collect());
        for (port, peer) in topology.peer.iter().enumerate() {
            let Peer::Port(peer) = peer else { continue };
            let (from, to) = (router_of_port[port], router_of_port[peer.index()]);
            let group = |router: odonata_units::RouterId| topology.group_of_router[router.index()];
            if group(from) != group(to) {
                let global_link = GlobalLink {
                    port: port as u32,
                    from: from.0,
                    to: to.0,
                };
                global_links.add(group(from).0, group(to).0, global_link);
            }
        }
        global_links
    }

    /// Adds a link between two of the groups.
    pub(super) fn add(&mut self, from: u32, to: u32, global_link: GlobalLink) {
        let (from, to) = (self.place[from as usize], self.place[to as usize]);
        debug_assert!(from != NONE && to != NONE, "groups that are joined");
        self.links[from as usize * self.groups.len() + to as usize].push(global_link);
    }

    /// The groups.
    pub(super) fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// Links from one group to another.
    pub(super) fn between(&self, from: u32, to: u32) -> &[GlobalLink] {
        let (from, to) = (self.place[from as usize], self.place[to as usize]);
        if from == NONE || to == NONE {
            return &[];
        }
        &self.links[from as usize * self.groups.len() + to as usize]
    }

    /// Whether every two of the groups are joined by a link.
    pub(super) fn joins_all(&self) -> bool {
        let n = self.groups.len();
        (0..n * n).all(|pair| pair / n == pair % n || !self.links[pair].is_empty())
    }

    /// Global links on the shortest way from each group of the machine to `to`;
    /// `None` where there is none.
    pub(super) fn distances(&self, to: u32) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.place.len()];
        distance[to as usize] = Some(0);
        let mut waiting = std::collections::VecDeque::from([to]);
        while let Some(at) = waiting.pop_front() {
            let next = distance[at as usize].map(|hops: u32| hops + 1);
            for &group in &self.groups {
                if distance[group as usize].is_none() && !self.between(group, at).is_empty() {
                    distance[group as usize] = next;
                    waiting.push_back(group);
                }
            }
        }
        distance
    }
}
