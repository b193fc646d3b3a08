//! Fat trees as the CODES model `fattree` wires them from three numbers.
//!
//! All switches have `radix` ports, half of those of a leaf lead to nodes. With three levels
//! `radix / 2` leaves and as many switches above them are a pod, in which each of the former is
//! linked to each of the latter; switch `x` of every pod is linked to the top switches of which
//! the number modulo `radix / 2` is `x`. `ft_type` 1 has half as many top switches as leaves and
//! two links to each of them; `ft_type` 0 as many links to each as a top switch has ports for
//! each pod, and as many top switches as these links then need. With two levels every leaf has
//! two links to each of `radix / 4` top switches.
//!
//! Where every switch of a level has as many links, that is one of our [fat
//! trees](super::super::fat_tree); where they differ (`ft_type` 1 with an odd number of pods) it
//! is wired here, with the same numbering.
//!
//! Facts: CODES, `src/networks/model-net/fattree.c`.

use odonata_units::GroupId;

use crate::topology::cabling::{Cabling, check_size};
use crate::topology::{
    FatTreeError, FatTreeShape, FatTreeSpec, LinkClass, LinkClassId, Topology, TopologyError,
};

/// How the top switches of three levels are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodesTops {
    /// `ft_type` 0: as few top switches as have ports for all links.
    Few,
    /// `ft_type` 1: half as many as leaves, two links to each.
    Half,
}

/// The numbers of a fat tree of CODES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodesFatTree {
    /// `num_levels`: 2 or 3.
    pub levels: u32,
    /// `switch_count`: leaf switches.
    pub leaves: u32,
    /// `switch_radix`: ports of a switch.
    pub radix: u32,
    /// `ft_type`.
    pub tops: CodesTops,
}

/// Why such a fat tree cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodesFatTreeError {
    /// Neither two nor three levels.
    #[error("found {found} levels; allowed: 2, 3")]
    Levels {
        /// The number.
        found: u32,
    },
    /// Ports that cannot be halved (or, with two levels, quartered).
    #[error("found switches of {found} ports; allowed with {levels} levels: a multiple of {of}")]
    Radix {
        /// Ports.
        found: u32,
        /// Levels.
        levels: u32,
        /// What must divide them.
        of: u32,
    },
    /// Leaves with which links would lead nowhere, or a switch would need more ports.
    #[error("found {found} leaf switches, with which {why}; near it are allowed: {near}")]
    Leaves {
        /// The number.
        found: u32,
        /// What would go wrong.
        why: &'static str,
        /// The nearest that are possible.
        near: String,
    },
    /// The numbers are too large, or the link classes are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl CodesFatTreeError {
    /// The parameter of CODES that is wrong, if it is one.
    pub const fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::Levels { .. } => Some("num_levels"),
            Self::Radix { .. } => Some("switch_radix"),
            Self::Leaves { .. } => Some("switch_count"),
            Self::Topology(_) => None,
        }
    }
}

impl CodesFatTree {
    /// Nodes of a leaf, which is also the number of leaves of a pod.
    const fn half(&self) -> u32 {
        self.radix / 2
    }

    fn pods(&self) -> u32 {
        self.leaves / self.half()
    }

    /// Links between a switch of the second of three levels and each of its top switches.
    fn parallel(&self) -> u32 {
        match self.tops {
            CodesTops::Few => self.radix / self.pods(),
            CodesTops::Half => 2,
        }
    }

