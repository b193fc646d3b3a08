//! A path for each flow by hash, as Ethernet's switches choose among paths of equal cost.

use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{NodeId, PortId, RouterId};

use super::choice::{Choice, MinimalLinkKeys, MinimalLinks};
use super::grouped::GroupedRoutes;
use super::{
    Algorithm, AlgorithmKeys, Hop, Minimal, NONE, PacketRoute, PathKeys, RelevantDestination,
    RouterView, Routing, RoutingError, RoutingSpec, Tabled, Usual,
};

/// Bits of a label that every algorithm of planes has room for in [`PacketRoute::intermediate`].
const LABEL_BITS: u32 = 26;
/// Labels, which begin again after the last; one less than fits, as the largest means none.
const LABELS: u64 = (1 << LABEL_BITS) - 1;
/// Most flows of a pair.
const MOST_FLOWS: u32 = 1 << 16;

odonata_declare::table! {
    /// Keys of `ecmp`.
    pub struct EcmpKeys {
        /// Links between groups.
        links: MinimalLinkKeys = MinimalLinkKeys::default() => Notes::FLAT,
        /// What routes go over.
        paths: PathKeys = PathKeys::default() => Notes::FLAT,
        /// The seed of the hash that picks a flow's links: another one gives other paths. The `seed` of a
        /// run has no effect on them.
        #[serde(skip_serializing_if = "is_zero")]
        hash_seed: u64 = 0,
        /// Whether all routers compute the same hash of a flow. Then routers behind each other choose
        /// alike, and flows that share a link share the next one too (hash polarisation).
        #[serde(skip_serializing_if = "is_false")]
        same_hash: bool = false,
        /// Flows between two nodes, such as the queue pairs of a connection, each with a path of its own;
        /// a message belongs to one of them, drawn by its number.
        #[serde(skip_serializing_if = "is_one")]
        flows_per_pair: u32 = 1 => Notes { least: Some(1.0), most: Some(MOST_FLOWS as f64), ..Notes::NONE },
        /// The pause after which a flow takes another path by a new hash (flowlets): the time in which the
        /// source sends nothing of the flow. Without it a flow keeps its path.
        #[serde(skip_serializing_if = "Option::is_none")]
        flowlet_gap_ps: Option<u64> = None => Notes::POSITIVE,
    }
}

// Serde hands a reference to these.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_false(same: &bool) -> bool {
    !same
}

#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_one(flows: &u32) -> bool {
    *flows == 1
}

impl AlgorithmKeys for EcmpKeys {
    /// A message is part of a flow, which has one path; flowlets are there to change it.
    const PER_MESSAGE: bool = false;

    fn spec(&self, usual: &Usual<'_>) -> Result<RoutingSpec, RoutingError> {
        let options = EcmpOptions {
            hash_seed: self.hash_seed,
            same_hash: self.same_hash,
            flows: self.flows_per_pair,
            flowlet_gap_ps: self.flowlet_gap_ps,
        };
        self.links.on(RoutingSpec {
            paths: self.paths.or(usual),
            ..RoutingSpec::new(Algorithm::Ecmp(options))
        })
    }
}

/// What there is to choose about [`Ecmp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcmpOptions {
    /// Seed of the hash.
    pub hash_seed: u64,
    /// Whether all routers compute the same hash.
    pub same_hash: bool,
    /// Flows between two nodes, at least 1.
    pub flows: u32,
    /// Pause after which a flow takes another path, in ps.
    pub flowlet_gap_ps: Option<u64>,
}

impl Default for EcmpOptions {
    fn default() -> Self {
        Self {
            hash_seed: 0,
            same_hash: false,
            flows: 1,
            flowlet_gap_ps: None,
        }
    }
}

/// Equal-cost multi-path routing (RFC 2992): [`Minimal`] or its form by tables, in which a hash of source,
/// destination, label of the flow and router stands for the random draw, so that all packets of a flow
/// take one path. Where a flow is as large as a link, the load of `k` equal links is that of balls thrown
/// into bins.
///
/// A label distinguishes the flows of a pair of nodes, and the flowlets of a flow: after a pause a flow may
/// take another path without overtaking itself (CONGA: Alizadeh et al., SIGCOMM 2014), and a random one is
/// enough, as flowlets on slow paths get shorter (LetFlow: Vanini et al., NSDI 2017). The source's
/// interface writes it, as hosts write the source port of UDP, [`Routing::flow_labels`]: in
/// [`PacketRoute::intermediate`], for which minimal routes have no other use.
#[derive(Clone, Debug)]
pub struct Ecmp {
    base: Base,
    hash: StreamKey,
    same_hash: bool,
    labels: Option<FlowLabels>,
}

/// The routes of equal cost.
#[derive(Clone, Debug)]
enum Base {
    Groups(Minimal),
    Tables(Tabled),
}

/// Which labels a network's sources give the packets that they send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLabels {
    key: StreamKey,
    flows: u32,
    /// Pause after which a flow has another label, in ps.
    pub gap_ps: Option<u64>,
}

