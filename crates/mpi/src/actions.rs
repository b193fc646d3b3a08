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
    /// The message goes to the interface.
    HandOver(Sending),
    /// The message to write into another rank's memory.
    HandOverPut {
        /// The other rank.
        to: u32,
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
        /// Bytes that are asked for.
        bytes: u64,
        /// Complete when they have come.
        request: RequestId,
    },
    /// The message is there.
    TakeIn(RequestId),
    /// The same of one that was granted and whose sender waits to hear of it.
    TakeInAndFinish {
        /// Of the receive.
        request: RequestId,
        /// Number of the message at its sender.
        handle: u32,
        /// That rank.
        to: u32,
    },
    /// The grant goes to the sender.
    Grant {
        /// Number of the message at its sender.
        handle: u32,
        /// That rank.
        to: u32,
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
            Arrived::Request { handle } => {
                let grant = Self::Grant { handle, to: source };
                (costs.receive_overhead, grant)
            }
        }
    }

    /// What a rank does about a message of `bytes` bytes that it has granted, by the
    /// number `handle`, to `source` on another node, and how long that takes.
    #[inline]
    pub fn taking_in_granted(
        bytes: u64,
        handle: u32,
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
            Self::Compute(_) => RankActivity::Compute,
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
    /// What rank `source` of a job begins with `action` at `created` ps, on `processor`.
    #[inline]
    pub fn of(
        action: Action,
        plan: &JobPlan,
        source: u32,
        request: RequestId,
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
                    bytes: bytes.0,
                    request,
                    created,
                };
                Self::Busy(plan.costs(source, to.0).send_overhead_of(bytes), task)
            }
            Action::Get { from, bytes } => {
                let task = Task::HandOverGet {
                    from: from.0,
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
mod tests {
    use odonata_load::{Arrivals, Context, OpenLoop, Pattern, Process};
    use odonata_units::{Bandwidth, NodeId, RankId};

    use odonata_run::JobLoad;

    use super::*;

    const BYTES: Bytes = Bytes(1_000);
    const SEND: u64 = 10_000;
    const RECEIVE: u64 = 30_000;
    /// 1,000 bytes at 5 bytes per ns.
    const COPY: u64 = 200_000;

    fn costs() -> HostCosts {
        HostCosts {
            send_overhead: Picoseconds(SEND),
            receive_overhead: Picoseconds(RECEIVE),
            copy_bandwidth: Some(Bandwidth::new(5_000_000_000).unwrap()),
            ..HostCosts::default()
        }
    }

    /// Two ranks on each of two nodes; within a node a message takes no time.
    fn plan() -> JobPlan {
        let open = OpenLoop::new(
            Pattern::UniformRandom,
            Arrivals::from_rate(BYTES, 1.0, Process::Poisson).unwrap(),
            BYTES,
            4,
        );
        JobPlan {
            name: "two".to_owned(),
            start: Picoseconds::ZERO,
            node_of_rank: [0, 1, 0, 1].map(NodeId).into(),
            load: JobLoad::Open(open.unwrap()),
            protocol: Protocol {
                costs: costs(),
                within_node: Some(HostCosts::default()),
                ..Protocol::default()
            },
        }
    }

    /// How long `action` keeps a processor busy, in ps.
    fn busy(action: Action) -> u64 {
        match Begun::of(action, &plan(), 0, RequestId(7), 0, 0) {
            Begun::Busy(duration, _) => duration.0,
            Begun::Post(..) => 0,
        }
    }

    #[test]
    fn only_what_a_rank_has_in_hand_is_copied() {
        let (to, from) = (RankId(1), RankId(1));
        let (bytes, context, tag) = (BYTES, Context::default(), 0);
        let send = Action::Send {
            to,
            bytes,
            context,
            tag,
        };
        assert_eq!(busy(send), SEND + COPY);
        assert_eq!(busy(Action::Put { to, bytes }), SEND + COPY);
        // It asks; the answer is written without it.
        assert_eq!(busy(Action::Get { from, bytes }), SEND);
        // Through the memory of its node.
        let near = RankId(2);
        assert_eq!(busy(Action::Put { to: near, bytes }), 0);
        let posted = Posted {
            request: RequestId(7),
            processor: 0,
        };
        let answering = |what| Task::answering(what, 1, posted, plan().costs(0, 1));
        let message = Arrived::Message {
            bytes: BYTES.0,
            created: 0,
        };
        let taken_in = (Picoseconds(RECEIVE + COPY), Task::TakeIn(RequestId(7)));
        assert_eq!(answering(message), taken_in);
        // The message itself is still where it was.
        let grant = Task::Grant { handle: 5, to: 1 };
        let granted = (Picoseconds(RECEIVE), grant);
        assert_eq!(answering(Arrived::Request { handle: 5 }), granted);
    }
}
