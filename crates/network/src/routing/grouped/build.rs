//! Building [`GroupedRoutes`] from a topology.

use std::collections::HashMap;

use odonata_units::{GroupId, NodeId, PortId, RouterId};

use super::{GlobalLink, GroupedRoutes, LIST, Local, Place, Places, Ports, Regular};
use crate::routing::RoutingError;
use crate::routing::next_hops::{LocalLink, MOST_ROUTERS, NextHops, NoPath, neighbours};
use crate::routing::reciprocal::Reciprocal;
use crate::topology::{Peer, Topology};

/// Largest number of groups: the table of pairs then takes 256 MiB.
const MOST_GROUPS: u64 = 1 << 13;

impl GroupedRoutes {
    /// Builds the tables of `topology`, of which routers that are out of service are no part.
    ///
    /// # Errors
    /// If a group is not connected inside itself, two groups are not joined,
    /// or something is too large for the tables.
    pub fn new(topology: &Topology) -> Result<Self, RoutingError> {
        Self::build(topology, true)
    }

    /// The same where groups that are not joined may be reached by way of a third one.
    ///
    /// # Errors
    /// As for [`GroupedRoutes::new`], but for two groups that are not joined only if there is no
    /// third one that is joined to both.
    pub fn with_gaps(topology: &Topology) -> Result<Self, RoutingError> {
        let routes = Self::build(topology, false)?;
        let gap = routes
            .gaps()
            .find(|&(from, to)| !(0..routes.groups).any(|via| routes.is_between(from, via, to)));
        match gap {
            None => Ok(routes),
            Some((from, to)) => Err(RoutingError::GroupsNotJoined {
                from: GroupId(from),
                to: GroupId(to),
            }),
        }
    }

    /// The same for networks in which not every two groups are joined:
    /// [`GroupedRoutes::global_links`] is empty for those that are not.
    ///
    /// # Errors
    /// If a group is not connected inside itself, or something is too large.
    pub fn sparse(topology: &Topology) -> Result<Self, RoutingError> {
        Self::build(topology, false)
    }

    fn build(topology: &Topology, all_joined: bool) -> Result<Self, RoutingError> {
        check_sizes(topology)?;
        let router_of_port = router_of_port(topology);
        let members = members(topology);
        let mut places = vec![Place { group: 0, local: 0 }; topology.routers()];
        for (group, members) in members.iter().enumerate() {
            for (local, &router) in members.iter().enumerate() {
                places[router as usize] = Place {
                    group: group as u32,
                    local: local as u32,
                };
            }
        }
        let (pairs, lists) = global_links(topology, &router_of_port, &places, |group: usize| {
            all_joined && !members[group].is_empty()
        })?;
        let (local, local_depth) = local_routes(topology, &members)?;
        let leaves = topology.leaf_spine().ok().map(|shape| shape.leaves);
        let (endpoints, router_of_node) = endpoints(topology);
        let places = compact_places(places, &members);
        let regular = match (&places, &local, leaves) {
            (&Places::Regular(group_size), &Local::Direct { base: local_base }, None) => {
                Some(Regular {
                    group_size,
                    local_base,
                })
            }
            _ => None,
        };
        let mut routes = Self {
            groups: topology.groups,
            routers: members.iter().map(Vec::len).sum::<usize>() as u32,
            places,
            ports: compact_ports(topology, router_of_port),
            local,
            pairs,
            lists,
            endpoints,
            router_of_node,
            // Leaves and spines number their channels by the way up and down.
            local_depth: if leaves.is_some() { 1 } else { local_depth },
            leaves,
            regular,
            has_gaps: false,
        };
        routes.has_gaps = members.iter().any(Vec::is_empty) || routes.gaps().next().is_some();
        Ok(routes)
    }

    /// Pairs of groups with routers that are not joined, the lower one first.
    fn gaps(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let with_routers = |group: &u32| self.group_size(*group) > 0;
        let pairs = (0..self.groups).filter(with_routers).flat_map(move |from| {
            let others = (from + 1..self.groups).filter(with_routers);
            others.map(move |to| (from, to))
        });
        pairs.filter(|&(from, to)| !self.are_joined(from, to))
    }
}

/// Router of every port. Shape: ports.
fn router_of_port(topology: &Topology) -> Vec<u32> {
    let mut routers = Vec::with_capacity(topology.ports());
    for router in 0..topology.routers() {
        let ports = topology.ports_of(RouterId(router as u32));
        routers.resize(ports.end, router as u32);
    }
    routers
}

