//! A routing algorithm as the engine holds it.
//!
//! The simulation of a window is compiled once for every algorithm, with the algorithm's
//! decisions in place; everything else is compiled without knowing any. Between the two
//! stands one indirect call per window and partition.

use std::sync::Arc;

use odonata_network::Routing;
use odonata_network::routing::FlowLabels;
use odonata_units::RouterId;

use super::calendar::GroupedEvents;
use super::losses::Outages;
use super::message_routes::MessageRoutes;
use super::model::Model;
use super::partition::Partition;

/// What the engine asks of a routing algorithm; every [`Routing`] is one.
pub(super) trait Routed<M: Model>: Sync {
    /// See [`Routing::virtual_channels`].
    fn virtual_channels(&self) -> u8;

    /// See [`Routing::NEEDS_SNAPSHOT`].
    fn needs_snapshot(&self) -> bool;

    /// Whether the occupancy of ports has to be true at any moment.
    fn reads_occupancy(&self) -> bool;

    /// See [`Routing::RESERVES`].
    fn reserves(&self) -> bool;

    /// See [`Routing::reads_channels`].
    fn reads_channels(&self) -> bool;

    /// See [`Routing::flow_labels`].
    fn flow_labels(&self) -> Option<FlowLabels>;

    /// See [`Routing::LEARNS`].
    fn learns(&self) -> bool;

    /// See [`Routing::initial_q_table`].
    fn initial_q_table(&self, at: RouterId) -> Vec<f32>;

    /// See [`Partition::route_again`].
    fn route_again(&self, partition: &mut Partition<'_, M>, router: u32, slot: u32, now: u64);

    /// See [`Partition::simulate`].
    fn simulate(&self, partition: &mut Partition<'_, M>, window: u64, grouped: &mut GroupedEvents);
}

impl<R: Routing, M: Model> Routed<M> for R {
    fn virtual_channels(&self) -> u8 {
        Routing::virtual_channels(self)
    }

    fn needs_snapshot(&self) -> bool {
        R::NEEDS_SNAPSHOT
    }

    fn reads_occupancy(&self) -> bool {
        Routing::reads_occupancy(self) || R::NEEDS_SNAPSHOT
    }

    fn reserves(&self) -> bool {
        R::RESERVES
    }

    fn reads_channels(&self) -> bool {
        Routing::reads_channels(self)
    }

    fn flow_labels(&self) -> Option<FlowLabels> {
        Routing::flow_labels(self)
    }

    fn learns(&self) -> bool {
        R::LEARNS
    }

    fn initial_q_table(&self, at: RouterId) -> Vec<f32> {
        Routing::initial_q_table(self, at)
    }

    fn route_again(&self, partition: &mut Partition<'_, M>, router: u32, slot: u32, now: u64) {
        partition.route_again(self, router, slot, now);
    }

    fn simulate(&self, partition: &mut Partition<'_, M>, window: u64, grouped: &mut GroupedEvents) {
        partition.simulate(self, window, grouped);
    }
}

/// The algorithm by which a partition routes.
pub(super) enum Tables<'a, M: Model> {
    /// The algorithm of the run.
    Given(&'a dyn Routed<M>),
    /// The same for circuits that have changed since.
    Changed(Arc<dyn Routed<M> + Send>),
}

impl<M: Model> Clone for Tables<'_, M> {
    fn clone(&self) -> Self {
        match self {
            Self::Given(routing) => Self::Given(*routing),
            Self::Changed(routing) => Self::Changed(Arc::clone(routing)),
        }
    }
}

impl<M: Model> Tables<'_, M> {
    /// The algorithm.
    pub fn get(&self) -> &dyn Routed<M> {
        match self {
            Self::Given(routing) => *routing,
            Self::Changed(routing) => &**routing,
        }
    }
}

/// Occupancy of every port of the network at one moment, for algorithms that
/// are allowed to see it. Shape: ports.
pub(super) type Snapshot = [std::sync::atomic::AtomicU32];

/// The algorithm of a partition, and what it and the routers keep to decide by.
pub(super) struct RoutingState<'a, M: Model> {
    pub tables: Tables<'a, M>,
    /// Whether the occupancy of ports has to be true at any moment.
    pub reads_occupancy: bool,
    /// Whether anything is left to do for a router after its events of a window: where occupancy is
    /// read or packets can be lost.
    pub closes_routers: bool,
    /// Whether more follows from what is decided for a packet than where it waits.
    pub keeps_decisions: bool,
    /// When links are dark, by the circuits of the time.
    pub outages: Option<Arc<Outages>>,
    pub snapshot: &'a Snapshot,
    /// What the routing algorithm keeps for every router, if it learns. Shape:
    /// routers, or empty.
    pub q_tables: Vec<Box<[f32]>>,
    /// What routers have decided for the messages that pass them, if they decide
    /// per message.
    pub message_routes: Option<Box<MessageRoutes>>,
}
