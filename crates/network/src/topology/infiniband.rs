//! InfiniBand subnets: what `ibnetdiscover` and OpenSM say is cabled, as a topology, and any
//! topology as files that `ibsim` and OpenSM read.
//!
//! Ports of InfiniBand count from 1 (0 is the switch itself), ours from 0: port *p* of a router
//! is port *p* + 1 of its switch, in both directions.
//!
//! Where all switches are called `S-0`, `S-1`, … and all host ports `H-0`, `H-1`, …, as in what
//! [`export`] writes, these are their numbers. Others are numbered by GUID, and host ports along
//! the switches, so that numbers do not depend on where a discovery began.

pub mod export;
mod hosts;
mod ibnetdiscover;
mod subnet_list;

use std::collections::HashMap;

use odonata_units::{GroupId, NodeId, PortId, RouterId};
use serde::Serialize;

use super::{
    LinkClass, LinkClassId, LinkKind, MAX_PORTS_PER_ROUTER, Peer, Topology, TopologyError, Wiring,
};

/// A switch of a subnet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// Its GUID.
    pub guid: u64,
    /// What it is called.
    pub name: String,
    /// Its ports, without port 0.
    pub ports: u32,
    /// Local identifier, where the file tells it.
    pub lid: Option<u16>,
}

/// A port of a host that is cabled to a switch: a node of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPort {
    /// GUID of the host's adapter.
    pub guid: u64,
    /// GUID of the port, where the file tells it.
    pub port_guid: Option<u64>,
    /// What the adapter is described as.
    pub name: String,
    /// The host that it is in, where the description names one.
    pub host: Option<String>,
    /// Further ports of the host, which has this one's and their bandwidth, once
    /// [ports are joined](Subnet::joined).
    pub further: Vec<FurtherPort>,
    /// Number of the port on its adapter, from 1.
    pub port: u32,
    /// Local identifier, where the file tells it.
    pub lid: Option<u16>,
    /// Index of its switch in [`Subnet::switches`].
    pub switch: u32,
    /// The switch's port, from 1.
    pub switch_port: u32,
    /// Width and speed, such as `4xEDR`, where the file tells it.
    pub rate: Option<Rate>,
}

/// A port of a host besides that by which it is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FurtherPort {
    /// Index of its switch in [`Subnet::switches`].
    pub switch: u32,
    /// The switch's port, from 1.
    pub switch_port: u32,
    /// Width and speed, where the file tells it.
    pub rate: Option<Rate>,
}

impl HostPort {
    /// Width and speed of this port and of those that are joined with it, in order.
    pub fn rates(&self) -> Vec<Option<Rate>> {
        let further = self.further.iter().map(|port| port.rate.clone());
        let mut rates: Vec<_> = std::iter::once(self.rate.clone()).chain(further).collect();
        rates.sort();
        rates
    }
}

/// A cable between two switches, the end of the lower switch first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cable {
    /// Index of a switch in [`Subnet::switches`], and its port, from 1.
    pub a: (u32, u32),
    /// The other end.
    pub b: (u32, u32),
    /// Width and speed, where the file tells it.
    pub rate: Option<Rate>,
}

/// Width and speed of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Rate(String);

impl Rate {
    /// From `4xEDR`; `None` where the speed or the width is not one of InfiniBand.
    pub fn new(text: &str) -> Option<Self> {
        let rate = Self(text.to_owned());
        rate.bytes_per_second().is_some().then_some(rate)
    }

