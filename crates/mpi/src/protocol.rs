//! The protocol that messages follow, from a rank's decision to send to the
//! receive that a message completes.

use odonata_load::RequestId;
use odonata_run::Protocol;
use odonata_run::memory::make_room_in;
use odonata_units::{Bytes, Picoseconds};

use crate::actions::{Sending, Task};
use crate::kind::MessageKind;
use crate::matching::{Arrived, Posted};
use crate::message::{Incoming, NO_REQUEST, Outgoing, granted_key};
use crate::programs::{LATEST, advance, occupy};
use crate::rank::HANDED_OVER;
use crate::server::Reply;
use crate::transport::Transport;

/// Who asks for memory.
const REPLIES: &str = "requests at servers";

fn protocol_of<'a, T: Transport<'a>>(engine: &mut T, rank: u32) -> &'a Protocol {
    let job = engine.rank(rank).job;
    &engine.plan(job).protocol
}

/// A message from another node is complete at its receiver.
pub fn receive<'a, T: Transport<'a>>(engine: &mut T, rank: u32, message: &Incoming, now: u64) {
    let (source, handle, class) = (message.envelope.source, message.handle, message.class);
    let cause = Some((source, message.created));
    match message.kind {
        MessageKind::Eager | MessageKind::Request => arrive(engine, rank, message, now),
        MessageKind::Granted => {
            let protocol = protocol_of(engine, rank);
            let record = &mut engine.rank(rank).record;
            let posted = record.granted.remove(&granted_key(handle, source));
            let posted = posted.expect("a message that was granted");
            record.cause = cause;
            let (duration, task) =
                Task::taking_in_granted(message.bytes, (handle, class), source, posted, protocol);
            occupy(engine, rank, posted.processor, duration, task, now);
        }
        MessageKind::Grant => {
            let protocol = protocol_of(engine, rank);
            let record = &mut engine.rank(rank).record;
            let held = record.held.remove(&u64::from(handle));
            let held = held.expect("a grant answers a request");
            record.cause = cause;
            let mut granted = Outgoing::of(&held, MessageKind::Granted, handle);
            if protocol.acknowledges() {
                granted.request = NO_REQUEST;
                record.unfinished.insert(u64::from(handle), held);
            }
            send(engine, rank, granted, now);
        }
        MessageKind::Finished => {
            let own = engine.rank(rank);
            own.record.cause = cause;
            let sent = own.record.unfinished.remove(&u64::from(handle));
            own.complete(sent.expect("a message that was sent").request);
        }
        MessageKind::Put => {
            let reply = Reply {
                to: source,
                handle,
                class,
                read_bytes: 0,
            };
            come(engine, rank, message.bytes, reply, now);
        }
        MessageKind::Ask => {
            let reply = Reply {
                to: source,
                handle,
                class,
                read_bytes: message.asked_bytes(),
            };
            come(engine, rank, 0, reply, now);
        }
        MessageKind::Acknowledge | MessageKind::Answer => {
            let own = engine.rank(rank);
            own.record.cause = cause;
            own.complete(RequestId(handle));
        }
    }
    advance(engine, rank, now);
}

/// A message within a node is complete at its receiver: its sender is done, too.
pub fn receive_within_node<'a, T: Transport<'a>>(
    engine: &mut T,
    sender: u32,
    receiver: u32,
    message: &Incoming,
    now: u64,
) {
    let done = match message.kind {
        MessageKind::Answer => receiver,
        MessageKind::Put => sender,
        _ => {
            receive(engine, receiver, message, now);
            sender
        }
    };
    sent(engine, done, RequestId(message.handle), now);
}

/// The tail of a rank's message, begun with `request`, has left the node.
pub fn sent<'a, T: Transport<'a>>(engine: &mut T, rank: u32, request: RequestId, now: u64) {
    engine.rank(rank).complete(request);
    advance(engine, rank, now);
}

/// An eager message or a request has come.
fn arrive<'a, T: Transport<'a>>(engine: &mut T, rank: u32, message: &Incoming, now: u64) {
    let what = match message.kind {
        MessageKind::Request => Arrived::Request {
            handle: message.handle,
            class: message.class,
        },
        _ => Arrived::Message {
            bytes: message.bytes,
            created: message.created,
        },
    };
    let mut matched = std::mem::take(engine.matched());
    let matching = &mut engine.rank(rank).record.matching;
    matching.arrive(
        message.envelope,
        message.sequence,
        what,
        |envelope, what, posted| matched.push((envelope, what, posted)),
    );
    for (envelope, what, posted) in matched.drain(..) {
        matched_with(engine, rank, envelope.source, what, posted, now);
    }
    *engine.matched() = matched;
}

