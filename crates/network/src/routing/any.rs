//! All routing algorithms behind one type: built from a specification, matched
//! once, then run statically dispatched.

use odonata_declare::Named;
use serde::{Deserialize, Serialize};

use super::adaptive::AdaptiveOptions;
use super::choice::{Choice, MinimalLinks};
use super::dfsssp::dfsssp;
use super::grouped::GroupedRoutes;
use super::nonminimal::Via;
use super::{
    Dal, Detoured, DimWar, Forwarded, Fpar, FparRules, Minimal, MinimalAdaptive, Par, QAdaptive,
    QAdaptiveOptions, Routing, RoutingError, Steered, Tabled, Tago, Ugal, Valiant,
};
use crate::topology::Topology;

/// A routing algorithm by name, with the parameters of its own. This is the list of all:
/// what each is called, what it is for users, and which keys of `[network.routing]` mean
/// something with it besides those that all have.
#[derive(Clone, Copy, Debug, PartialEq, Named)]
#[named(kinds = AlgorithmName)]
pub enum Algorithm {
    /// Minimal routes: through as few groups as possible, or along the `paths` of the network.
    ///
    /// [`Minimal`].
    #[default]
    #[named(options("paths"))]
    Minimal,
    /// By way of a random intermediate.
    ///
    /// [`Valiant`].
    #[named(options("via", "paths"))]
    Valiant {
        /// What routes go through.
        via: Via,
    },
    /// UGAL-L: minimal or Valiant, whichever has the shorter queue, seen locally.
    ///
    /// [`Ugal`] with local information.
    #[serde(rename = "ugal-l")]
    #[named(options(
        "via",
        "paths",
        "candidates",
        "threshold",
        "weights",
        "queue",
        "detours_in_group"
    ))]
    UgalLocal(AdaptiveOptions),
    /// UGAL-G: minimal or Valiant, whichever has the shorter queue, seen globally.
    ///
    /// [`Ugal`] with global information.
    #[serde(rename = "ugal-g")]
    #[named(options(
        "via",
        "paths",
        "candidates",
        "threshold",
        "weights",
        "detours_in_group"
    ))]
    UgalGlobal(AdaptiveOptions),
    /// UGAL-L that may revise its decision within the source group.
    ///
    /// [`Par`].
    #[named(options("via", "candidates", "threshold", "weights", "detours_in_group"))]
    Par(AdaptiveOptions),
    /// Fully progressive adaptive: minimal, or by way of a spine or a leaf of another group,
    /// decided anew at every router; needs groups of leaves and spines.
    ///
    /// [`Fpar`].
    #[named(options("threshold", "rules"))]
    Fpar {
        /// Share of a port's queue, 0 to 1, up to which a path counts as free.
        threshold: f64,
        /// How what its description leaves open is resolved.
        rules: FparRules,
    },
    /// Adaptive by travel times that the routers learn; needs all-to-all groups.
    ///
    /// [`QAdaptive`].
    #[named(options(
        "source_threshold",
        "intermediate_threshold",
        "rate_down",
        "rate_up",
        "exploration",
        "hop_time"
    ))]
    QAdaptive(QAdaptiveOptions),
    /// Shortest paths, in any network.
    ///
    /// [`Tabled::shortest_path`].
    ShortestPath,
    /// Up, then down: shortest paths in fat trees; any network, on one virtual channel.
    ///
    /// [`Tabled::up_down`].
    UpDown,
    /// Up-down in fat trees with circuits: up over a circuit that shortens the path if nothing is
    /// queued for it, else over any link up.
    ///
    /// [`Steered`].
    #[named(options("threshold"))]
    Steered {
        /// Occupancy up to which a queue counts as empty, in bytes.
        threshold_bytes: i64,
    },
    /// Along one dimension after the other, in tori, meshes and HyperX.
    ///
    /// [`Tabled::dimension_order`].
    DimensionOrder,
    /// In HyperX, dimension after dimension: in each directly or by way of another router of the
    /// row, whichever has the shorter queue.
    ///
    /// [`DimWar`].
    #[serde(rename = "dimwar")]
    #[named(options("threshold"))]
    DimWar {
        /// Advantage of the direct hop, in bytes of weighted occupancy.
        threshold_bytes: i64,
    },
    /// DAL: in HyperX, along any dimension directly or, once in each dimension, by way of another
    /// router of the row, whichever has the shorter queue.
    ///
    /// [`Dal`].
    #[named(options("threshold"))]
    Dal {
        /// Advantage of hops to the right place, in bytes of weighted occupancy.
        threshold_bytes: i64,
    },
    /// Minimal along any dimension, whichever has the shorter queue, with escape channels in dimension
    /// order; in tori, meshes and HyperX.
    ///
    /// [`MinimalAdaptive`].
    MinimalAdaptive,
    /// DFSSSP: one shortest path to every node, balanced over the links, on as many virtual
    /// channels as it takes to have no cycle; any network.
    ///
    /// [`Forwarded`] by the tables of `dfsssp`.
    Dfsssp,
    /// By forwarding tables from files, such as those of OpenSM: the port by router and destination
    /// node, the virtual channel by source and destination.
    ///
    /// [`Forwarded`], which takes more than an option: see [`Forwarded::new`].
    #[named(options("tables", "subnet", "service_levels"))]
    ForwardingTables,
    /// Over the circuits that join two groups directly, through other groups only if there are
    /// none; needs all-to-all groups.
    ///
    /// [`Tago`].
    #[named(options("detours_in_group"))]
    Tago {
        /// Whether traffic inside a group may go by way of a random router of it.
        detours_in_group: bool,
    },
}

