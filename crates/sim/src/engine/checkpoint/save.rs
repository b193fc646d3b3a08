//! Writes the state of a run.

use std::io::{self, Write};
use std::sync::atomic::Ordering;

use odonata_run::{Arrival, MessageRecord, TimelineCollector};
use serde::Serialize;

use super::{
    About, ChannelRecord, EventRecord, FifoRecord, LONGEST_RECORD, MESSAGES_PER_RECORD, NodeRecord,
    Parcel, RanksOfNodes, RouterRecord, SourceRecord, Whole, interface_of, interfaces_of,
    occupancies, ports_of,
};
use crate::engine::calendar::{Event, Kind};
use crate::engine::circuits::CircuitState;
use crate::engine::flows::{Flow, Flowlet};
use crate::engine::measure::JobCollector;
use crate::engine::message_routes::{Decision, Visit};
use crate::engine::model::Model;
use crate::engine::packets::NIL;
use crate::engine::partition::Partition;
use crate::engine::payload::{LOST, Subject, node_subject};
use crate::engine::probe::Probe;
use crate::engine::protocol::Protocol;
use crate::engine::scheduler::Scheduler;
use crate::engine::shared::Shared;
use crate::engine::switch::Switch;

/// Writes the state of a run that has come to `at` in all its partitions, and
/// is to begin to measure there if `measure` says so.
///
/// # Errors
/// Whatever `out` reports.
pub(in crate::engine) fn save<M: Model>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, M>>],
    at: u64,
    measure: bool,
    circuits: Option<CircuitState>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sum = |of: fn(&Partition<'_, M>) -> u64| partitions.iter().map(|p| of(p)).sum::<u64>();
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
        injected_bytes: sum(|p| p.accounts.injected_bytes),
        delivered_bytes: sum(|p| p.accounts.delivered_bytes),
        leaving_bytes: sum(|p| p.accounts.leaving_bytes),
        loopback_bytes: partitions.iter().map(|p| p.accounts.loopback_bytes).sum(),
        control_bytes: partitions.iter().map(|p| p.accounts.control_bytes).sum(),
        packets_delivered: sum(|p| p.accounts.packets_delivered),
        packet_hops: sum(|p| p.accounts.packet_hops),
        resent_bytes: sum(|p| p.accounts.resent_bytes),
        events: sum(|p| p.accounts.events),
        last_move: last_move >> shift << shift,
        jobs: jobs
            .map(|(job, plan)| {
                JobCollector::sum(plan, partitions.iter().map(|p| &p.accounts.jobs[job]))
            })
            .collect(),
        timeline: TimelineCollector::merge(partitions.iter().map(|p| &p.accounts.timeline)),
        routers: shared.topology.routers() as u64,
        messages: sum(|p| p.accounts.messages.len() as u64),
        arrivals: Arrival::sum(partitions.iter().map(|p| p.probe.arrivals())),
        circuits,
    };
    let mut buffer = Vec::new();
    write_record(&whole, &mut buffer, out)?;
    for partition in partitions {
        save_routers(partition, at, &mut buffer, out)?;
    }
    // In an order that does not depend on the partitions.
    let mut messages: Vec<&MessageRecord> = partitions
        .iter()
        .flat_map(|p| &p.accounts.messages)
        .collect();
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

