//! What a trace holds, and whether it fits together: read once through all ranks'
//! files before the run.

use std::collections::{BTreeMap, HashMap, VecDeque};

use odonata_traces::TraceError;
use odonata_units::{Bytes, Picoseconds};

use super::balance::{Balance, hash, mix};
use super::call::{Message, Shape, Slot, Source, job_error};
use super::communicators::{Collector, Which};
use super::facts::TraceFacts;
use super::memberships::Communicators;
use super::region::Cut;
use super::requests::{Effect, Effects};
use crate::communicator::{Communicator, Member};

/// The collectives of a communicator that one member called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Called {
    count: u64,
    hash: u64,
}

/// What all members must agree on.
fn signature(shape: &Shape) -> u64 {
    let name = shape.name().bytes().map(u64::from);
    let mut state = name.fold(0, mix);
    state = mix(state, shape.root().map_or(u64::MAX, u64::from));
    let uniform: &[u64] = match shape {
        Shape::Broadcast { bytes, .. }
        | Shape::Reduce { bytes, .. }
        | Shape::Allreduce { bytes }
        | Shape::Scan { bytes }
        | Shape::ExclusiveScan { bytes }
        | Shape::Gather { bytes, .. }
        | Shape::Scatter { bytes, .. }
        | Shape::Allgather { bytes }
        | Shape::Alltoall { bytes } => std::slice::from_ref(bytes),
        Shape::AllgatherVarying { all } | Shape::ReduceScatter { all } => all,
        Shape::Barrier
        | Shape::Unknown
        | Shape::GatherVarying { .. }
        | Shape::ScatterVarying { .. }
        | Shape::AlltoallVarying { .. } => &[],
    };
    uniform
        .iter()
        .fold(state, |state, &bytes| mix(state, bytes))
}

/// A job's trace that fits together.
pub(super) struct CheckedTrace {
    pub facts: TraceFacts,
    pub communicators: Communicators,
}

/// Reads the traces of all ranks. Memory: a few numbers for every rank and for
/// every member of every communicator; nothing that grows with the traces' length.
///
/// # Errors
/// If a trace is damaged, ranks contradict each other about communicators or
/// collectives, or messages are sent that nobody receives or the other way round.
///
/// `is_all`: whether all of it is replayed, so that all of it must fit together. Of a
/// region this goes through the communicators.
pub(super) fn survey(source: &dyn Source, is_all: bool) -> Result<CheckedTrace, TraceError> {
    let ranks = source.ranks();
    let mut facts = TraceFacts {
        ranks,
        ..TraceFacts::default()
    };
    let mut collector = source.defined().is_none().then(|| Collector::new(ranks));
    let mut counted = Counted::of(ranks);
    for rank in 0..ranks {
        let effects = Effects::new(source, rank)?;
        counted.rank(effects, rank, &mut facts, collector.as_mut())?;
        if let Some(collector) = &mut collector {
            collector.next_rank();
        }
    }
    let fail = |reason: String| job_error(source, reason);
    let communicators = match (collector, source.defined()) {
        (Some(collector), _) => collector.resolve().map_err(fail)?,
        (None, Some(defined)) => Communicators::defined(ranks, defined.members).map_err(fail)?,
        (None, None) => return Err(fail("no communicators".to_owned())),
    };
    facts.communicators = communicators.all.len() as u64 - 1;
    if is_all {
        counted.check(&View {
            source,
            communicators: &communicators,
            cut: None,
        })?;
    }
    Ok(CheckedTrace {
        facts,
        communicators,
    })
}

/// What a region of interest holds, and whether that fits together.
///
/// # Errors
/// If it does not: receives from any rank whose message the trace does not tell may
/// take one from the other side of the border.
pub(super) fn survey_region(
    source: &dyn Source,
    cut: &Cut,
    communicators: &Communicators,
) -> Result<TraceFacts, TraceError> {
    let ranks = source.ranks();
    let mut facts = TraceFacts {
        ranks,
        communicators: communicators.all.len() as u64 - 1,
        messages_left_out: cut.messages_left_out,
        collectives_left_out: cut.collectives_left_out,
        ..TraceFacts::default()
    };
    let view = View {
        source,
        communicators,
        cut: Some(cut),
    };
    let mut counted = Counted::of(ranks);
    for rank in 0..ranks {
        counted.rank(view.effects(rank)?, rank, &mut facts, None)?;
    }
    counted.check(&view)?;
    Ok(facts)
}

