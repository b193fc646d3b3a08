//! From the scenario's torus or HyperX to a [`Topology`].

use odonata_network::routing::{AlgorithmName, Paths};
use odonata_network::topology::{HyperXSpec, LatticeError, TorusSpec};
use odonata_network::{LinkClass, LinkKind, Topology};

use crate::error::SpecError;
use crate::spec::family::{DeclaredLink, Links, NetworkFamily, Tests};
use crate::spec::link::{Link, UsualLink};
use crate::spec::table::table;
use crate::topology::classes::{Classes, topology_error};

/// Link classes of both.
const LINKS: Links = Links::Classes {
    name: "LatticeLinks",
    text: "Link classes of a torus or HyperX.",
    key_text: "Link classes.",
    classes: &[
        DeclaredLink::new(
            "local",
            UsualLink::Short,
            "Between routers, in dimensions of which nothing else is said.",
        ),
        DeclaredLink::new(
            "dim1",
            UsualLink::Short,
            "Along the first dimension. Default: as `local`.",
        )
        .later(),
        DeclaredLink::new(
            "dim2",
            UsualLink::Short,
            "Along the second dimension. Default: as `local`.",
        )
        .later(),
        DeclaredLink::new(
            "dim3",
            UsualLink::Short,
            "Along the third dimension. Default: as `local`.",
        )
        .later(),
        DeclaredLink::new(
            "dim4",
            UsualLink::Short,
            "Along the fourth dimension. Default: as `local`.",
        )
        .later(),
        DeclaredLink::new(
            "dim5",
            UsualLink::Short,
            "Along the fifth dimension. Default: as `local`.",
        )
        .later(),
        DeclaredLink::new(
            "dim6",
            UsualLink::Short,
            "Along the sixth dimension. Default: as `local`.",
        )
        .later(),
    ],
    given_only: None,
};

table! {
    /// A torus or mesh of any dimensions (k-ary n-cube); all routers have nodes.
    pub struct Torus {
        /// Routers along each dimension: `[8, 8, 4]`. Router `(x, y, z)` has number x + 8·(y +
        /// 8·z).
        size: Vec<u32> = Vec::new() => Notes { needed: true, ..Notes::COUNTS },
        /// For each dimension, whether the last router of a row is linked to its first: `[false,
        /// false]` makes a two-dimensional mesh. Default: `true` for all dimensions.
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

impl NetworkFamily for Torus {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::DimensionOrder)];
    const PATHS: Option<Paths> = Some(Paths::DimensionOrder);
    const LINKS: Links = LINKS;

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        torus(self, classes)
    }
}

impl NetworkFamily for HyperX {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[(&[], AlgorithmName::DimensionOrder)];
    const PATHS: Option<Paths> = Some(Paths::DimensionOrder);
    const LINKS: Links = LINKS;

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        hyperx(self, classes)
    }
}

/// Builds a torus or mesh.
///
/// # Errors
/// If its numbers do not fit together or a link class is unknown or makes no sense; the
/// path names the key.
pub(super) fn torus(torus: &Torus, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    let links = dimensions(&torus.size, classes)?;
    let spec = TorusSpec {
        size: torus.size.clone(),
        wrap: (torus.wrap.clone()).unwrap_or_else(|| vec![true; torus.size.len()]),
        p: torus.p,
        terminal: classes.class("terminal", LinkKind::Terminal)?,
        links,
    };
    spec.build().map_err(lattice_error)
}

/// Builds a HyperX.
///
/// # Errors
/// As for [`torus`].
pub(super) fn hyperx(hyperx: &HyperX, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    let links = dimensions(&hyperx.size, classes)?;
    let spec = HyperXSpec {
        size: hyperx.size.clone(),
        parallel: (hyperx.parallel.clone()).unwrap_or_else(|| vec![1; hyperx.size.len()]),
        p: hyperx.p,
        terminal: classes.class("terminal", LinkKind::Terminal)?,
        links,
    };
    spec.build().map_err(lattice_error)
}

/// The link class of each dimension: `dim1`, `dim2`, and so on; those that the scenario
/// leaves out are as its `local`.
fn dimensions(size: &[u32], classes: &Classes<'_>) -> Result<Vec<LinkClass>, SpecError> {
    let names: Vec<String> = (1..=size.len()).map(|n| format!("dim{n}")).collect();
    let known: Vec<&str> = ["terminal", "local"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    classes.check_names(&known)?;
    let links = classes.links;
    let usual = (links.get("local").cloned()).unwrap_or_else(|| Link::default_for("local"));
    let of_dimension = |name: &String| classes.class_or(name, LinkKind::Local, &usual);
    names.iter().map(of_dimension).collect()
}

fn lattice_error(error: LatticeError) -> SpecError {
    let key = match &error {
        LatticeError::NoDimensions | LatticeError::Zero { .. } => "size",
        LatticeError::Length { list, .. } => list,
        LatticeError::NoLinks { .. } => "parallel",
        LatticeError::Topology(inner) => return topology_error(inner.clone(), "size"),
    };
    SpecError::new(format!("network.{key}"), error.to_string())
}

#[cfg(test)]
mod tests {
    use crate::build_topology;
    use crate::spec::{Family, HyperX, Link, Network, Scenario, Torus};

    fn torus(size: &[u32], wrap: Option<&[bool]>) -> Scenario {
        Scenario::new(Network::new(Family::Torus(Torus {
            size: size.to_vec(),
            wrap: wrap.map(<[bool]>::to_vec),
            p: 1,
        })))
    }

    #[test]
    fn dimensions_have_the_class_of_local_links_or_their_own() {
        let mut scenario = torus(&[4, 3], None);
        let slow = Link {
            bandwidth_bytes_per_s: 1_000_000_000,
            ..Link::default_for("local")
        };
        let fast = Link {
            bandwidth_bytes_per_s: 2_000_000_000,
            ..slow.clone()
        };
        scenario.network.links.insert("local".into(), slow);
        scenario.network.links.insert("dim2".into(), fast);
        let topology = build_topology(&scenario).unwrap();
        let rates: Vec<u64> = (topology.link_classes[1..].iter())
            .map(|class| class.bandwidth.bytes_per_second())
            .collect();
        assert_eq!(rates, [1_000_000_000, 2_000_000_000]);
    }

    #[test]
    fn flaws_name_their_key() {
        let hyperx = |size: &[u32], parallel: &[u32]| {
            Scenario::new(Network::new(Family::Hyperx(HyperX {
                size: size.to_vec(),
                parallel: Some(parallel.to_vec()),
                p: 1,
            })))
        };
        let mut third = torus(&[4, 4], None);
        third
            .network
            .links
            .insert("dim3".into(), Link::default_for("local"));
        for (scenario, path) in [
            (torus(&[], None), "network.size"),
            (torus(&[3, 0], None), "network.size"),
            (torus(&[3, 3], Some(&[true])), "network.wrap"),
            (third, "network.links.dim3"),
            (hyperx(&[3, 3], &[1]), "network.parallel"),
            (hyperx(&[3], &[0]), "network.parallel"),
        ] {
            let error = build_topology(&scenario).unwrap_err();
            assert_eq!(error.path, path, "{error}");
        }
    }
}