fn members(topology: &Topology) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); topology.groups as usize];
    for (router, group) in topology.group_of_router.iter().enumerate() {
        if !topology.is_lost_router(RouterId::from_index(router)) {
            members[group.index()].push(router as u32);
        }
    }
    members
}

fn check_sizes(topology: &Topology) -> Result<(), RoutingError> {
    let most_ports = (0..topology.routers())
        .map(|r| topology.ports_of(RouterId(r as u32)).len())
        .max();
    let mut sizes = vec![0u64; topology.groups as usize];
    for group in &topology.group_of_router {
        sizes[group.index()] += 1;
    }
    let advice = "model a part of the machine, or merge groups or ports";
    for (what, found, limit) in [
        ("groups", u64::from(topology.groups), MOST_GROUPS),
        (
            "routers in one group",
            sizes.into_iter().max().unwrap_or(0),
            GlobalLink::LIMITS.0,
        ),
        (
            "ports on one router",
            most_ports.unwrap_or(0) as u64,
            GlobalLink::LIMITS.1,
        ),
        ("ports", topology.ports() as u64, 1 << 31),
    ] {
        if found > limit {
            return Err(RoutingError::TooLarge {
                what,
                found,
                limit,
                algorithm: "group-based",
                advice,
            });
        }
    }
    Ok(())
}

/// The table of pairs and its lists; every two groups that must be joined are. Links of a pair are in the order of their
/// ports in the group with the lower number, so that both directions agree.
fn global_links(
    topology: &Topology,
    router_of_port: &[u32],
    places: &[Place],
    must_be_joined: impl Fn(usize) -> bool,
) -> Result<(Vec<GlobalLink>, Vec<GlobalLink>), RoutingError> {
    let groups = topology.groups as usize;
    let end = |port: u32| {
        let router = router_of_port[port as usize];
        let place = places[router as usize];
        let relative = port - topology.first_port[router as usize];
        (place.group as usize, GlobalLink::new(place.local, relative))
    };
    let mut links: HashMap<(usize, usize), Vec<GlobalLink>> = HashMap::new();
    for (port, peer) in topology.peer.iter().enumerate() {
        let Peer::Port(PortId(peer)) = *peer else {
            continue;
        };
        let ((here, global_link), (there, entry)) = (end(port as u32), end(peer));
        if here < there {
            links.entry((here, there)).or_default().push(global_link);
            links.entry((there, here)).or_default().push(entry);
        }
    }
    // The pair of a group with itself is never asked for.
    let mut pairs = vec![GlobalLink(0); groups * groups];
    let mut lists = Vec::new();
    for from in 0..groups {
        for to in (0..groups).filter(|&to| to != from) {
            let global_links = match links.get(&(from, to)) {
                Some(global_links) => global_links.as_slice(),
                None if !must_be_joined(from) || !must_be_joined(to) => &[],
                None => {
                    return Err(RoutingError::GroupsNotJoined {
                        from: GroupId::from_index(from),
                        to: GroupId::from_index(to),
                    });
                }
            };
            pairs[from * groups + to] = match *global_links {
                [only] => only,
                _ => {
                    let start = lists.len() as u32;
                    lists.push(GlobalLink(global_links.len() as u32));
                    lists.extend_from_slice(global_links);
                    GlobalLink(LIST | start)
                }
            };
        }
    }
    Ok((pairs, lists))
}

fn compact_places(places: Vec<Place>, members: &[Vec<u32>]) -> Places {
    let size = members.first().map_or(0, Vec::len);
    // A router out of service is in no group, but has a place.
    let regular = members.iter().all(|m| m.len() == size)
        && size * members.len() == places.len()
        && members
            .iter()
            .flatten()
            .enumerate()
            .all(|(i, &r)| i == r as usize);
    match Reciprocal::new(size as u32, places.len() as u64) {
        Some(size) if regular => Places::Regular(size),
        _ => {
            let mut first_member = vec![0];
            let mut total = 0;
            for m in members {
                total += m.len() as u32;
                first_member.push(total);
            }
            Places::Table {
                places,
                first_member,
                members: members.concat(),
            }
        }
    }
}

fn compact_ports(topology: &Topology, router_of_port: Vec<u32>) -> Ports {
    let count = topology.ports() / topology.routers().max(1);
    let regular = topology
        .first_port
        .iter()
        .enumerate()
        .all(|(router, &first)| first as usize == router * count);
    match Reciprocal::new(count as u32, topology.ports() as u64) {
        Some(count) if regular => Ports::Regular(count),
        _ => Ports::Table {
            first: topology.first_port.clone(),
            router: router_of_port,
        },
    }
}

