//! Global link arrangements of a dragonfly: which group each global port leads to.
//!
//! The `a·h` global ports of a group are counted over its routers: global port
//! `k` of router `r` is port `i = r·h + k` of the group. With one link per pair
//! of groups (`g = a·h + 1`), port `i` of group `j` leads to group
//!
//! - **absolute**: `i` if `i < j`, else `i + 1`;
//! - **relative**: `(j + i + 1) mod g`;
//! - **circulant**: `(j + i/2 + 1) mod g` for even `i`, `(j − ⌊i/2⌋ − 1) mod g`
//!   for odd `i`. If `a·h` is odd, the last port is even and leads to the
//!   opposite group `j + g/2`, whose last port leads back, so odd `a·h` (and
//!   odd `h`) need no exception
//!
//! (Camarero, Vallejo, Beivide, TACO 2014; Hastings et al., CLUSTER 2015;
//! formulas as in Kaplan et al. 2017, section II.A).
//!
//! # Fewer groups
//! Let `a·h = q·(g − 1) + r` with `0 ≤ r < g − 1`. Every group takes the formula
//! round after round, `q` full rounds over its `g − 1` peers, so that every pair
//! of groups has `q` links. The last `r` ports go to `r` of the peers: to those
//! at a distance of at most `⌊r/2⌋` on the ring of groups; for odd `r` and even
//! `g` also to the opposite group; for odd `r` and odd `g`, where no regular
//! graph exists, to one more group along every other step of the walk `0, s, 2s,
//! …` with `s = (g − 1)/2`, which leaves one port of one group, `(g + 1)/2`,
//! unconnected. So every pair has `q` or `q + 1` links, and a port stays
//! unconnected only where `r·g` is odd. In all arrangements those peers come in
//! the order in which the arrangement visits them.
//!
//! Within a group, every router gets `⌊n/a⌋` or `⌈n/a⌉` of the `n` links to each
//! other group. Ports in the order above do that by themselves whenever `r = 0`,
//! and nearly always otherwise. Where they do not, in any group, the links of
//! all groups are dealt instead: sorted by peer in the arrangement's order, link
//! `t` goes to router `t mod a`.
//!
//! The `t`-th link from group `A` to group `B`, counted along `A`'s ports, is the
//! `t`-th link from `B` to `A`, counted along `B`'s.

use std::str::FromStr;

use odonata_declare::Named;

/// Which group each global port of a dragonfly leads to.
#[derive(Clone, Debug, PartialEq, Eq, Named)]
#[named(kinds = ArrangementName)]
pub enum Arrangement {
    /// Port `i` of every group to the `i`-th other group.
    #[default]
    Absolute,
    /// Port `i` to the `i + 1`-th next group.
    Relative,
    /// Ports to the next, the previous, the second next, the second previous, … group.
    Circulant,
    /// A list of links.
    ///
    /// See [`parse_global_links`].
    Custom(Vec<GlobalLink>),
}

impl FromStr for Arrangement {
    type Err = ArrangementError;

    /// The arrangement of a name; `custom` needs a list and is not among them.
    fn from_str(name: &str) -> Result<Self, ArrangementError> {
        match name {
            "absolute" => Ok(Self::Absolute),
            "relative" => Ok(Self::Relative),
            "circulant" => Ok(Self::Circulant),
            _ => Err(ArrangementError::UnknownName { name: name.into() }),
        }
    }
}

/// One end of a global link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalPort {
    /// Group, `0..g`.
    pub group: u32,
    /// Router within the group, `0..a`.
    pub router: u32,
    /// Port among the global ports of the router, `0..h`.
    pub port: u32,
}

impl std::fmt::Display for GlobalPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            group,
            router,
            port,
        } = self;
        write!(f, "global port {port} of router {router} of group {group}")
    }
}

/// One line of a custom arrangement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalLink {
    /// One end.
    pub from: GlobalPort,
    /// The other end.
    pub to: GlobalPort,
    /// Line of the file (or place in the list, counted from 1), for messages.
    pub line: usize,
}

