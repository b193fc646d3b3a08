//! Pending events, kept by time window.
//!
//! Routers influence each other only through links, whose latency is at least
//! one window. So within a window every router can be simulated by itself: a
//! window's events are grouped by router, and each router's are put in order of
//! time. That order, and with it every result, does not depend on the order in
//! which events were pushed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::table::Table;
use odonata_run::memory::{beyond, make_room};

/// What an event is about; also the order in which simultaneous events of one
/// router are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub(super) enum Kind {
    /// A packet has passed the pipeline of the router and requests its output.
    Arrive = 0,
    /// A port (of the router or of a node's interface) may have become free.
    Wake = 1,
    /// Something at a node: a message is complete, a computation is done.
    Node = 2,
    /// Buffer space at the other end of a port has become free. Last, so that
    /// what happens at the same time does not see it yet.
    Credit = 3,
}

const PAYLOAD_BITS: u32 = 30;
const PORT_BITS: u32 = 12;
const KIND_BITS: u32 = 2;
/// Kinds of events.
const KINDS: usize = 1 << KIND_BITS;
const ROUTER_BITS: u32 = 20;
/// Bits of kind, port and payload.
const ORDER_BITS: u32 = KIND_BITS + PORT_BITS + PAYLOAD_BITS;
/// log2 of the longest window: time within it has to fit beside the order bits.
pub(super) const MAX_WINDOW_SHIFT: u32 = 64 - ORDER_BITS - 1;

/// Most routers that one partition can simulate.
pub(super) const MAX_ROUTERS: usize = 1 << ROUTER_BITS;
/// Most ports of one router.
pub(super) const MAX_RADIX: usize = 1 << PORT_BITS;
/// Largest payload of an event.
pub(super) const MAX_PAYLOAD: u32 = (1 << PAYLOAD_BITS) - 1;

/// An event of one router: `key` holds router, kind, port and payload from the
/// most to the least significant bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub time: u64,
    pub key: u64,
}

impl Event {
    #[inline(always)]
    pub fn new(time: u64, router: u32, kind: Kind, port: u32, payload: u32) -> Self {
        debug_assert!((router as usize) < MAX_ROUTERS);
        debug_assert!((port as usize) < MAX_RADIX && payload <= MAX_PAYLOAD);
        let key = (u64::from(router) << (KIND_BITS + PORT_BITS + PAYLOAD_BITS))
            | ((kind as u64) << (PORT_BITS + PAYLOAD_BITS))
            | (u64::from(port) << PAYLOAD_BITS)
            | u64::from(payload);
        Self { time, key }
    }

    /// The same event at a router in place of 0.
    #[inline(always)]
    pub fn at_router(self, router: u32) -> Self {
        debug_assert!(self.router() == 0);
        let router = u64::from(router) << (KIND_BITS + PORT_BITS + PAYLOAD_BITS);
        Self {
            key: self.key | router,
            ..self
        }
    }

    /// The same event with the rest of its payload.
    #[inline(always)]
    pub fn with_payload(self, payload: u32) -> Self {
        debug_assert!(self.key & u64::from(payload) == 0 && payload <= MAX_PAYLOAD);
        Self {
            key: self.key | u64::from(payload),
            ..self
        }
    }

    /// Router, counted within its partition.
    #[inline(always)]
    pub fn router(self) -> u32 {
        (self.key >> (KIND_BITS + PORT_BITS + PAYLOAD_BITS)) as u32
    }

    /// Where events are grouped: one group per router and kind, in this order.
    #[inline(always)]
    fn group(self) -> usize {
        (self.key >> (PORT_BITS + PAYLOAD_BITS)) as usize
    }

    /// The event as one number for a window that starts at `window_start`, in
    /// the order in which a router handles its events.
    #[inline(always)]
    pub fn pack(self, window_start: u64) -> PackedEvent {
        let offset = self.time - window_start;
        debug_assert!(offset < 1 << (64 - ORDER_BITS));
        PackedEvent((offset << ORDER_BITS) | (self.key & ((1 << ORDER_BITS) - 1)))
    }
}

/// An event of a known router in a known window: time since the window's start,
/// kind, port and payload from the most to the least significant bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(super) struct PackedEvent(u64);

impl PackedEvent {
    /// Comes after every event.
    pub const LAST: Self = Self(u64::MAX);

