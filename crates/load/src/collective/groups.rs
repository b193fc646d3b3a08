//! Which members of a communicator belong together in the network.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Groups of members that are close to each other: of a dragonfly, those in the
/// same group of routers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Members of each group.
    groups: Box<[Box<[u32]>]>,
    /// Group and index in it of each member.
    places: Box<[(u32, u32)]>,
    /// Members of the largest group.
    largest: u32,
}

impl Groups {
    /// From the group of each member; any numbers tell groups apart.
    pub fn new(group_of_member: &[u32]) -> Arc<Self> {
        let mut numbers = std::collections::BTreeMap::new();
        for &group in group_of_member {
            let next = numbers.len();
            numbers.entry(group).or_insert(next);
        }
        let mut groups = vec![Vec::new(); numbers.len()];
        let mut places = Vec::with_capacity(group_of_member.len());
        for (member, group) in group_of_member.iter().enumerate() {
            let group = numbers[group];
            places.push((group as u32, groups[group].len() as u32));
            groups[group].push(member as u32);
        }
        let largest = groups.iter().map(Vec::len).max().unwrap_or(0) as u32;
        Arc::new(Self {
            groups: groups.into_iter().map(Vec::into_boxed_slice).collect(),
            places: places.into(),
            largest,
        })
    }

    /// Number of members.
    pub fn size(&self) -> u32 {
        self.places.len() as u32
    }

    /// Number of groups.
    pub(super) fn count(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Members of the largest group.
    pub(super) fn largest(&self) -> u32 {
        self.largest
    }

    /// Group of a member and its index in it.
    pub(super) fn place(&self, member: u32) -> (u32, u32) {
        self.places[member as usize]
    }

    /// Who has an index in a group; `None` if it has fewer members.
    pub(super) fn member(&self, group: u32, index: u32) -> Option<u32> {
        let members = &self.groups[group as usize];
        members.get(index as usize).copied()
    }
}
