//! The reconfigurable dragonfly (Feng, Dong, Zhao, Lu, ICS 2023, section 2.2; Wen et
//! al., "Flexfly", SC 2016): a dragonfly with all-to-all groups whose global links all
//! lead to [optical switches](super::optical), so that circuits decide which groups are
//! joined, and by how many links.
//!
//! Routers, nodes and ports are numbered as in the [dragonfly](super::dragonfly). Ports
//! of dark links are unconnected, and circuits need not join all groups. The service
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
    /// Routers per group, at least 1.
    pub a: u32,
    /// Global ports per router.
    pub h: u32,
    /// The circuits; their switches have a·h links of every group.
    pub circuits: Circuits,
    /// Physical classes of the links; there are no column links.
    pub links: DragonflyLinks,
}

/// Why a reconfigurable dragonfly cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconfigurableError {
    /// Switches of other groups.
    #[error(
        "groups of a={a} routers with h={h} global ports have {ports} global links, but the \
         switches are made for {links}; make links = a·h",
        ports = u64::from(*a) * u64::from(*h)
    )]
    Links {
        /// Routers per group.
        a: u32,
        /// Global ports per router.
        h: u32,
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
        let Self { p, a, h, .. } = *self;
        let switches = self.circuits.switches();
        if u64::from(switches.links()) != u64::from(a) * u64::from(h) {
            let links = switches.links();
            return Err(ReconfigurableError::Links { a, h, links });
        }
        let g = switches.groups();
        let mut linked = vec![UNCONNECTED; g as usize * switches.links() as usize];
        let mut count = 0u64;
        for circuit in self.circuits.iter() {
            let [from, to] =
                [circuit.from, circuit.to].map(|port| port.group.0 * switches.links() + port.link);
            linked[from as usize] = to;
            linked[to as usize] = from;
            count += 1;
        }
        let title = format!(
            "reconfigurable dragonfly p={p} a={a} h={h} g={g} ({count} circuits, {} switches of \
             {} ports)",
            switches.switches(),
            u64::from(g) * u64::from(switches.per_switch()),
        );
        let spec = DragonflySpec {
            p,
            a,
            h,
            g,
            arrangement: Arrangement::Absolute,
            group: GroupWiring::AllToAll,
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
            a: 4,
            h: 2,
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
        let wrong = ReconfigurableSpec { h: 3, ..spec };
        assert!(
            wrong
                .build()
                .unwrap_err()
                .to_string()
                .contains("made for 8")
        );
    }
}
