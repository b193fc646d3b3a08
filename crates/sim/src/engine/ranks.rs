//! What the packet engine does for ranks: it wakes them, and carries their messages.

use odonata_load::RequestId;
use odonata_mpi::{
    Envelope, Failure, Incoming, Matched, Outgoing, Rank, Stage, Transport, receive,
    receive_within_node, sent, timer,
};
use odonata_run::{JobPlan, Jump, Measurement};
use odonata_units::{Bytes, RankId};

use super::calendar::{Event, Kind};
use super::interface::Draft;
use super::model::Model;
use super::packets::{Contents, NIL};
use super::partition::Partition;
use super::payload::{Subject, node_subject, timer_payload};

/// The ranks of closed-loop jobs that have their nodes in a partition.
#[derive(Default)]
pub(super) struct Ranks<'a> {
    pub all: Vec<Rank<'a>>,
    /// Index in `all` by rank number over all jobs; `NIL` if elsewhere or open-loop.
    pub local: Vec<u32>,
    /// Ranks that have not finished.
    pub unfinished: u64,
    /// The first rank whose program could not go on.
    pub failure: Option<Failure>,
    /// Messages that have just met their receives; empty between events.
    pub matched: Vec<Matched>,
}

impl<'a, M: Model> Transport<'a> for Partition<'a, M> {
    #[inline(always)]
    fn rank(&mut self, rank: u32) -> &mut Rank<'a> {
        &mut self.ranks.all[rank as usize]
    }

    #[inline(always)]
    fn plan(&self, job: u32) -> &'a JobPlan {
        &self.shared.jobs[job as usize]
    }

    #[inline(always)]
    fn measurement(&self) -> &Measurement {
        &self.shared.measurement
    }

    #[inline(always)]
    fn number(&self, job: u32, rank_of_job: u32) -> u32 {
        self.ranks.local[self.shared.rank(job, rank_of_job) as usize]
    }

    #[inline(always)]
    fn on_one_node(&self, rank: u32, rank_of_job: u32) -> bool {
        let own = &self.ranks.all[rank as usize];
        let node = self.interfaces.all[own.interface as usize].node;
        self.shared.node_of(own.job, rank_of_job).0 == node
    }

    #[inline(always)]
    fn matched(&mut self) -> &mut Vec<Matched> {
        &mut self.ranks.matched
    }

    fn wake(&mut self, rank: u32, at: u64) {
        let own = &self.ranks.all[rank as usize];
        self.accounts.jobs[own.job as usize].stimuli += 1;
        let interface = &self.interfaces.all[own.interface as usize];
        let router = interface.router - self.base_router;
        let payload = timer_payload(rank);
        let event = Event::new(at, router, Kind::Node, interface.terminal, payload);
        self.schedule(event);
    }

    fn carry(&mut self, rank: u32, message: Outgoing, now: u64) {
        let own = &self.ranks.all[rank as usize];
        self.accounts.jobs[own.job as usize].stimuli += 1;
        let interface = own.interface as usize;
        let draft = Draft {
            job: own.job,
            rank: own.rank,
            local_rank: rank,
            to: RankId(message.to),
            bytes: Bytes(message.bytes),
            context: message.context,
            tag: message.tag,
            sequence: message.sequence,
            created: message.created,
            kind: message.kind,
            class: message.class,
            handle: message.handle,
            request: message.request,
        };
        if self.create(interface, draft, now) {
            let interface = &mut self.interfaces.all[interface];
            self.interfaces
                .waiting
                .push_back(&mut interface.outgoing, self.interfaces.outgoing);
        }
    }

    #[inline]
    fn count(&mut self, job: u32, (bytes, class): (Bytes, u8), created: u64) {
        self.count_created(job, (bytes, class), created);
        self.accounts.jobs[job as usize]
            .message_bytes
            .record(bytes.0);
    }

    fn iteration_ended(&mut self, job: u32, iteration: u32, now: u64) {
        let ends = &mut self.accounts.jobs[job as usize].iteration_end;
        if let Some(end) = ends.get_mut(iteration as usize) {
            *end = (*end).max(now);
        }
    }

    fn finished(&mut self, job: u32, now: u64) {
        let collector = &mut self.accounts.jobs[job as usize];
        collector.last_finish = collector.last_finish.max(now);
        self.ranks.unfinished -= 1;
    }

    fn failure(&mut self) -> &mut Option<Failure> {
        &mut self.ranks.failure
    }
}

