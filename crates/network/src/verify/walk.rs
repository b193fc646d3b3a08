//! Walks all routes to a batch of destinations, hop by hop.

use odonata_units::{PortId, RouterId};
use rustc_hash::FxHashMap;

use super::dependency::Dependencies;
use super::{Channel, VerifyError, relative};
use crate::routing::{Hop, Lanes, PacketRoute, RelevantDestination, Routing};
use crate::topology::{Peer, Topology};

/// Where packets are and what they carry, their destinations apart. Packets in the
/// same state for the same destination have the same possible hops, whatever
/// channel they have come by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    at: u32,
    waypoint: u32,
    intermediate: u32,
    phase: u8,
    vc: u8,
    injected: bool,
}

/// The packets of a state that have come by one channel.
#[derive(Clone, Copy)]
struct Arrival {
    /// The channel, or [`NO_CHANNEL`] if they have just been injected.
    channel: u32,
    /// Their targets, a bit each.
    mask: u64,
}

/// States after the same number of hops, with the packets in them.
#[derive(Default)]
struct Level {
    states: FxHashMap<State, Vec<Arrival>>,
    /// Arrivals of all states.
    arrivals: usize,
}

impl Level {
    fn push(&mut self, state: State, channel: u32, mask: u64) {
        if mask == 0 {
            return;
        }
        let arrivals = self.states.entry(state).or_default();
        // What comes by one channel mostly comes in a row.
        match arrivals.iter_mut().rev().find(|a| a.channel == channel) {
            Some(arrival) => arrival.mask |= mask,
            None => {
                arrivals.push(Arrival { channel, mask });
                self.arrivals += 1;
            }
        }
    }

    fn clear(&mut self) {
        self.states.clear();
        self.arrivals = 0;
    }
}

/// What a packet may do next: its own hops, and those of other packets, see
/// [`Routing::possible_hops_in_parts`].
#[derive(Default)]
struct Possible {
    hops: Vec<(Hop, PacketRoute)>,
    as_if: Vec<PacketRoute>,
}

/// Destination routers of one group that are walked to together, with one bit: as
/// many as possible at first, and one by one from where their routers matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The group.
    pub group: u32,
    /// First destination router.
    pub first: u32,
    /// Last destination router; it stands for all those between when claims of
    /// the algorithm are checked.
    pub last: u32,
}

/// Packets whose next hop depends on which of the routers of their target they are
/// for.
#[derive(Clone, Copy)]
pub(super) struct DivergingPackets {
    /// Hops that they have made.
    hops: u32,
    state: State,
    /// See [`Arrival::channel`].
    channel: u32,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All routes were walked.
    Whole,
    /// There are routes without end.
    Endless,
    /// [`Limits::hops`] was reached.
    TooLong,
    /// [`Limits::go_on`] said no.
    Stopped,
}

/// When to give up.
pub(super) struct Limits<'a> {
    /// Most hops to consider, those of earlier batches included.
    pub hops: u64,
    /// Asked a few times a second whether to go on; within a walk it is called with [`Walk::hops`].
    pub go_on: &'a mut dyn FnMut(Option<u64>) -> bool,
}

/// Hops to consider between two calls of [`Limits::go_on`].
const HOPS_BETWEEN_ASKING: u64 = 1 << 20;

/// Most arrivals of one level: it then takes about 1 GB.
const MOST_ARRIVALS: usize = 1 << 25;

/// Marks a port that is not wired to another router, or no channel.
const NO_CHANNEL: u32 = u32::MAX;

pub(super) struct Walk<'a, R> {
    topology: &'a Topology,
    routing: &'a R,
    lanes: Lanes,
    /// First channel of each port, or [`NO_CHANNEL`]. Shape: ports.
    channel_of_port: Vec<u32>,
    graph: Dependencies,
    /// Routers that have nodes.
    endpoints: Vec<u32>,
    /// First port of each router that has a node, relative. Shape: routers.
    node_port: Vec<u16>,
    hops: u64,
    states: u64,
    longest_route: u32,
    /// Value of `hops` when [`Limits::go_on`] was asked last.
    asked: u64,
    scratch: Scratch,
}

/// Lists that are filled anew for every state.
#[derive(Default)]
struct Scratch {
    chosen: Possible,
    others: Possible,
    last: Possible,
    /// Bits of the channels that leave a router.
    wanted: Vec<u64>,
}

