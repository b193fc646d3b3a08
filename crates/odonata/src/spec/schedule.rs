//! The `[schedule]` table of a scenario: a job log, and how its jobs are started. What a key
//! does to the scheduler stands below the tables, in [`Schedule::options`].

use std::path::PathBuf;

use odonata_declare::table::Declared;
use odonata_declare::{Listed, Named};
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{
    self, Arrival, Estimate, Larger, Multifactor, Options, Order, Passes, Policy,
};
use serde::{Deserialize, Serialize};

use super::quantity::Refused;
use super::table::{CommandLine, Kind, Notes, TableDeclaration, table};
use super::written;

/// Notes of a duration of job logs above zero.
const SPAN: Notes = Notes {
    command_line: CommandLine::value("TIME"),
    ..Notes::POSITIVE
};
/// Notes of a weight.
const fn weight(option: &'static str) -> Notes {
    Notes {
        command_line: CommandLine::named(option, "W"),
        ..Notes::AMOUNT
    }
}
/// Notes of a number of things that has a default elsewhere.
const fn count(metavar: &'static str) -> Notes {
    Notes {
        command_line: CommandLine::value(metavar),
        ..Notes::COUNT
    }
}

/// Which jobs may overtake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum PolicyName {
    /// None: the first job of the queue starts, or all wait.
    Fcfs,
    /// EASY backfill.
    Easy,
    /// Conservative backfill.
    Conservative,
    /// Conservative backfill, planned anew in every pass.
    ConservativeReplanned,
}

impl PolicyName {
    /// The scheduler's policy.
    pub fn policy(self) -> Policy {
        match self {
            Self::Fcfs => Policy::InOrder,
            Self::Easy => Policy::EASY,
            Self::Conservative => Policy::Conservative,
            Self::ConservativeReplanned => Policy::REPLANNED,
        }
    }
}

/// The order of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum OrderName {
    /// First come, first served.
    Fcfs,
    /// Shortest estimate first.
    #[serde(rename = "sjf")]
    Shortest,
    /// Longest estimate first.
    #[serde(rename = "ljf")]
    Longest,
    /// Fewest nodes first.
    Smallest,
    /// Most nodes first.
    Largest,
    /// (wait / estimate)³ × nodes.
    Wfp,
    /// Slurm's multifactor priority.
    Multifactor,
}

/// The order of the queue as people write it: one of [`OrderName`], or a plug-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WrittenOrder(String);

impl Declared for WrittenOrder {
    fn kind() -> Kind {
        Kind::Forms("Order")
    }
}

/// Run times that the scheduler assumes, as people write them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Estimates {
    /// A multiple of the actual run times.
    Factor(f64),
    /// A name, or a multiple.
    Text(String),
}

impl Declared for Estimates {
    fn kind() -> Kind {
        Kind::Forms("Estimates")
    }
}

impl Estimates {
    fn estimate(&self) -> Result<Estimate, Refused> {
        match self {
            Self::Factor(factor) => Ok(Estimate::Factor(*factor)),
            Self::Text(text) => written::estimate(text),
        }
    }
}

/// What becomes of jobs that are larger than the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum LargerName {
    /// They are refused.
    Refuse,
    /// They are cut down to the machine.
    Cut,
}

/// What of a job's messages stretches its communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Stretch {
    /// How many arrive.
    Throughput,
    /// How long they take as well.
    Latency,
}

table! {
    /// How the log is read, where the log itself does not say.
    pub struct Reading {
        /// Format of the log. Default: detected.
        format: Option<String> = None => Notes { list: Some("read_format"), ..Notes::NONE },
        /// End at the log's first fault, with its line, instead of counting it.
        strict: bool = false,
        /// Unit of the job sizes in the log. Default: detected, and reported.
        unit: Option<String> = None => Notes { list: Some("log_unit"), ..Notes::NONE },
        /// Processors of a node, for logs that count processors. Default: as the header says, or 1.
        processors_per_node: Option<u32> = None => count("N"),
        /// Names of the columns of a `sacct` dump that has no header.
        columns: Option<Vec<String>> = None => Notes { fewest_entries: Some(1), command_line: CommandLine::value("NAME,NAME…"), ..Notes::NONE },
        /// Separator between the columns of a `sacct` dump. Default: as in its header.
        separator: Option<String> = None,
    }
}

