//! Every algorithm of the collectives against its LogGP closed form, on an idle
//! crossbar: `docs/collectives.md` derives the forms.

use std::sync::Arc;

use odonata_load::collective::{
    Algorithms, AllgatherAlgorithm, AllreduceAlgorithm, AlltoallAlgorithm, BarrierAlgorithm,
    BroadcastAlgorithm, CollectiveCall, GatherAlgorithm, Groups, Nccl, ReduceAlgorithm,
    ReduceScatterAlgorithm, ScanAlgorithm, ScatterAlgorithm,
};
use odonata_load::motif::{Collective, Repeat};
use odonata_load::{Asynchronously, Communicator, Handle, Member, Need, Operation, Program};
use odonata_network::LinkKind;
use odonata_run::{EngineConfig, HostCosts, InjectionOrder, JobLoad, NicModel, Protocol};
use odonata_units::{Bytes, Picoseconds};

use crate::support::{
    Listed, MINIMAL, RATE, TO_THE_END, assert_conserved, bandwidth, config, crossbar, job, link,
    simulate,
};

/// Latency of a link.
const WIRE: u64 = 100_000;
/// Bytes combined per second: 0.2 ns each.
const COMBINE: u64 = 5_000_000_000;
/// Size of a segment, of algorithms that have some.
const SEGMENT: u64 = 4_096;
/// Between model and closed form.
const TOLERANCE: f64 = 0.01;

/// LogGP, in picoseconds: `o` of the sender and of the receiver, `L`, time per
/// byte, what of `g` a byte's time is not part of, and time to combine a byte.
#[derive(Clone, Copy, Debug)]
struct LogGp {
    send: f64,
    receive: f64,
    latency: f64,
    byte: f64,
    gap: f64,
    combine: f64,
}

impl LogGp {
    /// From the send to the end of the receive.
    fn message(&self, bytes: f64) -> f64 {
        self.send + self.latency + self.byte * bytes + self.receive
    }

    /// From a send that is waited for to the start of the next.
    fn sent(&self, bytes: f64) -> f64 {
        self.byte * bytes + self.send.max(self.gap)
    }

    /// Between messages that are sent at once.
    fn apart(&self, bytes: f64) -> f64 {
        self.send.max(self.gap + self.byte * bytes)
    }

    fn combining(&self, bytes: f64) -> f64 {
        self.combine * bytes
    }
}

/// Overheads and gap in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Machine {
    send: u64,
    receive: u64,
    gap: u64,
}

/// Little overhead, much overhead, and an interface that is slower than the processor.
const MACHINES: [Machine; 3] = [
    Machine {
        send: 20_000,
        receive: 10_000,
        gap: 5_000,
    },
    Machine {
        send: 900_000,
        receive: 500_000,
        gap: 0,
    },
    Machine {
        send: 30_000,
        receive: 20_000,
        gap: 60_000,
    },
];

impl Machine {
    fn config() -> EngineConfig {
        let base = config();
        EngineConfig {
            nic: NicModel {
                injection: InjectionOrder::Fifo,
                ..base.nic
            },
            ..base
        }
    }

    fn loggp(&self) -> LogGp {
        let byte = 1e12 / RATE as f64;
        let router = Self::config().router.delay.0;
        LogGp {
            send: self.send as f64,
            receive: self.receive as f64,
            // Two wires, the router, and a flit of 8 bytes sent twice.
            latency: (2 * WIRE + router) as f64 + 8.0 * byte,
            byte,
            gap: self.gap as f64,
            combine: 1e12 / COMBINE as f64,
        }
    }

    /// How long a call takes, in picoseconds.
    fn time(&self, call: CollectiveCall, ranks: u32) -> f64 {
        let motif = Collective::new(ranks, call, Repeat::ONCE).unwrap();
        self.end(Arc::new(motif), ranks)
    }

