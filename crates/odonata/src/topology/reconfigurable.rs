//! From `family = "reconfigurable-dragonfly"` to a [`Topology`]: the structure, the jobs
//! on it, the circuits for them.

mod cray_groups;

use std::path::{Path, PathBuf};

use odonata_declare::Named;
use odonata_network::routing::AlgorithmName;
use odonata_network::topology::{
    CircuitError, Circuits, DragonflyError, DragonflyLinks, GroupWiring, OpticalSwitches,
    ReconfigurableError, ReconfigurableSpec,
};
use odonata_network::{LinkKind, Topology};
use odonata_steering::{Demand, Steering, Strategy, Violation, circuits_for};
use odonata_units::{GroupId, JobId};
use serde::{Deserialize, Serialize};

use super::{Classes, topology_error};
use crate::error::SpecError;
use crate::jobs::{PlannedJob, plan_jobs};
use crate::mapping::sent;
use crate::named_file::{in_file, read_file};
use crate::spec::table::table;
use crate::spec::{
    self, DeclaredLink, GroupWiringName, Links, NetworkFamily, Scenario, Test, Tests, UsualLink,
};

/// When a link list says what groups are like inside: grids.
const WIRED: Tests = &[("wiring_file", Test::Given)];
/// When groups are grids.
const GRID: Tests = &[("group", Test::Is("cray-xc"))];
const GRIDS: &[Tests] = &[WIRED, GRID];
/// When they are all-to-all.
const ALL_TO_ALL: &[Tests] = &[&[
    ("group", Test::Is("all-to-all")),
    ("wiring_file", Test::Absent),
]];

