//! Regions of interest: a part of every rank's trace, cut out so that what is left
//! fits together.
//!
//! Ranks do not come to a border at the same moment: a message may be sent before it
//! and received behind it. The n-th message from one rank to another with a tag and a
//! communicator is the n-th that is received of these (messages do not overtake each
//! other), so each has a number on both sides; kept are those that both sides have
//! within their region. Likewise collectives: those that all members call within
//! theirs. What is kept of a trace that comes to an end comes to an end: it waits for
//! less.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use odonata_traces::TraceError;
use odonata_units::Picoseconds;

use super::call::{Message, Place, Record, Slot, Source, job_error};
use super::communicators::Which;
use super::memberships::Communicators;
use super::requests::{Effect, Effects};
use crate::communicator::Member;

/// Names that an error tells at most.
const NAMES: usize = 12;

/// Where a region of interest starts or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Border {
    /// Time after the trace's start: calls that begin from then on, or before.
    Time(Picoseconds),
    /// Where a rank enters a function, if it is the start, or leaves it, if it is the
    /// end: a region of the program that the trace knows, or a function of MPI.
    Function {
        /// Its name.
        name: String,
        /// Which time, from 1, where it calls itself counted once; `None`: the first
        /// entry, or the last exit.
        number: Option<u64>,
    },
    /// Where a marker lies, by its text or kind.
    Marker {
        /// Its name.
        name: String,
        /// Which of those with this name, from 1; `None`: the first as a start, the
        /// last as an end.
        number: Option<u64>,
    },
}

/// The part of a trace that is replayed. Communicators are those of the whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// `None`: from the trace's start.
    pub start: Option<Border>,
    /// `None`: to the trace's end.
    pub end: Option<Border>,
}

impl Region {
    /// Whether it is the whole trace.
    pub fn is_whole(&self) -> bool {
        self.start.is_none() && self.end.is_none()
    }
}

/// The region in a rank's trace. Empty (`first` > `last`) where the rank takes no part.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Places of the first and last record, both included.
    first: u64,
    last: u64,
    /// From when to when the rank's own time counts.
    opens: Option<i64>,
    closes: Option<i64>,
}

impl Window {
    const EMPTY: Self = Self {
        first: 1,
        last: 0,
        opens: None,
        closes: None,
    };

    fn contains(&self, record: &Record) -> bool {
        (self.first..=self.last).contains(&record.at)
    }
}

/// A sender's messages to a receiver in a communicator and with a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Channel {
    /// Index of the communicator; `u32::MAX`: the rank alone.
    comm: u32,
    from: u32,
    to: u32,
    tag: u32,
}

/// How many there were so far, and which of them lie within the region.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    count: u64,
    within: Option<(u64, u64)>,
}

impl Numbers {
    fn note(&mut self, inside: bool) {
        if inside {
            let first = self.within.map_or(self.count, |(first, _)| first);
            self.within = Some((first, self.count + 1));
        }
        self.count += 1;
    }

    fn range(self) -> Range<u64> {
        let (first, end) = self.within.unwrap_or_default();
        first..end
    }
}

