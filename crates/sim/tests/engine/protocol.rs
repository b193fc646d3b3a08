//! The protocol between ranks against LogGPS (Ino, Fujimoto, Hagihara 2001), to
//! the picosecond: on an idle network nothing but overheads and latencies adds up.

use odonata_load::Operation;
use odonata_network::{LinkClass, LinkKind};
use odonata_run::{Completion, HostCosts, HostTimes, Outcome, Protocol, SimError};
use odonata_units::{Bytes, Picoseconds, RankId};

use crate::support::{
    Listed, MINIMAL, RATE, TO_THE_END, assert_conserved, bandwidth, config, crossbar, job, link,
    simulate,
};

const SEND: u64 = 51_000;
const RECEIVE: u64 = 253_000;
const CONTROL: u64 = 48;

fn terminal() -> LinkClass {
    link(LinkKind::Terminal, RATE, 10_000, 4_096)
}

/// Rank 0 on one node sends `bytes` to rank 1 on another, which computes for
/// `late` ps before it posts its receive. When each is done, in ps.
fn send(bytes: u64, protocol: Protocol, late: u64) -> Result<u64, SimError> {
    let outcome = exchange(bytes, protocol, late)?;
    Ok(outcome.jobs[0].end.expect("it ends").0)
}

/// When the sender of such a message is done, in ps.
fn sender_done(bytes: u64, protocol: Protocol, late: u64) -> u64 {
    let outcome = exchange(bytes, protocol, late).unwrap();
    outcome.jobs[0].ranks[0].total()
}

fn exchange(bytes: u64, protocol: Protocol, late: u64) -> Result<Outcome, SimError> {
    exchange_between([0, 3], bytes, protocol, late)
}

fn exchange_between(
    nodes: [u32; 2],
    bytes: u64,
    protocol: Protocol,
    late: u64,
) -> Result<Outcome, SimError> {
    let send = Operation::Send {
        to: RankId(1),
        bytes: Bytes(bytes),
        tag: 7,
    };
    let receive = Operation::Receive {
        from: RankId(0),
        tag: 7,
    };
    let load = Listed::load(vec![
        vec![send, Operation::WaitAll],
        vec![
            Operation::Compute(Picoseconds(late)),
            receive,
            Operation::WaitAll,
        ],
    ]);
    let mut job = job("pair", nodes, load);
    job.protocol = protocol;
    let outcome = simulate(
        &crossbar(4, terminal()),
        &MINIMAL,
        &config(),
        &[job],
        &TO_THE_END,
    )?;
    assert_conserved(&outcome);
    let job = &outcome.jobs[0];
    // Requests and grants are not the job's.
    assert_eq!((job.messages_delivered, job.bytes_delivered), (1, bytes));
    Ok(outcome)
}

/// Latency of the network for a message, both overheads zero.
fn network(bytes: u64) -> u64 {
    send(bytes, Protocol::default(), 0).unwrap()
}

fn protocol(eager_limit: Option<u64>) -> Protocol {
    Protocol {
        eager_limit: eager_limit.map(Bytes),
        completion: Completion::Sent,
        control: Bytes(CONTROL),
        costs: HostCosts {
            send_overhead: Picoseconds(SEND),
            receive_overhead: Picoseconds(RECEIVE),
            copy_bandwidth: Some(bandwidth(5_000_000_000)),
            times: HostTimes::default(),
        },
        within_node: None,
        gap: Picoseconds::ZERO,
        send_delay: Picoseconds::ZERO,
        redirect_overhead: Picoseconds::ZERO,
        noise: None,
        delay_times: HostTimes::default(),
    }
}

/// Where messages within a node have costs of their own these are all that their ranks spend,
/// and the delay on the way to the interface is none of theirs; others go on as before.
#[test]
fn messages_within_a_node_cost_what_its_memory_takes() {
    let within = HostCosts {
        send_overhead: Picoseconds(3_000),
        receive_overhead: Picoseconds(5_000),
        copy_bandwidth: None,
        times: HostTimes::new(&[(Bytes(1_000), Picoseconds(7_000))]).unwrap(),
    };
    let others = Protocol {
        send_delay: Picoseconds(1_000_000),
        ..protocol(None)
    };
    let both = Protocol {
        within_node: Some(within),
        ..others
    };
    let end = |nodes, protocol| {
        let outcome = exchange_between(nodes, 1_000, protocol, 0).unwrap();
        outcome.jobs[0].end.expect("it ends").0
    };
    let memory = end([2, 2], Protocol::default());
    assert_eq!(end([2, 2], both), memory + 3_000 + 5_000 + 2 * 7_000);
    assert_eq!(end([0, 3], both), end([0, 3], others));
    // Without them they cost what all others cost.
    let copies = 2 * 200_000;
    assert_eq!(
        end([2, 2], others),
        memory + SEND + RECEIVE + copies + 1_000_000
    );
}

