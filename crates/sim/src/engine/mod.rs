//! The packet engine.
//!
//! Routers are grouped into partitions (one per thread); within a partition
//! time advances in windows, and within a window each router is simulated by
//! itself (see [`calendar`]). Nothing in a partition is shared while it runs.

mod calendar;
mod checkpoint;
mod circuits;
mod deadlock;
mod driver;
mod flows;
mod interface;
mod losses;
mod measure;
mod message_routes;
mod model;
mod packets;
mod partition;
mod payload;
mod port;
mod probe;
mod protocol;
mod queues;
mod ranks;
mod repetition;
mod routed;
mod scheduler;
mod shared;
mod switch;
mod table;

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::sync::Barrier;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use odonata_mpi::Stage;
use odonata_network::routing::{AnyRouting, RoutingTask};
use odonata_network::{Routing, Topology};
use odonata_run::{
    Arrival, CongestionControl, Conservation, Crossbar, Decisions, EngineConfig, HeldPair, JobLoad,
    JobOutcome, JobPlan, LinkAttribution, LinkOutcome, Measurement, Megabytes, Observer, Outcome,
    PairTraffic, Parameter, Pause, PausedRun, RankInterval, RankShare, RankTimes, Reconfiguration,
    ServerUse, SimError, Standing, TimelineCollector, within_memory,
};
use odonata_units::{Picoseconds, RankId, RouterId};

use crate::circuits::CircuitControl;
use circuits::Circuits;
use driver::End;
use measure::JobCollector;
use model::{Model, Of};
use packets::{PACKETS, Packets};
use partition::Partition;
use probe::{Probe, Recorder, Silent};
use protocol::{NoProtocol, Paced, Protocol};
use routed::Routed;
use scheduler::Shares;
use shared::Shared;
use switch::{Bounded, Ideal, OutputQueues};

/// Simulates jobs on a network.
///
/// `observer` receives the progress of the run and may pause or end it. The outcome is
/// the same for any number of threads.
///
/// # Errors
/// Parameters that make no sense, a deadlock, ranks that wait for messages that
/// nobody sends, an interruption, or an error of the observer. What only
/// [`run_any`] can measure is refused.
pub fn run<R: Routing>(
    topology: &Topology,
    routing: &R,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    unrecorded(measurement)?;
    let call = Call {
        topology,
        config,
        jobs,
        measurement,
        control: None,
        state: None,
        observer,
    };
    call.run(routing)
}

/// Goes on with a run from the state that [`PausedRun::save`] wrote. Everything
/// but `config.threads` has to be what it was; the outcome is then that of the
/// run without the break.
///
/// # Errors
/// [`SimError::State`] if `state` cannot be read or is not one of such a run
/// (which is noticed where sizes differ, not everywhere); otherwise as [`run`].
pub fn resume<R: Routing>(
    topology: &Topology,
    routing: &R,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    state: &mut dyn Read,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    unrecorded(measurement)?;
    let call = Call {
        topology,
        config,
        jobs,
        measurement,
        control: None,
        state: Some(state),
        observer,
    };
    call.run(routing)
}

/// As [`run`], or [`resume`] with a `state`, with any routing algorithm, and with
/// [`Measurement::attribution`] and [`Measurement::arrivals`]. What those cost only
/// runs with them pay: they have code of their own.
///
/// # Errors
/// As [`run`] and [`resume`].
pub fn run_any(
    topology: &Topology,
    routing: &AnyRouting,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    state: Option<&mut dyn Read>,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    let call = Call {
        topology,
        config,
        jobs,
        measurement,
        control: None,
        state,
        observer,
    };
    if measurement.is_recorded() {
        routing.dispatch(Recorded(call))
    } else {
        routing.dispatch(call)
    }
}

