//! A network from what was discovered of an InfiniBand subnet.

use std::path::PathBuf;

use odonata_declare::Named;
use odonata_network::routing::AlgorithmName;
use odonata_network::topology::infiniband::{HostPort, Rate};
use odonata_network::{LinkClass, LinkKind, Subnet, Topology};
use serde::{Deserialize, Serialize};

use crate::error::SpecError;
use crate::named_file::in_file;
use crate::spec::family::{Links, NetworkFamily, Tests};
use crate::spec::link::Link;
use crate::spec::table::{is_default, table};
use crate::subnet::read_subnet;
use crate::topology::classes::Classes;

/// What is a node of a subnet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Interfaces {
    /// A host, by the names in its adapters' descriptions. It is attached once, to the switch of
    /// its first adapter, with the bandwidth of all.
    #[default]
    Joined,
    /// Each port of an adapter.
    Nodes,
}

table! {
    /// A discovered InfiniBand subnet: its switches are routers, its hosts are nodes.
    ///
    /// Aggregation nodes of switches are no hosts and are left out. All are one group. Routers and nodes are numbered as they are called if that is `S-0`,
    /// `S-1`, … and `H-0`, `H-1`, …, else by the GUIDs of the switches and along their ports.
    pub struct SubnetFile {
        /// Output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
        /// What is a node: a host, attached once to the switch of its first adapter with the
        /// bandwidth of all its adapters (`joined`), or each port of an adapter (`nodes`).
        #[serde(skip_serializing_if = "is_default")]
        interfaces: Interfaces = Interfaces::Joined,
    }
}

impl SubnetFile {
    /// What is cabled, with the hosts or ports that are nodes.
    pub(crate) fn subnet(&self) -> Result<Subnet, SpecError> {
        Ok(self.nodes_of(read_subnet(&self.file, "network.file")?))
    }

    /// A subnet with the same as its nodes.
    pub(crate) fn nodes_of(&self, subnet: Subnet) -> Subnet {
        match self.interfaces {
            Interfaces::Joined => subnet.joined(),
            Interfaces::Nodes => subnet,
        }
    }
}

impl NetworkFamily for SubnetFile {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::ShortestPath)];
    const LINKS: Links = Links::OfFile {
        text: "Link classes: `terminal` and `local`; if links of a kind differ in rate, one class \
             per rate, such as `local-4xEDR`, or `terminal-4xNDR-by-4` of a host with four such \
             ports. By default the bandwidth follows from the rate in the file (4xEDR: 12.5 GB/s).",
        kinds: false,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        build(self, classes)
    }
}

/// Builds it. Links have the class `terminal` or `local`, or, where those of a kind differ in their
/// rates, one for each, such as `local-4xEDR`; what the scenario does not give of a class follows
/// from its rate.
pub(super) fn build(network: &SubnetFile, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    let subnet = network.subnet()?;
    let terminal = distinct(subnet.hosts.iter().map(HostPort::rates));
    let local = distinct(subnet.cables.iter().map(|cable| vec![cable.rate.clone()]));
    let mut known: Vec<(LinkKind, Rates, LinkClass)> = Vec::new();
    for (kind, found) in [(LinkKind::Terminal, terminal), (LinkKind::Local, local)] {
        let several = found.len() > 1;
        for rates in found {
            let name = match name_of(&rates) {
                Some(name) if several => format!("{}-{name}", kind.name()),
                _ => kind.name().to_owned(),
            };
            let mut usual = Link::default_for(kind.name());
            let one = usual.bandwidth_bytes_per_s;
            let of_port = |rate: &Option<Rate>| {
                rate.as_ref()
                    .and_then(Rate::bytes_per_second)
                    .unwrap_or(one)
            };
            usual.bandwidth_bytes_per_s = rates.iter().map(of_port).sum();
            let class = classes.class_or(&name, kind, &usual)?;
            known.push((kind, rates, class));
        }
    }
    let names: Vec<&str> = known.iter().map(|known| known.2.name.as_str()).collect();
    classes.check_names(&names)?;
    let name = network.file.file_name().unwrap_or_default();
    let title = format!("subnet {}", name.to_string_lossy());
    let class_of = |kind: LinkKind, rates: &[Option<Rate>]| {
        let found = known.iter().find(|(k, r, _)| *k == kind && r == rates);
        found
            .or(known.first())
            .map(|known| known.2.clone())
            .expect("a class for each rate")
    };
    if known.is_empty() {
        let found = format!("{}, in which nothing is cabled", network.file.display());
        return Err(SpecError::value(
            "network.file",
            found,
            "a subnet with hosts",
        ));
    }
    (subnet.topology(title, class_of))
        .map_err(|error| in_file(&network.file, "network.file", &error))
}

/// Rates of the ports that one link stands for, in order.
type Rates = Vec<Option<Rate>>;

/// Each of some lists of rates once, in their order.
fn distinct(rates: impl Iterator<Item = Rates>) -> Vec<Rates> {
    let mut found: Vec<Rates> = rates.collect();
    found.sort();
    found.dedup();
    found
}

/// What links of such rates are called: `4xNDR`, `4xNDR-by-4`, `4xHDR-4xNDR`; `None` for a port
/// whose rate is not known.
fn name_of(rates: &[Option<Rate>]) -> Option<String> {
    if rates == [None] {
        return None;
    }
    let parts = rates.chunk_by(|a, b| a == b).map(|same| {
        let name = same[0].as_ref().map_or("unknown", Rate::as_str);
        match same.len() {
            1 => name.to_owned(),
            count => format!("{name}-by-{count}"),
        }
    });
    Some(parts.collect::<Vec<_>>().join("-"))
}
