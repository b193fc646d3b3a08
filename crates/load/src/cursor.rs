//! Places in scripts.

use serde::{Deserialize, Serialize};

/// Where a rank is in its script: small, copyable, saved in checkpoints. A new
/// rank starts from `Cursor::default()`. The fields mean what the script wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Completed iterations.
    pub iteration: u32,
    /// Stage within the iteration.
    pub stage: u32,
    /// Position within the stage.
    pub position: u64,
    /// Which part of [`Phases`](crate::Phases) the rest is a place in; other
    /// scripts need not care for it.
    pub part: u64,
    /// See [`Origin::class`](crate::Origin::class), of what was done last.
    pub class: Option<u8>,
}
