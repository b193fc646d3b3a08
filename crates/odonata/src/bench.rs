//! The reference benchmark: uniform random traffic on dragonflies of three sizes.

use odonata_sim::Observer;
use serde::Serialize;

use crate::error::{Error, SpecError};
use crate::run::run;
use crate::spec::{
    Algorithm, Dragonfly, Family, Job, Link, Load, Network, Offered, Pattern, Router, Scenario,
    Traffic,
};

/// Parameters of the reference benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchOptions {
    /// Machine, by its number of nodes: 1,056, 16,512 or 82,944.
    pub nodes: u32,
    /// Routing algorithm.
    pub routing: Algorithm,
    /// Offered load as a fraction of the terminal bandwidth.
    pub load: f64,
    /// Threads.
    pub threads: usize,
    /// Simulated time after warm-up; `None`: so that the run takes some seconds.
    pub duration_ps: Option<u64>,
    /// Seed.
    pub seed: u64,
}

impl Default for BenchOptions {
    /// 1,056 nodes, minimal routing, load 0.5, one thread.
    fn default() -> Self {
        Self {
            nodes: 1_056,
            routing: Algorithm::Minimal,
            load: 0.5,
            threads: 1,
            duration_ps: None,
            seed: 1,
        }
    }
}

/// What the benchmark found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchResult {
    /// Nodes of the machine.
    pub nodes: usize,
    /// Routers of the machine.
    pub routers: usize,
    /// Router ports of the machine.
    pub ports: usize,
    /// Routing algorithm.
    pub routing: String,
    /// Offered load.
    pub load: f64,
    /// Threads.
    pub threads: usize,
    /// Simulated time, warm-up included.
    pub simulated_ps: u64,
    /// Packets that left a router port.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Events per packet-hop.
    pub events_per_packet_hop: f64,
    /// CPU time of the process during the simulation, result tables included.
    pub cpu_seconds: f64,
    /// Wall time of the same.
    pub wall_seconds: f64,
    /// The figure of merit.
    pub packet_hops_per_cpu_second: f64,
    /// Largest resident memory of the process.
    pub peak_rss_bytes: u64,
    /// Routers that a packet visited, on average.
    pub mean_routers_visited: f64,
    /// Delivered load as a fraction of the terminal bandwidth.
    pub accepted_load: f64,
    /// Most packets in the network at once.
    pub peak_packets: u64,
    /// Memory per buffered packet.
    pub bytes_per_packet: u64,
    /// Memory per router port.
    pub bytes_per_port: u64,
}

