//! What the flow engine does for ranks: it wakes them, and carries their messages.

use odonata_load::{Context, RequestId};
use odonata_mpi::{
    Envelope, Failure, Incoming, Matched, MessageKind, NO_REQUEST, Outgoing, Rank, Transport,
};
use odonata_run::{JobPlan, Measurement};
use odonata_units::Bytes;

use super::driver::{Driver, Event};

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
    /// See [`Outgoing`].
    pub context: Context,
    pub tag: u32,
    pub sequence: u32,
    pub handle: u32,
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
    /// One of an open-loop source, to rank `to`.
    pub fn open(job: u32, source_rank: u32, to: u32, bytes: Bytes, created: u64) -> Self {
        Self {
            kind: None,
            job,
            source_rank,
            destination_rank: to,
            bytes: bytes.0,
            created,
            context: Context::default(),
            tag: 0,
            sequence: 0,
            handle: 0,
            request: None,
            latency: 0,
            routers: 0,
            serial: false,
            local: false,
            is_there: true,
        }
    }

    /// One of a rank.
    fn of_rank(rank: &Rank<'_>, message: Outgoing) -> Self {
        let request = (message.request != NO_REQUEST).then_some(RequestId(message.request));
        let bytes = Bytes(message.bytes);
        Self {
            kind: Some(message.kind),
            context: message.context,
            tag: message.tag,
            sequence: message.sequence,
            handle: message.handle,
            request,
            ..Self::open(rank.job, rank.rank, message.to, bytes, message.created)
        }
    }

    /// As its receiver sees it.
    pub fn incoming(&self, kind: MessageKind) -> Incoming {
        Incoming {
            kind,
            // Flows share links at once, whatever their class.
            class: 0,
            envelope: Envelope {
                context: self.context,
                source: self.source_rank,
                tag: self.tag,
            },
            bytes: self.bytes,
            sequence: self.sequence,
            handle: self.handle,
            created: self.created,
        }
    }

    /// Whether it carries nothing of the job's.
    pub fn is_control(&self) -> bool {
        self.kind.is_some_and(MessageKind::is_control)
    }
}

impl<'a> Transport<'a> for Driver<'a> {
    fn rank(&mut self, rank: u32) -> &mut Rank<'a> {
        &mut self.ranks[rank as usize]
    }

    fn plan(&self, job: u32) -> &'a JobPlan {
        &self.jobs[job as usize]
    }

    fn measurement(&self) -> &Measurement {
        self.measurement
    }

    fn number(&self, job: u32, rank_of_job: u32) -> u32 {
        self.first_rank[job as usize] + rank_of_job
    }

    fn on_one_node(&self, rank: u32, rank_of_job: u32) -> bool {
        let own = &self.ranks[rank as usize];
        self.jobs[own.job as usize].on_one_node(own.rank, rank_of_job)
    }

    fn matched(&mut self) -> &mut Vec<Matched> {
        &mut self.matched
    }

    fn wake(&mut self, rank: u32, at: u64) {
        self.schedule(at, Event::Rank { rank });
    }

    fn carry(&mut self, rank: u32, message: Outgoing, _now: u64) {
        let message = Message::of_rank(&self.ranks[rank as usize], message);
        self.send(message);
    }

    fn count(&mut self, job: u32, (bytes, _): (Bytes, u8), created: u64) {
        self.count_created(job, bytes, created);
        self.counts[job as usize].message_bytes.record(bytes.0);
    }

    fn iteration_ended(&mut self, job: u32, iteration: u32, now: u64) {
        let ends = &mut self.counts[job as usize].iteration_end;
        if let Some(end) = ends.get_mut(iteration as usize) {
            *end = now;
        }
    }

    fn finished(&mut self, job: u32, now: u64) {
        let counts = &mut self.counts[job as usize];
        counts.last_finish = now;
        counts.to_do -= 1;
        self.unfinished -= u64::from(counts.to_do == 0);
    }

    fn failure(&mut self) -> &mut Option<Failure> {
        &mut self.failure
    }
}
