//! Phases: scripts, collectives and computing one after another, with repeats,
//! as one script.

use std::sync::Arc;

use odonata_units::{Bytes, Picoseconds, RankId};

use crate::collective::CollectiveCall;
use crate::communicator::{Communicator, Member, Members};
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::grid::Grid;
use crate::parallelism::Parallelism;
use crate::program::{Action, Repetition, Totals};
use crate::script::{Handle, Operation, SCRIPT_CONTEXT, Script};

/// A division of a job's ranks into groups of equal size, such as the rows of a
/// process grid. Each group is a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Distance in ranks between neighbours of a group.
    stride: u32,
    /// Ranks of a group.
    size: u32,
}

impl Division {
    /// One group of all `ranks` ranks.
    pub const fn all(ranks: u32) -> Self {
        Self {
            stride: 1,
            size: ranks,
        }
    }

    /// Ranks of `grid` that differ only in `dimension` are a group.
    pub fn along(grid: &Grid, dimension: usize) -> Self {
        Self {
            stride: grid.stride(dimension),
            size: grid.extents()[dimension],
        }
    }

    /// Groups of `size` ranks that are `stride` apart.
    pub(crate) const fn strided(stride: u32, size: u32) -> Self {
        Self { stride, size }
    }

    /// Ranks of a group.
    pub const fn size(self) -> u32 {
        self.size
    }

    /// Place of `rank` in its group.
    pub const fn place(self, rank: RankId) -> u32 {
        rank.0 / self.stride % self.size
    }

    /// The group of `rank`.
    pub const fn members(self, rank: RankId) -> Members {
        Members::Strided {
            first: RankId(rank.0 - self.place(rank) * self.stride),
            stride: self.stride,
            count: self.size,
        }
    }
}

/// A part of an application.
#[derive(Clone)]
pub enum Phase {
    /// Every rank computes for a while.
    Compute(Picoseconds),
    /// Every rank runs through a script of as many ranks as the application.
    /// Ranks go on when their own part of it is done.
    Script(Arc<dyn Script>),
    /// Every group carries out a collective. Nothing happens in groups of one rank.
    Collective(Division, Calls),
    /// Phases that are repeated.
    Repeat(u32, Vec<Phase>),
    /// Phases whose messages are of the class of traffic of this number.
    OfClass(u8, Vec<Phase>),
}

impl Phase {
    /// A phase of a script.
    pub fn script(script: impl Script + 'static) -> Self {
        Self::Script(Arc::new(script))
    }
}

/// What the ranks call of a collective.
#[derive(Clone)]
pub enum Calls {
    /// All the same.
    Same(Arc<CollectiveCall>),
    /// Each its own: same operation, but sizes by rank.
    Each(Arc<dyn Fn(RankId) -> CollectiveCall + Send + Sync>),
}

impl Calls {
    fn of(&self, rank: RankId) -> Arc<CollectiveCall> {
        match self {
            Self::Same(call) => call.clone(),
            Self::Each(call) => Arc::new(call(rank)),
        }
    }

    /// What all ranks send; `None` if it would take long to count.
    fn sent(&self, division: Division, ranks: u32) -> Option<Sent> {
        if division.size() < 2 {
            return Some(Sent::default());
        }
        // Groups send alike if their members call the same.
        let (counted, times) = match self {
            Self::Same(_) => (division.size(), ranks / division.size()),
            Self::Each(_) => (ranks, 1),
        };
        let sent = |place: u32| {
            // Of the same calls the first group's are counted.
            let rank = match self {
                Self::Same(_) => RankId(place * division.stride),
                Self::Each(_) => RankId(place),
            };
            let me = Member(division.place(rank));
            let totals = self.of(rank).sent(me, division.size());
            Sent {
                bytes: u128::from(totals.bytes.0),
                messages: u128::from(totals.messages),
            }
        };
        if sent(0).messages.saturating_mul(u128::from(counted)) > MOST_COUNTED {
            return None;
        }
        let sum = (0..counted).map(sent).fold(Sent::default(), Sent::and);
        Some(sum.times(times))
    }
}

