//! From configurations and lists of links of the CODES simulator to a [`Topology`].

mod generated;

use std::path::{Path, PathBuf};

use generated::Model;
use odonata_declare::Named;
use odonata_network::routing::AlgorithmName;
use odonata_network::topology::{CodesError, CodesGroup, CodesLink, CodesList, CodesSpec};
use odonata_network::{LinkClass, LinkKind, Topology};
use odonata_traces::TraceError;
use odonata_traces::codes::{IntraLayout, LinkReader, Parameters};
use odonata_units::Bandwidth;
use serde::{Deserialize, Serialize};

use super::files::{BLACK, GREEN};
use crate::error::SpecError;
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::{Link, UsualLink};
use crate::spec::table::{Test, table};
use crate::topology::classes::{Classes, topology_error};

/// Names of the lists in a configuration.
const INTRA: &str = "intra-group-connections";
const INTER: &str = "inter-group-connections";

/// Bytes per second of a unit of bandwidth.
#[derive(Clone, Copy)]
enum Unit {
    Gib,
    Gb,
}

table! {
    /// A network from a configuration of the CODES simulator, or from its lists of links.
    pub struct CodesNetwork {
        /// Configuration file of CODES, relative to the scenario: numbers of groups, routers and
        /// nodes, bandwidths, buffers, and lists of links; for the models `torus`, `fattree` and
        /// `slimfly` also the router delay.
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
        /// Without `file`: nodes on each router that has nodes.
        p: Option<u32> = None => Notes::COUNT,
        /// Without `file`: groups.
        g: Option<u32> = None => Notes::COUNT,
    }
    refuse "model" when [("file", Test::Absent), ("model", Test::Absent)] =>
        "a value, as there is no `file`, the configuration";
    refuse "model" when [("file", Test::Given), ("model", Test::Given)] =>
        "only without `file`, the configuration";
    refuse "p" when [("file", Test::Absent), ("p", Test::Absent)] =>
        "a value, as there is no `file`, the configuration";
    refuse "p" when [("file", Test::Given), ("p", Test::Given)] =>
        "only without `file`, the configuration";
    refuse "g" when [("file", Test::Absent), ("g", Test::Absent)] =>
        "a value, as there is no `file`, the configuration";
    refuse "g" when [("file", Test::Given), ("g", Test::Given)] =>
        "only without `file`, the configuration";
    refuse "intra_file" when [("file", Test::Absent), ("intra_file", Test::Absent)] =>
        "a value, as there is no `file`, the configuration";
    refuse "inter_file" when [("file", Test::Absent), ("inter_file", Test::Absent)] =>
        "a value, as there is no `file`, the configuration";
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

/// A network model of CODES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
pub enum CodesModel {
    /// Groups of leaves and spines.
    DragonflyPlus,
    /// Groups of routers that are linked to each other.
    DragonflyDally,
}

impl NetworkFamily for CodesNetwork {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::Minimal)];
    const LINKS: Links = Links::Classes {
        name: "CodesLinks",
        text: "Link classes of a network from CODES.",
        key_text: "Link classes. A class that is given here replaces the whole class of the \
             configuration.",
        classes: &[
            DeclaredLink::new("local", UsualLink::Short, "Within a group."),
            GREEN,
            BLACK,
            DeclaredLink::new("global", UsualLink::Long, "Between groups."),
        ],
        given_only: Some(&[("file", Test::Given)]),
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        build(self, classes)
    }
}

