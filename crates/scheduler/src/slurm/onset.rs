//! A cluster in use, from which a simulation goes on.

use std::collections::{BTreeMap, BTreeSet};

use super::jobs::Tasks;

/// The moment at which a cluster was looked at: what runs then, and what is known more precisely
/// than in whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Onset {
    /// The moment, ms since 1970; nothing comes or starts before it.
    pub at: i64,
    /// The second in which backfill began its last pass.
    pub backfilled: Option<i64>,
    /// By id, of jobs that run then, on the nodes that they ask for: since when, ms.
    pub running: BTreeMap<String, i64>,
    /// By id: how long jobs run, ms.
    pub runs: BTreeMap<String, i64>,
    /// Names of nodes that no job gets any more; those that run there go on.
    pub out: BTreeSet<String>,
}

impl Onset {
    /// Lets jobs come at the moment and run as long as is known; of each, since when it runs.
    pub(super) fn apply<'a>(
        &self,
        tasks: &mut Tasks,
        ids: impl Iterator<Item = &'a str>,
    ) -> Vec<Option<i64>> {
        let of = |(task, id): (&mut super::jobs::Task, &str)| {
            task.arrival = self.at;
            if let Some(&run) = self.runs.get(id) {
                // A job that its limit ends still runs no longer.
                task.run = if task.killed { task.run.min(run) } else { run };
            }
            self.running.get(id).copied()
        };
        tasks.tasks.iter_mut().zip(ids).map(of).collect()
    }
}
