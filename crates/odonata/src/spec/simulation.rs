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
        /// What simulates: every packet with its buffers and credits, or messages as flows that
        /// share links max-min fairly, which is faster and coarser (see the page on the flow
        /// engine).
        engine: Engine = Engine::Packet,
        /// With `engine = "flow"`: paths that a message is spread over at most, as far as it has
        /// packets. Default: 8.
        paths: Option<u32> = None => Notes { least: Some(1.0), most: Some(4096.0), ..Notes::NONE },
        /// With `engine = "flow"`: rates are brought up to date at multiples of this only, so that
        /// all flows that begin or end in between cost one solution; a flow begins and gives its
        /// bandwidth back that much late at most. Default: whenever a flow begins or ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        settle_ps: Option<u64> = None => Notes::POSITIVE,
        /// Largest packet; messages are cut into packets of this size and a rest.
        packet_bytes: u64 = 4096 => Notes::POSITIVE,
        /// Simulated time at which the run stops. Default: when every job with a motif or a number
        /// of messages has finished.
        duration_ps: Option<u64> = None => Notes::POSITIVE,
        /// Statistics count what is created (latencies) or happens (throughput, link load) from
        /// here. `auto`: from where all traffic is found to be steady, half of the duration at the
        /// latest.
        warmup_ps: u64 = 0 => Notes { words: &[("auto", Word::Number(0))], word_key: Some("detect_warmup"), called: Some("a duration"), ..Notes::NONE },
        /// Set by another key.
        detect_warmup: bool = false => Notes::HIDDEN,
        /// Ends the run as soon as the mean latency and the delivered load of every job with
        /// traffic are known to this share of their value, on either side, with 95 % confidence;
        /// `duration` is then the longest that it may take. Default: the run takes all of
        /// `duration`.
        precision: Option<f64> = None => Notes { quantity: Some("share"), least: Some(1e2), most: Some(5e5), ..Notes::NONE },
        /// Width of a bin of the timeline. Default: chosen so that there are at most 1,024.
        timeline_bin_ps: Option<u64> = None => Notes::POSITIVE,
        /// Threads that simulate; results do not depend on it.
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
    /// Which single events get a row in the result tables.
    pub struct Record {
        /// Rows of the `messages` table: `none`, `all`, or one of every so many messages of a
        /// node. Distributions are kept all the same.
        messages_every: u32 = 0 => Notes { key: Some("messages"), words: &[("none", Word::Number(0)), ("all", Word::Number(1))], called: Some("a whole number"), ..Notes::COUNT },
        /// Whether to record what every rank of a closed-loop job does when, for timelines and the
        /// critical path. Takes 64 bytes of memory for each change.
        rank_activity: bool = false,
        /// Whether to record how much every rank of a closed-loop job sends to every other, for
        /// the communication matrix. Takes 40 bytes of memory for every two ranks that talk to
        /// each other.
        communication: bool = false,
        /// Whether to record what every job sends over each link, and how long its packets wait
        /// there because of which job ([interference](interference.md)). Such a run takes up to
        /// twice as long.
        attribution: bool = false,
        /// What arrives at some routers over time, by job and link class. Default: not recorded.
        arrivals: Option<Arrivals> = None,
    }
}

table! {
    /// What arrives at some routers over time: bytes and packets of every job.
    pub struct Arrivals {
        /// Length of an interval.
        interval_ps: u64 = 0 => Notes { needed: true, ..Notes::POSITIVE },
        /// At these routers, numbered from 0: a list or a text such as `"0, 3-8"`. Default: at all
        /// of `groups`.
        routers: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// At all routers of these groups, as a list or a text. Default: of all groups.
        groups: Option<Vec<u32>> = None => Notes { numbers: true, ..Notes::NONE },
        /// Over links of these classes or kinds (`terminal`, `local`, `global`). Default: any.
        links: Option<Vec<String>> = None => Notes { fewest_entries: Some(1), ..Notes::NONE },
    }
    refuse "groups" when [("routers", Test::Given), ("groups", Test::Given)] =>
        "either `routers` or `groups`";
}
