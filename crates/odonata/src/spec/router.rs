//! Routers and the network interfaces of nodes.

use super::table::{is_default, table};
pub use odonata_run::{
    Arbitration, CreditUse, InjectionOrder, OccupancyCount, Room, SwitchingName,
};

table! {
    /// The router model.
    pub struct Router {
        /// From the arrival of a packet's head at an input to its earliest departure.
        delay_ps: u64 = 50_000 => Notes::DELAY,
        /// Extra delay of a credit, besides the latency of the link on which it returns.
        credit_delay_ps: u64 = 0 => Notes::DELAY,
        /// When a packet takes room in the buffer at the other end of its next link: when it starts
        /// over the link, or already when it starts through the crossbar, so that output buffers only
        /// hold packets that can leave (input-queued routers, such as BookSim's). An ideal crossbar it
        /// passes in no time, as soon as there is room, and leaves its input buffer with that
        /// ([output queues](packet-model.md#output-queues), as the routers of CODES).
        credit_use: CreditUse = CreditUse::Link,
        /// Whether a packet may leave before all of it has arrived.
        switching: SwitchingName = SwitchingName::CutThrough,
        /// With cut-through: bytes that must have arrived before a packet is routed.
        flit_bytes: u64 = 32 => Notes::POSITIVE,
        /// The switch inside the router: `ideal` (never a bottleneck), or the rate of its ports as a
        /// multiple of the fastest link of the router, at least 1.
        crossbar_speedup: Option<f64> = None => Notes {
            key: Some("crossbar"),
            words: &[("ideal", Word::Nothing)],
            called: Some("a speed-up"),
            least: Some(1.0),
            ..Notes::NONE
        },
        /// With a bounded crossbar: output buffer per virtual channel. Default: two packets.
        /// With an ideal crossbar and `credit_use = "crossbar"`: what an output to a node holds, per
        /// virtual channel. Default: the `buffer` of the link.
        output_buffer_bytes: Option<u64> = None => Notes::POSITIVE,
        /// With a bounded crossbar, what routing sees of an output, besides what has been sent and not
        /// credited: the bytes in its buffer, or also those in input queues that have chosen it.
        #[serde(skip_serializing_if = "is_default")]
        occupancy: OccupancyCount = OccupancyCount::Buffered,
        /// Which of several waiting packets goes first: virtual channels take turns, the packet that
        /// was created first, or one of the lowest virtual channel.
        arbitration: Arbitration = Arbitration::RoundRobin,
        /// How much room a packet takes in a buffer: its own size, or that of a whole packet
        /// (`simulation.packet`) whatever its size, as buffers of slots have it. The latter with an
        /// ideal crossbar and `credit_use = "crossbar"` only.
        #[serde(skip_serializing_if = "is_default")]
        room: Room = Room::Bytes,
    }
    refuse "room" when [("room", Test::Is("packets")), ("credit_use", Test::Is("link"))] =>
        "\"bytes\" but with an ideal crossbar and credit_use = \"crossbar\"";
    refuse "occupancy" when [("occupancy", Test::Is("requests")), ("crossbar", Test::Is("ideal"))] =>
        "\"buffered\" with an ideal crossbar, where all that waits counts";
}

table! {
    /// The network interface of a node.
    pub struct Nic {
        /// Order in which a node sends the messages that its ranks have handed over: one packet of
        /// each in turn, or message after message. Decides much where ranks send many messages at once
        /// ([order of injection](packet-model.md#order-of-injection)): `milc` took 20 to 59 % longer
        /// message after message.
        injection: InjectionOrder = InjectionOrder::RoundRobin,
        /// Bandwidth between two ranks of the same node.
        loopback_bandwidth_bytes_per_s: u64 = 16_000_000_000 => Notes::BANDWIDTH,
        /// Latency of a message between two ranks of the same node.
        loopback_latency_ps: u64 = 500_000 => Notes::DELAY,
        /// With `engine = "flow"`: what all messages of one rank together send at most, and what they
        /// receive. So it is where a node has several interfaces and a rank uses some of them. Default:
        /// a rank may have all of its node's link.
        #[serde(skip_serializing_if = "Option::is_none")]
        rank_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
    }
}
