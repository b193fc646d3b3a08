//! Proof that a routing algorithm cannot deadlock on a network.

#[allow(dead_code, reason = "the walk over routes will use the rest")]
pub(crate) mod dependency;
