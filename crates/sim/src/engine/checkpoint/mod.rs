//! Saves the state of a paused run, and takes it up again.
//!
//! A saved state does not know of partitions, so that a run may go on with
//! another number of threads. Its unit is the router with its nodes: it belongs
//! to one partition as a whole, so every packet that it or one of its events
//! names is there too and is saved in its place. Routers come in the order of
//! the network, sums over all partitions before them, recorded messages after
//! them; each of these is a record in postcard's encoding behind its length.
//!
//! What follows from the scenario is not saved: a run is prepared like a new
//! one, and what has changed since its beginning is put in place.

mod contradiction;
mod references;
mod restore;
mod save;
mod sound;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use odonata_mpi::RankRecord;
use odonata_run::encoding::or_absent;
use odonata_run::{Arrival, Timeline};
use serde::{Deserialize, Serialize};

use super::calendar::Kind;
use super::circuits::CircuitState;
use super::flows::Flowlet;
use super::interface::{Interface, OutMessage};
use super::measure::JobCollector;
use super::message_routes::Decision;
use super::model::Model;
use super::packets::{Contents, Packet};
use super::partition::Partition;
use super::port::Port;
use super::probe::LinkWatch;
use super::protocol::{NodeState, Note, PortState};
use super::scheduler::LinkShares;
use super::switch::Side;

pub(super) use contradiction::without_contradiction;
pub(super) use restore::restore;
pub(super) use save::save;

/// Messages in one record.
const MESSAGES_PER_RECORD: usize = 4_096;
/// No record is longer: what a router holds is far less.
const LONGEST_RECORD: u32 = 1 << 30;

/// What concerns the run as a whole.
#[derive(Serialize, Deserialize)]
struct Whole {
    /// Everything before this time has happened, nothing at or after it.
    at: u64,
    warmup: u64,
    /// Whether the run is to begin to measure now.
    measure: bool,
    latest_boundary: Option<u64>,
    injected_bytes: u64,
    delivered_bytes: u64,
    leaving_bytes: u64,
    loopback_bytes: i64,
    control_bytes: i64,
    packets_delivered: u64,
    packet_hops: u64,
    resent_bytes: u64,
    events: u64,
    /// To the beginning of a window.
    last_move: u64,
    jobs: Vec<JobCollector>,
    timeline: Timeline,
    routers: u64,
    messages: u64,
    arrivals: Vec<Arrival>,
    /// If they change.
    circuits: Option<CircuitState>,
}

/// A router and its nodes.
#[derive(Serialize, Deserialize)]
struct RouterRecord {
    /// Shape: ports.
    ports: Vec<Port>,
    /// Shape: ports × virtual channels.
    channels: Vec<ChannelRecord>,
    /// Sides of a bounded crossbar. Shape: ports, or empty.
    sides: Vec<Side>,
    /// Queues of a bounded crossbar, or of output queues. Shape: ports × virtual channels, or empty.
    fifos: Vec<FifoRecord>,
    /// Occupancy in the snapshot for routing. Shape: ports, or empty.
    occupancy: Vec<u32>,
    /// Estimates of a routing algorithm that learns.
    q_table: Vec<f32>,
    /// What packets of a message follow, by the routers that they have passed before
    /// and their message; empty if routers decide per packet.
    message_routes: Vec<(u16, u64, Decision)>,
    /// By terminal port.
    nodes: Vec<NodeRecord>,
    /// Who waits for whom, if recorded. Shape: ports, or empty.
    watches: Vec<LinkWatch>,
    /// What ports keep for congestion control. Shape: ports, or empty.
    paced: Vec<PortState>,
    /// When the tails of the last packets reach the other ends of links, of which some are sent again.
    /// Shape: ports, or empty.
    last_arrivals: Vec<u64>,
    /// What classes have had of links. Shape: ports, or empty.
    shares: Vec<LinkShares>,
    events: Vec<EventRecord>,
}

/// The sending side of a virtual channel.
#[derive(Serialize, Deserialize)]
struct ChannelRecord {
    credits: u32,
    queue: Vec<Parcel>,
}

/// An input of a bounded crossbar, and the output buffer of the same number; or, where
/// packets take room before they join an output queue, those that lack it.
#[derive(Serialize, Deserialize)]
struct FifoRecord {
    room: u32,
    queue: Vec<Parcel>,
}

#[derive(Serialize, Deserialize)]
struct Parcel {
    packet: Packet,
    /// Unless the packet is bare.
    contents: Option<Contents>,
    /// What it has collected, with a protocol.
    note: Option<Note>,
}

