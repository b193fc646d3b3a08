//! Reads the machine of a scenario file, puts a job on it and simulates that:
//! `cargo run --release -p odonata --example machine -- examples/demo.toml`.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

use odonata::spec::{Job, Load, Motif, MotifKind, Sends};
use odonata::{Progress, Scenario, run};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1);
    let file = file.ok_or("which scenario file?")?;
    let directory = Path::new(&file).parent().unwrap_or(Path::new(""));
    let mut scenario = Scenario::machine_from_toml(&std::fs::read_to_string(&file)?, directory)?;
    let all_to_all = MotifKind::AllToAll(odonata::spec::AllToAll {
        message_bytes: 1_000,
        window: 1,
        sends: Sends::default(),
    });
    let load = Load::Motif(Motif {
        kind: all_to_all,
        iterations: 1,
        compute_ps: 0,
        traffic_class: None,
    });
    scenario.jobs.push(Job::new("a", 16, load));
    let run = run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))?;
    println!("{}, ended at {}", run.topology.title, run.outcome.end);
    Ok(())
}
