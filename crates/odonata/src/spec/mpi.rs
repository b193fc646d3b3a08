//! How ranks send and receive.

pub use odonata_run::Completion;
use std::collections::BTreeMap;

use odonata_load::collective::{self, Family};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::table::{Declared, KeyDeclaration, Kind, is_default, table};

table! {
    /// What messages of a size cost the rank that sends and the rank that receives, each.
    pub struct HostTime {
        /// Of the message.
        size_bytes: u64 = 0 => Notes { needed: true, ..Notes::POSITIVE },
        /// For which either rank is busy with it.
        time_ps: u64 = 0 => Notes { needed: true, ..Notes::DELAY },
    }
}

table! {
    /// What messages between two ranks of one node cost them.
    ///
    /// They go through its memory, whose latency and bandwidth are those of `network.nic`.
    pub struct WithinNode {
        /// Time that a rank is busy with a message that it sends.
        send_overhead_ps: u64 = 0 => Notes::DELAY,
        /// The same with a message that it receives.
        receive_overhead_ps: u64 = 0 => Notes::DELAY,
        /// What a message costs either rank by its size, besides, as the other `host_times`.
        host_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
    }
}

table! {
    /// How the ranks of jobs with a motif send and receive; jobs with traffic have none of it.
    ///
    /// The parameters of LogGPS (Ino, Fujimoto, Hagihara 2001) that are not the network's.
    pub struct Mpi {
        /// Messages between nodes that are longer ask first (rendezvous): the sender sends a request,
        /// the receiver grants it when it has a receive for it, then the message is sent. Default: no
        /// message asks.
        eager_limit_bytes: Option<u64> = None,
        /// When such a message is complete at its sender: when its last byte has left the node, or when
        /// the receiver has taken it in and said so by a message of its own (FIN), as where the receiver
        /// fetches the data: SST's Firefly and most MPI libraries by RDMA read. Matters where a rank waits
        /// for its sends before it goes on, up to 20 % of run time
        /// ([long messages](packet-model.md#overheads-and-long-messages)).
        #[serde(skip_serializing_if = "is_default")]
        rendezvous_completion: Completion = Completion::default(),
        /// Size of a request, grant or FIN; at most a packet.
        control_message_bytes: u64 = 64 => Notes::POSITIVE,
        /// Time that a rank is busy with a message that it sends.
        send_overhead_ps: u64 = 0 => Notes::DELAY,
        /// The same with a message, or a request, that it receives. Starts when the message has come,
        /// its receive is posted, and nothing else keeps the rank busy.
        receive_overhead_ps: u64 = 0 => Notes::DELAY,
        /// Time for which an interface sends nothing after a message, requests and grants apart: what
        /// *g* of LogGP is beyond the time that a byte takes.
        gap_ps: u64 = 0 => Notes::DELAY,
        /// Time between a rank's handing a message over, be it of the job or of the protocol, and its
        /// interface's having it. Keeps nobody busy, unlike `send_overhead`: the rank goes on meanwhile.
        /// CODES' delays of hosts are such: 3.51 µs with the defaults of its MPI replay.
        #[serde(skip_serializing_if = "is_default")]
        send_delay_ps: u64 = 0 => Notes::DELAY,
        /// The same by the size of a message, besides, as points of growing size: buffers and buses on
        /// its way that do not keep the rank. Short messages may overtake longer ones.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        delay_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
        /// What a message to another node keeps its sender busy besides, if its last one went to
        /// another rank: where an interface keeps a few connections that move from one peer to the
        /// next (InfiniBand's dynamically connected transport), or looks up a peer's.
        #[serde(skip_serializing_if = "is_default")]
        redirect_overhead_ps: u64 = 0 => Notes::DELAY,
        /// Rate at which ranks copy the messages that they send and receive, besides. Default: copying
        /// takes no time.
        copy_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// What a message costs either rank by its size, besides all of that, as libraries have
        /// protocols, buffers and copies for some sizes and not for others: points of growing size, with
        /// straight lines from 0 B in no time through all of them, and on beyond the last.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        host_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
        /// What messages between two ranks of one node cost them instead of all that; they have no
        /// `send_delay` then. Default: they cost what all others cost.
        #[serde(skip_serializing_if = "Option::is_none")]
        within_node: Option<WithinNode> = None,
        /// By which algorithms they carry out collectives: as the rules of a library say, or a table.
        collectives: Collectives = Collectives::default() => Notes { short: Some("library"), called: Some("a library"), ..Notes::NONE },
    }
}

table! {
    /// By which algorithms ranks carry out collectives.
    ///
    /// `auto` leaves the choice to the rules of the library, by size and number of ranks.
    pub struct Collectives {
        /// Whose rules choose where no algorithm is named: those of MPICH 4 or of Open MPI 1.3 to
        /// 4.0.
        family: Family = Family::Mpich => Notes { key: Some("library"), ..Notes::NONE },
        /// Rate at which a rank combines what it receives with its own, in reductions and scans.
        /// Default: combining takes no time.
        combine_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// Size of the segments in which `chain`, `binary` and `split-binary` send, where they are
        /// named; a library that chooses them chooses the size, too.
        segment_bytes: u64 = 32 * 1024 => Notes::POSITIVE,
        /// Algorithms that are named.
        algorithms: NamedAlgorithms = NamedAlgorithms::default() => Notes { flat: true, ..Notes::NONE },
    }
}

/// Names of algorithms by operation; of those that are not in it the library chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamedAlgorithms(pub BTreeMap<String, String>);

impl Declared for NamedAlgorithms {
    fn kind() -> Kind {
        Kind::Table("NamedAlgorithms")
    }

    /// A key for every operation of which an algorithm can be named.
    fn keys() -> Vec<KeyDeclaration> {
        let operations = collective::lists().map(|list| {
            let key = list.operation.replace('-', "_");
            KeyDeclaration {
                engine_key: list.operation,
                default: Value::from("auto"),
                later: true,
                ..KeyDeclaration::new(&key, list.text, Kind::Name(format!("{key}_algorithm")))
            }
        });
        operations.collect()
    }
}
