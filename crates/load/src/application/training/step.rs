//! What each rank does in a training step.

use std::sync::Arc;

use odonata_units::{Bytes, Picoseconds, RankId};

use super::order::{Order, Pass, Way};
use crate::collective::{Algorithms, CollectiveCall};
use crate::communicator::{Communicator, Members};
use crate::cursor::Cursor;
use crate::grid::Grid;
use crate::parallelism::Parallelism;
use crate::phases::Division;
use crate::program::{Action, Totals};
use crate::script::{Handle, Need, Operation, SCRIPT_CONTEXT, Script};

/// Dimensions of the grid of ranks.
const TENSOR: usize = 0;
const DATA: usize = 1;
const PIPELINE: usize = 2;

/// Numbers of the communicators.
const TENSOR_GROUP: u32 = 1;
const DATA_GROUP: u32 = 2;
const EMBEDDING_GROUP: u32 = 3;
const CONTEXT_GROUP: u32 = 4;
const EXPERT_GROUP: u32 = 5;
const REPLICA_GROUP: u32 = 6;

/// How long a part of a layer takes: forward, backward for the gradients of its inputs, and for
/// those of its weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub forward: Picoseconds,
    pub inputs: Picoseconds,
    pub weights: Picoseconds,
}

/// The gradients that are reduced together: those of all data-parallel ranks, and of the ranks with the
/// same experts.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub dense: Arc<CollectiveCall>,
    pub experts: Option<Arc<CollectiveCall>>,
}

/// A stage of the pipeline.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// Number of its first layer.
    pub first: u32,
    pub layers: u32,
    /// By layer, counted from the last one: the bucket that its gradients complete.
    pub buckets: Vec<Option<Bucket>>,
}

/// Words on their way to the ranks of their experts, or back.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// The calls of the busiest rank, the first of its group, and of others: there, and back.
    calls: [[Arc<CollectiveCall>; 2]; 2],
}

impl Exchange {
    /// Exchanges `bytes` from each of `size` ranks, of which the first gets `most` times the mean.
    pub fn new(algorithms: &Algorithms, bytes: Bytes, size: u32, most: f64) -> Self {
        let mean = bytes.0 as f64 / f64::from(size);
        let first = Bytes((mean * most).round() as u64);
        let rest = mean * (f64::from(size) - most) / f64::from(size - 1);
        let rest = Bytes(rest.round() as u64);
        if first == rest {
            let call = Arc::new(algorithms.alltoall(first, size));
            let both = [call.clone(), call];
            return Self {
                calls: [both.clone(), both],
            };
        }
        let there: Arc<[Bytes]> = (0..size)
            .map(|place| if place == 0 { first } else { rest })
            .collect();
        let calls = [first, rest].map(|own| {
            let here: Arc<[Bytes]> = vec![own; size as usize].into();
            [
                Arc::new(algorithms.alltoallv(there.clone(), here.clone())),
                Arc::new(algorithms.alltoallv(here, there.clone())),
            ]
        });
        Self { calls }
    }
}

/// Weights gathered, of experts or of what is beside them.
pub(super) type Gathers = Vec<(bool, Arc<CollectiveCall>)>;

/// Both directions of a collective that scatters and gathers.
type Both = (Arc<CollectiveCall>, Arc<CollectiveCall>);

/// One training step. Its cursor counts ways of micro-batches through the stages of a rank as
/// stages, and what they do as positions.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub grid: Grid,
    pub order: Order,
    pub stages: Vec<Stage>,
    /// Layers before the first one with experts.
    pub dense_layers: u32,
    pub overlap: bool,
    /// 0: none.
    pub zero: u32,
    /// Whether there is an embedding, and whether logits are by its parameters.
    pub embeds: bool,
    pub tied: bool,
    pub attention: Parts,
    /// Without experts, with those of the busiest rank, with those of others.
    pub perceptrons: [Parts; 3],
    pub logits: Parts,
    pub activations: Bytes,
    pub tensor: Arc<CollectiveCall>,
    /// Gathers and scatters instead.
    pub sharded: Option<Both>,
    /// Keys and values of a sequence gathered, their gradients scattered.
    pub keys: Option<Both>,
    pub exchange: Option<Exchange>,
    /// The weights of a layer without experts and of one with experts.
    pub gathers: [Gathers; 2],
    /// Gradients of all layers of a rank of the pipeline together.
    pub all: Vec<Bucket>,
    /// Weights at the end, of a rank of the pipeline.
    pub last_gathers: Vec<Gathers>,
    /// Gradients of the embedding, and of the logits if those are not reduced earlier.
    pub embedding: Arc<CollectiveCall>,
    /// Gradients of the logits, where they are complete before all others and are reduced meanwhile.
    pub of_logits: Option<Arc<CollectiveCall>>,
    pub summed: Arc<CollectiveCall>,
    pub context: Division,
    pub experts: Division,
    pub replicas: Division,
}

