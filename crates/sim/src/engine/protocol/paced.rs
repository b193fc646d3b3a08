//! Nodes that keep account of each other that they send to, by the scheme of the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use odonata_network::topology::InterfaceChoice;
use odonata_run::{CongestionControl, HeldPair, KeyMap};
use odonata_units::NodeId;
use odonata_units::random::{Purpose, StreamKey};
use serde::{Deserialize, Serialize};

use super::slingshot::{Edge, Joined, Member};
use super::{Link, Meter, Note, Notice, Pair, Protocol, Sent, Waiting, ecn, infiniband};
use crate::engine::interface::Interface;
use crate::engine::packets::Packet;
use crate::engine::port::NEVER;
use crate::engine::shared::Shared;

/// The nodes of a partition, and the ports of its routers.
pub(in crate::engine) struct Paced {
    keys: CongestionControl,
    /// Largest packet.
    packet: u32,
    marking: StreamKey,
    /// Ranks of a node with an inside; 0: nodes have none.
    ranks_of_node: u32,
    /// What packets have collected, by slot.
    notes: Vec<Note>,
    nodes: Vec<Node>,
    /// See [`Protocol::ports`].
    ports: Vec<PortState>,
}

/// What a port keeps for a scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct PortState {
    /// Packets that it has not marked since the last that it has.
    pub unmarked: u32,
    pub meter: Meter,
}

#[derive(Clone, Debug, Default)]
struct Node {
    number: u32,
    /// Rate of its link.
    line: u64,
    /// By receiving node.
    pairs: KeyMap<Pair>,
    /// What it is to hear.
    inbox: BinaryHeap<Reverse<Notice>>,
    /// When it last notified senders of marked packets.
    notified: KeyMap<u64>,
    /// Whom its router holds back for it.
    edge: Edge,
}

/// The state of a node.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::engine) struct NodeState {
    pub pairs: Vec<Pair>,
    pub inbox: Vec<Notice>,
    /// Senders that were notified of marked packets, and when last.
    pub notified: Vec<(u32, u64)>,
    pub members: Vec<Member>,
}

impl Paced {
    /// Whether two ranks are in one node: interfaces, and with them schemes, have no part in what
    /// they send to each other.
    fn in_one_node(&self, one: u32, other: u32) -> bool {
        let node = |rank: u32| rank.checked_div(self.ranks_of_node);
        node(one).is_some_and(|of_one| node(other) == Some(of_one))
    }

    /// Whether a port marks a packet that joins what waits for it.
    fn marks(&mut self, packet: &Packet, waiting: Waiting) -> bool {
        match &self.keys {
            CongestionControl::Ecn(keys) => {
                let probability = ecn::mark_probability(keys, u64::from(waiting.bytes));
                let entity = u64::from(packet.source) << 32 | u64::from(packet.sequence);
                let draw = || self.marking.unit(entity, u32::from(packet.routers));
                probability > 0.0 && (probability >= 1.0 || draw() < probability)
            }
            CongestionControl::Infiniband(keys) => {
                // Where what waits lacks room, the congestion is elsewhere.
                let root = waiting.interface.is_some() || !waiting.stalled;
                let threshold = infiniband::threshold(keys, waiting.buffer);
                if !root || threshold.is_none_or(|bytes| u64::from(waiting.bytes) <= bytes) {
                    return false;
                }
                let unmarked = &mut self.ports[waiting.port].unmarked;
                if *unmarked < keys.marking_rate {
                    *unmarked += 1;
                    return false;
                }
                *unmarked = 0;
                true
            }
            _ => false,
        }
    }
}

/// Bytes per second that a node may send to another: of a rank, what the interfaces that a message
/// of it takes carry.
fn line(shared: &Shared<'_>, interface: &Interface) -> u64 {
    let class = &shared.classes[usize::from(interface.class)];
    let terminal = class.rate.bandwidth.bytes_per_second();
    let Some(inside) = &shared.topology.inside else {
        return terminal;
    };
    let own = match inside.choice {
        InterfaceChoice::Striped => inside.interfaces,
        _ => inside.nearest(interface.node % inside.ranks).1,
    };
    let node = inside.node_of(NodeId(interface.node));
    let all = inside.interface_bandwidth(node);
    terminal.min(all / u64::from(inside.interfaces) * u64::from(own))
}

