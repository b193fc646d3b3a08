//! Invariants of all policies on any machine in any state.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use odonata_placement::{
    Machine, MachineState, MappingPolicy, Policy, Refusal, Request, map_ranks, nodes_needed, place,
};
use odonata_units::random::{Purpose, Stream, StreamKey};
use odonata_units::{GroupId, NodeId, RankId, RouterId};
use proptest::prelude::*;

fn machines() -> impl Strategy<Value = Machine> {
    prop::collection::vec(0u32..5, 1..12).prop_flat_map(|groups| {
        let routers = groups.len() as u32;
        prop::collection::vec(0..routers, 1..60).prop_map(move |routers| {
            Machine::new(
                routers.into_iter().map(RouterId).collect(),
                groups.iter().copied().map(GroupId).collect(),
            )
            .expect("every router exists")
        })
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Contiguous),
        Just(Policy::Spread),
        Just(Policy::RandomNode),
        Just(Policy::RandomRouter),
        Just(Policy::RandomGroup),
        Just(Policy::Even),
        Just(Policy::Isolated),
        Just(Policy::LevelSpread),
        Just(Policy::Hybrid),
        Just(Policy::BestFit),
    ]
}

fn stream(seed: u64, purpose: Purpose) -> Stream {
    StreamKey::new(seed, purpose).stream(3)
}

