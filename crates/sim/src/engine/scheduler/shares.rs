//! Traffic classes: a link is shared out among classes first, then among the channels of one.
//!
//! A class whose guaranteed share is due goes first, of several the one that is due longest. What is
//! left goes to the highest priority that has packets which can leave, and among classes of one
//! priority by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995). A class that is ahead of
//! its largest share sends nothing. Shares are kept as times: a packet that takes a link a time `t`
//! puts the moment at which its class is due again, or may send again, off by `t / share` (the
//! virtual scheduling algorithm of ITU-T I.371).

use std::ops::Range;

use odonata_run::TrafficClass;
use odonata_run::encoding::or_absent;
use odonata_run::memory::filled;
use serde::{Deserialize, Serialize};

use super::{Scheduler, arbitrate};
use crate::engine::model::Model;
use crate::engine::partition::Partition;
use crate::engine::port::{NEVER, PORTS};
use crate::engine::shared::{Rate, Shared};

/// By how many packets per class what a class has had may lag behind what it could have had, as
/// others hold the link when its turn comes. What it lags behind further is lost.
const LAG: u64 = 2;

/// What a class may have.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// The inverse of the guaranteed share; infinite if that is nothing.
    guaranteed: f64,
    /// The inverse of the largest share.
    largest: f64,
    /// Bytes per round.
    quantum: u64,
    /// Its priority: how many are higher.
    level: usize,
}

/// What a class has had of the link of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct Turn {
    /// When its guaranteed share is due.
    pub due: u64,
    /// When it may send.
    pub may: u64,
    /// Bytes that it may still send in its round.
    pub deficit: u64,
    /// Virtual channel that was served last.
    pub served: u8,
    /// The class whose round it is on the level that has the number of this class.
    pub round_of: u8,
}

/// What a port keeps of its classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct LinkShares {
    /// Shape: classes.
    pub turns: Vec<Turn>,
    /// When a wake-up for a class that may send then is pending; or [`NEVER`].
    #[serde(with = "or_absent")]
    pub woken_at: u64,
}

/// The first packets of classes that can leave.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Ready {
    /// The classes, a bit each.
    pub classes: u16,
    /// Size of the packet of each. Shape: classes.
    pub bytes: [u32; TrafficClass::MOST],
}

/// The links of a partition, shared out among classes.
pub(in crate::engine) struct Shares {
    classes: Vec<Share>,
    /// Shape: ports × classes.
    turns: Vec<Turn>,
    /// See [`LinkShares::woken_at`]. Shape: ports.
    woken_at: Vec<u64>,
    /// Virtual channels of each class.
    channels: usize,
    /// Largest packet.
    packet: u32,
}

impl Shares {
    fn of(classes: &[TrafficClass], packet: u32, channels: usize, ports: usize) -> Self {
        let lightest = classes.iter().map(|class| class.weight).min().unwrap_or(1);
        let share = |class: &TrafficClass| {
            let mut higher: Vec<u32> = classes.iter().map(|other| other.priority).collect();
            higher.retain(|&priority| priority > class.priority);
            higher.sort_unstable();
            higher.dedup();
            Share {
                guaranteed: 1.0 / class.guaranteed,
                largest: 1.0 / class.largest,
                // No packet is larger.
                quantum: u64::from(packet) * u64::from(class.weight) / u64::from(lightest),
                level: higher.len(),
            }
        };
        Self {
            classes: classes.iter().map(share).collect(),
            turns: filled(Turn::default(), ports * classes.len(), PORTS),
            woken_at: filled(NEVER, ports, PORTS),
            channels,
            packet,
        }
    }

    fn turns(&self, port: usize) -> &[Turn] {
        &self.turns[port * self.classes.len()..(port + 1) * self.classes.len()]
    }

    /// When a class may send over a port's link at the earliest.
    pub fn may_send_at(&self, port: usize, class: usize) -> u64 {
        self.turns(port)[class].may
    }

    /// The virtual channel of a class that a port served last.
    pub fn served(&mut self, port: usize, class: usize) -> &mut u8 {
        &mut self.turns[port * self.classes.len() + class].served
    }

    /// The class that sends next over a port's link, of those that are ready and may send now; its
    /// packet is accounted for.
    pub fn pick(&mut self, port: usize, ready: &Ready, rate: &Rate, now: u64) -> Option<usize> {
        let Self {
            classes, packet, ..
        } = self;
        let first = port * classes.len();
        let turns = &mut self.turns[first..first + classes.len()];
        let slack = LAG * classes.len() as u64 * rate.duration(*packet, *packet);
        let put_off = |moment: u64, bytes: u32, inverse: f64| {
            let time = (rate.duration(bytes, *packet) as f64 * inverse).round();
            moment.max(now.saturating_sub(slack)) + time as u64
        };
        let is_ready = |class: &usize| ready.classes & 1 << class != 0;
        let due = (0..classes.len())
            .filter(is_ready)
            .filter(|&class| classes[class].guaranteed.is_finite() && turns[class].due <= now)
            .min_by_key(|&class| turns[class].due);
        let class = match due {
            Some(class) => {
                let Share { guaranteed, .. } = classes[class];
                turns[class].due = put_off(turns[class].due, ready.bytes[class], guaranteed);
                class
            }
            None => round_robin(classes, turns, ready)?,
        };
        let Share { largest, .. } = classes[class];
        if largest > 1.0 {
            turns[class].may = put_off(turns[class].may, ready.bytes[class], largest);
        }
        Some(class)
    }
}

