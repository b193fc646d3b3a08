//! Files of forwarding tables and of virtual channels: our own, which are text of comma-separated
//! values, and those of OpenSM and of the diagnostic programs of InfiniBand.
//!
//! | file | begins with | each line |
//! |---|---|---|
//! | ours | `router,destination,port` | a router, a node, the port relative to the router's first |
//! | `opensm-lfts.dump`, `dump_fts`, `ibroute` | `Unicast lids … of switch … guid …` | a LID and a port |
//! | `opensm.fdbs` | `dump_ucast_routes: Switch …` | a LID and a port |
//! | virtual channels, ours | `source,destination,channel` | two nodes and a channel |
//! | `saquery PR` | `PathRecord dump:` | fields, of which `slid`, `dlid` and `sl` are read |

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;

use odonata_units::{NodeId, RouterId};

use super::{ForwardingTables, TableFileError};
use crate::topology::{Peer, Subnet, Topology};

type Checked<T = ()> = Result<T, TableFileError>;

const OWN_HEADER: &str = "router,destination,port";
const CHANNELS_HEADER: &str = "source,destination,channel";

const TABLES: &str = "the header `router,destination,port` of Odonata's tables, or the first line \
                      of opensm-lfts.dump, opensm.fdbs, dump_fts or ibroute";
const LID_AND_PORT: &str = "a LID and a port, as in `0x0005 002`";

/// Whose a file is, by its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableFile {
    /// By numbers of routers and nodes.
    Own,
    /// By GUIDs and LIDs.
    OpenSm,
}

impl TableFile {
    /// What a text is by its first line that says something.
    fn of(text: &str) -> Option<Self> {
        let line = text.lines().map(str::trim).find(|line| is_content(line))?;
        if line == OWN_HEADER || line == CHANNELS_HEADER {
            return Some(Self::Own);
        }
        let begins = ["Unicast lids", "dump_ucast_routes:", "PathRecord dump:"];
        begins
            .iter()
            .any(|begin| line.starts_with(begin))
            .then_some(Self::OpenSm)
    }
}

fn is_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

/// Reads output ports into `tables`, in any of the forms; `subnet` tells what GUIDs and LIDs are.
///
/// # Errors
/// [`TableFileError`], naming the line.
pub fn read_tables(
    tables: &mut ForwardingTables,
    text: &str,
    subnet: Option<&Subnet>,
) -> Result<(), TableFileError> {
    match (TableFile::of(text), subnet) {
        (Some(TableFile::Own), _) => read_own(tables, text),
        (Some(TableFile::OpenSm), Some(subnet)) => read_opensm(tables, text, subnet),
        (Some(TableFile::OpenSm), None) => Err(TableFileError::NoSubnet),
        (None, _) => {
            let mut lines = (1..).zip(text.lines().map(str::trim));
            let (line, found) = lines
                .find(|(_, line)| is_content(line))
                .unwrap_or((1, "nothing"));
            let found = shortened(found);
            Err(TableFileError::Line {
                line,
                found,
                allowed: TABLES,
            })
        }
    }
}

/// The lines below the header with three numbers each.
fn numbers<'t>(
    text: &'t str,
    header: &'static str,
) -> impl Iterator<Item = Checked<(usize, [u64; 3])>> + 't {
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(move |(_, line)| is_content(line) && *line != header);
    lines.map(|(line, content)| {
        let mut parts = content.split(',').map(|part| part.trim().parse().ok());
        let read = (|| Some([parts.next()??, parts.next()??, parts.next()??]))();
        match (read, parts.next()) {
            (Some(values), None) => Ok((line, values)),
            _ => Err(TableFileError::Line {
                line,
                found: shortened(content),
                allowed: "three whole numbers with commas between them, as in the header",
            }),
        }
    })
}

/// A number of the network as an index.
fn index(line: usize, what: &'static str, found: u64, count: usize) -> Checked<u32> {
    let last = count as u64 - 1;
    match found <= last {
        true => Ok(found as u32),
        false => Err(TableFileError::NotThere {
            line,
            what,
            found,
            last,
        }),
    }
}

fn read_own(tables: &mut ForwardingTables, text: &str) -> Checked {
    for entry in numbers(text, OWN_HEADER) {
        let (line, [router, node, port]) = entry?;
        let router = RouterId(index(line, "router", router, tables.routers())?);
        let node = NodeId(index(line, "node", node, tables.nodes())?);
        // The network checks the port.
        let port = u16::try_from(port).unwrap_or(u16::MAX - 1);
        if tables.set_port(router, node, port).is_some() {
            let what = format!("node {node} at router {router}");
            return Err(TableFileError::Twice { line, what });
        }
    }
    Ok(())
}

