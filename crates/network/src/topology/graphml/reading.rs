//! The XML side of GraphML: elements with their attributes, data and lines.

use super::WiringFileError;
use quick_xml::XmlVersion;
use quick_xml::escape::{escape, unescape};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::collections::HashMap;
use std::rc::Rc;
use std::str::FromStr;

/// A graph, node or edge.
#[derive(Debug, Default)]
pub(in crate::topology) struct Element {
    /// Line where it begins.
    pub line: usize,
    name: String,
    /// The attributes that matter, by name. A handful at most, so lists are
    /// faster than maps.
    attributes: Vec<(&'static str, String)>,
    /// Text by the name of its key.
    data: Vec<(Rc<str>, String)>,
}

/// Attributes of nodes, edges, keys, data and graphs that matter.
const ATTRIBUTES: [&str; 8] = [
    "id",
    "source",
    "target",
    "key",
    "for",
    "attr.name",
    "edgedefault",
    "directed",
];

impl Element {
    /// One that says nothing yet.
    pub fn new(line: usize, name: &str) -> Self {
        Self {
            line,
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Adds what it says under a key: an attribute where XML has one, else data.
    pub fn push(&mut self, key: &str, value: String) {
        match ["id", "source", "target"]
            .into_iter()
            .find(|&name| name == key)
        {
            Some(name) => self.attributes.push((name, value)),
            None => self.data.push((key.into(), value)),
        }
    }

    /// Its data under the key of that name.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.data.iter().find(|(name, _)| **name == *key);
        found.map(|(_, text)| text.as_str())
    }

    fn find_attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Its data under the key of that name, as a number.
    pub fn number<T: FromStr>(&self, key: &str) -> Result<Option<T>, WiringFileError> {
        let Some(text) = self.get(key) else {
            return Ok(None);
        };
        match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(WiringFileError::Syntax {
                line: self.line,
                found: text.to_owned(),
                expected: format!("a number as `{key}`, counted from 0"),
            }),
        }
    }

    /// An XML attribute that it must have.
    pub fn attribute(&self, name: &str) -> Result<&str, WiringFileError> {
        self.find_attribute(name)
            .ok_or_else(|| WiringFileError::Syntax {
                line: self.line,
                found: format!("<{}>", self.name),
                expected: format!("an attribute `{name}`"),
            })
    }
}

/// A key: what its data is called, what it belongs to, and its default.
struct Key {
    name: Rc<str>,
    of: String,
    default: Option<String>,
}

/// The graph of a file.
#[derive(Default)]
pub(in crate::topology) struct Document {
    pub graph: Element,
    pub nodes: Vec<Element>,
    pub edges: Vec<Element>,
}

/// Counts lines up to a place that only moves forward.
struct LineCounter<'a> {
    text: &'a [u8],
    place: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn at(&mut self, place: u64) -> usize {
        let place = (place as usize).min(self.text.len());
        if place > self.place {
            let passed = &self.text[self.place..place];
            self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
            self.place = place;
        }
        self.line
    }
}

/// Where the text of a `data` or `default` element goes.
struct TextOf {
    key: String,
    is_default: bool,
    /// With entities as they stand.
    raw: String,
}

struct Parser {
    keys: HashMap<String, Key>,
    /// Key whose declaration is open.
    open_key: Option<String>,
    graphs: usize,
    in_graph: bool,
    open: Option<Element>,
    text: Option<TextOf>,
    document: Document,
}

impl Document {
    pub fn parse(text: &str) -> Result<Self, WiringFileError> {
        let mut reader = Reader::from_str(text);
        let mut lines = LineCounter {
            text: text.as_bytes(),
            place: 0,
            line: 1,
        };
        let mut parser = Parser {
            keys: HashMap::new(),
            open_key: None,
            graphs: 0,
            in_graph: false,
            open: None,
            text: None,
            document: Self::default(),
        };
        let mut depth = 0usize;
        loop {
            let line = lines.at(reader.buffer_position());
            let xml = |message: String| WiringFileError::Xml { line, message };
            match reader.read_event() {
                Err(error) => return Err(xml(error.to_string())),
                Ok(Event::Eof) if depth > 0 => {
                    return Err(xml("the file ends within an element".into()));
                }
                Ok(Event::Eof) => break,
                Ok(Event::Start(tag)) => {
                    depth += 1;
                    parser.start(line, &tag)?;
                }
                Ok(Event::Empty(tag)) => {
                    parser.start(line, &tag)?;
                    parser.end(line, tag.local_name().as_ref())?;
                }
                Ok(Event::End(tag)) => {
                    depth = depth.saturating_sub(1);
                    parser.end(line, tag.local_name().as_ref())?;
                }
                Ok(Event::Text(text)) => parser.push_text(&text.xml10_content()),
                Ok(Event::CData(text)) => parser.push_text(&escape(text.xml10_content())),
                Ok(Event::GeneralRef(name)) => {
                    parser.push_text(&format!("&{};", name.xml10_content()));
                }
                Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            }
        }
        parser.finish(lines.line)
    }
}

