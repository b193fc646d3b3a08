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
//! Packets that have decided for a channel only because its room was promised to them do not
//! wait for it ([`Routing::waits_for_room`]): no dependency leads to it, but packets that hold it
//! wait for others. Since a packet is in one buffer and has room for all of it in the next before
//! it moves (virtual cut-through, store-and-forward), who holds what and waits for what is then
//! still all there is, and no cycle means no deadlock: Duato's condition (1993) with the packets
//! that wait, wait for escape channels alone.
//!
//! # How, and how large
//!
//! The walk goes hop by hop over the *states* that packets can be in: the router
//! that they are at and what [`PacketRoute`](crate::PacketRoute) says beyond the
//! destination. What makes it short is that packets are followed together:
//!
//! - *By destination.* Packets for all routers of a group are one, a bit of 64, as
//!   long as only their group matters
//!   ([`Routing::relevant_destination`]); from the hop on
//!   where the router does, as inside the group, they are followed by router, 64 at a
//!   time. A state is visited once for all targets where none matters.
//! - *By channel.* Packets that differ in the channel they have come by have the same
//!   possible hops: these are found once, and become dependencies of every such
//!   channel, a few machine words each.
//! - *By what they may become.* Packets that may be diverted at a router have these
//!   diversions in common ([`Routing::possible_hops_in_parts`]): they are followed
//!   once.
//!
//! The dependencies are exactly those of following every packet by itself, and the
//! cycles exactly theirs: nothing is sampled or assumed symmetric. One batch needs
//! memory for its states only. A walk that would exceed [`Options::limit`], or
//! states that would not fit in about a gigabyte, are refused with an error that
//! says so. A walk that is stopped, or takes longer than [`Options::time`], tells
//! what it has found so far. [`Options::sample`] walks the routes to a random set
//! of destinations instead of all. In either case the verdict says that it is no
//! proof, unless it is a cycle.

pub(crate) mod dependency;
mod walk;

use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{PortId, RouterId};

use crate::routing::Routing;
use crate::topology::Topology;
use walk::{Ended, Limits, Target, Walk};

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
        /// States of packets that were visited, counted per number of hops, channel
        /// and destination, where all destinations of a group count as one as long
        /// as they are walked to together.
        states: u64,
        /// Router-router hops of the longest route.
        longest_route: u32,
    },
    /// No cycle, but not all routes were walked: no proof.
    NotProven {
        /// Why not all.
        because: Unproven,
        /// Destination routers whose routes were all walked.
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

/// Why not all routes were walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// Only routes to a sample of destinations were asked for.
    Sample,
    /// The time was up, see [`Options::time`].
    Time,
    /// The progress callback stopped the walk.
    Stopped,
}

impl Verdict {
    /// Whether the network is proven free of deadlock.
    pub fn is_deadlock_free(&self) -> bool {
        matches!(self, Self::DeadlockFree { .. })
    }

