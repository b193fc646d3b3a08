mod optimised;

use super::*;
use odonata_units::random::{Purpose, StreamKey};

fn mapped(
    ranks: u32,
    per_node: u32,
    policy: MappingPolicy,
    seed: u64,
) -> Result<Vec<u32>, MappingError> {
    let mut stream = StreamKey::new(seed, Purpose::Mapping).stream(0);
    let nodes = [9, 4, 7].map(NodeId);
    let mapping = map_ranks(ranks, &nodes, per_node, &policy, &mut stream)?;
    assert_eq!(mapping.ranks(), ranks);
    Ok(mapping.nodes().iter().map(|node| node.0).collect())
}

#[test]
fn linear_fills_node_after_node() {
    let nodes = mapped(5, 2, MappingPolicy::Linear, 0).unwrap();
    assert_eq!(nodes, [9, 9, 4, 4, 7]);
}

#[test]
fn random_uses_the_slots_of_linear_in_any_order() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let nodes = mapped(5, 2, MappingPolicy::Random, seed).unwrap();
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [4, 4, 7, 9, 9]);
        orders.insert(nodes);
    }
    // 5! / (2! 2! 1!) = 30 different orders of the slots.
    assert_eq!(orders.len(), 30);
}

#[test]
fn random_halves_keep_their_slots() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let nodes = mapped(5, 2, MappingPolicy::RandomHalves, seed).unwrap();
        // Linear: 9 9 | 4 4 7. Ranks 0 and 1 are the first half.
        assert_eq!(nodes[..2], [9, 9]);
        let mut second = nodes[2..].to_vec();
        second.sort_unstable();
        assert_eq!(second, [4, 4, 7]);
        orders.insert(nodes);
    }
    assert_eq!(orders.len(), 3);
}

#[test]
fn lists_are_checked() {
    let explicit = |nodes: &[u32]| {
        let list = nodes.iter().copied().map(NodeId).collect();
        mapped(3, 2, MappingPolicy::Explicit(list), 0)
    };
    assert_eq!(explicit(&[7, 9, 7]).unwrap(), [7, 9, 7]);
    assert!(matches!(
        explicit(&[7, 9]),
        Err(MappingError::ListLength { .. })
    ));
    assert_eq!(
        explicit(&[7, 5, 7]).unwrap_err().to_string(),
        "the mapping puts rank 1 on node 5, which the job does not have"
    );
    assert_eq!(
        explicit(&[7, 7, 7]).unwrap_err().to_string(),
        "the mapping puts more than 2 ranks on node 7; rank 2 is one too many"
    );
    assert_eq!(
        mapped(7, 2, MappingPolicy::Linear, 0)
            .unwrap_err()
            .to_string(),
        "7 ranks do not fit 3 nodes with 2 per node; they need 4 nodes"
    );
    assert!(mapped(0, 2, MappingPolicy::Linear, 0).is_err());
    assert!(mapped(1, 0, MappingPolicy::Linear, 0).is_err());
}
