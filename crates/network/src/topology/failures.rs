//! Parts of a network that do not work: links, routers, nodes that are out of service, and links that
//! have lost some of their lanes.
//!
//! A network keeps its numbers: what is out of service stays in it without links, so that nodes, routers
//! and ports of a damaged network are those of the whole one.

mod optics;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use odonata_declare::Named;
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bandwidth, GroupId, NodeId, Picoseconds, PortId, RouterId, Sender};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use optics::{OpticalCircuit, Optics, Unusable};

use self::optics::OpticalDamage;
use super::node_inside::NodeInside;
use super::validation::senders;
use super::{LinkClass, LinkClassId, Peer, Topology};

/// What the ends of a link have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// These two routers.
    Routers(RouterId, RouterId),
    /// Routers of these two groups.
    Groups(GroupId, GroupId),
    /// This router and any other.
    Router(RouterId),
    /// This port of a router, from 0.
    Port(RouterId, u32),
    /// This interface of a node with an inside, from 0, and the network.
    Interface(NodeId, u32),
}

/// The part of a run in which something does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct During {
    /// Its beginning.
    pub from: Picoseconds,
    /// When the part works again.
    pub until: Picoseconds,
}

impl During {
    /// From the start to the end.
    pub const WHOLE_RUN: Self = Self {
        from: Picoseconds(0),
        until: Picoseconds(u64::MAX),
    };

    /// Whether a time is in it.
    pub fn contains(self, time: Picoseconds) -> bool {
        self.from <= time && time < self.until
    }

    fn overlaps(self, other: Self) -> bool {
        self.from < other.until && other.from < self.until
    }
}

/// What is wrong with links for a part of a run, or for all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impairment {
    /// When.
    pub during: During,
    /// Share of the bandwidth that is left, from 0 (out of service) to 1.
    pub left: f64,
    /// Share of the packets that arrive damaged and are sent again, at least 0 and below 1: those
    /// that are sent again as well.
    pub error_rate: f64,
}

impl Impairment {
    /// Out of service during a time.
    pub const fn dark(during: During) -> Self {
        Self {
            during,
            left: 0.0,
            error_rate: 0.0,
        }
    }

    /// `1 % sent again`, `at 50 % from 40 us to 90 us`.
    fn words(&self) -> String {
        let mut words = Vec::new();
        let percent = |share: f64| (share * 1e6).round() / 1e4;
        if self.left < 1.0 {
            words.push(format!("at {} %", percent(self.left)));
        }
        if self.error_rate > 0.0 {
            words.push(format!("with {} % sent again", percent(self.error_rate)));
        }
        let During { from, until } = self.during;
        if from > During::WHOLE_RUN.from {
            words.push(format!("from {from}"));
        }
        if until < During::WHOLE_RUN.until {
            words.push(format!("to {until}"));
        }
        words.join(" ")
    }
}

/// Links that have failed, are slower than they should be, or damage packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailedLinks {
    /// Where they are.
    pub ends: Ends,
    /// How many of those there; the first ones by port. `None`: all.
    pub count: Option<u32>,
    /// Whether only the first of two routers, or the port, sends over worse links. Those that are
    /// dark are so in both directions.
    pub one_way: bool,
    /// What is wrong with them, and when.
    pub impairment: Impairment,
}

/// A sort of parts of a network that may fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Links between routers.
    #[default]
    Links,
    /// Routers.
    ///
    /// With all that is attached to them.
    Routers,
    /// Nodes.
    Nodes,
    /// Optical switches.
    ///
    /// With all circuits through them.
    OpticalSwitches,
    /// Links that feed optical switches.
    Uplinks,
    /// Circuits that optical switches can set.
    ///
    /// All pairs of ports of a switch, whether set or not.
    Circuits,
}

impl Part {
    /// Whether these are links, of which something may be left.
    pub const fn is_links(self) -> bool {
        matches!(self, Self::Links | Self::Uplinks)
    }

    /// Whether only networks with optical switches have such parts.
    const fn is_optical(self) -> bool {
        matches!(self, Self::OpticalSwitches | Self::Uplinks | Self::Circuits)
    }

    /// Parts of different sorts that are equally numbered are drawn apart.
    const fn key(self) -> u64 {
        match self {
            Self::Links | Self::Uplinks => 0,
            Self::Routers => 1,
            Self::Nodes => 2,
            Self::OpticalSwitches => 3,
            // Two bits are the others'; above those of the entry.
            Self::Circuits => 1 << 30,
        }
    }
}

/// How many parts fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// This number.
    Count(u32),
    /// A share of those that there are in the whole network, rounded to the nearest number.
    Share(f64),
    /// All, again and again up to the end of the run: each works for an exponentially distributed
    /// time of mean `mtbf`, and then fails for one of mean `repair`, or for good.
    OverTime {
        /// Mean time between a repair and the next failure.
        mtbf: Picoseconds,
        /// Mean time to repair.
        repair: Option<Picoseconds>,
        /// End of the run.
        end: Picoseconds,
    },
}

/// Parts that fail at random.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnFailures {
    /// What fails.
    pub part: Part,
    /// Only links of this class; `None`: of all but those of nodes with an inside.
    pub class: Option<String>,
    /// How many.
    pub amount: Amount,
    /// What is wrong with links, and when; routers and nodes are out of service then.
    pub impairment: Impairment,
}

/// A router, a node, an optical switch or a circuit that is out of service for a part of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Which.
    pub of: OutOfService,
    /// When.
    pub during: During,
    /// The entry of the list that it comes from.
    pub entry: usize,
}

/// What goes out of service as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutOfService {
    /// With all that is attached to it.
    Router(RouterId),
    /// Alone.
    Node(NodeId),
    /// With all circuits through it.
    OpticalSwitch(u32),
    /// Alone.
    Circuit(OpticalCircuit),
}

/// What becomes of packets when something fails during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTheWay {
    /// They take what fails until the last of them is through; later ones do not.
    #[default]
    Drained,
    /// What is on it is lost, and what comes to it, until routes have been made anew.
    Lost {
        /// How long that takes after each change.
        reconvergence: Picoseconds,
    },
}

/// All that does not work in a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failures {
    /// Links.
    pub links: Vec<FailedLinks>,
    /// Routers.
    pub routers: Vec<RouterId>,
    /// Nodes.
    pub nodes: Vec<NodeId>,
    /// Optical switches.
    pub optical_switches: Vec<u32>,
    /// Circuits that cannot be set.
    pub circuits: Vec<OpticalCircuit>,
    /// The optical switches of the network, if it has some.
    pub optics: Option<Arc<Optics>>,
    /// What is out of service for a part of the run.
    pub outages: Vec<Outage>,
    /// What becomes of packets at what fails during the run.
    pub on_the_way: OnTheWay,
    /// What fails at random besides, of what still works, one after the other.
    pub drawn: Vec<DrawnFailures>,
    /// Seed of the draws. Of equal seeds, what fails at a small amount fails at a larger one as well.
    pub seed: u64,
}

