//! From the scenario's `[network.routing]` to a routing algorithm.

use odonata_declare::Named;
use odonata_network::routing::grouped::GroupedRoutes;
use odonata_network::routing::{
    AdaptiveOptions, AlgorithmName, AlgorithmOptions, AnyRouting, HopTime, Lanes, Paths,
    QAdaptiveOptions, Queue, RoutingError, RoutingSpec, Via, Weighting,
};
use odonata_network::{LinkKind, Peer, Topology};

use crate::error::SpecError;
use crate::spec::{self, Decisions, Family, Scenario, SwitchingName};
use crate::topology::classes::default_buffer;

/// Threshold of FPAR where a scenario gives none: half of what channel 0 may hold at the
/// other end of a link waits here, when all of that is full. Packets on their way out
/// use one of the two channels, so that at 0.5 (Kang et al. 2019, section 3.1.2) every
/// path with a full channel counts as congested, and they leave minimal paths that
/// still move.
const DEFAULT_SHARE: f64 = 0.75;

/// What a network's routing is where a scenario does not say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    /// Advantage of minimal routes, in bytes.
    pub threshold_bytes: u64,
    /// The queue that stands for a route, where no threshold is given.
    pub queue: Queue,
    /// What minimal routes are.
    pub paths: Paths,
    /// Bytes of a packet, and those that come with its head.
    pub packet_bytes: u64,
    pub flit_bytes: u64,
}

impl Usual {
    /// The defaults of flows and of the bundles of a schedule's jobs, which have no queues that
    /// come and go: no threshold.
    pub fn of_flows(family: &Family, topology: &Topology) -> Self {
        Self {
            threshold_bytes: 0,
            queue: Queue::Port,
            paths: usual_paths(family, topology),
            packet_bytes: 0,
            flit_bytes: 0,
        }
    }
}

/// The paths of the family; over groups on other networks, if there is more than one group.
fn usual_paths(family: &Family, topology: &Topology) -> Paths {
    let by_groups = if topology.groups > 1 {
        Paths::Groups
    } else {
        Paths::ShortestPath
    };
    family.usual_paths().unwrap_or(by_groups)
}

/// Builds the routing algorithm of a scenario for its network.
///
/// # Errors
/// If the algorithm does not fit the network, or an option the algorithm.
pub fn build_routing(scenario: &Scenario, topology: &Topology) -> Result<AnyRouting, SpecError> {
    let network = &scenario.network;
    let (threshold_bytes, queue) = default_threshold(scenario, topology);
    let packet_bytes = scenario.simulation.packet_bytes;
    let usual = Usual {
        threshold_bytes,
        queue,
        paths: usual_paths(&network.topology, topology),
        packet_bytes,
        flit_bytes: match network.router.switching {
            SwitchingName::CutThrough => network.router.flit_bytes.min(packet_bytes),
            SwitchingName::StoreAndForward => packet_bytes,
        },
    };
    let spec = routing_spec(&network.routing, network.router.delay_ps, usual)?;
    let routing = match network.routing.algorithm {
        AlgorithmName::ForwardingTables => crate::forwarding::build(scenario, topology)?,
        _ => AnyRouting::new(topology, &spec).map_err(|error| unfit(&error, network))?,
    };
    let algorithm = network.routing.algorithm;
    if lanes(scenario, &routing).are_several() && !algorithm.spreads_packets() {
        let most = routing.virtual_channels();
        let name = algorithm.name();
        return Err(SpecError::value(
            "network.routing.virtual_channels",
            lanes(scenario, &routing).count(),
            format!(
                "at most {most} here: with {name} the virtual channel follows from a packet's source \
                 and destination, and no packet would take more"
            ),
        ));
    }
    Ok(routing)
}

/// The virtual channels of links, as many as a scenario asks for, among those of its routing.
pub(crate) fn lanes(scenario: &Scenario, routing: &AnyRouting) -> Lanes {
    let asked = scenario.network.routing.virtual_channels;
    Lanes::new(routing.virtual_channels(), asked)
}

