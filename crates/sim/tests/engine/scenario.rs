//! Random small scenarios over everything that the engine can do, for tests of
//! what must hold in all of them.

mod drawn;

use std::ops::ControlFlow;
use std::sync::Arc;

use odonata_load::motif::{
    AllToAll, Broadcast, Exchange, Halo, HaloOrder, Outstanding, Receives, Repeat, Tree,
};
use odonata_load::{Blocks, Grid, Operation, Partners, Pattern, Phase, Phases, Process, Turn};
use odonata_network::routing::{Algorithm, AlgorithmName, AnyRouting, Lanes, Layered, RoutingSpec};
use odonata_network::topology::{
    Amount, Arrangement, DragonflyLinks, DragonflyPlusLinks, DragonflyPlusSpec, DragonflySpec,
    DrawnFailures, During, Failures, FatTreeShape, FatTreeSpec, GroupWiring, HyperXSpec,
    Impairment, OnTheWay, OutOfService, Outage, Part, SpineArrangement, TorusSpec,
};
use odonata_network::{LinkClass, LinkKind, Topology};
use odonata_run::{
    Arbitration, ArrivalRecords, ClassRule, CongestionControl, CreditUse, Crossbar, Decisions,
    EcnKeys, EngineConfig, HpccKeys, InfinibandKeys, InjectionOrder, JobClasses, JobLoad, JobPlan,
    Losses, Measurement, MessageRecords, Observer, OccupancyCount, Outcome, Progress, Protocol,
    Room, SimError, SlingshotKeys, Switching, TrafficClass, WindowKeys,
};
use odonata_units::random::{Purpose, Stream, StreamKey};
use odonata_units::{Bytes, JobId, NodeId, Picoseconds, RankId, RouterId};

use crate::support::{Listed, RATE, bandwidth, config, crossbar, link, open, simulate_on};

pub use drawn::scenario;

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
    /// Whether links may lose packets.
    pub may_lose: bool,
    pub seed: u64,
}