/// A trace, or a region of it, whose communicators are known.
struct View<'a> {
    source: &'a dyn Source,
    communicators: &'a Communicators,
    cut: Option<&'a Cut>,
}

impl<'a> View<'a> {
    fn effects(&self, rank: u32) -> Result<Effects<'a>, TraceError> {
        Effects::within(self.source, rank, self.cut, self.communicators)
    }
}

/// What must fit together.
struct Counted {
    /// Collectives of each rank by slot.
    called: Vec<Vec<Called>>,
    /// Whether there is more than messages of the world.
    others: bool,
    balances: Vec<Balance>,
}

impl Counted {
    fn of(ranks: u32) -> Self {
        Self {
            called: Vec::with_capacity(ranks as usize),
            others: false,
            balances: vec![Balance::default(); ranks as usize],
        }
    }

    /// Takes in what the next rank does.
    fn rank(
        &mut self,
        mut effects: Effects<'_>,
        rank: u32,
        facts: &mut TraceFacts,
        mut collector: Option<&mut Collector>,
    ) -> Result<(), TraceError> {
        let ranks = facts.ranks;
        let mut gaps = effects.gaps();
        let mut computed = Picoseconds::ZERO;
        let mut found = VecDeque::new();
        let mut slots = vec![Called::default(); 2];
        while let Some(record) = effects.next(&mut found)? {
            facts.records += 1;
            let gap = gaps.before(&record);
            computed = Picoseconds(computed.0.saturating_add(gap.0));
            for effect in found.drain(..) {
                if effect == Effect::Unrecorded
                    && let Some(span) = record.span
                {
                    let time = u64::try_from(span.left.saturating_sub(span.entered)).unwrap_or(0);
                    facts.unrecorded = Picoseconds(facts.unrecorded.0.saturating_add(time));
                }
                let context = Counting {
                    facts,
                    balances: &mut self.balances,
                    slots: &mut slots,
                    others: &mut self.others,
                    rank,
                    ranks,
                };
                context
                    .count(effect, collector.as_deref_mut())
                    .map_err(|reason| effects.error_at(record.at, reason))?;
            }
        }
        computed = Picoseconds(computed.0.saturating_add(gaps.rest(effects.closes()).0));
        facts.computes(computed);
        facts.negative_gaps += gaps.negative();
        facts.untimed += gaps.untimed();
        facts.unknown_requests += effects.unknown_requests();
        self.called.push(slots);
        Ok(())
    }

    /// # Errors
    /// If ranks call different collectives, or what is sent is not received.
    fn check(mut self, view: &View<'_>) -> Result<(), TraceError> {
        check_collectives(view, &self.called)?;
        if self.others {
            count_others(view, &mut self.balances)?;
        }
        for (rank, balance) in self.balances.iter().enumerate() {
            if !balance.is_even() {
                return Err(explain(view, rank as u32, balance)?);
            }
        }
        Ok(())
    }
}

/// What an effect of one rank adds to.
struct Counting<'a> {
    facts: &'a mut TraceFacts,
    balances: &'a mut [Balance],
    slots: &'a mut Vec<Called>,
    others: &'a mut bool,
    rank: u32,
    ranks: u32,
}

/// Number of a communicator in hashes: that of [`Communicator::number`].
fn number(slot: Slot) -> u64 {
    slot.0.into()
}