table! {
    /// A dragonfly whose global links lead to optical switches (Feng et al. 2023).
    ///
    /// Circuits through the switches decide which groups are joined.
    pub struct ReconfigurableDragonfly {
        /// Nodes per router.
        p: u32 = 0 => Notes::NEEDED_COUNT,
        /// Routers per group. Needed without `wiring_file`.
        a: u32 = 0 => Notes::UNSAID_COUNT,
        /// Global links per router. Needed without `wiring_file`.
        h: u32 = 0 => Notes::UNSAID_COUNT,
        /// Groups. Needed without `wiring_file`, otherwise by default as many as that lists.
        g: u32 = 0 => Notes::UNSAID_COUNT,
        /// Wiring within a group: every router to every other, or a Cray XC grid whose rows and
        /// columns are each all-to-all.
        group: GroupWiringName = GroupWiringName::AllToAll,
        /// With `group = "cray-xc"`: rows of a group; rows × columns = a.
        rows: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: columns of a group.
        columns: Option<u32> = None => Notes::COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a row. Default: 1.
        row_links: u32 = 1 => Notes::UNSAID_COUNT,
        /// With `group = "cray-xc"`: parallel links between two routers of a column. Default: 1.
        column_links: u32 = 1 => Notes::UNSAID_COUNT,
        /// Link list of a Cray XC (as of family `cray-xc-file`), relative to the scenario, whose
        /// groups these are: their links inside, and the global ports of their routers, which lead
        /// to the switches. Takes the place of `a`, `h`, `group` and its keys; with `g` above the
        /// number of listed groups the list's rule goes on.
        wiring_file: Option<PathBuf> = None,
        /// Global links of every group on each optical switch, a divisor of a·h.
        links_per_switch: u32 = 1 => Notes::COUNT,
        /// Ports of an optical switch, at least g·links_per_switch. Default: as many as that.
        switch_ports: Option<u32> = None => Notes::COUNT,
        /// Which circuits are set for the run: as many between every two groups, give or take one
        /// (`uniform`), for every job that sends between groups those between its own groups
        /// (`jobs`), or those of a list (`file`).
        circuits: CircuitSource = CircuitSource::Uniform,
        /// With `circuits = "file"`: the list, relative to the scenario: `group_a link_a group_b
        /// link_b` in every line.
        circuits_file: Option<PathBuf> = None,
        /// With `circuits = "jobs"`: how many circuits join which groups of a job: as many each,
        /// or matched to what the groups send to each other: so that the busiest circuit has least
        /// to carry (`min-max`), by assignments of greatest weight (`matching`; all of them at
        /// once: `min-cost-flow`), or by a Birkhoff–von Neumann decomposition (`birkhoff`).
        steering: Strategy = Strategy::Uniform,
    }
    refuse "circuits_file" when [("circuits", Test::Is("file")), ("circuits_file", Test::Absent)] =>
        "a value, as circuits = \"file\"";
    refuse "circuits_file" when [("circuits", Test::IsNot("file")), ("circuits_file", Test::Given)] =>
        "only with circuits = \"file\"";
    refuse "a" when [("wiring_file", Test::Given), ("a", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "h" when [("wiring_file", Test::Given), ("h", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "rows" when [("wiring_file", Test::Given), ("rows", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "columns" when [("wiring_file", Test::Given), ("columns", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "row_links" when [("wiring_file", Test::Given), ("row_links", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "column_links" when [("wiring_file", Test::Given), ("column_links", Test::Given)] =>
        "only with no `wiring_file`, which tells it";
    refuse "a" when [("wiring_file", Test::Absent), ("a", Test::Absent)] =>
        "a value, as there is no `wiring_file` that tells it";
    refuse "h" when [("wiring_file", Test::Absent), ("h", Test::Absent)] =>
        "a value, as there is no `wiring_file` that tells it";
    refuse "g" when [("wiring_file", Test::Absent), ("g", Test::Absent)] =>
        "a value, as there is no `wiring_file` that tells it";
    refuse "rows" when [("wiring_file", Test::Absent), ("group", Test::Is("cray-xc")), ("rows", Test::Absent)] =>
        "a value, as group = \"cray-xc\"";
    refuse "rows" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("rows", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "columns" when [("wiring_file", Test::Absent), ("group", Test::Is("cray-xc")), ("columns", Test::Absent)] =>
        "a value, as group = \"cray-xc\"";
    refuse "columns" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("columns", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "row_links" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("row_links", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "column_links" when [("wiring_file", Test::Absent), ("group", Test::IsNot("cray-xc")), ("column_links", Test::Given)] =>
        "only with group = \"cray-xc\"";
    refuse "steering" when [("steering", Test::IsNot("uniform")), ("circuits", Test::IsNot("jobs"))] =>
        "nothing, or circuits = \"jobs\"";
}

impl ReconfigurableDragonfly {
    /// `g` all-to-all groups, uniform circuits, one link of every group on each switch.
    pub fn new(p: u32, a: u32, h: u32, g: u32) -> Self {
        Self {
            p,
            a,
            h,
            g,
            group: GroupWiringName::AllToAll,
            rows: None,
            columns: None,
            row_links: 1,
            column_links: 1,
            wiring_file: None,
            links_per_switch: 1,
            switch_ports: None,
            circuits: CircuitSource::Uniform,
            circuits_file: None,
            steering: Strategy::Uniform,
        }
    }
}

/// Where the circuits of a reconfigurable dragonfly come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "kebab-case")]
pub enum CircuitSource {
    /// As many between every two groups.
    #[default]
    Uniform,
    /// Between the groups of every job that has several.
    Jobs,
    /// A list.
    File,
}

impl NetworkFamily for ReconfigurableDragonfly {
    const ROUTING: &'static [(Tests, AlgorithmName)] = &[
        // TAGO knows all-to-all groups only.
        (WIRED, AlgorithmName::Minimal),
        (GRID, AlgorithmName::Minimal),
        (&[], AlgorithmName::Tago),
    ];
    const LINKS: Links = Links::Classes {
        name: "ReconfigurableLinks",
        text: "Link classes of a reconfigurable dragonfly.",
        key_text: "Link classes.",
        classes: &[
            DeclaredLink::new(
                "local",
                UsualLink::Electrical,
                "Within a group that is all-to-all.",
            )
            .only(ALL_TO_ALL),
            DeclaredLink::new(
                "green",
                UsualLink::Electrical,
                "Within rows of Cray XC groups.",
            )
            .only(GRIDS),
            DeclaredLink::new(
                "black",
                UsualLink::Electrical,
                "Within columns of Cray XC groups.",
            )
            .only(GRIDS),
            DeclaredLink::new(
                "global",
                UsualLink::Global,
                "Circuits: from group to group through an optical switch.",
            ),
        ],
        given_only: None,
    };

    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
        build(self, classes.scenario, classes)
    }
}

pub(super) fn build(
    dragonfly: &spec::ReconfigurableDragonfly,
    scenario: &Scenario,
    classes: &Classes<'_>,
) -> Result<Topology, SpecError> {
    let structure = structure(dragonfly)?;
    let switches = structure.switches;
    let links = links(&structure, classes)?;
    let wire = |circuits| {
        let spec = ReconfigurableSpec {
            p: dragonfly.p,
            held: structure.ports_of_router.clone(),
            group: structure.group,
            circuits,
            links: links.clone(),
        };
        spec.build().map_err(wiring_error)
    };
    let file = dragonfly.circuits_file.as_deref();
    match (dragonfly.circuits, file) {
        (CircuitSource::File, None) => Err(SpecError::value(
            "network.circuits_file",
            "nothing",
            "a file, as circuits = \"file\"",
        )),
        (CircuitSource::File, Some(file)) => wire(listed(switches, file)?),
        (CircuitSource::Uniform, _) => wire(uniform(switches)?),
        (CircuitSource::Jobs, _) if scenario.jobs.is_empty() => wire(Circuits::dark(switches)),
        (CircuitSource::Jobs, _) => {
            // Placement does not look at global links; where a mapping is fitted to the
            // network, it is to one that joins all groups alike.
            let before = wire(uniform(switches)?)?;
            let jobs = plan_jobs(scenario, &before)?;
            wire(for_jobs(dragonfly, switches, scenario, &before, &jobs)?)
        }
    }
}

/// The network of a scenario with these circuits, whatever it says of circuits.
///
/// # Errors
/// If it is no sound reconfigurable dragonfly.
pub(crate) fn with_circuits(
    scenario: &Scenario,
    circuits: Circuits,
) -> Result<Topology, SpecError> {
    let spec::Family::ReconfigurableDragonfly(dragonfly) = &scenario.network.topology else {
        let allowed = "reconfigurable-dragonfly, where there are circuits";
        return Err(SpecError::value("network.family", "another", allowed));
    };
    let structure = structure(dragonfly)?;
    let spec = ReconfigurableSpec {
        p: dragonfly.p,
        links: links(&structure, &Classes { scenario })?,
        held: structure.ports_of_router,
        group: structure.group,
        circuits,
    };
    spec.build().map_err(wiring_error)
}

/// What of a reconfigurable dragonfly does not change: its groups, and how they are
/// attached to switches.
pub(crate) struct Structure {
    pub switches: OpticalSwitches,
    /// Global links of each router of a group.
    pub ports_of_router: Vec<u32>,
    group: GroupWiring,
}

/// The structure that a scenario describes.
///
/// # Errors
/// If its parameters make none.
pub(crate) fn structure(dragonfly: &spec::ReconfigurableDragonfly) -> Result<Structure, SpecError> {
    if let Some(file) = &dragonfly.wiring_file {
        let listed = cray_groups::read(file, dragonfly.p, dragonfly.g)?;
        return Ok(Structure {
            switches: switches(dragonfly, listed.groups, &listed.ports_of_router)?,
            ports_of_router: listed.ports_of_router,
            group: listed.group,
        });
    }
    let spec::ReconfigurableDragonfly { a, h, g, .. } = *dragonfly;
    for (key, value) in [("a", a), ("h", h), ("g", g)] {
        if value == 0 {
            return Err(SpecError::value(format!("network.{key}"), 0, "at least 1"));
        }
    }
    let links = a.checked_mul(h);
    links
        .ok_or_else(|| SpecError::value("network.a", a, "a·h below 2^32 global links per group"))?;
    let ports_of_router = vec![h; a as usize];
    Ok(Structure {
        switches: switches(dragonfly, g, &ports_of_router)?,
        ports_of_router,
        group: match dragonfly.group {
            spec::GroupWiringName::AllToAll => GroupWiring::AllToAll,
            spec::GroupWiringName::Grid => {
                let given = |value: Option<u32>, key: &str| {
                    let path = format!("network.{key}");
                    let allowed = "a value, as group = \"cray-xc\"";
                    value.ok_or_else(|| SpecError::value(path, "nothing", allowed))
                };
                GroupWiring::Grid {
                    rows: given(dragonfly.rows, "rows")?,
                    columns: given(dragonfly.columns, "columns")?,
                    row_links: dragonfly.row_links,
                    column_links: dragonfly.column_links,
                }
            }
        },
    })
}

fn switches(
    dragonfly: &spec::ReconfigurableDragonfly,
    groups: u32,
    ports_of_router: &[u32],
) -> Result<OpticalSwitches, SpecError> {
    let links = ports_of_router.iter().sum();
    let per_switch = dragonfly.links_per_switch;
    OpticalSwitches::new(groups, links, per_switch, dragonfly.switch_ports).map_err(|error| {
        let key = match error {
            CircuitError::TooFewPorts { .. } => "switch_ports",
            _ => "links_per_switch",
        };
        SpecError::new(format!("network.{key}"), error.to_string())
    })
}

fn links(structure: &Structure, classes: &Classes<'_>) -> Result<DragonflyLinks, SpecError> {
    let (local, column) = match structure.group {
        GroupWiring::AllToAll => {
            classes.check_names(&["terminal", "local", "global"])?;
            (classes.class("local", LinkKind::Local)?, None)
        }
        GroupWiring::Grid { .. } => {
            classes.check_names(&["terminal", "green", "black", "global"])?;
            let black = classes.class("black", LinkKind::Local)?;
            (classes.class("green", LinkKind::Local)?, Some(black))
        }
    };
    Ok(DragonflyLinks {
        terminal: classes.class("terminal", LinkKind::Terminal)?,
        local,
        column,
        global: classes.class("global", LinkKind::Global)?,
    })
}

/// As many circuits between every two groups.
fn uniform(switches: OpticalSwitches) -> Result<Circuits, SpecError> {
    let all: Vec<GroupId> = (0..switches.groups()).map(GroupId).collect();
    let circuits = circuits_for(switches, &all, Strategy::Uniform, None);
    let circuits = circuits.map_err(|error| SpecError::new("network.h", error.to_string()))?;
    Circuits::of(switches, circuits)
        .map_err(|error| SpecError::new("network.circuits", error.to_string()))
}

fn listed(switches: OpticalSwitches, file: &Path) -> Result<Circuits, SpecError> {
    let key = "network.circuits_file";
    let text = read_file(file, key)?;
    Circuits::parse(switches, &text).map_err(|error| in_file(file, key, &error))
}

/// Circuits between the groups of every job that spans several.
fn for_jobs(
    dragonfly: &spec::ReconfigurableDragonfly,
    switches: OpticalSwitches,
    scenario: &Scenario,
    topology: &Topology,
    jobs: &[PlannedJob],
) -> Result<Circuits, SpecError> {
    let strategy = dragonfly.steering;
    let mut steering = Steering::new(switches);
    for (position, job) in jobs.iter().enumerate() {
        if job.spans.is_empty() {
            continue;
        }
        let path = |key: &str| format!("job[{position}].{key}");
        let demand = match strategy {
            Strategy::Uniform => None,
            _ => Some(demand(job, topology, &path)?),
        };
        let id = JobId::from_index(position);
        steering
            .allocate(id, &job.spans, strategy, demand.as_ref())
            .map_err(|violation| refused(&violation, scenario, position))?;
    }
    Ok(steering.circuits().clone())
}

/// What the groups of a job send to each other.
fn demand(
    job: &PlannedJob,
    topology: &Topology,
    path: &dyn Fn(&str) -> String,
) -> Result<Demand, SpecError> {
    let ranks = job.plan.node_of_rank.len() as u32;
    let matrix = sent(&job.plan.load, ranks, path).map_err(|_| {
        SpecError::new(
            "network.steering",
            format!(
                "who sends how much to whom cannot be found from what job {} does, so that \
                 circuits cannot match it; use \"uniform\"",
                job.plan.name
            ),
        )
    })?;
    let matrix = matrix.matrix;
    let place = |rank: usize| {
        let group = topology.group_of_node(job.plan.node_of_rank[rank]);
        job.spans.partition_point(|&known| known < group)
    };
    let places: Vec<usize> = (0..ranks as usize).map(place).collect();
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

fn wiring_error(error: ReconfigurableError) -> SpecError {
    match error {
        ReconfigurableError::Dragonfly(DragonflyError::Zero { name }) => {
            SpecError::new(format!("network.{name}"), error.to_string())
        }
        ReconfigurableError::Dragonfly(DragonflyError::Grid { .. }) => {
            SpecError::new("network.rows", error.to_string())
        }
        ReconfigurableError::Dragonfly(DragonflyError::Topology(inner)) => {
            topology_error(inner, "")
        }
        error => SpecError::new("network", error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_topology;
    use crate::run;
    use crate::spec::{Family, Job, Load, Network, Offered, Pattern, Placement, Traffic};
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
