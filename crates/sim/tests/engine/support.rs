//! What the tests share: networks, parameters, programs and ways to run them.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

use odonata_load::{Arrivals, Cursor, OpenLoop, Operation, Pattern, Process, Script, Totals};
use odonata_network::routing::{Algorithm, AnyRouting, RoutingSpec};
use odonata_network::topology::{
    Arrangement, CrossbarSpec, DragonflyLinks, DragonflySpec, GroupWiring,
};
use odonata_network::{LinkClass, LinkKind, Routing, Topology};
use odonata_run::{
    Arbitration, CongestionControl, CreditUse, Crossbar, Decisions, EngineConfig, InjectionOrder,
    JobLoad, JobPlan, Measurement, MessageRecords, NicModel, Observer, OccupancyCount, Outcome,
    Progress, Protocol, Room, RouterModel, SimError, Switching,
};
use odonata_sim::{run, run_any};
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds, RankId};

/// 8 bytes per nanosecond: round numbers of picoseconds for whole flits of 8 bytes.
pub const RATE: u64 = 8_000_000_000;

pub fn bandwidth(bytes_per_second: u64) -> Bandwidth {
    Bandwidth::new(bytes_per_second).expect("a bandwidth in range")
}

/// A link class.
pub fn link(kind: LinkKind, bytes_per_second: u64, latency_ps: u64, buffer: u64) -> LinkClass {
    LinkClass {
        name: kind.name().to_owned(),
        kind,
        bandwidth: bandwidth(bytes_per_second),
        latency: Picoseconds(latency_ps),
        buffer: Bytes(buffer),
        impairments: Vec::new(),
    }
}

/// The same link everywhere.
pub fn uniform_links(bytes_per_second: u64, latency_ps: u64, buffer: u64) -> DragonflyLinks {
    let of = |kind| link(kind, bytes_per_second, latency_ps, buffer);
    DragonflyLinks {
        terminal: of(LinkKind::Terminal),
        local: of(LinkKind::Local),
        column: None,
        global: of(LinkKind::Global),
    }
}

/// All nodes on one router.
pub fn crossbar(nodes: u32, terminal: LinkClass) -> Topology {
    CrossbarSpec { nodes, terminal }
        .build()
        .expect("a crossbar")
}

/// A dragonfly with all-to-all groups.
pub fn dragonfly(p: u32, a: u32, h: u32, g: u32, links: DragonflyLinks) -> Topology {
    DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement: Arrangement::Absolute,
        group: GroupWiring::AllToAll,
        links,
    }
    .build()
    .expect("a dragonfly")
}

pub use odonata_testdata::shared as shared_file;

/// Parameters that a test changes to what it is about.
pub fn config() -> EngineConfig {
    EngineConfig {
        packet: Bytes(256),
        router: RouterModel {
            delay: Picoseconds(40_000),
            credit_delay: Picoseconds(0),
            credit_use: CreditUse::Link,
            occupancy: OccupancyCount::Buffered,
            switching: Switching::CutThrough { flit: Bytes(8) },
            crossbar: Crossbar::Ideal,
            arbitration: Arbitration::RoundRobin,
            room: Room::Bytes,
            node_room: None,
        },
        nic: NicModel {
            injection: InjectionOrder::RoundRobin,
            loopback_latency: Picoseconds(100_000),
            loopback_bandwidth: bandwidth(RATE),
            congestion_control: CongestionControl::None,
        },
        decisions: Decisions::PerPacket,
        virtual_channels: None,
        classes: Vec::new(),
        losses: None,
        seed: 1,
        threads: 1,
    }
}

/// From `warmup` to `end`, every message recorded or none.
pub fn measure(warmup: u64, end: u64, messages: MessageRecords) -> Measurement {
    Measurement {
        warmup: Picoseconds(warmup),
        duration: Some(Picoseconds(end)),
        timeline_bin: None,
        messages,
        rank_intervals: false,
        traffic: false,
        attribution: false,
        arrivals: None,
    }
}

/// Until all closed-loop jobs are done, every message recorded.
pub const TO_THE_END: Measurement = Measurement {
    warmup: Picoseconds(0),
    duration: None,
    timeline_bin: None,
    messages: MessageRecords::EveryNth(1),
    rank_intervals: false,
    traffic: false,
    attribution: false,
    arrivals: None,
};

/// A job of `load` with rank `r` on node `nodes[r]`.
pub fn job(name: &str, nodes: impl IntoIterator<Item = u32>, load: JobLoad) -> JobPlan {
    JobPlan {
        name: name.to_owned(),
        start: Picoseconds(0),
        node_of_rank: nodes.into_iter().map(NodeId).collect(),
        load,
        protocol: Protocol::default(),
        classes: odonata_run::JobClasses::default(),
        servers: None,
    }
}

