use super::*;

const ORDERED: Context = Context::ordered(0);
const UNORDERED: Context = Context::unordered(0);

fn envelope(context: Context, source: u32, tag: u32) -> Envelope {
    Envelope {
        context,
        source,
        tag,
    }
}

fn wanted(context: Context, source: Option<u32>, tag: Option<u32>) -> Wanted {
    Wanted {
        context,
        source,
        tag,
    }
}

fn receive(request: u32) -> Posted {
    Posted {
        request: RequestId(request),
        processor: 0,
    }
}

fn message(bytes: u64) -> Arrived {
    Arrived::Message { bytes, created: 0 }
}

/// Bytes and request of all that match when a message arrives.
fn arrive(matching: &mut Matching, from: Envelope, number: u32, bytes: u64) -> Vec<(u64, u32)> {
    let mut pairs = Vec::new();
    matching.arrive(from, number, message(bytes), |_, what, posted| {
        let Arrived::Message { bytes, .. } = what else {
            panic!("no message");
        };
        pairs.push((bytes, posted.request.0));
    });
    pairs
}

fn post(matching: &mut Matching, wanted: Wanted, request: u32) -> Option<u64> {
    match matching.post(wanted, receive(request))? {
        (_, Arrived::Message { bytes, .. }) => Some(bytes),
        _ => panic!("no message"),
    }
}

#[test]
fn a_message_gets_the_receive_that_was_posted_first() {
    let c = UNORDERED;
    let mut m = Matching::default();
    post(&mut m, wanted(c, Some(1), Some(9)), 1);
    post(&mut m, wanted(c, None, Some(9)), 2);
    post(&mut m, wanted(c, Some(1), None), 3);
    post(&mut m, wanted(c, Some(1), Some(9)), 4);
    post(&mut m, wanted(c, None, None), 5);
    // Another context has receives of its own.
    assert_eq!(
        arrive(&mut m, envelope(Context::unordered(1), 1, 9), 0, 1),
        []
    );
    assert_eq!(arrive(&mut m, envelope(c, 1, 9), 0, 10), [(10, 1)]);
    assert_eq!(arrive(&mut m, envelope(c, 2, 9), 0, 20), [(20, 2)]);
    assert_eq!(arrive(&mut m, envelope(c, 1, 9), 0, 30), [(30, 3)]);
    assert_eq!(arrive(&mut m, envelope(c, 1, 9), 0, 40), [(40, 4)]);
    assert_eq!(arrive(&mut m, envelope(c, 7, 7), 0, 50), [(50, 5)]);
    assert_eq!(m.unreceived(), 1);
    assert_eq!(m.waits_for(), None);
}

#[test]
fn a_receive_gets_the_message_that_came_first() {
    let c = UNORDERED;
    let mut m = Matching::default();
    for (source, tag, bytes) in [(3, 1, 1), (2, 1, 2), (3, 2, 3), (3, 1, 4), (2, 2, 5)] {
        assert_eq!(arrive(&mut m, envelope(c, source, tag), 0, bytes), []);
    }
    assert_eq!(m.unreceived(), 5);
    assert_eq!(post(&mut m, wanted(c, None, Some(2)), 1), Some(3));
    assert_eq!(post(&mut m, wanted(c, Some(2), None), 2), Some(2));
    assert_eq!(post(&mut m, wanted(c, Some(2), Some(1)), 3), None);
    assert_eq!(post(&mut m, wanted(c, None, None), 4), Some(1));
    assert_eq!(post(&mut m, wanted(c, Some(3), Some(1)), 5), Some(4));
    assert_eq!(post(&mut m, wanted(c, None, None), 6), Some(5));
    let waits = m.waits_for().unwrap();
    assert_eq!(waits, "a message from rank 2 with tag 1");
}

#[test]
fn ordered_contexts_undo_overtaking() {
    let c = ORDERED;
    let (mut sender, mut m) = (Matching::default(), Matching::default());
    let numbers: Vec<u32> = (0..4).map(|_| sender.number(c, 5)).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert_eq!(sender.number(c, 6), 0);
    post(&mut m, wanted(c, None, None), 1);
    post(&mut m, wanted(c, Some(8), None), 2);
    // The third and the second come before the first, and wait for it.
    assert_eq!(arrive(&mut m, envelope(c, 8, 70), 2, 30), []);
    assert_eq!(arrive(&mut m, envelope(c, 8, 71), 1, 20), []);
    assert_eq!(m.unreceived(), 2);
    assert_eq!(
        arrive(&mut m, envelope(c, 8, 72), 0, 10),
        [(10, 1), (20, 2)]
    );
    assert_eq!(post(&mut m, wanted(c, Some(8), Some(70)), 3), Some(30));
    assert_eq!(arrive(&mut m, envelope(c, 8, 72), 3, 40), []);
    assert_eq!(m.unreceived(), 1);
}

#[test]
fn numbers_go_round() {
    let c = ORDERED;
    let mut m = Matching::default();
    m.come.insert((c, 1), u32::MAX);
    post(&mut m, wanted(c, Some(1), None), 1);
    post(&mut m, wanted(c, Some(1), None), 2);
    assert_eq!(arrive(&mut m, envelope(c, 1, 0), 0, 2), []);
    let both = arrive(&mut m, envelope(c, 1, 0), u32::MAX, 1);
    assert_eq!(both, [(1, 1), (2, 2)]);
}
