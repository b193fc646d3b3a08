//! Packets of each part of a run take what works in it, on channels of their own.

use super::*;
use crate::routing::testing::{MockRouter, dragonfly};
use crate::routing::{Algorithm, RoutingSpec};
use crate::topology::{
    During, Ends, FailedLinks, Failures, Impairment, OnTheWay, OutOfService, Outage, Topology,
};
use crate::verify::{Verdict, verify};
use odonata_units::GroupId;

/// All links between groups 2 and 3 fail at 10 ps and work again at 20 ps.
fn cut(whole: &Topology) -> Vec<(Picoseconds, Topology)> {
    let failures = Failures {
        links: vec![FailedLinks {
            ends: Ends::Groups(GroupId(2), GroupId(3)),
            count: None,
            one_way: false,
            impairment: Impairment::dark(During {
                from: Picoseconds(10),
                until: Picoseconds(20),
            }),
        }],
        ..Failures::default()
    };
    failures.moments(whole).unwrap()
}

fn layered(whole: &Topology, algorithm: Algorithm) -> Result<Layered, RoutingError> {
    in_parts(whole, &cut(whole), algorithm)
}

fn in_parts(
    whole: &Topology,
    parts: &[(Picoseconds, Topology)],
    algorithm: Algorithm,
) -> Result<Layered, RoutingError> {
    let routing = |(from, left): &(Picoseconds, Topology)| {
        let routing = AnyRouting::new(left, &RoutingSpec::new(algorithm))?;
        Ok::<_, RoutingError>((*from, routing, left.lost_routers()))
    };
    Layered::new(
        parts.iter().map(routing).collect::<Result<_, _>>()?,
        &whole.group_of_router,
    )
}

#[test]
fn a_packet_keeps_to_the_part_of_the_run_in_which_it_enters() {
    let whole = dragonfly(1, 4, 2, 9);
    let routing = layered(&whole, Algorithm::ShortestPath).unwrap();
    let part_of = |vc: u8| {
        routing
            .parts
            .iter()
            .rposition(|part| part.first <= vc)
            .unwrap()
    };
    // The router of group 2 that has the link to group 3, and the one at its other end.
    let joins = |&(a, b): &(PortId, PortId)| {
        let group = |port| whole.group_of_router[whole.router_of_port(port).index()].0;
        (group(a), group(b)) == (2, 3)
    };
    let (port, other) = whole.links().find(joins).unwrap();
    let (at, to) = (whole.router_of_port(port), whole.router_of_port(other));
    let port = port.0 - whole.first_port[at.index()];
    let mut view = MockRouter::new(1);
    let mut hop = |time, injected, vc| {
        view.time = time;
        let mut route = PacketRoute::injected(to, 0);
        route.vc = vc;
        routing.next_hop(&mut view, at, injected, &mut route)
    };
    for (time, part, is_direct) in [
        (0, 0, true),
        (9, 0, true),
        (10, 1, false),
        (19, 1, false),
        (20, 2, true),
    ] {
        let entering = hop(time, true, 0);
        assert_eq!(u32::from(entering.port) == port, is_direct, "{time}");
        assert_eq!(part_of(entering.vc), part);
        // What has entered before goes on as it began.
        let under_way = hop(time, false, 0);
        assert_eq!(
            (u32::from(under_way.port), part_of(under_way.vc)),
            (port, 0)
        );
    }
}

#[test]
fn parts_share_no_channel() {
    let whole = dragonfly(1, 4, 2, 9);
    for algorithm in [
        Algorithm::ShortestPath,
        Algorithm::UpDown,
        Algorithm::Dfsssp,
        Algorithm::UgalLocal(crate::routing::AdaptiveOptions::default()),
    ] {
        let routing = layered(&whole, algorithm).unwrap();
        let alone = AnyRouting::new(&whole, &RoutingSpec::new(algorithm)).unwrap();
        assert!(routing.channels >= 3 * alone.virtual_channels());
        let verdict = verify(&whole, &routing).unwrap();
        assert!(matches!(verdict, Verdict::DeadlockFree { .. }), "{verdict}");
    }
}

#[test]
fn what_cannot_be_layered_is_refused() {
    let whole = dragonfly(1, 4, 2, 9);
    let global = Algorithm::UgalGlobal(crate::routing::AdaptiveOptions::default());
    assert_eq!(
        layered(&whole, global).unwrap_err(),
        RoutingError::NotLayered
    );
    let many = |moment| {
        let routing = AnyRouting::new(&whole, &RoutingSpec::new(Algorithm::UpDown)).unwrap();
        (Picoseconds(moment), routing, whole.lost_routers())
    };
    assert!(Layered::new((0..16).map(many).collect(), &whole.group_of_router).is_ok());
    let refused = RoutingError::TooManyLayers {
        parts: 17,
        needed: 17,
        limit: 16,
    };
    assert_eq!(
        Layered::new((0..17).map(many).collect(), &whole.group_of_router).unwrap_err(),
        refused
    );
}

/// Packets for a router in the middle of its group are walked together with those for the first and
/// the last one, but for the part in which nothing enters for it.
#[test]
fn whichever_router_of_a_group_fails_no_packet_has_to_find_it() {
    let whole = dragonfly(1, 4, 2, 9);
    for algorithm in [
        Algorithm::Minimal,
        Algorithm::Valiant {
            via: Default::default(),
        },
        Algorithm::UgalLocal(crate::routing::AdaptiveOptions::default()),
        Algorithm::Par(crate::routing::AdaptiveOptions::default()),
    ] {
        for router in 12..16 {
            let failures = Failures {
                outages: vec![Outage {
                    of: OutOfService::Router(RouterId(router)),
                    during: During {
                        from: Picoseconds(10),
                        ..During::WHOLE_RUN
                    },
                    entry: 0,
                }],
                on_the_way: OnTheWay::Lost {
                    reconvergence: Picoseconds(0),
                },
                ..Failures::default()
            };
            let parts = failures.moments(&whole).unwrap();
            let Ok(routing) = in_parts(&whole, &parts, algorithm) else {
                // The only link between two groups is gone.
                assert_eq!(algorithm, Algorithm::Minimal);
                continue;
            };
            let (left, _) = failures.of(whole.clone()).unwrap();
            let verdict = verify(&left, &routing).unwrap();
            assert!(
                matches!(verdict, Verdict::DeadlockFree { .. }),
                "{algorithm:?}, {router}: {verdict:?}"
            );
        }
    }
}
