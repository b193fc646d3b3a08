//! A scenario's network without a run: described, exported, proven.

use std::ops::ControlFlow;
use std::path::Path;

use odonata_network::routing::{AnyRouting, RoutingTask};
use odonata_network::topology::infiniband::export::GuidError;
use odonata_network::topology::{
    LeafSpine, anynet, edge_list, gml, graphml, infiniband, largest_dragonfly,
    largest_dragonfly_plus,
};
use odonata_network::verify::{Options, Verdict, VerifyError, verify_with};
use odonata_network::{Peer, Routing, Subnet, Topology};
use odonata_units::NodeId;
use serde_json::{Value, json};

use crate::error::{Error, SpecError};
use crate::forwarding;
use crate::named_file::{in_file, read_file};
use crate::routing::{build_routing, lanes, traffic_classes};
use crate::spec::{Family, Scenario};
use crate::subnet::read_subnet;
use crate::tables::{Table, kind_code};
use crate::topology::build_topology;

/// Formats of [`export`], by name.
pub const EXPORT_FORMATS: [&str; 9] = [
    "graphml",
    "edge-list",
    "ibsim",
    "opensm-root-guids",
    "opensm-guid-routing-order",
    "opensm-ids",
    "opensm-lfts",
    "forwarding-tables",
    "virtual-channels",
];

/// A network as text that other programs, and Odonata itself, can read.
///
/// # Errors
/// If the network cannot be built or has links that lead one way, or `format` is none of
/// [`EXPORT_FORMATS`].
pub fn export(scenario: &Scenario, format: &str) -> Result<String, SpecError> {
    type WithGuids = fn(&Topology, Option<&Subnet>) -> Result<String, GuidError>;
    let for_opensm: Option<WithGuids> = match format {
        "graphml" | "edge-list" | "ibsim" => None,
        "opensm-root-guids" => Some(infiniband::export::root_guids),
        "opensm-guid-routing-order" => Some(infiniband::export::guid_routing_order),
        "opensm-ids" => Some(infiniband::export::ids),
        "opensm-lfts" | "forwarding-tables" | "virtual-channels" => {
            return forwarding::export(scenario, &build_topology(scenario)?, format);
        }
        other => {
            let found = format!("format \"{other}\"");
            return Err(SpecError::value("", found, EXPORT_FORMATS.join(", ")));
        }
    };
    let topology = build_topology(scenario)?;
    if let Some(node) = topology.lost_nodes().next()
        && for_opensm.is_none()
    {
        let message = format!(
            "node {node} is out of service, and no format of networks has such nodes: write the network \
             without failed or cut-off nodes and routers"
        );
        return Err(SpecError::new("failures", message));
    }
    if topology.inside.is_some() && !matches!(format, "graphml" | "edge-list") {
        let message = format!(
            "format \"{format}\" is of InfiniBand subnets, which know no inside of nodes: remove [node] to \
             write one plane, whose hosts are interfaces, or use \"graphml\" or \"edge-list\""
        );
        return Err(SpecError::new("node", message));
    }
    if topology.has_one_way_links() {
        return Err(SpecError::value(
            "network.optical.circuits",
            "circuits that lead one way, which none of the formats can say",
            "circuits = \"unsteered\"",
        ));
    }
    let told = |error: GuidError| SpecError::new("network.file", error.to_string());
    match (for_opensm, format) {
        (Some(write), _) => {
            let (by_ports, subnet) = match forwarding::subnet_by_ports(scenario, &topology)? {
                Some((_, by_ports, subnet)) => (by_ports, Some(subnet)),
                None => (topology, None),
            };
            write(&by_ports, subnet.as_ref()).map_err(told)
        }
        (None, "graphml") => Ok(graphml::export(&topology)),
        (None, "edge-list") => Ok(edge_list::export(&topology)),
        (None, _) => {
            let subnet = match &scenario.network.topology {
                Family::Ibnetdiscover(network) => Some(network.subnet()?),
                _ => None,
            };
            infiniband::export::ibsim(&topology, subnet.as_ref()).map_err(told)
        }
    }
}

/// What is cabled in an InfiniBand subnet, from the output of `ibnetdiscover` or OpenSM's
/// `opensm-subnet.lst`: `switches`, `hosts` and `cables`, numbered as the routers and nodes of
/// `family = "ibnetdiscover"`.
///
/// # Errors
/// If the file cannot be read or is wrong.
pub fn subnet(file: &Path) -> Result<Value, SpecError> {
    let subnet = read_subnet(file, "")?;
    serde_json::to_value(subnet).map_err(|error| SpecError::new("", error.to_string()))
}

