//! HPCC: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.

use odonata_declare::table;

table! {
    /// The keys of the scheme `hpcc`. Defaults are those of the paper's simulations (section 5.1), whose
    /// links have 100 Gb/s.
    pub struct HpccKeys {
        /// Round trip of the network when it is idle (T), the longest of any pair: a pair has at most
        /// what its link carries in this time under way. Links are measured over this time as well.
        base_round_trip_ps: u64 = 13_000_000 => Notes { least: Some(1e4), ..Notes::NONE },
        /// Use of the busiest link on the way that windows are set for (eta).
        target_load: f64 = 0.95 => Notes::POSITIVE_FRACTION,
        /// What a window grows by in every round trip (W_AI).
        window_increase_bytes: u64 = 80 => Notes::POSITIVE,
        /// Round trips with such increases before the window is set for `target_load` at once
        /// (maxStage).
        slow_increases: u32 = 5 => Notes::INDEX,
    }
}
