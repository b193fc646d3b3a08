//! Result tables as plain columns: what a run measured, ready for Arrow, numpy
//! or a file. Units are in the columns' names; −1 and NaN stand for no value.

mod attribution;

use std::ops::ControlFlow;

use odonata_declare::Named;
use odonata_load::CollectiveKind;
use odonata_network::{LinkKind, Peer, Topology};
use odonata_run::{Histogram, JobOutcome, LinkOutcome, Progress, RankActivity, RankTimes};
use odonata_units::{NodeId, PortId, RouterId};
use serde::Serialize;

use crate::error::Error;
use crate::finished::{Run, mean_index};
use crate::spec::{Crossbar, Family, Job, Load, Network, Offered, Pattern, Scenario, Traffic};
use crate::statistics::Interval;
use crate::steady::JobStatistics;

/// A named column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Small codes, such as of link classes.
    I8(Vec<i8>),
    /// Ids.
    I32(Vec<i32>),
    /// Times, sizes and counts.
    I64(Vec<i64>),
    /// Rates, means and fractions.
    F64(Vec<f64>),
    /// Names.
    Text(Vec<String>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::I8(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table; all columns have the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Columns by name, in order.
    pub columns: Vec<(String, Column)>,
}

impl Table {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            columns: Vec::new(),
        }
    }

    pub(crate) fn i8(&mut self, name: &str, values: impl Iterator<Item = u8>) {
        let column = Column::I8(values.map(|value| value as i8).collect());
        self.columns.push((name.to_owned(), column));
    }

    pub(crate) fn i32(&mut self, name: &str, values: impl Iterator<Item = i32>) {
        let column = Column::I32(values.collect());
        self.columns.push((name.to_owned(), column));
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        found.map(|(_, column)| column)
    }
}

/// Code of a kind of link in the `kind` columns.
pub(crate) fn kind_code(kind: LinkKind) -> u8 {
    match kind {
        LinkKind::Terminal => 0,
        LinkKind::Local => 1,
        LinkKind::Global => 2,
    }
}

fn id(value: u32) -> i32 {
    value as i32
}

/// A column of a result, for whoever reads or describes results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnDeclaration {
    /// Ends in the unit where there is one.
    pub name: String,
    /// What its values are: `i8`, `i32`, `i64`, `f64` or `text`.
    pub kind: &'static str,
    /// What it holds.
    pub text: String,
    /// Whether rows without a value exist.
    pub may_be_none: bool,
    /// The texts that its codes stand for.
    pub names: Option<Vec<&'static str>>,
    /// The entry of the run's scalars that lists them.
    pub meta: Option<&'static str>,
}

impl ColumnDeclaration {
    /// Rows without a value exist.
    fn or_none(&mut self) -> &mut Self {
        self.may_be_none = true;
        self
    }

    /// Its codes stand for these.
    fn names(&mut self, names: &[&'static str]) {
        self.names = Some(names.to_vec());
    }

    /// Its codes stand for what that scalar of the run lists.
    fn meta(&mut self, scalar: &'static str) {
        self.meta = Some(scalar);
    }
}

/// A table of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultDeclaration {
    /// Its name.
    pub name: &'static str,
    /// What one row is, and in which order they come.
    pub text: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnDeclaration>,
}

/// A table while it is filled, with what is said of its columns.
struct Filling {
    table: Table,
    declaration: ResultDeclaration,
}

