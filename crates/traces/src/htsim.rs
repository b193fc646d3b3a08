//! Connection matrices of htsim (`.cm`): who sends how much to whom, and what
//! starts it.
//!
//! Facts: htsim, `sim/datacenter/connection_matrix.cpp`.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use odonata_files::Source;
use odonata_units::{Bytes, NodeId, Picoseconds};

use crate::error::TraceError;
use crate::lines::{LineReader, shown, whole, words};

/// What starts a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A moment.
    At(Picoseconds),
    /// A trigger.
    Trigger(u32),
}

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Number of the flow, if it has one; not 0.
    pub id: Option<u32>,
    /// What starts it.
    pub start: Start,
    /// Size; htsim takes 0 as "without end".
    pub size: Bytes,
    /// Trigger that fires when everything is sent.
    pub send_done: Option<u32>,
    /// Trigger that fires when everything is received.
    pub receive_done: Option<u32>,
    /// Priority, if it has one.
    pub priority: Option<u32>,
}

/// When a trigger starts what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firing {
    /// Once, at its first activation (`oneshot`).
    Once,
    /// At every activation, one waiting flow after the other (`multishot`).
    Every,
    /// When activated this often (`barrier`, with `count`).
    Barrier(u32),
}

/// A trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Number; not 0.
    pub id: u32,
    /// When it fires.
    pub firing: Firing,
}

/// Where a switch that fails sits in a fat tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Top of rack.
    Rack,
    /// Aggregation.
    Aggregation,
    /// Core.
    Core,
}

/// A link that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Tier of the switch.
    pub tier: Tier,
    /// Number of the switch in its tier.
    pub switch: u32,
    /// Number of the link at the switch.
    pub link: u32,
}

/// A line of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A flow.
    Connection(Connection),
    /// A trigger.
    Trigger(Trigger),
    /// A failed link.
    Failure(Failure),
}

/// Numbers that the first lines announce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// End points.
    pub nodes: u32,
    /// Connections.
    pub connections: u32,
    /// Triggers.
    pub triggers: u32,
    /// Failures.
    pub failures: u32,
}

/// Reads a connection matrix line by line.
///
/// Memory: a buffer, a line, and the numbers of the triggers.
pub struct ConnectionReader<R> {
    lines: LineReader<R>,
    announced: Announced,
    seen: Announced,
    /// Whether each trigger named so far is defined, and a line that names it.
    triggers: HashMap<u32, (bool, u64)>,
    /// Whether the line at hand is still to be read as a statement.
    pending: Option<Vec<u8>>,
    done: bool,
}

impl ConnectionReader<Source> {
    /// Opens a matrix.
    ///
    /// # Errors
    /// If the file cannot be opened or does not start with `Nodes` and
    /// `Connections`.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
        Self::new(file, path.display().to_string())
    }
}

impl<R: Read> ConnectionReader<R> {
    /// Reads a matrix from `source`; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`ConnectionReader::open`].
    pub fn new(source: R, file: String) -> Result<Self, TraceError> {
        let mut lines = LineReader::new(source, file);
        let mut found: [Option<u32>; 4] = [None; 4];
        let mut pending = None;
        while let Some(line) = lines.advance()? {
            let line = line.to_vec();
            let mut of_line = words(&line);
            // As htsim, comments in front of the first connection and nowhere else.
            let Some(word) = of_line.next().filter(|word| !word.starts_with(b"#")) else {
                continue;
            };
            let Some(index) = HEADINGS
                .iter()
                .position(|heading| heading.as_bytes() == word)
            else {
                pending = Some(line.clone());
                break;
            };
            let number = of_line.next().and_then(whole).map(u32::try_from);
            match (number, of_line.next(), found[index]) {
                (Some(Ok(number)), None, None) => found[index] = Some(number),
                _ => {
                    let reason = format!(
                        "\"{}\" must be followed by one whole number below 2^32, and come once",
                        shown(word)
                    );
                    return Err(lines.error(reason));
                }
            }
        }
        let [Some(nodes), Some(connections), triggers, failures] = found else {
            return Err(without_heading(lines, found, pending));
        };
        let announced = Announced {
            nodes,
            connections,
            triggers: triggers.unwrap_or(0),
            failures: failures.unwrap_or(0),
        };
        Ok(Self {
            lines,
            announced,
            seen: Announced::default(),
            triggers: HashMap::new(),
            pending,
            done: false,
        })
    }

