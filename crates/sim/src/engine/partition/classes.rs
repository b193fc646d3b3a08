//! Nodes with traffic classes: the link of an interface is shared out among classes as those of
//! routers are, and a class whose packets lack room does not hold up the others.

use odonata_run::{Decisions, TrafficClass};

use super::Partition;
use crate::engine::interface::OutMessage;
use crate::engine::model::Model;
use crate::engine::packets::Contents;
use crate::engine::port::NEVER;
use crate::engine::probe::Probe;
use crate::engine::protocol::Protocol;
use crate::engine::scheduler::{Ready, Scheduler, Shares};

/// The first message of a class that a node may send a packet of.
#[derive(Clone, Copy, Default)]
struct First {
    /// Its place in the queue of the interface.
    place: usize,
    /// Its number and job, and the bytes of its next packet.
    message: u32,
    job: u16,
    bytes: u32,
}

impl First {
    fn new(place: usize, message: &OutMessage, packet: u32) -> Self {
        Self {
            place,
            message: message.contents.message,
            job: message.contents.job,
            bytes: message.bytes_left.min(u64::from(packet)) as u32,
        }
    }
}

impl<M: Model> Partition<'_, M> {
    /// The class of an open-loop source of a job.
    pub(super) fn class_of_source(&self, job: u32) -> u8 {
        self.shared.jobs[job as usize].classes.usual
    }

    /// The class in which a message travels: what the protocol sends may have one of its own.
    #[inline]
    pub(super) fn class_of(&self, message: &Contents) -> u8 {
        let control = self.shared.jobs[usize::from(message.job)].classes.control;
        match control {
            Some(class) if message.kind.is_control() => class,
            _ => message.class,
        }
    }

    /// The bit of a message's class; the same for all without classes.
    #[inline(always)]
    pub(super) fn class_bit(&self, message: &Contents) -> u16 {
        match M::Scheduler::CLASSES {
            true => 1 << self.class_of(message),
            false => 1,
        }
    }

    /// Makes the message whose class has its turn the one that is being sent, and returns the lane
    /// of its next packet. `None`: nothing can leave; the interface looks again when something can.
    pub(super) fn take_by_class(&mut self, index: usize, now: u64) -> Option<usize> {
        let port = self.ports.of_routers + index;
        for class in 0..self.shared.config.classes.len() {
            let idle = self.interfaces.all[index].open_active & 1 << class == 0;
            if idle && self.pull_open_message(index, now, 1 << class) {
                self.queue_pulled(index);
            }
        }
        // When something may leave that may not now.
        let mut next = NEVER;
        let firsts = self.first_permitted(index, now, &mut next);
        let mut ready = Ready::default();
        let mut lanes = [0; TrafficClass::MOST];
        // The lane on which a packet lacks room, and the packet's job.
        let mut lacks_room = None;
        for (class, first) in firsts.iter().enumerate() {
            let Some(first) = first else {
                continue;
            };
            let may = self.shares().may_send_at(port, class);
            if may > now {
                next = next.min(may);
                continue;
            }
            match self.lane_of_class(port, class, first) {
                Err(lane) => lacks_room = lacks_room.or(Some((lane as u8, first.job))),
                Ok(lane) => {
                    ready.classes |= 1 << class;
                    ready.bytes[class] = first.bytes;
                    lanes[class] = lane;
                }
            }
        }
        let rate = self.classes[usize::from(self.ports.all[port].class)].rate;
        let picked = self.shares().pick(port, &ready, &rate, now);
        let Some(class) = picked else {
            match lacks_room {
                None => self.wait_for_room_no_more(port, now),
                Some((lane, job)) => self.lacks_room(port, lane, job, now),
            }
            let idle = !self.interfaces.all[index].open_active;
            if let Some(source) = self.next_source(index, idle) {
                let created = self.interfaces.sources[source].next_time;
                next = next.min(created.max(now + 1));
            }
            if next < self.shared.stop {
                self.arm(index, next);
            }
            return None;
        };
        *self.shares().served(port, class) = lanes[class] as u8;
        let mut left = firsts[class].map_or(0, |first| first.place);
        let queue = &mut self.interfaces.all[index].outgoing;
        let message = self.interfaces.waiting.take_first(queue, |_| {
            let is_it = left == 0;
            left = left.wrapping_sub(1);
            is_it
        });
        self.interfaces.outgoing = message.expect("the place of a message that waits");
        Some(lanes[class])
    }

    /// An interface waits for room on a lane for a packet of a job, or goes on to wait.
    fn lacks_room(&mut self, port: usize, lane: u8, job: u16, now: u64) {
        let begins = self.ports.all[port].stalled_since == NEVER;
        if begins {
            self.ports.all[port].stalled_since = now;
        }
        if M::Probe::ON {
            let link = self.link(port);
            match begins {
                true => self.probe.wait(link, lane, job, now),
                false => self.probe.wait_instead(link, lane, job, now),
            }
        }
    }

    /// The first message of each class that may leave now by the end-to-end protocol. `next` is then
    /// when one of those before it may, if that is earlier.
    fn first_permitted(
        &mut self,
        index: usize,
        now: u64,
        next: &mut u64,
    ) -> [Option<First>; TrafficClass::MOST] {
        let here = self.interfaces.classes[index];
        let mut firsts = [None; TrafficClass::MOST];
        let mut found = 0u16;
        let waiting = &self.interfaces.waiting;
        let queue = &self.interfaces.all[index].outgoing;
        for (place, message) in waiting.iter(queue).enumerate() {
            let class = self.class_of(&message.contents);
            if found & 1 << class != 0 {
                continue;
            }
            let first = First::new(place, message, self.packet);
            let to = message.contents.destination;
            let at = self.protocol.permitted(index, to, first.bytes, now);
            if at > now {
                *next = at.min(*next);
                continue;
            }
            found |= 1 << class;
            firsts[usize::from(class)] = Some(first);
            if found == here {
                return firsts;
            }
        }
        let classes = self.shared.config.classes.len();
        for (class, first) in firsts.iter_mut().enumerate().take(classes) {
            let held = self.interfaces.all[index].open_active & !found & 1 << class != 0;
            if held && self.pull_past_held(index, now, 1 << class, next) {
                let queue = &self.interfaces.all[index].outgoing;
                let place = self.interfaces.waiting.iter(queue).count();
                *first = Some(First::new(place, &self.interfaces.outgoing, self.packet));
                self.queue_pulled(index);
            }
        }
        firsts
    }

    /// Queues the message of an open-loop source that has been made the one that is being sent.
    fn queue_pulled(&mut self, index: usize) {
        let message = self.interfaces.outgoing;
        let class = self.class_bit(&message.contents);
        let interface = &mut self.interfaces.all[index];
        interface.open_active |= class;
        self.interfaces
            .waiting
            .push_back(&mut interface.outgoing, message);
    }

    /// The lane on which the next packet of a message leaves its node: of those of its class the
    /// next in turn that has room, or that of the message if packets keep their order. The error is
    /// a lane that it waits for.
    fn lane_of_class(&mut self, port: usize, class: usize, first: &First) -> Result<usize, usize> {
        let lanes = self.shared.lanes;
        let count = match lanes.are_several() {
            true => usize::from(lanes.count()),
            false => 1,
        };
        let base = class * usize::from(lanes.count());
        let served = usize::from(*self.shares().served(port, class));
        let room = first.bytes.max(self.least_room);
        let channels = port << self.ports.grid.shift;
        let roomy = |lane: &usize| self.ports.channels[channels + lane].credits >= room;
        if self.shared.config.decisions == Decisions::PerMessage {
            let lane = base + first.message as usize % count;
            return Some(lane).filter(roomy).ok_or(lane);
        }
        // Before the first packet none of the class.
        let served = served.saturating_sub(base);
        (1..=count)
            .map(|next| base + (served + next) % count)
            .find(roomy)
            .ok_or(base)
    }

    fn shares(&mut self) -> &mut Shares {
        let shares = self.scheduler.shares();
        shares.expect("nodes ask for shares where there are classes")
    }
}
