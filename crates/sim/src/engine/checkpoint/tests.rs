//! States of a small run with everything in it, of which one reference after the other is
//! put out of range.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use odonata_load::motif::{AllToAll, Repeat};
use odonata_load::{Arrivals, OpenLoop, Pattern, Process};
use odonata_mpi::matching::Unmatched;
use odonata_mpi::{RankRecord, Task};
use odonata_network::routing::{Algorithm, AnyRouting, RoutingSpec};
use odonata_network::topology::{Topology, edge_list};
use odonata_run::MessageRecord;
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds, RankId, RouterId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{About, EventRecord, NodeRecord, Parcel, RouterRecord, Whole};
use crate::engine::calendar::Kind;
use crate::engine::shared::{CREDIT_FOR_INTERFACE, CREDIT_VC_SHIFT};
use crate::run_any;
use odonata_run::{
    Arbitration, ArrivalRecords, CongestionControl, CreditUse, Crossbar, CrossbarRate, Decisions,
    EngineConfig, HostCosts, InjectionOrder, JobLoad, JobPlan, Measurement, MessageRecords,
    NicModel, Observer, OccupancyCount, PausedRun, Progress, Protocol, Room, RouterModel, SimError,
    Switching, Wish,
};

const RATE: u64 = 8_000_000_000;

/// Three routers in a ring with two nodes each; a port of the first leads nowhere.
fn network() -> Topology {
    let text = format!(
        "class terminal terminal {RATE} 10000 1024\nclass local local {RATE} 10000 1024\n\
         routers 0 2 group 0\nnodes 2 0\nnodes 2 1\nnodes 2 2\n\
         link 0 1 local\nlink 1 2 local\nlink 2 0 local\nunconnected 0:4 local\n"
    );
    edge_list::import(&text, &[]).expect("a ring")
}

/// Six ranks exchange messages long enough to be asked for, beside traffic of as many.
fn jobs() -> [JobPlan; 2] {
    let job = |name: &str, load| JobPlan {
        name: name.to_owned(),
        start: Picoseconds(0),
        node_of_rank: (0..6).map(NodeId).collect(),
        load,
        protocol: Protocol {
            eager_limit: Some(Bytes(500)),
            control: Bytes(16),
            costs: HostCosts {
                send_overhead: Picoseconds(50_000),
                receive_overhead: Picoseconds(50_000),
                ..HostCosts::default()
            },
            send_delay: Picoseconds(60_000),
            ..Protocol::default()
        },
        classes: odonata_run::JobClasses::default(),
        servers: None,
    };
    let long = AllToAll::new(6, Bytes(900), 3, Repeat::ONCE).expect("an exchange");
    let rate = RATE as f64 * 0.7;
    let arrivals = Arrivals::from_rate(Bytes(700), rate, Process::Poisson).expect("a rate");
    let open = OpenLoop::new(Pattern::UniformRandom, arrivals, Bytes(700), 6).expect("a load");
    [
        job("exchange", JobLoad::Closed(Arc::new(long))),
        job("traffic", JobLoad::Open(open)),
    ]
}

fn config(crossbar: Crossbar) -> EngineConfig {
    EngineConfig {
        packet: Bytes(256),
        router: RouterModel {
            delay: Picoseconds(40_000),
            credit_delay: Picoseconds(0),
            credit_use: CreditUse::Link,
            occupancy: OccupancyCount::Buffered,
            switching: Switching::CutThrough { flit: Bytes(8) },
            crossbar,
            arbitration: Arbitration::RoundRobin,
            room: Room::Bytes,
            node_room: None,
        },
        nic: NicModel {
            injection: InjectionOrder::RoundRobin,
            loopback_latency: Picoseconds(100_000),
            loopback_bandwidth: Bandwidth::new(RATE).expect("in range"),
            congestion_control: CongestionControl::None,
        },
        decisions: Decisions::PerMessage,
        virtual_channels: None,
        classes: Vec::new(),
        losses: None,
        seed: 1,
        threads: 1,
    }
}

