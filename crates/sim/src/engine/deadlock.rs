//! Finds packets that wait for each other in a circle.

use std::collections::{HashMap, HashSet};

use odonata_network::Routing;
use odonata_units::{NodeId, Picoseconds, PortId, RouterId};

use super::crossbar::BoundedCrossbar;
use super::packets::{NIL, Packet};
use super::partition::Partition;
use super::probe::Probe;
use super::shared::Shared;
use crate::error::{SimError, StuckPacket};

/// A virtual channel of a link, named by its sending port (global number).
type Channel = (u32, u8);

/// The packets in the buffer behind a channel that have asked to go on.
#[derive(Default)]
struct Occupants {
    /// What they wait for, and who; with a bounded crossbar, of the first alone.
    waiting: Vec<(Channel, Packet)>,
    /// Bytes of all of them.
    bytes: u64,
}

/// Fails if some packets can never move again, whatever happens elsewhere.
///
/// A channel is blocked if its first packet lacks credits. It stays blocked if
/// all the packets in the buffer at its other end wait for channels that stay
/// blocked: the greatest set of channels with that property is the deadlock.
/// With a bounded crossbar a packet waits for a channel by lacking room in that
/// channel's output buffer, and only the first packet of a buffer can move. Where
/// the crossbar takes the credits, everything in an output buffer will leave, and
/// a packet waits for a channel by lacking its credits.
pub(super) fn check<R: Routing, P: Probe>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, R, P>>],
) -> Result<(), SimError> {
    let mut occupants: HashMap<Channel, Occupants> = HashMap::new();
    // Bytes that the senders of blocked channels know of behind them.
    let mut downstream: HashMap<Channel, u64> = HashMap::new();
    for partition in partitions {
        for port in 0..partition.router_ports {
            let global = partition.base_port + port as u32;
            let state = &partition.ports[port];
            for vc in 0..shared.vcs {
                let lane = &partition.lanes[(port << partition.lane_shift) + vc];
                let channel = (global, vc as u8);
                let class = &shared.classes[state.class as usize];
                let mut slot = lane.head;
                if slot != NIL
                    && !class.terminal
                    && !partition.credits_at_crossbar
                    && partition.packets.hot[slot as usize].size > lane.credits
                {
                    downstream.insert(channel, u64::from(class.buffer - lane.credits));
                }
                if let Some(crossbar) = &partition.crossbar {
                    let Some((channel, lacking)) =
                        wait_in_fifo(shared, partition, crossbar, port, vc, &mut occupants)
                    else {
                        continue;
                    };
                    if partition.credits_at_crossbar {
                        downstream.insert(channel, lacking);
                    }
                    continue;
                }
                while slot != NIL {
                    let packet = &partition.packets.hot[slot as usize];
                    let entry = occupants.entry(held(shared, packet)).or_default();
                    entry.waiting.push((channel, *packet));
                    entry.bytes += u64::from(packet.size);
                    slot = packet.next;
                }
            }
        }
    }
    let nobody = Occupants::default();
    let behind = |channel: &Channel| occupants.get(channel).unwrap_or(&nobody);
    let mut blocked: HashSet<Channel> = downstream.keys().copied().collect();
    loop {
        let freed: Vec<Channel> = blocked
            .iter()
            .filter(|channel| {
                // Bytes that are on the wire or whose credit is: they will move.
                let Occupants { waiting, bytes } = behind(channel);
                *bytes < downstream[channel]
                    || waiting.iter().any(|(next, _)| !blocked.contains(next))
            })
            .copied()
            .collect();
        if freed.is_empty() {
            break;
        }
        for channel in freed {
            blocked.remove(&channel);
        }
    }
    let Some(&start) = blocked.iter().min() else {
        return Ok(());
    };
    let mut path = vec![start];
    let cycle = loop {
        let next = first_wish(behind(&path[path.len() - 1])).0;
        if let Some(at) = path.iter().position(|&channel| channel == next) {
            break path.split_off(at);
        }
        path.push(next);
    };
    let cycle = cycle
        .iter()
        .map(|channel| {
            let (next, packet) = first_wish(behind(channel));
            StuckPacket {
                holds: format!("the buffer behind {}", name(shared, *channel)),
                waits_for: name(shared, *next),
                source: NodeId(packet.source),
                destination: destination(shared, packet),
            }
        })
        .collect();
    Err(SimError::Deadlock {
        at: Picoseconds(partitions.iter().map(|p| p.last_move).max().unwrap_or(0)),
        packets: partitions.iter().map(|p| p.packets.len() as u64).sum(),
        cycle,
    })
}

