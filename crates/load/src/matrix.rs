//! Communication matrices: how much every rank of an application sent to every
//! other one.

mod builder;
mod format;
mod reader;

use odonata_units::{Bytes, RankId};

pub use builder::MatrixBuilder;
pub use format::Format;
pub use reader::{MatrixError, ReadOptions, ReadReport, read_matrix, read_matrix_from, read_rates};

/// What one rank sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Receiving rank.
    pub to: RankId,
    /// Bytes in all.
    pub bytes: u64,
    /// Messages in all; 1 where the source of the matrix did not count them.
    pub messages: u64,
}

/// A rank × rank matrix of bytes and messages, in compressed rows. It has no
/// diagonal, as what a rank keeps never reaches the network, unless [`read_rates`]
/// has read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicationMatrix {
    /// Where each rank's entries start; one more at the end.
    starts: Vec<usize>,
    /// Sorted by sender, then receiver.
    entries: Vec<Entry>,
    /// Whether every entry's number of messages was given.
    messages_counted: bool,
}

impl CommunicationMatrix {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// What `rank` sends, sorted by receiver.
    pub fn row(&self, rank: RankId) -> &[Entry] {
        &self.entries[self.starts[rank.index()]..self.starts[rank.index() + 1]]
    }

    /// All entries as (sender, entry), sorted by sender, then receiver.
    pub fn entries(&self) -> impl Iterator<Item = (RankId, Entry)> {
        (0..self.ranks())
            .map(RankId)
            .flat_map(|from| self.row(from).iter().map(move |&entry| (from, entry)))
    }

    /// Whether the numbers of messages are counts; otherwise each is 1.
    pub fn has_message_counts(&self) -> bool {
        self.messages_counted
    }

    /// The matrix with its bytes scaled so that they sum to exactly `total`: each
    /// entry gets the difference of the rounded running sums after and before it,
    /// and so is off by less than a byte. `None` if there are no bytes to scale.
    pub fn scaled_to(mut self, total: Bytes) -> Option<Self> {
        let sum: u128 = self.entries.iter().map(|e| u128::from(e.bytes)).sum();
        if sum == 0 {
            return None;
        }
        let (mut running, mut given) = (0u128, 0u64);
        for entry in &mut self.entries {
            running += u128::from(entry.bytes);
            // Both factors are below 2^64; no entry gets more than the total.
            let upto = (running * u128::from(total.0) + sum / 2) / sum;
            entry.bytes = upto as u64 - given;
            given = upto as u64;
        }
        Some(self)
    }

    /// Sums and extremes.
    pub fn statistics(&self) -> Statistics {
        let ranks = self.ranks();
        let mut statistics = Statistics {
            ranks,
            entries: self.entries.len() as u64,
            total: Bytes::ZERO,
            messages: 0,
            density: 0.0,
            largest_row: (RankId(0), Bytes::ZERO),
            largest_column: (RankId(0), Bytes::ZERO),
            largest_entry: None,
            most_partners: 0,
        };
        let mut columns = vec![0u64; ranks as usize];
        for from in (0..ranks).map(RankId) {
            let row = self.row(from);
            let sent = row.iter().map(|entry| entry.bytes).sum();
            statistics.total += Bytes(sent);
            statistics.messages += row.iter().map(|entry| entry.messages).sum::<u64>();
            statistics.most_partners = statistics.most_partners.max(row.len() as u32);
            if Bytes(sent) > statistics.largest_row.1 {
                statistics.largest_row = (from, Bytes(sent));
            }
            for &entry in row {
                columns[entry.to.index()] += entry.bytes;
                if statistics
                    .largest_entry
                    .is_none_or(|(_, largest)| entry.bytes > largest.bytes)
                {
                    statistics.largest_entry = Some((from, entry));
                }
            }
        }
        for (to, received) in columns.into_iter().enumerate() {
            if Bytes(received) > statistics.largest_column.1 {
                statistics.largest_column = (RankId::from_index(to), Bytes(received));
            }
        }
        if ranks > 1 {
            let pairs = f64::from(ranks) * f64::from(ranks - 1);
            statistics.density = self.entries.len() as f64 / pairs;
        }
        statistics
    }
}

/// Sums and extremes of a communication matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Number of ranks.
    pub ranks: u32,
    /// Ordered pairs of ranks that communicate.
    pub entries: u64,
    /// Bytes of all entries.
    pub total: Bytes,
    /// Messages of all entries.
    pub messages: u64,
    /// Share of the ordered pairs of different ranks that communicate.
    pub density: f64,
    /// The rank that sends most, and how much (rank 0 and nothing, if none does).
    pub largest_row: (RankId, Bytes),
    /// The rank that receives most, and how much.
    pub largest_column: (RankId, Bytes),
    /// Sender and entry of the pair with most bytes.
    pub largest_entry: Option<(RankId, Entry)>,
    /// Most receivers that one rank sends to.
    pub most_partners: u32,
}
