//! What MPI promises to ranks: how messages find their receives, in what order,
//! what happens without the other side, and where the time of a rank goes. On an
//! idle network times follow from overheads, latencies and the gap alone.

use std::sync::Arc;

use odonata_load::collective::Algorithms;
use odonata_load::{
    Action, Communicator, Context, Handle, Need, Operation, Program, ProgramError, RankProgram,
};
use odonata_network::routing::{Algorithm, RoutingSpec, Via};
use odonata_network::{LinkClass, LinkKind};
use odonata_run::{
    HostCosts, InjectionOrder, JobLoad, JobPlan, Outcome, Protocol, RankActivity, SimError,
};
use odonata_units::{Bytes, Picoseconds, RankId};

use crate::support::{
    Listed, MINIMAL, RATE, TO_THE_END, assert_conserved, config, crossbar, dragonfly, job, link,
    simulate, uniform_links,
};

const WORLD: Context = Context::ordered(0);

fn terminal() -> LinkClass {
    link(LinkKind::Terminal, RATE, 10_000, 4_096)
}

fn send(to: u32, bytes: u64, tag: u32) -> Action {
    Action::Send {
        to: RankId(to),
        bytes: Bytes(bytes),
        context: WORLD,
        tag,
    }
}

fn receive(from: Option<u32>, tag: Option<u32>) -> Action {
    Action::Receive {
        from: from.map(RankId),
        context: WORLD,
        tag,
    }
}

fn begin(action: Action, handle: u64) -> Operation {
    Operation::Begin {
        action,
        handle: Handle(handle),
    }
}

fn wait(handles: &[u64], need: Need) -> Operation {
    Operation::Wait {
        handles: handles.iter().map(|&handle| Handle(handle)).collect(),
        need,
    }
}

fn compute(ps: u64) -> Operation {
    Operation::Compute(Picoseconds(ps))
}

/// Ranks on nodes of their own of a crossbar.
fn run(ranks: Vec<Vec<Operation>>, protocol: Protocol) -> Outcome {
    let nodes = ranks.len() as u32;
    let mut job = job("ranks", 0..nodes, Listed::load(ranks));
    job.protocol = protocol;
    let topology = crossbar(nodes, terminal());
    let outcome = simulate(&topology, &MINIMAL, &config(), &[job], &TO_THE_END).unwrap();
    assert_conserved(&outcome);
    outcome
}

fn end(outcome: &Outcome) -> u64 {
    outcome.jobs[0].end.expect("it ends").0
}

/// Latency of the network for a message.
fn network(bytes: u64) -> u64 {
    let ranks = vec![
        vec![Operation::Do(send(1, bytes, 0))],
        vec![Operation::Do(receive(Some(0), Some(0)))],
    ];
    end(&run(ranks, Protocol::default()))
}

/// A receive from anybody gets what comes first, here from the rank that
/// computes least; the next one gets the next.
#[test]
fn a_receive_from_anybody_gets_what_comes_first() {
    let late = 5_000_000;
    let ranks = vec![
        vec![
            Operation::Do(receive(None, None)),
            compute(1_000),
            Operation::Do(receive(None, None)),
        ],
        vec![compute(late), Operation::Do(send(0, 8, 1))],
        vec![Operation::Do(send(0, 8, 2))],
    ];
    assert_eq!(end(&run(ranks, Protocol::default())), late + network(8));
}

/// The short one of two messages of a rank overtakes the long one at the
/// interface, which takes packets of both in turn. In an ordered context the
/// first receive gets the long one all the same, whichever comes first.
#[test]
fn messages_of_a_rank_match_in_the_order_of_sending() {
    let (long, short) = (100_000, 8);
    let rank = |first_late: u64| {
        vec![
            vec![
                begin(send(1, long, 0), 1),
                begin(send(1, short, 0), 2),
                wait(&[1, 2], Need::All),
            ],
            vec![
                begin(receive(Some(0), Some(0)), 1),
                begin(receive(None, None), 2),
                // The first receive alone: as long as the long message takes.
                wait(&[1], Need::All),
                compute(first_late),
                wait(&[2], Need::All),
            ],
        ]
    };
    let outcome = run(rank(1_000_000), Protocol::default());
    // The packet of the short one takes its turn on the link.
    let short_packet = short * 1_000 / 8;
    assert_eq!(end(&outcome), network(long) + short_packet + 1_000_000);
    assert_eq!(outcome.jobs[0].unreceived_messages, 0);
}

