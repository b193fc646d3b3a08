//! The packet engine against theory: exact latencies, exact bandwidths, queueing
//! results, bounds of dragonflies, properties that must always hold, and points
//! measured with another simulator. One binary, so that the tests link once and
//! share the processor.

mod applications;
mod attribution;
mod booksim;
mod checkpoint;
mod classes;
mod collectives;
mod congestion;
mod dragonfly;
mod errors;
mod followed;
mod memory;
mod occupancy;
mod output_queues;
mod own_routing;
mod paced;
mod properties;
mod protocol;
mod queueing;
mod scenario;
mod semantics;
mod throughput;
mod zero_load;

mod support;
