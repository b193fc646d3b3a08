//! Synthetic logs: the workload model of Lublin and Feitelson ("The workload on
//! parallel supercomputers: modeling the characteristics of rigid jobs", JPDC
//! 63(11), 2003), with the parameters that its authors publish for all jobs, batch
//! jobs and interactive ones (Parallel Workloads Archive).

use odonata_declare::Named;
use odonata_units::random::{Purpose, Stream, StreamKey};
use rand_distr::{Distribution, Gamma};
use statrs::function::gamma::gamma_lr;
use thiserror::Error;

use super::job::{Job, JobLog, Status};
use super::rules::Report;
use crate::Seconds;

/// Which jobs the parameters describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Kind {
    /// Batch and interactive jobs together.
    All,
    /// Batch jobs.
    Batch,
    /// Interactive jobs.
    Interactive,
}

/// The model for a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LublinFeitelson {
    /// Which jobs.
    pub kind: Kind,
    /// Nodes of the machine, at least 2.
    pub nodes: u32,
    /// Number of jobs.
    pub jobs: u32,
    /// Factor of the times between submissions: below 1 raises the load.
    pub arrivals: f64,
    /// Requested time as a multiple of the run time, at least 1; `None` for logs
    /// without requested times. The model itself has none; a constant factor is the
    /// *f-model* of Mu'alem and Feitelson (2001, IV.B).
    pub request: Option<f64>,
    /// Seed.
    pub seed: u64,
}

/// A model that cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelError {
    /// Too small a machine.
    #[error("the model needs a machine of at least 2 nodes, not {0}")]
    Nodes(u32),
    /// A factor out of range.
    #[error("the factor of times between submissions is {0}; allowed: numbers above 0, up to 10⁶")]
    Arrivals(f64),
    /// A factor out of range.
    #[error("requested times are {0} run times; allowed: numbers from 1 to 10⁶")]
    Request(f64),
}

/// The numbers of the model.
struct Parameters {
    serial: f64,
    power_of_two: f64,
    /// Least log₂ of a parallel job's size; the weight of the lower sizes.
    low: f64,
    low_share: f64,
    /// The two gamma distributions of ln(run time), and the share of the first as
    /// `slope · nodes + base`.
    short: (f64, f64),
    long: (f64, f64),
    slope: f64,
    base: f64,
    /// ln of the time between arrivals in rush hours, and over the whole day.
    gap: (f64, f64),
    whole_day: f64,
    /// Half hours of the day.
    daily: (f64, f64),
}

const ALL: Parameters = Parameters {
    serial: 0.244,
    power_of_two: 0.576,
    low: 0.8,
    low_share: 0.86,
    short: (4.2, 0.94),
    long: (312.0, 0.03),
    slope: -0.0054,
    base: 0.78,
    gap: (10.2303, 0.4871),
    whole_day: 1.0225,
    daily: (8.1737, 3.9631),
};

const BATCH: Parameters = Parameters {
    serial: 0.2927,
    power_of_two: 0.6686,
    low: 1.2,
    low_share: 0.875,
    short: (6.57, 0.823),
    long: (639.1, 0.0156),
    slope: -0.003,
    base: 0.6986,
    gap: (6.0415, 0.8531),
    whole_day: 1.0519,
    daily: (6.1271, 5.2740),
};

const INTERACTIVE: Parameters = Parameters {
    serial: 0.1541,
    power_of_two: 0.625,
    low: 1.0,
    low_share: 0.705,
    short: (3.8351, 0.6605),
    long: (7.073, 0.6856),
    slope: -0.0118,
    base: 0.9156,
    gap: (6.5510, 0.6621),
    whole_day: 0.9797,
    daily: (8.9186, 3.6680),
};

/// Half hours in a day.
const SLOTS: usize = 48;
/// Seconds in one of them.
const SLOT_SECONDS: f64 = 1800.0;
/// Half hour at which the model's day begins: the least busy time.
const DAY_BEGINS: usize = 11;
/// Run times beyond e¹² s (45 h) and gaps beyond e¹³ s (5 days) are drawn again.
const LONGEST_RUN: f64 = 12.0;
const LONGEST_GAP: f64 = 13.0;

