//! GRAP (Feng et al. 2023) in the place of Slurm's own choice of nodes: groups are the switches of
//! one level, jobs wait, are prioritised and backfilled as ever.

use std::collections::BTreeMap;

use odonata_placement::grap::{GrapMode, GrapRequest, GroupState, choose_groups};

use super::cluster::{Cluster, Filling, GrapGroups};
use super::nodes::NodeSet;
use super::select::{Ask, Selection};

/// What a job gets.
pub(super) struct Chosen {
    /// Its nodes, and how many CPUs of each.
    pub parts: Vec<(usize, u32)>,
    /// Groups that it owns, if it is large.
    pub owned: Vec<u32>,
}

impl Cluster {
    /// Nodes are chosen by GRAP from now on: by groups that are the switches of a level.
    ///
    /// # Errors
    /// If no switches have this level, or a node is below two of them.
    pub fn choose_by_grap(&mut self, level: u32, mode: GrapMode) -> Result<(), String> {
        let mut levels: BTreeMap<u32, usize> = BTreeMap::new();
        for switch in &self.switches {
            *levels.entry(switch.level).or_default() += 1;
        }
        if levels.is_empty() {
            return Err(
                "GRAP needs groups of nodes, and the files name no switches; give topology.conf, \
                 or what `scontrol show topology` prints"
                    .to_owned(),
            );
        }
        if !levels.contains_key(&level) {
            let known: Vec<String> = (levels.iter())
                .map(|(level, count)| format!("{level} ({count} switches)"))
                .collect();
            return Err(format!(
                "no switches of level {level} are the groups of GRAP; allowed: {}",
                known.join(", ")
            ));
        }
        let switches = self.switches.iter().filter(|switch| switch.level == level);
        let groups: Vec<Vec<u32>> = switches.map(|switch| switch.nodes.clone()).collect();
        let mut of_node = vec![None; self.nodes.len()];
        for (number, nodes) in groups.iter().enumerate() {
            for &node in nodes {
                if of_node[node as usize].replace(number).is_some() {
                    return Err(format!(
                        "node {} is below two switches of level {level}; groups of GRAP have no \
                         node in common",
                        self.nodes[node as usize].name
                    ));
                }
            }
        }
        self.filling = Filling::Grap(GrapGroups { groups, mode });
        Ok(())
    }
}

impl GrapGroups {
    /// The nodes of these groups.
    pub(super) fn nodes_of(&self, groups: &[u32], all: usize) -> NodeSet {
        let nodes = groups
            .iter()
            .flat_map(|&group| &self.groups[group as usize]);
        NodeSet::of(all, nodes.map(|&node| node as usize))
    }

    /// Whether the job is large: no group that it may use has as many nodes as it needs, or the
    /// nodes that it must have are of several groups.
    pub(super) fn is_large(&self, cluster: &Cluster, ask: &Ask) -> bool {
        if let Some(required) = &ask.required {
            return self.groups_with(required).len() > 1;
        }
        let most = ask.considered.iter().map(|node| cluster.nodes[node].cpus);
        let by_cpus = ask.cpus.div_ceil(most.max().unwrap_or(1).max(1));
        let count = ask.min_nodes.max(by_cpus) as usize;
        (self.groups.iter()).all(|group| considered_nodes(ask, group).count() < count)
    }

    fn groups_with(&self, nodes: &NodeSet) -> Vec<u32> {
        let has =
            |(_, group): &(u32, &Vec<u32>)| group.iter().any(|&node| nodes.contains(node as usize));
        let groups = (0u32..).zip(&self.groups).filter(has);
        groups.map(|(number, _)| number).collect()
    }

