//! Schedules where jobs slow each other down, with known answers.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::network::{Allocation, Network};
use super::super::{Fate, Options, Policy, Pool, Schedule, simulate_with};
use super::{Line, log_of, run_on, with};
use crate::Seconds;

/// A wire that all running jobs share: with n of them each runs at 1/n.
#[derive(Default)]
struct Wire(BTreeMap<u32, f64>);

impl Network for Wire {
    fn begin(&mut self, job: u32, _: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
        self.0.insert(job, 1.0);
        0.0
    }
    fn end(&mut self, job: u32, _: Seconds) {
        self.0.remove(&job).expect("a job that ends has begun");
    }
    fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        let share = 1.0 / self.0.len() as f64;
        for (&job, speed) in &mut self.0 {
            if *speed != share {
                *speed = share;
                changed.push((job, share));
            }
        }
        Ok(())
    }
}

/// Every job at the same speed.
struct Steady(f64, Vec<u32>);

impl Network for Steady {
    fn begin(&mut self, job: u32, _: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
        self.1.push(job);
        0.0
    }
    fn end(&mut self, _: u32, _: Seconds) {}
    fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        changed.extend(self.1.drain(..).map(|job| (job, self.0)));
        Ok(())
    }
}

/// Jobs stand still for so long, then each runs at half speed.
struct Late(f64, Vec<u32>);

impl Network for Late {
    fn begin(&mut self, job: u32, _: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
        self.1.push(job);
        self.0
    }
    fn end(&mut self, _: u32, _: Seconds) {}
    fn settle(&mut self, _: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String> {
        changed.extend(self.1.iter().map(|&job| (job, 0.5)));
        Ok(())
    }
}

fn shared(lines: &[Line], nodes: u32, options: &Options, network: &mut dyn Network) -> Schedule {
    let go_on = &mut |_, _| ControlFlow::Continue(());
    simulate_with(&log_of(lines), &Pool::new(nodes), options, network, go_on).unwrap()
}

fn ends(schedule: &Schedule) -> Vec<i64> {
    schedule.rows.iter().map(|row| row.end.unwrap().0).collect()
}

#[test]
fn running_jobs_stretch_and_shrink_as_others_come_and_go() {
    // A has 100 s of work. Alone until 40 (60 left), then with B (30 s of work) at
    // half speed: B ends at 100, and A has 30 left, alone: 130.
    let lines = [(0, 1, 100, 0), (40, 1, 30, 0)];
    let schedule = shared(&lines, 4, &with(Policy::EASY), &mut Wire::default());
    assert_eq!(ends(&schedule), [130, 100]);
}

#[test]
fn slow_jobs_are_killed_at_their_limit() {
    // At half speed 100 s of work take 200 s, and the user asked for 150.
    let lines = [(0, 1, 100, 150), (0, 1, 60, 150)];
    let schedule = shared(&lines, 4, &with(Policy::EASY), &mut Steady(0.5, vec![]));
    assert_eq!(ends(&schedule), [150, 120]);
    assert_eq!(schedule.rows[0].fate, Fate::Killed);
    assert_eq!(schedule.rows[1].fate, Fate::Finished);
    let kind = Options {
        enforce_limits: false,
        ..with(Policy::EASY)
    };
    let schedule = shared(&lines, 4, &kind, &mut Steady(0.5, vec![]));
    assert_eq!(ends(&schedule), [200, 120]);
}

#[test]
fn jobs_stand_still_before_they_work() {
    // 0.1 s of standing still, then 10 s of work at half speed: 20.1 s, rounded up.
    let lines = [(0, 1, 10, 0)];
    let schedule = shared(&lines, 4, &with(Policy::EASY), &mut Late(0.1, vec![]));
    assert_eq!(ends(&schedule), [21]);
    // 30 s of standing still, which a change of speed (the same one) at 20 and at 40
    // interrupts: the first has done 5 of its 10 s of work at 40 and ends at 50. The
    // others, of no work, end when they may start.
    let lines = [(0, 1, 10, 0), (20, 1, 0, 0), (40, 1, 0, 0)];
    let schedule = shared(&lines, 4, &with(Policy::EASY), &mut Late(30.0, vec![]));
    assert_eq!(ends(&schedule), [50, 50, 70]);
}

#[test]
fn who_waits_benefits_from_who_is_faster() {
    // Twice as fast, the first frees the machine at 50, not at 100.
    let lines = [(0, 4, 100, 100), (1, 4, 10, 10)];
    let schedule = shared(&lines, 4, &with(Policy::EASY), &mut Steady(2.0, vec![]));
    assert_eq!(ends(&schedule), [50, 55]);
}

proptest! {
    /// At speed 1 nothing is different, whatever the limits.
    #[test]
    fn speed_one_is_the_log(lines in proptest::collection::vec((0i64..60, 1u32..=8, 0i64..40, 0i64..50), 1..40)) {
        let mut lines = lines;
        lines.sort_by_key(|line| line.0);
        let alone = run_on(&log_of(&lines), &Pool::new(8), &with(Policy::EASY));
        let steady = shared(&lines, 8, &with(Policy::EASY), &mut Steady(1.0, vec![]));
        prop_assert_eq!(alone, steady);
    }

    /// Work is neither lost nor made: on the shared wire one second of work is done
    /// per second while anybody runs, but for rounding up of each end.
    #[test]
    fn work_is_conserved(lines in proptest::collection::vec((0i64..200, 1u32..=2, 1i64..40), 1..25)) {
        let mut lines: Vec<Line> = lines.into_iter().map(|(at, nodes, run)| (at, nodes, run, 0)).collect();
        lines.sort_by_key(|line| line.0);
        let schedule = shared(&lines, 8, &with(Policy::EASY), &mut Wire::default());
        let mut spans: Vec<(i64, i64)> = schedule.rows.iter().map(|row| (row.start.unwrap().0, row.end.unwrap().0)).collect();
        spans.sort_unstable();
        let (mut busy, mut until) = (0, i64::MIN);
        for (start, end) in spans {
            busy += (end - start.max(until)).max(0);
            until = until.max(end);
        }
        let work: i64 = lines.iter().map(|line| line.2).sum();
        prop_assert!(busy >= work && busy <= work + lines.len() as i64, "{busy} {work}");
    }
}
