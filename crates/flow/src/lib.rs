//! The flow engine, the simulation room's second one: messages are flows that
//! share links max-min fairly, not packets. Takes the same topologies, routing
//! algorithms and job plans as the packet engine and measures what a flow has.

pub mod demands;
pub mod routes;
mod run;
pub mod share;
pub mod transfers;

pub use routes::{Delays, LinkNumbers, RouteError, Routes, WeightedPath};
pub use run::{FlowConfig, FlowError, run};
pub use share::{FairShare, FlowId, LinkId, Use};
pub use transfers::{TransferId, Transfers};
