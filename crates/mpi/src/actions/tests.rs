use odonata_load::{Arrivals, Context, OpenLoop, Pattern, Process};
use odonata_units::{Bandwidth, NodeId, RankId};

use odonata_run::JobLoad;

use super::*;

const BYTES: Bytes = Bytes(1_000);
const SEND: u64 = 10_000;
const RECEIVE: u64 = 30_000;
/// 1,000 bytes at 5 bytes per ns.
const COPY: u64 = 200_000;

fn costs() -> HostCosts {
    HostCosts {
        send_overhead: Picoseconds(SEND),
        receive_overhead: Picoseconds(RECEIVE),
        copy_bandwidth: Some(Bandwidth::new(5_000_000_000).unwrap()),
        ..HostCosts::default()
    }
}

/// Two ranks on each of two nodes; within a node a message takes no time.
fn plan() -> JobPlan {
    let open = OpenLoop::new(
        Pattern::UniformRandom,
        Arrivals::from_rate(BYTES, 1.0, Process::Poisson).unwrap(),
        BYTES,
        4,
    );
    JobPlan {
        name: "two".to_owned(),
        start: Picoseconds::ZERO,
        node_of_rank: [0, 1, 0, 1].map(NodeId).into(),
        load: JobLoad::Open(open.unwrap()),
        protocol: Protocol {
            costs: costs(),
            within_node: Some(HostCosts::default()),
            ..Protocol::default()
        },
        classes: odonata_run::JobClasses::default(),
        servers: None,
    }
}

/// How long `action` keeps a processor busy, in ps.
fn busy(action: Action) -> u64 {
    match Begun::of(action, &plan(), 0, (RequestId(7), 0), 0, 0) {
        Begun::Busy(duration, _) => duration.0,
        Begun::Post(..) => 0,
    }
}

#[test]
fn only_what_a_rank_has_in_hand_is_copied() {
    let (to, from) = (RankId(1), RankId(1));
    let (bytes, context, tag) = (BYTES, Context::default(), 0);
    let send = Action::Send {
        to,
        bytes,
        context,
        tag,
    };
    assert_eq!(busy(send), SEND + COPY);
    assert_eq!(busy(Action::Put { to, bytes }), SEND + COPY);
    // It asks; the answer is written without it.
    assert_eq!(busy(Action::Get { from, bytes }), SEND);
    // Through the memory of its node.
    let near = RankId(2);
    assert_eq!(busy(Action::Put { to: near, bytes }), 0);
    let posted = Posted {
        request: RequestId(7),
        processor: 0,
    };
    let answering = |what| Task::answering(what, 1, posted, plan().costs(0, 1));
    let message = Arrived::Message {
        bytes: BYTES.0,
        created: 0,
    };
    let taken_in = (Picoseconds(RECEIVE + COPY), Task::TakeIn(RequestId(7)));
    assert_eq!(answering(message), taken_in);
    // The message itself is still where it was.
    let grant = Task::Grant {
        handle: 5,
        to: 1,
        class: 3,
    };
    let granted = (Picoseconds(RECEIVE), grant);
    assert_eq!(
        answering(Arrived::Request {
            handle: 5,
            class: 3
        }),
        granted
    );
}
