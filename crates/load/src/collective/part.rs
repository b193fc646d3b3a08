//! A rank's part in a collective that is under way: in each of its lanes, side by side.

use std::sync::Arc;

use odonata_units::{Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::{CollectiveCall, Move};
use crate::communicator::{Communicator, Member};
use crate::cursor::Cursor;
use crate::program::{Action, CollectiveKind, ProgramError, RequestId, Waiting};

/// Tags of a collective's messages; the rest of a tag numbers the collectives of
/// a communicator.
pub(crate) const COLLECTIVE_TAGS: u32 = 1 << 16;

/// What a lane needs before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum PartWaits {
    No,
    ForAllButLast,
    ForAll,
    /// For its processor.
    Computing,
}

/// What comes next of a part.
pub(crate) enum Progress {
    /// Something begins; [`Part::begun`] is told of its request.
    Begin(Action),
    /// Nothing before [`Part::is_ready`].
    Wait,
    /// The part is over.
    Done,
}

/// What a rank is doing in one of a collective's lanes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lane {
    cursor: Cursor,
    /// Its requests that are not complete: all of them, and receives.
    outstanding: u32,
    receives: u32,
    /// The receive that it posted last, if that is not complete.
    last_receive: Option<RequestId>,
    /// Whether it goes on only when they are complete.
    waits: PartWaits,
    /// Whether there is no more to do.
    done: bool,
}

impl Lane {
    fn is_ready(&self) -> bool {
        !self.done
            && match self.waits {
                PartWaits::No => true,
                PartWaits::ForAllButLast => {
                    self.outstanding == u32::from(self.last_receive.is_some())
                }
                PartWaits::ForAll => self.outstanding == 0,
                PartWaits::Computing => false,
            }
    }
}

/// A collective in which a rank takes part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    communicator: Arc<Communicator>,
    call: Arc<CollectiveCall>,
    me: Member,
    /// Added to its tags.
    first_tag: u32,
    lanes: Box<[Lane]>,
    /// The lane that has begun something last.
    last: u32,
    /// Whose each request is, where there are several lanes.
    requests: Vec<(RequestId, u32)>,
}

impl Part {
    /// The part of `rank` in the collective that is number `which` of its communicator.
    pub fn new(
        communicator: Arc<Communicator>,
        call: Arc<CollectiveCall>,
        rank: RankId,
        which: u32,
    ) -> Result<Self, ProgramError> {
        let me = communicator.member(rank).ok_or_else(|| {
            ProgramError(format!(
                "rank {rank} takes part in a collective of communicator {}, of which it is no \
                 member",
                communicator.number()
            ))
        })?;
        let lane = |cursor| Lane {
            cursor,
            outstanding: 0,
            receives: 0,
            last_receive: None,
            waits: PartWaits::No,
            done: false,
        };
        Ok(Self {
            communicator,
            lanes: call.lanes().map(lane).collect(),
            call,
            me,
            first_tag: which.wrapping_mul(COLLECTIVE_TAGS),
            last: 0,
            requests: Vec::new(),
        })
    }

    /// Number of its communicator.
    pub fn communicator(&self) -> u32 {
        self.communicator.number()
    }

    /// What it is a part in.
    pub fn kind(&self) -> CollectiveKind {
        self.call.kind()
    }

    /// Whether something comes next.
    pub fn is_ready(&self) -> bool {
        self.lanes.iter().any(Lane::is_ready)
    }

    /// Whether it receives.
    pub fn receives(&self) -> bool {
        self.lanes.iter().any(|lane| lane.receives > 0)
    }

    /// What comes next, of a part that is ready.
    pub fn next(&mut self) -> Progress {
        let context = self.communicator.collectives();
        let size = self.communicator.size();
        while let Some(number) = self.lanes.iter().position(Lane::is_ready) {
            let lane = &mut self.lanes[number];
            lane.waits = PartWaits::No;
            let tag = |tag| self.first_tag.wrapping_add(tag % COLLECTIVE_TAGS);
            let action = match self.call.next(self.me, size, &mut lane.cursor) {
                Move::Send {
                    to,
                    bytes,
                    tag: own,
                } => Action::Send {
                    to: self.communicator.rank(to),
                    bytes,
                    context,
                    tag: tag(own),
                },
                Move::Receive { from, tag: own } => Action::Receive {
                    from: Some(self.communicator.rank(from)),
                    context,
                    tag: Some(tag(own)),
                },
                Move::Compute(Picoseconds::ZERO) => continue,
                Move::Compute(duration) => Action::Compute(duration),
                Move::WaitAllButLast => {
                    lane.waits = PartWaits::ForAllButLast;
                    continue;
                }
                Move::WaitAll => {
                    lane.waits = PartWaits::ForAll;
                    continue;
                }
                Move::Done if lane.outstanding > 0 => {
                    lane.waits = PartWaits::ForAll;
                    continue;
                }
                Move::Done => {
                    lane.done = true;
                    continue;
                }
            };
            match action.waiting() {
                Waiting::Processor => lane.waits = PartWaits::Computing,
                waiting => {
                    lane.outstanding += 1;
                    lane.receives += u32::from(waiting == Waiting::Receive);
                }
            }
            self.last = number as u32;
            return Progress::Begin(action);
        }
        match self.lanes.iter().all(|lane| lane.done) {
            true => Progress::Done,
            false => Progress::Wait,
        }
    }

    /// Takes note of the request of what it has begun last.
    pub fn begun(&mut self, request: RequestId, waiting: Waiting) {
        if waiting == Waiting::Receive {
            self.lanes[self.last as usize].last_receive = Some(request);
        }
        if self.lanes.len() > 1 {
            self.requests.push((request, self.last));
        }
    }

    /// Something that it has begun is complete.
    pub fn complete(&mut self, request: RequestId, waiting: Waiting) {
        let found = self.requests.iter().position(|&(one, _)| one == request);
        let number = found.map_or(0, |at| self.requests.swap_remove(at).1);
        let lane = &mut self.lanes[number as usize];
        match waiting {
            Waiting::Processor => {
                lane.waits = PartWaits::No;
                return;
            }
            Waiting::Receive => lane.receives -= 1,
            Waiting::Send => {}
        }
        lane.outstanding -= 1;
        if lane.last_receive == Some(request) {
            lane.last_receive = None;
        }
    }
}
