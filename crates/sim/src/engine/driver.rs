//! Advances the partitions of a run, each on a thread of its own.
//!
//! Conservative synchronisation: what a partition does at time `t` reaches
//! another one no earlier than `t` plus the shortest latency between them. So
//! all of them may run up to the earliest pending event plus that latency (a
//! step), exchange what they sent, and go on. Steps end at fixed boundaries
//! where something global is decided, so that the decision does not depend on
//! the number of partitions.
//!
//! Every partition is built and run by a thread other than the caller's, which
//! only reports progress. All are built at the same time, so that the memory of
//! each comes from another part of the heap: small things that it keeps writing
//! would otherwise lie in one cache line with what all of them read, or with
//! another partition's.

use std::any::Any;
use std::hint::spin_loop;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use odonata_network::Peer;
use odonata_run::memory::{Megabytes, shortage};
use odonata_run::{JobLoad, Observer, Progress, Wish};
use odonata_units::Picoseconds;

use super::calendar::GroupedEvents;
use super::measure::JobCollector;
use super::model::Model;
use super::partition::{Mail, Partition};
use super::port::NEVER;
use super::shared::Shared;

/// How often the progress function is called.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// How often a thread that waits lets others run before it sleeps.
const YIELDS: u32 = 200;
/// Longest step where no other partition limits it, in windows.
const LONGEST_STEP_WINDOWS: u64 = 64;

/// First router of each of `threads` partitions, and one past the last.
/// Groups stay together; partitions have about the same number of ports.
pub(super) fn partition_bounds(shared: &Shared<'_>, threads: usize) -> Vec<u32> {
    let topology = shared.topology;
    let routers = topology.routers();
    // Where a partition may begin: at the first router of a group, if the
    // routers of a group are consecutive, otherwise at any router.
    let groups = &topology.group_of_router;
    let consecutive = groups.is_sorted();
    let may_begin = |router: usize| {
        !consecutive || topology.groups < threads as u32 || groups[router] != groups[router - 1]
    };
    let ports = topology.ports() as u64;
    let mut bounds = vec![0u32];
    for router in 1..routers {
        let wanted = ports * bounds.len() as u64 / threads as u64;
        if bounds.len() < threads
            && may_begin(router)
            && u64::from(topology.first_port[router])
                + u64::from(topology.first_port[router] - topology.first_port[router - 1]) / 2
                >= wanted
        {
            bounds.push(router as u32);
        }
    }
    bounds.push(routers as u32);
    bounds
}

/// Shortest latency of a link between two partitions, or of a circuit, which may come to join any.
fn lookahead(shared: &Shared<'_>, bounds: &[u32]) -> u64 {
    let topology = shared.topology;
    let partition = |router: u32| bounds.partition_point(|&first| first <= router);
    let mut shortest = shared.circuit_latency;
    for router in 0..topology.routers() {
        let here = partition(router as u32);
        for port in topology.first_port[router] as usize..topology.first_port[router + 1] as usize {
            if let Peer::Port(peer) = topology.peer[port]
                && partition(topology.router_of_port(peer).0) != here
            {
                let latency = shared.classes[topology.class_of_port[port].index()].latency;
                shortest = shortest.min(latency);
            }
        }
    }
    shortest
}

/// A barrier that spins for a while, because steps take microseconds, then lets
/// others run, and then sleeps. With more threads than processors it sleeps at
/// once: those that are waited for need the processor.
struct Barrier {
    threads: usize,
    spins: u32,
    waiting: AtomicUsize,
    generation: AtomicUsize,
    asleep: Mutex<()>,
    wake: Condvar,
    /// A thread has panicked and will not come.
    broken: AtomicBool,
}

/// Locks what another thread may have held as it unwound: what that was about tells more
/// than that it happened.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Unwinds a thread whose partition waits for one that has panicked.
struct Abandoned;

/// Lets the others give up waiting when the thread that holds it panics.
struct BreakOnPanic<'b>(&'b Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            // A thread that is about to sleep either sees the flag or is woken.
            drop(self.0.asleep.lock());
            self.0.wake.notify_all();
        }
    }
}

