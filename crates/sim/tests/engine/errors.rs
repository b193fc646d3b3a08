//! Every error that the engine can answer, and that it says what is wrong.

use std::ops::ControlFlow;

use odonata_load::motif::{AllToAll, Repeat};
use odonata_load::{Operation, Pattern, Process};
use odonata_network::routing::{Algorithm, Hop, PacketRoute, RouterView, RoutingSpec, Via};
use odonata_network::topology::edge_list;
use odonata_network::verify::verify;
use odonata_network::{LinkKind, Routing, Topology, routing::AnyRouting};
use odonata_run::{
    CreditUse, Crossbar, CrossbarRate, EngineConfig, JobLoad, JobPlan, Losses, Measurement,
    MessageRecords, OccupancyCount, Parameter, Room, SimError, StuckPacket, Switching,
};
use odonata_sim::run;
use odonata_units::{
    Bandwidth, Bytes, GroupId, NodeId, Picoseconds, PortId, RankId, RouterId, Sender,
};

use crate::support::{
    Listed, MINIMAL, RATE, TO_THE_END, config, crossbar, dragonfly, job, link, measure, open,
    simulate, simulate_with, uniform_links,
};

fn network() -> Topology {
    crossbar(4, link(LinkKind::Terminal, RATE, 10_000, 4_096))
}

fn uniform(percent: f64) -> JobPlan {
    let rate = RATE as f64 * percent / 100.0;
    let load = open(Pattern::UniformRandom, 256, rate, Process::Poisson, 4);
    job("uniform", 0..4, load)
}

const SHORT: Measurement = Measurement {
    warmup: Picoseconds(0),
    duration: Some(Picoseconds(1_000_000)),
    timeline_bin: None,
    messages: MessageRecords::None,
    rank_intervals: false,
    traffic: false,
    attribution: false,
    arrivals: None,
};

fn refused(
    topology: &Topology,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
) -> SimError {
    simulate(topology, &MINIMAL, config, jobs, measurement).unwrap_err()
}

#[track_caller]
fn assert_parameter(error: SimError, key: Parameter, found: &str) {
    let SimError::Parameter {
        parameter,
        found: value,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((*parameter, value.as_str()), (key, found), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&key.to_string()) && text.contains(found),
        "{text}"
    );
}

type Change = fn(&mut EngineConfig);

const BEYOND_AN_HOUR: Picoseconds = Picoseconds(3_601 * Picoseconds::SECOND.0);
const BEYOND_50_DAYS: Picoseconds = Picoseconds(Picoseconds::LARGEST.0 + 1);

#[test]
fn times_that_sums_could_wrap_with() {
    let refused_job = |change: fn(&mut JobPlan)| {
        let mut job = uniform(10.0);
        change(&mut job);
        refused(&network(), &config(), &[job], &SHORT)
    };
    let hour = "3601 s";
    let error = refused_job(|job| job.protocol.costs.send_overhead = BEYOND_AN_HOUR);
    assert_parameter(error, Parameter::SendOverhead, hour);
    let error = refused_job(|job| job.protocol.costs.receive_overhead = BEYOND_AN_HOUR);
    assert_parameter(error, Parameter::ReceiveOverhead, hour);
    let error = refused_job(|job| job.protocol.gap = BEYOND_AN_HOUR);
    assert_parameter(error, Parameter::Gap, hour);
    let error = refused_job(|job| job.protocol.send_delay = BEYOND_AN_HOUR);
    assert_parameter(error, Parameter::SendDelay, hour);
    let days = BEYOND_50_DAYS.to_string();
    let error = refused_job(|job| job.start = BEYOND_50_DAYS);
    assert_parameter(error, Parameter::Start, &days);
    for (key, duration, bin) in [
        (Parameter::Duration, BEYOND_50_DAYS, None),
        (
            Parameter::TimelineBin,
            Picoseconds(1_000_000),
            Some(BEYOND_50_DAYS),
        ),
    ] {
        let measurement = Measurement {
            duration: Some(duration),
            timeline_bin: bin,
            ..SHORT
        };
        let error = refused(&network(), &config(), &[uniform(10.0)], &measurement);
        assert_parameter(error, key, &days);
    }
    let mut topology = network();
    topology.link_classes[0].latency = BEYOND_AN_HOUR;
    let error = refused(&topology, &config(), &[uniform(10.0)], &SHORT);
    assert_parameter(error, Parameter::LinkLatency, "3601 s for terminal links");
}

