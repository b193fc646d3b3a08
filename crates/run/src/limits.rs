//! Which times an engine adds up: all that it is given, none so long that a sum wraps.

use odonata_units::Picoseconds;

use crate::config::{JobPlan, Measurement, NicModel, RouterModel};
use crate::error::SimError;

/// Refuses durations that no simulated time can be added to without wrapping: points
/// in time and widths beyond [`Picoseconds::LARGEST`], delays beyond
/// [`Picoseconds::LONGEST_DELAY`]. Latencies of links are checked with their topology.
///
/// # Errors
/// [`SimError::Parameter`] of the first that is too long.
pub fn check_times(
    router: &RouterModel,
    nic: &NicModel,
    jobs: &[JobPlan],
    measurement: &Measurement,
) -> Result<(), SimError> {
    let delays = [
        ("network.router.delay", router.delay),
        ("network.router.credit_delay", router.credit_delay),
        ("network.nic.loopback_latency", nic.loopback_latency),
    ];
    let within = |job: &JobPlan| job.protocol.within_node.unwrap_or_default();
    let of_jobs = jobs.iter().flat_map(|job| {
        [
            ("mpi.send_overhead", job.protocol.costs.send_overhead),
            ("mpi.receive_overhead", job.protocol.costs.receive_overhead),
            ("mpi.gap", job.protocol.gap),
            ("mpi.send_delay", job.protocol.send_delay),
            ("mpi.delay_times", job.protocol.delay_times.longest()),
            ("mpi.host_times", job.protocol.costs.times.longest()),
            ("mpi.within_node.send_overhead", within(job).send_overhead),
            (
                "mpi.within_node.receive_overhead",
                within(job).receive_overhead,
            ),
            ("mpi.within_node.host_times", within(job).times.longest()),
        ]
    });
    for (parameter, found) in delays.into_iter().chain(of_jobs) {
        check(parameter, found, Picoseconds::LONGEST_DELAY, "1 h")?;
    }
    let arrivals = measurement.arrivals.as_ref();
    let times = [
        ("simulation.duration", measurement.duration),
        ("simulation.warmup", Some(measurement.warmup)),
        ("simulation.timeline_bin", measurement.timeline_bin),
        ("record.arrivals.interval", arrivals.map(|all| all.interval)),
    ];
    let starts = jobs.iter().map(|job| ("job.start", Some(job.start)));
    for (parameter, found) in times.into_iter().chain(starts) {
        let found = found.unwrap_or_default();
        check(parameter, found, Picoseconds::LARGEST, "50 days")?;
    }
    Ok(())
}

fn check(
    parameter: &'static str,
    found: Picoseconds,
    most: Picoseconds,
    name: &str,
) -> Result<(), SimError> {
    if found <= most {
        return Ok(());
    }
    Err(SimError::Parameter {
        parameter,
        found: found.to_string(),
        allowed: format!("at most {name}"),
    })
}
