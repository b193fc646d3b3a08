//! GraphML, the XML format of graph tools (networkx, igraph, Gephi, yEd;
//! Brandes et al., "GraphML Progress Report", Graph Drawing 2001).
//!
//! The graph is undirected; routers and compute nodes are its `node`s, links its
//! `edge`s. Everything else is `data`, under keys of these names:
//!
//! | of | key | meaning |
//! |---|---|---|
//! | graph | `title` | title of the network |
//! | graph | `link_classes` | classes separated by `;`, each `NAME KIND BYTES_PER_S LATENCY_PS BUFFER_BYTES`; the numbers may be left out where the importer is given a class of that name |
//! | node | `kind` | `router` (default) or `node` |
//! | node | `number` | number of the router or node, counted separately from 0; default: the next one in the order of the file |
//! | node | `group` | group of a router, default 0 |
//! | node | `row`, `column` | position of a router in its group; all routers or none |
//! | node | `nodes` | nodes on this router that are no `node`s of the graph; they get the next numbers |
//! | node | `unconnected` | ports of a router that lead nowhere, separated by `,`, each `PORT CLASS` |
//! | edge | `class` | link class; may be left out if there is exactly one of its kind |
//! | edge | `source_port`, `target_port` | port at a router's end; default: the lowest that nothing else mentions |
//!
//! If no node is attached, or no class of a kind is declared, they come from
//! those who read the file: a graph without any data can be read.
//!
//! Other keys are ignored. Nested graphs, hyperedges and directed edges are
//! errors. Parallel edges are parallel links.

mod reading;
#[cfg(test)]
mod tests;

use super::wiring_file::{
    ClassName, ClassParameters, Declarations, End, WiringDefaults, WiringFileError,
};
use super::{LinkClass, LinkKind, MAX_PORTS_PER_ROUTER, NamedGraph, NamedVertex, Peer, Topology};
use odonata_units::PortId;
use quick_xml::escape::escape;
pub(super) use reading::{Document, Element};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Reads a GraphML file. `link_classes` supply the parameters of classes of
/// their name; those that the file does not mention are ignored.
///
/// # Errors
/// If the file is no GraphML or contradicts itself, or if the wiring is not
/// sound and connected; the error names the line.
pub fn import(text: &str, link_classes: &[LinkClass]) -> Result<Topology, WiringFileError> {
    let supplies = WiringDefaults {
        classes: link_classes,
        ..WiringDefaults::default()
    };
    import_with(text, &supplies)
}

/// Reads a GraphML file that may leave classes and nodes to its reader.
///
/// # Errors
/// As for [`import`].
pub fn import_with(text: &str, supplies: &WiringDefaults<'_>) -> Result<Topology, WiringFileError> {
    import_document(&Document::parse(text)?, supplies)
}

/// The network of a graph, whatever file it is from.
pub(super) fn import_document(
    document: &Document,
    supplies: &WiringDefaults<'_>,
) -> Result<Topology, WiringFileError> {
    let mut declarations = Declarations::default();
    if let Some(title) = document.graph.get("title") {
        declarations.title = title.trim().to_owned();
    }
    if let Some(classes) = document.graph.get("link_classes") {
        declare_classes(&mut declarations, document.graph.line, classes)?;
    }
    let mut vertices = HashMap::with_capacity(document.nodes.len());
    let mut next_node = 0;
    for element in &document.nodes {
        let vertex = declare_vertex(&mut declarations, element, &mut next_node)?;
        let id = element.attribute("id")?;
        if let Some(first) = vertices.insert(id, (vertex, element.line)) {
            return Err(WiringFileError::Twice {
                line: element.line,
                what: format!("node id `{id}`"),
                first: first.1,
            });
        }
    }
    let mut attached = vec![];
    for element in &document.edges {
        declare_edge(&mut declarations, element, &vertices, &mut attached)?;
    }
    attached.sort_unstable();
    // In the order of the file, so that the first mistake is reported.
    for element in &document.nodes {
        let (vertex, line) = vertices[element.attribute("id")?];
        if let Vertex::Node(node) = vertex
            && attached.binary_search(&node).is_err()
        {
            return Err(WiringFileError::Unattached { line, node });
        }
    }
    declarations.into_topology(supplies)
}

/// The graph of a file by its names.
///
/// # Errors
/// If the file is no GraphML, or an edge has an end that is no node of the graph.
pub fn named_graph(text: &str) -> Result<NamedGraph, WiringFileError> {
    names_of_document(&Document::parse(text)?)
}