/// `tables` as text of [`read_tables`].
pub fn write_tables(tables: &ForwardingTables) -> String {
    let mut text = format!("{OWN_HEADER}\n");
    for router in (0..tables.routers()).map(RouterId::from_index) {
        for node in (0..tables.nodes()).map(NodeId::from_index) {
            if let Some(port) = tables.port(router, node) {
                let _ = writeln!(text, "{router},{node},{port}");
            }
        }
    }
    text
}

/// `tables` as OpenSM's routing engine `file` (`--lfts_file`) reads them, and [`read_tables`]: with
/// the LIDs of `subnet`, each port of which is a node, and those of switches by shortest paths through
/// what works of `topology`. What is out of service has no table, and no entry in others.
///
/// # Errors
/// If a LID is not known, or packets use several virtual channels, for which that engine sets no
/// service levels.
pub fn write_opensm_tables(
    tables: &ForwardingTables,
    topology: &Topology,
    subnet: &Subnet,
) -> Checked<String> {
    let channels = tables.virtual_channels();
    if channels > 1 {
        return Err(TableFileError::SeveralChannels { channels });
    }
    nodes_by_lid(subnet)?;
    let towards = towards_switches(topology);
    let mut text = String::new();
    let switches = || subnet.switches.iter().zip((0..).map(RouterId));
    let switches = || switches().filter(|&(_, router)| !topology.is_lost_router(router));
    for (switch, router) in switches() {
        let mut entries = Vec::with_capacity(subnet.hosts.len() + subnet.switches.len());
        let hosts = subnet.hosts.iter().zip((0..).map(NodeId));
        for (host, node) in hosts.filter(|&(_, node)| !topology.is_lost(node)) {
            let port = match host.switch == router.0 {
                true => Some(host.switch_port),
                false => tables.port(router, node).map(|port| u32::from(port) + 1),
            };
            let guid = host.port_guid.unwrap_or(host.guid);
            let lid = host.lid.expect("checked above");
            entries.extend(port.map(|port| (lid, port, "Channel Adapter", guid, &host.name)));
        }
        for (other, to) in switches() {
            let name = other.name.clone();
            let lid = other.lid.ok_or(TableFileError::NoLid { name })?;
            let port = towards[to.index()][router.index()];
            entries.extend(port.map(|port| (lid, port, "Switch", other.guid, &other.name)));
        }
        entries.sort_unstable_by_key(|&(lid, ..)| lid);
        let (own, guid, name) = (switch.lid.unwrap_or(0), switch.guid, &switch.name);
        let most = entries.last().map_or(0, |&(lid, ..)| lid);
        let _ = writeln!(
            text,
            "Unicast lids [0x0-{most:#x}] of switch Lid {own} guid {guid:#018x} ({name}):\n  \
             Lid  Out   Destination\n       Port     Info"
        );
        for (lid, port, what, guid, name) in &entries {
            let _ = writeln!(
                text,
                "{lid:#06x} {port:03} : ({what} portguid {guid:#018x}: '{name}')"
            );
        }
        let _ = writeln!(text, "{} valid lids dumped", entries.len());
    }
    Ok(text)
}

/// For each switch the port of every switch that leads there on a shortest path, from 1; 0 at the
/// switch itself. Shape: switches × switches.
fn towards_switches(topology: &Topology) -> Vec<Vec<Option<u32>>> {
    let owner = topology.router_of_every_port();
    let search = |to: usize| {
        let mut ports = vec![None; topology.routers()];
        ports[to] = Some(0);
        let mut queue = VecDeque::from([RouterId::from_index(to)]);
        while let Some(at) = queue.pop_front() {
            for peer in &topology.peer[topology.ports_of(at)] {
                let Peer::Port(back) = peer else { continue };
                let next = owner[back.index()];
                if ports[next.index()].is_none() {
                    ports[next.index()] = Some(back.0 - topology.first_port[next.index()] + 1);
                    queue.push_back(next);
                }
            }
        }
        ports
    };
    (0..topology.routers()).map(search).collect()
}

