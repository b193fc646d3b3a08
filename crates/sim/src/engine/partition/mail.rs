//! What goes from one partition to another.

use odonata_run::memory::{prefetch, prefetch_to_write};

use super::Partition;
use crate::engine::calendar::{Event, Kind};
use crate::engine::model::Model;
use crate::engine::packets::{Contents, Packet};
use crate::engine::payload::HEARD;
use crate::engine::protocol::{Note, Notice, Protocol};

/// Events for the routers of another partition, which count in that partition.
#[derive(Debug, Default)]
pub(in crate::engine) struct Mail {
    /// Credits, and feedback of routing that learns.
    credits: Vec<Event>,
    /// Without the slots of their packets, which are found where these arrive.
    arrivals: Vec<Event>,
    /// Shape: arrivals.
    packets: Vec<Packet>,
    /// Contents of the packets that are not bare, in the same order.
    contents: Vec<Contents>,
    /// With a protocol: what packets have collected. Shape: arrivals.
    notes: Vec<Note>,
    /// What nodes are to hear, by their router there and their port. The events are with credits.
    notices: Vec<(u32, u32, Notice)>,
}

impl Mail {
    pub fn is_empty(&self) -> bool {
        self.credits.is_empty() && self.arrivals.is_empty()
    }
}

/// The partitions of a run, and what this one has for them.
pub(in crate::engine) struct Neighbours {
    /// First router of each partition, and one past the last.
    pub bounds: Vec<u32>,
    /// Partition of every router of the network.
    partition_of: Vec<u16>,
    /// Events for other partitions. Shape: partitions.
    pub mail: Vec<Mail>,
}

impl Neighbours {
    pub fn new(bounds: &[u32]) -> Self {
        let pairs = bounds.windows(2).zip(0u16..);
        Self {
            bounds: bounds.to_vec(),
            partition_of: pairs
                .flat_map(|(pair, partition)| (pair[0]..pair[1]).map(move |_| partition))
                .collect(),
            mail: (1..bounds.len()).map(|_| Mail::default()).collect(),
        }
    }

    /// Partition of a router of the network, and the router's number there.
    #[inline(always)]
    fn place(&self, router: u32) -> (usize, u32) {
        let partition = usize::from(self.partition_of[router as usize]);
        (partition, router - self.bounds[partition])
    }
}

impl<M: Model> Partition<'_, M> {
    /// Takes in what another partition sent, and leaves it empty.
    pub fn receive(&mut self, mail: &mut Mail) {
        for event in mail.credits.drain(..) {
            self.calendar.push(event);
        }
        let mut contents = mail.contents.drain(..);
        for index in 0..mail.arrivals.len() {
            // The lines still lie in the cache of the processor that wrote them.
            prefetch(&mail.packets, index + 8);
            self.packets.prefetch_free(8);
            let (event, packet) = (mail.arrivals[index], mail.packets[index]);
            let slot = if packet.bare {
                self.packets.insert_bare(packet)
            } else {
                let contents = contents.next().expect("one per packet that is not bare");
                self.packets.insert(packet, contents)
            };
            if M::Protocol::ON {
                self.protocol.set_note(slot, mail.notes[index]);
            }
            self.calendar.push(event.with_payload(slot));
        }
        drop(contents);
        if M::Protocol::ON {
            mail.notes.clear();
            for (router, terminal, notice) in mail.notices.drain(..) {
                self.listen(router, terminal, notice);
            }
        }
        mail.arrivals.clear();
        mail.packets.clear();
    }

    /// Sends an event to the port of a router of the network that a packet came from.
    #[inline(always)]
    pub(super) fn send_back(
        &mut self,
        kind: Kind,
        router: u32,
        port: u32,
        time: u64,
        payload: u32,
    ) {
        if self.has_router(router) {
            let event = Event::new(time, router - self.base_router, kind, port, payload);
            self.schedule(event);
        } else {
            let (partition, router) = self.neighbours.place(router);
            let event = Event::new(time, router, kind, port, payload);
            let credits = &mut self.neighbours.mail[partition].credits;
            prefetch_to_write(credits, credits.len() + 16);
            credits.push(event);
        }
    }

    /// Lets a node of the network hear something.
    pub(super) fn send_notice(&mut self, node: u32, notice: Notice) {
        let (router, terminal) = self.shared.attachment(node);
        let terminal = u32::from(terminal);
        self.send_back(Kind::Node, router, terminal, notice.at, HEARD);
        if self.has_router(router) {
            self.listen(router - self.base_router, terminal, notice);
        } else {
            let (partition, router) = self.neighbours.place(router);
            let notices = &mut self.neighbours.mail[partition].notices;
            notices.push((router, terminal, notice));
        }
    }

    /// Whether a router of the network is in this partition.
    #[inline(always)]
    pub(super) fn has_router(&self, router: u32) -> bool {
        router.wrapping_sub(self.base_router) < self.end_router - self.base_router
    }

    /// Lets a packet come to a router of another partition with an event, whose router is left open.
    /// Returns the copy of it that goes there, for what changes on the way: written only then,
    /// as copying what has just been written stalls the processor.
    pub(super) fn post_packet(&mut self, router: u32, event: Event, slot: u32) -> &mut Packet {
        let (partition, router) = self.neighbours.place(router);
        let mail = &mut self.neighbours.mail[partition];
        mail.arrivals.push(event.at_router(router));
        if M::Protocol::ON {
            mail.notes.push(self.protocol.note(slot));
        }
        let packet = &self.packets.hot[slot as usize];
        if !packet.bare {
            mail.contents.push(self.packets.contents[slot as usize]);
        }
        let copy = mail.packets.len();
        prefetch_to_write(&mail.packets, copy + 8);
        prefetch_to_write(&mail.arrivals, copy + 16);
        mail.packets.push(*packet);
        self.packets.remove(slot);
        &mut mail.packets[copy]
    }
}