/// The same of a graph, whatever file it is from.
pub(super) fn names_of_document(document: &Document) -> Result<NamedGraph, WiringFileError> {
    let mut graph = NamedGraph::default();
    let mut place = HashMap::with_capacity(document.nodes.len());
    for element in &document.nodes {
        let id = element.attribute("id")?;
        let name = element.get("label").map_or(id, str::trim);
        let kind = element.get("kind").map(str::trim);
        let of_router = element.get("nodes").is_some() || element.get("group").is_some();
        place.insert(id, graph.vertices.len());
        graph.vertices.push(NamedVertex {
            name: name.to_owned(),
            is_node: kind
                .map(|kind| kind == "node")
                .or(of_router.then_some(false)),
            group: element.get("group").map(|group| group.trim().to_owned()),
        });
    }
    for element in &document.edges {
        let end = |end: &'static str| {
            let id = element.attribute(end)?;
            place
                .get(id)
                .copied()
                .ok_or_else(|| unknown_end(element, id, end))
        };
        graph.edges.push((end("source")?, end("target")?));
    }
    Ok(graph)
}

fn unknown_end(edge: &Element, id: &str, end: &str) -> WiringFileError {
    WiringFileError::Syntax {
        line: edge.line,
        found: id.to_owned(),
        expected: format!("the id of a node of the graph as {end}"),
    }
}

/// A `node` of the graph.
#[derive(Clone, Copy)]
enum Vertex {
    Router(u32),
    Node(u32),
}

fn declare_classes(
    to: &mut Declarations,
    line: usize,
    classes: &str,
) -> Result<(), WiringFileError> {
    for class in classes.split(';').map(str::trim) {
        let syntax = || {
            WiringFileError::Syntax {
            line,
            found: class.to_owned(),
            expected: "a link class `NAME terminal|local|global BYTES_PER_S LATENCY_PS BUFFER_BYTES`, with at least 1000 bytes per second".into(),
        }
        };
        let words: Vec<&str> = class.split_ascii_whitespace().collect();
        let (name, kind, parameters) = match words[..] {
            [] => continue,
            [name, kind] => (name, kind, None),
            [name, kind, bandwidth, latency, buffer] => {
                let parameters = ClassParameters::parse([bandwidth, latency, buffer]);
                (name, kind, Some(parameters.ok_or_else(syntax)?))
            }
            _ => return Err(syntax()),
        };
        let kinds = [LinkKind::Terminal, LinkKind::Local, LinkKind::Global];
        let kind = kinds.into_iter().find(|k| k.name() == kind);
        to.declare_class(line, name, kind.ok_or_else(syntax)?, parameters)?;
    }
    Ok(())
}

/// Declares a router, with what is attached to it, or numbers a node.
fn declare_vertex(
    to: &mut Declarations,
    element: &Element,
    next_node: &mut u32,
) -> Result<Vertex, WiringFileError> {
    let line = element.line;
    match element.get("kind").map(str::trim) {
        None | Some("router") => {}
        Some("node") => {
            let node = element.number("number")?.unwrap_or(*next_node);
            *next_node += 1;
            return Ok(Vertex::Node(node));
        }
        Some(other) => {
            return Err(WiringFileError::Syntax {
                line,
                found: other.to_owned(),
                expected: "the kind `router` or `node`".into(),
            });
        }
    }
    let router = match element.number("number")? {
        Some(number) => number,
        None => to.routers() as u32,
    };
    let group = element.number("group")?.unwrap_or(0);
    let position = match (element.number("row")?, element.number("column")?) {
        (None, None) => None,
        (Some(row), Some(column)) => Some((row, column)),
        _ => return Err(WiringFileError::PositionMissing { line, router }),
    };
    to.declare_router(line, router, group, position)?;
    if let Some(count) = element.number::<u32>("nodes")? {
        if count as usize > MAX_PORTS_PER_ROUTER {
            return Err(WiringFileError::TooLarge {
                line,
                what: "number of nodes on one router",
                found: u64::from(count),
                limit: MAX_PORTS_PER_ROUTER as u64,
            });
        }
        for _ in 0..count {
            to.attach(line, *next_node, End { router, port: None }, None)?;
            *next_node += 1;
        }
    }
    let unconnected = element.get("unconnected").unwrap_or("");
    for port in unconnected.split(',').map(str::trim) {
        let words: Vec<&str> = port.split_ascii_whitespace().collect();
        match words[..] {
            [] => {}
            [number, class] if number.parse::<u32>().is_ok() => {
                let class = to.class_name(class);
                let port = number.parse().unwrap_or(u32::MAX);
                to.leave_unconnected(line, router, port, class)?;
            }
            _ => {
                return Err(WiringFileError::Syntax {
                    line,
                    found: port.to_owned(),
                    expected: "an unconnected port `PORT CLASS`".into(),
                });
            }
        }
    }
    Ok(Vertex::Router(router))
}

