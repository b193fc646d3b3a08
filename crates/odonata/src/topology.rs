//! From the scenario's `[network]` to a [`Topology`].

pub(crate) mod circuits;
pub(crate) mod classes;
mod failures;
pub(crate) mod families;
mod job_matrix;
mod node;
pub(crate) mod optics;
pub(crate) mod switches;
pub(crate) mod uplinks;

use odonata_network::topology::Timeline;
use odonata_network::{LinkClass, LinkKind, Topology};
use odonata_run::Losses;
use odonata_units::{Picoseconds, PortId, RouterId};

use self::classes::Classes;
use crate::error::SpecError;
use crate::spec::{Failures, Family, Scenario};

/// Builds the network of a scenario.
///
/// # Errors
/// If its parameters do not close, a file cannot be read or is wrong, a link
/// class is unknown or makes no sense, or something fails that there is not. The error's path names
/// the key.
pub fn build_topology(scenario: &Scenario) -> Result<Topology, SpecError> {
    failures::damaged(whole(scenario)?, scenario)
}

/// What works of a scenario's network from the start of the run on and from each moment on at which
/// links fail or work again; nothing if none do.
///
/// # Errors
/// As [`build_topology`], and if a node would have no way to the others from a moment on.
pub(crate) fn moments(scenario: &Scenario) -> Result<Vec<(Picoseconds, Topology)>, SpecError> {
    match scenario.network.failures.has_moments() {
        true => failures::moments(&whole(scenario)?, scenario),
        false => Ok(Vec::new()),
    }
}

/// Why nodes are out of service that work, as words behind an error; nothing if none are, or for another
/// reason.
pub(crate) fn why_lost(scenario: &Scenario) -> String {
    let why = || {
        // Networks whose circuits follow jobs place these, and ask why they cannot.
        scenario.network.node.as_ref()?;
        let whole = whole(scenario).ok()?;
        let inside = whole.inside.clone()?;
        let failures = &scenario.network.failures;
        let listed = failures.listed(scenario.simulation.duration_ps);
        inside.why_lost(&listed.without_rail(&whole).ok()?)
    };
    why().map_or(String::new(), |why| format!("; {why}"))
}

/// A scenario's network before anything fails.
///
/// # Errors
/// As [`build_topology`].
pub(crate) fn whole_of(scenario: &Scenario) -> Result<Topology, SpecError> {
    let mut whole = scenario.clone();
    whole.network.failures = Failures::default();
    build_topology(&whole)
}

/// A scenario's network before anything fails, and what of it works when; `None` if nothing fails.
///
/// # Errors
/// As [`build_topology`].
pub(crate) fn timeline(scenario: &Scenario) -> Result<Option<(Topology, Timeline)>, SpecError> {
    let whole = whole(scenario)?;
    let timeline = failures::timeline(&whole, scenario)?;
    Ok(timeline.map(|timeline| (whole, timeline)))
}

/// What is left of a scenario's network at a time of the run, as if it stayed so.
///
/// # Errors
/// As [`build_topology`], or if nothing is left.
pub fn left_at(scenario: &Scenario, time: Picoseconds) -> Result<Topology, SpecError> {
    match timeline(scenario)? {
        None => build_topology(scenario),
        Some((whole, timeline)) => failures::left(&timeline, &whole, time),
    }
}

/// The links of a scenario's network that lose packets during the run; `None`: none do.
///
/// # Errors
/// As [`moments`].
pub(crate) fn losses(scenario: &Scenario) -> Result<Option<Losses>, SpecError> {
    match scenario.network.failures.loses_packets() {
        true => failures::losses(&whole(scenario)?, scenario).map(Some),
        false => Ok(None),
    }
}

