//! Finds packets that wait for each other in a circle.

use std::collections::{HashMap, HashSet};

use odonata_network::Routing;
use odonata_units::{NodeId, Picoseconds, PortId, RouterId};

use super::crossbar::BoundedCrossbar;
use super::packets::{NIL, Packet};
use super::partition::Partition;
use super::shared::Shared;
use crate::error::{SimError, StuckPacket};

/// A virtual channel of a link, named by its sending port (global number).
type Channel = (u32, u8);

/// Fails if some packets can never move again, whatever happens elsewhere.
///
/// A channel is blocked if its first packet lacks credits. It stays blocked if
/// all the packets in the buffer at its other end wait for channels that stay
/// blocked: the greatest set of channels with that property is the deadlock.
pub(super) fn check<R: Routing>(
    shared: &Shared<'_>,
    partitions: &[Partition<'_, R>],
) -> Result<(), SimError> {
    let mut waits: HashMap<Channel, Packet> = HashMap::new();
    // Packets in the buffer behind a channel: which channels they wait for, and their bytes.
    let mut occupants: HashMap<Channel, (Vec<Channel>, u64)> = HashMap::new();
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
                    && partition.packets.hot[slot as usize].size > lane.credits
                {
                    waits.insert(channel, partition.packets.hot[slot as usize]);
                    downstream.insert(channel, u64::from(class.buffer - lane.credits));
                }
                while slot != NIL {
                    let packet = &partition.packets.hot[slot as usize];
                    let entry = occupants.entry(held(shared, packet)).or_default();
                    entry.0.push(channel);
                    entry.1 += u64::from(packet.size);
                    slot = packet.next;
                }
                if let Some(crossbar) = &partition.crossbar {
                    wait_in_fifo(shared, partition, crossbar, port, vc, &mut occupants);
                }
            }
        }
    }
    let mut blocked: HashSet<Channel> = waits.keys().copied().collect();
    loop {
        let freed: Vec<Channel> = blocked
            .iter()
            .filter(|channel| {
                // Bytes that are on the wire or whose credit is: they will move.
                let (waiting_for, bytes) = occupants
                    .get(channel)
                    .map_or((&[][..], 0), |o| (&o.0[..], o.1));
                bytes < downstream[channel]
                    || waiting_for.iter().any(|next| !blocked.contains(next))
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
        let last = path[path.len() - 1];
        let next = *occupants[&last]
            .0
            .iter()
            .min()
            .expect("a blocked channel leads to an occupied buffer");
        if let Some(at) = path.iter().position(|&channel| channel == next) {
            break path.split_off(at);
        }
        path.push(next);
    };
    let cycle = cycle
        .iter()
        .map(|channel| {
            let packet = &waits[channel];
            StuckPacket {
                holds: if partitions[0].crossbar.is_some() {
                    format!("the output buffer of {}", name(shared, *channel))
                } else {
                    format!("the buffer behind {}", name(shared, held(shared, packet)))
                },
                waits_for: name(shared, *channel),
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

/// The channel whose buffer holds a packet.
fn held(shared: &Shared<'_>, packet: &Packet) -> Channel {
    let first = shared.topology.first_port[packet.upstream_router as usize];
    (first + u32::from(packet.upstream_port), packet.route.vc)
}

/// The packets of an input FIFO move when the first one does, and that waits
/// for its output buffer if there is no room.
fn wait_in_fifo<R: Routing>(
    shared: &Shared<'_>,
    partition: &Partition<'_, R>,
    crossbar: &BoundedCrossbar,
    port: usize,
    vc: usize,
    occupants: &mut HashMap<Channel, (Vec<Channel>, u64)>,
) {
    let first = crossbar.first(port * shared.vcs + vc);
    if first == NIL {
        return;
    }
    let packet = &partition.packets.hot[first as usize];
    let router = shared
        .topology
        .router_of_port(PortId(partition.base_port + port as u32));
    let output = shared.topology.first_port[router.index()] + u32::from(packet.out_port);
    let lane = (output - partition.base_port) as usize * shared.vcs + usize::from(packet.out_vc);
    let entry = occupants.entry(held(shared, packet)).or_default();
    if crossbar.has_room(lane, packet.size) {
        return;
    }
    entry.0.push((output, packet.out_vc));
    let mut slot = first;
    while slot != NIL {
        let packet = &partition.packets.hot[slot as usize];
        entry.1 += u64::from(packet.size);
        slot = packet.next;
    }
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
