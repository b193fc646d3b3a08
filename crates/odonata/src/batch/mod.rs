//! Job logs and batch schedules as plain columns and JSON: the face of the
//! scheduler room for the Python package.

mod cluster;
mod columns;
mod modes;
mod report;
mod slurm;
mod spec;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use odonata_placement::Machine as Wiring;
use odonata_placement::grap::GrapMode;
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{
    GrapMachine, Larger, Options, Order, PlacedMachine, Pool, Schedule, Share, SimulationError,
    occupancy, simulate_with, size_classes, summarise,
};
pub use odonata_scheduler::log::{JobLog, Report, Unit};
use odonata_scheduler::log::{Scaling, read_log, scale, write_swf};
use serde_json::{Value, json};

pub use cluster::{
    ClusterPlacement, ClusterPolicy, ClusterState, Given, Holder, Kept, WaitingJob, Withholding,
};
pub use columns::{LogColumns, log_from_columns, log_table};
pub use modes::ModesSpec;
pub use report::{log_meta, report_json};
pub use slurm::{SlurmSpec, schedule_as_slurm};
pub use spec::{GenerateSpec, ReadSpec, ScaleSpec, ScheduleSpec, outages_by_network};

pub use crate::coupling::{
    ApplicationsSpec, JobsOnNetwork, LevelSpec, MachineSpec, MixSpec, NetworkSpec, PacketSpec,
    ShareSpec, SpeedUpSpec, Stretch,
};

use spec::Resolved;

use crate::coupling::Planned;
use crate::error::{Error, SpecError, refused};
use crate::spec::{CircuitSource, Family};
use crate::tables::Table;

/// Reads a job log.
///
/// # Errors
/// If the file is no job log, or the first fault if it is read strictly.
pub fn read_job_log(path: &Path, spec: &ReadSpec) -> Result<(JobLog, Report), Error> {
    read_log(path, &spec.options()?).map_err(refused)
}

/// Draws a synthetic log.
///
/// # Errors
/// If a parameter is out of range.
pub fn generate_job_log(spec: &GenerateSpec) -> Result<(JobLog, Report), Error> {
    spec.model()?.generate().map_err(refused)
}

/// A log with its sizes and times scaled.
///
/// # Errors
/// If a factor is not above 0.
pub fn scale_job_log(log: &JobLog, spec: &ScaleSpec) -> Result<JobLog, Error> {
    let mut scaled = log.clone();
    let scaling = Scaling {
        nodes: spec.nodes_factor,
        machine_nodes: spec.machine_nodes,
        arrivals: spec.arrivals_factor,
        run_times: spec.run_times_factor,
    };
    scale(&mut scaled, &scaling).map_err(refused)?;
    Ok(scaled)
}

/// A log in the Standard Workload Format.
pub fn job_log_as_swf(log: &JobLog) -> Vec<u8> {
    let mut text = Vec::new();
    if let Err(error) = write_swf(log, &mut text) {
        unreachable!("memory takes everything: {error}");
    }
    text
}

/// A schedule with everything that is reported of it.
pub struct Scheduled {
    /// Table `jobs`: a row per job of the log; table `occupancy`: a row per interval.
    pub tables: Vec<Table>,
    /// Figures: `summary`, and `cost` (passes, CPU seconds).
    pub meta: Value,
}

