//! The packet engine against theory: exact latencies, exact bandwidths, queueing
//! results, bounds of dragonflies, properties that must always hold, and points
//! measured with another simulator. One binary, so that the tests link once and
//! share the processor.

mod properties;
mod scenario;
mod zero_load;

mod support;
