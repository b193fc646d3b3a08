//! Random small scenarios over everything that the engine can do, for tests of
//! what must hold in all of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use odonata_load::motif::{
    AllToAll, Broadcast, Exchange, Halo, HaloOrder, Outstanding, Receives, Repeat, Tree,
};
use odonata_load::{Blocks, Grid, Operation, Partners, Pattern, Process, Turn};
use odonata_network::routing::{
    AdaptiveOptions, Algorithm, AlgorithmName, AlgorithmOptions, AnyRouting, Choice, FparRules,
    MinimalLinks, QAdaptiveOptions, RoutingSpec, Via,
};
use odonata_network::topology::{
    Arrangement, DragonflyLinks, DragonflyPlusLinks, DragonflyPlusSpec, DragonflySpec,
    FatTreeShape, FatTreeSpec, GroupWiring, HyperXSpec, SpineArrangement, TorusSpec,
};
use odonata_network::{LinkClass, LinkKind, Topology};
use odonata_run::{
    Arbitration, ArrivalRecords, Completion, CreditUse, Crossbar, Decisions, EngineConfig,
    HostCosts, HostTimes, InjectionOrder, JobLoad, JobPlan, Measurement, MessageRecords, Observer,
    OccupancyCount, Outcome, Progress, Protocol, Room, SimError, Switching,
};
use odonata_units::random::{Purpose, Stream, StreamKey};
use odonata_units::{Bandwidth, Bytes, JobId, NodeId, Picoseconds, RankId, RouterId};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{Listed, RATE, bandwidth, config, crossbar, link, open, simulate_observed};

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    Crossbar {
        nodes: u32,
    },
    Dragonfly {
        p: u32,
        a: u32,
        h: u32,
        g: u32,
        arrangement: u8,
    },
    Grid {
        p: u32,
        rows: u32,
        columns: u32,
        h: u32,
        g: u32,
    },
    DragonflyPlus {
        leaves: u32,
        spines: u32,
        p: u32,
        h: u32,
        g: u32,
        balanced: bool,
    },
    /// Nodes per leaf, leaves per pod, pods; parents of leaves and of those.
    FatTree {
        down: [u32; 3],
        up: [u32; 2],
    },
    /// A torus, or a mesh.
    Torus {
        size: [u32; 2],
        wrap: bool,
        p: u32,
    },
    HyperX {
        size: [u32; 2],
        p: u32,
    },
}

/// What the ranks of a job do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Pattern, process, percent of the terminal links' bandwidth per node, and how often
    /// each rank sends, if that has an end.
    Open {
        pattern: u8,
        process: u8,
        percent: u32,
        times: Option<u32>,
    },
    AllToAll {
        window: u32,
    },
    Halo,
    Exchange,
    Broadcast,
    /// Random messages, some of them never received, computing in between.
    Script,
}

/// A job: what it does, on how many of the nodes, and with how many ranks on each.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub kind: Kind,
    /// Percent of the nodes.
    pub share: u32,
    pub ranks_per_node: u32,
    pub message: u64,
    pub start: u64,
    pub protocol: Protocol,
}

/// Everything that makes up a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub family: Family,
    pub routing: RoutingSpec,
    /// Rates of terminal, local and global links in bytes per second.
    pub rates: [u64; 3],
    /// Latencies of the same in ps.
    pub latencies: [u64; 3],
    /// Buffers, in packets.
    pub buffer: u64,
    pub packet: u64,
    pub switching: Switching,
    pub crossbar: Crossbar,
    pub credit_use: CreditUse,
    pub occupancy: OccupancyCount,
    pub arbitration: Arbitration,
    pub injection: InjectionOrder,
    pub decisions: Decisions,
    pub credit_delay: u64,
    pub delay: u64,
    pub jobs: Vec<Job>,
    pub warmup: u64,
    /// `None`: until the closed-loop jobs are done, which are then at least one.
    pub duration: Option<u64>,
    pub timeline_bin: Option<u64>,
    pub every_nth: Option<u32>,
    /// Whether waiting and arrivals are recorded.
    pub recorded: bool,
    pub seed: u64,
}

