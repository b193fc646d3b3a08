//! Scenarios on the flow engine.

use odonata_flow::{FlowConfig, FlowError, RouteError};
use odonata_network::Topology;
use odonata_run::{EngineConfig, JobPlan, Measurement, Observer, Outcome};
use odonata_units::{Bandwidth, Picoseconds};

use crate::error::{Error, SpecError};
use crate::routing::{routing_spec, usual_of_flows};
use crate::run::simulation_error;
use crate::spec::{CongestionControl, Engine, Scenario};

/// Paths that a message is spread over at most where a scenario does not say.
const DEFAULT_PATHS: u32 = 8;

/// Refuses what only one of the engines has.
pub(crate) fn check(scenario: &Scenario) -> Result<(), SpecError> {
    let simulation = &scenario.simulation;
    if simulation.engine == Engine::Packet {
        if let Some(settle) = simulation.settle_ps {
            let found = format!("{settle} ps");
            let allowed = "only with engine = \"flow\"; packets have no rates";
            return Err(SpecError::value("simulation.settle", found, allowed));
        }
        if let Some(rate) = scenario.network.nic.rank_bandwidth_bytes_per_s {
            let found = format!("{rate} B/s");
            let allowed = "only with engine = \"flow\"; packets have all of their node's link";
            return Err(SpecError::value(
                "network.nic.rank_bandwidth",
                found,
                allowed,
            ));
        }
        return match simulation.paths {
            None => Ok(()),
            Some(paths) => Err(SpecError::value(
                "simulation.paths",
                paths,
                "only with engine = \"flow\"; packets find theirs one by one",
            )),
        };
    }
    if simulation.paths == Some(0) {
        return Err(SpecError::value("simulation.paths", 0, "at least 1"));
    }
    let refused = [
        (
            "network.nic.congestion_control",
            !matches!(
                scenario.network.nic.congestion_control,
                CongestionControl::None
                    | CongestionControl::Slingshot(_)
                    | CongestionControl::Hpcc(_)
            ),
            "a scheme of timers, marks or windows",
            "\"none\", \"slingshot\" or \"hpcc\", which keep every pair at its fair share within a \
             round trip; the others are for engine = \"packet\"",
        ),
        (
            "network.router.traffic_class",
            !scenario.network.router.traffic_classes.is_empty(),
            "classes",
            "none, as flows share links at once, whatever their class",
        ),
        (
            "failures",
            scenario.network.failures.change_during_run(),
            "links that fail during the run",
            "those that fail for all of it, as the paths of a flow stay",
        ),
        (
            "simulation.warmup",
            simulation.detect_warmup,
            "\"auto\"",
            "a time",
        ),
        (
            "simulation.precision",
            simulation.precision.is_some(),
            "a share",
            "nothing, as its runs cannot be paused",
        ),
        (
            "simulation.skip",
            simulation.skip.is_some(),
            "a table",
            "nothing, as its runs cannot be paused",
        ),
        (
            "simulation.threads",
            simulation.threads > 1,
            "several",
            "1, as flows share links all over the network",
        ),
    ];
    if scenario.network.routing.per == crate::spec::Decisions::PerMessage {
        let allowed = "with engine = \"flow\" \"packet\"; the paths of a message are \
                       simulation.paths, of which paths = 1 gives it one";
        return Err(SpecError::value(
            "network.routing.per",
            "\"message\"",
            allowed,
        ));
    }
    match refused.into_iter().find(|&(_, given, ..)| given) {
        None => Ok(()),
        Some((key, _, found, allowed)) => {
            let allowed = format!("with engine = \"flow\" {allowed}");
            Err(SpecError::value(key, found, allowed))
        }
    }
}

/// Simulates the jobs of a scenario as flows.
pub(crate) fn simulate(
    scenario: &Scenario,
    topology: &Topology,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let network = &scenario.network;
    let routing = routing_spec(&network.routing, &usual_of_flows(network, topology))?;
    let config = FlowConfig {
        packet: config.packet,
        paths: scenario.simulation.paths.unwrap_or(DEFAULT_PATHS),
        settle: Picoseconds(scenario.simulation.settle_ps.unwrap_or(1)),
        router: config.router,
        nic: config.nic.clone(),
        rank_bandwidth: scenario
            .network
            .nic
            .rank_bandwidth_bytes_per_s
            .map(Bandwidth::new)
            .transpose()
            .map_err(|error| SpecError::new("network.nic.rank_bandwidth", error.to_string()))?,
        seed: config.seed,
    };
    odonata_flow::run(topology, &routing, &config, jobs, measurement, observer).map_err(|error| {
        match error {
            FlowError::Simulation(error) => simulation_error(error),
            FlowError::Route(error) => {
                let key = match error {
                    RouteError::Threshold => "threshold",
                    RouteError::Flowlets => "flowlet_gap",
                    _ => "algorithm",
                };
                SpecError::new(format!("network.routing.{key}"), error.to_string()).into()
            }
        }
    })
}
