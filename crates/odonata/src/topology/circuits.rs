//! Circuits of a reconfigurable dragonfly, around what has failed: those of the jobs of a scenario, or
//! others.

use odonata_network::Topology;
use odonata_network::topology::{Circuits, OpticalSwitches};
use odonata_steering::{Demand, Steering, Strategy, Violation};
use odonata_units::{JobId, Picoseconds};

use super::families::reconfigurable::{links, structure, switch_port, wired, without_jobs};
use super::job_matrix::job_matrix;
use super::{classes_of, failures};
use crate::error::SpecError;
use crate::jobs::{PlannedJob, plan_jobs};
use crate::spec::{CircuitSource, Family, ReconfigurableDragonfly, Scenario};

/// The network of a scenario with the circuits that its [`CircuitSource`] says.
///
/// # Errors
/// As for [`build_topology`](super::build_topology), or if the jobs cannot be placed or have no
/// right to the links that they need.
pub(super) fn joined(
    dragonfly: &ReconfigurableDragonfly,
    scenario: &Scenario,
) -> Result<Topology, SpecError> {
    let structure = structure(dragonfly)?;
    let classes = classes_of(scenario);
    let links = links(&structure, &classes)?;
    let usable = usable(structure.switches, scenario)?;
    let circuits = match dragonfly.circuits {
        CircuitSource::Jobs if scenario.jobs.is_empty() => usable,
        CircuitSource::Jobs => {
            // Placement does not look at global links; where a mapping is fitted to the
            // network, it is to one that joins all groups alike.
            let alike = without_jobs(dragonfly, usable.clone())?;
            let before = with_circuits(scenario, alike)?;
            let jobs = plan_jobs(scenario, &before)?;
            for_jobs(dragonfly, usable, scenario, &before, &jobs)?
        }
        CircuitSource::Uniform | CircuitSource::File => without_jobs(dragonfly, usable)?,
    };
    wired(dragonfly, structure, links, circuits)
}

/// The switches of a scenario's network without circuits, and what of them works.
///
/// # Errors
/// If something fails that there is not.
pub(crate) fn usable(
    switches: OpticalSwitches,
    scenario: &Scenario,
) -> Result<Circuits, SpecError> {
    let Some(unusable) = failures::unusable(scenario, Picoseconds::ZERO)? else {
        return Ok(Circuits::dark(switches));
    };
    let links = switches.links() as usize;
    let mut failed = vec![false; switches.groups() as usize * links];
    for (switch, ports) in (0..).zip(&unusable.ports) {
        for (port, &is_failed) in (0..).zip(ports) {
            let end = switch_port(switches, switch, port);
            failed[end.group.index() * links + end.link as usize] = is_failed;
        }
    }
    let circuits = unusable.circuits.iter();
    let circuits = circuits
        .map(|one| [one.from, one.to].map(|port| switch_port(switches, one.switch, port)))
        .map(|[from, to]| (from, to));
    Circuits::dark_around(switches, failed, circuits)
        .map_err(|error| SpecError::new("failures.circuits", error.to_string()))
}

/// The network of a scenario with these circuits, whatever it says of circuits, without what has
/// failed.
///
/// # Errors
/// If it is no sound reconfigurable dragonfly.
pub(crate) fn with_circuits(
    scenario: &Scenario,
    circuits: Circuits,
) -> Result<Topology, SpecError> {
    let Family::ReconfigurableDragonfly(dragonfly) = &scenario.network.topology else {
        let allowed = "reconfigurable-dragonfly, where there are circuits";
        return Err(SpecError::value("network.family", "another", allowed));
    };
    let structure = structure(dragonfly)?;
    let links = links(&structure, &classes_of(scenario))?;
    failures::damaged(wired(dragonfly, structure, links, circuits)?, scenario)
}

