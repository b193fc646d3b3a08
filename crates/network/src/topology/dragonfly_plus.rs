//! The dragonfly+ family (Shpiner et al., HiPINEB 2017), also called megafly
//! (Flajslik et al., ISC 2018): `g` groups of `leaves` leaf and `spines` spine
//! routers. Every leaf of a group is linked to every spine of it and carries `p`
//! nodes; every spine has `h` global links; no two leaves and no two spines of
//! one group are linked. The same number of global links joins every two groups
//! (Kang et al. 2019, section 2.1).
//!
//! # Numbering
//! The routers of group `j` are `j·(leaves + spines)` and following, the leaves
//! first, then the spines. Node `k` of leaf `l` of group `j` is node
//! `(j·leaves + l)·p + k`. Ports of a leaf, in this order: `p` terminal ports,
//! then one to each spine in their order. Ports of a spine: one to each leaf in
//! their order, then `h` global ports. With `g = 1` those are unconnected.
//!
//! # Global links
//! The `spines·h` global ports of a group are counted over its spines: global
//! port `c` of spine `k` is port `i = k·h + c` of the group, and leads from group
//! `j` to group `(j + 1 + i mod (g − 1)) mod g`. So `n = spines·h / (g − 1)` links
//! join every two groups, which must be a whole number, and of these every spine
//! has `⌊n/spines⌋` or `⌈n/spines⌉`. Which spine of the other group a link ends
//! at tells the [`SpineArrangement`].

use super::{LinkClass, LinkClassId, MAX_PORTS_PER_ROUTER, Peer, Topology, TopologyError, Wiring};
use odonata_declare::Named;
use odonata_units::{GroupId, NodeId, PortId};
use serde::{Deserialize, Serialize};

/// Which spines of two groups are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum SpineArrangement {
    /// The links of a spine to another group are spread over its spines.
    ///
    /// Link
    /// number `l` of spine `k` of group `i` ends at spine `(k + l) mod spines` of
    /// group `j`, `i < j` (Kang et al. 2019, section 3.1.1 and figure 2).
    ///
    /// Where `n` is no multiple of `spines`, not every spine has a link number
    /// `⌊n/spines⌋` to the other group. Of those that have, in either group, in
    /// their order, number `x` of group `i` is joined with number `x + l` (modulo
    /// how many there are) of group `j`.
    #[default]
    Balanced,
    /// All links of a spine to another group end at one spine of it.
    ///
    /// Where the numbers allow: spine `k` is joined with spine `spines − 1 − k`, as the
    /// script of the CODES project wires it. In general, the first of the `n`
    /// links, counted along the ports of one group, is the last along those of
    /// the other, and so on.
    Unbalanced,
}

/// Link classes of a dragonfly+.
#[derive(Clone, Debug, PartialEq)]
pub struct DragonflyPlusLinks {
    /// Between nodes and leaves.
    pub terminal: LinkClass,
    /// Between leaves and spines.
    pub local: LinkClass,
    /// Between spines of different groups.
    pub global: LinkClass,
}

/// A dragonfly+ to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct DragonflyPlusSpec {
    /// Leaf routers per group, at least 1.
    pub leaves: u32,
    /// Spine routers per group, at least 1.
    pub spines: u32,
    /// Nodes per leaf, at least 1.
    pub p: u32,
    /// Global links per spine.
    pub h: u32,
    /// Groups; `g − 1` must divide `spines·h`.
    pub g: u32,
    /// Which spines of two groups are joined.
    pub arrangement: SpineArrangement,
    /// Physical classes of the links.
    pub links: DragonflyPlusLinks,
}

/// Why a dragonfly+ cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DragonflyPlusError {
    /// A parameter that must be positive is zero.
    #[error("dragonfly+ parameter `{name}` is 0; it must be at least 1")]
    Zero {
        /// Name of the parameter.
        name: &'static str,
    },
    /// More groups than global links can join.
    #[error(
        "a dragonfly+ with spines={spines} h={h} g={g} does not close: each group has spines·h = {links} global links, which reach at most {links} other groups; use g from 1 to {most}, or more global links (spines·h at least {needed})",
        links = u64::from(*spines) * u64::from(*h),
        most = u64::from(*spines) * u64::from(*h) + 1,
        needed = g - 1
    )]
    TooManyGroups {
        /// Spines per group.
        spines: u32,
        /// Global links per spine.
        h: u32,
        /// Groups.
        g: u32,
    },
    /// Global links that cannot be shared out evenly among the other groups.
    #[error(
        "a dragonfly+ with spines={spines} h={h} g={g} does not close: the spines·h = {links} global links of a group cannot be shared evenly by its {others} other groups ({over} left over); {advice}",
        links = u64::from(*spines) * u64::from(*h),
        others = g - 1,
        over = u64::from(*spines) * u64::from(*h) % u64::from(g - 1),
        advice = closing(*spines, *h, *g)
    )]
    Uneven {
        /// Spines per group.
        spines: u32,
        /// Global links per spine.
        h: u32,
        /// Groups.
        g: u32,
    },
    /// A router with too many ports.
    #[error(
        "a {role} would have {ports} ports; at most {MAX_PORTS_PER_ROUTER} are allowed, so lower {parameters}"
    )]
    TooManyPorts {
        /// `leaf` or `spine`.
        role: &'static str,
        /// Ports of such a router.
        ports: u64,
        /// What they come from.
        parameters: &'static str,
    },
    /// A network with more ports than ids.
    #[error("this dragonfly+ has {ports} ports; at most {limit} are allowed, so lower g, leaves or spines", limit = u32::MAX - 1)]
    TooLarge {
        /// Ports of all routers.
        ports: u128,
    },
    /// The link classes, or something else about the wiring, are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// Which values close instead: the nearest numbers of groups and of global links
