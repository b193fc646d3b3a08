use super::*;
use odonata_units::random::{Purpose, StreamKey};
use std::sync::Arc;

/// 3 groups of 2 routers of 2 nodes: node n is attached to router n / 2 in group n / 4.
fn idle() -> MachineState {
    MachineState::new(Arc::new(Machine::uniform(3, 2, 2).unwrap()))
}

fn busy(nodes: &[u32]) -> MachineState {
    let mut state = idle();
    let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
    state.claim(&nodes).unwrap();
    state
}

fn placed(policy: Policy, nodes: u32, state: &MachineState, seed: u64) -> Vec<u32> {
    let mut stream = StreamKey::new(seed, Purpose::Placement).stream(0);
    let request = Request {
        nodes,
        policy,
        groups: None,
    };
    let chosen = place(&request, state, &mut stream).unwrap();
    chosen.into_iter().map(|node| node.0).collect()
}

#[test]
fn contiguous_fills_groups_in_order_around_busy_nodes() {
    let state = busy(&[1, 4]);
    assert_eq!(placed(Policy::Contiguous, 5, &state, 0), [0, 2, 3, 5, 6]);
}

#[test]
fn spread_takes_the_first_router_of_every_group_first() {
    let expected = [0, 1, 4, 5, 8, 9, 2, 3, 6];
    assert_eq!(placed(Policy::Spread, 9, &idle(), 0), expected);
    let expected = [0, 4, 5, 8, 2];
    assert_eq!(placed(Policy::Spread, 5, &busy(&[1, 9]), 0), expected);
}

#[test]
fn spread_copes_with_groups_of_different_sizes() {
    // Group 0 has routers 0 and 1, group 1 router 2 without nodes, group 2
    // router 3: nodes 0, 1, 2 on routers 0, 1, 3.
    let machine = Machine::new(
        [0, 1, 3].map(RouterId).to_vec(),
        [0, 0, 1, 2].map(odonata_units::GroupId).to_vec(),
    );
    let state = MachineState::new(Arc::new(machine.unwrap()));
    assert_eq!(placed(Policy::Spread, 3, &state, 0), [0, 2, 1]);
}

#[test]
fn random_nodes_are_uniform() {
    // Each of 12 nodes is among 3 drawn with probability 1/4, and each of the
    // 12 is first with probability 1/12; five standard deviations.
    let (mut chosen, mut first) = ([0u32; 12], [0u32; 12]);
    let draws = 12_000;
    for seed in 0..draws {
        let nodes = placed(Policy::RandomNode, 3, &idle(), seed);
        first[nodes[0] as usize] += 1;
        nodes.iter().for_each(|&node| chosen[node as usize] += 1);
    }
    for node in 0..12 {
        assert!(chosen[node].abs_diff(3_000) < 238, "{chosen:?}");
        assert!(first[node].abs_diff(1_000) < 152, "{first:?}");
    }
}

#[test]
fn random_routers_come_whole_and_idle_ones_first() {
    let state = busy(&[2, 6]);
    let mut pairs = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let nodes = placed(Policy::RandomRouter, 9, &state, seed);
        // Routers 0, 2, 4, 5 are idle and have 8 nodes; the ninth is the
        // free node of router 1 or 3.
        for pair in nodes[..8].chunks(2) {
            assert_eq!(pair[0] + 1, pair[1]);
            assert_eq!(pair[0] % 2, 0);
        }
        assert!([3, 7].contains(&nodes[8]));
        pairs.insert((nodes[0], nodes[2]));
    }
    assert_eq!(pairs.len(), 12, "4 first routers, 3 second ones each");
}

