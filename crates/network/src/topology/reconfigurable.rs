//! The reconfigurable dragonfly (Feng, Dong, Zhao, Lu, ICS 2023, section 2.2; Wen et
//! al., "Flexfly", SC 2016): a dragonfly whose global links all lead to [optical
//! switches](super::optical), so that circuits decide which groups are joined, and by
//! how many links.
//!
//! Routers, nodes and ports are numbered as in the [dragonfly](super::dragonfly). Every
//! router has as many global ports as the one with most links; ports of dark links, and
//! those without a link, are unconnected, and circuits need not join all groups. The service
//! network, a separate one of electronic switches for storage and control, carries
//! none of the simulated traffic and is left out.

use super::arrangement::UNCONNECTED;
use super::{
    Arrangement, Circuits, DragonflyError, DragonflyLinks, DragonflySpec, GroupWiring, Topology,
};

/// A reconfigurable dragonfly with its circuits.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconfigurableSpec {
    /// Nodes per router, at least 1.
    pub p: u32,
    /// Global links of each router of a group, the same in all groups: links of a
    /// group are counted over its routers. Shape: routers per group, at least 1.
    pub held: Vec<u32>,
    /// How the routers of a group are wired.
    pub group: GroupWiring,
    /// The circuits; their switches have as many links of every group.
    pub circuits: Circuits,
    /// Physical classes of the links.
    pub links: DragonflyLinks,
}

/// Why a reconfigurable dragonfly cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconfigurableError {
    /// Switches of other groups.
    #[error(
        "the {a} routers of a group have {held} global links, but the switches are made for \
         {links}; make them the same"
    )]
    Links {
        /// Routers per group.
        a: usize,
        /// Their links.
        held: u64,
        /// Links per group of the switches.
        links: u32,
    },
    /// Anything that a dragonfly refuses, too.
    #[error(transparent)]
    Dragonfly(#[from] DragonflyError),
}

impl ReconfigurableSpec {
    /// Builds the topology.
    ///
    /// # Errors
    /// If the switches do not fit the groups, or the link classes are unsound.
    pub fn build(&self) -> Result<Topology, ReconfigurableError> {
        let (p, a) = (self.p, self.held.len() as u32);
        let h = self.held.iter().copied().max().unwrap_or(0);
        let switches = self.circuits.switches();
        let held = self.held.iter().map(|&count| u64::from(count)).sum();
        if u64::from(switches.links()) != held {
            let (a, links) = (self.held.len(), switches.links());
            return Err(ReconfigurableError::Links { a, held, links });
        }
        let g = switches.groups();
        // Port of each link among those of its group, h of every router.
        let ports = (0..a).zip(&self.held);
        let ports: Vec<u32> = ports
            .flat_map(|(router, &held)| (0..held).map(move |k| router * h + k))
            .collect();
        let mut linked = vec![UNCONNECTED; g as usize * (a * h) as usize];
        let mut count = 0u64;
        for circuit in self.circuits.iter() {
            let [from, to] = [circuit.from, circuit.to]
                .map(|port| port.group.0 * a * h + ports[port.link as usize]);
            linked[from as usize] = to;
            linked[to as usize] = from;
            count += 1;
        }
        let title = format!(
            "reconfigurable dragonfly p={p} a={a} h={} g={g} ({count} circuits, {} switches of \
             {} ports)",
            match self.held.iter().min() {
                Some(&least) if least < h => format!("{least} to {h}"),
                _ => h.to_string(),
            },
            switches.switches(),
            u64::from(g) * u64::from(switches.per_switch()),
        );
        let spec = DragonflySpec {
            p,
            a,
            h,
            g,
            arrangement: Arrangement::Absolute,
            group: self.group,
            links: self.links.clone(),
        };
        Ok(spec.build_linked(&linked, title, true)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::testing::dragonfly_links;
    use crate::topology::{OpticalSwitches, Peer, SwitchPort};
    use odonata_units::{GroupId, PortId, RouterId};

    #[test]
    fn circuits_are_links_between_the_routers_of_their_ports() {
        let switches = OpticalSwitches::new(3, 8, 1, None).unwrap();
        let mut circuits = Circuits::dark(switches);
        let port = |group, link| SwitchPort {
            group: GroupId(group),
            link,
        };
        // Link 5 is port 1 of router 2 of its group.
        circuits.connect(port(0, 5), port(2, 5)).unwrap();
        let spec = ReconfigurableSpec {
            p: 1,
            held: vec![2; 4],
            group: GroupWiring::AllToAll,
            circuits,
            links: dragonfly_links(),
        };
        let topology = spec.build().unwrap();
        assert_eq!((topology.groups, topology.nodes()), (3, 12));
        let joined: Vec<(u32, u32)> = (0..topology.ports())
            .filter_map(|index| match topology.peer[index] {
                Peer::Port(peer) => Some((
                    topology.router_of_port(PortId(index as u32)).0,
                    topology.router_of_port(peer).0,
                )),
                _ => None,
            })
            .filter(|(from, to)| from / 4 != to / 4)
            .collect();
        assert_eq!(joined, [(2, 10), (10, 2)]);
        // 1 node, 3 local ports, then global ports 4 and 5 of the router.
        assert!(matches!(
            topology.peer[topology.ports_of(RouterId(2)).start + 5],
            Peer::Port(_)
        ));
        let wrong = ReconfigurableSpec {
            held: vec![3; 4],
            ..spec
        };
        assert!(
            wrong
                .build()
                .unwrap_err()
                .to_string()
                .contains("made for 8")
        );
    }

    #[test]
    fn routers_hold_as_many_links_as_they_are_said_to() {
        // Links 0 and 1 are router 0's, link 2 router 1's, links 3 and 4 router 3's.
        let switches = OpticalSwitches::new(2, 5, 1, None).unwrap();
        let all = (0..5).map(|link| {
            let port = |group| SwitchPort {
                group: GroupId(group),
                link,
            };
            crate::topology::Circuit {
                from: port(0),
                to: port(1),
            }
        });
        let spec = ReconfigurableSpec {
            p: 1,
            held: vec![2, 1, 0, 2],
            group: GroupWiring::AllToAll,
            circuits: Circuits::of(switches, all).unwrap(),
            links: dragonfly_links(),
        };
        let topology = spec.build().unwrap();
        let wired = |router: u32| {
            let ports = topology.ports_of(RouterId(router));
            let global = ports.skip(4); // 1 node, 3 local
            global
                .filter(|&port| topology.peer[port] != Peer::Unconnected)
                .count()
        };
        assert_eq!([0, 1, 2, 3, 4].map(wired), [2, 1, 0, 2, 2]);
        assert!(topology.title.contains("h=0 to 2"), "{}", topology.title);
    }
}