impl Filling {
    fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            table: Table::new(name),
            declaration: ResultDeclaration {
                name,
                text,
                columns: Vec::new(),
            },
        }
    }

    fn add(
        &mut self,
        name: &str,
        text: &str,
        kind: &'static str,
        column: Column,
    ) -> &mut ColumnDeclaration {
        let columns = &mut self.declaration.columns;
        self.table.columns.push((name.to_owned(), column));
        let place = columns.len();
        columns.push(ColumnDeclaration {
            name: name.to_owned(),
            kind,
            text: text.to_owned(),
            may_be_none: false,
            names: None,
            meta: None,
        });
        &mut columns[place]
    }

    fn i8(
        &mut self,
        name: &str,
        text: &str,
        values: impl Iterator<Item = u8>,
    ) -> &mut ColumnDeclaration {
        let column = Column::I8(values.map(|value| value as i8).collect());
        self.add(name, text, "i8", column)
    }

    fn i32(
        &mut self,
        name: &str,
        text: &str,
        values: impl Iterator<Item = i32>,
    ) -> &mut ColumnDeclaration {
        self.add(name, text, "i32", Column::I32(values.collect()))
    }

    fn i64(
        &mut self,
        name: &str,
        text: &str,
        values: impl Iterator<Item = u64>,
    ) -> &mut ColumnDeclaration {
        let column = Column::I64(values.map(|value| value as i64).collect());
        self.add(name, text, "i64", column)
    }

    fn i64_or_none(&mut self, name: &str, text: &str, values: impl Iterator<Item = Option<u64>>) {
        let column = Column::I64(values.map(|v| v.map_or(-1, |v| v as i64)).collect());
        self.add(name, text, "i64", column).or_none();
    }

    fn f64(
        &mut self,
        name: &str,
        text: &str,
        values: impl Iterator<Item = f64>,
    ) -> &mut ColumnDeclaration {
        self.add(name, text, "f64", Column::F64(values.collect()))
    }

    fn text(&mut self, name: &str, text: &str, values: impl Iterator<Item = String>) {
        self.add(name, text, "text", Column::Text(values.collect()));
    }
}

/// What is said of all tables and columns of a result.
///
/// # Errors
/// If the smallest run fails, by which they are filled.
pub fn result_tables() -> Result<Vec<ResultDeclaration>, Error> {
    let nodes = Family::Crossbar(Crossbar { nodes: 2 });
    let mut scenario = Scenario::new(Network::new(nodes));
    scenario.simulation.duration_ps = Some(1);
    let traffic = Traffic::new(Pattern::UniformRandom, 1, Offered::IntervalPs(1_000));
    scenario.jobs = vec![Job::new("job", 2, Load::Traffic(traffic))];
    let run = crate::run::run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))?;
    Ok(filled(&run)
        .into_iter()
        .map(|table| table.declaration)
        .collect())
}

impl Run {
    /// What was measured, as tables.
    pub fn tables(&self) -> Vec<Table> {
        filled(self)
            .into_iter()
            .map(|filled| filled.table)
            .collect()
    }
}

fn filled(run: &Run) -> Vec<Filling> {
    vec![
        jobs(run),
        links(run),
        routers(run),
        timeline(run),
        statistics(run),
        histograms(run),
        routers_visited(run),
        iterations(run),
        placement(run),
        messages(run),
        ranks(run),
        rank_activity(run),
        message_sizes(run),
        communication(run),
        attribution::link_jobs(run),
        attribution::link_waits(run),
        attribution::arrivals(run),
    ]
}

fn jobs(run: &Run) -> Filling {
    let seconds = run.measured_ps() as f64 * 1e-12;
    let rate = |bytes: u64| {
        if seconds > 0.0 {
            bytes as f64 / seconds
        } else {
            0.0
        }
    };
    let each = || run.outcome.jobs.iter();
    let planned = || run.jobs.iter();
    let mut table = Filling::new(
        "jobs",
        "One row per job, in the order of the scenario. Latencies and bandwidths count \
             what was created after warm-up; quantiles are exact to 0.4 %, minimum, maximum \
             and mean are exact.",
    );
    table.i32("job", "row number, from 0", 0..run.jobs.len() as i32);
    table.text(
        "name",
        "name in the scenario",
        planned().map(|job| job.plan.name.clone()),
    );
    table.i32(
        "nodes",
        "nodes that it occupies",
        planned().map(|job| job.nodes.len() as i32),
    );
    table.i32(
        "ranks",
        "ranks",
        planned().map(|job| job.plan.node_of_rank.len() as i32),
    );
    table.i64(
        "start_ps",
        "simulated time at which it starts",
        each().map(|job| job.start.0),
    );
    table.i64_or_none(
        "end_ps",
        "simulated time at which its last rank finished, or the last byte of traffic \
             with a number of messages arrived; none for traffic without end and for jobs \
             that the end of the run cut off",
        each().map(|job| job.end.map(|end| end.0)),
    );
    table.i64(
        "messages_created",
        "messages handed to a network interface",
        each().map(|job| job.messages_created),
    );
    table.i64(
        "messages_delivered",
        "messages that arrived whole",
        each().map(|job| job.messages_delivered),
    );
    table.i64(
        "bytes_created",
        "bytes of the created messages",
        each().map(|job| job.bytes_created),
    );
    table.i64(
        "bytes_delivered",
        "bytes that arrived",
        each().map(|job| job.bytes_delivered),
    );
    table.f64(
        "offered_bytes_per_s",
        "bytes created after warm-up per second of measured time, over all its nodes",
        each().map(|job| rate(job.bytes_created_measured)),
    );
    table.f64(
        "accepted_bytes_per_s",
        "bytes delivered after warm-up per second of measured time, over all its nodes",
        each().map(|job| rate(job.bytes_delivered_measured)),
    );
    latencies(
        &mut table,
        run,
        (
            "message_latency",
            "time from a message's creation to the arrival of its last byte",
        ),
        |job| &job.message_latency_ps,
    );
    latencies(
        &mut table,
        run,
        (
            "packet_latency",
            "time from the creation of a packet's message to the arrival of the packet's \
             tail",
        ),
        |job| &job.packet_latency_ps,
    );
    table
        .f64(
            "mean_routers_visited",
            "routers that a packet passed, source and destination router included; mean",
            each().map(|job| mean_index(&job.routers_visited)),
        )
        .or_none();
    table.f64(
        "compute_ps",
        "time that its ranks computed, summed over ranks",
        each().map(|job| job.compute_ps as f64),
    );
    table.f64(
        "wait_ps",
        "time that its ranks waited for messages, summed over ranks",
        each().map(|job| job.wait_ps as f64),
    );
    table.i64(
        "unreceived_messages",
        "messages that came, or asked to come, and that no rank received",
        each().map(|job| job.unreceived_messages),
    );
    table
}