    /// When a program ends, in picoseconds.
    fn end(&self, program: Arc<dyn Program>, ranks: u32) -> f64 {
        let terminal = link(LinkKind::Terminal, RATE, WIRE, 1 << 20);
        let load = JobLoad::Closed(program);
        let mut job = job("collective", 0..ranks, load);
        job.protocol = Protocol {
            costs: HostCosts {
                send_overhead: Picoseconds(self.send),
                receive_overhead: Picoseconds(self.receive),
                ..HostCosts::default()
            },
            gap: Picoseconds(self.gap),
            ..Protocol::default()
        };
        let topology = crossbar(ranks, terminal);
        let config = Self::config();
        let outcome = simulate(&topology, &MINIMAL, &config, &[job], &TO_THE_END).unwrap();
        assert_conserved(&outcome);
        outcome.jobs[0].end.expect("it ends").0 as f64
    }

    /// Fails unless the call takes `expected` picoseconds.
    fn check(&self, call: CollectiveCall, ranks: u32, expected: f64, what: &str) {
        let time = self.time(call, ranks);
        let error = time / expected - 1.0;
        assert!(
            error.abs() <= TOLERANCE,
            "{what} of {ranks} ranks with {self:?}: {time} instead of {expected} ps ({:+.2} %)",
            error * 100.0
        );
    }
}

/// NCCL with one channel.
fn algorithms() -> Algorithms {
    Algorithms {
        combine: Some(bandwidth(COMBINE)),
        segment: Bytes(SEGMENT),
        nccl: Nccl {
            channels: 1,
            ..Nccl::default()
        },
        ..Algorithms::default()
    }
}

/// ⌈log₂ n⌉.
fn rounds(ranks: u32) -> u32 {
    ranks.next_power_of_two().trailing_zeros()
}

/// Sizes that are whole segments and divide by 16, and numbers of ranks.
const SIZES: [u64; 3] = [64, 4_096, 262_144];
const RANKS: [u32; 7] = [2, 3, 5, 8, 12, 15, 16];

/// Runs `check` for all machines, sizes and numbers of ranks.
fn everywhere(mut check: impl FnMut(Machine, LogGp, u64, u32)) {
    for machine in MACHINES {
        for bytes in SIZES {
            for ranks in RANKS {
                check(machine, machine.loggp(), bytes, ranks);
            }
        }
    }
}

/// Down a binomial tree: per one-bit of a place a message, per zero-bit above its
/// lowest one-bit a child that was served before.
fn binomial_down(net: &LogGp, bytes: f64, ranks: u32) -> f64 {
    let time = |place: u32| {
        // At the bit that is looked at, the children at it and below are left.
        let (mut time, mut at, mut bit) = (0.0, 0u32, rounds(ranks));
        while bit > place.trailing_zeros() {
            bit -= 1;
            if place >> bit & 1 == 1 {
                time += net.message(bytes);
                at |= 1 << bit;
            } else if at + (1 << bit) < ranks {
                time += net.sent(bytes);
            }
        }
        time
    };
    (1..ranks).map(time).fold(0.0, f64::max)
}