/// As [`run_any`], where `control` changes circuits as the run goes on; `topology` and `routing` are
/// those of its beginning. The outcome does not depend on the number of threads, nor on pauses.
///
/// # Errors
/// As [`run_any`], and of the control. Circuits can change where routers have ideal crossbars and
/// decide per packet, up-down or steered, and nothing is recorded that takes [`run_any`].
#[expect(clippy::too_many_arguments)]
pub fn run_with_circuits(
    topology: &Topology,
    routing: &AnyRouting,
    config: &EngineConfig,
    jobs: &[JobPlan],
    measurement: &Measurement,
    control: &mut dyn CircuitControl,
    state: Option<&mut dyn Read>,
    observer: &mut dyn Observer,
) -> Result<Outcome, SimError> {
    if measurement.is_recorded() {
        return Err(SimError::Parameter {
            parameter: Parameter::Record,
            found: "attribution or arrivals".to_owned(),
            allowed: "nothing of it where circuits change during the run".to_owned(),
        });
    }
    if config.nic.congestion_control != CongestionControl::None {
        return Err(SimError::Parameter {
            parameter: Parameter::CongestionControl,
            found: format!("\"{}\"", config.nic.congestion_control.name()),
            allowed: "\"none\" where circuits change during the run".to_owned(),
        });
    }
    if !config.classes.is_empty() {
        return Err(SimError::Parameter {
            parameter: Parameter::TrafficClasses,
            found: format!("{} classes", config.classes.len()),
            allowed: "none where circuits change during the run".to_owned(),
        });
    }
    routing.dispatch(Call {
        topology,
        config,
        jobs,
        measurement,
        control: Some(control),
        state,
        observer,
    })
}

/// A run that only lacks the routing algorithm.
struct Call<'a, 's> {
    topology: &'a Topology,
    config: &'a EngineConfig,
    jobs: &'a [JobPlan],
    measurement: &'a Measurement,
    control: Option<&'a mut dyn CircuitControl>,
    state: Option<&'a mut (dyn Read + 's)>,
    observer: &'a mut dyn Observer,
}

/// One that keeps account of who waits for whom.
struct Recorded<'a, 's>(Call<'a, 's>);

impl Call<'_, '_> {
    /// By the switch of its routers, so that each has code of its own.
    fn with_probe<P: Probe>(self, routing: &impl Routing) -> Result<Outcome, SimError> {
        let classes = &self.config.classes;
        // All that one class without a limit does is what all traffic does without.
        if classes.len() > 1 || classes.iter().any(|class| class.largest < 1.0) {
            return self.with_classes::<P>(routing);
        }
        match self.config.nic.congestion_control {
            CongestionControl::None => self.with_protocol::<P, NoProtocol>(routing),
            _ => self.with_protocol::<P, Paced>(routing),
        }
    }

    /// With a protocol, which permits everything if there is none.
    fn with_classes<P: Probe>(self, routing: &impl Routing) -> Result<Outcome, SimError> {
        let router = &self.config.router;
        match router.crossbar {
            Crossbar::Bounded { .. } => Err(SimError::Parameter {
                parameter: Parameter::TrafficClasses,
                found: format!("{} classes", self.config.classes.len()),
                allowed: "none with a bounded crossbar".to_owned(),
            }),
            Crossbar::Ideal if router.hands_over() => {
                simulate::<Of<P, OutputQueues, Paced, Shares>>(self, routing)
            }
            Crossbar::Ideal => simulate::<Of<P, Ideal, Paced, Shares>>(self, routing),
        }
    }

    fn with_protocol<P: Probe, E: Protocol>(
        self,
        routing: &impl Routing,
    ) -> Result<Outcome, SimError> {
        let router = &self.config.router;
        match router.crossbar {
            Crossbar::Bounded { .. } => simulate::<Of<P, Bounded, E>>(self, routing),
            Crossbar::Ideal if router.hands_over() => {
                simulate::<Of<P, OutputQueues, E>>(self, routing)
            }
            Crossbar::Ideal => simulate::<Of<P, Ideal, E>>(self, routing),
        }
    }
}

impl RoutingTask for Call<'_, '_> {
    type Output = Result<Outcome, SimError>;

