//! Result tables as plain columns: what a run measured, ready for Arrow, numpy
//! or a file. Units are in the columns' names; −1 and NaN stand for no value.

mod attribution;

use odonata_network::{LinkKind, Peer, Topology};
use odonata_run::{Histogram, JobOutcome, LinkOutcome, RankActivity, RankTimes};
use odonata_units::{NodeId, PortId, RouterId};

use crate::run::Run;
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

    pub(crate) fn i64(&mut self, name: &str, values: impl Iterator<Item = u64>) {
        let column = Column::I64(values.map(|value| value as i64).collect());
        self.columns.push((name.to_owned(), column));
    }

    fn i64_or_none(&mut self, name: &str, values: impl Iterator<Item = Option<u64>>) {
        let column = Column::I64(values.map(|v| v.map_or(-1, |v| v as i64)).collect());
        self.columns.push((name.to_owned(), column));
    }

    pub(crate) fn f64(&mut self, name: &str, values: impl Iterator<Item = f64>) {
        let column = Column::F64(values.collect());
        self.columns.push((name.to_owned(), column));
    }

    fn text(&mut self, name: &str, values: impl Iterator<Item = String>) {
        let column = Column::Text(values.collect());
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

/// All tables of a run.
pub(crate) fn tables(run: &Run) -> Vec<Table> {
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

fn jobs(run: &Run) -> Table {
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
    let mut table = Table::new("jobs");
    table.i32("job", 0..run.jobs.len() as i32);
    table.text("name", planned().map(|job| job.plan.name.clone()));
    table.i32("nodes", planned().map(|job| job.nodes.len() as i32));
    table.i32(
        "ranks",
        planned().map(|job| job.plan.node_of_rank.len() as i32),
    );
    table.i64("start_ps", each().map(|job| job.start.0));
    table.i64_or_none("end_ps", each().map(|job| job.end.map(|end| end.0)));
    table.i64("messages_created", each().map(|job| job.messages_created));
    table.i64(
        "messages_delivered",
        each().map(|job| job.messages_delivered),
    );
    table.i64("bytes_created", each().map(|job| job.bytes_created));
    table.i64("bytes_delivered", each().map(|job| job.bytes_delivered));
    table.f64(
        "offered_bytes_per_s",
        each().map(|job| rate(job.bytes_created_measured)),
    );
    table.f64(
        "accepted_bytes_per_s",
        each().map(|job| rate(job.bytes_delivered_measured)),
    );
    latencies(&mut table, run, "message_latency", |job| {
        &job.message_latency_ps
    });
    latencies(&mut table, run, "packet_latency", |job| {
        &job.packet_latency_ps
    });
    table.f64(
        "mean_routers_visited",
        each().map(|job| mean_index(&job.routers_visited)),
    );
    table.f64("compute_ps", each().map(|job| job.compute_ps as f64));
    table.f64("wait_ps", each().map(|job| job.wait_ps as f64));
    table.i64(
        "unreceived_messages",
        each().map(|job| job.unreceived_messages),
    );
    table
}

fn latencies(table: &mut Table, run: &Run, quantity: &str, of: impl Fn(&JobOutcome) -> &Histogram) {
    type Figure = fn(&Histogram) -> Option<u64>;
    let figures: [(&str, Figure); 6] = [
        ("min", |h| h.min()),
        ("p25", |h| h.quantile(0.25)),
        ("median", |h| h.quantile(0.5)),
        ("p75", |h| h.quantile(0.75)),
        ("p99", |h| h.quantile(0.99)),
        ("max", |h| h.max()),
    ];
    for (name, figure) in figures {
        let values = run.outcome.jobs.iter().map(|job| figure(of(job)));
        table.i64_or_none(&format!("{quantity}_{name}_ps"), values);
    }
    let means = run.outcome.jobs.iter();
    table.f64(
        &format!("{quantity}_mean_ps"),
        means.map(|job| of(job).mean().unwrap_or(f64::NAN)),
    );
}

/// Mean of the indices, weighted by the counts; NaN without counts.
pub(crate) fn mean_index(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let weighted: u128 = (0u128..)
        .zip(counts)
        .map(|(index, &count)| index * u128::from(count))
        .sum();
    if total == 0 {
        f64::NAN
    } else {
        weighted as f64 / total as f64
    }
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

fn links(run: &Run) -> Table {
    let topology = &run.topology;
    let rows = directions(topology, run);
    let each = || rows.iter();
    let class = |row: &Direction<'_>| topology.link_class(row.port);
    let measured = run.measured_ps() as f64;
    let mut table = Table::new("links");
    table.i64("link", 0..rows.len() as u64);
    table.i8("kind", each().map(|row| kind_code(class(row).kind)));
    table.i8(
        "class",
        each().map(|row| topology.class_of_port[row.port.index()].0),
    );
    table.i32("from_router", each().map(|row| row.from_router));
    table.i32("from_node", each().map(|row| row.from_node));
    table.i32("to_router", each().map(|row| row.to_router));
    table.i32("to_node", each().map(|row| row.to_node));
    table.i32("from_group", each().map(|row| row.from_group));
    table.i32("to_group", each().map(|row| row.to_group));
    table.i32(
        "port",
        each().map(|row| match row.from_router {
            -1 => -1,
            router => id(row.port.0 - topology.first_port[router as usize]),
        }),
    );
    table.i64(
        "bandwidth_bytes_per_s",
        each().map(|row| class(row).bandwidth.bytes_per_second()),
    );
    table.i64("latency_ps", each().map(|row| class(row).latency.0));
    table.i64("bytes", each().map(|row| row.outcome.bytes));
    table.i64("packets", each().map(|row| row.outcome.packets));
    table.i64("busy_ps", each().map(|row| row.outcome.busy_ps));
    table.i64("stall_ps", each().map(|row| row.outcome.stall_ps));
    table.f64(
        "utilisation",
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

fn routers(run: &Run) -> Table {
    let topology = &run.topology;
    // Row and column exist in two-dimensional groups only.
    let place = |router: usize| topology.position_in_group.get(router);
    let each = || 0..topology.routers();
    let mut table = Table::new("routers");
    table.i32("router", each().map(|router| id(router as u32)));
    table.i32(
        "group",
        topology.group_of_router.iter().map(|group| id(group.0)),
    );
    table.i32(
        "row",
        each().map(|router| place(router).map_or(-1, |place| i32::from(place.0))),
    );
    table.i32(
        "column",
        each().map(|router| place(router).map_or(-1, |place| i32::from(place.1))),
    );
    table
}

fn timeline(run: &Run) -> Table {
    let timeline = &run.outcome.timeline;
    let jobs = run.jobs.len();
    let rows = timeline.activity.len();
    let each = || timeline.activity.iter();
    let mut table = Table::new("timeline");
    table.i64(
        "time_ps",
        (0..rows).map(|row| (row / jobs.max(1)) as u64 * timeline.bin.0),
    );
    table.i32("job", (0..rows).map(|row| (row % jobs.max(1)) as i32));
    table.i64("injected_bytes", each().map(|a| a.injected_bytes));
    table.i64("delivered_bytes", each().map(|a| a.delivered_bytes));
    table.i64("messages", each().map(|a| a.messages));
    table.i64("message_latency_sum_ps", each().map(|a| a.latency_ps));
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

fn statistics(run: &Run) -> Table {
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
    let mut table = Table::new("statistics");
    table.i32("job", each().map(|row| row.job.job as i32));
    table.i8("quantity", each().map(|row| row.quantity));
    table.f64("mean", each().map(|row| number(row, |i| i.mean) * row.unit));
    table.f64(
        "ci95",
        each().map(|row| number(row, |i| i.half_width) * row.unit),
    );
    table.i32(
        "batches",
        each().map(|row| row.interval.map_or(0, |i| i.batches as i32)),
    );
    table.i64(
        "batch_ps",
        each().map(|row| row.interval.map_or(0, |i| i.batch as u64 * row.job.slice.0)),
    );
    table.f64(
        "autocorrelation",
        each().map(|row| number(row, |i| i.correlation)),
    );
    table.i8(
        "uncorrelated",
        each().map(|row| u8::from(row.interval.is_some_and(|i| i.uncorrelated))),
    );
    table.i64("from_ps", each().map(|row| row.job.from.0));
    table.i64_or_none(
        "warmup_end_ps",
        each().map(|row| row.job.warmup_end.map(|end| end.0)),
    );
    table
}

fn histograms(run: &Run) -> Table {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        let quantities = [&outcome.message_latency_ps, &outcome.packet_latency_ps];
        for (quantity, histogram) in (0u8..).zip(quantities) {
            for (low, high, count) in histogram.buckets() {
                rows.push((job as i32, quantity, low, high, count));
            }
        }
    }
    let mut table = Table::new("histograms");
    table.i32("job", rows.iter().map(|row| row.0));
    table.i8("quantity", rows.iter().map(|row| row.1));
    table.i64("low_ps", rows.iter().map(|row| row.2));
    table.i64("high_ps", rows.iter().map(|row| row.3));
    table.i64("count", rows.iter().map(|row| row.4));
    table
}

fn routers_visited(run: &Run) -> Table {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (routers, &packets) in outcome.routers_visited.iter().enumerate() {
            if packets > 0 {
                rows.push((job as i32, routers as i32, packets));
            }
        }
    }
    let mut table = Table::new("routers_visited");
    table.i32("job", rows.iter().map(|row| row.0));
    table.i32("routers", rows.iter().map(|row| row.1));
    table.i64("packets", rows.iter().map(|row| row.2));
    table
}

fn iterations(run: &Run) -> Table {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (iteration, end) in outcome.iteration_end.iter().enumerate() {
            rows.push((job as i32, iteration as i32, end.0));
        }
    }
    let mut table = Table::new("iterations");
    table.i32("job", rows.iter().map(|row| row.0));
    table.i32("iteration", rows.iter().map(|row| row.1));
    table.i64("end_ps", rows.iter().map(|row| row.2));
    table
}

fn placement(run: &Run) -> Table {
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
    let mut table = Table::new("placement");
    for (column, name) in ["job", "rank", "node", "router", "group"]
        .iter()
        .enumerate()
    {
        table.i32(name, rows.iter().map(|row| row[column]));
    }
    table
}

/// How the ranks of closed-loop jobs spent their time.
fn ranks(run: &Run) -> Table {
    let jobs = run.outcome.jobs.iter().enumerate();
    let rows: Vec<(usize, usize, &RankTimes)> = jobs
        .flat_map(|(job, outcome)| {
            let ranks = outcome.ranks.iter().enumerate();
            ranks.map(move |(rank, times)| (job, rank, times))
        })
        .collect();
    let each = || rows.iter();
    let mut table = Table::new("ranks");
    table.i32("job", each().map(|row| row.0 as i32));
    table.i32("rank", each().map(|row| row.1 as i32));
    let outside =
        |activity: RankActivity| each().map(move |row| row.2.outside_ps[activity as usize]);
    table.i64("compute_ps", outside(RankActivity::Compute));
    table.i64("send_overhead_ps", outside(RankActivity::Send));
    table.i64("receive_overhead_ps", outside(RankActivity::Receive));
    table.i64("send_wait_ps", outside(RankActivity::WaitToSend));
    table.i64("receive_wait_ps", outside(RankActivity::WaitToReceive));
    table.i64(
        "collective_ps",
        each().map(|row| row.2.collective_ps.iter().sum()),
    );
    let collective = each().map(|row| row.2.collective_ps[RankActivity::Compute as usize]);
    table.i64("collective_compute_ps", collective);
    table.i64("total_ps", each().map(|row| row.2.total()));
    table
}

/// What ranks did when, if recorded.
fn rank_activity(run: &Run) -> Table {
    let each = || run.outcome.rank_intervals.iter();
    let mut table = Table::new("rank_activity");
    table.i32("job", each().map(|i| id(i.job)));
    table.i32("rank", each().map(|i| id(i.rank.0)));
    table.i64("begin_ps", each().map(|i| i.begin.0));
    table.i64("end_ps", each().map(|i| i.end.0));
    table.i8("activity", each().map(|i| i.activity as u8));
    table.i8(
        "collective",
        each().map(|i| i.collective.map_or(u8::MAX, |kind| kind as u8)),
    );
    table.i32(
        "cause_rank",
        each().map(|i| i.cause.map_or(-1, |(rank, _)| id(rank.0))),
    );
    table.i64_or_none("cause_ps", each().map(|i| i.cause.map(|(_, time)| time.0)));
    table
}

/// Sizes of the messages of closed-loop jobs.
fn message_sizes(run: &Run) -> Table {
    let mut rows = Vec::new();
    for (job, outcome) in run.outcome.jobs.iter().enumerate() {
        for (low, high, count) in outcome.message_bytes.buckets() {
            rows.push((job as i32, low, high, count));
        }
    }
    let mut table = Table::new("message_sizes");
    table.i32("job", rows.iter().map(|row| row.0));
    table.i64("low_bytes", rows.iter().map(|row| row.1));
    table.i64("high_bytes", rows.iter().map(|row| row.2));
    table.i64("count", rows.iter().map(|row| row.3));
    table
}

/// Who sent how much to whom, if recorded.
fn communication(run: &Run) -> Table {
    let each = || run.outcome.traffic.iter();
    let mut table = Table::new("communication");
    table.i32("job", each().map(|pair| id(pair.job)));
    table.i32("source_rank", each().map(|pair| id(pair.source.0)));
    table.i32(
        "destination_rank",
        each().map(|pair| id(pair.destination.0)),
    );
    table.i64("messages", each().map(|pair| pair.traffic.messages));
    table.i64("bytes", each().map(|pair| pair.traffic.bytes));
    table
}

fn messages(run: &Run) -> Table {
    let each = || run.outcome.messages.iter();
    let mut table = Table::new("messages");
    table.i32("job", each().map(|m| id(m.job)));
    table.i32("source_rank", each().map(|m| id(m.source_rank)));
    table.i32("destination_rank", each().map(|m| id(m.destination_rank)));
    table.i32("source_node", each().map(|m| id(m.source.0)));
    table.i32("destination_node", each().map(|m| id(m.destination.0)));
    table.i64("bytes", each().map(|m| m.bytes.0));
    table.i64("created_ps", each().map(|m| m.created.0));
    table.i64("delivered_ps", each().map(|m| m.delivered.0));
    table
}
