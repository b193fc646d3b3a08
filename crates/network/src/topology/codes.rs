//! Networks of the CODES simulator: those that it wires from numbers (`fat_tree.rs` and
//! `slim_fly.rs`; its torus is [ours](super::torus)), and, in this file, those of the lists of
//! links that it reads for its models
//! `dragonfly_plus`, `dragonfly_dally` and `dragonfly_custom`: one list of the links within a group,
//! which all groups share, and one of the links between groups.
//!
//! Every record of a list is one direction of a link, from one router to another:
//! within a group they are numbered in the group, between groups in the network,
//! group by group. In a dragonfly+ the leaves of a group come first. Both
//! directions of every link are listed; the first record from `a` to `b` belongs
//! to the first from `b` to `a`, and so on.
//!
//! Node `k` of the `r`-th router that has nodes is node `r·p + k`. Ports of a
//! router, in this order: its nodes, its links within the group, its links
//! between groups, each in the order of the list.
//!
//! Facts: CODES, `src/networks/model-net/dragonfly-plus.C` and `dragonfly-dally.C`,
//! and the scripts that write their files.

mod fat_tree;
mod slim_fly;

use std::collections::HashMap;

pub use fat_tree::{CodesFatTree, CodesFatTreeError, CodesTops};
pub use slim_fly::{CodesSlimFly, CodesSlimFlyError};

use super::{LinkClass, LinkClassId, Peer, Topology, TopologyError, Wiring};
use odonata_units::{GroupId, NodeId, PortId};

/// Routers of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodesGroup {
    /// Model `dragonfly_plus`.
    LeavesAndSpines {
        /// Routers with nodes, which come first.
        leaves: u32,
        /// Routers with links between groups.
        spines: u32,
    },
    /// Model `dragonfly_dally`: all routers have nodes and links between groups.
    Alike {
        /// Routers per group.
        routers: u32,
    },
    /// Model `dragonfly_custom`, the groups of a Cray XC: links join routers of a row or
    /// of a column.
    Rows {
        /// Rows of a group.
        rows: u32,
        /// Routers of a row.
        columns: u32,
    },
}

impl CodesGroup {
    /// Routers per group.
    pub const fn routers(self) -> u32 {
        match self {
            Self::LeavesAndSpines { leaves, spines } => leaves.saturating_add(spines),
            Self::Alike { routers } => routers,
            Self::Rows { rows, columns } => rows.saturating_mul(columns),
        }
    }

    /// Whether two routers of a group are in one row; of groups without rows all are.
    const fn same_row(self, a: u32, b: u32) -> bool {
        match self {
            Self::Rows { columns, .. } => a / columns == b / columns,
            _ => true,
        }
    }

    /// Routers per group that have nodes, the first ones.
    const fn with_nodes(self) -> u32 {
        match self {
            Self::LeavesAndSpines { leaves, .. } => leaves,
            Self::Alike { .. } | Self::Rows { .. } => self.routers(),
        }
    }
}

/// What the lists do not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct CodesSpec {
    /// Routers of every group.
    pub group: CodesGroup,
    /// Groups.
    pub groups: u32,
    /// Nodes on every router that has nodes.
    pub p: u32,
    /// Class of the links between nodes and routers.
    pub terminal: LinkClass,
    /// Class of the links within groups; of [`CodesGroup::Rows`] of those within rows.
    pub local: LinkClass,
    /// Class of the links within columns of [`CodesGroup::Rows`]; `None`: as `local`.
    pub black: Option<LinkClass>,
    /// Class of the links between groups.
    pub global: LinkClass,
}

/// Which of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodesList {
    /// Links within a group.
    Intra,
    /// Links between groups.
    Inter,
}

/// One direction of a link: routers `from` and `to`.
pub type CodesLink = (u32, u32);

