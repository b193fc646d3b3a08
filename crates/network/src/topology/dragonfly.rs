//! The dragonfly family (Kim, Dally, Scott, Abts, ISCA 2008): `g` groups of `a`
//! routers with `p` nodes and `h` global ports each, groups all-to-all or, as in
//! the Cray XC (Faanes et al., SC 2012), a grid whose rows and columns are
//! all-to-all.
//!
//! # Numbering
//! Router `r` of group `j` is router `j·a + r` of the network; in a 2-D group it
//! stands in row `r / columns`, column `r mod columns`. Node `k` of router `R` is
//! node `R·p + k`. Ports of a router, in this order:
//!
//! 1. `p` terminal ports, in the order of the nodes;
//! 2. local ports: in an all-to-all group one to each other router, in their
//!    order; in a 2-D group first `row_links` to each other router of the row,
//!    then `column_links` to each other router of the column (parallel links
//!    side by side);
//! 3. `h` global ports, wired as [`arrangement`](super::arrangement) tells.
//!    With `g = 1`, and where a port is left over, they are unconnected.

use super::arrangement::{GlobalShape, UNCONNECTED};
use super::{
    Arrangement, ArrangementError, LinkClass, LinkClassId, MAX_PORTS_PER_ROUTER, Peer, Topology,
    TopologyError, Wiring,
};
use odonata_declare::Named;
use odonata_units::{GroupId, NodeId, PortId};

/// How the routers of a group are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
#[named(kinds = GroupWiringName)]
pub enum GroupWiring {
    /// Every router to every other.
    #[default]
    AllToAll,
    /// A Cray XC grid whose rows and columns are each all-to-all.
    ///
    /// An XC40 group has
    /// 6 rows (chassis) of 16 columns (slots), 1 link per pair in a row and 3 per
    /// pair in a column.
    #[serde(rename = "cray-xc")]
    Grid {
        /// Rows of the grid; `a = rows · columns`.
        rows: u32,
        /// Columns of the grid.
        columns: u32,
        /// Parallel links between two routers of a row.
        row_links: u32,
        /// Parallel links between two routers of a column.
        column_links: u32,
    },
}

/// Link classes of a dragonfly. The names are free; a Cray XC calls row links
/// `green`, column links `black` and global links `blue`.
#[derive(Clone, Debug, PartialEq)]
pub struct DragonflyLinks {
    /// Between nodes and routers.
    pub terminal: LinkClass,
    /// Within groups; in a 2-D group, within rows.
    pub local: LinkClass,
    /// Within columns of a 2-D group; `None`: the same class as `local`.
    pub column: Option<LinkClass>,
    /// Between groups.
    pub global: LinkClass,
}

/// A dragonfly to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct DragonflySpec {
    /// Nodes per router, at least 1.
    pub p: u32,
    /// Routers per group, at least 1.
    pub a: u32,
    /// Global ports per router.
    pub h: u32,
    /// Groups, `1 ..= a·h + 1`.
    pub g: u32,
    /// Which group each global port leads to.
    pub arrangement: Arrangement,
    /// How the routers of a group are wired.
    pub group: GroupWiring,
    /// Physical classes of the links.
    pub links: DragonflyLinks,
}

