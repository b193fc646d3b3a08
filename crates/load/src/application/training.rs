//! Training steps of large language models.

use std::sync::Arc;

use odonata_units::{Bytes, Picoseconds, RankId};
use serde::{Deserialize, Serialize};

use super::parameters::Parameters;
use super::{Setting, Skeleton};
use crate::collective::CollectiveCall;
use crate::communicator::{Communicator, Members};
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::grid::Grid;
use crate::phases::{Division, Phase};
use crate::program::{Action, Totals};
use crate::script::{Handle, Need, Operation, SCRIPT_CONTEXT, Script};

/// In which order a stage of the pipeline works on the micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, odonata_declare::Named)]
pub enum Schedule {
    /// All forward, then all backward in the opposite order (Huang et al.: *GPipe*,
    /// NeurIPS 2019).
    #[serde(rename = "gpipe")]
    Gpipe,
    /// As few forward as fill the pipeline, then one forward and one backward in
    /// turn (Narayanan et al. 2021, PipeDream-Flush, 1F1B).
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
}

odonata_declare::table! {
    /// A training step of a language model: data, tensor and pipeline parallelism.
    ///
    /// A rank is a GPU; `tensor` × `pipeline` of them hold a model, the rest of the ranks is
    /// data-parallel (Narayanan et al. 2021). `compute` is the time of the last stage of the pipeline.
    ///
    /// # Model
    ///
    /// A training step of a transformer model (Shoeybi et al.: *Megatron-LM*,
    /// arXiv:1909.08053; Narayanan et al.: *Efficient Large-Scale Language Model
    /// Training on GPU Clusters Using Megatron-LM*, SC 2021). A rank is a GPU.
    ///
    /// The ranks are a grid of `tensor` × data × `pipeline`, tensor-parallel ranks
    /// numbered consecutively and stages of the pipeline furthest apart, as in
    /// Megatron-LM; what `tensor` and `pipeline` leave of the ranks is data-parallel.
    /// So `tensor = pipeline = 1` is plain data parallelism.
    ///
    /// - **Pipeline**: a stage has `layers` / `pipeline` layers. For each of the
    ///   `micro_batches` it receives activations from the stage before, computes, and
    ///   sends its own to the one behind; gradients go the other way. Sizes:
    ///   `micro_batch` × `sequence` × `hidden` numbers. `schedule` says in which order.
    /// - **Tensor**: two all-reduces of as many numbers among the tensor-parallel ranks
    ///   in each layer on the way forward, after attention and after the perceptron,
    ///   and two on the way back.
    /// - **Data**: in the last micro-batch's way back the gradients of layers are
    ///   all-reduced among data-parallel ranks, without blocking, as soon as
    ///   `bucket_bytes` of them are complete (Li et al.: *PyTorch Distributed*, VLDB
    ///   2020); with `overlap = false` in one blocking all-reduce at the end. Then
    ///   first and last stage add up the gradients of the embedding that they share.
    ///
    /// Parameters: 12 h² + 13 h per layer of hidden size h, divided by `tensor`; the
    /// embedding of `vocabulary` words in the first and last stage. Operations for a
    /// micro-batch of b sequences of s: 24 b s h² + 4 b s² h per layer forward, of which
    /// 8 b s h² + 4 b s² h are the attention's; 2 b s h V for the logits; twice as many
    /// backward (SC 2021, appendix).
    ///
    /// Defaults: the model of 1.7 billion parameters of SC 2021, table 1 (24 layers,
    /// hidden 2304, sequence 2048, vocabulary 51,200, 137 teraFLOP/s per GPU), numbers
    /// of 2 bytes, buckets of 25 MiB (PyTorch's), a micro-batch of 4 sequences. Not
    /// modelled: the optimiser's own time and sharding of its state; recomputation of
    /// activations; interleaved stages; progress of non-blocking collectives while a
    /// rank computes (they advance between the parts of layers).
    pub struct Training {
        /// Layers of the model, a multiple of `pipeline`.
        layers: u32 = 24 => Notes::COUNT,
        /// Hidden size.
        hidden: u32 = 2_304 => Notes::COUNT,
        /// Words per sequence.
        sequence: u32 = 2_048 => Notes::COUNT,
        /// Words of the vocabulary; 0 for a model without embedding and logits.
        vocabulary: u32 = 51_200 => Notes::INDEX,
        /// Sequences per micro-batch.
        micro_batch: u32 = 4 => Notes::COUNT,
        /// Micro-batches of each data-parallel rank in a step.
        micro_batches: u32 = 4 => Notes::COUNT,
        /// Size of an activation.
        element_bytes: u32 = 2 => Notes::POSITIVE,
        /// Size of a gradient.
        gradient_bytes: u32 = 2 => Notes::POSITIVE,
        /// Tensor-parallel ranks.
        tensor: u32 = 1 => Notes::COUNT,
        /// Stages of the pipeline.
        pipeline: u32 = 1 => Notes::COUNT,
        /// Order of the micro-batches: all forward passes first (`gpipe`), or one forward and one
        /// backward pass in turn as soon as the pipeline is full (`1f1b`).
        schedule: Schedule = Schedule::OneForwardOneBackward,
        /// Amount of gradients that are reduced together.
        bucket_bytes: u64 = 25 << 20 => Notes::POSITIVE,
        /// Whether gradients are reduced while further gradients are computed.
        overlap: bool = true,
    }
}