/// The same over many paths: under adaptive routing packets overtake each other
/// in the network; sizes tell which message a receive got. A rank that gets them
/// in another order would wait for one that is not coming.
#[test]
fn adaptive_routing_does_not_reorder_messages() {
    let topology = dragonfly(2, 4, 2, 9, uniform_links(RATE, 10_000, 4_096));
    let count = 40u64;
    let size = |k: u64| 8 + (k * 7_919) % 3_000;
    let last = topology.nodes() as u32 - 1;
    let mut ranks = vec![Vec::new(), Vec::new()];
    for k in 0..count {
        ranks[0].push(begin(send(1, size(k), 3), k));
    }
    ranks[0].push(wait(&(0..count).collect::<Vec<_>>(), Need::All));
    for _ in 0..count {
        ranks[1].push(Operation::Do(receive(None, Some(3))));
    }
    for ranks_per_thread in [1, 2] {
        let job = job("pair", [0, last], Listed::load(ranks.clone()));
        let mut config = config();
        config.threads = ranks_per_thread;
        let routing = RoutingSpec::new(Algorithm::Valiant { via: Via::Group });
        let outcome = simulate(&topology, &routing, &config, &[job], &TO_THE_END).unwrap();
        // They did overtake each other …
        let by_creation: Vec<u64> = outcome.messages.iter().map(|m| m.bytes.0).collect();
        let sent: Vec<u64> = (0..count).map(size).collect();
        assert_ne!(by_creation, sent);
        // … and were all received.
        assert_eq!(outcome.jobs[0].unreceived_messages, 0);
        assert_eq!(outcome.jobs[0].messages_delivered, count);
    }
}

/// Long messages that ask match in the order of sending, too, beside eager ones.
#[test]
fn requests_keep_their_place() {
    let protocol = Protocol {
        eager_limit: Some(Bytes(1_000)),
        control: Bytes(64),
        ..Protocol::default()
    };
    let ranks = vec![
        vec![
            begin(send(1, 50_000, 4), 1),
            begin(send(1, 8, 4), 2),
            wait(&[1, 2], Need::All),
        ],
        vec![
            compute(10_000_000),
            Operation::Do(receive(Some(0), None)),
            Operation::Do(receive(Some(0), None)),
        ],
    ];
    // When the receive is posted, the request is granted and the long message
    // sent; the short one has been there for long.
    let expected = 10_000_000 + network(64) + network(50_000);
    assert_eq!(end(&run(ranks, protocol)), expected);
}

/// LogGP: an interface sends nothing for `g` after a message. `n` short messages
/// to different ranks are `τ + g` apart.
#[test]
fn the_gap_keeps_messages_apart() {
    let gap = 700_000;
    let n = 6;
    let mut ranks = vec![Vec::new()];
    for to in 1..=n {
        ranks[0].push(begin(send(to as u32, 8, 0), to));
        ranks.push(vec![Operation::Do(receive(Some(0), Some(0)))]);
    }
    ranks[0].push(wait(&(1..=n).collect::<Vec<_>>(), Need::All));
    let protocol = Protocol {
        gap: Picoseconds(gap),
        ..Protocol::default()
    };
    let one = 8 * 1_000 / 8;
    assert_eq!(
        end(&run(ranks, protocol)),
        (n - 1) * (one + gap) + network(8)
    );
}

/// A put is complete when it is acknowledged, a get when the data is there; the
/// other rank computes all the while and has no part in it.
#[test]
fn one_sided_transfers_need_no_partner() {
    let (o, control) = (30_000, 48);
    let protocol = Protocol {
        control: Bytes(control),
        costs: HostCosts {
            send_overhead: Picoseconds(o),
            ..HostCosts::default()
        },
        ..Protocol::default()
    };
    let busy = 50_000_000;
    for (action, expected) in [
        (
            Action::Put {
                to: RankId(1),
                bytes: Bytes(9_000),
            },
            o + network(9_000) + network(control),
        ),
        (
            Action::Get {
                from: RankId(1),
                bytes: Bytes(9_000),
            },
            o + network(control) + network(9_000),
        ),
    ] {
        let ranks = vec![vec![Operation::Do(action)], vec![compute(busy)]];
        let outcome = run(ranks, protocol);
        let job = &outcome.jobs[0];
        assert_eq!(job.ranks[0].total(), expected, "{action:?}");
        assert_eq!(job.ranks[1].computing(), busy);
        assert_eq!((job.messages_delivered, job.bytes_delivered), (1, 9_000));
    }
}

/// Within a node they take what a message within the node takes.
#[test]
fn one_sided_transfers_within_a_node() {
    let bytes = Bytes(4_000);
    let (put, get) = (
        Action::Put {
            to: RankId(1),
            bytes,
        },
        Action::Get {
            from: RankId(1),
            bytes,
        },
    );
    for action in [put, get] {
        let load = Listed::load(vec![vec![Operation::Do(action)], vec![]]);
        let jobs = [job("pair", [0, 0], load)];
        let topology = crossbar(2, terminal());
        let outcome = simulate(&topology, &MINIMAL, &config(), &jobs, &TO_THE_END).unwrap();
        assert_conserved(&outcome);
        // 4,000 bytes at 8 bytes per ns, then 100 ns.
        assert_eq!(end(&outcome), 500_000 + 100_000, "{action:?}");
    }
}

