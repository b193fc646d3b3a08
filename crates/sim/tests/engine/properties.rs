//! What holds in every run: nothing is lost, everything arrives, nothing gets
//! stuck, and the outcome depends on the scenario and its seed alone.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use odonata_run::{
    Activity, ClassBytes, Completion, Histogram, JobLoad, JobOutcome, Observer, Outcome, PausedRun,
    Progress, RankTimes, SimError, Wish,
};
use odonata_units::{Bytes, Picoseconds};
use proptest::test_runner::{Config, TestRunner};

use crate::scenario::{Job, Kind, Scenario, scenario};
use crate::support::assert_conserved;

pub fn cases(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}

/// What must be equal in two runs of one scenario. Only the numbers that
/// describe how the work was divided may differ.
pub fn assert_same(one: &Outcome, other: &Outcome, what: &str) {
    let Outcome {
        end,
        warmup,
        jobs,
        ports,
        injection,
        messages,
        rank_intervals,
        traffic,
        attribution,
        arrivals,
        timeline,
        conservation,
        packet_hops,
        events,
        peak_packets: _,
        bytes_per_packet: _,
        bytes_per_port: _,
        reconfigurations,
        held_pairs,
        storage,
        parallelism,
        resent_bytes,
    } = one;
    assert_eq!(
        *reconfigurations, other.reconfigurations,
        "{what}: circuits"
    );
    assert_eq!(*end, other.end, "{what}: end");
    assert_eq!(*warmup, other.warmup, "{what}: warm-up");
    assert_eq!(*jobs, other.jobs, "{what}: jobs");
    assert_eq!(*ports, other.ports, "{what}: links of routers");
    assert_eq!(*injection, other.injection, "{what}: links of nodes");
    assert_eq!(*messages, other.messages, "{what}: messages");
    assert_eq!(*rank_intervals, other.rank_intervals, "{what}: intervals");
    assert_eq!(*traffic, other.traffic, "{what}: traffic");
    assert_eq!(*attribution, other.attribution, "{what}: attribution");
    assert_eq!(*arrivals, other.arrivals, "{what}: arrivals");
    assert_eq!(*timeline, other.timeline, "{what}: timeline");
    assert_eq!(*conservation, other.conservation, "{what}: conservation");
    assert_eq!(*packet_hops, other.packet_hops, "{what}: packet hops");
    assert_eq!(*events, other.events, "{what}: events");
    assert_eq!(*held_pairs, other.held_pairs, "{what}: held pairs");
    assert_eq!(*storage, other.storage, "{what}: storage");
    assert_eq!(*parallelism, other.parallelism, "{what}: parallelism");
    assert_eq!(*resent_bytes, other.resent_bytes, "{what}: sent again");
}

