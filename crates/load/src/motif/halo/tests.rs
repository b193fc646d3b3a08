use super::*;
use crate::cursor::Cursor;
use crate::program::Action;
use crate::script::{Operation, SCRIPT_CONTEXT, Script};
use odonata_units::Picoseconds;

#[test]
fn a_corner_of_an_open_plane_has_two_neighbours() {
    let grid = Grid::new(&[3, 2], false).unwrap();
    let repeat = Repeat {
        iterations: 1,
        compute: Picoseconds(7),
    };
    let faces = [Bytes(20), Bytes(30)];
    let halo = Halo::with_faces(grid, &faces, HaloOrder::Together, false, repeat).unwrap();
    let mut cursor = Cursor::default();
    let operations: Vec<_> = (0..9).map(|_| halo.next(RankId(0), &mut cursor)).collect();
    let receive = |from, tag| Operation::Receive {
        from: RankId(from),
        tag,
    };
    let send = |to, bytes, tag| Operation::Send {
        to: RankId(to),
        bytes: Bytes(bytes),
        tag,
    };
    // Rank 0 sends up (tag 0 and 2) and receives what its neighbours send down.
    assert_eq!(
        operations,
        [
            Operation::Compute(Picoseconds(7)),
            receive(1, 1),
            receive(3, 3),
            send(1, 20, 0),
            send(3, 30, 2),
            Operation::WaitAll,
            Operation::EndIteration,
            Operation::Finish,
            Operation::Finish,
        ]
    );
}

/// As Ember's Halo3D: per dimension both receives, a blocking send down and one up, and
/// the receives.
#[test]
fn embers_order_and_blocking() {
    let grid = Grid::new(&[3, 2], false).unwrap();
    let faces = [Bytes(20), Bytes(30)];
    let halo = Halo::with_faces(grid, &faces, HaloOrder::Dimensions, true, Repeat::ONCE).unwrap();
    let mut cursor = Cursor::default();
    let operations: Vec<_> = (0..10).map(|_| halo.next(RankId(1), &mut cursor)).collect();
    let receive = |from, tag| Operation::Receive {
        from: RankId(from),
        tag,
    };
    let send = |to, bytes, tag| {
        Operation::Do(Action::Send {
            to: RankId(to),
            bytes: Bytes(bytes),
            context: SCRIPT_CONTEXT,
            tag,
        })
    };
    // Rank 1 lies between 0 and 2, below 4.
    assert_eq!(
        operations,
        [
            receive(2, 0),
            receive(0, 1),
            send(0, 20, 0),
            send(2, 20, 1),
            Operation::WaitAll,
            receive(4, 2),
            send(4, 30, 3),
            Operation::WaitAll,
            Operation::EndIteration,
            Operation::Finish,
        ]
    );
}

#[test]
fn totals_of_periodic_and_open_grids() {
    // 4x4x4 wrapped: 6 messages a rank. Open: 2 * 3 * (64 - 16) messages.
    let wrapped = Halo::new(
        Grid::new(&[4; 3], true).unwrap(),
        Bytes(1_000),
        Repeat::times(2),
    );
    assert_eq!(wrapped.unwrap().totals().unwrap().messages, 2 * 6 * 64);
    let open = Halo::new(
        Grid::new(&[4; 3], false).unwrap(),
        Bytes(1_000),
        Repeat::times(2),
    );
    let open = open.unwrap();
    assert_eq!(open.totals().unwrap().messages, 2 * 288);
    assert_eq!(open.totals().unwrap().bytes, Bytes(2 * 288_000));
    assert!(
        Halo::with_faces(
            Grid::new(&[4; 3], true).unwrap(),
            &[Bytes(1)],
            HaloOrder::Together,
            false,
            Repeat::ONCE
        )
        .is_err()
    );
    assert!(Halo::new(Grid::new(&[4; 3], true).unwrap(), Bytes(0), Repeat::ONCE).is_err());
}
