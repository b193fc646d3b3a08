//! What of a network does not work.

use odonata_declare::Named;
use odonata_network::Topology;
use odonata_network::topology as network;
pub use odonata_network::topology::Part;
use odonata_units::{GroupId, NodeId, Picoseconds, RouterId};
use serde::{Deserialize, Serialize};

use super::table::{is_default, table};
use crate::error::SpecError;

/// What becomes of packets at what fails during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum InFlight {
    /// Packets on their way still take the link.
    ///
    /// As when a link is taken down for maintenance; later ones do not.
    #[default]
    Drained,
    /// They are lost and sent again.
    ///
    /// As when a cable is pulled: what is on the link is lost, and what comes to it, until routes have
    /// been made anew.
    Lost,
}

table! {
    /// Links between routers that are out of service, or slower than they should be.
    pub struct LinkFailure {
        /// Two routers, such as `[3, 17]`: the links between them.
        routers: Option<Vec<u32>> = None => Notes { fewest_entries: Some(2), most_entries: Some(2), ..Notes::INDEX },
        /// A router, such as `35`: the links between it and others, as where a spine is taken down.
        #[serde(skip_serializing_if = "Option::is_none")]
        router: Option<u32> = None => Notes::INDEX,
        /// A port of a router, such as `"3/12"`, or of a switch of the wiring file, such as `"leaf-2/13"`
        /// with the file's number: the link there.
        #[serde(skip_serializing_if = "Option::is_none")]
        port: Option<String> = None,
        /// An interface of a node that has several, [node], such as `"7/2"`, from 0: its link to the network.
        #[serde(skip_serializing_if = "Option::is_none")]
        interface: Option<String> = None,
        /// Two switches by the names of the wiring file: the links between them.
        #[serde(skip_serializing_if = "Option::is_none")]
        switches: Option<Vec<String>> = None => Notes { fewest_entries: Some(2), most_entries: Some(2), ..Notes::NONE },
        /// Two groups: the links between them.
        groups: Option<Vec<u32>> = None => Notes { fewest_entries: Some(2), most_entries: Some(2), ..Notes::INDEX },
        /// How many of these links, the first ones by port. Default: all.
        count: Option<u32> = None => Notes::COUNT,
        /// Only the direction from the first of the two `routers` or `switches` to the second, or from
        /// the `port`; with `bandwidth` or `error_rate`. Dark links are so in both: each end takes a
        /// link down of which the other hears nothing.
        #[serde(skip_serializing_if = "is_default")]
        one_way: bool = false,
        /// Share of a link's bandwidth that is left, as where some of its lanes are dark; `0 %`: the
        /// link is out of service.
        bandwidth: f64 = 0.0 => Notes { quantity: Some("share"), least: Some(0.0), most: Some(999_999.0), ..Notes::NONE },
        /// Share of the packets that arrive damaged, which the link sends again until they are whole; the
        /// links then have all their bandwidth unless `bandwidth` says less.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_rate: Option<f64> = None => Notes { quantity: Some("share"), least: Some(1e-6), most: Some(990_000.0), ..Notes::NONE },
        /// When they fail; packets that are on their way then still take them, later ones do not.
        /// Default: they do not work at the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_ps: Option<u64> = None => Notes::POSITIVE,
        /// When they work again. Default: never.
        #[serde(skip_serializing_if = "Option::is_none")]
        until_ps: Option<u64> = None => Notes::POSITIVE,
    }
    refuse "" as "neither" when [("routers", Test::Absent), ("router", Test::Absent), ("groups", Test::Absent), ("switches", Test::Absent), ("port", Test::Absent), ("interface", Test::Absent)] =>
        "`routers`, `switches` or `groups`, two of them, that the links join, one `router`, a `port`, or an `interface`";
    refuse "interface" as "routers and interface" when [("interface", Test::Given), ("routers", Test::Given)] =>
        "either `interface` or `routers`";
    refuse "interface" as "router and interface" when [("interface", Test::Given), ("router", Test::Given)] =>
        "either `interface` or `router`";
    refuse "interface" as "groups and interface" when [("interface", Test::Given), ("groups", Test::Given)] =>
        "either `interface` or `groups`";
    refuse "interface" as "switches and interface" when [("interface", Test::Given), ("switches", Test::Given)] =>
        "either `interface` or `switches`";
    refuse "interface" as "port and interface" when [("interface", Test::Given), ("port", Test::Given)] =>
        "either `interface` or `port`";
    refuse "count" as "interface" when [("count", Test::Given), ("interface", Test::Given)] =>
        "left out: an interface has one link";
    refuse "one_way" as "interface" when [("one_way", Test::Positive), ("interface", Test::Given)] =>
        "with two `routers` or `switches`, or a `port`, which say the direction";
    refuse "port" as "routers and port" when [("port", Test::Given), ("routers", Test::Given)] =>
        "either `port` or `routers`";
    refuse "port" as "router and port" when [("port", Test::Given), ("router", Test::Given)] =>
        "either `port` or `router`";
    refuse "port" as "groups and port" when [("port", Test::Given), ("groups", Test::Given)] =>
        "either `port` or `groups`";
    refuse "port" as "switches and port" when [("port", Test::Given), ("switches", Test::Given)] =>
        "either `port` or `switches`";
    refuse "switches" as "routers and switches" when [("switches", Test::Given), ("routers", Test::Given)] =>
        "either `switches` or `routers`";
    refuse "switches" as "router and switches" when [("switches", Test::Given), ("router", Test::Given)] =>
        "either `switches` or `router`";
    refuse "switches" as "groups and switches" when [("switches", Test::Given), ("groups", Test::Given)] =>
        "either `switches` or `groups`";
    refuse "count" as "port" when [("count", Test::Given), ("port", Test::Given)] =>
        "left out: a port has one link";
    refuse "one_way" as "groups" when [("one_way", Test::Positive), ("groups", Test::Given)] =>
        "with two `routers` or `switches`, or a `port`, which say the direction";
    refuse "one_way" as "router" when [("one_way", Test::Positive), ("router", Test::Given)] =>
        "with two `routers` or `switches`, or a `port`, which say the direction";
    refuse "" as "both" when [("routers", Test::Given), ("groups", Test::Given)] =>
        "either `routers` or `groups`";
    refuse "router" as "routers" when [("router", Test::Given), ("routers", Test::Given)] =>
        "either `router` or `routers`";
    refuse "router" as "groups" when [("router", Test::Given), ("groups", Test::Given)] =>
        "either `router` or `groups`";
}

