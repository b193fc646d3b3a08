//! How ranks send and receive.

pub use odonata_run::Completion;
use std::collections::BTreeMap;

use odonata_load::MessageProgress;
use odonata_load::collective::{self, Cpu, Family, Gpu, NcclVersion};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::table::{Declared, KeyDeclaration, Kind, is_default, table};

table! {
    /// Time that a message of a given size costs the sending and the receiving rank each.
    pub struct HostTime {
        /// Size of the message.
        size_bytes: u64 = 0 => Notes { needed: true, ..Notes::POSITIVE },
        /// Time for which each of the two ranks is busy with the message.
        time_ps: u64 = 0 => Notes { needed: true, ..Notes::DELAY },
    }
}

table! {
    /// What messages between two ranks of the same node cost these ranks.
    ///
    /// They go through its memory, whose latency and bandwidth are those of `network.nic`.
    pub struct WithinNode {
        /// Time for which a rank is busy with each message that it sends.
        send_overhead_ps: u64 = 0 => Notes::DELAY,
        /// Time for which a rank is busy with each message that it receives.
        receive_overhead_ps: u64 = 0 => Notes::DELAY,
        /// Further time that a message costs each of the two ranks, depending on its size, given as
        /// in `mpi.host_times`.
        host_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
    }
}

table! {
    /// What keeps ranks busy besides their programs, drawn anew for each `seed`.
    ///
    /// The operating system interrupts each processor of a rank, whatever it does then: a task takes
    /// longer by it, and what arrives waits for its end. Ranks enter blocking collectives late.
    pub struct Noise {
        /// Mean time between two interruptions of a rank, with an exponential distribution. The default
        /// is the period of a kernel clock of 250 Hz.
        detour_interval_ps: u64 = 4_000_000_000 => Notes { least: Some(1.0), ..Notes::DELAY },
        /// Mean time that an interruption takes, with a gamma distribution of shape 6; `0 s`: no
        /// interruptions. The default is that of a node of Alps (De Sensi et al. 2023).
        detour_time_ps: u64 = 3_200_000 => Notes::DELAY,
        /// Mean of the exponentially distributed time by which a rank enters a blocking collective late:
        /// who waits for n ranks waits 1 + 1/2 + … + 1/n times this mean. Predictions take
        /// `machine.entry_delay`, which is calibrated.
        entry_delay_ps: u64 = 0 => Notes::DELAY,
    }
}

table! {
    /// How the ranks of jobs with a motif send and receive; jobs with traffic ignore it.
    ///
    /// The parameters of LogGPS (Ino, Fujimoto, Hagihara 2001) that are not the network's.
    pub struct Mpi {
        /// Longest message between nodes that is sent eagerly. A longer one uses rendezvous: the
        /// sender sends a request, the receiver grants it when a matching receive is posted, and
        /// then the message is sent. Default: all messages are eager.
        eager_limit_bytes: Option<u64> = None,
        /// When a rendezvous message is complete at its sender: when its last byte has left the
        /// node (`sent`), or when the receiver has taken it in and said so by a message of its own,
        /// a FIN (`acknowledged`), as in libraries where the receiver fetches the data: SST's
        /// Firefly, and most MPI libraries by RDMA read. This matters, up to 20 % of run time, if a
        /// rank waits for its sends before it goes on ([long
        /// messages](packet-model.md#overheads-and-long-messages)).
        #[serde(skip_serializing_if = "is_default")]
        rendezvous_completion: Completion = Completion::default(),
        /// Size of a request, grant or FIN; at most one packet.
        control_message_bytes: u64 = 64 => Notes::POSITIVE,
        /// Time for which a rank is busy with each message that it sends.
        send_overhead_ps: u64 = 0 => Notes::DELAY,
        /// Time for which a rank is busy with each message or request that it receives. It starts
        /// when the message has arrived, its receive is posted, and nothing else keeps the rank
        /// busy.
        receive_overhead_ps: u64 = 0 => Notes::DELAY,
        /// Time for which an interface sends nothing after a message (requests and grants do not
        /// count as messages): the gap *g* of LogGP, less the time of a byte.
        gap_ps: u64 = 0 => Notes::DELAY,
        /// Time from when a rank hands over a message, of the job or of the protocol, until its
        /// interface has it. Unlike with `send_overhead`, the rank is not busy and goes on
        /// meanwhile. The host delays of CODES are of this kind: 3.51 µs with the defaults of its
        /// MPI replay.
        #[serde(skip_serializing_if = "is_default")]
        send_delay_ps: u64 = 0 => Notes::DELAY,
        /// Further delay that depends on the size of the message, as points of growing size:
        /// buffers and buses on its way that do not keep the rank busy. Short messages may overtake
        /// longer ones.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        delay_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
        /// Further time for which the sender of a message to another node is busy if its last
        /// message went to another rank: for interfaces that keep a few connections, which move
        /// from one peer to the next (InfiniBand's dynamically connected transport), or that look
        /// up a peer's connection.
        #[serde(skip_serializing_if = "is_default")]
        redirect_overhead_ps: u64 = 0 => Notes::DELAY,
        /// Rate at which ranks copy the messages that they send and receive; this time comes in
        /// addition to the overheads. Default: copying takes no time.
        copy_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// Time that a message costs the sending and the receiving rank each, depending on its
        /// size, in addition to the overheads and copies: libraries have protocols, buffers and
        /// copies for some sizes and not for others. Given as points of growing size; the time is
        /// interpolated linearly, from zero at 0 B through all points, and extrapolated beyond the
        /// last.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        host_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
        /// What messages between two ranks of the same node cost these ranks; it replaces all of
        /// the costs above, `send_delay` included. Default: such messages cost the same as all
        /// others.
        #[serde(skip_serializing_if = "Option::is_none")]
        within_node: Option<WithinNode> = None,
        /// What keeps ranks busy besides: the noise of nodes and of MPI. Default: nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        noise: Option<Noise> = None,
        /// When the messages and non-blocking collectives go on that a rank has begun: only between
        /// its computations, or beside them, which costs the computations nothing. Schedules and
        /// graphs of tasks (GOAL, Chakra) say that themselves. Default: `asynchronous` with the
        /// library `nccl`, whose streams are not those that compute, otherwise `calls`.
        #[serde(skip_serializing_if = "Option::is_none")]
        progress: Option<MessageProgress> = None,
        /// Which algorithms carry out collectives: those that the rules of a library choose, or
        /// those that a table names.
        collectives: Collectives = Collectives::default() => Notes { short: Some("library"), called: Some("a library"), ..Notes::NONE },
    }
}

