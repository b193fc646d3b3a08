//! From the scenario's `[network]` to a [`Topology`].

use std::path::Path;

use odonata_network::topology::{
    Arrangement, CrayXcError, CrayXcLinks, CrayXcSpec, CrossbarSpec, DragonflyError,
    DragonflyLinks, DragonflySpec, GroupWiring, TopologyError, arrangement, edge_list, graphml,
};
use odonata_network::{LinkClass, LinkKind, Topology};
use odonata_units::{Bandwidth, Bytes, Picoseconds};

use crate::error::SpecError;
use crate::spec::{self, Family, Kind, Link, Scenario};

/// Builds the network of a scenario.
///
/// # Errors
/// If its parameters do not close, a file cannot be read or is wrong, or a link
/// class is unknown or makes no sense. The error's path names the key.
pub fn build_topology(scenario: &Scenario) -> Result<Topology, SpecError> {
    let classes = Classes { scenario };
    match &scenario.network.topology {
        Family::Dragonfly(dragonfly) => build_dragonfly(dragonfly, &classes),
        Family::Crossbar(crossbar) => {
            classes.check_names(&["terminal"])?;
            let spec = CrossbarSpec {
                nodes: crossbar.nodes,
                terminal: classes.class("terminal", LinkKind::Terminal)?,
            };
            spec.build().map_err(|error| topology_error(error, "nodes"))
        }
        Family::CrayXcFile(cray) => {
            classes.check_names(&["terminal", "green", "black", "blue"])?;
            let spec = CrayXcSpec {
                nodes_per_router: cray.nodes_per_router,
                links: CrayXcLinks {
                    terminal: classes.class("terminal", LinkKind::Terminal)?,
                    green: classes.class("green", LinkKind::Local)?,
                    black: classes.class("black", LinkKind::Local)?,
                    blue: classes.class("blue", LinkKind::Global)?,
                },
            };
            let text = read_file(&cray.file, "network.file")?;
            spec.import(&text).map_err(|error| match error {
                CrayXcError::NodesPerRouter { .. } => {
                    SpecError::new("network.nodes_per_router", error.to_string())
                }
                error => in_file(&cray.file, "network.file", &error),
            })
        }
        Family::EdgeList(list) => {
            let text = read_file(&list.file, "network.file")?;
            edge_list::import(&text, &classes.all_given()?)
                .map_err(|error| in_file(&list.file, "network.file", &error))
        }
        Family::Graphml(graph) => {
            let text = read_file(&graph.file, "network.file")?;
            graphml::import(&text, &classes.all_given()?)
                .map_err(|error| in_file(&graph.file, "network.file", &error))
        }
    }
}

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
    router: &spec::Router,
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

/// The link classes of a scenario.
struct Classes<'a> {
    scenario: &'a Scenario,
}

