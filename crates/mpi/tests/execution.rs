//! What ranks do on an engine as simple as one can be: every message takes the same time and
//! leaves its node when it is sent, so that the times are sums of a few numbers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};

use odonata_load::collective::Algorithms;
use odonata_load::{
    Action, Asynchronously, Calls, CollectiveKind, Context, Cursor, Division, Handle, Idle, Need,
    Operation, Phase, Phases, ProcessorId, Program, ProgramError, RankProgram, RequestId, Script,
    Step, Totals, Waiting,
};
use odonata_mpi::{
    Envelope, Failure, Incoming, Matched, MessageKind, NO_REQUEST, Outgoing, Rank, Transport,
    receive, sent, timer, unmatched,
};
use odonata_run::{
    ClassRule, Completion, HostCosts, JobClasses, JobLoad, JobPlan, Measurement, MessageRecords,
    Protocol, RankActivity, SimError,
};
use odonata_units::{Bytes, NodeId, Picoseconds, RankId};

/// From any node to any other.
const LATENCY: u64 = 1_000;
const SEND: u64 = 10;
const RECEIVE: u64 = 30;

/// What happens at a time of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Timer { rank: u32 },
    Sent { rank: u32, request: u32 },
    Arrive { message: usize },
}

/// The engine: one job, every rank on a node of its own.
struct Wire<'a> {
    plans: &'a [JobPlan],
    measurement: Measurement,
    ranks: Vec<Rank<'a>>,
    events: BinaryHeap<Reverse<(u64, usize, Event)>>,
    scheduled: usize,
    /// Sender, and when it was handed over.
    messages: Vec<(u32, u64, Outgoing)>,
    finished: Vec<u64>,
    matched: Vec<Matched>,
    failure: Option<Failure>,
}

impl Wire<'_> {
    fn schedule(&mut self, at: u64, event: Event) {
        self.events.push(Reverse((at, self.scheduled, event)));
        self.scheduled += 1;
    }
}

impl<'a> Transport<'a> for Wire<'a> {
    fn rank(&mut self, rank: u32) -> &mut Rank<'a> {
        &mut self.ranks[rank as usize]
    }
    fn plan(&self, job: u32) -> &'a JobPlan {
        &self.plans[job as usize]
    }
    fn measurement(&self) -> &Measurement {
        &self.measurement
    }
    fn number(&self, _job: u32, rank_of_job: u32) -> u32 {
        rank_of_job
    }
    fn on_one_node(&self, rank: u32, rank_of_job: u32) -> bool {
        rank == rank_of_job
    }
    fn matched(&mut self) -> &mut Vec<Matched> {
        &mut self.matched
    }
    fn wake(&mut self, rank: u32, at: u64) {
        self.schedule(at, Event::Timer { rank });
    }
    fn carry(&mut self, rank: u32, message: Outgoing, now: u64) {
        if message.request != NO_REQUEST {
            let request = message.request;
            self.schedule(now, Event::Sent { rank, request });
        }
        let arrive = Event::Arrive {
            message: self.messages.len(),
        };
        self.messages.push((rank, now, message));
        self.schedule(now + LATENCY, arrive);
    }
    fn count(&mut self, _job: u32, _message: (Bytes, u8), _created: u64) {}
    fn iteration_ended(&mut self, _job: u32, _iteration: u32, _now: u64) {}
    fn finished(&mut self, _job: u32, now: u64) {
        self.finished.push(now);
    }
    fn failure(&mut self) -> &mut Option<Failure> {
        &mut self.failure
    }
}

fn plan(load: impl Program + 'static, protocol: Protocol) -> [JobPlan; 1] {
    [JobPlan {
        name: "job".to_owned(),
        start: Picoseconds::ZERO,
        node_of_rank: (0..load.ranks()).map(NodeId).collect(),
        load: JobLoad::Closed(Arc::new(load)),
        protocol,
        classes: JobClasses::default(),
        servers: None,
    }]
}

fn run(plans: &[JobPlan]) -> Wire<'_> {
    let ranks = plans[0].node_of_rank.len() as u32;
    let mut wire = Wire {
        plans,
        measurement: Measurement {
            warmup: Picoseconds::ZERO,
            duration: None,
            timeline_bin: None,
            messages: MessageRecords::None,
            rank_intervals: true,
            traffic: true,
            attribution: false,
            arrivals: None,
        },
        ranks: (0..ranks).map(|rank| Rank::new(0, rank, rank)).collect(),
        events: BinaryHeap::new(),
        scheduled: 0,
        messages: Vec::new(),
        finished: Vec::new(),
        matched: Vec::new(),
        failure: None,
    };
    for rank in 0..ranks {
        wire.schedule(0, Event::Timer { rank });
    }
    while let Some(Reverse((now, _, event))) = wire.events.pop() {
        match event {
            Event::Timer { rank } => timer(&mut wire, rank, now),
            Event::Sent { rank, request } => sent(&mut wire, rank, RequestId(request), now),
            Event::Arrive { message } => {
                let (source, _, message) = wire.messages[message];
                let incoming = Incoming {
                    kind: message.kind,
                    class: message.class,
                    envelope: Envelope {
                        context: message.context,
                        source,
                        tag: message.tag,
                    },
                    bytes: message.bytes,
                    sequence: message.sequence,
                    handle: message.handle,
                    created: message.created,
                };
                receive(&mut wire, message.to, &incoming, now);
            }
        }
    }
    wire
}

