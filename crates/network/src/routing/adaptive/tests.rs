use odonata_units::{PortId, RouterId};

use super::*;
use crate::routing::channels::{HOMEWARD, PROGRESSIVE};
use crate::routing::testing::{
    LoadedRouter, MockRouter, dragonfly, globals, grid_dragonfly, random_walks, sampled_first_hops,
};
use crate::routing::{Par, Routing, Ugal};
use crate::topology::{LinkKind, Peer, Topology};

const POLICY: (MinimalLinks, Choice) = (MinimalLinks::All, Choice::Random);

fn ugal<const GLOBAL: bool>(topology: &Topology, options: AdaptiveOptions) -> Ugal<GLOBAL> {
    let routes = GroupedRoutes::new(topology).unwrap();
    Ugal::new(routes, POLICY.0, POLICY.1, options, None).unwrap()
}

fn par(topology: &Topology, options: AdaptiveOptions) -> Par {
    let routes = GroupedRoutes::new(topology).unwrap();
    Par::new(routes, POLICY.0, POLICY.1, options, None).unwrap()
}

/// The share of packets from `at` to router `to` that are not routed minimally
/// under the given queues.
fn diverted<R: Routing>(
    topology: &Topology,
    routing: &R,
    (at, injected, route): (u32, bool, PacketRoute),
    own: &dyn Fn(u16) -> u64,
    remote: &dyn Fn(u32) -> u64,
) -> f64 {
    let mut view = LoadedRouter {
        own,
        remote,
        random: MockRouter::new(2),
    };
    let draws = 2000;
    let diverted = (0..draws).filter(|_| {
        let mut route = route;
        let hop = routing.next_hop(&mut view, RouterId(at), injected, &mut route);
        // A packet that goes straight to its intermediate group forgets it.
        let port = PortId(topology.first_port[at as usize] + u32::from(hop.port));
        let crossed = topology.link_class(port).kind == LinkKind::Global;
        matches!(route.phase, OUTWARD | DETOUR) || route.phase == HOMEWARD && crossed
    });
    diverted.count() as f64 / f64::from(draws)
}

fn injected(to: u32) -> PacketRoute {
    PacketRoute::injected(RouterId(to), 0)
}

#[test]
fn an_idle_network_is_crossed_minimally() {
    let topology = dragonfly(2, 4, 2, 9);
    let idle = |_| 0;
    for via in [Via::Group, Via::Router, Via::Node] {
        let options = AdaptiveOptions {
            via,
            ..AdaptiveOptions::default()
        };
        for to in 4..36 {
            let packet = (0, true, injected(to));
            let local = ugal::<false>(&topology, options);
            assert_eq!(diverted(&topology, &local, packet, &|_| 0, &idle), 0.0);
            let global = ugal::<true>(&topology, options);
            assert_eq!(diverted(&topology, &global, packet, &|_| 0, &idle), 0.0);
            assert_eq!(
                diverted(&topology, &par(&topology, options), packet, &|_| 0, &idle),
                0.0
            );
        }
    }
}

/// p=1 a=2 h=2 g=5, absolute: global port 0 of router 0 (port 2) leads to group
/// 1, port 1 (port 3) to group 2; port 1 leads to router 1 of the group and
/// through it to groups 3 and 4.
fn small() -> Topology {
    dragonfly(1, 2, 2, 5)
}

#[test]
fn the_threshold_and_the_weights_decide_to_the_byte() {
    let topology = small();
    // To the router in group 1 on which router 0's link ends: one hop. The
    // destination group is 1, so intermediates are 2 (port 3), 3 and 4 (port 1).
    let Peer::Port(peer) = topology.peer[2] else {
        panic!("global port 0 is connected")
    };
    let to = topology.router_of_port(peer).0;
    let packet = (0, true, injected(to));
    let fixed = |threshold_bytes| AdaptiveOptions {
        weighting: Weighting::Fixed {
            minimal: 1,
            non_minimal: 2,
        },
        threshold_bytes,
        ..AdaptiveOptions::default()
    };
    // All non-minimal ports hold 100 bytes: minimal up to 2 · 100 + 30.
    let share = |options, minimal: u64| {
        let own = move |port| if port == 2 { minimal } else { 100 };
        diverted(
            &topology,
            &ugal::<false>(&topology, options),
            packet,
            &own,
            &|_| 0,
        )
    };
    assert_eq!(share(fixed(30), 230), 0.0);
    assert_eq!(share(fixed(30), 231), 1.0);
    assert_eq!(share(fixed(-30), 170), 0.0);
    assert_eq!(share(fixed(-30), 171), 1.0);
    // By hops, the minimal route weighs 1 and the others 2 to 5: at 200 bytes
    // every one is as good as the minimal route, at 501 all are better.
    let hops = AdaptiveOptions::default();
    assert_eq!(share(hops, 200), 0.0);
    assert_eq!(share(hops, 501), 1.0);
    let between = share(hops, 301);
    assert!(between > 0.2 && between < 0.9, "{between}");
}

