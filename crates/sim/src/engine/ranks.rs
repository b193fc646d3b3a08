//! Ranks: what their programs do, how their messages find their receives, and
//! the protocol that long messages follow.
//!
//! The times follow LogGPS (Ino, Fujimoto, Hagihara 2001): overheads `o` and `O`
//! keep the rank busy, messages up to `S` bytes are sent at once (eager), longer
//! ones ask first (rendezvous). Latency, bandwidth and contention are the
//! network's.

use std::collections::VecDeque;

use odonata_load::{Cursor, Operation, Program};
use odonata_network::Routing;
use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::calendar::{Event, Kind};
use super::checkpoint::sorted_map;
use super::endpoint::{Draft, grant_payload, received_payload, timer_payload};
use super::packets::{Contents, MessageKind};
use super::partition::{KeyMap, Partition};
use crate::config::JobLoad;

/// What a rank is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Activity {
    /// Computing, or busy with handing over a message.
    Computing,
    Waiting,
    Finished,
}

/// A message that a rank is about to send, or that waits for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Sending {
    to: u32,
    bytes: u64,
    tag: u32,
    /// When the rank wanted to send it.
    created: u64,
}

/// A message, or the request of one, that has come before its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Early {
    /// All of it, with its size.
    Message(u64),
    /// Its number at the sender.
    Request(u32),
}

/// What waits for its counterpart, of one sender and tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Unmatched {
    /// Receives.
    Posted(u32),
    /// Messages: the one that came first, and the others, which are rare.
    Early(Early, VecDeque<Early>),
}

/// A rank of a closed-loop job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RankState {
    #[serde(skip)]
    pub job: u32,
    #[serde(skip)]
    pub rank: u32,
    #[serde(skip)]
    pub interface: u32,
    activity: Activity,
    cursor: Cursor,
    /// Sends and receives that are not complete.
    outstanding: u32,
    iterations: u32,
    waiting_since: u64,
    /// Until when overheads keep it busy.
    busy_until: u64,
    /// What it is about to send when it has handed it over.
    sending: Option<Sending>,
    /// Long messages that wait for their receiver, by number.
    #[serde(with = "sorted_map")]
    held: KeyMap<Sending>,
    next_handle: u32,
    /// Requests that it will grant, in this order: number and rank of the sender.
    granting: VecDeque<(u32, u32)>,
    /// By (source rank, tag).
    #[serde(with = "sorted_map")]
    unmatched: KeyMap<Unmatched>,
}

impl RankState {
    pub fn new(job: u32, rank: u32, interface: u32) -> Self {
        Self {
            job,
            rank,
            interface,
            activity: Activity::Computing,
            cursor: Cursor::default(),
            outstanding: 0,
            iterations: 0,
            waiting_since: 0,
            busy_until: 0,
            sending: None,
            held: KeyMap::default(),
            next_handle: 0,
            granting: VecDeque::new(),
            unmatched: KeyMap::default(),
        }
    }

    /// Takes over a saved state; who it is and where stays.
    pub fn restore(&mut self, saved: Self) {
        *self = Self {
            job: self.job,
            rank: self.rank,
            interface: self.interface,
            ..saved
        };
    }

    /// Whether it still has something to do.
    pub fn is_finished(&self) -> bool {
        self.activity == Activity::Finished
    }

    /// What an unfinished rank waits for, in words.
    pub fn waits_for(&self) -> String {
        let missing = self
            .unmatched
            .iter()
            .filter(|(_, unmatched)| matches!(unmatched, Unmatched::Posted(_)))
            .map(|(&key, _)| key)
            .min();
        if let Some(key) = missing {
            return format!("a message from rank {} with tag {}", key >> 32, key as u32);
        }
        match self.held.values().min() {
            Some(held) => format!("rank {} to receive with tag {}", held.to, held.tag),
            None => "its own messages to be sent".to_owned(),
        }
    }

    /// Bytes of messages that wait for their receivers.
    pub fn held_bytes(&self) -> u64 {
        self.held.values().map(|held| held.bytes).sum()
    }

    /// Keeps the rank busy for a while from `now` on, after what it is busy
    /// with; returns until when.
    fn occupy(&mut self, now: u64, overhead: Picoseconds) -> u64 {
        self.busy_until = self.busy_until.max(now) + overhead.0;
        self.busy_until
    }

