//! Slurm's backfill scheduler: jobs in order of priority, each with its earliest start by
//! the time limits of running jobs; what starts later holds whole nodes until then.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::cluster::{Cluster, Filling, Maintenance};
use super::nodes::NodeSet;
use super::select::{Ask, Held};
use super::simulate::{Candidate, POLL, Simulation, whole_second};
use crate::Seconds;
use crate::batch::Started;

/// Nodes that no reservation holds, for a time.
#[derive(Clone, Debug)]
struct Piece {
    begin: i64,
    end: i64,
    free: NodeSet,
    /// Nodes of groups that no job with a reservation owns, by GRAP.
    unowned: NodeSet,
}

impl Piece {
    /// Nodes for a job; a large one, by GRAP, shares no group with another.
    fn nodes_for(&self, is_large: bool) -> Cow<'_, NodeSet> {
        let mut nodes = Cow::Borrowed(&self.free);
        if is_large {
            nodes.to_mut().keep(&self.unowned);
        }
        nodes
    }

    fn serves(&self, place: &Place) -> bool {
        self.free.covers(&place.nodes) && self.unowned.covers(&place.owned)
    }
}

/// What a reservation holds.
struct Place {
    nodes: NodeSet,
    /// Nodes of the groups that the job owns, by GRAP and if it is large.
    owned: NodeSet,
}

impl Place {
    fn of(cluster: &Cluster, held: &Held) -> Self {
        let all = cluster.nodes.len();
        Self {
            nodes: held.nodes(all),
            owned: match &cluster.filling {
                Filling::Grap(grap) => grap.nodes_of(&held.owned, all),
                Filling::Tightest | Filling::InTurn => NodeSet::none(all),
            },
        }
    }
}

/// A pass of the backfill scheduler; it may pause.
pub(super) struct Cycle {
    queue: Vec<Candidate>,
    at: usize,
    pieces: Vec<Piece>,
    started_at: i64,
    window_end: i64,
    /// Working time since the last pause, seconds.
    worked: f64,
    /// What had happened when the last pause began.
    changes: u64,
    tested: u32,
    started: u32,
    of_user: HashMap<u32, u32>,
    of_part: HashMap<usize, u32>,
    of_user_in_part: HashMap<(u32, usize), u32>,
    reserved_in_part: HashMap<usize, u32>,
    paused: bool,
}

/// What becomes of a job in a pass.
enum Outcome {
    Next,
    /// The pass ends.
    Enough,
}

impl Cycle {
    pub fn new(simulation: &Simulation<'_>, now: i64) -> Self {
        let parameters = Rc::clone(&simulation.parameters);
        let now = whole_second(now);
        let resolution = parameters.bf_resolution.max(1);
        let window_end = round_down(now + parameters.bf_window, resolution);
        let mut cycle = Self {
            queue: simulation.candidates(),
            at: 0,
            pieces: vec![Piece {
                begin: round_down(now, resolution),
                end: window_end,
                free: NodeSet::all(simulation.cluster.nodes.len()),
                unowned: NodeSet::all(simulation.cluster.nodes.len()),
            }],
            started_at: now,
            window_end,
            worked: 0.0,
            changes: simulation.changes,
            tested: 0,
            started: 0,
            of_user: HashMap::new(),
            of_part: HashMap::new(),
            of_user_in_part: HashMap::new(),
            reserved_in_part: HashMap::new(),
            paused: false,
        };
        let all = simulation.cluster.nodes.len();
        let ahead = |one: &&Maintenance| one.end.0.saturating_mul(1000) > now;
        for one in simulation.cluster.maintenance.iter().filter(ahead) {
            let place = Place {
                nodes: NodeSet::of(all, one.nodes.iter().map(|node| node.index())),
                owned: NodeSet::none(all),
            };
            let [begin, end] = [one.start, one.end].map(|at| at.0.saturating_mul(1000));
            let end = round_down(end.saturating_add(resolution - 1), resolution);
            cycle.reserve(round_down(begin, resolution), end, &place);
        }
        cycle
    }

