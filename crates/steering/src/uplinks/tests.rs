use proptest::prelude::*;

use super::*;

fn switch(ingress: &[u32], egress: &[u32]) -> UplinkSwitch {
    let pods = |pods: &[u32]| pods.iter().map(|&pod| GroupId(pod)).collect();
    UplinkSwitch {
        ingress: pods(ingress),
        egress: pods(egress),
        failed: vec![],
    }
}

/// All orders of `0..count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![vec![]];
    }
    let shorter = permutations(count - 1);
    let insert = |order: &Vec<usize>, place: usize| {
        let mut order = order.clone();
        order.insert(place, count - 1);
        order
    };
    (shorter.iter())
        .flat_map(|order| (0..count).map(move |place| insert(order, place)))
        .collect()
}

#[test]
fn traffic_gets_links_by_its_share_of_those_it_has() {
    // Pod 0 sends 9 to pod 1 and 4 to pod 2: 9 > 4, then 9/2 > 4, then 4 > 9/3, 9/3 > 4/2.
    let traffic = PodTraffic::new(3, vec![0.0, 9.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let switches = vec![switch(&[0, 1, 2], &[0, 1, 2]); 4];
    let steered = steer_uplinks(&traffic.unwrap(), &switches).unwrap();
    let of_pod_0: Vec<u32> = steered.iter().map(|ports| ports[0]).collect();
    assert_eq!(of_pod_0, [1, 1, 2, 1]);
}

#[test]
fn without_traffic_uplinks_stay_in_their_pods() {
    let traffic = PodTraffic::new(4, vec![0.0; 16]).unwrap();
    let switches = [
        switch(&[0, 1, 2, 3], &[2, 3, 1, 0]),
        switch(&[1, 1, 3], &[3, 1, 1]),
    ];
    let steered = steer_uplinks(&traffic, &switches).unwrap();
    assert_eq!(steered[0], [3, 2, 0, 1]);
    assert_eq!(steered[1][2], 0);
}

#[test]
fn flaws_are_told() {
    let refused = PodTraffic::new(2, vec![1.0; 3]).unwrap_err().to_string();
    assert!(
        refused.contains("3 numbers are no matrix of 2 by 2"),
        "{refused}"
    );
    for amount in [-1.0, f64::NAN, f64::INFINITY] {
        let error = PodTraffic::new(2, vec![0.0, 0.0, amount, 0.0]).unwrap_err();
        assert!(error.to_string().starts_with("pod 1 sends"), "{error}");
    }
    let traffic = PodTraffic::new(2, vec![1.0; 4]).unwrap();
    for (flawed, words) in [
        (switch(&[0, 1], &[0]), "2 ingress and 1 egress ports"),
        (switch(&[], &[]), "0 ingress"),
        (
            switch(&[0], &[2]),
            "a port of pod 2, but the traffic is between 2 pods",
        ),
    ] {
        let error = steer_uplinks(&traffic, &[switch(&[0], &[1]), flawed]).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("switch 1") && error.contains(words),
            "{error}"
        );
    }
}

fn instances(most_ports: usize) -> impl Strategy<Value = (usize, Vec<f64>, Vec<UplinkSwitch>)> {
    (2usize..6).prop_flat_map(move |pods| {
        let amount = prop_oneof![Just(0.0), 0.0f64..1e12, (1u32..4).prop_map(f64::from)];
        let port = 0..pods as u32;
        let sides = (1..=most_ports).prop_flat_map(move |radix| {
            let side = proptest::collection::vec(port.clone(), radix);
            (side.clone(), side).prop_map(|(ingress, egress)| switch(&ingress, &egress))
        });
        (
            Just(pods),
            proptest::collection::vec(amount, pods * pods),
            proptest::collection::vec(sides, 1..5),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// No port twice; and every matching is as heavy as the best of all orders, with the
    /// weights that the switches before it leave.
    #[test]
    fn every_switch_has_the_heaviest_matching((pods, amounts, switches) in instances(4)) {
        let traffic = PodTraffic::new(pods, amounts.clone()).unwrap();
        let steered = steer_uplinks(&traffic, &switches).unwrap();
        let most = amounts.iter().copied().fold(1e-300, f64::max);
        let mut links = vec![0u32; pods * pods];
        for (switch, matching) in switches.iter().zip(&steered) {
            let radix = switch.ingress.len();
            let pair = |from: usize, to: usize| {
                switch.ingress[from].index() * pods + switch.egress[to].index()
            };
            let weight = |to: &mut dyn Iterator<Item = usize>| -> f64 {
                to.enumerate()
                    .map(|(from, to)| {
                        let pair = pair(from, to);
                        amounts[pair] / most / (f64::from(links[pair]) + 1.0)
                    })
                    .sum()
            };
            let mut seen = matching.clone();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..radix as u32));
            let found = weight(&mut matching.iter().map(|&port| port as usize));
            for order in permutations(radix) {
                let other = weight(&mut order.iter().copied());
                prop_assert!(other <= found + 1e-10, "{other} above {found}");
            }
            for (from, &to) in matching.iter().enumerate() {
                links[pair(from, to as usize)] += 1;
            }
        }
    }
}
