//! Parameters of the flow engine.

use odonata_run::{NicModel, RouterModel};
use odonata_units::{Bandwidth, Bytes, Picoseconds};

/// Parameters of the flow engine.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// Messages are spread over as many paths as they have packets of this size, up
    /// to `paths`; nothing else is cut.
    pub packet: Bytes,
    /// Paths drawn for a message at most, at least 1.
    pub paths: u32,
    /// Rates are brought up to date at multiples of this, at least 1 ps, which is
    /// always; see [`Transfers::settling_every`](crate::Transfers::settling_every).
    pub settle: Picoseconds,
    /// Routers: their delay and way of switching make the latency of messages.
    pub router: RouterModel,
    /// Network interfaces; flows know [`CongestionControl::None`](odonata_run::CongestionControl::None)
    /// and schemes that keep every pair at its fair share.
    pub nic: NicModel,
    /// Most that one rank sends, and most that it receives, over all of its messages: its share
    /// of the node's interfaces. `None`: all of them.
    pub rank_bandwidth: Option<Bandwidth>,
    /// Seed of every random stream.
    pub seed: u64,
}
