//! A scenario from its description to its measurements.

use std::io::Read;

use odonata_network::routing::AnyRouting;
use odonata_network::{LinkClass, Topology};
use odonata_run::{
    ArrivalRecords, Crossbar, CrossbarRate, EngineConfig, JobPlan, Measurement, MessageRecords,
    NicModel, Observer, Outcome, Parameter, RouterModel, SimError, Switching, TrafficClass,
};
use odonata_sim::{run_any, run_with_circuits};
use odonata_units::{Bandwidth, Bytes, Picoseconds, RouterId};

use crate::additions::{Additions, Nothing};
use crate::checkpoint::session::Session;
use crate::cost::measured;
use crate::error::{Error, SpecError};
use crate::finished::Run;
use crate::jobs::plan_jobs_with;
use crate::parameter_keys::key_of;
use crate::routing::{build_routing, lanes, traffic_classes};
use crate::skip::Skipper;
use crate::spec::{self, Scenario};
use crate::steady::{JobStatistics, SteadyState};
use crate::topology::switches::changing_circuits;
use crate::topology::uplinks::ChangingCircuits;
use crate::topology::{build_topology, losses};

/// Simulates a scenario. `observer` receives the progress of the run and may pause or
/// end it.
///
/// # Errors
/// If the scenario cannot be simulated as written ([`Error::Spec`], with the key
/// to blame), or if the simulation cannot go on ([`Error::Simulation`]).
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<Run, Error> {
    run_session(scenario, None, observer)
}

/// The same, with checkpoints if there is a `session`.
pub(crate) fn run_session(
    scenario: &Scenario,
    session: Option<Session<'_>>,
    observer: &mut dyn Observer,
) -> Result<Run, Error> {
    check(scenario)?;
    let topology = build_topology(scenario)?;
    let routing = build_routing(scenario, &topology)?;
    let engine = Engine::BuiltIn(&routing);
    run_with(scenario, topology, engine, &Nothing, session, observer)
}

/// Simulates packets under a routing algorithm whose type only its crate knows.
pub(crate) type Simulate<'a> = dyn Fn(
        &Topology,
        &EngineConfig,
        &[JobPlan],
        &Measurement,
        &mut dyn Observer,
    ) -> Result<Outcome, SimError>
    + 'a;

/// The routing algorithm that packets are simulated by.
pub(crate) enum Engine<'a> {
    /// An algorithm of this project.
    BuiltIn(&'a AnyRouting),
    /// The algorithm of a plug-in.
    PlugIn {
        virtual_channels: u8,
        simulate: &'a Simulate<'a>,
    },
}

/// Simulates a scenario on a network that is built, with what plug-ins say of its jobs.
pub(crate) fn run_with(
    scenario: &Scenario,
    topology: Topology,
    engine: Engine<'_>,
    additions: &dyn Additions,
    session: Option<Session<'_>>,
    observer: &mut dyn Observer,
) -> Result<Run, Error> {
    check(scenario)?;
    let (jobs, _) = plan_jobs_with(scenario, &topology, additions, None)?;
    let plans: Vec<JobPlan> = jobs.iter().map(|job| job.plan.clone()).collect();
    let mut simulation = Simulation::new(scenario, &topology, &engine, &plans)?;
    let asked = &scenario.simulation;
    let skip = asked.skip.as_ref();
    if skip.is_some() {
        crate::skip::check_run(&plans, session.is_some(), simulation.circuits.is_some())?;
    }
    let (error, warmup) = (skip.map(|skip| skip.error), simulation.measurement.warmup);
    let mut steady = SteadyState::new(
        &plans,
        Picoseconds(asked.duration_ps.unwrap_or(u64::MAX)),
        (!asked.detect_warmup).then_some(simulation.measurement.warmup),
        asked.precision,
        observer,
    );
    let mut simulate = |state: Option<&mut dyn Read>, observer: &mut dyn Observer| {
        measured(|| simulation.simulate(state, observer))
    };
    let mut skipped = Vec::new();
    let (outcome, cost) = match session {
        None => {
            let mut skipper = Skipper::new(&plans, error, warmup, &mut steady);
            let found = simulate(None, &mut skipper);
            skipped = skipper.skipped;
            found
        }
        Some(mut session) => {
            let (before, state, mut keeper) = session.keeper(&mut steady);
            let (outcome, cost) = simulate(state, &mut keeper);
            (outcome, cost.after(before))
        }
    };
    let mut outcome = outcome?;
    if !scenario.record.communication {
        outcome.traffic.clear();
    }
    let statistics = JobStatistics::all(
        &outcome.timeline,
        &plans,
        &outcome.jobs.iter().map(|job| job.end).collect::<Vec<_>>(),
        outcome.warmup,
        outcome.end,
    );
    let (warmup_found, precise) = (steady.warmup_found, steady.precise);
    crate::skip::add(&skipped, &mut outcome, &plans, &topology);
    Ok(Run {
        scenario: scenario.clone(),
        statistics,
        warmup_found: asked.detect_warmup.then(|| warmup_found.unwrap_or(false)),
        precise: asked.precision.map(|_| precise),
        skipped,
        outcome,
        virtual_channels: traffic_classes(scenario)
            * match engine {
                Engine::BuiltIn(routing) => lanes(scenario, routing).count(),
                Engine::PlugIn {
                    virtual_channels, ..
                } => virtual_channels,
            },
        topology,
        jobs,
        cost,
    })
}

