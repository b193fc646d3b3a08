//! What is wired, and how packets are routed on it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use odonata_declare::Named;
pub use odonata_network::routing::{AlgorithmName, Choice, FparRules, MinimalLinks, Paths, Via};
pub use odonata_network::topology::{ArrangementName, GroupWiringName, LinkKind, SpineArrangement};
pub use odonata_sim::Decisions;
pub use odonata_steering::Strategy;
use serde::{Deserialize, Serialize};

use super::is_default;
use super::optical::OpticalLayer;
use super::{Nic, Router};

/// A network: topology, links, routers, network interfaces, routing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What is wired.
    pub topology: Family,
    /// How packets find their way.
    #[serde(default)]
    pub routing: Routing,
    /// Link classes by name; those left out get [`Link::default_for`].
    #[serde(default)]
    pub links: BTreeMap<String, Link>,
    /// The router model.
    #[serde(default)]
    pub router: Router,
    /// The network interface of a node.
    #[serde(default)]
    pub nic: Nic,
}

impl Network {
    /// The network of a topology, with defaults for the rest.
    pub fn new(topology: Family) -> Self {
        let algorithm = match topology {
            Family::Dragonfly(_)
            | Family::DragonflyPlus(_)
            | Family::CrayXcFile(_)
            | Family::Codes(_) => AlgorithmName::Minimal,
            Family::ReconfigurableDragonfly(_) => AlgorithmName::Tago,
            Family::FatTree(_) => AlgorithmName::UpDown,
            Family::Torus(_) | Family::Hyperx(_) => AlgorithmName::DimensionOrder,
            Family::Crossbar(_)
            | Family::SlimFly(_)
            | Family::Jellyfish(_)
            | Family::Ibnetdiscover(_)
            | Family::EdgeList(_)
            | Family::Graphml(_) => AlgorithmName::ShortestPath,
        };
        Self {
            topology,
            routing: Routing {
                algorithm,
                ..Routing::default()
            },
            links: BTreeMap::new(),
            router: Router::default(),
            nic: Nic::default(),
        }
    }
}

/// A family of networks with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(tag = "family", rename_all = "kebab-case")]
pub enum Family {
    /// Groups of routers, connected to each other directly.
    Dragonfly(Dragonfly),
    /// Groups of leaf and spine routers, connected to each other directly.
    #[serde(rename = "dragonfly+")]
    DragonflyPlus(DragonflyPlus),
    /// Groups of routers whose global links lead to optical switches.
    ReconfigurableDragonfly(ReconfigurableDragonfly),
    /// Levels of switches, wider or narrower towards the top.
    FatTree(FatTree),
    /// A lattice whose routers are linked to the next ones along each dimension.
    Torus(Torus),
    /// A lattice whose rows are all-to-all.
    Hyperx(HyperX),
    /// A graph of diameter 2.
    SlimFly(SlimFly),
    /// A random regular graph.
    Jellyfish(Jellyfish),
    /// All nodes on one router.
    Crossbar(Crossbar),
    /// A real Cray XC, from its link list.
    CrayXcFile(CrayXcFile),
    /// A network from the lists of links of the CODES simulator.
    Codes(CodesNetwork),
    /// An InfiniBand subnet, from the output of `ibnetdiscover` or a list of OpenSM.
    Ibnetdiscover(SubnetFile),
    /// A network from a list of links.
    EdgeList(FileNetwork),
    /// A network from a GraphML file.
    Graphml(FileNetwork),
}

/// A dragonfly (Kim et al. 2008).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dragonfly {
    /// Nodes per router.
    pub p: u32,
    /// Routers per group.
    pub a: u32,
    /// Global links per router.
    pub h: u32,
    /// Groups; `None`: a·h + 1.
    #[serde(default)]
    pub g: Option<u32>,
    /// Which router of a group holds the link to which other group.
    #[serde(default)]
    pub arrangement: ArrangementName,
    /// With [`ArrangementName::Custom`]: file with the global links.
    #[serde(default)]
    pub arrangement_file: Option<PathBuf>,
    /// Wiring within a group.
    #[serde(default)]
    pub group: GroupWiringName,
    /// With [`GroupWiringName::Grid`]: rows of a group; rows × columns = a.
    #[serde(default)]
    pub rows: Option<u32>,
    /// With [`GroupWiringName::Grid`]: columns of a group.
    #[serde(default)]
    pub columns: Option<u32>,
    /// With [`GroupWiringName::Grid`]: parallel links between two routers of a row.
    #[serde(default = "one")]
    pub row_links: u32,
    /// With [`GroupWiringName::Grid`]: parallel links between two routers of a column.
    #[serde(default = "one")]
    pub column_links: u32,
}