proptest! {
    /// Jobs come and go; nobody ever gets a node that another one has, everybody
    /// gets exactly what was asked for, nobody comes into a group that a job has for
    /// itself, and who is refused was asking for more than was free.
    #[test]
    fn nodes_are_never_booked_twice(
        machine in machines(),
        requests in prop::collection::vec((1u32..40, policies(), any::<u64>(), any::<bool>()), 1..20),
    ) {
        let total = machine.nodes();
        let mut state = MachineState::new(Arc::new(machine));
        let mut running: Vec<Vec<NodeId>> = Vec::new();
        // Groups that a job has for itself.
        let mut alone = HashSet::new();
        for (nodes, policy, seed, end_one) in requests {
            let isolated = policy == Policy::Isolated;
            let request = Request { nodes, policy, groups: None };
            let answer = place(&request, &state, &mut stream(seed, Purpose::Placement));
            let again = place(&request, &state, &mut stream(seed, Purpose::Placement));
            prop_assert_eq!(&answer, &again);
            match answer {
                Ok(chosen) => {
                    prop_assert_eq!(chosen.len(), nodes as usize);
                    let claimed = match isolated {
                        true => state.claim_groups(&chosen),
                        false => state.claim(&chosen),
                    };
                    prop_assert!(claimed.is_ok());
                    let group = |node: &NodeId| state.machine().group_of(state.machine().router_of(*node));
                    if isolated {
                        alone.extend(chosen.iter().map(group));
                    } else {
                        prop_assert!(!chosen.iter().any(|node| alone.contains(&group(node))));
                    }
                    running.push(chosen);
                }
                Err(Refusal::LargerThanMachine { .. }) => prop_assert!(nodes > total),
                Err(Refusal::NotEnoughFree { .. }) => prop_assert!(nodes > state.free()),
                Err(Refusal::NotEnoughIdleGroups { free, .. }) => {
                    prop_assert!(isolated && nodes > free);
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
            if end_one && !running.is_empty() {
                let ended = running.swap_remove(seed as usize % running.len());
                prop_assert!(state.release(&ended).is_ok());
                let group = |node: &NodeId| state.machine().group_of(state.machine().router_of(*node));
                for ended in ended.iter().map(group) {
                    alone.remove(&ended);
                }
            }
            let held: HashSet<_> = running.iter().flatten().collect();
            prop_assert_eq!(held.len(), running.iter().map(Vec::len).sum::<usize>());
            let free = (0..total).filter(|&node| state.is_free(NodeId(node))).count();
            prop_assert_eq!(state.free() as usize, free);
            if alone.is_empty() {
                prop_assert_eq!(free, total as usize - held.len());
            }
        }
    }

    /// Where a router holds a job, level-spread and best-fit take one router, where a group
    /// does, they and hybrid take one group; best-fit one with as few free nodes as any that
    /// does, level-spread one with as many; and level-spread divides a job over its routers,
    /// or else over all groups, as evenly as their free nodes allow.
    #[test]
    fn jobs_stay_in_the_smallest_part_that_holds_them(
        machine in machines(),
        busy in prop::collection::vec(any::<bool>(), 60),
        nodes in 1u32..40,
    ) {
        let all = machine.nodes();
        let mut state = MachineState::new(Arc::new(machine));
        let claimed: Vec<NodeId> = (0..all).map(NodeId).filter(|n| busy[n.index()]).collect();
        state.claim(&claimed).expect("all are free");
        prop_assume!(nodes <= state.free());
        let machine = state.machine();
        let router = |node: NodeId| machine.router_of(node).0;
        let group = |node: NodeId| machine.group_of(machine.router_of(node)).0;
        let count = |of: &dyn Fn(NodeId) -> u32, nodes: &[NodeId]| {
            let mut counts = BTreeMap::<u32, u32>::new();
            for &node in nodes {
                *counts.entry(of(node)).or_default() += 1;
            }
            counts
        };
        let free: Vec<NodeId> = (0..all).map(NodeId).filter(|&n| state.is_free(n)).collect();
        let chosen = |policy| {
            let request = Request { nodes, policy, groups: None };
            place(&request, &state, &mut stream(1, Purpose::Placement)).expect("enough are free")
        };
        let (spread, fit, hybrid) =
            (chosen(Policy::LevelSpread), chosen(Policy::BestFit), chosen(Policy::Hybrid));
        let levels: [&dyn Fn(NodeId) -> u32; 2] = [&router, &group];
        for of in levels {
            let room = count(of, &free);
            let mut holding: Vec<u32> = room.values().copied().filter(|&n| n >= nodes).collect();
            holding.sort_unstable();
            let (Some(least), Some(most)) = (holding.first(), holding.last()) else {
                continue;
            };
            prop_assert_eq!(count(of, &spread).len(), 1);
            prop_assert_eq!(room[&of(spread[0])], *most);
            prop_assert_eq!(count(of, &fit).len(), 1);
            prop_assert_eq!(room[&of(fit[0])], *least);
            break;
        }
        if count(&group, &free).values().any(|&room| room >= nodes) {
            prop_assert_eq!(count(&group, &hybrid).len(), 1);
        }
        // Nobody has two more than another one who has a free node left.
        let within = count(&group, &spread);
        let (of, room): (&dyn Fn(NodeId) -> u32, Vec<NodeId>) = match within.len() {
            1 if count(&router, &spread).len() == 1 => return Ok(()),
            1 => (&router, free.iter().copied().filter(|&n| within.contains_key(&group(n))).collect()),
            _ => (&group, free.clone()),
        };
        let (taken, room) = (count(of, &spread), count(of, &room));
        let most = taken.values().copied().max().unwrap_or(0);
        for (part, room) in room {
            let taken = taken.get(&part).copied().unwrap_or(0);
            prop_assert!(taken + 1 >= most || taken == room);
        }
    }

    /// Every rank sits on a node of the job, no node is overfull, and random
    /// mapping loads every node as linear mapping does.
    #[test]
    fn mappings_respect_the_room_on_nodes(
        ranks in 1u32..200, per_node in 1u32..9, spare in 0u32..4, seed in any::<u64>(),
    ) {
        let count = nodes_needed(ranks, per_node) + spare;
        let nodes: Vec<NodeId> = (0..count).map(|n| NodeId(3 * n + 1)).collect();
        let map = |policy| {
            map_ranks(ranks, &nodes, per_node, &policy, &mut stream(seed, Purpose::Mapping))
                .expect("there is room")
        };
        let (linear, random) = (map(MappingPolicy::Linear), map(MappingPolicy::Random));
        prop_assert_eq!(&random, &map(MappingPolicy::Random));
        let load = |mapping: &odonata_placement::Mapping| {
            let mut load = vec![0u32; count as usize];
            for rank in (0..ranks).map(RankId) {
                load[(mapping.node_of(rank).0 / 3) as usize] += 1;
            }
            load
        };
        prop_assert!(load(&linear).iter().all(|&ranks| ranks <= per_node));
        prop_assert_eq!(load(&linear), load(&random));
        // An explicit mapping may say what linear mapping says.
        let explicit = MappingPolicy::Explicit(linear.nodes().to_vec());
        prop_assert_eq!(map(explicit), linear);
    }
}
