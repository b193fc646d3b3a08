//! Traffic: what ranks offer whatever the network does.

use std::path::PathBuf;

use odonata_declare::Named;
pub use odonata_load::{ProcessName, Turn};
use serde::{Deserialize, Serialize};

use super::table::{is_default, table};

table! {
    /// What all open-loop traffic has.
    pub struct Traffic {
        /// Size of each message. May be left out if `interval` and either `load` or `rate` are
        /// given, from which it then follows.
        message_bytes: Option<u64> = None => Notes::POSITIVE,
        /// When a rank starts its messages: after exponentially distributed gaps (`poisson`); at
        /// fixed gaps, from a random fraction of a gap on (`periodic`) or by all ranks at once
        /// (`aligned`); as `aligned` but with gaps lengthened by `drift` (`drifting`); or with a
        /// fixed probability in every slot (`bernoulli`).
        process: ProcessName = ProcessName::default(),
        /// How much.
        offered: Offered = Offered::IntervalPs(0) => Notes { needed: true, ..Notes::FLAT },
        /// Mean time between two messages of a rank, where the size follows from it.
        interval_ps: Option<u64> = None => Notes::HIDDEN,
        /// Number of times that each rank sends before it is done. Default: without end.
        messages: Option<u32> = None => Notes::COUNT,
        /// With `process = "bernoulli"`: length of a slot. Default: the time that a message takes on
        /// the terminal link.
        slot_ps: Option<u64> = None => Notes::POSITIVE,
        /// With `process = "drifting"`: mean of the exponentially distributed time by which each
        /// gap is lengthened, so that ranks that begin together get out of step. The synthetic
        /// workloads of CODES send in this way, with 1 ns.
        #[serde(skip_serializing_if = "is_default")]
        drift_ps: u64 = 0 => Notes::DELAY,
        /// Whom a rank sends to.
        pattern: Pattern = Pattern::UniformRandom => Notes { needed: true, ..Notes::HIDDEN },
    }
    refuse "slot" when [("slot", Test::Given), ("process", Test::IsNot("bernoulli"))] =>
        "only with process = \"bernoulli\"";
    refuse "drift" when [("drift", Test::Positive), ("process", Test::IsNot("drifting"))] =>
        "only with process = \"drifting\"";
}

impl Traffic {
    /// Messages without end at random times.
    pub fn new(pattern: Pattern, message_bytes: u64, offered: Offered) -> Self {
        Self {
            pattern,
            message_bytes: Some(message_bytes),
            offered,
            ..Self::default()
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

table! {
    /// Keys of [`Offered`]; one of them, or an interval with one of the others, where the size
    /// of messages follows.
    pub struct OfferedKeys {
        /// Offered load of a node, shared by its ranks, as a fraction of the bandwidth of its
        /// terminal link; with a matrix of rates, the load of the average node. Or a theoretical
        /// global link load such as `"90 % TGLL"` (Kang et al. 2019, equation 4): the size of a
        /// message divided by the time between two messages of a rank, as a fraction of the
        /// bandwidth of a global link; messages that a rank sends at once (`to = "all"`) count as
        /// one.
        #[serde(skip_serializing_if = "Option::is_none")]
        load: Option<TrafficLoad> = None,
        /// Offered load of a rank; with a matrix of rates, the load of the average rank; with `to =
        /// "all"`, the total load of the rank that has most partners.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate_bytes_per_s: Option<u64> = None => Notes::BANDWIDTH,
        /// Mean time between two messages of a rank, whether or not the previous one has arrived;
        /// with `to = "all"`, between two times at which the rank sends.
        #[serde(skip_serializing_if = "Option::is_none")]
        interval_ps: Option<u64> = None => Notes::POSITIVE,
    }
}

/// A load: a number, a share, or a theoretical global link load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrafficLoad(pub f64);

table! {
    /// Traffic to another group: ADV+k, the worst case for minimal routing on a dragonfly.
    pub struct GroupShift {
        /// Distance in groups, counted over the groups where the job has ranks.
        k: i64 = 1,
    }
}

table! {
    /// Traffic to the rank at a fixed offset.
    pub struct Shift {
        /// Rank r sends to r + offset (modulo the number of ranks).
        offset: u32 = 0 => Notes::NEEDED_COUNT,
    }
}

table! {
    /// Traffic to the neighbours in a grid of ranks.
    pub struct Stencil {
        /// Ranks along each dimension; their product is the number of ranks. Default: as nearly equal
        /// as the number of ranks allows.
        grid: Option<Vec<u32>> = None => Notes { fewest_entries: Some(1), most_entries: Some(4), ..Notes::COUNT },
        /// Number of dimensions of the grid, if `grid` is not given. Default: 3.
        dimensions: Option<usize> = None => Notes { least: Some(1.0), most: Some(4.0), ..Notes::NONE },
        /// Whether the grid wraps around.
        periodic: bool = true,
        /// Which neighbours get a message each time: a random one, the next in turn, or all of
        /// them, one message each.
        to: Turn = Turn::default(),
    }
    refuse "dimensions" when [("grid", Test::Given), ("dimensions", Test::Given)] =>
        "either `grid` or `dimensions`";
}

table! {
    /// Traffic to the ranks at the same position in all other groups where the job has ranks.
    pub struct GroupPeers {
        /// Which of these ranks get a message each time: a random one, the next in turn, or all of
        /// them, one message each.
        to: Turn = Turn::default(),
    }
}

table! {
    /// Traffic from one rank to all others, one message to each every time.
    pub struct BroadcastTraffic {
        /// The rank that sends.
        root: u32 = 0 => Notes::INDEX,
    }
}

table! {
    /// Traffic with a given share to a few ranks and the rest to any rank.
    pub struct HotSpot {
        /// Ranks that draw more traffic.
        hot_ranks: Vec<u32> = Vec::new() => Notes { needed: true, fewest_entries: Some(1), ..Notes::INDEX },
        /// Share of the messages that goes to the hot ranks.
        fraction: f64 = 0.0 => Notes { needed: true, ..Notes::FRACTION },
    }
}

table! {
    /// Traffic by a matrix of rates, such as the probabilities that one rack sends to another.
    pub struct MatrixTraffic {
        /// The matrix, relative to the scenario, in any
        /// [format](bring-your-application.md#matrices): bytes, shares or probabilities, of which
        /// only the proportions count. `load`, `rate` or `interval` says how much the average rank
        /// offers.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
        /// What the rows and columns of the matrix stand for: the job's ranks, or the nodes,
        /// routers (racks with one router each) or groups on which the job has ranks, in order; the
        /// ranks of a node, router or group share its traffic evenly.
        between: Between = Between::default(),
    }
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
    Shift(Shift),
    /// The mirror place in a square matrix of ranks.
    Transpose,
    /// A random rank of the other half.
    Bisection,
    /// The partner in the other half.
    BisectionPairs,
    /// Either neighbour on the ring of ranks.
    Neighbour,
    /// A neighbour in a grid of ranks.
    Stencil(Stencil),
    /// The ranks at the same place of all other groups.
    GroupPeers(GroupPeers),
    /// One rank sends to all others.
    Broadcast(BroadcastTraffic),
    /// ADV+k: a random rank of the group k groups further.
    Adversarial(GroupShift),
    /// The rank at the same place of the group k groups further.
    GroupShift(GroupShift),
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
    HotSpot(HotSpot),
    /// By a matrix of rates.
    Matrix(MatrixTraffic),
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
