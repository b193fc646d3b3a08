//! The bounded crossbar: input FIFOs, a switch of finite speed, output buffers.
//!
//! An input and an output of the switch each pass one packet at a time. The
//! first packet of an input FIFO requests its output; an output grants one
//! request when it is free, the input is free, and its buffer has room.

use std::ops::Range;

use odonata_run::encoding::or_absent;
use odonata_run::memory::filled;
use odonata_run::{Arbitration, CreditUse, Crossbar, CrossbarRate, OccupancyCount};
use odonata_units::Bandwidth;

use serde::{Deserialize, Serialize};

use super::{EMPTY, Entering, Held, Started, Switch};
use crate::engine::calendar::{Event, Kind};
use crate::engine::model::Model;
use crate::engine::packets::{NIL, Packet};
use crate::engine::partition::Partition;
use crate::engine::partition::view::Waiting;
use crate::engine::payload::{WAKE_INPUT, WAKE_OUTPUT};
use crate::engine::port::{Grid, PORTS};
use crate::engine::shared::{Rate, Shared, fastest_link};
use crate::engine::table::Table;

/// Who asks for memory: a bit for each pair of ports of a router, and channel.
const REQUESTS: &str = "requests at the crossbars of routers with so many ports";

/// A port of the crossbar, on both its sides.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::engine) struct Side {
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
pub(in crate::engine) struct Bounded {
    /// Shape: router ports.
    sides: Table<Side>,
    /// First and last packet of each input FIFO. Shape: router ports × channels.
    fifos: Table<(u32, u32)>,
    vcs: usize,
    /// Size of an output buffer, and free bytes of each. Shape: router ports × channels.
    output_buffer: u64,
    room: Table<u32>,
    /// Per output one bit per FIFO of its router that requests it.
    /// Shape: router ports × words.
    requests: Table<u64>,
    words: usize,
    /// Input of each FIFO, both counted within their router. Shape: most ports of a router ×
    /// channels.
    input_of_fifo: Table<u16>,
    /// Rate of a crossbar port. Shape: routers.
    rate: Table<Rate>,
    /// Whether packets take credits as they pass.
    takes_credits: bool,
    /// Outputs to be looked at when all events of this moment have been seen.
    touched: Vec<u32>,
    /// Whether packets in FIFOs count as occupancy of the output that they request.
    counts_requests: bool,
    /// Whether what has been sent counts until it is credited.
    counts_sent: bool,
}

impl Switch for Bounded {
    const HAS_FIFOS: bool = true;

    fn new(shared: &Shared<'_>, routers: Range<u32>, _: usize) -> Self {
        let Crossbar::Bounded {
            rate,
            output_buffer,
        } = shared.config.router.crossbar
        else {
            unreachable!("the crossbar is another");
        };
        let topology = shared.topology;
        let routers = routers.start as usize..routers.end as usize;
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
        Self {
            sides: filled(Side::IDLE, count, PORTS).into(),
            fifos: filled(EMPTY, count * shared.vcs, PORTS).into(),
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
            takes_credits: shared.config.router.credit_use == CreditUse::Crossbar,
            touched: Vec::with_capacity(256),
            counts_requests: shared.config.router.occupancy == OccupancyCount::Requests,
            counts_sent: shared.config.router.occupancy != OccupancyCount::Unsent,
        }
    }

    #[inline(always)]
    fn takes_credits(&self) -> bool {
        self.takes_credits
    }