/// A message from `source`, or the request of one, has met its receive, which
/// completes when the message has been taken in.
pub(crate) fn matched_with<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    source: u32,
    what: Arrived,
    posted: Posted,
    now: u64,
) {
    let own = engine.rank(rank);
    match what {
        Arrived::Message { created, .. } => own.record.cause = Some((source, created)),
        Arrived::Request { handle, .. } => {
            let key = granted_key(handle, source);
            own.record.granted.insert(key, posted);
        }
    }
    let (job, own) = (own.job, own.rank);
    let costs = engine.plan(job).costs(own, source);
    let (duration, task) = Task::answering(what, source, posted, costs);
    occupy(engine, rank, posted.processor, duration, task, now);
}

/// Starts a send of the program, at once or by a request.
pub(crate) fn begin_send<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    sending: Sending,
    now: u64,
) {
    let protocol = protocol_of(engine, rank);
    let asks = protocol.asks_for(Bytes(sending.bytes))
        // Within a node there is nothing to wait for.
        && !engine.on_one_node(rank, sending.to);
    let context = sending.envelope.context;
    let matching = &mut engine.rank(rank).record.matching;
    let sequence = matching.number(context, sending.to);
    let (bytes, class) = (sending.bytes, sending.class);
    count(engine, rank, sending.to, (bytes, class), sending.created);
    if !asks {
        let message = Outgoing {
            sequence,
            ..Outgoing::of(&sending, MessageKind::Eager, sending.request.0)
        };
        send(engine, rank, message, now);
        return;
    }
    let record = &mut engine.rank(rank).record;
    let handle = record.next_handle;
    record.next_handle = handle.wrapping_add(1);
    make_room_in(&mut record.held, HANDED_OVER);
    record.held.insert(u64::from(handle), sending);
    let request = Outgoing {
        bytes: protocol.control.0,
        created: now,
        request: NO_REQUEST,
        sequence,
        ..Outgoing::of(&sending, MessageKind::Request, handle)
    };
    send(engine, rank, request, now);
}

/// Asks for a part of another rank's memory.
pub(crate) fn ask<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    (from, class): (u32, u8),
    bytes: u64,
    request: RequestId,
    now: u64,
) {
    if engine.on_one_node(rank, from) {
        // Within a node the answer comes without being asked for.
        let own = engine.rank(rank);
        let (job, to) = (own.job, own.rank);
        let other = engine.number(job, from);
        answer(engine, other, to, (bytes, class), request.0, now);
        return;
    }
    let control = protocol_of(engine, rank).control;
    let question = Outgoing::question((from, class), bytes, control, request.0, now);
    send(engine, rank, question, now);
}

/// A rank's write of `written` bytes, or its question for those that `reply` has, has come: done
/// at once, or if the rank is a server when its medium is done.
fn come<'a, T: Transport<'a>>(engine: &mut T, rank: u32, written: u64, reply: Reply, now: u64) {
    let own = engine.rank(rank);
    let (job, number) = (own.job, own.rank);
    let plan = engine.plan(job);
    let servers = plan.servers.as_ref();
    let Some((servers, keeper)) = servers.and_then(|all| Some((all, all.keeper_of(number)?)))
    else {
        give(engine, rank, reply, now);
        return;
    };
    let keeper = engine.number(keeper.0, keeper.1);
    let kept = engine.rank(keeper).record.server.get_or_insert_default();
    let (is_write, bytes) = match reply.read_bytes {
        0 => (true, written),
        bytes => (false, bytes),
    };
    let service = match is_write {
        true => servers.medium.write(&mut kept.medium, bytes, now),
        false => servers.medium.read(&mut kept.medium, bytes, now),
    };
    let server = engine.rank(rank).record.server.get_or_insert_default();
    server.counts.add(is_write, bytes, now, service);
    let told = service.told.min(LATEST);
    if told == now {
        give(engine, rank, reply, now);
        return;
    }
    let replies = &mut server.replies;
    make_room_in(replies, REPLIES);
    // A read may be done before an earlier write.
    let place = replies.partition_point(|other| other.0 <= told);
    replies.insert(place, (told, reply));
    engine.wake(rank, told);
}

