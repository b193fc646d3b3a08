//! Links that lose packets for a part of a run: which, when, and for how long nobody can reach whom.

use odonata_network::{Peer, Topology};
use odonata_run::{Losses, Parameter, SimError};
use odonata_units::{Picoseconds, Sender};

/// What becomes of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// It arrives.
    None,
    /// The link goes dark while it is on it.
    OnTheWay,
    /// The link is dark when it would begin: nothing is sent.
    Dark,
}

/// When links are dark and nodes cannot be reached, ready for look-ups.
pub(super) struct Outages {
    /// Where each sender's intervals begin in `dark`: ports of routers, then nodes, and one entry
    /// past the last.
    first: Vec<u32>,
    /// From when until when, in the order of time for each sender.
    dark: Vec<(u64, u64)>,
    /// From when on to and from which nodes no route leads, a bit each, in order of time.
    unreachable: Vec<(u64, Vec<u64>)>,
    /// Routers' ports.
    ports: usize,
    pub resend_after: u64,
    pub retries: u8,
}

impl Outages {
    /// # Errors
    /// If a packet would be sent again before those who simulate its node can know, or what is dark
    /// does not exist.
    pub fn new(losses: &Losses, topology: &Topology) -> Result<Self, SimError> {
        let latency = |port: usize| match topology.peer[port] {
            Peer::Port(_) => {
                let class = topology.class_of_port[port];
                topology.link_classes[class.index()].latency.0
            }
            _ => 0,
        };
        let longest = (0..topology.ports()).map(latency).max().unwrap_or(0);
        if losses.resend_after.0 < longest.max(1) {
            return Err(SimError::Parameter {
                parameter: Parameter::ResendAfter,
                found: losses.resend_after.to_string(),
                allowed: format!(
                    "at least {}, the longest latency of a link",
                    Picoseconds(longest.max(1))
                ),
            });
        }
        let (ports, nodes) = (topology.ports(), topology.nodes());
        let place = |sender: Sender| match sender {
            Sender::Router(port) => port.index(),
            Sender::Node(node) => ports + node.index(),
        };
        let mut dark: Vec<(usize, u64, u64)> = (losses.dark.iter())
            .map(|&(sender, from, until)| (place(sender), from.0, until.0))
            .collect();
        dark.sort_unstable();
        let mut first = vec![0u32; ports + nodes + 1];
        for &(sender, ..) in &dark {
            let Some(count) = first.get_mut(sender + 1) else {
                return Err(SimError::Parameter {
                    parameter: Parameter::Network,
                    found: "a dark link that does not exist".to_owned(),
                    allowed: "links of the network".to_owned(),
                });
            };
            *count += 1;
        }
        for sender in 0..ports + nodes {
            first[sender + 1] += first[sender];
        }
        let bits = |(from, lost): &(Picoseconds, Vec<odonata_units::NodeId>)| {
            let mut bits = vec![0; nodes.div_ceil(64)];
            for node in lost {
                bits[node.index() / 64] |= 1 << (node.index() % 64);
            }
            (from.0, bits)
        };
        Ok(Self {
            first,
            dark: dark
                .into_iter()
                .map(|(_, from, until)| (from, until))
                .collect(),
            unreachable: losses.unreachable.iter().map(bits).collect(),
            ports,
            resend_after: losses.resend_after.0,
            retries: losses.retries,
        })
    }

    /// What becomes of a packet that a port (global number) begins to send at a time, and whose tail
    /// would arrive at another.
    #[cold]
    pub fn on_port(&self, port: usize, begin: u64, arrival: u64) -> Loss {
        let mut dark = self.dark[self.first[port] as usize..self.first[port + 1] as usize].iter();
        if dark
            .clone()
            .any(|&(from, until)| from <= begin && begin < until)
        {
            return Loss::Dark;
        }
        match dark.any(|&(from, until)| from < arrival && begin < until) {
            true => Loss::OnTheWay,
            false => Loss::None,
        }
    }

    /// The same of a node.
    #[cold]
    pub fn on_node(&self, node: u32, begin: u64, arrival: u64) -> Loss {
        self.on_port(self.ports + node as usize, begin, arrival)
    }

    /// Whether no route leads from a node to another for what enters the network at a time.
    #[cold]
    pub fn are_apart(&self, source: u32, destination: u32, time: u64) -> bool {
        let next = self.unreachable.partition_point(|&(from, _)| from <= time);
        let Some((_, lost)) = next.checked_sub(1).map(|now| &self.unreachable[now]) else {
            return false;
        };
        let is_lost = |node: u32| lost[node as usize / 64] >> (node % 64) & 1 == 1;
        is_lost(source) || is_lost(destination)
    }
}

#[cfg(test)]
mod tests {
    use odonata_units::{NodeId, PortId};

    use super::*;
    use crate::engine::losses::Loss;

    fn outages(dark: &[(Sender, u64, u64)], unreachable: &[(u64, &[u32])]) -> Outages {
        let spec = odonata_network::topology::CrossbarSpec {
            nodes: 3,
            terminal: odonata_network::topology::LinkClass {
                name: "terminal".into(),
                kind: odonata_network::topology::LinkKind::Terminal,
                bandwidth: odonata_units::Bandwidth::new(1_000_000_000).unwrap(),
                latency: Picoseconds(10),
                buffer: odonata_units::Bytes(1_000),
                impairments: Vec::new(),
            },
        };
        let losses = Losses {
            dark: dark
                .iter()
                .map(|&(sender, from, until)| (sender, Picoseconds(from), Picoseconds(until)))
                .collect(),
            unreachable: unreachable
                .iter()
                .map(|&(from, nodes)| {
                    (
                        Picoseconds(from),
                        nodes.iter().map(|&node| NodeId(node)).collect(),
                    )
                })
                .collect(),
            resend_after: Picoseconds(100),
            retries: 1,
        };
        Outages::new(&losses, &spec.build().unwrap()).unwrap()
    }

    /// A link that is dark from 100 to 200: what has arrived by 100 is there, what begins at 200 as
    /// well, what is on it at 100 is lost, and in between nothing is sent.
    #[test]
    fn a_packet_is_lost_if_a_part_of_it_would_be_on_a_dark_link() {
        let port = Sender::Router(PortId(1));
        let outages = outages(&[(port, 100, 200), (Sender::Node(NodeId(2)), 50, 60)], &[]);
        for (begin, arrival, loss) in [
            (0, 100, Loss::None),
            (0, 101, Loss::OnTheWay),
            (99, 300, Loss::OnTheWay),
            (100, 150, Loss::Dark),
            (199, 250, Loss::Dark),
            (200, 250, Loss::None),
        ] {
            assert_eq!(
                outages.on_port(1, begin, arrival),
                loss,
                "{begin} to {arrival}"
            );
            assert_eq!(outages.on_port(0, begin, arrival), Loss::None);
        }
        assert_eq!(outages.on_node(2, 40, 51), Loss::OnTheWay);
        assert_eq!(outages.on_node(1, 40, 51), Loss::None);
    }

    #[test]
    fn nodes_are_apart_from_a_moment_on() {
        let outages = outages(&[], &[(0, &[]), (100, &[1]), (200, &[])]);
        for (time, apart) in [(99, false), (100, true), (199, true), (200, false)] {
            assert_eq!(outages.are_apart(0, 1, time), apart);
            assert_eq!(outages.are_apart(1, 0, time), apart);
            assert!(!outages.are_apart(0, 2, time));
        }
    }
}
