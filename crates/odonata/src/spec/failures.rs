//! What of a network does not work.

use odonata_network::topology as network;
pub use odonata_network::topology::Part;
use odonata_units::{GroupId, NodeId, Picoseconds, RouterId};

use super::table::table;

table! {
    /// Links between routers that are out of service, or slower than they should be.
    pub struct LinkFailure {
        /// Two routers, such as `[3, 17]`: the links between them.
        routers: Option<Vec<u32>> = None => Notes { fewest_entries: Some(2), most_entries: Some(2), ..Notes::INDEX },
        /// A router, such as `35`: the links between it and others, as where a spine is taken down.
        #[serde(skip_serializing_if = "Option::is_none")]
        router: Option<u32> = None => Notes::INDEX,
        /// Two groups: the links between them.
        groups: Option<Vec<u32>> = None => Notes { fewest_entries: Some(2), most_entries: Some(2), ..Notes::INDEX },
        /// How many of these links, the first ones by port. Default: all.
        count: Option<u32> = None => Notes::COUNT,
        /// Share of a link's bandwidth that is left in both directions, as where some of its lanes
        /// are dark; `0 %`: the link is out of service.
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
    refuse "" as "neither" when [("routers", Test::Absent), ("router", Test::Absent), ("groups", Test::Absent)] =>
        "`routers` or `groups`, two of them, that the links join, or one `router`";
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
        /// What fails: `links` between routers, `routers` with all that is attached to them, or `nodes`.
        part: Part = Part::Links,
        /// With `part = "links"`: only links of this class. Default: all links between routers.
        link_class: Option<String> = None,
        /// The share of all that there are.
        share: Option<f64> = None => Notes { quantity: Some("share"), least: Some(1.0), most: Some(1e6), ..Notes::NONE },
        /// In place of `share`: how many.
        count: Option<u32> = None => Notes::COUNT,
        /// In place of both: every link works for a time of this mean and fails, again and again up to
        /// the end of the run; the times are exponentially distributed.
        #[serde(skip_serializing_if = "Option::is_none")]
        mtbf_ps: Option<u64> = None => Notes::POSITIVE,
        /// With `mtbf`: the mean time until a failed link works again, likewise. Default: it never does.
        #[serde(skip_serializing_if = "Option::is_none")]
        repair_ps: Option<u64> = None => Notes::POSITIVE,
        /// With `part = "links"`: the share of the bandwidth that is left, as for links that are listed.
        bandwidth: f64 = 0.0 => Notes { quantity: Some("share"), least: Some(0.0), most: Some(999_999.0), ..Notes::NONE },
        /// With `part = "links"`: the share of the packets that arrive damaged, as for links that are listed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_rate: Option<f64> = None => Notes { quantity: Some("share"), least: Some(1e-6), most: Some(990_000.0), ..Notes::NONE },
        /// With `part = "links"`: when they fail, as for links that are listed.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_ps: Option<u64> = None => Notes::POSITIVE,
        /// With `part = "links"`: when they work again. Default: never.
        #[serde(skip_serializing_if = "Option::is_none")]
        until_ps: Option<u64> = None => Notes::POSITIVE,
    }
    refuse "at" when [("part", Test::IsNot("links")), ("at", Test::Given)] =>
        "only with part = \"links\": routers and nodes are out of service for the whole run";
    refuse "until" when [("part", Test::IsNot("links")), ("until", Test::Given)] =>
        "only with part = \"links\": routers and nodes are out of service for the whole run";
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
    refuse "mtbf" when [("part", Test::IsNot("links")), ("mtbf", Test::Given)] =>
        "only with part = \"links\": routers and nodes are out of service for the whole run";
    refuse "" as "both" when [("share", Test::Given), ("count", Test::Given)] =>
        "either `share` or `count`";
    refuse "link_class" when [("part", Test::IsNot("links")), ("link_class", Test::Given)] =>
        "only with part = \"links\"";
    refuse "bandwidth" when [("part", Test::IsNot("links")), ("bandwidth", Test::Set)] =>
        "only with part = \"links\"";
    refuse "error_rate" when [("part", Test::IsNot("links")), ("error_rate", Test::Given)] =>
        "only with part = \"links\"";
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
        /// What fails at random besides.
        draw: Vec<DrawnFailures> = Vec::new(),
        /// Seed of what fails at random: under one seed, what fails at a small share fails at a larger
        /// one as well. Default: the scenario's `seed`.
        seed: Option<u64> = None,
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
    let always = network::During::WHOLE_RUN;
    network::Impairment {
        during: network::During {
            from: at_ps.map_or(always.from, Picoseconds),
            until: until_ps.map_or(always.until, Picoseconds),
        },
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

    /// Whether links go out of service or come back during the run, so that routes change.
    pub(crate) fn has_moments(&self) -> bool {
        self.impairments()
            .any(|(one, changes)| one.left == 0.0 && changes)
    }

    /// Whether links fail, become slower, or recover during the run.
    pub(crate) fn change_during_run(&self) -> bool {
        self.impairments().any(|(_, changes)| changes)
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
                    groups().map(|(a, b)| network::Ends::Groups(GroupId(a), GroupId(b)))?
                }
            };
            Some(network::FailedLinks {
                ends,
                count: failed.count,
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
        network::Failures {
            links: links.collect(),
            routers: numbers(&self.routers).into_iter().map(RouterId).collect(),
            nodes: numbers(&self.nodes).into_iter().map(NodeId).collect(),
            drawn: drawn.collect(),
            seed: self.seed.unwrap_or(1),
        }
    }
}
