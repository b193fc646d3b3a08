//! A reconfigurable dragonfly under GRAP, as the scheduler sees it: groups with idle
//! nodes, which of them a large job owns.

use std::sync::Arc;

use odonata_placement::grap::{
    Choice, GrapMode, GrapRefusal, GrapRequest, GroupState, choose_groups,
};

use odonata_units::NodeId;

use super::machine::{Ask, Machine, Withheld};

/// A machine whose groups are given to jobs by GRAP (Feng et al. 2023). Nodes of a
/// group are alike, so their number is all that is kept: which ones a job gets is
/// decided when it starts, and never matters to another job.
#[derive(Clone, Debug)]
pub struct GrapMachine {
    groups: Vec<GroupState>,
    free: u32,
    /// Mode of each job of the log, should it be large; the default for the others.
    modes: Arc<[GrapMode]>,
}

impl GrapMachine {
    /// An idle machine of groups with this many nodes. `modes` are those of the log's
    /// jobs; jobs beyond its end are adaptive.
    pub fn new(sizes: impl IntoIterator<Item = u32>, modes: Vec<GrapMode>) -> Self {
        let group = |nodes| GroupState {
            nodes,
            idle: nodes,
            large: false,
        };
        let groups: Vec<GroupState> = sizes.into_iter().map(group).collect();
        Self {
            free: groups.iter().map(|group| group.nodes).sum(),
            groups,
            modes: modes.into(),
        }
    }

    /// `count` groups that share `nodes` nodes as equally as possible, larger ones
    /// first.
    pub fn equal_groups(nodes: u32, count: u32, modes: Vec<GrapMode>) -> Self {
        let count = count.max(1);
        let size = move |group| nodes / count + u32::from(group < nodes % count);
        Self::new((0..count).map(size), modes)
    }

    /// The groups' states.
    pub fn groups(&self) -> &[GroupState] {
        &self.groups
    }

    /// Which group a node is in, where those of the first group have the first numbers, and so on.
    fn group_of(&self, node: NodeId) -> usize {
        let mut end = 0;
        let ends = self.groups.iter().map(|group| {
            end += group.nodes;
            end
        });
        ends.take_while(|&end| end <= node.0).count()
    }

    /// How many nodes of each group are withheld: from the last groups downwards.
    fn withheld(&self, nodes: &Withheld) -> Vec<u32> {
        let mut of_group = vec![0; self.groups.len()];
        match nodes {
            Withheld::All => {
                for (count, group) in of_group.iter_mut().zip(&self.groups) {
                    *count = group.nodes;
                }
            }
            Withheld::Count(count) => {
                let mut left = *count;
                for (count, group) in of_group.iter_mut().zip(&self.groups).rev() {
                    *count = left.min(group.nodes);
                    left -= *count;
                }
            }
            Withheld::Nodes(list) => {
                for &node in list {
                    if let Some(count) = of_group.get_mut(self.group_of(node)) {
                        *count += 1;
                    }
                }
            }
        }
        of_group
    }
}

impl Machine for GrapMachine {
    type Held = Arc<Choice>;
    type Refusal = GrapRefusal;

    fn size(&self) -> u32 {
        self.groups.iter().map(|group| group.nodes).sum()
    }

    fn free(&self) -> u32 {
        self.free
    }

    fn place(&self, ask: &Ask) -> Result<Arc<Choice>, GrapRefusal> {
        let mode = self.modes.get(ask.job as usize).cloned();
        let request = GrapRequest {
            nodes: ask.nodes,
            mode: mode.unwrap_or_default(),
        };
        choose_groups(&request, &self.groups).map(Arc::new)
    }

    fn take(&mut self, held: &Arc<Choice>) {
        for &(group, count) in &held.groups {
            let group = &mut self.groups[group as usize];
            debug_assert!(count <= group.idle && !(held.large && group.large));
            group.idle -= count;
            group.large |= held.large;
            self.free -= count;
        }
    }

    fn give_back(&mut self, held: &Arc<Choice>) {
        for &(group, count) in &held.groups {
            let group = &mut self.groups[group as usize];
            group.idle += count;
            group.large &= !held.large;
            self.free += count;
        }
    }

    fn overlay(&mut self, other: &Self) {
        self.free = 0;
        for (group, other) in self.groups.iter_mut().zip(&other.groups) {
            group.idle = group.idle.min(other.idle);
            group.large |= other.large;
            self.free += group.idle;
        }
    }

    fn out_of_service(&self, node: NodeId) -> Arc<Choice> {
        Arc::new(Choice {
            groups: vec![(self.group_of(node) as u32, 1)],
            large: false,
        })
    }

    fn withhold(&mut self, nodes: &Withheld, used: u32) {
        // Jobs inside a window hold nodes of its first groups; which ones makes no
        // difference to those outside as long as their number is right.
        let mut used = used;
        let withheld = self.withheld(nodes);
        for (group, count) in self.groups.iter_mut().zip(withheld) {
            let inside = used.min(count);
            used -= inside;
            let taken = (count - inside).min(group.idle);
            group.idle -= taken;
            self.free -= taken;
        }
    }

    fn within(&self, nodes: &Withheld, used: u32) -> Self {
        let mut confined = self.clone();
        let mut used = used;
        confined.free = 0;
        for (group, count) in confined.groups.iter_mut().zip(self.withheld(nodes)) {
            let inside = used.min(count);
            used -= inside;
            group.idle = group.idle.min(count - inside);
            confined.free += group.idle;
        }
        confined
    }

    fn idle(&self) -> Self {
        let sizes = self.groups.iter().map(|group| group.nodes);
        Self {
            modes: Arc::clone(&self.modes),
            ..Self::new(sizes, Vec::new())
        }
    }

    fn group_sizes(&self) -> Vec<u32> {
        self.groups.iter().map(|group| group.nodes).collect()
    }

    fn groups(held: &Arc<Choice>) -> Option<&[(u32, u32)]> {
        Some(&held.groups)
    }
}
