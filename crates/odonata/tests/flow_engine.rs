//! Scenarios on the flow engine, beside the packet engine and closed forms.

use std::ops::ControlFlow;

use odonata::spec::{
    Completion, Dragonfly, Engine, Family, Job, Load, Motif, MotifKind, Network, Offered, Pattern,
    Routing, Sends, Traffic,
};
use odonata::{Error, Progress, Run, Scenario, run};

fn scenario(load: Load) -> Scenario {
    // 9 groups of 4 routers with 2 nodes each, one link between every two groups.
    let network = Network::new(Family::Dragonfly(Dragonfly::new(2, 4, 2, 9)));
    let mut scenario = Scenario::new(network);
    scenario.simulation.packet_bytes = 1024;
    scenario.jobs.push(Job::new("job", 72, load));
    scenario
}

fn motif(kind: MotifKind, iterations: u32) -> Load {
    Load::Motif(Motif {
        kind,
        iterations,
        compute_ps: 0,
        traffic_class: None,
    })
}

fn all_to_all(message_bytes: u64) -> Load {
    motif(
        MotifKind::AllToAll(odonata::spec::AllToAll {
            message_bytes,
            window: 1,
            sends: Sends::default(),
        }),
        1,
    )
}

fn simulate(scenario: &Scenario, engine: Engine) -> Run {
    let mut scenario = scenario.clone();
    scenario.simulation.engine = engine;
    run(&scenario, &mut |_: &Progress| ControlFlow::Continue(())).expect("a scenario that runs")
}

fn refusal(scenario: &Scenario) -> String {
    let result = run(scenario, &mut |_: &Progress| ControlFlow::Continue(()));
    match result {
        Err(Error::Spec(error)) => error.to_string(),
        _ => panic!("not refused"),
    }
}

#[test]
fn without_contention_both_engines_agree_to_the_picosecond() {
    // One rank sends 16 packets to another group and back, on an idle machine: equal
    // packets follow each other at the slowest link's rate.
    for nodes in [vec![0, 71], vec![0, 5], vec![0, 1]] {
        let mut scenario = scenario(all_to_all(16 * 1024));
        scenario.jobs[0].nodes = Some(2);
        scenario.jobs[0].placement = odonata::spec::Placement::Explicit { nodes };
        let end = |engine| simulate(&scenario, engine).outcome.end.0;
        let (packet, flow) = (end(Engine::Packet), end(Engine::Flow));
        // Bytes over rates are rounded up once per packet there, once in all here.
        assert!(packet.abs_diff(flow) <= 16, "{packet} {flow}");
    }
}

#[test]
fn both_engines_agree_on_when_long_messages_are_complete_and_on_delays() {
    let mut scenario = scenario(all_to_all(16 * 1024));
    scenario.jobs[0].nodes = Some(2);
    scenario.jobs[0].placement = odonata::spec::Placement::Explicit { nodes: vec![0, 71] };
    scenario.mpi.eager_limit_bytes = Some(1024);
    scenario.mpi.receive_overhead_ps = 250_000;
    let mut ends = Vec::new();
    for completion in [Completion::Sent, Completion::Acknowledged] {
        for delay in [0, 3_510_000] {
            scenario.mpi.rendezvous_completion = completion;
            scenario.mpi.send_delay_ps = delay;
            let end = |engine| simulate(&scenario, engine).outcome.end.0;
            let (packet, flow) = (end(Engine::Packet), end(Engine::Flow));
            // Rounding of a packet on each of five links, of four messages at most.
            assert!(packet.abs_diff(flow) <= 36, "{packet} {flow}");
            ends.push(packet);
        }
    }
    let [sent, sent_late, acknowledged, acknowledged_late] = ends[..] else {
        unreachable!("four runs");
    };
    // A FIN of 64 B over the network, no more than the request took.
    assert!(acknowledged > sent && acknowledged - sent < 1_000_000);
    assert_eq!(sent_late - sent, 3 * 3_510_000);
    assert_eq!(acknowledged_late - acknowledged, 4 * 3_510_000);
}

