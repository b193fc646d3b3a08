//! What a scenario says of a real machine besides its network: hosts, and times of its nodes.
//! Runs do not depend on it; predictions, which Python makes, do.

use super::mpi::WithinNode;
use super::table::table;

table! {
    /// Hosts with consecutive names on consecutive nodes.
    pub struct HostRange {
        /// Names of the hosts, as a host list in Slurm's notation: `"nid[001000-001255]"`.
        names: String = String::new() => Notes { fewest_entries: Some(1), ..Notes::NEEDED },
        /// Node of the first host; the other hosts are on the nodes after it.
        first_node: u32 = 0 => Notes { needed: true, ..Notes::INDEX },
    }
}

table! {
    /// A memory rate for vectors of a given size.
    pub struct SizedRate {
        /// Size of the vector. Between two sizes the time per byte is interpolated linearly in the
        /// logarithm of the size; below the first and above the last size it is constant.
        size_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// The rate.
        bandwidth_bytes_per_s: u64 = 0 => Notes { needed: true, ..Notes::BANDWIDTH },
    }
}

table! {
    /// How far single calls scatter around their median, for vectors of a given size.
    pub struct SizedSpread {
        /// Size of the vector; between two sizes the percentiles are interpolated in the logarithm of
        /// the size.
        size_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// 10th percentile divided by the median.
        p10: f64 = 1.0 => Notes { needed: true, ..Notes::POSITIVE_FRACTION },
        /// 90th percentile divided by the median.
        p90: f64 = 1.0 => Notes { needed: true, ..Notes::POSITIVE },
    }
}

table! {
    /// How far measured medians lie from predicted ones, for vectors of a given size.
    pub struct SizedError {
        /// Size of the vector; between two sizes the percentiles are interpolated in the logarithm of
        /// the size.
        size_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// 10th percentile of measured medians divided by predicted ones.
        p10: f64 = 1.0 => Notes { needed: true, more_than: Some(0.0), most: Some(1e6), ..Notes::NONE },
        /// Their 90th percentile.
        p90: f64 = 1.0 => Notes { needed: true, more_than: Some(0.0), most: Some(1e6), ..Notes::NONE },
    }
}

table! {
    /// What messages between nodes cost that NCCL sends in a way of its own.
    ///
    /// All of it, in place of the keys of the same names in `[machine.shared]`.
    pub struct MessageCosts {
        /// As `mpi.send_overhead`.
        send_overhead_ps: u64 = 0 => Notes::DELAY,
        /// As `mpi.receive_overhead`.
        receive_overhead_ps: u64 = 0 => Notes::DELAY,
        /// As `mpi.send_delay`.
        send_delay_ps: u64 = 0 => Notes::DELAY,
        /// As `mpi.host_times`.
        host_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
        /// As `mpi.delay_times`.
        delay_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
    }
}

table! {
    /// Messages that a processor hands to the interface within its command.
    ///
    /// Where GPUs send, it copies them out of their memory first.
    pub struct InlineMessages {
        /// The longest of them: of Slingshot's interfaces 192 bytes (`C_MAX_IDC_PAYLOAD_UNR`).
        up_to_bytes: u64 = 0 => Notes { needed: true, ..Notes::POSITIVE },
        /// What each costs its sender besides.
        overhead_ps: u64 = 0 => Notes { needed: true, ..Notes::DELAY },
    }
}

