//! How the messages of a rank find their receives, by the rules of MPI: by
//! sender, context and tag, with wildcards for sender and tag; a message gets the
//! receive that was posted first of those that it matches, a receive the message
//! that came first; and in ordered contexts messages of one sender count as
//! coming in the order in which they were sent.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use odonata_load::{Context, RequestId};
use odonata_run::EntityMap;
use odonata_run::encoding::sorted_map;
use odonata_run::memory::{make_room, make_room_in};
use serde::{Deserialize, Serialize};

/// Who asks for memory.
pub const UNMATCHED: &str = "messages and receives that wait for each other";

/// What a message says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Envelope {
    /// Where it matches.
    pub context: Context,
    /// Sending rank.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
}

impl Hash for Envelope {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.context.hash(state);
        state.write_u64(u64::from(self.source) << 32 | u64::from(self.tag));
    }
}

/// A message, or the request of one, that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Arrived {
    /// All of it.
    Message {
        /// Size.
        bytes: u64,
        /// When it was sent.
        created: u64,
    },
    /// That it may be sent.
    Request {
        /// Its number at the sender.
        handle: u32,
        /// Number of its class of traffic.
        class: u8,
    },
}

/// A receive that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Posted {
    /// The rank's name for it.
    pub request: RequestId,
    /// Processor that takes the message in.
    pub processor: u8,
}

/// Which messages a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Where it matches.
    pub context: Context,
    /// Sending rank; `None`: any.
    pub source: Option<u32>,
    /// Tag; `None`: any.
    pub tag: Option<u32>,
}

impl Wanted {
    fn takes(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }

    /// In words.
    pub fn describe(&self) -> String {
        let source = self
            .source
            .map_or("any rank".to_owned(), |source| format!("rank {source}"));
        let tag = self
            .tag
            .map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
        format!("a message from {source} with {tag}")
    }
}

/// One at least, first come first served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line<T> {
    /// With its place among all that were posted or arrived.
    pub first: (u64, T),
    /// The same of those behind it.
    /// Boxed, as it is rarely there and an empty deque is four times as large.
    pub others: Option<Box<VecDeque<(u64, T)>>>,
}

impl<T: Copy> Line<T> {
    fn new(first: (u64, T)) -> Self {
        Self {
            first,
            others: None,
        }
    }

    fn push(&mut self, last: (u64, T)) {
        let others = self.others.get_or_insert_default();
        make_room_in(&mut **others, UNMATCHED);
        others.push_back(last);
    }

    /// Takes the first; whether that was the only one.
    fn pop(&mut self) -> (T, bool) {
        let (_, first) = self.first;
        match self.others.as_mut().and_then(|others| others.pop_front()) {
            Some(next) => {
                self.first = next;
                (first, false)
            }
            None => (first, true),
        }
    }

    fn len(&self) -> u64 {
        1 + self.others.as_ref().map_or(0, |others| others.len() as u64)
    }
}

/// What waits for its counterpart under one envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unmatched {
    /// Receives that no message has come for.
    Posted(Line<Posted>),
    /// Messages that no receive is posted for.
    Arrived(Line<Arrived>),
}

type Lines = EntityMap<Envelope, Unmatched>;

/// The receives and messages of one rank that wait for each other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Matching {
    /// Receives that name sender and tag, and messages.
    #[serde(with = "sorted_map")]
    pub lines: Lines,
    /// All other receives, in the order of posting.
    pub wildcards: Vec<(u64, Wanted, Posted)>,
    /// Numbers what is posted and what arrives.
    pub next: u64,
    /// Messages sent in ordered contexts, by (context, receiver).
    #[serde(with = "sorted_map")]
    pub sent: EntityMap<(Context, u32), u32>,
    /// The same: messages that have come in order, by (context, sender).
    #[serde(with = "sorted_map")]
    pub come: EntityMap<(Context, u32), u32>,
    /// Messages that have overtaken others, by (context, sender, number).
    #[serde(with = "sorted_map")]
    pub ahead: EntityMap<(Context, u32, u32), (Envelope, Arrived)>,
}

impl Matching {
    /// The number of the next message to `to`, for [`Self::arrive`].
    pub fn number(&mut self, context: Context, to: u32) -> u32 {
        if !context.is_ordered() {
            return 0;
        }
        let sent = self.sent.entry((context, to)).or_default();
        let number = *sent;
        *sent = number.wrapping_add(1);
        number
    }

    /// A message has arrived. Calls `matched` for it, and for those that were
    /// waiting for it to come first, with the receives that they get.
    pub fn arrive(
        &mut self,
        envelope: Envelope,
        number: u32,
        what: Arrived,
        mut matched: impl FnMut(Envelope, Arrived, Posted),
    ) {
        let context = envelope.context;
        if !context.is_ordered() {
            if let Some(posted) = self.offer(envelope, what) {
                matched(envelope, what, posted);
            }
            return;
        }
        let source = envelope.source;
        let come = self.come.entry((context, source)).or_default();
        if number != *come {
            make_room_in(&mut self.ahead, UNMATCHED);
            self.ahead
                .insert((context, source, number), (envelope, what));
            return;
        }
        let mut number = number;
        let mut next = Some((envelope, what));
        while let Some((envelope, what)) = next {
            if let Some(posted) = self.offer(envelope, what) {
                matched(envelope, what, posted);
            }
            number = number.wrapping_add(1);
            next = self.ahead.remove(&(context, source, number));
        }
        self.come.insert((context, source), number);
    }

