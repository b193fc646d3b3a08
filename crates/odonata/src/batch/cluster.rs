//! Placement on a cluster in use: its state comes in as numbers, decisions go out.

use std::sync::Arc;

use odonata_declare::{Listed, Named};
use odonata_placement::Machine as Wiring;
use odonata_placement::grap::{Choice, GrapMode, GrapModeName, nodes_of_choice};
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{
    Ask, ClusterAllocation, ClusterMachine, ClusterRefusal, GrapMachine, JobConstraints, Machine,
    Policy, Rule, Started, Waiting, Window, Withheld, pass,
};
use odonata_units::{GroupId, NodeId, RouterId};
use serde::{Deserialize, Serialize};

use super::modes;
use crate::error::{Error, refused};

/// How nodes of a cluster in use are chosen, but for those whose nodes others name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterPolicy {
    /// By GRAP, the policy for reconfigurable dragonflies.
    Grap,
    /// The first free ones, group after group.
    Contiguous,
    /// One router of each group in turn.
    Spread,
    /// Random nodes.
    RandomNode,
    /// All free nodes of random routers.
    RandomRouter,
    /// All free nodes of random groups.
    RandomGroup,
    /// One free node of every router in turn.
    Even,
    /// Whole groups that it shares with no other job.
    Isolated,
    /// Within the smallest part that holds it (router, group, machine), spread there.
    LevelSpread,
    /// In order within the first group that holds it, else spread over all groups.
    Hybrid,
    /// The fullest router or group that still holds it.
    BestFit,
}

/// A machine that counts the nodes of its groups, with the ends and places of jobs that run.
type CountedMachine = (GrapMachine, Vec<(Seconds, Arc<Choice>)>);

/// A cluster: its wiring, and how jobs are placed on it.
#[derive(Clone, Debug)]
pub struct ClusterPlacement {
    wiring: Arc<Wiring>,
    rule: Rule,
    mode: GrapModeName,
    seed: u64,
}

/// A job that runs, or is about to.
#[derive(Clone, Debug)]
pub struct Holder {
    /// When it is expected to end.
    pub end: i64,
    /// Its nodes.
    pub nodes: Vec<u32>,
}

/// A job that waits.
#[derive(Clone, Debug)]
pub struct WaitingJob {
    /// Nodes that it asks for.
    pub nodes: u32,
    /// How long it is believed to run, at least 1.
    pub estimate: i64,
    /// Which of the sets of nodes it may have; `None`: any.
    pub allowed: Option<usize>,
    /// Seeds policies that draw.
    pub stream: u64,
}

/// A time in which some nodes are not given to anybody.
#[derive(Clone, Debug)]
pub struct Withholding {
    /// Its first moment.
    pub start: i64,
    /// The moment after its last.
    pub end: i64,
    /// Which nodes.
    pub nodes: Vec<u32>,
}

/// What a cluster is like now. Times are in any unit.
#[derive(Clone, Debug, Default)]
pub struct ClusterState {
    /// Now.
    pub now: i64,
    /// Nodes that no job may be given; those of running jobs may be among them.
    pub out: Vec<u32>,
    /// Jobs that hold nodes.
    pub holders: Vec<Holder>,
    /// Jobs that wait, in order.
    pub queue: Vec<WaitingJob>,
    /// Sets of nodes that they name.
    pub sets: Vec<Vec<u32>>,
    /// Reservations and maintenance.
    pub withheld: Vec<Withholding>,
    /// How many of the first jobs that cannot start get a reservation; 0: no job overtakes.
    pub depth: u32,
}

/// Nodes for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its index in the queue.
    pub job: u32,
    /// Its nodes.
    pub nodes: Vec<u32>,
    /// Ids of the groups that it has for itself.
    pub owned: Vec<u32>,
    /// Whether it overtakes.
    pub backfilled: bool,
}

/// Why a job waits on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its index in the queue.
    pub job: u32,
    /// When it is expected to start, if it has a reservation.
    pub promised: Option<i64>,
    /// Whether not even the idle cluster, as far as it works, would hold it.
    pub never: bool,
    /// Why, for people.
    pub reason: String,
}

