//! The jobs of a log as the cluster sees them.

use std::collections::HashMap;
use std::sync::Arc;

use super::cluster::{Cluster, Node, Partition, Priority, Tres, Unit, Weights};
use super::features::alternatives;
use super::limits::{Counted, never};
use super::nodes::NodeSet;
use super::priority::{Factors, Shares};
use super::select::{Ask, State};
use crate::batch::{Fate, Row};
use crate::log::{Job, JobLog, Label, Memory, Request, hostlist};

/// Seconds of a job without any limit, in the scheduler's plans: a year.
const YEAR: i64 = 365 * 86_400;

/// A job.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Milliseconds, as all times here.
    pub arrival: i64,
    /// How long it runs, and whether its limit ends it.
    pub run: i64,
    pub killed: bool,
    /// The same in whole seconds, as logs say it.
    pub run_s: i64,
    /// Its partitions.
    pub options: Vec<Choice>,
    /// Which of them it runs in.
    pub chosen: usize,
    pub qos: Option<usize>,
    pub counted: Counted,
    pub leaf: Option<usize>,
    /// Use per second while it runs.
    pub usage_rate: f64,
    pub factors: Factors,
    pub recorded_priority: u64,
    pub interactive: bool,
}

/// A partition that a job may run in.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub partition: usize,
    pub ask: Arc<Ask>,
    /// Its time limit there, ms.
    pub limit: i64,
    /// The partition's QOS.
    pub qos: Option<usize>,
}

/// All jobs of a log.
pub(super) struct Tasks {
    pub tasks: Vec<Task>,
    pub rows: Vec<Row>,
    pub shares: Shares,
}

impl Tasks {
    pub fn new(log: &JobLog, cluster: &Cluster) -> Result<Self, String> {
        let text = |label: Label| log.names.text(label).unwrap_or("");
        let seen = log
            .jobs
            .iter()
            .map(|job| (text(job.account), text(job.user)));
        let shares = Shares::new(&cluster.associations, seen)?;
        let mut reader = Reader {
            cluster,
            idle: State::idle(cluster),
            names: HashMap::new(),
            features: HashMap::new(),
            all: NodeSet::all(cluster.nodes.len()),
            weights: match &cluster.priority {
                Priority::Multifactor(weights) => Some(weights),
                _ => None,
            },
        };
        for (number, node) in cluster.nodes.iter().enumerate() {
            reader.names.insert(&node.name, number);
        }
        let mut tasks = Vec::with_capacity(log.jobs.len());
        let mut rows = Vec::with_capacity(log.jobs.len());
        for (number, job) in log.jobs.iter().enumerate() {
            let found = reader.task(log, job, &shares);
            let fate = match &found {
                Ok(_) => Fate::Finished,
                Err(reason) => Fate::Refused(reason.clone()),
            };
            let arrival = job.eligible.unwrap_or(job.submit).max(job.submit);
            let task = found.unwrap_or_else(|_| Task::never());
            let cpus = u32::try_from(task.cpus()).unwrap_or(u32::MAX);
            rows.push(Row::new(number as u32, arrival, cpus, fate));
            tasks.push(task);
        }
        spread_over_seconds(&mut tasks);
        Ok(Self {
            tasks,
            rows,
            shares,
        })
    }
}

/// Logs know whole seconds, in which jobs come at any time: theirs are spread evenly (by the
/// golden ratio), those of one second in order of the log. Run times are differences of such
/// seconds: they are spread over half a second to either side.
fn spread_over_seconds(tasks: &mut [Task]) {
    let of = |(number, task): (usize, &Task)| (task.arrival, number);
    let mut order: Vec<(i64, usize)> = tasks.iter().enumerate().map(of).collect();
    order.sort_unstable();
    for same in order.chunk_by(|a, b| a.0 == b.0) {
        let mut within: Vec<i64> = same
            .iter()
            .map(|one| (one.1 as i64 * 618 + 309) % 1000)
            .collect();
        within.sort_unstable();
        for (&(_, task), &after) in same.iter().zip(&within) {
            tasks[task].arrival += after;
        }
    }
    for (number, task) in tasks.iter_mut().enumerate() {
        if !task.killed {
            // Another irrational number, so that nothing ties ends to arrivals: √2.
            task.run = (task.run + (number as i64 * 414 + 207) % 1000 - 500).max(0);
        }
    }
}