/// The class of the highest priority whose round it is, if any is ready.
fn round_robin(classes: &[Share], turns: &mut [Turn], ready: &Ready) -> Option<usize> {
    let all = 0..classes.len();
    let is_ready = |class: &usize| ready.classes & 1 << class != 0;
    let level = all
        .clone()
        .filter(is_ready)
        .map(|class| classes[class].level);
    let level = level.min()?;
    let takes_part = |class: &usize| is_ready(class) && classes[*class].level == level;
    let current = usize::from(turns[level].round_of);
    let goes_on = |class: usize| turns[class].deficit >= u64::from(ready.bytes[class]);
    let class = match takes_part(&current) && goes_on(current) {
        true => current,
        false => {
            let next = (current + 1..classes.len())
                .chain(0..=current)
                .find(takes_part)?;
            turns[level].round_of = next as u8;
            // What is left of rounds that were cut short is no more than one.
            let Share { quantum, .. } = classes[next];
            turns[next].deficit = (turns[next].deficit + quantum).min(2 * quantum);
            next
        }
    };
    turns[class].deficit -= u64::from(ready.bytes[class]);
    Some(class)
}

/// The virtual channels of a class among those in which packets wait for a port.
fn of_class(waiting: u16, class: usize, channels: usize) -> u16 {
    let all = (1u32 << channels) - 1;
    waiting & (all << (class * channels)) as u16
}

impl Scheduler for Shares {
    const CLASSES: bool = true;

    fn new(shared: &Shared<'_>, ports: usize) -> Self {
        let channels = usize::from(shared.lanes.count());
        Self::of(&shared.config.classes, shared.packet, channels, ports)
    }

    fn choose<M: Model<Scheduler = Self>>(
        partition: &mut Partition<'_, M>,
        port: usize,
        now: u64,
    ) -> Option<usize> {
        let state = &partition.ports.all[port];
        let (waiting, link) = (state.waiting, usize::from(state.class));
        let channels = partition.scheduler.channels;
        let mut ready = Ready::default();
        let mut first = [0; TrafficClass::MOST];
        let classes = partition.scheduler.classes.len();
        for (class, first) in first.iter_mut().enumerate().take(classes) {
            let waiting = of_class(waiting, class, channels);
            let Turn { may, served, .. } = partition.scheduler.turns(port)[class];
            if waiting == 0 || may > now {
                continue;
            }
            if let Some(vc) = arbitrate(partition, port, waiting, served) {
                let channel = &partition.ports.channels[partition.ports.grid.channel(port, vc)];
                *first = vc;
                ready.classes |= 1 << class;
                ready.bytes[class] = partition.packets.hot[channel.head as usize].size;
            }
        }
        let rate = &partition.classes[link].rate;
        let class = partition.scheduler.pick(port, &ready, rate, now)?;
        *partition.scheduler.served(port, class) = first[class] as u8;
        Some(first[class])
    }

    fn lacks_room<M: Model<Scheduler = Self>>(
        partition: &Partition<'_, M>,
        port: usize,
        now: u64,
    ) -> bool {
        let Self {
            classes, channels, ..
        } = &partition.scheduler;
        let waiting = partition.ports.all[port].waiting;
        (0..classes.len()).any(|class| {
            let may = partition.scheduler.may_send_at(port, class);
            may <= now && of_class(waiting, class, *channels) != 0
        })
    }

    fn pause<M: Model<Scheduler = Self>>(
        partition: &mut Partition<'_, M>,
        port: usize,
        now: u64,
    ) -> Option<u64> {
        let waiting = partition.ports.all[port].waiting;
        let shares = &mut partition.scheduler;
        let held = (0..shares.classes.len())
            .filter(|&class| of_class(waiting, class, shares.channels) != 0)
            .map(|class| shares.may_send_at(port, class));
        let at = held.filter(|&may| may > now).min()?;
        let pending = shares.woken_at[port];
        if (now + 1..=at).contains(&pending) {
            return None;
        }
        shares.woken_at[port] = at;
        Some(at)
    }

    fn shares(&mut self) -> Option<&mut Shares> {
        Some(self)
    }

    fn save(&self, ports: Range<usize>) -> Vec<LinkShares> {
        let saved = |port| LinkShares {
            turns: self.turns(port).to_vec(),
            woken_at: self.woken_at[port],
        };
        ports.map(saved).collect()
    }

    fn restore(&mut self, port: usize, saved: LinkShares) {
        let first = port * self.classes.len();
        self.turns[first..first + self.classes.len()].copy_from_slice(&saved.turns);
        self.woken_at[port] = saved.woken_at;
    }
}
