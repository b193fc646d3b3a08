use super::*;
use crate::grid::Grid;
use crate::motif::{AllToAll, Halo, Repeat};

#[test]
fn a_ring_of_neighbours_sends_receives_and_waits() {
    let grid = Grid::new(&[3], true).unwrap();
    let halo = Halo::new(grid, Bytes(10), Repeat::times(5)).unwrap();
    let listed = listing(&halo, 2, 1_000).unwrap();
    assert_eq!(listed.ranks.len(), 3);
    assert_eq!(listed.largest, Bytes(10));
    for (rank, steps) in listed.ranks.iter().enumerate() {
        let ends = steps.iter().filter(|s| **s == ListedStep::End).count();
        assert_eq!(ends, 2);
        let mut to = vec![];
        let mut from = vec![];
        let mut open = BTreeSet::new();
        for step in steps {
            match step {
                ListedStep::Send(peer, bytes, _, request) => {
                    assert_eq!(*bytes, Bytes(10));
                    to.push(peer.0);
                    assert!(
                        open.insert(*request),
                        "a name is free before it is used again"
                    );
                }
                ListedStep::Receive(peer, _, request) => {
                    from.push(peer.unwrap().0);
                    assert!(open.insert(*request));
                }
                ListedStep::Wait(requests) => {
                    assert!(requests.iter().all(|request| open.remove(request)));
                }
                // Nothing is outstanding between iterations of a motif.
                ListedStep::End => assert!(open.is_empty()),
                ListedStep::Compute(_) => {}
            }
        }
        let rank = rank as u32;
        let mut neighbours = [(rank + 1) % 3, (rank + 2) % 3].repeat(2);
        neighbours.sort_unstable();
        for mut peers in [to, from] {
            peers.sort_unstable();
            assert_eq!(peers, neighbours);
        }
    }
}

#[test]
fn sends_and_receives_of_a_channel_are_pairs() {
    let all = AllToAll::new(7, Bytes(3), 2, Repeat::times(2)).unwrap();
    let listed = listing(&all, 2, 10_000).unwrap();
    let mut sent = std::collections::BTreeMap::new();
    for (rank, steps) in (0u32..).zip(&listed.ranks) {
        for step in steps {
            match *step {
                ListedStep::Send(to, _, channel, _) => {
                    *sent.entry((rank, to.0, channel)).or_insert(0i64) += 1;
                }
                ListedStep::Receive(Some(from), channel, _) => {
                    *sent.entry((from.0, rank, channel)).or_insert(0i64) -= 1;
                }
                _ => {}
            }
        }
    }
    assert!(sent.values().all(|&left| left == 0));
    assert!(sent.keys().all(|key| key.2 < listed.channels));
}

#[test]
fn what_is_too_long_is_refused() {
    let all = AllToAll::new(100, Bytes(1), 1, Repeat::ONCE).unwrap();
    let found = listing(&all, 1, 5_000);
    assert_eq!(found, Err(WalkError::TooLong { limit: 5_000 }));
}
