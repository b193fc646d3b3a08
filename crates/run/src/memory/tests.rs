use super::*;

#[test]
fn any_index_is_accepted_and_nothing_changes() {
    let data = [1u64, 2, 3];
    for index in [0, 2, 3, usize::MAX] {
        prefetch(&data, index);
    }
    prefetch::<u64>(&[], 0);
    assert_eq!(data, [1, 2, 3]);
}

/// Small and large, with contents and without, elements of no size.
#[test]
fn huge_pages_keep_contents() {
    for capacity in [0, 1, 1_000, 3 << 20] {
        let mut vec = vec_in_huge_pages::<u32>(capacity, "a test");
        assert!(vec.capacity() >= capacity && vec.is_empty());
        for value in 0..capacity as u32 + 10 {
            make_room(&mut vec, "a test");
            vec.push(value);
        }
        prefer_huge_pages(&vec);
        assert!(vec.iter().copied().eq(0..capacity as u32 + 10));
    }
    prefer_huge_pages::<()>(&vec![(); 10]);
}

/// More than any machine has, and more than a vector can hold.
#[test]
fn what_is_not_there_is_an_error_that_says_who_asked() {
    for len in [1 << 50, usize::MAX] {
        let refused = within_memory(|| Ok::<_, SimError>(filled(0u64, len, "the test's vector")));
        let error = refused.expect_err("so much memory").to_string();
        assert!(
            error.contains("not enough memory for the test's vector"),
            "{error}"
        );
    }
    let small = within_memory(|| Ok::<_, SimError>(filled(0u64, 3, "the test's vector")));
    assert_eq!(small.expect("three numbers"), [0; 3]);
}

/// They grow, keep what they hold, and are refused as vectors are.
#[test]
fn other_collections_grow_as_well() {
    let mut line = VecDeque::new();
    let mut map = HashMap::new();
    for value in 0..10_000 {
        make_room_in(&mut line, "a test");
        line.push_back(value);
        make_room_in(&mut map, "a test");
        map.insert(value, value);
    }
    assert!(line.into_iter().eq(0..10_000));
    assert!((0..10_000).all(|value| map[&value] == value));

    /// Has no place for what it would grow to.
    struct Endless;
    impl GrowingCollection for Endless {
        fn is_full(&self) -> bool {
            true
        }
        fn growth_bytes(&self) -> usize {
            1 << 50
        }
        fn try_grow(&mut self) -> Result<(), TryReserveError> {
            Vec::<u8>::new().try_reserve(usize::MAX)
        }
    }
    let refused = within_memory(|| {
        make_room_in(&mut Endless, "the test's map");
        Ok::<_, SimError>(())
    });
    let error = refused.expect_err("so much memory").to_string();
    assert!(
        error.contains("not enough memory for the test's map"),
        "{error}"
    );
}

/// What a hash map asks for is what it says that it asks for, or a little less.
#[test]
fn the_growth_of_a_map_is_foreseen() {
    let mut map = HashMap::<u64, u64>::new();
    for value in 0..100_000 {
        if map.is_full() && value > 100 {
            let foreseen = map.growth_bytes();
            map.try_grow().expect("a little memory");
            let places = map.capacity() / 7 * 8;
            assert!((foreseen..foreseen + 64 * 17).contains(&(places * 17)));
        }
        map.insert(value, value);
    }
}

/// Not every machine says so; one that does has more than nothing, and less than 2^50 B.
#[test]
fn what_is_left_is_a_number_of_bytes() {
    assert!(left().is_none_or(|bytes| (1 << 20..1 << 50).contains(&bytes)));
}
