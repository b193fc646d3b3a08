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

use std::io::{self, Read, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use odonata_network::Routing;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::calendar::{Event, Kind, MAX_RADIX};
use super::crossbar::Side;
use super::endpoint::{Interface, OutMessage, Subject, node_subject};
use super::measure::JobCollector;
use super::packets::{Contents, NIL, Packet, UNROUTED};
use super::partition::{Incomplete, Partition, Port};
use super::ranks::RankState;
use super::shared::Shared;
use super::timeline::TimelineCollector;
use crate::error::SimError;
use crate::outcome::{MessageRecord, Timeline};

/// Messages in one record.
const MESSAGES_PER_RECORD: usize = 4_096;
/// No record is longer: what a router holds is far less.
const LONGEST_RECORD: u32 = 1 << 30;
/// Records that wait for a partition.
const RECORDS_AHEAD: usize = 64;

/// What concerns the run as a whole.
#[derive(Serialize, Deserialize)]
struct Whole {
    /// Everything before this time has happened, nothing at or after it.
    at: u64,
    warmup: u64,
    /// Whether the run is to begin to measure now.
    measure: bool,
    latest_boundary: Option<u64>,
    stimuli: i64,
    injected_bytes: u64,
    delivered_bytes: u64,
    leaving_bytes: u64,
    control_bytes: i64,
    loopback_bytes: i64,
    packets_delivered: u64,
    packet_hops: u64,
    events: u64,
    /// To the beginning of a window.
    last_move: u64,
    jobs: Vec<JobCollector>,
    timeline: Timeline,
    routers: u64,
    messages: u64,
}

/// A router and its nodes.
#[derive(Serialize, Deserialize)]
struct RouterRecord {
    /// Shape: ports.
    ports: Vec<Port>,
    /// Shape: ports × virtual channels.
    lanes: Vec<LaneRecord>,
    /// Of a bounded crossbar. Shape: ports, or empty.
    sides: Vec<Side>,
    /// Of a bounded crossbar. Shape: ports × virtual channels, or empty.
    fifos: Vec<FifoRecord>,
    /// Occupancy in the snapshot for routing. Shape: ports, or empty.
    occupancy: Vec<u32>,
    /// By terminal port.
    nodes: Vec<NodeRecord>,
    events: Vec<EventRecord>,
}

/// The sending side of a virtual channel.
#[derive(Serialize, Deserialize)]
struct LaneRecord {
    credits: u32,
    queue: Vec<Parcel>,
}

/// An input of a bounded crossbar, and the output buffer of the same number.
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
}

