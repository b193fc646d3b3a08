//! What holds for every schedule.

use std::sync::Arc;

use odonata_placement::grap::GrapMode;
use proptest::prelude::*;

use super::*;
use crate::Seconds;

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
    // A machine on which jobs wait is never empty, so that by then the last has started.
    let last = lines.iter().map(|line| line.0).max().unwrap_or(0);
    let latest = last + lines.iter().map(|line| run(line).max(1)).sum::<i64>();
    for now in 0..=latest {
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
    start
        .into_iter()
        .map(|start| start.expect("started by the latest time"))
        .collect()
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
        Just(Order::LongestFirst),
        Just(Order::SmallestFirst),
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

/// A pool of nodes that does not tell that counting is all: it is planned for like any
/// other machine, by laying its future out in every pass.
#[derive(Clone)]
struct LaidOut(Pool);

impl Machine for LaidOut {
    type Held = u32;
    type Refusal = <Pool as Machine>::Refusal;

    fn size(&self) -> u32 {
        self.0.size()
    }
    fn free(&self) -> u32 {
        self.0.free()
    }
    fn place(&self, ask: &Ask) -> Result<u32, Self::Refusal> {
        self.0.place(ask)
    }
    fn take(&mut self, held: &u32) {
        self.0.take(held);
    }
    fn give_back(&mut self, held: &u32) {
        self.0.give_back(held);
    }
    fn overlay(&mut self, other: &Self) {
        self.0.overlay(&other.0);
    }
    fn out_of_service(&self, node: NodeId) -> u32 {
        self.0.out_of_service(node)
    }
    fn withhold(&mut self, nodes: &Withheld, used: u32) {
        self.0.withhold(nodes, used);
    }
    fn within(&self, nodes: &Withheld, used: u32) -> Self {
        Self(self.0.within(nodes, used))
    }
    fn idle(&self) -> Self {
        Self(self.0.idle())
    }
}

/// Jobs that come faster than they can run, so that queues are long.
fn crowd(nodes: u32) -> impl Strategy<Value = Vec<Line>> {
    let line = (0i64..60, 1..=nodes, 0i64..25, 0i64..30);
    prop::collection::vec(line, 1..70).prop_map(|mut lines| {
        lines.sort_by_key(|line| line.0);
        lines
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Plans of machines that only count are found in other ways; their schedules are the
    /// same, job by job, promise by promise.
    #[test]
    fn counting_changes_nothing(
        lines in crowd(12),
        policy in any_policy(),
        order in any_order(),
        window in any_window(12),
        enforce_limits in any::<bool>(),
        waiting in prop::sample::select(vec![Estimate::Requested, Estimate::Perfect, Estimate::Factor(2.5)]),
        running in prop::sample::select(vec![Estimate::Requested, Estimate::Perfect, Estimate::Factor(1.5)]),
        passes in prop::sample::select(vec![Passes::PerInstant, Passes::PerEvent, Passes::Every(Seconds(7))]),
    ) {
        prop_assume!((policy, passes) != (Policy::Conservative, Passes::PerEvent));
        let options = Options {
            policy,
            order,
            enforce_limits,
            waiting_estimate: waiting,
            running_estimate: running,
            passes,
            windows: window.into_iter().collect(),
            ..Options::default()
        };
        let log = log_of(&lines);
        let counted = run_on(&log, &Pool::new(12), &options);
        let laid_out = run_on(&log, &LaidOut(Pool::new(12)), &options);
        prop_assert_eq!(counted, laid_out);
    }
}

/// As many jobs at once as it takes that promises and free nodes fill several blocks, and gaps have many
/// steps; a few of them are wide and most are narrow, as in logs.
fn long_queue(nodes: u32) -> impl Strategy<Value = Vec<Line>> {
    let width = prop_oneof![8 => 1..=4u32, 4 => 1..=nodes / 4, 1 => 1..=nodes];
    let length = prop_oneof![3 => 1i64..60, 1 => 1i64..900];
    let line = (
        0i64..600,
        width,
        length,
        prop::sample::select(vec![1i64, 1, 2, 3, 8]),
    );
    prop::collection::vec(line, 150..300).prop_map(|lines| {
        let request = |(at, width, run, factor)| (at, width, run, run * factor);
        let mut lines: Vec<Line> = lines.into_iter().map(request).collect();
        lines.sort_by_key(|line| line.0);
        lines
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Under conservative backfill only those are looked at who may be able to move. A
    /// machine of which it is not known that it only counts looks at everybody, in order of
    /// the queue, whenever a job ends early.
    #[test]
    fn who_is_not_looked_at_could_not_have_moved(
        lines in long_queue(32),
        order in any_order(),
        passes in prop::sample::select(vec![Passes::PerInstant, Passes::PerInstant, Passes::Every(Seconds(30))]),
        running in prop::sample::select(vec![Estimate::Requested, Estimate::Requested, Estimate::Perfect, Estimate::Factor(1.5)]),
        enforce_limits in any::<bool>(),
    ) {
        let options = Options { order, passes, enforce_limits, running_estimate: running, ..with(Policy::Conservative) };
        let log = log_of(&lines);
        let marked = run_on(&log, &Pool::new(32), &options);
        prop_assert_eq!(marked, run_on(&log, &LaidOut(Pool::new(32)), &options));
    }
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

    /// Under GRAP, with any policy: a group has at most one large job at a time and no
    /// more nodes in use than it has; small jobs sit in one group; every job that is
    /// not refused runs; EASY keeps the promise to the queue's head.
    #[test]
    fn grap_keeps_its_rules_over_time(lines in lines_up_to(24, 1), policy in any_policy(), order in any_order(), window in any_window(24)) {
        let modes = (0..lines.len()).map(|job| match job % 3 {
            0 => GrapMode::Adaptive,
            1 => GrapMode::MinimalBalance,
            _ => GrapMode::CustomBalance { groups: 3 },
        });
        let machine = GrapMachine::equal_groups(24, 4, modes.collect());
        let options = Options { order: order.clone(), windows: window.into_iter().collect(), ..with(policy) };
        let schedule = run_on(&log_of(&lines), &machine, &options);
        for (index, row) in schedule.rows.iter().enumerate() {
            let large = row.nodes > 6;
            if let Fate::Refused(reason) = &row.fate {
                // Three groups of 6 nodes hold 18.
                prop_assert!(large && index % 3 == 2 && row.nodes > 18, "{}", reason);
                continue;
            }
            let groups = row.groups.as_ref().unwrap();
            prop_assert_eq!(groups.iter().map(|&(_, count)| count).sum::<u32>(), row.nodes);
            prop_assert!(large || groups.len() == 1);
            for other in schedule.rows[..index].iter().filter(|other| other.groups.is_some()) {
                let apart = other.end <= row.start || row.end <= other.start;
                let shared = groups.iter().any(|(group, _)| other.groups.iter().flatten().any(|(theirs, _)| theirs == group));
                prop_assert!(apart || !shared || !large || other.nodes <= 6);
            }
            if policy == Policy::EASY && order == Order::Fcfs {
                prop_assert!(row.promised.is_none_or(|promised| row.start.unwrap() <= promised));
            }
        }
        // Nodes in use in each group never exceed it.
        for group in 0..4u32 {
            let parts: Vec<Row> = schedule.rows.iter().filter_map(|row| {
                let nodes = row.groups.iter().flatten().find(|(of, _)| *of == group)?.1;
                Some(Row { nodes, ..row.clone() })
            }).collect();
            let parts: Vec<&Row> = parts.iter().collect();
            prop_assert!(most_in_use(&parts) <= 6);
        }
    }
}
