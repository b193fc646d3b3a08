//! Which links a route uses, and how much of it: the expected use of links by
//! traffic between two routers where every decision of the routing is taken with
//! the same probability.

use std::collections::BTreeMap;

use odonata_units::{PortId, RouterId};

use super::{Algorithm, AnyRouting, PacketRoute, Routing, RoutingError, RoutingSpec, RoutingTask};
use crate::topology::{Peer, Topology};

/// Most hops of a route before it is taken for one without end.
const MOST_HOPS: u32 = 64;

/// Minimal routes of a network: those of `minimal` routing where its groups
/// allow that, shortest paths otherwise; where circuits leave parts without links
/// between them, those of `tago`.
///
/// # Errors
/// If neither fits the network.
pub fn minimal_routing(topology: &Topology) -> Result<AnyRouting, RoutingError> {
    AnyRouting::new(topology, &RoutingSpec::new(Algorithm::Minimal))
        .or_else(|_| AnyRouting::new(topology, &RoutingSpec::new(Algorithm::ShortestPath)))
        .or_else(|error| {
            let detours_in_group = false;
            let tago = RoutingSpec::new(Algorithm::Tago { detours_in_group });
            AnyRouting::new(topology, &tago).map_err(|_| error)
        })
}

/// Tells for every pair of `(from, to)` routers which ports a packet leaves on
/// its way and with what probability: `visit(place of the pair, port, share)`.
/// Ports towards nodes are not among them. Routes end at routers that have nodes. A port may be reported several times for
/// one pair; its shares add up. A route that does not end is cut off.
pub fn expected_use(
    topology: &Topology,
    routing: &AnyRouting,
    pairs: &[(RouterId, RouterId)],
    visit: &mut dyn FnMut(usize, PortId, f64),
) {
    struct Walk<'a> {
        topology: &'a Topology,
        pairs: &'a [(RouterId, RouterId)],
        visit: &'a mut dyn FnMut(usize, PortId, f64),
    }
    impl RoutingTask for Walk<'_> {
        type Output = ();
        fn run<R: Routing>(self, routing: &R) {
            let router_of_port = self.topology.router_of_every_port();
            // Port of a router that leads to a node; routes end there.
            let node_port = |router: RouterId| {
                let mut ports = self.topology.ports_of(router);
                ports
                    .position(|port| matches!(self.topology.peer[port], Peer::Node(_)))
                    .unwrap_or(0) as u16
            };
            let mut open: Vec<(RouterId, bool, PacketRoute, f64, u32)> = vec![];
            let mut hops = vec![];
            for (place, &(from, to)) in self.pairs.iter().enumerate() {
                let injected = PacketRoute::injected(to, node_port(to));
                open.push((from, true, injected, 1.0, 0));
                while let Some((at, injected, route, share, made)) = open.pop() {
                    hops.clear();
                    routing.possible_hops(at, injected, &route, &mut hops);
                    let each = share / hops.len() as f64;
                    let first = self.topology.ports_of(at).start;
                    for &(hop, mut next) in &hops {
                        let port = first + usize::from(hop.port);
                        let Peer::Port(peer) = self.topology.peer[port] else {
                            continue;
                        };
                        (self.visit)(place, PortId::from_index(port), each);
                        if made < MOST_HOPS {
                            next.vc = hop.vc;
                            open.push((router_of_port[peer.index()], false, next, each, made + 1));
                        }
                    }
                }
            }
        }
    }
    routing.dispatch(Walk {
        topology,
        pairs,
        visit,
    });
}