/// Why a dragonfly cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DragonflyError {
    /// A parameter that must be positive is zero.
    #[error("dragonfly parameter `{name}` is 0; it must be at least 1")]
    Zero {
        /// Name of the parameter.
        name: &'static str,
    },
    /// More groups than global ports can link.
    #[error(
        "a dragonfly with p={p} a={a} h={h} g={g} does not close: each group has a·h = {ports} global ports, which reach at most {ports} other groups; use g from 1 to {most}, or more global ports (a·h at least {needed})",
        ports = u64::from(*a) * u64::from(*h),
        most = u64::from(*a) * u64::from(*h) + 1,
        needed = g - 1
    )]
    TooManyGroups {
        /// Nodes per router.
        p: u32,
        /// Routers per group.
        a: u32,
        /// Global ports per router.
        h: u32,
        /// Groups.
        g: u32,
    },
    /// A grid of another size than the group.
    #[error(
        "a group of a={a} routers cannot stand in {rows} rows of {columns} columns, which hold {held}; make a = rows · columns",
        held = u64::from(*rows) * u64::from(*columns)
    )]
    Grid {
        /// Routers per group.
        a: u32,
        /// Rows.
        rows: u32,
        /// Columns.
        columns: u32,
    },
    /// A class for column links where there are no columns.
    #[error(
        "a class for column links (`{class}`) is given, but the groups are all-to-all and have no columns; leave it out or use a 2-D group"
    )]
    ColumnWithoutGrid {
        /// Name of the class.
        class: String,
    },
    /// A router with too many ports.
    #[error(
        "a router would have {ports} ports (terminal, local and global); at most {MAX_PORTS_PER_ROUTER} are allowed, so lower p, a or h"
    )]
    TooManyPorts {
        /// Ports per router.
        ports: u64,
    },
    /// A network with more ports than ids.
    #[error(
        "a dragonfly with a={a} g={g} and {ports} ports per router has {total} ports; at most {limit} are allowed",
        total = u128::from(*a) * u128::from(*g) * u128::from(*ports),
        limit = u32::MAX - 1
    )]
    TooLarge {
        /// Routers per group.
        a: u32,
        /// Groups.
        g: u32,
        /// Ports per router.
        ports: u64,
    },
    /// The custom arrangement is wrong.
    #[error("global link arrangement: {0}")]
    Arrangement(#[from] ArrangementError),
    /// The link classes, or something else about the wiring, are unsound.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl DragonflySpec {
    /// Builds the topology; numbering and wiring rules are in the
    /// [module's description](self).
    ///
    /// # Errors
    /// If the parameters do not close, a custom arrangement does not fit, or the
    /// link classes are unsound.
    pub fn build(&self) -> Result<Topology, DragonflyError> {
        let Self { p, a, h, g, .. } = *self;
        self.check()?;
        if u64::from(g) > u64::from(a) * u64::from(h) + 1 {
            return Err(DragonflyError::TooManyGroups { p, a, h, g });
        }
        let linked = GlobalShape { a, h, g }.wire(&self.arrangement)?;
        self.build_linked(&linked, self.title(), false)
    }

    /// Builds the topology with given global links: for every global port of the
    /// machine, counted over groups, routers and their ports, the one that it is linked
    /// to, or [`UNCONNECTED`]. Shape: g·a·h. The arrangement is not looked at.
    pub(super) fn build_linked(
        &self,
        linked: &[u32],
        title: String,
        may_be_disconnected: bool,
    ) -> Result<Topology, DragonflyError> {
        let ports = self.check()? as u32;
        let Self { p, a, h, g, .. } = *self;
        let (link_classes, classes) = self.classes();
        let local = self.local_ports(classes);
        let first_global = p + local.len() as u32;
        let routers = a * g;
        let total = routers as usize * ports as usize;
        let mut peer = Vec::with_capacity(total);
        let mut class_of_port = Vec::with_capacity(total);
        for router in 0..routers {
            let (group, within) = (router / a, router % a);
            for k in 0..p {
                peer.push(Peer::Node(NodeId(router * p + k)));
                class_of_port.push(classes.terminal);
            }
            for (k, local) in local.iter().enumerate() {
                let (other, port) = self.local_end(within, k as u32, local);
                let other = group * a + other;
                peer.push(Peer::Port(PortId(other * ports + p + port)));
                class_of_port.push(local.class);
            }
            let first = (router * h) as usize;
            for &end in &linked[first..first + h as usize] {
                peer.push(match end {
                    UNCONNECTED => Peer::Unconnected,
                    end => Peer::Port(PortId(end / h * ports + first_global + end % h)),
                });
                class_of_port.push(classes.global);
            }
        }
        Ok(Topology::new(Wiring {
            title,
            link_classes,
            group_of_router: (0..routers).map(|router| GroupId(router / a)).collect(),
            position_in_group: self.positions(),
            first_port: (0..=routers).map(|router| router * ports).collect(),
            peer,
            class_of_port,
            may_be_disconnected,
            one_way: false,
        })?)
    }

    /// Checks the parameters; returns the number of ports per router.
    fn check(&self) -> Result<u64, DragonflyError> {
        let Self { p, a, h, g, .. } = *self;
        for (name, value) in [("p", p), ("a", a), ("g", g)] {
            if value == 0 {
                return Err(DragonflyError::Zero { name });
            }
        }
        let local = match self.group {
            GroupWiring::AllToAll => {
                if let Some(column) = &self.links.column {
                    return Err(DragonflyError::ColumnWithoutGrid {
                        class: column.name.clone(),
                    });
                }
                u64::from(a - 1)
            }
            GroupWiring::Grid {
                rows,
                columns,
                row_links,
                column_links,
            } => {
                if u64::from(rows) * u64::from(columns) != u64::from(a) {
                    return Err(DragonflyError::Grid { a, rows, columns });
                }
                for (name, value, needed) in [
                    ("row_links", row_links, columns > 1),
                    ("column_links", column_links, rows > 1),
                ] {
                    if needed && value == 0 {
                        return Err(DragonflyError::Zero { name });
                    }
                }
                u64::from(columns - 1) * u64::from(row_links)
                    + u64::from(rows - 1) * u64::from(column_links)
            }
        };
        let ports = u64::from(p) + local + u64::from(h);
        if ports > MAX_PORTS_PER_ROUTER as u64 {
            return Err(DragonflyError::TooManyPorts { ports });
        }
        if u128::from(a) * u128::from(g) * u128::from(ports) >= u128::from(u32::MAX) {
            return Err(DragonflyError::TooLarge { a, g, ports });
        }
        Ok(ports)
    }

    fn title(&self) -> String {
        let Self { p, a, h, g, .. } = self;
        let grid = match self.group {
            GroupWiring::AllToAll => String::new(),
            GroupWiring::Grid { rows, columns, .. } => format!(", groups of {rows} x {columns}"),
        };
        let arrangement = self.arrangement.name();
        format!("dragonfly p={p} a={a} h={h} g={g} ({arrangement}{grid})")
    }

    /// The link classes of the topology and where each role finds its own.
    fn classes(&self) -> (Vec<LinkClass>, Roles) {
        let links = &self.links;
        let mut classes = vec![links.terminal.clone(), links.local.clone()];
        let mut roles = Roles {
            terminal: LinkClassId(0),
            local: LinkClassId(1),
            column: LinkClassId(1),
            global: LinkClassId(2),
        };
        if let Some(column) = &links.column {
            classes.push(column.clone());
            (roles.column, roles.global) = (LinkClassId(2), LinkClassId(3));
        }
        classes.push(links.global.clone());
        (classes, roles)
    }

    /// Local ports of a router, the same for all routers.
    fn local_ports(&self, roles: Roles) -> Vec<LocalPort> {
        let towards = |line, size: u32, links: u32, class| {
            (0..size - 1).flat_map(move |other| {
                (0..links).map(move |parallel| LocalPort {
                    line,
                    other,
                    links,
                    parallel,
                    class,
                })
            })
        };
        match self.group {
            GroupWiring::AllToAll => towards(Line::Row, self.a, 1, roles.local).collect(),
            GroupWiring::Grid {
                rows,
                columns,
                row_links,
                column_links,
            } => towards(Line::Row, columns, row_links, roles.local)
                .chain(towards(Line::Column, rows, column_links, roles.column))
                .collect(),
        }
    }

    /// Where local port `number` of router `within` of a group leads: the router
    /// of the group and its local port.
    fn local_end(&self, within: u32, number: u32, port: &LocalPort) -> (u32, u32) {
        let columns = match self.group {
            GroupWiring::AllToAll => self.a,
            GroupWiring::Grid { columns, .. } => columns,
        };
        let (row, column) = (within / columns, within % columns);
        let here = match port.line {
            Line::Row => column,
            Line::Column => row,
        };
        // The list of others leaves out the router itself, at both ends.
        let there = port.other + u32::from(port.other >= here);
        let back = here - u32::from(here > there);
        let first_of_line = number - port.other * port.links - port.parallel;
        let end = match port.line {
            Line::Row => row * columns + there,
            Line::Column => there * columns + column,
        };
        (end, first_of_line + back * port.links + port.parallel)
    }

    fn positions(&self) -> Vec<(u16, u16)> {
        match self.group {
            GroupWiring::AllToAll => vec![],
            GroupWiring::Grid { columns, .. } => (0..self.a * self.g)
                .map(|router| router % self.a)
                .map(|within| ((within / columns) as u16, (within % columns) as u16))
                .collect(),
        }
    }
}

/// Link class of each role.
#[derive(Clone, Copy)]
struct Roles {
    terminal: LinkClassId,
    local: LinkClassId,
    column: LinkClassId,
    global: LinkClassId,
}

/// The line of routers, all-to-all, that a local port belongs to. A group
/// without grid is a single row.
#[derive(Clone, Copy)]
enum Line {
    Row,
    Column,
}

/// A local port, by what it leads to.
#[derive(Clone, Copy)]
struct LocalPort {
    line: Line,
    /// Which of the other routers of the line, leaving out the own.
    other: u32,
    /// Parallel links to each of them.
    links: u32,
    /// Which of those.
    parallel: u32,
    class: LinkClassId,
}

#[cfg(test)]
mod tests;
