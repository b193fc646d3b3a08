//! Motifs: what the ranks of a job do, waiting for what they receive.

use std::path::PathBuf;

use odonata_declare::Named;
use odonata_load::CollectiveKind;
use odonata_load::application::{Application, ComputeRate, Model};
pub use odonata_load::motif::{BisectionOrder, HaloOrder, Receives, Tree};
pub use odonata_load::replay::Partners as RepeatRank;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::table::{is_default, table};

table! {
    /// What every motif has.
    pub struct Iterations {
        /// How often each rank runs through the motif.
        iterations: u32 = 1 => Notes::COUNT,
        /// Time for which each rank computes at the start of every iteration.
        compute_ps: u64 = 0,
        /// In phases: name of the class of traffic of its messages, one of
        /// `network.router.traffic_class`. Default: that of the phases that it is one of, or of the job.
        #[serde(skip_serializing_if = "Option::is_none")]
        traffic_class: Option<String> = None,
    }
}

/// A closed-loop motif.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Motif {
    /// Who exchanges what with whom.
    pub kind: MotifKind,
    /// See [`Iterations::iterations`].
    #[serde(default = "one")]
    pub iterations: u32,
    /// See [`Iterations::compute_ps`].
    #[serde(default)]
    pub compute_ps: u64,
    /// See [`Iterations::traffic_class`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<String>,
}

fn one() -> u32 {
    1
}

table! {
    /// How the messages of a rank follow each other.
    pub struct Sends {
        /// Whether each send must be complete before the rank does anything else (`MPI_Send`), as
        /// in SST's Ember. Makes no difference with a window of 1.
        #[serde(skip_serializing_if = "is_default")]
        blocking: bool = false,
        /// When a rank posts its receives. `ahead`: all of a window, or of a matrix, before it
        /// sends anything. `in-turn`: those of each step, or from each partner of a matrix, just
        /// before the sends of that step or to that partner. With a window of 1 it makes no
        /// difference. With a matrix, `in-turn` needs ascending order: in any other order all ranks
        /// may wait for each other.
        #[serde(skip_serializing_if = "is_default")]
        receives: Receives = Receives::default(),
    }
}

table! {
    /// Every rank sends a message to every other rank; in step s, rank r sends to rank r + s.
    ///
    /// With a window of 1 as the Alltoall motif of SST's Ember; other orders and algorithms:
    /// `collective`.
    pub struct AllToAll {
        /// Size of each message.
        message_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// Number of steps that a rank has outstanding at once; with 1 it waits for each partner
        /// before the next.
        window: u32 = 1 => Notes::COUNT,
        /// How the messages of those follow each other.
        #[serde(skip_serializing_if = "is_default")]
        sends: Sends = Sends::default() => Notes::FLAT,
    }
}

table! {
    /// Every rank exchanges a message with every rank of the other half of the job.
    ///
    /// SST's Ember has no such motif; its Unstructured motif with the graph of a bisection takes
    /// `order = "ascending"`, `blocking = true`, `receives = "in-turn"` and a window of all partners
    /// ([motifs](applications.md#motifs-and-their-sources)).
    pub struct Bisection {
        /// Size of each message.
        message_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// Number of steps that a rank has outstanding at once; with 1 it waits for each partner
        /// before the next.
        window: u32 = 1 => Notes::COUNT,
        /// How the messages of those follow each other.
        #[serde(skip_serializing_if = "is_default")]
        sends: Sends = Sends::default() => Notes::FLAT,
        /// In which order a rank exchanges with the ranks of the other half: every rank with a
        /// different partner in each step (`rotating`), or all ranks from the lowest partner up
        /// (`ascending`).
        #[serde(skip_serializing_if = "is_default")]
        order: BisectionOrder = BisectionOrder::default(),
    }
}

table! {
    /// Every rank of a grid exchanges messages with its neighbours across the faces.
    pub struct Halo {
        /// Size of each message.
        message_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// Dimensions of the grid, 1 to 4.
        dimensions: usize = 0 => Notes { needed: true, ..Notes::HIDDEN },
        /// Whether the grid wraps around.
        periodic: bool = true,
        /// Whether a rank exchanges all faces at once (`together`), or those of one dimension
        /// before those of the next (`dimensions`).
        #[serde(skip_serializing_if = "is_default")]
        order: HaloOrder = HaloOrder::default(),
        /// Whether each send must be complete before the rank does anything else (`MPI_Send`);
        /// receives are posted before the sends.
        #[serde(skip_serializing_if = "is_default")]
        blocking: bool = false,
        /// Ranks along each dimension, their product the number of ranks. Default: as nearly equal
        /// as the number of ranks allows.
        grid: Option<Vec<u32>> = None => Notes::COUNT,
    }
}

table! {
    /// In every iteration each rank sends one message to its partner under a pattern.
    pub struct Exchange {
        /// Size of each message.
        message_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// The pattern.
        pattern: Pattern = Pattern::UniformRandom => Notes { needed: true, ..Notes::HIDDEN },
    }
}