#[test]
fn broadcasts() {
    everywhere(|machine, net, bytes, ranks| {
        let (m, n) = (bytes as f64, f64::from(ranks));
        let k = f64::from(rounds(ranks));
        let segments = bytes.div_ceil(SEGMENT) as f64;
        let segment = m / segments;
        let scatter = k * net.message(0.0) + net.byte * m * (n - 1.0) / n;
        for &algorithm in BroadcastAlgorithm::ALL {
            let expected = match algorithm {
                BroadcastAlgorithm::Linear => net.message(m) + (n - 2.0) * net.apart(m),
                BroadcastAlgorithm::Binomial => binomial_down(&net, m, ranks),
                BroadcastAlgorithm::Bine if ranks.is_power_of_two() => {
                    binomial_down(&net, m, ranks)
                }
                BroadcastAlgorithm::Chain => {
                    // Who passes on takes in a segment while it sends the one before.
                    let passing = net.send + net.receive.max(net.byte * segment);
                    let apart = match ranks {
                        2 => net.sent(segment),
                        _ => net.sent(segment).max(passing),
                    };
                    (n - 1.0) * net.message(segment) + (segments - 1.0) * apart
                }
                // Full trees only.
                BroadcastAlgorithm::Binary if ranks == 3 || ranks == 15 => {
                    let depth = f64::from(ranks.ilog2());
                    // Both children at once; then both sends are waited for.
                    let apart = net.apart(segment) + net.sent(segment);
                    let first = depth * (net.apart(segment) + net.message(segment));
                    if net.receive > net.byte * segment && ranks > 3 && segments > 1.0 {
                        continue;
                    }
                    first + (segments - 1.0) * apart
                }
                // Up to four chains of one member each.
                BroadcastAlgorithm::Chains if ranks <= 5 => {
                    let all = (n - 2.0) * net.apart(segment);
                    all + net.message(segment) + (segments - 1.0) * (all + net.sent(segment))
                }
                BroadcastAlgorithm::SplitBinary if ranks == 3 || ranks == 15 => {
                    let segments = (bytes / 2).div_ceil(SEGMENT) as f64;
                    let segment = m / 2.0 / segments;
                    let depth = f64::from(ranks.ilog2());
                    let first = depth * (net.sent(segment) + net.message(segment));
                    if net.receive > net.byte * segment && ranks > 3 && segments > 1.0 {
                        continue;
                    }
                    first + (segments - 1.0) * 2.0 * net.sent(segment) + net.message(m / 2.0)
                }
                BroadcastAlgorithm::ScatterRecursiveDoubling if ranks.is_power_of_two() => {
                    scatter + k * net.message(0.0) + net.byte * m * (n - 1.0) / n
                }
                BroadcastAlgorithm::ScatterRing if ranks.is_power_of_two() => {
                    scatter + (n - 1.0) * net.message(m / n)
                }
                _ => continue,
            };
            let call = Algorithms {
                broadcast: Some(algorithm),
                ..algorithms()
            };
            let call = call.broadcast(Member(ranks / 2), Bytes(bytes), ranks);
            machine.check(call, ranks, expected, algorithm.name());
        }
    });
}

#[test]
fn reductions() {
    everywhere(|machine, net, bytes, ranks| {
        let (m, n) = (bytes as f64, f64::from(ranks));
        let k = f64::from(rounds(ranks));
        let segments = bytes.div_ceil(SEGMENT) as f64;
        let segment = m / segments;
        for &algorithm in ReduceAlgorithm::ALL {
            let expected = match algorithm {
                ReduceAlgorithm::Binomial | ReduceAlgorithm::Bine if ranks.is_power_of_two() => {
                    k * (net.message(m) + net.combining(m))
                }
                // A rank combines before it goes on.
                ReduceAlgorithm::Chain if segments == 1.0 => {
                    (n - 1.0) * (net.message(segment) + net.combining(segment))
                }
                // Of two members all trees are one message.
                ReduceAlgorithm::Binary
                | ReduceAlgorithm::BinomialOverlapped
                | ReduceAlgorithm::Chains
                    if ranks == 2 && segments == 1.0 =>
                {
                    net.message(m) + net.combining(m)
                }
                ReduceAlgorithm::Rabenseifner | ReduceAlgorithm::BineScatterGather
                    if ranks.is_power_of_two() =>
                {
                    let part = m * (n - 1.0) / n;
                    let halving = k * net.message(0.0) + net.byte * part + net.combining(part);
                    halving + k * net.message(0.0) + net.byte * part
                }
                _ => continue,
            };
            let call = Algorithms {
                reduce: Some(algorithm),
                ..algorithms()
            };
            let call = call.reduce(Member(ranks / 2), Bytes(bytes), ranks);
            machine.check(call, ranks, expected, algorithm.name());
        }
    });
}

