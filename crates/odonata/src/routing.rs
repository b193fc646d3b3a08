//! From the scenario's `[network.routing]` to a routing algorithm.

use odonata_network::routing::{
    AnyRouting, Keys, Lanes, Layered, Paths, RoutingError, RoutingSpec, Usual,
};
use odonata_network::{LinkKind, Peer, Topology};
use odonata_run::TrafficClass;
use odonata_units::Picoseconds;

use crate::error::SpecError;
use crate::spec::{self, Failures, Network, Scenario, SwitchingName};
use crate::topology::classes::default_buffer;
use crate::topology::{moments, whole_of};

/// What holds for flows and for the bundles of a schedule's jobs, which have no queues that come and
/// go: no thresholds.
pub(crate) fn usual_of_flows<'a>(network: &Network, topology: &'a Topology) -> Usual<'a> {
    let topology = topology.plane();
    let by_groups = if topology.groups > 1 {
        Paths::Groups
    } else {
        Paths::ShortestPath
    };
    Usual {
        paths: network.topology.usual_paths().unwrap_or(by_groups),
        delay_ps: network.router.delay_ps,
        ..Usual::new(topology)
    }
}

/// What holds for packets.
fn usual_of_packets<'a>(scenario: &Scenario, topology: &'a Topology) -> Usual<'a> {
    let network = &scenario.network;
    let packet_bytes = scenario.simulation.packet_bytes;
    let topology = topology.plane();
    Usual {
        buffers: Some(buffers(scenario, topology)),
        packet_bytes,
        flit_bytes: match network.router.switching {
            SwitchingName::CutThrough => network.router.flit_bytes.min(packet_bytes),
            SwitchingName::StoreAndForward => packet_bytes,
        },
        ..usual_of_flows(network, topology)
    }
}

/// What the buffers of the local and of the global links between routers hold, per virtual channel:
/// the [`default_buffer`] of a link class, or what the scenario gives if that is less; the largest
/// of each kind.
fn buffers(scenario: &Scenario, topology: &Topology) -> [u64; 2] {
    let mut used = vec![false; topology.link_classes.len()];
    for (port, class) in topology.class_of_port.iter().enumerate() {
        used[class.index()] |= matches!(topology.peer[port], Peer::Port(_));
    }
    let [mut local, mut global] = [0, 0];
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
    [local, global]
}

/// The network room's form of a routing table.
pub(crate) fn routing_spec(
    routing: &spec::Routing,
    usual: &Usual<'_>,
) -> Result<RoutingSpec, SpecError> {
    let spec = routing.keys.spec(usual);
    Ok(RoutingSpec {
        virtual_channels: routing.virtual_channels,
        ..spec.map_err(|error| routing_error(&error))?
    })
}

/// A part of a run between two moments at which routes are made anew.
pub(crate) struct RunPart {
    /// When it begins.
    pub from: Picoseconds,
    /// What is left of the network in it.
    pub left: Topology,
    /// What routes are made by where they cannot be by that, the first by which they can; by the last
    /// are those of routers to which packets came when there were others.
    pub otherwise: Vec<Topology>,
    /// The routers that are lost in it.
    pub lost: Vec<bool>,
}

impl RunPart {
    fn routing(&self, spec: &RoutingSpec) -> Result<AnyRouting, RoutingError> {
        // Tables that take each other's place have to order routers alike.
        let in_order = |left| {
            let built = AnyRouting::new(left, spec)?;
            match built.without_order().filter(|_| !self.otherwise.is_empty()) {
                Some((from, to)) => Err(RoutingError::Disconnected { from, to }),
                None => Ok(built),
            }
        };
        let built = in_order(&self.left).or_else(|error| {
            let mut others = self.otherwise.iter();
            others.find_map(|left| in_order(left).ok()).ok_or(error)
        })?;
        Ok(match (built, self.otherwise.last().map(in_order)) {
            (AnyRouting::Tabled(own), Some(Ok(AnyRouting::Tabled(last)))) => {
                AnyRouting::Tabled(own.completed_by(&last))
            }
            (own, _) => own,
        })
    }
}

/// Builds the routing algorithm of a scenario for its network.
///
/// # Errors
/// If the algorithm does not fit the network, or an option the algorithm.
pub fn build_routing(scenario: &Scenario, topology: &Topology) -> Result<AnyRouting, SpecError> {
    let part = |(from, left): (_, Topology)| RunPart {
        from,
        lost: left.lost_routers(),
        left,
        otherwise: Vec::new(),
    };
    let parts = moments(scenario)?.into_iter().map(part).collect();
    build_routing_of_parts(scenario, topology, parts)
}

