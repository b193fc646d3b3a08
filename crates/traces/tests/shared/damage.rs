//! Damages files in the ways that disks, transfers and editors do, and checks
//! that a reader neither panics, hangs nor takes more memory than the file
//! justifies.

use std::time::Instant;

/// A stream of numbers for tests (SplitMix64; Steele, Lea and Flood 2014).
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// A damaged copy of `seed`: up to four of truncation, flipped bits, a changed
/// byte, a large number written over a word, a doubled, removed or moved piece,
/// and a piece of `other`.
pub fn damaged(seed: &[u8], other: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=numbers.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = numbers.below(bytes.len());
        match numbers.below(8) {
            0 => bytes.truncate(at),
            1 | 2 => bytes[at] ^= 1 << numbers.below(8),
            3 => bytes[at] = numbers.next() as u8,
            4 => {
                let end = (at + 4).min(bytes.len());
                let word = [0x7f, 0xff, 0xff, 0xff];
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
            5 => {
                let end = (at + 1 + numbers.below(64)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let target = numbers.below(bytes.len());
                bytes.splice(target..target, piece);
            }
            6 => {
                let end = (at + 1 + numbers.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let from = numbers.below(other.len());
                let end = (from + 1 + numbers.below(64)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
    bytes
}

/// Highest virtual memory of this process so far, bytes; `None` where the system
/// does not tell.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmPeak:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Runs `read` on `rounds` damaged copies of every seed. `read` returns whether
/// the file was accepted. Returns how many of all were refused.
pub fn attack(
    seeds: &[Vec<u8>],
    rounds: usize,
    start: u64,
    mut read: impl FnMut(&[u8]) -> bool,
) -> (usize, usize) {
    let mut numbers = Numbers(start);
    let memory_before = peak_memory();
    let (mut refused, mut all) = (0, 0);
    for (index, seed) in seeds.iter().enumerate() {
        let other = &seeds[(index + 1) % seeds.len()];
        for _ in 0..rounds {
            let bytes = damaged(seed, other, &mut numbers);
            let started = Instant::now();
            refused += usize::from(!read(&bytes));
            all += 1;
            // The largest seed is read in milliseconds.
            let seconds = started.elapsed().as_secs_f64();
            assert!(seconds < 10.0, "{} bytes took {seconds} s", bytes.len());
        }
    }
    if let (Some(before), Some(after)) = (memory_before, peak_memory()) {
        // A damaged length that is believed costs gigabytes. Threads of the test
        // harness reserve 64 MiB each.
        let grown = (after - before) / (1024 * 1024);
        assert!(grown < 1024, "memory grew by {grown} MiB");
    }
    (refused, all)
}

/// Rounds per seed: few in every run, many on request.
///
/// `TRACE_DAMAGE_ROUNDS=1000000 cargo test -p odonata-traces damaged` is the
/// long run.
pub fn rounds(usual: usize) -> usize {
    std::env::var("TRACE_DAMAGE_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(usual)
}

/// First number of the stream that chooses the damage; another one tries others.
pub fn start() -> u64 {
    std::env::var("TRACE_DAMAGE_SEED")
        .ok()
        .and_then(|start| start.parse().ok())
        .unwrap_or(1)
}
