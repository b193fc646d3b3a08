//! What every part of a saved state is checked by, field by field.
//!
//! [`sound!`] lists the fields of a record, each with what it is: a number of something that has
//! to be there, a time, an amount, or (`each`) a record or several that are checked themselves. A
//! field without a word names nothing: counters, flags, what is wired, and what belongs to the
//! program of a rank, which [`Rank::restore`] hands to it. A record that lacks a field here does
//! not compile, so that a new field is said what it is before it is restored.
//!
//! [`Rank::restore`]: odonata_mpi::Rank::restore

use std::collections::{HashMap, VecDeque};

use odonata_units::{NodeId, Picoseconds, RankId, RouterId};

use crate::engine::port::NEVER;
use crate::engine::shared::Shared;

/// What is wrong: the field that refers to nothing, or says what cannot be.
pub(super) type Checked = Result<(), &'static str>;

pub(super) fn ensure(holds: bool, field: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(field) }
}

/// No amount or time in a state is larger, so that two can be added.
pub(super) const MOST: u64 = 1 << 62;
/// Latest time: the end of simulated time, and what takes place after it.
pub(super) const LATEST: u64 = 1 << 63;
/// Most routers that a packet has visited: of more, its count could not go on.
const MOST_ROUTERS_VISITED: u64 = 1 << 15;

/// What there is, for a record to refer to.
#[derive(Clone, Copy)]
pub(super) struct Here<'c, 'a> {
    pub shared: &'c Shared<'a>,
    /// Time of the state.
    pub at: u64,
    /// In the record of a rank: its job and number, and the ranks of its job.
    pub own: (u32, u32),
    pub ranks: u32,
}

/// One or several numbers of one sort.
pub(super) trait Numbers {
    fn all(&self, holds: impl Fn(u64) -> bool) -> bool;
}

macro_rules! numbers {
    ($($name:ty: $number:expr),* $(,)?) => { $(
        impl Numbers for $name {
            fn all(&self, holds: impl Fn(u64) -> bool) -> bool {
                let number: fn($name) -> u64 = $number;
                holds(number(*self))
            }
        }
    )* };
}

numbers! {
    u8: u64::from, u16: u64::from, u32: u64::from, u64: |n| n, i64: i64::unsigned_abs,
    RankId: |rank| rank.0.into(), NodeId: |node| node.0.into(), RouterId: |router| router.0.into(),
    Picoseconds: |time| time.0,
}

impl<T: Numbers> Numbers for Option<T> {
    fn all(&self, holds: impl Fn(u64) -> bool) -> bool {
        self.as_ref().is_none_or(|number| number.all(holds))
    }
}

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    fn all(&self, holds: impl Fn(u64) -> bool) -> bool {
        self.iter().all(|number| number.all(&holds))
    }
}

impl<T: Numbers> Numbers for Vec<T> {
    fn all(&self, holds: impl Fn(u64) -> bool) -> bool {
        self.iter().all(|number| number.all(&holds))
    }
}

/// A rank, and since when.
impl<T: Numbers, U> Numbers for (T, U) {
    fn all(&self, holds: impl Fn(u64) -> bool) -> bool {
        self.0.all(holds)
    }
}

impl<'c, 'a> Here<'c, 'a> {
    pub fn new(shared: &'c Shared<'a>, at: u64) -> Self {
        Self {
            shared,
            at,
            own: (0, 0),
            ranks: 0,
        }
    }

    /// The same with the ranks of a job; none if there is no such job.
    pub fn of_job(self, job: u32) -> Self {
        let job = self.shared.jobs.get(job as usize);
        let ranks = job.map_or(0, |job| job.node_of_rank.len() as u32);
        Self { ranks, ..self }
    }
}

/// What a field can be.
impl Here<'_, '_> {
    pub fn job(&self, jobs: &impl Numbers) -> bool {
        jobs.all(|job| job < self.shared.jobs.len() as u64)
    }

    pub fn router(&self, routers: &impl Numbers) -> bool {
        routers.all(|router| router < self.shared.topology.routers() as u64)
    }

    pub fn node(&self, nodes: &impl Numbers) -> bool {
        nodes.all(|node| node < self.shared.topology.nodes() as u64)
    }