/// The first bytes that leave a node are in a bin of 1 ps that 2^61 others come before: they
/// and their like are asked for, not had, whatever the number of threads.
#[test]
fn memory_that_is_not_there_is_an_error_that_says_what_asked_for_it() {
    let message = |from: u32, to: u32| Operation::Send {
        to: RankId(to),
        bytes: Bytes(256),
        tag: from,
    };
    let take = |from: u32| Operation::Receive {
        from: RankId(from),
        tag: from,
    };
    let topology = dragonfly(2, 4, 2, 9, uniform_links(RATE, 20_000, 4_096));
    for threads in [1, 3] {
        let mut pair = job(
            "late",
            [0, 70],
            Listed::load(vec![
                vec![message(0, 1), take(1)],
                vec![message(1, 0), take(0)],
            ]),
        );
        pair.start = Picoseconds(1 << 61);
        let measurement = Measurement {
            timeline_bin: Some(Picoseconds(1)),
            ..TO_THE_END
        };
        let config = EngineConfig {
            threads,
            ..config()
        };
        let error = refused(&topology, &config, &[pair], &measurement);
        let SimError::Memory { what, .. } = &error else {
            panic!("{error}");
        };
        assert!(what.contains("wider bins"), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with("not enough memory for the timeline"),
            "{text}"
        );
    }
}

/// The last moment that is simulated, and everything that is as slow as it may be.
#[test]
fn the_end_of_simulated_time_is_an_error_of_runs_that_are_to_end_by_themselves() {
    let exchange = |rank: u32| {
        let (peer, tag) = (RankId(rank ^ 1), 0);
        let bytes = Bytes(1 << 20);
        vec![
            Operation::Send {
                to: peer,
                bytes,
                tag,
            },
            Operation::Receive { from: peer, tag },
        ]
    };
    let mut slow = config();
    slow.router.delay = Picoseconds::LONGEST_DELAY;
    slow.router.credit_delay = Picoseconds::LONGEST_DELAY;
    slow.nic.loopback_latency = Picoseconds::LONGEST_DELAY;
    let slowest = link(
        LinkKind::Terminal,
        1_000,
        Picoseconds::LONGEST_DELAY.0,
        4_096,
    );
    for (nodes, start) in [
        ([0, 1], Picoseconds::LARGEST.0 - 1),
        ([0, 0], Picoseconds::LARGEST.0 - 1),
        ([0, 1], Picoseconds::LARGEST.0),
        // Sent in time, and so slow that it does not arrive in time.
        (
            [0, 1],
            Picoseconds::LARGEST.0 - 3_600 * Picoseconds::SECOND.0,
        ),
    ] {
        let mut late = job("late", nodes, Listed::load((0..2).map(exchange).collect()));
        late.start = Picoseconds(start);
        late.protocol.costs.send_overhead = Picoseconds::LONGEST_DELAY;
        late.protocol.gap = Picoseconds::LONGEST_DELAY;
        let topology = crossbar(2, slowest.clone());
        let error = refused(&topology, &slow, &[late], &TO_THE_END);
        assert!(
            matches!(&error, SimError::TooLong { job } if job == "late"),
            "{error}"
        );
    }
}