/// What is wrong with an arrangement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrangementError {
    /// No such arrangement.
    #[error("`{name}` is no global link arrangement; use absolute, relative, circulant or custom")]
    UnknownName {
        /// What was given.
        name: String,
    },
    /// A line that is not six numbers.
    #[error(
        "line {line}: `{found}` is no global link; write six numbers: group_a router_a port_a group_b router_b port_b"
    )]
    Syntax {
        /// Line of the file.
        line: usize,
        /// What it holds.
        found: String,
    },
    /// A port beyond the dragonfly's.
    #[error(
        "line {line}: there is no {port}; groups go to {groups}, routers to {routers}, global ports to {ports}, each counted from 0 and excluding that number"
    )]
    NoSuchPort {
        /// Line of the file.
        line: usize,
        /// What was named.
        port: GlobalPort,
        /// Groups of the dragonfly.
        groups: u32,
        /// Routers per group.
        routers: u32,
        /// Global ports per router.
        ports: u32,
    },
    /// A port with two links.
    #[error("line {line}: {port} has a link already, from line {first}; a port takes one link")]
    PortTwice {
        /// Line of the second link.
        line: usize,
        /// The port.
        port: GlobalPort,
        /// Line of the first link.
        first: usize,
    },
    /// A link that stays in its group.
    #[error("line {line}: both ends lie in group {group}; a global link joins two groups")]
    WithinGroup {
        /// Line of the file.
        line: usize,
        /// The group.
        group: u32,
    },
    /// Two groups without a link.
    #[error(
        "no line links group {a} with group {b}; a dragonfly links every pair of groups (import other wirings as an edge list)"
    )]
    PairMissing {
        /// One group.
        a: u32,
        /// The other.
        b: u32,
    },
}

/// Reads a custom arrangement: one link a line, six numbers counted from zero
/// and separated by spaces or tabs,
///
/// ```text
/// # group_a router_a port_a  group_b router_b port_b
/// 0 0 0  1 0 0
/// 0 0 1  2 0 0
/// ```
///
/// where `router` counts within the group and `port` among the router's `h`
/// global ports. A link is listed once, from either end. `#` starts a comment;
/// empty lines are skipped.
///
/// # Errors
/// If a line does not hold six numbers. Whether the numbers fit the dragonfly is
/// checked when it is built.
pub fn parse_global_links(text: &str) -> Result<Vec<GlobalLink>, ArrangementError> {
    let mut links = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or("").trim();
        if content.is_empty() {
            continue;
        }
        let numbers: Option<Vec<u32>> = content
            .split_ascii_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        let Some(&[ga, ra, pa, gb, rb, pb]) = numbers.as_deref() else {
            return Err(ArrangementError::Syntax {
                line: index + 1,
                found: content.into(),
            });
        };
        let end = |group, router, port| GlobalPort {
            group,
            router,
            port,
        };
        links.push(GlobalLink {
            from: end(ga, ra, pa),
            to: end(gb, rb, pb),
            line: index + 1,
        });
    }
    Ok(links)
}

/// A port that leads nowhere, in the lists of this module.
pub(super) const UNCONNECTED: u32 = u32::MAX;

/// The shape that an arrangement has to fill.
#[derive(Clone, Copy, Debug)]
pub(super) struct GlobalShape {
    /// Routers per group.
    pub a: u32,
    /// Global ports per router.
    pub h: u32,
    /// Groups.
    pub g: u32,
}

impl GlobalShape {
    /// Global ports per group.
    fn ports(self) -> u32 {
        self.a * self.h
    }

    /// For every global port of the machine, counted over groups and over each
    /// group's ports, the port that it is linked to, or [`UNCONNECTED`].
    /// Shape: g·a·h. For all but custom arrangements, `g ≤ a·h + 1` is required.
    pub(super) fn wire(self, arrangement: &Arrangement) -> Result<Vec<u32>, ArrangementError> {
        if let Arrangement::Custom(links) = arrangement {
            return self.wire_custom(links);
        }
        if self.g == 1 {
            return Ok(vec![UNCONNECTED; self.ports() as usize]);
        }
        let mut peers: Vec<Vec<u32>> = (0..self.g)
            .map(|group| self.in_port_order(arrangement, group))
            .collect();
        if !peers.iter().all(|peers| self.is_even(peers)) {
            for (group, peers) in peers.iter_mut().enumerate() {
                *peers = self.dealt(arrangement, group as u32, peers);
            }
        }
        Ok(self.pair_up(&peers))
    }

