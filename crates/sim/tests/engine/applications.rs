//! Application skeletons on an idle network take the time that their structure
//! gives.

use std::sync::Arc;

use odonata_load::application::{ComputeRate, Schedule, Setting, Skeleton, Sweep3d, Training};
use odonata_load::{Grid, Program};
use odonata_network::{LinkClass, LinkKind};
use odonata_run::{EngineConfig, JobLoad, RouterModel, Switching};
use odonata_units::{Bytes, RankId};

use crate::support::{
    MINIMAL, RATE, TO_THE_END, assert_conserved, config, crossbar, job, link, simulate,
};

const LATENCY: u64 = 10_000;
const DELAY: u64 = 40_000;

fn terminal() -> LinkClass {
    link(LinkKind::Terminal, RATE, LATENCY, 1 << 20)
}

/// Packets as large as any message, stored and forwarded: a message of M bytes
/// arrives 2 τ(M) + 2 L + δ after it was sent.
fn whole_messages() -> EngineConfig {
    let config = config();
    EngineConfig {
        packet: Bytes(1 << 16),
        router: RouterModel {
            switching: Switching::StoreAndForward,
            ..config.router
        },
        ..config
    }
}

/// When a job on all nodes of a crossbar ends.
fn end(program: Arc<dyn Program>) -> u64 {
    let ranks = program.ranks();
    let topology = crossbar(ranks, terminal());
    let job = job("application", 0..ranks, JobLoad::Closed(program));
    let outcome = simulate(&topology, &MINIMAL, &whole_messages(), &[job], &TO_THE_END).unwrap();
    assert_conserved(&outcome);
    outcome.jobs[0].end.unwrap().0
}

/// Time that `bytes` bytes take on a link.
fn duration(bytes: u64) -> u64 {
    bytes * 1_000_000_000_000 / RATE
}

/// Every rank takes what flows in from two neighbours, computes, and sends to the
/// other two, block after block; the time is that of the recurrence which says just
/// this. Where two messages come to a rank at once, as they do in a square of ranks
/// with faces of one size, one waits for the other on the last link.
#[test]
fn a_sweep_takes_the_time_of_its_pipeline() {
    let sweep = |p: u32, q: u32, nz: u32, kba: u32| Sweep3d {
        cells: [10, 10, nz],
        kba,
        angles: 4,
        grid: Some(vec![p, q]),
        ..Sweep3d::default()
    };
    // Long enough that messages of a block never meet those of the next.
    let c = 3_000_000;
    for (p, q, nz, kba) in [(5, 1, 12, 2), (1, 4, 7, 7), (3, 4, 12, 3), (4, 4, 20, 1)] {
        let blocks = u64::from(nz / kba);
        let setting = Setting {
            compute_rate: Some(ComputeRate::ComputePs(8 * blocks * c)),
            ..Setting::new(p * q)
        };
        let script = sweep(p, q, nz, kba).script(&setting, 1).unwrap();
        let face = duration(10 * 4 * 8 * u64::from(kba));
        let found = end(Arc::new(script));
        assert_eq!(
            found,
            octants(p, q, blocks, c, face),
            "{p}x{q}, {blocks} blocks"
        );
    }

    // The first octant on a line, in closed form: steps to fill the pipeline, then
    // one period of the first rank for each further block (Hoisie et al. 2000).
    let (p, n, face) = (5, 6, duration(320));
    let message = 2 * face + 2 * LATENCY + DELAY;
    let grid = Grid::new(&[p as u32, 1], false).unwrap();
    let mut clock = vec![0; p as usize];
    octant(&grid, 0, n, c, face, &mut clock);
    let closed = (p - 1) * (c + message) + (n - 1) * (c + face) + c;
    assert_eq!(clock[p as usize - 1], closed);
}

/// End of all eight octants, by the recurrence that the pipeline obeys.
fn octants(p: u32, q: u32, blocks: u64, c: u64, face: u64) -> u64 {
    let grid = Grid::new(&[p, q], false).unwrap();
    let mut clock = vec![0; (p * q) as usize];
    for number in 0..8 {
        octant(&grid, number, blocks, c, face, &mut clock);
    }
    clock.into_iter().max().unwrap()
}

/// Moves every rank's clock over an octant.
fn octant(grid: &Grid, number: u32, blocks: u64, c: u64, face: u64, clock: &mut [u64]) {
    let [up_x, up_y] =
        [[true, true], [false, true], [false, false], [true, false]][number as usize % 4];
    let [p, q] = [grid.extents()[0], grid.extents()[1]];
    // At the router, of the block that a rank takes next: across x and y.
    let mut routed = vec![[Vec::new(), Vec::new()]; clock.len()];
    for j in 0..q {
        for i in 0..p {
            let x = if up_x { i } else { p - 1 - i };
            let y = if up_y { j } else { q - 1 - j };
            let rank = RankId(x + y * p);
            // The rank's link has nothing else on it then.
            let mut link = 0;
            for block in 0..blocks as usize {
                let mut heads: Vec<u64> = [0, 1]
                    .iter()
                    .filter_map(|&d| routed[rank.index()][d].get(block).copied())
                    .collect();
                heads.sort_unstable();
                let mut here = clock[rank.index()];
                for head in heads {
                    link = link.max(head) + face;
                    here = here.max(link + LATENCY);
                }
                here += c;
                for (dimension, up) in [(0, up_x), (1, up_y)] {
                    if let Some(to) = grid.neighbour(rank, dimension, up) {
                        here += face;
                        routed[to.index()][dimension].push(here + LATENCY + DELAY);
                    }
                }
                clock[rank.index()] = here;
            }
        }
    }
}

/// A pipeline of p stages, with m micro-batches whose way forward takes f and back
/// 2 f, takes (m + p − 1)(f + 2 f) under either schedule if messages take no time
/// (Narayanan et al. 2021, section 2.2); each of the 2 (p − 1) passes of the first
/// and last micro-batch adds the time of a message.
#[test]
fn a_pipeline_has_the_bubble_of_its_stages() {
    let (p, m) = (4, 6);
    for schedule in [Schedule::Gpipe, Schedule::OneForwardOneBackward] {
        let training = Training {
            layers: 4,
            hidden: 32,
            sequence: 8,
            vocabulary: 0,
            micro_batch: 1,
            micro_batches: m,
            pipeline: p,
            schedule,
            ..Training::default()
        };
        let f = 1_000_000_000;
        let setting = Setting {
            compute_rate: Some(ComputeRate::ComputePs(3 * u64::from(m) * f)),
            ..Setting::new(p)
        };
        let script = training.script(&setting, 1).unwrap();
        let found = end(Arc::new(script));
        let ideal = u64::from(m + p - 1) * 3 * f;
        // At most every step of the schedule waits for a message; one takes 218 ns.
        let message = 2 * duration(8 * 32 * 2) + 2 * LATENCY + DELAY;
        let passes = 2 * u64::from(p - 1);
        let steps = 2 * u64::from(m + p);
        assert!(found >= ideal + passes * message, "{schedule:?}: {found}");
        assert!(
            found <= ideal + (passes + steps) * message,
            "{schedule:?}: {found}"
        );
    }
}
