use std::sync::Arc;

use odonata_network::topology::{Circuit, Circuits, OpticalSwitches, SwitchPort};
use odonata_placement::Machine;
use odonata_placement::grap::{GrapMode, GrapRequest, GrapState};
use odonata_units::{GroupId, JobId, Picoseconds, RouterId};
use proptest::prelude::*;

use super::Strategy;
use super::*;

const STRATEGIES: [Strategy; 5] = [
    Strategy::Uniform,
    Strategy::MinMax,
    Strategy::Matching,
    Strategy::MinCostFlow,
    Strategy::Birkhoff,
];

fn switches(groups: u32, links: u32, per_switch: u32) -> OpticalSwitches {
    OpticalSwitches::new(groups, links, per_switch, None).unwrap()
}

fn groups(numbers: impl IntoIterator<Item = u32>) -> Vec<GroupId> {
    numbers.into_iter().map(GroupId).collect()
}

fn set(switches: OpticalSwitches, circuits: &[Circuit]) -> Circuits {
    Circuits::of(switches, circuits.iter().copied()).unwrap()
}

/// Circuits between every two of the groups, in order of pairs.
fn pair_counts(circuits: &Circuits, groups: &[GroupId]) -> Vec<u32> {
    let mut counts = Vec::new();
    for (place, &one) in groups.iter().enumerate() {
        counts.extend(
            groups[place + 1..]
                .iter()
                .map(|&other| circuits.between(one, other)),
        );
    }
    counts
}

/// What the busiest circuit carries, in bytes.
fn busiest(circuits: &Circuits, groups: &[GroupId], demand: &Demand) -> f64 {
    let mut busiest = 0.0f64;
    for one in 0..groups.len() {
        for other in one + 1..groups.len() {
            let count = circuits.between(groups[one], groups[other]);
            busiest = busiest.max(demand.of(one, other) as f64 / f64::from(count));
        }
    }
    busiest
}

#[test]
fn two_groups_get_every_link_and_three_lose_one_port_a_switch() {
    let switches = switches(5, 12, 1);
    let two = circuits_for(
        &Circuits::dark(switches),
        &groups([1, 4]),
        Strategy::Uniform,
        None,
    )
    .unwrap();
    assert_eq!(two.len(), 12);
    // Three groups and one link a switch: on each, two groups meet and one sits out, so that
    // 12 switches give 12 circuits, 4 for each pair.
    let three = circuits_for(
        &Circuits::dark(switches),
        &groups([0, 2, 3]),
        Strategy::Uniform,
        None,
    )
    .unwrap();
    let counts = pair_counts(&set(switches, &three), &groups([0, 2, 3]));
    assert_eq!(counts, [4, 4, 4]);
    // Two links a switch: nothing is lost, 6 for each pair.
    let switches = super::tests::switches(5, 12, 2);
    let three = circuits_for(
        &Circuits::dark(switches),
        &groups([0, 2, 3]),
        Strategy::Uniform,
        None,
    )
    .unwrap();
    let counts = pair_counts(&set(switches, &three), &groups([0, 2, 3]));
    assert_eq!(counts, [6, 6, 6]);
}

#[test]
fn the_paper_s_machine_is_a_dragonfly_when_one_job_has_it_all() {
    // 288 groups and 288 links a group: 287 rounds meet every pair once, and the 288th
    // meets 144 pairs again (Feng et al. 2023, 5.1.2).
    let switches = switches(288, 288, 1);
    let all = groups(0..288);
    let circuits = circuits_for(&Circuits::dark(switches), &all, Strategy::Uniform, None).unwrap();
    assert_eq!(circuits.len(), 288 * 144);
    let counts = pair_counts(&set(switches, &circuits), &all);
    assert_eq!(counts.iter().filter(|&&count| count == 2).count(), 144);
    assert_eq!(
        counts.iter().filter(|&&count| count == 1).count(),
        287 * 144 - 144
    );
}

#[test]
fn circuits_follow_a_ring() {
    // Six groups in a ring that send to both neighbours only: all links serve the ring, half
    // of them each way, whatever the strategy.
    let switches = switches(6, 12, 1);
    let all = groups(0..6);
    let ring =
        (0..6).flat_map(|group| [(group, (group + 1) % 6, 100), (group, (group + 5) % 6, 100)]);
    let demand = Demand::new(6, ring);
    for strategy in &STRATEGIES[1..] {
        let circuits =
            circuits_for(&Circuits::dark(switches), &all, *strategy, Some(&demand)).unwrap();
        let circuits = set(switches, &circuits);
        assert_eq!(
            busiest(&circuits, &all, &demand),
            100.0 / 6.0,
            "{}",
            strategy.name()
        );
    }
    let uniform = circuits_for(&Circuits::dark(switches), &all, Strategy::Uniform, None).unwrap();
    // 12 links over 5 peers: 2 or 3 for a pair.
    let uniform = busiest(&set(switches, &uniform), &all, &demand);
    assert!((100.0 / 3.0..=50.0).contains(&uniform), "{uniform}");
}

