//! From the scenario's dragonfly+ to a [`Topology`].

use odonata_network::routing::AlgorithmName;
use odonata_network::topology::{
    DragonflyPlusError, DragonflyPlusLinks, DragonflyPlusSpec, SpineArrangement,
};
use odonata_network::{LinkKind, Topology};

use crate::error::SpecError;
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::UsualLink;
use crate::spec::table::table;
use crate::topology::classes::{Classes, topology_error};

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
        /// Groups; g − 1 must divide spines·h, so that every two groups are joined by the same
        /// number of links. Default: spines·h + 1, one link between every two groups.
        g: Option<u32> = None => Notes::COUNT,
        /// Which spines of two groups are linked: the links of a spine to another group are spread
        /// over that group's spines (`balanced`), or all end at one of them (`unbalanced`; Kang et
        /// al. 2019).
        arrangement: SpineArrangement = SpineArrangement::Balanced,
    }
}

impl NetworkFamily for DragonflyPlus {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::Minimal)];
    const LINKS: Links = Links::Classes {
        name: "DragonflyPlusLinks",
        text: "Link classes of a dragonfly+.",
        key_text: "Link classes.",
        classes: &[
            DeclaredLink::new("local", UsualLink::Short, "Between leaves and spines."),
            DeclaredLink::new(
                "global",
                UsualLink::Long,
                "Between spines of different groups.",
            ),
        ],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        build(self, classes)
    }
}

/// Builds a dragonfly+.
///
/// # Errors
/// If its numbers do not close or a link class is unknown or makes no sense; the
/// path names the key.
pub(super) fn build(
    dragonfly: &DragonflyPlus,
    classes: &Classes<'_>,
) -> Result<Topology, SpecError> {
    classes.check_names(&["terminal", "local", "global"])?;
    let DragonflyPlus {
        leaves,
        spines,
        p,
        h,
        ..
    } = *dragonfly;
    let closing = u64::from(spines) * u64::from(h) + 1;
    let g = match dragonfly.g {
        Some(g) => g,
        None => u32::try_from(closing).map_err(|_| {
            SpecError::value("network.spines", spines, "spines·h + 1 groups below 2^32")
        })?,
    };
    let spec = DragonflyPlusSpec {
        leaves,
        spines,
        p,
        h,
        g,
        arrangement: match dragonfly.arrangement {
            SpineArrangement::Balanced => SpineArrangement::Balanced,
            SpineArrangement::Unbalanced => SpineArrangement::Unbalanced,
        },
        links: DragonflyPlusLinks {
            terminal: classes.class("terminal", LinkKind::Terminal)?,
            local: classes.class("local", LinkKind::Local)?,
            global: classes.class("global", LinkKind::Global)?,
        },
    };
    spec.build().map_err(|error| {
        let key = match &error {
            DragonflyPlusError::Zero { name } => format!("network.{name}"),
            DragonflyPlusError::TooManyGroups { .. } | DragonflyPlusError::Uneven { .. } => {
                "network.g".to_owned()
            }
            DragonflyPlusError::TooManyPorts { role, .. } => {
                let key = if *role == "leaf" { "p" } else { "h" };
                format!("network.{key}")
            }
            DragonflyPlusError::TooLarge { .. } => "network".to_owned(),
            DragonflyPlusError::Topology(inner) => return topology_error(inner.clone(), ""),
        };
        SpecError::new(key, error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use crate::build_topology;
    use crate::spec::{DragonflyPlus, Family, Network, Scenario, SpineArrangement};

    fn scenario(g: Option<u32>) -> Scenario {
        Scenario::new(Network::new(Family::DragonflyPlus(DragonflyPlus {
            leaves: 4,
            spines: 4,
            p: 2,
            h: 2,
            g,
            arrangement: SpineArrangement::Balanced,
        })))
    }

    #[test]
    fn without_g_one_link_joins_every_two_groups() {
        let topology = build_topology(&scenario(None)).unwrap();
        assert_eq!((topology.groups, topology.nodes()), (9, 72));
    }

    #[test]
    fn numbers_that_do_not_close_name_their_key() {
        for (g, path, words) in [
            (Some(0), "network.g", "`g` is 0"),
            (Some(4), "network.g", "use g = 3 or 5"),
            (Some(10), "network.g", "use g from 1 to 9"),
        ] {
            let error = build_topology(&scenario(g)).unwrap_err();
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
        let mut unknown = scenario(None);
        let link = crate::spec::Link::default_for("green");
        unknown.network.links.insert("green".into(), link);
        assert_eq!(
            build_topology(&unknown).unwrap_err().path,
            "network.links.green"
        );
    }
}
