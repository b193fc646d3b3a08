//! What the simulation knows of a cluster: nodes, partitions, rules.

use std::collections::BTreeMap;

use odonata_placement::grap::GrapMode;
use odonata_units::NodeId;

use crate::Seconds;
use crate::log::Gres;
use crate::outages::Outages;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// CPUs that jobs may have.
    pub cpus: u32,
    /// CPUs of a core.
    pub threads: u32,
    /// Sockets.
    pub sockets: u32,
    /// Memory that jobs may have, MiB.
    pub memory_mb: u64,
    /// Features.
    pub features: Vec<String>,
    /// Generic resources.
    pub gres: Vec<Gres>,
    /// Nodes with lower weights are given away first.
    pub weight: u64,
}

impl Node {
    /// A node of single-threaded cores in one socket.
    pub fn new(name: impl Into<String>, cores: u32, memory_mb: u64) -> Self {
        Self {
            name: name.into(),
            cpus: cores,
            threads: 1,
            sockets: 1,
            memory_mb,
            features: Vec::new(),
            gres: Vec::new(),
            weight: 1,
        }
    }
}

/// A partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Numbers of its nodes.
    pub nodes: Vec<u32>,
    /// Whether jobs that name no partition come here.
    pub default: bool,
    /// Whether jobs start here at all.
    pub up: bool,
    /// Longest time limit, seconds.
    pub max_time: Option<i64>,
    /// Time limit of jobs without one, seconds.
    pub default_time: Option<i64>,
    /// Greatest and least number of nodes of a job.
    pub max_nodes: Option<u32>,
    /// Least number of nodes of a job.
    pub min_nodes: u32,
    /// Greatest number of CPUs of a job on a node.
    pub max_cpus_per_node: Option<u32>,
    /// Partitions with higher tiers go first, whatever the priorities.
    pub priority_tier: u32,
    /// Its part in the multifactor priority.
    pub priority_factor: u32,
    /// Whether jobs get nodes of their own (`OverSubscribe=EXCLUSIVE`).
    pub exclusive: bool,
    /// Memory of jobs that name none, MiB of each CPU or node.
    pub default_memory: Option<crate::log::Memory>,
    /// A QOS whose limits hold for the partition.
    pub qos: Option<String>,
}

impl Partition {
    /// A partition without limits.
    pub fn new(name: impl Into<String>, nodes: Vec<u32>) -> Self {
        Self {
            name: name.into(),
            nodes,
            default: false,
            up: true,
            max_time: None,
            default_time: None,
            max_nodes: None,
            min_nodes: 0,
            max_cpus_per_node: None,
            priority_tier: 1,
            priority_factor: 1,
            exclusive: false,
            default_memory: None,
            qos: None,
        }
    }
}

/// A switch of a tree (`topology/tree`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// 0: nodes are attached to it.
    pub level: u32,
    /// Numbers of the nodes below it, at any depth.
    pub nodes: Vec<u32>,
}

/// What counts as a unit of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole nodes (`select/linear`).
    Node,
    /// Sockets (`CR_Socket`).
    Socket,
    /// Cores with all their threads (`CR_Core`).
    Core,
    /// Single CPUs (`CR_CPU`).
    Cpu,
}

/// Limits on trackable resources: `cpu`, `node`, `mem` (MiB), `gres/gpu`, ….
pub type Tres = BTreeMap<String, u64>;

/// A quality of service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Qos {
    /// Its name.
    pub name: String,
    /// Its part in the multifactor priority.
    pub priority: u32,
    /// Together, of all its running jobs.
    pub group: Tres,
    /// All its running jobs.
    pub group_jobs: Option<u32>,
    /// A job.
    pub job: Tres,
    /// A node of a job.
    pub node: Tres,
    /// A user's running jobs.
    pub user: Tres,
    /// A user's running jobs.
    pub user_jobs: Option<u32>,
    /// An account's running jobs.
    pub account: Tres,
    /// An account's running jobs.
    pub account_jobs: Option<u32>,
    /// A job, at least.
    pub least: Tres,
    /// Longest time limit, seconds.
    pub max_wall: Option<i64>,
    /// Factor of usage in fair share.
    pub usage_factor: f64,
}

impl Qos {
    /// A QOS without limits.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            usage_factor: 1.0,
            ..Self::default()
        }
    }
}

/// A node of the tree of accounts and users.
#[derive(Clone, Debug, PartialEq)]
pub struct Association {
    /// The account, or the account of the user.
    pub account: String,
    /// The user; `None` for an account itself.
    pub user: Option<String>,
    /// The account above an account; `root` has none.
    pub parent: Option<String>,
    /// Its shares beside its siblings.
    pub shares: f64,
}

