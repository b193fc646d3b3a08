//! What ranks make of the actions of their programs, and of messages that have
//! met their receives: what keeps a processor busy for how long, and what follows.
//! The same for every engine.

use odonata_load::{Action, RequestId, Waiting};
use odonata_run::{HostCosts, JobPlan, Protocol, RankActivity};
use odonata_units::{Bytes, Picoseconds};
use serde::{Deserialize, Serialize};

use crate::matching::{Arrived, Envelope, Posted, Wanted};

/// A message that a rank is about to send, or that waits for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sending {
    /// Receiving rank.
    pub to: u32,
    /// Number of its class of traffic.
    pub class: u8,
    /// Size.
    pub bytes: u64,
    /// What it says about itself.
    pub envelope: Envelope,
    /// Complete when its last byte has left the node, or when the receiver has it.
    pub request: RequestId,
    /// When the rank wanted to send it, in ps.
    pub created: u64,
}

/// What keeps a processor busy, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Nothing but that the request is complete.
    Compute(RequestId),
    /// Nothing: its rank enters a collective late.
    EnterLate,
    /// The message goes to the interface.
    HandOver(Sending),
    /// The message to write into another rank's memory.
    HandOverPut {
        /// The other rank.
        to: u32,
        /// Number of its class of traffic.
        class: u8,
        /// Size.
        bytes: u64,
        /// Complete when that has been acknowledged.
        request: RequestId,
        /// When the rank wanted to write, in ps.
        created: u64,
    },
    /// The question for another rank's memory.
    HandOverGet {
        /// The other rank.
        from: u32,
        /// Number of the class of traffic of the answer.
        class: u8,
        /// Bytes that are asked for.
        bytes: u64,
        /// Complete when they have come.
        request: RequestId,
    },
    /// The message is there.
    TakeIn(RequestId),
    /// The same of one that was granted and whose sender waits to hear of it.
    TakeInAndFinish {
        /// Request of the receive.
        request: RequestId,
        /// Number of the message at its sender.
        handle: u32,
        /// That rank.
        to: u32,
        /// Number of the class of traffic of the message.
        class: u8,
    },
    /// The grant goes to the sender.
    Grant {
        /// Number of the message at its sender.
        handle: u32,
        /// That rank.
        to: u32,
        /// Number of the class of traffic of the message.
        class: u8,
    },
}

impl Task {
    /// What a rank does about what came from `source` and got the receive `posted`,
    /// and how long that takes, by what messages between the two cost: takes the message in, or grants that it may be sent.
    #[inline]
    pub fn answering(
        what: Arrived,
        source: u32,
        posted: Posted,
        costs: &HostCosts,
    ) -> (Picoseconds, Self) {
        match what {
            Arrived::Message { bytes, .. } => {
                let overhead = costs.receive_overhead_of(Bytes(bytes));
                (overhead, Self::TakeIn(posted.request))
            }
            Arrived::Request { handle, class } => {
                let grant = Self::Grant {
                    handle,
                    to: source,
                    class,
                };
                (costs.receive_overhead, grant)
            }
        }
    }

    /// What a rank does about a message of `bytes` bytes that it has granted, by the
    /// number `handle`, to `source` on another node, and how long that takes.
    #[inline]
    pub fn taking_in_granted(
        bytes: u64,
        (handle, class): (u32, u8),
        source: u32,
        posted: Posted,
        protocol: &Protocol,
    ) -> (Picoseconds, Self) {
        let request = posted.request;
        let task = match protocol.acknowledges() {
            true => Self::TakeInAndFinish {
                request,
                handle,
                to: source,
                class,
            },
            false => Self::TakeIn(request),
        };
        (protocol.costs.receive_overhead_of(Bytes(bytes)), task)
    }

    /// What a rank does while `first` is the first of the tasks that its processors are
    /// busy with; without any its program waits.
    #[inline]
    pub fn activity_of_rank(first: Option<Self>, waiting: Waiting) -> RankActivity {
        match (first, waiting) {
            (Some(task), _) => task.activity(),
            (None, Waiting::Send) => RankActivity::WaitToSend,
            (None, Waiting::Receive | Waiting::Processor) => RankActivity::WaitToReceive,
        }
    }

    fn activity(&self) -> RankActivity {
        match self {
            Self::Compute(_) | Self::EnterLate => RankActivity::Compute,
            Self::HandOver(_) | Self::HandOverPut { .. } | Self::HandOverGet { .. } => {
                RankActivity::Send
            }
            Self::TakeIn(_) | Self::TakeInAndFinish { .. } | Self::Grant { .. } => {
                RankActivity::Receive
            }
        }
    }
}

/// What a rank begins with an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The processor is busy for a while, with a task.
    Busy(Picoseconds, Task),
    /// A receive is posted.
    Post(Wanted, Posted),
}

impl Begun {
    /// What rank `source` of a job begins with `action` at `created` ps, on `processor`, in a class
    /// of traffic.
    #[inline]
    pub fn of(
        action: Action,
        plan: &JobPlan,
        source: u32,
        (request, class): (RequestId, u8),
        processor: u8,
        created: u64,
    ) -> Self {
        match action {
            Action::Compute(duration) => Self::Busy(duration, Task::Compute(request)),
            Action::Send {
                to,
                bytes,
                context,
                tag,
            } => {
                let envelope = Envelope {
                    context,
                    source,
                    tag,
                };
                let sending = Sending {
                    to: to.0,
                    class,
                    bytes: bytes.0,
                    envelope,
                    request,
                    created,
                };
                let costs = plan.costs(source, to.0);
                Self::Busy(costs.send_overhead_of(bytes), Task::HandOver(sending))
            }
            Action::Put { to, bytes } => {
                let task = Task::HandOverPut {
                    to: to.0,
                    class,
                    bytes: bytes.0,
                    request,
                    created,
                };
                Self::Busy(plan.costs(source, to.0).send_overhead_of(bytes), task)
            }
            Action::Get { from, bytes } => {
                let task = Task::HandOverGet {
                    from: from.0,
                    class,
                    bytes: bytes.0,
                    request,
                };
                Self::Busy(plan.costs(source, from.0).send_overhead, task)
            }
            Action::Receive { from, context, tag } => {
                let wanted = Wanted {
                    context,
                    source: from.map(|from| from.0),
                    tag,
                };
                Self::Post(wanted, Posted { request, processor })
            }
        }
    }
}

#[cfg(test)]
mod tests;
