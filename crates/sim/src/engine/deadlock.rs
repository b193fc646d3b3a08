//! Finds packets that wait for each other in a circle.

use std::collections::HashMap;

use odonata_run::{SimError, StuckPacket};
use odonata_units::{NodeId, Picoseconds, PortId, RouterId};

use super::model::Model;
use super::packets::{NIL, Packet};
use super::partition::Partition;
use super::shared::Shared;
use super::switch::Switch;

/// A virtual channel of a link, named by its sending port (global number).
type Channel = (u32, u8);

/// A packet that waits for a channel, with those behind it that go when it goes.
struct Wait {
    channel: Channel,
    packet: Packet,
    /// Bytes of all of them, and their number.
    bytes: u64,
    packets: u64,
}

/// A channel whose first packet lacks credits.
struct Blocked {
    channel: Channel,
    /// Bytes that its sender knows of behind it.
    downstream: u64,
    /// What the packets in the buffer behind it wait for that have asked to go on; with a
    /// bounded crossbar the first alone.
    waiting: Vec<Wait>,
}

/// When a run is looked at that has come to `time`: four times while it doubles, so that
/// looking costs next to nothing however long it runs, and a standstill is found before a
/// run that goes on beside it is a quarter older. The same for runs that were resumed.
pub(super) fn next_look(time: u64) -> u64 {
    /// Shorter runs are looked at as they end; in ps.
    const FIRST: u64 = 1 << 23;
    if time < FIRST {
        return FIRST;
    }
    let quarter = time.ilog2() - 2;
    ((time >> quarter) + 1) << quarter
}

/// Fails if some packets can never move again, whatever happens elsewhere. `now`: the
/// time, if the run goes on.
///
/// A channel is blocked if its first packet lacks credits. It stays blocked if
/// all the packets in the buffer at its other end wait for channels that stay
/// blocked: the greatest set of channels with that property is the deadlock.
/// With a bounded crossbar a packet waits for a channel by lacking room in that
/// channel's output buffer, and only the first packet of a buffer can move. Where
/// the crossbar takes the credits, everything in an output buffer will leave, and
/// a packet waits for a channel by lacking its credits.
pub(super) fn check<M: Model>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, M>>],
    now: Option<Picoseconds>,
) -> Result<(), SimError> {
    let mut blocked = Vec::new();
    for partition in partitions {
        find_blocked(shared, partition, &mut blocked);
    }
    if blocked.is_empty() {
        return Ok(());
    }
    // A crossbar may have several packets that lack the credits of one channel.
    blocked.sort_unstable_by_key(|b: &Blocked| b.channel);
    blocked.dedup_by_key(|b| b.channel);
    let place: HashMap<Channel, usize> = blocked.iter().map(|b| b.channel).zip(0..).collect();
    for partition in partitions {
        for_each_wait(shared, partition, |wait| {
            if let Some(&behind) = place.get(&held(shared, &wait.packet)) {
                blocked[behind].waiting.push(wait);
            }
        });
    }
    // The channels behind which packets wait for each channel.
    let mut waiting_for = vec![Vec::new(); blocked.len()];
    let mut stuck = vec![true; blocked.len()];
    let mut freed = Vec::new();
    for (index, of) in blocked.iter().enumerate() {
        let mut goes_on = false;
        for wait in &of.waiting {
            match place.get(&wait.channel) {
                Some(&next) => waiting_for[next].push(index),
                None => goes_on = true,
            }
        }
        // Bytes that are on the wire or whose credit is: they will move.
        if goes_on || of.waiting.iter().map(|wait| wait.bytes).sum::<u64>() < of.downstream {
            stuck[index] = false;
            freed.push(index);
        }
    }
    while let Some(index) = freed.pop() {
        for &behind in &waiting_for[index] {
            if std::mem::replace(&mut stuck[behind], false) {
                freed.push(behind);
            }
        }
    }
    // In the order of channels, so that the circle is always the same.
    let Some(start) = stuck.iter().position(|&stuck| stuck) else {
        return Ok(());
    };
    let mut path = vec![start];
    let cycle = loop {
        let next = place[&first_wish(&blocked[path[path.len() - 1]]).channel];
        if let Some(at) = path.iter().position(|&index| index == next) {
            break path.split_off(at);
        }
        path.push(next);
    };
    let cycle = cycle
        .iter()
        .map(|&index| {
            let Wait {
                channel, packet, ..
            } = first_wish(&blocked[index]);
            StuckPacket {
                holds: format!("the buffer behind {}", name(shared, blocked[index].channel)),
                waits_for: name(shared, *channel),
                source: NodeId(packet.source),
                destination: destination(shared, packet),
            }
        })
        .collect();
    let mut packets = 0;
    for partition in partitions {
        for_each_wait(shared, partition, |wait| {
            if place.get(&wait.channel).is_some_and(|&index| stuck[index]) {
                packets += wait.packets;
            }
        });
    }
    // The last of the window that it lies in, which is the same for any partitions.
    let last_move = partitions.iter().map(|p| p.last_move).max().unwrap_or(0);
    let shift = shared.window_shift();
    Err(SimError::Deadlock {
        at: now.unwrap_or(Picoseconds(last_move >> shift << shift)),
        packets,
        cycle,
    })
}

