//! Whole schedules, small enough to follow by hand.

mod outages;

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::*;
use crate::Seconds;
use crate::batch::{Fate, Schedule, Started};
use crate::log::{Gres, Job, JobLog, Memory, Request};

/// A job: submission, run time, limit, nodes, CPUs.
pub(super) fn job(
    log: &mut JobLog,
    submit: i64,
    run: i64,
    limit: i64,
    nodes: u32,
    cpus: u32,
) -> &mut Job {
    let id = (log.jobs.len() + 1).to_string();
    let mut job = Job::new(id, Seconds(submit), Seconds(run), nodes);
    job.requested = Some(Seconds(limit));
    job.user = log.names.label("ann");
    job.request = Some(Box::new(Request {
        min_nodes: nodes,
        max_nodes: Some(nodes),
        cpus,
        ..Request::default()
    }));
    log.jobs.push(job);
    let last = log.jobs.len() - 1;
    &mut log.jobs[last]
}

pub(super) fn request(job: &mut Job) -> &mut Request {
    job.request.get_or_insert_default()
}

fn cluster(nodes: usize, cores: u32) -> Cluster {
    let node = |number| Node::new(format!("n{number}"), cores, 1000);
    let mut cluster = Cluster::new((0..nodes).map(node).collect());
    cluster.parameters.bf_resolution = 1;
    cluster.parameters.completing = 0.0;
    cluster
}

