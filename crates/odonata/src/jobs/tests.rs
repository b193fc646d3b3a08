use super::*;
use crate::build_topology;
use crate::spec::{BisectionOrder, HaloOrder, MotifKind, Offered, Pattern, Sends};
use crate::testing::{all_to_all, motif, traffic, with_jobs};
use odonata_load::{Arrivals, Pattern as LoadPattern};
use odonata_units::RankId;
use proptest::prelude::*;

fn plan(scenario: &Scenario) -> Result<Vec<PlannedJob>, SpecError> {
    plan_jobs(scenario, &build_topology(scenario).unwrap())
}

fn error_of(jobs: impl IntoIterator<Item = Job>) -> SpecError {
    plan(&with_jobs(jobs)).map(|_| ()).unwrap_err()
}

fn open_loop(job: &PlannedJob) -> &odonata_load::OpenLoop {
    match &job.plan.load {
        JobLoad::Open(source) => source,
        JobLoad::Closed(_) => panic!("a motif"),
    }
}

#[test]
fn ranks_and_nodes_follow_from_each_other() {
    let job = |nodes, ranks, ranks_per_node| Job {
        nodes,
        ranks,
        ranks_per_node,
        ..Job::new("job", 1, all_to_all())
    };
    for (job, nodes, ranks) in [
        (job(Some(6), None, 1), 6, 6),
        (job(Some(6), None, 3), 6, 18),
        (job(None, Some(7), 3), 3, 7),
        (job(Some(6), Some(7), 3), 6, 7),
    ] {
        let planned = &plan(&with_jobs([job])).unwrap()[0];
        assert_eq!(planned.nodes.len(), nodes);
        assert_eq!(planned.plan.node_of_rank.len(), ranks);
    }
    let listed = Job {
        nodes: None,
        placement: Placement::Explicit {
            nodes: vec![9, 3, 5],
        },
        ..Job::new("job", 1, all_to_all())
    };
    let planned = &plan(&with_jobs([listed])).unwrap()[0];
    assert_eq!(planned.plan.node_of_rank, [9, 3, 5].map(NodeId));
}

#[test]
fn jobs_that_do_not_fit_say_how_many_nodes_are_free() {
    let job = |name: &str, nodes| Job::new(name, nodes, all_to_all());
    let error = error_of([job("a", 40), job("b", 30), job("c", 3)]);
    assert_eq!(error.path, "job[2].nodes");
    assert!(error.message.contains("at most 2"), "{error}");
    assert!(error.message.contains("(a, b)"), "{error}");
    let error = error_of([job("a", 73)]);
    assert!(error.message.contains("at most 72, all nodes"), "{error}");
    let many = Job {
        ranks: Some(200),
        ranks_per_node: 2,
        nodes: None,
        ..job("many", 1)
    };
    assert_eq!(error_of([many]).path, "job[0].ranks");
}

