//! HyperX networks: lattices whose rows are all-to-all in every dimension (Ahn, Binkert,
//! Davis, McLaren and Schreiber, "HyperX: topology, routing, and packaging of efficient
//! large-scale networks", SC 2009). With as many nodes per router as routers along a
//! dimension it is a flattened butterfly (Kim, Dally and Abts, ISCA 2007).
//!
//! Routers are numbered along the first dimension first. Ports: nodes, then for each
//! dimension the links to the other routers of the row, in their order; with parallel links
//! first one to each, then the second to each, and so on. All routers are one group.

use odonata_units::GroupId;

use super::cabling::{Cabling, check_size};
use super::torus::{LatticeError, by, lattice};
use super::{LinkClass, LinkClassId, Topology};

/// A HyperX to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct HyperXSpec {
    /// Routers along each dimension: the paper's `S`.
    pub size: Vec<u32>,
    /// Links between two routers of a row, by dimension: its `K`. Shape: dimensions.
    pub parallel: Vec<u32>,
    /// Nodes per router: its `T`.
    pub p: u32,
    /// Class of the links of nodes.
    pub terminal: LinkClass,
    /// Class of the links of each dimension. Shape: dimensions.
    pub links: Vec<LinkClass>,
}

impl HyperXSpec {
    /// Builds the topology; numbering is in the [module's description](self).
    ///
    /// # Errors
    /// If the numbers do not fit together or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, LatticeError> {
        let Self {
            size, parallel, p, ..
        } = self;
        let routers = lattice(size)?;
        if parallel.len() != size.len() {
            return Err(LatticeError::Length {
                list: "parallel",
                found: parallel.len(),
                dimensions: size.len(),
            });
        }
        if let Some(position) = parallel.iter().position(|&links| links == 0) {
            return Err(LatticeError::NoLinks {
                position: position + 1,
            });
        }
        let links = size.iter().zip(parallel);
        let per_router = links.fold(u64::from(*p), |all, (&along, &links)| {
            all.saturating_add(u64::from(along - 1) * u64::from(links))
        });
        check_size(per_router, u128::from(routers) * u128::from(per_router))?;
        let mut cabling = Cabling::new(routers);
        for router in 0..routers {
            cabling.attach(router, *p, LinkClassId(0));
        }
        let mut stride = 1;
        for (dimension, (&along, &links)) in (1..).zip(size.iter().zip(parallel)) {
            for _ in 0..links {
                for router in 0..routers {
                    // Peers in ascending order at both ends: the lower end of each link
                    // lays it when its turn comes.
                    let place = router / stride % along;
                    for below in 0..place {
                        let peer = router - (place - below) * stride;
                        cabling.link(peer, router, LinkClassId(dimension));
                    }
                }
            }
            stride *= along;
        }
        let mut title = format!("hyperx {} p={p}", by(size));
        if parallel.iter().any(|&links| links > 1) {
            title += &format!(" links {}", by(parallel));
        }
        let classes = [std::slice::from_ref(&self.terminal), &self.links].concat();
        Ok(cabling.into_topology(title, classes, vec![GroupId(0); routers as usize])?)
    }
}

#[cfg(test)]
mod tests {
    use odonata_units::RouterId;

    use super::*;
    use crate::topology::testing::class;
    use crate::topology::{LinkKind, Peer};

    fn build(size: &[u32], parallel: &[u32], p: u32) -> Result<Topology, LatticeError> {
        HyperXSpec {
            size: size.to_vec(),
            parallel: parallel.to_vec(),
            p,
            terminal: class("terminal", LinkKind::Terminal),
            links: (1..=size.len())
                .map(|n| class(&format!("dim{n}"), LinkKind::Local))
                .collect(),
        }
        .build()
    }

    #[test]
    fn every_router_is_linked_to_all_of_its_rows() {
        let topology = build(&[3, 2], &[2, 1], 2).unwrap();
        // Nodes of router 4 = (1, 1), then rows along the first dimension twice, then 1.
        let peers: Vec<Option<u32>> = topology.peer[topology.ports_of(RouterId(4))]
            .iter()
            .map(|peer| match peer {
                Peer::Port(port) => Some(topology.router_of_port(*port).0),
                _ => None,
            })
            .collect();
        let routers = [3, 5, 3, 5, 1].map(Some);
        assert_eq!(peers, [&[None; 2][..], &routers].concat());
    }

    #[test]
    fn diameter_and_bisection_are_those_of_the_paper() {
        // Ahn et al. 2009, section 2: diameter L; the bisection across dimension k of size
        // S_k is (S_k/2)·(S_k/2)·K_k links in each of the N/S_k rows.
        for (size, parallel, cut) in [
            (&[4, 4][..], &[1, 1][..], 16),
            (&[4, 6], &[3, 1], 9 * 4),
            (&[8], &[1], 16),
        ] {
            let topology = build(size, parallel, 1).unwrap();
            let found = topology.describe();
            assert_eq!(found.diameter as usize, size.len());
            let link = topology.link_classes[1].bandwidth.bytes_per_second();
            assert_eq!(
                found.bisection_bandwidth_bytes_per_s / link,
                cut,
                "{size:?}"
            );
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_told() {
        let message =
            |size: &[u32], parallel: &[u32]| build(size, parallel, 1).unwrap_err().to_string();
        assert!(message(&[4, 4], &[1]).contains("1 entries for 2 dimensions"));
        assert!(message(&[4, 4], &[1, 0]).contains("entry 2 is 0"));
        assert!(message(&[5000], &[1]).contains("ports on a router"));
    }
}
