//! What the control of live switches asks of a scenario's network: what its optical switches
//! are plugged into, which circuits a job's groups get, and which way a packet goes.

use odonata_network::routing::RoutingTask;
use odonata_network::topology::{Circuits, SwitchPort, without_circuits};
use odonata_network::{Routing, Topology};
use odonata_steering::{Demand, Strategy, circuits_for};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{GroupId, NodeId, PortId, RouterId};

use crate::error::SpecError;
use crate::routing::build_routing;
use crate::spec::{Family, Scenario};
use crate::topology::build_topology;
use crate::topology::circuits::usable;
use crate::topology::classes_of;
use crate::topology::families::reconfigurable::{links, structure, uplinks, wired};
use crate::topology::optics::optical_layer;
use crate::ways::{Way, way};

/// A port of an optical switch: the group (in a fat tree, the pod) and the router that a fibre
/// leads to, and the port there, counted from the router's first.
pub type PluggedPort = (GroupId, RouterId, u16);

/// The optical switches of a network, as fibres are plugged into them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpticalPlant {
    /// Whether circuits lead one way, from an ingress to an egress port.
    pub one_way: bool,
    /// Ports where light enters. Shape: switches × ports.
    pub ingress: Vec<Vec<PluggedPort>>,
    /// Ports where light leaves; where circuits lead both ways, the same.
    pub egress: Vec<Vec<PluggedPort>>,
}

/// What the optical switches of a scenario's network are plugged into; `None` if it has none.
/// Switches and ports are numbered as lists of circuits (`circuits_file`) number those of a fat
/// tree; on a reconfigurable dragonfly with `m` links of a group on a switch, link `l` of group
/// `g` is port `g·m + l mod m` of switch `⌊l / m⌋`.
///
/// # Errors
/// If the parameters make no network.
pub fn optical_plant(scenario: &Scenario) -> Result<Option<OpticalPlant>, SpecError> {
    let in_router = |topology: &Topology, port: PortId| {
        let router = topology.router_of_port(port);
        let first = topology.first_port[router.index()];
        (router, (port.0 - first) as u16)
    };
    match &scenario.network.topology {
        Family::FatTree(tree) => {
            let Some((layer, topology)) = optical_layer(tree, scenario)? else {
                return Ok(None);
            };
            let side = |ports: &[(PortId, u32)]| {
                let plugged = |&(port, pod): &(PortId, u32)| {
                    let (router, relative) = in_router(&topology, port);
                    (GroupId(pod), router, relative)
                };
                ports.iter().map(plugged).collect()
            };
            Ok(Some(OpticalPlant {
                one_way: true,
                ingress: layer.switches.iter().map(|s| side(&s.ingress)).collect(),
                egress: layer.switches.iter().map(|s| side(&s.egress)).collect(),
            }))
        }
        Family::ReconfigurableDragonfly(dragonfly) => {
            let structure = structure(dragonfly)?;
            let links = links(&structure, &classes_of(scenario))?;
            let dark = Circuits::dark(structure.switches);
            let topology = wired(dragonfly, structure.clone(), links, dark)?;
            let plugged = |port: PortId| {
                let (router, relative) = in_router(&topology, port);
                (topology.group_of_router[router.index()], router, relative)
            };
            let all: Vec<Vec<PluggedPort>> = uplinks(&structure, &topology)
                .into_iter()
                .map(|ports| ports.into_iter().map(plugged).collect())
                .collect();
            Ok(Some(OpticalPlant {
                one_way: false,
                ingress: all.clone(),
                egress: all,
            }))
        }
        _ => Ok(None),
    }
}

/// Circuits between the groups of a job that owns all of their links, as `(switch, port, port)`
/// by the numbers of [`optical_plant`], by the scenario's `steering` and around what fails in it from
/// the start. `sent` is what groups send
/// to each other, `(from, to, bytes)` by place in `groups`; `None`: as much between every two.
///
/// # Errors
/// If the network is no reconfigurable dragonfly, or there are no circuits for the groups.
pub fn circuits_of_groups(
    scenario: &Scenario,
    groups: &[GroupId],
    sent: Option<&[(usize, usize, u64)]>,
) -> Result<Vec<(u32, u32, u32)>, SpecError> {
    let Family::ReconfigurableDragonfly(dragonfly) = &scenario.network.topology else {
        let allowed = "reconfigurable-dragonfly, where groups own their links";
        return Err(SpecError::value("network.family", "another", allowed));
    };
    let switches = structure(dragonfly)?.switches;
    let count = groups.len();
    let demand = match sent {
        Some(sent) => {
            let beyond = sent.iter().find(|&&(from, to, _)| from.max(to) >= count);
            if let Some(&(from, to, _)) = beyond {
                let found = format!("traffic from place {from} to {to}");
                return Err(SpecError::value(
                    "sent",
                    found,
                    format!("places below {count}"),
                ));
            }
            Some(Demand::new(count, sent.iter().copied()))
        }
        None if dragonfly.steering == Strategy::Uniform => None,
        None => Some(Demand::uniform(count)),
    };
    let usable = usable(switches, scenario)?;
    let circuits = circuits_for(&usable, groups, dragonfly.steering, demand.as_ref())
        .map_err(|error| SpecError::new("groups", error.to_string()))?;
    let per_switch = switches.per_switch();
    let port = |end: SwitchPort| end.group.0 * per_switch + end.link % per_switch;
    let numbers = circuits.iter().map(|circuit| {
        let switch = switches.switch_of(circuit.from.link);
        (switch.0, port(circuit.from), port(circuit.to))
    });
    Ok(numbers.collect())
}

