//! What the Python package sends: options as JSON.

use odonata_declare::{Listed, Named, UnknownName};
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{
    Arrival, Estimate, Larger, Multifactor, Options, Order, Passes, Policy, Share, Window, Withheld,
};
use odonata_scheduler::log::{Format, Kind, LublinFeitelson, ReadOptions, Unit};
use serde::Deserialize;

use super::modes::ModesSpec;
use crate::coupling::NetworkSpec;
use crate::error::{Error, SpecError, refused};

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
    /// Name of the format.
    pub format: Option<String>,
    /// End at the first fault.
    pub strict: bool,
    /// What sizes count: `nodes` or `processors`; found out if absent.
    pub unit: Option<String>,
    /// Processors of a node.
    pub processors_per_node: Option<u32>,
    /// Nodes of the machine.
    pub machine_nodes: Option<u32>,
    /// Columns of a `sacct` dump without header.
    pub columns: Option<Vec<String>>,
    /// What stands between its columns.
    pub separator: Option<String>,
}
reads_json!(ReadSpec);

impl ReadSpec {
    pub(super) fn options(&self) -> Result<ReadOptions, Error> {
        let format = match self.format.as_deref() {
            None => None,
            Some(name) => Some(Format::by_name(name).map_err(|error| unknown("format", &error))?),
        };
        let unit = match self.unit.as_deref() {
            None => None,
            Some(name) => Some(Unit::by_name(name).map_err(|error| unknown("unit", &error))?),
        };
        Ok(ReadOptions {
            format,
            unit,
            strict: self.strict,
            processors_per_node: self.processors_per_node,
            machine_nodes: self.machine_nodes,
            columns: self.columns.clone(),
            separator: self.separator.clone(),
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
    /// Users who may use them.
    #[serde(default)]
    pub users: Vec<String>,
}

/// An estimate of run times.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EstimateSpec {
    /// What users requested.
    Requested,
    /// The run time itself.
    Perfect,
    /// A multiple of it.
    Factor(f64),
}

impl EstimateSpec {
    fn estimate(self) -> Estimate {
        match self {
            Self::Requested => Estimate::Requested,
            Self::Perfect => Estimate::Perfect,
            Self::Factor(factor) => Estimate::Factor(factor),
        }
    }
}

/// Placement by GRAP on groups that are as equal as possible.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrapSpec {
    /// Number of groups.
    pub groups: u32,
}

/// Which jobs may overtake.
#[derive(Clone, Copy, Debug, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum PolicySpec {
    /// None: the first job of the queue starts, or all wait.
    Fcfs,
    /// EASY backfill.
    Easy,
    /// Conservative backfill.
    Conservative,
    /// Conservative backfill, planned anew in every pass.
    ConservativeReplanned,
    /// Reservations for the first this many.
    #[named(by_value)]
    Depth(u32),
}

/// The order of the queue.
#[derive(Clone, Debug, Deserialize, Named)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum OrderSpec {
    /// First come, first served.
    Fcfs,
    /// Shortest estimate first.
    #[serde(rename = "sjf")]
    Shortest,
    /// Longest estimate first.
    #[serde(rename = "ljf")]
    Longest,
    /// Fewest nodes first.
    Smallest,
    /// Most nodes first.
    Largest,
    /// (wait / estimate)³ × nodes.
    Wfp,
    /// Slurm's multifactor priority.
    Multifactor {
        /// Weight of age.
        age: f64,
        /// Weight of size.
        size: f64,
        /// Weight of fair share.
        fair_share: f64,
        /// Wait that counts as age 1.
        max_age_s: i64,
        /// Time after which usage counts half.
        half_life_s: i64,
        /// Whether small jobs are favoured.
        favour_small: bool,
    },
    /// Given priorities, highest first.
    #[named(by_value)]
    Listed {
        /// One for each job of the log.
        priorities: Vec<f64>,
    },
}

/// When the scheduler works.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassesSpec {
    /// Once per second in which anything happens.
    Instant,
    /// After every event.
    Event,
    /// Every this many seconds.
    EveryS(i64),
}

