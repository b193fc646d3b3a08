//! What all partitions of a run read and none writes.

use std::sync::Arc;

use odonata_network::routing::Lanes;
use odonata_network::{LinkClass, LinkKind, Peer, Topology};
use odonata_run::{
    Crossbar, CrossbarRate, EngineConfig, JobLoad, JobPlan, Measurement, OccupancyCount, Parameter,
    Room, RouterModel, SimError, Switching, TrafficClass, check_times,
};
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{Bandwidth, Bytes, NodeId, Picoseconds, PortId};

use super::calendar::{MAX_PAYLOAD, MAX_RADIX, MAX_ROUTERS, MAX_WINDOW_SHIFT};
use super::losses::Outages;
use super::packets::Packet;

/// Timing of a link class, ready for the hot path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub rate: Rate,
    pub latency: u64,
    pub buffer: u32,
    pub terminal: bool,
    /// A channel with this many credits cannot run short of them within a window.
    pub margin: u32,
    /// Whether its links are impaired, or lose packets, at some time.
    pub impaired: bool,
}

impl Class {
    /// Bytes of a packet of `size`, whose tail leaves at `end`, that are not sent at `now`.
    /// Where a link waits for the tail of a packet, what is sent last is sent at full rate.
    pub fn unsent(&self, size: u32, end: u64, now: u64) -> u64 {
        let left = u128::from(end.saturating_sub(now));
        let rate = u128::from(self.rate.bandwidth.bytes_per_second());
        let bytes = left * rate / u128::from(Picoseconds::SECOND.0);
        bytes.min(u128::from(size)) as u64
    }
}

/// How fast packets pass: a bandwidth, and what nearly all of them take at it, as a
/// division per packet shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub bandwidth: Bandwidth,
    /// How long a whole packet takes.
    packet_duration: u64,
    /// How long the first flit of a packet of more than one takes.
    flit_duration: u64,
}

impl Rate {
    /// For packets of `packet` bytes in flits of `flit`, if they matter.
    pub fn new(bandwidth: Bandwidth, packet: u64, flit: Option<u64>) -> Self {
        Self {
            bandwidth,
            packet_duration: bandwidth.duration_of(packet).0,
            flit_duration: bandwidth.duration_of(flit.unwrap_or(0)).0,
        }
    }

    /// How long `size` bytes take, where most packets are of `whole` bytes.
    #[inline(always)]
    pub fn duration(&self, size: u32, whole: u32) -> u64 {
        if size == whole {
            self.packet_duration
        } else {
            self.bandwidth.duration_of(u64::from(size)).0
        }
    }

    /// How long the first flit of a packet takes, in flits of `flit` bytes.
    #[inline(always)]
    pub fn first_flit_duration(&self, size: u32, flit: u32) -> u64 {
        if size >= flit {
            self.flit_duration
        } else {
            self.bandwidth.duration_of(u64::from(size)).0
        }
    }
}

/// Where nodes are attached.
#[derive(Debug)]
enum Attachment {
    /// All routers have equally many nodes, in order.
    Regular(RegularAttachment),
    /// Router and port of each node.
    Table(Vec<(u32, u16)>),
}

impl Attachment {
    fn of(topology: &Topology) -> Self {
        let at = |&port: &PortId| {
            let router = topology.router_of_port(port);
            (
                router.0,
                (port.0 - topology.first_port[router.index()]) as u16,
            )
        };
        let table: Vec<(u32, u16)> = topology.port_of_node.iter().map(at).collect();
        match RegularAttachment::find(&table) {
            Some(rule) => Self::Regular(rule),
            None => Self::Table(table),
        }
    }
}

/// `nodes` nodes per router, in order; the first is on port `first_port`.
#[derive(Clone, Copy, Debug)]
struct RegularAttachment {
    nodes: u32,
    first_port: u32,
}

impl RegularAttachment {
    #[inline(always)]
    fn of(self, node: u32) -> (u32, u16) {
        let (router, port) = (node / self.nodes, node % self.nodes);
        (router, (self.first_port + port) as u16)
    }

    /// The rule that `attachment` follows, if any.
    fn find(attachment: &[(u32, u16)]) -> Option<Self> {
        let &(_, first_port) = attachment.first()?;
        let nodes = attachment.iter().take_while(|&&(r, _)| r == 0).count();
        let rule = Self {
            nodes: u32::try_from(nodes).ok().filter(|&nodes| nodes > 0)?,
            first_port: u32::from(first_port),
        };
        let follows = |(node, &at): (usize, &(u32, u16))| rule.of(node as u32) == at;
        attachment.iter().enumerate().all(follows).then_some(rule)
    }
}

