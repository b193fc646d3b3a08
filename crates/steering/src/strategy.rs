//! From a job's groups to circuits between them.

use odonata_declare::Named;
use odonata_network::topology::{Circuit, Circuits, OpticalSwitches, SwitchPort};
use odonata_units::GroupId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::demand::Demand;
use crate::state::check_connected;
use crate::{birkhoff, factors, matching, min_cost, min_max, uniform};

/// How circuits are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// As many between every two groups, give or take one.
    ///
    /// A smaller dragonfly.
    #[default]
    Uniform,
    /// So that the busiest circuit has least to carry.
    ///
    /// As in Flexfly (Wen et al., SC
    /// 2016): numbers of circuits first, then a decomposition into matchings.
    MinMax,
    /// Assignments of greatest weight, one after the other.
    ///
    /// Of what the circuits so
    /// far leave each pair.
    Matching,
    /// Assignments of greatest weight, all of them together.
    ///
    /// As a flow of least cost with a cost for every
    /// further circuit between the same two groups (as Flexspander, Teh et al. 2020).
    MinCostFlow,
    /// By a Birkhoff–von Neumann decomposition of the demand.
    ///
    /// By its weights; the demand is scaled to
    /// be doubly stochastic.
    Birkhoff,
}

/// Why there are no circuits for a job.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SteeringError {
    /// A group is listed twice or does not exist.
    #[error("group {group} is {flaw}; list groups 0 to {last} once each")]
    Group {
        /// The group.
        group: GroupId,
        /// What is wrong with it.
        flaw: &'static str,
        /// The machine's last group.
        last: u32,
    },
    /// More groups than few links can connect.
    #[error(
        "{links} global links per group cannot connect {groups} groups by circuits of their own; \
         a machine needs at least 2 per group"
    )]
    TooFewLinks {
        /// Links of a group.
        links: u32,
        /// Groups of the job.
        groups: usize,
    },
    /// A demand of another number of groups.
    #[error("the demand is of {found} groups, the job has {expected}")]
    Demand {
        /// Groups of the demand.
        found: usize,
        /// Groups of the job.
        expected: usize,
    },
}

/// The circuits between the groups of a job that owns all of their links. They
/// connect the groups. A pure function: equal inputs give equal circuits.
///
/// `demand` is by place in `groups`; [`Strategy::Uniform`] does not look at it, the
/// others take every pair to send as much where there is none.
///
/// Time is linear in the number of links but for [`Strategy::Matching`],
/// [`Strategy::MinCostFlow`] and [`Strategy::Birkhoff`], which take the time of an
/// assignment, O(groups³), for every two links of a group.
///
/// # Errors
/// If a group is listed twice or does not exist, the demand does not fit, or the
/// groups cannot be connected.
pub fn circuits_for(
    switches: OpticalSwitches,
    groups: &[GroupId],
    strategy: Strategy,
    demand: Option<&Demand>,
) -> Result<Vec<Circuit>, SteeringError> {
    let last = switches.groups() - 1;
    let mut listed = vec![false; switches.groups() as usize];
    for &group in groups {
        let flaw = match listed.get_mut(group.index()) {
            None => "none of the machine",
            Some(true) => "listed twice",
            Some(listed) => {
                *listed = true;
                continue;
            }
        };
        return Err(SteeringError::Group { group, flaw, last });
    }
    if let Some(demand) = demand
        && demand.groups() != groups.len()
    {
        return Err(SteeringError::Demand {
            found: demand.groups(),
            expected: groups.len(),
        });
    }
    if groups.len() < 2 {
        return Ok(Vec::new());
    }
    let even;
    let demand = match demand {
        Some(demand) => demand,
        None => {
            even = Demand::uniform(groups.len());
            &even
        }
    };
    let links = switches.links();
    let mut table = Table::new(switches, groups);
    fill_planes(&mut table, 0, strategy, demand);
    if check_connected(&table.circuits, groups).is_err() {
        // What the job sends leaves its groups in parts: two links of each group
        // become a ring through all of them.
        table = Table::new(switches, groups);
        let ring = links.min(2);
        uniform::set(&mut table, 0..ring);
        fill_planes(&mut table, ring, strategy, demand);
        if check_connected(&table.circuits, groups).is_err() {
            return Err(SteeringError::TooFewLinks {
                links,
                groups: groups.len(),
            });
        }
    }
    Ok(table.circuits.iter().collect())
}

/// Sets the links from number `first` on.
fn fill_planes(table: &mut Table<'_>, first: u32, strategy: Strategy, demand: &Demand) {
    let links = table.circuits.switches().links();
    match strategy {
        Strategy::Uniform => return uniform::set(table, first..links),
        Strategy::MinMax => {
            let counts = min_max::counts(demand, links - first);
            let classes = factors::classes(demand.groups(), &counts, (links - first) / 2);
            table.set_classes(first, &classes, demand);
        }
        Strategy::Matching => {
            let classes = matching::classes(demand, (links - first) / 2);
            table.set_classes(first, &classes, demand);
        }
        Strategy::MinCostFlow => {
            let most = (links - first) / 2;
            let classes = factors::classes(demand.groups(), &min_cost::counts(demand, most), most);
            table.set_classes(first, &classes, demand);
        }
        Strategy::Birkhoff => {
            let classes = birkhoff::classes(demand, (links - first) / 2);
            table.set_classes(first, &classes, demand);
        }
    }
    table.fill(demand);
}