    fn run<R: Routing>(self, routing: &R) -> Self::Output {
        self.with_probe::<Silent>(routing)
    }
}

impl RoutingTask for Recorded<'_, '_> {
    type Output = Result<Outcome, SimError>;

    fn run<R: Routing>(self, routing: &R) -> Self::Output {
        self.0.with_probe::<Recorder>(routing)
    }
}

/// Fails if something is to be recorded.
fn unrecorded(measurement: &Measurement) -> Result<(), SimError> {
    if measurement.is_recorded() {
        return Err(SimError::Parameter {
            parameter: Parameter::Record,
            found: "attribution or arrivals".to_owned(),
            allowed: "only with `run_any`".to_owned(),
        });
    }
    Ok(())
}

fn simulate<M: Model>(call: Call<'_, '_>, routing: &dyn Routed<M>) -> Result<Outcome, SimError> {
    let resumed = call.state.is_some();
    let run = || within_memory(|| simulate_within(call, routing));
    if resumed {
        checkpoint::without_contradiction(run)
    } else {
        run()
    }
}

fn simulate_within<M: Model>(
    call: Call<'_, '_>,
    routing: &dyn Routed<M>,
) -> Result<Outcome, SimError> {
    let Call {
        topology,
        config,
        jobs,
        measurement,
        control,
        state,
        observer,
    } = call;
    let mut shared = Shared::new(
        topology,
        routing.virtual_channels(),
        config,
        jobs,
        measurement,
    )?;
    M::Probe::check(&shared)?;
    let circuits = control.map(|control| Circuits::new(control, &mut shared));
    let mut circuits = circuits.transpose()?;
    let shared = shared;
    let learns = routing.learns() && !routing.initial_q_table(RouterId(0)).is_empty();
    if learns && config.decisions == Decisions::PerMessage {
        return Err(SimError::Parameter {
            parameter: Parameter::Decisions,
            found: "message".to_owned(),
            allowed: "packet with an algorithm that learns".to_owned(),
        });
    }
    if routing.reserves() && config.decisions == Decisions::PerMessage {
        return Err(SimError::Parameter {
            parameter: Parameter::Decisions,
            found: "message".to_owned(),
            allowed: "packet with an algorithm that promises room to packets".to_owned(),
        });
    }
    let snapshot: Vec<AtomicU32> = if routing.needs_snapshot() {
        (0..topology.ports()).map(|_| AtomicU32::new(0)).collect()
    } else {
        Vec::new()
    };
    let bounds = driver::partition_bounds(&shared, config.threads.max(1));
    let mut partitions = build_partitions(&shared, routing, &snapshot, &bounds);
    if let Some(state) = state {
        checkpoint::restore(&shared, &mut partitions, circuits.as_mut(), state)?;
    }
    let mut look = deadlock::next_look(partitions[0].now);
    let mut wanted = observer.next_pause();
    let mut exactly = observer.exact_pause();
    let mut reported = Instant::now();
    let done_at = loop {
        let looks = (look < shared.stop).then_some(Picoseconds(look));
        let due = circuits.as_ref().and_then(Circuits::due);
        let pause = wanted.into_iter().chain(looks).chain(due).min();
        let end = driver::drive(
            &shared,
            &mut partitions,
            pause,
            exactly,
            observer,
            &mut reported,
        );
        match end {
            End::Interrupted(at) => return Err(SimError::Interrupted { at }),
            End::Complete(done_at) => {
                // What is given up as the run ends may be what others wait for.
                let at = partitions.iter().map(|p| p.latest_event).max().unwrap_or(0);
                if abort(&shared, &mut partitions, at) {
                    continue;
                }
                break done_at;
            }
            End::Aborting(at) => {
                abort(&shared, &mut partitions, at.0);
            }
            End::Failed => return Err(failure(&shared, &partitions)),
            End::Short(left) => return Err(out_of_memory(&partitions, left)),
            End::Paused { at, asked } => {
                if at.0 >= look {
                    deadlock::check(&shared, &partitions, Some(at))?;
                    look = deadlock::next_look(at.0);
                }
                if let Some(circuits) = &mut circuits {
                    circuits.act(&shared, &mut partitions, at.0)?;
                }
                if !asked && wanted.into_iter().chain(exactly).all(|wanted| at < wanted) {
                    continue;
                }
                let (measure, jump) = (Cell::new(false), RefCell::new(None));
                let pause = Pause {
                    jobs: &|| job_outcomes(&shared, &partitions, at.0),
                    timeline: &|| {
                        let all = partitions.iter().map(|p| &p.accounts.timeline);
                        TimelineCollector::merge(all)
                    },
                    standing: &|| standing(&shared, &partitions),
                    digest: &|| repetition::digest(&partitions, at.0),
                    outcome: &|| measured(&shared, &partitions, at.0),
                    save: &|out: &mut dyn Write| {
                        let circuits = circuits.as_ref().map(Circuits::saved);
                        checkpoint::save(&shared, &partitions, at.0, measure.get(), circuits, out)
                    },
                    measure: &measure,
                    jump: &jump,
                };
                let paused = PausedRun::new(at, pause);
                if observer.paused(&paused)?.is_break() {
                    abort(&shared, &mut partitions, at.0);
                    break Some(at.0);
                }
                if measure.get() {
                    for partition in &mut partitions {
                        partition.begin_measuring(at.0);
                    }
                }
                if let Some(jump) = jump.take() {
                    partitions.iter_mut().for_each(|p| p.skip(&jump, at.0));
                }
                wanted = observer.next_pause();
                exactly = observer.exact_pause();
            }
        }
    };
    deadlock::check(&shared, &partitions, None)?;
    if done_at.is_none() {
        in_time(&shared, &partitions)?;
    }
    let log = circuits.map(|circuits| circuits.state.log);
    finish(&shared, partitions, done_at, log.unwrap_or_default())
}

