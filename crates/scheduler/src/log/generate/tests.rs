use super::*;

fn model(kind: Kind) -> LublinFeitelson {
    LublinFeitelson {
        kind,
        nodes: 128,
        jobs: 20_000,
        arrivals: 1.0,
        request: None,
        seed: 1,
    }
}

#[test]
fn gamma_draws_have_their_mean_and_variance() {
    // Mean kθ, variance kθ²; the standard errors of 40,000 draws are below 1 %
    // and 2 % of them.
    let mut draws = StreamKey::new(1, Purpose::Workload).stream(0);
    for (shape, scale) in [(4.2, 0.94), (312.0, 0.03)] {
        let sample: Vec<f64> = (0..40_000)
            .map(|_| gamma(shape, scale, &mut draws))
            .collect();
        let mean = sample.iter().sum::<f64>() / sample.len() as f64;
        let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sample.len() as f64;
        assert!((mean / (shape * scale) - 1.0).abs() < 0.02, "{mean}");
        assert!(
            (variance / (shape * scale * scale) - 1.0).abs() < 0.05,
            "{variance}"
        );
    }
}

#[test]
fn shares_of_sizes_are_the_models() {
    for (kind, serial, power) in [(Kind::All, 0.244, 0.576), (Kind::Batch, 0.2927, 0.6686)] {
        let (log, _) = model(kind).generate().unwrap();
        let of = |is: &dyn Fn(u32) -> bool| {
            log.jobs.iter().filter(|job| is(job.nodes)).count() as f64 / log.jobs.len() as f64
        };
        // Three standard errors of 20,000 draws: 0.0105 at most.
        assert!((of(&|nodes| nodes == 1) - serial).abs() < 0.0105);
        // Other parallel sizes may round to a power of two, so at least this share.
        let powers = of(&|nodes| nodes > 1 && nodes.is_power_of_two());
        assert!(powers > power - 0.0105 && powers < power + 0.12, "{powers}");
        assert_eq!(of(&|nodes| nodes == 0 || nodes > 128), 0.0);
    }
}

#[test]
fn days_have_a_cycle_and_gaps_their_scale() {
    let (log, _) = model(Kind::All).generate().unwrap();
    let mut by_half_hour = [0u32; SLOTS];
    for job in &log.jobs {
        by_half_hour[(job.submit.0 / 1800) as usize % SLOTS] += 1;
    }
    // The gamma distribution of the hours has its mode at (k − 1)θ = 28.4 half
    // hours (about 14:00) and its least weight at the day's start, 05:30.
    let (busy, quiet): (u32, u32) = (
        by_half_hour[26..31].iter().sum(),
        by_half_hour[8..13].iter().sum(),
    );
    assert!(busy > 3 * quiet, "{by_half_hour:?}");
    // The mean of exp(gamma(k, θ)) is (1 − θ)⁻ᵏ = 1,085 s for k = 10.46, θ = 0.4871;
    // its tail is cut at e¹³ s, which lowers it by at most a few percent.
    let mean = log.span().0 as f64 / log.jobs.len() as f64;
    let exact = (1.0f64 - 0.4871).powf(-10.2303 * 1.0225);
    assert!(mean > 0.8 * exact && mean < 1.1 * exact, "{mean} {exact}");
}

#[test]
fn seeds_decide_and_longer_logs_begin_alike() {
    let (a, _) = model(Kind::Batch).generate().unwrap();
    let (b, _) = model(Kind::Batch).generate().unwrap();
    assert_eq!(a.jobs, b.jobs);
    let (c, _) = LublinFeitelson {
        seed: 2,
        ..model(Kind::Batch)
    }
    .generate()
    .unwrap();
    assert_ne!(a.jobs, c.jobs);
    let (short, _) = LublinFeitelson {
        jobs: 100,
        ..model(Kind::Batch)
    }
    .generate()
    .unwrap();
    assert_eq!(short.jobs[..], a.jobs[..100]);
    assert!(
        a.jobs
            .windows(2)
            .all(|pair| pair[0].submit <= pair[1].submit)
    );
}

#[test]
fn requests_cover_the_run_time() {
    let (log, _) = LublinFeitelson {
        request: Some(1.5),
        ..model(Kind::All)
    }
    .generate()
    .unwrap();
    for job in &log.jobs {
        let requested = job.requested.unwrap().0;
        assert_eq!(requested % 60, 0);
        assert!(requested >= job.run.0 && requested as f64 <= job.run.0.max(1) as f64 * 1.5 + 60.0);
    }
    assert!(
        LublinFeitelson {
            request: Some(0.5),
            ..model(Kind::All)
        }
        .generate()
        .is_err()
    );
    assert!(
        LublinFeitelson {
            nodes: 1,
            ..model(Kind::All)
        }
        .generate()
        .is_err()
    );
}