/// How the order of jobs comes about.
#[derive(Clone, Debug, PartialEq)]
pub enum Priority {
    /// In order of submission (`priority/basic`).
    Basic,
    /// As the log recorded it.
    Recorded,
    /// `priority/multifactor`.
    Multifactor(Weights),
}

/// Weights of `priority/multifactor`.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Weight of the wait over `max_age_s`.
    pub age: f64,
    /// Weight of fair share.
    pub fair_share: f64,
    /// Weight of the size.
    pub job_size: f64,
    /// Weight of the partition's factor.
    pub partition: f64,
    /// Weight of the QOS.
    pub qos: f64,
    /// Weights of trackable resources, as parts of the partition's.
    pub tres: BTreeMap<String, f64>,
    /// Wait that counts as age 1, seconds.
    pub max_age_s: i64,
    /// Time after which usage counts half, seconds; 0 for never.
    pub half_life_s: i64,
    /// How often priorities are computed anew, seconds; 0: never after submission.
    pub calc_period_s: i64,
    /// Whether small jobs, not large ones, are favoured.
    pub favour_small: bool,
    /// Fair Tree; otherwise 2^(−usage / shares / damping).
    pub fair_tree: bool,
    /// The damping.
    pub damping: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            age: 0.0,
            fair_share: 0.0,
            job_size: 0.0,
            partition: 0.0,
            qos: 0.0,
            tres: BTreeMap::new(),
            max_age_s: 7 * 86_400,
            half_life_s: 7 * 86_400,
            calc_period_s: 300,
            favour_small: false,
            fair_tree: true,
            damping: 1.0,
        }
    }
}

/// The scheduler's parameters by their names in Slurm (`slurm.conf`,
/// `SchedulerParameters`), times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Whether there is a backfill scheduler (`sched/backfill`).
    pub backfill: bool,
    /// Jobs that a quick pass of the main scheduler looks at.
    pub default_queue_depth: u32,
    /// How often the main scheduler looks at all jobs; 0 for every event only.
    pub sched_interval: i64,
    /// Delay of a quick pass after a submission.
    pub batch_sched_delay: i64,
    /// Jobs of a partition that a pass of the main scheduler looks at; 0: all.
    pub partition_job_depth: u32,
    /// Jobs that a pass of the main scheduler starts; 0: any number.
    pub sched_max_job_start: u32,
    /// Jobs are not looked at one by one when they are submitted.
    pub defer: bool,
    /// Time between backfill passes.
    pub bf_interval: i64,
    /// How far backfill plans.
    pub bf_window: i64,
    /// To what times are rounded in its plans.
    pub bf_resolution: i64,
    /// Jobs that a pass tests.
    pub bf_max_job_test: u32,
    /// Jobs that a pass starts; 0: any number.
    pub bf_max_job_start: u32,
    /// Jobs of a user that a pass tests; 0: any number.
    pub bf_max_job_user: u32,
    /// Jobs of a partition that a pass tests; 0: any number.
    pub bf_max_job_part: u32,
    /// Jobs of a user in a partition that a pass tests; 0: any number.
    pub bf_max_job_user_part: u32,
    /// Longest time of a pass.
    pub bf_max_time: i64,
    /// Whether a pass goes on after a pause in which something happened.
    pub bf_continue: bool,
    /// Working time between pauses of a pass.
    pub bf_yield_interval: f64,
    /// Length of a pause.
    pub bf_yield_sleep: f64,
    /// Jobs that have waited less get no reservation.
    pub bf_min_age_reserve: i64,
    /// Jobs with lower priorities get no reservation; 0: all get one.
    pub bf_min_prio_reserve: u64,
    /// Jobs of a partition that get reservations; 0: all.
    pub bf_job_part_count_reserve: u32,
    /// Whether a job that a limit holds up holds up its partition.
    pub assoc_limit_stop: bool,
    /// How long a job may outlive its limit.
    pub over_time_limit: i64,
    /// Time between a job's two signals at its limit.
    pub kill_wait: i64,
    /// Whether nodes run a program after each job (`Epilog`). Without one their controller
    /// learns of a job's end with the job's own last message.
    pub epilog: bool,
    /// Working time of backfill for one test of a job. Slurm's own follows from the
    /// machine that it runs on: `sdiag` tells mean cycle and mean depth.
    pub seconds_per_test: f64,
    /// Time that a job holds its nodes beyond its run time, which ends with its last message:
    /// until its nodes say that nothing of it is left.
    pub completing: f64,
    /// How long a job that is requeued has to wait before it may start again (`cred_expire`).
    pub requeue_delay: i64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            backfill: true,
            default_queue_depth: 100,
            sched_interval: 60,
            batch_sched_delay: 3,
            partition_job_depth: 0,
            sched_max_job_start: 0,
            defer: false,
            bf_interval: 30,
            bf_window: 86_400,
            bf_resolution: 60,
            bf_max_job_test: 500,
            bf_max_job_start: 0,
            bf_max_job_user: 0,
            bf_max_job_part: 0,
            bf_max_job_user_part: 0,
            bf_max_time: 30,
            bf_continue: false,
            bf_yield_interval: 2.0,
            bf_yield_sleep: 0.5,
            bf_min_age_reserve: 0,
            bf_min_prio_reserve: 0,
            bf_job_part_count_reserve: 0,
            assoc_limit_stop: false,
            over_time_limit: 0,
            kill_wait: 30,
            epilog: false,
            seconds_per_test: 0.0,
            completing: 0.02,
            requeue_delay: 120,
        }
    }
}

