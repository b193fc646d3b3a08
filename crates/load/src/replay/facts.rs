//! What a trace holds, for people and for the run.

use std::collections::BTreeMap;

use odonata_units::{Bytes, Picoseconds};

/// What a trace holds, as far as a replay cares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFacts {
    /// Number of ranks.
    pub ranks: u32,
    /// Records of all ranks.
    pub records: u64,
    /// Messages that ranks send to each other outside of collectives.
    pub messages: u64,
    /// Their bytes; empty messages count as 1 byte.
    pub bytes: Bytes,
    /// Receives that take a message of any sender or tag, because the trace does not
    /// tell which came.
    pub open_receives: u64,
    /// One-sided transfers.
    pub transfers: u64,
    /// Their bytes.
    pub transfer_bytes: Bytes,
    /// Communicators besides the world and each rank alone.
    pub communicators: u64,
    /// Calls of collectives by operation, each rank's call counted.
    pub collectives: BTreeMap<&'static str, u64>,
    /// Time between calls, all ranks together, unscaled.
    pub compute: Picoseconds,
    /// The same of the rank that computes longest.
    pub longest_compute: Picoseconds,
    /// Times between calls that would be negative; taken as 0.
    pub negative_gaps: u64,
    /// Records without wall time, before which nothing is computed.
    pub untimed: u64,
    /// Waits for requests that no recorded call has made; passed over.
    pub unknown_requests: u64,
    /// Time in which the trace does not tell what ranks did, because recording was off
    /// or the recorder at work; all ranks together. Not computing.
    pub unrecorded: Picoseconds,
    /// Sends and receives of the region of interest whose other end lies outside.
    pub messages_left_out: u64,
    /// Calls of collectives in the region of interest that not all members have there.
    pub collectives_left_out: u64,
    /// Calls that are passed over, by name.
    pub not_replayed: BTreeMap<&'static str, u64>,
}

impl TraceFacts {
    /// Takes in what a rank computes.
    pub(super) fn computes(&mut self, duration: Picoseconds) {
        self.compute = Picoseconds(self.compute.0.saturating_add(duration.0));
        self.longest_compute = self.longest_compute.max(duration);
    }

    /// Name and value of each, for people.
    pub fn lines(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
        line("ranks", self.ranks.to_string());
        line("records", self.records.to_string());
        line("messages", self.messages.to_string());
        line("message bytes", self.bytes.0.to_string());
        line("communicators", self.communicators.to_string());
        line("compute, all ranks", self.compute.to_string());
        line("compute, longest rank", self.longest_compute.to_string());
        for (name, count) in &self.collectives {
            line(&format!("{name} calls"), count.to_string());
        }
        let counts = [
            ("one-sided transfers", self.transfers),
            ("one-sided bytes", self.transfer_bytes.0),
            ("receives from any", self.open_receives),
            ("negative times between calls", self.negative_gaps),
            ("records without time", self.untimed),
            ("waits for unknown requests", self.unknown_requests),
            (
                "messages across the region's border, left out",
                self.messages_left_out,
            ),
            (
                "collectives across the region's border, left out",
                self.collectives_left_out,
            ),
        ];
        if self.unrecorded > Picoseconds::ZERO {
            line("not recorded, all ranks", self.unrecorded.to_string());
        }
        for (name, count) in counts {
            if count > 0 {
                line(name, count.to_string());
            }
        }
        for (name, count) in &self.not_replayed {
            line(&format!("not replayed: {name}"), count.to_string());
        }
        lines
    }
}
