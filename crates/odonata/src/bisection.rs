//! The bisection width of a scenario's network.

use odonata_network::Topology;
use odonata_network::width::BisectionWidth;
use odonata_units::NodeId;
use serde_json::{Value, json};

use crate::error::SpecError;
use crate::spec::Scenario;
use crate::topology::build_topology;

/// Partial assignments at which a search for the exact width gives up by default.
pub const BISECTION_STEPS: u64 = 2_000_000;

/// Looks for the bisection width of a scenario's network, by `steps` partial
/// assignments at most; as named values.
///
/// # Errors
/// If the network cannot be built.
pub fn bisection_width(scenario: &Scenario, steps: u64) -> Result<Value, SpecError> {
    let topology = build_topology(scenario)?;
    Ok(to_json(&topology, &BisectionWidth::of(&topology, steps)))
}

fn to_json(topology: &Topology, width: &BisectionWidth) -> Value {
    let cut: Vec<Value> = topology
        .link_classes
        .iter()
        .zip(&width.cut_links)
        .filter(|(_, links)| **links > 0)
        .map(|(class, links)| {
            json!({
                "class": class.name,
                "kind": class.kind.name(),
                "links": links,
                "bandwidth_bytes_per_s": class.bandwidth.bytes_per_second(),
            })
        })
        .collect();
    let second = &width.halves.second_half;
    let side = |wanted: bool| -> Vec<u32> {
        (0..topology.nodes())
            .map(NodeId::from_index)
            .filter(|&node| second[topology.router_of_node(node).index()] == wanted)
            .map(|node| node.0)
            .collect()
    };
    json!({
        "network": topology.title,
        "nodes": topology.nodes(),
        "routers": topology.routers(),
        "bandwidth_bytes_per_s": width.halves.bandwidth_bytes_per_s,
        "lower_bound_bytes_per_s": width.lower_bound_bytes_per_s,
        "is_exact": width.halves.is_exact,
        "imbalance_nodes": width.halves.imbalance_nodes,
        "halves_every_group": width.is_balanced_in_groups(),
        "cut_links": cut,
        "routers_of_groups_in_second_half":
            width.groups.iter().map(|group| group.0).collect::<Vec<_>>(),
        "first_half_nodes": side(false),
        "second_half_nodes": side(true),
        "steps": width.steps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::dragonfly;

    #[test]
    fn halves_are_listed_node_by_node() {
        // 72 nodes at the default bandwidths (α = 4.69/5.25): four groups against
        // four, one group halved, 4 local links and 16 global ones between.
        let found = bisection_width(&dragonfly(), BISECTION_STEPS).unwrap();
        let count = |key: &str| found[key].as_array().unwrap().len();
        assert_eq!(
            (count("first_half_nodes"), count("second_half_nodes")),
            (36, 36)
        );
        assert_eq!(found["is_exact"], true);
        let links: Vec<u64> = (0..2)
            .map(|i| found["cut_links"][i]["links"].as_u64().unwrap())
            .collect();
        assert_eq!(links, [4, 16]);
    }
}