/// Advantage of minimal routes, in bytes, where a scenario gives none, and the queue that is
/// compared with it.
///
/// A queue that the buffer at the other end of a link holds is no congestion: it
/// comes and goes with every burst. Of a link class, that is `B`: the
/// [`default_buffer`] of one virtual channel, or what the scenario gives if that is
/// less.
///
/// - `ugal-l` and `ugal-g`, which decide once per packet, and `dimwar` and `dal`, once per
///   dimension: the largest `B` of the links between routers.
/// - `ugal-l` over groups, where queues of channels are compared, which is where each router is
///   one hop from all global links of its group, or where a scenario says so:
///   `max((2·ℓ + 1) · B_local, (ℓ + 1) · B_global)`, see `par`. On a channel that leads to
///   congestion lies more than the buffer at its other end holds.
/// - `steered`: `B` less three packets, the largest of the links between routers: what such a link
///   carries during one round trip of credits, and the packet that is being sent. A link that is in
///   use shows as much though nothing waits for it, as what is sent counts until it is credited.
/// - `par`: `ℓ · max((2·ℓ + 1) · B_local, (ℓ + 1) · B_global)`, where `ℓ` is the most
///   hops by which a packet leaves its group. A queue counts as often as the minimal
///   route has hops from there, up to `2·ℓ + 1` before a local link and `ℓ + 1` before
///   a global one; and the packet is compared with newly drawn detours at each of
///   the `ℓ` routers after its first.
fn default_threshold(scenario: &Scenario, topology: &Topology) -> (u64, Queue) {
    let mut used = vec![false; topology.link_classes.len()];
    for (port, class) in topology.class_of_port.iter().enumerate() {
        used[class.index()] |= matches!(topology.peer[port], Peer::Port(_));
    }
    let (mut local, mut global) = (0, 0);
    for (class, _) in topology.link_classes.iter().zip(used).filter(|c| c.1) {
        let usual = default_buffer(
            class.bandwidth.bytes_per_second(),
            class.latency.0,
            &scenario.network.router,
            scenario.simulation.packet_bytes,
        );
        let largest = match class.kind {
            LinkKind::Global => &mut global,
            _ => &mut local,
        };
        *largest = usual.min(class.buffer.0).max(*largest);
    }
    let buffer = local.max(global);
    // What a channel of the buffers may hold, weighted by the hops of the minimal route; and the
    // hops to leave a group.
    let weighted = || {
        let hops = u64::from(GroupedRoutes::new(topology).ok()?.hops_to_global_link());
        let before_local = local.saturating_mul(2 * hops + 1);
        let before_global = global.saturating_mul(hops + 1);
        Some((before_local.max(before_global), hops))
    };
    let routing = &scenario.network.routing;
    let threshold = match routing.algorithm {
        AlgorithmName::UgalLocal => {
            let paths = usual_paths(&scenario.network.topology, topology);
            let over_groups = routing.paths.unwrap_or(paths) == Paths::Groups;
            let weighted = over_groups.then(weighted).flatten();
            let queue = match (routing.queue, weighted) {
                (Some(queue), _) => queue,
                (None, Some((_, 0 | 1))) => Queue::Hybrid,
                (None, _) => Queue::Port,
            };
            let threshold = match (queue, weighted) {
                (Queue::Channel | Queue::Hybrid, Some((weighted, _))) => weighted,
                _ => buffer,
            };
            return (threshold, queue);
        }
        // A network without groups is refused where the algorithm is built.
        AlgorithmName::Par => weighted().map_or(buffer, |(weighted, hops)| {
            weighted.saturating_mul(hops.max(1))
        }),
        AlgorithmName::Steered => buffer.saturating_sub(3 * scenario.simulation.packet_bytes),
        _ => buffer,
    };
    (threshold, Queue::Port)
}

