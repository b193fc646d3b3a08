//! Slim Fly networks: McKay–Miller–Širáň graphs of diameter 2 (Besta and Hoefler, "Slim
//! Fly: a cost effective low-diameter network topology", SC 2014, section II-B; the sets of
//! generators after Hafner, "Geometric realisation of the graphs of McKay–Miller–Širáň",
//! J. Comb. Theory B 90, 2004).
//!
//! For a prime power `q = 4w + δ`, `δ` of −1, 0, 1, the `2q²` routers are `(0, x, y)` and
//! `(1, m, c)` with elements of the field of `q` elements. Two routers `(0, x, y)` and
//! `(0, x, y')` are linked if `y − y'` is in `X`, `(1, m, c)` and `(1, m, c')` if `c − c'` is
//! in `X'`, and `(0, x, y)` and `(1, m, c)` if `y = m·x + c`. Each router has `(3q − δ)/2`
//! links. Router `(s, a, b)` has the number `s·q² + a·q + b`.
//!
//! Groups are pairs of a `(0, x, ·)` and the `(1, x, ·)` of the same number, `q` of them with
//! `2q` routers each, as the paper packs its racks (section VI-A).

use odonata_units::GroupId;

use super::cabling::{Cabling, check_size};
use super::{LinkClass, LinkClassId, Topology, TopologyError};

/// A Slim Fly to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct SlimFlySpec {
    /// Prime power from which the graph is made.
    pub q: u32,
    /// Nodes per router.
    pub p: u32,
    /// Class of the links of nodes.
    pub terminal: LinkClass,
    /// Class of the links within a group.
    pub local: LinkClass,
    /// Class of the links between groups.
    pub global: LinkClass,
}

/// Why a Slim Fly cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlimFlyError {
    /// A number that is no prime power of the form 4w + δ.
    #[error(
        "q = {q} is no prime power of the form 4w − 1, 4w or 4w + 1 (3 and more); near it are \
         {near}"
    )]
    Order {
        /// The number.
        q: u32,
        /// The possible ones around it.
        near: String,
    },
    /// The link classes, or something else about the wiring, are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// Links of a router of the graph of `q`: `(3q − δ)/2`.
pub fn network_radix(q: u32) -> u32 {
    match q % 4 {
        0 => 3 * q / 2,
        1 => (3 * q - 1) / 2,
        _ => (3 * q).div_ceil(2),
    }
}

/// Nodes per router that balance the network: half of its links, rounded up (Besta and
/// Hoefler 2014, section II-B2).
pub fn balanced_nodes(q: u32) -> u32 {
    network_radix(q).div_ceil(2)
}

/// A prime power and its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PrimePower {
    prime: u32,
    exponent: u32,
}

impl PrimePower {
    fn of(q: u32) -> Option<Self> {
        let prime = (2..=q).find(|divisor| q.is_multiple_of(*divisor))?;
        let (mut rest, mut exponent) = (q, 0);
        while rest.is_multiple_of(prime) {
            rest /= prime;
            exponent += 1;
        }
        (rest == 1).then_some(Self { prime, exponent })
    }
}

/// The field of `q` elements. An element is the number of its polynomial's coefficients in
/// base `prime`.
struct Field {
    q: u32,
    of: PrimePower,
    /// Powers of a generator of the multiplicative group. Shape: q − 1.
    powers: Vec<u32>,
    /// Exponent of each element but 0. Shape: q.
    logarithm: Vec<u32>,
}

impl Field {
    fn new(q: u32, of: PrimePower) -> Option<Self> {
        // A monic polynomial whose root generates all elements but 0 is irreducible: look for
        // one, by its lower coefficients. For a prime field it is that of a primitive root.
        (1..q).find_map(|lower| {
            let mut field = Self {
                q,
                of,
                powers: vec![],
                logarithm: vec![0; q as usize],
            };
            let mut element = 1;
            while field.powers.is_empty() || element != 1 {
                if element == 0 || field.powers.len() as u32 == q {
                    return None;
                }
                field.logarithm[element as usize] = field.powers.len() as u32;
                field.powers.push(element);
                element = field.times_root(element, lower);
            }
            (field.powers.len() as u32 == q - 1).then_some(field)
        })
    }