#[test]
fn parts_that_do_not_talk_are_connected_nevertheless() {
    let switches = switches(4, 8, 1);
    let demand = Demand::new(4, [(0, 1, 10), (2, 3, 10)]);
    for strategy in STRATEGIES {
        let all = groups(0..4);
        let circuits =
            circuits_for(&Circuits::dark(switches), &all, strategy, Some(&demand)).unwrap();
        check_connected(&set(switches, &circuits), &all).unwrap();
    }
}

#[test]
fn what_cannot_be_connected_is_refused() {
    let error = circuits_for(
        &Circuits::dark(switches(3, 1, 1)),
        &groups(0..3),
        Strategy::Uniform,
        None,
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("at least 2 per group")
    );
    for (listed, words) in [
        (vec![0, 0], "listed twice"),
        (vec![0, 3], "none of the machine"),
    ] {
        let error = circuits_for(
            &Circuits::dark(switches(3, 4, 1)),
            &groups(listed),
            Strategy::Uniform,
            None,
        );
        assert!(error.unwrap_err().to_string().contains(words));
    }
}

#[test]
fn a_change_counts_what_is_set_and_taken_down() {
    let mut steering = Steering::new(Circuits::dark(switches(4, 4, 1)));
    let change = steering
        .allocate(JobId(0), &groups([0, 1]), Strategy::Uniform, None)
        .unwrap();
    assert_eq!((change.added.len(), change.removed.len()), (4, 0));
    assert_eq!(
        SwitchTiming::MIRRORS.delay(&change),
        Picoseconds(100_000_000_000)
    );
    let refused = steering.allocate(JobId(1), &groups([1, 2]), Strategy::Uniform, None);
    assert!(matches!(
        refused,
        Err(Violation::Owned {
            owner: JobId(0),
            ..
        })
    ));
    steering.release(JobId(0));
    // The same job again: its circuits are still there.
    let change = steering
        .allocate(JobId(1), &groups([0, 1]), Strategy::Uniform, None)
        .unwrap();
    assert!(change.is_empty());
    assert_eq!(SwitchTiming::MIRRORS.delay(&change), Picoseconds(0));
    steering.release(JobId(1));
    // Group 1 alone goes elsewhere: its circuits to group 0 have to come down.
    let change = steering
        .allocate(JobId(2), &groups([1, 2]), Strategy::Uniform, None)
        .unwrap();
    assert_eq!((change.added.len(), change.removed.len()), (4, 4));
    // One circuit down and one up on every switch, 1 ms for each.
    let slow = SwitchTiming {
        settle: Picoseconds(5),
        command: Picoseconds(1),
    };
    assert_eq!(slow.delay(&change), Picoseconds(7));
}

fn demand_of(entries: &[u64], places: usize) -> Demand {
    let entry = |pair: usize| (pair / places, pair % places, entries[pair % entries.len()]);
    Demand::new(places, (0..places * places).map(entry))
}

