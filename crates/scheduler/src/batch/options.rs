//! Options of a batch simulation.

use thiserror::Error;

use super::machine::Withheld;
use super::order::Order;
use crate::Seconds;
use crate::log::Job;
use crate::outages::{OutageError, Outages};

/// Which jobs may overtake others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// None: the queue's first job starts, or all wait.
    InOrder,
    /// A job may start early if, by the estimates, it delays none of the first
    /// `depth` jobs of the queue, which hold reservations that are planned anew
    /// in every pass. Depth 1 is EASY (Lifka 1995).
    Backfill {
        /// Jobs with reservations.
        depth: u32,
    },
    /// Every job gets a reservation when it comes and keeps it: it may move to an
    /// earlier time when a job ends early, never to a later one (conservative
    /// backfill, Mu'alem and Feitelson 2001).
    Conservative,
}

impl Policy {
    /// EASY backfill.
    pub const EASY: Self = Self::Backfill { depth: 1 };
    /// Conservative backfill that plans all reservations anew in every pass, so
    /// that a reservation may move to a later time.
    pub const REPLANNED: Self = Self::Backfill { depth: u32::MAX };
}

/// How long the scheduler believes that a job runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimate {
    /// As long as its user requested; where that is unknown, as long as it runs.
    Requested,
    /// As long as it runs.
    Perfect,
    /// A multiple of how long it runs.
    Factor(f64),
}

/// When the scheduler looks at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// Once for all that happens in the same second.
    PerInstant,
    /// After every single end and submission, ends first.
    PerEvent,
    /// At multiples of this time after the first submission, if anything happened.
    Every(Seconds),
}

/// A time in which nodes are withheld: maintenance, or a reservation for users.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its name in messages.
    pub name: String,
    /// First second.
    pub start: Seconds,
    /// The second after the last.
    pub end: Seconds,
    /// Which nodes.
    pub nodes: Withheld,
    /// Users whose jobs may run on these nodes within the window; none for
    /// maintenance.
    pub users: Vec<String>,
}

/// Jobs that could start are held while the network is busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// Loss ([`super::Network::loss`]) above which a job is held.
    pub above: f64,
    /// How long a job is held at most, from when it first could have started.
    pub at_most: Seconds,
}

/// What counts as a job's time of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// When it was submitted.
    Submit,
    /// When it became eligible, where the log knows that.
    Eligible,
}

/// What jobs that ask for more than the machine has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Larger {
    /// Refused.
    Refuse,
    /// Cut down to the machine.
    Cut,
}

/// What is counted as a machine's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Whole nodes: no two jobs on one node.
    Nodes,
    /// Processors: jobs share nodes as long as there are processors; which node
    /// they sit on is not looked at. A node has this many of them.
    Processors(u32),
}

impl Share {
    /// What a job of a log asks for.
    pub fn asked(self, job: &Job) -> u32 {
        match self {
            Self::Nodes => job.nodes,
            Self::Processors(per_node) => job
                .requested_processors
                .or(job.processors)
                .filter(|&count| count > 0)
                .unwrap_or_else(|| job.nodes.saturating_mul(per_node)),
        }
    }
}

/// How to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which jobs may overtake.
    pub policy: Policy,
    /// The order of the queue.
    pub order: Order,
    /// Run times of waiting jobs.
    pub waiting_estimate: Estimate,
    /// Run times of running jobs.
    pub running_estimate: Estimate,
    /// Whether jobs are killed when their requested time is over.
    pub enforce_limits: bool,
    /// When the scheduler works.
    pub passes: Passes,
    /// What counts as submission.
    pub arrival: Arrival,
    /// Jobs larger than the machine.
    pub larger: Larger,
    /// Whole nodes or processors.
    pub share: Share,
    /// Maintenance and reservations.
    pub windows: Vec<Window>,
    /// Nodes that fail.
    pub outages: Outages,
    /// Whether jobs are held while the network is busy.
    pub hold: Option<Hold>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            policy: Policy::EASY,
            order: Order::Fcfs,
            waiting_estimate: Estimate::Requested,
            running_estimate: Estimate::Requested,
            enforce_limits: true,
            passes: Passes::PerInstant,
            arrival: Arrival::Submit,
            larger: Larger::Refuse,
            share: Share::Nodes,
            windows: Vec::new(),
            outages: Outages::default(),
            hold: None,
        }
    }
}

