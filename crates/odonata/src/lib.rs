//! Odonata: packet-level simulation of a supercomputer's network, with its
//! routing, its jobs and their placement, in one run.
//!
//! This crate assembles the rooms: a [`Scenario`] becomes a topology, a routing
//! algorithm, placed jobs and their loads, and [`run`] simulates them.
//!
//! ```
//! use odonata::spec::{AllToAll, Dragonfly, Family, Job, Load, Motif, MotifKind, Network, Sends};
//! use odonata::{Progress, Scenario, run};
//! use std::ops::ControlFlow;
//!
//! // 9 groups of 4 routers with 2 nodes each: 72 nodes.
//! let network = Network::new(Family::Dragonfly(Dragonfly::new(2, 4, 2, 9)));
//! let mut scenario = Scenario::new(network);
//! let motif = Motif {
//!     kind: MotifKind::AllToAll(AllToAll { message_bytes: 1_000, window: 1, sends: Sends::default() }),
//!     iterations: 1,
//!     compute_ps: 0,
//!     traffic_class: None,
//! };
//! scenario.jobs.push(Job::new("exchange", 72, Load::Motif(motif)));
//!
//! let run = run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))?;
//! let job = &run.outcome.jobs[0];
//! assert_eq!(job.bytes_delivered, 72 * 71 * 1_000);
//! println!("done after {}", job.end.expect("a motif ends"));
//! # Ok::<(), odonata::Error>(())
//! ```

mod additions;
pub mod batch;
mod bench;
mod bisection;
pub mod checkpoint;
mod collectives;
pub mod control;
mod cost;
mod coupling;
mod error;
mod faults;
mod finished;
mod flow;
mod forwarding;
mod inspect;
mod jobs;
mod listing;
mod load;
mod mapping;
mod meta;
mod named_file;
mod parameter_keys;
pub mod plug_in;
mod registry;
mod router_pairs;
mod routing;
mod run;
mod skip;
pub mod spec;
pub mod statistics;
mod steady;
mod storage;
mod subnet;
mod tables;
#[cfg(test)]
mod testing;
mod topology;
mod traces;
mod ways;

pub use bench::{BenchOptions, BenchResult, bench, bench_scenario};
pub use bisection::{BISECTION_STEPS, bisection_width};
pub use cost::{Cost, peak_rss_bytes};
pub use error::{Error, Mistakes, SpecError};
pub use faults::faults;
pub use finished::Run;
pub use forwarding::parts_of_tables;
pub use inspect::{EXPORT_FORMATS, Proof, describe, export, named_graph, subnet, verify, wiring};
pub use jobs::classes::starving_classes;
pub use jobs::placed::{PlacedJobs, place_jobs};
pub use jobs::{PlannedJob, plan_jobs};
pub use listing::{list_program, listing_to_json};
pub use mapping::KnownRoutes;
pub use mapping::costs::{MappingCost, MappingCosts, mapping_costs};
pub use odonata_declare::{Entry, Listed, Named, UnknownName, entries};
pub use odonata_network::routing::AnyRouting;
pub use odonata_network::verify::{Options as VerifyOptions, Sample, Verdict, VerifyError};
pub use odonata_run::{Observer, Outcome, PausedRun, Progress, SimError, Wish};
pub use odonata_scheduler::log::hostlist::{MAX_HOSTS, expand as expand_hostlist};
pub use odonata_steering::{
    Hysteresis, PodTraffic, UplinkError, UplinkSteering, UplinkSwitch, circuits_value,
    steer_uplinks, steer_uplinks_by,
};
pub use odonata_units::{GroupId, NodeId, Picoseconds, RouterId};
pub use plug_in::{PlugIns, PluggedScenario};
pub use registry::{Chosen, List, chosen_algorithm, registry};
pub use routing::build_routing;
pub use run::run;
pub use skip::{Skipped, SkippedIterations};
pub use spec::Scenario;
pub use spec::declarations::{families, kinds, tables, tables_of_schedules};
pub use spec::quantity::{Quantity, Refused};
pub use spec::reader::{PlugInNames, checked, checked_table, engine_form, kind_form};
pub use spec::study::study_tables;
pub use spec::written::written;
pub use steady::JobStatistics;
pub use tables::{Column, ColumnDeclaration, ResultDeclaration, Table, result_tables};
pub use topology::classes::default_buffer;
pub use topology::switches::{OpticalParts, optical_parts};
pub use topology::{build_topology, dark_uplinks, left_at};
pub use traces::{
    codes_facts, codes_jobs, parts_of_codes, parts_of_trace, replay_facts, trace_summary,
    tracer_config, write_otf2,
};

/// Version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Names the sources of the engine: others may simulate otherwise, whatever
/// their version says.
pub const SOURCES: &str = env!("ODONATA_SOURCES");
