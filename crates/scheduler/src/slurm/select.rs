//! Which nodes and cores a job gets, as `select/cons_tres` gives them: without
//! topology, runs of successive nodes of equal weight, the best fitting first; with a tree, leaf
//! switches below the lowest switch that is enough, the best fitting first; with a dragonfly, one
//! leaf switch, or all leaf switches in turn (`_eval_nodes_dfly` of `topology/tree`).

use std::ops::RangeInclusive;

use super::cluster::{Cluster, Filling, Node, Switch, Unit};
use super::nodes::NodeSet;
use crate::log::{Gres, Memory};

/// What a job asks of one partition, as the selection needs it.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub min_nodes: u32,
    pub max_nodes: u32,
    /// Together.
    pub cpus: u32,
    pub cpus_per_task: u32,
    /// 0: any number.
    pub tasks_per_node: u32,
    pub min_cpus_per_node: u32,
    /// CPUs of a node that the partition gives to a job.
    pub max_cpus_per_node: u32,
    pub memory: Option<Memory>,
    pub gres: Vec<Gres>,
    /// Whether it gets nodes of its own.
    pub whole: bool,
    /// Nodes that it must have.
    pub required: Option<NodeSet>,
    /// Nodes that have its features and are not excluded; several sets are tried in turn.
    pub suitable: Vec<NodeSet>,
    /// Nodes of the partition and of any of these sets that have the CPUs and the memory of one
    /// of its nodes: those that backfill looks at. Generic resources do not count here.
    pub considered: NodeSet,
}

/// What a job holds of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub node: u32,
    pub cpus: u32,
    pub memory: u64,
    /// Entries of the node's list of generic resources, and how many of each.
    pub gres: Vec<(u16, u64)>,
}

/// What a job holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub parts: Vec<Part>,
    /// Groups that it owns, by GRAP and if it is large.
    pub owned: Vec<u32>,
}

impl Held {
    pub fn cpus(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.cpus)).sum()
    }

    pub fn nodes(&self, all: usize) -> NodeSet {
        let mut set = NodeSet::none(all);
        self.parts
            .iter()
            .for_each(|part| set.insert(part.node as usize));
        set
    }
}

/// What is free on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Free {
    cpus: u32,
    memory: u64,
    gres: Vec<u64>,
}

/// What is free on all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    free: Vec<Free>,
    /// By GRAP: how many jobs own each group.
    owners: Vec<u32>,
}

impl State {
    pub fn idle(cluster: &Cluster) -> Self {
        let free = |node: &Node| Free {
            cpus: node.cpus,
            memory: node.memory_mb,
            gres: node.gres.iter().map(|gres| gres.count).collect(),
        };
        let groups = match &cluster.filling {
            Filling::Grap(grap) => grap.groups.len(),
            Filling::Tightest | Filling::InTurn => 0,
        };
        Self {
            free: cluster.nodes.iter().map(free).collect(),
            owners: vec![0; groups],
        }
    }

    pub fn take(&mut self, held: &Held) {
        for part in &held.parts {
            let free = &mut self.free[part.node as usize];
            debug_assert!(free.cpus >= part.cpus && free.memory >= part.memory);
            free.cpus -= part.cpus;
            free.memory -= part.memory;
            for &(slot, count) in &part.gres {
                free.gres[usize::from(slot)] -= count;
            }
        }
        for &group in &held.owned {
            self.owners[group as usize] += 1;
        }
    }

    pub fn give_back(&mut self, held: &Held) {
        for part in &held.parts {
            let free = &mut self.free[part.node as usize];
            free.cpus += part.cpus;
            free.memory += part.memory;
            for &(slot, count) in &part.gres {
                free.gres[usize::from(slot)] += count;
            }
        }
        for &group in &held.owned {
            self.owners[group as usize] -= 1;
        }
    }

    /// A place for the job on `allowed` nodes.
    pub fn place(&self, cluster: &Cluster, ask: &Ask, allowed: &NodeSet) -> Option<Held> {
        ask.suitable.iter().find_map(|suitable| {
            let mut usable = suitable.clone();
            usable.keep(allowed);
            self.place_on(cluster, ask, &usable)
        })
    }

