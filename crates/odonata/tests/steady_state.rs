//! Runs that find their warm-up and end when they are precise enough.

use std::ops::ControlFlow;

use odonata::spec::{
    Dragonfly, Family, Job, Link, Load, Motif, MotifKind, Network, Offered, Pattern, Sends, Traffic,
};
use odonata::{Error, Progress, Run, Scenario, SpecError, run};

/// Rate of every link, in bytes per second.
const RATE: f64 = 8e9;

/// Uniform Poisson traffic of messages of one packet of 256 B, on a dragonfly
/// whose links take 32 ns for each.
fn scenario(dragonfly: Dragonfly, nodes: u32, load: f64, duration_us: u64) -> Scenario {
    let mut scenario = Scenario::new(Network::new(Family::Dragonfly(dragonfly)));
    for class in ["terminal", "local", "global"] {
        let link = Link {
            bandwidth_bytes_per_s: RATE as u64,
            latency_ps: 10_000,
            buffer_bytes: Some(16_384),
            kind: None,
        };
        scenario.network.links.insert(class.to_owned(), link);
    }
    scenario.network.router.flit_bytes = 8;
    scenario.simulation.packet_bytes = 256;
    scenario.simulation.duration_ps = Some(duration_us * 1_000_000);
    let traffic = Traffic::new(Pattern::UniformRandom, 256, Offered::Load(load));
    let job = Job::new("load", nodes, Load::Traffic(traffic));
    scenario.jobs.push(job);
    scenario
}

fn simulate(scenario: &Scenario) -> Run {
    run(scenario, &mut |_: &Progress| ControlFlow::Continue(())).unwrap()
}

/// Two nodes on one router that send to each other: each node's link is a queue
/// with Poisson arrivals and constant service, and nothing waits after it. So
/// the mean latency is that of the empty network plus the mean wait of M/D/1,
/// `ρ / (2 (1 - ρ))` services of 32 ns (Pollaczek and Khinchine).
#[test]
fn intervals_hold_the_latency_of_an_m_d_1_queue() {
    let mut held = 0;
    for load in [0.5, 0.8] {
        for seed in 1..=20 {
            let mut scenario = scenario(Dragonfly::new(2, 1, 1, 1), 2, load, 4_000);
            scenario.seed = seed;
            scenario.simulation.detect_warmup = true;
            scenario.simulation.precision = Some(0.01);
            let run = simulate(&scenario);
            assert_eq!(run.warmup_found, Some(true));
            let found = &run.statistics[0];
            let latency = found.latency_ps.unwrap();
            // Both wires, the router, a flit and the packet.
            let empty = 2.0 * 10_000.0 + 50_000.0 + 1_000.0 + 32_000.0;
            let exact = empty + 32_000.0 * load / (2.0 * (1.0 - load));
            held += usize::from((latency.mean - exact).abs() <= latency.half_width);
            if run.precise == Some(true) {
                assert!(found.is_precise(0.01), "{found:?}");
                assert!(run.outcome.end.0 < 4_000_000_000);
            }
            // What the job's own figures say, of nearly the same messages.
            let mean = run.outcome.jobs[0].message_latency_ps.mean().unwrap();
            assert!((mean / latency.mean - 1.0).abs() < 0.01, "{mean}");
        }
    }
    // Of 40 intervals of 95 % fewer than 34 hold the mean once in 70 cases; that
    // runs end when their interval is narrow costs a little, too.
    assert!(held >= 34, "{held} of 40");
}

