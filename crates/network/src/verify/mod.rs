//! Proof that a routing algorithm cannot deadlock on a network, and that its
//! routes end.
//!
//! A *channel* is one virtual channel of one direction of a link between two
//! routers. Packets hold the channel whose buffer they are in and wait for
//! the one they want to go on to. If the graph of who may wait for whom (the
//! channel dependency graph) has no cycle, no set of packets can wait for each
//! other in a circle, and since no route can come back to a channel, every
//! route ends (Dally and Seitz 1987). [`verify`] walks every route that the
//! algorithm could take in any state of the network, from every router that
//! has nodes to every router that has nodes, builds that graph and looks for a
//! cycle.
//!
//! # How, and how large
//!
//! The walk goes hop by hop over the *states* that packets can be in: the
//! channel they arrived by and what [`PacketRoute`](crate::PacketRoute) says
//! beyond the destination. Packets for 64 destinations are walked at a time,
//! one bit each, so that a state is visited once for all of them where the
//! destination does not matter. Nothing is sampled or assumed symmetric. One
//! batch needs memory for its states only, so large machines cost time rather
//! than memory. A walk that would exceed [`Options::limit`], or states that
//! would not fit in about a gigabyte, are refused with an error that says so.
//! Routes via a group stay far below both up to 80,000 nodes; routes via every
//! router of a machine do so up to some 2,000 routers. [`Options::sample`] walks
//! the routes to a random set of destinations instead of all, and the verdict
//! says that it is no proof.

pub(crate) mod dependency;
mod walk;

use std::fmt;
use std::ops::ControlFlow;

use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{PortId, RouterId};

use crate::routing::Routing;
use crate::topology::Topology;
use walk::Walk;

/// One virtual channel of one direction of a link between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Router that sends into it.
    pub from: RouterId,
    /// Router whose input buffer it is.
    pub to: RouterId,
    /// Output port of `from`, relative to its first.
    pub port: u16,
    /// Virtual channel.
    pub vc: u8,
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, port, vc } = self;
        write!(f, "router {from} -> router {to} (port {port}, vc {vc})")
    }
}

/// What [`verify`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No cycle, over all routes: the network cannot deadlock.
    DeadlockFree {
        /// Channels of the network.
        channels: u64,
        /// Pairs of channels of which one may wait for the other.
        dependencies: u64,
        /// States of packets that were visited, counted per destination and
        /// number of hops.
        states: u64,
        /// Router-router hops of the longest route.
        longest_route: u32,
    },
    /// No cycle, but only the routes to some destinations were walked: no
    /// proof.
    NoCycleInSample {
        /// Destination routers whose routes were walked.
        destinations: u64,
        /// Destination routers that there are.
        of: u64,
        /// Pairs of channels of which one may wait for the other.
        dependencies: u64,
        /// Router-router hops of the longest route seen.
        longest_route: u32,
    },
    /// A cycle: packets that hold these channels, each waiting for the next
    /// and the last for the first, never move again.
    Cycle(Vec<Channel>),
}

impl Verdict {
    /// Whether the network is proven free of deadlock.
    pub fn is_deadlock_free(&self) -> bool {
        matches!(self, Self::DeadlockFree { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeadlockFree {
                channels,
                dependencies,
                states,
                longest_route,
            } => write!(
                f,
                "deadlock-free: {dependencies} dependencies among {channels} channels close no \
                 cycle ({states} packet states, longest route {longest_route} router-router hops)"
            ),
            Self::NoCycleInSample {
                destinations,
                of,
                dependencies,
                longest_route,
            } => write!(
                f,
                "not proven: no cycle among the {dependencies} dependencies of the routes to \
                 {destinations} of {of} routers (longest route {longest_route} router-router hops)"
            ),
            Self::Cycle(channels) => {
                writeln!(
                    f,
                    "can deadlock: packets that hold these {} channels wait for each other",
                    channels.len()
                )?;
                for channel in channels {
                    writeln!(f, "  {channel}")?;
                }
                write!(f, "and the last waits for the first")
            }
        }
    }
}

/// A random choice of destinations instead of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Destination routers to walk to, at least 1.
    pub destinations: u32,
    /// Seed of the choice.
    pub seed: u64,
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most hops to consider, over all destinations together; some 50 to 100
    /// million a second.
    pub limit: u64,
    /// Walk to some destinations only. The result is then no proof.
    pub sample: Option<Sample>,
}

impl Default for Options {
    /// All destinations, up to 20 billion hops.
    fn default() -> Self {
        Self {
            limit: 20_000_000_000,
            sample: None,
        }
    }
}