    /// `element` times the root of `t^n = lower(t)`; in a prime field times `lower`.
    fn times_root(&self, element: u32, lower: u32) -> u32 {
        let PrimePower { prime, exponent } = self.of;
        if exponent == 1 {
            return (u64::from(element) * u64::from(lower) % u64::from(prime)) as u32;
        }
        let top = self.q / prime;
        let (overflow, shifted) = (element / top, element % top * prime);
        let mut sum = shifted;
        for _ in 0..overflow {
            sum = self.plus(sum, lower);
        }
        sum
    }

    fn digits(&self, a: u32, b: u32, combine: impl Fn(u32, u32) -> u32) -> u32 {
        let (mut a, mut b, mut place, mut result) = (a, b, 1, 0);
        for _ in 0..self.of.exponent {
            let prime = self.of.prime;
            result += combine(a % prime, b % prime) % prime * place;
            (a, b, place) = (a / prime, b / prime, place * prime);
        }
        result
    }

    fn plus(&self, a: u32, b: u32) -> u32 {
        self.digits(a, b, |a, b| a + b)
    }

    fn minus(&self, a: u32, b: u32) -> u32 {
        self.digits(a, b, |a, b| a + self.of.prime - b)
    }

    fn times(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        let sum = self.logarithm[a as usize] + self.logarithm[b as usize];
        self.powers[(sum % (self.q - 1)) as usize]
    }

    /// Whether each element is in `X` and in `X'`. Both hold with an element its negative.
    fn generators(&self) -> (Vec<bool>, Vec<bool>) {
        let exponents: (Vec<u32>, Vec<u32>) = match self.q % 4 {
            // q = 4w − 1: even powers below 2w, odd ones from there on; one more for X'.
            3 => {
                let w = self.q.div_ceil(4);
                let even = (0..2 * w - 1).step_by(2);
                let x: Vec<u32> = even.chain((2 * w - 1..=4 * w - 3).step_by(2)).collect();
                let shifted = x.iter().map(|exponent| exponent + 1).collect();
                (x, shifted)
            }
            // q/2 even powers, and as many odd ones, of which the last is 1 again.
            0 => (
                (0..self.q).step_by(2).take(self.q as usize / 2).collect(),
                (1..self.q).step_by(2).take(self.q as usize / 2).collect(),
            ),
            _ => (
                (0..self.q - 1).step_by(2).collect(),
                (1..self.q - 1).step_by(2).collect(),
            ),
        };
        let set = |exponents: Vec<u32>| {
            let mut set = vec![false; self.q as usize];
            for exponent in exponents {
                set[self.powers[(exponent % (self.q - 1)) as usize] as usize] = true;
            }
            set
        };
        (set(exponents.0), set(exponents.1))
    }
}

fn is_order(q: u32) -> bool {
    q >= 3 && q % 4 != 2 && PrimePower::of(q).is_some()
}

