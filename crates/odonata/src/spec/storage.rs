//! A parallel file system: its servers, and how files lie on them.

use super::job::Placement;
use super::table::table;

table! {
    /// A fast store in front of each server's medium.
    pub struct ServerBuffer {
        /// Rate at which it takes what is written, above `write_bandwidth`, at which it is emptied.
        bandwidth_bytes_per_s: u64 = 0 => Notes { needed: true, ..Notes::BANDWIDTH },
        /// What it holds. When it is full, writes go on as fast as it is emptied, which it is whenever
        /// something is in it. Reads do not notice it.
        capacity_bytes: u64 = 0 => Notes::NEEDED_SIZE,
    }
}

table! {
    /// A parallel file system, to which the motif `checkpoint` writes and from which it reads.
    ///
    /// Its servers are nodes that no job gets. Each does one thing after the other, in the order in
    /// which requests come, whichever job they are of: bytes occupy it for as long as they take at its
    /// bandwidth. What is written is a message to the server, which acknowledges it by one of
    /// `mpi.control_message` bytes when its medium, or a burst buffer in front of it, has it; a rank goes
    /// on when all of its requests are acknowledged. To read, a rank asks by a message of that size,
    /// and the server sends when its medium has read. Defaults are Lustre's ([its
    /// wiki](https://wiki.lustre.org/Lustre_Striping_Best_Practices); *Lustre Operations Manual*).
    pub struct Storage {
        /// Number of servers. Default: the nodes that `placement` lists.
        servers: Option<u32> = None => Notes::COUNT,
        /// Which nodes are servers, before any job gets nodes: a policy as of a job, by default the
        /// nodes of a router of each group in turn, or the nodes of a list. Not `isolated` or `grap`.
        placement: Placement = Placement::Spread,
        /// Groups whose nodes may be servers; nothing: any.
        groups: Option<Vec<u32>> = None => Notes::HIDDEN,
        /// Rate at which a server writes.
        write_bandwidth_bytes_per_s: u64 = 0 => Notes { needed: true, ..Notes::BANDWIDTH },
        /// Rate at which a server reads. Default: that at which it writes.
        read_bandwidth_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// Time that a request takes besides. Others do not wait for it.
        latency_ps: u64 = 0 => Notes::DELAY,
        /// What each server has in front of its medium: bandwidth and capacity. Default: nothing.
        burst_buffer: Option<ServerBuffer> = None,
        /// Bytes of a file on one server before the next one's turn (Lustre's stripe size).
        stripe_size_bytes: u64 = 4 << 20 => Notes::POSITIVE,
        /// Servers that a file lies on, at most all (Lustre's stripe count). The next file begins on
        /// the server after the last one.
        stripe_count: u32 = 1 => Notes::COUNT,
        /// Largest request (Lustre's `max_pages_per_rpc`, as bytes).
        request_bytes: u64 = 4 << 20 => Notes::POSITIVE,
        /// Requests of a rank that may be under way to a server (Lustre's `max_rpcs_in_flight`).
        in_flight: u32 = 8 => Notes::COUNT,
    }
    refuse "servers" when [("servers", Test::Absent), ("placement", Test::NoList)] =>
        "a number of servers, as `placement` lists none";
}
