//! Checkpoints: ranks write to a file system, all at once.

use odonata_units::{Bytes, Picoseconds, RankId};

use super::steps::Repeat;
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::program::{Action, Repetition, Totals};
use crate::script::{Handle, Need, Operation, Script};
use crate::storage::{Extent, FileSystem};

/// What a rank sends to those whose data it has written.
const NOTICE: Bytes = Bytes(8);

/// Tags: data on the way to writers, notices of writers, data on the way back.
const COLLECTED: u32 = 0;
const WRITTEN: u32 = 1;
const DEALT: u32 = 2;

/// What a checkpoint writes, and who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of all ranks, which have equally many but for a byte.
    pub total: Bytes,
    /// The first of every this many ranks collects what they have and writes it.
    pub ranks_per_writer: u32,
    /// Whether all write parts of one file, rather than each a file of its own.
    pub shared: bool,
    /// Whether everything is read at the beginning, as it lay in the first checkpoint.
    pub restart: bool,
    /// Whether anything is written.
    pub writes: bool,
}

/// Ranks that compute, write, and go on when all of it is written. Each iteration writes new files.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    ranks: u32,
    layout: Layout,
    file_system: FileSystem,
    repeat: Repeat,
    totals: Totals,
}

/// Values of [`Cursor::stage`].
mod stage {
    pub const READ: u32 = 0;
    pub const DEAL: u32 = 1;
    pub const COMPUTE: u32 = 2;
    pub const COLLECT: u32 = 3;
    pub const WRITE: u32 = 4;
    pub const NOTIFY: u32 = 5;
}

impl Checkpoint {
    /// A checkpoint of `ranks` ranks.
    ///
    /// # Errors
    /// If there is nothing to write, nobody to write it, something of the file system is nothing, a
    /// file has more stripes than there are servers, there are no iterations, or totals exceed 64
    /// bits.
    pub fn new(
        ranks: u32,
        layout: Layout,
        file_system: FileSystem,
        repeat: Repeat,
    ) -> Result<Self, LoadError> {
        let wrong = |parameter, found: String, allowed: String| LoadError::Parameter {
            application: "checkpoint",
            parameter,
            found,
            allowed,
        };
        if layout.total.0 == 0 {
            return Err(wrong("total", "0 B".into(), "at least 1 B".into()));
        }
        if !layout.writes && !layout.restart {
            let allowed = "true, or `restart = true` with it";
            return Err(wrong("write", "false".into(), allowed.into()));
        }
        if layout.ranks_per_writer == 0 || layout.ranks_per_writer > ranks {
            let found = layout.ranks_per_writer.to_string();
            return Err(wrong(
                "ranks_per_writer",
                found,
                format!("1 to the {ranks} ranks"),
            ));
        }
        let FileSystem {
            servers,
            stripe_count,
            ..
        } = file_system;
        let sizes = [file_system.stripe.0, file_system.request.0];
        if sizes.contains(&0)
            || file_system.in_flight == 0
            || !(1..=servers).contains(&stripe_count)
        {
            let found = format!("{file_system:?}");
            let allowed = "sizes above 0, and 1 stripe to as many as there are servers";
            return Err(wrong("file system", found, allowed.into()));
        }
        let mut checkpoint = Self {
            ranks,
            layout,
            file_system,
            repeat,
            totals: Totals::default(),
        };
        let (mut requests, mut moved, mut messages) = (0u128, 0u128, 0u128);
        for writer in (0..ranks).step_by(layout.ranks_per_writer as usize) {
            let extent = checkpoint.extent(writer, 0);
            requests += u128::from(file_system.requests(extent));
            let others = writer + 1..checkpoint.end_of(writer);
            let with_data = others.filter(|&rank| checkpoint.share(rank).0 > 0);
            for rank in with_data {
                moved += u128::from(checkpoint.share(rank).0);
                messages += 1;
            }
        }
        let total = u128::from(layout.total.0);
        let bytes = total + moved + messages * u128::from(NOTICE.0);
        let each = match layout.writes {
            true => repeat.totals(bytes, requests + 2 * messages)?,
            false => repeat.totals(0, 0)?,
        };
        let at_start = match layout.restart {
            true => Repeat::ONCE.totals(total + moved, requests + messages)?,
            false => Totals::default(),
        };
        let bytes = each.bytes.0.checked_add(at_start.bytes.0);
        let bytes = bytes.ok_or(LoadError::TooMuch {
            bytes: u128::from(each.bytes.0) + u128::from(at_start.bytes.0),
            messages: u128::from(each.messages),
        })?;
        checkpoint.totals = Totals {
            bytes: Bytes(bytes),
            messages: each.messages + at_start.messages,
        };
        Ok(checkpoint)
    }

    /// Where the data of the ranks before this one ends.
    fn offset(&self, rank: u32) -> u64 {
        let before = u128::from(self.layout.total.0) * u128::from(rank);
        (before / u128::from(self.ranks)) as u64
    }

    fn share(&self, rank: u32) -> Bytes {
        Bytes(self.offset(rank + 1) - self.offset(rank))
    }