#[test]
fn allreductions() {
    everywhere(|machine, net, bytes, ranks| {
        let (m, n) = (bytes as f64, f64::from(ranks));
        let stay = 1 << ranks.ilog2();
        let k = f64::from(rounds(stay));
        let met = net.message(m) + net.combining(m);
        for &algorithm in AllreduceAlgorithm::ALL {
            let expected = match algorithm {
                AllreduceAlgorithm::RecursiveDoubling | AllreduceAlgorithm::BineLatency => k * met,
                AllreduceAlgorithm::Rabenseifner | AllreduceAlgorithm::Bine => {
                    let part = m * f64::from(stay - 1) / f64::from(stay);
                    2.0 * (k * net.message(0.0) + net.byte * part) + net.combining(part)
                }
                AllreduceAlgorithm::Ring | AllreduceAlgorithm::ChannelRings => {
                    2.0 * (n - 1.0) * net.message(m / n) + (n - 1.0) * net.combining(m / n)
                }
                AllreduceAlgorithm::ReduceBroadcast if ranks == stay => {
                    k * met + k * net.message(m)
                }
                AllreduceAlgorithm::ReduceBroadcast
                | AllreduceAlgorithm::DoubleTree
                | AllreduceAlgorithm::SegmentedRing
                | AllreduceAlgorithm::BineBlocks
                | AllreduceAlgorithm::BineSegmented => continue,
            };
            let call = Algorithms {
                allreduce: Some(algorithm),
                reduce: Some(ReduceAlgorithm::Binomial),
                broadcast: Some(BroadcastAlgorithm::Binomial),
                ..algorithms()
            };
            let call = call.allreduce(Bytes(bytes), ranks);
            let rings = [AllreduceAlgorithm::Ring, AllreduceAlgorithm::ChannelRings];
            if rings.contains(&algorithm) || ranks == stay {
                machine.check(call, ranks, expected, algorithm.name());
            } else {
                // Folding in, while the first partner sends over the same link, and
                // out; what waits is taken in before the rank goes on: no more
                // than an overhead and a gap per round.
                let time = machine.time(call, ranks);
                let waiting = net.byte * m + 2.0 * k * (net.receive + net.gap);
                let folding = met + net.message(m) + waiting;
                let most = (expected + folding) * (1.0 + TOLERANCE);
                let name = algorithm.name();
                assert!(expected < time && time <= most, "{name}: {time}, {most}");
            }
        }
    });
}

#[test]
fn allgathers() {
    everywhere(|machine, net, bytes, ranks| {
        let (b, n) = (bytes as f64, f64::from(ranks));
        for &algorithm in AllgatherAlgorithm::ALL {
            let expected = match algorithm {
                AllgatherAlgorithm::Ring | AllgatherAlgorithm::ChannelRings => {
                    (n - 1.0) * net.message(b)
                }
                AllgatherAlgorithm::Bruck | AllgatherAlgorithm::Pat => {
                    f64::from(rounds(ranks)) * net.message(0.0) + (n - 1.0) * net.byte * b
                }
                AllgatherAlgorithm::RecursiveDoubling | AllgatherAlgorithm::BineTwoBlocks
                    if ranks.is_power_of_two() =>
                {
                    f64::from(rounds(ranks)) * net.message(0.0) + (n - 1.0) * net.byte * b
                }
                AllgatherAlgorithm::NeighbourExchange if ranks % 2 == 0 => {
                    net.message(b) + (n / 2.0 - 1.0) * net.message(2.0 * b)
                }
                AllgatherAlgorithm::NeighbourExchange => (n - 1.0) * net.message(b),
                AllgatherAlgorithm::GatherBroadcast if ranks.is_power_of_two() => {
                    let k = f64::from(rounds(ranks));
                    let gather = k * net.message(0.0) + net.byte * b * (n - 1.0);
                    gather + k * net.message(n * b)
                }
                AllgatherAlgorithm::RecursiveDoubling
                | AllgatherAlgorithm::GatherBroadcast
                | AllgatherAlgorithm::BruckOfMany
                | AllgatherAlgorithm::Sparbit
                | AllgatherAlgorithm::Bine
                | AllgatherAlgorithm::BineTwoBlocks
                | AllgatherAlgorithm::BineBlocks => continue,
            };
            let call = Algorithms {
                allgather: Some(algorithm),
                broadcast: Some(BroadcastAlgorithm::Binomial),
                ..algorithms()
            };
            let call = call.allgather(Bytes(bytes), ranks);
            machine.check(call, ranks, expected, algorithm.name());
        }
    });
}

