//! Tables of who waits for whom at links, and of what arrives at routers.

use odonata_network::Peer;
use odonata_run::{Arrival, JobAtLink, JobWait, Sender};

use super::{Table, id, kind_code};
use crate::run::{Run, wants_arrivals};

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
pub(super) fn link_jobs(run: &Run) -> Table {
    let numbers = LinkNumbers::new(run);
    let links = run.outcome.attribution.iter();
    let rows: Vec<(u64, &JobAtLink)> = links
        .flat_map(|link| link.jobs.iter().map(|job| (numbers.of(link.link), job)))
        .collect();
    let each = || rows.iter();
    let mut table = Table::new("link_jobs");
    table.i64("link", each().map(|row| row.0));
    table.i32("job", each().map(|row| id(row.1.job)));
    table.i64("bytes", each().map(|row| row.1.bytes));
    table.i64("packets", each().map(|row| row.1.packets));
    table.i64("stall_ps", each().map(|row| row.1.stall_ps));
    table.i64("router_ps", each().map(|row| row.1.router_ps));
    table
}

/// One row per link and pair of jobs.
pub(super) fn link_waits(run: &Run) -> Table {
    let numbers = LinkNumbers::new(run);
    let links = run.outcome.attribution.iter();
    let rows: Vec<(u64, &JobWait)> = links
        .flat_map(|link| link.waits.iter().map(|wait| (numbers.of(link.link), wait)))
        .collect();
    let each = || rows.iter();
    let mut table = Table::new("link_waits");
    table.i64("link", each().map(|row| row.0));
    table.i32("job", each().map(|row| id(row.1.job)));
    table.i32("by_job", each().map(|row| id(row.1.by)));
    table.i64("sending_ps", each().map(|row| row.1.sending_ps));
    table.i64("blocking_ps", each().map(|row| row.1.blocking_ps));
    table
}

/// One row per interval, router, link class and job.
pub(super) fn arrivals(run: &Run) -> Table {
    let topology = &run.topology;
    let record = &run.scenario.record;
    let class = |row: &Arrival| &topology.link_classes[usize::from(row.class)];
    let rows: Vec<&Arrival> = run
        .outcome
        .arrivals
        .iter()
        .filter(|row| wants_arrivals(record, class(row)))
        .collect();
    let each = || rows.iter();
    let interval = record
        .arrivals
        .as_ref()
        .map_or(0, |arrivals| arrivals.interval_ps);
    let end = run.outcome.end.0;
    let mut table = Table::new("arrivals");
    table.i64("begin_ps", each().map(|row| row.begin.0));
    // The last interval may be cut off by the end of the run.
    let cut = |row: &&Arrival| (row.begin.0 + interval).min(end.max(row.begin.0 + 1));
    table.i64("end_ps", each().map(cut));
    table.i32("router", each().map(|row| id(row.router.0)));
    let group = |row: &&Arrival| id(topology.group_of_router[row.router.index()].0);
    table.i32("group", each().map(group));
    table.i8("kind", each().map(|row| kind_code(class(row).kind)));
    table.i8("class", each().map(|row| row.class));
    table.i32("job", each().map(|row| id(row.job)));
    table.i64("bytes", each().map(|row| row.bytes));
    table.i64("packets", each().map(|row| row.packets));
    table
}
