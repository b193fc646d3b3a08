//! Jobs on the flow engine: the same plans as the packet engine's, the same outcome.

mod config;
mod driver;
mod report;
mod transport;

use odonata_network::Topology;
use odonata_network::routing::RoutingSpec;
use odonata_run::{
    JobPlan, Measurement, Observer, Outcome, Parameter, SimError, Switching, check_times,
    within_memory,
};
use odonata_units::{Bytes, Picoseconds};

use crate::routes::{Delays, RouteError, Routes};
pub use config::FlowConfig;
use driver::Driver;

/// Why there is no outcome.
#[derive(Debug)]
pub enum FlowError {
    /// The routing is none of flows.
    Route(RouteError),
    /// What the packet engine would say, too.
    Simulation(SimError),
}

impl From<SimError> for FlowError {
    fn from(error: SimError) -> Self {
        Self::Simulation(error)
    }
}

impl std::fmt::Display for FlowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Route(error) => error.fmt(f),
            Self::Simulation(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FlowError {}

/// Simulates jobs as flows, until all with an end are done or for the duration.
/// `observer` receives the progress; it cannot pause the run.
///
/// # Errors
/// If the flow engine lacks the routing or something that the jobs or the
/// measurement ask for, if ranks wait for messages that nobody sends, if a program
/// cannot go on, or if the observer interrupts.
pub fn run(
    topology: &Topology,
    routing: &RoutingSpec,
    config: &FlowConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    observer: &mut dyn Observer,
) -> Result<Outcome, FlowError> {
    check(config, jobs, measurement)?;
    let head_bytes = match config.router.switching {
        Switching::CutThrough { flit } => flit.0.min(config.packet.0),
        Switching::StoreAndForward => config.packet.0,
    };
    let delays = Delays {
        router: config.router.delay,
        head_bytes,
    };
    let routes = Routes::new(topology, routing, config.paths, delays, config.seed);
    let routes = routes.map_err(FlowError::Route)?;
    within_memory(|| {
        let mut driver = Driver::new(topology, routes, config, jobs, measurement);
        driver.run(observer)?;
        driver.report()
    })
}

/// Refuses what would be left out in silence otherwise.
fn check(config: &FlowConfig, jobs: &[JobPlan], measurement: &Measurement) -> Result<(), SimError> {
    let refuse = |parameter, found: &str, allowed: &str| {
        Err(SimError::Parameter {
            parameter,
            found: found.to_owned(),
            allowed: format!(
                "the flow engine has {allowed}; leave it out, or take the packet engine"
            ),
        })
    };
    check_times(&config.router, &config.nic, jobs, measurement)?;
    if config.settle > Picoseconds::LARGEST {
        return Err(SimError::Parameter {
            parameter: Parameter::Settle,
            found: config.settle.to_string(),
            allowed: "at most 50 days".to_owned(),
        });
    }
    if config.packet == Bytes::ZERO {
        return refuse(Parameter::Packet, "0 B", "packets of at least 1 B");
    }
    if jobs.iter().any(|job| job.protocol.gap > Picoseconds::ZERO) {
        return refuse(Parameter::Gap, "a gap", "no gaps between messages");
    }
    if measurement.attribution || measurement.arrivals.is_some() {
        return refuse(
            Parameter::Attribution,
            "asked for",
            "no queues in which jobs meet",
        );
    }
    Ok(())
}
