//! What iterations that were passed over would have brought.

use odonata_network::Topology;
use odonata_run::{
    Activity, Histogram, JobLoad, JobOutcome, JobPlan, LinkOutcome, Outcome, RankTimes, Ratio,
    Timeline,
};
use odonata_units::{Picoseconds, PortId};

/// Iterations of one job that were passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedIterations {
    /// Number of the job.
    pub job: usize,
    /// The first of them.
    pub first: u32,
    /// How many.
    pub iterations: u32,
    /// Iterations before them that they are taken to repeat.
    pub(super) cycle: u32,
    /// Time that those took, in ps.
    pub(super) cycle_time: u64,
}

/// A time that was passed over.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// Where on the engine's clock, which does not see it.
    pub(super) at: Picoseconds,
    /// When it began.
    pub from: Picoseconds,
    /// How long it is.
    pub time: Picoseconds,
    /// Whether all that is counted was found to repeat to the last byte and picosecond.
    pub exact: bool,
    /// Half the width of the 95 % confidence interval of the mean time of an iteration, as a share
    /// of the mean, of the job where it is widest.
    pub time_error: f64,
    /// The same of the load of a link, as a share of the load of the busiest.
    pub link_error: f64,
    /// The jobs that ran.
    pub jobs: Vec<SkippedIterations>,
    /// All that was counted at the begin and at the end of what it repeats.
    pub(super) before: Box<Outcome>,
    pub(super) after: Box<Outcome>,
}

/// Whether all that is counted grew by the same from `first` to `second` as from there to `third`.
pub(super) fn grew_alike(
    first: &Outcome,
    second: &Outcome,
    third: &Outcome,
    plans: &[JobPlan],
) -> bool {
    // What `third` is if it did.
    let span = second.end.0 - first.end.0;
    let skipped = Skipped {
        at: second.end,
        from: second.end,
        time: Picoseconds(span),
        exact: true,
        time_error: 0.0,
        link_error: 0.0,
        jobs: Vec::new(),
        before: Box::new(first.clone()),
        after: Box::new(second.clone()),
    };
    let mut expected = second.clone();
    skipped.count(&mut expected, plans);
    let alike = |(one, other): (&JobOutcome, &JobOutcome)| {
        let plain = |job: &JobOutcome| JobOutcome {
            iteration_end: Vec::new(),
            end: None,
            ..job.clone()
        };
        plain(one) == plain(other)
    };
    let links = |one: &[LinkOutcome], other: &[LinkOutcome]| {
        let counts = |link: &LinkOutcome| (link.bytes, link.packets, link.stall_ps);
        one.iter().map(counts).eq(other.iter().map(counts))
    };
    expected.jobs.iter().zip(&third.jobs).all(alike)
        && links(&expected.ports, &third.ports)
        && links(&expected.injection, &third.injection)
        && expected.traffic == third.traffic
        && expected.parallelism == third.parallelism
        && expected.held_pairs == third.held_pairs
        && expected.packet_hops == third.packet_hops
        && expected.resent_bytes == third.resent_bytes
}

impl Skipped {
    /// How often what was measured in time is to be repeated.
    fn times(&self) -> Ratio {
        let span = self.after.end.0 - self.before.end.0;
        Ratio::new(u128::from(self.time.0), u128::from(span))
    }

    /// The same of what a job sends: what its iterations send, where that is known beforehand.
    fn times_of(&self, job: usize, plans: &[JobPlan]) -> Ratio {
        let JobLoad::Closed(program) = &plans[job].load else {
            return self.times();
        };
        let sent = self.after.jobs[job].bytes_created - self.before.jobs[job].bytes_created;
        let skipped = self.jobs.iter().find(|skipped| skipped.job == job);
        match (program.totals(), skipped) {
            (Some(totals), Some(skipped)) if sent > 0 => Ratio::new(
                u128::from(totals.bytes.0) * u128::from(skipped.iterations),
                u128::from(sent) * u128::from(program.iterations()),
            ),
            _ => self.times(),
        }
    }

