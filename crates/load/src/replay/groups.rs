//! Groups, put together from what all ranks say of them.

use std::collections::HashMap;

use super::call::{GroupMade, GroupNumber};

/// Number of a group in [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct GroupId(pub u32);

/// Most groups that all ranks may make in different ways.
const MAX_GROUPS: usize = 1 << 24;

/// How a group is made. `C` names a communicator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Made<C> {
    Empty,
    Of(C),
    Union(GroupId, GroupId),
    Intersection(GroupId, GroupId),
    Difference(GroupId, GroupId),
    Included(GroupId, Box<[u32]>),
    Excluded(GroupId, Box<[u32]>),
    IncludedRanges(GroupId, Box<[[i32; 3]]>),
    ExcludedRanges(GroupId, Box<[[i32; 3]]>),
}

/// All groups of a job; those that are made alike by several ranks are kept once.
#[derive(Debug, Default)]
pub(super) struct Groups<C> {
    made: Vec<Made<C>>,
    known: HashMap<Made<C>, GroupId>,
}

impl<C: Copy + Eq + std::hash::Hash> Groups<C> {
    pub fn new() -> Self {
        Self {
            made: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Takes in how a rank makes a group. `before`: its groups so far;
    /// `of`: the communicator of a slot.
    pub fn add(
        &mut self,
        made: GroupMade,
        before: &[GroupId],
        of: impl Fn(super::call::Slot) -> Option<C>,
    ) -> Result<GroupId, String> {
        let group = |number: GroupNumber| {
            let found = before.get(number.0 as usize).copied();
            found.ok_or_else(|| format!("group {}, which no call has made", number.0))
        };
        let made = match made {
            GroupMade::Empty => Made::Empty,
            GroupMade::Of(slot) => Made::Of(
                of(slot)
                    .ok_or_else(|| "the group of a communicator that is not known".to_owned())?,
            ),
            GroupMade::Union(a, b) => Made::Union(group(a)?, group(b)?),
            GroupMade::Intersection(a, b) => Made::Intersection(group(a)?, group(b)?),
            GroupMade::Difference(a, b) => Made::Difference(group(a)?, group(b)?),
            GroupMade::Included(a, ranks) => Made::Included(group(a)?, ranks),
            GroupMade::Excluded(a, ranks) => Made::Excluded(group(a)?, ranks),
            GroupMade::IncludedRanges(a, ranges) => Made::IncludedRanges(group(a)?, ranges),
            GroupMade::ExcludedRanges(a, ranges) => Made::ExcludedRanges(group(a)?, ranges),
        };
        if let Some(&id) = self.known.get(&made) {
            return Ok(id);
        }
        if self.made.len() >= MAX_GROUPS {
            return Err(format!("more than {MAX_GROUPS} different groups"));
        }
        let id = GroupId(self.made.len() as u32);
        self.known.insert(made.clone(), id);
        self.made.push(made);
        Ok(id)
    }

    /// The groups that a group is made of, itself the last one. Every group comes
    /// after those that it is made of.
    fn parts(&self, group: GroupId) -> Vec<GroupId> {
        let mut parts = vec![group];
        let mut found = std::collections::BTreeSet::from([group]);
        while let Some(part) = parts.pop() {
            let of: &[GroupId] = match &self.made[part.0 as usize] {
                Made::Empty | Made::Of(_) => &[],
                Made::Union(a, b) | Made::Intersection(a, b) | Made::Difference(a, b) => &[*a, *b],
                Made::Included(a, _)
                | Made::Excluded(a, _)
                | Made::IncludedRanges(a, _)
                | Made::ExcludedRanges(a, _) => &[*a],
            };
            for &part in of {
                if found.insert(part) {
                    parts.push(part);
                }
            }
        }
        found.into_iter().collect()
    }

    /// Communicators that a group is made of.
    pub fn communicators(&self, group: GroupId) -> Vec<C> {
        let parts = self.parts(group);
        let of = parts
            .iter()
            .filter_map(|part| match self.made[part.0 as usize] {
                Made::Of(communicator) => Some(communicator),
                _ => None,
            });
        of.collect()
    }

    /// The members of a group, in order. `members`: those of a communicator.
    pub fn members(
        &self,
        group: GroupId,
        members: impl Fn(C) -> Result<Vec<u32>, String>,
    ) -> Result<Vec<u32>, String> {
        let mut known: HashMap<GroupId, Vec<u32>> = HashMap::new();
        for part in self.parts(group) {
            let of = |part: &GroupId| known[part].as_slice();
            let list = match &self.made[part.0 as usize] {
                Made::Empty => Vec::new(),
                Made::Of(communicator) => members(*communicator)?,
                Made::Union(a, b) => {
                    let mut list = of(a).to_vec();
                    let first = as_set(&list);
                    list.extend(of(b).iter().filter(|rank| !first.contains(rank)));
                    list
                }
                Made::Intersection(a, b) => {
                    let second = as_set(of(b));
                    let both = of(a).iter().filter(|rank| second.contains(rank));
                    both.copied().collect()
                }
                Made::Difference(a, b) => {
                    let second = as_set(of(b));
                    let first = of(a).iter().filter(|rank| !second.contains(rank));
                    first.copied().collect()
                }
                Made::Included(a, ranks) => included(of(a), ranks)?,
                Made::Excluded(a, ranks) => excluded(of(a), ranks)?,
                Made::IncludedRanges(a, ranges) => included(of(a), &spread(ranges, of(a).len())?)?,
                Made::ExcludedRanges(a, ranges) => excluded(of(a), &spread(ranges, of(a).len())?)?,
            };
            known.insert(part, list);
        }
        Ok(known.remove(&group).unwrap_or_default())
    }
}

fn as_set(ranks: &[u32]) -> std::collections::HashSet<u32> {
    ranks.iter().copied().collect()
}

fn included(of: &[u32], places: &[u32]) -> Result<Vec<u32>, String> {
    let mut list = Vec::with_capacity(places.len());
    for &place in places {
        let rank = of.get(place as usize);
        list.push(*rank.ok_or_else(|| no_member(place, of.len()))?);
    }
    let distinct = as_set(&list).len();
    match distinct == list.len() {
        true => Ok(list),
        false => Err("a group in which a rank is twice".to_owned()),
    }
}

fn excluded(of: &[u32], places: &[u32]) -> Result<Vec<u32>, String> {
    let mut left = vec![true; of.len()];
    for &place in places {
        match left.get_mut(place as usize) {
            Some(left) => *left = false,
            None => return Err(no_member(place, of.len())),
        }
    }
    let both = of.iter().zip(left);
    Ok(both
        .filter(|(_, left)| *left)
        .map(|(&rank, _)| rank)
        .collect())
}

fn no_member(place: u32, size: usize) -> String {
    format!("member {place} of a group of {size}")
}

/// The places of ranges in a group of `size`.
fn spread(ranges: &[[i32; 3]], size: usize) -> Result<Vec<u32>, String> {
    let mut places = Vec::new();
    for &[first, last, stride] in ranges {
        let wrong = || format!("a range from {first} to {last} by {stride} in a group of {size}");
        let (from, to) = (i64::from(first), i64::from(last));
        let inside = |place: i64| (0..size as i64).contains(&place);
        if stride == 0 || !inside(from) {
            return Err(wrong());
        }
        let mut place = from;
        while if stride > 0 { place <= to } else { place >= to } {
            // More places than members would name one twice.
            if !inside(place) || places.len() > size {
                return Err(wrong());
            }
            places.push(place as u32);
            place += i64::from(stride);
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::super::call::Slot;
    use super::*;

    #[test]
    fn groups_are_those_of_the_standard() {
        let mut groups: Groups<u32> = Groups::new();
        let mut of_rank: Vec<GroupId> = Vec::new();
        let mut add = |groups: &mut Groups<u32>, made| {
            let id = groups.add(made, &of_rank, |slot| Some(slot.0)).unwrap();
            of_rank.push(id);
            (GroupNumber(of_rank.len() as u32 - 1), id)
        };
        // A world whose member k is rank 10 + k.
        let world = |_| Ok((10..18).collect());
        let (all, _) = add(&mut groups, GroupMade::Of(Slot::WORLD));
        let (odd, odd_id) = add(
            &mut groups,
            GroupMade::IncludedRanges(all, [[7, 0, -2]].into()),
        );
        let (low, low_id) = add(&mut groups, GroupMade::Excluded(all, [4, 5, 6, 7].into()));
        assert_eq!(groups.members(odd_id, world), Ok(vec![17, 15, 13, 11]));
        assert_eq!(groups.members(low_id, world), Ok(vec![10, 11, 12, 13]));
        let (_, union) = add(&mut groups, GroupMade::Union(odd, low));
        assert_eq!(
            groups.members(union, world),
            Ok(vec![17, 15, 13, 11, 10, 12])
        );
        let (_, both) = add(&mut groups, GroupMade::Intersection(odd, low));
        assert_eq!(groups.members(both, world), Ok(vec![13, 11]));
        let (_, rest) = add(&mut groups, GroupMade::Difference(odd, low));
        assert_eq!(groups.members(rest, world), Ok(vec![17, 15]));
        let (_, picked) = add(&mut groups, GroupMade::Included(odd, [2, 0].into()));
        assert_eq!(groups.members(picked, world), Ok(vec![13, 17]));
        assert_eq!(groups.communicators(picked), [0]);
        // Made alike: the same.
        let (_, again) = add(&mut groups, GroupMade::Union(odd, low));
        assert_eq!(again, union);
        let wrong = [
            GroupMade::Included(odd, [4].into()),
            GroupMade::Included(odd, [1, 1].into()),
            GroupMade::Excluded(odd, [9].into()),
            GroupMade::IncludedRanges(odd, [[0, 3, 0]].into()),
            GroupMade::IncludedRanges(odd, [[0, 30, 1]].into()),
            GroupMade::IncludedRanges(odd, [[-1, 3, 1]].into()),
        ];
        for made in wrong {
            let (_, id) = add(&mut groups, made.clone());
            assert!(groups.members(id, world).is_err(), "{made:?}");
        }
    }
}