/// Declares a link, or attaches a node, which is then added to `attached`.
fn declare_edge(
    to: &mut Declarations,
    element: &Element,
    vertices: &HashMap<&str, (Vertex, usize)>,
    attached: &mut Vec<u32>,
) -> Result<(), WiringFileError> {
    let line = element.line;
    let vertex = |end: &'static str| {
        let id = element.attribute(end)?;
        let found = vertices.get(id).map(|&(vertex, _)| vertex);
        found.ok_or_else(|| unknown_end(element, id, end))
    };
    let class: Option<ClassName> = element.get("class").map(|name| to.class_name(name.trim()));
    let source_port = element.number("source_port")?;
    let target_port = element.number("target_port")?;
    let (source, target) = (vertex("source")?, vertex("target")?);
    match (source, target) {
        (Vertex::Router(a), Vertex::Router(b)) => to.link(
            line,
            End {
                router: a,
                port: source_port,
            },
            End {
                router: b,
                port: target_port,
            },
            class,
        ),
        (Vertex::Router(router), Vertex::Node(node)) => {
            attached.push(node);
            let port = source_port;
            to.attach(line, node, End { router, port }, class)
        }
        (Vertex::Node(node), Vertex::Router(router)) => {
            attached.push(node);
            let port = target_port;
            to.attach(line, node, End { router, port }, class)
        }
        (Vertex::Node(_), Vertex::Node(_)) => Err(WiringFileError::Unsupported {
            line,
            found: "an edge between two compute nodes".into(),
            instead: "link each node to a router",
        }),
    }
}

/// The keys that [`export`] writes: id, what it belongs to, name, type.
const KEYS: [(&str, &str, &str, &str); 11] = [
    ("t", "graph", "title", "string"),
    ("l", "graph", "link_classes", "string"),
    ("k", "node", "kind", "string"),
    ("n", "node", "number", "int"),
    ("g", "node", "group", "int"),
    ("r", "node", "row", "int"),
    ("c", "node", "column", "int"),
    ("u", "node", "unconnected", "string"),
    ("e", "edge", "class", "string"),
    ("s", "edge", "source_port", "int"),
    ("d", "edge", "target_port", "int"),
];

/// Writes `topology` as GraphML that [`import`] turns into an equal topology.
/// Router `r` has the id `r<r>`, node `n` the id `n<n>`.
pub fn export(topology: &Topology) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_document(topology, &mut text);
    text
}

fn write_document(topology: &Topology, to: &mut String) -> std::fmt::Result {
    writeln!(to, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        to,
        r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">"#
    )?;
    for (id, of, name, kind) in KEYS {
        writeln!(
            to,
            r#"  <key id="{id}" for="{of}" attr.name="{name}" attr.type="{kind}"/>"#
        )?;
    }
    writeln!(to, r#"  <graph edgedefault="undirected">"#)?;
    writeln!(
        to,
        r#"    <data key="t">{}</data>"#,
        escape(&topology.title)
    )?;
    let classes: Vec<String> = topology.link_classes.iter().map(class_as_words).collect();
    writeln!(to, r#"    <data key="l">{}</data>"#, classes.join("; "))?;

    let class = |port: usize| &topology.link_class(PortId(port as u32)).name;
    for (router, group) in topology.group_of_router.iter().enumerate() {
        write!(
            to,
            r#"    <node id="r{router}"><data key="k">router</data><data key="n">{router}</data><data key="g">{group}</data>"#
        )?;
        if let Some((row, column)) = topology.position_in_group.get(router) {
            write!(
                to,
                r#"<data key="r">{row}</data><data key="c">{column}</data>"#
            )?;
        }
        let ports = topology.ports_of(odonata_units::RouterId(router as u32));
        let unconnected: Vec<String> = ports
            .clone()
            .filter(|&port| topology.peer[port] == Peer::Unconnected)
            .map(|port| format!("{} {}", port - ports.start, class(port)))
            .collect();
        if !unconnected.is_empty() {
            write!(to, r#"<data key="u">{}</data>"#, unconnected.join(", "))?;
        }
        writeln!(to, "</node>")?;
    }
    for node in 0..topology.nodes() {
        writeln!(
            to,
            r#"    <node id="n{node}"><data key="k">node</data><data key="n">{node}</data></node>"#
        )?;
    }

    let owner = topology.router_of_every_port();
    for (port, peer) in topology.peer.iter().enumerate() {
        let router = owner[port];
        let within = port - topology.ports_of(router).start;
        let target = match peer {
            Peer::Node(node) => format!("n{node}"),
            Peer::Port(peer) if peer.index() > port => format!("r{}", owner[peer.index()]),
            Peer::Port(_) | Peer::Unconnected => continue,
        };
        write!(
            to,
            r#"    <edge id="e{port}" source="r{router}" target="{target}"><data key="e">{}</data><data key="s">{within}</data>"#,
            class(port)
        )?;
        if let Peer::Port(peer) = peer {
            let there = peer.index() - topology.ports_of(owner[peer.index()]).start;
            write!(to, r#"<data key="d">{there}</data>"#)?;
        }
        writeln!(to, "</edge>")?;
    }
    writeln!(to, "  </graph>\n</graphml>")
}

fn class_as_words(class: &LinkClass) -> String {
    format!(
        "{} {} {} {} {}",
        class.name,
        class.kind.name(),
        class.bandwidth.bytes_per_second(),
        class.latency.0,
        class.buffer.0
    )
}