/// Bytes that a link of so many bytes per second carries in a time.
fn bytes_in(line: u64, ps: u64) -> u64 {
    let bytes = u128::from(line) * u128::from(ps) / 1_000_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl Protocol for Paced {
    const ON: bool = true;

    fn new(shared: &Shared<'_>, ports: usize, interfaces: &[Interface]) -> Self {
        let keys = shared.config.nic.congestion_control.clone();
        let node = |interface: &Interface| Node {
            number: interface.node,
            line: line(shared, interface),
            ..Node::default()
        };
        Self {
            ports: match keys {
                CongestionControl::Infiniband(_) | CongestionControl::Hpcc(_) => {
                    vec![PortState::default(); ports]
                }
                _ => Vec::new(),
            },
            keys,
            packet: shared.packet,
            marking: StreamKey::new(shared.config.seed, Purpose::Marking),
            ranks_of_node: shared
                .topology
                .inside
                .as_ref()
                .map_or(0, |inside| inside.ranks),
            notes: Vec::new(),
            nodes: interfaces.iter().map(node).collect(),
        }
    }

    fn permitted(&mut self, interface: usize, to: u32, bytes: u32, now: u64) -> u64 {
        match self.nodes[interface].pairs.get_mut(&u64::from(to)) {
            Some(pair) => pair.permitted(&self.keys, bytes, now),
            None => now,
        }
    }

    fn sent(&mut self, interface: usize, to: u32, packet: Sent) {
        if self.in_one_node(self.nodes[interface].number, to) {
            return;
        }
        let Self { keys, nodes, .. } = self;
        let node = &mut nodes[interface];
        let line = node.line;
        // Rates and delays are kept from the first notification on, what is under way always.
        let pair = match keys {
            CongestionControl::Window(_)
            | CongestionControl::Hpcc(_)
            | CongestionControl::Slingshot(_) => match node.pairs.entry(u64::from(to)) {
                Entry::Occupied(pair) => Some(pair.into_mut()),
                Entry::Vacant(place) => {
                    Pair::new(keys, to, line, packet.now).map(|pair| place.insert(pair))
                }
            },
            _ => node.pairs.get_mut(&u64::from(to)),
        };
        if let Some(pair) = pair {
            pair.sent(keys, packet, line);
        }
    }

    fn lost(&mut self, interface: usize, to: u32, bytes: u32) {
        let Self { keys, nodes, .. } = self;
        let node = &mut nodes[interface];
        if let Entry::Occupied(mut pair) = node.pairs.entry(u64::from(to)) {
            pair.get_mut().lost(bytes);
            if pair.get().is_as_new(keys, node.line) {
                pair.remove();
            }
        }
    }

    fn note(&self, slot: u32) -> Note {
        self.notes[slot as usize]
    }

    fn set_note(&mut self, slot: u32, note: Note) {
        if self.notes.len() <= slot as usize {
            self.notes.resize(slot as usize + 1, Note::default());
        }
        self.notes[slot as usize] = note;
    }

    fn passed(&mut self, slot: u32, ps: u64, link: Link, now: u64) {
        let note = &mut self.notes[slot as usize];
        note.way += ps;
        if let CongestionControl::Hpcc(keys) = &self.keys {
            let meter = &mut self.ports[link.port].meter;
            let load = meter.leaves(keys, link.line, u64::from(link.waiting), link.bytes, now);
            note.load = load.max(note.load);
        }
    }

    fn queued(&mut self, slot: u32, packet: &Packet, waiting: Waiting, now: u64) -> Option<Notice> {
        if self.marks(packet, waiting) {
            self.notes[slot as usize].marked = true;
        }
        let interface = waiting.interface?;
        if self.in_one_node(packet.source, self.nodes[interface].number) {
            return None;
        }
        let CongestionControl::Slingshot(keys) = &self.keys else {
            return None;
        };
        let node = &mut self.nodes[interface];
        let way = self.notes[slot as usize].way;
        let joined = Joined {
            source: packet.source,
            waiting: waiting.bytes,
            // The packet is on the node's link for a while as well.
            round_trip: bytes_in(node.line, 2 * way) + 2 * u64::from(self.packet),
            packet: self.packet,
        };
        let window = node.edge.joined(keys, joined, now)?;
        Some(Notice {
            at: now + way,
            from: node.number,
            bytes: 0,
            window,
            load: 0,
        })
    }

    fn delivered(
        &mut self,
        slot: u32,
        packet: &Packet,
        interface: usize,
        time: u64,
    ) -> Option<Notice> {
        if self.in_one_node(packet.source, self.nodes[interface].number) {
            return None;
        }
        let note = self.notes[slot as usize];
        let node = &mut self.nodes[interface];
        let (bytes, window) = match &self.keys {
            CongestionControl::None => return None,
            CongestionControl::Window(_) | CongestionControl::Hpcc(_) => (packet.size, NEVER),
            CongestionControl::Slingshot(_) => (packet.size, node.edge.window(packet.source)),
            _ if !note.marked => return None,
            CongestionControl::Infiniband(_) => (0, NEVER),
            CongestionControl::Ecn(keys) => {
                let last = node.notified.entry(u64::from(packet.source));
                let mut due = true;
                last.and_modify(|last| {
                    due = *last + keys.notification_interval_ps <= time;
                    if due {
                        *last = time;
                    }
                })
                .or_insert(time);
                if !due {
                    return None;
                }
                (0, NEVER)
            }
        };
        Some(Notice {
            at: time + note.way,
            from: node.number,
            bytes,
            window,
            load: note.load,
        })
    }

    fn listen(&mut self, interface: usize, notice: Notice) {
        self.nodes[interface].inbox.push(Reverse(notice));
    }

    fn heard(&mut self, interface: usize, now: u64, warmup: u64) {
        let Self { keys, nodes, .. } = self;
        let node = &mut nodes[interface];
        let line = node.line;
        while let Some(&Reverse(notice)) = node.inbox.peek()
            && notice.at <= now
        {
            node.inbox.pop();
            let mut place = match node.pairs.entry(u64::from(notice.from)) {
                Entry::Occupied(pair) => pair,
                Entry::Vacant(place) => match Pair::new(keys, notice.from, line, now) {
                    Some(pair) => place.insert_entry(pair),
                    None => continue,
                },
            };
            let pair = place.get_mut();
            pair.account.notifications += u64::from(notice.bytes == 0 && now >= warmup);
            pair.heard(keys, notice, line, now);
            // A node that sends to all others would keep as many, which no cache holds.
            if pair.is_as_new(keys, line) {
                place.remove();
            }
        }
    }

    fn begin_measuring(&mut self) {
        for pair in self
            .nodes
            .iter_mut()
            .flat_map(|node| node.pairs.values_mut())
        {
            let account = &mut pair.account;
            (account.notifications, account.held_ps, account.held_bytes) = (0, 0, 0);
        }
    }

    fn held_pairs(&self, warmup: u64, end: u64) -> Vec<HeldPair> {
        let pairs = self.nodes.iter();
        let pairs = pairs.flat_map(|node| node.pairs.values().map(|pair| (node.number, pair)));
        let pairs = pairs.map(|(source, pair)| {
            let account = &pair.account;
            let waits = match account.held_since {
                NEVER => 0,
                since => end.saturating_sub(since.max(warmup)),
            };
            HeldPair {
                source: NodeId(source),
                destination: NodeId(pair.to),
                notifications: account.notifications,
                held_ps: account.held_ps + waits,
                held_bytes: account.held_bytes,
            }
        });
        let touched = |pair: &HeldPair| pair.notifications > 0 || pair.held_ps > 0;
        pairs.filter(touched).collect()
    }

    fn save(&self, interface: usize) -> Option<NodeState> {
        let node = &self.nodes[interface];
        let mut pairs: Vec<Pair> = node.pairs.values().copied().collect();
        pairs.sort_unstable_by_key(|pair| pair.to);
        let mut inbox: Vec<Notice> = node.inbox.iter().map(|notice| notice.0).collect();
        inbox.sort_unstable();
        let notified = node.notified.iter();
        let mut notified: Vec<(u32, u64)> = notified
            .map(|(&source, &time)| (source as u32, time))
            .collect();
        notified.sort_unstable();
        Some(NodeState {
            pairs,
            inbox,
            notified,
            members: node.edge.members.clone(),
        })
    }

    fn restore(&mut self, interface: usize, saved: NodeState) {
        let node = &mut self.nodes[interface];
        let pairs = saved.pairs.into_iter();
        node.pairs = pairs.map(|pair| (u64::from(pair.to), pair)).collect();
        node.inbox = saved.inbox.into_iter().map(Reverse).collect();
        let notified = saved.notified.into_iter();
        node.notified = notified
            .map(|(source, time)| (u64::from(source), time))
            .collect();
        node.edge.members = saved.members;
    }

    fn ports(&self, ports: Range<usize>) -> &[PortState] {
        self.ports.get(ports).unwrap_or(&[])
    }

    fn restore_ports(&mut self, first: usize, saved: &[PortState]) {
        if let Some(ports) = self.ports.get_mut(first..first + saved.len()) {
            ports.copy_from_slice(saved);
        }
    }
}