    /// What it is of so many classes of packets that each have all these channels for themselves, at
    /// least one. A packet waits for channels of its own class alone, so that there are as many
    /// graphs as classes, all alike, and no path leads from one to another.
    #[must_use]
    pub fn of_classes(mut self, classes: u64) -> Self {
        match &mut self {
            Self::DeadlockFree {
                channels,
                dependencies,
                states,
                ..
            } => {
                *channels *= classes;
                *dependencies *= classes;
                *states *= classes;
            }
            Self::NotProven { dependencies, .. } => *dependencies *= classes,
            Self::Cycle(_) => {}
        }
        self
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
            Self::NotProven {
                because,
                destinations,
                of,
                dependencies,
                longest_route,
            } => {
                let (why, more) = match because {
                    Unproven::Sample => ("not proven", ""),
                    Unproven::Time => ("not proven in time", ", and some of those to others"),
                    Unproven::Stopped => ("stopped, not proven", ", and some of those to others"),
                };
                write!(
                    f,
                    "{why}: no cycle among the {dependencies} dependencies of the routes to \
                     {destinations} of {of} routers{more} (longest route {longest_route} \
                     router-router hops)"
                )
            }
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
    /// Most hops to consider, over all destinations together; some 10 to 50
    /// million a second.
    pub limit: u64,
    /// Walk to some destinations only. The result is then no proof.
    pub sample: Option<Sample>,
    /// Longest time; what has been found by then is reported. `None`: any.
    pub time: Option<Duration>,
    /// Virtual channels of a link, if there are more than the algorithm needs: what it sends to a
    /// channel may then take any of its [`Lanes`](crate::routing::Lanes).
    pub virtual_channels: Option<u8>,
}

impl Default for Options {
    /// All destinations, up to 20 billion hops.
    fn default() -> Self {
        Self {
            limit: 20_000_000_000,
            sample: None,
            time: None,
            virtual_channels: None,
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
        "packets come in more than {limit} different ways after the same number of hops, too \
         many to remember: verify a smaller network of the same family, or an algorithm whose \
         routes go via groups instead of routers or nodes"
    )]
    TooManyStates {
        /// Most states, by the channel that packets have come by.
        limit: u64,
    },
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

/// How far a walk to a batch of destinations has come.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Hops to consider for a destination of the first group; `None` until that is done.
    per_destination: Option<u64>,
    /// Hops considered when the batch began.
    begun_at: u64,
    /// Destinations of the batches before, and of this one too.
    before: u64,
    with_batch: u64,
}

impl Way {
    /// Destinations that `hops` are enough for, the last of the batch left out: it is done when
    /// the batch is.
    fn done(&self, hops: u64) -> u64 {
        let Some(per_destination) = self.per_destination else {
            return 0;
        };
        let more = (hops - self.begun_at) / per_destination.max(1);
        (self.before + more).min(self.with_batch.saturating_sub(1))
    }
}

/// [`verify`] with options; `progress` is called a few times a second with how many of how
/// many destinations are done, and may stop the walk. Many are done together: while they are, it
/// is called with how many those would be that the hops made so far were enough for, as the first group's
/// took.
///
/// # Errors
/// As [`verify`].
pub fn verify_with<R: Routing>(
    topology: &Topology,
    routing: &R,
    options: &Options,
    mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Verdict, VerifyError> {
    let begun = Instant::now();
    let walk = Walk::new(topology, routing, options.virtual_channels);
    let of = walk.endpoints().len() as u64;
    let destinations = match options.sample {
        Some(Sample {
            destinations: 0, ..
        }) => return Err(VerifyError::EmptySample),
        Some(sample) => draw(walk.endpoints(), sample),
        None => walk.endpoints().to_vec(),
    };
    let count = destinations.len() as u64;
    let course = Course::default();
    let mut reported = 0;
    let mut go_on = |hops: Option<u64>| {
        let under_way = hops.map_or(0, |hops| course.way.get().done(hops));
        reported = reported.max(course.done.get()).max(under_way);
        if options.time.is_some_and(|time| begun.elapsed() > time) {
            course.stopped.set(Some(Unproven::Time));
        } else if progress(reported, count).is_break() {
            course.stopped.set(Some(Unproven::Stopped));
        }
        course.stopped.get().is_none()
    };
    let mut search = Search {
        walk,
        course: &course,
        destinations: count,
        limit: options.limit,
        walked: 0,
        looked_for_cycle: false,
    };
    let targets = search.walk.targets(&destinations);
    if let Some(EarlyEnd::Cycle(cycle)) = search.walk_to(&targets, &mut go_on)? {
        return Ok(Verdict::Cycle(cycle));
    }
    let walk = search.walk;
    if let Some(cycle) = walk.cycle() {
        return Ok(Verdict::Cycle(cycle));
    }
    let (dependencies, longest_route) = (walk.dependencies(), walk.longest_route());
    let unproven = match course.done.get() == count {
        true if count == of => None,
        true => Some(Unproven::Sample),
        false => course.stopped.get().or(Some(Unproven::Stopped)),
    };
    Ok(match unproven {
        Some(because) => Verdict::NotProven {
            because,
            destinations: course.done.get(),
            of,
            dependencies,
            longest_route,
        },
        None => Verdict::DeadlockFree {
            channels: walk.channels(),
            dependencies,
            states: walk.states(),
            longest_route,
        },
    })
}

/// How far the walks have come, for those who ask meanwhile.
#[derive(Default)]
struct Course {
    /// Destinations whose routes were all walked.
    done: Cell<u64>,
    way: Cell<Way>,
    stopped: Cell<Option<Unproven>>,
}

/// Why the walks end early.
enum EarlyEnd {
    Stopped,
    Cycle(Vec<Channel>),
}

/// Walks to all destinations, looking for a cycle.
struct Search<'a, R: Routing> {
    walk: Walk<'a, R>,
    course: &'a Course,
    destinations: u64,
    /// Most hops to consider.
    limit: u64,
    /// Destinations of the batches so far.
    walked: u64,
    looked_for_cycle: bool,
}

impl<R: Routing> Search<'_, R> {
    fn walk_to(
        &mut self,
        targets: &[(Target, Vec<u32>)],
        go_on: &mut dyn FnMut(Option<u64>) -> bool,
    ) -> Result<Option<EarlyEnd>, VerifyError> {
        let mut rest = targets;
        // One group first: what is broken is soon found, and how long it takes known.
        let mut size = 1;
        while !rest.is_empty() {
            let (batch, others) = rest.split_at(size.min(rest.len()));
            rest = others;
            size = Walk::<R>::BATCH;
            self.announce(batch);
            // Each batch gets its share, so that a hopeless walk ends early.
            let share =
                u128::from(self.limit) * u128::from(self.walked) / u128::from(self.destinations);
            let mut limits = Limits {
                hops: share as u64,
                go_on,
            };
            if let Some(halt) = self.walk_to_batch(batch, &mut limits)? {
                return Ok(Some(halt));
            }
        }
        Ok(None)
    }

