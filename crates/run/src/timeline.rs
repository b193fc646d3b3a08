//! Activity per slice of time, in bounded memory.

use odonata_units::Picoseconds;

use crate::memory::reserve;
use crate::outcome::{Activity, Timeline};

/// More bins than this make the automatic width double.
const MAX_BINS: usize = 1_024;
/// Automatic width to begin with.
const FIRST_BIN_PS: u64 = 1_000;

/// Adds empty entries until there are this many.
fn extend(activity: &mut Vec<Activity>, entries: usize) {
    const WHAT: &str = "the timeline (wider bins take less)";
    let present = activity.len();
    if entries > activity.capacity() {
        reserve(activity, entries - present, WHAT);
    }
    activity.resize(entries, Activity::default());
}

/// Collects activity per bin and job.
#[derive(Clone, Debug)]
pub struct TimelineCollector {
    jobs: usize,
    bin_ps: u64,
    fixed: bool,
    /// The bin that was used last: its start, its width (zero if there is none)
    /// and its index in the series.
    last_start: u64,
    last_width: u64,
    last_index: usize,
    /// Shape: bins × jobs.
    activity: Vec<Activity>,
}

impl TimelineCollector {
    /// The timeline of this many jobs; `bin` is the width, or chosen: it doubles whenever there are
    /// more than 1,024 bins.
    pub fn new(jobs: usize, bin: Option<Picoseconds>) -> Self {
        Self {
            jobs,
            bin_ps: bin.map_or(FIRST_BIN_PS, |bin| bin.0),
            fixed: bin.is_some(),
            last_start: 0,
            last_width: 0,
            last_index: 0,
            // Allocated here, so that it lies in this thread's part of the heap.
            activity: Vec::with_capacity(64),
        }
    }

    /// A collector of `jobs` jobs that has seen what `timeline` shows.
    /// `bin` as for [`TimelineCollector::new`].
    pub fn resumed(jobs: usize, bin: Option<Picoseconds>, timeline: Timeline) -> Self {
        Self {
            bin_ps: timeline.bin.0,
            activity: timeline.activity,
            ..Self::new(jobs, bin)
        }
    }

    #[inline(always)]
    fn at(&mut self, time: u64, job: u32) -> &mut Activity {
        if time.wrapping_sub(self.last_start) >= self.last_width {
            self.find(time);
        }
        &mut self.activity[self.last_index + job as usize]
    }

    fn find(&mut self, time: u64) {
        let mut bin = (time / self.bin_ps) as usize;
        if (bin + 1) * self.jobs > self.activity.len() {
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
        let needed = (bin + 1).saturating_mul(self.jobs);
        if needed > self.activity.len() {
            extend(&mut self.activity, needed);
        }
        bin
    }

    fn double(&mut self) {
        self.bin_ps *= 2;
        let bins = self.activity.len() / self.jobs;
        for bin in 0..bins {
            for job in 0..self.jobs {
                let value = std::mem::take(&mut self.activity[bin * self.jobs + job]);
                self.activity[bin / 2 * self.jobs + job].add(&value);
            }
        }
        self.activity.truncate(bins.div_ceil(2) * self.jobs);
    }

    /// Bytes leave their node.
    #[inline]
    pub fn inject(&mut self, time: u64, job: u32, bytes: u64) {
        self.at(time, job).injected_bytes += bytes;
    }

    /// Bytes arrive.
    #[inline]
    pub fn deliver(&mut self, time: u64, job: u32, bytes: u64) {
        self.at(time, job).delivered_bytes += bytes;
    }

    /// A message is complete at `time`, so long after its creation.
    #[inline]
    pub fn complete(&mut self, time: u64, job: u32, latency: u64) {
        let activity = self.at(time, job);
        activity.messages += 1;
        activity.latency_ps += latency;
    }

    /// The sum of what several collectors of the same jobs saw; the same
    /// whatever was seen by which.
    pub fn merge<'c>(collectors: impl Iterator<Item = &'c Self> + Clone) -> Timeline {
        let widest = collectors.clone().map(|c| c.bin_ps).max();
        let mut timeline = Timeline {
            bin: Picoseconds(widest.unwrap_or(FIRST_BIN_PS)),
            ..Timeline::default()
        };
        for collector in collectors {
            // Widths are the first one doubled this many times: one of these bins
            // lies in one bin of the sum.
            let merged = (timeline.bin.0 / collector.bin_ps) as usize;
            let bins = (collector.activity.len() / collector.jobs).div_ceil(merged);
            if bins * collector.jobs > timeline.activity.len() {
                extend(&mut timeline.activity, bins * collector.jobs);
            }
            for (index, activity) in collector.activity.iter().enumerate() {
                let (bin, job) = (index / collector.jobs, index % collector.jobs);
                timeline.activity[bin / merged * collector.jobs + job].add(activity);
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
                whole.complete(time / 2, job, time / 3);
                parts[usize::from(second)].complete(time / 2, job, time / 3);
            }
            let whole = TimelineCollector::merge(std::iter::once(&whole));
            prop_assert_eq!(&whole, &TimelineCollector::merge(parts.iter()));
            let sum = |of: fn(&Activity) -> u64| whole.activity.iter().map(of).sum::<u64>();
            prop_assert_eq!(sum(|a| a.injected_bytes), seen.iter().map(|s| s.2).sum::<u64>());
            prop_assert_eq!(sum(|a| a.delivered_bytes), seen.iter().map(|s| s.2).sum::<u64>());
            prop_assert_eq!(sum(|a| a.messages), seen.len() as u64);
            prop_assert_eq!(sum(|a| a.latency_ps), seen.iter().map(|s| s.0 / 3).sum::<u64>());
            prop_assert!(whole.activity.len() / 3 <= MAX_BINS);
        }
    }
}
