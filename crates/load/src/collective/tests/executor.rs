//! Carries out calls in a random order of steps and follows every byte: whose
//! contribution to it a member holds.

use odonata_units::Bytes;
use odonata_units::random::{Purpose, StreamKey};

use super::super::bine;
use super::super::data::{Blocks, Data};
use super::super::exchange::{Taking, before};
use super::super::{Act, CollectiveCall, Move};
use crate::communicator::Member;
use crate::cursor::Cursor;

/// When a send is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// When its receive is posted.
    Synchronous,
    /// At once; messages overtake each other.
    Buffered,
}

/// Whose data a member holds, a bit for each place. Of each byte; 0: it does not
/// have the byte.
pub type Held = Vec<u64>;

/// What the bytes of a call are.
pub enum Space {
    /// A vector, cut into blocks by the data of each phase.
    Vector,
    /// Bytes from place to place, by sender, then by receiver.
    Matrix(Vec<Vec<u64>>),
}

impl Space {
    pub fn len(&self, data: &Data) -> usize {
        match self {
            Self::Matrix(sizes) => sizes.iter().flatten().sum::<u64>() as usize,
            Self::Vector if *data == Data::Nothing => 1,
            Self::Vector => data.bytes(Blocks::All).0 as usize,
        }
    }

    /// The bytes of `blocks` that place `sender` sends.
    fn bytes(&self, data: &Data, blocks: Blocks, sender: u32) -> Vec<usize> {
        let pair = |sizes: &[Vec<u64>], from: u32, to: u32| {
            let (from, to) = (from as usize, to as usize);
            let before: u64 = sizes[..from].iter().flatten().sum();
            let first = before + sizes[from][..to].iter().sum::<u64>();
            (first as usize..(first + sizes[from][to]) as usize).collect::<Vec<_>>()
        };
        let mut bytes = match (self, blocks) {
            (Self::Matrix(sizes), Blocks::Pair { from, to }) => pair(sizes, from, to),
            (Self::Matrix(sizes), Blocks::Ways { distance, size }) => {
                // What has gone its way up to this bit came from that far behind.
                let ways = (0..size).filter(|way| way & distance != 0);
                ways.flat_map(|way| {
                    let from = (sender + size - way % distance) % size;
                    pair(sizes, from, (from + way) % size)
                })
                .collect()
            }
            (Self::Matrix(sizes), Blocks::Half { round, size }) => {
                let (sources, destinations) = bine::half(sender, size, round);
                let all = sources.iter().flat_map(|&from| {
                    let to = destinations.iter();
                    to.flat_map(move |&to| pair(sizes, from, to))
                });
                all.collect()
            }
            (Self::Vector, Blocks::All) => (0..self.len(data)).collect(),
            (Self::Vector, Blocks::Range { .. }) if *data == Data::Nothing => vec![0],
            (Self::Vector, Blocks::Range { first, count }) => (0..count)
                .flat_map(|at| {
                    let block = (first + at) % data.parts();
                    let before = data.bytes(Blocks::Range {
                        first: 0,
                        count: block,
                    });
                    let first = before.0 as usize;
                    first..first + data.bytes(Blocks::one(block)).0 as usize
                })
                .collect(),
            (Self::Vector, Blocks::Every { first, step, count }) => (0..count)
                .flat_map(|at| {
                    let block = before(first, at * step, data.parts());
                    self.bytes(data, Blocks::one(block), sender)
                })
                .collect(),
            (_, blocks) => panic!("{blocks:?} of another space"),
        };
        bytes.sort_unstable();
        bytes
    }
}

struct Message {
    from: usize,
    /// The lane of its sender.
    lane: usize,
    to: usize,
    tag: u32,
    bytes: Vec<usize>,
    held: Held,
    /// It can be received.
    arrived: bool,
}

struct Receive {
    from: usize,
    tag: u32,
    bytes: Vec<usize>,
    taking: Taking,
    got: Option<Held>,
}

/// What a member waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Waits {
    #[default]
    No,
    ForAll,
    /// All but the receive that it posted last.
    ForAllButLast,
}

