//! GRAP, the group-level resource allocation policy for reconfigurable dragonflies
//! of Feng, Dong, Zhao and Lu (ICS 2023, algorithms 1 to 3): a *small* job gets nodes
//! of one group and no reconfigurable links; a *large* job gets nodes of groups that
//! hold no other large job, and all reconfigurable links of these groups.
//!
//! [`choose_groups`] is the decision itself, from the state of the groups alone;
//! [`GrapState`] keeps the state of a machine's nodes and groups, finds nodes, and
//! checks the policy's rules at every claim. `docs/optical-switches.md#grap` says how the slips of the
//! paper's pseudo-code are resolved.

mod state;
#[cfg(test)]
mod tests;

use odonata_declare::Named;
use odonata_units::{NodeId, RouterId};
use thiserror::Error;

use crate::machine::Machine;

pub use state::{Allocation, GrapClaimError, GrapState};

/// How a large job's nodes are spread over groups (4.2). Small jobs have no mode:
/// they sit in one group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Named)]
#[named(kinds = GrapModeName)]
pub enum GrapMode {
    /// As few groups as possible, nodes in each as equal as the idle ones allow.
    #[default]
    Adaptive,
    /// As few groups as possible, equally many nodes in each.
    ///
    /// Whole groups if the job is a multiple of them.
    MinimalBalance,
    /// As many groups as `group_count` says, equally many nodes in each.
    CustomBalance {
        /// Number of groups.
        groups: u32,
    },
    /// The numbers of `nodes_per_group`, each in a group of its own.
    Custom {
        /// Nodes in each group; their sum is the job's.
        nodes: Vec<u32>,
    },
}

/// What a job asks GRAP for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrapRequest {
    /// Number of nodes, at least 1.
    pub nodes: u32,
    /// Mode, should the job be large.
    pub mode: GrapMode,
}

/// The state of one group, as far as the policy cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupState {
    /// Nodes of the group.
    pub nodes: u32,
    /// Nodes that no job holds and that work.
    pub idle: u32,
    /// Whether a large job owns the group's reconfigurable links.
    pub large: bool,
}

/// Groups chosen for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of each group, and how many of its nodes; no group twice.
    pub groups: Vec<(u32, u32)>,
    /// Whether the job is large, so that it owns the links of these groups.
    pub large: bool,
}

/// Why a job gets nothing from GRAP.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GrapRefusal {
    /// The job asks for nothing.
    #[error("the job asks for 0 nodes; it needs at least 1")]
    NoNodes,
    /// No group has enough idle nodes now (small job).
    #[error(
        "the job asks for {asked} nodes of one group; the most that are idle in one are {most}"
    )]
    NoGroup {
        /// Nodes asked for.
        asked: u32,
        /// Most idle nodes of a group.
        most: u32,
    },
    /// Too few groups without a large job have enough idle nodes now.
    #[error(
        "the job asks for {asked} nodes in {groups} groups without another large job; {candidates} \
         groups are without one, and their idle nodes do not suffice"
    )]
    NoGroups {
        /// Nodes asked for.
        asked: u32,
        /// Groups asked for.
        groups: u32,
        /// Groups without a large job.
        candidates: u32,
    },
    /// Even an idle machine could not hold the job as it asks.
    #[error("the job can never be placed: {0}")]
    Never(String),
}

impl GrapRefusal {
    /// Whether the job may get a place later.
    pub fn may_wait(&self) -> bool {
        matches!(self, Self::NoGroup { .. } | Self::NoGroups { .. })
    }
}

/// Whether a job is small: no larger than the largest group (4.1).
pub fn is_small(nodes: u32, groups: &[GroupState]) -> bool {
    groups.iter().any(|group| nodes <= group.nodes)
}

/// Chooses groups for a job (algorithm 1). A pure function, in O(N log N) of the
/// number of groups; equal inputs give equal choices, ties go to lower indices.
///
/// # Errors
/// Why the job has to wait, or can never be placed.
pub fn choose_groups(request: &GrapRequest, groups: &[GroupState]) -> Result<Choice, GrapRefusal> {
    let asked = request.nodes;
    if asked == 0 {
        return Err(GrapRefusal::NoNodes);
    }
    if is_small(asked, groups) {
        return small_job(asked, groups);
    }
    let least = least_groups(asked, groups)?;
    let wanted = match &request.mode {
        GrapMode::Adaptive => return adaptive(asked, least, groups),
        GrapMode::MinimalBalance => equal_parts(asked, least),
        GrapMode::CustomBalance { groups } => {
            if *groups == 0 || *groups > asked {
                return Err(GrapRefusal::Never(format!(
                    "it asks for {asked} nodes in {groups} groups; allowed: 1 to {asked} groups"
                )));
            }
            equal_parts(asked, *groups)
        }
        GrapMode::Custom { nodes } => {
            let sum: u64 = nodes.iter().map(|&count| u64::from(count)).sum();
            if sum != u64::from(asked) || nodes.contains(&0) {
                return Err(GrapRefusal::Never(format!(
                    "it asks for {asked} nodes, and by group for {sum}; the numbers by group must \
                     be at least 1 and add up to the job's nodes"
                )));
            }
            nodes.clone()
        }
    };
    in_parts(asked, wanted, groups)
}

