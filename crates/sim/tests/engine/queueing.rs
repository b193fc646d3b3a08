//! Queueing at one router against exact results.

use odonata_load::{Pattern, Process};
use odonata_network::LinkKind;
use odonata_run::{Crossbar, CrossbarRate, EngineConfig, MessageRecord, MessageRecords};
use odonata_units::{Bytes, Picoseconds};

use crate::support::{
    MINIMAL, RATE, assert_conserved, config, crossbar, job, link, measure, open, simulate,
};

const PACKET: u64 = 256;
/// Time of a packet on a link.
const SERVICE: u64 = 32_000;

/// Mean and standard error of the mean by `batches` batch means.
fn batch_means(values: &[f64], batches: usize) -> (f64, f64) {
    let size = values.len() / batches;
    let means: Vec<f64> = values
        .chunks_exact(size)
        .take(batches)
        .map(|batch| batch.iter().sum::<f64>() / size as f64)
        .collect();
    let mean = means.iter().sum::<f64>() / batches as f64;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (batches - 1) as f64;
    (mean, (variance / batches as f64).sqrt())
}

/// Waiting times, in service times, of packets that `sources` nodes send to one
/// at a total load of `load`, in the order of their creation.
fn waiting_times(sources: u32, load: f64, packets: u64, config: &EngineConfig) -> Vec<f64> {
    // Ranks below `sources` send to the only hot rank, which sends to any of
    // them; its messages are left out.
    let topology = crossbar(sources + 1, link(LinkKind::Terminal, RATE, 10_000, 1 << 24));
    let hot = odonata_units::RankId(sources);
    let pattern = Pattern::hot_spot(&[hot], 1.0).unwrap();
    let rate = RATE as f64 * load / f64::from(sources);
    let load_of_all = open(pattern, PACKET, rate, Process::Poisson, sources + 1);
    let jobs = [job("poisson", 0..=sources, load_of_all)];
    let length = (packets as f64 / load) as u64 * SERVICE;
    let warmup = length / 10;
    let measurement = measure(warmup, warmup + length, MessageRecords::EveryNth(1));
    let outcome = simulate(&topology, &MINIMAL, config, &jobs, &measurement).unwrap();
    assert_conserved(&outcome);
    let empty = 2 * 10_000 + 40_000 + 1_000 + SERVICE;
    let mut records: Vec<&MessageRecord> = outcome
        .messages
        .iter()
        .filter(|m| m.destination.0 == sources && m.created.0 >= warmup)
        .collect();
    records.sort_by_key(|m| m.created);
    records
        .iter()
        .map(|m| ((m.delivered - m.created).0 - empty) as f64 / SERVICE as f64)
        .collect()
}

/// Poisson arrivals of N nodes to one node wait, in all, as in an M/D/1 queue:
/// the mean is `ρ / (2 (1 - ρ))` service times (Pollaczek and Khinchine).
///
/// That holds for any N although each node's own link is a queue as well: a
/// packet starts on its node's link and, a constant time later, on the port if
/// that is free, so whenever a packet waits anywhere the port is busy (where the
/// node's link is busy, the packet on it is on the port, too, or waits for it).
/// So the packets in the system are at any time those of one queue with all
/// arrivals, and by Little's law the mean wait is that queue's.
#[test]
fn packets_to_one_node_wait_as_in_an_m_d_1_queue() {
    for sources in [1, 2, 16] {
        for load in [0.2, 0.5, 0.8] {
            let waits = waiting_times(sources, load, 120_000, &config());
            let (mean, error) = batch_means(&waits, 20);
            let exact = load / (2.0 * (1.0 - load));
            // 99.9 % of Student's t with 19 degrees of freedom lie within 3.9.
            assert!(
                (mean - exact).abs() < 3.9 * error,
                "{sources} sources, load {load}: {mean} ± {error}, exact {exact}"
            );
            assert!(
                (mean / exact - 1.0).abs() < 0.06,
                "{sources} {load}: {mean}, {exact}"
            );
        }
    }
}