#[test]
fn both_engines_record_the_same_activity_of_ranks() {
    // Two ranks of different groups on an idle machine, whose long messages ask first: what
    // each does, in which order, why and until when, up to the rounding of five links per packet
    // and of four messages at most.
    let mut scenario = scenario(all_to_all(16 * 1024));
    scenario.jobs[0].nodes = Some(2);
    scenario.jobs[0].placement = odonata::spec::Placement::Explicit { nodes: vec![0, 71] };
    scenario.mpi.eager_limit_bytes = Some(1024);
    scenario.mpi.send_overhead_ps = 180_000;
    scenario.mpi.receive_overhead_ps = 250_000;
    scenario.record.rank_activity = true;
    let record = |engine| simulate(&scenario, engine).outcome;
    let (packet, flow) = (record(Engine::Packet), record(Engine::Flow));
    let what = |outcome: &odonata::Outcome| -> Vec<_> {
        let intervals = outcome.rank_intervals.iter();
        let what = intervals.map(|i| (i.rank, i.activity, i.collective, i.cause.map(|c| c.0)));
        what.collect()
    };
    assert_eq!(what(&packet), what(&flow));
    assert!(what(&packet).len() > 6, "{:?}", what(&packet));
    for (packet, flow) in packet.rank_intervals.iter().zip(&flow.rank_intervals) {
        assert!(
            packet.begin.0.abs_diff(flow.begin.0) <= 36,
            "{packet:?} {flow:?}"
        );
        assert!(
            packet.end.0.abs_diff(flow.end.0) <= 36,
            "{packet:?} {flow:?}"
        );
    }
}

#[test]
fn recorded_activity_of_flows_is_all_of_the_time_of_ranks() {
    let mut scenario = scenario(all_to_all(10_000));
    scenario.mpi.eager_limit_bytes = Some(1024);
    scenario.mpi.receive_overhead_ps = 250_000;
    scenario.record.rank_activity = true;
    let outcome = simulate(&scenario, Engine::Flow).outcome;
    for (rank, times) in (0..).zip(&outcome.jobs[0].ranks) {
        let own = outcome.rank_intervals.iter().filter(|i| i.rank.0 == rank);
        let own: Vec<_> = own.collect();
        // From the start on, one after another.
        assert_eq!(own[0].begin.0, 0);
        assert!(own.windows(2).all(|pair| pair[0].end == pair[1].begin));
        let spent: u64 = own.iter().map(|i| i.end.0 - i.begin.0).sum();
        assert_eq!(spent, times.total());
    }
}