impl ClusterPlacement {
    /// A cluster whose node `n` is attached to router `router_of_node[n]`, which belongs to group
    /// `group_of_router` of it. `mode` is that of large jobs under GRAP, with the numbers that
    /// simulations give to modes that need some.
    ///
    /// # Errors
    /// If there is no such policy or mode, or the wiring is none.
    pub fn new(
        router_of_node: Vec<u32>,
        group_of_router: Vec<u32>,
        policy: &str,
        mode: &str,
        seed: u64,
    ) -> Result<Self, Error> {
        let routers = router_of_node.into_iter().map(RouterId).collect();
        let groups = group_of_router.into_iter().map(GroupId).collect();
        let wiring = Wiring::new(routers, groups).map_err(refused)?;
        let policy = ClusterPolicy::by_name(policy).map_err(refused)?;
        use odonata_placement::Policy as Placed;
        let rule = match policy {
            ClusterPolicy::Grap => Rule::Grap,
            ClusterPolicy::Contiguous => Rule::Policy(Placed::Contiguous),
            ClusterPolicy::Spread => Rule::Policy(Placed::Spread),
            ClusterPolicy::RandomNode => Rule::Policy(Placed::RandomNode),
            ClusterPolicy::RandomRouter => Rule::Policy(Placed::RandomRouter),
            ClusterPolicy::RandomGroup => Rule::Policy(Placed::RandomGroup),
            ClusterPolicy::Even => Rule::Policy(Placed::Even),
            ClusterPolicy::Isolated => Rule::Policy(Placed::Isolated),
            ClusterPolicy::LevelSpread => Rule::Policy(Placed::LevelSpread),
            ClusterPolicy::Hybrid => Rule::Policy(Placed::Hybrid),
            ClusterPolicy::BestFit => Rule::Policy(Placed::BestFit),
        };
        Ok(Self {
            wiring: Arc::new(wiring),
            rule,
            mode: GrapModeName::by_name(mode).map_err(refused)?,
            seed,
        })
    }

    /// Nodes of the cluster.
    pub fn nodes(&self) -> u32 {
        self.wiring.nodes()
    }

    /// Looks at the queue once: who starts now and where, and why the others wait.
    ///
    /// # Errors
    /// If the state names nodes or sets that there are not, or a job of no nodes.
    pub fn decide(&self, state: &ClusterState) -> Result<(Vec<Given>, Vec<Kept>), Error> {
        let mut works = vec![true; self.nodes() as usize];
        for node in self.known(&state.out)? {
            works[node.index()] = false;
        }
        let machine = ClusterMachine::new(
            Arc::clone(&self.wiring),
            self.rule.clone(),
            self.seed,
            works.into(),
            self.wants(state)?,
        );
        let mut running = Vec::with_capacity(state.holders.len());
        for holder in &state.holders {
            let allocation = machine.allocation_of(&self.known(&holder.nodes)?);
            running.push((Seconds(holder.end), allocation));
        }
        let queue: Vec<Waiting> = (0u32..)
            .zip(&state.queue)
            .map(|(job, waiter)| Waiting {
                ask: Ask {
                    job,
                    nodes: waiter.nodes,
                },
                estimate: Seconds(waiter.estimate.max(1)),
            })
            .collect();
        let mut windows = Vec::with_capacity(state.withheld.len());
        for withheld in &state.withheld {
            windows.push(Window {
                name: String::new(),
                start: Seconds(withheld.start),
                end: Seconds(withheld.end),
                nodes: Withheld::Nodes(self.known(&withheld.nodes)?),
                users: Vec::new(),
            });
        }
        let policy = match state.depth {
            0 => Policy::InOrder,
            depth => Policy::Backfill { depth },
        };
        let now = Seconds(state.now);
        let mut after = machine.clone();
        for (_, allocation) in &running {
            after.take(allocation);
        }
        let mut begun: Vec<(u32, ClusterAllocation, bool)> = Vec::new();
        let promised;
        if let Some((counts, holders)) = self.by_counts(state, &machine, &running) {
            let decided = pass(now, &counts, &holders, &queue, &windows, policy);
            for begin in decided.starts {
                let free = |node| machine.may_have(begin.job, node) && after.is_free(node);
                let allocation =
                    after.allocation_of(&nodes_of_choice(&begin.held, &self.wiring, free));
                after.take(&allocation);
                begun.push((begin.job, allocation, begin.started == Started::Backfilled));
            }
            promised = decided.promised;
        } else {
            let decided = pass(now, &machine, &running, &queue, &windows, policy);
            for begin in decided.starts {
                after.take(&begin.held);
                begun.push((begin.job, begin.held, begin.started == Started::Backfilled));
            }
            promised = decided.promised;
        }
        let mut starts = vec![false; queue.len()];
        let mut given = Vec::with_capacity(begun.len());
        let ids: Vec<u32> = self.wiring.groups().map(|(group, _)| group.0).collect();
        for (job, allocation, backfilled) in begun {
            starts[job as usize] = true;
            given.push(Given {
                job,
                nodes: allocation.nodes.iter().map(|node| node.0).collect(),
                owned: allocation
                    .owned
                    .iter()
                    .map(|&index| ids[index as usize])
                    .collect(),
                backfilled,
            });
        }
        let mut kept = Vec::new();
        for waiting in &queue {
            let job = waiting.ask.job;
            if starts[job as usize] {
                continue;
            }
            let promised = promised.iter().find(|&&(other, _)| other == job);
            let (never, reason) = why(&machine, &after, &waiting.ask);
            kept.push(Kept {
                job,
                promised: promised.map(|&(_, at)| at.0),
                never,
                reason,
            });
        }
        Ok((given, kept))
    }