/// A single source is served first come first served, so that the distribution
/// of the wait is that of M/D/1: it is zero with probability `1 - ρ`, at most
/// one service time with probability `(1 - ρ) e^ρ` (Erlang), and its second
/// moment is `2 E[W]² + ρ / (3 (1 - ρ))`.
#[test]
fn the_wait_of_one_source_has_the_distribution_of_m_d_1() {
    for load in [0.3, 0.7] {
        let waits = waiting_times(1, load, 200_000, &config());
        let check = |what: &str, of: &dyn Fn(f64) -> f64, exact: f64| {
            let values: Vec<f64> = waits.iter().map(|&w| of(w)).collect();
            let (mean, error) = batch_means(&values, 20);
            assert!(
                (mean - exact).abs() < 3.9 * error,
                "{what} at load {load}: {mean} ± {error}, exact {exact}"
            );
        };
        let wait = load / (2.0 * (1.0 - load));
        let share = |condition: bool| f64::from(u8::from(condition));
        check("P(W = 0)", &|w| share(w == 0.0), 1.0 - load);
        check("P(W <= 1)", &|w| share(w <= 1.0), (1.0 - load) * load.exp());
        check(
            "E[W^2]",
            &|w| w * w,
            2.0 * wait * wait + load / (3.0 * (1.0 - load)),
        );
    }
}

/// Throughput of two saturated N × N switches in one router: each of 2 N nodes
/// sends to random nodes of the other half, so that N inputs share N outputs,
/// twice.
fn saturated(n: u32, crossbar_model: Crossbar, buffer: u64, slots: u64) -> f64 {
    let topology = crossbar(
        2 * n,
        link(LinkKind::Terminal, RATE, 10_000, buffer * PACKET),
    );
    let mut config = config();
    config.router.crossbar = crossbar_model;
    // One message per slot and node: always something to send, in step.
    let gap = SERVICE;
    let process = Process::Bernoulli {
        slot: Picoseconds(gap),
    };
    let load = open(Pattern::Bisection, PACKET, RATE as f64, process, 2 * n);
    let jobs = [job("saturated", 0..2 * n, load)];
    let warmup = 200 * SERVICE;
    let end = warmup + slots * SERVICE;
    let measurement = measure(warmup, end, MessageRecords::None);
    let outcome = simulate(&topology, &MINIMAL, &config, &jobs, &measurement).unwrap();
    assert_conserved(&outcome);
    let packets = outcome.jobs[0].bytes_delivered_measured as f64 / PACKET as f64;
    packets / f64::from(2 * n) / slots as f64
}

/// Head-of-line blocking. With one FIFO per input a saturated N × N switch under
/// uniform traffic passes 0.75, 0.6553, 0.6184 of its capacity for N = 2, 4, 8
/// and `2 - √2` = 0.586 for N → ∞ (Karol, Hluchyj, Morgan, IEEE Trans. Commun.
/// 1987, table I).
///
/// That result is for slotted time, and so is this run although the engine
/// knows no slots: all packets have the same size, all sources begin at once
/// and always have a packet to send, the crossbar is as fast as a link, so
/// every transfer starts when others end, at multiples of the packet time after
/// the first. Karol's random choice among the inputs that contend for an output
/// makes no difference: whichever wins, its next packet has a fresh random
/// destination, so the numbers of packets that contend for each output form the
/// same Markov chain under round robin.
#[test]
fn head_of_line_blocking() {
    let one_fifo = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(1.0),
        output_buffer: Bytes(PACKET),
    };
    let limit = 2.0 - 2.0_f64.sqrt();
    for (n, exact, tolerance) in [
        (2, 0.75, 0.004),
        (4, 0.6553, 0.004),
        (8, 0.6184, 0.004),
        (32, limit, 0.015),
    ] {
        let found = saturated(n, one_fifo, 16, 160_000 / u64::from(n));
        assert!(
            (found - exact).abs() < tolerance,
            "N = {n}: {found}, exact {exact}"
        );
    }
}

/// Virtual output queues do away with it: what is left is that a buffer of b
/// packets, filled with packets for few outputs, cannot take those for others.
/// With twice the speed the FIFOs hardly limit the links.
#[test]
fn without_head_of_line_blocking() {
    assert!(saturated(8, Crossbar::Ideal, 256, 10_000) > 0.97);
    let fast = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(2.0),
        output_buffer: Bytes(256 * PACKET),
    };
    assert!(saturated(8, fast, 16, 10_000) > 0.97);
}
