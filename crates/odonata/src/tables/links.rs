//! Tables of what links and routers carried, and when.

use odonata_declare::Named;
use odonata_network::{LinkKind, Peer, Topology};
use odonata_run::LinkOutcome;
use odonata_units::{NodeId, PortId, RouterId};

use super::{Filled, Filling, id, kind_code};
use crate::finished::Run;

/// Both ends of one direction of a link.
struct Direction<'a> {
    number: u64,
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
            number: rows.len() as u64,
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
            number: rows.len() as u64,
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

pub(super) fn links(run: &Run) -> Filled {
    let topology = &run.topology;
    let rows = directions(topology, run);
    let class = |row: &Direction<'_>| topology.link_class(row.port);
    let measured = run.measured_ps() as f64;
    let mut table = Filling::new(
        &rows,
        "links",
        "One row per direction of every link: first the directions in which router ports send, in \
             port order, then those in which nodes send into their routers. Counts begin after the \
             warm-up.",
    );
    table.i64("link", "row number, from 0", |row| row.number);
    table
        .i8("kind", "`terminal`, `local` or `global`", |row| {
            kind_code(class(row).kind)
        })
        .names(LinkKind::NAMES);
    table
        .i8("class", "link class of the scenario", |row| {
            topology.class_of_port[row.port.index()].0
        })
        .meta("link_classes");
    table
        .i32(
            "from_router",
            "sending router; empty if a node sends",
            |row| row.from_router,
        )
        .or_none();
    table
        .i32(
            "from_node",
            "sending node; empty if a router sends",
            |row| row.from_node,
        )
        .or_none();
    table
        .i32(
            "to_router",
            "receiving router; empty if a node receives",
            |row| row.to_router,
        )
        .or_none();
    table
        .i32(
            "to_node",
            "receiving node; empty if a router receives",
            |row| row.to_node,
        )
        .or_none();
    table.i32("from_group", "group of the sender", |row| row.from_group);
    table.i32("to_group", "group of the receiver", |row| row.to_group);
    table
        .i32(
            "port",
            "port of the sending router; empty if a node sends",
            |row| match row.from_router {
                -1 => -1,
                router => id(row.port.0 - topology.first_port[router as usize]),
            },
        )
        .or_none();
    table.i64("bandwidth_bytes_per_s", "bandwidth", |row| {
        class(row).bandwidth.bytes_per_second()
    });
    table.i64("latency_ps", "latency of the wire", |row| {
        class(row).latency.0
    });
    table.i64(
        "bytes",
        "bytes sent in the measured time; of packets that are only partly sent within it, that \
             part",
        |row| row.outcome.bytes,
    );
    table.i64(
        "packets",
        "packets whose sending began in the measured time",
        |row| row.outcome.packets,
    );
    table.i64(
        "busy_ps",
        "part of the measured time during which the link was sending",
        |row| row.outcome.busy_ps,
    );
    table.i64(
        "stall_ps",
        "time during which the link was free and packets waited for it, but the buffer at its \
             other end had no room for any of them",
        |row| row.outcome.stall_ps,
    );
    table.f64(
        "utilisation",
        "`busy_ps` as a fraction of the measured time; never above 1",
        |row| {
            if measured > 0.0 {
                row.outcome.busy_ps as f64 / measured
            } else {
                0.0
            }
        },
    );
    table.filled
}

pub(super) fn routers(run: &Run) -> Filled {
    let topology = &run.topology;
    // Row and column exist in two-dimensional groups only.
    let place = |router: usize| topology.position_in_group.get(router);
    let rows: Vec<_> = topology.group_of_router.iter().enumerate().collect();
    let mut table = Filling::new(&rows, "routers", "One row per router.");
    table.numbers("router", "row number, from 0");
    table.i32("group", "group that the router belongs to", |row| {
        id(row.1.0)
    });
    table
        .i32(
            "row",
            "row of the router, in two-dimensional groups",
            |row| place(row.0).map_or(-1, |place| i32::from(place.0)),
        )
        .or_none();
    table
        .i32(
            "column",
            "column of the router, in two-dimensional groups",
            |row| place(row.0).map_or(-1, |place| i32::from(place.1)),
        )
        .or_none();
    table.filled
}

pub(super) fn timeline(run: &Run) -> Filled {
    let timeline = &run.outcome.timeline;
    let jobs = run.jobs.len();
    let rows: Vec<_> = timeline.activity.iter().enumerate().collect();
    let mut table = Filling::new(
        &rows,
        "timeline",
        "One row per slice of time and job, over the whole run (warm-up included).",
    );
    table.i64("time_ps", "start of the slice", |row| {
        (row.0 / jobs.max(1)) as u64 * timeline.bin.0
    });
    table.i32("job", "the job's row in `jobs`", |row| {
        (row.0 % jobs.max(1)) as i32
    });
    table.i64(
        "injected_bytes",
        "bytes that the job's nodes sent into the network",
        |row| row.1.injected_bytes,
    );
    table.i64(
        "delivered_bytes",
        "bytes that the job's nodes received",
        |row| row.1.delivered_bytes,
    );
    table.i64("messages", "messages that arrived completely", |row| {
        row.1.messages
    });
    table.i64(
        "message_latency_sum_ps",
        "sum of these messages' latencies, from creation to the arrival of the last \
             byte",
        |row| row.1.latency_ps,
    );
    table.filled
}