impl Mpi {
    /// When messages go on that have begun.
    pub fn message_progress(&self) -> MessageProgress {
        self.progress.unwrap_or(match self.collectives.family {
            Family::Nccl => MessageProgress::Asynchronous,
            _ => MessageProgress::Calls,
        })
    }
}

table! {
    /// What NCCL's tuner goes by when it chooses algorithm and protocol.
    pub struct Nccl {
        /// Release whose tuner chooses.
        version: NcclVersion = NcclVersion::Of2028,
        /// Generation of the GPUs.
        gpu: Gpu = Gpu::Hopper,
        /// Maker of the nodes' processors.
        cpu: Cpu = Cpu::Intel,
        /// Channels that NCCL's search finds, which enter a node at different ranks. NCCL has each of
        /// them twice. With fewer ranks on a node there is one for each rank. Default: as its search
        /// finds them for the interfaces of a node, one for each whose rate is no more than that of a
        /// channel, but no more than eight.
        #[serde(skip_serializing_if = "Option::is_none")]
        channels: Option<u32> = None => Notes { most: Some(8.0), ..Notes::COUNT },
        /// Bandwidth from node to node that NCCL finds, of all rings together: its log has it as
        /// number of channels and bandwidth of each. With fewer ranks on a node than channels, each
        /// has its share. Default: as its search finds it for the links of a node's interfaces, of
        /// which channels have rates of a list (24 GB/s of 25, 48 of 50).
        #[serde(skip_serializing_if = "Option::is_none")]
        network_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// The same within a node, for jobs on one node. Default: for the links of `node.network`;
        /// without it for the NVLinks of the GPU.
        #[serde(skip_serializing_if = "Option::is_none")]
        node_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// `NCCL_ALGO`: names of algorithms (`ring`, `tree`, `pat`) with commas between them, those
        /// that are allowed, or after a `^` those that are not. Default: all.
        algo: String = String::new(),
        /// `NCCL_PROTO`: the same of protocols (`ll`, `ll128`, `simple`).
        proto: String = String::new(),
    }
}

table! {
    /// Which algorithms carry out collectives.
    ///
    /// `auto` leaves the choice to the rules of the library, by size and number of ranks.
    pub struct Collectives {
        /// Library whose rules choose the algorithm if none is named.
        family: Family = Family::Mpich => Notes { key: Some("library"), ..Notes::NONE },
        /// Rate at which a rank combines received data with its own, in reductions and scans.
        /// Default: combining takes no time.
        combine_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// Size of the segments in which `chain`, `binary` and `split-binary` send if they are
        /// named here; if a library's rules choose one of them, they choose the size too.
        segment_bytes: u64 = 32 * 1024 => Notes::POSITIVE,
        /// What NCCL's tuner goes by; only with `library = "nccl"`. Default: H100, and channels as its
        /// search finds them.
        #[serde(skip_serializing_if = "Option::is_none")]
        nccl: Option<Nccl> = None,
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