/// Bits of the size in a credit event. Above lie one bit that tells whether it
/// is for the interface behind the port, and its virtual channel.
pub(super) const CREDIT_SIZE_BITS: u32 = 25;
pub(super) const CREDIT_FOR_INTERFACE: u32 = 1 << CREDIT_SIZE_BITS;
pub(super) const CREDIT_VC_SHIFT: u32 = CREDIT_SIZE_BITS + 1;

/// Most virtual channels.
pub(super) const MAX_VCS: u8 = 16;

/// Immutable data of a run.
pub(super) struct Shared<'a> {
    pub topology: &'a Topology,
    pub config: &'a EngineConfig,
    pub jobs: &'a [JobPlan],
    pub measurement: Measurement,
    pub classes: Vec<Class>,
    /// Virtual channels of every link.
    pub vcs: usize,
    /// How they are shared out among those of the routing algorithm.
    pub lanes: Lanes,
    /// `flit` bytes under cut-through, none under store-and-forward.
    pub flit: Option<u32>,
    pub delay: u64,
    pub credit_delay: u64,
    pub packet: u32,
    /// A packet takes this much room at least.
    pub least_room: u32,
    /// Whether packets pass to output queues when they take credits.
    pub hands_over: bool,
    /// Router of each node and the terminal port there, relative to the router.
    attachment: Attachment,
    /// Number of each job's first rank among all ranks.
    pub first_rank: Vec<u32>,
    /// Node of each job's first rank, if its ranks sit on consecutive nodes.
    first_node: Vec<Option<u32>>,
    pub routing_key: StreamKey,
    pub arrival_key: StreamKey,
    pub destination_key: StreamKey,
    pub error_key: StreamKey,
    /// Nothing at or after this time is simulated: the duration that was asked for, or
    /// the largest simulated time.
    pub stop: u64,
    /// Whether no duration was asked for: the run ends when all jobs with an end have.
    pub ends_with_jobs: bool,
    pub warmup: u64,
    /// Shortest latency between two routers.
    pub lookahead: u64,
    /// The same of circuits that change during the run; `u64::MAX` without.
    pub circuit_latency: u64,
    /// Links that lose packets.
    pub outages: Option<Arc<Outages>>,
}

fn parameter(parameter: Parameter, found: impl ToString, allowed: impl Into<String>) -> SimError {
    SimError::Parameter {
        parameter,
        found: found.to_string(),
        allowed: allowed.into(),
    }
}

/// Virtual channels of a link, classes of traffic included.
fn check_channels(
    channels: u8,
    lanes: Lanes,
    config: &EngineConfig,
    jobs: &[JobPlan],
) -> Result<u8, SimError> {
    let classes = &config.classes;
    TrafficClass::check_all(classes)?;
    let known = classes.len().max(1);
    let highest = |job: &JobPlan| job.classes.bits().ilog2() as usize;
    if let Some(job) = jobs.iter().find(|job| highest(job) >= known) {
        let found = format!("class {} of job \"{}\"", highest(job), job.name);
        let allowed = format!("0 to {}", known - 1);
        return Err(parameter(Parameter::TrafficClasses, found, allowed));
    }
    let vcs = u32::from(lanes.count()) * known as u32;
    if channels == 0 || vcs > u32::from(MAX_VCS) {
        let of_classes = match classes.len() {
            0 | 1 => String::new(),
            count => format!(" ({} for each of {count} classes)", lanes.count()),
        };
        let found = format!("{vcs}{of_classes}");
        let allowed = format!("the engine has 1 to {MAX_VCS} virtual channels per link");
        return Err(parameter(Parameter::VirtualChannels, found, allowed));
    }
    Ok(vcs as u8)
}

/// Bytes of a packet, and of a flit under cut-through.
fn sizes(config: &EngineConfig) -> Result<(u64, Option<u64>), SimError> {
    let packet = config.packet.0;
    if packet == 0 || packet >= 1 << CREDIT_SIZE_BITS {
        return Err(parameter(
            Parameter::Packet,
            config.packet,
            "1 B to 32 MiB - 1 B",
        ));
    }
    let flit = match config.router.switching {
        Switching::CutThrough { flit } if flit.0 == 0 => {
            return Err(parameter(Parameter::Flit, flit, "at least 1 B"));
        }
        // No packet is longer, so a longer flit makes no difference.
        Switching::CutThrough { flit } => Some(flit.0.min(packet)),
        Switching::StoreAndForward => None,
    };
    Ok((packet, flit))
}

