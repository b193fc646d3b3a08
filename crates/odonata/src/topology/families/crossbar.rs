//! From the scenario's crossbar to a [`Topology`].

use odonata_network::routing::{AlgorithmName, Paths};
use odonata_network::topology::CrossbarSpec;
use odonata_network::{LinkKind, Topology};

use crate::error::SpecError;
use crate::spec::family::{Links, NetworkFamily, Tests};
use crate::spec::table::table;
use crate::topology::classes::{Classes, topology_error};

table! {
    /// All nodes on one router: an ideal network to compare real ones with.
    pub struct Crossbar {
        /// Nodes.
        nodes: u32 = 0 => Notes::NEEDED_COUNT,
    }
}

impl NetworkFamily for Crossbar {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::ShortestPath)];
    const PATHS: Option<Paths> = Some(Paths::ShortestPath);
    const LINKS: Links = Links::Classes {
        name: "Links",
        text: "Link classes of a network.",
        key_text: "Link classes.",
        classes: &[],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        classes.check_names(&["terminal"])?;
        let spec = CrossbarSpec {
            nodes: self.nodes,
            terminal: classes.class("terminal", LinkKind::Terminal)?,
        };
        spec.build().map_err(|error| topology_error(error, "nodes"))
    }
}