    const fn writer_of(&self, rank: u32) -> u32 {
        rank - rank % self.layout.ranks_per_writer
    }

    /// One past the last rank whose data a writer has.
    fn end_of(&self, writer: u32) -> u32 {
        let end = writer.saturating_add(self.layout.ranks_per_writer);
        end.min(self.ranks)
    }

    /// What a writer writes in an iteration.
    fn extent(&self, writer: u32, iteration: u32) -> Extent {
        let (begin, end) = (self.offset(writer), self.offset(self.end_of(writer)));
        if self.layout.shared {
            let file = u64::from(iteration);
            return Extent { file, begin, end };
        }
        let writers = u64::from(self.ranks.div_ceil(self.layout.ranks_per_writer));
        let own = u64::from(writer / self.layout.ranks_per_writer);
        Extent {
            file: u64::from(iteration) * writers + own,
            begin: 0,
            end: end - begin,
        }
    }

    /// The next operation of a writer that writes or reads its part of a file, `position` counting
    /// them: for each request one that waits until so many are no longer under way, and one that
    /// begins it.
    fn transfer(&self, extent: Extent, position: &mut u64, writes: bool) -> Option<Operation> {
        let system = &self.file_system;
        let (places, window) = (system.places(extent), system.window());
        loop {
            let place = *position / 2;
            if place > places || (place == places && *position % 2 == 1) {
                return None;
            }
            let waits = position.is_multiple_of(2);
            *position += 1;
            if place == places {
                let last = places.saturating_sub(window)..places;
                return Some(Operation::Wait {
                    handles: last.map(Handle).collect(),
                    need: Need::All,
                });
            }
            let Some((server, bytes)) = system.request(extent, place) else {
                continue;
            };
            if waits {
                if let Some(before) = place.checked_sub(window) {
                    return Some(Operation::Wait {
                        handles: [Handle(before)].into(),
                        need: Need::All,
                    });
                }
                continue;
            }
            let server = RankId(self.ranks + server);
            return Some(Operation::Begin {
                action: match writes {
                    true => Action::Put { to: server, bytes },
                    false => Action::Get {
                        from: server,
                        bytes,
                    },
                },
                handle: Handle(place),
            });
        }
    }

    /// The next operation of a rank while a writer sends to those whose data it has, or they to it
    /// (`inward`): `size` of each of them.
    fn pass(
        &self,
        rank: u32,
        position: &mut u64,
        inward: bool,
        tag: u32,
        size: impl Fn(u32) -> Bytes,
    ) -> Option<Operation> {
        let writer = self.writer_of(rank);
        let all = u64::from(self.end_of(writer) - writer);
        loop {
            // A writer has a message for each of the others, another rank one.
            let messages = if rank == writer { all - 1 } else { 1 };
            let place = *position;
            if place > messages || all == 1 {
                return None;
            }
            *position += 1;
            if place == messages {
                return Some(Operation::WaitAll);
            }
            let other = match rank == writer {
                true => writer + 1 + place as u32,
                false => rank,
            };
            if self.share(other).0 == 0 {
                continue;
            }
            let peer = RankId(if rank == writer { other } else { writer });
            return Some(match (rank == writer) == inward {
                true => Operation::Receive { from: peer, tag },
                false => Operation::Send {
                    to: peer,
                    bytes: size(other),
                    tag,
                },
            });
        }
    }
}

