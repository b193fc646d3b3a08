//! Who waits for whom at links, and what arrives at routers: recorded on request.
//!
//! What a partition does for it goes through [`Probe`], a type parameter: without a
//! request there is no code for it.

use std::collections::HashMap;
use std::ops::Range;

use odonata_run::memory::make_room_in;
use odonata_run::{Arrival, Direction, JobAtLink, JobWait, Parameter, SimError};
use odonata_units::{GroupId, NodeId, Picoseconds, RouterId};
use serde::{Deserialize, Serialize};

use super::port::NEVER;
use super::shared::{CREDIT_SIZE_BITS, Shared};

/// The link of a port as its probe sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkState {
    /// Index in [`Partition::ports`](super::partition::Partition).
    pub port: usize,
    /// Since when it is free, and packets wait that have no room at the other end;
    /// or [`NEVER`].
    pub stalled_since: u64,
    /// Nothing before this counts.
    pub warmup: u64,
}

/// A packet that starts over a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub job: u16,
    pub vc: u8,
    /// Bytes of it that are sent after the warm-up.
    pub measured: u64,
    pub now: u64,
    /// When the link has sent its tail.
    pub end: u64,
    /// Room that it takes behind the link until its credit comes back; 0 if it takes none.
    pub held: u32,
}

/// A packet on its way to a router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    pub router: u32,
    /// Class of the link that it comes over.
    pub class: u8,
    pub job: u16,
    pub size: u32,
    /// Node that sent it.
    pub source: u32,
    /// Router of the node that it is bound for.
    pub destination_router: u32,
    /// When its tail arrives.
    pub time: u64,
}

/// Sees what packets do at links.
pub(super) trait Probe: Sized + Send {
    /// Whether there is anything to see.
    const ON: bool;
    /// Bits of a credit's payload that hold its size.
    const CREDIT_SIZE_BITS: u32;

    /// The probe of a partition of this many ports.
    fn new(shared: &Shared<'_>, ports: usize) -> Self;

    /// Whether a run can be probed.
    ///
    /// # Errors
    /// If its packets are too large or its jobs too many.
    fn check(shared: &Shared<'_>) -> Result<(), SimError>;

    /// What credits carry of a packet, in place of its size.
    fn credit(size: u32, job: u16) -> u32;

    /// A packet has been routed and waits for the link from now on.
    fn wait(&mut self, link: LinkState, vc: u8, job: u16, now: u64);

    /// Takes account of the time up to now; before a stall ends.
    fn settle(&mut self, link: LinkState, now: u64);

    /// In place of the packet that waits at a node another one is about to start.
    fn wait_instead(&mut self, link: LinkState, vc: u8, job: u16, now: u64);

    /// Nothing waits at a node any more.
    fn wait_no_more(&mut self, link: LinkState, now: u64);

    /// A packet that waited starts.
    fn send(&mut self, link: LinkState, packet: Departure);

    /// A credit has come back for a channel of the link. `payload`: see [`Probe::credit`].
    fn credited(&mut self, link: LinkState, vc: u8, payload: u32, now: u64);

    /// The tail of a packet will arrive at a router at a time.
    fn arrive(&mut self, packet: Approach);

    /// Forgets what was measured at links.
    fn begin_measuring(&mut self);

    /// Takes note of how many bytes count of the packet that a link is sending as measuring begins.
    fn carry(&mut self, port: usize, bytes: u64);

    /// Takes note of how many bytes do not count of the packet that a link is sending as the run
    /// ends.
    fn leave(&mut self, port: usize, bytes: u64);

    /// What is known of some links, for checkpoints and outcomes.
    fn links(&self, ports: Range<usize>) -> &[LinkWatch];

    /// Takes that over.
    fn restore(&mut self, port: usize, saved: LinkWatch);

    /// What has arrived, in order.
    fn arrivals(&self) -> Vec<Arrival>;

    /// Bytes that it holds, about.
    fn bytes(&self) -> usize {
        0
    }

    /// Takes that over.
    fn restore_arrivals(&mut self, arrivals: Vec<Arrival>);
}

/// Sees nothing.
pub(super) struct Silent;

impl Probe for Silent {
    const ON: bool = false;
    const CREDIT_SIZE_BITS: u32 = CREDIT_SIZE_BITS;

    fn new(_: &Shared<'_>, _: usize) -> Self {
        Self
    }
    fn check(_: &Shared<'_>) -> Result<(), SimError> {
        Ok(())
    }
    #[inline(always)]
    fn credit(size: u32, _: u16) -> u32 {
        size
    }
    #[inline(always)]
    fn wait(&mut self, _: LinkState, _: u8, _: u16, _: u64) {}
    #[inline(always)]
    fn settle(&mut self, _: LinkState, _: u64) {}
    fn wait_instead(&mut self, _: LinkState, _: u8, _: u16, _: u64) {}
    fn wait_no_more(&mut self, _: LinkState, _: u64) {}
    #[inline(always)]
    fn send(&mut self, _: LinkState, _: Departure) {}
    #[inline(always)]
    fn credited(&mut self, _: LinkState, _: u8, _: u32, _: u64) {}
    #[inline(always)]
    fn arrive(&mut self, _: Approach) {}
    fn begin_measuring(&mut self) {}
    fn carry(&mut self, _: usize, _: u64) {}
    fn leave(&mut self, _: usize, _: u64) {}
    fn links(&self, _: Range<usize>) -> &[LinkWatch] {
        &[]
    }
    fn restore(&mut self, _: usize, _: LinkWatch) {}
    fn arrivals(&self) -> Vec<Arrival> {
        Vec::new()
    }
    fn restore_arrivals(&mut self, _: Vec<Arrival>) {}
}

/// Who asks for memory.
pub(super) const ACCOUNTS: &str = "the records of attribution and arrivals";

/// Packets of a job on a channel of a link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Channel {
    pub vc: u8,
    pub job: u16,
    /// Packets that wait for the link.
    pub waiting: u32,
    /// Bytes sent and not credited: in the buffer at the other end, or on their way.
    pub held: u32,
}

/// What is known of a link.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LinkWatch {
    /// Up to when waiting is accounted for.
    pub since: u64,
    /// Until when a packet is being sent, and its job.
    pub busy_until: u64,
    pub sender: u16,
    /// Packets that wait, on all channels.
    pub waiting: u32,
    pub channels: Vec<Channel>,
    pub jobs: Vec<JobAtLink>,
    pub waits: Vec<JobWait>,
}

