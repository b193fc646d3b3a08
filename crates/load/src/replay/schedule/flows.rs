//! Flows of htsim's connection matrices.
//!
//! What a flow's start and the triggers mean: htsim,
//! `sim/datacenter/connection_matrix.cpp` and `sim/trigger.cpp`. In htsim a trigger
//! acts everywhere at once. Here it takes messages of 1 byte: from the end of the
//! flow that activates it to the sender of the first flow that it starts, and from
//! there to the senders of the others.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use odonata_traces::goal::{Action, Tag};
use odonata_traces::htsim::{self, Connection, ConnectionReader, Firing, Start, Statement};
use odonata_traces::{Position, TraceError};
use odonata_units::{Bytes, Picoseconds, RankId};

use super::{Graph, Node, Schedule, Scheduled, Task};
use crate::replay::facts::TraceFacts;
use crate::replay::format::{self, Counter, TraceFormat};
use crate::replay::{Compute, Kind, Options};

/// Most flows of a matrix: three kinds of messages need tags of their own.
const MAX_FLOWS: usize = 1 << 30;

/// Processor that only waits for the time of the next flow.
const TIMER: u8 = 1;

/// The operations of every node. Memory: some 150 bytes for each end of a flow.
pub(in crate::replay) struct Flows {
    ranks: Vec<Vec<Node>>,
}

/// Operations under construction.
struct Builder {
    ranks: Vec<Vec<Node>>,
    messages: u64,
    bytes: u64,
}

impl Builder {
    fn add(&mut self, rank: u32, action: Action, cpu: u8) -> u32 {
        let nodes = &mut self.ranks[rank as usize];
        nodes.push(Node {
            task: Task::Single(action),
            cpu,
            dependencies: 0,
            on_finish: Vec::new(),
            on_start: Vec::new(),
        });
        nodes.len() as u32 - 1
    }

    /// `operation` of a rank begins when `on` of the same has ended.
    fn after(&mut self, rank: u32, operation: u32, on: u32) {
        let nodes = &mut self.ranks[rank as usize];
        nodes[operation as usize].dependencies += 1;
        nodes[on as usize].on_finish.push(operation);
    }

    fn send(&mut self, from: u32, to: u32, bytes: u64, tag: u32) -> u32 {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let send = Action::Send {
            size: Bytes(bytes),
            to: RankId(to),
            tag: Tag(tag),
        };
        self.add(from, send, 0)
    }

    fn receive(&mut self, rank: u32, from: Option<u32>, tag: u32) -> u32 {
        let receive = Action::Receive {
            size: Bytes(0),
            from: from.map(RankId),
            tag: Tag(tag),
        };
        self.add(rank, receive, 0)
    }
}

/// A trigger: who activates it and what it starts.
#[derive(Default)]
struct LinkedTrigger {
    firing: Option<Firing>,
    /// Rank, and its operation whose end activates it.
    activated_by: Vec<(u32, u32)>,
    /// Flows: rank of the sender, its sending, number of the flow.
    starts: Vec<(u32, u32, u32)>,
}

impl Flows {
    /// Reads a matrix.
    ///
    /// # Errors
    /// If the file is damaged, a flow has no end, or one waits for a trigger that
    /// does not fire often enough.
    pub fn open(path: &Path, compute: Compute) -> Result<Scheduled, TraceError> {
        let file = path.display().to_string();
        let fail = |reason: String| TraceError::new(&file, Position::Whole, reason);
        let mut reader = ConnectionReader::open(path)?;
        let ranks = reader.announced().nodes;
        if ranks == 0 || ranks > 1 << 24 {
            return Err(fail(format!(
                "has {ranks} nodes; allowed: 1 to {}",
                1 << 24
            )));
        }
        let mut facts = TraceFacts {
            ranks,
            ..TraceFacts::default()
        };
        let mut builder = Builder {
            ranks: (0..ranks).map(|_| Vec::new()).collect(),
            messages: 0,
            bytes: 0,
        };
        let mut triggers: BTreeMap<u32, LinkedTrigger> = BTreeMap::new();
        // Of each rank: when, and which sending.
        let mut timed: HashMap<u32, Vec<(Picoseconds, u32)>> = HashMap::new();
        let mut flows = 0usize;
        while let Some(statement) = reader.next_statement()? {
            facts.records += 1;
            match statement {
                Statement::Connection(flow) => {
                    if flow.size == Bytes::ZERO {
                        return Err(fail(format!(
                            "flow {} from {} to {} has size 0, which stands for a flow without \
                             end; such are not replayed",
                            flows + 1,
                            flow.from,
                            flow.to
                        )));
                    }
                    if flows >= MAX_FLOWS {
                        return Err(fail(format!("more than {MAX_FLOWS} flows")));
                    }
                    if flow.priority.is_some() {
                        *facts.not_replayed.entry("priority of a flow").or_default() += 1;
                    }
                    let number = flows as u32;
                    let sending = add_flow(&mut builder, &flow, number, &mut triggers);
                    match flow.start {
                        Start::At(time) => {
                            timed.entry(flow.from.0).or_default().push((time, sending));
                        }
                        Start::Trigger(id) => {
                            let start = (flow.from.0, sending, number);
                            triggers.entry(id).or_default().starts.push(start);
                        }
                    }
                    flows += 1;
                }
                Statement::Trigger(trigger) => {
                    triggers.entry(trigger.id).or_default().firing = Some(trigger.firing);
                }
                Statement::Failure(_) => {
                    *facts.not_replayed.entry("failure of a link").or_default() += 1;
                }
            }
        }
        for (rank, list) in timed {
            add_times(&mut builder, rank, list);
        }
        for (index, (id, trigger)) in triggers.iter().enumerate() {
            let tag = 3 * index as u32 + 1;
            wire(&mut builder, trigger, tag)
                .map_err(|reason| fail(format!("trigger {id}: {reason}")))?;
        }
        facts.messages = builder.messages;
        facts.bytes = Bytes(builder.bytes);
        let flows = Self {
            ranks: builder.ranks,
        };
        Ok(Scheduled::new(Box::new(flows), facts, 2, compute))
    }
}

