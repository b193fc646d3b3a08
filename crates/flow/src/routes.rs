//! Which links a message's bytes cross: paths drawn from a routing algorithm of
//! the network room, hop by hop, as a packet would be routed.
//!
//! *Oblivious* algorithms (minimal, Valiant, shortest-path) spread the packets
//! of a message over their paths whatever the network does. So the message is
//! one flow that uses every link with the share of drawn paths that cross it.
//!
//! *Adaptive* algorithms (UGAL, PAR) look where there is room. So the message has
//! as many parts as paths are drawn, and each takes a minimal path or a detour,
//! whichever costs less when the message begins: the number of links between
//! routers over the rate that a new flow would get on the path's fullest one.
//! That is UGAL's product of hops and queue (Kim et al. 2008) with queues, of
//! which there are none here, replaced by what they stand for.

use odonata_network::routing::{
    AdaptiveOptions, Algorithm, AnyRouting, FlowLabels, NONE, PacketRoute, RouterView, Routing,
    RoutingError, RoutingSpec, RoutingTask, Weighting,
};
use odonata_network::{LinkClass, Peer, Topology};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{NodeId, Picoseconds, PortId, RouterId};

use crate::share::{FairShare, LinkId, Use};

/// Most hops of a route before it is taken for one without end.
const MOST_HOPS: usize = 64;

/// Draws of a packet at one router, see [`RouterView::random_below`].
const DRAWS_PER_HOP: u32 = 64;

/// The links of a network as the flow engine numbers them: what router ports
/// send, in the order of ports, then what nodes send.
#[derive(Clone, Copy, Debug)]
pub struct LinkNumbers {
    ports: u32,
}

impl LinkNumbers {
    /// The links of this network.
    pub fn new(topology: &Topology) -> Self {
        Self {
            ports: topology.ports() as u32,
        }
    }

    /// The link from a router port to its peer.
    #[inline]
    pub const fn port(self, port: PortId) -> LinkId {
        LinkId(port.0)
    }

    /// The link from a node to its router.
    #[inline]
    pub const fn node(self, node: NodeId) -> LinkId {
        LinkId(self.ports + node.0)
    }

    /// Capacities of all links in bytes per picosecond; of unconnected ports, too,
    /// which no path crosses. Shape: ports + nodes.
    pub fn capacities(topology: &Topology) -> impl Iterator<Item = f64> + '_ {
        let ports = (0..topology.ports()).map(PortId::from_index);
        let ports = ports.chain(topology.port_of_node.iter().copied());
        ports.map(|port| topology.link_class(port).goodput() * 1e-12)
    }
}

/// What passing a router and starting over links costs at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Delay of a router.
    pub router: Picoseconds,
    /// Bytes that must have arrived before a router goes on with them: a flit
    /// under cut-through, a packet under store-and-forward.
    pub head_bytes: u64,
}

/// Why the flow engine cannot follow a routing algorithm.
#[derive(Clone, Debug, PartialEq)]
pub enum RouteError {
    /// It decides by what the flow engine does not have.
    NoFlows {
        /// Name of the algorithm.
        algorithm: &'static str,
    },
    /// It has an advantage of minimal routes in bytes of queues.
    Threshold,
    /// It changes the path of a flow after a pause between packets.
    Flowlets,
    /// It does not fit the network.
    Routing(RoutingError),
}

impl std::fmt::Display for RouteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoFlows { algorithm } => write!(
                f,
                "the flow engine has no {algorithm} routing, which decides packet by packet at every \
                 router; take minimal, ecmp, valiant, ugal-l, ugal-g, par, dfsssp or shortest-path, or the \
                 packet engine"
            ),
            Self::Threshold => write!(
                f,
                "the flow engine has no queues to compare with a threshold in bytes; leave it out, \
                 or take the packet engine"
            ),
            Self::Flowlets => write!(
                f,
                "the flow engine has no packets between which a flow pauses; leave it out, or take the \
                 packet engine"
            ),
            Self::Routing(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RouteError {}

/// How paths are chosen.
#[derive(Clone, Debug)]
enum Choosing {
    Oblivious(Box<AnyRouting>),
    Adaptive {
        minimal: Box<AnyRouting>,
        detours: Box<AnyRouting>,
        options: AdaptiveOptions,
    },
}

/// One way of a message's bytes: a flow of the sharing.
#[derive(Clone, Copy, Debug)]
pub struct WeightedPath<'a> {
    /// Links that it crosses.
    pub path: &'a [Use],
    /// Its weight beside the message's other ways; they add up to 1.
    pub weight: f64,
}

