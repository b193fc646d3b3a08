//! Traffic classes against closed forms: what each gets of a link that all want.

use odonata_load::{Operation, Pattern, Process};
use odonata_network::Topology;
use odonata_network::topology::edge_list;
use odonata_run::{
    ClassBytes, ClassRule, CongestionControl, CreditUse, Crossbar, CrossbarRate, EngineConfig,
    InjectionOrder, JobClasses, JobPlan, MessageRecords, Parameter, Protocol, SimError,
    TrafficClass, WindowKeys,
};
use odonata_units::Bytes;

use crate::support::{
    Listed, RATE, SHORTEST, TO_THE_END, config, delivered, flow, job, measure, messages, open,
    receive, send, simulate,
};

/// Nodes 0 to 7 on one router and 8 to 11 on another, by one link as fast as a node's.
fn network() -> Topology {
    let text = format!(
        "class terminal terminal {RATE} 10000 65536\nclass local local {RATE} 10000 65536\n\
         routers 0 1 group 0\nnodes 8 0\nnodes 4 1\nlink 0 1 local\n"
    );
    edge_list::import(&text, &[]).expect("two routers")
}

/// A class: shares in percent, priority, weight.
fn class(name: &str, guaranteed: u32, largest: u32, priority: u32, weight: u32) -> TrafficClass {
    TrafficClass {
        guaranteed: f64::from(guaranteed) / 100.0,
        largest: f64::from(largest) / 100.0,
        priority,
        weight,
        ..TrafficClass::new(name)
    }
}

fn of_class(class: u8, plan: JobPlan) -> JobPlan {
    JobPlan {
        classes: JobClasses::all(class),
        ..plan
    }
}

/// Both routers that classes work behind.
fn models(classes: &[TrafficClass]) -> Vec<EngineConfig> {
    let model = |credit_use| {
        let mut config = config();
        config.router.credit_use = credit_use;
        config.classes = classes.to_vec();
        config
    };
    vec![model(CreditUse::Link), model(CreditUse::Crossbar)]
}

/// The share of a node's link that each job gets over 2 ms, after 1 ms.
fn shares(config: &EngineConfig, jobs: &[JobPlan]) -> Vec<f64> {
    let measurement = measure(1_000_000_000, 3_000_000_000, MessageRecords::None);
    let outcome = simulate(&network(), &SHORTEST, config, jobs, &measurement).expect("a run");
    let capacity = RATE as f64 * 2e-3;
    let delivered = delivered(&outcome).into_iter();
    delivered.map(|bytes| bytes as f64 / capacity).collect()
}

/// Within one percent of what they are to be.
fn assert_shares(classes: &[TrafficClass], jobs: &[JobPlan], expected: &[f64]) {
    for config in models(classes) {
        let found = shares(&config, jobs);
        for (found_one, expected_one) in found.iter().zip(expected) {
            let off = (found_one - expected_one).abs();
            let credit_use = config.router.credit_use;
            assert!(
                off <= 0.01 * expected_one + 1e-4,
                "{found:?}, not {expected:?} ({credit_use:?})"
            );
        }
    }
}

/// More than fits through any link in 3 ms, from a node each to one node: over the link between the
/// routers, or by a node's own.
fn incast(to: u32) -> Vec<JobPlan> {
    let from = |class: u8| of_class(class, flow(u32::from(class), to, 100_000_000));
    (0..3).map(from).collect()
}

/// The same from one node to three others.
fn fan_out() -> Vec<JobPlan> {
    let to = |class: u8| of_class(class, flow(0, 8 + u32::from(class), 100_000_000));
    (0..3).map(to).collect()
}

/// Half and a fifth are guaranteed, the rest is shared by weights: 0.5 + 0.3 · 1/6, 0.2 + 0.3 · 2/6,
/// 0.3 · 3/6.
#[test]
fn a_class_gets_its_guaranteed_share_and_its_part_of_the_rest() {
    let classes = [
        class("a", 50, 100, 0, 1),
        class("b", 20, 100, 0, 2),
        class("c", 0, 100, 0, 3),
    ];
    for jobs in [incast(7), incast(11), fan_out()] {
        assert_shares(&classes, &jobs, &[0.55, 0.30, 0.15]);
    }
}

