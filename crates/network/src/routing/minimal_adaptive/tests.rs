use super::*;
use crate::routing::testing::{MockRouter, lattice, random_walks};
use crate::verify::{Verdict, verify};

fn longest_route(verdict: &Verdict) -> u32 {
    match verdict {
        Verdict::DeadlockFree { longest_route, .. } => *longest_route,
        other => panic!("{other}"),
    }
}

#[test]
fn one_channel_above_those_of_dimension_order_is_free_of_deadlock_and_none_is_not() {
    // Torus, mesh, HyperX: size, ring or not, complete or not, channels, diameter.
    for (size, wrap, complete, channels, diameter) in [
        (&[5, 4][..], true, false, 3, 2 + 2),
        (&[4, 3, 3], true, false, 3, 2 + 1 + 1),
        (&[4, 3], false, false, 2, 3 + 2),
        (&[4, 3], false, true, 2, 2),
    ] {
        let topology = lattice(size, wrap, complete);
        let routing = MinimalAdaptive::new(&topology, None).unwrap();
        assert_eq!(routing.virtual_channels(), channels, "{size:?}");
        let verdict = verify(&topology, &routing).unwrap();
        assert_eq!(longest_route(&verdict), diameter, "{size:?}");
        // Packets then wait for one another's adaptive channel: in any order of the dimensions.
        let merged = MinimalAdaptive::new(&topology, Some(channels - 1)).unwrap();
        let verdict = verify(&topology, &merged).unwrap();
        assert!(matches!(verdict, Verdict::Cycle(_)), "{size:?}: {verdict}");
    }
}

#[test]
fn a_single_router_needs_no_channel_to_others() {
    let topology = lattice(&[1], false, false);
    let routing = MinimalAdaptive::new(&topology, None).unwrap();
    assert_eq!(longest_route(&verify(&topology, &routing).unwrap()), 0);
}

#[test]
fn routes_are_minimal_and_take_dimensions_in_any_order() {
    let topology = lattice(&[6, 5], true, false);
    let along = |from: u32, to: u32, size: u32| {
        let ahead = (to + size - from) % size;
        ahead.min(size - ahead)
    };
    let distance = |from: RouterId, to: RouterId| {
        along(from.0 % 6, to.0 % 6, 6) + along(from.0 / 6, to.0 / 6, 5)
    };
    let routing = MinimalAdaptive::new(&topology, None).unwrap();
    let mut orders = std::collections::BTreeSet::new();
    for steps in random_walks(&topology, &routing, 5, 3_000) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            continue;
        };
        let shortest = distance(first.from, last.to);
        assert_eq!(steps.len() as u32, shortest);
        let along = |step: &crate::routing::testing::Step| step.from.0 / 6 == step.to.0 / 6;
        orders.insert(steps.iter().map(along).collect::<Vec<_>>());
    }
    // Of one hop along the first dimension and two along the second all orders.
    for order in [
        [true, false, false],
        [false, true, false],
        [false, false, true],
    ] {
        assert!(orders.contains(order.as_slice()), "{order:?}");
    }
}

/// A router whose adaptive channel has room behind some ports only, and whose ports are as busy
/// as their numbers are high.
struct Router {
    room: &'static [u16],
    random: MockRouter,
}

impl RouterView for Router {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        u64::from(port)
    }

    fn has_room(&mut self, hop: Hop) -> bool {
        assert_eq!(hop.vc, 2, "nobody asks for room on an escape channel");
        self.room.contains(&hop.port)
    }

    fn remote_occupancy_bytes(&self, _port: odonata_units::PortId) -> u64 {
        0
    }

    fn random_below(&mut self, bound: u32) -> u32 {
        self.random.random_below(bound)
    }
}

#[test]
fn the_emptiest_port_with_room_is_taken_and_without_any_the_escape_channel() {
    // Router 0 is at (0, 0) and router 18 at (3, 3) of 5 x 5: two hops down in either dimension,
    // over the links that close the rings.
    let topology = lattice(&[5, 5], true, false);
    let routing = MinimalAdaptive::new(&topology, None).unwrap();
    let to = |router: u32| {
        let ports = topology.ports_of(RouterId(0)).zip(0u16..);
        let mut leads = ports.filter(|&(port, _)| match topology.peer[port] {
            crate::topology::Peer::Port(peer) => topology.router_of_port(peer).0 == router,
            _ => false,
        });
        leads.next().expect("a neighbour").1
    };
    let (first, second) = (to(4), to(20));
    assert!(first < second);
    let hop = |room: &'static [u16]| {
        let mut route = PacketRoute::injected(RouterId(18), 0);
        let random = MockRouter::new(3);
        let mut view = Router { room, random };
        routing.next_hop(&mut view, RouterId(0), true, &mut route)
    };
    let on = |port, vc| Hop { port, vc };
    assert_eq!(hop(&[1, 2, 3, 4]), on(first, 2));
    assert_eq!([first, second], [2, 4]);
    assert_eq!(hop(&[1, 3, 4]), on(second, 2));
    // The link that closes the ring is ahead: channel 0.
    assert_eq!(hop(&[1, 3]), on(first, 0));
}