/// Dimensions of the grid of ranks.
const TENSOR: usize = 0;
const DATA: usize = 1;
const PIPELINE: usize = 2;

/// Numbers of the communicators.
const TENSOR_GROUP: u32 = 1;
const DATA_GROUP: u32 = 2;
const EMBEDDING_GROUP: u32 = 3;

impl Skeleton for Training {
    const NAME: &'static str = "training";
    const FLOP_PER_S: f64 = 137e12;

    fn phases(&self, setting: &Setting) -> Result<Vec<Phase>, LoadError> {
        let check = Parameters(Self::NAME);
        for (parameter, value) in [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("sequence", self.sequence),
            ("micro_batch", self.micro_batch),
            ("element", self.element_bytes),
            ("gradient", self.gradient_bytes),
        ] {
            check.at_least(parameter, value, 1)?;
        }
        check.extents(
            "micro_batch",
            &[self.micro_batch, self.sequence, self.hidden],
        )?;
        check.extents("hidden", &[self.hidden, self.hidden, 13])?;
        check.extents("vocabulary", &[self.vocabulary.max(1), self.hidden])?;
        if !(1..=MOST_MICRO_BATCHES).contains(&self.micro_batches) {
            let allowed = format!("1 to {MOST_MICRO_BATCHES}");
            return Err(check.error("micro_batches", self.micro_batches, allowed));
        }
        if self.bucket_bytes == 0 {
            return Err(check.error("bucket", "0 B", "at least 1 B"));
        }
        if self.pipeline == 0 || !self.layers.is_multiple_of(self.pipeline) {
            let allowed = format!("a divisor of the {} layers", self.layers);
            return Err(check.error("pipeline", self.pipeline, allowed));
        }
        let ranks = setting.ranks;
        let model = u64::from(self.tensor) * u64::from(self.pipeline);
        if model == 0 || !u64::from(ranks).is_multiple_of(model) {
            let found = format!("{} with a pipeline of {}", self.tensor, self.pipeline);
            let allowed = format!("numbers whose product divides the {ranks} ranks");
            return Err(check.error("tensor", found, allowed));
        }
        let data = (u64::from(ranks) / model) as u32;
        let grid = Grid::new(&[self.tensor, data, self.pipeline], false)?;

        let [batch, sequence, hidden, vocabulary, tensor] = [
            self.micro_batch,
            self.sequence,
            self.hidden,
            self.vocabulary,
            self.tensor,
        ]
        .map(f64::from);
        let square = batch * sequence * hidden * hidden / tensor;
        let scores = 4.0 * batch * sequence * sequence * hidden / tensor;
        let work = [8.0 * square + scores, 16.0 * square];
        let logits = 2.0 * batch * sequence * hidden * vocabulary / tensor;
        let layers = self.layers / self.pipeline;
        // Of the last stage, which has most to do: forward, and twice that backward.
        let forward = f64::from(layers) * (work[0] + work[1]) + logits;
        let flop = 3.0 * f64::from(self.micro_batches) * forward;
        let computing = setting.computing::<Self>(flop)?;

        let words = u64::from(self.micro_batch) * u64::from(self.sequence);
        let activations = Bytes(words * u64::from(self.hidden) * u64::from(self.element_bytes));
        let h = u64::from(self.hidden);
        let shared = |numbers: u64| {
            Bytes(numbers.div_ceil(u64::from(self.tensor)) * u64::from(self.gradient_bytes))
        };
        let layer = shared(12 * h * h + 13 * h);
        let embedding = shared(u64::from(self.vocabulary) * h);
        // As many layers as fill a bucket.
        let bucket = self
            .bucket_bytes
            .div_ceil(layer.0)
            .clamp(1, u64::from(layers)) as u32;
        let reduce =
            |bytes: Bytes, ranks: u32| Arc::new(setting.algorithms.allreduce(bytes, ranks));
        let times = |count: u32| Bytes(layer.0 * u64::from(count));
        let rest = (layers - 1) % bucket + 1;
        Ok(vec![Phase::script(Step {
            grid,
            layers,
            bucket,
            micro_batches: self.micro_batches,
            schedule: self.schedule,
            overlap: self.overlap,
            embeds: self.vocabulary > 0,
            parts: work.map(|flop| computing.time(flop)),
            logits: computing.time(logits),
            activations,
            tensor: reduce(activations, self.tensor),
            full: reduce(times(bucket), data),
            // The last bucket goes with the first layers.
            rest: reduce(times(rest), data),
            embedding: reduce(embedding, data),
            all: reduce(times(layers), data),
            tied: reduce(embedding, 2),
        })])
    }
}