/// What packets from several routers to one put on ports, on average: `visit(port, amount)` for
/// each `(to, what each router sends it)` of `sent`, of a routing whose hops follow from the router
/// and the destination alone. What meets at a router goes on together, so that this takes as long
/// as there are links, not paths. The routers `to` have nodes.
pub fn gathered_use(
    topology: &Topology,
    routing: &AnyRouting,
    sent: &BTreeMap<u32, BTreeMap<u32, f64>>,
    visit: &mut dyn FnMut(PortId, f64),
) {
    struct Walk<'a> {
        topology: &'a Topology,
        sent: &'a BTreeMap<u32, BTreeMap<u32, f64>>,
        visit: &'a mut dyn FnMut(PortId, f64),
    }
    impl RoutingTask for Walk<'_> {
        type Output = ();
        fn run<R: Routing>(self, routing: &R) {
            let router_of_port = self.topology.router_of_every_port();
            // Of what goes on from a router in this step. Shape: routers.
            let mut amounts = vec![0.0; self.topology.routers()];
            let (mut here, mut next, mut hops) = (vec![], vec![], vec![]);
            for (&to, from) in self.sent {
                let injected = PacketRoute::injected(RouterId(to), 0);
                let others = from.iter().filter(|&(&router, _)| router != to);
                here.extend(others.map(|(&router, &amount)| (router, injected, amount)));
                for made in 0..MOST_HOPS {
                    for (at, route, amount) in here.drain(..) {
                        hops.clear();
                        routing.possible_hops(RouterId(at), made == 0, &route, &mut hops);
                        let each = amount / hops.len() as f64;
                        let first = self.topology.ports_of(RouterId(at)).start;
                        for &(hop, mut onward) in &hops {
                            let port = first + usize::from(hop.port);
                            let Peer::Port(peer) = self.topology.peer[port] else {
                                continue;
                            };
                            (self.visit)(PortId::from_index(port), each);
                            let there = router_of_port[peer.index()].0;
                            onward.vc = hop.vc;
                            if there != to {
                                if amounts[there as usize] == 0.0 {
                                    next.push((there, onward));
                                }
                                amounts[there as usize] += each;
                            }
                        }
                    }
                    let gathered = next.drain(..).map(|(router, route)| {
                        let amount = std::mem::take(&mut amounts[router as usize]);
                        (router, route, amount)
                    });
                    here.extend(gathered);
                    if here.is_empty() {
                        break;
                    }
                }
                here.clear();
            }
        }
    }
    routing.dispatch(Walk {
        topology,
        sent,
        visit,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::testing::dragonfly;

    #[test]
    fn what_is_gathered_is_the_sum_of_all_pairs() {
        let topology = dragonfly(1, 3, 1, 4);
        for algorithm in [Algorithm::UpDown, Algorithm::ShortestPath] {
            let routing = AnyRouting::new(&topology, &RoutingSpec::new(algorithm)).unwrap();
            let mut sent: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
            let mut expected = vec![0.0; topology.ports()];
            for (from, to) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
                let amount = f64::from(1 + from * 12 + to);
                sent.entry(to).or_default().insert(from, amount);
                let pair = [(RouterId(from), RouterId(to))];
                expected_use(&topology, &routing, &pair, &mut |_, port, share| {
                    expected[port.index()] += share * amount;
                });
            }
            let mut found = vec![0.0; topology.ports()];
            gathered_use(&topology, &routing, &sent, &mut |port, amount| {
                found[port.index()] += amount;
            });
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9 * expected.max(1.0));
            }
            assert!(expected.iter().sum::<f64>() > 0.0);
        }
    }

    #[test]
    fn minimal_routes_share_out_one_packet() {
        // p=1 a=3 h=1 g=4, one link between every two groups.
        let topology = dragonfly(1, 3, 1, 4);
        let routing = minimal_routing(&topology).unwrap();
        let pairs: Vec<(RouterId, RouterId)> = (0..12)
            .flat_map(|a| (0..12).map(move |b| (RouterId(a), RouterId(b))))
            .collect();
        let mut uses = vec![vec![]; pairs.len()];
        expected_use(&topology, &routing, &pairs, &mut |place, port, share| {
            uses[place].push((port, share));
        });
        for (&(from, to), uses) in pairs.iter().zip(&uses) {
            // Flow leaves `from` and enters `to` as a whole, and is kept elsewhere.
            let mut flow = [0.0; 12];
            for &(port, share) in uses {
                let Peer::Port(peer) = topology.peer[port.index()] else {
                    panic!("a port to a router");
                };
                flow[topology.router_of_port(port).index()] += share;
                flow[topology.router_of_port(peer).index()] -= share;
            }
            for (router, &kept) in flow.iter().enumerate() {
                let due = f64::from(u8::from(router == from.index()))
                    - f64::from(u8::from(router == to.index()));
                assert!(
                    (kept - due).abs() < 1e-12,
                    "{from} to {to} at {router}: {kept}"
                );
            }
            // Within a group one hop, else at most local, global, local.
            let hops: f64 = uses.iter().map(|used| used.1).sum();
            let most = match (from == to, from.0 / 3 == to.0 / 3) {
                (true, _) => 0.0,
                (_, true) => 1.0,
                _ => 3.0,
            };
            assert!(hops <= most + 1e-12);
        }
    }

    #[test]
    fn parallel_ways_are_used_alike() {
        // p=1 a=2 h=4 g=3: four links between every two groups, so that a packet
        // between groups leaves over any of four with a quarter each.
        let topology = dragonfly(1, 2, 4, 3);
        let routing = minimal_routing(&topology).unwrap();
        let mut global = vec![];
        expected_use(
            &topology,
            &routing,
            &[(RouterId(0), RouterId(2))],
            &mut |_, port, share| {
                if topology.link_class(port).kind == crate::LinkKind::Global {
                    global.push(share);
                }
            },
        );
        assert_eq!(global, [0.25; 4]);
    }
}
