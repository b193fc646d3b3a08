//! Builds a matrix from entries in any order.

use odonata_units::{Bytes, RankId};

use super::{CommunicationMatrix, Entry};

/// Collects entries in any order. Entries of the same pair are summed; what a
/// rank sends to itself is counted and left out.
#[derive(Clone, Debug, Default)]
pub struct MatrixBuilder {
    triples: Vec<(RankId, Entry)>,
    highest: Option<RankId>,
    messages_unknown: bool,
    keeps_diagonal: bool,
    self_entries: u64,
    self_bytes: u64,
}

impl MatrixBuilder {
    /// An empty matrix.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty matrix that keeps its diagonal: what stays within a rack, say, where
    /// rows and columns are racks of ranks.
    pub(crate) fn with_diagonal() -> Self {
        Self {
            keeps_diagonal: true,
            ..Self::default()
        }
    }

    /// Adds what `from` sends to `to`. `messages` is `None` where nobody counted.
    pub fn add(&mut self, from: RankId, to: RankId, bytes: Bytes, messages: Option<u64>) {
        self.highest = self.highest.max(Some(from)).max(Some(to));
        if from == to && !self.keeps_diagonal {
            self.self_entries += 1;
            self.self_bytes = self.self_bytes.saturating_add(bytes.0);
            return;
        }
        self.messages_unknown |= messages.is_none();
        let entry = Entry {
            to,
            bytes: bytes.0,
            messages: messages.unwrap_or(1),
        };
        self.triples.push((from, entry));
    }

    /// Whether entries of a rank to itself stay.
    pub(crate) fn keeps_diagonal(&self) -> bool {
        self.keeps_diagonal
    }

    /// Takes out all entries, but not the highest rank seen.
    pub(crate) fn clear(&mut self) {
        self.triples.clear();
        self.messages_unknown = false;
    }

    /// Entries so far, those to be added to others among them.
    pub(crate) fn entries(&self) -> usize {
        self.triples.len()
    }

    /// Highest rank seen so far.
    pub fn highest(&self) -> Option<RankId> {
        self.highest
    }

    /// Entries from a rank to itself, and their bytes.
    pub fn to_self(&self) -> (u64, Bytes) {
        (self.self_entries, Bytes(self.self_bytes))
    }

    /// The matrix of `ranks` ranks, at least one more than the highest seen, and
    /// the number of entries that were added to another one of the same pair.
    /// `None` if the bytes or messages of all entries exceed 64 bits.
    ///
    /// # Panics
    /// If an entry names a rank beyond `ranks`.
    pub fn build(mut self, ranks: u32) -> Option<(CommunicationMatrix, u64)> {
        let total = |of: fn(&Entry) -> u64| {
            self.triples
                .iter()
                .try_fold(0u64, |sum, (_, entry)| sum.checked_add(of(entry)))
        };
        total(|entry| entry.bytes)?;
        total(|entry| entry.messages)?;
        self.triples
            .sort_unstable_by_key(|(from, entry)| (*from, entry.to));
        let mut starts = vec![0; ranks as usize + 1];
        let mut entries: Vec<Entry> = Vec::with_capacity(self.triples.len());
        let mut last = None;
        let mut merged = 0;
        for &(from, entry) in &self.triples {
            match entries.last_mut() {
                Some(previous) if last == Some((from, entry.to)) => {
                    previous.bytes += entry.bytes;
                    previous.messages += entry.messages;
                    merged += 1;
                }
                _ => {
                    entries.push(entry);
                    starts[from.index() + 1] += 1;
                }
            }
            last = Some((from, entry.to));
        }
        for rank in 0..ranks as usize {
            starts[rank + 1] += starts[rank];
        }
        let matrix = CommunicationMatrix {
            starts,
            entries,
            messages_counted: !self.messages_unknown,
        };
        Some((matrix, merged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_summed_and_kept_off_the_diagonal() {
        let mut builder = MatrixBuilder::new();
        let mut add = |from, to, bytes, messages| {
            builder.add(RankId(from), RankId(to), Bytes(bytes), Some(messages));
        };
        add(2, 0, 10, 1);
        add(0, 2, 5, 2);
        add(0, 1, 7, 3);
        add(0, 2, 6, 4);
        add(1, 1, 99, 5);
        assert_eq!(builder.highest(), Some(RankId(2)));
        assert_eq!(builder.to_self(), (1, Bytes(99)));
        let (matrix, merged) = builder.build(4).unwrap();
        assert_eq!(merged, 1);
        assert_eq!(matrix.ranks(), 4);
        let entry = |to, bytes, messages| Entry {
            to: RankId(to),
            bytes,
            messages,
        };
        assert_eq!(matrix.row(RankId(0)), [entry(1, 7, 3), entry(2, 11, 6)]);
        assert_eq!(matrix.row(RankId(1)), []);
        assert_eq!(matrix.row(RankId(2)), [entry(0, 10, 1)]);
        assert!(matrix.has_message_counts());
        let statistics = matrix.statistics();
        assert_eq!(statistics.total, Bytes(28));
        assert_eq!(statistics.messages, 10);
        assert_eq!(statistics.largest_row, (RankId(0), Bytes(18)));
        assert_eq!(statistics.largest_column, (RankId(2), Bytes(11)));
        assert_eq!(statistics.largest_entry, Some((RankId(0), entry(2, 11, 6))));
        assert_eq!(statistics.most_partners, 2);
        // 3 of the 12 ordered pairs of 4 ranks communicate.
        assert!((statistics.density - 0.25).abs() < 1e-12);
    }

    #[test]
    fn sums_beyond_64_bits_are_refused() {
        let mut builder = MatrixBuilder::new();
        builder.add(RankId(0), RankId(1), Bytes(u64::MAX), None);
        builder.add(RankId(1), RankId(0), Bytes(1), None);
        assert!(builder.build(2).is_none());
    }
}