impl LublinFeitelson {
    /// Draws a log. Equal parameters and seeds give equal logs, and a log of more
    /// jobs begins with the jobs of the shorter one.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn generate(&self) -> Result<(JobLog, Report), ModelError> {
        if self.nodes < 2 {
            return Err(ModelError::Nodes(self.nodes));
        }
        if !(self.arrivals > 0.0 && self.arrivals <= 1e6) {
            return Err(ModelError::Arrivals(self.arrivals));
        }
        if let Some(factor) = self.request
            && !(1.0..=1e6).contains(&factor)
        {
            return Err(ModelError::Request(factor));
        }
        let model = match self.kind {
            Kind::All => &ALL,
            Kind::Batch => &BATCH,
            Kind::Interactive => &INTERACTIVE,
        };
        let key = StreamKey::new(self.seed, Purpose::Workload);
        let mut arrivals = Arrivals::new(model);
        let mut gaps = key.stream(0);
        let mut log = JobLog {
            machine_nodes: Some(self.nodes),
            machine_processors: Some(self.nodes),
            unit_because: "as it was drawn".to_owned(),
            ..JobLog::default()
        };
        let mut report = Report {
            file: "generated".to_owned(),
            format: "lublin-feitelson",
            ..Report::default()
        };
        log.header.push(("Version".to_owned(), "2.2".to_owned()));
        let note = format!(
            "Lublin-Feitelson 2003, {:?} jobs, seed {}, times between submissions x {}",
            self.kind, self.seed, self.arrivals
        );
        log.header.push(("Note".to_owned(), note));
        for index in 0..self.jobs {
            let mut draws = key.stream(u64::from(index) + 1);
            let submit = arrivals.next(&mut gaps) * self.arrivals;
            let nodes = size(model, self.nodes, &mut draws);
            let run = Seconds(run_time(model, nodes, &mut draws).round() as i64);
            let number = index + 1;
            let mut job = Job::new(
                number.to_string(),
                Seconds(submit.round() as i64),
                run,
                nodes,
            );
            job.requested = self.request.map(|factor| {
                // Users ask for whole minutes.
                Seconds(((run.0.max(1) as f64 * factor / 60.0).ceil() * 60.0) as i64)
            });
            job.processors = Some(nodes);
            job.requested_processors = Some(nodes);
            job.status = Status::Completed;
            log.jobs.push(job);
        }
        report.records = u64::from(self.jobs);
        report.jobs = report.records;
        Ok((log, report))
    }
}

/// Nodes of a job: 1, a power of two, or any number; log₂ uniform in two stages.
fn size(model: &Parameters, machine: u32, draws: &mut Stream) -> u32 {
    let kind = draws.unit();
    if kind <= model.serial {
        return 1;
    }
    let high = f64::from(machine).log2();
    // The authors place the border between the stages 1.5 to 3.5 below the top.
    let low = model.low.min(high);
    let middle = (high - 2.5).max(low);
    let (from, to) = if draws.unit() <= model.low_share {
        (low, middle)
    } else {
        (middle, high)
    };
    let mut exponent = from + (to - from) * draws.unit();
    if kind <= model.serial + model.power_of_two {
        exponent = exponent.round();
    }
    (exponent.exp2().round() as u32).clamp(2, machine)
}

/// Run time in seconds: its logarithm is of one of two gamma distributions, the
/// longer one the more often the larger the job.
fn run_time(model: &Parameters, nodes: u32, draws: &mut Stream) -> f64 {
    let short = (model.slope * f64::from(nodes) + model.base).clamp(0.0, 1.0);
    loop {
        let (shape, scale) = if draws.unit() <= short {
            model.short
        } else {
            model.long
        };
        let logarithm = gamma(shape, scale, draws);
        if logarithm <= LONGEST_RUN {
            return logarithm.exp();
        }
    }
}

/// Times of submission with the daily cycle: the gaps drawn are those of an
/// average half hour, and busier half hours take more of them.
struct Arrivals {
    gap: (f64, f64),
    /// Jobs of each half hour of the day relative to the mean.
    weights: [f64; SLOTS],
    slot: usize,
    /// Start of the slot, seconds.
    slot_start: f64,
    /// Mean half hours of work already used up in this slot.
    used: f64,
}

impl Arrivals {
    fn new(model: &Parameters) -> Self {
        let (shape, scale) = model.daily;
        let mut weights = [0.0; SLOTS];
        for slot in DAY_BEGINS..DAY_BEGINS + SLOTS {
            let upto = |at: f64| gamma_lr(shape, (at / scale).max(0.0));
            let at = slot as f64;
            weights[(slot - 1) % SLOTS] = upto(at + 0.5) - upto(at - 0.5);
        }
        let mean = weights.iter().sum::<f64>() / SLOTS as f64;
        weights.iter_mut().for_each(|weight| *weight /= mean);
        Self {
            gap: (model.gap.0 * model.whole_day, model.gap.1),
            weights,
            slot: 0,
            slot_start: 0.0,
            used: 0.0,
        }
    }

    /// The next time of submission, seconds after midnight of the first day.
    fn next(&mut self, draws: &mut Stream) -> f64 {
        let gap = loop {
            let logarithm = gamma(self.gap.0, self.gap.1, draws);
            if logarithm <= LONGEST_GAP {
                break logarithm.exp();
            }
        };
        self.used += gap / SLOT_SECONDS;
        while self.used > self.weights[self.slot] {
            self.used -= self.weights[self.slot];
            self.slot = (self.slot + 1) % SLOTS;
            self.slot_start += SLOT_SECONDS;
        }
        self.slot_start + SLOT_SECONDS * self.used / self.weights[self.slot]
    }
}

/// A draw from a gamma distribution.
fn gamma(shape: f64, scale: f64, draws: &mut Stream) -> f64 {
    let distribution =
        Gamma::new(shape, scale).expect("the model's shapes and scales are positive");
    distribution.sample(draws)
}

#[cfg(test)]
mod tests;