    /// Adds what would have been counted.
    fn count(&self, outcome: &mut Outcome, plans: &[JobPlan]) {
        let (before, after, times) = (&self.before, &self.after, self.times());
        for job in 0..plans.len() {
            let of_job = times_of_jobs(&mut outcome.jobs[job], &before.jobs[job], &after.jobs[job]);
            of_job(times, self.times_of(job, plans));
        }
        let sent: u64 = bytes_of_jobs(after) - bytes_of_jobs(before);
        let added: u128 = (0..plans.len())
            .map(|job| {
                let sent = after.jobs[job].bytes_created - before.jobs[job].bytes_created;
                self.times_of(job, plans).of_wide(u128::from(sent))
            })
            .sum();
        let of_bytes = match sent {
            0 => times,
            sent => Ratio::new(added, u128::from(sent)),
        };
        let links = |all: &mut [LinkOutcome], before: &[LinkOutcome], after: &[LinkOutcome]| {
            for ((link, before), after) in all.iter_mut().zip(before).zip(after) {
                link.bytes += of_bytes.of(after.bytes - before.bytes);
                link.packets += of_bytes.of(after.packets - before.packets);
                link.stall_ps += times.of(after.stall_ps - before.stall_ps);
            }
        };
        links(&mut outcome.ports, &before.ports, &after.ports);
        links(&mut outcome.injection, &before.injection, &after.injection);
        outcome.packet_hops += of_bytes.of(after.packet_hops - before.packet_hops);
        outcome.resent_bytes += of_bytes.of(after.resent_bytes - before.resent_bytes);
        // What is listed only grows, and in the same order.
        let mut earlier = before.traffic.iter().peekable();
        let mut all = outcome.traffic.iter_mut();
        for pair in &after.traffic {
            let key = (pair.job, pair.source, pair.destination);
            let then = earlier.next_if(|then| (then.job, then.source, then.destination) == key);
            let (messages, bytes) = then.map_or((0, 0), |t| (t.traffic.messages, t.traffic.bytes));
            let times = self.times_of(pair.job as usize, plans);
            let here = all.find(|one| (one.job, one.source, one.destination) == key);
            if let Some(here) = here {
                here.traffic.messages += times.of(pair.traffic.messages - messages);
                here.traffic.bytes += times.of(pair.traffic.bytes - bytes);
            }
        }
        let mut earlier = before.parallelism.iter().peekable();
        let mut all = outcome.parallelism.iter_mut();
        for share in &after.parallelism {
            let key = (share.job, share.rank, share.parallelism);
            let then = earlier.next_if(|then| (then.job, then.rank, then.parallelism) == key);
            let then = then.map(|then| then.share).unwrap_or_default();
            let of_job = self.times_of(share.job as usize, plans);
            let here = all.find(|one| (one.job, one.rank, one.parallelism) == key);
            if let Some(here) = here {
                here.share.messages += of_job.of(share.share.messages - then.messages);
                here.share.bytes += of_job.of(share.share.bytes - then.bytes);
                here.share.exposed_ps += times.of(share.share.exposed_ps - then.exposed_ps);
            }
        }
        let mut earlier = before.held_pairs.iter().peekable();
        let mut all = outcome.held_pairs.iter_mut();
        for pair in &after.held_pairs {
            let key = (pair.source, pair.destination);
            let then = earlier.next_if(|then| (then.source, then.destination) == key);
            let (notes, held, bytes) = then.map_or((0, 0, 0), |then| {
                (then.notifications, then.held_ps, then.held_bytes)
            });
            let here = all.find(|one| (one.source, one.destination) == key);
            if let Some(here) = here {
                here.notifications += times.of(pair.notifications - notes);
                here.held_ps += times.of(pair.held_ps - held);
                here.held_bytes += times.of(pair.held_bytes - bytes);
            }
        }
    }
}

/// Bytes that all jobs have sent.
pub(super) fn bytes_of_jobs(outcome: &Outcome) -> u64 {
    outcome.jobs.iter().map(|job| job.bytes_created).sum()
}