/// Why there is no verdict: the algorithm sends packets where they cannot go,
/// or the walk would be too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// No way on.
    #[error(
        "a packet for router {destination} has no way on at router {at}: the routing algorithm \
         does not fit the network"
    )]
    Stuck {
        /// Where the packet is.
        at: RouterId,
        /// Where it should go.
        destination: RouterId,
    },
    /// A port that does not exist or is not connected.
    #[error(
        "a packet for router {destination} is sent to port {port} of router {at}, which is not \
         connected: the routing algorithm does not fit the network"
    )]
    Nowhere {
        /// Where the packet is.
        at: RouterId,
        /// The port, relative to the router's first.
        port: u16,
        /// Where the packet should go.
        destination: RouterId,
    },
    /// A node that is not the destination.
    #[error(
        "a packet for router {destination} is handed to a node on port {port} of router {at}: the \
         routing algorithm does not fit the network"
    )]
    WrongNode {
        /// Where the packet is.
        at: RouterId,
        /// The port, relative to the router's first.
        port: u16,
        /// Where the packet should go.
        destination: RouterId,
    },
    /// A virtual channel that does not exist.
    #[error(
        "a packet for router {destination} leaves router {at} on virtual channel {vc}, but the \
         algorithm says that it uses {channels}"
    )]
    NoSuchChannel {
        /// Where the packet is.
        at: RouterId,
        /// The virtual channel.
        vc: u8,
        /// Virtual channels that the algorithm asks for.
        channels: u8,
        /// Where the packet should go.
        destination: RouterId,
    },
    /// Too many routes.
    #[error(
        "the routes to {destinations} routers have more than {estimate:.1e} hops to consider, and \
         the limit is {limit:.1e}: raise the limit, verify a smaller network of the same family, or \
         sample destinations (which finds cycles but proves nothing)",
        estimate = *estimate as f64,
        limit = *limit as f64
    )]
    TooLarge {
        /// Destination routers.
        destinations: u64,
        /// Hops to consider at least, extrapolated from those considered so far.
        estimate: u64,
        /// The limit.
        limit: u64,
    },
    /// Too much to remember.
    #[error(
        "packets can be in more than {limit} different states after the same number of hops, too \
         many to remember: verify a smaller network of the same family, or an algorithm whose \
         routes go via groups instead of routers or nodes"
    )]
    TooManyStates {
        /// Most states.
        limit: u64,
    },
    /// Stopped by the progress callback.
    #[error("stopped before all routes were walked")]
    Stopped,
    /// A sample of nothing.
    #[error("a sample of 0 destinations shows nothing; use at least 1")]
    EmptySample,
}

/// Looks for a cycle of channel dependencies over all routes that `routing`
/// could take on `topology`, and checks that each ends at its destination over
/// ports and virtual channels that exist.
///
/// # Errors
/// If a route leads elsewhere, or the walk would be too long (see
/// [`Options::limit`]; here the default).
pub fn verify<R: Routing>(topology: &Topology, routing: &R) -> Result<Verdict, VerifyError> {
    verify_with(topology, routing, &Options::default(), |_, _| {
        ControlFlow::Continue(())
    })
}

/// [`verify`] with options; `progress` is told how many of how many
/// destinations are done, and may stop the walk.
///
/// # Errors
/// As [`verify`], and if `progress` stops the walk.
pub fn verify_with<R: Routing>(
    topology: &Topology,
    routing: &R,
    options: &Options,
    mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Verdict, VerifyError> {
    let mut walk = Walk::new(topology, routing);
    let of = walk.endpoints().len() as u64;
    let destinations = match options.sample {
        Some(Sample {
            destinations: 0, ..
        }) => return Err(VerifyError::EmptySample),
        Some(sample) => draw(walk.endpoints(), sample),
        None => walk.endpoints().to_vec(),
    };
    let count = destinations.len() as u64;
    let mut done = 0;
    for batch in destinations.chunks(Walk::<R>::BATCH) {
        done += batch.len() as u64;
        // Each batch gets its share, so that a hopeless walk ends early.
        let share = u128::from(options.limit) * u128::from(done) / u128::from(count);
        let ended = walk.batch(batch, share as u64)?;
        if !ended || done == batch.len() as u64 || done == count {
            // A broken algorithm mostly shows in the first batch already.
            if let Some(cycle) = walk.cycle() {
                return Ok(Verdict::Cycle(cycle));
            }
        }
        if !ended {
            return Err(VerifyError::TooLarge {
                destinations: count,
                estimate: walk.hops().saturating_mul(count) / done,
                limit: options.limit,
            });
        }
        if progress(done, count).is_break() {
            return Err(VerifyError::Stopped);
        }
    }
    let (dependencies, longest_route) = (walk.dependencies(), walk.longest_route());
    Ok(if count < of {
        Verdict::NoCycleInSample {
            destinations: count,
            of,
            dependencies,
            longest_route,
        }
    } else {
        Verdict::DeadlockFree {
            channels: walk.channels(),
            dependencies,
            states: walk.states(),
            longest_route,
        }
    })
}

fn draw(endpoints: &[u32], sample: Sample) -> Vec<u32> {
    let mut drawn = endpoints.to_vec();
    StreamKey::new(sample.seed, Purpose::Destination)
        .stream(0)
        .shuffle(&mut drawn);
    drawn.truncate(sample.destinations as usize);
    drawn.sort_unstable();
    drawn
}

/// The relative number of `port` at the router that it belongs to.
fn relative(topology: &Topology, router: RouterId, port: PortId) -> u16 {
    (port.0 - topology.first_port[router.index()]) as u16
}

#[cfg(test)]
mod tests;