fn latencies(
    table: &mut Filling,
    run: &Run,
    (quantity, text): (&str, &str),
    of: impl Fn(&JobOutcome) -> &Histogram,
) {
    type Figure = fn(&Histogram) -> Option<u64>;
    let figures: [(&str, &str, Figure); 6] = [
        ("min", "smallest", |h| h.min()),
        ("p25", "lower quartile of the", |h| h.quantile(0.25)),
        ("median", "median", |h| h.quantile(0.5)),
        ("p75", "upper quartile of the", |h| h.quantile(0.75)),
        ("p99", "99th percentile of the", |h| h.quantile(0.99)),
        ("max", "largest", |h| h.max()),
    ];
    for (name, words, figure) in figures {
        let values = run.outcome.jobs.iter().map(|job| figure(of(job)));
        let name = format!("{quantity}_{name}_ps");
        table.i64_or_none(&name, &format!("{words} {text}"), values);
    }
    let means = run.outcome.jobs.iter();
    let means = means.map(|job| of(job).mean().unwrap_or(f64::NAN));
    let name = format!("{quantity}_mean_ps");
    table.f64(&name, &format!("mean {text}"), means).or_none();
}

/// Both ends of one direction of a link.
struct Direction<'a> {
    port: PortId,
    from_router: i32,
    from_node: i32,
    to_router: i32,
    to_node: i32,
    from_group: i32,
    to_group: i32,
    outcome: &'a LinkOutcome,
}

/// One row per direction: what router ports send, in port order, then what
/// nodes send.
fn directions<'a>(topology: &'a Topology, run: &'a Run) -> Vec<Direction<'a>> {
    let router_of_port = topology.router_of_every_port();
    let group = |router: RouterId| id(topology.group_of_router[router.index()].0);
    let mut rows = Vec::with_capacity(topology.ports() + topology.nodes());
    for (index, peer) in topology.peer.iter().enumerate() {
        let from = router_of_port[index];
        let (to_router, to_node, to_group) = match *peer {
            Peer::Unconnected => continue,
            Peer::Node(node) => (-1, id(node.0), group(from)),
            Peer::Port(port) => {
                let to = router_of_port[port.index()];
                (id(to.0), -1, group(to))
            }
        };
        rows.push(Direction {
            port: PortId::from_index(index),
            from_router: id(from.0),
            from_node: -1,
            to_router,
            to_node,
            from_group: group(from),
            to_group,
            outcome: &run.outcome.ports[index],
        });
    }
    for (node, &port) in topology.port_of_node.iter().enumerate() {
        let to = router_of_port[port.index()];
        rows.push(Direction {
            port,
            from_router: -1,
            from_node: id(NodeId::from_index(node).0),
            to_router: id(to.0),
            to_node: -1,
            from_group: group(to),
            to_group: group(to),
            outcome: &run.outcome.injection[node],
        });
    }
    rows
}