/// The graph of a wiring file by the names that stand in it: `vertices` with `name`, `is_node` and
/// `group`, `edges` by their places. `family` is that of scenarios: `graphml`, `gml` or `anynet`.
///
/// # Errors
/// If the file cannot be read or is wrong, or the family has no such files.
pub fn named_graph(file: &Path, family: &str) -> Result<Value, SpecError> {
    let text = read_file(file, "")?;
    let graph = match family {
        "graphml" => graphml::named_graph(&text),
        "gml" => gml::read(&text).and_then(|read| read.named_graph()),
        "anynet" => anynet::read(&text).map(|read| read.named_graph()),
        other => return Err(SpecError::value("", other, "graphml, gml, anynet")),
    };
    let graph = graph.map_err(|error| in_file(file, "", &error))?;
    serde_json::to_value(graph).map_err(|error| SpecError::new("", error.to_string()))
}

/// A network in numbers, by name; see [`Topology::describe`].
pub fn describe(topology: &Topology) -> Value {
    let found = topology.describe();
    let classes: Vec<Value> = found
        .classes
        .iter()
        .map(|class| {
            json!({
                "name": class.name,
                "kind": class.kind.name(),
                "links": class.links,
                "unconnected_ports": class.unconnected_ports,
                "bandwidth_bytes_per_s": class.bandwidth.bytes_per_second(),
                "latency_ps": class.latency.0,
                "buffer_bytes": class.buffer.0,
            })
        })
        .collect();
    let mut described = json!({
        "network": found.title,
        "nodes": found.nodes,
        "routers": found.routers,
        "groups": found.groups,
        "ports": topology.ports(),
        "radix_min": found.radix_min,
        "radix_max": found.radix_max,
        "nodes_per_router_min": found.nodes_per_router_min,
        "nodes_per_router_max": found.nodes_per_router_max,
        "diameter": found.diameter,
        "average_distance_routers": found.average_distance_routers,
        "average_distance_nodes": found.average_distance_nodes,
        "distances_are_exact": found.distance_sources == found.routers,
        "group_pair_links_min": found.group_pair_links_min,
        "group_pair_links_max": found.group_pair_links_max,
        "injection_bandwidth_bytes_per_s": found.injection_bandwidth_bytes_per_s,
        "bisection_bandwidth_bytes_per_s": found.bisection_bandwidth_bytes_per_s,
        "bisection_ratio": found.bisection_ratio,
        "bisection_imbalance_nodes": found.bisection_imbalance_nodes,
        "bisection_is_exact": found.bisection_is_exact,
        "link_classes": classes,
    });
    if let Some(inside) = &topology.inside {
        described["ranks_per_node"] = inside.ranks.into();
    }
    for (key, lost) in [
        ("nodes_out_of_service", found.lost_nodes),
        ("routers_out_of_service", found.lost_routers),
    ] {
        if lost > 0 {
            described[key] = lost.into();
        }
    }
    if let Some(LeafSpine { leaves, spines }) = found.leaf_spine {
        let plus = largest_dragonfly_plus(found.radix_max);
        let all_to_all = largest_dragonfly(found.radix_max);
        described["leaves_and_spines"] = json!({
            "leaves_per_group": leaves,
            "spines_per_group": spines,
        });
        described["largest_networks_of_this_radix"] = json!({
            "radix": found.radix_max,
            "dragonfly_plus_nodes": plus,
            "dragonfly_nodes": all_to_all,
            "ratio": plus as f64 / all_to_all as f64,
        });
    }
    described
}