/// As many as leave room for the direction in a tag.
const MOST_MICRO_BATCHES: u32 = 1 << 15;

/// One training step. Its cursor counts ways of micro-batches through the stage as
/// stages, and what they do as positions.
#[derive(Clone, Debug)]
struct Step {
    grid: Grid,
    /// Layers of a stage of the pipeline.
    layers: u32,
    /// Layers of a full bucket.
    bucket: u32,
    micro_batches: u32,
    schedule: Schedule,
    overlap: bool,
    /// Whether there is an embedding.
    embeds: bool,
    /// Attention and perceptron, forward.
    parts: [Picoseconds; 2],
    /// Forward.
    logits: Picoseconds,
    activations: Bytes,
    tensor: Arc<CollectiveCall>,
    /// Reductions of gradients.
    full: Arc<CollectiveCall>,
    rest: Arc<CollectiveCall>,
    embedding: Arc<CollectiveCall>,
    all: Arc<CollectiveCall>,
    tied: Arc<CollectiveCall>,
}

/// A micro-batch on its way through a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    micro_batch: u32,
    forward: bool,
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

impl Step {
    /// Way number `number` of a stage; `None` after the last one.
    fn way(&self, stage: u32, number: u32) -> Option<Way> {
        let all = self.micro_batches;
        if number >= 2 * all {
            return None;
        }
        let way = |forward, micro_batch| {
            Some(Way {
                micro_batch,
                forward,
            })
        };
        match self.schedule {
            Schedule::Gpipe if number < all => way(true, number),
            Schedule::Gpipe => way(false, 2 * all - 1 - number),
            Schedule::OneForwardOneBackward => {
                let behind = self.grid.extents()[PIPELINE] - 1 - stage;
                let filling = behind.min(all);
                let steady = 2 * (all - filling);
                match number.checked_sub(filling) {
                    None => way(true, number),
                    Some(number) if number < steady => {
                        let forward = number.is_multiple_of(2);
                        let pair = number / 2;
                        way(forward, if forward { filling + pair } else { pair })
                    }
                    Some(number) => way(false, number - steady / 2),
                }
            }
        }
    }

    /// Whether the last stage, and the first.
    fn ends(&self, stage: u32) -> (bool, bool) {
        (stage + 1 == self.grid.extents()[PIPELINE], stage == 0)
    }

    fn collective(
        &self,
        rank: RankId,
        dimension: usize,
        number: u32,
        call: &Arc<CollectiveCall>,
        handle: Option<Handle>,
    ) -> Option<Operation> {
        let division = Division::along(&self.grid, dimension);
        (division.size() > 1).then(|| Operation::Collective {
            communicator: Arc::new(Communicator::new(number, division.members(rank))),
            call: call.clone(),
            handle,
        })
    }