/// Adds to a job's outcome what was counted between two states of it.
fn times_of_jobs<'j>(
    job: &'j mut JobOutcome,
    before: &'j JobOutcome,
    after: &'j JobOutcome,
) -> impl FnOnce(Ratio, Ratio) + 'j {
    move |of_time, of_bytes| {
        // What is created arrives, but for what is under way, which stays so.
        let bytes = of_bytes.of(after.bytes_created - before.bytes_created);
        job.bytes_created += bytes;
        job.bytes_delivered += bytes;
        let messages = of_bytes.of(after.messages_created - before.messages_created);
        job.messages_created += messages;
        job.messages_delivered += messages;
        let measured = of_bytes.of(after.bytes_created_measured - before.bytes_created_measured);
        job.bytes_created_measured += measured;
        job.bytes_delivered_measured += measured;
        let classes = before.classes.iter().zip(&after.classes);
        for (mine, (before, after)) in job.classes.iter_mut().zip(classes) {
            let bytes = of_bytes.of(after.created - before.created);
            mine.created += bytes;
            mine.delivered += bytes;
            let measured = of_bytes.of(after.created_measured - before.created_measured);
            mine.created_measured += measured;
            mine.delivered_measured += measured;
        }
        job.packets_lost += of_bytes.of(after.packets_lost - before.packets_lost);
        let repeat = |mine: &mut Histogram, of: fn(&JobOutcome) -> &Histogram| {
            mine.repeat(of(before), of(after), of_bytes);
        };
        repeat(&mut job.message_latency_ps, |job| &job.message_latency_ps);
        repeat(&mut job.packet_latency_ps, |job| &job.packet_latency_ps);
        repeat(&mut job.message_bytes, |job| &job.message_bytes);
        let earlier = before.routers_visited.iter().chain(std::iter::repeat(&0));
        let visited = job.routers_visited.iter_mut();
        for ((mine, later), earlier) in visited.zip(&after.routers_visited).zip(earlier) {
            *mine += of_bytes.of(later - earlier);
        }
        let ranks = job.ranks.iter_mut().zip(&before.ranks).zip(&after.ranks);
        for ((rank, before), after) in ranks {
            let parts = [
                (&mut rank.outside_ps, &before.outside_ps, &after.outside_ps),
                (
                    &mut rank.collective_ps,
                    &before.collective_ps,
                    &after.collective_ps,
                ),
            ];
            for (mine, before, after) in parts {
                for ((mine, before), after) in mine.iter_mut().zip(before).zip(after) {
                    *mine += of_time.of(after - before);
                }
            }
        }
        let sum =
            |of: fn(&RankTimes) -> u64| job.ranks.iter().map(|rank| u128::from(of(rank))).sum();
        (job.compute_ps, job.wait_ps) = (sum(RankTimes::computing), sum(RankTimes::waiting));
    }
}