table! {
    /// Placement by GRAP (Feng et al. 2023) on the groups of a reconfigurable dragonfly.
    pub struct Grap {
        /// Place jobs by GRAP (Feng et al. 2023) on this many groups of a reconfigurable dragonfly, of
        /// sizes as equal as possible. Default: any free nodes.
        groups: u32 = 0 => Notes { needed: true, command_line: CommandLine::named("--grap", "GROUPS"), ..Notes::COUNT },
        /// With GRAP: modes of large jobs of FROM to TO nodes, drawn by shares: `minimal-balance`,
        /// `adaptive`, `custom-balance`, `custom`. Default: as Feng et al. 2023 assume, by the machine's
        /// groups.
        modes: Option<Vec<String>> = None => Notes { written: Some("mix"), fewest_entries: Some(1), command_line: CommandLine::named("--grap-modes", "[FROM..TO:]MODE=SHARE,…"), ..Notes::NONE },
    }
}

table! {
    /// What every level of a schedule's network has.
    pub struct ScheduleNetwork {
        /// Traffic of jobs of FROM to TO nodes, drawn by shares, e.g.
        /// `576..65536:adaptive=40%,custom=60%`; with flow and packet also names of `[[job]]`s, whose
        /// applications the jobs run, e.g. `user=ann:amg`, `name=vasp:1..64:milc` or `lammps`; or
        /// by-mode: it follows from the job's GRAP mode. Default: with level table by-mode under GRAP,
        /// else that of Feng et al. 2023; with flow and packet uniform, stencil and ring in equal
        /// shares.
        mix: Option<Vec<String>> = None => Notes { written: Some("mix"), fewest_entries: Some(1), command_line: CommandLine::value("[FROM..TO:]NAME=SHARE,…"), ..Notes::NONE },
        /// The share of their time that jobs communicate: log (as the log says), one share such as 30%,
        /// or two between which each job's share is drawn, such as 10%..50%.
        mpi_share: String = "log".into() => Notes { written: Some("mpi-share"), command_line: CommandLine::value("SHARE"), ..Notes::NONE },
    }
}

table! {
    /// A table of speed-ups, whatever other jobs run.
    pub struct SpeedUpNetwork {
        /// CSV file with the columns traffic, nodes, speed_up (the fraction of the communication time
        /// that is saved).
        speed_ups: PathBuf = PathBuf::new() => Notes { needed: true, command_line: CommandLine::value("FILE"), ..Notes::NONE },
    }
}

table! {
    /// The links of a machine, which running jobs share as flows.
    pub struct FlowNetwork {
        /// Scenario file whose `[network]` the jobs share, with its routing. Default: the `[network]` of
        /// this scenario.
        machine: Option<PathBuf> = None => Notes { parts: "machine", command_line: CommandLine::value("SCENARIO"), ..Notes::NONE },
        /// The fraction of its link's rate at which a node sends while it communicates.
        injection: String = "25%".into() => Notes { written: Some("injection"), command_line: CommandLine::value("SHARE"), ..Notes::NONE },
        /// Which free nodes a job gets, where the scheduler only counts nodes. Default: contiguous; with
        /// GRAP the nodes of the job's groups.
        placement: Option<String> = None => Notes { list: Some("placement"), ..Notes::NONE },
        /// With circuits for jobs: how long a job stands still at its start while circuits are set, if
        /// any circuit changes.
        switch_delay_ps: u64 = 100_000_000_000 => Notes { command_line: CommandLine::value("TIME"), ..Notes::NONE },
        /// With applications: iterations that a job goes through at most in a window. Where an
        /// iteration of another takes longer, a part of it is simulated. Default: 8.
        window_iterations: Option<u32> = None => count("N"),
    }
}

table! {
    /// The network of a machine, packet by packet: for small machines and short logs.
    pub struct PacketNetwork {
        /// Simulated time that is measured.
        window_ps: u64 = 200_000_000 => SPAN,
        /// Simulated time before the measurement.
        warmup_ps: u64 = 50_000_000 => Notes { command_line: CommandLine::value("TIME"), ..Notes::NONE },
        /// Size of a message.
        message_bytes: u64 = 4096 => Notes { command_line: CommandLine::value("SIZE"), ..Notes::POSITIVE },
        /// What stretches communication: the share of a job's traffic that arrives (throughput), or that
        /// share and how much longer the job's messages take than when it runs alone (latency).
        stretch: Stretch = Stretch::Throughput,
    }
}