impl Parser {
    fn start(&mut self, line: usize, tag: &BytesStart<'_>) -> Result<(), WiringFileError> {
        let mut element = Element::new(line, tag.local_name().as_ref());
        for attribute in tag.attributes() {
            let xml = |message: String| WiringFileError::Xml { line, message };
            let attribute = attribute.map_err(|error| xml(error.to_string()))?;
            let key = attribute.key.local_name();
            let Some(name) = ATTRIBUTES.into_iter().find(|name| *name == key.as_ref()) else {
                continue;
            };
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| xml(error.to_string()))?;
            element.attributes.push((name, value.into_owned()));
        }
        let unsupported = |found: String, instead| WiringFileError::Unsupported {
            line,
            found,
            instead,
        };
        match element.name.as_str() {
            "key" => {
                let id = element.attribute("id")?.to_owned();
                let attribute = |name| element.find_attribute(name);
                let key = Key {
                    name: attribute("attr.name").unwrap_or(&id).into(),
                    of: attribute("for").unwrap_or("all").into(),
                    default: None,
                };
                self.keys.insert(id.clone(), key);
                self.open_key = Some(id);
            }
            "default" => {
                self.text = self.open_key.clone().map(|key| TextOf {
                    key,
                    is_default: true,
                    raw: String::new(),
                });
            }
            "data" => {
                self.text = Some(TextOf {
                    key: element.attribute("key")?.to_owned(),
                    is_default: false,
                    raw: String::new(),
                });
            }
            "graph" => {
                self.graphs += 1;
                if self.graphs > 1 {
                    return Err(unsupported(
                        "a second or nested graph".into(),
                        "keep one graph per file",
                    ));
                }
                if element.find_attribute("edgedefault") == Some("directed") {
                    return Err(unsupported(
                        "a directed graph".into(),
                        "every link has both directions: list it once and set edgedefault=\"undirected\"",
                    ));
                }
                self.in_graph = true;
                self.document.graph = element;
            }
            "hyperedge" => {
                return Err(unsupported(
                    "a hyperedge".into(),
                    "use an edge for every link",
                ));
            }
            "node" | "edge" if !self.in_graph => {
                return Err(unsupported(
                    format!("a {} outside of the graph", element.name),
                    "put it into the graph",
                ));
            }
            "node" | "edge" => {
                if element.find_attribute("directed") == Some("true") {
                    return Err(unsupported(
                        "a directed edge".into(),
                        "every link has both directions: list it once, undirected",
                    ));
                }
                self.open = Some(element);
            }
            _ => {}
        }
        Ok(())
    }

    fn push_text(&mut self, text: &str) {
        if let Some(open) = &mut self.text {
            open.raw.push_str(text);
        }
    }

    fn end(&mut self, line: usize, name: &str) -> Result<(), WiringFileError> {
        match name {
            "key" => self.open_key = None,
            "graph" => self.in_graph = false,
            "data" | "default" => {
                let Some(text) = self.text.take() else {
                    return Ok(());
                };
                let value = unescape(&text.raw)
                    .map_err(|error| WiringFileError::Xml {
                        line,
                        message: error.to_string(),
                    })?
                    .into_owned();
                let Some(key) = self.keys.get_mut(&text.key) else {
                    return Err(WiringFileError::Syntax {
                        line,
                        found: text.key,
                        expected: "data under a key that the file declares before its graph".into(),
                    });
                };
                if text.is_default {
                    key.default = Some(value);
                } else if let Some(element) = &mut self.open {
                    element.data.push((key.name.clone(), value));
                } else if self.in_graph {
                    let data = &mut self.document.graph.data;
                    data.push((key.name.clone(), value));
                }
            }
            "node" => self.document.nodes.extend(self.open.take()),
            "edge" => self.document.edges.extend(self.open.take()),
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, last_line: usize) -> Result<Document, WiringFileError> {
        if self.graphs == 0 {
            return Err(WiringFileError::Syntax {
                line: last_line,
                found: "the end of the file".into(),
                expected: "a <graphml> with a <graph>".into(),
            });
        }
        let Document {
            graph,
            nodes,
            edges,
        } = &mut self.document;
        for key in self.keys.values() {
            let Some(default) = &key.default else {
                continue;
            };
            let of: &mut dyn Iterator<Item = &mut Element> = match key.of.as_str() {
                "node" => &mut nodes.iter_mut(),
                "edge" => &mut edges.iter_mut(),
                "graph" => &mut std::iter::once(&mut *graph),
                _ => continue,
            };
            for element in of {
                if element.get(&key.name).is_none() {
                    element.data.push((key.name.clone(), default.clone()));
                }
            }
        }
        Ok(self.document)
    }
}