    /// The other groups in the order in which `arrangement` visits them from `group`.
    fn visiting_order(self, arrangement: &Arrangement, group: u32) -> Vec<u32> {
        let g = self.g;
        match arrangement {
            Arrangement::Absolute => (0..g).filter(|&peer| peer != group).collect(),
            Arrangement::Relative => (1..g).map(|offset| (group + offset) % g).collect(),
            Arrangement::Circulant => (0..g - 1)
                .map(|i| {
                    let step = i / 2 + 1;
                    (group + if i % 2 == 0 { step } else { g - step }) % g
                })
                .collect(),
            Arrangement::Custom(_) => unreachable!("custom arrangements are wired from their list"),
        }
    }

    /// Whether `group` and `peer` have one link more than other pairs.
    fn has_extra_link(self, group: u32, peer: u32) -> bool {
        let g = self.g;
        let extra = self.ports() % (g - 1);
        let forward = (peer + g - group) % g;
        let distance = forward.min(g - forward);
        if distance <= extra / 2 {
            true
        } else if extra.is_multiple_of(2) {
            false
        } else if g.is_multiple_of(2) {
            distance == g / 2
        } else {
            // The walk 0, s, 2s, … (mod g) with s = (g−1)/2 visits every group,
            // as −2·s ≡ 1; group v is at place −2·v. Places 2n and 2n+1 pair up.
            let place = |v: u32| (2 * (g - v)) % g;
            let (here, there) = (place(group), place(peer));
            here / 2 == there / 2
        }
    }

    /// Group that each port of `group` leads to, by the formula. Shape: a·h.
    fn in_port_order(self, arrangement: &Arrangement, group: u32) -> Vec<u32> {
        let order = self.visiting_order(arrangement, group);
        let ports = self.ports() as usize;
        let full = ports / order.len() * order.len();
        let mut peers: Vec<u32> = order.iter().copied().cycle().take(full).collect();
        if full < ports {
            peers.extend(
                order
                    .iter()
                    .filter(|&&peer| self.has_extra_link(group, peer)),
            );
        }
        peers.resize(ports, UNCONNECTED);
        peers
    }

    /// Whether the links to each other group are spread evenly over the routers.
    fn is_even(self, peers: &[u32]) -> bool {
        let mut total = vec![0u32; self.g as usize];
        for &peer in peers.iter().filter(|&&peer| peer != UNCONNECTED) {
            total[peer as usize] += 1;
        }
        let mut here = vec![0u32; self.g as usize];
        peers.chunks(self.h as usize).all(|router| {
            here.fill(0);
            for &peer in router.iter().filter(|&&peer| peer != UNCONNECTED) {
                here[peer as usize] += 1;
            }
            here.iter()
                .zip(&total)
                .all(|(&here, &total)| (total / self.a..=total.div_ceil(self.a)).contains(&here))
        })
    }

    /// The same links as `peers`, dealt to the routers like cards.
    fn dealt(self, arrangement: &Arrangement, group: u32, peers: &[u32]) -> Vec<u32> {
        let mut total = vec![0u32; self.g as usize];
        for &peer in peers.iter().filter(|&&peer| peer != UNCONNECTED) {
            total[peer as usize] += 1;
        }
        let order = self.visiting_order(arrangement, group);
        let links = order
            .iter()
            .flat_map(|&peer| std::iter::repeat_n(peer, total[peer as usize] as usize));
        let mut dealt = vec![UNCONNECTED; peers.len()];
        for (t, peer) in links.enumerate() {
            let (router, port) = (t % self.a as usize, t / self.a as usize);
            dealt[router * self.h as usize + port] = peer;
        }
        dealt
    }

