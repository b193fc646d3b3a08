//! The protocol that messages follow, as in the packet engine: eager up to a limit,
//! asked for first beyond it; requests, grants, questions and acknowledgements take
//! the time that they take in an empty network.

use odonata_load::{Context, RequestId};
use odonata_mpi::{Arrived, Envelope, MessageKind, Posted, Sending, Task};
use odonata_units::Bytes;

use super::driver::Driver;

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// What it is for; `None`: of an open-loop source.
    pub kind: Option<MessageKind>,
    pub job: u32,
    pub source_rank: u32,
    pub destination_rank: u32,
    pub bytes: u64,
    /// When the sender wanted to send it.
    pub created: u64,
    pub envelope: Envelope,
    pub sequence: u32,
    /// Of a long message at its sender, or the request that it will complete.
    pub handle: u32,
    /// Of a question: bytes that are asked for.
    pub asked: u64,
    /// Completed at the sender when the last byte has left the node.
    pub request: Option<RequestId>,
    /// From leaving the node to arriving.
    pub latency: u64,
    pub routers: u32,
    /// Waits for those before it at its interface.
    pub serial: bool,
    /// Stays within its node.
    pub local: bool,
    /// Not yet delivered.
    pub is_there: bool,
}

impl Message {
    pub fn new(kind: Option<MessageKind>, job: u32, bytes: u64, created: u64) -> Self {
        let envelope = Envelope {
            context: Context::default(),
            source: 0,
            tag: 0,
        };
        Self {
            kind,
            job,
            source_rank: 0,
            destination_rank: 0,
            bytes,
            created,
            envelope,
            sequence: 0,
            handle: 0,
            asked: 0,
            request: None,
            latency: 0,
            routers: 0,
            serial: false,
            local: false,
            is_there: true,
        }
    }

    /// Whether it carries nothing of the job's.
    pub fn is_control(&self) -> bool {
        self.kind.is_some_and(MessageKind::is_control)
    }
}