/// Draws paths, hop by hop.
#[derive(Clone, Debug)]
struct Walker<'t> {
    topology: &'t Topology,
    router_of_port: Vec<RouterId>,
    numbers: LinkNumbers,
    delays: Delays,
    key: StreamKey,
    /// Paths that each node has drawn. Shape: nodes.
    drawn: Vec<u32>,
    /// The labels of flows, where two nodes have several.
    labels: Option<FlowLabels>,
    /// Messages of each node so far. Shape: nodes, or empty without labels.
    messages: Vec<u32>,
    /// What a packet of the message carries that is routed.
    label: u32,
}

/// The ways of one message after another.
#[derive(Clone, Debug)]
pub struct Routes<'t> {
    walker: Walker<'t>,
    choosing: Choosing,
    /// Paths drawn per message.
    paths: u32,
    /// Share of the message of each of its parts.
    part: f64,
    // Of the message last routed.
    uses: Vec<Use>,
    /// Ends of ways in `uses`.
    ends: Vec<u32>,
    latency: Picoseconds,
    routers: f64,
    /// Place of a link in `uses`, where `mark` is `epoch`. Shape: links.
    place: Vec<u32>,
    mark: Vec<u32>,
    epoch: u32,
    /// Parts of the message that cross a link, where `own_mark` is `message`.
    own_parts: Vec<u32>,
    own_mark: Vec<u32>,
    message: u32,
    // Paths that are compared.
    path: Vec<LinkId>,
    other: Vec<LinkId>,
}

impl<'t> Routes<'t> {
    /// Paths of `spec` on `topology`, at most `paths` for each message, at least 1.
    ///
    /// # Errors
    /// If the flow engine has no such routing, or it does not fit the network.
    pub fn new(
        topology: &'t Topology,
        spec: &RoutingSpec,
        mut paths: u32,
        delays: Delays,
        seed: u64,
    ) -> Result<Self, RouteError> {
        let mut labels = None;
        let build = |algorithm| {
            let spec = RoutingSpec {
                algorithm,
                virtual_channels: None,
                ..*spec
            };
            AnyRouting::new(topology, &spec)
                .map(Box::new)
                .map_err(RouteError::Routing)
        };
        let choosing = match spec.algorithm {
            Algorithm::Minimal
            | Algorithm::Valiant { .. }
            | Algorithm::ShortestPath
            | Algorithm::UpDown
            | Algorithm::Dfsssp
            | Algorithm::DimensionOrder => Choosing::Oblivious(build(spec.algorithm)?),
            Algorithm::Ecmp(options) => {
                if options.flowlet_gap_ps.is_some() {
                    return Err(RouteError::Flowlets);
                }
                let routing = build(spec.algorithm)?;
                labels = routing.flow_labels();
                // Of packets that choose among interfaces, each may take another path.
                if topology.inside.is_none() {
                    paths = 1;
                }
                Choosing::Oblivious(routing)
            }
            Algorithm::UgalLocal(options)
            | Algorithm::UgalGlobal(options)
            | Algorithm::Par(options) => {
                if options.threshold_bytes != 0 {
                    return Err(RouteError::Threshold);
                }
                // Checks the options, which are its own.
                build(spec.algorithm)?;
                // Where two groups are not joined, traffic between them has no minimal route: of what
                // always prefers minimal ones, a route by way of a third group is in its place.
                let prefers_minimal = || {
                    build(Algorithm::UgalLocal(AdaptiveOptions {
                        threshold_bytes: i64::MAX,
                        ..options
                    }))
                };
                let minimal = match build(Algorithm::Minimal) {
                    Err(RouteError::Routing(RoutingError::GroupsNotJoined { .. })) => {
                        prefers_minimal()
                    }
                    minimal => minimal,
                };
                Choosing::Adaptive {
                    minimal: minimal?,
                    detours: build(Algorithm::Valiant { via: options.via })?,
                    options,
                }
            }
            // Of the others nothing is known that stands for their queues.
            _ => {
                return Err(RouteError::NoFlows {
                    algorithm: spec.algorithm.name(),
                });
            }
        };
        let links = topology.ports() + topology.nodes();
        Ok(Self {
            walker: Walker {
                topology,
                router_of_port: topology.router_of_every_port(),
                numbers: LinkNumbers::new(topology),
                delays,
                key: StreamKey::new(seed, Purpose::Routing),
                drawn: vec![0; topology.nodes()],
                messages: vec![
                    0;
                    if labels.is_some() {
                        topology.nodes()
                    } else {
                        0
                    }
                ],
                labels,
                label: NONE,
            },
            choosing,
            paths: paths.max(1),
            part: 1.0,
            uses: Vec::new(),
            ends: Vec::new(),
            latency: Picoseconds::ZERO,
            routers: 0.0,
            place: vec![0; links],
            mark: vec![0; links],
            epoch: 0,
            own_parts: vec![0; links],
            own_mark: vec![0; links],
            message: 0,
            path: Vec::new(),
            other: Vec::new(),
        })
    }

