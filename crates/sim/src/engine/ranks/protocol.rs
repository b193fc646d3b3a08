//! The protocol that messages follow, from a rank's decision to send to the
//! receive that a message completes.

use odonata_load::{Context, RequestId};
use odonata_mpi::{Arrived, Envelope, MessageKind, Posted, Sending, Task};
use odonata_run::encoding::or_absent;
use odonata_run::memory::make_room_in;
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use crate::engine::endpoint::Draft;
use crate::engine::packets::{Contents, NIL};
use crate::engine::partition::{NEVER, Partition};
use crate::engine::probe::Probe;

/// What a rank hands to its interface.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Outgoing {
    pub kind: MessageKind,
    pub to: u32,
    pub bytes: u64,
    pub context: Context,
    pub tag: u32,
    pub sequence: u32,
    pub handle: u32,
    /// Completed when the tail has left the node; or [`NIL`].
    #[serde(with = "or_absent")]
    pub request: u32,
    pub created: u64,
}

impl Outgoing {
    /// A message of the program's, or its request.
    pub(super) fn of(sending: &Sending, kind: MessageKind, handle: u32) -> Self {
        Self {
            kind,
            to: sending.to,
            bytes: sending.bytes,
            context: sending.envelope.context,
            tag: sending.envelope.tag,
            sequence: 0,
            handle,
            request: sending.request.0,
            created: sending.created,
        }
    }

    /// A message that matches nothing and that nobody waits to have sent.
    pub(super) fn control(kind: MessageKind, to: u32, bytes: Bytes, handle: u32) -> Self {
        Self {
            kind,
            to,
            bytes: bytes.0,
            context: Context::default(),
            tag: 0,
            sequence: 0,
            handle,
            request: NIL,
            created: 0,
        }
    }
}

/// Who asks for memory.
pub(super) const HANDED_OVER: &str = "messages that ranks have handed over";

/// Key of a message that has been granted: its handle and its sender.
fn granted_key(handle: u32, sender: u32) -> u64 {
    u64::from(handle) << 32 | u64::from(sender)
}

