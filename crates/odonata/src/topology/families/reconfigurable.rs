//! From `family = "reconfigurable-dragonfly"` to a [`Topology`]: the structure, the jobs
//! on it, the circuits for them.

mod cray_groups;

use std::path::{Path, PathBuf};

use odonata_declare::Named;
use odonata_network::routing::AlgorithmName;
use odonata_network::topology::{
    CircuitError, Circuits, DragonflyError, DragonflyLinks, GroupWiring, GroupWiringName,
    OpticalSwitches, ReconfigurableError, ReconfigurableSpec, SwitchPort,
};
use odonata_network::{LinkKind, Topology};
use odonata_steering::{Strategy, circuits_for};
use odonata_units::{GroupId, PortId, RouterId};
use serde::{Deserialize, Serialize};

use crate::error::SpecError;
use crate::named_file::{in_file, read_file};
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::UsualLink;
use crate::spec::table::{Test, table};
use crate::topology::classes::{Classes, topology_error};

/// When a link list says what groups are like inside: grids.
const WIRED: Tests = &[("wiring_file", Test::Given)];
/// When groups are grids.
const GRID: Tests = &[("group", Test::Is("cray-xc"))];
const GRIDS: &[Tests] = &[WIRED, GRID];
/// When they are all-to-all.
const ALL_TO_ALL: &[Tests] = &[&[
    ("group", Test::Is("all-to-all")),
    ("wiring_file", Test::Absent),
]];