/// The network room's form of the routing table; `usual` is what holds where none is given.
pub(crate) fn routing_spec(
    spec: &spec::Routing,
    delay_ps: u64,
    usual: Usual,
) -> Result<RoutingSpec, SpecError> {
    check_options(spec)?;
    let paths = match spec.paths {
        Some(paths) => paths,
        None if spec.algorithm.has_option("paths") => usual.paths,
        None => Paths::Groups,
    };
    let via = match spec.via {
        Some(via) => via,
        None if paths == Paths::Groups => Via::Group,
        None => Via::Router,
    };
    let threshold = spec.threshold_bytes.unwrap_or(usual.threshold_bytes);
    let threshold_bytes = i64::try_from(threshold).map_err(|_| {
        let allowed = "less than 2^63 B";
        SpecError::value("network.routing.threshold", threshold, allowed)
    })?;
    let adaptive = AdaptiveOptions {
        via,
        candidates: spec.candidates.unwrap_or(1),
        threshold_bytes,
        weighting: match spec.weights {
            spec::Weights::Hops(_) => Weighting::Hops,
            spec::Weights::Fixed([minimal, non_minimal]) => Weighting::Fixed {
                minimal,
                non_minimal,
            },
        },
        detours_in_group: spec.detours_in_group.unwrap_or(false),
        queue: match (spec.queue, spec.threshold_bytes) {
            (Some(queue), _) => queue,
            (None, None) => usual.queue,
            (None, Some(_)) => Queue::Port,
        },
    };
    let packet_bytes = match spec.hop_time.unwrap_or_default() {
        HopTime::Head => 0,
        HopTime::Tail => usual.packet_bytes,
    };
    let flit_bytes = usual.flit_bytes;
    let usual = QAdaptiveOptions::default();
    let learning = QAdaptiveOptions {
        source_threshold: spec.source_threshold.unwrap_or(usual.source_threshold),
        intermediate_threshold: (spec.intermediate_threshold)
            .unwrap_or(usual.intermediate_threshold),
        rate_down: spec.rate_down.unwrap_or(usual.rate_down),
        rate_up: spec.rate_up.unwrap_or(usual.rate_up),
        exploration: spec.exploration.unwrap_or(usual.exploration),
        delay_ps,
        packet_bytes,
        flit_bytes,
    };
    let options = AlgorithmOptions {
        adaptive,
        threshold_share: spec.threshold_share.unwrap_or(DEFAULT_SHARE),
        rules: spec.rules,
        learning,
    };
    Ok(RoutingSpec {
        algorithm: spec.algorithm.with_options(&options),
        links: spec.minimal_links,
        choice: spec.choice,
        paths,
        virtual_channels: spec.virtual_channels,
    })
}

/// Refuses options that the algorithm does not have, rather than ignoring them.
fn check_options(spec: &spec::Routing) -> Result<(), SpecError> {
    let algorithm = spec.algorithm;
    let by_share = algorithm == AlgorithmName::Fpar;
    let refused = |key: &str, found: &str, allowed: String| {
        Err(SpecError::value(
            format!("network.routing.{key}"),
            found,
            allowed,
        ))
    };
    if by_share && spec.threshold_bytes.is_some() {
        let allowed = "a number from 0 to 1, the share of a port's queue, as algorithm = \"fpar\"";
        return refused("threshold", "a size", allowed.into());
    }
    if algorithm.has_option("threshold") && !by_share && spec.threshold_share.is_some() {
        let name = algorithm.name();
        let allowed = format!("a size, such as \"1 KiB\", as algorithm = \"{name}\"");
        return refused("threshold", "a number", allowed);
    }
    if algorithm == AlgorithmName::QAdaptive && spec.per == Decisions::PerMessage {
        let allowed = "\"packet\" with algorithm = \"q-adaptive\", which learns from every packet";
        return refused("per", "\"message\"", allowed.into());
    }
    if algorithm == AlgorithmName::MinimalAdaptive && spec.per == Decisions::PerMessage {
        let allowed = "\"packet\" with algorithm = \"minimal-adaptive\", which asks for room for every packet";
        return refused("per", "\"message\"", allowed.into());
    }
    let threshold = spec.threshold_bytes.is_some() || spec.threshold_share.is_some();
    let given = [
        ("via", spec.via.is_some()),
        ("paths", spec.paths.is_some()),
        ("candidates", spec.candidates.is_some()),
        ("threshold", threshold),
        ("weights", matches!(spec.weights, spec::Weights::Fixed(_))),
        ("queue", spec.queue.is_some()),
        ("hop_time", spec.hop_time.is_some()),
        ("rules", spec.rules != spec::FparRules::Paper),
        ("source_threshold", spec.source_threshold.is_some()),
        (
            "intermediate_threshold",
            spec.intermediate_threshold.is_some(),
        ),
        ("rate_down", spec.rate_down.is_some()),
        ("rate_up", spec.rate_up.is_some()),
        ("exploration", spec.exploration.is_some()),
        ("detours_in_group", spec.detours_in_group.is_some()),
        ("tables", spec.tables.is_some()),
        ("subnet", spec.subnet.is_some()),
        ("service_levels", spec.service_levels.is_some()),
    ];
    let unknown = |(key, given): &(&str, bool)| *given && !algorithm.has_option(key);
    match given.iter().find(|key| unknown(key)) {
        None => Ok(()),
        Some((key, _)) => Err(SpecError::new(
            format!("network.routing.{key}"),
            format!(
                "{} routing has no such option, which is for {}: remove it",
                algorithm.name(),
                listed(&AlgorithmName::with_option(key)),
            ),
        )),
    }
}

