//! What slows the jobs of a schedule down or makes them faster: networks behind
//! the scheduler's trait, and what jobs do on them.

mod circuits;
mod exits;
mod fallible;
mod flow;
mod footprint;
mod in_use;
mod jobs;
mod machine;
mod packet;
mod table;
mod traffic;

use odonata_declare::Listed;
use odonata_placement::grap::GrapModeName;
use odonata_scheduler::batch::{AsLogged, Network};
use odonata_scheduler::log::JobLog;
use serde::Deserialize;
use serde_json::Value;

use super::modes;
use crate::error::{Error, SpecError};
use crate::spec;
use fallible::FirstFailure;
use flow::FlowNetwork;
pub use in_use::JobsOnNetwork;
use jobs::communications;
pub(super) use jobs::{Communication, MixTable};
pub use jobs::{MixSpec, ShareSpec};
use machine::SharedMachine;
use packet::PacketNetwork;
pub use table::SpeedUpSpec;
use table::Table;
pub(crate) use traffic::Traffic;

/// The network of a schedule, and what jobs do on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// How much of their time jobs communicate.
    pub communication_share: ShareSpec,
    /// What traffic jobs of which size have; who is in no class has none. `None`: the
    /// traffic of a job follows from its mode.
    pub mix: Option<Vec<MixSpec>>,
    /// Seed of what is drawn.
    pub seed: u64,
    /// What it does with them.
    pub level: LevelSpec,
}

impl NetworkSpec {
    /// Reads it from JSON.
    ///
    /// # Errors
    /// If a key is unknown, missing or of the wrong type.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| super::refused(format!("network: {error}")))
    }

    /// Whether jobs share links, so that it matters on which nodes they are.
    pub(super) fn shares_links(&self) -> bool {
        !matches!(self.level, LevelSpec::Table { .. })
    }
}

/// How closely a network is looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelSpec {
    /// Speed-ups by traffic and size, whoever else runs.
    Table {
        /// One for every traffic of the mix.
        speed_ups: Vec<SpeedUpSpec>,
    },
    /// Running jobs share the links of a machine as flows.
    Flow(Box<MachineSpec>),
    /// The same packet by packet.
    Packet(Box<PacketSpec>),
}

/// A machine whose links running jobs share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// What is wired, and the routing.
    pub machine: spec::Network,
    /// Part of its link's rate that a node sends at while it communicates.
    pub injection: f64,
    /// Which free nodes a job gets, where the scheduler only counts them.
    pub placement: spec::Placement,
    /// From the command until light passes a new circuit.
    pub switch_delay_ps: u64,
}

/// A machine whose network running jobs share packet by packet.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketSpec {
    /// The machine.
    pub machine: MachineSpec,
    /// Largest packet.
    pub packet_bytes: u64,
    /// Size of a message.
    pub message_bytes: u64,
    /// Simulated time before anything counts, after jobs have begun or ended.
    pub warmup_ps: u64,
    /// Simulated time in which it counts.
    pub window_ps: u64,
    /// What stretches a job's communication.
    pub stretch: Stretch,
}

/// What of a job's messages stretches its communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stretch {
    /// How many arrive.
    Throughput,
    /// How long they take as well.
    Latency,
}

/// A level of the network, with something to tell afterwards.
pub(super) trait Level: Network {
    /// What it has to tell, or null.
    fn report(&self) -> Value {
        Value::Null
    }
}

impl Level for AsLogged {}
impl Level for Table {}

/// A network with what its jobs do, one per job of the log.
pub(super) struct Planned {
    pub network: Box<dyn Level>,
    pub jobs: Vec<Communication>,
    /// Names of traffics.
    pub traffics: Vec<String>,
}

impl Planned {
    /// Jobs run as long as the log says.
    pub(super) fn none() -> Self {
        Self {
            network: Box::new(AsLogged),
            jobs: Vec::new(),
            traffics: Vec::new(),
        }
    }

    /// Draws what the jobs of `log` do on a network, for a machine of `nodes` nodes and,
    /// under GRAP, so many groups. `modes` are those of the jobs, none of small ones.
    pub(super) fn new(
        log: &JobLog,
        nodes: u32,
        grap: Option<u32>,
        modes: &[Option<GrapModeName>],
        spec: &NetworkSpec,
    ) -> Result<Self, Error> {
        if spec.mix.is_none() && modes.is_empty() && !log.jobs.is_empty() {
            let allowed = "traffics, as no modes are drawn that they could follow from";
            return Err(wrong("mix", "\"by-mode\"", allowed));
        }
        let table = matches!(spec.level, LevelSpec::Table { .. });
        // Small jobs gain nothing from a table; on links they talk inside their group.
        let of_mode = |job: usize| match (modes[job], table) {
            (Some(mode), true) => Some(mode.name()),
            (Some(mode), false) => Some(modes::traffic(mode)),
            (None, true) => None,
            (None, false) => Some(modes::traffic(GrapModeName::Adaptive)),
        };
        let (jobs, traffics) = communications(log, spec, &of_mode)?;
        let network: Box<dyn Level> = match &spec.level {
            LevelSpec::Table { speed_ups } => {
                Box::new(Table::new(log, &jobs, &traffics, speed_ups)?)
            }
            LevelSpec::Flow(flow) => {
                let injection = checked_injection(flow.injection)?;
                let machine = SharedMachine::new(Some(nodes), grap, spec.seed, flow)?;
                let network = FlowNetwork::new(machine, &jobs, &traffics, injection)?;
                Box::new(FirstFailure::of(network))
            }
            LevelSpec::Packet(packet) => {
                let injection = checked_injection(packet.machine.injection)?;
                let machine = SharedMachine::new(Some(nodes), grap, spec.seed, &packet.machine)?;
                let kinds = named_traffics(&traffics)?;
                let network = PacketNetwork::new(machine, &jobs, kinds, injection, packet)?;
                Box::new(FirstFailure::of(network))
            }
        };
        Ok(Self {
            network,
            jobs,
            traffics,
        })
    }
}