table! {
    /// Weights and times of the order `multifactor`: Slurm's multifactor priority.
    pub struct MultifactorTable {
        /// For the order multifactor: weight of the age, which is the wait divided by `max_age`, at most
        /// 1.
        age: f64 = 1000.0 => weight("--weight-age"),
        /// Weight of the size: the share of the machine that a job asks for.
        size: f64 = 1000.0 => weight("--weight-size"),
        /// Weight of 2^(−usage / share); all users have equal shares.
        fair_share: f64 = 1000.0 => weight("--weight-fair-share"),
        /// The wait at which the age is 1.
        max_age_s: i64 = 604_800 => SPAN,
        /// Time after which usage counts half; 0 s for no decay.
        half_life_s: i64 = 604_800 => Notes { command_line: CommandLine::value("TIME"), ..Notes::NONE },
        /// Small jobs, not large ones, are favoured.
        favour_small: bool = false,
    }
}

impl MultifactorTable {
    fn order(&self) -> Order {
        Order::Multifactor(Multifactor {
            age: self.age,
            size: self.size,
            fair_share: self.fair_share,
            max_age: Seconds(self.max_age_s),
            half_life: Seconds(self.half_life_s),
            favour_small: self.favour_small,
        })
    }
}

table! {
    /// Nodes that are withheld for a time.
    pub struct Maintenance {
        /// First second: a date such as `2022-03-01T08:00` (UTC), or a duration after the first
        /// submission such as `12 h`.
        start: String = String::new() => Notes { written: Some("time"), ..Notes::NEEDED },
        /// The second after the last one, given likewise, or `+4h` after `start`.
        end: String = String::new() => Notes { written: Some("time"), ..Notes::NEEDED },
        /// Number of nodes. Default: the whole machine.
        nodes: Option<u32> = None => Notes::COUNT,
        /// In place of `nodes`: these nodes, numbers from 0, as a list or a text such as `"0, 3-8"`. The
        /// scheduler then tells nodes apart.
        which: Option<Vec<u32>> = None => Notes { numbers: true, fewest_entries: Some(1), ..Notes::NONE },
    }
    refuse "which" as "nodes" when [("which", Test::Given), ("nodes", Test::Given)] =>
        "either `nodes` or `which`";
}

table! {
    /// Nodes that fail during the schedule. Nobody knows before, nor when they will work again.
    pub struct NodeOutage {
        /// Which: numbers from 0, as a list or a text such as `"0, 3-8"`.
        nodes: Option<Vec<u32>> = None => Notes { numbers: true, fewest_entries: Some(1), ..Notes::NONE },
        /// When they fail: a date such as `2022-03-01T08:00` (UTC), or a duration after the first
        /// submission such as `12 h`.
        at: String = String::new() => Notes { written: Some("time"), ..Notes::NEEDED },
        /// When they work again, given likewise, or `+4h` after `at`. Default: never.
        until: Option<String> = None => Notes { written: Some("time"), ..Notes::NONE },
    }
    refuse "nodes" when [("nodes", Test::Absent)] =>
        "numbers of nodes";
}

table! {
    /// Nodes that fail at random: each works and fails for exponentially distributed times in turn, from
    /// the first submission on, drawn from the scenario's seed.
    pub struct NodeFailures {
        /// Nodes fail at random: mean time between the repair of a node and its next failure.
        mtbf_s: i64 = 0 => Notes { needed: true, command_line: CommandLine::value("TIME"), ..Notes::POSITIVE },
        /// With `mtbf`: mean time until a node works again. Default: never.
        repair_s: Option<i64> = None => SPAN,
        /// With `mtbf`: nodes of successive numbers that fail together, as those of a switch.
        together: u32 = 1 => Notes { command_line: CommandLine::named("--fail-together", "N"), ..Notes::COUNT },
    }
}

table! {
    /// Jobs that could start are held while the network is busy, so that others may start before them.
    /// The network is tried with the job on the nodes that it would get.
    pub struct Hold {
        /// With network flow or packet: hold a job that could start while it and the running jobs would
        /// lose more than this share of its work to each other, counted by their nodes: `20%` of a job
        /// of 64 nodes is what 12.8 nodes do.
        above: f64 = 0.0 => Notes { needed: true, quantity: Some("share"), command_line: CommandLine::named("--hold-above", "SHARE"), ..Notes::AMOUNT },
        /// With hold-above: how long a job is held at most, from when it first could have started. Then
        /// it waits as any other.
        at_most_s: i64 = 3600 => Notes { command_line: CommandLine::named("--hold-at-most", "TIME"), ..SPAN },
    }
}