#[test]
fn all_may_be_guaranteed() {
    let classes = [
        class("a", 55, 100, 0, 1),
        class("b", 30, 100, 0, 1),
        class("c", 15, 100, 0, 1),
    ];
    for jobs in [incast(7), incast(11), fan_out()] {
        assert_shares(&classes, &jobs, &[0.55, 0.30, 0.15]);
    }
}

/// Shares are of bytes: packets of the first class are 256 bytes long, of the second 64.
#[test]
fn weights_share_bytes_not_packets() {
    let classes = [class("a", 0, 100, 0, 1), class("b", 0, 100, 0, 4)];
    let jobs = [
        of_class(0, flow(0, 7, 100_000_000)),
        of_class(1, messages(1, 7, 500_000, 64)),
    ];
    assert_shares(&classes, &jobs, &[0.2, 0.8]);
}

/// 40 % of the link is offered in the higher class: it gets all of it, the lower one the rest.
#[test]
fn a_class_of_higher_priority_gets_all_that_it_asks() {
    let classes = [class("low", 0, 100, 0, 1), class("high", 0, 100, 1, 1)];
    let offered = 0.4 * RATE as f64;
    let some = open(Pattern::Neighbour, 256, offered, Process::Periodic, 2);
    let jobs = [
        of_class(0, flow(0, 7, 100_000_000)),
        of_class(1, job("some", [1, 7], some)),
    ];
    assert_shares(&classes, &jobs, &[0.6, 2.0 * 0.4]);
}

/// What wants everything leaves a lower class what is guaranteed to it, and one without nothing.
#[test]
fn only_a_guaranteed_share_keeps_a_class_from_starving() {
    let classes = [
        class("low", 20, 100, 0, 1),
        class("lower", 0, 100, 0, 1),
        class("high", 0, 100, 1, 1),
    ];
    for jobs in [incast(7), incast(11), fan_out()] {
        assert_shares(&classes, &jobs, &[0.2, 0.0, 0.8]);
    }
}

/// Alone it leaves 70 % unused; beside others they get that, half each by equal weights.
#[test]
fn a_class_never_has_more_than_its_largest_share() {
    let classes = [
        class("a", 0, 30, 1, 1),
        class("b", 0, 100, 0, 1),
        class("c", 0, 100, 0, 1),
    ];
    for jobs in [incast(7), incast(11), fan_out()] {
        assert_shares(&classes, &jobs, &[0.3, 0.35, 0.35]);
        assert_shares(&classes, &jobs[..1], &[0.3]);
    }
    // Two packets per class may be caught up with, at full rate: 1,536 bytes.
    let mut config = models(&classes).swap_remove(0);
    config.seed = 3;
    let mut measurement = measure(0, 1_000_000_000, MessageRecords::None);
    measurement.timeline_bin = Some(odonata_units::Picoseconds(1_000_000));
    let outcome = simulate(&network(), &SHORTEST, &config, &incast(7), &measurement);
    let outcome = outcome.expect("a run");
    let jobs = outcome.jobs.len();
    let most = 0.3 * RATE as f64 * 1e-6 + 2.0 * 3.0 * 256.0;
    let of_a = outcome.timeline.activity.iter().step_by(jobs);
    let delivered: Vec<u64> = of_a.map(|bin| bin.delivered_bytes).collect();
    assert!(delivered.len() >= 999, "{}", delivered.len());
    let over = delivered.iter().find(|&&bytes| bytes as f64 > most);
    assert_eq!(over, None, "of at most {most}");
}

/// Alone on the network a class is as fast as traffic without classes: to the picosecond.
#[test]
fn a_class_that_is_alone_is_not_slower() {
    let classes = [class("a", 10, 100, 0, 1), class("b", 50, 100, 3, 7)];
    let times = |config: &EngineConfig, class| {
        let jobs = [
            of_class(class, flow(0, 11, 1_000_000)),
            of_class(class, messages(1, 10, 100, 700)),
        ];
        let outcome = simulate(&network(), &SHORTEST, config, &jobs, &TO_THE_END);
        let outcome = outcome.expect("a run");
        let jobs = outcome.jobs.iter();
        jobs.map(|job| job.end).collect::<Vec<_>>()
    };
    for config in models(&classes) {
        let plain = EngineConfig {
            classes: Vec::new(),
            ..config.clone()
        };
        for class in [0, 1] {
            assert_eq!(times(&config, class), times(&plain, 0), "{class}");
        }
    }
}