fn common(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// A region of interest of all ranks, and what lies across its border. Memory: a few
/// numbers for every rank and communicator and for every channel across the border;
/// while it is found, some 100 bytes for every sender, receiver, communicator and tag.
#[derive(Debug)]
pub(super) struct Cut {
    windows: Vec<Window>,
    /// The numbers that are kept, of channels of which not all within is kept.
    messages: HashMap<Channel, Range<u64>>,
    /// The numbers that are kept, by communicator.
    collectives: Vec<Range<u64>>,
    /// Sends and receives within the region whose other end lies outside.
    pub messages_left_out: u64,
    /// Calls of collectives within the region that not all members have there.
    pub collectives_left_out: u64,
}

impl Cut {
    /// Finds a region in the traces of all ranks: reads each twice.
    ///
    /// # Errors
    /// If a trace is damaged, a border is not found, or no rank does anything between
    /// them.
    pub fn new(
        source: &dyn Source,
        communicators: &Communicators,
        region: &Region,
    ) -> Result<Self, TraceError> {
        let mut windows = find_windows(source, region)?;
        let mut channels: HashMap<Channel, [Numbers; 2]> = HashMap::new();
        let mut collectives: Vec<Option<Range<u64>>> = vec![None; communicators.all.len()];
        let (mut calls, mut anything) = (0u64, false);
        for rank in 0..source.ranks() {
            let window = &mut windows[rank as usize];
            let mut slots: HashMap<Slot, Numbers> = HashMap::new();
            let mut effects = Effects::new(source, rank)?;
            let mut found = VecDeque::new();
            let (mut opens, mut last) = (window.opens, None);
            while let Some(record) = effects.next(&mut found)? {
                let inside = window.contains(&record);
                if let Some(span) = record.span.filter(|_| !record.local) {
                    // A call across the start: what the rank computes begins behind it.
                    if record.at < window.first {
                        opens = opens.map(|opens| opens.max(span.left));
                    }
                    last = last.max(Some(span.left));
                }
                for effect in found.drain(..) {
                    match &effect {
                        Effect::Collective { comm, .. } => {
                            slots.entry(*comm).or_default().note(inside);
                        }
                        Effect::Begin(message, _) => {
                            let of = channel(communicators, rank, message)
                                .map_err(|reason| effects.error_at(record.at, reason))?;
                            if let Some((channel, side)) = of {
                                channels.entry(channel).or_default()[side].note(inside);
                            }
                        }
                        _ => {}
                    }
                }
                anything |= inside;
            }
            window.opens = opens;
            // Nobody computes behind the trace's end.
            window.closes = window
                .closes
                .map(|closes| last.map_or(closes, |last| last.min(closes)));
            for (slot, index) in communicators.shared(rank) {
                let range = slots.get(&slot).copied().unwrap_or_default().range();
                calls += length(&range);
                let kept = &mut collectives[index as usize];
                *kept = Some(match kept.take() {
                    None => range,
                    Some(kept) => common(&kept, &range),
                });
            }
        }
        if !anything {
            return Err(job_error(
                source,
                "no rank calls anything in the region between start and end".to_owned(),
            ));
        }
        let collectives: Vec<Range<u64>> = collectives
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        let kept = collectives.iter().zip(&communicators.all);
        let kept: u64 = kept
            .map(|(kept, of)| length(kept) * u64::from(of.size()))
            .sum();
        let mut cut = Self {
            windows,
            messages: HashMap::new(),
            collectives,
            messages_left_out: 0,
            collectives_left_out: calls.saturating_sub(kept),
        };
        for (channel, sides) in channels {
            let [sent, received] = sides.map(Numbers::range);
            let kept = common(&sent, &received);
            let out = length(&sent) + length(&received) - 2 * length(&kept);
            if out > 0 {
                cut.messages_left_out += out;
                cut.messages.insert(channel, kept);
            }
        }
        Ok(cut)
    }

    /// When the own time of a rank begins to count.
    pub fn opens(&self, rank: u32) -> Option<i64> {
        self.windows[rank as usize].opens
    }

    /// When the own time of a rank ceases to count.
    pub fn closes(&self, rank: u32) -> Option<i64> {
        self.windows[rank as usize].closes
    }
}

/// The channel of a message and which side of it: 0 sends, 1 receives; `None` of a
/// receive that takes whatever comes.
fn channel(
    communicators: &Communicators,
    rank: u32,
    message: &Message,
) -> Result<Option<(Channel, usize)>, String> {
    let of = |slot: Slot, member: u32| match communicators.which(slot, rank) {
        Some(Which::Myself) => Ok((u32::MAX, rank)),
        Some(Which::Index(index)) => {
            let of = &communicators.all[index as usize];
            match member < of.size() {
                true => Ok((index, of.rank(Member(member)).0)),
                false => Err(format!("rank {member} of a communicator of {}", of.size())),
            }
        }
        None => Err("a communicator that is not known".to_owned()),
    };
    Ok(match *message {
        Message::Send { comm, to, tag, .. } => {
            let (comm, to) = of(comm, to)?;
            let from = rank;
            Some((
                Channel {
                    comm,
                    from,
                    to,
                    tag,
                },
                0,
            ))
        }
        Message::Receive {
            comm,
            from: Some(from),
            tag: Some(tag),
        } => {
            let (comm, from) = of(comm, from)?;
            let to = rank;
            Some((
                Channel {
                    comm,
                    from,
                    to,
                    tag,
                },
                1,
            ))
        }
        _ => None,
    })
}

/// Goes through a rank's effects and says which belong to the region.
pub(super) struct Cutting<'a> {
    cut: &'a Cut,
    communicators: &'a Communicators,
    rank: u32,
    /// How many so far, of channels across the border.
    counts: HashMap<(Channel, usize), u64>,
    /// The same of collectives.
    called: HashMap<u32, u64>,
}