#[test]
fn alltoalls() {
    everywhere(|machine, net, bytes, ranks| {
        let (b, n) = (bytes as f64, f64::from(ranks));
        // Three groups if that makes them equal, or one.
        let width = if ranks % 3 == 0 { ranks / 3 } else { ranks };
        let of_member: Vec<u32> = (0..ranks).map(|member| member / width).collect();
        for &algorithm in AlltoallAlgorithm::ALL {
            let expected = match algorithm {
                AlltoallAlgorithm::Pairwise | AlltoallAlgorithm::Hierarchical => {
                    (n - 1.0) * net.message(b)
                }
                AlltoallAlgorithm::Bine if ranks.is_power_of_two() => {
                    f64::from(rounds(ranks)) * net.message(b * n / 2.0)
                }
                AlltoallAlgorithm::Bruck | AlltoallAlgorithm::Bine => (0..rounds(ranks))
                    .map(|round| {
                        let ways = (0..ranks).filter(|way| way >> round & 1 == 1).count();
                        net.message(b * ways as f64)
                    })
                    .sum(),
                // As long as ranks are not busy longer than their interfaces.
                // Eight at a time.
                AlltoallAlgorithm::Rounds if ranks > 9 => continue,
                AlltoallAlgorithm::Linear
                | AlltoallAlgorithm::Scattered
                | AlltoallAlgorithm::Rounds => {
                    if net.send + net.receive > net.apart(b) {
                        continue;
                    }
                    net.message(b) + (n - 2.0) * net.apart(b)
                }
            };
            let call = Algorithms {
                alltoall: Some(algorithm),
                groups: Some(Groups::new(&of_member)),
                ..algorithms()
            };
            let call = call.alltoall(Bytes(bytes), ranks);
            machine.check(call, ranks, expected, algorithm.name());
        }
    });
}

