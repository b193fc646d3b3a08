//! Nodes that go out of service and come back: as listed, or drawn over time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use odonata_units::NodeId;
use odonata_units::random::{Purpose, StreamKey};
use thiserror::Error;

use crate::Seconds;

/// How often a job is put back into the queue at most: one that is lost as often would hardly ever
/// get through.
pub const MOST_REQUEUES: usize = 1000;

/// How many failures and repairs of nodes a queue is left to wait through on which nothing runs
/// and to which nothing comes.
pub(crate) const MOST_IDLE_CHANGES: u32 = 100_000;

/// Nodes that fail together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Which.
    pub nodes: Vec<NodeId>,
    /// When they fail.
    pub at: Seconds,
    /// When they work again; `None`: never.
    pub until: Option<Seconds>,
}

/// Failures that are drawn: every node works and fails for exponentially distributed times in turn,
/// from the first submission on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breakdowns {
    /// Mean time between a repair and the next failure, seconds.
    pub mtbf_s: f64,
    /// Mean time to repair, seconds; `None`: what fails stays out of service.
    pub repair_s: Option<f64>,
    /// Nodes of successive numbers that fail together, as those of a switch.
    pub together: u32,
    /// Seed of the times.
    pub seed: u64,
}

/// What goes out of service during a schedule, and what becomes of jobs that run there.
#[derive(Clone, Debug, PartialEq)]
pub struct Outages {
    /// Nodes and times that are given.
    pub listed: Vec<Outage>,
    /// Nodes and times that are drawn besides.
    pub drawn: Option<Breakdowns>,
    /// Whether jobs that a failure ends go back into the queue (Slurm's `JobRequeue`).
    pub requeue: bool,
}

impl Default for Outages {
    fn default() -> Self {
        Self {
            listed: Vec::new(),
            drawn: None,
            requeue: true,
        }
    }
}

/// Outages that cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OutageError {
    /// Nothing fails.
    #[error("outage[{entry}]: names no nodes; give at least one")]
    NoNodes {
        /// Which of the list, from 0.
        entry: usize,
    },
    /// A node that does not exist.
    #[error("outage[{entry}]: there is no node {node}; jobs may have {nodes}")]
    NoSuchNode {
        /// Which of the list, from 0.
        entry: usize,
        /// The node.
        node: NodeId,
        /// The nodes that there are, in words.
        nodes: String,
    },
    /// A repair before the failure.
    #[error("outage[{entry}]: lasts from {at} to {until}; its end must lie after its start")]
    Ends {
        /// Which of the list, from 0.
        entry: usize,
        /// When it begins.
        at: Seconds,
        /// When it ends.
        until: Seconds,
    },
    /// A node that fails while it is out of service.
    #[error(
        "outage[{other}]: node {node} fails at {at}, but is out of service {until} (outage[{entry}]); \
         make one entry of both, or let them follow each other"
    )]
    Overlap {
        /// The node.
        node: NodeId,
        /// The first one.
        entry: usize,
        /// The one that begins before the first one ends.
        other: usize,
        /// When that begins.
        at: Seconds,
        /// Until when the first lasts, in words.
        until: String,
    },
    /// A mean time of nothing.
    #[error("{key} is {found} s; allowed: 1 s and more")]
    Mean {
        /// Which mean.
        key: &'static str,
        /// What was given.
        found: f64,
    },
    /// Nothing fails together.
    #[error("0 nodes fail together; allowed: 1 and more")]
    Together,
}

impl Outages {
    /// Whether nothing ever fails.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.drawn.is_none()
    }

    /// Whether this can be, on these nodes.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn check(&self, nodes: &[NodeId]) -> Result<(), OutageError> {
        let mut of_node: BTreeMap<NodeId, Vec<(Seconds, Option<Seconds>, usize)>> = BTreeMap::new();
        for (entry, outage) in self.listed.iter().enumerate() {
            let &Outage { at, until, .. } = outage;
            if outage.nodes.is_empty() {
                return Err(OutageError::NoNodes { entry });
            }
            if let Some(until) = until.filter(|&until| until <= at) {
                return Err(OutageError::Ends { entry, at, until });
            }
            for &node in &outage.nodes {
                if nodes.binary_search(&node).is_err() {
                    let nodes = in_words(nodes);
                    return Err(OutageError::NoSuchNode { entry, node, nodes });
                }
                of_node.entry(node).or_default().push((at, until, entry));
            }
        }
        for (node, mut times) in of_node {
            times.sort_unstable();
            for two in times.windows(2) {
                let ((_, until, entry), (at, _, other)) = (two[0], two[1]);
                if until.is_none_or(|until| until > at) {
                    let until = until.map_or("for ever".into(), |until| format!("until {until}"));
                    return Err(OutageError::Overlap {
                        node,
                        entry,
                        other,
                        at,
                        until,
                    });
                }
            }
        }
        if let Some(drawn) = &self.drawn {
            let means = [("mtbf", Some(drawn.mtbf_s)), ("repair", drawn.repair_s)];
            for (key, mean) in means {
                if let Some(found) = mean.filter(|mean| !(1.0..=1e15).contains(mean)) {
                    return Err(OutageError::Mean { key, found });
                }
            }
            if drawn.together == 0 {
                return Err(OutageError::Together);
            }
        }
        Ok(())
    }
}