#[test]
fn several_candidates_find_the_idle_port_more_often() {
    let topology = small();
    let packet = (0, true, injected(2));
    // The minimal port is full; of the three intermediates one (group 2, port
    // 3) is idle.
    let own = |port| match port {
        2 => 1000,
        3 => 0,
        _ => 10_000,
    };
    let share = |candidates| {
        let options = AdaptiveOptions {
            candidates,
            ..AdaptiveOptions::default()
        };
        diverted(
            &topology,
            &ugal::<false>(&topology, options),
            packet,
            &own,
            &|_| 0,
        )
    };
    // 1/3 for one, 1 - (2/3)^4 = 0.80 for four; the error of 2,000 draws is 0.01.
    assert!((share(1) - 1.0 / 3.0).abs() < 0.05, "{}", share(1));
    assert!((share(4) - 0.802).abs() < 0.05, "{}", share(4));
}

#[test]
fn only_global_information_sees_a_queue_behind_the_first_hop() {
    let topology = small();
    // Group 3 is left through router 1; its global port is full, which router 0
    // cannot see in its own queues.
    let to = 6;
    let routes = GroupedRoutes::new(&topology).unwrap();
    let global_link = routes.global_links(0, 3)[0];
    assert_eq!(global_link.owner(), 1);
    let full = routes.first_port(1) + global_link.port();
    let remote = move |port| if port == full { 5000 } else { 0 };
    let packet = (0, true, injected(to));
    let options = AdaptiveOptions::default();
    let local = diverted(
        &topology,
        &ugal::<false>(&topology, options),
        packet,
        &|_| 0,
        &remote,
    );
    assert_eq!(local, 0.0);
    let global = diverted(
        &topology,
        &ugal::<true>(&topology, options),
        packet,
        &|_| 0,
        &remote,
    );
    assert_eq!(global, 1.0);
    assert_eq!(
        (Ugal::<false>::NEEDS_SNAPSHOT, Ugal::<true>::NEEDS_SNAPSHOT),
        (false, true)
    );
}

#[test]
fn a_progressive_route_is_diverted_at_the_second_router() {
    let topology = small();
    let routing = par(&topology, AdaptiveOptions::default());
    // Decided at idle router 0: to group 3 through router 1.
    let mut view = LoadedRouter {
        own: &|_| 0,
        remote: &|_| 0,
        random: MockRouter::new(2),
    };
    let mut route = injected(6);
    let hop = routing.next_hop(&mut view, RouterId(0), true, &mut route);
    assert_eq!((hop.vc, route.phase), (0, PROGRESSIVE));
    // At router 1 the global port is full.
    let full = routing
        .adaptive
        .legs
        .routes
        .only_global_link(0, 3)
        .unwrap()
        .port() as u16;
    let own = move |port| if port == full { 1_000_000 } else { 10 };
    let packet = (1, false, route);
    assert_eq!(diverted(&topology, &routing, packet, &own, &|_| 0), 1.0);
    assert_eq!(diverted(&topology, &routing, packet, &|_| 0, &|_| 0), 0.0);
    // Diverted back over router 0, it takes the next class of local channels.
    view.own = &own;
    for _ in 0..50 {
        let mut route = route;
        let hop = routing.next_hop(&mut view, RouterId(1), false, &mut route);
        // Port 1 is the local one; global channel 0 leads outward.
        assert_eq!(hop.vc, u8::from(hop.port == 1));
    }
}

#[test]
fn routes_are_as_long_as_their_legs_allow() {
    let topology = dragonfly(2, 4, 2, 9);
    let hops = |walks: Vec<Vec<_>>| {
        assert!(walks.iter().all(|w| globals(w) <= 2));
        walks.iter().map(Vec::len).max()
    };
    for (via, most, ugal_channels, par_channels) in [
        (Via::Group, 5, 3, 4),
        (Via::Router, 6, 4, 5),
        (Via::Node, 6, 4, 5),
    ] {
        let options = AdaptiveOptions {
            via,
            candidates: 2,
            detours_in_group: true,
            ..AdaptiveOptions::default()
        };
        let local = ugal::<false>(&topology, options);
        assert_eq!(local.virtual_channels(), ugal_channels);
        assert_eq!(hops(random_walks(&topology, &local, 1, 8000)), Some(most));
        let global = ugal::<true>(&topology, options);
        assert_eq!(hops(random_walks(&topology, &global, 1, 8000)), Some(most));
        // Progressive routes make one local hop more before they are diverted.
        let par = par(&topology, options);
        assert_eq!(par.virtual_channels(), par_channels);
        assert_eq!(
            hops(random_walks(&topology, &par, 1, 20_000)),
            Some(most + 1)
        );
    }
}

#[test]
fn traffic_inside_a_group_is_minimal_unless_detours_are_allowed() {
    let topology = dragonfly(1, 5, 1, 6);
    let full = |port| if port == 1 { 1000 } else { 0 };
    for (detours_in_group, expected) in [(false, 0.0), (true, 1.0)] {
        let options = AdaptiveOptions {
            detours_in_group,
            ..AdaptiveOptions::default()
        };
        let routing = ugal::<false>(&topology, options);
        let mut view = LoadedRouter {
            own: &full,
            remote: &|_| 0,
            random: MockRouter::new(2),
        };
        let detours = (0..200).filter(|_| {
            let mut route = injected(1);
            routing.next_hop(&mut view, RouterId(0), true, &mut route);
            route.phase == DETOUR
        });
        assert_eq!(detours.count() as f64 / 200.0, expected);
    }
}

