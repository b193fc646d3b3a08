//! Every algorithm, carried out: it comes to an end whether sends are buffered
//! or synchronous, every message meets its receive, and every byte gets where it
//! should with the contributions that it should have.

mod data_flow;
mod executor;