/// 72 nodes at half load: the run ends early, at the same time for any number of
/// threads, with everything measured alike.
#[test]
fn a_precise_run_ends_at_the_same_time_on_any_number_of_threads() {
    let mut scenario = scenario(Dragonfly::new(2, 4, 2, 9), 72, 0.5, 400);
    scenario.simulation.detect_warmup = true;
    scenario.simulation.precision = Some(0.02);
    let one = simulate(&scenario);
    assert_eq!(one.precise, Some(true));
    assert!(one.outcome.end.0 < 200_000_000, "{}", one.outcome.end);
    assert!(one.outcome.warmup.0 > 0 && one.outcome.warmup < one.outcome.end);
    for interval in [one.statistics[0].latency_ps, one.statistics[0].accepted] {
        assert!(interval.unwrap().relative() <= 0.02);
    }
    // What arrived since, as a share of the terminal links, is what was offered.
    let accepted = one.statistics[0].accepted.unwrap();
    let per_node = accepted.mean * 1e12 / 72.0 / RATE;
    assert!((per_node - 0.5).abs() < 0.01, "{per_node}");
    for threads in [2, 4] {
        scenario.simulation.threads = threads;
        let other = simulate(&scenario);
        assert_eq!(one.outcome.end, other.outcome.end);
        assert_eq!(one.outcome.warmup, other.outcome.warmup);
        assert_eq!(one.outcome.jobs, other.outcome.jobs);
        assert_eq!(one.outcome.ports, other.outcome.ports);
        assert_eq!(one.outcome.timeline, other.outcome.timeline);
        assert_eq!(one.statistics, other.statistics);
    }
}

/// Beyond saturation (ADV+1 by minimal routes: 1/8) latencies grow for ever: no
/// steady state, no precise mean, and the run says so and takes all its time.
#[test]
fn an_overloaded_network_is_never_precise() {
    let mut scenario = scenario(Dragonfly::new(2, 4, 2, 9), 72, 0.3, 100);
    let Load::Traffic(traffic) = &mut scenario.jobs[0].load else {
        unreachable!("it has traffic");
    };
    traffic.pattern = Pattern::Adversarial(odonata::spec::GroupShift { k: 1 });
    scenario.simulation.detect_warmup = true;
    scenario.simulation.precision = Some(0.05);
    let run = simulate(&scenario);
    assert_eq!(run.warmup_found, Some(false));
    assert_eq!(run.precise, Some(false));
    assert_eq!(run.outcome.end.0, 100_000_000);
    // The first look after half of the duration ends the warm-up all the same.
    assert!((50_000_000..55_000_000).contains(&run.outcome.warmup.0));
    assert_eq!(run.statistics[0].warmup_end, None);
    // Accepted load is steady nevertheless.
    let accepted = run.statistics[0].accepted.unwrap();
    assert!((accepted.mean * 1e12 / 72.0 / RATE * 8.0 - 1.0).abs() < 0.05);
}

#[test]
fn what_has_no_steady_state_is_refused() {
    let refused = |change: &dyn Fn(&mut Scenario)| -> SpecError {
        let mut scenario = scenario(Dragonfly::new(2, 4, 2, 9), 72, 0.3, 100);
        change(&mut scenario);
        match run(&scenario, &mut |_: &Progress| ControlFlow::Continue(())) {
            Err(Error::Spec(error)) => error,
            other => panic!("{:?}", other.err()),
        }
    };
    let motif = || {
        Load::Motif(Motif {
            kind: MotifKind::AllToAll(odonata::spec::AllToAll {
                message_bytes: 1,
                window: 1,
                sends: Sends::default(),
            }),
            iterations: 1,
            compute_ps: 0,
            traffic_class: None,
        })
    };
    for share in [0.0, 1.0, f64::NAN] {
        let error = refused(&|s| s.simulation.precision = Some(share));
        assert_eq!(error.path, "simulation.precision");
    }
    let alone = refused(&|s| {
        s.simulation.detect_warmup = true;
        s.jobs[0].load = motif();
    });
    assert_eq!(alone.path, "simulation.warmup");
    let beside = refused(&|s| {
        s.simulation.precision = Some(0.01);
        s.jobs[0].nodes = Some(36);
        s.jobs.push(Job::new("motif", 36, motif()));
    });
    assert!(beside.message.contains("job[1]"), "{beside}");
    let endless = refused(&|s| {
        s.simulation.precision = Some(0.01);
        s.simulation.duration_ps = None;
    });
    assert_eq!(endless.path, "simulation.duration");
}