/// The ways of packets from node to node through an idle network: the routers, each with the
/// port that the packet leaves by, counted from its first. What the algorithm draws at random it
/// draws from a stream of the pair's own, so that a way depends on the scenario, its seed and the
/// pair alone. Ingress ports of optical switches that are `silent`, as while their circuits change,
/// lead nowhere, on networks whose circuits lead one way; on others a list leaves circuits out.
///
/// # Errors
/// If the network or its routing cannot be built, there is no such node or port, or no way.
pub fn routes(
    scenario: &Scenario,
    pairs: &[(NodeId, NodeId)],
    silent: &[(usize, usize)],
) -> Result<Vec<Vec<(RouterId, u16)>>, SpecError> {
    struct Ways<'a> {
        topology: &'a Topology,
        pairs: &'a [(NodeId, NodeId)],
        key: StreamKey,
    }
    impl RoutingTask for Ways<'_> {
        type Output = Result<Vec<Vec<(RouterId, u16)>>, SpecError>;
        fn run<R: Routing>(self, routing: &R) -> Self::Output {
            let ports = |way: Way| way.hops.into_iter().map(|(at, hop)| (at, hop.port));
            let way = |&(from, to)| way(self.topology, routing, self.key, from, to);
            let all = self.pairs.iter().map(way);
            all.map(|way| Ok(ports(way?).collect())).collect()
        }
    }
    let mut topology = build_topology(scenario)?;
    if !silent.is_empty() {
        topology = without_circuits(topology, &silent_ports(scenario, silent)?)
            .map_err(|error| SpecError::new("silent", error.to_string()))?;
    }
    let nodes = topology.nodes();
    let unknown = (pairs.iter().flat_map(|&(from, to)| [from, to])).find(|n| n.index() >= nodes);
    if let Some(node) = unknown {
        let allowed = format!("nodes 0 to {}", nodes - 1);
        return Err(SpecError::value("pairs", format!("node {node}"), allowed));
    }
    let routing = build_routing(scenario, &topology)?;
    routing.dispatch(Ways {
        topology: &topology,
        pairs,
        key: StreamKey::new(scenario.seed, Purpose::Routing),
    })
}

/// Ports of leaves behind ingress ports, each a switch and a port.
fn silent_ports(scenario: &Scenario, silent: &[(usize, usize)]) -> Result<Vec<PortId>, SpecError> {
    let layer = match &scenario.network.topology {
        Family::FatTree(tree) => optical_layer(tree, scenario)?,
        _ => None,
    };
    let Some((layer, _)) = layer else {
        return Err(SpecError::value(
            "silent",
            "ports",
            "only uplinks of a fat tree",
        ));
    };
    let port = |&(switch, port): &(usize, usize)| {
        let found = layer.switches.get(switch).and_then(|s| s.ingress.get(port));
        let unknown = || SpecError::new("silent", format!("switch {switch} has no port {port}"));
        found.map(|&(port, _)| port).ok_or_else(unknown)
    };
    silent.iter().map(port).collect()
}

#[cfg(test)]
mod tests {
    use odonata_network::LinkKind;
    use odonata_network::Peer;

    use super::*;
    use crate::spec::{CircuitSource, Dragonfly, FatTree, Network, OpticalLayer};
    use crate::spec::{ReconfigurableDragonfly, UplinkCircuits};

    fn dragonfly() -> ReconfigurableDragonfly {
        ReconfigurableDragonfly {
            links_per_switch: 2,
            ..ReconfigurableDragonfly::new(2, 4, 2, 6)
        }
    }

    fn tree() -> Scenario {
        let optical = OpticalLayer {
            links_per_switch: 2,
            ..OpticalLayer::new(4, UplinkCircuits::Unsteered)
        };
        Scenario::new(Network::new(Family::FatTree(FatTree {
            down: Some(vec![4, 4, 2]),
            up: Some(vec![2, 2]),
            optical: Some(optical),
            ..FatTree::default()
        })))
    }

