//! Optical switches between the leaves of a fat tree and the switches above them
//! (Michelogiannakis et al., "Bandwidth steering in HPC using silicon nanophotonics", SC 2019,
//! section 4.3 and figure 3).
//!
//! # Layout
//! A pod is here a subtree of level 2: the leaves below one switch of level 2, with all its
//! equals. The uplinks of the leaves of a pod are numbered, leaf by leaf and on a leaf by port.
//! Pods stand in blocks of neighbours; an optical switch belongs to one block and takes the
//! uplinks of the same numbers, `links_per_switch` one after the other, of every pod of its
//! block. Its ingress ports are where these uplinks leave the leaves, its egress ports where
//! they come to the switches of level 2. With one link of a pod on each switch a leaf reaches as
//! many pods as a switch has ports, by one link each (figure 3); with half of a switch's ports,
//! two neighbouring pods are joined by as many links as a pod has on a switch.
//!
//! # Circuits
//! A switch leads every ingress port to one egress port of its own, whichever: light passes one
//! way, and links down stay as they are laid. So a port of a leaf may send to another switch than
//! it hears. Credits of a circuit return to the port that sends by a channel of the circuit's own
//! latency beside it; the paper leaves open how they do.

use odonata_units::{PortId, RouterId};

use super::{FatTreeShape, Routers};
use crate::topology::{Peer, Topology, TopologyError, Wiring};

/// The ports of one optical switch. The link at ingress port `i` leads to egress port `i`
/// where nothing is steered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UplinkPorts {
    /// Ports of leaves, and their pods. Shape: connected ports.
    pub ingress: Vec<(PortId, u32)>,
    /// Ports of switches of level 2, and their pods. Shape: connected ports.
    pub egress: Vec<(PortId, u32)>,
}

/// In settings: an ingress port that leads nowhere.
pub const NO_CIRCUIT: u32 = u32::MAX;

/// The optical switches of a fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpticalLayer {
    /// Pods: subtrees of level 2.
    pub pods: u32,
    /// The switches, block by block, in a block by the numbers of their uplinks.
    pub switches: Vec<UplinkPorts>,
    /// Ports on either side of a switch, connected or not.
    pub switch_ports: u32,
}

