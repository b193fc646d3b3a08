//! Failures of optical switches, of the uplinks that feed them, and of circuits.
//!
//! What fails is listed and drawn on the network as its cables lie, [`Optics::laid`]: an uplink is one
//! link whichever circuit it has. Circuits are then set around what does not work, [`Unusable`], and
//! [`Damage::on`] says what all that means for the links of the network with its circuits.

use std::collections::BTreeMap;

use odonata_units::{Picoseconds, PortId};

use super::{Damage, During, Entry, FailureError, Impairment, wrong};
use crate::topology::{Peer, Topology};

/// The optical switches of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Optics {
    /// The network as its cables lie: with the links that circuits replace, if there are any beside
    /// which links lead back, or else without circuits. Its ports are those of the network with
    /// circuits.
    pub laid: Topology,
    /// Ports of routers that send into the ports of each switch. Shape: switches × ports.
    pub ingress: Vec<Vec<PortId>>,
    /// Ports of routers that circuits lead to; the same where light passes both ways.
    pub egress: Vec<Vec<PortId>>,
    /// Whether circuits may leave the network in parts, each of which is a network of its own.
    pub keeps_parts: bool,
}

impl Optics {
    /// Whether circuits lead one way, so that links are laid beside them which lead back.
    pub fn leads_one_way(&self) -> bool {
        self.ingress != self.egress
    }

    /// A circuit by its ends in the order in which all name it.
    fn canonical(&self, circuit: OpticalCircuit) -> OpticalCircuit {
        match self.leads_one_way() {
            true => circuit,
            false => OpticalCircuit {
                from: circuit.from.min(circuit.to),
                to: circuit.from.max(circuit.to),
                ..circuit
            },
        }
    }

    /// Which port of which switch each port of a router sends into, and which ones lead to it. Shape:
    /// ports.
    fn places(&self) -> [Vec<Option<(u32, u32)>>; 2] {
        [&self.ingress, &self.egress].map(|side| {
            let mut places = vec![None; self.laid.ports()];
            for (switch, ports) in (0..).zip(side) {
                for (number, port) in (0..).zip(ports) {
                    places[port.index()] = Some((switch, number));
                }
            }
            places
        })
    }
}

/// A circuit through an optical switch: from one of its ports to another, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpticalCircuit {
    /// The switch.
    pub switch: u32,
    /// Where light enters, or one end.
    pub from: u32,
    /// Where it leaves, or the other.
    pub to: u32,
}

impl std::fmt::Display for OpticalCircuit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}-{}", self.switch, self.from, self.to)
    }
}

/// What circuits must not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Whether each port of each switch leads to nothing that works. Shape: switches × ports.
    pub ports: Vec<Vec<bool>>,
    /// Circuits that cannot be set, though both ports work.
    pub circuits: Vec<OpticalCircuit>,
}

/// What has failed of the optical switches themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct OpticalDamage {
    /// Switch of each laid link that is an uplink. Shape: laid links; empty without switches.
    pub switch_of_link: Vec<Option<u32>>,
    /// Whether circuits lead one way.
    leads_one_way: bool,
    /// Ports of each switch, none where there are no switches.
    ports: Vec<u32>,
    /// Number of the first circuit of each switch, and of all circuits.
    first_circuit: Vec<usize>,
    /// When each is out of service.
    pub switches: BTreeMap<u32, Vec<During>>,
    /// The same of circuits.
    pub circuits: BTreeMap<OpticalCircuit, Vec<During>>,
    /// Uplinks of switches that join routers by circuits alone, which have no link while they are
    /// dark.
    pub dark_uplinks: u32,
    /// When anything that is laid goes out of service for a part of the run, or a circuit, whether or
    /// not it is set.
    pub times: Vec<During>,
}