/// A run on one thread; `None` for scenarios that have nothing to do or whose
/// ranks wait for each other or for messages that nobody sends.
pub fn outcome(scenario: &Scenario) -> Option<Outcome> {
    match scenario.run(1)? {
        Ok(outcome) => Some(outcome),
        Err(SimError::Unmatched { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// What jobs send in their classes adds up to what they send, and arrives as that does.
fn check_classes(outcome: &Outcome) {
    for job in outcome.jobs.iter().filter(|job| !job.classes.is_empty()) {
        let mut sum = ClassBytes::default();
        for class in &job.classes {
            assert!(class.delivered <= class.created, "{class:?}");
            assert!(job.end.is_none() || job.aborted.is_some() || class.delivered == class.created);
            sum += *class;
        }
        assert_eq!(sum, ClassBytes::of_job(job));
    }
}

/// What was recorded of the ranks adds up to what was counted.
fn check_ranks(outcome: &Outcome) {
    let mut at = (0, odonata_units::RankId(0), Picoseconds(0));
    let mut recorded: BTreeMap<_, u64> = BTreeMap::new();
    for interval in &outcome.rank_intervals {
        let begin = (interval.job, interval.rank, interval.begin);
        assert!(begin >= at && interval.end > interval.begin, "{interval:?}");
        at = (interval.job, interval.rank, interval.end);
        let times = recorded.entry((interval.job, interval.rank)).or_default();
        *times += (interval.end - interval.begin).0;
    }
    for ((job, rank), recorded) in recorded {
        let counted = outcome.jobs[job as usize].ranks[rank.index()].total();
        // The last interval of a rank that was cut off is not over.
        assert!(recorded <= counted);
        if outcome.jobs[job as usize].end.is_some() {
            assert_eq!(recorded, counted);
        }
    }
    for (job, felt) in outcome.jobs.iter().enumerate() {
        let pairs = outcome
            .traffic
            .iter()
            .filter(|pair| pair.job as usize == job);
        let (bytes, messages) = pairs.fold((0, 0), |(bytes, messages), pair| {
            (bytes + pair.traffic.bytes, messages + pair.traffic.messages)
        });
        if messages > 0 {
            assert_eq!(
                (bytes, messages),
                (felt.bytes_created, felt.messages_created)
            );
        }
    }
}

fn check_books(scenario: &Scenario, outcome: &Outcome) {
    assert_conserved(outcome);
    let (_, losses) = scenario.routes();
    for job in &outcome.jobs {
        assert!(losses.is_some() || job.packets_lost == 0);
        assert!(job.aborted.is_some() || job.bytes_lost == 0);
        assert!(job.aborted.is_none() || job.packets_lost > 0);
    }
    let topology = scenario.topology();
    let plans = scenario.plans(&topology);
    assert_eq!(plans.len(), outcome.jobs.len());
    for (plan, job) in plans.iter().zip(&outcome.jobs) {
        assert!(job.messages_delivered <= job.messages_created);
        assert!(job.bytes_delivered <= job.bytes_created);
        assert!(job.bytes_delivered_measured <= job.bytes_delivered);
        assert!(job.bytes_created_measured <= job.bytes_created);
        assert!(job.message_latency_ps.count() <= job.messages_delivered);
        let visits: u64 = job.routers_visited.iter().sum();
        assert_eq!(visits, job.packet_latency_ps.count());
        assert_eq!(job.routers_visited.first().copied().unwrap_or(0), 0);
        if let JobLoad::Open(source) = &plan.load
            && let Some(messages) = source.total_messages()
        {
            assert!(job.messages_created <= messages);
            let all_arrived = job.messages_delivered == messages;
            let aborted = job.aborted.is_some();
            assert_eq!(job.end.is_some(), all_arrived || aborted);
            // Without a duration a run goes on until they have.
            assert!(all_arrived || aborted || scenario.duration.is_some());
            assert!(job.end.is_none_or(|end| end <= outcome.end));
        }
        if let JobLoad::Closed(program) = &plan.load {
            let totals = program.totals().expect("motifs know what they send");
            assert!(job.bytes_created <= totals.bytes.0);
            assert_eq!(job.ranks.len(), program.ranks() as usize);
            assert_eq!(job.message_bytes.count(), job.messages_created);
            if let (Some(end), None) = (job.end, job.aborted) {
                assert_eq!(job.bytes_created, totals.bytes.0);
                assert_eq!(job.messages_created, totals.messages);
                // Some messages of scripts are received by nobody.
                if !scenario
                    .jobs
                    .iter()
                    .any(|job| matches!(job.kind, Kind::Script))
                {
                    assert_eq!(job.unreceived_messages, 0);
                }
                // A rank does something or waits at any time.
                let longest = job.ranks.iter().map(RankTimes::total).max();
                assert_eq!(longest, Some(end.0 - job.start.0));
            }
        }
    }
    check_ranks(outcome);
    check_classes(outcome);
    if scenario.recorded {
        crate::attribution::check(&topology, scenario.credit_use, outcome);
    }
    // Every port carries no more than its bandwidth allows, and the hops of
    // the ports make up the whole if statistics begin at once.
    let length = outcome.end.0;
    for (port, link) in outcome.ports.iter().enumerate() {
        let class = topology.link_class(odonata_units::PortId(port as u32));
        let one_packet = class.bandwidth.duration_of(scenario.packet).0;
        assert!(link.busy_ps <= length.saturating_sub(scenario.warmup) + 2 * one_packet);
        assert!(link.stall_ps <= length);
    }
    let sent: u64 = outcome.ports.iter().map(|link| link.packets).sum();
    if scenario.warmup == 0 {
        assert_eq!(sent, outcome.packet_hops);
    } else {
        assert!(sent <= outcome.packet_hops);
    }
    if scenario.duration.is_none()
        && scenario
            .jobs
            .iter()
            .all(|job| !matches!(job.kind, Kind::Open { times: None, .. }))
    {
        // Every job ended by itself: everything has arrived.
        assert_eq!(
            outcome.conservation.backlog, 0,
            "{:?}",
            outcome.conservation
        );
        assert_eq!(
            outcome.conservation.in_flight, 0,
            "{:?}",
            outcome.conservation
        );
        for job in &outcome.jobs {
            assert!(job.aborted.is_some() || job.messages_created == job.messages_delivered);
            assert!(job.end.is_some());
        }
    }
    for message in &outcome.messages {
        assert!(message.created < message.delivered);
        let plan = &plans[message.job as usize];
        let node = |rank: u32| plan.node_of_rank[rank as usize];
        assert_eq!(node(message.source_rank), message.source);
        assert_eq!(node(message.destination_rank), message.destination);
    }
    let by_time = |m: &odonata_run::MessageRecord| (m.delivered, m.destination, m.source);
    assert!(outcome.messages.is_sorted_by_key(by_time));
    // The timeline holds every byte that was sent and that arrived, and every message.
    let sum = |of: fn(&Activity) -> u64| outcome.timeline.activity.iter().map(of).sum::<u64>();
    assert_eq!(sum(|a| a.delivered_bytes), outcome.conservation.delivered);
    // What was lost and waits to be sent again has been injected once.
    let injected = outcome.conservation.created - outcome.conservation.backlog;
    let packets_lost: u64 = outcome.jobs.iter().map(|job| job.packets_lost).sum();
    if packets_lost == 0 {
        assert_eq!(sum(|a| a.injected_bytes), injected);
    }
    let messages = outcome.jobs.iter().map(|job| job.messages_delivered);
    assert_eq!(sum(|a| a.messages), messages.sum::<u64>());
    if scenario.warmup == 0 {
        let latencies = outcome.jobs.iter().map(|job| &job.message_latency_ps);
        let mean_times_count = |h: &Histogram| h.mean().unwrap_or(0.0) * h.count() as f64;
        let latency: f64 = latencies.map(mean_times_count).sum();
        let seen = sum(|a| a.latency_ps) as f64;
        assert!((seen - latency).abs() <= 1e-9 * latency, "{seen} {latency}");
    }
}

/// Conservation, full delivery and freedom from deadlock over random networks,
/// routings, router models and loads up to far beyond saturation.
#[test]
fn every_byte_is_accounted_for_and_nothing_gets_stuck() {
    let mut runner = TestRunner::new(cases(300));
    runner
        .run(&scenario(false), |scenario| {
            if let Some(outcome) = outcome(&scenario) {
                check_books(&scenario, &outcome);
            }
            Ok(())
        })
        .unwrap();
}

/// Neither when a long message is complete at its sender nor how late messages are
/// decides whether the ranks come to an end or wait for each other.
#[test]
fn completion_and_delays_stop_nobody() {
    let mut runner = TestRunner::new(cases(60));
    let property = |mut scenario: Scenario| {
        scenario.duration = None;
        scenario.may_lose = false;
        let ends = |job: &Job| !matches!(job.kind, Kind::Open { times: None, .. });
        scenario.jobs.retain(ends);
        let outcomes = [
            (Completion::Sent, 0),
            (Completion::Acknowledged, 0),
            (Completion::Sent, 654_321),
            (Completion::Acknowledged, 654_321),
        ]
        .map(|(completion, delay)| {
            let mut scenario = scenario.clone();
            for job in &mut scenario.jobs {
                job.protocol.eager_limit = Some(Bytes(0));
                job.protocol.completion = completion;
                job.protocol.send_delay = Picoseconds(delay);
            }
            let outcome = outcome(&scenario);
            if let Some(outcome) = &outcome {
                assert_conserved(outcome);
            }
            outcome.map(|outcome| {
                let sum = |of: fn(&JobOutcome) -> u64| outcome.jobs.iter().map(of).sum::<u64>();
                (
                    sum(|job| job.messages_delivered),
                    sum(|job| job.bytes_delivered),
                )
            })
        });
        assert!(
            outcomes.iter().all(|other| *other == outcomes[0]),
            "{outcomes:?}"
        );
        Ok(())
    };
    runner.run(&scenario(false), property).unwrap();
}

/// One seed, one outcome; another seed, another one.
#[test]
fn the_seed_decides() {
    let mut runner = TestRunner::new(cases(40));
    runner
        .run(&scenario(false), |scenario| {
            if let (Some(one), Some(two)) = (outcome(&scenario), outcome(&scenario)) {
                assert_same(&one, &two, "the same seed");
            }
            Ok(())
        })
        .unwrap();
}

/// The number of threads changes nothing at all.
#[test]
fn any_number_of_threads_gives_the_same_outcome() {
    let mut runner = TestRunner::new(cases(70));
    let compared = [2, 3, 4, 8].map(|threads| (threads, Cell::new(0)));
    runner
        .run(&(scenario(true), 0..compared.len()), |(scenario, which)| {
            if let Some(one) = outcome(&scenario) {
                let (threads, runs) = &compared[which];
                let other = scenario.run(*threads).unwrap().unwrap();
                assert_same(&one, &other, &format!("{threads} threads"));
                runs.set(runs.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    for (threads, runs) in compared {
        let runs = runs.get();
        assert!(runs >= 8, "only {runs} runs on {threads} threads");
    }
}

/// Pauses at regular intervals, and keeps what it saw.
struct Pausing {
    interval: Picoseconds,
    next: Picoseconds,
    /// Whether it pauses nowhere else, though that lies within a window.
    exact: bool,
    /// Bytes delivered at each pause.
    delivered: Vec<(Picoseconds, u64)>,
}

impl Observer for Pausing {
    fn progress(&mut self, _: &Progress) -> Wish {
        Wish::Continue
    }
    fn next_pause(&mut self) -> Option<Picoseconds> {
        (!self.exact).then_some(self.next)
    }
    fn exact_pause(&mut self) -> Option<Picoseconds> {
        self.exact.then_some(self.next)
    }
    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        assert!(run.at >= self.next, "paused too early");
        assert!(run.at == self.next || !self.exact, "paused too late");
        self.next = run.at + self.interval;
        let delivered = run.jobs().iter().map(|job| job.bytes_delivered).sum();
        self.delivered.push((run.at, delivered));
        Ok(ControlFlow::Continue(()))
    }
}

/// Pauses change nothing, and what is seen at a pause is the same for any
/// number of threads.
#[test]
fn pauses_change_nothing() {
    let mut runner = TestRunner::new(cases(40));
    runner
        .run(&(scenario(true), 20_000u64..3_000_000), |(scenario, ps)| {
            if let Some(one) = outcome(&scenario) {
                for exact in [false, true] {
                    let mut seen = Vec::new();
                    for threads in [1, 2, 3] {
                        let interval = Picoseconds(ps.max(one.end.0 / 50));
                        let mut pausing = Pausing {
                            interval,
                            next: interval,
                            exact,
                            delivered: Vec::new(),
                        };
                        let other = scenario.run_observed(threads, &mut pausing);
                        let mut other = other.unwrap().unwrap();
                        if exact {
                            // A window that is cut is begun twice: routers may look once more, and
                            // credits be taken early, without an event, that were not before.
                            other.events = one.events;
                        }
                        assert_same(&one, &other, "with pauses");
                        seen.push(pausing.delivered);
                    }
                    assert_eq!(seen[0], seen[1]);
                    assert_eq!(seen[0], seen[2]);
                }
            }
            Ok(())
        })
        .unwrap();
}

/// Pauses once, and begins to measure there.
struct Measuring {
    from: Picoseconds,
    began: Option<Picoseconds>,
}

impl Observer for Measuring {
    fn progress(&mut self, _: &Progress) -> Wish {
        Wish::Continue
    }
    fn next_pause(&mut self) -> Option<Picoseconds> {
        self.began.is_none().then_some(self.from)
    }
    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        run.begin_measuring();
        self.began = Some(run.at);
        Ok(ControlFlow::Continue(()))
    }
}

/// To end the warm-up during a run is to have asked for that warm-up before it,
/// but for packets that are on their last link at that moment.
#[test]
fn beginning_to_measure_later_equals_a_longer_warmup() {
    let mut runner = TestRunner::new(cases(40));
    runner
        .run(&(scenario(true), 20_000u64..3_000_000), |(scenario, ps)| {
            let mut early = scenario.clone();
            early.warmup = 0;
            let mut measuring = Measuring {
                from: Picoseconds(ps),
                began: None,
            };
            let observed = early.run_observed(2, &mut measuring);
            let (Some(Ok(found)), Some(began)) = (observed, measuring.began) else {
                return Ok(());
            };
            let mut late = scenario.clone();
            late.warmup = began.0;
            let mut wanted = late.run(1).unwrap().unwrap();
            for (wanted, found) in wanted.jobs.iter_mut().zip(&found.jobs) {
                assert!(found.bytes_delivered_measured <= wanted.bytes_delivered_measured);
                wanted.bytes_delivered_measured = found.bytes_delivered_measured;
                for (wanted, found) in wanted.classes.iter_mut().zip(&found.classes) {
                    assert!(found.delivered_measured <= wanted.delivered_measured);
                    wanted.delivered_measured = found.delivered_measured;
                }
            }
            assert_same(&wanted, &found, "measured from a pause on");
            Ok(())
        })
        .unwrap();
}