    /// CPUs that the job could have on a node; 0: it cannot use it.
    fn usable_cpus(&self, cluster: &Cluster, ask: &Ask, node: usize) -> u32 {
        let (has, free) = (&cluster.nodes[node], &self.free[node]);
        let whole = ask.whole || cluster.unit == Unit::Node;
        let mut cpus = match cluster.unit {
            _ if whole => {
                if *free != untouched(has) {
                    return 0;
                }
                has.cpus
            }
            Unit::Cpu | Unit::Node => free.cpus,
            Unit::Core => free.cpus / has.threads * has.threads,
            Unit::Socket => {
                let socket = (has.cpus / has.sockets).max(1);
                free.cpus / socket * socket
            }
        };
        cpus = cpus.min(ask.max_cpus_per_node);
        if cluster.memory && !whole {
            match ask.memory {
                Some(Memory::PerNode(0)) if free.memory < has.memory_mb => return 0,
                Some(Memory::PerNode(amount)) if amount > free.memory => return 0,
                Some(Memory::PerCpu(amount)) if amount > 0 => {
                    cpus = cpus.min(u32::try_from(free.memory / amount).unwrap_or(u32::MAX));
                }
                _ => {}
            }
        } else if cluster.memory
            && let Some(Memory::PerNode(amount)) = ask.memory
            && amount > has.memory_mb
        {
            return 0;
        }
        if ask
            .gres
            .iter()
            .any(|gres| self.free_gres(has, node, gres) < gres.count)
        {
            return 0;
        }
        // Tasks are not split over nodes.
        let mut tasks = cpus / ask.cpus_per_task;
        if ask.tasks_per_node > 0 {
            if tasks < ask.tasks_per_node.min(ask.cpus.div_ceil(ask.cpus_per_task)) {
                return 0;
            }
            tasks = tasks.min(ask.tasks_per_node);
        }
        let cpus = if whole {
            cpus
        } else {
            tasks * ask.cpus_per_task
        };
        // A job of one node cannot use one that is too small.
        let too_small = ask.max_nodes == 1 && cpus < ask.cpus;
        if tasks == 0 || cpus < ask.min_cpus_per_node || too_small {
            0
        } else if ask.max_nodes == 1 && !ask.gres.is_empty() && !whole {
            // Nor does it see more of a node for its generic resources than it needs, so that
            // none of them fits it tighter than another.
            cpus.min(ask.cpus)
        } else {
            cpus
        }
    }

    fn free_gres(&self, has: &Node, node: usize, wanted: &Gres) -> u64 {
        let slots = has.gres.iter().zip(&self.free[node].gres);
        let matching = slots.filter(|(gres, _)| answers(gres, wanted));
        matching.map(|(_, &free)| free).sum()
    }

    /// A place on these nodes. Where the nodes that are taken first have too few CPUs
    /// together, those with the fewest are left out step by step, and it is tried again.
    fn place_on(&self, cluster: &Cluster, ask: &Ask, usable: &NodeSet) -> Option<Held> {
        let mut cpus_on = vec![0u32; cluster.nodes.len()];
        for node in usable.iter() {
            cpus_on[node] = self.usable_cpus(cluster, ask, node);
        }
        if let Filling::Grap(grap) = &cluster.filling {
            let chosen = grap.choose(cluster, ask, &self.owners, &cpus_on)?;
            let held = self.held(cluster, ask, chosen.parts);
            return Some(Held {
                owned: chosen.owned,
                ..held
            });
        }
        let required = |node: usize| ask.required.as_ref().is_some_and(|set| set.contains(node));
        loop {
            if let Some(parts) = Selection::of(cluster, ask, cpus_on.clone()) {
                return Some(self.held(cluster, ask, parts));
            }
            let left_out = |&(node, &cpus): &(usize, &u32)| cpus > 0 && !required(node);
            let fewest = cpus_on
                .iter()
                .enumerate()
                .filter(left_out)
                .map(|(_, &cpus)| cpus)
                .min()?;
            for (node, cpus) in cpus_on.iter_mut().enumerate() {
                if *cpus <= fewest && !required(node) {
                    *cpus = 0;
                }
            }
            if cpus_on.iter().filter(|&&cpus| cpus > 0).count() < ask.min_nodes as usize {
                return None;
            }
        }
    }

