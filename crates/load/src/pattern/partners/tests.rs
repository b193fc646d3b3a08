use super::*;
use odonata_units::random::Purpose;

fn destinations(partners: &Partners, source: u32, messages: u32) -> Vec<u32> {
    let key = StreamKey::new(5, Purpose::Destination);
    let of = |n| {
        partners
            .destination(key, 0, n, RankId(source))
            .map(|to| to.0)
    };
    (0..messages).filter_map(of).collect()
}

#[test]
fn inner_points_of_a_cube_have_six_neighbours() {
    let open = Grid::new(&[3, 3, 3], false).unwrap();
    let all = Partners::neighbours(&open, Turn::All).unwrap();
    // Rank = x + 3y + 9z; the middle is (1, 1, 1).
    assert_eq!(all.of(RankId(13)), [14, 12, 16, 10, 22, 4]);
    assert_eq!(all.of(RankId(0)), [1, 3, 9]);
    assert_eq!((all.at_once(RankId(0)), all.most_at_once()), (3, 6));
    assert_eq!(destinations(&all, 0, 7), [1, 3, 9, 1, 3, 9, 1]);
    let around = Grid::new(&[3, 3, 3], true).unwrap();
    let around = Partners::neighbours(&around, Turn::Random).unwrap();
    assert_eq!(around.of(RankId(0)), [1, 2, 3, 6, 9, 18]);
    assert_eq!(around.most_at_once(), 1);
    // Each of six with probability 1/6: 1,000 ± 144 of 6,000 (five deviations).
    let drawn = destinations(&around, 0, 6_000);
    for to in [1, 2, 3, 6, 9, 18] {
        let count = drawn.iter().filter(|&&drawn| drawn == to).count();
        assert!(count.abs_diff(1_000) < 144, "{to}: {count}");
    }
}

#[test]
fn flat_dimensions_have_no_neighbours_and_pairs_have_one_twice() {
    let grid = Grid::new(&[2, 1, 3], true).unwrap();
    let partners = Partners::neighbours(&grid, Turn::Next).unwrap();
    assert_eq!(partners.of(RankId(0)), [1, 1, 2, 4]);
}

#[test]
fn partners_at_distances_lie_on_a_ring() {
    let partners = Partners::at_distances(5, &[1, 4, 5, 7], Turn::Next).unwrap();
    assert_eq!(partners.of(RankId(0)), [1, 4, 2]);
    assert_eq!(partners.of(RankId(4)), [0, 3, 1]);
}

#[test]
fn one_rank_sends_to_all_others() {
    let partners = Partners::all_of_one(4, RankId(2)).unwrap();
    assert_eq!(destinations(&partners, 2, 4), [0, 1, 3, 0]);
    assert!(destinations(&partners, 0, 4).is_empty());
    assert_eq!(
        (partners.at_once(RankId(0)), partners.most_at_once()),
        (0, 3)
    );
    assert!(Partners::all_of_one(4, RankId(4)).is_err());
}

#[test]
fn counterparts_have_the_same_place_in_every_other_block() {
    // Blocks 0: ranks 0, 1, 2; 1: ranks 3, 4; 2: ranks 5, 6, 7.
    let blocks = Blocks::new(&[0, 0, 0, 1, 1, 2, 2, 2]);
    let partners = Partners::counterparts(&blocks, Turn::Next).unwrap();
    assert_eq!(partners.of(RankId(1)), [4, 6]);
    assert_eq!(partners.of(RankId(3)), [5, 0]);
    // Place 2 of the block of two is its place 0.
    assert_eq!(partners.of(RankId(7)), [2, 3]);
    assert_eq!(destinations(&partners, 1, 3), [4, 6, 4]);
    assert!(Partners::counterparts(&Blocks::new(&[4, 4]), Turn::Next).is_err());
}
