//! Jobs: who sends what to whom and when, and where the ranks sit.

use super::is_default;
use std::path::PathBuf;

use odonata_declare::Named;
use odonata_load::CollectiveKind;
use odonata_load::application::{Application, ComputeRate};
pub use odonata_load::motif::{BisectionOrder, HaloOrder, Receives, Tree};
pub use odonata_load::replay::Partners as RepeatRank;
pub use odonata_load::{ProcessName, Turn};
pub use odonata_placement::grap::GrapModeName;
pub use odonata_placement::{Objective as MappingObjective, Start as MappingStart};
use serde::{Deserialize, Serialize};

/// A parallel application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Name in tables and messages.
    pub name: String,
    /// Nodes; `None`: as many as the ranks need.
    #[serde(default)]
    pub nodes: Option<u32>,
    /// Ranks; `None`: `ranks_per_node` on every node, or those of the matrix.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// Ranks on each node.
    #[serde(default = "one")]
    pub ranks_per_node: u32,
    /// When its ranks start.
    #[serde(default)]
    pub start_ps: u64,
    /// Which nodes it gets.
    #[serde(default)]
    pub placement: Placement,
    /// Groups whose nodes it may get, unless they are listed; `None`: any.
    #[serde(default)]
    pub groups: Option<Vec<u32>>,
    /// Which rank sits on which of them.
    #[serde(default)]
    pub mapping: Mapping,
    /// Whether it only takes its nodes and does nothing.
    #[serde(default)]
    pub idle: bool,
    /// What its ranks do.
    pub load: Load,
}

impl Job {
    /// A job of one rank per node that starts at once, contiguous and linear.
    pub fn new(name: impl Into<String>, nodes: u32, load: Load) -> Self {
        Self {
            name: name.into(),
            nodes: Some(nodes),
            ranks: None,
            ranks_per_node: 1,
            start_ps: 0,
            placement: Placement::default(),
            groups: None,
            mapping: Mapping::default(),
            idle: false,
            load,
        }
    }
}

fn one() -> u32 {
    1
}

/// Which free nodes a job gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Placement {
    /// The first free ones.
    #[default]
    Contiguous,
    /// One of each group in turn.
    Spread,
    /// Random nodes.
    RandomNode,
    /// All free nodes of random routers.
    RandomRouter,
    /// All free nodes of random groups.
    RandomGroup,
    /// One free node of every router in turn.
    Even,
    /// Whole groups that it shares with no other job.
    Isolated,
    /// Within the smallest part that holds it (router, group, machine), spread there.
    LevelSpread,
    /// In order within the first group that holds it, else spread over all groups.
    Hybrid,
    /// The fullest router or group that still holds it.
    BestFit,
    /// By GRAP, the policy for reconfigurable dragonflies.
    Grap {
        /// How the nodes of a large job are spread over groups.
        #[serde(default)]
        mode: GrapModeName,
        /// With [`GrapModeName::CustomBalance`]: number of groups.
        #[serde(default)]
        group_count: Option<u32>,
        /// With [`GrapModeName::Custom`]: nodes in each group.
        #[serde(default)]
        nodes_per_group: Option<Vec<u32>>,
    },
    /// Exactly these.
    #[named(by_value)]
    Explicit {
        /// Node numbers.
        nodes: Vec<u32>,
    },
    /// Those of a map of ranks to servers of TraceR, which also says which rank sits where.
    #[named(by_value)]
    RankMap {
        /// The map of the job, or with `job` the global one.
        file: PathBuf,
        /// Which job of the global map.
        #[serde(default)]
        job: Option<u32>,
    },
}