fn save_routers<M: Model>(
    partition: &Partition<'_, M>,
    at: u64,
    buffer: &mut Vec<u8>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut events: Vec<Event> = partition.calendar.pending().collect();
    // The rest of the order is the payload's. Where that is a slot, no two events
    // agree in what comes before it, so slots do not matter: but for packets that are lost, which
    // their numbers put in order.
    events.sort_unstable_by_key(|event| {
        let (packed, packets) = (event.pack(event.time), &partition.packets.hot);
        match node_subject(packed.payload()) {
            (LOST, Subject::Packet(slot)) if packed.kind() == Kind::Node => {
                let number = packets[slot as usize].sequence;
                (
                    event.router(),
                    event.time,
                    event.key - u64::from(slot),
                    number,
                )
            }
            _ => (event.router(), event.time, event.key, 0),
        }
    });
    let mut events = events.as_slice();
    let incomplete = partition.interfaces.incomplete.iter();
    let mut incomplete: Vec<(u32, u64, u64)> = incomplete
        .map(|(&key, message)| {
            let interface = interface_of(partition, message.destination);
            (interface, key, message.missing)
        })
        .collect();
    incomplete.sort_unstable();
    let message_routes = partition
        .routing
        .message_routes
        .iter()
        .flat_map(|all| all.iter());
    let mut message_routes: Vec<_> = message_routes
        .map(|(&key, &decision)| (key, decision))
        .collect();
    message_routes.sort_unstable_by_key(|&(key, _)| key);
    let flows = partition.interfaces.flows.iter();
    let flowlets = flows.flat_map(|flows| flows.flowlets.iter());
    let mut flowlets: Vec<_> = flowlets.map(|(&flow, &flowlet)| (flow, flowlet)).collect();
    flowlets.sort_unstable_by_key(|&(flow, _)| flow);
    let of_nodes = OfNodes {
        incomplete: &incomplete,
        flowlets: &flowlets,
    };
    let mut saver = Saver {
        partition,
        at,
        ranks: RanksOfNodes::new(partition),
        packets: 0,
    };
    for router in 0..partition.end_router - partition.base_router {
        let of_router = events.partition_point(|event| event.router() <= router);
        let (these, rest) = events.split_at(of_router);
        events = rest;
        let record = saver.router(router, these, of_nodes, &message_routes)?;
        write_record(&record, buffer, out)?;
    }
    if saver.packets != partition.packets.len() {
        return Err(io::Error::other(format!(
            "{} of {} packets found: this is an error in Odonata, please report it",
            saver.packets,
            partition.packets.len()
        )));
    }
    Ok(())
}

/// What is kept for all interfaces of a partition, sorted by interface.
#[derive(Clone, Copy)]
struct OfNodes<'s> {
    /// Interface, key and missing bytes of messages that have arrived in part.
    incomplete: &'s [(u32, u64, u64)],
    flowlets: &'s [(Flow, Flowlet)],
}

/// Makes the records of a partition's routers.
struct Saver<'p, 'a, M: Model> {
    partition: &'p Partition<'a, M>,
    at: u64,
    ranks: RanksOfNodes,
    /// Packets saved so far.
    packets: usize,
}

impl<M: Model> Saver<'_, '_, M> {
    /// `events`: all of this router. `message_routes`: the decisions of all routers that
    /// packets follow, sorted by router and message.
    fn router(
        &mut self,
        router: u32,
        events: &[Event],
        of_nodes: OfNodes<'_>,
        message_routes: &[(Visit, Decision)],
    ) -> io::Result<RouterRecord> {
        let partition = self.partition;
        let first = message_routes.partition_point(|&((at, ..), _)| at < router);
        let message_routes = message_routes[first..]
            .iter()
            .take_while(|&&((at, ..), _)| at == router);
        let ports = ports_of(partition, router);
        let vcs = partition.shared.vcs;
        let mut channels = Vec::with_capacity(ports.len() * vcs);
        let mut fifos = Vec::new();
        for port in ports.clone() {
            for vc in 0..vcs {
                let channel = &partition.ports.channels[partition.ports.grid.channel(port, vc)];
                channels.push(ChannelRecord {
                    credits: channel.credits,
                    queue: self.queue(channel.head),
                });
                if let Some(held) = partition.switch.held(partition.ports.grid, port, vc) {
                    fifos.push(FifoRecord {
                        room: held.room,
                        queue: self.queue(held.first),
                    });
                }
            }
        }
        let events = events
            .iter()
            .map(|&event| self.event(event))
            .collect::<io::Result<_>>()?;
        Ok(RouterRecord {
            ports: partition.ports.all[ports.clone()].to_vec(),
            channels,
            sides: partition.switch.sides(ports.clone()).to_vec(),
            fifos,
            occupancy: occupancies(partition, ports.clone())
                .iter()
                .map(|bytes| bytes.load(Ordering::Relaxed))
                .collect(),
            q_table: partition
                .routing
                .q_tables
                .get(router as usize)
                .map_or_else(Vec::new, |m| m.to_vec()),
            message_routes: message_routes
                .map(|&((_, visited, message), decision)| (visited, message, decision))
                .collect(),
            watches: partition.probe.links(ports.clone()).to_vec(),
            paced: partition.protocol.ports(ports.clone()).to_vec(),
            last_arrivals: partition.ports.last_arrivals(ports.clone()).to_vec(),
            shares: partition.scheduler.save(ports.clone()),
            nodes: interfaces_of(partition, router)
                .map(|index| self.node(index, of_nodes))
                .collect(),
            events,
        })
    }