    /// Counts the destinations of the next batch.
    fn announce(&mut self, batch: &[(Target, Vec<u32>)]) {
        let before = self.walked;
        let members = batch.iter().map(|(_, members)| members.len());
        self.walked += members.sum::<usize>() as u64;
        // Of the first group all is known by the second batch.
        let first_group = || self.walk.hops().checked_div(before);
        self.course.way.set(Way {
            per_destination: self.course.way.get().per_destination.or_else(first_group),
            begun_at: self.walk.hops(),
            before,
            with_batch: self.walked,
        });
    }

    fn walk_to_batch(
        &mut self,
        batch: &[(Target, Vec<u32>)],
        limits: &mut Limits<'_>,
    ) -> Result<Option<EarlyEnd>, VerifyError> {
        let (mut ended, partings) = self.walk.walk_to_groups(batch, limits)?;
        for ((_, members), partings) in batch.iter().zip(&partings) {
            for members in members.chunks(Walk::<R>::BATCH) {
                if ended == Ended::Whole {
                    ended = self.walk.walk_to_routers(members, partings, limits)?;
                }
                if ended == Ended::Whole {
                    let done = &self.course.done;
                    done.set(done.get() + members.len() as u64);
                    if !(limits.go_on)(None) {
                        ended = Ended::Stopped;
                    }
                }
                // A broken algorithm mostly shows in the first routes already.
                if !self.looked_for_cycle || ended != Ended::Whole {
                    self.looked_for_cycle = true;
                    if let Some(cycle) = self.walk.cycle() {
                        return Ok(Some(EarlyEnd::Cycle(cycle)));
                    }
                }
                match ended {
                    Ended::Whole => {}
                    Ended::Stopped => return Ok(Some(EarlyEnd::Stopped)),
                    Ended::Endless | Ended::TooLong => return Err(self.too_large()),
                }
            }
        }
        Ok(None)
    }

    fn too_large(&self) -> VerifyError {
        VerifyError::TooLarge {
            destinations: self.destinations,
            estimate: self.walk.hops().saturating_mul(self.destinations) / self.walked,
            limit: self.limit,
        }
    }
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
