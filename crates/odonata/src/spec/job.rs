//! Jobs: what each is, and where its ranks sit.

use std::path::PathBuf;

use odonata_declare::Named;
use odonata_load::CollectiveKind;
pub use odonata_placement::grap::GrapModeName;
pub use odonata_placement::{Objective as MappingObjective, Start as MappingStart};
use serde::{Deserialize, Serialize};

use super::motif::Motif;
use super::pattern::Traffic;
use super::table::{is_default, table};

table! {
    /// Some of a job's messages, and the class of traffic that they are of.
    pub struct MessageClass {
        /// Name of the class, one of `network.router.traffic_class`.
        traffic_class: String = String::new() => Notes { fewest_entries: Some(1), ..Notes::NEEDED },
        /// The messages of this collective, by whatever motif or trace.
        #[serde(skip_serializing_if = "Option::is_none")]
        collective: Option<CollectiveKind> = None,
        /// Messages up to this size.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_to_bytes: Option<u64> = None => Notes::POSITIVE,
        /// What the protocol sends for the job's messages: requests, grants and FINs of those that
        /// ask first, acknowledgements of what is written, and questions for what is read. Default:
        /// these are of the class of the message that they are for.
        #[serde(skip_serializing_if = "is_default")]
        control: bool = false,
    }
}

table! {
    /// A parallel application: ranks on nodes, and what they send.
    pub struct Job {
        /// Name in tables and pictures. Default: job1, job2, …
        name: String = String::new() => Notes { unsaid: true, fewest_entries: Some(1), most_entries: Some(200), ..Notes::NONE },
        /// Nodes that the job gets. Default: as many as its ranks need.
        nodes: Option<u32> = None => Notes::COUNT,
        /// Ranks (processes). Default: `ranks_per_node` on every node; if a matrix or trace is
        /// replayed, its number of ranks.
        ranks: Option<u32> = None => Notes::COUNT,
        /// Ranks on each node.
        ranks_per_node: u32 = 1 => Notes::COUNT,
        /// When its ranks start.
        start_ps: u64 = 0,
        /// With `[schedule]`, whose queue the job joins: when it is submitted.
        #[serde(skip_serializing_if = "Option::is_none")]
        submit_s: Option<i64> = None,
        /// With `[schedule]`: the time that its user requests, after which it is killed. Default:
        /// none, and the scheduler knows how long it runs alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_s: Option<i64> = None => Notes::POSITIVE,
        /// Which free nodes the job gets: the first ones (`contiguous`), the nodes of one router of
        /// each group in turn (`spread`), one node of each router in turn (`even`), whole groups
        /// that it shares with no other job (`isolated`), those that [GRAP](optical-switches.md#grap) chooses
        /// (`grap`), random nodes (`random-node`), all nodes of random routers or groups
        /// (`random-router`, `random-group`), or the nodes of a list or of a text such as `"0,
        /// 3-8"`. `level-spread` (Zhang et al. 2018) takes the emptiest router that can hold the
        /// job, or else spreads the job over the emptiest group that can, or over all groups.
        /// `hybrid` takes nodes in order within the first group that can hold the job, or else
        /// places it as `spread` does. `best-fit` takes the fullest router that can hold the job,
        /// or else the fullest group that can, or else the fullest groups first. A table restricts
        /// a policy to some groups or selects a mode of GRAP: `{ policy = "even", groups = "0-2"
        /// }`, `{ policy = "grap", mode = "minimal-balance" }`. A map of TraceR gives placement and
        /// mapping: `{ rank_map = "job0" }`. A [plug-in](plug-ins.md) may add further policies.
        placement: Placement = Placement::default(),
        /// Groups whose nodes it may get, unless they are listed; nothing: any.
        groups: Option<Vec<u32>> = None => Notes::HIDDEN,
        /// Which rank sits on which of the job's nodes: node after node (`linear`), at random
        /// (`random`), at random within each half of the job (`random-halves`: no rank leaves its
        /// half, as for `bisection` over a given cut), or near the ranks that it communicates with
        /// ([mapping](mapping.md)): only on its own node, which is a random one
        /// (`random-clusters`), the heaviest communicators first (`greedy`), or by recursive
        /// bisection of application and network (`graph-bisection`). Or an explicit mapping: the
        /// index of each rank's node among the job's nodes, as a list or in a file, whose name
        /// has a dot or slash (`"ranks.map"`). A [plug-in](plug-ins.md) may add further mappings.
        mapping: Mapping = Mapping::default(),
        /// Name of the class of traffic that its messages belong to, one of
        /// `network.router.traffic_class`. Default: the first of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        traffic_class: Option<String> = None,
        /// Messages of other classes than that: the first entry that fits a message says its class,
        /// before the phase that sends it. Not with `traffic`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        message_classes: Vec<MessageClass> = Vec::new() => Notes { key: Some("message_class"), ..Notes::NONE },
        /// Whether the job only occupies its nodes and sends nothing, to see the other jobs without
        /// its traffic.
        idle: bool = false,
        /// What its ranks do.
        load: Load = Load::Traffic(Traffic::default()) => Notes { needed: true, ..Notes::FLAT },
    }
    refuse "" as "neither" when [("motif", Test::Absent), ("traffic", Test::Absent)] =>
        "exactly one of `motif` and `traffic`";
    refuse "" as "both" when [("motif", Test::Given), ("traffic", Test::Given)] =>
        "exactly one of `motif` and `traffic`";
    refuse "mapping" when [("placement.rank_map", Test::Given), ("mapping", Test::Set)] =>
        "nothing, as `placement` has a map";
    refuse "nodes" when [("nodes", Test::Absent), ("ranks", Test::Absent), ("placement", Test::NoList), ("placement.rank_map", Test::Absent), ("motif.kind", Test::IsNot("matrix")), ("motif.kind", Test::IsNot("trace"))] =>
        "a value, as `ranks` is not given either";
}