/// Which entry of [`Failures`] something is said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// One of `links`, by its place.
    Links(usize),
    /// One of `routers`, by its place.
    Routers(usize),
    /// One of `nodes`, by its place.
    Nodes(usize),
    /// One of `optical_switches`, by its place.
    OpticalSwitches(usize),
    /// One of `circuits`, by its place.
    Circuits(usize),
    /// One of those that `outages` come from, by its place.
    Outages(usize),
    /// One of `drawn`, by its place.
    Drawn(usize),
    /// All of them.
    All,
}

/// Why parts cannot fail.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FailureError {
    /// Which entry.
    pub entry: Entry,
    /// What is wrong, what is allowed.
    pub message: String,
}

/// What is lost of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Links between routers that are out of service, those of lost routers included.
    pub links: u32,
    /// Links between routers that are slower.
    pub slower_links: u32,
    /// Uplinks to optical switches that are out of service, and have no circuits; others are links.
    pub uplinks: u32,
    /// Optical switches that are out of service.
    pub optical_switches: u32,
    /// Routers that are out of service or cut off.
    pub routers: u32,
    /// Nodes that are out of service, on lost routers, or cut off.
    pub nodes: u32,
    /// Nodes among them that work, but have no way to the largest part of the network that holds
    /// together.
    pub cut_off_nodes: u32,
}

impl Losses {
    /// In words: `4 links, 1 router with 2 nodes`.
    fn words(&self) -> String {
        let parts = [
            (self.links, "link"),
            (self.uplinks, "uplink"),
            (self.optical_switches, "optical switch"),
            (self.routers, "router"),
            (self.nodes, "node"),
        ];
        let counted = |(count, what): (u32, &str)| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ if what.ends_with('h') => Some(format!("{count} {what}es")),
            _ => Some(format!("{count} {what}s")),
        };
        let mut words: Vec<String> = parts.into_iter().filter_map(counted).collect();
        if let Some(slower) = counted((self.slower_links, "slower link")) {
            words.push(slower);
        }
        words.join(", ")
    }
}

impl Topology {
    /// Whether a node is out of service: it is not attached to its router's port.
    pub fn is_lost(&self, node: NodeId) -> bool {
        self.peer[self.port_of_node[node.index()].index()] != Peer::Node(node)
    }

    /// Whether a router is out of service: nothing is attached to it.
    pub fn is_lost_router(&self, router: RouterId) -> bool {
        let mut peers = self.peer[self.ports_of(router)].iter();
        peers.all(|peer| *peer == Peer::Unconnected)
    }

    /// Whether each router is out of service. Shape: routers.
    pub fn lost_routers(&self) -> Vec<bool> {
        let routers = (0..self.routers()).map(RouterId::from_index);
        routers.map(|router| self.is_lost_router(router)).collect()
    }

    /// Nodes that are out of service.
    pub fn lost_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.nodes())
            .map(NodeId::from_index)
            .filter(|&node| self.is_lost(node))
    }
}

impl Failures {
    /// Whether all works.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
            && self.routers.is_empty()
            && self.nodes.is_empty()
            && self.optical_switches.is_empty()
            && self.circuits.is_empty()
            && self.outages.is_empty()
            && self.drawn.is_empty()
    }

    /// `topology` without what fails for the whole run, and what is lost. If the network falls
    /// apart, the part with the most nodes is left.
    ///
    /// # Errors
    /// If a part does not exist or fails twice, nothing would fail, or nothing would be left.
    pub fn of(&self, mut topology: Topology) -> Result<(Topology, Losses), FailureError> {
        let mut damage = self.damage(&topology)?;
        let cut_off_nodes = damage.cut_off(&topology)?;
        let losses = damage.apply(&mut topology, cut_off_nodes)?;
        for (word, what) in [("without", losses.words()), ("with", damage.words())] {
            if !what.is_empty() {
                topology.title += &format!(" {word} {what}");
            }
        }
        Ok((topology, losses))
    }

    /// The nodes of `whole` that are out of service though they work, as messages keep to one interface
    /// and this one of theirs has no way to the others: the first of each node.
    ///
    /// # Errors
    /// As [`Failures::of`].
    pub fn without_rail(&self, whole: &Topology) -> Result<Vec<(NodeId, u32)>, FailureError> {
        let mut damage = self.damage(whole)?;
        damage.cut_off(whole)?;
        Ok(damage.without_rail)
    }

    /// What is left of `whole` from the start of the run on and from each moment on at which routes
    /// are made anew, in order; nothing if none are during the run. These moments are those at which
    /// links, routers or nodes fail or work again, and as much later as routes take to follow.
    ///
    /// # Errors
    /// As [`Failures::of`], and if packets are drained and a node would have no way to the others from
    /// a moment on.
    pub fn moments(&self, whole: &Topology) -> Result<Vec<(Picoseconds, Topology)>, FailureError> {
        let timeline = self.timeline(whole)?;
        if !timeline.routes_change() {
            return Ok(Vec::new());
        }
        let start = During::WHOLE_RUN;
        let (always, _) = self.of(whole.clone())?;
        let at = |time: Picoseconds| {
            let mut damage = timeline.damage.at(time);
            let left = damage.left_of(whole)?;
            let more = left.lost_nodes().filter(|&node| !always.is_lost(node));
            let later = match (self.on_the_way, more.count()) {
                (OnTheWay::Lost { reconvergence }, _) if time > start.from => reconvergence,
                (OnTheWay::Lost { .. }, _) | (OnTheWay::Drained, 0) => Picoseconds(0),
                (OnTheWay::Drained, more) => {
                    let what = damage.lost_more(whole, &always, more);
                    return wrong(
                        Entry::All,
                        format!(
                            "from {time} on {what}: while packets are drained only links fail that \
                             leave all nodes joined"
                        ),
                    );
                }
            };
            Ok((Picoseconds(time.0.saturating_add(later.0)), left))
        };
        timeline.routing_times().into_iter().map(at).collect()
    }

    /// What works of `whole`, and when.
    ///
    /// # Errors
    /// As [`Failures::of`].
    pub fn timeline(&self, whole: &Topology) -> Result<Timeline, FailureError> {
        Ok(Timeline {
            damage: self.damage(whole)?,
        })
    }

    /// The links that lose packets during a part of the run, by who sends over them; each in both
    /// directions, and nothing where packets are drained.
    ///
    /// # Errors
    /// As [`Failures::of`].
    pub fn dark(
        &self,
        whole: &Topology,
    ) -> Result<Vec<(Sender, Picoseconds, Picoseconds)>, FailureError> {
        if self.on_the_way == OnTheWay::Drained {
            return Ok(Vec::new());
        }
        let damage = self.damage(whole)?;
        let mut dark = Vec::new();
        for (&link, during) in &damage.timed {
            let (one, other) = damage.links[link];
            let both_ways = whole.peer[other.index()] == Peer::Port(one);
            let ends = [Some(one), both_ways.then_some(other)];
            let ends: Vec<_> = ends.into_iter().flatten().map(Sender::Router).collect();
            dark.extend(ends.iter().flat_map(|&end| {
                let during = during.iter();
                during.map(move |one| (end, one.from, one.until))
            }));
        }
        for (&of, during) in &damage.outages {
            let ports = match (of, &whole.inside) {
                (OutOfService::Router(router), _) => whole.ports_of(router),
                (OutOfService::Node(node), Some(inside)) => {
                    let routers = inside.routers_of(node);
                    let first = |router: u32| whole.first_port[router as usize] as usize;
                    first(routers.start)..first(routers.end)
                }
                (OutOfService::Node(node), None) => {
                    let port = whole.port_of_node[node.index()].index();
                    port..port + 1
                }
                (OutOfService::OpticalSwitch(_) | OutOfService::Circuit(_), _) => continue,
            };
            for port in ports.map(PortId::from_index) {
                let sends = whole.peer[port.index()] != Peer::Unconnected;
                let own = sends.then_some(Sender::Router(port));
                let peer = match whole.sender(port) {
                    Peer::Port(peer) => Some(Sender::Router(peer)),
                    Peer::Node(node) => Some(Sender::Node(node)),
                    Peer::Unconnected => None,
                };
                for end in own.into_iter().chain(peer) {
                    dark.extend(during.iter().map(|one| (end, one.from, one.until)));
                }
            }
        }
        dark.sort_unstable();
        dark.dedup();
        Ok(dark)
    }

    /// What circuits of the network's optical switches must not use at each of these times of the run.
    ///
    /// # Errors
    /// If a part does not exist or fails twice; and if the network has no optical switches.
    pub fn unusable(&self, times: &[Picoseconds]) -> Result<Vec<Unusable>, FailureError> {
        let Some(optics) = &self.optics else {
            return wrong(Entry::All, "the network has no optical switches");
        };
        let damage = self.as_laid(&optics.laid)?;
        let at = |&time: &Picoseconds| damage.at(time).unusable(optics, time);
        Ok(times.iter().map(at).collect())
    }

    /// What of a network and its circuits works.
    fn damage(&self, network: &Topology) -> Result<Damage, FailureError> {
        match &self.optics {
            Some(optics) => self.as_laid(&optics.laid)?.on(network, optics),
            None => self.as_laid(network),
        }
    }

    /// The same of its cables, whatever circuits join them.
    fn as_laid(&self, topology: &Topology) -> Result<Damage, FailureError> {
        let optics = self.optics.as_deref();
        let mut damage = Damage::new(topology, optics);
        for (index, failed) in self.links.iter().enumerate() {
            damage.links(topology, failed, Entry::Links(index))?;
        }
        for (index, router) in self.routers.iter().enumerate() {
            lose(
                &mut damage.lost_routers,
                router.index(),
                "router",
                Entry::Routers(index),
            )?;
        }
        for (index, &node) in self.nodes.iter().enumerate() {
            let entry = Entry::Nodes(index);
            lose(&mut damage.lost_nodes, node.index(), "node", entry)?;
            if let Some(router) = damage.router_of(topology, node)
                && damage.lost_routers[router.index()]
            {
                let message =
                    format!("node {node} is lost with its router {router}, which has failed");
                return wrong(entry, message);
            }
        }
        for (index, &switch) in self.optical_switches.iter().enumerate() {
            damage.list_optical(switch, During::WHOLE_RUN, Entry::OpticalSwitches(index))?;
        }
        for (index, &circuit) in self.circuits.iter().enumerate() {
            let entry = Entry::Circuits(index);
            damage.list_circuit(circuit, During::WHOLE_RUN, entry, optics)?;
        }
        for outage in &self.outages {
            damage.outage(topology, outage, optics)?;
        }
        for (index, drawn) in self.drawn.iter().enumerate() {
            damage.draw(topology, drawn, index, self.seed)?;
        }
        Ok(damage)
    }
}