impl<P: Probe> Partition<'_, P> {
    /// A message is complete at its receiver.
    pub(in crate::engine) fn receive_message(
        &mut self,
        contents: &Contents,
        created: u64,
        now: u64,
    ) {
        self.stimuli -= 1;
        let rank = self
            .shared
            .rank(u32::from(contents.job), contents.destination_rank);
        let local = self.local_rank[rank as usize];
        match contents.kind {
            MessageKind::Eager | MessageKind::Request => {
                self.message_comes(local, contents, created, now)
            }
            MessageKind::Granted => {
                let record = &mut self.ranks[local as usize].record;
                let key = granted_key(contents.handle, contents.source_rank);
                let posted = record.granted.remove(&key);
                let posted = posted.expect("a message that was granted");
                record.cause = Some((contents.source_rank, created));
                let (duration, task) = Task::taking_in_granted(
                    contents.message_bytes,
                    contents.handle,
                    contents.source_rank,
                    posted,
                    self.protocol(local),
                );
                self.occupy(local, posted.processor, duration, task, now);
            }
            MessageKind::Grant => {
                let record = &mut self.ranks[local as usize].record;
                let held = record.held.remove(&u64::from(contents.handle));
                let held = held.expect("a grant answers a request");
                record.cause = Some((contents.source_rank, created));
                let mut message = Outgoing::of(&held, MessageKind::Granted, contents.handle);
                if self.protocol(local).acknowledges() {
                    message.request = NIL;
                    let record = &mut self.ranks[local as usize].record;
                    record.unfinished.insert(u64::from(contents.handle), held);
                }
                self.send(local, message, now);
            }
            MessageKind::Finished => {
                let state = &mut self.ranks[local as usize];
                state.record.cause = Some((contents.source_rank, created));
                let sent = state.record.unfinished.remove(&u64::from(contents.handle));
                state.complete(sent.expect("a message that was sent").request);
            }
            MessageKind::Put => {
                let protocol = self.protocol(local);
                let acknowledgement = Outgoing {
                    request: NIL,
                    created: now,
                    ..Outgoing::control(
                        MessageKind::Acknowledge,
                        contents.source_rank,
                        protocol.control,
                        contents.handle,
                    )
                };
                self.send(local, acknowledgement, now);
            }
            MessageKind::Ask => {
                let bytes = contents.asked_bytes();
                let job = u32::from(contents.job);
                self.count_created(job, Bytes(bytes), now);
                self.count_traffic(local, contents.source_rank, bytes);
                let answer = Outgoing {
                    bytes,
                    created: now,
                    ..Outgoing::control(
                        MessageKind::Answer,
                        contents.source_rank,
                        Bytes(bytes),
                        contents.handle,
                    )
                };
                self.send(local, answer, now);
            }
            MessageKind::Acknowledge | MessageKind::Answer => {
                let state = &mut self.ranks[local as usize];
                state.record.cause = Some((contents.source_rank, created));
                state.complete(RequestId(contents.handle));
            }
        }
        self.advance(local, now);
    }

    /// A message within a node is delivered: its sender is done, too.
    pub(in crate::engine) fn receive_local_message(
        &mut self,
        contents: &Contents,
        created: u64,
        now: u64,
    ) {
        let job = u32::from(contents.job);
        let local_rank = |rank| self.local_rank[self.shared.rank(job, rank) as usize];
        let sender = local_rank(contents.source_rank);
        let receiver = local_rank(contents.destination_rank);
        if sender == NIL {
            return;
        }
        let request = RequestId(contents.handle);
        let done = match contents.kind {
            MessageKind::Answer => {
                self.stimuli -= 1;
                receiver
            }
            MessageKind::Put => {
                self.stimuli -= 1;
                sender
            }
            _ => {
                self.receive_message(contents, created, now);
                sender
            }
        };
        self.ranks[done as usize].complete(request);
        self.advance(done, now);
    }

    /// An eager message or a request has come.
    pub(super) fn message_comes(
        &mut self,
        local_rank: u32,
        contents: &Contents,
        created: u64,
        now: u64,
    ) {
        let envelope = Envelope {
            context: contents.context,
            source: contents.source_rank,
            tag: contents.tag,
        };
        let what = match contents.kind {
            MessageKind::Request => Arrived::Request {
                handle: contents.handle,
            },
            _ => Arrived::Message {
                bytes: contents.message_bytes,
                created,
            },
        };
        let mut matched = std::mem::take(&mut self.matched);
        let matching = &mut self.ranks[local_rank as usize].record.matching;
        matching.arrive(
            envelope,
            contents.sequence,
            what,
            |envelope, what, posted| {
                matched.push((envelope, what, posted));
            },
        );
        for (envelope, what, posted) in matched.drain(..) {
            self.matched_with(local_rank, envelope.source, what, posted, now);
        }
        self.matched = matched;
    }

    /// A message from `source`, or the request of one, has met its receive, which
    /// completes when the message has been taken in.
    pub(super) fn matched_with(
        &mut self,
        local_rank: u32,
        source: u32,
        what: Arrived,
        posted: Posted,
        now: u64,
    ) {
        let record = &mut self.ranks[local_rank as usize].record;
        match what {
            Arrived::Message { created, .. } => record.cause = Some((source, created)),
            Arrived::Request { handle } => {
                record.granted.insert(granted_key(handle, source), posted);
            }
        }
        let own = self.ranks[local_rank as usize].rank;
        let costs = self.plan(local_rank).costs(own, source);
        let (duration, task) = Task::answering(what, source, posted, costs);
        self.occupy(local_rank, posted.processor, duration, task, now);
    }

    /// Asks for a part of another rank's memory.
    pub(super) fn ask(
        &mut self,
        local_rank: u32,
        from: u32,
        bytes: u64,
        request: RequestId,
        now: u64,
    ) {
        let state = &self.ranks[local_rank as usize];
        let (job, me) = (state.job, state.rank);
        let node = self.interfaces[state.interface as usize].node;
        if self.shared.node_of(job, from).0 != node {
            let control = self.protocol(local_rank).control;
            let question = Outgoing {
                created: now,
                tag: bytes as u32,
                sequence: (bytes >> 32) as u32,
                ..Outgoing::control(MessageKind::Ask, from, control, request.0)
            };
            self.send(local_rank, question, now);
            return;
        }
        // Within a node the answer comes without being asked for.
        let other = self.local_rank[self.shared.rank(job, from) as usize];
        self.count_created(job, Bytes(bytes), now);
        self.count_traffic(other, me, bytes);
        let answer = Outgoing {
            created: now,
            ..Outgoing::control(MessageKind::Answer, me, Bytes(bytes), request.0)
        };
        self.send(other, answer, now);
    }

    /// The tail of a rank's message has left the node.
    pub(in crate::engine) fn message_sent(&mut self, local_rank: u32, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        let request = state.record.leaving.pop_front();
        state.complete(request.expect("a message that leaves"));
        self.advance(local_rank, now);
    }

    /// The tail of a rank's message is about to leave the node, after those
    /// before it.
    pub(in crate::engine) fn message_leaves(&mut self, local_rank: u32, request: u32) {
        let record = &mut self.ranks[local_rank as usize].record;
        record.leaving.push_back(RequestId(request));
    }

    /// Hands a message over to the rank's network interface, which has it at once or
    /// after the delay of the rank's messages.
    pub(super) fn send(&mut self, local_rank: u32, what: Outgoing, now: u64) {
        let plan = self.plan(local_rank);
        let delay = plan.protocol.delay_of(Bytes(what.bytes));
        if delay == Picoseconds::ZERO
            || plan.protocol.within_node.is_some()
                && plan.on_one_node(self.ranks[local_rank as usize].rank, what.to)
        {
            self.deliver_to_interface(local_rank, what, now);
            return;
        }
        let until = now.saturating_add(delay.0).min(NEVER - 1);
        let record = &mut self.ranks[local_rank as usize].record;
        make_room_in(&mut record.delayed, HANDED_OVER);
        // Short messages may overtake longer ones; of the same time, not.
        let place = record.delayed.partition_point(|other| other.0 <= until);
        record.delayed.insert(place, (until, what));
        self.wake(local_rank, until);
    }

    /// Gives the interface of a rank the messages whose delay is over.
    pub(super) fn send_delayed(&mut self, local_rank: u32, now: u64) {
        loop {
            let delayed = &mut self.ranks[local_rank as usize].record.delayed;
            match delayed.front() {
                Some(&(until, what)) if until <= now => {
                    delayed.pop_front();
                    self.deliver_to_interface(local_rank, what, now);
                }
                _ => return,
            }
        }
    }

    /// The rank's network interface has a message to send.
    fn deliver_to_interface(&mut self, local_rank: u32, what: Outgoing, now: u64) {
        self.stimuli += 1;
        let state = &self.ranks[local_rank as usize];
        let interface = state.interface as usize;
        let draft = Draft {
            job: state.job,
            rank: state.rank,
            local_rank,
            to: RankId(what.to),
            bytes: Bytes(what.bytes),
            context: what.context,
            tag: what.tag,
            sequence: what.sequence,
            created: what.created,
            kind: what.kind,
            handle: what.handle,
            request: what.request,
        };
        if self.create(interface, draft, now) {
            let interface = &mut self.interfaces[interface];
            self.waiting
                .push_back(&mut interface.outgoing, self.outgoing);
        }
    }

    /// Starts a send of the program, at once or by a request.
    pub(super) fn begin_send(&mut self, local_rank: u32, sending: Sending, now: u64) {
        let protocol = self.protocol(local_rank);
        let state = &mut self.ranks[local_rank as usize];
        let (job, node) = (state.job, self.interfaces[state.interface as usize].node);
        let waits = protocol.asks_for(Bytes(sending.bytes))
            // Within a node there is nothing to wait for.
            && self.shared.node_of(job, sending.to).0 != node;
        let context = sending.envelope.context;
        let sequence = state.record.matching.number(context, sending.to);
        self.count_created(job, Bytes(sending.bytes), sending.created);
        self.count_traffic(local_rank, sending.to, sending.bytes);
        if !waits {
            let message = Outgoing {
                sequence,
                ..Outgoing::of(&sending, MessageKind::Eager, sending.request.0)
            };
            self.send(local_rank, message, now);
            return;
        }
        let record = &mut self.ranks[local_rank as usize].record;
        let handle = record.next_handle;
        record.next_handle = handle.wrapping_add(1);
        make_room_in(&mut record.held, HANDED_OVER);
        record.held.insert(u64::from(handle), sending);
        let request = Outgoing {
            bytes: protocol.control.0,
            created: now,
            request: NIL,
            sequence,
            ..Outgoing::of(&sending, MessageKind::Request, handle)
        };
        self.send(local_rank, request, now);
    }

    /// Counts a message of a rank for the matrix of who sends to whom.
    pub(super) fn count_traffic(&mut self, local_rank: u32, to: u32, bytes: u64) {
        let state = &mut self.ranks[local_rank as usize];
        self.jobs[state.job as usize].message_bytes.record(bytes);
        if self.shared.measurement.traffic {
            make_room_in(&mut state.record.traffic, "the record of who sends to whom");
            let traffic = state.record.traffic.entry(u64::from(to)).or_default();
            traffic.messages += 1;
            traffic.bytes += bytes;
        }
    }
}