/// Node of each LID.
fn nodes_by_lid(subnet: &Subnet) -> Checked<HashMap<u16, NodeId>> {
    let mut nodes: HashMap<u16, NodeId> = HashMap::new();
    for (number, host) in (0..).zip(&subnet.hosts) {
        let Some(lid) = host.lid.filter(|&lid| lid != 0) else {
            let name = host.name.clone();
            return Err(TableFileError::NoLid { name });
        };
        if let Some(before) = nodes.insert(lid, NodeId(number)) {
            let (a, b) = (subnet.hosts[before.index()].name.clone(), host.name.clone());
            return Err(TableFileError::SameLid { a, b, lid });
        }
    }
    Ok(nodes)
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn read_opensm(tables: &mut ForwardingTables, text: &str, subnet: &Subnet) -> Checked {
    let nodes = nodes_by_lid(subnet)?;
    let routers: HashMap<u64, RouterId> = (subnet.switches.iter().zip(0..))
        .map(|(switch, number)| (switch.guid, RouterId(number)))
        .collect();
    let mut has_table = vec![false; subnet.switches.len()];
    let mut current = None;
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        let wrong = |allowed| TableFileError::Line {
            line,
            found: shortened(content),
            allowed,
        };
        let begin = ["Unicast lids", "dump_ucast_routes:"];
        if begin.iter().any(|begin| content.starts_with(begin)) {
            // `… guid 0x… (NAME):`, or `… Switch 0x…`.
            let mut words = content.split_whitespace();
            let guid = words
                .by_ref()
                .find(|word| matches!(*word, "guid" | "Switch"))
                .and_then(|_| hexadecimal(words.next()?))
                .ok_or_else(|| wrong("the GUID of a switch, as in `guid 0x0002c90200423e38`"))?;
            let Some(&router) = routers.get(&guid) else {
                return Err(TableFileError::NoSuchSwitch { line, guid });
            };
            if std::mem::replace(&mut has_table[router.index()], true) {
                let what = format!("the table of the switch of GUID {guid:#x}");
                return Err(TableFileError::Twice { line, what });
            }
            current = Some(router);
            continue;
        }
        if !content.starts_with("0x") {
            // Headings, and how many LIDs there were.
            continue;
        }
        let router = current.ok_or_else(|| wrong(TABLES))?;
        let mut words = content.split(|c: char| c.is_whitespace() || c == ':' || c == '#');
        let mut word = || words.find(|word| !word.is_empty());
        let lid = word()
            .and_then(hexadecimal)
            .ok_or_else(|| wrong(LID_AND_PORT))?;
        let Some(&node) = u16::try_from(lid).ok().and_then(|lid| nodes.get(&lid)) else {
            // Of a switch.
            continue;
        };
        let port = match word().ok_or_else(|| wrong(LID_AND_PORT))? {
            "UNREACHABLE" | "---" | "255" => continue,
            port => port.parse::<u16>().map_err(|_| wrong(LID_AND_PORT))?,
        };
        // Port 0, the switch itself, is none of ours.
        let port = port
            .checked_sub(1)
            .ok_or_else(|| wrong("a port from 1 for a host"))?;
        if tables.set_port(router, node, port).is_some() {
            let what = format!("LID {lid:#x} at the switch above");
            return Err(TableFileError::Twice { line, what });
        }
    }
    let mut needed = has_table.iter().zip(&tables.lost_routers);
    match needed.position(|(there, lost)| !there && !lost) {
        None => Ok(()),
        Some(missing) => {
            let switch = &subnet.switches[missing];
            let (name, guid) = (switch.name.clone(), switch.guid);
            Err(TableFileError::NoTable { name, guid })
        }
    }
}

/// Fills in rows of channels.
struct Rows {
    nodes: usize,
    /// Channel and whether it is given. Shape: nodes × nodes.
    channels: Vec<Option<u8>>,
}

impl Rows {
    fn new(nodes: usize) -> Self {
        let channels = vec![None; nodes * nodes];
        Self { nodes, channels }
    }

    fn set(&mut self, line: usize, source: NodeId, destination: NodeId, channel: u8) -> Checked {
        let place = &mut self.channels[source.index() * self.nodes + destination.index()];
        match place.replace(channel) {
            // A subnet manager may list more than one record of a pair.
            Some(before) if before != channel => {
                let what = format!("the pair of node {source} and node {destination}");
                Err(TableFileError::Twice { line, what })
            }
            _ => Ok(()),
        }
    }