    /// What the first lines announce.
    pub fn announced(&self) -> Announced {
        self.announced
    }

    /// The next line; `None` behind the last one. After an error, `None`.
    ///
    /// # Errors
    /// If a line is none of the three kinds, names a node that does not exist, or
    /// lacks what it needs; at the end if there are more or fewer lines than
    /// announced or a trigger is named but not defined.
    pub fn next_statement(&mut self) -> Result<Option<Statement>, TraceError> {
        if self.done {
            return Ok(None);
        }
        let result = self.read_statement();
        self.done = !matches!(result, Ok(Some(_)));
        result
    }

    fn read_statement(&mut self) -> Result<Option<Statement>, TraceError> {
        loop {
            let line = match self.pending.take() {
                Some(line) => line,
                None => match self.lines.advance()? {
                    Some(line) => line.to_vec(),
                    None => return self.finish(),
                },
            };
            let mut of_line = words(&line);
            let Some(first) = of_line.next() else {
                continue;
            };
            let statement = match first {
                b"trigger" => Statement::Trigger(self.trigger(of_line)?),
                b"failure" => Statement::Failure(self.failure(of_line)?),
                _ => Statement::Connection(self.connection(first, of_line)?),
            };
            let (seen, announced) = match statement {
                Statement::Connection(_) => {
                    (&mut self.seen.connections, self.announced.connections)
                }
                Statement::Trigger(_) => (&mut self.seen.triggers, self.announced.triggers),
                Statement::Failure(_) => (&mut self.seen.failures, self.announced.failures),
            };
            *seen += 1;
            if *seen > announced {
                let reason = format!("one more than the {announced} that are announced");
                return Err(self.lines.error(reason));
            }
            return Ok(Some(statement));
        }
    }

    fn finish(&self) -> Result<Option<Statement>, TraceError> {
        let counts = [
            (
                "connections",
                self.seen.connections,
                self.announced.connections,
            ),
            ("triggers", self.seen.triggers, self.announced.triggers),
            ("failures", self.seen.failures, self.announced.failures),
        ];
        let missing: Vec<String> = counts
            .into_iter()
            .filter(|(_, seen, announced)| seen != announced)
            .map(|(what, seen, announced)| format!("{seen} of {announced} {what}"))
            .collect();
        if !missing.is_empty() {
            return Err(self.lines.error_of_file(format!(
                "the file ends after {}: it is cut off, or announces too many",
                missing.join(", ")
            )));
        }
        let undefined = self
            .triggers
            .iter()
            .filter(|(_, (defined, _))| !defined)
            .min_by_key(|(_, (_, line))| *line);
        match undefined {
            None => Ok(None),
            Some((id, (_, line))) => Err(self.lines.error_of_file(format!(
                "line {line} names trigger {id}, which no line defines"
            ))),
        }
    }