/// What a scenario says of the options of algorithms, or what holds where it does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlgorithmOptions {
    /// Options of adaptive algorithms, and of those with detours.
    pub adaptive: AdaptiveOptions,
    /// Threshold of [`Algorithm::Fpar`].
    pub threshold_share: f64,
    /// The same.
    pub rules: FparRules,
    /// Options of [`Algorithm::QAdaptive`].
    pub learning: QAdaptiveOptions,
}

impl AlgorithmName {
    /// Whether packets spread over more virtual channels than the algorithm needs. Not, if the
    /// channel follows from a packet's source and destination, as InfiniBand's service levels do.
    pub fn spreads_packets(self) -> bool {
        !matches!(self, Self::Dfsssp | Self::ForwardingTables)
    }

    /// The algorithm with those of the options that it has.
    pub fn with_options(self, options: &AlgorithmOptions) -> Algorithm {
        let adaptive = options.adaptive;
        match self {
            Self::Minimal => Algorithm::Minimal,
            Self::Valiant => Algorithm::Valiant { via: adaptive.via },
            Self::UgalLocal => Algorithm::UgalLocal(adaptive),
            Self::UgalGlobal => Algorithm::UgalGlobal(adaptive),
            Self::Par => Algorithm::Par(adaptive),
            Self::Fpar => Algorithm::Fpar {
                threshold: options.threshold_share,
                rules: options.rules,
            },
            Self::QAdaptive => Algorithm::QAdaptive(options.learning),
            Self::ShortestPath => Algorithm::ShortestPath,
            Self::UpDown => Algorithm::UpDown,
            Self::Steered => Algorithm::Steered {
                threshold_bytes: adaptive.threshold_bytes,
            },
            Self::DimensionOrder => Algorithm::DimensionOrder,
            Self::DimWar => Algorithm::DimWar {
                threshold_bytes: adaptive.threshold_bytes,
            },
            Self::Dal => Algorithm::Dal {
                threshold_bytes: adaptive.threshold_bytes,
            },
            Self::MinimalAdaptive => Algorithm::MinimalAdaptive,
            Self::Dfsssp => Algorithm::Dfsssp,
            Self::ForwardingTables => Algorithm::ForwardingTables,
            Self::Tago => Algorithm::Tago {
                detours_in_group: adaptive.detours_in_group,
            },
        }
    }
}

/// What minimal routes are, and what those by way of an intermediate consist of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// By way of the links between two groups.
    ///
    /// Local links inside a group and one global link between two.
    #[default]
    Groups,
    /// Shortest paths.
    ///
    /// The paths of [`Tabled::shortest_path`].
    ShortestPath,
    /// Up, then down.
    ///
    /// The paths of [`Tabled::up_down`].
    UpDown,
    /// Along one dimension after the other.
    ///
    /// The paths of [`Tabled::dimension_order`].
    DimensionOrder,
}

impl Paths {
    /// The tables of such paths, if they have any.
    fn tables(
        self,
        topology: &Topology,
        choice: Choice,
        merged: Option<u8>,
    ) -> Option<Result<Tabled, RoutingError>> {
        match self {
            Self::Groups => None,
            Self::ShortestPath => Some(Tabled::shortest_path(topology, choice, merged)),
            Self::UpDown => Some(Tabled::up_down(topology, choice, merged)),
            Self::DimensionOrder => Some(Tabled::dimension_order(topology, choice, merged)),
        }
    }
}