    /// Goes on until the pass ends (`None`) or pauses (until when).
    pub fn go_on(&mut self, simulation: &mut Simulation<'_>, now: i64) -> Option<i64> {
        let parameters = Rc::clone(&simulation.parameters);
        if self.paused {
            self.paused = false;
            self.worked = 0.0;
            if simulation.changes != self.changes && !parameters.bf_continue {
                return None;
            }
        }
        while let Some(&candidate) = self.queue.get(self.at) {
            if self.tested >= parameters.bf_max_job_test
                || self.window_end < now
                || now - self.started_at >= parameters.bf_max_time
            {
                return None;
            }
            if self.worked >= parameters.bf_yield_interval {
                self.paused = true;
                self.changes = simulation.changes;
                let pause = self.worked + parameters.bf_yield_sleep;
                return Some(now + (pause.round() as i64).max(1));
            }
            self.at += 1;
            if let Outcome::Enough = self.test(simulation, candidate, now) {
                return None;
            }
        }
        None
    }

    /// Counts the job; `true` if its user's or its partition's share of the pass is over.
    fn over_its_share(&mut self, simulation: &Simulation<'_>, user: u32, part: usize) -> bool {
        let parameters = Rc::clone(&simulation.parameters);
        let over = |limit: u32, count: u32| limit > 0 && count >= limit;
        let counts = (
            self.of_user_in_part
                .get(&(user, part))
                .copied()
                .unwrap_or(0),
            self.of_part.get(&part).copied().unwrap_or(0),
            self.of_user.get(&user).copied().unwrap_or(0),
        );
        if over(parameters.bf_max_job_user_part, counts.0)
            || over(parameters.bf_max_job_part, counts.1)
            || over(parameters.bf_max_job_user, counts.2)
        {
            return true;
        }
        *self.of_user_in_part.entry((user, part)).or_default() += 1;
        *self.of_part.entry(part).or_default() += 1;
        *self.of_user.entry(user).or_default() += 1;
        false
    }

    fn test(&mut self, simulation: &mut Simulation<'_>, candidate: Candidate, at: i64) -> Outcome {
        let now = whole_second(at);
        if !simulation.queue.contains(&candidate.task) {
            return Outcome::Next;
        }
        let cluster = simulation.cluster;
        let parameters = Rc::clone(&simulation.parameters);
        let task = &simulation.tasks[candidate.task as usize];
        let option = &task.options[candidate.option];
        let (ask, part, limit) = (&*Arc::clone(&option.ask), option.partition, option.limit);
        let user = task.counted.user;
        if !cluster.partitions[part].up || !simulation.may_start(candidate) {
            return Outcome::Next;
        }
        if self.over_its_share(simulation, user, part) {
            return Outcome::Next;
        }
        let only_now = self.gets_no_reservation(simulation, candidate, now);
        let is_large = match &cluster.filling {
            Filling::Grap(grap) => grap.is_large(cluster, ask),
            Filling::Tightest | Filling::InTurn => false,
        };
        let resolution = parameters.bf_resolution.max(1);
        let mut counted = false;
        let mut next = Some(now);
        while let Some(from) = next.take() {
            if self.window_end < from {
                return Outcome::Next;
            }
            let (free, mut later) = self.free_over(from, from.max(now) + limit, is_large);
            let mut usable = simulation.part_nodes[part].clone();
            usable.keep(&free);
            if let Some(kept) = simulation.kept_out(from.max(now), from.max(now) + limit) {
                usable.drop_all(&kept);
            }
            usable.keep(&ask.considered);
            let has_required = ask.required.as_ref().is_none_or(|set| usable.covers(set));
            let fits = has_required && usable.len() >= ask.min_nodes as usize;
            let found = fits
                .then(|| {
                    if !counted {
                        self.tested += 1;
                        counted = true;
                    }
                    self.worked += parameters.seconds_per_test;
                    earliest(simulation, ask, &usable, now)
                })
                .flatten();
            let Some((start, place)) = found else {
                if !only_now {
                    next = later;
                }
                continue;
            };
            let start = start.max(from);
            if start <= now {
                if simulation.try_start(candidate, &usable, at, Started::Backfilled) {
                    return self.count_start(simulation, candidate, now);
                }
                later = None;
            }
            let begin = round_down(start, resolution);
            let end = round_down(start + limit, resolution);
            if start > now && self.overlaps(&place, begin, end) {
                // Slurm's plan of running jobs knows nothing of reservations.
                next = Some(if start == from {
                    start + resolution
                } else {
                    start
                });
                continue;
            }
            if only_now {
                return Outcome::Next;
            }
            if let Some(later) = later
                && start > later
            {
                next = Some(later);
                continue;
            }
            if start > self.started_at + parameters.bf_window {
                return Outcome::Next;
            }
            self.reserve(begin, end, &place);
            *self.reserved_in_part.entry(part).or_default() += 1;
            let row = &mut simulation.rows[candidate.task as usize];
            row.promised.get_or_insert(Seconds(start.div_euclid(1000)));
        }
        Outcome::Next
    }

