//! Motifs: communication patterns that many applications share, as closed-loop
//! [`Script`](crate::Script)s. Operations are computed when they are asked
//! for, so that a motif's memory does not grow with its messages.
//!
//! Most motifs are sequences of steps in each of which a rank sends one message
//! at most and receives one at most; they implement [`Steps`] and run as
//! [`Stepped`] scripts. A new motif of that kind is four short functions.

mod all_to_all;
mod bisection;
mod broadcast;
mod checkpoint;
mod collective;
mod exchange;
mod halo;
mod matrix_replay;
mod random_cycle;
mod steps;

pub use all_to_all::{AllToAll, AllToAllSteps};
pub use bisection::{Bisection, BisectionOrder, BisectionSteps};
pub use broadcast::{Broadcast, Tree};
pub use checkpoint::{Checkpoint, Layout};
pub use collective::Collective;
pub use exchange::{Exchange, ExchangeSteps};
pub use halo::{Halo, HaloOrder, HaloSteps};
pub use matrix_replay::{MatrixOrder, MatrixReplay, MessageSize};
pub use random_cycle::RandomCycle;
pub use steps::{Outstanding, Receives, Repeat, Stepped, Steps};
