//! CPU time of the flow engine where every rank sends a message to every other one:
//! `cargo run --release -p odonata-flow --example all_to_all -- NODES [BYTES [WINDOW [ROUTING]]]`.
//!
//! The network is a dragonfly with one rank on each of its nodes, 1,024, 4,096 or 16,384 of them.
//! A window of 1 waits after each step, one of w after w steps. Equal ends and latencies: equal runs.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use odonata_flow::{FlowConfig, run};
use odonata_load::motif::{AllToAll, Repeat};
use odonata_network::routing::{AdaptiveOptions, Algorithm, RoutingSpec};
use odonata_network::topology::{Arrangement, DragonflyLinks, DragonflySpec, GroupWiring};
use odonata_network::{LinkClass, LinkKind};
use odonata_run::{
    Arbitration, CongestionControl, CreditUse, Crossbar, InjectionOrder, JobLoad, JobPlan,
    Measurement, MessageRecords, NicModel, OccupancyCount, Progress, Protocol, Room, RouterModel,
    Switching,
};
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, default: u64| arguments.get(n).map_or(Ok(default), |a| a.parse());
    let (nodes, bytes, window) = (number(0, 1024)?, number(1, 4096)?, number(2, 1)? as u32);
    let algorithm = match arguments.get(3).map_or("minimal", String::as_str) {
        "ugal-l" => Algorithm::UgalLocal(AdaptiveOptions::default()),
        _ => Algorithm::Minimal,
    };
    let (p, a, h, g) = match nodes {
        1_024 => (4, 8, 4, 32),
        4_096 => (8, 16, 2, 32),
        _ => (8, 16, 8, 128),
    };
    let class = |kind: LinkKind, latency: u64| -> Result<_, odonata_units::BandwidthError> {
        Ok(LinkClass {
            name: kind.name().to_owned(),
            kind,
            bandwidth: Bandwidth::new(12_500_000_000)?,
            latency: Picoseconds(latency),
            buffer: Bytes(16_384),
            impairments: Vec::new(),
        })
    };
    let topology = DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement: Arrangement::Absolute,
        group: GroupWiring::AllToAll,
        links: DragonflyLinks {
            terminal: class(LinkKind::Terminal, 30_000)?,
            local: class(LinkKind::Local, 30_000)?,
            column: None,
            global: class(LinkKind::Global, 300_000)?,
        },
    }
    .build()?;
    let ranks = topology.nodes() as u32;
    let program = AllToAll::new(ranks, Bytes(bytes), window, Repeat::ONCE)?;
    let config = FlowConfig {
        packet: Bytes(4096),
        paths: 4,
        settle: Picoseconds(1),
        router: RouterModel {
            delay: Picoseconds(100_000),
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
            loopback_bandwidth: Bandwidth::new(12_500_000_000)?,
            congestion_control: CongestionControl::None,
        },
        rank_bandwidth: None,
        seed: 1,
    };
    let jobs = [JobPlan {
        name: "all-to-all".to_owned(),
        start: Picoseconds(0),
        node_of_rank: (0..ranks).map(NodeId).collect(),
        load: JobLoad::Closed(Arc::new(program)),
        protocol: Protocol::default(),
        classes: odonata_run::JobClasses::default(),
        servers: None,
    }];
    let measurement = Measurement {
        warmup: Picoseconds(0),
        duration: None,
        timeline_bin: None,
        messages: MessageRecords::None,
        rank_intervals: false,
        traffic: false,
        attribution: false,
        arrivals: None,
    };
    let begin = Instant::now();
    let routing = RoutingSpec::new(algorithm);
    let mut silent = |_: &Progress| ControlFlow::Continue(());
    let outcome = run(
        &topology,
        &routing,
        &config,
        &jobs,
        &measurement,
        &mut silent,
    )?;
    let took = begin.elapsed().as_secs_f64();
    let job = &outcome.jobs[0];
    let flows = job.messages_delivered as f64;
    println!(
        "{} nodes, {bytes} B: {took:.2} s, {:.2} us a message, ended at {}, mean latency {:?} ps",
        topology.nodes(),
        took * 1e6 / flows,
        outcome.end,
        job.message_latency_ps.mean(),
    );
    Ok(())
}
