//! A run's dealings with checkpoints in one process.

use std::fs::File;
use std::io::{BufReader, Read};

use super::error::CheckpointError;
use super::file;
use super::header::{Checkpoints, Event, Header};
use super::keeper::Keeper;
use crate::cost::Cost;
use crate::steady::SteadyState;

/// A run's dealings with checkpoints in one process.
pub(crate) struct Session<'c> {
    checkpoints: &'c Checkpoints,
    start: Option<(Header, BufReader<File>)>,
    tell: &'c mut dyn FnMut(&Event),
}

impl<'c> Session<'c> {
    pub(super) fn new(
        checkpoints: &'c Checkpoints,
        tell: &'c mut dyn FnMut(&Event),
    ) -> Result<Self, CheckpointError> {
        let mut start = None;
        if checkpoints.resume {
            let (header, body) = file::open(&checkpoints.file)?;
            header.check(&checkpoints.file, &checkpoints.identity.result)?;
            tell(&Event::Resumed { at: header.at });
            start = Some((header, body));
        }
        Ok(Self {
            checkpoints,
            start,
            tell,
        })
    }

    /// What the run cost before, the state that it goes on from, and who writes
    /// its checkpoints.
    pub fn keeper<'s, 'o>(
        &'s mut self,
        steady: &'s mut SteadyState<'o>,
    ) -> (Cost, Option<&'s mut dyn Read>, Keeper<'s, 'o>) {
        let (before, body) = match &mut self.start {
            Some((header, body)) => (Some(&*header), Some(body as &mut dyn Read)),
            None => (None, None),
        };
        if let Some(header) = before {
            steady.recall(header.findings);
        }
        let cost = before.map_or_else(Cost::default, |header| header.cost);
        let keeper = Keeper::new(self.checkpoints, before, steady, self.tell);
        (cost, body, keeper)
    }
}