impl Classes<'_> {
    /// Refuses classes that the family does not have.
    fn check_names(&self, known: &[&str]) -> Result<(), SpecError> {
        let unknown = self.scenario.network.links.keys();
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

    /// The class of a name, as given or by default.
    fn class(&self, name: &str, kind: LinkKind) -> Result<LinkClass, SpecError> {
        match self.scenario.network.links.get(name) {
            Some(link) => self.given(name, link, kind),
            None => self.given(name, &Link::default_for(name), kind),
        }
    }

    fn given(&self, name: &str, link: &Link, kind: LinkKind) -> Result<LinkClass, SpecError> {
        let path = |key| format!("network.links.{name}.{key}");
        let bandwidth = Bandwidth::new(link.bandwidth_bytes_per_s)
            .map_err(|error| SpecError::new(path("bandwidth"), error.to_string()))?;
        if link.latency_ps == 0 {
            return Err(SpecError::value(path("latency"), "0", "at least 1 ps"));
        }
        let scenario = self.scenario;
        let packet = scenario.simulation.packet_bytes;
        let buffer = link.buffer_bytes.unwrap_or_else(|| {
            default_buffer(
                link.bandwidth_bytes_per_s,
                link.latency_ps,
                &scenario.network.router,
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
        })
    }

    /// The classes that the scenario gives, for wiring files.
    fn all_given(&self) -> Result<Vec<LinkClass>, SpecError> {
        let links = self.scenario.network.links.iter();
        links
            .map(|(name, link)| {
                let kind = match (link.kind, name.as_str()) {
                    (Some(Kind::Terminal), _) | (None, "terminal") => LinkKind::Terminal,
                    (Some(Kind::Global), _) | (None, "global" | "blue") => LinkKind::Global,
                    _ => LinkKind::Local,
                };
                self.given(name, link, kind)
            })
            .collect()
    }
}

fn build_dragonfly(
    dragonfly: &spec::Dragonfly,
    classes: &Classes<'_>,
) -> Result<Topology, SpecError> {
    let spec::Dragonfly { p, a, h, .. } = *dragonfly;
    let closing = u64::from(a) * u64::from(h) + 1;
    let g = match dragonfly.g {
        Some(g) => g,
        None => u32::try_from(closing)
            .map_err(|_| SpecError::value("network.a", a, "a·h + 1 groups below 2^32"))?,
    };
    let terminal = classes.class("terminal", LinkKind::Terminal)?;
    let global = classes.class("global", LinkKind::Global)?;
    let (group, local, column) = match dragonfly.group {
        spec::GroupWiring::AllToAll => {
            classes.check_names(&["terminal", "local", "global"])?;
            (
                GroupWiring::AllToAll,
                classes.class("local", LinkKind::Local)?,
                None,
            )
        }
        spec::GroupWiring::CrayXc => {
            classes.check_names(&["terminal", "green", "black", "global"])?;
            let given = |value: Option<u32>, key: &str| {
                let path = format!("network.{key}");
                value.ok_or_else(|| {
                    SpecError::value(path, "nothing", "a value, as group = \"cray-xc\"")
                })
            };
            let group = GroupWiring::Grid {
                rows: given(dragonfly.rows, "rows")?,
                columns: given(dragonfly.columns, "columns")?,
                row_links: dragonfly.row_links,
                column_links: dragonfly.column_links,
            };
            let green = classes.class("green", LinkKind::Local)?;
            let black = classes.class("black", LinkKind::Local)?;
            (group, green, Some(black))
        }
    };
    let file = dragonfly.arrangement_file.as_deref();
    let arrangement = match (dragonfly.arrangement, file) {
        (spec::Arrangement::Absolute, _) => Arrangement::Absolute,
        (spec::Arrangement::Relative, _) => Arrangement::Relative,
        (spec::Arrangement::Circulant, _) => Arrangement::Circulant,
        (spec::Arrangement::Custom, None) => {
            return Err(SpecError::value(
                "network.arrangement_file",
                "nothing",
                "a file, as arrangement = \"custom\"",
            ));
        }
        (spec::Arrangement::Custom, Some(file)) => {
            let text = read_file(file, "network.arrangement_file")?;
            let links = arrangement::parse_global_links(&text)
                .map_err(|error| in_file(file, "network.arrangement_file", &error))?;
            Arrangement::Custom(links)
        }
    };
    let spec = DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement,
        group,
        links: DragonflyLinks {
            terminal,
            local,
            column,
            global,
        },
    };
    spec.build().map_err(|error| match error {
        DragonflyError::Zero { name } => {
            SpecError::new(format!("network.{name}"), error.to_string())
        }
        DragonflyError::TooManyGroups { .. } => SpecError::new("network.g", error.to_string()),
        DragonflyError::Grid { .. } => SpecError::new("network.rows", error.to_string()),
        DragonflyError::Arrangement(ref inner) => match file {
            Some(file) => in_file(file, "network.arrangement_file", inner),
            None => SpecError::new("network.arrangement", error.to_string()),
        },
        DragonflyError::Topology(inner) => topology_error(inner, ""),
        error => SpecError::new("network", error.to_string()),
    })
}

/// The key that a flaw of the wiring comes from; `size` is the family's key for
/// the size of a router.
fn topology_error(error: TopologyError, size: &str) -> SpecError {
    let path = match &error {
        TopologyError::ZeroLatency { name } => format!("network.links.{name}.latency"),
        TopologyError::ZeroBuffer { name } => format!("network.links.{name}.buffer"),
        TopologyError::ClassName { name } => format!("network.links.{name}"),
        TopologyError::NoNodes | TopologyError::TooManyPorts { .. } if !size.is_empty() => {
            format!("network.{size}")
        }
        _ => "network".to_owned(),
    };
    SpecError::new(path, error.to_string())
}

/// Reads a file that a key names.
pub(crate) fn read_file(file: &Path, key: &str) -> Result<String, SpecError> {
    std::fs::read_to_string(file).map_err(|error| {
        let found = format!("\"{}\", which cannot be read ({error})", file.display());
        let allowed = "a readable text file; relative paths start where the scenario lies";
        SpecError::value(key, found, allowed)
    })
}

/// An error in a file that a key names.
pub(crate) fn in_file(file: &Path, key: &str, error: &dyn std::fmt::Display) -> SpecError {
    SpecError::new(key, format!("{}: {error}", file.display()))
}
