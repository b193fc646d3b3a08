//! From the scenario's `[network]` to a [`Topology`].

pub(crate) mod codes;
mod crossbar;
mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod files;
mod graphs;
mod infiniband;
mod lattice;
pub(crate) mod reconfigurable;
pub(crate) mod switches;

use odonata_network::routing::{AlgorithmName, Paths};
use odonata_network::topology::TopologyError;
use odonata_network::{LinkClass, LinkKind, Topology};
use odonata_units::{Bandwidth, Bytes, Picoseconds};

use self::families::*;
use crate::error::SpecError;
use crate::spec::family::families;
use crate::spec::{self, FamilyDeclaration, Link, NetworkFamily, Scenario, TableDeclaration};

/// The families of networks, and the tables that they have in scenarios.
pub mod families {
    pub use super::Family;
    pub use super::codes::{CodesModel, CodesNetwork};
    pub use super::crossbar::Crossbar;
    pub use super::dragonfly::Dragonfly;
    pub use super::dragonfly_plus::DragonflyPlus;
    pub use super::fat_tree::FatTree;
    pub use super::files::{CrayXcFile, FileNetwork};
    pub use super::graphs::{Jellyfish, SlimFly};
    pub use super::infiniband::SubnetFile;
    pub use super::lattice::{HyperX, Torus};
    pub use super::reconfigurable::{CircuitSource, ReconfigurableDragonfly};
}

families! {
    /// Groups of routers, connected to each other directly.
    Dragonfly(Dragonfly) as "Dragonfly",
    /// Groups of leaf and spine routers, connected to each other directly.
    #[serde(rename = "dragonfly+")]
    DragonflyPlus(DragonflyPlus) as "DragonflyPlus",
    /// Groups of routers whose global links lead to optical switches.
    ReconfigurableDragonfly(ReconfigurableDragonfly) as "ReconfigurableDragonfly",
    /// Levels of switches, wider or narrower towards the top.
    FatTree(FatTree) as "FatTree",
    /// A lattice whose routers are linked to the next ones along each dimension.
    Torus(Torus) as "Torus",
    /// A lattice whose rows are all-to-all.
    Hyperx(HyperX) as "HyperX",
    /// A graph of diameter 2.
    SlimFly(SlimFly) as "SlimFly",
    /// A random regular graph.
    Jellyfish(Jellyfish) as "Jellyfish",
    /// All nodes on one router.
    Crossbar(Crossbar) as "Crossbar",
    /// A real Cray XC, from its link list.
    CrayXcFile(CrayXcFile) as "CrayXcFile",
    /// A network from the lists of links of the CODES simulator.
    Codes(CodesNetwork) as "Codes",
    /// An InfiniBand subnet, from the output of `ibnetdiscover` or a list of OpenSM.
    Ibnetdiscover(SubnetFile) as "Ibnetdiscover",
    /// A network from a list of links.
    EdgeList(FileNetwork) as "EdgeList",
    /// A network from a GraphML file.
    Graphml(FileNetwork) as "Graphml",
}

/// Builds the network of a scenario.
///
/// # Errors
/// If its parameters do not close, a file cannot be read or is wrong, or a link
/// class is unknown or makes no sense. The error's path names the key.
pub fn build_topology(scenario: &Scenario) -> Result<Topology, SpecError> {
    scenario.network.topology.build(&Classes { scenario })
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
pub(crate) struct Classes<'a> {
    scenario: &'a Scenario,
}

/// The class of a name, as the scenario gives it or by default; any name will do.
pub(crate) fn link_class(
    scenario: &Scenario,
    name: &str,
    kind: LinkKind,
) -> Result<LinkClass, SpecError> {
    Classes { scenario }.class(name, kind)
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

    /// Whether a class is given.
    fn has(&self, name: &str) -> bool {
        self.scenario.network.links.contains_key(name)
    }

    /// The class of a name, as given or by default.
    fn class(&self, name: &str, kind: LinkKind) -> Result<LinkClass, SpecError> {
        self.class_or(name, kind, &Link::default_for(name))
    }

    /// The class of a name, as given or else `default`.
    fn class_or(&self, name: &str, kind: LinkKind, default: &Link) -> Result<LinkClass, SpecError> {
        let link = self.scenario.network.links.get(name);
        self.given(name, link.unwrap_or(default), kind)
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
                    (Some(LinkKind::Terminal), _) | (None, "terminal") => LinkKind::Terminal,
                    (Some(LinkKind::Global), _) | (None, "global" | "blue") => LinkKind::Global,
                    _ => LinkKind::Local,
                };
                self.given(name, link, kind)
            })
            .collect()
    }

    /// The classes of links of which a wiring file says nothing.
    fn defaults(&self) -> Result<Vec<LinkClass>, SpecError> {
        [LinkKind::Terminal, LinkKind::Local, LinkKind::Global]
            .into_iter()
            .map(|kind| self.given(kind.name(), &Link::default_for(kind.name()), kind))
            .collect()
    }
}

