//! Servers of a parallel file system: how fast they take and give bytes, and what that does to
//! those who wait.

use odonata_units::{Bandwidth, Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

/// What a server stores bytes on. It does one thing after the other, in the order in which
/// requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    /// Rate of writing.
    pub write: Bandwidth,
    /// Rate of reading.
    pub read: Bandwidth,
    /// Time that a request takes besides, which keeps nobody else waiting.
    pub latency: Picoseconds,
    /// What writes go to first.
    pub burst_buffer: Option<BurstBuffer>,
}

/// A fast store in front of a server's medium, which is emptied at the medium's rate of writing
/// whenever something is in it. Reads take no notice of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstBuffer {
    /// Rate at which it takes bytes, above the medium's.
    pub bandwidth: Bandwidth,
    /// What it holds.
    pub capacity: Bytes,
}

/// The servers that a job writes to and reads from: its last ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Servers {
    /// Its first server among its ranks.
    pub first: u32,
    /// The job, and the rank of it, that keeps the state of the first server for all jobs; the
    /// other servers follow as they do here.
    pub keeper: (u32, u32),
    /// What each of them stores bytes on.
    pub medium: Medium,
}

impl Servers {
    /// Which rank of which job keeps the state of the server that is the rank `rank` of the job;
    /// `None`: it is no server.
    pub fn keeper_of(&self, rank: u32) -> Option<(u32, u32)> {
        let server = rank.checked_sub(self.first)?;
        Some((self.keeper.0, self.keeper.1 + server))
    }
}

/// Until when a medium is busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediumState {
    /// When the medium, or the burst buffer for writes, is done with what has come, in ps.
    pub free_at: u64,
    /// With a burst buffer: when the medium is done with reads, in ps.
    pub read_at: u64,
    /// With a burst buffer: when it is empty if nothing more comes, in ps.
    pub drained_at: u64,
}

/// When a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// When the medium begins with it, in ps.
    pub begin: u64,
    /// When the medium is done with it, in ps.
    pub end: u64,
    /// When its sender is told, in ps.
    pub told: u64,
}

impl Medium {
    /// Takes `bytes` that have come at `now`.
    ///
    /// A burst buffer of capacity C, emptied at rate d, that would be empty at e if nothing more
    /// came holds (e − t) d bytes at t. So b more bytes have room from e + b/d − C/d on, and are
    /// taken no faster than its own rate.
    pub fn write(&self, state: &mut MediumState, bytes: u64, now: u64) -> Service {
        let begin = state.free_at.max(now);
        let end = match &self.burst_buffer {
            None => begin.saturating_add(self.write.duration_of(bytes).0),
            Some(buffer) => {
                let taken = begin.saturating_add(buffer.bandwidth.duration_of(bytes).0);
                let drain = self.write.duration_of(bytes).0;
                state.drained_at = state.drained_at.max(begin).saturating_add(drain);
                let full = self.write.duration_of(buffer.capacity.0).0;
                taken.max(state.drained_at.saturating_sub(full))
            }
        };
        state.free_at = end;
        self.service(begin, end)
    }

    /// Gives `bytes` that have been asked for at `now`.
    pub fn read(&self, state: &mut MediumState, bytes: u64, now: u64) -> Service {
        let free_at = match self.burst_buffer {
            None => &mut state.free_at,
            Some(_) => &mut state.read_at,
        };
        let begin = (*free_at).max(now);
        let end = begin.saturating_add(self.read.duration_of(bytes).0);
        *free_at = end;
        self.service(begin, end)
    }

    fn service(&self, begin: u64, end: u64) -> Service {
        let told = end.saturating_add(self.latency.0);
        Service { begin, end, told }
    }
}

/// What a server did for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerUse {
    /// Job.
    pub job: u32,
    /// The server among the job's ranks.
    pub rank: RankId,
    /// What it did.
    pub counts: ServerCounts,
}

/// Sums over the requests of a job at a server, of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounts {
    /// Requests to write, and to read.
    pub writes: u64,
    /// Requests to read.
    pub reads: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time that the medium spent on them, in ps.
    pub busy_ps: u64,
    /// Time that they waited for the medium, summed over requests, in ps.
    pub queued_ps: u64,
    /// When the first came, in ps.
    pub first_ps: u64,
    /// When the last was done, in ps.
    pub last_ps: u64,
}

impl ServerCounts {
    /// Counts a request that came at `now`.
    pub fn add(&mut self, is_write: bool, bytes: u64, now: u64, service: Service) {
        if self.writes + self.reads == 0 {
            self.first_ps = now;
        }
        let (requests, sum) = match is_write {
            true => (&mut self.writes, &mut self.written_bytes),
            false => (&mut self.reads, &mut self.read_bytes),
        };
        *requests += 1;
        *sum += bytes;
        self.busy_ps += service.end - service.begin;
        self.queued_ps += service.begin - now;
        self.last_ps = self.last_ps.max(service.told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: u64 = 1_000;

    fn medium(burst_buffer: Option<BurstBuffer>) -> Medium {
        let rate = |rate| Bandwidth::new(rate).unwrap();
        Medium {
            write: rate(1_000_000_000),
            read: rate(2_000_000_000),
            latency: Picoseconds(7),
            burst_buffer,
        }
    }

    #[test]
    fn one_thing_after_the_other() {
        let (medium, mut state) = (medium(None), MediumState::default());
        // 1,000 bytes take 1 us to write at 1 GB/s, 0.5 us to read at 2 GB/s.
        let first = medium.write(&mut state, 1_000, 500);
        assert_eq!((first.begin, first.end), (500, 500 + 1_000 * NS));
        assert_eq!(first.told, first.end + 7);
        let read = medium.read(&mut state, 1_000, 600);
        assert_eq!((read.begin, read.end), (first.end, first.end + 500 * NS));
        // The latency kept nobody waiting, and a medium that is idle begins at once.
        let later = medium.write(&mut state, 1, read.end + 3);
        assert_eq!(later.begin, read.end + 3);
    }

    #[test]
    fn a_burst_buffer_takes_bursts_at_its_rate_until_it_is_full() {
        let buffer = BurstBuffer {
            bandwidth: Bandwidth::new(4_000_000_000).unwrap(),
            capacity: Bytes(30_000),
        };
        let (medium, mut state) = (medium(Some(buffer)), MediumState::default());
        // It fills at 4 - 1 GB/s: 30 kB after 10 us, when 40 kB have come; the rest at 1 GB/s.
        let ends: Vec<u64> = (0..60)
            .map(|_| medium.write(&mut state, 1_000, 0).end)
            .collect();
        for (kilobytes, end) in (1u64..).zip(ends) {
            let filling = kilobytes * 250 * NS;
            let full = 10_000 * NS + kilobytes.saturating_sub(40) * 1_000 * NS;
            assert_eq!(end, if kilobytes <= 40 { filling } else { full });
        }
        // 30 us at 30 us, all drained 30 us later: the next burst finds it half empty after 15 us.
        let mut idle = state;
        let end = medium.write(&mut idle, 1_000, 45_000 * NS).end;
        assert_eq!(end, 45_250 * NS);
        let end = medium.write(&mut state, 30_000, 45_000 * NS).end;
        // Room for 15 kB and what is drained meanwhile, then as fast as that: 30 - 15 us.
        assert_eq!(end, 60_000 * NS);
        // Reads do not wait for it.
        assert_eq!(medium.read(&mut state, 2_000, 0).end, 1_000 * NS);
    }
}