    /// Whether the job may start now, or else waits without a reservation.
    fn gets_no_reservation(
        &self,
        simulation: &Simulation<'_>,
        candidate: Candidate,
        now: i64,
    ) -> bool {
        let parameters = &simulation.parameters;
        let task = &simulation.tasks[candidate.task as usize];
        let part = task.options[candidate.option].partition;
        let reserved = self.reserved_in_part.get(&part).copied().unwrap_or(0);
        simulation.priorities[candidate.task as usize] < parameters.bf_min_prio_reserve
            || now - whole_second(task.arrival) < parameters.bf_min_age_reserve
            || parameters.bf_job_part_count_reserve > 0
                && reserved >= parameters.bf_job_part_count_reserve
    }

    /// Counts a job that has just started.
    fn count_start(
        &mut self,
        simulation: &Simulation<'_>,
        candidate: Candidate,
        now: i64,
    ) -> Outcome {
        let parameters = &simulation.parameters;
        let option = &simulation.tasks[candidate.task as usize].options[candidate.option];
        let held = &simulation.running[&candidate.task].held;
        if option.ask.whole || !held.owned.is_empty() {
            // Such nodes, and no others, Slurm keeps out of the rest of the pass until the job's
            // limit; groups that the job owns are kept as well.
            let place = Place::of(simulation.cluster, held);
            let resolution = parameters.bf_resolution.max(1);
            let end = round_down(now + option.limit, resolution);
            self.reserve(round_down(now, resolution), end, &place);
        }
        self.started += 1;
        let most = parameters.bf_max_job_start;
        if most > 0 && self.started >= most {
            return Outcome::Enough;
        }
        Outcome::Next
    }

    /// Nodes that no reservation holds from `from` to `end`, and when to try again if they
    /// are not enough.
    fn free_over(&self, from: i64, end: i64, is_large: bool) -> (NodeSet, Option<i64>) {
        let mut free: Option<NodeSet> = None;
        for piece in &self.pieces {
            if piece.end > from && piece.begin <= end {
                match &mut free {
                    Some(free) => free.keep(&piece.nodes_for(is_large)),
                    None => free = Some(piece.nodes_for(is_large).into_owned()),
                }
            }
        }
        // Beyond the window nothing is reserved.
        let free = free.unwrap_or_else(|| {
            let mut all = self.pieces[0].free.clone();
            self.pieces.iter().for_each(|piece| all.add(&piece.free));
            all
        });
        let more = |piece: &&Piece| piece.begin > from && !free.covers(&piece.nodes_for(is_large));
        let later = self.pieces.iter().find(more).map(|piece| piece.begin);
        (free, later)
    }