fn links(run: &Run) -> Filling {
    let topology = &run.topology;
    let rows = directions(topology, run);
    let each = || rows.iter();
    let class = |row: &Direction<'_>| topology.link_class(row.port);
    let measured = run.measured_ps() as f64;
    let mut table = Filling::new(
        "links",
        "One row per direction of every link: first what each router port sends, in \
             port order, then what each node sends into its router. Counted from warm-up \
             on.",
    );
    table.i64("link", "row number, from 0", 0..rows.len() as u64);
    table
        .i8(
            "kind",
            "`terminal`, `local` or `global`",
            each().map(|row| kind_code(class(row).kind)),
        )
        .names(LinkKind::NAMES);
    table
        .i8(
            "class",
            "link class of the scenario",
            each().map(|row| topology.class_of_port[row.port.index()].0),
        )
        .meta("link_classes");
    table
        .i32(
            "from_router",
            "sending router; none if a node sends",
            each().map(|row| row.from_router),
        )
        .or_none();
    table
        .i32(
            "from_node",
            "sending node; none if a router sends",
            each().map(|row| row.from_node),
        )
        .or_none();
    table
        .i32(
            "to_router",
            "receiving router; none if a node receives",
            each().map(|row| row.to_router),
        )
        .or_none();
    table
        .i32(
            "to_node",
            "receiving node; none if a router receives",
            each().map(|row| row.to_node),
        )
        .or_none();
    table.i32(
        "from_group",
        "group of the sender",
        each().map(|row| row.from_group),
    );
    table.i32(
        "to_group",
        "group of the receiver",
        each().map(|row| row.to_group),
    );
    table
        .i32(
            "port",
            "port of the sending router; none for a node",
            each().map(|row| match row.from_router {
                -1 => -1,
                router => id(row.port.0 - topology.first_port[router as usize]),
            }),
        )
        .or_none();
    table.i64(
        "bandwidth_bytes_per_s",
        "bandwidth",
        each().map(|row| class(row).bandwidth.bytes_per_second()),
    );
    table.i64(
        "latency_ps",
        "latency of the wire",
        each().map(|row| class(row).latency.0),
    );
    table.i64(
        "bytes",
        "bytes sent in the measured time; of packets that its borders cut, the part \
             within",
        each().map(|row| row.outcome.bytes),
    );
    table.i64(
        "packets",
        "packets begun in the measured time",
        each().map(|row| row.outcome.packets),
    );
    table.i64(
        "busy_ps",
        "time during which it was sending, of the measured time",
        each().map(|row| row.outcome.busy_ps),
    );
    table.i64(
        "stall_ps",
        "time during which it was free and packets waited for it, but the buffer at its \
             other end had no room for any of them",
        each().map(|row| row.outcome.stall_ps),
    );
    table.f64(
        "utilisation",
        "`busy_ps` as a fraction of the measured time; never above 1",
        each().map(|row| {
            if measured > 0.0 {
                row.outcome.busy_ps as f64 / measured
            } else {
                0.0
            }
        }),
    );
    table
}

fn routers(run: &Run) -> Filling {
    let topology = &run.topology;
    // Row and column exist in two-dimensional groups only.
    let place = |router: usize| topology.position_in_group.get(router);
    let each = || 0..topology.routers();
    let mut table = Filling::new("routers", "One row per router.");
    table.i32(
        "router",
        "row number, from 0",
        each().map(|router| id(router as u32)),
    );
    table.i32(
        "group",
        "group that it belongs to",
        topology.group_of_router.iter().map(|group| id(group.0)),
    );
    table
        .i32(
            "row",
            "its row, in two-dimensional groups",
            each().map(|router| place(router).map_or(-1, |place| i32::from(place.0))),
        )
        .or_none();
    table
        .i32(
            "column",
            "its column, in two-dimensional groups",
            each().map(|router| place(router).map_or(-1, |place| i32::from(place.1))),
        )
        .or_none();
    table
}