    fn node(&self, index: usize, of_nodes: OfNodes<'_>) -> NodeRecord {
        let OfNodes {
            incomplete,
            flowlets,
        } = of_nodes;
        let partition = self.partition;
        let interface = &partition.interfaces.all[index];
        let link = partition.ports.of_routers + index;
        let channels = link << partition.ports.grid.shift;
        let channels = &partition.ports.channels[channels..channels + partition.shared.vcs];
        let sources = interface.sources.start as usize..interface.sources.end as usize;
        let first = incomplete.partition_point(|&(to, ..)| (to as usize) < index);
        let arriving = incomplete[first..]
            .iter()
            .take_while(|&&(to, ..)| to as usize == index);
        let first = flowlets.partition_point(|&((of, ..), _)| (of as usize) < index);
        let own_flows = flowlets[first..]
            .iter()
            .take_while(|&&((of, ..), _)| of as usize == index);
        NodeRecord {
            interface: interface.clone(),
            outgoing: partition
                .interfaces
                .waiting
                .iter(&interface.outgoing)
                .copied()
                .collect(),
            link: partition.ports.all[link],
            credits: channels.iter().map(|channel| channel.credits).collect(),
            sources: partition.interfaces.sources[sources]
                .iter()
                .map(|source| SourceRecord {
                    message: source.next_message,
                    time: source.next_time,
                })
                .collect(),
            ranks: self
                .ranks
                .of(index)
                .iter()
                .map(|&rank| partition.ranks.all[rank as usize].save())
                .collect(),
            incomplete: arriving.map(|&(_, key, bytes)| (key, bytes)).collect(),
            watch: partition.probe.links(link..link + 1).first().cloned(),
            pairs: partition.protocol.save(index),
            shares: partition.scheduler.save(link..link + 1).pop(),
            flowlets: own_flows
                .map(|&((_, to, flow), flowlet)| (to, flow, flowlet))
                .collect(),
        }
    }

    fn event(&mut self, event: Event) -> io::Result<EventRecord> {
        let packed = event.pack(event.time);
        let (kind, payload) = (packed.kind(), packed.payload());
        let about = match kind {
            Kind::Arrive => About::Packet(0, self.parcel(payload)),
            Kind::Node => match node_subject(payload) {
                (code, Subject::Packet(slot)) => About::Packet(code, self.parcel(slot)),
                (_, Subject::Number(_)) => About::Number(payload),
                (code, Subject::Rank(rank)) => About::Rank(code, self.ranks.number(rank)),
            },
            Kind::Wake | Kind::Credit => About::Number(payload),
        };
        let delay = event.time.checked_sub(self.at);
        Ok(EventRecord {
            delay: delay.ok_or_else(|| io::Error::other("an event lies in the past"))?,
            kind,
            port: packed.port() as u16,
            about,
        })
    }

    /// The packets of a queue.
    fn queue(&mut self, first: u32) -> Vec<Parcel> {
        let mut parcels = Vec::new();
        let mut slot = first;
        while slot != NIL {
            parcels.push(self.parcel(slot));
            slot = self.partition.packets.hot[slot as usize].next;
        }
        parcels
    }

    fn parcel(&mut self, slot: u32) -> Parcel {
        self.packets += 1;
        let packets = &self.partition.packets;
        let packet = packets.hot[slot as usize];
        let contents = (!packet.bare).then(|| packets.contents[slot as usize]);
        let note = M::Protocol::ON.then(|| self.partition.protocol.note(slot));
        Parcel {
            packet,
            contents,
            note,
        }
    }
}