#[test]
fn parameters_of_the_engine() {
    let changes: [(Change, Parameter, &str); 16] = [
        (|c| c.packet = Bytes(0), Parameter::Packet, "0 B"),
        (
            |c| c.packet = Bytes(1 << 26),
            Parameter::Packet,
            "67108864 B",
        ),
        (
            |c| c.router.switching = Switching::CutThrough { flit: Bytes(0) },
            Parameter::Flit,
            "0 B",
        ),
        (
            |c| c.router.crossbar = slow(0.99),
            Parameter::Crossbar,
            "0.99",
        ),
        (
            |c| c.router.crossbar = slow(f64::NAN),
            Parameter::Crossbar,
            "NaN",
        ),
        (
            |c| c.router.crossbar = slow(f64::INFINITY),
            Parameter::Crossbar,
            "inf",
        ),
        (
            |c| c.router.crossbar = as_fast_as(1_000_000),
            Parameter::Crossbar,
            "1 MB/s",
        ),
        (
            |c| c.router.crossbar = buffered(255),
            Parameter::OutputBuffer,
            "255 B",
        ),
        (
            |c| c.router.crossbar = buffered(1 << 32),
            Parameter::OutputBuffer,
            "4294967296 B",
        ),
        (
            |c| c.router.room = Room::Packets,
            Parameter::Room,
            "\"packets\"",
        ),
        (
            |c| c.router.node_room = Some(Bytes(255)),
            Parameter::OutputBuffer,
            "255 B",
        ),
        (
            |c| c.router.occupancy = OccupancyCount::Requests,
            Parameter::Occupancy,
            "\"requests\"",
        ),
        (
            |c| c.router.occupancy = OccupancyCount::Unsent,
            Parameter::Occupancy,
            "\"unsent\"",
        ),
        (
            |c| c.router.delay = Picoseconds(u64::MAX),
            Parameter::RouterDelay,
            "18446744.07370955 s",
        ),
        (
            |c| c.router.credit_delay = BEYOND_AN_HOUR,
            Parameter::CreditDelay,
            "3601 s",
        ),
        (
            |c| c.nic.loopback_latency = BEYOND_AN_HOUR,
            Parameter::LoopbackLatency,
            "3601 s",
        ),
    ];
    for (change, key, found) in changes {
        let mut config = config();
        change(&mut config);
        assert_parameter(
            refused(&network(), &config, &[uniform(10.0)], &SHORT),
            key,
            found,
        );
    }
}

fn slow(speedup: f64) -> Crossbar {
    Crossbar::Bounded {
        rate: CrossbarRate::Speedup(speedup),
        output_buffer: Bytes(4_096),
    }
}

fn as_fast_as(bytes_per_second: u64) -> Crossbar {
    Crossbar::Bounded {
        rate: CrossbarRate::Fixed(Bandwidth::new(bytes_per_second).unwrap()),
        output_buffer: Bytes(4_096),
    }
}

fn buffered(output_buffer: u64) -> Crossbar {
    Crossbar::Bounded {
        rate: CrossbarRate::Speedup(1.0),
        output_buffer: Bytes(output_buffer),
    }
}

