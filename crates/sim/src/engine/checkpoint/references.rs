//! What the records of a saved state refer to: [`restore`](super::restore) puts nothing in place
//! that has not been through here. Each record is checked field by field (see
//! [`sound`](super::sound)); the functions check what concerns several of them.

mod router;

use odonata_mpi::matching::{Arrived, Envelope, Line, Matching, Posted, Unmatched, Wanted};
use odonata_mpi::{
    Outgoing, Processor, RankRecord, Reply, Sending, ServerRecord, Shares, Stage, Task,
};
use odonata_network::PacketRoute;
use odonata_run::{
    Activity, Arrival, ClassBytes, Histogram, JobAtLink, JobLoad, JobWait, MediumState,
    MessageRecord, RankInterval, RankTimes, ServerCounts, Share, Timeline, Traffic,
};

use super::sound::{Checked, Here, LATEST, MOST, Numbers, Sound, ensure, sound};
use super::{SourceRecord, Whole};
use crate::engine::flows::Flowlet;
use crate::engine::interface::{Interface, OutMessage};
use crate::engine::measure::JobCollector;
use crate::engine::message_routes::Decision;
use crate::engine::packets::{Contents, Packet};
use crate::engine::port::Port;
use crate::engine::probe::{Channel, LinkWatch};
use crate::engine::protocol::{
    Account, Control, EcnSender, HpccSender, InfinibandSender, Member, Meter, NodeState, Note,
    Notice, Pair, PortState, SlingshotSender, WindowSender,
};
use crate::engine::scheduler::{LinkShares, Turn};
use crate::engine::shared::Shared;
use crate::engine::switch::Side;

pub(super) use router::{AtNode, AtRouter};

/// What is wrong where a message has a class of traffic that there is not.
const CLASS: &str = "the class of a message";
/// Processors of a rank are named by eight bits.
const MOST_PROCESSORS: usize = 1 << 8;

// The run as a whole. Circuits are checked where they are taken up.
sound! {
    Whole {
        at: in_run "its time", warmup: in_run "the end of its warm-up", measure, latest_boundary,
        injected_bytes: amount "a sum of the whole run", delivered_bytes: amount "a sum of the whole run",
        leaving_bytes: amount "a sum of the whole run",
        loopback_bytes: amount "a sum of the whole run", control_bytes: amount "a sum of the whole run",
        packets_delivered: amount "a sum of the whole run", packet_hops: amount "a sum of the whole run",
        resent_bytes: amount "a sum of the whole run",
        events: amount "a sum of the whole run", last_move: past "the last move of a packet",
        jobs: each, timeline: each, routers, messages: amount "a sum of the whole run",
        arrivals: each, circuits,
    }
    // What is to come and what has an end follow from the job.
    JobCollector {
        messages_created: amount "a count of a job", messages_delivered: amount "a count of a job",
        bytes_created: amount "a count of a job", bytes_delivered: amount "a count of a job",
        bytes_delivered_measured: amount "a count of a job",
        bytes_created_measured: amount "a count of a job", classes: each,
        message_latency: distribution "a distribution of a job",
        packet_latency: distribution "a distribution of a job",
        single_latency: distribution "a distribution of a job",
        message_bytes: distribution "a distribution of a job",
        routers_visited: amount "the routers that packets of a job visited",
        iteration_end: past "the iterations of a job", last_finish: time "the end of a job",
        last_delivery: time "the end of a job", messages_to_come, has_end, unfinished,
        stimuli: amount "a count of a job",
        packets_lost: amount "a count of a job", bytes_lost: amount "a count of a job", gave_up,
        aborted: time "when a job was aborted",
    }
    ClassBytes {
        created: amount "a count of a job", delivered: amount "a count of a job",
        created_measured: amount "a count of a job", delivered_measured: amount "a count of a job",
    }
    Timeline { bin, activity: each }
    Activity {
        injected_bytes: amount "the timeline", delivered_bytes: amount "the timeline",
        messages: amount "the timeline", latency_ps: amount "the timeline",
    }
    Arrival {
        begin: time "the time of an arrival", router: router "the router of an arrival",
        class: class "the link class of an arrival", job: job "the job of an arrival", direction,
        bytes: amount "the bytes of an arrival", packets: amount "the bytes of an arrival",
    }
    MessageRecord {
        job: job "the job of a recorded message", source_rank: rank "a rank of a recorded message",
        destination_rank: rank "a rank of a recorded message",
        source: node "a node of a recorded message", destination: node "a node of a recorded message",
        bytes, created, delivered: time "a time of a recorded message",
    }
}

