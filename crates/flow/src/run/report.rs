//! The outcome of a run, in the packet engine's form.

use odonata_mpi::Rank;
use odonata_network::Peer;
use odonata_run::{
    Conservation, LinkOutcome, MessageRecord, Outcome, PairTraffic, RankInterval, SimError,
    TimelineCollector,
};
use odonata_units::{NodeId, Picoseconds, PortId, RankId};

use super::FlowError;
use super::driver::Driver;
use crate::routes::LinkNumbers;
use crate::share::LinkId;

impl Driver<'_> {
    /// What has been measured.
    pub(super) fn report(mut self) -> Result<Outcome, FlowError> {
        let now = self.now;
        self.transfers.count_under_way(Picoseconds(now));
        let conservation = self.conservation();
        if conservation.created
            != conservation.delivered + conservation.backlog + conservation.in_flight
        {
            return Err(SimError::NotConserved(conservation).into());
        }
        let numbers = LinkNumbers::new(self.topology);
        let ports = (0..self.topology.ports()).map(PortId::from_index);
        let ports = ports.map(|port| match self.topology.peer[port.index()] {
            Peer::Unconnected => LinkOutcome::default(),
            _ => self.link(numbers.port(port)),
        });
        let ports: Vec<LinkOutcome> = ports.collect();
        let nodes = (0..self.topology.nodes()).map(NodeId::from_index);
        let injection = nodes.map(|node| self.link(numbers.node(node))).collect();
        let mut iterations = vec![u32::MAX; self.jobs.len()];
        for rank in &self.ranks {
            let ended = &mut iterations[rank.job as usize];
            *ended = rank.record.iterations.min(*ended);
        }
        let mut jobs: Vec<_> = (0..self.jobs.len())
            .map(|job| self.outcome_of(job, iterations[job]))
            .collect();
        let mut traffic = Vec::new();
        let mut rank_intervals = Vec::new();
        let mut storage = Vec::new();
        let mut parallelism = Vec::new();
        for rank in &mut self.ranks {
            let times = rank.times(now);
            let job = &mut jobs[rank.job as usize];
            job.compute_ps += u128::from(times.computing());
            job.wait_ps += u128::from(times.waiting());
            job.unreceived_messages += rank.unreceived();
            job.ranks.push(times);
            storage.extend(rank.server_use());
            parallelism.extend(rank.shares(now));
            let (job, source) = (rank.job, RankId(rank.rank));
            traffic.extend(rank.traffic().map(|(destination, traffic)| PairTraffic {
                job,
                source,
                destination,
                traffic,
            }));
            rank_intervals.append(&mut rank.take_intervals());
        }
        traffic.sort_unstable_by_key(|t: &PairTraffic| (t.job, t.source, t.destination));
        // One rank after another, each in the order of time.
        debug_assert!(rank_intervals.is_sorted_by_key(|i: &RankInterval| (i.job, i.rank, i.begin)));
        let mut messages = std::mem::take(&mut self.records);
        messages.sort_by_key(MessageRecord::order);
        Ok(Outcome {
            end: Picoseconds(now),
            warmup: self.measurement.warmup,
            jobs,
            ports,
            injection,
            messages,
            rank_intervals,
            traffic,
            attribution: Vec::new(),
            storage,
            parallelism,
            held_pairs: Vec::new(),
            arrivals: Vec::new(),
            timeline: TimelineCollector::merge(std::iter::once(&self.timeline)),
            conservation,
            reconfigurations: Vec::new(),
            packet_hops: self.packet_hops as u64,
            resent_bytes: 0,
            events: self.events_done + self.transfers.work().settled,
            peak_packets: 0,
            bytes_per_packet: 0,
            bytes_per_port: 0,
        })
    }

    /// What a link carried from the end of the warm-up on.
    fn link(&self, link: LinkId) -> LinkOutcome {
        let before = self.before.get(link.index()).copied().unwrap_or(0.0);
        let bytes = (self.transfers.bytes(link) - before).max(0.0);
        let capacity = self.transfers.share().capacity(link);
        LinkOutcome {
            bytes: bytes.round() as u64,
            packets: (bytes / self.packet()).ceil() as u64,
            busy_ps: (bytes / capacity).round() as u64,
            stall_ps: 0,
        }
    }

    fn conservation(&self) -> Conservation {
        let held: u64 = self.ranks.iter().map(Rank::held_bytes).sum();
        let sum = |of: fn(&super::driver::Counts) -> u64| self.counts.iter().map(of).sum();
        let backlog = self.backlog();
        let there = self.messages.iter().filter(|message| message.is_there);
        let there = there.filter(|message| !message.is_control());
        let under_way: u64 = there.map(|message| message.bytes).sum();
        Conservation {
            lost: 0,
            created: sum(|job| job.bytes_created),
            delivered: sum(|job| job.bytes_delivered),
            backlog: backlog + held,
            in_flight: under_way - backlog,
        }
    }
}
