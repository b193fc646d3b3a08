//! Routing algorithms: the list of all, behind one type that is built from a specification, matched
//! once, then run statically dispatched.
//!
//! The packet engine calls [`Routing::next_hop`] once per packet and router; `verify` walks the same
//! algorithm through [`Routing::possible_hops`]. What scenarios say of an algorithm is declared in its
//! own file, by [`AlgorithmKeys`].

mod adaptive;
mod channels;
mod choice;
mod dal;
mod decision;
mod detoured;
mod dfsssp;
mod dimension_order;
mod dimwar;
mod ecmp;
mod error;
mod forwarding;
mod fpar;
pub mod grouped;
mod interfaced;
mod keys;
mod lanes;
mod layered;
mod legs;
mod minimal;
mod minimal_adaptive;
mod nested;
mod next_hops;
mod nonminimal;
mod par;
#[cfg(test)]
pub(crate) mod properties;
mod q_adaptive;
mod reciprocal;
mod rows;
mod shortest_path;
mod steered;
mod tabled;
mod tago;
#[cfg(test)]
pub(crate) mod testing;
mod ugal;
mod up_down;
mod usage;
mod valiant;

use odonata_declare::Named;
use odonata_units::RouterId;
use serde::{Deserialize, Serialize};

use crate::topology::Topology;
use decision::hops_of_all_parts;
use grouped::GroupedRoutes;
use keys::{any_routing, keys};

pub use adaptive::{AdaptiveOptions, Queue, Weighting, Weights};
pub use choice::{Choice, MinimalLinks};
pub use dal::Dal;
pub use decision::{Hop, NONE, PacketRoute, RelevantDestination, RouterView, Routing};
pub use detoured::Detoured;
pub use dimwar::DimWar;
pub use ecmp::{Ecmp, EcmpOptions, FlowLabels};
pub use error::RoutingError;
pub use forwarding::{
    Forwarded, ForwardingError, ForwardingKeys, ForwardingTables, TableFileError, read_channels,
    read_tables, write_channels, write_opensm_tables, write_tables,
};
pub use fpar::{Fpar, FparRules};
pub use interfaced::Interfaced;
pub use keys::{AlgorithmKeys, Usual};
pub use lanes::Lanes;
pub use layered::Layered;
pub use minimal::Minimal;
pub use minimal_adaptive::MinimalAdaptive;
pub use nonminimal::Via;
pub use par::Par;
pub use q_adaptive::{HopTime, QAdaptive, QAdaptiveOptions};
pub use steered::Steered;
pub use tabled::Tabled;
pub use tago::Tago;
pub use ugal::Ugal;
pub use up_down::roots;
pub use usage::{expected_use, gathered_use, minimal_routing};
pub use valiant::Valiant;

/// A routing algorithm by name, with the parameters of its own. This is the list of all: what each is
/// called, and what it is for users.
#[derive(Clone, Copy, Debug, PartialEq, Named)]
#[named(kinds = AlgorithmName)]
pub enum Algorithm {
    /// Minimal routes: through as few groups as possible, or along the `paths` of the network.
    ///
    /// [`Minimal`].
    #[default]
    Minimal,
    /// By way of a random intermediate.
    ///
    /// [`Valiant`].
    Valiant {
        /// What routes go through.
        via: Via,
    },
    /// UGAL-L: minimal or Valiant, whichever has the shorter queue, seen locally.
    ///
    /// [`Ugal`] with local information.
    #[serde(rename = "ugal-l")]
    UgalLocal(AdaptiveOptions),
    /// UGAL-G: minimal or Valiant, whichever has the shorter queue, seen globally.
    ///
    /// [`Ugal`] with global information.
    #[serde(rename = "ugal-g")]
    UgalGlobal(AdaptiveOptions),
    /// UGAL-L that may revise its decision within the source group.
    ///
    /// [`Par`].
    Par(AdaptiveOptions),
    /// Fully progressive adaptive: minimal, or by way of a spine or a leaf of another group,
    /// decided anew at every router; needs groups of leaves and spines.
    ///
    /// [`Fpar`].
    Fpar {
        /// Share of a port's queue, 0 to 1, up to which a path counts as free.
        threshold: f64,
        /// How what its description leaves open is resolved.
        rules: FparRules,
    },
    /// Adaptive by travel times that the routers learn; needs all-to-all groups.
    ///
    /// [`QAdaptive`].
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
    DimWar {
        /// Advantage of the direct hop, in bytes of weighted occupancy.
        threshold_bytes: i64,
    },
    /// DAL: in HyperX, along any dimension directly or, once in each dimension, by way of another
    /// router of the row, whichever has the shorter queue.
    ///
    /// [`Dal`].
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
    ForwardingTables,
    /// Over the circuits that join two groups directly, through other groups only if there are
    /// none; needs all-to-all groups.
    ///
    /// [`Tago`].
    Tago {
        /// Whether traffic inside a group may go by way of a random router of it.
        detours_in_group: bool,
    },
    /// ECMP: one minimal route for each flow, by a hash of source and destination, as on Ethernet.
    ///
    /// [`Ecmp`].
    Ecmp(EcmpOptions),
}

