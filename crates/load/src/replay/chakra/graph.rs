//! The graph of a rank.

use std::collections::{BTreeMap, HashMap};

use odonata_traces::TraceError;
use odonata_traces::chakra::{self, Collective, Kind, Node, Value};
use odonata_traces::goal::{Action, Tag};
use odonata_units::{Bytes, Picoseconds, RankId};

use super::groups::{Groups, Recorded};
use super::{CPU, GPU, KNOWN, MICROSECOND, NETWORK, message_bytes, unsigned};
use crate::replay::facts::TraceFacts;
use crate::replay::schedule::{self, Task};

/// Most nodes of a rank.
const MOST_NODES: usize = 1 << 30;

/// What a rank does, and who waits for whom.
pub(super) struct RankGraph {
    pub tasks: Vec<Task>,
    processors: Vec<u8>,
    dependencies: Vec<u32>,
    /// Where those who wait for each node begin; one more than there are nodes.
    starts: Vec<u32>,
    dependents: Vec<u32>,
}

impl schedule::Graph for &RankGraph {
    fn operations(&self) -> u32 {
        self.tasks.len() as u32
    }

    fn unit(&self) -> Picoseconds {
        MICROSECOND
    }

    fn roots(&mut self) -> Result<Vec<u32>, TraceError> {
        let nodes = (0..).zip(&self.dependencies);
        let roots = nodes.filter(|(_, count)| **count == 0);
        Ok(roots.map(|(number, _)| number).collect())
    }

    fn node(&mut self, operation: u32) -> Result<schedule::Node, TraceError> {
        let index = operation as usize;
        let waiting = self.starts[index] as usize..self.starts[index + 1] as usize;
        Ok(schedule::Node {
            task: self.tasks[index].clone(),
            cpu: self.processors[index],
            dependencies: self.dependencies[index],
            on_finish: self.dependents[waiting].to_vec(),
            on_start: Vec::new(),
        })
    }
}

/// Nodes that a node waits for, each once.
pub(super) fn dependencies(node: &Node) -> Vec<u64> {
    let both = node.ctrl_deps.iter().chain(&node.data_deps);
    let mut both: Vec<u64> = both.copied().collect();
    both.sort_unstable();
    both.dedup();
    both
}

/// A graph as its nodes are read.
pub(super) struct Builder {
    rank: RankId,
    ranks: u32,
    numbers: HashMap<u64, u32>,
    ids: Vec<u64>,
    tasks: Vec<Task>,
    processors: Vec<u8>,
    /// Node, and the number of the one that it waits for.
    edges: Vec<(u32, u64)>,
    messages: BTreeMap<(u32, u32, u32), i64>,
    computed: Picoseconds,
}

impl Builder {
    pub fn new(rank: RankId, ranks: u32) -> Self {
        Self {
            rank,
            ranks,
            numbers: HashMap::new(),
            ids: Vec::new(),
            tasks: Vec::new(),
            processors: Vec::new(),
            edges: Vec::new(),
            messages: BTreeMap::new(),
            computed: Picoseconds::ZERO,
        }
    }

    /// Messages sent less received, by sender, receiver and tag.
    pub fn messages(&self) -> impl Iterator<Item = ((u32, u32, u32), i64)> {
        self.messages
            .iter()
            .map(|(message, count)| (*message, *count))
    }

    pub fn add(
        &mut self,
        node: &Node,
        facts: &mut TraceFacts,
        groups: &mut Groups,
    ) -> Result<(), String> {
        let index = self.tasks.len();
        if index >= MOST_NODES {
            return Err(format!("more than {MOST_NODES} nodes"));
        }
        let number = index as u32;
        if self.numbers.insert(node.id, number).is_some() {
            return Err(format!("two nodes have the number {}", node.id));
        }
        self.ids.push(node.id);
        facts.records += 1;
        let unused = node.attributes.iter();
        let unused = unused.filter(|one| !KNOWN.contains(&one.name.as_str()));
        let unused = unused.count() as u64 + node.skipped;
        if unused > 0 {
            *facts.not_replayed.entry("attributes").or_default() += unused;
        }
        if let Some(defined) = chakra::process_groups(node) {
            let defined = defined.map_err(|reason| format!("node {}: {reason}", node.id))?;
            groups.define(defined, self.ranks)?;
        }
        let host = match node.attribute("is_cpu_op") {
            None => false,
            Some(Value::Bool(host)) => *host,
            Some(value) => match value.unsigned() {
                Some(number) => number != 0,
                None => {
                    return Err(format!(
                        "node {}: is_cpu_op is {value:?}; allowed: true or false",
                        node.id
                    ));
                }
            },
        };
        let (task, processor) = match node.kind {
            Kind::Send | Kind::Receive if !host => (self.message(node, facts)?, NETWORK),
            Kind::Collective if !host => {
                groups.add(self.rank, number, self.collective(node)?);
                (Task::Nothing, NETWORK)
            }
            Kind::Compute | Kind::Send | Kind::Receive | Kind::Collective => {
                let duration = node.duration_micros;
                let time = duration.checked_mul(MICROSECOND.0).map(Picoseconds);
                let time =
                    time.ok_or_else(|| format!("node {} takes {duration} µs, too long", node.id))?;
                self.computed = Picoseconds(self.computed.0.saturating_add(time.0));
                if duration == 0 {
                    let name = "time of compute nodes without a duration";
                    *facts.not_replayed.entry(name).or_default() += 1;
                }
                let task = Task::Single(Action::Calculate { duration });
                (task, if host { CPU } else { GPU })
            }
            kind => {
                *facts.not_replayed.entry(kind.name()).or_default() += 1;
                (Task::Nothing, GPU)
            }
        };
        self.tasks.push(task);
        self.processors.push(processor);
        let edges = dependencies(node).into_iter();
        self.edges.extend(edges.map(|on| (number, on)));
        Ok(())
    }

