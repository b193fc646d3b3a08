//! Plug-ins: families, routing algorithms, placements, patterns and applications of a
//! user's own crate, which scenarios call by a name like ours.
//!
//! A program registers them and runs a scenario file; `examples/plug-ins/rust` is one.
//! A routing algorithm is compiled with the engine in the user's crate, so that its
//! decisions cost what ours cost; the others are called before the simulation begins.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use odonata_load::matrix::MatrixBuilder;
use odonata_load::{Rates, Script};
use odonata_network::verify::{Options, Verdict, verify};
use odonata_network::{LinkClass, LinkKind, Routing, Topology};
use odonata_placement::MachineState;
use odonata_run::{EngineConfig, JobPlan, Measurement, Observer, Outcome, SimError};
use odonata_units::random::Stream;
use odonata_units::{Bytes, NodeId, RankId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::additions::Additions;
use crate::error::{Error, SpecError};
use crate::finished::Run;
use crate::inspect::Proof;
use crate::load::JobContext;
use crate::routing::{build_routing, lanes, traffic_classes};
use crate::run::{Engine, run_with};
use crate::spec::{Failures, Scenario};
use crate::topology::{build_topology, link_class};

/// What a scenario gives a plug-in: the other keys of the table that has its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(Map<String, Value>);

impl Parameters {
    /// Reads them into a type of the plug-in's own.
    ///
    /// # Errors
    /// If they do not fit; `#[serde(deny_unknown_fields)]` refuses what is not known.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_value(Value::Object(self.0.clone())).map_err(|error| error.to_string())
    }
}

/// What a family of networks is built from.
pub struct FamilyCall<'a> {
    /// What the scenario gives it.
    pub parameters: &'a Parameters,
    scenario: &'a Scenario,
}

impl FamilyCall<'_> {
    /// The class of links of a name, as `network.links` gives it or by default.
    ///
    /// # Errors
    /// If what is given makes no sense.
    pub fn links(&self, name: &str, kind: LinkKind) -> Result<LinkClass, String> {
        link_class(self.scenario, name, kind).map_err(|error| error.to_string())
    }
}

/// What a placement looks at.
pub struct PlacementCall<'a> {
    /// Nodes that the job gets.
    pub nodes: u32,
    /// Which nodes are free, and how the machine is built.
    pub state: &'a MachineState,
    /// What the scenario gives it.
    pub parameters: &'a Parameters,
}

/// What a pattern or an application looks at.
pub struct JobCall<'a> {
    /// Ranks of the job.
    pub ranks: u32,
    /// Node of each. Shape: ranks.
    pub node_of_rank: &'a [NodeId],
    /// The network.
    pub topology: &'a Topology,
    /// What the scenario gives it.
    pub parameters: &'a Parameters,
}

/// A pair of ranks, and how much the first sends to the second beside all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Who sends.
    pub from: RankId,
    /// To whom.
    pub to: RankId,
    /// How much, in any unit.
    pub weight: u64,
}

/// A routing algorithm of a network, whatever its type.
trait Router {
    fn virtual_channels(&self) -> u8;
    fn simulate(
        &self,
        topology: &Topology,
        config: &EngineConfig,
        jobs: &[JobPlan],
        measurement: &Measurement,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, SimError>;
    fn prove(&self, topology: &Topology) -> Result<Verdict, Error>;
}

impl<R: Routing> Router for R {
    fn virtual_channels(&self) -> u8 {
        Routing::virtual_channels(self)
    }