/// Numbers of nodes, ascending, as people write them: `0-3, 5`.
pub fn in_words(nodes: &[NodeId]) -> String {
    odonata_placement::ranges(nodes.iter().map(|node| node.0))
}

/// Nodes that fail together, and the times that are drawn for them.
struct Unit {
    nodes: Vec<NodeId>,
    /// By draws: which stream, how many draws it has had, and the exact time of the last one, seconds.
    drawn: Option<(u64, u32, f64)>,
    /// When it works again, if that is listed; of a unit that is drawn, `None`.
    until: Option<i64>,
}

/// What changes at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Nodes that work again.
    pub back: Vec<NodeId>,
    /// Nodes that fail.
    pub out: Vec<NodeId>,
    /// Nodes that will never work again.
    pub for_ever: Vec<NodeId>,
}

/// When what fails and works again, as a simulation goes through it. Times are in parts of a second.
pub(crate) struct Calendar {
    units: Vec<Unit>,
    /// What comes: time, whether a unit fails, which.
    to_come: BinaryHeap<Reverse<(i64, bool, usize)>>,
    means: Option<(StreamKey, f64, Option<f64>)>,
    /// How many parts a second has.
    parts: i64,
    /// By number: how many outages a node is in.
    within: Vec<u32>,
    /// By number: whether it will never work again.
    lost: Vec<bool>,
}

impl Calendar {
    /// A calendar of outages that have been [checked](Outages::check), on these nodes, ascending, from a time on
    /// that counts `parts` of a second.
    pub fn new(outages: &Outages, nodes: &[NodeId], from: i64, parts: i64) -> Self {
        let size = nodes.last().map_or(0, |last| last.index() + 1);
        let mut calendar = Self {
            units: Vec::new(),
            to_come: BinaryHeap::new(),
            means: None,
            parts,
            within: vec![0; size],
            lost: vec![false; size],
        };
        for outage in &outages.listed {
            let time = |at: Seconds| at.0.saturating_mul(parts);
            let unit = Unit {
                nodes: outage.nodes.clone(),
                drawn: None,
                until: outage.until.map(time),
            };
            calendar.plan(time(outage.at), true, unit);
        }
        if let Some(drawn) = outages.drawn {
            let key = StreamKey::new(drawn.seed, Purpose::Failures);
            calendar.means = Some((key, drawn.mtbf_s, drawn.repair_s));
            for (entity, together) in (0u64..).zip(nodes.chunks(drawn.together.max(1) as usize)) {
                let mut unit = Unit {
                    nodes: together.to_vec(),
                    drawn: Some((entity, 0, from as f64 / parts as f64)),
                    until: None,
                };
                let at = calendar.draw(&mut unit, from, true);
                if let Some(at) = at {
                    calendar.plan(at, true, unit);
                }
            }
        }
        calendar
    }

    fn plan(&mut self, at: i64, fails: bool, unit: Unit) {
        self.to_come.push(Reverse((at, fails, self.units.len())));
        self.units.push(unit);
    }

    /// When a unit that has changed at `now` changes next; `None`: never.
    fn draw(&self, unit: &mut Unit, now: i64, fails: bool) -> Option<i64> {
        let (key, mtbf, repair) = self.means?;
        let (entity, draws, exactly) = unit.drawn.as_mut()?;
        let mean = if fails { mtbf } else { repair? };
        *exactly += -key.unit(*entity, *draws).ln() * mean;
        *draws = draws.checked_add(1)?;
        let at = (*exactly * self.parts as f64).round();
        (at < Seconds::LIMIT.0 as f64).then(|| (at as i64).max(now + 1))
    }

    /// When something fails or works again next.
    pub fn next(&self) -> Option<i64> {
        self.to_come.peek().map(|Reverse((at, ..))| *at)
    }