    /// Nodes for a job.
    ///
    /// A job that asks for CPUs gets as few nodes as have them, whatever the groups. Within a
    /// group, nodes are alike to GRAP: those of the least weight are taken in their order, or
    /// those with the most usable CPUs if these do not suffice.
    pub(super) fn choose(
        &self,
        cluster: &Cluster,
        ask: &Ask,
        owners: &[u32],
        cpus_on: &[u32],
    ) -> Option<Chosen> {
        if let Some(required) = &ask.required {
            let mut selection = Selection::new(cluster, ask, cpus_on.to_vec());
            selection.take_required()?;
            let groups = self.groups_with(required);
            let owned = if groups.len() > 1 { groups } else { Vec::new() };
            let is_owned = owned.iter().any(|&group| owners[group as usize] > 0);
            let is_served = selection.left.enough() && !is_owned;
            return is_served.then_some(Chosen {
                parts: selection.parts,
                owned,
            });
        }
        let mut usable: Vec<u32> = cpus_on.iter().copied().filter(|&cpus| cpus > 0).collect();
        usable.sort_unstable_by(|a, b| b.cmp(a));
        let mut cpus = 0;
        let fewest = usable.iter().position(|&more| {
            cpus += u64::from(more);
            cpus >= u64::from(ask.cpus)
        })?;
        let fewest = ask.min_nodes.max(fewest as u32 + 1);
        (fewest..=ask.max_nodes.min(usable.len() as u32))
            .find_map(|count| self.choose_count(cluster, ask, owners, cpus_on, count))
    }

    /// The same for a number of nodes.
    fn choose_count(
        &self,
        cluster: &Cluster,
        ask: &Ask,
        owners: &[u32],
        cpus_on: &[u32],
        count: u32,
    ) -> Option<Chosen> {
        let is_small = |nodes: u32| count <= nodes;
        let group = |(group, &owners): (&Vec<u32>, &u32)| {
            let nodes = considered_nodes(ask, group).count() as u32;
            let usable: Vec<usize> = usable_nodes(cluster, cpus_on, group);
            let serves =
                !is_small(nodes) || !taken(&usable, cpus_on, count, i64::from(ask.cpus)).is_empty();
            GroupState {
                nodes,
                idle: if serves { usable.len() as u32 } else { 0 },
                large: owners > 0,
            }
        };
        let groups: Vec<GroupState> = self.groups.iter().zip(owners).map(group).collect();
        let request = GrapRequest {
            nodes: count,
            mode: self.mode.clone(),
        };
        let choice = choose_groups(&request, &groups).ok()?;
        let mut selection = Selection::new(cluster, ask, cpus_on.to_vec());
        for &(group, part) in &choice.groups {
            let usable = usable_nodes(cluster, cpus_on, &self.groups[group as usize]);
            let share = match choice.groups.len() {
                1 => i64::from(ask.cpus),
                _ => 0,
            };
            for node in taken(&usable, cpus_on, part, share) {
                selection.take(node);
            }
        }
        let owned = match choice.large {
            true => choice.groups.iter().map(|&(group, _)| group).collect(),
            false => Vec::new(),
        };
        (selection.left.enough()).then_some(Chosen {
            parts: selection.parts,
            owned,
        })
    }
}

/// Nodes of a group that the job may have at all.
fn considered_nodes(ask: &Ask, group: &[u32]) -> impl Iterator<Item = usize> {
    let nodes = group.iter().map(|&node| node as usize);
    nodes.filter(|&node| ask.considered.contains(node))
}

/// Nodes of a group that have CPUs for the job, those of the least weight first.
fn usable_nodes(cluster: &Cluster, cpus_on: &[u32], group: &[u32]) -> Vec<usize> {
    let nodes = group.iter().map(|&node| node as usize);
    let mut usable: Vec<usize> = nodes.filter(|&node| cpus_on[node] > 0).collect();
    usable.sort_by_key(|&node| (cluster.nodes[node].weight, node));
    usable
}

/// `count` of these nodes with so many CPUs together; none if they have fewer. A single node is
/// the tightest that is enough.
fn taken(usable: &[usize], cpus_on: &[u32], count: u32, cpus: i64) -> Vec<usize> {
    let count = count as usize;
    let together =
        |nodes: &[usize]| -> i64 { nodes.iter().map(|&node| i64::from(cpus_on[node])).sum() };
    if count == 1 {
        let enough = usable
            .iter()
            .filter(|&&node| i64::from(cpus_on[node]) >= cpus);
        let tightest = enough.min_by_key(|&&node| cpus_on[node]);
        return tightest.into_iter().copied().collect();
    }
    let Some(first) = usable.get(..count) else {
        return Vec::new();
    };
    if together(first) >= cpus {
        return first.to_vec();
    }
    let mut largest = usable.to_vec();
    largest.sort_by_key(|&node| std::cmp::Reverse(cpus_on[node]));
    largest.truncate(count);
    if together(&largest) < cpus {
        largest.clear();
    }
    largest
}

#[cfg(test)]
mod tests;