/// What works of a network as time passes.
pub struct Timeline {
    damage: Damage,
}

impl Timeline {
    /// Whether anything goes out of service or comes back, so that routes change.
    fn routes_change(&self) -> bool {
        self.routing_times().len() > 1
    }

    /// The start, and when something goes out of service or comes back, ascending; where there are
    /// circuits, the same whichever are set.
    fn routing_times(&self) -> Vec<Picoseconds> {
        let outages = self.damage.outages.values();
        let of_circuits = &self.damage.optical.times;
        let timed = self.damage.timed.values().chain(outages).flatten();
        ascending(timed.chain(of_circuits).copied())
    }

    /// The start, and when anything changes, ascending: links that become slower or damage packets as
    /// well.
    pub fn times(&self) -> Vec<Picoseconds> {
        let outages = self.damage.outages.values();
        let dark = self.damage.timed.values().chain(outages).flatten().copied();
        let worse = self.damage.impaired.values().flatten();
        ascending(dark.chain(worse.map(|(impairment, _)| impairment.during)))
    }

    /// Whether no node works at a time.
    pub fn is_over(&self, whole: &Topology, time: Picoseconds) -> bool {
        self.damage.at(time).cut_off(whole).is_err()
    }

    /// What is left of the whole network at a time, as if it stayed so.
    ///
    /// # Errors
    /// If that is nothing.
    pub fn left(&self, whole: &Topology, time: Picoseconds) -> Result<Topology, FailureError> {
        let mut damage = self.damage.at(time);
        let mut worse = BTreeMap::new();
        for (&link, impairments) in &self.damage.impaired {
            let now = impairments
                .iter()
                .filter(|(one, _)| one.during.contains(time));
            let now: Vec<_> = now
                .map(|&(one, ends)| {
                    let during = During::WHOLE_RUN;
                    (Impairment { during, ..one }, ends)
                })
                .collect();
            if !now.is_empty() {
                worse.insert(link, now);
            }
        }
        damage.impaired = worse;
        damage.left_of(whole)
    }

    /// The links by which packets may go at a time, or without what is out of service then alone,
    /// between all nodes but some. What nodes have no way to keeps its links: packets may be there, as
    /// circuits were others before. Of a tree without `with_circuits`, circuits and uplinks that
    /// fail for a part of the run work.
    ///
    /// # Errors
    /// If links of too many bandwidths are left.
    pub fn ways(
        &self,
        whole: &Topology,
        time: Option<Picoseconds>,
        lost_nodes: &BTreeSet<NodeId>,
        with_circuits: bool,
    ) -> Result<Topology, FailureError> {
        let mut damage = match time {
            Some(time) => self.damage.at(time),
            None => self.damage.clone(),
        };
        let of_switches = self.damage.optical.switch_of_link.iter().enumerate();
        for (link, _) in of_switches.filter(|(_, of)| of.is_some() && !with_circuits) {
            damage.left[link] = self.damage.left[link];
        }
        for (node, lost) in damage.lost_nodes.iter_mut().enumerate() {
            *lost = lost_nodes.contains(&NodeId::from_index(node));
        }
        let mut left = whole.clone();
        damage.apply(&mut left, 0)?;
        Ok(left)
    }
}

