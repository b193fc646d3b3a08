//! Nodes that go down under Slurm, and maintenance.

use odonata_units::NodeId;
use proptest::prelude::*;

use super::*;
use crate::outages::{Breakdowns, Outage};

fn outage(nodes: &[u32], at: i64, until: Option<i64>) -> Outage {
    Outage {
        nodes: nodes.iter().copied().map(NodeId).collect(),
        at: Seconds(at),
        until: until.map(Seconds),
    }
}

fn maintenance(nodes: &[u32], start: i64, end: i64) -> Maintenance {
    Maintenance {
        nodes: nodes.iter().copied().map(NodeId).collect(),
        start: Seconds(start),
        end: Seconds(end),
    }
}

#[test]
fn a_job_whose_node_fails_is_requeued() {
    let mut log = JobLog::default();
    job(&mut log, 0, 100, 600, 2, 8);
    let mut cluster = cluster(2, 4);
    cluster.outages.listed = vec![outage(&[1], 40, Some(50))];
    // It may start again 120 s after the failure, at 160 s (slurm.conf(5), cred_expire): with the
    // next pass, within seconds.
    let schedule = simulated(&log, &cluster);
    let row = &schedule.rows[0];
    let start = row.start.unwrap().0;
    assert!((160..165).contains(&start), "{start}");
    assert_eq!(
        (row.run(), &row.fate),
        (Some(Seconds(100)), &Fate::Finished)
    );
    let lost = row.lost[0].run;
    assert_eq!(lost.end, Seconds(40));
    assert!(lost.start < Seconds(4));
    assert_eq!(schedule.out, Some(vec![(Seconds(40), 4), (Seconds(50), 0)]));
    cluster.parameters.requeue_delay = 5;
    let sooner = starts(&simulated(&log, &cluster))[0];
    assert!(
        (50..55).contains(&sooner),
        "{sooner}: node 1 is back at 50 s"
    );
    cluster.outages.requeue = false;
    let schedule = simulated(&log, &cluster);
    let row = &schedule.rows[0];
    assert_eq!(row.end, Some(Seconds(40)));
    assert!(matches!(&row.fate, Fate::NodeFail(why) if why.contains("node n1 failed")));
}

#[test]
fn slurm_conf_says_whether_and_when_jobs_are_requeued() {
    let read = |lines: &str| {
        let conf =
            format!("{lines}\nNodeName=n[0-3] CPUs=4\nPartitionName=main Nodes=ALL Default=YES\n");
        read_cluster(&[("slurm.conf".to_owned(), conf)], &[])
            .map(|(cluster, _)| (cluster.outages.requeue, cluster.parameters.requeue_delay))
    };
    assert_eq!(read("").unwrap(), (true, 120));
    assert_eq!(
        read("JobRequeue=0\nAuthInfo=socket=/a,cred_expire=30").unwrap(),
        (false, 30)
    );
    assert!(read("JobRequeue=2").is_err());
    assert!(read("AuthInfo=cred_expire=soon").is_err());
}

#[test]
fn who_needs_nodes_that_are_down_waits_and_others_go_on() {
    // Two of four nodes are down from 10 s to 1,000 s: B, of three nodes, waits for them; C, which
    // came later, starts at once, as backfill can plan nothing for B.
    let mut log = JobLog::default();
    job(&mut log, 0, 50, 600, 1, 4);
    job(&mut log, 20, 50, 600, 3, 12);
    job(&mut log, 25, 50, 600, 1, 4);
    let mut with_outage = cluster(4, 4);
    with_outage.outages.listed = vec![outage(&[2, 3], 10, Some(1000))];
    let begun = starts(&simulated(&log, &with_outage));
    assert!(begun[1] >= 1000 && begun[1] < 1035, "{begun:?}");
    assert!(begun[2] < 25 + 35, "{begun:?}");
    // For ever, the job says so; the others have run.
    with_outage.outages.listed = vec![outage(&[2, 3], 10, None)];
    let schedule = simulated(&log, &with_outage);
    assert!(matches!(&schedule.rows[1].fate, Fate::Refused(why) if why.contains("nodes 2-3")));
    assert!(starts(&schedule)[2] < 60);
}