/// The same where it is given what is left of the network in each part of the run; of a run without
/// moments there is one or, for that network, none.
///
/// # Errors
/// As [`build_routing`].
pub(crate) fn build_routing_of_parts(
    scenario: &Scenario,
    topology: &Topology,
    parts: Vec<RunPart>,
) -> Result<AnyRouting, SpecError> {
    let network = &scenario.network;
    let routing = &network.routing;
    // What is usual in a network does not change as parts of it fail: results would be those of
    // another rule.
    let whole = match network.failures == Failures::default() {
        true => None,
        false => Some(whole_of(scenario)?),
    };
    let usual = usual_of_packets(scenario, whole.as_ref().unwrap_or(topology));
    let spec = routing_spec(routing, &usual)?;
    let unfit = |error: RoutingError| unfit(&error, network);
    let built = match &routing.keys {
        _ if scenario.network.failures.has_moments() => {
            check_moments(scenario)?;
            let part = |part: RunPart| {
                let at = |error: SpecError| SpecError {
                    message: format!("from {} on: {}", part.from, error.message),
                    ..error
                };
                let routing = part.routing(&spec).map_err(unfit).map_err(at)?;
                Ok::<_, SpecError>((part.from, routing, part.lost))
            };
            let parts = parts.into_iter().map(part);
            let layered = Layered::new(parts.collect::<Result<_, _>>()?, &topology.group_of_router);
            AnyRouting::Layered(layered.map_err(|error| routing_error(&error))?)
        }
        Keys::ForwardingTables(keys) => {
            let of_plane = crate::forwarding::build(scenario, keys, topology.plane())?;
            let merged = routing.virtual_channels;
            of_plane
                .between_interfaces(topology, merged)
                .map_err(unfit)?
        }
        _ => match parts.first() {
            Some(part) => part.routing(&spec).map_err(unfit)?,
            None => AnyRouting::new(topology, &spec).map_err(unfit)?,
        },
    };
    let algorithm = routing.algorithm();
    if lanes(scenario, &built).are_several() && algorithm.goes_by_source_and_destination() {
        let most = built.virtual_channels();
        let name = algorithm.name();
        return Err(SpecError::value(
            "network.routing.virtual_channels",
            lanes(scenario, &built).count(),
            format!(
                "at most {most} here: with {name} the virtual channel follows from a packet's source \
                 and destination, and no packet would take more"
            ),
        ));
    }
    let occupancy = network.router.occupancy;
    if occupancy == spec::OccupancyCount::Unsent && !built.reads_occupancy() {
        return Err(SpecError::value(
            "network.router.occupancy",
            format!("\"{}\"", occupancy.name()),
            format!(
                "\"buffered\" here: routing = \"{}\" looks at no queues",
                algorithm.name()
            ),
        ));
    }
    Ok(built)
}

/// Refuses what cannot be routed anew at a moment of the run.
fn check_moments(scenario: &Scenario) -> Result<(), SpecError> {
    let routing = &scenario.network.routing;
    if matches!(routing.keys, Keys::ForwardingTables(_)) {
        let allowed = "an algorithm where links fail during a run: tables from files are those of one \
                       network";
        let found = "\"forwarding-tables\"";
        return Err(SpecError::value(
            "network.routing.algorithm",
            found,
            allowed,
        ));
    }
    if routing.per == spec::Decisions::PerMessage {
        let allowed = "\"packet\" where links fail during a run";
        return Err(SpecError::value(
            "network.routing.per",
            "\"message\"",
            allowed,
        ));
    }
    Ok(())
}

/// The virtual channels of links, as many as a scenario asks for, among those of its routing.
pub(crate) fn lanes(scenario: &Scenario, routing: &AnyRouting) -> Lanes {
    let asked = scenario.network.routing.virtual_channels;
    Lanes::new(routing.virtual_channels(), asked)
}

/// Classes of traffic that have virtual channels of their own: one if none are given. There are no
/// more channels than a link can have, or the engine refuses them.
pub(crate) fn traffic_classes(scenario: &Scenario) -> u8 {
    let classes = scenario.network.router.traffic_classes.len();
    classes.clamp(1, TrafficClass::MOST) as u8
}