impl Scenario {
    pub fn topology(&self) -> Topology {
        let buffer = self.buffer * self.packet;
        let of = |kind, n: usize| link(kind, self.rates[n], self.latencies[n], buffer);
        let links = DragonflyLinks {
            terminal: of(LinkKind::Terminal, 0),
            local: of(LinkKind::Local, 1),
            column: None,
            global: of(LinkKind::Global, 2),
        };
        let build = |p, a, h, g, arrangement, group| {
            let spec = DragonflySpec {
                p,
                a,
                h,
                g,
                arrangement,
                group,
                links: links.clone(),
            };
            spec.build().expect("a dragonfly")
        };
        match self.family {
            Family::Crossbar { nodes } => crossbar(nodes, links.terminal),
            Family::Dragonfly {
                p,
                a,
                h,
                g,
                arrangement,
            } => {
                let arrangement = match arrangement {
                    0 => Arrangement::Absolute,
                    1 => Arrangement::Relative,
                    _ => Arrangement::Circulant,
                };
                build(p, a, h, g, arrangement, GroupWiring::AllToAll)
            }
            Family::Grid {
                p,
                rows,
                columns,
                h,
                g,
            } => {
                let group = GroupWiring::Grid {
                    rows,
                    columns,
                    row_links: 1,
                    column_links: 2,
                };
                build(p, rows * columns, h, g, Arrangement::Absolute, group)
            }
            Family::DragonflyPlus {
                leaves,
                spines,
                p,
                h,
                g,
                balanced,
            } => DragonflyPlusSpec {
                leaves,
                spines,
                p,
                h,
                g,
                arrangement: if balanced {
                    SpineArrangement::Balanced
                } else {
                    SpineArrangement::Unbalanced
                },
                links: DragonflyPlusLinks {
                    terminal: links.terminal,
                    local: links.local,
                    global: links.global,
                },
            }
            .build()
            .expect("a dragonfly+"),
            Family::FatTree { down, up } => FatTreeSpec {
                shape: FatTreeShape {
                    down: down.to_vec(),
                    up: up.to_vec(),
                    parallel: vec![1; 2],
                    nodes: down.iter().product(),
                },
                terminal: links.terminal,
                above: vec![links.local, links.global],
            }
            .build()
            .expect("a fat tree"),
            Family::Torus { size, wrap, p } => {
                let along = |name: &str| LinkClass {
                    name: name.into(),
                    ..links.local.clone()
                };
                let spec = TorusSpec {
                    size: size.to_vec(),
                    wrap: vec![wrap; 2],
                    p,
                    links: vec![along("dim1"), along("dim2")],
                    terminal: links.terminal,
                };
                spec.build().expect("a torus")
            }
            Family::HyperX { size, p } => {
                let along = |name: &str| LinkClass {
                    name: name.into(),
                    ..links.local.clone()
                };
                let spec = HyperXSpec {
                    size: size.to_vec(),
                    parallel: vec![1; 2],
                    p,
                    links: vec![along("dim1"), along("dim2")],
                    terminal: links.terminal,
                };
                spec.build().expect("a HyperX")
            }
        }
    }

    /// Takes another routing where the network has none such.
    fn fit_routing(&mut self) {
        let is_tree = matches!(self.family, Family::FatTree { .. });
        let is_lattice = matches!(self.family, Family::Torus { .. } | Family::HyperX { .. });
        let fits = match self.routing.algorithm.kind() {
            // Detours over trees and rings need several times as many channels as those are
            // long.
            AlgorithmName::Minimal
            | AlgorithmName::Valiant
            | AlgorithmName::UgalLocal
            | AlgorithmName::UgalGlobal
            | AlgorithmName::Par
                if is_tree || is_lattice =>
            {
                false
            }
            _ => AnyRouting::new(&self.topology(), &self.routing).is_ok(),
        };
        if !fits {
            self.routing.algorithm = match is_tree {
                true => Algorithm::UpDown,
                false => Algorithm::Minimal,
            };
        }
        if matches!(
            self.routing.algorithm,
            Algorithm::QAdaptive(_) | Algorithm::MinimalAdaptive
        ) {
            self.decisions = Decisions::PerPacket;
        }
    }