    /// Time since the start of the window.
    #[inline(always)]
    pub fn offset(self) -> u64 {
        self.0 >> ORDER_BITS
    }

    #[inline(always)]
    pub fn kind(self) -> Kind {
        match (self.0 >> (PORT_BITS + PAYLOAD_BITS)) & 3 {
            0 => Kind::Arrive,
            1 => Kind::Wake,
            2 => Kind::Node,
            _ => Kind::Credit,
        }
    }

    /// Port, counted within its router.
    #[inline(always)]
    pub fn port(self) -> u32 {
        (self.0 >> PAYLOAD_BITS) as u32 & (MAX_RADIX as u32 - 1)
    }

    #[inline(always)]
    pub fn payload(self) -> u32 {
        self.0 as u32 & MAX_PAYLOAD
    }
}

/// Who asks for memory.
const EVENTS: &str = "pending events";

/// Most events of a window (4 GiB of them): they are counted in 32 bits.
const MOST_AT_ONCE: usize = 1 << 28;

/// Windows that the wheel spans; later events wait in a heap.
const WHEEL: usize = 1 << 10;

/// All pending events of a partition.
#[derive(Debug)]
pub(super) struct Calendar {
    /// A window is `2^shift` ps.
    shift: u32,
    /// Number of the first window that has not been taken yet, or not to its end.
    next: u64,
    /// Windows are taken up to this time only.
    limit: u64,
    /// All events before this time have been taken.
    reached: u64,
    /// Events of windows `next .. next + WHEEL`, by window modulo `WHEEL`.
    wheel: Box<[Vec<Event>; WHEEL]>,
    /// Windows of the wheel that have events, one bit each.
    occupied: [u64; WHEEL / 64],
    /// Events beyond the wheel.
    far: BinaryHeap<Reverse<Event>>,
    /// Empty vectors with capacity, for windows to come.
    spare: Vec<Vec<Event>>,
    /// Counts per router and kind, for grouping; all 0 between two windows.
    starts: Table<u32>,
    /// Routers that have events in the window being taken, one bit each.
    busy: Table<u64>,
}

impl Calendar {
    pub fn new(shift: u32, routers: usize) -> Self {
        Self {
            shift,
            next: 0,
            limit: u64::MAX,
            reached: 0,
            wheel: Box::new([const { Vec::new() }; WHEEL]),
            occupied: [0; WHEEL / 64],
            far: BinaryHeap::new(),
            spare: Vec::new(),
            starts: vec![0; KINDS * routers].into(),
            busy: vec![0; routers.div_ceil(64)].into(),
        }
    }

    /// First point in time of window `window`.
    #[inline(always)]
    pub fn start_of(&self, window: u64) -> u64 {
        window << self.shift
    }

    /// First point in time after window `window`, or where it is cut off.
    #[inline(always)]
    pub fn end_of(&self, window: u64) -> u64 {
        self.start_of(window + 1).min(self.limit)
    }