impl Driver<'_> {
    /// A message between ranks has arrived.
    pub(super) fn received(&mut self, message: &Message, kind: MessageKind) {
        let first = self.first_rank[message.job as usize];
        let sender = first + message.source_rank;
        let receiver = first + message.destination_rank;
        let now = self.now;
        match kind {
            MessageKind::Eager | MessageKind::Request => {
                let what = match kind {
                    MessageKind::Request => Arrived::Request {
                        handle: message.handle,
                    },
                    _ => Arrived::Message {
                        bytes: message.bytes,
                        created: message.created,
                    },
                };
                let mut matched = Vec::new();
                let matching = &mut self.ranks[receiver as usize].matching;
                matching.arrive(
                    message.envelope,
                    message.sequence,
                    what,
                    |envelope, what, posted| matched.push((envelope, what, posted)),
                );
                for (envelope, what, posted) in matched {
                    self.matched(receiver, envelope.source, what, posted);
                }
                if message.local {
                    // Within a node the sender is done when the message is there.
                    if let Some(request) = message.request {
                        self.complete(sender, request);
                        self.advance(sender);
                    }
                }
            }
            MessageKind::Granted => {
                let key = (message.source_rank, message.handle);
                let posted = self.ranks[receiver as usize].granted.remove(&key);
                if let Some(posted) = posted {
                    let (duration, task) = Task::taking_in_granted(
                        message.bytes,
                        message.handle,
                        message.source_rank,
                        posted,
                        self.protocol(receiver),
                    );
                    self.occupy(receiver, posted.processor, duration, task);
                }
            }
            MessageKind::Grant => {
                // The receiver of the grant sends the long message.
                let held = self.ranks[receiver as usize].held.remove(&message.handle);
                if let Some(held) = held {
                    self.send_data(receiver, &held, MessageKind::Granted, message.handle, 0);
                }
            }
            MessageKind::Finished => {
                let sent = self.ranks[receiver as usize]
                    .unfinished
                    .remove(&message.handle);
                if let Some(sent) = sent {
                    self.complete(receiver, sent.request);
                }
            }
            MessageKind::Put if message.local => {
                self.complete(sender, RequestId(message.handle));
                self.advance(sender);
                return;
            }
            MessageKind::Put => {
                let control = self.protocol(receiver).control;
                self.send(Message {
                    source_rank: message.destination_rank,
                    destination_rank: message.source_rank,
                    handle: message.handle,
                    ..Message::new(Some(MessageKind::Acknowledge), message.job, control.0, now)
                });
            }
            MessageKind::Ask => {
                self.answer(receiver, message.source_rank, message.asked, message.handle)
            }
            MessageKind::Acknowledge | MessageKind::Answer => {
                self.complete(receiver, RequestId(message.handle));
            }
        }
        self.advance(receiver);
    }

    /// A message from `source`, or the request of one, has met its receive, which
    /// completes when the message has been taken in.
    pub(super) fn matched(&mut self, rank: u32, source: u32, what: Arrived, posted: Posted) {
        if let Arrived::Request { handle } = what {
            let granted = &mut self.ranks[rank as usize].granted;
            granted.insert((source, handle), posted);
        }
        let own = &self.ranks[rank as usize];
        let costs = self.jobs[own.job as usize].costs(own.rank, source);
        let (duration, task) = Task::answering(what, source, posted, costs);
        self.occupy(rank, posted.processor, duration, task);
    }

    /// Starts a send of a program, at once or by a request.
    pub(super) fn begin_send(&mut self, rank: u32, sending: Sending) {
        let (job, me) = (
            self.ranks[rank as usize].job,
            self.ranks[rank as usize].rank,
        );
        let (from, to) = (self.node_of(job, me), self.node_of(job, sending.to));
        let protocol = self.protocol(rank);
        let control = protocol.control.0;
        let asks = protocol.asks_for(Bytes(sending.bytes)) && from != to;
        let own = &mut self.ranks[rank as usize];
        let sequence = own.matching.number(sending.envelope.context, sending.to);
        self.count_created(job, Bytes(sending.bytes), sending.created);
        self.count_traffic(rank, sending.to, sending.bytes);
        if !asks {
            self.send_data(rank, &sending, MessageKind::Eager, 0, sequence);
            return;
        }
        let own = &mut self.ranks[rank as usize];
        let handle = own.next_handle;
        own.next_handle = handle.wrapping_add(1);
        own.held.insert(handle, sending);
        self.send(Message {
            source_rank: me,
            destination_rank: sending.to,
            envelope: sending.envelope,
            sequence,
            handle,
            ..Message::new(Some(MessageKind::Request), job, control, self.now)
        });
    }

    fn send_data(
        &mut self,
        rank: u32,
        sending: &Sending,
        kind: MessageKind,
        handle: u32,
        sequence: u32,
    ) {
        let finished = kind == MessageKind::Granted && self.protocol(rank).acknowledges();
        let own = &mut self.ranks[rank as usize];
        if finished {
            own.unfinished.insert(handle, *sending);
        }
        let own = &self.ranks[rank as usize];
        self.send(Message {
            source_rank: own.rank,
            destination_rank: sending.to,
            envelope: sending.envelope,
            sequence,
            handle,
            request: (!finished).then_some(sending.request),
            ..Message::new(Some(kind), own.job, sending.bytes, sending.created)
        });
    }

    /// Writes into another rank's memory.
    pub(super) fn put(&mut self, rank: u32, to: u32, bytes: u64, request: RequestId, created: u64) {
        let (job, me) = (
            self.ranks[rank as usize].job,
            self.ranks[rank as usize].rank,
        );
        self.count_created(job, Bytes(bytes), created);
        self.count_traffic(rank, to, bytes);
        self.send(Message {
            source_rank: me,
            destination_rank: to,
            handle: request.0,
            ..Message::new(Some(MessageKind::Put), job, bytes, created)
        });
    }

    /// Asks for a part of another rank's memory; within a node it comes without.
    pub(super) fn ask(&mut self, rank: u32, from: u32, bytes: u64, request: RequestId) {
        let (job, me) = (
            self.ranks[rank as usize].job,
            self.ranks[rank as usize].rank,
        );
        if self.node_of(job, me) == self.node_of(job, from) {
            let other = self.first_rank[job as usize] + from;
            self.answer(other, me, bytes, request.0);
            return;
        }
        let control = self.protocol(rank).control.0;
        self.send(Message {
            source_rank: me,
            destination_rank: from,
            handle: request.0,
            asked: bytes,
            ..Message::new(Some(MessageKind::Ask), job, control, self.now)
        });
    }

    fn answer(&mut self, rank: u32, to: u32, bytes: u64, handle: u32) {
        let (job, me) = (
            self.ranks[rank as usize].job,
            self.ranks[rank as usize].rank,
        );
        self.count_created(job, Bytes(bytes), self.now);
        self.count_traffic(rank, to, bytes);
        self.send(Message {
            source_rank: me,
            destination_rank: to,
            handle,
            ..Message::new(Some(MessageKind::Answer), job, bytes, self.now)
        });
    }
}