/// Which rank sits on which of a job's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mapping {
    /// Node after node.
    #[default]
    Linear,
    /// At random.
    Random,
    /// At random, each half of the job by itself.
    RandomHalves,
    /// As listed.
    #[named(by_value)]
    Explicit {
        /// Index of each rank's node among the job's nodes.
        node_of_rank: Vec<u32>,
    },
    /// Fitted to who sends how much to whom.
    #[named(by_value)]
    Fitted {
        /// Where it starts from.
        start: MappingStart,
        /// What swaps of ranks then lower, if anything.
        #[serde(default)]
        refine: Option<MappingObjective>,
        /// Communication matrix; `None`: what the job's own load sends.
        #[serde(default)]
        matrix: Option<PathBuf>,
    },
    /// As listed in a file, one index per line.
    #[named(by_value)]
    File {
        /// The file.
        file: PathBuf,
    },
}

/// What the ranks of a job do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// A motif: each rank waits for what it receives.
    Motif(Motif),
    /// Traffic offered whatever the network does.
    Traffic(Traffic),
}

/// A closed-loop motif.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Motif {
    /// Who exchanges what with whom.
    pub kind: MotifKind,
    /// How often each rank runs through it.
    #[serde(default = "one")]
    pub iterations: u32,
    /// Time that each rank computes at the start of every iteration.
    #[serde(default)]
    pub compute_ps: u64,
}

/// Who exchanges what with whom in an iteration. `message_bytes` is the size of each message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Named)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MotifKind {
    /// Every rank sends to every other.
    AllToAll {
        /// Size of each message.
        message_bytes: u64,
        /// Steps outstanding at once.
        #[serde(default = "one")]
        window: u32,
        /// How the messages of those follow each other.
        #[serde(default)]
        sends: Sends,
    },
    /// Every rank exchanges with every rank of the other half.
    Bisection {
        /// Size of each message.
        message_bytes: u64,
        /// Steps outstanding at once.
        #[serde(default = "one")]
        window: u32,
        /// How the messages of those follow each other.
        #[serde(default)]
        sends: Sends,
        /// In which order a rank takes the others.
        #[serde(default)]
        order: BisectionOrder,
    },
    /// Neighbours in a grid of ranks exchange across their faces.
    Halo {
        /// Size of each message.
        message_bytes: u64,
        /// Dimensions of the grid, 1 to 4.
        dimensions: usize,
        /// Ranks along each dimension; `None`: as nearly equal as can be.
        #[serde(default)]
        grid: Option<Vec<u32>>,
        /// Whether the grid wraps around.
        #[serde(default = "yes")]
        periodic: bool,
        /// In which order.
        #[serde(default)]
        order: HaloOrder,
        /// Whether each send is complete before the rank goes on.
        #[serde(default)]
        blocking: bool,
    },
    /// Each rank sends to its partner under a pattern.
    Exchange {
        /// Size of each message.
        message_bytes: u64,
        /// The pattern.
        pattern: Pattern,
    },
    /// One rank's message reaches all others.
    Broadcast {
        /// Size of each message.
        message_bytes: u64,
        /// Rank that has the message.
        #[serde(default)]
        root: u32,
        /// Who passes it on to whom.
        #[serde(default)]
        tree: Tree,
    },
    /// A collective of all ranks.
    Collective {
        /// Which.
        operation: CollectiveKind,
        /// Of vectors and broadcasts: all of it; of gathers, scatters, all-to-alls
        /// and reduce-scatters: what a rank has for each or gets from each.
        #[serde(default)]
        message_bytes: u64,
        /// Rank that sends or gets, of operations that have one.
        #[serde(default)]
        root: u32,
        /// Name of the algorithm; `None`: as the scenario's `mpi` says.
        #[serde(default)]
        algorithm: Option<String>,
        /// How often what repeats in it is done, for predictions of what would take long; `None`:
        /// to the end.
        #[serde(default)]
        repeats: Option<u32>,
    },
    /// Replays a communication matrix.
    Matrix {
        /// The matrix.
        file: PathBuf,
        /// Largest message; `None`: each entry is one message.
        #[serde(default)]
        message_bytes: Option<u64>,
        /// Whether each entry becomes as many messages as the matrix counts,
        /// instead.
        #[serde(default)]
        recorded: bool,
        /// Factor for every entry; `None`: 1.
        #[serde(default)]
        scale: Option<f64>,
        /// Sum of the entries after scaling.
        #[serde(default)]
        total_bytes: Option<u64>,
        /// In which order a rank takes the others.
        #[serde(default)]
        order: MatrixOrder,
        /// How its messages follow each other.
        #[serde(default)]
        sends: Sends,
    },
    /// Replays a trace.
    Trace {
        /// The trace.
        file: PathBuf,
        /// Factor for every time between two calls; `None`: 1.
        #[serde(default)]
        compute_scale: Option<f64>,
        /// Every time between two calls, instead.
        #[serde(default)]
        gap_ps: Option<u64>,
        /// Lets one rank's trace stand for all.
        #[serde(default)]
        repeat_rank: Option<RepeatRank>,
        /// Where the part that is replayed starts; `None`: at the trace's start.
        #[serde(default)]
        start: Option<TraceBorder>,
        /// Where it ends; `None`: at the trace's end.
        #[serde(default)]
        end: Option<TraceBorder>,
    },
    /// The skeleton of an application.
    ///
    /// [`Motif::compute_ps`] has to be 0.
    Application {
        /// Which, with its parameters.
        application: Application,
        /// How fast its ranks compute; `None`: its own default.
        #[serde(default, rename = "pace")]
        compute_rate: Option<ComputeRate>,
    },
    /// Motifs one after another.
    ///
    /// [`Motif::compute_ps`] has to be 0.
    Phases {
        /// What each iteration runs through.
        phases: Vec<Phase>,
    },
}