/// Options that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OptionError {
    /// A machine without nodes.
    #[error("the machine has 0 nodes; it needs at least 1")]
    NoNodes,
    /// A factor below 1 would have jobs outlive their estimates.
    #[error("estimates are {0} times the run time; allowed: numbers from 1 to 10⁶")]
    Factor(f64),
    /// A window that ends before it starts.
    #[error("window \"{name}\" lasts from {start} to {end}; its end must lie after its start")]
    Window {
        /// Its name.
        name: String,
        /// Start.
        start: Seconds,
        /// End.
        end: Seconds,
    },
    /// More nodes than there are.
    #[error("window \"{name}\" withholds {asked}, but the machine has nodes 0 to {last}")]
    WindowNodes {
        /// Its name.
        name: String,
        /// What it asks for.
        asked: String,
        /// Highest node.
        last: u32,
    },
    /// An interval of 0.
    #[error("the scheduler works every {0}; it must be at least 1 s")]
    Interval(Seconds),
    /// No job gets a reservation.
    #[error("backfill with 0 reservations would starve large jobs; at least 1 (EASY)")]
    Depth,
    /// Promises fall due between the ends of one second.
    #[error(
        "conservative backfill keeps promises only if all ends of a second are seen together; use \
         passes per instant, or reservations that are planned anew"
    )]
    PassesPerEvent,
    /// No processors.
    #[error("0 processors per node; a node has at least 1")]
    Processors,
    /// Holding that makes no sense.
    #[error("jobs are held above a loss of {} for at most {}; allowed: a loss from 0 on, and at least 1 s", .0.above, .0.at_most)]
    Hold(Hold),
    /// Nodes that fail.
    #[error(transparent)]
    Outages(#[from] OutageError),
    /// Nodes that fail where jobs are on none in particular.
    #[error(
        "nodes fail, but jobs share them by processors, so that nobody knows who is on them; \
         schedule whole nodes"
    )]
    SharedOutages,
    /// A parameter of the order.
    #[error("{0}")]
    Order(String),
}

impl Options {
    /// Whether a machine of `nodes` nodes can be simulated with these options.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, nodes: u32) -> Result<(), OptionError> {
        if nodes == 0 {
            return Err(OptionError::NoNodes);
        }
        for estimate in [self.waiting_estimate, self.running_estimate] {
            if let Estimate::Factor(factor) = estimate
                && !(1.0..=1e6).contains(&factor)
            {
                return Err(OptionError::Factor(factor));
            }
        }
        if let Passes::Every(interval) = self.passes
            && interval <= Seconds::ZERO
        {
            return Err(OptionError::Interval(interval));
        }
        if self.policy == (Policy::Backfill { depth: 0 }) {
            return Err(OptionError::Depth);
        }
        if (self.policy, self.passes) == (Policy::Conservative, Passes::PerEvent) {
            return Err(OptionError::PassesPerEvent);
        }
        if self.share != Share::Nodes && !self.outages.is_empty() {
            return Err(OptionError::SharedOutages);
        }
        if self.share == Share::Processors(0) {
            return Err(OptionError::Processors);
        }
        if let Some(hold) = self.hold
            && (!hold.above.is_finite() || hold.above < 0.0 || hold.at_most <= Seconds::ZERO)
        {
            return Err(OptionError::Hold(hold));
        }
        for window in &self.windows {
            if window.end <= window.start {
                return Err(OptionError::Window {
                    name: window.name.clone(),
                    start: window.start,
                    end: window.end,
                });
            }
            let asked = match &window.nodes {
                Withheld::Count(count) if *count > nodes => Some(format!("{count} nodes")),
                Withheld::Nodes(list) => {
                    let beyond = list.iter().find(|node| node.0 >= nodes);
                    beyond.map(|node| format!("node {node}"))
                }
                _ => None,
            };
            if let Some(asked) = asked {
                return Err(OptionError::WindowNodes {
                    name: window.name.clone(),
                    asked,
                    last: nodes - 1,
                });
            }
        }
        self.order.check().map_err(OptionError::Order)
    }
}