    /// A message to or from the next stage.
    fn pass(&self, rank: RankId, way: Way, sends: bool) -> Option<Operation> {
        // Activations come from below and go up, gradients the other way.
        let other = self.grid.neighbour(rank, PIPELINE, way.forward == sends)?;
        let tag = way.micro_batch * 2 + u32::from(way.forward);
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

    /// What `rank` does at `place` on a way: receive, logits on the way back, five
    /// parts for each layer, logits on the way forward, send.
    fn act(&self, rank: RankId, way: Way, place: u64) -> Act {
        let stage = self.grid.coordinate(rank, PIPELINE);
        let (last, _) = self.ends(stage);
        let slower = if way.forward { 1 } else { 2 };
        let compute = |time: Picoseconds| {
            let time = Picoseconds(time.0 * slower);
            (time > Picoseconds::ZERO).then_some(Operation::Compute(time))
        };
        let parts = 5 * u64::from(self.layers);
        let logits = |forward: bool| {
            let here = last && way.forward == forward;
            here.then(|| compute(self.logits)).flatten()
        };
        match place {
            0 => return self.pass(rank, way, false).into(),
            1 => return logits(false).into(),
            _ if place - 2 == parts => return logits(true).into(),
            _ if place - 2 == parts + 1 => return self.pass(rank, way, true).into(),
            _ if place - 2 > parts + 1 => return Act::End,
            _ => {}
        }
        let (layer, part) = (((place - 2) / 5) as u32, (place - 2) % 5);
        let [first, second] = match way.forward {
            true => self.parts,
            false => [self.parts[1], self.parts[0]],
        };
        let sum = || self.collective(rank, TENSOR, TENSOR_GROUP, &self.tensor, None);
        match part {
            0 => compute(first),
            1 | 3 => sum(),
            2 => compute(second),
            _ => self.gradients(rank, way, layer),
        }
        .into()
    }

    /// The reduction that begins when the gradients of a layer are there, counted
    /// from the last one of the stage.
    fn gradients(&self, rank: RankId, way: Way, layer: u32) -> Option<Operation> {
        let stage = self.grid.coordinate(rank, PIPELINE);
        let due = !way.forward && self.overlap && self.is_last(stage, way);
        let full = (layer + 1).is_multiple_of(self.bucket);
        let call = match layer + 1 == self.layers {
            true => &self.rest,
            false => &self.full,
        };
        if !due || !(full || layer + 1 == self.layers) {
            return None;
        }
        let handle = Handle(u64::from(layer / self.bucket));
        self.collective(rank, DATA, DATA_GROUP, call, Some(handle))
    }

    /// Whether a way back is the last one of a stage.
    fn is_last(&self, stage: u32, way: Way) -> bool {
        self.way(stage, 2 * self.micro_batches - 1) == Some(way)
    }

    /// What `rank` does at `place` after all micro-batches.
    fn end(&self, rank: RankId, place: u64) -> Act {
        let stage = self.grid.coordinate(rank, PIPELINE);
        let (last, first) = self.ends(stage);
        match place {
            0 => Act::Do(Operation::WaitAll),
            1 if self.overlap => {
                let buckets = u64::from(self.layers.div_ceil(self.bucket));
                Act::Do(Operation::Wait {
                    handles: (0..buckets).map(Handle).collect(),
                    need: Need::All,
                })
            }
            1 => self
                .collective(rank, DATA, DATA_GROUP, &self.all, None)
                .into(),
            2 if (first || last) && self.embeds => self
                .collective(rank, DATA, DATA_GROUP, &self.embedding, None)
                .into(),
            3 if first != last && self.embeds => {
                let stride = self.grid.stride(PIPELINE) * (self.grid.extents()[PIPELINE] - 1);
                let below = if first { rank.0 } else { rank.0 - stride };
                let members = Members::Strided {
                    first: RankId(below),
                    stride,
                    count: 2,
                };
                Act::Do(Operation::Collective {
                    communicator: Arc::new(Communicator::new(EMBEDDING_GROUP, members)),
                    call: self.tied.clone(),
                    handle: None,
                })
            }
            2 | 3 => Act::Skip,
            _ => Act::End,
        }
    }
}

impl Script for Step {
    fn ranks(&self) -> u32 {
        self.grid.points()
    }

    fn next(&self, rank: RankId, cursor: &mut Cursor) -> Operation {
        let stage = self.grid.coordinate(rank, PIPELINE);
        loop {
            let way = self.way(stage, cursor.stage);
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

    fn iterations(&self) -> u32 {
        // The phases around it count them.
        0
    }
}