    /// What the link carries, less its line code (8b/10b up to QDR, 64b/66b from FDR10 on; from
    /// HDR on the signalling rates of the specification are net of it).
    pub fn bytes_per_second(&self) -> Option<u64> {
        let (width, speed) = self.0.split_once('x')?;
        let width: u64 = width
            .parse()
            .ok()
            .filter(|w| [1, 2, 4, 8, 12].contains(w))?;
        // Bits per second of a lane.
        let lane: u64 = match speed {
            "SDR" => 2_000_000_000,
            "DDR" => 4_000_000_000,
            "QDR" => 8_000_000_000,
            "FDR10" => 10_000_000_000,
            "FDR" => 13_636_363_636,
            "EDR" => 25_000_000_000,
            "HDR" => 50_000_000_000,
            "NDR" => 100_000_000_000,
            "XDR" => 200_000_000_000,
            _ => return None,
        };
        Some(width * lane / 8)
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is cabled in a subnet: switches, and the host ports on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subnet {
    /// The switches: the routers of the topology, by number.
    pub switches: Vec<Switch>,
    /// The host ports: the nodes of the topology, by number.
    pub hosts: Vec<HostPort>,
    /// Cables between switches.
    pub cables: Vec<Cable>,
    /// Aggregation nodes of switches, which have ports as adapters do but are no hosts, and are
    /// left out.
    pub aggregation_nodes: u32,
    /// Warnings of libraries, between and within the lines.
    pub warnings: u32,
}

/// What is wrong with a file of a subnet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubnetError {
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
    /// Something is there twice.
    #[error("line {line}: {what} is there twice; every switch and every port comes once")]
    Twice {
        /// The second line.
        line: usize,
        /// What.
        what: String,
    },
    /// The two ends of a cable do not say the same.
    #[error(
        "line {line}: {here} leads to {there}, but {there} does not lead back; take the output of \
         one whole discovery"
    )]
    OneEnd {
        /// The line.
        line: usize,
        /// One end.
        here: String,
        /// The other.
        there: String,
    },
    /// A port beyond the switch's.
    #[error("line {line}: switch {switch} has no port {port}; it has ports 1 to {ports}")]
    NoPort {
        /// The line.
        line: usize,
        /// Name of the switch.
        switch: String,
        /// The port.
        port: u32,
        /// Ports that it has.
        ports: u32,
    },
    /// There is no switch.
    #[error(
        "there is no switch in it; allowed: the output of `ibnetdiscover`, or the file \
         `opensm-subnet.lst` that OpenSM writes"
    )]
    NoSwitch,
}

type Checked<T = ()> = Result<T, SubnetError>;

/// Reads what is cabled from the output of `ibnetdiscover`, from a net file of `ibsim`, or from
/// OpenSM's `opensm-subnet.lst`, whichever `text` is.
///
/// # Errors
/// [`SubnetError`], naming the line.
pub fn read_ibnetdiscover(text: &str) -> Result<Subnet, SubnetError> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    match first {
        Some(line) if line.starts_with('{') => subnet_list::read(text),
        _ => ibnetdiscover::read(text),
    }
}

/// The end of a cable as a file names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct End {
    /// What the file calls the switch or adapter by.
    id: String,
    port: u32,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "port {} of {}", self.port, self.id)
    }
}

/// What the far end of a switch's port is.
#[derive(Clone, Debug)]
enum Far {
    Switch(End),
    Host {
        end: End,
        guid: u64,
        port_guid: Option<u64>,
        name: String,
        lid: Option<u16>,
    },
}

/// A switch's port as a file has it.
#[derive(Clone, Debug)]
struct Wired {
    line: usize,
    port: u32,
    far: Far,
    rate: Option<Rate>,
}

/// All of a file, before numbers are given.
#[derive(Default)]
struct Found {
    switches: Vec<(String, Switch, Vec<Wired>)>,
    index: HashMap<String, usize>,
    warnings: u32,
}

impl Found {
    fn switch(&mut self, line: usize, id: &str, switch: Switch) -> Checked<usize> {
        if switch.ports as usize > MAX_PORTS_PER_ROUTER {
            return Err(SubnetError::Line {
                line,
                found: format!("{} ports", switch.ports),
                allowed: "switches of at most 4096 ports",
            });
        }
        let index = self.switches.len();
        if self.index.insert(id.to_owned(), index).is_some() {
            let what = format!("switch {id}");
            return Err(SubnetError::Twice { line, what });
        }
        self.switches.push((id.to_owned(), switch, Vec::new()));
        Ok(index)
    }

    fn wire(&mut self, switch: usize, wired: Wired) -> Checked {
        let (id, known, ports) = &mut self.switches[switch];
        let (line, port) = (wired.line, wired.port);
        if port == 0 || port > known.ports {
            let (switch, ports) = (known.name.clone(), known.ports);
            return Err(SubnetError::NoPort {
                line,
                switch,
                port,
                ports,
            });
        }
        if ports.iter().any(|other| other.port == port) {
            let what = format!("port {port} of switch {id}");
            return Err(SubnetError::Twice { line, what });
        }
        ports.push(wired);
        Ok(())
    }

    /// The switch of the far end of a cable, if that says that it leads here.
    fn switch_behind(&self, here: &End, there: &End) -> Option<usize> {
        let other = *self.index.get(&there.id)?;
        let leads_here = |back: &Wired| {
            back.port == there.port && matches!(&back.far, Far::Switch(end) if end == here)
        };
        let (_, _, ports) = &self.switches[other];
        ports.iter().any(leads_here).then_some(other)
    }