/// The fastest of a router's links; `None` if it has none.
pub(super) fn fastest_link(topology: &Topology, router: usize) -> Option<&LinkClass> {
    let ports = topology.first_port[router] as usize..topology.first_port[router + 1] as usize;
    ports
        .map(|port| &topology.link_classes[topology.class_of_port[port].index()])
        .max_by_key(|class| class.bandwidth.bytes_per_second())
}

fn check_crossbar(rate: CrossbarRate, topology: &Topology) -> Result<(), SimError> {
    let given = match rate {
        CrossbarRate::Speedup(speedup) if speedup.is_finite() && speedup >= 1.0 => return Ok(()),
        CrossbarRate::Speedup(speedup) => {
            return Err(parameter(
                Parameter::Crossbar,
                speedup,
                "a speed-up of at least 1, a bandwidth, or \"ideal\"",
            ));
        }
        CrossbarRate::Fixed(bandwidth) => bandwidth,
    };
    let fastest = (0..topology.routers())
        .filter_map(|router| fastest_link(topology, router))
        .max_by_key(|class| class.bandwidth.bytes_per_second());
    match fastest {
        Some(class) if given.bytes_per_second() < class.bandwidth.bytes_per_second() => {
            Err(parameter(
                Parameter::Crossbar,
                given,
                format!(
                    "at least {}, as fast as {} links",
                    class.bandwidth, class.name
                ),
            ))
        }
        _ => Ok(()),
    }
}

fn check_router(router: &RouterModel, packet: u64, topology: &Topology) -> Result<(), SimError> {
    if let Crossbar::Bounded {
        rate,
        output_buffer,
    } = router.crossbar
    {
        check_crossbar(rate, topology)?;
        if output_buffer.0 < packet || output_buffer.0 > u64::from(u32::MAX) {
            return Err(parameter(
                Parameter::OutputBuffer,
                output_buffer,
                "at least one packet, below 4 GiB",
            ));
        }
    }
    if router.room == Room::Packets && !router.hands_over() {
        return Err(parameter(
            Parameter::Room,
            "\"packets\"",
            "\"bytes\" but with an ideal crossbar and credit use \"crossbar\"",
        ));
    }
    let node_room = router.node_room.map_or(packet, |room| room.0);
    if node_room < packet || node_room > u64::from(u32::MAX) {
        return Err(parameter(
            Parameter::OutputBuffer,
            Bytes(node_room),
            "at least one packet, below 4 GiB",
        ));
    }
    if router.occupancy != OccupancyCount::Buffered && router.crossbar == Crossbar::Ideal {
        return Err(parameter(
            Parameter::Occupancy,
            format!("\"{}\"", router.occupancy.name()),
            "\"buffered\" with an ideal crossbar, where all that waits or has been sent counts",
        ));
    }
    Ok(())
}

/// Timing of each link class.
fn link_classes(
    topology: &Topology,
    config: &EngineConfig,
    flit: Option<u64>,
) -> Result<Vec<Class>, SimError> {
    let packet = config.packet.0;
    let mut classes = Vec::with_capacity(topology.link_classes.len());
    for class in &topology.link_classes {
        if class.latency > Picoseconds::LONGEST_DELAY {
            let found = format!("{} for {} links", class.latency, class.name);
            return Err(parameter(Parameter::LinkLatency, found, "at most 1 h"));
        }
        if class.latency.0 == 0 {
            let found = format!("0 ps for {} links", class.name);
            return Err(parameter(Parameter::LinkLatency, found, "at least 1 ps"));
        }
        if class.buffer.0 < packet {
            return Err(SimError::BufferTooSmall {
                class: class.name.clone(),
                buffer: class.buffer,
                packet: config.packet,
            });
        }
        classes.push(Class {
            rate: Rate::new(class.bandwidth, packet, flit),
            latency: class.latency.0,
            buffer: u32::try_from(class.buffer.0)
                .map_err(|_| parameter(Parameter::LinkBuffer, class.buffer, "below 4 GiB"))?,
            terminal: class.kind == LinkKind::Terminal,
            margin: 0,
            impaired: !class.impairments.is_empty() || config.losses.is_some(),
        });
    }
    Ok(classes)
}

