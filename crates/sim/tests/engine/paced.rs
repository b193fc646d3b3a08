//! Open-loop sources with an end, and those that send several messages at a time.

use std::sync::Arc;

use odonata_load::{Arrivals, OpenLoop, Partners, Pattern, Process};
use odonata_network::LinkKind;
use odonata_run::{JobLoad, JobPlan, Outcome};
use odonata_units::{Bytes, Picoseconds, RankId};

use crate::support::{
    MINIMAL, RATE, TO_THE_END, assert_conserved, bandwidth, config, crossbar, job, link, open,
    simulate,
};

const MESSAGE: u64 = 256;
const NODES: u32 = 6;

/// Rank 2 sends to all others at once, `times` times, every `gap_ps`.
fn broadcast(gap_ps: f64, times: u32) -> JobPlan {
    let partners = Partners::all_of_one(NODES, RankId(2)).unwrap();
    let pattern = Pattern::Partners(Arc::new(partners));
    let arrivals = Arrivals::Aligned { gap_ps };
    let source = OpenLoop::new(pattern, arrivals, Bytes(MESSAGE), NODES).unwrap();
    let load = JobLoad::Open(source.ending_after(times).unwrap());
    job("broadcast", 0..NODES, load)
}

fn run(jobs: &[JobPlan]) -> Outcome {
    let topology = crossbar(NODES, link(LinkKind::Terminal, RATE, 10_000, 1 << 16));
    let outcome = simulate(&topology, &MINIMAL, &config(), jobs, &TO_THE_END).unwrap();
    assert_conserved(&outcome);
    outcome
}

/// The root's link sends one message after the other, in order of the receivers, and
/// each goes its own way from the router on: the k-th of them arrives k times the time
/// of a message after the first, and the run ends when the last has.
#[test]
fn a_broadcast_is_as_fast_as_the_link_of_its_root() {
    let each = bandwidth(RATE).duration_of(MESSAGE).0;
    let gap = 20 * each;
    let outcome = run(&[broadcast(gap as f64, 3)]);
    assert_eq!(outcome.messages.len(), 15);
    let first = outcome.messages[0].delivered.0;
    for (index, message) in outcome.messages.iter().enumerate() {
        let (time, k) = ((index / 5) as u64, (index % 5) as u64);
        assert_eq!(message.created.0, time * gap);
        assert_eq!(message.delivered.0, first + time * gap + k * each);
        assert_eq!(message.destination_rank, [0, 1, 3, 4, 5][index % 5]);
    }
    let last = Picoseconds(first + 2 * gap + 4 * each);
    assert_eq!((outcome.jobs[0].end, outcome.end), (Some(last), last));
    assert_eq!(outcome.jobs[0].messages_created, 15);
}

/// Traffic without end goes on until the job that has one is done, and no longer than
/// the engine needs to see that.
#[test]
fn endless_traffic_waits_for_the_others() {
    let uniform = open(
        Pattern::UniformRandom,
        MESSAGE,
        1e8,
        Process::Poisson,
        NODES,
    );
    let endless = job("endless", 0..NODES, uniform);
    let outcome = run(&[endless, broadcast(5e6, 4)]);
    let end = outcome.jobs[1].end.unwrap();
    assert!(end.0 > 15_000_000);
    assert_eq!(outcome.jobs[0].end, None);
    // Boundaries are no further apart than the shortest latency between routers allows,
    // or 2^30 ps where there is one router.
    assert!(
        outcome.end >= end && outcome.end.0 <= end.0 + (1 << 30),
        "{}",
        outcome.end
    );
}
