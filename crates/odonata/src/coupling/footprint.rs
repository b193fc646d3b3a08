//! What a job's traffic puts on every link of a network, on average:
//! expectations, not samples, so that no link looks full by chance.
//!
//! Routes that know no groups (those of fat trees and tori) take all ways that their tables list
//! alike. The rest is about networks of groups.
//!
//! Minimal routes between two groups take each of their global links alike, as
//! `minimal` and `tago` routing with `minimal_links = "all"` do; inside a group they
//! take all shortest ways alike. Where no link joins two groups, routes go by way of
//! as few others as possible, all links that lead nearer alike (TAGO). Detours go by
//! way of every other group alike (Valiant). Expectations are linear, so what leaves a
//! router for a group is summed before it is spread over that group's links.

use std::collections::BTreeMap;

use odonata_flow::LinkNumbers;
use odonata_network::Topology;
use odonata_network::routing::{AnyRouting, expected_use, gathered_use};
use odonata_units::{GroupId, NodeId, PortId, RouterId};

use super::global_links::GlobalLinks;
use super::traffic::Traffic;

/// No place.
const NONE: u32 = u32::MAX;

/// Pairs of links through a group from which on their sum is kept.
const KEPT: usize = 8;

/// Links by number, ascending, each with what it carries.
pub(super) type Loads = Vec<(u32, f64)>;

/// Sums in the making.
struct Sums {
    /// Shape: links.
    load: Vec<f64>,
    touched: Vec<u32>,
}

impl Sums {
    #[inline]
    fn add(&mut self, link: u32, amount: f64) {
        let load = &mut self.load[link as usize];
        if *load == 0.0 {
            self.touched.push(link);
        }
        *load += amount;
    }

    fn add_all(&mut self, loads: &[(u32, f64)], amount: f64) {
        for &(link, share) in loads {
            self.add(link, share * amount);
        }
    }

    /// The sums; all are zero again.
    fn take(&mut self) -> Loads {
        self.touched.sort_unstable();
        let take = |link: u32| (link, std::mem::take(&mut self.load[link as usize]));
        let loads = self.touched.drain(..).map(take);
        loads.filter(|&(_, load)| load > 0.0).collect()
    }
}

/// What the nodes of a job send when each sends one unit, before it is known which
/// ways it takes between groups; all of it is inside where routes know no groups.
#[derive(Default)]
pub(super) struct Sent {
    /// Groups in which the job sits, ascending.
    pub groups: Vec<u32>,
    /// Routers with nodes of it, group by group, and the places of these groups.
    here: Vec<(u32, u32)>,
    /// What leaves each router for each group, and arrives at each from each. Shape:
    /// routers × groups.
    out: Vec<f64>,
    inn: Vec<f64>,
    /// The same between groups. Shape: groups × groups.
    pub between: Vec<f64>,
    /// What nodes' links carry, and what stays inside groups.
    inside: Loads,
}

impl Sent {
    /// Whether anything is sent from group to group.
    pub(super) fn leaves_groups(&self) -> bool {
        self.between.iter().any(|&sum| sum > 0.0)
    }
}

/// Routes that know no groups, and where they lead.
struct Tables {
    topology: Topology,
    routing: AnyRouting,
}

/// A network, ready to have traffic spread over it.
pub(super) struct Footprints {
    /// Where routes know no groups; nothing leaves a group then, see [`Sent`].
    tables: Option<Tables>,
    numbers: LinkNumbers,
    router_of_node: Vec<u32>,
    group_of_router: Vec<u32>,
    /// Place of each router within its group.
    place: Vec<u32>,
    routers_of: Vec<Vec<u32>>,
    /// Global links that do not change.
    fixed: GlobalLinks,
    /// What one unit between two routers of a group puts on its ports, by group,
    /// source and destination place.
    local: Vec<Vec<Loads>>,
    /// What one unit from group to group by way of a third puts on that one's ports,
    /// by (from, by way of, to), where it has been needed.
    transit: BTreeMap<(u32, u32, u32), Loads>,
    sums: Sums,
    /// Place of each router among those of a job. Shape: routers.
    here_of: Vec<u32>,
}