/// Where a region of interest of a trace starts or ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TraceBorder {
    /// So long after the trace's start.
    TimePs(u64),
    /// Where a rank enters or leaves a function; `iteration`: which time, from 1.
    Region {
        /// Its name.
        name: String,
        /// Which time, from 1; `None`: the first entry, or the last exit.
        #[serde(default)]
        iteration: Option<u64>,
    },
    /// At a marker; `iteration`: which of that name, from 1.
    Marker {
        /// Its text or kind.
        name: String,
        /// Which, from 1; `None`: the first as a start, the last as an end.
        #[serde(default)]
        iteration: Option<u64>,
    },
}

/// How a trace is checked before it is replayed; as in [`MotifKind::Trace`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayOptions {
    /// Number of ranks that the trace must have, or for which one rank's is repeated;
    /// `None`: as it says.
    #[serde(default)]
    pub ranks: Option<u32>,
    /// Lets one rank's trace stand for all.
    #[serde(default)]
    pub repeat_rank: Option<RepeatRank>,
    /// Where the part that is replayed starts; `None`: at the trace's start.
    #[serde(default)]
    pub start: Option<TraceBorder>,
    /// Where it ends; `None`: at the trace's end.
    #[serde(default)]
    pub end: Option<TraceBorder>,
}

/// How the messages of a rank follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sends {
    /// Whether each is complete before the rank goes on.
    pub blocking: bool,
    /// When receives are posted.
    pub receives: Receives,
}

/// In which order the ranks of a matrix take the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum MatrixOrder {
    /// From the one after itself on, and round.
    #[default]
    AfterOwn,
    /// The lowest first.
    Ascending,
}

/// A part of an application of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Phase {
    /// All iterations of a motif.
    Motif(Motif),
    /// Every rank computes so long.
    ComputePs(u64),
    /// Phases several times over.
    Repeat {
        /// How often.
        times: u32,
        /// The phases.
        phases: Vec<Phase>,
    },
}

fn yes() -> bool {
    true
}

/// Open-loop traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Whom a rank sends to.
    pub pattern: Pattern,
    /// Size of each message; `None`: what `offered` makes with `interval_ps`.
    #[serde(default)]
    pub message_bytes: Option<u64>,
    /// Mean time between two messages of a rank, where the size is not given.
    #[serde(default)]
    pub interval_ps: Option<u64>,
    /// How often each rank sends; `None`: without end.
    #[serde(default)]
    pub messages: Option<u32>,
    /// When a rank starts its messages.
    #[serde(default)]
    pub process: ProcessName,
    /// With [`ProcessName::Bernoulli`]: length of a slot; `None`: the time that a
    /// message takes on the terminal link.
    #[serde(default)]
    pub slot_ps: Option<u64>,
    /// With [`ProcessName::Drifting`]: mean of an exponential time by which gaps are longer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drift_ps: u64,
    /// How much.
    pub offered: Offered,
}

