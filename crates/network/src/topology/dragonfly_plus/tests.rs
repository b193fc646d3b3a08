use super::*;
use crate::topology::LinkKind;
use crate::topology::testing::dragonfly_links;
use odonata_units::RouterId;
use proptest::prelude::*;

fn spec(leaves: u32, spines: u32, p: u32, h: u32, g: u32) -> DragonflyPlusSpec {
    let links = dragonfly_links();
    DragonflyPlusSpec {
        leaves,
        spines,
        p,
        h,
        g,
        arrangement: SpineArrangement::Balanced,
        links: DragonflyPlusLinks {
            terminal: links.terminal,
            local: links.local,
            global: links.global,
        },
    }
}

/// Spines (numbered within their groups) that the global links from group `i`
/// to group `j` join, in the order of `i`'s ports.
fn joined(spec: &DragonflyPlusSpec, topology: &Topology, i: u32, j: u32) -> Vec<(u32, u32)> {
    let per_group = spec.leaves + spec.spines;
    let owner = topology.router_of_every_port();
    let mut pairs = vec![];
    for (port, peer) in topology.peer.iter().enumerate() {
        let Peer::Port(peer) = peer else { continue };
        let (a, b) = (owner[port].0, owner[peer.index()].0);
        if a / per_group == i && b / per_group == j {
            pairs.push((a % per_group - spec.leaves, b % per_group - spec.leaves));
        }
    }
    pairs
}

#[test]
fn the_machine_of_kang_2019() {
    // Section 2.1: 9 groups of 24 leaves and 24 spines, 16 nodes per leaf, 16
    // global links per spine; 48 links between any two groups; radix 48 is
    // enough (40 of it are used).
    let spec = spec(24, 24, 16, 16, 9);
    let topology = spec.build().unwrap();
    assert_eq!(
        (topology.nodes(), topology.routers(), topology.groups),
        (3_456, 432, 9)
    );
    assert_eq!(
        topology.title,
        "dragonfly+ leaves=24 spines=24 p=16 h=16 g=9 (balanced)"
    );
    let description = topology.describe();
    assert_eq!((description.radix_min, description.radix_max), (40, 40));
    let links: Vec<u64> = description.classes.iter().map(|c| c.links).collect();
    // 9 · 24 · 24 local and 36 pairs · 48 global links.
    assert_eq!(links, [3_456, 5_184, 1_728]);
    assert_eq!(description.group_pair_links_min, Some(48));
    assert_eq!(description.group_pair_links_max, Some(48));
    // Spine k of the lower group to spines k and k + 1 of the higher: the
    // formula of section 3.1.1, where l is 0 or 1.
    for (i, j) in [(0, 1), (0, 8), (3, 5), (7, 8)] {
        let mut found = joined(&spec, &topology, i, j);
        found.sort_unstable();
        let mut printed: Vec<_> = (0..24).flat_map(|k| [(k, k), (k, (k + 1) % 24)]).collect();
        printed.sort_unstable();
        assert_eq!(found, printed, "groups {i} and {j}");
    }
}

#[test]
fn unbalanced_links_of_a_spine_end_at_one_spine() {
    let mut spec = spec(3, 4, 2, 8, 5);
    spec.arrangement = SpineArrangement::Unbalanced;
    let topology = spec.build().unwrap();
    // h / (g − 1) = 2 links per spine and other group.
    let found = joined(&spec, &topology, 1, 3);
    let mirrored: Vec<_> = (0..4).flat_map(|k| [(k, 3 - k); 2]).collect();
    assert_eq!(found, mirrored);
}

#[test]
fn spines_with_less_than_a_link_per_group_share_the_groups() {
    // 4 spines with 2 global links in 5 groups: 2 links per pair of groups, so
    // that each spine reaches two of the four other groups.
    let spec = spec(4, 4, 1, 2, 5);
    let topology = spec.build().unwrap();
    assert_eq!(joined(&spec, &topology, 0, 1), [(0, 1), (2, 3)]);
    assert_eq!(joined(&spec, &topology, 0, 3), [(1, 0), (3, 2)]);
}

