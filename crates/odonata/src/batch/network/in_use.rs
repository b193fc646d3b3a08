//! A network behind jobs that others start and place, as on a cluster in use.

use odonata_network::Topology;
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::Allocation;
use odonata_scheduler::log::{Job, JobLog};
use odonata_units::NodeId;

use super::fallible::Fallible;
use super::flow::FlowNetwork;
use super::jobs::communications;
use super::machine::SharedMachine;
use super::{LevelSpec, NetworkSpec, ShareSpec, checked_injection, wrong};
use crate::error::{Error, SpecError};

/// Jobs on named nodes of a machine whose links they share as flows, and how fast they go
/// on beside each other: what [`NetworkSpec`] does in a simulated schedule, for whoever has
/// a schedule of their own.
pub struct JobsOnNetwork {
    network: FlowNetwork,
    nodes_of_group: Vec<Vec<u32>>,
    jobs: u32,
    machine: u32,
}

impl JobsOnNetwork {
    /// A machine without jobs. `sizes` are the nodes of all jobs that may come; what each
    /// does is drawn by its place there.
    ///
    /// # Errors
    /// If the network is none of links that jobs share as flows, or what jobs do would follow
    /// from what nobody knows here: a log, or modes of GRAP.
    pub fn new(spec: &NetworkSpec, sizes: &[u32]) -> Result<Self, Error> {
        let LevelSpec::Flow(flow) = &spec.level else {
            return Err(wrong("level", "another level", "flow"));
        };
        if matches!(spec.communication_share, ShareSpec::Log) {
            let allowed = "a share such as 30%, or two between which it is drawn, as a queue does \
                           not say how much its jobs communicate";
            return Err(wrong("communication_share", "\"log\"", allowed));
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
        let machine = SharedMachine::new(None, None, spec.seed, flow)?;
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

    /// A job begins on these nodes.
    ///
    /// # Errors
    /// If there is no such job or node, or another job has a node.
    pub fn begin(&mut self, job: u32, nodes: &[u32]) -> Result<(), Error> {
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
        let begun = self.network.begin(job, &allocation);
        begun.map(|_| ()).map_err(super::super::refused)
    }

    /// A job ends; one that has not begun does nothing.
    ///
    /// # Errors
    /// If its nodes are others' by now.
    pub fn end(&mut self, job: u32) -> Result<(), Error> {
        self.network.end(job).map_err(super::super::refused)
    }

    /// After all that began and ended at a time: jobs with new speeds, in seconds of work per
    /// second; who never had one goes at 1.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub fn settle(&mut self) -> Result<Vec<(u32, f64)>, Error> {
        let mut changed = Vec::new();
        let settled = self.network.settle(&mut changed);
        settled.map_err(super::super::refused)?;
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
    use crate::spec::{Dragonfly, Family, Network};

    /// A dragonfly of 9 groups of 4 routers of 2 nodes, one link between two groups. Its nodes
    /// send at the rate of that link, 4.69 of 16 GiB/s.
    fn jobs_that_always_talk(sizes: &[u32], traffic: &str) -> JobsOnNetwork {
        let machine = Network::new(Family::Dragonfly(Dragonfly::new(2, 4, 2, 9)));
        let spec = json!({
            "communication_share": {"fixed": 1.0}, "seed": 1,
            "mix": [{"from": 1, "to": 100, "shares": [[traffic, 1.0]]}],
            "level": {"flow": {
                "machine": machine, "injection": 5_035_849_155.0 / 17_179_869_184.0,
                "placement": {"policy": "contiguous"}, "switch_delay_ps": 0,
            }},
        });
        JobsOnNetwork::new(&serde_json::from_value(spec).unwrap(), sizes).unwrap()
    }

    #[test]
    fn jobs_that_share_a_link_halve_it_until_one_ends() {
        // Groups 0 and 1 are joined by one link, which carries as much as a node sends. Of each
        // job a node in either sends to the other: alone at full speed, both at half of it.
        let mut network = jobs_that_always_talk(&[2, 2], "halves");
        let [first, second] = [0, 1].map(|group| network.nodes_of_group()[group].clone());
        network.begin(0, &[first[0], second[0]]).unwrap();
        assert!(
            network
                .settle()
                .unwrap()
                .iter()
                .all(|(_, speed)| (speed - 1.0).abs() < 1e-9)
        );
        network.begin(1, &[first[1], second[1]]).unwrap();
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
        let said = |result: Result<(), Error>| result.unwrap_err().to_string();
        assert!(said(network.begin(2, &[0])).contains("one of the 2 that were announced"));
        assert!(said(network.begin(0, &[72])).contains("0 to 71"));
        network.begin(0, &[3, 4]).unwrap();
        assert!(said(network.begin(1, &[4, 5])).contains("node 4 is not free"));
        network.end(1).unwrap();
    }
}