fn timeline(run: &Run) -> Filling {
    let timeline = &run.outcome.timeline;
    let jobs = run.jobs.len();
    let rows = timeline.activity.len();
    let each = || timeline.activity.iter();
    let mut table = Filling::new(
        "timeline",
        "One row per slice of time and job, over the whole run (warm-up included).",
    );
    table.i64(
        "time_ps",
        "start of the slice",
        (0..rows).map(|row| (row / jobs.max(1)) as u64 * timeline.bin.0),
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        (0..rows).map(|row| (row % jobs.max(1)) as i32),
    );
    table.i64(
        "injected_bytes",
        "bytes that its nodes sent into the network",
        each().map(|a| a.injected_bytes),
    );
    table.i64(
        "delivered_bytes",
        "bytes that its nodes received",
        each().map(|a| a.delivered_bytes),
    );
    table.i64(
        "messages",
        "messages that arrived whole",
        each().map(|a| a.messages),
    );
    table.i64(
        "message_latency_sum_ps",
        "sum of these messages' latencies, from creation to the arrival of the last \
             byte",
        each().map(|a| a.latency_ps),
    );
    table
}

/// What the `statistics` table says of a quantity of a job.
struct Row<'r> {
    job: &'r JobStatistics,
    quantity: u8,
    /// The interval, and what its unit is in that of the table.
    interval: Option<&'r Interval>,
    unit: f64,
}

fn statistics(run: &Run) -> Filling {
    let rows: Vec<Row<'_>> = run
        .statistics
        .iter()
        .flat_map(|job| {
            let row = |quantity, interval, unit| Row {
                job,
                quantity,
                interval,
                unit,
            };
            [
                row(0, job.latency_ps.as_ref(), 1.0),
                row(1, job.accepted.as_ref(), 1e12),
            ]
        })
        .collect();
    let each = || rows.iter();
    let number = |row: &Row<'_>, of: fn(&Interval) -> f64| row.interval.map_or(f64::NAN, of);
    let mut table = Filling::new(
        "statistics",
        "How sure the means of open-loop traffic are: one row per job with traffic and \
             quantity. A 95 % confidence interval by batch means over what arrived after \
             warm-up (see [statistics](statistics.md)).",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        each().map(|row| row.job.job as i32),
    );
    table
        .i8(
            "quantity",
            "`message_latency` (mean in ps) or `accepted` (bytes delivered per second)",
            each().map(|row| row.quantity),
        )
        .names(&["message_latency", "accepted"]);
    table
        .f64(
            "mean",
            "mean, in the quantity's unit",
            each().map(|row| number(row, |i| i.mean) * row.unit),
        )
        .or_none();
    table
        .f64(
            "ci95",
            "half the width of the interval; none for the rate of a job that has ended",
            each().map(|row| number(row, |i| i.half_width) * row.unit),
        )
        .or_none();
    table.i32(
        "batches",
        "batches that it was computed from",
        each().map(|row| row.interval.map_or(0, |i| i.batches as i32)),
    );
    table.i64(
        "batch_ps",
        "simulated time of a batch",
        each().map(|row| row.interval.map_or(0, |i| i.batch as u64 * row.job.slice.0)),
    );
    table
        .f64(
            "autocorrelation",
            "correlation of successive batches",
            each().map(|row| number(row, |i| i.correlation)),
        )
        .or_none();
    table.i8(
        "uncorrelated",
        "1 if the batches pass as uncorrelated; 0 if the interval may be too narrow",
        each().map(|row| u8::from(row.interval.is_some_and(|i| i.uncorrelated))),
    );
    table.i64(
        "from_ps",
        "simulated time from which messages count",
        each().map(|row| row.job.from.0),
    );
    table.i64_or_none(
        "warmup_end_ps",
        "where the job's warm-up ends by MSER-5 over the whole run; none if the run \
             shows no steady state",
        each().map(|row| row.job.warmup_end.map(|end| end.0)),
    );
    table
}

fn histograms(run: &Run) -> Filling {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        let quantities = [&outcome.message_latency_ps, &outcome.packet_latency_ps];
        for (quantity, histogram) in (0u8..).zip(quantities) {
            for (low, high, count) in histogram.buckets() {
                rows.push((job as i32, quantity, low, high, count));
            }
        }
    }
    let mut table = Filling::new(
        "histograms",
        "Latency distributions: one row per job, quantity and bucket that is not empty. \
             A bucket is at most 1/128 as wide as its values.",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        rows.iter().map(|row| row.0),
    );
    table
        .i8(
            "quantity",
            "`message_latency` or `packet_latency`, as in `jobs`",
            rows.iter().map(|row| row.1),
        )
        .names(&["message_latency", "packet_latency"]);
    table.i64(
        "low_ps",
        "smallest value of the bucket",
        rows.iter().map(|row| row.2),
    );
    table.i64(
        "high_ps",
        "largest value of the bucket",
        rows.iter().map(|row| row.3),
    );
    table.i64(
        "count",
        "messages or packets in it",
        rows.iter().map(|row| row.4),
    );
    table
}

