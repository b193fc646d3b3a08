//! The groups of a real Cray XC, made reconfigurable: their links inside, and how many
//! global ports each router has, from the site's list of links.

use std::path::Path;

use odonata_network::topology::{CrayXcLinks, CrayXcSpec, GroupWiring};
use odonata_network::{LinkClass, LinkKind, Peer, Topology};
use odonata_units::{Bandwidth, Bytes, Picoseconds, RouterId};

use crate::error::SpecError;
use crate::named_file::{in_file, read_file};

/// Key of the list in a scenario.
const KEY: &str = "network.wiring_file";

/// The groups of a list of links.
#[derive(Debug)]
pub(super) struct CrayGroups {
    pub groups: u32,
    /// Global ports of each router of a group.
    pub ports_of_router: Vec<u32>,
    pub group: GroupWiring,
}

/// Reads the groups of a list; `groups` of them, or as many as are listed if that is 0.
/// With more than are listed the rule of the list goes on: further groups are like the
/// listed ones, as many links join every two groups, and the links to the first further
/// group are held by the routers that hold those to the second listed one, and so on.
///
/// # Errors
/// If the list is wrong, or its groups are not alike.
pub(super) fn read(file: &Path, p: u32, groups: u32) -> Result<CrayGroups, SpecError> {
    let text = read_file(file, KEY)?;
    let topology = import(&text, p).map_err(|error| in_file(file, KEY, &error))?;
    of(&topology, groups).map_err(|reason| in_file(file, KEY, &reason))
}

/// Imports the list; only what is linked with what matters here.
fn import(text: &str, p: u32) -> Result<Topology, String> {
    let class = |name: &str, kind| {
        Ok::<_, String>(LinkClass {
            name: name.to_owned(),
            kind,
            bandwidth: Bandwidth::new(1_000_000_000).map_err(|error| error.to_string())?,
            latency: Picoseconds(1),
            buffer: Bytes(1),
            impairments: Vec::new(),
        })
    };
    let spec = CrayXcSpec {
        nodes_per_router: p,
        links: CrayXcLinks {
            terminal: class("terminal", LinkKind::Terminal)?,
            green: class("green", LinkKind::Local)?,
            black: class("black", LinkKind::Local)?,
            blue: class("blue", LinkKind::Global)?,
        },
    };
    spec.import(text).map_err(|error| error.to_string())
}

fn of(topology: &Topology, groups: u32) -> Result<CrayGroups, String> {
    let listed = topology.groups as usize;
    let a = topology.routers() / listed;
    let side = |of: fn(&(u16, u16)) -> u16| topology.position_in_group.iter().map(of).max();
    let rows = usize::from(side(|place| place.0).unwrap_or(0)) + 1;
    let columns = usize::from(side(|place| place.1).unwrap_or(0)) + 1;
    // Links between two routers of a group, and from a router to a group.
    let mut inside = vec![0u32; topology.routers() * a];
    let mut outside = vec![0u32; topology.routers() * listed];
    for router in 0..topology.routers() {
        for port in topology.ports_of(RouterId::from_index(router)) {
            let Peer::Port(peer) = topology.peer[port] else {
                continue;
            };
            let other = topology.router_of_port(peer).index();
            if other / a == router / a {
                inside[router * a + other % a] += 1;
            } else {
                outside[router * listed + other / a] += 1;
            }
        }
    }
    let count = |one: usize, other: usize| inside[one * a + other];
    let row_links = if columns > 1 { count(0, 1) } else { 1 };
    let column_links = if rows > 1 { count(0, columns) } else { 1 };
    for router in 0..topology.routers() {
        let (group, here) = (router / a, router % a);
        for there in (0..a).filter(|&there| there != here) {
            let expected = match (
                here / columns == there / columns,
                here % columns == there % columns,
            ) {
                (true, _) => row_links,
                (_, true) => column_links,
                _ => 0,
            };
            let found = count(router, there);
            if found != expected {
                return Err(format!(
                    "routers {here} and {there} of group {group} have {found} links, but the same \
                     places of group 0 have {expected}; only groups that are wired alike, a grid \
                     of full rows and columns, can be made reconfigurable"
                ));
            }
        }
    }
    let held = |group: usize, router: usize| -> u32 {
        let router = group * a + router;
        outside[router * listed..(router + 1) * listed].iter().sum()
    };
    for group in 1..listed {
        if let Some(router) = (0..a).find(|&router| held(group, router) != held(0, router)) {
            return Err(format!(
                "router {router} of group {group} has {} global links, that of group 0 has {}; \
                 only groups that are wired alike can be made reconfigurable",
                held(group, router),
                held(0, router)
            ));
        }
    }
    let groups = if groups == 0 { listed } else { groups as usize };
    let further = (0..groups.saturating_sub(listed)).map(|n| 1 + n % (listed - 1).max(1));
    let further: Vec<usize> = further.collect();
    if !further.is_empty() && listed < 2 {
        return Err("lists one group, so nothing tells how it is linked to others".to_owned());
    }
    let ports = |router: usize| {
        let more = further.iter().map(|&like| outside[router * listed + like]);
        held(0, router) + more.sum::<u32>()
    };
    Ok(CrayGroups {
        groups: groups as u32,
        ports_of_router: (0..a).map(ports).collect(),
        group: GroupWiring::Grid {
            rows: rows as u32,
            columns: columns as u32,
            row_links,
            column_links,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// The real list, where the data lie beside the checkout.
    fn theta() -> Option<PathBuf> {
        odonata_testdata::data("theta-topology/theta.interconnect")
    }

    #[test]
    fn thetas_groups_are_read_and_its_rule_goes_on() {
        let Some(file) = theta() else {
            return;
        };
        let nine = read(&file, 4, 0).unwrap();
        assert_eq!(nine.groups, 9);
        // 15 neighbours in a row by one link, 5 in a column by three.
        let grid = GroupWiring::Grid {
            rows: 6,
            columns: 16,
            row_links: 1,
            column_links: 3,
        };
        assert_eq!(nine.group, grid);
        // 48 links to each of 8 groups, four on every one of the 96 routers.
        assert_eq!(nine.ports_of_router, [4; 96]);
        // Two links to a group are held by each router of four columns: three further
        // groups give two more to those of the first twelve columns. 48 × 11 in all.
        let twelve = read(&file, 4, 12).unwrap();
        let sum: u32 = twelve.ports_of_router.iter().sum();
        assert_eq!((twelve.groups, sum), (12, 48 * 11));
        for (router, &ports) in twelve.ports_of_router.iter().enumerate() {
            assert_eq!(
                ports,
                if router % 16 < 12 { 6 } else { 4 },
                "router {router}"
            );
        }
    }

    #[test]
    fn groups_that_are_not_alike_are_refused() {
        let Some(file) = theta() else {
            return;
        };
        let text = std::fs::read_to_string(file).unwrap();
        let mut topology = import(&text, 4).unwrap();
        assert!(of(&topology, 9).is_ok());
        // A green link less.
        let port = (0..topology.ports()).find(|&port| topology.class_of_port[port].0 == 1);
        let port = port.unwrap();
        if let Peer::Port(peer) = topology.peer[port] {
            topology.peer[peer.index()] = Peer::Unconnected;
        }
        topology.peer[port] = Peer::Unconnected;
        let error = of(&topology, 9).unwrap_err();
        assert!(error.contains("wired alike"), "{error}");
    }
}