    /// Joins the `t`-th link from A to B with the `t`-th from B to A.
    fn pair_up(self, peers: &[Vec<u32>]) -> Vec<u32> {
        let (g, ports) = (self.g as usize, self.ports());
        let mut linked = vec![UNCONNECTED; g * ports as usize];
        // Ports of each group sorted by peer; those to peer k start at starts[k].
        let by_peer: Vec<(Vec<u32>, Vec<u32>)> = peers
            .iter()
            .map(|peers| {
                let mut starts = vec![0u32; g + 1];
                for &peer in peers.iter().filter(|&&peer| peer != UNCONNECTED) {
                    starts[peer as usize + 1] += 1;
                }
                for k in 0..g {
                    starts[k + 1] += starts[k];
                }
                let mut sorted: Vec<u32> = (0..ports).collect();
                sorted.sort_by_key(|&port| peers[port as usize]);
                (sorted, starts)
            })
            .collect();
        for from in 0..g {
            for to in from + 1..g {
                let ports_between = |from: usize, to: usize| {
                    let (sorted, starts) = &by_peer[from];
                    &sorted[starts[to] as usize..starts[to + 1] as usize]
                };
                let (out, back) = (ports_between(from, to), ports_between(to, from));
                debug_assert_eq!(out.len(), back.len(), "groups {from} and {to} disagree");
                for (&out, &back) in out.iter().zip(back) {
                    let (out, back) = (from as u32 * ports + out, to as u32 * ports + back);
                    linked[out as usize] = back;
                    linked[back as usize] = out;
                }
            }
        }
        linked
    }