impl Parameters {
    /// The same with all times in milliseconds, which the simulation counts in.
    pub(super) fn in_milliseconds(&self) -> Self {
        let times = |seconds: i64| seconds.saturating_mul(1000);
        Self {
            sched_interval: times(self.sched_interval),
            batch_sched_delay: times(self.batch_sched_delay),
            bf_interval: times(self.bf_interval),
            bf_window: times(self.bf_window),
            bf_resolution: times(self.bf_resolution),
            bf_max_time: times(self.bf_max_time),
            bf_yield_interval: self.bf_yield_interval * 1e3,
            bf_yield_sleep: self.bf_yield_sleep * 1e3,
            bf_min_age_reserve: times(self.bf_min_age_reserve),
            over_time_limit: times(self.over_time_limit),
            kill_wait: times(self.kill_wait),
            seconds_per_test: self.seconds_per_test * 1e3,
            completing: self.completing * 1e3,
            requeue_delay: times(self.requeue_delay),
            ..self.clone()
        }
    }
}

/// How a job's nodes are taken of leaf switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filling {
    /// `topology/tree`: leaf by leaf below the lowest switch that has enough nodes, the tightest
    /// first.
    Tightest,
    /// `TopologyParam=dragonfly`: all of one leaf, the one with the most usable nodes, or else one
    /// of each leaf in turn.
    InTurn,
    /// By GRAP, which Slurm does not have.
    Grap(GrapGroups),
}

/// Groups of a reconfigurable dragonfly, which GRAP gives to jobs (Feng et al. 2023).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrapGroups {
    /// Nodes of each group; none is in two. Nodes of no group are given to no job.
    pub(super) groups: Vec<Vec<u32>>,
    /// How large jobs are spread over groups.
    pub(super) mode: GrapMode,
}

/// Nodes that are kept for maintenance: no job gets one whose time limit reaches into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// Which.
    pub nodes: Vec<NodeId>,
    /// First second.
    pub start: Seconds,
    /// The second after the last.
    pub end: Seconds,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Nodes in Slurm's order.
    pub nodes: Vec<Node>,
    /// Partitions.
    pub partitions: Vec<Partition>,
    /// Switches of the tree by which nodes are chosen, in Slurm's order; none: by runs of
    /// successive nodes.
    pub switches: Vec<Switch>,
    /// How leaf switches are filled, where there are switches.
    pub filling: Filling,
    /// Qualities of service.
    pub qos: Vec<Qos>,
    /// Accounts and users; if empty, all of them have equal shares.
    pub associations: Vec<Association>,
    /// What jobs share nodes by.
    pub unit: Unit,
    /// Whether memory is given away as cores are (`…_Memory`).
    pub memory: bool,
    /// Memory of jobs that name none.
    pub default_memory: Option<crate::log::Memory>,
    /// Order of jobs.
    pub priority: Priority,
    /// The scheduler.
    pub parameters: Parameters,
    /// Nodes that fail.
    pub outages: Outages,
    /// Nodes that are kept for maintenance.
    pub maintenance: Vec<Maintenance>,
}

impl Cluster {
    /// A cluster of these nodes in one partition.
    pub fn new(nodes: Vec<Node>) -> Self {
        let all = (0..nodes.len() as u32).collect();
        let main = Partition {
            default: true,
            ..Partition::new("main", all)
        };
        Self {
            nodes,
            partitions: vec![main],
            switches: Vec::new(),
            filling: Filling::Tightest,
            qos: Vec::new(),
            associations: Vec::new(),
            unit: Unit::Core,
            memory: false,
            default_memory: None,
            priority: Priority::Basic,
            parameters: Parameters::default(),
            outages: Outages::default(),
            maintenance: Vec::new(),
        }
    }

    /// CPUs of all nodes.
    pub fn cpus(&self) -> u64 {
        self.nodes.iter().map(|node| u64::from(node.cpus)).sum()
    }
}
