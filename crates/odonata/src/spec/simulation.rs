//! How long to simulate, and what to record.

use odonata_declare::Named;
use serde::{Deserialize, Serialize};

use super::table::table;

/// What simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Packets, buffers, credits.
    Packet,
    /// Flows that share links max-min fairly.
    Flow,
}

table! {
    /// How long and how finely to simulate.
    pub struct Simulation {
        /// What is simulated: every packet, with buffers and credits (`packet`), or messages as
        /// flows that share links max-min fairly, which is faster and coarser (`flow`; see [the
        /// flow engine](flow-engine.md)).
        engine: Engine = Engine::Packet,
        /// With `engine = "flow"`: largest number of paths that a message is spread over, one per
        /// packet at most. Default: 8.
        paths: Option<u32> = None => Notes { least: Some(1.0), most: Some(4096.0), ..Notes::NONE },
        /// With `engine = "flow"`: rates are updated only at multiples of this time, so that all
        /// flows that begin or end in between cost one solution. A flow then begins, and releases
        /// its bandwidth, later by at most this time. Default: rates are updated whenever a flow
        /// begins or ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        settle_ps: Option<u64> = None => Notes::POSITIVE,
        /// Largest packet; messages are cut into packets of this size, the last one may be smaller.
        packet_bytes: u64 = 4096 => Notes::POSITIVE,
        /// Simulated time at which the run stops. Default: the run stops when every job with a
        /// motif, or with a number of `messages`, has finished.
        duration_ps: Option<u64> = None => Notes::POSITIVE,
        /// Time from which statistics count: latencies of messages that are created from then on,
        /// throughput and link load of what happens from then on. `auto`: from when all traffic is
        /// found to be steady, at the latest from half of the duration.
        warmup_ps: u64 = 0 => Notes { words: &[("auto", Word::Number(0))], word_key: Some("detect_warmup"), called: Some("a duration"), ..Notes::NONE },
        /// Set by another key.
        detect_warmup: bool = false => Notes::HIDDEN,
        /// Ends the run as soon as the half-widths of the 95 % confidence intervals of the mean
        /// latency and of the delivered load are at most this share of the mean, for every job with
        /// traffic; `duration` is then the longest that the run may take. Default: the run takes
        /// all of `duration`.
        precision: Option<f64> = None => Notes { quantity: Some("share"), least: Some(1e2), most: Some(5e5), ..Notes::NONE },
        /// Passes over iterations of jobs once it is known what they bring: what tables say of them
        /// is extrapolated, and marked. Default: everything is simulated.
        #[serde(skip_serializing_if = "Option::is_none")]
        skip: Option<Skip> = None,
        /// Width of a bin of the timeline. Default: chosen so that there are at most 1,024 bins.
        timeline_bin_ps: Option<u64> = None => Notes::POSITIVE,
        /// Number of threads that simulate; results do not depend on it.
        threads: usize = 1 => Notes { least: Some(1.0), most: Some(1024.0), ..Notes::NONE },
    }
    refuse "duration" when [("warmup", Test::Is("auto")), ("duration", Test::Absent)] =>
        "a duration, as the longest with `warmup`";
    refuse "duration" when [("precision", Test::Given), ("duration", Test::Absent)] =>
        "a duration, as the longest with `precision`";
    refuse "warmup" when [("warmup", Test::Reaches("duration"))] =>
        "less than the duration, {duration}";
}

table! {
    /// When iterations are passed over: where all that is counted repeats to the last byte and
    /// picosecond, or where means are known well enough. The last iterations of a job are simulated,
    /// and what follows when another job starts or ends.
    pub struct Skip {
        /// Largest half-width of the 95 % confidence intervals of the mean time of a job's iterations,
        /// as a share of the mean, and of the load of every link, as a share of the load of the
        /// busiest.
        error: f64 = 0.01 => Notes { quantity: Some("share"), least: Some(1e2), most: Some(5e5), ..Notes::NONE },
    }
}

table! {
    /// Which individual events get a row in the result tables.
    pub struct Record {
        /// Which messages get a row in the `messages` table: `none`, `all`, or with a number N one
        /// of every N messages of a node. Distributions always include all messages.
        messages_every: u32 = 0 => Notes { key: Some("messages"), words: &[("none", Word::Number(0)), ("all", Word::Number(1))], called: Some("a whole number"), ..Notes::COUNT },
        /// Whether to record what every rank of a closed-loop job does at each time, for timelines
        /// and the critical path. Takes 64 bytes of memory for each change of activity.
        rank_activity: bool = false,
        /// Whether to record how much every rank of a closed-loop job sends to every other, for the
        /// communication matrix. Takes 40 bytes of memory for every pair of ranks that communicate.
        communication: bool = false,
        /// Whether to record what every job sends over each link, how long its packets wait there,
        /// and because of which job ([interference](interference.md)). Such a run takes up to twice
        /// as long.
        attribution: bool = false,
        /// What arrives at some routers over time, by job, link class, and whether it comes from and
        /// is bound for the router's group. Default: not recorded.
        arrivals: Option<Arrivals> = None,
    }
}

table! {
    /// What arrives at some routers over time: bytes and packets of every job.
    pub struct Arrivals {
        /// Length of an interval.
        interval_ps: u64 = 0 => Notes { needed: true, ..Notes::POSITIVE },
        /// Record at these routers, numbered from 0: a list or a text such as `"0, 3-8"`. Default:
        /// all routers of `groups`.
        routers: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Record at all routers of these groups: a list or a text. Default: all groups.
        groups: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Record only what arrives over links of these classes or kinds (`terminal`, `local`,
        /// `global`). Default: all links.
        links: Option<Vec<String>> = None => Notes { fewest_entries: Some(1), ..Notes::NONE },
    }
    refuse "groups" when [("routers", Test::Given), ("groups", Test::Given)] =>
        "either `routers` or `groups`";
}