table! {
    /// A message of one rank reaches all other ranks over a tree.
    pub struct Broadcast {
        /// Size of each message.
        message_bytes: u64 = 0 => Notes::NEEDED_SIZE,
        /// Rank that has the message.
        root: u32 = 0 => Notes::INDEX,
        /// How the message is passed on: along a binomial tree, or by the root to all other ranks
        /// itself (`linear`).
        tree: Tree = Tree::default(),
    }
}

table! {
    /// Ranks write to the file system, all at once, and go on when it has everything.
    ///
    /// Needs `[storage]`. In every iteration each writer writes a new file, or its part of one; with
    /// `compute` before. As a phase it is what another application does every few iterations
    /// ([checkpoints](storage.md)).
    pub struct CheckpointBurst {
        /// What each rank has.
        per_rank_bytes: Option<u64> = None => Notes::POSITIVE,
        /// Instead: what all ranks together have, each the same.
        total_bytes: Option<u64> = None => Notes::POSITIVE,
        /// Instead: published model whose parameters and state of the optimiser all ranks together
        /// have.
        model: Option<Model> = None,
        /// With `model`: bytes for each parameter. Default: 14, which are a parameter of 2 bytes, and
        /// 4 each of the optimiser's copy and two moments (Rajbhandari et al. 2020).
        bytes_per_parameter: Option<u32> = None => Notes::COUNT,
        /// The first of every this many ranks collects what they have, writes it, and tells them.
        ranks_per_writer: u32 = 1 => Notes::COUNT,
        /// Whether all write parts of one file, rather than each writer a file.
        shared: bool = false,
        /// Whether everything is read at the beginning.
        restart: bool = false,
        /// Whether anything is written; with `restart` it may only be read.
        write: bool = true,
    }
    refuse "" as "neither" when [("per_rank", Test::Absent), ("total", Test::Absent), ("model", Test::Absent)] =>
        "one of `per_rank`, `total` and `model`";
    refuse "total" when [("per_rank", Test::Given), ("total", Test::Given)] =>
        "either `per_rank` or `total`";
    refuse "model" when [("per_rank", Test::Given), ("model", Test::Given)] =>
        "either `per_rank` or `model`";
    refuse "model" when [("total", Test::Given), ("model", Test::Given)] =>
        "either `total` or `model`";
    refuse "bytes_per_parameter" when [("model", Test::Absent), ("bytes_per_parameter", Test::Given)] =>
        "only with `model`";
}

table! {
    /// All ranks take part in an MPI collective, which is carried out as messages.
    pub struct Collective {
        /// Which collective: `barrier`, `broadcast`, …
        operation: CollectiveKind = CollectiveKind::Barrier => Notes::NEEDED,
        /// Size of the data; barriers have none. Broadcasts, reductions and scans: size of the
        /// whole vector. Gathers and all-gathers: of what each rank contributes. Scatters and
        /// reduce-scatters: of what each rank receives. All-to-alls: of what each rank sends to
        /// each other rank.
        message_bytes: u64 = 0 => Notes { unsaid: true, ..Notes::POSITIVE },
        /// Root of broadcasts, reductions, gathers and scatters. Default: 0.
        root: u32 = 0 => Notes { unsaid: true, ..Notes::INDEX },
        /// Name of an algorithm of the operation, as in `mpi.collectives`. Default: the algorithm
        /// that `mpi.collectives` selects.
        algorithm: Option<String> = None => Notes { words: &[("auto", Word::Nothing)], ..Notes::NONE },
        /// How often what repeats in it is done, for predictions of what would take long; nothing:
        /// to the end.
        repeats: Option<u32> = None => Notes::HIDDEN,
    }
    refuse "message" when [("operation", Test::Is("barrier")), ("message", Test::Given)] =>
        "nothing, as a barrier has no data";
    refuse "message" when [("operation", Test::IsNot("barrier")), ("message", Test::Absent)] =>
        "a size, as all collectives but barriers have";
}