#[test]
fn random_groups_are_filled_in_order() {
    let state = busy(&[1]);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..100 {
        seen.insert(placed(Policy::RandomGroup, 10, &state, seed));
    }
    let expected = [
        vec![4, 5, 6, 7, 8, 9, 10, 11, 0, 2],
        vec![8, 9, 10, 11, 4, 5, 6, 7, 0, 2],
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn refusals_say_why() {
    let state = busy(&[0, 1, 2]);
    let says = |nodes, policy| {
        let mut stream = StreamKey::new(0, Purpose::Placement).stream(0);
        let request = Request {
            nodes,
            policy,
            groups: None,
        };
        let refusal = place(&request, &state, &mut stream);
        refusal.unwrap_err().to_string()
    };
    let list = |nodes: &[u32]| Policy::Explicit(nodes.iter().copied().map(NodeId).collect());
    assert_eq!(
        says(13, Policy::Spread),
        "the job asks for 13 nodes, but the machine has 12"
    );
    assert_eq!(
        says(10, Policy::RandomNode),
        "the job asks for 10 nodes; of the machine's 12 only 9 are free"
    );
    assert_eq!(
        says(0, Policy::Contiguous),
        "the job asks for 0 nodes; it needs at least 1"
    );
    assert_eq!(says(2, list(&[4])), "the job asks for 2 nodes, but lists 1");
    assert_eq!(
        says(2, list(&[4, 1])),
        "the job's list of nodes cannot be used: node 1 is not free"
    );
    assert!(says(2, list(&[4, 4])).ends_with("node 4 is listed twice"));
    assert!(says(1, list(&[12])).ends_with("there is no node 12; the machine's nodes are 0 to 11"));
    assert_eq!(placed(list(&[9, 4]), 2, &state, 0), [9, 4]);
}

fn placed_in(
    policy: Policy,
    nodes: u32,
    groups: &[u32],
    state: &MachineState,
) -> Result<Vec<u32>, String> {
    let request = Request {
        nodes,
        policy,
        groups: Some(groups.iter().copied().map(GroupId).collect()),
    };
    let mut stream = StreamKey::new(7, Purpose::Placement).stream(0);
    let placed = place(&request, state, &mut stream).map_err(|refusal| refusal.to_string())?;
    Ok(placed.into_iter().map(|node| node.0).collect())
}

#[test]
fn even_takes_a_node_of_every_router_in_turn() {
    let expected = [0, 2, 4, 6, 8, 10, 1, 3];
    assert_eq!(placed(Policy::Even, 8, &idle(), 0), expected);
    // Of router 0 only node 1 is free, of router 1 none.
    let expected = [1, 4, 6, 8, 10, 5];
    assert_eq!(placed(Policy::Even, 6, &busy(&[0, 2, 3]), 0), expected);
}

#[test]
fn level_spread_spreads_in_the_smallest_part_that_holds_the_job() {
    // Of routers 0 to 5: 1, 2, 1, 2, 2, 2 free nodes.
    let state = busy(&[0, 4]);
    assert_eq!(placed(Policy::LevelSpread, 1, &state, 0), [2]);
    assert_eq!(placed(Policy::LevelSpread, 2, &state, 0), [2, 3]);
    // No router holds 3; group 2 has the most.
    assert_eq!(placed(Policy::LevelSpread, 3, &state, 0), [8, 10, 9]);
    // No group holds 5: a node of each in turn.
    let expected = [1, 5, 8, 2, 6];
    assert_eq!(placed(Policy::LevelSpread, 5, &state, 0), expected);
}

#[test]
fn hybrid_packs_what_a_group_holds_and_spreads_what_none_does() {
    let state = busy(&[0, 4]);
    assert_eq!(placed(Policy::Hybrid, 3, &state, 0), [1, 2, 3]);
    assert_eq!(placed(Policy::Hybrid, 4, &state, 0), [8, 9, 10, 11]);
    let expected = placed(Policy::Spread, 6, &state, 0);
    assert_eq!(placed(Policy::Hybrid, 6, &state, 0), expected);
}

#[test]
fn best_fit_leaves_the_largest_holes() {
    // Of routers 0 to 5: 2, 2, 1, 2, 1, 0 free nodes; of groups 4, 3, 1.
    let state = busy(&[4, 8, 10, 11]);
    assert_eq!(placed(Policy::BestFit, 1, &state, 0), [5]);
    assert_eq!(placed(Policy::BestFit, 2, &state, 0), [0, 1]);
    assert_eq!(placed(Policy::BestFit, 3, &state, 0), [5, 6, 7]);
    assert_eq!(placed(Policy::BestFit, 4, &state, 0), [0, 1, 2, 3]);
    let expected = [9, 5, 6, 7, 0, 1];
    assert_eq!(placed(Policy::BestFit, 6, &state, 0), expected);
}

#[test]
fn policies_stay_in_the_groups_that_they_are_given() {
    let state = idle();
    let even = placed_in(Policy::Even, 6, &[2, 0], &state).unwrap();
    assert_eq!(even, [0, 2, 8, 10, 1, 3]);
    let spread = placed_in(Policy::Spread, 6, &[1, 2], &state).unwrap();
    assert_eq!(spread, [4, 5, 8, 9, 6, 7]);
    let contiguous = placed_in(Policy::Contiguous, 5, &[1, 2], &busy(&[4])).unwrap();
    assert_eq!(contiguous, [5, 6, 7, 8, 9]);
    for policy in [
        Policy::RandomNode,
        Policy::RandomRouter,
        Policy::RandomGroup,
        Policy::LevelSpread,
        Policy::Hybrid,
        Policy::BestFit,
    ] {
        let mut random = placed_in(policy, 8, &[0, 2], &state).unwrap();
        random.sort_unstable();
        assert_eq!(random, [0, 1, 2, 3, 8, 9, 10, 11]);
    }
    assert_eq!(
        placed_in(Policy::Spread, 8, &[0, 1], &busy(&[4])).unwrap_err(),
        "the job asks for 8 nodes of 2 groups, which have 8, of them 7 free"
    );
    assert_eq!(
        placed_in(Policy::Spread, 1, &[0, 3], &state).unwrap_err(),
        "there are no nodes in group 3; groups with nodes: 0-2"
    );
}

#[test]
fn isolated_jobs_take_groups_without_others() {
    let state = busy(&[1]);
    assert_eq!(placed(Policy::Isolated, 5, &state, 0), [4, 5, 6, 7, 8]);
    let only = placed_in(Policy::Isolated, 3, &[0, 2], &state).unwrap();
    assert_eq!(only, [8, 9, 10]);
    assert_eq!(
        placed_in(Policy::Isolated, 5, &[0, 2], &state).unwrap_err(),
        "the job asks for 5 nodes in groups that it shares with no other job; 1 of 2 groups \
         are free of jobs, with 4 nodes"
    );
}

#[test]
fn numbers_are_named_in_ranges() {
    let text = |numbers: &[u32]| ranges(numbers.iter().copied());
    assert_eq!(text(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
    assert_eq!(text(&[]), "");
}