#[test]
fn nobody_starts_whose_limit_reaches_into_maintenance() {
    // Nodes 0 and 1 are kept from 300 s to 900 s. A would be over by then; B, with a limit of 600 s,
    // gets another node; C, of four nodes, starts when the maintenance is over; D, of 200 s, may have a
    // node that is kept later.
    let mut log = JobLog::default();
    job(&mut log, 0, 50, 120, 2, 8);
    job(&mut log, 0, 50, 600, 1, 4);
    job(&mut log, 60, 50, 600, 4, 16);
    job(&mut log, 65, 50, 200, 1, 4);
    let mut cluster = cluster(4, 4);
    cluster.maintenance = vec![maintenance(&[0, 1], 300, 900)];
    let schedule = simulated(&log, &cluster);
    let begun = starts(&schedule);
    assert!(begun[0] < 5 && begun[1] < 35 && begun[3] < 100, "{begun:?}");
    assert!((900..935).contains(&begun[2]), "{begun:?}");
    assert!(nodes(&schedule, 1)[0] >= 2, "{:?}", nodes(&schedule, 1));
    // Also where it lies behind the time for which backfill plans.
    cluster.parameters.bf_window = 100;
    assert!(starts(&simulated(&log, &cluster))[2] >= 900);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever fails, comes and waits: no job runs on a node that is down, or starts on one that is
    /// kept; every job runs whole or says why not; equal inputs, equal schedules.
    #[test]
    fn failures_break_no_rule_of_slurm(
        jobs in prop::collection::vec((0i64..400, 1i64..200, 1i64..6, 1u32..5, 1u32..9), 1..25),
        listed in prop::collection::btree_map(0u32..5, (0i64..500, prop::option::of(1i64..400)), 0..4),
        drawn in prop::option::of((200f64..4000.0, prop::option::of(1f64..400.0), 1u32..3, 0u64..1000)),
        kept in prop::option::of((0u32..5, 0i64..600, 1i64..400)),
        requeue in prop::bool::weighted(0.8),
        delay in 0i64..130,
    ) {
        let mut log = JobLog::default();
        let mut sorted = jobs;
        sorted.sort_by_key(|job| job.0);
        for (submit, run, minutes, nodes, cpus) in sorted {
            let (limit, cpus) = (minutes * 60, cpus.max(nodes).min(nodes * 4));
            job(&mut log, submit, run.min(limit), limit, nodes, cpus);
        }
        let mut cluster = cluster(5, 4);
        cluster.parameters.requeue_delay = delay;
        cluster.outages.requeue = requeue;
        cluster.outages.listed = listed
            .iter()
            .map(|(&node, &(at, lasts))| outage(&[node], at, lasts.map(|lasts| at + lasts)))
            .collect();
        cluster.outages.drawn = drawn.map(|(mtbf_s, repair_s, together, seed)| Breakdowns {
            mtbf_s, repair_s, together, seed,
        });
        cluster.maintenance = kept
            .iter()
            .map(|&(node, start, lasts)| maintenance(&[node], start, start + lasts))
            .collect();
        let schedule = simulated(&log, &cluster);
        for (row, one) in schedule.rows.iter().zip(&log.jobs) {
            let none = Vec::new();
            let lost = row.lost.iter().map(|lost| (lost.run, &lost.placed));
            let last = row.runs().last().filter(|_| row.start.is_some());
            let last = last.map(|run| (run, row.placed.as_ref().unwrap_or(&none)));
            let mut since = one.submit;
            for (run, placed) in lost.chain(last) {
                prop_assert!(since <= run.start && placed.len() as u32 >= one.nodes);
                since = run.end;
                for outage in &cluster.outages.listed {
                    let until = outage.until.map_or(i64::MAX, |until| until.0);
                    // Logs have whole seconds, and run times spread over half a second to each side.
                    let apart = run.end.0 <= outage.at.0 + 1 || until <= run.start.0;
                    prop_assert!(apart || !placed.contains(&outage.nodes[0]), "{:?} {:?}", run, outage);
                }
                for kept in &cluster.maintenance {
                    let limit = one.requested.unwrap();
                    let apart = run.start + limit <= kept.start + Seconds(1) || kept.end <= run.start;
                    prop_assert!(apart || !placed.contains(&kept.nodes[0]), "{:?} {:?}", run, kept);
                }
            }
            match &row.fate {
                Fate::Finished => prop_assert_eq!(row.run(), Some(one.run)),
                Fate::NodeFail(why) => prop_assert!(row.start.is_some() && !why.is_empty()),
                Fate::Refused(why) => prop_assert!(row.start.is_none() && !why.is_empty()),
                Fate::Killed => prop_assert!(false),
            }
            prop_assert!(requeue || row.lost.is_empty());
        }
        prop_assert_eq!(&simulated(&log, &cluster), &schedule);
    }
}