/// Messages of a collective that are counted beforehand: a fraction of a second.
const MOST_COUNTED: u128 = 5_000_000;

/// Tags of a script's own messages are below this; the rest of a tag says in
/// which phase they are sent, so that phases do not take each other's messages.
const TAGS: u32 = 1 << 16;

/// Communicators of a phase's script, that of all ranks not counted.
const COMMUNICATORS: u32 = 64;

/// Phases as one script. An iteration runs through all of them; the iterations
/// of their scripts are not distinguished.
///
/// Nothing synchronises the ranks between phases but the messages that they
/// send: a rank may be in one phase and its neighbour still in the one before.
#[derive(Clone)]
pub struct Phases {
    ranks: u32,
    iterations: u32,
    /// As they were given, for phases that these become a part of.
    phases: Arc<[Phase]>,
    leaves: Vec<(Leaf, Option<u8>)>,
    body: Block,
    totals: Option<Totals>,
}

/// A phase that has no others in it.
#[derive(Clone)]
enum Leaf {
    Compute(Picoseconds),
    Script(Arc<dyn Script>),
    Collective {
        division: Division,
        /// Number of the communicators.
        number: u32,
        calls: Calls,
    },
}

/// A sequence.
#[derive(Clone, Default)]
struct Block {
    /// Where each begins, counted in leaves as they run.
    starts: Vec<u64>,
    nodes: Vec<Node>,
    /// Leaves as they run, in all.
    length: u64,
}

#[derive(Clone)]
enum Node {
    /// Index of a leaf.
    Leaf(u32),
    /// Length of a repetition divides its place.
    Repeat(Block),
}

/// Sums over all ranks.
#[derive(Clone, Copy, Default)]
struct Sent {
    bytes: u128,
    messages: u128,
}

/// Builds [`Phases`].
#[derive(Default)]
struct Builder {
    leaves: Vec<(Leaf, Option<u8>)>,
    /// The class of the phases that are being built.
    class: Option<u8>,
    /// Divisions so far; their places are their numbers less 1.
    divisions: Vec<Division>,
}

impl Phases {
    /// `phases` one after another, `iterations` times over.
    ///
    /// # Errors
    /// If a script has another number of ranks, something is repeated 0 times,
    /// there are no phases or too many, or totals exceed 64 bits.
    pub fn new(ranks: u32, phases: Vec<Phase>, iterations: u32) -> Result<Self, LoadError> {
        if iterations == 0 {
            return Err(LoadError::NoIterations);
        }
        let mut builder = Builder::default();
        let (body, sent) = builder.block(ranks, &phases)?;
        if body.length == 0 {
            return Err(LoadError::NoPhases);
        }
        // An iteration has one more step, which ends it.
        let steps = body.length.checked_add(1);
        if steps
            .and_then(|steps| steps.checked_mul(u64::from(iterations)))
            .is_none()
        {
            return Err(LoadError::TooManyPhases);
        }
        let totals = sent
            .map(|sent| sent.times(iterations).totals())
            .transpose()?;
        Ok(Self {
            ranks,
            iterations,
            phases: phases.into(),
            leaves: builder.leaves,
            body,
            totals,
        })
    }
}

impl Builder {
    fn block(&mut self, ranks: u32, phases: &[Phase]) -> Result<(Block, Option<Sent>), LoadError> {
        let mut block = Block::default();
        let mut sum = Some(Sent::default());
        for phase in phases {
            let (node, length, sent) = self.node(ranks, phase)?;
            block.starts.push(block.length);
            block.nodes.push(node);
            let length = block.length.checked_add(length);
            block.length = length.ok_or(LoadError::TooManyPhases)?;
            sum = sum.zip(sent).map(|(sum, sent)| sum.and(sent));
        }
        Ok((block, sum))
    }

    fn repeated(
        &mut self,
        ranks: u32,
        phases: &[Phase],
        times: u32,
    ) -> Result<(Node, u64, Option<Sent>), LoadError> {
        if times == 0 {
            return Err(LoadError::NoIterations);
        }
        let (block, sent) = self.block(ranks, phases)?;
        let length = block.length.checked_mul(u64::from(times));
        let length = length.ok_or(LoadError::TooManyPhases)?;
        let sent = sent.map(|sent| sent.times(times));
        Ok((Node::Repeat(block), length, sent))
    }

