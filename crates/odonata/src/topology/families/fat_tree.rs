//! From the scenario's fat tree to a [`Topology`].

use odonata_network::routing::{AlgorithmName, Paths};
use odonata_network::topology::{FatTreeError, FatTreeShape, FatTreeSpec};
use odonata_network::{LinkKind, Topology};

use crate::error::SpecError;
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::UsualLink;
use crate::spec::optical::OpticalLayer;
use crate::spec::table::table;
use crate::topology::classes::{Classes, topology_error};

table! {
    /// A fat tree: a folded Clos, a k-ary n-tree or any extended generalised fat tree.
    ///
    /// Laid out from switches of one size (`radix`), or by its numbers (`down`, `up`, `parallel`;
    /// Öhring et al. 1995, Zahavi 2010). Level 1 are the leaf switches, which have the nodes.
    /// Groups are the pods, the subtrees below the top, and one more for the switches of the top.
    pub struct FatTree {
        /// Ports of a switch, an even number. Half of them lead down and half up; those of a top
        /// switch all lead down. If the tree has few pods, several links join the same two
        /// switches.
        radix: Option<u32> = None => Notes::COUNT,
        /// With `radix`: levels of switches. Default: as few as `nodes` requires; 3 without
        /// `nodes`.
        levels: Option<u32> = None => Notes { least: Some(1.0), most: Some(4.0), ..Notes::NONE },
        /// Number of nodes. The remaining places for nodes, and switches that would serve no node,
        /// are left out. Default: as many as the tree has room for.
        nodes: Option<u32> = None => Notes::COUNT,
        /// Without `radix`: nodes per leaf, then the number of children of a switch of each higher
        /// level: `[18, 18, 36]`.
        down: Option<Vec<u32>> = None => Notes::COUNTS,
        /// With `down`: number of parents of a switch of each level but the top: `[18, 18]`.
        up: Option<Vec<u32>> = None => Notes::COUNT,
        /// With `down`: links to each parent, by level. Default: 1.
        parallel: Option<Vec<u32>> = None => Notes::COUNT,
        /// Divisors of the number of links above each level but the top: `[1, 2]` removes half of
        /// the links to the top of three levels. Parallel links are removed first, then whole
        /// switches. Default: no links are removed.
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

impl NetworkFamily for FatTree {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::UpDown)];
    const PATHS: Option<Paths> = Some(Paths::UpDown);
    const LINKS: Links = Links::Classes {
        name: "FatTreeLinks",
        text: "Link classes of a fat tree.",
        key_text: "Link classes.",
        classes: &[
            DeclaredLink::new(
                "level1",
                UsualLink::Short,
                "Between leaf switches and those of level 2.",
            ),
            DeclaredLink::new(
                "level2",
                UsualLink::Long,
                "Between switches of levels 2 and 3.",
            ),
            DeclaredLink::new(
                "level3",
                UsualLink::Long,
                "Between switches of levels 3 and 4.",
            ),
        ],
        given_only: Some(&[]),
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        let built = specification(self, classes)?.build();
        built.map_err(|error| fat_tree_error(error, self))
    }
}

/// Levels, links and nodes of a tree.
///
/// # Errors
/// If its numbers do not fit together or a link class is unknown or makes no sense; the
/// path names the key.
pub(crate) fn specification(
    tree: &FatTree,
    classes: &Classes<'_>,
) -> Result<FatTreeSpec, SpecError> {
    let shape = shape(tree).map_err(|error| fat_tree_error(error, tree))?;
    let levels = shape.levels();
    let names: Vec<String> = (1..levels).map(|level| format!("level{level}")).collect();
    let known: Vec<&str> = std::iter::once("terminal")
        .chain(names.iter().map(String::as_str))
        .collect();
    classes.check_names(&known)?;
    let above = (1..levels)
        .zip(&names)
        .map(|(level, name)| classes.class(name, FatTreeSpec::role(level, levels)));
    Ok(FatTreeSpec {
        above: above.collect::<Result<_, _>>()?,
        terminal: classes.class("terminal", LinkKind::Terminal)?,
        shape,
    })
}

