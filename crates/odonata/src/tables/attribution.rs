//! Tables of who waits for whom at links, and of what arrives at routers.

use odonata_declare::Named;
use odonata_network::{LinkKind, Peer};
use odonata_run::{Arrival, Direction, JobAtLink, JobWait};
use odonata_units::Sender;

use super::{Filled, Filling, id, kind_code};
use crate::finished::Run;

/// Numbers of links as in the table `links`: connected ports in their order, then nodes.
struct LinkNumbers {
    of_port: Vec<u64>,
    ports: u64,
}

impl LinkNumbers {
    fn new(run: &Run) -> Self {
        let mut ports = 0;
        let of_port = run.topology.peer.iter().map(|peer| {
            let number = ports;
            ports += u64::from(!matches!(peer, Peer::Unconnected));
            number
        });
        let of_port = of_port.collect();
        Self { of_port, ports }
    }

    fn of(&self, link: Sender) -> u64 {
        match link {
            Sender::Router(port) => self.of_port[port.index()],
            Sender::Node(node) => self.ports + u64::from(node.0),
        }
    }
}

/// One row per link and job.
pub(super) fn link_jobs(run: &Run) -> Filled {
    let numbers = LinkNumbers::new(run);
    let links = run.outcome.attribution.iter();
    let rows: Vec<(u64, &JobAtLink)> = links
        .flat_map(|link| link.jobs.iter().map(|job| (numbers.of(link.link), job)))
        .collect();
    let mut table = Filling::new(
        &rows,
        "link_jobs",
        "What each job did at each link: one row per link and job that sent or waited there, in \
             this order (`[record] attribution = true` in the scenario; none by default). The bytes \
             and packets of all jobs at a link add up to those in the link's row of `links`. See \
             [interference](interference.md).",
    );
    table.i64("link", "link, as in `links`", |row| row.0);
    table.i32("job", "the job's row in `jobs`", |row| id(row.1.job));
    table.i64(
        "bytes",
        "bytes that the job sent in the measured time",
        |row| row.1.bytes,
    );
    table.i64(
        "packets",
        "packets that the job began to send in the measured time",
        |row| row.1.packets,
    );
    table.i64(
        "stall_ps",
        "time during which the link was free and packets of this job waited, but no waiting packet \
             had room at the other end; part of the link's `stall_ps`, and the parts of several \
             jobs may overlap",
        |row| row.1.stall_ps,
    );
    table.i64(
        "router_ps",
        "time, summed over the job's packets, for which they waited while the link neither sent \
             nor lacked room at the other end: they waited for the bounded crossbar of their own \
             router",
        |row| row.1.router_ps,
    );
    table.filled
}

/// One row per link and pair of jobs.
pub(super) fn link_waits(run: &Run) -> Filled {
    let numbers = LinkNumbers::new(run);
    let links = run.outcome.attribution.iter();
    let rows: Vec<(u64, &JobWait)> = links
        .flat_map(|link| link.waits.iter().map(|wait| (numbers.of(link.link), wait)))
        .collect();
    let mut table = Filling::new(
        &rows,
        "link_waits",
        "Which job waited for which: one row per link, waiting job, and job that it waited for \
             (perhaps itself), in this order (`[record] attribution = true` in the scenario; none \
             by default). Times are summed over the packets that waited, after warm-up. See \
             [interference](interference.md).",
    );
    table.i64("link", "link, as in `links`", |row| row.0);
    table.i32("job", "the job's row in `jobs`", |row| id(row.1.job));
    table.i32(
        "by_job",
        "row in `jobs` of the job that was waited for",
        |row| id(row.1.by),
    );
    table.i64(
        "sending_ps",
        "time waited while packets of `by_job` were being sent",
        |row| row.1.sending_ps,
    );
    table.i64(
        "blocking_ps",
        "time waited while the link was free and packets of `by_job` held the buffer at the other \
             end, on the virtual channel that the waiting packet needed; if several jobs held it, \
             in proportion to the bytes held",
        |row| row.1.blocking_ps,
    );
    table.filled
}

/// One row per interval, router, link class, job and direction.
pub(super) fn arrivals(run: &Run) -> Filled {
    let topology = &run.topology;
    let record = &run.scenario.record;
    let class = |row: &Arrival| &topology.link_classes[usize::from(row.class)];
    let rows: Vec<&Arrival> = run
        .outcome
        .arrivals
        .iter()
        .filter(|row| record.wants_arrivals(class(row)))
        .collect();
    let interval = record
        .arrivals
        .as_ref()
        .map_or(0, |arrivals| arrivals.interval_ps);
    let end = run.outcome.end.0;
    let mut table = Filling::new(
        &rows,
        "arrivals",
        "What arrived at routers over time: one row per interval, router, link class, job whose \
             packets arrived, and direction of these packets, in this order, warm-up included \
             (`[record] arrivals` in the scenario; none by default). See \
             [interference](interference.md#arrivals).",
    );
    table.i64("begin_ps", "start of the interval", |row| row.begin.0);
    // The last interval may be cut off by the end of the run.
    let cut = |row: &&Arrival| (row.begin.0 + interval).min(end.max(row.begin.0 + 1));
    table.i64("end_ps", "end of the interval, or of the run", cut);
    table.i32("router", "router", |row| id(row.router.0));
    let group = |row: &&Arrival| id(topology.group_of_router[row.router.index()].0);
    table.i32("group", "group of the router", group);
    table
        .i8("kind", "kind of the link", |row| kind_code(class(row).kind))
        .names(LinkKind::NAMES);
    table
        .i8("class", "class of the link", |row| row.class)
        .meta("link_classes");
    table.i32("job", "the job's row in `jobs`", |row| id(row.job));
    table.i64("bytes", "bytes of the packets whose tail arrived", |row| {
        row.bytes
    });
    table.i64("packets", "number of these packets", |row| row.packets);
    table
        .i8(
            "direction",
            "between which nodes these packets travel, seen from the router's group: `internal` \
                 (both in the group), `outbound` (from the group to another), `inbound` (from \
                 another group to this one), `transit` (between nodes of other groups)",
            |row| row.direction as u8,
        )
        .names(Direction::NAMES);
    table.filled
}
