use super::*;

fn job(submit: i64, estimate: i64, nodes: u32, user: Label) -> Candidate {
    Candidate {
        job: 0,
        submit: Seconds(submit),
        estimate: Seconds(estimate),
        nodes,
        user,
    }
}

#[test]
fn wfp_is_the_cube_of_wait_over_estimate_times_nodes() {
    let usage = Usage::new(0, 0);
    let of = |job| priority(&Order::Wfp, &job, Seconds(100), 10, &usage);
    // (80 / 40)³ · 3
    assert_eq!(of(job(20, 40, 3, Label::NONE)), 24.0);
    assert_eq!(of(job(100, 40, 3, Label::NONE)), 0.0);
}

#[test]
fn factors_of_slurm_have_their_definitions() {
    let mut names = crate::log::Names::default();
    let (ann, bob) = (names.label("ann"), names.label("bob"));
    let mut usage = Usage::new(2, 2);
    let only = |age, size, fair_share| {
        Order::Multifactor(Multifactor {
            age,
            size,
            fair_share,
            max_age: Seconds(1000),
            half_life: Seconds(100),
            favour_small: false,
        })
    };
    let of = |order: Order, usage: &Usage, now, user| {
        priority(&order, &job(0, 10, 4, user), Seconds(now), 16, usage)
    };
    assert_eq!(of(only(1.0, 0.0, 0.0), &usage, 250, ann), 0.25);
    assert_eq!(of(only(1.0, 0.0, 0.0), &usage, 5000, ann), 1.0);
    assert_eq!(of(only(0.0, 1.0, 0.0), &usage, 0, ann), 0.25);
    assert_eq!(of(only(0.0, 0.0, 1.0), &usage, 0, ann), 1.0);
    // Ann holds 3 nodes and Bob 1: three quarters of the usage at an equal share
    // of a half give 2^(−0.75 / 0.5), and Bob 2^(−0.25 / 0.5).
    usage.change(Seconds(0), ann, 3.0, Seconds(100));
    usage.change(Seconds(0), bob, 1.0, Seconds(100));
    usage.advance(Seconds(50), Seconds(100));
    let fair = |user| of(only(0.0, 0.0, 1.0), &usage, 0, user);
    assert!((fair(ann) - (-1.5f64).exp2()).abs() < 1e-12);
    assert!((fair(bob) - (-0.5f64).exp2()).abs() < 1e-12);
    // Ann ends; a half-life later her usage is half, Bob's a half and what he
    // gained: rate · h / ln 2 · (1 − ½).
    let (a, b) = (usage.of[0], usage.of[1]);
    usage.change(Seconds(50), ann, -3.0, Seconds(100));
    usage.advance(Seconds(150), Seconds(100));
    assert!((usage.of[0] - a / 2.0).abs() < 1e-9);
    assert!((usage.of[1] - (b / 2.0 + 50.0 / std::f64::consts::LN_2)).abs() < 1e-9);
}
