//! Simulates a scenario file, or a normalised scenario in JSON, and prints what its jobs felt:
//! `cargo run --release -p odonata --example simulate -- examples/demo.toml`.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use odonata::{Progress, Scenario, run};

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: simulate SCENARIO.toml|SCENARIO.json");
        return ExitCode::from(2);
    };
    match simulate(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn simulate(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(file)?;
    let scenario = if file.ends_with(".json") {
        Scenario::from_json(&text)?
    } else {
        let directory = Path::new(file).parent().unwrap_or(Path::new(""));
        Scenario::from_file_text(&text, directory)?
    };
    let run = run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))?;
    println!("{}, ended at {}", run.topology.title, run.outcome.end);
    for (job, planned) in run.outcome.jobs.iter().zip(&run.jobs) {
        println!(
            "{}: {} of {} bytes delivered, message latency {:.0} ps on average",
            planned.plan.name,
            job.bytes_delivered,
            job.bytes_created,
            job.message_latency_ps.mean().unwrap_or(f64::NAN)
        );
    }
    println!(
        "{} packet-hops in {:.2} CPU seconds",
        run.outcome.packet_hops, run.cost.cpu_seconds
    );
    Ok(())
}
