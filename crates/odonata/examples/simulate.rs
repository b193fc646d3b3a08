//! Simulates a normalised scenario and prints what its jobs felt:
//! `cargo run --release -p odonata --example simulate -- SCENARIO.json`.

use std::ops::ControlFlow;
use std::process::ExitCode;

use odonata::{Progress, Scenario, run};

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: simulate SCENARIO.json");
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
    let scenario = Scenario::from_json(&std::fs::read_to_string(file)?)?;
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