    /// The machine of simulations, which counts the nodes of groups, and what jobs hold of it:
    /// under GRAP, where all waiting jobs may have the same nodes and the rules hold, so that
    /// which nodes of a group a job gets matters to nobody. `None` where it does.
    fn by_counts(
        &self,
        state: &ClusterState,
        machine: &ClusterMachine,
        running: &[(Seconds, ClusterAllocation)],
    ) -> Option<CountedMachine> {
        let alike = state
            .queue
            .windows(2)
            .all(|two| two[0].allowed == two[1].allowed);
        let ahead = state.withheld.iter().any(|window| window.end > state.now);
        if self.rule != Rule::Grap || !alike || ahead || state.queue.is_empty() {
            return None;
        }
        let groups = self.wiring.groups().len();
        let (mut sizes, mut of_group) = (vec![0; groups], vec![0; self.nodes() as usize]);
        for (index, (_, routers)) in (0u32..).zip(self.wiring.groups()) {
            let nodes = routers
                .iter()
                .flat_map(|&router| self.wiring.nodes_of(router));
            for &node in nodes {
                of_group[node.index()] = index;
                sizes[index as usize] += u32::from(machine.may_have(0, node));
            }
        }
        let (mut held, mut owned) = (vec![false; of_group.len()], vec![false; groups]);
        let mut holders = Vec::with_capacity(running.len());
        for (end, allocation) in running {
            let mut counts = vec![0; groups];
            for &node in &*allocation.nodes {
                if std::mem::replace(&mut held[node.index()], true) {
                    return None;
                }
                counts[of_group[node.index()] as usize] += u32::from(machine.may_have(0, node));
            }
            let large = !allocation.owned.is_empty();
            for &group in &*allocation.owned {
                if std::mem::replace(&mut owned[group as usize], true) {
                    return None;
                }
            }
            let used = (0u32..).zip(counts);
            let used = used.filter(|(group, count)| *count > 0 || allocation.owned.contains(group));
            let groups = used.collect();
            holders.push((*end, Arc::new(Choice { groups, large })));
        }
        let modes = (0..state.queue.len() as u32).map(|job| machine.mode(job));
        Some((GrapMachine::new(sizes, modes.collect()), holders))
    }

    fn wants(&self, state: &ClusterState) -> Result<Vec<JobConstraints>, Error> {
        let mut sets: Vec<Arc<[bool]>> = Vec::with_capacity(state.sets.len());
        for set in &state.sets {
            let mut allowed = vec![false; self.nodes() as usize];
            for node in self.known(set)? {
                allowed[node.index()] = true;
            }
            sets.push(allowed.into());
        }
        let groups = self.wiring.groups().len() as u32;
        let group = self.nodes().div_ceil(groups.max(1));
        let wants = |waiter: &WaitingJob| {
            let allowed = match waiter.allowed {
                None => None,
                Some(set) => Some(sets.get(set).cloned().ok_or_else(|| {
                    refused(format!(
                        "there is no set {set} of {} sets of nodes",
                        sets.len()
                    ))
                })?),
            };
            Ok(JobConstraints {
                mode: match self.mode {
                    GrapModeName::Adaptive => GrapMode::Adaptive,
                    mode => modes::for_job(mode, waiter.nodes, group, groups),
                },
                allowed,
                stream: waiter.stream,
            })
        };
        state.queue.iter().map(wants).collect()
    }

