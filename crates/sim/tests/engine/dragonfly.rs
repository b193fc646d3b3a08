//! Saturation throughput of a dragonfly against the bounds of its channel loads
//! (Kim, Dally, Scott, Abts, ISCA 2008, sections 3 and 4).
//!
//! p = 2, a = 4, h = 2, g = 9: 72 nodes, one link per pair of groups, so that
//! a group of a·p = 8 nodes has 8 global links.

use std::sync::{Arc, OnceLock};

use odonata_load::{Blocks, Pattern, Process};
use odonata_network::Topology;
use odonata_network::routing::{AdaptiveOptions, Algorithm, RoutingSpec, Via};
use odonata_run::MessageRecords;
use odonata_units::Picoseconds;

use crate::support::{
    MINIMAL, RATE, assert_conserved, config, dragonfly, job, measure, open, simulate, uniform_links,
};

fn topology(p: u32, a: u32, h: u32, g: u32) -> Topology {
    // Buffers of 64 packets are several round trips.
    let mut links = uniform_links(RATE, 10_000, 64 * 256);
    links.global.latency = Picoseconds(100_000);
    dragonfly(p, a, h, g, links)
}

/// Throughput per node, as a share of its link, under an offered load.
fn accepted(topology: &Topology, routing: &RoutingSpec, pattern: Pattern, offered: f64) -> f64 {
    let nodes = topology.nodes() as u32;
    let rate = RATE as f64 * offered;
    let load = open(pattern, 256, rate, Process::Poisson, nodes);
    let jobs = [job("all", 0..nodes, load)];
    let (warmup, end) = (20_000_000, 60_000_000);
    let measurement = measure(warmup, end, MessageRecords::None);
    let outcome = simulate(topology, routing, &config(), &jobs, &measurement).unwrap();
    assert_conserved(&outcome);
    let capacity = RATE as f64 * (end - warmup) as f64 * 1e-12 * f64::from(nodes);
    outcome.jobs[0].bytes_delivered_measured as f64 / capacity
}

/// ADV+k: every node sends to random nodes of the k-th next group.
fn adversarial(topology: &Topology, k: i64) -> Pattern {
    let group = |node: u32| topology.group_of_node(odonata_units::NodeId(node)).0;
    let groups: Vec<u32> = (0..topology.nodes() as u32).map(group).collect();
    Pattern::adversarial(Arc::new(Blocks::new(&groups)), k).unwrap()
}

fn valiant() -> RoutingSpec {
    RoutingSpec::new(Algorithm::Valiant { via: Via::Group })
}

/// The largest accepted load over loads beyond the bound.
fn adversarial_saturation(routing: &RoutingSpec) -> f64 {
    let topology = topology(2, 4, 2, 9);
    accepted(&topology, routing, adversarial(&topology, 1), 0.6)
}

fn valiant_saturation() -> f64 {
    static FOUND: OnceLock<f64> = OnceLock::new();
    *FOUND.get_or_init(|| adversarial_saturation(&valiant()))
}

/// All a·p nodes of a group share the links to the next one: with l links per
/// pair of groups each gets l / (a·p).
#[test]
fn adversarial_traffic_saturates_minimal_routing_at_its_global_links() {
    let one = topology(2, 4, 2, 9);
    let found = accepted(&one, &MINIMAL, adversarial(&one, 1), 0.5);
    assert!((found * 8.0 - 1.0).abs() < 0.05, "{found}, bound 1/8");
    // Five groups have two links per pair.
    let two = topology(2, 4, 2, 5);
    let found = accepted(&two, &MINIMAL, adversarial(&two, 1), 0.6);
    assert!((found * 4.0 - 1.0).abs() < 0.05, "{found}, bound 2/8");
    // Below saturation all that is offered arrives.
    let found = accepted(&one, &MINIMAL, adversarial(&one, 1), 0.1);
    assert!((found / 0.1 - 1.0).abs() < 0.02, "{found} of 0.1");
}

/// Valiant's routes cross two global links. A group's 8 nodes at load λ put
/// 8 λ / (g - 2) on the link to each possible intermediate group, and as much
/// traffic of others passes through this group onto each link, so that a link
/// carries 16 λ / (g - 2) and λ is at most (g - 2) / 16 = 7/16: near 1/2, which
/// is the limit for many groups. (The link to the next group carries nothing.)
#[test]
fn valiant_comes_near_one_half() {
    let found = valiant_saturation();
    assert!(
        (found / (7.0 / 16.0) - 1.0).abs() < 0.05,
        "{found}, bound 7/16"
    );
}

/// UGAL-L mixes both: better than minimal routing's 1/8 by far. It may use the
/// direct link as well, so that its bound is above Valiant's, but it decides by
/// the queues of its own router, which fill late.
#[test]
fn ugal_lies_between() {
    let ugal = RoutingSpec::new(Algorithm::UgalLocal(AdaptiveOptions::default()));
    let found = adversarial_saturation(&ugal);
    assert!(found > 0.25, "{found}");
    // All links used: 8 λ = m + 7 (x), where the direct link carries m and the
    // other 7 carry two hops of 8 λ - m: λ at most (7/2 + 1) / 8.
    assert!(found < 4.5 / 8.0, "{found}");
}

/// Uniform traffic loads no link of a balanced dragonfly more than the nodes'.
#[test]
fn uniform_traffic_saturates_minimal_routing_near_one() {
    let topology = topology(2, 4, 2, 9);
    let found = accepted(&topology, &MINIMAL, Pattern::UniformRandom, 1.0);
    assert!(found > 0.9, "{found}");
    let found = accepted(&topology, &valiant(), Pattern::UniformRandom, 0.8);
    // Two global hops for the 64 of 71 destinations in other groups.
    let bound = 71.0 / 128.0;
    assert!((found / bound - 1.0).abs() < 0.05, "{found}, bound {bound}");
}