/// Ends the jobs that have given up a packet, in all partitions, each of which has come to `at`.
/// Whether there are any.
fn abort<M: Model>(shared: &Shared<'_>, partitions: &mut [Box<Partition<'_, M>>], at: u64) -> bool {
    if shared.outages.is_none() {
        return false;
    }
    let mut any = false;
    for job in 0..shared.jobs.len() {
        let mut shares = partitions.iter().map(|p| &p.accounts.jobs[job]);
        if shares.any(JobCollector::is_to_be_aborted) {
            any = true;
            let begun = partitions.iter().map(|p| p.calendar.first_open());
            let window = begun
                .max()
                .unwrap_or(0)
                .max((at >> shared.window_shift()) + 1);
            for partition in &mut *partitions {
                partition.abort(job as u32, at, window);
            }
        }
    }
    any
}

/// Builds every partition in a thread of its own (see [`driver`]).
fn build_partitions<'a, M: Model>(
    shared: &'a Shared<'a>,
    routing: &'a dyn Routed<M>,
    snapshot: &'a [AtomicU32],
    bounds: &[u32],
) -> Vec<Box<Partition<'a, M>>> {
    // A thread that has ended leaves its part of the heap to the next one.
    let all_begin = Barrier::new(bounds.len() - 1);
    let all_begin = &all_begin;
    std::thread::scope(|scope| {
        let builders: Vec<_> = (0..bounds.len() - 1)
            .map(|index| {
                scope.spawn(move || {
                    all_begin.wait();
                    Box::new(Partition::new(shared, routing, snapshot, bounds, index))
                })
            })
            .collect();
        builders
            .into_iter()
            .map(|builder| match builder.join() {
                Ok(partition) => partition,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

/// What has been measured of each job.
fn job_outcomes<M: Model>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, M>>],
    now: u64,
) -> Vec<JobOutcome> {
    let ranks_of = |plan: &JobPlan| match &plan.load {
        JobLoad::Closed(program) => vec![RankTimes::default(); program.ranks() as usize],
        JobLoad::Open(_) => Vec::new(),
    };
    let of_job = |plan| (ranks_of(plan), 0, u32::MAX);
    let mut of_jobs: Vec<_> = shared.jobs.iter().map(of_job).collect();
    for rank in partitions.iter().flat_map(|p| &p.ranks.all) {
        let (ranks, unreceived, iterations) = &mut of_jobs[rank.job as usize];
        ranks[rank.rank as usize] = rank.times(now);
        *unreceived += rank.unreceived();
        *iterations = rank.record.iterations.min(*iterations);
    }
    let plans = shared.jobs.iter().enumerate().zip(of_jobs);
    plans
        .map(|((job, plan), (ranks, unreceived, iterations))| {
            let shares = partitions.iter().map(|p| &p.accounts.jobs[job]);
            JobCollector::outcome(plan, shares, ranks, iterations, unreceived, now)
        })
        .collect()
}

/// How far the ranks of each closed-loop job are.
fn standing<M: Model>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, M>>],
) -> Vec<Option<Standing>> {
    let of_job = |plan: &JobPlan| match plan.load {
        JobLoad::Open(_) => None,
        JobLoad::Closed(_) => Some(Standing {
            fewest: u32::MAX,
            most: 0,
            begun: true,
            ending: false,
        }),
    };
    let mut all: Vec<_> = shared.jobs.iter().map(of_job).collect();
    for rank in partitions.iter().flat_map(|p| &p.ranks.all) {
        let Some(job) = &mut all[rank.job as usize] else {
            continue;
        };
        let record = &rank.record;
        job.fewest = job.fewest.min(record.iterations);
        job.most = job.most.max(record.iterations);
        job.begun &= record.stage != Stage::BeforeStart;
        job.ending |= record.stage == Stage::Finished;
    }
    all
}