    fn enter<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Entering) {
        partition.enter_fifo(packet.first_port, packet.input, packet.slot);
    }

    fn credited<M: Model<Switch = Self>>(
        partition: &mut Partition<'_, M>,
        port: usize,
        _: usize,
        _: u64,
    ) {
        if partition.switch.takes_credits {
            partition.touch_crossbar(port);
        }
    }

    fn link_woken<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, port: usize) {
        partition.touch_crossbar(port);
    }

    fn woken<M: Model<Switch = Self>>(
        partition: &mut Partition<'_, M>,
        first_port: usize,
        port: usize,
        payload: u32,
    ) {
        match payload {
            WAKE_INPUT => partition.wake_input(first_port, port),
            _ => partition.wake_output(port),
        }
    }

    #[inline(always)]
    fn settle<M: Model<Switch = Self>>(
        partition: &mut Partition<'_, M>,
        router: u32,
        first_port: usize,
        now: u64,
    ) {
        if !partition.switch.touched.is_empty() {
            partition.settle_touched_crossbar(router, first_port, now);
        }
    }

    /// The packet that it sent leaves the buffer.
    #[inline(always)]
    fn link_free<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, port: usize) {
        partition.release_output(port);
    }

    #[inline(always)]
    fn started<M: Model<Switch = Self>>(partition: &mut Partition<'_, M>, packet: Started) {
        partition.occupy_output(packet);
    }

    #[inline(always)]
    fn counts_sent(&self) -> bool {
        self.counts_sent
    }

    fn waiting(&self, first_port: usize) -> Waiting<'_> {
        // What has taken credits is in the buffer or has been sent.
        match (self.counts_requests, self.takes_credits && self.counts_sent) {
            (true, _) => Waiting::Promised,
            (false, true) => Waiting::Nothing,
            (false, false) => Waiting::Buffered(self, first_port),
        }
    }

    fn held(&self, _: Grid, port: usize, vc: usize) -> Option<Held> {
        let place = port * self.vcs + vc;
        Some(Held {
            first: self.fifos[place].0,
            room: self.room[place],
        })
    }

    fn restore<M: Model<Switch = Self>>(
        partition: &mut Partition<'_, M>,
        first_port: usize,
        (port, vc): (usize, usize),
        slots: &[u32],
        room: u32,
    ) {
        let crossbar = &mut partition.switch;
        let place = port * crossbar.vcs + vc;
        crossbar.room[place] = room;
        let (Some(&first), Some(&last)) = (slots.first(), slots.last()) else {
            return;
        };
        crossbar.fifos[place] = (first, last);
        let output = first_port + usize::from(partition.packets.hot[first as usize].out_port);
        crossbar.request(output, place - first_port * crossbar.vcs, true);
    }

    fn sides(&self, ports: Range<usize>) -> &[Side] {
        &self.sides[ports]
    }

    fn restore_sides(&mut self, ports: Range<usize>, saved: &[Side]) {
        self.sides[ports].copy_from_slice(saved);
    }

    fn output_buffer(&self) -> Option<u64> {
        Some(self.output_buffer)
    }
}

impl Bounded {
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

    /// Whether a packet may pass to `output`: its buffer has room and, where the
    /// crossbar takes the `credits` of that channel, they suffice.
    fn has_room(&self, vcs: usize, output: usize, packet: &Packet, credits: Option<u32>) -> bool {
        self.room[output * vcs + usize::from(packet.out_vc)] >= packet.size
            && credits.is_none_or(|credits| credits >= packet.size)
    }

    fn request(&mut self, output: usize, fifo: usize, on: bool) {
        let word = &mut self.requests[output * self.words + fifo / 64];
        if on {
            *word |= 1 << (fifo % 64);
        } else {
            *word &= !(1 << (fifo % 64));
        }
    }

    fn has_requests(&self, output: usize) -> bool {
        let first = output * self.words;
        (first..first + self.words).any(|word| self.requests[word] != 0)
    }

    /// The first request of `output` at or after `from`.
    #[inline(always)]
    fn next_request(&self, output: usize, from: usize) -> Option<usize> {
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
    fn input_of(&self, fifo: usize) -> usize {
        usize::from(self.input_of_fifo[fifo])
    }
}

/// Which request an output grants.
enum Choice {
    /// The request of the first packet of this FIFO.
    Fifo(usize),
    /// None, for lack of room in the output's buffer or behind its link.
    LacksRoom,
    Nothing,
}

impl<M: Model<Switch = Bounded>> Partition<'_, M> {
    fn settle_touched_crossbar(&mut self, router: u32, first_port: usize, now: u64) {
        let mut index = 0;
        while index < self.switch.touched.len() {
            let output = self.switch.touched[index] as usize;
            self.try_grant(router, first_port, output, now);
            index += 1;
        }
        self.switch.touched.clear();
    }

    /// Marks an output to be looked at when all events of this moment have been seen.
    fn touch_crossbar(&mut self, output: usize) {
        self.switch.touched.push(output as u32);
    }

    /// A routed packet joins the FIFO of the input on which it arrived.
    fn enter_fifo(&mut self, first_port: usize, input: usize, slot: u32) {
        let vcs = self.shared.vcs;
        let packet = &mut self.packets.hot[slot as usize];
        packet.next = NIL;
        let vc = usize::from(packet.lane);
        let output = first_port + usize::from(packet.out_port);
        let crossbar = &mut self.switch;
        if crossbar.counts_requests {
            self.ports.all[output].queued += packet.size;
        }
        let fifo = &mut crossbar.fifos[input * vcs + vc];
        let first = fifo.0 == NIL;
        if first {
            *fifo = (slot, slot);
            crossbar.request(output, (input - first_port) * vcs + vc, true);
        } else {
            self.packets.hot[fifo.1 as usize].next = slot;
            fifo.1 = slot;
        }
        let side = crossbar.sides[input];
        if side.input_free > self.now && !side.input_wake {
            self.wake_input_when_free(self.window.router, first_port, input);
        }
        if first {
            self.touch_crossbar(output);
        }
    }

