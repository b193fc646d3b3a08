//! Takes up a saved state.

use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use odonata_network::Topology;
use odonata_run::{MessageRecord, SimError, TimelineCollector};
use serde::de::DeserializeOwned;

use super::references::{self, AtNode, AtRouter};
use super::{
    About, LONGEST_RECORD, NodeRecord, Parcel, RanksOfNodes, RouterRecord, Whole, interfaces_of,
    occupancies, ports_of,
};
use crate::engine::calendar::Event;
use crate::engine::circuits::Circuits;
use crate::engine::driver::boundary;
use crate::engine::interface::Incomplete;
use crate::engine::measure::JobCollector;
use crate::engine::model::Model;
use crate::engine::packets::{Contents, NIL, Packet};
use crate::engine::partition::Partition;
use crate::engine::probe::Probe;
use crate::engine::protocol::Protocol;
use crate::engine::scheduler::Scheduler;
use crate::engine::shared::Shared;
use crate::engine::switch::Switch;

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
pub(in crate::engine) fn restore<M: Model>(
    shared: &Shared<'_>,
    partitions: &mut [Box<Partition<'_, M>>],
    circuits: Option<&mut Circuits<'_>>,
    state: &mut dyn Read,
) -> Result<(), SimError> {
    let mut whole: Whole = decode(&read_record(state)?)?;
    references::whole(shared, boundary(shared), &whole)
        .map_err(|what| misfit(format!("{what}: not of this run, or not what can be")))?;
    let (at, measure, messages) = (whole.at, whole.measure, whole.messages);
    let network = match (circuits, whole.circuits.take()) {
        (None, None) => None,
        (Some(circuits), Some(saved)) => Some(circuits.restore(shared, partitions, saved)?),
        _ => return Err(misfit("its circuits: not of this run")),
    };
    let network = network.as_ref().unwrap_or(shared.topology);
    restore_whole(shared, partitions, whole);
    std::thread::scope(|scope| {
        let mut senders: Vec<(SyncSender<Vec<u8>>, u32)> = Vec::new();
        let mut threads = Vec::new();
        // Each in a thread of its own, for the place of its memory.
        for partition in partitions.iter_mut() {
            let (sender, records) = sync_channel(RECORDS_AHEAD);
            senders.push((sender, partition.end_router - partition.base_router));
            threads.push(scope.spawn(move || restore_partition(partition, network, at, &records)));
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
    let kept = &mut partitions[0].accounts.messages;
    while (kept.len() as u64) < messages {
        let more: Vec<MessageRecord> = decode(&read_record(state)?)?;
        if more.is_empty() || more.len() as u64 > messages - kept.len() as u64 {
            return Err(misfit("more recorded messages, or fewer, than it says"));
        }
        for message in &more {
            references::message(shared, message)
                .map_err(|what| misfit(format!("{what} refers to nothing in this run")))?;
        }
        kept.extend(more);
    }
    match state.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(misfit("something follows its end")),
        Err(error) => Err(misfit(error)),
    }
}

fn restore_whole<M: Model>(
    shared: &Shared<'_>,
    partitions: &mut [Box<Partition<'_, M>>],
    whole: Whole,
) {
    let jobs = shared.jobs.len().max(1);
    for partition in partitions.iter_mut() {
        partition.warmup = whole.warmup;
        partition.latest_boundary = whole.latest_boundary;
        partition.calendar.restart(whole.at);
    }
    // Only sums and maxima over the partitions have a meaning.
    let first = &mut partitions[0];
    for (collector, saved) in first.accounts.jobs.iter_mut().zip(whole.jobs) {
        // These follow from the jobs.
        *collector = JobCollector {
            messages_to_come: collector.messages_to_come,
            has_end: collector.has_end && saved.aborted.is_none(),
            ..saved
        };
    }
    let (first, others) = partitions
        .split_first_mut()
        .expect("at least one partition");
    for partition in others {
        let jobs = partition.accounts.jobs.iter_mut();
        for (collector, known) in jobs.zip(&first.accounts.jobs) {
            collector.stimuli = 0;
            collector.aborted = known.aborted;
            collector.has_end &= known.aborted.is_none();
        }
    }
    first.accounts.timeline =
        TimelineCollector::resumed(jobs, shared.measurement.timeline_bin, whole.timeline);
    first.accounts.injected_bytes = whole.injected_bytes;
    first.accounts.delivered_bytes = whole.delivered_bytes;
    first.accounts.leaving_bytes = whole.leaving_bytes;
    first.accounts.loopback_bytes = whole.loopback_bytes;
    first.accounts.control_bytes = whole.control_bytes;
    first.accounts.packets_delivered = whole.packets_delivered;
    first.accounts.packet_hops = whole.packet_hops;
    first.accounts.resent_bytes = whole.resent_bytes;
    first.accounts.events = whole.events;
    first.now = whole.at;
    first.last_move = whole.last_move;
    first.probe.restore_arrivals(whole.arrivals);
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

fn restore_partition<M: Model>(
    partition: &mut Partition<'_, M>,
    network: &Topology,
    at: u64,
    records: &Receiver<Vec<u8>>,
) -> Result<(), SimError> {
    let ranks = RanksOfNodes::new(partition);
    for (router, record) in records.iter().enumerate() {
        let record = decode(&record)?;
        restore_router(partition, network, &ranks, at, router as u32, record)?;
    }
    Ok(())
}

fn restore_router<M: Model>(
    partition: &mut Partition<'_, M>,
    network: &Topology,
    ranks: &RanksOfNodes,
    at: u64,
    router: u32,
    record: RouterRecord,
) -> Result<(), SimError> {
    let ports = ports_of(partition, router);
    let interfaces = interfaces_of(partition, router);
    let occupancies = occupancies(partition, ports.clone());
    let vcs = partition.shared.vcs;
    at_router(partition, network, ranks, at, router)
        .check(&record)
        .map_err(|what| {
            let number = router + partition.base_router;
            misfit(format!(
                "router {number}: {what} refers to nothing in this run, or is none that can be"
            ))
        })?;
    for (port, saved) in partition.ports.all[ports.clone()]
        .iter_mut()
        .zip(record.ports)
    {
        port.restore(saved);
    }
    for (index, saved) in record.channels.into_iter().enumerate() {
        let (port, vc) = (ports.start + index / vcs, index % vcs);
        let slots = insert_all(partition, saved.queue);
        link(&mut partition.packets.hot, &slots);
        let channel = &mut partition.ports.channels[partition.ports.grid.channel(port, vc)];
        channel.credits = saved.credits;
        channel.head = slots.first().copied().unwrap_or(NIL);
        channel.tail = slots.last().copied().unwrap_or(NIL);
    }
    for (index, saved) in record.fifos.into_iter().enumerate() {
        let slots = insert_all(partition, saved.queue);
        link(&mut partition.packets.hot, &slots);
        let place = (ports.start + index / vcs, index % vcs);
        M::Switch::restore(partition, ports.start, place, &slots, saved.room);
    }
    partition.switch.restore_sides(ports.clone(), &record.sides);
    for (bytes, saved) in occupancies.iter().zip(record.occupancy) {
        bytes.store(saved, Ordering::Relaxed);
    }
    if let Some(q_table) = partition.routing.q_tables.get_mut(router as usize) {
        q_table.copy_from_slice(&record.q_table);
    }
    if let Some(message_routes) = &mut partition.routing.message_routes {
        for (visited, message, decision) in record.message_routes {
            message_routes.insert((router, visited, message), decision);
        }
    }
    for (port, saved) in ports.clone().zip(record.watches) {
        partition.probe.restore(port, saved);
    }
    partition.protocol.restore_ports(ports.start, &record.paced);
    if !record.last_arrivals.is_empty() {
        partition.ports.last_arrivals[ports.clone()].copy_from_slice(&record.last_arrivals);
    }
    for (port, saved) in ports.clone().zip(record.shares) {
        partition.scheduler.restore(port, saved);
    }
    for (index, saved) in interfaces.zip(record.nodes) {
        restore_node(partition, ranks.of(index), index, saved)?;
    }
    promise(partition, router);
    for saved in record.events {
        let port = u32::from(saved.port);
        let node = partition.ports.all[ports.start + port as usize].peer_router as usize;
        let payload = match saved.about {
            About::Number(payload) => payload,
            About::Packet(code, parcel) => code | insert(partition, parcel),
            About::Rank(code, rank) => code | ranks.of(node)[rank as usize],
        };
        let event = Event::new(at + saved.delay, router, saved.kind, port, payload);
        partition.calendar.push(event);
    }
    Ok(())
}

/// Promises room to the packets that have been routed and have not taken credits yet, if anybody
/// asks for it.
fn promise<M: Model>(partition: &mut Partition<'_, M>, router: u32) {
    if partition.ports.promised.is_empty() {
        return;
    }
    let (ports, vcs) = (ports_of(partition, router), partition.shared.vcs);
    for port in ports.clone() {
        for vc in 0..vcs {
            let channel = partition.ports.grid.channel(port, vc);
            let first = partition.ports.channels[channel].head;
            if !partition.switch.takes_credits() {
                promise_from(partition, ports.start, first);
            }
            if let Some(held) = partition.switch.held(partition.ports.grid, port, vc) {
                promise_from(partition, ports.start, held.first);
            }
        }
    }
}

/// The same for the packets of a queue.
fn promise_from<M: Model>(partition: &mut Partition<'_, M>, first_port: usize, mut slot: u32) {
    while slot != NIL {
        partition.promise(first_port, slot);
        slot = partition.packets.hot[slot as usize].next;
    }
}

/// What the record of a router is checked against.
fn at_router<'p, 'a, M: Model>(
    partition: &Partition<'a, M>,
    network: &'p Topology,
    ranks: &RanksOfNodes,
    at: u64,
    router: u32,
) -> AtRouter<'p, 'a>
where
    'a: 'p,
{
    let ports = ports_of(partition, router);
    let node = |index: usize| {
        let interface = &partition.interfaces.all[index];
        let ranks = ranks.of(index).iter();
        let ranks = ranks.map(|&rank| &partition.ranks.all[rank as usize]);
        AtNode {
            node: interface.node,
            terminal: interface.terminal as usize,
            sources: interface.sources.len(),
            ranks: ranks.map(|rank| (rank.job, rank.rank)).collect(),
        }
    };
    AtRouter {
        shared: partition.shared,
        network,
        at,
        router: router + partition.base_router,
        first: partition.base_port as usize + ports.start,
        radix: ports.len(),
        learns: partition.routing.tables.get().learns(),
        q_table: partition
            .routing
            .q_tables
            .get(router as usize)
            .map_or(0, |q_table| q_table.len()),
        occupancies: occupancies(partition, ports.clone()).len(),
        credits_at_crossbar: partition.switch.takes_credits(),
        output_buffer: partition.switch.output_buffer(),
        hears: M::Protocol::ON,
        paced: partition.protocol.ports(ports.clone()).len(),
        last_arrivals: partition.ports.last_arrivals(ports.clone()).len(),
        classes: match M::Scheduler::CLASSES {
            true => partition.shared.config.classes.len(),
            false => 0,
        },
        per_message: partition.routing.message_routes.is_some(),
        by_flow: partition.interfaces.flows.is_some(),
        credit_size_bits: M::Probe::CREDIT_SIZE_BITS,
        watched: !partition
            .probe
            .links(0..partition.ports.all.len())
            .is_empty(),
        nodes: interfaces_of(partition, router).map(node).collect(),
    }
}

fn restore_node<M: Model>(
    partition: &mut Partition<'_, M>,
    ranks: &[u32],
    index: usize,
    saved: NodeRecord,
) -> Result<(), SimError> {
    let node = partition.interfaces.all[index].node;
    let sources = partition.interfaces.all[index].sources.clone();
    partition.interfaces.all[index].restore(saved.interface);
    for mut message in saved.outgoing {
        let Contents {
            job, source_rank, ..
        } = message.contents;
        let rank = partition.shared.rank(u32::from(job), source_rank);
        message.local_rank = partition.ranks.local[rank as usize];
        let queue = &mut partition.interfaces.all[index].outgoing;
        partition.interfaces.waiting.push_back(queue, message);
    }
    let link = partition.ports.of_routers + index;
    partition.ports.all[link].restore(saved.link);
    for (vc, credits) in saved.credits.into_iter().enumerate() {
        partition.ports.channels[partition.ports.grid.channel(link, vc)].credits = credits;
    }
    if let Some(watch) = saved.watch {
        partition.probe.restore(link, watch);
    }
    if let Some(shares) = saved.shares {
        partition.scheduler.restore(link, shares);
    }
    if let Some(pairs) = saved.pairs {
        partition.protocol.restore(index, pairs);
    }
    if let Some(flows) = &mut partition.interfaces.flows {
        for (to, flow, flowlet) in saved.flowlets {
            flows.flowlets.insert((index as u32, to, flow), flowlet);
        }
    }
    for (source, saved) in sources.zip(saved.sources) {
        let source = &mut partition.interfaces.sources[source as usize];
        (source.next_message, source.next_time) = (saved.message, saved.time);
    }
    for (&rank, saved) in ranks.iter().zip(saved.ranks) {
        let state = &mut partition.ranks.all[rank as usize];
        let plan = &partition.shared.jobs[state.job as usize];
        state.restore(plan, saved).map_err(misfit)?;
        partition.ranks.unfinished -= u64::from(state.is_finished());
    }
    for (key, missing) in saved.incomplete {
        let message = Incomplete {
            missing,
            destination: node,
        };
        partition.interfaces.incomplete.insert(key, message);
    }
    Ok(())
}

/// Puts a packet into its partition.
fn insert<M: Model>(partition: &mut Partition<'_, M>, parcel: Parcel) -> u32 {
    let Parcel {
        packet,
        contents,
        note,
    } = parcel;
    let slot = match contents {
        None => partition.packets.insert_bare(packet),
        Some(contents) => partition.packets.insert(packet, contents),
    };
    if let Some(note) = note {
        partition.protocol.set_note(slot, note);
    }
    slot
}

fn insert_all<M: Model>(partition: &mut Partition<'_, M>, queue: Vec<Parcel>) -> Vec<u32> {
    let all = queue.into_iter();
    all.map(|parcel| insert(partition, parcel)).collect()
}

/// Makes the packets in these slots a queue.
fn link(packets: &mut [Packet], slots: &[u32]) {
    for (index, &slot) in slots.iter().enumerate() {
        packets[slot as usize].next = slots.get(index + 1).copied().unwrap_or(NIL);
    }
}