/// What is wrong with a list, or with the numbers beside it. Records count from 0,
/// as they lie in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodesError {
    /// A number that must be positive is zero.
    #[error("the number of {what} is 0; it must be at least 1")]
    Zero {
        /// What there are none of.
        what: &'static str,
    },
    /// More routers or nodes than ids.
    #[error("{groups} groups of {routers} routers with {p} nodes each are too many")]
    TooLarge {
        /// Groups.
        groups: u32,
        /// Routers per group.
        routers: u32,
        /// Nodes per router.
        p: u32,
    },
    /// A router that does not exist.
    #[error(
        "record {record}: a link from router {from} to router {to}, but there are the routers 0 to {last}"
    )]
    NoSuchRouter {
        /// In which list.
        list: CodesList,
        /// Place in the list.
        record: usize,
        /// Where it starts.
        from: u32,
        /// Where it ends.
        to: u32,
        /// Highest router.
        last: u32,
    },
    /// A link that does not fit the roles of its ends.
    #[error("record {record}: a link from router {from} to router {to}, but {rule}")]
    Misplaced {
        /// In which list.
        list: CodesList,
        /// Place in the list.
        record: usize,
        /// Where it starts.
        from: u32,
        /// Where it ends.
        to: u32,
        /// What the link violates.
        rule: &'static str,
    },
    /// A direction of a link without the other.
    #[error(
        "record {record}: a link from router {from} to router {to} without one back: {there} records lead there and {back} back; list both directions of every link"
    )]
    OneWay {
        /// In which list.
        list: CodesList,
        /// Place in the list.
        record: usize,
        /// Where it starts.
        from: u32,
        /// Where it ends.
        to: u32,
        /// Records in the same direction.
        there: usize,
        /// Records in the other.
        back: usize,
    },
    /// The network is unsound as a whole.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl CodesError {
    /// The list that is wrong, if it is one.
    pub const fn list(&self) -> Option<CodesList> {
        match self {
            Self::NoSuchRouter { list, .. }
            | Self::Misplaced { list, .. }
            | Self::OneWay { list, .. } => Some(*list),
            Self::Zero { .. } | Self::TooLarge { .. } | Self::Topology(_) => None,
        }
    }
}

impl CodesSpec {
    /// Wires the network of the lists `intra` and `inter`; see the
    /// [module's description](self).
    ///
    /// # Errors
    /// The first record that makes no sense, by its list and place.
    pub fn wire(&self, intra: &[CodesLink], inter: &[CodesLink]) -> Result<Topology, CodesError> {
        self.check()?;
        let per_group = self.group.routers();
        let routers = (per_group * self.groups) as usize;
        self.check_records(CodesList::Intra, intra, per_group)?;
        self.check_records(CodesList::Inter, inter, per_group * self.groups)?;
        let intra_back = partners(CodesList::Intra, intra)?;
        let inter_back = partners(CodesList::Inter, inter)?;

        // Ports of every router: nodes, then records of either list.
        let mut ports: Vec<Vec<Port>> = vec![vec![]; routers];
        let mut intra_slots = vec![0; intra.len()];
        let mut inter_slots = vec![0; inter.len()];
        for (router, ports) in ports.iter_mut().enumerate() {
            if router as u32 % per_group < self.group.with_nodes() {
                ports.resize(self.p as usize, Port::Node);
            }
        }
        for group in 0..self.groups {
            for (record, &(from, _)) in intra.iter().enumerate() {
                let ports = &mut ports[(group * per_group + from) as usize];
                // The same in every group, so that it is enough to keep one.
                intra_slots[record] = ports.len() as u32;
                ports.push(Port::Intra(record));
            }
        }
        for (record, &(from, _)) in inter.iter().enumerate() {
            let ports = &mut ports[from as usize];
            inter_slots[record] = ports.len() as u32;
            ports.push(Port::Inter(record));
        }
        let mut first_port = vec![0];
        for ports in &ports {
            first_port.push(first_port[first_port.len() - 1] + ports.len() as u32);
        }
        let (mut peer, mut class_of_port, mut node) = (vec![], vec![], 0);
        for (router, ports) in ports.iter().enumerate() {
            let group = router as u32 / per_group;
            for &port in ports {
                let (end, class) = match port {
                    Port::Node => {
                        node += 1;
                        (Peer::Node(NodeId(node - 1)), 0)
                    }
                    Port::Intra(record) => {
                        let to = (group * per_group + intra[record].1) as usize;
                        let port = first_port[to] + intra_slots[intra_back[record]];
                        let (a, b) = intra[record];
                        let of_column = self.black.is_some() && !self.group.same_row(a, b);
                        (Peer::Port(PortId(port)), if of_column { 3 } else { 1 })
                    }
                    Port::Inter(record) => {
                        let to = inter[record].1 as usize;
                        let port = first_port[to] + inter_slots[inter_back[record]];
                        (Peer::Port(PortId(port)), 2)
                    }
                };
                peer.push(end);
                class_of_port.push(LinkClassId(class));
            }
        }
        Ok(Topology::new(Wiring {
            title: self.title(),
            link_classes: [&self.terminal, &self.local, &self.global]
                .into_iter()
                .chain(&self.black)
                .cloned()
                .collect(),
            group_of_router: (0..routers as u32)
                .map(|router| GroupId(router / per_group))
                .collect(),
            position_in_group: match self.group {
                CodesGroup::Rows { columns, .. } => (0..routers as u32)
                    .map(|router| router % per_group)
                    .map(|within| ((within / columns) as u16, (within % columns) as u16))
                    .collect(),
                _ => vec![],
            },
            first_port,
            peer,
            class_of_port,
            may_be_disconnected: false,
            one_way: false,
        })?)
    }