/// A routing algorithm and everything there is to choose about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoutingSpec {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Which global links between two groups are used; `shortest-path` uses
    /// shortest paths only, whatever this says.
    pub links: MinimalLinks,
    /// How one of several links is chosen.
    pub choice: Choice,
    /// What `minimal`, `valiant`, `ugal-l` and `ugal-g` go over; the others have paths of their
    /// own.
    pub paths: Paths,
    /// Merges virtual channels: channel `i` becomes
    /// `min(i, virtual_channels - 1)`. With fewer channels than the algorithm
    /// needs, a network can deadlock, as `verify` shows; more than it needs
    /// are [`Lanes`](super::Lanes) of the links. `None`: as many as it needs.
    pub virtual_channels: Option<u8>,
}

impl RoutingSpec {
    /// `algorithm` over all links, chosen at random, with the virtual channels
    /// that it needs.
    pub const fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            links: MinimalLinks::All,
            choice: Choice::Random,
            paths: Paths::Groups,
            virtual_channels: None,
        }
    }
}

/// One of the routing algorithms, with its tables.
#[derive(Clone, Debug)]
pub enum AnyRouting {
    /// Minimal.
    Minimal(Minimal),
    /// Valiant.
    Valiant(Valiant),
    /// UGAL with local information.
    UgalLocal(Ugal<false>),
    /// UGAL with global information.
    UgalGlobal(Ugal<true>),
    /// Progressive adaptive.
    Par(Par),
    /// Fully progressive adaptive.
    Fpar(Fpar),
    /// Learning.
    QAdaptive(QAdaptive),
    /// By tables: shortest paths, up-down, dimension order.
    Tabled(Tabled),
    /// Up by an idle circuit, or by any link.
    Steered(Steered),
    /// Valiant and UGAL with local information by tables.
    Detoured(Detoured<false>),
    /// UGAL with global information by tables.
    DetouredGlobal(Detoured<true>),
    /// Adaptive along the dimensions of a HyperX.
    DimWar(DimWar),
    /// Adaptive across the dimensions of a HyperX.
    Dal(Dal),
    /// Minimal along all dimensions, with escape channels.
    MinimalAdaptive(MinimalAdaptive),
    /// By forwarding tables.
    Forwarded(Forwarded),
    /// Over circuits.
    Tago(Tago),
}

/// Something to be done with a routing algorithm whose type is known at compile
/// time: the engine's run, the deadlock proof.
pub trait RoutingTask {
    /// What comes out.
    type Output;
    /// Does it.
    fn run<R: Routing>(self, routing: &R) -> Self::Output;
}

impl AnyRouting {
    /// Builds the algorithm's tables for `topology`.
    ///
    /// # Errors
    /// If the algorithm does not fit the network, naming what to do.
    pub fn new(topology: &Topology, spec: &RoutingSpec) -> Result<Self, RoutingError> {
        let RoutingSpec {
            algorithm,
            links,
            choice,
            paths,
            virtual_channels,
        } = *spec;
        let by_tables = matches!(
            algorithm,
            Algorithm::ShortestPath
                | Algorithm::UpDown
                | Algorithm::Steered { .. }
                | Algorithm::DimensionOrder
        );
        let goes_up_and_down = matches!(algorithm, Algorithm::UpDown | Algorithm::Steered { .. })
            || (algorithm == Algorithm::Minimal && paths == Paths::UpDown);
        if topology.has_one_way_links() && !goes_up_and_down {
            let algorithm = algorithm.name();
            return Err(RoutingError::OneWay { algorithm });
        }
        if let Some(routing) = Self::over_tables(topology, spec)? {
            return Ok(routing);
        }
        if paths != Paths::Groups {
            return Err(RoutingError::BadOption {
                option: "paths",
                found: format!("\"{}\"", paths.name()),
                allowed: "only `minimal`, `valiant`, `ugal-l` and `ugal-g` go over other paths than \
                          their own: remove it, or use one of these",
            });
        }
        if choice == Choice::ByDestination && !by_tables {
            return Err(RoutingError::BadOption {
                option: "choice",
                found: "by-destination".into(),
                allowed: "only `up-down`, `steered`, `dimension-order` and `shortest-path`, and `minimal` over such \
                          `paths`, choose by the destination; use \"random\" or \"by-load\"",
            });
        }
        let grouped = || GroupedRoutes::new(topology);
        let merged = virtual_channels;
        Ok(match algorithm {
            Algorithm::Minimal => Self::Minimal(Minimal::new(grouped()?, links, choice, merged)?),
            Algorithm::Valiant { via } => {
                Self::Valiant(Valiant::new(grouped()?, via, links, choice, merged)?)
            }
            Algorithm::UgalLocal(options) => {
                Self::UgalLocal(Ugal::new(grouped()?, links, choice, options, merged)?)
            }
            Algorithm::UgalGlobal(options) => {
                Self::UgalGlobal(Ugal::new(grouped()?, links, choice, options, merged)?)
            }
            Algorithm::Par(options) => {
                Self::Par(Par::new(grouped()?, links, choice, options, merged)?)
            }
            Algorithm::Fpar { threshold, rules } => {
                Self::Fpar(Fpar::new(topology, threshold, choice, rules, merged)?)
            }
            Algorithm::QAdaptive(options) => {
                Self::QAdaptive(QAdaptive::new(topology, options, merged)?)
            }
            Algorithm::ShortestPath => {
                Self::Tabled(Tabled::shortest_path(topology, choice, merged)?)
            }
            Algorithm::UpDown => Self::Tabled(Tabled::up_down(topology, choice, merged)?),
            Algorithm::Steered { threshold_bytes } => {
                Self::Steered(Steered::new(topology, choice, threshold_bytes, merged)?)
            }
            Algorithm::DimensionOrder => {
                Self::Tabled(Tabled::dimension_order(topology, choice, merged)?)
            }
            Algorithm::DimWar { threshold_bytes } => {
                Self::DimWar(DimWar::new(topology, choice, threshold_bytes, merged)?)
            }
            Algorithm::Dal { threshold_bytes } => {
                Self::Dal(Dal::new(topology, threshold_bytes, merged)?)
            }
            Algorithm::MinimalAdaptive => {
                Self::MinimalAdaptive(MinimalAdaptive::new(topology, merged)?)
            }
            Algorithm::Dfsssp => {
                Self::Forwarded(Forwarded::new(topology, dfsssp(topology)?, merged)?)
            }
            Algorithm::ForwardingTables => return Err(RoutingError::NoTables),
            Algorithm::Tago { detours_in_group } => Self::Tago(Tago::new(
                topology,
                links,
                choice,
                detours_in_group,
                merged,
            )?),
        })
    }

