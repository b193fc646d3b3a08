use super::*;
use crate::routing::testing::{
    MockRouter, dragonfly, dragonfly_plus, random_walks, ring_dragonfly,
};
use crate::verify::{Verdict, verify};
use odonata_units::{NodeId, PortId};

fn learner(options: QAdaptiveOptions) -> (Topology, QAdaptive) {
    let topology = dragonfly(2, 4, 2, 9);
    let routing = QAdaptive::new(&topology, options, None).unwrap();
    (topology, routing)
}

/// A router with a Q-table, a time, and no exploration by chance.
struct Learner {
    q_table: Vec<f32>,
    now: u64,
    feedback: Option<u32>,
    random: MockRouter,
}

impl Learner {
    fn new(routing: &QAdaptive, at: u32) -> Self {
        Self {
            q_table: routing.initial_q_table(RouterId(at)),
            now: 0,
            feedback: None,
            random: MockRouter::new(5),
        }
    }
}

impl RouterView for Learner {
    fn occupancy_bytes(&mut self, _: u16) -> u64 {
        0
    }
    fn remote_occupancy_bytes(&self, _: PortId) -> u64 {
        0
    }
    fn random_below(&mut self, bound: u32) -> u32 {
        self.random.random_below(bound)
    }
    fn now_ps(&self) -> u64 {
        self.now
    }
    fn source_node(&self) -> NodeId {
        NodeId(1)
    }
    fn q_table(&self) -> &[f32] {
        &self.q_table
    }
    fn send_feedback(&mut self, feedback: u32) {
        self.feedback = Some(feedback);
    }
}

#[test]
fn a_run_begins_with_the_times_of_an_empty_network() {
    let options = QAdaptiveOptions {
        delay_ps: 5_000,
        ..QAdaptiveOptions::default()
    };
    let (topology, routing) = learner(options);
    // Links of 10 ns: a hop takes 15 ns. Router 0 has its links to groups 1 and
    // 2 (ports 5 and 6), router 1 of the group those to 3 and 4 (ports 2, 3, 4
    // lead to routers 1, 2, 3).
    let q_table = routing.initial_q_table(RouterId(0));
    let hops = |group: u32| -> Vec<f32> {
        let row = routing.row(group, 1);
        routing
            .estimates(0, row, &q_table)
            .iter()
            .map(|ps| ps / 15_000.0)
            .collect()
    };
    assert_eq!(q_table.len(), 9 * 2 * 5);
    let direct = hops(1)[3];
    assert_eq!(direct, 1.0);
    // To router 1, which has the link to group 3.
    assert_eq!(hops(3)[0], 2.0);
    // To a router without it, which sends it on to router 1.
    assert_eq!(hops(3)[1], 3.0);
    assert!(hops(3)[3..].iter().all(|&h| (2.0..=3.0).contains(&h)));
    assert_eq!(topology.groups, 9);
}

/// 100 B take 100 ns at 1 GB/s; with a flit of 20 B the tail comes 80 ns after the head.
#[test]
fn a_hop_may_end_when_the_tail_has_come() {
    let (_, routing) = learner(QAdaptiveOptions {
        rate_down: 1.0,
        rate_up: 1.0,
        packet_bytes: 100,
        flit_bytes: 20,
        ..QAdaptiveOptions::default()
    });
    let mut q_table = routing.initial_q_table(RouterId(0));
    let row = routing.row(1, 1);
    // Latency of 10 ns and the packet's time on the direct link to group 1.
    let direct = row as usize * 5 + 3;
    assert_eq!(q_table[direct], 110_000.0);
    // 30 ns from decision to decision, which the head's arrival is.
    let feedback = Feedback { row, ps: 30_000 };
    routing.learn(RouterId(0), &mut q_table, 5, feedback.pack());
    assert!(
        (q_table[direct] - 110_000.0).abs() < 20.0,
        "{}",
        q_table[direct]
    );
    // Stored and forwarded, the tail has come before the decision.
    let (_, stored) = learner(QAdaptiveOptions {
        rate_down: 1.0,
        packet_bytes: 100,
        flit_bytes: 100,
        ..QAdaptiveOptions::default()
    });
    stored.learn(RouterId(0), &mut q_table, 5, feedback.pack());
    assert!(
        (q_table[direct] - 30_000.0).abs() < 20.0,
        "{}",
        q_table[direct]
    );
}

#[test]
fn learning_is_hysteretic() {
    let (_, routing) = learner(QAdaptiveOptions::default());
    let mut q_table = routing.initial_q_table(RouterId(0));
    let row = routing.row(3, 0);
    let place = row as usize * 5;
    q_table[place] = 20_000.0;
    // Port 2 is the first to a router. 4,000 less: 0.2 of that; then 1,000 more
    // than 19,200: 0.04 of 800.
    routing.learn(
        RouterId(0),
        &mut q_table,
        2,
        Feedback { row, ps: 16_000 }.pack(),
    );
    assert!(
        (q_table[place] - 19_200.0).abs() < 2.0,
        "{}",
        q_table[place]
    );
    routing.learn(
        RouterId(0),
        &mut q_table,
        2,
        Feedback { row, ps: 20_000 }.pack(),
    );
    assert!(
        (q_table[place] - 19_232.0).abs() < 2.0,
        "{}",
        q_table[place]
    );
    // A port to a node sends no feedback.
    let before = q_table.clone();
    routing.learn(RouterId(0), &mut q_table, 0, Feedback { row, ps: 1 }.pack());
    assert_eq!(q_table, before);
}

