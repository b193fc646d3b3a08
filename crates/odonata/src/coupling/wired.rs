//! A machine as it is wired at the moment: the nodes of the jobs that run, and the circuits that
//! are set for them.

use odonata_network::Topology;
use odonata_network::routing::{Algorithm, AnyRouting, RoutingSpec, minimal_routing};
use odonata_scheduler::batch::Allocation;
use odonata_units::NodeId;
use serde_json::{Value, json};

use super::circuits::JobCircuits;
use super::footprint::Footprints;
use super::machine::{NodesOfJobs, SharedMachine};
use super::spec::wrong;
use super::traffic::Traffic;
use crate::error::Error;
use crate::spec::{CircuitSource, Scenario};
use crate::topology::circuits::with_circuits;

/// A machine whose jobs begin and end.
pub(super) struct WiredMachine {
    pub scenario: Scenario,
    pub topology: Topology,
    pub algorithm: AnyRouting,
    pub allotment: NodesOfJobs,
    routing: RoutingSpec,
    circuits: Option<(JobCircuits, Footprints)>,
    /// The machine as it was at first, and what identifies it as it is, once it has changed.
    before: Option<(Topology, AnyRouting)>,
    state: Option<[u8; 32]>,
}

impl WiredMachine {
    pub(super) fn new(machine: SharedMachine) -> Result<Self, Error> {
        let SharedMachine {
            scenario,
            topology,
            routing,
            reconfigurable,
            allotment,
            ..
        } = machine;
        let algorithm = AnyRouting::new(&topology, &routing).map_err(|error| {
            let allowed = "a routing that fits the network";
            wrong("machine.routing", error, allowed)
        })?;
        let joined = reconfigurable.filter(|on| on.circuits == CircuitSource::Jobs);
        if joined.is_some() && !matches!(routing.algorithm, Algorithm::Tago { .. }) {
            let allowed = "tago where circuits are set for jobs, which join no others' groups";
            let found = routing.algorithm.name();
            return Err(wrong("machine.routing.algorithm", found, allowed));
        }
        let circuits = joined.map(|on| {
            let inside = minimal_routing(&topology);
            let inside = inside.map_err(|error| wrong("machine", error, "groups"))?;
            let footprints = Footprints::new(&topology, &inside);
            Ok::<_, Error>((on.job_circuits(&topology), footprints))
        });
        Ok(Self {
            circuits: circuits.transpose()?,
            scenario,
            topology,
            algorithm,
            allotment,
            routing,
            before: None,
            state: None,
        })
    }

    /// Makes the network this one, as where parts of it fail.
    ///
    /// # Errors
    /// If the routing does not take it.
    pub(super) fn rewire(&mut self, network: Topology) -> Result<(), String> {
        let algorithm = AnyRouting::new(&network, &self.routing);
        let algorithm = algorithm.map_err(|error| error.to_string())?;
        self.state = Some(identity(&network));
        let topology = std::mem::replace(&mut self.topology, network);
        let algorithm = std::mem::replace(&mut self.algorithm, algorithm);
        self.before.get_or_insert((topology, algorithm));
        Ok(())
    }

    /// The machine on which jobs are measured alone: as it was at first.
    pub(super) fn at_first(&self) -> (&Topology, &AnyRouting) {
        match &self.before {
            Some((topology, algorithm)) => (topology, algorithm),
            None => (&self.topology, &self.algorithm),
        }
    }

    /// What identifies the network, if it has changed.
    pub(super) fn state(&self) -> Option<&[u8; 32]> {
        self.state.as_ref()
    }

    /// Gives a job its nodes, and circuits for its traffic, if that is known; seconds until they
    /// pass light.
    pub(super) fn begin(
        &mut self,
        job: u32,
        allocation: &Allocation<'_>,
        traffic: Option<Traffic>,
    ) -> Result<f64, String> {
        let group = self.allotment.group();
        let nodes = self.allotment.allocate(job, allocation)?;
        let Some((circuits, footprints)) = &mut self.circuits else {
            return Ok(0.0);
        };
        let groups = footprints.groups_of(nodes);
        if groups.len() < 2 {
            return Ok(0.0);
        }
        let sent = traffic.map(|traffic| footprints.sent(traffic, nodes, group));
        let (_, delay) = circuits.set(job, &groups, sent.as_ref())?;
        let topology = with_circuits(&self.scenario, circuits.current().clone());
        self.topology = topology.map_err(|error| error.to_string())?;
        let algorithm = AnyRouting::new(&self.topology, &self.routing);
        self.algorithm = algorithm.map_err(|error| error.to_string())?;
        Ok(delay)
    }

    /// Takes circuits and nodes back from a job.
    pub(super) fn end(&mut self, job: u32) -> Result<(), String> {
        if let Some((circuits, _)) = &mut self.circuits {
            circuits.release(job);
        }
        self.allotment.leave(job)
    }

    /// The nodes of a running job.
    pub(super) fn nodes_of(&self, job: u32) -> &[NodeId] {
        self.allotment.of(job)
    }

    /// Both ends of every circuit that is set for a job, as numbers.
    pub(super) fn circuit_ends(&self) -> impl Iterator<Item = u64> + '_ {
        self.circuits
            .iter()
            .flat_map(|(circuits, _)| circuits.ends())
    }

    /// How many windows were simulated and reused, and what circuits cost.
    pub(super) fn report(&self, simulated: u64, reused: u64) -> Value {
        let mut reported = json!({"windows": {"simulated": simulated, "reused": reused}});
        if let Some((circuits, _)) = &self.circuits {
            reported["circuits"] = circuits.report();
        }
        reported
    }
}

/// A hash of where the ports of a network lead, and how fast.
fn identity(network: &Topology) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    for (peer, class) in network.peer.iter().zip(&network.class_of_port) {
        let class = &network.link_classes[class.index()];
        hash.update(
            format!(
                "{peer:?}{}{};",
                class.bandwidth.bytes_per_second(),
                class.name
            )
            .as_bytes(),
        );
    }
    *hash.finalize().as_bytes()
}