    /// What the job takes of these nodes.
    fn held(&self, cluster: &Cluster, ask: &Ask, mut parts: Vec<(usize, u32)>) -> Held {
        parts.sort_unstable();
        let whole = ask.whole || cluster.unit == Unit::Node;
        let part = |(node, cpus): (usize, u32)| {
            let has = &cluster.nodes[node];
            let unit = match cluster.unit {
                Unit::Cpu | Unit::Node => 1,
                Unit::Core => has.threads,
                Unit::Socket => (has.cpus / has.sockets).max(1),
            };
            let cpus = if whole {
                has.cpus
            } else {
                (cpus.div_ceil(unit) * unit).min(self.free[node].cpus)
            };
            let memory = match ask.memory {
                _ if !cluster.memory => 0,
                _ if whole => has.memory_mb,
                None => 0,
                Some(Memory::PerNode(0)) => has.memory_mb,
                Some(Memory::PerNode(amount)) => amount,
                Some(Memory::PerCpu(amount)) => {
                    (amount * u64::from(cpus)).min(self.free[node].memory)
                }
            };
            let mut gres = Vec::new();
            for wanted in &ask.gres {
                let mut count = wanted.count;
                for (slot, one) in has.gres.iter().enumerate() {
                    let given = count.min(self.free[node].gres[slot]);
                    if answers(one, wanted) && given > 0 {
                        gres.push((slot as u16, given));
                        count -= given;
                    }
                }
            }
            Part {
                node: node as u32,
                cpus,
                memory,
                gres,
            }
        };
        Held {
            parts: parts.into_iter().map(part).collect(),
            owned: Vec::new(),
        }
    }
}

fn untouched(node: &Node) -> Free {
    Free {
        cpus: node.cpus,
        memory: node.memory_mb,
        gres: node.gres.iter().map(|gres| gres.count).collect(),
    }
}

/// Whether a node's generic resource is one that a job asks for.
fn answers(has: &Gres, wanted: &Gres) -> bool {
    has.name == wanted.name && (wanted.kind.is_none() || has.kind == wanted.kind)
}

/// Nodes on their way to a job.
pub(super) struct Selection<'a> {
    cluster: &'a Cluster,
    ask: &'a Ask,
    /// CPUs that the job could have on each node; 0: none, or it has the node already.
    cpus_on: Vec<u32>,
    pub left: Left,
    /// Nodes that it has, and how many CPUs of each.
    pub parts: Vec<(usize, u32)>,
}

/// What a job still needs.
pub(super) struct Left {
    cpus: i64,
    nodes: i64,
    /// Nodes that it may still get.
    more: i64,
}

impl Left {
    pub fn enough(&self) -> bool {
        self.cpus <= 0 && self.nodes <= 0
    }
}

impl<'a> Selection<'a> {
    /// A job that has no node yet.
    pub fn new(cluster: &'a Cluster, ask: &'a Ask, cpus_on: Vec<u32>) -> Self {
        Self {
            cluster,
            ask,
            cpus_on,
            left: Left {
                cpus: i64::from(ask.cpus),
                nodes: i64::from(ask.min_nodes),
                more: i64::from(ask.max_nodes),
            },
            parts: Vec::new(),
        }
    }

    /// Nodes and how many CPUs the job has of each, where it could have this many.
    fn of(cluster: &'a Cluster, ask: &'a Ask, cpus_on: Vec<u32>) -> Option<Vec<(usize, u32)>> {
        let mut selection = Self::new(cluster, ask, cpus_on);
        if cluster.switches.is_empty() {
            selection.take_required()?;
            selection.take_of_runs()?;
        } else if cluster.filling == Filling::InTurn {
            keep_below_top_switch(cluster, ask, &mut selection.cpus_on)?;
            let heaviest = keep_lightest(cluster, ask, &mut selection.cpus_on)?;
            selection.take_required()?;
            selection.take_lighter_than(heaviest);
            selection.take_in_turn()?;
        } else {
            keep_lightest(cluster, ask, &mut selection.cpus_on);
            keep_below_one_switch(cluster, ask, &mut selection.cpus_on)?;
            selection.take_required()?;
            selection.take_of_leaves()?;
        }
        Some(selection.parts)
    }

