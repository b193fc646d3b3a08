//! Circuits of a fat tree that are set anew while a run goes on.

use odonata_network::Topology;
use odonata_network::routing::AnyRouting;
use odonata_network::topology::{FatTreeShape, UplinkPorts};
use odonata_run::{Parameter, SimError};
use odonata_sim::{CircuitControl, NewCircuits, RunSoFar};
use odonata_steering::{Hysteresis, PodTraffic, circuits_value};
use odonata_units::{NodeId, Picoseconds, PortId};
use serde::{Deserialize, Serialize};

use super::{WorkingLayer, failures, for_traffic, pair, sent_by_jobs, sum};
use crate::error::SpecError;
use crate::routing::build_routing;
use crate::spec::{self, Scenario, UplinkCircuits};

/// Time that switches take where a scenario gives none: that of the testbed's without the polling
/// of ports by the electronic switches (Michelogiannakis et al. 2019, section 5).
const USUAL_TIME: Picoseconds = Picoseconds(20_000_000);
/// How often it is looked for jobs that have ended, where a scenario does not say.
const USUAL_PERIOD: Picoseconds = Picoseconds(10_000_000);

/// Decides on the circuits of a fat tree during a run.
pub(crate) struct ChangingCircuits<'s> {
    scenario: &'s Scenario,
    shape: FatTreeShape,
    tree: Topology,
    working: WorkingLayer,
    options: &'s spec::OpticalLayer,
    /// Ingress ports, switch by switch.
    senders: Vec<PortId>,
    /// What each job sends from pod to pod. Shape: jobs × pods · pods; no jobs where circuits follow
    /// what is sent.
    of_jobs: Vec<Vec<f64>>,
    period: Picoseconds,
    memory: Memory,
}

/// What it remembers of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Memory {
    /// When it decided last.
    decided: Option<Picoseconds>,
    /// The jobs that circuits are set for.
    running: Vec<bool>,
    /// Bytes sent from pod to pod since it decided. Shape: pods · pods.
    sent: Vec<u64>,
    /// What it decided for last, where changes have to be worth it; nothing before. Shape: switches
    /// × ports.
    set: Vec<Vec<u32>>,
}

impl<'s> ChangingCircuits<'s> {
    /// The circuits of a scenario's `tree`, which is of `shape` and without circuits.
    ///
    /// # Errors
    /// If what jobs send cannot be found, or circuits cannot be set around those that have failed.
    pub(in crate::topology) fn new(
        scenario: &'s Scenario,
        options: &'s spec::OpticalLayer,
        working: WorkingLayer,
        shape: FatTreeShape,
        tree: Topology,
    ) -> Result<Self, SpecError> {
        let of_jobs = match options.circuits {
            UplinkCircuits::RunningJobs => sent_by_jobs(&working, &shape, &tree, scenario)?,
            _ => vec![],
        };
        let idle = vec![0.0; (working.layer.pods * working.layer.pods) as usize];
        if let Some(switch) = working.failed_of(&for_traffic(options.steering, &working, idle)?) {
            let message = format!(
                "{switch} cannot do without a circuit that has failed: where circuits change during the \
                 run, list the uplink's `port` in `links` instead"
            );
            return Err(SpecError::new("failures.circuits", message));
        }
        let ports = working
            .layer
            .switches
            .iter()
            .flat_map(|switch| &switch.ingress);
        let pods = working.layer.pods as usize;
        Ok(Self {
            senders: ports.map(|&(port, _)| port).collect(),
            of_jobs,
            period: options.period_ps.map_or(USUAL_PERIOD, Picoseconds),
            memory: Memory {
                decided: None,
                running: scenario.jobs.iter().map(|job| job.start_ps == 0).collect(),
                sent: vec![0; pods * pods],
                set: vec![],
            },
            scenario,
            shape,
            tree,
            working,
            options,
        })
    }

    /// Values of all senders as those of switches.
    fn by_switch<T: Copy>(&self, all: &[T]) -> Vec<Vec<T>> {
        let mut rest = all;
        let mut next = |ports: usize| {
            let (these, others) = rest.split_at(ports);
            rest = others;
            these.to_vec()
        };
        let sizes = self
            .working
            .layer
            .switches
            .iter()
            .map(|switch| switch.ingress.len());
        sizes.map(&mut next).collect()
    }