    /// Notes a message that has come; whether a receive was waiting for it.
    fn arrives(&mut self, key: u64, early: Early) -> bool {
        match self.unmatched.get_mut(&key) {
            None => {
                let alone = Unmatched::Early(early, VecDeque::new());
                self.unmatched.insert(key, alone);
                false
            }
            Some(Unmatched::Early(_, others)) => {
                others.push_back(early);
                false
            }
            Some(Unmatched::Posted(1)) => {
                self.unmatched.remove(&key);
                true
            }
            Some(Unmatched::Posted(count)) => {
                *count -= 1;
                true
            }
        }
    }

    /// Posts a receive; the message that has come for it, if any.
    fn post(&mut self, key: u64) -> Option<Early> {
        match self.unmatched.get_mut(&key) {
            None => {
                self.unmatched.insert(key, Unmatched::Posted(1));
                None
            }
            Some(Unmatched::Posted(count)) => {
                *count += 1;
                None
            }
            Some(Unmatched::Early(first, others)) => {
                let early = *first;
                match others.pop_front() {
                    Some(next) => *first = next,
                    None => {
                        self.unmatched.remove(&key);
                    }
                }
                Some(early)
            }
        }
    }
}

fn match_key(from: u32, tag: u32) -> u64 {
    (u64::from(from) << 32) | u64::from(tag)
}

