//! Each pass of a real Slurm beside ours: three recordings of an emulated cluster of 16 nodes
//! (Slurm 22.05.8; live/tests/real), 200 jobs each, and two of one of 32 on a tree, 36 jobs each. Before every pass our state is made Slurm's own,
//! so that what a pass starts, and where, is compared without what followed from earlier
//! differences.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::super::read_cluster;
use super::super::select::Part;
use super::*;
use crate::log::{ReadOptions, read_log};

/// What passes started alike, on other nodes, and only one of the two.
#[derive(Debug, Default, PartialEq)]
struct Compared {
    alike: u32,
    elsewhere: u32,
    ours_alone: u32,
    slurms_alone: u32,
}

fn alike(alike: u32) -> Compared {
    Compared {
        alike,
        ..Compared::default()
    }
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulated_slurm")
}

/// Compares a recording, of a cluster that these files configure.
fn compare(name: &str, files: &[&str]) -> Compared {
    let directory = recordings();
    let listing = directory.join(format!("{name}.json.xz"));
    let (log, _) = read_log(&listing, &ReadOptions::default()).unwrap();
    let read = |file: &&str| {
        let text = std::fs::read_to_string(directory.join(file)).unwrap();
        ((*file).to_owned(), text)
    };
    let (cluster, _) = read_cluster(&files.iter().map(read).collect::<Vec<_>>(), &[]).unwrap();
    let count = cluster.nodes.len();
    let mut simulation = Simulation::new(&log, &cluster, None).unwrap();
    let ids = log.jobs.iter().enumerate();
    let number: HashMap<String, u32> = ids
        .map(|(at, job)| (job.id.to_string(), at as u32))
        .collect();
    let passes = directory.join(format!("{name}.passes.xz"));
    let text = odonata_files::read_to_string(&passes).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let mut compared = Compared::default();
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let now: i64 = line[0].parse().unwrap();
        match line[1] {
            "A" => {
                let task = number[line[2]];
                simulation.tasks[task as usize].arrival = now;
                simulation.arrive(task, now);
                let priority: u64 = line[3].parse().unwrap();
                assert_eq!(
                    simulation.priorities[task as usize], priority,
                    "job {}",
                    line[2]
                );
            }
            "E" => simulation.end(number[line[2]], now),
            pass => {
                let mut ours = copy(&simulation);
                let depth = ours.parameters.default_queue_depth;
                match pass {
                    "M" => ours.main_pass(now, Some(depth)),
                    "F" => ours.main_pass(now, None),
                    _ => while Cycle::new(&ours, now).go_on(&mut ours, now).is_some() {},
                }
                let before: Vec<u32> = simulation.running.keys().copied().collect();
                while let Some(start) = lines.next_if(|line| line[1] == "S") {
                    let task = number[start[2]];
                    let held = held(&cluster, &simulation.tasks[task as usize], start[3]);
                    // Slurm's clock of a pass is the second in which it begins.
                    let at = log.jobs[task as usize].start.unwrap().0 * 1000;
                    match ours.running.remove(&task) {
                        None => compared.slurms_alone += 1,
                        Some(same) if same.held.nodes(count) == held.nodes(count) => {
                            compared.alike += 1
                        }
                        Some(_) => compared.elsewhere += 1,
                    }
                    let candidate = Candidate { task, option: 0 };
                    simulation.start(candidate, held, at, Started::InOrder);
                }
                let more = ours.running.keys().filter(|task| !before.contains(task));
                compared.ours_alone += more.count() as u32;
            }
        }
    }
    assert!(simulation.queue.is_empty() && simulation.running.is_empty());
    compared
}

/// The same state, for a pass that leaves the first as it is.
fn copy<'a>(of: &Simulation<'a>) -> Simulation<'a> {
    Simulation {
        never: of.never.clone(),
        nodes_out: None,
        maintenance_ends: Vec::new(),
        cluster: of.cluster,
        parameters: Rc::clone(&of.parameters),
        tasks: of.tasks.clone(),
        rows: of.rows.clone(),
        part_nodes: of.part_nodes.clone(),
        arrivals: Vec::new(),
        arrived: 0,
        queue: of.queue.clone(),
        state: of.state.clone(),
        running: of.running.clone(),
        ends: BTreeMap::new(),
        starts: 0,
        priorities: of.priorities.clone(),
        shares: of.shares.clone(),
        shares_at: of.shares_at,
        tallies: of.tallies.clone(),
        changes: of.changes,
        recomputed: 0,
        passes: 0,
        begun: Vec::new(),
        backfilled: None,
    }
}

/// What Slurm gave a job: `node:cores:MiB`, with commas between nodes.
fn held(cluster: &Cluster, task: &Task, parts: &str) -> Held {
    let part = |text: &str| {
        let words: Vec<&str> = text.split(':').collect();
        let node = cluster.nodes.iter().position(|node| node.name == words[0]);
        let gres = task.options[0].ask.gres.iter();
        Part {
            node: node.unwrap() as u32,
            cpus: words[1].parse().unwrap(),
            memory: words[2].parse().unwrap(),
            gres: gres.map(|gres| (0, gres.count)).collect(),
        }
    };
    Held {
        parts: parts.split(',').map(part).collect(),
        owned: Vec::new(),
    }
}

#[test]
fn passes_start_what_slurms_started() {
    let all = ["seed1", "seed2", "seed3"].map(|name| compare(name, &["slurm.conf"]));
    // In the first, one pass of backfill starts a job that Slurm's does not, and so finds other
    // nodes for the next.
    let first = Compared {
        alike: 199,
        elsewhere: 1,
        ours_alone: 1,
        slurms_alone: 0,
    };
    assert_eq!(all, [first, alike(200), alike(200)]);
}

/// Whole nodes of a tree of 32, and times rounded to minutes in backfill's plans.
#[test]
fn passes_on_a_tree_start_what_slurms_started() {
    let all = ["tree1", "tree2"].map(|name| compare(name, &["tree.conf", "topology.conf"]));
    assert_eq!(all, [alike(36), alike(36)]);
}
