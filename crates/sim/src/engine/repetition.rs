//! What a paused run has pending and under way, as a number: equal where it comes again.

use std::hash::{DefaultHasher, Hash, Hasher};

use odonata_mpi::Processor;

use super::calendar::{Event, Kind};
use super::model::Model;
use super::packets::NIL;
use super::partition::Partition;
use super::payload::{Subject, node_subject};
use super::port::NEVER;
use super::switch::Switch;

/// A number that two states of one run share if they agree in every pending event, port, channel,
/// packet and rank, all times being counted from `at`. Left out are counts, and the names of
/// messages, requests and packets, which only have to be different from each other.
pub(super) fn digest<M: Model>(partitions: &[Box<Partition<'_, M>>], at: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    for partition in partitions {
        events(partition, at, &mut hasher);
        ports(partition, at, &mut hasher);
        ranks(partition, at, &mut hasher);
    }
    hasher.finish()
}

/// A packet without its name.
fn packet<M: Model>(partition: &Partition<'_, M>, slot: u32, at: u64, hasher: &mut impl Hasher) {
    let packet = &partition.packets.hot[slot as usize];
    let arrives = packet.tail.wrapping_sub(at);
    (packet.size, packet.source, arrives, packet.out_port).hash(hasher);
    (packet.job, packet.routers, packet.lane, packet.out_vc).hash(hasher);
    (packet.upstream_router, packet.upstream_port).hash(hasher);
    packet.created.wrapping_sub(at).hash(hasher);
    if !packet.bare {
        let contents = &partition.packets.contents[slot as usize];
        (contents.message_bytes, contents.destination).hash(hasher);
        (contents.source_rank, contents.destination_rank).hash(hasher);
    }
}

fn events<M: Model>(partition: &Partition<'_, M>, at: u64, hasher: &mut impl Hasher) {
    let one = |event: Event| {
        let packed = event.pack(event.time);
        let mut own = DefaultHasher::new();
        let (kind, payload) = (packed.kind(), packed.payload());
        (event.router(), event.time - at, kind as u8, packed.port()).hash(&mut own);
        match (kind, node_subject(payload)) {
            (Kind::Arrive, _) => packet(partition, payload, at, &mut own),
            (Kind::Node, (code, Subject::Packet(slot))) => {
                code.hash(&mut own);
                packet(partition, slot, at, &mut own);
            }
            _ => payload.hash(&mut own),
        }
        own.finish()
    };
    // In whatever order they are kept.
    let mut all: Vec<u64> = partition.calendar.pending().map(one).collect();
    all.sort_unstable();
    all.hash(hasher);
}

fn ports<M: Model>(partition: &Partition<'_, M>, at: u64, hasher: &mut impl Hasher) {
    for (index, port) in partition.ports.all.iter().enumerate() {
        let stalled = match port.stalled_since {
            NEVER => NEVER,
            since => at - since,
        };
        let busy = port.free_at.saturating_sub(at);
        let sending = if busy > 0 { port.sending } else { 0 };
        (busy, stalled, sending, port.queued, port.downstream).hash(hasher);
        (port.waiting, port.served, port.wake).hash(hasher);
        for vc in 0..partition.shared.vcs {
            let channel = &partition.ports.channels[partition.ports.grid.channel(index, vc)];
            channel.credits.hash(hasher);
            let held = match index < partition.ports.of_routers {
                true => partition.switch.held(partition.ports.grid, index, vc),
                false => None,
            };
            let held = held.map(|held| held.first);
            for first in [Some(channel.head), held].into_iter().flatten() {
                let mut slot = first;
                while slot != NIL {
                    packet(partition, slot, at, hasher);
                    slot = partition.packets.hot[slot as usize].next;
                }
                NIL.hash(hasher);
            }
        }
    }
    for interface in partition.interfaces.all.iter() {
        interface.ready_at.saturating_sub(at).hash(hasher);
        for message in partition.interfaces.waiting.iter(&interface.outgoing) {
            let contents = &message.contents;
            (message.bytes_left, contents.message_bytes).hash(hasher);
            (contents.source_rank, contents.destination_rank).hash(hasher);
        }
    }
}

fn ranks<M: Model>(partition: &Partition<'_, M>, at: u64, hasher: &mut impl Hasher) {
    let mut first = vec![u32::MAX; partition.shared.jobs.len()];
    for rank in &partition.ranks.all {
        let own = &mut first[rank.job as usize];
        *own = rank.record.iterations.min(*own);
    }
    for rank in &partition.ranks.all {
        let record = &rank.record;
        let ahead = record.iterations - first[rank.job as usize];
        (ahead, record.stage as u8, record.activity as u8).hash(hasher);
        (
            record.waiting,
            record.collective,
            at.wrapping_sub(record.since),
        )
            .hash(hasher);
        let processor = |one: &Processor| {
            let busy = one.task.map(|_| one.until.wrapping_sub(at));
            (busy, one.queue.len())
        };
        for one in &record.processors {
            processor(one).hash(hasher);
        }
        record.matching.unreceived().hash(hasher);
        (
            record.granted.len(),
            record.held.len(),
            record.unfinished.len(),
        )
            .hash(hasher);
        (record.leaving.len(), record.last_to).hash(hasher);
        for (when, message) in &record.delayed {
            (when.wrapping_sub(at), message.to, message.bytes).hash(hasher);
        }
    }
}