/// The entry of a list that fits, made if there is none.
fn entry<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(fits).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[at]
}

impl LinkWatch {
    fn channel(&mut self, vc: u8, job: u16) -> &mut Channel {
        let new = || Channel {
            vc,
            job,
            waiting: 0,
            held: 0,
        };
        entry(&mut self.channels, |c| c.vc == vc && c.job == job, new)
    }

    fn job(&mut self, job: u16) -> &mut JobAtLink {
        let job = u32::from(job);
        entry(&mut self.jobs, |of| of.job == job, || JobAtLink::new(job))
    }

    fn waited(&mut self, job: u16, by: u16) -> &mut JobWait {
        let (job, by) = (u32::from(job), u32::from(by));
        let fits = |wait: &JobWait| wait.job == job && wait.by == by;
        entry(&mut self.waits, fits, || JobWait::new(job, by))
    }

    /// Shares out the time since the last account: among those whose packet was being
    /// sent, and those whose packets held the buffer.
    fn settle(&mut self, stalled_since: u64, warmup: u64, now: u64) {
        let from = self.since.max(warmup);
        self.since = now;
        if self.waiting == 0 || from >= now {
            return;
        }
        let busy_end = self.busy_until.clamp(from, now);
        let blocked_from = stalled_since.clamp(busy_end, now);
        let (busy, idle) = (busy_end - from, blocked_from - busy_end);
        let blocked = now - blocked_from;
        for index in 0..self.channels.len() {
            let Channel {
                vc, job, waiting, ..
            } = self.channels[index];
            if waiting == 0 {
                continue;
            }
            let packets = u64::from(waiting);
            if busy > 0 {
                self.waited(job, self.sender).sending_ps += packets * busy;
            }
            if idle > 0 {
                self.job(job).router_ps += packets * idle;
            }
            if blocked > 0 {
                self.block(vc, job, packets * blocked);
                // Once for every job, whatever the number of its channels.
                let first = self.channels[..index].iter();
                if !first.clone().any(|c| c.job == job && c.waiting > 0) {
                    self.job(job).stall_ps += blocked;
                }
            }
        }
    }

    /// Shares out a time that packets of `job` waited for room on a channel, by the bytes
    /// that each job holds there; the shares sum to exactly that time.
    fn block(&mut self, vc: u8, job: u16, time: u64) {
        let of_channel = |c: &&Channel| c.vc == vc && c.held > 0;
        let held: u64 = self
            .channels
            .iter()
            .filter(of_channel)
            .map(|c| u64::from(c.held))
            .sum();
        if held == 0 {
            // Not before a credit that is on its way.
            self.job(job).router_ps += time;
            return;
        }
        let (mut running, mut given) = (0u64, 0u64);
        for index in 0..self.channels.len() {
            let channel = self.channels[index];
            if !of_channel(&&channel) {
                continue;
            }
            running += u64::from(channel.held);
            let upto = (u128::from(time) * u128::from(running) / u128::from(held)) as u64;
            self.waited(job, channel.job).blocking_ps += upto - given;
            given = upto;
        }
    }
}