/// The start of the run, and the beginnings and ends of times before its end, ascending.
fn ascending(all: impl Iterator<Item = During>) -> Vec<Picoseconds> {
    let start = During::WHOLE_RUN;
    let mut times: Vec<_> = all
        .chain([start])
        .flat_map(|during| [during.from, during.until])
        .collect();
    times.sort_unstable();
    times.dedup();
    times.retain(|&time| time != start.until);
    times
}

/// Marks a listed router or node, a `what`, as lost.
fn lose(lost: &mut [bool], number: usize, what: &str, entry: Entry) -> Result<(), FailureError> {
    if works(lost, number, what, entry)? {
        lost[number] = true;
        return Ok(());
    }
    wrong(entry, format!("{what} {number} is listed twice"))
}

/// Whether a router or node, a `what`, works as far as is known.
fn works(lost: &[bool], number: usize, what: &str, entry: Entry) -> Result<bool, FailureError> {
    let Some(lost) = lost.get(number) else {
        let last = lost.len() - 1;
        let message = format!("there is no {what} {number}: the network's {what}s are 0 to {last}");
        return wrong(entry, message);
    };
    Ok(!lost)
}

/// What of a network works, while failures are added.
#[derive(Clone)]
struct Damage {
    router_of_port: Vec<RouterId>,
    /// Both ends of each link between routers.
    links: Vec<(PortId, PortId)>,
    /// Share of each link's bandwidth that is left to each of its ends, of what fails for the whole
    /// run: none to either, or some to both.
    left: Vec<[f64; 2]>,
    /// When links are out of service that fail for a part of the run.
    timed: BTreeMap<usize, Vec<During>>,
    /// The same of routers and nodes.
    outages: BTreeMap<OutOfService, Vec<During>>,
    /// What else links lack or lose, by time, and the ends that send so.
    impaired: BTreeMap<usize, Vec<(Impairment, [bool; 2])>>,
    lost_routers: Vec<bool>,
    /// Nodes that are out of service: those with an inside as a whole.
    lost_nodes: Vec<bool>,
    /// The inside of nodes, if they have one.
    inside: Option<Arc<NodeInside>>,
    /// Nodes that lack an interface and so have no way to others, and that interface.
    without_rail: Vec<(NodeId, u32)>,
    optical: OpticalDamage,
    /// Whether parts of the network that circuits do not join are networks of their own.
    keeps_parts: bool,
}

fn wrong<T>(entry: Entry, message: impl Into<String>) -> Result<T, FailureError> {
    Err(FailureError {
        entry,
        message: message.into(),
    })
}

impl Damage {
    fn new(topology: &Topology, optics: Option<&Optics>) -> Self {
        let mut links: Vec<_> = topology.links().collect();
        if let Some(optics) = optics.filter(|optics| !optics.leads_one_way()) {
            // Each is a link by itself, whose other end a circuit gives it.
            links.extend(optics.ingress.iter().flatten().map(|&port| (port, port)));
        }
        Self {
            optical: OpticalDamage::new(optics, &links),
            keeps_parts: optics.is_some_and(|optics| optics.keeps_parts),
            router_of_port: topology.router_of_every_port(),
            left: vec![[1.0; 2]; links.len()],
            timed: BTreeMap::new(),
            outages: BTreeMap::new(),
            impaired: BTreeMap::new(),
            links,
            lost_routers: vec![false; topology.routers()],
            lost_nodes: match &topology.inside {
                None => vec![false; topology.nodes()],
                Some(inside) => vec![false; inside.nodes() as usize],
            },
            inside: topology.inside.clone(),
            without_rail: Vec::new(),
        }
    }

    /// The router with which a node is out of service; none of nodes that have several ways out.
    fn router_of(&self, topology: &Topology, node: NodeId) -> Option<RouterId> {
        let alone = self.inside.is_none();
        alone.then(|| topology.router_of_node(node))
    }

    /// Routers of the network, which come before those inside nodes.
    fn network_routers(&self) -> usize {
        let inside = self.inside.as_ref();
        inside.map_or(self.lost_routers.len(), |inside| {
            inside.fabric_routers() as usize
        })
    }

    /// What fails for a part of the run only, in words.
    fn words(&self) -> String {
        let routers = self.outages.keys();
        let routers = routers.filter(|of| matches!(of, OutOfService::Router(_)));
        let routers = routers.count();
        let [_, switches] = self.optical.lost_switches();
        let parts = [
            (self.timed.len(), "link", "links"),
            (switches as usize, "optical switch", "optical switches"),
            (routers, "router", "routers"),
            (self.outages.len() - routers, "node", "nodes"),
        ];
        let mut words = parts
            .into_iter()
            .filter_map(|(count, one, all)| match count {
                0 => None,
                1 => Some(format!("1 {one} that fails during the run")),
                _ => Some(format!("{count} {all} that fail during the run")),
            });
        let first = words.next().unwrap_or_default();
        words.fold(first, |all, more| all + ", " + &more)
    }

    /// The same with what is out of service at a time marked as lost.
    fn at(&self, time: Picoseconds) -> Self {
        let mut damage = self.clone();
        let now = |during: &Vec<During>| during.iter().any(|during| during.contains(time));
        for (&link, during) in &self.timed {
            if now(during) {
                damage.left[link] = [0.0; 2];
            }
        }
        for (&of, during) in &self.outages {
            match of {
                _ if !now(during) => {}
                OutOfService::Router(router) => damage.lost_routers[router.index()] = true,
                OutOfService::Node(node) => damage.lost_nodes[node.index()] = true,
                // Links are out of service with them.
                OutOfService::OpticalSwitch(_) | OutOfService::Circuit(_) => {}
            }
        }
        damage
    }

    /// That so many nodes of the network are cut off that are not always, with the interface that one
    /// lacks, if that is why.
    fn lost_more(&mut self, whole: &Topology, always: &Topology, more: usize) -> String {
        let Some(inside) = &whole.inside else {
            return format!("{more} more nodes would have no way to the others");
        };
        let is_new = |node| inside.ranks_of(node).any(|rank| !always.is_lost(rank));
        self.without_rail.retain(|&(node, _)| is_new(node));
        inside
            .why_lost(&self.without_rail)
            .unwrap_or_else(|| match more / inside.ranks as usize {
                1 => "1 more node would have no way to the others".to_owned(),
                nodes => format!("{nodes} more nodes would have no way to the others"),
            })
    }

    /// What is left of a network of which all this is lost.
    fn left_of(&mut self, whole: &Topology) -> Result<Topology, FailureError> {
        let mut left = whole.clone();
        let cut_off_nodes = self.cut_off(whole)?;
        self.apply(&mut left, cut_off_nodes)?;
        Ok(left)
    }

