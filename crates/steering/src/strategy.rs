//! From a job's groups to circuits between them.

use odonata_declare::Named;
use odonata_network::topology::{Circuit, Circuits};
use odonata_units::GroupId;
use serde::{Deserialize, Serialize};

use crate::demand::Demand;
use crate::error::SteeringError;
use crate::principles::check_connected;
use crate::table::Table;
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
    /// The busiest circuit has least to carry.
    ///
    /// As in Flexfly (Wen et al., SC
    /// 2016): numbers of circuits first, then a decomposition into matchings.
    MinMax,
    /// Assignments of greatest weight, one after the other.
    ///
    /// By what the circuits so far leave each pair.
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

/// The circuits between the groups of a job that owns all of their links. They
/// connect the groups. A pure function: equal inputs give equal circuits. `usable` is the
/// machine's switches without circuits: what has failed of them is not used.
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
    usable: &Circuits,
    groups: &[GroupId],
    strategy: Strategy,
    demand: Option<&Demand>,
) -> Result<Vec<Circuit>, SteeringError> {
    let switches = usable.switches();
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
    let mut table = Table::new(usable, groups);
    fill_planes(&mut table, 0, strategy, demand);
    if check_connected(&table.circuits, groups).is_err() {
        // What the job sends leaves its groups in parts: two links of each group
        // become a ring through all of them.
        table = Table::new(usable, groups);
        let ring = links.min(2);
        uniform::set(&mut table, 0..ring);
        fill_planes(&mut table, ring, strategy, demand);
        if usable.has_failures() && check_connected(&table.circuits, groups).is_err() {
            table = Table::new(usable, groups);
            table.connect_parts();
            table.fill(demand);
        }
        if check_connected(&table.circuits, groups).is_err() {
            return Err(SteeringError::TooFewLinks {
                links,
                groups: groups.len(),
                failed: usable.has_failures(),
            });
        }
    }
    Ok(table.circuits.iter().collect())
}

/// Sets the links from number `first` on.
fn fill_planes(table: &mut Table<'_>, first: u32, strategy: Strategy, demand: &Demand) {
    let links = table.circuits.switches().links();
    match strategy {
        Strategy::Uniform => {
            uniform::set(table, first..links);
            if !table.circuits.has_failures() {
                return;
            }
            // Ports whose partners have failed find others.
        }
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
