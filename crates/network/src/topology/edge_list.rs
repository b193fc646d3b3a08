//! The generic wiring file: a text of one declaration a line.
//!
//! ```text
//! # Two groups of two routers, one node on each router.
//! title two pairs
//! class terminal terminal 1000000000 10000 4096
//! class local local 1000000000 10000 4096
//! class global global 4000000000 100000 16384
//! router 0 group 0
//! router 1 group 0
//! routers 2 3 group 1
//! node 0 0:0 terminal
//! node 1 1:0 terminal
//! nodes 1 2 terminal
//! nodes 1 3 terminal
//! link 0:1 1:1 local
//! link 2 3 local
//! links 2 1 3 global
//! unconnected 0:2 global
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `title TEXT` | title of the network; the rest of the line |
//! | `class NAME KIND BYTES_PER_S LATENCY_PS BUFFER_BYTES` | a link class; KIND is `terminal`, `local` or `global`. The three numbers may be left out where the importer is given a class of that name; if it is given one, that one's numbers hold |
//! | `router R group G` | router R lies in group G |
//! | `router R group G at ROW COLUMN` | and has that position in its group; all routers or none |
//! | `router R … name NAME` | and is called so in failures, after all else of its line |
//! | `routers FIRST LAST group G` | the same for routers FIRST to LAST, both included |
//! | `node N END CLASS` | node N is attached to END |
//! | `nodes COUNT R CLASS` | the next COUNT nodes (numbered from the number of nodes above this line) are attached to router R |
//! | `link END END CLASS` | a link in both directions |
//! | `links COUNT R R CLASS` | COUNT parallel links |
//! | `unconnected R:PORT CLASS` | a port that leads nowhere |
//!
//! An END is `R:PORT`, or `R` for the lowest port number of router R that no
//! line mentions, in the order of the lines. Routers, nodes, groups and the ports
//! of each router are numbered from 0 without gaps. CLASS may be left out of
//! nodes and links if there is exactly one class of their kind. Lines may come in
//! any order. `#` starts a comment, except in a title.
//!
//! The word `link` may be left out, so that plain lists of pairs of routers, as
//! graph tools write them, can be read as they are:
//!
//! ```text
//! # source target
//! 0 1
//! 1 2
//! 2 0 {'weight': 3}
//! ```
//!
//! What stands in braces at the end of such a line, as networkx writes it, is
//! ignored. If no router is declared, all that are mentioned lie in group 0. If no
//! node is attached, and no class of a kind is declared, they come from the code that
//! reads the list.

use super::wiring_file::{
    ClassName, ClassParameters, Declarations, End, WiringDefaults, WiringFileError,
    check_router_number,
};
use super::{LinkClass, LinkKind, MAX_PORTS_PER_ROUTER, Peer, Topology};
use odonata_units::{PortId, RouterId};
use std::fmt::Write as _;

/// Reads an edge list. `link_classes` supply the parameters of classes of their
/// name; those that the file does not mention are ignored.
///
/// # Errors
/// If a line cannot be read or contradicts another, or if the wiring is not
/// sound and connected; the error names the line.
pub fn import(text: &str, link_classes: &[LinkClass]) -> Result<Topology, WiringFileError> {
    let supplies = WiringDefaults {
        classes: link_classes,
        ..WiringDefaults::default()
    };
    import_with(text, &supplies)
}

/// Reads an edge list that may leave classes and nodes to its reader.
///
/// # Errors
/// As for [`import`].
pub fn import_with(text: &str, supplies: &WiringDefaults<'_>) -> Result<Topology, WiringFileError> {
    let mut declarations = Declarations::default();
    let mut title_line = None;
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        if let Some(title) = text.trim_start().strip_prefix("title")
            && title.chars().next().is_none_or(char::is_whitespace)
        {
            if let Some(first) = title_line.replace(line) {
                return Err(WiringFileError::Twice {
                    line,
                    what: "the title".into(),
                    first,
                });
            }
            declarations.title = title.trim().to_owned();
            continue;
        }
        let content = text.split('#').next().unwrap_or("").trim();
        let words: Vec<&str> = content.split_ascii_whitespace().collect();
        declare(&mut declarations, line, &words).map_err(|problem| match problem {
            Problem::Expected(expected) => WiringFileError::Syntax {
                line,
                found: content.to_owned(),
                expected: expected.to_owned(),
            },
            Problem::Wrong(error) => error,
        })?;
    }
    declarations.into_topology(supplies)
}