impl<R: Routing> Partition<'_, R> {
    /// A message is complete at its receiver.
    pub(super) fn receive_message(&mut self, contents: &Contents, now: u64) {
        self.stimuli -= 1;
        let local = self.local_rank[self
            .shared
            .rank(u32::from(contents.job), contents.destination_rank)
            as usize];
        let key = match_key(contents.source_rank, contents.tag);
        let state = &mut self.ranks[local as usize];
        match contents.kind {
            MessageKind::Eager => {
                if state.arrives(key, Early::Message(contents.message_bytes)) {
                    self.take_in(local, contents.message_bytes, now);
                }
            }
            MessageKind::Granted => self.take_in(local, contents.message_bytes, now),
            MessageKind::Request => {
                if state.arrives(key, Early::Request(contents.handle)) {
                    self.prepare_grant(local, contents.handle, contents.source_rank, now);
                }
            }
            MessageKind::Grant => {
                let held = state.held.remove(&u64::from(contents.handle));
                let held = held.expect("a grant answers a request");
                self.send(local, held, MessageKind::Granted, 0, now);
            }
        }
    }

    /// A rank takes in a message that has arrived and been matched: its receive
    /// completes after the overhead.
    fn take_in(&mut self, local_rank: u32, bytes: u64, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        let protocol = &self.shared.jobs[state.job as usize].protocol;
        let overhead = protocol.receive_overhead_of(Bytes(bytes));
        if overhead == Picoseconds::ZERO {
            self.complete_operation(local_rank, now);
        } else {
            let time = state.occupy(now, overhead);
            self.wake_rank(local_rank, time, received_payload(local_rank));
        }
    }

    /// A receive has met a request: grants it after the overhead.
    fn prepare_grant(&mut self, local_rank: u32, handle: u32, to: u32, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        let protocol = &self.shared.jobs[state.job as usize].protocol;
        let overhead = protocol.receive_overhead;
        state.granting.push_back((handle, to));
        if overhead == Picoseconds::ZERO {
            self.grant_next(local_rank, now);
        } else {
            let time = state.occupy(now, overhead);
            self.wake_rank(local_rank, time, grant_payload(local_rank));
        }
    }

    /// Grants the request whose turn it is.
    pub(super) fn grant_next(&mut self, local_rank: u32, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        let (handle, to) = state.granting.pop_front().expect("something to grant");
        let protocol = &self.shared.jobs[state.job as usize].protocol;
        let grant = Sending {
            to,
            bytes: protocol.control.0,
            tag: 0,
            created: now,
        };
        self.send(local_rank, grant, MessageKind::Grant, handle, now);
    }

    /// Hands a message to the rank's network interface.
    fn send(&mut self, local_rank: u32, what: Sending, kind: MessageKind, handle: u32, now: u64) {
        self.stimuli += 1;
        let state = &self.ranks[local_rank as usize];
        let interface = state.interface as usize;
        let draft = Draft {
            job: state.job,
            rank: state.rank,
            local_rank,
            to: RankId(what.to),
            bytes: Bytes(what.bytes),
            tag: what.tag,
            created: what.created,
            kind,
            handle,
        };
        if self.create(interface, draft, now) {
            let interface = &mut self.interfaces[interface];
            self.waiting
                .push_back(&mut interface.outgoing, self.outgoing);
        }
    }

    /// Starts a send of the program, at once or by a request.
    fn begin_send(&mut self, local_rank: u32, sending: Sending, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        state.outstanding += 1;
        let shared = self.shared;
        let protocol = &shared.jobs[state.job as usize].protocol;
        let (job, node) = (state.job, self.interfaces[state.interface as usize].node);
        let waits = protocol.eager_limit.is_some_and(|limit| sending.bytes > limit.0)
            // Within a node there is nothing to wait for.
            && shared.node_of(job, sending.to).0 != node;
        self.count_created(job, Bytes(sending.bytes), sending.created);
        if !waits {
            self.send(local_rank, sending, MessageKind::Eager, 0, now);
            return;
        }
        let state = &mut self.ranks[local_rank as usize];
        let handle = state.next_handle;
        state.next_handle = handle.wrapping_add(1);
        state.held.insert(u64::from(handle), sending);
        let request = Sending {
            bytes: protocol.control.0,
            created: now,
            ..sending
        };
        self.send(local_rank, request, MessageKind::Request, handle, now);
    }

    /// Schedules something that will move a rank.
    fn wake_rank(&mut self, local_rank: u32, time: u64, payload: u32) {
        self.stimuli += 1;
        let at = &self.interfaces[self.ranks[local_rank as usize].interface as usize];
        let router = at.router - self.base_router;
        let event = Event::new(time, router, Kind::Node, at.terminal, payload);
        self.schedule(event);
    }

    /// One outstanding send or receive of a rank is complete.
    pub(super) fn complete_operation(&mut self, local_rank: u32, now: u64) {
        let state = &mut self.ranks[local_rank as usize];
        state.outstanding -= 1;
        if state.outstanding == 0 && state.activity == Activity::Waiting {
            self.jobs[state.job as usize].wait += u128::from(now - state.waiting_since);
            self.advance(local_rank, now);
        }
    }

    /// Runs a rank's program until it has to wait.
    pub(super) fn advance(&mut self, local_rank: u32, now: u64) {
        let shared = self.shared;
        let index = local_rank as usize;
        let (job, rank) = (self.ranks[index].job, self.ranks[index].rank);
        let plan = &shared.jobs[job as usize];
        let JobLoad::Closed(program) = &plan.load else {
            unreachable!("a rank of an open-loop job");
        };
        let program: &dyn Program = program.as_ref();
        if let Some(sending) = self.ranks[index].sending.take() {
            self.begin_send(local_rank, sending, now);
        }
        loop {
            let state = &mut self.ranks[index];
            match program.next(RankId(rank), &mut state.cursor) {
                Operation::Compute(Picoseconds(0)) => {}
                Operation::Compute(duration) => {
                    state.activity = Activity::Computing;
                    self.jobs[job as usize].compute += u128::from(duration.0);
                    let time = state.occupy(now, duration);
                    self.wake_rank(local_rank, time, timer_payload(local_rank));
                    return;
                }
                Operation::Send { to, bytes, tag } => {
                    let sending = Sending {
                        to: to.0,
                        bytes: bytes.0,
                        tag,
                        created: now,
                    };
                    let overhead = plan.protocol.send_overhead_of(bytes);
                    if overhead != Picoseconds::ZERO {
                        state.activity = Activity::Computing;
                        state.sending = Some(sending);
                        let time = state.occupy(now, overhead);
                        self.wake_rank(local_rank, time, timer_payload(local_rank));
                        return;
                    }
                    self.begin_send(local_rank, sending, now);
                }
                Operation::Receive { from, tag } => match state.post(match_key(from.0, tag)) {
                    None => state.outstanding += 1,
                    Some(Early::Request(handle)) => {
                        state.outstanding += 1;
                        self.prepare_grant(local_rank, handle, from.0, now);
                    }
                    Some(Early::Message(bytes)) => {
                        if plan.protocol.receive_overhead_of(Bytes(bytes)) != Picoseconds::ZERO {
                            state.outstanding += 1;
                            self.take_in(local_rank, bytes, now);
                        }
                    }
                },
                Operation::WaitAll => {
                    if state.outstanding > 0 {
                        state.activity = Activity::Waiting;
                        state.waiting_since = now;
                        return;
                    }
                }
                Operation::EndIteration => {
                    let ends = &mut self.jobs[job as usize].iteration_end;
                    if let Some(end) = ends.get_mut(state.iterations as usize) {
                        *end = (*end).max(now);
                    }
                    state.iterations += 1;
                }
                Operation::Finish => {
                    state.activity = Activity::Finished;
                    let collector = &mut self.jobs[job as usize];
                    collector.last_finish = collector.last_finish.max(now);
                    self.unfinished -= 1;
                    return;
                }
            }
        }
    }
}