/// What a rank does at a place: an operation, nothing, or the end of the way.
enum Act {
    Do(Operation),
    Skip,
    End,
}

impl From<Option<Operation>> for Act {
    fn from(operation: Option<Operation>) -> Self {
        operation.map_or(Self::Skip, Self::Do)
    }
}

/// Places of a way before its layers: the message, earlier reductions, logits and their gradients.
const BEFORE: u64 = 4;
/// Places of a layer.
const PLACES: u64 = 14;
/// Handles of gathered weights, beyond all those of gradients.
const GATHERED: u64 = 1 << 40;
/// The handle of the logits' gradients, beyond all.
const OF_LOGITS: Handle = Handle(1 << 41);

impl Step {
    /// The stage that a way goes through.
    fn stage(&self, rank: RankId, way: Way) -> u32 {
        way.chunk * self.order.ranks + self.grid.coordinate(rank, PIPELINE)
    }

    fn among(
        &self,
        rank: RankId,
        division: Division,
        number: u32,
        call: &Arc<CollectiveCall>,
        handle: Option<Handle>,
    ) -> Option<Operation> {
        (division.size() > 1).then(|| Operation::Collective {
            communicator: Arc::new(Communicator::new(number, division.members(rank))),
            call: call.clone(),
            handle,
        })
    }

    fn in_tensor(&self, rank: RankId, call: &Arc<CollectiveCall>) -> Option<Operation> {
        let division = Division::along(&self.grid, TENSOR);
        self.among(rank, division, TENSOR_GROUP, call, None)
    }

    fn in_data(
        &self,
        rank: RankId,
        experts: bool,
        call: &Arc<CollectiveCall>,
        handle: Option<Handle>,
    ) -> Option<Operation> {
        match experts {
            true => self.among(rank, self.replicas, REPLICA_GROUP, call, handle),
            false => {
                let division = Division::along(&self.grid, DATA);
                self.among(rank, division, DATA_GROUP, call, handle)
            }
        }
    }

    /// A message to or from the stage that is next on a way.
    fn pass(&self, rank: RankId, way: Way, sends: bool) -> Option<Operation> {
        // Activations come from below and go up, gradients the other way.
        let up = match way.pass {
            Pass::Forward => sends,
            Pass::Backward => !sends,
            Pass::Weights => return None,
        };
        let stage = self.stage(rank, way);
        let (ranks, stages) = (self.order.ranks, self.stages.len() as u32);
        let lower = match up {
            true => stage,
            false => stage.checked_sub(1)?,
        };
        if ranks == 1 || lower + 1 >= stages {
            return None;
        }
        let other = if up { stage + 1 } else { lower };
        let stride = self.grid.stride(PIPELINE);
        let at_first = rank.0 - self.grid.coordinate(rank, PIPELINE) * stride;
        let other = RankId(at_first + other % ranks * stride);
        let forward = u32::from(way.pass == Pass::Forward);
        let tag = (way.micro_batch * self.order.chunks + lower / ranks) * 2 + forward;
        Some(match sends {
            true => Operation::Send {
                to: other,
                bytes: self.activations,
                tag,
            },
            false => Operation::Do(Action::Receive {
                from: Some(other),
                context: SCRIPT_CONTEXT,
                tag: Some(tag),
            }),
        })
    }

    /// Computing a part in a way.
    fn compute(&self, parts: &Parts, way: Way) -> Option<Operation> {
        let time = match way.pass {
            Pass::Forward => parts.forward,
            Pass::Backward if self.order.has_weights(way) => Picoseconds(parts.forward.0 * 2),
            Pass::Backward => parts.inputs,
            Pass::Weights => parts.weights,
        };
        (time > Picoseconds::ZERO).then_some(Operation::Compute(time))
    }

    /// What `rank` does at `place` on a way: receive, logits on the way back, the parts of each
    /// layer, logits on the way forward, send.
    fn act(&self, rank: RankId, way: Way, place: u64) -> Act {
        let number = self.stage(rank, way);
        let stage = &self.stages[number as usize];
        let last = number as usize + 1 == self.stages.len();
        let forward = way.pass == Pass::Forward;
        let logits = |now: bool| {
            let here = last && self.embeds && forward == now;
            here.then(|| self.compute(&self.logits, way)).flatten()
        };
        let after = place.checked_sub(BEFORE + PLACES * u64::from(stage.layers));
        match (place, after) {
            (0, _) => self.pass(rank, way, false),
            (1, _) => self.reduced_before(way, stage),
            (2, _) => logits(false),
            (3, _) if last && !forward && self.order.is_last(way) => self
                .of_logits
                .as_ref()
                .and_then(|call| self.in_data(rank, false, call, Some(OF_LOGITS))),
            (3, _) => None,
            (_, None) => {
                let layer = ((place - BEFORE) / PLACES) as u32;
                self.in_layer(rank, way, stage, layer, (place - BEFORE) % PLACES)
            }
            (_, Some(0)) => logits(true),
            (_, Some(1)) => self.pass(rank, way, true),
            (_, Some(_)) => return Act::End,
        }
        .into()
    }

