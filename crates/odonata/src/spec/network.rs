//! What is wired, and how packets are routed on it.

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use odonata_network::routing::{
    AlgorithmName, Choice, FparRules, HopTime, MinimalLinks, Paths, Queue, Via,
};
pub use odonata_network::topology::{ArrangementName, GroupWiringName, SpineArrangement};
pub use odonata_run::Decisions;
pub use odonata_steering::Strategy;
use serde::{Deserialize, Serialize};

use super::link::Link;
use super::router::{Nic, Router};
use super::table::{Declared, Kind, is_default, table};
use crate::topology::families::Family;

/// A network: topology, links, routers, network interfaces, routing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What is wired.
    pub topology: Family,
    /// How packets find their way.
    #[serde(default)]
    pub routing: Routing,
    /// Link classes by name; those left out get [`Link::default_for`].
    #[serde(default)]
    pub links: BTreeMap<String, Link>,
    /// The router model.
    #[serde(default)]
    pub router: Router,
    /// The network interface of a node.
    #[serde(default)]
    pub nic: Nic,
}

impl Network {
    /// The network of a topology, with defaults for the rest.
    pub fn new(topology: Family) -> Self {
        let algorithm = topology.usual_routing();
        Self {
            topology,
            routing: Routing {
                algorithm,
                ..Routing::default()
            },
            links: BTreeMap::new(),
            router: Router::default(),
            nic: Nic::default(),
        }
    }
}