    /// The settings that lead the senders to `receivers`.
    fn settings(&self, receivers: &[PortId]) -> Result<Vec<Vec<u32>>, SimError> {
        if receivers.len() != self.senders.len() {
            let what = format!("{} circuits of {}", receivers.len(), self.senders.len());
            return Err(refused(&what));
        }
        let switches = self.working.layer.switches.iter();
        let settings = switches.zip(self.by_switch(receivers));
        let place = |(number, egress): (usize, &[(PortId, u32)]), to: PortId| {
            let place = egress.iter().position(|&(port, _)| port == to);
            let what = format!("port {} is on no egress port of switch {number}", to.0);
            place
                .map(|place| place as u32)
                .ok_or_else(|| refused(&what))
        };
        let of_switch = |(number, (switch, receivers)): (usize, (&_, Vec<PortId>))| {
            let switch: &odonata_network::topology::UplinkPorts = switch;
            let found = receivers
                .iter()
                .map(|&to| place((number, &switch.egress), to));
            found.collect()
        };
        settings.enumerate().map(of_switch).collect()
    }

    /// Whether new settings are worth a change for what pods send.
    fn is_worth(&self, amounts: Vec<f64>, settings: &[Vec<u32>]) -> Result<bool, SimError> {
        let (margin, horizon) = (self.options.hysteresis, self.options.horizon_ps);
        if margin.is_none() && horizon.is_none() {
            return Ok(true);
        }
        let pods = self.working.layer.pods as usize;
        let traffic =
            PodTraffic::new(pods, amounts).map_err(|error| refused(&error.to_string()))?;
        let unsteered = |switch: &UplinkPorts| (0..switch.ingress.len() as u32).collect();
        let set = match self.memory.set.is_empty() {
            true => self.working.layer.switches.iter().map(unsteered).collect(),
            false => self.memory.set.clone(),
        };
        let value = |settings: &[Vec<u32>], stays: &[Vec<u32>]| {
            let mut links = vec![0; pods * pods];
            for ((switch, setting), stays) in
                self.working.layer.switches.iter().zip(settings).zip(stays)
            {
                let circuits = switch.ingress.iter().zip(setting).zip(stays);
                for ((&(_, from), &to), _) in circuits.filter(|&((_, to), stays)| to == stays) {
                    links[from as usize * pods + switch.egress[to as usize].1 as usize] += 1;
                }
            }
            circuits_value(&traffic, &links)
        };
        let rule = Hysteresis {
            margin: margin.unwrap_or(0.0),
            change: horizon.map_or(0.0, |horizon| self.time().0 as f64 / horizon as f64),
        };
        let (before, during) = (value(&set, &set), value(&set, settings));
        Ok(rule.is_worth(before, during, value(settings, settings)))
    }

    /// A network with circuits without what has failed from the start.
    fn damaged(&self, network: Topology) -> Result<Topology, SimError> {
        let damaged = failures::damaged(network, self.scenario);
        damaged.map_err(|error| refused(&error.to_string()))
    }

    /// How long switches take.
    fn time(&self) -> Picoseconds {
        self.options
            .reconfiguration_ps
            .map_or(USUAL_TIME, Picoseconds)
    }

    fn receivers(&self, settings: &[Vec<u32>]) -> Vec<PortId> {
        let switches = self.working.layer.switches.iter().zip(settings);
        switches
            .flat_map(|(switch, setting)| setting.iter().map(|&to| switch.egress[to as usize].0))
            .collect()
    }
}

fn refused(what: &str) -> SimError {
    SimError::Parameter {
        parameter: Parameter::Circuits,
        found: what.to_owned(),
        allowed: "a network on which all nodes reach each other".to_owned(),
    }
}

