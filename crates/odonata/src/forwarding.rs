//! From the files that `[network.routing]` names to forwarding tables, and from a routing to tables
//! that switches take.

use std::path::{Path, PathBuf};

use odonata_network::routing::{
    AnyRouting, Forwarded, ForwardingKeys, ForwardingTables, RoutingError, RoutingTask,
    read_channels, read_tables, write_channels, write_opensm_tables, write_tables,
};
use odonata_network::{Routing, Subnet, Topology};
use odonata_units::NodeId;
use odonata_units::random::{Purpose, StreamKey};

use crate::error::SpecError;
use crate::named_file::{in_file, read_file};
use crate::spec::{Failures, Family, Scenario};
use crate::subnet::read_subnet;
use crate::topology::families::Interfaces;
use crate::topology::{build_topology, whole_of};
use crate::ways::way;

const TABLES: [&str; 3] = ["forwarding-tables.csv", "opensm-lfts.dump", "opensm.fdbs"];
const SUBNETS: [&str; 2] = ["ibnetdiscover.txt", "opensm-subnet.lst"];
const CHANNELS: [&str; 2] = ["virtual-channels.csv", "path-records.txt"];

/// The files of a routing by tables.
struct Files {
    tables: PathBuf,
    subnet: Option<PathBuf>,
    channels: Option<PathBuf>,
}

/// The files of a directory of tables that are read, or the file itself: of each sort the first
/// that is there of the names by which they are known.
pub fn parts_of_tables(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let sorts = [&TABLES[..], &SUBNETS, &CHANNELS];
    sorts
        .iter()
        .filter_map(|names| first_of(path, names))
        .collect()
}

fn first_of(directory: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut paths = names.iter().map(|name| directory.join(name));
    paths.find(|path| path.is_file())
}

/// A scenario's subnet as its manager has it, every port of an adapter by itself: a scenario of the
/// whole, of `left` what works, and the ports. `None` for networks of other families.
///
/// # Errors
/// As [`build_topology`].
pub(crate) fn subnet_by_ports(
    scenario: &Scenario,
    left: &Topology,
) -> Result<Option<(Scenario, Topology, Subnet)>, SpecError> {
    let Family::Ibnetdiscover(network) = &scenario.network.topology else {
        return Ok(None);
    };
    let mut whole = scenario.clone();
    let mut of_ports = network.clone();
    of_ports.interfaces = Interfaces::Nodes;
    let ports = of_ports.subnet()?;
    whole.network.topology = Family::Ibnetdiscover(of_ports);
    // Classes of links are of hosts as the scenario has them; failures are in `left`.
    whole.network.links.clear();
    whole.network.failures = Failures::default();
    let mut topology = build_topology(&whole)?;
    network.subnet()?.unplug(left, &mut topology);
    Ok(Some((whole, topology, ports)))
}

fn files(routing: &ForwardingKeys) -> Result<Files, SpecError> {
    let key = "network.routing.tables";
    let Some(tables) = &routing.tables else {
        let allowed = "a file or a directory, as algorithm = \"forwarding-tables\"";
        return Err(SpecError::value(key, "nothing", allowed));
    };
    let given =
        |path: &Option<PathBuf>, names: &[&str]| path.clone().or_else(|| first_of(tables, names));
    let (subnet, channels) = (
        given(&routing.subnet, &SUBNETS),
        given(&routing.service_levels, &CHANNELS),
    );
    let tables = match tables.is_dir() {
        false => tables.clone(),
        true => first_of(tables, &TABLES).ok_or_else(|| {
            let found = format!(
                "directory \"{}\" without any of these files",
                tables.display()
            );
            SpecError::value(key, found, TABLES.join(", "))
        })?,
    };
    Ok(Files {
        tables,
        subnet,
        channels,
    })
}

