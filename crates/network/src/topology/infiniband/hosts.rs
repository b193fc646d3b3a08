//! Which adapters are in which host.
//!
//! An adapter's description is by default the words of its vendor, and where `rdma-ndd` or a
//! script of the site has set it the name of its host, mostly with that of the device behind it:
//! `n17 mlx5_0`, `n17 HCA-1`.

use std::collections::{HashMap, HashSet};

use super::{FurtherPort, HostPort, Subnet};

/// What names of devices begin with; a number follows.
const DEVICES: [&str; 16] = [
    "bnxt", "cxi", "efa", "ehca", "hca", "hfi", "ib", "ipath", "irdma", "mlx", "mthca", "opa",
    "qib", "roce", "rxe", "siw",
];

/// Whether a port is that of a switch's aggregation node (SHARP), not of a host.
pub(super) fn is_aggregation_node(description: &str) -> bool {
    description.contains("Aggregation Node")
}

/// The host and device that a description names.
fn host_and_device(description: &str) -> Option<(&str, &str)> {
    let vendor = [
        "Mellanox Technologies",
        "ConnectX",
        "InfiniHost",
        "BlueField",
    ];
    if description.is_empty() || vendor.iter().any(|word| description.contains(word)) {
        return None;
    }
    let is_device = |word: &str| {
        let word = word.to_ascii_lowercase();
        DEVICES.iter().any(|begin| word.starts_with(begin))
            && word.contains(|c: char| c.is_ascii_digit())
    };
    match description.split_once(char::is_whitespace) {
        Some((host, device)) if is_device(device.trim()) => Some((host, device.trim())),
        _ => Some((description, "")),
    }
}

/// Names the hosts of ports. A name under which two adapters have the same device is that of
/// several hosts, such as `localhost`, and names none.
pub(super) fn name(ports: &mut [HostPort]) {
    let mut adapter_of_device: HashMap<(&str, &str), u64> = HashMap::new();
    let mut several: HashSet<String> = HashSet::new();
    for port in ports.iter() {
        if let Some((host, device)) = host_and_device(&port.name) {
            let first = adapter_of_device.entry((host, device)).or_insert(port.guid);
            if !device.is_empty() && *first != port.guid {
                several.insert(host.to_owned());
            }
        }
    }
    for port in ports {
        port.host = host_and_device(&port.name)
            .map(|(host, _)| host.to_owned())
            .filter(|host| !several.contains(host));
    }
}

impl Subnet {
    /// The same with one port for each host: its first along the switches, with all others of the
    /// host in [`HostPort::further`]. Ports that name no host stay by themselves.
    #[must_use]
    pub fn joined(mut self) -> Self {
        let mut first_of_host: HashMap<String, usize> = HashMap::new();
        let mut joined: Vec<HostPort> = Vec::with_capacity(self.hosts.len());
        for port in self.hosts {
            let next = joined.len();
            let first = match &port.host {
                Some(host) => *first_of_host.entry(host.clone()).or_insert(next),
                None => next,
            };
            if first == next {
                joined.push(port);
            } else {
                joined[first].further.push(FurtherPort {
                    switch: port.switch,
                    switch_port: port.switch_port,
                    rate: port.rate,
                });
            }
        }
        self.hosts = joined;
        self
    }
}