impl FlowLabels {
    /// The flow of its pair that the source's message of this number belongs to.
    #[inline]
    pub fn flow_of(&self, message: u32) -> u32 {
        match self.flows {
            1 => 0,
            // Sources send to many nodes in turn, so that their own count would not spread.
            flows => self.key.below(u64::from(message), 0, flows),
        }
    }

    /// The label of a flow of the pair after this many pauses.
    #[inline]
    pub fn label(&self, flow: u32, pauses: u32) -> u32 {
        let number = u64::from(pauses) * u64::from(self.flows) + u64::from(flow);
        (number % LABELS) as u32
    }
}

/// The label of one of several pairs of ranks whose packets go from one interface to another.
#[inline]
pub(super) fn label_of_ranks(label: u32, ranks: u32, from: u32, to: u32) -> u32 {
    let label = if label == NONE { 0 } else { label };
    let pairs = u64::from(ranks) * u64::from(ranks);
    let number = u64::from(label) * pairs + u64::from(from) * u64::from(ranks) + u64::from(to);
    (number % LABELS) as u32
}

impl Ecmp {
    /// A path for each flow over the links between groups.
    ///
    /// # Errors
    /// As [`Minimal::new`].
    pub fn over_groups(
        routes: GroupedRoutes,
        links: MinimalLinks,
        options: EcmpOptions,
        virtual_channels: Option<u8>,
    ) -> Result<Self, RoutingError> {
        let minimal = Minimal::new(routes, links, Choice::Random, virtual_channels)?;
        Ok(Self::new(Base::Groups(minimal), options))
    }

    /// A path for each flow among those of `tables`, which choose at random.
    pub fn over_tables(tables: Tabled, options: EcmpOptions) -> Self {
        Self::new(Base::Tables(tables), options)
    }

    fn new(base: Base, options: EcmpOptions) -> Self {
        let hash = StreamKey::new(options.hash_seed, Purpose::Flows);
        let one_label = options.flows == 1 && options.flowlet_gap_ps.is_none();
        Self {
            base,
            hash,
            same_hash: options.same_hash,
            labels: (!one_label).then_some(FlowLabels {
                key: hash,
                flows: options.flows,
                gap_ps: options.flowlet_gap_ps,
            }),
        }
    }

    /// The hash of a packet's flow at a router.
    #[inline]
    fn hash(&self, at: RouterId, source: NodeId, route: &PacketRoute) -> u64 {
        let pair = u64::from(source.0) << 32 | u64::from(route.destination_router);
        let of_pair = self.hash.bits64(pair, u32::from(route.destination_port));
        let label = match route.intermediate {
            NONE => 0,
            label => label,
        };
        let router = if self.same_hash { 0 } else { at.0 };
        of_pair.wrapping_add(u64::from(label) << 32 | u64::from(router))
    }
}

/// A router whose draws are hashes of the packet's flow.
struct HashingRouter<'a, V> {
    view: &'a mut V,
    key: StreamKey,
    flow: u64,
    draws: u32,
}

impl<V: RouterView> RouterView for HashingRouter<'_, V> {
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        self.view.occupancy_bytes(port)
    }

    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        self.view.remote_occupancy_bytes(port)
    }

    #[inline]
    fn random_below(&mut self, bound: u32) -> u32 {
        self.draws += 1;
        self.key.below(self.flow, self.draws, bound)
    }
}

impl Routing for Ecmp {
    fn virtual_channels(&self) -> u8 {
        match &self.base {
            Base::Groups(minimal) => minimal.virtual_channels(),
            Base::Tables(tables) => tables.virtual_channels(),
        }
    }

    fn reads_occupancy(&self) -> bool {
        false
    }

    fn is_by_flow(&self) -> bool {
        true
    }

    fn flow_labels(&self) -> Option<FlowLabels> {
        self.labels
    }

    #[inline]
    fn next_hop<V: RouterView>(
        &self,
        view: &mut V,
        at: RouterId,
        injected: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        let flow = self.hash(at, view.source_node(), route);
        let mut view = HashingRouter {
            view,
            key: self.hash,
            flow,
            draws: 0,
        };
        match &self.base {
            Base::Groups(minimal) => minimal.next_hop(&mut view, at, injected, route),
            Base::Tables(tables) => tables.next_hop(&mut view, at, injected, route),
        }
    }

    fn possible_hops(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
        out: &mut Vec<(Hop, PacketRoute)>,
    ) {
        match &self.base {
            Base::Groups(minimal) => minimal.possible_hops(at, injected, route, out),
            Base::Tables(tables) => tables.possible_hops(at, injected, route, out),
        }
    }

    fn relevant_destination(
        &self,
        at: RouterId,
        injected: bool,
        route: &PacketRoute,
    ) -> RelevantDestination {
        match &self.base {
            Base::Groups(minimal) => minimal.relevant_destination(at, injected, route),
            Base::Tables(tables) => tables.relevant_destination(at, injected, route),
        }
    }
}

#[cfg(test)]
mod tests;