fn one() -> u32 {
    1
}

impl Dragonfly {
    /// A dragonfly of `g` groups, absolute arrangement, all-to-all groups.
    pub fn new(p: u32, a: u32, h: u32, g: u32) -> Self {
        Self {
            p,
            a,
            h,
            g: Some(g),
            row_links: 1,
            column_links: 1,
            ..Self::default()
        }
    }
}

/// A dragonfly+ (Shpiner et al. 2017), or megafly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DragonflyPlus {
    /// Leaf routers per group.
    pub leaves: u32,
    /// Spine routers per group.
    pub spines: u32,
    /// Nodes per leaf.
    pub p: u32,
    /// Global links per spine.
    pub h: u32,
    /// Groups; `None`: spines·h + 1.
    #[serde(default)]
    pub g: Option<u32>,
    /// Which spines of two groups are joined.
    #[serde(default)]
    pub arrangement: SpineArrangement,
}

/// A dragonfly whose global links lead to optical switches (Feng et al. 2023).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReconfigurableDragonfly {
    /// Nodes per router.
    pub p: u32,
    /// Routers per group; 0 with a wiring file.
    #[serde(default)]
    pub a: u32,
    /// Global links per router; 0 with a wiring file.
    #[serde(default)]
    pub h: u32,
    /// Groups; 0: as many as the wiring file lists.
    #[serde(default)]
    pub g: u32,
    /// Wiring within a group.
    #[serde(default)]
    pub group: GroupWiringName,
    /// With [`GroupWiringName::Grid`]: rows of a group; rows × columns = a.
    #[serde(default)]
    pub rows: Option<u32>,
    /// With [`GroupWiringName::Grid`]: columns of a group.
    #[serde(default)]
    pub columns: Option<u32>,
    /// With [`GroupWiringName::Grid`]: parallel links between two routers of a row.
    #[serde(default = "one")]
    pub row_links: u32,
    /// With [`GroupWiringName::Grid`]: parallel links between two routers of a column.
    #[serde(default = "one")]
    pub column_links: u32,
    /// Link list of a Cray XC whose groups these are: their links inside, and the
    /// global ports of their routers.
    #[serde(default)]
    pub wiring_file: Option<PathBuf>,
    /// Links of every group on each optical switch.
    #[serde(default = "one")]
    pub links_per_switch: u32,
    /// Ports of an optical switch; `None`: as many as needed.
    #[serde(default)]
    pub switch_ports: Option<u32>,
    /// Where circuits come from.
    #[serde(default)]
    pub circuits: CircuitSource,
    /// With [`CircuitSource::File`]: the list of circuits.
    #[serde(default)]
    pub circuits_file: Option<PathBuf>,
    /// With [`CircuitSource::Jobs`]: how a job's circuits are chosen.
    #[serde(default)]
    pub steering: Strategy,
}

impl ReconfigurableDragonfly {
    /// `g` all-to-all groups, uniform circuits, one link of every group on each switch.
    pub fn new(p: u32, a: u32, h: u32, g: u32) -> Self {
        Self {
            p,
            a,
            h,
            g,
            group: GroupWiringName::AllToAll,
            rows: None,
            columns: None,
            row_links: 1,
            column_links: 1,
            wiring_file: None,
            links_per_switch: 1,
            switch_ports: None,
            circuits: CircuitSource::Uniform,
            circuits_file: None,
            steering: Strategy::Uniform,
        }
    }
}

/// Where the circuits of a reconfigurable dragonfly come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum CircuitSource {
    /// As many between every two groups.
    #[default]
    Uniform,
    /// Between the groups of every job that has several.
    Jobs,
    /// A list.
    File,
}