/// Why the first rank whose program could not go on could not.
fn failure<M: Model>(shared: &Shared<'_>, partitions: &[Box<Partition<'_, M>>]) -> SimError {
    let failures = partitions.iter().filter_map(|p| p.ranks.failure.as_ref());
    let (at, job, rank, reason) = failures.min().expect("a run that failed");
    SimError::Program {
        job: shared.jobs[*job as usize].name.clone(),
        rank: *rank,
        at: Picoseconds(*at),
        reason: reason.clone(),
    }
}

/// That the run had to end with so little memory left: it names what holds most of the
/// memory that grows with a run.
fn out_of_memory<M: Model>(partitions: &[Box<Partition<'_, M>>], left: Megabytes) -> SimError {
    let holders = partitions.iter().flat_map(|partition| partition.holders());
    let mut totals: Vec<(usize, &'static str)> = Vec::new();
    for (what, bytes) in holders {
        match totals.iter_mut().find(|(_, name)| *name == what) {
            Some((total, _)) => *total += bytes,
            None => totals.push((bytes, what)),
        }
    }
    let (bytes, what) = totals.into_iter().max().unwrap_or((0, PACKETS));
    let held = Megabytes(bytes);
    SimError::Memory {
        what,
        reason: format!("they hold {held}, and {left} are left"),
    }
}

/// Puts the partitions' shares together. `done_at`: when a run stopped because
/// only endless jobs went on. `reconfigurations`: of circuits.
fn finish<M: Model>(
    shared: &Shared<'_>,
    mut partitions: Vec<Box<Partition<'_, M>>>,
    done_at: Option<u64>,
    reconfigurations: Vec<Reconfiguration>,
) -> Result<Outcome, SimError> {
    if shared.ends_with_jobs {
        odonata_mpi::unmatched(shared.jobs, partitions.iter().flat_map(|p| &p.ranks.all))?;
    }
    let mut conservation = Conservation::default();
    // Requests and grants that have been created and are nowhere.
    let mut control = 0;
    let mut messages = Vec::new();
    let mut rank_intervals = Vec::new();
    let mut attribution = Vec::new();
    let mut loopback_bytes = 0;
    let end = match done_at {
        Some(at) => at,
        None if shared.ends_with_jobs => last_end(&partitions),
        None => shared.stop,
    };
    for partition in &mut partitions {
        conservation.backlog += partition.settle(end);
        conservation.created += partition
            .accounts
            .jobs
            .iter()
            .map(|job| job.bytes_created)
            .sum::<u64>();
        control += partition.accounts.control_bytes - partition.pending_control_bytes() as i64;
        conservation.delivered += partition.accounts.delivered_bytes;
        conservation.lost += (partition.accounts.jobs.iter())
            .map(|job| job.bytes_lost)
            .sum::<u64>();
        conservation.in_flight += partition.packets.live_bytes() + partition.accounts.leaving_bytes;
        loopback_bytes += partition.accounts.loopback_bytes;
        attribution.append(&mut partition.attribution(end));
        messages.append(&mut partition.accounts.messages);
        for rank in &mut partition.ranks.all {
            rank_intervals.append(&mut rank.take_intervals());
        }
    }
    attribution.sort_unstable_by_key(|link: &LinkAttribution| link.link);
    rank_intervals.sort_unstable_by_key(|i: &RankInterval| (i.job, i.rank, i.begin));
    conservation.in_flight = conservation.in_flight.wrapping_add_signed(loopback_bytes);
    if conservation.created
        != conservation.delivered
            + conservation.backlog
            + conservation.in_flight
            + conservation.lost
        || control != 0
    {
        return Err(SimError::NotConserved(conservation));
    }
    messages.sort_unstable_by_key(odonata_run::MessageRecord::order);
    Ok(Outcome {
        messages,
        rank_intervals,
        attribution,
        arrivals: Arrival::sum(partitions.iter().map(|p| p.probe.arrivals())),
        conservation,
        reconfigurations,
        ..measured(shared, &partitions, end)?
    })
}

/// What has been measured up to `end`, without what [`finish`] adds.
fn measured<M: Model>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, M>>],
    end: u64,
) -> Result<Outcome, SimError> {
    let mut ports = vec![LinkOutcome::default(); shared.topology.ports()];
    let mut injection = vec![LinkOutcome::default(); shared.topology.nodes()];
    let mut traffic = Vec::new();
    let mut held_pairs = Vec::new();
    let mut storage = Vec::new();
    let mut parallelism = Vec::new();
    for partition in partitions {
        held_pairs.append(&mut partition.protocol.held_pairs(partition.warmup, end));
        for index in 0..partition.ports.all.len() {
            let outcome = link_outcome(shared, partition, index, end)?;
            if index < partition.ports.of_routers {
                ports[partition.base_port as usize + index] = outcome;
            } else {
                let node = partition.interfaces.all[index - partition.ports.of_routers].node;
                injection[node as usize] = outcome;
            }
        }
        for rank in &partition.ranks.all {
            storage.extend(rank.server_use());
            parallelism.extend(rank.shares(end));
            let (job, source) = (rank.job, RankId(rank.rank));
            traffic.extend(rank.traffic().map(|(destination, traffic)| PairTraffic {
                job,
                source,
                destination,
                traffic,
            }));
        }
    }
    storage.sort_unstable_by_key(|server: &ServerUse| (server.job, server.rank));
    parallelism.sort_unstable_by_key(|s: &RankShare| (s.job, s.rank, s.parallelism));
    held_pairs.sort_unstable_by_key(|pair: &HeldPair| (pair.source, pair.destination));
    traffic.sort_unstable_by_key(|t: &PairTraffic| (t.job, t.source, t.destination));
    let sum = |of: fn(&Partition<'_, M>) -> u64| partitions.iter().map(|p| of(p)).sum::<u64>();
    Ok(Outcome {
        end: Picoseconds(end),
        warmup: Picoseconds(partitions[0].warmup),
        jobs: job_outcomes(shared, partitions, end),
        ports,
        injection,
        messages: Vec::new(),
        rank_intervals: Vec::new(),
        traffic,
        attribution: Vec::new(),
        storage,
        parallelism,
        held_pairs,
        arrivals: Vec::new(),
        conservation: Conservation::default(),
        reconfigurations: Vec::new(),
        packet_hops: sum(|p| p.accounts.packet_hops),
        resent_bytes: sum(|p| p.accounts.resent_bytes),
        events: sum(|p| p.accounts.events),
        peak_packets: sum(|p| p.packets.peak() as u64),
        bytes_per_packet: Packets::bytes_per_packet() as u64,
        bytes_per_port: partitions[0].bytes_per_port() as u64,
        timeline: TimelineCollector::merge(partitions.iter().map(|p| &p.accounts.timeline)),
    })
}

/// When the last job with an end was over; where one was aborted, what was on its way as well.
fn last_end<M: Model>(partitions: &[Box<Partition<'_, M>>]) -> u64 {
    let jobs = partitions.iter().flat_map(|p| &p.accounts.jobs);
    let aborts = jobs.clone().any(|job| job.aborted.is_some());
    let events = partitions.iter().map(|p| p.latest_event);
    let still = events.filter(|_| aborts).max();
    let ends = jobs.map(|job| match job.has_end {
        true => job.last_finish.max(job.last_delivery),
        false => job.last_finish,
    });
    ends.max().max(still).unwrap_or(0)
}

/// What a port of a partition has sent by the `end` of the run.
///
/// # Errors
/// If that is more than its link carries in the time.
fn link_outcome<M: Model>(
    shared: &Shared<'_>,
    partition: &Partition<'_, M>,
    index: usize,
    end: u64,
) -> Result<LinkOutcome, SimError> {
    let unsent = partition.unsent(index, end);
    let mut port = partition.ports.all[index];
    if port.stalled_since != port::NEVER {
        port.end_stall(end, partition.warmup);
    }
    let class = &shared.classes[port.class as usize];
    let bytes = port.bytes.saturating_sub(unsent);
    let measured = end.saturating_sub(partition.warmup);
    // What is cut at a border of the measured time is rounded to a byte, and the
    // duration of every packet to a picosecond.
    let least = class.rate.bandwidth.duration_of(bytes.saturating_sub(1)).0;
    if least > measured + u64::from(port.packets) + 1 {
        let class = &shared.topology.link_classes[port.class as usize];
        return Err(SimError::Overfull {
            class: class.name.clone(),
            bytes,
            measured: Picoseconds(measured),
        });
    }
    Ok(LinkOutcome {
        bytes,
        packets: u64::from(port.packets),
        busy_ps: class.rate.bandwidth.duration_of(bytes).0.min(measured),
        stall_ps: port.stall,
    })
}

/// An error if a job with an end would go on after the largest simulated time.
fn in_time<M: Model>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, M>>],
) -> Result<(), SimError> {
    if !shared.ends_with_jobs || !partitions.iter().any(|p| p.goes_on()) {
        return Ok(());
    }
    let is_late = |job: usize, plan: &JobPlan| match &plan.load {
        JobLoad::Closed(_) => {
            let ranks = partitions.iter().flat_map(|p| &p.ranks.all);
            ranks
                .filter(|rank| rank.job as usize == job)
                .any(|rank| !rank.is_finished())
        }
        JobLoad::Open(_) => {
            let shares = partitions.iter().map(|p| &p.accounts.jobs[job]);
            let to_come = shares
                .filter(|share| share.has_end)
                .fold(0u64, |sum, share| {
                    sum.wrapping_add(share.messages_to_come)
                        .wrapping_sub(share.messages_delivered)
                });
            to_come != 0
        }
    };
    let mut jobs = shared.jobs.iter().enumerate();
    match jobs.find(|&(job, plan)| is_late(job, plan)) {
        None => Ok(()),
        Some((_, plan)) => Err(SimError::TooLong {
            job: plan.name.clone(),
        }),
    }
}
