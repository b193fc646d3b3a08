use super::*;

#[test]
fn duration_is_the_rounded_quotient() {
    for rate in [
        1_000,
        999_983,
        1_000_000_000,
        5_637_144_576,
        17_179_869_184,
        200_000_000_000,
    ] {
        let bandwidth = Bandwidth::new(rate).unwrap();
        for bytes in [0u64, 1, 7, 8, 64, 100, 1_024, 4_096, 9_000, 65_536] {
            let doubled = u128::from(bytes) * 2_000_000_000_000 / u128::from(rate);
            let rounded = doubled.div_ceil(2) as u64;
            assert_eq!(
                bandwidth.duration_of(bytes).0,
                rounded,
                "{bytes} B at {rate} B/s"
            );
        }
    }
}

#[test]
fn a_bandwidth_is_shown_as_people_write_it() {
    let shown = |rate| Bandwidth::new(rate).unwrap().to_string();
    assert_eq!(shown(17_000_000_000), "17 GB/s");
    assert_eq!(shown(12_500_000_000_000), "12500 GB/s");
    assert_eq!(shown(1_250_000), "1.25 MB/s");
    assert_eq!(shown(1_000), "1 kB/s");
}

#[test]
fn zero_bandwidth_is_refused() {
    assert!(Bandwidth::new(0).is_err());
    assert!(Bandwidth::new(999).is_err());
    assert!(Bandwidth::new(1_000).is_ok());
}

#[test]
fn what_takes_longer_than_time_lasts_ends_with_it() {
    let slowest = Bandwidth::new(1_000).unwrap();
    assert_eq!(slowest.duration_of(u64::MAX), Picoseconds(u64::MAX));
    let day = 24 * 3_600 * 1_000;
    assert_eq!(
        slowest.duration_of(50 * day),
        Picoseconds::LARGEST,
        "50 days at a byte per millisecond"
    );
}

#[test]
fn a_simulated_time_and_a_few_durations_do_not_wrap() {
    let sum = Picoseconds::LARGEST.0.checked_mul(4);
    assert!(sum.is_some());
    let delays = Picoseconds::LONGEST_DELAY.0.checked_mul(1_000);
    assert!(delays < Some(Picoseconds::LARGEST.0));
}

#[test]
fn durations_print_in_the_largest_unit() {
    assert_eq!(Picoseconds(1_500).to_string(), "1.5 ns");
    assert_eq!(Picoseconds(999).to_string(), "999 ps");
    assert_eq!(Picoseconds(2_000_000_000_000).to_string(), "2 s");
}