    /// Gives numbers, and checks that both ends of every cable say the same.
    fn into_subnet(self) -> Checked<Subnet> {
        if self.switches.is_empty() {
            return Err(SubnetError::NoSwitch);
        }
        let names: Vec<&str> = self.switches.iter().map(|s| s.1.name.as_str()).collect();
        let order = numbered(&names, "S-").unwrap_or_else(|| {
            let mut order: Vec<usize> = (0..names.len()).collect();
            order.sort_by_key(|&index| (self.switches[index].1.guid, index));
            order
        });
        let mut number = vec![0u32; order.len()];
        for (new, &old) in (0..).zip(&order) {
            number[old] = new;
        }
        let (mut hosts, mut cables) = (Vec::new(), Vec::new());
        let mut aggregation_nodes = 0;
        let mut host_ends = HashMap::new();
        for &old in &order {
            let (id, _, ports) = &self.switches[old];
            let mut ports: Vec<&Wired> = ports.iter().collect();
            ports.sort_by_key(|wired| wired.port);
            for wired in ports {
                let here = End {
                    id: id.clone(),
                    port: wired.port,
                };
                match &wired.far {
                    Far::Host {
                        end,
                        guid,
                        port_guid,
                        name,
                        lid,
                    } => {
                        if host_ends.insert(end.clone(), ()).is_some() {
                            let (line, what) = (wired.line, end.to_string());
                            return Err(SubnetError::Twice { line, what });
                        }
                        if hosts::is_aggregation_node(name) {
                            aggregation_nodes += 1;
                            continue;
                        }
                        hosts.push(HostPort {
                            guid: *guid,
                            port_guid: *port_guid,
                            name: name.clone(),
                            host: None,
                            further: Vec::new(),
                            port: end.port,
                            lid: *lid,
                            switch: number[old],
                            switch_port: wired.port,
                            rate: wired.rate.clone(),
                        });
                    }
                    Far::Switch(there) => {
                        let Some(other) = self.switch_behind(&here, there) else {
                            return Err(SubnetError::OneEnd {
                                line: wired.line,
                                here: here.to_string(),
                                there: there.to_string(),
                            });
                        };
                        let a = (number[old], wired.port);
                        let b = (number[other], there.port);
                        if a < b {
                            let rate = wired.rate.clone();
                            cables.push(Cable { a, b, rate });
                        }
                    }
                }
            }
        }
        let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        if let Some(order) = numbered(&names, "H-") {
            hosts = order.iter().map(|&index| hosts[index].clone()).collect();
        }
        hosts::name(&mut hosts);
        let mut switches: Vec<Option<Switch>> =
            self.switches.into_iter().map(|s| Some(s.1)).collect();
        let switches = order
            .iter()
            .filter_map(|&old| switches[old].take())
            .collect();
        Ok(Subnet {
            switches,
            hosts,
            cables,
            aggregation_nodes,
            warnings: self.warnings,
        })
    }
}

/// Where number 0, 1, … is among names that are `prefix` and these numbers, each once; `None`
/// for others.
fn numbered(names: &[&str], prefix: &str) -> Option<Vec<usize>> {
    let mut place = vec![usize::MAX; names.len()];
    for (index, name) in names.iter().enumerate() {
        let number: usize = name.strip_prefix(prefix)?.parse().ok()?;
        let place = place.get_mut(number)?;
        if *place != usize::MAX {
            return None;
        }
        *place = index;
    }
    Some(place)
}

impl Subnet {
    /// The topology: one group, a router for each switch, a node for each host port or, once
    /// [they are joined](Self::joined), for each host.
    ///
    /// `class_of` gives the class of links of a kind and of the rates of the ports that one of
    /// them stands for; it is asked once for each.
    ///
    /// # Errors
    /// If it has no nodes or is not connected.
    pub fn topology(
        &self,
        title: String,
        mut class_of: impl FnMut(LinkKind, &[Option<Rate>]) -> LinkClass,
    ) -> Result<Topology, TopologyError> {
        let mut first_port = vec![0u32];
        for switch in &self.switches {
            first_port.push(first_port[first_port.len() - 1] + switch.ports);
        }
        let ports = first_port[first_port.len() - 1] as usize;
        let (mut link_classes, mut known) = (Vec::new(), HashMap::new());
        let mut class = |kind: LinkKind, rates: Vec<Option<Rate>>| {
            *known
                .entry((kind, rates))
                .or_insert_with_key(|(kind, rates)| {
                    link_classes.push(class_of(*kind, rates));
                    LinkClassId((link_classes.len() - 1) as u8)
                })
        };
        let port = |(switch, port): (u32, u32)| PortId(first_port[switch as usize] + port - 1);
        let mut peer = vec![Peer::Unconnected; ports];
        let mut class_of_port = vec![None; ports];
        for (number, host) in (0..).zip(&self.hosts) {
            let at = port((host.switch, host.switch_port)).index();
            peer[at] = Peer::Node(NodeId(number));
            class_of_port[at] = Some(class(LinkKind::Terminal, host.rates()));
        }
        for cable in &self.cables {
            let (a, b) = (port(cable.a), port(cable.b));
            let local = class(LinkKind::Local, vec![cable.rate.clone()]);
            (peer[a.index()], peer[b.index()]) = (Peer::Port(b), Peer::Port(a));
            (class_of_port[a.index()], class_of_port[b.index()]) = (Some(local), Some(local));
        }
        // Of a port that leads nowhere the class is never used.
        let spare = match class_of_port.iter().flatten().next_back() {
            Some(&class) => class,
            None => class(LinkKind::Terminal, vec![None]),
        };
        Topology::new(Wiring {
            title,
            link_classes,
            group_of_router: vec![GroupId(0); self.switches.len()],
            position_in_group: vec![],
            first_port,
            peer,
            class_of_port: class_of_port
                .into_iter()
                .map(|c| c.unwrap_or(spare))
                .collect(),
            may_be_disconnected: false,
            one_way: false,
        })
    }

