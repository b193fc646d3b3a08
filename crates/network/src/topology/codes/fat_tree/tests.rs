use super::*;
use crate::topology::testing::class;
use crate::topology::{LinkKind, Peer};

fn tree(levels: u32, leaves: u32, radix: u32, tops: CodesTops) -> CodesFatTree {
    CodesFatTree {
        levels,
        leaves,
        radix,
        tops,
    }
}

fn build(tree: CodesFatTree) -> Result<Topology, CodesFatTreeError> {
    let above = match tree.levels {
        2 => vec![class("global", LinkKind::Global)],
        _ => vec![
            class("local", LinkKind::Local),
            class("global", LinkKind::Global),
        ],
    };
    tree.build(&class("terminal", LinkKind::Terminal), &above)
}

/// All pairs of linked routers, each link once from either end, in order.
fn linked(topology: &Topology) -> Vec<(u32, u32)> {
    let owner = topology.router_of_every_port();
    let mut pairs: Vec<(u32, u32)> = (owner.iter().zip(&topology.peer))
        .filter_map(|(from, peer)| match peer {
            Peer::Port(peer) => Some((from.0, owner[peer.index()].0)),
            _ => None,
        })
        .collect();
    pairs.sort_unstable();
    pairs
}

/// The links as CODES's switches find them: every switch of a level by its number lists what is
/// above it, here with the numbers that our routers have.
fn as_codes_wires(tree: CodesFatTree) -> Vec<(u32, u32)> {
    let half = tree.radix / 2;
    let mut pairs = vec![];
    let mut both = |a, b| pairs.extend([(a, b), (b, a)]);
    if tree.levels == 2 {
        for leaf in 0..tree.leaves {
            for top in 0..tree.radix / 4 {
                for _ in 0..2 {
                    both(leaf, tree.leaves + top);
                }
            }
        }
    } else {
        let leaf = |number: u32| number / half * tree.radix + number % half;
        let middle = |number: u32| leaf(number) + half;
        let pods = (f64::from(tree.leaves * half) / f64::from(half * half)).ceil();
        let (links, tops) = match tree.tops {
            CodesTops::Few => {
                let links = (f64::from(tree.radix) / pods).floor();
                (links as u32, (f64::from(half * half) / links).ceil() as u32)
            }
            CodesTops::Half => (2, tree.leaves / 2),
        };
        for number in 0..tree.leaves {
            for above in number / half * half..(number / half + 1) * half {
                both(leaf(number), middle(above));
            }
            for top in (number % half..tops).step_by(half as usize) {
                for _ in 0..links {
                    both(middle(number), 2 * tree.leaves + top);
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

#[test]
fn links_are_those_that_codes_makes() {
    // Leaves and ports of the configurations that CODES ships: a tree of 16 leaves, one of 32,
    // Summit's 198; then odd numbers of pods, and the smallest.
    for (levels, leaves, radix, tops, switches, diameter) in [
        (3, 16, 8, CodesTops::Half, vec![16, 16, 8], 4),
        (3, 32, 8, CodesTops::Few, vec![32, 32, 16], 4),
        (3, 198, 36, CodesTops::Few, vec![198, 198, 108], 4),
        (3, 12, 8, CodesTops::Half, vec![12, 12, 6], 4),
        (3, 4, 8, CodesTops::Half, vec![4, 4, 2], 4),
        (3, 20, 16, CodesTops::Half, vec![], 0),
        (2, 2, 4, CodesTops::Half, vec![2, 1], 2),
        (2, 8, 16, CodesTops::Few, vec![8, 4], 2),
    ] {
        let tree = tree(levels, leaves, radix, tops);
        let Ok(topology) = build(tree) else {
            assert!(switches.is_empty(), "{tree:?}: {:?}", build(tree).err());
            continue;
        };
        assert_eq!(tree.switches().unwrap(), switches, "{tree:?}");
        assert_eq!(topology.routers() as u32, switches.iter().sum::<u32>());
        assert_eq!(topology.nodes() as u32, leaves * radix / 2);
        assert_eq!(linked(&topology), as_codes_wires(tree), "{tree:?}");
        let found = topology.describe();
        assert!(found.radix_max <= radix, "{tree:?}: {}", found.radix_max);
        assert_eq!(found.diameter, diameter, "{tree:?}");
        assert_eq!(found.nodes_per_router_max, radix / 2);
    }
}

#[test]
fn summit_has_as_many_links_at_every_level() {
    // 198 · 18 nodes, and 18 links up from each of 198 switches of the first two levels.
    let topology = build(tree(3, 198, 36, CodesTops::Few)).unwrap();
    let links: Vec<u64> = (topology.describe().classes.iter())
        .map(|class| class.links)
        .collect();
    assert_eq!(links, [3564, 3564, 3564]);
    // Eleven pods, three links from a switch to each of six tops.
    let shape = tree(3, 198, 36, CodesTops::Few).shape().unwrap().unwrap();
    assert_eq!((shape.down, shape.up), (vec![18, 18, 11], vec![18, 6]));
    assert_eq!(shape.parallel, [1, 3]);
}

#[test]
fn an_odd_number_of_pods_is_no_regular_tree() {
    // Three pods of four: the six top switches meet two of every four switches below twice.
    let odd = tree(3, 12, 8, CodesTops::Half);
    assert_eq!(odd.shape().unwrap(), None);
    let topology = build(odd).unwrap();
    let ups = |x: u32| {
        let of_middle = linked(&topology);
        (of_middle.iter())
            .filter(|&&(from, to)| from == 4 + x && to >= 24)
            .count()
    };
    assert_eq!([ups(0), ups(1), ups(2), ups(3)], [4, 4, 2, 2]);
}

#[test]
fn what_codes_cannot_wire_is_refused_by_parameter() {
    let few = CodesTops::Few;
    for (tree, parameter, words) in [
        (tree(4, 8, 8, few), "num_levels", "4 levels; allowed: 2, 3"),
        (tree(2, 3, 6, few), "switch_radix", "a multiple of 4"),
        (tree(3, 3, 7, few), "switch_radix", "a multiple of 2"),
        (tree(3, 0, 8, few), "switch_count", "allowed: 8"),
        // Pods of four leaves.
        (tree(3, 30, 8, few), "switch_count", "allowed: 28, 32"),
        (tree(2, 6, 8, few), "switch_count", "allowed: 4"),
        // Four links to each top switch make no 18 links of a switch; three and six do.
        (tree(3, 144, 36, few), "switch_count", "allowed: 108, 180"),
        (
            tree(3, 20, 8, CodesTops::Half),
            "switch_count",
            "allowed: 16",
        ),
        (tree(3, u32::MAX, 8, few), "switch_count", "allowed: 32"),
    ] {
        let error = build(tree).unwrap_err();
        assert_eq!(error.parameter(), Some(parameter), "{error}");
        assert!(error.to_string().ends_with(words), "{error}");
    }
}
