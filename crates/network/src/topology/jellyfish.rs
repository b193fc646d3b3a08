//! Jellyfish networks: random regular graphs of routers (Singla, Hong, Popa and Godfrey,
//! "Jellyfish: networking data centers randomly", NSDI 2012).
//!
//! Built as in its section 3: links are added between random pairs of routers that have free
//! ports and are not linked yet; when there are none and a router has two or more ports
//! free, a random link is taken out and its ends joined with that router (or with two
//! routers that have one free port each and are linked already, a case that the paper leaves
//! out). One port of the network stays free if the number of ports is odd. A network that comes out in parts is
//! drawn again. The seed decides everything; all routers are one group.

use odonata_units::GroupId;
use odonata_units::random::{Purpose, StreamKey};

use super::cabling::{Cabling, check_size};
use super::{LinkClass, LinkClassId, Topology, TopologyError};

/// A Jellyfish to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct JellyfishSpec {
    /// Routers.
    pub routers: u32,
    /// Links of each router to others: the paper's `r`.
    pub degree: u32,
    /// Nodes per router.
    pub p: u32,
    /// Seed of the random links.
    pub seed: u64,
    /// Class of the links of nodes.
    pub terminal: LinkClass,
    /// Class of the links between routers.
    pub local: LinkClass,
}

/// Why a Jellyfish cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JellyfishError {
    /// More links than other routers.
    #[error("{degree} links per router; {routers} routers can have at most {}", routers.saturating_sub(1))]
    Degree {
        /// Links per router.
        degree: u32,
        /// Routers.
        routers: u32,
    },
    /// Too few links to hold together.
    #[error(
        "no network of {routers} routers with {degree} links each is connected; use more links"
    )]
    Disconnected {
        /// Links per router.
        degree: u32,
        /// Routers.
        routers: u32,
    },
    /// The link classes, or something else about the wiring, are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// Drawings of a network before it is given up as not connected. With three links or more
/// nearly every drawing is.
const DRAWINGS: u64 = 100;

impl JellyfishSpec {
    /// Builds the topology as the [module's description](self) tells.
    ///
    /// # Errors
    /// If there are too many or too few links, or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, JellyfishError> {
        let Self {
            routers,
            degree,
            p,
            seed,
            ..
        } = *self;
        if degree > 0 && degree >= routers {
            return Err(JellyfishError::Degree { degree, routers });
        }
        let per_router = u64::from(p) + u64::from(degree);
        check_size(per_router, u128::from(routers) * u128::from(per_router))?;
        let drawings = (0..DRAWINGS).map(|n| Drawing::new(routers, degree, seed, n));
        let apart = JellyfishError::Disconnected { degree, routers };
        // A tree has routers − 1 links.
        if u64::from(routers) * u64::from(degree) / 2 + 1 < u64::from(routers) {
            return Err(apart);
        }
        let peers = drawings
            .map(Drawing::draw)
            .find(|peers| is_connected(peers));
        let peers = peers.ok_or(apart)?;
        let mut cabling = Cabling::new(routers);
        for router in 0..routers {
            cabling.attach(router, p, LinkClassId(0));
        }
        for (router, peers) in (0..).zip(&peers) {
            for &peer in peers.iter().filter(|&&peer| peer > router) {
                cabling.link(router, peer, LinkClassId(1));
            }
        }
        let classes = vec![self.terminal.clone(), self.local.clone()];
        let title = format!("jellyfish {routers} routers, {degree} links each, p={p}, seed {seed}");
        Ok(cabling.into_topology(title, classes, vec![GroupId(0); routers as usize])?)
    }
}

/// A random graph as it grows.
struct Drawing {
    degree: usize,
    /// Routers linked to each, ascending.
    peers: Vec<Vec<u32>>,
    key: StreamKey,
    number: u64,
    draws: u32,
}

