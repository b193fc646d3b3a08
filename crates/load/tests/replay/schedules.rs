//! Schedules, flows and packets that are made for tests.

use odonata_load::replay::{Compute, Options, Trace};
use odonata_load::{Action, Program};

use crate::executor::{Failed, run, run_in_pieces};
use crate::job::Folder;

fn open(name: &str, text: &str, options: Options) -> Result<Trace, String> {
    let folder = Folder::new();
    let path = folder.0.join(name);
    std::fs::write(&path, text).unwrap();
    Trace::open(&path, options).map_err(|error| error.to_string())
}

fn goal(ranks: &[&str]) -> Result<Trace, String> {
    let ranks = ranks.iter().enumerate();
    let ranks = ranks.map(|(rank, text)| format!("rank {rank} {{\n{text}\n}}\n"));
    let text: String = ranks.collect();
    let count = text.matches("rank ").count();
    open(
        "a.goal",
        &format!("num_ranks {count}\n{text}"),
        Options::default(),
    )
}

#[test]
fn operations_begin_when_what_they_depend_on_is_done() {
    // l4 waits for the start of l3, which waits for the end of l1 and l2.
    let trace = goal(&[
        "l1: calc 10\nl2: recv 1b from 1 tag 1\nl3: send 3b to 1 tag 3\nl3 requires l1\n\
         l3 requires l2\nl4: send 4b to 1 tag 4\nl4 irequires l3\nl5: send 5b to 1 tag 5",
        "l1: recv 5b from 0 tag 5\nl2: send 1b to 0 tag 1\nl2 requires l1\n\
         l3: recv 9b from -1 tag -1\nl4: recv 9b from 0 tag -1",
    ])
    .unwrap();
    let done = run(&trace).unwrap();
    let sent: Vec<u64> = done.actions[0]
        .iter()
        .filter_map(|action| match action {
            Action::Send { bytes, .. } => Some(bytes.0),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [5, 3, 4]);
    assert_eq!(done.compute[0].0, 10_000);
    assert_eq!(trace.facts().open_receives, 2);
    for steps in [1, 2, 5] {
        assert_eq!(run_in_pieces(&trace, steps).unwrap(), done);
    }
}

#[test]
fn schedules_that_cannot_end_are_refused() {
    let unread = goal(&["l1: send 1b to 1 tag 1", "l1: recv 1b from 0 tag 2"])
        .err()
        .unwrap();
    assert!(
        unread.contains("1 messages are sent to rank 1, which receives 1"),
        "{unread}"
    );
    let circle = goal(&["l1: calc 1\nl2: calc 2\nl1 requires l2\nl2 requires l1"])
        .err()
        .unwrap();
    assert!(circle.contains("circle"), "{circle}");
    let cpus = goal(&["l1: calc 1 cpu 200"]).err().unwrap();
    assert!(cpus.contains("cpu 200"), "{cpus}");
    // Each waits for the other's message: only a run finds out.
    let both = "l1: recv 1b from PEER tag 1\nl2: send 1b to PEER tag 1\nl2 requires l1";
    let trace = goal(&[&both.replace("PEER", "1"), &both.replace("PEER", "0")]).unwrap();
    assert!(matches!(run(&trace), Err(Failed::Stuck(ranks)) if ranks.len() == 2));
}

/// Text becomes binary in the folder for temporary files, and goes.
#[test]
fn temporary_files_go_with_the_trace() {
    let ours = || {
        let start = format!("odonata-goal-{}-", std::process::id());
        let files = std::fs::read_dir(std::env::temp_dir()).unwrap();
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        names
            .filter(|name| name.starts_with(&start))
            .collect::<std::collections::BTreeSet<_>>()
    };
    let trace = goal(&["l1: calc 5"]).unwrap();
    let during = ours();
    let program = trace.start(odonata_units::RankId(0)).unwrap();
    drop(program);
    assert!(!during.is_empty());
    drop(trace);
    // Other tests may have theirs at the same time.
    assert!(during.iter().any(|name| !ours().contains(name)));
}

#[test]
fn flows_wait_for_their_times_and_triggers() {
    let text = "Nodes 3\nConnections 3\nTriggers 1\n0->1 id 1 start 5000 size 30 recv_done_trigger \
                1\n2->0 id 2 trigger 1 size 20\n1->2 id 3 trigger 1 size 10\ntrigger id 1 multishot\n";
    let late = open("a.cm", text, Options::default()).err().unwrap();
    assert!(
        late.contains("waits for activation 2, but there are only 1"),
        "{late}"
    );
    let once = text.replace("multishot", "oneshot");
    let trace = open("a.cm", &once, Options::default()).unwrap();
    let done = run(&trace).unwrap();
    assert_eq!(done.compute[0].0, 5_000);
    // The flows, a message to the home of the trigger at 2, one from there to 1.
    assert_eq!((done.messages, done.bytes), (5, 62));
    assert_eq!(run_in_pieces(&trace, 1).unwrap(), done);
    let endless = open(
        "a.cm",
        "Nodes 2\nConnections 1\n0->1 start 0 size 0\n",
        Options::default(),
    );
    assert!(endless.err().unwrap().contains("without end"));
}

#[test]
fn packets_are_sent_at_their_times() {
    let text = "0 100 1 2 60\n0 100 2 3 70\n0 105 1 3 80\n0 109 3 1 90\n";
    let trace = open("a.txt", text, Options::default()).unwrap();
    let done = run(&trace).unwrap();
    // Numbers start at 1. Waits until the last packet of each.
    let seconds: Vec<u64> = done
        .compute
        .iter()
        .map(|time| time.0 / 1_000_000_000_000)
        .collect();
    assert_eq!(seconds, [5, 0, 9]);
    assert_eq!((done.messages, done.bytes), (4, 300));
    assert_eq!(run_in_pieces(&trace, 2).unwrap(), done);
    let tenth = Options {
        compute: Compute::Scaled(0.1),
        ..Options::default()
    };
    let done = run(&open("a.txt", text, tenth).unwrap()).unwrap();
    assert_eq!(done.compute[0].0, 500_000_000_000);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let text = "num_ranks 1\nrank 0 {\nl1: calc 5\n}\n";
    let with = |options| open("a.goal", text, options).err().unwrap();
    let ranks = with(Options {
        ranks: Some(7),
        ..Options::default()
    });
    assert!(ranks.contains("has 1 ranks, but 7 are wanted"), "{ranks}");
    let repeated = with(Options {
        repeat_rank: Some(Default::default()),
        ..Options::default()
    });
    assert!(repeated.contains("is a GOAL schedule (text)"), "{repeated}");
    for scale in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        let scaled = with(Options {
            compute: Compute::Scaled(scale),
            ..Options::default()
        });
        assert!(scaled.contains("comput"), "{scaled}");
    }
}
