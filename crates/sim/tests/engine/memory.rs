//! A run small enough for Miri, which finds accesses outside an array where the engine
//! does not look for them (see `src/engine/table.rs`):
//!
//! ```sh
//! MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --release -p odonata-sim --test engine memory
//! ```

use std::ops::ControlFlow;

use odonata_load::{Operation, Pattern, Process};
use odonata_network::routing::{AdaptiveOptions, Algorithm, RoutingSpec};
use odonata_sim::{
    Arbitration, CreditUse, Crossbar, JobPlan, MessageRecords, Observer, Outcome, PausedRun,
    Progress, SimError, Wish,
};
use odonata_units::{Bytes, Picoseconds, RankId};

use crate::support::{
    Listed, MINIMAL, RATE, assert_conserved, config, dragonfly, job, measure, open,
    simulate_observed, uniform_links,
};

const NODES: u32 = 6;
const PAUSE: Picoseconds = Picoseconds(200_000);

/// Keeps the state at [`PAUSE`] and goes on.
#[derive(Default)]
struct Keeper(Vec<u8>);

impl Observer for Keeper {
    fn progress(&mut self, _: &Progress) -> Wish {
        Wish::Continue
    }
    fn next_pause(&mut self) -> Option<Picoseconds> {
        self.0.is_empty().then_some(PAUSE)
    }
    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        run.save(&mut self.0).expect("memory takes everything");
        Ok(ControlFlow::Continue(()))
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

/// The same end with and without a stop on the way, on one thread and on two, with ideal
/// crossbars and bounded ones.
#[test]
fn small_networks_of_all_kinds_of_routers() {
    let topology = dragonfly(1, 2, 1, 3, uniform_links(RATE, 10_000, 1 << 10));
    let adaptive = RoutingSpec::new(Algorithm::UgalLocal(AdaptiveOptions::default()));
    let bounded = Crossbar::Bounded {
        speedup: 1.5,
        output_buffer: Bytes(512),
    };
    for (routing, crossbar, credit_use, arbitration) in [
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
            bounded,
            CreditUse::Crossbar,
            Arbitration::RoundRobin,
        ),
    ] {
        let run = |threads: usize, saved: Option<&[u8]>, observer: &mut dyn Observer| -> Outcome {
            let mut config = config();
            config.threads = threads;
            config.router.delay = Picoseconds(5_000);
            config.router.crossbar = crossbar;
            config.router.credit_use = credit_use;
            config.router.arbitration = arbitration;
            let measurement = measure(50_000, 500_000, MessageRecords::EveryNth(1));
            simulate_observed(
                &topology,
                &routing,
                &config,
                &jobs(),
                &measurement,
                saved,
                observer,
            )
            .expect("a run without errors")
        };
        let mut keeper = Keeper::default();
        let whole = run(1, None, &mut keeper);
        assert_conserved(&whole);
        assert!(
            whole.messages.len() > 15,
            "{} messages",
            whole.messages.len()
        );
        let mut silent = |_: &Progress| ControlFlow::Continue(());
        let resumed = run(2, Some(&keeper.0), &mut silent);
        assert_eq!(resumed.messages, whole.messages);
        assert_eq!(resumed.conservation, whole.conservation);
    }
}
