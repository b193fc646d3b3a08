//! Networks whose routers are the points of a lattice, recognised by their wiring, however
//! they came about.

use std::fmt;

use odonata_units::RouterId;

use super::{LinkKind, Peer, Topology};

/// How the routers of a row are linked, the same in all rows of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// Each to the next one.
    Line,
    /// Each to the next one, and the last to the first.
    Ring,
    /// Each to every other.
    Complete,
}

/// One dimension of a lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Routers of a row.
    pub size: u32,
    /// By how much the numbers of two neighbours in a row differ.
    pub stride: u32,
    /// How the routers of a row are linked.
    pub row: Row,
}

/// A lattice: every dimension has a class of links of its own, and routers are numbered along
/// the dimensions in the order of the classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lattice {
    /// The dimensions with more than one router, in order.
    pub dimensions: Vec<Dimension>,
}

/// Why the routers of a network form no lattice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLattice {
    /// The sizes of the dimensions, multiplied, are not the number of routers.
    Size {
        /// Sizes along the link classes, from router 0.
        sizes: Vec<u32>,
        /// Routers.
        routers: usize,
    },
    /// A link to a router that is not in the row.
    Row {
        /// Where the link starts.
        router: RouterId,
        /// Where it ends.
        peer: RouterId,
        /// Its class.
        class: String,
    },
    /// A row that is no line, no ring and not complete, or not as the others.
    Uneven {
        /// A router in it.
        router: RouterId,
        /// The class of its links.
        class: String,
    },
}

impl fmt::Display for NotLattice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { sizes, routers } => write!(
                f,
                "rows along its link classes have {sizes:?} routers, which makes no lattice of \
                 {routers}"
            ),
            Self::Row {
                router,
                peer,
                class,
            } => write!(
                f,
                "the link of class `{class}` from router {router} to router {peer} leads out of \
                 its row"
            ),
            Self::Uneven { router, class } => write!(
                f,
                "the row of class `{class}` through router {router} is no line, no ring and not \
                 all-to-all, or not as the first row of that class"
            ),
        }
    }
}

impl Topology {
    /// The lattice that the routers form, if they do: a [torus](super::torus) or
    /// [HyperX](super::hyperx) does. Time is linear in the number of ports.
    ///
    /// # Errors
    /// What contradicts that.
    pub fn lattice(&self) -> Result<Lattice, NotLattice> {
        let owner = self.router_of_every_port();
        let classes: Vec<usize> = (0..self.link_classes.len())
            .filter(|&class| self.link_classes[class].kind != LinkKind::Terminal)
            .collect();
        let mut lattice = Lattice { dimensions: vec![] };
        let (mut sizes, mut stride) = (vec![], 1u32);
        for class in classes {
            let linked = |router: u32| self.linked_by(class, router, &owner);
            let size = row_length(0, &linked);
            sizes.push(size);
            if size == 1 {
                continue;
            }
            if u64::from(stride) * u64::from(size) > self.routers() as u64 {
                break;
            }
            lattice.dimensions.push(Dimension {
                size,
                stride,
                row: self.check_rows(class, size, stride, &owner)?,
            });
            stride *= size;
        }
        if stride as usize != self.routers() {
            return Err(NotLattice::Size {
                sizes,
                routers: self.routers(),
            });
        }
        Ok(lattice)
    }

    /// Routers to which links of a class lead from `router`, ascending, each once.
    fn linked_by(&self, class: usize, router: u32, owner: &[RouterId]) -> Vec<u32> {
        let mut linked: Vec<u32> = self
            .ports_of(RouterId(router))
            .filter_map(|port| match self.peer[port] {
                Peer::Port(peer) if self.class_of_port[port].index() == class => {
                    Some(owner[peer.index()].0)
                }
                _ => None,
            })
            .collect();
        linked.sort_unstable();
        linked.dedup();
        linked
    }

    /// Checks every row of a class and tells how they are linked.
    fn check_rows(
        &self,
        class: usize,
        size: u32,
        stride: u32,
        owner: &[RouterId],
    ) -> Result<Row, NotLattice> {
        let name = || self.link_classes[class].name.clone();
        let mut kind = None;
        for router in 0..self.routers() as u32 {
            let place = router / stride % size;
            let first = router - place * stride;
            let linked = self.linked_by(class, router, owner);
            let mut places = Vec::with_capacity(linked.len());
            for peer in linked {
                let at = peer.checked_sub(first).filter(|ahead| ahead % stride == 0);
                match at.map(|ahead| ahead / stride).filter(|at| *at < size) {
                    Some(at) => places.push(at),
                    None => {
                        return Err(NotLattice::Row {
                            router: RouterId(router),
                            peer: RouterId(peer),
                            class: name(),
                        });
                    }
                }
            }
            let fits = |row: &Row| places == expected(*row, place, size);
            // A ring of three is complete as well; either name would do.
            let possible = [Row::Complete, Row::Ring, Row::Line];
            let found = match kind {
                None => possible.into_iter().find(fits),
                known => known.filter(fits),
            };
            if found.is_none() {
                return Err(NotLattice::Uneven {
                    router: RouterId(router),
                    class: name(),
                });
            }
            kind = found;
        }
        Ok(kind.unwrap_or(Row::Line))
    }

    /// Ports of `router` to `peer`, relative to its first port.
    pub(crate) fn ports_towards(
        &self,
        router: u32,
        peer: u32,
        owner: &[RouterId],
    ) -> impl Iterator<Item = u16> {
        let ports = self.ports_of(RouterId(router));
        let first = ports.start;
        ports.filter_map(move |port| match self.peer[port] {
            Peer::Port(end) if owner[end.index()].0 == peer => Some((port - first) as u16),
            _ => None,
        })
    }
}

/// Places that are linked to `place` in a row of `size`, ascending.
fn expected(row: Row, place: u32, size: u32) -> Vec<u32> {
    let (below, above) = (
        place.checked_sub(1),
        Some(place + 1).filter(|&at| at < size),
    );
    let mut places: Vec<u32> = match row {
        Row::Complete => (0..size).filter(|&at| at != place).collect(),
        Row::Line => below.into_iter().chain(above).collect(),
        Row::Ring => vec![(place + size - 1) % size, (place + 1) % size],
    };
    places.sort_unstable();
    places.dedup();
    places
}

/// Routers that can be reached from `router` by `linked`, itself included.
fn row_length(router: u32, linked: &impl Fn(u32) -> Vec<u32>) -> u32 {
    let mut seen = std::collections::BTreeSet::from([router]);
    let mut queue = vec![router];
    while let Some(at) = queue.pop() {
        queue.extend(linked(at).into_iter().filter(|&peer| seen.insert(peer)));
    }
    seen.len() as u32
}
