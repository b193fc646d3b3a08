//! Networks from files: link lists of a Cray XC, lists of links, GraphML, GML, BookSim's.

use std::path::{Path, PathBuf};

use odonata_network::routing::AlgorithmName;
use odonata_network::topology::{
    AttachedNodes, ClassOfFile, CrayXcError, CrayXcLinks, CrayXcSpec, WiringDefaults,
    WiringFileError, anynet, edge_list, gml, graphml,
};
use odonata_network::{LinkClass, LinkKind, Topology};

use crate::error::SpecError;
use crate::named_file::{in_file, read_file};
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::{Link, UsualLink};
use crate::spec::table::table;
use crate::topology::classes::Classes;

table! {
    /// A real Cray XC, read from the link list that its maintenance software prints.
    pub struct CrayXcFile {
        /// The link list, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
        /// Nodes on each router.
        nodes_per_router: u32 = 4 => Notes::COUNT,
    }
}

table! {
    /// A network from a file in a general format.
    pub struct FileNetwork {
        /// The wiring file, relative to the scenario.
        file: PathBuf = PathBuf::new() => Notes::NEEDED,
        /// Nodes on each router, for a file that attaches none. Default: 1.
        nodes_per_router: Option<u32> = None => Notes { least: Some(1.0), most: Some(4096.0), ..Notes::NONE },
    }
}

/// Links of the rows of a Cray XC's groups.
pub(super) const GREEN: DeclaredLink = DeclaredLink::new(
    "green",
    UsualLink::Short,
    "Within a row of a group (backplane of a chassis).",
);
/// Class of the links within the columns of Cray XC groups.
pub(super) const BLACK: DeclaredLink = DeclaredLink::new(
    "black",
    UsualLink::Short,
    "Within a column of a group (cables between chassis).",
);

impl NetworkFamily for CrayXcFile {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::Minimal)];
    const LINKS: Links = Links::Classes {
        name: "CrayXcLinks",
        text: "Link classes of a Cray XC, by the colours of its link list.",
        key_text: "Link classes.",
        classes: &[
            GREEN,
            BLACK,
            DeclaredLink::new("blue", UsualLink::Long, "Between groups."),
        ],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        classes.check_names(&["terminal", "green", "black", "blue"])?;
        let spec = CrayXcSpec {
            nodes_per_router: self.nodes_per_router,
            links: CrayXcLinks {
                terminal: classes.class("terminal", LinkKind::Terminal)?,
                green: classes.class("green", LinkKind::Local)?,
                black: classes.class("black", LinkKind::Local)?,
                blue: classes.class("blue", LinkKind::Global)?,
            },
        };
        let text = read_file(&self.file, "network.file")?;
        spec.import(&text).map_err(|error| match error {
            CrayXcError::NodesPerRouter { .. } => {
                SpecError::new("network.nodes_per_router", error.to_string())
            }
            error => in_file(&self.file, "network.file", &error),
        })
    }
}

impl NetworkFamily for FileNetwork {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::ShortestPath)];
    const LINKS: Links = Links::OfFile {
        text: "Link classes, by the names that the file uses. A link without a class in the file, \
             and of a kind for which no class is given, belongs to the class `terminal`, `local` or \
             `global`.",
        kinds: true,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        let text = read_file(&self.file, "network.file")?;
        let (mut given, defaults) = (classes.all_given()?, classes.defaults()?);
        let unsaid_kinds = classes.without_kind();
        let wrong = |error: WiringFileError| in_wiring(&self.file, &error);
        let read = match classes.family {
            "gml" => {
                let read = gml::read(&text).map_err(wrong)?;
                add_classes(&mut given, read.classes(), classes)?;
                read.into_topology(&self.supplies(&given, &defaults, &unsaid_kinds))
            }
            "anynet" => {
                let read = anynet::read(&text).map_err(wrong)?;
                add_classes(&mut given, &read.classes(), classes)?;
                read.into_topology(&self.supplies(&given, &defaults, &unsaid_kinds))
            }
            "graphml" => {
                graphml::import_with(&text, &self.supplies(&given, &defaults, &unsaid_kinds))
            }
            _ => edge_list::import_with(&text, &self.supplies(&given, &defaults, &unsaid_kinds)),
        };
        read.map(|topology| titled(topology, &self.file))
            .map_err(|error| in_wiring(&self.file, &error))
    }
}

impl FileNetwork {
    /// What its file may leave to the scenario.
    fn supplies<'a>(
        &self,
        classes: &'a [LinkClass],
        defaults: &'a [LinkClass],
        unsaid_kinds: &'a [&'a str],
    ) -> WiringDefaults<'a> {
        WiringDefaults {
            classes,
            unsaid_kinds,
            defaults,
            nodes: match self.nodes_per_router {
                Some(each) => AttachedNodes::Each(each),
                None => AttachedNodes::Otherwise(1),
            },
        }
    }
}

/// Adds classes of a file to those that the scenario gives, which hold instead of them.
fn add_classes(
    given: &mut Vec<LinkClass>,
    of_file: &[ClassOfFile],
    classes: &Classes<'_>,
) -> Result<(), SpecError> {
    for class in of_file {
        if given.iter().any(|known| known.name == class.name) {
            continue;
        }
        let others = classes.class(class.kind.name(), class.kind)?;
        let bandwidth = class.bandwidth.unwrap_or(others.bandwidth);
        let usual = Link {
            bandwidth_bytes_per_s: bandwidth.bytes_per_second(),
            latency_ps: others.latency.0.saturating_mul(class.times_latency.into()),
            ..Link::default_for(class.kind.name())
        };
        given.push(classes.class_or(&class.name, class.kind, &usual)?);
    }
    Ok(())
}

/// The network of a file that does not say what it is called is called after
/// the file.
fn titled(mut topology: Topology, file: &Path) -> Topology {
    if topology.title.is_empty()
        && let Some(name) = file.file_name()
    {
        topology.title = name.to_string_lossy().into_owned();
    }
    topology
}

/// An error of a wiring file, at the key that is to blame.
fn in_wiring(file: &Path, error: &WiringFileError) -> SpecError {
    let key = match error {
        WiringFileError::NodesInFile { .. } => "network.nodes_per_router",
        _ => "network.file",
    };
    in_file(file, key, error)
}
