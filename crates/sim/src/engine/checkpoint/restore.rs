//! Takes up a saved state.

use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use odonata_network::{Peer, Routing};
use odonata_units::RouterId;
use serde::de::DeserializeOwned;

use super::{
    About, LONGEST_RECORD, NodeRecord, Parcel, RanksOfNodes, RouterRecord, Whole, interfaces_of,
    occupancies, ports_of,
};
use crate::engine::calendar::{Event, Kind, MAX_PAYLOAD};
use crate::engine::crossbar::{WAKE_INPUT, WAKE_OUTPUT};
use crate::engine::endpoint::{WAKE_INTERFACE, concerns_packet};
use crate::engine::followed::Decision;
use crate::engine::measure::JobCollector;
use crate::engine::packets::{NIL, Packet, UNROUTED};
use crate::engine::partition::{Incomplete, LESSON, Partition};
use crate::engine::probe::Probe;
use crate::engine::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT, Shared};
use crate::engine::timeline::TimelineCollector;
use crate::error::SimError;
use crate::outcome::MessageRecord;

/// Records that wait for a partition.
const RECORDS_AHEAD: usize = 64;

/// Why a saved state cannot be taken up.
fn misfit(reason: impl ToString) -> SimError {
    SimError::State(reason.to_string())
}

