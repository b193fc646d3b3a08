//! The families of networks, and the tables that they have in scenarios.

pub(crate) mod codes;
mod crossbar;
mod dragonfly;
mod dragonfly_plus;
pub(crate) mod fat_tree;
mod files;
mod graphs;
pub(crate) mod infiniband;
mod lattice;
pub(crate) mod reconfigurable;

use odonata_network::Topology;
use odonata_network::routing::{AlgorithmName, Paths};

pub use self::codes::{CodesModel, CodesNetwork};
pub use self::crossbar::Crossbar;
pub use self::dragonfly::Dragonfly;
pub use self::dragonfly_plus::DragonflyPlus;
pub use self::fat_tree::FatTree;
pub use self::files::{CrayXcFile, FileNetwork};
pub use self::graphs::{Jellyfish, SlimFly};
pub use self::infiniband::{Interfaces, SubnetFile};
pub use self::lattice::{HyperX, Torus};
pub use self::reconfigurable::{CircuitSource, ReconfigurableDragonfly};

use super::classes::Classes;
use crate::error::SpecError;
use crate::spec::family::{FamilyDeclaration, NetworkFamily, families};
use crate::spec::table::TableDeclaration;

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
    /// A network from a GML file, such as those of the Topology Zoo.
    Gml(FileNetwork) as "Gml",
    /// A network from a file of BookSim's topology `anynet`.
    Anynet(FileNetwork) as "Anynet",
}