/// Circuits between the groups of every job that spans several.
fn for_jobs(
    dragonfly: &ReconfigurableDragonfly,
    usable: Circuits,
    scenario: &Scenario,
    topology: &Topology,
    jobs: &[PlannedJob],
) -> Result<Circuits, SpecError> {
    let strategy = dragonfly.steering;
    let mut steering = Steering::new(usable);
    for (position, job) in jobs.iter().enumerate() {
        if job.spans.is_empty() {
            continue;
        }
        let demand = match strategy {
            Strategy::Uniform => None,
            _ => Some(demand(job, topology)?),
        };
        let id = JobId::from_index(position);
        steering
            .allocate(id, &job.spans, strategy, demand.as_ref())
            .map_err(|violation| refused(&violation, scenario, position))?;
    }
    Ok(steering.circuits().clone())
}

/// What the groups of a job send to each other.
fn demand(job: &PlannedJob, topology: &Topology) -> Result<Demand, SpecError> {
    let matrix = job_matrix(job, "network.steering", "\"uniform\"")?;
    let place = |rank: usize| {
        let group = topology.group_of_node(job.plan.node_of_rank[rank]);
        job.spans.partition_point(|&known| known < group)
    };
    let places: Vec<usize> = (0..job.plan.node_of_rank.len()).map(place).collect();
    let entries = matrix.entries().map(|(from, entry)| {
        let (from, to) = (places[from.index()], places[entry.to.index()]);
        (from, to, entry.bytes)
    });
    Ok(Demand::new(job.spans.len(), entries))
}

