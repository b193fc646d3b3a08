//! What is wired, and how packets are routed on it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use odonata_declare::Named;
use odonata_network::Topology;
pub use odonata_network::routing::{AlgorithmName, Choice, FparRules, MinimalLinks, Paths, Via};
pub use odonata_network::topology::{ArrangementName, GroupWiringName, LinkKind, SpineArrangement};
pub use odonata_sim::Decisions;
pub use odonata_steering::Strategy;
use serde::{Deserialize, Serialize};

use super::family::{FamilyDeclaration, NetworkFamily, UsualLink};
use super::is_default;
use super::optical::OpticalLayer;
use super::table::{TableDeclaration, table};
use super::{Nic, Router};
use crate::error::SpecError;
use crate::topology::Classes;

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
        let algorithm = topology.usual_routing();
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

/// Declares the families of networks: which there are, what each is, and its table.
macro_rules! families {
    ($($(#[$attribute:meta])+ $family:ident($table:ty) as $class:literal,)+) => {
        /// A family of networks with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Named)]
        #[serde(tag = "family", rename_all = "kebab-case")]
        pub enum Family {
            $($(#[$attribute])+ $family($table),)+
        }

        impl Family {
            /// What users are told of each, in the order in which they are declared.
            pub fn declarations() -> Vec<FamilyDeclaration> {
                let tables = [$((
                    $class,
                    stringify!($table),
                    <$table>::declaration(),
                    <$table as NetworkFamily>::ROUTING,
                    <$table as NetworkFamily>::LINKS,
                )),+];
                let names = Self::NAMES.iter().zip(Self::TEXTS);
                let shared = tables.clone().map(|(_, table, ..)| table);
                (names.zip(tables))
                    .map(|((name, text), (class, of, table, routing, links))| FamilyDeclaration {
                        name,
                        table: TableDeclaration {
                            name: class,
                            // A table that several families have says nothing of one.
                            text: if shared.iter().filter(|other| **other == of).count() > 1 {
                                (*text).to_owned()
                            } else {
                                table.text
                            },
                            ..table
                        },
                        routing,
                        links,
                    })
                    .collect()
            }

            /// The algorithm that a network has which says nothing else of itself.
            pub(crate) fn usual_routing(&self) -> AlgorithmName {
                let routing = match self {
                    $(Self::$family(_) => <$table as NetworkFamily>::ROUTING,)+
                };
                routing.last().map_or_else(AlgorithmName::default, |usual| usual.1)
            }

            /// What minimal routes are by default, where the family says it.
            pub(crate) fn usual_paths(&self) -> Option<Paths> {
                match self {
                    $(Self::$family(_) => <$table as NetworkFamily>::PATHS,)+
                }
            }

            /// Builds the network.
            ///
            /// # Errors
            /// As of [`NetworkFamily::build`].
            pub(crate) fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
                match self {
                    $(Self::$family(table) => table.build(classes),)+
                }
            }
        }
    };
}

families! {
    /// Groups of routers, connected to each other directly.
    Dragonfly(Dragonfly) as "Dragonfly",
    /// Groups of leaf and spine routers, connected to each other directly.
    #[serde(rename = "dragonfly+")]
    DragonflyPlus(DragonflyPlus) as "DragonflyPlus",
    /// Groups of routers whose global links lead to optical switches.
    ReconfigurableDragonfly(ReconfigurableDragonfly) as "ReconfigurableDragonfly",
    /// Levels of switches, wider or narrower towards the top.
    FatTree(FatTree) as "FatTree",
    /// A lattice whose routers are linked to the next ones along each dimension.
    Torus(Torus) as "Torus",
    /// A lattice whose rows are all-to-all.
    Hyperx(HyperX) as "HyperX",
    /// A graph of diameter 2.
    SlimFly(SlimFly) as "SlimFly",
    /// A random regular graph.
    Jellyfish(Jellyfish) as "Jellyfish",
    /// All nodes on one router.
    Crossbar(Crossbar) as "Crossbar",
    /// A real Cray XC, from its link list.
    CrayXcFile(CrayXcFile) as "CrayXcFile",
    /// A network from the lists of links of the CODES simulator.
    Codes(CodesNetwork) as "Codes",
    /// An InfiniBand subnet, from the output of `ibnetdiscover` or a list of OpenSM.
    Ibnetdiscover(SubnetFile) as "Ibnetdiscover",
    /// A network from a list of links.
    EdgeList(FileNetwork) as "EdgeList",
    /// A network from a GraphML file.
    Graphml(FileNetwork) as "Graphml",
}

table! {
    /// A dragonfly: groups of routers, groups connected to each other directly (Kim et al. 2008).
    pub struct Dragonfly {
        /// Nodes per router.
        p: u32 = 0 => Notes::NEEDED_COUNT,
        /// Routers per group.
        a: u32 = 0 => Notes::NEEDED_COUNT,
        /// Global links per router.
        h: u32 = 0 => Notes::NEEDED_COUNT,
        /// Groups, at most a·h + 1. Default: a·h + 1, one link between every two groups.
        g: Option<u32> = None => Notes::COUNT,
        /// Wiring within a group: every router to every other, or a Cray XC grid whose rows and
        /// columns are each all-to-all.
        group: GroupWiringName = GroupWiringName::AllToAll,
        /// With `group = "cray-xc"`: rows of a group; rows × columns = a.
        rows: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: columns of a group.
        columns: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a row. Default: 1.
        row_links: u32 = 1 => Notes::UNSAID_COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a column. Default: 1.
        column_links: u32 = 1 => Notes::UNSAID_COUNT,
        /// Which router of a group holds the link to which other group (Hastings et al. 2015);
        /// `custom` reads it from `arrangement_file`.
        arrangement: ArrangementName = ArrangementName::Absolute,
        /// With `arrangement = "custom"`: file with the global links, relative to the scenario.
        arrangement_file: Option<PathBuf> = None,
    }
    refuse "arrangement_file" when [("arrangement", Test::Is("custom")), ("arrangement_file", Test::Absent)] =>
        "a value, as arrangement = \"custom\"";
    refuse "arrangement_file" when [("arrangement", Test::IsNot("custom")), ("arrangement_file", Test::Given)] =>
        "only with arrangement = \"custom\"";
    refuse "rows" when [("group", Test::Is("cray-xc")), ("rows", Test::Absent)] =>
        "a value, as group = \"cray-xc\"";
    refuse "rows" when [("group", Test::IsNot("cray-xc")), ("rows", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "columns" when [("group", Test::Is("cray-xc")), ("columns", Test::Absent)] =>
        "a value, as group = \"cray-xc\"";
    refuse "columns" when [("group", Test::IsNot("cray-xc")), ("columns", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "row_links" when [("group", Test::IsNot("cray-xc")), ("row_links", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "column_links" when [("group", Test::IsNot("cray-xc")), ("column_links", Test::Given)] =>
        "only with group = \"cray-xc\"";
}

table! {
    /// A dragonfly+, or megafly: groups of leaf and spine routers (Shpiner et al. 2017).
    ///
    /// Leaves have nodes, spines have global links, and every leaf of a group is linked to every
    /// spine of it.
    pub struct DragonflyPlus {
        /// Leaf routers per group.
        leaves: u32 = 0 => Notes::NEEDED_COUNT,
        /// Spine routers per group.
        spines: u32 = 0 => Notes::NEEDED_COUNT,
        /// Nodes per leaf.
        p: u32 = 0 => Notes::NEEDED_COUNT,
        /// Global links per spine.
        h: u32 = 0 => Notes::NEEDED_COUNT,
        /// Groups; g − 1 must divide spines·h, so that as many links join every two groups.
        /// Default: spines·h + 1, one link between every two groups.
        g: Option<u32> = None => Notes::COUNT,
        /// Which spines of two groups are joined: the links of a spine to another group are spread
        /// over its spines, or all end at one of them (Kang et al. 2019).
        arrangement: SpineArrangement = SpineArrangement::Balanced,
    }
}

table! {
    /// A dragonfly whose global links lead to optical switches (Feng et al. 2023).
    ///
    /// Circuits through the switches decide which groups are joined.
    pub struct ReconfigurableDragonfly {
        /// Nodes per router.
        p: u32 = 0 => Notes::NEEDED_COUNT,
        /// Routers per group. Needed without `wiring_file`.
        a: u32 = 0 => Notes::UNSAID_COUNT,
        /// Global links per router. Needed without `wiring_file`.
        h: u32 = 0 => Notes::UNSAID_COUNT,
        /// Groups. Needed without `wiring_file`, otherwise by default as many as that lists.
        g: u32 = 0 => Notes::UNSAID_COUNT,
        /// Wiring within a group: every router to every other, or a Cray XC grid whose rows and
        /// columns are each all-to-all.
        group: GroupWiringName = GroupWiringName::AllToAll,
        /// With `group = "cray-xc"`: rows of a group; rows × columns = a.
        rows: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: columns of a group.
        columns: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a row. Default: 1.
        row_links: u32 = 1 => Notes::UNSAID_COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a column. Default: 1.
        column_links: u32 = 1 => Notes::UNSAID_COUNT,
        /// Link list of a Cray XC (as of family `cray-xc-file`), relative to the scenario, whose
        /// groups these are: their links inside, and the global ports of their routers, which lead
        /// to the switches. Takes the place of `a`, `h`, `group` and its keys; with `g` above the
        /// number of listed groups the list's rule goes on.
        wiring_file: Option<PathBuf> = None,
        /// Global links of every group on each optical switch, a divisor of a·h.
        links_per_switch: u32 = 1 => Notes::COUNT,
        /// Ports of an optical switch, at least g·links_per_switch. Default: as many as that.
        switch_ports: Option<u32> = None => Notes::COUNT,
        /// Which circuits are set for the run: as many between every two groups, give or take one
        /// (`uniform`), for every job that sends between groups those between its own groups
        /// (`jobs`), or those of a list (`file`).
        circuits: CircuitSource = CircuitSource::Uniform,
        /// With `circuits = "file"`: the list, relative to the scenario: `group_a link_a group_b
        /// link_b` in every line.
        circuits_file: Option<PathBuf> = None,
        /// With `circuits = "jobs"`: how many circuits join which groups of a job: as many each,
        /// or matched to what the groups send to each other: so that the busiest circuit has least
        /// to carry (`min-max`), by assignments of greatest weight (`matching`; all of them at
        /// once: `min-cost-flow`), or by a Birkhoff–von Neumann decomposition (`birkhoff`).
        steering: Strategy = Strategy::Uniform,
    }
    refuse "circuits_file" when [("circuits", Test::Is("file")), ("circuits_file", Test::Absent)] =>
        "a value, as circuits = \"file\"";
    refuse "circuits_file" when [("circuits", Test::IsNot("file")), ("circuits_file", Test::Given)] =>
        "only with circuits = \"file\"";
    refuse "a" when [("wiring_file", Test::Given), ("a", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "h" when [("wiring_file", Test::Given), ("h", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "rows" when [("wiring_file", Test::Given), ("rows", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "columns" when [("wiring_file", Test::Given), ("columns", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "row_links" when [("wiring_file", Test::Given), ("row_links", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "column_links" when [("wiring_file", Test::Given), ("column_links", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "a" when [("wiring_file", Test::Absent), ("a", Test::Absent)] =>
        "a value, as there is no `wiring_file` that tells it";
    refuse "h" when [("wiring_file", Test::Absent), ("h", Test::Absent)] =>
        "a value, as there is no `wiring_file` that tells it";
    refuse "g" when [("wiring_file", Test::Absent), ("g", Test::Absent)] =>
        "a value, as there is no `wiring_file` that tells it";
    refuse "rows" when [("wiring_file", Test::Absent), ("group", Test::Is("cray-xc")), ("rows", Test::Absent)] =>
        "a value, as group = \"cray-xc\"";
    refuse "rows" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("rows", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "columns" when [("wiring_file", Test::Absent), ("group", Test::Is("cray-xc")), ("columns", Test::Absent)] =>
        "a value, as group = \"cray-xc\"";
    refuse "columns" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("columns", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "row_links" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("row_links", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "column_links" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("column_links", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "steering" when [("steering", Test::IsNot("uniform")), ("circuits", Test::IsNot("jobs"))] =>
        "nothing, or circuits = \"jobs\"";
}

table! {
    /// A fat tree: a folded Clos, a k-ary n-tree or any extended generalised fat tree.
    ///
    /// Laid out from switches of one size (`radix`), or by its numbers (`down`, `up`, `parallel`;
    /// Öhring et al. 1995, Zahavi 2010). Level 1 are the leaf switches, which have the nodes.
    /// Groups are the pods, the subtrees below the top, and one more for the switches of the top.
    pub struct FatTree {
        /// Ports of a switch, an even number. Half of them lead down and half up, all of those of
        /// a top switch down; where the tree has few pods, several links join the same two
        /// switches.
        radix: Option<u32> = None => Notes::COUNT,
        /// With `radix`: levels of switches. Default: as few as `nodes` need; 3 without `nodes`.
        levels: Option<u32> = None => Notes { least: Some(1.0), most: Some(4.0), ..Notes::NONE },
        /// Nodes; those that the tree has room for beyond, and switches that are then empty, are
        /// left out. Default: as many as there is room for.
        nodes: Option<u32> = None => Notes::COUNT,
        /// Without `radix`: nodes per leaf, then children of a switch of each level: `[18, 18,
        /// 36]`.
        down: Option<Vec<u32>> = None => Notes::COUNTS,
        /// With `down`: parents of a switch of each level but the top: `[18, 18]`.
        up: Option<Vec<u32>> = None => Notes::COUNT,
        /// With `down`: links to each parent, by level. Default: 1.
        parallel: Option<Vec<u32>> = None => Notes::COUNT,
        /// What the number of links above each level but the top is divided by: `[1, 2]` takes out
        /// half of those to the top of three levels. First parallel links go, then whole switches.
        /// Default: nothing is taken out.
        taper: Option<Vec<u32>> = None => Notes::COUNT,
        /// Optical switches above the leaves, with 3 or 4 levels. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        optical: Option<OpticalLayer> = None,
    }
    refuse "down" when [("radix", Test::Given), ("down", Test::Given)] =>
        "nothing, as `radix` is given, or no `radix`";
    refuse "down" when [("radix", Test::Absent), ("down", Test::Absent)] =>
        "a value, as there is no `radix`";
    refuse "levels" when [("radix", Test::Absent), ("levels", Test::Given)] =>
        "only with `radix`";
    refuse "up" when [("down", Test::Absent), ("up", Test::Given)] =>
        "only with `down`";
    refuse "parallel" when [("down", Test::Absent), ("parallel", Test::Given)] =>
        "only with `down`";
    refuse "up" when [("down", Test::Longer(1)), ("up", Test::Absent)] =>
        "a value, as `down` has more than one level";
}

table! {
    /// A torus or mesh of any dimensions (k-ary n-cube); all routers have nodes.
    pub struct Torus {
        /// Routers along each dimension: `[8, 8, 4]`. Router `(x, y, z)` has number x + 8·(y +
        /// 8·z).
        size: Vec<u32> = Vec::new() => Notes { needed: true, ..Notes::COUNTS },
        /// For each dimension, whether the last router of a row is linked to its first: `[false,
        /// false]` makes a mesh of two dimensions. Default: in all.
        wrap: Option<Vec<bool>> = None,
        /// Nodes per router.
        p: u32 = 1 => Notes::COUNT,
    }
}

table! {
    /// A HyperX: a lattice whose rows are all-to-all in every dimension (Ahn et al. 2009).
    pub struct HyperX {
        /// Routers along each dimension.
        size: Vec<u32> = Vec::new() => Notes { needed: true, ..Notes::COUNTS },
        /// Links between two routers of a row, for each dimension. Default: 1.
        parallel: Option<Vec<u32>> = None => Notes::COUNTS,
        /// Nodes per router; a flattened butterfly has as many as routers along a dimension.
        p: u32 = 0 => Notes::NEEDED_COUNT,
    }
}

table! {
    /// A Slim Fly: a graph of diameter 2 of nearly as many routers as possible.
    ///
    /// McKay–Miller–Širáň graphs (Besta and Hoefler 2014).
    pub struct SlimFly {
        /// A prime power 4w − 1, 4w or 4w + 1 (3, 4, 5, 7, 8, 9, 11, 13, 16, …): 2·q² routers in q
        /// groups, each router with about 3·q/2 links to others.
        q: u32 = 0 => Notes::NEEDED_COUNT,
        /// Nodes per router. Default: half of its links to others, rounded up.
        p: Option<u32> = None => Notes::COUNT,
    }
}

table! {
    /// A Jellyfish: a random regular graph of routers (Singla et al. 2012).
    pub struct Jellyfish {
        /// Routers.
        routers: u32 = 0 => Notes::NEEDED_COUNT,
        /// Links of each router to others.
        degree: u32 = 0 => Notes::NEEDED_COUNT,
        /// Nodes per router.
        p: u32 = 0 => Notes::NEEDED_COUNT,
        /// Of the random links; the `seed` of the run has no effect on them.
        wiring_seed: u64 = 1 => Notes { most: Some(4_294_967_295.0), ..Notes::DELAY },
    }
}

table! {
    /// All nodes on one router: an ideal network to compare real ones with.
    pub struct Crossbar {
        /// Nodes.
        nodes: u32 = 0 => Notes::NEEDED_COUNT,
    }
}

table! {
    /// A real Cray XC, from the link list that its maintenance software prints.
    pub struct CrayXcFile {
        /// The link list, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
        /// Nodes on each router.
        nodes_per_router: u32 = 4 => Notes::COUNT,
    }
}

table! {
    /// A network from a configuration of the CODES simulator, or from its lists of links.
    pub struct CodesNetwork {
        /// Configuration of CODES, relative to the scenario: numbers, bandwidths, buffers and
        /// lists; of the models `torus`, `fattree` and `slimfly` also the delay of routers.
        file: Option<PathBuf> = None => Notes { parts: "codes", ..Notes::NONE },
        /// List of the links within a group. Default: the one that the configuration names.
        intra_file: Option<PathBuf> = None,
        /// List of the links between groups. Default: the one that the configuration names.
        inter_file: Option<PathBuf> = None,
        /// Without `file`: the model of CODES that the lists are for.
        model: Option<CodesModel> = None,
        /// Without `file`, with `model = "dragonfly_plus"`: leaf routers per group.
        leaves: Option<u32> = None => Notes::COUNT,
        /// Without `file`, with `model = "dragonfly_plus"`: spine routers per group.
        spines: Option<u32> = None => Notes::COUNT,
        /// Without `file`, with `model = "dragonfly_dally"`: routers per group.
        a: Option<u32> = None => Notes::COUNT,
        /// Without `file`: nodes per router that has nodes.
        p: Option<u32> = None => Notes::COUNT,
        /// Without `file`: groups.
        g: Option<u32> = None => Notes::COUNT,
    }
    refuse "model" when [("file", Test::Absent), ("model", Test::Absent)] =>
        "a value, as there is no `file`, a configuration";
    refuse "model" when [("file", Test::Given), ("model", Test::Given)] =>
        "only with there is no `file`, a configuration";
    refuse "p" when [("file", Test::Absent), ("p", Test::Absent)] =>
        "a value, as there is no `file`, a configuration";
    refuse "p" when [("file", Test::Given), ("p", Test::Given)] =>
        "only with there is no `file`, a configuration";
    refuse "g" when [("file", Test::Absent), ("g", Test::Absent)] =>
        "a value, as there is no `file`, a configuration";
    refuse "g" when [("file", Test::Given), ("g", Test::Given)] =>
        "only with there is no `file`, a configuration";
    refuse "intra_file" when [("file", Test::Absent), ("intra_file", Test::Absent)] =>
        "a value, as there is no `file`, a configuration";
    refuse "inter_file" when [("file", Test::Absent), ("inter_file", Test::Absent)] =>
        "a value, as there is no `file`, a configuration";
    refuse "leaves" when [("model", Test::Is("dragonfly_plus")), ("leaves", Test::Absent)] =>
        "a value, as model = \"dragonfly_plus\"";
    refuse "leaves" when [("model", Test::IsNot("dragonfly_plus")), ("leaves", Test::Given)] =>
        "only with model = \"dragonfly_plus\"";
    refuse "spines" when [("model", Test::Is("dragonfly_plus")), ("spines", Test::Absent)] =>
        "a value, as model = \"dragonfly_plus\"";
    refuse "spines" when [("model", Test::IsNot("dragonfly_plus")), ("spines", Test::Given)] =>
        "only with model = \"dragonfly_plus\"";
    refuse "a" when [("model", Test::Is("dragonfly_dally")), ("a", Test::Absent)] =>
        "a value, as model = \"dragonfly_dally\"";
    refuse "a" when [("model", Test::IsNot("dragonfly_dally")), ("a", Test::Given)] =>
        "only with model = \"dragonfly_dally\"";
}

table! {
    /// A network from a file in a general format.
    pub struct FileNetwork {
        /// The wiring, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
        /// Nodes on each router, for a file that attaches none. Default: 1.
        nodes_per_router: Option<u32> = None => Notes { least: Some(1.0), most: Some(4096.0), ..Notes::NONE },
    }
}

table! {
    /// An InfiniBand subnet, as it has been discovered: switches are routers, host ports nodes.
    ///
    /// All are one group. Routers and nodes are numbered as they are called if that is `S-0`,
    /// `S-1`, … and `H-0`, `H-1`, …, else by the GUIDs of the switches and along their ports.
    pub struct SubnetFile {
        /// Output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
    }
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

/// A network model of CODES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
pub enum CodesModel {
    /// Groups of leaves and spines.
    DragonflyPlus,
    /// Groups of routers that are linked to each other.
    DragonflyDally,
}

table! {
    /// What all links of one class have in common; both directions have the full bandwidth.
    pub struct Link {
        /// Rate of each direction.
        bandwidth_bytes_per_s: u64 = 0 => Notes { needed: true, ..Notes::BANDWIDTH },
        /// Propagation delay of each direction.
        latency_ps: u64 = 0 => Notes { needed: true, least: Some(1.0), ..Notes::DELAY },
        /// Input buffer at the receiving router, per virtual channel. Default: what the link
        /// carries during one round trip (twice its latency, the router delay and the credit
        /// delay), plus four packets.
        buffer_bytes: Option<u64> = None => Notes::POSITIVE,
        /// Role of the class. Default: that of its name, or `local`.
        kind: Option<LinkKind> = None,
    }
}

impl Link {
    /// The link class of a name that a scenario leaves out. Bandwidths are those
    /// of a Cray XC40 as the CODES project models it: 16 GiB/s into the network,
    /// 5.25 GiB/s per electrical and 4.69 GiB/s per optical link.
    pub fn default_for(class: &str) -> Self {
        let usual = match class {
            "terminal" => UsualLink::Terminal,
            "global" | "blue" => UsualLink::Global,
            _ => UsualLink::Electrical,
        };
        usual.link()
    }
}

table! {
    /// How packets find their way, in full.
    pub struct Routing {
        /// The algorithm.
        algorithm: AlgorithmName = AlgorithmName::default() => Notes::NEEDED,
        /// Which global links to the destination's group minimal routes use: all of them, or those
        /// on a shortest path.
        minimal_links: MinimalLinks = MinimalLinks::default(),
        /// How one of several minimal links is chosen: at random, or by the shorter queue. With
        /// `fpar`: how one of the ports is chosen that its threshold counts as free. With
        /// `up-down`, `steered`, `dimension-order` and `shortest-path` also `by-destination`: that
        /// of the destination node, in fat trees D-mod-K (Zahavi 2010).
        choice: Choice = Choice::default(),
        /// What `minimal` routes are, and what those of `valiant`, `ugal-l` and `ugal-g` consist
        /// of: by way of the links between two `groups`, or the routes of the algorithm of that
        /// name. Default: `up-down` in fat trees, `dimension-order` in tori and HyperX,
        /// `shortest-path` in a Slim Fly, a Jellyfish, and other networks of one group, else
        /// `groups`.
        #[serde(skip_serializing_if = "Option::is_none")]
        paths: Option<Paths> = None,
        /// What a non-minimal route goes by way of: any router of a random group, a random router,
        /// or the router of a random node. Default: `group`, or `router` where `paths` are not
        /// over groups.
        via: Option<Via> = None,
        /// Routes of each sort that an adaptive algorithm draws and compares. Default: 1.
        candidates: Option<u32> = None => Notes::COUNT,
        /// Advantage of minimal routes, a size: an adaptive algorithm takes the minimal route
        /// unless its weighted queue is longer than that of the other by more than this. Default:
        /// what follows from the links' buffers ([adaptive routing by
        /// default](adaptive-routing.md)); none, 0 B, with `engine = "flow"` and for the jobs of a
        /// schedule. With `fpar` a number from 0 to 1: the share of a port's queue up to which a
        /// path counts as free. Default: 0.75. With `steered` a size: the queue up to which a
        /// circuit counts as empty, what is sent and not yet credited included. Default: what a
        /// link carries during one round trip of credits, and a packet.
        threshold_bytes: Option<u64> = None => Notes { share_key: Some("threshold_share"), called: Some("a size"), ..Notes::NONE },
        /// Set by another key.
        threshold_share: Option<f64> = None => Notes::HIDDEN,
        /// With `q-adaptive`: by how much, as a share of its own time, the minimal port may be
        /// worse than the best and still be taken by the source router. Default: 0.2.
        source_threshold: Option<f64> = None => Notes::FRACTION,
        /// The same in the first router of an intermediate group. Default: 0.35.
        intermediate_threshold: Option<f64> = None => Notes::FRACTION,
        /// With `q-adaptive`: learning rate towards shorter times. Default: 0.2.
        rate_down: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// With `q-adaptive`: learning rate towards longer times. Default: 0.04.
        rate_up: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// With `q-adaptive`: probability that a decision takes a random port. Default: 0.001.
        exploration: Option<f64> = None => Notes::FRACTION,
        /// How an adaptive algorithm weights queues: `hops`, each by the length of its route, or
        /// the weights of minimal and of non-minimal routes, such as `[1, 2]`.
        weights: Weights = Weights::default() => Notes { words: &[("hops", Word::Itself)], called: Some("a list of two weights"), fewest_entries: Some(2), most_entries: Some(2), ..Notes::COUNT },
        /// Whether adaptive traffic, or that of `tago`, inside a group may go by way of a random
        /// router of the group. Default: false, it is always minimal.
        detours_in_group: Option<bool> = None,
        /// With `forwarding-tables`: the file of the tables, relative to the scenario, ours or one
        /// of OpenSM, or a directory with the files of the [names that are looked
        /// for](forwarding-tables.md#files).
        #[serde(skip_serializing_if = "Option::is_none")]
        tables: Option<PathBuf> = None => Notes { parts: "tables", ..Notes::NONE },
        /// With `forwarding-tables`: output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`,
        /// which tells what GUIDs and LIDs are. Default: that of the directory of `tables`; the
        /// network itself with `family = "ibnetdiscover"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        subnet: Option<PathBuf> = None,
        /// With `forwarding-tables`: the virtual channel of each source and destination, ours or
        /// the output of `saquery PR`. Default: that of the directory of `tables`; else all are 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        service_levels: Option<PathBuf> = None,
        /// Virtual channels per link; fewer than the algorithm needs are merged, and packets may
        /// then wait for each other forever, as `odonata verify` shows. Default: what the
        /// algorithm needs.
        virtual_channels: Option<u8> = None => Notes { least: Some(1.0), most: Some(64.0), ..Notes::NONE },
        /// How `fpar` resolves what its description leaves open: by the text of the `paper`s; as
        /// the program of Kang et al. 2019 did (`codes`: two sorts of paths, scores in whole per
        /// cent, the best port drawn among the running minima, from the first port on); or as it
        /// was meant to (`codes-mended`: among the ports of least score). With the last two
        /// `choice` has no say.
        #[serde(skip_serializing_if = "is_default")]
        rules: FparRules = FparRules::default(),
        /// What every router decides on: each packet by itself, or the first packet of a message,
        /// which the others follow, so that a message has one path and its packets keep their
        /// order (adaptive routing that keeps flows in order, as on InfiniBand). Not with
        /// `q-adaptive`.
        #[serde(skip_serializing_if = "is_default")]
        per: Decisions = Decisions::default(),
    }
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
