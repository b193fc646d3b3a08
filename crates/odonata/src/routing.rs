//! From the scenario's `[network.routing]` to a routing algorithm.

use odonata_network::Topology;
use odonata_network::routing::grouped::GroupedRoutes;
use odonata_network::routing::{self, Minimal, RoutingError};

use crate::error::SpecError;
use crate::spec::{self, Algorithm, Scenario};

/// A routing algorithm that was chosen at run time. Inside this crate
/// `with_routing!` hands out the algorithm itself, so that the engine dispatches
/// statically.
#[derive(Clone, Debug)]
pub enum AnyRouting {
    /// Minimal routes through groups.
    Minimal(Minimal),
}

/// Evaluates an expression for the algorithm inside an [`AnyRouting`]:
/// `with_routing!(&any, |routing| routing.virtual_channels())`.
macro_rules! with_routing {
    ($any:expr, |$routing:ident| $body:expr) => {
        match $any {
            $crate::AnyRouting::Minimal($routing) => $body,
        }
    };
}

pub(crate) use with_routing;

/// Builds the routing algorithm of a scenario for its network.
///
/// # Errors
/// If the algorithm does not fit the network, or an option the algorithm.
pub fn build_routing(scenario: &Scenario, topology: &Topology) -> Result<AnyRouting, SpecError> {
    let spec = &scenario.network.routing;
    let fail = |error: RoutingError| routing_error(&error);
    let links = match spec.minimal_links {
        spec::MinimalLinks::All => routing::MinimalLinks::All,
        spec::MinimalLinks::Shortest => routing::MinimalLinks::Shortest,
    };
    let choice = match spec.choice {
        spec::Choice::Random => routing::Choice::Random,
        spec::Choice::ByLoad => routing::Choice::ByLoad,
    };
    let channels = spec.virtual_channels;
    let groups = || GroupedRoutes::new(topology).map_err(fail);
    match spec.algorithm {
        Algorithm::Minimal => Minimal::new(groups()?, links, choice, channels)
            .map(AnyRouting::Minimal)
            .map_err(fail),
        other => Err(SpecError::new(
            "network.routing.algorithm",
            format!("this build has no {} routing", other.name()),
        )),
    }
}

/// The key that an unfit algorithm or option comes from.
fn routing_error(error: &RoutingError) -> SpecError {
    let key = match error {
        RoutingError::BadOption { option, .. } => option,
        RoutingError::TooManyVirtualChannels { .. } => "virtual_channels",
        _ => "algorithm",
    };
    SpecError::new(format!("network.routing.{key}"), error.to_string())
}