/// Where a member is in one of its lanes.
#[derive(Default)]
struct Lane {
    cursor: Cursor,
    /// The same for [`CollectiveCall::next`], which is to agree.
    moves: Cursor,
    sending: usize,
    receives: Vec<Receive>,
    waits: Waits,
    done: bool,
}

struct State {
    lanes: Vec<Lane>,
    held: Held,
    /// Result of a scan: the data of lower members, and the member's own where that belongs to it.
    result: Held,
}

/// What members hold in the end: data, and result of a scan.
pub struct Outcome {
    pub held: Vec<Held>,
    pub results: Vec<Held>,
}

/// Carries out `calls`, one per member, which hold `held` before (and have
/// `results` of a scan), in an order of steps that follows from `seed`.
///
/// # Panics
/// If they do not come to an end, or anything about their messages is wrong.
pub fn execute(
    calls: &[CollectiveCall],
    space: &Space,
    held: Vec<Held>,
    results: Vec<Held>,
    network: Network,
    seed: u64,
) -> Outcome {
    let size = calls.len() as u32;
    let mut random = StreamKey::new(seed, Purpose::Placement).stream(0);
    let mut states: Vec<State> = held
        .into_iter()
        .zip(results)
        .zip(calls)
        .map(|((held, result), call)| State {
            lanes: call
                .lanes()
                .map(|cursor| Lane {
                    cursor,
                    moves: cursor,
                    ..Lane::default()
                })
                .collect(),
            held,
            result,
        })
        .collect();
    let mut messages: Vec<Message> = Vec::new();
    loop {
        let lanes = |m: usize| (0..states[m].lanes.len()).map(move |lane| (m, lane));
        let runnable: Vec<(usize, usize)> = (0..states.len())
            .flat_map(lanes)
            .filter(|&(m, lane)| states[m].lanes[lane].is_ready())
            .collect();
        let under_way = |message: &&Message| !message.arrived;
        let arriving = messages.iter().filter(under_way).count();
        let choices = (runnable.len() + arriving) as u32;
        if choices == 0 {
            break;
        }
        let choice = random.below(choices) as usize;
        match runnable.get(choice) {
            Some(&at) => {
                let (member, _) = at;
                let call = &calls[member];
                step(
                    call,
                    at,
                    size,
                    space,
                    &mut states[member],
                    &mut messages,
                    network,
                );
            }
            None => {
                let mut late = messages.iter_mut().filter(|message| !message.arrived);
                let message = late.nth(choice - runnable.len()).expect("counted");
                message.arrived = true;
            }
        }
        match_messages(&mut states, &mut messages, network);
    }
    let lanes = || states.iter().flat_map(|state| &state.lanes);
    let stuck: Vec<usize> = (0..states.len())
        .filter(|&m| states[m].lanes.iter().any(|lane| !lane.done))
        .collect();
    assert!(stuck.is_empty(), "members {stuck:?} wait for ever");
    assert!(messages.is_empty(), "a message that nobody receives");
    assert!(lanes().all(|lane| lane.receives.is_empty() && lane.sending == 0));
    let (held, results) = states.into_iter().map(|s| (s.held, s.result)).unzip();
    Outcome { held, results }
}

impl Lane {
    fn is_ready(&self) -> bool {
        let count = match self.waits {
            _ if self.done => return false,
            Waits::No => return true,
            Waits::ForAll => self.receives.len(),
            Waits::ForAllButLast => self.receives.len().saturating_sub(1),
        };
        self.sending == 0 && self.receives[..count].iter().all(|r| r.got.is_some())
    }

    fn is_complete(&self) -> bool {
        self.sending == 0 && self.receives.iter().all(|receive| receive.got.is_some())
    }
}

