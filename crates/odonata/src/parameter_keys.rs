//! Which keys of a scenario say the parameters that an engine refuses.

use odonata_run::Parameter;

/// The path of the key.
pub(crate) fn key_of(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Jobs => "job",
        Parameter::Placement => "job.placement",
        Parameter::Start => "job.start",
        Parameter::Network => "network",
        Parameter::LinkLatency => "network.links.*.latency",
        Parameter::LinkBuffer => "network.links.*.buffer",
        Parameter::Routing => "network.routing",
        Parameter::Decisions => "network.routing.per",
        Parameter::VirtualChannels => "network.routing.virtual_channels",
        Parameter::Circuits => "network.optical.circuits",
        Parameter::RouterDelay => "network.router.delay",
        Parameter::CreditDelay => "network.router.credit_delay",
        Parameter::Flit => "network.router.flit",
        Parameter::Crossbar => "network.router.crossbar",
        Parameter::OutputBuffer => "network.router.output_buffer",
        Parameter::Room => "network.router.room",
        Parameter::Occupancy => "network.router.occupancy",
        Parameter::LoopbackLatency => "network.nic.loopback_latency",
        Parameter::ResendAfter => "failures.resend_after",
        Parameter::CongestionControl => "network.nic.congestion_control",
        Parameter::TrafficClasses => "network.router.traffic_class",
        Parameter::Packet => "simulation.packet",
        Parameter::Duration => "simulation.duration",
        Parameter::Warmup => "simulation.warmup",
        Parameter::TimelineBin => "simulation.timeline_bin",
        Parameter::Settle => "simulation.settle",
        Parameter::ControlMessage => "mpi.control_message",
        Parameter::SendOverhead => "mpi.send_overhead",
        Parameter::ReceiveOverhead => "mpi.receive_overhead",
        Parameter::Gap => "mpi.gap",
        Parameter::SendDelay => "mpi.send_delay",
        Parameter::RedirectOverhead => "mpi.redirect_overhead",
        Parameter::DelayTimes => "mpi.delay_times",
        Parameter::HostTimes => "mpi.host_times",
        Parameter::SendOverheadWithin => "mpi.within_node.send_overhead",
        Parameter::ReceiveOverheadWithin => "mpi.within_node.receive_overhead",
        Parameter::HostTimesWithin => "mpi.within_node.host_times",
        Parameter::DetourInterval => "mpi.noise.detour_interval",
        Parameter::DetourTime => "mpi.noise.detour_time",
        Parameter::EntryDelay => "mpi.noise.entry_delay",
        Parameter::Record => "record",
        Parameter::Attribution => "record.attribution",
        Parameter::ArrivalInterval => "record.arrivals.interval",
        Parameter::ArrivalRouters => "record.arrivals.routers",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::spec::declarations::tables;

    #[test]
    fn keys_are_those_of_the_tables() {
        let tables = tables();
        for parameter in Parameter::ALL {
            let path = key_of(*parameter);
            let (outer, key) = path.rsplit_once('.').unwrap_or(("", path));
            let name = match outer {
                "network.router" => "Router",
                "network.nic" => "Nic",
                "network.routing" => "Routing",
                "network.links.*" => "Link",
                "network.optical" => "OpticalLayer",
                "simulation" => "Simulation",
                "mpi" => "Mpi",
                "mpi.within_node" => "WithinNode",
                "mpi.noise" => "Noise",
                "record" => "Record",
                "record.arrivals" => "Arrivals",
                "failures" => "Failures",
                // Whole tables, and jobs, which are not declared so.
                "" | "network" | "job" => continue,
                other => panic!("{other}"),
            };
            let link = crate::spec::Link::declaration();
            let table = tables
                .iter()
                .find(|table| table.name == name)
                .unwrap_or(&link);
            assert!(table.key(key).is_some(), "{path}");
        }
    }

    /// Files of Rust below a directory.
    fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn engines_name_no_keys() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut files = Vec::new();
        for room in ["run", "mpi", "sim", "flow"] {
            sources(&crates.join(room).join("src"), &mut files);
        }
        assert!(files.len() > 20, "{files:?}");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            for (number, line) in code.enumerate() {
                // What stands in quotes.
                for literal in line.split('"').skip(1).step_by(2) {
                    for table in ["network", "simulation", "mpi", "record", "job", "schedule"] {
                        let named = literal.split(|c: char| !(c.is_alphanumeric() || c == '.'));
                        let mut named = named.filter_map(|word| word.strip_prefix(table));
                        let is_key = |rest: &str| {
                            let rest = rest.strip_prefix('.').and_then(|rest| rest.chars().next());
                            rest.is_some_and(char::is_alphabetic)
                        };
                        assert!(!named.any(is_key), "{}: {number}: {line}", file.display());
                    }
                }
            }
        }
    }
}