/// Seven nodes send to one in one class, so that its packets fill their channel of the link between
/// the routers, and one of them to another node in another class: that has half of its node's link.
#[test]
fn a_class_that_is_held_up_holds_up_no_other() {
    let classes = [class("bulk", 0, 100, 0, 1), class("other", 0, 100, 0, 1)];
    let mut jobs: Vec<JobPlan> = (0..7)
        .map(|from| of_class(0, flow(from, 11, 100_000_000)))
        .collect();
    jobs.push(of_class(1, flow(6, 10, 100_000_000)));
    for config in models(&classes) {
        let found = shares(&config, &jobs);
        let incast: f64 = found[..7].iter().sum();
        assert!((incast - 0.5).abs() < 0.005, "{found:?}");
        assert!((found[7] - 0.5).abs() < 0.005, "{found:?}");
    }
}

/// A job's small messages have a class of their own beside its large one, over a link or by a node's.
#[test]
fn messages_of_one_job_share_by_their_classes() {
    let classes = [class("bulk", 0, 100, 0, 1), class("small", 0, 100, 0, 4)];
    let small = ClassRule {
        class: 1,
        collective: None,
        up_to: Some(Bytes(256)),
    };
    let several = |to| {
        let all = |first: Operation, others: Operation| {
            let mut all = vec![others; 100_001];
            all[0] = first;
            all.push(Operation::WaitAll);
            all
        };
        let sender = all(send(1, 100_000_000), send(1, 256));
        let load = Listed::load(vec![sender, all(receive(0), receive(0))]);
        JobPlan {
            classes: JobClasses {
                rules: vec![small.clone()],
                ..JobClasses::default()
            },
            ..job("both", [0, to], load)
        }
    };
    for (mut config, to) in models(&classes).into_iter().zip([7, 11]) {
        config.nic.injection = InjectionOrder::Fifo;
        let measurement = measure(1_000_000_000, 3_000_000_000, MessageRecords::None);
        let outcome = simulate(&network(), &SHORTEST, &config, &[several(to)], &measurement);
        let outcome = outcome.expect("a run");
        let capacity = RATE as f64 * 2e-3;
        let of = |class: &ClassBytes| class.delivered_measured as f64 / capacity;
        let found: Vec<f64> = outcome.jobs[0].classes.iter().map(of).collect();
        assert!((found[0] - 0.2).abs() < 0.002, "{found:?}");
        assert!((found[1] - 0.8).abs() < 0.008, "{found:?}");
    }
}

/// A request waits behind what its node sends before it, or passes it in a class of its own: then the
/// message that it is for leaves right behind that, and not as much later as request and grant take.
#[test]
fn control_messages_pass_the_messages_of_their_job() {
    let classes = [class("bulk", 0, 100, 0, 1), class("control", 0, 100, 1, 1)];
    let end = |control, before: u64, asks_above: u64| {
        let sends = vec![send(1, before), send(1, 5_000), Operation::WaitAll];
        let receives = vec![receive(0), receive(0), Operation::WaitAll];
        let plan = JobPlan {
            protocol: Protocol {
                eager_limit: Some(Bytes(asks_above)),
                ..Protocol::default()
            },
            classes: JobClasses {
                control,
                ..JobClasses::default()
            },
            ..job("both", [0, 11], Listed::load(vec![sends, receives]))
        };
        let mut config = models(&classes).swap_remove(0);
        config.nic.injection = InjectionOrder::Fifo;
        let outcome = simulate(&network(), &SHORTEST, &config, &[plan], &TO_THE_END);
        let outcome = outcome.expect("a run");
        let asked = outcome
            .messages
            .iter()
            .find(|one| one.bytes == Bytes(5_000));
        asked.expect("a message").delivered.0
    };
    let asking = end(None, 1, 4_999) - end(None, 1, 5_000);
    let packet = 256 * 1_000_000_000_000 / RATE;
    assert!(asking > 6 * packet, "{asking}");
    // Without asking it follows at once, and so it does if the request passes what is before it.
    let (behind, passing) = (end(None, 4_999, 4_999), end(Some(1), 4_999, 4_999));
    let at_once = end(None, 4_999, 5_000);
    assert!(
        behind.abs_diff(at_once + asking) <= packet,
        "{behind} {at_once} {asking}"
    );
    assert!(
        passing.abs_diff(at_once) <= packet,
        "{passing} {at_once} {asking}"
    );
}

