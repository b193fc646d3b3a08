//! Tori and meshes of any dimensions (k-ary n-cubes: Dally, "Performance analysis of k-ary
//! n-cube interconnection networks", IEEE Trans. Computers 39(6), 1990).
//!
//! Routers are numbered along the first dimension first: router `(x, y, z)` of `X × Y × Z` is
//! `x + X·(y + Y·z)`. Ports: nodes, then for each dimension the link to the next router and
//! that to the one before, where there are such. A ring of two routers has one link. All
//! routers are one group.

use odonata_units::GroupId;

use super::cabling::{Cabling, check_size};
use super::{LinkClass, LinkClassId, Topology, TopologyError};

/// A torus or mesh to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct TorusSpec {
    /// Routers along each dimension, each at least 1.
    pub size: Vec<u32>,
    /// Whether the last router of a row is linked to its first. Shape: dimensions.
    pub wrap: Vec<bool>,
    /// Nodes per router.
    pub p: u32,
    /// Class of the links of nodes.
    pub terminal: LinkClass,
    /// Class of the links of each dimension. Shape: dimensions.
    pub links: Vec<LinkClass>,
}

/// Why a torus or HyperX cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LatticeError {
    /// No dimension.
    #[error("no dimensions; give at least one size")]
    NoDimensions,
    /// A size of 0.
    #[error("size {position} is 0; every dimension has at least one router")]
    Zero {
        /// Which, from 1.
        position: usize,
    },
    /// A list that has not one entry per dimension.
    #[error("{found} entries for {dimensions} dimensions; give one for each")]
    Length {
        /// The list: `wrap` or `parallel`.
        list: &'static str,
        /// Its length.
        found: usize,
        /// Dimensions.
        dimensions: usize,
    },
    /// No parallel link.
    #[error("entry {position} is 0; at least one link joins two routers")]
    NoLinks {
        /// Which dimension, from 1.
        position: usize,
    },
    /// The link classes, or something else about the wiring, are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// Checks the sizes of a lattice and returns its routers.
///
/// # Errors
/// If a size is 0 or the routers are too many to be numbered.
pub(super) fn lattice(size: &[u32]) -> Result<u32, LatticeError> {
    if size.is_empty() {
        return Err(LatticeError::NoDimensions);
    }
    if let Some(position) = size.iter().position(|&along| along == 0) {
        return Err(LatticeError::Zero {
            position: position + 1,
        });
    }
    let routers = size
        .iter()
        .fold(1, |all: u128, &along| all.saturating_mul(u128::from(along)));
    check_size(0, routers)?;
    Ok(routers as u32)
}

/// Product of the sizes as words: `4×4×2`.
pub(super) fn by(size: &[u32]) -> String {
    let words: Vec<String> = size.iter().map(u32::to_string).collect();
    words.join("×")
}

impl TorusSpec {
    /// Builds the topology; numbering is in the [module's description](self).
    ///
    /// # Errors
    /// If the numbers do not fit together or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, LatticeError> {
        let Self { size, wrap, p, .. } = self;
        let routers = lattice(size)?;
        if wrap.len() != size.len() {
            return Err(LatticeError::Length {
                list: "wrap",
                found: wrap.len(),
                dimensions: size.len(),
            });
        }
        let per_router = u64::from(*p) + 2 * size.len() as u64;
        check_size(per_router, u128::from(routers) * u128::from(per_router))?;
        let mut cabling = Cabling::new(routers);
        for router in 0..routers {
            cabling.attach(router, *p, LinkClassId(0));
        }
        let mut stride = 1;
        for (dimension, (&along, &wrap)) in (1..).zip(size.iter().zip(wrap)) {
            let class = LinkClassId(dimension);
            // Every link is laid where it leaves upwards, and the one that closes the ring
            // last, so that ports are the same on all routers but the first and the last.
            for router in 0..routers {
                let place = router / stride % along;
                if place + 1 < along {
                    cabling.link(router, router + stride, class);
                } else if wrap && along > 2 {
                    cabling.link(router, router - place * stride, class);
                }
            }
            stride *= along;
        }
        let kind = match wrap.iter().all(|&wrap| wrap) {
            true => "torus",
            false => "mesh",
        };
        let classes = [std::slice::from_ref(&self.terminal), &self.links].concat();
        let title = format!("{kind} {} p={p}", by(size));
        Ok(cabling.into_topology(title, classes, vec![GroupId(0); routers as usize])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::LinkKind;
    use crate::topology::testing::class;

    fn build(size: &[u32], wrap: bool) -> Result<Topology, LatticeError> {
        TorusSpec {
            size: size.to_vec(),
            wrap: vec![wrap; size.len()],
            p: 1,
            terminal: class("terminal", LinkKind::Terminal),
            links: (1..=size.len())
                .map(|n| class(&format!("dim{n}"), LinkKind::Local))
                .collect(),
        }
        .build()
    }

    #[test]
    fn distances_and_bisections_are_those_of_theory() {
        // Diameter Σ⌊k/2⌋ of a torus, Σ(k − 1) of a mesh; bisection 2·N/k and N/k links
        // for the longest even k (Dally 1990).
        for (size, wrap, diameter, cut) in [
            (&[4, 4][..], true, 4, 8),
            (&[4, 4], false, 6, 4),
            (&[4, 2, 3], true, 2 + 1 + 1, 12),
            (&[6], true, 3, 2),
        ] {
            let topology = build(size, wrap).unwrap();
            let found = topology.describe();
            assert_eq!(found.diameter, diameter, "{size:?}");
            let link = topology.link_classes[1].bandwidth.bytes_per_second();
            assert_eq!(
                found.bisection_bandwidth_bytes_per_s / link,
                cut,
                "{size:?}"
            );
        }
    }

    #[test]
    fn rings_of_one_and_two_have_no_doubled_links() {
        let links = |size: &[u32]| (build(size, true).unwrap().ports() - 8) / 2;
        assert_eq!(links(&[2, 2, 2]), 12);
        assert_eq!(links(&[8, 1]), 8);
    }

    #[test]
    fn sizes_that_make_no_torus_are_told() {
        let message = |size: &[u32]| build(size, true).unwrap_err().to_string();
        assert!(message(&[]).contains("at least one size"));
        assert!(message(&[4, 0]).contains("size 2 is 0"));
        assert!(message(&[70_000, 70_000]).contains("4900000000 ports"));
    }
}