/// Sender and receiver each spend what the line through the points says of the size: by hand,
/// 50 of 100 bytes are half of 20 ns, 150 half-way from 20 to 60 ns, and 300 go on at 40 ns for
/// 100 bytes.
#[test]
fn what_a_message_costs_its_ranks_follows_from_its_size() {
    let points = [(100, 20_000), (200, 60_000)].map(|(b, t)| (Bytes(b), Picoseconds(t)));
    let by_size = Protocol {
        costs: HostCosts {
            times: HostTimes::new(&points).unwrap(),
            ..HostCosts::default()
        },
        ..Protocol::default()
    };
    for (bytes, each) in [
        (50, 10_000),
        (100, 20_000),
        (150, 40_000),
        (200, 60_000),
        (300, 100_000),
    ] {
        assert_eq!(
            send(bytes, by_size, 0).unwrap(),
            network(bytes) + 2 * each,
            "{bytes} B"
        );
    }
    // Sizes have to grow, and times not to fall.
    let refused = [
        [(100, 5), (100, 6)],
        [(100, 5), (200, 4)],
        [(0, 5), (200, 6)],
    ];
    for points in refused {
        let points = points.map(|(b, t)| (Bytes(b), Picoseconds(t)));
        assert_eq!(HostTimes::new(&points), None);
    }
    let many: Vec<_> = (1..=17).map(|n| (Bytes(n), Picoseconds(n))).collect();
    assert!(HostTimes::new(&many[..16]).is_some());
    assert_eq!(HostTimes::new(&many), None);
}

/// `o + S·O + L + o + S·O`, whether the receive was posted in time or not.
#[test]
fn an_eager_message_takes_both_overheads() {
    for bytes in [1, 40, 256, 1_000, 12_000] {
        let copying = bandwidth(5_000_000_000).duration_of(bytes).0;
        let arrival = SEND + copying + network(bytes);
        let taking_in = RECEIVE + copying;
        for limit in [None, Some(bytes), Some(12_000)] {
            assert_eq!(
                send(bytes, protocol(limit), 0).unwrap(),
                arrival + taking_in
            );
            for late in [arrival - 1, arrival + 1, arrival + 5_000_000] {
                let begin = arrival.max(late);
                assert_eq!(
                    send(bytes, protocol(limit), late).unwrap(),
                    begin + taking_in
                );
            }
        }
    }
}

/// A longer one asks first: the request and the grant cross the network, and the
/// receiver spends its overhead on the request, too. Nothing is sent before the
/// receive is posted.
#[test]
fn a_long_message_asks_first() {
    for bytes in [13, 256, 1_000, 100_000] {
        let copying = bandwidth(5_000_000_000).duration_of(bytes).0;
        let asked = SEND + copying + network(CONTROL);
        let rest = RECEIVE + network(CONTROL) + network(bytes) + RECEIVE + copying;
        for late in [0, asked - 1, asked + 1, asked + 5_000_000] {
            let end = send(bytes, protocol(Some(12)), late).unwrap();
            assert_eq!(end, asked.max(late) + rest, "{bytes} B, posted at {late}");
        }
    }
    // Without overheads only the way there and back is added.
    let bare = Protocol {
        eager_limit: Some(Bytes(0)),
        control: Bytes(CONTROL),
        ..Protocol::default()
    };
    assert_eq!(
        send(700, bare, 0).unwrap(),
        2 * network(CONTROL) + network(700)
    );
}

/// Where the receiver says when it has a long message, its sender is done one way
/// later than the receiver; otherwise when the last byte has left. The receiver sees no
/// difference, and neither do eager messages.
#[test]
fn a_long_message_is_complete_at_its_sender_when_the_receiver_has_said_so() {
    let acknowledged = |limit| Protocol {
        completion: Completion::Acknowledged,
        ..protocol(limit)
    };
    for bytes in [13, 256, 1_000, 100_000] {
        for late in [0, 5_000_000] {
            let received = send(bytes, protocol(Some(12)), late).unwrap();
            let done = sender_done(bytes, acknowledged(Some(12)), late);
            assert_eq!(
                done,
                received + network(CONTROL),
                "{bytes} B, posted at {late}"
            );
            // The job ends when its sender does.
            assert_eq!(send(bytes, acknowledged(Some(12)), late).unwrap(), done);
            let sent = sender_done(bytes, protocol(Some(12)), late);
            assert!(sent < received, "{bytes} B: {sent} and {received}");
            for limit in [None, Some(bytes)] {
                let eager = sender_done(bytes, acknowledged(limit), late);
                assert_eq!(eager, sender_done(bytes, protocol(limit), late));
            }
        }
    }
}

