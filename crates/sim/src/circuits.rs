//! Circuits of optical switches that change while a run goes on.
//!
//! A change takes three steps, each at the start of a time window:
//!
//! 1. The ports whose circuits change send nothing more, and routing leaves them out. What waits
//!    for them is routed anew.
//! 2. What they have sent moves on. When every byte of it is credited, so that neither the
//!    circuits nor the buffers behind them hold anything, the switches begin to change.
//! 3. After the time that this takes the ports lead where they are to, routing knows it, and they
//!    send again.
//!
//! No packet is lost, and none finds a buffer that another port's credits are for. A router that is
//! left without any other way keeps its packets until the third step.

use odonata_network::Topology;
use odonata_network::routing::AnyRouting;
use odonata_run::{Losses, SimError};
use odonata_units::{NodeId, Picoseconds, PortId};

/// Where a sender without a circuit leads: nowhere.
pub const DARK: PortId = PortId(u32::MAX);

/// Decides to which ports circuits lead, as a run goes on.
///
/// What it decides may depend on what it is given and nothing else, so that it does not depend on
/// the number of threads.
pub trait CircuitControl {
    /// The ports that send into circuits, in an order of its own, which stays.
    fn senders(&self) -> &[PortId];

    /// When it wants to decide next; later than it last decided.
    fn next(&self) -> Option<Picoseconds>;

    /// Whether it needs what nodes send to each other.
    fn counts_traffic(&self) -> bool {
        false
    }

    /// A node has sent this to another one since the last decision.
    fn count(&mut self, _from: NodeId, _to: NodeId, _bytes: u64) {}

    /// Decides: to which ports the senders are to lead, or `None` if nothing changes.
    ///
    /// # Errors
    /// End the run.
    fn decide(&mut self, run: &RunSoFar) -> Result<Option<NewCircuits>, SimError>;

    /// The network with its senders led to `receivers`, and how packets are routed on it.
    ///
    /// # Errors
    /// If the receivers are not those that a decision can name.
    fn network(&self, receivers: &[PortId]) -> Result<(Topology, AnyRouting), SimError>;

    /// How packets are routed while the circuits of some senders change: not by those, but where a
    /// router has no other way, which keeps packets for its circuits to come. Shape of `changing`:
    /// senders.
    ///
    /// # Errors
    /// As [`CircuitControl::network`].
    fn meanwhile(&self, receivers: &[PortId], changing: &[bool]) -> Result<AnyRouting, SimError>;

    /// What becomes of packets while the senders lead to `receivers`, where that depends on them;
    /// `None`: what the run's parameters say.
    ///
    /// # Errors
    /// As [`CircuitControl::network`].
    fn losses(&self, _receivers: &[PortId]) -> Result<Option<Losses>, SimError> {
        Ok(None)
    }

    /// What it has to remember of the run, for a checkpoint.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Remembers what [`CircuitControl::save`] gave.
    ///
    /// # Errors
    /// What is wrong with it.
    fn restore(&mut self, _saved: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// What a decision may depend on.
#[derive(Clone, Debug)]
pub struct RunSoFar {
    /// Everything before this time has happened, nothing at or after it.
    pub at: Picoseconds,
    /// Whether each job has begun and is not done.
    pub running: Vec<bool>,
}

/// Circuits that are to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCircuits {
    /// Where each sender leads, or [`DARK`]. Shape: senders.
    pub receivers: Vec<PortId>,
    /// How long the switches take once the circuits are empty.
    pub time: Picoseconds,
}
