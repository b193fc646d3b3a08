//! What a run is compiled for.

use std::marker::PhantomData;

use super::probe::Probe;
use super::protocol::{NoProtocol, Protocol};
use super::scheduler::{Arbiter, Scheduler};
use super::switch::Switch;

/// The parts of an engine that are chosen per run and that its hot path calls: a type
/// parameter, so that a run has code for its own parts alone.
pub(super) trait Model: Sized + Send {
    /// What sees packets at links.
    type Probe: Probe;
    /// What is between the routing of a packet and its link.
    type Switch: Switch;
    /// When nodes may send.
    type Protocol: Protocol;
    /// Which virtual channel of a link sends next.
    type Scheduler: Scheduler;
}

/// The model of these parts.
pub(super) struct Of<P, S, E = NoProtocol, C = Arbiter>(PhantomData<(P, S, E, C)>);

impl<P: Probe, S: Switch, E: Protocol, C: Scheduler> Model for Of<P, S, E, C> {
    type Probe = P;
    type Switch = S;
    type Protocol = E;
    type Scheduler = C;
}
