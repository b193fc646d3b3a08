//! What is wired, and how packets are routed on it.

use std::collections::BTreeMap;

pub use odonata_network::routing::{
    AlgorithmName, Choice, FparRules, HopTime, Keys, MinimalLinks, Paths, Queue, Via, Weights,
};
pub use odonata_network::topology::{ArrangementName, GroupWiringName, SpineArrangement};
pub use odonata_run::Decisions;
pub use odonata_steering::Strategy;
use serde::{Deserialize, Serialize};

use super::failures::Failures;
use super::link::Link;
use super::node::Node;
use super::router::{Nic, Router};
pub use super::routing::Routing;
use super::table::is_default;
use crate::topology::families::Family;

/// A network: topology, links, routers, network interfaces, routing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What is wired.
    pub topology: Family,
    /// How packets find their way.
    #[serde(default)]
    pub routing: Routing,
    /// Link classes by name; those left out get [`Link::default_for`].
    #[serde(default)]
    pub links: BTreeMap<String, Link>,
    /// The router model.
    #[serde(default)]
    pub router: Router,
    /// The network interface of a node.
    #[serde(default)]
    pub nic: Nic,
    /// What does not work; users have it beside the network.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failures: Failures,
    /// What is inside every node; users have it beside the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
}

impl Network {
    /// The network of a topology, with defaults for the rest.
    pub fn new(topology: Family) -> Self {
        let algorithm = topology.usual_routing();
        Self {
            topology,
            routing: algorithm.into(),
            links: BTreeMap::new(),
            router: Router::default(),
            nic: Nic::default(),
            failures: Failures::default(),
            node: None,
        }
    }
}
