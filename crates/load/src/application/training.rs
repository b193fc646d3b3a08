//! Training steps of large language models.

use std::sync::Arc;

use odonata_units::Bytes;

use self::order::Order;
use self::shape::Shape;
use self::step::{Bucket, Exchange, Parts, Stage, Step};
use super::computing::{ComputeRate, Computing};
use super::parameters::Parameters;
use super::{Setting, Skeleton};
use crate::error::LoadError;
use crate::grid::Grid;
use crate::phases::{Division, Phase};

mod order;
mod shape;
mod step;

pub use order::Schedule;
pub use shape::Model;

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
    /// - **Sequence and context**: with `sequence_parallel` each of these all-reduces is a
    ///   reduce-scatter and an all-gather of as many bytes, and what is between them is divided among
    ///   tensor-parallel ranks (Korthikanti et al. 2022). `context` ranks share each sequence; keys and
    ///   values are gathered before attention, their gradients scattered (Llama 3, section 3.3.2).
    /// - **Experts**: of models with experts, `expert` consecutive ranks share those of each layer. A
    ///   word goes to the ranks of its experts and back, by two all-to-alls in each layer and
    ///   direction. The busiest rank has `imbalance` times the mean (Lepikhin et al.: *GShard*, 2020).
    /// - **Data**: in the last micro-batch's way back the gradients of layers are
    ///   all-reduced among data-parallel ranks, without blocking, as soon as
    ///   `bucket_bytes` of them are complete (Li et al.: *PyTorch Distributed*, VLDB
    ///   2020); with `overlap = false` in one blocking all-reduce at the end. Those of logits that
    ///   share no parameters with the embedding come first, the embedding's last. Then
    ///   first and last stage add up the gradients of the embedding if they share it.
    ///
    /// - **ZeRO** (Rajbhandari et al. 2020): with `zero = 1` gradients are reduce-scattered, and weights
    ///   gathered at the end; with 2 gradients are reduce-scattered after every micro-batch, as no rank
    ///   keeps all; with 3 weights are gathered as well, layer by layer before each way. With `overlap`
    ///   the next layer's are gathered meanwhile.
    ///
    /// Parameters without a `model`: 12 h² + 13 h per layer of hidden size h, divided by `tensor`; the
    /// embedding of `vocabulary` words in the first and last stage. Operations for a
    /// micro-batch of b sequences of s: 24 b s h² + 4 b s² h per layer forward, of which
    /// 8 b s h² + 4 b s² h are the attention's; 2 b s h V for the logits; twice as many
    /// backward (SC 2021, appendix).
    ///
    /// Defaults: the model of 1.7 billion parameters of SC 2021, table 1 (24 layers,
    /// hidden 2304, sequence 2048, vocabulary 51,200, 137 teraFLOP/s per GPU), numbers
    /// of 2 bytes, buckets of 25 MiB (PyTorch's), a micro-batch of 4 sequences. Not
    /// modelled: the optimiser's own time; recomputation of activations; what communication takes of a
    /// GPU's computing. Whether it goes on while a rank computes `mpi.progress` says.
    pub struct Training {
        /// Published model whose layers, hidden size, vocabulary, attention and experts these are;
        /// instead of the keys that say so. Its `sequence` unless that is given. Stages may differ by a
        /// layer, the first ones after the first having more. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Model> = None,
        /// Share of the rate at which ranks compute that they reach, without communication, where that
        /// is a GPU's peak rate. Default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        utilisation: Option<f64> = None => Notes::FRACTION,
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
        /// Whether tensor-parallel ranks share the words between layers as well. Needs `tensor` above 1.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        sequence_parallel: bool = false,
        /// Ranks that share a sequence, of those that are data-parallel. Default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<u32> = None => Notes::COUNT,
        /// Ranks that share the experts of a layer, a divisor of their number and of tensor × data.
        /// Default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        expert: Option<u32> = None => Notes::COUNT,
        /// Words of the rank whose experts have most, over the mean, at most `expert`. Default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        imbalance: Option<f64> = None => Notes::AMOUNT,
        /// Stage of ZeRO, 1 to 3: what data-parallel ranks share of the optimiser's state, gradients
        /// and weights. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        zero: Option<u32> = None => Notes::COUNT,
        /// Size of a weight where ZeRO gathers it. Default: 2 B.
        #[serde(skip_serializing_if = "Option::is_none")]
        weight_bytes: Option<u32> = None => Notes::POSITIVE,
        /// Order of the micro-batches: all forward passes first (`gpipe`), or one forward and one
        /// backward pass in turn as soon as the pipeline is full (`1f1b`), which `interleaved` and
        /// `zero-bubble` shorten.
        schedule: Schedule = Schedule::OneForwardOneBackward,
        /// Stages on each rank of an `interleaved` pipeline, whose micro-batches are a multiple of
        /// `pipeline`.
        #[serde(skip_serializing_if = "Option::is_none")]
        chunks: Option<u32> = None => Notes::COUNT,
        /// Amount of gradients that are reduced together.
        bucket_bytes: u64 = 25 << 20 => Notes::POSITIVE,
        /// Whether gradients are reduced while further gradients are computed.
        overlap: bool = true,
    }
}