impl State {
    /// Takes what one of its lanes has waited for.
    fn take(&mut self, lane: usize, waited: Waits) {
        let receives = &mut self.lanes[lane].receives;
        let count = match waited {
            Waits::No => 0,
            Waits::ForAll => receives.len(),
            Waits::ForAllButLast => receives.len().saturating_sub(1),
        };
        for receive in receives.drain(..count) {
            let got = receive.got.expect("it has arrived");
            for (&byte, got) in receive.bytes.iter().zip(got) {
                let own = &mut self.held[byte];
                match receive.taking {
                    Taking::Keep => {
                        assert_eq!(*own & !got, 0, "byte {byte} loses contributions");
                        *own = got;
                    }
                    Taking::Hear => *own |= got,
                    Taking::Combine => {
                        assert_eq!(*own & got, 0, "byte {byte} combined twice");
                        assert_ne!(*own, 0, "byte {byte} combined with nothing");
                        *own |= got;
                    }
                    Taking::Prefix { below, .. } => {
                        assert_eq!(*own & got, 0, "byte {byte} combined twice");
                        *own |= got;
                        if below {
                            assert_eq!(self.result[byte] & got, 0);
                            self.result[byte] |= got;
                        }
                    }
                }
            }
        }
    }
}

fn step(
    call: &CollectiveCall,
    (member, number): (usize, usize),
    size: u32,
    space: &Space,
    state: &mut State,
    messages: &mut Vec<Message>,
    network: Network,
) {
    let waited = std::mem::take(&mut state.lanes[number].waits);
    state.take(number, waited);
    let me = Member(member as u32);
    let lane = &mut state.lanes[number];
    let act = call.act(me, size, &mut lane.cursor);
    let next = call.next(me, size, &mut lane.moves);
    assert_eq!(lane.cursor, lane.moves);
    match act {
        Act::Send { to, tag, blocks } => {
            let phase = &call.phases[super::super::phase_of(tag)];
            let bytes = space.bytes(&phase.data, blocks, phase.place(me, size));
            let sent = match phase.data {
                Data::Nothing => 1,
                _ => {
                    let data = Bytes(bytes.len() as u64);
                    call.protocol.on_wire(data).max(Bytes(1)).0
                }
            };
            let expected = Move::Send {
                to,
                bytes: Bytes(sent),
                tag,
            };
            assert_eq!(next, expected);
            assert_ne!(to, me, "a message to itself");
            let held: Held = bytes.iter().map(|&byte| state.held[byte]).collect();
            assert!(
                held.iter().all(|&of| of != 0),
                "sends what it does not have"
            );
            lane.sending += 1;
            messages.push(Message {
                from: member,
                lane: number,
                to: to.0 as usize,
                tag,
                bytes,
                held,
                arrived: network == Network::Synchronous,
            });
        }
        Act::Receive {
            from,
            tag,
            blocks,
            taking,
        } => {
            assert_eq!(next, Move::Receive { from, tag });
            let phase = &call.phases[super::super::phase_of(tag)];
            lane.receives.push(Receive {
                from: from.0 as usize,
                tag,
                bytes: space.bytes(&phase.data, blocks, phase.place(from, size)),
                taking,
                got: None,
            });
        }
        Act::WaitAll => {
            assert_eq!(next, Move::WaitAll);
            lane.waits = Waits::ForAll;
        }
        Act::WaitAllButLast => {
            assert_eq!(next, Move::WaitAllButLast);
            lane.waits = Waits::ForAllButLast;
        }
        Act::Combine { .. } => assert!(matches!(next, Move::Compute(_))),
        Act::Done if lane.is_complete() => {
            assert_eq!(next, Move::Done);
            lane.done = true;
            state.take(number, Waits::ForAll);
        }
        Act::Done => lane.waits = Waits::ForAll,
    }
    // A buffered send is complete at once.
    if network == Network::Buffered {
        state.lanes[number].sending = 0;
    }
}

/// Gives what has arrived to the receives that it matches.
fn match_messages(states: &mut [State], messages: &mut Vec<Message>, network: Network) {
    messages.retain(|message| {
        if !message.arrived {
            return true;
        }
        let matches = |receive: &&mut Receive| {
            receive.got.is_none() && receive.from == message.from && receive.tag == message.tag
        };
        let lanes = states[message.to].lanes.iter_mut();
        let mut receives = lanes.flat_map(|lane| &mut lane.receives);
        let Some(receive) = receives.find(matches) else {
            return true;
        };
        assert_eq!(receive.bytes, message.bytes, "another message was expected");
        receive.got = Some(message.held.clone());
        if network == Network::Synchronous {
            states[message.from].lanes[message.lane].sending -= 1;
        }
        false
    });
}