/// Names as in a sentence: `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// An algorithm that does not fit the network, with the one that does.
fn unfit(error: &RoutingError, network: &spec::Network) -> SpecError {
    let (mut found, usual) = (routing_error(error), network.topology.usual_routing());
    if found.path == "network.routing.algorithm" && network.routing.algorithm != usual {
        let (family, usual) = (network.topology.name(), usual.name());
        found.message +=
            &format!(". By default a network of family \"{family}\" has routing = \"{usual}\"");
    }
    found
}

/// The key that an unfit algorithm or option comes from.
pub(crate) fn routing_error(error: &RoutingError) -> SpecError {
    let key = match error {
        RoutingError::BadOption { option, .. } => option,
        RoutingError::TooManyVirtualChannels { .. } => "virtual_channels",
        _ => "algorithm",
    };
    SpecError::new(format!("network.routing.{key}"), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_topology;
    use crate::spec::{Dragonfly, Family, Link, Network};

    /// A dragonfly whose links have these bandwidths, latencies and buffers.
    fn scenario(dragonfly: Dragonfly, local: Link, global: Link) -> Scenario {
        let is_grid = dragonfly.rows.is_some();
        let mut network = Network::new(Family::Dragonfly(dragonfly));
        network.links.insert("terminal".into(), local.clone());
        let locals = match is_grid {
            true => &["green", "black"][..],
            false => &["local"],
        };
        for class in locals {
            network.links.insert((*class).into(), local.clone());
        }
        network.links.insert("global".into(), global);
        network.router.delay_ps = 50_000;
        let mut scenario = Scenario::new(network);
        scenario.simulation.packet_bytes = 1_000;
        scenario
    }

    fn link(latency_ps: u64, buffer_bytes: Option<u64>) -> Link {
        Link {
            bandwidth_bytes_per_s: 10_000_000_000,
            latency_ps,
            buffer_bytes,
            kind: None,
        }
    }

    fn threshold(mut scenario: Scenario, algorithm: AlgorithmName) -> u64 {
        scenario.network.routing.algorithm = algorithm;
        let topology = build_topology(&scenario).unwrap();
        default_threshold(&scenario, &topology).0
    }

    /// The threshold and queue of UGAL-L where a scenario gives this queue.
    fn by_queues(scenario: &Scenario, queue: Option<Queue>) -> (u64, Queue) {
        let mut scenario = scenario.clone();
        scenario.network.routing.algorithm = AlgorithmName::UgalLocal;
        scenario.network.routing.queue = queue;
        let topology = build_topology(&scenario).unwrap();
        default_threshold(&scenario, &topology)
    }

    #[test]
    fn the_default_threshold_follows_from_what_the_buffers_hold() {
        // 10 B/ns: 70 ns there and back and through the router, and four packets; 250 ns.
        let (local, global) = (700 + 4_000, 2_500 + 4_000);
        let usual = scenario(
            Dragonfly::new(1, 4, 2, 9),
            link(10_000, None),
            link(100_000, None),
        );
        assert_eq!(threshold(usual.clone(), AlgorithmName::UgalGlobal), global);
        // One packet instead of four.
        assert_eq!(
            threshold(usual.clone(), AlgorithmName::Steered),
            global - 3_000
        );
        // One hop to the exit: three hops from a local link, two from a global one.
        assert_eq!(
            threshold(usual, AlgorithmName::Par),
            (3 * local).max(2 * global)
        );
        // A longer cable carries more; a larger buffer than that keeps no link busier.
        let long = scenario(
            Dragonfly::new(1, 4, 2, 9),
            link(10_000, None),
            link(1_000_000, None),
        );
        assert_eq!(threshold(long, AlgorithmName::Par), 2 * (20_500 + 4_000));
        let large = link(100_000, Some(1 << 30));
        let large = scenario(Dragonfly::new(1, 4, 2, 9), link(10_000, None), large);
        assert_eq!(threshold(large, AlgorithmName::UgalGlobal), global);
        let small = scenario(
            Dragonfly::new(1, 4, 2, 9),
            link(10_000, Some(2_000)),
            link(100_000, Some(1_500)),
        );
        assert_eq!(threshold(small.clone(), AlgorithmName::UgalGlobal), 2_000);
        assert_eq!(threshold(small, AlgorithmName::Par), 3 * 2_000);
    }

    #[test]
    fn groups_that_are_left_in_two_hops_count_two_decisions() {
        let mut grid = Dragonfly::new(1, 6, 1, 4);
        grid.group = crate::spec::GroupWiringName::Grid;
        (grid.rows, grid.columns) = (Some(2), Some(3));
        let grid = scenario(grid, link(10_000, None), link(100_000, None));
        assert_eq!(threshold(grid, AlgorithmName::Par), 2 * 5 * 4_700);
    }

    #[test]
    fn ugal_l_compares_channels_where_all_global_links_are_a_hop_away() {
        let (local, global) = (4_700, 6_500);
        let weighted = (3 * local).max(2 * global);
        let one_hop = scenario(
            Dragonfly::new(1, 4, 2, 9),
            link(10_000, None),
            link(100_000, None),
        );
        assert_eq!(by_queues(&one_hop, None), (weighted, Queue::Hybrid));
        for queue in [Queue::Channel, Queue::Hybrid] {
            assert_eq!(by_queues(&one_hop, Some(queue)), (weighted, queue));
        }
        let ports = (global, Queue::Port);
        assert_eq!(by_queues(&one_hop, Some(Queue::Port)), ports);
        // No groups are left on the way.
        let mut shortest = one_hop.clone();
        shortest.network.routing.paths = Some(Paths::ShortestPath);
        assert_eq!(by_queues(&shortest, None), ports);
        let mut grid = Dragonfly::new(1, 6, 1, 4);
        grid.group = crate::spec::GroupWiringName::Grid;
        (grid.rows, grid.columns) = (Some(2), Some(3));
        let two_hops = scenario(grid, link(10_000, None), link(100_000, None));
        assert_eq!(by_queues(&two_hops, None), ports);
        let weighted = (5 * local, Queue::Hybrid);
        assert_eq!(by_queues(&two_hops, Some(Queue::Hybrid)), weighted);
    }

    /// A threshold is given for what was compared when it was chosen.
    #[test]
    fn a_threshold_is_compared_with_the_queues_of_ports() {
        let usual = Usual {
            threshold_bytes: 7_000,
            queue: Queue::Hybrid,
            paths: Paths::Groups,
            packet_bytes: 0,
            flit_bytes: 0,
        };
        for (threshold, queue, expected) in [
            (None, None, Queue::Hybrid),
            (Some(0), None, Queue::Port),
            (Some(0), Some(Queue::Channel), Queue::Channel),
            (None, Some(Queue::Port), Queue::Port),
        ] {
            let spec = spec::Routing {
                algorithm: AlgorithmName::UgalLocal,
                threshold_bytes: threshold,
                queue,
                ..spec::Routing::default()
            };
            let found = routing_spec(&spec, 0, usual).unwrap().algorithm;
            let odonata_network::routing::Algorithm::UgalLocal(options) = found else {
                panic!("{found:?}");
            };
            assert_eq!(options.queue, expected);
        }
    }

    #[test]
    fn a_given_threshold_is_taken_as_it_is() {
        for (given, expected) in [(None, 7_000), (Some(0), 0), (Some(123), 123)] {
            let spec = spec::Routing {
                algorithm: AlgorithmName::Par,
                threshold_bytes: given,
                ..spec::Routing::default()
            };
            let usual = Usual {
                threshold_bytes: 7_000,
                queue: Queue::Port,
                paths: Paths::Groups,
                packet_bytes: 0,
                flit_bytes: 0,
            };
            let found = routing_spec(&spec, 0, usual).unwrap().algorithm;
            let odonata_network::routing::Algorithm::Par(options) = found else {
                panic!("{found:?}");
            };
            assert_eq!(options.threshold_bytes, expected);
        }
    }
}