/// A fat tree: either laid out from switches of one size, or by its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FatTree {
    /// Ports of a switch.
    pub radix: Option<u32>,
    /// With `radix`: levels of switches; `None`: as few as the nodes need, or three.
    pub levels: Option<u32>,
    /// Nodes; `None`: as many as there is room for.
    pub nodes: Option<u32>,
    /// Without `radix`: nodes per leaf, then children per switch of each level.
    pub down: Option<Vec<u32>>,
    /// Without `radix`: parents of a switch of each level but the top.
    pub up: Option<Vec<u32>>,
    /// Without `radix`: links to each parent; `None`: one.
    pub parallel: Option<Vec<u32>>,
    /// What the links above each level but the top are divided by; `None`: 1.
    pub taper: Option<Vec<u32>>,
    /// Optical switches above the leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optical: Option<OpticalLayer>,
}

/// A torus or mesh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Torus {
    /// Routers along each dimension.
    pub size: Vec<u32>,
    /// Whether rows of each dimension are rings; `None`: all.
    #[serde(default)]
    pub wrap: Option<Vec<bool>>,
    /// Nodes per router.
    pub p: u32,
}

/// A HyperX (Ahn et al. 2009).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HyperX {
    /// Routers along each dimension.
    pub size: Vec<u32>,
    /// Links between two routers of a row, by dimension; `None`: one.
    #[serde(default)]
    pub parallel: Option<Vec<u32>>,
    /// Nodes per router.
    pub p: u32,
}

/// A Slim Fly (Besta and Hoefler 2014).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlimFly {
    /// Prime power from which the graph is made.
    pub q: u32,
    /// Nodes per router; `None`: half of its links, rounded up.
    #[serde(default)]
    pub p: Option<u32>,
}

/// A Jellyfish (Singla et al. 2012).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jellyfish {
    /// Routers.
    pub routers: u32,
    /// Links of each router to others.
    pub degree: u32,
    /// Nodes per router.
    pub p: u32,
    /// Of the random links.
    #[serde(default = "first_wiring")]
    pub wiring_seed: u64,
}

fn first_wiring() -> u64 {
    1
}

/// All nodes on one router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crossbar {
    /// Nodes.
    pub nodes: u32,
}

/// A real Cray XC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrayXcFile {
    /// The link list.
    pub file: PathBuf,
    /// Nodes on each router.
    #[serde(default = "four")]
    pub nodes_per_router: u32,
}

fn four() -> u32 {
    4
}

/// A network from the lists of links of the CODES simulator. Either from a
/// configuration file, which names the lists, or from the lists and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodesNetwork {
    /// Configuration of CODES.
    pub file: Option<PathBuf>,
    /// Links within a group; `None`: those that the configuration names.
    pub intra_file: Option<PathBuf>,
    /// Links between groups; `None`: those that the configuration names.
    pub inter_file: Option<PathBuf>,
    /// Without a configuration: the model.
    pub model: Option<CodesModel>,
    /// Without a configuration: leaf routers per group of `dragonfly_plus`.
    pub leaves: Option<u32>,
    /// Without a configuration: spine routers per group of `dragonfly_plus`.
    pub spines: Option<u32>,
    /// Without a configuration: routers per group of `dragonfly_dally`.
    pub a: Option<u32>,
    /// Without a configuration: nodes per router that has nodes.
    pub p: Option<u32>,
    /// Without a configuration: groups.
    pub g: Option<u32>,
}

/// A network model of CODES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
pub enum CodesModel {
    /// Groups of leaves and spines.
    DragonflyPlus,
    /// Groups of routers that are linked to each other.
    DragonflyDally,
}

/// A network from a file in a general format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileNetwork {
    /// The wiring.
    pub file: PathBuf,
    /// Nodes on each router of a file that attaches none; `None`: one, or as the file says.
    #[serde(default)]
    pub nodes_per_router: Option<u32>,
}

/// An InfiniBand subnet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubnetFile {
    /// Output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`.
    pub file: PathBuf,
}