/// The wiring as tables: `routers` (group, and row and column where groups are
/// 2-D), `nodes` (router, and which are out of service if any is) and `links` between routers, each once, with the end
/// of the lower port first, but for those that lead one way, which begin where they lead from.
pub fn wiring(topology: &Topology) -> Vec<Table> {
    let router_of_port = topology.router_of_every_port();
    let mut routers = Table::new("routers");
    let groups = topology.group_of_router.iter();
    routers.i32("group", groups.map(|group| group.0 as i32));
    if !topology.position_in_group.is_empty() {
        let places = || topology.position_in_group.iter();
        routers.i32("row", places().map(|place| i32::from(place.0)));
        routers.i32("column", places().map(|place| i32::from(place.1)));
    }
    let mut nodes = Table::new("nodes");
    let ports = topology.port_of_node.iter();
    nodes.i32(
        "router",
        ports.map(|port| router_of_port[port.index()].0 as i32),
    );
    if topology.lost_nodes().next().is_some() {
        let all = (0..topology.nodes()).map(NodeId::from_index);
        nodes.i8(
            "out_of_service",
            all.map(|node| u8::from(topology.is_lost(node))),
        );
    }
    let links: Vec<(usize, usize)> = topology
        .links()
        .map(|(port, other)| (port.index(), other.index()))
        .collect();
    let mut table = Table::new("links");
    let router = |port: usize| router_of_port[port].0 as i32;
    table.i32("a", links.iter().map(|link| router(link.0)));
    table.i32("b", links.iter().map(|link| router(link.1)));
    let class = |port: usize| topology.class_of_port[port];
    table.i8(
        "kind",
        links
            .iter()
            .map(|link| kind_code(topology.link_classes[class(link.0).index()].kind)),
    );
    table.i8("class", links.iter().map(|link| class(link.0).0));
    vec![routers, nodes, table]
}

/// What [`verify`] found.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The network.
    pub topology: Topology,
    /// Virtual channels per link.
    pub virtual_channels: u8,
    /// The verdict.
    pub verdict: Verdict,
}

/// Proves that no packets of a scenario's network can wait for each other in a
/// circle, or shows how they could. `progress` is called with how many of how many
/// destinations are done.
///
/// # Errors
/// If the network or the routing cannot be built ([`Error::Spec`]), if the proof
/// would take too long, or if a route leads nowhere ([`Error::Verify`]).
pub fn verify(
    scenario: &Scenario,
    options: &Options,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Proof, Error> {
    let topology = build_topology(scenario)?;
    let routing = build_routing(scenario, &topology)?;
    let lanes = lanes(scenario, &routing).count();
    let options = Options {
        virtual_channels: Some(lanes),
        ..*options
    };
    let verdict = prove(&topology, &routing, &options, progress)?;
    let classes = traffic_classes(scenario);
    Ok(Proof {
        virtual_channels: lanes * classes,
        topology,
        verdict: verdict.of_classes(classes.into()),
    })
}

/// Walks all routes of one of our algorithms.
pub(crate) fn prove(
    topology: &Topology,
    routing: &AnyRouting,
    options: &Options,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Verdict, VerifyError> {
    struct Walk<'a> {
        topology: &'a Topology,
        options: &'a Options,
        progress: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    }
    impl RoutingTask for Walk<'_> {
        type Output = Result<Verdict, VerifyError>;
        fn run<R: Routing>(self, routing: &R) -> Self::Output {
            verify_with(self.topology, routing, self.options, self.progress)
        }
    }
    routing.dispatch(Walk {
        topology,
        options,
        progress,
    })
}

impl Proof {
    /// As named values: `safe`, `proven` (not with a sample, or out of time),
    /// `virtual_channels`,
    /// `channels`, `dependencies`, `cycle` and what else the verdict holds.
    pub fn to_json(&self) -> Value {
        let (channels, dependencies, longest, cycle) = match &self.verdict {
            Verdict::DeadlockFree {
                channels,
                dependencies,
                longest_route,
                ..
            } => (
                Some(*channels),
                Some(*dependencies),
                Some(*longest_route),
                None,
            ),
            Verdict::NotProven {
                dependencies,
                longest_route,
                ..
            } => (None, Some(*dependencies), Some(*longest_route), None),
            Verdict::Cycle(cycle) => (None, None, None, Some(cycle)),
        };
        let cycle: Vec<String> = cycle.into_iter().flatten().map(|c| c.to_string()).collect();
        json!({
            "network": self.topology.title,
            "safe": cycle.is_empty(),
            "proven": !matches!(self.verdict, Verdict::NotProven { .. }),
            "virtual_channels": self.virtual_channels,
            "channels": channels.unwrap_or_else(|| self.channels()),
            "dependencies": dependencies,
            "longest_route": longest,
            "cycle": cycle,
            "verdict": self.verdict.to_string(),
        })
    }

    /// Virtual channels of all directions of links between routers.
    fn channels(&self) -> u64 {
        let linked = self.topology.peer.iter();
        let ports = linked.filter(|peer| matches!(peer, Peer::Port(_))).count() as u64;
        ports * u64::from(self.virtual_channels)
    }
}