table! {
    /// How packets are routed: an algorithm and its parameters.
    pub struct Routing {
        /// The algorithm.
        algorithm: AlgorithmName = AlgorithmName::default() => Notes::NEEDED,
        /// Which global links to the destination's group minimal routes use: all of them, or those
        /// on a shortest path.
        minimal_links: MinimalLinks = MinimalLinks::default(),
        /// How one of several minimal links is chosen: at random, or by the shorter queue. With
        /// `fpar`: how one of the ports that its threshold counts as free is chosen. With
        /// `up-down`, `steered`, `dimension-order` and `shortest-path` also `by-destination`: the
        /// link that belongs to the destination node; in fat trees this is D-mod-K (Zahavi 2010).
        choice: Choice = Choice::default(),
        /// Which routes `minimal` takes, and of which the routes of `valiant`, `ugal-l` and
        /// `ugal-g` consist: those over the links between two `groups`, or the routes of the
        /// algorithm of that name. Default: `up-down` in fat trees, `dimension-order` in tori and
        /// HyperX, `shortest-path` in a Slim Fly, a Jellyfish, and other networks of one group,
        /// else `groups`.
        #[serde(skip_serializing_if = "Option::is_none")]
        paths: Option<Paths> = None,
        /// The intermediate of a non-minimal route: any router of a random group (`group`), a
        /// random router, or the router of a random node. Default: `group`, or `router` if `paths`
        /// is not `groups`.
        via: Option<Via> = None,
        /// Number of minimal and of non-minimal routes that an adaptive algorithm draws and
        /// compares. Default: 1 of each.
        candidates: Option<u32> = None => Notes::COUNT,
        /// Advantage of minimal routes, a size: an adaptive algorithm takes the minimal route
        /// unless its weighted queue is longer than that of the non-minimal route by more than
        /// this. By default it follows from the links' buffers ([adaptive routing by
        /// default](adaptive-routing.md)); with `engine = "flow"` and for the jobs of a schedule it
        /// is 0 B. With `fpar` a number from 0 to 1: the share of a port's queue up to which a path
        /// counts as free. Default: 0.75. With `steered` a size: the queue up to which a circuit
        /// counts as empty, including bytes that have been sent but not yet credited. Default: what
        /// a link carries during one round trip of credits, plus a packet.
        threshold_bytes: Option<u64> = None => Notes {
            called: Some("a size"),
            number: Some(OrNumber { key: "threshold_share", called: "a number from 0 to 1", least: 0.0, most: Some(1.0) }),
            ..Notes::NONE
        },
        /// Set by another key.
        threshold_share: Option<f64> = None => Notes::HIDDEN,
        /// With `q-adaptive`: how much worse than the best port the minimal port may be, as a share
        /// of its own time, for the source router still to take it. Default: 0.2.
        source_threshold: Option<f64> = None => Notes::FRACTION,
        /// The same in the first router of an intermediate group. Default: 0.35.
        intermediate_threshold: Option<f64> = None => Notes::FRACTION,
        /// With `q-adaptive`: learning rate towards shorter times. Default: 0.2.
        rate_down: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// With `q-adaptive`: learning rate towards longer times. Default: 0.04.
        rate_up: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// With `q-adaptive`: probability that a decision takes a random port. Default: 0.001.
        exploration: Option<f64> = None => Notes::FRACTION,
        /// With `q-adaptive`: up to what moment the learned time of a hop counts: the arrival of the
        /// packet's head (`head`) or of its tail (`tail`). Default: `tail`, as its authors count it,
        /// whose packets are one flit.
        #[serde(skip_serializing_if = "Option::is_none")]
        hop_time: Option<HopTime> = None,
        /// How an adaptive algorithm weights queues: each by the length of its route (`hops`), or
        /// by given weights of minimal and of non-minimal routes, such as `[1, 2]`.
        weights: Weights = Weights::default() => Notes { words: &[("hops", Word::Itself)], called: Some("a list of two weights"), fewest_entries: Some(2), most_entries: Some(2), ..Notes::COUNT },
        /// With `ugal-l`: which queue stands for a route: that of its first port (`port`), that of its
        /// virtual channel at this port (`channel`), or that of the channel if the detour begins with a
        /// port with which minimal routes may begin too, else that of the port (`hybrid`). Default:
        /// `hybrid` over `groups` whose routers are one hop from each global link, if no threshold is
        /// given; else `port`.
        #[serde(skip_serializing_if = "Option::is_none")]
        queue: Option<Queue> = None,
        /// Whether traffic inside a group may go by way of a random router of the group, with an
        /// adaptive algorithm or `tago`. Default: false, such traffic is always minimal.
        detours_in_group: Option<bool> = None,
        /// With `forwarding-tables`: the file of the tables, relative to the scenario, in Odonata's
        /// format or one of OpenSM's; or a directory in which the tables have [one of the expected
        /// names](forwarding-tables.md#files).
        #[serde(skip_serializing_if = "Option::is_none")]
        tables: Option<PathBuf> = None => Notes { parts: "tables", ..Notes::NONE },
        /// With `forwarding-tables`: output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`,
        /// which says to which ports GUIDs and LIDs belong. Default: the one in the directory of
        /// `tables`; with `family = "ibnetdiscover"` the network's own file.
        #[serde(skip_serializing_if = "Option::is_none")]
        subnet: Option<PathBuf> = None,
        /// With `forwarding-tables`: a file of the virtual channel for each source and destination,
        /// in Odonata's format or the output of `saquery PR`. Default: the one in the directory of
        /// `tables`; if there is none, all virtual channels are 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        service_levels: Option<PathBuf> = None,
        /// Virtual channels per link. With more than the algorithm needs, packets
        /// [spread over them](packet-model.md#more-virtual-channels); not with `dfsssp` and
        /// `forwarding-tables`. With fewer, channels are merged, and packets may then wait for each
        /// other forever; `odonata verify` shows whether they can. Default: as many as the algorithm
        /// needs.
        virtual_channels: Option<u8> = None => Notes { least: Some(1.0), most: Some(64.0), ..Notes::NONE },
        /// How `fpar` resolves what its description leaves open: by the text of the papers
        /// (`paper`); as the program of Kang et al. 2019 did (`codes`: two kinds of paths, scores
        /// in whole per cent, and the best port drawn among the running minima, counted from the
        /// first port on); or as that program was meant to (`codes-mended`: the best port drawn
        /// among the ports of least score). `choice` has no effect with `codes` and `codes-mended`.
        #[serde(skip_serializing_if = "is_default")]
        rules: FparRules = FparRules::default(),
        /// Whether a router decides for each packet by itself, or only for the first packet of a
        /// message, which the message's other packets follow: then a message has one path and its
        /// packets keep their order (in-order adaptive routing, as on InfiniBand). Not with
        /// `q-adaptive`.
        #[serde(skip_serializing_if = "is_default")]
        per: Decisions = Decisions::default(),
    }
}

/// How queues on minimal and non-minimal routes count when they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Weights {
    /// Each by the number of hops of its route: `"hops"`.
    Hops(HopsWord),
    /// By the weights of minimal and of non-minimal routes: `[1, 2]`.
    Fixed([u32; 2]),
}

impl Default for Weights {
    fn default() -> Self {
        Self::Hops(HopsWord::Hops)
    }
}

impl Declared for Weights {
    fn kind() -> Kind {
        Kind::List(Box::new(Kind::Integer))
    }
}

/// The word `"hops"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HopsWord {
    /// `"hops"`.
    Hops,
}