/// Builds the network of a configuration, or of two lists and the numbers beside
/// them.
///
/// # Errors
/// If a file cannot be read or is damaged, or a number is missing; the message
/// names the file and where in it.
pub(super) fn build(network: &CodesNetwork, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    let parameters = match &network.file {
        Some(file) => Some(Parameters::open(file).map_err(|error| in_conf(&error))?),
        None => None,
    };
    let model = (parameters.as_ref())
        .and_then(|parameters| parameters.text("modelnet_order").ok())
        .and_then(Model::of);
    if let (Some(model), Some(parameters)) = (model, &parameters) {
        for (key, list) in [
            ("intra_file", &network.intra_file),
            ("inter_file", &network.inter_file),
        ] {
            if list.is_some() {
                let allowed = "nothing, as the model of the configuration has no lists of links";
                return Err(SpecError::value(
                    format!("network.{key}"),
                    "a list",
                    allowed,
                ));
            }
        }
        return generated::build(model, parameters, classes);
    }
    classes.check_names(&["terminal", "local", "green", "black", "global"])?;
    let (group, groups, p) = match &parameters {
        Some(parameters) => numbers_of(parameters).map_err(|error| in_conf(&error))?,
        None => given_numbers(network)?,
    };
    let list = |given: &Option<PathBuf>, key: &str, name: &str| match (given, &parameters) {
        (Some(file), _) => Ok(file.clone()),
        (None, Some(parameters)) => parameters.file(name).map_err(|error| in_conf(&error)),
        (None, None) => Err(missing(key)),
    };
    let intra_file = list(&network.intra_file, "intra_file", INTRA)?;
    let inter_file = list(&network.inter_file, "inter_file", INTER)?;
    let layout = match group {
        CodesGroup::LeavesAndSpines { .. } => IntraLayout::Pairs,
        CodesGroup::Alike { .. } | CodesGroup::Rows { .. } => IntraLayout::Typed,
    };
    // Numbers beyond all routers are refused with the network, not with a record.
    let routers = group.routers().saturating_mul(groups);
    let intra = LinkReader::open_intra(&intra_file, layout, group.routers())
        .and_then(links)
        .map_err(|error| SpecError::new("network.intra_file", error.to_string()))?;
    let inter = LinkReader::open_inter(&inter_file, routers)
        .and_then(links)
        .map_err(|error| SpecError::new("network.inter_file", error.to_string()))?;

    let class = |name: &str, kind| match &parameters {
        Some(parameters) => {
            let link = link_of(parameters, name).map_err(|error| in_conf(&error))?;
            classes.class_or(name, kind, &link)
        }
        None => classes.class(name, kind),
    };
    // Links within groups of a Cray XC are those of rows and columns; a class of the
    // scenario for all local ones holds for either.
    let of_rows = |name: &str| match classes.has(name) {
        true => class(name, LinkKind::Local),
        false => class("local", LinkKind::Local).map(|class| LinkClass {
            name: name.to_owned(),
            ..class
        }),
    };
    let spec = CodesSpec {
        group,
        groups,
        p,
        terminal: class("terminal", LinkKind::Terminal)?,
        local: match group {
            CodesGroup::Rows { .. } => of_rows("green")?,
            _ => class("local", LinkKind::Local)?,
        },
        black: match group {
            CodesGroup::Rows { .. } => Some(of_rows("black")?),
            _ => None,
        },
        global: class("global", LinkKind::Global)?,
    };
    spec.wire(&intra, &inter).map_err(|error| {
        let (key, file) = match error.list() {
            Some(CodesList::Intra) => ("network.intra_file", Some(&intra_file)),
            Some(CodesList::Inter) => ("network.inter_file", Some(&inter_file)),
            None => ("network", None),
        };
        match (&error, file) {
            (CodesError::Topology(inner), _) => topology_error(inner.clone(), ""),
            (_, Some(file)) => SpecError::new(key, format!("{}: {error}", file.display())),
            (_, None) => SpecError::new(key, error.to_string()),
        }
    })
}

/// All files that a network from the configuration `file` is read from.
pub(crate) fn files(file: &Path) -> Vec<PathBuf> {
    let mut files = vec![file.to_owned()];
    if let Ok(parameters) = Parameters::open(file) {
        files.extend(
            [INTRA, INTER]
                .into_iter()
                .filter_map(|name| parameters.file(name).ok()),
        );
    }
    files
}

/// What a configuration says besides the network.
pub(crate) struct Facts {
    /// The model.
    pub model: String,
    /// The routing that its network has by default; `None`: that of networks of groups.
    pub routing: Option<AlgorithmName>,
    /// Delay of its routers; `None`: the scenario's.
    pub router_delay_ps: Option<u64>,
    /// What a person should know, such as keys that are not used.
    pub notices: Vec<String>,
}

/// What the configuration `file` says besides the network.
///
/// # Errors
/// If it cannot be read, or has keys that its model does not.
pub(crate) fn facts(file: &Path) -> Result<Facts, TraceError> {
    let parameters = Parameters::open(file)?;
    let model = parameters.text("modelnet_order")?;
    match Model::of(model) {
        Some(model) => generated::facts(model, &parameters),
        None => Ok(Facts {
            model: model.to_owned(),
            routing: None,
            router_delay_ps: None,
            notices: vec![],
        }),
    }
}