    /// An input at which a packet waits becomes free later: it is woken then.
    fn wake_input_when_free(&mut self, router: u32, first_port: usize, input: usize) {
        let crossbar = &mut self.switch;
        let side = &mut crossbar.sides[input];
        side.input_wake = true;
        let (time, port) = (side.input_free, (input - first_port) as u32);
        self.schedule(Event::new(time, router, Kind::Wake, port, WAKE_INPUT));
    }

    /// The link of `output` has sent its packet: its bytes leave the buffer.
    fn release_output(&mut self, output: usize) {
        let vcs = self.shared.vcs;
        let crossbar = &mut self.switch;
        let side = &mut crossbar.sides[output];
        crossbar.room[output * vcs + usize::from(side.sending_vc)] += side.sending;
        side.sending = 0;
    }

    /// The link of `output` begins to send `size` bytes from its buffer.
    #[inline(always)]
    fn occupy_output(&mut self, packet: Started) {
        let Started {
            router,
            first_port,
            output,
            size,
            vc,
            ..
        } = packet;
        let crossbar = &mut self.switch;
        let side = &mut crossbar.sides[output];
        side.sending = size;
        side.sending_vc = vc;
        if crossbar.has_requests(output) {
            self.wake_link(router, first_port, output);
        }
    }

    /// An input of the crossbar is free: what waits there may be granted.
    fn wake_input(&mut self, first_port: usize, input: usize) {
        let vcs = self.shared.vcs;
        self.switch.sides[input].input_wake = false;
        for vc in 0..vcs {
            let slot = self.switch.fifos[input * vcs + vc].0;
            if slot != NIL {
                let output = first_port + usize::from(self.packets.hot[slot as usize].out_port);
                self.touch_crossbar(output);
            }
        }
    }

    /// An output of the crossbar is free.
    fn wake_output(&mut self, output: usize) {
        self.switch.sides[output].output_wake = false;
        self.touch_crossbar(output);
    }

    /// Grants as many requests of `output` as can be granted now: at most one,
    /// since the output is busy then.
    fn try_grant(&mut self, router: u32, first_port: usize, output: usize, now: u64) {
        if self.ports.all[output].free_at <= now {
            self.release_output(output);
        }
        let crossbar = &mut self.switch;
        if !crossbar.has_requests(output) {
            return;
        }
        if crossbar.sides[output].output_free > now {
            let side = &mut crossbar.sides[output];
            if !side.output_wake {
                side.output_wake = true;
                let time = side.output_free;
                let event = Event::new(
                    time,
                    router,
                    Kind::Wake,
                    (output - first_port) as u32,
                    WAKE_OUTPUT,
                );
                self.schedule(event);
            }
            return;
        }
        match self.choose_request(first_port, output, now) {
            Choice::Fifo(fifo) => self.grant(router, first_port, output, fifo, now),
            Choice::LacksRoom if self.ports.all[output].free_at > now => {
                self.wake_link(router, first_port, output);
            }
            Choice::LacksRoom | Choice::Nothing => {}
        }
    }

    /// The request of `output` that may be granted and is next by the arbitration.
    #[inline(always)]
    fn choose_request(&mut self, first_port: usize, output: usize, now: u64) -> Choice {
        let shared = self.shared;
        let vcs = shared.vcs;
        let takes_credits = self.takes_credits(output);
        let (channels, first_channel) = (&self.ports.channels, output << self.ports.grid.shift);
        let credits =
            |vc: u8| takes_credits.then(|| channels[first_channel + usize::from(vc)].credits);
        let crossbar = &mut self.switch;
        let limit = crossbar.words * 64;
        let first_fifo = first_port * vcs;
        let after = crossbar.sides[output].granted as usize + 1;
        let mut from = after;
        let mut wrapped = false;
        let mut lacks_room = false;
        // Channels on which nothing may be granted, one bit each.
        let mut barred = 0u16;
        let mut chosen: Option<((u64, u32, u32), usize)> = None;
        let short = crossbar.sides[output].short as usize;
        if short != NIL as usize {
            let input = first_port + crossbar.input_of(short);
            let packet = &self.packets.hot[crossbar.fifos[first_fifo + short].0 as usize];
            lacks_room = !crossbar.has_room(vcs, output, packet, credits(packet.out_vc));
            if !lacks_room && crossbar.sides[input].input_free <= now {
                crossbar.sides[output].short = NIL;
                return Choice::Fifo(short);
            }
            barred = 1 << packet.out_vc;
        }
        loop {
            let Some(fifo) = crossbar
                .next_request(output, from)
                .filter(|&fifo| !wrapped || fifo < after)
            else {
                if wrapped {
                    break;
                }
                wrapped = true;
                from = 0;
                continue;
            };
            from = fifo + 1;
            let input = first_port + crossbar.input_of(fifo);
            let packet = &self.packets.hot[crossbar.fifos[first_fifo + fifo].0 as usize];
            if crossbar.sides[input].input_free > now {
                // The input's own wake-up tries again: a packet waits at it, so one is pending.
                continue;
            }
            if barred & (1 << packet.out_vc) != 0 {
                continue;
            }
            if !crossbar.has_room(vcs, output, packet, credits(packet.out_vc)) {
                lacks_room = true;
                // A packet of a node gives way to all others, also where it lacks room.
                let class = &self.classes[packet.upstream_class as usize];
                if shared.config.router.arbitration == Arbitration::TransitFirst && class.terminal {
                    continue;
                }
                barred |= 1 << packet.out_vc;
                if crossbar.sides[output].short == NIL {
                    crossbar.sides[output].short = fifo as u32;
                }
                continue;
            }
            // The least goes first, and of equals the next in turn.
            let (order, least) = match shared.config.router.arbitration {
                Arbitration::RoundRobin | Arbitration::LowestChannel => ((0, 0, 0), true),
                Arbitration::OldestFirst => {
                    ((packet.created, packet.sequence, packet.source), false)
                }
                Arbitration::TransitFirst => {
                    let class = &self.classes[packet.upstream_class as usize];
                    ((u64::from(class.terminal), 0, 0), !class.terminal)
                }
            };
            if chosen.is_none_or(|(first, _)| order < first) {
                chosen = Some((order, fifo));
            }
            if least || from >= limit && wrapped {
                break;
            }
        }
        match chosen {
            Some((_, fifo)) => Choice::Fifo(fifo),
            None if lacks_room => Choice::LacksRoom,
            None => Choice::Nothing,
        }
    }