/// Why a line is refused.
enum Problem {
    /// It should look like this.
    Expected(&'static str),
    /// It can be read, but is wrong.
    Wrong(WiringFileError),
}

impl From<WiringFileError> for Problem {
    fn from(error: WiringFileError) -> Self {
        Self::Wrong(error)
    }
}

/// The form of a line that starts with a word: what an error says of it.
#[derive(Clone, Copy)]
struct Form(&'static str);

impl Form {
    fn of(keyword: &str) -> Result<Self, Problem> {
        Ok(Self(match keyword {
            "class" => {
                "`class NAME terminal|local|global BYTES_PER_S LATENCY_PS BUFFER_BYTES`, with at least 1000 bytes per second"
            }
            "router" => {
                "`router R group G`, with `at ROW COLUMN` and `name NAME` behind it if you like"
            }
            "routers" => "`routers FIRST LAST group G` with FIRST ≤ LAST",
            "node" => "`node N R:PORT CLASS`",
            "nodes" => "`nodes COUNT R CLASS` with COUNT from 1 to 4096",
            "link" => "`link R:PORT R:PORT CLASS`",
            "" => {
                "two routers and the class of the link between them, `R R CLASS`; ports as `R:PORT` and the class may be left out"
            }
            "links" => "`links COUNT R R CLASS` with COUNT from 1 to 4096",
            "unconnected" => "`unconnected R:PORT CLASS`",
            _ => {
                return Err(Problem::Expected(
                    "a line that starts with title, class, router, routers, node, nodes, link, links or unconnected, or two router numbers",
                ));
            }
        }))
    }

    fn refused<T>(self) -> Result<T, Problem> {
        Err(Problem::Expected(self.0))
    }

    fn number(self, word: &str) -> Result<u32, Problem> {
        word.parse().or_else(|_| self.refused())
    }

    fn count(self, word: &str) -> Result<u32, Problem> {
        match self.number(word)? {
            count if (1..=MAX_PORTS_PER_ROUTER as u32).contains(&count) => Ok(count),
            _ => self.refused(),
        }
    }

    fn end(self, word: &str) -> Result<End, Problem> {
        match word.split_once(':') {
            None => self.whole_router(word),
            Some((router, port)) => Ok(End {
                router: self.number(router)?,
                port: Some(self.number(port)?),
            }),
        }
    }

    fn whole_router(self, word: &str) -> Result<End, Problem> {
        Ok(End {
            router: self.number(word)?,
            port: None,
        })
    }

    /// The class that a line ends with, if it does.
    fn class(self, rest: &[&str], to: &mut Declarations) -> Result<Option<ClassName>, Problem> {
        match rest {
            [] => Ok(None),
            [name] => Ok(Some(to.class_name(name))),
            _ => self.refused(),
        }
    }

    fn parameters(self, words: &[&str]) -> Result<Option<ClassParameters>, Problem> {
        match *words {
            [] => Ok(None),
            [bandwidth, latency, buffer] => {
                let read = ClassParameters::parse([bandwidth, latency, buffer]);
                read.map_or_else(|| self.refused(), |parameters| Ok(Some(parameters)))
            }
            _ => self.refused(),
        }
    }

    /// The row and column that a router's line ends with, if it does.
    fn position(self, words: &[&str]) -> Result<Option<(u16, u16)>, Problem> {
        match words {
            [] => Ok(None),
            ["at", row, column] => match (row.parse(), column.parse()) {
                (Ok(row), Ok(column)) => Ok(Some((row, column))),
                _ => self.refused(),
            },
            _ => self.refused(),
        }
    }
}

/// The word that says what a line declares, and the others. Plain pairs of routers have none.
fn split<'a>(words: &'a [&'a str]) -> Option<(&'a str, &'a [&'a str])> {
    let (&first, rest) = words.split_first()?;
    if first.starts_with(|first: char| first.is_ascii_digit()) {
        let attributes = words.iter().position(|word| word.starts_with('{'));
        return Some(("", &words[..attributes.unwrap_or(words.len())]));
    }
    Some((first, rest))
}

/// Reads a line that is split into words.
fn declare(to: &mut Declarations, line: usize, words: &[&str]) -> Result<(), Problem> {
    let Some((keyword, words)) = split(words) else {
        return Ok(());
    };
    let form = Form::of(keyword)?;
    match (keyword, words) {
        ("class", [name, kind, parameters @ ..]) => {
            let kinds = [LinkKind::Terminal, LinkKind::Local, LinkKind::Global];
            let Some(kind) = kinds.into_iter().find(|k| k.name() == *kind) else {
                return form.refused();
            };
            let parameters = form.parameters(parameters)?;
            to.declare_class(line, name, kind, parameters)?;
        }
        ("router", [router, "group", group, rest @ ..]) => {
            let (position, _) = named(rest);
            let position = form.position(position)?;
            to.declare_router(line, form.number(router)?, form.number(group)?, position)?;
        }
        ("routers", [first, last, "group", group]) => {
            let (first, last, group) =
                (form.number(first)?, form.number(last)?, form.number(group)?);
            if first > last {
                return form.refused();
            }
            // Checked before millions of routers are declared for nothing.
            check_router_number(line, last)?;
            for router in first..=last {
                to.declare_router(line, router, group, None)?;
            }
        }
        ("node", [node, at, class @ ..]) => {
            let class = form.class(class, to)?;
            to.attach(line, form.number(node)?, form.end(at)?, class)?;
        }
        ("nodes", [many, router, class @ ..]) => {
            let class = form.class(class, to)?;
            let at = form.whole_router(router)?;
            for _ in 0..form.count(many)? {
                to.attach(line, to.nodes(), at, class)?;
            }
        }
        ("link" | "", [a, b, class @ ..]) => {
            let class = form.class(class, to)?;
            to.link(line, form.end(a)?, form.end(b)?, class)?;
        }
        ("links", [many, a, b, class @ ..]) => {
            let class = form.class(class, to)?;
            let (a, b) = (form.whole_router(a)?, form.whole_router(b)?);
            for _ in 0..form.count(many)? {
                to.link(line, a, b, class)?;
            }
        }
        ("unconnected", [at, class]) => {
            let class = to.class_name(class);
            let End {
                router,
                port: Some(port),
            } = form.end(at)?
            else {
                return form.refused();
            };
            to.leave_unconnected(line, router, port, class)?;
        }
        _ => return form.refused(),
    }
    Ok(())
}

/// What stands behind a router's group, without the name that it ends with.
fn named<'a>(rest: &'a [&'a str]) -> (&'a [&'a str], Option<&'a str>) {
    match rest {
        [before @ .., "name", name] => (before, Some(name)),
        _ => (rest, None),
    }
}

/// The names of routers in an edge list that [`import_with`] takes, with their numbers.
pub fn router_names(text: &str) -> Vec<(String, u32)> {
    let name = |line: &str| {
        let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
        let ["router", router, "group", _, rest @ ..] = &words[..] else {
            return None;
        };
        Some((named(rest).1?.to_owned(), router.parse().ok()?))
    };
    text.lines().filter_map(name).collect()
}

/// Writes `topology` as an edge list that [`import`] turns into an equal topology.
pub fn export(topology: &Topology) -> String {
    let mut text = String::from("# Odonata edge list\n");
    // Writing to a string cannot fail.
    let _ = write_lines(topology, &mut text);
    text
}

fn write_lines(topology: &Topology, to: &mut String) -> std::fmt::Result {
    if !topology.title.is_empty() {
        writeln!(to, "title {}", topology.title)?;
    }
    for class in &topology.link_classes {
        let (name, kind) = (&class.name, class.kind.name());
        let (bandwidth, latency) = (class.bandwidth.bytes_per_second(), class.latency.0);
        let buffer = class.buffer.0;
        writeln!(to, "class {name} {kind} {bandwidth} {latency} {buffer}")?;
    }
    for (router, group) in topology.group_of_router.iter().enumerate() {
        write!(to, "router {router} group {group}")?;
        match topology.position_in_group.get(router) {
            None => writeln!(to)?,
            Some((row, column)) => writeln!(to, " at {row} {column}")?,
        }
    }
    let owner = topology.router_of_every_port();
    let end = |port: usize| {
        let router = owner[port];
        (router, port - topology.ports_of(router).start)
    };
    let class = |port: usize| &topology.link_class(PortId(port as u32)).name;
    for (node, port) in topology.port_of_node.iter().enumerate() {
        let (router, within) = end(port.index());
        writeln!(to, "node {node} {router}:{within} {}", class(port.index()))?;
    }
    for (port, peer) in topology.peer.iter().enumerate() {
        let (router, within): (RouterId, usize) = end(port);
        match peer {
            Peer::Port(peer) if peer.index() > port => {
                let (other, there) = end(peer.index());
                writeln!(to, "link {router}:{within} {other}:{there} {}", class(port))?;
            }
            Peer::Unconnected => writeln!(to, "unconnected {router}:{within} {}", class(port))?,
            Peer::Port(_) | Peer::Node(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