fn measurement() -> Measurement {
    Measurement {
        warmup: Picoseconds(0),
        duration: Some(Picoseconds(20_000_000)),
        timeline_bin: None,
        messages: MessageRecords::EveryNth(1),
        rank_intervals: true,
        traffic: true,
        attribution: true,
        arrivals: Some(ArrivalRecords {
            routers: vec![RouterId(1)],
            interval: Picoseconds(100_000),
        }),
    }
}

/// Saves the state at these times, the last first, and ends the run at the last.
struct SaveAt(Vec<Picoseconds>, Vec<Vec<u8>>);

impl Observer for SaveAt {
    fn progress(&mut self, _: &Progress) -> Wish {
        Wish::Continue
    }
    fn next_pause(&mut self) -> Option<Picoseconds> {
        self.0.pop()
    }
    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        let mut state = Vec::new();
        run.save(&mut state).expect("memory takes everything");
        self.1.push(state);
        match self.0.is_empty() {
            true => Err(SimError::Interrupted { at: run.at }),
            false => Ok(ControlFlow::Continue(())),
        }
    }
}

fn go_on(
    crossbar: Crossbar,
    state: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<(), SimError> {
    let topology = network();
    let routing = AnyRouting::new(&topology, &RoutingSpec::new(Algorithm::ShortestPath));
    let routing = routing.expect("a routing that fits");
    let mut state = state;
    let state = state.as_mut().map(|state| state as &mut dyn std::io::Read);
    let (config, measurement) = (config(crossbar), measurement());
    run_any(
        &topology,
        &routing,
        &config,
        &jobs(),
        &measurement,
        state,
        observer,
    )
    .map(drop)
}

/// A state in its parts.
struct State {
    whole: Whole,
    routers: Vec<RouterRecord>,
    messages: Vec<MessageRecord>,
}

impl State {
    fn of(bytes: &[u8]) -> Self {
        fn next<T: DeserializeOwned>(rest: &mut &[u8]) -> T {
            let (length, after) = rest.split_first_chunk::<4>().expect("a length");
            let (record, after) = after.split_at(u32::from_le_bytes(*length) as usize);
            *rest = after;
            postcard::from_bytes(record).expect("a record")
        }
        let mut rest = bytes;
        let whole: Whole = next(&mut rest);
        let routers = (0..whole.routers).map(|_| next(&mut rest)).collect();
        let mut messages = Vec::new();
        while !rest.is_empty() {
            messages.append(&mut next(&mut rest));
        }
        Self {
            whole,
            routers,
            messages,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        fn put<T: Serialize>(record: &T, out: &mut Vec<u8>) {
            let record = postcard::to_stdvec(record).expect("memory to write to");
            out.extend((record.len() as u32).to_le_bytes());
            out.extend(record);
        }
        let mut out = Vec::new();
        put(&self.whole, &mut out);
        self.routers.iter().for_each(|router| put(router, &mut out));
        if !self.messages.is_empty() {
            put(&self.messages, &mut out);
        }
        out
    }

    fn nodes(&mut self) -> impl Iterator<Item = &mut NodeRecord> {
        self.routers.iter_mut().flat_map(|router| &mut router.nodes)
    }

    fn ranks(&mut self) -> impl Iterator<Item = &mut RankRecord> {
        let ranks = self.nodes().flat_map(|node| &mut node.ranks);
        ranks.map(|(record, _)| record)
    }

    fn events(&mut self) -> impl Iterator<Item = &mut EventRecord> {
        self.routers
            .iter_mut()
            .flat_map(|router| &mut router.events)
    }

    fn numbers(&mut self, kind: Kind) -> impl Iterator<Item = &mut u32> {
        let events = self.events().filter(move |event| event.kind == kind);
        events.filter_map(|event| match &mut event.about {
            About::Number(payload) => Some(payload),
            _ => None,
        })
    }

    /// Packets in queues and FIFOs.
    fn queued(&mut self) -> impl Iterator<Item = &mut Parcel> {
        self.routers.iter_mut().flat_map(|router| {
            let channels = router.channels.iter_mut().map(|channel| &mut channel.queue);
            let fifos = router.fifos.iter_mut().map(|fifo| &mut fifo.queue);
            channels.chain(fifos).flatten()
        })
    }

    /// Packets about to arrive.
    fn arriving(&mut self) -> impl Iterator<Item = &mut Parcel> {
        let events = self.events().filter(|event| event.kind == Kind::Arrive);
        events.filter_map(|event| match &mut event.about {
            About::Packet(_, parcel) => Some(parcel),
            _ => None,
        })
    }

    fn tasks(&mut self) -> impl Iterator<Item = &mut Task> {
        self.ranks()
            .flat_map(|rank| &mut rank.processors)
            .flat_map(|processor| {
                let queue = processor.queue.iter_mut().map(|(_, task)| task);
                processor.task.iter_mut().chain(queue)
            })
    }
}

/// Changes the first of several; whether there is one.
fn first<'s, T: 's>(mut all: impl Iterator<Item = &'s mut T>, change: impl FnOnce(&mut T)) -> bool {
    all.next().map(change).is_some()
}

/// Puts a reference out of range, of which the error then says this; whether there is one.
type Change = (&'static str, fn(&mut State) -> bool);

const NOBODY: u32 = 1_000_000;

const CHANGES: &[Change] = &[
    ("its time", |s| {
        s.whole.at = u64::MAX;
        true
    }),
    ("its routers", |s| {
        s.whole.routers += 1;
        true
    }),
    ("its jobs", |s| s.whole.jobs.pop().is_some()),
    ("its latest boundary", |s| {
        s.whole.latest_boundary = Some(u64::MAX);
        true
    }),
    ("the iterations of a job", |s| {
        s.whole.jobs[0].iteration_end.push(0);
        true
    }),
    ("a distribution of a job", |s| {
        s.whole.jobs[0].message_bytes = odd_histogram();
        true
    }),
    ("the jobs of the timeline", |s| {
        s.whole.timeline.activity.pop().is_some()
    }),
    ("the width of the timeline", |s| {
        s.whole.timeline.bin = Picoseconds(0);
        true
    }),
    ("the router of an arrival", |s| {
        first(s.whole.arrivals.iter_mut(), |a| a.router = RouterId(NOBODY))
    }),
    ("the link class of an arrival", |s| {
        first(s.whole.arrivals.iter_mut(), |a| a.class = 200)
    }),
    ("the job of an arrival", |s| {
        first(s.whole.arrivals.iter_mut(), |a| a.job = NOBODY)
    }),
    ("the job of a recorded message", |s| {
        first(s.messages.iter_mut(), |m| m.job = NOBODY)
    }),
    ("a rank of a recorded message", |s| {
        first(s.messages.iter_mut(), |m| m.source_rank = NOBODY)
    }),
    ("a node of a recorded message", |s| {
        first(s.messages.iter_mut(), |m| m.destination = NodeId(NOBODY))
    }),
    ("its ports", |s| {
        first(s.routers.iter_mut(), |r| {
            r.ports.pop();
        })
    }),
    ("its virtual channels", |s| {
        first(s.routers.iter_mut(), |r| {
            r.channels.pop();
        })
    }),
    ("its nodes", |s| {
        first(s.routers.iter_mut(), |r| {
            r.nodes.pop();
        })
    }),
    ("its watched links", |s| {
        first(s.routers.iter_mut(), |r| {
            r.watches.pop();
        })
    }),
    ("its crossbar FIFOs", |s| {
        first(s.routers.iter_mut().filter(|r| !r.fifos.is_empty()), |r| {
            r.fifos.pop();
        })
    }),
    ("the channel that a link served", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.ports), |p| {
            p.served = 16
        })
    }),
    ("the channels of a port in which packets wait", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.ports), |p| {
            p.waiting ^= 1
        })
    }),
    ("the credits of a channel", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.channels), |l| {
            l.credits = u32::MAX
        })
    }),
    ("the bytes behind a port", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.ports), |p| {
            p.downstream += 1
        })
    }),
    ("the channel that a crossbar port sends", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.sides), |p| {
            p.sending_vc = 16
        })
    }),
    ("the request that was granted last", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.sides), |p| {
            p.granted = NOBODY
        })
    }),
    ("the request that an output waits for", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.sides), |p| {
            p.short = NOBODY
        })
    }),
    ("the room in an output buffer", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.fifos), |f| {
            f.room += 1
        })
    }),
    ("the destination of a packet", |s| {
        first(s.arriving(), |p| p.packet.route.destination_router = NOBODY)
    }),
    ("the destination of a packet", |s| {
        first(s.queued(), |p| p.packet.route.destination_port = 2)
    }),
    ("the channel of a packet", |s| {
        first(s.arriving(), |p| p.packet.lane = 16)
    }),
    ("the channel of a packet's route", |s| {
        first(s.arriving(), |p| p.packet.route.vc = 16)
    }),
    ("the job of a packet", |s| {
        first(s.arriving(), |p| p.packet.job = 9)
    }),
    ("the node that sent a packet", |s| {
        first(s.queued(), |p| p.packet.source = NOBODY)
    }),
    ("the next channel of a packet", |s| {
        first(s.queued(), |p| p.packet.out_vc = 16)
    }),
    ("the output of a packet on its way", |s| {
        first(s.arriving(), |p| p.packet.out_port = 0)
    }),
    ("the output of a packet", |s| {
        first(s.queued(), |p| p.packet.out_port = 60_000)
    }),
    // The port that leads nowhere, with the channels of which the packet would be.
    ("the output of a packet", |s| {
        first(
            s.routers[0].channels[..]
                .iter_mut()
                .flat_map(|l| &mut l.queue),
            |p| p.packet.out_port = 4,
        )
    }),
    ("where a packet came from", |s| {
        first(s.arriving(), |p| p.packet.upstream_router = NOBODY)
    }),
    ("where a packet came from", |s| {
        first(s.queued(), |p| p.packet.upstream_port = 60_000)
    }),
    // A port of another router than the one whose packets come in here.
    ("where a packet came from", |s| {
        first(s.arriving(), |p| {
            p.packet.upstream_router = (p.packet.upstream_router + 1) % 3
        })
    }),
    ("where a packet came from", |s| {
        first(s.arriving(), |p| p.packet.upstream_class ^= 1)
    }),
    ("the routers that a packet visited", |s| {
        first(s.arriving(), |p| p.packet.routers = u16::MAX)
    }),
    ("the message of a packet", |s| {
        first(s.arriving(), |p| p.contents = None)
    }),
    ("the sender of a message", |s| {
        first(s.queued(), |p| contents(p).source_rank = NOBODY)
    }),
    ("the receiver of a message", |s| {
        first(s.queued(), |p| contents(p).destination_rank = NOBODY)
    }),
    ("the node of a message's receiver", |s| {
        first(s.queued(), |p| contents(p).destination ^= 1)
    }),
    ("the node of a message's sender", |s| {
        first(s.queued(), |p| contents(p).source_rank ^= 1)
    }),
    ("the class of a message", |s| {
        first(s.queued(), |p| contents(p).class = 1)
    }),
    ("the class of a message", |s| {
        first(
            s.tasks().filter_map(|t| match t {
                Task::Grant { class, .. } => Some(class),
                _ => None,
            }),
            |class| *class = 200,
        )
    }),
    ("the class of a message", |s| {
        first(s.ranks().flat_map(|r| r.held.values_mut()), |held| {
            held.class = 1
        })
    }),
    ("the job of a message", |s| {
        first(s.queued(), |p| contents(p).job = 9)
    }),
    ("the output of a decision", |s| {
        first(decisions(s), |d| d.out_port = 60_000)
    }),
    ("the channel of a decision", |s| {
        first(decisions(s), |d| d.out_vc = 16)
    }),
    ("the message of a decision", |s| {
        first(
            s.routers.iter_mut().flat_map(|r| &mut r.message_routes),
            |d| d.1 = u64::MAX,
        )
    }),
    ("the port of an event", |s| {
        first(s.events(), |e| e.port = 4_000)
    }),
    ("the time of an event", |s| {
        first(s.events(), |e| e.delay = u64::MAX)
    }),
    ("the kind of an event", |s| {
        first(s.events().filter(|e| e.kind == Kind::Arrive), |e| {
            e.about = About::Number(0)
        })
    }),
    ("what a wake-up is for", |s| {
        first(s.numbers(Kind::Wake), |payload| *payload = 77)
    }),
    ("the channel of a credit", |s| {
        first(s.numbers(Kind::Credit), |payload| {
            *payload |= 15 << CREDIT_VC_SHIFT
        })
    }),
    ("whom a credit is for", |s| {
        first(s.numbers(Kind::Credit), |payload| {
            *payload ^= CREDIT_FOR_INTERFACE
        })
    }),
    ("the bytes of a credit", |s| {
        first(s.numbers(Kind::Credit), |payload| *payload |= 0xFFFF)
    }),
    ("the rank of an event", |s| {
        first(
            s.events().filter_map(|e| match &mut e.about {
                About::Rank(_, rank) => Some(rank),
                _ => None,
            }),
            |rank| *rank = NOBODY,
        )
    }),
    ("what happened to a rank", |s| {
        first(
            s.events().filter_map(|e| match &mut e.about {
                About::Rank(code, _) => Some(code),
                _ => None,
            }),
            |code| *code = 0,
        )
    }),
    ("what happened to a packet", |s| {
        first(
            s.events()
                .filter(|e| e.kind == Kind::Node)
                .filter_map(|e| match &mut e.about {
                    About::Packet(code, _) => Some(code),
                    _ => None,
                }),
            |code| *code = 2 << 27,
        )
    }),
    ("the receiver of a message", |s| {
        first(s.nodes().flat_map(|n| &mut n.outgoing), |m| {
            m.contents.destination_rank = NOBODY
        })
    }),
    ("the node of a message's sender", |s| {
        first(s.nodes().flat_map(|n| &mut n.outgoing), |m| {
            m.contents.source_rank ^= 1
        })
    }),
    ("what is left of a message", |s| {
        first(s.nodes().flat_map(|n| &mut n.outgoing), |m| {
            m.bytes_left = u64::MAX
        })
    }),
    ("the sources of a node", |s| {
        first(s.nodes(), |n| {
            n.sources.pop();
        })
    }),
    ("the ranks of a node", |s| {
        first(s.nodes(), |n| {
            n.ranks.pop();
        })
    }),
    ("the channels of a node's link", |s| {
        first(s.nodes(), |n| n.credits.clear())
    }),
    ("the credits of a node's link", |s| {
        first(s.nodes(), |n| n.credits[0] = u32::MAX)
    }),
    ("the sender of an incomplete message", |s| {
        first(s.nodes().flat_map(|n| &mut n.incomplete), |(key, _)| {
            *key = u64::MAX
        })
    }),
    ("the sender at a watched link", |s| {
        first(s.routers.iter_mut().flat_map(|r| &mut r.watches), |w| {
            w.sender = 9
        })
    }),
    ("a channel of a watched link", |s| {
        first(
            s.routers
                .iter_mut()
                .flat_map(|r| &mut r.watches)
                .flat_map(|w| &mut w.channels),
            |c| c.job = 9,
        )
    }),
    ("a wait at a watched link", |s| {
        first(
            s.routers
                .iter_mut()
                .flat_map(|r| &mut r.watches)
                .flat_map(|w| &mut w.waits),
            |w| w.by = NOBODY,
        )
    }),
    ("the program of a rank", |s| {
        first(s.nodes().flat_map(|n| &mut n.ranks), |(_, program)| {
            *program = program.is_none().then(Vec::new)
        })
    }),
    ("the cause of an interval", |s| {
        first(
            s.ranks()
                .flat_map(|r| &mut r.intervals)
                .filter(|i| i.cause.is_some()),
            |i| i.cause = Some((RankId(NOBODY), Picoseconds(0))),
        )
    }),
    ("the rank of an interval", |s| {
        first(s.ranks().flat_map(|r| &mut r.intervals), |i| i.job = NOBODY)
    }),
    ("the receiver of counted messages", |s| {
        first(s.ranks(), |r| {
            r.traffic.insert(u64::MAX, Default::default());
        })
    }),
    ("the sender of a granted message", |s| {
        first(s.ranks().filter(|r| !r.granted.is_empty()), |r| {
            let posted = *r.granted.values().next().expect("one");
            r.granted.insert(u64::MAX, posted);
        })
    }),
    ("the receiver of a sent message", |s| {
        first(s.ranks().flat_map(|r| r.held.values_mut()), |held| {
            held.to = NOBODY
        })
    }),
    ("the sender of a sent message", |s| {
        first(s.ranks().flat_map(|r| r.held.values_mut()), |held| {
            held.envelope.source = NOBODY
        })
    }),
    ("the receiver of a delayed message", |s| {
        first(s.ranks().flat_map(|r| &mut r.delayed), |(_, m)| {
            m.to = NOBODY
        })
    }),
    ("the receiver of a sent message", |s| {
        first(
            s.tasks().filter_map(|t| match t {
                Task::HandOver(sending) => Some(sending),
                _ => None,
            }),
            |sending| sending.to = NOBODY,
        )
    }),
    ("whom a rank grants", |s| {
        first(
            s.tasks().filter_map(|t| match t {
                Task::Grant { to, .. } => Some(to),
                _ => None,
            }),
            |to| *to = NOBODY,
        )
    }),
    ("the sender of a message", |s| {
        first(s.ranks().filter(|r| !r.matching.lines.is_empty()), |r| {
            let (envelope, line) = r.matching.lines.iter().next().expect("one");
            let (mut envelope, line): (_, Unmatched) = (*envelope, line.clone());
            envelope.source = NOBODY;
            r.matching.lines.insert(envelope, line);
        })
    }),
];