    fn outage(
        &mut self,
        topology: &Topology,
        outage: &Outage,
        optics: Option<&Optics>,
    ) -> Result<(), FailureError> {
        let (entry, during) = (Entry::Outages(outage.entry), outage.during);
        let (what, number, lost) = match outage.of {
            OutOfService::OpticalSwitch(one) => return self.list_optical(one, during, entry),
            OutOfService::Circuit(one) => return self.list_circuit(one, during, entry, optics),
            OutOfService::Router(router) => ("router", router.index(), &self.lost_routers),
            OutOfService::Node(node) => ("node", node.index(), &self.lost_nodes),
        };
        if !works(lost, number, what, entry)? {
            let message = format!("{what} {number} is out of service for the whole run already");
            return wrong(entry, message);
        }
        if let OutOfService::Node(node) = outage.of
            && let Some(router) = self.router_of(topology, node)
            && !self.serves(OutOfService::Router(router), outage.during)
        {
            let message = format!("node {node} is out of service with its router {router}");
            return wrong(entry, message);
        }
        if !self.serves(outage.of, outage.during) {
            let message = format!("{what} {number} is out of service already at that time");
            return wrong(entry, message);
        }
        self.lose(outage.of, outage.during);
        Ok(())
    }

    /// Whether a router or node, of itself, works during all of a time.
    fn serves(&self, of: OutOfService, during: During) -> bool {
        let lost = match of {
            OutOfService::Router(router) => self.lost_routers[router.index()],
            OutOfService::Node(node) => self.lost_nodes[node.index()],
            OutOfService::OpticalSwitch(switch) => return self.optical.serves(switch, during),
            OutOfService::Circuit(circuit) => return self.optical.serves_circuit(circuit, during),
        };
        let mut said = self.outages.get(&of).into_iter().flatten();
        !lost && !said.any(|other| other.overlaps(during))
    }

    fn lose(&mut self, of: OutOfService, during: During) {
        match of {
            OutOfService::OpticalSwitch(switch) => self.lose_optical(switch, during),
            OutOfService::Circuit(circuit) => self.optical.lose_circuit(circuit, during),
            _ if during != During::WHOLE_RUN => {
                self.outages.entry(of).or_default().push(during);
            }
            OutOfService::Router(router) => self.lost_routers[router.index()] = true,
            OutOfService::Node(node) => self.lost_nodes[node.index()] = true,
        }
    }

    /// Whether nothing has been said of a link, as these ends send over it, for any of this time.
    fn works(&self, link: usize, during: During, ends: [bool; 2]) -> bool {
        let dark = self.timed.get(&link).into_iter().flatten();
        let impaired = self.impaired.get(&link).into_iter().flatten();
        let impaired = impaired.filter(|(_, of)| (0..2).any(|end| ends[end] && of[end]));
        let mut said = dark.chain(impaired.map(|(impairment, _)| &impairment.during));
        (0..2).all(|end| self.left[link][end] >= 1.0 || !ends[end])
            && !said.any(|other| other.overlaps(during))
    }

    /// Makes a link worse for packets that these ends send.
    fn fail(&mut self, link: usize, impairment: Impairment, ends: [bool; 2]) {
        let Impairment {
            during,
            left,
            error_rate,
        } = impairment;
        if during == During::WHOLE_RUN && error_rate == 0.0 {
            for (at_end, _) in self.left[link].iter_mut().zip(ends).filter(|(_, is)| *is) {
                *at_end = left;
            }
        } else if left > 0.0 {
            let impairments = self.impaired.entry(link).or_default();
            impairments.push((impairment, ends));
        } else {
            self.timed.entry(link).or_default().push(during);
        }
    }

    fn ports_of(&self, link: usize) -> [PortId; 2] {
        let (one, other) = self.links[link];
        [one, other]
    }

    fn routers_of(&self, link: usize) -> [RouterId; 2] {
        self.ports_of(link)
            .map(|port| self.router_of_port[port.index()])
    }

    fn links(
        &mut self,
        topology: &Topology,
        failed: &FailedLinks,
        entry: Entry,
    ) -> Result<(), FailureError> {
        let (words, last, named) = match failed.ends {
            Ends::Routers(a, b) => ("routers", topology.routers() as u32 - 1, [a.0, b.0]),
            Ends::Groups(a, b) => ("groups", topology.groups - 1, [a.0, b.0]),
            Ends::Router(one) | Ends::Port(one, _) => {
                ("routers", topology.routers() as u32 - 1, [one.0; 2])
            }
            Ends::Interface(node, _) => ("nodes", self.lost_nodes.len() as u32 - 1, [node.0; 2]),
        };
        if let Some(unknown) = named.iter().find(|&&number| number > last) {
            return wrong(
                entry,
                format!(
                    "there is no {} {unknown}: the network's {words} are 0 to {last}",
                    &words[..words.len() - 1]
                ),
            );
        }
        let port = match failed.ends {
            Ends::Port(router, port) => {
                let ports = topology.ports_of(router);
                let Some(found) = ports.clone().nth(port as usize) else {
                    let last = ports.len().saturating_sub(1);
                    let message =
                        format!("router {router} has no port {port}: its ports are 0 to {last}");
                    return wrong(entry, message);
                };
                Some(PortId::from_index(found))
            }
            Ends::Interface(node, interface) => {
                let Some(inside) = &self.inside else {
                    let message = "nodes have one interface each, which fails with its node: list \
                                   the node, or give nodes an inside, [node]";
                    return wrong(entry, message);
                };
                if interface >= inside.interfaces {
                    let last = inside.interfaces - 1;
                    let message = format!(
                        "node {node} has no interface {interface}: its interfaces are 0 to {last}"
                    );
                    return wrong(entry, message);
                }
                Some(inside.port_of_plane(node, interface))
            }
            _ => None,
        };
        let joins = |link: usize| {
            let ends = match failed.ends {
                Ends::Routers(..) => self.routers_of(link).map(|router| router.0),
                Ends::Port(..) | Ends::Interface(..) => {
                    return self.ports_of(link).map(Some).contains(&port);
                }
                Ends::Router(one) => return self.routers_of(link).contains(&one),
                Ends::Groups(..) => {
                    (self.routers_of(link)).map(|router| topology.group_of_router[router.index()].0)
                }
            };
            ends == named || ends == [named[1], named[0]]
        };
        let all: Vec<usize> = (0..self.links.len()).filter(|&link| joins(link)).collect();
        if failed.one_way && all.iter().any(|&link| self.optical.is_two_way_uplink(link)) {
            let message =
                "one_way is left out at uplinks of optical switches that light passes both ways";
            return wrong(entry, message);
        }
        let ends = |link: usize| match failed.ends {
            _ if !failed.one_way => [true; 2],
            Ends::Port(..) => self.ports_of(link).map(|end| Some(end) == port),
            _ => self.routers_of(link).map(|router| router.0 == named[0]),
        };
        let during = failed.impairment.during;
        let works = |link: &usize| self.works(*link, during, ends(*link));
        let whole: Vec<usize> = all.iter().copied().filter(works).collect();
        let [a, b] = named;
        let between = match failed.ends {
            Ends::Router(one) => format!("at router {one}"),
            Ends::Port(router, port) => {
                format!("to another router at port {port} of router {router}")
            }
            Ends::Interface(node, interface) => format!("of interface {interface} of node {node}"),
            _ => format!("between {words} {a} and {b}"),
        };
        let count = match failed.count {
            None => whole.len(),
            Some(count) => count as usize,
        };
        match (all.len(), whole.len()) {
            (0, _) if self.optical.count() > 0 => {
                let message = format!(
                    "there is no link {between}: where circuits join them, give the `port` of an uplink, \
                     or list `circuits` or `optical_switches`"
                );
                return wrong(entry, message);
            }
            (0, _) => return wrong(entry, format!("there is no link {between}")),
            (all, 0) => {
                return wrong(
                    entry,
                    format!("all links {between}, {all}, are said to have failed already"),
                );
            }
            (all, whole) if count > whole => {
                let others = all - whole;
                return wrong(
                    entry,
                    format!(
                        "{count} links {between}, where there are {all}, of which {others} are said \
                         to have failed already"
                    ),
                );
            }
            _ => {}
        }
        let whole: Vec<_> = whole[..count]
            .iter()
            .map(|&link| (link, ends(link)))
            .collect();
        for (link, ends) in whole {
            self.fail(link, failed.impairment, ends);
        }
        Ok(())
    }