    fn message(&mut self, node: &Node, facts: &mut TraceFacts) -> Result<Task, String> {
        let needed = |name: &str| {
            unsigned(node, name)?.ok_or_else(|| {
                let kind = node.kind.name();
                format!("node {}: a {kind} without {name}", node.id)
            })
        };
        let rank = |name: &str, default: Option<u32>| {
            let value = match (unsigned(node, name)?, default) {
                (None, Some(default)) => default.into(),
                (Some(value), _) => value,
                (None, None) => needed(name)?,
            };
            match u32::try_from(value) {
                Ok(rank) if rank < self.ranks => Ok(rank),
                _ => Err(format!(
                    "node {}: {name} is rank {value}, but the trace has {} ranks, from 0 on",
                    node.id, self.ranks
                )),
            }
        };
        let size = Bytes(needed("comm_size")?);
        let sends = node.kind == Kind::Send;
        let own = Some(self.rank.0);
        let from = rank("comm_src", own.filter(|_| sends))?;
        let to = rank("comm_dst", own.filter(|_| !sends))?;
        let (mine, name) = if sends {
            (from, "comm_src")
        } else {
            (to, "comm_dst")
        };
        if mine != self.rank.0 {
            return Err(format!(
                "node {}: {name} of a {} of rank {} is rank {mine}",
                node.id,
                node.kind.name(),
                self.rank
            ));
        }
        let tag = match unsigned(node, "comm_tag")? {
            // The last tag would stand for any.
            Some(tag) => match u32::try_from(tag) {
                Ok(tag) if Tag(tag) != Tag::ANY => tag,
                _ => return Err(format!("node {}: comm_tag is {tag}, too large", node.id)),
            },
            None => 0,
        };
        *self.messages.entry((from, to, tag)).or_default() += if sends { 1 } else { -1 };
        let tag = Tag(tag);
        Ok(Task::Single(if sends {
            facts.messages += 1;
            let sum = facts.bytes.0.saturating_add(message_bytes(size.0).0);
            facts.bytes = Bytes(sum);
            Action::Send {
                size,
                to: RankId(to),
                tag,
            }
        } else {
            Action::Receive {
                size,
                from: Some(RankId(from)),
                tag,
            }
        }))
    }

    fn collective(&self, node: &Node) -> Result<Recorded, String> {
        let id = node.id;
        let lacks = |name: &str| {
            format!(
                "node {id} ({}): a collective without {name}, as old converters write them; what \
                 it sends is not known",
                odonata_files::shown(node.name.as_bytes())
            )
        };
        let kind = unsigned(node, "comm_type")?.ok_or_else(|| lacks("comm_type"))?;
        let kind = Collective::of_number(kind)
            .ok_or_else(|| format!("node {id}: comm_type is {kind}; allowed: 0 to 9"))?;
        let bytes = match (unsigned(node, "comm_size")?, kind) {
            (Some(bytes), _) => bytes,
            (None, Collective::Barrier) => 0,
            (None, _) => return Err(lacks("comm_size")),
        };
        let group = match node.attribute("pg_name") {
            None | Some(Value::Missing) => String::new(),
            Some(Value::Text(name)) => name.clone(),
            Some(value) => match value.unsigned() {
                Some(number) => number.to_string(),
                None => return Err(format!("node {id}: pg_name is {value:?}; allowed: a name")),
            },
        };
        Ok(Recorded {
            id,
            group,
            kind,
            bytes,
            root: unsigned(node, "root_rank")?,
        })
    }

    /// The graph, once all nodes are read.
    pub fn finish(self, facts: &mut TraceFacts) -> Result<RankGraph, String> {
        facts.computes(self.computed);
        let count = self.tasks.len();
        if u32::try_from(self.edges.len()).is_err() {
            return Err(format!("{} dependencies, too many", self.edges.len()));
        }
        let mut dependencies = vec![0u32; count];
        let mut starts = vec![0u32; count + 1];
        let mut edges = Vec::with_capacity(self.edges.len());
        for (of, on) in self.edges {
            let Some(&on) = self.numbers.get(&on) else {
                let id = self.ids[of as usize];
                return Err(format!("node {id} waits for node {on}, which is missing"));
            };
            dependencies[of as usize] += 1;
            starts[on as usize + 1] += 1;
            edges.push((of, on));
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut dependents = vec![0; edges.len()];
        for (of, on) in edges {
            let slot = &mut next[on as usize];
            dependents[*slot as usize] = of;
            *slot += 1;
        }
        let graph = RankGraph {
            tasks: self.tasks,
            processors: self.processors,
            dependencies,
            starts,
            dependents,
        };
        match graph.cycle() {
            None => Ok(graph),
            Some(number) => Err(format!(
                "node {} is part of a circle of dependencies or waits for one",
                self.ids[number]
            )),
        }
    }
}

impl RankGraph {
    /// A node that never comes to its turn (Kahn 1962).
    fn cycle(&self) -> Option<usize> {
        let mut waiting = self.dependencies.clone();
        let nodes = 0..waiting.len();
        let mut ready: Vec<usize> = nodes.filter(|&number| waiting[number] == 0).collect();
        while let Some(done) = ready.pop() {
            let range = self.starts[done] as usize..self.starts[done + 1] as usize;
            for &of in &self.dependents[range] {
                waiting[of as usize] -= 1;
                if waiting[of as usize] == 0 {
                    ready.push(of as usize);
                }
            }
        }
        waiting.iter().position(|&left| left > 0)
    }
}