#[test]
fn barriers_scatters_gathers_reduce_scatters_and_scans() {
    everywhere(|machine, net, bytes, ranks| {
        let (b, n) = (bytes as f64, f64::from(ranks));
        let k = f64::from(rounds(ranks));
        let power = ranks.is_power_of_two();
        let total = k * net.message(0.0) + net.byte * b * (n - 1.0);
        for &algorithm in BarrierAlgorithm::ALL {
            let expected = match algorithm {
                BarrierAlgorithm::Dissemination => k * net.message(1.0),
                BarrierAlgorithm::RecursiveDoubling if power => k * net.message(1.0),
                BarrierAlgorithm::Tree if power => 2.0 * k * net.message(1.0),
                BarrierAlgorithm::RecursiveDoubling | BarrierAlgorithm::Tree => continue,
                BarrierAlgorithm::Linear => {
                    // All arrive at once and are taken in one after the other.
                    let apart = net.receive.max(net.byte);
                    let up = net.message(1.0) + (n - 2.0) * apart;
                    up + net.message(1.0) + (n - 2.0) * net.apart(1.0)
                }
            };
            let call = Algorithms {
                barrier: Some(algorithm),
                ..algorithms()
            };
            machine.check(call.barrier(ranks), ranks, expected, algorithm.name());
        }
        let root = Member(ranks / 2);
        for &algorithm in ScatterAlgorithm::ALL {
            let scatter = match algorithm {
                ScatterAlgorithm::Linear => net.message(b) + (n - 2.0) * net.apart(b),
                ScatterAlgorithm::LinearInTurn => net.message(b) + (n - 2.0) * net.sent(b),
                ScatterAlgorithm::Binomial | ScatterAlgorithm::Bine if power => total,
                ScatterAlgorithm::Binomial | ScatterAlgorithm::Bine => continue,
            };
            let call = Algorithms {
                scatter: Some(algorithm),
                ..algorithms()
            };
            let scatters = call.scatter(root, Bytes(bytes), ranks);
            machine.check(scatters, ranks, scatter, "scatter");
        }
        for &algorithm in GatherAlgorithm::ALL {
            // One packet each, or those of all arrive at the end together.
            let gather = match algorithm {
                GatherAlgorithm::Linear if bytes > 256 => continue,
                GatherAlgorithm::Linear => {
                    net.message(b) + (n - 2.0) * net.receive.max(net.byte * b)
                }
                GatherAlgorithm::Binomial | GatherAlgorithm::Bine if power => total,
                GatherAlgorithm::Binomial
                | GatherAlgorithm::Bine
                | GatherAlgorithm::LinearInTurn
                | GatherAlgorithm::LinearSync => {
                    continue;
                }
            };
            let call = Algorithms {
                gather: Some(algorithm),
                ..algorithms()
            };
            let gathers = call.gather(root, Bytes(bytes), ranks);
            machine.check(gathers, ranks, gather, "gather");
        }
        for &algorithm in ReduceScatterAlgorithm::ALL {
            let expected = match algorithm {
                ReduceScatterAlgorithm::RecursiveHalving | ReduceScatterAlgorithm::Pat if power => {
                    total + net.combining(b * (n - 1.0))
                }
                // Of two members both blocks are where they belong.
                ReduceScatterAlgorithm::Butterfly if power && ranks > 2 => {
                    total + net.combining(b * (n - 1.0)) + net.message(b)
                }
                // n - 1, n - 2, n - 4, … blocks.
                ReduceScatterAlgorithm::RecursiveDoubling if power => {
                    let k = f64::from(rounds(ranks));
                    let blocks = k * n - (n - 1.0);
                    k * net.message(0.0) + net.byte * b * blocks + net.combining(b * blocks)
                }
                ReduceScatterAlgorithm::RecursiveHalving
                | ReduceScatterAlgorithm::Pat
                | ReduceScatterAlgorithm::RecursiveDoubling
                | ReduceScatterAlgorithm::Butterfly
                | ReduceScatterAlgorithm::Bine
                | ReduceScatterAlgorithm::BineBlocks
                | ReduceScatterAlgorithm::ReduceScatter => continue,
                ReduceScatterAlgorithm::Pairwise
                | ReduceScatterAlgorithm::Ring
                | ReduceScatterAlgorithm::ChannelRings => {
                    (n - 1.0) * (net.message(b) + net.combining(b))
                }
            };
            let call = Algorithms {
                reduce_scatter: Some(algorithm),
                ..algorithms()
            };
            let call = call.reduce_scatter_block(Bytes(bytes), ranks);
            machine.check(call, ranks, expected, algorithm.name());
        }
        for &algorithm in ScanAlgorithm::ALL {
            let expected = match algorithm {
                // The last combines twice in each round.
                ScanAlgorithm::RecursiveDoubling if power => {
                    k * (net.message(b) + net.combining(2.0 * b))
                }
                ScanAlgorithm::RecursiveDoubling => continue,
                ScanAlgorithm::Linear => (n - 1.0) * (net.message(b) + net.combining(b)),
            };
            let call = Algorithms {
                scan: Some(algorithm),
                ..algorithms()
            };
            let call = call.scan(Bytes(bytes), ranks);
            machine.check(call, ranks, expected, algorithm.name());
        }
    });
}