/// Simulates jobs that are planned; those of the scenario do not matter.
pub(crate) fn simulate_plans(
    scenario: &Scenario,
    topology: &Topology,
    engine: &Engine<'_>,
    plans: &[JobPlan],
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    Simulation::new(scenario, topology, engine, plans)?.simulate(None, observer)
}

/// What changes circuits during the run, if they change and the engine can do that.
fn circuits_that_change<'s>(
    scenario: &'s Scenario,
    engine: &Engine<'_>,
) -> Result<Option<ChangingCircuits<'s>>, SpecError> {
    let flow = scenario.simulation.engine == spec::Engine::Flow;
    let plugged = matches!(engine, Engine::PlugIn { .. });
    if flow && plugged {
        let allowed = "packet, as flows do not know the routing of a plug-in";
        return Err(SpecError::value("simulation.engine", "\"flow\"", allowed));
    }
    let circuits = changing_circuits(scenario)?;
    if circuits.is_some() && (flow || plugged) {
        let allowed = "\"unsteered\", \"jobs\", \"file\" or \"matrix\": circuits change during runs of \
                       packets only, under `up-down` or `steered`";
        return Err(SpecError::value(
            "network.optical.circuits",
            "others",
            allowed,
        ));
    }
    Ok(circuits)
}

/// What an engine is to simulate.
struct Simulation<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    config: EngineConfig,
    plans: &'a [JobPlan],
    measurement: Measurement,
    circuits: Option<ChangingCircuits<'a>>,
    engine: &'a Engine<'a>,
}

impl<'a> Simulation<'a> {
    fn new(
        scenario: &'a Scenario,
        topology: &'a Topology,
        engine: &'a Engine<'a>,
        plans: &'a [JobPlan],
    ) -> Result<Self, SpecError> {
        Ok(Self {
            scenario,
            topology,
            config: engine_config(scenario)?,
            plans,
            measurement: measurement(scenario, topology)?,
            circuits: circuits_that_change(scenario, engine)?,
            engine,
        })
    }