/// As many as leave room for chunk and direction in a tag.
const MOST_MICRO_BATCHES: u32 = 1 << 15;
/// Most stages on a rank.
const MOST_CHUNKS: u32 = 256;

impl Training {
    /// The shape of the model.
    fn shape(&self, check: Parameters) -> Result<Shape, LoadError> {
        let usual = Self::default();
        let Some(model) = self.model else {
            return Ok(Shape::plain(
                self.layers,
                self.hidden,
                self.sequence,
                self.vocabulary,
            ));
        };
        for (parameter, found, unset) in [
            ("layers", self.layers, usual.layers),
            ("hidden", self.hidden, usual.hidden),
            ("vocabulary", self.vocabulary, usual.vocabulary),
        ] {
            if found != unset {
                return Err(check.error(
                    parameter,
                    found,
                    "nothing with a model, whose own counts",
                ));
            }
        }
        let shape = Shape::of(model);
        Ok(match self.sequence == usual.sequence {
            true => shape,
            false => Shape {
                sequence: self.sequence,
                ..shape
            },
        })
    }

    /// Fails where an option is given that another one would have to go with.
    fn check_options(&self, check: Parameters, shape: &Shape) -> Result<(), LoadError> {
        let only = |parameter, found: String, with| {
            Err(check.error(parameter, found, format!("nothing without {with}")))
        };
        if self.sequence_parallel && self.tensor < 2 {
            return only("sequence_parallel", "true".into(), "`tensor` above 1");
        }
        if let Some(expert) = self.expert
            && shape.experts == 0
        {
            return only("expert", expert.to_string(), "a `model` with experts");
        }
        if let Some(imbalance) = self.imbalance {
            let most = self.expert.unwrap_or(1);
            if most < 2 {
                return only("imbalance", imbalance.to_string(), "`expert` above 1");
            }
            if !(1.0..=f64::from(most)).contains(&imbalance) {
                return Err(check.error("imbalance", imbalance, format!("1 to {most}, `expert`")));
            }
        }
        if let Some(zero) = self.zero
            && !(1..=3).contains(&zero)
        {
            return Err(check.error("zero", zero, "1, 2 or 3"));
        }
        match (self.weight_bytes, self.zero) {
            (Some(weight), None) => return only("weight", format!("{weight} B"), "`zero`"),
            (Some(0), _) => return Err(check.error("weight", "0 B", "at least 1 B")),
            _ => {}
        }
        match (self.chunks, self.schedule) {
            (None, Schedule::Interleaved) => {
                return Err(check.error(
                    "chunks",
                    "none",
                    format!("2 to {MOST_CHUNKS} with the schedule \"interleaved\""),
                ));
            }
            (Some(chunks), Schedule::Interleaved) => {
                if !(2..=MOST_CHUNKS).contains(&chunks) {
                    return Err(check.error("chunks", chunks, format!("2 to {MOST_CHUNKS}")));
                }
                if self.pipeline < 2 || !self.micro_batches.is_multiple_of(self.pipeline) {
                    let found = format!(
                        "{} with a pipeline of {}",
                        self.micro_batches, self.pipeline
                    );
                    let allowed = "a multiple of a pipeline above 1, where stages are interleaved";
                    return Err(check.error("micro_batches", found, allowed));
                }
            }
            (Some(chunks), _) => {
                let with = "the schedule \"interleaved\"";
                return only("chunks", chunks.to_string(), with);
            }
            _ => {}
        }
        Ok(())
    }

