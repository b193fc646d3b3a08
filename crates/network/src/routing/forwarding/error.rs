//! What can be wrong with forwarding tables, and with the files that they are read from.

use odonata_units::{NodeId, RouterId};

use crate::topology::SubnetError;

/// Tables by which packets between nodes of a network do not arrive. Ports are relative to the
/// router's first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForwardingError {
    /// No entry where packets come.
    #[error(
        "the table of router {router} has no port for node {node}, though packets for it come \
         there; give every router on the link one"
    )]
    Missing {
        /// The router.
        router: RouterId,
        /// The destination.
        node: NodeId,
    },
    /// A port beyond the router's.
    #[error(
        "the table of router {router} sends packets for node {node} to port {port}, but the router \
         has {ports} ports, from 0"
    )]
    NoSuchPort {
        /// The router.
        router: RouterId,
        /// The destination.
        node: NodeId,
        /// The port.
        port: u16,
        /// Ports of the router.
        ports: usize,
    },
    /// A port that leads nowhere.
    #[error(
        "the table of router {router} sends packets for node {node} to port {port}, which leads \
         nowhere"
    )]
    Unconnected {
        /// The router.
        router: RouterId,
        /// The destination.
        node: NodeId,
        /// The port.
        port: u16,
    },
    /// The port of another node.
    #[error(
        "the table of router {router} sends packets for node {node} to port {port}, to which node \
         {found} is attached: the table is of another network, or nodes are numbered otherwise"
    )]
    OtherNode {
        /// The router.
        router: RouterId,
        /// The destination.
        node: NodeId,
        /// The port.
        port: u16,
        /// The node there.
        found: NodeId,
    },
    /// The router of the node sends packets for it elsewhere.
    #[error(
        "the table of router {router} sends packets for node {node} to port {port}, but that node \
         is attached to its port {expected}: the table is of another network, or nodes are numbered \
         otherwise"
    )]
    WrongLastPort {
        /// The router.
        router: RouterId,
        /// The destination.
        node: NodeId,
        /// The port.
        port: u16,
        /// The port of the node.
        expected: u16,
    },
    /// Packets that go round.
    #[error(
        "packets for node {node} go round for ever: routers {}",
        round(routers)
    )]
    Loop {
        /// The destination.
        node: NodeId,
        /// The routers on the round.
        routers: Vec<RouterId>,
    },
}

/// `1 -> 2 -> 1`, of long rounds the beginning.
fn round(routers: &[RouterId]) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<String> = routers.iter().take(SHOWN).map(|r| r.to_string()).collect();
    if routers.len() > SHOWN {
        names.push(format!("({} more)", routers.len() - SHOWN));
    }
    names.extend(routers.first().map(|r| r.to_string()));
    names.join(" -> ")
}

/// What is wrong with a file of tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableFileError {
    /// Tables for OpenSM that need service levels.
    #[error(
        "packets use {channels} virtual lanes, for which OpenSM's routing engine `file` sets no \
         service levels; write forwarding-tables and virtual-channels, or route on one lane"
    )]
    SeveralChannels {
        /// How many.
        channels: u32,
    },
    /// A line that is none of the format.
    #[error("line {line}: found `{found}`; allowed: {allowed}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What stands there, shortened.
        found: String,
        /// What could.
        allowed: &'static str,
    },
    /// A number that the network does not have.
    #[error("line {line}: there is no {what} {found}; the network has {what}s 0 to {last}")]
    NotThere {
        /// The line.
        line: usize,
        /// `router` or `node`.
        what: &'static str,
        /// The number.
        found: u64,
        /// The last of the network.
        last: u64,
    },
    /// An entry that is there twice.
    #[error("line {line}: {what} is there twice; every pair comes once")]
    Twice {
        /// The second line.
        line: usize,
        /// What.
        what: String,
    },
    /// A switch that the subnet does not have.
    #[error(
        "line {line}: the subnet has no switch of GUID {guid:#x}: take the tables and the wiring of \
         the same subnet"
    )]
    NoSuchSwitch {
        /// The line.
        line: usize,
        /// The GUID.
        guid: u64,
    },
    /// A switch of the subnet without a table.
    #[error("there is no table of switch {name} (GUID {guid:#x}); take a dump of the whole subnet")]
    NoTable {
        /// Name of the switch.
        name: String,
        /// Its GUID.
        guid: u64,
    },
    /// Tables of OpenSM without what tells whose they are.
    #[error(
        "these are tables by GUIDs and LIDs: give `subnet`, the output of `ibnetdiscover` or \
         OpenSM's `opensm-subnet.lst`, which tells what these are"
    )]
    NoSubnet,
    /// A host port without a LID.
    #[error("host {name} has no LID in the subnet's file; discover it after the subnet is up")]
    NoLid {
        /// The host.
        name: String,
    },
    /// Two host ports of one LID.
    #[error("hosts {a} and {b} have the same LID {lid} in the subnet's file")]
    SameLid {
        /// One host.
        a: String,
        /// Another.
        b: String,
        /// The LID.
        lid: u16,
    },
    /// A pair without a virtual channel.
    #[error(
        "there is no virtual channel of packets from node {source_node} to node {destination}; \
         give every pair of nodes one"
    )]
    NoChannel {
        /// The source.
        source_node: NodeId,
        /// The destination.
        destination: NodeId,
    },
    /// The file of the subnet.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
}
