//! Congestion control of interfaces against closed forms: a lone flow is untouched, flows that
//! share a port get equal shares, and an incast leaves others alone.

use odonata_load::Operation;
use odonata_network::Topology;
use odonata_network::topology::edge_list;
use odonata_run::{
    CongestionControl, EcnKeys, EngineConfig, HpccKeys, InfinibandKeys, JobPlan, MessageRecords,
    Outcome, SlingshotKeys, WindowKeys,
};

use crate::support::{
    Listed, RATE, SHORTEST, TO_THE_END, config, delivered, flow, job, measure, receive, send,
    simulate,
};

/// Nodes 0 to 9 on one router and 10, 11 on another. The link between them is never the bottleneck;
/// its buffer is one for all.
fn network() -> Topology {
    let fast = 16 * RATE;
    let text = format!(
        "class terminal terminal {RATE} 10000 65536\nclass local local {fast} 10000 1048576\n\
         routers 0 1 group 0\nnodes 10 0\nnodes 2 1\nlink 0 1 local\n"
    );
    edge_list::import(&text, &[]).expect("two routers")
}

fn with(scheme: CongestionControl) -> EngineConfig {
    let mut config = config();
    config.nic.congestion_control = scheme;
    config
}

/// The schemes, with parameters for a network of 2 kB per round trip, and by how much shares and
/// the use of a port may be off, in percent: windows are exact; rates swing about what is fair, those
/// of `ecn` by a part of each cut, those of `infiniband` by the steps of 1 / (1 + i).
fn schemes() -> [(CongestionControl, f64); 4] {
    let window = WindowKeys {
        window_bytes: 4_096,
    };
    let ecn = EcnKeys {
        mark_from_bytes: 2_000,
        mark_all_bytes: 20_000,
        mark_probability: 0.1,
        notification_interval_ps: 5_000_000,
        decay_interval_ps: 5_500_000,
        increase_interval_ps: 5_500_000,
        increase_bytes: 100_000,
        additive_increase_bytes_per_s: 20_000_000,
        hyper_increase_bytes_per_s: 20_000_000,
        ..EcnKeys::default()
    };
    let infiniband = InfinibandKeys {
        index_timer_ps: 4_000_000,
        ..InfinibandKeys::default()
    };
    let slingshot = SlingshotKeys {
        hold_from_bytes: 8_192,
        shared_queue_bytes: 8_192,
        forget_after_ps: 10_000_000,
    };
    [
        (CongestionControl::Window(window), 1.0),
        (CongestionControl::Ecn(ecn), 20.0),
        (CongestionControl::Infiniband(infiniband), 25.0),
        (CongestionControl::Slingshot(slingshot), 1.0),
    ]
}

fn run(scheme: &CongestionControl, jobs: &[JobPlan]) -> Outcome {
    let measurement = measure(1_000_000_000, 3_000_000_000, MessageRecords::None);
    let outcome = simulate(
        &network(),
        &SHORTEST,
        &with(scheme.clone()),
        jobs,
        &measurement,
    );
    outcome.expect("a run")
}

/// What each flow got, as a share of a node's link.
fn shares(outcome: &Outcome) -> Vec<f64> {
    let capacity = RATE as f64 * 2e-3;
    let delivered = delivered(outcome).into_iter();
    delivered.map(|bytes| bytes as f64 / capacity).collect()
}

#[test]
fn a_lone_flow_is_untouched() {
    let time = |scheme: &CongestionControl| {
        let (jobs, config) = ([flow(0, 10, 1_000_000)], with(scheme.clone()));
        let outcome = simulate(&network(), &SHORTEST, &config, &jobs, &TO_THE_END);
        let outcome = outcome.expect("a run");
        assert_eq!(outcome.held_pairs, []);
        outcome.jobs[0].end
    };
    for (scheme, _) in schemes() {
        assert_eq!(time(&scheme), time(&CongestionControl::None), "{scheme:?}");
    }
}

/// A window of one packet: 32 ns of sending, three links of 10 ns, two routers of 40 ns and a flit
/// of 1 ns (the local one is sixteen times as fast: 62 ps) until its tail has arrived; then the
/// acknowledgement, over three links and through two routers.
#[test]
fn a_window_is_sent_once_per_round_trip() {
    let window = WindowKeys { window_bytes: 1 };
    let config = with(CongestionControl::Window(window));
    let time = |packets: u64| {
        let jobs = [flow(0, 10, packets * 256)];
        let outcome = simulate(&network(), &SHORTEST, &config, &jobs, &TO_THE_END);
        outcome.expect("a run").jobs[0].end.expect("an end").0
    };
    let one_way = time(1);
    let back = 3 * 10_000 + 2 * 40_000;
    assert_eq!(time(1_001) - one_way, 1_000 * (one_way + back));
}