    fn draw(
        &mut self,
        topology: &Topology,
        drawn: &DrawnFailures,
        index: usize,
        seed: u64,
    ) -> Result<(), FailureError> {
        let entry = Entry::Drawn(index);
        let class = match &drawn.class {
            None => None,
            Some(name) => {
                let classes = &topology.link_classes;
                let Some(found) = classes.iter().position(|class| class.name == *name) else {
                    let names: Vec<&str> =
                        classes.iter().map(|class| class.name.as_str()).collect();
                    let singular = name.replace('_', "-");
                    let part = Part::NAMES.iter().find(|part| {
                        let rest = part.strip_prefix(singular.as_str());
                        matches!(rest, Some("" | "s" | "es"))
                    });
                    let part = part.map_or_else(String::new, |part| {
                        format!(" (write part = \"{part}\" in place of the class)")
                    });
                    let names = names.join(", ");
                    return wrong(
                        entry,
                        format!("no link class is called `{name}`{part}; there are: {names}"),
                    );
                };
                Some(found)
            }
        };
        let network_routers = self.network_routers();
        let of_class = |link: &usize| match class {
            Some(class) => {
                let (port, _) = self.links[*link];
                topology.class_of_port[port.index()].index() == class
            }
            None => (self.routers_of(*link).iter()).all(|end| end.index() < network_routers),
        };
        let switch_of_link = &self.optical.switch_of_link;
        let of_part = |link: &usize| match drawn.part {
            Part::Uplinks => switch_of_link.get(*link).copied().flatten().is_some(),
            _ => true,
        };
        let routers_work = |link: &usize| {
            let ends = self.routers_of(*link);
            ends.iter().all(|router| !self.lost_routers[router.index()])
        };
        let during = drawn.impairment.during;
        let router = |index| OutOfService::Router(RouterId::from_index(index));
        let node = |index| OutOfService::Node(NodeId::from_index(index));
        let (all, mut working): (usize, Vec<usize>) = match drawn.part {
            Part::Links | Part::Uplinks => (
                (0..self.links.len())
                    .filter(of_class)
                    .filter(of_part)
                    .count(),
                (0..self.links.len())
                    .filter(of_class)
                    .filter(of_part)
                    .filter(|&link| self.works(link, during, [true; 2]))
                    .filter(routers_work)
                    .collect(),
            ),
            Part::Routers => (
                network_routers,
                (0..network_routers)
                    .filter(|&one| self.serves(router(one), during))
                    .collect(),
            ),
            Part::OpticalSwitches => (
                self.optical.count(),
                (0..self.optical.count())
                    .filter(|&one| self.optical.serves(one as u32, during))
                    .collect(),
            ),
            Part::Circuits => {
                let all: Vec<usize> = self.optical.possible_circuits().collect();
                let serves = |&number: &usize| {
                    let circuit = self.optical.circuit(number);
                    self.serves(OutOfService::Circuit(circuit), during)
                };
                (all.len(), all.into_iter().filter(serves).collect())
            }
            Part::Nodes => (
                self.lost_nodes.len(),
                (0..self.lost_nodes.len())
                    .filter(|&one| self.serves(node(one), during))
                    .filter(|&one| {
                        let of = self.router_of(topology, NodeId::from_index(one));
                        of.is_none_or(|of| self.serves(OutOfService::Router(of), during))
                    })
                    .collect(),
            ),
        };
        if drawn.part.is_optical() && self.optical.count() == 0 {
            let message =
                "the network has no optical switches: draw \"links\", \"routers\" or \"nodes\"";
            return wrong(entry, message);
        }
        let part = drawn.part.name().replace('-', " ");
        // A key for each part, so that a larger amount contains a smaller one.
        let stream = StreamKey::new(seed, Purpose::Failures);
        let drawn_here = (index as u64) << 34 | drawn.part.key() << 32;
        let mut fail = |one: usize, during: During| match drawn.part {
            Part::Links | Part::Uplinks => self.fail(
                one,
                Impairment {
                    during,
                    ..drawn.impairment
                },
                [true; 2],
            ),
            Part::Routers => self.lose(router(one), during),
            Part::Nodes => self.lose(node(one), during),
            Part::OpticalSwitches => self.lose_optical(one as u32, during),
            Part::Circuits => {
                let circuit = self.optical.circuit(one);
                self.optical.lose_circuit(circuit, during);
            }
        };
        let count = match drawn.amount {
            Amount::Count(count) => count as usize,
            Amount::Share(share) => (share * all as f64).round() as usize,
            Amount::OverTime { mtbf, repair, end } => {
                for one in working {
                    let times = alternating(stream, drawn_here | one as u64, mtbf, repair, end);
                    times.for_each(|during| fail(one, during));
                }
                return Ok(());
            }
        };
        if count == 0 && drawn.amount == Amount::Share(0.0) {
            return Ok(());
        }
        if count == 0 {
            return wrong(
                entry,
                format!(
                    "so small a share of {all} {part} is none of them; give a larger share or a `count`"
                ),
            );
        }
        if count > working.len() {
            return wrong(
                entry,
                format!("{count} {part}, of which only {} still work", working.len()),
            );
        }
        working.sort_by_cached_key(|&one| (stream.bits64(drawn_here | one as u64, 0), one));
        for &one in &working[..count] {
            fail(one, during);
        }
        Ok(())
    }