#[test]
fn parameters_of_the_network() {
    let jobs = [uniform(10.0)];
    // Topologies are checked when they are built, so these are changed after.
    let mut topology = network();
    topology.link_classes[0].latency = Picoseconds(0);
    let error = refused(&topology, &config(), &jobs, &SHORT);
    assert_parameter(error, Parameter::LinkLatency, "0 ps for terminal links");

    let mut topology = network();
    topology.link_classes[0].buffer = Bytes(1 << 32);
    let error = refused(&topology, &config(), &jobs, &SHORT);
    assert_parameter(error, Parameter::LinkBuffer, "4294967296 B");

    let mut topology = network();
    topology.link_classes[0].buffer = Bytes(255);
    let error = refused(&topology, &config(), &jobs, &SHORT);
    let SimError::BufferTooSmall {
        class,
        buffer,
        packet,
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((class.as_str(), buffer.0, packet.0), ("terminal", 255, 256));
    assert!(
        error
            .to_string()
            .contains("terminal links' buffer of 255 B"),
        "{error}"
    );

    let mut topology = network();
    topology.group_of_router = vec![GroupId(0); (1 << 20) + 1];
    let error = simulate_with(&topology, &OneHop::of(1), &config(), &jobs, &SHORT).unwrap_err();
    assert_parameter(error, Parameter::Network, "1048577 routers");
}

/// An algorithm that claims to need some number of virtual channels and sends everything over
/// one of them, through one port or else the destination's.
struct OneHop {
    channels: u8,
    port: Option<u16>,
    vc: u8,
}

impl OneHop {
    const fn of(channels: u8) -> Self {
        Self {
            channels,
            port: None,
            vc: 0,
        }
    }
}

impl Routing for OneHop {
    fn virtual_channels(&self) -> u8 {
        self.channels
    }
    fn next_hop<V: RouterView>(
        &self,
        _: &mut V,
        _: RouterId,
        _: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        Hop {
            port: self.port.unwrap_or(route.destination_port),
            vc: self.vc,
        }
    }
    fn possible_hops(
        &self,
        _: RouterId,
        _: bool,
        _: &PacketRoute,
        _: &mut Vec<(Hop, PacketRoute)>,
    ) {
    }
}

#[test]
fn the_number_of_virtual_channels() {
    for (channels, found) in [(0, "0"), (17, "17")] {
        let jobs = [uniform(10.0)];
        let routing = OneHop::of(channels);
        let error = simulate_with(&network(), &routing, &config(), &jobs, &SHORT).unwrap_err();
        assert_parameter(error, Parameter::VirtualChannels, found);
    }
    for channels in [1, 16] {
        let jobs = [uniform(10.0)];
        simulate_with(&network(), &OneHop::of(channels), &config(), &jobs, &SHORT).unwrap();
    }
}

#[test]
fn parameters_of_the_measurement() {
    let jobs = [uniform(10.0)];
    let with = |change: fn(&mut Measurement)| {
        let mut measurement = SHORT;
        change(&mut measurement);
        refused(&network(), &config(), &jobs, &measurement)
    };
    let endless = "none, and no job that ends by itself";
    assert_parameter(with(|m| m.duration = None), Parameter::Duration, endless);
    assert_parameter(
        with(|m| m.warmup = Picoseconds(1_000_000)),
        Parameter::Warmup,
        "1 us",
    );
    let no_bin = with(|m| m.timeline_bin = Some(Picoseconds(0)));
    assert_parameter(no_bin, Parameter::TimelineBin, "0 ps");
    // Without any job there is nothing that could end either.
    let error = refused(&network(), &config(), &[], &TO_THE_END);
    assert_parameter(error, Parameter::Duration, endless);
}

#[test]
fn placements() {
    let mut plan = uniform(10.0);
    plan.node_of_rank.pop();
    let error = refused(&network(), &config(), &[plan], &SHORT);
    assert_parameter(error, Parameter::Jobs, "4 ranks on 3 places");
    let many = vec![job("none", [], Listed::load(vec![])); 1 << 16];
    let error = refused(&network(), &config(), &many, &SHORT);
    assert_parameter(error, Parameter::Jobs, "65536 jobs");
    let mut plan = uniform(10.0);
    plan.node_of_rank[2] = NodeId(4);
    let error = refused(&network(), &config(), &[plan], &SHORT);
    assert_parameter(error, Parameter::Placement, "node 4");
}

fn send(to: u32, tag: u32) -> Operation {
    Operation::Send {
        to: RankId(to),
        bytes: Bytes(1_000),
        tag,
    }
}

fn receive(from: u32, tag: u32) -> Operation {
    Operation::Receive {
        from: RankId(from),
        tag,
    }
}

/// A message with another tag, a message that nobody sends, and ranks that each
/// wait before they send; also beside a job that never ends, and one that is aborted
/// for a message that is lost.
#[test]
fn ranks_that_wait_for_ever() {
    let wait = || Operation::WaitAll;
    let scripts = [
        (
            vec![
                vec![send(1, 7), wait()],
                vec![receive(0, 8), wait()],
                vec![],
            ],
            (1, 1, "a message from rank 0 with tag 8"),
        ),
        (
            vec![
                vec![],
                vec![send(2, 0), wait()],
                vec![receive(1, 0), receive(0, 3), wait()],
            ],
            (1, 2, "a message from rank 0 with tag 3"),
        ),
        (
            vec![
                vec![receive(1, 0), wait(), send(1, 0)],
                vec![receive(0, 0), wait(), send(0, 0)],
                vec![Operation::Compute(Picoseconds(5_000_000))],
            ],
            (2, 0, "a message from rank 1 with tag 0"),
        ),
    ];
    for (script, (count, first, what)) in scripts {
        for beside in 0..3 {
            let mut jobs = vec![job("stuck", [0, 1, 2], Listed::load(script.clone()))];
            let mut config = config();
            if beside > 0 {
                let rate = RATE as f64 * 0.2;
                let load = open(Pattern::UniformRandom, 256, rate, Process::Poisson, 3);
                jobs.push(job("endless", 0..3, load));
            }
            if beside > 1 {
                let to_dark = vec![vec![send(1, 0), wait()], vec![receive(0, 0), wait()]];
                jobs.push(job("aborted", [0, 3], Listed::load(to_dark)));
                let always = (Picoseconds(0), Picoseconds(u64::MAX));
                config.losses = Some(Losses {
                    dark: vec![(Sender::Router(PortId(3)), always.0, always.1)],
                    unreachable: vec![(always.0, vec![])],
                    resend_after: Picoseconds(100_000),
                    retries: 1,
                });
            }
            for threads in [1, 2] {
                config.threads = threads;
                let error = refused(&network(), &config, &jobs, &TO_THE_END);
                let SimError::Unmatched {
                    job,
                    blocked,
                    rank,
                    waits_for,
                } = &error
                else {
                    panic!("{error}");
                };
                assert_eq!(
                    (job.as_str(), *blocked, *rank),
                    ("stuck", count, first),
                    "{error}"
                );
                assert_eq!(waits_for, what);
            }
        }
    }
}

#[test]
fn the_progress_function_can_stop_a_run() {
    let topology = network();
    let AnyRouting::Minimal(routing) = AnyRouting::new(&topology, &MINIMAL).unwrap() else {
        panic!("asked for minimal");
    };
    for threads in [1, 2] {
        let mut config = config();
        config.threads = threads;
        let long = measure(0, 1_000_000_000_000_000, MessageRecords::None);
        let mut seen = None;
        let jobs = [uniform(50.0)];
        let result = run(
            &topology,
            &routing,
            &config,
            &jobs,
            &long,
            &mut |progress: &odonata_run::Progress| {
                seen = Some(*progress);
                ControlFlow::Break(())
            },
        );
        let Err(SimError::Interrupted { at }) = result else {
            panic!("the run went on");
        };
        let seen = seen.unwrap();
        assert!(seen.now.0 > 0 && at >= seen.now && seen.packets_delivered > 0);
        assert!((0.0..0.5).contains(&seen.fraction), "{seen:?}");
    }
}

/// An algorithm that panics at one router.
struct Faulty(RouterId);

impl Routing for Faulty {
    fn virtual_channels(&self) -> u8 {
        1
    }
    fn next_hop<V: RouterView>(
        &self,
        _: &mut V,
        at: RouterId,
        _: bool,
        route: &mut PacketRoute,
    ) -> Hop {
        assert!(at != self.0, "a fault of the algorithm");
        Hop {
            port: route.destination_port,
            vc: 0,
        }
    }
    fn possible_hops(
        &self,
        _: RouterId,
        _: bool,
        _: &PacketRoute,
        _: &mut Vec<(Hop, PacketRoute)>,
    ) {
    }
}

/// A panic in one partition ends the run with a panic; the other threads do not
/// wait for ever.
#[test]
fn a_panic_in_one_partition_stops_all() {
    let topology = dragonfly(2, 2, 1, 3, uniform_links(RATE, 20_000, 4_096));
    let rate = RATE as f64 / 2.0;
    let load = open(Pattern::Neighbour, 256, rate, Process::Poisson, 12);
    let jobs = [job("neighbours", 0..12, load)];
    let mut config = config();
    for threads in [2, 3] {
        config.threads = threads;
        for router in [0, 5] {
            let routing = Faulty(RouterId(router));
            let attempt = std::panic::AssertUnwindSafe(|| {
                simulate_with(&topology, &routing, &config, &jobs, &SHORT)
            });
            assert!(std::panic::catch_unwind(attempt).is_err());
        }
    }
}

/// Arrays have no place for a port or a channel that there is not, so that the run ends
/// there: with an ideal crossbar, whose channels have a fourth place that nobody uses, and with
/// a bounded one.
#[test]
fn an_algorithm_that_names_no_output_ends_the_run() {
    for crossbar in [Crossbar::Ideal, buffered(1_024)] {
        let mut config = config();
        config.router.crossbar = crossbar;
        let attempt = |port, vc| {
            let jobs = [uniform(10.0)];
            let routing = OneHop {
                port,
                vc,
                ..OneHop::of(3)
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                simulate_with(&network(), &routing, &config, &jobs, &SHORT).unwrap();
            }))
        };
        assert!(attempt(None, 2).is_ok());
        for (port, vc) in [(None, 3), (Some(99), 0)] {
            let panic = attempt(port, vc).unwrap_err();
            let said = panic.downcast_ref::<String>().expect("a text");
            assert!(said.contains("which has none"), "{said}");
        }
    }
}

