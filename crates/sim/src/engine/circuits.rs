//! Circuits that change while a run goes on: see [`CircuitControl`].
//!
//! All of it happens while the partitions stand still, so that runs without have no code for it
//! where it would cost. A port that is to send nothing is one whose link is free later: at the next
//! look, and at last when its circuit is set.

use std::collections::BTreeMap;
use std::sync::Arc;

use odonata_network::Routing;
use odonata_network::routing::AnyRouting;
use odonata_run::{Decisions, JobLoad, Parameter, Reconfiguration, SimError};
use odonata_units::{Picoseconds, PortId, RankId, RouterId};
use serde::{Deserialize, Serialize};

use super::calendar::{Event, Kind};
use super::losses::Outages;
use super::model::Model;
use super::packets::NIL;
use super::partition::Partition;
use super::port::NEVER;
use super::routed::Tables;
use super::shared::Shared;
use crate::circuits::{CircuitControl, DARK, NewCircuits, RunSoFar};

/// How often circuits that drain are looked at: about every microsecond, and where they drain for
/// long every 64th part of that time, so that long drains cost no more looks than short ones.
const LOOK: u64 = 1 << 20;
const LOOKS: u64 = 64;

/// What a run with circuits that change has to remember of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct CircuitState {
    /// Where each sender leads. Shape: senders.
    pub receivers: Vec<u32>,
    /// The change that is going on.
    pub change: Option<Change>,
    /// When the links of the senders that send nothing had sent the tail of their last packets.
    /// Ascending by port.
    pub silent: Vec<(u32, u64)>,
    /// Messages that have been counted of every open-loop source, by job and rank.
    pub messages: BTreeMap<(u32, u32), u32>,
    /// Bytes that have been counted between two ranks of a closed-loop job.
    pub bytes: BTreeMap<(u32, u32, u32), u64>,
    pub log: Vec<Reconfiguration>,
    /// What the control remembers.
    pub control: Vec<u8>,
}

/// A change of circuits under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Change {
    /// Where each sender is to lead. Shape: senders.
    pub receivers: Vec<u32>,
    /// How long switches take.
    pub time: u64,
    /// Whether the circuits are empty, and the switches change.
    pub drained: bool,
    /// When it is looked at again; the start of a window.
    pub look: u64,
}

/// The circuits of a run.
pub(super) struct Circuits<'c> {
    control: &'c mut dyn CircuitControl,
    senders: Vec<PortId>,
    pub state: CircuitState,
}

fn parameter(parameter: Parameter, found: &str, allowed: &str) -> SimError {
    SimError::Parameter {
        parameter,
        found: found.to_owned(),
        allowed: allowed.to_owned(),
    }
}

/// A routing algorithm whose tables can take the place of others.
fn tables<'a, M: Model>(routing: AnyRouting) -> Result<Tables<'a, M>, SimError> {
    match routing {
        AnyRouting::Tabled(routing) => Ok(Tables::Changed(Arc::new(routing))),
        AnyRouting::Steered(routing) => Ok(Tables::Changed(Arc::new(routing))),
        AnyRouting::Layered(routing) => Ok(Tables::Changed(Arc::new(routing))),
        _ => Err(parameter(
            Parameter::Routing,
            "another algorithm",
            "\"up-down\" or \"steered\" where circuits change during the run",
        )),
    }
}

impl<'c> Circuits<'c> {
    /// The circuits of a run that has not begun.
    ///
    /// # Errors
    /// If the run's parameters are none with which circuits can change.
    pub fn new(
        control: &'c mut dyn CircuitControl,
        shared: &mut Shared<'_>,
    ) -> Result<Self, SimError> {
        if shared.config.decisions == Decisions::PerMessage {
            return Err(parameter(
                Parameter::Decisions,
                "message",
                "packet where circuits change during the run",
            ));
        }
        if !shared.is_simple() {
            return Err(parameter(
                Parameter::Crossbar,
                "another router",
                "\"ideal\", with credit use \"link\", where circuits change during the run",
            ));
        }
        let senders = control.senders().to_vec();
        let receivers = senders
            .iter()
            .map(|&sender| match shared.topology.peer[sender.index()] {
                odonata_network::Peer::Port(receiver) => receiver.0,
                _ => DARK.0,
            });
        let receivers: Vec<u32> = receivers.collect();
        for sender in &senders {
            let class = shared.topology.class_of_port[sender.index()];
            shared.circuit_latency = shared
                .circuit_latency
                .min(shared.classes[class.index()].latency);
        }
        Ok(Self {
            control,
            senders,
            state: CircuitState {
                receivers,
                ..CircuitState::default()
            },
        })
    }

