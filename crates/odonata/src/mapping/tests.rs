use odonata_network::LinkKind;

use super::costs::*;
use super::*;
use crate::spec::{self, Job, Mapping, Offered, Placement, Scenario};
use crate::testing::{all_to_all, motif, traffic, with_jobs};

fn halo(grid: &[u32]) -> Load {
    motif(MotifKind::Halo(crate::spec::Halo {
        message_bytes: 1_000,
        dimensions: 3,
        grid: Some(grid.to_vec()),
        periodic: true,
        order: spec::HaloOrder::Together,
        blocking: false,
    }))
}

fn fitted(start: MappingStart, refine: Option<MappingObjective>) -> Mapping {
    Mapping::Fitted {
        start,
        refine,
        matrix: None,
    }
}

/// The stencil of 144 ranks on all of the 72 nodes, two to each.
fn stencil(mapping: Mapping, placement: Placement) -> Scenario {
    with_jobs([Job {
        ranks_per_node: 2,
        mapping,
        placement,
        ..Job::new("stencil", 72, halo(&[4, 6, 6]))
    }])
}

fn cost(scenario: &Scenario) -> MappingCost {
    mapping_costs(scenario, None).unwrap().jobs.remove(0)
}

#[test]
fn figures_of_a_mapping_add_up() {
    let found = cost(&stencil(Mapping::Linear, Placement::Contiguous));
    // 144 ranks send 1 kB to each of 6 neighbours in every iteration.
    assert_eq!(found.bytes, 144.0 * 6_000.0);
    assert!(found.per_iteration);
    assert_eq!(found.nodes, 72);
    // Rank 2n and 2n+1 share node n: along the first dimension (extent 4, fastest)
    // each rank has one of its two neighbours in its node.
    assert_eq!(found.bytes_in_node, 144.0 * 1_000.0);
    // Every node sends 10 kB that leave it over a link of 16 GiB/s.
    let terminal = &found.busiest[&LinkKind::Terminal];
    let expected = 10_000.0 * 1e9 / 17_179_869_184.0;
    assert!((terminal.0 - expected).abs() < 1e-6, "{terminal:?}");
}

#[test]
fn all_to_all_loads_links_alike_wherever_ranks_sit() {
    // From every router to every other go 4 messages of 1 kB (2 nodes each), over
    // at most one global link: between two groups of 4 routers, 64 messages.
    let job = |mapping| Job {
        mapping,
        ..Job::new("job", 72, all_to_all())
    };
    for mapping in [Mapping::Linear, Mapping::Random] {
        let found = cost(&with_jobs([job(mapping)]));
        let global = found.busiest[&LinkKind::Global].0;
        let global_ns = 1e9
            / crate::build_topology(&with_jobs([])).unwrap().link_classes[2]
                .bandwidth
                .bytes_per_second() as f64;
        assert!((global - 64_000.0 * global_ns).abs() < 1e-3, "{global}");
    }
}

#[test]
fn graph_bisection_beats_linear_and_random_for_a_stencil() {
    for placement in [Placement::Contiguous, Placement::RandomNode] {
        let of = |mapping| cost(&stencil(mapping, placement.clone()));
        let linear = of(Mapping::Linear);
        let random = of(Mapping::Random);
        let bisected = of(fitted(MappingStart::GraphBisection, None));
        let refined = of(fitted(
            MappingStart::GraphBisection,
            Some(MappingObjective::HopBytes),
        ));
        assert!(bisected.hop_bytes < 0.75 * random.hop_bytes);
        assert!(refined.link_time_ns <= bisected.link_time_ns);
        if placement == Placement::RandomNode {
            assert!(bisected.hop_bytes < 0.9 * linear.hop_bytes);
        }
    }
}

#[test]
fn greedy_and_spreading_do_what_they_say() {
    let of = |mapping| cost(&stencil(mapping, Placement::RandomNode));
    let random = of(Mapping::Random);
    let greedy = of(fitted(MappingStart::Greedy, None));
    assert!(greedy.link_time_ns < 0.8 * random.link_time_ns);
    let even = of(fitted(
        MappingStart::Random,
        Some(MappingObjective::LinkLoad),
    ));
    assert!(even.busiest[&LinkKind::Global].0 < random.busiest[&LinkKind::Global].0);
}

#[test]
fn seeds_decide_and_nothing_else() {
    let mut scenario = stencil(
        fitted(
            MappingStart::GraphBisection,
            Some(MappingObjective::HopBytes),
        ),
        Placement::Spread,
    );
    let first = cost(&scenario).node_of_rank;
    assert_eq!(first, cost(&scenario).node_of_rank);
    // Every node has two ranks.
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert!((0..72).flat_map(|node| [node, node]).eq(sorted));
    scenario.seed += 1;
    assert_ne!(first, cost(&scenario).node_of_rank);
}

#[test]
fn traffic_is_drawn() {
    let load = traffic(
        Pattern::Stencil(crate::spec::Stencil {
            grid: Some(vec![6, 12]),
            dimensions: None,
            periodic: true,
            to: spec::Turn::Random,
        }),
        Offered::Load(0.1),
    );
    let job = |mapping| Job {
        mapping,
        ..Job::new("job", 72, load.clone())
    };
    let random = cost(&with_jobs([job(Mapping::Random)]));
    let bisected = cost(&with_jobs([job(fitted(
        MappingStart::GraphBisection,
        None,
    ))]));
    assert!(!bisected.per_iteration);
    assert!(bisected.hop_bytes < 0.8 * random.hop_bytes);
}

#[test]
fn what_cannot_be_fitted_says_what_to_do() {
    let job = |load, mapping| Job {
        mapping,
        ..Job::new("job", 72, load)
    };
    let adversarial = traffic(
        Pattern::Adversarial(crate::spec::GroupShift { k: 1 }),
        Offered::Load(0.1),
    );
    let mapping = fitted(MappingStart::GraphBisection, None);
    let error = mapping_costs(&with_jobs([job(adversarial, mapping)]), None).unwrap_err();
    assert_eq!(error.path, "job[0].mapping");
    assert!(error.message.contains("communication matrix"), "{error}");
    let missing = Mapping::Fitted {
        start: MappingStart::Greedy,
        refine: None,
        matrix: Some("no such file".into()),
    };
    let error = mapping_costs(&with_jobs([job(all_to_all(), missing)]), None).unwrap_err();
    assert_eq!(error.path, "job[0].mapping.matrix");
}

#[test]
fn what_is_known_of_routes_changes_no_cost() {
    let known = KnownRoutes::default();
    // Two placements, so that two networks are known, each asked for by several mappings.
    for placement in [Placement::Contiguous, Placement::RandomNode] {
        for (start, refine) in [
            (MappingStart::Linear, Some(MappingObjective::LinkLoad)),
            (MappingStart::Greedy, None),
            (MappingStart::Greedy, Some(MappingObjective::HopBytes)),
            (
                MappingStart::GraphBisection,
                Some(MappingObjective::LinkLoad),
            ),
        ] {
            let scenario = stencil(fitted(start, refine), placement.clone());
            let alone = mapping_costs(&scenario, None).unwrap();
            assert_eq!(mapping_costs(&scenario, Some(&known)).unwrap(), alone);
        }
    }
    assert_eq!(lock(&known.known).len(), 2);
}