table! {
    /// Parts of a network that fail at random.
    pub struct DrawnFailures {
        /// What fails: `links` between routers, `routers` with all that is attached to them, `nodes`,
        /// `optical-switches`, `uplinks`, the links that feed these, or `circuits`, all that these could
        /// set.
        part: Part = Part::Links,
        /// With links or uplinks: only those of this class; `class` in files. Default: all links between
        /// routers.
        link_class: Option<String> = None,
        /// The share of all that there are; 0 % for the base of a sweep.
        share: Option<f64> = None => Notes { quantity: Some("share"), least: Some(0.0), most: Some(1e6), ..Notes::NONE },
        /// In place of `share`: how many.
        count: Option<u32> = None => Notes::COUNT,
        /// In place of both: every part works for a time of this mean and fails, again and again up to
        /// the end of the run; the times are exponentially distributed.
        #[serde(skip_serializing_if = "Option::is_none")]
        mtbf_ps: Option<u64> = None => Notes::POSITIVE,
        /// With `mtbf`: the mean time until what failed works again, likewise. Default: it never does.
        #[serde(skip_serializing_if = "Option::is_none")]
        repair_ps: Option<u64> = None => Notes::POSITIVE,
        /// With links or uplinks: the share of the bandwidth that is left, as for links that are listed.
        bandwidth: f64 = 0.0 => Notes { quantity: Some("share"), least: Some(0.0), most: Some(999_999.0), ..Notes::NONE },
        /// With links or uplinks: the share of the packets that arrive damaged, as for links that are listed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_rate: Option<f64> = None => Notes { quantity: Some("share"), least: Some(1e-6), most: Some(990_000.0), ..Notes::NONE },
        /// When they fail, as for links and outages that are listed.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_ps: Option<u64> = None => Notes::POSITIVE,
        /// When they work again. Default: never.
        #[serde(skip_serializing_if = "Option::is_none")]
        until_ps: Option<u64> = None => Notes::POSITIVE,
    }
    refuse "" as "neither" when [("share", Test::Absent), ("count", Test::Absent), ("mtbf", Test::Absent)] =>
        "`share`, `count` or `mtbf`";
    refuse "share" as "mtbf" when [("share", Test::Given), ("mtbf", Test::Given)] =>
        "either `share` or `mtbf`";
    refuse "count" as "mtbf" when [("count", Test::Given), ("mtbf", Test::Given)] =>
        "either `count` or `mtbf`";
    refuse "at" as "mtbf" when [("at", Test::Given), ("mtbf", Test::Given)] =>
        "either `at` or `mtbf`";
    refuse "until" as "mtbf" when [("until", Test::Given), ("mtbf", Test::Given)] =>
        "either `until` or `mtbf` with `repair`";
    refuse "repair" when [("repair", Test::Given), ("mtbf", Test::Absent)] =>
        "only with `mtbf`";
    refuse "at" as "start" when [("part", Test::IsNot("links")), ("part", Test::IsNot("uplinks")), ("until", Test::Given), ("at", Test::Absent)] =>
        "the time of the failure: routers and nodes that are repaired have worked before";
    refuse "" as "both" when [("share", Test::Given), ("count", Test::Given)] =>
        "either `share` or `count`";
    refuse "link_class" when [("part", Test::IsNot("links")), ("part", Test::IsNot("uplinks")), ("link_class", Test::Given)] =>
        "only with part = \"links\" or \"uplinks\"";
    refuse "bandwidth" when [("part", Test::IsNot("links")), ("part", Test::IsNot("uplinks")), ("bandwidth", Test::Set)] =>
        "only with part = \"links\" or \"uplinks\"";
    refuse "error_rate" when [("part", Test::IsNot("links")), ("part", Test::IsNot("uplinks")), ("error_rate", Test::Given)] =>
        "only with part = \"links\" or \"uplinks\"";
}

