//! Schedules with known answers, and what holds for every schedule.

use std::ops::ControlFlow;
use std::sync::Arc;

use odonata_units::NodeId;
use proptest::prelude::*;

use super::*;
use crate::Seconds;
use crate::log::{Job, JobLog};

/// Submission, nodes, run time, requested time.
type Line = (i64, u32, i64, i64);

fn log_of(lines: &[Line]) -> JobLog {
    let mut log = JobLog::default();
    for (index, &(submit, nodes, run, requested)) in lines.iter().enumerate() {
        let mut job = Job::new(index.to_string(), Seconds(submit), Seconds(run), nodes);
        job.requested = (requested > 0).then_some(Seconds(requested));
        job.user = log.names.label(["ann", "bob"][index % 2]);
        log.jobs.push(job);
    }
    log
}

fn run_on<M: Machine>(log: &JobLog, machine: &M, options: &Options) -> Schedule {
    simulate(log, machine, options, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

fn starts(lines: &[Line], nodes: u32, options: &Options) -> Vec<i64> {
    let schedule = run_on(&log_of(lines), &Pool::new(nodes), options);
    schedule
        .rows
        .iter()
        .map(|row| row.start.unwrap().0)
        .collect()
}

fn with(policy: Policy) -> Options {
    Options {
        policy,
        ..Options::default()
    }
}

/// Ten nodes. A runs from 0 to 10 on 6. B wants 8, so it waits until 10. C and D
/// want 4, which are free now: C until 11, D until 10. E wants 2 for long.
const EXAMPLE: [Line; 5] = [
    (0, 6, 10, 10),
    (1, 8, 10, 10),
    (2, 4, 9, 9),
    (2, 4, 8, 8),
    (3, 2, 100, 100),
];

#[test]
fn in_order_nobody_overtakes() {
    // B follows A at 10; C, D and E need 10 nodes together and start when B ends.
    assert_eq!(
        starts(&EXAMPLE, 10, &with(Policy::InOrder)),
        [0, 10, 20, 20, 20]
    );
}

#[test]
fn easy_lets_jobs_overtake_that_do_not_delay_the_first() {
    // B is promised 10, when A's nodes come free; 2 nodes are left over then.
    // C would end at 11 on 4 nodes: too late and too large. D ends at 10: it starts
    // at 2. Nothing is free for E until 10; then B starts and E takes the 2 left. C
    // comes when B ends.
    assert_eq!(
        starts(&EXAMPLE, 10, &with(Policy::EASY)),
        [0, 10, 20, 2, 10]
    );
    // Conservative agrees: nobody here overtakes at the cost of a second job.
    assert_eq!(
        starts(&EXAMPLE, 10, &with(Policy::Conservative)),
        [0, 10, 20, 2, 10]
    );
}

#[test]
fn easy_may_delay_the_second_job_and_conservative_may_not() {
    // A holds 6 of 10 nodes until 10; B (8 nodes) is next at 10, C (10 nodes) after
    // it at 20. D wants 2 nodes for 100 s.
    let lines = [
        (0, 6, 10, 10),
        (1, 8, 10, 10),
        (2, 10, 10, 10),
        (3, 2, 100, 100),
    ];
    // EASY: D does not delay B, as 2 nodes are left beside it, and starts at 3; C
    // needs the whole machine and waits until D ends.
    assert_eq!(starts(&lines, 10, &with(Policy::EASY)), [0, 10, 103, 3]);
    // Conservative: C was promised 20, so D has to wait until C ends.
    assert_eq!(
        starts(&lines, 10, &with(Policy::Conservative)),
        [0, 10, 20, 30]
    );
    // Two reservations protect C as well.
    let two = with(Policy::Backfill { depth: 2 });
    assert_eq!(starts(&lines, 10, &two), [0, 10, 20, 30]);
}

#[test]
fn early_ends_move_reservations_forward() {
    // A asks for 100 s and runs 10. B (all nodes) is promised 100, C (5 nodes, 50 s)
    // fits beside A until 100 by the estimates and starts at 2 until 52. When A ends
    // at 10, B's earliest time is 52, when C ends.
    let lines = [(0, 5, 10, 100), (1, 10, 10, 10), (2, 5, 50, 50)];
    for policy in [Policy::EASY, Policy::Conservative, Policy::REPLANNED] {
        assert_eq!(starts(&lines, 10, &with(policy)), [0, 52, 2], "{policy:?}");
    }
}

#[test]
fn planning_anew_may_delay_a_promise_and_keeping_may_not() {
    // 10 nodes. A: 5 nodes for 100 s by its estimate, B: 5 nodes for 60 s. C (8 nodes,
    // 100 s) is promised 100 and D (5 nodes, 40 s) 60, when B ends: it is over when C
    // begins. A ends at 10, after 10 s.
    // Kept: C moves up to 60, when B ends, only if D's promise stays whole. D is
    // promised 60 to 100 on 5 nodes, and C needs 8, so C cannot; it keeps 100. D moves
    // from 60 to 10. Everything planned anew: C comes first and takes 60 to 160; D
    // fits on A's nodes from 10 to 50. Then B ends as expected.
    let lines = [
        (0, 5, 10, 100),
        (0, 5, 60, 60),
        (1, 8, 100, 100),
        (2, 5, 40, 40),
    ];
    assert_eq!(starts(&lines, 10, &with(Policy::REPLANNED)), [0, 0, 60, 10]);
    // The sweep goes in order of the queue, C first while D still holds 60 to 100.
    // After D has moved nothing is left to do at 10; at 60 B ends as expected, no
    // sweep; but D has ended at 50, before nobody's estimate. C starts at 100.
    assert_eq!(
        starts(&lines, 10, &with(Policy::Conservative)),
        [0, 0, 100, 10]
    );
}

#[test]
fn limits_are_enforced_unless_told_otherwise() {
    let lines = [(0, 10, 30, 20), (1, 10, 5, 5)];
    let schedule = run_on(&log_of(&lines), &Pool::new(10), &Options::default());
    assert_eq!(schedule.rows[0].fate, Fate::Killed);
    assert_eq!(
        (schedule.rows[0].end, schedule.rows[1].start),
        (Some(Seconds(20)), Some(Seconds(20)))
    );
    for policy in [Policy::EASY, Policy::Conservative] {
        let lenient = Options {
            enforce_limits: false,
            ..with(policy)
        };
        let schedule = run_on(&log_of(&lines), &Pool::new(10), &lenient);
        assert_eq!(schedule.rows[0].fate, Fate::Finished);
        assert_eq!(
            (schedule.rows[0].end, schedule.rows[1].start),
            (Some(Seconds(30)), Some(Seconds(30)))
        );
        // B was promised 20, which A's overrun broke.
        assert_eq!(schedule.rows[1].promised, Some(Seconds(20)));
        assert_eq!(schedule.broken_promises > 0, policy == Policy::Conservative);
    }
}

#[test]
fn estimates_decide_who_may_overtake() {
    // C runs for 5 s but asks for 50: behind B, which can start at 10, it may
    // overtake only if the scheduler knows how long it really runs.
    let lines = [(0, 6, 10, 10), (1, 8, 10, 10), (2, 4, 5, 50)];
    assert_eq!(starts(&lines, 10, &with(Policy::EASY)), [0, 10, 20]);
    let perfect = Options {
        waiting_estimate: Estimate::Perfect,
        ..Options::default()
    };
    assert_eq!(starts(&lines, 10, &perfect), [0, 10, 2]);
    // Twice its run time, 10 s, is too long by 2 s; 1.6 times, 8 s, just fits.
    let factor = |factor| Options {
        waiting_estimate: Estimate::Factor(factor),
        ..Options::default()
    };
    assert_eq!(starts(&lines, 10, &factor(2.0)), [0, 10, 20]);
    assert_eq!(starts(&lines, 10, &factor(1.6)), [0, 10, 2]);
}

#[test]
fn maintenance_drains_the_machine() {
    let window = |nodes, users: &[&str]| Window {
        name: "upgrade".to_owned(),
        start: Seconds(50),
        end: Seconds(100),
        nodes,
        users: users.iter().map(|&user| user.to_owned()).collect(),
    };
    // A would run into it, so it waits until it is over; B ends in time.
    let lines = [(0, 4, 60, 60), (0, 4, 50, 50)];
    for policy in [Policy::InOrder, Policy::EASY, Policy::Conservative] {
        let options = Options {
            windows: vec![window(Withheld::All, &[])],
            ..with(policy)
        };
        let in_order = policy == Policy::InOrder;
        assert_eq!(
            starts(&lines, 10, &options),
            [100, if in_order { 100 } else { 0 }]
        );
        // With 6 of 10 nodes withheld, 4 remain for A; B follows when A ends, as its
        // 50 s would run into the window too, or beside it in time.
        let options = Options {
            windows: vec![window(Withheld::Count(6), &[])],
            ..with(policy)
        };
        assert_eq!(starts(&lines, 10, &options), [0, 0]);
    }
    // A reservation of 6 nodes for bob (jobs 1 and 3): his jobs run inside while
    // others wait. Job 0 holds 4 nodes throughout.
    let lines = [
        (0, 4, 200, 200),
        (60, 6, 20, 20),
        (61, 2, 10, 10),
        (62, 6, 30, 30),
    ];
    let options = Options {
        windows: vec![window(Withheld::Count(6), &["bob"])],
        ..Options::default()
    };
    let schedule = run_on(&log_of(&lines), &Pool::new(10), &options);
    let begun: Vec<i64> = schedule
        .rows
        .iter()
        .map(|row| row.start.unwrap().0)
        .collect();
    // Bob's second job does not fit before the window ends at 100 (80 + 30), so it
    // waits for the end of the window, behind job 2 that wants 2 of the 6 nodes.
    assert_eq!(begun, [0, 60, 100, 110]);
    assert_eq!(schedule.rows[1].started, Some(Started::InReservation));
}

#[test]
fn orders_put_the_right_job_first() {
    // One node set is busy until 10, then all three waiting jobs want all of it.
    let lines = [
        (0, 8, 10, 10),
        (1, 8, 30, 30),
        (2, 6, 20, 20),
        (3, 7, 40, 40),
    ];
    let of = |order| {
        starts(
            &lines,
            8,
            &Options {
                order,
                ..with(Policy::InOrder)
            },
        )
    };
    assert_eq!(of(Order::Fcfs), [0, 10, 40, 60]);
    assert_eq!(of(Order::ShortestFirst), [0, 30, 10, 60]);
    assert_eq!(of(Order::LongestFirst), [0, 50, 80, 10]);
    assert_eq!(of(Order::SmallestFirst), [0, 70, 10, 30]);
    assert_eq!(of(Order::LargestFirst), [0, 10, 80, 40]);
    // At 10: (9/30)³·8 = 0.216, (8/20)³·6 = 0.384, (7/40)³·7 = 0.038. At 30 the first
    // has (29/30)³·8 = 7.2 and the last (27/40)³·7 = 2.2.
    assert_eq!(of(Order::Wfp), [0, 30, 10, 60]);
    // Size alone is largest first; age alone is first come; with fair share alone bob
    // (jobs 1, 3) comes first, as ann has used the machine, and then, having used it
    // longer than ann, last.
    let weights = |age, size, fair_share| {
        let half_life = Seconds(0);
        Order::Multifactor(Multifactor {
            age,
            size,
            fair_share,
            half_life,
            ..Multifactor::default()
        })
    };
    assert_eq!(of(weights(0.0, 1.0, 0.0)), of(Order::LargestFirst));
    assert_eq!(of(weights(1.0, 0.0, 0.0)), of(Order::Fcfs));
    assert_eq!(of(weights(0.0, 0.0, 1.0)), [0, 10, 40, 60]);
}

#[test]
fn jobs_larger_than_the_machine_are_refused_or_cut() {
    let lines = [(0, 11, 10, 10), (0, 10, 5, 5)];
    let schedule = run_on(&log_of(&lines), &Pool::new(10), &Options::default());
    let reason = "the job asks for 11 nodes, but the machine has 10".to_owned();
    assert_eq!(schedule.rows[0].fate, Fate::Refused(reason));
    assert_eq!(
        (schedule.rows[0].start, schedule.rows[1].start),
        (None, Some(Seconds(0)))
    );
    let cut = Options {
        larger: Larger::Cut,
        ..Options::default()
    };
    assert_eq!(starts(&lines, 10, &cut), [0, 10]);
}

#[test]
fn processors_can_be_shared() {
    let mut log = log_of(&[(0, 1, 10, 10), (0, 1, 10, 10), (0, 2, 10, 10)]);
    log.jobs[0].requested_processors = Some(3);
    log.jobs[1].requested_processors = Some(5);
    // 2 nodes of 4 processors: 3 + 5 fit at once; the third wants 2 · 4.
    let options = Options {
        share: Share::Processors(4),
        ..Options::default()
    };
    let schedule = run_on(&log, &Pool::new(8), &options);
    let begun: Vec<i64> = schedule
        .rows
        .iter()
        .map(|row| row.start.unwrap().0)
        .collect();
    assert_eq!(begun, [0, 0, 10]);
}

#[test]
fn passes_at_intervals_delay_starts_to_them() {
    let lines = [(7, 4, 10, 10), (8, 4, 10, 10), (30, 10, 5, 5)];
    let options = Options {
        passes: Passes::Every(Seconds(60)),
        ..Options::default()
    };
    // The first submission is a multiple; then 67, 127, …
    assert_eq!(starts(&lines, 10, &options), [7, 67, 127]);
}

#[test]
fn wrong_options_say_what_is_allowed() {
    let says = |options: Options, nodes| options.check(nodes).unwrap_err().to_string();
    assert!(says(Options::default(), 0).contains("at least 1"));
    let factor = Estimate::Factor(0.5);
    assert!(
        says(
            Options {
                waiting_estimate: factor,
                ..Options::default()
            },
            1
        )
        .contains("from 1")
    );
    let window = Window {
        name: "w".to_owned(),
        start: Seconds(5),
        end: Seconds(9),
        nodes: Withheld::Nodes(vec![NodeId(4)]),
        users: Vec::new(),
    };
    assert!(
        says(
            Options {
                windows: vec![window.clone()],
                ..Options::default()
            },
            4
        )
        .contains("node 4")
    );
    let reversed = Window {
        end: Seconds(5),
        ..window
    };
    assert!(
        says(
            Options {
                windows: vec![reversed],
                ..Options::default()
            },
            9
        )
        .contains("end must lie")
    );
    assert!(says(with(Policy::Backfill { depth: 0 }), 1).contains("EASY"));
    assert!(
        says(
            Options {
                passes: Passes::Every(Seconds(0)),
                ..Options::default()
            },
            1
        )
        .contains("1 s")
    );
}

#[test]
fn figures_of_a_small_schedule() {
    // 10 nodes: job 0 on 10 from 0 to 10; job 1 on 5 waits 10 and runs 20; job 2 on 5
    // waits 5 and runs 5.
    let lines = [(0, 10, 10, 10), (0, 5, 20, 20), (5, 5, 5, 5)];
    let schedule = run_on(&log_of(&lines), &Pool::new(10), &Options::default());
    let summary = summarise(&schedule, Seconds(10), &size_classes(10));
    assert_eq!(
        (summary.makespan, summary.jobs, summary.refused),
        (Seconds(30), 3, 0)
    );
    // (100 + 100 + 25) of 300 node-seconds; until 5, 50 of 50.
    assert!((summary.utilisation - 0.75).abs() < 1e-12);
    assert!((summary.utilisation_until_last_submit - 1.0).abs() < 1e-12);
    assert_eq!(
        (
            summary.wait_s.mean,
            summary.wait_s.median,
            summary.wait_s.max
        ),
        (5.0, 5.0, 10.0)
    );
    // 1, (10 + 20) / 20, (5 + 5) / 5; bounded with τ = 10: 1, 1.5, max(1, 10 / 10).
    assert_eq!((summary.slowdown.mean, summary.slowdown.max), (1.5, 2.0));
    assert!((summary.bounded_slowdown.mean - 3.5 / 3.0).abs() < 1e-12);
    assert_eq!((summary.max_queue, summary.mean_queue), (2, 0.5));
    let classes: Vec<_> = summary
        .classes
        .iter()
        .map(|c| (c.from, c.to, c.jobs))
        .collect();
    assert_eq!(classes, [(1, 1, 0), (2, 3, 0), (4, 7, 2), (8, 15, 1)]);
    let full = occupancy(&schedule, Seconds(4));
    // Job 2 ends at 15: 10 nodes until 12, then (3 · 10 + 1 · 5) / 4, then 5 until 28,
    // and 5 · 2 / 4.
    assert_eq!(
        full.busy_nodes,
        [10.0, 10.0, 10.0, 8.75, 5.0, 5.0, 5.0, 2.5]
    );
    // Job 1 waits from 0 to 10, job 2 from 5 to 10.
    assert_eq!(full.waiting_jobs, [1.0, 1.75, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

/// EASY as its definition says, second by second, with nothing but loops; jobs run
/// for at least 1 s.
fn easy_by_definition(lines: &[Line], nodes: u32) -> Vec<i64> {
    let run = |line: &Line| {
        if line.3 > 0 {
            line.2.min(line.3)
        } else {
            line.2
        }
    };
    let estimate = |line: &Line| if line.3 > 0 { line.3 } else { line.2 }.max(1);
    let mut start: Vec<Option<i64>> = vec![None; lines.len()];
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&job| lines[job].0);
    for now in 0.. {
        if start.iter().all(Option::is_some) {
            break;
        }
        let runs = |job: usize, start: &[Option<i64>]| {
            start[job].is_some_and(|s| s + run(&lines[job]) > now)
        };
        let used = (0..lines.len())
            .filter(|&job| runs(job, &start))
            .map(|job| lines[job].1);
        let mut available = nodes - used.sum::<u32>();
        let mut waiting: Vec<usize> = order
            .iter()
            .copied()
            .filter(|&job| start[job].is_none() && lines[job].0 <= now)
            .collect();
        while let Some(&head) = waiting.first()
            && lines[head].1 <= available
        {
            start[head] = Some(now);
            available -= lines[head].1;
            waiting.remove(0);
        }
        if let Some(&head) = waiting.first() {
            // When the head can start by the estimates, and what is left beside it.
            let mut ends: Vec<(i64, u32)> = (0..lines.len())
                .filter(|&job| runs(job, &start))
                .map(|job| {
                    (
                        (start[job].unwrap() + estimate(&lines[job])).max(now + 1),
                        lines[job].1,
                    )
                })
                .collect();
            ends.sort_unstable();
            let mut at_shadow = available;
            let mut shadow = now;
            for &(end, freed) in &ends {
                if at_shadow >= lines[head].1 && end > shadow {
                    break;
                }
                at_shadow += freed;
                shadow = end;
            }
            let mut extra = at_shadow - lines[head].1;
            for &job in &waiting[1..] {
                let (_, wants, ..) = lines[job];
                let in_time = now + estimate(&lines[job]) <= shadow;
                if wants <= available && (in_time || wants <= extra) {
                    start[job] = Some(now);
                    available -= wants;
                    if !in_time {
                        extra -= wants;
                    }
                }
            }
        }
    }
    start.into_iter().map(Option::unwrap).collect()
}

fn lines_up_to(nodes: u32, least_run: i64) -> impl Strategy<Value = Vec<Line>> {
    let line = (0i64..40, 1..=nodes, least_run..15, 0i64..20);
    prop::collection::vec(line, 1..25).prop_map(|mut lines| {
        lines.sort_by_key(|line| line.0);
        lines
    })
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Fcfs),
        Just(Order::ShortestFirst),
        Just(Order::LargestFirst),
        Just(Order::Wfp),
        Just(Order::Multifactor(Multifactor::default())),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::InOrder),
        Just(Policy::EASY),
        Just(Policy::Backfill { depth: 3 }),
        Just(Policy::REPLANNED),
        Just(Policy::Conservative),
    ]
}

fn any_window(nodes: u32) -> impl Strategy<Value = Option<Window>> {
    let withheld = prop_oneof![Just(Withheld::All), (1..=nodes).prop_map(Withheld::Count)];
    prop::option::of((0i64..60, 1i64..30, withheld, any::<bool>()).prop_map(
        |(start, length, nodes, bob)| Window {
            name: "window".to_owned(),
            start: Seconds(start),
            end: Seconds(start + length),
            nodes,
            users: if bob {
                vec!["bob".to_owned()]
            } else {
                Vec::new()
            },
        },
    ))
}

/// Nodes in use over time, as changes.
fn usage(rows: &[&Row]) -> Vec<(Seconds, i64)> {
    let mut changes = Vec::new();
    for row in rows {
        if let (Some(start), Some(end)) = (row.start, row.end) {
            changes.extend([(start, i64::from(row.nodes)), (end, -i64::from(row.nodes))]);
        }
    }
    changes.sort_unstable();
    changes
}

fn most_in_use(rows: &[&Row]) -> i64 {
    let sum = usage(rows).into_iter().scan(0, |used, (_, change)| {
        *used += change;
        Some(*used)
    });
    sum.max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the policy: every job runs once, whole, and not before it came, or is
    /// refused with a reason; nodes are never double-booked; equal inputs, equal
    /// schedules.
    #[test]
    fn every_schedule_is_sound(
        lines in lines_up_to(9, 0),
        policy in any_policy(),
        order in any_order(),
        window in any_window(8),
        enforce_limits in any::<bool>(),
        estimates in prop::sample::select(vec![Estimate::Requested, Estimate::Perfect, Estimate::Factor(2.5)]),
        passes in prop::sample::select(vec![Passes::PerInstant, Passes::PerEvent, Passes::Every(Seconds(7))]),
    ) {
        prop_assume!((policy, passes) != (Policy::Conservative, Passes::PerEvent));
        let options = Options {
            policy,
            order,
            enforce_limits,
            waiting_estimate: estimates,
            running_estimate: estimates,
            passes,
            windows: window.clone().into_iter().collect(),
            ..Options::default()
        };
        let log = log_of(&lines);
        let schedule = run_on(&log, &Pool::new(8), &options);
        prop_assert_eq!(&schedule, &run_on(&log, &Pool::new(8), &options));
        for (row, &(submit, nodes, run, requested)) in schedule.rows.iter().zip(&lines) {
            prop_assert_eq!(row.arrival, Seconds(submit));
            if nodes > 8 {
                prop_assert!(matches!(row.fate, Fate::Refused(_)) && row.start.is_none());
                continue;
            }
            let killed = enforce_limits && requested > 0 && run > requested;
            prop_assert_eq!(&row.fate, if killed { &Fate::Killed } else { &Fate::Finished });
            prop_assert!(row.wait().unwrap() >= Seconds::ZERO);
            let ran = if killed { requested } else { run };
            prop_assert_eq!(row.run(), Some(Seconds(ran)));
        }
        let all: Vec<&Row> = schedule.rows.iter().collect();
        prop_assert!(most_in_use(&all) <= 8);
        // What a window withholds nobody else uses, as long as jobs keep to their
        // estimates.
        let kept = enforce_limits || estimates != Estimate::Requested;
        if let (Some(window), true) = (window, kept) {
            let withheld = match window.nodes { Withheld::Count(count) => count, _ => 8 };
            let within = |row: &&Row| row.start.is_some_and(|start| start < window.end)
                && row.end.is_some_and(|end| end > window.start)
                && row.started != Some(Started::InReservation)
                && row.run() > Some(Seconds::ZERO);
            let mut during: Vec<Row> = schedule.rows.iter().filter(within).cloned().collect();
            for row in &mut during {
                row.start = row.start.map(|start| start.max(window.start));
                row.end = row.end.map(|end| end.min(window.end));
            }
            let during: Vec<&Row> = during.iter().collect();
            prop_assert!(most_in_use(&during) <= 8 - i64::from(withheld));
            let inside: Vec<&Row> = schedule.rows.iter().filter(|row| row.started == Some(Started::InReservation)).collect();
            prop_assert!(most_in_use(&inside) <= i64::from(withheld));
            for row in inside {
                prop_assert!(row.start.unwrap() >= window.start && row.end.unwrap() <= window.end);
                prop_assert!(window.users.contains(&"bob".to_owned()) && row.job % 2 == 1);
            }
        }
    }

    /// In order of arrival jobs start in that order.
    #[test]
    fn in_order_starts_are_in_order(lines in lines_up_to(8, 0)) {
        let begun = starts(&lines, 8, &with(Policy::InOrder));
        prop_assert!(begun.is_sorted());
    }

    /// EASY is what its definition says, and never starts the queue's head later than
    /// the reservation that it got when it became the head.
    #[test]
    fn easy_keeps_to_its_definition_and_promise(lines in lines_up_to(8, 1)) {
        let schedule = run_on(&log_of(&lines), &Pool::new(8), &with(Policy::EASY));
        let begun: Vec<i64> = schedule.rows.iter().map(|row| row.start.unwrap().0).collect();
        prop_assert_eq!(begun, easy_by_definition(&lines, 8));
        for row in &schedule.rows {
            prop_assert!(row.promised.is_none_or(|promised| row.start.unwrap() <= promised));
        }
    }

    /// Conservative backfill keeps every promise, whatever comes after it, and under
    /// perfect estimates each job starts exactly when it was promised or at once.
    #[test]
    fn conservative_keeps_every_promise(lines in lines_up_to(8, 0), window in any_window(8), order in any_order()) {
        let windows: Vec<Window> = window.into_iter().filter(|window| window.users.is_empty()).collect();
        let options = Options { windows, order, ..with(Policy::Conservative) };
        let schedule = run_on(&log_of(&lines), &Pool::new(8), &options);
        prop_assert_eq!(schedule.broken_promises, 0);
        for row in &schedule.rows {
            prop_assert!(row.promised.is_none_or(|promised| row.start.unwrap() <= promised));
        }
        let perfect = Options { waiting_estimate: Estimate::Perfect, running_estimate: Estimate::Perfect, ..options };
        // A job of 0 s is believed to take 1.
        let lines: Vec<Line> = lines.iter().map(|&(s, n, r, q)| (s, n, r.max(1), q)).collect();
        let schedule = run_on(&log_of(&lines), &Pool::new(8), &perfect);
        for row in &schedule.rows {
            prop_assert!(row.promised.is_none_or(|promised| row.start == Some(promised)));
            prop_assert!(row.promised.is_some() || row.wait() == Some(Seconds::ZERO));
        }
    }

    /// A machine whose policy finds a place whenever enough nodes are free gives the
    /// same schedule as counting, with nodes that are never double-booked.
    #[test]
    fn placing_nodes_changes_no_start(lines in lines_up_to(8, 1), policy in any_policy(), random in any::<bool>()) {
        let wiring = Arc::new(odonata_placement::Machine::uniform(2, 2, 2).unwrap());
        let how = if random { odonata_placement::Policy::RandomNode } else { odonata_placement::Policy::Contiguous };
        let machine = PlacedMachine::new(wiring, how, 1);
        let in_pool = run_on(&log_of(&lines), &Pool::new(8), &with(policy));
        let placed = run_on(&log_of(&lines), &machine, &with(policy));
        // Overlapping reservations of several jobs may need the same nodes by name,
        // so only orders with at most one of them compare start by start.
        if matches!(policy, Policy::InOrder) {
            for (a, b) in in_pool.rows.iter().zip(&placed.rows) {
                prop_assert_eq!(a.start, b.start);
            }
        }
        for (index, row) in placed.rows.iter().enumerate() {
            let nodes = row.placed.as_ref().unwrap();
            prop_assert_eq!(nodes.len() as u32, row.nodes);
            for other in &placed.rows[..index] {
                let apart = other.end <= row.start || row.end <= other.start;
                let disjoint = nodes.iter().all(|node| !other.placed.as_ref().unwrap().contains(node));
                prop_assert!(apart || disjoint, "jobs {} and {}", other.job, row.job);
            }
            if policy == Policy::EASY {
                prop_assert!(row.promised.is_none_or(|promised| row.start.unwrap() <= promised));
            }
        }
    }

    /// Occupancy is the schedule's work and waiting spread over time.
    #[test]
    fn occupancy_adds_up(lines in lines_up_to(8, 0), interval in 1i64..20) {
        let schedule = run_on(&log_of(&lines), &Pool::new(8), &with(Policy::EASY));
        let full = occupancy(&schedule, Seconds(interval));
        let sum = |means: &[f64]| means.iter().sum::<f64>() * interval as f64;
        let rows = || schedule.rows.iter();
        let work: f64 = rows().map(|row| f64::from(row.nodes) * row.run().unwrap().0 as f64).sum();
        let wait: f64 = rows().map(|row| row.wait().unwrap().0 as f64).sum();
        prop_assert!((sum(&full.busy_nodes) - work).abs() < 1e-6);
        prop_assert!((sum(&full.waiting_jobs) - wait).abs() < 1e-6);
        prop_assert!(full.busy_nodes.iter().all(|&nodes| (-1e-9..=8.0 + 1e-9).contains(&nodes)));
    }
}