    /// What `rank` does in a layer, counted in the way's direction.
    fn in_layer(
        &self,
        rank: RankId,
        way: Way,
        stage: &Stage,
        layer: u32,
        place: u64,
    ) -> Option<Operation> {
        let forward = way.pass == Pass::Forward;
        let sparse = |layer: u32| {
            let number = match forward {
                true => stage.first + layer,
                false => stage.first + stage.layers - 1 - layer,
            };
            number >= self.dense_layers
        };
        let perceptron = || match (sparse(layer), self.experts.place(rank)) {
            (false, _) => &self.perceptrons[0],
            (true, 0) => &self.perceptrons[1],
            (true, _) => &self.perceptrons[2],
        };
        match (way.pass, place) {
            (_, 12) => return self.gradients(rank, way, stage, layer, false),
            (_, 13) => return self.gradients(rank, way, stage, layer, true),
            (Pass::Weights, 6) => return self.compute(perceptron(), way),
            (Pass::Weights, 9) => return self.compute(&self.attention, way),
            (Pass::Weights, _) => return None,
            _ => {}
        }
        let (gathers, scatters) = match &self.sharded {
            Some((gather, scatter)) => (Some(gather), scatter),
            None => (None, &self.tensor),
        };
        let around = |call: &Arc<CollectiveCall>| self.in_tensor(rank, call);
        let keys =
            |call: &Arc<CollectiveCall>| self.among(rank, self.context, CONTEXT_GROUP, call, None);
        let exchange = |back: usize| {
            let busiest = self.experts.place(rank) == 0;
            let call = &self.exchange.as_ref()?.calls[usize::from(!busiest)][back];
            self.among(rank, self.experts, EXPERT_GROUP, call, None)
        };
        match (forward, place) {
            (_, 0..5) => {
                let kind = |layer| usize::from(sparse(layer));
                self.weights(rank, (layer, stage.layers), place, kind)
            }
            (true, 5) | (false, 8) => gathers.and_then(around),
            (true, 6) => self.keys.as_ref().and_then(|(gather, _)| keys(gather)),
            (false, 10) => self.keys.as_ref().and_then(|(_, scatter)| keys(scatter)),
            (true, 7) | (false, 9) => self.compute(&self.attention, way),
            (true, 8) | (false, 11) => around(scatters),
            (true, 9) | (false, 5) if sparse(layer) => exchange(0),
            (true, 9) | (false, 5) => gathers.and_then(around),
            (true, 10) | (false, 6) => self.compute(perceptron(), way),
            (true, 11) | (false, 7) if sparse(layer) => exchange(1),
            (true, 11) | (false, 7) => around(scatters),
            _ => None,
        }
    }

    /// Weights that are gathered before a layer; `kind` says which layer has experts. With overlap
    /// those of the next layer are gathered while it computes.
    fn weights(
        &self,
        rank: RankId,
        (layer, layers): (u32, u32),
        place: u64,
        kind: impl Fn(u32) -> usize,
    ) -> Option<Operation> {
        if self.zero < 3 {
            return None;
        }
        let handle = |layer: u32, part: u64| Handle(GATHERED + u64::from(layer % 2) * 2 + part);
        let gathered = |layer: u32, part: u64| {
            let (experts, call) = self.gathers[kind(layer)].get(part as usize)?;
            let handle = self.overlap.then(|| handle(layer, part));
            self.in_data(rank, *experts, call, handle)
        };
        match place {
            0 | 1 if layer == 0 || !self.overlap => gathered(layer, place),
            2 | 3 if self.overlap && layer + 1 < layers => gathered(layer + 1, place - 2),
            4 if self.overlap => Some(Operation::Wait {
                handles: [handle(layer, 0), handle(layer, 1)].into(),
                need: Need::All,
            }),
            _ => None,
        }
    }

    /// Handles of a stage's gradients.
    fn handles(&self, chunk: u32, stage: &Stage) -> impl Iterator<Item = Handle> {
        (0..2 * u64::from(stage.layers)).map(move |at| Handle(u64::from(chunk) << 20 | at))
    }