table! {
    /// Routers, nodes, optical switches or circuits that are out of service for a part of the run.
    pub struct Outage {
        /// Routers, with all that is attached to them: numbers from 0, as a list or a text such as
        /// `"0, 3-8"`.
        routers: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Nodes, likewise.
        nodes: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Routers by the names of the wiring file.
        #[serde(skip_serializing_if = "Option::is_none")]
        switches: Option<Vec<String>> = None,
        /// Nodes by the names of hosts, as a list in Slurm's notation: `"nid[001000-001003]"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        hosts: Option<String> = None => Notes { called: Some("a text in Slurm's notation, such as \"nid[1-3],nid7\""), ..Notes::NONE },
        /// Optical switches, with all circuits through them: numbers from 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        optical_switches: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Circuits, such as `"2/5-9"`: that of optical switch 2 from its port 5 to its port 9.
        #[serde(skip_serializing_if = "Option::is_none")]
        circuits: Option<Vec<String>> = None,
        /// When they fail.
        at_ps: Option<u64> = None => Notes::POSITIVE,
        /// When they work again. Default: never.
        until_ps: Option<u64> = None => Notes::POSITIVE,
    }
    refuse "" as "neither" when [("routers", Test::Absent), ("nodes", Test::Absent), ("hosts", Test::Absent), ("switches", Test::Absent), ("optical_switches", Test::Absent), ("circuits", Test::Absent)] =>
        "`routers`, `switches`, `nodes`, `hosts`, `optical_switches` or `circuits`";
    refuse "at" when [("at", Test::Absent)] =>
        "the time of the failure: what never works is listed in `failures.routers` and `failures.nodes`";
}