    /// The value behind `key`.
    fn value<'l>(
        &self,
        key: &str,
        of_line: &mut impl Iterator<Item = &'l [u8]>,
    ) -> Result<u32, TraceError> {
        let found = of_line.next();
        found
            .and_then(whole)
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| {
                let found =
                    found.map_or("nothing".to_owned(), |word| format!("\"{}\"", shown(word)));
                let reason =
                    format!("{key} must be followed by a whole number below 2^32, not {found}");
                self.lines.error(reason)
            })
    }

    /// A number that must not be 0.
    fn identifier<'l>(
        &self,
        key: &str,
        of_line: &mut impl Iterator<Item = &'l [u8]>,
    ) -> Result<u32, TraceError> {
        match self.value(key, of_line)? {
            0 => Err(self.lines.error(format!("{key} 0; numbers start at 1"))),
            number => Ok(number),
        }
    }

    fn name_trigger(&mut self, id: u32) {
        let line = self.lines.number();
        self.triggers.entry(id).or_insert((false, line));
    }

    fn connection<'l>(
        &mut self,
        pair: &[u8],
        mut of_line: impl Iterator<Item = &'l [u8]>,
    ) -> Result<Connection, TraceError> {
        let [from, to] = self.ends(pair)?;
        let mut connection = Connection {
            from,
            to,
            id: None,
            start: Start::At(Picoseconds(0)),
            size: Bytes(0),
            send_done: None,
            receive_done: None,
            priority: None,
        };
        let (mut start, mut size) = (None, None);
        let mut again = None;
        while let Some(key) = of_line.next() {
            let before = match key {
                b"start" => start
                    .replace(Start::At(self.moment(of_line.next())?))
                    .is_some(),
                b"trigger" => {
                    let id = self.identifier("trigger", &mut of_line)?;
                    self.name_trigger(id);
                    start.replace(Start::Trigger(id)).is_some()
                }
                b"size" => {
                    let word = of_line.next();
                    let Some(bytes) = word.and_then(whole) else {
                        return Err(self
                            .lines
                            .error("size must be followed by a whole number of bytes"));
                    };
                    size.replace(Bytes(bytes)).is_some()
                }
                b"id" => {
                    let id = self.identifier("id", &mut of_line)?;
                    connection.id.replace(id).is_some()
                }
                b"send_done_trigger" => {
                    let id = self.identifier("send_done_trigger", &mut of_line)?;
                    self.name_trigger(id);
                    connection.send_done.replace(id).is_some()
                }
                b"recv_done_trigger" => {
                    let id = self.identifier("recv_done_trigger", &mut of_line)?;
                    self.name_trigger(id);
                    connection.receive_done.replace(id).is_some()
                }
                b"prio" => {
                    let priority = self.value("prio", &mut of_line)?;
                    connection.priority.replace(priority).is_some()
                }
                _ => {
                    let reason = format!(
                        "\"{}\" is no property of a connection; there are start, trigger, size, \
                         id, prio, send_done_trigger and recv_done_trigger",
                        shown(key)
                    );
                    return Err(self.lines.error(reason));
                }
            };
            if before {
                again = again.or(Some(key));
            }
        }
        if let Some(key) = again {
            let reason = format!("\"{}\" says again what the line says already", shown(key));
            return Err(self.lines.error(reason));
        }
        let (Some(start), Some(size)) = (start, size) else {
            let reason = "a connection needs start or trigger, and size";
            return Err(self.lines.error(reason));
        };
        connection.start = start;
        connection.size = size;
        Ok(connection)
    }

    /// Reads `FROM->TO`.
    fn ends(&self, pair: &[u8]) -> Result<[NodeId; 2], TraceError> {
        let at = pair.windows(2).position(|arrow| arrow == b"->");
        let ends = at.and_then(|at| Some([whole(&pair[..at])?, whole(&pair[at + 2..])?]));
        let Some(ends) = ends else {
            let reason = format!(
                "\"{}\" starts no line; there are FROM->TO, trigger and failure",
                shown(pair)
            );
            return Err(self.lines.error(reason));
        };
        for end in ends {
            if end >= u64::from(self.announced.nodes) {
                let reason = format!(
                    "node {end}, but {} nodes are announced, numbered from 0",
                    self.announced.nodes
                );
                return Err(self.lines.error(reason));
            }
        }
        Ok(ends.map(|end| NodeId(end as u32)))
    }

    /// Reads a moment: picoseconds, which may have zeros behind a point.
    fn moment(&self, word: Option<&[u8]>) -> Result<Picoseconds, TraceError> {
        let word = word.unwrap_or_default();
        let point = word.iter().position(|&byte| byte == b'.');
        let (integer, rest) = word.split_at(point.unwrap_or(word.len()));
        let zeros = rest.iter().skip(1).all(|&digit| digit == b'0');
        match whole(integer) {
            Some(time) if zeros => Ok(Picoseconds(time)),
            _ => {
                let reason = format!(
                    "start must be followed by a whole number of picoseconds, not \"{}\"",
                    shown(word)
                );
                Err(self.lines.error(reason))
            }
        }
    }

    fn trigger<'l>(
        &mut self,
        mut of_line: impl Iterator<Item = &'l [u8]>,
    ) -> Result<Trigger, TraceError> {
        let (mut id, mut count, mut kind) = (None, None, None);
        while let Some(key) = of_line.next() {
            match key {
                b"id" => id = Some(self.identifier("id", &mut of_line)?),
                b"count" => count = Some(self.value("count", &mut of_line)?),
                b"oneshot" | b"multishot" | b"barrier" if kind.is_none() => kind = Some(key),
                _ => {
                    let reason = format!(
                        "\"{}\" is no property of a trigger; there are id, count and one of \
                         oneshot, multishot and barrier",
                        shown(key)
                    );
                    return Err(self.lines.error(reason));
                }
            }
        }
        let firing = match (kind, count) {
            (Some(b"oneshot"), None) => Firing::Once,
            (Some(b"multishot"), None) => Firing::Every,
            (Some(b"barrier"), Some(count)) => Firing::Barrier(count),
            _ => {
                let reason = "a trigger needs oneshot, multishot, or barrier with count";
                return Err(self.lines.error(reason));
            }
        };
        let Some(id) = id else {
            return Err(self.lines.error("a trigger needs an id"));
        };
        let line = self.lines.number();
        match self.triggers.insert(id, (true, line)) {
            Some((true, first)) => {
                let reason = format!("trigger {id} is defined already in line {first}");
                Err(self.lines.error(reason))
            }
            _ => Ok(Trigger { id, firing }),
        }
    }

    fn failure<'l>(
        &self,
        mut of_line: impl Iterator<Item = &'l [u8]>,
    ) -> Result<Failure, TraceError> {
        let (mut tier, mut switch, mut link) = (None, None, None);
        while let Some(key) = of_line.next() {
            match key {
                b"switch_type" => {
                    tier = match of_line.next() {
                        Some(b"TOR") => Some(Tier::Rack),
                        Some(b"AGG") => Some(Tier::Aggregation),
                        Some(b"CORE") => Some(Tier::Core),
                        _ => {
                            let reason = "switch_type must be followed by TOR, AGG or CORE";
                            return Err(self.lines.error(reason));
                        }
                    }
                }
                b"switch_id" => switch = Some(self.value("switch_id", &mut of_line)?),
                b"link_id" => link = Some(self.value("link_id", &mut of_line)?),
                _ => {
                    let reason = format!(
                        "\"{}\" is no property of a failure; there are switch_type, switch_id \
                         and link_id",
                        shown(key)
                    );
                    return Err(self.lines.error(reason));
                }
            }
        }
        match (tier, switch, link) {
            (Some(tier), Some(switch), Some(link)) => Ok(Failure { tier, switch, link }),
            _ => Err(self
                .lines
                .error("a failure needs switch_type, switch_id and link_id")),
        }
    }
}