    /// Takes out of `ports`, the topology of the same switches with each port of a host as a node, what
    /// does not work of this subnet's: cables and switches that `left` of its topology does not have, and
    /// all ports of a host that it lacks though the host's switch works.
    pub fn unplug(&self, left: &Topology, ports: &mut Topology) {
        for (peer, left) in ports.peer.iter_mut().zip(&left.peer) {
            if matches!(peer, Peer::Port(_)) && *left == Peer::Unconnected {
                *peer = Peer::Unconnected;
            }
        }
        for router in (0..left.routers()).map(RouterId::from_index) {
            if left.is_lost_router(router) {
                let own = ports.ports_of(router);
                ports.peer[own].fill(Peer::Unconnected);
            }
        }
        for (node, host) in (0..).map(NodeId).zip(&self.hosts) {
            if left.is_lost(node) && !left.is_lost_router(RouterId(host.switch)) {
                let further = host.further.iter().map(|at| (at.switch, at.switch_port));
                for (switch, port) in further.chain([(host.switch, host.switch_port)]) {
                    let at = ports.first_port[switch as usize] + port - 1;
                    ports.peer[at as usize] = Peer::Unconnected;
                }
            }
        }
    }

    /// Whether the subnet is what `topology` is wired like: router and port for switch and port.
    ///
    /// # Errors
    /// The first difference, a sentence.
    pub fn check_wiring(&self, topology: &Topology) -> Result<(), String> {
        let counts = |what, here: usize, there: usize| match here == there {
            true => Ok(()),
            false => Err(format!(
                "the subnet has {here} {what}, but the network has {there}"
            )),
        };
        counts("switches", self.switches.len(), topology.routers())?;
        counts("host ports", self.hosts.len(), topology.nodes())?;
        let cables = topology.links().count();
        counts("cables between switches", self.cables.len(), cables)?;
        let at = |router: u32, port: u32| {
            let ports = topology.ports_of(RouterId(router));
            let index = ports.start + port as usize - 1;
            ports.contains(&index).then(|| topology.peer[index])
        };
        for (number, host) in (0..).zip(&self.hosts) {
            if at(host.switch, host.switch_port) != Some(Peer::Node(NodeId(number))) {
                let (switch, port) = (&self.switches[host.switch as usize].name, host.switch_port);
                let there = described(topology, at(host.switch, port));
                return Err(format!(
                    "port {port} of switch {switch} leads to host {}, which would be node \
                     {number}, but port {} of router {} of the network leads to {there}",
                    host.name,
                    port - 1,
                    host.switch
                ));
            }
        }
        for cable in &self.cables {
            let (a, b) = (cable.a, cable.b);
            let other = topology.first_port[b.0 as usize] + b.1 - 1;
            if at(a.0, a.1) != Some(Peer::Port(PortId(other))) {
                let there = described(topology, at(a.0, a.1));
                let name = |end: (u32, u32)| &self.switches[end.0 as usize].name;
                return Err(format!(
                    "port {} of switch {} leads to port {} of switch {}, but port {} of router {} \
                     of the network leads to {there}",
                    a.1,
                    name(a),
                    b.1,
                    name(b),
                    a.1 - 1,
                    a.0
                ));
            }
        }
        Ok(())
    }
}

/// What a port leads to, for messages.
fn described(topology: &Topology, peer: Option<Peer>) -> String {
    match peer {
        None => "nothing, as there is no such port".into(),
        Some(Peer::Unconnected) => "nothing".into(),
        Some(Peer::Node(node)) => format!("node {node}"),
        Some(Peer::Port(port)) => {
            let router = topology.router_of_port(port);
            let port = port.0 - topology.first_port[router.index()];
            format!("port {port} of router {router}")
        }
    }
}

#[cfg(test)]
mod tests;