fn shape(tree: &FatTree) -> Result<FatTreeShape, FatTreeError> {
    let shape = match (tree.radix, &tree.down) {
        (Some(radix), _) => {
            let levels = tree.levels.map(|levels| levels as usize);
            FatTreeShape::of_switches(radix, tree.nodes, levels)?
        }
        (None, down) => {
            let down = down.clone().unwrap_or_default();
            let up = tree.up.clone().unwrap_or_default();
            let room = down.iter().fold(1, |all: u32, &m| all.saturating_mul(m));
            FatTreeShape {
                parallel: tree.parallel.clone().unwrap_or_else(|| vec![1; up.len()]),
                nodes: tree.nodes.unwrap_or(room),
                down,
                up,
            }
        }
    };
    match &tree.taper {
        Some(factors) => shape.tapered(factors),
        None => Ok(shape),
    }
}

/// The key that is to blame.
pub(crate) fn fat_tree_error(error: FatTreeError, tree: &FatTree) -> SpecError {
    let numbers = if tree.radix.is_some() {
        "levels"
    } else {
        "down"
    };
    let key = match &error {
        FatTreeError::Levels { .. } => numbers,
        FatTreeError::Length { list, .. } | FatTreeError::Zero { list, .. } => list,
        FatTreeError::Nodes { .. } | FatTreeError::TooManyNodes { .. } => "nodes",
        FatTreeError::Radix { .. } => "radix",
        FatTreeError::Taper { .. } => "taper",
        FatTreeError::Topology(inner) => return topology_error(inner.clone(), "nodes"),
    };
    SpecError::new(format!("network.{key}"), error.to_string())
}

#[cfg(test)]
mod tests {
    use crate::build_topology;
    use crate::spec::{Family, FatTree, Link, Network, Scenario};

    fn scenario(tree: FatTree) -> Scenario {
        Scenario::new(Network::new(Family::FatTree(tree)))
    }

    #[test]
    fn trees_come_from_switches_or_from_numbers() {
        let of_switches = FatTree {
            radix: Some(8),
            taper: Some(vec![1, 2]),
            ..FatTree::default()
        };
        let by_numbers = FatTree {
            down: Some(vec![4, 4, 8]),
            up: Some(vec![4, 2]),
            ..FatTree::default()
        };
        let one = build_topology(&scenario(of_switches)).unwrap();
        assert_eq!(one, build_topology(&scenario(by_numbers)).unwrap());
        assert_eq!((one.nodes(), one.groups), (128, 9));
    }

    #[test]
    fn flaws_name_their_key() {
        let down = |down: &[u32], up: &[u32]| FatTree {
            down: Some(down.to_vec()),
            up: Some(up.to_vec()),
            ..FatTree::default()
        };
        let radix = |radix, nodes, levels| FatTree {
            radix: Some(radix),
            nodes,
            levels,
            ..FatTree::default()
        };
        let tapered = |taper: &[u32]| FatTree {
            taper: Some(taper.to_vec()),
            ..radix(8, None, None)
        };
        for (tree, path) in [
            (down(&[4, 4], &[4, 4]), "network.up"),
            (down(&[4, 0], &[4]), "network.down"),
            (down(&[], &[]), "network.down"),
            (radix(7, None, None), "network.radix"),
            (radix(8, Some(1000), None), "network.nodes"),
            (radix(8, None, Some(9)), "network.levels"),
            (radix(8, Some(0), None), "network.nodes"),
            (tapered(&[3, 1]), "network.taper"),
            (tapered(&[1]), "network.taper"),
            (tapered(&[0, 1]), "network.taper"),
        ] {
            let error = build_topology(&scenario(tree.clone())).unwrap_err();
            assert_eq!(error.path, path, "{tree:?}: {error}");
        }
        let mut unknown = scenario(radix(8, Some(32), Some(2)));
        let link = Link::default_for("level2");
        unknown.network.links.insert("level2".into(), link);
        let error = build_topology(&unknown).unwrap_err();
        assert_eq!(error.path, "network.links.level2");
        assert!(error.message.contains("terminal, level1"), "{error}");
    }
}