fn local_routes(topology: &Topology, members: &[Vec<u32>]) -> Result<(Local, u16), RoutingError> {
    let groups: Vec<Vec<Vec<LocalLink>>> = members
        .iter()
        .map(|members| neighbours(topology, members))
        .collect();
    if let Some(base) = direct_base(&groups) {
        return Ok((Local::Direct { base }, 1));
    }
    let largest = members.iter().map(Vec::len).max().unwrap_or(0) as u64;
    if largest > MOST_ROUTERS {
        return Err(RoutingError::TooLarge {
            what: "routers in one group that is not simply all-to-all",
            found: largest,
            limit: MOST_ROUTERS,
            algorithm: "group-based",
            advice: "divide the network into smaller groups",
        });
    }
    // Groups that are wired alike share a table.
    let mut known: HashMap<Shape<'_>, u16> = HashMap::new();
    let mut shape = Vec::with_capacity(groups.len());
    let mut tables: Vec<NextHops> = Vec::new();
    for (group, neighbours) in groups.iter().enumerate() {
        let positions: Vec<(u16, u16)> = if topology.position_in_group.is_empty() {
            Vec::new()
        } else {
            let position = |&r: &u32| topology.position_in_group[r as usize];
            members[group].iter().map(position).collect()
        };
        let key = (neighbours.as_slice(), positions);
        let index = match known.get(&key) {
            Some(&index) => index,
            None => {
                let table = group_table(neighbours, &key.1).map_err(|no_path| {
                    RoutingError::GroupDisconnected {
                        group: GroupId::from_index(group),
                        from: RouterId(members[group][no_path.from as usize]),
                        to: RouterId(members[group][no_path.to as usize]),
                    }
                })?;
                let index = tables.len() as u16;
                tables.push(table);
                known.insert(key, index);
                index
            }
        };
        shape.push(index);
    }
    let depth = tables.iter().map(NextHops::depth).max().unwrap_or(1);
    Ok((Local::Tables { shape, tables }, depth))
}

/// What makes two groups alike: the links that leave each router, and the
/// routers' rows and columns where groups are 2-D.
type Shape<'a> = (&'a [Vec<LocalLink>], Vec<(u16, u16)>);

/// All-to-all groups go directly, 2-D ones in dimension order, others along
/// shortest paths.
fn group_table(
    neighbours: &[Vec<LocalLink>],
    positions: &[(u16, u16)],
) -> Result<NextHops, NoPath> {
    if positions.len() == neighbours.len()
        && !all_to_all(neighbours)
        && let Some(table) = NextHops::dimension_ordered(neighbours, positions)
    {
        return Ok(table);
    }
    NextHops::shortest(neighbours)
}

fn all_to_all(neighbours: &[Vec<LocalLink>]) -> bool {
    neighbours.iter().all(|links| {
        let mut reached: Vec<u16> = links.iter().map(|w| w.to).collect();
        reached.sort_unstable();
        reached.dedup();
        reached.len() + 1 == neighbours.len()
    })
}

/// The base of [`Local::Direct`], if all groups are wired that way.
fn direct_base(groups: &[Vec<Vec<LocalLink>>]) -> Option<u32> {
    let size = groups.first()?.len();
    let base = groups
        .iter()
        .flatten()
        .find_map(|links| links.first())
        .map_or(0, |link| link.port);
    let direct = |(from, links): (usize, &Vec<LocalLink>)| {
        links.len() + 1 == size
            && links.iter().enumerate().all(|(slot, link)| {
                usize::from(link.to) == slot + usize::from(slot >= from)
                    && usize::from(link.port) == usize::from(base) + slot
            })
    };
    groups
        .iter()
        .all(|group| group.len() == size && group.iter().enumerate().all(direct))
        .then_some(u32::from(base))
}

/// Routers that have nodes, and the router of each node that works, or nothing where those have
/// equally many.
fn endpoints(topology: &Topology) -> (Vec<u32>, Vec<u32>) {
    let working = (0..topology.nodes())
        .map(NodeId::from_index)
        .filter(|&node| !topology.is_lost(node));
    let router_of_node: Vec<u32> = working
        .map(|node| topology.router_of_node(node).0)
        .collect();
    let mut nodes = vec![0u32; topology.routers()];
    for &router in &router_of_node {
        nodes[router as usize] += 1;
    }
    let endpoints: Vec<u32> = (0..topology.routers() as u32)
        .filter(|&r| nodes[r as usize] > 0)
        .collect();
    let even = endpoints
        .windows(2)
        .all(|pair| nodes[pair[0] as usize] == nodes[pair[1] as usize]);
    (endpoints, if even { Vec::new() } else { router_of_node })
}