// Ports, packets and nodes. What is wired is not taken over, nor the neighbours of a packet in a
// queue, which follow from the queue; what a route says beside its destination is the algorithm's,
// whose look-ups are all checked.
sound! {
    Port {
        free_at: time "when a link is free",
        stalled_since: time_or_never "since when a link is stalled", bytes: amount "what a link sent",
        stall: amount "what a link sent", packets, queued, downstream, peer_port, peer_router, waiting,
        class, served: channel "the channel that a link served", wake,
        sending: packet_size "the packet on a link",
    }
    Side {
        input_free: time "when a crossbar port is free",
        output_free: time "when a crossbar port is free", sending,
        sending_vc: channel "the channel that a crossbar port sends", input_wake, output_wake,
        granted, short,
    }
    PacketRoute {
        destination_router: router "the destination of a packet", destination_port, waypoint,
        intermediate, phase, vc: routed_channel "the channel of a packet's route",
    }
    Packet {
        job: job "the job of a packet", created: past "when a packet's message was created",
        tail: time "when a packet's tail arrives", size: packet_size "the size of a packet", next,
        upstream_router, source: node "the node that sent a packet", sequence, upstream_port, out_port,
        routers: visited "the routers that a packet visited", upstream_class: class "the class of a link",
        lane: channel "the channel of a packet", out_vc: channel "the next channel of a packet", bare,
        route: each,
    }
    Contents {
        losses,
        message_bytes: amount "the size of a message", message, job: job "the job of a message",
        source_rank: rank "the sender of a message", destination_rank: rank "the receiver of a message",
        context, tag, sequence, destination, handle, kind,
        class: traffic_class "the class of a message",
    }
    Decision {
        route: each, out_port, out_vc: channel "the channel of a decision",
        missing: some "the bytes that a decision is for",
    }
    Interface {
        node, router, terminal, class, open_active, outgoing, sources, packets, messages,
        ready_at: time_or_never "when a node may send", loopback_free: time "when a node may send",
        wake_at: time_or_never "when a node wakes",
    }
    OutMessage {
        bytes_left, created: past "when a waiting message was created", local_rank, request, contents,
    }
    Flowlet { left: time "when a flow last sent", pauses }
    LinkShares { turns: each, woken_at: time_or_never "when a class may send" }
    Turn {
        due: time "when a class may send", may: time "when a class may send",
        deficit: amount "the round of a class", served: channel "the channel that a link served", round_of,
    }
    SourceRecord { message, time: time_or_never "when a source goes on" }
    LinkWatch {
        since: time "the time of a watched link", busy_until: time "the time of a watched link",
        sender: job "the sender at a watched link", waiting, channels: each, jobs: each, waits: each,
    }
    Channel {
        vc: channel "a channel of a watched link", job: job "a channel of a watched link", waiting, held,
    }
    JobAtLink {
        job: job "a job at a watched link", bytes: amount "a watched link",
        packets: amount "a watched link", stall_ps: amount "a watched link",
        router_ps: amount "a watched link",
    }
    JobWait {
        job: job "a wait at a watched link", by: job "a wait at a watched link",
        sending_ps: amount "a watched link", blocking_ps: amount "a watched link",
    }
}