/// The traffics of jobs that share a machine.
fn named_traffics(names: &[String]) -> Result<Vec<Traffic>, Error> {
    let named = |name: &String| {
        Traffic::by_name(name).map_err(|unknown| wrong("mix", name, unknown.allowed.join(", ")))
    };
    names.iter().map(named).collect()
}

fn checked_injection(injection: f64) -> Result<f64, Error> {
    if injection > 0.0 && injection <= 1.0 {
        return Ok(injection);
    }
    let allowed = "above 0 and at most 1 (100 %) of what a node's link carries";
    Err(wrong("injection", injection, allowed))
}

/// A key of the network cannot be as it is.
fn wrong(key: &str, found: impl std::fmt::Display, allowed: impl Into<String>) -> Error {
    Error::Spec(SpecError::value(
        format!("network.{key}"),
        found,
        allowed.into(),
    ))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use odonata_placement::grap::GrapModeName;
    use odonata_scheduler::Seconds;
    use odonata_scheduler::log::{Job, JobLog};
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use crate::batch::{ScheduleSpec, schedule_jobs};
    use crate::spec::{CircuitSource, Family, Network, ReconfigurableDragonfly, Strategy};

    fn spec(steering: Strategy, modes: &str) -> ScheduleSpec {
        let mut machine = ReconfigurableDragonfly::new(2, 4, 2, 6);
        (machine.circuits, machine.steering) = (CircuitSource::Jobs, steering);
        let machine = Network::new(Family::ReconfigurableDragonfly(machine));
        let spec = json!({
            "nodes": 48, "policy": "easy", "order": {"kind": "fcfs"},
            "waiting_estimate": "perfect", "running_estimate": "perfect",
            "enforce_limits": false, "passes": "instant", "eligible": false,
            "cut_larger": false, "share_processors": null, "windows": [],
            "tau_s": 10, "interval_s": 60, "grap": {"groups": 6},
            "modes": {"seed": 1, "group": 8, "mix": [
                {"from": 1, "to": 100, "shares": [["adaptive", 1.0], [modes, 1.0]]}
            ]},
            "network": {
                "communication_share": {"between": [0.1, 0.9]}, "mix": null, "seed": 1,
                "level": {"flow": {
                    "machine": machine, "injection": 1.0,
                    "placement": {"policy": "contiguous"}, "switch_delay_ps": 100_000_000_000u64,
                }},
            },
        });
        ScheduleSpec::from_json(&spec.to_string()).unwrap()
    }

    proptest! {
        /// Whatever jobs come, circuits are set only between groups of their own job and
        /// connect them (checked at every change, after which all jobs are looked at
        /// again), and every job ends, no sooner than in the log.
        #[test]
        fn principles_hold_for_random_logs(
            jobs in proptest::collection::vec((0i64..300, 1u32..=48, 1i64..200), 1..40),
            steering in select(Strategy::ALL),
            mode in select(GrapModeName::ALL),
        ) {
            let mut log = JobLog::default();
            for &(at, nodes, run) in &jobs {
                log.jobs.push(Job::new("job", Seconds(at), Seconds(run), nodes));
            }
            log.jobs.sort_by_key(|job| job.submit);
            let go_on = &mut |_, _| ControlFlow::Continue(());
            let scheduled = schedule_jobs(&log, &spec(steering, mode.name()), go_on).unwrap();
            let summary = &scheduled.meta["summary"];
            prop_assert_eq!(summary["refused"].as_u64(), Some(0));
            let large = jobs.iter().filter(|job| job.1 > 8).count() as u64;
            prop_assert_eq!(summary["network"]["circuits"]["large_jobs"].as_u64(), Some(large));
            let column = |name: &str| {
                let columns = &scheduled.tables[0].columns;
                let found = columns.iter().find(|(known, _)| known == name);
                match &found.unwrap().1 {
                    crate::tables::Column::I64(values) => values.clone(),
                    _ => vec![],
                }
            };
            for (run, logged) in column("run_s").into_iter().zip(column("log_run_s")) {
                prop_assert!(run >= logged, "{} {}", run, logged);
            }
        }
    }
}
