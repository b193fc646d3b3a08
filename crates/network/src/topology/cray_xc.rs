//! Import of the link list of a Cray XC machine, one line per tile (port) of
//! every Aries router:
//!
//! ```text
//! c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)
//! c0-0c0s0a0l04(0:0:0) blue -> unused
//! c0-0c0s0a0l50(0:0:0) ptile -> processor
//! ```
//!
//! that is: the tile (cabinet column-row, chassis, slot, Aries, tile in octal
//! row-column digits), the router's coordinates (group:row:column), the kind of
//! cable and the tile at the other end. `green` links join routers of a row
//! (chassis), `black` links those of a column, `blue` links groups; a `ptile`
//! leads to the nodes. (Faanes et al., SC 2012, describe the machine.)
//!
//! Routers are numbered group by group, row by row; node `k` of router `R` is
//! node `R · nodes_per_router + k`. The ports of a router are its terminal
//! ports, one per node, then its green, black and blue tiles in the order of
//! their names. Unused blue tiles become no ports. The processor tiles are not
//! modelled one by one: each node gets one terminal link.

mod link_list;
#[cfg(test)]
mod tests;

use super::{LinkClass, LinkClassId, MAX_PORTS_PER_ROUTER, Peer, Topology, TopologyError, Wiring};
use link_list::{Entry, Grid, LinkList};
use odonata_units::{GroupId, NodeId, PortId};
use std::collections::HashMap;

/// Link classes of a Cray XC machine.
#[derive(Clone, Debug, PartialEq)]
pub struct CrayXcLinks {
    /// Between nodes and routers.
    pub terminal: LinkClass,
    /// Between routers of a row; local.
    pub green: LinkClass,
    /// Between routers of a column; local.
    pub black: LinkClass,
    /// Between groups; global.
    pub blue: LinkClass,
}

/// What the link list does not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct CrayXcSpec {
    /// Nodes on each router, at least 1; a Cray XC has 4.
    pub nodes_per_router: u32,
    /// Physical classes of the links.
    pub links: CrayXcLinks,
}

