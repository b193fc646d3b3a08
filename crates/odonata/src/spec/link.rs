//! Classes of links.

pub use odonata_network::topology::LinkKind;
use serde::Serialize;

use super::table::table;

table! {
    /// What all links of one class have in common; both directions have the full bandwidth.
    pub struct Link {
        /// Rate of each direction.
        bandwidth_bytes_per_s: u64 = 0 => Notes { needed: true, ..Notes::BANDWIDTH },
        /// Propagation delay of each direction.
        latency_ps: u64 = 0 => Notes { needed: true, least: Some(1.0), ..Notes::DELAY },
        /// Input buffer at the receiving router, per virtual channel. Default: what the link
        /// carries during one round trip (twice its latency, the router delay and the credit
        /// delay), plus four packets.
        buffer_bytes: Option<u64> = None => Notes::POSITIVE,
        /// Kind of the links. Default: the kind that the class's name says, else `local`.
        kind: Option<LinkKind> = None,
    }
}

/// Rate of every link of which nothing is said: networks of all families, and the links between
/// nodes and routers as those between routers, are compared on equal links.
const BANDWIDTH_BYTES_PER_S: u64 = 16 << 30;

impl Link {
    /// The link class of a name that a scenario leaves out.
    pub fn default_for(class: &str) -> Self {
        let usual = match class {
            "global" | "blue" | "level2" | "level3" => UsualLink::Long,
            _ => UsualLink::Short,
        };
        usual.link()
    }
}

/// What a link is like where nothing is said of it: how long it is, as all have one bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum UsualLink {
    /// Within a rack or a few: 30 ns, some 6 m of cable.
    #[serde(rename = "Link")]
    Short,
    /// Across the machine: 300 ns, some 60 m of fibre.
    #[serde(rename = "LongLink")]
    Long,
}

impl UsualLink {
    /// The link.
    pub fn link(self) -> Link {
        Link {
            bandwidth_bytes_per_s: BANDWIDTH_BYTES_PER_S,
            latency_ps: match self {
                Self::Short => 30_000,
                Self::Long => 300_000,
            },
            buffer_bytes: None,
            kind: None::<LinkKind>,
        }
    }
}
