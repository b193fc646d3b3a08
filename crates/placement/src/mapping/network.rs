//! The network as far as a mapping cares.

use std::sync::Arc;

use odonata_cut::Graph;
use rustc_hash::FxHashMap;

/// Marks a router on which the job has no node.
const NOWHERE: u32 = u32::MAX;

/// Where a job's nodes are attached, and what lies between.
#[derive(Clone, Debug)]
pub struct JobNetwork {
    routers: Graph,
    router_of_node: Vec<u32>,
    distances: Option<Arc<Distances>>,
    routes: Option<Arc<Routes>>,
}

impl JobNetwork {
    /// `bandwidths` lists what lies between routers, `(router, router, bytes per
    /// second)`, of `routers` routers in all; `router_of_node` gives the router that
    /// each of the job's nodes is attached to.
    ///
    /// # Panics
    /// If a router's number is not below `routers`.
    pub fn new(
        routers: usize,
        bandwidths: impl IntoIterator<Item = (u32, u32, u64)>,
        router_of_node: Vec<u32>,
    ) -> Self {
        let mut nodes = vec![0u32; routers];
        for &router in &router_of_node {
            nodes[router as usize] += 1;
        }
        Self {
            routers: Graph::new(nodes, bandwidths),
            router_of_node,
            distances: None,
            routes: None,
        }
    }

    /// With distances, which greedy mapping and swaps want.
    #[must_use]
    pub fn with_distances(mut self, distances: impl Into<Arc<Distances>>) -> Self {
        self.distances = Some(distances.into());
        self
    }

    /// With routes, which swaps that spread load want.
    #[must_use]
    pub fn with_routes(mut self, routes: impl Into<Arc<Routes>>) -> Self {
        self.routes = Some(routes.into());
        self
    }

    /// Routers, the bandwidth between them, and how many of the job's nodes each has.
    pub fn routers(&self) -> &Graph {
        &self.routers
    }

    /// Router of each of the job's nodes. Shape: nodes of the job.
    pub fn router_of_node(&self) -> &[u32] {
        &self.router_of_node
    }

    /// Distances, if given.
    pub fn distances(&self) -> Option<&Distances> {
        self.distances.as_deref()
    }

    /// Routes, if given.
    pub fn routes(&self) -> Option<&Routes> {
        self.routes.as_deref()
    }
}

/// The routers of a job, numbered without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    routers: Vec<u32>,
    place_of_router: Vec<u32>,
}

impl Places {
    /// The different routers among those of a job's nodes, ascending.
    pub fn new(routers: usize, router_of_node: &[u32]) -> Self {
        let mut listed = router_of_node.to_vec();
        listed.sort_unstable();
        listed.dedup();
        let mut place_of_router = vec![NOWHERE; routers];
        for (place, &router) in listed.iter().enumerate() {
            place_of_router[router as usize] = place as u32;
        }
        Self {
            routers: listed,
            place_of_router,
        }
    }

    /// Routers of the job, ascending. Shape: places.
    pub fn routers(&self) -> &[u32] {
        &self.routers
    }

    /// Number of different routers.
    pub fn count(&self) -> usize {
        self.routers.len()
    }

    /// Place of a router of the job.
    pub fn of(&self, router: u32) -> usize {
        self.place_of_router[router as usize] as usize
    }
}

/// How far a job's routers are from each other: the time for which a byte
/// occupies links on its way, in nanoseconds, so that a hop over a link of twice
/// the bandwidth counts half.
#[derive(Clone, Debug)]
pub struct Distances {
    places: Places,
    /// Shape: places × places, symmetric, 0 on the diagonal.
    between: Vec<f32>,
    /// The same for the way from a node to its router and from a router to its node.
    terminals: f32,
}

impl Distances {
    /// Distances between `places`: `between[a * places + b]` from `a` to `b`;
    /// the two directions are averaged. `terminals` is the time that a byte
    /// occupies the link of the sending and that of the receiving node, together.
    ///
    /// # Panics
    /// If `between` has another shape.
    pub fn new(places: Places, mut between: Vec<f32>, terminals: f32) -> Self {
        let count = places.count();
        assert_eq!(between.len(), count * count, "places × places");
        for a in 0..count {
            for b in 0..a {
                let mean = (between[a * count + b] + between[b * count + a]) / 2.0;
                between[a * count + b] = mean;
                between[b * count + a] = mean;
            }
            between[a * count + a] = 0.0;
        }
        Self {
            places,
            between,
            terminals,
        }
    }

    /// The routers.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Nanoseconds per byte between two places.
    pub fn between(&self, a: usize, b: usize) -> f64 {
        f64::from(self.between[a * self.places.count() + b])
    }

    /// Nanoseconds per byte on the links of the two nodes.
    pub fn terminals(&self) -> f64 {
        f64::from(self.terminals)
    }
}

/// Which links traffic between a job's routers uses.
///
/// Many pairs have much of their ways in common: in a network of groups the way out of one's
/// own group depends on the other group only. So the ways of a pair are *pieces*, one for each
/// part of the network that they pass, and pieces that are alike are kept once.
#[derive(Clone, Debug)]
pub struct Routes {
    places: Places,
    /// First piece of each pair, and one past the last. Shape: places² + 1.
    first_piece: Vec<u32>,
    pieces: Vec<u32>,
    /// First use of each different piece, and one past the last.
    first_use: Vec<usize>,
    /// Link and the share of the traffic that passes it.
    uses: Vec<(u32, f32)>,
    /// Nanoseconds for which a byte occupies each link.
    byte_ns: Vec<f32>,
}

