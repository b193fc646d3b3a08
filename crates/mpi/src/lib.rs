//! What ranks of MPI do with messages, whichever engine carries them: how messages find their
//! receives, and which times and further messages follow from an action or an arrival.

pub mod actions;
mod kind;
pub mod matching;

pub use actions::{Begun, Sending, Task};
pub use kind::MessageKind;
pub use matching::{Arrived, Envelope, Matching, Posted, Wanted};