    /// Into `tables`; every pair of different nodes needs a channel.
    fn finish(self, tables: &mut ForwardingTables) -> Checked {
        let nodes = self.nodes;
        let lacks = (0..nodes * nodes)
            .find(|&pair| pair / nodes != pair % nodes && self.channels[pair].is_none());
        if let Some(pair) = lacks {
            return Err(TableFileError::NoChannel {
                source_node: NodeId::from_index(pair / nodes),
                destination: NodeId::from_index(pair % nodes),
            });
        }
        let rows = self.channels.chunks(nodes.max(1));
        tables.set_channels(rows.map(|row| row.iter().map(|c| c.unwrap_or(0)).collect()));
        Ok(())
    }
}

/// Reads virtual channels into `tables`, ours or path records; `subnet` tells what LIDs are. A
/// service level is taken for the virtual channel of its number, as switches map them unless they
/// are told otherwise.
///
/// # Errors
/// [`TableFileError`], naming the line.
pub fn read_channels(
    tables: &mut ForwardingTables,
    text: &str,
    subnet: Option<&Subnet>,
) -> Result<(), TableFileError> {
    if TableFile::of(text) == Some(TableFile::OpenSm) {
        let subnet = subnet.ok_or(TableFileError::NoSubnet)?;
        return read_path_records(tables, text, subnet);
    }
    let first = (1..)
        .zip(text.lines().map(str::trim))
        .find(|(_, line)| is_content(line));
    match first {
        Some((_, CHANNELS_HEADER)) => {}
        found => {
            let (line, found) = found.unwrap_or((1, "nothing"));
            return Err(TableFileError::Line {
                line,
                found: shortened(found),
                allowed: "the header `source,destination,channel`, or the output of `saquery PR`",
            });
        }
    }
    let nodes = tables.nodes();
    let mut rows = Rows::new(nodes);
    for entry in numbers(text, CHANNELS_HEADER) {
        let (line, [source, destination, channel]) = entry?;
        let source = NodeId(index(line, "node", source, nodes)?);
        let destination = NodeId(index(line, "node", destination, nodes)?);
        let channel = u8::try_from(channel)
            .ok()
            .filter(|&c| c < 64)
            .ok_or_else(|| {
                let allowed = "virtual channels 0 to 63";
                let found = channel.to_string();
                TableFileError::Line {
                    line,
                    found,
                    allowed,
                }
            })?;
        rows.set(line, source, destination, channel)?;
    }
    rows.finish(tables)
}

/// Reads the service levels of path records, as `saquery PR` prints them.
///
/// # Errors
/// [`TableFileError`], naming the line.
fn read_path_records(
    tables: &mut ForwardingTables,
    text: &str,
    subnet: &Subnet,
) -> Result<(), TableFileError> {
    let by_lid = nodes_by_lid(subnet)?;
    let mut rows = Rows::new(tables.nodes());
    let (mut slid, mut dlid) = (None, None);
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        let Some((key, value)) = content.split_once("..") else {
            continue;
        };
        let value = value.trim_start_matches('.');
        let number = || {
            let read = match value.strip_prefix("0x") {
                Some(digits) => u16::from_str_radix(digits, 16),
                None => value.parse(),
            };
            read.map_err(|_| TableFileError::Line {
                line,
                found: shortened(content),
                allowed: "a number",
            })
        };
        match key {
            "slid" => slid = Some(number()?),
            "dlid" => dlid = Some(number()?),
            "sl" => {
                let nodes = slid.take().zip(dlid.take());
                let node = |lid: u16| by_lid.get(&lid).copied();
                // Records of switches are of no use here.
                if let Some((Some(source), Some(destination))) =
                    nodes.map(|(s, d)| (node(s), node(d)))
                {
                    rows.set(line, source, destination, (number()? & 15) as u8)?;
                }
            }
            _ => {}
        }
    }
    rows.finish(tables)
}

/// The virtual channels of `tables` as text of [`read_channels`].
pub fn write_channels(tables: &ForwardingTables) -> String {
    let mut text = format!("{CHANNELS_HEADER}\n");
    let nodes = tables.nodes() as u32;
    for (source, destination) in (0..nodes).flat_map(|s| (0..nodes).map(move |d| (s, d))) {
        if source != destination {
            let channel = tables.channel(NodeId(source), destination);
            let _ = writeln!(text, "{source},{destination},{channel}");
        }
    }
    text
}