    pub fn engine(&self, threads: usize) -> EngineConfig {
        let mut engine = config();
        engine.packet = Bytes(self.packet);
        engine.router.delay = Picoseconds(self.delay);
        engine.router.credit_delay = Picoseconds(self.credit_delay);
        engine.router.switching = self.switching;
        engine.router.crossbar = self.crossbar;
        engine.router.credit_use = self.credit_use;
        engine.router.occupancy = self.occupancy;
        engine.router.arbitration = self.arbitration;
        if (self.crossbar, self.credit_use) == (Crossbar::Ideal, CreditUse::Crossbar) {
            // By another number of the scenario, so that either of both comes up.
            engine.router.room = [Room::Bytes, Room::Packets][(self.seed % 2) as usize];
            engine.router.node_room = self
                .seed
                .is_multiple_of(3)
                .then_some(Bytes(2 * self.packet));
        }
        engine.nic.injection = self.injection;
        engine.decisions = self.decisions;
        engine.nic.loopback_latency = Picoseconds(50_000);
        engine.nic.loopback_bandwidth = bandwidth(2 * RATE);
        engine.seed = self.seed;
        engine.threads = threads;
        engine
    }

    pub fn measurement(&self) -> Measurement {
        Measurement {
            warmup: Picoseconds(self.warmup),
            duration: self.duration.map(Picoseconds),
            timeline_bin: self.timeline_bin.map(Picoseconds),
            messages: self
                .every_nth
                .map_or(MessageRecords::None, MessageRecords::EveryNth),
            rank_intervals: self.every_nth.is_some(),
            traffic: self.every_nth.is_some(),
            attribution: self.recorded,
            arrivals: self.recorded.then(|| ArrivalRecords {
                routers: vec![RouterId(0)],
                interval: Picoseconds(700_000),
            }),
        }
    }

    pub fn plans(&self, topology: &Topology) -> Vec<JobPlan> {
        let jobs = self.jobs.iter().enumerate();
        jobs.filter_map(|(number, job)| self.plan(topology, number as u32, job))
            .collect()
    }