/// Every packet of the cycle holds the buffer that the one before waits for.
fn assert_circle(cycle: &[StuckPacket]) {
    assert!(cycle.len() >= 2, "{cycle:?}");
    for (packet, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(
            next.holds,
            format!("the buffer behind {}", packet.waits_for)
        );
    }
}

/// Valiant's routes with all virtual channels merged into one: their channel
/// dependency graph has cycles, and under heavy load with small buffers the
/// network comes to a standstill, which is an error in runs to the end and in
/// runs of a given length, whatever the router and the number of threads.
#[test]
fn a_broken_channel_scheme_deadlocks_and_is_caught() {
    let topology = dragonfly(2, 4, 2, 9, uniform_links(RATE, 20_000, 256));
    let broken = RoutingSpec {
        virtual_channels: Some(1),
        ..RoutingSpec::new(Algorithm::Valiant { via: Via::Group })
    };
    let AnyRouting::Valiant(routing) = AnyRouting::new(&topology, &broken).unwrap() else {
        panic!("asked for Valiant");
    };
    assert!(!verify(&topology, &routing).unwrap().is_deadlock_free());
    let all_to_all = AllToAll::new(72, Bytes(1_024), 8, Repeat::ONCE).unwrap();
    let closed = job(
        "all",
        0..72,
        JobLoad::Closed(std::sync::Arc::new(all_to_all)),
    );
    let rate = RATE as f64;
    let open = open(Pattern::UniformRandom, 256, rate, Process::Poisson, 72);
    let open = job("uniform", 0..72, open);
    let fixed = measure(0, 40_000_000, MessageRecords::None);
    let models = [
        (Crossbar::Ideal, CreditUse::Link),
        (Crossbar::Ideal, CreditUse::Crossbar),
        (buffered(256), CreditUse::Link),
        (buffered(256), CreditUse::Crossbar),
    ];
    for (crossbar, credit_use) in models {
        for (plan, measurement) in [(&closed, &TO_THE_END), (&open, &fixed)] {
            let mut found = Vec::new();
            for threads in [1, 2] {
                let mut config = config();
                config.router.crossbar = crossbar;
                config.router.credit_use = credit_use;
                config.threads = threads;
                let jobs = [plan.clone()];
                let error = simulate(&topology, &broken, &config, &jobs, measurement).unwrap_err();
                let SimError::Deadlock { at, packets, cycle } = &error else {
                    panic!("{error}");
                };
                assert_circle(cycle);
                assert!(at.0 > 0 && *packets >= cycle.len() as u64);
                assert!(error.to_string().contains("virtual channel"), "{error}");
                found.push((*at, *packets, cycle.clone()));
            }
            assert_eq!(found[0], found[1], "one and two threads");
        }
    }
    // With the channels that it needs the same goes through.
    let sound = RoutingSpec {
        virtual_channels: None,
        ..broken
    };
    for (crossbar, credit_use) in models {
        let mut config = config();
        config.router.crossbar = crossbar;
        config.router.credit_use = credit_use;
        for (plan, measurement) in [(&closed, &TO_THE_END), (&open, &fixed)] {
            simulate(
                &topology,
                &sound,
                &config,
                std::slice::from_ref(plan),
                measurement,
            )
            .unwrap();
        }
    }
}