#[derive(Serialize, Deserialize)]
struct NodeRecord {
    interface: Interface,
    /// Messages to send.
    outgoing: Vec<OutMessage>,
    link: Port,
    credits: u32,
    /// Its open-loop sources, by job and number.
    sources: Vec<SourceRecord>,
    /// Of closed-loop jobs, by job and number.
    ranks: Vec<RankState>,
    /// Messages to this node that have arrived in part: key and missing bytes.
    incomplete: Vec<(u64, u64)>,
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

/// Writes the state of a run that has come to `at` in all its partitions, and
/// is to begin to measure there if `measure` says so.
///
/// # Errors
/// Of `out`.
pub(super) fn save<R: Routing>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, R>>],
    at: u64,
    measure: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sum = |of: fn(&Partition<'_, R>) -> u64| partitions.iter().map(|p| of(p)).sum::<u64>();
    // The last of the last window that a partition simulated, not its latest:
    // only the window is the same for any partitions.
    let last_move = partitions.iter().map(|p| p.last_move).max().unwrap_or(0);
    let shift = shared.window_shift();
    let jobs = shared.jobs.iter().enumerate();
    let whole = Whole {
        at,
        warmup: partitions[0].warmup,
        measure,
        latest_boundary: partitions[0].latest_boundary,
        stimuli: partitions.iter().map(|p| p.stimuli).sum(),
        injected_bytes: sum(|p| p.injected_bytes),
        delivered_bytes: sum(|p| p.delivered_bytes),
        leaving_bytes: sum(|p| p.leaving_bytes),
        control_bytes: partitions.iter().map(|p| p.control_bytes).sum(),
        loopback_bytes: partitions.iter().map(|p| p.loopback_bytes).sum(),
        packets_delivered: sum(|p| p.packets_delivered),
        packet_hops: sum(|p| p.packet_hops),
        events: sum(|p| p.events),
        last_move: last_move >> shift << shift,
        jobs: jobs
            .map(|(job, plan)| JobCollector::sum(plan, partitions.iter().map(|p| &p.jobs[job])))
            .collect(),
        timeline: TimelineCollector::merge(partitions.iter().map(|p| &p.timeline)),
        routers: shared.topology.routers() as u64,
        messages: sum(|p| p.messages.len() as u64),
    };
    let mut buffer = Vec::new();
    write_record(&whole, &mut buffer, out)?;
    for partition in partitions {
        save_routers(partition, at, &mut buffer, out)?;
    }
    // In an order that does not depend on the partitions.
    let mut messages: Vec<&MessageRecord> = partitions.iter().flat_map(|p| &p.messages).collect();
    messages.sort_unstable_by_key(|m| m.order());
    for some in messages.chunks(MESSAGES_PER_RECORD) {
        write_record(&some, &mut buffer, out)?;
    }
    Ok(())
}

fn write_record<T: Serialize>(
    record: &T,
    buffer: &mut Vec<u8>,
    out: &mut dyn Write,
) -> io::Result<()> {
    buffer.clear();
    *buffer = postcard::to_extend(record, std::mem::take(buffer)).map_err(io::Error::other)?;
    let length = u32::try_from(buffer.len())
        .ok()
        .filter(|&length| length <= LONGEST_RECORD)
        .ok_or_else(|| io::Error::other("a router holds more than a record can"))?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(buffer)
}