    /// When the run has to pause for them next.
    pub fn due(&self) -> Option<Picoseconds> {
        match &self.state.change {
            Some(change) => Some(Picoseconds(change.look)),
            None => self.control.next(),
        }
    }

    /// What a checkpoint has to hold.
    pub fn saved(&self) -> CircuitState {
        CircuitState {
            control: self.control.save(),
            ..self.state.clone()
        }
    }

    /// Takes up a saved state in partitions that have just been made: what ports lead to, and how
    /// packets are routed. The network as it is then.
    ///
    /// # Errors
    /// If it is not of this run.
    pub fn restore<M: Model>(
        &mut self,
        shared: &Shared<'_>,
        partitions: &mut [Box<Partition<'_, M>>],
        saved: CircuitState,
    ) -> Result<odonata_network::Topology, SimError> {
        let misfit = |what: &str| SimError::State(format!("{what}: not of this run"));
        let count = self.senders.len();
        let change = saved.change.as_ref();
        if saved.receivers.len() != count
            || change.is_some_and(|change| change.receivers.len() != count)
        {
            return Err(misfit("its circuits"));
        }
        let known = |&(port, time): &(u32, u64)| {
            self.senders.contains(&PortId(port)) && time <= Picoseconds::LARGEST.0
        };
        let window = 1u64 << shared.window_shift();
        if !saved.silent.iter().all(known)
            || !saved.silent.is_sorted()
            || change.is_some_and(|change| {
                !change.look.is_multiple_of(window) || change.time > Picoseconds::LARGEST.0
            })
        {
            return Err(misfit("the change of its circuits"));
        }
        (self.control)
            .restore(&saved.control)
            .map_err(|what| misfit(&what))?;
        self.state = saved;
        let refused = |error: SimError| SimError::State(format!("its circuits: {error}"));
        let (network, routing) = (self.control)
            .network(&ports(&self.state.receivers))
            .map_err(refused)?;
        let routing = match &self.state.change {
            None => routing,
            Some(change) => {
                let changing = self.changing(&change.receivers);
                let receivers = ports(&change.receivers);
                // Checks them, too.
                self.control.network(&receivers).map_err(refused)?;
                (self.control)
                    .meanwhile(&receivers, &changing)
                    .map_err(refused)?
            }
        };
        self.lead(partitions)?;
        set_tables(partitions, tables(routing)?);
        self.silence(partitions);
        Ok(network)
    }

    fn changing(&self, receivers: &[u32]) -> Vec<bool> {
        let pairs = self.state.receivers.iter().zip(receivers);
        pairs.map(|(now, then)| now != then).collect()
    }

    /// Does what is due at `at`, which all partitions have come to.
    ///
    /// # Errors
    /// Whatever the control reports.
    pub fn act<M: Model>(
        &mut self,
        shared: &Shared<'_>,
        partitions: &mut [Box<Partition<'_, M>>],
        at: u64,
    ) -> Result<(), SimError> {
        while self.due().is_some_and(|due| due.0 <= at) {
            match &self.state.change {
                None => self.decide(shared, partitions, at)?,
                Some(change) if change.drained => self.finish(partitions, at)?,
                Some(_) => self.look(shared, partitions, at),
            }
        }
        Ok(())
    }

    fn decide<M: Model>(
        &mut self,
        shared: &Shared<'_>,
        partitions: &mut [Box<Partition<'_, M>>],
        at: u64,
    ) -> Result<(), SimError> {
        if self.control.counts_traffic() {
            self.count(shared, partitions);
        }
        let run = RunSoFar {
            at: Picoseconds(at),
            running: running(shared, partitions, at),
        };
        let Some(NewCircuits { receivers, time }) = self.control.decide(&run)? else {
            return Ok(());
        };
        let receivers: Vec<u32> = receivers.into_iter().map(|port| port.0).collect();
        let changing = self.changing(&receivers);
        let circuits = changing.iter().filter(|&&changes| changes).count() as u32;
        if circuits == 0 {
            return Ok(());
        }
        let routing = (self.control).meanwhile(&ports(&receivers), &changing)?;
        set_tables(partitions, tables(routing)?);
        self.state.log.push(Reconfiguration {
            decided: Picoseconds(at),
            drained: None,
            done: None,
            circuits,
        });
        let mut silent: Vec<u32> = (self.senders.iter().zip(&changing))
            .filter(|(_, changes)| **changes)
            .map(|(sender, _)| sender.0)
            .collect();
        silent.sort_unstable();
        let look = next_look(shared, at, at);
        self.state.change = Some(Change {
            receivers,
            time: time.0,
            drained: false,
            look,
        });
        self.lead(partitions)?;
        let mut waiting = Vec::new();
        for &port in &silent {
            let partition = partition_of(partitions, shared, port);
            let (local, router) = partition.place_of(port);
            let state = &mut partition.ports.all[local];
            self.state.silent.push((port, state.free_at));
            if state.stalled_since != NEVER {
                state.end_stall(at, partition.warmup);
            }
            state.free_at = look;
            let slots = partition.empty_queues(local);
            waiting.push((router, slots));
        }
        for (&port, (router, slots)) in silent.iter().zip(waiting) {
            let partition = partition_of(partitions, shared, port);
            let tables = partition.routing.tables.clone();
            for slot in slots {
                tables.get().route_again(partition, router, slot, at);
            }
        }
        self.silence(partitions);
        Ok(())
    }

    /// Whether what was sent is through: then the switches change.
    fn look<M: Model>(
        &mut self,
        shared: &Shared<'_>,
        partitions: &mut [Box<Partition<'_, M>>],
        at: u64,
    ) {
        let Some(change) = &mut self.state.change else {
            return;
        };
        let empty = self.state.silent.iter().all(|&(port, _)| {
            let partition = partition_of(partitions, shared, port);
            let (local, _) = partition.place_of(port);
            partition.ports.all[local].downstream == 0
        });
        let since = self.state.log.last().map_or(at, |entry| entry.decided.0);
        change.look = next_look(shared, since.min(at), at);
        if empty {
            let window = 1 << shared.window_shift();
            change.drained = true;
            change.look = at
                .saturating_add(change.time)
                .checked_next_multiple_of(window)
                .unwrap_or(NEVER);
            if let Some(entry) = self.state.log.last_mut() {
                entry.drained = Some(Picoseconds(at));
            }
        }
        for &(port, _) in &self.state.silent {
            let partition = partition_of(partitions, shared, port);
            let (local, _) = partition.place_of(port);
            partition.ports.all[local].free_at = change.look;
        }
    }

    /// The switches are set: ports lead where they are to, and send.
    fn finish<M: Model>(
        &mut self,
        partitions: &mut [Box<Partition<'_, M>>],
        at: u64,
    ) -> Result<(), SimError> {
        let Some(change) = self.state.change.take() else {
            return Ok(());
        };
        let (_, routing) = self.control.network(&ports(&change.receivers))?;
        set_tables(partitions, tables(routing)?);
        self.state.receivers = change.receivers;
        self.state.silent.clear();
        self.lead(partitions)?;
        self.silence(partitions);
        if let Some(entry) = self.state.log.last_mut() {
            entry.done = Some(Picoseconds(at));
        }
        Ok(())
    }

    /// Tells the senders' ports where they lead, and what loses packets then.
    ///
    /// # Errors
    /// Whatever the control reports.
    fn lead<M: Model>(&self, partitions: &mut [Box<Partition<'_, M>>]) -> Result<(), SimError> {
        // A sender that is dark waits for the circuit that it gets already, as others do.
        let change = self.state.change.as_ref();
        let to_come = change.map_or(&self.state.receivers, |change| &change.receivers);
        let leads = self.state.receivers.iter().zip(to_come);
        for (sender, (&now, &then)) in self.senders.iter().zip(leads) {
            let shared = partitions[0].shared;
            let partition = partition_of(partitions, shared, sender.0);
            let (local, _) = partition.place_of(sender.0);
            let port = &mut partition.ports.all[local];
            let receiver = if PortId(now) == DARK { then } else { now };
            (port.peer_router, port.peer_port) = match PortId(receiver) {
                DARK => (NIL, NIL),
                receiver => {
                    let to = shared.topology.router_of_port(receiver);
                    (to.0, receiver.0 - shared.topology.first_port[to.index()])
                }
            };
        }
        if let Some(losses) = self.control.losses(&ports(&self.state.receivers))? {
            let outages = Outages::new(&losses, partitions[0].shared.topology)?;
            let outages = Arc::new(outages);
            for partition in partitions {
                partition.routing.outages = Some(Arc::clone(&outages));
            }
        }
        Ok(())
    }

    /// Tells partitions which of their ports send nothing, and when their last packets had left.
    fn silence<M: Model>(&self, partitions: &mut [Box<Partition<'_, M>>]) {
        for partition in partitions {
            let own = partition.base_port..partition.base_port + partition.ports.of_routers as u32;
            let silent = self.state.silent.iter();
            let silent = silent.filter(|(port, _)| own.contains(port));
            partition.ports.silent = silent
                .map(|&(port, time)| (port - own.start, time))
                .collect();
        }
    }

    /// Tells the control what nodes have sent since the last call.
    fn count<M: Model>(&mut self, shared: &Shared<'_>, partitions: &[Box<Partition<'_, M>>]) {
        for source in partitions.iter().flat_map(|p| p.interfaces.sources.iter()) {
            let plan = &shared.jobs[source.job as usize];
            let JobLoad::Open(load) = &plan.load else {
                continue;
            };
            let entity = u64::from(shared.rank(source.job, source.rank));
            let counted = self.state.messages.entry((source.job, source.rank));
            let counted = counted.or_default();
            for n in *counted..source.next_message {
                let rank = RankId(source.rank);
                if let Some(to) = load.destination(shared.destination_key, entity, n, rank) {
                    let (from, to) = (
                        plan.node_of_rank[rank.index()],
                        plan.node_of_rank[to.index()],
                    );
                    self.control.count(from, to, load.message.0);
                }
            }
            *counted = source.next_message;
        }
        for rank in partitions.iter().flat_map(|p| &p.ranks.all) {
            let plan = &shared.jobs[rank.job as usize];
            for (to, traffic) in rank.traffic() {
                let pair = (rank.job, rank.rank, to.0);
                let counted = self.state.bytes.entry(pair).or_default();
                let (from, to) = (
                    plan.node_of_rank[rank.rank as usize],
                    plan.node_of_rank[to.index()],
                );
                if traffic.bytes > *counted {
                    self.control.count(from, to, traffic.bytes - *counted);
                    *counted = traffic.bytes;
                }
            }
        }
    }
}

fn ports(numbers: &[u32]) -> Vec<PortId> {
    numbers.iter().copied().map(PortId).collect()
}

/// When circuits that have drained since `since` are looked at after `at`.
fn next_look(shared: &Shared<'_>, since: u64, at: u64) -> u64 {
    let window = 1u64 << shared.window_shift();
    let pause = LOOK.max((at - since) / LOOKS);
    (at + pause).next_multiple_of(window)
}

fn set_tables<'a, M: Model>(partitions: &mut [Box<Partition<'a, M>>], tables: Tables<'a, M>) {
    for partition in partitions {
        partition.routing.tables = tables.clone();
    }
}

/// The partition of a port of the network.
fn partition_of<'p, 'a, M: Model>(
    partitions: &'p mut [Box<Partition<'a, M>>],
    shared: &Shared<'_>,
    port: u32,
) -> &'p mut Partition<'a, M> {
    let router = shared.topology.router_of_port(PortId(port)).0;
    let index = partitions.partition_point(|partition| partition.end_router <= router);
    &mut partitions[index]
}

/// Which jobs have begun and are not done.
fn running<M: Model>(
    shared: &Shared<'_>,
    partitions: &[Box<Partition<'_, M>>],
    at: u64,
) -> Vec<bool> {
    let mut unfinished = vec![false; shared.jobs.len()];
    for rank in partitions.iter().flat_map(|p| &p.ranks.all) {
        unfinished[rank.job as usize] |= !rank.is_finished();
    }
    let jobs = shared.jobs.iter().enumerate();
    jobs.map(|(job, plan)| {
        let goes_on = match &plan.load {
            JobLoad::Closed(_) => unfinished[job],
            JobLoad::Open(source) if source.times().is_none() => true,
            JobLoad::Open(_) => {
                let shares = partitions.iter().map(|p| &p.accounts.jobs[job]);
                let left = shares.fold(0u64, |sum, share| {
                    sum.wrapping_add(share.messages_to_come)
                        .wrapping_sub(share.messages_delivered)
                });
                left != 0
            }
        };
        plan.start.0 <= at && goes_on
    })
    .collect()
}

impl<M: Model> Partition<'_, M> {
    /// A port of this partition, by its number in the network: where it is in `ports`, and its
    /// router, counted here.
    fn place_of(&self, port: u32) -> (usize, u32) {
        let router = self.shared.topology.router_of_port(PortId(port)).0;
        ((port - self.base_port) as usize, router - self.base_router)
    }

    /// Takes all packets out of the queues of a port behind an ideal crossbar, channel by channel.
    fn empty_queues(&mut self, port: usize) -> Vec<u32> {
        let mut slots = Vec::new();
        for index in port << self.ports.grid.shift..(port + 1) << self.ports.grid.shift {
            let channel = &mut self.ports.channels[index];
            let mut slot = std::mem::replace(&mut channel.head, NIL);
            channel.tail = NIL;
            while slot != NIL {
                slots.push(slot);
                let packet = &self.packets.hot[slot as usize];
                let room = packet.size.max(self.least_room);
                slot = packet.next;
                if let Some(promised) = self.ports.promised.get_mut(index) {
                    *promised -= room;
                }
            }
        }
        let state = &mut self.ports.all[port];
        (state.queued, state.waiting) = (0, 0);
        slots
    }

    /// Routes a packet that waits at a router once more, and lets it wait for what comes out; it is
    /// lost if nothing does.
    pub(super) fn route_again<R: Routing>(
        &mut self,
        routing: &R,
        router: u32,
        slot: u32,
        now: u64,
    ) {
        if self.is_cut_off(routing, router, slot, 1, now) {
            return self.drop_at_router(slot, now);
        }
        self.decide_again(routing, router, slot, now);
        let first = self
            .shared
            .topology
            .ports_of(RouterId(self.base_router + router));
        let number = u32::from(self.packets.hot[slot as usize].out_port);
        let port = first.start - self.base_port as usize + number as usize;
        self.enter_output_queue(port, slot);
        let state = &mut self.ports.all[port];
        if !state.wake {
            state.wake = true;
            let time = state.free_at.max(now);
            self.calendar
                .push(Event::new(time, router, Kind::Wake, number, 0));
        }
    }

    /// Bytes of the last packet of a port that its link has not sent at `now`.
    pub(super) fn unsent(&self, port: usize, now: u64) -> u64 {
        let state = &self.ports.all[port];
        match self
            .ports
            .silent
            .iter()
            .find(|&&(silent, _)| silent as usize == port)
        {
            Some(&(_, sent)) => {
                self.classes[usize::from(state.class)].unsent(state.sending, sent, now)
            }
            None => state.unsent(&self.classes[..], now),
        }
    }
}
