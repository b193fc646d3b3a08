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
    /// How packets find their way, in full.
    pub struct Routing {
        /// The algorithm.
        algorithm: AlgorithmName = AlgorithmName::default() => Notes::NEEDED,
        /// Which global links to the destination's group minimal routes use: all of them, or those
        /// on a shortest path.
        minimal_links: MinimalLinks = MinimalLinks::default(),
        /// How one of several minimal links is chosen: at random, or by the shorter queue. With
        /// `fpar`: how one of the ports is chosen that its threshold counts as free. With
        /// `up-down`, `steered`, `dimension-order` and `shortest-path` also `by-destination`: that
        /// of the destination node, in fat trees D-mod-K (Zahavi 2010).
        choice: Choice = Choice::default(),
        /// What `minimal` routes are, and what those of `valiant`, `ugal-l` and `ugal-g` consist
        /// of: by way of the links between two `groups`, or the routes of the algorithm of that
        /// name. Default: `up-down` in fat trees, `dimension-order` in tori and HyperX,
        /// `shortest-path` in a Slim Fly, a Jellyfish, and other networks of one group, else
        /// `groups`.
        #[serde(skip_serializing_if = "Option::is_none")]
        paths: Option<Paths> = None,
        /// What a non-minimal route goes by way of: any router of a random group, a random router,
        /// or the router of a random node. Default: `group`, or `router` where `paths` are not
        /// over groups.
        via: Option<Via> = None,
        /// Routes of each sort that an adaptive algorithm draws and compares. Default: 1.
        candidates: Option<u32> = None => Notes::COUNT,
        /// Advantage of minimal routes, a size: an adaptive algorithm takes the minimal route
        /// unless its weighted queue is longer than that of the other by more than this. Default:
        /// what follows from the links' buffers ([adaptive routing by
        /// default](adaptive-routing.md)); none, 0 B, with `engine = "flow"` and for the jobs of a
        /// schedule. With `fpar` a number from 0 to 1: the share of a port's queue up to which a
        /// path counts as free. Default: 0.75. With `steered` a size: the queue up to which a
        /// circuit counts as empty, what is sent and not yet credited included. Default: what a
        /// link carries during one round trip of credits, and a packet.
        threshold_bytes: Option<u64> = None => Notes { share_key: Some("threshold_share"), called: Some("a size"), ..Notes::NONE },
        /// Set by another key.
        threshold_share: Option<f64> = None => Notes::HIDDEN,
        /// With `q-adaptive`: by how much, as a share of its own time, the minimal port may be
        /// worse than the best and still be taken by the source router. Default: 0.2.
        source_threshold: Option<f64> = None => Notes::FRACTION,
        /// The same in the first router of an intermediate group. Default: 0.35.
        intermediate_threshold: Option<f64> = None => Notes::FRACTION,
        /// With `q-adaptive`: learning rate towards shorter times. Default: 0.2.
        rate_down: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// With `q-adaptive`: learning rate towards longer times. Default: 0.04.
        rate_up: Option<f64> = None => Notes::POSITIVE_FRACTION,
        /// With `q-adaptive`: probability that a decision takes a random port. Default: 0.001.
        exploration: Option<f64> = None => Notes::FRACTION,
        /// With `q-adaptive`: when a hop is over whose time is learned, when the packet's `head` has
        /// come or when its `tail` has. Default: `tail`, as with its authors, whose packets are one
        /// flit.
        #[serde(skip_serializing_if = "Option::is_none")]
        hop_time: Option<HopTime> = None,
        /// How an adaptive algorithm weights queues: `hops`, each by the length of its route, or
        /// the weights of minimal and of non-minimal routes, such as `[1, 2]`.
        weights: Weights = Weights::default() => Notes { words: &[("hops", Word::Itself)], called: Some("a list of two weights"), fewest_entries: Some(2), most_entries: Some(2), ..Notes::COUNT },
        /// With `ugal-l`: the queue that stands for a route, that of its first `port`, that of its
        /// virtual `channel` there, or `hybrid`, that of the channel where the detour begins with a
        /// port with which minimal routes may begin too, else that of the port. Default: `hybrid`
        /// over `groups` whose routers are one hop from each global link, where no threshold is
        /// given; else `port`.
        #[serde(skip_serializing_if = "Option::is_none")]
        queue: Option<Queue> = None,
        /// Whether adaptive traffic, or that of `tago`, inside a group may go by way of a random
        /// router of the group. Default: false, it is always minimal.
        detours_in_group: Option<bool> = None,
        /// With `forwarding-tables`: the file of the tables, relative to the scenario, ours or one
        /// of OpenSM, or a directory with the files of the [names that are looked
        /// for](forwarding-tables.md#files).
        #[serde(skip_serializing_if = "Option::is_none")]
        tables: Option<PathBuf> = None => Notes { parts: "tables", ..Notes::NONE },
        /// With `forwarding-tables`: output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`,
        /// which tells what GUIDs and LIDs are. Default: that of the directory of `tables`; the
        /// network itself with `family = "ibnetdiscover"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        subnet: Option<PathBuf> = None,
        /// With `forwarding-tables`: the virtual channel of each source and destination, ours or
        /// the output of `saquery PR`. Default: that of the directory of `tables`; else all are 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        service_levels: Option<PathBuf> = None,
        /// Virtual channels per link; fewer than the algorithm needs are merged, and packets may
        /// then wait for each other forever, as `odonata verify` shows. Default: what the
        /// algorithm needs.
        virtual_channels: Option<u8> = None => Notes { least: Some(1.0), most: Some(64.0), ..Notes::NONE },
        /// How `fpar` resolves what its description leaves open: by the text of the `paper`s; as
        /// the program of Kang et al. 2019 did (`codes`: two sorts of paths, scores in whole per
        /// cent, the best port drawn among the running minima, from the first port on); or as it
        /// was meant to (`codes-mended`: among the ports of least score). With the last two
        /// `choice` has no say.
        #[serde(skip_serializing_if = "is_default")]
        rules: FparRules = FparRules::default(),
        /// What every router decides on: each packet by itself, or the first packet of a message,
        /// which the others follow, so that a message has one path and its packets keep their
        /// order (adaptive routing that keeps flows in order, as on InfiniBand). Not with
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