    pub fn take(&mut self, node: usize) {
        let cpus = std::mem::take(&mut self.cpus_on[node]);
        // Nodes that are still needed get a CPU each at least.
        let least = i64::from(self.ask.min_cpus_per_node.max(1));
        let kept = (self.left.nodes - 1).max(0) * least;
        let given = if self.ask.whole || self.cluster.unit == Unit::Node {
            cpus
        } else {
            cpus.min((self.left.cpus - kept).max(least) as u32)
        };
        self.left.cpus -= i64::from(given);
        self.left.nodes -= 1;
        self.left.more -= 1;
        self.parts.push((node, given));
    }

    /// Whether the job may have one more node only, and this one is not enough.
    fn is_too_small(&self, node: usize) -> bool {
        self.left.more == 1 && i64::from(self.cpus_on[node]) < self.left.cpus
    }

    /// The nodes that the job must have.
    pub fn take_required(&mut self) -> Option<()> {
        for node in self.ask.required.iter().flat_map(NodeSet::iter) {
            if self.cpus_on[node] == 0 || self.left.more == 0 {
                return None;
            }
            self.take(node);
        }
        Some(())
    }

    /// Nodes leaf by leaf, the best first.
    fn take_of_leaves(&mut self) -> Option<()> {
        let leaves = self.cluster.switches.iter();
        let leaves = leaves.filter(|switch| switch.level == 0);
        let mut leaves: Vec<&[u32]> = leaves.map(|leaf| &*leaf.nodes).collect();
        while !self.left.enough() {
            let index = best_leaf(&leaves, &self.cpus_on, &self.left)?;
            for node in leaves.remove(index).iter().map(|&node| node as usize) {
                if self.left.more <= 0 || self.left.enough() {
                    break;
                }
                if self.cpus_on[node] > 0 && !self.is_too_small(node) {
                    self.take(node);
                }
            }
        }
        Some(())
    }

    /// All nodes of less than a weight: those of that weight are needed as well.
    fn take_lighter_than(&mut self, weight: u64) {
        for (node, has) in self.cluster.nodes.iter().enumerate() {
            if self.cpus_on[node] > 0 && has.weight < weight && self.left.more > 0 {
                self.take(node);
            }
        }
    }

    /// Nodes of one leaf: the one that the job has nodes of, or the first of those with the most.
    /// Where that is not enough, or the job has nodes of several, a node of each leaf in turn.
    fn take_in_turn(&mut self) -> Option<()> {
        let leaves = self.cluster.switches.iter();
        let leaves: Vec<&[u32]> = (leaves.filter(|switch| switch.level == 0))
            .map(|leaf| &*leaf.nodes)
            .collect();
        let free = |leaf: &[u32]| {
            let nodes = leaf.iter().map(|&node| node as usize);
            let usable: Vec<usize> = nodes.filter(|&node| self.cpus_on[node] > 0).collect();
            usable
        };
        let has = |leaf: &&&[u32]| {
            let is_taken = |node: &u32| self.parts.iter().any(|&(part, _)| part == *node as usize);
            leaf.iter().any(is_taken)
        };
        let held: Vec<&&[u32]> = leaves.iter().filter(has).collect();
        let single = match held[..] {
            // `max_by_key` takes the last of equal ones.
            [] => leaves.iter().rev().max_by_key(|leaf| free(leaf).len()),
            [leaf] => Some(leaf),
            _ => None,
        };
        let single = single.map(|leaf| free(leaf)).filter(|nodes| {
            let cpus = nodes.iter().map(|&node| i64::from(self.cpus_on[node]));
            nodes.len() as i64 >= self.left.nodes && cpus.sum::<i64>() >= self.left.cpus
        });
        for node in single.into_iter().flatten() {
            if self.left.enough() || self.left.more <= 0 {
                break;
            }
            self.take(node);
        }
        while !self.left.enough() {
            let before = self.parts.len();
            for leaf in &leaves {
                if self.left.enough() || self.left.more <= 0 {
                    break;
                }
                let mut nodes = leaf.iter().map(|&node| node as usize);
                if let Some(node) = nodes.find(|&node| self.cpus_on[node] > 0) {
                    self.take(node);
                }
            }
            if self.parts.len() == before {
                return None;
            }
        }
        Some(())
    }

