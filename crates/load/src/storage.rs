//! File systems as the ranks of a job see them: how a file lies on servers, which are further
//! ranks of the job.

use std::sync::Arc;

use odonata_units::{Bytes, RankId};

use crate::program::{Idle, Program, ProgramError, RankProgram, RequestId, Step, Totals};

/// How files lie on the servers of a file system: stripe after stripe on one server after the
/// other, and round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Number of servers, whose ranks follow those of the job.
    pub servers: u32,
    /// Bytes of a file on a server before the next one's turn.
    pub stripe: Bytes,
    /// Servers of a file.
    pub stripe_count: u32,
    /// Largest request.
    pub request: Bytes,
    /// Requests of a rank that may be under way to a server.
    pub in_flight: u32,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Number of the file.
    pub file: u64,
    /// Where the part begins.
    pub begin: u64,
    /// Where it ends.
    pub end: u64,
}

impl FileSystem {
    /// Requests of a whole stripe.
    const fn per_stripe(&self) -> u64 {
        self.stripe.0.div_ceil(self.request.0)
    }

    /// Places for requests in a stripe on each server of a file. Requests are counted in the order
    /// in which all servers have something to do: the first of each stripe, the second of each, …
    const fn per_row(&self) -> u64 {
        self.per_stripe() * self.stripe_count as u64
    }

    const fn row(&self) -> u64 {
        self.stripe.0 * self.stripe_count as u64
    }

    /// Places of the requests for a part of a file, some of them for nothing.
    pub(crate) const fn places(&self, extent: Extent) -> u64 {
        let first = extent.begin / self.row();
        (extent.end.div_ceil(self.row()) - first) * self.per_row()
    }

    /// The server and the size of the request at a place; `None` if there is nothing.
    pub(crate) fn request(&self, extent: Extent, place: u64) -> Option<(u32, Bytes)> {
        let row = extent.begin / self.row() + place / self.per_row();
        let count = u64::from(self.stripe_count);
        let (within, stripe) = (place % self.per_row() / count, place % count);
        let from = within * self.request.0;
        let start = row * self.row() + stripe * self.stripe.0 + from;
        let end = start + self.request.0.min(self.stripe.0 - from);
        let size = end.min(extent.end).checked_sub(start.max(extent.begin))?;
        // The first servers of files follow each other, as Lustre's allocation in turn does it.
        let first = u128::from(extent.file) * u128::from(count);
        let server = (first + u128::from(stripe)) % u128::from(self.servers);
        (size > 0).then_some((server as u32, Bytes(size)))
    }

    /// Number of requests for a part of a file.
    pub(crate) const fn requests(&self, extent: Extent) -> u64 {
        if extent.begin >= extent.end {
            return 0;
        }
        let (stripe, request) = (self.stripe.0, self.request.0);
        let begun =
            extent.end / stripe * self.per_stripe() + (extent.end % stripe).div_ceil(request);
        begun - (extent.begin / stripe * self.per_stripe() + extent.begin % stripe / request)
    }

    /// How many places later the request is that waits for the one at a place.
    pub(crate) const fn window(&self) -> u64 {
        self.in_flight as u64 * self.stripe_count as u64
    }
}

/// What the ranks of a job do beside servers, which are further ranks of it, have no program, and
/// are written to and read from.
pub struct BesideServers {
    program: Arc<dyn Program>,
    servers: u32,
}

impl BesideServers {
    /// A program of all ranks but the last `servers`.
    pub fn new(program: Arc<dyn Program>, servers: u32) -> Self {
        Self { program, servers }
    }
}

impl Program for BesideServers {
    fn ranks(&self) -> u32 {
        self.program.ranks() + self.servers
    }

    fn processors(&self) -> u8 {
        self.program.processors()
    }

    fn has_parallelism(&self) -> bool {
        self.program.has_parallelism()
    }

    fn start(&self, rank: RankId) -> Result<Box<dyn RankProgram + '_>, ProgramError> {
        if rank.0 < self.program.ranks() {
            return self.program.start(rank);
        }
        Ok(Box::new(Server {
            iterations: self.program.iterations(),
        }))
    }

    fn totals(&self) -> Option<Totals> {
        self.program.totals()
    }

    fn iterations(&self) -> u32 {
        self.program.iterations()
    }
}

/// A rank that does nothing by itself: it is done with all iterations as it starts, so that they
/// end when other ranks end them.
struct Server {
    /// That it has yet to end.
    iterations: u32,
}

impl RankProgram for Server {
    fn next(&mut self, _: Idle) -> Result<Step, ProgramError> {
        Ok(match self.iterations.checked_sub(1) {
            Some(left) => {
                self.iterations = left;
                Step::EndIteration
            }
            None => Step::Finish,
        })
    }

    fn complete(&mut self, _: RequestId) {}

    fn save(&self) -> Vec<u8> {
        self.iterations.to_le_bytes().to_vec()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), ProgramError> {
        let saved = saved.try_into();
        let saved = saved.map_err(|_| ProgramError("a server's state of another size".into()))?;
        self.iterations = u32::from_le_bytes(saved);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: FileSystem = FileSystem {
        servers: 4,
        stripe: Bytes(100),
        stripe_count: 2,
        request: Bytes(60),
        in_flight: 8,
    };

    fn requests(extent: Extent) -> Vec<(u32, u64)> {
        (0..SYSTEM.places(extent))
            .filter_map(|place| SYSTEM.request(extent, place))
            .map(|(server, bytes)| (server, bytes.0))
            .collect()
    }

    #[test]
    fn stripes_go_round_the_servers_of_a_file() {
        let file = |file, begin, end| Extent { file, begin, end };
        // Stripes of 60 + 40 bytes on servers 0 and 1, then a row of 100 + 30.
        assert_eq!(
            requests(file(0, 0, 330)),
            [
                (0, 60),
                (1, 60),
                (0, 40),
                (1, 40),
                (0, 60),
                (1, 30),
                (0, 40)
            ]
        );
        // The next file begins behind the last server of the one before, and round.
        assert_eq!(requests(file(1, 0, 130)), [(2, 60), (3, 30), (2, 40)]);
        assert_eq!(requests(file(2, 0, 10)), [(0, 10)]);
        // A part that begins and ends within requests.
        assert_eq!(requests(file(3, 150, 170)), [(3, 10), (3, 10)]);
        assert_eq!(requests(file(3, 190, 230)), [(3, 10), (2, 30)]);
        assert_eq!(requests(file(0, 40, 40)), []);
    }

    #[test]
    fn every_byte_is_in_one_request_and_they_are_counted_beforehand() {
        for (begin, end) in [(0, 1), (0, 100), (33, 777), (99, 101), (160, 400), (7, 7)] {
            let extent = Extent {
                file: 5,
                begin,
                end,
            };
            let all = requests(extent);
            assert_eq!(all.iter().map(|one| one.1).sum::<u64>(), end - begin);
            assert_eq!(
                all.len() as u64,
                SYSTEM.requests(extent),
                "{begin} to {end}"
            );
        }
    }
}