impl Footprints {
    /// The footprints on a network of groups; `minimal` routes inside them.
    pub(super) fn new(topology: &Topology, minimal: &AnyRouting) -> Self {
        let mut found = Self::without_ways(topology);
        let local = found.routers_of.iter().map(|routers| {
            let each = |&from: &u32| {
                let to = routers.iter();
                to.map(move |&to| (RouterId(from), RouterId(to)))
            };
            let pairs: Vec<_> = routers.iter().flat_map(each).collect();
            let mut paths: Vec<Loads> = vec![vec![]; pairs.len()];
            let mut visit = |pair: usize, port: PortId, share| paths[pair].push((port.0, share));
            expected_use(topology, minimal, &pairs, &mut visit);
            paths
        });
        found.local = local.collect();
        found
    }

    /// The footprints of a routing whose hops follow from router and destination alone.
    pub(super) fn of_tables(topology: Topology, routing: AnyRouting) -> Self {
        let found = Self::without_ways(&topology);
        Self {
            tables: Some(Tables { topology, routing }),
            ..found
        }
    }

    fn without_ways(topology: &Topology) -> Self {
        let router_of_port = topology.router_of_every_port();
        let group_of_router: Vec<u32> = topology.group_of_router.iter().map(|g| g.0).collect();
        let mut routers_of = vec![vec![]; topology.groups as usize];
        let mut place = vec![0; topology.routers()];
        for (router, &group) in group_of_router.iter().enumerate() {
            place[router] = routers_of[group as usize].len() as u32;
            routers_of[group as usize].push(router as u32);
        }
        let router_of_node = topology.port_of_node.iter();
        Self {
            tables: None,
            numbers: LinkNumbers::new(topology),
            router_of_node: router_of_node
                .map(|port| router_of_port[port.index()].0)
                .collect(),
            local: vec![],
            fixed: GlobalLinks::of(topology),
            here_of: vec![NONE; topology.routers()],
            group_of_router,
            place,
            routers_of,
            transit: BTreeMap::new(),
            sums: Sums {
                load: vec![0.0; topology.ports() + topology.nodes()],
                touched: vec![],
            },
        }
    }

    /// Number of groups.
    pub(super) fn groups(&self) -> usize {
        self.routers_of.len()
    }