table! {
    /// What of the network does not work, for the whole run or a part of it.
    pub struct Failures {
        /// Links between routers.
        links: Vec<LinkFailure> = Vec::new(),
        /// Routers, with all that is attached to them: numbers from 0, as a list or a text such as
        /// `"0, 3-8"`.
        routers: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Nodes, likewise.
        nodes: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Routers by the names that switches have in the wiring file, `family = "ibnetdiscover"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        switches: Option<Vec<String>> = None,
        /// Nodes by the names of hosts, those of `[machine]` or of the wiring file, as a list in Slurm's
        /// notation: `"nid[001000-001003]"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        hosts: Option<String> = None => Notes { called: Some("a text in Slurm's notation, such as \"nid[1-3],nid7\""), ..Notes::NONE },
        /// Optical switches, with all circuits through them: numbers from 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        optical_switches: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Circuits that cannot be set, such as `"2/5-9"`: that of optical switch 2 from its port 5 to
        /// its port 9.
        #[serde(skip_serializing_if = "Option::is_none")]
        circuits: Option<Vec<String>> = None,
        /// What is out of service as a whole for a part of the run.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        outages: Vec<Outage> = Vec::new(),
        /// What fails at random besides.
        draw: Vec<DrawnFailures> = Vec::new(),
        /// What becomes of packets at what fails during the run: they are `drained`, or `lost` and sent
        /// again.
        #[serde(skip_serializing_if = "is_default")]
        in_flight: InFlight = InFlight::Drained,
        /// With `in_flight = "lost"`: when a packet is sent again, counted from when it was lost.
        /// Default: 100 us.
        #[serde(skip_serializing_if = "Option::is_none")]
        resend_after_ps: Option<u64> = None => Notes::POSITIVE,
        /// With `in_flight = "lost"`: how often a packet is sent again before its job is aborted.
        /// Default: 7, the most of InfiniBand.
        #[serde(skip_serializing_if = "Option::is_none")]
        retries: Option<u8> = None => Notes::NONE,
        /// With `in_flight = "lost"`: how long after each change routes are made anew; packets take the
        /// old ones until then. Default: 0 s.
        #[serde(skip_serializing_if = "Option::is_none")]
        reconvergence_ps: Option<u64> = None => Notes::NONE,
        /// Seed of what fails at random: under one seed, what fails at a small share fails at a larger
        /// one as well. Default: the scenario's `seed`.
        seed: Option<u64> = None,
    }
    refuse "resend_after" when [("in_flight", Test::IsNot("lost")), ("resend_after", Test::Given)] =>
        "only with in_flight = \"lost\"";
    refuse "retries" when [("in_flight", Test::IsNot("lost")), ("retries", Test::Given)] =>
        "only with in_flight = \"lost\"";
    refuse "reconvergence" when [("in_flight", Test::IsNot("lost")), ("reconvergence", Test::Given)] =>
        "only with in_flight = \"lost\"";
}

/// When a lost packet is sent again unless the scenario says so.
const RESEND_AFTER: Picoseconds = Picoseconds(100_000_000);

const SECOND_PS: u64 = 1_000_000_000_000;

/// Nodes that are out of service for a part of a schedule.
pub(crate) struct NodesOut {
    pub nodes: Vec<u32>,
    /// Seconds after the first submission.
    pub at_s: i64,
    /// Likewise; `None`: for ever.
    pub until_s: Option<i64>,
}

/// How often a lost packet is sent again unless the scenario says so: the most that a queue pair of
/// InfiniBand does, whose retry count has three bits.
const RETRIES: u8 = 7;

/// `3/12`: a router and its port, or a node and its interface.
fn whole_and_part(text: &str) -> Option<(u32, u32)> {
    let (whole, part) = text.split_once('/')?;
    Some((whole.parse().ok()?, part.parse().ok()?))
}