table! {
    /// What collectives take if several ranks share each node.
    ///
    /// All of it, in place of what `[mpi]`, `[machine]` and `network.nic` say of one rank a node.
    pub struct SharedNodes {
        /// Ranks per node for which these values were fitted; they are used for any number above one.
        per_node: u64 = 2 => Notes { needed: true, least: Some(2.0), ..Notes::NONE },
        /// As `mpi.send_overhead`.
        send_overhead_ps: u64 = 0 => Notes::DELAY,
        /// As `mpi.receive_overhead`.
        receive_overhead_ps: u64 = 0 => Notes::DELAY,
        /// As `mpi.send_delay`.
        send_delay_ps: u64 = 0 => Notes::DELAY,
        /// As `mpi.redirect_overhead`.
        redirect_overhead_ps: u64 = 0 => Notes::DELAY,
        /// As `mpi.host_times`.
        host_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
        /// As `mpi.delay_times`.
        delay_times: Vec<(u64, u64)> = Vec::new() => Notes::POINTS,
        /// As `mpi.within_node`.
        within_node: WithinNode = WithinNode::default(),
        /// As `network.nic.loopback_latency`.
        loopback_latency_ps: u64 = 500_000 => Notes::DELAY,
        /// As `network.nic.loopback_bandwidth`: the bandwidth of all ranks of a node together.
        loopback_bandwidth_bytes_per_s: u64 = 16_000_000_000 => Notes::BANDWIDTH,
        /// As `machine.rank_bandwidth`.
        rank_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// The same in all-to-alls, gathers and scatters, where NCCL sends to each rank by itself,
        /// through fewer channels than its rings have. Default: the same as in others.
        #[serde(skip_serializing_if = "Option::is_none")]
        exchange_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// Costs of messages in those operations. Default: the same as in others.
        #[serde(skip_serializing_if = "Option::is_none")]
        exchange: Option<MessageCosts> = None,
        /// Short messages in those operations, which come from the memory of GPUs. Default: they cost
        /// what others cost.
        #[serde(skip_serializing_if = "Option::is_none")]
        exchange_inline: Option<InlineMessages> = None,
        /// Costs of messages of NCCL's protocol LL, which go by way of the processor's memory.
        /// Default: the same as of others.
        #[serde(skip_serializing_if = "Option::is_none")]
        ll: Option<MessageCosts> = None,
        /// As `machine.call`.
        call_ps: u64 = 0 => Notes::DELAY,
        /// As `machine.entry_delay`.
        entry_delay_ps: u64 = 0 => Notes::DELAY,
        /// As `machine.combine`.
        combine: Vec<SizedRate> = Vec::new() => Notes { grows: Some("size"), ..Notes::NONE },
        /// As `machine.copy`.
        copy_rates: Vec<SizedRate> = Vec::new() => Notes { key: Some("copy"), grows: Some("size"), ..Notes::NONE },
        /// As `machine.spread`.
        spread: Vec<SizedSpread> = Vec::new() => Notes { grows: Some("size"), ..Notes::NONE },
        /// As `machine.errors`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        errors: Vec<SizedError> = Vec::new() => Notes { grows: Some("size"), ..Notes::NONE },
    }
}

table! {
    /// What differs in jobs of more ranks than a number, but for `exchange` with one rank on each node.
    ///
    /// Libraries send by other means there, or the machine runs such jobs in another way. The table with
    /// the largest `above` below the number of ranks counts, alone.
    pub struct ManyRanks {
        /// The table is for jobs with more ranks than this.
        above: u64 = 1 => Notes { needed: true, ..Notes::POSITIVE },
        /// `machine.rank_bandwidth` for these jobs. Default: the same as for few ranks.
        rank_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// `mpi.send_delay` for these jobs. Default: the same as for few ranks.
        send_delay_ps: Option<u64> = None => Notes::DELAY,
        /// `machine.shared.exchange` for these jobs: with many partners messages come before their
        /// receives, and are copied once more. Default: the same as for few ranks.
        #[serde(skip_serializing_if = "Option::is_none")]
        exchange: Option<MessageCosts> = None,
    }
}

table! {
    /// What buffers cost that a collective allocates in each call, where their pages are new each time.
    ///
    /// The C library gives long buffers back to the system when they are freed. In the next call their
    /// pages are touched, and registered with the interface, for the first time again.
    pub struct FreshBuffers {
        /// Longer buffers are new in each call. The default is the largest threshold that glibc adapts
        /// itself to.
        above_bytes: u64 = 33_554_432 => Notes::POSITIVE,
        /// Two buffers of the same call are new if each is longer than this: glibc gives its heap back when
        /// more than twice the longest buffer is free. Default: `above`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pairs_above_bytes: Option<u64> = None => Notes::POSITIVE,
        /// Rate at which new pages are touched and registered, before the first message.
        bandwidth_bytes_per_s: u64 = 0 => Notes { needed: true, ..Notes::BANDWIDTH },
        /// Time that a message of a reduce-scatter takes either end to register, if it is a piece of a new
        /// buffer and longer than the eager limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        registration_ps: Option<u64> = None => Notes::DELAY,
        /// Rate at which such pieces are registered, besides.
        #[serde(skip_serializing_if = "Option::is_none")]
        registration_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
    }
}

