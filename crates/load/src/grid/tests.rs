use super::*;

#[test]
fn near_cubic_grids() {
    for (ranks, dimensions, expected) in [
        (1_000, 3, vec![10, 10, 10]),
        (48, 3, vec![4, 4, 3]),
        (64, 4, vec![4, 4, 2, 2]),
        (1_728, 3, vec![12, 12, 12]),
        (12, 2, vec![4, 3]),
        (7, 3, vec![7, 1, 1]),
        (1, 2, vec![1, 1]),
        (36, 3, vec![4, 3, 3]),
        (82_944, 3, vec![48, 48, 36]),
        (4_294_967_291, 3, vec![4_294_967_291, 1, 1]),
    ] {
        let grid = Grid::near_cubic(ranks, dimensions, true).unwrap();
        assert_eq!(grid.extents(), expected, "{ranks} ranks");
    }
    assert!(Grid::near_cubic(0, 3, true).is_err());
    assert!(Grid::near_cubic(8, 5, true).is_err());
}

#[test]
fn neighbours_in_a_small_grid() {
    // 3 wide and 2 high:  3 4 5
    //                     0 1 2
    let open = Grid::new(&[3, 2], false).unwrap();
    assert_eq!(open.neighbour(RankId(1), 0, true), Some(RankId(2)));
    assert_eq!(open.neighbour(RankId(2), 0, true), None);
    assert_eq!(open.neighbour(RankId(1), 1, true), Some(RankId(4)));
    assert_eq!(open.neighbour(RankId(1), 1, false), None);
    let wrapped = Grid::new(&[3, 2], true).unwrap();
    assert_eq!(wrapped.neighbour(RankId(2), 0, true), Some(RankId(0)));
    assert_eq!(wrapped.neighbour(RankId(3), 0, false), Some(RankId(5)));
    assert_eq!(wrapped.neighbour(RankId(1), 1, false), Some(RankId(4)));
    let mixed = open.with_periodic(&[true, false]).unwrap();
    assert_eq!(mixed.neighbour(RankId(2), 0, true), Some(RankId(0)));
    assert_eq!(mixed.neighbour(RankId(1), 1, false), None);
    assert!(open.with_periodic(&[true]).is_err());
}

#[test]
fn faces_count_the_neighbours() {
    for grid in [
        Grid::new(&[3, 2, 1, 4], true).unwrap(),
        Grid::new(&[3, 2, 1, 4], false).unwrap(),
        Grid::new(&[5], false).unwrap(),
    ] {
        for d in 0..grid.dimensions() {
            let counted = (0..grid.points())
                .flat_map(|rank| [true, false].map(|up| grid.neighbour(RankId(rank), d, up)))
                .flatten()
                .count();
            assert_eq!(grid.faces(d), counted as u64, "{grid:?} dimension {d}");
        }
    }
}

#[test]
fn pairs_count_the_shifted_ranks() {
    for periodic in [[true; 3], [false; 3], [true, false, true]] {
        let grid = Grid::new(&[3, 2, 1], true).unwrap();
        let grid = grid.with_periodic(&periodic).unwrap();
        for x in -3..=3 {
            for y in -2..=2 {
                for z in -1..=1 {
                    let offset = [x, y, z, 0];
                    let shifted = |rank| grid.shifted(RankId(rank), offset);
                    let counted = (0..6).filter_map(shifted).count();
                    assert_eq!(grid.pairs(offset), counted as u64, "{grid:?} {offset:?}");
                    // The way back leads back.
                    for rank in 0..6 {
                        if let Some(to) = shifted(rank) {
                            let back = grid.shifted(to, offset.map(|step| -step));
                            assert_eq!(back, Some(RankId(rank)));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn shapes_that_are_no_grid_are_refused() {
    assert!(Grid::new(&[], true).is_err());
    assert!(Grid::new(&[2, 0], true).is_err());
    assert!(Grid::new(&[2; 5], true).is_err());
    assert!(Grid::new(&[65_536, 65_536], true).is_err());
    let error = Grid::new(&[4, 4, 2], true).unwrap().check(36).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the process grid 4x4x2 has 32 points, but the job has 36 ranks"
    );
}