    fn known(&self, nodes: &[u32]) -> Result<Vec<NodeId>, Error> {
        let all = self.nodes();
        match nodes.iter().find(|&&node| node >= all) {
            Some(node) => Err(refused(format!(
                "there is no node {node}; the cluster has nodes 0 to {}",
                all - 1
            ))),
            None => Ok(nodes.iter().copied().map(NodeId).collect()),
        }
    }
}

/// Why a job did not start: not even without all others, not now, or only for those ahead of it.
fn why(idle: &ClusterMachine, now: &ClusterMachine, ask: &Ask) -> (bool, String) {
    let words = |refusal: ClusterRefusal| refusal.to_string();
    match (idle.place(ask), now.place(ask)) {
        (Err(refusal), _) => (true, words(refusal)),
        (Ok(_), Err(refusal)) => (false, words(refusal)),
        (Ok(_), Ok(_)) => (
            false,
            "there are nodes for it, but it would delay a job ahead of it, or run into a \
             reservation"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cluster(policy: &str) -> ClusterPlacement {
        // 4 groups of 2 routers with 2 nodes each.
        let routers = (0..16).map(|node| node / 2).collect();
        let groups = (0..8).map(|router| router / 2).collect();
        ClusterPlacement::new(routers, groups, policy, "adaptive", 1).unwrap()
    }

    fn waits(nodes: u32, estimate: i64) -> WaitingJob {
        WaitingJob {
            nodes,
            estimate,
            allowed: None,
            stream: 0,
        }
    }

    #[test]
    fn large_jobs_own_their_groups_and_nobody_delays_the_first() {
        let holders = vec![Holder {
            end: 100,
            nodes: (0..6).collect(),
        }];
        // Groups 0 and 1 belong to the job that runs; 8 nodes are left in 2 and 3.
        let queue = vec![waits(12, 50), waits(6, 101), waits(6, 100), waits(3, 200)];
        let state = ClusterState {
            holders,
            queue,
            depth: 1,
            ..ClusterState::default()
        };
        let (given, kept) = cluster("grap").decide(&state).unwrap();
        // The first needs three groups without a large job: at 100. The second would be there
        // still; the third ends just then; the last takes the nodes next to the one that runs.
        assert_eq!(given.len(), 1, "{given:?}");
        assert_eq!((given[0].job, given[0].owned.as_slice()), (2, &[2, 3][..]));
        assert!(given[0].backfilled);
        assert_eq!(kept[0].promised, Some(100));
        assert_eq!(kept[1].promised, None);
        assert!(kept.iter().all(|kept| !kept.never));
        let words = "there are nodes for it, but it would delay a job ahead of it";
        assert!(!kept[1].reason.contains(words), "{}", kept[1].reason);
    }

    #[test]
    fn which_nodes_of_a_group_a_reservation_gets_matters_to_nobody() {
        // Nodes 0 and 1 are free until 100, when a job leaves 2 and 3 and another comes in with
        // two nodes of the same group: the first may stay on, whichever two it has.
        let holders = vec![
            Holder {
                end: 100,
                nodes: vec![2, 3],
            },
            Holder {
                end: 1000,
                nodes: (4..16).collect(),
            },
        ];
        let state = ClusterState {
            holders,
            queue: vec![waits(3, 50), waits(1, 500)],
            depth: 1,
            ..ClusterState::default()
        };
        let (given, kept) = cluster("grap").decide(&state).unwrap();
        assert_eq!(given[0].nodes, [0]);
        assert_eq!(kept[0].promised, Some(100));
    }

    #[test]
    fn nodes_that_do_not_work_or_are_not_allowed_are_not_given() {
        let queue = vec![WaitingJob {
            allowed: Some(0),
            ..waits(4, 10)
        }];
        let state = ClusterState {
            out: vec![4, 13],
            queue,
            sets: vec![(4..16).collect()],
            ..ClusterState::default()
        };
        let nodes = |policy: &str| cluster(policy).decide(&state).unwrap().0.remove(0).nodes;
        assert_eq!(nodes("contiguous"), [5, 6, 7, 8]);
        // Only group 2 has four of them.
        assert_eq!(nodes("grap"), [8, 9, 10, 11]);
    }

    #[test]
    fn who_can_never_start_is_told_so() {
        let state = ClusterState {
            queue: vec![waits(17, 1), waits(2, 1)],
            depth: 1,
            ..ClusterState::default()
        };
        let (given, kept) = cluster("grap").decide(&state).unwrap();
        assert_eq!(given[0].job, 1);
        assert!(kept[0].never);
        assert!(
            kept[0].reason.contains("asks for 17 nodes"),
            "{}",
            kept[0].reason
        );
        let wrong = ClusterState {
            out: vec![16],
            ..ClusterState::default()
        };
        let error = cluster("grap").decide(&wrong).unwrap_err().to_string();
        assert!(error.contains("nodes 0 to 15"), "{error}");
    }

    #[test]
    fn reservations_keep_nodes_free() {
        let state = ClusterState {
            now: 10,
            queue: vec![waits(4, 50), waits(4, 5)],
            withheld: vec![Withholding {
                start: 20,
                end: 40,
                nodes: (0..12).collect(),
            }],
            depth: 1,
            ..ClusterState::default()
        };
        let (given, _) = cluster("contiguous").decide(&state).unwrap();
        // The long one avoids the nodes that are withheld from 20 on, the short one is over.
        assert_eq!(given[0].nodes, [12, 13, 14, 15]);
        assert_eq!(given[1].nodes, [0, 1, 2, 3]);
    }

    proptest! {
        /// Whatever the state: nodes are given once, work, are free and allowed, as many as
        /// asked for; large jobs own their groups alone.
        #[test]
        fn decisions_keep_the_rules(
            out in prop::collection::vec(0u32..16, 0..4),
            held in prop::collection::vec((1i64..50, prop::collection::vec(0u32..16, 1..7)), 0..4),
            asked in prop::collection::vec((1u32..18, 1i64..50, any::<bool>()), 0..8),
            depth in 0u32..3,
            policy in prop::sample::select(vec![
                "grap", "spread", "random-group", "isolated", "level-spread", "hybrid", "best-fit",
            ]),
        ) {
            let mut holders = Vec::new();
            for (end, mut nodes) in held {
                nodes.sort_unstable();
                nodes.dedup();
                holders.push(Holder { end, nodes });
            }
            let queue: Vec<WaitingJob> = asked.iter().map(|&(nodes, estimate, some)| WaitingJob {
                allowed: some.then_some(0),
                ..waits(nodes, estimate)
            }).collect();
            let state = ClusterState {
                out: out.clone(),
                holders: holders.clone(),
                queue,
                sets: vec![(2..14).collect()],
                depth,
                ..ClusterState::default()
            };
            let (given, kept) = cluster(policy).decide(&state).unwrap();
            prop_assert_eq!(given.len() + kept.len(), asked.len());
            let group = |node: u32| node / 4;
            let mut taken: Vec<u32> = holders.iter().flat_map(|of| of.nodes.clone()).collect();
            let mut owned: Vec<u32> = Vec::new();
            for holder in &holders {
                let mut groups: Vec<u32> = holder.nodes.iter().map(|&node| group(node)).collect();
                groups.dedup();
                if groups.len() > 1 || policy == "isolated" {
                    owned.extend(groups);
                }
            }
            for job in &given {
                let (nodes, _, some) = asked[job.job as usize];
                prop_assert_eq!(job.nodes.len(), nodes as usize);
                for &node in &job.nodes {
                    prop_assert!(!taken.contains(&node) && !out.contains(&node));
                    prop_assert!(!some || (2..14).contains(&node));
                    taken.push(node);
                }
                let mut groups: Vec<u32> = job.nodes.iter().map(|&node| group(node)).collect();
                groups.sort_unstable();
                groups.dedup();
                if policy == "grap" && groups.len() > 1 || policy == "isolated" {
                    prop_assert_eq!(&job.owned, &groups);
                    prop_assert!(!groups.iter().any(|group| owned.contains(group)));
                    owned.extend(groups);
                } else {
                    prop_assert!(job.owned.is_empty());
                }
            }
        }
    }
}
