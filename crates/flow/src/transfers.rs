//! Amounts of data on their way: flows that end when their bytes are through.
//!
//! A transfer has one flow, or several that carry its bytes together over
//! different paths (its *parts*): its rate is the sum of theirs, and it ends
//! when all bytes are through, whichever part carried them.
//!
//! Times are whole picoseconds. Rates are 64-bit floating-point numbers in bytes
//! per picosecond; a transfer ends at the first picosecond at which its bytes are
//! through, so that it is late by less than 1 ps each time its rate changes.
//! Nothing depends on addresses, hashes or threads: equal calls give equal times,
//! bit by bit.

use odonata_units::Picoseconds;

use crate::share::{FairShare, FlowId, LinkId, Use, Work};

/// A transfer under way; reused after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransferId(pub u32);

impl TransferId {
    /// The id as an index into an array with one entry per transfer.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Transfer {
    /// Bytes not yet through at `since`.
    left: f64,
    /// Bytes per picosecond.
    rate: f64,
    since: u64,
    /// When it will be through; the end of time while it has no rate.
    end: u64,
    /// Breaks ties between ends: transfers that began earlier end first.
    number: u64,
    /// First of its parts.
    part: u32,
    /// Place in `queue`.
    place: u32,
    /// Number of the last settling that changed its rate.
    seen: u64,
}

/// What belongs to a flow of [`FairShare`].
#[derive(Clone, Copy, Debug)]
struct Part {
    transfer: u32,
    /// Next part of the same transfer.
    next: u32,
    rate: f64,
    since: u64,
    /// Bytes that it has carried until `since`.
    carried: f64,
}

/// Transfers over shared links, in simulated time.
#[derive(Clone, Debug)]
pub struct Transfers {
    share: FairShare,
    transfers: Vec<Transfer>,
    free: Vec<u32>,
    parts: Vec<Part>,
    /// Transfers by end, then number: a binary heap that knows everybody's place.
    queue: Vec<u32>,
    begun: u64,
    settlings: u64,
    /// Rates are brought up to date at multiples of this only, in ps; 1 is always.
    interval: u64,
    /// When they are next, if something has begun or ended.
    due: Option<u64>,
    changed: Vec<FlowId>,
    /// Bytes that ended transfers have sent over each link.
    bytes: Vec<f64>,
}

impl Transfers {
    /// Links of these capacities in bytes per picosecond, and nothing under way.
    pub fn new(capacities: impl IntoIterator<Item = f64>) -> Self {
        Self::settling_every(Picoseconds(1), capacities)
    }

    /// As [`new`](Self::new), but rates are brought up to date at multiples of
    /// `interval`, at least 1 ps, only: what begins has no rate until the next one,
    /// what ends leaves its part of the links unused until then, and in between rates
    /// are those that were fair at the last. All that begins and ends in an interval
    /// costs one settling.
    pub fn settling_every(
        interval: Picoseconds,
        capacities: impl IntoIterator<Item = f64>,
    ) -> Self {
        let share = FairShare::new(capacities);
        Self {
            bytes: vec![0.0; share.links()],
            share,
            transfers: Vec::new(),
            free: Vec::new(),
            parts: Vec::new(),
            queue: Vec::new(),
            begun: 0,
            settlings: 0,
            interval: interval.0.max(1),
            due: None,
            changed: Vec::new(),
        }
    }

    /// The links and who shares them.
    pub fn share(&self) -> &FairShare {
        &self.share
    }

    /// What keeping rates fair has cost so far.
    pub fn work(&self) -> Work {
        self.share.work()
    }

    /// Transfers under way.
    pub fn under_way(&self) -> usize {
        self.queue.len()
    }

    /// Begins a transfer of `bytes`, above 0, without parts: [`add_part`](Self::add_part)
    /// gives it at least one before the next [`settle`](Self::settle).
    pub fn begin(&mut self, now: Picoseconds, bytes: f64) -> TransferId {
        debug_assert!(bytes > 0.0, "a transfer of {bytes} bytes");
        let transfer = Transfer {
            left: bytes,
            rate: 0.0,
            since: now.0,
            end: u64::MAX,
            number: self.begun,
            part: NIL,
            place: self.queue.len() as u32,
            seen: 0,
        };
        self.begun += 1;
        let id = match self.free.pop() {
            Some(id) => {
                self.transfers[id as usize] = transfer;
                id
            }
            None => {
                self.transfers.push(transfer);
                self.transfers.len() as u32 - 1
            }
        };
        // It has the latest end of all, so that the heap stays one.
        self.queue.push(id);
        TransferId(id)
    }

    /// Gives a transfer a flow over `path`, which is not empty, of this weight; `long` as in
    /// [`FairShare::add`].
    pub fn add_part(
        &mut self,
        now: Picoseconds,
        transfer: TransferId,
        path: &[Use],
        weight: f64,
        long: bool,
    ) {
        debug_assert!(!path.is_empty(), "a flow over no link is never limited");
        let flow = self.share.add(path, weight, long);
        let part = Part {
            transfer: transfer.0,
            next: self.transfers[transfer.index()].part,
            rate: 0.0,
            since: now.0,
            carried: 0.0,
        };
        if flow.index() < self.parts.len() {
            self.parts[flow.index()] = part;
        } else {
            debug_assert_eq!(flow.index(), self.parts.len());
            self.parts.push(part);
        }
        self.transfers[transfer.index()].part = flow.0;
    }

    /// When the next transfer will be through, if no rate changes before, or when
    /// rates are due to be [settled](Self::settle), if that comes first.
    pub fn next_end(&self) -> Option<Picoseconds> {
        let first = self.queue.first();
        let end = first.map(|&first| self.transfers[first as usize].end);
        let end = end.filter(|&end| end != u64::MAX);
        [end, self.due].into_iter().flatten().min().map(Picoseconds)
    }

