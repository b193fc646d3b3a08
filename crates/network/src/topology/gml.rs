//! GML, the text format of graph tools (Himsolt 1997) and of the Internet Topology Zoo (Knight et
//! al., IEEE JSAC 2011).
//!
//! ```text
//! graph [
//!   label "Two points of presence"
//!   node [ id 0 label "Lisboa" ]
//!   node [ id 1 label "Porto" ]
//!   edge [ source 0 target 1 LinkSpeedRaw 10000000000.0 ]
//! ]
//! ```
//!
//! What nodes and edges mean, and keys beside `id`, `source` and `target`, is as in
//! [GraphML](super::graphml). `LinkSpeedRaw` of the Topology Zoo, bits per second, gives an edge
//! between routers the class of its speed ([`Gml::classes`]), unless the file has groups, nodes or
//! classes of its own. Other keys are ignored, and so are lists within lists.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use odonata_units::Bandwidth;

use super::graphml::{Document, Element, import_document, names_of_document};
use super::wiring_file::{ClassOfFile, WiringDefaults, WiringFileError};
use super::{LinkKind, NamedGraph, Topology};

type Checked<T = ()> = Result<T, WiringFileError>;

/// The graph of a file.
pub struct Gml {
    document: Document,
    classes: Vec<ClassOfFile>,
}

/// Reads the graph of a file.
///
/// # Errors
/// If the file is no GML, or its graph is directed; the error names the line.
pub fn read(text: &str) -> Checked<Gml> {
    let mut document = Parser::new(text).document()?;
    let own = document.nodes.iter().any(|node| {
        ["kind", "group", "nodes"]
            .iter()
            .any(|key| node.get(key).is_some())
    }) || document
        .edges
        .iter()
        .any(|edge| edge.get("class").is_some());
    let classes = if own {
        Vec::new()
    } else {
        speeds(&mut document.edges)
    };
    Ok(Gml { document, classes })
}

impl Gml {
    /// The classes that links have by what the file says of their speeds; none if it says nothing.
    pub fn classes(&self) -> &[ClassOfFile] {
        &self.classes
    }

    /// The graph by its names.
    ///
    /// # Errors
    /// If an edge has an end that is no node of the graph.
    pub fn named_graph(&self) -> Checked<NamedGraph> {
        names_of_document(&self.document)
    }

    /// The network.
    ///
    /// # Errors
    /// If the graph contradicts itself, or if the wiring is not sound and connected.
    pub fn into_topology(self, supplies: &WiringDefaults<'_>) -> Checked<Topology> {
        import_document(&self.document, supplies)
    }
}

/// Gives edges the classes of their speeds, if any of them has one.
fn speeds(edges: &mut [Element]) -> Vec<ClassOfFile> {
    let speed = |edge: &Element| -> Option<u64> {
        let bits: f64 = edge.get("LinkSpeedRaw")?.trim().parse().ok()?;
        // Of a class at least 1 kB/s; what is more than 2^63 is none of a link.
        (8000.0..9e18)
            .contains(&bits)
            .then_some(bits.round() as u64)
    };
    if edges.iter().all(|edge| speed(edge).is_none()) {
        return Vec::new();
    }
    let mut classes: Vec<ClassOfFile> = Vec::new();
    for edge in edges {
        let bits = speed(edge);
        let name = bits.map_or_else(|| "local".to_owned(), name_of_speed);
        if classes.iter().all(|class| class.name != name) {
            classes.push(ClassOfFile {
                name: name.clone(),
                kind: LinkKind::Local,
                bandwidth: bits.and_then(|bits| Bandwidth::new(bits / 8).ok()),
                times_latency: 1,
            });
        }
        edge.push("class", name);
    }
    classes
}

/// `local-10Gbps`.
fn name_of_speed(bits: u64) -> String {
    let units = [(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1000, "kbps")];
    let unit = units.iter().find(|(unit, _)| bits.is_multiple_of(*unit));
    let (unit, name) = unit.copied().unwrap_or((1, "bps"));
    format!("local-{}{name}", bits / unit)
}

/// A word of the text, and its line.
enum Token<'a> {
    Word(&'a str),
    Text(&'a str),
    Open,
    Close,
}

struct Parser<'a> {
    rest: &'a str,
    line: usize,
}