#[test]
fn one_group_has_unconnected_global_ports() {
    let topology = spec(2, 3, 1, 2, 1).build().unwrap();
    let free = topology.peer.iter().filter(|p| **p == Peer::Unconnected);
    assert_eq!(free.count(), 6);
}

#[test]
fn numbers_that_do_not_close_are_refused_with_those_that_do() {
    let message = |spec: DragonflyPlusSpec| spec.build().unwrap_err().to_string();
    // 18 · 18 = 324 links do not divide by 7; 6 and 9 do, and 18 · 21 does.
    assert_eq!(
        message(spec(18, 18, 18, 18, 8)),
        "a dragonfly+ with spines=18 h=18 g=8 does not close: the spines·h = 324 global links of a \
         group cannot be shared evenly by its 7 other groups (2 left over); use g = 7 or 10, or h = \
         14 or 21"
    );
    let much = message(spec(2, 2, 1, 1, 4));
    assert!(much.contains("use g from 1 to 3"), "{much}");
    assert!(message(spec(2, 0, 1, 1, 2)).contains("`spines` is 0"));
    assert!(message(spec(5000, 1, 1, 1, 2)).contains("lower leaves or h"));
    assert!(message(spec(4000, 4000, 90, 90, 361)).contains("ports"));
}

#[test]
fn the_largest_sizes_are_those_of_kang_2019() {
    // Equations 1 and 2 for the 48-port routers of section 2.1: 24·24 = 576 and
    // 12·25 = 300 nodes per group.
    assert_eq!(largest_dragonfly_plus(48), 576 * 577);
    assert_eq!(largest_dragonfly(48), 300 * 301);
    // Equation 3: the ratio tends to 4 from below.
    let ratio = |radix| largest_dragonfly_plus(radix) as f64 / largest_dragonfly(radix) as f64;
    assert!(ratio(48) < ratio(480) && ratio(480) < 4.0 && ratio(4096) > 3.99);
    // The machine of half of the ports each reaches equation 1.
    let largest = spec(4, 4, 4, 4, 17).build().unwrap();
    assert_eq!(largest.nodes() as u64, largest_dragonfly_plus(8));
}

proptest! {
    #[test]
    fn leaves_and_spines_are_what_they_should_be(
        leaves in 1u32..6,
        spines in 1u32..7,
        p in 1u32..4,
        h in 1u32..9,
        which in 0usize..100,
        unbalanced in any::<bool>(),
    ) {
        let closing: Vec<u32> = (1..=spines * h)
            .filter(|others| (spines * h) % others == 0)
            .map(|others| others + 1)
            .collect();
        let g = closing[which % closing.len()];
        let mut spec = spec(leaves, spines, p, h, g);
        if unbalanced {
            spec.arrangement = SpineArrangement::Unbalanced;
        }
        // `Topology::new` has checked that links are symmetric and of their kind.
        let topology = spec.build().unwrap();
        prop_assert_eq!(topology.nodes() as u32, g * leaves * p);
        let n = spines * h / (g - 1);
        for router in 0..topology.routers() {
            let id = RouterId::from_index(router);
            let kinds = |kind| {
                let of_kind = |&port: &usize| {
                    topology.link_class(PortId::from_index(port)).kind == kind
                };
                topology.ports_of(id).filter(of_kind).count() as u32
            };
            let is_leaf = router as u32 % (leaves + spines) < leaves;
            let found = [LinkKind::Terminal, LinkKind::Local, LinkKind::Global].map(kinds);
            prop_assert_eq!(found, if is_leaf { [p, spines, 0] } else { [0, leaves, h] });
        }
        for (i, j) in [(0, 1), (0, g - 1), (g - 2, g - 1)] {
            if i == j {
                continue;
            }
            let pairs = joined(&spec, &topology, i, j);
            prop_assert_eq!(pairs.len() as u32, n);
            for spine in 0..spines {
                let ends = [pairs.iter().filter(|p| p.0 == spine).count() as u32,
                            pairs.iter().filter(|p| p.1 == spine).count() as u32];
                for links in ends {
                    prop_assert!((n / spines..=n.div_ceil(spines)).contains(&links));
                }
            }
            if !unbalanced && n <= spines {
                let mut distinct = pairs.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), pairs.len());
            }
        }
    }
}
