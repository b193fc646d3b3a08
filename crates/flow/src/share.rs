//! Max-min fair sharing of links, kept up to date as flows come and go.
//!
//! A flow *f* uses every link *l* of its path with a share *u(f, l)* of its rate
//! (1 where all of it passes, less where its packets are spread over several
//! paths) and has a weight *w(f)*. Its rate is *w(f) · λ(f)*, where the levels
//! λ are the max-min fair ones: no link carries more than its capacity, and
//! every flow has a *bottleneck*, a link of its path that is full and on which
//! no other flow has a higher level. There is exactly one such allocation
//! (Bertsekas and Gallager, *Data Networks*, 1992, section 6.5.2), and raising
//! all levels together, stopping flows where a link is full, finds it
//! (progressive filling).
//!
//! [`FairShare::settle`] does not fill anew what cannot have changed. It begins
//! with the new flows and with those whose bottleneck is a link that a flow came
//! to or left, holds all others at the rates that they have, fills, and looks
//! at the links concerned: a flow that was held and has more than its share of
//! a full link now, or whose bottleneck is one no longer, joins in, and it fills
//! again. When nobody joins, every flow has a bottleneck, so the allocation is
//! the fair one: the condition is necessary and sufficient, and local.
//!
//! **Incasts.** Where links have buffers and credits and nobody holds senders back,
//! what waits for the link to a node fills the buffers of the links on its way, and
//! all else that comes over them passes at the pace of what waits. A flow that is
//! long enough for that and is limited by its last link, as at least [`INCAST`] are, *stands*
//! in those before it: no flow has a higher level on a link that another stands in, and a long
//! flow that is held back by one stands in the links before that. Filling does the same
//! closure at each level that it comes to. Flows that other links limit do not stand:
//! their packets are spread over several ways, or go around.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No entry, no flow, no link.
const NIL: u32 = u32::MAX;

/// Relative difference up to which two levels count as equal, and up to which a
/// link counts as full. Rounding of sums of 64-bit numbers stays far below it.
pub const TOLERANCE: f64 = 1e-9;

/// Relative change of a level below which a flow keeps the one it has.
const KEEP: f64 = 1e-12;

/// A directed link: an index into the capacities given to [`FairShare::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

impl LinkId {
    /// The id as an index into an array with one entry per link.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow that shares links; reused after [`FairShare::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The id as an index into an array with one entry per flow.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One link of a flow's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The link.
    pub link: LinkId,
    /// Part of the flow's rate that crosses it, above 0.
    pub share: f64,
    /// Links that follow it on the way to the destination; [`UPSTREAM_OF_ALL`] at most.
    pub ahead: u8,
}

/// [`Use::ahead`] of a link that comes before all others.
pub const UPSTREAM_OF_ALL: u8 = u8::MAX - 1;

/// Long flows to one node from which on they stand: two or three that meet at a node for a while
/// are what random traffic is made of, and slow each other alone.
pub const INCAST: u32 = 8;

/// A flow that stands in no link: none has so many links ahead.
const NOWHERE: u8 = u8::MAX;

/// A flow's use of a link, in the list of that link's flows.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u32,
    link: u32,
    /// Share times weight: what the link carries per level of the flow.
    pull: f64,
    next: u32,
    previous: u32,
    ahead: u8,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Its entries: `first .. first + uses`, in a block of `1 << class` entries.
    first: u32,
    uses: u32,
    class: u8,
    weight: f64,
    level: f64,
    /// Link that limits it; `NIL` before it has been settled and for flows
    /// without links.
    bottleneck: u32,
    /// Number of the settling in whose region it is.
    region: u32,
    /// Whether it has more bytes than the buffers on its way, so that it can stand in them.
    long: bool,
    /// It stands in its links with more links ahead than this, as of the last settling.
    stands: u8,
    /// Whether others stand in links on its way at its level, perhaps in several.
    held: bool,
    /// The same, and the links ahead of the one that limits it, as this filling has found.
    found_stands: u8,
    found_held: bool,
    found_ahead: u8,
    /// Whether this filling has fixed its level.
    fixed: bool,
    /// Level that this filling has found, and the link that limits it there.
    found: f64,
    limit: u32,
}

