//! What the Python package sends: options as JSON.

use odonata_declare::{Listed, UnknownName};
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{Options, Share, Window, Withheld};
use odonata_scheduler::log::{Format, JobLog, Kind, LublinFeitelson, ReadOptions, Unit};
use odonata_scheduler::outages::{Breakdowns, Outage, Outages};
use odonata_units::NodeId;
use serde::Deserialize;
use serde_json::Value;

use super::modes::ModesSpec;
use crate::coupling::{NetworkChanges, NetworkSpec};
use crate::error::{Error, SpecError, refused};
use crate::jobs::lost_nodes;
use crate::spec::reader::schedule_from;
use crate::spec::{Failures, Network, NodesOut, Reading, Scenario, Schedule};
use crate::topology::build_topology;

/// Reads one of the structures below.
///
/// # Errors
/// If a key is unknown or of the wrong type.
fn from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| refused(format!("options: {error}")))
}

/// A name that is none of those that there are.
fn unknown(key: &str, error: &UnknownName) -> Error {
    Error::Spec(SpecError::new(key, error.to_string()))
}

macro_rules! reads_json {
    ($name:ident) => {
        impl $name {
            /// Reads it from JSON.
            ///
            /// # Errors
            /// If a key is unknown, missing or of the wrong type.
            pub fn from_json(text: &str) -> Result<Self, Error> {
                from_json(text)
            }
        }
    };
}

/// How to read a log ([`ReadOptions`]).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadSpec {
    /// What `[schedule.reading]` says.
    pub reading: Reading,
    /// Nodes of the machine.
    pub machine_nodes: Option<u32>,
}
reads_json!(ReadSpec);

impl ReadSpec {
    pub(super) fn options(&self) -> Result<ReadOptions, Error> {
        let reading = &self.reading;
        let format = match reading.format.as_deref() {
            None => None,
            Some(name) => Some(Format::by_name(name).map_err(|error| unknown("format", &error))?),
        };
        let unit = match reading.unit.as_deref() {
            None => None,
            Some(name) => Some(Unit::by_name(name).map_err(|error| unknown("unit", &error))?),
        };
        Ok(ReadOptions {
            format,
            unit,
            strict: reading.strict,
            processors_per_node: reading.processors_per_node,
            machine_nodes: self.machine_nodes,
            columns: reading.columns.clone(),
            separator: reading.separator.clone(),
        })
    }
}

/// A synthetic log ([`LublinFeitelson`]).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerateSpec {
    /// `all`, `batch` or `interactive`.
    pub kind: String,
    /// Nodes of the machine.
    pub nodes: u32,
    /// Number of jobs.
    pub jobs: u32,
    /// Factor of times between submissions.
    pub arrivals_factor: f64,
    /// Requested time in run times.
    pub request_factor: Option<f64>,
    /// Seed.
    pub seed: u64,
}
reads_json!(GenerateSpec);

impl GenerateSpec {
    pub(super) fn model(&self) -> Result<LublinFeitelson, Error> {
        let kind = Kind::by_name(&self.kind).map_err(|error| unknown("kind", &error))?;
        Ok(LublinFeitelson {
            kind,
            nodes: self.nodes,
            jobs: self.jobs,
            arrivals: self.arrivals_factor,
            request: self.request_factor,
            seed: self.seed,
        })
    }
}

/// Factors of a log's sizes and times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleSpec {
    /// Factor of nodes.
    pub nodes_factor: f64,
    /// Nodes of the machine to cut jobs down to.
    pub machine_nodes: Option<u32>,
    /// Factor of times between submissions.
    pub arrivals_factor: f64,
    /// Factor of run times and requests.
    pub run_times_factor: f64,
}
reads_json!(ScaleSpec);

/// A maintenance window or reservation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSpec {
    /// Name in messages.
    pub name: String,
    /// First second, in the log's time.
    pub start_s: i64,
    /// The second after the last.
    pub end_s: i64,
    /// Nodes withheld; all if absent.
    pub nodes: Option<u32>,
    /// Which, where they have numbers.
    #[serde(default)]
    pub which: Option<Vec<u32>>,
    /// Users who may use them.
    #[serde(default)]
    pub users: Vec<String>,
}

