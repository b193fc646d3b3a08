//! Slim Fly networks as the CODES model `slimfly` wires them from two sets of generators.
//!
//! `2q²` routers in `2q` groups of `q`, the groups in two halves. Router `y` of group `x` of the
//! first half has number `x·q + y`, router `c` of group `m` of the second `q² + m·q + c`. Two
//! routers of a group of the first half are linked if the difference of their numbers is in `X`,
//! of the second half if it is in `X'`, and routers `(x, y)` and `(m, c)` of different halves if
//! `y = (m·x + c) mod q`. With prime `q` and the sets of Hafner that is the [Slim
//! Fly](super::super::slim_fly) of `q`, with the same numbers of routers and nodes; only that
//! groups are half as large here, so that all links within one are of one class.
//!
//! Facts: CODES, `src/networks/model-net/slimfly.c`.

use odonata_units::GroupId;

use crate::topology::cabling::{Cabling, check_size};
use crate::topology::{LinkClass, LinkClassId, Topology, TopologyError};

/// A Slim Fly of CODES to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct CodesSlimFly {
    /// `num_routers`: routers of a group.
    pub q: u32,
    /// `num_terminals`: nodes per router.
    pub p: u32,
    /// `local_channels`: links of a router within its group.
    pub local_channels: u32,
    /// `global_channels`: links of a router to other groups.
    pub global_channels: u32,
    /// `generator_set_X`.
    pub x: Vec<u32>,
    /// `generator_set_X_prime`.
    pub x_prime: Vec<u32>,
    /// Class of the links of nodes.
    pub terminal: LinkClass,
    /// Class of the links within a group.
    pub local: LinkClass,
    /// Class of the links between groups.
    pub global: LinkClass,
}

/// Why such a Slim Fly cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodesSlimFlyError {
    /// A group of fewer than two routers, or no nodes.
    #[error("found {found}; allowed: at least {least}")]
    TooFew {
        /// The parameter.
        parameter: &'static str,
        /// The number.
        found: u32,
        /// The least that makes a network.
        least: u32,
    },
    /// Global links that do not go once round.
    #[error(
        "found {found}; allowed: {q}, the routers of a group (`num_routers`), as a router has one \
         link to each group of the other half"
    )]
    GlobalChannels {
        /// The number.
        found: u32,
        /// Routers of a group.
        q: u32,
    },
    /// A generator that is no difference of two routers of a group.
    #[error("found {found}; allowed: 1 to {last}, below the routers of a group (`num_routers`)")]
    Generator {
        /// The set's parameter.
        parameter: &'static str,
        /// The generator.
        found: u32,
        /// The largest difference.
        last: u32,
    },
    /// A generator that is there twice.
    #[error("found {found} twice; allowed: once, as two routers have one link")]
    Twice {
        /// The set's parameter.
        parameter: &'static str,
        /// The generator.
        found: u32,
    },
    /// A set that gives a router another number of links than the configuration says.
    #[error(
        "gives router {router} of a group {links} links within it, but `local_channels` is \
         {channels}; allowed: sets that hold with every number its difference to {q}, \
         {channels} numbers together"
    )]
    LocalChannels {
        /// The set's parameter.
        parameter: &'static str,
        /// The router.
        router: u32,
        /// Its links.
        links: u32,
        /// The number that the configuration says.
        channels: u32,
        /// Routers of a group.
        q: u32,
    },
    /// The numbers are too large, or the link classes are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl CodesSlimFlyError {
    /// The parameter of CODES that is wrong, if it is one.
    pub const fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::TooFew { parameter, .. }
            | Self::Generator { parameter, .. }
            | Self::Twice { parameter, .. }
            | Self::LocalChannels { parameter, .. } => Some(parameter),
            Self::GlobalChannels { .. } => Some("global_channels"),
            Self::Topology(_) => None,
        }
    }
}

impl CodesSlimFly {
    /// Builds the topology; numbering and wiring rules are in the
    /// module's description.
    ///
    /// # Errors
    /// If the numbers contradict each other or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, CodesSlimFlyError> {
        let Self { q, p, .. } = *self;
        for (parameter, found, least) in [("num_routers", q, 2), ("num_terminals", p, 1)] {
            if found < least {
                return Err(CodesSlimFlyError::TooFew {
                    parameter,
                    found,
                    least,
                });
            }
        }
        if self.global_channels != q {
            return Err(CodesSlimFlyError::GlobalChannels {
                found: self.global_channels,
                q,
            });
        }
        let per_router = u64::from(p) + u64::from(self.local_channels) + u64::from(q);
        check_size(
            per_router,
            2 * u128::from(q).pow(2) * u128::from(per_router),
        )?;
        let first = self.differences("generator_set_X", &self.x)?;
        let second = self.differences("generator_set_X_prime", &self.x_prime)?;
        let mut cabling = Cabling::new(2 * q * q);
        for router in 0..2 * q * q {
            cabling.attach(router, p, LinkClassId(0));
        }
        let number = |half: u32, group: u32, router: u32| (half * q + group) * q + router;
        for (half, set) in [(0, &first), (1, &second)] {
            for group in 0..q {
                for a in 0..q {
                    for b in (0..a).filter(|b| set[(a - b) as usize]) {
                        let (a, b) = (number(half, group, a), number(half, group, b));
                        cabling.link(b, a, LinkClassId(1));
                    }
                }
            }
        }
        for x in 0..q {
            for m in 0..q {
                for c in 0..q {
                    let y = (u64::from(m) * u64::from(x) + u64::from(c)) % u64::from(q);
                    cabling.link(number(0, x, y as u32), number(1, m, c), LinkClassId(2));
                }
            }
        }
        let classes = vec![
            self.terminal.clone(),
            self.local.clone(),
            self.global.clone(),
        ];
        let groups = (0..2 * q * q).map(|router| GroupId(router / q)).collect();
        let title = format!("slim fly of generators q={q} p={p}");
        Ok(cabling.into_topology(title, classes, groups)?)
    }

    /// Whether each difference is in the set. Shape: q.
    fn differences(
        &self,
        parameter: &'static str,
        set: &[u32],
    ) -> Result<Vec<bool>, CodesSlimFlyError> {
        let q = self.q;
        let mut has = vec![false; q as usize];
        for &found in set {
            if found == 0 || found >= q {
                let last = q - 1;
                return Err(CodesSlimFlyError::Generator {
                    parameter,
                    found,
                    last,
                });
            }
            if std::mem::replace(&mut has[found as usize], true) {
                return Err(CodesSlimFlyError::Twice { parameter, found });
            }
        }
        // A router has a link for each difference to a lower and to a higher one.
        let mut links = has[1..].iter().filter(|has| **has).count() as u32;
        for router in 0..q {
            if router > 0 {
                links += u32::from(has[router as usize]);
                links -= u32::from(has[(q - router) as usize]);
            }
            if links != self.local_channels {
                return Err(CodesSlimFlyError::LocalChannels {
                    parameter,
                    router,
                    links,
                    channels: self.local_channels,
                    q,
                });
            }
        }
        Ok(has)
    }
}

#[cfg(test)]
mod tests;
