//! Traces of MPI as programs.

use odonata_traces::TraceError;
use odonata_units::RankId;

use super::Options;
use super::call::Source;
use super::facts::TraceFacts;
use super::memberships::Communicators;
use super::operations::Replay;
use super::requests::Effects;
use super::survey::{Surveyed, survey};
use crate::interpreter::Interpreter;
use crate::program::{ProgramError, RankProgram, Totals};

/// A trace of MPI that fits together.
pub(super) struct MpiTrace {
    source: Box<dyn Source>,
    communicators: Communicators,
    facts: TraceFacts,
    options: Options,
}

impl MpiTrace {
    /// Reads the trace once.
    ///
    /// # Errors
    /// If it is damaged or does not fit together.
    pub fn new(source: Box<dyn Source>, options: Options) -> Result<Self, TraceError> {
        let Surveyed {
            facts,
            communicators,
        } = survey(source.as_ref())?;
        Ok(Self {
            source,
            communicators,
            facts,
            options,
        })
    }

    pub fn facts(&self) -> &TraceFacts {
        &self.facts
    }

    pub fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        let effects = Effects::new(self.source.as_ref(), rank.0)
            .map_err(|error| ProgramError(format!("rank {rank}: {error}")))?;
        let replay = Replay::new(effects, &self.options, rank.0, &self.communicators);
        Ok(Box::new(Interpreter::new(rank, replay)))
    }

    /// What it sends; `None` if collectives do, whose messages are those of their
    /// algorithms.
    pub fn totals(&self) -> Option<Totals> {
        self.facts.collectives.is_empty().then_some(Totals {
            bytes: self.facts.bytes,
            messages: self.facts.messages,
        })
    }
}
