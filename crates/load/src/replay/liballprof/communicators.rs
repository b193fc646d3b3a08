//! The communicators of a rank, of which the trace has the handles where they are used.

use std::collections::HashMap;
use std::sync::Arc;

use odonata_traces::liballprof::{self, Comm};

use super::{MPICH_SELF, Maker, RankAndSize};
use crate::replay::call::{Call, Origin, Slot};

/// A communicator that was made and has no handle yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    slot: Slot,
    maker: Maker,
    /// The rank's standing in it, where it is known.
    standing: Option<RankAndSize>,
    /// Members of the parent.
    most: u32,
    /// Address of the variable.
    variable: u64,
}

/// The communicators of a rank.
pub(super) struct RankCommunicators {
    standings: Arc<[Option<RankAndSize>]>,
    /// Handles that the rank uses, ascending.
    used: Arc<[(u64, RankAndSize)]>,
    handles: HashMap<u64, (Slot, RankAndSize)>,
    waiting: Vec<Waiting>,
    /// Handles by the address of the variable that they were put in.
    variables: HashMap<u64, u64>,
    /// Made of the world so far.
    of_world: usize,
    next: u32,
}

impl RankCommunicators {
    /// The communicators of a rank before its first call: the world, with its handle and the rank's
    /// standing there. `standings`: its standing in the n-th communicator that it makes of the
    /// world; `used`: the handles that it uses, ascending.
    pub fn new(
        world: (u64, RankAndSize),
        standings: Arc<[Option<RankAndSize>]>,
        used: Arc<[(u64, RankAndSize)]>,
    ) -> Self {
        let (handle, standing) = world;
        Self {
            standings,
            used,
            handles: HashMap::from([(handle, (Slot::WORLD, standing))]),
            waiting: vec![],
            variables: HashMap::new(),
            of_world: 0,
            // After the world and the rank alone.
            next: 2,
        }
    }

    /// The slot of a communicator that a call has, made known to the replay by `calls` where it
    /// is new.
    ///
    /// # Errors
    /// If no call before made such a one, in words.
    pub fn slot(&mut self, comm: Comm, calls: &mut Vec<Call>) -> Result<Slot, String> {
        let standing = (comm.rank, comm.size);
        if let Some(&(slot, known)) = self.handles.get(&comm.handle)
            && known == standing
        {
            return Ok(slot);
        }
        let exact = |made: &Waiting| made.standing == Some(standing);
        let possible = |made: &Waiting| made.standing.is_none() && comm.size <= made.most;
        let found = (self.choose(comm, exact))
            .or_else(|| self.choose(comm, possible))
            .filter(|_| comm.handle != MPICH_SELF);
        let slot = match found {
            Some(place) => {
                let made = self.waiting.remove(place);
                self.variables.insert(made.variable, comm.handle);
                calls.push(Call::Claim {
                    comm: made.slot,
                    rank: Some(comm.rank),
                    size: Some(comm.size),
                });
                made.slot
            }
            None if comm.size == 1 => Slot::MYSELF,
            None => {
                let unknown = self.waiting.iter().find_map(|made| match made.maker {
                    Maker::Unknown(function) => Some(function),
                    _ => None,
                });
                return Err(match unknown {
                    Some(function) => format!(
                        "communicator {} of {} ranks, which {function} made; the trace does not \
                         tell who its members are. Followed are duplicates, splits, and those \
                         with all ranks of their parent",
                        comm.handle, comm.size
                    ),
                    None => format!(
                        "communicator {} of {} ranks, of which this is number {}: no call before \
                         made such a one",
                        comm.handle, comm.size, comm.rank
                    ),
                });
            }
        };
        self.handles.insert(comm.handle, (slot, standing));
        Ok(slot)
    }

    /// Which of the communicators that fit is that of a new handle.
    fn choose(&self, comm: Comm, fits: impl Fn(&Waiting) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = (self.waiting.iter().enumerate())
            .filter(|(_, made)| fits(made))
            .map(|(place, _)| place)
            .collect();
        if fitting.len() < 2 {
            return fitting.first().copied();
        }
        let alike = self.used.iter().filter(|(handle, standing)| {
            *standing == (comm.rank, comm.size) && !self.handles.contains_key(handle)
        });
        let before = alike
            .take_while(|(handle, _)| *handle < comm.handle)
            .count();
        fitting.get(before).or(fitting.first()).copied()
    }

    pub fn create(
        &mut self,
        maker: Maker,
        call: &liballprof::Call<'_>,
        calls: &mut Vec<Call>,
    ) -> Result<(), String> {
        let comm = call.comm(0)?;
        let parent = self.slot(comm, calls)?;
        let (how, of_split) = match maker {
            Maker::Split => {
                let color = call.int(1)?;
                let how = Origin::Split {
                    // MPI_UNDEFINED is negative wherever it was looked up; colours are not.
                    color: Some(color).filter(|&color| color >= 0),
                    key: call.int(2)?,
                };
                (how, Some(color))
            }
            _ => (Origin::Duplicate, None),
        };
        let of_world = (parent == Slot::WORLD).then_some(self.of_world);
        self.of_world += usize::from(parent == Slot::WORLD);
        let is_member = of_split.is_none_or(|color| color >= 0);
        let new = is_member.then_some(Slot(self.next));
        calls.push(Call::Create { parent, new, how });
        if let Some(slot) = new {
            self.next += 1;
            let standing = match maker {
                Maker::Split => of_world.and_then(|number| *self.standings.get(number)?),
                _ => Some((comm.rank, comm.size)),
            };
            self.waiting.push(Waiting {
                slot,
                maker,
                standing,
                most: comm.size,
                variable: call.address(call.arguments().saturating_sub(1))?,
            });
        }
        Ok(())
    }

    /// The communicator in a variable is freed.
    pub fn free(&mut self, variable: u64) {
        match self.variables.remove(&variable) {
            Some(handle) => {
                self.handles.remove(&handle);
            }
            // It was never used.
            None => self.waiting.retain(|made| made.variable != variable),
        }
    }
}
