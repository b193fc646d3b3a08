//! Optical circuit switches between the groups of a dragonfly: which port of a
//! group is attached to which switch, and which ports a configuration joins.
//!
//! The `a·h` global links of a group are counted over its routers: link `k` of
//! router `r` is link `i = r·h + k` of the group. Every group's links `s·m` to
//! `s·m + m − 1` are attached to switch `s`, where `m` is the number of links per
//! switch (Feng et al., ICS 2023, section 2.2: "each group's i-th global links are
//! connected to the same OCS", one or several). A switch joins its ports in pairs;
//! light passes both ways, so a configuration is a matching of the ports of every
//! switch. What is not matched is dark.

use std::collections::BTreeSet;

use odonata_units::{GroupId, OcsId};
use thiserror::Error;

/// One end of a circuit: a group's link, and so a port of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SwitchPort {
    /// The group.
    pub group: GroupId,
    /// Its global link, `0..a·h`.
    pub link: u32,
}

impl std::fmt::Display for SwitchPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "link {} of group {}", self.link, self.group)
    }
}

/// Two ports of a switch that are joined, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Circuit {
    /// One end.
    pub from: SwitchPort,
    /// The other.
    pub to: SwitchPort,
}

/// Why switches or circuits cannot be as asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CircuitError {
    /// A number that must be positive is zero.
    #[error("optical switches need at least 1 of `{name}`; found 0")]
    Zero {
        /// Name of the number.
        name: &'static str,
    },
    /// Links that do not fill switches.
    #[error(
        "{links} global links per group cannot be attached {per_switch} to a switch; use a divisor \
         of {links}"
    )]
    NotDivisible {
        /// Links of a group.
        links: u32,
        /// Links of a group on each switch.
        per_switch: u32,
    },
    /// Switches with too few ports.
    #[error(
        "a switch would need {needed} ports, {per_switch} for each of {groups} groups, but has \
         {ports}; use fewer groups or links per switch, or larger switches"
    )]
    TooFewPorts {
        /// Ports needed.
        needed: u64,
        /// Links of a group on each switch.
        per_switch: u32,
        /// Groups.
        groups: u32,
        /// Ports that a switch has.
        ports: u32,
    },
    /// A port that does not exist.
    #[error("there is no {port}; groups are 0 to {last_group}, links 0 to {last_link}")]
    NoSuchPort {
        /// What was named.
        port: SwitchPort,
        /// The last group.
        last_group: u32,
        /// The last link of a group.
        last_link: u32,
    },
    /// A circuit from a group to itself.
    #[error("a circuit from {from} to {to} stays in its group; circuits join two groups")]
    WithinGroup {
        /// One end.
        from: SwitchPort,
        /// The other.
        to: SwitchPort,
    },
    /// A circuit between two switches.
    #[error(
        "{from} is attached to switch {from_switch} and {to} to switch {to_switch}; a circuit \
         stays within one switch"
    )]
    TwoSwitches {
        /// One end.
        from: SwitchPort,
        /// Its switch.
        from_switch: OcsId,
        /// The other end.
        to: SwitchPort,
        /// Its switch.
        to_switch: OcsId,
    },
    /// A port that has failed, or whose switch has.
    #[error("{port} is out of service")]
    Failed {
        /// The port.
        port: SwitchPort,
    },
    /// A circuit that has failed.
    #[error("the circuit from {from} to {to} is out of service")]
    FailedCircuit {
        /// One end.
        from: SwitchPort,
        /// The other.
        to: SwitchPort,
    },
    /// A port in two circuits.
    #[error("{port} is joined to {peer} already; a port takes one circuit")]
    PortTwice {
        /// The port.
        port: SwitchPort,
        /// What it is joined to.
        peer: SwitchPort,
    },
    /// A line of a list of circuits that is not four numbers.
    #[error(
        "line {line}: `{found}` is no circuit; write four numbers: group_a link_a group_b link_b"
    )]
    Syntax {
        /// Line of the file.
        line: usize,
        /// What it holds.
        found: String,
    },
    /// A line of a list of circuits that cannot be set.
    #[error("line {line}: {error}")]
    Line {
        /// Line of the file.
        line: usize,
        /// What is wrong with it.
        error: Box<CircuitError>,
    },
}

