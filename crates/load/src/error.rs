//! Everything that can be wrong with a load.

use thiserror::Error;

/// Why a pattern, a source or a motif cannot be built. Each message says what
/// was found, what is allowed and, where it is not plain, what to do.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The load needs more ranks.
    #[error("{load} needs at least {least} ranks, but the job has {ranks}")]
    TooFewRanks {
        /// Pattern or motif.
        load: &'static str,
        /// Ranks of the job.
        ranks: u32,
        /// Ranks needed.
        least: u32,
    },
    /// Receives in turn, in an order in which all ranks may wait for each other.
    #[error(
        "receives are posted in turn with partners in an order of each rank's own, in which all \
         ranks may wait for each other for ever; use receives = \"ahead\", or order = \"ascending\""
    )]
    ReceivesInTurn,
    /// An algorithm that a collective does not have.
    #[error("unknown algorithm \"{name}\" of {operation}; use one of: auto, {}", allowed.join(", "))]
    UnknownAlgorithm {
        /// Operation of the algorithm.
        operation: &'static str,
        /// Name found.
        name: Box<str>,
        /// Names that exist.
        allowed: &'static [&'static str],
    },
    /// An operation that is no collective.
    #[error("unknown collective \"{name}\"; use one of: {}", allowed.join(", "))]
    UnknownCollective {
        /// Name found.
        name: Box<str>,
        /// Names that exist.
        allowed: &'static [&'static str],
    },
    /// A pattern between groups of a job that is in one.
    #[error(
        "{load} sends to other groups, but all ranks of the job are in one group; give it nodes of \
         several groups"
    )]
    OneBlock {
        /// Pattern.
        load: &'static str,
    },
    /// A matrix of rates between groups, of another number of them.
    #[error(
        "the matrix of rates has {rows} rows, but the ranks of the job are in {blocks} groups or \
         routers; give one row for each of these"
    )]
    Rows {
        /// Rows of the matrix.
        rows: u32,
        /// Groups or routers in which the job has ranks.
        blocks: u32,
    },
    /// A matrix of rates without any.
    #[error("the matrix of rates holds no traffic between two ranks")]
    NoRates,
    /// More partners of ranks than are kept.
    #[error("the ranks have 2^32 partners or more in all")]
    TooManyPartners,
    /// More messages of a rank than are counted.
    #[error(
        "a rank sends {messages} times to {at_once} partners, which exceeds 2^32 - 1 messages; \
         lower `messages`"
    )]
    TooManyTimes {
        /// How often.
        messages: u32,
        /// Partners at a time.
        at_once: u32,
    },
    /// No messages at all.
    #[error("a rank sends 0 messages; give a number of at least 1, or none for no end")]
    NoMessages,
    /// A transpose of a number of ranks that is no square.
    #[error(
        "transpose needs a square number of ranks, but the job has {ranks}; \
         the nearest squares are {below} and {above}"
    )]
    NotSquare {
        /// Ranks of the job.
        ranks: u32,
        /// Next smaller square.
        below: u64,
        /// Next larger square.
        above: u64,
    },
    /// A list with one entry per rank has another length.
    #[error("{list} has {entries} entries, but the job has {ranks} ranks; give one entry per rank")]
    ListLength {
        /// Which list.
        list: &'static str,
        /// Entries found.
        entries: usize,
        /// Ranks of the job.
        ranks: u32,
    },
    /// A rank that the job does not have.
    #[error("{list} names rank {rank}, but the job's ranks are 0 to {last}")]
    UnknownRank {
        /// Which list.
        list: &'static str,
        /// Rank found.
        rank: u32,
        /// Highest rank.
        last: u32,
    },
    /// Two ranks send to the same one where one sender at most is allowed.
    #[error(
        "ranks {first} and {second} both send to rank {destination}; in a permutation \
         every rank receives from one rank at most"
    )]
    NotPermutation {
        /// Rank that receives twice.
        destination: u32,
        /// One sender.
        first: u32,
        /// The other.
        second: u32,
    },
    /// A shift that maps every block onto itself or cannot be distinguished from one that does.
    #[error(
        "{load} with a shift of {shift} over {blocks} blocks keeps traffic inside its block; \
         allowed are at least 2 blocks and shifts that are no multiple of their number"
    )]
    BlockShift {
        /// Pattern.
        load: &'static str,
        /// Shift asked for.
        shift: i64,
        /// Blocks that hold ranks.
        blocks: u32,
    },
    /// A share outside [0, 1].
    #[error("the hot-spot fraction is {found}; allowed is a number from 0 to 1")]
    Fraction {
        /// Value found.
        found: f64,
    },
    /// A hot spot without ranks.
    #[error("the hot spot lists no rank; name at least one")]
    NoHotRanks,
    /// A rank is listed twice.
    #[error("{list} names rank {rank} twice; name each rank once")]
    RepeatedRank {
        /// Which list.
        list: &'static str,
        /// Rank listed twice.
        rank: u32,
    },
    /// A process grid of another size than the job.
    #[error("the process grid {grid} has {points} points, but the job has {ranks} ranks")]
    GridSize {
        /// Grid as text, for example `4x4x2`.
        grid: String,
        /// Points of the grid.
        points: u64,
        /// Ranks of the job.
        ranks: u32,
    },
    /// A process grid with no or too many dimensions, or an extent of zero.
    #[error(
        "a process grid has 1 to {most} dimensions of at least 1 point each, \
         2^32-1 points in all, but {grid} was given"
    )]
    GridShape {
        /// Grid as text.
        grid: String,
        /// Most dimensions.
        most: usize,
    },
    /// A list with one entry per dimension of the grid has another length.
    #[error("{list} has {entries} entries, but the process grid has {dimensions} dimensions")]
    PerDimension {
        /// Which list.
        list: &'static str,
        /// Entries found.
        entries: usize,
        /// Dimensions of the grid.
        dimensions: usize,
    },
    /// A message of zero bytes.
    #[error("a message has 0 bytes; allowed is 1 byte or more")]
    EmptyMessage,
    /// A mean gap between messages that is no time or far out of range.
    #[error(
        "the mean gap between two messages of a source is {found_ps} ps; allowed is 1 ps to {most_ps} ps"
    )]
    Gap {
        /// Value found, in picoseconds.
        found_ps: f64,
        /// Largest allowed, in picoseconds.
        most_ps: f64,
    },
    /// A rate that is not positive.
    #[error("the offered rate is {found} B/s; allowed is a number above 0")]
    Rate {
        /// Value found, in bytes per second.
        found: f64,
    },
    /// A Bernoulli probability outside (0, 1].
    #[error(
        "the probability of a message per slot is {found}; allowed is above 0 to 1 \
         (a lower rate, a larger message or a shorter slot lowers it)"
    )]
    Probability {
        /// Value found.
        found: f64,
    },
    /// A Bernoulli slot of no length.
    #[error("the slot of a Bernoulli source is 0 ps; allowed is 1 ps or more")]
    NoSlot,
    /// A motif that never runs.
    #[error("the motif has 0 iterations; allowed is 1 or more")]
    NoIterations,
    /// A window without steps.
    #[error("the window is 0 steps; allowed is 1 or more")]
    NoWindow,
    /// More bytes or messages than 64 bits count.
    #[error(
        "the motif would send {bytes} bytes in {messages} messages; allowed are fewer than 2^64 of \
         each: lower the message size or the iterations"
    )]
    TooMuch {
        /// Bytes of all ranks and iterations.
        bytes: u128,
        /// Messages of all ranks and iterations.
        messages: u128,
    },
    /// A pattern whose receivers cannot know their senders.
    #[error("the pattern {pattern} has no closed-loop exchange; {instead}")]
    NoExchange {
        /// Pattern.
        pattern: &'static str,
        /// What to use.
        instead: &'static str,
    },
    /// A factor on bytes that is not positive.
    #[error("the scale of the communication matrix is {found}; allowed is a number above 0")]
    Scale {
        /// Value found.
        found: f64,
    },
    /// Message counts are wanted but the matrix has none.
    #[error(
        "the communication matrix holds no message counts, so its messages cannot be replayed as \
         recorded; give a largest message size or send each entry whole"
    )]
    NoMessageCounts,
    /// An entry of a matrix would be cut into too many messages.
    #[error(
        "the {bytes} bytes from rank {source_rank} to rank {destination} would be cut into {messages} messages; \
         allowed are fewer than 2^32: raise the largest message size"
    )]
    TooManyMessages {
        /// Sending rank.
        source_rank: u32,
        /// Receiving rank.
        destination: u32,
        /// Bytes of the entry.
        bytes: u64,
        /// Messages it would make.
        messages: u64,
    },
    /// A value that an application's parameter cannot have.
    #[error("{application}: {parameter} is {found}; allowed: {allowed}")]
    Parameter {
        /// Application.
        application: &'static str,
        /// Key of the parameter.
        parameter: &'static str,
        /// Value found.
        found: String,
        /// What is allowed, and what to do.
        allowed: String,
    },
    /// A pattern between routers that the network or the job's place on it does not allow.
    #[error(
        "a pattern between routers needs a path between every two routers of the job, as many ranks \
         on each and, for `two-hop`, closed chains of links through all of them; found: {found}; \
         take `permutation`, or a matrix of rates"
    )]
    BetweenRouters {
        /// What was found.
        found: String,
    },
    /// Phases without anything to do.
    #[error("there are no phases; give at least one")]
    NoPhases,
    /// Phases beyond what can be counted.
    #[error(
        "there are too many phases; allowed are fewer than 65536, run through fewer than 2^64 times \
         in all"
    )]
    TooManyPhases,
    /// A phase of another number of ranks.
    #[error("a phase has {found} ranks, but the job has {ranks}; all phases are of all ranks")]
    PhaseRanks {
        /// Ranks of the phase.
        found: u32,
        /// Ranks of the job.
        ranks: u32,
    },
}
