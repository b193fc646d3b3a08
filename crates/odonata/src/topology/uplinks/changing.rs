//! Circuits of a fat tree that are set anew while a run goes on.

use std::collections::BTreeSet;

use odonata_network::Topology;
use odonata_network::routing::AnyRouting;
use odonata_network::topology::{FatTreeShape, NO_CIRCUIT, OpticalLayer, Timeline, UplinkPorts};
use odonata_run::{Losses, Parameter, SimError};
use odonata_sim::{CircuitControl, DARK, NewCircuits, RunSoFar};
use odonata_steering::{Hysteresis, PodTraffic, circuits_value};
use odonata_units::{NodeId, Picoseconds, PortId};
use serde::{Deserialize, Serialize};

use super::{WorkingLayer, failures, for_traffic, pair, sent_at_all, sent_by_jobs, sum};
use crate::error::SpecError;
use crate::routing::{RunPart, build_routing_of_parts};
use crate::spec::{self, Scenario, UplinkCircuits};
use crate::topology::{losses, moments};

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
    layer: OpticalLayer,
    /// What works of it, from when on it is known. Ascending, from the start of the run.
    working: Vec<(Picoseconds, WorkingLayer)>,
    /// Whether each port is dark all the time. Shape: switches × ports.
    dark: Vec<Vec<bool>>,
    /// The parts of the run between moments; of a run without moments one.
    parts: Vec<Part>,
    options: &'s spec::OpticalLayer,
    /// Ingress ports, switch by switch.
    senders: Vec<PortId>,
    /// What each job sends from pod to pod, where circuits follow running jobs. Shape: jobs × pods ·
    /// pods.
    of_jobs: Vec<Vec<f64>>,
    /// What pods send to each other where circuits follow nothing but failures. Shape: pods · pods.
    at_all: Vec<f64>,
    period: Picoseconds,
    losses: Option<Losses>,
    memory: Memory,
}

/// A part of the run between two moments at which something fails or works again.
struct Part {
    from: Picoseconds,
    /// Routers that are lost in it. Shape: routers.
    lost: Vec<bool>,
    lost_nodes: BTreeSet<NodeId>,
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
    /// The same of when it decided last and something had been sent; nothing before.
    sent_before: Vec<u64>,
    /// What it decided for last, where changes have to be worth it; nothing before. Shape: switches
    /// × ports.
    set: Vec<Vec<u32>>,
}

impl<'s> ChangingCircuits<'s> {
    /// The circuits of a scenario's `tree`, which is of `shape` and without circuits: all, and what works
    /// of them from when on.
    ///
    /// # Errors
    /// If what jobs send cannot be found, or circuits cannot be set around those that have failed.
    pub(in crate::topology) fn new(
        scenario: &'s Scenario,
        options: &'s spec::OpticalLayer,
        (layer, working): (OpticalLayer, Vec<(Picoseconds, WorkingLayer)>),
        shape: FatTreeShape,
        tree: Topology,
    ) -> Result<Self, SpecError> {
        let of_jobs = match options.circuits {
            UplinkCircuits::RunningJobs => sent_by_jobs(layer.pods, &shape, &tree, scenario)?,
            _ => vec![],
        };
        let pairs = (layer.pods * layer.pods) as usize;
        let at_start = &working[0].1;
        let set = for_traffic(options.steering, at_start, vec![0.0; pairs])?;
        if let Some(switch) = at_start
            .failed_of(&set)
            .filter(|_| options.circuits.change())
        {
            let message = format!(
                "{switch} cannot do without a circuit that has failed: where circuits change during the \
                 run, list the uplink's `port` in `links` instead"
            );
            return Err(SpecError::new("failures.circuits", message));
        }
        let mut moments = moments(scenario)?;
        if moments.is_empty() {
            let left = failures::damaged(tree.clone(), scenario)?;
            moments.push((Picoseconds::ZERO, left));
        }
        let part = |(from, left): (_, Topology)| Part {
            from,
            lost: left.lost_routers(),
            lost_nodes: left.lost_nodes().collect(),
        };
        let ports = layer.switches.iter().enumerate();
        let dark = ports.map(|(switch, ports)| {
            let always = |port| working.iter().all(|(_, one)| one.is_dark(switch, port));
            (0..ports.ingress.len()).map(always).collect()
        });
        let senders = layer.switches.iter().flat_map(|switch| &switch.ingress);
        Ok(Self {
            dark: dark.collect(),
            senders: senders.map(|&(port, _)| port).collect(),
            of_jobs,
            at_all: sent_at_all(options, &shape, (&layer, &tree), scenario)?,
            period: options.period_ps.map_or(USUAL_PERIOD, Picoseconds),
            losses: losses(scenario)?,
            memory: Memory {
                decided: None,
                running: scenario.jobs.iter().map(|job| job.start_ps == 0).collect(),
                sent: vec![0; pairs],
                sent_before: vec![],
                set: vec![],
            },
            scenario,
            shape,
            tree,
            layer,
            working,
            parts: moments.into_iter().map(part).collect(),
            options,
        })
    }

