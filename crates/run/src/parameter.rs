//! Parameters of a run that an engine may refuse.

use std::fmt;

/// Declares the parameters with what each is called in messages.
macro_rules! parameters {
    ($($(#[$text:meta])+ $parameter:ident = $words:literal,)+) => {
        /// A parameter of a run. Where it came from, such as a key of a file, know those who
        /// set it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Parameter {
            $($(#[$text])+ $parameter,)+
        }

        impl Parameter {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$parameter,)+];
        }

        impl fmt::Display for Parameter {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self {
                    $(Self::$parameter => $words,)+
                })
            }
        }
    };
}

parameters! {
    /// How many jobs and ranks there are.
    Jobs = "the jobs",
    /// Where ranks sit.
    Placement = "the placement of a job",
    /// When a job starts.
    Start = "the start of a job",
    /// What is wired.
    Network = "the network",
    /// When lost packets are sent again.
    ResendAfter = "the time after which lost packets are sent again",
    /// Latency of a link class.
    LinkLatency = "the latency of links",
    /// Buffers of a link class.
    LinkBuffer = "the buffers of links",
    /// The routing algorithm.
    Routing = "the routing",
    /// What routers decide on, packets or messages.
    Decisions = "what routing decides on",
    /// Virtual channels of a link.
    VirtualChannels = "the virtual channels",
    /// Circuits of optical switches.
    Circuits = "the circuits",
    /// Delay of a router.
    RouterDelay = "the delay of a router",
    /// Delay of credits.
    CreditDelay = "the delay of credits",
    /// Size of a flit.
    Flit = "the size of a flit",
    /// Speed of the crossbar.
    Crossbar = "the crossbar",
    /// Output buffers of a router.
    OutputBuffer = "the output buffers",
    /// What takes room in buffers.
    Room = "what takes room in buffers",
    /// What counts as a queue.
    Occupancy = "what counts as a queue",
    /// Latency between ranks of a node.
    LoopbackLatency = "the latency within a node",
    /// Congestion control of interfaces.
    CongestionControl = "the congestion control",
    /// Classes of traffic.
    TrafficClasses = "the traffic classes",
    /// Largest packet.
    Packet = "the size of a packet",
    /// When the run stops.
    Duration = "the duration",
    /// From when statistics count.
    Warmup = "the warm-up",
    /// Width of the bins of the timeline.
    TimelineBin = "the bins of the timeline",
    /// How often rates of flows are brought up to date.
    Settle = "the time in which rates settle",
    /// Size of requests, grants and FINs.
    ControlMessage = "the size of a control message",
    /// What sending costs a rank.
    SendOverhead = "the overhead of sending",
    /// What receiving costs a rank.
    ReceiveOverhead = "the overhead of receiving",
    /// Gap between messages.
    Gap = "the gap between messages",
    /// What sending to another rank than the last costs a rank.
    RedirectOverhead = "the overhead of sending to another rank",
    /// Delay before a message is sent.
    SendDelay = "the delay of sending",
    /// The same by size of the message.
    DelayTimes = "the delays by size",
    /// What messages cost ranks by size.
    HostTimes = "the host times",
    /// As [`Self::SendOverhead`], within a node.
    SendOverheadWithin = "the overhead of sending within a node",
    /// As [`Self::ReceiveOverhead`], within a node.
    ReceiveOverheadWithin = "the overhead of receiving within a node",
    /// As [`Self::HostTimes`], within a node.
    HostTimesWithin = "the host times within a node",
    /// Mean time between interruptions of a processor.
    DetourInterval = "the interval of interruptions",
    /// Mean time of an interruption.
    DetourTime = "the time of interruptions",
    /// Mean time by which ranks enter collectives late.
    EntryDelay = "the delay of entries",
    /// What is recorded.
    Record = "what is recorded",
    /// The record of which job waits for which.
    Attribution = "the record of who waits for whom",
    /// Intervals of the record of arrivals.
    ArrivalInterval = "the intervals of arrivals",
    /// Routers of the record of arrivals.
    ArrivalRouters = "the routers whose arrivals are recorded",
}