// Protocols. What a control is of is checked with the scheme of the run.
sound! {
    Note { way: amount "the way of a packet", marked, load }
    Notice {
        at: time "when a node hears", from: node "of whom a node hears", bytes,
        window: time_or_never "a window", load,
    }
    PortState { unmarked, meter: each }
    Meter {
        since: past "the measurement of a link", sent: amount "the measurement of a link", used,
    }
    Member {
        source: node "a node that is held back", since: past "when a packet of a node last came",
        window: time_or_never "a window",
    }
    Account {
        notifications: amount "the account of a pair", held_since: time_or_never "the account of a pair",
        held_ps: amount "the account of a pair", held_bytes: amount "the account of a pair",
    }
    WindowSender { under_way: amount "what a node has under way" }
    SlingshotSender {
        under_way: amount "what a node has under way", window: time_or_never "a window",
    }
    InfinibandSender {
        index, since: past "when a node last sent", next: time "when a node may send",
    }
}

impl Sound for EcnSender {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        let Self {
            rate,
            target,
            alpha,
            next,
            decayed_at,
            raised_at,
            bytes,
            by_time: _,
            by_bytes: _,
        } = self;
        let rates = [rate, target];
        let possible = |rate: &f64| (1.0..=1e18).contains(rate);
        ensure(rates.into_iter().all(possible), "the rate of a pair")?;
        ensure((0.0..=1.0).contains(alpha), "the congestion of a pair")?;
        ensure(here.time(next), "when a node may send")?;
        ensure(
            here.past(decayed_at) && here.past(raised_at),
            "the timers of a pair",
        )?;
        ensure(here.amount(bytes), "what a node has sent")
    }
}

impl Sound for HpccSender {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        let Self {
            under_way,
            sent,
            sent_then,
            window,
            reference,
            load,
            increases: _,
            heard_at,
            next,
        } = self;
        let windows = [window, reference];
        let possible = |bytes: &f64| (1.0..=1e18).contains(bytes);
        ensure(windows.into_iter().all(possible), "the window of a pair")?;
        ensure((0.0..=1e6).contains(load), "the load of a pair's way")?;
        ensure(
            here.amount(sent) && under_way <= sent && sent_then <= sent,
            "what a node has sent",
        )?;
        ensure(here.past(heard_at), "when a node last heard")?;
        ensure(here.time(next), "when a node may send")
    }
}

impl Sound for Pair {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        let Self {
            to,
            awaited,
            control,
            account,
        } = self;
        ensure(here.node(to), "a node that another sends to")?;
        ensure(*awaited <= here.shared.packet, "a packet that waits")?;
        ensure(
            self.is_of(&here.shared.config.nic.congestion_control),
            "the scheme of a pair",
        )?;
        account.check(here)?;
        match control {
            Control::Window(sender) => sender.check(here),
            Control::Ecn(sender) => sender.check(here),
            Control::Hpcc(sender) => sender.check(here),
            Control::Infiniband(sender) => sender.check(here),
            Control::Slingshot(sender) => sender.check(here),
        }
    }
}

impl Sound for NodeState {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        let Self {
            pairs,
            inbox,
            notified,
            members,
        } = self;
        pairs.check(here)?;
        inbox.check(here)?;
        members.check(here)?;
        let ordered = members.is_sorted_by_key(|member| member.source);
        ensure(ordered, "the nodes that are held back")?;
        for (source, time) in notified {
            ensure(here.node(source), "a node that was notified")?;
            ensure(here.time(time), "when a node was notified")?;
        }
        Ok(())
    }
}

