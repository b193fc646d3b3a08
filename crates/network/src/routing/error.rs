//! Why a routing algorithm cannot be used on a network.

use odonata_units::{GroupId, RouterId};

use crate::topology::{NotLattice, NotLeafSpine};

/// A routing algorithm that does not fit the network, or options that do not
/// fit the algorithm. Each message says what was found and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// Routers of one group have no path between them inside the group.
    #[error(
        "group {group} is not connected inside itself: no path of local links from router {from} \
         to router {to}; routing over groups needs one. Use `shortest-path` routing for this \
         network, or `paths = \"shortest-path\"`, or group its routers differently"
    )]
    GroupDisconnected {
        /// The group.
        group: GroupId,
        /// Where a path would start.
        from: RouterId,
        /// Where it would end.
        to: RouterId,
    },
    /// Two groups have no global link between them.
    #[error(
        "no global link joins group {from} to group {to}: minimal paths over groups need one for \
         every pair, and where algorithms take detours (`valiant`, `ugal-l`) a third group that is \
         joined to both. Use `shortest-path` routing for this network, or \
         `paths = \"shortest-path\"`, or add the link"
    )]
    GroupsNotJoined {
        /// One group.
        from: GroupId,
        /// The other.
        to: GroupId,
    },
    /// No path at all between two routers.
    #[error(
        "the network is not connected: no path from router {from} to router {to}; check its links"
    )]
    Disconnected {
        /// Where a path would start.
        from: RouterId,
        /// Where it would end.
        to: RouterId,
    },
    /// Routers that form no lattice.
    #[error(
        "dimension-order routing needs routers that form a lattice, with a link class for each \
         dimension, as families `torus` and `hyperx` do: {reason}. Use `shortest-path` or \
         `up-down` for this network"
    )]
    NotLattice {
        /// What contradicts that.
        reason: NotLattice,
    },
    /// A lattice whose rows are not all-to-all.
    #[error(
        "{algorithm} routing needs a lattice whose rows are all-to-all, as family `hyperx` has \
         them: the {size} routers along dimension {dimension} are not. Use `dimension-order` for \
         this network"
    )]
    RowsNotComplete {
        /// The algorithm.
        algorithm: &'static str,
        /// Dimension, counted from 1.
        dimension: u32,
        /// Routers along it.
        size: u32,
    },
    /// A table would not fit.
    #[error(
        "{found} {what} are too many for {algorithm} routing, which handles up to {limit}: {advice}"
    )]
    TooLarge {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many are possible.
        limit: u64,
        /// Algorithm or family of algorithms.
        algorithm: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// More virtual channels than can be numbered.
    #[error(
        "{algorithm} routing needs {needed} virtual channels on this network (its groups are \
         {diameter} hops across), more than the {limit} that are possible: set \
         `virtual_channels` to merge them and check the result with `verify`, or choose an \
         algorithm with shorter routes"
    )]
    TooManyVirtualChannels {
        /// The algorithm.
        algorithm: &'static str,
        /// Virtual channels needed.
        needed: u32,
        /// Most that are possible.
        limit: u32,
        /// Hops across a group, or the network.
        diameter: u32,
    },
    /// An algorithm that cannot be one of several in a run.
    #[error(
        "links cannot fail during a run under `ugal-g`, `q-adaptive` and `minimal-adaptive`, whose \
         routes before and after would depend on each other: take another algorithm, or failures \
         for the whole run"
    )]
    NotLayered,
    /// An algorithm that cannot be that of planes between nodes with an inside.
    #[error(
        "nodes with an inside cannot be joined under `ugal-g`, `q-adaptive` and `minimal-adaptive`, \
         which look beyond the router where they decide: take another algorithm, or remove [node]"
    )]
    NotInterfaced,
    /// Routes of whole planes, of which a part has failed.
    #[error(
        "routes from files and plug-ins are those of a plane all of which works: remove [failures], or take \
         another algorithm"
    )]
    WholePlanes,
    /// Too many parts of a run in which other links work.
    #[error(
        "the {parts} parts of the run between failures and repairs need {needed} virtual channels \
         together, each its own, and a link has at most {limit}: let links fail and come back at \
         fewer moments, or take an algorithm with fewer channels, such as `up-down`"
    )]
    TooManyLayers {
        /// Parts of the run.
        parts: usize,
        /// Virtual channels needed.
        needed: u32,
        /// Most that are possible.
        limit: u32,
    },
    /// An algorithm for groups of leaves and spines, on other groups.
    #[error(
        "{algorithm} routing needs groups of leaf and spine routers, as a dragonfly+ has them: \
         {reason}. Use `par` or another algorithm for this network"
    )]
    NotLeafSpine {
        /// The algorithm.
        algorithm: &'static str,
        /// What contradicts that.
        reason: NotLeafSpine,
    },
    /// An algorithm for all-to-all groups, on other groups.
    #[error(
        "{algorithm} routing needs all-to-all groups, but no link joins routers {from} and {to} of \
         one group. Use `par` or another algorithm for this network"
    )]
    NotAllToAll {
        /// The algorithm.
        algorithm: &'static str,
        /// A router.
        from: RouterId,
        /// Another of its group.
        to: RouterId,
    },
    /// Links that lead one way, under an algorithm that takes all for both ways.
    #[error(
        "{algorithm} routing needs links that lead both ways, but circuits of this network lead \
         one way. Use `up-down` or `steered`"
    )]
    OneWay {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A link up from the upper end of which a destination cannot be reached by going on.
    #[error(
        "steered routing takes any link up, but from router {from} no way leads up and then down \
         to router {to}. Use `up-down`"
    )]
    NoWayOn {
        /// A router above others.
        from: RouterId,
        /// A router with nodes.
        to: RouterId,
    },
    /// Forwarding tables by which packets do not arrive.
    #[error(transparent)]
    Forwarding(#[from] super::ForwardingError),
    /// Forwarding tables where no files are read.
    #[error(
        "forwarding-tables routing takes its tables from files, which runs of the packet engine \
         and `odonata verify` read: use another algorithm here"
    )]
    NoTables,
    /// An option has a value that makes no sense.
    #[error("`{option}` is {found}, but {allowed}")]
    BadOption {
        /// The option's name in scenario files.
        option: &'static str,
        /// Its value.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
}
