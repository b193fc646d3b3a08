//! The placement room: which nodes a job gets ([`place`]) and which of its ranks
//! sits on which of them ([`map_ranks`], and [`optimise_mapping`] where it is
//! known who sends how much to whom). Knows nothing of traffic or time, and of the
//! network only which router a node is attached to and which group a router belongs to
//! ([`Machine`]), and what bandwidth and distance lie between routers
//! ([`JobNetwork`]).
//!
//! Both decisions are pure functions of what they are given and of a random
//! stream, so that the simulator and a live cluster take the same ones.

pub mod grap;
mod machine;
mod mapping;
mod policy;
mod state;

pub use machine::{Machine, MachineError};
pub use mapping::{
    Distances, JobNetwork, Mapping, MappingError, MappingPolicy, Objective, Optimisation, Places,
    Routes, RoutesBuilder, Start, map_ranks, nodes_needed, optimise_mapping,
};
pub use policy::{Policy, Refusal, Request, place, ranges};
pub use state::{ClaimError, MachineState, ReleaseError};
