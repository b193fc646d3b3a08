//! The cut room: halves and parts of weighted graphs. Knows nothing of
//! networks or applications; the network room cuts machines with it, the
//! placement room cuts applications and machines alike.
//!
//! [`bisect`] finds two parts of given sizes between which little weight lies:
//! METIS (Karypis and Kumar, SIAM J. Sci. Comput. 1998) proposes, passes after
//! Fiduccia and Mattheyses (DAC 1982) bring the sizes to what was asked, exactly,
//! and improve what they can. [`partition`] repeats that for more parts.
//!
//! [`least_cut`] searches for two parts with the least between them of all.
//!
//! The same graph, sizes and seed give the same parts.

mod bisect;
mod exact;
mod graph;
mod multilevel;
mod parts;
mod refine;

pub use bisect::{Effort, Halves, bisect};
pub use exact::{Exact, least_cut};
pub use graph::Graph;
pub use parts::partition;
pub use refine::{Balance, Refinement};
