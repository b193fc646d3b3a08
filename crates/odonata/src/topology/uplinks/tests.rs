use std::ops::ControlFlow;

use super::*;
use crate::spec::{AlgorithmName, Family, FatTree, Job, Load, Network, Offered, Pattern, Traffic};
use crate::{Progress, build_topology, run, verify};

/// Four pods of two leaves with two nodes and two uplinks each.
fn scenario(optical: spec::OpticalLayer, jobs: Vec<Job>) -> Scenario {
    let tree = FatTree {
        down: Some(vec![2, 2, 4]),
        up: Some(vec![2, 2]),
        optical: Some(optical),
        ..FatTree::default()
    };
    let mut scenario = Scenario::new(Network::new(Family::FatTree(tree)));
    scenario.jobs = jobs;
    scenario
}

/// Every node to the one half of the machine further on: pod 0 to pod 2, 1 to 3 and back.
fn shifted() -> Job {
    let traffic = Traffic {
        messages: Some(40),
        ..Traffic::new(
            Pattern::Shift(crate::spec::Shift { offset: 8 }),
            4_096,
            Offered::Load(0.9),
        )
    };
    Job::new("shift", 16, Load::Traffic(traffic))
}

fn simulated(scenario: &Scenario) -> crate::Run {
    let observe = &mut |_: &Progress| ControlFlow::Continue(());
    run(scenario, observe).unwrap()
}

/// Bytes over the links of a class, by what router ports send.
fn carried(run: &crate::Run, class: &str) -> u64 {
    let topology = &run.topology;
    let of_class =
        |port: &usize| topology.link_classes[topology.class_of_port[*port].index()].name == class;
    let ports = (0..topology.ports()).filter(of_class);
    ports.map(|port| run.outcome.ports[port].bytes).sum()
}

#[test]
fn circuits_for_jobs_take_their_traffic_off_the_core() {
    let unsteered = spec::OpticalLayer::new(4, UplinkCircuits::Unsteered);
    let before = simulated(&scenario(unsteered, vec![shifted()]));
    let optical = spec::OpticalLayer::new(4, UplinkCircuits::Jobs);
    let mut steered = scenario(optical, vec![shifted()]);
    let after = simulated(&steered);
    let bytes = before.outcome.jobs[0].bytes_delivered;
    assert_eq!(bytes, 16 * 40 * 4_096);
    assert_eq!(after.outcome.jobs[0].bytes_delivered, bytes);
    // Up and down once at each level; all circuits go where the traffic goes.
    assert_eq!(
        (carried(&before, "level1"), carried(&before, "level2")),
        (2 * bytes, 2 * bytes)
    );
    assert_eq!(
        (carried(&after, "level1"), carried(&after, "level2")),
        (2 * bytes, 0)
    );
    assert!(
        after.topology.title.ends_with("16 uplinks steered"),
        "{}",
        after.topology.title
    );
    // By the other strategy some of it goes by the core, as circuits are busy.
    steered.network.routing = AlgorithmName::Steered.into();
    let either = simulated(&steered);
    assert_eq!(either.outcome.jobs[0].bytes_delivered, bytes);
    let proof = verify(&steered, &Default::default(), &mut |_, _| {
        ControlFlow::Continue(())
    });
    assert!(proof.unwrap().verdict.is_deadlock_free());
}

#[test]
fn listed_circuits_are_set_as_they_are_listed() {
    let file = std::env::temp_dir().join(format!("odonata-{}-uplinks", std::process::id()));
    let listed = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let optical = spec::OpticalLayer {
            circuits_file: Some(file.clone()),
            ..spec::OpticalLayer::new(4, UplinkCircuits::File)
        };
        build_topology(&scenario(optical, vec![]))
    };
    let topology = listed("# one pair exchanged\n0 0 2\n0 2 0 # and back\n").unwrap();
    assert!(topology.has_one_way_links());
    assert!(topology.title.ends_with("2 uplinks steered"));
    for (text, words) in [
        ("0 0 2\n", "switch 0 has 4 connected ports"),
        ("9 0 2\n", "line 1: switch 9 of 4"),
        ("\n0 4 2\n", "line 2: circuit 4 2 on switch 0, which has 4"),
        ("0 -1 2\n", "three numbers"),
        ("0 1\n", "three numbers"),
    ] {
        let error = listed(text).unwrap_err();
        assert_eq!(error.path, "network.optical.circuits_file", "{text:?}");
        assert!(error.message.contains(words), "{error}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn flaws_name_their_key() {
    let path =
        |optical: spec::OpticalLayer| build_topology(&scenario(optical, vec![])).unwrap_err().path;
    let optical = |ports| spec::OpticalLayer::new(ports, UplinkCircuits::Unsteered);
    assert_eq!(path(optical(1)), "network.optical.switch_ports");
    let links = spec::OpticalLayer {
        links_per_switch: 3,
        ..optical(8)
    };
    assert_eq!(path(links), "network.optical.links_per_switch");
    let file = spec::OpticalLayer {
        circuits: UplinkCircuits::File,
        ..optical(4)
    };
    assert_eq!(path(file), "network.optical.circuits_file");
    let mut flat = scenario(optical(4), vec![]);
    flat.network.topology = Family::FatTree(FatTree {
        down: Some(vec![2, 4]),
        up: Some(vec![2]),
        optical: Some(optical(4)),
        ..FatTree::default()
    });
    assert_eq!(build_topology(&flat).unwrap_err().path, "network.optical");
}