/// A rank's time is where it should be: computing, overheads, waits, and all of
/// a collective under that name.
#[test]
fn the_time_of_a_rank_is_accounted_for() {
    let (o, r) = (40_000, 90_000);
    let protocol = Protocol {
        costs: HostCosts {
            send_overhead: Picoseconds(o),
            receive_overhead: Picoseconds(r),
            ..HostCosts::default()
        },
        ..Protocol::default()
    };
    let barrier = || Operation::Collective {
        communicator: Arc::new(Communicator::world(2)),
        call: Arc::new(Algorithms::default().barrier(2)),
        handle: None,
    };
    let late = 3_000_000;
    let ranks = vec![
        vec![compute(late), Operation::Do(send(1, 8, 0)), barrier()],
        vec![Operation::Do(receive(Some(0), None)), barrier()],
    ];
    let outcome = run(ranks, protocol);
    let [sender, receiver] = outcome.jobs[0].ranks[..] else {
        panic!("two ranks");
    };
    let of = |activity| activity as usize;
    assert_eq!(sender.outside_ps[of(RankActivity::Compute)], late);
    assert_eq!(sender.outside_ps[of(RankActivity::Send)], o);
    // Its message leaves the node in 1 ns.
    assert_eq!(sender.outside_ps[of(RankActivity::WaitToSend)], 1_000);
    let waited = late + o + network(8);
    assert_eq!(receiver.outside_ps[of(RankActivity::WaitToReceive)], waited);
    assert_eq!(receiver.outside_ps[of(RankActivity::Receive)], r);
    for rank in [sender, receiver] {
        let inside: u64 = rank.collective_ps.iter().sum();
        assert!(inside >= o + r, "{rank:?}");
        assert_eq!(rank.total(), inside + rank.outside_ps.iter().sum::<u64>());
    }
}

/// What was recorded of a wait names the message that ended it.
#[test]
fn a_wait_knows_its_cause() {
    let late = 2_000_000;
    let ranks = vec![
        vec![compute(late), Operation::Do(send(1, 8, 0))],
        vec![Operation::Do(receive(None, None))],
    ];
    let jobs = [job("pair", 0..2, Listed::load(ranks))];
    let mut measurement = TO_THE_END;
    measurement.rank_intervals = true;
    measurement.traffic = true;
    let topology = crossbar(2, terminal());
    let outcome = simulate(&topology, &MINIMAL, &config(), &jobs, &measurement).unwrap();
    let waits = outcome.rank_intervals.iter();
    let wait = waits.filter(|i| i.activity == RankActivity::WaitToReceive);
    let wait: Vec<_> = wait.collect();
    assert_eq!(wait.len(), 1);
    assert_eq!(wait[0].rank, RankId(1));
    assert_eq!(wait[0].cause, Some((RankId(0), Picoseconds(late))));
    let pair = outcome.traffic[0];
    assert_eq!((pair.source, pair.destination), (RankId(0), RankId(1)));
    assert_eq!((pair.traffic.messages, pair.traffic.bytes), (1, 8));
}

/// Two messages in turn under FIFO injection: the second waits for the first.
#[test]
fn a_gap_follows_the_last_packet_only() {
    let gap = 250_000;
    let ranks = vec![
        vec![
            begin(send(1, 1_024, 0), 1),
            begin(send(2, 8, 0), 2),
            wait(&[1, 2], Need::All),
        ],
        vec![Operation::Do(receive(Some(0), None))],
        vec![Operation::Do(receive(Some(0), None))],
    ];
    let mut job = job("three", 0..3, Listed::load(ranks));
    job.protocol.gap = Picoseconds(gap);
    let mut config = config();
    config.nic.injection = InjectionOrder::Fifo;
    let topology = crossbar(3, terminal());
    let outcome = simulate(&topology, &MINIMAL, &config, &[job], &TO_THE_END).unwrap();
    let passing = 1_024 * 1_000 / 8;
    assert_eq!(end(&outcome), passing + gap + network(8));
}

/// A program that breaks ends the run with its own words, on any number of threads.
#[test]
fn a_broken_program_ends_the_run() {
    struct Breaks;
    impl Program for Breaks {
        fn ranks(&self) -> u32 {
            4
        }
        fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
            Err(ProgramError(format!("file of rank {rank} is damaged")))
        }
        fn totals(&self) -> Option<odonata_load::Totals> {
            None
        }
        fn iterations(&self) -> u32 {
            0
        }
    }
    let topology = dragonfly(1, 2, 1, 3, uniform_links(RATE, 10_000, 4_096));
    for threads in [1, 2, 3] {
        let broken = JobPlan {
            start: Picoseconds(7_000),
            ..job("trace", 1..5, JobLoad::Closed(Arc::new(Breaks)))
        };
        let mut config = config();
        config.threads = threads;
        let error = simulate(&topology, &MINIMAL, &config, &[broken], &TO_THE_END).unwrap_err();
        let said = error.to_string();
        let SimError::Program { rank, at, .. } = error else {
            panic!("{said}");
        };
        assert_eq!((rank, at), (0, Picoseconds(7_000)));
        assert!(said.contains("file of rank 0 is damaged"), "{said}");
    }
}
