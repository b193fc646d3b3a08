//! The incremental solution against a progressive filling of everything, which
//! is written down here a second time, from the definition.

use odonata_flow::share::{FairShare, FlowId, INCAST, LinkId, TOLERANCE, Use};
use proptest::prelude::*;

/// A flow as the test knows it.
#[derive(Clone, Debug)]
struct Known {
    path: Vec<Use>,
    weight: f64,
    long: bool,
}

/// Levels of all flows by progressive filling: raise all together; a flow that
/// crosses a link that is full stays, and so does what comes over links in which a
/// long flow stands; quadratic, from the definition.
fn filling(incast: usize, capacities: &[f64], flows: &[Known]) -> Vec<f64> {
    let mut level: Vec<Option<f64>> = vec![None; flows.len()];
    // Links ahead of the last one before which a flow stands.
    let mut before = vec![u8::MAX; flows.len()];
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
        full.retain(|&(_, at)| at <= next * (1.0 + 1e-12));
        // Flows that are stopped now, with the links ahead of the first that stops them.
        let mut stopped = vec![];
        for (flow, known) in flows
            .iter()
            .enumerate()
            .filter(|(flow, _)| level[*flow].is_none())
        {
            let stops = |step: &&Use| full.iter().any(|(link, _)| *link == step.link.index());
            if let Some(first) = known.path.iter().filter(stops).map(|step| step.ahead).max() {
                stopped.push((flow, first, first == 0 && is_incast(incast, flows, known)));
            }
        }
        for (flow, ..) in &stopped {
            level[*flow] = Some(next);
        }
        // Links in which long flows stand, and flows with the links ahead of what they stand before.
        let mut standing: Vec<(usize, u8)> = vec![];
        standing.extend(
            stopped
                .iter()
                .filter(|(_, _, last)| *last)
                .map(|&(flow, first, _)| (flow, first)),
        );
        while let Some((flow, ahead)) = standing.pop() {
            if !flows[flow].long {
                continue;
            }
            for step in flows[flow].path.iter().filter(|step| step.ahead > ahead) {
                for (other, known) in flows.iter().enumerate() {
                    let meets = known.path.iter().find(|own| own.link == step.link);
                    let Some(own) =
                        meets.filter(|_| level[other].is_none_or(|level| level == next))
                    else {
                        continue;
                    };
                    level[other] = Some(next);
                    if before[other] > own.ahead {
                        before[other] = own.ahead;
                        standing.push((other, own.ahead));
                    }
                }
            }
        }
    }
    level.into_iter().flatten().collect()
}

/// Whether enough long flows have the last link of this one as theirs.
fn is_incast(least: usize, flows: &[Known], known: &Known) -> bool {
    let last = |known: &Known| {
        known
            .path
            .iter()
            .find(|step| step.ahead == 0)
            .map(|step| step.link)
    };
    let bound = flows
        .iter()
        .filter(|other| other.long && last(other) == last(known));
    bound.count() >= least
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
        let is_full = carried[link] >= capacities[link] * (1.0 - tolerance - TOLERANCE);
        let stands = |other: &(FlowId, Known)| {
            let ahead = |of: LinkId| other.1.path.iter().find(|step| step.link == of);
            let limit = ahead(share.bottleneck(other.0).expect("a bottleneck"));
            let here = ahead(bottleneck);
            let downstream = here
                .zip(limit)
                .is_some_and(|(here, limit)| here.ahead > limit.ahead);
            other.1.long
                && downstream
                && level(other) <= level(flow) * (1.0 + tolerance + TOLERANCE)
        };
        assert!(
            is_full || flows.iter().any(stands),
            "link {link} holds nobody back"
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
    // In any order, so that flows cross the same links in opposite ones.
    proptest::collection::btree_map(0..links as u32, shares, 1..=links.min(6))
        .prop_map(|path| path.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(|path| {
            (0..)
                .zip(path)
                .map(|(ahead, (link, share))| Use {
                    link: LinkId(link),
                    share,
                    ahead,
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
        let begin = (path(links), weight, any::<bool>())
            .prop_map(|(path, weight, long)| Event::Begin(Known { path, weight, long }));
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
            let id = share.add(&known.path, known.weight, known.long);
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
    fn rates_are_those_of_filling_everything_anew((capacities, history) in history(), incast in 1u32..4) {
        let mut share = FairShare::with_incasts_from(incast, capacities.iter().copied());
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
            for (flow, level) in flows.iter().zip(filling(incast as usize, &capacities, &known)) {
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

/// An incast of `senders` over a link wide enough for all, and a victim over the same link to
/// another node: levels of a sender and of the victim. Links: the shared one, the last of the
/// incast, the last of the victim.
fn incast(senders: u32, long: bool) -> (f64, f64) {
    let mut share = FairShare::new([100.0, 1.0, 1.0]);
    let over = |last| {
        [(0, 1), (last, 0)].map(|(link, ahead)| Use {
            link: LinkId(link),
            share: 1.0,
            ahead,
        })
    };
    let flows: Vec<FlowId> = (0..senders)
        .map(|_| share.add(&over(1), 1.0, long))
        .collect();
    let victim = share.add(&over(2), 1.0, long);
    share.settle(&mut vec![]);
    (share.rate(flows[0]), share.rate(victim))
}

#[test]
fn what_passes_an_incast_is_as_fast_as_a_sender_of_it() {
    // Every packet of the victim stands behind one of each sender, and these leave at 1/n each.
    assert_eq!(incast(16, true), (1.0 / 16.0, 1.0 / 16.0));
    // What is short is in the buffers, and few that meet are no incast.
    assert_eq!(incast(16, false), (1.0 / 16.0, 1.0));
    assert_eq!(incast(INCAST - 1, true).1, 1.0);
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
            ahead: 0,
        }]
    };
    let flows: Vec<FlowId> = (0..2000)
        .map(|n| share.add(&only(n % 1000), 1.0, true))
        .collect();
    share.settle(&mut changed);
    let before = share.work();
    changed.clear();
    share.remove(flows[7]);
    share.settle(&mut changed);
    assert_eq!(changed, [flows[1007]]);
    assert_eq!(share.rate(flows[1007]), 1.0);
    assert_eq!(share.work().flows - before.flows, 1);
}