    /// Cuts off at `limit` the window that it lies in: its later events stay pending.
    pub fn cut_at(&mut self, limit: u64) {
        self.limit = limit;
    }

    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let window = event.time >> self.shift;
        debug_assert!(window >= self.next, "event in the past");
        if window - self.next < WHEEL as u64 {
            self.push_to_wheel(window, event);
        } else {
            self.push_far(event);
        }
    }

    /// Out of line, as it is rare and long.
    #[inline(never)]
    fn push_far(&mut self, event: Event) {
        if self.far.len() == self.far.capacity() {
            let mut events = std::mem::take(&mut self.far).into_vec();
            make_room(&mut events, EVENTS);
            // In order already: this only compares.
            self.far = events.into();
        }
        self.far.push(Reverse(event));
    }

    #[inline(always)]
    fn push_to_wheel(&mut self, window: u64, event: Event) {
        let place = window as usize & (WHEEL - 1);
        if self.wheel[place].is_empty() {
            self.occupy(place);
        }
        let events = &mut self.wheel[place];
        if events.len() == events.capacity() {
            // With a push of its own, so that the one below need not ask again.
            self.widen(place, event);
        } else {
            events.push(event);
        }
    }

    /// Makes room for one more event of a window, and adds it.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, place: usize, event: Event) {
        make_room(&mut self.wheel[place], EVENTS);
        self.wheel[place].push(event);
    }

    /// Notes that a window gets its first event.
    #[inline(never)]
    fn occupy(&mut self, place: usize) {
        self.occupied[place / 64] |= 1 << (place % 64);
        if self.wheel[place].capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            self.wheel[place] = spare;
        }
    }

    /// The first window on the wheel that has events.
    fn next_on_wheel(&self) -> Option<u64> {
        let first = self.next as usize & (WHEEL - 1);
        // The word of `first` comes twice: its later bits first, its earlier ones last.
        (0..=WHEEL / 64).find_map(|step| {
            let word = (first / 64 + step) % (WHEEL / 64);
            let bits = match step {
                0 => self.occupied[word] & (u64::MAX << (first % 64)),
                _ => self.occupied[word],
            };
            let place = word * 64 + bits.trailing_zeros() as usize;
            (bits != 0).then(|| self.next + (place.wrapping_sub(first) & (WHEEL - 1)) as u64)
        })
    }

    /// The earliest window that has events; `None` if there are none at all.
    /// Earlier ones may still get events: only [`Calendar::take`] moves on.
    pub fn next_window(&self) -> Option<u64> {
        let far = self
            .far
            .peek()
            .map(|Reverse(event)| event.time >> self.shift);
        match (self.next_on_wheel(), far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    /// All events before this time have been taken.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// When that window begins, or goes on if it has been cut off.
    pub fn next_time(&self) -> Option<u64> {
        let next = self.next_window();
        next.map(|window| self.start_of(window).max(self.reached))
    }

    /// The first window that may still get events.
    pub fn first_open(&self) -> u64 {
        self.next
    }

    /// All pending events, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = Event> + '_ {
        let far = self.far.iter().map(|&Reverse(event)| event);
        self.wheel.iter().flatten().copied().chain(far)
    }

    /// Forgets all events; those that are pushed from now on lie at or after `time`.
    pub fn restart(&mut self, time: u64) {
        self.wheel.iter_mut().for_each(Vec::clear);
        self.far.clear();
        self.occupied = [0; WHEEL / 64];
        self.next = time >> self.shift;
    }

    /// Takes the events of `window`, the result of [`Calendar::next_window`],
    /// grouped by router; those up to the limit, if it is cut off. Later pushes must lie after them.
    pub fn take(&mut self, window: u64, grouped: &mut GroupedEvents) {
        // The heap may hold events of windows that the wheel reaches now.
        while let Some(&Reverse(event)) = self.far.peek() {
            let of_event = event.time >> self.shift;
            if of_event >= window + WHEEL as u64 {
                break;
            }
            self.far.pop();
            self.push_to_wheel(of_event, event);
        }
        let end = self.end_of(window);
        self.next = end >> self.shift;
        self.reached = end;
        let place = window as usize & (WHEEL - 1);
        let mut taken = std::mem::take(&mut self.wheel[place]);
        self.occupied[place / 64] &= !(1 << (place % 64));
        let start = self.start_of(window);
        if self.next == window {
            for late in taken.extract_if(.., |event| event.time >= end) {
                self.push_to_wheel(window, late);
            }
        }
        grouped.groups.clear();
        if taken.len() > MOST_AT_ONCE {
            let reason = format!("{} of them in one window of time", taken.len());
            beyond(EVENTS, reason);
        }
        grouped
            .events
            .grow_to(taken.len(), PackedEvent::LAST, EVENTS);
        if let [event] = taken[..] {
            grouped.events[0] = event.pack(start);
            let kind = event.group() % KINDS;
            grouped.groups.push(Group {
                router: event.router(),
                first: 0,
                others: u32::from(kind == Kind::Arrive as usize),
                credits: u32::from(kind != Kind::Credit as usize),
            });
        } else {
            self.group(&taken, grouped);
            for &event in &taken {
                let slot = &mut self.starts[event.group()];
                grouped.events[*slot as usize] = event.pack(start);
                *slot += 1;
            }
            let starts = self.starts.as_chunks_mut::<KINDS>().0;
            for group in &grouped.groups {
                starts[group.router as usize] = [0; KINDS];
            }
        }
        let end = taken.len() as u32;
        grouped.groups.push(Group {
            router: u32::MAX,
            first: end,
            others: end,
            credits: end,
        });
        taken.clear();
        if taken.capacity() > 0 {
            self.spare.push(taken);
        }
    }

    /// Finds the groups of a window's events, and leaves the place of the first event of
    /// each router and kind in `starts`.
    #[inline(always)]
    fn group(&mut self, taken: &[Event], grouped: &mut GroupedEvents) {
        let routers = self.starts.len() / KINDS;
        if taken.len() <= routers {
            for event in taken {
                self.starts[event.group()] += 1;
                let router = event.router() as usize;
                self.busy[router / 64] |= 1 << (router % 64);
            }
        } else {
            // Nearly every router has some: to ask all is faster than to note each.
            for event in taken {
                self.starts[event.group()] += 1;
            }
            self.busy.fill(u64::MAX);
            self.busy[(routers - 1) / 64] >>= 63 - (routers - 1) % 64;
        }
        let mut first = 0;
        for word in 0..self.busy.len() {
            let mut bits = std::mem::take(&mut self.busy[word]);
            while bits != 0 {
                let router = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let counts = &mut self.starts.as_chunks_mut::<KINDS>().0[router];
                let [arrivals, wakes, nodes, credits] = *counts;
                let others = first + arrivals;
                let (of_nodes, of_credits) = (others + wakes, others + wakes + nodes);
                let end = of_credits + credits;
                if end == first {
                    continue;
                }
                grouped.groups.push(Group {
                    router: router as u32,
                    first,
                    others,
                    credits: of_credits,
                });
                // Slots of the first of each; they move on as events are placed.
                *counts = [first, others, of_nodes, of_credits];
                first = end;
            }
        }
    }
}