impl<'a, R: Routing> Walk<'a, R> {
    /// Targets per batch.
    pub(super) const BATCH: usize = 64;

    pub(super) fn new(topology: &'a Topology, routing: &'a R, lanes: Option<u8>) -> Self {
        let lanes = Lanes::new(routing.virtual_channels(), lanes);
        let routers = topology.routers();
        let mut channel_of_port = vec![NO_CHANNEL; topology.ports()];
        let mut leaving = vec![0; routers];
        let mut head = Vec::new();
        let mut node_port = vec![u16::MAX; routers];
        let router_of_port = topology.router_of_every_port();
        for router in 0..routers {
            let id = RouterId::from_index(router);
            for port in topology.ports_of(id) {
                match topology.peer[port] {
                    Peer::Port(peer) => {
                        channel_of_port[port] = head.len() as u32;
                        leaving[router] += u32::from(lanes.count());
                        let to = router_of_port[peer.index()].0;
                        head.resize(head.len() + usize::from(lanes.count()), to);
                    }
                    Peer::Node(_) => {
                        let port = relative(topology, id, PortId::from_index(port));
                        node_port[router] = node_port[router].min(port);
                    }
                    Peer::Unconnected => {}
                }
            }
        }
        let has_node = |&r: &u32| node_port[r as usize] != u16::MAX;
        Self {
            topology,
            routing,
            lanes,
            channel_of_port,
            graph: Dependencies::new(&leaving, head),
            endpoints: (0..routers as u32).filter(has_node).collect(),
            node_port,
            hops: 0,
            states: 0,
            longest_route: 0,
            asked: 0,
            scratch: Scratch::default(),
        }
    }

    /// Routers that have nodes, in order.
    pub(super) fn endpoints(&self) -> &[u32] {
        &self.endpoints
    }

    pub(super) fn channels(&self) -> u64 {
        self.graph.channels() as u64
    }

    pub(super) fn dependencies(&self) -> u64 {
        self.graph.len()
    }

    pub(super) fn hops(&self) -> u64 {
        self.hops
    }

    pub(super) fn states(&self) -> u64 {
        self.states
    }

    pub(super) fn longest_route(&self) -> u32 {
        self.longest_route
    }

    /// A short cycle of dependencies found so far.
    pub(super) fn cycle(&self) -> Option<Vec<Channel>> {
        let cycle = self.graph.cycle()?;
        Some(cycle.into_iter().map(|c| self.channel(c)).collect())
    }

    fn channel(&self, channel: u32) -> Channel {
        let from = RouterId(self.graph.tail(channel));
        let count = u32::from(self.lanes.count());
        let offset = channel - self.graph.first_leaving(from.index());
        let slot = (offset / count) as usize;
        let port = self
            .topology
            .ports_of(from)
            .filter(|&port| self.channel_of_port[port] != NO_CHANNEL)
            .nth(slot)
            .unwrap_or_default();
        Channel {
            from,
            to: RouterId(self.graph.head(channel)),
            port: relative(self.topology, from, PortId::from_index(port)),
            vc: (offset % count) as u8,
        }
    }

    /// The targets of `destinations`, which are in order: one for each group.
    pub(super) fn targets(&self, destinations: &[u32]) -> Vec<(Target, Vec<u32>)> {
        let group = |router: u32| self.topology.group_of_router[router as usize].0;
        let mut by_group = destinations.to_vec();
        by_group.sort_by_key(|&router| (group(router), router));
        let of_group = |members: &[u32]| {
            let target = Target {
                group: group(members[0]),
                first: members[0],
                last: members[members.len() - 1],
            };
            (target, members.to_vec())
        };
        by_group
            .chunk_by(|&a, &b| group(a) == group(b))
            .map(of_group)
            .collect()
    }