    /// What changes up to `now`.
    pub fn take(&mut self, now: i64) -> Changes {
        let mut touched: BTreeMap<NodeId, bool> = BTreeMap::new();
        let mut changes = Changes::default();
        while let Some(&Reverse((at, fails, number))) = self.to_come.peek()
            && at <= now
        {
            self.to_come.pop();
            let mut unit = std::mem::replace(
                &mut self.units[number],
                Unit {
                    nodes: Vec::new(),
                    drawn: None,
                    until: None,
                },
            );
            let next = match unit.drawn {
                None => unit.until.filter(|_| fails),
                Some(_) => self.draw(&mut unit, at, !fails),
            };
            for &node in &unit.nodes {
                let within = &mut self.within[node.index()];
                touched.entry(node).or_insert(*within > 0);
                match fails {
                    true => *within += 1,
                    false => *within -= 1,
                }
                let lost = fails && next.is_none();
                if lost && !std::mem::replace(&mut self.lost[node.index()], true) {
                    changes.for_ever.push(node);
                }
            }
            self.units[number] = unit;
            if let Some(next) = next {
                self.to_come.push(Reverse((next, !fails, number)));
            }
        }
        for (node, was_out) in touched {
            match (was_out, self.within[node.index()] > 0) {
                (false, true) => changes.out.push(node),
                (true, false) => changes.back.push(node),
                _ => {}
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(numbers: impl IntoIterator<Item = u32>) -> Vec<NodeId> {
        numbers.into_iter().map(NodeId).collect()
    }

    fn listed(entries: &[(&[u32], i64, Option<i64>)]) -> Outages {
        let outage = |&(of, at, until): &(&[u32], i64, Option<i64>)| Outage {
            nodes: nodes(of.iter().copied()),
            at: Seconds(at),
            until: until.map(Seconds),
        };
        Outages {
            listed: entries.iter().map(outage).collect(),
            ..Outages::default()
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        let said = |entries: &[(&[u32], i64, Option<i64>)]| {
            let checked = listed(entries).check(&nodes(0..8));
            checked.map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(said(&[(&[7], 5, Some(9)), (&[7, 0], 9, None)]), "");
        assert!(said(&[(&[8], 5, None)]).contains("there is no node 8; jobs may have 0-7"));
        assert!(said(&[(&[1], 5, Some(5))]).contains("lasts from 5 s to 5 s"));
        assert!(said(&[(&[], 5, None)]).contains("names no nodes"));
        let twice = said(&[(&[3], 10, None), (&[2, 3], 5, Some(11))]);
        assert!(twice.contains("outage[0]: node 3 fails at 10 s"), "{twice}");
        assert!(said(&[(&[3], 1, None), (&[3], 5, None)]).contains("for ever"));
        for (mtbf_s, together, word) in
            [(0.0, 1, "mtbf"), (f64::NAN, 1, "mtbf"), (5.0, 0, "0 nodes")]
        {
            let drawn = Breakdowns {
                mtbf_s,
                repair_s: None,
                together,
                seed: 1,
            };
            let outages = Outages {
                drawn: Some(drawn),
                ..Outages::default()
            };
            let error = outages.check(&nodes(0..8)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_calendar_goes_through_what_is_listed() {
        let outages = listed(&[(&[1, 2], 5, Some(9)), (&[2], 9, None), (&[4], 7, Some(8))]);
        let mut calendar = Calendar::new(&outages, &nodes(0..5), 0, 10);
        let mut seen = Vec::new();
        while let Some(at) = calendar.next() {
            let Changes {
                back,
                out,
                for_ever,
            } = calendar.take(at);
            seen.push((at, back, out, for_ever));
        }
        // Node 2 fails as it would come back: it never does.
        let expected = [
            (50, vec![], vec![1, 2], vec![]),
            (70, vec![], vec![4], vec![]),
            (80, vec![4], vec![], vec![]),
            (90, vec![1], vec![], vec![2]),
        ];
        let expected =
            expected.map(|(at, back, out, lost)| (at, nodes(back), nodes(out), nodes(lost)));
        assert_eq!(seen, expected);
    }

    #[test]
    fn drawn_times_have_their_means() {
        // Two chassis of 3 nodes and one of 2, an hour up and ten minutes down on average: the mean of
        // n exponential times is off by more than 4/√n of it in one of 16,000 cases.
        let drawn = Breakdowns {
            mtbf_s: 3600.0,
            repair_s: Some(600.0),
            together: 3,
            seed: 7,
        };
        let outages = Outages {
            drawn: Some(drawn),
            ..Outages::default()
        };
        outages.check(&nodes(0..8)).unwrap();
        let mut calendar = Calendar::new(&outages, &nodes(0..8), 0, 1);
        let (mut since, mut up, mut down) = ([0i64; 8], Vec::new(), Vec::new());
        while up.len() < 30_000 {
            let at = calendar.next().unwrap();
            let changes = calendar.take(at);
            for (changed, times) in [(changes.out, &mut up), (changes.back, &mut down)] {
                // Several may change in the same second.
                for unit in changed.chunk_by(|one, next| one.0 / 3 == next.0 / 3) {
                    let first = unit[0];
                    let all = nodes(first.0..(first.0 + 3).min(8));
                    assert!(first.0 % 3 == 0 && unit == all, "{changed:?}");
                    times.push((at - since[first.index()]) as f64);
                    since[first.index()] = at;
                }
            }
        }
        for (times, mean) in [(up, 3600.0), (down, 600.0)] {
            let count = times.len() as f64;
            let found = times.iter().sum::<f64>() / count;
            assert!((found / mean - 1.0).abs() < 4.0 / count.sqrt(), "{found}");
        }
    }
}