    fn title(&self) -> String {
        let Self { groups, p, .. } = self;
        match self.group {
            CodesGroup::LeavesAndSpines { leaves, spines } => {
                format!(
                    "dragonfly+ from CODES lists: leaves={leaves} spines={spines} p={p} g={groups}"
                )
            }
            CodesGroup::Alike { routers } => {
                format!("dragonfly from CODES lists: a={routers} p={p} g={groups}")
            }
            CodesGroup::Rows { rows, columns } => format!(
                "dragonfly from CODES lists: rows={rows} columns={columns} p={p} g={groups}"
            ),
        }
    }

    fn check(&self) -> Result<(), CodesError> {
        let parts = match self.group {
            CodesGroup::LeavesAndSpines { leaves, spines } => {
                vec![("leaves per group", leaves), ("spines per group", spines)]
            }
            CodesGroup::Alike { routers } => vec![("routers per group", routers)],
            CodesGroup::Rows { rows, columns } => {
                vec![("rows per group", rows), ("routers per row", columns)]
            }
        };
        let others = [("groups", self.groups), ("nodes per router", self.p)];
        for (what, count) in parts.into_iter().chain(others) {
            if count == 0 {
                return Err(CodesError::Zero { what });
            }
        }
        let parts = match self.group {
            CodesGroup::LeavesAndSpines { leaves, spines } => {
                u128::from(leaves) + u128::from(spines)
            }
            CodesGroup::Alike { routers } => u128::from(routers),
            CodesGroup::Rows { rows, columns } => u128::from(rows) * u128::from(columns),
        };
        let routers = parts * u128::from(self.groups);
        if routers * u128::from(self.p.max(1)) >= u128::from(u32::MAX) {
            return Err(CodesError::TooLarge {
                groups: self.groups,
                routers: parts.min(u128::from(u32::MAX)) as u32,
                p: self.p,
            });
        }
        Ok(())
    }

    /// Checks that every record joins routers that exist, of the right roles.
    fn check_records(
        &self,
        list: CodesList,
        links: &[CodesLink],
        routers: u32,
    ) -> Result<(), CodesError> {
        let per_group = self.group.routers();
        for (record, &(from, to)) in links.iter().enumerate() {
            if from >= routers || to >= routers {
                return Err(CodesError::NoSuchRouter {
                    list,
                    record,
                    from,
                    to,
                    last: routers - 1,
                });
            }
            let leaf = |router: u32| match self.group {
                CodesGroup::LeavesAndSpines { leaves, .. } => Some(router % per_group < leaves),
                CodesGroup::Alike { .. } | CodesGroup::Rows { .. } => None,
            };
            let row_or_column = |a: u32, b: u32| match self.group {
                CodesGroup::Rows { columns, .. } => {
                    self.group.same_row(a, b) || a % columns == b % columns
                }
                _ => true,
            };
            let rule = match list {
                _ if from == to => Some("a router has no link to itself"),
                CodesList::Intra if leaf(from).is_some() && leaf(from) == leaf(to) => {
                    Some("within a group links join a leaf and a spine")
                }
                CodesList::Intra if !row_or_column(from, to) => {
                    Some("within a group links join routers of a row or of a column")
                }
                CodesList::Inter if from / per_group == to / per_group => {
                    Some("both lie in one group; such links belong in the other list")
                }
                CodesList::Inter if leaf(from) == Some(true) || leaf(to) == Some(true) => {
                    Some("one of them is a leaf, and links between groups join spines")
                }
                _ => None,
            };
            if let Some(rule) = rule {
                return Err(CodesError::Misplaced {
                    list,
                    record,
                    from,
                    to,
                    rule,
                });
            }
        }
        Ok(())
    }
}

/// A port of a router: a node, or a record of a list.
#[derive(Clone, Copy)]
enum Port {
    Node,
    Intra(usize),
    Inter(usize),
}

/// For every record the one of the other direction. Shape: links.
fn partners(list: CodesList, links: &[CodesLink]) -> Result<Vec<usize>, CodesError> {
    let mut records: HashMap<CodesLink, Vec<usize>> = HashMap::new();
    for (record, &link) in links.iter().enumerate() {
        records.entry(link).or_default().push(record);
    }
    let mut partner = vec![0; links.len()];
    for (record, &(from, to)) in links.iter().enumerate() {
        let there = &records[&(from, to)];
        let back = records.get(&(to, from)).map_or(&[][..], Vec::as_slice);
        if there.len() != back.len() {
            return Err(CodesError::OneWay {
                list,
                record,
                from,
                to,
                there: there.len(),
                back: back.len(),
            });
        }
        let number = there.partition_point(|&other| other < record);
        partner[record] = back[number];
    }
    Ok(partner)
}

#[cfg(test)]
mod tests;
