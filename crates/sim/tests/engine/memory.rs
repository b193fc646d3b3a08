//! A run small enough for Miri, which finds accesses outside an array where the engine
//! does not look for them (see `src/engine/table.rs`): `make miri`.

use std::ops::ControlFlow;

use odonata_load::{Operation, Pattern, Process};
use odonata_network::routing::{AdaptiveOptions, Algorithm, RoutingSpec};
use odonata_run::{
    Arbitration, CreditUse, Crossbar, CrossbarRate, JobPlan, MessageRecords, Observer, Outcome,
    PausedRun, Progress, SimError, Wish,
};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bytes, Picoseconds, RankId};

use crate::support::{
    Listed, MINIMAL, RATE, assert_conserved, config, dragonfly, job, measure, open,
    simulate_observed, uniform_links,
};

const NODES: u32 = 6;
const PAUSE: Picoseconds = Picoseconds(200_000);

/// When runs end. Miri follows those from changed states for a third of that after the pause:
/// by then what was under way at the pause has been taken up.
const END_PS: u64 = 500_000;
const FORGED_END_PS: u64 = if cfg!(miri) { 300_000 } else { END_PS };

/// Keeps the state at [`PAUSE`], and goes on or not.
struct Keeper {
    state: Vec<u8>,
    then: ControlFlow<()>,
}

impl Keeper {
    fn new(then: ControlFlow<()>) -> Self {
        let state = Vec::new();
        Self { state, then }
    }
}

impl Observer for Keeper {
    fn progress(&mut self, _: &Progress) -> Wish {
        Wish::Continue
    }
    fn next_pause(&mut self) -> Option<Picoseconds> {
        self.state.is_empty().then_some(PAUSE)
    }
    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        run.save(&mut self.state).expect("memory takes everything");
        Ok(self.then)
    }
}

/// Messages of one packet and of several above what the links carry, so that channels
/// run out of credits, and ranks that wait for each other.
fn jobs() -> [JobPlan; 3] {
    let uniform = |bytes| {
        let rate = 0.6 * RATE as f64;
        open(Pattern::UniformOrSelf, bytes, rate, Process::Poisson, NODES)
    };
    let exchange = |rank: u32| {
        let peer = RankId(rank ^ 1);
        vec![
            Operation::Send {
                to: peer,
                bytes: Bytes(700),
                tag: 0,
            },
            Operation::Receive { from: peer, tag: 0 },
        ]
    };
    [
        job("short", 0..NODES, uniform(256)),
        job("long", 0..NODES, uniform(900)),
        job(
            "ranks",
            [0, 5],
            Listed::load((0..2).map(exchange).collect()),
        ),
    ]
}

/// What the tests vary: routing, crossbar, who takes credits, whose turn it is.
fn models() -> [(RoutingSpec, Crossbar, CreditUse, Arbitration); 4] {
    let adaptive = RoutingSpec::new(Algorithm::UgalLocal(AdaptiveOptions::default()));
    let bounded = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(1.5),
        output_buffer: Bytes(512),
    };
    [
        (
            MINIMAL,
            Crossbar::Ideal,
            CreditUse::Link,
            Arbitration::RoundRobin,
        ),
        (
            adaptive,
            Crossbar::Ideal,
            CreditUse::Link,
            Arbitration::OldestFirst,
        ),
        (
            adaptive,
            Crossbar::Ideal,
            CreditUse::Crossbar,
            Arbitration::LowestChannel,
        ),
        (
            adaptive,
            bounded,
            CreditUse::Crossbar,
            Arbitration::RoundRobin,
        ),
    ]
}

/// Runs one of the [`models`], from the start or a saved state.
fn simulate_model(
    model: (RoutingSpec, Crossbar, CreditUse, Arbitration),
    (threads, end_ps): (usize, u64),
    saved: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    let topology = dragonfly(1, 2, 1, 3, uniform_links(RATE, 10_000, 1 << 10));
    let (routing, crossbar, credit_use, arbitration) = model;
    let mut config = config();
    config.threads = threads;
    config.router.delay = Picoseconds(5_000);
    config.router.crossbar = crossbar;
    config.router.credit_use = credit_use;
    config.router.arbitration = arbitration;
    let measurement = measure(50_000, end_ps, MessageRecords::EveryNth(1));
    simulate_observed(
        &topology,
        &routing,
        &config,
        &jobs(),
        &measurement,
        saved,
        observer,
    )
}

/// The same end with and without a stop on the way, on one thread and on two, with ideal
/// crossbars and bounded ones.
#[test]
fn small_networks_of_all_kinds_of_routers() {
    for model in models() {
        let run = |threads, saved, observer: &mut dyn Observer| {
            simulate_model(model, (threads, END_PS), saved, observer).expect("a run without errors")
        };
        let mut keeper = Keeper::new(ControlFlow::Continue(()));
        let whole = run(1, None, &mut keeper);
        assert_conserved(&whole);
        assert!(
            whole.messages.len() > 15,
            "{} messages",
            whole.messages.len()
        );
        let mut silent = |_: &Progress| ControlFlow::Continue(());
        let resumed = run(2, Some(&keeper.state), &mut silent);
        assert_eq!(resumed.messages, whole.messages);
        assert_eq!(resumed.conservation, whole.conservation);
    }
}

/// Saved states of which one number was changed to where types and tables end are refused,
/// or go on to some end: never outside an array.
#[test]
fn forged_states_stay_inside_their_arrays() {
    let forgeries: u64 = if cfg!(miri) { 25 } else { 200 };
    let draws = StreamKey::new(1, Purpose::Workload);
    let mut refused = 0;
    for (number, model) in (0..).zip(models()) {
        let mut keeper = Keeper::new(ControlFlow::Break(()));
        simulate_model(model, (1, FORGED_END_PS), None, &mut keeper).expect("a run without errors");
        for forgery in 0..forgeries {
            let state = &keeper.state;
            let draw = |n, bound| draws.below(number << 32 | forgery, n, bound);
            // Of a number of several bytes the last has no highest bit.
            let place = draw(0, state.len() as u32) as usize;
            let end = place
                + state[place..]
                    .iter()
                    .take_while(|&&byte| byte > 127)
                    .count();
            let ends = [
                0,
                1,
                16,
                255,
                4_096,
                65_535,
                1 << 31,
                (1 << 32) - 2,
                1 << 62,
            ];
            let mut value: u64 = ends[draw(1, ends.len() as u32) as usize];
            let mut changed = state[..place].to_vec();
            while value > 127 {
                changed.push(value as u8 | 128);
                value >>= 7;
            }
            changed.push(value as u8);
            changed.extend(&state[(end + 1).min(state.len())..]);
            // The record that it is in has another length now.
            let mut begin = 0;
            loop {
                let length = u32::from_le_bytes(state[begin..begin + 4].try_into().unwrap());
                let next = begin + 4 + length as usize;
                if place < next {
                    let length = length as usize + changed.len() - state.len();
                    if place >= begin + 4 {
                        changed[begin..begin + 4].copy_from_slice(&(length as u32).to_le_bytes());
                    }
                    break;
                }
                begin = next;
            }
            let mut silent = |_: &Progress| ControlFlow::Continue(());
            if let Err(error) =
                simulate_model(model, (1, FORGED_END_PS), Some(&changed), &mut silent)
            {
                let text = error.to_string();
                assert!(!text.contains("outside a table"), "byte {place}: {text}");
                refused += 1;
            }
        }
    }
    assert!(refused > forgeries, "{refused}");
}
