//! Circuits as a flow of least cost: what the assignments of [`crate::matching`] choose
//! one after the other, chosen together.
//!
//! Every place sends `count` units, one for every two links of a group, and receives as
//! many; a unit from one place to another is an arc of a class. The `k`-th arc between the
//! same two places is worth what the circuits that it stands for would carry if the demand
//! were spread over that many, so that worths fall and the problem is a transport problem
//! with convex costs: shortest augmenting paths over reduced costs solve it exactly (Ahuja,
//! Magnanti, Orlin, *Network Flows*, 1993, sections 9.7 and 14.5). As many units leave every
//! place as come to it, so the units fall into `count` classes (Kőnig; [`crate::factors`]).

use crate::demand::Demand;

/// Worths are scaled to this, so that sums of them are far from any limit.
const SCALE: f64 = (1u64 << 40) as f64;
/// Nobody.
const NIL: usize = usize::MAX;

/// What the `k`-th arc, from 1, from one place to another is worth: of every two circuits
/// between the places one is an arc there and one an arc back.
pub(crate) fn worth(demand: &Demand, from: usize, to: usize, k: u32) -> i64 {
    let share = demand.of(from, to) as f64 / demand.most().max(1) as f64;
    let circuits = 2.0 * f64::from(k);
    // Pairs without demand share what is left, the ones with fewest first.
    ((share + 1e-6) * (1.0 / (circuits - 1.0) + 1.0 / circuits) * SCALE / 2.0) as i64
}

/// Arcs from every place to every other, `count` from and to each, that are worth most
/// together. Shape: groups × groups. Time O(count · groups³).
pub(crate) fn arcs(demand: &Demand, count: u32) -> Vec<u32> {
    let places = demand.groups();
    let mut transport = Transport {
        places,
        flow: vec![0; places * places],
        potential_from: vec![0; places],
        potential_to: vec![0; places],
        missing: vec![count; places],
    };
    transport.prepare(demand);
    // Round by round, so that no place has to wait for its first arc.
    for _ in 0..count {
        for from in 0..places {
            transport.send(demand, from);
        }
    }
    transport.flow
}

/// Numbers of circuits between every two places: the arcs of both directions. Shape: groups
/// × groups, symmetric.
pub(crate) fn counts(demand: &Demand, count: u32) -> Vec<u32> {
    let places = demand.groups();
    let arcs = arcs(demand, count);
    (0..places * places)
        .map(|pair| arcs[pair] + arcs[(pair % places) * places + pair / places])
        .collect()
}

struct Transport {
    places: usize,
    /// Arcs so far. Shape: places × places.
    flow: Vec<u32>,
    /// Prices at which no arc that could be added or taken back is a bargain.
    potential_from: Vec<i64>,
    potential_to: Vec<i64>,
    /// Arcs that every place still has to receive.
    missing: Vec<u32>,
}

impl Transport {
    /// Cost of one more arc.
    fn next(&self, demand: &Demand, from: usize, to: usize) -> i64 {
        -worth(demand, from, to, self.flow[from * self.places + to] + 1)
    }

    /// Prices before there are any arcs: every place pays the best arc that leaves it.
    fn prepare(&mut self, demand: &Demand) {
        for from in 0..self.places {
            let others = (0..self.places).filter(|&to| to != from);
            let costs = others.map(|to| self.next(demand, from, to));
            self.potential_from[from] = costs.min().unwrap_or(0);
        }
    }

    /// Sends one more unit from a place by a cheapest path: an arc to a place, back from it
    /// over an arc that another place gives up for it, and so on to one that misses an arc.
    fn send(&mut self, demand: &Demand, source: usize) {
        let places = self.places;
        // Senders, then receivers: distances, who came before, and whether that is final.
        let mut distance = vec![i64::MAX; 2 * places];
        let mut before = vec![NIL; 2 * places];
        let mut done = vec![false; 2 * places];
        distance[source] = 0;
        let end = loop {
            // Reduced costs are not negative, so the nearest is final (Dijkstra).
            let open = (0..2 * places).filter(|&at| !done[at] && distance[at] < i64::MAX);
            let Some(at) = open.min_by_key(|&at| distance[at]) else {
                // A place alone has nobody to send to.
                return;
            };
            done[at] = true;
            let mut relax = |to: usize, reduced: i64| {
                let further = distance[at] + reduced;
                if further < distance[to] {
                    (distance[to], before[to]) = (further, at);
                }
            };
            if at < places {
                for to in (0..places).filter(|&to| to != at) {
                    let price = self.potential_from[at] + self.potential_to[to];
                    relax(places + to, self.next(demand, at, to) - price);
                }
                continue;
            }
            let to = at - places;
            if self.missing[to] > 0 {
                break to;
            }
            for from in 0..places {
                let arcs = self.flow[from * places + to];
                if arcs > 0 {
                    let price = self.potential_from[from] + self.potential_to[to];
                    relax(from, worth(demand, from, to, arcs) + price);
                }
            }
        };
        // Those not nearer than the end keep their price.
        let reach = distance[places + end];
        for place in 0..places {
            self.potential_from[place] += (reach - distance[place]).max(0);
            self.potential_to[place] -= (reach - distance[places + place]).max(0);
        }
        self.missing[end] -= 1;
        let mut to = end;
        loop {
            let from = before[places + to];
            self.flow[from * places + to] += 1;
            if from == source {
                return;
            }
            to = before[from] - places;
            self.flow[from * places + to] -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
