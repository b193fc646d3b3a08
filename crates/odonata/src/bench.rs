//! The reference benchmark: uniform random traffic on dragonflies of three sizes, and on one
//! network of about a thousand nodes of every other family.

use odonata_run::Observer;
use serde::Serialize;

use crate::error::{Error, SpecError};
use crate::run::run;
use crate::spec::{
    AlgorithmName, Choice, Dragonfly, DragonflyPlus, Family, FatTree, HyperX, Jellyfish, Job, Link,
    Load, Network, Offered, Pattern, Router, Scenario, SlimFly, SpineArrangement, Torus, Traffic,
};

/// A network whose speed is measured.
struct Machine {
    /// Its family's name in scenarios.
    family: &'static str,
    nodes: u32,
    network: fn() -> Family,
    /// Simulated time with which a run takes some seconds.
    duration_ps: u64,
}

/// The first of several of a family is the one that is meant by the family alone.
const MACHINES: [Machine; 9] = [
    Machine {
        family: "dragonfly",
        nodes: 1_056,
        network: || Family::Dragonfly(Dragonfly::new(4, 8, 4, 33)),
        duration_ps: 100_000_000,
    },
    Machine {
        family: "dragonfly",
        nodes: 16_512,
        network: || Family::Dragonfly(Dragonfly::new(8, 16, 8, 129)),
        duration_ps: 10_000_000,
    },
    Machine {
        family: "dragonfly",
        nodes: 82_944,
        network: || Family::Dragonfly(Dragonfly::new(12, 24, 12, 288)),
        duration_ps: 3_000_000,
    },
    Machine {
        family: "dragonfly+",
        nodes: 1_056,
        network: || {
            Family::DragonflyPlus(DragonflyPlus {
                leaves: 8,
                spines: 8,
                p: 4,
                h: 4,
                g: Some(33),
                arrangement: SpineArrangement::default(),
            })
        },
        duration_ps: 100_000_000,
    },
    Machine {
        family: "fat-tree",
        nodes: 1_024,
        network: || {
            Family::FatTree(FatTree {
                radix: Some(16),
                levels: Some(3),
                nodes: None,
                down: None,
                up: None,
                parallel: None,
                taper: None,
                optical: None,
            })
        },
        duration_ps: 100_000_000,
    },
    Machine {
        family: "torus",
        nodes: 1_024,
        network: || {
            Family::Torus(Torus {
                size: vec![16, 8, 8],
                wrap: None,
                p: 1,
            })
        },
        duration_ps: 100_000_000,
    },
    Machine {
        family: "hyperx",
        nodes: 1_024,
        network: || {
            Family::Hyperx(HyperX {
                size: vec![8, 8],
                parallel: None,
                p: 16,
            })
        },
        duration_ps: 100_000_000,
    },
    Machine {
        family: "slim-fly",
        nodes: 1_134,
        network: || Family::SlimFly(SlimFly { q: 9, p: Some(7) }),
        duration_ps: 100_000_000,
    },
    Machine {
        family: "jellyfish",
        nodes: 1_024,
        network: || {
            Family::Jellyfish(Jellyfish {
                routers: 128,
                degree: 14,
                p: 8,
                wiring_seed: 1,
            })
        },
        duration_ps: 100_000_000,
    },
];

/// The one of a family, or of its size.
fn machine(family: &str, nodes: Option<u32>) -> Result<&'static Machine, SpecError> {
    let of_family = || MACHINES.iter().filter(|machine| machine.family == family);
    if of_family().next().is_none() {
        let mut names: Vec<_> = MACHINES.iter().map(|machine| machine.family).collect();
        names.dedup();
        return Err(SpecError::value("family", family, names.join(", ")));
    }
    let found = of_family().find(|machine| nodes.is_none_or(|nodes| nodes == machine.nodes));
    found.ok_or_else(|| {
        let sizes: Vec<_> = of_family()
            .map(|machine| machine.nodes.to_string())
            .collect();
        let allowed = match sizes.split_last() {
            Some((last, before)) if !before.is_empty() => {
                format!("{} or {last}", before.join(", "))
            }
            _ => sizes.concat(),
        };
        SpecError::value("nodes", nodes.unwrap_or_default(), allowed)
    })
}

