//! From the scenario's Slim Fly or Jellyfish to a [`Topology`].

use odonata_network::routing::{AlgorithmName, Paths};
use odonata_network::topology::slim_fly::balanced_nodes;
use odonata_network::topology::{JellyfishError, JellyfishSpec, SlimFlyError, SlimFlySpec};
use odonata_network::{LinkKind, Topology};

use crate::error::SpecError;
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::UsualLink;
use crate::spec::table::table;
use crate::topology::classes::{Classes, topology_error};

table! {
    /// A Slim Fly: a graph of diameter 2 with nearly as many routers as possible.
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
        /// Seed of the random links; the `seed` of the run has no effect on them.
        wiring_seed: u64 = 1 => Notes { most: Some(4_294_967_295.0), ..Notes::DELAY },
    }
}

impl NetworkFamily for SlimFly {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::ShortestPath)];
    const PATHS: Option<Paths> = Some(Paths::ShortestPath);
    const LINKS: Links = Links::Classes {
        name: "SlimFlyLinks",
        text: "Link classes of a Slim Fly.",
        key_text: "Link classes.",
        classes: &[
            DeclaredLink::new("local", UsualLink::Short, "Within a group."),
            DeclaredLink::new("global", UsualLink::Long, "Between groups."),
        ],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        slim_fly(self, classes)
    }
}

impl NetworkFamily for Jellyfish {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::ShortestPath)];
    const PATHS: Option<Paths> = Some(Paths::ShortestPath);
    const LINKS: Links = Links::Classes {
        name: "LocalLinks",
        text: "Link classes of a network of one group.",
        key_text: "Link classes.",
        classes: &[DeclaredLink::new(
            "local",
            UsualLink::Short,
            "Between routers.",
        )],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        jellyfish(self, classes)
    }
}

/// Builds a Slim Fly.
///
/// # Errors
/// If its number is none that it can have or a link class is unknown or makes no sense; the
/// path names the key.
pub(super) fn slim_fly(slim_fly: &SlimFly, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    classes.check_names(&["terminal", "local", "global"])?;
    // Numbers beyond any router's ports are refused below.
    let balanced = || balanced_nodes(slim_fly.q.min(1 << 20));
    let spec = SlimFlySpec {
        q: slim_fly.q,
        p: slim_fly.p.unwrap_or_else(balanced),
        terminal: classes.class("terminal", LinkKind::Terminal)?,
        local: classes.class("local", LinkKind::Local)?,
        global: classes.class("global", LinkKind::Global)?,
    };
    spec.build().map_err(|error| match error {
        SlimFlyError::Order { .. } => SpecError::new("network.q", error.to_string()),
        SlimFlyError::Topology(inner) => topology_error(inner, "q"),
    })
}

/// Builds a Jellyfish.
///
/// # Errors
/// If its numbers do not fit together or a link class is unknown or makes no sense; the
/// path names the key.
pub(super) fn jellyfish(
    jellyfish: &Jellyfish,
    classes: &Classes<'_>,
) -> Result<Topology, SpecError> {
    classes.check_names(&["terminal", "local"])?;
    let spec = JellyfishSpec {
        routers: jellyfish.routers,
        degree: jellyfish.degree,
        p: jellyfish.p,
        seed: jellyfish.wiring_seed,
        terminal: classes.class("terminal", LinkKind::Terminal)?,
        local: classes.class("local", LinkKind::Local)?,
    };
    spec.build().map_err(|error| match error {
        JellyfishError::Degree { .. } | JellyfishError::Disconnected { .. } => {
            SpecError::new("network.degree", error.to_string())
        }
        JellyfishError::Topology(inner) => topology_error(inner, "routers"),
    })
}

#[cfg(test)]
mod tests {
    use crate::build_topology;
    use crate::spec::{Family, Jellyfish, Network, Scenario, SlimFly};

    fn nodes_of(family: Family) -> Result<usize, String> {
        let topology = build_topology(&Scenario::new(Network::new(family)));
        topology.map(|t| t.nodes()).map_err(|error| error.path)
    }

    #[test]
    fn balanced_or_as_told() {
        assert_eq!(
            nodes_of(Family::SlimFly(SlimFly { q: 5, p: None })),
            Ok(200)
        );
        assert_eq!(
            nodes_of(Family::SlimFly(SlimFly { q: 4, p: Some(1) })),
            Ok(32)
        );
    }

    #[test]
    fn flaws_name_their_key() {
        let slim_fly = |q, p| nodes_of(Family::SlimFly(SlimFly { q, p: Some(p) }));
        assert_eq!(slim_fly(6, 1), Err("network.q".into()));
        assert_eq!(slim_fly(5, 0), Err("network.q".into()));
        assert_eq!(slim_fly(4_000_000_007, 1), Err("network.q".into()));
        let jellyfish = |routers, degree| {
            nodes_of(Family::Jellyfish(Jellyfish {
                routers,
                degree,
                p: 1,
                wiring_seed: 1,
            }))
        };
        assert_eq!(jellyfish(20, 3), Ok(20));
        assert_eq!(jellyfish(3, 3), Err("network.degree".into()));
        assert_eq!(jellyfish(0, 0), Err("network.routers".into()));
    }
}