impl SlimFlySpec {
    /// Builds the topology; numbering and wiring rules are in the
    /// [module's description](self).
    ///
    /// # Errors
    /// If `q` is no such prime power or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, SlimFlyError> {
        let Self { q, p, .. } = *self;
        let wrong = || {
            let below = (3..q).rev().find(|&q| is_order(q));
            let above = (q.saturating_add(1)..=q.saturating_add(100)).find(|&q| is_order(q));
            let near: Vec<String> = (below.into_iter().chain(above))
                .map(|q| q.to_string())
                .collect();
            SlimFlyError::Order {
                q,
                near: near.join(" and "),
            }
        };
        // Far beyond any router's ports: not searched for divisors.
        if q < 1 << 13 && !is_order(q) {
            return Err(wrong());
        }
        let per_router = u64::from(network_radix(q.min(1 << 20))) + u64::from(p);
        check_size(
            per_router,
            2 * u128::from(q).pow(2) * u128::from(per_router),
        )?;
        let of = PrimePower::of(q).ok_or_else(wrong)?;
        let field = Field::new(q, of).ok_or_else(wrong)?;
        let (x_set, m_set) = field.generators();
        let mut cabling = Cabling::new(2 * q * q);
        for router in 0..2 * q * q {
            cabling.attach(router, p, LinkClassId(0));
        }
        let number = |side: u32, a: u32, b: u32| (side * q + a) * q + b;
        for (side, set) in [(0, &x_set), (1, &m_set)] {
            for row in 0..q {
                for a in 0..q {
                    for b in 0..a {
                        if set[field.minus(a, b) as usize] {
                            cabling.link(
                                number(side, row, b),
                                number(side, row, a),
                                LinkClassId(1),
                            );
                        }
                    }
                }
            }
        }
        for x in 0..q {
            for m in 0..q {
                let class = LinkClassId(if x == m { 1 } else { 2 });
                for c in 0..q {
                    let y = field.plus(field.times(m, x), c);
                    cabling.link(number(0, x, y), number(1, m, c), class);
                }
            }
        }
        let classes = vec![
            self.terminal.clone(),
            self.local.clone(),
            self.global.clone(),
        ];
        let groups = (0..2 * q * q)
            .map(|router| GroupId(router / q % q))
            .collect();
        Ok(cabling.into_topology(format!("slim fly q={q} p={p}"), classes, groups)?)
    }
}

#[cfg(test)]
mod tests {
    use odonata_units::RouterId;

    use super::*;
    use crate::topology::LinkKind;
    use crate::topology::testing::class;

    fn build(q: u32, p: u32) -> Result<Topology, SlimFlyError> {
        SlimFlySpec {
            q,
            p,
            terminal: class("terminal", LinkKind::Terminal),
            local: class("local", LinkKind::Local),
            global: class("global", LinkKind::Global),
        }
        .build()
    }

    #[test]
    fn every_order_gives_a_regular_graph_of_diameter_2() {
        // δ of −1, 0 and 1, primes and powers of 2 and 3.
        for q in [3, 4, 5, 7, 8, 9, 11] {
            let topology = build(q, 1).unwrap();
            assert_eq!(topology.routers() as u32, 2 * q * q);
            for router in 0..topology.routers() {
                let links = topology.ports_of(RouterId::from_index(router)).len() - 1;
                assert_eq!(links as u32, network_radix(q), "q = {q}, router {router}");
            }
            let routers: Vec<u32> = (0..topology.routers() as u32).collect();
            let neighbours: Vec<Vec<usize>> =
                routers.iter().map(|&r| linked(&topology, r)).collect();
            for from in &neighbours {
                let mut seen = vec![false; routers.len()];
                for &at in from {
                    seen[at] = true;
                    neighbours[at].iter().for_each(|&next| seen[next] = true);
                }
                assert!(seen.into_iter().all(|seen| seen), "q = {q}");
            }
        }
    }

    fn linked(topology: &Topology, router: u32) -> Vec<usize> {
        let peers = topology.peer[topology.ports_of(RouterId(router))].iter();
        peers
            .filter_map(|peer| match peer {
                crate::Peer::Port(port) => Some(topology.router_of_port(*port).index()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn the_published_example_has_50_routers_of_7_links() {
        // Besta and Hoefler 2014, section II-B: q = 5 is the Hoffman–Singleton graph.
        let topology = build(5, balanced_nodes(5)).unwrap();
        assert_eq!((topology.routers(), network_radix(5)), (50, 7));
        assert_eq!(topology.nodes(), 200);
        // Its q = 19: k' = 29, 722 routers, p = 15, 10,830 nodes.
        assert_eq!((network_radix(19), balanced_nodes(19)), (29, 15));
    }

    #[test]
    fn other_numbers_are_refused_with_the_nearest_that_are_not() {
        let message = |q| build(q, 1).unwrap_err().to_string();
        assert!(message(6).contains("near it are 5 and 7"), "{}", message(6));
        assert!(message(2).contains("near it are 3"));
        assert!(message(15).contains("13 and 16"));
        assert!(message(4_000_000_000).contains("ports on a router"));
    }
}