/// A ring of eight routers whose links have one channel: exchanges among fourteen of its
/// nodes close a circle, beside traffic without end between the two nodes of the other
/// router. It is found while that goes on, by any number of threads: at the first look
/// (2^23 ps), or before the run is a quarter older than when it formed.
#[test]
fn a_standstill_beside_traffic_that_goes_on_is_found() {
    let mut text = String::from(
        "class terminal terminal 16000000000 30000 4096\n\
         class local local 8000000000 30000 4096\nrouters 0 7 group 0\n",
    );
    for router in 0..8 {
        text.push_str(&format!("nodes 2 {router} terminal\n"));
    }
    for router in 0..8 {
        text.push_str(&format!("link {router} {} local\n", (router + 1) % 8));
    }
    let topology = edge_list::import(&text, &[]).unwrap();
    let routing = RoutingSpec {
        virtual_channels: Some(1),
        ..RoutingSpec::new(Algorithm::ShortestPath)
    };
    let all_to_all = AllToAll::new(14, Bytes(65_536), 13, Repeat::ONCE).unwrap();
    let stuck = JobLoad::Closed(std::sync::Arc::new(all_to_all));
    let rate = RATE as f64 / 1_000.0;
    let alive = open(Pattern::UniformRandom, 1_024, rate, Process::Poisson, 2);
    let jobs = [job("stuck", 2..16, stuck), job("alive", 0..2, alive)];
    for (crossbar, credit_use) in [
        (Crossbar::Ideal, CreditUse::Link),
        (Crossbar::Ideal, CreditUse::Crossbar),
        (buffered(4_096), CreditUse::Link),
        (buffered(4_096), CreditUse::Crossbar),
    ] {
        let mut config = EngineConfig {
            packet: Bytes(4_096),
            ..config()
        };
        config.router.crossbar = crossbar;
        config.router.credit_use = credit_use;
        let mut found = Vec::new();
        for threads in [1, 2] {
            config.threads = threads;
            let error = simulate(&topology, &routing, &config, &jobs, &TO_THE_END).unwrap_err();
            let SimError::Deadlock { at, packets, cycle } = error else {
                panic!("{error}");
            };
            assert_circle(&cycle);
            // Seven routers at least hold a packet each for the next.
            assert!(
                packets >= cycle.len() as u64 && cycle.len() >= 7,
                "{packets}"
            );
            found.push((at, packets, cycle));
        }
        assert_eq!(found[0], found[1], "one and two threads");
        let at = found[0].0.0;
        assert!(at >= 1 << 23, "{at}");
        if at > 1 << 23 {
            let before = measure(0, at / 5 * 4, MessageRecords::None);
            simulate(&topology, &routing, &config, &jobs, &before).expect("no circle yet");
        }
    }
}