    /// Nodes run by run, the best first.
    fn take_of_runs(&mut self) -> Option<()> {
        let mut runs = self.runs();
        while !self.left.enough() {
            if self.left.more <= 0 {
                return None;
            }
            let run = runs.remove(best(&runs, &self.left)?);
            for node in self.nodes_of(&run) {
                if self.left.more <= 0 || self.left.enough() {
                    break;
                }
                if !self.is_too_small(node) {
                    self.take(node);
                }
            }
        }
        Some(())
    }

    /// The nodes of a run to take: a single one that is enough, the tightest, or one after another.
    fn nodes_of(&self, run: &Run) -> RangeInclusive<usize> {
        let all = run.first..=run.last;
        if self.left.nodes > 1 {
            return all;
        }
        let enough = |&node: &usize| i64::from(self.cpus_on[node]) >= self.left.cpus;
        let single = all.clone().filter(enough);
        single
            .min_by_key(|&node| self.cpus_on[node])
            .map_or(all, |node| node..=node)
    }

    /// The runs of successive nodes of one weight.
    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut open = false;
        for (node, &usable) in self.cpus_on.iter().enumerate() {
            if usable == 0 {
                open = false;
                continue;
            }
            let weight = self.cluster.nodes[node].weight;
            match runs.last_mut() {
                Some(run) if open && run.weight == weight => {
                    run.last = node;
                    run.cpus += i64::from(usable);
                    run.nodes += 1;
                }
                _ => runs.push(Run {
                    first: node,
                    last: node,
                    cpus: i64::from(usable),
                    nodes: 1,
                    weight,
                }),
            }
            open = true;
        }
        runs
    }
}

/// First and last node, CPUs and number of nodes.
struct Run {
    first: usize,
    last: usize,
    cpus: i64,
    nodes: i64,
    weight: u64,
}

/// Whether the nodes with CPUs among these are enough for a job, whatever it must have of them.
fn enough(ask: &Ask, cpus_on: &[u32], nodes: impl Iterator<Item = usize>) -> bool {
    let (mut count, mut cpus) = (0u32, 0u64);
    for node in nodes.filter(|&node| cpus_on[node] > 0) {
        count += 1;
        cpus += u64::from(cpus_on[node]);
    }
    count >= ask.min_nodes && cpus >= u64::from(ask.cpus)
}

/// Leaves only nodes of the least weights that are enough together, and those that the job must
/// have; the greatest of these weights, if any are enough.
fn keep_lightest(cluster: &Cluster, ask: &Ask, cpus_on: &mut [u32]) -> Option<u64> {
    let usable = cpus_on.iter().zip(&cluster.nodes);
    let mut weights: Vec<u64> = usable
        .filter(|(cpus, _)| **cpus > 0)
        .map(|(_, node)| node.weight)
        .collect();
    weights.sort_unstable();
    weights.dedup();
    let required = |node: usize| ask.required.as_ref().is_some_and(|set| set.contains(node));
    let kept = |most: u64| {
        let nodes = cluster.nodes.iter().enumerate();
        nodes
            .filter(move |(number, node)| node.weight <= most || required(*number))
            .map(|(number, _)| number)
    };
    let most = weights
        .into_iter()
        .find(|&most| enough(ask, cpus_on, kept(most)))?;
    for (number, node) in cluster.nodes.iter().enumerate() {
        if node.weight > most && !required(number) {
            cpus_on[number] = 0;
        }
    }
    Some(most)
}