    /// What is known to work at a time, by its place.
    fn known(&self, time: Picoseconds) -> usize {
        self.working.partition_point(|&(from, _)| from <= time) - 1
    }

    /// When it decided last.
    fn decided(&self) -> Picoseconds {
        self.memory.decided.unwrap_or(Picoseconds::ZERO)
    }

    /// How packets are routed where the uplinks lead as on a network, at best on the first of several.
    fn routing(&self, networks: &[Topology]) -> Result<AnyRouting, SpecError> {
        let timelines = networks
            .iter()
            .map(|network| failures::timeline(network, self.scenario))
            .collect::<Result<Vec<_>, _>>()?;
        let all: Vec<_> = networks.iter().zip(&timelines).collect();
        let of_part = |part: &Part| {
            let time = failures::happened(self.scenario, part.from);
            let ways = |(network, timeline): (&Topology, &Option<Timeline>), at, with_circuits| {
                let Some(timeline) = timeline else {
                    return Ok(network.clone());
                };
                failures::ways(timeline, network, at, &part.lost_nodes, with_circuits)
            };
            // Packets of a part that has passed, and of one of which circuits have yet to be set around
            // what fails, may have no way by what works then: they take one that there is.
            let last = all[all.len() - 1];
            Ok(RunPart {
                from: part.from,
                left: ways(all[0], Some(time), true)?,
                otherwise: vec![
                    ways(last, Some(time), true)?,
                    ways(last, Some(time), false)?,
                    ways(last, None, true)?,
                ],
                lost: part.lost.clone(),
            })
        };
        let parts = self.parts.iter().map(of_part);
        let parts = parts.collect::<Result<Vec<_>, SpecError>>()?;
        build_routing_of_parts(self.scenario, &networks[0], parts)
    }

    /// Values of all senders as those of switches.
    fn by_switch<T: Copy>(&self, all: &[T]) -> Vec<Vec<T>> {
        let mut rest = all;
        let mut next = |ports: usize| {
            let (these, others) = rest.split_at(ports);
            rest = others;
            these.to_vec()
        };
        let sizes = (self.layer.switches.iter()).map(|switch| switch.ingress.len());
        sizes.map(&mut next).collect()
    }

    /// The settings that lead the senders to `receivers`.
    fn settings(&self, receivers: &[PortId]) -> Result<Vec<Vec<u32>>, SimError> {
        if receivers.len() != self.senders.len() {
            let what = format!("{} circuits of {}", receivers.len(), self.senders.len());
            return Err(refused(&what));
        }
        let switches = self.layer.switches.iter();
        let settings = switches.zip(self.by_switch(receivers));
        let of_switch = |(number, (switch, receivers)): (usize, (&UplinkPorts, Vec<PortId>))| {
            let place = |(port, &to): (usize, &PortId)| match to {
                // A link that is dark all the time is no part of the network anyway.
                DARK if self.dark[number][port] => Ok(port as u32),
                DARK => Ok(NO_CIRCUIT),
                to => {
                    let place = switch.egress.iter().position(|&(port, _)| port == to);
                    let what = format!("port {} is on no egress port of switch {number}", to.0);
                    place
                        .map(|place| place as u32)
                        .ok_or_else(|| refused(&what))
                }
            };
            receivers.iter().enumerate().map(place).collect()
        };
        settings.enumerate().map(of_switch).collect()
    }