/// Windows hold back what they would without classes, and classes share the link as without windows.
#[test]
fn classes_and_congestion_control_work_together() {
    let classes = [class("a", 0, 100, 0, 1), class("b", 0, 100, 0, 3)];
    for mut config in models(&classes) {
        config.nic.congestion_control = CongestionControl::Window(WindowKeys {
            window_bytes: 16_384,
        });
        let jobs = [
            of_class(0, flow(0, 7, 100_000_000)),
            of_class(1, flow(1, 7, 100_000_000)),
        ];
        let found = shares(&config, &jobs);
        assert!((found[0] - 0.25).abs() < 0.0025, "{found:?}");
        assert!((found[1] - 0.75).abs() < 0.0075, "{found:?}");
    }
}

fn refused(classes: &[TrafficClass], change: impl Fn(&mut EngineConfig)) -> SimError {
    let mut config = models(classes).swap_remove(0);
    change(&mut config);
    let jobs = [of_class(1, flow(0, 7, 1_000))];
    let outcome = simulate(&network(), &SHORTEST, &config, &jobs, &TO_THE_END);
    outcome.expect_err("an error")
}

#[test]
fn classes_that_make_no_sense_are_refused() {
    let two = [class("a", 0, 100, 0, 1), class("b", 0, 100, 0, 1)];
    let bounded = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(1.0),
        output_buffer: Bytes(512),
    };
    let cases = [
        (
            refused(&[class("a", 0, 100, 0, 1)], |_| {}),
            "class 1 of job",
        ),
        (
            refused(
                &[class("a", 60, 100, 0, 1), class("b", 50, 100, 0, 1)],
                |_| {},
            ),
            "110.000 % guaranteed in all",
        ),
        (
            refused(
                &[class("a", 60, 50, 0, 1), class("b", 0, 100, 0, 1)],
                |_| {},
            ),
            "no more than its largest share, 50 %",
        ),
        (
            refused(
                &[class("a", 0, 100, 0, 1), class("a", 0, 100, 0, 1)],
                |_| {},
            ),
            "two classes called \"a\"",
        ),
        (
            refused(
                &[class("a", 0, 100, 0, 0), class("b", 0, 100, 0, 1)],
                |_| {},
            ),
            "weight 0",
        ),
        (
            refused(&vec![class("a", 0, 100, 0, 1); 17], |_| {}),
            "17 classes",
        ),
        (
            refused(&two, |config| config.virtual_channels = Some(9)),
            "18 (9 for each of 2 classes)",
        ),
        (
            refused(&two, |config| config.router.crossbar = bounded),
            "none with a bounded crossbar",
        ),
    ];
    for (error, part) in cases {
        let text = error.to_string();
        assert!(text.contains(part), "{text}");
        let SimError::Parameter { parameter, .. } = error else {
            panic!("{text}");
        };
        let of_classes = [Parameter::TrafficClasses, Parameter::VirtualChannels];
        assert!(of_classes.contains(&parameter), "{text}");
    }
}

#[test]
fn who_may_starve_is_known() {
    let starving = |classes: &[TrafficClass]| TrafficClass::starving(classes);
    let (low, high) = (class("low", 0, 100, 0, 1), class("high", 0, 100, 1, 1));
    assert_eq!(starving(&[low.clone(), high.clone()]), [(0, vec![1])]);
    // Some is guaranteed, some is left, or none is higher.
    assert_eq!(starving(&[class("low", 1, 100, 0, 1), high]), []);
    assert_eq!(starving(&[low.clone(), class("high", 0, 99, 1, 1)]), []);
    assert_eq!(starving(&[low.clone(), low]), []);
    // Two above it together, or one with what is guaranteed to another beside it.
    let half = |name, priority| class(name, 0, 50, priority, 1);
    assert_eq!(
        starving(&[class("low", 0, 100, 0, 1), half("b", 1), half("c", 2)]),
        [(0, vec![1, 2])]
    );
    let beside = class("beside", 50, 100, 0, 1);
    assert_eq!(
        starving(&[class("low", 0, 100, 0, 1), beside, half("b", 1)]),
        [(0, vec![2])]
    );
}
