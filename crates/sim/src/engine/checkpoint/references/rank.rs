//! What the record of a rank refers to.

use odonata_mpi::matching::{Arrived, Envelope, Line, Matching, Posted, Unmatched, Wanted};
use odonata_mpi::{Outgoing, Processor, RankRecord, Sending, Stage, Task};
use odonata_run::{RankInterval, RankTimes, Traffic};
use odonata_units::{Picoseconds, RankId};

use super::{Checked, LATEST, amounts, ensure, time_or_never, times};

/// Processors of a rank are named by eight bits.
const MOST_PROCESSORS: usize = 1 << 8;

/// A rank of a closed-loop job with so many ranks.
pub(super) struct OfRank {
    pub job: u32,
    pub rank: u32,
    pub ranks: u32,
}

impl OfRank {
    fn other(&self, rank: u32, field: &'static str) -> Checked {
        ensure(rank < self.ranks, field)
    }

    /// All of a rank; `runs`: whether a state of its program is saved.
    pub fn record(&self, record: &RankRecord, runs: bool) -> Checked {
        let RankRecord {
            stage,
            processors,
            waiting: _,
            collective: _,
            iterations: _,
            activity: _,
            since,
            times: spent,
            cause,
            intervals,
            traffic,
            matching,
            granted,
            held,
            unfinished,
            next_handle: _,
            // Compared with ranks, never looked up.
            last_to: _,
            delayed,
            // The program's.
            leaving: _,
        } = record;
        ensure((*stage == Stage::Running) == runs, "the program of a rank")?;
        ensure(
            processors.len() <= MOST_PROCESSORS,
            "the processors of a rank",
        )?;
        for processor in processors {
            let Processor { task, until, queue } = processor;
            time_or_never(*until, "when a processor is done")?;
            for task in task.iter().chain(queue.iter().map(|(_, task)| task)) {
                self.task(task)?;
            }
        }
        times([*since], "since when a rank does something")?;
        let RankTimes {
            outside_ps,
            collective_ps,
        } = spent;
        amounts(*outside_ps, "the times of a rank")?;
        amounts(*collective_ps, "the times of a rank")?;
        if let Some((rank, _)) = cause {
            self.other(*rank, "the cause of a rank's wait")?;
        }
        for interval in intervals {
            self.interval(interval)?;
        }
        for (to, Traffic { messages, bytes }) in traffic {
            let there = u32::try_from(*to).is_ok_and(|to| to < self.ranks);
            ensure(there, "the receiver of counted messages")?;
            amounts([*messages, *bytes], "counted messages")?;
        }
        self.matching(matching)?;
        for (key, posted) in granted {
            self.other(*key as u32, "the sender of a granted message")?;
            posted_receive(posted);
        }
        for sending in held.values().chain(unfinished.values()) {
            self.sending(sending)?;
        }
        for (_, outgoing) in delayed {
            let Outgoing {
                kind: _,
                to,
                bytes,
                context: _,
                tag: _,
                sequence: _,
                handle: _,
                // The program's.
                request: _,
                created: _,
            } = outgoing;
            self.other(*to, "the receiver of a delayed message")?;
            amounts([*bytes], "the size of a delayed message")?;
        }
        Ok(())
    }

    fn interval(&self, interval: &RankInterval) -> Checked {
        let RankInterval {
            job,
            rank,
            begin: Picoseconds(begin),
            end: Picoseconds(end),
            activity: _,
            collective: _,
            cause,
        } = interval;
        let own = *job == self.job && *rank == RankId(self.rank);
        ensure(own, "the rank of an interval")?;
        ensure(begin <= end && *end <= LATEST, "the time of an interval")?;
        match cause {
            Some((rank, _)) => self.other(rank.0, "the cause of an interval"),
            None => Ok(()),
        }
    }

    fn task(&self, task: &Task) -> Checked {
        // Requests are the program's, handles the sender's.
        match task {
            Task::Compute(_) | Task::TakeIn(_) => Ok(()),
            Task::HandOver(sending) => self.sending(sending),
            Task::HandOverPut {
                to,
                bytes,
                request: _,
                created: _,
            } => {
                amounts([*bytes], "the size of a write")?;
                self.other(*to, "where a rank writes")
            }
            Task::HandOverGet {
                from,
                bytes,
                request: _,
            } => {
                amounts([*bytes], "the size of a read")?;
                self.other(*from, "where a rank reads")
            }
            Task::TakeInAndFinish {
                request: _,
                handle: _,
                to,
            } => self.other(*to, "the sender of a message that is taken in"),
            Task::Grant { handle: _, to } => self.other(*to, "whom a rank grants"),
        }
    }

    fn sending(&self, sending: &Sending) -> Checked {
        let Sending {
            to,
            bytes,
            envelope,
            request: _,
            created: _,
        } = sending;
        amounts([*bytes], "the size of a sent message")?;
        self.other(*to, "the receiver of a sent message")?;
        let Envelope {
            context: _,
            source,
            tag: _,
        } = envelope;
        ensure(*source == self.rank, "the sender of a sent message")
    }

    fn matching(&self, matching: &Matching) -> Checked {
        let Matching {
            lines,
            wildcards,
            next: _,
            sent,
            come,
            ahead,
        } = matching;
        for (envelope, unmatched) in lines {
            self.envelope(envelope)?;
            match unmatched {
                Unmatched::Posted(Line { first, others }) => {
                    let others = others.iter().flat_map(|others| others.iter());
                    for (_, posted) in others.chain(std::iter::once(first)) {
                        posted_receive(posted);
                    }
                }
                Unmatched::Arrived(Line { first, others }) => {
                    let others = others.iter().flat_map(|others| others.iter());
                    for (_, arrived) in others.chain(std::iter::once(first)) {
                        arrived_message(arrived)?;
                    }
                }
            }
        }
        for (_, wanted, posted) in wildcards {
            let Wanted {
                context: _,
                source,
                tag: _,
            } = wanted;
            if let Some(source) = source {
                self.other(*source, "the sender that a receive is for")?;
            }
            posted_receive(posted);
        }
        for (_, other) in sent.keys().chain(come.keys()) {
            self.other(*other, "the other side of ordered messages")?;
        }
        for ((_, source, _), (envelope, arrived)) in ahead {
            self.other(*source, "the sender of an early message")?;
            self.envelope(envelope)?;
            arrived_message(arrived)?;
        }
        Ok(())
    }

    fn envelope(&self, envelope: &Envelope) -> Checked {
        let Envelope {
            context: _,
            source,
            tag: _,
        } = envelope;
        self.other(*source, "the sender of a message")
    }
}

/// Names nothing but what is the program's, and one of 256 processors, which are made as
/// they are named.
fn posted_receive(posted: &Posted) {
    let Posted {
        request: _,
        processor: _,
    } = posted;
}

fn arrived_message(arrived: &Arrived) -> Checked {
    match arrived {
        Arrived::Message { bytes, created: _ } => amounts([*bytes], "the size of a message"),
        // The sender's.
        Arrived::Request { handle: _ } => Ok(()),
    }
}