/// One of the channels that the packets behind a blocked channel wait for,
/// always the same, and a packet that waits for it.
fn first_wish(occupants: &Occupants) -> &(Channel, Packet) {
    occupants
        .waiting
        .iter()
        .min_by_key(|(channel, packet)| (*channel, packet.source, packet.sequence))
        .expect("a blocked channel leads to an occupied buffer")
}

/// The channel whose buffer holds a packet.
fn held(shared: &Shared<'_>, packet: &Packet) -> Channel {
    let first = shared.topology.first_port[packet.upstream_router as usize];
    (first + u32::from(packet.upstream_port), packet.route.vc)
}

/// The packets of an input FIFO move when the first one does, and that waits
/// for its output buffer if the packets in it leave no room, or for credits.
/// Returns the channel that it waits for, if any, and how many bytes its sender
/// knows of behind it.
fn wait_in_fifo<R: Routing, P: Probe>(
    shared: &Shared<'_>,
    partition: &Partition<'_, R, P>,
    crossbar: &BoundedCrossbar,
    port: usize,
    vc: usize,
    occupants: &mut HashMap<Channel, Occupants>,
) -> Option<(Channel, u64)> {
    let first = crossbar.first(port * shared.vcs + vc);
    if first == NIL {
        return None;
    }
    let packets = &partition.packets.hot;
    let bytes_from = |mut slot: u32| {
        let mut bytes = 0;
        while slot != NIL {
            bytes += u64::from(packets[slot as usize].size);
            slot = packets[slot as usize].next;
        }
        bytes
    };
    let packet = packets[first as usize];
    let router = shared
        .topology
        .router_of_port(PortId(partition.base_port + port as u32));
    let output = shared.topology.first_port[router.index()] + u32::from(packet.out_port);
    let local = (output - partition.base_port) as usize;
    let lane = &partition.lanes[(local << partition.lane_shift) + usize::from(packet.out_vc)];
    let class = &shared.classes[partition.ports[local].class as usize];
    let waits = if partition.credits_at_crossbar {
        !class.terminal && packet.size > lane.credits
    } else {
        // What is being sent leaves the output buffer soon.
        bytes_from(lane.head) + u64::from(packet.size) > crossbar.output_buffer()
    };
    if !waits {
        return None;
    }
    let channel = (output, packet.out_vc);
    let entry = occupants.entry(held(shared, &packet)).or_default();
    entry.waiting.push((channel, packet));
    entry.bytes += bytes_from(first);
    Some((channel, u64::from(class.buffer - lane.credits)))
}

fn name(shared: &Shared<'_>, (port, vc): Channel) -> String {
    let topology = shared.topology;
    let router = topology.router_of_port(PortId(port));
    let group = topology.group_of_router[router.index()];
    let relative = port - topology.first_port[router.index()];
    format!("port {relative} of router {router} (group {group}), virtual channel {vc}")
}

fn destination(shared: &Shared<'_>, packet: &Packet) -> NodeId {
    let first = shared.topology.first_port[RouterId(packet.route.destination_router).index()];
    match shared.topology.peer[first as usize + usize::from(packet.route.destination_port)] {
        odonata_network::Peer::Node(node) => node,
        _ => NodeId(NIL),
    }
}
