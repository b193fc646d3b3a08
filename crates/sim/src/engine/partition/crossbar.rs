//! Packets at the bounded crossbar.

use odonata_run::Arbitration;

use super::Partition;
use crate::engine::calendar::{Event, Kind};
use crate::engine::packets::NIL;
use crate::engine::payload::{WAKE_INPUT, WAKE_OUTPUT};
use crate::engine::probe::Probe;

/// Which request an output grants.
enum Choice {
    /// The request of the first packet of this FIFO.
    Fifo(usize),
    /// None, for lack of room in the output's buffer or behind its link.
    LacksRoom,
    Nothing,
}

impl<P: Probe> Partition<'_, P> {
    /// A routed packet joins the FIFO of the input on which it arrived.
    pub fn enter_fifo(&mut self, first_port: usize, input: usize, slot: u32) {
        let vcs = self.shared.vcs;
        let packet = &mut self.packets.hot[slot as usize];
        packet.next = NIL;
        let vc = usize::from(packet.lane);
        let output = first_port + usize::from(packet.out_port);
        let crossbar = self.crossbar.as_mut().expect("the crossbar is bounded");
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
        let crossbar = self.crossbar.as_mut().expect("the crossbar is bounded");
        let side = &mut crossbar.sides[input];
        side.input_wake = true;
        let (time, port) = (side.input_free, (input - first_port) as u32);
        self.schedule(Event::new(time, router, Kind::Wake, port, WAKE_INPUT));
    }

    /// The link of `output` has sent its packet: its bytes leave the buffer.
    pub fn release_output(&mut self, output: usize) {
        let vcs = self.shared.vcs;
        let crossbar = self.crossbar.as_mut().expect("the crossbar is bounded");
        let side = &mut crossbar.sides[output];
        crossbar.room[output * vcs + usize::from(side.sending_vc)] += side.sending;
        side.sending = 0;
    }

    /// The link of `output` begins to send `size` bytes from its buffer.
    pub fn occupy_output(
        &mut self,
        router: u32,
        first_port: usize,
        output: usize,
        size: u32,
        vc: u8,
    ) {
        let crossbar = self.crossbar.as_mut().expect("the crossbar is bounded");
        let side = &mut crossbar.sides[output];
        side.sending = size;
        side.sending_vc = vc;
        if crossbar.has_requests(output) {
            self.wake_link(router, first_port, output);
        }
    }

    /// An input of the crossbar is free: what waits there may be granted.
    pub fn wake_input(&mut self, first_port: usize, input: usize) {
        let vcs = self.shared.vcs;
        self.crossbar
            .as_mut()
            .expect("the crossbar is bounded")
            .sides[input]
            .input_wake = false;
        for vc in 0..vcs {
            let slot = self
                .crossbar
                .as_ref()
                .expect("the crossbar is bounded")
                .fifos[input * vcs + vc]
                .0;
            if slot != NIL {
                let output = first_port + usize::from(self.packets.hot[slot as usize].out_port);
                self.touch_crossbar(output);
            }
        }
    }

    /// An output of the crossbar is free.
    pub fn wake_output(&mut self, output: usize) {
        self.crossbar
            .as_mut()
            .expect("the crossbar is bounded")
            .sides[output]
            .output_wake = false;
        self.touch_crossbar(output);
    }

    /// Grants as many requests of `output` as can be granted now: at most one,
    /// since the output is busy then.
    pub fn try_grant(&mut self, router: u32, first_port: usize, output: usize, now: u64) {
        if self.ports.all[output].free_at <= now {
            self.release_output(output);
        }
        let crossbar = self.crossbar.as_mut().expect("the crossbar is bounded");
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
        let crossbar = self.crossbar.as_mut().expect("the crossbar is bounded");
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
        self.credits_at_crossbar && !self.classes[class as usize].terminal
    }

    fn grant(&mut self, router: u32, first_port: usize, output: usize, fifo: usize, now: u64) {
        let shared = self.shared;
        let vcs = shared.vcs;
        let takes_credits = self.takes_credits(output);
        let crossbar = self.crossbar.as_mut().expect("the crossbar is bounded");
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
