//! The profile against a list of all moments.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const HORIZON: i64 = 300;
const SIZE: i64 = 40;

/// What the profile should hold: of each job beginning, unless it runs, end and nodes.
#[derive(Default)]
struct Known {
    now: i64,
    jobs: BTreeMap<u32, (Option<i64>, i64, u32)>,
}

impl Known {
    /// Free nodes of every moment from 0 on.
    fn free(&self) -> Vec<i64> {
        let mut free = vec![SIZE; 3 * HORIZON as usize];
        for &(begin, end, nodes) in self.jobs.values() {
            for value in &mut free[begin.unwrap_or(0) as usize..end as usize] {
                *value -= i64::from(nodes);
            }
        }
        free
    }

    /// One change, of the kind `what`, to both.
    fn change(&mut self, profile: &mut Profile, what: u8, job: u32, at: i64, seconds: i64) {
        let at = at.max(self.now);
        let nodes = 1 + job % 13;
        let end_of = |at: i64| Moment(at).end_of(Seconds(seconds)).0;
        match (self.jobs.get(&job).copied(), what) {
            (None, 0) => {
                profile.insert_running(job, nodes, Moment(at));
                self.jobs.insert(job, (None, at, nodes));
            }
            (None, _) => {
                profile.insert(job, nodes, Moment(at), Moment(end_of(at)));
                self.jobs.insert(job, (Some(at), end_of(at), nodes));
            }
            (Some(_), 0) => {
                profile.remove(job);
                self.jobs.remove(&job);
            }
            (Some((None, ..)), _) => {
                profile.set_end(job, Moment(at));
                self.jobs.insert(job, (None, at, nodes));
            }
            (Some((Some(begin), ..)), 1) if begin == self.now => {
                profile.start(job, Moment(at));
                self.jobs.insert(job, (None, at, nodes));
            }
            (Some((Some(begin), end, _)), _) => {
                // Moves keep the length.
                let duration = Moment(end).second() - Moment(begin).second();
                let end = Moment(at).end_of(duration);
                profile.shift(job, Moment(at), end);
                self.jobs.insert(job, (Some(at), end.0, nodes));
            }
        }
    }
}

/// A profile after random changes.
fn changed(changes: &[(u8, u32, i64, i64)], now: i64) -> (Profile, Known) {
    let (mut profile, mut known) = (Profile::new(Moment(0), SIZE, 80), Known::default());
    let half = changes.len() / 2;
    for &(what, job, at, seconds) in &changes[..half] {
        known.change(&mut profile, what, job, at.max(now), seconds);
    }
    // Whatever lies before the new beginning has gone.
    profile.advance(Moment(now));
    known.now = now;
    // Other numbers and back: the same places.
    let there: Vec<u32> = (0..80).map(|job| 2 * (79 - job)).collect();
    let back: Vec<u32> = (0..160).map(|number| 79 - number / 2).collect();
    profile.renumber(&there, 160);
    profile.renumber(&back, 80);
    for &(what, job, at, seconds) in &changes[half..] {
        known.change(&mut profile, what, job, at, seconds);
    }
    (profile, known)
}

fn any_changes() -> impl Strategy<Value = Vec<(u8, u32, i64, i64)>> {
    prop::collection::vec((0u8..6, 0u32..80, 0..HORIZON, 1i64..40), 1..250)
}