    pub fn class(&self, classes: &impl Numbers) -> bool {
        classes.all(|class| class < self.shared.classes.len() as u64)
    }

    pub fn traffic_class(&self, classes: &impl Numbers) -> bool {
        let known = self.shared.config.classes.len().max(1);
        classes.all(|class| class < known as u64)
    }

    pub fn channel(&self, channels: &impl Numbers) -> bool {
        channels.all(|vc| vc < self.shared.vcs as u64)
    }

    /// A channel that a routing algorithm tells apart.
    pub fn routed_channel(&self, channels: &impl Numbers) -> bool {
        channels.all(|vc| vc < u64::from(self.shared.lanes.channels()))
    }

    /// A rank of the own job.
    pub fn rank(&self, ranks: &impl Numbers) -> bool {
        ranks.all(|rank| rank < u64::from(self.ranks))
    }

    pub fn own_job(&self, jobs: &impl Numbers) -> bool {
        jobs.all(|job| job == u64::from(self.own.0))
    }

    pub fn own_rank(&self, ranks: &impl Numbers) -> bool {
        ranks.all(|rank| rank == u64::from(self.own.1))
    }

    pub fn packet_size(&self, sizes: &impl Numbers) -> bool {
        sizes.all(|size| size <= u64::from(self.shared.packet))
    }

    pub fn visited(&self, routers: &impl Numbers) -> bool {
        routers.all(|routers| routers <= MOST_ROUTERS_VISITED)
    }

    pub fn past(&self, times: &impl Numbers) -> bool {
        times.all(|time| time <= self.at)
    }

    pub fn time(&self, times: &impl Numbers) -> bool {
        times.all(|time| time <= LATEST)
    }

    pub fn time_or_never(&self, times: &impl Numbers) -> bool {
        times.all(|time| time <= LATEST || time == NEVER)
    }

    pub fn amount(&self, amounts: &impl Numbers) -> bool {
        amounts.all(|amount| amount <= MOST)
    }

    /// Bytes of something that is not through.
    pub fn some(&self, amounts: &impl Numbers) -> bool {
        amounts.all(|amount| (1..=MOST).contains(&amount))
    }
}

/// A part of a state, all of which can be checked by what there is.
pub(super) trait Sound {
    fn check(&self, here: &Here<'_, '_>) -> Checked;
}

macro_rules! sound {
    (@ $here:ident $field:ident) => { let _ = $field; };
    (@ $here:ident $field:ident each) => { $crate::engine::checkpoint::sound::Sound::check($field, $here)?; };
    (@ $here:ident $field:ident $kind:ident $what:literal) => {
        $crate::engine::checkpoint::sound::ensure($here.$kind($field), $what)?;
    };
    ($($name:ident { $($field:ident $(: $kind:ident $($what:literal)?)?),* $(,)? })*) => { $(
        impl $crate::engine::checkpoint::sound::Sound for $name {
            fn check(
                &self,
                here: &$crate::engine::checkpoint::sound::Here<'_, '_>,
            ) -> $crate::engine::checkpoint::sound::Checked {
                let $name { $($field),* } = self;
                let _ = here;
                $( sound!(@ here $field $($kind $($what)?)?); )*
                Ok(())
            }
        }
    )* };
}
pub(super) use sound;

impl<T: Sound> Sound for Option<T> {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        self.iter().try_for_each(|part| part.check(here))
    }
}

impl<T: Sound> Sound for Box<T> {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        (**self).check(here)
    }
}

impl<T: Sound, const N: usize> Sound for [T; N] {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        self.iter().try_for_each(|part| part.check(here))
    }
}

impl<T: Sound> Sound for Vec<T> {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        self.iter().try_for_each(|part| part.check(here))
    }
}

/// Each with its number or time, which names nothing.
impl<T: Sound> Sound for VecDeque<(u64, T)> {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        self.iter().try_for_each(|(_, part)| part.check(here))
    }
}

impl<K, T: Sound, S> Sound for HashMap<K, T, S> {
    fn check(&self, here: &Here<'_, '_>) -> Checked {
        self.values().try_for_each(|part| part.check(here))
    }
}
