//! How algorithms declare their keys of `[network.routing]`, each in its own file.

use odonata_declare::table::Declared;

use super::grouped::GroupedRoutes;
use super::{Paths, RoutingError, RoutingSpec};
use crate::topology::Topology;

/// The keys of an algorithm, a table by [`table!`](odonata_declare::table!), and what they mean.
pub trait AlgorithmKeys: Declared + Default {
    /// Whether `per = "message"` is possible: the packets of a message follow its first one.
    const PER_MESSAGE: bool = !Self::BY_SOURCE_AND_DESTINATION;
    /// Whether a packet's path and virtual channel follow from its source and destination, as with
    /// InfiniBand's forwarding tables and service levels. Then no packet spreads over more virtual
    /// channels than there are.
    const BY_SOURCE_AND_DESTINATION: bool = false;

    /// The algorithm with these keys.
    ///
    /// # Errors
    /// If a key makes no sense, or not together with others.
    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError>;
}

/// What holds in a network where a scenario says nothing.
#[derive(Clone, Copy, Debug)]
pub struct Usual<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// What minimal routes are.
    pub paths: Paths,
    /// What the buffers of local and of global links between routers hold, in bytes: per virtual
    /// channel, by default or as the scenario gives it if that is less, the largest of each kind.
    /// `None` where there are no queues that come and go, as of flows: thresholds are 0.
    pub buffers: Option<[u64; 2]>,
    /// Time that a router takes besides the latencies of links, in ps.
    pub delay_ps: u64,
    /// Bytes of a packet.
    pub packet_bytes: u64,
    /// Bytes of it that come with its head.
    pub flit_bytes: u64,
}

impl<'a> Usual<'a> {
    /// Routes over groups, where nothing is queued.
    pub const fn new(topology: &'a Topology) -> Self {
        Self {
            topology,
            paths: Paths::Groups,
            buffers: None,
            delay_ps: 0,
            packet_bytes: 0,
            flit_bytes: 0,
        }
    }

    /// The largest buffer of the links between routers, in bytes: a queue that it holds is no
    /// congestion, as it comes and goes with every burst.
    pub fn buffer(&self) -> u64 {
        self.buffers.map_or(0, |[local, global]| local.max(global))
    }

    /// What the buffers of a channel hold, weighted by the hops of the minimal route, in bytes; and
    /// the most hops by which a packet leaves its group. `None` in a network without groups, and
    /// where there are no buffers.
    pub fn weighted_buffer(&self) -> Option<(u64, u64)> {
        let [local, global] = self.buffers?;
        let routes = GroupedRoutes::new(self.topology).ok()?;
        let hops = u64::from(routes.hops_to_global_link());
        let before_local = local.saturating_mul(2 * hops + 1);
        let before_global = global.saturating_mul(hops + 1);
        Some((before_local.max(before_global), hops))
    }
}

/// Declares the keys of all algorithms.
macro_rules! keys {
    ($($algorithm:ident($keys:ty),)+) => {
        /// What a scenario says of an algorithm: its keys of `[network.routing]`.
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(untagged)]
        pub enum Keys {
            $(
                #[doc = concat!("The keys of [`Algorithm::", stringify!($algorithm), "`].")]
                $algorithm($keys),
            )+
        }

        impl Keys {
            /// The algorithm.
            pub const fn algorithm(&self) -> AlgorithmName {
                match self {
                    $(Self::$algorithm(_) => AlgorithmName::$algorithm,)+
                }
            }

            /// The algorithm with these keys.
            ///
            /// # Errors
            /// If a key makes no sense, or not together with others.
            pub fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
                match self {
                    $(Self::$algorithm(keys) => keys.spec(usual),)+
                }
            }
        }

        impl From<AlgorithmName> for Keys {
            /// All keys of the algorithm as by default.
            fn from(algorithm: AlgorithmName) -> Self {
                match algorithm {
                    $(AlgorithmName::$algorithm => Self::$algorithm(Default::default()),)+
                }
            }
        }

        impl AlgorithmName {
            /// Its keys, from a table with nothing else.
            ///
            /// # Errors
            /// If the table is none of its keys.
            pub fn read<'de, D: serde::Deserializer<'de>>(self, table: D) -> Result<Keys, D::Error> {
                match self {
                    $(Self::$algorithm => {
                        serde::Deserialize::deserialize(table).map(Keys::$algorithm)
                    })+
                }
            }

            /// What documentation says of its keys.
            pub fn declaration(self) -> odonata_declare::table::TableDeclaration {
                match self {
                    $(Self::$algorithm => <$keys>::declaration(),)+
                }
            }

            /// See [`AlgorithmKeys::PER_MESSAGE`].
            pub const fn decides_per_message(self) -> bool {
                match self {
                    $(Self::$algorithm => <$keys as AlgorithmKeys>::PER_MESSAGE,)+
                }
            }

            /// See [`AlgorithmKeys::BY_SOURCE_AND_DESTINATION`].
            pub const fn goes_by_source_and_destination(self) -> bool {
                match self {
                    $(Self::$algorithm => <$keys as AlgorithmKeys>::BY_SOURCE_AND_DESTINATION,)+
                }
            }
        }
    };
}
pub(super) use keys;

/// Declares the types that algorithms are built as.
macro_rules! any_routing {
    ($($(#[$text:meta])+ $name:ident($routing:ty),)+) => {
        /// One of the routing algorithms, with its tables.
        #[derive(Clone, Debug)]
        pub enum AnyRouting {
            $($(#[$text])+ $name($routing),)+
        }

        /// Something to be done with a routing algorithm whose type is known at compile time: the
        /// engine's run, the deadlock proof.
        pub trait RoutingTask {
            /// What comes out.
            type Output;
            /// Does it.
            fn run<R: Routing>(self, routing: &R) -> Self::Output;
        }

        impl AnyRouting {
            /// Runs `task` with the algorithm inside.
            pub fn dispatch<T: RoutingTask>(&self, task: T) -> T::Output {
                match self {
                    $(Self::$name(routing) => task.run(routing),)+
                }
            }
        }
    };
}
pub(super) use any_routing;
