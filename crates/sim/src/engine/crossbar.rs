//! The bounded crossbar: input FIFOs, a switch of finite speed, output buffers.
//!
//! An input and an output of the switch each pass one packet at a time. The
//! first packet of an input FIFO requests its output; an output grants one
//! request when it is free, the input is free, and its buffer has room.

use odonata_run::encoding::or_absent;
use odonata_run::memory::filled;
use odonata_run::{Crossbar, CrossbarRate, OccupancyCount};
use odonata_units::Bandwidth;

use serde::{Deserialize, Serialize};

use super::packets::{NIL, Packet};
use super::port::PORTS;
use super::shared::{Rate, Shared, fastest_link};
use super::table::Table;

/// Who asks for memory: a bit for each pair of ports of a router, and channel.
const REQUESTS: &str = "requests at the crossbars of routers with so many ports";

/// A port of the crossbar, on both its sides.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Side {
    pub input_free: u64,
    pub output_free: u64,
    /// Bytes and channel of the packet that the link is sending: they leave
    /// the output buffer when the link is free again.
    pub sending: u32,
    pub sending_vc: u8,
    pub input_wake: bool,
    pub output_wake: bool,
    /// Request that was granted last.
    pub granted: u32,
    /// Request whose turn came when the output's buffer had no room for it, or
    /// [`NIL`]: no other on its channel is granted before, for smaller packets
    /// could take the room again and again.
    #[serde(with = "or_absent")]
    pub short: u32,
}

impl Side {
    const IDLE: Self = Self {
        input_free: 0,
        output_free: 0,
        sending: 0,
        sending_vc: 0,
        input_wake: false,
        output_wake: false,
        granted: 0,
        short: NIL,
    };
}

/// State of all crossbars of a partition.
pub(super) struct BoundedCrossbar {
    /// Shape: router ports.
    pub sides: Table<Side>,
    /// First and last packet of each input FIFO. Shape: router ports × channels.
    pub fifos: Table<(u32, u32)>,
    vcs: usize,
    /// Size of an output buffer, and free bytes of each. Shape: router ports × channels.
    output_buffer: u64,
    pub room: Table<u32>,
    /// Per output one bit per FIFO of its router that requests it.
    /// Shape: router ports × words.
    requests: Table<u64>,
    pub words: usize,
    /// Input of each FIFO, both counted within their router. Shape: most ports of a router ×
    /// channels.
    input_of_fifo: Table<u16>,
    /// Rate of a crossbar port. Shape: routers.
    pub rate: Table<Rate>,
    /// Whether packets in FIFOs count as occupancy of the output that they request.
    pub counts_requests: bool,
}

impl BoundedCrossbar {
    /// `None` if the crossbar is ideal.
    pub fn new(shared: &Shared<'_>, base_router: u32, end_router: u32) -> Option<Self> {
        let Crossbar::Bounded {
            rate,
            output_buffer,
        } = shared.config.router.crossbar
        else {
            return None;
        };
        let topology = shared.topology;
        let routers = base_router as usize..end_router as usize;
        let ports = |router: usize| {
            topology.first_port[router] as usize..topology.first_port[router + 1] as usize
        };
        let radix = routers
            .clone()
            .map(|router| ports(router).len())
            .max()
            .unwrap_or(0);
        let count: usize = routers.clone().map(|router| ports(router).len()).sum();
        let words = (radix * shared.vcs).div_ceil(64);
        let rate: Vec<Rate> = routers
            .map(|router| {
                let bandwidth = match rate {
                    CrossbarRate::Fixed(bandwidth) => bandwidth,
                    CrossbarRate::Speedup(speedup) => {
                        let fastest = fastest_link(topology, router)
                            .map_or(1_000, |class| class.bandwidth.bytes_per_second());
                        let rate = (fastest as f64 * speedup).round().min(1e15) as u64;
                        Bandwidth::new(rate).expect("at least as fast as a link")
                    }
                };
                Rate::new(
                    bandwidth,
                    u64::from(shared.packet),
                    shared.flit.map(u64::from),
                )
            })
            .collect();
        Some(Self {
            sides: filled(Side::IDLE, count, PORTS).into(),
            fifos: filled((NIL, NIL), count * shared.vcs, PORTS).into(),
            vcs: shared.vcs,
            output_buffer: output_buffer.0,
            room: filled(output_buffer.0 as u32, count * shared.vcs, PORTS).into(),
            requests: filled(0, count.saturating_mul(words), REQUESTS).into(),
            words,
            input_of_fifo: (0..radix * shared.vcs)
                .map(|fifo| (fifo / shared.vcs) as u16)
                .collect::<Vec<_>>()
                .into(),
            rate: rate.into(),
            counts_requests: shared.config.router.occupancy == OccupancyCount::Requests,
        })
    }

    /// Bytes that the output buffer of a channel holds.
    pub fn output_buffer(&self) -> u64 {
        self.output_buffer
    }

    /// Bytes that wait for the link in an output's buffer, without those that it is sending.
    pub fn queued(&self, output: usize, vc: u8) -> u32 {
        let side = &self.sides[output];
        let leaving = if side.sending_vc == vc {
            side.sending
        } else {
            0
        };
        self.output_buffer as u32 - self.room[output * self.vcs + usize::from(vc)] - leaving
    }

    /// First packet of the FIFO with index `channel`.
    pub fn first(&self, channel: usize) -> u32 {
        self.fifos[channel].0
    }

    /// Whether a packet may pass to `output`: its buffer has room and, where the
    /// crossbar takes the `credits` of that channel, they suffice.
    pub fn has_room(
        &self,
        vcs: usize,
        output: usize,
        packet: &Packet,
        credits: Option<u32>,
    ) -> bool {
        self.room[output * vcs + usize::from(packet.out_vc)] >= packet.size
            && credits.is_none_or(|credits| credits >= packet.size)
    }

    /// Puts a queue of packets, which have been routed, into the FIFO with
    /// index `channel` of a crossbar that has just been built.
    pub fn restore_fifo(
        &mut self,
        packets: &[Packet],
        first_port: usize,
        vcs: usize,
        channel: usize,
        slots: &[u32],
    ) {
        let (Some(&first), Some(&last)) = (slots.first(), slots.last()) else {
            return;
        };
        self.fifos[channel] = (first, last);
        let output = first_port + usize::from(packets[first as usize].out_port);
        self.request(output, channel - first_port * vcs, true);
    }

    pub fn request(&mut self, output: usize, fifo: usize, on: bool) {
        let word = &mut self.requests[output * self.words + fifo / 64];
        if on {
            *word |= 1 << (fifo % 64);
        } else {
            *word &= !(1 << (fifo % 64));
        }
    }

    pub fn has_requests(&self, output: usize) -> bool {
        let first = output * self.words;
        (first..first + self.words).any(|word| self.requests[word] != 0)
    }

    /// The first request of `output` at or after `from`.
    #[inline(always)]
    pub fn next_request(&self, output: usize, from: usize) -> Option<usize> {
        let first = output * self.words;
        let mut word = from / 64;
        let mut kept = u64::MAX << (from % 64);
        while word < self.words {
            let requests = self.requests[first + word] & kept;
            if requests != 0 {
                return Some(word * 64 + requests.trailing_zeros() as usize);
            }
            word += 1;
            kept = u64::MAX;
        }
        None
    }

    /// Input, counted within its router, of a FIFO, counted likewise.
    #[inline(always)]
    pub fn input_of(&self, fifo: usize) -> usize {
        usize::from(self.input_of_fifo[fifo])
    }
}