impl Scenario {
    pub fn topology(&self) -> Topology {
        let buffer = self.buffer * self.packet;
        let of = |kind, n: usize| LinkClass {
            impairments: self.impairments(n),
            ..link(kind, self.rates[n], self.latencies[n], buffer)
        };
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

    /// By another number again, of links between routers: none, or lanes that are dark for a while
    /// and packets that are sent again.
    fn impairments(&self, links: usize) -> Vec<Impairment> {
        let span = |from, until| During {
            from: Picoseconds(from),
            until: Picoseconds(until),
        };
        match (links, self.seed / 42 % 5) {
            (1, 0) | (2, 1) => vec![
                Impairment {
                    during: span(1_000_000, 3_000_000),
                    left: 0.4,
                    error_rate: 0.0,
                },
                Impairment {
                    during: span(4_000_000, u64::MAX),
                    left: 1.0,
                    error_rate: 0.3,
                },
            ],
            _ => Vec::new(),
        }
    }

    /// The routes, and the links that lose packets: by another number again none do, or links,
    /// routers or nodes are out of service for a while.
    pub fn routes(&self) -> (AnyRouting, Option<Losses>) {
        let topology = self.topology();
        let whole = AnyRouting::new(&topology, &self.routing).expect("one that fits");
        match self.damaged_routes(&topology) {
            Some((routing, losses)) => (routing, Some(losses)),
            None => (whole, None),
        }
    }

    fn damaged_routes(&self, topology: &Topology) -> Option<(AnyRouting, Losses)> {
        let mut draw = StreamKey::new(self.seed, Purpose::Failures).stream(u64::MAX);
        let mut below = |bound: u32| draw.below(bound);
        if !self.may_lose || below(2) == 0 {
            return None;
        }
        let mut during = || {
            let from = 500_000 + u64::from(below(12)) * 1_111_111;
            let lasts = u64::from(below(12)) * 1_700_000;
            During {
                from: Picoseconds(from),
                until: Picoseconds(match lasts {
                    0 => u64::MAX,
                    lasts => from + lasts,
                }),
            }
        };
        let links = (during(), during());
        let outage = during();
        let of = match below(4) {
            0 => OutOfService::Router(RouterId(below(topology.routers() as u32))),
            1 => OutOfService::Node(NodeId(below(topology.nodes() as u32))),
            _ => OutOfService::Router(RouterId(u32::MAX)),
        };
        let reconvergence = Picoseconds(u64::from(below(3)) * 1_500_000);
        let drawn = |during| DrawnFailures {
            part: Part::Links,
            class: None,
            amount: Amount::Count(1),
            impairment: Impairment::dark(during),
        };
        let mut failures = Failures {
            drawn: vec![drawn(links.0), drawn(links.1)],
            on_the_way: OnTheWay::Lost { reconvergence },
            seed: self.seed,
            ..Failures::default()
        };
        failures.drawn.truncate(below(3) as usize);
        if of != OutOfService::Router(RouterId(u32::MAX)) {
            failures.outages.push(Outage {
                of,
                during: outage,
                entry: 0,
            });
        }
        let moments = failures.moments(topology).ok()?;
        let parts = moments.iter().map(|(from, left)| {
            let routing = AnyRouting::new(left, &self.routing).ok()?;
            Some((*from, routing, left.lost_routers()))
        });
        let routing =
            Layered::new(parts.collect::<Option<_>>()?, &topology.group_of_router).ok()?;
        let dark = failures.dark(topology).ok()?;
        let latencies = self.latencies.iter().copied().max()?;
        let losses = Losses {
            dark,
            unreachable: moments
                .iter()
                .map(|(from, left)| (*from, left.lost_nodes().collect()))
                .collect(),
            resend_after: Picoseconds(latencies + 700_000),
            retries: 1 + (self.seed % 4) as u8,
        };
        Some((AnyRouting::Layered(routing), losses))
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

    /// By another number again: none, or a scheme to which a few packets are congestion.
    fn congestion_control(&self) -> CongestionControl {
        let packets = |count: u64| count * self.packet;
        match self.seed / 30 % 7 {
            0 => CongestionControl::Window(WindowKeys {
                window_bytes: packets(1 + self.seed / 210 % 4),
            }),
            1 => CongestionControl::Ecn(EcnKeys {
                mark_from_bytes: packets(1),
                mark_all_bytes: packets(4),
                mark_probability: 0.5,
                notification_interval_ps: 500_000,
                decay_interval_ps: 550_000,
                increase_interval_ps: 600_000,
                increase_bytes: packets(20),
                least_rate_bytes_per_s: RATE / 10,
                ..EcnKeys::default()
            }),
            2 => CongestionControl::Infiniband(InfinibandKeys {
                marking_rate: (self.seed / 210 % 2) as u32,
                index_limit: 10,
                index_timer_ps: 700_000,
                ..InfinibandKeys::default()
            }),
            4 => CongestionControl::Hpcc(HpccKeys {
                base_round_trip_ps: 2_000_000,
                slow_increases: (self.seed / 210 % 3) as u32,
                ..HpccKeys::default()
            }),
            3 => CongestionControl::Slingshot(SlingshotKeys {
                hold_from_bytes: packets(2),
                shared_queue_bytes: packets(4),
                forget_after_ps: 2_000_000,
            }),
            _ => CongestionControl::None,
        }
    }

    /// By another number, too: more than most algorithms need, and a number that few share out evenly.
    fn virtual_channels(&self) -> Option<u8> {
        [None, None, None, Some(5), Some(16)][(self.seed / 6 % 5) as usize]
    }

    /// None, or as many as there are channels for, two or three: with shares, a limit, a priority.
    pub fn classes(&self) -> Vec<TrafficClass> {
        if (self.seed / 1_470).is_multiple_of(2)
            || matches!(self.crossbar, Crossbar::Bounded { .. })
        {
            return Vec::new();
        }
        let (needed, _) = self.routes();
        let lanes = Lanes::new(needed.virtual_channels(), self.virtual_channels());
        let class = |number: u64| TrafficClass {
            guaranteed: [0.0, 0.3, 0.1][(self.seed / (2_940 + number) % 3) as usize],
            largest: [1.0, 1.0, 0.4][(self.seed / (8_820 + number) % 3) as usize],
            priority: (self.seed / (26_460 + number) % 2) as u32,
            weight: 1 + number as u32,
            ..TrafficClass::new(format!("class {number}"))
        };
        let count = (2 + self.seed / 4_000 % 2).min(16 / u64::from(lanes.count()));
        (0..count).map(class).collect()
    }

    /// A class for each job and, by another number, others for its control messages, its short ones
    /// and a phase.
    fn job_classes(&self, number: u32, kind: &Kind) -> JobClasses {
        let count = self.classes().len() as u64;
        let number = u64::from(number);
        let usual = (number % count.max(1)) as u8;
        if count < 2 || matches!(kind, Kind::Open { .. }) {
            return JobClasses::all(usual);
        }
        let drawn = |from: u64| {
            let drawn = self.seed / from + number;
            drawn.is_multiple_of(2).then_some((drawn / 2 % count) as u8)
        };
        let short = drawn(3).map(|class| ClassRule {
            class,
            collective: None,
            up_to: Some(Bytes(self.packet)),
        });
        let of_phase = match kind {
            Kind::AllToAll { .. } => drawn(7),
            _ => None,
        };
        JobClasses {
            usual,
            control: drawn(5),
            rules: short.into_iter().collect(),
            of_phases: of_phase.map_or(0, |class| 1 << class),
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
        engine.nic.congestion_control = self.congestion_control();
        engine.decisions = self.decisions;
        engine.virtual_channels = self.virtual_channels();
        engine.classes = self.classes();
        engine.losses = self.routes().1;
        if engine.losses.is_some() {
            engine.decisions = Decisions::PerPacket;
        }
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
            Kind::AllToAll { window } => {
                let outstanding = Outstanding {
                    window,
                    blocking: self.seed % 4 > 1,
                    receives: match self.seed % 2 {
                        0 => Receives::Ahead,
                        _ => Receives::InTurn,
                    },
                };
                let all = AllToAll::new(ranks, message, outstanding, repeat).ok()?;
                match self.job_classes(number, &job.kind).of_phases {
                    0 => JobLoad::Closed(Arc::new(all)),
                    bits => {
                        let class = bits.ilog2() as u8;
                        let all = || Phase::script(all.clone());
                        let phases = vec![all(), Phase::OfClass(class, vec![all()]), all()];
                        JobLoad::Closed(Arc::new(Phases::new(ranks, phases, 1).ok()?))
                    }
                }
            }
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
            classes: self.job_classes(number, &job.kind),
            servers: None,
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
        let (routing, _) = self.routes();
        let ends = |plan: &JobPlan| match &plan.load {
            JobLoad::Closed(_) => true,
            JobLoad::Open(source) => source.times().is_some(),
        };
        if plans.is_empty() || (self.duration.is_none() && !plans.iter().any(ends)) {
            return None;
        }
        let engine = self.engine(threads);
        let measurement = self.measurement();
        Some(simulate_on(
            &topology,
            &routing,
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
