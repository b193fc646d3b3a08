//! Output queues behind an ideal crossbar: packets take room at the other end of their link
//! before they join the queue of the output, and leave their input buffer with that.

use odonata_run::memory::filled;

use super::packets::NIL;
use super::port::PORTS;

/// The packets of a partition that have been routed and lack room.
pub(super) struct Handover {
    /// First and last packet for each channel of each router port, in the order in which they
    /// came. Shape as of `Partition::channels`.
    pub held: Vec<(u32, u32)>,
}

impl Handover {
    pub fn new(channels: usize) -> Self {
        Self {
            held: filled((NIL, NIL), channels, PORTS),
        }
    }

    /// First packet that lacks room on a channel.
    pub fn first(&self, channel: usize) -> u32 {
        self.held[channel].0
    }

    /// Puts a queue of packets in place of an empty one.
    pub fn restore(&mut self, channel: usize, slots: &[u32]) {
        if let (Some(&first), Some(&last)) = (slots.first(), slots.last()) {
            self.held[channel] = (first, last);
        }
    }
}
