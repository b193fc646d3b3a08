//! Networks behind the scheduler's trait that have something to tell afterwards.

use odonata_scheduler::batch::{AsLogged, Network};
use serde_json::Value;

/// A level of the network, with something to tell afterwards.
pub(crate) trait Level: Network {
    /// What it has to tell, or null.
    fn report(&self) -> Value {
        Value::Null
    }
}

impl Level for AsLogged {}