    /// Chooses the ways of a message of `bytes` in packets of `packet` bytes
    /// between two nodes that are not the same, beside the flows of `share`. Read
    /// them by [`paths`](Self::paths).
    pub fn route(
        &mut self,
        source: NodeId,
        destination: NodeId,
        bytes: u64,
        packet: u64,
        share: &FairShare,
    ) {
        let paths = u64::from(self.paths).min(bytes.div_ceil(packet)).max(1);
        self.part = 1.0 / paths as f64;
        let head = self.walker.delays.head_bytes.min(bytes);
        self.uses.clear();
        self.ends.clear();
        self.epoch += 1;
        self.message += 1;
        if let Some(labels) = &self.walker.labels {
            let number = &mut self.walker.messages[source.index()];
            self.walker.label = labels.label(labels.flow_of(*number), 0);
            *number = number.wrapping_add(1);
        }
        let (mut latency, mut routers) = (0u64, 0);
        for _ in 0..paths {
            match &self.choosing {
                Choosing::Oblivious(routing) => {
                    self.walker
                        .walk(routing, source, destination, share, &mut self.path);
                    self.spread(self.part);
                }
                Choosing::Adaptive { .. } => {
                    self.choose(source, destination, share);
                    self.epoch += 1;
                    self.spread(1.0);
                    self.ends.push(self.uses.len() as u32);
                }
            }
            latency += self.walker.latency(&self.path, head).0;
            routers += self.path.len() - 1;
        }
        if self.ends.is_empty() {
            self.ends.push(self.uses.len() as u32);
        }
        self.latency = Picoseconds(latency / paths);
        self.routers = routers as f64 / paths as f64;
    }

    /// The ways of the message last routed.
    pub fn paths(&self) -> impl Iterator<Item = WeightedPath<'_>> {
        let weight = 1.0 / self.ends.len() as f64;
        let mut begin = 0;
        self.ends.iter().map(move |&end| {
            let path = &self.uses[begin as usize..end as usize];
            begin = end;
            WeightedPath { path, weight }
        })
    }

    /// Bytes of one virtual channel that buffers on a path hold, but for the last link's, which
    /// is the node's.
    pub fn room(&self, path: &[Use]) -> u64 {
        let before = path.iter().filter(|step| step.ahead > 0);
        let buffer = |step: &Use| self.walker.class(step.link).buffer.0;
        before.map(buffer).sum()
    }

    /// What the message last routed takes in an empty network beyond its bytes
    /// over the rate of its slowest link; mean of its paths.
    pub fn latency(&self) -> Picoseconds {
        self.latency
    }

    /// Routers that the message last routed passes; mean of its paths.
    pub fn routers(&self) -> f64 {
        self.routers
    }

    /// Adds `path` to what the message uses, each link by `share` more.
    fn spread(&mut self, share: f64) {
        for (ahead, &link) in (0..).zip(self.path.iter().rev()) {
            let index = link.index();
            if self.mark[index] == self.epoch {
                self.uses[self.place[index] as usize].share += share;
            } else {
                self.mark[index] = self.epoch;
                self.place[index] = self.uses.len() as u32;
                self.uses.push(Use { link, share, ahead });
            }
        }
    }

    /// Puts the cheaper of a minimal path and a detour into `path`.
    fn choose(&mut self, source: NodeId, destination: NodeId, share: &FairShare) {
        let Choosing::Adaptive {
            minimal,
            detours,
            options,
        } = &self.choosing
        else {
            return;
        };
        let walker = &mut self.walker;
        let own = self.part;
        let rate = |path: &[LinkId]| {
            let offer = |&link: &LinkId| {
                let earlier = match self.own_mark[link.index()] == self.message {
                    true => self.own_parts[link.index()],
                    false => 0,
                };
                share.offer(link, own * f64::from(earlier + 1))
            };
            path.iter().map(offer).fold(f64::INFINITY, f64::min)
        };
        let groups = |node: NodeId| {
            let port = walker.topology.port_of_node[node.index()];
            walker.topology.group_of_router[walker.router_of_port[port.index()].index()]
        };
        let inside = groups(source) == groups(destination);
        let mut least = f64::INFINITY;
        for (routing, is_minimal) in [(minimal, true), (detours, false)] {
            if inside && !is_minimal && !options.detours_in_group {
                break;
            }
            for _ in 0..options.candidates {
                walker.walk(routing, source, destination, share, &mut self.other);
                // Links between routers: all but those of the nodes.
                let hops = self.other.len().saturating_sub(2).max(1) as f64;
                let weight = match options.weighting {
                    Weighting::Hops => hops,
                    Weighting::Fixed {
                        minimal,
                        non_minimal,
                    } => f64::from(if is_minimal { minimal } else { non_minimal }),
                };
                let cost = weight / rate(&self.other);
                // Equal costs leave it with the minimal path, which comes first.
                if cost < least {
                    least = cost;
                    std::mem::swap(&mut self.path, &mut self.other);
                }
            }
        }
        for &link in &self.path {
            let index = link.index();
            if self.own_mark[index] != self.message {
                (self.own_mark[index], self.own_parts[index]) = (self.message, 0);
            }
            self.own_parts[index] += 1;
        }
    }
}

