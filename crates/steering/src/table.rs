//! The circuits of a job while they are being chosen.

use odonata_network::topology::{Circuits, SwitchPort};
use odonata_units::GroupId;

use crate::demand::Demand;

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
    /// On switches without circuits; what has failed of them is not used.
    pub fn new(usable: &Circuits, groups: &'a [GroupId]) -> Self {
        Self {
            circuits: usable.without_circuits(),
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
    pub fn set_classes(&mut self, first: u32, classes: &[Class], demand: &Demand) {
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

    /// Joins groups that no circuits connect, as long as two ports of a switch do: what is left of a
    /// machine of which much has failed may have no ring.
    pub fn connect_parts(&mut self) {
        let switches = self.circuits.switches();
        let per_switch = switches.per_switch();
        let mut part: Vec<usize> = (0..self.places()).collect();
        for switch in 0..switches.switches() {
            let links = switch * per_switch..(switch + 1) * per_switch;
            let ports: Vec<(usize, u32)> = links
                .flat_map(|link| (0..self.places()).map(move |place| (place, link)))
                .collect();
            for (at, &one) in ports.iter().enumerate() {
                for &other in &ports[at + 1..] {
                    let [from, to] = [part[one.0], part[other.0]];
                    if from != to && self.join(one, other) {
                        part.iter_mut()
                            .filter(|part| **part == to)
                            .for_each(|of| *of = from);
                        break;
                    }
                }
            }
        }
    }

    /// Joins what is still dark, pair by pair: first where most is left to carry for
    /// every circuit, then where there are the fewest.
    pub fn fill(&mut self, demand: &Demand) {
        let switches = self.circuits.switches();
        let (places, per_switch) = (self.places(), switches.per_switch());
        for switch in 0..switches.switches() {
            let links = switch * per_switch..(switch + 1) * per_switch;
            let mut dark: Vec<(usize, u32)> = Vec::new();
            for link in links {
                let ports = (0..places).map(|place| (place, link));
                dark.extend(ports.filter(|&(place, link)| {
                    let port = self.port(place, link);
                    self.circuits.works(port) && self.circuits.peer(port).is_none()
                }));
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
        let port = |place: usize| self.port(dark[place].0, dark[place].1);
        let apart = pairs.filter(|&(one, two)| {
            dark[one].0 != dark[two].0 && self.circuits.may_join(port(one), port(two))
        });
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
