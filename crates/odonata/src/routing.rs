//! From the scenario's `[network.routing]` to a routing algorithm.

use odonata_network::Topology;
use odonata_network::routing::{
    self, AdaptiveOptions, AnyRouting, QAdaptiveOptions, RoutingError, RoutingSpec, Weighting,
};

use crate::error::SpecError;
use crate::spec::{self, Algorithm, Scenario};

/// Threshold of FPAR where a scenario gives none: that of Kang et al. 2019,
/// section 3.1.2, as non-minimal paths cross twice as many global links.
const DEFAULT_SHARE: f64 = 0.5;

/// Builds the routing algorithm of a scenario for its network.
///
/// # Errors
/// If the algorithm does not fit the network, or an option the algorithm.
pub fn build_routing(scenario: &Scenario, topology: &Topology) -> Result<AnyRouting, SpecError> {
    let spec = routing_spec(&scenario.network.routing, scenario.network.router.delay_ps)?;
    AnyRouting::new(topology, &spec).map_err(|error| routing_error(&error))
}

/// The network room's form of the routing table.
pub(crate) fn routing_spec(spec: &spec::Routing, delay_ps: u64) -> Result<RoutingSpec, SpecError> {
    check_options(spec)?;
    let via = match spec.via.unwrap_or(spec::Via::Group) {
        spec::Via::Group => routing::Via::Group,
        spec::Via::Router => routing::Via::Router,
        spec::Via::Node => routing::Via::Node,
    };
    let threshold = spec.threshold_bytes.unwrap_or(0);
    let options = AdaptiveOptions {
        via,
        candidates: spec.candidates.unwrap_or(1),
        threshold_bytes: i64::try_from(threshold).map_err(|_| {
            let allowed = "less than 2^63 B";
            SpecError::value("network.routing.threshold", threshold, allowed)
        })?,
        weighting: match spec.weights {
            spec::Weights::Hops(_) => Weighting::Hops,
            spec::Weights::Fixed([minimal, non_minimal]) => Weighting::Fixed {
                minimal,
                non_minimal,
            },
        },
        detours_in_group: spec.detours_in_group.unwrap_or(false),
    };
    let usual = QAdaptiveOptions::default();
    let learning = QAdaptiveOptions {
        source_threshold: spec.source_threshold.unwrap_or(usual.source_threshold),
        intermediate_threshold: (spec.intermediate_threshold)
            .unwrap_or(usual.intermediate_threshold),
        rate_down: spec.rate_down.unwrap_or(usual.rate_down),
        rate_up: spec.rate_up.unwrap_or(usual.rate_up),
        exploration: spec.exploration.unwrap_or(usual.exploration),
        delay_ps,
    };
    Ok(RoutingSpec {
        algorithm: match spec.algorithm {
            Algorithm::Minimal => routing::Algorithm::Minimal,
            Algorithm::Valiant => routing::Algorithm::Valiant { via },
            Algorithm::UgalL => routing::Algorithm::UgalLocal(options),
            Algorithm::UgalG => routing::Algorithm::UgalGlobal(options),
            Algorithm::Par => routing::Algorithm::Par(options),
            Algorithm::Fpar => routing::Algorithm::Fpar {
                threshold: spec.threshold_share.unwrap_or(DEFAULT_SHARE),
            },
            Algorithm::QAdaptive => routing::Algorithm::QAdaptive(learning),
            Algorithm::ShortestPath => routing::Algorithm::ShortestPath,
            Algorithm::UpDown => routing::Algorithm::UpDown,
            Algorithm::DimensionOrder => routing::Algorithm::DimensionOrder,
            Algorithm::Tago => routing::Algorithm::Tago {
                detours_in_group: spec.detours_in_group.unwrap_or(false),
            },
        },
        links: match spec.minimal_links {
            spec::MinimalLinks::All => routing::MinimalLinks::All,
            spec::MinimalLinks::Shortest => routing::MinimalLinks::Shortest,
        },
        choice: match spec.choice {
            spec::Choice::Random => routing::Choice::Random,
            spec::Choice::ByLoad => routing::Choice::ByLoad,
            spec::Choice::ByDestination => routing::Choice::ByDestination,
        },
        virtual_channels: spec.virtual_channels,
    })
}

/// Refuses options that the algorithm does not have, rather than ignoring them.
fn check_options(spec: &spec::Routing) -> Result<(), SpecError> {
    let algorithm = spec.algorithm;
    let adaptive = matches!(
        algorithm,
        Algorithm::UgalL | Algorithm::UgalG | Algorithm::Par
    );
    let fully = algorithm == Algorithm::Fpar;
    if fully && spec.threshold_bytes.is_some() {
        let allowed = "a number from 0 to 1, the share of a port's queue, as algorithm = \"fpar\"";
        return Err(SpecError::value(
            "network.routing.threshold",
            "a size",
            allowed,
        ));
    }
    if adaptive && spec.threshold_share.is_some() {
        let allowed = format!(
            "a size, such as \"1 KiB\", as algorithm = \"{}\"",
            algorithm.name()
        );
        return Err(SpecError::value(
            "network.routing.threshold",
            "a number",
            allowed,
        ));
    }
    let learns = algorithm == Algorithm::QAdaptive;
    if learns && spec.per == spec::Per::Message {
        let allowed = "\"packet\" with algorithm = \"q-adaptive\", which learns from every packet";
        return Err(SpecError::value(
            "network.routing.per",
            "\"message\"",
            allowed,
        ));
    }
    let detours = adaptive || algorithm == Algorithm::Valiant;
    let fixed = matches!(spec.weights, spec::Weights::Fixed(_));
    let rules = [
        ("via", spec.via.is_some(), detours),
        ("candidates", spec.candidates.is_some(), adaptive),
        (
            "threshold",
            spec.threshold_bytes.is_some() || spec.threshold_share.is_some(),
            adaptive || fully,
        ),
        ("weights", fixed, adaptive),
        ("source_threshold", spec.source_threshold.is_some(), learns),
        (
            "intermediate_threshold",
            spec.intermediate_threshold.is_some(),
            learns,
        ),
        ("rate_down", spec.rate_down.is_some(), learns),
        ("rate_up", spec.rate_up.is_some(), learns),
        ("exploration", spec.exploration.is_some(), learns),
        (
            "detours_in_group",
            spec.detours_in_group.is_some(),
            adaptive || algorithm == Algorithm::Tago,
        ),
    ];
    match rules.into_iter().find(|(_, given, known)| *given && !known) {
        None => Ok(()),
        Some((key, ..)) => {
            let owners = match key {
                "via" => "valiant, ugal-l, ugal-g and par",
                "threshold" => "ugal-l, ugal-g, par and fpar",
                "source_threshold"
                | "intermediate_threshold"
                | "rate_down"
                | "rate_up"
                | "exploration" => "q-adaptive",
                "detours_in_group" => "ugal-l, ugal-g, par and tago",
                _ => "ugal-l, ugal-g and par",
            };
            Err(SpecError::new(
                format!("network.routing.{key}"),
                format!(
                    "{} routing has no such option, which is for {owners}: remove it",
                    algorithm.name()
                ),
            ))
        }
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