/// Keeps account.
pub(super) struct Recorder {
    /// Empty if only arrivals are recorded. Shape: ports.
    links: Vec<LinkWatch>,
    /// Whether arrivals at a router are recorded; empty if none are. Shape: routers.
    watched: Vec<bool>,
    /// Empty if no arrivals are recorded. Shape: routers.
    group_of_router: Vec<GroupId>,
    /// Empty if no arrivals are recorded. Shape: nodes.
    group_of_node: Vec<GroupId>,
    interval: u64,
    stop: u64,
    /// Bytes and packets.
    arrivals: HashMap<ArrivalKey, (u64, u64)>,
}

/// Interval, router, link class, job and direction.
type ArrivalKey = (u64, u32, u8, u16, Direction);

/// Bits of a credit's payload that hold its size, where it says whose it is as well.
const SIZE_BITS: u32 = 16;

impl Probe for Recorder {
    const ON: bool = true;
    const CREDIT_SIZE_BITS: u32 = SIZE_BITS;

    fn new(shared: &Shared<'_>, ports: usize) -> Self {
        let measurement = &shared.measurement;
        let topology = shared.topology;
        let (mut watched, mut group_of_router) = (Vec::new(), Vec::new());
        let mut group_of_node = Vec::new();
        if let Some(arrivals) = &measurement.arrivals {
            watched = vec![false; topology.routers()];
            for router in &arrivals.routers {
                watched[router.index()] = true;
            }
            group_of_router.clone_from(&topology.group_of_router);
            let nodes = (0..topology.nodes()).map(NodeId::from_index);
            group_of_node = nodes.map(|node| topology.group_of_node(node)).collect();
        }
        Self {
            links: match measurement.attribution {
                true => vec![LinkWatch::default(); ports],
                false => Vec::new(),
            },
            watched,
            group_of_router,
            group_of_node,
            interval: measurement
                .arrivals
                .as_ref()
                .map_or(1, |arrivals| arrivals.interval.0),
            stop: shared.stop,
            arrivals: HashMap::new(),
        }
    }