/// What filling reads and writes of every link of a region comes first, in one line of the
/// processor's cache.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
struct Link {
    capacity: f64,
    /// What its flows carry at their levels, as of the last settling.
    carried: f64,
    /// While filling: capacity left, pull and number of flows that are not fixed;
    /// flows of the region; highest level at which one of them was fixed.
    left: f64,
    pull: f64,
    highest: f64,
    free: u32,
    members: u32,
    /// Number of the settling in which it concerns the region.
    region: u32,
    /// First of its entries, and their number.
    head: u32,
    uses: u32,
    /// Flows whose bottleneck it is.
    limits: u32,
    /// Long flows whose last link it is.
    bound: u32,
    /// Flows that stand in it.
    standing: u32,
    /// Number of the settling before which a flow came or left last.
    touched: u32,
    /// Level at which this filling found it full, or a flow to stand in it; infinite if it did not.
    full_at: f64,
    /// Lowest level of the flows beside the region that stand in it; infinite without any.
    held_at: f64,
    /// Level at which this filling found flows of the region to stand in it.
    stood_at: f64,
}

/// A link and the level at which it will be full, in the order of filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The level's bits: positive numbers compare like their bits.
    level: u64,
    link: u32,
}

/// What settling has cost so far, for those who want to know how local changes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Settlings.
    pub settled: u64,
    /// Fillings; at least one per settling that had anything to do.
    pub fillings: u64,
    /// Flows in the regions of all fillings.
    pub flows: u64,
}

/// Links and the flows that share them.
#[derive(Clone, Debug)]
pub struct FairShare {
    links: Vec<Link>,
    /// Long flows with one last link from which on they stand.
    incast: u32,
    flows: Vec<Flow>,
    entries: Vec<Entry>,
    free_flows: Vec<u32>,
    /// Free blocks of entries by class.
    free_blocks: Vec<Vec<u32>>,
    active: u32,
    /// Flows among them that others hold up, as of the last settling.
    held: u32,
    /// Links that a flow came to or left since the last settling, and new flows.
    touched: Vec<u32>,
    fresh: Vec<u32>,
    epoch: u32,
    // Kept between settlings for their memory only.
    region_flows: Vec<u32>,
    region_links: Vec<u32>,
    heap: BinaryHeap<Reverse<Candidate>>,
    /// Flows of the region that this filling has not fixed.
    rising: usize,
    /// Flows that stand somewhere, and links in which flows do, that are not looked at yet.
    stood: Vec<u32>,
    stood_in: Vec<u32>,
    work: Work,
}

impl FairShare {
    /// Links of these capacities, finite and above 0, in any unit; rates come in
    /// the same. No flows yet.
    pub fn new(capacities: impl IntoIterator<Item = f64>) -> Self {
        Self::with_incasts_from(INCAST, capacities)
    }

