//! The order of the queue.

use crate::Seconds;
use crate::log::Label;

/// Which waiting job comes first. Jobs of equal priority come in order of
/// submission, then in the order of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// First come, first served.
    Fcfs,
    /// Shortest estimate first.
    ShortestFirst,
    /// Longest estimate first.
    LongestFirst,
    /// Fewest nodes first.
    SmallestFirst,
    /// Most nodes first.
    LargestFirst,
    /// (wait / estimate)³ × nodes: *WFP3* (Tang et al. 2009), which favours large
    /// jobs and jobs that have waited long for their length; Cobalt's on Mira.
    Wfp,
    /// Slurm's multifactor priority.
    Multifactor(Multifactor),
    /// Given priorities, highest first. Shape: jobs of the log.
    Listed(Vec<f64>),
}

/// Weights of Slurm's multifactor priority (slurm.conf, `PriorityWeight…`). A job's
/// priority is the sum of weight × factor, factors between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Multifactor {
    /// Weight of age: wait / [`Self::max_age`], at most 1.
    pub age: f64,
    /// Weight of size: share of the machine.
    pub size: f64,
    /// Weight of fair share: 2^(−usage / share), all users' shares alike.
    pub fair_share: f64,
    /// Wait that counts as age 1 (`PriorityMaxAge`).
    pub max_age: Seconds,
    /// Time after which usage counts half (`PriorityDecayHalfLife`); 0 for never.
    pub half_life: Seconds,
    /// Whether small jobs, not large ones, are favoured (`PriorityFavorSmall`).
    pub favour_small: bool,
}

impl Default for Multifactor {
    /// Equal weights, and Slurm's defaults of the times: 7 days each.
    fn default() -> Self {
        Self {
            age: 1000.0,
            size: 1000.0,
            fair_share: 1000.0,
            max_age: Seconds(7 * 86_400),
            half_life: Seconds(7 * 86_400),
            favour_small: false,
        }
    }
}

impl Order {
    /// Whether the order of two waiting jobs may change as time passes.
    pub(super) fn changes(&self) -> bool {
        matches!(self, Self::Wfp | Self::Multifactor(_))
    }

    /// Whether the parameters make sense.
    pub(super) fn check(&self) -> Result<(), String> {
        let weights = match self {
            Self::Multifactor(weights) => weights,
            Self::Listed(priorities) => {
                return match priorities.iter().position(|one| !one.is_finite()) {
                    None => Ok(()),
                    Some(job) => Err(format!(
                        "the priority of job {job} is {}; allowed: finite numbers",
                        priorities[job]
                    )),
                };
            }
            _ => return Ok(()),
        };
        for (what, weight) in [
            ("age", weights.age),
            ("size", weights.size),
            ("fair share", weights.fair_share),
        ] {
            if !(0.0..=1e12).contains(&weight) {
                return Err(format!(
                    "the weight of {what} is {weight}; allowed: 0 to 10¹²"
                ));
            }
        }
        if weights.max_age <= Seconds::ZERO || weights.half_life < Seconds::ZERO {
            return Err(format!(
                "the longest age is {} and the half-life {}; the first must be at least 1 s, the \
                 second 0 (no decay) or more",
                weights.max_age, weights.half_life
            ));
        }
        Ok(())
    }
}

/// What an order looks at in a waiting job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its place in the log.
    pub job: u32,
    pub submit: Seconds,
    pub estimate: Seconds,
    pub nodes: u32,
    pub user: Label,
}

/// What users have had, decaying over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    /// Node-seconds of each user (index of the label; the last entry is of jobs
    /// without user), as of `at`.
    of: Vec<f64>,
    /// Nodes that each user holds.
    nodes: Vec<f64>,
    total: f64,
    users: f64,
    at: Seconds,
}

impl Usage {
    /// For labels up to `labels`, of which `users` are users of the log.
    pub fn new(labels: usize, users: usize) -> Self {
        Self {
            of: vec![0.0; labels + 1],
            nodes: vec![0.0; labels + 1],
            total: 0.0,
            users: users.max(1) as f64,
            at: Seconds::ZERO,
        }
    }

    fn slot(&self, user: Label) -> usize {
        user.index().unwrap_or(self.of.len() - 1)
    }

    /// A job of the user starts (or, with negative nodes, ends) on this many nodes.
    pub fn change(&mut self, now: Seconds, user: Label, nodes: f64, half_life: Seconds) {
        self.advance(now, half_life);
        let slot = self.slot(user);
        self.nodes[slot] += nodes;
    }

    /// Adds what was used up to `now`, after halving what is older.
    pub fn advance(&mut self, now: Seconds, half_life: Seconds) {
        let passed = (now - self.at).0 as f64;
        if passed <= 0.0 {
            self.at = self.at.max(now);
            return;
        }
        let (keep, gained) = if half_life.0 == 0 {
            (1.0, passed)
        } else {
            // Usage at a constant rate decays as it comes in: the integral of
            // 2^(−t/h) over the time passed.
            let rate = std::f64::consts::LN_2 / half_life.0 as f64;
            let keep = (-rate * passed).exp();
            (keep, (1.0 - keep) / rate)
        };
        self.total = 0.0;
        for (of, nodes) in self.of.iter_mut().zip(&self.nodes) {
            *of = *of * keep + nodes * gained;
            self.total += *of;
        }
        self.at = now;
    }

    /// 2^(−usage / share): 1 for who has used nothing, ½ for who used their share.
    fn factor(&self, user: Label) -> f64 {
        if self.total <= 0.0 {
            return 1.0;
        }
        let usage = self.of[self.slot(user)] / self.total;
        (-usage * self.users).exp2()
    }
}

/// Priority of a waiting job; higher comes first.
pub(super) fn priority(
    order: &Order,
    job: &Candidate,
    now: Seconds,
    machine: u32,
    usage: &Usage,
) -> f64 {
    let wait = (now - job.submit).0.max(0) as f64;
    let estimate = job.estimate.0.max(1) as f64;
    match order {
        Order::Fcfs => 0.0,
        Order::ShortestFirst => -estimate,
        Order::LongestFirst => estimate,
        Order::SmallestFirst => -f64::from(job.nodes),
        Order::LargestFirst => f64::from(job.nodes),
        Order::Wfp => (wait / estimate).powi(3) * f64::from(job.nodes),
        Order::Multifactor(weights) => {
            let age = (wait / weights.max_age.0 as f64).min(1.0);
            let share = f64::from(job.nodes) / f64::from(machine);
            let size = if weights.favour_small {
                1.0 - share
            } else {
                share
            };
            weights.age * age + weights.size * size + weights.fair_share * usage.factor(job.user)
        }
        Order::Listed(priorities) => priorities[job.job as usize],
    }
}

#[cfg(test)]
mod tests;