/// What all links of one class have in common; both directions have the full bandwidth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Rate of each direction.
    pub bandwidth_bytes_per_s: u64,
    /// Propagation delay of each direction.
    pub latency_ps: u64,
    /// Input buffer at the receiving router, per virtual channel; `None`: see
    /// [`default_buffer`](crate::default_buffer).
    #[serde(default)]
    pub buffer_bytes: Option<u64>,
    /// Role of a class of a wiring file; `None`: that of its name, or local.
    #[serde(default)]
    pub kind: Option<LinkKind>,
}

impl Link {
    /// The link class of a name that a scenario leaves out. Bandwidths are those
    /// of a Cray XC40 as the CODES project models it: 16 GiB/s into the network,
    /// 5.25 GiB/s per electrical and 4.69 GiB/s per optical link.
    pub fn default_for(class: &str) -> Self {
        let (bandwidth_bytes_per_s, latency_ps) = match class {
            "terminal" => (17_179_869_184, 30_000),
            "global" | "blue" => (5_035_849_155, 300_000),
            _ => (5_637_144_576, 30_000),
        };
        Self {
            bandwidth_bytes_per_s,
            latency_ps,
            buffer_bytes: None,
            kind: None,
        }
    }
}

/// How packets find their way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Routing {
    /// The algorithm.
    pub algorithm: AlgorithmName,
    /// Which global links to the destination's group minimal routes use.
    pub minimal_links: MinimalLinks,
    /// How one of several minimal links is chosen.
    pub choice: Choice,
    /// What a non-minimal route goes by way of; `None`: usual for the algorithm.
    pub via: Option<Via>,
    /// What minimal routes are; `None`: usual for the network. Left out of scenarios of
    /// old, which are known by their text, where it is what it always was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Paths>,
    /// Non-minimal routes that an adaptive algorithm compares.
    pub candidates: Option<u32>,
    /// Queue that an adaptive algorithm ignores; `None`: what follows from the links'
    /// buffers.
    pub threshold_bytes: Option<u64>,
    /// Share of a port's queue, 0 to 1, up to which a path counts as free for
    /// `fpar`; `None`: 0.75.
    pub threshold_share: Option<f64>,
    /// By how much, as a share, the minimal port may be worse than the best for
    /// `q-adaptive` at the source router; `None`: 0.2.
    pub source_threshold: Option<f64>,
    /// The same in an intermediate group; `None`: 0.35.
    pub intermediate_threshold: Option<f64>,
    /// Learning rate towards shorter times; `None`: 0.2.
    pub rate_down: Option<f64>,
    /// Learning rate towards longer times; `None`: 0.04.
    pub rate_up: Option<f64>,
    /// Probability of a random port; `None`: 0.001.
    pub exploration: Option<f64>,
    /// How queues on routes of the two sorts count.
    pub weights: Weights,
    /// Whether traffic inside a group may take a detour inside it.
    pub detours_in_group: Option<bool>,
    /// With `forwarding-tables`: the file of the tables, or a directory with it. This key and the
    /// next two came later, so that scenarios of old are without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<PathBuf>,
    /// With `forwarding-tables`: what the GUIDs and LIDs of tables of OpenSM are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet: Option<PathBuf>,
    /// With `forwarding-tables`: the file of virtual channels by source and destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_levels: Option<PathBuf>,
    /// Virtual channels per link; `None`: what the algorithm needs.
    pub virtual_channels: Option<u8>,
    /// How `fpar` decides. Left out where it is the default, which scenarios of old are
    /// known by.
    #[serde(skip_serializing_if = "is_default")]
    pub rules: FparRules,
    /// What routers decide on. Left out of scenarios of old, which are known by their
    /// text, where it is what it always was.
    #[serde(skip_serializing_if = "is_default")]
    pub per: Decisions,
}

/// How queues on minimal and non-minimal routes count when they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Weights {
    /// Each by the number of hops of its route: `"hops"`.
    Hops(HopsWord),
    /// By the weights of minimal and of non-minimal routes: `[1, 2]`.
    Fixed([u32; 2]),
}

impl Default for Weights {
    fn default() -> Self {
        Self::Hops(HopsWord::Hops)
    }
}

/// The word `"hops"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HopsWord {
    /// `"hops"`.
    Hops,
}
