//! From the scenario's dragonfly to a [`Topology`].

use std::path::PathBuf;

use odonata_network::routing::AlgorithmName;
use odonata_network::topology::{
    Arrangement, ArrangementName, DragonflyError, DragonflyLinks, DragonflySpec, GroupWiring,
    GroupWiringName, arrangement,
};
use odonata_network::{LinkKind, Topology};

use crate::error::SpecError;
use crate::named_file::{in_file, read_file};
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::UsualLink;
use crate::spec::table::{Test, table};
use crate::topology::classes::{Classes, topology_error};

/// When groups are all-to-all.
const ALL_TO_ALL: &[Tests] = &[&[("group", Test::Is("all-to-all"))]];
/// When they are grids.
const GRIDS: &[Tests] = &[&[("group", Test::Is("cray-xc"))]];

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
        row_links: u32 = 1 => Notes::OPTIONAL_COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a column. Default: 1.
        column_links: u32 = 1 => Notes::OPTIONAL_COUNT,
        /// Which router of a group has the link to each other group (Hastings et al. 2015);
        /// `custom` reads this from `arrangement_file`.
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

impl NetworkFamily for Dragonfly {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::Minimal)];
    const LINKS: Links = Links::Classes {
        name: "DragonflyLinks",
        text: "Link classes of a dragonfly; `green` and `black` instead of `local` in Cray XC groups.",
        key_text: "Link classes.",
        classes: &[
            DeclaredLink::new("local", UsualLink::Short, "Within a group.").only(ALL_TO_ALL),
            DeclaredLink::new(
                "green",
                UsualLink::Short,
                "Within a row of a Cray XC group (backplane of a chassis).",
            )
            .only(GRIDS),
            DeclaredLink::new(
                "black",
                UsualLink::Short,
                "Within a column of a Cray XC group (cables between chassis).",
            )
            .only(GRIDS),
            DeclaredLink::new("global", UsualLink::Long, "Between groups."),
        ],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        build(self, classes)
    }
}

fn build(dragonfly: &Dragonfly, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    let Dragonfly { p, a, h, .. } = *dragonfly;
    let closing = u64::from(a) * u64::from(h) + 1;
    let g = match dragonfly.g {
        Some(g) => g,
        None => u32::try_from(closing)
            .map_err(|_| SpecError::value("network.a", a, "a·h + 1 groups below 2^32"))?,
    };
    let terminal = classes.class("terminal", LinkKind::Terminal)?;
    let global = classes.class("global", LinkKind::Global)?;
    let (group, local, column) = match dragonfly.group {
        GroupWiringName::AllToAll => {
            classes.check_names(&["terminal", "local", "global"])?;
            (
                GroupWiring::AllToAll,
                classes.class("local", LinkKind::Local)?,
                None,
            )
        }
        GroupWiringName::Grid => {
            classes.check_names(&["terminal", "green", "black", "global"])?;
            let given = |value: Option<u32>, key: &str| {
                let path = format!("network.{key}");
                value.ok_or_else(|| {
                    SpecError::value(path, "nothing", "a value, as group = \"cray-xc\"")
                })
            };
            let group = GroupWiring::Grid {
                rows: given(dragonfly.rows, "rows")?,
                columns: given(dragonfly.columns, "columns")?,
                row_links: dragonfly.row_links,
                column_links: dragonfly.column_links,
            };
            let green = classes.class("green", LinkKind::Local)?;
            let black = classes.class("black", LinkKind::Local)?;
            (group, green, Some(black))
        }
    };
    let file = dragonfly.arrangement_file.as_deref();
    let arrangement = match (dragonfly.arrangement, file) {
        (ArrangementName::Absolute, _) => Arrangement::Absolute,
        (ArrangementName::Relative, _) => Arrangement::Relative,
        (ArrangementName::Circulant, _) => Arrangement::Circulant,
        (ArrangementName::Custom, None) => {
            return Err(SpecError::value(
                "network.arrangement_file",
                "nothing",
                "a file, as arrangement = \"custom\"",
            ));
        }
        (ArrangementName::Custom, Some(file)) => {
            let text = read_file(file, "network.arrangement_file")?;
            let links = arrangement::parse_global_links(&text)
                .map_err(|error| in_file(file, "network.arrangement_file", &error))?;
            Arrangement::Custom(links)
        }
    };
    let spec = DragonflySpec {
        p,
        a,
        h,
        g,
        arrangement,
        group,
        links: DragonflyLinks {
            terminal,
            local,
            column,
            global,
        },
    };
    spec.build().map_err(|error| match error {
        DragonflyError::Zero { name } => {
            SpecError::new(format!("network.{name}"), error.to_string())
        }
        DragonflyError::TooManyGroups { .. } => SpecError::new("network.g", error.to_string()),
        DragonflyError::Grid { .. } => SpecError::new("network.rows", error.to_string()),
        DragonflyError::Arrangement(ref inner) => match file {
            Some(file) => in_file(file, "network.arrangement_file", inner),
            None => SpecError::new("network.arrangement", error.to_string()),
        },
        DragonflyError::Topology(inner) => topology_error(inner, ""),
        error => SpecError::new("network", error.to_string()),
    })
}