    /// The same where so many long flows with one last link, at least 1, stand in others.
    pub fn with_incasts_from(flows: u32, capacities: impl IntoIterator<Item = f64>) -> Self {
        let link = |capacity: f64| {
            debug_assert!(
                capacity > 0.0 && capacity.is_finite(),
                "a link of capacity {capacity}"
            );
            Link {
                capacity,
                head: NIL,
                uses: 0,
                limits: 0,
                bound: 0,
                standing: 0,
                touched: 0,
                carried: 0.0,
                region: 0,
                left: 0.0,
                pull: 0.0,
                free: 0,
                members: 0,
                highest: 0.0,
                full_at: f64::INFINITY,
                held_at: f64::INFINITY,
                stood_at: f64::INFINITY,
            }
        };
        Self {
            links: capacities.into_iter().map(link).collect(),
            incast: flows,
            flows: Vec::new(),
            entries: Vec::new(),
            free_flows: Vec::new(),
            free_blocks: vec![Vec::new(); 32],
            active: 0,
            held: 0,
            touched: Vec::new(),
            fresh: Vec::new(),
            epoch: 0,
            region_flows: Vec::new(),
            region_links: Vec::new(),
            heap: BinaryHeap::new(),
            rising: 0,
            stood: Vec::new(),
            stood_in: Vec::new(),
            work: Work::default(),
        }
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Flows that share links now.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Capacity of a link.
    pub fn capacity(&self, link: LinkId) -> f64 {
        self.links[link.index()].capacity
    }

    /// Rate of a flow as of the last settling; 0 before its first, infinite
    /// without links.
    #[inline]
    pub fn rate(&self, flow: FlowId) -> f64 {
        let flow = &self.flows[flow.index()];
        flow.weight * flow.level
    }

    /// The link that limits a flow, as of the last settling.
    pub fn bottleneck(&self, flow: FlowId) -> Option<LinkId> {
        let link = self.flows[flow.index()].bottleneck;
        (link != NIL).then_some(LinkId(link))
    }

    /// The links of a flow. A share is what it was times the flow's weight.
    pub fn uses(&self, flow: FlowId) -> impl Iterator<Item = Use> + '_ {
        let flow = &self.flows[flow.index()];
        let (first, uses) = (flow.first as usize, flow.uses as usize);
        self.entries[first..first + uses].iter().map(|entry| Use {
            link: LinkId(entry.link),
            share: entry.pull / flow.weight,
            ahead: entry.ahead,
        })
    }

    /// What the flows of a link carry over it together, as of the last settling.
    pub fn carried(&self, link: LinkId) -> f64 {
        let mut sum = 0.0;
        let mut at = self.links[link.index()].head;
        while at != NIL {
            let entry = &self.entries[at as usize];
            sum += entry.pull * self.flows[entry.flow as usize].level;
            at = entry.next;
        }
        sum
    }

    /// Level that more flows of this pull together would get if this link were
    /// their bottleneck: what is left of the capacity beside flows that have less,
    /// divided among them and those that have more. Flows that have not been
    /// settled yet count as such that take as much as they get, so that flows
    /// that begin together see each other.
    pub fn offer(&self, link: LinkId, pull: f64) -> f64 {
        let link = &self.links[link.index()];
        // Beginning with nobody held to what they have, those below the level
        // are, which raises it for the others.
        let mut level = 0.0;
        loop {
            let (mut left, mut sharing) = (link.capacity, pull);
            let mut at = link.head;
            while at != NIL {
                let entry = &self.entries[at as usize];
                let flow = &self.flows[entry.flow as usize];
                if flow.bottleneck != NIL && flow.level < level {
                    left -= entry.pull * flow.level;
                } else {
                    sharing += entry.pull;
                }
                at = entry.next;
            }
            let higher = left / sharing;
            if higher <= level * (1.0 + TOLERANCE) {
                return level;
            }
            level = higher;
        }
    }

    /// Whether a flow came or left since the last settling.
    pub fn is_unsettled(&self) -> bool {
        !self.touched.is_empty()
    }