    /// An algorithm that goes over [`Paths`] of which there are tables; `None` if it does not.
    fn over_tables(topology: &Topology, spec: &RoutingSpec) -> Result<Option<Self>, RoutingError> {
        let merged = spec.virtual_channels;
        // Detours merge the channels of both parts of their way.
        let own = match spec.algorithm {
            Algorithm::Minimal => merged,
            Algorithm::Valiant { .. } | Algorithm::UgalLocal(_) | Algorithm::UgalGlobal(_) => None,
            _ => return Ok(None),
        };
        let Some(base) = spec.paths.tables(topology, spec.choice, own) else {
            return Ok(None);
        };
        let base = base?;
        Ok(Some(match spec.algorithm {
            Algorithm::Valiant { via } => {
                Self::Detoured(Detoured::valiant(topology, base, via, merged)?)
            }
            Algorithm::UgalLocal(options) => {
                Self::Detoured(Detoured::ugal(topology, base, options, merged)?)
            }
            Algorithm::UgalGlobal(options) => {
                Self::DetouredGlobal(Detoured::ugal(topology, base, options, merged)?)
            }
            _ => Self::Tabled(base),
        }))
    }

    /// Runs `task` with the algorithm inside.
    pub fn dispatch<T: RoutingTask>(&self, task: T) -> T::Output {
        match self {
            Self::Minimal(routing) => task.run(routing),
            Self::Valiant(routing) => task.run(routing),
            Self::UgalLocal(routing) => task.run(routing),
            Self::UgalGlobal(routing) => task.run(routing),
            Self::Par(routing) => task.run(routing),
            Self::Fpar(routing) => task.run(routing),
            Self::QAdaptive(routing) => task.run(routing),
            Self::Tabled(routing) => task.run(routing),
            Self::Steered(routing) => task.run(routing),
            Self::Detoured(routing) => task.run(routing),
            Self::DetouredGlobal(routing) => task.run(routing),
            Self::DimWar(routing) => task.run(routing),
            Self::Dal(routing) => task.run(routing),
            Self::MinimalAdaptive(routing) => task.run(routing),
            Self::Forwarded(routing) => task.run(routing),
            Self::Tago(routing) => task.run(routing),
        }
    }

    /// Virtual channels per link that the algorithm uses.
    pub fn virtual_channels(&self) -> u8 {
        struct Count;
        impl RoutingTask for Count {
            type Output = u8;
            fn run<R: Routing>(self, routing: &R) -> u8 {
                routing.virtual_channels()
            }
        }
        self.dispatch(Count)
    }
}