/// Adds the channels of a partition whose first packet lacks credits.
fn find_blocked<M: Model>(
    shared: &Shared<'_>,
    partition: &Partition<'_, M>,
    blocked: &mut Vec<Blocked>,
) {
    let new = |channel, downstream| Blocked {
        channel,
        downstream,
        waiting: Vec::new(),
    };
    for port in 0..partition.ports.of_routers {
        let class = &shared.classes[partition.ports.all[port].class as usize];
        for vc in 0..shared.vcs {
            if M::Switch::HAS_FIFOS && partition.switch.takes_credits() {
                let wait = wait_in_fifo(shared, partition, port, vc);
                blocked.extend(wait.map(|(wait, lacking)| new(wait.channel, lacking)));
                continue;
            }
            let state = &partition.ports.channels[partition.ports.grid.channel(port, vc)];
            let lacks_credits = match partition.switch.held(partition.ports.grid, port, vc) {
                Some(held) if !M::Switch::HAS_FIFOS => held.first != NIL,
                _ => {
                    state.head != NIL
                        && partition.packets.hot[state.head as usize].size > state.credits
                }
            };
            if lacks_credits && !class.terminal {
                let channel = (partition.base_port + port as u32, vc as u8);
                blocked.push(new(channel, u64::from(class.buffer - state.credits)));
            }
        }
    }
}

/// Tells of every packet of a partition that is next to leave its buffer, or, with an
/// ideal crossbar, in it.
fn for_each_wait<M: Model>(
    shared: &Shared<'_>,
    partition: &Partition<'_, M>,
    mut tell: impl FnMut(Wait),
) {
    for port in 0..partition.ports.of_routers {
        for vc in 0..shared.vcs {
            if M::Switch::HAS_FIFOS {
                if let Some((wait, _)) = wait_in_fifo(shared, partition, port, vc) {
                    tell(wait);
                }
                continue;
            }
            let index = partition.ports.grid.channel(port, vc);
            // What has passed to an output queue leaves; what has not holds its buffer.
            let mut slot = match partition.switch.held(partition.ports.grid, port, vc) {
                Some(held) => held.first,
                None => partition.ports.channels[index].head,
            };
            while slot != NIL {
                let packet = partition.packets.hot[slot as usize];
                tell(Wait {
                    channel: (partition.base_port + port as u32, vc as u8),
                    packet,
                    bytes: u64::from(shared.room(&packet)),
                    packets: 1,
                });
                slot = packet.next;
            }
        }
    }
}

/// What one of the packets behind a blocked channel waits for, always the same.
fn first_wish(blocked: &Blocked) -> &Wait {
    let order = |wait: &&Wait| (wait.channel, wait.packet.source, wait.packet.sequence);
    let first = blocked.waiting.iter().min_by_key(order);
    first.expect("a blocked channel leads to an occupied buffer")
}

/// The channel whose buffer holds a packet.
fn held(shared: &Shared<'_>, packet: &Packet) -> Channel {
    let first = shared.topology.first_port[packet.upstream_router as usize];
    (first + u32::from(packet.upstream_port), packet.lane)
}

/// The packets of an input FIFO move when the first one does, and that waits
/// for its output buffer if the packets in it leave no room, or for credits.
/// Returns what it waits for, if anything, and how many bytes the sender of that channel
/// knows of behind it.
fn wait_in_fifo<M: Model>(
    shared: &Shared<'_>,
    partition: &Partition<'_, M>,
    port: usize,
    vc: usize,
) -> Option<(Wait, u64)> {
    let output_buffer = partition.switch.output_buffer()?;
    let first = (partition.switch)
        .held(partition.ports.grid, port, vc)?
        .first;
    if first == NIL {
        return None;
    }
    let packets = &partition.packets.hot;
    let all_from = |mut slot: u32| {
        let (mut bytes, mut count) = (0, 0);
        while slot != NIL {
            bytes += u64::from(packets[slot as usize].size);
            count += 1;
            slot = packets[slot as usize].next;
        }
        (bytes, count)
    };
    let packet = packets[first as usize];
    let router = shared
        .topology
        .router_of_port(PortId(partition.base_port + port as u32));
    let output = shared.topology.first_port[router.index()] + u32::from(packet.out_port);
    let local = (output - partition.base_port) as usize;
    let channel = &partition.ports.channels[partition
        .ports
        .grid
        .channel(local, usize::from(packet.out_vc))];
    let class = &shared.classes[partition.ports.all[local].class as usize];
    let waits = if partition.switch.takes_credits() {
        !class.terminal && packet.size > channel.credits
    } else {
        // What is being sent leaves the output buffer soon.
        all_from(channel.head).0 + u64::from(packet.size) > output_buffer
    };
    if !waits {
        return None;
    }
    let (bytes, packets) = all_from(first);
    let wait = Wait {
        channel: (output, packet.out_vc),
        packet,
        bytes,
        packets,
    };
    Some((wait, u64::from(class.buffer - channel.credits)))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all simulated time.
    #[test]
    fn looks_are_few_and_no_quarter_of_a_run_is_without_one() {
        let (mut time, mut looks) = (0, 0);
        while time <= Picoseconds::LARGEST.0 {
            let next = next_look(time);
            assert_eq!(next_look(next - 1), next);
            assert!(next > time && (time == 0 || (next - time) * 4 <= time));
            (time, looks) = (next, looks + 1);
        }
        assert!(looks < 160, "{looks}");
    }
}