// Ranks. Requests are the program's, handles the sender's; `last_to` is compared with ranks and
// never looked up; processors are made as they are named, and so are the courses of their noise, whose
// times no forged value makes go back.
sound! {
    RankRecord {
        stage, processors: each, waiting, collective, iterations, activity,
        since: time "since when a rank does something", times: each,
        cause: rank "the cause of a rank's wait", intervals: each, traffic: each, matching: each, granted,
        held: each, unfinished: each, next_handle, last_to, delayed: each, leaving, server: each,
        noise, shares: each,
    }
    ServerRecord { medium: each, replies: each, counts: each }
    Shares { now, all: each }
    Share {
        messages: amount "counts of a parallelism", bytes: amount "counts of a parallelism",
        exposed_ps: amount "counts of a parallelism",
    }
    MediumState {
        free_at: time "when a medium is free", read_at: time "when a medium is free",
        drained_at: time "when a burst buffer is empty",
    }
    Reply {
        to: rank "whom a server answers", class: traffic_class "the class of a message", handle, read_bytes: amount "the bytes that a server gives",
    }
    ServerCounts {
        writes: amount "counts of a server", reads: amount "counts of a server",
        written_bytes: amount "counts of a server", read_bytes: amount "counts of a server",
        busy_ps: amount "counts of a server", queued_ps: amount "counts of a server",
        first_ps: past "a time of a server", last_ps: time "a time of a server",
    }
    Processor { task: each, until: time_or_never "when a processor is done", queue: each }
    RankTimes {
        outside_ps: amount "the times of a rank", collective_ps: amount "the times of a rank",
    }
    RankInterval {
        job: own_job "the rank of an interval", rank: own_rank "the rank of an interval", begin,
        end: time "the time of an interval", activity, collective,
        parallelism, cause: rank "the cause of an interval",
    }
    Traffic { messages: amount "counted messages", bytes: amount "counted messages" }
    Sending {
        bytes: amount "the size of a sent message", to: rank "the receiver of a sent message",
        envelope: own_envelope "the sender of a sent message", request, created,
        class: traffic_class "the class of a message",
    }
    Outgoing {
        kind, class: traffic_class "the class of a message",
        to: rank "the receiver of a delayed message",
        bytes: amount "the size of a delayed message", context, tag, sequence, handle, request, created,
    }
    Envelope { context, source: rank "the sender of a message", tag }
    Wanted { context, source: rank "the sender that a receive is for", tag }
    Posted { request, processor }
}

impl Sound for Task {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        match self {
            Task::Compute(_) | Task::TakeIn(_) | Task::EnterLate => Ok(()),
            Task::HandOver(sending) => sending.check(here),
            Task::HandOverPut {
                to, bytes, class, ..
            } => {
                ensure(here.traffic_class(class), CLASS)?;
                ensure(here.amount(bytes), "the size of a write")?;
                ensure(here.rank(to), "where a rank writes")
            }
            Task::HandOverGet {
                from, bytes, class, ..
            } => {
                ensure(here.traffic_class(class), CLASS)?;
                ensure(here.amount(bytes), "the size of a read")?;
                ensure(here.rank(from), "where a rank reads")
            }
            Task::TakeInAndFinish { to, class, .. } => {
                ensure(here.traffic_class(class), CLASS)?;
                ensure(here.rank(to), "the sender of a message that is taken in")
            }
            Task::Grant { to, class, .. } => {
                ensure(here.traffic_class(class), CLASS)?;
                ensure(here.rank(to), "whom a rank grants")
            }
        }
    }
}

impl Sound for Arrived {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        match self {
            Arrived::Message { bytes, .. } => ensure(here.amount(bytes), "the size of a message"),
            Arrived::Request { class, .. } => ensure(here.traffic_class(class), CLASS),
        }
    }
}

impl Sound for Unmatched {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        fn line<T: Sound>(line: &Line<T>, here: &Here<'_, '_>) -> Checked {
            let Line { first, others } = line;
            first.1.check(here)?;
            others.check(here)
        }
        match self {
            Unmatched::Posted(all) => line(all, here),
            Unmatched::Arrived(all) => line(all, here),
        }
    }
}