/// Gives the replies whose time has come.
pub(crate) fn reply<'a, T: Transport<'a>>(engine: &mut T, rank: u32, now: u64) {
    loop {
        let server = engine.rank(rank).record.server.as_mut();
        let replies = server.map(|server| &mut server.replies);
        let due = replies.and_then(|replies| match replies.front() {
            Some(&(told, _)) if told <= now => replies.pop_front(),
            _ => None,
        });
        match due {
            Some((_, due)) => give(engine, rank, due, now),
            None => return,
        }
    }
}

fn give<'a, T: Transport<'a>>(engine: &mut T, rank: u32, reply: Reply, now: u64) {
    let Reply {
        to,
        handle,
        class,
        read_bytes,
    } = reply;
    match read_bytes {
        0 => acknowledge(engine, rank, to, (handle, class), now),
        bytes => answer(engine, rank, to, (bytes, class), handle, now),
    }
}

/// Says to the rank `to` that what it wrote by `handle` is there.
fn acknowledge<'a, T: Transport<'a>>(engine: &mut T, rank: u32, to: u32, of: (u32, u8), now: u64) {
    send_control(engine, rank, MessageKind::Acknowledge, to, of, now);
}

/// Sends a part of a rank's memory to the rank `to`, which has asked for it by `handle`.
fn answer<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    to: u32,
    (bytes, class): (u64, u8),
    handle: u32,
    now: u64,
) {
    count(engine, rank, to, (bytes, class), now);
    let answer = Outgoing::unmatched((MessageKind::Answer, class), to, Bytes(bytes), handle, now);
    send(engine, rank, answer, now);
}

/// Sends a message of the protocol to rank `to`, for one of a number and class of traffic.
pub(crate) fn send_control<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    kind: MessageKind,
    to: u32,
    (handle, class): (u32, u8),
    now: u64,
) {
    let control = protocol_of(engine, rank).control;
    let message = Outgoing::unmatched((kind, class), to, control, handle, now);
    send(engine, rank, message, now);
}

/// Hands a message over to the rank's network interface, which has it at once or
/// after the delay of the rank's messages.
pub(crate) fn send<'a, T: Transport<'a>>(engine: &mut T, rank: u32, message: Outgoing, now: u64) {
    let own = engine.rank(rank);
    let (job, from) = (own.job, own.rank);
    let plan = engine.plan(job);
    let delay = plan.protocol.delay_of(Bytes(message.bytes));
    if delay == Picoseconds::ZERO
        || plan.protocol.within_node.is_some() && plan.on_one_node(from, message.to)
    {
        engine.carry(rank, message, now);
        return;
    }
    let until = now.saturating_add(delay.0).min(LATEST);
    let delayed = &mut engine.rank(rank).record.delayed;
    make_room_in(delayed, HANDED_OVER);
    // Short messages may overtake longer ones; of the same time, not.
    let place = delayed.partition_point(|other| other.0 <= until);
    delayed.insert(place, (until, message));
    engine.wake(rank, until);
}

/// Gives the interface of a rank the messages whose delay is over.
pub(crate) fn send_delayed<'a, T: Transport<'a>>(engine: &mut T, rank: u32, now: u64) {
    loop {
        let delayed = &mut engine.rank(rank).record.delayed;
        match delayed.front() {
            Some(&(until, message)) if until <= now => {
                delayed.pop_front();
                engine.carry(rank, message, now);
            }
            _ => return,
        }
    }
}

/// Counts a message of a rank to the rank `to` of its job: its size and its class of traffic.
pub(crate) fn count<'a, T: Transport<'a>>(
    engine: &mut T,
    rank: u32,
    to: u32,
    (bytes, class): (u64, u8),
    created: u64,
) {
    let job = engine.rank(rank).job;
    engine.count(job, (Bytes(bytes), class), created);
    if engine.measurement().traffic {
        let traffic = &mut engine.rank(rank).record.traffic;
        make_room_in(traffic, "the record of who sends to whom");
        let traffic = traffic.entry(u64::from(to)).or_default();
        traffic.messages += 1;
        traffic.bytes += bytes;
    }
}
