//! Scheduler and network coupled: what slows the jobs of a schedule down or makes them
//! faster. Networks behind the scheduler's trait, and what jobs do on them.

mod applications;
mod changes;
mod circuits;
mod fallible;
mod flow;
mod footprint;
mod global_links;
mod in_use;
mod jobs;
mod level;
mod machine;
mod packet;
mod spec;
mod table;
mod traffic;
mod windows;
mod wired;

use std::num::NonZeroU32;

use odonata_placement::grap::GrapModeName;
use odonata_scheduler::batch::AsLogged;
use odonata_scheduler::log::JobLog;

use crate::error::{Error, SpecError};
use crate::spec::{Engine, Load};
use applications::ApplicationNetwork;
pub(crate) use changes::NetworkChanges;
use fallible::FirstFailure;
use flow::FlowNetwork;
pub use in_use::JobsOnNetwork;
use jobs::communications;
pub(crate) use jobs::{Communication, MixTable};
use level::Level;
use machine::{SharedMachine, checked_injection};
use packet::PacketNetwork;
use spec::wrong;
pub use spec::{
    ApplicationsSpec, LevelSpec, MachineSpec, MixSpec, NetworkSpec, PacketSpec, ShareSpec,
    SpeedUpSpec, Stretch,
};
use table::Table;
pub(crate) use traffic::Traffic;
use traffic::{named_traffics, of_mode};
use windows::Span;

/// Iterations that a job goes through at most in a window, where nothing is said.
const WINDOW_ITERATIONS: u32 = 8;

/// A network with what its jobs do, one per job of the log.
pub(crate) struct Planned {
    pub network: Box<dyn Level>,
    pub jobs: Vec<Communication>,
    /// Names of traffics, or of applications.
    pub traffics: Vec<String>,
    /// The log, where its run times follow from applications.
    pub log: Option<JobLog>,
}

impl Planned {
    /// Jobs run as long as the log says.
    pub(crate) fn none() -> Self {
        Self {
            network: Box::new(AsLogged),
            jobs: Vec::new(),
            traffics: Vec::new(),
            log: None,
        }
    }

    /// Draws what the jobs of `log` do on a network, for a machine of `nodes` nodes and,
    /// under GRAP, this many groups. `modes` are those of the jobs, none of small ones.
    pub(crate) fn new(
        log: &JobLog,
        nodes: u32,
        grap: Option<u32>,
        modes: &[Option<GrapModeName>],
        spec: &NetworkSpec,
    ) -> Result<Self, Error> {
        if let Some(applications) = &spec.applications {
            return Self::with_applications(log, nodes, grap, spec, applications);
        }
        if spec.mix.is_none() && modes.is_empty() && !log.jobs.is_empty() {
            let allowed = "traffics, as no modes are drawn that they could follow from";
            return Err(wrong("mix", "\"by-mode\"", allowed));
        }
        let table = matches!(spec.level, LevelSpec::Table { .. });
        // Small jobs gain nothing from a table; on links they talk inside their group.
        let traffic = |job: usize| match (modes[job], table) {
            (Some(mode), true) => Some(mode.name()),
            (Some(mode), false) => Some(of_mode(mode)),
            (None, true) => None,
            (None, false) => Some(of_mode(GrapModeName::Adaptive)),
        };
        let (jobs, traffics) = communications(log, spec, &traffic)?;
        let network: Box<dyn Level> = match &spec.level {
            LevelSpec::Table { speed_ups } => {
                Box::new(Table::new(log, &jobs, &traffics, speed_ups)?)
            }
            LevelSpec::Flow(flow) => {
                let injection = checked_injection(flow.injection)?;
                let mut machine =
                    SharedMachine::new(Some(nodes), grap, spec.seed, flow, Some(log))?;
                let changes = machine.changes.take();
                let network = FlowNetwork::new(machine, &jobs, &traffics, injection)?;
                Box::new(FirstFailure::of(network, changes))
            }
            LevelSpec::Packet(packet) => {
                let injection = checked_injection(packet.machine.injection)?;
                let machine = &packet.machine;
                let mut machine =
                    SharedMachine::new(Some(nodes), grap, spec.seed, machine, Some(log))?;
                let changes = machine.changes.take();
                let kinds = named_traffics(&traffics)?;
                let network = PacketNetwork::new(machine, &jobs, kinds, injection, packet)?;
                Box::new(FirstFailure::of(network, changes))
            }
        };
        Ok(Self {
            network,
            jobs,
            traffics,
            log: None,
        })
    }

    /// The same where jobs do what jobs of a scenario do.
    fn with_applications(
        log: &JobLog,
        nodes: u32,
        grap: Option<u32>,
        spec: &NetworkSpec,
        applications: &ApplicationsSpec,
    ) -> Result<Self, Error> {
        let names: Vec<&str> = applications
            .jobs
            .iter()
            .map(|job| job.name.as_str())
            .collect();
        for job in &applications.jobs {
            if matches!(job.load, Load::Traffic(_)) {
                let key = format!("job \"{}\".traffic", job.name);
                let allowed = "a motif, which ends, where jobs come and go";
                return Err(Error::Spec(SpecError::value(key, "traffic", allowed)));
            }
        }
        let of_job: Vec<Option<u32>> = match (&spec.mix, applications.queue) {
            (_, true) => (0..log.jobs.len()).map(|job| Some(job as u32)).collect(),
            (Some(mix), false) => jobs::applications(log, mix, &names, spec.seed)?,
            (None, false) => return Err(wrong("mix", "\"by-mode\"", names.join(", "))),
        };
        let (machine, engine, shortest) = match &spec.level {
            LevelSpec::Flow(machine) => (&**machine, Engine::Flow, 0),
            LevelSpec::Packet(packet) => (&packet.machine, Engine::Packet, packet.window_ps),
            LevelSpec::Table { .. } => {
                let allowed = "flow or packet, whose links applications share";
                return Err(wrong("level", "\"table\"", allowed));
            }
        };
        let mut shared = SharedMachine::new(Some(nodes), grap, spec.seed, machine, Some(log))?;
        let changes = shared.changes.take();
        let drawn = of_job.iter().map(|&application| Communication {
            share: f64::NAN,
            traffic: application,
        });
        let (jobs, mut log) = (drawn.collect(), log.clone());
        let iterations = applications.window_iterations;
        let span = Span {
            shortest: shortest as f64,
            iterations: iterations.map_or(WINDOW_ITERATIONS, NonZeroU32::get).into(),
        };
        let network =
            ApplicationNetwork::new(shared, &mut log, &of_job, engine, span, applications)?;
        Ok(Self {
            network: Box::new(FirstFailure::of(network, changes)),
            jobs,
            traffics: names.iter().map(|name| (*name).to_owned()).collect(),
            log: Some(log),
        })
    }
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
            "nodes": 48,
            "schedule": {
                "log": "", "estimates": "perfect", "limits": false, "grap": {"groups": 6},
            },
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