/// Puts into an outcome what was passed over: counts, and times after it.
pub(crate) fn add(all: &[Skipped], outcome: &mut Outcome, plans: &[JobPlan], topology: &Topology) {
    if all.is_empty() {
        return;
    }
    let (created, delivered) = (bytes_of_jobs(outcome), delivered(outcome));
    for skipped in all {
        skipped.count(outcome, plans);
    }
    let (more, arrived) = (
        bytes_of_jobs(outcome) - created,
        self::delivered(outcome) - delivered,
    );
    outcome.conservation.created += more;
    outcome.conservation.delivered += arrived;
    let moved = |time: Picoseconds| {
        let earlier = all.iter().take_while(|skipped| skipped.at <= time);
        time + Picoseconds(earlier.map(|skipped| skipped.time.0).sum())
    };
    outcome.timeline = timeline(all, &outcome.timeline, plans, moved(outcome.end), &moved);
    outcome.end = moved(outcome.end);
    for (number, job) in outcome.jobs.iter_mut().enumerate() {
        job.end = job.end.map(moved);
        job.aborted = job.aborted.map(moved);
        let ends = &mut job.iteration_end;
        for end in ends.iter_mut().flatten() {
            *end = moved(*end);
        }
        let own = all.iter().flat_map(|skipped| &skipped.jobs);
        for own in own.filter(|own| own.job == number) {
            for iteration in own.first as usize..(own.first + own.iterations) as usize {
                let like = ends[iteration - own.cycle as usize];
                ends[iteration] = like.map(|end| end + Picoseconds(own.cycle_time));
            }
        }
    }
    let measured = outcome.end.0 - outcome.warmup.0;
    let busy = |link: &mut LinkOutcome, port: PortId| {
        let time = topology.link_class(port).bandwidth.duration_of(link.bytes);
        link.busy_ps = time.0.min(measured);
    };
    for (port, link) in outcome.ports.iter_mut().enumerate() {
        if link.bytes > 0 {
            busy(link, PortId::from_index(port));
        }
    }
    for (node, link) in outcome.injection.iter_mut().enumerate() {
        if link.bytes > 0 {
            busy(link, topology.port_of_node[node]);
        }
    }
}

fn delivered(outcome: &Outcome) -> u64 {
    outcome.jobs.iter().map(|job| job.bytes_delivered).sum()
}

/// The timeline of a run that ends at `end`, in which every time that was passed over has the mean
/// activity of what it repeats.
fn timeline(
    all: &[Skipped],
    engine: &Timeline,
    plans: &[JobPlan],
    end: Picoseconds,
    moved: &impl Fn(Picoseconds) -> Picoseconds,
) -> Timeline {
    const MOST: u64 = 1_024;
    let jobs = plans.len().max(1);
    let mut bin = engine.bin.0;
    while end.0 / bin >= MOST {
        bin *= 2;
    }
    let mut activity = vec![Activity::default(); (end.0 / bin + 1) as usize * jobs];
    for (index, seen) in engine.activity.iter().enumerate() {
        let begin = moved(Picoseconds((index / jobs) as u64 * engine.bin.0));
        let place = (begin.0 / bin).min(end.0 / bin) as usize * jobs + index % jobs;
        activity[place].add(seen);
    }
    for skipped in all {
        let (from, to) = (skipped.from.0, skipped.from.0 + skipped.time.0);
        for job in 0..plans.len() {
            let times = skipped.times_of(job, plans);
            let (before, after) = (&skipped.before.jobs[job], &skipped.after.jobs[job]);
            let bytes = times.of(after.bytes_created - before.bytes_created);
            let messages = times.of(after.messages_created - before.messages_created);
            let latency = mean_latency(before, after);
            let mut so_far = Activity::default();
            for place in from / bin..=to / bin {
                let until = ((place + 1) * bin).min(to);
                let share = Ratio::new(u128::from(until - from), u128::from(to - from));
                let by_then = |all: u64, so_far: &mut u64| {
                    let now = share.of(all);
                    now - std::mem::replace(so_far, now)
                };
                let bytes = by_then(bytes, &mut so_far.injected_bytes);
                let messages = by_then(messages, &mut so_far.messages);
                activity[place as usize * jobs + job].add(&Activity {
                    injected_bytes: bytes,
                    delivered_bytes: bytes,
                    messages,
                    latency_ps: (messages as f64 * latency) as u64,
                });
            }
        }
    }
    Timeline {
        bin: Picoseconds(bin),
        activity,
    }
}

/// Mean latency in ps of the messages that came between two states of a job.
fn mean_latency(before: &JobOutcome, after: &JobOutcome) -> f64 {
    let sum = |job: &JobOutcome| {
        let latency = &job.message_latency_ps;
        (
            latency.count() as f64,
            latency.mean().unwrap_or(0.0) * latency.count() as f64,
        )
    };
    let ((earlier, from), (later, to)) = (sum(before), sum(after));
    match later > earlier {
        true => (to - from) / (later - earlier),
        false => 0.0,
    }
}
