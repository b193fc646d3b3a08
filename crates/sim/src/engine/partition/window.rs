//! A window of a partition: every router by itself, in ascending order, its events in order.

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use odonata_network::Routing;
use odonata_run::memory::prefetch;

use super::Partition;
use super::forward::credit_size;
use super::view::{Rooms, View};
use crate::engine::calendar::{Event, GroupedEvents, Kind, PackedEvent};
use crate::engine::model::Model;
use crate::engine::payload::{FEEDBACK, MAX_FEEDBACK, WAKE_CLASS, WAKE_INPUT, WAKE_OUTPUT};
use crate::engine::port::NEVER;
use crate::engine::probe::Probe;
use crate::engine::scheduler::Scheduler;
use crate::engine::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT};
use crate::engine::switch::Switch;

/// Most events that are put in order by counting.
const FEW: usize = 16;

/// Events in ascending order, in `few` if they are 3 to [`FEW`]. These are put where the
/// number of smaller ones says: more comparisons than an insertion sort needs,
/// but no branch that depends on one, nor on how many there are but for blocks of
/// four.
#[inline(always)]
fn in_order<'e>(
    events: &'e mut [PackedEvent],
    few: &'e mut [PackedEvent; FEW],
) -> &'e [PackedEvent] {
    let count = events.len();
    if count <= 2 {
        if let [one, other] = events {
            (*one, *other) = ((*one).min(*other), (*one).max(*other));
        }
        return events;
    }
    if count > FEW {
        events.sort_unstable();
        return events;
    }
    let mut padded = [PackedEvent::LAST; FEW];
    padded[..count].copy_from_slice(events);
    let blocks = &padded.as_chunks::<4>().0[..count.div_ceil(4)];
    let mut places = 0;
    for &event in events.iter() {
        let smaller: usize = blocks
            .iter()
            .map(|block| -> usize { block.map(|other| usize::from(other < event)).iter().sum() })
            .sum();
        places += smaller;
        few[smaller % FEW] = event;
    }
    // Equal ones have one place.
    if places != count * count.saturating_sub(1) / 2 {
        events.sort_unstable();
        return events;
    }
    &few[..count]
}

/// How many routers ahead of the simulated one what their events name is loaded,
/// and what that leads to.
const NAMED_AHEAD: usize = 5;
const LOOK_AHEAD: usize = 2;

/// Ends the run: an event has come before the latency of a link has passed.
#[cold]
fn outside_its_router(router: u32, current: u32) -> ! {
    panic!("an effect of router {current} on router {router} within a window")
}

/// The window that is being simulated, and the router in it.
pub(in crate::engine) struct Window {
    pub start: u64,
    /// 0 between two windows.
    pub end: u64,
    /// The router, and one past its last port.
    pub router: u32,
    pub end_port: usize,
    /// Its events that came up in this window and are still to be handled, the
    /// soonest last.
    upcoming: Vec<PackedEvent>,
    /// The soonest of them, or [`PackedEvent::LAST`].
    soonest: PackedEvent,
    /// Ports to be looked at when all events of this moment have been seen.
    touched: Vec<u32>,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            start: 0,
            end: 0,
            router: 0,
            end_port: 0,
            // With room from the start, so that they lie in this thread's part
            // of the heap (see `driver`).
            upcoming: Vec::with_capacity(256),
            soonest: PackedEvent::LAST,
            touched: Vec::with_capacity(256),
        }
    }
}

