use odonata_units::NodeId;

use super::*;
use crate::routing::Routing;
use crate::routing::testing::{dragonfly, random_walks};
use crate::topology::testing::class;
use crate::topology::{HyperXSpec, LinkClass, LinkKind, TorusSpec};
use crate::verify::{Verdict, verify};

fn classes(count: usize) -> (LinkClass, Vec<LinkClass>) {
    let along = (1..=count).map(|n| class(&format!("dim{n}"), LinkKind::Local));
    (class("terminal", LinkKind::Terminal), along.collect())
}

fn torus(size: &[u32], wrap: &[bool]) -> Topology {
    let (terminal, links) = classes(size.len());
    let (size, wrap) = (size.to_vec(), wrap.to_vec());
    TorusSpec {
        size,
        wrap,
        p: 1,
        terminal,
        links,
    }
    .build()
    .unwrap()
}

fn hyperx(size: &[u32], parallel: &[u32]) -> Topology {
    let (terminal, links) = classes(size.len());
    let (size, parallel) = (size.to_vec(), parallel.to_vec());
    HyperXSpec {
        size,
        parallel,
        p: 1,
        terminal,
        links,
    }
    .build()
    .unwrap()
}

#[test]
fn lattices_are_crossed_by_shortest_paths_without_deadlock() {
    for (topology, longest, channels) in [
        (torus(&[5], &[true]), 2, 2),
        (torus(&[6, 4], &[true, true]), 3 + 2, 2),
        (torus(&[4, 3, 2], &[true, false, true]), 2 + 2 + 1, 2),
        (torus(&[4, 4], &[false, false]), 6, 1),
        (hyperx(&[4, 3, 2], &[1, 2, 1]), 3, 1),
        // Rings of three are all-to-all as well, of which every row has one hop.
        (torus(&[3, 3], &[true, true]), 2, 1),
    ] {
        let name = &topology.title;
        let routing = Tabled::dimension_order(&topology, Choice::Random, None).unwrap();
        assert_eq!(routing.virtual_channels(), channels, "{name}");
        let verdict = verify(&topology, &routing).unwrap();
        let Verdict::DeadlockFree { longest_route, .. } = verdict else {
            panic!("{name}: {verdict}");
        };
        // The sum of the longest ways along each dimension: the diameter.
        assert_eq!(longest_route, longest, "{name}");
        assert_eq!(topology.describe().diameter, longest, "{name}");
        random_walks(&topology, &routing, 1, 300);
    }
}

#[test]
fn one_channel_on_a_ring_can_deadlock() {
    let topology = torus(&[6, 4], &[true, true]);
    let routing = Tabled::dimension_order(&topology, Choice::Random, Some(1)).unwrap();
    let verdict = verify(&topology, &routing).unwrap();
    assert!(
        !matches!(verdict, Verdict::DeadlockFree { .. }),
        "{verdict}"
    );
}

#[test]
fn earlier_dimensions_come_first() {
    let topology = torus(&[4, 4], &[true, true]);
    let routing = Tabled::dimension_order(&topology, Choice::Random, None).unwrap();
    let mut view = crate::routing::testing::MockRouter::new(1);
    let steps = crate::routing::testing::walk(&topology, &routing, &mut view, NodeId(0), NodeId(7));
    // Router 7 is (3, 1): one hop down around the ring, then one up.
    let routers: Vec<u32> = steps.iter().map(|step| step.to.0).collect();
    assert_eq!(routers, [3, 7]);
    // The link that closes the ring lies ahead of the first hop: channel 0; not of the second.
    let channels: Vec<u8> = steps.iter().map(|step| step.hop.vc).collect();
    assert_eq!(channels, [0, 1]);
}

#[test]
fn other_networks_are_told_why_not() {
    let error = Tabled::dimension_order(&dragonfly(2, 4, 2, 9), Choice::Random, None);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("lattice"), "{message}");
}