    /// `None` if the job's kind needs more ranks than it gets.
    fn plan(&self, topology: &Topology, number: u32, job: &Job) -> Option<JobPlan> {
        let key = StreamKey::new(self.seed, Purpose::Placement);
        let mut stream = key.stream(u64::from(number));
        let mut nodes: Vec<u32> = (0..topology.nodes() as u32).collect();
        stream.shuffle(&mut nodes);
        let used = (nodes.len() as u32 * job.share).div_ceil(100).max(1);
        let node_of_rank: Vec<NodeId> = nodes[..used as usize]
            .iter()
            .flat_map(|&node| (0..job.ranks_per_node).map(move |_| NodeId(node)))
            .collect();
        let ranks = node_of_rank.len() as u32;
        let groups: Vec<u32> = node_of_rank
            .iter()
            .map(|&node| topology.group_of_node(node).0)
            .collect();
        let repeat = Repeat {
            iterations: 2,
            compute: Picoseconds(self.seed % 3 * 700_000),
        };
        let message = Bytes(job.message);
        let load = match job.kind {
            Kind::Open {
                pattern,
                process,
                percent,
                times,
            } => {
                let adversarial = || Pattern::adversarial(Arc::new(Blocks::new(&groups)), 1);
                let pattern = match pattern {
                    0 => Pattern::UniformRandom,
                    1 => Pattern::UniformOrSelf,
                    2 => adversarial().unwrap_or(Pattern::UniformRandom),
                    3 => Pattern::hot_spot(&[RankId(0)], 0.3).expect("a share"),
                    4 => Pattern::random_permutation(ranks, &mut stream).ok()?,
                    5 => Pattern::Bisection,
                    6 => Pattern::Neighbour,
                    7 => {
                        let grid = Grid::near_cubic(ranks, 2, false).expect("a grid");
                        let partners = Partners::neighbours(&grid, Turn::All).expect("a few");
                        Pattern::Partners(Arc::new(partners))
                    }
                    8 => {
                        let root = RankId(ranks - 1);
                        Pattern::Partners(Arc::new(Partners::all_of_one(ranks, root).ok()?))
                    }
                    _ => {
                        let blocks = Blocks::new(&groups);
                        let partners = Partners::counterparts(&blocks, Turn::Next);
                        Pattern::Partners(Arc::new(partners.ok()?))
                    }
                };
                let process = match process {
                    0 => Process::Poisson,
                    1 => Process::Periodic,
                    2 => Process::Aligned,
                    _ => Process::Bernoulli {
                        slot: bandwidth(16 * self.rates[0]).duration_of(job.message),
                    },
                };
                pattern.check(ranks).ok()?;
                let rate = self.rates[0] as f64 * f64::from(percent)
                    / 100.0
                    / f64::from(job.ranks_per_node);
                match (open(pattern, job.message, rate, process, ranks), times) {
                    (JobLoad::Open(source), Some(times)) => {
                        JobLoad::Open(source.ending_after(times).expect("a few"))
                    }
                    (load, _) => load,
                }
            }
            Kind::AllToAll { window } => JobLoad::Closed(Arc::new(
                AllToAll::new(
                    ranks,
                    message,
                    Outstanding {
                        window,
                        blocking: self.seed % 4 > 1,
                        receives: match self.seed % 2 {
                            0 => Receives::Ahead,
                            _ => Receives::InTurn,
                        },
                    },
                    repeat,
                )
                .ok()?,
            )),
            Kind::Halo => {
                let grid = Grid::near_cubic(ranks, 3, true).expect("a grid");
                let order = match self.seed % 2 {
                    0 => HaloOrder::Together,
                    _ => HaloOrder::Dimensions,
                };
                let blocking = self.seed % 4 > 1;
                let halo = Halo::with_faces(grid, &[message; 3], order, blocking, repeat);
                JobLoad::Closed(Arc::new(halo.ok()?))
            }
            Kind::Exchange => {
                let pattern = Pattern::UniformRandom;
                let id = JobId(number);
                let exchange = Exchange::new(&pattern, ranks, message, self.seed, id, repeat);
                JobLoad::Closed(Arc::new(exchange.ok()?))
            }
            Kind::Broadcast => {
                let tree = Tree::Binomial;
                let broadcast = Broadcast::new(ranks, RankId(0), tree, message, repeat);
                JobLoad::Closed(Arc::new(broadcast.ok()?))
            }
            Kind::Script => script(ranks, job.message, &mut stream),
        };
        Some(JobPlan {
            name: format!("job {number}"),
            start: Picoseconds(job.start),
            node_of_rank,
            load,
            protocol: job.protocol,
        })
    }

    /// Runs; `None` if no job fits (or none that ends, where one has to).
    pub fn run(&self, threads: usize) -> Option<Result<Outcome, SimError>> {
        self.run_observed(threads, &mut |_: &Progress| ControlFlow::Continue(()))
    }

    /// The same with an observer.
    pub fn run_observed(
        &self,
        threads: usize,
        observer: &mut dyn Observer,
    ) -> Option<Result<Outcome, SimError>> {
        self.run_from(threads, None, observer)
    }

    /// Goes on from a saved state.
    pub fn resume(
        &self,
        threads: usize,
        saved: &[u8],
        observer: &mut dyn Observer,
    ) -> Option<Result<Outcome, SimError>> {
        self.run_from(threads, Some(saved), observer)
    }

    fn run_from(
        &self,
        threads: usize,
        saved: Option<&[u8]>,
        observer: &mut dyn Observer,
    ) -> Option<Result<Outcome, SimError>> {
        let topology = self.topology();
        let plans = self.plans(&topology);
        let ends = |plan: &JobPlan| match &plan.load {
            JobLoad::Closed(_) => true,
            JobLoad::Open(source) => source.times().is_some(),
        };
        if plans.is_empty() || (self.duration.is_none() && !plans.iter().any(ends)) {
            return None;
        }
        let engine = self.engine(threads);
        let measurement = self.measurement();
        Some(simulate_observed(
            &topology,
            &self.routing,
            &engine,
            &plans,
            &measurement,
            saved,
            observer,
        ))
    }
}