keys! {
    Minimal(minimal::MinimalKeys),
    Valiant(valiant::ValiantKeys),
    UgalLocal(ugal::UgalLocalKeys),
    UgalGlobal(ugal::UgalGlobalKeys),
    Par(par::ParKeys),
    Fpar(fpar::FparKeys),
    QAdaptive(q_adaptive::QAdaptiveKeys),
    ShortestPath(shortest_path::ShortestPathKeys),
    UpDown(up_down::UpDownKeys),
    Steered(steered::SteeredKeys),
    DimensionOrder(dimension_order::DimensionOrderKeys),
    DimWar(dimwar::DimWarKeys),
    Dal(dal::DalKeys),
    MinimalAdaptive(minimal_adaptive::MinimalAdaptiveKeys),
    Dfsssp(dfsssp::DfssspKeys),
    ForwardingTables(forwarding::ForwardingKeys),
    Tago(tago::TagoKeys),
    Ecmp(ecmp::EcmpKeys),
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

odonata_declare::table! {
    /// Keys of the algorithms whose routes consist of those of another.
    pub struct PathKeys {
        /// Which minimal routes there are, of which non-minimal ones consist: those over the links
        /// between two `groups`, or the routes of the algorithm of that name. Default: `up-down` in
        /// fat trees, `dimension-order` in tori and HyperX, `shortest-path` in a Slim Fly, a
        /// Jellyfish, and other networks of one group, else `groups`.
        #[serde(skip_serializing_if = "Option::is_none")]
        paths: Option<Paths> = None,
    }
}

impl PathKeys {
    /// The paths that are given, or those of the network.
    fn or(&self, usual: &Usual<'_>) -> Paths {
        self.paths.unwrap_or(usual.paths)
    }
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
    /// What `minimal`, `ecmp`, `valiant`, `ugal-l` and `ugal-g` go over; the others have paths of their
    /// own.
    pub paths: Paths,
    /// Merges virtual channels: channel `i` becomes
    /// `min(i, virtual_channels - 1)`. With fewer channels than the algorithm
    /// needs, a network can deadlock, as `verify` shows; more than it needs
    /// are [`Lanes`] of the links. `None`: as many as it needs.
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

any_routing! {
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
    /// A path for each flow.
    Ecmp(Ecmp),
    /// One for each part of a run in which other links work.
    Layered(Layered),
    /// From interface to interface of nodes with an inside.
    Interfaced(Interfaced),
}

impl AnyRouting {
    /// Builds the algorithm's tables for `topology`.
    ///
    /// # Errors
    /// If the algorithm does not fit the network, naming what to do.
    pub fn new(topology: &Topology, spec: &RoutingSpec) -> Result<Self, RoutingError> {
        if let Some(inside) = &topology.inside {
            if let Some(left) = inside.left_in(topology) {
                let build = |plane: &Topology| Self::new(plane, spec);
                let merged = spec.virtual_channels;
                return Interfaced::damaged(inside, left, build, merged).map(Self::Interfaced);
            }
            let of_plane = Self::new(&inside.plane, spec)?;
            return of_plane.between_interfaces(topology, spec.virtual_channels);
        }
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
            || (matches!(algorithm, Algorithm::Minimal | Algorithm::Ecmp(_))
                && paths == Paths::UpDown);
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
                allowed: "only `minimal`, `ecmp`, `valiant`, `ugal-l` and `ugal-g` go over other paths \
                          than their own: remove it, or use one of these",
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
        let with_gaps = || GroupedRoutes::with_gaps(topology);
        let merged = virtual_channels;
        Ok(match algorithm {
            Algorithm::Minimal => Self::Minimal(Minimal::new(grouped()?, links, choice, merged)?),
            Algorithm::Valiant { via } => {
                Self::Valiant(Valiant::new(with_gaps()?, via, links, choice, merged)?)
            }
            Algorithm::UgalLocal(options) => {
                Self::UgalLocal(Ugal::new(with_gaps()?, links, choice, options, merged)?)
            }
            Algorithm::UgalGlobal(options) => {
                Self::UgalGlobal(Ugal::new(with_gaps()?, links, choice, options, merged)?)
            }
            Algorithm::Par(options) => {
                Self::Par(Par::new(with_gaps()?, links, choice, options, merged)?)
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
                Self::Forwarded(Forwarded::new(topology, dfsssp::dfsssp(topology)?, merged)?)
            }
            Algorithm::ForwardingTables => return Err(RoutingError::NoTables),
            Algorithm::Tago { detours_in_group } => Self::Tago(Tago::new(
                topology,
                links,
                choice,
                detours_in_group,
                merged,
            )?),
            Algorithm::Ecmp(options) => {
                Self::Ecmp(Ecmp::over_groups(grouped()?, links, options, merged)?)
            }
        })
    }

    /// An algorithm that goes over [`Paths`] of which there are tables; `None` if it does not.
    fn over_tables(topology: &Topology, spec: &RoutingSpec) -> Result<Option<Self>, RoutingError> {
        let merged = spec.virtual_channels;
        // Detours merge the channels of both parts of their way.
        let own = match spec.algorithm {
            Algorithm::Minimal | Algorithm::Ecmp(_) => merged,
            Algorithm::Valiant { .. } | Algorithm::UgalLocal(_) | Algorithm::UgalGlobal(_) => None,
            _ => return Ok(None),
        };
        let choice = match spec.algorithm {
            Algorithm::Ecmp(_) => Choice::Random,
            _ => spec.choice,
        };
        let Some(base) = spec.paths.tables(topology, choice, own) else {
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
            Algorithm::Ecmp(options) => Self::Ecmp(Ecmp::over_tables(base, options)),
            _ => Self::Tabled(base),
        }))
    }

    /// See [`Routing::flow_labels`].
    pub fn flow_labels(&self) -> Option<FlowLabels> {
        struct Labels;
        impl RoutingTask for Labels {
            type Output = Option<FlowLabels>;
            fn run<R: Routing>(self, routing: &R) -> Self::Output {
                routing.flow_labels()
            }
        }
        self.dispatch(Labels)
    }

    /// Two routers between which no way goes up and then down where heights are distances from the
    /// routers that have nodes, so that they fall from the router with most links instead. In tables
    /// that take each other's place both kinds together can deadlock.
    pub fn without_order(&self) -> Option<(RouterId, RouterId)> {
        match self {
            Self::Tabled(tables) => tables.without_order,
            Self::Steered(steered) => steered.without_order(),
            _ => None,
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

    /// See [`Routing::reads_occupancy`].
    pub fn reads_occupancy(&self) -> bool {
        struct Reads;
        impl RoutingTask for Reads {
            type Output = bool;
            fn run<R: Routing>(self, routing: &R) -> bool {
                routing.reads_occupancy()
            }
        }
        self.dispatch(Reads)
    }
}