    fn check(shared: &Shared<'_>) -> Result<(), SimError> {
        let refuse = |parameter, found: String, allowed: String| {
            Err(SimError::Parameter {
                parameter,
                found,
                allowed,
            })
        };
        if shared.packet >= 1 << SIZE_BITS {
            let allowed = "less than 64 KiB where attribution or arrivals are recorded";
            let found = shared.config.packet.to_string();
            return refuse(Parameter::Packet, found, allowed.to_owned());
        }
        let most = 1usize << (CREDIT_SIZE_BITS - SIZE_BITS);
        if shared.jobs.len() > most {
            let allowed = format!("at most {most} where attribution or arrivals are recorded");
            return refuse(
                Parameter::Jobs,
                format!("{} jobs", shared.jobs.len()),
                allowed,
            );
        }
        if let Some(arrivals) = &shared.measurement.arrivals {
            if arrivals.interval.0 == 0 {
                let allowed = "at least 1 ps".to_owned();
                return refuse(Parameter::ArrivalInterval, "0 ps".to_owned(), allowed);
            }
            let routers = shared.topology.routers();
            if let Some(router) = arrivals
                .routers
                .iter()
                .find(|router| router.index() >= routers)
            {
                let allowed = format!("routers from 0 to {}", routers - 1);
                return refuse(Parameter::ArrivalRouters, router.to_string(), allowed);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn credit(size: u32, job: u16) -> u32 {
        u32::from(job) << SIZE_BITS | size
    }

    fn wait(&mut self, link: LinkState, vc: u8, job: u16, now: u64) {
        if let Some(watch) = self.links.get_mut(link.port) {
            watch.settle(link.stalled_since, link.warmup, now);
            watch.waiting += 1;
            watch.channel(vc, job).waiting += 1;
        }
    }

    fn settle(&mut self, link: LinkState, now: u64) {
        if let Some(watch) = self.links.get_mut(link.port) {
            watch.settle(link.stalled_since, link.warmup, now);
        }
    }

    fn wait_no_more(&mut self, link: LinkState, now: u64) {
        if let Some(watch) = self.links.get_mut(link.port) {
            watch.settle(link.stalled_since, link.warmup, now);
            watch.waiting = 0;
            for channel in &mut watch.channels {
                channel.waiting = 0;
            }
        }
    }

    fn wait_instead(&mut self, link: LinkState, vc: u8, job: u16, now: u64) {
        if let Some(watch) = self.links.get_mut(link.port) {
            watch.settle(link.stalled_since, link.warmup, now);
            for channel in &mut watch.channels {
                channel.waiting = 0;
            }
            watch.channel(vc, job).waiting = 1;
        }
    }

    fn send(&mut self, link: LinkState, packet: Departure) {
        let Some(watch) = self.links.get_mut(link.port) else {
            return;
        };
        watch.settle(link.stalled_since, link.warmup, packet.now);
        let channel = watch.channel(packet.vc, packet.job);
        channel.waiting -= 1;
        channel.held += packet.held;
        watch.waiting -= 1;
        watch.busy_until = packet.end;
        watch.sender = packet.job;
        if packet.measured > 0 {
            let of = watch.job(packet.job);
            of.bytes += packet.measured;
            of.packets += u64::from(packet.now >= link.warmup);
        }
    }

    fn credited(&mut self, link: LinkState, vc: u8, payload: u32, now: u64) {
        let Some(watch) = self.links.get_mut(link.port) else {
            return;
        };
        if link.stalled_since != NEVER {
            watch.settle(link.stalled_since, link.warmup, now);
        }
        let size = payload & ((1 << SIZE_BITS) - 1);
        let job = payload >> SIZE_BITS & ((1 << (CREDIT_SIZE_BITS - SIZE_BITS)) - 1);
        watch.channel(vc, job as u16).held -= size;
    }

    fn arrive(&mut self, packet: Approach) {
        let Approach { router, time, .. } = packet;
        if self.watched.get(router as usize) != Some(&true) || time >= self.stop {
            return;
        }
        let direction = Direction::seen_from(
            self.group_of_router[router as usize],
            self.group_of_node[packet.source as usize],
            self.group_of_router[packet.destination_router as usize],
        );
        let bin = time / self.interval;
        let key = (bin, router, packet.class, packet.job, direction);
        make_room_in(&mut self.arrivals, ACCOUNTS);
        let (bytes, packets) = self.arrivals.entry(key).or_default();
        *bytes += u64::from(packet.size);
        *packets += 1;
    }

    fn bytes(&self) -> usize {
        let entry = size_of::<(ArrivalKey, (u64, u64))>();
        let of_link = |watch: &LinkWatch| {
            watch.jobs.capacity() * size_of::<JobAtLink>()
                + watch.waits.capacity() * size_of::<JobWait>()
        };
        self.arrivals.capacity() * entry + self.links.iter().map(of_link).sum::<usize>()
    }

    fn begin_measuring(&mut self) {
        for watch in &mut self.links {
            watch.jobs.clear();
            watch.waits.clear();
        }
    }

    fn carry(&mut self, port: usize, bytes: u64) {
        if let Some(watch) = self.links.get_mut(port).filter(|_| bytes > 0) {
            watch.job(watch.sender).bytes += bytes;
        }
    }

    fn leave(&mut self, port: usize, bytes: u64) {
        if let Some(watch) = self.links.get_mut(port).filter(|_| bytes > 0) {
            let of = watch.job(watch.sender);
            of.bytes = of.bytes.saturating_sub(bytes);
        }
    }

    fn links(&self, ports: Range<usize>) -> &[LinkWatch] {
        self.links.get(ports).unwrap_or(&[])
    }

    fn restore(&mut self, port: usize, saved: LinkWatch) {
        if let Some(watch) = self.links.get_mut(port) {
            *watch = saved;
        }
    }

    fn arrivals(&self) -> Vec<Arrival> {
        let of = |(key, &(bytes, packets)): (&ArrivalKey, &(u64, u64))| {
            let &(bin, router, class, job, direction) = key;
            Arrival {
                begin: Picoseconds(bin * self.interval),
                router: RouterId(router),
                class,
                job: u32::from(job),
                direction,
                bytes,
                packets,
            }
        };
        let mut arrivals: Vec<Arrival> = self.arrivals.iter().map(of).collect();
        arrivals.sort_unstable_by_key(Arrival::order);
        arrivals
    }

    fn restore_arrivals(&mut self, arrivals: Vec<Arrival>) {
        for arrival in arrivals {
            let Arrival { router, class, .. } = arrival;
            let (bin, job) = (arrival.begin.0 / self.interval, arrival.job as u16);
            let key = (bin, router.0, class, job, arrival.direction);
            self.arrivals.insert(key, (arrival.bytes, arrival.packets));
        }
    }
}