impl Routes {
    /// The routers.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Pieces of the ways from place `a` to place `b`; no link is in two of them.
    pub fn pieces(&self, a: usize, b: usize) -> &[u32] {
        let pair = a * self.places.count() + b;
        &self.pieces[self.first_piece[pair] as usize..self.first_piece[pair + 1] as usize]
    }

    /// Number of different pieces.
    pub fn different(&self) -> usize {
        self.first_use.len() - 1
    }

    /// Links of a piece, and their shares of the traffic that uses it.
    pub fn piece(&self, piece: u32) -> &[(u32, f32)] {
        &self.uses[self.first_use[piece as usize]..self.first_use[piece as usize + 1]]
    }

    /// Links that traffic from place `a` to place `b` uses, and their shares of it.
    pub fn between(&self, a: usize, b: usize) -> impl Iterator<Item = (u32, f32)> {
        let pieces = self.pieces(a, b).iter();
        pieces.flat_map(|&piece| self.piece(piece).iter().copied())
    }

    /// Nanoseconds for which a byte occupies each link. Shape: links.
    pub fn byte_ns(&self) -> &[f32] {
        &self.byte_ns
    }
}

/// Puts [`Routes`] together, pair by pair.
#[derive(Debug)]
pub struct RoutesBuilder {
    routes: Routes,
    part_of_link: Vec<u32>,
    /// Place of each link where links of a part stand together, and the link at each place.
    place_of_link: Vec<u32>,
    link_at_place: Vec<u32>,
    known: FxHashMap<Box<[(u32, u32)]>, u32>,
    /// What is known of the pair under way: shares by place of the link, and which have one.
    pair: usize,
    share: Vec<f64>,
    used: Vec<u32>,
    /// The piece under way.
    piece: Vec<(u32, u32)>,
}

impl RoutesBuilder {
    /// Routes between `places`. `part_of_link` says in which part of the network each link
    /// lies, for example the group of the router that sends on it: any parts will do, the
    /// better ones have more pieces in common. `byte_ns` gives the nanoseconds for which a byte
    /// occupies each link.
    ///
    /// # Panics
    /// If the two lists do not have the same links.
    pub fn new(places: Places, part_of_link: Vec<u32>, byte_ns: Vec<f32>) -> Self {
        let links = byte_ns.len();
        assert_eq!(part_of_link.len(), links, "a part for every link");
        let mut link_at_place: Vec<u32> = (0..links as u32).collect();
        link_at_place.sort_by_key(|&link| part_of_link[link as usize]);
        let mut place_of_link = vec![0; links];
        for (place, &link) in link_at_place.iter().enumerate() {
            place_of_link[link as usize] = place as u32;
        }
        Self {
            routes: Routes {
                first_piece: Vec::with_capacity(places.count() * places.count() + 1),
                places,
                pieces: vec![],
                first_use: vec![0],
                uses: vec![],
                byte_ns,
            },
            part_of_link,
            place_of_link,
            link_at_place,
            known: FxHashMap::default(),
            pair: 0,
            share: vec![0.0; links],
            used: vec![],
            piece: vec![],
        }
    }

    /// Traffic from place `from` to place `to` uses a link with this share of it, and with
    /// what was said of the link before for this pair.
    ///
    /// # Panics
    /// If pairs do not come in ascending order.
    pub fn add(&mut self, from: usize, to: usize, link: u32, share: f64) {
        let pair = from * self.routes.places.count() + to;
        assert!(pair >= self.pair, "pairs ascend");
        if pair > self.pair {
            self.end_pair();
            self.pair = pair;
        }
        let place = self.place_of_link[link as usize];
        let of_link = &mut self.share[place as usize];
        if *of_link == 0.0 {
            self.used.push(place);
        }
        *of_link += share;
    }

    /// Writes down the pair under way.
    fn end_pair(&mut self) {
        let routes = &mut self.routes;
        // Pairs in between use no links.
        routes
            .first_piece
            .resize(self.pair + 1, routes.pieces.len() as u32);
        // In the order of places the links of a part follow each other.
        self.used.sort_unstable();
        self.used.dedup();
        let link_at_place = &self.link_at_place;
        let part = |place: u32| self.part_of_link[link_at_place[place as usize] as usize];
        for places in self.used.chunk_by(|&a, &b| part(a) == part(b)) {
            self.piece.clear();
            self.piece.extend(places.iter().map(|&place| {
                let share = self.share[place as usize] as f32;
                (link_at_place[place as usize], share.to_bits())
            }));
            let number = match self.known.get(self.piece.as_slice()) {
                Some(&number) => number,
                None => {
                    let of = |&(link, share): &(u32, u32)| (link, f32::from_bits(share));
                    routes.uses.extend(self.piece.iter().map(of));
                    routes.first_use.push(routes.uses.len());
                    let number = routes.first_use.len() as u32 - 2;
                    self.known.insert(self.piece.as_slice().into(), number);
                    number
                }
            };
            routes.pieces.push(number);
        }
        for place in self.used.drain(..) {
            self.share[place as usize] = 0.0;
        }
    }

    /// The routes.
    pub fn finish(mut self) -> Routes {
        self.end_pair();
        let pairs = self.routes.places.count() * self.routes.places.count();
        let pieces = self.routes.pieces.len() as u32;
        self.routes.first_piece.resize(pairs + 1, pieces);
        self.routes
    }
}
