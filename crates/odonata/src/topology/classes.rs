//! What families of networks are built from beside their own tables: classes of links.

use std::collections::BTreeMap;

use odonata_network::topology::TopologyError;
use odonata_network::{LinkClass, LinkKind};
use odonata_units::{Bandwidth, Bytes, Picoseconds};

use crate::error::SpecError;
use crate::spec::link::Link;
use crate::spec::router::Router;

/// What a router's input buffer holds by default, per virtual channel: what its
/// link carries during one round trip of credits, plus four packets,
///
/// `⌈bandwidth · (2 · latency + router delay + credit delay)⌉ + 4 · packet`.
///
/// A single virtual channel then keeps the link busy: the buffer space of a
/// packet is taken when it starts to be sent, its head needs one latency to
/// arrive and the router delay to be passed on, and its credit one latency plus
/// the credit delay to return; of the four packets one is being sent, one
/// received, and two wait for the switch, so that contention for an output does
/// not starve the link at once.
pub fn default_buffer(
    bandwidth_bytes_per_s: u64,
    latency_ps: u64,
    router: &Router,
    packet_bytes: u64,
) -> u64 {
    let round_trip = 2 * u128::from(latency_ps)
        + u128::from(router.delay_ps)
        + u128::from(router.credit_delay_ps);
    let carried = (u128::from(bandwidth_bytes_per_s) * round_trip).div_ceil(1_000_000_000_000);
    u64::try_from(carried)
        .unwrap_or(u64::MAX)
        .saturating_add(packet_bytes.saturating_mul(4))
}

/// The link classes of a scenario, and what their defaults follow from.
pub(crate) struct Classes<'a> {
    /// What the scenario calls the family of its network.
    pub family: &'static str,
    /// Link classes that the scenario gives, by name.
    pub links: &'a BTreeMap<String, Link>,
    /// Its routers.
    pub router: &'a Router,
    /// Largest packets.
    pub packet_bytes: u64,
}

impl Classes<'_> {
    /// Refuses classes that the family does not have.
    pub fn check_names(&self, known: &[&str]) -> Result<(), SpecError> {
        let unknown = self.links.keys();
        match unknown
            .into_iter()
            .find(|name| !known.contains(&name.as_str()))
        {
            Some(name) => Err(SpecError::new(
                format!("network.links.{name}"),
                format!(
                    "this network has no such link class; allowed: {}",
                    known.join(", ")
                ),
            )),
            None => Ok(()),
        }
    }

    /// Whether a class is given.
    pub fn has(&self, name: &str) -> bool {
        self.links.contains_key(name)
    }

    /// The class of a name, as given or by default.
    pub fn class(&self, name: &str, kind: LinkKind) -> Result<LinkClass, SpecError> {
        self.class_or(name, kind, &Link::default_for(name))
    }

    /// The class of a name, as given or else `default`.
    pub fn class_or(
        &self,
        name: &str,
        kind: LinkKind,
        default: &Link,
    ) -> Result<LinkClass, SpecError> {
        let link = self.links.get(name);
        self.given(name, link.unwrap_or(default), kind)
    }

    pub fn given(&self, name: &str, link: &Link, kind: LinkKind) -> Result<LinkClass, SpecError> {
        let path = |key| format!("network.links.{name}.{key}");
        let bandwidth = Bandwidth::new(link.bandwidth_bytes_per_s)
            .map_err(|error| SpecError::new(path("bandwidth"), error.to_string()))?;
        if link.latency_ps == 0 {
            return Err(SpecError::value(path("latency"), "0", "at least 1 ps"));
        }
        let packet = self.packet_bytes;
        let buffer = link.buffer_bytes.unwrap_or_else(|| {
            default_buffer(
                link.bandwidth_bytes_per_s,
                link.latency_ps,
                self.router,
                packet,
            )
        });
        if buffer < packet {
            let allowed = format!(
                "at least one packet, {packet} B (or a smaller simulation.packet); a buffer that \
                 cannot hold a packet never passes one on"
            );
            return Err(SpecError::value(
                path("buffer"),
                format!("{buffer} B"),
                allowed,
            ));
        }
        Ok(LinkClass {
            name: name.to_owned(),
            kind,
            bandwidth,
            latency: Picoseconds(link.latency_ps),
            buffer: Bytes(buffer),
            impairments: Vec::new(),
        })
    }

    /// The classes that the scenario gives, for wiring files.
    pub fn all_given(&self) -> Result<Vec<LinkClass>, SpecError> {
        let links = self.links.iter();
        links
            .map(|(name, link)| {
                let begin = name.split('-').next().unwrap_or_default();
                let kind = match (link.kind, begin) {
                    (Some(LinkKind::Terminal), _) | (None, "terminal") => LinkKind::Terminal,
                    (Some(LinkKind::Global), _) | (None, "global" | "blue") => LinkKind::Global,
                    _ => LinkKind::Local,
                };
                self.given(name, link, kind)
            })
            .collect()
    }

    /// Classes that the scenario gives without their kind, which a wiring file may say.
    pub fn without_kind(&self) -> Vec<&str> {
        let links = self.links.iter().filter(|(_, link)| link.kind.is_none());
        links.map(|(name, _)| name.as_str()).collect()
    }

    /// The classes of links of which a wiring file says nothing.
    pub fn defaults(&self) -> Result<Vec<LinkClass>, SpecError> {
        [LinkKind::Terminal, LinkKind::Local, LinkKind::Global]
            .into_iter()
            .map(|kind| self.given(kind.name(), &Link::default_for(kind.name()), kind))
            .collect()
    }
}

/// The key that a flaw of the wiring comes from; `size` is the family's key for
/// the size of a router.
pub(crate) fn topology_error(error: TopologyError, size: &str) -> SpecError {
    let path = match &error {
        TopologyError::ZeroLatency { name } => format!("network.links.{name}.latency"),
        TopologyError::ZeroBuffer { name } => format!("network.links.{name}.buffer"),
        TopologyError::ClassName { name } => format!("network.links.{name}"),
        TopologyError::NoRouters
        | TopologyError::NoNodes
        | TopologyError::TooManyPorts { .. }
        | TopologyError::TooMany { .. }
            if !size.is_empty() =>
        {
            format!("network.{size}")
        }
        _ => "network".to_owned(),
    };
    SpecError::new(path, error.to_string())
}
