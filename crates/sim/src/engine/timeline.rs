//! Activity per slice of time, in bounded memory.

use odonata_units::Picoseconds;

use crate::outcome::Timeline;

/// More bins than this make the automatic width double.
const MAX_BINS: usize = 1_024;
/// Automatic width to begin with.
const FIRST_BIN_PS: u64 = 1_000;

/// Collects bytes per bin and job.
#[derive(Clone, Debug)]
pub(super) struct TimelineCollector {
    jobs: usize,
    bin_ps: u64,
    fixed: bool,
    /// The bin that was used last: its start, its width (zero if there is none)
    /// and its index in the series.
    last_start: u64,
    last_width: u64,
    last_index: usize,
    /// Shape: bins × jobs.
    injected: Vec<u64>,
    delivered: Vec<u64>,
}

impl TimelineCollector {
    pub fn new(jobs: usize, bin: Option<Picoseconds>) -> Self {
        Self {
            jobs,
            bin_ps: bin.map_or(FIRST_BIN_PS, |bin| bin.0),
            fixed: bin.is_some(),
            last_start: 0,
            last_width: 0,
            last_index: 0,
            injected: Vec::new(),
            delivered: Vec::new(),
        }
    }

    #[inline(always)]
    fn index(&mut self, time: u64, job: u32) -> usize {
        if time.wrapping_sub(self.last_start) >= self.last_width {
            self.find(time);
        }
        self.last_index + job as usize
    }

    fn find(&mut self, time: u64) {
        let mut bin = (time / self.bin_ps) as usize;
        if (bin + 1) * self.jobs > self.injected.len() {
            bin = self.grow(time);
        }
        self.last_start = bin as u64 * self.bin_ps;
        self.last_width = self.bin_ps;
        self.last_index = bin * self.jobs;
    }

    #[cold]
    fn grow(&mut self, time: u64) -> usize {
        while !self.fixed && time / self.bin_ps >= MAX_BINS as u64 {
            self.double();
        }
        let bin = (time / self.bin_ps) as usize;
        let needed = (bin + 1) * self.jobs;
        if needed > self.injected.len() {
            self.injected.resize(needed, 0);
            self.delivered.resize(needed, 0);
        }
        bin
    }

    fn double(&mut self) {
        self.bin_ps *= 2;
        for series in [&mut self.injected, &mut self.delivered] {
            let bins = series.len() / self.jobs;
            for bin in 0..bins {
                for job in 0..self.jobs {
                    let value = series[bin * self.jobs + job];
                    series[bin * self.jobs + job] = 0;
                    series[bin / 2 * self.jobs + job] += value;
                }
            }
            series.truncate(bins.div_ceil(2) * self.jobs);
        }
    }

    #[inline]
    pub fn inject(&mut self, time: u64, job: u32, bytes: u64) {
        let index = self.index(time, job);
        self.injected[index] += bytes;
    }

    #[inline]
    pub fn deliver(&mut self, time: u64, job: u32, bytes: u64) {
        let index = self.index(time, job);
        self.delivered[index] += bytes;
    }

    /// The sum of what several collectors of the same jobs saw; the same
    /// whatever was seen by which.
    pub fn merge(collectors: impl Iterator<Item = Self>) -> Timeline {
        let mut collectors: Vec<_> = collectors.collect();
        let widest = collectors
            .iter()
            .map(|c| c.bin_ps)
            .max()
            .unwrap_or(FIRST_BIN_PS);
        let mut timeline = Timeline {
            bin: Picoseconds(widest),
            ..Timeline::default()
        };
        for collector in &mut collectors {
            while collector.bin_ps < widest {
                collector.double();
            }
            let needed = collector.injected.len().max(timeline.injected_bytes.len());
            timeline.injected_bytes.resize(needed, 0);
            timeline.delivered_bytes.resize(needed, 0);
            for (sum, part) in timeline.injected_bytes.iter_mut().zip(&collector.injected) {
                *sum += part;
            }
            for (sum, part) in timeline
                .delivered_bytes
                .iter_mut()
                .zip(&collector.delivered)
            {
                *sum += part;
            }
        }
        timeline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Splitting the observations over collectors changes nothing, and no byte is lost.
        #[test]
        fn merging_does_not_depend_on_the_split(
            seen in prop::collection::vec((0u64..50_000_000, 0u32..3, 1u64..1000, any::<bool>()), 1..200)
        ) {
            let mut whole = TimelineCollector::new(3, None);
            let mut parts = [TimelineCollector::new(3, None), TimelineCollector::new(3, None)];
            for &(time, job, bytes, second) in &seen {
                whole.inject(time, job, bytes);
                parts[usize::from(second)].inject(time, job, bytes);
                whole.deliver(time / 2, job, bytes);
                parts[usize::from(second)].deliver(time / 2, job, bytes);
            }
            let whole = TimelineCollector::merge(std::iter::once(whole));
            prop_assert_eq!(&whole, &TimelineCollector::merge(parts.into_iter()));
            prop_assert_eq!(whole.injected_bytes.iter().sum::<u64>(), seen.iter().map(|s| s.2).sum::<u64>());
            prop_assert!(whole.injected_bytes.len() / 3 <= MAX_BINS);
        }
    }
}
