use super::*;
use crate::topology::testing::{any_topology, dragonfly_links};
use crate::topology::{Arrangement, DragonflySpec, GroupWiring, edge_list};
use odonata_units::Bandwidth;
use proptest::prelude::*;

fn dragonfly(a: u32, h: u32, g: u32, arrangement: Arrangement) -> Topology {
    DragonflySpec {
        p: 2,
        a,
        h,
        g,
        arrangement,
        group: GroupWiring::AllToAll,
        links: dragonfly_links(),
    }
    .build()
    .unwrap()
}

/// The least cut of all halvings that are as balanced as the estimate may be.
fn exact(graph: &Graph) -> u64 {
    let routers = graph.vertices();
    let balance = Balance::halves(graph);
    let mut least = u64::MAX;
    // The last router stays in the first half: the others need not be mirrored.
    for halves in 0u32..1 << (routers - 1) {
        let second = |router: usize| halves >> router & 1 == 1;
        let surplus: i64 = (0..routers)
            .map(|r| i64::from(graph.sizes()[r]) * if second(r) { -1 } else { 1 })
            .sum();
        if surplus.unsigned_abs() > balance.tolerance() {
            continue;
        }
        let cut = (0..routers)
            .filter(|&router| !second(router))
            .flat_map(|router| graph.edges(router))
            .filter(|&(other, _)| second(other))
            .map(|(_, bandwidth)| bandwidth)
            .sum();
        least = least.min(cut);
    }
    least
}

/// Checks that the halves of an estimate are what it says.
fn check_consistent(graph: &Graph, found: &Bisection) {
    let surplus: i64 = (0..graph.vertices())
        .map(|r| i64::from(graph.sizes()[r]) * if found.second_half[r] { -1 } else { 1 })
        .sum();
    assert_eq!(surplus.unsigned_abs(), found.imbalance_nodes);
    assert!(surplus.unsigned_abs() <= Balance::halves(graph).tolerance());
    let cut: u64 = (0..graph.vertices())
        .filter(|&router| found.second_half[router])
        .flat_map(|router| graph.edges(router))
        .filter(|&(other, _)| !found.second_half[other])
        .map(|(_, bandwidth)| bandwidth)
        .sum();
    assert_eq!(cut, found.bandwidth_bytes_per_s);
}

#[test]
fn one_group_is_a_complete_graph() {
    // Halves of 4 and 4 of 8 routers: 16 of the links of 1 GB/s lie between.
    let found = Bisection::estimate(&dragonfly(8, 0, 1, Arrangement::Absolute));
    assert_eq!(found.bandwidth_bytes_per_s, 16_000_000_000);
    // 3 and 4 of 7: 12 links; the halves differ by the 2 nodes of one router.
    let found = Bisection::estimate(&dragonfly(7, 0, 1, Arrangement::Absolute));
    assert_eq!(found.bandwidth_bytes_per_s, 12_000_000_000);
    assert_eq!(found.imbalance_nodes, 2);
}

#[test]
fn improvement_finds_the_exact_minimum_of_small_dragonflies() {
    for (a, h, g) in [
        (2, 1, 3),
        (2, 2, 5),
        (3, 1, 4),
        (4, 1, 4),
        (3, 2, 6),
        (4, 2, 4),
    ] {
        for arrangement in [
            Arrangement::Absolute,
            Arrangement::Relative,
            Arrangement::Circulant,
        ] {
            for global in [500_000_000, 1_000_000_000, 4_000_000_000] {
                let mut topology = dragonfly(a, h, g, arrangement.clone());
                topology.link_classes[2].bandwidth = Bandwidth::new(global).unwrap();
                let graph = topology.router_weights();
                let found = Bisection::by_improvement(&graph, &topology.group_of_router);
                check_consistent(&graph, &found);
                assert_eq!(
                    found.bandwidth_bytes_per_s,
                    exact(&graph),
                    "a={a} h={h} g={g} {arrangement:?} global {global} B/s"
                );
            }
        }
    }
}

#[test]
fn thin_links_are_cut_wherever_they_are() {
    // Two all-to-all sets of four routers, even and odd numbers, one link
    // between them, all in one group: groups and numbers do not help.
    let mut list = String::from("class t terminal 1000 1 1\nclass l local 1000 1 1\n");
    list.push_str("routers 0 7 group 0\n");
    for router in 0..8 {
        list.push_str(&format!("nodes 3 {router}\n"));
        for other in (router + 2..8).step_by(2) {
            list.push_str(&format!("link {router} {other}\n"));
        }
    }
    list.push_str("link 0 1\n");
    let topology = edge_list::import(&list, &[]).unwrap();
    assert_eq!(Bisection::estimate(&topology).bandwidth_bytes_per_s, 1000);
}

#[test]
fn routers_without_nodes_go_where_they_cut_least() {
    // A two-level tree: 4 leaves of 2 nodes, each linked to 2 spines. Whatever
    // the halves, each spine has 2 leaves in the other one: 4 links are cut.
    let mut list = String::from("class t terminal 1000 1 1\nclass l local 1000 1 1\n");
    list.push_str("routers 0 5 group 0\n");
    for leaf in 0..4 {
        list.push_str(&format!("nodes 2 {leaf}\nlink {leaf} 4\nlink {leaf} 5\n"));
    }
    let topology = edge_list::import(&list, &[]).unwrap();
    let found = Bisection::estimate(&topology);
    assert_eq!(
        (found.bandwidth_bytes_per_s, found.imbalance_nodes),
        (4000, 0)
    );
}

proptest! {
    #[test]
    fn small_networks_get_the_exact_minimum(topology in any_topology()) {
        let graph = topology.router_weights();
        let found = Bisection::estimate(&topology);
        check_consistent(&graph, &found);
        let least = exact(&graph);
        prop_assert_eq!(found.bandwidth_bytes_per_s, least);
        prop_assert!(found.is_exact);
        let improved = Bisection::by_improvement(&graph, &topology.group_of_router);
        check_consistent(&graph, &improved);
        prop_assert!(improved.bandwidth_bytes_per_s >= least);
    }
}

/// Hastings et al. (CLUSTER 2015), as cited by Kaplan et al. (2017, section
/// IV.A): with α = global/local bandwidth, absolute falls behind the other two
/// above α = 1.25, circulant is ahead between 1.25 and 4, and level with relative
/// at 4. The machine is that of Kaplan's figure 2, g = 9, a = 4, h = 2.
#[test]
fn arrangements_rank_as_published() {
    let estimate = |arrangement: Arrangement, percent: u64| {
        let mut topology = dragonfly(4, 2, 9, arrangement);
        topology.link_classes[2].bandwidth = Bandwidth::new(percent * 10_000_000).unwrap();
        Bisection::estimate(&topology).bandwidth_bytes_per_s
    };
    let all = |percent: u64| {
        [
            Arrangement::Absolute,
            Arrangement::Relative,
            Arrangement::Circulant,
        ]
        .map(|arrangement| estimate(arrangement, percent))
    };
    for percent in [50, 100, 125] {
        let [absolute, relative, circulant] = all(percent);
        assert!(
            absolute == relative && relative == circulant,
            "{percent} %: {absolute} {relative} {circulant}"
        );
    }
    for percent in [150, 200, 300] {
        let [absolute, relative, circulant] = all(percent);
        assert!(
            absolute < relative && relative < circulant,
            "{percent} %: {absolute} {relative} {circulant}"
        );
    }
    let [absolute, relative, circulant] = all(400);
    assert!(
        absolute < relative && relative == circulant,
        "{absolute} {relative} {circulant}"
    );
}