impl<M: Model> Partition<'_, M> {
    /// Simulates one window: every router by itself, in ascending order.
    pub(in crate::engine) fn simulate<R: Routing>(
        &mut self,
        routing: &R,
        window: u64,
        grouped: &mut GroupedEvents,
    ) {
        self.calendar.take(window, grouped);
        self.window.end = self.calendar.end_of(window);
        self.window.start = self.calendar.start_of(window);
        for index in 0..NAMED_AHEAD.min(grouped.groups.len() - 1) {
            self.prefetch_named(grouped, index);
        }
        if self.exceeds_cache {
            for index in 0..LOOK_AHEAD {
                self.look_ahead(routing, grouped, index);
            }
        }
        let mut few = [PackedEvent::LAST; FEW];
        for index in 0..grouped.groups.len() - 1 {
            let group = grouped.groups[index];
            let end = grouped.groups[index + 1].first;
            self.prefetch_named(grouped, index + NAMED_AHEAD);
            if self.exceeds_cache {
                self.look_ahead(routing, grouped, index + LOOK_AHEAD);
            }
            let (events, credits) = grouped.events[group.first as usize..end as usize]
                .split_at_mut((group.credits - group.first) as usize);
            let events = in_order(events, &mut few);
            self.window.router = group.router;
            let first_port = self.first_port(group.router);
            self.window.end_port = self.first_port(group.router + 1);
            let early = self.take_credits_early(first_port, credits);
            if !(events.is_empty() && self.window.upcoming.is_empty()) {
                self.simulate_router(routing, group.router, first_port, events, early);
            }
            if !self.routing.closes_routers {
                continue;
            }
            if self.shared.outages.is_some() {
                self.note_latest_event(early);
            }
            if self.routing.reads_occupancy {
                for &credit in early {
                    let port = self.creditor(first_port, credit);
                    self.ports.all[port].downstream -= credit_size::<M::Probe>(credit.payload());
                }
            }
        }
        self.window.end = 0;
    }

    /// Keeps when the latest event of a router was, by then or among the credits taken early.
    #[cold]
    #[inline(never)]
    fn note_latest_event(&mut self, early: &[PackedEvent]) {
        let credit = early.iter().map(|credit| credit.offset()).max();
        let credit = credit.map_or(0, |offset| self.window.start + offset);
        self.latest_event = self.latest_event.max(self.now).max(credit);
    }

    /// First port of a router of this partition, in `ports`.
    #[inline(always)]
    pub(super) fn first_port(&self, router: u32) -> usize {
        (self.shared.topology.first_port[(self.base_router + router) as usize] - self.base_port)
            as usize
    }

    /// Adds this window's credits to their channels before their time where
    /// nobody can notice: where the channel would not run short of credits in
    /// this window without them. Returns those; the occupancy that routing sees
    /// still has to account for their time. The others become events.
    #[inline(always)]
    fn take_credits_early<'c>(
        &mut self,
        first_port: usize,
        credits: &'c mut [PackedEvent],
    ) -> &'c [PackedEvent] {
        let mut early = 0;
        for index in 0..credits.len() {
            let credit = credits[index];
            let port = self.creditor(first_port, credit);
            let state = &mut self.ports.all[port];
            let vc = (credit.payload() >> CREDIT_VC_SHIFT) as usize;
            let channel = &mut self.ports.channels[self.ports.grid.channel(port, vc)];
            if state.stalled_since == NEVER
                && !self.switch.takes_credits()
                && channel.credits >= self.classes[state.class as usize].margin
            {
                channel.credits += credit_size::<M::Probe>(credit.payload());
                if !self.routing.reads_occupancy {
                    state.downstream -= credit_size::<M::Probe>(credit.payload());
                }
                if M::Probe::ON {
                    let (link, payload) = (self.link(port), credit.payload());
                    self.probe
                        .credited(link, vc as u8, payload, self.window.start);
                }
                credits[early] = credit;
                early += 1;
            } else {
                self.window.upcoming.push(credit);
            }
        }
        if self.window.upcoming.len() > 1 {
            self.window.upcoming.sort_unstable_by(|a, b| b.cmp(a));
        }
        if let Some(&soonest) = self.window.upcoming.last() {
            self.window.soonest = soonest;
        }
        self.accounts.events += early as u64;
        &credits[..early]
    }

    /// Port (index in `ports`) that a credit event is for: that of the event, or
    /// that of the interface behind it.
    #[inline(always)]
    pub(super) fn creditor(&self, first_port: usize, credit: PackedEvent) -> usize {
        let port = first_port + credit.port() as usize;
        // Which of them it is is unpredictable.
        select_unpredictable(
            credit.payload() & CREDIT_FOR_INTERFACE == 0,
            port,
            self.ports.of_routers + self.ports.all[port].peer_router as usize,
        )
    }

    /// Starts to load what the events of a group name: ports, and packets that arrive.
    #[inline(always)]
    fn prefetch_named(&self, grouped: &GroupedEvents, index: usize) {
        if index + 1 >= grouped.groups.len() {
            return;
        }
        let (group, next) = (grouped.groups[index], grouped.groups[index + 1]);
        let others = group.others as usize;
        for event in &grouped.events[group.first as usize..others] {
            prefetch(&self.packets.hot, event.payload() as usize);
        }
        if self.exceeds_cache {
            let first_port = self.first_port(group.router);
            for event in &grouped.events[others..next.first as usize] {
                self.prefetch_port(first_port + event.port() as usize);
            }
        }
    }

    #[inline(always)]
    fn prefetch_port(&self, port: usize) {
        prefetch(&self.ports.all, port);
        prefetch(&self.ports.channels, port << self.ports.grid.shift);
    }

    /// Routes the packets of a group ahead of their arrival, as far as their
    /// hops depend on nothing else; and starts to load what the packets and
    /// ports that the group names lead to: the ports that packets leave
    /// through, the first packets of queues, and nodes' interfaces.
    #[inline(always)]
    fn look_ahead<R: Routing>(&mut self, routing: &R, grouped: &GroupedEvents, index: usize) {
        let Some(&[group, next]) = grouped.groups.get(index..index + 2) else {
            return;
        };
        let first_port = self.first_port(group.router);
        for event in &grouped.events[group.first as usize..next.first as usize] {
            let port = first_port + event.port() as usize;
            match event.kind() {
                Kind::Arrive => {
                    let packet = &mut self.packets.hot[event.payload() as usize];
                    let injected = packet.routers == 0;
                    // What is decided per message, its first packet decides.
                    if self.routing.message_routes.is_none()
                        && !routing.next_hop_reads_occupancy(injected, &packet.route)
                    {
                        let view = View {
                            ports: &[],
                            rooms: &Rooms::UNASKED,
                            early: &[],
                            offset: 0,
                            sent: 0,
                            snapshot: self.routing.snapshot,
                            key: self.shared.routing_key,
                            entity: 0,
                            counter: 0,
                            now: 0,
                            q_table: &[],
                            source: 0,
                            feedback: None,
                            probe: PhantomData::<M::Probe>,
                        };
                        view.route(routing, self.base_router + group.router, packet);
                        let out_port = usize::from(packet.out_port);
                        self.prefetch_port(first_port + out_port);
                    }
                }
                Kind::Wake if event.payload() == 0 => {
                    let waiting = self.ports.all[port].waiting;
                    let vc = waiting.trailing_zeros() as usize & ((1 << self.ports.grid.shift) - 1);
                    let channel = &self.ports.channels[self.ports.grid.channel(port, vc)];
                    prefetch(&self.packets.hot, channel.head as usize);
                }
                Kind::Wake if R::LEARNS && event.payload() & FEEDBACK != 0 => {}
                Kind::Wake => {
                    let interface = self.ports.all[port].peer_router as usize;
                    prefetch(&self.interfaces.all, interface);
                    prefetch(&self.interfaces.sources, interface);
                    self.prefetch_port(self.ports.of_routers + interface);
                }
                Kind::Credit if event.payload() & CREDIT_FOR_INTERFACE != 0 => {
                    let interface = self.ports.all[port].peer_router as usize;
                    self.prefetch_port(self.ports.of_routers + interface);
                }
                Kind::Credit | Kind::Node => {}
            }
        }
    }

    /// Simulates the current window of one router, given its events in order
    /// and the credits that have been taken early.
    #[inline(never)]
    fn simulate_router<R: Routing>(
        &mut self,
        routing: &R,
        router: u32,
        first_port: usize,
        events: &[PackedEvent],
        early: &[PackedEvent],
    ) {
        let mut events = events.iter().copied();
        // The next event from before this window, and of those that came up in it.
        let mut given = events.next().unwrap_or(PackedEvent::LAST);
        let mut count = 0;
        loop {
            let first = given.min(self.window.soonest);
            if first == PackedEvent::LAST {
                break;
            }
            let offset = first.offset();
            let now = self.window.start + offset;
            if now >= self.stop {
                break;
            }
            self.now = now;
            // Simultaneous requests are all seen before any output decides.
            let mut event = first;
            let mut first_at_this_time = true;
            loop {
                count += 1;
                if event == given {
                    given = events.next().unwrap_or(PackedEvent::LAST);
                } else {
                    self.window.upcoming.pop();
                    self.window.soonest = self
                        .window
                        .upcoming
                        .last()
                        .copied()
                        .unwrap_or(PackedEvent::LAST);
                }
                let next = given.min(self.window.soonest);
                let last_at_this_time = next.offset() != offset || next == PackedEvent::LAST;
                let alone = first_at_this_time && last_at_this_time;
                let port = first_port + event.port() as usize;
                match event.kind() {
                    Kind::Arrive => self.arrive(routing, router, first_port, event, early, alone),
                    Kind::Credit => self.credit(first_port, event),
                    Kind::Wake => match event.payload() {
                        payload if R::LEARNS && payload & FEEDBACK != 0 => {
                            self.learn(
                                routing,
                                router,
                                event.port() as u16,
                                payload & MAX_FEEDBACK,
                            );
                        }
                        0 => {
                            self.ports.all[port].wake = false;
                            M::Switch::link_woken(self, port);
                            if alone {
                                self.try_send(router, first_port, port, now);
                            } else {
                                self.touch(port);
                            }
                        }
                        payload @ (WAKE_INPUT | WAKE_OUTPUT) => {
                            M::Switch::woken(self, first_port, port, payload);
                        }
                        WAKE_CLASS if M::Scheduler::CLASSES => self.touch(port),
                        _ => {
                            let interface = self.ports.all[port].peer_router;
                            self.wake_interface(interface, now);
                        }
                    },
                    Kind::Node => {
                        self.node_event(self.ports.all[port].peer_router, event.payload(), now)
                    }
                }
                if last_at_this_time {
                    break;
                }
                first_at_this_time = false;
                event = next;
            }
            if !self.window.touched.is_empty() {
                self.settle_touched(router, first_port, now);
            }
            M::Switch::settle(self, router, first_port, now);
        }
        self.window.upcoming.clear();
        self.window.soonest = PackedEvent::LAST;
        self.accounts.events += count;
    }

    #[inline(always)]
    fn settle_touched(&mut self, router: u32, first_port: usize, now: u64) {
        let mut index = 0;
        while index < self.window.touched.len() {
            let port = self.window.touched[index] as usize;
            if port < self.ports.of_routers {
                self.try_send(router, first_port, port, now);
            } else {
                self.try_inject(port - self.ports.of_routers, now);
            }
            index += 1;
        }
        self.window.touched.clear();
    }

    /// Puts an event of the current router, or of any router after this
    /// window, where it belongs.
    #[inline(always)]
    pub(in crate::engine) fn schedule(&mut self, event: Event) {
        if event.time < self.window.end {
            // In a release, too: what the event names is counted from this router.
            if event.router() != self.window.router {
                outside_its_router(event.router(), self.window.router);
            }
            debug_assert!(event.time > self.now, "an effect without delay");
            let event = event.pack(self.window.start);
            // Soonest last.
            let mut at = self.window.upcoming.len();
            while at > 0 && self.window.upcoming[at - 1] < event {
                at -= 1;
            }
            self.window.upcoming.insert(at, event);
            self.window.soonest = self.window.soonest.min(event);
        } else {
            self.calendar.push(event);
        }
    }

    /// Marks a port (index in `ports`) to be looked at when all events of this
    /// moment have been seen.
    #[inline(always)]
    pub(in crate::engine) fn touch(&mut self, port: usize) {
        self.window.touched.push(port as u32);
    }
}