    fn simulate(
        &self,
        topology: &Topology,
        config: &EngineConfig,
        jobs: &[JobPlan],
        measurement: &Measurement,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, SimError> {
        odonata_sim::run(topology, self, config, jobs, measurement, observer)
    }

    fn prove(&self, topology: &Topology) -> Result<Verdict, Error> {
        Ok(verify(topology, self)?)
    }
}

type Built<T> = Result<T, String>;
type Family = Box<dyn Fn(&FamilyCall<'_>) -> Built<Topology>>;
type Algorithm = Box<dyn Fn(&Topology, &Parameters) -> Built<Box<dyn Router>>>;
type Placement = Box<dyn Fn(&PlacementCall<'_>, &mut Stream) -> Built<Vec<NodeId>>>;
type Pattern = Box<dyn Fn(&JobCall<'_>) -> Built<Vec<Flow>>>;
type Application = Box<dyn Fn(&JobCall<'_>) -> Built<Arc<dyn Script>>>;

/// Plug-ins by their names.
#[derive(Default)]
pub struct PlugIns {
    families: BTreeMap<String, Family>,
    algorithms: BTreeMap<String, Algorithm>,
    placements: BTreeMap<String, Placement>,
    patterns: BTreeMap<String, Pattern>,
    applications: BTreeMap<String, Application>,
}

/// The plug-in that a scenario names somewhere, and its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
struct Named {
    name: String,
    parameters: Parameters,
}

/// The plug-ins of a job.
#[derive(Clone, Debug, Default, PartialEq)]
struct NamedByJob {
    placement: Option<Named>,
    pattern: Option<Named>,
    application: Option<Named>,
}

/// A scenario that may name plug-ins.
#[derive(Clone, Debug)]
pub struct PluggedScenario {
    /// Everything else; where a plug-in is named there is something of ours that is not
    /// used.
    pub scenario: Scenario,
    family: Option<Named>,
    algorithm: Option<Named>,
    jobs: Vec<NamedByJob>,
}

impl PlugIns {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a family of networks: `network.topology.family`.
    ///
    /// # Panics
    /// If there is one of that name, as in all functions that add something.
    #[must_use]
    pub fn family(
        mut self,
        name: &str,
        build: impl Fn(&FamilyCall<'_>) -> Built<Topology> + 'static,
    ) -> Self {
        add(&mut self.families, name, Box::new(build));
        self
    }

    /// Adds a routing algorithm: `network.routing.algorithm`.
    #[must_use]
    pub fn routing<R: Routing + 'static>(
        mut self,
        name: &str,
        build: impl Fn(&Topology, &Parameters) -> Built<R> + 'static,
    ) -> Self {
        let build = move |topology: &Topology, parameters: &Parameters| {
            build(topology, parameters).map(|routing| Box::new(routing) as Box<dyn Router>)
        };
        add(&mut self.algorithms, name, Box::new(build));
        self
    }

    /// Adds a placement: `jobs[N].placement.policy`.
    #[must_use]
    pub fn placement(
        mut self,
        name: &str,
        place: impl Fn(&PlacementCall<'_>, &mut Stream) -> Built<Vec<NodeId>> + 'static,
    ) -> Self {
        add(&mut self.placements, name, Box::new(place));
        self
    }

    /// Adds a pattern: `jobs[N].load.traffic.pattern.name`.
    #[must_use]
    pub fn pattern(
        mut self,
        name: &str,
        flows: impl Fn(&JobCall<'_>) -> Built<Vec<Flow>> + 'static,
    ) -> Self {
        add(&mut self.patterns, name, Box::new(flows));
        self
    }

    /// Adds an application: `jobs[N].load.motif.kind.name`.
    #[must_use]
    pub fn application(
        mut self,
        name: &str,
        script: impl Fn(&JobCall<'_>) -> Built<Arc<dyn Script>> + 'static,
    ) -> Self {
        add(&mut self.applications, name, Box::new(script));
        self
    }

    /// Reads a normalised scenario in JSON that may name plug-ins.
    ///
    /// # Errors
    /// As for [`Scenario::from_json`].
    pub fn read_json(&self, text: &str) -> Result<PluggedScenario, SpecError> {
        let value = serde_json::from_str(text)
            .map_err(|error| SpecError::new("", format!("is no JSON: {error}")))?;
        self.read_value(value)
    }

    /// Reads a normalised scenario in TOML that may name plug-ins: the keys of the JSON
    /// form.
    ///
    /// # Errors
    /// As for [`Scenario::from_toml`].
    pub fn read_toml(&self, text: &str) -> Result<PluggedScenario, SpecError> {
        self.read_value(crate::spec::toml_value(text)?)
    }

    fn read_value(&self, mut value: Value) -> Result<PluggedScenario, SpecError> {
        let family = take(
            value.pointer_mut("/network/topology"),
            "family",
            &self.families,
            json!({"family": "crossbar", "nodes": 1}),
        );
        let algorithm = take(
            value.pointer_mut("/network/routing"),
            "algorithm",
            &self.algorithms,
            json!({"algorithm": "minimal"}),
        );
        let count = value
            .get("jobs")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let mut jobs = Vec::with_capacity(count);
        for job in 0..count {
            let mut part = |path: &str, key: &str, known: &dyn Fn(&str) -> bool, ours| {
                take_if(
                    value.pointer_mut(&format!("/jobs/{job}/{path}")),
                    key,
                    known,
                    ours,
                )
            };
            jobs.push(NamedByJob {
                placement: part(
                    "placement",
                    "policy",
                    &|name| self.placements.contains_key(name),
                    json!({"policy": "contiguous"}),
                ),
                pattern: part(
                    "load/traffic/pattern",
                    "name",
                    &|name| self.patterns.contains_key(name),
                    json!({"name": "uniform-random"}),
                ),
                application: part(
                    "load/motif/kind",
                    "name",
                    &|name| self.applications.contains_key(name),
                    json!({"name": "all-to-all", "message_bytes": 1}),
                ),
            });
        }
        Ok(PluggedScenario {
            scenario: Scenario::from_value(value)?,
            family,
            algorithm,
            jobs,
        })
    }

    /// Simulates a scenario.
    ///
    /// # Errors
    /// As for [`crate::run`]; what a plug-in says goes with the key that names it.
    pub fn run(
        &self,
        plugged: &PluggedScenario,
        observer: &mut dyn Observer,
    ) -> Result<Run, Error> {
        let scenario = &plugged.scenario;
        let topology = self.topology(plugged)?;
        let additions = PluggedJobs {
            plug_ins: self,
            jobs: &plugged.jobs,
        };
        let Some(router) = self.router(plugged, &topology)? else {
            let routing = build_routing(scenario, &topology)?;
            return run_with(
                scenario,
                topology,
                Engine::BuiltIn(&routing),
                &additions,
                None,
                observer,
            );
        };
        let simulate = |topology: &Topology,
                        config: &EngineConfig,
                        jobs: &[JobPlan],
                        measurement: &Measurement,
                        observer: &mut dyn Observer| {
            router.simulate(topology, config, jobs, measurement, observer)
        };
        let engine = Engine::PlugIn {
            virtual_channels: router.virtual_channels(),
            simulate: &simulate,
        };
        run_with(scenario, topology, engine, &additions, None, observer)
    }

    /// Proves that no packets can wait for each other forever, or shows how they could.
    ///
    /// # Errors
    /// If the scenario makes no network, or the routes never end.
    pub fn verify(&self, plugged: &PluggedScenario) -> Result<Proof, Error> {
        let topology = self.topology(plugged)?;
        let (virtual_channels, verdict) = match self.router(plugged, &topology)? {
            Some(router) => (router.virtual_channels(), router.prove(&topology)?),
            None => {
                let routing = build_routing(&plugged.scenario, &topology)?;
                let lanes = lanes(&plugged.scenario, &routing).count();
                let options = Options {
                    virtual_channels: Some(lanes),
                    ..Options::default()
                };
                let mut go_on = |_, _| std::ops::ControlFlow::Continue(());
                let verdict = crate::inspect::prove(&topology, &routing, &options, &mut go_on)?;
                (lanes, verdict)
            }
        };
        let classes = traffic_classes(&plugged.scenario);
        Ok(Proof {
            virtual_channels: virtual_channels * classes,
            topology,
            verdict: verdict.of_classes(classes.into()),
        })
    }

    fn topology(&self, plugged: &PluggedScenario) -> Result<Topology, SpecError> {
        let Some(named) = &plugged.family else {
            return build_topology(&plugged.scenario);
        };
        if plugged.scenario.network.failures != Failures::default() {
            let message = format!(
                "parts of a network of plug-in \"{}\" cannot fail: remove the table",
                named.name
            );
            return Err(SpecError::new("failures", message));
        }
        let call = FamilyCall {
            parameters: &named.parameters,
            scenario: &plugged.scenario,
        };
        self.families[&named.name](&call).map_err(said("network", &named.name))
    }

    fn router(
        &self,
        plugged: &PluggedScenario,
        topology: &Topology,
    ) -> Result<Option<Box<dyn Router>>, SpecError> {
        let Some(named) = &plugged.algorithm else {
            return Ok(None);
        };
        if plugged.scenario.network.failures.has_moments() {
            let message = format!(
                "links cannot fail during a run that plug-in \"{}\" routes, only for all of it",
                named.name
            );
            return Err(SpecError::new("failures", message));
        }
        let build = &self.algorithms[&named.name];
        build(topology, &named.parameters)
            .map(Some)
            .map_err(said("network.routing", &named.name))
    }
}

/// # Panics
/// If there is one of that name.
fn add<T>(to: &mut BTreeMap<String, T>, name: &str, one: T) {
    assert!(
        to.insert(name.to_owned(), one).is_none(),
        "two plug-ins are called {name}"
    );
}

/// What a plug-in says, at the key that names it.
fn said<E: Display>(path: impl Into<String>, name: &str) -> impl FnOnce(E) -> SpecError {
    let (path, name) = (path.into(), name.to_owned());
    move |error| SpecError::new(path, format!("plug-in \"{name}\": {error}"))
}

fn take<T>(
    table: Option<&mut Value>,
    key: &str,
    known: &BTreeMap<String, T>,
    ours: Value,
) -> Option<Named> {
    take_if(table, key, &|name| known.contains_key(name), ours)
}

/// Takes a plug-in out of the table that names it, and puts something of ours there.
fn take_if(
    table: Option<&mut Value>,
    key: &str,
    known: &dyn Fn(&str) -> bool,
    ours: Value,
) -> Option<Named> {
    let table = table?;
    let name = table.get(key)?.as_str()?.to_owned();
    if !known(&name) {
        return None;
    }
    let mut parameters = std::mem::replace(table, ours);
    let parameters = parameters.as_object_mut().map(std::mem::take);
    let mut parameters = parameters.unwrap_or_default();
    parameters.remove(key);
    Some(Named {
        name,
        parameters: Parameters(parameters),
    })
}

/// The plug-ins of the jobs of a scenario.
struct PluggedJobs<'a> {
    plug_ins: &'a PlugIns,
    jobs: &'a [NamedByJob],
}

impl Additions for PluggedJobs<'_> {
    fn nodes(
        &self,
        position: usize,
        nodes: u32,
        state: &MachineState,
        stream: &mut Stream,
    ) -> Option<Result<Vec<NodeId>, SpecError>> {
        let named = self.jobs[position].placement.as_ref()?;
        let path = format!("job[{position}].placement");
        let call = PlacementCall {
            nodes,
            state,
            parameters: &named.parameters,
        };
        let found = self.plug_ins.placements[&named.name](&call, stream).and_then(|found| {
            if found.len() != nodes as usize {
                return Err(format!("it gave {} nodes; allowed: {nodes}", found.len()));
            }
            state
                .check_claim(&found)
                .map_err(|error| error.to_string())?;
            Ok(found)
        });
        Some(found.map_err(said(path, &named.name)))
    }

    fn program(&self, context: &JobContext<'_>) -> Option<Result<Arc<dyn Script>, SpecError>> {
        let named = self.jobs[context.position].application.as_ref()?;
        let call = job_call(context, named);
        let found = self.plug_ins.applications[&named.name](&call).and_then(|script| match script
            .ranks()
        {
            ranks if ranks == context.ranks => Ok(script),
            ranks => Err(format!(
                "it is for {ranks} ranks; allowed: {}",
                context.ranks
            )),
        });
        Some(found.map_err(said(context.path("motif"), &named.name)))
    }

    fn rates(&self, context: &JobContext<'_>) -> Option<Result<Rates, SpecError>> {
        let named = self.jobs[context.position].pattern.as_ref()?;
        let call = job_call(context, named);
        let found = self.plug_ins.patterns[&named.name](&call);
        let found = found.and_then(|flows| rates(&flows, context.ranks));
        Some(found.map_err(said(context.path("traffic"), &named.name)))
    }
}

fn job_call<'a>(context: &'a JobContext<'_>, named: &'a Named) -> JobCall<'a> {
    JobCall {
        ranks: context.ranks,
        node_of_rank: context.node_of_rank,
        topology: context.topology,
        parameters: &named.parameters,
    }
}

fn rates(flows: &[Flow], ranks: u32) -> Result<Rates, String> {
    let mut matrix = MatrixBuilder::new();
    for flow in flows {
        if let Some(rank) = [flow.from, flow.to]
            .into_iter()
            .find(|rank| rank.0 >= ranks)
        {
            return Err(format!("it names rank {rank}; allowed: 0 to {}", ranks - 1));
        }
        if flow.from != flow.to && flow.weight > 0 {
            matrix.add(flow.from, flow.to, Bytes(flow.weight), None);
        }
    }
    let (matrix, _) = matrix
        .build(ranks)
        .ok_or("its weights exceed 64 bits; allowed: smaller ones")?;
    Rates::between_ranks(&matrix, ranks).map_err(|error| error.to_string())
}