impl<'a> Cutting<'a> {
    pub fn new(cut: &'a Cut, communicators: &'a Communicators, rank: u32) -> Self {
        Self {
            cut,
            communicators,
            rank,
            counts: HashMap::new(),
            called: HashMap::new(),
        }
    }

    /// Whether a record lies in the region.
    pub fn contains(&self, record: &Record) -> bool {
        self.cut.windows[self.rank as usize].contains(record)
    }

    /// Whether the region ends before a record.
    pub fn is_past(&self, record: &Record) -> bool {
        record.at > self.cut.windows[self.rank as usize].last
    }

    /// Whether an effect belongs to the region; `inside`: whether its record does. To
    /// be called with every effect, in order.
    ///
    /// # Errors
    /// If it names a member that a communicator does not have.
    pub fn keeps(&mut self, effect: &Effect, inside: bool) -> Result<bool, String> {
        Ok(match effect {
            Effect::Begin(message, _) => {
                let Some((channel, side)) = channel(self.communicators, self.rank, message)? else {
                    return Ok(inside);
                };
                let Some(kept) = self.cut.messages.get(&channel) else {
                    return Ok(inside);
                };
                let count = self.counts.entry((channel, side)).or_default();
                let number = *count;
                *count += 1;
                inside && kept.contains(&number)
            }
            Effect::Collective { comm, .. } => match self.communicators.which(*comm, self.rank) {
                Some(Which::Index(index)) => {
                    let count = self.called.entry(index).or_default();
                    let number = *count;
                    *count += 1;
                    inside && self.cut.collectives[index as usize].contains(&number)
                }
                _ => inside,
            },
            // What was not begun is not waited for; who is in a communicator is known.
            _ => inside,
        })
    }
}

fn find_windows(source: &dyn Source, region: &Region) -> Result<Vec<Window>, TraceError> {
    let ranks = source.ranks();
    let fail = |reason: String| job_error(source, reason);
    let start = source.start()?;
    let after_start = |time: Picoseconds| i64::try_from(time.0).ok()?.checked_add(start);
    // Borders in time are the same for all ranks.
    let mut moments = [None, None];
    for (moment, (border, is_end)) in moments
        .iter_mut()
        .zip([(&region.start, false), (&region.end, true)])
    {
        *moment = match border {
            Some(Border::Time(time)) => Some(after_start(*time).ok_or_else(|| {
                fail(format!(
                    "{time} after the trace's start is more than 106 days"
                ))
            })?),
            Some(Border::Marker { name, number }) => {
                Some(find_marker(source, name, *number, is_end)?)
            }
            _ => None,
        };
    }
    let mut windows = Vec::with_capacity(ranks as usize);
    // Of each border, whether any rank comes to it.
    let mut reached = [false, false];
    for rank in 0..ranks {
        let mut window = Window {
            first: 0,
            last: u64::MAX,
            opens: moments[0],
            closes: moments[1],
        };
        let mut takes_part = true;
        if let Some(Border::Function { name, number }) = &region.start {
            match find_visit(source, rank, name, *number, false)? {
                Some(place) => {
                    (window.first, window.opens) = (place.at, place.time);
                    reached[0] = true;
                }
                None => takes_part = false,
            }
        }
        if let Some(Border::Function { name, number }) = &region.end {
            match find_visit(source, rank, name, *number, true)? {
                Some(place) => {
                    (window.last, window.closes) = (place.at, place.time);
                    reached[1] = true;
                }
                None => takes_part = false,
            }
        }
        if moments.iter().any(Option::is_some) && takes_part {
            between(source, rank, moments, &mut window)?;
        }
        if let (Some(opens), Some(closes)) = (window.opens, window.closes)
            && takes_part
            && opens >= closes
        {
            return Err(fail(format!(
                "the region of rank {rank} ends ({}) before it starts ({})",
                Picoseconds(closes.saturating_sub(start).max(0).unsigned_abs()),
                Picoseconds(opens.saturating_sub(start).max(0).unsigned_abs()),
            )));
        }
        windows.push(match takes_part {
            true => window,
            false => Window::EMPTY,
        });
    }
    for (border, reached) in [&region.start, &region.end].into_iter().zip(reached) {
        if let Some(Border::Function { name, .. }) = border
            && !reached
        {
            return Err(fail(format!(
                "no rank calls a function \"{name}\"; {}",
                listed(&source.functions()?)
            )));
        }
    }
    Ok(windows)
}