impl Task {
    /// A job that is refused.
    fn never() -> Self {
        Self {
            arrival: 0,
            run: 0,
            killed: false,
            run_s: 0,
            options: Vec::new(),
            chosen: 0,
            qos: None,
            counted: Counted::default(),
            leaf: None,
            usage_rate: 0.0,
            factors: Factors {
                wait: 0,
                nodes: 0.0,
                cpus: 0.0,
                fair_share: 0.0,
                partition: 0.0,
                qos: 0.0,
                tres: 0.0,
                nice: 0,
            },
            recorded_priority: 0,
            interactive: false,
        }
    }

    fn cpus(&self) -> u64 {
        self.counted.tres.get("cpu").copied().unwrap_or(0)
    }
}

struct Reader<'a> {
    cluster: &'a Cluster,
    idle: State,
    names: HashMap<&'a str, usize>,
    /// Nodes of expressions met before.
    features: HashMap<String, Result<Vec<NodeSet>, String>>,
    all: NodeSet,
    weights: Option<&'a Weights>,
}

impl Reader<'_> {
    /// The job, or why it never starts.
    fn task(&mut self, log: &JobLog, job: &Job, shares: &Shares) -> Result<Task, String> {
        let none = Request::default();
        let request = job.request.as_deref().unwrap_or(&none);
        let text = |label: Label| log.names.text(label).unwrap_or("");
        let qos = match text(job.queue) {
            "" => None,
            name => self.cluster.qos.iter().position(|qos| qos.name == name),
        };
        let mut options = Vec::new();
        let mut reason = String::new();
        for name in text(job.partition).split(',') {
            let found = self
                .partition(name)
                .and_then(|partition| self.choice(job, request, partition));
            match found {
                Ok(choice) => options.push(choice),
                Err(why) => reason = why,
            }
        }
        let Some(first) = options.first() else {
            return Err(reason);
        };
        let tres = self.counted(&first.ask);
        let nodes = u64::from(first.ask.min_nodes);
        for (option, number) in options
            .iter()
            .flat_map(|option| qos.iter().chain(&option.qos).map(move |&qos| (option, qos)))
        {
            let limit = (option.limit < YEAR * 1000).then_some(option.limit / 1000);
            if let Some(why) = never(&self.cluster.qos[number], &tres, nodes, limit) {
                return Err(why);
            }
        }
        let limit = options
            .iter()
            .map(|option| option.limit / 1000)
            .max()
            .unwrap_or(YEAR);
        // A job that its log shows to be killed at its limit is not killed again.
        let overdue = limit + self.cluster.parameters.over_time_limit;
        let killed = job.run.0 > overdue + self.cluster.parameters.kill_wait + 60;
        let run = if killed { overdue } else { job.run.0 };
        let of = |name: &str| tres.get(name).copied().unwrap_or(0) as f64;
        let partition = &self.cluster.partitions[first.partition];
        let greatest = |values: &mut dyn Iterator<Item = u32>| f64::from(values.max().unwrap_or(0));
        let part_max = greatest(&mut self.cluster.partitions.iter().map(|p| p.priority_factor));
        let qos_max = greatest(&mut self.cluster.qos.iter().map(|qos| qos.priority));
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let factors = Factors {
            wait: 0,
            nodes: f64::from(first.ask.min_nodes) / self.cluster.nodes.len() as f64,
            cpus: of("cpu") / self.cluster.cpus() as f64,
            fair_share: 0.0,
            partition: share(f64::from(partition.priority_factor), part_max),
            qos: qos.map_or(0.0, |qos| {
                share(f64::from(self.cluster.qos[qos].priority), qos_max)
            }),
            tres: self.weighted(&tres, partition),
            nice: request.nice,
        };
        let usage_factor = qos.map_or(1.0, |qos| self.cluster.qos[qos].usage_factor);
        let number = |label: Label| label.index().map_or(u32::MAX, |index| index as u32);
        Ok(Task {
            arrival: job.eligible.unwrap_or(job.submit).max(job.submit).0 * 1000,
            run: run * 1000,
            killed,
            run_s: run,
            qos,
            leaf: shares.leaf(text(job.account), text(job.user)),
            usage_rate: of("cpu") * usage_factor,
            counted: Counted {
                tres,
                user: number(job.user),
                account: number(job.account),
            },
            factors,
            recorded_priority: request.priority.unwrap_or(0),
            interactive: request.interactive,
            options,
            chosen: 0,
        })
    }

    fn partition(&self, name: &str) -> Result<usize, String> {
        let partitions = &self.cluster.partitions;
        let found = if name.is_empty() {
            partitions
                .iter()
                .position(|one| one.default)
                .or((partitions.len() == 1).then_some(0))
        } else {
            partitions.iter().position(|one| one.name == name)
        };
        found.ok_or_else(|| {
            let known: Vec<&str> = partitions.iter().map(|one| &*one.name).take(20).collect();
            let known = known.join(", ");
            if name.is_empty() {
                format!("it names no partition and none is the default; there are {known}")
            } else {
                format!("there is no partition \"{name}\"; there are {known}")
            }
        })
    }

    /// What the job asks of a partition.
    fn choice(&mut self, job: &Job, request: &Request, number: usize) -> Result<Choice, String> {
        let partition = &self.cluster.partitions[number];
        let name = &partition.name;
        let min_nodes = match request.min_nodes {
            0 => job.nodes.max(1),
            least => least,
        };
        let asked = [request.cpus, job.requested_processors.unwrap_or(0)];
        let cpus = asked
            .into_iter()
            .chain(job.processors)
            .find(|&cpus| cpus > 0);
        let cpus = cpus.unwrap_or(0).max(min_nodes);
        let cpus_per_task = request.cpus_per_task.unwrap_or(1).max(1);
        // Text of Slurm's does not say how many nodes a job may be spread over: as many as it
        // had, or as it has tasks where it has not run.
        let most = request.max_nodes.filter(|&most| most > 0);
        let max_nodes = most.unwrap_or_else(|| match request.tasks {
            Some(tasks) if min_nodes == 1 && job.start.is_none() => tasks.max(job.nodes),
            _ => min_nodes.max(job.nodes),
        });
        if partition.max_nodes.is_some_and(|most| min_nodes > most) {
            return Err(format!(
                "it asks for {min_nodes} nodes; partition {name} gives fewer"
            ));
        }
        let most = partition.max_nodes.unwrap_or(u32::MAX);
        let limit = time_limit(job, partition)?;
        let suitable = self.suitable(request)?;
        let required = request
            .required_nodes
            .as_deref()
            .map(|list| self.listed(list));
        let memory = request
            .memory
            .or(partition.default_memory)
            .or(self.cluster.default_memory);
        let min_cpus_per_node = request.min_cpus_per_node.unwrap_or(1);
        let mut nodes = NodeSet::none(self.cluster.nodes.len());
        partition
            .nodes
            .iter()
            .for_each(|&node| nodes.insert(node as usize));
        let mut considered = considered(&self.cluster.nodes, &suitable, memory, min_cpus_per_node);
        considered.keep(&nodes);
        let ask = Ask {
            min_nodes: min_nodes.max(partition.min_nodes),
            max_nodes: max_nodes.max(partition.min_nodes).min(most),
            cpus,
            cpus_per_task,
            tasks_per_node: request.tasks_per_node.unwrap_or(0),
            min_cpus_per_node,
            max_cpus_per_node: partition.max_cpus_per_node.unwrap_or(u32::MAX),
            memory,
            gres: request.gres.clone(),
            whole: request.exclusive || partition.exclusive || self.cluster.unit == Unit::Node,
            required: required.transpose()?,
            suitable,
            considered,
        };
        if self.idle.place(self.cluster, &ask, &nodes).is_none() {
            return Err(format!(
                "it finds no place in partition {name} even if nothing else runs: it asks for {}",
                asked_in_words(&ask, request)
            ));
        }
        let of_partition = partition.qos.as_ref();
        Ok(Choice {
            partition: number,
            ask: Arc::new(ask),
            limit: limit.min(YEAR) * 1000,
            qos: of_partition
                .and_then(|name| self.cluster.qos.iter().position(|qos| qos.name == *name)),
        })
    }

    /// The nodes that have its features and that it does not exclude; several sets are tried in
    /// turn.
    fn suitable(&mut self, request: &Request) -> Result<Vec<NodeSet>, String> {
        let mut suitable = match &request.features {
            None => vec![self.all.clone()],
            Some(expression) => {
                let read = || alternatives(expression, &self.cluster.nodes);
                self.features
                    .entry(expression.to_string())
                    .or_insert_with(read)
                    .clone()?
            }
        };
        if let Some(list) = &request.excluded_nodes {
            let excluded = self.listed(list)?;
            suitable.iter_mut().for_each(|set| set.drop_all(&excluded));
        }
        Ok(suitable)
    }

    fn listed(&self, list: &str) -> Result<NodeSet, String> {
        let names =
            hostlist::expand(list).ok_or_else(|| format!("nodes \"{list}\" are no list"))?;
        let mut set = NodeSet::none(self.cluster.nodes.len());
        for name in names {
            let number = self.names.get(name.as_str());
            set.insert(*number.ok_or_else(|| format!("there is no node \"{name}\""))?);
        }
        Ok(set)
    }

    /// What limits count.
    fn counted(&self, ask: &Ask) -> Tres {
        let nodes = u64::from(ask.min_nodes);
        let mut tres = Tres::from([
            ("cpu".to_owned(), u64::from(ask.cpus)),
            ("node".to_owned(), nodes),
        ]);
        let memory = match ask.memory {
            None => 0,
            Some(Memory::PerNode(amount)) => amount * nodes,
            Some(Memory::PerCpu(amount)) => amount * u64::from(ask.cpus),
        };
        tres.insert("mem".to_owned(), memory);
        for gres in &ask.gres {
            let count = gres.count * nodes;
            *tres.entry(format!("gres/{}", gres.name)).or_default() += count;
            if let Some(kind) = &gres.kind {
                *tres
                    .entry(format!("gres/{}:{kind}", gres.name))
                    .or_default() += count;
            }
        }
        tres
    }

    /// Weighted resources over those of the partition.
    fn weighted(&self, tres: &Tres, partition: &Partition) -> f64 {
        let Some(weights) = self.weights.filter(|weights| !weights.tres.is_empty()) else {
            return 0.0;
        };
        let nodes = partition
            .nodes
            .iter()
            .map(|&node| &self.cluster.nodes[node as usize]);
        let whole = |name: &str| -> u64 {
            nodes
                .clone()
                .map(|node| match name {
                    "cpu" => u64::from(node.cpus),
                    "mem" => node.memory_mb,
                    "node" => 1,
                    _ => {
                        let wanted = name.strip_prefix("gres/").unwrap_or(name);
                        let (name, kind) = wanted.split_once(':').unwrap_or((wanted, ""));
                        let is = |gres: &&crate::log::Gres| {
                            *gres.name == *name
                                && (kind.is_empty() || gres.kind.as_deref() == Some(kind))
                        };
                        node.gres.iter().filter(is).map(|gres| gres.count).sum()
                    }
                })
                .sum()
        };
        let part = |(name, weight): (&String, &f64)| {
            let asked = tres.get(name).copied().unwrap_or(0) as f64;
            let whole = whole(name) as f64;
            if whole > 0.0 {
                weight * (asked / whole).min(1.0)
            } else {
                0.0
            }
        };
        weights.tres.iter().map(part).sum()
    }
}