impl Counting<'_> {
    fn called(&mut self, slot: Slot, signature: u64) {
        let index = slot.0 as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Called::default());
        }
        let called = &mut self.slots[index];
        called.count += 1;
        called.hash = mix(called.hash, signature);
    }

    fn count(mut self, effect: Effect, collector: Option<&mut Collector>) -> Result<(), String> {
        match effect {
            Effect::Begin(message, _) => self.message(message)?,
            Effect::Collective { comm, shape, .. } => {
                *self.facts.collectives.entry(shape.name()).or_default() += 1;
                self.called(comm, signature(&shape));
                if comm == Slot::WORLD {
                    check_shape(&shape, self.ranks, self.rank)?;
                }
                if let Shape::AlltoallVarying { exact: true, .. } = shape {
                    *self.others = true;
                }
            }
            Effect::Transfer {
                comm,
                member,
                bytes,
                ..
            } => {
                if comm == Slot::WORLD {
                    self.member(member)?;
                }
                self.facts.transfers += 1;
                self.facts.transfer_bytes =
                    Bytes(self.facts.transfer_bytes.0.saturating_add(bytes));
            }
            Effect::Create { parent, new, how } => {
                if let Some(collector) = collector {
                    collector.create(parent, new, how)?;
                }
            }
            Effect::Group(made) => {
                if let Some(collector) = collector {
                    collector.group(made)?;
                }
            }
            Effect::Claim { comm, rank, size } => {
                if let Some(collector) = collector {
                    collector.claim(comm, rank, size)?;
                }
            }
            Effect::NotReplayed(name) => {
                *self.facts.not_replayed.entry(name).or_default() += 1;
            }
            Effect::Wait(_) | Effect::Drop(_) | Effect::Unrecorded => {}
        }
        Ok(())
    }

    fn member(&self, member: u32) -> Result<(), String> {
        match member < self.ranks {
            true => Ok(()),
            false => Err(format!(
                "rank {member}, but the job has the ranks 0 to {}",
                self.ranks - 1
            )),
        }
    }

    fn message(&mut self, message: Message) -> Result<(), String> {
        let comm = match message {
            Message::Send { comm, bytes, .. } => {
                self.facts.messages += 1;
                let sum = self.facts.bytes.0.checked_add(bytes.max(1));
                self.facts.bytes = Bytes(sum.ok_or("more bytes than fit into 64 bits")?);
                comm
            }
            Message::Receive { comm, from, tag } => {
                if from.is_none() || tag.is_none() {
                    self.facts.open_receives += 1;
                }
                comm
            }
            Message::Unknown | Message::Nothing => return Ok(()),
        };
        let own = self.rank;
        match (message, comm) {
            (Message::Send { to, tag, .. }, Slot::WORLD) => {
                self.member(to)?;
                self.balances[to as usize].send(number(comm), own, tag);
            }
            (Message::Receive { from, tag, .. }, Slot::WORLD) => {
                from.map_or(Ok(()), |from| self.member(from))?;
                self.balances[own as usize].receive(number(comm), from, tag);
            }
            (Message::Send { to: 0, tag, .. }, Slot::MYSELF) => {
                self.balances[own as usize].send(number(comm), own, tag);
            }
            (
                Message::Receive {
                    from: None | Some(0),
                    tag,
                    ..
                },
                Slot::MYSELF,
            ) => {
                self.balances[own as usize].receive(number(comm), Some(own), tag);
            }
            (_, Slot::MYSELF) => {
                return Err("a message to another member of MPI_COMM_SELF".to_owned());
            }
            _ => *self.others = true,
        }
        Ok(())
    }
}

/// Roots and lists of a collective against the size of its communicator, whose
/// member `me` calls it.
fn check_shape(shape: &Shape, size: u32, me: u32) -> Result<(), String> {
    let name = shape.name();
    if let Some(root) = shape.root()
        && root >= size
    {
        return Err(format!("{name} with root {root} among {size} ranks"));
    }
    let lists: [Option<&[u64]>; 2] = match shape {
        Shape::AllgatherVarying { all } | Shape::ReduceScatter { all } => [Some(all), None],
        Shape::GatherVarying { root, all, .. } | Shape::ScatterVarying { root, all, .. } => {
            if all.is_none() && *root == me {
                return Err(format!("{name} without the sizes that its root knows"));
            }
            [all.as_deref(), None]
        }
        Shape::AlltoallVarying { sent, received, .. } => [Some(sent), Some(received)],
        _ => [None, None],
    };
    match lists
        .into_iter()
        .flatten()
        .find(|list| list.len() != size as usize)
    {
        None => Ok(()),
        Some(list) => Err(format!("{name} with {} sizes for {size} ranks", list.len())),
    }
}

/// All members must call the same collectives of a communicator.
fn check_collectives(view: &View<'_>, called: &[Vec<Called>]) -> Result<(), TraceError> {
    let communicators = view.communicators;
    let mut first: Vec<Option<(u32, Called)>> = vec![None; communicators.all.len()];
    for (rank, slots) in called.iter().enumerate() {
        let rank = rank as u32;
        for (slot, index) in communicators.shared(rank) {
            let called = slots.get(slot.0 as usize).copied().unwrap_or_default();
            match &mut first[index as usize] {
                None => first[index as usize] = Some((rank, called)),
                Some((_, of_first)) if *of_first == called => {}
                Some((other, _)) => {
                    let other = *other;
                    return Err(differing(view, index, other, rank)?);
                }
            }
        }
    }
    Ok(())
}

