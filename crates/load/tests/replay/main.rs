//! Traces are replayed: by the rules of matching alone, without a network.

mod executor;
mod real;
