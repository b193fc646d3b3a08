//! Schedules with known answers.

mod network;
mod outages;
mod properties;

use std::ops::ControlFlow;

use odonata_placement::grap::GrapMode;
use odonata_units::NodeId;

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
    // The nodes of each as its priority is the same order; equal ones come as submitted.
    let nodes = vec![8.0, 8.0, 6.0, 7.0];
    assert_eq!(of(Order::Listed(nodes)), of(Order::LargestFirst));
    assert_eq!(of(Order::Listed(vec![1.0; 4])), of(Order::Fcfs));
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

/// Four groups of six nodes, all jobs one after the other. Four nodes need one group, eight
/// two, 13 three; jobs spread over three groups have 1.5 times what eight nodes need, and as
/// many as 13 need.
#[test]
fn fragmentation_is_groups_over_least_groups() {
    let spread = |groups| GrapMode::CustomBalance { groups };
    let lines = [(0, 4, 1, 1), (9, 8, 1, 1), (19, 8, 1, 1), (29, 13, 1, 1)];
    let modes = vec![spread(3), GrapMode::Adaptive, spread(3), spread(3)];
    let machine = GrapMachine::equal_groups(24, 4, modes);
    let schedule = run_on(&log_of(&lines), &machine, &Options::default());
    let found: Vec<_> = (schedule.rows.iter().flat_map(|row| row.spread))
        .map(|spread| (spread.groups, spread.least))
        .collect();
    assert_eq!(found, [(1, 1), (2, 2), (3, 2), (3, 3)]);
    let summary = summarise(&schedule, Seconds(10), &size_classes(24));
    assert_eq!(summary.fragmentation, 4.5 / 4.0);
    let classes: Vec<_> = summary
        .classes
        .iter()
        .map(|class| class.fragmentation)
        .collect();
    // 4 to 7 nodes, and 8 to 15; nobody has less, or more.
    assert_eq!(classes[2..4], [1.0, 3.5 / 3.0]);
    assert!(classes[0].is_nan() && classes[1].is_nan() && classes[4].is_nan());
    // Machines that do not know groups have no fragmentation.
    let schedule = run_on(&log_of(&lines), &Pool::new(24), &Options::default());
    assert!(
        summarise(&schedule, Seconds(10), &[])
            .fragmentation
            .is_nan()
    );
}

/// Nodes by a placement policy: 3 groups of 2 routers of 2 nodes. Contiguous jobs touch a
/// border, a job that is spread over routers has all groups.
#[test]
fn placed_jobs_are_in_the_groups_of_their_nodes() {
    let wiring = std::sync::Arc::new(odonata_placement::Machine::uniform(3, 2, 2).unwrap());
    let lines = [(0, 3, 5, 5), (0, 3, 5, 5), (0, 6, 5, 5)];
    let policy = odonata_placement::Policy::Contiguous;
    let schedule = run_on(
        &log_of(&lines),
        &PlacedMachine::new(wiring, policy, 1),
        &Options::default(),
    );
    let spread = |row: &Row| {
        let spread = row.spread.unwrap();
        (spread.groups, spread.least)
    };
    let found: Vec<_> = schedule.rows.iter().map(spread).collect();
    // Nodes 0 to 2; 3 to 5, over the border at 4; 6 to 11, over that at 8.
    assert_eq!(found, [(1, 1), (2, 1), (2, 2)]);
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

#[test]
fn promises_between_passes_are_kept_at_the_next_one() {
    // The machine works at multiples of 7 s, and promises fall due between them. Each
    // moves to the next pass instead of being planned anew behind the others, which
    // once let four jobs push each other back for ever.
    let lines = [
        (0, 1, 0, 0),
        (1, 6, 8, 9),
        (1, 6, 1, 4),
        (1, 3, 0, 8),
        (1, 5, 8, 14),
        (6, 6, 1, 12),
        (15, 6, 0, 6),
        (15, 2, 8, 0),
        (15, 1, 8, 3),
        (22, 8, 1, 2),
        (22, 4, 0, 19),
        (22, 3, 8, 9),
        (22, 8, 8, 7),
        (22, 7, 0, 10),
        (29, 3, 0, 16),
        (29, 5, 1, 3),
        (33, 3, 8, 2),
    ];
    let options = Options {
        order: Order::LargestFirst,
        enforce_limits: false,
        passes: Passes::Every(Seconds(7)),
        ..with(Policy::Conservative)
    };
    let begun = starts(&lines, 8, &options);
    assert!(
        begun
            .iter()
            .all(|start| start % 7 == 0 && *start < 33 + 7 * 17),
        "{begun:?}"
    );
}

#[test]
fn an_overdue_job_is_expected_to_go_on_as_long_as_it_did() {
    // A (5 of 10 nodes) asked for 10 s and runs 100. B wants all nodes: promised 10,
    // then, at 10, 11; the scheduler looks again when C comes at 30: A is 20 s over,
    // so B is expected at 50, and C (5 nodes, 20 s) fits before it.
    let lines = [(0, 5, 100, 10), (1, 10, 10, 10), (30, 5, 20, 20)];
    let options = Options {
        enforce_limits: false,
        ..Options::default()
    };
    assert_eq!(starts(&lines, 10, &options), [0, 100, 30]);
    // With 21 s it would end at 51.
    let longer = [lines[0], lines[1], (30, 5, 21, 21)];
    assert_eq!(starts(&longer, 10, &options), [0, 100, 110]);
}

#[test]
fn a_job_that_is_due_now_is_over_within_the_second() {
    // A and B end at 10, one event after the other. Between them B is due in this very
    // second, so that C, which wants all nodes, is promised 10, and D, of 1 s on A's
    // nodes, would delay it.
    let lines = [
        (0, 5, 10, 10),
        (0, 5, 10, 10),
        (1, 10, 10, 10),
        (2, 5, 1, 1),
    ];
    for policy in [
        Policy::EASY,
        Policy::Backfill { depth: 2 },
        Policy::REPLANNED,
    ] {
        let options = Options {
            passes: Passes::PerEvent,
            ..with(policy)
        };
        let schedule = run_on(&log_of(&lines), &Pool::new(10), &options);
        let begun: Vec<_> = schedule
            .rows
            .iter()
            .map(|row| row.start.unwrap().0)
            .collect();
        assert_eq!(begun, [0, 0, 10, 20], "{policy:?}");
        assert_eq!(schedule.rows[2].promised, Some(Seconds(10)), "{policy:?}");
    }
}

/// What was recorded counts what is simulated, so that their utilisations compare.
#[test]
fn recorded_schedules_count_what_simulated_ones_do() {
    let mut log = log_of(&[(0, 1, 10, 10), (0, 1, 10, 10)]);
    for (job, processors) in log.jobs.iter_mut().zip([3, 5]) {
        job.requested_processors = Some(processors);
        job.start = Some(Seconds(0));
    }
    let used = |schedule: &Schedule| summarise(schedule, Seconds(10), &[]).utilisation;
    let shared = Options {
        share: Share::Processors(4),
        ..Options::default()
    };
    let simulated = run_on(&log, &Pool::new(16), &shared);
    let recorded = Schedule::recorded(&log, 16, shared.share);
    assert_eq!((used(&simulated), used(&recorded)), (0.5, 0.5));
    let recorded = Schedule::recorded(&log, 4, Share::Nodes);
    assert_eq!(used(&recorded), 0.5);
}