table! {
    /// A dragonfly whose global links lead to optical switches (Feng et al. 2023).
    ///
    /// Circuits through the switches decide which groups are joined.
    pub struct ReconfigurableDragonfly {
        /// Nodes per router.
        p: u32 = 0 => Notes::NEEDED_COUNT,
        /// Routers per group. Needed without `wiring_file`.
        a: u32 = 0 => Notes::OPTIONAL_COUNT,
        /// Global links per router. Needed without `wiring_file`.
        h: u32 = 0 => Notes::OPTIONAL_COUNT,
        /// Groups. Needed without `wiring_file`; with it, the default is the number of groups in
        /// the file.
        g: u32 = 0 => Notes::OPTIONAL_COUNT,
        /// Wiring within a group: every router to every other, or a Cray XC grid whose rows and
        /// columns are each all-to-all.
        group: GroupWiringName = GroupWiringName::AllToAll,
        /// With `group = "cray-xc"`: rows of a group; rows × columns = a.
        rows: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: columns of a group.
        columns: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a row. Default: 1.
        row_links: u32 = 1 => Notes::OPTIONAL_COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a column. Default: 1.
        column_links: u32 = 1 => Notes::OPTIONAL_COUNT,
        /// Link list of a Cray XC (as for the family `cray-xc-file`), relative to the scenario. The
        /// network has the groups of this list: the links inside each group, and the global ports
        /// of its routers, which here lead to the optical switches. Replaces `a`, `h`, `group` and
        /// the keys of `group`. If `g` exceeds the number of listed groups, further groups continue
        /// the list's rule.
        wiring_file: Option<PathBuf> = None,
        /// Number of global links that each group has on each optical switch, a divisor of a·h.
        links_per_switch: u32 = 1 => Notes::COUNT,
        /// Ports of an optical switch, at least g·links_per_switch. Default: g·links_per_switch.
        switch_ports: Option<u32> = None => Notes::COUNT,
        /// Which circuits are set for the run: the same number between every two groups, give or
        /// take one (`uniform`); circuits between the groups of each job that sends between groups
        /// (`jobs`); or those of a list (`file`).
        circuits: CircuitSource = CircuitSource::Uniform,
        /// With `circuits = "file"`: the list, relative to the scenario, with `group_a link_a
        /// group_b link_b` on every line.
        circuits_file: Option<PathBuf> = None,
        /// With `circuits = "jobs"`: how many circuits join each pair of a job's groups. `uniform`:
        /// the same number for each pair. The others match the numbers to what the groups send to
        /// each other: `min-max` so that the busiest circuit carries as little as possible,
        /// `matching` by assignments of greatest weight one after another, `min-cost-flow` by all
        /// of these at once, `birkhoff` by a Birkhoff–von Neumann decomposition.
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

impl NetworkFamily for ReconfigurableDragonfly {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[
        // TAGO knows all-to-all groups only.
        (WIRED, AlgorithmName::Minimal),
        (GRID, AlgorithmName::Minimal),
        (&[], AlgorithmName::Tago),
    ];
    const LINKS: Links = Links::Classes {
        name: "ReconfigurableLinks",
        text: "Link classes of a reconfigurable dragonfly.",
        key_text: "Link classes.",
        classes: &[
            DeclaredLink::new(
                "local",
                UsualLink::Short,
                "Within a group that is all-to-all.",
            )
            .only(ALL_TO_ALL),
            DeclaredLink::new("green", UsualLink::Short, "Within rows of Cray XC groups.")
                .only(GRIDS),
            DeclaredLink::new(
                "black",
                UsualLink::Short,
                "Within columns of Cray XC groups.",
            )
            .only(GRIDS),
            DeclaredLink::new(
                "global",
                UsualLink::Long,
                "Circuits: from group to group through an optical switch.",
            ),
        ],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        let structure = structure(self)?;
        let links = links(&structure, classes)?;
        let circuits = without_jobs(self, Circuits::dark(structure.switches))?;
        wired(self, structure, links, circuits)
    }
}

/// Circuits that do not depend on jobs, of what works.
///
/// # Errors
/// If a list makes no sense, or too few links work to join all groups alike.
pub(crate) fn without_jobs(
    dragonfly: &ReconfigurableDragonfly,
    usable: Circuits,
) -> Result<Circuits, SpecError> {
    match (dragonfly.circuits, dragonfly.circuits_file.as_deref()) {
        (CircuitSource::File, None) => Err(SpecError::value(
            "network.circuits_file",
            "nothing",
            "a file, as circuits = \"file\"",
        )),
        (CircuitSource::File, Some(file)) => {
            let all = listed(usable.switches(), file)?;
            Ok(usable.with_working(all.iter()))
        }
        // Circuits of jobs are set when it is known where the jobs are.
        (CircuitSource::Uniform | CircuitSource::Jobs, _) => uniform(usable),
    }
}

/// Ports of routers that lead to the ports of each switch: link `l` of group `g` is port `g·m + l mod
/// m` of switch `⌊l / m⌋`, with `m` links of a group on a switch. `network` has this structure. Shape:
/// switches × ports.
pub(crate) fn uplinks(structure: &Structure, network: &Topology) -> Vec<Vec<PortId>> {
    let (switches, held) = (structure.switches, &structure.ports_of_router);
    let most = held.iter().copied().max().unwrap_or(0);
    // Router of a group and port among its global ones, by link.
    let places: Vec<(u32, u32)> = (0..)
        .zip(held)
        .flat_map(|(router, &held)| (0..held).map(move |k| (router, k)))
        .collect();
    let port = |group: u32, link: u32| {
        let (local, k) = places[link as usize];
        let router = RouterId(group * held.len() as u32 + local);
        // Global ports are a router's last.
        PortId(network.ports_of(router).end as u32 - most + k)
    };
    let per_switch = switches.per_switch();
    let ports = |switch: u32| {
        (0..switches.groups())
            .flat_map(|group| (0..per_switch).map(move |l| (group, l)))
            .map(|(group, l)| port(group, switch * per_switch + l))
            .collect()
    };
    (0..switches.switches()).map(ports).collect()
}

/// The group and its link at a port of a switch, as [`uplinks`] numbers them.
pub(crate) fn switch_port(switches: OpticalSwitches, switch: u32, port: u32) -> SwitchPort {
    let per_switch = switches.per_switch();
    SwitchPort {
        group: GroupId(port / per_switch),
        link: switch * per_switch + port % per_switch,
    }
}

/// The network of a structure with these circuits.
///
/// # Errors
/// If it is no sound reconfigurable dragonfly.
pub(crate) fn wired(
    dragonfly: &ReconfigurableDragonfly,
    structure: Structure,
    links: DragonflyLinks,
    circuits: Circuits,
) -> Result<Topology, SpecError> {
    let spec = ReconfigurableSpec {
        p: dragonfly.p,
        links,
        held: structure.ports_of_router,
        group: structure.group,
        circuits,
    };
    spec.build().map_err(wiring_error)
}

/// What of a reconfigurable dragonfly does not change: its groups, and how they are
/// attached to switches.
#[derive(Clone)]
pub(crate) struct Structure {
    pub switches: OpticalSwitches,
    /// Global links of each router of a group.
    pub ports_of_router: Vec<u32>,
    group: GroupWiring,
}

/// The structure that a scenario describes.
///
/// # Errors
/// If its parameters make none.
pub(crate) fn structure(dragonfly: &ReconfigurableDragonfly) -> Result<Structure, SpecError> {
    if let Some(file) = &dragonfly.wiring_file {
        let listed = cray_groups::read(file, dragonfly.p, dragonfly.g)?;
        return Ok(Structure {
            switches: switches(dragonfly, listed.groups, &listed.ports_of_router)?,
            ports_of_router: listed.ports_of_router,
            group: listed.group,
        });
    }
    let ReconfigurableDragonfly { a, h, g, .. } = *dragonfly;
    for (key, value) in [("a", a), ("h", h), ("g", g)] {
        if value == 0 {
            return Err(SpecError::value(format!("network.{key}"), 0, "at least 1"));
        }
    }
    let links = a.checked_mul(h);
    links
        .ok_or_else(|| SpecError::value("network.a", a, "a·h below 2^32 global links per group"))?;
    let ports_of_router = vec![h; a as usize];
    Ok(Structure {
        switches: switches(dragonfly, g, &ports_of_router)?,
        ports_of_router,
        group: match dragonfly.group {
            GroupWiringName::AllToAll => GroupWiring::AllToAll,
            GroupWiringName::Grid => {
                let given = |value: Option<u32>, key: &str| {
                    let path = format!("network.{key}");
                    let allowed = "a value, as group = \"cray-xc\"";
                    value.ok_or_else(|| SpecError::value(path, "nothing", allowed))
                };
                GroupWiring::Grid {
                    rows: given(dragonfly.rows, "rows")?,
                    columns: given(dragonfly.columns, "columns")?,
                    row_links: dragonfly.row_links,
                    column_links: dragonfly.column_links,
                }
            }
        },
    })
}

fn switches(
    dragonfly: &ReconfigurableDragonfly,
    groups: u32,
    ports_of_router: &[u32],
) -> Result<OpticalSwitches, SpecError> {
    let links = ports_of_router.iter().sum();
    let per_switch = dragonfly.links_per_switch;
    OpticalSwitches::new(groups, links, per_switch, dragonfly.switch_ports).map_err(|error| {
        let key = match error {
            CircuitError::TooFewPorts { .. } => "switch_ports",
            _ => "links_per_switch",
        };
        SpecError::new(format!("network.{key}"), error.to_string())
    })
}

/// The classes of its links.
pub(crate) fn links(
    structure: &Structure,
    classes: &Classes<'_>,
) -> Result<DragonflyLinks, SpecError> {
    let (local, column) = match structure.group {
        GroupWiring::AllToAll => {
            classes.check_names(&["terminal", "local", "global"])?;
            (classes.class("local", LinkKind::Local)?, None)
        }
        GroupWiring::Grid { .. } => {
            classes.check_names(&["terminal", "green", "black", "global"])?;
            let black = classes.class("black", LinkKind::Local)?;
            (classes.class("green", LinkKind::Local)?, Some(black))
        }
    };
    Ok(DragonflyLinks {
        terminal: classes.class("terminal", LinkKind::Terminal)?,
        local,
        column,
        global: classes.class("global", LinkKind::Global)?,
    })
}

/// As many circuits between every two groups that have an uplink that works.
fn uniform(usable: Circuits) -> Result<Circuits, SpecError> {
    let switches = usable.switches();
    let joinable = |group: &GroupId| {
        let mut ports = (0..switches.links()).map(|link| SwitchPort {
            group: *group,
            link,
        });
        ports.any(|port| usable.works(port))
    };
    let groups: Vec<GroupId> = (0..switches.groups())
        .map(GroupId)
        .filter(joinable)
        .collect();
    let circuits = circuits_for(&usable, &groups, Strategy::Uniform, None);
    let key = match usable.has_failures() {
        true => "failures",
        false => "network.h",
    };
    let circuits = circuits.map_err(|error| SpecError::new(key, error.to_string()))?;
    Ok(usable.with_working(circuits))
}

fn listed(switches: OpticalSwitches, file: &Path) -> Result<Circuits, SpecError> {
    let key = "network.circuits_file";
    let text = read_file(file, key)?;
    Circuits::parse(switches, &text).map_err(|error| in_file(file, key, &error))
}

fn wiring_error(error: ReconfigurableError) -> SpecError {
    match error {
        ReconfigurableError::Dragonfly(DragonflyError::Zero { name }) => {
            SpecError::new(format!("network.{name}"), error.to_string())
        }
        ReconfigurableError::Dragonfly(DragonflyError::Grid { .. }) => {
            SpecError::new("network.rows", error.to_string())
        }
        ReconfigurableError::Dragonfly(DragonflyError::Topology(inner)) => {
            topology_error(inner, "")
        }
        error => SpecError::new("network", error.to_string()),
    }
}
