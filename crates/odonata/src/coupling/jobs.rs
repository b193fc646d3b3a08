//! What every job of a log does on the network: drawn from stated distributions,
//! by (seed, number of the job), so that no draw depends on another job.

use odonata_scheduler::batch::size_classes;
use odonata_scheduler::log::{JobLog, Label};
use odonata_units::random::{Purpose, StreamKey};

use super::spec::{MixSpec, NetworkSpec, ShareSpec, wrong};
use crate::error::{Error, SpecError};

/// Counters of a job's draws.
const TRAFFIC: u32 = 0;
const SHARE: u32 = 1;

/// What a job does on the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Communication {
    /// Share of its run time in the log.
    pub share: f64,
    /// Which traffic; none: it does not use the network.
    pub traffic: Option<u32>,
}

impl Communication {
    /// Number of the traffic that a job on this many nodes has, if it uses the network.
    pub(super) fn traffic_on(&self, nodes: usize) -> Option<usize> {
        let talks = self.share > 0.0 && nodes > 1;
        self.traffic
            .filter(|_| talks)
            .map(|traffic| traffic as usize)
    }

    /// How fast the job goes on while it gets `part` of the rate at which it wants to
    /// communicate; its speed in the log is 1.
    pub(super) fn speed(&self, part: f64) -> f64 {
        1.0 / (1.0 - self.share + self.share / part)
    }
}

/// Classes of sizes with what jobs of them draw.
pub(crate) struct MixTable<'a> {
    classes: &'a [MixSpec],
    /// All names, each once.
    pub names: Vec<String>,
}