/// `2/5-9`: a circuit of an optical switch from one of its ports to another.
pub(crate) fn circuit(text: &str) -> Option<network::OpticalCircuit> {
    let (switch, ports) = text.split_once('/')?;
    let (from, to) = ports.split_once('-')?;
    let number = |text: &str| text.trim().parse().ok();
    Some(network::OpticalCircuit {
        switch: number(switch)?,
        from: number(from)?,
        to: number(to)?,
    })
}

/// The part of a run between two times, which are its start and its end unless they are given.
fn during(at_ps: Option<u64>, until_ps: Option<u64>) -> network::During {
    let always = network::During::WHOLE_RUN;
    network::During {
        from: at_ps.map_or(always.from, Picoseconds),
        until: until_ps.map_or(always.until, Picoseconds),
    }
}

/// What is wrong with links of which a share of the bandwidth is left and that damage packets, between
/// these times.
fn impairment(
    bandwidth: f64,
    error_rate: Option<f64>,
    at_ps: Option<u64>,
    until_ps: Option<u64>,
) -> network::Impairment {
    network::Impairment {
        during: during(at_ps, until_ps),
        left: match error_rate {
            Some(_) if bandwidth == 0.0 => 1.0,
            _ => bandwidth,
        },
        error_rate: error_rate.unwrap_or(0.0),
    }
}

impl LinkFailure {
    fn impairment(&self) -> network::Impairment {
        impairment(self.bandwidth, self.error_rate, self.at_ps, self.until_ps)
    }
}

impl DrawnFailures {
    fn impairment(&self) -> network::Impairment {
        impairment(self.bandwidth, self.error_rate, self.at_ps, self.until_ps)
    }
}

impl Failures {
    /// What is wrong with links, and whether that is so for a part of the run only.
    fn impairments(&self) -> impl Iterator<Item = (network::Impairment, bool)> {
        let changes = |one: &network::Impairment| one.during != network::During::WHOLE_RUN;
        let listed = self.links.iter().map(LinkFailure::impairment);
        let drawn = self.draw.iter().map(move |drawn| {
            let one = drawn.impairment();
            (one, drawn.mtbf_ps.is_some() || changes(&one))
        });
        listed.map(move |one| (one, changes(&one))).chain(drawn)
    }

    /// Whether anything goes out of service or comes back during the run, so that routes change.
    pub(crate) fn has_moments(&self) -> bool {
        let mut impairments = self.impairments();
        !self.outages.is_empty() || impairments.any(|(one, changes)| one.left == 0.0 && changes)
    }

    /// Whether anything fails, becomes slower, or recovers during the run.
    pub(crate) fn change_during_run(&self) -> bool {
        !self.outages.is_empty() || self.impairments().any(|(_, changes)| changes)
    }

    /// Whether packets are lost at what goes out of service during the run.
    pub(crate) fn loses_packets(&self) -> bool {
        self.in_flight == InFlight::Lost && self.has_moments()
    }

    /// Refuses outages of routers and nodes where packets are drained.
    ///
    /// # Errors
    /// If there are some.
    pub(crate) fn check_outages(&self) -> Result<(), SpecError> {
        let of_wholes = |outage: &Outage| outage.routers.is_some() || outage.nodes.is_some();
        if self.in_flight == InFlight::Lost || !self.outages.iter().any(of_wholes) {
            return Ok(());
        }
        let found = "routers or nodes, and in_flight = \"drained\"";
        let allowed =
            "in_flight = \"lost\": what is in a router or node that fails cannot be drained";
        Err(SpecError::value("failures.outages", found, allowed))
    }

    /// Whether links or routers change during the run, and not only which nodes work.
    pub(crate) fn change_network(&self) -> bool {
        let mut outages = self.outages.iter();
        let beside_nodes = |outage: &Outage| {
            outage.routers.is_some()
                || outage.switches.is_some()
                || outage.optical_switches.is_some()
                || outage.circuits.is_some()
        };
        outages.any(beside_nodes) || self.impairments().any(|(_, changes)| changes)
    }

    /// Whether anything is drawn over time.
    pub(crate) fn draws_over_time(&self) -> bool {
        self.draw.iter().any(|drawn| drawn.mtbf_ps.is_some())
    }