impl OpticalDamage {
    pub fn new(optics: Option<&Optics>, links: &[(PortId, PortId)]) -> Self {
        let Some(optics) = optics else {
            return Self::default();
        };
        let [ingress, _] = optics.places();
        let ports: Vec<u32> = optics
            .ingress
            .iter()
            .map(|ports| ports.len() as u32)
            .collect();
        let mut first_circuit = vec![0];
        for &ports in &ports {
            let pairs = ports as usize * ports as usize;
            first_circuit.push(first_circuit[first_circuit.len() - 1] + pairs);
        }
        let switch = |&(one, other): &(PortId, PortId)| {
            let place = ingress[one.index()].or(ingress[other.index()]);
            place.map(|(switch, _)| switch)
        };
        Self {
            switch_of_link: links.iter().map(switch).collect(),
            leads_one_way: optics.leads_one_way(),
            ports,
            first_circuit,
            ..Self::default()
        }
    }

    /// Number of switches.
    pub fn count(&self) -> usize {
        self.ports.len()
    }

    /// Whether a link is one that light of circuits passes in both directions.
    pub fn is_two_way_uplink(&self, link: usize) -> bool {
        let of = self.switch_of_link.get(link).copied().flatten();
        of.is_some() && !self.leads_one_way
    }

    /// Whether a switch works during all of a time.
    pub fn serves(&self, switch: u32, during: During) -> bool {
        let mut out = self.switches.get(&switch).into_iter().flatten();
        !out.any(|other| other.overlaps(during))
    }

    /// Whether a circuit, of itself and with its switch, can be set during all of a time.
    pub fn serves_circuit(&self, circuit: OpticalCircuit, during: During) -> bool {
        let mut out = self.circuits.get(&circuit).into_iter().flatten();
        self.serves(circuit.switch, during) && !out.any(|other| other.overlaps(during))
    }

    pub fn lose_circuit(&mut self, circuit: OpticalCircuit, during: During) {
        self.circuits.entry(circuit).or_default().push(during);
    }

    /// Numbers of the circuits that can be set: each once, whichever end is named first.
    pub fn possible_circuits(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.first_circuit.last().copied().unwrap_or(0);
        (0..all).filter(|&number| {
            let circuit = self.circuit(number);
            self.leads_one_way || circuit.from < circuit.to
        })
    }

    /// The circuit of such a number: switch by switch, by ingress and egress port.
    pub fn circuit(&self, number: usize) -> OpticalCircuit {
        let later = self.first_circuit.partition_point(|&first| first <= number);
        let (switch, first) = (later - 1, self.first_circuit[later - 1]);
        let ports = self.ports[switch] as usize;
        OpticalCircuit {
            switch: switch as u32,
            from: ((number - first) / ports) as u32,
            to: ((number - first) % ports) as u32,
        }
    }

    /// Switches that are out for the whole run, and those that fail during it.
    pub fn lost_switches(&self) -> [u32; 2] {
        let lasting = |during: &Vec<During>| during.contains(&During::WHOLE_RUN);
        let lost = self
            .switches
            .values()
            .filter(|during| lasting(during))
            .count();
        [lost as u32, (self.switches.len() - lost) as u32]
    }

    fn check_switch(&self, switch: u32, entry: Entry) -> Result<(), FailureError> {
        match self.count() {
            0 => wrong(
                entry,
                "the network has no optical switches: list them where `[network.optical]` or a \
                 reconfigurable dragonfly has some",
            ),
            count if switch as usize >= count => wrong(
                entry,
                format!(
                    "there is no optical switch {switch}: the network's optical switches are 0 to {}",
                    count - 1
                ),
            ),
            _ => Ok(()),
        }
    }
}

impl Damage {
    /// Takes an optical switch out of service, and with it all its uplinks.
    pub(super) fn lose_optical(&mut self, switch: u32, during: During) {
        self.optical
            .switches
            .entry(switch)
            .or_default()
            .push(during);
        let links = self.optical.switch_of_link.iter().enumerate();
        let own: Vec<usize> = links
            .filter(|&(_, &of)| of == Some(switch))
            .map(|(link, _)| link)
            .collect();
        for link in own {
            self.fail(link, Impairment::dark(during), [true; 2]);
        }
    }