impl Barrier {
    fn new(threads: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads,
            spins: if threads <= processors { 2_000 } else { 0 },
            waiting: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            asleep: Mutex::new(()),
            wake: Condvar::new(),
            broken: AtomicBool::new(false),
        }
    }

    fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            let asleep = lock(&self.asleep);
            self.generation.store(generation + 1, Ordering::Release);
            drop(asleep);
            self.wake.notify_all();
            return;
        }
        for _ in 0..self.spins {
            if self.generation.load(Ordering::Acquire) != generation {
                return;
            }
            self.check();
            spin_loop();
        }
        // Other programs may use the processor that the last thread needs.
        for _ in 0..self.spins.min(YIELDS) {
            if self.generation.load(Ordering::Acquire) != generation {
                return;
            }
            self.check();
            std::thread::yield_now();
        }
        let mut asleep = lock(&self.asleep);
        while self.generation.load(Ordering::Acquire) == generation {
            self.check();
            let woken = self.wake.wait(asleep);
            asleep = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Unwinds if another thread has: it will never come. Not a panic of its own, for
    /// what happened there tells more.
    fn check(&self) {
        if self.broken.load(Ordering::Acquire) {
            resume_unwind(Box::new(Abandoned));
        }
    }
}

/// What a partition tells the others after each step.
#[derive(Default)]
#[repr(align(128))]
struct Bulletin {
    /// Start of its next window with events, or [`NEVER`].
    next: AtomicU64,
    /// See [`Partition::pending`].
    unfinished: AtomicU64,
    /// Whether the program of a rank could not go on.
    failed: AtomicBool,
    /// Whether a job is to be aborted.
    aborts: AtomicBool,
    /// See [`Partition::last_delivery`].
    last_delivery: AtomicU64,
    /// Two's complement.
    stimuli: AtomicU64,
    now: AtomicU64,
    packets: AtomicU64,
    bytes: AtomicU64,
    hops: AtomicU64,
}

/// Why the partitions have stopped.
pub(super) enum End {
    /// Jobs have given up packets. All events before this time have happened.
    Aborting(Picoseconds),
    /// No event is left before the end of the run; or, at the given time, all
    /// jobs with an end were done and only endless ones went on.
    Complete(Option<u64>),
    /// The observer wanted to stop. All events before this time have happened.
    Interrupted(Picoseconds),
    /// The program of a rank could not go on.
    Failed,
    /// So little memory is left that it had to end.
    Short(Megabytes),
    /// The same for a pause, which the observer has asked for by a wish or not; the run
    /// goes on when the partitions are driven again.
    Paused { at: Picoseconds, asked: bool },
}

struct Exchange<'s> {
    shared: &'s Shared<'s>,
    barrier: Barrier,
    bulletins: Vec<Bulletin>,
    /// Shape: receiving × sending partition.
    mail: Vec<Mutex<Mail>>,
    /// What the observer wants, a [`Wish`].
    wish: AtomicU8,
    /// The same as the first partition has found it before the last barrier, so
    /// that all of them act alike.
    decided: AtomicU8,
    /// A step is no longer than this.
    step: u64,
    /// Steps end at multiples of this, if set.
    boundary: Option<u64>,
    /// All stop at this time, or [`NEVER`].
    pause: u64,
    /// Whether open-loop jobs would go on for ever after the others.
    background: bool,
    /// Boundary at which the others were found to be done.
    done_at: AtomicU64,
    /// Boundary at which jobs were found that are to be aborted.
    aborting_at: AtomicU64,
    /// Bytes that all jobs with an end will send; `None` if that is not known.
    total_bytes: Option<u64>,
    /// Ranks of closed-loop jobs.
    ranks: u64,
}

/// Time from one boundary, where something global is decided, to the next.
pub(super) fn boundary(shared: &Shared<'_>) -> u64 {
    let lookahead = 1 << shared.lookahead.min(1 << 30).ilog2();
    lookahead.max(1 << shared.window_shift())
}

