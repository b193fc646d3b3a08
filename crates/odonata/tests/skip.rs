//! Runs that pass over iterations give what runs give that simulate all of them.

use std::ops::ControlFlow;
use std::path::Path;

use odonata::{Progress, Run, Scenario, run};

/// A dragonfly of 72 nodes with one link between two groups, so that minimal routing has no choice:
/// nothing is random.
const NETWORK: &str = r#"
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
"#;

fn scenario(routing: &str, jobs: &str) -> Scenario {
    let text = format!("{NETWORK}routing = \"{routing}\"\n\n{jobs}");
    Scenario::from_file_text(&text, Path::new("")).unwrap()
}

fn simulate(scenario: &Scenario) -> Run {
    run(scenario, &mut |_: &Progress| ControlFlow::Continue(())).unwrap()
}

fn skipping(scenario: &Scenario, error: f64) -> Run {
    let mut scenario = scenario.clone();
    scenario.simulation.skip = Some(odonata::spec::Skip { error });
    simulate(&scenario)
}

/// All that a run measured, but for the activity between, of which only the sums are known, and for
/// what depends on how it was simulated.
fn figures(run: &Run) -> String {
    let mut outcome = run.outcome.clone();
    outcome.timeline.activity.clear();
    outcome.timeline.bin = odonata::Picoseconds(0);
    (outcome.events, outcome.peak_packets) = (0, 0);
    format!("{outcome:?}")
}

fn job(name: &str, nodes: u32, motif: &str) -> String {
    format!("[[job]]\nname = \"{name}\"\nnodes = {nodes}\nmotif = {{ {motif} }}\n")
}

/// Where all that is counted repeats, what was passed over is known to the last byte and
/// picosecond: all that a run measures is what it is without.
#[test]
fn what_repeats_is_passed_over_exactly() {
    for motif in [
        r#"kind = "sweep3d", iterations = 100, compute = "40 us""#,
        r#"kind = "fft", iterations = 150"#,
    ] {
        let scenario = scenario("minimal", &job("app", 27, motif));
        let (whole, skipping) = (simulate(&scenario), skipping(&scenario, 0.01));
        let passed: u64 = skipping.skipped.iter().map(|one| one.time.0).sum();
        let share = passed as f64 / whole.outcome.end.0 as f64;
        assert!(share > 0.8, "{motif}: {share}");
        assert!(skipping.skipped.iter().all(|one| one.exact), "{motif}");
        assert!(figures(&whole) == figures(&skipping), "{motif}");
    }
}

/// Jobs of different periods that disturb each other, packets routed by what they meet: nothing
/// repeats itself, and means decide.
#[test]
fn what_varies_is_known_as_precisely_as_asked() {
    let halo = r#"kind = "halo3d", message = "16 KiB", iterations = 1500, compute = "5 us""#;
    let sum = r#"kind = "collective", operation = "allreduce", message = "50 kB", iterations = 500, compute = "11 us""#;
    let jobs = format!("{}{}", job("halo", 32, halo), job("sum", 32, sum));
    let mut scenario = scenario("ugal-l", &jobs);
    let (mut precise, mut all) = (0, 0);
    for seed in 1..=4 {
        scenario.seed = seed;
        let (whole, skipping) = (simulate(&scenario), skipping(&scenario, 0.02));
        assert!(!skipping.skipped.is_empty(), "seed {seed}");
        for (one, other) in whole.outcome.jobs.iter().zip(&skipping.outcome.jobs) {
            // What iterations send is known beforehand, in how many messages is extrapolated.
            assert_eq!(one.bytes_created, other.bytes_created);
            let counts = [one, other].map(|job| job.message_bytes.count() as f64);
            assert!((counts[1] / counts[0] - 1.0).abs() <= 0.02, "{counts:?}");
            let ratio = other.end.unwrap().0 as f64 / one.end.unwrap().0 as f64;
            (precise, all) = (precise + u32::from((ratio - 1.0).abs() <= 0.02), all + 1);
        }
    }
    // Each interval of 95 % or more: fewer than 6 of 8 hold once in 170 cases.
    assert!(precise >= 6, "{precise} of {all}");
}