/// How the groups of a machine are attached to optical switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpticalSwitches {
    groups: u32,
    links: u32,
    per_switch: u32,
}

impl OpticalSwitches {
    /// `groups` groups of `links` global links, `per_switch` of each group on one
    /// switch; a switch has `ports` ports, or as many as are needed.
    ///
    /// # Errors
    /// If a number is zero, links do not fill switches, or ports do not suffice.
    pub fn new(
        groups: u32,
        links: u32,
        per_switch: u32,
        ports: Option<u32>,
    ) -> Result<Self, CircuitError> {
        for (name, value) in [
            ("groups", groups),
            ("global links per group", links),
            ("links per switch", per_switch),
        ] {
            if value == 0 {
                return Err(CircuitError::Zero { name });
            }
        }
        if !links.is_multiple_of(per_switch) {
            return Err(CircuitError::NotDivisible { links, per_switch });
        }
        let needed = u64::from(groups) * u64::from(per_switch);
        if let Some(ports) = ports
            && needed > u64::from(ports)
        {
            return Err(CircuitError::TooFewPorts {
                needed,
                per_switch,
                groups,
                ports,
            });
        }
        Ok(Self {
            groups,
            links,
            per_switch,
        })
    }

    /// Groups of the machine.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Global links of a group.
    pub fn links(&self) -> u32 {
        self.links
    }

    /// Links of every group on each switch.
    pub fn per_switch(&self) -> u32 {
        self.per_switch
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.links / self.per_switch
    }

    /// The switch that the groups' links of this number are attached to.
    pub fn switch_of(&self, link: u32) -> OcsId {
        OcsId(link / self.per_switch)
    }

    fn index(&self, port: SwitchPort) -> Result<usize, CircuitError> {
        if port.group.0 >= self.groups || port.link >= self.links {
            return Err(CircuitError::NoSuchPort {
                port,
                last_group: self.groups - 1,
                last_link: self.links - 1,
            });
        }
        Ok(port.group.index() * self.links as usize + port.link as usize)
    }

    fn port(&self, index: usize) -> SwitchPort {
        SwitchPort {
            group: GroupId::from_index(index / self.links as usize),
            link: (index % self.links as usize) as u32,
        }
    }
}

/// Marks a dark port.
const DARK: u32 = u32::MAX;

/// A configuration of all switches. By construction a matching: no port is in two
/// circuits, none is joined to itself, no circuit leaves its switch, and none uses what
/// has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuits {
    switches: OpticalSwitches,
    /// Whether each port has failed. Shape: groups · links; empty where none has.
    failed: Vec<bool>,
    /// Ports, the lower one first, that cannot be joined, though both work.
    failed_circuits: BTreeSet<(u32, u32)>,
    /// The other end of every port, counted over groups and their links, or
    /// [`DARK`]. Shape: groups · links.
    peer: Vec<u32>,
}

impl Circuits {
    /// A configuration without circuits.
    pub fn dark(switches: OpticalSwitches) -> Self {
        let ports = switches.groups as usize * switches.links as usize;
        Self {
            switches,
            failed: Vec::new(),
            failed_circuits: BTreeSet::new(),
            peer: vec![DARK; ports],
        }
    }

    /// A configuration without circuits that never uses ports that have failed, nor joins two
    /// ports between which the circuit has. Shape of `failed`: groups · links.
    pub fn dark_around(
        switches: OpticalSwitches,
        failed: Vec<bool>,
        circuits: impl IntoIterator<Item = (SwitchPort, SwitchPort)>,
    ) -> Result<Self, CircuitError> {
        let mut all = Self::dark(switches);
        if failed.contains(&true) {
            all.failed = failed;
        }
        for (from, to) in circuits {
            let [one, other] = [switches.index(from)? as u32, switches.index(to)? as u32];
            all.failed_circuits.insert((one.min(other), one.max(other)));
        }
        Ok(all)
    }

    /// The same switches and failures, without circuits.
    pub fn without_circuits(&self) -> Self {
        Self {
            peer: vec![DARK; self.peer.len()],
            ..self.clone()
        }
    }

    /// Whether anything has failed.
    pub fn has_failures(&self) -> bool {
        !self.failed.is_empty() || !self.failed_circuits.is_empty()
    }

