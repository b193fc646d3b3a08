//! Kinds of parallelism of a training step, to which its messages and waits belong.

use odonata_declare::Named;
use serde::{Deserialize, Serialize};

/// What the ranks of a training step share among them, for which they communicate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Named,
)]
#[serde(rename_all = "kebab-case")]
pub enum Parallelism {
    /// The matrices of a layer.
    Tensor,
    /// These and the words between layers.
    Sequence,
    /// The words of a sequence.
    Context,
    /// The experts of a layer.
    Expert,
    /// The layers; with the gradients of the embedding that both ends of the pipeline have.
    Pipeline,
    /// The sequences of a batch: gradients are reduced.
    Data,
    /// These, and the optimiser's state, gradients or weights: gathered and scattered.
    Zero,
}
