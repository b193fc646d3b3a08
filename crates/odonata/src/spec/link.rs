//! Classes of links.

pub use odonata_network::topology::LinkKind;
use serde::Serialize;

use super::table::{TableDeclaration, table};

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
        /// Kind of the links. Default: the kind that the file says, or the class's name, else `local`.
        kind: Option<LinkKind> = None,
    }
}

/// Rate of every link of which nothing is said: networks of all families, and the links between
/// nodes and routers as those between routers, are compared on equal links.
const BANDWIDTH_BYTES_PER_S: u64 = 16 << 30;

impl Link {
    /// What users read of a link class: one within a rack, one across the machine, and one of a
    /// wiring file, which may say its kind.
    pub(super) fn declarations() -> [TableDeclaration; 3] {
        let named = |name, usual: UsualLink, text: &str, kinds: bool| {
            let mut table = Self::declaration();
            table.name = name;
            if !text.is_empty() {
                text.clone_into(&mut table.text);
            }
            table.keys.retain(|key| kinds || key.key != "kind");
            for key in &mut table.keys {
                key.needed = false;
                match key.key.as_str() {
                    "bandwidth" => key.default = usual.link().bandwidth_bytes_per_s.into(),
                    "latency" => key.default = usual.link().latency_ps.into(),
                    _ => {}
                }
            }
            table
        };
        let long = "The links between groups, and above level 2 of a fat tree.";
        let wired = "A link class of a wiring file.";
        [
            named(UsualLink::Short.table(), UsualLink::Short, "", false),
            named(UsualLink::Long.table(), UsualLink::Long, long, false),
            named("NamedLink", UsualLink::Short, wired, true),
        ]
    }

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
    /// The name of the table whose defaults are such a link's.
    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Short => "Link",
            Self::Long => "LongLink",
        }
    }

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