/// Reads the tables of a scenario's routing and checks that they fit its network.
///
/// # Errors
/// If a file cannot be read or is wrong, if the subnet is not what the network is wired like, or
/// if packets would not arrive. The error's path names the key.
pub(crate) fn build(
    scenario: &Scenario,
    keys: &ForwardingKeys,
    topology: &Topology,
) -> Result<AnyRouting, SpecError> {
    let routing = &scenario.network.routing;
    if topology.has_one_way_links() {
        let algorithm = routing.algorithm().name();
        let error = RoutingError::OneWay { algorithm };
        return Err(SpecError::new(
            "network.routing.algorithm",
            error.to_string(),
        ));
    }
    let files = files(keys)?;
    let subnet = match (&files.subnet, &scenario.network.topology) {
        (Some(file), Family::Ibnetdiscover(network)) => {
            Some(network.nodes_of(read_subnet(file, "network.routing.subnet")?))
        }
        (Some(file), _) => Some(read_subnet(file, "network.routing.subnet")?),
        (None, Family::Ibnetdiscover(network)) => Some(network.subnet()?),
        (None, _) => None,
    };
    if let (Some(subnet), Some(file)) = (&subnet, &files.subnet) {
        subnet
            .check_wiring(&whole_of(scenario)?)
            .map_err(|difference| {
                let advice = "the tables would lead elsewhere. Take this file as the network, with \
                          family = \"ibnetdiscover\", or the tables of this network";
                in_file(
                    file,
                    "network.routing.subnet",
                    &format!("{difference}; {advice}"),
                )
            })?;
    }
    let at = |error: RoutingError| SpecError::new("network.routing.tables", error.to_string());
    let mut tables = ForwardingTables::new(topology).map_err(at)?;
    let text = read_file(&files.tables, "network.routing.tables")?;
    read_tables(&mut tables, &text, subnet.as_ref())
        .map_err(|error| in_file(&files.tables, "network.routing.tables", &error))?;
    if let Some(file) = &files.channels {
        let key = "network.routing.service_levels";
        let text = read_file(file, key)?;
        read_channels(&mut tables, &text, subnet.as_ref())
            .map_err(|error| in_file(file, key, &error))?;
    }
    Forwarded::new(topology, tables, routing.virtual_channels)
        .map(AnyRouting::Forwarded)
        .map_err(|error| match error {
            RoutingError::Forwarding(error) => {
                in_file(&files.tables, "network.routing.tables", &error)
            }
            error => crate::routing::routing_error(&error),
        })
}

/// The tables by which the network of a scenario routes as its algorithm does.
///
/// # Errors
/// If output port or virtual channel of a packet do not follow from its router, source and
/// destination as switches with tables need it.
fn tables_of(scenario: &Scenario, topology: &Topology) -> Result<ForwardingTables, SpecError> {
    struct Walks<'a>(&'a Scenario, &'a Topology);
    impl RoutingTask for Walks<'_> {
        type Output = Result<ForwardingTables, SpecError>;
        fn run<R: Routing>(self, routing: &R) -> Self::Output {
            let Self(scenario, topology) = self;
            let name = scenario.network.routing.algorithm().name();
            let refused = |why: &str| {
                let allowed = "algorithms whose packets go one way from router to destination on one \
                               channel: dfsssp in any network, dimension-order, forwarding-tables";
                let found = format!("{name}, which {why}");
                SpecError::value("network.routing.algorithm", found, allowed)
            };
            if R::LEARNS || routing.reads_occupancy() {
                return Err(refused("looks at queues"));
            }
            let mut tables = ForwardingTables::new(topology)
                .map_err(|error| SpecError::new("network", error.to_string()))?;
            let key = StreamKey::new(scenario.seed, Purpose::Routing);
            let nodes = || (0..topology.nodes()).map(NodeId::from_index);
            let works = |node: &NodeId| !topology.is_lost(*node);
            let mut channels = vec![vec![0; topology.nodes()]; topology.nodes()];
            for (source, destination) in nodes()
                .filter(works)
                .flat_map(|source| nodes().filter(works).map(move |to| (source, to)))
                .filter(|(source, to)| source != to)
            {
                let way = way(topology, routing, key, source, destination)?;
                if way.is_drawn {
                    return Err(refused("draws among several ports"));
                }
                let (_, between) = way.hops.split_last().expect("a way ends at its node");
                let Some(&(_, first)) = between.first() else {
                    continue;
                };
                channels[source.index()][destination.index()] = first.vc;
                for &(router, hop) in between {
                    if hop.vc != first.vc {
                        return Err(refused("changes the channel on the way"));
                    }
                    let before = tables.set_port(router, destination, hop.port);
                    if before.is_some_and(|before| before != hop.port) {
                        return Err(refused("leads packets of several sources by several ports"));
                    }
                }
            }
            tables.set_channels(channels.into_iter());
            Ok(tables)
        }
    }
    crate::routing::build_routing(scenario, topology)?.dispatch(Walks(scenario, topology))
}

/// Forwarding tables as text, by the name of their format: `forwarding-tables` and
/// `virtual-channels`, which [`build`] reads, or `opensm-lfts`, which OpenSM's routing engine `file`
/// and [`build`] read.
///
/// # Errors
/// If the routing has no such tables, or OpenSM's numbers of ports are not known.
pub(crate) fn export(
    scenario: &Scenario,
    topology: &Topology,
    format: &str,
) -> Result<String, SpecError> {
    if format == "opensm-lfts" {
        let Some((scenario, topology, subnet)) = subnet_by_ports(scenario, topology)? else {
            let found = "a network without LIDs and GUIDs";
            let allowed = "family = \"ibnetdiscover\", of whose subnet they are; or the format \
                           forwarding-tables";
            return Err(SpecError::value("network.family", found, allowed));
        };
        let tables = tables_of(&scenario, &topology)?;
        return write_opensm_tables(&tables, &topology, &subnet)
            .map_err(|error| SpecError::new("network.file", error.to_string()));
    }
    let tables = tables_of(scenario, topology)?;
    Ok(match format {
        "virtual-channels" => write_channels(&tables),
        _ => write_tables(&tables),
    })
}