impl Script for Checkpoint {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        if cursor.iteration >= self.repeat.iterations {
            return Operation::Finish;
        }
        let (rank, iteration) = (rank.0, cursor.iteration);
        let restarts = self.layout.restart && iteration == 0;
        let is_writer = self.writer_of(rank) == rank;
        let writes = self.layout.writes;
        loop {
            let share = |other| self.share(other);
            let position = &mut cursor.position;
            let operation = match cursor.stage {
                stage::READ if restarts && is_writer => {
                    self.transfer(self.extent(rank, 0), position, false)
                }
                stage::DEAL if restarts => self.pass(rank, position, false, DEALT, share),
                stage::COMPUTE if *position == 0 && self.repeat.compute > Picoseconds::ZERO => {
                    *position = 1;
                    Some(Operation::Compute(self.repeat.compute))
                }
                stage::COLLECT if writes => self.pass(rank, position, true, COLLECTED, share),
                stage::WRITE if writes && is_writer => {
                    self.transfer(self.extent(rank, iteration), position, true)
                }
                stage::NOTIFY if writes => self.pass(rank, position, false, WRITTEN, |_| NOTICE),
                stage::READ..=stage::NOTIFY => None,
                _ => return cursor.end_iteration(),
            };
            match operation {
                Some(operation) => return operation,
                None => (cursor.stage, cursor.position) = (cursor.stage + 1, 0),
            }
        }
    }

    fn totals(&self) -> Option<Totals> {
        Some(self.totals)
    }

    fn iterations(&self) -> u32 {
        self.repeat.iterations
    }

    fn repetition(&self) -> Repetition {
        // Each writes new files, which begin at other servers.
        Repetition::Varied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: FileSystem = FileSystem {
        servers: 2,
        stripe: Bytes(10),
        stripe_count: 2,
        request: Bytes(10),
        in_flight: 1,
    };

    const LAYOUT: Layout = Layout {
        total: Bytes(60),
        ranks_per_writer: 1,
        shared: false,
        restart: false,
        writes: true,
    };

    fn checkpoint(ranks: u32, layout: Layout, iterations: u32) -> Checkpoint {
        Checkpoint::new(ranks, layout, SYSTEM, Repeat::times(iterations)).unwrap()
    }

    fn operations(checkpoint: &Checkpoint, rank: u32) -> Vec<Operation> {
        let mut cursor = Cursor::default();
        let mut all = Vec::new();
        loop {
            match checkpoint.next(RankId(rank), &mut cursor) {
                Operation::Finish => return all,
                operation => all.push(operation),
            }
        }
    }

    #[test]
    fn a_rank_has_a_number_of_requests_under_way_to_each_server() {
        let put = |server, place| Operation::Begin {
            action: Action::Put {
                to: RankId(server),
                bytes: Bytes(10),
            },
            handle: Handle(place),
        };
        let wait = |handles: &[u64]| Operation::Wait {
            handles: handles.iter().copied().map(Handle).collect(),
            need: Need::All,
        };
        // 40 bytes of a rank: two stripes on each of two servers, ranks 1 and 2.
        let layout = Layout {
            total: Bytes(40),
            ..LAYOUT
        };
        assert_eq!(
            operations(&checkpoint(1, layout, 1), 0),
            [
                put(1, 0),
                put(2, 1),
                wait(&[0]),
                put(1, 2),
                wait(&[1]),
                put(2, 3),
                wait(&[2, 3]),
                Operation::EndIteration,
            ]
        );
    }

    #[test]
    fn writers_collect_what_others_have_and_tell_them() {
        let layout = Layout {
            ranks_per_writer: 2,
            restart: true,
            ..LAYOUT
        };
        // Ranks 0 and 1, 2 alone: 20 bytes each.
        let checkpoint = checkpoint(3, layout, 2);
        let member = operations(&checkpoint, 1);
        let receive = |tag| Operation::Receive {
            from: RankId(0),
            tag,
        };
        let send = Operation::Send {
            to: RankId(0),
            bytes: Bytes(20),
            tag: COLLECTED,
        };
        let iteration = [
            send,
            Operation::WaitAll,
            receive(WRITTEN),
            Operation::WaitAll,
            Operation::EndIteration,
        ];
        let mut expected = vec![receive(DEALT), Operation::WaitAll];
        expected.extend(iteration.clone());
        expected.extend(iteration);
        assert_eq!(member, expected);
        let (mut bytes, mut messages) = (0, 0);
        for rank in 0..3 {
            for operation in operations(&checkpoint, rank) {
                let sent = match operation {
                    Operation::Send { bytes, .. } => bytes.0,
                    Operation::Begin {
                        action: Action::Put { bytes, .. } | Action::Get { bytes, .. },
                        ..
                    } => bytes.0,
                    _ => continue,
                };
                bytes += sent;
                messages += 1;
            }
        }
        // 60 bytes in 6 requests, 20 that rank 1 sends, and a notice; at the start the same but that.
        let expected = Totals {
            bytes: Bytes(2 * (60 + 20 + 8) + 60 + 20),
            messages: 2 * (6 + 1 + 1) + 6 + 1,
        };
        assert_eq!(checkpoint.totals(), Some(expected));
        assert_eq!(
            Totals {
                bytes: Bytes(bytes),
                messages
            },
            expected
        );
    }

    #[test]
    fn ranks_write_parts_of_one_file_or_files_of_their_own() {
        let ends = |shared, rank, iteration| {
            let layout = Layout { shared, ..LAYOUT };
            let Extent { file, begin, end } = checkpoint(4, layout, 2).extent(rank, iteration);
            (file, begin, end)
        };
        assert_eq!(ends(true, 3, 1), (1, 45, 60));
        assert_eq!(ends(false, 3, 1), (7, 0, 15));
        // What does not divide evenly adds up all the same.
        let layout = Layout {
            total: Bytes(10),
            ..LAYOUT
        };
        let uneven = checkpoint(4, layout, 1);
        let shares: Vec<u64> = (0..4).map(|rank| uneven.share(rank).0).collect();
        assert_eq!(shares, [2, 3, 2, 3]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |layout, system| {
            let found = Checkpoint::new(4, layout, system, Repeat::ONCE);
            match found.unwrap_err() {
                LoadError::Parameter { parameter, .. } => parameter,
                other => panic!("{other}"),
            }
        };
        let none = Layout {
            total: Bytes(0),
            ..LAYOUT
        };
        assert_eq!(refused(none, SYSTEM), "total");
        let nothing = Layout {
            writes: false,
            ..LAYOUT
        };
        assert_eq!(refused(nothing, SYSTEM), "write");
        let few = Layout {
            ranks_per_writer: 5,
            ..LAYOUT
        };
        assert_eq!(refused(few, SYSTEM), "ranks_per_writer");
        let wide = FileSystem {
            stripe_count: 3,
            ..SYSTEM
        };
        assert_eq!(refused(LAYOUT, wide), "file system");
    }
}