/// With one of two ports of a switch dark the other one is dark as well, unless a third group has
/// one there: everything that can be joined is.
#[test]
fn circuits_are_set_around_ports_that_have_failed() {
    let two = switches(2, 3, 1);
    let failed = vec![false, true, false, false, false, false];
    let usable = Circuits::dark_around(two, failed, []).unwrap();
    for strategy in STRATEGIES {
        let circuits = circuits_for(&usable, &groups(0..2), strategy, None).unwrap();
        let links: Vec<u32> = circuits.iter().map(|circuit| circuit.from.link).collect();
        assert_eq!(links, [0, 2], "{strategy:?}");
    }
    // Each group has one port that works, all of them on switches where no other works.
    let apart = vec![false, true, true, true, false, true];
    let usable = Circuits::dark_around(two, apart, []).unwrap();
    let error = circuits_for(&usable, &groups(0..2), Strategy::Uniform, None).unwrap_err();
    assert!(error.to_string().contains("have failed"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Nothing that has failed is used, and no two ports of a switch that could be joined stay dark.
    #[test]
    fn what_has_failed_is_never_used(
        group_count in 2u32..7,
        links in 2u32..7,
        failed in proptest::collection::vec(proptest::bool::weighted(0.2), 36),
        strategy in proptest::sample::select(&STRATEGIES[..]),
    ) {
        let switches = switches(group_count, links, 1);
        let failed: Vec<bool> = failed[..(group_count * links) as usize].to_vec();
        let usable = Circuits::dark_around(switches, failed, []).unwrap();
        if let Ok(circuits) = circuits_for(&usable, &groups(0..group_count), strategy, None) {
            let set = usable.clone().with_working(circuits.iter().copied());
            prop_assert_eq!(set.len(), circuits.len());
            prop_assert!(check_connected(&set, &groups(0..group_count)).is_ok());
            for link in 0..links {
                let ports = (0..group_count).map(|group| SwitchPort { group: GroupId(group), link });
                let dark = ports.filter(|&port| set.works(port) && set.peer(port).is_none());
                prop_assert!(dark.count() < 2);
            }
        }
    }

    #[test]
    fn uniform_circuits_differ_by_one_at_most(
        count in 2u32..12, pairs_of_links in 1u32..20, per_switch in 1u32..5,
    ) {
        let links = 2 * pairs_of_links * per_switch;
        let switches = switches(count, links, per_switch);
        let all = groups(0..count);
        let circuits = circuits_for(&Circuits::dark(switches), &all, Strategy::Uniform, None).unwrap();
        let counts = pair_counts(&set(switches, &circuits), &all);
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        prop_assert!(most - least <= 1, "{counts:?}");
        // Nothing is lost with an even number of groups, or two links a switch.
        if count % 2 == 0 || per_switch % 2 == 0 {
            prop_assert_eq!(circuits.len() as u32, count * links / 2);
        }
    }

    #[test]
    fn circuits_connect_and_matched_ones_are_no_worse_than_few(
        count in 2u32..9,
        pairs_of_links in 1u32..12,
        per_switch in 1u32..3,
        entries in prop::collection::vec(0u64..1000, 1..60),
    ) {
        let links = 2 * pairs_of_links * per_switch;
        let switches = switches(count, links, per_switch);
        let all = groups((0..count).rev());
        let demand = demand_of(&entries, count as usize);
        for strategy in STRATEGIES {
            let circuits = circuits_for(&Circuits::dark(switches), &all, strategy, Some(&demand)).unwrap();
            let circuits = set(switches, &circuits);
            prop_assert!(check_connected(&circuits, &all).is_ok());
            // Links of even number on one switch can realise any number of circuits, so the
            // min-max strategy is as good as its numbers: no uniform choice beats it.
            if strategy == Strategy::MinMax && per_switch == 2 && entries.iter().all(|&e| e > 0) {
                let uniform = circuits_for(&Circuits::dark(switches), &all, Strategy::Uniform, None).unwrap();
                let uniform = busiest(&set(switches, &uniform), &all, &demand);
                let matched = busiest(&circuits, &all, &demand);
                prop_assert!(matched <= uniform, "{matched} {uniform}");
            }
        }
    }

    /// A machine under GRAP: whatever comes and goes, both principles hold.
    #[test]
    fn jobs_under_grap_never_touch_each_other(
        group_count in 3u32..9,
        nodes_per_group in 2u32..6,
        per_switch in 1u32..3,
        steps in prop::collection::vec((0u32..40, 0usize..4, 0usize..5, any::<bool>()), 1..40),
    ) {
        let nodes = group_count * nodes_per_group;
        let machine = Machine::new(
            (0..nodes).map(|node| RouterId(node / nodes_per_group)).collect(),
            (0..group_count).map(GroupId).collect(),
        ).unwrap();
        let mut grap = GrapState::new(Arc::new(machine));
        let mut steering = Steering::new(Circuits::dark(switches(group_count, 4 * per_switch, per_switch)));
        let mut running: Vec<JobId> = Vec::new();
        for (number, (asked, mode, strategy, release)) in steps.into_iter().enumerate() {
            let before = steering.circuits().clone();
            if release && !running.is_empty() {
                let job = running.remove(asked as usize % running.len());
                grap.release(job).unwrap();
                steering.release(job);
                prop_assert_eq!(steering.circuits(), &before, "nobody notices an end");
            } else {
                let asked = asked % nodes + 1;
                let mode = match mode {
                    0 => GrapMode::Adaptive,
                    1 => GrapMode::MinimalBalance,
                    2 => GrapMode::CustomBalance { groups: asked.div_ceil(nodes_per_group) },
                    _ => GrapMode::Custom { nodes: vec![asked / 2, asked - asked / 2] },
                };
                let Ok(allocation) = grap.place(&GrapRequest { nodes: asked, mode }) else {
                    continue;
                };
                let job = JobId(number as u32);
                grap.claim(job, &allocation).unwrap();
                let links_of = &allocation.links_of;
                let demand = demand_of(&[u64::from(asked), 0, 7], links_of.len());
                let strategy = STRATEGIES[strategy];
                let others: Vec<GroupId> = groups(0..group_count)
                    .into_iter()
                    .filter(|&group| steering.owner(group).is_some())
                    .collect();
                let change = steering
                    .allocate(job, links_of, strategy, (!links_of.is_empty()).then_some(&demand))
                    .unwrap();
                running.push(job);
                prop_assert!(check_connected(steering.circuits(), links_of).is_ok());
                let unchanged = check_untouched(&before, steering.circuits(), |group| {
                    !others.contains(&group)
                });
                prop_assert_eq!(unchanged, Ok(()));
                prop_assert!(!links_of.is_empty() || change.is_empty());
            }
            prop_assert_eq!(steering.check(), Ok(()));
            for group in groups(0..group_count) {
                prop_assert_eq!(grap.owner(group), steering.owner(group));
            }
        }
    }
}