    fn wire_custom(self, links: &[GlobalLink]) -> Result<Vec<u32>, ArrangementError> {
        let ports = self.ports();
        let total = self.g as usize * ports as usize;
        let mut linked = vec![UNCONNECTED; total];
        let mut line_of_port = vec![0usize; total];
        let mut joined = std::collections::HashSet::new();
        for &GlobalLink { from, to, line } in links {
            let number = |end: GlobalPort| {
                if end.group >= self.g || end.router >= self.a || end.port >= self.h {
                    return Err(ArrangementError::NoSuchPort {
                        line,
                        port: end,
                        groups: self.g,
                        routers: self.a,
                        ports: self.h,
                    });
                }
                Ok(end.group * ports + end.router * self.h + end.port)
            };
            let (out, back) = (number(from)?, number(to)?);
            if from.group == to.group {
                let group = from.group;
                return Err(ArrangementError::WithinGroup { line, group });
            }
            for (port, number) in [(from, out), (to, back)] {
                let first = std::mem::replace(&mut line_of_port[number as usize], line);
                if linked[number as usize] != UNCONNECTED {
                    return Err(ArrangementError::PortTwice { line, port, first });
                }
            }
            linked[out as usize] = back;
            linked[back as usize] = out;
            joined.insert((from.group.min(to.group), from.group.max(to.group)));
        }
        for a in 0..self.g {
            for b in a + 1..self.g {
                if !joined.contains(&(a, b)) {
                    return Err(ArrangementError::PairMissing { a, b });
                }
            }
        }
        Ok(linked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KAPLAN: GlobalShape = GlobalShape { a: 4, h: 2, g: 9 };

    fn groups_of(shape: GlobalShape, arrangement: &Arrangement, group: u32) -> Vec<u32> {
        let linked = shape.wire(arrangement).unwrap();
        let ports = shape.ports();
        linked[(group * ports) as usize..((group + 1) * ports) as usize]
            .iter()
            .map(|&peer| peer / ports)
            .collect()
    }

    #[test]
    fn formulas_of_kaplan_2017_section_2a() {
        // The printed formulas, independently of how `wire` finds them, on the
        // machine of figure 2: g = 9, a = 4, h = 2.
        let g = KAPLAN.g;
        for j in 0..g {
            let absolute: Vec<u32> = (0..8).map(|i| if i < j { i } else { i + 1 }).collect();
            assert_eq!(groups_of(KAPLAN, &Arrangement::Absolute, j), absolute);
            let relative: Vec<u32> = (0..8).map(|i| (i + j + 1) % g).collect();
            assert_eq!(groups_of(KAPLAN, &Arrangement::Relative, j), relative);
            let circulant: Vec<u32> = (0..8i64)
                .map(|i| {
                    let to = if i % 2 == 0 {
                        i / 2 + i64::from(j) + 1
                    } else {
                        -(i / 2) + i64::from(j) - 1
                    };
                    to.rem_euclid(i64::from(g)) as u32
                })
                .collect();
            assert_eq!(groups_of(KAPLAN, &Arrangement::Circulant, j), circulant);
        }
    }

    #[test]
    fn circulant_with_odd_a_h_closes_on_the_opposite_group() {
        // a·h = 3, g = 4: ports lead to +1, −1 and the opposite group +2.
        let shape = GlobalShape { a: 3, h: 1, g: 4 };
        assert_eq!(groups_of(shape, &Arrangement::Circulant, 1), [2, 0, 3]);
    }

    #[test]
    fn names_are_read_and_wrong_ones_refused() {
        for arrangement in [
            Arrangement::Absolute,
            Arrangement::Relative,
            Arrangement::Circulant,
        ] {
            assert_eq!(arrangement.name().parse(), Ok(arrangement));
        }
        let error = "palmtree".parse::<Arrangement>().unwrap_err();
        assert!(error.to_string().contains("`palmtree`"));
    }

    #[test]
    fn custom_lists_name_the_offending_line() {
        let shape = GlobalShape { a: 1, h: 2, g: 3 };
        let build = |text: &str| {
            parse_global_links(text).and_then(|links| shape.wire(&Arrangement::Custom(links)))
        };
        let ring = "# ring\n0 0 0  1 0 1\n1 0 0  2 0 1 # comment\n\n2 0 0  0 0 1\n";
        assert_eq!(build(ring), Ok(vec![3, 4, 5, 0, 1, 2]));
        let message = |text: &str| build(text).unwrap_err().to_string();
        assert!(message("0 0 0 1 0 1\n1 0 0 2 0\n").starts_with("line 2: `1 0 0 2 0`"));
        assert!(message("0 0 0 1 0 x\n").starts_with("line 1"));
        assert!(message("\n0 0 0 1 0 2\n").starts_with("line 2: there is no global port 2"));
        assert!(message("0 0 0 1 0 1\n2 0 0 0 0 0\n").contains("from line 1"));
        assert!(message("0 0 0 0 0 1\n").contains("both ends lie in group 0"));
        assert!(message("0 0 0 1 0 1\n").contains("group 0 with group 2"));
    }

    proptest! {
        #[test]
        fn links_are_symmetric_and_balanced_over_pairs_and_routers(
            a in 1u32..9,
            h in 1u32..9,
            fewer in 0u32..60,
            which in 0usize..3,
        ) {
            let g = (a * h + 1).saturating_sub(fewer).max(2);
            let shape = GlobalShape { a, h, g };
            let arrangement =
                [Arrangement::Absolute, Arrangement::Relative, Arrangement::Circulant][which].clone();
            let linked = shape.wire(&arrangement).unwrap();
            let ports = shape.ports();
            let mut unconnected = 0;
            let mut between = vec![0u32; (g * g) as usize];
            let mut of_router = vec![0u32; (g * a * g) as usize];
            for (here, &there) in linked.iter().enumerate() {
                if there == UNCONNECTED {
                    unconnected += 1;
                    continue;
                }
                prop_assert_eq!(linked[there as usize] as usize, here);
                let (group, peer) = (here as u32 / ports, there / ports);
                prop_assert_ne!(group, peer);
                between[(group * g + peer) as usize] += 1;
                of_router[(here as u32 / h * g + peer) as usize] += 1;
            }
            // a·h = q·(g−1) + r: a pair has q or q + 1 links, and a port is
            // wasted only if the handshake r·g is odd.
            let (q, r) = (ports / (g - 1), ports % (g - 1));
            prop_assert_eq!(unconnected, r * g % 2);
            for j in 0..g {
                for k in (0..g).filter(|&k| k != j) {
                    let links = between[(j * g + k) as usize];
                    prop_assert!((q..=q + u32::from(r > 0)).contains(&links));
                    for router in j * a..(j + 1) * a {
                        let here = of_router[(router * g + k) as usize];
                        prop_assert!((links / a..=links.div_ceil(a)).contains(&here));
                    }
                }
            }
        }
    }
}