/// Every rank computes, sends to a few random ranks (itself included) and
/// receives some of what is sent to it.
fn script(ranks: u32, message: u64, stream: &mut Stream) -> JobLoad {
    let mut operations = vec![Vec::new(); ranks as usize];
    for tag in 0..ranks * 3 {
        let (from, to) = (stream.below(ranks), stream.below(ranks));
        let list: &mut Vec<Operation> = &mut operations[from as usize];
        let pause = u64::from(stream.below(4)) * 900_000;
        list.push(Operation::Compute(Picoseconds(pause)));
        let bytes = Bytes(1 + u64::from(stream.below(2 * message as u32)));
        list.push(Operation::Send {
            to: RankId(to),
            bytes,
            tag: tag % 5,
        });
        if stream.below(4) > 0 {
            let from = RankId(from);
            let tag = tag % 5;
            operations[to as usize].push(Operation::Receive { from, tag });
        }
    }
    for list in &mut operations {
        list.push(Operation::WaitAll);
        list.push(Operation::Compute(Picoseconds(
            u64::from(stream.below(3)) * 50_000_000,
        )));
    }
    Listed::load(operations)
}

fn family() -> impl Strategy<Value = Family> {
    prop_oneof![
        1 => (2u32..12).prop_map(|nodes| Family::Crossbar { nodes }),
        4 => (1u32..3, 1u32..5, 1u32..3, 0u8..3)
            .prop_flat_map(|(p, a, h, arrangement)| {
                let most = (a * h + 1).min(9);
                (1u32..=most).prop_map(move |g| Family::Dragonfly { p, a, h, g, arrangement })
            }),
        2 => (1u32..3, 1u32..4, 1u32..4, 1u32..3)
            .prop_flat_map(|(p, rows, columns, h)| {
                let most = (rows * columns * h + 1).min(6);
                (1u32..=most).prop_map(move |g| Family::Grid { p, rows, columns, h, g })
            }),
        3 => (1u32..4, 1u32..4, 1u32..3, 1u32..5, 0usize..60, any::<bool>())
            .prop_map(|(leaves, spines, p, h, closing, balanced)| {
                // Groups among which the global links can be shared evenly.
                let numbers: Vec<u32> = (2..=(spines * h + 1).min(6))
                    .filter(|g| (spines * h).is_multiple_of(g - 1))
                    .collect();
                let g = numbers[closing % numbers.len()];
                Family::DragonflyPlus { leaves, spines, p, h, g, balanced }
            }),
        1 => (prop::array::uniform3(1u32..4), prop::array::uniform2(1u32..3))
            .prop_map(|(down, up)| Family::FatTree { down, up }),
        1 => (prop::array::uniform2(1u32..5), any::<bool>(), 1u32..3)
            .prop_map(|(size, wrap, p)| Family::Torus { size, wrap, p }),
        1 => ([1u32..5, 1u32..4], 1u32..4).prop_map(|(size, p)| Family::HyperX { size, p }),
    ]
    .prop_filter("two nodes or more", |family| match *family {
        Family::Crossbar { nodes } => nodes > 1,
        Family::Dragonfly { p, a, g, .. } => p * a * g > 1,
        Family::Grid {
            p,
            rows,
            columns,
            g,
            ..
        } => p * rows * columns * g > 1,
        Family::DragonflyPlus { .. } => true,
        Family::FatTree { down, .. } => down.iter().product::<u32>() > 1,
        Family::Torus { size, p, .. } | Family::HyperX { size, p } => size[0] * size[1] * p > 1,
    })
}