/// Shortest latency between two routers, of which there are no more, with no more ports, than
/// events can name.
fn lookahead(topology: &Topology, classes: &[Class]) -> Result<u64, SimError> {
    if topology.routers() > MAX_ROUTERS {
        return Err(parameter(
            Parameter::Network,
            format!("{} routers", topology.routers()),
            format!("at most {MAX_ROUTERS}"),
        ));
    }
    let mut lookahead = u64::MAX;
    for router in 0..topology.routers() {
        let ports = topology.first_port[router] as usize..topology.first_port[router + 1] as usize;
        if ports.len() > MAX_RADIX {
            return Err(parameter(
                Parameter::Network,
                format!("a router with {} ports", ports.len()),
                format!("at most {MAX_RADIX}"),
            ));
        }
        for port in ports {
            if let Peer::Port(_) = topology.peer[port] {
                lookahead = lookahead.min(classes[topology.class_of_port[port].index()].latency);
            }
        }
    }
    Ok(lookahead)
}

fn check_measurement(
    measurement: &Measurement,
    stop: u64,
    jobs: &[JobPlan],
) -> Result<(), SimError> {
    if measurement.duration.is_none()
        && jobs
            .iter()
            .all(|job| matches!(&job.load, JobLoad::Open(source) if source.times().is_none()))
    {
        return Err(parameter(
            Parameter::Duration,
            "none, and no job that ends by itself",
            "give a duration such as \"100 us\", or a job with a motif or a number of messages",
        ));
    }
    if measurement.warmup.0 >= stop {
        return Err(parameter(
            Parameter::Warmup,
            measurement.warmup,
            "shorter than the duration",
        ));
    }
    if measurement.timeline_bin.is_some_and(|bin| bin.0 == 0) {
        return Err(parameter(Parameter::TimelineBin, "0 ps", "at least 1 ps"));
    }
    if jobs.len() > usize::from(u16::MAX) {
        return Err(parameter(
            Parameter::Jobs,
            format!("{} jobs", jobs.len()),
            "at most 65,535",
        ));
    }
    Ok(())
}

/// Number of each job's first rank among all ranks, and the node of it if the job's ranks sit on
/// consecutive nodes.
fn ranks(
    topology: &Topology,
    jobs: &[JobPlan],
    packet: Bytes,
) -> Result<(Vec<u32>, Vec<Option<u32>>), SimError> {
    let mut first_rank = vec![0u32];
    let mut first_node = Vec::with_capacity(jobs.len());
    for job in jobs {
        let ranks = match &job.load {
            JobLoad::Open(source) => source.ranks,
            JobLoad::Closed(program) => program.ranks(),
        };
        if ranks as usize != job.node_of_rank.len() {
            return Err(parameter(
                Parameter::Jobs,
                format!("{} ranks on {} places", ranks, job.node_of_rank.len()),
                "one place per rank",
            ));
        }
        let control = job.protocol.control;
        if job.protocol.eager_limit.is_some() && (control.0 == 0 || control.0 > packet.0) {
            return Err(parameter(
                Parameter::ControlMessage,
                control,
                format!("1 B to one packet ({})", packet),
            ));
        }
        if let Some(node) = job
            .node_of_rank
            .iter()
            .find(|node| node.index() >= topology.nodes())
        {
            return Err(parameter(
                Parameter::Placement,
                format!("node {node}"),
                format!("0 to {}", topology.nodes() - 1),
            ));
        }
        let next = u64::from(first_rank[first_rank.len() - 1]) + u64::from(ranks);
        if next > u64::from(MAX_PAYLOAD >> 3) {
            return Err(parameter(
                Parameter::Jobs,
                format!("{next} ranks in all"),
                format!("at most {}", MAX_PAYLOAD >> 3),
            ));
        }
        first_rank.push(next as u32);
        let first = job.node_of_rank.first().map(|node| node.0);
        let consecutive = job.node_of_rank.windows(2).all(|w| w[1].0 == w[0].0 + 1);
        first_node.push(first.filter(|_| consecutive));
    }
    Ok((first_rank, first_node))
}

