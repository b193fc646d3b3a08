//! Pending events, kept by time window.
//!
//! Routers influence each other only through links, whose latency is at least
//! one window. So within a window every router can be simulated by itself: a
//! window's events are grouped by router, and each router's are put in order of
//! time. That order, and with it every result, does not depend on the order in
//! which events were pushed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event is about; also the order in which simultaneous events of one
/// router are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A packet has passed the pipeline of the router and requests its output.
    Arrive = 0,
    /// Buffer space at the other end of a port has become free.
    Credit = 1,
    /// A port (of the router or of a node's interface) may have become free.
    Wake = 2,
    /// Something at a node: a message is complete, a computation is done.
    Node = 3,
}

const PAYLOAD_BITS: u32 = 30;
const PORT_BITS: u32 = 12;
const KIND_BITS: u32 = 2;
const ROUTER_BITS: u32 = 20;

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

    /// Router, counted within its partition.
    #[inline(always)]
    pub fn router(self) -> u32 {
        (self.key >> (KIND_BITS + PORT_BITS + PAYLOAD_BITS)) as u32
    }

    #[inline(always)]
    pub fn kind(self) -> Kind {
        match (self.key >> (PORT_BITS + PAYLOAD_BITS)) & 3 {
            0 => Kind::Arrive,
            1 => Kind::Credit,
            2 => Kind::Wake,
            _ => Kind::Node,
        }
    }

    /// Port, counted within its router.
    #[inline(always)]
    pub fn port(self) -> u32 {
        (self.key >> PAYLOAD_BITS) as u32 & (MAX_RADIX as u32 - 1)
    }

    #[inline(always)]
    pub fn payload(self) -> u32 {
        self.key as u32 & MAX_PAYLOAD
    }
}

/// Windows that the wheel spans; later events wait in a heap.
const WHEEL: usize = 1 << 10;

/// All pending events of a partition.
#[derive(Debug)]
pub(super) struct Calendar {
    /// A window is `2^shift` ps.
    shift: u32,
    /// Number of the first window that has not been taken yet.
    next: u64,
    /// Events of windows `next .. next + WHEEL`, by window modulo `WHEEL`.
    wheel: Vec<Vec<Event>>,
    /// Events on the wheel.
    on_wheel: usize,
    /// Events beyond the wheel.
    far: BinaryHeap<Reverse<Event>>,
    /// Empty vectors with capacity, for windows to come.
    spare: Vec<Vec<Event>>,
    /// Counts per router, for grouping.
    starts: Vec<u32>,
}

impl Calendar {
    pub fn new(shift: u32, routers: usize) -> Self {
        Self {
            shift,
            next: 0,
            wheel: vec![Vec::new(); WHEEL],
            on_wheel: 0,
            far: BinaryHeap::new(),
            spare: Vec::new(),
            starts: vec![0; routers + 1],
        }
    }

    /// First point in time after window `window`.
    #[inline(always)]
    pub fn end_of(&self, window: u64) -> u64 {
        (window + 1) << self.shift
    }

    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let window = event.time >> self.shift;
        debug_assert!(window >= self.next, "event in the past");
        if window - self.next < WHEEL as u64 {
            let bucket = &mut self.wheel[window as usize & (WHEEL - 1)];
            if bucket.capacity() == 0 {
                if let Some(spare) = self.spare.pop() {
                    *bucket = spare;
                }
            }
            bucket.push(event);
            self.on_wheel += 1;
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// The earliest window that has events; `None` if there are none at all.
    pub fn next_window(&mut self) -> Option<u64> {
        if self.on_wheel == 0 {
            let Reverse(event) = self.far.peek()?;
            self.next = self.next.max(event.time >> self.shift);
        }
        // The heap may hold events of windows that the wheel has reached since.
        while let Some(&Reverse(event)) = self.far.peek() {
            let window = event.time >> self.shift;
            if window >= self.next + WHEEL as u64 {
                break;
            }
            self.far.pop();
            self.wheel[window as usize & (WHEEL - 1)].push(event);
            self.on_wheel += 1;
        }
        let mut window = self.next;
        while self.wheel[window as usize & (WHEEL - 1)].is_empty() {
            window += 1;
        }
        Some(window)
    }

    /// Takes the events of `window`, the result of [`Calendar::next_window`],
    /// into `events`, grouped by router in ascending order (not by time).
    /// Later pushes must lie after this window.
    pub fn take(&mut self, window: u64, events: &mut Vec<Event>) {
        self.next = window + 1;
        let mut taken = std::mem::take(&mut self.wheel[window as usize & (WHEEL - 1)]);
        self.on_wheel -= taken.len();
        let routers = self.starts.len() - 1;
        if taken.len() < routers / 8 || taken.len() < 24 {
            std::mem::swap(events, &mut taken);
            events.sort_unstable_by_key(|event| event.key);
        } else {
            self.starts.fill(0);
            for event in &taken {
                self.starts[event.router() as usize + 1] += 1;
            }
            for router in 1..=routers {
                self.starts[router] += self.starts[router - 1];
            }
            events.clear();
            events.resize(taken.len(), Event { time: 0, key: 0 });
            for &event in &taken {
                let slot = &mut self.starts[event.router() as usize];
                events[*slot as usize] = event;
                *slot += 1;
            }
        }
        taken.clear();
        if taken.capacity() > 0 {
            self.spare.push(taken);
        }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.on_wheel + self.far.len()
    }

    /// Bytes held by the event arrays.
    pub fn bytes(&self) -> usize {
        let vectors = self
            .wheel
            .iter()
            .chain(&self.spare)
            .map(Vec::capacity)
            .sum::<usize>();
        (vectors + self.far.capacity()) * size_of::<Event>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_event_keeps_its_parts() {
        let event = Event::new(77, 1_048_575, Kind::Wake, 4_095, MAX_PAYLOAD);
        assert_eq!(
            (
                event.time,
                event.router(),
                event.kind(),
                event.port(),
                event.payload()
            ),
            (77, 1_048_575, Kind::Wake, 4_095, MAX_PAYLOAD)
        );
    }

    proptest! {
        /// Whatever the order of pushes, events come out by window, then by
        /// router, and none is lost.
        #[test]
        fn events_come_out_by_window_and_router(
            mut times in prop::collection::vec((0u64..5_000_000, 0u32..40), 1..400),
            shift in 4u32..14,
        ) {
            let mut calendar = Calendar::new(shift, 40);
            for (payload, &(time, router)) in times.iter().enumerate() {
                calendar.push(Event::new(time, router, Kind::Arrive, 0, payload as u32));
            }
            let mut out = Vec::new();
            let mut events = Vec::new();
            while let Some(window) = calendar.next_window() {
                calendar.take(window, &mut events);
                prop_assert!(events.iter().all(|e| e.time >> shift == window));
                prop_assert!(events.windows(2).all(|p| p[0].router() <= p[1].router()));
                out.extend(events.iter().map(|e| (e.time, e.router())));
            }
            prop_assert_eq!(calendar.len(), 0);
            prop_assert!(out.windows(2).all(|p| p[0].0 >> shift <= p[1].0 >> shift));
            out.sort_unstable();
            times.sort_unstable();
            prop_assert_eq!(out, times);
        }
    }
}
