//! How long a pattern takes to choose a destination, and a source to choose its
//! next arrival: `cargo run --release -p odonata-load --example draw_speed`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use odonata_load::motif::RandomCycle;
use odonata_load::{Arrivals, Blocks, Grid, LoadError, OpenLoop, Pattern};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bytes, JobId, Picoseconds, RankId};

fn time(name: &str, mut draw: impl FnMut(u32) -> u64) {
    let draws = 20_000_000;
    let before = Instant::now();
    let mut sum = 0u64;
    for n in 0..draws {
        sum = sum.wrapping_add(draw(n));
    }
    black_box(sum);
    let ns = before.elapsed().as_secs_f64() * 1e9 / f64::from(draws);
    println!("{name:28} {ns:6.1} ns");
}

fn main() -> Result<(), LoadError> {
    let ranks = 82_944;
    let key = StreamKey::new(1, Purpose::Destination);
    let blocks = Arc::new(Blocks::consecutive(ranks, 288));
    let open = Grid::near_cubic(ranks, 3, false)?;
    let patterns = [
        Pattern::UniformRandom,
        Pattern::random_permutation(ranks, &mut key.stream(0))?,
        Pattern::Tornado,
        Pattern::transpose(ranks)?,
        Pattern::Bisection,
        Pattern::Neighbour,
        Pattern::Stencil(open),
        Pattern::adversarial(blocks.clone(), 1)?,
        Pattern::block_tornado(blocks)?,
        Pattern::hot_spot(&[RankId(7), RankId(70)], 0.2)?,
    ];
    for pattern in patterns {
        pattern.check(ranks)?;
        let pattern = black_box(pattern);
        time(pattern.name(), |n| {
            let source = n.wrapping_mul(0x9E37_79B9) % ranks;
            let to = pattern.destination(key, u64::from(source), n, RankId(source), ranks);
            to.map_or(0, |to| u64::from(to.0))
        });
    }
    let cycle = RandomCycle::new(ranks, key, JobId(0));
    time("random cycle", |n| {
        u64::from(cycle.destination(RankId(n % ranks), n / ranks).0)
    });
    for arrivals in [
        Arrivals::Poisson { mean_gap_ps: 1e6 },
        Arrivals::Periodic { gap_ps: 1e6 },
        Arrivals::Bernoulli {
            slot: Picoseconds(64_000),
            probability: 0.1,
        },
    ] {
        let source = OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes(64), ranks)?;
        let source = black_box(source);
        let mut previous = Picoseconds::ZERO;
        time(&format!("{arrivals:?}")[..9], |n| {
            previous = source.arrival(
                key,
                u64::from(n % 64),
                n / 64,
                RankId(n % 64),
                Picoseconds::ZERO,
                previous,
            );
            previous.0
        });
    }
    Ok(())
}
