//! A network behind jobs that others start and place, as on a cluster in use.

use odonata_network::Topology;
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::Allocation;
use odonata_scheduler::log::{Job, JobLog};
use odonata_units::NodeId;

use super::fallible::FallibleNetwork;
use super::flow::FlowNetwork;
use super::jobs::communications;
use super::machine::{SharedMachine, checked_injection};
use super::spec::{LevelSpec, NetworkSpec, ShareSpec, wrong};
use crate::error::{Error, SpecError, refused};
use crate::spec::{CircuitSource, Family};
use crate::topology::families::reconfigurable;

/// Jobs on named nodes of a machine whose links they share as flows, and how fast they go
/// on beside each other: what [`NetworkSpec`] does in a simulated schedule, for callers that have
/// a schedule of their own.
pub struct JobsOnNetwork {
    network: FlowNetwork,
    nodes_of_group: Vec<Vec<u32>>,
    jobs: u32,
    machine: u32,
}

impl JobsOnNetwork {
    /// A machine without jobs. `sizes` are the nodes of all jobs that may come; what each
    /// does is drawn by its place there. The caller that starts jobs gives large ones groups of their
    /// own if `owned`: then a machine that sets circuits for jobs does. Otherwise its circuits
    /// join all groups alike.
    ///
    /// # Errors
    /// If the network is none of links that jobs share as flows, or what jobs do would follow
    /// from what nobody knows here: a log, or modes of GRAP.
    pub fn new(spec: &NetworkSpec, sizes: &[u32], owned: bool) -> Result<Self, Error> {
        let LevelSpec::Flow(flow) = &spec.level else {
            return Err(wrong("level", "another level", "flow"));
        };
        if matches!(spec.communication_share, ShareSpec::Log) {
            let allowed = "a share such as 30%, or two between which it is drawn, as a queue does \
                           not say how much its jobs communicate";
            return Err(wrong("mpi_share", "\"log\"", allowed));
        }
        if spec.mix.is_none() {
            let allowed = "traffics, as the jobs of a queue have no modes";
            return Err(wrong("mix", "\"by-mode\"", allowed));
        }
        let injection = checked_injection(flow.injection)?;
        let mut log = JobLog::default();
        for &nodes in sizes {
            log.jobs.push(Job::new("", Seconds(0), Seconds(1), nodes));
        }
        let (jobs, traffics) = communications(&log, spec, &|_| None)?;
        let mut flow = flow.clone();
        let mut groups = None;
        if let Family::ReconfigurableDragonfly(dragonfly) = &mut flow.machine.topology {
            if owned {
                groups = Some(reconfigurable::structure(dragonfly)?.switches.groups());
            } else if dragonfly.circuits == CircuitSource::Jobs {
                dragonfly.circuits = CircuitSource::Uniform;
            }
        }
        let machine = SharedMachine::new(None, groups, spec.seed, &flow, None)?;
        let nodes_of_group = nodes_of_group(&machine.topology);
        Ok(Self {
            jobs: jobs.len() as u32,
            machine: machine.topology.nodes() as u32,
            network: FlowNetwork::new(machine, &jobs, &traffics, injection)?,
            nodes_of_group,
        })
    }

    /// Nodes of every group of the machine, ascending.
    pub fn nodes_of_group(&self) -> &[Vec<u32>] {
        &self.nodes_of_group
    }

    /// A job begins on these nodes: seconds until its circuits pass light, if any changes for
    /// it. One that shares groups with others gets none, and goes by the links that join all
    /// groups alike.
    ///
    /// # Errors
    /// If there is no such job or node, another job has a node, or its groups cannot have
    /// circuits of their own.
    pub fn begin(&mut self, job: u32, nodes: &[u32], shares: bool) -> Result<f64, Error> {
        if job >= self.jobs {
            let allowed = format!("one of the {} that were announced", self.jobs);
            return Err(Error::Spec(SpecError::value("job", job, allowed)));
        }
        if let Some(node) = nodes.iter().find(|&&node| node >= self.machine) {
            let allowed = format!("0 to {}, the machine's nodes", self.machine - 1);
            return Err(Error::Spec(SpecError::value("node", node, allowed)));
        }
        let placed: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
        let allocation = Allocation {
            nodes: placed.len() as u32,
            groups: None,
            placed: Some(&placed),
        };
        let begun = self.network.begin_with(job, &allocation, !shares);
        begun.map_err(refused)
    }

    /// A job ends; one that has not begun does nothing.
    ///
    /// # Errors
    /// If its nodes are others' by now.
    pub fn end(&mut self, job: u32) -> Result<(), Error> {
        self.network.end(job).map_err(refused)
    }

    /// After all that began and ended at a time: jobs with new speeds, in seconds of work per
    /// second; who never had one goes at 1.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub fn settle(&mut self) -> Result<Vec<(u32, f64)>, Error> {
        let mut changed = Vec::new();
        let settled = self.network.settle(&mut changed);
        settled.map_err(refused)?;
        Ok(changed)
    }
}