/// A list of operations per rank.
struct Listed(Vec<Vec<Operation>>);

impl Script for Listed {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }
    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        let operation = self.0[rank.index()].get(cursor.position as usize);
        cursor.position += 1;
        operation.cloned().unwrap_or(Operation::Finish)
    }
    fn totals(&self) -> Option<Totals> {
        None
    }
    fn iterations(&self) -> u32 {
        0
    }
}

fn send(to: u32, bytes: u64) -> Operation {
    Operation::Do(Action::Send {
        to: RankId(to),
        bytes: Bytes(bytes),
        context: Context::default(),
        tag: 0,
    })
}

fn take(from: u32) -> Operation {
    Operation::Do(Action::Receive {
        from: Some(RankId(from)),
        context: Context::default(),
        tag: Some(0),
    })
}

fn asking() -> Protocol {
    Protocol {
        eager_limit: Some(Bytes(100)),
        costs: HostCosts {
            send_overhead: Picoseconds(SEND),
            receive_overhead: Picoseconds(RECEIVE),
            ..HostCosts::default()
        },
        ..Protocol::default()
    }
}

#[test]
fn a_long_message_is_asked_for_and_both_ranks_say_what_they_did_when() {
    use RankActivity::{Receive, Send, WaitToReceive, WaitToSend};
    let plans = plan(Listed(vec![vec![send(1, 5_000)], vec![take(0)]]), asking());
    let mut wire = run(&plans);
    // The overhead, the request, its grant, the grant's way back.
    let asked = SEND + LATENCY;
    let granted = asked + RECEIVE;
    let goes = granted + LATENCY;
    let comes = goes + LATENCY;
    assert_eq!(wire.finished, [goes, comes + RECEIVE]);
    let mut spent = |rank: usize| -> Vec<_> {
        let intervals = wire.ranks[rank].take_intervals().into_iter();
        let reported = intervals.map(|i| {
            let cause = i.cause.map(|(rank, time)| (rank.0, time.0));
            (i.begin.0, i.end.0, i.activity, cause)
        });
        reported.collect()
    };
    // What ends a wait is named with when its sender wanted to send it.
    let sender = [
        (0, SEND, Send, None),
        (SEND, goes, WaitToSend, Some((1, granted))),
    ];
    let receiver = [
        (0, asked, WaitToReceive, None),
        (asked, granted, Receive, None),
        (granted, comes, WaitToReceive, Some((0, 0))),
        (comes, comes + RECEIVE, Receive, None),
    ];
    assert_eq!(spent(0), sender);
    assert_eq!(spent(1), receiver);
    let sent: Vec<_> = wire.ranks[0].traffic().collect();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].0, sent[0].1.bytes), (RankId(1), 5_000));
}

/// A receiver that computes grants a message when it is done, or at once where messages go on beside.
#[test]
fn a_long_message_is_granted_while_its_receiver_computes() {
    let compute = 100 * (SEND + RECEIVE + LATENCY);
    let handle = Handle(0);
    let later = || {
        let Operation::Do(action) = take(0) else {
            unreachable!()
        };
        vec![
            Operation::Begin { action, handle },
            Operation::Compute(Picoseconds(compute)),
            Operation::Wait {
                handles: [handle].into(),
                need: Need::All,
            },
        ]
    };
    let ranks = || Listed(vec![vec![send(1, 5_000)], later()]);
    let granted = SEND + LATENCY + RECEIVE;
    let plans = plan(Asynchronously(ranks()), asking());
    assert_eq!(run(&plans).finished, [granted + LATENCY, compute]);
    let plans = plan(ranks(), asking());
    let granted = compute + RECEIVE;
    let comes = granted + 2 * LATENCY;
    assert_eq!(run(&plans).finished, [granted + LATENCY, comes + RECEIVE]);
}

