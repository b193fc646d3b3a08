//! Proves and runs a scenario that names the plug-ins of this crate:
//! `odonata-plug-in-example SCENARIO.toml`.

mod plug_ins;

use std::ops::ControlFlow;
use std::process::ExitCode;

use odonata::Progress;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: odonata-plug-in-example SCENARIO.toml");
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
    let plug_ins = plug_ins::all();
    let scenario = plug_ins.read_toml(&std::fs::read_to_string(file)?)?;
    println!("{}", plug_ins.verify(&scenario)?.verdict);
    let run = plug_ins.run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))?;
    println!("{}, ended at {}", run.topology.title, run.outcome.end);
    for (job, planned) in run.outcome.jobs.iter().zip(&run.jobs) {
        let nodes: Vec<u32> = planned.nodes.iter().map(|node| node.0).collect();
        println!(
            "{} on nodes {nodes:?}: {} messages, {} bytes",
            planned.plan.name, job.messages_delivered, job.bytes_delivered
        );
    }
    Ok(())
}