table! {
    /// What else the machine does while a collective runs, for simulating the spread.
    ///
    /// Other jobs have the nodes that real ones got, and send as proxy applications were measured to.
    pub struct Background {
        /// Nodes of real jobs: a text file with the host list of one job per line, as `squeue -h -t R -o
        /// %N` prints it, or an archive with one file per job and one host per line.
        jobs: Option<std::path::PathBuf> = None,
        /// Share of the hosts that jobs occupy, the collective's own job included.
        busy: f64 = 0.85 => Notes { quantity: Some("share"), ..Notes::POSITIVE },
        /// How many times faster a node computes, and therefore sends, than the nodes of 64 ranks on
        /// which the applications were measured.
        compute_rate: f64 = 1.0 => Notes { more_than: Some(0.0), most: Some(1e6), ..Notes::NONE },
    }
}

table! {
    /// A real machine: its hosts, and the times that collectives take besides their messages.
    ///
    /// Runs do not depend on it; predictions do.
    pub struct Machine {
        /// Name of the machine, for people.
        name: String = String::new(),
        /// Which host is which node of the network.
        hosts: Vec<HostRange> = Vec::new(),
        /// File with the same information: on every line a host list and the node of its first host.
        hosts_file: Option<std::path::PathBuf> = None,
        /// `mpi.eager_limit` for algorithms whose ranks wait for each of their sends (`MPI_Send`,
        /// `MPI_Sendrecv`): UCX sends longer messages at once for them than for `MPI_Isend`. Default: the
        /// same for all.
        blocking_eager_limit_bytes: Option<u64> = None => Notes::POSITIVE,
        /// Bandwidth that one rank has of its node's interfaces, as `network.nic.rank_bandwidth`, in
        /// predictions with flows; in predictions with packets a rank has all of it.
        rank_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// Time that a call of a collective takes a rank before its first message.
        call_ps: u64 = 0 => Notes::DELAY,
        /// Mean of the exponentially distributed time by which a rank enters a call late: a rank that
        /// waits for n ranks waits 1 + 1/2 + … + 1/n times this mean, one that waits for a root once.
        entry_delay_ps: u64 = 0 => Notes::DELAY,
        /// Rate at which a rank combines received data with its own, by the size of the whole vector:
        /// data that fits into a cache is combined faster. Replaces `mpi.collectives.combine_bandwidth`.
        combine: Vec<SizedRate> = Vec::new() => Notes { grows: Some("size"), ..Notes::NONE },
        /// Rate at which a rank copies data within its memory before a collective's first message, to
        /// the result buffer or into another order.
        copy_rates: Vec<SizedRate> = Vec::new() => Notes { key: Some("copy"), grows: Some("size"), ..Notes::NONE },
        /// How measured calls scatter around their median. Without it, predictions have no
        /// percentiles.
        spread: Vec<SizedSpread> = Vec::new() => Notes { grows: Some("size"), ..Notes::NONE },
        /// How far predictions were off where they were compared with measurements: the percentiles of
        /// predictions are wider by it, so that eight of ten measured medians lie between them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        errors: Vec<SizedError> = Vec::new() => Notes { grows: Some("size"), ..Notes::NONE },
        /// What else the machine does. With its `jobs`, or those of `--background`, the spread of
        /// predictions is simulated and `spread` is not used.
        background: Option<Background> = None,
        /// What differs in jobs of many ranks.
        many_ranks: Vec<ManyRanks> = Vec::new() => Notes { grows: Some("above"), ..Notes::NONE },
        /// What buffers cost that are new in each call, with one rank on each node. Default: nothing.
        fresh_buffers: Option<FreshBuffers> = None,
        /// The values that replace those above if several ranks share each node. Default: the same as
        /// with one rank per node.
        shared: Option<SharedNodes> = None,
    }
    refuse "hosts_file" when [("hosts", Test::Longer(0)), ("hosts_file", Test::Given)] =>
        "either `hosts` or `hosts_file`";
}