    /// Walks all routes to at most [`Walk::BATCH`] targets as far as their groups
    /// tell the way, and returns the packets of each whose way depends on the router.
    pub(super) fn walk_to_groups(
        &mut self,
        targets: &[(Target, Vec<u32>)],
        limits: &mut Limits<'_>,
    ) -> Result<(Ended, Vec<Vec<DivergingPackets>>), VerifyError> {
        let mut partings = vec![Vec::new(); targets.len()];
        let mut level = Level::default();
        for &source in &self.endpoints {
            let mut mask = 0;
            for (bit, (_, members)) in targets.iter().enumerate() {
                let connects = |&&to: &&u32| self.routing.connects(RouterId(source), RouterId(to));
                match members.iter().filter(connects).count() {
                    0 => {}
                    all if all == members.len() => mask |= 1 << bit,
                    _ => partings[bit].push(DivergingPackets {
                        hops: 0,
                        state: injected(source),
                        channel: NO_CHANNEL,
                    }),
                }
            }
            level.push(injected(source), NO_CHANNEL, mask);
        }
        let targets: Vec<Target> = targets.iter().map(|(target, _)| *target).collect();
        let ended = self.walk(&targets, level, &[], &mut partings, limits)?;
        Ok((ended, partings))
    }

    /// Goes on with `partings` to at most [`Walk::BATCH`] of the routers that they
    /// are for.
    pub(super) fn walk_to_routers(
        &mut self,
        destinations: &[u32],
        partings: &[DivergingPackets],
        limits: &mut Limits<'_>,
    ) -> Result<Ended, VerifyError> {
        let target = |&router: &u32| Target {
            group: self.topology.group_of_router[router as usize].0,
            first: router,
            last: router,
        };
        let targets: Vec<Target> = destinations.iter().map(target).collect();
        self.walk(&targets, Level::default(), partings, &mut [], limits)
    }

    /// Walks all routes of the packets in `level`, and of `later` from the hop on
    /// at which they are there. Packets whose way depends on which router of several
    /// they are for go to `partings`, by target.
    fn walk(
        &mut self,
        targets: &[Target],
        mut level: Level,
        later: &[DivergingPackets],
        partings: &mut [Vec<DivergingPackets>],
        limits: &mut Limits<'_>,
    ) -> Result<Ended, VerifyError> {
        let mut later = later.iter().peekable();
        let all = u64::MAX >> (Self::BATCH - targets.len());
        let header =
            |router: u32| PacketRoute::injected(RouterId(router), self.node_port[router as usize]);
        let mut step = Step {
            targets,
            headers: (targets.iter().map(|t| (header(t.first), header(t.last)))).collect(),
            hops_made: 0,
            next: Level::default(),
            shared: Level::default(),
            partings,
        };
        loop {
            while let Some(parting) = later.next_if(|parting| parting.hops == step.hops_made) {
                let mut mask = all;
                if parting.state.injected {
                    let source = RouterId(parting.state.at);
                    for (bit, target) in targets.iter().enumerate() {
                        let connects = self.routing.connects(source, RouterId(target.first));
                        mask &= !(u64::from(!connects) << bit);
                    }
                }
                level.push(parting.state, parting.channel, mask);
            }
            if level.arrivals > 0 {
                self.longest_route = self.longest_route.max(step.hops_made);
            } else if later.peek().is_none() {
                return Ok(Ended::Whole);
            }
            for (&state, arrivals) in &level.states {
                self.visit(state, arrivals, true, &mut step)?;
                if let Some(ended) = self.give_up(&step, limits)? {
                    return Ok(ended);
                }
            }
            // What packets of several states share is followed after them all.
            let shared = std::mem::take(&mut step.shared);
            for (&state, arrivals) in &shared.states {
                self.visit(state, arrivals, false, &mut step)?;
                if let Some(ended) = self.give_up(&step, limits)? {
                    return Ok(ended);
                }
            }
            level.clear();
            std::mem::swap(&mut level, &mut step.next);
            step.hops_made += 1;
            // Without a cycle of dependencies no route visits a channel twice,
            // so a walk that does not end shows in the graph; or, where nobody waits for some of
            // the channels, in its length.
            let hops_made = step.hops_made;
            let too_long = level.arrivals > 0 && u64::from(hops_made) > self.channels();
            if hops_made.is_power_of_two() && hops_made >= 64 && self.graph.has_cycle()
                || R::RESERVES && too_long
            {
                return Ok(Ended::Endless);
            }
        }
    }