    /// Whether a port is there and works.
    pub fn works(&self, port: SwitchPort) -> bool {
        let index = self.switches.index(port);
        index.is_ok_and(|index| !self.failed.get(index).copied().unwrap_or(false))
    }

    /// Whether two ports can be joined, both of them working.
    pub fn may_join(&self, from: SwitchPort, to: SwitchPort) -> bool {
        let ends = [from, to].map(|port| self.switches.index(port).unwrap_or(0) as u32);
        let [one, other] = ends;
        !self
            .failed_circuits
            .contains(&(one.min(other), one.max(other)))
    }

    /// The configuration of a list of circuits.
    ///
    /// # Errors
    /// If a circuit cannot be set.
    pub fn of(
        switches: OpticalSwitches,
        circuits: impl IntoIterator<Item = Circuit>,
    ) -> Result<Self, CircuitError> {
        let mut all = Self::dark(switches);
        for circuit in circuits {
            all.connect(circuit.from, circuit.to)?;
        }
        Ok(all)
    }

    /// The same with those of some circuits whose ports work and are dark; others are left out.
    pub fn with_working(mut self, circuits: impl IntoIterator<Item = Circuit>) -> Self {
        for circuit in circuits {
            // What cannot be set stays dark.
            let _ = self.connect(circuit.from, circuit.to);
        }
        self
    }