/// The nodes of a choice: in each of its groups, in their order, those of the `idle` ones
/// with the lowest routers and numbers. Groups count among those of the machine that have
/// nodes.
pub fn nodes_of_choice(
    choice: &Choice,
    machine: &Machine,
    idle: impl Fn(NodeId) -> bool,
) -> Vec<NodeId> {
    let routers: Vec<&[RouterId]> = machine.groups().map(|(_, routers)| routers).collect();
    let mut nodes = Vec::new();
    for &(group, count) in &choice.groups {
        let all = routers[group as usize].iter();
        let all = all.flat_map(|&router| machine.nodes_of(router)).copied();
        nodes.extend(all.filter(|&node| idle(node)).take(count as usize));
    }
    nodes
}

/// A small job goes to the group with the fewest idle nodes that suffice, first among
/// the groups with a large job (algorithm 1, lines 6 to 18).
fn small_job(asked: u32, groups: &[GroupState]) -> Result<Choice, GrapRefusal> {
    let fitting = groups
        .iter()
        .zip(0u32..)
        .filter(|(group, _)| group.idle >= asked);
    let best = fitting.min_by_key(|(group, index)| (!group.large, group.idle, *index));
    let Some((_, index)) = best else {
        let most = groups.iter().map(|group| group.idle).max().unwrap_or(0);
        return Err(GrapRefusal::NoGroup { asked, most });
    };
    Ok(Choice {
        groups: vec![(index, asked)],
        large: false,
    })
}

/// The least number of groups whose nodes suffice; ⌈nodes / group size⌉ where groups
/// are alike.
fn least_groups(asked: u32, groups: &[GroupState]) -> Result<u32, GrapRefusal> {
    let mut sizes: Vec<u32> = groups.iter().map(|group| group.nodes).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0u64;
    for (&size, count) in sizes.iter().zip(1u32..) {
        sum += u64::from(size);
        if sum >= u64::from(asked) {
            return Ok(count);
        }
    }
    Err(GrapRefusal::Never(format!(
        "it asks for {asked} nodes, but the machine has {sum}"
    )))
}

/// `whole` in `parts` that differ by at most 1, smaller ones first.
fn equal_parts(whole: u32, parts: u32) -> Vec<u32> {
    let (part, rest) = (whole / parts, whole % parts);
    (0..parts)
        .map(|index| part + u32::from(index >= parts - rest))
        .collect()
}

/// Groups without a large job, by idle nodes, then number.
fn candidates(groups: &[GroupState]) -> Vec<(u32, u32)> {
    let free = groups.iter().zip(0u32..).filter(|(group, _)| !group.large);
    let mut candidates: Vec<(u32, u32)> = free.map(|(group, index)| (group.idle, index)).collect();
    candidates.sort_unstable();
    candidates
}

/// Each part in the group with the fewest idle nodes that suffice (algorithm 2, lines
/// 15 to 27). Both sorted, the first group that holds the smallest part is no loss to
/// a larger one that it could not hold, so this finds groups whenever there are any.
fn in_parts(asked: u32, mut parts: Vec<u32>, groups: &[GroupState]) -> Result<Choice, GrapRefusal> {
    parts.sort_unstable();
    let mut sizes: Vec<u32> = groups.iter().map(|group| group.nodes).collect();
    sizes.sort_unstable();
    let fits = parts.len() <= sizes.len()
        && parts
            .iter()
            .rev()
            .zip(sizes.iter().rev())
            .all(|(part, size)| part <= size);
    if !fits {
        let largest = parts.last().copied().unwrap_or(0);
        return Err(GrapRefusal::Never(format!(
            "it asks for {} groups, up to {largest} nodes in each; the machine has {} groups of up \
             to {} nodes",
            parts.len(),
            sizes.len(),
            sizes.last().copied().unwrap_or(0)
        )));
    }
    let candidates = candidates(groups);
    let mut next = candidates.iter();
    let mut chosen = Vec::with_capacity(parts.len());
    for &part in &parts {
        let Some(&(_, index)) = next.find(|&&(idle, _)| idle >= part) else {
            return Err(GrapRefusal::NoGroups {
                asked,
                groups: parts.len() as u32,
                candidates: candidates.len() as u32,
            });
        };
        chosen.push((index, part));
    }
    Ok(Choice {
        groups: chosen,
        large: true,
    })
}

/// `count` groups next to each other in order of idle nodes, with as few idle nodes
/// as suffice; the job's nodes spread over them as equally as they allow (algorithm 3).
fn adaptive(asked: u32, count: u32, groups: &[GroupState]) -> Result<Choice, GrapRefusal> {
    let candidates = candidates(groups);
    let width = count as usize;
    let sum = |window: &[(u32, u32)]| window.iter().map(|&(idle, _)| u64::from(idle)).sum::<u64>();
    let mut window = candidates
        .len()
        .checked_sub(width)
        .map(|start| &candidates[start..]);
    // Ascending, so the window moves towards fewer idle nodes as it moves left.
    let mut idle = window.map_or(0, sum);
    if idle < u64::from(asked) {
        window = None;
    }
    let Some(mut window) = window else {
        return Err(GrapRefusal::NoGroups {
            asked,
            groups: count,
            candidates: candidates.len() as u32,
        });
    };
    let mut start = candidates.len() - width;
    while start > 0 {
        let moved = idle + u64::from(candidates[start - 1].0) - u64::from(window[width - 1].0);
        if moved < u64::from(asked) {
            break;
        }
        idle = moved;
        start -= 1;
        window = &candidates[start..start + width];
    }
    let mut left = asked;
    let mut chosen = Vec::with_capacity(width);
    for (&(idle, index), groups_left) in window.iter().zip((1..=count).rev()) {
        let part = left.div_ceil(groups_left).min(idle);
        chosen.push((index, part));
        left -= part;
    }
    debug_assert_eq!(left, 0, "the window's idle nodes suffice");
    Ok(Choice {
        groups: chosen,
        large: true,
    })
}