table! {
    /// Nodes that are withheld for the jobs of some users.
    pub struct Reservation {
        /// When, and how many nodes.
        window: Maintenance = Maintenance::default() => Notes::FLAT,
        /// Users whose jobs may run on these nodes, if the jobs end in time.
        users: Vec<String> = Vec::new() => Notes { fewest_entries: Some(1), ..Notes::NEEDED },
    }
}

/// The network of a schedule, which is read by its level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NetworkTable(serde_json::Value);

impl Declared for NetworkTable {
    fn kind() -> Kind {
        Kind::Kinds("ScheduleNetwork")
    }
}

table! {
    /// A job log, and when its jobs start: see [scheduling](scheduling.md).
    pub struct Schedule {
        /// The job log: see [job logs](job-logs.md). Default: the `[[job]]`s of this scenario, each a job
        /// that is submitted once.
        log: Option<PathBuf> = None,
        /// How the log is read, where the log itself does not say.
        reading: Reading = Reading::default(),
        /// Nodes of the machine. Default: as the log says.
        nodes: Option<u32> = None => count("N"),
        /// Which jobs may overtake: fcfs (none), easy, conservative, conservative-replanned, or depth:N
        /// (backfill with reservations for the first N).
        policy: String = "easy".into() => Notes { written: Some("policy"), command_line: CommandLine::value("POLICY"), ..Notes::NONE },
        /// Order of the queue: NAMES, or a
        /// [plug-in](plug-ins.md).
        order: WrittenOrder = WrittenOrder("fcfs".into()) => Notes { command_line: CommandLine::value("ORDER"), ..Notes::NONE },
        /// Weights and times of the order `multifactor`. Default: as below.
        multifactor: Option<MultifactorTable> = None,
        /// Compare with another schedule of the log: recorded, or POLICY[/ORDER][+grap] such as
        /// easy/wfp; keys of `[schedule]` that differ follow, such as easy,estimates=perfect. Without +grap
        /// it uses any free nodes.
        compare: Vec<String> = Vec::new() => Notes { written: Some("schedule"), command_line: CommandLine::value("WHAT"), ..Notes::NONE },
        /// Run times that the scheduler assumes: requested, perfect, or a multiple of the actual run
        /// time such as 2.
        estimates: Estimates = Estimates::Text("requested".into()) => Notes { command_line: CommandLine::value("WHICH"), ..Notes::NONE },
        /// Run times that the scheduler assumes for running jobs. Default: as `estimates`.
        running_estimates: Option<Estimates> = None => Notes { command_line: CommandLine::value("WHICH"), ..Notes::NONE },
        /// Jobs are killed when their requested time is over.
        limits: bool = true => Notes { command_line: CommandLine { option: Some("--no-limits"), off: Some("Do not kill jobs when their time is over."), ..CommandLine::NONE }, ..Notes::NONE },
        /// The scheduler works at multiples of this time, e.g. 30 s. Default: whenever something
        /// happens.
        every_s: Option<i64> = None => SPAN,
        /// The scheduler works after every single event, also within one second.
        per_event: bool = false,
        /// Jobs arrive when they become eligible, where the log records that time.
        eligible: bool = false,
        /// Jobs larger than the machine are refused, or cut down to it.
        larger: LargerName = LargerName::Refuse,
        /// Jobs share nodes that have this many processors each. Default: where the log counts
        /// processors, as many as the log says.
        share: Option<u32> = None => count("N"),
        /// Round sizes of a log that counts processors up to whole nodes.
        whole_nodes: bool = false,
        /// Shortest run time in the bounded slowdown.
        tau_s: i64 = 10 => SPAN,
        /// Interval between the rows of the table of nodes in use and jobs waiting.
        interval_s: i64 = 60 => SPAN,
        /// Place jobs by GRAP. Default: any free nodes will do.
        grap: Option<Grap> = None,
        /// What slows jobs down or makes them faster. Default: nothing; they run as long as the log
        /// says.
        network: Option<NetworkTable> = None,
        /// Withhold nodes, or the whole machine, for a time. Times are dates (2022-03-01T08:00, UTC) or
        /// durations after the first submission (12 h); END may be +4h, after START. NODES is how
        /// many, or which, such as 0-63.
        maintenance: Vec<Maintenance> = Vec::new() => Notes { command_line: CommandLine::value("START..END[,NODES]"), ..Notes::NONE },
        /// Nodes fail during the schedule: jobs on them end and are put back into the queue. Times as for
        /// maintenance; without END they never work again. NODES such as 0,3-8.
        outage: Vec<NodeOutage> = Vec::new() => Notes { command_line: CommandLine::value("START..[END],NODES"), ..Notes::NONE },
        /// Nodes fail at random. Default: none does.
        failures: Option<NodeFailures> = None,
        /// Jobs whose node fails are put back into the queue and run again from their beginning.
        requeue: bool = true => Notes { command_line: CommandLine { option: Some("--no-requeue"), off: Some("Jobs whose node fails are not put back into the queue."), ..CommandLine::NONE }, ..Notes::NONE },
        /// Jobs are held while the network is busy. Default: none is.
        #[serde(skip_serializing_if = "Option::is_none")]
        hold: Option<Hold> = None,
        /// Withhold nodes for jobs of these users.
        reservation: Vec<Reservation> = Vec::new() => Notes { command_line: CommandLine::value("START..END,NODES,USER,…"), ..Notes::NONE },
    }
    refuse "per_event" when [("every", Test::Given), ("per_event", Test::Positive)] =>
        "only without `every`: one of the two";
    refuse "whole_nodes" when [("share", Test::Given), ("whole_nodes", Test::Positive)] =>
        "only without `share`: nodes that are shared are not whole; choose one";
}

