//! The network as far as a mapping cares.

use odonata_partition::Graph;

/// Marks a router on which the job has no node.
const NOWHERE: u32 = u32::MAX;

/// Where a job's nodes hang, and what lies between.
#[derive(Clone, Debug)]
pub struct JobNetwork {
    routers: Graph,
    router_of_node: Vec<u32>,
    distances: Option<Distances>,
    routes: Option<Routes>,
}

impl JobNetwork {
    /// `bandwidths` lists what lies between routers, `(router, router, bytes per
    /// second)`, of `routers` routers in all; `router_of_node` tells where each of
    /// the job's nodes hangs.
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
    pub fn with_distances(mut self, distances: Distances) -> Self {
        self.distances = Some(distances);
        self
    }

    /// With routes, which swaps that spread load want.
    #[must_use]
    pub fn with_routes(mut self, routes: Routes) -> Self {
        self.routes = Some(routes);
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
        self.distances.as_ref()
    }

    /// Routes, if given.
    pub fn routes(&self) -> Option<&Routes> {
        self.routes.as_ref()
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
#[derive(Clone, Debug)]
pub struct Routes {
    places: Places,
    /// First use of each pair, and one past the last. Shape: places² + 1.
    first: Vec<u32>,
    /// Link and the share of the traffic that passes it.
    uses: Vec<(u32, f32)>,
    /// Nanoseconds for which a byte occupies each link.
    byte_ns: Vec<f32>,
}

impl Routes {
    /// Routes between `places`: `uses` lists (place, place, link, share), pairs
    /// ascending; `byte_ns` gives the nanoseconds for which a byte occupies each
    /// link.
    ///
    /// # Panics
    /// If pairs are not ascending.
    pub fn new(places: Places, uses: &[(u32, u32, u32, f32)], byte_ns: Vec<f32>) -> Self {
        let pairs = places.count() * places.count();
        let pair = |&(a, b, ..): &(u32, u32, u32, f32)| a as usize * places.count() + b as usize;
        assert!(uses.is_sorted_by_key(pair), "pairs ascend");
        let mut first = vec![0u32; pairs + 1];
        for one in uses {
            first[pair(one) + 1] += 1;
        }
        for pair in 0..pairs {
            first[pair + 1] += first[pair];
        }
        Self {
            places,
            first,
            uses: uses
                .iter()
                .map(|&(.., link, share)| (link, share))
                .collect(),
            byte_ns,
        }
    }

    /// The routers.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Links that traffic from place `a` to place `b` uses, and their shares of it.
    pub fn between(&self, a: usize, b: usize) -> &[(u32, f32)] {
        let pair = a * self.places.count() + b;
        &self.uses[self.first[pair] as usize..self.first[pair + 1] as usize]
    }

    /// Nanoseconds for which a byte occupies each link. Shape: links.
    pub fn byte_ns(&self) -> &[f32] {
        &self.byte_ns
    }
}
