//! Traces are replayed: by the rules of matching alone, without a network.

mod damage;
mod executor;
mod job;
mod made;
mod real;
mod schedules;