impl Traffic {
    /// Messages without end at random times.
    pub fn new(pattern: Pattern, message_bytes: u64, offered: Offered) -> Self {
        Self {
            pattern,
            message_bytes: Some(message_bytes),
            interval_ps: None,
            messages: None,
            process: ProcessName::default(),
            slot_ps: None,
            drift_ps: 0,
            offered,
        }
    }
}

/// How much traffic is offered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// By a full node, as a fraction of the bandwidth of its terminal link; its
    /// ranks share it.
    Load(f64),
    /// Theoretical global link load (Kang et al. 2019, equation 4): size of a message over
    /// the time between two of a rank, as a fraction of the bandwidth of a global link.
    Tgll(f64),
    /// By each rank.
    RateBytesPerS(u64),
    /// Mean time between two messages of a rank.
    IntervalPs(u64),
}

/// Whom a rank sends to. The load room defines each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Named)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Any other rank.
    UniformRandom,
    /// Any rank, itself included.
    UniformOrSelf,
    /// The partner in one random permutation.
    Permutation,
    /// r + ⌈n/2⌉ − 1.
    Tornado,
    /// The rank a fixed distance further.
    Shift {
        /// The distance.
        offset: u32,
    },
    /// The mirror place in a square matrix of ranks.
    Transpose,
    /// A random rank of the other half.
    Bisection,
    /// The partner in the other half.
    BisectionPairs,
    /// Either neighbour on the ring of ranks.
    Neighbour,
    /// A neighbour in a grid of ranks.
    Stencil {
        /// Ranks along each dimension; `None`: `dimensions` as nearly equal as can be.
        #[serde(default)]
        grid: Option<Vec<u32>>,
        /// Dimensions of the grid, where it is not given.
        #[serde(default)]
        dimensions: Option<usize>,
        /// Whether the grid wraps around.
        #[serde(default = "yes")]
        periodic: bool,
        /// Which neighbours.
        #[serde(default)]
        to: Turn,
    },
    /// The ranks at the same place of all other groups.
    GroupPeers {
        /// Which of them.
        #[serde(default)]
        to: Turn,
    },
    /// One rank sends to all others.
    Broadcast {
        /// That rank.
        #[serde(default)]
        root: u32,
    },
    /// ADV+k: a random rank of the group k groups further.
    Adversarial {
        /// Distance in groups, among those where the job has ranks.
        k: i64,
    },
    /// The rank at the same place of the group k groups further.
    GroupShift {
        /// Distance in groups, among those where the job has ranks.
        k: i64,
    },
    /// The rank at the same place of the group half-way round.
    GroupTornado,
    /// Any other rank of the same group.
    WithinGroup,
    /// The rank at the same place of another router, all routers matched so that their paths are
    /// the longest in all.
    LongestMatching,
    /// The rank at the same place of the router two links further on a closed chain of links: the
    /// worst case of shortest paths on a Slim Fly.
    TwoHop,
    /// A share goes to a few ranks, the rest to any.
    HotSpot {
        /// The few.
        hot_ranks: Vec<u32>,
        /// The share.
        fraction: f64,
    },
    /// By a matrix of rates.
    Matrix {
        /// The matrix.
        file: PathBuf,
        /// What its rows and columns are.
        #[serde(default)]
        between: Between,
    },
}

/// What the rows and columns of a matrix of rates are, in their order, of those on which
/// the job has ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Ranks of the job.
    #[default]
    Ranks,
    /// Nodes.
    Nodes,
    /// Routers.
    Routers,
    /// Groups.
    Groups,
}