/// Arcs from one place to another, at most one from and one to each.
pub(crate) type Class = Vec<Option<usize>>;

/// The circuits of a job that is being steered, by the places of its groups.
pub(crate) struct Table<'a> {
    pub circuits: Circuits,
    groups: &'a [GroupId],
    /// Circuits between two places. Shape: groups × groups.
    counts: Vec<u32>,
}

impl<'a> Table<'a> {
    fn new(switches: OpticalSwitches, groups: &'a [GroupId]) -> Self {
        Self {
            circuits: Circuits::dark(switches),
            groups,
            counts: vec![0; groups.len() * groups.len()],
        }
    }

    pub fn places(&self) -> usize {
        self.groups.len()
    }

    fn port(&self, place: usize, link: u32) -> SwitchPort {
        SwitchPort {
            group: self.groups[place],
            link,
        }
    }

    pub fn count(&self, one: usize, other: usize) -> u32 {
        self.counts[one * self.places() + other]
    }

    /// Joins two ports if they are dark and on one switch.
    pub fn join(&mut self, one: (usize, u32), other: (usize, u32)) -> bool {
        let ports = [one, other].map(|(place, link)| self.port(place, link));
        let joined = self.circuits.connect(ports[0], ports[1]).is_ok();
        if joined {
            let places = self.places();
            self.counts[one.0 * places + other.0] += 1;
            self.counts[other.0 * places + one.0] += 1;
        }
        joined
    }

    /// Sets every class of arcs on two links, from number `first` on: arcs form paths
    /// and circles, along which the two links alternate. A circle of odd length needs
    /// both links on one switch, or loses its arc of least demand.
    fn set_classes(&mut self, first: u32, classes: &[Class], demand: &Demand) {
        for (class, link) in classes.iter().zip((first..).step_by(2)) {
            self.set_class(link, class, demand);
        }
    }

    fn set_class(&mut self, link: u32, class: &Class, demand: &Demand) {
        let mut entered = vec![false; class.len()];
        for &to in class.iter().flatten() {
            entered[to] = true;
        }
        let mut done = vec![false; class.len()];
        // Paths from their starts, then circles.
        let starts = (0..class.len()).filter(|&place| !entered[place]);
        for start in starts.chain(0..class.len()) {
            let mut walk = vec![start];
            let mut at = start;
            while !done[at] {
                done[at] = true;
                let Some(next) = class[at] else { break };
                walk.push(next);
                at = next;
            }
            if walk.len() < 2 {
                continue;
            }
            let arcs = walk.len() - 1;
            let circle = walk[0] == walk[arcs];
            if circle && !arcs.is_multiple_of(2) {
                let least = (0..arcs).min_by_key(|&arc| demand.of(walk[arc], walk[arc + 1]));
                walk.pop();
                walk.rotate_left((least.unwrap_or(0) + 1) % arcs);
                walk.push(walk[0]);
            }
            for (arc, ends) in walk.windows(2).enumerate() {
                let here = link + (arc % 2) as u32;
                let odd_end = circle && !arcs.is_multiple_of(2) && arc + 1 == arcs;
                self.join(
                    (ends[0], here),
                    (ends[1], if odd_end { link + 1 } else { here }),
                );
            }
        }
    }

    /// Joins what is still dark, pair by pair: first where most is left to carry for
    /// every circuit, then where there are the fewest.
    fn fill(&mut self, demand: &Demand) {
        let switches = self.circuits.switches();
        let (places, per_switch) = (self.places(), switches.per_switch());
        for switch in 0..switches.switches() {
            let links = switch * per_switch..(switch + 1) * per_switch;
            let mut dark: Vec<(usize, u32)> = Vec::new();
            for link in links {
                let ports = (0..places).map(|place| (place, link));
                dark.extend(
                    ports.filter(|&(place, link)| {
                        self.circuits.peer(self.port(place, link)).is_none()
                    }),
                );
            }
            while let Some((one, other)) = self.neediest(&dark, demand) {
                let (last, first) = (dark.remove(other), dark.remove(one));
                if !self.join(first, last) {
                    break;
                }
            }
        }
    }

    /// Two of these ports that are of different groups: those with most to carry per
    /// circuit if they got one more.
    fn neediest(&self, dark: &[(usize, u32)], demand: &Demand) -> Option<(usize, usize)> {
        let pairs =
            (0..dark.len()).flat_map(|one| (one + 1..dark.len()).map(move |two| (one, two)));
        let apart = pairs.filter(|&(one, two)| dark[one].0 != dark[two].0);
        apart.max_by(|&a, &b| {
            let need = |(one, two): (usize, usize)| {
                let (one, two) = (dark[one].0, dark[two].0);
                (demand.of(one, two), u64::from(self.count(one, two)) + 1)
            };
            let ((a_bytes, a_count), (b_bytes, b_count)) = (need(a), need(b));
            let (left, right) = (
                u128::from(a_bytes) * u128::from(b_count),
                u128::from(b_bytes) * u128::from(a_count),
            );
            left.cmp(&right).then(b_count.cmp(&a_count)).then(b.cmp(&a))
        })
    }
}