/// What a list stands for.
enum List {
    Graph,
    Node(Element),
    Edge(Element),
    Other,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { rest, line: 1 }
    }

    fn pass(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.bytes().filter(|&byte| byte == b'\n').count();
        self.rest = rest;
    }

    fn wrong<T>(&self, found: &str, expected: &str) -> Checked<T> {
        Err(WiringFileError::Syntax {
            line: self.line,
            found: found.chars().take(60).collect(),
            expected: expected.to_owned(),
        })
    }

    fn next(&mut self) -> Checked<Option<Token<'a>>> {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.pass(space);
            if !self.rest.starts_with('#') {
                break;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.pass(end);
        }
        let text = self.rest;
        let (token, length) = match text.bytes().next() {
            None => return Ok(None),
            Some(b'[') => (Token::Open, 1),
            Some(b']') => (Token::Close, 1),
            Some(b'"') => match text[1..].find('"') {
                Some(end) => (Token::Text(&text[1..=end]), end + 2),
                None => return self.wrong(text, "a text that ends with `\"`"),
            },
            Some(_) => {
                let end = text.find(|c: char| c.is_whitespace() || "[]\"".contains(c));
                let end = end.unwrap_or(text.len());
                (Token::Word(&text[..end]), end)
            }
        };
        self.pass(length);
        Ok(Some(token))
    }

    fn document(mut self) -> Checked<Document> {
        let mut document = Document::default();
        let (mut graphs, mut lists) = (0, Vec::new());
        loop {
            let key = match self.next()? {
                None if lists.is_empty() => break,
                None => return self.wrong("the end of the file", "`]` for every `[`"),
                Some(Token::Close) => {
                    match lists.pop() {
                        Some(List::Node(node)) => document.nodes.push(node),
                        Some(List::Edge(edge)) => document.edges.push(edge),
                        Some(List::Graph | List::Other) => {}
                        None => return self.wrong("]", "a key"),
                    }
                    continue;
                }
                Some(Token::Word(key)) if key.starts_with(|c: char| c.is_ascii_alphabetic()) => key,
                Some(Token::Word(found) | Token::Text(found)) => {
                    return self.wrong(found, "a key, and then a number, a text or a list `[ … ]`");
                }
                Some(Token::Open) => return self.wrong("[", "a key before a list `[ … ]`"),
            };
            let line = self.line;
            let value = match self.next()? {
                Some(Token::Open) => {
                    lists.push(match (lists.last(), key) {
                        (None, "graph") if graphs == 0 => {
                            graphs = 1;
                            document.graph = Element::new(line, "graph");
                            List::Graph
                        }
                        (_, "graph") => {
                            return Err(WiringFileError::Unsupported {
                                line,
                                found: "a second or nested graph".into(),
                                instead: "keep one graph per file",
                            });
                        }
                        (Some(List::Graph), "node") => List::Node(Element::new(line, "node")),
                        (Some(List::Graph), "edge") => List::Edge(Element::new(line, "edge")),
                        _ => List::Other,
                    });
                    continue;
                }
                Some(Token::Word(word)) => Cow::Borrowed(word),
                Some(Token::Text(text)) => plain(text),
                Some(Token::Close) | None => {
                    return self.wrong(key, "a number, a text or a list `[ … ]` after a key");
                }
            };
            match lists.last_mut() {
                Some(List::Graph) if key == "directed" && value != "0" => {
                    return Err(WiringFileError::Unsupported {
                        line,
                        found: "a directed graph".into(),
                        instead: "every link has both directions: list it once, with `directed 0`",
                    });
                }
                Some(List::Graph) => document.graph.push(key, value.into_owned()),
                Some(List::Node(element) | List::Edge(element)) => {
                    element.push(key, value.into_owned());
                }
                Some(List::Other) | None => {}
            }
        }
        if graphs == 0 {
            return self.wrong("the end of the file", "a list `graph [ … ]`");
        }
        let title = ["title", "Network", "label"];
        let title = title.iter().find_map(|key| document.graph.get(key));
        if let Some(title) = title.map(str::to_owned) {
            document.graph.push("title", title);
        }
        Ok(document)
    }
}

/// A text without the entities by which GML writes what is not ASCII.
fn plain(text: &str) -> Cow<'_, str> {
    quick_xml::escape::unescape(text).unwrap_or(Cow::Borrowed(text))
}