#[derive(Serialize, Deserialize)]
struct NodeRecord {
    interface: Interface,
    /// Messages to send.
    outgoing: Vec<OutMessage>,
    link: Port,
    /// Shape: virtual channels.
    credits: Vec<u32>,
    /// Its open-loop sources, by job and number.
    sources: Vec<SourceRecord>,
    /// Ranks of closed-loop jobs, by job and number: their states, and their programs'.
    ranks: Vec<(RankRecord, Option<Vec<u8>>)>,
    /// Messages to this node that have arrived in part: key and missing bytes.
    incomplete: Vec<(u64, u64)>,
    /// Who waits for whom at its link, if recorded.
    watch: Option<LinkWatch>,
    /// What it keeps of others, with a protocol.
    pairs: Option<NodeState>,
    /// What classes have had of its link, if there are classes.
    shares: Option<LinkShares>,
    /// Its flows whose pauses count, by destination and number.
    flowlets: Vec<(u32, u32, Flowlet)>,
}

/// The next message of an open-loop source, and its time.
#[derive(Serialize, Deserialize)]
struct SourceRecord {
    message: u32,
    #[serde(with = "or_absent")]
    time: u64,
}

#[derive(Serialize, Deserialize)]
struct EventRecord {
    /// After the time of the state.
    delay: u64,
    kind: Kind,
    port: u16,
    about: About,
}

/// The payload of an event.
#[derive(Serialize, Deserialize)]
enum About {
    Number(u32),
    /// A code that says what happened to it.
    Packet(u32, Parcel),
    /// The same; number of the node's rank in [`NodeRecord::ranks`].
    Rank(u32, u32),
}

/// The ports of a router (counted in its partition), in [`Partition::ports`].
fn ports_of<M: Model>(partition: &Partition<'_, M>, router: u32) -> Range<usize> {
    let first = |router| {
        (partition.shared.topology.first_port[(partition.base_router + router) as usize]
            - partition.base_port) as usize
    };
    first(router)..first(router + 1)
}

/// The interfaces of a router's nodes; they are consecutive.
fn interfaces_of<M: Model>(partition: &Partition<'_, M>, router: u32) -> Range<usize> {
    let router = partition.base_router + router;
    let before = |router| {
        partition
            .interfaces
            .all
            .partition_point(|at| at.router < router)
    };
    before(router)..before(router + 1)
}

/// Index of a node's interface in the node's partition.
fn interface_of<M: Model>(partition: &Partition<'_, M>, node: u32) -> u32 {
    let (router, terminal) = partition.shared.attachment(node);
    let ports = ports_of(partition, router - partition.base_router);
    partition.ports.all[ports.start + usize::from(terminal)].peer_router
}

/// The part of the snapshot about some of the partition's ports; empty if there is none.
fn occupancies<'p, M: Model>(partition: &Partition<'p, M>, ports: Range<usize>) -> &'p [AtomicU32] {
    let base = partition.base_port as usize;
    partition
        .routing
        .snapshot
        .get(base + ports.start..base + ports.end)
        .unwrap_or(&[])
}

/// Which ranks sit on which node of a partition.
struct RanksOfNodes {
    /// Index of each interface's first rank in `ranks`, and one past the last.
    first: Vec<u32>,
    /// By interface; those of one interface by job and number.
    ranks: Vec<u32>,
    /// Number of each rank among those of its node.
    number: Vec<u32>,
}

impl RanksOfNodes {
    fn new<M: Model>(partition: &Partition<'_, M>) -> Self {
        let mut first = vec![0; partition.interfaces.all.len() + 1];
        for rank in &partition.ranks.all {
            first[rank.interface as usize + 1] += 1;
        }
        for index in 1..first.len() {
            first[index] += first[index - 1];
        }
        let mut next = first.clone();
        let mut ranks = vec![0; partition.ranks.all.len()];
        let mut number = vec![0; partition.ranks.all.len()];
        for (index, rank) in partition.ranks.all.iter().enumerate() {
            let interface = rank.interface as usize;
            ranks[next[interface] as usize] = index as u32;
            number[index] = next[interface] - first[interface];
            next[interface] += 1;
        }
        Self {
            first,
            ranks,
            number,
        }
    }

    /// The ranks of an interface, as indices in [`Partition::ranks`].
    fn of(&self, interface: usize) -> &[u32] {
        &self.ranks[self.first[interface] as usize..self.first[interface + 1] as usize]
    }

    /// Number of a rank among those of its node.
    fn number(&self, rank: u32) -> u32 {
        self.number[rank as usize]
    }
}
