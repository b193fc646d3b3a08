//! Decisions per message: one path for all packets of a message.

use odonata_load::{Operation, Pattern, Process};
use odonata_network::Topology;
use odonata_network::routing::{Algorithm, QAdaptiveOptions, RoutingSpec, Via};
use odonata_run::{Decisions, EngineConfig, JobLoad, Outcome, Parameter, SimError};
use odonata_units::{Bytes, RankId};

use crate::support::{
    Listed, RATE, TO_THE_END, assert_conserved, config, dragonfly, job, simulate, uniform_links,
};

/// 72 nodes, 9 groups of 4 routers.
fn network() -> Topology {
    dragonfly(2, 4, 2, 9, uniform_links(RATE, 10_000, 8 * 256))
}

fn per_message() -> EngineConfig {
    EngineConfig {
        decisions: Decisions::PerMessage,
        ..config()
    }
}

fn valiant() -> RoutingSpec {
    RoutingSpec::new(Algorithm::Valiant { via: Via::Router })
}

/// Rank 0 sends `messages` of 100 packets to rank 1.
fn transfer(messages: u32) -> JobLoad {
    let send = |tag| Operation::Send {
        to: RankId(1),
        bytes: Bytes(100 * 256),
        tag,
    };
    let receive = |tag| Operation::Receive {
        from: RankId(0),
        tag,
    };
    let mut sender: Vec<_> = (0..messages).map(send).collect();
    sender.push(Operation::WaitAll);
    Listed::load(vec![sender, (0..messages).map(receive).collect()])
}

fn run(config: &EngineConfig, messages: u32) -> Outcome {
    let topology = network();
    // To the last group.
    let jobs = [job("transfer", [0, 70], transfer(messages))];
    let outcome = simulate(&topology, &valiant(), config, &jobs, &TO_THE_END).unwrap();
    assert_conserved(&outcome);
    outcome
}

/// Links between routers, and to the node, that carried something.
fn used(outcome: &Outcome) -> Vec<u64> {
    outcome
        .ports
        .iter()
        .map(|port| port.packets)
        .filter(|&packets| packets > 0)
        .collect()
}

/// Valiant's packets go by way of random routers; those of a message go by way of
/// that of the first, all 100 of them, and every router on it is visited 100 times.
#[test]
fn all_packets_of_a_message_take_one_path() {
    let one = run(&per_message(), 1);
    let links = used(&one);
    assert!(links.iter().all(|&packets| packets == 100), "{links:?}");
    // As many links as routers: the last leads to the node.
    let visits = &one.jobs[0].routers_visited;
    assert_eq!(visits[links.len()], 100, "{visits:?}");
    assert_eq!(visits.iter().sum::<u64>(), 100);
    // Two thirds of the network lie on the paths of 100 packets.
    assert!(used(&run(&config(), 1)).len() > 4 * links.len());
}

/// The next message decides anew, by the draws of its own first packet.
#[test]
fn messages_take_paths_of_their_own() {
    let links = used(&run(&per_message(), 8));
    assert!(links.iter().all(|packets| packets % 100 == 0), "{links:?}");
    assert!(links.len() > 20, "{links:?}");
}

/// Packets that keep to one path cannot overtake each other, so that one message
/// leaves at the rate of a link and the last packet arrives last: the time is that of
/// an idle path, whichever it is.
#[test]
fn a_message_alone_takes_the_time_of_an_idle_path() {
    let outcome = run(&per_message(), 1);
    let hops = used(&outcome).len() as u64;
    let byte = |bytes: u64| bytes * 1_000_000_000_000 / RATE;
    // Of packets that are cut through after 8 bytes (docs/packet-model.md, "zero load").
    let expected = (hops + 1) * 10_000 + hops * 40_000 + hops * byte(8) + byte(100 * 256);
    let found = outcome.messages[0].delivered.0 - outcome.messages[0].created.0;
    assert_eq!(found, expected);
}

/// A buffer of one packet lets a channel have one packet in a round trip of its credit: the packets
/// of a message that are decided for one by one spread over four channels and are faster by as much,
/// up to the rate of the link; those that follow the first keep to its channel, and their order.
#[test]
fn all_packets_of_a_message_take_one_of_several_channels() {
    let topology = dragonfly(2, 4, 2, 9, uniform_links(RATE, 10_000, 256));
    let jobs = [job("transfer", [0, 70], transfer(1))];
    let time = |decisions, virtual_channels| {
        let config = EngineConfig {
            decisions,
            virtual_channels,
            ..config()
        };
        let minimal = RoutingSpec::new(Algorithm::Minimal);
        let outcome = simulate(&topology, &minimal, &config, &jobs, &TO_THE_END).unwrap();
        assert_conserved(&outcome);
        outcome.end.0
    };
    let alone = time(Decisions::PerPacket, None);
    assert_eq!(time(Decisions::PerMessage, None), alone);
    assert_eq!(time(Decisions::PerMessage, Some(8)), alone);
    let spread = time(Decisions::PerPacket, Some(8));
    let link = 100 * 256 * 1_000_000_000_000 / RATE;
    assert!(spread < alone / 2 && spread > link, "{spread} of {alone}");
}

/// Messages of one packet have nobody to follow.
#[test]
fn short_messages_are_routed_one_by_one() {
    let topology = network();
    let load = crate::support::open(
        Pattern::UniformRandom,
        256,
        RATE as f64 / 5.0,
        Process::Poisson,
        72,
    );
    let load = match load {
        JobLoad::Open(source) => JobLoad::Open(source.ending_after(40).expect("a few")),
        load => load,
    };
    let jobs = [job("all", 0..72, load)];
    let run = |config: &EngineConfig| simulate(&topology, &valiant(), config, &jobs, &TO_THE_END);
    let (one, other) = (run(&config()).unwrap(), run(&per_message()).unwrap());
    assert_eq!(one.ports, other.ports);
    assert_eq!(one.messages, other.messages);
}

#[test]
fn algorithms_that_learn_want_every_packet() {
    let topology = network();
    let learning = RoutingSpec::new(Algorithm::QAdaptive(QAdaptiveOptions::default()));
    let jobs = [job("transfer", [0, 70], transfer(1))];
    let refused = simulate(&topology, &learning, &per_message(), &jobs, &TO_THE_END);
    let Err(SimError::Parameter { parameter, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(parameter, Parameter::Decisions);
}