    /// A time in which a thousand of the failures are expected that are drawn over time in a network,
    /// in picoseconds.
    pub(crate) fn time_of_many(&self, network: &Topology) -> u64 {
        let drawn = self.draw.iter().filter_map(|drawn| {
            let parts = match drawn.part {
                Part::Links | Part::Uplinks => network.links().count(),
                Part::Routers => network.routers(),
                Part::Nodes => network.nodes(),
                Part::OpticalSwitches | Part::Circuits => 1,
            };
            Some(parts as f64 / drawn.mtbf_ps? as f64)
        });
        (1000.0 / drawn.sum::<f64>()) as u64
    }

    /// The times that are listed, each with its key.
    fn times(&self) -> impl Iterator<Item = (String, u64)> {
        let links = self.links.iter().enumerate();
        let links = links.map(|(entry, one)| (format!("links[{entry}]"), one.at_ps, one.until_ps));
        let drawn = self.draw.iter().enumerate();
        let drawn = drawn.map(|(entry, one)| (format!("draw[{entry}]"), one.at_ps, one.until_ps));
        let outages = self.outages.iter().enumerate();
        let outages =
            outages.map(|(entry, one)| (format!("outages[{entry}]"), one.at_ps, one.until_ps));
        let all = links.chain(drawn).chain(outages);
        all.flat_map(|(entry, at, until)| {
            let given = [("at", at), ("until", until)].into_iter();
            given.filter_map(move |(key, time)| Some((format!("failures.{entry}.{key}"), time?)))
        })
    }

    /// The latest time that is listed.
    pub(crate) fn latest_time(&self) -> u64 {
        self.times().map(|(_, time)| time).max().unwrap_or(0)
    }

    /// Whether failures with times are those of a schedule, which counts in seconds.
    ///
    /// # Errors
    /// If a time is not one of whole seconds, or a key says what becomes of lost packets: a job on a
    /// node that fails ends.
    pub(crate) fn check_schedule(&self) -> Result<(), SpecError> {
        for (key, given) in [
            ("resend_after", self.resend_after_ps.is_some()),
            ("retries", self.retries.is_some()),
            ("reconvergence", self.reconvergence_ps.is_some()),
        ] {
            if given {
                let message = "left out in a schedule: a job on a node that fails ends at once, others \
                               go on by what is left";
                return Err(SpecError::new(format!("failures.{key}"), message));
            }
        }
        let whole = "whole seconds, in which a schedule counts";
        match self.times().find(|(_, time)| time % SECOND_PS != 0) {
            Some((key, time)) => Err(SpecError::value(key, Picoseconds(time), whole)),
            None => Ok(()),
        }
    }

    /// The listed outages of nodes during a schedule: each with its nodes, and the seconds after the
    /// first submission at which they fail and work again; nothing else changes.
    ///
    /// # Errors
    /// As [`Failures::check_schedule`].
    pub(crate) fn outages_of_nodes(&self) -> Result<Vec<NodesOut>, SpecError> {
        if self.outages.is_empty() {
            return Ok(Vec::new());
        }
        self.check_schedule()?;
        self.check_outages()?;
        let seconds = |time: u64| (time / SECOND_PS) as i64;
        let read = |outage: &Outage| NodesOut {
            nodes: outage.nodes.clone().unwrap_or_default(),
            at_s: seconds(outage.at_ps.unwrap_or(0)),
            until_s: outage.until_ps.map(seconds),
        };
        Ok(self.outages.iter().map(read).collect())
    }

    /// What fails besides the listed outages.
    pub(crate) fn without_outages(&self) -> Self {
        let mut left = self.clone();
        if std::mem::take(&mut left.outages).is_empty() {
            return left;
        }
        let nothing = Self {
            seed: left.seed,
            in_flight: left.in_flight,
            ..Self::default()
        };
        if left == nothing {
            return Self::default();
        }
        if !left.has_moments() {
            left.in_flight = InFlight::default();
        }
        left
    }