#[test]
fn two_flows_through_a_port_get_half_each() {
    for (mut scheme, off) in schemes() {
        if let CongestionControl::Infiniband(keys) = &mut scheme {
            // The indices of two are to swing between 0 and 1 or 2. Marks of all packets that wait
            // when the first is noticed, some 60, would raise them to 30 each, and the shares of a
            // sawtooth from there, the mean of 1 / (1 + i), would be 13 %.
            (keys.marking_rate, keys.index_timer_ps) = (31, 8_000_000);
        }
        let endless = 100_000_000;
        let shares = shares(&run(&scheme, &[flow(0, 10, endless), flow(1, 10, endless)]));
        for share in &shares {
            assert!(
                (share / 0.5 - 1.0).abs() < off / 100.0,
                "{scheme:?}: {shares:?}"
            );
        }
    }
}

/// Eight senders to one node, and one to another over the same link between routers, whose buffer
/// the eight fill when nothing holds them back.
#[test]
fn an_incast_is_shared_and_leaves_others_alone() {
    let endless = 100_000_000;
    let mut jobs: Vec<JobPlan> = (0..8).map(|from| flow(from, 10, endless)).collect();
    jobs.push(flow(8, 11, endless));
    let free = shares(&run(&CongestionControl::None, &jobs));
    assert!(free[8] < 0.5, "the victim has {}", free[8]);
    for (scheme, off) in schemes() {
        let outcome = run(&scheme, &jobs);
        let shares = shares(&outcome);
        assert!(shares[8] > 0.99, "{scheme:?}: the victim has {}", shares[8]);
        let total: f64 = shares[..8].iter().sum();
        assert!(total > 1.0 - off / 100.0, "{scheme:?}: {total} of the port");
        for share in &shares[..8] {
            let share = share / total * 8.0;
            assert!((share - 1.0).abs() < off / 100.0, "{scheme:?}: {shares:?}");
        }
        let held = outcome.held_pairs.iter();
        // Marks may meet a packet of the victim as well, which is then held back for a while.
        let held: Vec<u32> = held
            .filter(|pair| pair.held_bytes > 0 && pair.destination.0 == 10)
            .map(|pair| pair.source.0)
            .collect();
        assert_eq!(held, (0..8).collect::<Vec<_>>(), "{scheme:?}");
    }
}

/// HPCC keeps the busiest link of a way at its target, which is the paper's: a lone flow has 95 %,
/// two through a port half of that each, and an incast leaves the victim what it asks.
#[test]
fn loads_are_kept_at_the_target_of_hpcc() {
    // A packet and its acknowledgement take 0.3 us.
    let keys = HpccKeys {
        base_round_trip_ps: 400_000,
        ..HpccKeys::default()
    };
    let target = keys.target_load;
    let scheme = CongestionControl::Hpcc(keys);
    let endless = 100_000_000;
    let near = |share: f64, of: f64, off: f64| (share / of - 1.0).abs() < off;
    let lone = shares(&run(&scheme, &[flow(0, 10, endless)]));
    assert!(near(lone[0], target, 0.03), "{lone:?}");
    let two = shares(&run(&scheme, &[flow(0, 10, endless), flow(1, 10, endless)]));
    assert!(near(two[0] + two[1], target, 0.05), "{two:?}");
    assert!(near(two[0], two[1], 0.05), "{two:?}");
    let mut jobs: Vec<JobPlan> = (0..8).map(|from| flow(from, 10, endless)).collect();
    jobs.push(flow(8, 11, endless));
    let outcome = run(&scheme, &jobs);
    let all = shares(&outcome);
    let total: f64 = all[..8].iter().sum();
    assert!(near(total, target, 0.1), "{all:?}");
    assert!(
        all[..8].iter().all(|&share| near(share, total / 8.0, 0.1)),
        "{all:?}"
    );
    assert!(near(all[8], target, 0.03), "{all:?}");
}

/// A message to a node whose senders are held back does not hold up others of its sender.
#[test]
fn messages_to_others_pass_those_that_are_held_back() {
    for (scheme, _) in schemes() {
        // Node 9 sends to the crowded node 10 and to 11, eight others to 10 alone.
        let both = Listed::load(vec![
            vec![
                send(1, 100_000_000),
                send(2, 100_000_000),
                Operation::WaitAll,
            ],
            vec![receive(0), Operation::WaitAll],
            vec![receive(0), Operation::WaitAll],
        ]);
        let mut jobs: Vec<JobPlan> = (0..8).map(|from| flow(from, 10, 100_000_000)).collect();
        jobs.push(job("both", [9, 10, 11], both));
        let outcome = run(&scheme, &jobs);
        let shares = shares(&outcome);
        // A ninth to the crowded node, all else of its link to the other.
        assert!(shares[8] > 0.95, "{scheme:?}: {}", shares[8]);
    }
}