    /// What would go wrong with this many leaves, if anything.
    fn flaw(&self) -> Option<&'static str> {
        let half = self.half();
        if self.levels == 2 {
            return (self.leaves != half).then_some("not every link of a leaf has a top switch");
        }
        if self.leaves == 0 || !self.leaves.is_multiple_of(half) {
            return Some("the last pod would have switches that do not exist");
        }
        let pods = self.pods();
        match self.tops {
            CodesTops::Few if pods > self.radix => Some("a top switch has fewer ports than pods"),
            CodesTops::Few if !half.is_multiple_of(self.parallel()) => {
                Some("a switch would need more ports than it has")
            }
            CodesTops::Half if !self.leaves.is_multiple_of(2) => {
                Some("the top switches have too few ports for all links")
            }
            CodesTops::Half if pods.next_multiple_of(2) > half => {
                Some("a switch would need more ports than it has")
            }
            _ => None,
        }
    }

    fn check(&self) -> Result<(), CodesFatTreeError> {
        if !matches!(self.levels, 2 | 3) {
            return Err(CodesFatTreeError::Levels { found: self.levels });
        }
        let of = if self.levels == 2 { 4 } else { 2 };
        if self.radix == 0 || !self.radix.is_multiple_of(of) {
            return Err(CodesFatTreeError::Radix {
                found: self.radix,
                levels: self.levels,
                of,
            });
        }
        check_size(u64::from(self.radix), 0)?;
        let Some(why) = self.flaw() else {
            return Ok(());
        };
        // No possible number of leaves is beyond `radix` pods.
        let sound = |pods: &u32| {
            let leaves = pods * self.half();
            let other = Self { leaves, ..*self };
            other.flaw().is_none()
        };
        let pods = self.leaves.div_ceil(self.half()).min(self.radix + 1);
        let below = (1..pods).rev().find(sound);
        let above = (pods..=self.radix).find(sound);
        let near: Vec<String> = (below.into_iter().chain(above))
            .map(|pods| (pods * self.half()).to_string())
            .collect();
        Err(CodesFatTreeError::Leaves {
            found: self.leaves,
            why,
            near: if near.is_empty() {
                "none".to_owned()
            } else {
                near.join(", ")
            },
        })
    }

    /// Switches of each level, leaves first.
    ///
    /// # Errors
    /// If the numbers make no network.
    pub fn switches(&self) -> Result<Vec<u32>, CodesFatTreeError> {
        self.check()?;
        let half = self.half();
        Ok(match (self.levels, self.tops) {
            (2, _) => vec![self.leaves, self.leaves / 2],
            (_, CodesTops::Few) => vec![self.leaves, self.leaves, half * (half / self.parallel())],
            (_, CodesTops::Half) => vec![self.leaves, self.leaves, self.leaves / 2],
        })
    }

    /// The same as one of our fat trees, if it is one.
    ///
    /// # Errors
    /// If the numbers make no network.
    pub fn shape(&self) -> Result<Option<FatTreeShape>, CodesFatTreeError> {
        let tops = self.switches()?[self.levels as usize - 1];
        let half = self.half();
        let nodes = self.leaves.saturating_mul(half);
        if self.levels == 2 {
            return Ok(Some(FatTreeShape {
                down: vec![half, self.leaves],
                up: vec![tops],
                parallel: vec![2],
                nodes,
            }));
        }
        Ok(tops.is_multiple_of(half).then(|| FatTreeShape {
            down: vec![half, half, self.pods()],
            up: vec![half, tops / half],
            parallel: vec![1, self.parallel()],
            nodes,
        }))
    }

    /// Builds the topology. `above`: class of the links above each level but the top, shape:
    /// levels − 1.
    ///
    /// # Errors
    /// If the numbers make no network or the link classes are unsound.
    pub fn build(
        &self,
        terminal: &LinkClass,
        above: &[LinkClass],
    ) -> Result<Topology, CodesFatTreeError> {
        if let Some(shape) = self.shape()? {
            let spec = FatTreeSpec {
                shape,
                terminal: terminal.clone(),
                above: above.to_vec(),
            };
            return spec.build().map_err(|error| match error {
                FatTreeError::Topology(error) => error.into(),
                // The shape has been checked, and there are as many classes as it has levels.
                _ => CodesFatTreeError::Levels { found: self.levels },
            });
        }
        let (half, pods) = (self.half(), self.pods());
        let tops = self.leaves / 2;
        let routers = 2 * u64::from(self.leaves) + u64::from(tops);
        check_size(
            u64::from(self.radix),
            u128::from(routers) * u128::from(self.radix),
        )?;
        let leaf = |pod: u32, number: u32| pod * 2 * half + number;
        let middle = |pod: u32, number: u32| leaf(pod, half + number);
        let mut cabling = Cabling::new(2 * self.leaves + tops);
        for pod in 0..pods {
            for number in 0..half {
                cabling.attach(leaf(pod, number), half, LinkClassId(0));
            }
        }
        for pod in 0..pods {
            for parent in 0..half {
                for child in 0..half {
                    cabling.link(leaf(pod, child), middle(pod, parent), LinkClassId(1));
                }
            }
        }
        for _ in 0..self.parallel() {
            for top in 0..tops {
                for pod in 0..pods {
                    let above = pods * 2 * half + top;
                    cabling.link(middle(pod, top % half), above, LinkClassId(2));
                }
            }
        }
        let groups = (0..2 * self.leaves)
            .map(|router| GroupId(router / (2 * half)))
            .chain((0..tops).map(|_| GroupId(pods)))
            .collect();
        let title = format!("fat tree of {} {}-port leaves", self.leaves, self.radix);
        let classes = [std::slice::from_ref(terminal), above].concat();
        Ok(cabling.into_topology(title, classes, groups)?)
    }
}

#[cfg(test)]
mod tests;