proptest! {
    /// Free nodes, order and blocks are right after any changes, and what blocks are known
    /// for is a bound.
    #[test]
    fn profile_is_a_list_of_moments(changes in any_changes(), now in 0i64..20) {
        let (mut profile, known) = changed(&changes, now);
        let free = known.free();
        for at in now..free.len() as i64 {
            let edge = profile.find(Moment(at));
            prop_assert_eq!(profile.side(edge).free, free[at as usize]);
        }
        let (mut edge, mut edges) = (NOW, 0);
        for (rank, &block) in profile.order.iter().enumerate() {
            let Block { first, edges: count, most, .. } = profile.blocks[block as usize];
            prop_assert_eq!(profile.rank_of(block), rank);
            prop_assert_eq!(first, edge);
            prop_assert!((1..=BLOCK).contains(&count));
            let shortest = profile.shortest.from(rank);
            for _ in 0..count {
                let side = *profile.side(edge);
                prop_assert_eq!(side.block, block);
                prop_assert!(side.at <= profile.at(side.after));
                prop_assert!(side.at == profile.at(side.after) || side.free <= most);
                if Profile::begins(edge) {
                    let (class, length) = profile.shape(edge);
                    prop_assert!(shortest[class] <= length);
                }
                (edge, edges) = (side.after, edges + 1);
            }
        }
        prop_assert_eq!(edge, END);
        let sides = known.jobs.values().map(|job| 1 + usize::from(job.0.is_some()));
        prop_assert_eq!(edges, 1 + sides.sum::<usize>());
        let negative = free[now as usize..].iter().any(|&free| free < 0);
        prop_assert_eq!(profile.is_overtaken(), negative);
        let mut begins: Vec<i64> = known.jobs.values().filter_map(|job| job.0).collect();
        begins.sort_unstable();
        let listed: Vec<i64> = profile.before(Moment::NEVER).map(|(at, _)| at.0).collect();
        prop_assert_eq!(listed, begins);
        profile.clear(Moment(now), SIZE);
        prop_assert!((0..80).all(|job| profile.end(job).is_none()));
    }

    /// Places and gaps are those that a search through all moments finds.
    #[test]
    fn searches_find_the_first_moment(
        changes in any_changes(),
        now in 0i64..20,
        searches in prop::collection::vec((0..HORIZON, 1i64..SIZE, 0..HORIZON, 0..HORIZON, 1i64..60), 1..20),
    ) {
        let (mut profile, known) = changed(&changes, now);
        let free = known.free();
        for (from, nodes, before, own, seconds) in searches {
            let from = from.max(now);
            let own = own.max(before);
            let end = |at: i64| Moment(at).end_of(Seconds(seconds)).0.min(own);
            let fits = |at: &i64| (*at..end(*at)).all(|at| free[at as usize] >= nodes);
            let found = profile.earliest(Moment(from), nodes, Moment(before), Moment(own), Seconds(seconds));
            prop_assert_eq!(found, (from..before).find(fits).map(Moment));
        }
        for (&job, &(begin, _, nodes)) in &known.jobs {
            let Some(begin) = begin else { continue };
            let is_free = |at: &i64| free[*at as usize] >= i64::from(nodes);
            let first = (now..begin).rev().take_while(is_free).last();
            prop_assert_eq!(profile.gap_before(job), first.map(Moment));
        }
    }

    /// Everybody is told of who fits into a gap that a time which has become free belongs to,
    /// and did not fit there before.
    #[test]
    fn who_fits_into_a_gap_is_told(
        changes in any_changes(),
        now in 0i64..20,
        from in 0..HORIZON, length in 1i64..60, nodes in 1i64..13,
    ) {
        let (mut profile, known) = changed(&changes, now);
        let free = known.free();
        let (from, to) = (from.max(now), from.max(now) + length);
        let (mut behind, mut fitting) = (Vec::new(), Vec::new());
        if let Some(freed) = profile.freed(Moment(from), Moment(to), nodes) {
            profile.behind(&freed, &mut |job| behind.push(job));
            profile.fitting(&freed, &mut |job, gap| fitting.push((job, gap)));
        }
        let freed = &free[from as usize..to as usize];
        let (least, most) = (freed.iter().min().unwrap() - nodes, *freed.iter().max().unwrap());
        for (&job, &(begin, end, nodes)) in &known.jobs {
            let (Some(begin), nodes) = (begin, i64::from(nodes)) else { continue };
            if nodes > most || nodes <= least {
                continue;
            }
            prop_assert!(begin <= from || begin > to || behind.contains(&job));
            let duration = Moment(end).second() - Moment(begin).second();
            let is_free = |at: i64| free.get(at as usize).is_some_and(|&free| free >= nodes);
            for at in now..to {
                let begins = is_free(at) && (at == now || !is_free(at - 1));
                let until = (at..).find(|&at| !is_free(at)).unwrap();
                let fits = Moment(at).end_of(duration).0 <= until.min(begin);
                if begins && until > from && fits {
                    let tells = |&(other, gap): &(u32, (Moment, Moment))| {
                        other == job && gap.0 <= Moment(at) && Moment(at) < gap.1
                    };
                    prop_assert!(fitting.iter().any(tells), "job {} at {}", job, at);
                }
            }
        }
    }
}