/// On a network without overheads: around the rings of all channels together 2 (n − 1) / n of the
/// vector goes over every link, down and up two trees twice the vector, and an empty vector goes up
/// and down as many levels as a tree has.
#[test]
fn channels_share_a_ring_and_trees_are_as_deep_as_they_should() {
    let ideal = Machine {
        send: 0,
        receive: 0,
        gap: 0,
    };
    let net = ideal.loggp();
    let bytes: u32 = 16 << 20;
    for ranks in [4, 16u32] {
        let (m, n) = (f64::from(bytes), f64::from(ranks));
        let levels = f64::from(rounds(ranks));
        let call = |allreduce, channels, bytes| {
            let algorithms = Algorithms {
                allreduce: Some(allreduce),
                nccl: Nccl {
                    channels,
                    ..Nccl::default()
                },
                ..Algorithms::default()
            };
            algorithms.allreduce(Bytes(bytes), ranks)
        };
        let rings = AllreduceAlgorithm::ChannelRings;
        let around = 2.0 * (n - 1.0) / n * m * net.byte;
        for channels in 1..=4 {
            let call = call(rings, channels, bytes.into());
            ideal.check(call, ranks, around, "rings of channels");
        }
        let trees = AllreduceAlgorithm::DoubleTree;
        let depth = 2.0 * levels * net.message(1.0);
        ideal.check(call(trees, 1, 2), ranks, depth, "levels of a tree");
        // Twice the vector goes over each link: no bandwidth is above what the links carry.
        let time = ideal.time(call(trees, 1, bytes.into()), ranks);
        assert!(time >= 2.0 * m * net.byte, "{ranks} ranks: {time}");
    }
}

/// A ring of all-reduce that does not block, beside a computation: where it goes on meanwhile the
/// longer of the two counts; where it goes on only between computations all rounds but the first
/// come after one that is longer than a round.
#[test]
fn an_allreduce_goes_on_beside_a_computation_or_after_it() {
    let (ranks, bytes) = (4, 1 << 20);
    let ring = Algorithms {
        allreduce: Some(AllreduceAlgorithm::Ring),
        ..algorithms()
    };
    let communicator = Arc::new(Communicator::world(ranks));
    for machine in MACHINES {
        let call = ring.allreduce(Bytes(bytes), ranks);
        let alone = machine.time(call.clone(), ranks);
        let call = Arc::new(call);
        let beside = |compute: f64| {
            let handle = Handle(0);
            let all = vec![
                Operation::Collective {
                    communicator: communicator.clone(),
                    call: call.clone(),
                    handle: Some(handle),
                },
                Operation::Compute(Picoseconds(compute as u64)),
                Operation::Wait {
                    handles: [handle].into(),
                    need: Need::All,
                },
            ];
            Listed(vec![all; ranks as usize])
        };
        for share in [0.001, 0.4, 1.0, 1.6, 40.0] {
            let compute = (share * alone).floor();
            let asynchronous = machine.end(Arc::new(Asynchronously(beside(compute))), ranks);
            assert_eq!(asynchronous, alone.max(compute), "{machine:?}, {share}");
        }
        let net = machine.loggp();
        let block = bytes as f64 / f64::from(ranks);
        let rounds = f64::from(2 * (ranks - 1));
        let combined = f64::from(ranks - 1) * net.combining(block);
        let compute = 2.0 * alone;
        let later = net.receive + combined + (rounds - 1.0) * net.message(block);
        let expected = net.send + compute + later;
        let time = machine.end(Arc::new(beside(compute)), ranks);
        assert!(
            (time / expected - 1.0).abs() <= TOLERANCE,
            "{machine:?}: {time}, {expected}"
        );
    }
}