    /// Ends the first transfer that is through at `now`; call until it gives
    /// `None`, then [`settle`](Self::settle).
    pub fn end_next(&mut self, now: Picoseconds) -> Option<TransferId> {
        let id = *self.queue.first()?;
        if self.transfers[id as usize].end > now.0 {
            return None;
        }
        self.take_out(id);
        self.drop_parts(id, now.0);
        self.free.push(id);
        Some(TransferId(id))
    }

    /// Ends a transfer before its time; gives the bytes that are not through.
    pub fn cancel(&mut self, now: Picoseconds, transfer: TransferId) -> f64 {
        let left = self.left(now, transfer);
        self.take_out(transfer.0);
        self.drop_parts(transfer.0, now.0);
        self.free.push(transfer.0);
        left
    }

    /// Bytes of a transfer that are not through at `now`.
    pub fn left(&self, now: Picoseconds, transfer: TransferId) -> f64 {
        let transfer = &self.transfers[transfer.index()];
        let gone = transfer.rate * (now.0 - transfer.since) as f64;
        (transfer.left - gone).max(0.0)
    }

    /// Rate of a transfer as of the last settling, in bytes per picosecond.
    pub fn rate(&self, transfer: TransferId) -> f64 {
        self.transfers[transfer.index()].rate
    }

    /// Bytes that have been sent over a link, those under way included.
    pub fn bytes(&self, link: LinkId) -> f64 {
        self.bytes[link.index()]
    }

    /// Counts what is under way at `now` among the bytes of links.
    pub fn count_under_way(&mut self, now: Picoseconds) {
        for index in 0..self.queue.len() {
            let mut part = self.transfers[self.queue[index] as usize].part;
            while part != NIL {
                self.count(part, now.0);
                let own = &mut self.parts[part as usize];
                (own.carried, own.since) = (0.0, now.0);
                part = own.next;
            }
        }
    }

    /// Brings rates and ends up to date with all that began and ended until `now`,
    /// if an interval begins; otherwise that is due when the next one does.
    pub fn settle(&mut self, now: Picoseconds) {
        if !now.0.is_multiple_of(self.interval) {
            let next = (now.0 / self.interval + 1).saturating_mul(self.interval);
            self.due = self.share.is_unsettled().then_some(next);
            return;
        }
        self.due = None;
        self.settlings += 1;
        let mut changed = std::mem::take(&mut self.changed);
        self.share.settle(&mut changed);
        for &flow in &changed {
            let rate = self.share.rate(flow);
            let part = &mut self.parts[flow.index()];
            part.carried += part.rate * (now.0 - part.since) as f64;
            (part.rate, part.since) = (rate, now.0);
        }
        // Where many ends change, putting all in order costs less than each.
        let many = 4 * changed.len() > self.queue.len();
        for flow in changed.drain(..) {
            let id = self.parts[flow.index()].transfer;
            let transfer = &mut self.transfers[id as usize];
            if transfer.seen == self.settlings {
                continue;
            }
            transfer.seen = self.settlings;
            transfer.left -= transfer.rate * (now.0 - transfer.since) as f64;
            transfer.since = now.0;
            let (mut rate, mut part) = (0.0, transfer.part);
            while part != NIL {
                rate += self.parts[part as usize].rate;
                part = self.parts[part as usize].next;
            }
            transfer.rate = rate;
            // A float beyond 64 bits becomes the end of time.
            let duration = (transfer.left.max(0.0) / rate).ceil() as u64;
            transfer.end = now.0.saturating_add(duration);
            let place = transfer.place as usize;
            if !many && !self.rise(place) {
                self.sink(place);
            }
        }
        if many {
            for place in (0..self.queue.len() / 2).rev() {
                self.sink(place);
            }
        }
        self.changed = changed;
    }

    /// Counts what a part has carried until `now` among the bytes of its links.
    fn count(&mut self, part: u32, now: u64) {
        let own = &self.parts[part as usize];
        let carried = own.carried + own.rate * (now - own.since) as f64;
        for step in self.share.uses(FlowId(part)) {
            self.bytes[step.link.index()] += carried * step.share;
        }
    }

    fn drop_parts(&mut self, id: u32, now: u64) {
        let mut part = self.transfers[id as usize].part;
        while part != NIL {
            self.count(part, now);
            self.share.remove(FlowId(part));
            part = self.parts[part as usize].next;
        }
    }

    fn key(&self, place: usize) -> (u64, u64) {
        let transfer = &self.transfers[self.queue[place] as usize];
        (transfer.end, transfer.number)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.queue.swap(a, b);
        self.transfers[self.queue[a] as usize].place = a as u32;
        self.transfers[self.queue[b] as usize].place = b as u32;
    }

    /// Moves what is at `place` towards the front; whether it moved.
    fn rise(&mut self, mut place: usize) -> bool {
        let from = place;
        while place > 0 && self.key(place) < self.key((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        place != from
    }

    fn sink(&mut self, mut place: usize) {
        let own = self.key(place);
        loop {
            let (mut least, mut key) = (place, own);
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.queue.len() && self.key(child) < key {
                    (least, key) = (child, self.key(child));
                }
            }
            if least == place {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }

    fn take_out(&mut self, id: u32) {
        let place = self.transfers[id as usize].place as usize;
        let last = self.queue.len() - 1;
        self.swap(place, last);
        self.queue.pop();
        if place < last && !self.rise(place) {
            self.sink(place);
        }
    }
}