fn routers_visited(run: &Run) -> Filling {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (routers, &packets) in outcome.routers_visited.iter().enumerate() {
            if packets > 0 {
                rows.push((job as i32, routers as i32, packets));
            }
        }
    }
    let mut table = Filling::new(
        "routers_visited",
        "How far packets travelled: one row per job and number of routers.",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        rows.iter().map(|row| row.0),
    );
    table.i32(
        "routers",
        "routers passed, source and destination router included",
        rows.iter().map(|row| row.1),
    );
    table.i64(
        "packets",
        "packets that passed so many",
        rows.iter().map(|row| row.2),
    );
    table
}

fn iterations(run: &Run) -> Filling {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (iteration, end) in outcome.iteration_end.iter().enumerate() {
            rows.push((job as i32, iteration as i32, end.0));
        }
    }
    let mut table = Filling::new(
        "iterations",
        "Progress of closed-loop jobs: one row per job and iteration.",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        rows.iter().map(|row| row.0),
    );
    table.i32("iteration", "from 0", rows.iter().map(|row| row.1));
    table.i64(
        "end_ps",
        "simulated time at which its slowest rank ended it",
        rows.iter().map(|row| row.2),
    );
    table
}

fn placement(run: &Run) -> Filling {
    let topology = &run.topology;
    let mut rows = Vec::new();
    for (job, planned) in run.jobs.iter().enumerate() {
        for (rank, &node) in planned.plan.node_of_rank.iter().enumerate() {
            let router = topology.router_of_node(node);
            let group = topology.group_of_router[router.index()];
            rows.push([
                job as i32,
                rank as i32,
                id(node.0),
                id(router.0),
                id(group.0),
            ]);
        }
    }
    let mut table = Filling::new(
        "placement",
        "Where each rank sat: one row per job and rank.",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        rows.iter().map(|row| row[0]),
    );
    table.i32("rank", "rank within the job", rows.iter().map(|row| row[1]));
    table.i32("node", "its node", rows.iter().map(|row| row[2]));
    table.i32("router", "the node's router", rows.iter().map(|row| row[3]));
    table.i32("group", "the router's group", rows.iter().map(|row| row[4]));
    table
}

/// How the ranks of closed-loop jobs spent their time.
fn ranks(run: &Run) -> Filling {
    let jobs = run.outcome.jobs.iter().enumerate();
    let rows: Vec<(usize, usize, &RankTimes)> = jobs
        .flat_map(|(job, outcome)| {
            let ranks = outcome.ranks.iter().enumerate();
            ranks.map(move |(rank, times)| (job, rank, times))
        })
        .collect();
    let each = || rows.iter();
    let mut table = Filling::new(
        "ranks",
        "How the ranks of closed-loop jobs spent their time, from the job's start until \
             the rank finished: one row per job and rank. The columns up to `collective_ps` \
             add up to `total_ps`.",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        each().map(|row| row.0 as i32),
    );
    table.i32(
        "rank",
        "rank within the job",
        each().map(|row| row.1 as i32),
    );
    let outside =
        |activity: RankActivity| each().map(move |row| row.2.outside_ps[activity as usize]);
    table.i64(
        "compute_ps",
        "time computing, outside of collectives",
        outside(RankActivity::Compute),
    );
    table.i64(
        "send_overhead_ps",
        "time busy with handing over messages",
        outside(RankActivity::Send),
    );
    table.i64(
        "receive_overhead_ps",
        "time busy with taking in messages",
        outside(RankActivity::Receive),
    );
    table.i64(
        "send_wait_ps",
        "time with nothing to do until its own messages had been sent",
        outside(RankActivity::WaitToSend),
    );
    table.i64(
        "receive_wait_ps",
        "time with nothing to do until others' messages came",
        outside(RankActivity::WaitToReceive),
    );
    table.i64(
        "collective_ps",
        "time in blocking collectives, whatever it did there",
        each().map(|row| row.2.collective_ps.iter().sum()),
    );
    let collective = each().map(|row| row.2.collective_ps[RankActivity::Compute as usize]);
    table.i64(
        "collective_compute_ps",
        "part of it: time combining data",
        collective,
    );
    table.i64("total_ps", "all of it", each().map(|row| row.2.total()));
    table
}