/// The next collective of a communicator in a rank's trace.
fn next_collective(
    effects: &mut Effects<'_>,
    pending: &mut VecDeque<(u64, Shape)>,
    is_of: impl Fn(Slot) -> bool,
) -> Result<Option<(u64, Shape)>, TraceError> {
    let mut found = VecDeque::new();
    while pending.is_empty() {
        let Some(record) = effects.next(&mut found)? else {
            return Ok(None);
        };
        for effect in found.drain(..) {
            if let Effect::Collective { comm, shape, .. } = effect
                && is_of(comm)
            {
                pending.push_back((record.at, shape));
            }
        }
    }
    Ok(pending.pop_front())
}

/// Finds where the collectives of two members differ.
fn differing(view: &View<'_>, index: u32, one: u32, other: u32) -> Result<TraceError, TraceError> {
    let communicators = view.communicators;
    let is_of =
        |rank: u32| move |slot: Slot| communicators.which(slot, rank) == Some(Which::Index(index));
    let mut both = [view.effects(one)?, view.effects(other)?];
    let mut pending = [VecDeque::new(), VecDeque::new()];
    for number in 1u64.. {
        let [first, second] = &mut both;
        let [first_pending, second_pending] = &mut pending;
        let a = next_collective(first, first_pending, is_of(one))?;
        let b = next_collective(second, second_pending, is_of(other))?;
        let (at, found, expected) = match (a, b) {
            (Some((_, a)), Some((_, b))) if signature(&a) == signature(&b) => continue,
            (a, Some((at, b))) => (at, Some(b), a.map(|(_, a)| a)),
            (a, None) => (0, None, a.map(|(_, a)| a)),
        };
        let said = |shape: Option<Shape>| match shape {
            None => "none".to_owned(),
            Some(shape) => match format!("{shape:?}") {
                text if text.len() <= 120 => text,
                _ => format!("{} of other sizes", shape.name()),
            },
        };
        let reason = format!(
            "collective {number} of a communicator is {} at rank {other}, but {} at rank {one}; \
             all members must call the same",
            said(found),
            said(expected)
        );
        return Ok(second.error_at(at, reason));
    }
    Ok(job_error(view.source, "collectives differ".to_owned()))
}

/// The rank of a member.
fn rank_of(communicator: &Communicator, member: u32) -> Result<u32, String> {
    match member < communicator.size() {
        true => Ok(communicator.rank(Member(member)).0),
        false => Err(format!(
            "rank {member} of a communicator of {}",
            communicator.size()
        )),
    }
}

/// Goes through a rank's messages of communicators: calls `sent(receiver,
/// communicator, tag, place)` and `received(communicator, sender, tag, place)` with
/// ranks of the job.
fn messages(
    view: &View<'_>,
    rank: u32,
    mut sent: impl FnMut(u32, u64, u32, u64),
    mut received: impl FnMut(u64, Option<u32>, Option<u32>, u64),
) -> Result<(), TraceError> {
    let communicators = view.communicators;
    let mut effects = view.effects(rank)?;
    let mut found = VecDeque::new();
    let mut varying: HashMap<Slot, u32> = HashMap::new();
    while let Some(record) = effects.next(&mut found)? {
        for effect in found.drain(..) {
            let mut each = || -> Result<(), String> {
                let of = |slot: Slot| {
                    let communicator = communicators.get(slot, rank);
                    communicator.ok_or_else(|| "a communicator that is not known".to_owned())
                };
                match &effect {
                    Effect::Begin(Message::Send { comm, to, tag, .. }, _) => {
                        let communicator = of(*comm)?;
                        let to = rank_of(&communicator, *to)?;
                        sent(to, communicator.number().into(), *tag, record.at);
                    }
                    Effect::Begin(Message::Receive { comm, from, tag }, _) => {
                        let communicator = of(*comm)?;
                        let from = from.map(|from| rank_of(&communicator, from)).transpose()?;
                        received(communicator.number().into(), from, *tag, record.at);
                    }
                    Effect::Transfer { comm, member, .. } => {
                        let communicator = of(*comm)?;
                        rank_of(&communicator, *member)?;
                    }
                    Effect::Collective { comm, shape, .. } => {
                        let communicator = of(*comm)?;
                        let me = communicator.member(odonata_units::RankId(rank));
                        let me = me.ok_or("a collective of others")?;
                        check_shape(shape, communicator.size(), me.0)?;
                        if let Shape::AlltoallVarying {
                            sent: bytes,
                            received: taken,
                            exact: true,
                        } = shape
                        {
                            let number = varying.entry(*comm).or_default();
                            *number += 1;
                            // As messages whose tag holds their size, apart from others.
                            let key = |bytes: u64| hash(&[u64::from(*number), bytes]) as u32;
                            let comm = (1 << 32) | u64::from(communicator.number());
                            for (member, (&bytes, &taken)) in bytes.iter().zip(taken).enumerate() {
                                let peer = communicator.rank(Member(member as u32)).0;
                                sent(peer, comm, key(bytes), record.at);
                                received(comm, Some(peer), Some(key(taken)), record.at);
                            }
                        }
                    }
                    _ => {}
                }
                Ok(())
            };
            each().map_err(|reason| effects.error_at(record.at, reason))?;
        }
    }
    Ok(())
}