/// The key that a flaw of the wiring comes from; `size` is the family's key for
/// the size of a router.
fn topology_error(error: TopologyError, size: &str) -> SpecError {
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::spec::{CrayXcFile, Crossbar, Dragonfly, Family, FileNetwork, Network, Router};
    use crate::testing::dragonfly;
    use proptest::prelude::*;

    fn network(family: Family) -> Scenario {
        Scenario::new(Network::new(family))
    }

    fn error_of(scenario: &Scenario) -> SpecError {
        build_topology(scenario).unwrap_err()
    }

    /// A scenario whose wiring stands in a file that is removed with the value.
    struct Wired {
        file: PathBuf,
        scenario: Scenario,
    }

    impl Wired {
        fn new(name: &str, text: &str, family: fn(FileNetwork) -> Family) -> Self {
            let name = format!("odonata-{}-{name}", std::process::id());
            let file = std::env::temp_dir().join(name);
            std::fs::write(&file, text).unwrap();
            let scenario = network(family(FileNetwork {
                file: file.clone(),
                nodes_per_router: None,
            }));
            Self { file, scenario }
        }
    }

    impl Drop for Wired {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.file);
        }
    }

    #[test]
    fn a_default_buffer_holds_a_round_trip_and_four_packets() {
        let router = Router {
            delay_ps: 50_000,
            credit_delay_ps: 10_000,
            ..Router::default()
        };
        // 10 GB/s · (2 · 100 + 50 + 10) ns = 2,600 B, and 4 · 100 B.
        assert_eq!(default_buffer(10_000_000_000, 100_000, &router, 100), 3_000);
        // 1 B/ns · 60.001 ns is rounded up.
        let router = Router {
            delay_ps: 1,
            ..Router::default()
        };
        assert_eq!(default_buffer(1_000_000_000, 30_000, &router, 1), 61 + 4);
    }

    proptest! {
        #[test]
        fn a_default_buffer_covers_the_round_trip(
            bandwidth in 1_000u64..=1_000_000_000_000_000,
            latency in 1u64..1_000_000_000,
            delay in 0u64..1_000_000_000,
            packet in 1u64..1_000_000,
        ) {
            let router = Router { delay_ps: delay, ..Router::default() };
            let buffer = default_buffer(bandwidth, latency, &router, packet);
            let carried = bandwidth as f64 * (2 * latency + delay) as f64 * 1e-12;
            let expected = carried + 4.0 * packet as f64;
            prop_assert!((buffer as f64 - expected).abs() <= 1.0 + 1e-9 * expected);
            prop_assert!(buffer >= 4 * packet);
        }
    }

    #[test]
    fn a_dragonfly_without_g_has_one_link_between_every_two_groups() {
        let mut spec = Dragonfly::new(2, 4, 2, 0);
        spec.g = None;
        let topology = build_topology(&network(Family::Dragonfly(spec))).unwrap();
        assert_eq!((topology.groups, topology.nodes()), (9, 72));
        // Left-out classes have the documented defaults.
        let rates: Vec<u64> = topology
            .link_classes
            .iter()
            .map(|class| class.bandwidth.bytes_per_second())
            .collect();
        assert_eq!(rates, [17_179_869_184, 5_637_144_576, 5_035_849_155]);
    }

    #[test]
    fn cray_groups_have_their_own_local_classes() {
        let mut spec = Dragonfly::new(4, 6, 2, 4);
        spec.group = spec::GroupWiringName::Grid;
        (spec.rows, spec.columns) = (Some(2), Some(3));
        let topology = build_topology(&network(Family::Dragonfly(spec.clone()))).unwrap();
        let names: Vec<&str> = topology
            .link_classes
            .iter()
            .map(|class| class.name.as_str())
            .collect();
        assert_eq!(names, ["terminal", "green", "black", "global"]);
        spec.columns = None;
        let error = error_of(&network(Family::Dragonfly(spec)));
        assert_eq!(error.path, "network.columns");
    }

    #[test]
    fn flaws_name_their_key() {
        let wrong = |change: fn(&mut Scenario)| {
            let mut scenario = dragonfly();
            change(&mut scenario);
            error_of(&scenario)
        };
        let link = |bandwidth, latency, buffer| Link {
            bandwidth_bytes_per_s: bandwidth,
            latency_ps: latency,
            buffer_bytes: buffer,
            kind: None,
        };
        let with_link = |name: &str, link: Link| {
            let mut scenario = dragonfly();
            scenario.network.links.insert(name.into(), link);
            error_of(&scenario)
        };
        let dragonfly_with =
            |p, a, h, g| error_of(&network(Family::Dragonfly(Dragonfly::new(p, a, h, g))));
        for (error, path, words) in [
            (dragonfly_with(2, 4, 2, 10), "network.g", "does not close"),
            (dragonfly_with(0, 4, 2, 9), "network.p", "at least 1"),
            (dragonfly_with(1, 70_000, 70_000, 2), "network", "ports"),
            (
                with_link("blue", link(1_000_000, 1, None)),
                "network.links.blue",
                "allowed: terminal, local, global",
            ),
            (
                with_link("local", link(0, 1, None)),
                "network.links.local.bandwidth",
                "between 1 kB/s and 1 PB/s",
            ),
            (
                with_link("local", link(1_000_000, 0, None)),
                "network.links.local.latency",
                "at least 1 ps",
            ),
            (
                with_link("local", link(1_000_000, 1, Some(4_095))),
                "network.links.local.buffer",
                "at least one packet, 4096 B",
            ),
            (
                wrong(|s| {
                    s.network.topology = Family::Crossbar(Crossbar { nodes: 0 });
                }),
                "network.nodes",
                "no nodes",
            ),
            (
                wrong(|s| {
                    s.network.topology = Family::CrayXcFile(CrayXcFile {
                        file: "/nowhere/at/all".into(),
                        nodes_per_router: 4,
                    });
                }),
                "network.file",
                "/nowhere/at/all",
            ),
        ] {
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
    }

    const PAIR: &str =
        "routers 0 1 group 0\nnodes 2 0 terminal\nnodes 2 1 terminal\nlink 0 1 fibre\n";

    #[test]
    fn classes_of_wiring_files_come_from_the_scenario() {
        let classes = "class terminal terminal\nclass fibre local\n";
        let mut wired = Wired::new("classes", &format!("{classes}{PAIR}"), Family::EdgeList);
        let error = error_of(&wired.scenario);
        assert_eq!(error.path, "network.file");
        assert!(error.message.contains("class `terminal`"), "{error}");
        for name in ["terminal", "fibre"] {
            let links = &mut wired.scenario.network.links;
            links.insert(name.into(), Link::default_for(name));
        }
        let topology = build_topology(&wired.scenario).unwrap();
        assert_eq!((topology.nodes(), topology.routers()), (4, 2));
        // It says nothing of its name.
        assert!(topology.title.contains("classes"), "{}", topology.title);
        assert_eq!(
            topology.link_classes[1].bandwidth.bytes_per_second(),
            5_637_144_576
        );
        // A class of the wrong role.
        let links = &mut wired.scenario.network.links;
        links.get_mut("fibre").unwrap().kind = Some(LinkKind::Global);
        assert!(error_of(&wired.scenario).message.contains("global"));
    }

    #[test]
    fn a_disconnected_wiring_is_refused() {
        let text = "class terminal terminal 1000000000 10000 8192\n\
                    class fibre local 1000000000 10000 8192\n\
                    routers 0 1 group 0\nnodes 2 0 terminal\nnodes 2 1 terminal\n";
        let wired = Wired::new("disconnected", text, Family::EdgeList);
        let error = error_of(&wired.scenario);
        assert_eq!(error.path, "network.file");
        assert!(error.message.contains("router 1"), "{error}");
    }

    #[test]
    fn wrong_lines_are_named() {
        let wired = Wired::new("wrong", "router 0 group 0\nrooter 1\n", Family::EdgeList);
        assert!(error_of(&wired.scenario).message.contains("line 2"));
        let wired = Wired::new("torn", "<graphml><graph>", Family::Graphml);
        assert_eq!(error_of(&wired.scenario).path, "network.file");
    }
}
