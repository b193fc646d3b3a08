//! Schedulers: which of the virtual channels of a link sends next.

mod shares;

use std::ops::Range;

use odonata_run::Arbitration;

use super::model::Model;
use super::partition::Partition;
use super::shared::Shared;
use super::switch::Switch;

pub(super) use shares::{LinkShares, Ready, Shares, Turn};

/// The scheduler of a partition's links.
pub(super) trait Scheduler: Sized + Send {
    /// Whether there are traffic classes, so that a link may be free, and packets have room at its
    /// other end, and none leaves.
    const CLASSES: bool = false;

    /// The scheduler of so many ports.
    fn new(shared: &Shared<'_>, ports: usize) -> Self;

    /// The virtual channel whose first packet leaves now over a port, if one has credits.
    fn choose<M: Model<Scheduler = Self>>(
        partition: &mut Partition<'_, M>,
        port: usize,
        now: u64,
    ) -> Option<usize>;

    /// Whether something of what waits for a port lacks nothing but room at the other end of its
    /// link, when nothing was chosen.
    #[inline(always)]
    fn lacks_room<M: Model<Scheduler = Self>>(
        _: &Partition<'_, M>,
        _port: usize,
        _now: u64,
    ) -> bool {
        true
    }

    /// When a port is to be looked at because a class may send then, if nothing else makes sure of
    /// that.
    fn pause<M: Model<Scheduler = Self>>(
        _: &mut Partition<'_, M>,
        _port: usize,
        _now: u64,
    ) -> Option<u64> {
        None
    }

    /// The shares, if there are classes.
    fn shares(&mut self) -> Option<&mut Shares> {
        None
    }

    /// What classes have had of links. Shape: `ports`, or empty.
    fn save(&self, _ports: Range<usize>) -> Vec<LinkShares> {
        Vec::new()
    }

    /// Takes that over.
    fn restore(&mut self, _port: usize, _saved: LinkShares) {}
}

/// By the arbitration of the routers: all channels are alike but for what waits in them.
pub(super) struct Arbiter;

/// The first of the waiting channels, a bit each, at least one, after that which was served last.
#[inline(always)]
fn next_after(served: u8, waiting: u16) -> usize {
    let later = waiting & (u16::MAX << served << 1);
    let next = if later != 0 { later } else { waiting };
    next.trailing_zeros() as usize
}

/// The one of the waiting channels of a port, a bit each, whose first packet leaves next by the
/// arbitration of the routers, if one has credits.
#[inline(always)]
fn arbitrate<M: Model>(
    partition: &Partition<'_, M>,
    port: usize,
    mut waiting: u16,
    served: u8,
) -> Option<usize> {
    let channels = port << partition.ports.grid.shift;
    match partition.shared.config.router.arbitration {
        Arbitration::RoundRobin => loop {
            if waiting == 0 {
                break None;
            }
            let vc = next_after(served, waiting);
            let channel = &partition.ports.channels[channels + vc];
            if partition.switch.takes_credits()
                || partition.packets.hot[channel.head as usize].size <= channel.credits
            {
                break Some(vc);
            }
            waiting &= !(1 << vc);
        },
        Arbitration::LowestChannel => loop {
            if waiting == 0 {
                break None;
            }
            let vc = waiting.trailing_zeros() as usize;
            let channel = &partition.ports.channels[channels + vc];
            if partition.switch.takes_credits()
                || partition.packets.hot[channel.head as usize].size <= channel.credits
            {
                break Some(vc);
            }
            waiting &= waiting - 1;
        },
        Arbitration::OldestFirst => {
            let mut best = None;
            while waiting != 0 {
                let vc = waiting.trailing_zeros() as usize;
                waiting &= waiting - 1;
                let channel = &partition.ports.channels[channels + vc];
                let packet = &partition.packets.hot[channel.head as usize];
                let age = (packet.created, packet.sequence, packet.source);
                let may_leave = partition.switch.takes_credits() || packet.size <= channel.credits;
                if may_leave && best.is_none_or(|(oldest, _)| age < oldest) {
                    best = Some((age, vc));
                }
            }
            best.map(|(_, vc)| vc)
        }
        Arbitration::TransitFirst => {
            let mut own = None;
            loop {
                if waiting == 0 {
                    break own;
                }
                let vc = next_after(served, waiting);
                waiting &= !(1 << vc);
                let channel = &partition.ports.channels[channels + vc];
                let packet = &partition.packets.hot[channel.head as usize];
                if partition.switch.takes_credits() || packet.size <= channel.credits {
                    if !partition.classes[packet.upstream_class as usize].terminal {
                        break Some(vc);
                    }
                    own = own.or(Some(vc));
                }
            }
        }
    }
}

impl Scheduler for Arbiter {
    fn new(_: &Shared<'_>, _: usize) -> Self {
        Self
    }

    #[inline(always)]
    fn choose<M: Model<Scheduler = Self>>(
        partition: &mut Partition<'_, M>,
        port: usize,
        _: u64,
    ) -> Option<usize> {
        let state = &partition.ports.all[port];
        arbitrate(partition, port, state.waiting, state.served)
    }
}