/// Counts all messages anew, now that all communicators are known.
fn count_others(view: &View<'_>, balances: &mut [Balance]) -> Result<(), TraceError> {
    balances.fill(Balance::default());
    for rank in 0..view.source.ranks() {
        let balances = std::cell::RefCell::new(&mut *balances);
        messages(
            view,
            rank,
            |to, comm, tag, _| balances.borrow_mut()[to as usize].send(comm, rank, tag),
            |comm, from, tag, _| balances.borrow_mut()[rank as usize].receive(comm, from, tag),
        )?;
    }
    Ok(())
}

/// Finds a message for `receiver` that is sent and not received, or the other way
/// round.
fn explain(view: &View<'_>, receiver: u32, balance: &Balance) -> Result<TraceError, TraceError> {
    let source = view.source;
    // Sent and received, by communicator, sender and tag.
    let mut counts: BTreeMap<(u64, u32, u32), (u64, u64)> = BTreeMap::new();
    let mut open = 0u64;
    for rank in 0..source.ranks() {
        let counts = std::cell::RefCell::new(&mut counts);
        messages(
            view,
            rank,
            |to, comm, tag, _| {
                if to == receiver {
                    counts.borrow_mut().entry((comm, rank, tag)).or_default().0 += 1;
                }
            },
            |comm, from, tag, _| {
                if rank == receiver {
                    match (from, tag) {
                        (Some(from), Some(tag)) => {
                            counts.borrow_mut().entry((comm, from, tag)).or_default().1 += 1;
                        }
                        _ => open += 1,
                    }
                }
            },
        )?;
    }
    let missing = counts.iter().find(|(_, (sent, received))| received > sent);
    let surplus = counts.iter().find(|(_, (sent, received))| sent > received);
    let collective = |comm: u64| comm >> 32 != 0;
    let (key, is_sent, matched) = match (missing, surplus) {
        (Some((key, (sent, _))), None) => (*key, false, *sent),
        (Some((key, (sent, _))), Some(_)) if open > 0 => (*key, false, *sent),
        (_, Some((key, (_, received)))) => (*key, true, *received),
        (None, None) => {
            return Ok(job_error(
                source,
                format!(
                    "{} messages are sent to rank {receiver}, but it receives {}",
                    balance.sent, balance.received
                ),
            ));
        }
    };
    let (comm, from, tag) = key;
    let rank = if is_sent { from } else { receiver };
    let (mut seen, mut place) = (0u64, 0);
    let mut count = |at| {
        seen += 1;
        if seen == matched + 1 {
            place = at;
        }
    };
    let count = std::cell::RefCell::new(&mut count);
    messages(
        view,
        rank,
        |to, of, with, at| {
            if is_sent && (to, of, with) == (receiver, comm, tag) {
                count.borrow_mut()(at);
            }
        },
        |of, by, with, at| {
            if !is_sent && (of, by, with) == (comm, Some(from), Some(tag)) {
                count.borrow_mut()(at);
            }
        },
    )?;
    let reason = if collective(comm) {
        format!(
            "alltoallv: the sizes that rank {from} sends to rank {receiver} are not those that \
             rank {receiver} receives from it"
        )
    } else if is_sent {
        format!(
            "a message from rank {from} to rank {receiver} with tag {tag} that nobody receives: \
             rank {receiver} receives {} in all of {} for it{}",
            balance.received,
            balance.sent,
            if open > 0 { ", some from any rank" } else { "" }
        )
    } else {
        format!(
            "rank {receiver} receives a message from rank {from} with tag {tag} that nobody \
             sends; {} are sent to it, and it receives {}",
            balance.sent, balance.received
        )
    };
    Ok(view.effects(rank)?.error_at(place, reason))
}
