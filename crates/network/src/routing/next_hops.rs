//! Tables of next hops between routers of a set: the routers of one group, or of a
//! whole network that has no groups.

use std::collections::HashMap;

use odonata_units::RouterId;

use super::Hop;
use crate::topology::{Peer, Topology};
use crate::verify::dependency::Dependencies;

/// Most routers of a set: its table then takes 128 MiB.
pub(super) const MOST_ROUTERS: u64 = 1 << 12;
/// Most routers of a set with fewer destinations, and most entries of its table.
pub(super) const MOST_NUMBERED: u64 = 1 << 16;
pub(super) const MOST_ENTRIES: u64 = MOST_ROUTERS * MOST_ROUTERS;

/// One way on: an output port and where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LocalLink {
    /// Output port, relative to the router's first port.
    pub port: u16,
    /// Router at the other end, numbered within the set.
    pub to: u16,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    first: u32,
    count: u16,
    distance: u16,
}

/// For every router of a set and every destination among them, the ports that a packet
/// may take next and the number of hops that remain.
#[derive(Clone, Debug)]
pub(super) struct NextHops {
    columns: u32,
    /// Router of each column; in a table of all pairs its own number. Shape: columns.
    destinations: Vec<u32>,
    /// Shape: routers × columns, row = where the packet is.
    entries: Vec<Entry>,
    /// Lists of ways; pairs with the same list share it.
    links: Vec<LocalLink>,
    depth: u16,
}

/// Two routers of a set between which there is no path inside the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoPath {
    pub from: u32,
    pub to: u32,
}

/// The links between the routers of a set, by the router that they leave.
/// `members` lists the set in ascending order.
pub(super) fn neighbours(topology: &Topology, members: &[u32]) -> Vec<Vec<LocalLink>> {
    let links = |&router: &u32| {
        let ports = topology.ports_of(RouterId(router));
        let link = |port: usize| {
            let Peer::Port(peer) = topology.peer[port] else {
                return None;
            };
            let to = members
                .binary_search(&topology.router_of_port(peer).0)
                .ok()?;
            Some(LocalLink {
                port: (port - ports.start) as u16,
                to: to as u16,
            })
        };
        ports.clone().filter_map(link).collect()
    };
    members.iter().map(links).collect()
}

struct Builder {
    destinations: Vec<u32>,
    entries: Vec<Entry>,
    links: Vec<LocalLink>,
    known: HashMap<Vec<LocalLink>, u32>,
}