/// Simulates a log on a machine that counts nodes.
///
/// # Errors
/// If the options are wrong, or `progress` (jobs that ended, of all) breaks off.
pub fn schedule_jobs(
    log: &JobLog,
    spec: &ScheduleSpec,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Scheduled, Error> {
    let mut options = spec.options(log)?;
    if let Order::Listed(priorities) = &options.order
        && priorities.len() != log.jobs.len()
    {
        let allowed = format!("{}, one for each job of the log", log.jobs.len());
        let found = format!("{} priorities", priorities.len());
        return Err(Error::Spec(SpecError::value("order", found, allowed)));
    }
    let capacity = capacity(spec, options.share)?;
    let given = &spec.resolved;
    check_names(spec, &options)?;
    let shares_links = given
        .network
        .as_ref()
        .is_some_and(NetworkSpec::shares_links);
    if shares_links && options.share != Share::Nodes {
        return Err(refused(
            "jobs that share nodes have no places in a network; schedule whole nodes \
             (--whole-nodes), or without network, or with speed-ups from a table",
        ));
    }
    if options.hold.is_some() {
        check_hold(given.network.as_ref().and_then(NetworkSpec::wired))?;
    }
    let modes = match &given.modes {
        None => vec![],
        Some(modes) => modes::modes(log, modes)?,
    };
    let grap = spec.groups();
    if let Some(groups) = grap {
        check_groups(spec, groups)?;
    }
    let started = cpu_time::ThreadTime::now();
    let mut planned = match &given.network {
        None => Planned::none(),
        Some(network) => Planned::new(log, given.nodes, grap, &modes, &network.without_outages())?,
    };
    let own = planned.log.take();
    let log = own.as_ref().unwrap_or(log);
    let network = &mut *planned.network;
    let wired = given.network.as_ref().and_then(NetworkSpec::wired);
    if wired.is_some_and(|wired| wired.failures.change_network())
        && given.outages.is_empty()
        && let Some(nodes) = network.nodes()
    {
        // Behind routers that fail there may be nodes that jobs do not have.
        let listed = &mut options.outages.listed;
        for outage in &mut *listed {
            outage
                .nodes
                .retain(|node| nodes.binary_search(node).is_ok());
        }
        listed.retain(|outage| !outage.nodes.is_empty());
    }
    let schedule = match grap {
        None if spec.names_nodes() => {
            let machine = named_machine(spec, capacity)?;
            simulate_with(log, &machine, &options, network, progress)
        }
        None => simulate_with(log, &Pool::new(capacity), &options, network, progress),
        Some(groups) => {
            let group = capacity.div_ceil(groups);
            let asked = (modes.iter().zip(&log.jobs)).map(|(mode, job)| {
                let nodes = match options.larger {
                    Larger::Cut => job.nodes.min(capacity),
                    Larger::Refuse => job.nodes,
                };
                mode.map_or(GrapMode::Adaptive, |mode| {
                    modes::for_job(mode, nodes, group, groups)
                })
            });
            let machine = GrapMachine::equal_groups(capacity, groups, asked.collect());
            simulate_with(log, &machine, &options, network, progress)
        }
    };
    let schedule = schedule.map_err(|error| match error {
        SimulationError::Interrupted { .. } => {
            Error::Simulation(odonata_run::SimError::Interrupted {
                at: odonata_units::Picoseconds::ZERO,
            })
        }
        error => refused(error),
    })?;
    let cpu_seconds = started.elapsed().as_secs_f64();
    let mut reported = report_schedule(log, &schedule, spec);
    columns::add_modes(&mut reported.tables[0], &modes);
    columns::add_communication(&mut reported.tables[0], &planned);
    columns::add_nodes(&mut reported.tables[0], &schedule);
    if let Value::Object(meta) = &mut reported.meta {
        let report = planned.network.report();
        if let (Some(summary), Value::Object(report)) = (meta.get_mut("summary"), report) {
            summary["network"] = Value::Object(report);
        }
        let cost = json!({"cpu_seconds": cpu_seconds, "passes": schedule.passes});
        meta.insert("cost".to_owned(), cost);
    }
    Ok(reported)
}

/// Refuses to hold jobs where they share no links, or where trying one sets circuits.
fn check_hold(wired: Option<&crate::spec::Network>) -> Result<(), Error> {
    let (found, allowed) = match wired.map(|wired| &wired.topology) {
        None => (
            "no links that jobs share",
            "only with the network levels flow and packet",
        ),
        Some(Family::ReconfigurableDragonfly(machine))
            if machine.circuits == CircuitSource::Jobs =>
        {
            (
                "circuits for jobs",
                "only without: they give a job links of its own",
            )
        }
        Some(_) => return Ok(()),
    };
    Err(Error::Spec(SpecError::value("hold", found, allowed)))
}

/// A machine that tells nodes apart, and gives the first free ones to a job.
fn named_machine(spec: &ScheduleSpec, nodes: u32) -> Result<PlacedMachine, Error> {
    let wiring = Wiring::uniform(1, 1, nodes).map_err(refused)?;
    Ok(PlacedMachine::new(
        Arc::new(wiring),
        odonata_placement::Policy::Contiguous,
        spec.resolved.seed,
    ))
}

/// Whether nodes that are named are nodes of which it is known who is on them.
fn check_names(spec: &ScheduleSpec, options: &Options) -> Result<(), Error> {
    let wrong = |key: &str, found: &str, allowed: &str| {
        Err(Error::Spec(SpecError::value(key, found, allowed)))
    };
    let network = spec.resolved.network.as_ref();
    let shares_links = network.is_some_and(NetworkSpec::shares_links);
    let by_grap = spec.groups().is_some();
    if spec.names_nodes() && (by_grap || shares_links || options.share != Share::Nodes) {
        let allowed = "`nodes`, a number of nodes, where GRAP or a network that jobs share places \
                       them, and where they are shared by processors";
        return wrong("maintenance.which", "nodes by their numbers", allowed);
    }
    if !options.outages.is_empty() && by_grap && shares_links {
        let allowed = "none with GRAP on a network that jobs share: leave out `grap`, or take \
                       `network = { level = \"table\" }` or no network";
        return wrong("outage", "nodes that fail", allowed);
    }
    Ok(())
}

/// What the machine of a schedule has: nodes, or processors where they are shared.
fn capacity(spec: &ScheduleSpec, share: Share) -> Result<u32, Error> {
    let Share::Processors(per_node) = share else {
        return Ok(spec.resolved.nodes);
    };
    let Resolved {
        nodes, processors, ..
    } = spec.resolved;
    let counted = processors.or_else(|| nodes.checked_mul(per_node));
    counted.ok_or_else(|| {
        refused(format!(
            "{nodes} nodes of {per_node} processors are too many"
        ))
    })
}

/// Whether GRAP can place on this many groups.
fn check_groups(spec: &ScheduleSpec, groups: u32) -> Result<(), Error> {
    let nodes = spec.resolved.nodes;
    if !(1..=nodes).contains(&groups) {
        let allowed = format!("1 to {nodes}, the machine's nodes");
        return Err(Error::Spec(SpecError::value(
            "grap.groups",
            groups,
            allowed,
        )));
    }
    if spec.resolved.share_processors.is_some() {
        return Err(refused(
            "GRAP gives whole nodes to jobs; it cannot share them. A log of processors is rounded \
             up to nodes with --whole-nodes",
        ));
    }
    Ok(())
}

/// The schedule that a log recorded, with the same figures as a simulated one. Jobs
/// without a recorded start count as refused.
///
/// # Errors
/// If the log has no recorded starts.
pub fn recorded_schedule(log: &JobLog, spec: &ScheduleSpec) -> Result<Scheduled, Error> {
    let options = spec.options(log)?;
    let schedule = Schedule::recorded(log, capacity(spec, options.share)?, options.share);
    if schedule.rows.iter().all(|row| row.start.is_none()) {
        return Err(refused(
            "the log records no starts or waits to compare with; compare with another policy",
        ));
    }
    Ok(report_schedule(log, &schedule, spec))
}

fn report_schedule(log: &JobLog, schedule: &Schedule, spec: &ScheduleSpec) -> Scheduled {
    let classes = size_classes(schedule.machine);
    let summary = summarise(schedule, Seconds(spec.schedule.tau_s), &classes);
    let full = occupancy(schedule, Seconds(spec.schedule.interval_s));
    let unit = match spec.resolved.share_processors {
        None => Unit::Nodes,
        Some(_) => Unit::Processors,
    };
    Scheduled {
        tables: vec![
            columns::schedule_table(log, schedule, unit),
            columns::occupancy_table(&full, unit),
        ],
        meta: json!({"summary": report::summary_json(&summary, schedule, unit)}),
    }
}
