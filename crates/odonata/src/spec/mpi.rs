//! How ranks send and receive.

use std::collections::BTreeMap;

use odonata_load::collective::Family;
use serde::{Deserialize, Serialize};

/// The parameters of LogGPS that are not the network's; see
/// [`odonata_sim::Protocol`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mpi {
    /// Longer messages between nodes ask first; none does if it is absent.
    pub eager_limit_bytes: Option<u64>,
    /// When such a message is complete at its sender. Left out of scenarios of old, which
    /// are known by their text, where it is what it always was.
    #[serde(skip_serializing_if = "Completion::is_sent")]
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
    #[serde(skip_serializing_if = "is_zero")]
    pub send_delay_ps: u64,
    /// Rate at which ranks copy messages; absent: in no time.
    pub copy_bandwidth_bytes_per_s: Option<u64>,
    /// Points of a message's size in bytes and the picoseconds that it costs either rank,
    /// besides; left out likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_times: Vec<(u64, u64)>,
    /// How collectives are carried out.
    pub collectives: Collectives,
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
            copy_bandwidth_bytes_per_s: None,
            host_times: Vec::new(),
            collectives: Collectives::default(),
        }
    }
}

/// When a message that asked first is complete at its sender; see
/// [`odonata_sim::Completion`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// When its last byte has left the node.
    #[default]
    Sent,
    /// When its receiver has said that it has taken it in.
    Acknowledged,
}

impl Completion {
    fn is_sent(&self) -> bool {
        *self == Self::Sent
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
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