/// Adds sending and receiving of a flow; the sending.
fn add_flow(
    builder: &mut Builder,
    flow: &Connection,
    number: u32,
    triggers: &mut BTreeMap<u32, LinkedTrigger>,
) -> u32 {
    let (from, to) = (flow.from.0, flow.to.0);
    let sending = builder.send(from, to, flow.size.0, 3 * number);
    let receiving = builder.receive(to, Some(from), 3 * number);
    let ends = [
        (flow.send_done, from, sending),
        (flow.receive_done, to, receiving),
    ];
    for (trigger, rank, operation) in ends {
        if let Some(id) = trigger {
            let wired = triggers.entry(id).or_default();
            wired.activated_by.push((rank, operation));
        }
    }
    sending
}

/// Makes flows of a rank wait for their times, one wait after the other.
fn add_times(builder: &mut Builder, rank: u32, mut list: Vec<(Picoseconds, u32)>) {
    list.sort_unstable();
    let (mut now, mut last) = (Picoseconds::ZERO, None);
    for (time, sending) in list {
        if time > now {
            let wait = Action::Calculate {
                duration: (time - now).0,
            };
            let wait = builder.add(rank, wait, TIMER);
            if let Some(last) = last {
                builder.after(rank, wait, last);
            }
            (now, last) = (time, Some(wait));
        }
        if let Some(last) = last {
            builder.after(rank, sending, last);
        }
    }
}

/// Connects what activates a trigger with what it starts.
fn wire(builder: &mut Builder, trigger: &LinkedTrigger, tag: u32) -> Result<(), String> {
    let Some(&(home, ..)) = trigger.starts.first() else {
        return Ok(());
    };
    let activations = trigger.activated_by.len();
    // Which activation each flow needs.
    let needed = |flow: usize| match trigger.firing {
        Some(Firing::Every) => flow,
        Some(Firing::Barrier(count)) => (count as usize).saturating_sub(1),
        Some(Firing::Once) | None => 0,
    };
    let most = needed(trigger.starts.len() - 1);
    if most >= activations {
        return Err(format!(
            "a flow waits for activation {}, but there are only {activations}",
            most + 1
        ));
    }
    for &(rank, operation) in &trigger.activated_by {
        let tell = builder.send(rank, home, 1, tag);
        builder.after(rank, tell, operation);
    }
    // The home takes them in the order in which they arrive.
    let mut heard = Vec::with_capacity(activations);
    for _ in 0..activations {
        let receive = builder.receive(home, None, tag);
        if let Some(&last) = heard.last() {
            builder.after(home, receive, last);
        }
        heard.push(receive);
    }
    for (flow, &(rank, sending, number)) in trigger.starts.iter().enumerate() {
        let heard = heard[needed(flow)];
        if rank == home {
            builder.after(home, sending, heard);
            continue;
        }
        let tell = builder.send(home, rank, 1, 3 * number + 2);
        builder.after(home, tell, heard);
        let receive = builder.receive(rank, Some(home), 3 * number + 2);
        builder.after(rank, sending, receive);
    }
    Ok(())
}

impl Schedule for Flows {
    fn graph(&self, rank: RankId) -> Result<Box<dyn Graph + '_>, TraceError> {
        Ok(Box::new(NodeFlows(&self.ranks[rank.index()])))
    }
}

/// The operations of one node.
struct NodeFlows<'a>(&'a [Node]);

impl Graph for NodeFlows<'_> {
    fn operations(&self) -> u32 {
        self.0.len() as u32
    }

    fn unit(&self) -> Picoseconds {
        Picoseconds(1)
    }

    fn roots(&mut self) -> Result<Vec<u32>, TraceError> {
        let nodes = self.0.iter().enumerate();
        let roots = nodes.filter(|(_, node)| node.dependencies == 0);
        Ok(roots.map(|(number, _)| number as u32).collect())
    }

    fn node(&mut self, operation: u32) -> Result<Node, TraceError> {
        Ok(self.0[operation as usize].clone())
    }
}

/// Connection matrices.
pub(in crate::replay) struct Htsim;

impl TraceFormat for Htsim {
    fn recognises(start: &format::Start<'_>) -> bool {
        // By any of its lines, so that a matrix whose first line is damaged is told which line that is.
        let first = start
            .lines()
            .next()
            .and_then(|line| line.split_whitespace().next());
        matches!(first, Some("Nodes" | "Connections"))
            || first.is_some()
                && start
                    .text
                    .lines()
                    .any(|line| htsim::is_line(line.as_bytes()))
    }

    fn count(path: &Path, counter: &mut Counter) -> Result<(), TraceError> {
        let mut reader = ConnectionReader::open(path)?;
        counter.summary.ranks = u64::from(reader.announced().nodes);
        while let Some(statement) = reader.next_statement()? {
            let (kind, bytes) = match statement {
                Statement::Connection(connection) => ("connection", connection.size.0),
                Statement::Trigger(_) => ("trigger", 0),
                Statement::Failure(_) => ("failure", 0),
            };
            counter.add(kind, bytes, || format!("{statement:?}"));
        }
        Ok(())
    }

    fn open(path: &Path, options: Options) -> Result<Kind, TraceError> {
        Flows::open(path, options.compute).map(Kind::scheduled)
    }
}