/// What is wrong with a link list. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrayXcError {
    /// No nodes are asked for, or too many.
    #[error(
        "nodes_per_router is {found}; it must be at least 1 and below {MAX_PORTS_PER_ROUTER} (a Cray XC has 4)"
    )]
    NodesPerRouter {
        /// What was given.
        found: u32,
    },
    /// A line that cannot be read.
    #[error(
        "line {line}: `{found}` is no link; expected `TILE(group:row:column) COLOUR -> TILE(group:row:column)`, `… blue -> unused` or `… ptile -> processor`. If it is the last line, the file is truncated: fetch it again"
    )]
    Syntax {
        /// Line of the file.
        line: usize,
        /// What it holds.
        found: String,
    },
    /// A link of a colour that its ends cannot have.
    #[error(
        "line {line}: a {colour} link cannot lead from {from} to {to} (group:row:column): green stays in a row, black in a column, blue leaves the group; correct the colour or the coordinates"
    )]
    Geometry {
        /// Line of the file.
        line: usize,
        /// Colour of the link.
        colour: &'static str,
        /// Coordinates of this end.
        from: String,
        /// Coordinates of the other end.
        to: String,
    },
    /// A tile listed twice.
    #[error("line {line}: tile {tile} is listed already in line {first}; remove one of the two")]
    Duplicate {
        /// Line of the second mention.
        line: usize,
        /// The tile.
        tile: String,
        /// Line of the first mention.
        first: usize,
    },
    /// A router name with two coordinates, or the other way round.
    #[error(
        "line {line}: router {router} is at {found} here, but line {first} says {known}; a router has one name and one place"
    )]
    Misplaced {
        /// Line of the contradiction.
        line: usize,
        /// Name of the router.
        router: String,
        /// Name and place here.
        found: String,
        /// Name and place before.
        known: String,
        /// Line that gave them.
        first: usize,
    },
    /// A link whose other end is not listed.
    #[error(
        "line {line}: tile {tile} leads to {peer}, which no line lists; the file is truncated or a line is missing: fetch the complete list"
    )]
    PeerMissing {
        /// Line of the link.
        line: usize,
        /// Tile of that line.
        tile: String,
        /// The tile that is missing.
        peer: String,
    },
    /// A link whose other end leads elsewhere.
    #[error(
        "line {line}: tile {tile} leads to {peer} over a {colour} link, but by line {peer_line} that tile has {back}; correct one of the two lines"
    )]
    Asymmetric {
        /// Line of the link.
        line: usize,
        /// Tile of that line.
        tile: String,
        /// Colour of the link.
        colour: &'static str,
        /// Tile it leads to.
        peer: String,
        /// Line of that tile.
        peer_line: usize,
        /// What that tile leads to.
        back: String,
    },
    /// A place of the grid without router.
    #[error(
        "line {line} (the last): no line lists a router at {place} (group:row:column), though routers up to {last} are; the file is truncated or lines are missing: fetch the complete list"
    )]
    RouterMissing {
        /// Last line of the file.
        line: usize,
        /// The missing place.
        place: String,
        /// Highest group, row and column of the file.
        last: String,
    },
    /// A router with another number of tiles than the first.
    #[error(
        "line {line}: router {router} has {found} tiles ({colour}), but the router of line {first} has {expected}; every router needs the same number: lines are missing or too many"
    )]
    TileCount {
        /// First line of the router.
        line: usize,
        /// Name of the router.
        router: String,
        /// The colour whose number differs.
        colour: &'static str,
        /// Its tiles.
        found: usize,
        /// Tiles of the router that comes first.
        expected: usize,
        /// First line of that router.
        first: usize,
    },
    /// Two groups without a link.
    #[error(
        "line {line}: group {a}, which starts here, has no blue link to group {b}; the list is incomplete: fetch the complete one"
    )]
    PairMissing {
        /// First line of the first group.
        line: usize,
        /// One group.
        a: u32,
        /// The other.
        b: u32,
    },
    /// Nothing in the file.
    #[error("the link list holds no links; give a file with one line per router tile")]
    Empty,
    /// The wiring is unsound in another way.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl CrayXcSpec {
    /// Imports the link list `text`.
    ///
    /// # Errors
    /// If a line cannot be read, is listed twice, has no matching other end, or
    /// if the list is incomplete: every router must have the same number of
    /// tiles of each colour, every place of a group a router, and every two
    /// groups a link. Groups' numbers may have gaps; the title then tells them. Each error names the line.
    pub fn import(&self, text: &str) -> Result<Topology, CrayXcError> {
        let found = self.nodes_per_router;
        if found == 0 || found as usize >= MAX_PORTS_PER_ROUTER {
            return Err(CrayXcError::NodesPerRouter { found });
        }
        let list = LinkList::parse(text)?;
        list.check_symmetry()?;
        let grid = list.check_grid()?;
        list.check_tile_counts()?;
        list.check_group_pairs(&grid)?;
        self.build(&list, &grid)
    }

    fn build(&self, list: &LinkList<'_>, grid: &Grid) -> Result<Topology, CrayXcError> {
        let per_router = self.nodes_per_router;
        let routers = grid.routers();
        let ports = routers as u64 * u64::from(per_router) + list.entries.len() as u64;
        let limit = u64::from(u32::MAX) - 1;
        if ports > limit {
            return Err(CrayXcError::Topology(TopologyError::TooMany {
                what: "ports",
                found: ports,
                limit,
            }));
        }
        let mut linked: Vec<&Entry<'_>> =
            list.entries.iter().filter(|e| e.peer.is_some()).collect();
        // Tile names of one router have the same length in Cray's lists; where
        // they have not, the shorter one comes first.
        linked.sort_unstable_by_key(|e| {
            let name = e.tile.name;
            (grid.number(e.tile.place), e.colour, name.len(), name)
        });

        let mut first_port = vec![0u32];
        let mut port_of_tile = HashMap::with_capacity(linked.len());
        let mut rest = linked.iter().peekable();
        let mut next = 0u32;
        for router in 0..routers {
            next += per_router;
            while let Some(entry) = rest.next_if(|e| grid.number(e.tile.place) == router) {
                port_of_tile.insert(entry.tile.name, PortId(next));
                next += 1;
            }
            first_port.push(next);
        }

        let mut peer = vec![Peer::Unconnected; next as usize];
        let mut class_of_port = vec![LinkClassId(0); next as usize];
        for router in 0..routers as u32 {
            let first = first_port[router as usize];
            for k in 0..per_router {
                peer[(first + k) as usize] = Peer::Node(NodeId(router * per_router + k));
            }
        }
        for entry in &linked {
            let Some(other) = &entry.peer else { continue };
            let port = port_of_tile[entry.tile.name].index();
            peer[port] = Peer::Port(port_of_tile[other.name]);
            class_of_port[port] = LinkClassId(1 + entry.colour as u8);
        }
        let links = &self.links;
        let Grid {
            groups,
            rows,
            columns,
        } = grid;
        let (rows, columns) = (*rows, *columns);
        let numbers = grid
            .names()
            .map_or(String::new(), |names| format!(" numbered {names}"));
        let per_group = rows * columns;
        let position = |router: usize| {
            let within = router % per_group;
            ((within / columns) as u16, (within % columns) as u16)
        };
        Ok(Topology::new(Wiring {
            title: format!(
                "Cray XC groups={}{numbers} rows={rows} columns={columns} nodes_per_router={per_router}",
                groups.len()
            ),
            link_classes: vec![
                links.terminal.clone(),
                links.green.clone(),
                links.black.clone(),
                links.blue.clone(),
            ],
            group_of_router: (0..routers)
                .map(|router| GroupId::from_index(router / per_group))
                .collect(),
            position_in_group: (0..routers).map(position).collect(),
            first_port,
            peer,
            class_of_port,
            may_be_disconnected: false,
            one_way: false,
        })?)
    }
}
