//! Jobs that could start and are held while the network is busy.

use std::collections::{BTreeSet, HashMap};

use super::options::Hold;
use crate::Seconds;

/// Who is held, and who was.
#[derive(Default)]
pub(super) struct Held {
    /// When each task could first have started.
    since: HashMap<u32, Seconds>,
    /// When tasks that wait are held no longer.
    until: BTreeSet<(Seconds, u32)>,
    /// Tasks that this pass has found to be held, which are not in the queue until it ends.
    pub(super) now: Vec<u32>,
}

impl Held {
    /// When a task that was held could first have started.
    pub(super) fn since(&self, task: u32) -> Option<Seconds> {
        self.since.get(&task).copied()
    }

    /// A task that could have started first at `since` is held, until then at most.
    pub(super) fn hold(&mut self, task: u32, since: Seconds, until: Seconds) {
        self.since.insert(task, since);
        self.until.insert((until, task));
        self.now.push(task);
    }

    /// When a task is held no longer, next.
    pub(super) fn next(&self) -> Option<Seconds> {
        self.until.first().map(|&(until, _)| until)
    }

    /// Forgets the times up to `now`, and says whether there was one.
    pub(super) fn pass(&mut self, now: Seconds) -> bool {
        let mut any = false;
        while self.next().is_some_and(|until| until <= now) {
            self.until.pop_first();
            any = true;
        }
        any
    }

    /// A task starts: how long after it first could have, if it was held.
    pub(super) fn starts(&mut self, task: u32, hold: Hold, now: Seconds) -> Option<Seconds> {
        let since = self.since(task)?;
        self.until.remove(&(since + hold.at_most, task));
        Some(now - since)
    }
}
