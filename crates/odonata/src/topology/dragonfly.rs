//! From the scenario's dragonfly to a [`Topology`].

use odonata_network::routing::AlgorithmName;
use odonata_network::topology::{
    Arrangement, DragonflyError, DragonflyLinks, DragonflySpec, GroupWiring, arrangement,
};
use odonata_network::{LinkKind, Topology};

use super::{Classes, in_file, read_file, topology_error};
use crate::error::SpecError;
use crate::spec::{self, DeclaredLink, Links, NetworkFamily, Test, Tests, UsualLink};

/// When groups are all-to-all.
const ALL_TO_ALL: &[Tests] = &[&[("group", Test::Is("all-to-all"))]];
/// When they are grids.
const GRIDS: &[Tests] = &[&[("group", Test::Is("cray-xc"))]];

impl NetworkFamily for spec::Dragonfly {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::Minimal)];
    const LINKS: Links = Links::Classes {
        name: "DragonflyLinks",
        text: "Link classes of a dragonfly; `green` and `black` instead of `local` in Cray XC groups.",
        key_text: "Link classes.",
        classes: &[
            DeclaredLink::new("local", UsualLink::Electrical, "Within a group.").only(ALL_TO_ALL),
            DeclaredLink::new(
                "green",
                UsualLink::Electrical,
                "Within a row of a Cray XC group (backplane of a chassis).",
            )
            .only(GRIDS),
            DeclaredLink::new(
                "black",
                UsualLink::Electrical,
                "Within a column of a Cray XC group (cables between chassis).",
            )
            .only(GRIDS),
            DeclaredLink::new("global", UsualLink::Global, "Between groups."),
        ],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        build(self, classes)
    }
}

fn build(dragonfly: &spec::Dragonfly, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    let spec::Dragonfly { p, a, h, .. } = *dragonfly;
    let closing = u64::from(a) * u64::from(h) + 1;
    let g = match dragonfly.g {
        Some(g) => g,
        None => u32::try_from(closing)
            .map_err(|_| SpecError::value("network.a", a, "a·h + 1 groups below 2^32"))?,
    };
    let terminal = classes.class("terminal", LinkKind::Terminal)?;
    let global = classes.class("global", LinkKind::Global)?;
    let (group, local, column) = match dragonfly.group {
        spec::GroupWiringName::AllToAll => {
            classes.check_names(&["terminal", "local", "global"])?;
            (
                GroupWiring::AllToAll,
                classes.class("local", LinkKind::Local)?,
                None,
            )
        }
        spec::GroupWiringName::Grid => {
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
        (spec::ArrangementName::Absolute, _) => Arrangement::Absolute,
        (spec::ArrangementName::Relative, _) => Arrangement::Relative,
        (spec::ArrangementName::Circulant, _) => Arrangement::Circulant,
        (spec::ArrangementName::Custom, None) => {
            return Err(SpecError::value(
                "network.arrangement_file",
                "nothing",
                "a file, as arrangement = \"custom\"",
            ));
        }
        (spec::ArrangementName::Custom, Some(file)) => {
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