    /// How fast ranks compute.
    fn computing(
        &self,
        check: Parameters,
        setting: &Setting,
        flop: f64,
    ) -> Result<Computing, LoadError> {
        let Some(utilisation) = self.utilisation else {
            return setting.computing::<Self>(flop);
        };
        if !(utilisation > 0.0 && utilisation <= 1.0) {
            return Err(check.error("utilisation", utilisation, "a share above 0, at most 1"));
        }
        let peak = match setting.compute_rate {
            None => Self::FLOP_PER_S,
            Some(ComputeRate::FlopPerS(peak)) => peak,
            Some(ComputeRate::ComputePs(_)) => {
                let allowed = "nothing beside a time of computing: it is a share of a rate";
                return Err(check.error("utilisation", utilisation, allowed));
            }
        };
        let rate = ComputeRate::FlopPerS(peak * utilisation);
        Computing::new(rate, Self::NAME, flop)
    }

    /// Layers of each stage, the first one first.
    fn layers_of_stages(&self, check: Parameters, layers: u32) -> Result<Vec<u32>, LoadError> {
        let stages = self.pipeline.saturating_mul(self.chunks.unwrap_or(1));
        if stages == 0 || stages > layers {
            return Err(check.error(
                "pipeline",
                self.pipeline,
                format!("1 to the {layers} layers"),
            ));
        }
        let more = layers % stages;
        if more > 0 && self.model.is_none() {
            let (parameter, found) = match self.chunks {
                None => ("pipeline", self.pipeline.to_string()),
                Some(chunks) => ("chunks", format!("{chunks} on each of {}", self.pipeline)),
            };
            let allowed = format!("a divisor of the {layers} layers");
            return Err(check.error(parameter, found, allowed));
        }
        Ok((0..stages)
            .map(|stage| layers / stages + u32::from((1..=more).contains(&stage)))
            .collect())
    }
}

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
        let shape = self.shape(check)?;
        check.extents(
            "micro_batch",
            &[self.micro_batch, shape.sequence, shape.hidden],
        )?;
        check.extents("hidden", &[shape.hidden, shape.hidden, 13])?;
        check.extents("vocabulary", &[shape.vocabulary.max(1), shape.hidden])?;
        if !(1..=MOST_MICRO_BATCHES).contains(&self.micro_batches) {
            let allowed = format!("1 to {MOST_MICRO_BATCHES}");
            return Err(check.error("micro_batches", self.micro_batches, allowed));
        }
        if self.bucket_bytes == 0 {
            return Err(check.error("bucket", "0 B", "at least 1 B"));
        }
        let layers = self.layers_of_stages(check, shape.layers)?;
        let ranks = setting.ranks;
        let model = u64::from(self.tensor) * u64::from(self.pipeline);
        if model == 0 || !u64::from(ranks).is_multiple_of(model) {
            let found = format!("{} with a pipeline of {}", self.tensor, self.pipeline);
            let allowed = format!("numbers whose product divides the {ranks} ranks");
            return Err(check.error("tensor", found, allowed));
        }
        self.check_options(check, &shape)?;
        let data = (u64::from(ranks) / model) as u32;
        let (context, expert) = (self.context.unwrap_or(1), self.expert.unwrap_or(1));
        if context == 0 || !data.is_multiple_of(context) || !shape.sequence.is_multiple_of(context)
        {
            let allowed = format!(
                "a divisor of the {data} data-parallel ranks and of the {} words of a sequence",
                shape.sequence
            );
            return Err(check.error("context", context, allowed));
        }
        let block = self.tensor * data;
        if expert == 0
            || !block.is_multiple_of(expert)
            || (expert > 1 && !shape.experts.is_multiple_of(expert))
        {
            let allowed = format!(
                "a divisor of the {} experts and of the {block} ranks of a stage",
                shape.experts
            );
            return Err(check.error("expert", expert, allowed));
        }
        if shape.experts > 0 && self.tensor > 1 && !self.sequence_parallel {
            let found = format!("{} for a model with experts", self.tensor);
            let allowed =
                "1, or more with `sequence_parallel`, so that each rank has words of its own";
            return Err(check.error("tensor", found, allowed));
        }
        let grid = Grid::new(&[self.tensor, data, self.pipeline], false)?;

        let order = Order {
            schedule: self.schedule,
            micro_batches: self.micro_batches,
            ranks: self.pipeline,
            chunks: self.chunks.unwrap_or(1),
        };
        let sharing = f64::from(self.tensor);
        let words = f64::from(self.micro_batch) * f64::from(shape.sequence) / f64::from(context);
        // Operations of a micro-batch, forward: two for each parameter and word, and two for each
        // number of scores and pair of words.
        let each = |parameters: u64| 2.0 * words * parameters as f64 / sharing;
        // Norms and biases, which `plain` counts as parameters, compute nothing to speak of.
        let perceptron = |layer: u32| match self.model {
            None => 8 * u64::from(shape.hidden) * u64::from(shape.hidden),
            Some(_) => shape.perceptron(layer),
        };
        let scores = 2.0 * words * f64::from(shape.sequence) * shape.scores as f64 / sharing;
        let experts = each(u64::from(shape.active) * shape.expert);
        let logits = each(u64::from(shape.hidden) * u64::from(shape.vocabulary));
        let linear = |layer: u32| {
            let experts = if shape.has_experts(layer) {
                experts
            } else {
                0.0
            };
            each(shape.attention) + each(perceptron(layer)) + experts
        };
        // Of the last rank of the pipeline, forward, and twice that backward.
        let mut first = 0;
        let mut firsts = Vec::new();
        let mut flop = logits;
        for (stage, &count) in layers.iter().enumerate() {
            firsts.push(first);
            if stage as u32 % self.pipeline == self.pipeline - 1 {
                let layers = first..first + count;
                flop += layers.map(|layer| linear(layer) + scores).sum::<f64>();
            }
            first += count;
        }
        let flop = 3.0 * f64::from(self.micro_batches) * flop;
        let computing = self.computing(check, setting, flop)?;

        let algorithms = &setting.algorithms;
        let shared = |numbers: u64, by: u32, bytes: u32| {
            Bytes(numbers.div_ceil(u64::from(by)) * u64::from(bytes))
        };
        let gradients = |numbers| shared(numbers, self.tensor, self.gradient_bytes);
        let words = u64::from(self.micro_batch) * u64::from(shape.sequence) / u64::from(context);
        let whole = words * u64::from(shape.hidden) * u64::from(self.element_bytes);
        let parts = if self.sequence_parallel {
            self.tensor
        } else {
            1
        };
        let activations = Bytes(whole.div_ceil(u64::from(parts)));
        let scatter = |bytes: Bytes, size: u32| {
            let block = Bytes(bytes.0.div_ceil(u64::from(size)));
            Arc::new(algorithms.reduce_scatter_block(block, size))
        };
        let gather = |bytes: Bytes, size: u32| Arc::new(algorithms.allgather(bytes, size));
        let reduce = |bytes: Bytes, size: u32| match self.zero {
            Some(_) => scatter(bytes, size),
            None => Arc::new(algorithms.allreduce(bytes, size)),
        };
        let replicas = block / expert;
        let of_experts = |layers: u32, bytes: u32| {
            let here = u64::from(shape.experts / expert);
            Bytes(u64::from(layers) * here * shape.expert * u64::from(bytes))
        };
        let weight = self.weight_bytes.unwrap_or(2);
        let weights = |numbers: u64, experts: u32| {
            let block = shared(numbers.div_ceil(u64::from(data)), self.tensor, weight);
            let mut calls = vec![(false, gather(block, data))];
            if experts > 0 {
                let all = of_experts(experts, weight);
                let block = Bytes(all.0.div_ceil(u64::from(replicas)));
                calls.push((true, gather(block, replicas)));
            }
            calls
        };
        let embedding = u64::from(shape.vocabulary) * u64::from(shape.hidden);
        // What ranks at both ends have of embedding and logits.
        let ends = match (self.pipeline, shape.tied) {
            (1, false) => 2 * embedding,
            _ => embedding,
        };
        // Gradients of logits come first where they are no part of the embedding's.
        let reduces_logits =
            self.overlap && !shape.tied && shape.vocabulary > 0 && self.zero < Some(2);
        let gradient_calls = |layers: &[u32]| -> Bucket {
            let dense = layers
                .iter()
                .map(|&layer| gradients(shape.layer(layer)).0)
                .sum();
            let count = layers
                .iter()
                .filter(|&&layer| shape.has_experts(layer))
                .count() as u32;
            let experts = of_experts(count, self.gradient_bytes);
            Bucket {
                dense: reduce(Bytes(dense), data),
                experts: (count > 0).then(|| reduce(experts, replicas)),
            }
        };
        let stages = layers
            .iter()
            .zip(&firsts)
            .map(|(&count, &first)| {
                let mut buckets = vec![None; count as usize];
                let mut open: Vec<u32> = Vec::new();
                let mut filled = 0;
                // From the last layer on, as their gradients come.
                for (place, layer) in (first..first + count).rev().enumerate() {
                    open.push(layer);
                    filled += gradients(shape.layer(layer)).0;
                    if filled >= self.bucket_bytes || place as u32 + 1 == count {
                        buckets[place] = Some(gradient_calls(&open));
                        (open, filled) = (Vec::new(), 0);
                    }
                }
                Stage {
                    first,
                    layers: count,
                    buckets,
                }
            })
            .collect::<Vec<_>>();
        let of_rank = |rank: u32| -> Vec<u32> {
            let own = stages
                .iter()
                .skip(rank as usize)
                .step_by(self.pipeline as usize);
            own.flat_map(|stage| stage.first..stage.first + stage.layers)
                .collect()
        };
        let last_gather = |rank: u32| {
            let own = of_rank(rank);
            let at_end = rank == 0 || rank + 1 == self.pipeline;
            let mut numbers = if at_end { ends } else { 0 };
            let mut experts = 0;
            if self.zero != Some(3) {
                numbers += own.iter().map(|&layer| shape.layer(layer)).sum::<u64>();
                experts = own
                    .iter()
                    .filter(|&&layer| shape.has_experts(layer))
                    .count() as u32;
            }
            match numbers {
                0 => Vec::new(),
                _ => weights(numbers, experts),
            }
        };
        let parts_of = |linear: f64, other: f64| Parts {
            forward: computing.time(linear + other),
            inputs: computing.time(linear + 2.0 * other),
            weights: computing.time(linear),
        };
        let exchange = (expert > 1).then(|| {
            let bytes = words.div_ceil(u64::from(self.tensor))
                * u64::from(shape.active)
                * u64::from(shape.hidden)
                * u64::from(self.element_bytes);
            Exchange::new(
                algorithms,
                Bytes(bytes),
                expert,
                self.imbalance.unwrap_or(1.0),
            )
        });
        let load = |busiest: bool| match (self.imbalance, busiest) {
            (Some(most), true) => most,
            (Some(most), false) => (f64::from(expert) - most) / f64::from(expert - 1),
            _ => 1.0,
        };
        let keys =
            words * shape.keys.div_ceil(u64::from(self.tensor)) * u64::from(self.element_bytes);
        let sparse = shape.layers.min(shape.dense_layers.max(1));
        let perceptrons = [
            parts_of(each(perceptron(0)), 0.0),
            parts_of(each(perceptron(sparse)) + load(true) * experts, 0.0),
            parts_of(each(perceptron(sparse)) + load(false) * experts, 0.0),
        ];
        let gathers = [0, shape.dense_layers.min(shape.layers - 1)]
            .map(|layer| weights(shape.layer(layer), u32::from(shape.has_experts(layer))));
        Ok(vec![Phase::script(Step {
            order,
            dense_layers: shape.dense_layers,
            overlap: self.overlap,
            zero: self.zero.unwrap_or(0),
            embeds: shape.vocabulary > 0,
            tied: shape.tied,
            attention: parts_of(each(shape.attention), scores),
            perceptrons,
            logits: parts_of(logits, 0.0),
            activations,
            tensor: Arc::new(algorithms.allreduce(activations, self.tensor)),
            sharded: self.sequence_parallel.then(|| {
                (gather(activations, self.tensor), {
                    Arc::new(algorithms.reduce_scatter_block(activations, self.tensor))
                })
            }),
            keys: (context > 1).then(|| {
                let scattered = algorithms.reduce_scatter_block(Bytes(keys), context);
                (gather(Bytes(keys), context), Arc::new(scattered))
            }),
            exchange,
            gathers,
            all: match self.overlap || self.zero > Some(1) {
                true => Vec::new(),
                false => (0..self.pipeline)
                    .map(|rank| gradient_calls(&of_rank(rank)))
                    .collect(),
            },
            last_gathers: match self.zero {
                None => Vec::new(),
                Some(_) => (0..self.pipeline).map(last_gather).collect(),
            },
            embedding: reduce(
                gradients(if reduces_logits { embedding } else { ends }),
                data,
            ),
            of_logits: reduces_logits.then(|| reduce(gradients(embedding), data)),
            summed: Arc::new(algorithms.allreduce(gradients(embedding), 2)),
            context: Division::strided(self.tensor, context),
            experts: Division::strided(1, expert),
            replicas: Division::strided(expert, replicas),
            grid,
            stages,
        })])
    }
}