    /// Reads a configuration, one circuit a line, as four numbers counted from zero
    /// and separated by spaces or tabs:
    ///
    /// ```text
    /// # group_a link_a  group_b link_b
    /// 0 0  1 0
    /// 0 1  2 1
    /// ```
    ///
    /// `#` starts a comment; empty lines are skipped.
    ///
    /// # Errors
    /// If a line is not four numbers, or its circuit cannot be set; both name it.
    pub fn parse(switches: OpticalSwitches, text: &str) -> Result<Self, CircuitError> {
        let mut all = Self::dark(switches);
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let numbers: Option<Vec<u32>> = content
                .split_ascii_whitespace()
                .map(|word| word.parse().ok())
                .collect();
            let line = index + 1;
            let Some(&[from_group, from_link, to_group, to_link]) = numbers.as_deref() else {
                let found = content.into();
                return Err(CircuitError::Syntax { line, found });
            };
            let end = |group, link| SwitchPort {
                group: GroupId(group),
                link,
            };
            all.connect(end(from_group, from_link), end(to_group, to_link))
                .map_err(|error| CircuitError::Line {
                    line,
                    error: Box::new(error),
                })?;
        }
        Ok(all)
    }

    /// The switches that are configured.
    pub fn switches(&self) -> OpticalSwitches {
        self.switches
    }

    /// Joins two dark ports of a switch.
    ///
    /// # Errors
    /// If they do not exist, lie in one group or on two switches, are not dark, or have failed;
    /// then nothing changes.
    pub fn connect(&mut self, from: SwitchPort, to: SwitchPort) -> Result<(), CircuitError> {
        let ends = [self.switches.index(from)?, self.switches.index(to)?];
        if from.group == to.group {
            return Err(CircuitError::WithinGroup { from, to });
        }
        let [from_switch, to_switch] = [from, to].map(|port| self.switches.switch_of(port.link));
        if from_switch != to_switch {
            return Err(CircuitError::TwoSwitches {
                from,
                from_switch,
                to,
                to_switch,
            });
        }
        for (port, end) in [from, to].into_iter().zip(ends) {
            if self.peer[end] != DARK {
                let peer = self.switches.port(self.peer[end] as usize);
                return Err(CircuitError::PortTwice { port, peer });
            }
        }
        if let Some(port) = [from, to].into_iter().find(|&port| !self.works(port)) {
            return Err(CircuitError::Failed { port });
        }
        if !self.may_join(from, to) {
            return Err(CircuitError::FailedCircuit { from, to });
        }
        self.peer[ends[0]] = ends[1] as u32;
        self.peer[ends[1]] = ends[0] as u32;
        Ok(())
    }

    /// Makes a port dark, and the one that it was joined to, which is returned.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn disconnect(&mut self, port: SwitchPort) -> Result<Option<SwitchPort>, CircuitError> {
        let index = self.switches.index(port)?;
        let peer = self.peer[index];
        if peer == DARK {
            return Ok(None);
        }
        self.peer[index] = DARK;
        self.peer[peer as usize] = DARK;
        Ok(Some(self.switches.port(peer as usize)))
    }

    /// What a port is joined to; `None` if it is dark or does not exist.
    pub fn peer(&self, port: SwitchPort) -> Option<SwitchPort> {
        let peer = self.peer[self.switches.index(port).ok()?];
        (peer != DARK).then(|| self.switches.port(peer as usize))
    }

    /// All circuits, by their lower ends.
    pub fn iter(&self) -> impl Iterator<Item = Circuit> {
        let lower = self.peer.iter().enumerate();
        lower
            .filter(|&(index, &peer)| peer != DARK && index < peer as usize)
            .map(|(index, &peer)| Circuit {
                from: self.switches.port(index),
                to: self.switches.port(peer as usize),
            })
    }

    /// Number of circuits.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether all ports are dark.
    pub fn is_empty(&self) -> bool {
        self.peer.iter().all(|&peer| peer == DARK)
    }

    /// Number of circuits between two groups.
    pub fn between(&self, from: GroupId, to: GroupId) -> u32 {
        let ports = (0..self.switches.links).map(|link| SwitchPort { group: from, link });
        ports
            .filter_map(|port| self.peer(port))
            .filter(|peer| peer.group == to)
            .count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(group: u32, link: u32) -> SwitchPort {
        SwitchPort {
            group: GroupId(group),
            link,
        }
    }

    #[test]
    fn links_of_all_groups_meet_on_their_switch() {
        // 24 switches of 12 global ports each: 288 links, on as many switches of 288 ports
        // (Feng et al. 2023, 5.1.2).
        let paper = OpticalSwitches::new(288, 288, 1, Some(288)).unwrap();
        assert_eq!(paper.switches(), 288);
        assert_eq!(paper.switch_of(287), OcsId(287));
        let pairs = OpticalSwitches::new(4, 6, 2, None).unwrap();
        assert_eq!(pairs.switches(), 3);
        assert_eq!(
            [0, 1, 2, 5].map(|link| pairs.switch_of(link).0),
            [0, 0, 1, 2]
        );
    }

    #[test]
    fn a_configuration_is_a_matching() {
        let switches = OpticalSwitches::new(4, 6, 2, None).unwrap();
        let mut circuits = Circuits::dark(switches);
        circuits.connect(port(0, 0), port(1, 1)).unwrap();
        for (from, to, words) in [
            (port(2, 0), port(2, 1), "stays in its group"),
            (port(2, 0), port(3, 2), "attached to switch 0"),
            (port(2, 0), port(4, 0), "groups are 0 to 3, links 0 to 5"),
            (
                port(1, 1),
                port(2, 0),
                "joined to link 0 of group 0 already",
            ),
        ] {
            let before = circuits.clone();
            let error = circuits.connect(from, to).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(circuits, before);
        }
        assert_eq!(circuits.peer(port(1, 1)), Some(port(0, 0)));
        assert_eq!(circuits.between(GroupId(1), GroupId(0)), 1);
        assert_eq!(circuits.disconnect(port(1, 1)), Ok(Some(port(0, 0))));
        assert!(circuits.is_empty());
    }

    #[test]
    fn switches_that_do_not_close_say_what_to_do() {
        for (groups, links, per_switch, ports, words) in [
            (0, 4, 1, None, "`groups`"),
            (4, 6, 4, None, "use a divisor of 6"),
            (289, 288, 1, Some(288), "need 289 ports"),
        ] {
            let error = OpticalSwitches::new(groups, links, per_switch, ports).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn lists_are_read_and_wrong_lines_named() {
        let switches = OpticalSwitches::new(3, 2, 1, None).unwrap();
        let circuits = Circuits::parse(switches, "# all\n0 0 1 0\n\n2 1 0 1 # last\n").unwrap();
        let ends: Vec<_> = circuits
            .iter()
            .map(|c| (c.from.group.0, c.to.group.0))
            .collect();
        assert_eq!(ends, [(0, 1), (0, 2)]);
        for (text, words) in [
            ("0 0 1\n", "line 1: `0 0 1` is no circuit"),
            ("0 0 1 0\n0 0 2 0\n", "line 2: link 0 of group 0 is joined"),
        ] {
            let error = Circuits::parse(switches, text).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