    /// Numbers of the groups in which `nodes` are, ascending.
    pub(super) fn groups_of(&self, nodes: &[NodeId]) -> Vec<u32> {
        let router_of = |node: &NodeId| self.router_of_node[node.index()] as usize;
        let group_of = |node| self.group_of_router[router_of(node)];
        let mut groups: Vec<u32> = nodes.iter().map(group_of).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The global links that do not change.
    pub(super) fn fixed(&self) -> &GlobalLinks {
        &self.fixed
    }

    fn path(&self, from: u32, to: u32) -> &Loads {
        let group = self.group_of_router[from as usize] as usize;
        let size = self.routers_of[group].len();
        let (a, b) = (self.place[from as usize], self.place[to as usize]);
        &self.local[group][a as usize * size + b as usize]
    }

    /// What a job on these nodes sends when each of them sends one unit; `group` as in
    /// [`Traffic::distances`].
    pub(super) fn sent(&mut self, traffic: Traffic, nodes: &[NodeId], group: usize) -> Sent {
        let mut sums = self.empty_sums();
        let mut own: BTreeMap<u32, f64> = BTreeMap::new();
        for node in nodes {
            let router = self.router_of_node[node.index()];
            *own.entry(router).or_default() += 1.0;
            sums.add(self.numbers.node(*node).0, 1.0);
        }
        if let Some(tables) = &self.tables {
            let sent = self.by_router(traffic, nodes, group, &own);
            gathered_use(
                &tables.topology,
                &tables.routing,
                &sent,
                &mut |port, amount| sums.add(self.numbers.port(port).0, amount),
            );
            let inside = sums.take();
            self.sums = sums;
            return Sent {
                inside,
                ..Sent::default()
            };
        }
        let groups = self.groups_of(nodes);
        let mut here: Vec<(u32, u32)> = own
            .keys()
            .map(|&router| {
                let group = self.group_of_router[router as usize];
                (
                    router,
                    groups.partition_point(|&known| known < group) as u32,
                )
            })
            .collect();
        here.sort_by_key(|&(router, place)| (place, router));
        let k = groups.len();
        let (mut out, mut inn) = (vec![0.0; here.len() * k], vec![0.0; here.len() * k]);
        if traffic == Traffic::Uniform {
            let mut of_group = vec![0.0; k];
            for &(router, place) in &here {
                of_group[place as usize] += own[&router];
            }
            let others = (nodes.len() - 1) as f64;
            let mut first = 0;
            for (at, &(a, place)) in here.iter().enumerate() {
                for to in (0..k).filter(|&to| to != place as usize) {
                    let amount = own[&a] * of_group[to] / others;
                    out[at * k + to] = amount;
                    inn[at * k + to] = amount;
                }
                if here[first].1 != place {
                    first = at;
                }
                let neighbours = here[first..]
                    .iter()
                    .take_while(|&&(_, other)| other == place);
                for &(b, _) in neighbours.filter(|&&(b, _)| b != a) {
                    sums.add_all(self.path(a, b), own[&a] * own[&b] / others);
                }
            }
        } else {
            for (at, &(router, _)) in (0..).zip(&here) {
                self.here_of[router as usize] = at;
            }
            let distances = traffic.distances(nodes.len(), group);
            let share = 1.0 / distances.len() as f64;
            for from in 0..nodes.len() {
                let a = self.router_of_node[nodes[from].index()];
                let at = self.here_of[a as usize] as usize;
                for distance in &distances {
                    let to = nodes[(from + distance) % nodes.len()];
                    let b = self.router_of_node[to.index()];
                    let there = self.here_of[b as usize] as usize;
                    let (s, d) = (here[at].1 as usize, here[there].1 as usize);
                    if s == d {
                        sums.add_all(self.path(a, b), share);
                    } else {
                        out[at * k + d] += share;
                        inn[there * k + s] += share;
                    }
                }
            }
            for &(router, _) in &here {
                self.here_of[router as usize] = NONE;
            }
        }
        let mut between = vec![0.0; k * k];
        for (at, &(_, place)) in here.iter().enumerate() {
            for to in 0..k {
                between[place as usize * k + to] += out[at * k + to];
            }
        }
        let inside = sums.take();
        self.sums = sums;
        Sent {
            groups,
            here,
            out,
            inn,
            between,
            inside,
        }
    }

    /// What each router sends to each, by destination; `own` are nodes by router.
    fn by_router(
        &self,
        traffic: Traffic,
        nodes: &[NodeId],
        group: usize,
        own: &BTreeMap<u32, f64>,
    ) -> BTreeMap<u32, BTreeMap<u32, f64>> {
        let mut sent: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
        let mut add = |from: u32, to: u32, amount: f64| {
            *sent.entry(to).or_default().entry(from).or_default() += amount;
        };
        if traffic == Traffic::Uniform {
            let others = (nodes.len() - 1) as f64;
            for (&to, there) in own {
                for (&from, here) in own.iter().filter(|&(&from, _)| from != to) {
                    add(from, to, here * there / others);
                }
            }
            return sent;
        }
        let router = |place: usize| self.router_of_node[nodes[place % nodes.len()].index()];
        let distances = traffic.distances(nodes.len(), group);
        let share = 1.0 / distances.len() as f64;
        for from in 0..nodes.len() {
            for distance in &distances {
                add(router(from), router(from + distance), share);
            }
        }
        sent
    }

    /// The sums in the making, to be put back empty.
    fn empty_sums(&mut self) -> Sums {
        let none = Sums {
            load: vec![],
            touched: vec![],
        };
        std::mem::replace(&mut self.sums, none)
    }

    /// What links carry with minimal routes: over `global_links`, or the fixed links.
    ///
    /// # Errors
    /// Two groups of the job that no links lead between.
    pub(super) fn minimal(
        &mut self,
        sent: &Sent,
        global_links: Option<&GlobalLinks>,
    ) -> Result<Loads, (GroupId, GroupId)> {
        let mut sums = self.empty_sums();
        sums.add_all(&sent.inside, 1.0);
        let global_links = global_links.unwrap_or(&self.fixed);
        let k = sent.groups.len();
        for (at, &(router, place)) in sent.here.iter().enumerate() {
            let own = sent.groups[place as usize];
            for (other, &group) in sent.groups.iter().enumerate() {
                let leaves = sent.out[at * k + other];
                if leaves > 0.0 {
                    let links = global_links.between(own, group);
                    let share = leaves / links.len() as f64;
                    for global_link in links {
                        sums.add_all(self.path(router, global_link.from), share);
                    }
                }
                let arrives = sent.inn[at * k + other];
                if arrives > 0.0 {
                    let links = global_links.between(group, own);
                    let share = arrives / links.len() as f64;
                    for entry in links {
                        sums.add_all(self.path(entry.to, router), share);
                    }
                }
            }
        }
        let mut broken = None;
        for (to, &there) in sent.groups.iter().enumerate() {
            let mut distances = None;
            for (from, &here) in sent.groups.iter().enumerate() {
                let amount = sent.between[from * k + to];
                let links = global_links.between(here, there);
                for global_link in links {
                    sums.add(global_link.port, amount / links.len() as f64);
                }
                if amount > 0.0 && links.is_empty() {
                    let distances = distances.get_or_insert_with(|| global_links.distances(there));
                    if distances[here as usize].is_none() {
                        broken.get_or_insert((GroupId(here), GroupId(there)));
                        continue;
                    }
                    self.around(sent, global_links, (from, to), distances, &mut sums);
                }
            }
        }
        let loads = sums.take();
        self.sums = sums;
        match broken {
            None => Ok(loads),
            Some(pair) => Err(pair),
        }
    }

    /// Adds what goes between two groups, by place, that no link joins: by way of
    /// others, over all links that lead nearer alike.
    fn around(
        &self,
        sent: &Sent,
        global_links: &GlobalLinks,
        (from, to): (usize, usize),
        distances: &[Option<u32>],
        sums: &mut Sums,
    ) {
        let k = sent.groups.len();
        // What is at which router of which group, farthest groups first.
        let mut at: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
        let start = sent.here.iter().enumerate();
        let start = start.filter(|(_, (_, place))| *place as usize == from);
        let start = start.map(|(index, &(router, _))| (router, sent.out[index * k + to]));
        at.insert(sent.groups[from], start.collect());
        let mut left = distances[sent.groups[from] as usize].unwrap_or(0);
        while left > 0 {
            left -= 1;
            for (group, routers) in std::mem::take(&mut at) {
                let nearer = global_links.groups().iter();
                let nearer = nearer.filter(|&&next| distances[next as usize] == Some(left));
                let links: Vec<_> = nearer
                    .flat_map(|&next| {
                        global_links
                            .between(group, next)
                            .iter()
                            .map(move |e| (next, e))
                    })
                    .collect();
                let share = 1.0 / links.len() as f64;
                let total: f64 = routers.values().sum();
                for (next, global_link) in links {
                    for (&router, &amount) in &routers {
                        sums.add_all(self.path(router, global_link.from), amount * share);
                    }
                    sums.add(global_link.port, total * share);
                    *at.entry(next)
                        .or_default()
                        .entry(global_link.to)
                        .or_default() += total * share;
                }
            }
        }
        let ends: Vec<(u32, f64)> = (sent.here.iter().enumerate())
            .filter(|(_, (_, place))| *place as usize == to)
            .map(|(index, &(router, _))| (router, sent.inn[index * k + from]))
            .collect();
        let total: f64 = ends.iter().map(|(_, amount)| amount).sum();
        for (entry, amount) in at.into_values().flatten() {
            for &(router, part) in &ends {
                sums.add_all(self.path(entry, router), amount * part / total);
            }
        }
    }

    /// What links carry if everything between groups goes by way of a third one, each
    /// as often; of networks whose groups are all joined.
    pub(super) fn detours(&mut self, sent: &Sent) -> Option<Loads> {
        let n = self.groups();
        if n < 3 || !sent.leaves_groups() {
            return None;
        }
        self.find_transits(sent);
        let mut sums = self.empty_sums();
        sums.add_all(&sent.inside, 1.0);
        let k = sent.groups.len();
        let by = 1.0 / (n - 2) as f64;
        let thirds = 0..n as u32;
        // What goes from a router to a group goes to each third one alike.
        for (at, &(router, place)) in sent.here.iter().enumerate() {
            let own = sent.groups[place as usize];
            let row = at * k..(at + 1) * k;
            let (out, inn) = (&sent.out[row.clone()], &sent.inn[row]);
            let (leaves, arrives): (f64, f64) = (out.iter().sum(), inn.iter().sum());
            for third in thirds.clone().filter(|&third| third != own) {
                let direct = sent.groups.binary_search(&third).ok();
                let not_by = |row: &[f64]| direct.map_or(0.0, |place| row[place]);
                let links = self.fixed.between(own, third);
                let amount = (leaves - not_by(out)) * by / links.len() as f64;
                if amount > 0.0 {
                    for global_link in links {
                        sums.add_all(self.path(router, global_link.from), amount);
                    }
                }
                let links = self.fixed.between(third, own);
                let amount = (arrives - not_by(inn)) * by / links.len() as f64;
                if amount > 0.0 {
                    for entry in links {
                        sums.add_all(self.path(entry.to, router), amount);
                    }
                }
            }
        }
        let mut legs: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for (from, &here) in sent.groups.iter().enumerate() {
            for (to, &there) in sent.groups.iter().enumerate() {
                let amount = sent.between[from * k + to] * by;
                if amount == 0.0 {
                    continue;
                }
                for third in thirds.clone().filter(|&t| t != here && t != there) {
                    let (ins, outs) = (
                        self.fixed.between(here, third),
                        self.fixed.between(third, there),
                    );
                    if ins.len() * outs.len() >= KEPT {
                        sums.add_all(&self.transit[&(here, third, there)], amount);
                        continue;
                    }
                    let share = amount / (ins.len() * outs.len()) as f64;
                    for entry in ins {
                        for global_link in outs {
                            sums.add_all(self.path(entry.to, global_link.from), share);
                        }
                    }
                }
            }
            let sum = |of: &dyn Fn(usize) -> f64| (0..k).map(of).sum::<f64>();
            let out = sum(&|to| sent.between[from * k + to]);
            let inn = sum(&|to| sent.between[to * k + from]);
            for third in thirds.clone().filter(|&third| third != here) {
                let direct = sent.groups.binary_search(&third).ok();
                let not_by = |of: &dyn Fn(usize) -> f64| direct.map_or(0.0, of);
                *legs.entry((here, third)).or_default() +=
                    (out - not_by(&|place| sent.between[from * k + place])) * by;
                *legs.entry((third, here)).or_default() +=
                    (inn - not_by(&|place| sent.between[place * k + from])) * by;
            }
        }
        for ((from, to), amount) in legs {
            let links = self.fixed.between(from, to);
            if amount > 0.0 {
                for global_link in links {
                    sums.add(global_link.port, amount / links.len() as f64);
                }
            }
        }
        let loads = sums.take();
        self.sums = sums;
        Some(loads)
    }

    /// Sums up the ways through groups that a job needs and that are worth keeping.
    fn find_transits(&mut self, sent: &Sent) {
        let k = sent.groups.len();
        let mut sums = self.empty_sums();
        for pair in (0..k * k).filter(|&pair| sent.between[pair] > 0.0) {
            let (from, to) = (sent.groups[pair / k], sent.groups[pair % k]);
            for by in (0..self.groups() as u32).filter(|&by| by != from && by != to) {
                let (ins, outs) = (self.fixed.between(from, by), self.fixed.between(by, to));
                let pairs = ins.len() * outs.len();
                if pairs < KEPT || self.transit.contains_key(&(from, by, to)) {
                    continue;
                }
                for entry in ins {
                    for global_link in outs {
                        sums.add_all(self.path(entry.to, global_link.from), 1.0 / pairs as f64);
                    }
                }
                self.transit.insert((from, by, to), sums.take());
            }
        }
        self.sums = sums;
    }
}