/// Nodes that fail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageSpec {
    /// Which.
    pub nodes: Vec<u32>,
    /// First second, in the log's time.
    pub at_s: i64,
    /// The second in which they work again.
    pub until_s: Option<i64>,
}

impl OutageSpec {
    pub(super) fn outage(&self) -> Outage {
        Outage {
            nodes: self.nodes.iter().copied().map(NodeId).collect(),
            at: Seconds(self.at_s),
            until: self.until_s.map(Seconds),
        }
    }
}

/// What a schedule is made of beside its log.
#[derive(Clone, Debug)]
pub struct ScheduleSpec {
    /// What `[schedule]` says.
    pub schedule: Schedule,
    /// The rest.
    pub(super) resolved: Resolved,
}

/// What follows from `[schedule]`, the log and other files together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resolved {
    /// Nodes of the machine.
    pub nodes: u32,
    /// Processors of a node, if jobs share nodes.
    #[serde(default)]
    pub share_processors: Option<u32>,
    /// Processors of the machine, if they are shared and not `share_processors` times the
    /// nodes.
    #[serde(default)]
    pub processors: Option<u32>,
    /// Priorities that a plug-in gives, one for each job of the log.
    #[serde(default)]
    pub priorities: Option<Vec<f64>>,
    /// Modes that users choose for large jobs; by default all are adaptive.
    #[serde(default)]
    pub modes: Option<ModesSpec>,
    /// What slows jobs down or makes them faster; by default nothing does.
    #[serde(default)]
    pub network: Option<NetworkSpec>,
    /// Maintenance and reservations.
    #[serde(default)]
    pub windows: Vec<WindowSpec>,
    /// Nodes that fail.
    #[serde(default)]
    pub outages: Vec<OutageSpec>,
    /// Seed of failures that are drawn.
    #[serde(default)]
    pub seed: u64,
}

impl ScheduleSpec {
    /// Reads JSON: under `schedule` the table as people write it, beside it what follows from the
    /// log and from other files.
    ///
    /// # Errors
    /// If a key is unknown, missing or of the wrong type, or the table has mistakes.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let mut all: Value = from_json(text)?;
        let table = all
            .as_object_mut()
            .and_then(|keys| keys.remove("schedule"))
            .unwrap_or_default();
        let schedule = schedule_from(&table).map_err(|mistakes| {
            let first = mistakes.0.into_iter().next();
            Error::Spec(first.unwrap_or_else(|| SpecError::new("schedule", "no table")))
        })?;
        let resolved = serde_json::from_value(all);
        Ok(Self {
            schedule,
            resolved: resolved.map_err(|error| refused(format!("options: {error}")))?,
        })
    }

    /// Groups of the machine, under GRAP.
    pub(super) fn groups(&self) -> Option<u32> {
        self.schedule.grap.as_ref().map(|grap| grap.groups)
    }

    /// How `log` is scheduled.
    pub(super) fn options(&self, log: &JobLog) -> Result<Options, Error> {
        let Resolved {
            share_processors,
            priorities,
            windows,
            ..
        } = &self.resolved;
        let window = |window: &WindowSpec| Window {
            name: window.name.clone(),
            start: Seconds(window.start_s),
            end: Seconds(window.end_s),
            nodes: match (&window.which, window.nodes) {
                (Some(which), _) => Withheld::Nodes(which.iter().copied().map(NodeId).collect()),
                // Windows withhold nodes, whatever jobs count.
                (None, Some(nodes)) => {
                    Withheld::Count(nodes.saturating_mul(share_processors.unwrap_or(1)))
                }
                (None, None) => Withheld::All,
            },
            users: window.users.clone(),
        };
        let options = self.schedule.options(priorities.clone());
        let options = options.map_err(|(key, refused)| {
            Error::Spec(SpecError::value(key, refused.found, refused.allowed))
        })?;
        Ok(Options {
            share: share_processors.map_or(Share::Nodes, Share::Processors),
            windows: windows.iter().map(window).collect(),
            outages: self.outages(log)?,
            ..options
        })
    }

    /// Nodes that fail, listed here or among the failures of the network, and drawn.
    fn outages(&self, log: &JobLog) -> Result<Outages, Error> {
        let drawn = self.schedule.failures.as_ref();
        let wired = self.resolved.network.as_ref().and_then(NetworkSpec::wired);
        let of_network = match wired {
            Some(wired) => outages_of_network(wired, log)?,
            None => Vec::new(),
        };
        let here = self.resolved.outages.iter().map(OutageSpec::outage);
        if !of_network.is_empty() && here.len() > 0 {
            let allowed = "either `[[schedule.outage]]` or `outages` of `[failures]`";
            return Err(Error::Spec(SpecError::value("outage", "both", allowed)));
        }
        let outages = Outages {
            listed: here.chain(of_network).collect(),
            drawn: drawn.map(|drawn| Breakdowns {
                mtbf_s: drawn.mtbf_s as f64,
                repair_s: drawn.repair_s.map(|repair| repair as f64),
                together: drawn.together,
                seed: self.resolved.seed,
            }),
            requeue: self.schedule.requeue,
        };
        if outages.is_empty() && !outages.requeue {
            let allowed = "true where no node fails: give `outage` or `failures` as well";
            return Err(Error::Spec(SpecError::value("requeue", "false", allowed)));
        }
        Ok(outages)
    }

    /// Whether the scheduler has to tell nodes apart.
    pub(super) fn names_nodes(&self) -> bool {
        self.resolved
            .windows
            .iter()
            .any(|window| window.which.is_some())
    }
}

