//! DCQCN: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.

use odonata_declare::table;

table! {
    /// The keys of the scheme `ecn`. Defaults are those of the paper (section 5.2 and figure 14), which
    /// it found for links of 40 Gb/s, but for the hyper increase, which it does not give.
    pub struct EcnKeys {
        /// Bytes that wait for a port from which on a router marks packets (K_min).
        mark_from_bytes: u64 = 5_000,
        /// Bytes that wait for a port from which on it marks all of them (K_max).
        mark_all_bytes: u64 = 200_000 => Notes::POSITIVE,
        /// Probability of a mark when `mark_all` is almost reached (P_max); it grows linearly from 0
        /// at `mark_from`.
        mark_probability: f64 = 0.01 => Notes::POSITIVE_FRACTION,
        /// A receiver notifies a sender of marked packets at most once in this time (N).
        notification_interval_ps: u64 = 50_000_000 => Notes { least: Some(1e5), ..Notes::NONE },
        /// Weight of a notification in the estimate of congestion, alpha (g).
        gain: f64 = 0.00390625 => Notes::POSITIVE_FRACTION,
        /// Time without notifications after which the estimate decays once (K).
        decay_interval_ps: u64 = 55_000_000 => Notes { least: Some(1e5), ..Notes::NONE },
        /// Time after which a sender increases its rate (T).
        increase_interval_ps: u64 = 55_000_000 => Notes { least: Some(1e5), ..Notes::NONE },
        /// Bytes sent after which it does so as well (B).
        increase_bytes: u64 = 10_000_000 => Notes::POSITIVE,
        /// Increases, by time or by bytes, that only halve the distance to the rate before the
        /// last cut, before the rate is raised beyond that (F).
        fast_recoveries: u32 = 5 => Notes::COUNT,
        /// What the target rate grows by with each further increase (R_AI).
        additive_increase_bytes_per_s: u64 = 5_000_000 => Notes::BANDWIDTH,
        /// The same once both time and bytes have led to more than `fast_recoveries` increases. The
        /// paper leaves it open; the ratio to `additive_increase` is that of QCN.
        hyper_increase_bytes_per_s: u64 = 50_000_000 => Notes::BANDWIDTH,
        /// No pair's rate falls below this.
        least_rate_bytes_per_s: u64 = 5_000_000 => Notes::BANDWIDTH,
    }
}
