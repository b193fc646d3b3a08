//! Application skeletons: what the ranks of well-known applications compute and
//! send in an iteration, without what they compute it for.
//!
//! A skeleton is a struct of parameters that implements [`Skeleton`]: it checks
//! them and says which [`Phase`]s an iteration has. Most are a dozen lines made of
//! stencil exchanges, collectives and computing; what depends on the rank in more
//! than its neighbours (wavefronts, pipelines, refinement) is a
//! [`Script`] of its own and becomes one phase. To add one: a file here, a line in
//! [`Application`].

use std::sync::Arc;

use odonata_declare::Named;
use odonata_declare::table::TableDeclaration;
use odonata_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::collective::{Algorithms, CollectiveCall};
use crate::error::LoadError;
use crate::phases::{Calls, Division, Phase, Phases};
use crate::script::Script;
use computing::Computing;

mod amg;
mod computing;
mod fft;
mod gtc;
mod hacc;
mod halo3d26;
mod lulesh;
mod milc;
mod mini_amr;
mod nekbone;
mod parameters;
mod stencil;
mod sweep3d;
mod training;

pub use amg::Amg;
pub use computing::ComputeRate;
pub use fft::Fft;
pub use gtc::Gtc;
pub use hacc::Hacc;
pub use halo3d26::Halo3d26;
pub use lulesh::Lulesh;
pub use milc::Milc;
pub use mini_amr::MiniAmr;
pub use nekbone::Nekbone;
pub use sweep3d::Sweep3d;
pub use training::{Model, Schedule, Training};

/// What a skeleton runs on.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Number of ranks.
    pub ranks: u32,
    /// How fast they compute; the skeleton's own default if not given.
    pub compute_rate: Option<ComputeRate>,
    /// How they carry out collectives.
    pub algorithms: Algorithms,
}

impl Setting {
    /// `ranks` ranks with everything else as the skeleton has it by default.
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            compute_rate: None,
            algorithms: Algorithms::default(),
        }
    }

    /// All ranks as one group.
    fn all(&self) -> Division {
        Division::all(self.ranks)
    }

    /// The computing of an iteration of `flop` floating-point operations.
    fn computing<S: Skeleton>(&self, flop: f64) -> Result<Computing, LoadError> {
        let compute_rate = self
            .compute_rate
            .unwrap_or(ComputeRate::FlopPerS(S::FLOP_PER_S));
        Computing::new(compute_rate, S::NAME, flop)
    }

    /// Every group reduces vectors of `bytes` bytes, and all its ranks get the result.
    fn allreduce(&self, division: Division, bytes: u64) -> Phase {
        collective(
            division,
            self.algorithms.allreduce(Bytes(bytes), division.size()),
        )
    }

    /// Every rank sends `bytes` bytes to every one of its group.
    fn alltoall(&self, division: Division, bytes: u64) -> Phase {
        collective(
            division,
            self.algorithms.alltoall(Bytes(bytes), division.size()),
        )
    }

    /// Every rank gets `bytes` bytes of every one of its group.
    fn allgather(&self, division: Division, bytes: u64) -> Phase {
        collective(
            division,
            self.algorithms.allgather(Bytes(bytes), division.size()),
        )
    }
}

fn collective(division: Division, call: CollectiveCall) -> Phase {
    Phase::Collective(division, Calls::Same(Arc::new(call)))
}

/// An application's skeleton: its parameters.
pub trait Skeleton {
    /// Its name, as scenarios have it.
    const NAME: &'static str;

    /// Floating-point operations per second of a rank, if nothing else is said.
    const FLOP_PER_S: f64;

    /// The phases of an iteration.
    ///
    /// # Errors
    /// If a parameter is out of range or does not fit the number of ranks; the
    /// error names it and what is allowed.
    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError>;

    /// What all ranks do in `iterations` iterations.
    ///
    /// # Errors
    /// As [`Self::phases`], and if there are no iterations or totals exceed 64 bits.
    fn script(&self, setting: &Setting, iterations: u32) -> Result<Arc<dyn Script>, LoadError> {
        let phases = Phases::new(setting.ranks, self.phases(setting)?, iterations)?;
        Ok(Arc::new(phases))
    }
}

/// Declares [`Application`].
macro_rules! applications {
    ($($(#[$text:meta])+ $skeleton:ident = $name:literal),* $(,)?) => {
        /// Any of the skeletons, by its name.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Named)]
        #[serde(tag = "name")]
        pub enum Application {
            $(
                $(#[$text])+
                #[serde(rename = $name)]
                $skeleton($skeleton),
            )*
        }

        impl Application {
            /// Floating-point operations per second of a rank, if nothing else is said.
            pub fn flop_per_s(&self) -> f64 {
                match self {
                    $(Self::$skeleton(_) => $skeleton::FLOP_PER_S,)*
                }
            }

            /// What documentation says of the parameters of each, by its name, and its
            /// floating-point operations per second of a rank by default.
            pub fn declarations() -> Vec<(&'static str, f64, TableDeclaration)> {
                vec![$(($name, $skeleton::FLOP_PER_S, $skeleton::declaration())),*]
            }

            /// The application of this name with all parameters as by default.
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$skeleton($skeleton::default())),)*
                    _ => None,
                }
            }

            /// What all ranks do in `iterations` iterations.
            ///
            /// # Errors
            /// As [`Skeleton::script`].
            pub fn script(
                &self,
                setting: &Setting,
                iterations: u32,
            ) -> Result<Arc<dyn Script>, LoadError> {
                match self {
                    $(Self::$skeleton(skeleton) => skeleton.script(setting, iterations),)*
                }
            }
        }
    };
}

applications! {
    /// Halo exchange with faces, edges and corners: all 26 neighbours in 3-D.
    Halo3d26 = "halo3d-26",
    /// Wavefronts of particle transport, from each corner of a 2-D grid of ranks.
    Sweep3d = "sweep3d",
    /// A 3-D Fourier transform and its inverse, with a pencil decomposition.
    Fft = "fft",
    /// Shock hydrodynamics: an all-reduce and exchanges with 26, 13 and 6 neighbours.
    Lulesh = "lulesh",
    /// Conjugate gradients with a V-cycle of algebraic multigrid.
    Amg = "amg",
    /// Lattice quantum chromodynamics: gathers in 4-D, with third neighbours.
    Milc = "milc",
    /// Conjugate gradients with spectral elements: gather-scatter and all-reduces.
    Nekbone = "nekbone",
    /// A stencil on a mesh that is refined around a moving sphere.
    MiniAmr = "mini-amr",
    /// Cosmological particles: Fourier transforms and exchanges with 26 neighbours.
    Hacc = "hacc",
    /// Particles in a torus: shifts around the torus, all-reduces within its domains.
    Gtc = "gtc",
    /// A training step of a language model: data, tensor and pipeline parallelism.
    Training = "training",
}
