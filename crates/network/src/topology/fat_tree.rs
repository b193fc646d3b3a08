//! Fat trees of two to four levels, any arity and any number of links at each: extended
//! generalised fat trees with parallel links.
//!
//! # Shape
//! Level 1 are the leaf switches, which have the nodes. A switch of level `i` has
//! `down[i]` children below it (nodes at level 1) and, but at the top level, `up[i]`
//! parents, with `parallel[i]` links to each. These are the `m`, `w` and `p` of
//! parallel-ports generalised fat trees (Zahavi, "D-Mod-K routing providing non-blocking
//! traffic for shift permutations on real life fat trees", 2010), which without parallel
//! links are the extended generalised fat trees of Öhring, Ibel, Das and Kumar ("On
//! generalized fat trees", IPPS 1995). With `down` and `up` all `k` it is a k-ary n-tree
//! (Petrini and Vanneschi 1997).
//!
//! # Numbering
//! A subtree of level `i` is all that lies below one switch of level `i`, with all switches
//! of that level above the same leaves, its equals. A switch of level `i` is known by its
//! subtree `s` and by its number `x` among the equals, of which there are
//! `up[1]·…·up[i − 1]`. Its parent `y`, of `up[i]`, is switch `x + y·up[1]·…·up[i − 1]` of
//! subtree `⌊s / down[i + 1]⌋`.
//!
//! Routers are numbered pod by pod (a pod is a subtree of the level below the top), in a
//! pod level by level, then subtree by subtree; the switches of the top come last. Nodes
//! are numbered along the leaves. Ports: first those towards the children, then those
//! towards the parents; of either, first one link to each, then the second to each, and so
//! on.
//!
//! Groups are the pods, and one more for the switches of the top, which has no nodes.
//!
//! With fewer nodes than the leaves have room for, the last ones are left out, together with
//! the leaves, and in larger trees the subtrees, that are then empty.

pub mod optical;

use odonata_units::GroupId;

use super::cabling::{Cabling, check_size};
use super::{LinkClass, LinkClassId, LinkKind, Topology, TopologyError};

/// Most levels of switches.
pub const MOST_LEVELS: usize = 4;

/// The numbers of a fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTreeShape {
    /// Nodes per leaf, then children per switch of each level. Shape: levels.
    pub down: Vec<u32>,
    /// Parents of a switch of each level but the top. Shape: levels − 1.
    pub up: Vec<u32>,
    /// Links to each parent. Shape: levels − 1.
    pub parallel: Vec<u32>,
    /// Nodes, at most the product of `down`.
    pub nodes: u32,
}

/// A fat tree to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTreeSpec {
    /// Its numbers.
    pub shape: FatTreeShape,
    /// Class of the links of nodes.
    pub terminal: LinkClass,
    /// Class of the links above each level but the top. Shape: levels − 1.
    pub above: Vec<LinkClass>,
}