#[test]
fn every_byte_arrives_over_as_many_links_as_packets_take() {
    for routing in ["minimal", "valiant", "ugal-g", "par"] {
        let mut scenario = scenario(all_to_all(10_000));
        let text = format!(r#"{{"algorithm": "{routing}"}}"#);
        scenario.network.routing = serde_json::from_str::<Routing>(&text).expect("a routing");
        let run = simulate(&scenario, Engine::Flow);
        let job = &run.outcome.jobs[0];
        assert_eq!(job.bytes_delivered, 72 * 71 * 10_000);
        assert_eq!(job.messages_delivered, 72 * 71);
        assert_eq!(job.message_latency_ps.count(), 72 * 71);
        // What nodes send is what they receive, up to less than a picosecond's bytes
        // per change of a rate.
        let sum = |links: &mut dyn Iterator<Item = u64>| links.sum::<u64>() as f64;
        let sent = sum(&mut run.outcome.injection.iter().map(|link| link.bytes));
        assert!(
            (sent / (72.0 * 71.0 * 10_000.0) - 1.0).abs() < 1e-3,
            "{sent}"
        );
        // Equal runs give equal bits.
        let again = simulate(&scenario, Engine::Flow);
        assert_eq!(again.outcome.jobs, run.outcome.jobs);
        assert_eq!(again.outcome.ports, run.outcome.ports);
    }
}

#[test]
fn the_only_link_between_two_groups_is_the_bottleneck() {
    // Every node of a group sends 1 MiB to the next group over one link of 16
    // GiB/s: eight messages, so eight times as long as the link needs for one, and
    // a latency of less than 2 µs. Packets lose a little to each other.
    let scenario = scenario(motif(
        MotifKind::Exchange(odonata::spec::Exchange {
            message_bytes: 1 << 20,
            pattern: Pattern::GroupShift(odonata::spec::GroupShift { k: 1 }),
        }),
        1,
    ));
    let alone = 8.0 * f64::from(1 << 20) / (16.0 * f64::from(1 << 30)) * 1e12;
    let end = |engine| simulate(&scenario, engine).outcome.end.0 as f64;
    let flow = end(Engine::Flow);
    assert!(flow > alone && flow < alone + 2e6, "{flow} {alone}");
    let packet = end(Engine::Packet);
    assert!((flow / packet - 1.0).abs() < 0.02, "{flow} {packet}");
}

#[test]
fn open_loop_traffic_that_ends_and_long_messages_that_ask() {
    let traffic = Load::Traffic(Traffic {
        messages: Some(20),
        ..traffic()
    });
    let run = simulate(&scenario(traffic), Engine::Flow);
    assert_eq!(run.outcome.jobs[0].messages_delivered, 72 * 20);
    assert!(run.outcome.jobs[0].end.is_some());
    let mut asks = scenario(all_to_all(50_000));
    let eager = simulate(&asks, Engine::Flow).outcome.end;
    asks.mpi.eager_limit_bytes = Some(1000);
    let run = simulate(&asks, Engine::Flow);
    assert_eq!(run.outcome.jobs[0].messages_delivered, 72 * 71);
    assert!(run.outcome.end > eager, "a request and a grant take time");
}

fn traffic() -> Traffic {
    Traffic::new(Pattern::UniformRandom, 4096, Offered::Load(0.3))
}

#[test]
fn a_run_of_a_duration_knows_where_its_bytes_are() {
    // Global links are the bottleneck: 8 nodes of a group share 8, each 0.27 of a
    // terminal link's bandwidth, so the network takes 10 %, and not 30 %.
    let light = Traffic::new(Pattern::UniformRandom, 4096, Offered::Load(0.1));
    let mut scenario = scenario(Load::Traffic(light));
    scenario.simulation.duration_ps = Some(120_000_000);
    scenario.simulation.warmup_ps = 20_000_000;
    let run = simulate(&scenario, Engine::Flow);
    let bytes = run.outcome.conservation;
    assert_eq!(
        bytes.created,
        bytes.delivered + bytes.backlog + bytes.in_flight
    );
    assert!(bytes.in_flight > 0);
    // It is accepted, at 3 σ of some 3,000 messages (2 % each).
    let load = run.accepted_load();
    assert!((load - 0.1).abs() < 0.006, "{load}");
}

#[test]
fn what_flows_lack_is_refused() {
    let mut flows = scenario(all_to_all(1000));
    flows.simulation.engine = Engine::Flow;
    let mut fpar = flows.clone();
    fpar.network.routing = serde_json::from_str(r#"{"algorithm": "q-adaptive"}"#).expect("one");
    assert!(refusal(&fpar).contains("no q-adaptive routing"));
    let mut threads = flows.clone();
    threads.simulation.threads = 2;
    assert!(refusal(&threads).contains("simulation.threads"));
    let mut gap = flows;
    gap.mpi.gap_ps = 5;
    assert!(refusal(&gap).contains("mpi.gap"));
    let mut packets = scenario(all_to_all(1000));
    packets.simulation.paths = Some(4);
    assert!(refusal(&packets).contains("only with engine"));
}

#[test]
fn a_job_that_does_not_end_in_simulated_time_is_an_error_of_both_engines() {
    // 6,000 times an hour of computing are 250 days; 64 bits of picoseconds 213.
    let hour = 3_600 * 1_000_000_000_000;
    for engine in [Engine::Packet, Engine::Flow] {
        let mut scenario = scenario(Load::Motif(Motif {
            kind: MotifKind::AllToAll(odonata::spec::AllToAll {
                message_bytes: 1024,
                window: 1,
                sends: Sends::default(),
            }),
            iterations: 6_000,
            compute_ps: hour,
            traffic_class: None,
        }));
        scenario.jobs[0].nodes = Some(4);
        scenario.simulation.engine = engine;
        let result = run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()));
        let Err(Error::Simulation(error)) = result else {
            panic!("no error with {engine:?}");
        };
        assert!(error.to_string().contains("50 days"), "{error}");
    }
}
