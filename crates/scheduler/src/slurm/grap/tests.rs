//! Queues on four groups of eight nodes, by hand from algorithms 1 to 3 of Feng et al. 2023, and
//! GRAP's rules over random queues.

use proptest::prelude::*;

use super::super::simulate;
use super::super::tests::{TREE, job, nodes, request, simulated, starts, with_tree};
use super::*;
use crate::batch::Fate;
use crate::log::JobLog;

/// Four leaf switches of eight nodes.
fn groups() -> Cluster {
    let (mut cluster, _) = with_tree("topology/tree", TREE);
    cluster.parameters.bf_resolution = 1;
    cluster.parameters.completing = 0.0;
    cluster.choose_by_grap(0, GrapMode::Adaptive).unwrap();
    cluster
}

#[test]
fn small_jobs_are_in_one_group_and_large_ones_own_theirs() {
    let mut log = JobLog::default();
    let expected: [&[u32]; 6] = [
        // All groups have eight: the first.
        &[0, 1, 2, 3, 4, 5],
        &[8, 9, 10],
        // The group with the fewest idle nodes that suffice.
        &[6, 7],
        // Two groups with as few idle nodes as suffice (5 and 8), equally many of each.
        &[11, 12, 13, 14, 15, 16, 17, 18, 19, 20],
        // Eleven nodes are idle, but two groups without a large job have 0 and 8: it waits for
        // the end of those that started in the same pass as the first.
        &[0, 1, 2, 3, 4, 24, 25, 26, 27],
        // The group with a large job goes before that without.
        &[21, 22, 23],
    ];
    for nodes in expected {
        let count = nodes.len() as u32;
        job(&mut log, 0, 100, 600, count, count);
    }
    let schedule = simulated(&log, &groups());
    for (number, expected) in expected.iter().enumerate() {
        assert_eq!(nodes(&schedule, number), *expected, "job {number}");
    }
    let starts = starts(&schedule);
    assert!(starts[4] >= 100 && starts[5] < 100, "{starts:?}");
}

/// The nodes of the reserved job alone would let a third large job start, in a group that the
/// reserved one owns by then.
#[test]
fn backfill_keeps_the_groups_of_a_large_job_that_waits() {
    let mut log = JobLog::default();
    job(&mut log, 0, 600, 600, 12, 12);
    job(&mut log, 10, 600, 600, 20, 20);
    job(&mut log, 20, 1200, 1200, 10, 10);
    job(&mut log, 30, 300, 300, 10, 10);
    let starts = starts(&simulated(&log, &groups()));
    assert!((600..660).contains(&starts[1]), "{starts:?}");
    assert!(starts[2] >= 1200, "{starts:?}");
    assert!(starts[3] < 100, "{starts:?}");
}

#[test]
fn a_job_that_names_its_nodes_gets_them_and_owns_their_groups() {
    let mut log = JobLog::default();
    request(job(&mut log, 0, 100, 600, 2, 2)).required_nodes = Some("n[7-8]".into());
    request(job(&mut log, 0, 100, 600, 2, 2)).required_nodes = Some("n[9,16]".into());
    // Its limit ends before the second may start.
    job(&mut log, 0, 100, 500, 16, 16);
    request(job(&mut log, 0, 100, 600, 3, 3)).required_nodes = Some("n17".into());
    let schedule = simulated(&log, &groups());
    assert_eq!(nodes(&schedule, 0), [7, 8]);
    let starts = starts(&schedule);
    assert!(starts[1] >= 100 && starts[2] < 100, "{starts:?}");
    assert_eq!(nodes(&schedule, 2), (16..32).collect::<Vec<u32>>());
    // GRAP chooses groups, not the rest of a list of nodes.
    assert!(matches!(&schedule.rows[3].fate, Fate::Refused(_)));
}

#[test]
fn cpus_decide_how_many_nodes_a_job_gets() {
    let mut log = JobLog::default();
    let asked = request(job(&mut log, 0, 100, 600, 1, 11));
    asked.max_nodes = Some(32);
    let schedule = simulated(&log, &groups());
    assert_eq!(nodes(&schedule, 0), [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12]);
}

#[test]
fn groups_that_are_none_are_refused() {
    let (mut cluster, _) = with_tree("topology/tree", TREE);
    let refused = cluster.choose_by_grap(3, GrapMode::Adaptive).unwrap_err();
    assert_eq!(
        refused,
        "no switches of level 3 are the groups of GRAP; allowed: 0 (4 switches), 1 (1 switches)"
    );
    cluster.switches.push(cluster.switches[0].clone());
    let refused = cluster.choose_by_grap(0, GrapMode::Adaptive).unwrap_err();
    assert!(
        refused.contains("node n0 is below two switches"),
        "{refused}"
    );
    cluster.switches.clear();
    let refused = cluster.choose_by_grap(0, GrapMode::Adaptive).unwrap_err();
    assert!(refused.contains("topology.conf"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever the queue: no node has two jobs, no group two large ones, a small job is in one
    /// group, and every job ends.
    #[test]
    fn the_rules_hold_over_random_queues(
        jobs in prop::collection::vec((0i64..400, 1i64..300, 1i64..300, 1u32..=32), 1..40),
        balanced: bool,
    ) {
        let mut log = JobLog::default();
        for &(submit, run, more, nodes) in &jobs {
            job(&mut log, submit, run, run + more, nodes, nodes);
        }
        let mode = if balanced { GrapMode::MinimalBalance } else { GrapMode::Adaptive };
        let mut cluster = groups();
        cluster.choose_by_grap(0, mode).unwrap();
        let schedule = simulate(&log, &cluster, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
        let mut held: Vec<(i64, i64, u32, bool)> = Vec::new();
        for (row, &(_, _, _, count)) in schedule.rows.iter().zip(&jobs) {
            let (Some(start), Some(end)) = (row.start, row.end) else {
                return Err(TestCaseError::fail(format!("{:?}", row.fate)));
            };
            let nodes: Vec<u32> = row.placed.iter().flatten().map(|node| node.0).collect();
            prop_assert_eq!(nodes.len() as u32, count);
            let mut groups: Vec<u32> = nodes.iter().map(|node| node / 8).collect();
            groups.dedup();
            prop_assert!(count > 8 || groups.len() == 1);
            for &(other_start, other_end, what, is_group) in &held {
                let meets = start.0 < other_end && other_start < end.0;
                let same = if is_group {
                    count > 8 && groups.contains(&what)
                } else {
                    nodes.contains(&what)
                };
                prop_assert!(!(meets && same), "{what} twice");
            }
            held.extend(nodes.iter().map(|&node| (start.0, end.0, node, false)));
            if count > 8 {
                held.extend(groups.iter().map(|&group| (start.0, end.0, group, true)));
            }
        }
    }
}
