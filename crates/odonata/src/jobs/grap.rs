//! Jobs that are placed by GRAP.

use odonata_placement::grap::{GrapMode, GrapRefusal, GrapRequest, GroupState, choose_groups};
use odonata_units::NodeId;

use super::Placing;
use crate::error::SpecError;
use crate::spec::{self, Placement};

/// The mode that a placement asks for; `None` if it is another policy.
pub(super) fn mode(
    placement: &Placement,
    path: &dyn Fn(&str) -> String,
) -> Result<Option<GrapMode>, SpecError> {
    let Placement::Grap {
        mode,
        group_count,
        nodes_per_group,
    } = placement
    else {
        return Ok(None);
    };
    let custom = *mode == spec::GrapModeName::Custom;
    let balance = *mode == spec::GrapModeName::CustomBalance;
    for (key, given, wanted) in [
        ("group_count", group_count.is_some(), balance),
        ("nodes_per_group", nodes_per_group.is_some(), custom),
    ] {
        if given != wanted {
            let (found, allowed) = if given {
                ("a value", "nothing, as the mode of GRAP is another")
            } else {
                ("nothing", "a value, as the mode of GRAP asks for it")
            };
            let key = path(&format!("placement.{key}"));
            return Err(SpecError::value(key, found, allowed));
        }
    }
    Ok(Some(match mode {
        spec::GrapModeName::Adaptive => GrapMode::Adaptive,
        spec::GrapModeName::MinimalBalance => GrapMode::MinimalBalance,
        spec::GrapModeName::CustomBalance => GrapMode::CustomBalance {
            groups: group_count.unwrap_or(0),
        },
        spec::GrapModeName::Custom => GrapMode::Custom {
            nodes: nodes_per_group.clone().unwrap_or_default(),
        },
    }))
}

/// Nodes for a job: groups by GRAP, in each the free nodes with the lowest numbers.
pub(super) fn place(
    nodes: u32,
    mode: GrapMode,
    placing: &Placing<'_>,
) -> Result<Vec<NodeId>, GrapRefusal> {
    let machine = placing.state.machine();
    let nodes_of = |routers: &[_]| -> Vec<NodeId> {
        let nodes = routers.iter().flat_map(|&router| machine.nodes_of(router));
        nodes.copied().collect()
    };
    let mut free: Vec<Vec<NodeId>> = Vec::new();
    let mut views = Vec::new();
    for (group, routers) in machine.groups() {
        let all = nodes_of(routers);
        let total = all.len() as u32;
        let idle: Vec<NodeId> = (all.into_iter())
            .filter(|&node| placing.state.is_free(node))
            .collect();
        views.push(GroupState {
            nodes: total,
            idle: idle.len() as u32,
            large: placing.spanned.contains(&group),
        });
        free.push(idle);
    }
    let choice = choose_groups(&GrapRequest { nodes, mode }, &views)?;
    Ok(choice
        .groups
        .iter()
        .flat_map(|&(group, count)| free[group as usize].iter().take(count as usize))
        .copied()
        .collect())
}