    pub(super) fn list_optical(
        &mut self,
        switch: u32,
        during: During,
        entry: Entry,
    ) -> Result<(), FailureError> {
        self.optical.check_switch(switch, entry)?;
        if !self.optical.serves(switch, during) {
            let when = match during == During::WHOLE_RUN {
                true => "is listed twice",
                false => "is out of service already at that time",
            };
            return wrong(entry, format!("optical switch {switch} {when}"));
        }
        self.lose_optical(switch, during);
        Ok(())
    }

    pub(super) fn list_circuit(
        &mut self,
        circuit: OpticalCircuit,
        during: During,
        entry: Entry,
        optics: Option<&Optics>,
    ) -> Result<(), FailureError> {
        self.optical.check_switch(circuit.switch, entry)?;
        let circuit = optics.map_or(circuit, |optics| optics.canonical(circuit));
        let ports = self.optical.ports[circuit.switch as usize];
        if circuit.from.max(circuit.to) >= ports {
            let message = format!(
                "circuit {circuit}: optical switch {} has ports 0 to {}",
                circuit.switch,
                ports.saturating_sub(1)
            );
            return wrong(entry, message);
        }
        if circuit.from == circuit.to && !self.optical.leads_one_way {
            let message = format!("circuit {circuit} joins a port to itself: name two ports");
            return wrong(entry, message);
        }
        if !self.optical.serves(circuit.switch, during) {
            let message = format!("circuit {circuit} is out of service with its optical switch");
            return wrong(entry, message);
        }
        if !self.optical.serves_circuit(circuit, during) {
            let message = format!("circuit {circuit} is out of service already at that time");
            return wrong(entry, message);
        }
        self.optical.lose_circuit(circuit, during);
        Ok(())
    }

    /// What circuits must not use at a time, for which what is dark then is marked as lost.
    pub(super) fn unusable(&self, optics: &Optics, time: Picoseconds) -> Unusable {
        let mut dark = vec![false; optics.laid.ports()];
        for link in 0..self.links.len() {
            if self.is_dark(link) {
                let ports = self.ports_of(link);
                ports.iter().for_each(|port| dark[port.index()] = true);
            }
        }
        let ports = optics.ingress.iter();
        let out = |during: &[During]| during.iter().any(|during| during.contains(time));
        let circuits = self.optical.circuits.iter();
        let circuits = circuits.filter(|(_, during)| out(during));
        Unusable {
            ports: ports
                .map(|ports| ports.iter().map(|port| dark[port.index()]).collect())
                .collect(),
            circuits: circuits.map(|(&circuit, _)| circuit).collect(),
        }
    }

    /// Whether a link is out of service for the whole run, by itself or with a router.
    fn is_dark(&self, link: usize) -> bool {
        let ends = self.routers_of(link);
        self.left[link] == [0.0; 2] || ends.iter().any(|end| self.lost_routers[end.index()])
    }

