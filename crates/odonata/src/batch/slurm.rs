//! Schedules as Slurm makes them, for the Python package.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::PathBuf;

use odonata_declare::Listed;
use odonata_placement::grap::{GrapMode, GrapModeName};
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{Schedule, SimulationError, occupancy, size_classes, summarise};
use odonata_scheduler::log::{Job, JobLog, Unit, hostlist};
use odonata_scheduler::outages::{Breakdowns, Outage};
use odonata_scheduler::slurm::{
    Cluster, Maintenance, Onset, Priority, read_cluster, simulate_from,
};
use odonata_units::NodeId;
use serde::Deserialize;
use serde_json::json;

use super::{Scheduled, columns, report};
use crate::error::{Error, SpecError, refused};
use crate::tables::Column;

/// Slurm's files, and what they do not say.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlurmSpec {
    /// slurm.conf, or listings of Slurm's commands.
    pub files: Vec<PathBuf>,
    /// Values that replace those of the files, as lines of slurm.conf.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Whether the order of jobs follows the priorities that the log recorded.
    #[serde(default)]
    pub recorded_priorities: bool,
    /// Working time of backfill for one test of a job, seconds.
    #[serde(default)]
    pub seconds_per_test: f64,
    /// Time that a job holds its nodes beyond its run time, seconds.
    pub completing_s: f64,
    /// Choice of nodes by GRAP, in the place of Slurm's own.
    #[serde(default)]
    pub grap: Option<GrapSpec>,
    /// A cluster in use, from which the simulation goes on.
    #[serde(default)]
    pub onset: Option<OnsetSpec>,
    /// Nodes that fail.
    #[serde(default)]
    pub outages: Vec<ListedNodes>,
    /// Nodes that are kept for maintenance.
    #[serde(default)]
    pub maintenance: Vec<ListedNodes>,
    /// Failures that are drawn: what `[schedule.failures]` says, and their seed.
    #[serde(default)]
    pub failures: Option<DrawnSpec>,
    /// Whether jobs that a failure ends are requeued, if not as `JobRequeue` says.
    #[serde(default)]
    pub requeue: Option<bool>,
    /// Least run time in the bounded slowdown.
    pub tau_s: i64,
    /// Interval of the occupancy.
    pub interval_s: i64,
}

/// GRAP as the Python package says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrapSpec {
    /// Level of the switches that are its groups; leaf switches have 0.
    pub level: u32,
    /// How large jobs are spread over groups: `adaptive` or `minimal-balance`.
    pub mode: String,
}

impl GrapSpec {
    fn mode(&self) -> Result<GrapMode, Error> {
        match GrapModeName::by_name(&self.mode).map_err(refused)? {
            GrapModeName::Adaptive => Ok(GrapMode::Adaptive),
            GrapModeName::MinimalBalance => Ok(GrapMode::MinimalBalance),
            GrapModeName::CustomBalance | GrapModeName::Custom => Err(refused(format!(
                "grap: mode is \"{}\"; allowed for all jobs alike: adaptive, minimal-balance",
                self.mode
            ))),
        }
    }
}

/// Nodes, by a list of their names, for a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedNodes {
    /// Such as `nid[001-004]`.
    pub nodes: String,
    /// First second, in the log's time.
    pub start_s: i64,
    /// The second after the last, if there is one.
    pub end_s: Option<i64>,
}

impl ListedNodes {
    /// Their numbers on a cluster.
    fn on(&self, cluster: &Cluster, option: &str) -> Result<Vec<NodeId>, Error> {
        let list = &self.nodes;
        let names = hostlist::expand(list).filter(|names| !names.is_empty());
        let names = names.ok_or_else(|| {
            let allowed = "names of nodes, such as nid[001-004]";
            Error::Spec(SpecError::value(option, format!("\"{list}\""), allowed))
        })?;
        let known: HashMap<&str, NodeId> = (0..)
            .map(NodeId)
            .zip(&cluster.nodes)
            .map(|(number, node)| (node.name.as_str(), number))
            .collect();
        let number = |name: &String| {
            known.get(name.as_str()).copied().ok_or_else(|| {
                let [first, last] = [cluster.nodes.first(), cluster.nodes.last()]
                    .map(|node| node.map_or("", |node| &node.name));
                let allowed = format!("nodes of the configuration, {first} to {last}");
                Error::Spec(SpecError::value(option, format!("\"{name}\""), allowed))
            })
        };
        names.iter().map(number).collect()
    }
}

/// Failures that are drawn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnSpec {
    /// Mean time between a repair and the next failure, seconds.
    pub mtbf_s: i64,
    /// Mean time to repair, seconds.
    pub repair_s: Option<i64>,
    /// Nodes of successive numbers that fail together.
    pub together: u32,
    /// Seed.
    pub seed: u64,
}

/// [`Onset`] as the Python package says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnsetSpec {
    /// The moment, ms since 1970.
    pub at_ms: i64,
    /// The second in which backfill began its last pass.
    pub backfilled_s: Option<i64>,
    /// By id, of jobs that run then: since when, ms.
    pub running_ms: BTreeMap<String, i64>,
    /// By id: how long jobs run, ms.
    pub run_ms: BTreeMap<String, i64>,
    /// Nodes that no job gets any more.
    pub out: BTreeSet<String>,
}