/// The job's time limit in the partition, seconds; the partition's own where it names none.
fn time_limit(job: &Job, partition: &Partition) -> Result<i64, String> {
    match (job.requested, partition.max_time) {
        (Some(limit), Some(most)) if limit.0 > most => Err(format!(
            "its time limit is {limit}; partition {} allows {most} s",
            partition.name
        )),
        (Some(limit), _) => Ok(limit.0),
        (None, most) => Ok(partition.default_time.or(most).unwrap_or(YEAR)),
    }
}

/// The nodes of any of these sets that have the CPUs and the memory of one of a job's nodes.
fn considered(
    nodes: &[Node],
    suitable: &[NodeSet],
    memory: Option<Memory>,
    min_cpus: u32,
) -> NodeSet {
    let memory = match memory {
        Some(Memory::PerNode(amount)) => amount,
        Some(Memory::PerCpu(amount)) => amount * u64::from(min_cpus),
        None => 0,
    };
    let mut considered = NodeSet::none(nodes.len());
    for node in suitable.iter().flat_map(NodeSet::iter) {
        if nodes[node].cpus >= min_cpus && nodes[node].memory_mb >= memory {
            considered.insert(node);
        }
    }
    considered
}

fn asked_in_words(ask: &Ask, request: &Request) -> String {
    let mut words = vec![format!("{} nodes, {} CPUs", ask.min_nodes, ask.cpus)];
    match ask.memory {
        Some(Memory::PerNode(amount)) if amount > 0 => words.push(format!("{amount} MiB a node")),
        Some(Memory::PerCpu(amount)) => words.push(format!("{amount} MiB a CPU")),
        _ => {}
    }
    for gres in &ask.gres {
        let kind = gres
            .kind
            .as_ref()
            .map_or(String::new(), |kind| format!(":{kind}"));
        words.push(format!("{} {}{kind} a node", gres.count, gres.name));
    }
    if let Some(features) = &request.features {
        words.push(format!("features {features}"));
    }
    if let Some(nodes) = &request.required_nodes {
        words.push(format!("nodes {nodes}"));
    }
    words.join(", ")
}