    /// A message has come, in its turn: the receive that it gets.
    fn offer(&mut self, envelope: Envelope, what: Arrived) -> Option<Posted> {
        make_room_in(&mut self.lines, UNMATCHED);
        let mut wildcards = self.wildcards.iter();
        let wildcard = wildcards.position(|(_, wanted, _)| wanted.takes(&envelope));
        let mut entry = match self.lines.entry(envelope) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => {
                if let Some(index) = wildcard {
                    return Some(self.wildcards.remove(index).2);
                }
                entry.insert(Unmatched::Arrived(Line::new((self.next, what))));
                self.next += 1;
                return None;
            }
        };
        match entry.get_mut() {
            Unmatched::Posted(line) => {
                if let Some(index) = wildcard
                    && self.wildcards[index].0 < line.first.0
                {
                    return Some(self.wildcards.remove(index).2);
                }
                let (posted, only) = line.pop();
                if only {
                    entry.remove();
                }
                Some(posted)
            }
            // A receive that takes it would have taken those before it.
            Unmatched::Arrived(line) => {
                line.push((self.next, what));
                self.next += 1;
                None
            }
        }
    }

    /// Posts a receive; the message that it gets at once, if any.
    pub fn post(&mut self, wanted: Wanted, posted: Posted) -> Option<(Envelope, Arrived)> {
        let (Some(source), Some(tag)) = (wanted.source, wanted.tag) else {
            return self.post_wildcard(wanted, posted);
        };
        let envelope = Envelope {
            context: wanted.context,
            source,
            tag,
        };
        let order = self.next;
        make_room_in(&mut self.lines, UNMATCHED);
        match self.lines.entry(envelope) {
            Entry::Occupied(mut entry) => match entry.get_mut() {
                Unmatched::Arrived(line) => {
                    let (what, only) = line.pop();
                    if only {
                        entry.remove();
                    }
                    return Some((envelope, what));
                }
                Unmatched::Posted(line) => line.push((order, posted)),
            },
            Entry::Vacant(entry) => {
                entry.insert(Unmatched::Posted(Line::new((order, posted))));
            }
        }
        self.next += 1;
        None
    }

    fn post_wildcard(&mut self, wanted: Wanted, posted: Posted) -> Option<(Envelope, Arrived)> {
        let lines = self.lines.iter();
        let come = lines.filter_map(|(envelope, unmatched)| match unmatched {
            Unmatched::Arrived(line) if wanted.takes(envelope) => Some((line.first.0, *envelope)),
            _ => None,
        });
        if let Some((_, envelope)) = come.min()
            && let Entry::Occupied(mut entry) = self.lines.entry(envelope)
            && let Unmatched::Arrived(line) = entry.get_mut()
        {
            let (what, only) = line.pop();
            if only {
                entry.remove();
            }
            return Some((envelope, what));
        }
        make_room(&mut self.wildcards, UNMATCHED);
        self.wildcards.push((self.next, wanted, posted));
        self.next += 1;
        None
    }

    /// A receive that waits, in words: the one posted first.
    pub fn waits_for(&self) -> Option<String> {
        let lines = self.lines.iter().filter_map(|(envelope, unmatched)| {
            let Unmatched::Posted(line) = unmatched else {
                return None;
            };
            let wanted = Wanted {
                context: envelope.context,
                source: Some(envelope.source),
                tag: Some(envelope.tag),
            };
            Some((line.first.0, wanted))
        });
        let wildcards = self
            .wildcards
            .iter()
            .map(|&(order, wanted, _)| (order, wanted));
        let first = lines.chain(wildcards).min_by_key(|&(order, _)| order);
        first.map(|(_, wanted)| wanted.describe())
    }

    /// Bytes that it holds, about.
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<(Envelope, Unmatched)>()
            + self.ahead.capacity() * size_of::<((Context, u32, u32), (Envelope, Arrived))>()
            + self.wildcards.capacity() * size_of::<(u64, Wanted, Posted)>()
            + self.unreceived() as usize * size_of::<(u64, Arrived)>()
    }

    /// Messages that have come, or asked to come, and found no receive.
    pub fn unreceived(&self) -> u64 {
        let lines = self.lines.values().map(|unmatched| match unmatched {
            Unmatched::Arrived(line) => line.len(),
            Unmatched::Posted(_) => 0,
        });
        lines.sum::<u64>() + self.ahead.len() as u64
    }
}

#[cfg(test)]
mod tests;