/// The events of one window by router.
#[derive(Debug, Default)]
pub(super) struct GroupedEvents {
    /// Longer than needed: what lies past the last group has no meaning.
    pub events: Table<PackedEvent>,
    /// Ascending by router; closed by an entry that begins after the last event.
    pub groups: Vec<Group>,
}

/// The events of one router in a window: those of a kind lie together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub router: u32,
    /// Index of its first event.
    pub first: u32,
    /// Index of its first event that is no arrival; the arrivals come first.
    pub others: u32,
    /// Index of its first credit; the credits come last.
    pub credits: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_event_keeps_its_parts() {
        let event = Event::new(5_077, 1_048_575, Kind::Wake, 4_095, MAX_PAYLOAD);
        let packed = event.pack(5_000);
        assert_eq!(
            (
                event.router(),
                packed.offset(),
                packed.kind(),
                packed.port(),
                packed.payload()
            ),
            (1_048_575, 77, Kind::Wake, 4_095, MAX_PAYLOAD)
        );
    }

    proptest! {
        /// Whatever the order of pushes, events come out by window, then by
        /// router, and none is lost.
        #[test]
        fn events_come_out_by_window_and_router(
            // Windows with one event to several per router, of more routers than a word has bits.
            mut times in prop_oneof![Just(5_000_000u64), Just(20_000)]
                .prop_flat_map(|end| prop::collection::vec((0..end, 0u32..100), 1..400)),
            shift in 4u32..14,
        ) {
            let mut calendar = Calendar::new(shift, 100);
            for (payload, &(time, router)) in times.iter().enumerate() {
                let kind = [Kind::Credit, Kind::Arrive, Kind::Wake, Kind::Node][time as usize % 4];
                calendar.push(Event::new(time, router, kind, 0, payload as u32));
            }
            let mut out = Vec::new();
            let mut grouped = GroupedEvents::default();
            while let Some(window) = calendar.next_window() {
                calendar.take(window, &mut grouped);
                for pair in grouped.groups.windows(2) {
                    let (group, end) = (pair[0], pair[1].first);
                    prop_assert!(group.router < pair[1].router && group.first < end);
                    for index in group.first..end {
                        let event = grouped.events[index as usize];
                        prop_assert!(event.offset() < 1 << shift);
                        prop_assert_eq!(event.kind() == Kind::Arrive, index < group.others);
                        prop_assert_eq!(event.kind() == Kind::Credit, index >= group.credits);
                        out.push(((window << shift) + event.offset(), group.router));
                    }
                }
            }
            out.sort_unstable();
            times.sort_unstable();
            prop_assert_eq!(out, times);
        }
    }
}