    fn overlaps(&self, place: &Place, begin: i64, end: i64) -> bool {
        let meets = |piece: &&Piece| piece.end > begin && piece.begin < end;
        self.pieces
            .iter()
            .filter(meets)
            .any(|piece| !piece.serves(place))
    }

    fn reserve(&mut self, begin: i64, end: i64, place: &Place) {
        self.split(begin);
        self.split(end);
        for piece in &mut self.pieces {
            if piece.begin >= begin && piece.begin < end {
                piece.free.drop_all(&place.nodes);
                piece.unowned.drop_all(&place.owned);
            }
        }
    }

    fn split(&mut self, at: i64) {
        let inside = |piece: &Piece| piece.begin < at && at < piece.end;
        if let Some(index) = self.pieces.iter().position(inside) {
            let second = Piece {
                begin: at,
                ..self.pieces[index].clone()
            };
            self.pieces[index].end = at;
            self.pieces.insert(index + 1, second);
        }
    }
}

fn round_down(time: i64, resolution: i64) -> i64 {
    time.div_euclid(resolution) * resolution
}

/// When the job could start on these nodes by the limits of running jobs, and where.
/// Jobs are taken away in groups, soonest end first; the start is the end of a group's
/// last job. A group ends with a window of time: the first one 30 s behind the half minute
/// of the clock in which, or at whose beginning, the first job ends; each next one is
/// twice as long from there, or as often doubled as the next job needs. Slurm looks ahead,
/// to the next job of all, only from jobs that it takes away: behind one that has none of
/// these nodes the next that has belongs to the group, whenever it ends.
fn earliest(
    simulation: &Simulation<'_>,
    ask: &Ask,
    usable: &NodeSet,
    now: i64,
) -> Option<(i64, Place)> {
    const FIRST_WINDOW: i64 = 30_000;
    const MOST_AT_ONCE: usize = 200;
    let cluster: &Cluster = simulation.cluster;
    if let Some(held) = simulation.state.place(cluster, ask, usable) {
        return Some((now, Place::of(cluster, &held)));
    }
    let touches = |running: &super::simulate::Running| {
        let mut parts = running.held.parts.iter();
        !running.held.owned.is_empty() || parts.any(|part| usable.contains(part.node as usize))
    };
    let running = simulation.running.iter();
    let mut ends: Vec<(i64, u32)> = running.map(|(&task, one)| (one.believed, task)).collect();
    ends.sort_unstable();
    let mut state = simulation.state.clone();
    let mut window = FIRST_WINDOW;
    // From where windows count.
    let mut origin: Option<i64> = None;
    let mut ends = ends.into_iter().peekable();
    loop {
        // The end of the group's last job.
        let mut last: Option<i64> = None;
        let mut taken = 0;
        while let Some((end, task)) = ends.next() {
            let running = &simulation.running[&task];
            if !touches(running) {
                continue;
            }
            state.give_back(&running.held);
            last = Some(end);
            taken += 1;
            let from = *origin.get_or_insert(round_down(end, FIRST_WINDOW) + FIRST_WINDOW);
            let beyond = |&(next, _): &(i64, u32)| next > from + window;
            if taken > MOST_AT_ONCE || ends.peek().is_none_or(beyond) {
                break;
            }
        }
        let end = last?;
        window = window.saturating_mul(2);
        while let (Some(from), Some(&(next, _))) = (origin, ends.peek())
            && next > from.saturating_add(window)
        {
            window = window.saturating_mul(2);
        }
        if let Some(held) = state.place(cluster, ask, usable) {
            let start = if end > now {
                end
            } else {
                // It has outlived its limit: it is expected to be killed soon.
                let parameters = Rc::clone(&simulation.parameters);
                (end + parameters.over_time_limit + parameters.kill_wait).max(now + POLL)
            };
            return Some((start, Place::of(cluster, &held)));
        }
    }
}