    fn give_up(
        &mut self,
        step: &Step<'_>,
        limits: &mut Limits<'_>,
    ) -> Result<Option<Ended>, VerifyError> {
        if self.hops > limits.hops {
            return Ok(Some(Ended::TooLong));
        }
        if step.next.arrivals.max(step.shared.arrivals) > MOST_ARRIVALS {
            return Err(VerifyError::TooManyStates {
                limit: MOST_ARRIVALS as u64,
            });
        }
        if self.hops - self.asked > HOPS_BETWEEN_ASKING {
            self.asked = self.hops;
            if !(limits.go_on)(Some(self.hops)) {
                return Ok(Some(Ended::Stopped));
            }
        }
        Ok(None)
    }

    /// Follows the packets in `state`; `in_parts`: what they share with those of
    /// other states only as far as `step.shared`.
    fn visit(
        &mut self,
        state: State,
        arrivals: &[Arrival],
        in_parts: bool,
        step: &mut Step<'_>,
    ) -> Result<(), VerifyError> {
        let at = RouterId(state.at);
        let routing = self.routing;
        let packet = |header: &PacketRoute| PacketRoute {
            waypoint: state.waypoint,
            intermediate: state.intermediate,
            phase: state.phase,
            vc: state.vc,
            ..*header
        };
        let (targets, headers) = (step.targets, std::mem::take(&mut step.headers));
        let relevant = |bit: u32| {
            let packet = packet(&headers[bit as usize].0);
            routing.relevant_destination(at, state.injected, &packet)
        };
        let mut listed = 0;
        let mut list = |header: &PacketRoute, Possible { hops, as_if }: &mut Possible| {
            hops.clear();
            as_if.clear();
            let packet = packet(header);
            if in_parts {
                routing.possible_hops_in_parts(at, state.injected, &packet, hops, as_if);
            } else {
                routing.possible_hops(at, state.injected, &packet, hops);
            }
            listed += (hops.len() + as_if.len()) as u64;
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch {
            chosen,
            others,
            last,
            wanted,
        } = &mut scratch;
        // Targets in a row that have the same possible hops, `chosen`.
        let mut alike = 0u64;
        let mut rest = arrivals.iter().fold(0, |union, a| union | a.mask);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            let target = targets[bit as usize];
            let mut run = 1u64 << bit;
            rest &= !run;
            let matters = relevant(bit);
            if matters == RelevantDestination::Router && target.first != target.last {
                step.part(state, arrivals, bit);
                continue;
            }
            if matters != RelevantDestination::Router {
                for other in bits(rest) {
                    let group = targets[other as usize].group;
                    let nothing = matters == RelevantDestination::Nothing;
                    if (nothing || group == target.group) && relevant(other) == matters {
                        run |= 1 << other;
                    }
                }
            }
            list(&headers[bit as usize].0, others);
            let farthest = 63 - run.leading_zeros();
            if targets[farthest as usize].last != target.first {
                // The claim is checked on the two that are farthest apart.
                list(&headers[farthest as usize].1, last);
                if !same_but_for_destination(others, last) {
                    if target.first != target.last {
                        step.part(state, arrivals, bit);
                        continue;
                    }
                    run = 1 << bit;
                }
            }
            rest &= !run;
            if alike != 0 && same_but_for_destination(chosen, others) {
                alike |= run;
                continue;
            }
            if alike != 0 {
                self.take((state, arrivals), chosen, alike, (step, &headers), wanted)?;
            }
            std::mem::swap(chosen, others);
            alike = run;
        }
        if alike != 0 {
            self.take((state, arrivals), chosen, alike, (step, &headers), wanted)?;
        }
        self.hops += listed;
        let packets = arrivals.iter().map(|a| u64::from(a.mask.count_ones()));
        self.states += packets.sum::<u64>();
        self.scratch = scratch;
        step.headers = headers;
        Ok(())
    }

