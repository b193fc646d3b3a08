//! Traces are replayed: by the rules of matching alone, without a network.

#[path = "../../../traces/tests/shared/bytewise.rs"]
mod bytewise;
mod chakra;
mod damage;
mod executor;
mod job;
mod liballprof;
mod made;
mod one_rank;
mod real;
mod regions;
mod schedules;
