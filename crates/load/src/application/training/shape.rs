//! Shapes of published language models, and what a layer of them has and computes.

use serde::{Deserialize, Serialize};

/// Models whose shapes are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, odonata_declare::Named)]
pub enum Model {
    /// 175 billion parameters (Brown et al.: *Language Models are Few-Shot Learners*, 2020, table
    /// 2.1).
    #[serde(rename = "gpt-3-175b")]
    Gpt3,
    /// 8 billion parameters (Grattafiori et al.: *The Llama 3 Herd of Models*, 2024, table 3).
    #[serde(rename = "llama-3-8b")]
    Llama8,
    /// 70 billion parameters (the same table).
    #[serde(rename = "llama-3-70b")]
    Llama70,
    /// 405 billion parameters (the same table).
    #[serde(rename = "llama-3-405b")]
    Llama405,
    /// 47 billion parameters, eight experts a layer, two for each word (Jiang et al.: *Mixtral of
    /// Experts*, 2024, table 1).
    #[serde(rename = "mixtral-8x7b")]
    Mixtral,
    /// 671 billion parameters, 256 experts and one for all, eight for each word (DeepSeek-AI:
    /// *DeepSeek-V3 Technical Report*, 2024, section 4.2).
    #[serde(rename = "deepseek-v3")]
    DeepSeekV3,
}

impl Model {
    /// Parameters of all of it, norms and biases aside.
    pub fn parameters(self) -> u64 {
        let shape = Shape::of(self);
        shape.parameters(shape.experts)
    }
}

/// What a word meets in a layer: parameters, norms and biases aside, and numbers that the keys and
/// values of its attention have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub layers: u32,
    pub hidden: u32,
    pub sequence: u32,
    pub vocabulary: u32,
    /// Parameters of attention, in a layer.
    pub attention: u64,
    /// Numbers of a query and of a value, of all heads together: a word's score with another one
    /// takes two operations for each.
    pub scores: u64,
    /// Numbers of a word that other words attend to.
    pub keys: u64,
    /// Parameters of the perceptron in layers without experts, and what layers with experts have
    /// besides them.
    pub dense: u64,
    pub beside_experts: u64,
    /// Parameters of an expert; 0 where there are none.
    pub expert: u64,
    /// Experts of a layer, and how many of them a word goes to.
    pub experts: u32,
    pub active: u32,
    /// Layers, from the first one on, without experts.
    pub dense_layers: u32,
    /// Whether the logits are by the embedding's parameters.
    pub tied: bool,
}

impl Shape {
    /// A model as Megatron-LM's: 12 h² + 13 h parameters in a layer.
    pub fn plain(layers: u32, hidden: u32, sequence: u32, vocabulary: u32) -> Self {
        let h = u64::from(hidden);
        Self {
            layers,
            hidden,
            sequence,
            vocabulary,
            attention: 4 * h * h,
            scores: 2 * h,
            keys: 2 * h,
            dense: 8 * h * h + 13 * h,
            beside_experts: 0,
            expert: 0,
            experts: 0,
            active: 0,
            dense_layers: layers,
            tied: true,
        }
    }

    /// As published.
    pub fn of(model: Model) -> Self {
        // Heads and, of grouped queries, of keys and values (128 numbers each), and what is inside a
        // perceptron with a gate: three matrices.
        let gated = |layers, hidden: u32, heads: u64, groups: u64, inside: u64, vocabulary| {
            let h = u64::from(hidden);
            Self {
                attention: h * 128 * (2 * heads + 2 * groups),
                scores: 2 * 128 * heads,
                keys: 2 * 128 * groups,
                dense: 3 * h * inside,
                tied: false,
                ..Self::plain(layers, hidden, 8_192, vocabulary)
            }
        };
        match model {
            Model::Gpt3 => Self::plain(96, 12_288, 2_048, 50_257),
            Model::Llama8 => gated(32, 4_096, 32, 8, 14_336, 128_256),
            Model::Llama70 => gated(80, 8_192, 64, 8, 28_672, 128_256),
            Model::Llama405 => gated(126, 16_384, 128, 8, 53_248, 128_256),
            Model::Mixtral => Self {
                sequence: 32_768,
                dense: 0,
                // The router.
                beside_experts: 4_096 * 8,
                expert: 3 * 4_096 * 14_336,
                experts: 8,
                active: 2,
                dense_layers: 0,
                ..gated(32, 4_096, 32, 8, 14_336, 32_000)
            },
            Model::DeepSeekV3 => Self {
                // Queries by way of 1,536 numbers, keys and values by way of 512 and 64 with their
                // place, 128 heads of 128 numbers and 64 with theirs.
                attention: 7_168 * 1_536
                    + 1_536 * 128 * (128 + 64)
                    + 7_168 * (512 + 64)
                    + 512 * 128 * (128 + 128)
                    + 128 * 128 * 7_168,
                scores: 128 * (128 + 64 + 128),
                keys: 512 + 64,
                dense: 3 * 7_168 * 18_432,
                // The expert for all words, and the router.
                beside_experts: 3 * 7_168 * 2_048 + 7_168 * 256,
                expert: 3 * 7_168 * 2_048,
                experts: 256,
                active: 8,
                dense_layers: 3,
                tied: false,
                ..Self::plain(61, 7_168, 4_096, 129_280)
            },
        }
    }

    /// Whether a layer, by its number from the first, has experts.
    pub fn has_experts(&self, layer: u32) -> bool {
        layer >= self.dense_layers
    }

    /// Parameters of a layer besides its experts.
    pub fn layer(&self, layer: u32) -> u64 {
        self.attention + self.perceptron(layer)
    }

    /// Parameters of a layer besides attention and experts.
    pub fn perceptron(&self, layer: u32) -> u64 {
        match self.has_experts(layer) {
            true => self.beside_experts,
            false => self.dense,
        }
    }

    /// Embedding and logits.
    fn ends(&self) -> u64 {
        let one = u64::from(self.vocabulary) * u64::from(self.hidden);
        if self.tied { one } else { 2 * one }
    }

    /// All parameters with this many experts in a layer.
    fn parameters(&self, experts: u32) -> u64 {
        let of_layer = |layer| {
            let experts = if self.has_experts(layer) { experts } else { 0 };
            self.layer(layer) + u64::from(experts) * self.expert
        };
        (0..self.layers).map(of_layer).sum::<u64>() + self.ends()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_parameters_that_their_papers_say() {
        // Billions, all and those that a word meets: the papers' abstracts; of Llama 3 8B and 70B
        // their model cards, 8.03 and 70.6.
        for (model, all, active) in [
            (Model::Gpt3, 175.0, 175.0),
            (Model::Llama8, 8.03, 8.03),
            (Model::Llama70, 70.6, 70.6),
            (Model::Llama405, 405.0, 405.0),
            (Model::Mixtral, 47.0, 13.0),
            (Model::DeepSeekV3, 671.0, 37.0),
        ] {
            let shape = Shape::of(model);
            for (experts, said) in [(shape.experts, all), (shape.active, active)] {
                let found = shape.parameters(experts) as f64 / 1e9;
                // Papers round; DeepSeek's 37 are 37.6 with both ends.
                assert!((found / said - 1.0).abs() < 0.02, "{model:?}: {found} B");
            }
        }
    }

    #[test]
    fn the_same_closed_form_without_a_name() {
        // 12 h² + 13 h (SC 2021).
        let shape = Shape::plain(2, 100, 10, 7);
        assert_eq!(shape.parameters(0), 2 * (120_000 + 1_300) + 700);
    }
}