/// All algorithms with the channels that they need; some fit one family only.
pub fn routing() -> impl Strategy<Value = RoutingSpec> {
    let options = (select(Via::ALL), 1u32..3, -600i64..600, any::<bool>()).prop_map(
        |(via, candidates, threshold_bytes, detours_in_group)| AdaptiveOptions {
            via,
            candidates,
            threshold_bytes,
            detours_in_group,
            ..AdaptiveOptions::default()
        },
    );
    let algorithm = (select(AlgorithmName::ALL), options, 0u32..=10);
    let algorithm = algorithm.prop_map(|(algorithm, adaptive, tenths)| {
        algorithm.with_options(&AlgorithmOptions {
            adaptive,
            threshold_share: f64::from(tenths) / 10.0,
            rules: FparRules::ALL[tenths as usize % 3],
            learning: QAdaptiveOptions {
                exploration: f64::from(tenths) / 100.0,
                ..QAdaptiveOptions::default()
            },
        })
    });
    let links = select(MinimalLinks::ALL);
    let choice = prop_oneof![Just(Choice::Random), Just(Choice::ByLoad)];
    (algorithm, links, choice).prop_map(|(algorithm, links, choice)| RoutingSpec {
        links,
        // Of the choices those by tables have one more.
        choice: match (algorithm, links) {
            (Algorithm::UpDown, MinimalLinks::Shortest) => Choice::ByDestination,
            _ => choice,
        },
        ..RoutingSpec::new(algorithm)
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        6 => (
            0u8..10,
            0u8..4,
            prop_oneof![Just(10u32), Just(40), Just(80), Just(150)],
            prop_oneof![2 => Just(None), 1 => (1u32..12).prop_map(Some)],
        )
            .prop_map(|(pattern, process, percent, times)| {
                Kind::Open { pattern, process, percent, times }
            }),
        1 => (1u32..4).prop_map(|window| Kind::AllToAll { window }),
        1 => Just(Kind::Halo),
        1 => Just(Kind::Exchange),
        1 => Just(Kind::Broadcast),
        2 => Just(Kind::Script),
    ]
}

fn closed_kind() -> impl Strategy<Value = Kind> {
    kind().prop_map(|kind| match kind {
        Kind::Open { times: None, .. } => Kind::Script,
        other => other,
    })
}

fn job_of(kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = Job> {
    let message = prop_oneof![Just(40u64), Just(256), Just(1_000), Just(3_000)];
    (kind, 20u32..=100, 1u32..4, message, 0u64..3, protocol()).prop_map(
        |(kind, share, ranks_per_node, message, start, protocol)| Job {
            kind,
            share,
            ranks_per_node,
            message,
            start: start * 1_234_567,
            protocol,
        },
    )
}

/// Half of them without overheads and requests.
fn protocol() -> impl Strategy<Value = Protocol> {
    let limit = prop_oneof![Just(None), Just(Some(Bytes(0))), Just(Some(Bytes(500)))];
    let overheads = (0u64..2, 0u64..2, prop::option::of(rate_of_copies()));
    let completion = prop_oneof![Just(Completion::Sent), Just(Completion::Acknowledged)];
    let delay = prop_oneof![Just(0u64), Just(1), Just(777_777)];
    let other = (limit, overheads, completion, delay, any::<bool>()).prop_map(
        |(eager_limit, (send, receive, copy_bandwidth), completion, delay, within)| Protocol {
            eager_limit,
            completion,
            control: Bytes(40),
            costs: HostCosts {
                send_overhead: Picoseconds(send * 50_001),
                receive_overhead: Picoseconds(receive * 120_003),
                copy_bandwidth,
                times: HostTimes::new(&[(Bytes(500), Picoseconds(send * 9_001))]).unwrap(),
            },
            within_node: within.then(|| HostCosts {
                send_overhead: Picoseconds(send * 7_001),
                ..HostCosts::default()
            }),
            gap: Picoseconds(receive * 3_333),
            send_delay: Picoseconds(delay),
            // Long messages are overtaken.
            delay_times: HostTimes::new(&[(Bytes(2_000), Picoseconds(delay))]).expect("grows"),
        },
    );
    prop_oneof![Just(Protocol::default()), other]
}

fn rate_of_copies() -> impl Strategy<Value = Bandwidth> {
    Just(bandwidth(7_000_000_000))
}

fn rates() -> impl Strategy<Value = [u64; 3]> {
    let rate = prop_oneof![
        Just(RATE),
        Just(2 * RATE),
        Just(RATE / 2),
        Just(5_637_144_576)
    ];
    prop::array::uniform3(rate)
}

fn models() -> impl Strategy<
    Value = (
        Switching,
        (Crossbar, CreditUse, OccupancyCount),
        Arbitration,
        InjectionOrder,
        Decisions,
    ),
> {
    let switching = prop_oneof![
        Just(Switching::CutThrough { flit: Bytes(8) }),
        Just(Switching::CutThrough { flit: Bytes(64) }),
        Just(Switching::StoreAndForward),
    ];
    let bounded = |speedup, packets: u64| Crossbar::Bounded {
        speedup,
        output_buffer: Bytes(packets * 256),
    };
    let crossbar = prop_oneof![
        2 => Just((Crossbar::Ideal, CreditUse::Link, OccupancyCount::Buffered)),
        1 => Just((Crossbar::Ideal, CreditUse::Crossbar, OccupancyCount::Buffered)),
        1 => Just((bounded(1.0, 1), CreditUse::Link, OccupancyCount::Buffered)),
        1 => Just((bounded(1.5, 3), CreditUse::Link, OccupancyCount::Requests)),
        1 => Just((bounded(2.0, 8), CreditUse::Link, OccupancyCount::Buffered)),
        1 => Just((bounded(1.0, 2), CreditUse::Crossbar, OccupancyCount::Requests)),
        1 => Just((bounded(2.0, 8), CreditUse::Crossbar, OccupancyCount::Buffered)),
    ];
    let arbitration = prop_oneof![
        Just(Arbitration::RoundRobin),
        Just(Arbitration::OldestFirst),
        Just(Arbitration::LowestChannel),
        Just(Arbitration::TransitFirst),
    ];
    let injection = prop_oneof![Just(InjectionOrder::RoundRobin), Just(InjectionOrder::Fifo)];
    let decisions = prop_oneof![
        2 => Just(Decisions::PerPacket),
        1 => Just(Decisions::PerMessage),
    ];
    (switching, crossbar, arbitration, injection, decisions)
}

/// Whether a run stops at a given time, and if not whether open-loop jobs run
/// beside the closed-loop ones.
fn jobs() -> impl Strategy<Value = (Vec<Job>, Option<u64>)> {
    prop_oneof![
        2 => (prop::collection::vec(job_of(kind()), 1..4), 5u64..25)
            .prop_map(|(jobs, micros)| (jobs, Some(micros * 1_000_000 + 1))),
        1 => prop::collection::vec(job_of(closed_kind()), 1..3).prop_map(|jobs| (jobs, None)),
        1 => (job_of(closed_kind()), prop::collection::vec(job_of(kind()), 1..3)).prop_map(
            |(first, mut jobs)| {
                jobs.insert(0, first);
                (jobs, None)
            }
        ),
    ]
}

/// Any scenario. `slow` links between routers have latencies of at least 0.2 µs,
/// so that runs on several threads exchange events rarely.
pub fn scenario(slow: bool) -> impl Strategy<Value = Scenario> {
    let latency = if slow {
        200_000u64..400_000
    } else {
        500..50_000
    };
    let physical = (
        rates(),
        [1_000u64..60_000, latency.clone(), latency],
        2u64..12,
        prop_oneof![Just(64u64), Just(256)],
        0u64..3,
        0u64..100_000,
    );
    let measured = (
        0u64..4_000_000,
        prop_oneof![Just(None), (100_000u64..3_000_000).prop_map(Some)],
        prop_oneof![Just(None), (1u32..4).prop_map(Some)],
        any::<bool>(),
    );
    (
        family(),
        routing(),
        physical,
        models(),
        jobs(),
        measured,
        0u64..1 << 40,
    )
        .prop_map(
            |(family, routing, physical, models, (jobs, duration), measured, seed)| {
                let (rates, latencies, buffer, packet, credit, delay) = physical;
                let (switching, inside, arbitration, injection, decisions) = models;
                let (crossbar, credit_use, occupancy) = inside;
                let (warmup, timeline_bin, every_nth, recorded) = measured;
                let mut scenario = Scenario {
                    family,
                    routing,
                    rates,
                    latencies,
                    buffer,
                    packet,
                    switching,
                    crossbar,
                    credit_use,
                    occupancy,
                    arbitration,
                    injection,
                    decisions,
                    credit_delay: credit * 3_333,
                    delay,
                    jobs,
                    warmup,
                    duration,
                    timeline_bin,
                    every_nth,
                    recorded,
                    seed,
                };
                scenario.fit_routing();
                scenario
            },
        )
}
