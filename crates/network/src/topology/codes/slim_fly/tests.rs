use super::*;
use crate::topology::testing::class;
use crate::topology::{LinkKind, Peer, SlimFlySpec};

fn spec(q: u32, p: u32, x: &[u32], x_prime: &[u32]) -> CodesSlimFly {
    CodesSlimFly {
        q,
        p,
        local_channels: x_prime.len() as u32,
        global_channels: q,
        x: x.to_vec(),
        x_prime: x_prime.to_vec(),
        terminal: class("terminal", LinkKind::Terminal),
        local: class("local", LinkKind::Local),
        global: class("global", LinkKind::Global),
    }
}

/// All pairs of linked routers, each link once from either end, in order.
fn linked(topology: &Topology) -> Vec<(u32, u32)> {
    let owner = topology.router_of_every_port();
    let mut pairs: Vec<(u32, u32)> = (owner.iter().zip(&topology.peer))
        .filter_map(|(from, peer)| match peer {
            Peer::Port(peer) => Some((from.0, owner[peer.index()].0)),
            _ => None,
        })
        .collect();
    pairs.sort_unstable();
    pairs
}

/// The links as every router of CODES finds them: it looks at all others and takes those that
/// fulfil an equation.
fn as_codes_wires(q: u32, x: &[u32], x_prime: &[u32]) -> Vec<(u32, u32)> {
    let place = |router: u32| (router / (q * q), router / q % q, router % q);
    let mut pairs = vec![];
    for from in 0..2 * q * q {
        for to in 0..2 * q * q {
            let ((s, i, j), (t, k, l)) = (place(from), place(to));
            let joined = match (s, t) {
                (0, 0) => i == k && x.contains(&j.abs_diff(l)),
                (1, 1) => i == k && x_prime.contains(&j.abs_diff(l)),
                (0, _) => j == (k * i + l) % q,
                _ => l == (i * k + j) % q,
            };
            if joined {
                pairs.push((from, to));
            }
        }
    }
    pairs
}

#[test]
fn the_verified_sets_make_slim_flies_of_diameter_2() {
    // Sets that CODES lists as verified; q = 5 and 13 are those of its configurations.
    let cases: [(u32, &[u32], &[u32]); 2] = [
        (5, &[1, 4], &[2, 3]),
        (13, &[1, 10, 9, 12, 3, 4], &[6, 8, 2, 7, 5, 11]),
    ];
    for (q, x, x_prime) in cases {
        let p = q * 2 / 3;
        let topology = spec(q, p, x, x_prime).build().unwrap();
        assert_eq!(linked(&topology), as_codes_wires(q, x, x_prime));
        let found = topology.describe();
        assert_eq!(
            (found.routers, found.groups),
            (2 * u64::from(q * q), 2 * u64::from(q))
        );
        assert_eq!(found.nodes, u64::from(2 * q * q * p));
        assert_eq!(found.diameter, 2);
        // (3q − 1)/2 links of every router, q of them to other groups.
        assert_eq!(
            (found.radix_min, found.radix_max),
            (p + (3 * q - 1) / 2, p + (3 * q - 1) / 2)
        );
        let links: Vec<u64> = found.classes.iter().map(|class| class.links).collect();
        let (nodes, local, global) = (2 * q * q * p, q * q * (q - 1) / 2, q * q * q);
        assert_eq!(links, [nodes, local, global].map(u64::from));
        // The same graph, router by router, as our own Slim Fly of this order.
        let ours = SlimFlySpec {
            q,
            p,
            terminal: class("terminal", LinkKind::Terminal),
            local: class("local", LinkKind::Local),
            global: class("global", LinkKind::Global),
        };
        assert_eq!(linked(&topology), linked(&ours.build().unwrap()));
    }
}

#[test]
fn sets_that_are_not_those_of_a_slim_fly_are_wired_as_they_are() {
    // A ring in every group instead.
    let topology = spec(6, 1, &[1, 5], &[1, 5]).build().unwrap();
    assert_eq!(linked(&topology), as_codes_wires(6, &[1, 5], &[1, 5]));
}

#[test]
fn contradictions_name_the_parameter() {
    let mut global = spec(5, 3, &[1, 4], &[2, 3]);
    global.global_channels = 4;
    let mut local = spec(5, 3, &[1, 4], &[2, 3]);
    local.local_channels = 3;
    for (spec, parameter, words) in [
        (global, "global_channels", "found 4; allowed: 5"),
        (
            local,
            "generator_set_X",
            "gives router 0 of a group 2 links",
        ),
        (
            spec(5, 3, &[1, 2], &[2, 3]),
            "generator_set_X",
            "gives router 1 of a group 3 links",
        ),
        (
            spec(5, 3, &[1, 5], &[2, 3]),
            "generator_set_X",
            "found 5; allowed: 1 to 4",
        ),
        (
            spec(5, 3, &[1, 4], &[3, 3]),
            "generator_set_X_prime",
            "found 3 twice",
        ),
        (spec(1, 3, &[], &[]), "num_routers", "at least 2"),
        (spec(5, 0, &[1, 4], &[2, 3]), "num_terminals", "at least 1"),
    ] {
        let error = spec.build().unwrap_err();
        assert_eq!(error.parameter(), Some(parameter), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    let large = spec(100_000, 1, &[1], &[1]).build().unwrap_err();
    assert!(matches!(large, CodesSlimFlyError::Topology(_)), "{large}");
}