fn nodes_of_group(topology: &Topology) -> Vec<Vec<u32>> {
    let mut of = vec![vec![]; topology.groups as usize];
    for node in 0..topology.nodes() as u32 {
        of[topology.group_of_node(NodeId(node)).index()].push(node);
    }
    of
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::{Dragonfly, Link, Network, ReconfigurableDragonfly};

    /// A dragonfly of 9 groups of 4 routers of 2 nodes, one link between two groups, which carries
    /// as much as a node sends.
    fn jobs_that_always_talk(sizes: &[u32], traffic: &str) -> JobsOnNetwork {
        let machine = Network::new(Family::Dragonfly(Dragonfly::new(2, 4, 2, 9)));
        let spec = json!({
            "communication_share": {"fixed": 1.0}, "seed": 1,
            "mix": [{"from": 1, "to": 100, "shares": [[traffic, 1.0]]}],
            "level": {"flow": {
                "machine": machine, "injection": 1.0, "placement": {"policy": "contiguous"},
                "switch_delay_ps": 0,
            }},
        });
        JobsOnNetwork::new(&serde_json::from_value(spec).unwrap(), sizes, false).unwrap()
    }

    /// Six groups of four routers of two nodes, eight links each, to switches; jobs that send from
    /// one half to the other all the time, as fast as their nodes can. A link between groups
    /// carries half of what a node sends.
    fn reconfigurable(owned: bool, routing: Option<&str>) -> Result<JobsOnNetwork, Error> {
        let mut machine = ReconfigurableDragonfly::new(2, 4, 2, 6);
        machine.circuits = CircuitSource::Jobs;
        let mut machine = Network::new(Family::ReconfigurableDragonfly(machine));
        let mut global = Link::default_for("global");
        global.bandwidth_bytes_per_s /= 2;
        machine.links.insert("global".into(), global);
        let mut machine = json!(machine);
        if let Some(name) = routing {
            machine["routing"] = json!({ "algorithm": name });
        }
        let spec = json!({
            "communication_share": {"fixed": 1.0}, "seed": 1,
            "mix": [{"from": 1, "to": 100, "shares": [["halves", 1.0]]}],
            "level": {"flow": {
                "machine": machine, "injection": 1.0, "placement": {"policy": "contiguous"},
                "switch_delay_ps": 100_000_000_000u64,
            }},
        });
        JobsOnNetwork::new(&serde_json::from_value(spec).unwrap(), &[16, 16, 16], owned)
    }

    #[test]
    fn who_owns_groups_has_all_their_links() {
        // All eight links of both groups join them, for eight nodes either way: half of what
        // they send. Joined to all five others alike, one or two lead to the other group.
        let link = 0.5;
        let speed = |network: &mut JobsOnNetwork, job| {
            let settled = network.settle().unwrap();
            settled.into_iter().find(|one| one.0 == job).unwrap().1
        };
        let mut own = reconfigurable(true, None).unwrap();
        let groups = own.nodes_of_group().to_vec();
        let both = [groups[0].clone(), groups[1].clone()].concat();
        assert!((own.begin(0, &both, false).unwrap() - 0.1).abs() < 1e-9);
        assert!((speed(&mut own, 0) - link).abs() < 1e-9);
        // The same groups again: their circuits are there already.
        own.end(0).unwrap();
        assert_eq!(own.begin(1, &both, false).unwrap(), 0.0);
        let mut joined = reconfigurable(false, None).unwrap();
        assert_eq!(joined.begin(0, &both, false).unwrap(), 0.0);
        let slower = speed(&mut joined, 0) / link;
        assert!((0.125..=0.25).contains(&slower), "{slower}");
        // Where groups are owned, one that shares its groups goes by these links, too.
        let mut own = reconfigurable(true, None).unwrap();
        assert_eq!(own.begin(0, &both, true).unwrap(), 0.0);
        assert!((speed(&mut own, 0) / link - slower).abs() < 1e-9);
    }

    #[test]
    fn owned_groups_want_a_routing_that_stays_in_them() {
        let said = reconfigurable(true, Some("valiant"))
            .err()
            .unwrap()
            .to_string();
        assert!(said.contains("tago or minimal"), "{said}");
        assert!(reconfigurable(false, Some("valiant")).is_ok());
    }

    #[test]
    fn jobs_that_share_a_link_halve_it_until_one_ends() {
        // Groups 0 and 1 are joined by one link, which carries as much as a node sends. Of each
        // job a node in either sends to the other: alone at full speed, both at half of it.
        let mut network = jobs_that_always_talk(&[2, 2], "halves");
        let [first, second] = [0, 1].map(|group| network.nodes_of_group()[group].clone());
        network.begin(0, &[first[0], second[0]], false).unwrap();
        assert!(
            network
                .settle()
                .unwrap()
                .iter()
                .all(|(_, speed)| (speed - 1.0).abs() < 1e-9)
        );
        network.begin(1, &[first[1], second[1]], false).unwrap();
        let mut both = network.settle().unwrap();
        both.sort_by_key(|(job, _)| *job);
        assert_eq!(both.iter().map(|(job, _)| *job).collect::<Vec<_>>(), [0, 1]);
        assert!(
            both.iter().all(|(_, speed)| (speed - 0.5).abs() < 1e-9),
            "{both:?}"
        );
        network.end(0).unwrap();
        let left = network.settle().unwrap();
        assert!(
            matches!(left[..], [(1, speed)] if (speed - 1.0).abs() < 1e-9),
            "{left:?}"
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut network = jobs_that_always_talk(&[2, 2], "ring");
        let said = |result: Result<f64, Error>| result.unwrap_err().to_string();
        assert!(said(network.begin(2, &[0], false)).contains("one of the 2 that were announced"));
        assert!(said(network.begin(0, &[72], false)).contains("0 to 71"));
        network.begin(0, &[3, 4], false).unwrap();
        assert!(said(network.begin(1, &[4, 5], false)).contains("node 4 is not free"));
        network.end(1).unwrap();
    }
}
