//! The incremental solution against a progressive filling of everything, which
//! is written down here a second time, from the definition.

use odonata_flow::share::{FairShare, FlowId, LinkId, TOLERANCE, Use};
use proptest::prelude::*;

/// A flow as the test knows it.
#[derive(Clone, Debug)]
struct Known {
    path: Vec<Use>,
    weight: f64,
}

/// Levels of all flows by progressive filling: raise all together; a flow that
/// crosses a link that is full stays; quadratic, from the definition.
fn filling(capacities: &[f64], flows: &[Known]) -> Vec<f64> {
    let mut level = vec![None; flows.len()];
    while level.iter().any(Option::is_none) {
        let mut next = f64::INFINITY;
        let mut full = vec![];
        for (link, &capacity) in capacities.iter().enumerate() {
            let (mut left, mut pull) = (capacity, 0.0);
            for (flow, known) in level.iter().zip(flows) {
                for step in known.path.iter().filter(|step| step.link.index() == link) {
                    match flow {
                        Some(level) => left -= step.share * flow_weight(known) * level,
                        None => pull += step.share * flow_weight(known),
                    }
                }
            }
            if pull > 0.0 {
                let at = left / pull;
                full.push((link, at));
                next = f64::min(next, at);
            }
        }
        for (link, at) in full {
            if at <= next * (1.0 + 1e-12) {
                for (flow, known) in level.iter_mut().zip(flows) {
                    if known.path.iter().any(|step| step.link.index() == link) {
                        flow.get_or_insert(next);
                    }
                }
            }
        }
    }
    level.into_iter().flatten().collect()
}

fn flow_weight(known: &Known) -> f64 {
    known.weight
}

/// Checks the definition of fairness itself on what the engine says, up to a relative
/// difference.
fn is_fair(capacities: &[f64], share: &FairShare, flows: &[(FlowId, Known)], tolerance: f64) {
    let level = |(id, known): &(FlowId, Known)| share.rate(*id) / known.weight;
    let mut carried = vec![0.0; capacities.len()];
    for flow in flows {
        for step in &flow.1.path {
            carried[step.link.index()] += share.rate(flow.0) * step.share;
        }
    }
    for (link, (&carried, &capacity)) in carried.iter().zip(capacities).enumerate() {
        assert!(
            carried <= capacity * (1.0 + 2.0 * TOLERANCE),
            "link {link}: {carried} of {capacity}"
        );
        let engine = share.carried(LinkId(link as u32));
        assert!((engine - carried).abs() <= 1e-9 * capacity);
    }
    for flow in flows {
        let bottleneck = share.bottleneck(flow.0).expect("a flow with links has one");
        let link = bottleneck.index();
        assert!(flow.1.path.iter().any(|step| step.link == bottleneck));
        assert!(
            carried[link] >= capacities[link] * (1.0 - tolerance - TOLERANCE),
            "link {link} is not full"
        );
        for other in flows {
            if other.1.path.iter().any(|step| step.link == bottleneck) {
                let most = level(flow) * (1.0 + tolerance + 2.0 * TOLERANCE);
                assert!(level(other) <= most, "{} of {most}", level(other));
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Begin(Known),
    End(usize),
}

fn path(links: usize) -> impl Strategy<Value = Vec<Use>> {
    let shares = prop_oneof![3 => Just(1.0), 1 => 0.05f64..1.0];
    proptest::collection::btree_map(0..links as u32, shares, 1..=links.min(6)).prop_map(|path| {
        path.into_iter()
            .map(|(link, share)| Use {
                link: LinkId(link),
                share,
            })
            .collect()
    })
}

/// Links and several events between two settlings, many times.
fn history() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<Event>>)> {
    // Equal capacities make ties, others make none.
    let capacity = prop_oneof![Just(10.0), Just(5.0), 0.5f64..20.0];
    (2usize..14, capacity.clone().boxed()).prop_flat_map(move |(links, _)| {
        let weight = prop_oneof![2 => Just(1.0), 1 => 0.1f64..4.0];
        let begin =
            (path(links), weight).prop_map(|(path, weight)| Event::Begin(Known { path, weight }));
        let event = prop_oneof![3 => begin, 2 => any::<usize>().prop_map(Event::End)];
        (
            proptest::collection::vec(capacity.clone(), links),
            proptest::collection::vec(proptest::collection::vec(event, 1..4), 1..60),
        )
    })
}

fn apply(event: Event, share: &mut FairShare, flows: &mut Vec<(FlowId, Known)>) {
    match event {
        Event::Begin(known) => {
            let id = share.add(&known.path, known.weight);
            flows.push((id, known));
        }
        Event::End(which) if !flows.is_empty() => {
            let (id, _) = flows.swap_remove(which % flows.len());
            share.remove(id);
        }
        Event::End(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn rates_are_those_of_filling_everything_anew((capacities, history) in history()) {
        let mut share = FairShare::new(capacities.iter().copied());
        let mut flows: Vec<(FlowId, Known)> = vec![];
        let mut rates: Vec<f64> = vec![];
        for events in history {
            for event in events {
                apply(event, &mut share, &mut flows);
            }
            let mut changed = vec![];
            share.settle(&mut changed);
            is_fair(&capacities, &share, &flows, TOLERANCE);
            let known: Vec<Known> = flows.iter().map(|flow| flow.1.clone()).collect();
            for (flow, level) in flows.iter().zip(filling(&capacities, &known)) {
                let rate = share.rate(flow.0);
                let expected = level * flow.1.weight;
                prop_assert!((rate - expected).abs() <= 1e-8 * expected, "{rate} {expected}");
            }
            // Who is not among the changed has kept the rate that it had.
            rates.resize(share_size(&flows, &rates), 0.0);
            for flow in &changed {
                rates[flow.index()] = share.rate(*flow);
            }
            for (id, _) in &flows {
                prop_assert_eq!(rates[id.index()].to_bits(), share.rate(*id).to_bits());
            }
        }
    }
}

fn share_size(flows: &[(FlowId, Known)], rates: &[f64]) -> usize {
    let needed = flows.iter().map(|(id, _)| id.index() + 1).max();
    rates.len().max(needed.unwrap_or(0))
}

#[test]
fn a_change_far_away_costs_nothing() {
    // 1,000 separate links with two flows each: one that ends concerns one other.
    let mut share = FairShare::new(vec![1.0; 1000]);
    let mut changed = vec![];
    let only = |link| {
        [Use {
            link: LinkId(link),
            share: 1.0,
        }]
    };
    let flows: Vec<FlowId> = (0..2000).map(|n| share.add(&only(n % 1000), 1.0)).collect();
    share.settle(&mut changed);
    let before = share.work();
    changed.clear();
    share.remove(flows[7]);
    share.settle(&mut changed);
    assert_eq!(changed, [flows[1007]]);
    assert_eq!(share.rate(flows[1007]), 1.0);
    assert_eq!(share.work().flows - before.flows, 1);
}