impl Builder {
    fn new(size: usize, destinations: Vec<u32>) -> Self {
        let nothing = Entry {
            first: 0,
            count: 0,
            distance: 0,
        };
        Self {
            entries: vec![nothing; size * destinations.len()],
            destinations,
            links: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn set(&mut self, from: usize, column: usize, distance: u16, links: &[LocalLink]) {
        let first = match self.known.get(links) {
            Some(&first) => first,
            None => {
                let first = self.links.len() as u32;
                self.links.extend_from_slice(links);
                self.known.insert(links.to_vec(), first);
                first
            }
        };
        self.entries[from * self.destinations.len() + column] = Entry {
            first,
            count: links.len() as u16,
            distance,
        };
    }

    /// The table of paths that close no cycle of channel dependencies.
    fn acyclic(self) -> NextHops {
        NextHops {
            columns: self.destinations.len() as u32,
            destinations: self.destinations,
            entries: self.entries,
            links: self.links,
            depth: 1,
        }
    }

    fn finish(self) -> NextHops {
        let mut table = self.acyclic();
        let diameter = table.diameter();
        if diameter > 1 && table.one_channel_can_deadlock() {
            table.depth = diameter;
        }
        table
    }
}

impl NextHops {
    /// All shortest paths. `neighbours[i]` lists the links that leave router
    /// `i`, parallel ones included; links are symmetric.
    pub(super) fn shortest(neighbours: &[Vec<LocalLink>]) -> Result<Self, NoPath> {
        Self::shortest_to((0..neighbours.len() as u32).collect(), neighbours)
    }

    /// All shortest paths to some of the routers, which become the columns of the table. Others may
    /// be without any link: no packet comes there.
    pub(super) fn shortest_to(
        destinations: Vec<u32>,
        neighbours: &[Vec<LocalLink>],
    ) -> Result<Self, NoPath> {
        let size = neighbours.len();
        let mut is_destination = vec![false; size];
        for &to in &destinations {
            is_destination[to as usize] = true;
        }
        let mut builder = Builder::new(size, destinations);
        let mut distance = vec![u16::MAX; size];
        let mut queue = Vec::with_capacity(size);
        let mut links = Vec::new();
        for column in 0..builder.destinations.len() {
            let to = builder.destinations[column] as usize;
            distance.fill(u16::MAX);
            distance[to] = 0;
            queue.clear();
            queue.push(to);
            let mut next = 0;
            while let Some(&at) = queue.get(next) {
                next += 1;
                for link in &neighbours[at] {
                    let peer = usize::from(link.to);
                    if distance[peer] == u16::MAX {
                        distance[peer] = distance[at] + 1;
                        queue.push(peer);
                    }
                }
            }
            for from in 0..size {
                if distance[from] == u16::MAX {
                    // A router out of service.
                    if neighbours[from].is_empty() && !is_destination[from] {
                        continue;
                    }
                    return Err(NoPath {
                        from: from as u32,
                        to: to as u32,
                    });
                }
                if from == to {
                    continue;
                }
                links.clear();
                links.extend(
                    neighbours[from]
                        .iter()
                        .filter(|link| distance[usize::from(link.to)] + 1 == distance[from]),
                );
                builder.set(from, column, distance[from], &links);
            }
        }
        Ok(builder.finish())
    }

    /// Paths that first go up and then down, to some of the routers, which become the
    /// columns of the table; links may lead one way. `rank` orders the routers: a link goes up to the end of higher
    /// rank. From where a way down leads to the destination only ways down are taken, the
    /// shortest; from elsewhere those up from which the rest is shortest. So what a router
    /// does depends on the destination alone, no packet goes up again, and one virtual
    /// channel is enough, as a cycle of dependencies would have to turn upwards somewhere
    /// (up*/down* routing: Schroeder et al., "Autonet", IEEE JSAC 9(8), 1991).
    ///
    /// # Errors
    /// If there is no such path between two destinations. Other routers may lack one: no
    /// packet comes there.
    pub(super) fn up_down(
        destinations: Vec<u32>,
        neighbours: &[Vec<LocalLink>],
        rank: &[u32],
    ) -> Result<Self, NoPath> {
        const NONE: u16 = u16::MAX;
        let size = neighbours.len();
        let mut descending: Vec<usize> = (0..size).collect();
        descending.sort_unstable_by_key(|&router| std::cmp::Reverse(rank[router]));
        let mut is_destination = vec![false; size];
        for &to in &destinations {
            is_destination[to as usize] = true;
        }
        // Links may lead one way.
        let mut sources: Vec<Vec<u16>> = vec![vec![]; size];
        for (from, links) in neighbours.iter().enumerate() {
            for link in links {
                sources[usize::from(link.to)].push(from as u16);
            }
        }
        let mut builder = Builder::new(size, destinations);
        let (mut down, mut rest) = (vec![NONE; size], vec![NONE; size]);
        let (mut queue, mut links) = (Vec::with_capacity(size), Vec::new());
        for column in 0..builder.destinations.len() {
            let to = builder.destinations[column] as usize;
            down.fill(NONE);
            down[to] = 0;
            queue.clear();
            queue.push(to);
            let mut next = 0;
            while let Some(&at) = queue.get(next) {
                next += 1;
                for &peer in &sources[at] {
                    let peer = usize::from(peer);
                    if rank[peer] > rank[at] && down[peer] == NONE {
                        down[peer] = down[at] + 1;
                        queue.push(peer);
                    }
                }
            }
            rest.copy_from_slice(&down);
            for &from in &descending {
                if from == to {
                    continue;
                }
                let is_up = |link: &&LocalLink| rank[usize::from(link.to)] > rank[from];
                links.clear();
                if down[from] != NONE {
                    let shorter = |link: &&LocalLink| {
                        !is_up(link) && down[usize::from(link.to)].wrapping_add(1) == down[from]
                    };
                    links.extend(neighbours[from].iter().filter(shorter));
                } else {
                    let ups = || neighbours[from].iter().filter(is_up);
                    let least = ups().map(|link| rest[usize::from(link.to)]).min();
                    match least {
                        Some(least) if least != NONE => {
                            rest[from] = least + 1;
                            links.extend(ups().filter(|link| rest[usize::from(link.to)] == least));
                        }
                        _ if !is_destination[from] => continue,
                        _ => {
                            return Err(NoPath {
                                from: from as u32,
                                to: to as u32,
                            });
                        }
                    }
                }
                builder.set(from, column, rest[from], &links);
            }
        }
        Ok(builder.acyclic())
    }

    /// Dimension order in a 2-D group whose rows and columns are all-to-all:
    /// first along the row to the right column, then along the column.
    /// `None` where a link or router that this needs is missing.
    pub(super) fn dimension_ordered(
        neighbours: &[Vec<LocalLink>],
        positions: &[(u16, u16)],
    ) -> Option<Self> {
        let size = neighbours.len();
        let at: HashMap<(u16, u16), usize> =
            positions.iter().enumerate().map(|(i, &p)| (p, i)).collect();
        if at.len() != size {
            return None;
        }
        let mut builder = Builder::new(size, (0..size as u32).collect());
        let mut links = Vec::new();
        for from in 0..size {
            for to in 0..size {
                if from == to {
                    continue;
                }
                let (row, column) = positions[from];
                let turn = (row, positions[to].1);
                let (next, distance) = if column == turn.1 || row == positions[to].0 {
                    (to, 1)
                } else {
                    (*at.get(&turn)?, 2)
                };
                links.clear();
                links.extend(
                    neighbours[from]
                        .iter()
                        .filter(|link| usize::from(link.to) == next),
                );
                if links.is_empty() {
                    return None;
                }
                builder.set(from, to, distance, &links);
            }
        }
        Some(builder.finish())
    }

    /// The ways on from `from` towards the router of column `to`; empty where they are the
    /// same.
    #[inline]
    pub(super) fn links(&self, from: u32, to: u32) -> &[LocalLink] {
        let entry = self.entries[(from * self.columns + to) as usize];
        &self.links[entry.first as usize..][..usize::from(entry.count)]
    }

    /// Hops from `from` to the router of column `to`.
    #[inline]
    pub(super) fn distance(&self, from: u32, to: u32) -> u32 {
        u32::from(self.entries[(from * self.columns + to) as usize].distance)
    }

    /// Columns, the part of the hops for each entry (where it starts, and how long it is), and
    /// the hops, all on channel 0.
    pub(super) fn into_hops(self) -> (u32, Vec<(u32, u32)>, Vec<Hop>) {
        let entries = self.entries.iter();
        let hop = |link: &LocalLink| Hop {
            port: link.port,
            vc: 0,
        };
        (
            self.columns,
            entries.map(|e| (e.first, u32::from(e.count))).collect(),
            self.links.iter().map(hop).collect(),
        )
    }

    /// Largest distance.
    pub(super) fn diameter(&self) -> u16 {
        self.entries.iter().map(|e| e.distance).max().unwrap_or(0)
    }

    /// Virtual channels that one traversal of the set needs: one where the
    /// paths by themselves close no cycle of channel dependencies (all-to-all,
    /// dimension order, up-down in trees), the diameter otherwise.
    pub(super) fn depth(&self) -> u16 {
        self.depth
    }

    fn one_channel_can_deadlock(&self) -> bool {
        // Channel = ordered pair of neighbouring routers that some path uses;
        // parallel links depend on each other alike and count once.
        let size = self.entries.len() / self.destinations.len().max(1);
        let columns = self.destinations.len();
        let mut targets: Vec<Vec<u16>> = vec![Vec::new(); size];
        for (from, targets) in targets.iter_mut().enumerate() {
            for to in 0..columns {
                targets.extend(self.links(from as u32, to as u32).iter().map(|w| w.to));
            }
            targets.sort_unstable();
            targets.dedup();
        }
        let heads = targets.iter().flatten().map(|&to| u32::from(to)).collect();
        let sizes: Vec<u32> = targets.iter().map(|t| t.len() as u32).collect();
        let mut graph = Dependencies::new(&sizes, heads);
        let channel = |graph: &Dependencies, from: usize, to: u16| {
            let slot = targets[from].binary_search(&to).unwrap_or(0);
            graph.first_leaving(from) + slot as u32
        };
        for from in 0..size {
            for to in 0..columns {
                for link in self.links(from as u32, to as u32) {
                    let held = channel(&graph, from, link.to);
                    for next in self.links(u32::from(link.to), to as u32) {
                        let wanted = channel(&graph, usize::from(link.to), next.to);
                        graph.insert(held, wanted);
                    }
                }
            }
        }
        graph.has_cycle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Router `i` linked to every router in `links(i)`, ports in that order.
    fn network(size: usize, links: impl Fn(usize) -> Vec<usize>) -> Vec<Vec<LocalLink>> {
        (0..size)
            .map(|i| {
                let links = links(i).into_iter().enumerate();
                links
                    .map(|(port, to)| LocalLink {
                        port: port as u16,
                        to: to as u16,
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn a_ring_has_two_ways_to_the_opposite_router_and_needs_its_diameter_in_channels() {
        let table = NextHops::shortest(&network(6, |i| vec![(i + 1) % 6, (i + 5) % 6])).unwrap();
        assert_eq!(table.links(0, 3).len(), 2);
        assert_eq!(table.links(0, 2), &[LocalLink { port: 0, to: 1 }]);
        assert_eq!((table.diameter(), table.depth()), (3, 3));
    }

    #[test]
    fn a_tree_needs_one_channel() {
        // A star: every path goes up once and down once.
        let table = NextHops::shortest(&network(5, |i| match i {
            0 => vec![1, 2, 3, 4],
            _ => vec![0],
        }))
        .unwrap();
        assert_eq!((table.diameter(), table.depth()), (2, 1));
    }

    #[test]
    fn dimension_order_goes_along_the_row_first_and_needs_one_channel() {
        // 2 rows × 3 columns, router = row * 3 + column.
        let positions: Vec<(u16, u16)> = (0..6).map(|i| (i / 3, i % 3)).collect();
        let links = network(6, |i| {
            let linked = |&j: &usize| j != i && (i / 3 == j / 3 || i % 3 == j % 3);
            (0..6).filter(linked).collect()
        });
        let table = NextHops::dimension_ordered(&links, &positions).unwrap();
        assert_eq!(table.links(0, 4)[0].to, 1);
        assert_eq!(table.links(1, 4)[0].to, 4);
        assert_eq!((table.diameter(), table.depth()), (2, 1));
        // With shortest paths in both orders, the turns close a cycle.
        assert_eq!(NextHops::shortest(&links).unwrap().depth(), 2);
    }

    #[test]
    fn dimension_order_needs_the_router_at_the_turn() {
        let positions = [(0, 0), (0, 1), (1, 0)];
        let links = network(3, |i| (0..3).filter(|&j| j != i).collect());
        assert!(NextHops::dimension_ordered(&links, &positions).is_none());
    }

    #[test]
    fn a_missing_path_is_named() {
        let links = network(3, |i| match i {
            0 => vec![1],
            1 => vec![0],
            _ => vec![],
        });
        assert_eq!(
            NextHops::shortest(&links).unwrap_err(),
            NoPath { from: 2, to: 0 }
        );
    }
}
