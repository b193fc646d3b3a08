//! What a run's timeline says of one job, as series of observations.

use super::batches::Observation;
use super::mser::mser5;
use odonata_run::Timeline;

/// One job's activity in the slices of time that lie wholly between two times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobSeries {
    /// Start of the first slice, in ps.
    pub begin_ps: u64,
    /// Width of a slice, in ps.
    pub slice_ps: u64,
    /// Messages that arrived whole, and the sum of their latencies in ps.
    pub latency: Vec<Observation>,
    /// Time in ps, and bytes that arrived in it.
    pub accepted: Vec<Observation>,
}

/// The series of one of the jobs of a timeline. A slice that `from` lies in, or
/// that ends after `to` (both in ps), is not part of it.
#[must_use]
pub fn job_series(timeline: &Timeline, jobs: usize, job: usize, from: u64, to: u64) -> JobSeries {
    let slice = timeline.bin.0.max(1);
    let first = from.div_ceil(slice);
    let end = (to / slice).max(first);
    let activity = (first..end).map(|bin| {
        // Slices after the last one with any activity are not stored.
        let index = bin as usize * jobs + job;
        timeline.activity.get(index).copied().unwrap_or_default()
    });
    let mut series = JobSeries {
        begin_ps: first * slice,
        slice_ps: slice,
        ..JobSeries::default()
    };
    for slot in activity {
        series.latency.push(Observation {
            weight: slot.messages as f64,
            sum: slot.latency_ps as f64,
        });
        series.accepted.push(Observation {
            weight: slice as f64,
            sum: slot.delivered_bytes as f64,
        });
    }
    series
}

impl JobSeries {
    /// When the warm-up of the job ends, in ps, as far as this series shows
    /// ([`mser5`] on both its quantities); `None` if it shows no steady state.
    ///
    /// Slices without messages at the beginning belong to the warm-up. Where there
    /// are some later, slices are merged until there are none.
    #[must_use]
    pub fn warmup_end_ps(&self) -> Option<u64> {
        let silent = self.latency.iter().take_while(|o| o.weight == 0.0).count();
        let mut merged = 1;
        let latency = loop {
            let means = ratios(&self.latency[silent..], merged);
            if means.is_empty() {
                return None;
            }
            if means.iter().all(|mean| mean.is_finite()) {
                break means;
            }
            merged *= 2;
        };
        let accepted = ratios(&self.accepted[silent..], merged);
        let cut = mser5(&latency)?.max(mser5(&accepted)?);
        let slices = silent + cut * merged;
        // The rule judges what it was given; with what it was not given, too, less
        // than half may be warm-up.
        (slices <= self.latency.len() / 2).then(|| self.begin_ps + slices as u64 * self.slice_ps)
    }
}

/// Means of `merged` observations each.
fn ratios(observations: &[Observation], merged: usize) -> Vec<f64> {
    let ratio = |group: &[Observation]| {
        let sum: f64 = group.iter().map(|o| o.sum).sum();
        sum / group.iter().map(|o| o.weight).sum::<f64>()
    };
    observations.chunks_exact(merged).map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_run::Activity;
    use odonata_units::Picoseconds;

    /// Two jobs; the second one delivers `messages(slice)` messages of 8 bytes
    /// with a latency of `latency(slice)` ps.
    fn timeline(
        slices: u64,
        messages: impl Fn(u64) -> u64,
        latency: impl Fn(u64) -> u64,
    ) -> Timeline {
        let other = Activity {
            messages: 1_000,
            ..Activity::default()
        };
        let job = |slice| Activity {
            injected_bytes: 0,
            delivered_bytes: 8 * messages(slice),
            messages: messages(slice),
            latency_ps: messages(slice) * latency(slice),
        };
        Timeline {
            bin: Picoseconds(100),
            activity: (0..slices).flat_map(|s| [other, job(s)]).collect(),
        }
    }

    #[test]
    fn only_whole_slices_of_the_job_count() {
        let timeline = timeline(10, |slice| slice, |_| 5);
        let series = job_series(&timeline, 2, 1, 250, 899);
        assert_eq!((series.begin_ps, series.slice_ps), (300, 100));
        let weights: Vec<f64> = series.latency.iter().map(|o| o.weight).collect();
        assert_eq!(weights, [3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(series.latency[0].sum, 15.0);
        assert_eq!(
            series.accepted[4],
            Observation {
                weight: 100.0,
                sum: 56.0
            }
        );
        // Nothing is stored after 1,000 ps, where nothing happened.
        let later = job_series(&timeline, 2, 1, 0, 1_500);
        assert_eq!(later.latency.len(), 15);
        assert_eq!(later.accepted[14].sum, 0.0);
        assert!(job_series(&timeline, 2, 1, 950, 960).latency.is_empty());
    }

    #[test]
    fn the_warm_up_ends_when_both_quantities_are_steady() {
        let odd = |slice: u64| 50 + slice % 2;
        // Silence for 20 slices, then latencies fall in one step at 200.
        let latency = timeline(
            1_000,
            |s| if s < 20 { 0 } else { odd(s) },
            |s| if s < 200 { 90 } else { 50 + s % 3 },
        );
        let end = job_series(&latency, 2, 1, 0, 100_000).warmup_end_ps();
        assert!((20_000..=20_500).contains(&end.unwrap()), "{end:?}");
        // What is delivered rises later than latencies settle.
        let accepted = timeline(
            1_000,
            |s| if s < 300 { 20 } else { odd(s) },
            |s| if s < 100 { 90 } else { 50 + s % 3 },
        );
        let end = job_series(&accepted, 2, 1, 0, 100_000).warmup_end_ps();
        assert!((30_000..=30_500).contains(&end.unwrap()), "{end:?}");
        // Latencies that grow have no steady state.
        let growing = timeline(1_000, odd, |s| 50 + s);
        assert_eq!(job_series(&growing, 2, 1, 0, 100_000).warmup_end_ps(), None);
        // Rare messages: one in seven slices.
        let rare = timeline(1_000, |s| u64::from(s % 7 == 3), |_| 50);
        assert!(
            job_series(&rare, 2, 1, 0, 100_000)
                .warmup_end_ps()
                .is_some()
        );
        // None at all.
        let silent = timeline(1_000, |_| 0, |_| 50);
        assert_eq!(job_series(&silent, 2, 1, 0, 100_000).warmup_end_ps(), None);
    }
}
