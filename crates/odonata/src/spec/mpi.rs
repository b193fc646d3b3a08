//! How ranks send and receive.

pub use odonata_run::Completion;
use std::collections::BTreeMap;

use odonata_load::collective::Family;
use serde::{Deserialize, Serialize};

use super::is_default;

/// The parameters of LogGPS that are not the network's; see
/// [`odonata_run::Protocol`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mpi {
    /// Longer messages between nodes ask first; none does if it is absent.
    pub eager_limit_bytes: Option<u64>,
    /// When such a message is complete at its sender. Left out of scenarios of old, which
    /// are known by their text, where it is what it always was.
    #[serde(skip_serializing_if = "is_default")]
    pub rendezvous_completion: Completion,
    /// Size of a request, grant or FIN.
    pub control_message_bytes: u64,
    /// How long a rank is busy with a message that it sends.
    pub send_overhead_ps: u64,
    /// The same with a message, or a request, that it receives.
    pub receive_overhead_ps: u64,
    /// How long an interface sends nothing after a message.
    pub gap_ps: u64,
    /// Time between a rank's handing a message over and its interface's having it; left out
    /// likewise.
    #[serde(skip_serializing_if = "is_default")]
    pub send_delay_ps: u64,
    /// The same by size, besides, as points of bytes and picoseconds; left out likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delay_times: Vec<(u64, u64)>,
    /// Rate at which ranks copy messages; absent: in no time.
    pub copy_bandwidth_bytes_per_s: Option<u64>,
    /// Points of a message's size in bytes and the picoseconds that it costs either rank,
    /// besides; left out likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_times: Vec<(u64, u64)>,
    /// What messages between ranks of one node cost instead; left out likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_node: Option<WithinNode>,
    /// How collectives are carried out.
    pub collectives: Collectives,
}

/// What messages between two ranks of one node cost them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WithinNode {
    /// How long a rank is busy with a message that it sends.
    pub send_overhead_ps: u64,
    /// The same with a message that it receives.
    pub receive_overhead_ps: u64,
    /// Points of a message's size in bytes and the picoseconds that it costs either rank,
    /// besides.
    pub host_times: Vec<(u64, u64)>,
}

impl Default for Mpi {
    /// Nothing takes time, no message asks.
    fn default() -> Self {
        Self {
            eager_limit_bytes: None,
            rendezvous_completion: Completion::default(),
            control_message_bytes: 64,
            send_overhead_ps: 0,
            receive_overhead_ps: 0,
            gap_ps: 0,
            send_delay_ps: 0,
            delay_times: Vec::new(),
            copy_bandwidth_bytes_per_s: None,
            host_times: Vec::new(),
            within_node: None,
            collectives: Collectives::default(),
        }
    }
}

/// How collectives are carried out; see [`odonata_load::collective::Algorithms`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Collectives {
    /// Whose rules choose where no algorithm is named.
    pub family: Family,
    /// Rate at which ranks combine data; absent: in no time.
    pub combine_bandwidth_bytes_per_s: Option<u64>,
    /// Size of segments where an algorithm with segments is named.
    pub segment_bytes: u64,
    /// Names of algorithms, by operation.
    pub algorithms: BTreeMap<String, String>,
}

impl Default for Collectives {
    fn default() -> Self {
        Self {
            family: Family::Mpich,
            combine_bandwidth_bytes_per_s: None,
            segment_bytes: 32 * 1024,
            algorithms: BTreeMap::new(),
        }
    }
}