impl CircuitControl for ChangingCircuits<'_> {
    fn senders(&self) -> &[PortId] {
        &self.senders
    }

    fn next(&self) -> Option<Picoseconds> {
        let decided = self.memory.decided.unwrap_or(Picoseconds::ZERO);
        let periods = decided.0 / self.period.0 + 1;
        let period = periods.checked_mul(self.period.0).map(Picoseconds);
        let starts = self
            .scenario
            .jobs
            .iter()
            .map(|job| Picoseconds(job.start_ps));
        let start = match self.options.circuits {
            UplinkCircuits::RunningJobs => starts.filter(|&start| start > decided).min(),
            _ => None,
        };
        period.into_iter().chain(start).min()
    }

    fn counts_traffic(&self) -> bool {
        self.options.circuits == UplinkCircuits::Traffic
    }

    fn count(&mut self, from: NodeId, to: NodeId, bytes: u64) {
        if let Some(pair) = pair(&self.shape, self.working.layer.pods as usize, from, to) {
            let sent = &mut self.memory.sent[pair];
            *sent = sent.saturating_add(bytes);
        }
    }

    fn decide(&mut self, run: &RunSoFar) -> Result<Option<NewCircuits>, SimError> {
        self.memory.decided = Some(run.at);
        let amounts = match self.options.circuits {
            UplinkCircuits::Traffic => {
                let sent = self.memory.sent.iter_mut();
                let amounts: Vec<f64> = sent.map(|bytes| std::mem::take(bytes) as f64).collect();
                // Nothing is known of what comes after a time without traffic.
                if amounts.iter().all(|&amount| amount == 0.0) {
                    return Ok(None);
                }
                amounts
            }
            _ if self.memory.running == run.running => return Ok(None),
            _ => {
                self.memory.running.clone_from(&run.running);
                if !run.running.contains(&true) {
                    return Ok(None);
                }
                sum(&self.of_jobs, |job| run.running[job])
            }
        };
        let settings = for_traffic(self.options.steering, &self.working, amounts.clone());
        let settings = settings.map_err(|error| refused(&error.to_string()))?;
        if !self.is_worth(amounts, &settings)? {
            return Ok(None);
        }
        let (receivers, time) = (self.receivers(&settings), self.time());
        self.memory.set = settings;
        Ok(Some(NewCircuits { receivers, time }))
    }

    fn network(&self, receivers: &[PortId]) -> Result<(Topology, AnyRouting), SimError> {
        let settings = self.settings(receivers)?;
        let network = (self.working.layer)
            .set(self.tree.clone(), &settings)
            .map_err(|error| refused(&error.to_string()))?;
        let network = self.damaged(network)?;
        let routing = build_routing(self.scenario, &network);
        let routing = routing.map_err(|error| refused(&error.to_string()))?;
        Ok((network, routing))
    }

    fn meanwhile(&self, receivers: &[PortId], changing: &[bool]) -> Result<AnyRouting, SimError> {
        let settings = self.settings(receivers)?;
        let changing = self.by_switch(changing);
        let network = (self.working.layer)
            .while_changing(self.tree.clone(), &settings, &changing)
            .map_err(|error| refused(&error.to_string()))?;
        if self.scenario.network.failures == spec::Failures::default() {
            let routing = build_routing(self.scenario, &network);
            return routing.map_err(|error| refused(&error.to_string()));
        }
        // A leaf of which uplinks have failed may have no way to all others by those that stay: all
        // packets then wait for the circuits to come.
        let (to_come, for_all) = self.network(receivers)?;
        let network = self.damaged(network)?;
        let holds_together = network.lost_routers() == to_come.lost_routers();
        let routing = build_routing(self.scenario, &network).ok();
        Ok(routing.filter(|_| holds_together).unwrap_or(for_all))
    }

    fn save(&self) -> Vec<u8> {
        serde_json::to_vec(&self.memory).unwrap_or_default()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), String> {
        let memory: Memory = serde_json::from_slice(saved).map_err(|error| error.to_string())?;
        let (jobs, pairs) = (self.memory.running.len(), self.memory.sent.len());
        let ports = |set: &[Vec<u32>]| set.iter().map(Vec::len).collect::<Vec<_>>();
        let of_switches = self.working.layer.switches.iter();
        let all: Vec<usize> = of_switches.map(|switch| switch.ingress.len()).collect();
        let fits = memory.set.is_empty()
            || (ports(&memory.set) == all
                && (memory.set.iter().zip(&all))
                    .all(|(set, &ports)| set.iter().all(|&to| (to as usize) < ports)));
        if memory.running.len() != jobs || memory.sent.len() != pairs || !fits {
            return Err("what its circuits are for".to_owned());
        }
        self.memory = memory;
        Ok(())
    }
}