    /// Whether new settings are worth a change for what pods send.
    fn is_worth(&self, amounts: Vec<f64>, settings: &[Vec<u32>]) -> Result<bool, SimError> {
        let (margin, horizon) = (self.options.hysteresis, self.options.horizon_ps);
        if margin.is_none() && horizon.is_none() {
            return Ok(true);
        }
        let pods = self.layer.pods as usize;
        let traffic =
            PodTraffic::new(pods, amounts).map_err(|error| refused(&error.to_string()))?;
        let unsteered = |switch: &UplinkPorts| (0..switch.ingress.len() as u32).collect();
        let set = match self.memory.set.is_empty() {
            true => self.layer.switches.iter().map(unsteered).collect(),
            false => self.memory.set.clone(),
        };
        let value = |settings: &[Vec<u32>], stays: &[Vec<u32>]| {
            let mut links = vec![0; pods * pods];
            for ((switch, setting), stays) in self.layer.switches.iter().zip(settings).zip(stays) {
                let circuits = switch.ingress.iter().zip(setting).zip(stays);
                for ((&(_, from), &to), _) in circuits.filter(|&((_, to), stays)| to == stays) {
                    if let Some(&(_, to)) = switch.egress.get(to as usize) {
                        links[from as usize * pods + to as usize] += 1;
                    }
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

    /// How long switches take.
    fn time(&self) -> Picoseconds {
        self.options
            .reconfiguration_ps
            .map_or(USUAL_TIME, Picoseconds)
    }

    fn receivers(&self, settings: &[Vec<u32>]) -> Vec<PortId> {
        let switches = self.layer.switches.iter().zip(settings).zip(&self.dark);
        let of_switch = |((switch, setting), dark): ((&UplinkPorts, &Vec<u32>), &Vec<bool>)| {
            let receiver = |(&to, &is_dark): (&u32, &bool)| match switch.egress.get(to as usize) {
                Some(&(port, _)) if !is_dark => port,
                _ => DARK,
            };
            setting.iter().zip(dark).map(receiver).collect::<Vec<_>>()
        };
        switches.flat_map(of_switch).collect()
    }

    fn led(&self, settings: &[Vec<u32>]) -> Result<Topology, SimError> {
        let led = self.layer.set(self.tree.clone(), settings);
        led.map_err(|error| refused(&error.to_string()))
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
        let decided = self.decided();
        let periods = decided.0 / self.period.0 + 1;
        let period = periods.checked_mul(self.period.0).map(Picoseconds);
        let period = period.filter(|_| self.options.circuits.change());
        let failure = self.working.get(self.known(decided) + 1);
        let failure = failure.map(|&(from, _)| from);
        let starts = self
            .scenario
            .jobs
            .iter()
            .map(|job| Picoseconds(job.start_ps));
        let start = match self.options.circuits {
            UplinkCircuits::RunningJobs => starts.filter(|&start| start > decided).min(),
            _ => None,
        };
        period.into_iter().chain(start).chain(failure).min()
    }

    fn counts_traffic(&self) -> bool {
        self.options.circuits == UplinkCircuits::Traffic
    }

    fn count(&mut self, from: NodeId, to: NodeId, bytes: u64) {
        if let Some(pair) = pair(&self.shape, self.layer.pods as usize, from, to) {
            let sent = &mut self.memory.sent[pair];
            *sent = sent.saturating_add(bytes);
        }
    }

    fn decide(&mut self, run: &RunSoFar) -> Result<Option<NewCircuits>, SimError> {
        let known = self.known(run.at);
        let is_failure = known != self.known(self.decided());
        self.memory.decided = Some(run.at);
        let amounts = match self.options.circuits {
            UplinkCircuits::Traffic => {
                let sent: Vec<u64> = self.memory.sent.iter_mut().map(std::mem::take).collect();
                let is_something = sent.iter().any(|&bytes| bytes > 0);
                // Nothing is known of what comes after a time without traffic.
                if !is_something && !is_failure {
                    return Ok(None);
                }
                if is_something || self.memory.sent_before.is_empty() {
                    self.memory.sent_before = sent;
                }
                let sent = self.memory.sent_before.iter();
                sent.map(|&bytes| bytes as f64).collect()
            }
            UplinkCircuits::RunningJobs => {
                if self.memory.running == run.running && !is_failure {
                    return Ok(None);
                }
                self.memory.running.clone_from(&run.running);
                if !run.running.contains(&true) && !is_failure {
                    return Ok(None);
                }
                sum(&self.of_jobs, |job| run.running[job])
            }
            _ if !is_failure => return Ok(None),
            _ => self.at_all.clone(),
        };
        let working = &self.working[known].1;
        let settings = for_traffic(self.options.steering, working, amounts.clone());
        let settings = settings.map_err(|error| refused(&error.to_string()))?;
        let settings = working.of_all(&self.layer, &settings, self.losses.is_some());
        if !is_failure && !self.is_worth(amounts, &settings)? {
            return Ok(None);
        }
        let (receivers, time) = (self.receivers(&settings), self.time());
        let something_fails = self.scenario.network.failures != spec::Failures::default();
        // Up and then down not all may be reached by what is left and these circuits: they stay.
        if something_fails && self.network(&receivers).is_err() {
            return Ok(None);
        }
        self.memory.set = settings;
        Ok(Some(NewCircuits { receivers, time }))
    }

    fn network(&self, receivers: &[PortId]) -> Result<(Topology, AnyRouting), SimError> {
        let network = self.led(&self.settings(receivers)?)?;
        let refused = |error: SpecError| refused(&error.to_string());
        let damaged = failures::damaged(network.clone(), self.scenario).map_err(refused)?;
        let routing = self.routing(&[network]).map_err(refused)?;
        Ok((damaged, routing))
    }

    fn meanwhile(&self, receivers: &[PortId], changing: &[bool]) -> Result<AnyRouting, SimError> {
        let settings = self.settings(receivers)?;
        let changing = self.by_switch(changing);
        let network = (self.layer)
            .while_changing(self.tree.clone(), &settings, &changing)
            .map_err(|error| refused(&error.to_string()))?;
        // A leaf of which uplinks have failed may have no way to all others by those that stay: all
        // packets then wait for the circuits to come.
        let routing = self.routing(&[network, self.led(&settings)?]);
        routing.map_err(|error| refused(&error.to_string()))
    }

    fn losses(&self, receivers: &[PortId]) -> Result<Option<Losses>, SimError> {
        let Some(losses) = &self.losses else {
            return Ok(None);
        };
        let network = self.led(&self.settings(receivers)?)?;
        let dark = failures::dark(&network, self.scenario);
        let dark = dark.map_err(|error| refused(&error.to_string()))?;
        Ok(Some(Losses {
            dark,
            ..losses.clone()
        }))
    }

    fn save(&self) -> Vec<u8> {
        serde_json::to_vec(&self.memory).unwrap_or_default()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), String> {
        let memory: Memory = serde_json::from_slice(saved).map_err(|error| error.to_string())?;
        let (jobs, pairs) = (self.memory.running.len(), self.memory.sent.len());
        let fits = |(set, switch): (&Vec<u32>, &UplinkPorts)| {
            let ports = switch.ingress.len();
            set.len() == ports
                && set
                    .iter()
                    .all(|&to| to == NO_CIRCUIT || (to as usize) < ports)
        };
        let switches = &self.layer.switches;
        let fits = memory.set.is_empty()
            || (memory.set.len() == switches.len() && memory.set.iter().zip(switches).all(fits));
        let fits = fits && [0, pairs].contains(&memory.sent_before.len());
        if memory.running.len() != jobs || memory.sent.len() != pairs || !fits {
            return Err("what its circuits are for".to_owned());
        }
        self.memory = memory;
        Ok(())
    }
}