impl Contents {
    /// As its receiver sees a message that wanted to be sent at `created`.
    #[inline(always)]
    fn incoming(&self, created: u64) -> Incoming {
        Incoming {
            kind: self.kind,
            class: self.class,
            envelope: Envelope {
                context: self.context,
                source: self.source_rank,
                tag: self.tag,
            },
            bytes: self.message_bytes,
            sequence: self.sequence,
            handle: self.handle,
            created,
        }
    }
}

impl<M: Model> Partition<'_, M> {
    /// Passes over iterations at `at`.
    pub(super) fn skip(&mut self, jump: &Jump, at: u64) {
        let mut waiting = false;
        for rank in &mut self.ranks.all {
            match jump.iterations[rank.job as usize] {
                0 => waiting |= rank.record.stage == Stage::BeforeStart,
                iterations => {
                    let moved = rank.skip(iterations);
                    assert!(moved, "iterations passed over by a rank that has none");
                }
            }
        }
        if waiting {
            let pending: Vec<Event> = self.calendar.pending().collect();
            self.calendar.restart(at);
            for event in pending {
                let time = match self.starts(event) {
                    true => event.time - jump.time.0,
                    false => event.time,
                };
                self.calendar.push(Event { time, ..event });
            }
        }
    }

    /// Whether an event starts a rank.
    fn starts(&self, event: Event) -> bool {
        let packed = event.pack(event.time);
        match (packed.kind(), node_subject(packed.payload()).1) {
            (Kind::Node, Subject::Rank(rank)) => {
                self.ranks.all[rank as usize].record.stage == Stage::BeforeStart
            }
            _ => false,
        }
    }

    /// Whether a job does nothing more.
    #[inline(always)]
    fn is_aborted(&self, job: u32) -> bool {
        self.shared.outages.is_some() && self.accounts.jobs[job as usize].aborted.is_some()
    }

    /// A processor of a rank, the rank's start, or a message that it has handed over
    /// has come to its time.
    pub(super) fn rank_timer(&mut self, local_rank: u32, now: u64) {
        let job = self.ranks.all[local_rank as usize].job;
        self.accounts.jobs[job as usize].stimuli -= 1;
        if self.is_aborted(job) {
            return;
        }
        timer(self, local_rank, now);
    }

    /// A message is complete at its receiver.
    pub(super) fn receive_message(&mut self, contents: &Contents, created: u64, now: u64) {
        let job = u32::from(contents.job);
        self.accounts.jobs[job as usize].stimuli -= 1;
        if self.is_aborted(job) {
            return;
        }
        let receiver = self.number(job, contents.destination_rank);
        receive(self, receiver, &contents.incoming(created), now);
    }

    /// A message within a node is delivered.
    pub(super) fn receive_local_message(&mut self, contents: &Contents, created: u64, now: u64) {
        let job = u32::from(contents.job);
        let sender = self.number(job, contents.source_rank);
        // Nobody waits for messages of open-loop sources.
        if sender == NIL {
            return;
        }
        self.accounts.jobs[job as usize].stimuli -= 1;
        if self.is_aborted(job) {
            return;
        }
        let receiver = self.number(job, contents.destination_rank);
        receive_within_node(self, sender, receiver, &contents.incoming(created), now);
    }

    /// The tail of a rank's message has left the node.
    pub(super) fn message_sent(&mut self, local_rank: u32, now: u64) {
        if self.is_aborted(self.ranks.all[local_rank as usize].job) {
            return;
        }
        let leaving = &mut self.ranks.all[local_rank as usize].record.leaving;
        let request = leaving.pop_front().expect("a message that leaves");
        sent(self, local_rank, request, now);
    }

    /// The tail of a rank's message is about to leave the node, after those
    /// before it.
    pub(super) fn message_leaves(&mut self, local_rank: u32, request: u32) {
        let leaving = &mut self.ranks.all[local_rank as usize].record.leaving;
        leaving.push_back(RequestId(request));
    }
}