    /// Whether packets take the credits of this output's link at the crossbar. A
    /// node takes everything, so that the links to nodes need none.
    fn takes_credits(&self, output: usize) -> bool {
        let class = self.ports.all[output].class;
        self.switch.takes_credits && !self.classes[class as usize].terminal
    }

    fn grant(&mut self, router: u32, first_port: usize, output: usize, fifo: usize, now: u64) {
        let shared = self.shared;
        let vcs = shared.vcs;
        let takes_credits = self.takes_credits(output);
        let crossbar = &mut self.switch;
        let input = first_port + crossbar.input_of(fifo);
        let queue = &mut crossbar.fifos[first_port * vcs + fifo];
        let slot = queue.0;
        let packet = &mut self.packets.hot[slot as usize];
        queue.0 = packet.next;
        let following = queue.0;
        let rate = crossbar.rate[router as usize];
        let size = packet.size;
        let mut end = now + rate.duration(size, shared.packet).max(1);
        if let Some(flit) = shared.flit {
            end = end.max(packet.tail + shared.delay + rate.first_flit_duration(size, flit));
        }
        // The link will not end before the crossbar, nor before the tail's last
        // flit has arrived and gone out at the link's own rate; it adds delay and
        // flit to the tail, which have passed here already.
        let class = &shared.classes[self.ports.all[output].class as usize];
        let flit = shared
            .flit
            .map_or(0, |flit| class.rate.first_flit_duration(size, flit));
        packet.tail = packet.tail.max(end.saturating_sub(shared.delay + flit));
        packet.next = NIL;
        if crossbar.counts_requests {
            // It counts again as it enters the output's buffer.
            self.ports.all[output].queued -= packet.size;
        }
        crossbar.room[output * vcs + usize::from(packet.out_vc)] -= packet.size;
        if takes_credits {
            let channel = self.ports.grid.channel(output, usize::from(packet.out_vc));
            self.ports.channels[channel].credits -= packet.size;
            if let Some(promised) = self.ports.promised.get_mut(channel) {
                *promised -= packet.size;
            }
        }
        crossbar.request(output, fifo, false);
        crossbar.sides[output].granted = fifo as u32;
        crossbar.sides[output].output_free = end;
        crossbar.sides[input].input_free = end;
        if following != NIL {
            let next_output =
                first_port + usize::from(self.packets.hot[following as usize].out_port);
            crossbar.request(next_output, fifo, true);
        }
        // Those that join the FIFOs of this input later wake it themselves.
        let waits = (input * vcs..(input + 1) * vcs).any(|fifo| crossbar.fifos[fifo].0 != NIL);
        let more = crossbar.has_requests(output) && !crossbar.sides[output].output_wake;
        crossbar.sides[output].output_wake |= more;
        if waits {
            self.wake_input_when_free(router, first_port, input);
        }
        if more {
            self.schedule(Event::new(
                end,
                router,
                Kind::Wake,
                (output - first_port) as u32,
                WAKE_OUTPUT,
            ));
        }
        self.release_input(slot, end);
        self.enter_output_queue(output, slot);
        self.try_send(router, first_port, output, now);
    }
}