/// Runs all partitions until the end, or until `observer` wants something else,
/// but not beyond the window that `pause` lies in, and not beyond `exact_pause`. `reported`: when
/// the observer last received progress, so that it receives it however often a run pauses.
pub(super) fn drive<M: Model>(
    shared: &Shared<'_>,
    partitions: &mut [Box<Partition<'_, M>>],
    pause: Option<Picoseconds>,
    exact_pause: Option<Picoseconds>,
    observer: &mut dyn Observer,
    reported: &mut Instant,
) -> End {
    let exchange = Exchange::new(shared, partitions, pause, exact_pause);
    for partition in &mut *partitions {
        partition.calendar.cut_at(exchange.pause);
    }
    // So that a report before the first step tells where all are.
    for (index, partition) in partitions.iter().enumerate() {
        exchange.announce(index, partition);
    }
    let mut short = None;
    std::thread::scope(|scope| {
        let (running, stopped) = channel::<()>();
        let mut threads = Vec::with_capacity(partitions.len());
        for (index, partition) in partitions.iter_mut().enumerate() {
            let exchange = &exchange;
            let running = running.clone();
            threads.push(scope.spawn(move || {
                exchange.advance(index, partition);
                drop(running);
            }));
        }
        drop(running);
        short = exchange.watch(&stopped, observer, reported);
        let ended = threads.into_iter().map(ScopedJoinHandle::join);
        let panics: Vec<_> = ended.filter_map(Result::err).collect();
        let abandoned = |panic: &Box<dyn Any + Send>| panic.is::<Abandoned>();
        if let Some(panic) = panics.into_iter().min_by_key(abandoned) {
            resume_unwind(panic);
        }
    });
    exchange.end(short)
}

impl<'s> Exchange<'s> {
    fn new<M: Model>(
        shared: &'s Shared<'s>,
        partitions: &[Box<Partition<'_, M>>],
        pause: Option<Picoseconds>,
        exact_pause: Option<Picoseconds>,
    ) -> Self {
        let threads = partitions.len();
        let window = 1u64 << shared.window_shift();
        let background = shared.ends_with_jobs
            && shared
                .jobs
                .iter()
                .any(|job| matches!(&job.load, JobLoad::Open(source) if source.times().is_none()));
        let between = lookahead(shared, &partitions[0].neighbours.bounds);
        let pause = pause.map_or(NEVER, |at| {
            at.0.checked_next_multiple_of(window).unwrap_or(NEVER)
        });
        let pause = exact_pause.map_or(pause, |at| pause.min(at.0));
        Self {
            shared,
            barrier: Barrier::new(threads),
            bulletins: (0..threads).map(|_| Bulletin::default()).collect(),
            mail: (0..threads * threads).map(|_| Mutex::default()).collect(),
            wish: AtomicU8::new(Wish::Continue as u8),
            decided: AtomicU8::new(Wish::Continue as u8),
            step: (between.min(window * LONGEST_STEP_WINDOWS) / window).max(1) * window,
            boundary: (partitions[0].routing.tables.get().needs_snapshot()
                || background
                || shared.outages.is_some())
            .then_some(boundary(shared)),
            pause,
            background,
            done_at: AtomicU64::new(NEVER),
            aborting_at: AtomicU64::new(NEVER),
            total_bytes: shared
                .jobs
                .iter()
                .map(|job| match &job.load {
                    JobLoad::Closed(program) => program.totals().map(|all| all.bytes.0),
                    JobLoad::Open(source) => {
                        let messages = source.total_messages().unwrap_or(0);
                        Some(messages.saturating_mul(source.message.0))
                    }
                })
                .sum(),
            ranks: shared
                .jobs
                .iter()
                .map(|job| match &job.load {
                    JobLoad::Closed(program) => u64::from(program.ranks()),
                    JobLoad::Open(_) => 0,
                })
                .sum(),
        }
    }

    /// Reports progress until `stopped` is disconnected: all threads are done, or have panicked.
    /// Memory that is left, if it was so little that the run had to end.
    fn watch(
        &self,
        stopped: &Receiver<()>,
        observer: &mut dyn Observer,
        reported: &mut Instant,
    ) -> Option<Megabytes> {
        let mut short = None;
        loop {
            let rest = PROGRESS_INTERVAL.saturating_sub(reported.elapsed());
            let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(rest) else {
                return short;
            };
            let wish = observer.progress(&self.report());
            *reported = Instant::now();
            if wish != Wish::Continue {
                self.wish.store(wish as u8, Ordering::Relaxed);
            } else if short.is_none() {
                short = shortage();
                if short.is_some() {
                    self.wish.store(Wish::Interrupt as u8, Ordering::Relaxed);
                }
            }
        }
    }

    /// Why the partitions have stopped. `short`: memory that is left, if it was too little.
    fn end(&self, short: Option<Megabytes>) -> End {
        if self.failed() {
            return End::Failed;
        }
        let next = self.bulletins.iter();
        let next = next.map(|b| b.next.load(Ordering::Relaxed)).min();
        let next = next.unwrap_or(NEVER);
        let reached = Picoseconds(next.min(self.pause).min(self.shared.stop));
        let decided = self.decided.load(Ordering::Relaxed);
        if decided == Wish::Interrupt as u8 {
            return short.map_or(End::Interrupted(reached), End::Short);
        }
        let aborting_at = self.aborting_at.load(Ordering::Relaxed);
        if aborting_at != NEVER {
            return End::Aborting(Picoseconds(aborting_at));
        }
        let done_at = self.done_at.load(Ordering::Relaxed);
        if done_at != NEVER {
            return End::Complete(Some(done_at));
        }
        if next >= self.shared.stop {
            return End::Complete(None);
        }
        // It may have been wished for when all were about to pause anyway.
        let wish = self.wish.load(Ordering::Relaxed);
        if wish == Wish::Interrupt as u8 {
            return End::Interrupted(reached);
        }
        End::Paused {
            at: reached,
            asked: wish == Wish::Pause as u8,
        }
    }

    /// Runs partition `index`.
    fn advance<M: Model>(&self, index: usize, partition: &mut Partition<'_, M>) {
        let _breaker = BreakOnPanic(&self.barrier);
        let threads = self.bulletins.len();
        let shift = self.shared.window_shift();
        let tables = partition.routing.tables.clone();
        let routing = tables.get();
        let mut events = GroupedEvents::default();
        loop {
            self.announce(index, partition);
            if index == 0 {
                let wish = self.wish.load(Ordering::Relaxed);
                self.decided.store(wish, Ordering::Relaxed);
            }
            self.barrier.wait();
            let begin = self
                .bulletins
                .iter()
                .map(|b| b.next.load(Ordering::Relaxed))
                .min()
                .unwrap_or(NEVER);
            let unfinished = self
                .bulletins
                .iter()
                .map(|b| b.unfinished.load(Ordering::Relaxed))
                .fold(0, u64::wrapping_add);
            let stimuli = self
                .bulletins
                .iter()
                .map(|b| b.stimuli.load(Ordering::Relaxed))
                .fold(0, u64::wrapping_add);
            if begin >= self.shared.stop.min(self.pause)
                || self.decided.load(Ordering::Relaxed) != Wish::Continue as u8
                || self.failed()
            {
                return;
            }
            // The window may have been begun before a pause.
            let first = begin >> shift << shift;
            let mut end = (first + self.step).min(self.shared.stop).min(self.pause);
            if let Some(boundary) = self.boundary {
                let number = begin / boundary;
                let latest = partition.latest_boundary;
                if latest != Some(number) {
                    // Only here has everybody come equally far. Without stimuli,
                    // ranks that have not finished never will.
                    let at = latest.map_or(0, |latest: u64| latest + 1) * boundary;
                    let mut bulletins = self.bulletins.iter();
                    if bulletins.any(|b| b.aborts.load(Ordering::Relaxed)) {
                        self.aborting_at.store(at, Ordering::Relaxed);
                        return;
                    }
                    let arrived = || {
                        let mut bulletins = self.bulletins.iter();
                        bulletins.all(|b| b.last_delivery.load(Ordering::Relaxed) <= at)
                    };
                    if self.background && (unfinished == 0 || stimuli == 0) && arrived() {
                        self.done_at.store(at, Ordering::Relaxed);
                        return;
                    }
                    partition.latest_boundary = Some(number);
                    if routing.needs_snapshot() {
                        partition.publish_occupancy();
                        self.barrier.wait();
                    }
                }
                end = end.min((number + 1) * boundary);
            }
            while let Some(window) = partition.next_window() {
                // One that was cut off here goes on after the pause.
                if (window << shift).max(partition.calendar.reached()) >= end {
                    break;
                }
                routing.simulate(partition, window, &mut events);
            }
            if threads > 1 {
                for (to, sent) in partition.neighbours.mail.iter_mut().enumerate() {
                    if !sent.is_empty() {
                        let mut mail = lock(&self.mail[to * threads + index]);
                        std::mem::swap(&mut *mail, sent);
                    }
                }
                self.barrier.wait();
                for from in 0..threads {
                    let mut mail = lock(&self.mail[index * threads + from]);
                    partition.receive(&mut mail);
                }
            }
        }
    }

    /// Whether the program of a rank could not go on.
    fn failed(&self) -> bool {
        let mut bulletins = self.bulletins.iter();
        bulletins.any(|b| b.failed.load(Ordering::Relaxed))
    }

    fn announce<M: Model>(&self, index: usize, partition: &Partition<'_, M>) {
        let bulletin = &self.bulletins[index];
        let next = partition.calendar.next_time().unwrap_or(NEVER);
        let failed = partition.ranks.failure.is_some();
        // Messages of open-loop jobs with an end wait for nobody: they count as stimuli.
        let pending = partition.pending();
        let to_come = pending.wrapping_sub(partition.ranks.unfinished);
        let stimuli = partition.stimuli().wrapping_add(to_come);
        bulletin.failed.store(failed, Ordering::Relaxed);
        if self.shared.outages.is_some() {
            let mut jobs = partition.accounts.jobs.iter();
            let aborts = jobs.any(JobCollector::is_to_be_aborted);
            bulletin.aborts.store(aborts, Ordering::Relaxed);
        }
        for (cell, value) in [
            (&bulletin.next, next),
            (&bulletin.last_delivery, partition.last_delivery()),
            (&bulletin.unfinished, pending),
            (&bulletin.stimuli, stimuli),
            (&bulletin.now, partition.now),
            (&bulletin.packets, partition.accounts.packets_delivered),
            (&bulletin.bytes, partition.accounts.delivered_bytes),
            (&bulletin.hops, partition.accounts.packet_hops),
        ] {
            cell.store(value, Ordering::Relaxed);
        }
    }

    fn report(&self) -> Progress {
        let sum = |of: fn(&Bulletin) -> &AtomicU64| -> u64 {
            self.bulletins
                .iter()
                .map(|b| of(b).load(Ordering::Relaxed))
                .fold(0, u64::wrapping_add)
        };
        let now = self
            .bulletins
            .iter()
            .map(|b| b.now.load(Ordering::Relaxed))
            .max()
            .unwrap_or(0);
        let bytes_delivered = sum(|b| &b.bytes);
        let fraction = if self.shared.ends_with_jobs {
            match self.total_bytes {
                Some(total) => bytes_delivered as f64 / total.max(1) as f64,
                None => {
                    let pending = sum(|b| &b.unfinished) as f64 / self.ranks.max(1) as f64;
                    (1.0 - pending).max(0.0)
                }
            }
        } else {
            now as f64 / self.shared.stop as f64
        };
        Progress {
            now: Picoseconds(now),
            packets_delivered: sum(|b| &b.packets),
            bytes_delivered,
            packet_hops: sum(|b| &b.hops),
            fraction: fraction.min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without this a defect in one partition would hang the run for ever.
    #[test]
    fn a_panicking_thread_releases_those_that_wait_for_it() {
        for spins in [0, 20_000] {
            let mut barrier = Barrier::new(2);
            barrier.spins = spins;
            let outcome = std::panic::catch_unwind(|| {
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let _breaker = BreakOnPanic(&barrier);
                        std::thread::sleep(Duration::from_millis(20));
                        panic!("a defect");
                    });
                    barrier.wait();
                });
            });
            assert!(outcome.is_err());
        }
    }
}
