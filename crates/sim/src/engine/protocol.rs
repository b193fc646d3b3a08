//! End-to-end protocols: when a node may send, by what it hears of what it has sent.

use super::packets::Packet;
use super::port::Port;
use super::shared::Shared;

/// What the sender of a packet is to hear of it.
#[derive(Clone, Copy)]
pub(super) struct Feedback {
    /// When it hears of it; no sooner than the shortest latency between two routers after the
    /// packet's arrival, or it is put off until then.
    pub at: u64,
    /// Up to [`SUBJECT_BITS`](super::payload::SUBJECT_BITS) bits.
    pub what: u32,
}

/// The protocol of a partition's nodes. What it does not say is as without: nodes send as soon
/// as their links are free and routers have room.
pub(super) trait Protocol: Sized + Send {
    /// Whether senders hear of their packets.
    const HEARS: bool = false;

    /// The protocol of so many interfaces.
    fn new(shared: &Shared<'_>, interfaces: usize) -> Self;

    /// When an interface that has sent a packet of so many bytes may start the next, which
    /// without a protocol it may at `earliest`; or [`NEVER`](super::port::NEVER), until it hears
    /// of something.
    #[inline(always)]
    fn next_start(&mut self, _interface: usize, _bytes: u32, earliest: u64) -> u64 {
        earliest
    }

    /// A packet joins those that wait for the link of a port.
    #[inline(always)]
    fn queued(_packet: &mut Packet, _port: &Port) {}

    /// The tail of a packet will reach its node at a time.
    #[inline(always)]
    fn delivered(&mut self, _packet: &Packet, _time: u64) -> Option<Feedback> {
        None
    }

    /// An interface hears of a packet. When it may start its next, if that changes.
    #[inline(always)]
    fn heard(&mut self, _interface: usize, _what: u32, _now: u64) -> Option<u64> {
        None
    }
}

/// None.
pub(super) struct NoProtocol;

impl Protocol for NoProtocol {
    fn new(_: &Shared<'_>, _: usize) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use odonata_load::{Arrivals, OpenLoop, Pattern, Process};
    use odonata_network::routing::{Algorithm, AnyRouting, RoutingSpec};
    use odonata_network::topology::edge_list;
    use odonata_run::{
        Arbitration, CreditUse, Crossbar, Decisions, EngineConfig, InjectionOrder, JobLoad,
        JobPlan, Measurement, MessageRecords, NicModel, OccupancyCount, Progress, Room,
        RouterModel, Switching,
    };
    use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds};

    use super::*;
    use crate::engine::model::Of;
    use crate::engine::port::NEVER;
    use crate::engine::probe::Silent;
    use crate::engine::switch::Ideal;
    use crate::engine::{Call, simulate};

    const BACK: u64 = 10_000_000;

    /// A node has one packet under way, and hears of it 10 us after it has arrived.
    struct OneAtATime {
        under_way: Vec<bool>,
    }

    impl Protocol for OneAtATime {
        const HEARS: bool = true;

        fn new(_: &Shared<'_>, interfaces: usize) -> Self {
            Self {
                under_way: vec![false; interfaces],
            }
        }

        fn next_start(&mut self, interface: usize, _: u32, _: u64) -> u64 {
            assert!(!std::mem::replace(&mut self.under_way[interface], true));
            NEVER
        }

        fn delivered(&mut self, packet: &Packet, time: u64) -> Option<Feedback> {
            Some(Feedback {
                at: time + BACK,
                what: packet.sequence,
            })
        }

        fn heard(&mut self, interface: usize, _: u32, now: u64) -> Option<u64> {
            assert!(std::mem::replace(&mut self.under_way[interface], false));
            Some(now)
        }
    }

    /// Packets of 256 B that two nodes on two routers send each other at 8 GB/s for 1 ms.
    fn delivered<E: Protocol>() -> u64 {
        const RATE: u64 = 8_000_000_000;
        let text = format!(
            "class terminal terminal {RATE} 10000 1024\nclass local local {RATE} 10000 1024\n\
             routers 0 1 group 0\nnodes 1 0\nnodes 1 1\nlink 0 1 local\n"
        );
        let topology = edge_list::import(&text, &[]).expect("two routers");
        let routing = AnyRouting::new(&topology, &RoutingSpec::new(Algorithm::ShortestPath));
        let Ok(AnyRouting::Tabled(routing)) = routing else {
            panic!("shortest paths are in tables");
        };
        let arrivals = Arrivals::from_rate(Bytes(256), RATE as f64, Process::Poisson);
        let load = OpenLoop::new(
            Pattern::UniformRandom,
            arrivals.expect("a rate"),
            Bytes(256),
            2,
        );
        let job = JobPlan {
            name: "all".to_owned(),
            start: Picoseconds(0),
            node_of_rank: vec![NodeId(0), NodeId(1)],
            load: JobLoad::Open(load.expect("a load")),
            protocol: odonata_run::Protocol::default(),
        };
        let config = EngineConfig {
            packet: Bytes(256),
            router: RouterModel {
                delay: Picoseconds(40_000),
                credit_delay: Picoseconds(0),
                credit_use: CreditUse::Link,
                occupancy: OccupancyCount::Buffered,
                switching: Switching::CutThrough { flit: Bytes(8) },
                crossbar: Crossbar::Ideal,
                arbitration: Arbitration::RoundRobin,
                room: Room::Bytes,
                node_room: None,
            },
            nic: NicModel {
                injection: InjectionOrder::RoundRobin,
                loopback_latency: Picoseconds(100_000),
                loopback_bandwidth: Bandwidth::new(RATE).expect("in range"),
            },
            decisions: Decisions::PerPacket,
            virtual_channels: None,
            seed: 1,
            threads: 1,
        };
        let measurement = Measurement {
            warmup: Picoseconds(0),
            duration: Some(Picoseconds(1_000_000_000)),
            timeline_bin: None,
            messages: MessageRecords::None,
            rank_intervals: false,
            traffic: false,
            attribution: false,
            arrivals: None,
        };
        let call = Call {
            topology: &topology,
            config: &config,
            jobs: &[job],
            measurement: &measurement,
            control: None,
            state: None,
            observer: &mut |_: &Progress| ControlFlow::Continue(()),
        };
        let outcome = simulate::<Of<Silent, Ideal, E>>(call, &routing);
        outcome.expect("a run").jobs[0].messages_delivered
    }

    /// Without a protocol the links are the limit: 1 ms of 32 ns packets, but for what a Poisson
    /// source at the whole rate leaves idle. With one packet at a time each takes the 10 us until
    /// its node hears of it after 144 ns on the way: 32 ns of sending, three links of 10 ns, and at
    /// two routers 40 ns and a flit of 1 ns. So the 99th of a node starts after 98 · 10.144 us, and
    /// the 100th would after 1.004 ms.
    #[test]
    fn a_protocol_that_waits_to_hear_of_each_packet_sends_one_per_round_trip() {
        let free = delivered::<NoProtocol>();
        assert!((60_000..=62_500).contains(&free), "{free}");
        assert_eq!(delivered::<OneAtATime>(), 2 * 99);
    }
}