fn of(switch: &Switch) -> impl Iterator<Item = usize> + '_ {
    switch.nodes.iter().map(|&node| node as usize)
}

/// Leaves only nodes below the lowest switch that has enough, of several the one that has the
/// fewest; `None`: there is none.
fn keep_below_one_switch(cluster: &Cluster, ask: &Ask, cpus_on: &mut [u32]) -> Option<()> {
    let all = cluster.nodes.len();
    let set = |switch: &Switch| NodeSet::of(all, of(switch));
    let has_required =
        |switch: &&Switch| (ask.required.as_ref()).is_none_or(|nodes| set(switch).covers(nodes));
    let free = |switch: &Switch| of(switch).filter(|&node| cpus_on[node] > 0).count();
    let switch = (cluster.switches.iter())
        .filter(|switch| enough(ask, cpus_on, of(switch)))
        .filter(has_required)
        .min_by_key(|switch| (switch.level, free(switch)))?;
    let below = set(switch);
    for (node, cpus) in cpus_on.iter_mut().enumerate() {
        if !below.contains(node) {
            *cpus = 0;
        }
    }
    Some(())
}

/// Leaves only nodes below the first of the highest switches that have one that the job must have,
/// or any; `None`: there is none, or not all that it must have are there.
fn keep_below_top_switch(cluster: &Cluster, ask: &Ask, cpus_on: &mut [u32]) -> Option<()> {
    let may_be_top = |switch: &&Switch| match &ask.required {
        Some(required) => of(switch).any(|node| required.contains(node)),
        None => of(switch).any(|node| cpus_on[node] > 0),
    };
    let highest = cluster.switches.iter().rev().filter(may_be_top);
    let below = NodeSet::of(
        cluster.nodes.len(),
        of(highest.max_by_key(|top| top.level)?),
    );
    if ask
        .required
        .as_ref()
        .is_some_and(|required| !below.covers(required))
    {
        return None;
    }
    for (node, cpus) in cpus_on.iter_mut().enumerate() {
        if !below.contains(node) {
            *cpus = 0;
        }
    }
    Some(())
}

/// The leaf switch to take nodes from: the one with the fewest that are enough, else the one with
/// the most; of equal ones the first.
fn best_leaf(leaves: &[&[u32]], cpus_on: &[u32], left: &Left) -> Option<usize> {
    let mut found: Option<(usize, bool, i64)> = None;
    for (index, leaf) in leaves.iter().enumerate() {
        let usable = leaf.iter().map(|&node| i64::from(cpus_on[node as usize]));
        let usable = usable.filter(|&cpus| cpus > 0);
        let (nodes, cpus) = usable.fold((0, 0), |(nodes, sum), cpus| (nodes + 1, sum + cpus));
        let sufficient = nodes >= left.nodes && cpus >= left.cpus;
        let better = match found {
            _ if nodes == 0 => false,
            None => true,
            Some((_, true, fewest)) => sufficient && nodes < fewest,
            Some((_, false, most)) => sufficient || nodes > most,
        };
        if better {
            found = Some((index, sufficient, nodes));
        }
    }
    found.map(|(index, ..)| index)
}

/// The run to take nodes from: the least weight; of equal ones the tightest that is
/// enough, else the one with most CPUs. As in Slurm, a run of too few nodes with more
/// CPUs goes before one that is enough.
fn best(runs: &[Run], left: &Left) -> Option<usize> {
    let enough = |run: &Run| run.cpus >= left.cpus && run.nodes >= left.nodes;
    let mut found: Option<(usize, bool)> = None;
    for (index, run) in runs.iter().enumerate() {
        let sufficient = enough(run);
        let better = match found {
            None => true,
            Some((at, at_enough)) => {
                let best = &runs[at];
                let tighter = if sufficient {
                    !at_enough || run.cpus < best.cpus
                } else {
                    run.cpus > best.cpus
                };
                run.weight < best.weight || (run.weight == best.weight && tighter)
            }
        };
        if better {
            found = Some((index, sufficient));
        }
    }
    found.map(|(index, _)| index)
}
