//! A rank's part in a collective that is under way.

use std::sync::Arc;

use odonata_units::{Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::{CollectiveCall, Move};
use crate::communicator::{Communicator, Member};
use crate::cursor::Cursor;
use crate::program::{Action, ProgramError, RequestId, Waiting};

/// Tags of a collective's messages; the rest of a tag numbers the collectives of
/// a communicator.
pub(crate) const COLLECTIVE_TAGS: u32 = 1 << 16;

/// What a collective needs before it goes on.
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
    /// Something begins; of a receive [`Part::posted`] is told.
    Begin(Action),
    /// Nothing before [`Part::is_ready`].
    Wait,
    /// The part is over.
    Done,
}

/// A collective in which a rank takes part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    communicator: Arc<Communicator>,
    call: Arc<CollectiveCall>,
    me: Member,
    /// Added to its tags.
    first_tag: u32,
    cursor: Cursor,
    /// Its requests that are not complete: all of them, and receives.
    outstanding: u32,
    receives: u32,
    /// The receive that it posted last, if that is not complete.
    last_receive: Option<RequestId>,
    /// Whether it goes on only when they are complete.
    waits: PartWaits,
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
        Ok(Self {
            communicator,
            call,
            me,
            first_tag: which.wrapping_mul(COLLECTIVE_TAGS),
            cursor: Cursor::default(),
            outstanding: 0,
            receives: 0,
            last_receive: None,
            waits: PartWaits::No,
        })
    }

    /// Whether something comes next.
    pub fn is_ready(&self) -> bool {
        match self.waits {
            PartWaits::No => true,
            PartWaits::ForAllButLast => self.outstanding == u32::from(self.last_receive.is_some()),
            PartWaits::ForAll => self.outstanding == 0,
            PartWaits::Computing => false,
        }
    }

    /// Whether it receives.
    pub fn receives(&self) -> bool {
        self.receives > 0
    }

    /// What comes next, of a part that is ready.
    pub fn next(&mut self) -> Progress {
        self.waits = PartWaits::No;
        let context = self.communicator.collectives();
        loop {
            let tag = |tag| self.first_tag.wrapping_add(tag % COLLECTIVE_TAGS);
            let size = self.communicator.size();
            let action = match self.call.next(self.me, size, &mut self.cursor) {
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
                    self.waits = PartWaits::ForAllButLast;
                    return Progress::Wait;
                }
                Move::WaitAll => {
                    self.waits = PartWaits::ForAll;
                    return Progress::Wait;
                }
                Move::Done if self.outstanding > 0 => {
                    self.waits = PartWaits::ForAll;
                    return Progress::Wait;
                }
                Move::Done => return Progress::Done,
            };
            match action.waiting() {
                Waiting::Processor => self.waits = PartWaits::Computing,
                waiting => {
                    self.outstanding += 1;
                    self.receives += u32::from(waiting == Waiting::Receive);
                }
            }
            return Progress::Begin(action);
        }
    }

    /// Takes note of the receive that it has begun last.
    pub fn posted(&mut self, request: RequestId) {
        self.last_receive = Some(request);
    }

    /// Something that it has begun is complete.
    pub fn complete(&mut self, request: RequestId, waiting: Waiting) {
        match waiting {
            Waiting::Processor => {
                self.waits = PartWaits::No;
                return;
            }
            Waiting::Receive => self.receives -= 1,
            Waiting::Send => {}
        }
        self.outstanding -= 1;
        if self.last_receive == Some(request) {
            self.last_receive = None;
        }
    }
}
