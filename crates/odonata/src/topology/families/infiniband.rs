//! A network from what was discovered of an InfiniBand subnet.

use std::path::PathBuf;

use odonata_network::routing::AlgorithmName;
use odonata_network::topology::infiniband::Rate;
use odonata_network::{LinkClass, LinkKind, Topology};

use crate::error::SpecError;
use crate::named_file::in_file;
use crate::spec::family::{Links, NetworkFamily, Tests};
use crate::spec::link::Link;
use crate::spec::table::table;
use crate::subnet::read_subnet;
use crate::topology::classes::Classes;

table! {
    /// A discovered InfiniBand subnet: its switches are routers, its host ports are nodes.
    ///
    /// All are one group. Routers and nodes are numbered as they are called if that is `S-0`,
    /// `S-1`, … and `H-0`, `H-1`, …, else by the GUIDs of the switches and along their ports.
    pub struct SubnetFile {
        /// Output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
    }
}

impl NetworkFamily for SubnetFile {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::ShortestPath)];
    const LINKS: Links = Links::OfFile {
        text: "Link classes: `terminal` and `local`; if links of a kind differ in rate, one class \
             per rate, such as `local-4xEDR`. By default the bandwidth follows from the rate in the \
             file (4xEDR: 12.5 GB/s).",
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
    let subnet = read_subnet(&network.file, "network.file")?;
    let terminal = distinct(subnet.hosts.iter().map(|host| host.rate.as_ref()));
    let local = distinct(subnet.cables.iter().map(|cable| cable.rate.as_ref()));
    let mut known: Vec<(LinkKind, Option<Rate>, LinkClass)> = Vec::new();
    for (kind, rates) in [(LinkKind::Terminal, &terminal), (LinkKind::Local, &local)] {
        for rate in rates {
            let name = match (rates.len(), rate) {
                (1, _) | (_, None) => kind.name().to_owned(),
                (_, Some(rate)) => format!("{}-{}", kind.name(), rate.as_str()),
            };
            let mut usual = Link::default_for(kind.name());
            if let Some(rate) = rate.and_then(Rate::bytes_per_second) {
                usual.bandwidth_bytes_per_s = rate;
            }
            let class = classes.class_or(&name, kind, &usual)?;
            known.push((kind, rate.cloned(), class));
        }
    }
    let names: Vec<&str> = known.iter().map(|known| known.2.name.as_str()).collect();
    classes.check_names(&names)?;
    let name = network.file.file_name().unwrap_or_default();
    let title = format!("subnet {}", name.to_string_lossy());
    let class_of = |kind: LinkKind, rate: Option<&Rate>| {
        let found = known
            .iter()
            .find(|(k, r, _)| *k == kind && r.as_ref() == rate);
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

/// Each of some rates once, in their order.
fn distinct<'a>(rates: impl Iterator<Item = Option<&'a Rate>>) -> Vec<Option<&'a Rate>> {
    let mut found: Vec<Option<&Rate>> = rates.collect();
    found.sort();
    found.dedup();
    found
}