/// per spine below and above.
fn closing(spines: u32, h: u32, g: u32) -> String {
    let links = u64::from(spines) * u64::from(h);
    let others = u64::from(g - 1);
    let divides = |others: &u64| links.is_multiple_of(*others);
    let groups: Vec<String> = [
        (1..others).rev().find(divides),
        (others + 1..=links).find(divides),
    ]
    .into_iter()
    .flatten()
    .map(|others| (others + 1).to_string())
    .collect();
    // h is right if it is a multiple of this.
    let step = others / gcd(others, u64::from(spines));
    let below = u64::from(h) / step * step;
    let per_spine: Vec<String> = [below, below + step]
        .into_iter()
        .filter(|&h| h > 0)
        .map(|h| h.to_string())
        .collect();
    format!(
        "use g = {}, or h = {}",
        groups.join(" or "),
        per_spine.join(" or ")
    )
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Nodes of the largest dragonfly+ of routers with `radix` ports: `n·(n + 1)` with
/// `n = (r/2)·(r/2)` nodes per group, rounded down, as half of the ports of a leaf
/// lead to nodes and half of those of a spine to other groups (Kang et al. 2019,
/// equation 1). A radix above [`MAX_PORTS_PER_ROUTER`] counts as that.
pub fn largest_dragonfly_plus(radix: u32) -> u64 {
    let radix = u64::from(radix.min(MAX_PORTS_PER_ROUTER as u32));
    let nodes = radix * radix / 4;
    nodes * (nodes + 1)
}

/// Nodes of the largest dragonfly with all-to-all groups of routers with `radix`
/// ports: `n·(n + 1)` with `n = r/4·(r/2 + 1)` nodes per group, rounded down, as a
/// quarter of the ports lead to nodes, a quarter to other groups and half within
/// the group (Kang et al. 2019, equation 2). A radix above
/// [`MAX_PORTS_PER_ROUTER`] counts as that.
pub fn largest_dragonfly(radix: u32) -> u64 {
    let radix = u64::from(radix.min(MAX_PORTS_PER_ROUTER as u32));
    let nodes = radix * (radix + 2) / 8;
    nodes * (nodes + 1)
}

/// Link classes in the order in which the topology lists them.
const TERMINAL: LinkClassId = LinkClassId(0);
const LOCAL: LinkClassId = LinkClassId(1);
const GLOBAL: LinkClassId = LinkClassId(2);

impl DragonflyPlusSpec {
    /// Builds the topology; numbering and wiring rules are in the
    /// [module's description](self).
    ///
    /// # Errors
    /// If the parameters do not close or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, DragonflyPlusError> {
        self.check()?;
        let Self {
            leaves,
            spines,
            p,
            h,
            g,
            ..
        } = *self;
        let routers_per_group = leaves + spines;
        let (leaf_ports, spine_ports) = (p + spines, leaves + h);
        let ports_per_group = leaves * leaf_ports + spines * spine_ports;
        // First port of router `within` of `group`.
        let first = |group: u32, within: u32| {
            let before = match within.checked_sub(leaves) {
                None => within * leaf_ports,
                Some(spine) => leaves * leaf_ports + spine * spine_ports,
            };
            group * ports_per_group + before
        };
        let linked = self.global_links();
        let mut peer = Vec::with_capacity((g * ports_per_group) as usize);
        let mut class_of_port = Vec::with_capacity(peer.capacity());
        let mut first_port = Vec::with_capacity((g * routers_per_group) as usize + 1);
        for group in 0..g {
            for leaf in 0..leaves {
                first_port.push(first(group, leaf));
                for k in 0..p {
                    peer.push(Peer::Node(NodeId((group * leaves + leaf) * p + k)));
                    class_of_port.push(TERMINAL);
                }
                for spine in 0..spines {
                    peer.push(Peer::Port(PortId(first(group, leaves + spine) + leaf)));
                    class_of_port.push(LOCAL);
                }
            }
            for spine in 0..spines {
                first_port.push(first(group, leaves + spine));
                for leaf in 0..leaves {
                    peer.push(Peer::Port(PortId(first(group, leaf) + p + spine)));
                    class_of_port.push(LOCAL);
                }
                for port in 0..h {
                    let here = (group * spines + spine) * h + port;
                    peer.push(linked.get(here as usize).map_or(Peer::Unconnected, |&end| {
                        let (spine, port) = (end / h, end % h);
                        let (group, spine) = (spine / spines, spine % spines);
                        Peer::Port(PortId(first(group, leaves + spine) + leaves + port))
                    }));
                    class_of_port.push(GLOBAL);
                }
            }
        }
        first_port.push(g * ports_per_group);
        let DragonflyPlusLinks {
            terminal,
            local,
            global,
        } = self.links.clone();
        Ok(Topology::new(Wiring {
            title: self.title(),
            link_classes: vec![terminal, local, global],
            group_of_router: (0..g * routers_per_group)
                .map(|router| GroupId(router / routers_per_group))
                .collect(),
            position_in_group: vec![],
            first_port,
            peer,
            class_of_port,
            may_be_disconnected: false,
            one_way: false,
        })?)
    }

    fn check(&self) -> Result<(), DragonflyPlusError> {
        let Self {
            leaves,
            spines,
            p,
            h,
            g,
            ..
        } = *self;
        for (name, value) in [("leaves", leaves), ("spines", spines), ("p", p), ("g", g)] {
            if value == 0 {
                return Err(DragonflyPlusError::Zero { name });
            }
        }
        let links = u64::from(spines) * u64::from(h);
        let others = u64::from(g - 1);
        if others > links {
            return Err(DragonflyPlusError::TooManyGroups { spines, h, g });
        }
        if others > 0 && !links.is_multiple_of(others) {
            return Err(DragonflyPlusError::Uneven { spines, h, g });
        }
        let leaf = u64::from(p) + u64::from(spines);
        let spine = u64::from(leaves) + u64::from(h);
        for (role, ports, parameters) in [
            ("leaf", leaf, "p or spines"),
            ("spine", spine, "leaves or h"),
        ] {
            if ports > MAX_PORTS_PER_ROUTER as u64 {
                return Err(DragonflyPlusError::TooManyPorts {
                    role,
                    ports,
                    parameters,
                });
            }
        }
        let group = u128::from(leaves) * u128::from(leaf) + u128::from(spines) * u128::from(spine);
        let ports = u128::from(g) * group;
        if ports >= u128::from(u32::MAX) {
            return Err(DragonflyPlusError::TooLarge { ports });
        }
        Ok(())
    }

    fn title(&self) -> String {
        let Self {
            leaves,
            spines,
            p,
            h,
            g,
            ..
        } = self;
        let arrangement = self.arrangement.name();
        format!("dragonfly+ leaves={leaves} spines={spines} p={p} h={h} g={g} ({arrangement})")
    }

    /// For every global port of the machine, counted over groups and over each
    /// group's ports, the port that it is linked to. Shape: g·spines·h, or empty
    /// with a single group.
    fn global_links(&self) -> Vec<u32> {
        let Self { spines, h, g, .. } = *self;
        if g == 1 {
            return vec![];
        }
        let (ports, others) = (spines * h, g - 1);
        let mut linked = vec![0; (g * ports) as usize];
        for i in 0..g {
            for j in i + 1..g {
                // Ports of each group that lead to the other, in their order.
                let towards = |from: u32, to: u32| {
                    let first = (to + g - from - 1) % g;
                    (first..ports)
                        .step_by(others as usize)
                        .map(move |port| from * ports + port)
                };
                let out: Vec<u32> = towards(i, j).collect();
                let back: Vec<u32> = towards(j, i).collect();
                let pairs: Vec<(u32, u32)> = match self.arrangement {
                    SpineArrangement::Unbalanced => {
                        out.into_iter().zip(back.into_iter().rev()).collect()
                    }
                    SpineArrangement::Balanced => {
                        balanced(&by_number(&out, h), &by_number(&back, h))
                    }
                };
                for (a, b) in pairs {
                    linked[a as usize] = b;
                    linked[b as usize] = a;
                }
            }
        }
        linked
    }
}

/// The ports of a group that lead to one other group, `h` ports per spine, by
/// their number among those of their spine: first the first of every spine, in
/// the order of the spines, then the second of those that have one, and so on.
fn by_number(ports: &[u32], h: u32) -> Vec<Vec<u32>> {
    let mut numbered: Vec<Vec<u32>> = vec![];
    for spine in ports.chunk_by(|a, b| a / h == b / h) {
        for (number, &port) in spine.iter().enumerate() {
            if numbered.len() == number {
                numbered.push(vec![]);
            }
            numbered[number].push(port);
        }
    }
    numbered
}

/// Joins the ports of two groups as [`SpineArrangement::Balanced`] tells. Both
/// have as many ports of each number, as a spine has either `⌊n/spines⌋` or one
/// more of the `n` links.
fn balanced(out: &[Vec<u32>], back: &[Vec<u32>]) -> Vec<(u32, u32)> {
    let mut pairs = vec![];
    for (l, (out, back)) in out.iter().zip(back).enumerate() {
        let count = back.len();
        pairs.extend((out.iter().enumerate()).map(|(x, &port)| (port, back[(x + l) % count])));
    }
    pairs
}

#[cfg(test)]
mod tests;