impl BenchResult {
    /// The figures by name.
    pub fn to_json(&self) -> serde_json::Value {
        // A struct of numbers and texts always has a JSON form.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Bandwidth of all links.
const BANDWIDTH: u64 = 25_000_000_000;
/// Flits of 32 bytes, packets of 8 of them.
const FLIT: u64 = 32;
/// Warm-up: a few times the zero-load latency.
const WARMUP_PS: u64 = 2_000_000;

/// The benchmark's scenario.
///
/// # Errors
/// If there is no machine of that size, or the load is not in (0, 1].
pub fn bench_scenario(options: &BenchOptions) -> Result<Scenario, SpecError> {
    let (dragonfly, default_duration_ps) = match options.nodes {
        1_056 => (Dragonfly::new(4, 8, 4, 33), 100_000_000),
        16_512 => (Dragonfly::new(8, 16, 8, 129), 10_000_000),
        82_944 => (Dragonfly::new(12, 24, 12, 288), 3_000_000),
        other => {
            let allowed = "1056, 16512 or 82944";
            return Err(SpecError::value("nodes", other, allowed));
        }
    };
    if !(options.load > 0.0 && options.load <= 1.0) {
        let allowed = "a number above 0 and at most 1";
        return Err(SpecError::value("load", options.load, allowed));
    }
    let link = |latency_ps| Link {
        bandwidth_bytes_per_s: BANDWIDTH,
        latency_ps,
        buffer_bytes: None,
        kind: None,
    };
    let mut network = Network::new(Family::Dragonfly(dragonfly));
    network.routing.algorithm = options.routing;
    network.router = Router {
        delay_ps: 40_000,
        flit_bytes: FLIT,
        ..Router::default()
    };
    for (class, latency_ps) in [("terminal", 10_000), ("local", 10_000), ("global", 100_000)] {
        network.links.insert(class.to_owned(), link(latency_ps));
    }
    let offered = Offered::Load(options.load);
    let traffic = Traffic::new(Pattern::UniformRandom, 8 * FLIT, offered);
    let mut scenario = Scenario::new(network);
    scenario.title = format!("benchmark of {} nodes", options.nodes);
    scenario.seed = options.seed;
    scenario.simulation.packet_bytes = 8 * FLIT;
    scenario.simulation.warmup_ps = WARMUP_PS;
    let duration = options.duration_ps.unwrap_or(default_duration_ps);
    scenario.simulation.duration_ps = Some(WARMUP_PS + duration);
    scenario.simulation.threads = options.threads;
    let job = Job::new("uniform", options.nodes, Load::Traffic(traffic));
    scenario.jobs.push(job);
    Ok(scenario)
}

/// Runs the benchmark. `observer` is as in [`run`].
///
/// # Errors
/// As [`bench_scenario`] and [`run`].
pub fn bench(options: &BenchOptions, observer: &mut dyn Observer) -> Result<BenchResult, Error> {
    let scenario = bench_scenario(options)?;
    let run = run(&scenario, observer)?;
    let (tables, table_cost) = crate::cost::measured(|| run.tables());
    drop(tables);
    let outcome = &run.outcome;
    let cpu_seconds = run.cost.cpu_seconds + table_cost.cpu_seconds;
    Ok(BenchResult {
        nodes: run.topology.nodes(),
        routers: run.topology.routers(),
        ports: run.topology.ports(),
        routing: options.routing.name().to_owned(),
        load: options.load,
        threads: options.threads,
        simulated_ps: outcome.end.0,
        packet_hops: outcome.packet_hops,
        events: outcome.events,
        events_per_packet_hop: outcome.events as f64 / outcome.packet_hops.max(1) as f64,
        cpu_seconds,
        wall_seconds: run.cost.wall_seconds + table_cost.wall_seconds,
        packet_hops_per_cpu_second: outcome.packet_hops as f64 / cpu_seconds.max(1e-9),
        peak_rss_bytes: table_cost.peak_rss_bytes,
        mean_routers_visited: run.mean_routers_visited(),
        accepted_load: run.accepted_load(),
        peak_packets: outcome.peak_packets,
        bytes_per_packet: outcome.bytes_per_packet,
        bytes_per_port: outcome.bytes_per_port,
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use odonata_sim::Progress;

    use super::*;
    use crate::build_topology;

    #[test]
    fn machines_have_the_size_that_names_them() {
        for nodes in [1_056, 16_512, 82_944] {
            let options = BenchOptions {
                nodes,
                ..BenchOptions::default()
            };
            let topology = build_topology(&bench_scenario(&options).unwrap()).unwrap();
            assert_eq!(topology.nodes(), nodes as usize);
        }
        let other = BenchOptions {
            nodes: 1_057,
            ..BenchOptions::default()
        };
        assert_eq!(bench_scenario(&other).unwrap_err().path, "nodes");
    }

    #[test]
    fn the_benchmark_accepts_what_it_offers() {
        let options = BenchOptions {
            duration_ps: Some(2_000_000),
            ..BenchOptions::default()
        };
        let result = bench(&options, &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
        // 1,056 nodes send 103,000 packets: one standard deviation is 0.3 %.
        assert!((result.accepted_load - 0.5).abs() < 0.01, "{result:?}");
        // Of 1,055 other nodes 3 are one router away, 28 two, and 1,024 two plus
        // 7/8 at each end of the global link: 3.696 routers on average. Packets
        // that are still on their way at the end have the longer routes.
        assert!((result.mean_routers_visited - 3.696).abs() < 0.05);
        for key in [
            "packet_hops_per_cpu_second",
            "peak_rss_bytes",
            "bytes_per_port",
        ] {
            assert!(result.to_json().get(key).is_some(), "{key}");
        }
    }
}