/// Why a job gets no circuits, in terms of the scenario.
fn refused(violation: &Violation, scenario: &Scenario, position: usize) -> SpecError {
    let path = format!("job[{position}].placement");
    match violation {
        Violation::Owned { group, owner } => {
            let owner = &scenario.jobs[owner.index()].name;
            SpecError::new(
                path,
                format!(
                    "the job needs the global links of group {group}, which belong to job {owner}, \
                     as circuits = \"jobs\"; place jobs of several groups by \"grap\" or \
                     \"isolated\", or use circuits = \"uniform\""
                ),
            )
        }
        violation => SpecError::new(path, violation.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_topology;
    use crate::run;
    use crate::spec::{
        self, CircuitSource, Job, Load, Network, Offered, Pattern, Placement, Traffic,
    };
    use crate::testing::all_to_all;
    use crate::verify;
    use std::ops::ControlFlow;

    /// Six groups of four routers with two nodes and two global links each.
    fn machine() -> spec::ReconfigurableDragonfly {
        spec::ReconfigurableDragonfly {
            circuits: CircuitSource::Jobs,
            ..spec::ReconfigurableDragonfly::new(2, 4, 2, 6)
        }
    }

    fn scenario(network: spec::ReconfigurableDragonfly, jobs: Vec<Job>) -> Scenario {
        let mut scenario = Scenario::new(Network::new(Family::ReconfigurableDragonfly(network)));
        scenario.jobs = jobs;
        scenario
    }

    fn grap(name: &str, nodes: u32) -> Job {
        Job {
            placement: Placement::Grap {
                mode: spec::GrapModeName::Adaptive,
                group_count: None,
                nodes_per_group: None,
            },
            ..Job::new(name, nodes, all_to_all())
        }
    }

    /// Traffic inside groups, from all nodes that are left.
    fn noise(nodes: u32) -> Job {
        let traffic = Traffic {
            messages: Some(3),
            ..Traffic::new(Pattern::WithinGroup, 64, Offered::Load(0.2))
        };
        Job::new("noise", nodes, Load::Traffic(traffic))
    }

    fn simulated(scenario: &Scenario) -> crate::Run {
        run(scenario, &mut |_: &crate::Progress| {
            ControlFlow::Continue(())
        })
        .unwrap()
    }

    #[test]
    fn jobs_get_circuits_between_their_own_groups() {
        // 14 and 20 of 8 nodes a group: groups 0 and 1, groups 2 to 4.
        let jobs = vec![grap("one", 14), grap("two", 20), noise(14)];
        let scenario = scenario(machine(), jobs);
        let run = simulated(&scenario);
        let spans: Vec<Vec<u32>> = (run.jobs.iter())
            .map(|job| job.spans.iter().map(|group| group.0).collect())
            .collect();
        assert_eq!(spans, [vec![0, 1], vec![2, 3, 4], vec![]]);
        let links = run.topology.describe();
        // All 8 links of a group between two; of three groups one sits out on every switch.
        assert_eq!(links.classes[2].links, 8 + 8);
        assert_eq!(run.outcome.jobs[0].bytes_delivered, 14 * 13 * 1_000);
        assert_eq!(run.outcome.jobs[1].bytes_delivered, 20 * 19 * 1_000);
        // Nobody is sent through another's groups: 2 channels, no intermediate groups.
        assert_eq!(run.virtual_channels, 2);
        let proof = verify(&scenario, &Default::default(), &mut |_, _| {
            ControlFlow::Continue(())
        });
        assert!(proof.unwrap().verdict.is_deadlock_free());
    }

    #[test]
    fn every_strategy_serves_what_is_sent() {
        for steering in [
            Strategy::MinMax,
            Strategy::Matching,
            Strategy::MinCostFlow,
            Strategy::Birkhoff,
        ] {
            let network = spec::ReconfigurableDragonfly {
                steering,
                ..machine()
            };
            let run = simulated(&scenario(network, vec![grap("one", 20)]));
            assert_eq!(run.outcome.jobs[0].bytes_delivered, 20 * 19 * 1_000);
        }
    }

    #[test]
    fn uniform_circuits_are_a_dragonfly() {
        let network = spec::ReconfigurableDragonfly {
            circuits: CircuitSource::Uniform,
            ..machine()
        };
        let scenario = scenario(network, vec![Job::new("all", 48, all_to_all())]);
        let topology = build_topology(&scenario).unwrap().describe();
        // 8 links over 5 peers.
        assert_eq!(topology.group_pair_links_min, Some(1));
        assert_eq!(topology.group_pair_links_max, Some(2));
        simulated(&scenario);
    }

    #[test]
    fn flaws_name_their_key() {
        let error = |network, jobs| build_topology(&scenario(network, jobs)).unwrap_err();
        let contiguous = |name: &str| Job::new(name, 12, all_to_all());
        for (found, path, words) in [
            (
                error(machine(), vec![contiguous("left"), contiguous("right")]),
                "job[1].placement",
                "belong to job left",
            ),
            (
                error(machine(), vec![grap("one", 40), grap("two", 16)]),
                "job[1].placement",
                "1 groups are without one",
            ),
            (
                error(
                    spec::ReconfigurableDragonfly {
                        links_per_switch: 3,
                        ..machine()
                    },
                    vec![],
                ),
                "network.links_per_switch",
                "use a divisor of 8",
            ),
            (
                error(
                    spec::ReconfigurableDragonfly {
                        switch_ports: Some(5),
                        ..machine()
                    },
                    vec![],
                ),
                "network.switch_ports",
                "need 6 ports",
            ),
            (
                error(spec::ReconfigurableDragonfly { p: 0, ..machine() }, vec![]),
                "network.p",
                "at least 1",
            ),
            (
                error(
                    spec::ReconfigurableDragonfly {
                        circuits: CircuitSource::File,
                        ..machine()
                    },
                    vec![],
                ),
                "network.circuits_file",
                "a file",
            ),
        ] {
            assert_eq!(found.path, path, "{found}");
            assert!(found.message.contains(words), "{found}");
        }
    }

    #[test]
    fn a_job_that_listed_circuits_do_not_join_is_refused() {
        let file = std::env::temp_dir().join(format!("odonata-{}-circuits", std::process::id()));
        std::fs::write(&file, "# one circuit\n0 0 1 0\n").unwrap();
        let network = spec::ReconfigurableDragonfly {
            circuits: CircuitSource::File,
            circuits_file: Some(file.clone()),
            ..machine()
        };
        let observe = &mut |_: &crate::Progress| ControlFlow::Continue(());
        simulated(&scenario(
            network.clone(),
            vec![Job::new("joined", 16, all_to_all())],
        ));
        let error = run(
            &scenario(network, vec![Job::new("apart", 17, all_to_all())]),
            observe,
        );
        let error = error.map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains("group 0") && error.contains("group 2"),
            "{error}"
        );
        std::fs::remove_file(file).unwrap();
    }
}
