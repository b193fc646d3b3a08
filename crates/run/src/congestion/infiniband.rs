//! Congestion control of annex A10 of the InfiniBand architecture specification, volume 1.

use odonata_declare::table;

table! {
    /// The keys of the scheme `infiniband`. Defaults are those of Gran et al. (IPDPS 2010), who ran it
    /// on switches and adapters of 20 Gb/s.
    pub struct InfinibandKeys {
        /// How soon a port counts as congested, from 1 (late) to 15 (soon): when more than (16 -
        /// threshold) / 16 of a buffer of its link waits for it. 0: no port marks.
        threshold: u32 = 15 => Notes { least: Some(0.0), most: Some(15.0), ..Notes::NONE },
        /// Packets that may be marked and are not, between two marks (Marking_Rate).
        marking_rate: u32 = 0 => Notes::INDEX,
        /// By how much each notification raises the index of a pair (CCTI_Increase).
        index_increase: u32 = 1 => Notes::COUNT,
        /// Largest index (CCTI_Limit). A pair of index i waits after a packet for i times the time
        /// that the packet took: its rate is 1 / (1 + i) of the link's. This is the linear table that
        /// the specification leaves to the subnet manager.
        index_limit: u32 = 127 => Notes { least: Some(1.0), most: Some(16_383.0), ..Notes::NONE },
        /// Time after which the indices of an interface fall by one (CCTI_Timer, 150 times 1.024 us).
        index_timer_ps: u64 = 153_600_000 => Notes::POSITIVE,
    }
}