    /// Marks as lost what is not joined to the part of the network that has the most nodes; returns
    /// how many working nodes that are.
    fn cut_off(&mut self, topology: &Topology) -> Result<u32, FailureError> {
        if let Some(inside) = self.inside.clone() {
            return self.cut_off_of_planes(topology, &inside);
        }
        let routers = topology.routers();
        let mut joined = vec![Vec::new(); routers];
        let mut neighbours = vec![Vec::new(); routers];
        // Where links lead one way, from where each router is reached.
        let mut reached_from = vec![Vec::new(); routers];
        for link in 0..self.links.len() {
            let [one, other] = self.routers_of(link);
            let (port, peer) = self.links[link];
            let both_ways = topology.peer[peer.index()] == Peer::Port(port);
            if self.keeps_parts {
                joined[one.index()].push(other.index());
                joined[other.index()].push(one.index());
            }
            let works = !self.lost_routers[one.index()] && !self.lost_routers[other.index()];
            if self.left[link] != [0.0; 2] && works {
                for (from, to) in [(one, other), (other, one)]
                    .into_iter()
                    .take(1 + usize::from(both_ways))
                {
                    neighbours[from.index()].push(to.index());
                    if topology.has_one_way_links() {
                        reached_from[to.index()].push(from.index());
                    }
                }
            }
        }
        let mut nodes_at = vec![0u32; routers];
        for node in (0..topology.nodes()).filter(|&node| !self.lost_nodes[node]) {
            nodes_at[topology.router_of_node(NodeId::from_index(node)).index()] += 1;
        }
        // Which network of its own each router belongs to: all to one, but where circuits make
        // several.
        let mut of_network = vec![0; routers];
        let mut networks = 1;
        if self.keeps_parts {
            let mut seen = vec![false; routers];
            networks = 0;
            for first in 0..routers {
                if !seen[first] {
                    let all = reached(first, &joined, &mut seen);
                    all.into_iter()
                        .for_each(|router| of_network[router] = networks);
                    networks += 1;
                }
            }
        }
        let mut part = vec![usize::MAX; routers];
        // Nodes and network of each part.
        let mut parts: Vec<(u32, usize)> = Vec::new();
        let mut seen = self.lost_routers.clone();
        for first in 0..routers {
            if part[first] != usize::MAX || self.lost_routers[first] {
                continue;
            }
            let mut all = match topology.has_one_way_links() {
                false => reached(first, &neighbours, &mut seen),
                true => {
                    let mut back = self.lost_routers.clone();
                    reached(first, &reached_from, &mut back);
                    let mut forth = self.lost_routers.clone();
                    let all = reached(first, &neighbours, &mut forth).into_iter();
                    all.filter(|&router| back[router]).collect()
                }
            };
            all.sort_unstable();
            let nodes = all.iter().map(|&router| nodes_at[router]).sum();
            all.into_iter()
                .for_each(|router| part[router] = parts.len());
            parts.push((nodes, of_network[first]));
        }
        // The first of the largest of each network.
        let largest: Vec<usize> = (0..networks)
            .map(|network| {
                let own = (0..parts.len())
                    .rev()
                    .filter(|&one| parts[one].1 == network);
                let largest = own.max_by_key(|&one| parts[one].0);
                largest.unwrap_or(usize::MAX)
            })
            .collect();
        if parts.iter().all(|&(nodes, _)| nodes == 0) {
            return wrong(Entry::All, "no node is left that works");
        }
        let mut cut_off = 0;
        for router in 0..routers {
            if !self.lost_routers[router] && part[router] != largest[of_network[router]] {
                self.lost_routers[router] = true;
                cut_off += nodes_at[router];
            }
        }
        Ok(cut_off)
    }

    /// The same where nodes have an inside, through which no way leads: of each plane the part with the
    /// most interfaces is left. Nodes are out of service of which a part inside has failed, and those that
    /// have not the interfaces that messages need, [`NodeInside::without_way`].
    fn cut_off_of_planes(
        &mut self,
        topology: &Topology,
        inside: &NodeInside,
    ) -> Result<u32, FailureError> {
        let fabric = inside.fabric_routers() as usize;
        for node in 0..self.lost_nodes.len() {
            let mut routers = index_range(inside.routers_of(NodeId::from_index(node)));
            self.lost_nodes[node] |= routers.any(|router| self.lost_routers[router]);
        }
        let mut neighbours = vec![Vec::new(); fabric];
        // Node, number and router of each interface whose link works.
        let mut interfaces = Vec::new();
        for link in 0..self.links.len() {
            let works = self.left[link] != [0.0; 2];
            match self.routers_of(link).map(RouterId::index) {
                [one, other] if one < fabric && other < fabric => {
                    if works && !self.lost_routers[one] && !self.lost_routers[other] {
                        neighbours[one].push(other);
                        neighbours[other].push(one);
                    }
                }
                [one, other] if one < fabric || other < fabric => {
                    let (port, peer) = self.links[link];
                    let of_node = if one < fabric { peer } else { port };
                    let router = one.min(other);
                    let (node, interface) = inside.interface_at(topology, of_node);
                    if works && !self.lost_routers[router] && !self.lost_nodes[node.index()] {
                        interfaces.push((node, interface, router));
                    }
                }
                [one, _] => {
                    let node = inside.node_of_router(RouterId::from_index(one));
                    self.lost_nodes[node.index()] |= !works;
                }
            }
        }
        interfaces.retain(|(node, ..)| !self.lost_nodes[node.index()]);
        let mut at_router = vec![0u32; fabric];
        for &(_, _, router) in &interfaces {
            at_router[router] += 1;
        }
        for plane in 0..inside.planes as usize {
            let each = fabric / inside.planes as usize;
            self.keep_largest_part(plane * each..(plane + 1) * each, &neighbours, &at_router);
        }
        let mut working = vec![0u16; self.lost_nodes.len()];
        for (node, interface, router) in interfaces {
            working[node.index()] |= u16::from(!self.lost_routers[router]) << interface;
        }
        let mut cut_off = 0;
        for (node, out) in inside.without_way(&working).into_iter().enumerate() {
            if out && !self.lost_nodes[node] {
                cut_off += 1;
                self.lost_nodes[node] = true;
                if !inside.choice.takes_others() {
                    let dark = (working[node] & inside.all_interfaces()).trailing_ones();
                    self.without_rail.push((NodeId::from_index(node), dark));
                }
            }
        }
        if self.lost_nodes.iter().all(|lost| *lost) {
            let why = inside.why_lost(&self.without_rail);
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            return wrong(Entry::All, format!("no node is left that works{why}"));
        }
        for node in (0..self.lost_nodes.len()).filter(|&node| self.lost_nodes[node]) {
            let routers = index_range(inside.routers_of(NodeId::from_index(node)));
            routers.for_each(|router| self.lost_routers[router] = true);
        }
        Ok(cut_off)
    }