/// Parameters of the reference benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchOptions {
    /// Family of the network, by its name in scenarios.
    pub family: String,
    /// Its number of nodes: of a dragonfly 1,056, 16,512 or 82,944; `None`: about a thousand.
    pub nodes: Option<u32>,
    /// Routing algorithm; `None`: the family's.
    pub routing: Option<AlgorithmName>,
    /// How one of several minimal links is chosen.
    pub choice: Choice,
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
    /// A dragonfly of 1,056 nodes, minimal routing, load 0.5, one thread.
    fn default() -> Self {
        Self {
            family: "dragonfly".to_owned(),
            nodes: None,
            routing: None,
            choice: Choice::Random,
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
    /// Family of the network.
    pub family: String,
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
/// If there is no machine of that family and size, or the load is not in (0, 1].
pub fn bench_scenario(options: &BenchOptions) -> Result<Scenario, SpecError> {
    let machine = machine(&options.family, options.nodes)?;
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
    let mut network = Network::new((machine.network)());
    let algorithm = (options.routing).unwrap_or_else(|| network.routing.algorithm());
    let routing = serde_json::json!({"algorithm": algorithm, "choice": options.choice});
    network.routing = serde_json::from_value(routing)
        .map_err(|error| SpecError::new("network.routing.choice", error.to_string()))?;
    network.router = Router {
        delay_ps: 40_000,
        flit_bytes: FLIT,
        ..Router::default()
    };
    let classes: &[(&str, u64)] = match network.topology {
        Family::Dragonfly(_) | Family::DragonflyPlus(_) | Family::SlimFly(_) => {
            &[("terminal", 10_000), ("local", 10_000), ("global", 100_000)]
        }
        Family::FatTree(_) => &[
            ("terminal", 10_000),
            ("level1", 10_000),
            ("level2", 100_000),
        ],
        _ => &[("terminal", 10_000), ("local", 100_000)],
    };
    for &(class, latency_ps) in classes {
        network.links.insert(class.to_owned(), link(latency_ps));
    }
    let offered = Offered::Load(options.load);
    let traffic = Traffic::new(Pattern::UniformRandom, 8 * FLIT, offered);
    let mut scenario = Scenario::new(network);
    scenario.title = format!("benchmark of {} nodes", machine.nodes);
    scenario.seed = options.seed;
    scenario.simulation.packet_bytes = 8 * FLIT;
    scenario.simulation.warmup_ps = WARMUP_PS;
    let duration = options.duration_ps.unwrap_or(machine.duration_ps);
    scenario.simulation.duration_ps = Some(WARMUP_PS + duration);
    scenario.simulation.threads = options.threads;
    let job = Job::new("uniform", machine.nodes, Load::Traffic(traffic));
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
        family: options.family.clone(),
        nodes: run.topology.nodes(),
        routers: run.topology.routers(),
        ports: run.topology.ports(),
        routing: scenario.network.routing.algorithm().name().to_owned(),
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

    use odonata_run::Progress;

    use super::*;
    use crate::build_topology;

    #[test]
    fn machines_have_the_size_that_names_them_and_can_be_routed() {
        for machine in MACHINES {
            let options = BenchOptions {
                family: machine.family.to_owned(),
                nodes: Some(machine.nodes),
                ..BenchOptions::default()
            };
            let scenario = bench_scenario(&options).unwrap();
            let topology = build_topology(&scenario).unwrap();
            assert_eq!(topology.nodes(), machine.nodes as usize);
            crate::build_routing(&scenario, &topology).unwrap();
        }
    }

    #[test]
    fn other_machines_are_refused_with_those_there_are() {
        let refused = |family: &str, nodes| {
            let family = family.to_owned();
            let options = BenchOptions {
                family,
                nodes,
                ..BenchOptions::default()
            };
            bench_scenario(&options).unwrap_err()
        };
        let size = refused("dragonfly", Some(1_057));
        assert_eq!(size.path, "nodes");
        assert!(size.to_string().contains("1056, 16512 or 82944"), "{size}");
        let family = refused("butterfly", None);
        assert_eq!(family.path, "family");
        assert!(
            family
                .to_string()
                .contains("dragonfly, dragonfly+, fat-tree"),
            "{family}"
        );
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