fn save_routers<R: Routing>(
    partition: &Partition<'_, R>,
    at: u64,
    buffer: &mut Vec<u8>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut events: Vec<Event> = partition.calendar.pending().collect();
    events.sort_unstable_by_key(|event| (event.router(), event.time, event.key));
    let mut events = events.as_slice();
    let ranks = RanksOfNodes::new(partition);
    let mut incomplete: Vec<(u32, u64, u64)> = partition
        .incomplete
        .iter()
        .map(|(&key, message)| {
            (
                interface_of(partition, message.destination),
                key,
                message.missing,
            )
        })
        .collect();
    incomplete.sort_unstable();
    let mut incomplete = incomplete.as_slice();
    let mut saved = 0;
    for router in 0..partition.end_router - partition.base_router {
        let of_router = events.partition_point(|event| event.router() <= router);
        let (these, rest) = events.split_at(of_router);
        events = rest;
        let ports = ports_of(partition, router);
        let interfaces = interfaces_of(partition, router);
        let mut parcel = |slot: u32| {
            saved += 1;
            let packet = partition.packets.hot[slot as usize];
            let contents = (!packet.bare).then(|| partition.packets.contents[slot as usize]);
            Parcel { packet, contents }
        };
        let vcs = partition.shared.vcs;
        let mut lanes = Vec::with_capacity(ports.len() * vcs);
        let mut fifos = Vec::new();
        for port in ports.clone() {
            for vc in 0..vcs {
                let lane = &partition.lanes[(port << partition.lane_shift) + vc];
                let credits = lane.credits;
                let queue = queue(partition, lane.head).map(&mut parcel).collect();
                lanes.push(LaneRecord { credits, queue });
                if let Some(crossbar) = &partition.crossbar {
                    let fifo = port * vcs + vc;
                    let room = crossbar.room[fifo];
                    let first = crossbar.first(fifo);
                    let queue = self::queue(partition, first).map(&mut parcel).collect();
                    fifos.push(FifoRecord { room, queue });
                }
            }
        }
        let events = these
            .iter()
            .map(|event| {
                let packed = event.pack(event.time);
                let (kind, payload) = (packed.kind(), packed.payload());
                let about = match kind {
                    Kind::Arrive => About::Packet(0, parcel(payload)),
                    Kind::Node => match node_subject(payload) {
                        (code, Subject::Packet(slot)) => About::Packet(code, parcel(slot)),
                        (code, Subject::Rank(rank)) => About::Rank(code, ranks.number(rank)),
                    },
                    Kind::Wake | Kind::Credit => About::Number(payload),
                };
                Ok(EventRecord {
                    delay: event
                        .time
                        .checked_sub(at)
                        .ok_or_else(|| io::Error::other("an event lies in the past"))?,
                    kind,
                    port: packed.port() as u16,
                    about,
                })
            })
            .collect::<io::Result<_>>()?;
        let nodes = interfaces
            .map(|index| {
                let interface = &partition.interfaces[index];
                let link = partition.router_ports + index;
                let sources = interface.sources.start as usize..interface.sources.end as usize;
                let arriving = incomplete.partition_point(|&(to, ..)| to as usize <= index);
                let (these, rest) = incomplete.split_at(arriving);
                incomplete = rest;
                NodeRecord {
                    interface: interface.clone(),
                    outgoing: partition
                        .waiting
                        .iter(&interface.outgoing)
                        .copied()
                        .collect(),
                    link: partition.ports[link],
                    credits: partition.lanes[link << partition.lane_shift].credits,
                    sources: partition.sources[sources]
                        .iter()
                        .map(|source| SourceRecord {
                            message: source.next_message,
                            time: source.next_time,
                        })
                        .collect(),
                    ranks: ranks
                        .of(index)
                        .iter()
                        .map(|&rank| partition.ranks[rank as usize].clone())
                        .collect(),
                    incomplete: these.iter().map(|&(_, key, bytes)| (key, bytes)).collect(),
                }
            })
            .collect();
        let record = RouterRecord {
            ports: partition.ports[ports.clone()].to_vec(),
            lanes,
            sides: partition
                .crossbar
                .as_ref()
                .map_or_else(Vec::new, |crossbar| crossbar.sides[ports.clone()].to_vec()),
            fifos,
            occupancy: occupancies(partition, ports)
                .iter()
                .map(|bytes| bytes.load(Ordering::Relaxed))
                .collect(),
            nodes,
            events,
        };
        write_record(&record, buffer, out)?;
    }
    if saved != partition.packets.len() {
        return Err(io::Error::other(format!(
            "{saved} of {} packets found: this is an error in Odonata, please report it",
            partition.packets.len()
        )));
    }
    Ok(())
}

/// The ports of a router (counted in its partition), in [`Partition::ports`].
fn ports_of<R: Routing>(partition: &Partition<'_, R>, router: u32) -> std::ops::Range<usize> {
    let first = |router| {
        (partition.shared.topology.first_port[(partition.base_router + router) as usize]
            - partition.base_port) as usize
    };
    first(router)..first(router + 1)
}

/// The interfaces of a router's nodes; they are consecutive.
fn interfaces_of<R: Routing>(partition: &Partition<'_, R>, router: u32) -> std::ops::Range<usize> {
    let router = partition.base_router + router;
    let before = |router| {
        partition
            .interfaces
            .partition_point(|at| at.router < router)
    };
    before(router)..before(router + 1)
}

/// Index of a node's interface in the node's partition.
fn interface_of<R: Routing>(partition: &Partition<'_, R>, node: u32) -> u32 {
    let (router, terminal) = partition.shared.attachment(node);
    let ports = ports_of(partition, router - partition.base_router);
    partition.ports[ports.start + usize::from(terminal)].peer_router
}