/// Words with which the lines of the heading start, in the order of [`Announced`].
const HEADINGS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

/// Whether `line` is one of a connection matrix: a line of its heading, or a connection.
pub fn is_line(line: &[u8]) -> bool {
    let mut of_line = words(line);
    let Some(first) = of_line.next() else {
        return false;
    };
    if HEADINGS.iter().any(|heading| heading.as_bytes() == first) {
        return of_line.next().and_then(whole).is_some() && of_line.next().is_none();
    }
    let arrow = first.windows(2).position(|arrow| arrow == b"->");
    let ends = arrow.is_some_and(|at| {
        [&first[..at], &first[at + 2..]]
            .into_iter()
            .all(|end| whole(end).is_some())
    });
    ends && of_line.any(|word| word == b"size")
}

/// The error of a file whose heading lacks the nodes or the connections: the line that
/// is in their place, and what the rest of the file announces and holds.
fn without_heading<R: Read>(
    mut lines: LineReader<R>,
    mut found: [Option<u32>; 4],
    first: Option<Vec<u8>>,
) -> TraceError {
    let Some(first) = first else {
        let reason = "the file does not start with \"Nodes N\" and \"Connections N\"; it is no \
                      connection matrix";
        return lines.error_of_file(reason);
    };
    let word = words(&first).next().map(shown).unwrap_or_default();
    let error = lines.error(String::new());
    let mut connections = u64::from(is_line(&first));
    loop {
        match lines.advance() {
            Ok(Some(line)) if is_line(line) => {
                let mut of_line = words(line);
                let word = of_line.next().unwrap_or_default();
                match HEADINGS.iter().position(|name| name.as_bytes() == word) {
                    Some(at) => {
                        let number = of_line.next().and_then(whole);
                        found[at] = number.and_then(|number| u32::try_from(number).ok());
                    }
                    None => connections += 1,
                }
            }
            Ok(Some(_)) => {}
            // What cannot be read is not counted: the error is about the first line.
            Ok(None) | Err(_) => break,
        }
    }
    let announced = match found[1] {
        Some(count) => format!("the file announces {count} connections and holds {connections}"),
        None => format!("the file announces no connections and holds {connections}"),
    };
    let reason = format!(
        "\"{word}\", where a connection matrix has \"Nodes N\" and \"Connections N\"; {announced}"
    );
    TraceError { reason, ..error }
}

impl<R: Read> Iterator for ConnectionReader<R> {
    type Item = Result<Statement, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_statement().transpose()
    }
}