#[test]
fn the_source_leaves_the_minimal_port_only_for_a_much_better_one() {
    let options = QAdaptiveOptions {
        exploration: 0.0,
        ..QAdaptiveOptions::default()
    };
    let (_, routing) = learner(options);
    // From router 0 to router 4, the first of group 1: port 5 is minimal. Node
    // 1 is the second of its router.
    let row = routing.row(1, 1) as usize * 5;
    for (best, port) in [(81_000.0, 5), (79_000.0, 6)] {
        let mut learner = Learner::new(&routing, 0);
        learner.q_table[row..row + 5].copy_from_slice(&[2e5, 2e5, 2e5, 1e5, best]);
        let mut route = PacketRoute::injected(RouterId(4), 0);
        let hop = routing.next_hop(&mut learner, RouterId(0), true, &mut route);
        assert_eq!(hop, Hop { port, vc: 0 });
        assert_eq!(learner.feedback, None);
        assert_eq!(route.phase, AWAY | 1);
    }
}

#[test]
fn a_router_sends_feedback_to_the_one_before_the_hop_and_its_own_best() {
    let (_, routing) = learner(QAdaptiveOptions::default());
    let mut learner = Learner::new(&routing, 8);
    let row = routing.row(1, 1);
    let place = row as usize * 5;
    learner.q_table[place..place + 5].copy_from_slice(&[5e4, 4e4, 6e4, 9e4, 3e4]);
    learner.now = 1_024_000;
    // On its way to router 4 in group 1, at router 8 of group 2, decided 102,400
    // ps ago for a packet of the second node of its router.
    let mut route = PacketRoute {
        phase: AWAY | 1,
        intermediate: 1,
        waypoint: (1_024_000 - 102_400) >> TICK_SHIFT,
        ..PacketRoute::injected(RouterId(4), 0)
    };
    let hop = routing.next_hop(&mut learner, RouterId(8), false, &mut route);
    assert_eq!(hop.vc, 1);
    let feedback = Feedback::unpack(learner.feedback.unwrap());
    assert_eq!(feedback.row, row);
    // 102,400 + 30,000, to 12 significant bits.
    assert!(feedback.ps.abs_diff(132_400) <= 64, "{}", feedback.ps);
    // In the destination's group nothing is left to be estimated.
    let mut learner = Learner::new(&routing, 4);
    learner.now = 51_200;
    route.waypoint = 0;
    routing.next_hop(&mut learner, RouterId(4), false, &mut route);
    assert!(
        Feedback::unpack(learner.feedback.unwrap())
            .ps
            .abs_diff(51_200)
            <= 32
    );
}

#[test]
fn routes_have_at_most_five_hops_on_five_channels_without_a_cycle() {
    for topology in [
        dragonfly(2, 4, 2, 9),
        dragonfly(1, 3, 2, 4),
        dragonfly(2, 3, 1, 2),
    ] {
        let options = QAdaptiveOptions {
            exploration: 0.3,
            ..QAdaptiveOptions::default()
        };
        let routing = QAdaptive::new(&topology, options, None).unwrap();
        assert_eq!(routing.virtual_channels(), 5);
        let verdict = verify(&topology, &routing).unwrap();
        let Verdict::DeadlockFree { longest_route, .. } = verdict else {
            panic!("{verdict}");
        };
        assert!(longest_route <= 5, "{longest_route}");
        for steps in random_walks(&topology, &routing, 3, 1000) {
            assert!(steps.len() as u32 <= longest_route);
        }
    }
}

#[test]
fn other_networks_and_wrong_options_are_refused() {
    let default = QAdaptiveOptions::default();
    for topology in [ring_dragonfly(1, 4, 1, 4), dragonfly_plus(2, 2, 1, 2, 5)] {
        let error = QAdaptive::new(&topology, default, None).unwrap_err();
        assert!(error.to_string().contains("all-to-all"), "{error}");
    }
    let topology = dragonfly(1, 2, 1, 3);
    for (options, option) in [
        (
            QAdaptiveOptions {
                rate_up: 0.0,
                ..default
            },
            "rate_up",
        ),
        (
            QAdaptiveOptions {
                exploration: 1.5,
                ..default
            },
            "exploration",
        ),
        (
            QAdaptiveOptions {
                source_threshold: f64::NAN,
                ..default
            },
            "source_threshold",
        ),
    ] {
        let error = QAdaptive::new(&topology, options, None).unwrap_err();
        assert!(error.to_string().contains(option), "{error}");
    }
}