fn contents(parcel: &mut Parcel) -> &mut crate::engine::packets::Contents {
    parcel
        .contents
        .as_mut()
        .expect("no packet is bare where all messages are recorded")
}

fn decisions(
    state: &mut State,
) -> impl Iterator<Item = &mut crate::engine::message_routes::Decision> {
    let message_routes = state
        .routers
        .iter_mut()
        .flat_map(|router| &mut router.message_routes);
    message_routes.map(|(.., decision)| decision)
}

/// One that counts a value that it does not sum up.
fn odd_histogram() -> odonata_run::Histogram {
    let mut bytes =
        postcard::to_stdvec(&odonata_run::Histogram::default()).expect("memory to write to");
    // No counts, and a total of 1.
    bytes[1] = 1;
    postcard::from_bytes(&bytes).expect("a histogram")
}

fn states(crossbar: Crossbar) -> Vec<Vec<u8>> {
    let times = (1..24).rev().map(|n| Picoseconds(n * 97_000)).collect();
    let mut saving = SaveAt(times, Vec::new());
    let ended = go_on(crossbar, None, &mut saving);
    assert!(
        matches!(ended, Err(SimError::Interrupted { .. })),
        "{ended:?}"
    );
    saving.1
}

#[test]
fn a_state_with_any_reference_out_of_range_is_refused() {
    let bounded = Crossbar::Bounded {
        rate: CrossbarRate::Speedup(1.0),
        output_buffer: Bytes(512),
    };
    let mut left: BTreeSet<usize> = (0..CHANGES.len()).collect();
    for crossbar in [Crossbar::Ideal, bounded] {
        for saved in states(crossbar) {
            // It is read and written here as the engine does.
            assert!(State::of(&saved).bytes() == saved, "another state");
            let tried = std::mem::take(&mut left);
            for index in tried {
                let (field, change) = CHANGES[index];
                let mut state = State::of(&saved);
                if !change(&mut state) {
                    left.insert(index);
                    continue;
                }
                let changed = state.bytes();
                let mut silent = |_: &Progress| ControlFlow::Continue(());
                let error = go_on(crossbar, Some(&changed), &mut silent);
                let Err(SimError::State(why)) = error else {
                    panic!("{field} ({index}): {error:?}");
                };
                assert!(why.contains(field), "{field} ({index}): {why}");
            }
        }
    }
    let never: Vec<_> = left.iter().map(|&index| CHANGES[index].0).collect();
    assert!(never.is_empty(), "in no state: {never:?}");
}