    /// Simulates it, from a `state` if there is one.
    fn simulate(
        &mut self,
        state: Option<&mut dyn Read>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Error> {
        let (topology, plans) = (self.topology, self.plans);
        let (config, measurement) = (&self.config, &self.measurement);
        if self.scenario.simulation.engine == spec::Engine::Flow {
            return crate::flow::simulate(
                self.scenario,
                topology,
                config,
                plans,
                measurement,
                observer,
            );
        }
        let outcome = match (self.engine, &mut self.circuits) {
            (Engine::BuiltIn(routing), Some(circuits)) => run_with_circuits(
                topology,
                routing,
                config,
                plans,
                measurement,
                circuits,
                state,
                observer,
            ),
            (Engine::BuiltIn(routing), None) => run_any(
                topology,
                routing,
                config,
                plans,
                measurement,
                state,
                observer,
            ),
            (Engine::PlugIn { simulate, .. }, _) => {
                simulate(topology, config, plans, measurement, observer)
            }
        };
        outcome.map_err(simulation_error)
    }
}

/// The first broken rule of several keys.
pub(crate) fn check(scenario: &Scenario) -> Result<(), SpecError> {
    broken_rules(scenario)
        .into_iter()
        .next()
        .map_or(Ok(()), Err)
}

/// Rules that concern several keys and are broken.
pub(crate) fn broken_rules(scenario: &Scenario) -> Vec<SpecError> {
    let simulation = &scenario.simulation;
    if scenario.jobs.is_empty() {
        return vec![SpecError::value("job", "none", "at least one job")];
    }
    let mut found = Vec::new();
    if simulation.packet_bytes == 0 {
        found.push(SpecError::value("simulation.packet", "0 B", "at least 1 B"));
    }
    if simulation.threads == 0 {
        found.push(SpecError::value("simulation.threads", 0, "at least 1"));
    }
    let jobs: Vec<spec::JobEnd<'_>> = scenario.jobs.iter().map(spec::JobEnd::of).collect();
    let rules = [
        crate::flow::check(scenario),
        check_steady(scenario),
        crate::skip::check(scenario),
        TrafficClass::check_all(&scenario.network.router.traffic_classes)
            .map_err(parameter_refused),
        crate::jobs::classes::check_classes(scenario),
        crate::jobs::check_noise(scenario),
        crate::storage::check(scenario),
        spec::check_jobs(&jobs, simulation.duration_ps.is_some()),
    ];
    found.extend(rules.into_iter().filter_map(Result::err));
    if let Some(duration) = simulation.duration_ps
        && simulation.warmup_ps >= duration
    {
        let warmup = Picoseconds(simulation.warmup_ps);
        let allowed = format!("less than the duration, {}", Picoseconds(duration));
        found.push(SpecError::value("simulation.warmup", warmup, allowed));
    }
    found
}

/// Rules of what looks at the steady state of traffic.
fn check_steady(scenario: &Scenario) -> Result<(), SpecError> {
    let simulation = &scenario.simulation;
    let is_traffic = |job: &spec::Job| matches!(job.load, spec::Load::Traffic(_));
    let auto = simulation.detect_warmup.then_some("simulation.warmup");
    let precision = simulation.precision.map(|_| "simulation.precision");
    for path in auto.into_iter().chain(precision) {
        if simulation.duration_ps.is_none() {
            let allowed = "a duration, which is the longest that the run may take";
            return Err(SpecError::value("simulation.duration", "nothing", allowed));
        }
        if !scenario.jobs.iter().any(is_traffic) {
            let allowed = "only with a job that has `traffic`; motifs have no steady state";
            return Err(SpecError::value(path, "no job with traffic", allowed));
        }
    }
    if let Some(share) = simulation.precision {
        let path = "simulation.precision";
        if !(share > 0.0 && share < 1.0) {
            return Err(SpecError::value(path, share, "above 0 and below 1 (100 %)"));
        }
        if let Some(job) = scenario.jobs.iter().position(|job| !is_traffic(job)) {
            let found = format!("job[{job}] with a motif");
            let allowed = "only if all jobs have traffic; the motif would be cut off";
            return Err(SpecError::value(path, found, allowed));
        }
        let has_end = |job: &spec::Job| match &job.load {
            spec::Load::Motif(_) => false,
            spec::Load::Traffic(traffic) => traffic.messages.is_some(),
        };
        if let Some(job) = scenario.jobs.iter().position(has_end) {
            let found = format!("job[{job}] with a number of `messages`");
            let allowed = "only if all traffic is without end; a job that ends is not steady";
            return Err(SpecError::value(path, found, allowed));
        }
    }
    Ok(())
}

/// How fast the ports of crossbars are; `None` if they are never a bottleneck.
fn crossbar_rate(router: &spec::Router) -> Result<Option<CrossbarRate>, SpecError> {
    let Some(bandwidth) = router.crossbar_bandwidth_bytes_per_s else {
        return Ok(router.crossbar_speedup.map(CrossbarRate::Speedup));
    };
    let bandwidth = Bandwidth::new(bandwidth)
        .map_err(|error| SpecError::new("network.router.crossbar", error.to_string()))?;
    Ok(Some(CrossbarRate::Fixed(bandwidth)))
}

/// The engine's parameters.
pub(crate) fn engine_config(scenario: &Scenario) -> Result<EngineConfig, SpecError> {
    let router = &scenario.network.router;
    let nic = &scenario.network.nic;
    let packet = scenario.simulation.packet_bytes;
    Ok(EngineConfig {
        packet: Bytes(packet),
        router: RouterModel {
            delay: Picoseconds(router.delay_ps),
            credit_delay: Picoseconds(router.credit_delay_ps),
            credit_use: router.credit_use,
            switching: match router.switching {
                spec::SwitchingName::CutThrough => Switching::CutThrough {
                    flit: Bytes(router.flit_bytes),
                },
                spec::SwitchingName::StoreAndForward => Switching::StoreAndForward,
            },
            crossbar: match crossbar_rate(router)? {
                None => Crossbar::Ideal,
                Some(rate) => Crossbar::Bounded {
                    rate,
                    output_buffer: Bytes(
                        router
                            .output_buffer_bytes
                            .unwrap_or(packet.saturating_mul(2)),
                    ),
                },
            },
            occupancy: router.occupancy,
            arbitration: router.arbitration,
            room: router.room,
            node_room: match router.credit_use {
                spec::CreditUse::Link => None,
                spec::CreditUse::Crossbar => router.output_buffer_bytes.map(Bytes),
            },
        },
        nic: NicModel {
            injection: nic.injection,
            loopback_latency: Picoseconds(nic.loopback_latency_ps),
            loopback_bandwidth: Bandwidth::new(nic.loopback_bandwidth_bytes_per_s).map_err(
                |error| SpecError::new("network.nic.loopback_bandwidth", error.to_string()),
            )?,
            congestion_control: spec::checked_congestion_control(nic, router, packet)?,
        },
        decisions: scenario.network.routing.per,
        virtual_channels: scenario.network.routing.virtual_channels,
        classes: router.traffic_classes.clone(),
        losses: losses(scenario)?,
        seed: scenario.seed,
        threads: scenario.simulation.threads,
    })
}

fn measurement(scenario: &Scenario, topology: &Topology) -> Result<Measurement, SpecError> {
    let simulation = &scenario.simulation;
    Ok(Measurement {
        warmup: Picoseconds(simulation.warmup_ps),
        duration: simulation.duration_ps.map(Picoseconds),
        timeline_bin: simulation.timeline_bin_ps.map(Picoseconds),
        messages: match scenario.record.messages_every {
            0 => MessageRecords::None,
            every => MessageRecords::EveryNth(every),
        },
        rank_intervals: scenario.record.rank_activity,
        traffic: scenario.record.communication || follows_traffic(scenario),
        attribution: scenario.record.attribution,
        arrivals: arrival_records(scenario, topology)?,
    })
}

/// Whether circuits follow what is sent, which then has to be counted.
fn follows_traffic(scenario: &Scenario) -> bool {
    let spec::Family::FatTree(tree) = &scenario.network.topology else {
        return false;
    };
    let layer = tree.optical.as_ref();
    layer.is_some_and(|layer| layer.circuits == spec::UplinkCircuits::Traffic)
}

/// Where to record what arrives.
fn arrival_records(
    scenario: &Scenario,
    topology: &Topology,
) -> Result<Option<ArrivalRecords>, SpecError> {
    let Some(asked) = &scenario.record.arrivals else {
        return Ok(None);
    };
    let path = |key: &str| format!("record.arrivals.{key}");
    let within = |key: &str, numbers: &[u32], count: usize| match numbers
        .iter()
        .find(|&&number| number as usize >= count)
    {
        None => Ok(()),
        Some(number) => {
            let allowed = format!("{key} from 0 to {}", count.saturating_sub(1));
            Err(SpecError::value(path(key), number, allowed))
        }
    };
    if let Some(groups) = &asked.groups {
        within("groups", groups, topology.groups as usize)?;
    }
    let of_groups = |router: &RouterId| {
        let group = topology.group_of_router[router.index()].0;
        asked
            .groups
            .as_ref()
            .is_none_or(|groups| groups.contains(&group))
    };
    let routers = match &asked.routers {
        Some(routers) => {
            within("routers", routers, topology.routers())?;
            routers.iter().copied().map(RouterId).collect()
        }
        None => (0..topology.routers())
            .map(RouterId::from_index)
            .filter(of_groups)
            .collect(),
    };
    for wanted in asked.links.iter().flatten() {
        let fits = |class: &LinkClass| class.name == *wanted || class.kind.name() == wanted;
        if !topology.link_classes.iter().any(fits) {
            let names = topology
                .link_classes
                .iter()
                .map(|class| class.name.as_str());
            let allowed = format!("classes of links: {}", names.collect::<Vec<_>>().join(", "));
            return Err(SpecError::value(
                path("links"),
                format!("\"{wanted}\""),
                allowed,
            ));
        }
    }
    Ok(Some(ArrivalRecords {
        routers,
        interval: Picoseconds(asked.interval_ps),
    }))
}

impl spec::Record {
    /// Whether arrivals over links of a class are wanted.
    pub(crate) fn wants_arrivals(&self, class: &LinkClass) -> bool {
        let links = self
            .arrivals
            .as_ref()
            .and_then(|arrivals| arrivals.links.as_ref());
        links.is_none_or(|links| {
            links
                .iter()
                .any(|wanted| class.name == *wanted || class.kind.name() == wanted)
        })
    }
}

/// What the engine refuses, by the key that says it.
pub(crate) fn parameter_refused(error: SimError) -> SpecError {
    match error {
        SimError::Parameter {
            parameter,
            found,
            allowed,
        } => SpecError::value(key_of(parameter), found, allowed),
        other => SpecError::new("", other.to_string()),
    }
}

/// Parameters that the engine refuses are the scenario's.
pub(crate) fn simulation_error(error: SimError) -> Error {
    match &error {
        SimError::Parameter { .. } => parameter_refused(error).into(),
        SimError::BufferTooSmall { class, .. } => {
            let key = format!("network.links.{class}.buffer");
            let packet = key_of(Parameter::Packet);
            let message = format!("{error} ({key}, {packet})");
            SpecError::new(key, message).into()
        }
        _ => error.into(),
    }
}
