//! What keeps ranks from their programs besides messages: interruptions by the operating system, and
//! late entries into collectives.

use odonata_units::Picoseconds;
use odonata_units::random::StreamKey;

/// Noise of the ranks of a job.
///
/// Interruptions of a processor come at random, with exponentially distributed times between the end of
/// one and the begin of the next; each takes a gamma-distributed time of [`Self::SHAPE`]. What a
/// processor does meanwhile takes longer by it (Hoefler, Schneider, Lumsdaine 2010); one that has
/// nothing to do loses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Mean time between two interruptions of a processor; above zero.
    pub interval: Picoseconds,
    /// Mean time that one takes; zero: there are none.
    pub time: Picoseconds,
    /// Mean of the exponentially distributed time by which a rank enters a blocking collective late.
    pub entry_delay: Picoseconds,
    /// Key of the draws.
    pub draws: StreamKey,
}

impl Noise {
    /// Shape of the distribution of what an interruption takes: its quartiles are as far apart as the
    /// 2.3, 3.2 and 3.8 µs that Netgauge found on a node of Alps (De Sensi et al. 2023).
    pub const SHAPE: u32 = 6;
}
