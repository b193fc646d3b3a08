//! Network files of BookSim's topology `anynet` (Jiang et al., ISPASS 2013).
//!
//! ```text
//! router 0 node 0 node 1 router 1 10
//! router 1 node 2 router 0
//! ```
//!
//! A line says of a router, or of a node, what it is linked to. A link that is named on one side
//! or on both is one link, and there are no parallel ones. A number after a link is its latency in
//! cycles; without one it takes one. A latency that one side names holds in both directions.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::wiring_file::{ClassOfFile, Declarations, End, WiringDefaults, WiringFileError};
use super::{LinkKind, NamedGraph, NamedVertex, Topology};

type Checked<T = ()> = Result<T, WiringFileError>;

const FORM: &str = "`router R` or `node N`, and then what it is linked to: `router R` or `node N`, \
                    each with its latency in cycles or without";

/// A router or a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Vertex {
    Router(u32),
    Node(u32),
}

/// A link, by the first line that names it.
struct Link {
    line: usize,
    /// The router's end, and what it is linked to.
    ends: (u32, Vertex),
    /// Cycles, and the line that says so.
    cycles: Option<(u32, usize)>,
}

/// The links of a file.
pub struct Anynet {
    links: Vec<Link>,
}

/// Reads the links of a file.
///
/// # Errors
/// If it is none of BookSim, a node is on two routers, or the two sides of a link name different
/// latencies; the error names the lines.
pub fn read(text: &str) -> Checked<Anynet> {
    let mut links: Vec<Link> = Vec::new();
    let mut place: HashMap<(u32, Vertex), usize> = HashMap::new();
    let mut router_of_node: HashMap<u32, (u32, usize)> = HashMap::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default().trim();
        let wrong = || WiringFileError::Syntax {
            line,
            found: content.chars().take(60).collect(),
            expected: FORM.to_owned(),
        };
        let mut words = content.split_ascii_whitespace().peekable();
        let Some(first) = vertex(&mut words).ok_or_else(wrong)? else {
            continue;
        };
        while let Some(other) = vertex(&mut words).ok_or_else(wrong)? {
            let cycles = words.next_if(|word| word.bytes().all(|b| b.is_ascii_digit()));
            let cycles = match cycles.map(str::parse::<u32>) {
                None => None,
                Some(Ok(cycles)) if cycles > 0 => Some((cycles, line)),
                Some(_) => return Err(wrong()),
            };
            let ends = match (first, other) {
                (Vertex::Router(a), Vertex::Router(b)) if a == b => {
                    return Err(WiringFileError::SelfLink { line, router: a });
                }
                (Vertex::Router(a), Vertex::Router(b)) => (a.min(b), Vertex::Router(a.max(b))),
                (Vertex::Router(router), node) | (node, Vertex::Router(router)) => (router, node),
                (Vertex::Node(_), Vertex::Node(_)) => {
                    return Err(WiringFileError::Unsupported {
                        line,
                        found: "a link between two nodes".into(),
                        instead: "link each node to a router",
                    });
                }
            };
            if let (router, Vertex::Node(node)) = ends {
                let (before, first) = *router_of_node.entry(node).or_insert((router, line));
                if before != router {
                    return Err(WiringFileError::Twice {
                        line,
                        what: format!("the router of node {node}"),
                        first,
                    });
                }
            }
            match place.entry(ends) {
                Entry::Vacant(free) => {
                    free.insert(links.len());
                    links.push(Link { line, ends, cycles });
                }
                Entry::Occupied(known) => {
                    let link = &mut links[*known.get()];
                    match (link.cycles, cycles) {
                        (Some((here, first)), Some((there, _))) if here != there => {
                            return Err(WiringFileError::Twice {
                                line,
                                what: format!("a latency ({there}, not {here}) of this link"),
                                first,
                            });
                        }
                        (None, Some(_)) => link.cycles = cycles,
                        _ => {}
                    }
                }
            }
        }
    }
    if links.is_empty() {
        return Err(WiringFileError::Syntax {
            line: 1,
            found: "no link".into(),
            expected: FORM.to_owned(),
        });
    }
    Ok(Anynet { links })
}

/// The next router or node of a line; the outer `None` if it is neither, the inner at its end.
#[expect(clippy::option_option, reason = "no vertex, and no further one")]
fn vertex<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Option<Vertex>> {
    let Some(word) = words.next() else {
        return Some(None);
    };
    let kind: fn(u32) -> Vertex = match word {
        _ if word.eq_ignore_ascii_case("router") => Vertex::Router,
        _ if word.eq_ignore_ascii_case("node") => Vertex::Node,
        _ => return None,
    };
    Some(Some(kind(words.next()?.parse().ok()?)))
}

impl Link {
    fn kind(&self) -> LinkKind {
        match self.ends.1 {
            Vertex::Node(_) => LinkKind::Terminal,
            Vertex::Router(_) => LinkKind::Local,
        }
    }

    fn class(&self) -> ClassOfFile {
        let (kind, cycles) = (self.kind(), self.cycles.map_or(1, |(cycles, _)| cycles));
        let name = match cycles {
            1 => kind.name().to_owned(),
            _ => format!("{}-{cycles}", kind.name()),
        };
        ClassOfFile {
            name,
            kind,
            bandwidth: None,
            times_latency: cycles,
        }
    }
}

impl Anynet {
    /// The classes that links have by their latencies; none if all take one cycle.
    pub fn classes(&self) -> Vec<ClassOfFile> {
        let mut classes: Vec<ClassOfFile> = Vec::new();
        if self.links.iter().any(|link| link.class().times_latency > 1) {
            for class in self.links.iter().map(Link::class) {
                if classes.iter().all(|known| known.name != class.name) {
                    classes.push(class);
                }
            }
        }
        classes
    }

    /// The graph, of which the vertices are called `router0`, `node0` and so on.
    pub fn named_graph(&self) -> NamedGraph {
        let mut graph = NamedGraph::default();
        let mut place: HashMap<Vertex, usize> = HashMap::new();
        for link in &self.links {
            let ends = [Vertex::Router(link.ends.0), link.ends.1].map(|vertex| {
                *place.entry(vertex).or_insert_with(|| {
                    let (kind, number) = match vertex {
                        Vertex::Router(number) => ("router", number),
                        Vertex::Node(number) => ("node", number),
                    };
                    graph.vertices.push(NamedVertex {
                        name: format!("{kind}{number}"),
                        is_node: Some(kind == "node"),
                        group: None,
                    });
                    graph.vertices.len() - 1
                })
            });
            graph.edges.push((ends[0], ends[1]));
        }
        graph
    }

    /// The network. Ports are numbered in the order in which the file names links.
    ///
    /// # Errors
    /// If numbers of routers or nodes have gaps, or the wiring is not connected.
    pub fn into_topology(self, supplies: &WiringDefaults<'_>) -> Checked<Topology> {
        let mut declarations = Declarations::default();
        let several = !self.classes().is_empty();
        for link in &self.links {
            let class = several.then(|| declarations.class_name(&link.class().name));
            let at = |router| End { router, port: None };
            let (router, other) = link.ends;
            match other {
                Vertex::Node(node) => declarations.attach(link.line, node, at(router), class)?,
                Vertex::Router(other) => {
                    declarations.link(link.line, at(router), at(other), class)?;
                }
            }
        }
        declarations.into_topology(supplies)
    }
}