table! {
    /// Replays a communication matrix: bytes from rank to rank, as measured in an application.
    pub struct Matrix {
        /// The matrix (CSV or edge list), relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
        /// Largest message; larger entries are split into several messages. Default: one message
        /// per entry.
        message_bytes: Option<u64> = None => Notes::POSITIVE,
        /// Instead of `message`: split each entry into as many messages as the matrix counts for
        /// it.
        recorded: bool = false,
        /// Factor for every entry. Default: 1.
        scale: Option<f64> = None => Notes { more_than: Some(0.0), ..Notes::NONE },
        /// Instead of `scale`: scale the matrix so that its entries add up to this.
        total_bytes: Option<u64> = None => Notes { key: Some("total_bytes"), ..Notes::POSITIVE },
        /// In which order a rank exchanges with the others: beginning with the rank after itself
        /// and wrapping around (`after-own`), or from the lowest rank up (`ascending`), as the
        /// Unstructured motif of SST's Ember does.
        #[serde(skip_serializing_if = "is_default")]
        order: MatrixOrder = MatrixOrder::default(),
        /// How its messages follow each other.
        #[serde(skip_serializing_if = "is_default")]
        sends: Sends = Sends::default() => Notes::FLAT,
    }
    refuse "receives" when [("receives", Test::Is("in-turn")), ("order", Test::IsNot("ascending"))] =>
        "\"ahead\", or `order = \"ascending\"` with it";
    refuse "total_bytes" when [("scale", Test::Given), ("total_bytes", Test::Given)] =>
        "either `scale` or `total_bytes`";
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

table! {
    /// Replays what a real application did.
    pub struct Trace {
        /// The trace, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes { parts: "trace", ..Notes::NEEDED },
        /// Factor for every time between two calls: 0 replays the communication alone. Default: 1.
        compute_scale: Option<f64> = None => Notes::AMOUNT,
        /// Instead of `compute_scale`: replaces every time between two calls by this.
        gap_ps: Option<u64> = None,
        /// Uses the trace of one rank for all ranks. A rank's peers then have the same distance
        /// from it, around the ring of ranks, as the recorded peers from the recorded rank
        /// (`offset`), or differ from it in the same bits (`xor`, for a number of ranks that is a
        /// power of two).
        repeat_rank: Option<RepeatRank> = None,
        /// For traces of MPI: where the replayed part starts: `{ time = "10 ms" }`, `{ region =
        /// "solve" }`, `{ region = "timestep", iteration = 11 }` or `{ marker = "warm" }`. Default:
        /// the trace's start.
        start: Option<TraceBorder> = None,
        /// Where the replayed part ends, given as for `start`. Default: the trace's end.
        end: Option<TraceBorder> = None,
    }
    refuse "gap" when [("compute_scale", Test::Given), ("gap", Test::Given)] =>
        "either `compute_scale` or `gap`";
}

table! {
    /// A moment of a trace.
    pub struct TimeBorder {
        /// Time since the trace's start. Calls that begin at or after it (`start`), or before it
        /// (`end`), are replayed.
        time_ps: u64 = 0 => Notes::NEEDED,
    }
}

table! {
    /// Where a rank enters a function (`start`) or leaves it (`end`).
    pub struct RegionBorder {
        /// The function: a region of the program that the trace names, or a function of MPI such as
        /// `MPI_Allreduce`.
        name: String = String::new() => Notes { key: Some("region"), fewest_entries: Some(1), ..Notes::NEEDED },
        /// Which of the times that each rank is in the function, counted from 1. Default: the first
        /// for `start`, the last for `end`.
        iteration: Option<u64> = None => Notes::POSITIVE,
    }
}

table! {
    /// A marker of an OTF2 archive.
    pub struct MarkerBorder {
        /// Text or kind of the marker.
        name: String = String::new() => Notes { key: Some("marker"), fewest_entries: Some(1), ..Notes::NEEDED },
        /// Which marker of that name, counted from 1. Default: the first for `start`, the last for
        /// `end`.
        iteration: Option<u64> = None => Notes::POSITIVE,
    }
}

/// Where a region of interest of a trace starts or ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TraceBorder {
    /// Time after the trace's start.
    TimePs(u64),
    /// Where a rank enters or leaves a function; `iteration`: which time, from 1.
    Region(RegionBorder),
    /// At a marker; `iteration`: which of that name, from 1.
    Marker(MarkerBorder),
}

/// How a trace is checked before it is replayed; as in [`Trace`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// Who exchanges what with whom in an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Named)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum MotifKind {
    /// Every rank sends to every other.
    AllToAll(AllToAll),
    /// Every rank exchanges with every rank of the other half.
    Bisection(Bisection),
    /// Neighbours in a grid of ranks exchange across their faces.
    Halo(Halo),
    /// Each rank sends to its partner under a pattern.
    Exchange(Exchange),
    /// One rank's message reaches all others.
    Broadcast(Broadcast),
    /// Ranks write to the file system.
    #[serde(rename = "checkpoint")]
    CheckpointBurst(CheckpointBurst),
    /// A collective of all ranks.
    Collective(Collective),
    /// Replays a communication matrix.
    Matrix(Matrix),
    /// Replays a trace.
    Trace(Trace),
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

table! {
    /// A phase in which every rank computes.
    pub struct ComputePhase {
        /// Time for which every rank computes.
        compute_ps: u64 = 0 => Notes { needed: true, ..Notes::POSITIVE },
    }
}

table! {
    /// Phases that are repeated.
    pub struct RepeatPhase {
        /// Number of repetitions.
        times: u32 = 1 => Notes { key: Some("repeat"), ..Notes::NEEDED_COUNT },
        /// Motifs, computing and repeats, one after another.
        phases: Vec<Phase> = Vec::new() => Notes { fewest_entries: Some(1), ..Notes::NEEDED },
    }
}

table! {
    /// A file of phases.
    pub struct PhaseFile {
        /// Motifs, computing and repeats, one after another.
        phases: Vec<Phase> = Vec::new() => Notes { fewest_entries: Some(1), ..Notes::NEEDED },
    }
}

/// A part of an application of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Phase {
    /// All iterations of a motif.
    Motif(Motif),
    /// Every rank computes so long.
    ComputePs(u64),
    /// Phases that are repeated.
    Repeat(RepeatPhase),
}