impl<'a> Shared<'a> {
    /// Checks everything that the engine relies on.
    pub fn new(
        topology: &'a Topology,
        channels: u8,
        config: &'a EngineConfig,
        jobs: &'a [JobPlan],
        measurement: &Measurement,
    ) -> Result<Self, SimError> {
        let lanes = Lanes::new(channels, config.virtual_channels);
        let vcs = check_channels(channels, lanes, config, jobs)?;
        let (packet, flit) = sizes(config)?;
        check_router(&config.router, packet, topology)?;
        check_times(&config.router, &config.nic, jobs, measurement)?;
        let classes = link_classes(topology, config, flit)?;
        let lookahead = lookahead(topology, &classes)?;
        let attachment = Attachment::of(topology);
        let ends_with_jobs = measurement.duration.is_none();
        let stop = measurement.duration.unwrap_or(Picoseconds::LARGEST).0;
        check_measurement(measurement, stop, jobs)?;
        let losses = config.losses.as_ref();
        let outages = losses.map(|losses| Outages::new(losses, topology).map(Arc::new));
        let (first_rank, first_node) = ranks(topology, jobs, config.packet)?;
        let mut shared = Self {
            topology,
            config,
            jobs,
            measurement: measurement.clone(),
            classes,
            vcs: usize::from(vcs),
            lanes,
            flit: flit.map(|flit| flit as u32),
            delay: config.router.delay.0,
            credit_delay: config.router.credit_delay.0,
            packet: packet as u32,
            least_room: match config.router.room {
                Room::Bytes => 0,
                Room::Packets => packet as u32,
            },
            hands_over: config.router.hands_over(),
            attachment,
            first_rank,
            first_node,
            routing_key: StreamKey::new(config.seed, Purpose::Routing),
            arrival_key: StreamKey::new(config.seed, Purpose::Arrival),
            destination_key: StreamKey::new(config.seed, Purpose::Destination),
            error_key: StreamKey::new(config.seed, Purpose::LinkErrors),
            stop,
            ends_with_jobs,
            warmup: measurement.warmup.0,
            lookahead,
            circuit_latency: u64::MAX,
            outages: outages.transpose()?,
        };
        let window = 1u64 << shared.window_shift();
        for class in &mut shared.classes {
            // What is sent in a window begins in it: one packet may reach beyond.
            let rate = u128::from(class.rate.bandwidth.bytes_per_second());
            let sent = (rate * u128::from(window)).div_ceil(u128::from(Picoseconds::SECOND.0));
            class.margin = u32::try_from(sent + 2 * u128::from(packet)).unwrap_or(u32::MAX);
        }
        Ok(shared)
    }

    /// Room that a packet takes in buffers.
    #[inline(always)]
    pub fn room(&self, packet: &Packet) -> u32 {
        packet.size.max(self.least_room)
    }

    /// What an output of a router may send without hearing of it, per virtual channel.
    pub fn credits(&self, class: &Class) -> u32 {
        match self.config.router.node_room {
            Some(room) if self.hands_over && class.terminal => room.0 as u32,
            _ => class.buffer,
        }
    }

    /// Number of `rank` of `job` among all ranks: names its random streams.
    #[inline]
    pub fn rank(&self, job: u32, rank: u32) -> u32 {
        self.first_rank[job as usize] + rank
    }

    /// Node of a rank. Computed where it can be: looking it up may mean to wait
    /// for memory, as ranks come in no order.
    #[inline(always)]
    pub fn node_of(&self, job: u32, rank: u32) -> NodeId {
        match self.first_node[job as usize] {
            Some(first) => NodeId(first + rank),
            None => self.jobs[job as usize].node_of_rank[rank as usize],
        }
    }

    /// Router of a node and the terminal port there, relative to the router;
    /// computed where it can be.
    #[inline(always)]
    pub fn attachment(&self, node: u32) -> (u32, u16) {
        match &self.attachment {
            Attachment::Regular(rule) => rule.of(node),
            Attachment::Table(table) => table[node as usize],
        }
    }

    /// Whether packets wait at nothing but the links of ideal crossbars.
    pub fn is_simple(&self) -> bool {
        !self.hands_over && self.config.router.crossbar == Crossbar::Ideal
    }

    /// log2 of the length of a window: no longer than any latency between two
    /// routers, and short enough that a router has some tens of events in it.
    pub fn window_shift(&self) -> u32 {
        let radix = (0..self.topology.routers())
            .map(|router| self.topology.first_port[router + 1] - self.topology.first_port[router])
            .max()
            .unwrap_or(1)
            .max(1);
        let fastest = self
            .classes
            .iter()
            .map(|class| class.rate.packet_duration)
            .min()
            .unwrap_or(1)
            .max(1);
        let crowded = (fastest * 48 / u64::from(radix)).max(1);
        self.lookahead.min(crowded).ilog2().min(MAX_WINDOW_SHIFT)
    }
}
