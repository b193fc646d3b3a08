//! A run that is saved at any moment and taken up again, on any number of
//! threads, ends like one that never stopped.

use std::cell::Cell;
use std::ops::ControlFlow;

use odonata_run::{Observer, PausedRun, Progress, SimError, Wish};
use odonata_units::Picoseconds;
use proptest::prelude::any;
use proptest::test_runner::TestRunner;

use crate::properties::{assert_same, cases, outcome};
use crate::scenario::scenario;

/// Saves the state at a time and ends the run there.
struct SaveAt {
    at: Picoseconds,
    state: Vec<u8>,
}

impl Observer for SaveAt {
    fn progress(&mut self, _: &Progress) -> Wish {
        Wish::Continue
    }
    fn next_pause(&mut self) -> Option<Picoseconds> {
        Some(self.at)
    }
    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        run.save(&mut self.state).expect("memory takes everything");
        Err(SimError::Interrupted { at: run.at })
    }
}

/// The state at a time; `None` if the run ends before.
fn state_at(
    scenario: &crate::scenario::Scenario,
    at: Picoseconds,
    threads: usize,
) -> Option<Vec<u8>> {
    let mut saving = SaveAt {
        at,
        state: Vec::new(),
    };
    match scenario.run_observed(threads, &mut saving)? {
        Err(SimError::Interrupted { .. }) => Some(saving.state),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Saved on some threads and resumed on others; saved again on the way and
/// resumed from there. The saved bytes do not depend on the threads either.
#[test]
fn a_resumed_run_ends_like_one_that_never_stopped() {
    let mut runner = TestRunner::new(cases(80));
    let share = 0.0..1.0f64;
    let strategy = (scenario(true), share.clone(), share, 2..4usize, 0..3u32);
    let resumed = Cell::new(0);
    runner
        .run(&strategy, |(scenario, first, second, saving, going_on)| {
            let Some(whole) = outcome(&scenario) else {
                return Ok(());
            };
            let end = whole.end.0 as f64;
            let early = Picoseconds((end * first) as u64);
            let late = Picoseconds((end * (first + (1.0 - first) * second)) as u64);
            let Some(state) = state_at(&scenario, early, 1) else {
                return Ok(());
            };
            // Not `assert_eq`: nobody wants to read these bytes.
            let same = state_at(&scenario, early, saving).as_ref() == Some(&state);
            assert!(same, "{saving} threads save other bytes");
            let other = scenario.resume(1 << going_on, &state, &mut |_: &Progress| {
                ControlFlow::Continue(())
            });
            assert_same(&whole, &other.unwrap().unwrap(), "resumed");
            // A state saved by a resumed run is that of a run from the start.
            let mut saving = SaveAt {
                at: late,
                state: Vec::new(),
            };
            let again = scenario.resume(2, &state, &mut saving).unwrap();
            if let Some(expected) = state_at(&scenario, late, 1) {
                assert!(matches!(again, Err(SimError::Interrupted { .. })));
                let same = saving.state == expected;
                assert!(same, "a resumed run saves other bytes");
                resumed.set(resumed.get() + 1);
            }
            Ok(())
        })
        .unwrap();
    let resumed = resumed.get();
    assert!(resumed >= 40, "only {resumed} runs could be resumed twice");
}

/// Indices of the hot path are not checked in a release, so whatever stands in a saved
/// state must have been checked when it is taken up. A changed state is refused, at once or
/// where it contradicts itself, or goes on to some end: here, where indices are checked, never
/// at one outside its table.
#[test]
fn no_changed_state_leads_outside_a_table() {
    let mut runner = TestRunner::new(cases(60));
    let change = (0.0..1.0f64, any::<u8>());
    let changes = proptest::collection::vec(change, 40);
    let strategy = (scenario(true), 0.1..0.9f64, changes);
    let (refused, taken_up) = (Cell::new(0), Cell::new(0));
    runner
        .run(&strategy, |(scenario, at, changes)| {
            let Some(whole) = outcome(&scenario) else {
                return Ok(());
            };
            let at = Picoseconds((whole.end.0 as f64 * at) as u64);
            let Some(state) = state_at(&scenario, at, 1) else {
                return Ok(());
            };
            for (place, value) in changes {
                let mut changed = state.clone();
                let place = (place * state.len() as f64) as usize;
                changed[place] = value;
                // A message that has become endless is stopped at the second look.
                let mut looks = 0;
                let mut watch = |_: &Progress| {
                    looks += 1;
                    match looks {
                        1 => ControlFlow::Continue(()),
                        _ => ControlFlow::Break(()),
                    }
                };
                match scenario.resume(1, &changed, &mut watch) {
                    Some(Err(SimError::State(why))) => {
                        assert!(!why.contains("outside a table"), "byte {place}: {why}");
                        refused.set(refused.get() + 1);
                    }
                    _ => taken_up.set(taken_up.get() + 1),
                }
            }
            Ok(())
        })
        .unwrap();
    let counts = (refused.get(), taken_up.get());
    assert!(counts.0 >= 300 && counts.1 >= 300, "{counts:?}");
}