pub fn send(to: u32, bytes: u64) -> Operation {
    Operation::Send {
        to: RankId(to),
        bytes: Bytes(bytes),
        tag: 0,
    }
}

pub fn receive(from: u32) -> Operation {
    Operation::Receive {
        from: RankId(from),
        tag: 0,
    }
}

/// Rank 0 of a job on nodes `from` and `to` sends `count` messages of `bytes` each to rank 1, all
/// at once.
pub fn messages(from: u32, to: u32, count: usize, bytes: u64) -> JobPlan {
    let all = |one: Operation| {
        let mut all = vec![one; count];
        all.push(Operation::WaitAll);
        all
    };
    let load = Listed::load(vec![all(send(1, bytes)), all(receive(0))]);
    job(&format!("{from} to {to}"), [from, to], load)
}

/// The same with one message.
pub fn flow(from: u32, to: u32, bytes: u64) -> JobPlan {
    messages(from, to, 1, bytes)
}

/// Sources that offer `bytes_per_second` each.
pub fn open(
    pattern: Pattern,
    message: u64,
    bytes_per_second: f64,
    process: Process,
    ranks: u32,
) -> JobLoad {
    let arrivals =
        Arrivals::from_rate(Bytes(message), bytes_per_second, process).expect("a rate in range");
    JobLoad::Open(OpenLoop::new(pattern, arrivals, Bytes(message), ranks).expect("a load"))
}

/// A program given as a list of operations per rank.
pub struct Listed(pub Vec<Vec<Operation>>);

impl Listed {
    pub fn load(operations: Vec<Vec<Operation>>) -> JobLoad {
        JobLoad::Closed(Arc::new(Self(operations)))
    }

    fn sizes(&self) -> impl Iterator<Item = u64> {
        self.0
            .iter()
            .flatten()
            .filter_map(|operation| match operation {
                Operation::Send { bytes, .. } => Some(bytes.0),
                _ => None,
            })
    }
}

impl Script for Listed {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }
    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        let operation = self.0[rank.index()].get(cursor.position as usize);
        cursor.position += 1;
        operation.cloned().unwrap_or(Operation::Finish)
    }
    fn totals(&self) -> Option<Totals> {
        Some(Totals {
            bytes: Bytes(self.sizes().sum()),
            messages: self.sizes().count() as u64,
        })
    }
    fn iterations(&self) -> u32 {
        0
    }
}

/// Runs with an algorithm whose type is known.
pub fn simulate_with<R: Routing>(
    topology: &Topology,
    routing: &R,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
) -> Result<Outcome, SimError> {
    run(
        topology,
        routing,
        config,
        jobs,
        measurement,
        &mut |_: &Progress| ControlFlow::Continue(()),
    )
}

/// Runs with any algorithm.
pub fn simulate(
    topology: &Topology,
    routing: &RoutingSpec,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
) -> Result<Outcome, SimError> {
    let mut silent = |_: &Progress| ControlFlow::Continue(());
    let saved = None;
    simulate_observed(
        topology,
        routing,
        config,
        jobs,
        measurement,
        saved,
        &mut silent,
    )
}

/// Runs with any algorithm and an observer, from the start or from a saved state.
pub fn simulate_observed(
    topology: &Topology,
    routing: &RoutingSpec,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    saved: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    let routing = AnyRouting::new(topology, routing).expect("a routing that fits");
    simulate_on(
        topology,
        &routing,
        config,
        jobs,
        measurement,
        saved,
        observer,
    )
}

/// The same with a routing that has been built.
pub fn simulate_on(
    topology: &Topology,
    routing: &AnyRouting,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    saved: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    let mut saved = saved;
    let state = saved.as_mut().map(|saved| saved as &mut dyn Read);
    run_any(
        topology,
        routing,
        config,
        jobs,
        measurement,
        state,
        observer,
    )
}

pub const SHORTEST: RoutingSpec = RoutingSpec::new(Algorithm::ShortestPath);
pub const MINIMAL: RoutingSpec = RoutingSpec::new(Algorithm::Minimal);

/// Fails unless every byte is accounted for.
pub fn assert_conserved(outcome: &Outcome) {
    let books = outcome.conservation;
    assert_eq!(
        books.created,
        books.delivered + books.backlog + books.in_flight + books.lost,
        "{books:?}"
    );
    let created: u64 = outcome.jobs.iter().map(|job| job.bytes_created).sum();
    let delivered: u64 = outcome.jobs.iter().map(|job| job.bytes_delivered).sum();
    assert_eq!((books.created, books.delivered), (created, delivered));
}

/// Bytes that each job got between the warm-up and the end.
pub fn delivered(outcome: &Outcome) -> Vec<u64> {
    assert_conserved(outcome);
    let jobs = outcome.jobs.iter();
    jobs.map(|job| job.bytes_delivered_measured).collect()
}