    /// The same for the links of a network whose circuits are set: a circuit lacks what either of its
    /// uplinks lacks, and is out of service with either, with its optical switch, and by itself.
    ///
    /// # Errors
    /// If a circuit joins two uplinks that become worse at times which overlap in part.
    pub(super) fn on(mut self, network: &Topology, optics: &Optics) -> Result<Self, FailureError> {
        let mut link_of = vec![usize::MAX; network.ports()];
        for (link, &(one, other)) in self.links.iter().enumerate() {
            (link_of[one.index()], link_of[other.index()]) = (link, link);
        }
        let [ingress, egress] = optics.places();
        let side = |link: usize, port: PortId| usize::from(self.links[link].0 != port);
        let mut links = Vec::new();
        let mut left = Vec::new();
        let mut switch_of_link = Vec::new();
        let mut timed = BTreeMap::new();
        let mut impaired = BTreeMap::new();
        for (a, b) in network.links() {
            let [x, y] = [a, b].map(|port| link_of[port.index()]);
            // By which links, and which of their ends, bytes leave either end of this one.
            let sends = [
                [(x, side(x, a)), (y, 1 - side(y, b))],
                [(y, side(y, b)), (x, 1 - side(x, a))],
            ];
            let of_ends = sends.map(|[first, second]| {
                self.left[first.0][first.1].min(self.left[second.0][second.1])
            });
            let directions = 1 + usize::from(network.peer[b.index()] == Peer::Port(a));
            let mut out: Vec<During> = Vec::new();
            for (from, to) in [(a, b), (b, a)].into_iter().take(directions) {
                let ends = (ingress[from.index()], egress[to.index()]);
                let (Some((switch, from)), Some((other, to))) = ends else {
                    continue;
                };
                let circuit = optics.canonical(OpticalCircuit { switch, from, to });
                if switch == other {
                    out.extend(self.optical.circuits.get(&circuit).into_iter().flatten());
                }
            }
            for link in [x, y] {
                out.extend(self.timed.get(&link).into_iter().flatten());
            }
            let here = links.len();
            let dark = of_ends.contains(&0.0) || out.contains(&During::WHOLE_RUN);
            let of = &self.optical.switch_of_link;
            switch_of_link.push(of[x].or(of[y]));
            links.push((a, b));
            left.push(if dark { [0.0; 2] } else { of_ends });
            if dark {
                continue;
            }
            if !out.is_empty() {
                timed.insert(here, joined(out));
            }
            let mut worse = Vec::new();
            for (end, &[first, second]) in sends.iter().enumerate().take(directions) {
                let of = |(link, end): (usize, usize)| {
                    let all = self.impaired.get(&link).into_iter().flatten();
                    all.filter(move |(_, ends)| ends[end]).map(|(one, _)| *one)
                };
                let second = (x != y).then(|| of(second)).into_iter().flatten();
                let both = together(of(first).collect(), second, a, b)?;
                let ends = [end == 0, end == 1];
                worse.extend(both.into_iter().map(|one| (one, ends)));
            }
            if !worse.is_empty() {
                impaired.insert(here, worse);
            }
        }
        let by_circuits_alone = |&link: &usize| self.links[link].0 == self.links[link].1;
        let dark = (0..self.links.len()).filter(by_circuits_alone);
        self.optical.dark_uplinks = dark.filter(|&link| self.is_dark(link)).count() as u32;
        let of_circuits = self.optical.circuits.values();
        let laid = self.timed.values().chain(of_circuits).flatten();
        let lasting = |during: &&During| **during != During::WHOLE_RUN;
        self.optical.switch_of_link = switch_of_link;
        self.optical.times = laid.filter(lasting).copied().collect();
        (self.links, self.left) = (links, left);
        (self.timed, self.impaired) = (timed, impaired);
        Ok(self)
    }
}

/// Times without those that lie in others; those that overlap are one.
fn joined(mut times: Vec<During>) -> Vec<During> {
    times.sort_unstable_by_key(|during| during.from);
    let mut all: Vec<During> = Vec::new();
    for during in times {
        match all.last_mut() {
            Some(last) if during.from <= last.until => last.until = last.until.max(during.until),
            _ => all.push(during),
        }
    }
    all
}

/// What is wrong with a circuit of two uplinks with which this is wrong.
fn together(
    mut first: Vec<Impairment>,
    second: impl Iterator<Item = Impairment>,
    a: PortId,
    b: PortId,
) -> Result<Vec<Impairment>, FailureError> {
    for one in second {
        match first
            .iter_mut()
            .find(|other| other.during.overlaps(one.during))
        {
            None => first.push(one),
            Some(other) if other.during == one.during => {
                other.left = other.left.min(one.left);
                other.error_rate = 1.0 - (1.0 - other.error_rate) * (1.0 - one.error_rate);
            }
            Some(_) => {
                let message = format!(
                    "the uplinks at ports {a} and {b} of the network, which a circuit joins, become \
                     worse at times that overlap in part: give both the same times"
                );
                return wrong(Entry::All, message);
            }
        }
    }
    Ok(first)
}
