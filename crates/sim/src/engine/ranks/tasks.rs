//! What keeps the processors of a rank busy, one thing after another.

use std::collections::VecDeque;

use odonata_mpi::{MessageKind, Task};
use odonata_run::memory::make_room_in;
use odonata_units::{Bytes, Picoseconds};
use serde::{Deserialize, Serialize};

use super::Stage;
use super::protocol::Outgoing;
use crate::engine::calendar::{Event, Kind};
use crate::engine::endpoint::timer_payload;
use crate::engine::partition::{NEVER, Partition};
use crate::engine::probe::Probe;

/// A processor of a rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::engine) struct Processor {
    pub task: Option<Task>,
    /// When the task is done.
    pub until: u64,
    /// What it does next, with how long that takes.
    pub queue: VecDeque<(u64, Task)>,
}

impl<P: Probe> Partition<'_, P> {
    /// Keeps a processor busy for a while, after what it is busy with. What takes
    /// no time is done at once.
    pub(super) fn occupy(
        &mut self,
        local_rank: u32,
        processor: u8,
        duration: Picoseconds,
        task: Task,
        now: u64,
    ) {
        if duration == Picoseconds::ZERO {
            self.conclude(local_rank, task, now);
            return;
        }
        let processors = &mut self.ranks[local_rank as usize].record.processors;
        // Messages may come for ranks whose program has not begun or is over.
        let index = usize::from(processor);
        if processors.len() <= index {
            processors.resize_with(index + 1, Processor::default);
        }
        let busy = processors[index].task.is_some();
        let queue = &mut processors[index].queue;
        make_room_in(queue, "what ranks have to do");
        queue.push_back((duration.0, task));
        if !busy {
            self.take_up(local_rank, index, now);
        }
    }

    /// An idle processor begins with what is next in its queue.
    pub(super) fn take_up(&mut self, local_rank: u32, processor: usize, now: u64) {
        let processor = &mut self.ranks[local_rank as usize].record.processors[processor];
        let Some((duration, task)) = processor.queue.pop_front() else {
            return;
        };
        let until = now.saturating_add(duration).min(NEVER - 1);
        processor.task = Some(task);
        processor.until = until;
        self.wake(local_rank, until);
        // Every task has an interval of its own.
        let recorded = self.shared.measurement.rank_intervals;
        let state = &mut self.ranks[local_rank as usize];
        if state.record.stage == Stage::Running {
            state.end_interval(now, recorded);
            state.record.activity = state.current_activity();
        }
    }

    /// Has a rank looked after at a time.
    pub(super) fn wake(&mut self, local_rank: u32, at: u64) {
        self.stimuli += 1;
        let interface = &self.interfaces[self.ranks[local_rank as usize].interface as usize];
        let router = interface.router - self.base_router;
        let payload = timer_payload(local_rank);
        let event = Event::new(at, router, Kind::Node, interface.terminal, payload);
        self.schedule(event);
    }

    /// Does what a task was for.
    pub(super) fn conclude(&mut self, local_rank: u32, task: Task, now: u64) {
        match task {
            Task::Compute(request) | Task::TakeIn(request) => {
                self.ranks[local_rank as usize].complete(request);
            }
            Task::TakeInAndFinish {
                request,
                handle,
                to,
            } => {
                self.ranks[local_rank as usize].complete(request);
                let control = self.protocol(local_rank).control;
                let finished = Outgoing {
                    created: now,
                    ..Outgoing::control(MessageKind::Finished, to, control, handle)
                };
                self.send(local_rank, finished, now);
            }
            Task::HandOver(sending) => self.begin_send(local_rank, sending, now),
            Task::HandOverPut {
                to,
                bytes,
                request,
                created,
            } => {
                let job = self.ranks[local_rank as usize].job;
                self.count_created(job, Bytes(bytes), created);
                self.count_traffic(local_rank, to, bytes);
                let message = Outgoing {
                    created,
                    ..Outgoing::control(MessageKind::Put, to, Bytes(bytes), request.0)
                };
                self.send(local_rank, message, now);
            }
            Task::HandOverGet {
                from,
                bytes,
                request,
            } => self.ask(local_rank, from, bytes, request, now),
            Task::Grant { handle, to } => {
                let control = self.protocol(local_rank).control;
                let grant = Outgoing {
                    created: now,
                    ..Outgoing::control(MessageKind::Grant, to, control, handle)
                };
                self.send(local_rank, grant, now);
            }
        }
    }

    /// A processor of a rank, the rank's start, or a message that it has handed over
    /// has come to its time.
    pub(in crate::engine) fn rank_timer(&mut self, local_rank: u32, now: u64) {
        self.stimuli -= 1;
        self.send_delayed(local_rank, now);
        if self.ranks[local_rank as usize].record.stage == Stage::BeforeStart
            && now == self.plan(local_rank).start.0
        {
            self.begin_program(local_rank, now);
        }
        for index in 0..self.ranks[local_rank as usize].record.processors.len() {
            let processor = &mut self.ranks[local_rank as usize].record.processors[index];
            if processor.until == now
                && let Some(task) = processor.task.take()
            {
                self.conclude(local_rank, task, now);
                self.take_up(local_rank, index, now);
            }
        }
        self.advance(local_rank, now);
    }
}
