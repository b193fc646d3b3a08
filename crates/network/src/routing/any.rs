//! All routing algorithms behind one type: built from a specification, matched
//! once, then run statically dispatched.

use super::adaptive::AdaptiveOptions;
use super::choice::{Choice, MinimalLinks};
use super::grouped::GroupedRoutes;
use super::nonminimal::Via;
use super::{
    Detoured, DimWar, Fpar, Minimal, Par, QAdaptive, QAdaptiveOptions, Routing, RoutingError,
    Tabled, Tago, Ugal, Valiant,
};
use crate::topology::Topology;

/// A routing algorithm by name, with the parameters of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Algorithm {
    /// [`Minimal`].
    Minimal,
    /// [`Valiant`].
    Valiant {
        /// What routes go through.
        via: Via,
    },
    /// [`Ugal`] with local information: UGAL-L.
    UgalLocal(AdaptiveOptions),
    /// [`Ugal`] with global information: UGAL-G.
    UgalGlobal(AdaptiveOptions),
    /// [`Par`].
    Par(AdaptiveOptions),
    /// [`Fpar`], for groups of leaves and spines.
    Fpar {
        /// Share of a port's queue, 0 to 1, up to which a path counts as free.
        threshold: f64,
    },
    /// [`QAdaptive`], for all-to-all groups.
    QAdaptive(QAdaptiveOptions),
    /// [`Tabled::shortest_path`], for networks of any form.
    ShortestPath,
    /// [`Tabled::up_down`], for fat trees and networks of any form.
    UpDown,
    /// [`Tabled::dimension_order`], for tori, meshes and HyperX.
    DimensionOrder,
    /// [`DimWar`], for HyperX.
    DimWar {
        /// Advantage of the direct hop, in bytes of weighted occupancy.
        threshold_bytes: i64,
    },
    /// [`Tago`], for all-to-all groups with any links between them.
    Tago {
        /// Whether traffic inside a group may go by way of a random router of it.
        detours_in_group: bool,
    },
}

impl Algorithm {
    /// The names in scenarios.
    pub const NAMES: [&'static str; 12] = [
        "minimal",
        "valiant",
        "ugal-l",
        "ugal-g",
        "par",
        "fpar",
        "q-adaptive",
        "shortest-path",
        "up-down",
        "dimension-order",
        "dimwar",
        "tago",
    ];

    /// The name in scenarios.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Valiant { .. } => "valiant",
            Self::UgalLocal(_) => "ugal-l",
            Self::UgalGlobal(_) => "ugal-g",
            Self::Par(_) => "par",
            Self::Fpar { .. } => "fpar",
            Self::QAdaptive(_) => "q-adaptive",
            Self::ShortestPath => "shortest-path",
            Self::UpDown => "up-down",
            Self::DimensionOrder => "dimension-order",
            Self::DimWar { .. } => "dimwar",
            Self::Tago { .. } => "tago",
        }
    }
}

/// What minimal routes are, and what those by way of an intermediate consist of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Paths {
    /// Those over groups: local links inside a group and one global link between two.
    #[default]
    Groups,
    /// Those of [`Tabled::shortest_path`].
    ShortestPath,
    /// Those of [`Tabled::up_down`].
    UpDown,
    /// Those of [`Tabled::dimension_order`].
    DimensionOrder,
}

impl Paths {
    /// The names in scenarios.
    pub const NAMES: [&'static str; 4] = ["groups", "shortest-path", "up-down", "dimension-order"];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

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
    /// change nothing. `None`: as many as it needs.
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
    /// Valiant and UGAL with local information by tables.
    Detoured(Detoured<false>),
    /// UGAL with global information by tables.
    DetouredGlobal(Detoured<true>),
    /// Adaptive along the dimensions of a HyperX.
    DimWar(DimWar),
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
            Algorithm::ShortestPath | Algorithm::UpDown | Algorithm::DimensionOrder
        );
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
                allowed: "only `up-down`, `dimension-order` and `shortest-path`, and `minimal` over such \
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
            Algorithm::Fpar { threshold } => {
                Self::Fpar(Fpar::new(topology, threshold, choice, merged)?)
            }
            Algorithm::QAdaptive(options) => {
                Self::QAdaptive(QAdaptive::new(topology, options, merged)?)
            }
            Algorithm::ShortestPath => {
                Self::Tabled(Tabled::shortest_path(topology, choice, merged)?)
            }
            Algorithm::UpDown => Self::Tabled(Tabled::up_down(topology, choice, merged)?),
            Algorithm::DimensionOrder => {
                Self::Tabled(Tabled::dimension_order(topology, choice, merged)?)
            }
            Algorithm::DimWar { threshold_bytes } => {
                Self::DimWar(DimWar::new(topology, choice, threshold_bytes, merged)?)
            }
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
            Self::Detoured(routing) => task.run(routing),
            Self::DetouredGlobal(routing) => task.run(routing),
            Self::DimWar(routing) => task.run(routing),
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