    /// When a packet that was lost is sent again, and how often at most.
    pub(crate) fn resending(&self) -> (Picoseconds, u8) {
        let after = self.resend_after_ps.map_or(RESEND_AFTER, Picoseconds);
        (after, self.retries.unwrap_or(RETRIES))
    }

    /// The network room's form, for a run of this length if it has one.
    pub(crate) fn listed(&self, duration_ps: Option<u64>) -> network::Failures {
        let pair = |numbers: &[u32]| match *numbers {
            [one, other] => Some((one, other)),
            _ => None,
        };
        let links = self.links.iter().filter_map(|failed| {
            let groups = || pair(failed.groups.as_deref()?);
            let ends = match (failed.router, failed.routers.as_deref().and_then(pair)) {
                (Some(one), _) => network::Ends::Router(RouterId(one)),
                (None, Some((a, b))) => network::Ends::Routers(RouterId(a), RouterId(b)),
                (None, None) => {
                    let port = failed.port.as_deref().and_then(whole_and_part);
                    let interface = failed.interface.as_deref().and_then(whole_and_part);
                    match (port, interface) {
                        (Some((router, port)), _) => network::Ends::Port(RouterId(router), port),
                        (None, Some((node, one))) => network::Ends::Interface(NodeId(node), one),
                        (None, None) => {
                            groups().map(|(a, b)| network::Ends::Groups(GroupId(a), GroupId(b)))?
                        }
                    }
                }
            };
            Some(network::FailedLinks {
                ends,
                count: failed.count,
                one_way: failed.one_way,
                impairment: failed.impairment(),
            })
        });
        let drawn = self.draw.iter().map(|drawn| network::DrawnFailures {
            part: drawn.part,
            class: drawn.link_class.clone(),
            amount: match (drawn.count, drawn.mtbf_ps) {
                (Some(count), _) => network::Amount::Count(count),
                (None, Some(mtbf)) => network::Amount::OverTime {
                    mtbf: Picoseconds(mtbf),
                    repair: drawn.repair_ps.map(Picoseconds),
                    end: Picoseconds(duration_ps.unwrap_or(0)),
                },
                (None, None) => network::Amount::Share(drawn.share.unwrap_or(0.0)),
            },
            impairment: drawn.impairment(),
        });
        let numbers = |of: &Option<Vec<u32>>| of.clone().unwrap_or_default();
        // Texts have been checked.
        let circuits_of = |of: &Option<Vec<String>>| -> Vec<_> {
            let all = of.iter().flatten();
            all.filter_map(|text| circuit(text)).collect()
        };
        let outages = self.outages.iter().enumerate().map(|(entry, outage)| {
            let during = during(outage.at_ps, outage.until_ps);
            let routers = numbers(&outage.routers).into_iter();
            let routers = routers.map(|router| network::OutOfService::Router(RouterId(router)));
            let nodes = numbers(&outage.nodes).into_iter();
            let nodes = nodes.map(|node| network::OutOfService::Node(NodeId(node)));
            let optical = numbers(&outage.optical_switches).into_iter();
            let optical = optical.map(network::OutOfService::OpticalSwitch);
            let circuits = circuits_of(&outage.circuits).into_iter();
            let circuits = circuits.map(network::OutOfService::Circuit);
            let all = routers.chain(nodes).chain(optical).chain(circuits);
            all.map(move |of| network::Outage { of, during, entry })
        });
        network::Failures {
            links: links.collect(),
            routers: numbers(&self.routers).into_iter().map(RouterId).collect(),
            nodes: numbers(&self.nodes).into_iter().map(NodeId).collect(),
            optical_switches: numbers(&self.optical_switches),
            circuits: circuits_of(&self.circuits),
            optics: None,
            outages: outages.flatten().collect(),
            on_the_way: match self.in_flight {
                InFlight::Drained => network::OnTheWay::Drained,
                InFlight::Lost => network::OnTheWay::Lost {
                    reconvergence: Picoseconds(self.reconvergence_ps.unwrap_or(0)),
                },
            },
            drawn: drawn.collect(),
            seed: self.seed.unwrap_or(1),
        }
    }
}