impl Job {
    /// A job of one rank per node that starts at once, contiguous and linear.
    pub fn new(name: impl Into<String>, nodes: u32, load: Load) -> Self {
        Self {
            name: name.into(),
            nodes: Some(nodes),
            load,
            ..Self::default()
        }
    }
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
    /// The nodes of a map of ranks to servers of TraceR, which also says which rank sits where.
    #[named(by_value)]
    RankMap {
        /// The map of the job, or with `job` the global one.
        file: PathBuf,
        /// Which job of the global map.
        #[serde(default)]
        job: Option<u32>,
    },
}

table! {
    /// A placement restricted to some groups, or by a mode of GRAP.
    pub struct PlacementTable {
        /// Which free nodes of these groups the job gets: the same policies as with a name alone.
        policy: String = "contiguous".into() => Notes { list: Some("placement"), ..Notes::NONE },
        /// Groups whose nodes the job may get: numbers from 0, as a list or a text such as `"0,
        /// 3-8"`. Not with `grap`.
        groups: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// With `policy = "grap"`: how the nodes of a job larger than a group are spread
        /// ([GRAP](optical-switches.md#grap)). Default: `adaptive`.
        mode: Option<GrapModeName> = None,
        /// With `mode = "custom-balance"`: number of groups.
        group_count: Option<u32> = None => Notes::COUNT,
        /// With `mode = "custom"`: nodes in each group; they add up to the job's `nodes`.
        nodes_per_group: Option<Vec<u32>> = None => Notes::COUNTS,
    }
    refuse "groups" as "a value" when [("policy", Test::Is("grap")), ("groups", Test::Given)] =>
        "nothing, as GRAP looks at all groups";
    refuse "groups" when [("policy", Test::IsNot("grap")), ("groups", Test::Absent)] =>
        "a value, as policy = \"{policy}\"";
    refuse "mode" when [("policy", Test::IsNot("grap")), ("mode", Test::Given)] =>
        "only with policy = \"grap\"";
    refuse "group_count" when [("mode", Test::Is("custom-balance")), ("group_count", Test::Absent)] =>
        "a value, as mode = \"custom-balance\"";
    refuse "group_count" when [("mode", Test::IsNot("custom-balance")), ("group_count", Test::Given)] =>
        "only with mode = \"custom-balance\"";
    refuse "nodes_per_group" when [("mode", Test::Is("custom")), ("nodes_per_group", Test::Absent)] =>
        "a value, as mode = \"custom\"";
    refuse "nodes_per_group" when [("mode", Test::IsNot("custom")), ("nodes_per_group", Test::Given)] =>
        "only with mode = \"custom\"";
}

table! {
    /// A placement and mapping by a map of ranks to servers, as of TraceR.
    pub struct RankMapPlacement {
        /// The map, relative to the scenario: 32-bit integers, or text with one record per line.
        /// Without `job` it is the map of this job, with the server of each rank; with `job` it is
        /// the global map, with server, rank and job in each record. Servers are cores, numbered
        /// router by router and around the nodes of each router, `ranks_per_node` on each node
        /// ([maps of TraceR](mapping.md#maps-of-tracer)).
        file: PathBuf = PathBuf::new() => Notes { key: Some("rank_map"), ..Notes::NEEDED },
        /// Number of this job in a global map, from 0.
        job: Option<u32> = None => Notes::INDEX,
    }
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

table! {
    /// A mapping of ranks to nodes from a file, or by a policy with its parameters.
    pub struct MappingTable {
        /// File, relative to the scenario, with one line per rank: the index of its node among the
        /// job's nodes. All other keys are for policies.
        file: Option<PathBuf> = None,
        /// The policy that makes the mapping, or from which `refine` starts: the same as with a
        /// name alone.
        policy: Option<MappingStart> = None,
        /// `swap`: pairs of ranks swap places for as long as that lowers the objective. Default:
        /// ranks stay where the policy puts them.
        refine: Option<Refinement> = None,
        /// With `refine`: what the swaps lower: the sum of all bytes, each weighted by the time for
        /// which it occupies links on its path (`hop-bytes`), or the load of the busiest links
        /// (`link-load`). Default: hop-bytes.
        objective: Option<MappingObjective> = None,
        /// Communication matrix that says which rank sends how much to which, relative to the
        /// scenario. Default: what the job's own motif or traffic sends.
        matrix: Option<PathBuf> = None,
    }
    refuse "" as "neither" when [("file", Test::Absent), ("policy", Test::Absent)] =>
        "exactly one of `file` and `policy`";
    refuse "" as "both" when [("file", Test::Given), ("policy", Test::Given)] =>
        "exactly one of `file` and `policy`";
    refuse "refine" when [("file", Test::Given), ("refine", Test::Given)] => "only with `policy`";
    refuse "matrix" when [("file", Test::Given), ("matrix", Test::Given)] => "only with `policy`";
    refuse "objective" when [("objective", Test::Given), ("refine", Test::Absent)] =>
        "only with refine = \"swap\"";
    refuse "matrix" when [("matrix", Test::Given), ("refine", Test::Absent), ("policy", Test::IsNot("random-clusters")), ("policy", Test::IsNot("greedy")), ("policy", Test::IsNot("graph-bisection"))] =>
        "only with random-clusters, greedy or graph-bisection, or with `refine`";
}

/// How a mapping is made better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Refinement {
    /// Ranks swap places in pairs.
    Swap,
}