/// Why a fat tree cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatTreeError {
    /// A number of levels that no fat tree has.
    #[error("a fat tree of {found} levels of switches; 1 to {MOST_LEVELS} are possible")]
    Levels {
        /// The number.
        found: usize,
    },
    /// A list of the wrong length.
    #[error("{found} numbers for {levels} levels of switches; {expected} are needed")]
    Length {
        /// The list: `up`, `parallel` or `taper`.
        list: &'static str,
        /// Its length.
        found: usize,
        /// Levels, by the length of `down`.
        levels: usize,
        /// The length that it must have.
        expected: usize,
    },
    /// A zero.
    #[error("number {position} is 0; all must be at least 1")]
    Zero {
        /// The list: `down`, `up`, `parallel` or `taper`.
        list: &'static str,
        /// Where, from 1.
        position: usize,
    },
    /// More nodes than the leaves have room for.
    #[error("{nodes} nodes do not fit: the leaves have room for {room}")]
    Nodes {
        /// Nodes asked for.
        nodes: u32,
        /// Product of `down`.
        room: u128,
    },
    /// Switches with an odd number of ports, half of which should lead down.
    #[error(
        "switches of {radix} ports; give an even number, at least 2, as half of them lead down"
    )]
    Radix {
        /// Ports of a switch.
        radix: u32,
    },
    /// More nodes than switches of this size can join.
    #[error(
        "{nodes} nodes are too many for {levels} levels of {radix}-port switches, which join at \
         most {room}"
    )]
    TooManyNodes {
        /// Nodes asked for.
        nodes: u32,
        /// Levels of switches.
        levels: usize,
        /// Ports of a switch.
        radix: u32,
        /// Nodes that they join.
        room: u128,
    },
    /// A taper that does not divide the links of a switch.
    #[error(
        "factor {factor} above level {level} does not divide the {links} links that a switch has \
         there; possible: {possible}"
    )]
    Taper {
        /// The level, from 1.
        level: usize,
        /// The factor.
        factor: u32,
        /// Links of a switch of this level to the next.
        links: u32,
        /// Divisors of that.
        possible: String,
    },
    /// The link classes, or something else about the wiring, are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl FatTreeShape {
    /// The layout of `radix`-port switches for `nodes` nodes; `None`: as many as they can
    /// join. Half of the ports of a switch lead down and half up, all of those of a top
    /// switch down. With `levels` `None` as few levels as are needed (three without
    /// `nodes`). Where the tree has fewer pods than a top switch has ports, several links
    /// lead from a switch to the same top switch, of which fewer are then needed.
    ///
    /// # Errors
    /// If the radix is odd or 0, or the nodes are too many.
    pub fn of_switches(
        radix: u32,
        nodes: Option<u32>,
        levels: Option<usize>,
    ) -> Result<Self, FatTreeError> {
        if radix < 2 || !radix.is_multiple_of(2) {
            return Err(FatTreeError::Radix { radix });
        }
        let half = u128::from(radix / 2);
        let room = |levels: usize| 2 * half.pow(levels as u32);
        let fits = |levels: &usize| nodes.is_none_or(|nodes| u128::from(nodes) <= room(*levels));
        let levels = match levels {
            Some(levels) if (1..=MOST_LEVELS).contains(&levels) => levels,
            Some(found) => return Err(FatTreeError::Levels { found }),
            None if nodes.is_none() => 3,
            None => (1..=MOST_LEVELS).find(fits).unwrap_or(MOST_LEVELS),
        };
        if !fits(&levels) {
            return Err(FatTreeError::TooManyNodes {
                nodes: nodes.unwrap_or(0),
                levels,
                radix,
                room: room(levels),
            });
        }
        let all = u32::try_from(room(levels)).unwrap_or(u32::MAX);
        let nodes = nodes.unwrap_or(all);
        let below_top = half.pow(levels as u32 - 1);
        let pods = u128::from(nodes).div_ceil(below_top).max(1) as u32;
        let mut shape = Self {
            down: vec![radix / 2; levels - 1],
            up: vec![radix / 2; levels - 1],
            parallel: vec![1; levels - 1],
            nodes,
        };
        shape.down.push(pods);
        if let (Some(up), Some(parallel)) = (shape.up.last_mut(), shape.parallel.last_mut()) {
            *parallel = (1..=radix / pods)
                .rev()
                .find(|&links| up.is_multiple_of(links))
                .unwrap_or(1);
            *up /= *parallel;
        }
        Ok(shape)
    }

    /// The same tree with the links above each level divided by a factor: first parallel
    /// links go, then parents, so that switches of which nothing is left go as well
    /// (Michelogiannakis et al. 2019, section 7.2.3). Shape of `factors`: levels − 1, the
    /// first for the links above the leaves.
    ///
    /// # Errors
    /// If a factor does not divide the links of a switch.
    pub fn tapered(mut self, factors: &[u32]) -> Result<Self, FatTreeError> {
        self.check_lengths("taper", factors)?;
        for (level, &factor) in factors.iter().enumerate() {
            let (up, parallel) = (&mut self.up[level], &mut self.parallel[level]);
            let links = *up * *parallel;
            if !links.is_multiple_of(factor) {
                let divisors = (1..=links).filter(|f| links.is_multiple_of(*f));
                let possible: Vec<String> = divisors.map(|f| f.to_string()).collect();
                return Err(FatTreeError::Taper {
                    level: level + 1,
                    factor,
                    links,
                    possible: possible.join(", "),
                });
            }
            let of_links = gcd(*parallel, factor);
            *parallel /= of_links;
            // It has no divisor in common with what is left of `parallel`, so it divides `up`.
            *up /= factor / of_links;
        }
        Ok(self)
    }

    /// Levels of switches.
    pub fn levels(&self) -> usize {
        self.down.len()
    }

    /// Equal switches of level `level` (from 0) above the same leaves.
    fn equals(&self, level: usize) -> u32 {
        self.up[..level].iter().product()
    }

    /// Nodes below a switch of level `level` (from 0) if all are there.
    fn span(&self, level: usize) -> u64 {
        self.down[..=level].iter().map(|&m| u64::from(m)).product()
    }

    /// Subtrees of level `level` (from 0) that have a node.
    fn subtrees(&self, level: usize) -> u32 {
        u64::from(self.nodes).div_ceil(self.span(level)) as u32
    }

    fn check_lengths(&self, list: &'static str, numbers: &[u32]) -> Result<(), FatTreeError> {
        let levels = self.levels();
        if numbers.len() + 1 != levels {
            return Err(FatTreeError::Length {
                list,
                found: numbers.len(),
                levels,
                expected: levels - 1,
            });
        }
        match numbers.iter().position(|&number| number == 0) {
            Some(position) => Err(FatTreeError::Zero {
                list,
                position: position + 1,
            }),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), FatTreeError> {
        let levels = self.levels();
        if !(1..=MOST_LEVELS).contains(&levels) {
            return Err(FatTreeError::Levels { found: levels });
        }
        if let Some(position) = self.down.iter().position(|&number| number == 0) {
            return Err(FatTreeError::Zero {
                list: "down",
                position: position + 1,
            });
        }
        self.check_lengths("up", &self.up)?;
        self.check_lengths("parallel", &self.parallel)?;
        // Sums of what may be large, before anything is multiplied in 32 bits.
        let product = |numbers: &[u32]| -> u128 {
            (numbers.iter()).fold(1, |all, &n| u128::saturating_mul(all, u128::from(n)))
        };
        let room = product(&self.down);
        if u128::from(self.nodes) > room || self.nodes == 0 {
            return Err(if self.nodes == 0 {
                TopologyError::NoNodes.into()
            } else {
                FatTreeError::Nodes {
                    nodes: self.nodes,
                    room,
                }
            });
        }
        let mut ports: u128 = 0;
        for level in 0..levels {
            let links_of = |at: usize| match self.parallel.get(at) {
                Some(&parallel) => u128::from(self.up[at]) * u128::from(parallel),
                None => 0,
            };
            let below = match level.checked_sub(1) {
                Some(below) => u128::from(self.parallel[below]),
                None => 1,
            };
            let of_switch = u128::from(self.down[level]) * below + links_of(level);
            let subtrees = u128::from(self.nodes).div_ceil(product(&self.down[..=level]).max(1));
            let switches = subtrees.saturating_mul(product(&self.up[..level]));
            ports = ports.saturating_add(switches.saturating_mul(of_switch));
            check_size(u64::try_from(of_switch).unwrap_or(u64::MAX), ports)?;
        }
        Ok(())
    }

    fn title(&self) -> String {
        let list = |numbers: &[u32]| {
            let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
            words.join("×")
        };
        let mut title = format!("fat tree down {}", list(&self.down));
        if self.levels() > 1 {
            title += &format!(" up {}", list(&self.up));
            if self.parallel.iter().any(|&parallel| parallel > 1) {
                title += &format!(" links {}", list(&self.parallel));
            }
        }
        title
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl FatTreeSpec {
    /// Role of the links above level `level` (from 1) of a tree of `levels` levels: those
    /// to the top leave the pod.
    pub fn role(level: usize, levels: usize) -> LinkKind {
        if level + 1 == levels {
            LinkKind::Global
        } else {
            LinkKind::Local
        }
    }

    /// Builds the topology; numbering and wiring rules are in the
    /// [module's description](self).
    ///
    /// # Errors
    /// If the numbers do not fit together or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, FatTreeError> {
        let shape = &self.shape;
        shape.check()?;
        let levels = shape.levels();
        let routers = Routers::of(shape);
        let mut cabling = Cabling::new(routers.group_of_router.len() as u32);
        let mut left = shape.nodes;
        for leaf in 0..shape.subtrees(0) {
            let nodes = left.min(shape.down[0]);
            cabling.attach(routers.of_switch(0, leaf, 0), nodes, LinkClassId(0));
            left -= nodes;
        }
        for level in 0..levels - 1 {
            let equals = shape.equals(level);
            let children = shape.down[level + 1];
            let below = shape.subtrees(level);
            for _ in 0..shape.parallel[level] {
                for subtree in 0..shape.subtrees(level + 1) {
                    for parent in 0..shape.equals(level + 1) {
                        let above = routers.of_switch(level + 1, subtree, parent);
                        for child in subtree * children..below.min((subtree + 1) * children) {
                            let below = routers.of_switch(level, child, parent % equals);
                            cabling.link(below, above, LinkClassId(level as u8 + 1));
                        }
                    }
                }
            }
        }
        let classes = [std::slice::from_ref(&self.terminal), &self.above].concat();
        Ok(cabling.into_topology(shape.title(), classes, routers.group_of_router)?)
    }
}

/// The numbers of the switches.
struct Routers {
    /// First switch of each subtree, by level. Shape: levels × subtrees of the level.
    first: Vec<Vec<u32>>,
    group_of_router: Vec<GroupId>,
}

impl Routers {
    fn of(shape: &FatTreeShape) -> Self {
        let top = shape.levels() - 1;
        let mut first: Vec<Vec<u32>> = vec![vec![]; shape.levels()];
        let mut group_of_router = vec![];
        let pods = match top {
            0 => 0,
            _ => shape.subtrees(top - 1),
        };
        let mut number = |level: usize, group: u32| {
            first[level].push(group_of_router.len() as u32);
            let equals = shape.equals(level) as usize;
            group_of_router.extend(std::iter::repeat_n(GroupId(group), equals));
        };
        for pod in 0..pods {
            for level in 0..top {
                let of_pod: u64 = shape.down[level + 1..top]
                    .iter()
                    .map(|&m| u64::from(m))
                    .product();
                let of_pod = of_pod as u32;
                for _ in pod * of_pod..shape.subtrees(level).min((pod + 1) * of_pod) {
                    number(level, pod);
                }
            }
        }
        number(top, pods);
        Self {
            first,
            group_of_router,
        }
    }

    fn of_switch(&self, level: usize, subtree: u32, equal: u32) -> u32 {
        self.first[level][subtree as usize] + equal
    }
}

#[cfg(test)]
mod tests;
