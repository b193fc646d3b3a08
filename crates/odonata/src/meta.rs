//! What a run was and what it cost, as named scalars.

use odonata_run::{JobLoad, Reconfiguration};
use odonata_units::NodeId;
use serde_json::{Value, json};

use crate::collectives::{links_of, of_nccl};
use crate::finished::Run;
use crate::load::global_bandwidth;
use crate::skip::Skipped;
use crate::spec::{Family, Load, Motif, MotifKind, Scenario};

impl Run {
    /// What was simulated and what it cost, as named scalars: the scenario's, the network's,
    /// where every byte is, and what the run cost.
    pub fn meta(&self) -> Value {
        let run = self;
        let scenario = &run.scenario;
        let topology = &run.topology;
        let outcome = &run.outcome;
        let classes: Vec<&str> = topology
            .link_classes
            .iter()
            .map(|class| class.name.as_str())
            .collect();
        let mut meta = json!({
            "version": crate::VERSION,
            "title": scenario.title,
            "seed": scenario.seed,
            "network": topology.title,
            "routing": scenario.network.routing.algorithm().name(),
            "virtual_channels": run.virtual_channels,
            "nodes": topology.nodes(),
            "routers": topology.routers(),
            "groups": topology.groups,
            "ports": topology.ports(),
            "link_classes": classes,
            "packet_bytes": scenario.simulation.packet_bytes,
            "traffic": traffic(run),
            "warmup_ps": outcome.warmup.0,
            "end_ps": outcome.end.0,
            "warmup_found": run.warmup_found,
            "precision": scenario.simulation.precision,
            "precision_reached": run.precise,
            "timeline_bin_ps": outcome.timeline.bin.0,
            "reconfigurations": reconfigurations(run),
            "packet_hops": outcome.packet_hops,
            "resent_bytes": outcome.resent_bytes,
            "created_bytes": outcome.conservation.created,
            "delivered_bytes": outcome.conservation.delivered,
            "backlog_bytes": outcome.conservation.backlog,
            "in_flight_bytes": outcome.conservation.in_flight,
            "lost_bytes": outcome.conservation.lost,
            "threads": scenario.simulation.threads,
            "events": outcome.events,
            "cpu_seconds": run.cost.cpu_seconds,
            "wall_seconds": run.cost.wall_seconds,
            "peak_rss_bytes": run.cost.peak_rss_bytes,
            "peak_packets": outcome.peak_packets,
            "bytes_per_packet": outcome.bytes_per_packet,
            "bytes_per_port": outcome.bytes_per_port,
        });
        if scenario.simulation.skip.is_some() {
            meta["skipped"] = skipped(run);
        }
        let collectives = collectives(run);
        if !collectives.is_empty() {
            meta["collectives"] = collectives.into();
        }
        meta
    }
}

/// The times that were passed over, with how sure what is said of them is, and the iterations of
/// each job.
fn skipped(run: &Run) -> Value {
    let one = |skipped: &Skipped| {
        let jobs = skipped.jobs.iter().map(|of| {
            json!({
                "job": run.jobs[of.job].plan.name,
                "first": of.first,
                "iterations": of.iterations,
            })
        });
        json!({
            "from_ps": skipped.from.0,
            "time_ps": skipped.time.0,
            "exact": skipped.exact,
            "time_error": skipped.time_error,
            "link_error": skipped.link_error,
            "jobs": jobs.collect::<Vec<_>>(),
        })
    };
    run.skipped.iter().map(one).collect()
}

/// How NCCL carries out the collectives that jobs call again and again, and the bytes of a rank's vector.
fn collectives(run: &Run) -> Vec<Value> {
    let jobs = run.scenario.jobs.iter().zip(&run.jobs);
    let called = jobs.filter_map(|(job, planned)| {
        let Load::Motif(Motif {
            kind: MotifKind::Collective(asked),
            compute_ps: 0,
            ..
        }) = &job.load
        else {
            return None;
        };
        let ranks = planned.plan.node_of_rank.iter();
        let nodes: Vec<NodeId> = match &run.topology.inside {
            None => ranks.copied().collect(),
            Some(inside) => ranks.map(|&rank| inside.node_of(rank)).collect(),
        };
        let settings = &run.scenario.mpi.collectives;
        let links = links_of(&run.topology);
        let (way, bytes) =
            of_nccl(settings, asked, links, &nodes).filter(|_| asked.repeats.is_none())?;
        Some(json!({
            "job": planned.plan.name,
            "operation": asked.operation.name(),
            "algorithm": way.algorithm,
            "protocol": way.protocol.map(|protocol| protocol.name()),
            "channels": way.channels,
            "bytes": bytes,
        }))
    });
    called.collect()
}

/// Changes of circuits: when each was decided, drained and done, and how many circuits it changed;
/// nothing where they neither follow traffic nor changed around what failed.
fn reconfigurations(run: &Run) -> Option<Vec<Value>> {
    let changes = changes(&run.scenario) || !run.outcome.reconfigurations.is_empty();
    let entry = |change: &Reconfiguration| {
        json!({
            "decided_ps": change.decided.0,
            "drained_ps": change.drained.map(|time| time.0),
            "done_ps": change.done.map(|time| time.0),
            "circuits": change.circuits,
        })
    };
    changes.then(|| run.outcome.reconfigurations.iter().map(entry).collect())
}

/// What jobs with traffic send, whichever of it was given: size of a message, mean time
/// between two (with `to = "all"` of one rank to one partner), and the theoretical global
/// link load (Kang et al. 2019, equation 4) where all global links are alike.
fn traffic(run: &Run) -> Vec<Value> {
    let global = global_bandwidth(&run.topology).ok();
    let jobs = run.jobs.iter().map(|job| &job.plan);
    let open = jobs.filter_map(|plan| match &plan.load {
        JobLoad::Open(source) => Some((plan, source)),
        JobLoad::Closed(_) => None,
    });
    open.map(|(plan, source)| {
        let (bytes, interval_ps) = (source.message.0, source.arrivals.mean_gap_ps());
        let tgll = global
            .map(|global| bytes as f64 * 1e12 / interval_ps / global.bytes_per_second() as f64);
        json!({
            "job": plan.name,
            "message_bytes": bytes,
            "interval_ps": interval_ps,
            "tgll": tgll,
        })
    })
    .collect()
}

/// Whether circuits change during a run.
fn changes(scenario: &Scenario) -> bool {
    match &scenario.network.topology {
        Family::FatTree(tree) => {
            let layer = tree.optical.as_ref();
            layer.is_some_and(|layer| layer.circuits.change())
        }
        _ => false,
    }
}