    #[test]
    fn ports_of_a_plant_are_those_that_circuits_join() {
        let mut network = dragonfly();
        network.circuits = CircuitSource::Uniform;
        let scenario = Scenario::new(Network::new(Family::ReconfigurableDragonfly(network)));
        let plant = optical_plant(&scenario).unwrap().unwrap();
        assert!(!plant.one_way && plant.ingress == plant.egress);
        assert_eq!((plant.ingress.len(), plant.ingress[0].len()), (4, 12));
        let all: Vec<GroupId> = (0..6).map(GroupId).collect();
        let circuits = circuits_of_groups(&scenario, &all, None).unwrap();
        let topology = build_topology(&scenario).unwrap();
        let global =
            |&(port, _): &(PortId, PortId)| topology.link_class(port).kind == LinkKind::Global;
        let mut links: Vec<_> = topology.links().filter(global).collect();
        let port = |switch: u32, port: u32| {
            let (_, router, relative) = plant.ingress[switch as usize][port as usize];
            PortId(topology.first_port[router.index()] + u32::from(relative))
        };
        let mut joined: Vec<_> = (circuits.iter())
            .map(|&(switch, a, b)| (port(switch, a), port(switch, b)))
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        links.sort_unstable();
        joined.sort_unstable();
        assert!(!links.is_empty());
        assert_eq!(joined, links);
    }

    #[test]
    fn ports_of_a_tree_lead_from_leaves_to_switches_of_level_2() {
        let plant = optical_plant(&tree()).unwrap().unwrap();
        assert!(plant.one_way);
        assert_eq!((plant.ingress.len(), plant.ingress[0].len()), (4, 4));
        let topology = build_topology(&tree()).unwrap();
        for (ingress, egress) in plant
            .ingress
            .iter()
            .flatten()
            .zip(plant.egress.iter().flatten())
        {
            let port =
                |end: &PluggedPort| PortId(topology.first_port[end.1.index()] + u32::from(end.2));
            assert_eq!(
                topology.peer[port(ingress).index()],
                Peer::Port(port(egress))
            );
            assert_eq!(ingress.0, egress.0);
        }
        let family = Family::Dragonfly(Dragonfly::new(1, 2, 1, 3));
        assert_eq!(
            optical_plant(&Scenario::new(Network::new(family))),
            Ok(None)
        );
    }

    #[test]
    fn ways_end_at_their_nodes_and_follow_links() {
        for scenario in [
            tree(),
            Scenario::new(Network::new(Family::ReconfigurableDragonfly(dragonfly()))),
        ] {
            let topology = build_topology(&scenario).unwrap();
            let nodes = topology.nodes() as u32;
            let pairs: Vec<_> = (0..nodes)
                .flat_map(|from| (0..nodes).map(move |to| (NodeId(from), NodeId(to))))
                .filter(|(from, to)| from != to)
                .collect();
            let ways = routes(&scenario, &pairs, &[]).unwrap();
            assert_eq!(ways, routes(&scenario, &pairs, &[]).unwrap());
            for (&(from, to), way) in pairs.iter().zip(&ways) {
                assert_eq!(way[0].0, topology.router_of_node(from));
                for (index, &(router, port)) in way.iter().enumerate() {
                    let port = topology.first_port[router.index()] + u32::from(port);
                    match topology.peer[port as usize] {
                        Peer::Node(node) => assert_eq!((node, index + 1), (to, way.len())),
                        Peer::Port(peer) => {
                            assert_eq!(topology.router_of_port(peer), way[index + 1].0);
                        }
                        Peer::Unconnected => panic!("dark"),
                    }
                }
            }
        }
    }

    #[test]
    fn ways_leave_out_uplinks_whose_circuits_change() {
        let scenario = tree();
        let plant = optical_plant(&scenario).unwrap().unwrap();
        let leaf = plant.ingress[0][0].1;
        let uplinks: Vec<_> = (0..)
            .zip(&plant.ingress)
            .flat_map(|(switch, ports)| (0..).zip(ports).map(move |(n, of)| ((switch, n), of)))
            .filter(|(_, of)| of.1 == leaf)
            .collect();
        // From the leaf's first node to the last one of the machine.
        let pairs = [(NodeId(0), NodeId(31))];
        for &(silent, &(_, _, port)) in &uplinks {
            let ways = routes(&scenario, &pairs, &[silent]).unwrap();
            assert_ne!(ways[0][0], (leaf, port));
        }
        let all: Vec<_> = uplinks.iter().map(|&(silent, _)| silent).collect();
        assert!(routes(&scenario, &pairs, &all).is_err());
        assert!(routes(&scenario, &pairs, &[(0, 99)]).is_err());
    }

    #[test]
    fn what_cannot_be_is_told() {
        let scenario = tree();
        let error = routes(&scenario, &[(NodeId(0), NodeId(32))], &[]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("found node 32; allowed: nodes 0 to 31")
        );
        assert!(circuits_of_groups(&scenario, &[GroupId(0)], None).is_err());
        let network = Network::new(Family::ReconfigurableDragonfly(dragonfly()));
        let scenario = Scenario::new(network);
        let two = [GroupId(0), GroupId(1)];
        let error = circuits_of_groups(&scenario, &two, Some(&[(0, 2, 1)])).unwrap_err();
        assert!(
            error.to_string().contains("allowed: places below 2"),
            "{error}"
        );
        assert!(circuits_of_groups(&scenario, &[GroupId(0), GroupId(9)], None).is_err());
    }
}
