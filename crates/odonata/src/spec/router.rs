//! Routers and the network interfaces of nodes.

use super::table::{is_default, table};
use crate::error::SpecError;
use odonata_run::CongestionControl;
pub use odonata_run::TrafficClass;
pub use odonata_run::{
    Arbitration, CreditUse, InjectionOrder, OccupancyCount, Room, SwitchingName,
};

table! {
    /// The router model.
    pub struct Router {
        /// Time from the arrival of a packet's head at an input to the packet's earliest departure.
        delay_ps: u64 = 50_000 => Notes::DELAY,
        /// Delay of a credit in addition to the latency of the link on which it returns.
        credit_delay_ps: u64 = 0 => Notes::DELAY,
        /// When a packet takes a credit, that is, room in the buffer at the other end of its next
        /// link: when it starts over the link (`link`), or already when it starts through the
        /// crossbar (`crossbar`), so that output buffers hold only packets that can leave
        /// (input-queued routers, such as BookSim's). With an ideal crossbar and `crossbar`, a
        /// packet passes the crossbar in no time as soon as there is room, and thereby leaves its
        /// input buffer ([output queues](packet-model.md#output-queues), as in the routers of
        /// CODES).
        credit_use: CreditUse = CreditUse::Link,
        /// Whether a packet may leave before all of it has arrived.
        switching: SwitchingName = SwitchingName::CutThrough,
        /// With cut-through: bytes that must have arrived before a packet is routed.
        flit_bytes: u64 = 32 => Notes::POSITIVE,
        /// The switch inside the router: `ideal` (never a bottleneck), or how fast each of its ports
        /// is: a bandwidth, no lower than that of any link (as SST's `xbar_bw`), or a multiple of
        /// the fastest link of the router, at least 1 (BookSim's `internal_speedup`).
        #[serde(skip_serializing_if = "Option::is_none")]
        crossbar_bandwidth_bytes_per_s: Option<u64> = None => Notes {
            key: Some("crossbar"),
            words: &[("ideal", Word::Nothing)],
            called: Some("a bandwidth"),
            number: Some(OrNumber { key: "crossbar_speedup", called: "a speed-up", least: 1.0, most: None }),
            ..Notes::BANDWIDTH
        },
        /// Set by another key.
        crossbar_speedup: Option<f64> = None => Notes::HIDDEN,
        /// With a bounded crossbar: output buffer per virtual channel. Default: two packets. With
        /// an ideal crossbar and `credit_use = "crossbar"`: how much an output to a node holds per
        /// virtual channel. Default: the `buffer` of the link.
        output_buffer_bytes: Option<u64> = None => Notes::POSITIVE,
        /// With a bounded crossbar: what routing counts as queued at an output: the bytes in its
        /// buffer and those that have been sent and not yet credited (`buffered`), also those in
        /// input queues that have chosen it (`requests`), or those in its buffer alone (`unsent`,
        /// as SST's merlin).
        #[serde(skip_serializing_if = "is_default")]
        occupancy: OccupancyCount = OccupancyCount::Buffered,
        /// Which of several waiting packets goes first: those of the virtual channels in turn
        /// (`round-robin`), the packet that was created first (`oldest-first`), one of the lowest
        /// virtual channel (`lowest-channel`), or packets in transit before packets from the
        /// router's own nodes (`transit-first`).
        arbitration: Arbitration = Arbitration::RoundRobin,
        /// How much room a packet takes in a buffer: its own size (`bytes`), or always that of a
        /// whole packet, `simulation.packet`, as in buffers that are divided into slots
        /// (`packets`). `packets` needs an ideal crossbar and `credit_use = "crossbar"`.
        #[serde(skip_serializing_if = "is_default")]
        room: Room = Room::Bytes,
        /// Classes of traffic, up to 16, each with virtual channels of its own on every link and a
        /// share of it ([traffic classes](congestion-control.md#traffic-classes)). Jobs name theirs
        /// by `traffic_class`.
        #[serde(skip_serializing_if = "is_default")]
        traffic_classes: Vec<TrafficClass> = Vec::new() => Notes { key: Some("traffic_class"), most_entries: Some(16), ..Notes::NONE },
    }
    refuse "room" when [("room", Test::Is("packets")), ("credit_use", Test::Is("link"))] =>
        "\"bytes\" but with an ideal crossbar and credit_use = \"crossbar\"";
    refuse "occupancy" when [("occupancy", Test::IsNot("buffered")), ("crossbar", Test::Is("ideal"))] =>
        "\"buffered\" with an ideal crossbar, where all that waits or has been sent counts";
}

impl Router {
    /// Number of the class of traffic that the key at `path` names.
    pub(crate) fn class_number(
        &self,
        name: &str,
        path: impl FnOnce() -> String,
    ) -> Result<u8, SpecError> {
        let classes = &self.traffic_classes;
        let number = classes.iter().position(|class| class.name == name);
        number.map(|number| number as u8).ok_or_else(|| {
            let known = classes.iter().map(|class| format!("\"{}\"", class.name));
            let allowed = match classes.is_empty() {
                true => "only with classes, [[network.router.traffic_class]]".to_owned(),
                false => known.collect::<Vec<_>>().join(", "),
            };
            SpecError::value(path(), format!("\"{name}\""), allowed)
        })
    }
}

table! {
    /// The network interface of a node.
    pub struct Nic {
        /// Order in which a node sends the messages that its ranks have handed over: one packet of
        /// each in turn (`round-robin`), or message after message (`fifo`). It matters much if
        /// ranks send many messages at once ([order of
        /// injection](packet-model.md#order-of-injection)): `milc` took 20 to 59 % longer with
        /// `fifo`.
        injection: InjectionOrder = InjectionOrder::RoundRobin,
        /// Bandwidth between two ranks of the same node.
        loopback_bandwidth_bytes_per_s: u64 = 16_000_000_000 => Notes::BANDWIDTH,
        /// Latency of a message between two ranks of the same node.
        loopback_latency_ps: u64 = 500_000 => Notes::DELAY,
        /// With `engine = "flow"`: largest rate at which all messages that one rank sends leave
        /// together, and at which all that it receives arrive: for nodes with several interfaces
        /// of which a rank uses only some. Default: a rank may use all of its node's link.
        #[serde(skip_serializing_if = "Option::is_none")]
        rank_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// What keeps a node from sending more than the network takes, besides credits: the name of
        /// a scheme, or a table of its keys ([congestion control](congestion-control.md)). Default:
        /// `none`.
        #[serde(skip_serializing_if = "is_default")]
        congestion_control: CongestionControl = CongestionControl::None => Notes { short: Some("kind"), called: Some("a name"), ..Notes::NONE },
    }
}