#[test]
fn possible_hops_are_what_happens() {
    // Queues are drawn so widely that every decision occurs.
    for topology in [dragonfly(1, 3, 1, 4), grid_dragonfly(1, (2, 2), 2, 3)] {
        for via in [Via::Group, Via::Router, Via::Node] {
            let options = AdaptiveOptions {
                via,
                threshold_bytes: -1500,
                detours_in_group: true,
                ..AdaptiveOptions::default()
            };
            let (local, global, par) = (
                ugal::<false>(&topology, options),
                ugal::<true>(&topology, options),
                par(&topology, options),
            );
            for to in [1, 4, 7] {
                check_possible(&local, to);
                check_possible(&global, to);
                check_possible(&par, to);
            }
        }
    }
}

fn check_possible<R: Routing>(routing: &R, to: u32) {
    let mut possible = Vec::new();
    routing.possible_hops(RouterId(0), true, &injected(to), &mut possible);
    possible.sort();
    possible.dedup();
    let seen = sampled_first_hops(routing, RouterId(0), injected(to), 20_000);
    let missed: Vec<_> = possible.iter().filter(|p| !seen.contains(p)).collect();
    assert!(
        missed.is_empty(),
        "never happened on the way to {to}: {missed:?}"
    );
    assert_eq!(seen.len(), possible.len(), "impossible hops to {to}");
}

#[test]
fn no_candidates_or_too_many_are_an_error() {
    for candidates in [0, 9] {
        let routes = GroupedRoutes::new(&small()).unwrap();
        let options = AdaptiveOptions {
            candidates,
            ..AdaptiveOptions::default()
        };
        let error = Par::new(routes, POLICY.0, POLICY.1, options, None).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("`candidates` is {candidates}")),
            "{text}"
        );
    }
}

/// A router that sees queues of ports and of channels as a test sets them.
struct Channelled<'a> {
    port: &'a dyn Fn(u16) -> u64,
    channel: &'a dyn Fn(Hop) -> u64,
    random: MockRouter,
}

impl RouterView for Channelled<'_> {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        (self.port)(port)
    }
    fn channel_occupancy_bytes(&mut self, hop: Hop) -> u64 {
        (self.channel)(hop)
    }
    fn remote_occupancy_bytes(&self, _: PortId) -> u64 {
        0
    }
    fn random_below(&mut self, bound: u32) -> u32 {
        self.random.random_below(bound)
    }
}

/// Groups of two routers with two global links each, five groups. A packet of router 0 to a
/// group behind router 1 begins with the local link between the two, and so does one of its three
/// detours; the other two begin with the router's own global links.
#[test]
fn channels_tell_routes_apart_that_begin_with_the_same_port() {
    let topology = dragonfly(1, 2, 2, 5);
    let routes = GroupedRoutes::new(&topology).unwrap();
    let here = routes.place(0);
    let behind_the_other =
        |&group: &u32| routes.global_links(here.group, group)[0].owner() != here.local;
    let group = (1..5).find(behind_the_other).unwrap();
    let to = routes.router(Place { group, local: 0 });
    let kind = |port: u16| topology.link_class(PortId(u32::from(port))).kind;
    // 3 kB of what goes minimally, on channel 1, fill the local link; on the global ones lies
    // more, nothing of it on channel 0, on which detours begin.
    let port = |port: u16| match kind(port) {
        LinkKind::Global => 4_000,
        _ => 3_000,
    };
    let channel = |hop: Hop| match (kind(hop.port), hop.vc) {
        (_, 0) => 0,
        (LinkKind::Global, _) => 4_000,
        _ => 3_000,
    };
    for (queue, expected) in [
        // Of the same length, the shorter route is better; the others' queues are longer.
        (Queue::Port, 0.0),
        // The one detour that begins with the same port has an empty channel.
        (Queue::Hybrid, 1.0 / 3.0),
        // All have.
        (Queue::Channel, 1.0),
    ] {
        let options = AdaptiveOptions {
            queue,
            ..AdaptiveOptions::default()
        };
        let routing = ugal::<false>(&topology, options);
        assert_eq!(routing.reads_channels(), queue != Queue::Port);
        let mut view = Channelled {
            port: &port,
            channel: &channel,
            random: MockRouter::new(3),
        };
        let draws = 2000;
        let mut diverted = 0.0;
        for _ in 0..draws {
            let mut route = injected(to);
            let hop = routing.next_hop(&mut view, RouterId(0), true, &mut route);
            diverted += f64::from(u8::from(hop.vc == 0)) / f64::from(draws);
        }
        assert!((diverted - expected).abs() < 0.05, "{queue:?}: {diverted}");
    }
}
