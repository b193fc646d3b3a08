//! Traces of MPI as programs.

use odonata_traces::TraceError;
use odonata_units::RankId;

use super::call::Source;
use super::facts::TraceFacts;
use super::memberships::Communicators;
use super::operations::Replay;
use super::options::Options;
use super::region::Cut;
use super::requests::Effects;
use super::survey::{CheckedTrace, survey, survey_region};
use crate::interpreter::Interpreter;
use crate::program::{ProgramError, RankProgram, Totals};

/// A trace of MPI that fits together.
pub(super) struct MpiTrace {
    source: Box<dyn Source>,
    communicators: Communicators,
    /// The part that is replayed; `None`: all of it.
    cut: Option<Cut>,
    facts: TraceFacts,
    options: Options,
}

impl MpiTrace {
    /// Reads the trace once; for a region of it three times more.
    ///
    /// # Errors
    /// If it is damaged or does not fit together.
    pub fn new(source: Box<dyn Source>, options: Options) -> Result<Self, TraceError> {
        let whole = options.region.is_whole();
        let CheckedTrace {
            mut facts,
            communicators,
        } = survey(source.as_ref(), whole)?;
        let mut cut = None;
        if !whole {
            let found = Cut::new(source.as_ref(), &communicators, &options.region)?;
            facts = survey_region(source.as_ref(), &found, &communicators)?;
            cut = Some(found);
        }
        Ok(Self {
            source,
            communicators,
            cut,
            facts,
            options,
        })
    }

    pub fn facts(&self) -> &TraceFacts {
        &self.facts
    }

    pub fn processors(&self) -> u8 {
        self.options.progress.processors()
    }

    pub fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        let effects = Effects::within(
            self.source.as_ref(),
            rank.0,
            self.cut.as_ref(),
            &self.communicators,
        )
        .map_err(|error| ProgramError(format!("rank {rank}: {error}")))?;
        let replay = Replay::new(effects, &self.options, rank.0, &self.communicators);
        let progress = self.options.progress;
        Ok(Box::new(Interpreter::new(rank, replay, progress)))
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
