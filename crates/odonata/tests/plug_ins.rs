//! The plug-ins of `examples/plug-ins/rust`, compiled here and as the crate that they are.

#[path = "../../../examples/plug-ins/rust/src/plug_ins.rs"]
mod plug_ins;

use std::ops::ControlFlow;

use odonata::{Error, Progress, Run, SpecError, Verdict};

const SCENARIO: &str = include_str!("../../../examples/plug-ins/rust/scenario.toml");

fn run(text: &str) -> Result<Run, Error> {
    let plug_ins = plug_ins::all();
    let scenario = plug_ins.read_toml(text)?;
    plug_ins.run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))
}

fn refused(from: &str, to: &str) -> SpecError {
    assert!(SCENARIO.contains(from), "{from}");
    match run(&SCENARIO.replace(from, to)) {
        Err(Error::Spec(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{to} was simulated"),
    }
}

#[test]
fn a_scenario_names_them_like_ours() {
    let run = run(SCENARIO).unwrap();
    assert_eq!(run.topology.title, "grid torus 4×4 p=2");
    assert_eq!(run.virtual_channels, 2);
    let nodes: Vec<Vec<u32>> = (run.jobs.iter())
        .map(|job| job.nodes.iter().map(|node| node.0).collect())
        .collect();
    assert_eq!(nodes[0], [0, 2, 4, 6, 8, 10, 12, 14]);
    // The second gets the first nodes that the first left, by a placement of ours.
    assert_eq!(nodes[1], [1, 3, 5, 7, 9, 11, 13, 15]);
    let [ring, pairs] = &run.outcome.jobs[..] else {
        panic!("two jobs");
    };
    assert_eq!(ring.bytes_delivered, 3 * 8 * 1024);
    assert_eq!(pairs.bytes_delivered, 8 * 5 * 4096);
    // Ranks 0 and 4 sit on nodes 1 and 9, on routers 0 and 4: one link, and two for the
    // nodes. All pairs are as far, so that every packet visits two routers.
    assert_eq!(pairs.routers_visited.iter().sum::<u64>(), 8 * 5);
    assert_eq!(pairs.routers_visited[2], 8 * 5);
}

#[test]
fn its_routing_is_proven_and_equal_seeds_are_equal_runs() {
    let plug_ins = plug_ins::all();
    let scenario = plug_ins.read_toml(SCENARIO).unwrap();
    let proof = plug_ins.verify(&scenario).unwrap();
    let Verdict::DeadlockFree { longest_route, .. } = proof.verdict else {
        panic!("{}", proof.verdict);
    };
    // Two hops along each ring of four.
    assert_eq!(longest_route, 4);
    let ends = [1, 2].map(|threads| {
        let mut scenario = scenario.clone();
        scenario.scenario.simulation.threads = threads;
        let mut go_on = |_: &Progress| ControlFlow::Continue(());
        plug_ins.run(&scenario, &mut go_on).unwrap().outcome.end
    });
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn what_they_say_comes_with_the_key() {
    let error = refused("size = [4, 4]\np = 2", "size = [4, 2]\np = 2");
    assert_eq!(error.path, "network");
    assert!(
        error
            .message
            .contains("plug-in \"grid-torus\": found 4 × 2 routers"),
        "{error}"
    );
    let error = refused("p = 2", "p = 2\nq = 3");
    assert!(error.message.contains("unknown field `q`"), "{error}");
    let error = refused("\"x-then-y\"\nsize = [4, 4]", "\"x-then-y\"\nsize = [4, 3]");
    assert_eq!(error.path, "network.routing");
    let error = refused("nodes = 8\nplacement", "nodes = 33\nplacement");
    assert_eq!(error.path, "job[0].placement");
    assert!(
        error.message.contains("it gave 32 nodes; allowed: 33"),
        "{error}"
    );
    let failures = "[network.failures]\nnodes = [1]\n\n[network.links.local]";
    let error = refused("[network.links.local]", failures);
    assert_eq!(error.path, "failures");
    assert!(
        error
            .message
            .contains("of plug-in \"grid-torus\" cannot fail"),
        "{error}"
    );
    let error = refused("rounds = 3", "rounds = 0");
    assert_eq!(error.path, "job[0].motif");
    // An unknown name is reported with the known ones.
    let error = refused("\"half-way\"", "\"half-weigh\"");
    assert!(error.message.contains("`tornado`"), "{error}");
    let error = refused(
        "title =",
        "[simulation]\nengine = \"flow\"\n[other]\ntitle =",
    );
    assert_eq!(error.path, "other");
}
