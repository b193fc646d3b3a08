use super::super::call::Span;
use super::*;

#[test]
fn time_between_calls_is_computing() {
    let record = |entered, left, local| Record {
        at: 0,
        span: Some(Span { entered, left }),
        local,
    };
    let mut gaps = Gaps::default();
    let records = [
        // A gap starts where the first call returns.
        (record(100, 110, false), 0),
        (record(115, 120, false), 5),
        // A local call is part of the gap around it: 120 to 140.
        (record(125, 130, true), 0),
        (record(140, 150, false), 20),
        // Entered before the one before returned.
        (record(145, 147, false), 0),
        (record(160, 161, false), 10),
    ];
    for (record, expected) in records {
        assert_eq!(gaps.before(&record), Picoseconds(expected));
    }
    let untimed = Record {
        at: 0,
        span: None,
        local: false,
    };
    assert_eq!(gaps.before(&untimed), Picoseconds::ZERO);
    assert_eq!((gaps.negative(), gaps.untimed()), (1, 1));
}

#[test]
fn time_in_a_region_reaches_from_its_start_to_its_end() {
    let record = |entered, left| Record {
        at: 0,
        span: Some(Span { entered, left }),
        local: false,
    };
    let mut gaps = Gaps::from(Some(90));
    assert_eq!(gaps.before(&record(100, 110)), Picoseconds(10));
    assert_eq!(gaps.rest(Some(125)), Picoseconds(15));
    assert_eq!(gaps.rest(Some(105)), Picoseconds::ZERO);
    assert_eq!(gaps.rest(None), Picoseconds::ZERO);
}

#[test]
fn ten_times_is_ten_times() {
    let recorded = Picoseconds(123_456_789_000);
    assert_eq!(
        Compute::Scaled(10.0).of(recorded),
        Picoseconds(1_234_567_890_000)
    );
    assert_eq!(Compute::Scaled(0.0).of(recorded), Picoseconds::ZERO);
    assert_eq!(Compute::Fixed(Picoseconds(7)).of(recorded), Picoseconds(7));
}