    fn node(&mut self, ranks: u32, phase: &Phase) -> Result<(Node, u64, Option<Sent>), LoadError> {
        let (leaf, sent) = match phase {
            Phase::Repeat(times, phases) => return self.repeated(ranks, phases, *times),
            Phase::OfClass(class, phases) => {
                let around = self.class.replace(*class);
                let built = self.repeated(ranks, phases, 1);
                self.class = around;
                return built;
            }
            Phase::Compute(time) => (Leaf::Compute(*time), Some(Sent::default())),
            Phase::Script(script) => {
                if script.ranks() != ranks {
                    return Err(LoadError::PhaseRanks {
                        found: script.ranks(),
                        ranks,
                    });
                }
                if let Some(inner) = script.as_phases() {
                    return self.repeated(ranks, &inner.phases, inner.iterations);
                }
                let sent = script.totals().map(|totals| Sent {
                    bytes: u128::from(totals.bytes.0),
                    messages: u128::from(totals.messages),
                });
                (Leaf::Script(script.clone()), sent)
            }
            Phase::Collective(division, calls) => {
                let leaf = Leaf::Collective {
                    division: *division,
                    number: self.number(*division, ranks),
                    calls: calls.clone(),
                };
                (leaf, calls.sent(*division, ranks))
            }
        };
        let index = self.leaves.len() as u32;
        if index == TAGS {
            return Err(LoadError::TooManyPhases);
        }
        self.leaves.push((leaf, self.class));
        Ok((Node::Leaf(index), 1, sent))
    }

    /// Number of the communicators of a division. Phases with the same one share
    /// it, so that their collectives are matched in order.
    fn number(&mut self, division: Division, ranks: u32) -> u32 {
        if division == Division::all(ranks) {
            return 0;
        }
        let known = self.divisions.iter().position(|known| *known == division);
        let place = known.unwrap_or_else(|| {
            self.divisions.push(division);
            self.divisions.len() - 1
        });
        // Behind those of all scripts.
        TAGS * COMMUNICATORS + place as u32
    }
}

impl Sent {
    fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            messages: self.messages.saturating_add(other.messages),
        }
    }

    fn times(self, times: u32) -> Self {
        Self {
            bytes: self.bytes.saturating_mul(u128::from(times)),
            messages: self.messages.saturating_mul(u128::from(times)),
        }
    }

    fn totals(self) -> Result<Totals, LoadError> {
        let Self { bytes, messages } = self;
        match (u64::try_from(bytes), u64::try_from(messages)) {
            (Ok(bytes), Ok(messages)) => Ok(Totals {
                bytes: Bytes(bytes),
                messages,
            }),
            _ => Err(LoadError::TooMuch { bytes, messages }),
        }
    }
}

impl Block {
    /// The leaf at `place`, counted in leaves as they run.
    fn leaf(&self, place: u64) -> u32 {
        let (mut block, mut place) = (self, place);
        loop {
            let index = block.starts.partition_point(|&start| start <= place) - 1;
            match &block.nodes[index] {
                Node::Leaf(leaf) => return *leaf,
                Node::Repeat(inner) => {
                    place = (place - block.starts[index]) % inner.length;
                    block = inner;
                }
            }
        }
    }
}