impl Sound for Matching {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        let Matching {
            lines,
            wildcards,
            next: _,
            sent,
            come,
            ahead,
        } = self;
        lines.keys().try_for_each(|envelope| envelope.check(here))?;
        lines.check(here)?;
        for (_, wanted, posted) in wildcards {
            wanted.check(here)?;
            posted.check(here)?;
        }
        let mut others = sent.keys().chain(come.keys());
        let there = others.all(|(_, other)| here.rank(other));
        ensure(there, "the other side of ordered messages")?;
        for ((_, source, _), (envelope, arrived)) in ahead {
            ensure(here.rank(source), "the sender of an early message")?;
            envelope.check(here)?;
            arrived.check(here)?;
        }
        Ok(())
    }
}

/// A rank; `runs`: whether a state of its program is saved.
fn rank(here: &Here<'_, '_>, record: &RankRecord, runs: bool) -> Checked {
    let stage = (record.stage == Stage::Running) == runs;
    ensure(stage, "the program of a rank")?;
    let processors = record.processors.len() <= MOST_PROCESSORS;
    ensure(processors, "the processors of a rank")?;
    let mut receivers = record.traffic.keys();
    let there = receivers.all(|to| here.rank(to));
    ensure(there, "the receiver of counted messages")?;
    let mut senders = record.granted.keys();
    let there = senders.all(|key| here.rank(&(*key as u32)));
    ensure(there, "the sender of a granted message")?;
    let mut intervals = record.intervals.iter();
    let order = intervals.all(|interval| interval.begin <= interval.end);
    ensure(order, "the time of an interval")?;
    record.check(here)
}

/// What concerns the run as a whole; `boundary`: the time between two boundaries.
pub(super) fn whole(shared: &Shared<'_>, boundary: u64, whole: &Whole) -> Checked {
    let here = Here::new(shared, whole.at);
    let window = 1 << shared.window_shift();
    ensure(whole.at.is_multiple_of(window), "its time")?;
    whole.check(&here)?;
    let latest = whole.latest_boundary;
    let latest = latest.is_none_or(|number| number <= whole.at / boundary);
    ensure(latest, "its latest boundary")?;
    let routers = whole.routers == shared.topology.routers() as u64;
    ensure(routers, "its routers")?;
    ensure(whole.jobs.len() == shared.jobs.len(), "its jobs")?;
    for (collector, plan) in whole.jobs.iter().zip(shared.jobs) {
        let iterations = match &plan.load {
            JobLoad::Open(_) => 0,
            JobLoad::Closed(program) => program.iterations() as usize,
        };
        let ends = collector.iteration_end.len() == iterations;
        ensure(ends, "the iterations of a job")?;
        let visited = collector.routers_visited.len() <= usize::from(u16::MAX) + 1;
        ensure(visited, "the routers that packets of a job visited")?;
        // They are counted at the end.
        ensure(collector.unfinished == 0, "the unfinished ranks of a job")?;
    }
    let Timeline { bin, activity } = &whole.timeline;
    let width = match shared.measurement.timeline_bin {
        Some(width) => *bin == width,
        None => (1..=LATEST).contains(&bin.0),
    };
    ensure(width, "the width of the timeline")?;
    let jobs = activity.len().is_multiple_of(shared.jobs.len().max(1));
    ensure(jobs, "the jobs of the timeline")
}

/// A recorded message.
pub(super) fn message(shared: &Shared<'_>, message: &MessageRecord) -> Checked {
    message.check(&Here::new(shared, LATEST).of_job(message.job))?;
    ensure(
        message.created <= message.delivered,
        "a time of a recorded message",
    )
}

impl Here<'_, '_> {
    fn in_run(&self, times: &impl Numbers) -> bool {
        times.all(|time| time <= self.shared.stop)
    }

    /// The envelope of a message that the rank sends itself.
    fn own_envelope(&self, envelope: &Envelope) -> bool {
        self.own_rank(&envelope.source)
    }

    fn distribution(&self, histogram: &Histogram) -> bool {
        histogram.is_sound(MOST)
    }
}