/// The part of the snapshot about some of the partition's ports; empty if there is none.
fn occupancies<'p, R: Routing>(
    partition: &Partition<'p, R>,
    ports: std::ops::Range<usize>,
) -> &'p [std::sync::atomic::AtomicU32] {
    let base = partition.base_port as usize;
    partition
        .snapshot
        .get(base + ports.start..base + ports.end)
        .unwrap_or(&[])
}

/// The slots of a queue.
fn queue<R: Routing>(partition: &Partition<'_, R>, first: u32) -> impl Iterator<Item = u32> {
    let exists = |slot: u32| (slot != NIL).then_some(slot);
    let packets = &partition.packets.hot;
    std::iter::successors(exists(first), move |&slot| {
        exists(packets[slot as usize].next)
    })
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
    fn new<R: Routing>(partition: &Partition<'_, R>) -> Self {
        let mut first = vec![0; partition.interfaces.len() + 1];
        for rank in &partition.ranks {
            first[rank.interface as usize + 1] += 1;
        }
        for index in 1..first.len() {
            first[index] += first[index - 1];
        }
        let mut next = first.clone();
        let mut ranks = vec![0; partition.ranks.len()];
        let mut number = vec![0; partition.ranks.len()];
        for (index, rank) in partition.ranks.iter().enumerate() {
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

/// Why a saved state cannot be taken up.
fn misfit(reason: impl ToString) -> SimError {
    SimError::State(reason.to_string())
}

/// Puts a run that has just been prepared into the state that [`save`] wrote
/// for the same run on any number of threads.
///
/// # Errors
/// [`SimError::State`] if `state` cannot be read or is not of such a run.
pub(super) fn restore<R: Routing>(
    shared: &Shared<'_>,
    partitions: &mut [Box<Partition<'_, R>>],
    state: &mut dyn Read,
) -> Result<(), SimError> {
    let whole: Whole = decode(&read_record(state)?)?;
    if whole.routers != shared.topology.routers() as u64 || whole.jobs.len() != shared.jobs.len() {
        let (routers, jobs) = (whole.routers, whole.jobs.len());
        return Err(misfit(format!(
            "it is of {routers} routers and {jobs} jobs, the run of {} and {}",
            shared.topology.routers(),
            shared.jobs.len()
        )));
    }
    let (at, measure, messages) = (whole.at, whole.measure, whole.messages);
    restore_whole(shared, partitions, whole)?;
    std::thread::scope(|scope| {
        let mut senders: Vec<(SyncSender<Vec<u8>>, u32)> = Vec::new();
        let mut threads = Vec::new();
        // Each in a thread of its own, for the place of its memory.
        for partition in partitions.iter_mut() {
            let (sender, records) = sync_channel(RECORDS_AHEAD);
            senders.push((sender, partition.end_router - partition.base_router));
            threads.push(scope.spawn(move || restore_partition(partition, at, &records)));
        }
        let mut read = Ok(());
        'all: for (sender, routers) in senders {
            for _ in 0..routers {
                let sent = read_record(state).map(|record| sender.send(record));
                match sent {
                    Ok(Ok(())) => {}
                    // The partition has found an error.
                    Ok(Err(_)) => break 'all,
                    Err(error) => {
                        read = Err(error);
                        break 'all;
                    }
                }
            }
        }
        for thread in threads {
            match thread.join() {
                Ok(restored) => read = read.and(restored),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        read
    })?;
    if measure {
        for partition in partitions.iter_mut() {
            partition.begin_measuring(at);
        }
    }
    let kept = &mut partitions[0].messages;
    while (kept.len() as u64) < messages {
        let more: Vec<MessageRecord> = decode(&read_record(state)?)?;
        if more.is_empty() || more.iter().any(|m| m.job as usize >= shared.jobs.len()) {
            return Err(misfit("a recorded message belongs to no job"));
        }
        kept.extend(more);
    }
    match state.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(misfit("something follows its end")),
        Err(error) => Err(misfit(error)),
    }
}

fn restore_whole<R: Routing>(
    shared: &Shared<'_>,
    partitions: &mut [Box<Partition<'_, R>>],
    whole: Whole,
) -> Result<(), SimError> {
    let jobs = shared.jobs.len().max(1);
    if !whole.timeline.activity.len().is_multiple_of(jobs) {
        return Err(misfit("its timeline is of other jobs"));
    }
    if whole.timeline.bin.0 == 0 {
        return Err(misfit("its timeline has no width"));
    }
    for partition in partitions.iter_mut() {
        partition.warmup = whole.warmup;
        partition.latest_boundary = whole.latest_boundary;
        partition.stimuli = 0;
        partition.calendar.restart(whole.at);
    }
    // Only sums and maxima over the partitions have a meaning.
    let first = &mut partitions[0];
    for (collector, saved) in first.jobs.iter_mut().zip(whole.jobs) {
        if saved.iteration_end.len() != collector.iteration_end.len() {
            return Err(misfit("one of its jobs has other iterations"));
        }
        *collector = saved;
    }
    first.timeline =
        TimelineCollector::resumed(jobs, shared.measurement.timeline_bin, whole.timeline);
    first.stimuli = whole.stimuli;
    first.injected_bytes = whole.injected_bytes;
    first.delivered_bytes = whole.delivered_bytes;
    first.leaving_bytes = whole.leaving_bytes;
    first.control_bytes = whole.control_bytes;
    first.loopback_bytes = whole.loopback_bytes;
    first.packets_delivered = whole.packets_delivered;
    first.packet_hops = whole.packet_hops;
    first.events = whole.events;
    first.now = whole.at;
    first.last_move = whole.last_move;
    Ok(())
}

/// The next record, still encoded.
fn read_record(state: &mut dyn Read) -> Result<Vec<u8>, SimError> {
    let mut length = [0; 4];
    state.read_exact(&mut length).map_err(misfit)?;
    let length = u32::from_le_bytes(length);
    if length > LONGEST_RECORD {
        return Err(misfit(format!("a record of {length} bytes")));
    }
    // Grows with what is there, whatever the length says.
    let mut record = Vec::new();
    let read = state
        .take(u64::from(length))
        .read_to_end(&mut record)
        .map_err(misfit)?;
    if read < length as usize {
        return Err(misfit("it ends early"));
    }
    Ok(record)
}

fn decode<T: DeserializeOwned>(record: &[u8]) -> Result<T, SimError> {
    match postcard::take_from_bytes(record) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(misfit("a record is too long")),
        Err(error) => Err(misfit(error)),
    }
}

fn restore_partition<R: Routing>(
    partition: &mut Partition<'_, R>,
    at: u64,
    records: &Receiver<Vec<u8>>,
) -> Result<(), SimError> {
    let ranks = RanksOfNodes::new(partition);
    for (router, record) in records.iter().enumerate() {
        restore_router(partition, &ranks, at, router as u32, decode(&record)?)?;
    }
    Ok(())
}

fn restore_router<R: Routing>(
    partition: &mut Partition<'_, R>,
    ranks: &RanksOfNodes,
    at: u64,
    router: u32,
    record: RouterRecord,
) -> Result<(), SimError> {
    let ports = ports_of(partition, router);
    let interfaces = interfaces_of(partition, router);
    let occupancies = occupancies(partition, ports.clone());
    let vcs = partition.shared.vcs;
    let bounded = usize::from(partition.crossbar.is_some());
    let number = router + partition.base_router;
    for (what, found, expected) in [
        ("ports", record.ports.len(), ports.len()),
        ("virtual channels", record.lanes.len(), ports.len() * vcs),
        ("crossbar ports", record.sides.len(), ports.len() * bounded),
        (
            "crossbar FIFOs",
            record.fifos.len(),
            ports.len() * vcs * bounded,
        ),
        ("occupancies", record.occupancy.len(), occupancies.len()),
        ("nodes", record.nodes.len(), interfaces.len()),
    ] {
        if found != expected {
            return Err(misfit(format!(
                "router {number} has {found} {what} there, {expected} in the run"
            )));
        }
    }
    for (port, saved) in partition.ports[ports.clone()].iter_mut().zip(record.ports) {
        port.restore(saved);
    }
    for (index, saved) in record.lanes.into_iter().enumerate() {
        let (port, vc) = (ports.start + index / vcs, index % vcs);
        let slots = insert_all(partition, ports.len(), saved.queue)?;
        link(&mut partition.packets.hot, &slots);
        let lane = &mut partition.lanes[(port << partition.lane_shift) + vc];
        lane.credits = saved.credits;
        lane.head = slots.first().copied().unwrap_or(NIL);
        lane.tail = slots.last().copied().unwrap_or(NIL);
    }
    for (index, saved) in record.fifos.into_iter().enumerate() {
        let slots = insert_all(partition, ports.len(), saved.queue)?;
        link(&mut partition.packets.hot, &slots);
        if let Some(crossbar) = &mut partition.crossbar {
            let fifo = ports.start * vcs + index;
            crossbar.room[fifo] = saved.room;
            crossbar.restore_fifo(&partition.packets.hot, ports.start, vcs, fifo, &slots);
        }
    }
    if let Some(crossbar) = &mut partition.crossbar {
        crossbar.sides[ports.clone()].copy_from_slice(&record.sides);
    }
    for (bytes, saved) in occupancies.iter().zip(record.occupancy) {
        bytes.store(saved, Ordering::Relaxed);
    }
    for (index, saved) in interfaces.zip(record.nodes) {
        restore_node(partition, ranks.of(index), index, saved)?;
    }
    for saved in record.events {
        let port = u32::from(saved.port);
        let terminal = partition.ports[ports.clone()]
            .get(port as usize)
            .ok_or_else(|| misfit(format!("an event at a port that router {number} lacks")))?;
        let ranks = match saved.kind {
            Kind::Node => partition
                .interfaces
                .get(terminal.peer_router as usize)
                .map_or(&[][..], |_| ranks.of(terminal.peer_router as usize)),
            _ => &[],
        };
        let payload = match saved.about {
            About::Number(payload) => payload,
            About::Packet(code, parcel) => code | insert(partition, ports.len(), false, parcel)?,
            About::Rank(code, rank) => {
                let rank = ranks.get(rank as usize);
                code | rank.ok_or_else(|| misfit("an event of a rank that is not there"))?
            }
        };
        let time = at.checked_add(saved.delay);
        let time = time.ok_or_else(|| misfit("an event beyond the end of time"))?;
        debug_assert!((port as usize) < MAX_RADIX);
        let event = Event::new(time, router, saved.kind, port, payload);
        partition.calendar.push(event);
    }
    Ok(())
}

fn restore_node<R: Routing>(
    partition: &mut Partition<'_, R>,
    ranks: &[u32],
    index: usize,
    saved: NodeRecord,
) -> Result<(), SimError> {
    let node = partition.interfaces[index].node;
    let sources = partition.interfaces[index].sources.clone();
    if saved.sources.len() != sources.len() || saved.ranks.len() != ranks.len() {
        return Err(misfit(format!("node {node} has other ranks there")));
    }
    partition.interfaces[index].restore(saved.interface);
    for mut message in saved.outgoing {
        let contents = &message.contents;
        let first = partition.shared.first_rank.get(usize::from(contents.job));
        let rank = first.and_then(|first| first.checked_add(contents.source_rank));
        let local_rank = rank.and_then(|rank| partition.local_rank.get(rank as usize));
        let missing = || misfit("a message of a rank that is not there");
        message.local_rank = *local_rank.ok_or_else(missing)?;
        let queue = &mut partition.interfaces[index].outgoing;
        partition.waiting.push_back(queue, message);
    }
    let link = partition.router_ports + index;
    partition.ports[link].restore(saved.link);
    partition.lanes[link << partition.lane_shift].credits = saved.credits;
    for (source, saved) in sources.zip(saved.sources) {
        let source = &mut partition.sources[source as usize];
        (source.next_message, source.next_time) = (saved.message, saved.time);
    }
    for (&rank, saved) in ranks.iter().zip(saved.ranks) {
        partition.unfinished -= u64::from(saved.is_finished());
        partition.ranks[rank as usize].restore(saved);
    }
    for (key, missing) in saved.incomplete {
        let message = Incomplete {
            missing,
            destination: node,
        };
        partition.incomplete.insert(key, message);
    }
    Ok(())
}

/// Puts a packet of a router with `radix` ports into its partition. If it is
/// queued, it has been routed.
fn insert<R: Routing>(
    partition: &mut Partition<'_, R>,
    radix: usize,
    queued: bool,
    parcel: Parcel,
) -> Result<u32, SimError> {
    let Parcel { packet, contents } = parcel;
    let shared = partition.shared;
    let fits = usize::from(packet.job) < shared.jobs.len()
        && (usize::from(packet.out_port) < radix || (packet.out_port == UNROUTED && !queued))
        && usize::from(packet.out_vc) < shared.vcs
        && usize::from(packet.route.vc) < shared.vcs
        && usize::from(packet.upstream_class) < shared.classes.len()
        && (packet.upstream_router == NIL
            || (packet.upstream_router as usize) < shared.topology.routers())
        && (packet.route.destination_router as usize) < shared.topology.routers()
        && packet.bare == contents.is_none();
    if !fits {
        return Err(misfit("a packet that cannot be in this network"));
    }
    Ok(match contents {
        None => partition.packets.insert_bare(packet),
        Some(contents) => partition.packets.insert(packet, contents),
    })
}

fn insert_all<R: Routing>(
    partition: &mut Partition<'_, R>,
    radix: usize,
    queue: Vec<Parcel>,
) -> Result<Vec<u32>, SimError> {
    queue
        .into_iter()
        .map(|parcel| insert(partition, radix, true, parcel))
        .collect()
}

/// Makes the packets in these slots a queue.
fn link(packets: &mut [Packet], slots: &[u32]) {
    for (index, &slot) in slots.iter().enumerate() {
        packets[slot as usize].next = slots.get(index + 1).copied().unwrap_or(NIL);
    }
}

/// Numbers whose largest value means "none": saved so that this is short.
pub(super) mod or_absent {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// An unsigned integer.
    pub trait Number: Copy {
        fn up(self) -> Self;
        fn down(self) -> Self;
    }

    impl Number for u32 {
        fn up(self) -> Self {
            self.wrapping_add(1)
        }
        fn down(self) -> Self {
            self.wrapping_sub(1)
        }
    }

    impl Number for u64 {
        fn up(self) -> Self {
            self.wrapping_add(1)
        }
        fn down(self) -> Self {
            self.wrapping_sub(1)
        }
    }

    pub fn serialize<T: Number + Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.up().serialize(serializer)
    }

    pub fn deserialize<'de, T: Number + Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::deserialize(deserializer).map(T::down)
    }
}

/// Maps, saved in the order of their keys.
pub(super) mod sorted_map {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::engine::partition::KeyMap;

    pub fn serialize<V: Ord + Serialize, S: Serializer>(
        map: &KeyMap<V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_unstable();
        entries.serialize(serializer)
    }

    pub fn deserialize<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<KeyMap<V>, D::Error> {
        let entries = Vec::<(u64, V)>::deserialize(deserializer)?;
        Ok(entries.into_iter().collect())
    }
}
