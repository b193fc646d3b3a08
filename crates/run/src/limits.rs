//! Which times an engine adds up: all that it is given, none so long that a sum wraps.

use odonata_units::Picoseconds;

use crate::config::{JobPlan, Measurement, NicModel, RouterModel};
use crate::error::SimError;
use crate::noise::Noise;
use crate::parameter::Parameter;

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
        (Parameter::RouterDelay, router.delay),
        (Parameter::CreditDelay, router.credit_delay),
        (Parameter::LoopbackLatency, nic.loopback_latency),
    ];
    let within = |job: &JobPlan| job.protocol.within_node.unwrap_or_default();
    let noise = |time: fn(&Noise) -> Picoseconds, job: &JobPlan| {
        job.protocol.noise.as_ref().map(time).unwrap_or_default()
    };
    let of_jobs = jobs.iter().flat_map(|job| {
        [
            (Parameter::SendOverhead, job.protocol.costs.send_overhead),
            (
                Parameter::ReceiveOverhead,
                job.protocol.costs.receive_overhead,
            ),
            (Parameter::Gap, job.protocol.gap),
            (Parameter::SendDelay, job.protocol.send_delay),
            (Parameter::RedirectOverhead, job.protocol.redirect_overhead),
            (Parameter::DelayTimes, job.protocol.delay_times.longest()),
            (Parameter::HostTimes, job.protocol.costs.times.longest()),
            (Parameter::DetourInterval, noise(|n| n.interval, job)),
            (Parameter::DetourTime, noise(|n| n.time, job)),
            (Parameter::EntryDelay, noise(|n| n.entry_delay, job)),
            (Parameter::SendOverheadWithin, within(job).send_overhead),
            (
                Parameter::ReceiveOverheadWithin,
                within(job).receive_overhead,
            ),
            (Parameter::HostTimesWithin, within(job).times.longest()),
        ]
    });
    for (parameter, found) in delays.into_iter().chain(of_jobs) {
        check(parameter, found, Picoseconds::LONGEST_DELAY, "1 h")?;
    }
    let arrivals = measurement.arrivals.as_ref();
    let times = [
        (Parameter::Duration, measurement.duration),
        (Parameter::Warmup, Some(measurement.warmup)),
        (Parameter::TimelineBin, measurement.timeline_bin),
        (Parameter::ArrivalInterval, arrivals.map(|all| all.interval)),
    ];
    let starts = jobs.iter().map(|job| (Parameter::Start, Some(job.start)));
    for (parameter, found) in times.into_iter().chain(starts) {
        let found = found.unwrap_or_default();
        check(parameter, found, Picoseconds::LARGEST, "50 days")?;
    }
    Ok(())
}

fn check(
    parameter: Parameter,
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
