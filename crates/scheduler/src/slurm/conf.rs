//! A cluster from Slurm's own files and listings: `slurm.conf`, `topology.conf`, `scontrol show
//! config`, `topology`, `nodes` and `partitions` (text; the latter two also JSON), `sacctmgr show qos` and `show assoc` (or
//! `sshare`) with `--parsable2`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::cluster::{
    Association, Cluster, Filling, Node, Parameters, Partition, Priority, Qos, Switch, Tres, Unit,
    Weights,
};
use super::listing::{Kind, Listing, Record, read_listing};
use crate::log::{Memory, gres_list, hostlist, mebibytes};
use crate::outages::Outages;

/// What is wrong with a file of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfError {
    /// The file.
    pub file: String,
    /// Its line, from 1, where known.
    pub line: Option<u64>,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for ConfError {}

/// Reads a cluster from files (name, contents), whichever they are; what a later one says
/// of a node, partition or QOS replaces what an earlier one said. Also returns what
/// the files ask for and the simulation does not do. `settings` are lines that come after all files.
///
/// # Errors
/// If a file is none of those known, a value makes no sense, or a setting of the whole cluster changes
/// nothing.
pub fn read_cluster(
    files: &[(String, String)],
    settings: &[String],
) -> Result<(Cluster, Vec<String>), ConfError> {
    let mut builder = Builder::default();
    let lines = (!settings.is_empty()).then(|| ("settings".to_owned(), settings.join("\n")));
    let mut set = Vec::new();
    for (file, text) in files.iter().chain(&lines) {
        let Listing { records } = read_listing(text).map_err(|(line, message)| ConfError {
            file: file.clone(),
            line,
            message,
        })?;
        for record in records {
            let line = record.line;
            if lines
                .as_ref()
                .is_some_and(|(name, _)| std::ptr::eq(name, file))
                && record.kind == Kind::Config
            {
                set.extend(record.values.keys().map(|key| (line, key.clone())));
            }
            builder.take(record).map_err(|message| ConfError {
                file: file.clone(),
                line,
                message,
            })?;
        }
    }
    let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    let (cluster, notes, asked) = builder.finish().map_err(|message| ConfError {
        file: names.join(", "),
        line: None,
        message,
    })?;
    match set.into_iter().find(|(_, key)| !asked.contains(key)) {
        Some((line, key)) => Err(ConfError {
            file: "settings".to_owned(),
            line,
            message: format!(
                "{key} changes nothing here; allowed: {}. Options of the scheduler follow \
                 SchedulerParameters=, such as SchedulerParameters=bf_interval=60",
                asked.into_iter().collect::<Vec<_>>().join(", ")
            ),
        }),
        None => Ok((cluster, notes)),
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    numbers: HashMap<String, usize>,
    node_defaults: Record,
    /// Partitions and their lists of nodes.
    partitions: Vec<(Partition, String)>,
    partition_defaults: Record,
    sets: HashMap<String, String>,
    qos: Vec<Qos>,
    associations: Vec<Association>,
    /// By name, in order: what is attached to it, nodes and switches as lists.
    switches: Vec<(String, String, String)>,
    config: Record,
}

impl Builder {
    fn take(&mut self, record: Record) -> Result<(), String> {
        match record.kind {
            Kind::Config => {
                for (key, value) in record.values {
                    if key == "include" {
                        return Err(format!(
                            "Include {value} is not followed; name the file too"
                        ));
                    }
                    self.config.values.insert(key, value);
                }
            }
            Kind::NodeSet => {
                let name = record.text("nodeset").unwrap_or_default().to_owned();
                if let Some(nodes) = record.text("nodes") {
                    self.sets.insert(name, nodes.to_owned());
                } else if let Some(feature) = record.text("feature") {
                    self.sets.insert(name, format!("\u{0}{feature}"));
                }
            }
            Kind::Node => self.node(record)?,
            Kind::Partition => self.partition(record)?,
            Kind::Switch => {
                let text = |key: &str| record.text(key).unwrap_or_default().to_owned();
                let switch = (text("switchname"), text("nodes"), text("switches"));
                match self.switches.iter_mut().find(|known| known.0 == switch.0) {
                    Some(known) => *known = switch,
                    None => self.switches.push(switch),
                }
            }
            Kind::Qos => {
                let qos = qos(&record)?;
                match self.qos.iter_mut().find(|known| known.name == qos.name) {
                    Some(known) => *known = qos,
                    None => self.qos.push(qos),
                }
            }
            Kind::Association => {
                if let Some(one) = association(&record)? {
                    self.associations.push(one);
                }
            }
        }
        Ok(())
    }

    fn node(&mut self, mut record: Record) -> Result<(), String> {
        let list = record.text("nodename").unwrap_or_default().to_owned();
        if list == "DEFAULT" {
            self.node_defaults.values.append(&mut record.values);
            return Ok(());
        }
        for (key, value) in &self.node_defaults.values {
            record
                .values
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        if record
            .text("state")
            .is_some_and(|state| state.starts_with("FUTURE"))
        {
            return Ok(());
        }
        let names = hostlist::expand(&list)
            .ok_or_else(|| format!("NodeName={list} is no list of nodes"))?;
        let node = node(&record)?;
        for name in names {
            let node = Node {
                name: name.clone(),
                ..node.clone()
            };
            match self.numbers.get(&name) {
                Some(&number) => self.nodes[number] = node,
                None => {
                    self.numbers.insert(name, self.nodes.len());
                    self.nodes.push(node);
                }
            }
        }
        Ok(())
    }

    fn partition(&mut self, mut record: Record) -> Result<(), String> {
        let name = record.text("partitionname").unwrap_or_default().to_owned();
        if name == "DEFAULT" {
            self.partition_defaults.values.append(&mut record.values);
            return Ok(());
        }
        for (key, value) in &self.partition_defaults.values {
            record
                .values
                .entry(key.clone())
                .or_insert_with(|| value.clone());
        }
        let partition = partition(&name, &record)?;
        let nodes = record.text("nodes").unwrap_or_default().to_owned();
        let known = self.partitions.iter().position(|(one, _)| one.name == name);
        match known {
            Some(index) => self.partitions[index] = (partition, nodes),
            None => self.partitions.push((partition, nodes)),
        }
        Ok(())
    }

    /// Puts nodes into the order in which Slurm takes them (`_sort_node_record_table_ptr` of its
    /// read_config.c): by name, whatever the order of its files, or with
    /// `TopologyParam=SwitchAsNodeRank` by leaf switch.
    fn order_nodes(&mut self) {
        let topology = self.config.text("topologyparam").unwrap_or_default();
        if topology.to_ascii_lowercase().contains("switchasnoderank") {
            let mut rank_of: HashMap<String, usize> = HashMap::new();
            for (rank, (_, nodes, _)) in self.switches.iter().enumerate() {
                for node in hostlist::expand(nodes).into_iter().flatten() {
                    rank_of.insert(node, rank + 1);
                }
            }
            (self.nodes).sort_by_key(|node| rank_of.get(&node.name).copied().unwrap_or(0));
        } else {
            (self.nodes).sort_by(|a, b| in_natural_order(a.name.as_bytes(), b.name.as_bytes()));
        }
        let numbers = self.nodes.iter().enumerate();
        self.numbers = numbers
            .map(|(number, node)| (node.name.clone(), number))
            .collect();
    }

    fn finish(mut self) -> Result<(Cluster, Vec<String>, BTreeSet<String>), String> {
        if self.nodes.is_empty() {
            return Err(
                "no nodes (NodeName=…); allowed: slurm.conf, or what `scontrol show nodes` prints"
                    .to_owned(),
            );
        }
        self.order_nodes();
        let mut notes = Vec::new();
        let mut partitions = Vec::new();
        for (mut partition, list) in std::mem::take(&mut self.partitions) {
            partition.nodes = self
                .listed(&list)
                .map_err(|what| format!("partition {}: {what}", partition.name))?;
            partitions.push(partition);
        }
        if partitions.is_empty() {
            return Err(
                "no partitions (PartitionName=…); allowed: slurm.conf, or what `scontrol \
                 show partitions` prints"
                    .to_owned(),
            );
        }
        let switches = self.tree(&mut notes)?;
        let config = &self.config;
        let topology = config.text("topologyparam").unwrap_or_default();
        let is_dragonfly = topology.to_ascii_lowercase().contains("dragonfly");
        let (unit, memory) = unit(config)?;
        let cluster = Cluster {
            nodes: self.nodes,
            partitions,
            switches,
            filling: match is_dragonfly {
                true => Filling::InTurn,
                false => Filling::Tightest,
            },
            qos: self.qos,
            associations: self.associations,
            unit,
            memory,
            default_memory: default_memory(config)?,
            priority: priority(config, &mut notes)?,
            parameters: parameters(config, &mut notes)?,
            outages: Outages {
                requeue: requeue(config)?,
                ..Outages::default()
            },
            maintenance: Vec::new(),
        };
        if config
            .text("preempttype")
            .is_some_and(|name| !name.ends_with("/none"))
        {
            notes.push("PreemptType: no job is preempted".to_owned());
        }
        Ok((cluster, notes, self.config.asked.into_inner()))
    }

    /// The switches by which nodes are chosen: none without a tree, or where only jobs that ask
    /// for it get it.
    fn tree(&self, notes: &mut Vec<String>) -> Result<Vec<Switch>, String> {
        let plugin = self
            .config
            .text("topologyplugin")
            .unwrap_or("topology/none");
        let parameters = self.config.text("topologyparam").unwrap_or_default();
        let parameters = parameters.to_ascii_lowercase();
        if plugin.ends_with("/none") || plugin.ends_with("/default") {
            return Ok(Vec::new());
        }
        if !plugin.ends_with("/tree") {
            notes.push("TopologyPlugin: nodes are chosen as without a topology".to_owned());
            return Ok(Vec::new());
        }
        if parameters.contains("topooptional") {
            return Ok(Vec::new());
        }
        if self.switches.is_empty() {
            notes.push(
                "TopologyPlugin: nodes are chosen as without a topology; topology.conf, or what \
                 `scontrol show topology` prints, would name its switches"
                    .to_owned(),
            );
        }
        let names: HashMap<&str, usize> = (self.switches.iter().enumerate())
            .map(|(number, (name, ..))| (name.as_str(), number))
            .collect();
        let mut below: Vec<Vec<usize>> = Vec::new();
        let mut nodes: Vec<Vec<u32>> = Vec::new();
        for (name, list, switches) in &self.switches {
            let of = |what: String| format!("switch {name}: {what}");
            let listed = match switches.as_str() {
                "" | "(null)" => Vec::new(),
                list => hostlist::expand(list)
                    .ok_or_else(|| of(format!("Switches={list} is no list")))?,
            };
            let number = |one: &String| {
                let number = names.get(one.as_str()).copied();
                number.ok_or_else(|| of(format!("there is no switch \"{one}\"")))
            };
            below.push(listed.iter().map(number).collect::<Result<_, _>>()?);
            // `scontrol` lists all nodes of a higher switch, topology.conf none.
            let own = if listed.is_empty() { list } else { "" };
            nodes.push(self.listed(own).map_err(of)?);
        }
        let mut level: Vec<Option<u32>> = below
            .iter()
            .map(|below| below.is_empty().then_some(0))
            .collect();
        let mut left = level.iter().filter(|level| level.is_none()).count();
        while left > 0 {
            let before = left;
            for switch in 0..below.len() {
                let deepest = below[switch].iter().map(|&one| level[one]);
                let Some(deepest) = deepest.collect::<Option<Vec<u32>>>() else {
                    continue;
                };
                if level[switch].is_none() {
                    level[switch] = deepest.iter().max().map(|level| level + 1);
                    let mut all: Vec<u32> = (below[switch].iter())
                        .flat_map(|&one| nodes[one].clone())
                        .collect();
                    all.sort_unstable();
                    all.dedup();
                    nodes[switch] = all;
                    left -= 1;
                }
            }
            if left == before {
                return Err("Switches=…: a switch is above itself".to_owned());
            }
        }
        let switch = |(level, nodes): (Option<u32>, Vec<u32>)| Switch {
            level: level.unwrap_or(0),
            nodes,
        };
        Ok(level.into_iter().zip(nodes).map(switch).collect())
    }

    /// Numbers of the nodes of a partition's list.
    fn listed(&self, list: &str) -> Result<Vec<u32>, String> {
        if list == "ALL" {
            return Ok((0..self.nodes.len() as u32).collect());
        }
        let mut numbers = Vec::new();
        if list.is_empty() || list == "(null)" {
            return Ok(numbers);
        }
        let names = hostlist::expand(list).ok_or_else(|| format!("Nodes={list} is no list"))?;
        for name in names {
            if let Some(&number) = self.numbers.get(&name) {
                numbers.push(number as u32);
                continue;
            }
            match self.sets.get(&name) {
                Some(set) => match set.strip_prefix('\u{0}') {
                    Some(feature) => {
                        let has = |node: &Node| node.features.iter().any(|one| one == feature);
                        let all = self.nodes.iter().enumerate();
                        numbers.extend(all.filter(|(_, node)| has(node)).map(|(i, _)| i as u32));
                    }
                    None => numbers.extend(self.listed(set)?),
                },
                None => return Err(format!("there is no node \"{name}\"")),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

/// A key's value with a reader, if it has one.
fn read<T>(
    record: &Record,
    key: &str,
    allowed: &str,
    reader: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(text) = record.text(key) else {
        return Ok(None);
    };
    match reader(text) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("{key}={text}; allowed: {allowed}")),
    }
}

fn whole<T: std::str::FromStr>(record: &Record, key: &str) -> Result<Option<T>, String> {
    read(record, key, "a whole number", |text| text.parse().ok())
}

/// A count, or `None` for an unlimited one.
fn count(record: &Record, key: &str) -> Result<Option<u32>, String> {
    let found = read(record, key, "a whole number or UNLIMITED", |text| {
        if matches!(text, "UNLIMITED" | "INFINITE" | "NONE" | "-1") {
            return Some(None);
        }
        text.parse().ok().map(Some)
    })?;
    Ok(found.flatten())
}

/// A time limit, seconds, or `None` for an unlimited one.
fn limit(record: &Record, key: &str) -> Result<Option<i64>, String> {
    let found = read(record, key, "minutes, D-HH:MM:SS or UNLIMITED", |text| {
        if matches!(text, "UNLIMITED" | "INFINITE" | "NONE" | "-1") {
            return Some(None);
        }
        // `scontrol show config` names the unit of some.
        minutes(text.strip_suffix(" min").unwrap_or(text)).map(Some)
    })?;
    Ok(found.flatten())
}

/// Seconds of a time limit: `30`, `30:00`, `1:30:00`, `2-12`, `2-12:30`, `2-12:30:00`.
pub(super) fn minutes(text: &str) -> Option<i64> {
    let number = |text: &str| -> Option<i64> {
        let sound = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        sound.then(|| text.parse().ok()).flatten()
    };
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let fields: Vec<i64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let seconds = match (days, &fields[..]) {
        (None, [minutes]) => minutes * 60,
        (None, [minutes, seconds]) => minutes * 60 + seconds,
        (Some(_), [hours]) => hours * 3600,
        (Some(_), [hours, minutes]) => hours * 3600 + minutes * 60,
        (_, [hours, minutes, seconds]) => hours * 3600 + minutes * 60 + seconds,
        _ => return None,
    };
    Some(days.unwrap_or(0) * 86_400 + seconds)
}

fn node(record: &Record) -> Result<Node, String> {
    let threads: u32 = whole(record, "threadspercore")?.unwrap_or(1);
    let boards: u32 = whole(record, "boards")?.unwrap_or(1);
    let per_board: Option<u32> = whole(record, "socketsperboard")?;
    let sockets: Option<u32> =
        whole(record, "sockets")?.or(per_board.map(|sockets| sockets.saturating_mul(boards)));
    let cores: Option<u32> = whole(record, "corespersocket")?;
    let mut cpus: Option<u32> = None;
    for key in ["cpuefctv", "effective_cpus", "cpus", "cputot", "procs"] {
        cpus = cpus.or(whole(record, key)?.filter(|&cpus: &u32| cpus > 0));
    }
    let product = sockets
        .unwrap_or(1)
        .checked_mul(cores.unwrap_or(1))
        .and_then(|cores| cores.checked_mul(threads))
        .filter(|&product| product > 0)
        .ok_or("Sockets, CoresPerSocket and ThreadsPerCore must be 1 each at least")?;
    let cpus = cpus.unwrap_or(product);
    // Where CPUs are the cores, a job gets cores, whatever threads they have.
    let threads = if cpus.saturating_mul(threads) <= product {
        1
    } else {
        threads
    };
    let mut memory: u64 = whole(record, "realmemory")?.unwrap_or(1);
    if let Some(kept) = whole::<u64>(record, "memspeclimit")? {
        memory = memory.saturating_sub(kept);
    }
    let features = ["features", "feature", "availablefeatures"];
    let features = features
        .into_iter()
        .find_map(|key| record.text(key))
        .unwrap_or("");
    let split = |list: &str| -> Vec<String> {
        let names = list.split(',').map(str::trim);
        names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    };
    Ok(Node {
        name: String::new(),
        cpus,
        threads,
        sockets: sockets.unwrap_or(1).max(1),
        memory_mb: memory,
        features: split(features),
        gres: gres_list(record.text("gres").unwrap_or(""))?,
        weight: whole(record, "weight")?.unwrap_or(1),
    })
}

fn partition(name: &str, record: &Record) -> Result<Partition, String> {
    let yes = |key: &str| {
        record
            .text(key)
            .is_some_and(|text| text.eq_ignore_ascii_case("yes"))
    };
    let both: Option<u32> = whole(record, "priority")?;
    let sharing = record
        .text("oversubscribe")
        .or(record.text("shared"))
        .unwrap_or("");
    Ok(Partition {
        default: yes("default"),
        up: record
            .text("state")
            .is_none_or(|state| matches!(state, "UP" | "DRAIN")),
        max_time: limit(record, "maxtime")?,
        default_time: limit(record, "defaulttime")?,
        max_nodes: count(record, "maxnodes")?,
        min_nodes: count(record, "minnodes")?.unwrap_or(0),
        max_cpus_per_node: count(record, "maxcpuspernode")?,
        priority_tier: whole(record, "prioritytier")?.or(both).unwrap_or(1),
        priority_factor: whole(record, "priorityjobfactor")?.or(both).unwrap_or(1),
        exclusive: sharing.to_ascii_uppercase().starts_with("EXCLUSIVE"),
        default_memory: default_memory(record)?,
        qos: record
            .text("qos")
            .filter(|text| *text != "N/A")
            .map(str::to_owned),
        ..Partition::new(name, Vec::new())
    })
}

fn default_memory(record: &Record) -> Result<Option<Memory>, String> {
    let amount = |text: &str| match text {
        "UNLIMITED" => Some(0),
        text => text.parse().ok(),
    };
    let allowed = "MiB or UNLIMITED";
    let per_cpu = read(record, "defmempercpu", allowed, amount)?.filter(|&amount| amount > 0);
    let per_node = read(record, "defmempernode", allowed, amount)?;
    // UNLIMITED and 0: jobs that name no memory get all of a node's.
    Ok(per_cpu
        .map(Memory::PerCpu)
        .or(per_node.map(Memory::PerNode)))
}

fn unit(config: &Record) -> Result<(Unit, bool), String> {
    let plugin = config.text("selecttype").unwrap_or("select/cons_tres");
    if plugin.ends_with("/linear") {
        return Ok((Unit::Node, false));
    }
    if !plugin.ends_with("/cons_tres") && !plugin.ends_with("/cons_res") {
        return Err(format!(
            "SelectType={plugin}; allowed: select/cons_tres, select/cons_res, select/linear"
        ));
    }
    let text = config
        .text("selecttypeparameters")
        .unwrap_or("CR_Core_Memory");
    let words: Vec<String> = text
        .split([',', '+'])
        .map(|word| word.trim().to_ascii_uppercase())
        .collect();
    let has = |prefix: &str| words.iter().any(|word| word.starts_with(prefix));
    let unit = if has("CR_CPU") {
        Unit::Cpu
    } else if has("CR_SOCKET") {
        Unit::Socket
    } else {
        Unit::Core
    };
    Ok((unit, words.iter().any(|word| word.ends_with("_MEMORY"))))
}

fn priority(config: &Record, notes: &mut Vec<String>) -> Result<Priority, String> {
    match config
        .text("prioritytype")
        .unwrap_or("priority/multifactor")
    {
        "priority/basic" => return Ok(Priority::Basic),
        "priority/multifactor" => {}
        other => {
            return Err(format!(
                "PriorityType={other}; allowed: priority/basic, priority/multifactor"
            ));
        }
    }
    let default = Weights::default();
    let weight = |key: &str| whole::<f64>(config, key).map(|found| found.unwrap_or(0.0));
    let flags = config
        .text("priorityflags")
        .unwrap_or("")
        .to_ascii_uppercase();
    let flags: Vec<&str> = flags.split(',').map(str::trim).collect();
    for flag in &flags {
        if !matches!(*flag, "" | "NO_FAIR_TREE" | "FAIR_TREE" | "(NULL)") {
            notes.push(format!("PriorityFlags: {flag} is not simulated"));
        }
    }
    let mut tres = BTreeMap::new();
    for entry in config.text("priorityweighttres").unwrap_or("").split(',') {
        if let Some((name, weight)) = entry.split_once('=') {
            let value = weight
                .trim()
                .parse()
                .map_err(|_| format!("PriorityWeightTRES: \"{entry}\"; allowed: NAME=WEIGHT,…"))?;
            tres.insert(name.trim().to_ascii_lowercase(), value);
        }
    }
    // Slurm computes fair share, and priorities again and again, only with its database.
    let storage = config
        .text("accountingstoragetype")
        .unwrap_or("accounting_storage/none");
    let database = storage.ends_with("/slurmdbd");
    if !database {
        notes.push(format!(
            "AccountingStorageType={storage}: as in Slurm, priorities are computed once, when jobs \
             are submitted, and without fair share; accounting_storage/slurmdbd does more"
        ));
    }
    let weights = Weights {
        age: weight("priorityweightage")?,
        fair_share: if database {
            weight("priorityweightfairshare")?
        } else {
            0.0
        },
        job_size: weight("priorityweightjobsize")?,
        partition: weight("priorityweightpartition")?,
        qos: weight("priorityweightqos")?,
        tres,
        max_age_s: limit(config, "prioritymaxage")?.unwrap_or(default.max_age_s),
        half_life_s: limit(config, "prioritydecayhalflife")?.unwrap_or(default.half_life_s),
        calc_period_s: if database {
            limit(config, "prioritycalcperiod")?
                .unwrap_or(default.calc_period_s)
                .max(1)
        } else {
            0
        },
        favour_small: config
            .text("priorityfavorsmall")
            .is_some_and(|text| text.eq_ignore_ascii_case("yes") || text == "1"),
        fair_tree: !flags.contains(&"NO_FAIR_TREE"),
        damping: whole::<f64>(config, "fairsharedampeningfactor")?
            .unwrap_or(1.0)
            .max(1.0),
    };
    Ok(Priority::Multifactor(weights))
}

/// `SchedulerParameters` that change nothing in a simulation: they are about the
/// controller's load, or about what is not simulated at all.
const WITHOUT_EFFECT: [&str; 22] = [
    "max_rpc_cnt",
    "max_rpc_count",
    "sched_min_interval",
    "max_sched_time",
    "build_queue_timeout",
    "bf_yield_rpc_cnt",
    "bf_node_space_size",
    "bf_ignore_newly_avail_nodes",
    "bf_running_job_reserve",
    "bf_job_part_count_reserve",
    "nohold_on_prolog_fail",
    "enable_user_top",
    "permit_job_expansion",
    "max_array_tasks",
    "max_depend_depth",
    "pack_serial_at_end",
    "preempt_youngest_first",
    "requeue_setup_env_fail",
    "salloc_wait_nodes",
    "sbatch_wait_nodes",
    "max_script_size",
    "disable_user_top",
];

/// Whether jobs that a failure ends are requeued.
fn requeue(config: &Record) -> Result<bool, String> {
    match config.text("jobrequeue") {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(format!("JobRequeue={other}; allowed: 0, 1")),
    }
}

fn parameters(config: &Record, notes: &mut Vec<String>) -> Result<Parameters, String> {
    let mut parameters = Parameters::default();
    match config.text("schedulertype").unwrap_or("sched/backfill") {
        "sched/backfill" => {}
        "sched/builtin" => parameters.backfill = false,
        other => {
            return Err(format!(
                "SchedulerType={other}; allowed: sched/backfill, sched/builtin"
            ));
        }
    }
    if let Some(minutes) = limit(config, "overtimelimit")? {
        parameters.over_time_limit = minutes;
    }
    if let Some(text) = config.text("killwait") {
        let digits = text.split_whitespace().next().unwrap_or(text);
        parameters.kill_wait = digits
            .parse()
            .map_err(|_| format!("KillWait={text}; allowed: seconds"))?;
    }
    for entry in config.text("authinfo").unwrap_or("").split(',') {
        if let Some(("cred_expire", value)) = entry.trim().split_once('=') {
            let seconds = value
                .parse()
                .ok()
                .filter(|value| (0..=1 << 40).contains(value));
            parameters.requeue_delay = seconds
                .ok_or_else(|| format!("AuthInfo: cred_expire={value}; allowed: seconds"))?;
        }
    }
    let epilog = config.text("epilog");
    parameters.epilog = epilog.is_some_and(|path| !path.is_empty() && path != "(null)");
    let mut max_time = None;
    for entry in config.text("schedulerparameters").unwrap_or("").split(',') {
        let (name, value) = match entry.trim().split_once('=') {
            Some((name, value)) => (name, value),
            None => (entry.trim(), ""),
        };
        let number = || -> Result<i64, String> {
            let found = value
                .parse::<i64>()
                .ok()
                .filter(|value| (-1..=1 << 40).contains(value));
            found.ok_or_else(|| {
                format!("SchedulerParameters: {name}={value}; allowed: a whole number")
            })
        };
        let small = || number().map(|value| u32::try_from(value).unwrap_or(0));
        let p = &mut parameters;
        match name.to_ascii_lowercase().as_str() {
            "" | "(null)" => {}
            "default_queue_depth" => p.default_queue_depth = small()?,
            "sched_interval" => p.sched_interval = number()?,
            "batch_sched_delay" => p.batch_sched_delay = number()?.max(0),
            "partition_job_depth" => p.partition_job_depth = small()?,
            "sched_max_job_start" => p.sched_max_job_start = small()?,
            "defer" | "defer_batch" => p.defer = true,
            // −1 turns it off.
            "bf_interval" if number()? == -1 => p.backfill = false,
            "bf_interval" => p.bf_interval = number()?,
            "bf_window" => p.bf_window = number()?.saturating_mul(60),
            "bf_resolution" => p.bf_resolution = number()?,
            "bf_max_job_test" | "max_job_bf" => p.bf_max_job_test = small()?,
            "bf_max_job_start" => p.bf_max_job_start = small()?,
            "bf_max_job_user" => p.bf_max_job_user = small()?,
            "bf_max_job_part" => p.bf_max_job_part = small()?,
            "bf_max_job_user_part" => p.bf_max_job_user_part = small()?,
            "bf_max_time" => max_time = Some(number()?),
            "bf_continue" => p.bf_continue = true,
            "bf_yield_interval" => p.bf_yield_interval = number()? as f64 / 1e6,
            "bf_yield_sleep" => p.bf_yield_sleep = number()? as f64 / 1e6,
            "bf_min_age_reserve" => p.bf_min_age_reserve = number()?.max(0),
            "bf_min_prio_reserve" => p.bf_min_prio_reserve = number()?.max(0) as u64,
            "bf_job_part_count_reserve" => p.bf_job_part_count_reserve = small()?,
            "assoc_limit_stop" => p.assoc_limit_stop = true,
            known if WITHOUT_EFFECT.contains(&known) => {}
            _ => notes.push(format!("SchedulerParameters: {name} is not simulated")),
        }
    }
    parameters.bf_max_time = max_time.unwrap_or(parameters.bf_interval);
    Ok(parameters)
}

/// Limits such as `cpu=512,gres/gpu=16,mem=3600G`.
fn tres(text: &str) -> Result<Tres, String> {
    let mut found = Tres::new();
    for entry in text
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
    {
        let allowed = || format!("\"{entry}\"; allowed: NAME=AMOUNT,…");
        let (name, amount) = entry.split_once('=').ok_or_else(allowed)?;
        let amount = if name == "mem" {
            mebibytes(amount, 'M').ok_or_else(allowed)?
        } else {
            amount.parse().map_err(|_| allowed())?
        };
        found.insert(name.to_owned(), amount);
    }
    Ok(found)
}

fn qos(record: &Record) -> Result<Qos, String> {
    let name = record.text("name").ok_or("a QOS without Name")?;
    let limits = |keys: &[&str]| -> Result<Tres, String> {
        let text = keys.iter().find_map(|key| record.text(key)).unwrap_or("");
        tres(text).map_err(|what| format!("QOS {name}: {}: {what}", keys[0]))
    };
    Ok(Qos {
        name: name.to_owned(),
        priority: whole(record, "priority")?.unwrap_or(0),
        group: limits(&["grptres"])?,
        group_jobs: count(record, "grpjobs")?,
        job: limits(&["maxtres", "maxtresperjob"])?,
        node: limits(&["maxtrespernode"])?,
        user: limits(&["maxtrespu", "maxtresperuser"])?,
        user_jobs: count(record, "maxjobspu")?.or(count(record, "maxjobsperuser")?),
        account: limits(&["maxtrespa", "maxtresperaccount"])?,
        account_jobs: count(record, "maxjobspa")?.or(count(record, "maxjobsperaccount")?),
        least: limits(&["mintres", "mintresperjob"])?,
        max_wall: limit(record, "maxwall")?,
        usage_factor: whole(record, "usagefactor")?.unwrap_or(1.0),
    })
}

/// An account or user of `sacctmgr show assoc` or `sshare`; `None` for one that has a
/// share of its own in a partition only.
fn association(record: &Record) -> Result<Option<Association>, String> {
    if record.text("partition").is_some() {
        return Ok(None);
    }
    let account = record
        .text("account")
        .ok_or("an association without Account")?;
    let shares = ["share", "fairshare", "rawshares"]
        .into_iter()
        .find_map(|key| record.text(key));
    let shares = match shares {
        None => 1.0,
        // `parent`: the users of an account share as one with it.
        Some("parent") => 1.0,
        Some(text) => text
            .parse::<f64>()
            .ok()
            .filter(|shares| (0.0..=1e12).contains(shares))
            .ok_or_else(|| format!("Share={text} of account {account}; allowed: a number"))?,
    };
    let parent = ["par name", "parentname"]
        .into_iter()
        .find_map(|key| record.text(key));
    Ok(Some(Association {
        account: account.to_owned(),
        user: record.text("user").map(str::to_owned),
        parent: parent.map(str::to_owned),
        shares,
    }))
}

/// Names with their numbers by value, `n2` before `n10`; of two numbers one of which begins with 0,
/// digit by digit (Slurm's `strnatcmp`).
fn in_natural_order(mut a: &[u8], mut b: &[u8]) -> Ordering {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    loop {
        let (of_a, of_b) = (digits(a), digits(b));
        if of_a == 0 || of_b == 0 {
            let (Some(&first), Some(&second)) = (a.first(), b.first()) else {
                return a.len().cmp(&b.len());
            };
            if first != second {
                return first.cmp(&second);
            }
            (a, b) = (&a[1..], &b[1..]);
            continue;
        }
        let by_digit = a[0] == b'0' || b[0] == b'0';
        let by_length = if by_digit {
            Ordering::Equal
        } else {
            of_a.cmp(&of_b)
        };
        let order = by_length.then_with(|| a[..of_a].cmp(&b[..of_b]));
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (&a[of_a..], &b[of_b..]);
    }
}