fn in_conf(error: &TraceError) -> SpecError {
    SpecError::new("network.file", error.to_string())
}

fn missing(key: &str) -> SpecError {
    let allowed = "a value, as there is no `file`, the configuration that has it";
    SpecError::value(format!("network.{key}"), "nothing", allowed)
}

fn links<R: std::io::Read + std::io::Seek>(
    reader: LinkReader<R>,
) -> Result<Vec<CodesLink>, TraceError> {
    reader
        .map(|link| link.map(|link| (link.from, link.to)))
        .collect()
}

/// Group, groups and nodes per router of a configuration.
fn numbers_of(parameters: &Parameters) -> Result<(CodesGroup, u32, u32), TraceError> {
    let model = parameters.text("modelnet_order")?;
    let group = match model {
        "dragonfly_plus" => CodesGroup::LeavesAndSpines {
            leaves: parameters.count("num_router_leaf")?,
            spines: parameters.count("num_router_spine")?,
        },
        "dragonfly_dally" => CodesGroup::Alike {
            routers: parameters.count("num_routers")?,
        },
        "dragonfly_custom" => CodesGroup::Rows {
            rows: parameters.count("num_router_rows")?,
            columns: parameters.count("num_router_cols")?,
        },
        model => {
            let reason = format!(
                "the model is `{model}`; networks of `dragonfly_plus`, `dragonfly_dally`, \
                 `dragonfly_custom`, `torus`, `fattree` and `slimfly` can be read, and any other as \
                 an edge list (family = \"edge-list\")"
            );
            return Err(parameters.refuse("modelnet_order", reason));
        }
    };
    Ok((
        group,
        parameters.count("num_groups")?,
        parameters.count("num_cns_per_router")?,
    ))
}

/// The same of a scenario.
fn given_numbers(network: &CodesNetwork) -> Result<(CodesGroup, u32, u32), SpecError> {
    let given = |value: Option<u32>, key: &str| value.ok_or_else(|| missing(key));
    let group = match network.model.ok_or_else(|| missing("model"))? {
        CodesModel::DragonflyPlus => CodesGroup::LeavesAndSpines {
            leaves: given(network.leaves, "leaves")?,
            spines: given(network.spines, "spines")?,
        },
        CodesModel::DragonflyDally => CodesGroup::Alike {
            routers: given(network.a, "a")?,
        },
    };
    Ok((group, given(network.g, "g")?, given(network.p, "p")?))
}

/// The links of a class of a model that has lists, from its configuration.
fn link_of(parameters: &Parameters, class: &str) -> Result<Link, TraceError> {
    let (bandwidth, buffer) = match class {
        "terminal" => ("cn_bandwidth", "cn_vc_size"),
        "local" => ("local_bandwidth", "local_vc_size"),
        _ => ("global_bandwidth", "global_vc_size"),
    };
    link(parameters, bandwidth, Unit::Gib, buffer, class)
}

/// The links of a class: bandwidth and the buffer of a virtual channel, bytes; the latency is not
/// among them and stays the default.
fn link(
    parameters: &Parameters,
    rate: &str,
    unit: Unit,
    buffer: &str,
    class: &str,
) -> Result<Link, TraceError> {
    Ok(Link {
        bandwidth_bytes_per_s: bandwidth(parameters, rate, unit)?,
        buffer_bytes: Some(u64::from(parameters.count(buffer)?)),
        ..Link::default_for(class)
    })
}

/// A bandwidth, bytes per second.
fn bandwidth(parameters: &Parameters, key: &str, unit: Unit) -> Result<u64, TraceError> {
    let factor = match unit {
        Unit::Gib => f64::from(1 << 30),
        Unit::Gb => 1e9,
    };
    let bytes = parameters.positive(key)? * factor;
    let rounded = bytes.round() as u64;
    if Bandwidth::new(rounded).is_err() {
        let reason = format!("`{key}` makes {bytes:e} B/s, which is no usable bandwidth");
        return Err(parameters.refuse(key, reason));
    }
    Ok(rounded)
}

#[cfg(test)]
mod tests;