/// How to schedule ([`Options`]), and what to report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// Nodes of the machine.
    pub nodes: u32,
    /// Policy.
    pub policy: PolicySpec,
    /// Order of the queue.
    pub order: OrderSpec,
    /// Run times of waiting jobs.
    pub waiting_estimate: EstimateSpec,
    /// Run times of running jobs.
    pub running_estimate: EstimateSpec,
    /// Whether jobs are killed at their limits.
    pub enforce_limits: bool,
    /// When the scheduler works.
    pub passes: PassesSpec,
    /// Whether jobs arrive when they become eligible.
    pub eligible: bool,
    /// Whether jobs larger than the machine are cut down to it.
    pub cut_larger: bool,
    /// Processors of a node, if jobs share nodes.
    pub share_processors: Option<u32>,
    /// Processors of the machine, if they are shared and not `share_processors` times the
    /// nodes.
    #[serde(default)]
    pub processors: Option<u32>,
    /// Placement by GRAP; by default any free nodes will do.
    #[serde(default)]
    pub grap: Option<GrapSpec>,
    /// Modes that users choose for large jobs; by default all are adaptive.
    #[serde(default)]
    pub modes: Option<ModesSpec>,
    /// What slows jobs down or makes them faster; by default nothing does.
    #[serde(default)]
    pub network: Option<NetworkSpec>,
    /// Maintenance and reservations.
    pub windows: Vec<WindowSpec>,
    /// Least run time in the bounded slowdown.
    pub tau_s: i64,
    /// Interval of the occupancy.
    pub interval_s: i64,
}
reads_json!(ScheduleSpec);

impl ScheduleSpec {
    pub(super) fn options(&self) -> Result<Options, Error> {
        let positive = [("tau_s", self.tau_s), ("interval_s", self.interval_s)];
        if let Some((key, found)) = positive.into_iter().find(|&(_, value)| value < 1) {
            return Err(Error::Spec(SpecError::value(key, found, "at least 1 s")));
        }
        let window = |window: &WindowSpec| Window {
            name: window.name.clone(),
            start: Seconds(window.start_s),
            end: Seconds(window.end_s),
            nodes: window.nodes.map_or(Withheld::All, |nodes| {
                // Windows withhold nodes, whatever jobs count.
                Withheld::Count(nodes.saturating_mul(self.share_processors.unwrap_or(1)))
            }),
            users: window.users.clone(),
        };
        Ok(Options {
            policy: match self.policy {
                PolicySpec::Fcfs => Policy::InOrder,
                PolicySpec::Easy => Policy::EASY,
                PolicySpec::Conservative => Policy::Conservative,
                PolicySpec::ConservativeReplanned => Policy::REPLANNED,
                PolicySpec::Depth(depth) => Policy::Backfill { depth },
            },
            order: match &self.order {
                OrderSpec::Fcfs => Order::Fcfs,
                OrderSpec::Shortest => Order::ShortestFirst,
                OrderSpec::Longest => Order::LongestFirst,
                OrderSpec::Smallest => Order::SmallestFirst,
                OrderSpec::Largest => Order::LargestFirst,
                OrderSpec::Wfp => Order::Wfp,
                OrderSpec::Multifactor {
                    age,
                    size,
                    fair_share,
                    max_age_s,
                    half_life_s,
                    favour_small,
                } => Order::Multifactor(Multifactor {
                    age: *age,
                    size: *size,
                    fair_share: *fair_share,
                    max_age: Seconds(*max_age_s),
                    half_life: Seconds(*half_life_s),
                    favour_small: *favour_small,
                }),
                OrderSpec::Listed { priorities } => Order::Listed(priorities.clone()),
            },
            waiting_estimate: self.waiting_estimate.estimate(),
            running_estimate: self.running_estimate.estimate(),
            enforce_limits: self.enforce_limits,
            passes: match self.passes {
                PassesSpec::Instant => Passes::PerInstant,
                PassesSpec::Event => Passes::PerEvent,
                PassesSpec::EveryS(seconds) => Passes::Every(Seconds(seconds)),
            },
            arrival: if self.eligible {
                Arrival::Eligible
            } else {
                Arrival::Submit
            },
            larger: if self.cut_larger {
                Larger::Cut
            } else {
                Larger::Refuse
            },
            share: self
                .share_processors
                .map_or(Share::Nodes, Share::Processors),
            windows: self.windows.iter().map(window).collect(),
        })
    }
}
