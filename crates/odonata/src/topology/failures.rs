//! From `[failures]` to a network in which something does not work.

use odonata_network::Topology;
use odonata_network::topology::FailureError;
use odonata_network::topology::failures::Entry;

use crate::error::SpecError;
use crate::spec::{Failures, Family, Network};

/// `whole` with what fails in `network`.
///
/// # Errors
/// If a part does not exist or fails twice, or nothing would be left; the path names the entry.
pub(super) fn damaged(whole: Topology, network: &Network) -> Result<Topology, SpecError> {
    let listed = network.failures.listed();
    if network.failures == Failures::default() {
        return Ok(whole);
    }
    if listed.is_empty() {
        let message =
            "nothing fails: give `links`, `routers`, `nodes` or `draw`, or remove the table";
        return Err(SpecError::new("failures", message));
    }
    if has_circuits(&network.topology) {
        let message = "parts of a network whose circuits optical switches set cannot fail: remove the \
                       table, or take a network without `optical` or circuits";
        return Err(SpecError::new("failures", message));
    }
    let (damaged, _) = listed.of(whole).map_err(|error| at_its_key(&error))?;
    Ok(damaged)
}

fn has_circuits(family: &Family) -> bool {
    match family {
        Family::ReconfigurableDragonfly(_) => true,
        Family::FatTree(tree) => tree.optical.is_some(),
        _ => false,
    }
}

fn at_its_key(error: &FailureError) -> SpecError {
    let path = match error.entry {
        Entry::Links(index) => format!("failures.links[{index}]"),
        Entry::Routers(_) => "failures.routers".into(),
        Entry::Nodes(_) => "failures.nodes".into(),
        Entry::Drawn(index) => format!("failures.draw[{index}]"),
        Entry::All => "failures".into(),
    };
    SpecError::new(path, error.message.clone())
}