/// The ports of routers that lead to optical switches and do not work at a time of the run, each by its
/// router and counted from that one's first: their own failures and those of routers and optical
/// switches.
///
/// # Errors
/// As [`build_topology`].
pub fn dark_uplinks(
    scenario: &Scenario,
    time: Picoseconds,
) -> Result<Vec<(RouterId, u32)>, SpecError> {
    let Some(optics) = optics::optics(scenario)? else {
        return Ok(Vec::new());
    };
    let Some(unusable) = failures::unusable(scenario, time)? else {
        return Ok(Vec::new());
    };
    let ports = optics.ingress.iter().zip(&unusable.ports);
    let ports = ports.flat_map(|(ports, dark)| ports.iter().zip(dark));
    let mut dark: Vec<PortId> = ports
        .filter(|(_, dark)| **dark)
        .map(|(&port, _)| port)
        .collect();
    dark.sort_unstable();
    let place = |port: PortId| {
        let router = optics.laid.router_of_port(port);
        (router, port.0 - optics.laid.first_port[router.index()])
    };
    Ok(dark.into_iter().map(place).collect())
}

/// Whether circuits of optical switches are a part of a network.
pub(crate) fn has_circuits(family: &Family) -> bool {
    match family {
        Family::ReconfigurableDragonfly(_) => true,
        Family::FatTree(tree) => tree.optical.is_some(),
        _ => false,
    }
}

/// The network before anything fails.
fn whole(scenario: &Scenario) -> Result<Topology, SpecError> {
    let plane = plane(scenario)?;
    match &scenario.network.node {
        None => Ok(plane),
        Some(node) => node::furnished(plane, node, scenario, &classes_of(scenario)),
    }
}

/// The network as its family has it, whose nodes have no inside.
fn plane(scenario: &Scenario) -> Result<Topology, SpecError> {
    match &scenario.network.topology {
        Family::ReconfigurableDragonfly(dragonfly) => circuits::joined(dragonfly, scenario),
        family => {
            let built = family.build(&classes_of(scenario))?;
            uplinks::joined(built, scenario)
        }
    }
}

/// The class of a name, as the scenario gives it or by default; any name will do.
pub(crate) fn link_class(
    scenario: &Scenario,
    name: &str,
    kind: LinkKind,
) -> Result<LinkClass, SpecError> {
    classes_of(scenario).class(name, kind)
}

/// What the network of a scenario is built from beside the table of its family.
pub(crate) fn classes_of(scenario: &Scenario) -> Classes<'_> {
    Classes {
        family: scenario.network.topology.name(),
        links: &scenario.network.links,
        router: &scenario.network.router,
        packet_bytes: scenario.simulation.packet_bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::classes::default_buffer;
    use super::*;
    use crate::spec::{
        self, CrayXcFile, Crossbar, Dragonfly, Family, FatTree, FileNetwork, HyperX, Link, Network,
        Router,
    };
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
    }

    #[test]
    fn links_of_which_nothing_is_said_are_equal_in_all_families() {
        // 16 GiB/s, 30 ns; 300 ns between groups and above level 2 of a fat tree.
        let tree = FatTree {
            radix: Some(4),
            levels: Some(4),
            ..FatTree::default()
        };
        let hyperx = HyperX {
            size: vec![2, 2],
            parallel: None,
            p: 2,
        };
        for (family, latencies_ns) in [
            (Family::Crossbar(Crossbar { nodes: 4 }), &[30][..]),
            (Family::FatTree(tree), &[30, 30, 300, 300]),
            (Family::Hyperx(hyperx), &[30, 30, 30]),
            (
                Family::Dragonfly(Dragonfly::new(2, 4, 2, 9)),
                &[30, 30, 300],
            ),
        ] {
            let topology = build_topology(&network(family)).unwrap();
            let classes = topology.link_classes.iter();
            let links: Vec<_> = classes
                .map(|class| (class.bandwidth.bytes_per_second(), class.latency.0 / 1000))
                .collect();
            let expected: Vec<_> = latencies_ns.iter().map(|&ns| (16 << 30, ns)).collect();
            assert_eq!(links, expected, "{}", topology.title);
        }
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
        assert_eq!(topology.link_classes[1].latency.0, 30_000);
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