/// A message is of the class of its collective, its phase or its job, and what is sent for it too.
#[test]
fn messages_have_the_class_of_what_sends_them() {
    use MessageKind::{Eager, Finished, Grant, Granted, Request};
    let long = || Phase::script(Listed(vec![vec![send(1, 5_000)], vec![take(0)]]));
    let sum = Arc::new(Algorithms::default().allreduce(Bytes(8), 2));
    let phases = vec![
        long(),
        Phase::OfClass(
            2,
            vec![
                long(),
                Phase::Collective(Division::all(2), Calls::Same(sum)),
            ],
        ),
    ];
    let mut plans = plan(Phases::new(2, phases, 1).unwrap(), asking());
    plans[0].protocol.completion = Completion::Acknowledged;
    plans[0].classes = JobClasses {
        rules: vec![ClassRule {
            class: 1,
            collective: Some(CollectiveKind::Allreduce),
            up_to: Some(Bytes(8)),
        }],
        of_phases: 1 << 2,
        ..JobClasses::all(3)
    };
    let wire = run(&plans);
    let found: Vec<_> = wire
        .messages
        .iter()
        .map(|(.., m)| (m.kind, m.class))
        .collect();
    let all = [Request, Grant, Granted, Finished].map(|kind| [(kind, 3), (kind, 2)]);
    let mut expected: Vec<_> = all.into_iter().flatten().collect();
    expected.extend([(Eager, 1); 2]);
    for one in &expected {
        let count = |list: &[(MessageKind, u8)]| list.iter().filter(|other| *other == one).count();
        assert_eq!(count(&found), count(&expected), "{one:?} of {found:?}");
    }
    assert_eq!(found.len(), expected.len());
    assert_eq!(plans[0].classes.bits(), 0b1110);
}

#[test]
fn delayed_messages_do_not_wait_for_each_other() {
    let delay = 500;
    let protocol = Protocol {
        send_delay: Picoseconds(delay),
        ..asking()
    };
    // The sender goes on with the second as soon as it has handed over the first.
    let begin = |bytes| Operation::Send {
        to: RankId(1),
        bytes: Bytes(bytes),
        tag: 0,
    };
    let post = || Operation::Receive {
        from: RankId(0),
        tag: 0,
    };
    let listed = Listed(vec![
        vec![begin(10), begin(20), Operation::WaitAll],
        vec![post(), post(), Operation::WaitAll],
    ]);
    let plans = plan(listed, protocol);
    let wire = run(&plans);
    let handed_over = wire.messages.iter();
    let handed_over: Vec<_> = handed_over.map(|&(_, at, m)| (at, m.bytes)).collect();
    assert_eq!(handed_over, [(SEND + delay, 10), (2 * SEND + delay, 20)]);
    // The second comes while the first is taken in, which takes longer than sending.
    let first_comes = SEND + delay + LATENCY;
    assert_eq!(wire.finished, [2 * SEND + delay, first_comes + 2 * RECEIVE]);
}

#[test]
fn what_nobody_sends_is_named() {
    let plans = plan(Listed(vec![vec![], vec![take(0)]]), asking());
    let wire = run(&plans);
    let Err(error) = unmatched(wire.plans, wire.ranks.iter()) else {
        panic!("no error");
    };
    match error {
        SimError::Unmatched {
            rank,
            blocked,
            waits_for,
            ..
        } => {
            assert_eq!((rank, blocked), (1, 1));
            assert_eq!(waits_for, "a message from rank 0 with tag 0");
        }
        other => panic!("{other}"),
    }
}

/// Computes on two processors for equally long, and notes which are idle whenever it is
/// asked.
struct Twice(Arc<Mutex<Vec<Idle>>>);

struct Two {
    seen: Arc<Mutex<Vec<Idle>>>,
    begun: u8,
    complete: u8,
}

impl Program for Twice {
    fn ranks(&self) -> u32 {
        1
    }
    fn processors(&self) -> u8 {
        2
    }
    fn start(&self, _: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        let seen = Arc::clone(&self.0);
        Ok(Box::new(Two {
            seen,
            begun: 0,
            complete: 0,
        }))
    }
    fn totals(&self) -> Option<Totals> {
        None
    }
    fn iterations(&self) -> u32 {
        0
    }
}

impl RankProgram for Two {
    fn next(&mut self, idle: Idle) -> Result<Step, ProgramError> {
        self.seen.lock().expect("one thread").push(idle);
        let number = self.begun;
        Ok(match (number, self.complete) {
            (0 | 1, _) => {
                self.begun += 1;
                Step::Begin {
                    action: Action::Compute(Picoseconds(700)),
                    request: RequestId(number.into()),
                    processor: ProcessorId(number),
                }
            }
            (_, 2) => Step::Finish,
            _ => Step::Wait(Waiting::Processor),
        })
    }
    fn complete(&mut self, _: RequestId) {
        self.complete += 1;
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn restore(&mut self, _: &[u8]) -> Result<(), ProgramError> {
        Ok(())
    }
}

#[test]
fn a_program_goes_on_when_all_that_ends_at_a_time_has_ended() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let plans = plan(Twice(Arc::clone(&seen)), Protocol::default());
    let wire = run(&plans);
    assert_eq!(wire.finished, [700]);
    let both = Idle::NONE.and(ProcessorId(0)).and(ProcessorId(1));
    let second = Idle::NONE.and(ProcessorId(1));
    // At the beginning, with the first processor busy, and when both are done: never with
    // only one of them done.
    assert_eq!(*seen.lock().expect("one thread"), [both, second, both]);
}