    /// Marks as lost the routers of a plane that are not in its part of most interfaces; none if no
    /// interface works.
    fn keep_largest_part(
        &mut self,
        routers: Range<usize>,
        neighbours: &[Vec<usize>],
        interfaces_at: &[u32],
    ) {
        let mut largest: (u32, Vec<usize>) = (0, Vec::new());
        let mut seen = vec![false; routers.end];
        for first in routers.clone() {
            if seen[first] || self.lost_routers[first] {
                continue;
            }
            let part = reached(first, neighbours, &mut seen);
            let interfaces = part.iter().map(|&router| interfaces_at[router]).sum();
            if interfaces > largest.0 {
                largest = (interfaces, part);
            }
        }
        if largest.0 > 0 {
            let mut left = vec![false; routers.end];
            largest.1.into_iter().for_each(|router| left[router] = true);
            for router in routers {
                self.lost_routers[router] |= !left[router];
            }
        }
    }

    fn apply(&self, topology: &mut Topology, cut_off_nodes: u32) -> Result<Losses, FailureError> {
        let mut losses = Losses {
            cut_off_nodes,
            ..Losses::default()
        };
        let mut worse_classes: HashMap<String, LinkClassId> = HashMap::new();
        for (link, &(one, other)) in self.links.iter().enumerate() {
            let ends = self.routers_of(link);
            let left = self.left[link];
            let impaired = self.impaired.get(&link);
            let lost_at = |lost_inside: bool| {
                let own = |end: &&RouterId| (end.index() >= self.network_routers()) == lost_inside;
                let mut ends = ends.iter().filter(own);
                ends.any(|end| self.lost_routers[end.index()])
            };
            let dark = left == [0.0; 2] || lost_at(false);
            // What leads one way is said of the end that sends.
            let both_ways = topology.peer[other.index()] == Peer::Port(one);
            let sending = 1 + usize::from(both_ways);
            if dark || lost_at(true) {
                for end in [one, other].into_iter().take(sending) {
                    topology.peer[end.index()] = Peer::Unconnected;
                }
                // A node that is lost has no links that count.
                losses.links += u32::from(dark);
            } else if left != [1.0; 2] || impaired.is_some() {
                for (end, port) in [one, other].into_iter().enumerate().take(sending) {
                    let all = impaired.into_iter().flatten();
                    let own = all.filter(|(_, ends)| ends[end]);
                    let mut impairments: Vec<_> = own.map(|(impairment, _)| *impairment).collect();
                    if left[end] >= 1.0 && impairments.is_empty() {
                        continue;
                    }
                    impairments.sort_by_key(|impairment| impairment.during.from);
                    let class = topology.class_of_port[port.index()];
                    let worse = worse_class(topology, class, left[end], impairments)?;
                    topology.class_of_port[port.index()] = match worse_classes.get(&worse.name) {
                        Some(&known) => known,
                        None => add_class(topology, &mut worse_classes, worse)?,
                    };
                }
                losses.slower_links += 1;
            }
        }
        for node in 0..topology.nodes() {
            let node = NodeId::from_index(node);
            let router = topology.router_of_node(node);
            let lost = self.inside.is_none() && self.lost_nodes[node.index()];
            if lost || self.lost_routers[router.index()] {
                let port = topology.port_of_node[node.index()];
                topology.peer[port.index()] = Peer::Unconnected;
                losses.nodes += u32::from(self.inside.is_none());
            }
        }
        if self.inside.is_some() {
            losses.nodes = self.lost_nodes.iter().filter(|lost| **lost).count() as u32;
        }
        if topology.has_one_way_links() {
            topology.senders = senders(&topology.peer);
        }
        losses.uplinks = self.optical.dark_uplinks;
        [losses.optical_switches, _] = self.optical.lost_switches();
        let routers = &self.lost_routers[..self.network_routers()];
        losses.routers = routers.iter().filter(|lost| **lost).count() as u32;
        Ok(losses)
    }
}

/// The routers that are reached from one of them, itself first, which have not been seen before.
fn reached(first: usize, neighbours: &[Vec<usize>], seen: &mut [bool]) -> Vec<usize> {
    seen[first] = true;
    let mut all = vec![first];
    let mut next = 0;
    while let Some(&router) = all.get(next) {
        next += 1;
        for &other in &neighbours[router] {
            if !std::mem::replace(&mut seen[other], true) {
                all.push(other);
            }
        }
    }
    all
}

fn index_range(routers: Range<u32>) -> Range<usize> {
    routers.start as usize..routers.end as usize
}

/// When a link fails that works and fails for exponentially distributed times in turn.
fn alternating(
    stream: StreamKey,
    entity: u64,
    mtbf: Picoseconds,
    repair: Option<Picoseconds>,
    end: Picoseconds,
) -> impl Iterator<Item = During> {
    let mut draws = 0;
    let mut after = move |time: u64, mean: Picoseconds| {
        draws += 1;
        let lasts = -(1.0 - stream.unit(entity, draws)).ln() * mean.0 as f64;
        time.saturating_add((lasts as u64).max(1))
    };
    let mut works_from = 0;
    std::iter::from_fn(move || {
        let from = after(works_from, mtbf);
        if from >= end.0 {
            return None;
        }
        works_from = repair.map_or(u64::MAX, |repair| after(from, repair));
        let until = if works_from < end.0 {
            works_from
        } else {
            u64::MAX
        };
        Some(During {
            from: Picoseconds(from),
            until: Picoseconds(until),
        })
    })
}

/// A class like another with a share of its bandwidth and what it lacks besides, called
/// `global at 50 %`.
fn worse_class(
    topology: &Topology,
    class: LinkClassId,
    left: f64,
    impairments: Vec<Impairment>,
) -> Result<LinkClass, FailureError> {
    let whole = &topology.link_classes[class.index()];
    let share = |left: f64| {
        let rate = (whole.bandwidth.bytes_per_second() as f64 * left).round() as u64;
        Bandwidth::new(rate).map_err(|error| FailureError {
            entry: Entry::All,
            message: format!("a slower link of class `{}`: {error}", whole.name),
        })
    };
    for impairment in &impairments {
        share(impairment.left)?;
    }
    let for_all = Impairment {
        left,
        ..Impairment::dark(During::WHOLE_RUN)
    };
    let all = std::iter::once(&for_all).chain(&impairments);
    let words = all.map(Impairment::words);
    let words: Vec<_> = words.filter(|words| !words.is_empty()).collect();
    Ok(LinkClass {
        name: format!("{} {}", whole.name, words.join(", ")),
        bandwidth: share(left)?,
        impairments,
        ..whole.clone()
    })
}

/// Adds a class of damaged links to a network.
fn add_class(
    topology: &mut Topology,
    known: &mut HashMap<String, LinkClassId>,
    class: LinkClass,
) -> Result<LinkClassId, FailureError> {
    let Ok(id) = u8::try_from(topology.link_classes.len()) else {
        return wrong(
            Entry::All,
            "links of too many different bandwidths: at most 256 classes",
        );
    };
    known.insert(class.name.clone(), LinkClassId(id));
    topology.link_classes.push(class);
    Ok(LinkClassId(id))
}

#[cfg(test)]
mod tests;