/// What ranks did when, if recorded.
fn rank_activity(run: &Run) -> Filling {
    let each = || run.outcome.rank_intervals.iter();
    let mut table = Filling::new(
        "rank_activity",
        "What every rank did when: one row per job, rank and interval, in this order \
             (`[record] rank_activity = true` in the scenario; none by default).",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        each().map(|i| id(i.job)),
    );
    table.i32("rank", "rank within the job", each().map(|i| id(i.rank.0)));
    table.i64(
        "begin_ps",
        "simulated time at which it began",
        each().map(|i| i.begin.0),
    );
    table.i64("end_ps", "and ended", each().map(|i| i.end.0));
    table
        .i8(
            "activity",
            "`compute`; `send`, `receive`: busy with handing over or taking in messages; \
             `wait-to-send`, `wait-to-receive`: nothing to do until messages have been sent \
             or have come",
            each().map(|i| i.activity as u8),
        )
        .names(&RankActivity::ALL.map(RankActivity::name));
    table
        .i8(
            "collective",
            "the blocking collective that it was in",
            each().map(|i| i.collective.map_or(u8::MAX, |kind| kind as u8)),
        )
        .or_none()
        .names(CollectiveKind::NAMES);
    table
        .i32(
            "cause_rank",
            "of a wait: the sender of the message that ended it",
            each().map(|i| i.cause.map_or(-1, |(rank, _)| id(rank.0))),
        )
        .or_none();
    table.i64_or_none(
        "cause_ps",
        "simulated time at which that rank wanted to send it",
        each().map(|i| i.cause.map(|(_, time)| time.0)),
    );
    table
}

/// Sizes of the messages of closed-loop jobs.
fn message_sizes(run: &Run) -> Filling {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (low, high, count) in outcome.message_bytes.buckets() {
            rows.push((job as i32, low, high, count));
        }
    }
    let mut table = Filling::new(
        "message_sizes",
        "Sizes of the messages of closed-loop jobs: one row per job and bucket that is \
             not empty. A bucket is at most 1/128 as wide as its values.",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        rows.iter().map(|row| row.0),
    );
    table.i64(
        "low_bytes",
        "smallest size in the bucket",
        rows.iter().map(|row| row.1),
    );
    table.i64(
        "high_bytes",
        "largest size in the bucket",
        rows.iter().map(|row| row.2),
    );
    table.i64("count", "messages", rows.iter().map(|row| row.3));
    table
}

/// Who sent how much to whom, if recorded.
fn communication(run: &Run) -> Filling {
    let each = || run.outcome.traffic.iter();
    let mut table = Filling::new(
        "communication",
        "Who sent how much to whom: one row per job and two ranks of which one sent to \
             the other, in the order of sender and receiver (`[record] communication = \
             true` in the scenario; none by default).",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        each().map(|pair| id(pair.job)),
    );
    table.i32(
        "source_rank",
        "sending rank",
        each().map(|pair| id(pair.source.0)),
    );
    table.i32(
        "destination_rank",
        "receiving rank",
        each().map(|pair| id(pair.destination.0)),
    );
    table.i64(
        "messages",
        "messages",
        each().map(|pair| pair.traffic.messages),
    );
    table.i64(
        "bytes",
        "their bytes",
        each().map(|pair| pair.traffic.bytes),
    );
    table
}

fn messages(run: &Run) -> Filling {
    let each = || run.outcome.messages.iter();
    let mut table = Filling::new(
        "messages",
        "One row per recorded message (`[record] messages` in the scenario; none by \
             default), in order of delivery.",
    );
    table.i32(
        "job",
        "job, as its row in `jobs`",
        each().map(|m| id(m.job)),
    );
    table.i32(
        "source_rank",
        "sending rank",
        each().map(|m| id(m.source_rank)),
    );
    table.i32(
        "destination_rank",
        "receiving rank",
        each().map(|m| id(m.destination_rank)),
    );
    table.i32("source_node", "its node", each().map(|m| id(m.source.0)));
    table.i32(
        "destination_node",
        "its node",
        each().map(|m| id(m.destination.0)),
    );
    table.i64("bytes", "size", each().map(|m| m.bytes.0));
    table.i64(
        "created_ps",
        "simulated time at which the sender handed it over",
        each().map(|m| m.created.0),
    );
    table.i64(
        "delivered_ps",
        "simulated time at which its last byte arrived",
        each().map(|m| m.delivered.0),
    );
    table
}
