//! Small scenarios for the tests of this crate.

use crate::Scenario;
use crate::spec::{
    Dragonfly, Family, Job, Load, Motif, MotifKind, Network, Offered, Pattern, Sends, Traffic,
};

/// 72 nodes: 9 groups of 4 routers with 2 nodes.
pub fn dragonfly() -> Scenario {
    Scenario::new(Network::new(Family::Dragonfly(Dragonfly::new(2, 4, 2, 9))))
}

/// The same with jobs.
pub fn with_jobs(jobs: impl IntoIterator<Item = Job>) -> Scenario {
    let mut scenario = dragonfly();
    scenario.jobs = jobs.into_iter().collect();
    scenario
}

/// One iteration of a motif.
pub fn motif(kind: MotifKind) -> Load {
    Load::Motif(Motif {
        kind,
        iterations: 1,
        compute_ps: 0,
        traffic_class: None,
    })
}

/// An all-to-all of 1 kB messages.
pub fn all_to_all() -> Load {
    motif(MotifKind::AllToAll(crate::spec::AllToAll {
        message_bytes: 1_000,
        window: 1,
        sends: Sends::default(),
    }))
}

/// Poisson traffic of 64-byte messages.
pub fn traffic(pattern: Pattern, offered: Offered) -> Load {
    Load::Traffic(Traffic::new(pattern, 64, offered))
}