/// Puts a run that has just been prepared into the state that [`super::save`] wrote
/// for the same run on any number of threads.
///
/// # Errors
/// [`SimError::State`] if `state` cannot be read or is not of such a run.
pub(in crate::engine) fn restore<R: Routing, P: Probe>(
    shared: &Shared<'_>,
    partitions: &mut [Box<Partition<'_, R, P>>],
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

fn restore_whole<R: Routing, P: Probe>(
    shared: &Shared<'_>,
    partitions: &mut [Box<Partition<'_, R, P>>],
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
        // These follow from the jobs.
        *collector = JobCollector {
            messages_to_come: collector.messages_to_come,
            has_end: collector.has_end,
            ..saved
        };
    }
    first.timeline =
        TimelineCollector::resumed(jobs, shared.measurement.timeline_bin, whole.timeline);
    first.stimuli = whole.stimuli;
    first.injected_bytes = whole.injected_bytes;
    first.delivered_bytes = whole.delivered_bytes;
    first.leaving_bytes = whole.leaving_bytes;
    first.loopback_bytes = whole.loopback_bytes;
    first.control_bytes = whole.control_bytes;
    first.packets_delivered = whole.packets_delivered;
    first.packet_hops = whole.packet_hops;
    first.events = whole.events;
    first.now = whole.at;
    first.last_move = whole.last_move;
    first.probe.restore_arrivals(whole.arrivals);
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

fn restore_partition<R: Routing, P: Probe>(
    partition: &mut Partition<'_, R, P>,
    at: u64,
    records: &Receiver<Vec<u8>>,
) -> Result<(), SimError> {
    let ranks = RanksOfNodes::new(partition);
    for (router, record) in records.iter().enumerate() {
        restore_router(partition, &ranks, at, router as u32, decode(&record)?)?;
    }
    Ok(())
}

fn restore_router<R: Routing, P: Probe>(
    partition: &mut Partition<'_, R, P>,
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
    let memory = partition
        .memories
        .get(router as usize)
        .map_or(0, |memory| memory.len());
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
        ("learnt values", record.memory.len(), memory),
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
    for port in ports.clone() {
        let state = &partition.ports[port];
        let first = (port - ports.start) * vcs;
        let lanes = record.lanes[first..first + vcs].iter();
        let waiting = lanes.rfold(0, |bits, lane| {
            bits << 1 | u16::from(!lane.queue.is_empty())
        });
        if state.waiting != waiting || usize::from(state.served) >= vcs {
            return Err(misfit(format!(
                "the channels of a port of router {number} are in no order"
            )));
        }
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
        let hot = &partition.packets.hot;
        if !crossbar.restore_sides(hot, ports.clone(), vcs, &record.sides) {
            return Err(misfit(format!(
                "an output of router {number} waits for a packet that is not there"
            )));
        }
    }
    for (bytes, saved) in occupancies.iter().zip(record.occupancy) {
        bytes.store(saved, Ordering::Relaxed);
    }
    if let Some(memory) = partition.memories.get_mut(router as usize) {
        memory.copy_from_slice(&record.memory);
    }
    restore_followed(partition, router, ports.len(), record.followed)?;
    for (port, saved) in ports.clone().zip(record.watches) {
        partition.probe.restore(port, saved);
    }
    for (index, saved) in interfaces.zip(record.nodes) {
        restore_node(partition, ranks.of(index), index, saved)?;
    }
    for saved in record.events {
        let port = u32::from(saved.port);
        let state = partition.ports[ports.clone()]
            .get(port as usize)
            .ok_or_else(|| misfit(format!("an event at a port that router {number} lacks")))?;
        let node = partition.classes[usize::from(state.class)]
            .terminal
            .then_some(state.peer_router as usize)
            .filter(|&node| node < partition.interfaces.len());
        let payload = match (saved.kind, saved.about) {
            (Kind::Wake, About::Number(payload)) if may_wake(partition, node, payload) => payload,
            (Kind::Credit, About::Number(payload))
                if payload <= MAX_PAYLOAD
                    && ((payload >> CREDIT_VC_SHIFT) as usize) < vcs
                    && (payload & CREDIT_FOR_INTERFACE == 0 || node.is_some()) =>
            {
                payload
            }
            (Kind::Arrive, About::Packet(0, parcel)) => {
                insert(partition, ports.len(), Held::OnItsWay, parcel)?
            }
            (Kind::Node, About::Packet(code, parcel))
                if node.is_some() && concerns_packet(code) == Some(true) =>
            {
                code | insert(partition, ports.len(), Held::ByItsNode, parcel)?
            }
            (Kind::Node, About::Rank(code, rank)) if concerns_packet(code) == Some(false) => {
                let rank = node.and_then(|node| ranks.of(node).get(rank as usize));
                code | rank.ok_or_else(|| misfit("an event of a rank that is not there"))?
            }
            _ => return Err(misfit(format!("an event that router {number} cannot have"))),
        };
        let time = at.checked_add(saved.delay);
        let time = time.ok_or_else(|| misfit("an event beyond the end of time"))?;
        let event = Event::new(time, router, saved.kind, port, payload);
        partition.calendar.push(event);
    }
    Ok(())
}

fn restore_followed<R: Routing, P: Probe>(
    partition: &mut Partition<'_, R, P>,
    router: u32,
    radix: usize,
    saved: Vec<(u16, u64, Decision)>,
) -> Result<(), SimError> {
    let shared = partition.shared;
    let fits = |decision: &Decision| {
        usize::from(decision.out_port) < radix
            && usize::from(decision.out_vc) < shared.vcs
            && usize::from(decision.route.vc) < shared.vcs
            && (decision.route.destination_router as usize) < shared.topology.routers()
            && decision.missing > 0
    };
    match &mut partition.followed {
        None if saved.is_empty() => Ok(()),
        Some(followed) if saved.iter().all(|(.., decision)| fits(decision)) => {
            for (visited, message, decision) in saved {
                followed.insert((router, visited, message), decision);
            }
            Ok(())
        }
        _ => Err(misfit("a message follows a decision that cannot be")),
    }
}

fn restore_node<R: Routing, P: Probe>(
    partition: &mut Partition<'_, R, P>,
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
        if contents.destination as usize >= partition.shared.topology.nodes() {
            return Err(misfit("a message to a node that is not there"));
        }
        message.local_rank = *local_rank.ok_or_else(missing)?;
        let queue = &mut partition.interfaces[index].outgoing;
        partition.waiting.push_back(queue, message);
    }
    let link = partition.router_ports + index;
    partition.ports[link].restore(saved.link);
    partition.lanes[link << partition.lane_shift].credits = saved.credits;
    if let Some(watch) = saved.watch {
        partition.probe.restore(link, watch);
    }
    for (source, saved) in sources.zip(saved.sources) {
        let source = &mut partition.sources[source as usize];
        (source.next_message, source.next_time) = (saved.message, saved.time);
    }
    for (&rank, saved) in ranks.iter().zip(saved.ranks) {
        let state = &mut partition.ranks[rank as usize];
        let plan = &partition.shared.jobs[state.job as usize];
        state.restore(plan, saved).map_err(misfit)?;
        partition.unfinished -= u64::from(state.is_finished());
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

/// Whether a port, of a router or, where it leads to a node, of its interface, may be
/// woken with this payload.
fn may_wake<R: Routing, P: Probe>(
    partition: &Partition<'_, R, P>,
    node: Option<usize>,
    payload: u32,
) -> bool {
    match payload {
        0 => true,
        WAKE_INTERFACE => node.is_some(),
        WAKE_INPUT | WAKE_OUTPUT => partition.crossbar.is_some(),
        _ => R::LEARNS && payload & LESSON != 0 && payload <= MAX_PAYLOAD,
    }
}

/// Where a packet is that is put into its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// In a queue of its router: it has been routed.
    Queued,
    /// Between two routers.
    OnItsWay,
    /// Through with the network.
    ByItsNode,
}

/// Puts a packet of a router with `radix` ports into its partition.
fn insert<R: Routing, P: Probe>(
    partition: &mut Partition<'_, R, P>,
    radix: usize,
    held: Held,
    parcel: Parcel,
) -> Result<u32, SimError> {
    let Parcel { packet, contents } = parcel;
    let shared = partition.shared;
    // Who gets its credits back.
    let upstream = || {
        let (router, port) = (packet.upstream_router, usize::from(packet.upstream_port));
        (router as usize) < shared.topology.routers()
            && shared
                .topology
                .ports_of(RouterId(router))
                .nth(port)
                .is_some_and(|port| {
                    shared.topology.class_of_port[port].0 == packet.upstream_class
                        && shared.topology.peer[port] != Peer::Unconnected
                })
    };
    let fits = usize::from(packet.job) < shared.jobs.len()
        && packet.size <= shared.packet
        && (usize::from(packet.out_port) < radix
            || (packet.out_port == UNROUTED && held != Held::Queued))
        && (held == Held::ByItsNode || upstream())
        && usize::from(packet.out_vc) < shared.vcs
        && usize::from(packet.route.vc) < shared.vcs
        && usize::from(packet.upstream_class) < shared.classes.len()
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

fn insert_all<R: Routing, P: Probe>(
    partition: &mut Partition<'_, R, P>,
    radix: usize,
    queue: Vec<Parcel>,
) -> Result<Vec<u32>, SimError> {
    queue
        .into_iter()
        .map(|parcel| insert(partition, radix, Held::Queued, parcel))
        .collect()
}

/// Makes the packets in these slots a queue.
fn link(packets: &mut [Packet], slots: &[u32]) {
    for (index, &slot) in slots.iter().enumerate() {
        packets[slot as usize].next = slots.get(index + 1).copied().unwrap_or(NIL);
    }
}