/// An operation of a script as phase number `leaf`: its tags, handles and
/// communicators are its own.
fn apart(operation: Operation, leaf: u32) -> Operation {
    let tagged = |tag: u32| {
        debug_assert!(tag < TAGS, "a script's tag beyond the largest");
        leaf * TAGS + tag % TAGS
    };
    let named = |handle: Handle| Handle(handle.0 | u64::from(leaf) << 48);
    let moved = |action: Action| match action {
        Action::Send {
            to,
            bytes,
            context,
            tag,
        } if context == SCRIPT_CONTEXT => Action::Send {
            to,
            bytes,
            context,
            tag: tagged(tag),
        },
        Action::Receive {
            from,
            context,
            tag: Some(tag),
        } if context == SCRIPT_CONTEXT => Action::Receive {
            from,
            context,
            tag: Some(tagged(tag)),
        },
        other => other,
    };
    match operation {
        Operation::Send { to, bytes, tag } => Operation::Send {
            to,
            bytes,
            tag: tagged(tag),
        },
        Operation::Receive { from, tag } => Operation::Receive {
            from,
            tag: tagged(tag),
        },
        Operation::Begin { action, handle } => Operation::Begin {
            action: moved(action),
            handle: named(handle),
        },
        Operation::Do(action) => Operation::Do(moved(action)),
        Operation::Wait { handles, need } => Operation::Wait {
            handles: handles.into_iter().map(named).collect(),
            need,
        },
        Operation::Test(handles) => Operation::Test(handles.into_iter().map(named).collect()),
        Operation::Collective {
            communicator,
            call,
            handle,
        } => Operation::Collective {
            communicator: match communicator.number() {
                0 => communicator,
                number => {
                    debug_assert!(number < COMMUNICATORS, "a communicator beyond the largest");
                    let number = leaf * COMMUNICATORS + number % COMMUNICATORS;
                    Arc::new(communicator.renumbered(number))
                }
            },
            call,
            handle: handle.map(named),
        },
        other => other,
    }
}

impl Script for Phases {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        let steps = self.body.length + 1;
        loop {
            if cursor.part / steps >= u64::from(self.iterations) {
                return Operation::Finish;
            }
            let part = cursor.part;
            let following = Cursor {
                part: part + 1,
                ..Cursor::default()
            };
            if part % steps == self.body.length {
                *cursor = following;
                return Operation::EndIteration;
            }
            let index = self.body.leaf(part % steps);
            let (leaf, class) = &self.leaves[index as usize];
            match leaf {
                Leaf::Compute(time) => {
                    *cursor = following;
                    if *time > Picoseconds::ZERO {
                        return Operation::Compute(*time);
                    }
                }
                Leaf::Collective {
                    division,
                    number,
                    calls,
                } => {
                    *cursor = following;
                    cursor.class = *class;
                    if division.size() > 1 {
                        let communicator = Communicator::new(*number, division.members(rank));
                        return Operation::Collective {
                            communicator: Arc::new(communicator),
                            call: calls.of(rank),
                            handle: None,
                        };
                    }
                }
                Leaf::Script(script) => {
                    let operation = script.next(rank, cursor);
                    (cursor.part, cursor.class) = (part, *class);
                    match operation {
                        Operation::EndIteration => {}
                        Operation::Finish => *cursor = following,
                        other => return apart(other, index),
                    }
                }
            }
        }
    }

    fn totals(&self) -> Option<Totals> {
        self.totals
    }

    fn iterations(&self) -> u32 {
        self.iterations
    }

    fn repetition(&self) -> Repetition {
        // Each iteration runs through every script from its beginning.
        Repetition::Same
    }

    fn skip(&self, cursor: &mut Cursor, iterations: u32) {
        cursor.part += u64::from(iterations) * (self.body.length + 1);
    }

    fn as_phases(&self) -> Option<&Phases> {
        Some(self)
    }

    fn has_parallelism(&self) -> bool {
        self.leaves
            .iter()
            .any(|(leaf, _)| matches!(leaf, Leaf::Script(script) if script.has_parallelism()))
    }

    fn parallelism(&self, cursor: &Cursor, communicator: Option<u32>) -> Option<Parallelism> {
        let (leaf, communicator) = match communicator {
            Some(0) => return None,
            Some(number) => (number / COMMUNICATORS, Some(number % COMMUNICATORS)),
            None => {
                let place = cursor.part % (self.body.length + 1);
                if place == self.body.length {
                    return None;
                }
                (self.body.leaf(place), None)
            }
        };
        match &self.leaves.get(leaf as usize)?.0 {
            Leaf::Script(script) => script.parallelism(cursor, communicator),
            Leaf::Compute(_) | Leaf::Collective { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