/// Names for a message.
fn listed(names: &[String]) -> String {
    let few = names.iter().take(NAMES).map(String::as_str);
    let few = few.collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "the trace has functions of MPI only, for instance MPI_Barrier".to_owned(),
        many if many > NAMES => format!("those of the trace: {few} and {} others", many - NAMES),
        _ => format!("those of the trace: {few}, and functions of MPI"),
    }
}

fn find_visit(
    source: &dyn Source,
    rank: u32,
    name: &str,
    number: Option<u64>,
    is_end: bool,
) -> Result<Option<Place>, TraceError> {
    let (mut count, mut found) = (0u64, None);
    source.visits(rank, name, &mut |visit| {
        count += 1;
        let wanted = match number {
            Some(number) => number == count,
            None => is_end || count == 1,
        };
        if wanted {
            found = Some(if is_end { visit.left } else { visit.entered });
        }
    })?;
    match (found, number) {
        (None, Some(number)) if count > 0 => Err(job_error(
            source,
            format!(
                "rank {rank} is in function \"{name}\" {count} times; there is no time {number}"
            ),
        )),
        _ => Ok(found),
    }
}

fn find_marker(
    source: &dyn Source,
    name: &str,
    number: Option<u64>,
    is_end: bool,
) -> Result<i64, TraceError> {
    let markers = source.markers()?;
    let called: Vec<_> = markers
        .iter()
        .filter(|marker| marker.names.iter().any(|known| known == name))
        .collect();
    let chosen = match (number, is_end) {
        (Some(number), _) => usize::try_from(number)
            .ok()
            .and_then(|number| called.get(number.checked_sub(1)?)),
        (None, false) => called.first(),
        (None, true) => called.last(),
    };
    chosen
        .map(|marker| if is_end { marker.ends } else { marker.begins })
        .ok_or_else(|| {
            let reason = match (number, called.len()) {
                (Some(number), count @ 1..) => {
                    format!("has {count} markers \"{name}\"; there is none of number {number}")
                }
                _ if markers.is_empty() => {
                    format!("has no markers, and so none \"{name}\"; OTF2 archives can have some")
                }
                _ => {
                    let mut names: Vec<String> = markers
                        .iter()
                        .flat_map(|marker| marker.names.clone())
                        .collect();
                    names.sort_unstable();
                    names.dedup();
                    names.truncate(NAMES);
                    format!("has no marker \"{name}\"; there are: {}", names.join(", "))
                }
            };
            job_error(source, reason)
        })
}

/// Confines a window to the records that begin between two moments.
fn between(
    source: &dyn Source,
    rank: u32,
    moments: [Option<i64>; 2],
    window: &mut Window,
) -> Result<(), TraceError> {
    let mut calls = source.calls(rank, false)?;
    let mut made = Vec::new();
    let (mut first, mut last, mut previous) = (None, None, 0);
    while let Some(record) = calls.next(&mut made)? {
        made.clear();
        if let Some(span) = record.span {
            if moments[0].is_none_or(|start| span.entered >= start) {
                first = first.or(Some(record.at));
            }
            if moments[1].is_some_and(|end| span.entered >= end) {
                last = last.or(Some(previous));
            }
        }
        previous = record.at;
    }
    if moments[0].is_some() {
        // Behind everything, if nothing begins so late.
        window.first = first.unwrap_or(u64::MAX);
    }
    if let Some(last) = last {
        window.last = last;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_are_those_of_both_sides() {
        let mut sent = Numbers::default();
        let mut received = Numbers::default();
        // Messages 2 to 5 are sent within, 3 to 6 received.
        (0..8).for_each(|number| sent.note((2..6).contains(&number)));
        (0..8).for_each(|number| received.note((3..7).contains(&number)));
        assert_eq!(common(&sent.range(), &received.range()), 3..6);
        let nothing = Numbers::default().range();
        assert_eq!(length(&common(&sent.range(), &nothing)), 0);
    }
}