/// A delay of messages adds up once for each message, of the protocol or not, and keeps
/// nobody busy: of many messages of a rank, handed over at once, each is late by one delay.
#[test]
fn a_delay_of_messages_keeps_nobody_busy() {
    const DELAY: u64 = 3_510_000;
    let delayed = |protocol| Protocol {
        send_delay: Picoseconds(DELAY),
        ..protocol
    };
    let fin = Protocol {
        completion: Completion::Acknowledged,
        ..protocol(Some(12))
    };
    for bytes in [1, 1_000, 100_000] {
        for (protocol, messages) in [(protocol(None), 1), (protocol(Some(0)), 3), (fin, 4)] {
            let messages = if protocol.asks_for(Bytes(bytes)) {
                messages
            } else {
                1
            };
            assert_eq!(
                send(bytes, delayed(protocol), 0).unwrap(),
                send(bytes, protocol, 0).unwrap() + messages * DELAY,
                "{bytes} B, {messages} messages"
            );
        }
    }
    let n = 20;
    let all = |operation: fn(u32) -> Operation| (0..n).map(operation).chain([Operation::WaitAll]);
    let operations = vec![
        all(|tag| Operation::Send {
            to: RankId(1),
            bytes: Bytes(1_000),
            tag,
        })
        .collect(),
        all(|tag| Operation::Receive {
            from: RankId(0),
            tag,
        })
        .collect(),
    ];
    let end = |protocol| {
        let mut job = job("pair", [0, 3], Listed::load(operations.clone()));
        job.protocol = protocol;
        let network = crossbar(4, terminal());
        let outcome = simulate(&network, &MINIMAL, &config(), &[job], &TO_THE_END).unwrap();
        assert_conserved(&outcome);
        outcome.jobs[0].end.unwrap().0
    };
    assert_eq!(end(delayed(protocol(None))), end(protocol(None)) + DELAY);
}

/// A run that stops while messages are delayed accounts for them.
#[test]
fn delayed_messages_are_accounted_for() {
    let sends = (0..3).map(|tag| Operation::Send {
        to: RankId(1),
        bytes: Bytes(700),
        tag,
    });
    let receives = (0..3).map(|tag| Operation::Receive {
        from: RankId(0),
        tag,
    });
    let ends = [Operation::WaitAll];
    let load = Listed::load(vec![
        sends.chain(ends.clone()).collect(),
        receives.chain(ends).collect(),
    ]);
    let mut job = job("pair", [0, 3], load);
    job.protocol.send_delay = Picoseconds(1_000_000);
    job.protocol.costs.send_overhead = Picoseconds(400_000);
    let mut measurement = TO_THE_END.clone();
    // The third has just been handed over, the first is on its way.
    measurement.duration = Some(Picoseconds(1_400_001));
    let network = crossbar(4, terminal());
    let outcome = simulate(&network, &MINIMAL, &config(), &[job], &measurement).unwrap();
    assert_conserved(&outcome);
    assert_eq!(outcome.jobs[0].bytes_created, 3 * 700);
    assert_eq!(outcome.jobs[0].bytes_delivered, 0);
}

/// Overheads of one rank add up: `n` messages from `n` ranks that arrive together
/// are taken in one after another.
#[test]
fn a_rank_takes_in_one_message_at_a_time() {
    let n = 5;
    let mut operations = vec![
        vec![
            Operation::Send {
                to: RankId(0),
                bytes: Bytes(8),
                tag: 1,
            },
            Operation::WaitAll,
        ];
        n + 1
    ];
    operations[0] = (1..=n as u32)
        .map(|from| Operation::Receive {
            from: RankId(from),
            tag: 1,
        })
        .chain([Operation::WaitAll])
        .collect();
    let mut job = job("gather", 0..=n as u32, Listed::load(operations));
    job.protocol = Protocol {
        costs: HostCosts {
            receive_overhead: Picoseconds(RECEIVE),
            ..HostCosts::default()
        },
        ..Protocol::default()
    };
    let outcome = simulate(
        &crossbar(n as u32 + 1, terminal()),
        &MINIMAL,
        &config(),
        &[job],
        &TO_THE_END,
    );
    let end = outcome.unwrap().jobs[0].end.unwrap().0;
    // The first arrives as on an idle network; the others are there long before
    // it has been taken in.
    assert_eq!(end, network(8) + n as u64 * RECEIVE);
}

/// A message that asks waits for a receive that nobody posts; the error says so.
#[test]
fn a_request_that_nobody_grants_is_reported() {
    let send = Operation::Send {
        to: RankId(1),
        bytes: Bytes(100),
        tag: 3,
    };
    let load = Listed::load(vec![vec![send, Operation::WaitAll], vec![]]);
    let mut job = job("pair", [0, 1], load);
    job.protocol.eager_limit = Some(Bytes(99));
    let error = simulate(
        &crossbar(2, terminal()),
        &MINIMAL,
        &config(),
        &[job],
        &TO_THE_END,
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("rank 1 to receive with tag 3"),
        "{error}"
    );
}

/// Requests and grants are one packet each.
#[test]
fn a_control_message_fits_a_packet() {
    for control in [0, 257] {
        let protocol = Protocol {
            control: Bytes(control),
            ..protocol(Some(12))
        };
        let error = send(100, protocol, 0).unwrap_err().to_string();
        assert!(error.contains("the size of a control message"), "{error}");
    }
}
