//! An ideal crossbar: what has been routed waits for nothing but its link and room behind it.

use std::ops::Range;

use super::{Entering, Started, Switch};
use crate::engine::model::Model;
use crate::engine::partition::Partition;
use crate::engine::scheduler::Scheduler;
use crate::engine::shared::Shared;

/// Has no state.
pub(in crate::engine) struct Ideal;

impl Switch for Ideal {
    fn new(_: &Shared<'_>, _: Range<u32>, _: usize) -> Self {
        Self
    }

    #[inline(always)]
    fn takes_credits(&self) -> bool {
        false
    }

    #[inline(always)]
    fn enter<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Entering) {
        let Entering {
            router,
            first_port,
            output,
            slot,
            now,
            alone,
            ..
        } = packet;
        let packet = &partition.packets.hot[slot as usize];
        let (size, vc) = (packet.size, packet.out_vc);
        let channel = partition.ports.grid.channel(output, usize::from(vc));
        let state = &mut partition.ports.all[output];
        // One branch for all, as each by itself is unpredictable.
        let at_once = alone
            & !M::Scheduler::CLASSES
            & (state.waiting == 0)
            & (state.free_at <= now)
            & (partition.ports.channels[channel].credits >= size);
        if at_once {
            state.served = vc;
            partition.transmit(router, first_port, output, channel, slot, now);
            return;
        }
        partition.enter_output_queue(output, slot);
        partition.look_at_link(router, first_port, output, now, alone);
    }

    #[inline(always)]
    fn started<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Started) {
        partition.release_input(packet.slot, packet.end);
    }
}