    /// What settling has cost so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Adds a flow over these links, each at most once. It has rate 0 until
    /// [`settle`](Self::settle). A `long` one stands in links before the one to its
    /// destination if that limits it.
    pub fn add(&mut self, path: &[Use], weight: f64, long: bool) -> FlowId {
        debug_assert!(weight > 0.0, "a flow of weight {weight}");
        let class = path.len().max(1).next_power_of_two().trailing_zeros() as u8;
        let first = match self.free_blocks[usize::from(class)].pop() {
            Some(first) => first,
            None => {
                let first = self.entries.len() as u32;
                let empty = Entry {
                    flow: NIL,
                    link: NIL,
                    pull: 0.0,
                    next: NIL,
                    previous: NIL,
                    ahead: 0,
                };
                self.entries
                    .resize(self.entries.len() + (1 << class), empty);
                first
            }
        };
        let flow = Flow {
            first,
            uses: path.len() as u32,
            class,
            weight,
            level: if path.is_empty() { f64::INFINITY } else { 0.0 },
            bottleneck: NIL,
            region: 0,
            long,
            stands: NOWHERE,
            held: false,
            found_stands: NOWHERE,
            found_held: false,
            found_ahead: 0,
            fixed: false,
            found: 0.0,
            limit: NIL,
        };
        let id = match self.free_flows.pop() {
            Some(id) => {
                self.flows[id as usize] = flow;
                id
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        for (at, step) in (first..).zip(path) {
            debug_assert!(step.share > 0.0, "{step:?}");
            let link = &mut self.links[step.link.index()];
            link.uses += 1;
            link.bound += u32::from(long && step.ahead == 0);
            let head = std::mem::replace(&mut link.head, at);
            if head != NIL {
                self.entries[head as usize].previous = at;
            }
            self.entries[at as usize] = Entry {
                flow: id,
                link: step.link.0,
                pull: step.share * weight,
                next: head,
                previous: NIL,
                ahead: step.ahead,
            };
            self.touch(step.link.0);
        }
        if !path.is_empty() {
            self.fresh.push(id);
        }
        self.active += 1;
        FlowId(id)
    }

    /// Takes a flow away. Its number is given to another later on.
    pub fn remove(&mut self, flow: FlowId) {
        let Flow {
            first,
            uses,
            class,
            level,
            bottleneck,
            stands,
            long,
            held,
            ..
        } = self.flows[flow.index()];
        if bottleneck != NIL {
            self.links[bottleneck as usize].limits -= 1;
        }
        for at in first..first + uses {
            let Entry {
                link,
                next,
                previous,
                pull,
                ahead,
                ..
            } = self.entries[at as usize];
            let used = &mut self.links[link as usize];
            used.uses -= 1;
            used.bound -= u32::from(long && ahead == 0);
            used.standing -= u32::from(ahead > stands);
            // Rounding does not outlive the last flow.
            used.carried = match used.uses {
                0 => 0.0,
                _ => used.carried - pull * level,
            };
            if previous == NIL {
                self.links[link as usize].head = next;
            } else {
                self.entries[previous as usize].next = next;
            }
            if next != NIL {
                self.entries[next as usize].previous = previous;
            }
            self.touch(link);
        }
        if bottleneck == NIL {
            // One that was never settled must not be looked for.
            self.fresh.retain(|&fresh| fresh != flow.0);
        }
        self.free_blocks[usize::from(class)].push(first);
        self.free_flows.push(flow.0);
        self.active -= 1;
        self.held -= u32::from(held);
    }

    /// Notes that a flow came to a link or left it.
    fn touch(&mut self, link: u32) {
        let noted = &mut self.links[link as usize].touched;
        if *noted <= self.epoch {
            *noted = self.epoch + 1;
            self.touched.push(link);
        }
    }

    /// Brings all rates up to date with the flows that came and went since the
    /// last time. Appends to `changed` the flows whose rates are others now, in
    /// an order that depends on the history of calls only.
    pub fn settle(&mut self, changed: &mut Vec<FlowId>) {
        if self.touched.is_empty() {
            return;
        }
        self.work.settled += 1;
        self.epoch += 1;
        self.region_flows.clear();
        self.region_links.clear();
        for index in 0..self.fresh.len() {
            self.join(self.fresh[index]);
        }
        self.fresh.clear();
        for index in 0..self.touched.len() {
            let link = self.touched[index];
            let Link { limits, head, .. } = self.links[link as usize];
            let mut at = if limits > 0 || self.held > 0 {
                head
            } else {
                NIL
            };
            while at != NIL {
                let Entry { flow, next, .. } = self.entries[at as usize];
                let other = &self.flows[flow as usize];
                if other.bottleneck == link || other.held {
                    self.join(flow);
                }
                at = next;
            }
        }
        self.touched.clear();
        let mut members = 0;
        while self.region_flows.len() > members {
            self.admit_held(members);
            members = self.region_flows.len();
            self.fill();
            if 2 * members > self.active as usize {
                // Most are in it: with all of them it is done after one filling.
                self.admit_connected();
            } else {
                self.admit_unfair();
            }
        }
        for index in 0..self.region_flows.len() {
            let id = self.region_flows[index];
            let flow = &mut self.flows[id as usize];
            if flow.bottleneck != flow.limit {
                if flow.bottleneck != NIL {
                    self.links[flow.bottleneck as usize].limits -= 1;
                }
                flow.bottleneck = flow.limit;
                self.links[flow.limit as usize].limits += 1;
            }
            self.held = self.held + u32::from(flow.found_held) - u32::from(flow.held);
            flow.held = flow.found_held;
            if flow.stands != flow.found_stands {
                let (first, uses) = (flow.first as usize, flow.uses as usize);
                for entry in &self.entries[first..first + uses] {
                    let link = &mut self.links[entry.link as usize];
                    link.standing -= u32::from(entry.ahead > flow.stands);
                    link.standing += u32::from(entry.ahead > flow.found_stands);
                }
                flow.stands = flow.found_stands;
            }
            if (flow.found - flow.level).abs() > KEEP * flow.level {
                let (first, uses) = (flow.first as usize, flow.uses as usize);
                for entry in &self.entries[first..first + uses] {
                    let more = entry.pull * (flow.found - flow.level);
                    self.links[entry.link as usize].carried += more;
                }
                flow.level = flow.found;
                changed.push(FlowId(id));
            }
        }
    }

    /// Takes a flow into the region, and its links.
    fn join(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        if flow.region == self.epoch {
            return;
        }
        flow.region = self.epoch;
        flow.fixed = false;
        self.region_flows.push(id);
        let (first, uses) = (flow.first as usize, flow.uses as usize);
        for entry in &self.entries[first..first + uses] {
            let link = &mut self.links[entry.link as usize];
            if link.region != self.epoch {
                link.region = self.epoch;
                self.region_links.push(entry.link);
            }
        }
    }

    /// Progressive filling of the region beside all other flows.
    fn fill(&mut self) {
        self.work.fillings += 1;
        self.work.flows += self.region_flows.len() as u64;
        // Whether flows beside the region stand in its links.
        let mut held = false;
        for &number in &self.region_links {
            let link = &mut self.links[number as usize];
            (link.left, link.pull, link.free) = (link.capacity - link.carried, 0.0, 0);
            (link.full_at, link.highest) = (f64::INFINITY, 0.0);
            (link.held_at, link.stood_at) = (f64::INFINITY, f64::INFINITY);
            let mut at = if link.standing == 0 { NIL } else { link.head };
            while at != NIL {
                let entry = &self.entries[at as usize];
                at = entry.next;
                let flow = &self.flows[entry.flow as usize];
                if flow.region != self.epoch && entry.ahead > flow.stands {
                    link.held_at = link.held_at.min(flow.level);
                    held = true;
                }
            }
        }
        // What the region's flows have, they give back first.
        for &id in &self.region_flows {
            let flow = &mut self.flows[id as usize];
            (flow.fixed, flow.found_stands, flow.found_held) = (false, NOWHERE, false);
            let (first, uses) = (flow.first as usize, flow.uses as usize);
            for entry in &self.entries[first..first + uses] {
                let link = &mut self.links[entry.link as usize];
                link.left += entry.pull * flow.level;
                link.pull += entry.pull;
                link.free += 1;
            }
        }
        let mut candidates = std::mem::take(&mut self.heap).into_vec();
        candidates.clear();
        for &number in &self.region_links {
            let link = &mut self.links[number as usize];
            link.members = link.free;
            if link.free > 0 {
                candidates.push(Reverse(candidate(number, link)));
            }
        }
        self.heap = candidates.into();
        self.rising = self.region_flows.len();
        let mut floor = 0.0;
        while self.rising > 0
            && let Some(Reverse(next)) = self.heap.pop()
        {
            let link = &mut self.links[next.link as usize];
            if link.free == 0 {
                continue;
            }
            let now = candidate(next.link, link);
            if now.level > next.level {
                // Flows of it were fixed below its level, which raised it.
                self.heap.push(Reverse(now));
                continue;
            }
            // Rounding must not let levels go down again.
            let level = f64::from_bits(now.level).max(floor);
            floor = level;
            self.limit(next.link, level);
            if self.stood.is_empty() && !held {
                continue;
            }
            // All links that are full at this level, before any flow stands in those before them.
            while let Some(&Reverse(next)) = self.heap.peek()
                && f64::from_bits(next.level) <= level * (1.0 + TOLERANCE)
            {
                self.heap.pop();
                let link = &self.links[next.link as usize];
                let now = candidate(next.link, link);
                if link.free > 0 && f64::from_bits(now.level) > level * (1.0 + TOLERANCE) {
                    self.heap.push(Reverse(now));
                } else {
                    self.limit(next.link, level);
                }
            }
            self.stand(level);
        }
    }

    /// Fixes at `level` the flows of a link that is full at it, and notes whether flows beside the
    /// region stand in it at that level.
    fn limit(&mut self, number: u32, level: f64) {
        let link = &mut self.links[number as usize];
        if link.held_at <= level * (1.0 + TOLERANCE) {
            self.stood_in.push(number);
        }
        if link.left - link.pull * level <= link.capacity * TOLERANCE {
            link.full_at = link.full_at.min(level);
            self.fix(number, level);
            if !self.stood.is_empty() {
                self.limit_first(number, level);
            }
        }
    }

    /// Fixes the flows of a link that are not fixed yet. Long ones that it limits as their last
    /// stand in the links before it.
    fn fix(&mut self, number: u32, level: f64) {
        let Link {
            head: mut at,
            bound,
            ..
        } = self.links[number as usize];
        while at != NIL {
            let entry = self.entries[at as usize];
            at = entry.next;
            let flow = &mut self.flows[entry.flow as usize];
            if flow.region != self.epoch || flow.fixed {
                continue;
            }
            flow.fixed = true;
            self.rising -= 1;
            flow.found = level;
            (flow.limit, flow.found_ahead) = (number, entry.ahead);
            if flow.long && entry.ahead == 0 && bound >= self.incast {
                flow.found_stands = 0;
                self.stood.push(entry.flow);
            }
            let (first, uses) = (flow.first as usize, flow.uses as usize);
            for entry in &self.entries[first..first + uses] {
                let other = &mut self.links[entry.link as usize];
                other.left -= entry.pull * level;
                other.pull -= entry.pull;
                other.free -= 1;
                // Levels only rise.
                other.highest = level;
            }
        }
    }

    /// A flow that two links limit at the same level waits for the one that it comes to
    /// first, and does not stand before it: that is not its last.
    fn limit_first(&mut self, number: u32, level: f64) {
        let same = |found: f64| found >= level * (1.0 - TOLERANCE);
        let mut at = self.links[number as usize].head;
        while at != NIL {
            let entry = self.entries[at as usize];
            at = entry.next;
            let flow = &mut self.flows[entry.flow as usize];
            let fixed_now = flow.region == self.epoch && flow.fixed && same(flow.found);
            if fixed_now && entry.ahead > flow.found_ahead {
                (flow.limit, flow.found_ahead) = (number, entry.ahead);
                flow.found_stands = NOWHERE;
            }
        }
    }

    /// Fixes at `level` all that comes over links in which flows stand at it. What is long stands
    /// before the last of such links on its way.
    fn stand(&mut self, level: f64) {
        let same = |found: f64| found >= level * (1.0 - TOLERANCE);
        loop {
            while let Some(number) = self.stood_in.pop() {
                let link = &mut self.links[number as usize];
                link.full_at = link.full_at.min(level);
                self.fix(number, level);
                let mut at = self.links[number as usize].head;
                while at != NIL {
                    let entry = self.entries[at as usize];
                    at = entry.next;
                    let flow = &mut self.flows[entry.flow as usize];
                    if flow.region != self.epoch || !same(flow.found) {
                        continue;
                    }
                    flow.found_held = true;
                    if flow.long && entry.ahead < flow.found_stands {
                        (flow.limit, flow.found_stands) = (number, entry.ahead);
                        self.stood.push(entry.flow);
                    }
                }
            }
            let Some(id) = self.stood.pop() else {
                return;
            };
            let flow = &self.flows[id as usize];
            let (first, uses) = (flow.first as usize, flow.uses as usize);
            for entry in &self.entries[first..first + uses] {
                let link = &mut self.links[entry.link as usize];
                if entry.ahead > flow.found_stands && link.stood_at != level {
                    link.stood_at = level;
                    self.stood_in.push(entry.link);
                }
            }
        }
    }

    /// Takes in the flows that this filling does wrong: those that have more
    /// than its level of a link that it found full, and those whose bottleneck
    /// would be none.
    fn admit_unfair(&mut self) {
        for index in 0..self.region_links.len() {
            let number = self.region_links[index];
            let link = self.links[number as usize];
            let slack = link.left > link.capacity * TOLERANCE;
            let deserved = link.limits > 0 && (slack || link.highest > 0.0);
            // Nobody else is on it, or has more than the region's flows, or is limited.
            if link.uses == link.members || (link.full_at.is_infinite() && !deserved) {
                continue;
            }
            let mut at = link.head;
            while at != NIL {
                let entry = self.entries[at as usize];
                at = entry.next;
                let flow = &self.flows[entry.flow as usize];
                if flow.region == self.epoch {
                    continue;
                }
                let takes_too_much = flow.level > link.full_at * (1.0 + TOLERANCE);
                let deserves_more = flow.bottleneck == number
                    && (slack || link.highest > flow.level * (1.0 + TOLERANCE));
                // As much as it has, it stands before a link further down its way now, or nowhere.
                let same = |level: f64| flow.level >= level * (1.0 - TOLERANCE);
                let stands = flow.long && entry.ahead < flow.stands && same(link.stood_at);
                let waits_first = flow.stands != NOWHERE
                    && entry.ahead > flow.found_ahead
                    && !slack
                    && same(link.full_at);
                if takes_too_much || deserves_more || stands || waits_first {
                    self.join(entry.flow);
                }
            }
        }
    }

    /// Takes in what others of the region, from this place in it on, hold up: flows that hold up
    /// each other would not see that nobody else does any more.
    fn admit_held(&mut self, mut from: usize) {
        while from < self.region_flows.len() && self.held > 0 {
            let flow = &self.flows[self.region_flows[from] as usize];
            let (first, uses, stands) = (flow.first as usize, flow.uses as usize, flow.stands);
            for index in first..first + uses {
                let Entry { link, ahead, .. } = self.entries[index];
                let mut at = if ahead > stands {
                    self.links[link as usize].head
                } else {
                    NIL
                };
                while at != NIL {
                    let Entry { flow, next, .. } = self.entries[at as usize];
                    if self.flows[flow as usize].held {
                        self.join(flow);
                    }
                    at = next;
                }
            }
            from += 1;
        }
    }

    /// Takes in every flow that is connected with the region by links.
    fn admit_connected(&mut self) {
        let mut index = 0;
        while index < self.region_links.len() {
            let mut at = self.links[self.region_links[index] as usize].head;
            while at != NIL {
                let Entry { flow, next, .. } = self.entries[at as usize];
                self.join(flow);
                at = next;
            }
            index += 1;
        }
    }
}

/// A link in the order of filling.
fn candidate(number: u32, link: &Link) -> Candidate {
    let level = (link.left / link.pull).min(link.held_at).max(0.0);
    Candidate {
        level: level.to_bits(),
        link: number,
    }
}