/// An algorithm that does not fit the network, with the one that does.
fn unfit(error: &RoutingError, network: &Network) -> SpecError {
    let (mut found, usual) = (routing_error(error), network.topology.usual_routing());
    // What is usual in the whole network need not fit what is left of it.
    if network.failures != spec::Failures::default() {
        found.message += ". The network has failures: routing = \"shortest-path\", \"up-down\" and \
                          \"dfsssp\" take what is left of any network";
    } else if found.path == "network.routing.algorithm" && network.routing.algorithm() != usual {
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
    use odonata_network::routing::{AdaptiveOptions, Algorithm, AlgorithmName, Queue};

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

    /// What a scenario's table of an algorithm, with its keys in JSON, makes of the network.
    fn options(scenario: &Scenario, routing: &str) -> AdaptiveOptions {
        let topology = build_topology(scenario).unwrap();
        let routing = serde_json::from_str(routing).unwrap();
        let usual = usual_of_packets(scenario, &topology);
        match routing_spec(&routing, &usual).unwrap().algorithm {
            Algorithm::UgalLocal(options)
            | Algorithm::UgalGlobal(options)
            | Algorithm::Par(options) => options,
            Algorithm::Steered { threshold_bytes } => AdaptiveOptions {
                threshold_bytes,
                ..AdaptiveOptions::default()
            },
            other => panic!("{other:?}"),
        }
    }

    fn threshold(scenario: Scenario, algorithm: AlgorithmName) -> i64 {
        let table = format!(r#"{{"algorithm": "{}"}}"#, algorithm.name());
        options(&scenario, &table).threshold_bytes
    }

    /// UGAL-L where a scenario gives this queue.
    fn by_queues(scenario: &Scenario, queue: Option<Queue>) -> (i64, Queue) {
        let queue = queue.map_or_else(|| "null".into(), |queue| format!("\"{}\"", queue.name()));
        let table = format!(r#"{{"algorithm": "ugal-l", "queue": {queue}}}"#);
        let options = options(scenario, &table);
        (options.threshold_bytes, options.queue)
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
        let shortest = options(
            &one_hop,
            r#"{"algorithm": "ugal-l", "paths": "shortest-path"}"#,
        );
        assert_eq!((shortest.threshold_bytes, shortest.queue), ports);
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
        let one_hop = scenario(
            Dragonfly::new(1, 4, 2, 9),
            link(10_000, None),
            link(100_000, None),
        );
        for (keys, expected) in [
            ("", Queue::Hybrid),
            (r#", "threshold_bytes": 0"#, Queue::Port),
            (
                r#", "threshold_bytes": 0, "queue": "channel""#,
                Queue::Channel,
            ),
            (r#", "queue": "port""#, Queue::Port),
        ] {
            let table = format!(r#"{{"algorithm": "ugal-l"{keys}}}"#);
            assert_eq!(options(&one_hop, &table).queue, expected);
        }
        let given = options(&one_hop, r#"{"algorithm": "par", "threshold_bytes": 123}"#);
        assert_eq!(given.threshold_bytes, 123);
    }

    #[test]
    fn the_form_of_every_algorithm_has_the_keys_of_all() {
        for &algorithm in AlgorithmName::ALL {
            let routing = spec::Routing::from(algorithm);
            let form = serde_json::to_value(&routing).unwrap();
            for key in [
                "via",
                "candidates",
                "threshold_bytes",
                "threshold_share",
                "rate_up",
            ] {
                assert_eq!(form.get(key), Some(&serde_json::Value::Null), "{key}");
            }
            assert_eq!(form["weights"], "hops");
            assert!(form.get("rules").is_none() && form.get("per").is_none());
            let again: spec::Routing = serde_json::from_value(form).unwrap();
            assert_eq!(again, routing);
        }
    }

    #[test]
    fn keys_of_other_algorithms_are_refused_unless_they_say_nothing() {
        let read = |text: &str| serde_json::from_str::<spec::Routing>(text);
        assert!(read(r#"{"algorithm": "minimal", "candidates": null, "weights": "hops"}"#).is_ok());
        for (table, parts) in [
            (
                r#"{"algorithm": "par", "rules": "codes"}"#,
                ["for fpar", "candidates"],
            ),
            (
                r#"{"algorithm": "dal", "threshold_share": 0.5}"#,
                ["dal routing has no", "threshold"],
            ),
            (
                r#"{"algorithm": "dfsssp", "per": "message"}"#,
                ["for minimal", "virtual_channels"],
            ),
            (
                r#"{"algorithm": "tago", "turns": 1}"#,
                ["unknown field", "turns"],
            ),
        ] {
            let error = read(table).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