/// Why optical switches cannot be put into a fat tree, or set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpticalLayerError {
    /// A tree without a level above pods.
    #[error(
        "a fat tree of {levels} levels has nothing to steer, as all uplinks of leaves lead to the \
         top; 3 or 4 levels are needed"
    )]
    Levels {
        /// Its levels.
        levels: usize,
    },
    /// No link, or a number of links that does not divide those of a pod.
    #[error(
        "{found} links of every pod on a switch do not divide the {uplinks} uplinks of a pod's \
         leaves; use a divisor"
    )]
    LinksPerSwitch {
        /// The number.
        found: u32,
        /// Uplinks of a pod.
        uplinks: u32,
    },
    /// A switch that has no room for two pods.
    #[error(
        "a switch of {ports} ports on either side has no room for {links} links of each of two \
         pods; at least {} are needed", 2 * links
    )]
    TooFewPorts {
        /// Ports of a switch.
        ports: u32,
        /// Links of a pod on it.
        links: u32,
    },
    /// Settings that are none.
    #[error(
        "switch {switch} has {ports} connected ports; its settings must name each once as an \
         egress port, from 0"
    )]
    NoMatching {
        /// Number of the switch.
        switch: usize,
        /// Its connected ports on either side.
        ports: usize,
    },
    /// Settings for another number of switches.
    #[error("settings of {found} switches for {switches}")]
    Switches {
        /// Settings.
        found: usize,
        /// Switches.
        switches: usize,
    },
    /// What [`Topology::new`] finds.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl OpticalLayer {
    /// Puts switches of `switch_ports` ports on either side into `tree`, which is of `shape`,
    /// with `links_per_switch` uplinks of each pod of a block.
    ///
    /// # Errors
    /// If the tree has fewer than three levels, or the numbers do not fit it.
    pub fn new(
        shape: &FatTreeShape,
        tree: &Topology,
        switch_ports: u32,
        links_per_switch: u32,
    ) -> Result<Self, OpticalLayerError> {
        let levels = shape.levels();
        if levels < 3 {
            return Err(OpticalLayerError::Levels { levels });
        }
        let ports_of_leaf = shape.up[0] * shape.parallel[0];
        let uplinks = shape.down[1] * ports_of_leaf;
        if links_per_switch == 0 || !uplinks.is_multiple_of(links_per_switch) {
            return Err(OpticalLayerError::LinksPerSwitch {
                found: links_per_switch,
                uplinks,
            });
        }
        let pods_per_block = switch_ports / links_per_switch;
        if pods_per_block < 2 {
            return Err(OpticalLayerError::TooFewPorts {
                ports: switch_ports,
                links: links_per_switch,
            });
        }
        let routers = Routers::of(shape);
        let pods = shape.subtrees(1);
        let leaves = shape.subtrees(0);
        let blocks = pods.div_ceil(pods_per_block);
        // As even as can be: the first pod of each block.
        let first = |block: u32| (u64::from(block) * u64::from(pods) / u64::from(blocks)) as u32;
        let mut switches = vec![];
        for block in 0..blocks {
            for lowest in (0..uplinks).step_by(links_per_switch as usize) {
                let mut ports = UplinkPorts {
                    ingress: vec![],
                    egress: vec![],
                };
                for pod in first(block)..first(block + 1) {
                    for uplink in lowest..lowest + links_per_switch {
                        let leaf = pod * shape.down[1] + uplink / ports_of_leaf;
                        if leaf >= leaves {
                            continue;
                        }
                        let router = RouterId(routers.of_switch(0, leaf, 0));
                        let of_leaf = tree.ports_of(router);
                        let port = of_leaf.end - ports_of_leaf as usize
                            + (uplink % ports_of_leaf) as usize;
                        if let Peer::Port(above) = tree.peer[port] {
                            ports.ingress.push((PortId::from_index(port), pod));
                            ports.egress.push((above, pod));
                        }
                    }
                }
                // Where the last pod lacks leaves.
                if !ports.ingress.is_empty() {
                    switches.push(ports);
                }
            }
        }
        Ok(Self {
            pods,
            switches,
            switch_ports,
        })
    }

    /// The same switches with those of their ports alone that `works` names, by switch and number on
    /// either side: an uplink that has failed takes the link down beside it with it, so that as many
    /// ports are left on one side as on the other.
    #[must_use]
    pub fn with_ports(&self, works: impl Fn(usize, usize) -> bool) -> Self {
        let side = |switch: usize, ports: &[(PortId, u32)]| {
            let kept = ports
                .iter()
                .enumerate()
                .filter(|&(port, _)| works(switch, port));
            kept.map(|(_, &port)| port).collect()
        };
        let switches = self.switches.iter().enumerate();
        Self {
            switches: switches
                .map(|(number, switch)| UplinkPorts {
                    ingress: side(number, &switch.ingress),
                    egress: side(number, &switch.egress),
                })
                .collect(),
            ..*self
        }
    }

    /// `tree` with its uplinks led through the switches: `settings` says of every switch to
    /// which egress port each ingress port leads, if not nowhere, [`NO_CIRCUIT`]. Shape of `settings`:
    /// switches × connected ports.
    ///
    /// # Errors
    /// If a setting is no matching, or some router cannot be reached any more.
    pub fn set(
        &self,
        tree: Topology,
        settings: &[Vec<u32>],
    ) -> Result<Topology, OpticalLayerError> {
        if settings.len() != self.switches.len() {
            return Err(OpticalLayerError::Switches {
                found: settings.len(),
                switches: self.switches.len(),
            });
        }
        let mut tree = tree;
        let mut steered = 0;
        for (number, (switch, setting)) in self.switches.iter().zip(settings).enumerate() {
            let ports = switch.ingress.len();
            let mut used = vec![false; ports];
            let once = |&to: &u32| {
                if to == NO_CIRCUIT {
                    return true;
                }
                let used = used.get_mut(to as usize);
                used.is_some_and(|used| !std::mem::replace(used, true))
            };
            if setting.len() != ports || !setting.iter().all(once) {
                let switch = number;
                return Err(OpticalLayerError::NoMatching { switch, ports });
            }
            for (&(from, _), (place, &to)) in switch.ingress.iter().zip((0..).zip(setting)) {
                tree.peer[from.index()] = match switch.egress.get(to as usize) {
                    Some(&(egress, _)) => Peer::Port(egress),
                    None => Peer::Unconnected,
                };
                steered += u32::from(to != place);
            }
        }
        if steered == 0 {
            return Ok(tree);
        }
        let title = format!("{}, {steered} uplinks steered", tree.title);
        let leads_nowhere = settings.iter().flatten().any(|&to| to == NO_CIRCUIT);
        one_way(tree, title, leads_nowhere)
    }

    /// `tree` while some of its circuits change: ports whose circuits change send to nothing, but
    /// where a leaf has no other way up, which has its uplinks to come already. Shape of `settings`
    /// and `changing`: switches × connected ports.
    ///
    /// # Errors
    /// As [`OpticalLayer::set`].
    pub fn while_changing(
        &self,
        tree: Topology,
        settings: &[Vec<u32>],
        changing: &[Vec<bool>],
    ) -> Result<Topology, OpticalLayerError> {
        let tree = self.set(tree, settings)?;
        let mut keeps_one = vec![false; tree.routers()];
        let each = || {
            let ports = self.switches.iter().zip(changing);
            ports.flat_map(|(switch, changing)| switch.ingress.iter().zip(changing))
        };
        for ((&(port, _), &changes), &to) in each().zip(settings.iter().flatten()) {
            let stays = !changes && to != NO_CIRCUIT;
            keeps_one[tree.router_of_port(port).index()] |= stays;
        }
        let silent = each().filter(|&(&(port, _), &changes)| {
            changes && keeps_one[tree.router_of_port(port).index()]
        });
        let silent: Vec<PortId> = silent.map(|(&(port, _), _)| port).collect();
        // No leaf lacks a way to another, but switches above may lack all ways up to them.
        without(tree, &silent, true)
    }
}

/// A tree whose uplinks at `ports` lead nowhere, as while their circuits change.
///
/// # Errors
/// If some router cannot be reached any more.
pub fn without_circuits(tree: Topology, ports: &[PortId]) -> Result<Topology, OpticalLayerError> {
    without(tree, ports, false)
}

fn without(
    mut tree: Topology,
    ports: &[PortId],
    may_be_disconnected: bool,
) -> Result<Topology, OpticalLayerError> {
    for port in ports {
        tree.peer[port.index()] = Peer::Unconnected;
    }
    let title = format!("{}, while circuits change", tree.title);
    one_way(tree, title, may_be_disconnected)
}

/// The same links as a network in which some lead one way.
fn one_way(
    tree: Topology,
    title: String,
    may_be_disconnected: bool,
) -> Result<Topology, OpticalLayerError> {
    Ok(Topology::new(Wiring {
        title,
        link_classes: tree.link_classes,
        group_of_router: tree.group_of_router,
        position_in_group: tree.position_in_group,
        first_port: tree.first_port,
        peer: tree.peer,
        class_of_port: tree.class_of_port,
        may_be_disconnected,
        one_way: true,
    })?)
}

#[cfg(test)]
mod tests;