impl Schedule {
    /// What the scheduler does. `priorities` are those of a plug-in, one for each job.
    ///
    /// # Errors
    /// The key that says what it cannot say, and why not.
    pub fn options(
        &self,
        priorities: Option<Vec<f64>>,
    ) -> Result<Options, (&'static str, Refused)> {
        let told = |key| move |refused| (key, refused);
        let waiting = self.estimates.estimate().map_err(told("estimates"))?;
        let running = match &self.running_estimates {
            None => waiting,
            Some(given) => given.estimate().map_err(told("running_estimates"))?,
        };
        let order = match priorities {
            Some(priorities) => Order::Listed(priorities),
            None => self.order().map_err(told("order"))?,
        };
        Ok(Options {
            policy: written::policy(&self.policy).map_err(told("policy"))?,
            order,
            waiting_estimate: waiting,
            running_estimate: running,
            enforce_limits: self.limits,
            passes: match (self.every_s, self.per_event) {
                (Some(interval), _) => Passes::Every(Seconds(interval)),
                (None, true) => Passes::PerEvent,
                (None, false) => Passes::PerInstant,
            },
            arrival: match self.eligible {
                true => Arrival::Eligible,
                false => Arrival::Submit,
            },
            larger: match self.larger {
                LargerName::Cut => Larger::Cut,
                LargerName::Refuse => Larger::Refuse,
            },
            hold: self.hold.as_ref().map(|hold| batch::Hold {
                above: hold.above,
                at_most: Seconds(hold.at_most_s),
            }),
            ..Options::default()
        })
    }

    fn order(&self) -> Result<Order, Refused> {
        let name = OrderName::by_name(&self.order.0);
        let name = name.map_err(|error| {
            Refused::new(format!("\"{}\"", self.order.0), error.allowed.join(", "))
        })?;
        Ok(match name {
            OrderName::Fcfs => Order::Fcfs,
            OrderName::Shortest => Order::ShortestFirst,
            OrderName::Longest => Order::LongestFirst,
            OrderName::Smallest => Order::SmallestFirst,
            OrderName::Largest => Order::LargestFirst,
            OrderName::Wfp => Order::Wfp,
            OrderName::Multifactor => (self.multifactor.as_ref()).map_or_else(
                || MultifactorTable::default().order(),
                MultifactorTable::order,
            ),
        })
    }
}

/// The tables of a schedule but for those of its network.
pub(super) fn schedule_tables() -> Vec<TableDeclaration> {
    let mut schedule = Schedule::declaration();
    for key in &mut schedule.keys {
        key.text = key.text.replace("NAMES", &OrderName::NAMES.join(", "));
    }
    vec![
        Reading::declaration(),
        Grap::declaration(),
        MultifactorTable::declaration(),
        Maintenance::declaration(),
        Reservation::declaration(),
        NodeOutage::declaration(),
        NodeFailures::declaration(),
        Hold::declaration(),
        schedule,
    ]
}