#[test]
fn mappings_are_indices_among_the_jobs_nodes() {
    let mapped = |node_of_rank: &[u32]| Job {
        placement: Placement::Explicit {
            nodes: vec![10, 20, 30],
        },
        mapping: Mapping::Explicit {
            node_of_rank: node_of_rank.to_vec(),
        },
        ..Job::new("job", 3, all_to_all())
    };
    let planned = &plan(&with_jobs([mapped(&[2, 0, 1])])).unwrap()[0];
    assert_eq!(planned.plan.node_of_rank, [30, 10, 20].map(NodeId));
    for (wrong, words) in [
        (&[0, 1, 3][..], "0 to 2"),
        (&[0, 1][..], "2"),
        (&[0, 1, 1][..], "rank 2"),
    ] {
        let error = error_of([mapped(wrong)]);
        assert_eq!(error.path, "job[0].mapping");
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn load_is_shared_by_the_ranks_of_a_node() {
    // 16 GiB/s terminals; half of that in messages of 64 B, over 4 ranks.
    let job = Job {
        ranks_per_node: 4,
        ..Job::new(
            "job",
            8,
            traffic(Pattern::UniformRandom, Offered::Load(0.5)),
        )
    };
    let planned = &plan(&with_jobs([job])).unwrap()[0];
    let expected = 64.0 * 1e12 / (0.5 * 17_179_869_184.0 / 4.0);
    let Arrivals::Poisson { mean_gap_ps } = open_loop(planned).arrivals else {
        panic!("Poisson is the default");
    };
    assert!((mean_gap_ps / expected - 1.0).abs() < 1e-12);
}

#[test]
fn rate_and_interval_are_of_a_rank() {
    for (offered, gap) in [
        (Offered::RateBytesPerS(64_000_000), 1e6),
        (Offered::IntervalPs(2_500), 2_500.0),
    ] {
        let job = Job {
            ranks_per_node: 4,
            ..Job::new("job", 8, traffic(Pattern::Tornado, offered))
        };
        let planned = &plan(&with_jobs([job])).unwrap()[0];
        let Arrivals::Poisson { mean_gap_ps } = open_loop(planned).arrivals else {
            panic!("Poisson is the default");
        };
        assert!((mean_gap_ps / gap - 1.0).abs() < 1e-12);
    }
}

#[test]
fn adversarial_blocks_are_the_groups_of_the_ranks() {
    // Groups of 8 nodes; the job has nodes of groups 1, 4 and 6.
    let nodes: Vec<u32> = (8..12).chain(32..40).chain(50..52).collect();
    let load = traffic(
        Pattern::Adversarial(crate::spec::GroupShift { k: 1 }),
        Offered::Load(0.1),
    );
    let job = Job {
        placement: Placement::Explicit { nodes },
        nodes: None,
        ..Job::new("job", 1, load)
    };
    let planned = &plan(&with_jobs([job])).unwrap()[0];
    let LoadPattern::Adversarial { blocks, shift } = &open_loop(planned).pattern else {
        panic!("adversarial");
    };
    assert_eq!((blocks.count(), *shift), (3, 1));
    let block_of: Vec<u32> = (0..14).map(|rank| blocks.of(RankId(rank))).collect();
    assert_eq!(block_of, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]);
}

#[test]
fn idle_jobs_keep_their_nodes_and_do_nothing() {
    let job = |name: &str, idle| Job {
        idle,
        placement: Placement::RandomNode,
        ..Job::new(name, 20, all_to_all())
    };
    let planned = |idle| plan(&with_jobs([job("a", idle), job("b", false)])).unwrap();
    let (idle, busy) = (planned(true), planned(false));
    for (one, other) in idle.iter().zip(&busy) {
        assert_eq!(one.nodes, other.nodes);
    }
    let bytes = |job: &PlannedJob| match &job.plan.load {
        JobLoad::Closed(program) => program.totals().map(|totals| totals.bytes.0),
        JobLoad::Open(_) => None,
    };
    assert_eq!(
        (bytes(&idle[0]), bytes(&busy[0])),
        (Some(0), Some(20 * 19 * 1_000))
    );
    assert_eq!(bytes(&idle[1]), bytes(&busy[1]));
}

#[test]
fn isolated_jobs_keep_others_out_of_their_groups() {
    // Groups of 8 nodes; 12 nodes take 2 of them.
    let placed = |name: &str, nodes, placement| Job {
        placement,
        ..Job::new(name, nodes, all_to_all())
    };
    let jobs = [
        placed("alone", 12, Placement::Isolated),
        placed("others", 56, Placement::Contiguous),
    ];
    let planned = plan(&with_jobs(jobs.clone())).unwrap();
    assert_eq!(planned[0].nodes, (0..12).map(NodeId).collect::<Vec<_>>());
    assert_eq!(planned[1].nodes, (16..72).map(NodeId).collect::<Vec<_>>());
    let [alone, others] = jobs;
    let error = error_of([placed("others", 57, Placement::Contiguous), alone]);
    assert_eq!(error.path, "job[1].placement");
    assert!(error.message.contains("the 1 of 9 groups"), "{error}");
    assert!(error.message.contains("jobs before it: others"), "{error}");
    let listed = Job {
        placement: Placement::Explicit {
            nodes: vec![15, 20],
        },
        ..others
    };
    let first = placed("alone", 12, Placement::Isolated);
    let error = error_of([
        first,
        Job {
            nodes: Some(2),
            ..listed
        },
    ]);
    assert!(error.message.contains("node 15 lies in group 1"), "{error}");
}

#[test]
fn placements_stay_in_the_groups_that_they_are_given() {
    let job = |groups: &[u32], nodes| Job {
        placement: Placement::Even,
        groups: Some(groups.to_vec()),
        ..Job::new("job", nodes, all_to_all())
    };
    // Two nodes per router: the first of each of the 4 routers of groups 0 and 2.
    let planned = &plan(&with_jobs([job(&[0, 2], 8)])).unwrap()[0];
    let expected = [0, 2, 4, 6, 16, 18, 20, 22].map(NodeId);
    assert_eq!(planned.nodes, expected);
    for (wrong, words) in [
        (job(&[0, 9], 8), "groups that have nodes: 0-8"),
        (job(&[0, 2], 17), "these have 16 free of 16"),
    ] {
        let error = error_of([wrong]);
        assert_eq!(error.path, "job[0].placement.groups");
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn the_theoretical_global_link_load_gives_interval_or_message() {
    // 90 % of 4.25 GB/s in messages of 3,825 B: one each microsecond.
    let of = |message_bytes, interval_ps, offered, pattern| {
        let traffic = spec::Traffic {
            message_bytes,
            interval_ps,
            messages: Some(7),
            ..spec::Traffic::new(pattern, 1, offered)
        };
        let mut scenario = with_jobs([Job::new("job", 16, Load::Traffic(traffic))]);
        let global = spec::Link {
            bandwidth_bytes_per_s: 4_250_000_000,
            latency_ps: 100_000,
            buffer_bytes: None,
            kind: None,
        };
        scenario.network.links.insert("global".to_owned(), global);
        plan(&scenario).map(|jobs| open_loop(&jobs[0]).clone())
    };
    let tgll = Offered::Tgll(0.9);
    let uniform = || Pattern::UniformRandom;
    let gap = |source: &odonata_load::OpenLoop| source.arrivals.mean_gap_ps();
    let source = of(Some(3_825), None, tgll, uniform()).unwrap();
    assert!((gap(&source) - 1e6).abs() < 1e-6, "{source:?}");
    assert_eq!(source.total_messages(), Some(16 * 7));
    let source = of(None, Some(2_000_000), tgll, uniform()).unwrap();
    assert_eq!((source.message, gap(&source)), (Bytes(7_650), 2e6));
    // Equation 4 counts one message of an interval, however many ranks get one.
    let to = spec::Turn::All;
    let source = of(
        Some(3_825),
        None,
        tgll,
        Pattern::GroupPeers(crate::spec::GroupPeers { to }),
    )
    .unwrap();
    assert!((gap(&source) - 1e6).abs() < 1e-6, "{source:?}");
    // A rate is all that a rank offers: here to the 15 others.
    let rate = Offered::RateBytesPerS(15_000_000_000);
    let source = of(
        Some(1_000),
        None,
        rate,
        Pattern::Broadcast(crate::spec::BroadcastTraffic { root: 3 }),
    )
    .unwrap();
    assert!((gap(&source) - 1e6).abs() < 1e-6, "{source:?}");
    for (message, interval, offered, path) in [
        (Some(1), Some(1_000), tgll, "job[0].traffic.interval"),
        (None, None, tgll, "job[0].traffic.message"),
        (None, None, Offered::IntervalPs(5), "job[0].traffic.message"),
        (
            None,
            Some(1),
            Offered::Tgll(1e-9),
            "job[0].traffic.interval",
        ),
    ] {
        let error = of(message, interval, offered, uniform()).unwrap_err();
        assert_eq!(error.path, path, "{error}");
    }
    let error = of(
        Some(1),
        None,
        tgll,
        Pattern::Broadcast(crate::spec::BroadcastTraffic { root: 16 }),
    )
    .unwrap_err();
    assert_eq!(error.path, "job[0].traffic.root", "{error}");
    // The nodes of one group have no counterparts.
    let peers = traffic(
        Pattern::GroupPeers(crate::spec::GroupPeers { to }),
        Offered::Load(0.1),
    );
    let error = error_of([Job::new("job", 8, peers)]);
    assert_eq!(error.path, "job[0].traffic.pattern", "{error}");
}

#[test]
fn a_network_of_one_group_has_no_global_link_load() {
    let load = traffic(Pattern::UniformRandom, Offered::Tgll(0.5));
    let network = crate::spec::Network::new(crate::spec::Family::Dragonfly(
        crate::spec::Dragonfly::new(2, 4, 2, 1),
    ));
    let mut scenario = Scenario::new(network);
    scenario.jobs.push(Job::new("job", 4, load));
    let error = plan(&scenario).map(|_| ()).unwrap_err();
    assert_eq!(error.path, "job[0].traffic.load");
    assert!(error.message.contains("has no global link"), "{error}");
}

#[test]
fn flaws_of_loads_name_their_key() {
    let job = |load| Job::new("job", 8, load);
    let halo = |grid: Option<Vec<u32>>| {
        motif(MotifKind::Halo(crate::spec::Halo {
            message_bytes: 100,
            dimensions: 3,
            grid,
            periodic: true,
            order: HaloOrder::Together,
            blocking: false,
        }))
    };
    let offered = Offered::Load(0.5);
    for (load, path) in [
        (halo(Some(vec![2, 3, 2])), "job[0].motif.grid"),
        (halo(Some(vec![])), "job[0].motif.grid"),
        (
            motif(MotifKind::AllToAll(crate::spec::AllToAll {
                message_bytes: 0,
                window: 1,
                sends: Sends::default(),
            })),
            "job[0].motif.message",
        ),
        (
            motif(MotifKind::Bisection(crate::spec::Bisection {
                message_bytes: 1,
                window: 0,
                sends: Sends::default(),
                order: BisectionOrder::Rotating,
            })),
            "job[0].motif.window",
        ),
        (
            motif(MotifKind::Broadcast(crate::spec::Broadcast {
                message_bytes: 1,
                root: 8,
                tree: crate::spec::Tree::Linear,
            })),
            "job[0].motif.root",
        ),
        (
            motif(MotifKind::Exchange(crate::spec::Exchange {
                message_bytes: 1,
                pattern: Pattern::Bisection,
            })),
            "job[0].motif",
        ),
        (
            traffic(Pattern::Shift(crate::spec::Shift { offset: 8 }), offered),
            "job[0].traffic.offset",
        ),
        (
            traffic(
                Pattern::GroupShift(crate::spec::GroupShift { k: 1 }),
                offered,
            ),
            "job[0].traffic.k",
        ),
        (
            traffic(
                Pattern::HotSpot(crate::spec::HotSpot {
                    hot_ranks: vec![1],
                    fraction: 1.5,
                }),
                offered,
            ),
            "job[0].traffic.fraction",
        ),
        (
            traffic(
                Pattern::HotSpot(crate::spec::HotSpot {
                    hot_ranks: vec![8],
                    fraction: 0.5,
                }),
                offered,
            ),
            "job[0].traffic.hot_ranks",
        ),
        (traffic(Pattern::Transpose, offered), "job[0].traffic"),
    ] {
        let error = error_of([job(load)]);
        assert_eq!(error.path, path, "{error}");
    }
}

proptest! {
    #[test]
    fn jobs_never_share_nodes(
        sizes in prop::collection::vec(1u32..30, 1..6),
        policies in prop::collection::vec(0usize..6, 6),
        seed: u64,
    ) {
        let placements = [
            Placement::Contiguous,
            Placement::Spread,
            Placement::RandomNode,
            Placement::RandomRouter,
            Placement::RandomGroup,
            Placement::Even,
        ];
        let mut scenario = with_jobs(sizes.iter().zip(&policies).map(|(&nodes, &policy)| Job {
            placement: placements[policy].clone(),
            mapping: Mapping::Random,
            ..Job::new(format!("job of {nodes}"), nodes, all_to_all())
        }));
        // One rank cannot exchange anything.
        scenario.jobs.retain(|job| job.nodes != Some(1));
        scenario.seed = seed;
        let total: u32 = scenario.jobs.iter().filter_map(|job| job.nodes).sum();
        match plan(&scenario) {
            Err(error) => prop_assert!(total > 72, "{error}"),
            Ok(jobs) => {
                let mut nodes: Vec<NodeId> =
                    jobs.iter().flat_map(|job| job.plan.node_of_rank.clone()).collect();
                nodes.sort_unstable();
                nodes.dedup();
                prop_assert_eq!(nodes.len(), total as usize);
            }
        }
    }
}
