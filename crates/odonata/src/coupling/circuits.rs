//! Circuits of the jobs of a schedule on a reconfigurable dragonfly: set when a large
//! job begins, between its own groups, and left until another needs their ends.

use odonata_network::Topology;
use odonata_network::topology::{Circuits, LinkKind, SwitchPort};
use odonata_steering::{Demand, Steering, Strategy, SwitchTiming};
use odonata_units::{GroupId, JobId, RouterId};
use serde_json::{Value, json};

use super::footprint::Sent;
use super::global_links::{GlobalLink, GlobalLinks};

/// What reconfiguring has cost so far.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    jobs: u64,
    reconfigurations: u64,
    set: u64,
    taken_down: u64,
    delay_s: f64,
}

/// The switches of a machine and its global ports.
pub(super) struct JobCircuits {
    steering: Steering,
    strategy: Strategy,
    timing: SwitchTiming,
    /// Port and router of every global link of every group. Shape: groups × links.
    ports: Vec<(u32, u32)>,
    cost: Cost,
}

impl JobCircuits {
    /// On switches without circuits, of which what has failed is not used. `ports_of_router` tells how many links of its group each
    /// router of it holds.
    pub(super) fn new(
        topology: &Topology,
        usable: Circuits,
        ports_of_router: &[u32],
        strategy: Strategy,
        timing: SwitchTiming,
    ) -> Self {
        let switches = usable.switches();
        let mut ports = Vec::with_capacity(switches.groups() as usize * switches.links() as usize);
        for router in 0..topology.routers() {
            let all = topology.ports_of(RouterId::from_index(router));
            let global = all.filter(|&port| {
                topology.link_classes[topology.class_of_port[port].index()].kind == LinkKind::Global
            });
            let held = ports_of_router[router % ports_of_router.len()];
            ports.extend(
                global
                    .take(held as usize)
                    .map(|port| (port as u32, router as u32)),
            );
        }
        debug_assert_eq!(ports.len(), ports.capacity(), "every link has its port");
        Self {
            steering: Steering::new(usable),
            strategy,
            timing,
            ports,
            cost: Cost::default(),
        }
    }

    fn port(&self, port: SwitchPort) -> (u32, u32) {
        let links = self.steering.circuits().switches().links() as usize;
        self.ports[port.group.index() * links + port.link as usize]
    }

    /// Sets circuits between the groups of a job for what it sends, if it is known:
    /// the links that it gets, and seconds until they pass light.
    ///
    /// # Errors
    /// If a rule would be broken: a group's links belong to another job, the groups
    /// cannot be connected by circuits of their own, or a circuit of another job would
    /// change.
    pub(super) fn set(
        &mut self,
        job: u32,
        groups: &[u32],
        sent: Option<&Sent>,
    ) -> Result<(GlobalLinks, f64), String> {
        let listed: Vec<GroupId> = groups.iter().map(|&group| GroupId(group)).collect();
        let demand = sent.filter(|_| self.strategy != Strategy::Uniform);
        let demand = demand.map(|sent| demand_of(sent, groups));
        let change = self
            .steering
            .allocate(JobId(job), &listed, self.strategy, demand.as_ref())
            .map_err(|violation| format!("job {job}: {violation}"))?;
        let delay = self.timing.delay(&change).0 as f64 * 1e-12;
        self.cost.jobs += 1;
        self.cost.reconfigurations += u64::from(!change.is_empty());
        self.cost.set += change.added.len() as u64;
        self.cost.taken_down += change.removed.len() as u64;
        self.cost.delay_s += delay;
        let switches = self.steering.circuits().switches();
        let mut global_links = GlobalLinks::none(switches.groups() as usize, groups.to_vec());
        for &group in &listed {
            for link in 0..switches.links() {
                let here = SwitchPort { group, link };
                if let Some(there) = self.steering.circuits().peer(here) {
                    let ((port, from), (_, to)) = (self.port(here), self.port(there));
                    global_links.add(group.0, there.group.0, GlobalLink { port, from, to });
                }
            }
        }
        Ok((global_links, delay))
    }

    /// The circuits that are set.
    pub(super) fn current(&self) -> &Circuits {
        self.steering.circuits()
    }

    /// Both ends of every circuit that is set, as numbers.
    pub(super) fn ends(&self) -> impl Iterator<Item = u64> + '_ {
        let circuits = self.current();
        let links = u64::from(circuits.switches().links());
        let number = move |port: SwitchPort| u64::from(port.group.0) * links + u64::from(port.link);
        circuits
            .iter()
            .flat_map(move |one| [one.from, one.to].map(number))
    }

    /// Takes the links back from a job.
    pub(super) fn release(&mut self, job: u32) {
        self.steering.release(JobId(job));
    }

    /// Checks both principles of the whole configuration.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub(super) fn check(&self) -> Result<(), String> {
        self.steering.check().map_err(|rule| rule.to_string())
    }

    /// What reconfiguring has cost.
    pub(super) fn report(&self) -> Value {
        json!({
            "large_jobs": self.cost.jobs,
            "reconfigurations": self.cost.reconfigurations,
            "circuits_set": self.cost.set,
            "circuits_taken_down": self.cost.taken_down,
            "delay_s": self.cost.delay_s,
        })
    }
}

/// What a job's groups send to each other, in millionths of a node's rate.
fn demand_of(sent: &Sent, groups: &[u32]) -> Demand {
    let k = sent.groups.len();
    let place = |group: u32| groups.binary_search(&group).ok();
    let entries = (0..k * k).filter_map(|pair| {
        let (from, to) = (place(sent.groups[pair / k])?, place(sent.groups[pair % k])?);
        Some((from, to, (sent.between[pair] * 1e6).round() as u64))
    });
    Demand::new(groups.len(), entries)
}