    /// Follows every possible hop of the packets of `arrivals` for the targets of
    /// `mask`.
    fn take(
        &mut self,
        (state, arrivals): (State, &[Arrival]),
        possible: &Possible,
        mask: u64,
        (step, headers): (&mut Step<'_>, &[Headers]),
        wanted: &mut Vec<u64>,
    ) -> Result<(), VerifyError> {
        let at = RouterId(state.at);
        let bit = mask.trailing_zeros() as usize;
        let (target, packet) = (step.targets[bit], headers[bit].0);
        let destination = RouterId(packet.destination_router);
        let Possible { hops, as_if } = possible;
        if hops.is_empty() && as_if.is_empty() {
            return Err(VerifyError::Stuck { at, destination });
        }
        let ports = self.topology.ports_of(at);
        let first = self.graph.first_leaving(at.index());
        wanted.clear();
        wanted.resize(self.graph.words_at(at.index()), 0);
        let union = arrivals.iter().fold(0, |union, a| union | a.mask) & mask;
        for (hop, route) in hops {
            let port = ports.start + usize::from(hop.port);
            let peer = if ports.contains(&port) {
                self.topology.peer[port]
            } else {
                Peer::Unconnected
            };
            match peer {
                Peer::Unconnected => {
                    return Err(VerifyError::Nowhere {
                        at,
                        port: hop.port,
                        destination,
                    });
                }
                Peer::Node(_) => {
                    // A packet for another destination must not be handed over.
                    let alone = mask.is_power_of_two() && target.first == target.last;
                    if at != destination || hop.port != packet.destination_port || !alone {
                        return Err(VerifyError::WrongNode {
                            at,
                            port: hop.port,
                            destination,
                        });
                    }
                }
                Peer::Port(_) => {
                    if hop.vc >= self.lanes.channels() {
                        return Err(VerifyError::NoSuchChannel {
                            at,
                            vc: hop.vc,
                            channels: self.lanes.channels(),
                            destination,
                        });
                    }
                    for lane in self.lanes.of(hop.vc) {
                        let channel = self.channel_of_port[port] + u32::from(lane);
                        if self.routing.waits_for_room(*hop) {
                            let slot = (channel - first) as usize;
                            wanted[slot / 64] |= 1 << (slot % 64);
                        }
                        let after = State {
                            at: self.graph.head(channel),
                            waypoint: route.waypoint,
                            intermediate: route.intermediate,
                            phase: route.phase,
                            vc: hop.vc,
                            injected: false,
                        };
                        step.next.push(after, channel, union);
                    }
                }
            }
        }
        for arrival in arrivals.iter().filter(|a| a.mask & mask != 0) {
            if arrival.channel != NO_CHANNEL {
                self.graph.insert_all(arrival.channel, wanted);
            }
            for route in as_if {
                let like = State {
                    at: state.at,
                    waypoint: route.waypoint,
                    intermediate: route.intermediate,
                    phase: route.phase,
                    vc: route.vc,
                    injected: false,
                };
                let mask = arrival.mask & mask;
                step.shared.push(like, arrival.channel, mask);
            }
        }
        Ok(())
    }
}

/// A freshly injected packet for the first and for the last router of a target.
type Headers = (PacketRoute, PacketRoute);

/// What one hop of a walk reads and fills.
struct Step<'a> {
    targets: &'a [Target],
    /// By target.
    headers: Vec<Headers>,
    hops_made: u32,
    next: Level,
    /// What packets of this hop have in common, see
    /// [`Routing::possible_hops_in_parts`].
    shared: Level,
    /// See [`Walk::walk`].
    partings: &'a mut [Vec<DivergingPackets>],
}

impl Step<'_> {
    /// Sets the packets for target number `bit` aside.
    fn part(&mut self, state: State, arrivals: &[Arrival], bit: u32) {
        let parting = |arrival: &Arrival| DivergingPackets {
            hops: self.hops_made,
            state,
            channel: arrival.channel,
        };
        let for_it = arrivals.iter().filter(|a| a.mask >> bit & 1 != 0);
        self.partings[bit as usize].extend(for_it.map(parting));
    }
}

/// The state of packets that have just been injected at `source`.
fn injected(source: u32) -> State {
    State {
        at: source,
        waypoint: crate::routing::NONE,
        intermediate: crate::routing::NONE,
        phase: 0,
        vc: 0,
        injected: true,
    }
}

/// Numbers of the bits of a mask.
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}

fn same_but_for_destination(a: &Possible, b: &Possible) -> bool {
    let blank = |route: &PacketRoute| PacketRoute {
        destination_router: 0,
        destination_port: 0,
        ..*route
    };
    let hop = |(hop, route): &(Hop, PacketRoute)| (*hop, blank(route));
    a.hops.len() == b.hops.len()
        && a.as_if.len() == b.as_if.len()
        && a.hops.iter().map(hop).eq(b.hops.iter().map(hop))
        && a.as_if.iter().map(blank).eq(b.as_if.iter().map(blank))
}
