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

impl Link {
    /// The link class of a name that a scenario leaves out. Bandwidths are those
    /// of a Cray XC40 as the CODES project models it: 16 GiB/s into the network,
    /// 5.25 GiB/s per electrical and 4.69 GiB/s per optical link.
    pub fn default_for(class: &str) -> Self {
        let usual = match class {
            "terminal" => UsualLink::Terminal,
            "global" | "blue" => UsualLink::Global,
            _ => UsualLink::Electrical,
        };
        usual.link()
    }
}

/// What a link is like where nothing is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum UsualLink {
    /// An electrical link of a Cray XC.
    #[serde(rename = "Link")]
    Electrical,
    /// A link between a node and its router.
    #[serde(rename = "TerminalLink")]
    Terminal,
    /// An optical link of a Cray XC.
    #[serde(rename = "GlobalLink")]
    Global,
    /// A link above the leaves of a fat tree.
    #[serde(rename = "FatTreeLink")]
    FatTree,
    /// A link above another level of a fat tree.
    #[serde(rename = "FatTreeUpperLink")]
    FatTreeUpper,
}

impl UsualLink {
    /// The link.
    pub fn link(self) -> Link {
        let (bandwidth_bytes_per_s, latency_ps) = match self {
            Self::Electrical => (5_637_144_576, 30_000),
            Self::Terminal | Self::FatTree => (17_179_869_184, 30_000),
            Self::Global => (5_035_849_155, 300_000),
            Self::FatTreeUpper => (17_179_869_184, 300_000),
        };
        Link {
            bandwidth_bytes_per_s,
            latency_ps,
            buffer_bytes: None,
            kind: None::<LinkKind>,
        }
    }
}