impl SlurmSpec {
    /// Reads it from JSON.
    ///
    /// # Errors
    /// If a key is unknown, missing or of the wrong type.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| refused(format!("options: {error}")))
    }

    /// The cluster, and what of its files is not simulated.
    fn cluster(&self) -> Result<(Cluster, Vec<String>), Error> {
        let mut files = Vec::new();
        for path in &self.files {
            let name = path.display().to_string();
            let bytes = odonata_files::read(path, odonata_files::MOST_TEXT_BYTES)
                .map_err(|error| refused(format!("{name}: cannot be read: {error}")))?;
            files.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
        let (mut cluster, notes) = read_cluster(&files, &self.settings).map_err(refused)?;
        if self.recorded_priorities {
            cluster.priority = Priority::Recorded;
        }
        cluster.parameters.seconds_per_test = self.seconds_per_test;
        cluster.parameters.completing = self.completing_s;
        if let Some(grap) = &self.grap {
            if self.onset.is_some() {
                let reason = "grap: jobs that run already were not placed by it";
                return Err(refused(reason));
            }
            cluster
                .choose_by_grap(grap.level, grap.mode()?)
                .map_err(refused)?;
        }
        self.fail(&mut cluster)?;
        let least = [("tau_s", self.tau_s, 1), ("interval_s", self.interval_s, 1)];
        for (key, found, least) in least {
            if !(least..=Seconds::LIMIT.0).contains(&found) {
                let allowed = format!("{least} s and more");
                return Err(Error::Spec(SpecError::value(key, found, allowed)));
            }
        }
        Ok((cluster, notes))
    }

    /// Puts what fails, and what is kept for maintenance, into the cluster.
    fn fail(&self, cluster: &mut Cluster) -> Result<(), Error> {
        for one in &self.outages {
            cluster.outages.listed.push(Outage {
                nodes: one.on(cluster, "outage")?,
                at: Seconds(one.start_s),
                until: one.end_s.map(Seconds),
            });
        }
        for one in &self.maintenance {
            cluster.maintenance.push(Maintenance {
                nodes: one.on(cluster, "maintenance")?,
                start: Seconds(one.start_s),
                end: one.end_s.map_or(Seconds::LIMIT, Seconds),
            });
        }
        cluster.outages.drawn = self.failures.as_ref().map(|drawn| Breakdowns {
            mtbf_s: drawn.mtbf_s as f64,
            repair_s: drawn.repair_s.map(|repair| repair as f64),
            together: drawn.together,
            seed: drawn.seed,
        });
        if let Some(requeue) = self.requeue {
            if cluster.outages.is_empty() {
                let allowed = "nothing where no node fails: give outages or a mean time between \
                               failures as well";
                return Err(Error::Spec(SpecError::value("requeue", requeue, allowed)));
            }
            cluster.outages.requeue = requeue;
        }
        Ok(())
    }
}

/// Simulates a log on a cluster as Slurm schedules it.
///
/// # Errors
/// If a file of the cluster cannot be read or makes no sense, or `progress` (jobs that
/// ended, of all) breaks off.
pub fn schedule_as_slurm(
    log: &JobLog,
    spec: &SlurmSpec,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Scheduled, Error> {
    let (cluster, notes) = spec.cluster()?;
    let recorded = |job: &Job| job.request.as_ref().and_then(|request| request.priority);
    if spec.recorded_priorities && log.jobs.iter().all(|job| recorded(job).is_none()) {
        let allowed =
            "one that says priorities, as sacct --format=…,Priority prints; else leave it out";
        return Err(Error::Spec(SpecError::value(
            "recorded_priorities",
            "a log without any",
            allowed,
        )));
    }
    let started = cpu_time::ThreadTime::now();
    let onset = spec.onset.as_ref().map(|onset| Onset {
        at: onset.at_ms,
        backfilled: onset.backfilled_s,
        running: onset.running_ms.clone(),
        runs: onset.run_ms.clone(),
        out: onset.out.clone(),
    });
    let schedule =
        simulate_from(log, &cluster, onset.as_ref(), progress).map_err(|error| match error {
            SimulationError::Interrupted { .. } => {
                Error::Simulation(odonata_run::SimError::Interrupted {
                    at: odonata_units::Picoseconds::ZERO,
                })
            }
            error => refused(error),
        })?;
    let cpu_seconds = started.elapsed().as_secs_f64();
    let classes = size_classes(schedule.machine);
    let summary = summarise(&schedule, Seconds(spec.tau_s), &classes);
    let full = occupancy(&schedule, Seconds(spec.interval_s));
    let mut jobs = columns::schedule_table(log, &schedule, Unit::Processors);
    jobs.columns
        .push(("node_list".to_owned(), node_lists(&schedule, &cluster)));
    Ok(Scheduled {
        tables: vec![jobs, columns::occupancy_table(&full, Unit::Processors)],
        meta: json!({
            "summary": report::summary_json(&summary, &schedule, Unit::Processors),
            "cost": {"cpu_seconds": cpu_seconds, "passes": schedule.passes},
            "notes": notes,
            "machine_nodes": cluster.nodes.len(),
            "machine_cpus": cluster.cpus(),
        }),
    })
}

/// Names of each job's nodes.
fn node_lists(schedule: &Schedule, cluster: &Cluster) -> Column {
    let lists = schedule.rows.iter().map(|row| {
        let nodes = row.placed.iter().flatten();
        let names: Vec<&str> = nodes
            .map(|node| cluster.nodes[node.0 as usize].name.as_str())
            .collect();
        names.join(",")
    });
    Column::Text(lists.collect())
}
