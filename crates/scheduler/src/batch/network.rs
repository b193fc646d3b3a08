//! How fast jobs run beside each other. The scheduler knows that they may become
//! faster or slower as others come and go, and nothing of why.

use odonata_units::NodeId;

use crate::Seconds;

/// The nodes that a job gets, as far as the machine tells nodes apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocation<'a> {
    /// Number of nodes, or of processors where the machine is shared by them.
    pub nodes: u32,
    /// Index of each of its groups, and nodes in it.
    pub groups: Option<&'a [(u32, u32)]>,
    /// Its nodes.
    pub placed: Option<&'a [NodeId]>,
}

/// What slows running jobs down, or makes them faster.
///
/// A job of the log that ran for *r* seconds has *r* seconds of work to do. It does
/// them at its *speed*: seconds of work per second, 1 while nobody says otherwise.
/// Speeds change only when jobs begin or end, or the network changes.
pub trait Network {
    /// A job begins, `job` of the log, which ran for `run` there. Tells how many
    /// seconds it stands still first, finite and at least 0, as while optical switches
    /// set its circuits.
    fn begin(&mut self, job: u32, allocation: &Allocation<'_>, run: Seconds, now: Seconds) -> f64;

    /// A job ends, or is killed.
    fn end(&mut self, job: u32, now: Seconds);

    /// What would be lost if a job began now on these nodes: the seconds of work that it and those
    /// that run would do less in a second than without each other, counted by the nodes of each, over
    /// what the job would do alone. Changes nothing.
    fn loss(&mut self, job: u32, allocation: &Allocation<'_>) -> f64 {
        let _ = (job, allocation);
        0.0
    }

    /// Nodes that jobs may have, ascending, where the network gives nodes to jobs.
    fn nodes(&self) -> Option<Vec<NodeId>> {
        None
    }

    /// The nodes of a running job, where the network gives nodes to jobs.
    fn nodes_of(&self, job: u32) -> &[NodeId] {
        let _ = job;
        &[]
    }

    /// Nodes that no job has go out of service, until [`Network::back`].
    fn out(&mut self, nodes: &[NodeId]) {
        let _ = nodes;
    }

    /// Nodes that were out of service work again.
    fn back(&mut self, nodes: &[NodeId]) {
        let _ = nodes;
    }

    /// When the network itself changes next, as where links fail: then [`Network::change`] is called.
    fn next_change(&self) -> Option<Seconds> {
        None
    }

    /// Takes in what has changed in the network up to `now`; jobs on nodes that fail then have ended.
    fn change(&mut self, now: Seconds) {
        let _ = now;
    }

    /// After all that began, ended and changed at `now`: appends running jobs with new
    /// speeds, finite and above 0, each at most once.
    ///
    /// # Errors
    /// If that cannot be found out, in words; ends the simulation.
    fn settle(&mut self, now: Seconds, changed: &mut Vec<(u32, f64)>) -> Result<(), String>;
}

/// No network: jobs run as long as the log says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsLogged;

impl Network for AsLogged {
    fn begin(&mut self, _: u32, _: &Allocation<'_>, _: Seconds, _: Seconds) -> f64 {
        0.0
    }

    fn end(&mut self, _: u32, _: Seconds) {}

    fn settle(&mut self, _: Seconds, _: &mut Vec<(u32, f64)>) -> Result<(), String> {
        Ok(())
    }
}