/// Nodes of a network that fail for a part of a schedule: by themselves, with their router, or without a
/// way to the others.
fn outages_of_network(network: &Network, log: &JobLog) -> Result<Vec<Outage>, Error> {
    if let Some(changes) = NetworkChanges::new(network, log).map_err(Error::Spec)? {
        return changes.outages().map_err(Error::Spec);
    }
    let first = log.jobs.iter().map(|job| job.submit.0).min().unwrap_or(0);
    let listed = network.failures.outages_of_nodes().map_err(Error::Spec)?;
    let outage = |out: NodesOut| Outage {
        nodes: out.nodes.into_iter().map(NodeId).collect(),
        at: Seconds(first.saturating_add(out.at_s)),
        until: (out.until_s).map(|until| Seconds(first.saturating_add(until))),
    };
    Ok(listed.into_iter().map(outage).collect())
}

/// The same of a network in JSON, and the nodes that never work, from the first submission on: for
/// schedules of jobs that share no network.
///
/// # Errors
/// If something fails that there is not, nothing does, or at a time of no whole seconds.
pub fn outages_by_network(network: &str, log: &JobLog) -> Result<Vec<Outage>, Error> {
    let network: Network =
        serde_json::from_str(network).map_err(|error| refused(format!("network: {error}")))?;
    if network.failures == Failures::default() {
        let allowed = "[failures], which says what takes nodes out";
        return Err(Error::Spec(SpecError::value(
            "failures", "nothing", allowed,
        )));
    }
    let mut always = network.clone();
    always.failures = network.failures.without_outages();
    let whole = match NetworkChanges::new(&network, log).map_err(Error::Spec)? {
        Some(changes) => changes.start(),
        None => build_topology(&Scenario::new(always)),
    };
    let never = Outage {
        nodes: lost_nodes(&whole.map_err(Error::Spec)?),
        at: log
            .jobs
            .iter()
            .map(|job| job.submit)
            .min()
            .unwrap_or(Seconds::ZERO),
        until: None,
    };
    let later = outages_of_network(&network, log)?;
    let all = std::iter::once(never).chain(later);
    Ok(all.filter(|outage| !outage.nodes.is_empty()).collect())
}