pub(super) fn simulated(log: &JobLog, cluster: &Cluster) -> Schedule {
    simulate(log, cluster, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

pub(super) fn starts(schedule: &Schedule) -> Vec<i64> {
    let start = |row: &crate::batch::Row| row.start.map_or(-1, |start| start.0);
    schedule.rows.iter().map(start).collect()
}

pub(super) fn nodes(schedule: &Schedule, job: usize) -> Vec<u32> {
    schedule.rows[job]
        .placed
        .iter()
        .flatten()
        .map(|node| node.0)
        .collect()
}

#[test]
fn cores_are_packed_and_a_single_node_fits_tightest() {
    let mut log = JobLog::default();
    job(&mut log, 0, 100, 600, 1, 3);
    job(&mut log, 10, 100, 600, 1, 2);
    // One core is left on the first node, two on the second.
    job(&mut log, 20, 100, 600, 1, 1);
    job(&mut log, 30, 100, 600, 1, 2);
    let schedule = simulated(&log, &cluster(2, 4));
    let of = |job| nodes(&schedule, job);
    assert_eq!([of(0), of(1), of(2), of(3)], [[0], [1], [0], [1]]);
    let rows: Vec<u32> = schedule.rows.iter().map(|row| row.nodes).collect();
    assert_eq!(rows, [3, 2, 1, 2]);
    // Batch jobs wait for the next pass: a second or so.
    assert!(
        starts(&schedule)
            .iter()
            .zip([0, 10, 20, 30])
            .all(|(start, submit)| start - submit <= 3)
    );
}

/// Four leaf switches of eight nodes, as `scontrol show topology` prints them.
pub(super) const TREE: &str = "\
SwitchName=g0 Level=0 LinkSpeed=1 Nodes=n[0-7]
SwitchName=g1 Level=0 LinkSpeed=1 Nodes=n[8-15]
SwitchName=g2 Level=0 LinkSpeed=1 Nodes=n[16-23]
SwitchName=g3 Level=0 LinkSpeed=1 Nodes=n[24-31]
SwitchName=top Level=1 LinkSpeed=1 Nodes=n[0-31] Switches=g[0-3]
";

/// The same as topology.conf says it.
const TOPOLOGY_CONF: &str = "SwitchName=top Switches=g[0-3]\nSwitchName=g0 Nodes=n[0-7]\n\
    SwitchName=g1 Nodes=n[8-15]\nSwitchName=g2 Nodes=n[16-23]\nSwitchName=g3 Nodes=n[24-31]\n";

pub(super) fn with_tree(plugin: &str, topology: &str) -> (Cluster, Vec<String>) {
    let conf = format!(
        "PriorityType=priority/basic\nTopologyPlugin={plugin}\nNodeName=n[0-31] CPUs=1\nPartitionName=main Nodes=ALL Default=YES\n"
    );
    read_cluster(
        &[
            ("slurm.conf".to_owned(), conf),
            ("topology.conf".to_owned(), topology.to_owned()),
        ],
        &[],
    )
    .unwrap()
}

/// By hand, from `_eval_nodes_dfly` of Slurm's eval_nodes_tree.c (as of August 2026).
#[test]
fn a_job_on_a_dragonfly_is_on_one_leaf_or_in_turn_on_all() {
    let mut log = JobLog::default();
    let expected: [&[u32]; 5] = [
        // The first of the leaves with the most nodes.
        &[0, 1, 2, 3, 4, 5],
        &[8, 9, 10],
        // No leaf has ten: two rounds over all, and a third as far as needed.
        &[6, 7, 11, 12, 13, 16, 17, 18, 24, 25],
        // Six are left on the last leaf, the most.
        &[26, 27],
        &[19, 20],
    ];
    for nodes in expected {
        let count = nodes.len() as u32;
        job(&mut log, 0, 100, 600, count, count);
    }
    for topology in [TREE, TOPOLOGY_CONF] {
        let plugin = "topology/tree\nTopologyParam=TopoMaxSizeUnroll,Dragonfly";
        let (cluster, notes) = with_tree(plugin, topology);
        assert!(notes.is_empty(), "{notes:?}");
        let schedule = simulated(&log, &cluster);
        for (number, expected) in expected.iter().enumerate() {
            assert_eq!(nodes(&schedule, number), *expected, "job {number}");
        }
    }
    // All lighter nodes are taken before any of the weight that is needed as well.
    let (mut cluster, _) = with_tree("topology/tree\nTopologyParam=dragonfly", TREE);
    for node in [3, 20] {
        cluster.nodes[node].weight = 0;
    }
    let schedule = simulated(&log, &cluster);
    assert_eq!(nodes(&schedule, 0), [0, 3, 8, 16, 20, 24]);
    // With nodes that it must have, it stays on their leaf.
    let mut log = JobLog::default();
    request(job(&mut log, 0, 100, 600, 3, 3)).required_nodes = Some("n17".into());
    let (cluster, _) = with_tree("topology/tree\nTopologyParam=dragonfly", TREE);
    assert_eq!(nodes(&simulated(&log, &cluster), 0), [16, 17, 18]);
}

/// Sizes of nine jobs and where Slurm 22.05.8 put them, one after the other, on an idle cluster
/// of this tree (live/tests/real/test_queue_foretold.py, seed 1).
#[test]
fn leaf_switches_of_a_tree_are_filled_as_slurm_fills_them() {
    let recorded: [&[u32]; 9] = [
        &[0, 1],
        &[2, 3],
        &[8, 9, 10, 11, 12],
        &[13],
        &[4, 5, 6, 7],
        &[14, 16, 17, 18, 19, 20, 21, 22, 23],
        &[24, 25, 26, 27, 28, 29, 30],
        &[15],
        &[31],
    ];
    let mut log = JobLog::default();
    for nodes in recorded {
        let count = nodes.len() as u32;
        job(&mut log, 0, 100, 600, count, count);
    }
    for topology in [TREE, TOPOLOGY_CONF] {
        let (cluster, notes) = with_tree("topology/tree", topology);
        assert!(notes.is_empty(), "{notes:?}");
        let schedule = simulated(&log, &cluster);
        for (number, expected) in recorded.iter().enumerate() {
            assert_eq!(nodes(&schedule, number), *expected, "job {number}");
        }
    }
    // Without a tree the third job follows the second.
    let (flat, _) = with_tree("topology/none", TREE);
    assert_eq!(nodes(&simulated(&log, &flat), 2), [4, 5, 6, 7, 8]);
}

/// As a real run of 500 jobs shows (Slurm 20.11, nodes of slurm.conf in the order n, m, g1, b1):
/// the first job of twelve CPUs got b1, the next that could not have it g1.
#[test]
fn nodes_are_taken_by_name_not_as_files_list_them() {
    let conf = |param: &str| {
        let conf = format!(
            "TopologyPlugin=topology/tree\n{param}NodeName=DEFAULT CPUs=12\nNodeName=n[1-12]\n\
             NodeName=g1\nNodeName=b1\nPartitionName=main Nodes=ALL Default=YES\n"
        );
        let topology = "SwitchName=IBN Nodes=n[1-12]\nSwitchName=IBG Nodes=g1,b1\n\
            SwitchName=TOP Switches=IBN,IBG\n";
        let files = [("slurm.conf", conf), ("topology.conf", topology.to_owned())];
        read_cluster(&files.map(|(name, text)| (name.to_owned(), text)), &[])
            .unwrap()
            .0
    };
    let names = |cluster: &Cluster| {
        let names: Vec<String> = cluster.nodes.iter().map(|node| node.name.clone()).collect();
        names.join(" ")
    };
    let by_name = conf("");
    assert_eq!(
        names(&by_name),
        "b1 g1 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12"
    );
    let mut log = JobLog::default();
    job(&mut log, 0, 100, 600, 1, 12);
    job(&mut log, 0, 100, 600, 1, 12);
    let schedule = simulated(&log, &by_name);
    assert_eq!([nodes(&schedule, 0), nodes(&schedule, 1)], [[0], [1]]);
    let by_switch = conf("TopologyParam=SwitchAsNodeRank\n");
    assert!(names(&by_switch).starts_with("n1 n2 n3"));
    assert!(names(&by_switch).ends_with("n12 g1 b1"));
}

#[test]
fn settings_that_change_nothing_are_refused() {
    let read = |setting: &str| {
        let conf = "MaxJobCount=9\nNodeName=n[0-3]\nPartitionName=main Nodes=ALL\n";
        let files = [("slurm.conf".to_owned(), conf.to_owned())];
        read_cluster(&files, &[setting.to_owned()]).map_err(|error| error.to_string())
    };
    for setting in [
        "SchedulerParameters=bf_interval=60",
        "KillWait=30",
        "PartitionName=main MaxTime=10",
    ] {
        assert!(read(setting).is_ok(), "{setting}");
    }
    for setting in ["bf_interval=60", "MaxJobCount=8"] {
        let error = read(setting).unwrap_err();
        let key = setting.split('=').next().unwrap().to_lowercase();
        let begin = format!("settings:1: {key} changes nothing here; allowed: ");
        assert!(error.starts_with(&begin), "{error}");
        assert!(error.contains("killwait"), "{error}");
    }
    // Weights say nothing where jobs are not ordered by weights.
    let weighted = |order: &str| {
        read(&format!(
            "PriorityType=priority/{order}\nPriorityWeightAge=5"
        ))
    };
    assert!(weighted("multifactor").is_ok());
    let error = weighted("basic").unwrap_err();
    assert!(
        error.starts_with("settings:2: priorityweightage"),
        "{error}"
    );
}

#[test]
fn a_tree_that_makes_no_sense_is_refused() {
    let refused = |topology: &str| {
        let conf = "TopologyPlugin=topology/tree\nNodeName=n[0-31]\nPartitionName=main Nodes=ALL\n";
        let files = [("a", conf), ("b", topology)].map(|(a, b)| (a.to_owned(), b.to_owned()));
        read_cluster(&files, &[]).unwrap_err().message
    };
    assert_eq!(
        refused("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"),
        "Switches=…: a switch is above itself"
    );
    assert_eq!(
        refused("SwitchName=a Switches=c\n"),
        "switch a: there is no switch \"c\""
    );
    assert_eq!(
        refused("SwitchName=a Nodes=m1\n"),
        "switch a: there is no node \"m1\""
    );
    // A tree that nobody names is said.
    let (_, notes) = with_tree("topology/tree", "NodeName=n0\n");
    assert!(notes[0].contains("scontrol show topology"), "{notes:?}");
}

/// A cluster in use: what runs goes on from when it began and to the millisecond, and backfill's
/// next pass comes when its interval is over.
#[test]
fn a_cluster_in_use_goes_on() {
    let mut log = JobLog::default();
    // Of four nodes three are taken until 10.25 s; the first of the queue needs all of them.
    let one = job(&mut log, 100, 10, 60, 3, 3);
    request(one).required_nodes = Some("n[1-3]".into());
    job(&mut log, 100, 10, 600, 4, 4);
    // It ends before the first can begin, so backfill lets it overtake.
    job(&mut log, 100, 5, 30, 1, 1);
    let mut cluster = cluster(4, 1);
    cluster.parameters.batch_sched_delay = 0;
    cluster.parameters.bf_interval = 6;
    let ran: [(&str, i64); 3] = [("1", 10_250), ("2", 10_000), ("3", 4_600)];
    let onset = Onset {
        at: 104_300,
        backfilled: Some(101),
        running: [("1".to_owned(), 100_500)].into(),
        runs: ran.map(|(id, run)| (id.to_owned(), run)).into(),
        ..Onset::default()
    };
    let mut going = |_, _| ControlFlow::Continue(());
    let schedule = simulate_from(&log, &cluster, Some(&onset), &mut going).unwrap();
    assert_eq!(nodes(&schedule, 0), [1, 2, 3]);
    // Backfill began in second 101, so it comes again in second 107; the overtaker runs from 107.5
    // to 112.1, the other job has ended at 110.75, and the next pass of the main scheduler is at 113.
    assert_eq!(starts(&schedule), [100, 113, 107]);
}

/// Backfill looks every interval while jobs wait, also where nothing happens for long: a job that
/// comes in between waits for the next time.
#[test]
fn backfill_keeps_its_rhythm() {
    let mut log = JobLog::default();
    // Of four nodes three are taken for long; the first of the queue needs all of them.
    job(&mut log, 0, 1_000, 1_000, 3, 3);
    job(&mut log, 0, 100, 600, 4, 4);
    job(&mut log, 107, 5, 30, 1, 1);
    let mut cluster = cluster(4, 1);
    cluster.parameters.bf_interval = 30;
    let found = starts(&simulated(&log, &cluster));
    // It looks at 1 s, and at 121 s for the fourth time after that.
    assert_eq!(found[2], 121);
}

#[test]
fn threads_of_a_core_belong_to_one_job() {
    let mut twofold = cluster(1, 4);
    twofold.nodes[0].threads = 2;
    let mut log = JobLog::default();
    job(&mut log, 0, 100, 600, 1, 1);
    job(&mut log, 0, 100, 600, 1, 1);
    job(&mut log, 0, 100, 600, 1, 1);
    let cores = starts(&simulated(&log, &twofold));
    assert!(cores[1] < 5 && cores[2] >= 100, "{cores:?}");
    twofold.unit = Unit::Cpu;
    let cpus = starts(&simulated(&log, &twofold));
    assert!(cpus[2] < 5, "{cpus:?}");
}

#[test]
fn constraints_choose_nodes_or_refuse() {
    let mut varied = cluster(4, 4);
    varied.memory = true;
    varied.nodes[2].features = vec!["fat".to_owned()];
    varied.nodes[2].memory_mb = 8000;
    let gpu = |count| Gres {
        name: "gpu".into(),
        kind: Some("a100".into()),
        count,
    };
    varied.nodes[3].gres = vec![gpu(2)];
    let mut log = JobLog::default();
    request(job(&mut log, 0, 50, 600, 1, 1)).features = Some("fat".into());
    request(job(&mut log, 0, 50, 600, 1, 1)).gres = vec![gpu(2)];
    request(job(&mut log, 0, 50, 600, 1, 1)).memory = Some(Memory::PerNode(5000));
    // The GPUs are taken, although cores are free.
    request(job(&mut log, 1, 50, 600, 1, 1)).gres = vec![gpu(1)];
    request(job(&mut log, 1, 50, 600, 1, 1)).gres = vec![gpu(3)];
    request(job(&mut log, 1, 50, 600, 1, 1)).features = Some("thin".into());
    request(job(&mut log, 1, 50, 600, 1, 1)).memory = Some(Memory::PerCpu(9000));
    let schedule = simulated(&log, &varied);
    let of = |job| nodes(&schedule, job);
    assert_eq!([of(0), of(1), of(2), of(3)], [[2], [3], [2], [3]]);
    assert!(starts(&schedule)[3] >= 50);
    for (number, what) in [
        (4, "3 gpu:a100"),
        (5, "features thin"),
        (6, "9000 MiB a CPU"),
    ] {
        match &schedule.rows[number].fate {
            Fate::Refused(reason) => assert!(reason.contains(what), "{reason}"),
            other => panic!("job {number}: {other:?}"),
        }
    }
}

#[test]
fn the_main_scheduler_waits_for_the_first_job_and_backfill_does_not() {
    let mut log = JobLog::default();
    job(&mut log, 0, 300, 300, 1, 4);
    // Waits for both nodes, 300 s.
    job(&mut log, 10, 100, 600, 2, 8);
    // Ends before that by its limit; the other does not.
    job(&mut log, 20, 60, 120, 1, 4);
    job(&mut log, 20, 60, 600, 1, 4);
    let mut two = cluster(2, 4);
    two.parameters.bf_interval = 30;
    let schedule = simulated(&log, &two);
    let found = starts(&schedule);
    assert_eq!(schedule.rows[2].started, Some(Started::Backfilled));
    assert!((20..=60).contains(&found[2]), "{found:?}");
    assert!((300..=304).contains(&found[1]), "{found:?}");
    assert!(found[3] >= 400, "{found:?}");
    two.parameters.backfill = false;
    assert!(starts(&simulated(&log, &two))[2] >= 400);
}

#[test]
fn a_reservation_holds_whole_nodes() {
    let mut log = JobLog::default();
    job(&mut log, 0, 300, 300, 1, 3);
    // Gets the node's four cores at 300 s; till then one is free.
    job(&mut log, 10, 100, 600, 1, 4);
    job(&mut log, 20, 60, 600, 1, 1);
    let found = starts(&simulated(&log, &cluster(1, 4)));
    assert!(found[2] >= 400, "{found:?}");
}

#[test]
fn backfill_plans_as_far_as_its_window() {
    let mut log = JobLog::default();
    job(&mut log, 0, 4000, 4000, 1, 4);
    job(&mut log, 10, 100, 600, 2, 8);
    job(&mut log, 20, 5000, 6000, 1, 4);
    let mut two = cluster(2, 4);
    let found = starts(&simulated(&log, &two));
    assert!(
        found[2] >= 4000,
        "the reservation at 4000 s holds both nodes: {found:?}"
    );
    two.parameters.bf_window = 3600;
    let found = starts(&simulated(&log, &two));
    assert!(
        found[2] < 100,
        "nothing is planned beyond an hour: {found:?}"
    );
}

#[test]
fn a_pass_tests_so_many_jobs_of_all_and_of_a_user() {
    let mut log = JobLog::default();
    job(&mut log, 0, 300, 300, 1, 4);
    for _ in 0..3 {
        job(&mut log, 10, 100, 600, 2, 8);
    }
    let bob = log.names.label("bob");
    job(&mut log, 20, 60, 120, 1, 4).user = bob;
    let early = |parameters: &dyn Fn(&mut Parameters)| {
        let mut two = cluster(2, 4);
        parameters(&mut two.parameters);
        starts(&simulated(&log, &two))[4] < 100
    };
    assert!(early(&|_| ()));
    assert!(
        !early(&|p| p.bf_max_job_test = 3),
        "bob's job is the fourth"
    );
    // Ann's second and third are not tested, and bob's is.
    assert!(early(&|p| {
        p.bf_max_job_test = 2;
        p.bf_max_job_user = 1;
    }));
    assert!(!early(&|p| p.bf_max_job_part = 3));
    assert!(early(&|p| {
        p.bf_max_job_test = 2;
        p.bf_max_job_user_part = 1;
    }));
}

#[test]
fn a_pass_that_pauses_goes_on_only_if_told() {
    let mut log = JobLog::default();
    job(&mut log, 0, 2000, 2000, 1, 4);
    for _ in 0..20 {
        job(&mut log, 10, 100, 3000, 2, 8);
    }
    job(&mut log, 15, 60, 120, 1, 4);
    // Something happens every second.
    for second in 0..200 {
        job(&mut log, 20 + second, 10, 60, 1, 4);
    }
    let mut two = cluster(2, 4);
    two.parameters.seconds_per_test = 0.5;
    two.parameters.bf_max_time = 300;
    let start = |continues: bool| {
        let mut two = two.clone();
        two.parameters.bf_continue = continues;
        starts(&simulated(&log, &two))[21]
    };
    assert!(start(true) < 120, "{}", start(true));
    assert!(start(false) > 200, "{}", start(false));
}

#[test]
fn tiers_go_before_priorities_and_limits_hold_jobs_up_alone() {
    let mut tiered = cluster(1, 4);
    let high = Partition {
        priority_tier: 10,
        qos: Some("few".to_owned()),
        ..Partition::new("high", vec![0])
    };
    tiered.partitions.push(high);
    tiered.qos.push(Qos {
        user_jobs: Some(1),
        ..Qos::new("few")
    });
    let mut log = JobLog::default();
    let high = log.names.label("high");
    job(&mut log, 0, 100, 600, 1, 4);
    job(&mut log, 1, 100, 600, 1, 4);
    job(&mut log, 2, 100, 600, 1, 1).partition = high;
    // Ann runs one already.
    job(&mut log, 3, 100, 600, 1, 1).partition = high;
    let found = starts(&simulated(&log, &tiered));
    // Ends are within half a second of their logs'.
    assert!((99..110).contains(&found[2]), "{found:?}");
    assert!((198..240).contains(&found[3]), "{found:?}");
    assert!(found[1] >= 297, "{found:?}");
}

#[test]
fn fair_share_orders_the_queue() {
    let mut fair = cluster(1, 4);
    fair.priority = Priority::Multifactor(Weights {
        fair_share: 1000.0,
        calc_period_s: 10,
        ..Weights::default()
    });
    let mut log = JobLog::default();
    let (bob, lab) = (log.names.label("bob"), log.names.label("lab"));
    for _ in 0..2 {
        job(&mut log, 0, 100, 100, 1, 4).account = lab;
    }
    let last = job(&mut log, 1, 100, 100, 1, 4);
    (last.user, last.account) = (bob, lab);
    let found = starts(&simulated(&log, &fair));
    // Ann has used the cluster when her second job competes with bob's first.
    assert!(found[2] < found[1], "{found:?}");
}

#[test]
fn files_of_slurm_make_a_cluster() {
    let conf = "\
ClusterName=c # a comment
SchedulerParameters=bf_interval=60,bf_window=2880,\\
bf_max_job_user=7,bf_continue,frobnicate
SelectTypeParameters=CR_CPU_Memory
PriorityType=priority/multifactor
PriorityWeightFairshare=5000
PriorityFlags=NO_FAIR_TREE
AccountingStorageType=accounting_storage/slurmdbd
NodeName=DEFAULT RealMemory=4000 ThreadsPerCore=2 CoresPerSocket=8 Sockets=2
NodeName=a[1-2] Features=x,y
NodeName=b1 CPUs=16 Gres=gpu:v100:4 Weight=5
NodeSet=gpus Nodes=b1
PartitionName=main Nodes=ALL Default=YES MaxTime=1-00:00:00
PartitionName=gpu Nodes=gpus MaxTime=30 PriorityTier=3 OverSubscribe=EXCLUSIVE
";
    let qos = "Name|Priority|GrpTRES|MaxJobsPU|MaxWall\nnormal|5|cpu=8,gres/gpu=2|3|1-00:00:00\n";
    let files = [("slurm.conf", conf), ("qos", qos)];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let (cluster, notes) = read_cluster(&files, &[]).unwrap();
    assert_eq!(notes, ["SchedulerParameters: frobnicate is not simulated"]);
    let names: Vec<&str> = cluster.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["a1", "a2", "b1"]);
    assert_eq!((cluster.nodes[0].cpus, cluster.nodes[0].threads), (32, 2));
    // Sixteen CPUs are the cores.
    assert_eq!((cluster.nodes[2].cpus, cluster.nodes[2].threads), (16, 1));
    assert_eq!(cluster.nodes[2].weight, 5);
    assert_eq!(cluster.partitions[0].max_time, Some(86_400));
    let gpu = &cluster.partitions[1];
    assert_eq!(
        (gpu.nodes.clone(), gpu.max_time, gpu.exclusive),
        (vec![2], Some(1800), true)
    );
    assert_eq!((cluster.unit, cluster.memory), (Unit::Cpu, true));
    let parameters = &cluster.parameters;
    assert_eq!(
        (parameters.bf_interval, parameters.bf_window),
        (60, 172_800)
    );
    assert_eq!(
        (parameters.bf_max_job_user, parameters.bf_max_time),
        (7, 60)
    );
    assert!(parameters.bf_continue);
    match &cluster.priority {
        Priority::Multifactor(weights) => {
            assert!(!weights.fair_tree && weights.fair_share == 5000.0);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(cluster.qos[0].group.get("gres/gpu"), Some(&2));
    assert_eq!(
        (cluster.qos[0].user_jobs, cluster.qos[0].max_wall),
        (Some(3), Some(86_400))
    );
}

#[test]
fn damaged_files_are_told_with_their_line() {
    let part = "PartitionName=p Nodes=ALL\n";
    let node = "NodeName=n[1-2] CPUs=4\n";
    let cases = [
        (
            format!("{node}PartitionName=p Nodes=m1\n"),
            "no node \"m1\"",
        ),
        (format!("{part}NodeName=n1 CPUs=many\n"), ":2: cpus=many"),
        (part.to_owned(), "no nodes"),
        (node.to_owned(), "no partitions"),
        (
            format!("{node}{part}SelectType=select/other\n"),
            "select/other",
        ),
        (
            format!("{node}{part}SchedulerParameters=bf_window=x\n"),
            "bf_window=x",
        ),
        ("hello\n".to_owned(), "no configuration"),
        ("a|b\n1|2\n".to_owned(), "columns a, b"),
        ("{\"nodes\": [".to_owned(), "JSON"),
        (format!("{node}{part}Include other.conf\n"), "Include"),
    ];
    for (text, what) in cases {
        let found = read_cluster(&[("slurm.conf".to_owned(), text.clone())], &[]);
        let message = found
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(message.contains(what), "{text}: {message}");
    }
}

#[test]
fn accounts_come_from_sshare_and_sacctmgr() {
    let conf = "NodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL\n";
    let sshare = "Account|User|RawShares|NormShares\nroot|||\n physics||40|0.4\n  \
                  lasers||3|0.1\n physics|ann|1|0.5\n";
    let assoc = "Account|Par Name|User|Share\nroot|||1\nphysics|root||40\nphysics||ann|2\n";
    for (text, shares, parent) in [(sshare, 1.0, "root"), (assoc, 2.0, "root")] {
        let files = [("conf", conf), ("shares", text)];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let (cluster, _) = read_cluster(&files, &[]).unwrap();
        let physics = cluster
            .associations
            .iter()
            .find(|one| one.account == "physics");
        assert_eq!(physics.map(|one| one.shares), Some(40.0));
        assert_eq!(physics.and_then(|one| one.parent.as_deref()), Some(parent));
        let ann = cluster
            .associations
            .iter()
            .find(|one| one.user.as_deref() == Some("ann"));
        assert_eq!(ann.map(|one| one.shares), Some(shares));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever jobs come: all run, whole, not before they came, and never on more than
    /// the cluster has (the selection's own checks are on here).
    #[test]
    fn no_core_is_given_away_twice(
        jobs in prop::collection::vec((0i64..400, 1i64..200, 1i64..6, 1u32..5, 1u32..9, 0u32..8), 1..60),
        parameters in (1i64..40, 1u32..30, prop::bool::ANY, 0.0f64..0.3),
    ) {
        let mut log = JobLog::default();
        let mut sorted = jobs;
        sorted.sort_by_key(|job| job.0);
        for (submit, run, minutes, nodes, cpus, kind) in sorted {
            let (limit, cpus) = (minutes * 60, cpus.max(nodes).min(nodes * 4));
            let one = job(&mut log, submit, run.min(limit), limit, nodes, cpus);
            let request = request(one);
            request.exclusive = kind == 0;
            request.memory = (kind == 1).then_some(Memory::PerNode(600));
            request.features = (kind == 2 && nodes < 3).then_some("x|y".into());
        }
        let mut cluster = cluster(5, 4);
        cluster.memory = true;
        for node in 0..3 {
            cluster.nodes[node].features = vec![["x", "y", "x"][node].to_owned()];
        }
        let (interval, tests, continues, cost) = parameters;
        cluster.parameters.bf_interval = interval;
        cluster.parameters.bf_max_job_test = tests;
        cluster.parameters.bf_continue = continues;
        cluster.parameters.seconds_per_test = cost;
        let schedule = simulated(&log, &cluster);
        let mut changes: Vec<(i64, i64)> = Vec::new();
        for (row, job) in schedule.rows.iter().zip(&log.jobs) {
            prop_assert_eq!(&row.fate, &Fate::Finished);
            let (start, end) = (row.start.unwrap().0, row.end.unwrap().0);
            prop_assert!(start >= job.submit.0);
            prop_assert_eq!(end - start, job.run.0);
            prop_assert!(row.placed.as_ref().unwrap().len() as u32 >= job.nodes);
            changes.push((start + 1, i64::from(row.nodes)));
            changes.push((end, -i64::from(row.nodes)));
        }
        changes.sort_unstable();
        let mut used = 0;
        for (_, change) in changes {
            used += change;
            prop_assert!(used <= 20);
        }
        prop_assert_eq!(&simulated(&log, &cluster), &schedule);
    }
}