impl Drawing {
    fn new(routers: u32, degree: u32, seed: u64, number: u64) -> Self {
        Self {
            degree: degree as usize,
            peers: vec![vec![]; routers as usize],
            key: StreamKey::new(seed, Purpose::Wiring),
            number,
            draws: 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.draws += 1;
        self.key.below(self.number, self.draws, bound as u32) as usize
    }

    fn are_linked(&self, a: u32, b: u32) -> bool {
        self.peers[a as usize].binary_search(&b).is_ok()
    }

    fn link(&mut self, a: u32, b: u32) {
        for (a, b) in [(a, b), (b, a)] {
            let peers = &mut self.peers[a as usize];
            if let Err(place) = peers.binary_search(&b) {
                peers.insert(place, b);
            }
        }
    }

    fn unlink(&mut self, a: u32, b: u32) {
        for (a, b) in [(a, b), (b, a)] {
            self.peers[a as usize].retain(|&peer| peer != b);
        }
    }

    fn draw(mut self) -> Vec<Vec<u32>> {
        let mut free: Vec<u32> = (0..self.peers.len() as u32).collect();
        loop {
            free.retain(|&router| self.peers[router as usize].len() < self.degree);
            if !self.join_any(&free) && !self.splice_any(&free) {
                return self.peers;
            }
        }
    }

    /// Links two random routers with free ports; whether there were two.
    fn join_any(&mut self, free: &[u32]) -> bool {
        if free.len() < 2 {
            return false;
        }
        // Nearly always the first draw fits; where few are left all pairs are looked at.
        for _ in 0..8 {
            let a = free[self.below(free.len())];
            let b = free[self.below(free.len())];
            if a != b && !self.are_linked(a, b) {
                self.link(a, b);
                return true;
            }
        }
        let pairs: Vec<(u32, u32)> = (free.iter().enumerate())
            .flat_map(|(n, &a)| free[n + 1..].iter().map(move |&b| (a, b)))
            .filter(|&(a, b)| !self.are_linked(a, b))
            .collect();
        match pairs.len() {
            0 => false,
            count => {
                let (a, b) = pairs[self.below(count)];
                self.link(a, b);
                true
            }
        }
    }

    /// Takes out a random link and joins its ends with two free ports, of one router or of two
    /// that are linked already; whether there were such.
    fn splice_any(&mut self, free: &[u32]) -> bool {
        let spare = |&&router: &&u32| self.peers[router as usize].len() + 2 <= self.degree;
        let (one, other) = match (free.iter().find(spare), free) {
            (Some(&router), _) => (router, router),
            (None, &[one, other, ..]) => (one, other),
            _ => return false,
        };
        let apart = |end: u32, router: u32| end != router && !self.are_linked(router, end);
        let links: Vec<(u32, u32)> = (0..)
            .zip(&self.peers)
            .filter(|(a, _)| apart(*a, one))
            .flat_map(|(a, peers)| peers.iter().map(move |&b| (a, b)))
            .filter(|&(_, b)| apart(b, other))
            .collect();
        if links.is_empty() {
            return false;
        }
        let (a, b) = links[self.below(links.len())];
        self.unlink(a, b);
        self.link(a, one);
        self.link(other, b);
        true
    }
}

fn is_connected(peers: &[Vec<u32>]) -> bool {
    let mut seen = vec![false; peers.len()];
    let mut queue = vec![0];
    if let Some(first) = seen.first_mut() {
        *first = true;
    }
    let mut reached = 0;
    while let Some(at) = queue.pop() {
        reached += 1;
        for &peer in peers.get(at).into_iter().flatten() {
            if !std::mem::replace(&mut seen[peer as usize], true) {
                queue.push(peer as usize);
            }
        }
    }
    reached >= peers.len()
}

#[cfg(test)]
mod tests {
    use odonata_units::RouterId;
    use proptest::prelude::*;

    use super::*;
    use crate::topology::LinkKind;
    use crate::topology::testing::class;

    fn build(routers: u32, degree: u32, seed: u64) -> Result<Topology, JellyfishError> {
        JellyfishSpec {
            routers,
            degree,
            p: 1,
            seed,
            terminal: class("terminal", LinkKind::Terminal),
            local: class("local", LinkKind::Local),
        }
        .build()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn it_is_regular_but_for_one_port(
            routers in 4u32..60, degree in 3u32..12, seed in any::<u64>(),
        ) {
            let degree = degree.min(routers - 1);
            let topology = build(routers, degree, seed).unwrap();
            let degrees = (0..routers).map(|r| topology.ports_of(RouterId(r)).len() as u32 - 1);
            let missing: u32 = degrees.map(|found| degree - found).sum();
            prop_assert_eq!(missing, routers * degree % 2);
            prop_assert_eq!(&topology, &build(routers, degree, seed).unwrap());
        }
    }

    #[test]
    fn seeds_draw_different_networks() {
        assert_ne!(build(20, 4, 1).unwrap().peer, build(20, 4, 2).unwrap().peer);
    }

    #[test]
    fn paths_are_nearly_as_short_as_those_of_any_graph() {
        // Mean distance within 10 % of the bound of Cerf et al. 1974 that the paper's figure 5
        // shows: with r links, r routers at distance 1, r·(r − 1) at 2, and so on.
        let (routers, degree) = (120u32, 8u32);
        let found = build(routers, degree, 7).unwrap().describe();
        let (mut left, mut at, mut sum, mut hops) = (routers - 1, degree, 0, 1);
        while left > 0 {
            let here = at.min(left);
            sum += here * hops;
            (left, at, hops) = (left - here, at * (degree - 1), hops + 1);
        }
        let bound = f64::from(sum) / f64::from(routers - 1);
        let ratio = found.average_distance_routers / bound;
        assert!((1.0..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn impossible_numbers_are_told() {
        let message = |routers, degree| build(routers, degree, 1).unwrap_err().to_string();
        assert!(message(4, 4).contains("at most 3"));
        assert!(message(10, 1).contains("use more links"));
        assert!(message(0, 0).contains("no routers"));
    }
}