    /// Before gradients are computed again those of earlier micro-batches have to be reduced.
    fn reduced_before(&self, way: Way, stage: &Stage) -> Option<Operation> {
        (self.zero >= 2 && self.overlap && self.order.has_weights(way)).then(|| Operation::Wait {
            handles: self.handles(way.chunk, stage).collect(),
            need: Need::All,
        })
    }

    /// The reduction that begins when the gradients of a layer are there, counted
    /// from the last one of the stage.
    fn gradients(
        &self,
        rank: RankId,
        way: Way,
        stage: &Stage,
        layer: u32,
        experts: bool,
    ) -> Option<Operation> {
        // Before ZeRO's second stage gradients of all micro-batches are added up first.
        let due = match self.zero {
            2.. => self.order.has_weights(way),
            _ => self.overlap && self.order.is_last(way),
        };
        let bucket = stage.buckets[layer as usize].as_ref().filter(|_| due)?;
        let call = match experts {
            true => bucket.experts.as_ref()?,
            false => &bucket.dense,
        };
        let at = 2 * u64::from(layer) + u64::from(experts);
        let handle = Handle(u64::from(way.chunk) << 20 | at);
        self.in_data(rank, experts, call, self.overlap.then_some(handle))
    }

    /// What `rank` does at `place` after all micro-batches.
    fn end(&self, rank: RankId, place: u64) -> Act {
        let at = self.grid.coordinate(rank, PIPELINE);
        let (last, first) = (at + 1 == self.order.ranks, at == 0);
        let own = || {
            let stages = self.stages.iter().skip(at as usize);
            stages.step_by(self.order.ranks as usize).zip(0..)
        };
        let all = || self.all.get(at as usize);
        match place {
            0 => Act::Do(Operation::WaitAll),
            1 if self.overlap => Act::Do(Operation::Wait {
                handles: own()
                    .flat_map(|(stage, chunk)| self.handles(chunk, stage))
                    .chain([OF_LOGITS])
                    .collect(),
                need: Need::All,
            }),
            1 => all()
                .and_then(|all| self.in_data(rank, false, &all.dense, None))
                .into(),
            2 => all()
                .and_then(|all| self.in_data(rank, true, all.experts.as_ref()?, None))
                .into(),
            3 if (first || last && self.of_logits.is_none()) && self.embeds => {
                self.in_data(rank, false, &self.embedding, None).into()
            }
            4 if first != last && self.embeds && self.tied => {
                let stride = self.grid.stride(PIPELINE) * (self.order.ranks - 1);
                let below = if first { rank.0 } else { rank.0 - stride };
                let members = Members::Strided {
                    first: RankId(below),
                    stride,
                    count: 2,
                };
                Act::Do(Operation::Collective {
                    communicator: Arc::new(Communicator::new(EMBEDDING_GROUP, members)),
                    call: self.summed.clone(),
                    handle: None,
                })
            }
            5 | 6 => self
                .last_gathers
                .get(at as usize)
                .and_then(|gathers| gathers.get(place as usize - 5))
                .and_then(|(experts, call)| self.in_data(rank, *experts, call, None))
                .into(),
            3 | 4 => Act::Skip,
            _ => Act::End,
        }
    }
}

impl Script for Step {
    fn ranks(&self) -> u32 {
        self.grid.points()
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        let at = self.grid.coordinate(rank, PIPELINE);
        loop {
            let way = self.order.way(at, cursor.stage);
            let act = match way {
                Some(way) => self.act(rank, way, cursor.position),
                None => self.end(rank, cursor.position),
            };
            match act {
                Act::Do(operation) => {
                    cursor.position += 1;
                    return operation;
                }
                Act::Skip => cursor.position += 1,
                Act::End if way.is_none() => return Operation::Finish,
                Act::End => {
                    cursor.stage += 1;
                    cursor.position = 0;
                }
            }
        }
    }

    fn totals(&self) -> Option<Totals> {
        None
    }

    fn has_parallelism(&self) -> bool {
        true
    }

    fn parallelism(&self, _: &Cursor, communicator: Option<u32>) -> Option<Parallelism> {
        Some(match communicator {
            None | Some(EMBEDDING_GROUP) => Parallelism::Pipeline,
            Some(TENSOR_GROUP) if self.sharded.is_some() => Parallelism::Sequence,
            Some(TENSOR_GROUP) => Parallelism::Tensor,
            Some(CONTEXT_GROUP) => Parallelism::Context,
            Some(EXPERT_GROUP) => Parallelism::Expert,
            Some(DATA_GROUP | REPLICA_GROUP) if self.zero > 0 => Parallelism::Zero,
            Some(DATA_GROUP | REPLICA_GROUP) => Parallelism::Data,
            Some(_) => return None,
        })
    }

    fn iterations(&self) -> u32 {
        // The phases around it count them.
        0
    }
}
