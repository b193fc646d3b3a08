//! Schedulers: which of the virtual channels of a link sends next.

use odonata_run::Arbitration;

use super::model::Model;
use super::partition::Partition;
use super::shared::Shared;
use super::switch::Switch;

/// The scheduler of a partition's links.
pub(super) trait Scheduler: Sized + Send {
    /// The scheduler of so many ports.
    fn new(shared: &Shared<'_>, ports: usize) -> Self;

    /// The virtual channel whose first packet leaves next over a port, if one has credits.
    fn choose<M: Model<Scheduler = Self>>(
        partition: &Partition<'_, M>,
        port: usize,
    ) -> Option<usize>;

    /// A packet starts over the link of a port.
    #[inline(always)]
    fn sent(&mut self, _port: usize, _vc: u8, _bytes: u32) {}
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

impl Scheduler for Arbiter {
    fn new(_: &Shared<'_>, _: usize) -> Self {
        Self
    }

    #[inline(always)]
    fn choose<M: Model<Scheduler = Self>>(
        partition: &Partition<'_, M>,
        port: usize,
    ) -> Option<usize> {
        let state = &partition.ports.all[port];
        let channels = port << partition.ports.grid.shift;
        let mut waiting = state.waiting;
        match partition.shared.config.router.arbitration {
            Arbitration::RoundRobin => loop {
                if waiting == 0 {
                    break None;
                }
                let vc = next_after(state.served, waiting);
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
                    let may_leave =
                        partition.switch.takes_credits() || packet.size <= channel.credits;
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
                    let vc = next_after(state.served, waiting);
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
}