impl<'a> MixTable<'a> {
    /// # Errors
    /// If sizes or shares make no sense; `key` is that of the classes.
    pub(crate) fn new(key: &str, classes: &'a [MixSpec]) -> Result<Self, Error> {
        let mut names: Vec<String> = vec![];
        for class in classes {
            let total: f64 = class.shares.iter().map(|(_, share)| share).sum();
            let sound = |&(_, share): &(String, f64)| share.is_finite() && share >= 0.0;
            if class.from > class.to || !class.shares.iter().all(sound) || total <= 0.0 {
                let found = format!("{}..{} nodes: {:?}", class.from, class.to, class.shares);
                let allowed =
                    "a first size no larger than the last, and shares from 0 that are not all 0";
                return Err(Error::Spec(SpecError::value(key, found, allowed)));
            }
            for (name, _) in &class.shares {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        Ok(Self { classes, names })
    }

    /// What a job of a log has, by place in `names`, where `drawn` is uniform in 0..1;
    /// nothing if it is in no class.
    pub(crate) fn draw(&self, log: &JobLog, job: usize, drawn: f64) -> Option<u32> {
        let job = &log.jobs[job];
        let is_called = |asked: &Option<String>, label: Label| {
            (asked.as_deref()).is_none_or(|asked| log.names.text(label) == Some(asked))
        };
        let mut classes = self.classes.iter();
        let class = classes.find(|class| {
            (class.from..=class.to).contains(&job.nodes)
                && is_called(&class.user, job.user)
                && is_called(&class.name, job.application)
        })?;
        let total: f64 = class.shares.iter().map(|(_, share)| share).sum();
        let mut left = drawn * total;
        let found = class.shares.iter().find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        let (name, _) = found.or(class.shares.last())?;
        let number = self.names.iter().position(|known| known == name)?;
        Some(number as u32)
    }
}

/// Draws it for all jobs; and the names of traffics. `of_mode` names the traffic of a
/// job by its mode, where it follows that.
pub(super) fn communications(
    log: &JobLog,
    spec: &NetworkSpec,
    of_mode: &dyn Fn(usize) -> Option<&'static str>,
) -> Result<(Vec<Communication>, Vec<String>), Error> {
    let key = StreamKey::new(spec.seed, Purpose::Destination);
    let share = shares(log, spec.communication_share, key)?;
    let Some(mix) = &spec.mix else {
        let mut names: Vec<String> = vec![];
        let mut number = |name: &str| match names.iter().position(|known| known == name) {
            Some(known) => known as u32,
            None => {
                names.push(name.to_owned());
                names.len() as u32 - 1
            }
        };
        let jobs = share.into_iter().enumerate();
        let jobs = jobs.map(|(index, share)| Communication {
            share,
            traffic: of_mode(index).map(&mut number),
        });
        return Ok((jobs.collect(), names));
    };
    let table = MixTable::new("network.mix", mix)?;
    let jobs = share
        .into_iter()
        .enumerate()
        .map(|(index, share)| Communication {
            share,
            traffic: table.draw(log, index, key.unit(index as u64, TRAFFIC)),
        });
    Ok((jobs.collect(), table.names))
}

/// Draws the application of every job, by place among those with these names; none for a job
/// that is in no class.
///
/// # Errors
/// If the mix has a name that no application has.
pub(super) fn applications(
    log: &JobLog,
    mix: &[MixSpec],
    names: &[&str],
    seed: u64,
) -> Result<Vec<Option<u32>>, Error> {
    let key = StreamKey::new(seed, Purpose::Destination);
    let table = MixTable::new("network.mix", mix)?;
    let place = |name: &String| {
        let place = names.iter().position(|known| known == name);
        place.ok_or_else(|| wrong("mix", format!("\"{name}\""), names.join(", ")))
    };
    let places: Vec<usize> = table.names.iter().map(place).collect::<Result<_, _>>()?;
    let draw = |job: usize| table.draw(log, job, key.unit(job as u64, TRAFFIC));
    let drawn = (0..log.jobs.len()).map(|job| draw(job).map(|name| places[name as usize] as u32));
    Ok(drawn.collect())
}

/// Every job's share of communication.
fn shares(log: &JobLog, spec: ShareSpec, key: StreamKey) -> Result<Vec<f64>, Error> {
    let jobs = &log.jobs;
    let bad = |found: f64| wrong("mpi_share", found, "0 to 1, or 0% to 100%");
    let check = |share: f64| match (0.0..=1.0).contains(&share) {
        true => Ok(share),
        false => Err(bad(share)),
    };
    match spec {
        ShareSpec::Fixed(share) => Ok(vec![check(share)?; jobs.len()]),
        ShareSpec::Between(low, high) => {
            let (low, high) = (check(low)?, check(high)?);
            if low > high {
                let found = format!("{low}..{high}");
                let allowed = "a smaller number before a larger one";
                return Err(wrong("mpi_share", found, allowed));
            }
            let draw = |job: usize| low + (high - low) * key.unit(job as u64, SHARE);
            Ok((0..jobs.len()).map(draw).collect())
        }
        ShareSpec::Log => {
            let known = |job: &odonata_scheduler::log::Job| {
                job.communication_share
                    .filter(|share| (0.0..=1.0).contains(share))
            };
            let largest = jobs.iter().map(|job| job.nodes).max().unwrap_or(1);
            let classes = size_classes(largest);
            let class = |nodes: u32| nodes.max(1).ilog2() as usize;
            let mut sums = vec![(0.0, 0u32); classes.len()];
            for job in jobs {
                if let Some(share) = known(job) {
                    let (sum, count) = &mut sums[class(job.nodes)];
                    *sum += share;
                    *count += 1;
                }
            }
            let (sum, count) = sums
                .iter()
                .fold((0.0, 0), |(sum, count), of| (sum + of.0, count + of.1));
            if count == 0 && !jobs.is_empty() {
                let allowed = "a share such as 30%, or two between which it is drawn such as \
                               10%..50%: this log says of no job how much it communicates";
                return Err(wrong("mpi_share", "log", allowed));
            }
            let mean = |job: &odonata_scheduler::log::Job| match sums[class(job.nodes)] {
                (_, 0) => sum / f64::from(count),
                (sum, count) => sum / f64::from(count),
            };
            let of = |job| known(job).unwrap_or_else(|| mean(job));
            Ok(jobs.iter().map(of).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use odonata_scheduler::Seconds;
    use odonata_scheduler::log::Job;

    use super::*;
    use crate::coupling::LevelSpec;

    fn log(jobs: &[(u32, Option<f64>)]) -> JobLog {
        let mut log = JobLog::default();
        for &(nodes, share) in jobs {
            let mut job = Job::new("job", Seconds(0), Seconds(100), nodes);
            job.communication_share = share;
            log.jobs.push(job);
        }
        log
    }

    fn spec(communication_share: ShareSpec, shares: &[(&str, f64)]) -> NetworkSpec {
        let shares = shares.iter().map(|&(name, share)| (name.to_owned(), share));
        NetworkSpec {
            communication_share,
            mix: Some(vec![MixSpec {
                from: 2,
                to: 1000,
                user: None,
                name: None,
                shares: shares.collect(),
            }]),
            seed: 1,
            level: LevelSpec::Table { speed_ups: vec![] },
            applications: None,
        }
    }

    #[test]
    fn unknown_shares_are_the_mean_of_their_size() {
        // Sizes 4 to 7 have a mean of 0.3; of size 1 nothing is known, the mean of
        // all is (0.2 + 0.4 + 0.9) / 3 = 0.5.
        let log = log(&[
            (4, Some(0.2)),
            (7, Some(0.4)),
            (6, None),
            (1, None),
            (64, Some(0.9)),
        ]);
        let (jobs, _) =
            communications(&log, &spec(ShareSpec::Log, &[("a", 1.0)]), &|_| None).unwrap();
        let shares: Vec<f64> = jobs
            .iter()
            .map(|job| (job.share * 1e9).round() / 1e9)
            .collect();
        assert_eq!(shares, [0.2, 0.4, 0.3, 0.5, 0.9]);
        assert_eq!(jobs[3].traffic, None);
        assert_eq!(jobs[0].traffic, Some(0));
    }

    #[test]
    fn traffic_is_drawn_by_its_shares() {
        // 10,000 jobs, of which 70 % on average: a standard deviation of 46 jobs.
        let log = log(&[(8, None); 10_000]);
        let spec = spec(
            ShareSpec::Between(0.2, 0.4),
            &[("often", 7.0), ("rare", 3.0)],
        );
        let (jobs, names) = communications(&log, &spec, &|_| None).unwrap();
        assert_eq!(names, ["often", "rare"]);
        let often = jobs.iter().filter(|job| job.traffic == Some(0)).count();
        assert!((6800..7200).contains(&often), "{often}");
        let mean: f64 = jobs.iter().map(|job| job.share).sum::<f64>() / 1e4;
        assert!((mean - 0.3).abs() < 0.003, "{mean}");
        assert!(jobs.iter().all(|job| (0.2..0.4).contains(&job.share)));
    }
}