impl Walker<'_> {
    /// Draws a path of `routing`: the link from the source, those between routers,
    /// the link to the destination.
    fn walk(
        &mut self,
        routing: &AnyRouting,
        source: NodeId,
        destination: NodeId,
        share: &FairShare,
        path: &mut Vec<LinkId>,
    ) {
        let drawn = &mut self.drawn[source.index()];
        let packet = u64::from(source.0) << 32 | u64::from(*drawn);
        *drawn = drawn.wrapping_add(1);
        let last = self.topology.port_of_node[destination.index()];
        let first = self.topology.port_of_node[source.index()];
        let to = self.router_of_port[last.index()];
        let within = (last.0 - self.topology.first_port[to.index()]) as u16;
        path.clear();
        path.push(self.numbers.node(source));
        let task = Walk {
            walker: self,
            share,
            source,
            packet,
            at: self.router_of_port[first.index()],
            route: PacketRoute::injected(to, within).labelled(self.label),
            path,
        };
        routing.dispatch(task);
    }

    fn class(&self, link: LinkId) -> &LinkClass {
        self.topology
            .link_class(match link.0.checked_sub(self.numbers.ports) {
                None => PortId(link.0),
                Some(node) => self.topology.port_of_node[node as usize],
            })
    }

    /// What a message takes beyond its bytes over the rate of the slowest link:
    /// the latencies of all links, the delays of all routers, and the time that
    /// the first `head` bytes take over every link but the slowest.
    fn latency(&self, path: &[LinkId], head: u64) -> Picoseconds {
        let (mut sum, mut slowest) = (0, 0);
        for link in path {
            let class = self.class(*link);
            let head = class.bandwidth.duration_of(head).0;
            sum += class.latency.0 + head;
            slowest = slowest.max(head);
        }
        let routers = path.len() as u64 - 1;
        Picoseconds(sum - slowest + routers * self.delays.router.0)
    }
}

/// The walk of one path.
struct Walk<'a> {
    walker: &'a Walker<'a>,
    share: &'a FairShare,
    source: NodeId,
    packet: u64,
    at: RouterId,
    route: PacketRoute,
    path: &'a mut Vec<LinkId>,
}

impl RoutingTask for Walk<'_> {
    type Output = ();

    fn run<R: Routing>(mut self, routing: &R) {
        let topology = self.walker.topology;
        for hop in 0..MOST_HOPS {
            let mut view = View {
                walk: &self,
                counter: hop as u32 * DRAWS_PER_HOP,
            };
            let mut route = self.route;
            let next = routing.next_hop(&mut view, self.at, hop == 0, &mut route);
            let port = topology.first_port[self.at.index()] + u32::from(next.port);
            self.path.push(self.walker.numbers.port(PortId(port)));
            match topology.peer[port as usize] {
                Peer::Port(peer) => {
                    self.at = self.walker.router_of_port[peer.index()];
                    route.vc = next.vc;
                    self.route = route;
                }
                Peer::Node(_) | Peer::Unconnected => return,
            }
        }
    }
}

/// What a path that is drawn sees of the network.
struct View<'a> {
    walk: &'a Walk<'a>,
    counter: u32,
}

impl RouterView for View<'_> {
    /// Where the shortest queue is wanted: the time in nanoseconds that a new
    /// flow would need for a mebibyte over that link.
    fn occupancy_bytes(&mut self, port: u16) -> u64 {
        let first = self.walk.walker.topology.first_port[self.walk.at.index()];
        self.remote_occupancy_bytes(PortId(first + u32::from(port)))
    }

    fn remote_occupancy_bytes(&self, port: PortId) -> u64 {
        let link = self.walk.walker.numbers.port(port);
        (1_048.576 / self.walk.share.offer(link, 1.0)) as u64
    }

    fn source_node(&self) -> NodeId {
        self.walk.source
    }

    fn random_below(&mut self, bound: u32) -> u32 {
        let counter = self.counter;
        self.counter += 1;
        self.walk.walker.key.below(self.walk.packet, counter, bound)
    }
}
