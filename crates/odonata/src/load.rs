//! From a job's motif or traffic to what its ranks do.

use std::path::Path;
use std::sync::Arc;

use odonata_load::application::{Model, Setting};
use odonata_load::collective::{Algorithms, CollectiveCall};
use odonata_load::matrix::{
    CommunicationMatrix, MatrixError, ReadOptions, read_matrix, read_rates,
};
use odonata_load::motif::{
    AllToAll, Bisection, Broadcast, Checkpoint, Collective, Exchange, Halo, Layout, MatrixOrder,
    MatrixReplay, MessageSize, Outstanding, Repeat,
};
use odonata_load::replay::{self, Compute, Trace};
use odonata_load::{
    Arrivals, Asynchronously, Blocks, FileSystem, Grid, LoadError, MessageProgress, OpenLoop,
    Partners, Pattern, Permutation, Phase, Phases, Process, Program, Rates, Script, Turn,
};
use odonata_network::{LinkKind, Peer, Topology};
use odonata_run::JobLoad;
use odonata_units::random::{Purpose, StreamKey};
use odonata_units::{
    Bandwidth, BandwidthError, Bytes, GroupId, JobId, NodeId, Picoseconds, RankId,
};

use crate::additions::Additions;
use crate::collectives;
use crate::error::SpecError;
use crate::router_pairs::JobRouters;
use crate::spec::{self, Load, Motif, MotifKind, Offered, TraceBorder, Traffic};

/// What a load may depend on.
pub(crate) struct JobContext<'a> {
    /// Routers, whose classes of traffic phases name.
    pub router: &'a spec::Router,
    pub seed: u64,
    pub position: usize,
    pub ranks: u32,
    pub ranks_per_node: u32,
    /// Shape: ranks.
    pub group_of_rank: &'a [GroupId],
    /// Shape: ranks.
    pub node_of_rank: &'a [NodeId],
    pub topology: &'a Topology,
    /// How the job carries out collectives.
    pub algorithms: Algorithms,
    /// When messages go on that its ranks have begun.
    pub progress: MessageProgress,
    /// How files lie on the file system, if there is one.
    pub storage: Option<FileSystem>,
    /// What plug-ins say.
    pub additions: &'a dyn Additions,
}

impl JobContext<'_> {
    pub fn path(&self, key: &str) -> String {
        format!("job[{}].{key}", self.position)
    }

    /// The routers of the job.
    fn routers(&self) -> Result<JobRouters<'_>, LoadError> {
        JobRouters::new(self.topology, self.node_of_rank)
    }

    /// A block of ranks per group of the network.
    fn blocks(&self) -> Arc<Blocks> {
        let groups: Vec<u32> = self.group_of_rank.iter().map(|group| group.0).collect();
        Arc::new(Blocks::new(&groups))
    }
}

/// What a motif replays.
#[derive(Clone)]
pub(crate) enum Recording {
    /// A communication matrix with the factor for its entries.
    Matrix(CommunicationMatrix, f64),
    Trace(Arc<Trace>),
}

impl Recording {
    pub fn ranks(&self) -> u32 {
        match self {
            Self::Matrix(matrix, _) => matrix.ranks(),
            Self::Trace(trace) => trace.ranks(),
        }
    }

    /// What it is, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Matrix(..) => "a matrix of",
            Self::Trace(_) => "a trace of",
        }
    }
}

/// Reads what a motif replays, if it replays something: a matrix, padded to `ranks`
/// ranks if given, or a trace.
pub(crate) fn read_recording(
    motif: &Motif,
    ranks: Option<u32>,
    (algorithms, progress): (&Algorithms, MessageProgress),
    path: &str,
) -> Result<Option<Recording>, SpecError> {
    match &motif.kind {
        MotifKind::Matrix(spec::Matrix {
            file,
            scale,
            total_bytes,
            ..
        }) => {
            let options = ReadOptions {
                ranks,
                total_bytes: total_bytes.map(Bytes),
            };
            let (matrix, _) =
                read_matrix(file, options).map_err(|error| matrix_error(&error, file, path))?;
            Ok(Some(Recording::Matrix(matrix, scale.unwrap_or(1.0))))
        }
        MotifKind::Trace(spec::Trace {
            file,
            compute_scale,
            gap_ps,
            repeat_rank,
            start,
            end,
        }) => {
            let options = replay::Options {
                compute: match gap_ps {
                    Some(gap) => Compute::Fixed(Picoseconds(*gap)),
                    None => Compute::Scaled(compute_scale.unwrap_or(1.0)),
                },
                repeat_rank: *repeat_rank,
                ranks,
                algorithms: algorithms.clone(),
                progress,
                region: region(start.clone(), end.clone()),
            };
            let trace = Trace::open(file, options)
                .map_err(|error| SpecError::new(format!("{path}.file"), error.to_string()))?;
            Ok(Some(Recording::Trace(Arc::new(trace))))
        }
        _ => Ok(None),
    }
}

pub(crate) fn region(start: Option<TraceBorder>, end: Option<TraceBorder>) -> replay::Region {
    let border = |border| match border {
        TraceBorder::TimePs(time) => replay::Border::Time(Picoseconds(time)),
        TraceBorder::Region(spec::RegionBorder { name, iteration }) => replay::Border::Function {
            name,
            number: iteration,
        },
        TraceBorder::Marker(spec::MarkerBorder { name, iteration }) => replay::Border::Marker {
            name,
            number: iteration,
        },
    };
    replay::Region {
        start: start.map(border),
        end: end.map(border),
    }
}

pub(crate) fn matrix_error(error: &MatrixError, file: &Path, path: &str) -> SpecError {
    match error {
        MatrixError::Io { reason, .. } => SpecError::value(
            format!("{path}.file"),
            format!("\"{}\", which cannot be read ({reason})", file.display()),
            "a readable file; relative paths start where the scenario lies",
        ),
        MatrixError::NoTotal { .. } | MatrixError::NothingToScale { .. } => {
            SpecError::new(format!("{path}.total_bytes"), error.to_string())
        }
        _ => SpecError::new(format!("{path}.file"), error.to_string()),
    }
}

/// Builds what the ranks of a job do.
pub(crate) fn build_load(
    load: &Load,
    recording: Option<Recording>,
    context: &JobContext<'_>,
) -> Result<JobLoad, SpecError> {
    match load {
        Load::Motif(motif) => build_program(motif, recording, context).map(JobLoad::Closed),
        Load::Traffic(traffic) => build_traffic(traffic, context).map(JobLoad::Open),
    }
}

fn build_program(
    motif: &Motif,
    recording: Option<Recording>,
    context: &JobContext<'_>,
) -> Result<Arc<dyn Program>, SpecError> {
    if let Some(script) = context.additions.program(context) {
        return Ok(progressing(script?, context.progress));
    }
    if let MotifKind::Trace(spec::Trace { .. }) = motif.kind {
        return match recording {
            Some(Recording::Trace(trace)) => Ok(trace),
            // `read_recording` has read one for every motif of this kind.
            _ => Err(SpecError::new(
                context.path("motif.file"),
                "no trace was read",
            )),
        };
    }
    let script = build_script(motif, recording, context, &context.path("motif"))?;
    Ok(progressing(script, context.progress))
}

fn progressing(script: Arc<dyn Script>, progress: MessageProgress) -> Arc<dyn Program> {
    match progress {
        MessageProgress::Calls => Arc::new(script),
        MessageProgress::Asynchronous => Arc::new(Asynchronously(script)),
    }
}

/// Builds the motif at key `path`, any but a trace.
pub(crate) fn build_script(
    motif: &Motif,
    recording: Option<Recording>,
    context: &JobContext<'_>,
    path: &str,
) -> Result<Arc<dyn Script>, SpecError> {
    let ranks = context.ranks;
    let repeat = Repeat {
        iterations: motif.iterations,
        compute: Picoseconds(motif.compute_ps),
    };
    let fail = |error: LoadError| load_error(&error, path);
    let script: Arc<dyn Script> = match &motif.kind {
        MotifKind::AllToAll(spec::AllToAll {
            message_bytes,
            window,
            sends,
        }) => {
            let (message, outstanding) = (Bytes(*message_bytes), outstanding(*window, sends));
            Arc::new(AllToAll::new(ranks, message, outstanding, repeat).map_err(fail)?)
        }
        MotifKind::Bisection(spec::Bisection {
            message_bytes,
            window,
            sends,
            order,
        }) => {
            let (message, outstanding) = (Bytes(*message_bytes), outstanding(*window, sends));
            let bisection = Bisection::new(ranks, message, *order, outstanding, repeat);
            Arc::new(bisection.map_err(fail)?)
        }
        MotifKind::Halo(asked) => {
            let grid = halo_grid(asked, ranks).map_err(fail)?;
            let faces = vec![Bytes(asked.message_bytes); grid.dimensions()];
            let halo = Halo::with_faces(grid, &faces, asked.order, asked.blocking, repeat);
            Arc::new(halo.map_err(fail)?)
        }
        MotifKind::Exchange(spec::Exchange {
            message_bytes,
            pattern,
        }) => {
            let pattern = build_pattern(pattern, context).map_err(fail)?;
            let job = JobId::from_index(context.position);
            let message = Bytes(*message_bytes);
            let exchange = Exchange::new(&pattern, ranks, message, context.seed, job, repeat);
            Arc::new(exchange.map_err(fail)?)
        }
        MotifKind::Broadcast(spec::Broadcast {
            message_bytes,
            root,
            tree,
        }) => {
            let message = Bytes(*message_bytes);
            let broadcast = Broadcast::new(ranks, RankId(*root), *tree, message, repeat);
            Arc::new(broadcast.map_err(fail)?)
        }
        MotifKind::CheckpointBurst(asked) => {
            let Some(file_system) = context.storage else {
                let allowed = "only with [storage], the file system that it writes to";
                let path = format!("{path}.kind");
                return Err(SpecError::value(path, "\"checkpoint\"", allowed));
            };
            let layout = checkpoint_layout(asked, ranks).map_err(fail)?;
            Arc::new(Checkpoint::new(ranks, layout, file_system, repeat).map_err(fail)?)
        }
        MotifKind::Collective(asked) => {
            let call = collective_call(asked, context).map_err(fail)?;
            Arc::new(Collective::new(ranks, call, repeat).map_err(fail)?)
        }
        MotifKind::Matrix(asked) => {
            let Some(Recording::Matrix(matrix, scale)) = recording else {
                // As with traces.
                return Err(SpecError::new(format!("{path}.file"), "no matrix was read"));
            };
            let (size, order) = (message_size(asked), matrix_order(asked));
            Arc::new(MatrixReplay::new(&matrix, scale, size, order, repeat).map_err(fail)?)
        }
        MotifKind::Trace(spec::Trace { .. }) => {
            return Err(SpecError::value(
                format!("{path}.kind"),
                "\"trace\"",
                "any other kind of motif in phases",
            ));
        }
        MotifKind::Application {
            application,
            compute_rate,
        } => {
            computes_itself(motif, path)?;
            let setting = Setting {
                ranks,
                compute_rate: *compute_rate,
                algorithms: context.algorithms.clone(),
            };
            let script = application.script(&setting, motif.iterations);
            script.map_err(fail)?
        }
        MotifKind::Phases { phases } => {
            computes_itself(motif, path)?;
            let phases = build_phases(phases, context, &format!("{path}.phases"))?;
            Arc::new(Phases::new(ranks, phases, motif.iterations).map_err(fail)?)
        }
    };
    Ok(script)
}

fn halo_grid(asked: &spec::Halo, ranks: u32) -> Result<Grid, LoadError> {
    match &asked.grid {
        Some(extents) => grid_of(extents, asked.periodic, ranks),
        None => Grid::near_cubic(ranks, asked.dimensions, asked.periodic),
    }
}

/// Bytes of a parameter in a checkpoint of mixed precision: itself, and what Adam has for it.
const BYTES_PER_PARAMETER: u32 = 14;

fn checkpoint_layout(asked: &spec::CheckpointBurst, ranks: u32) -> Result<Layout, LoadError> {
    let of_model = |model: Model| {
        let each = asked.bytes_per_parameter.unwrap_or(BYTES_PER_PARAMETER);
        model.parameters().checked_mul(u64::from(each))
    };
    let of_ranks = |bytes: u64| bytes.checked_mul(u64::from(ranks));
    let total = match (asked.total_bytes, asked.per_rank_bytes, asked.model) {
        (Some(total), ..) => Some(total),
        (None, Some(bytes), _) => of_ranks(bytes),
        (None, None, Some(model)) => of_model(model),
        (None, None, None) => Some(0),
    };
    Ok(Layout {
        total: Bytes(total.ok_or(LoadError::TooMuch {
            bytes: u128::MAX,
            messages: 0,
        })?),
        ranks_per_writer: asked.ranks_per_writer,
        shared: asked.shared,
        restart: asked.restart,
        writes: asked.write,
    })
}

fn collective_call(
    asked: &spec::Collective,
    context: &JobContext<'_>,
) -> Result<CollectiveCall, LoadError> {
    let call = collectives::call(
        asked.operation,
        Bytes(asked.message_bytes),
        asked.root,
        asked.algorithm.as_deref(),
        &context.algorithms,
        context.ranks,
    )?;
    Ok(match asked.repeats {
        Some(repeats) => call.shortened(repeats),
        None => call,
    })
}

fn message_size(asked: &spec::Matrix) -> MessageSize {
    match asked.message_bytes {
        _ if asked.recorded => MessageSize::Recorded,
        Some(bytes) => MessageSize::AtMost(Bytes(bytes)),
        None => MessageSize::Whole,
    }
}

fn matrix_order(asked: &spec::Matrix) -> MatrixOrder {
    MatrixOrder {
        ascending: asked.order == spec::MatrixOrder::Ascending,
        blocking: asked.sends.blocking,
        receives: asked.sends.receives,
    }
}

fn outstanding(window: u32, sends: &spec::Sends) -> Outstanding {
    Outstanding {
        window,
        blocking: sends.blocking,
        receives: sends.receives,
    }
}

/// Fails if a motif that says itself when it computes is to compute besides.
fn computes_itself(motif: &Motif, path: &str) -> Result<(), SpecError> {
    if motif.compute_ps > 0 {
        let found = format!("{} ps besides that of the application", motif.compute_ps);
        return Err(SpecError::value(format!("{path}.compute"), found, "0 ps"));
    }
    Ok(())
}

/// Builds the phases at key `path`.
fn build_phases(
    phases: &[spec::Phase],
    context: &JobContext<'_>,
    path: &str,
) -> Result<Vec<Phase>, SpecError> {
    let phases = phases.iter().enumerate().map(|(position, phase)| {
        let path = format!("{path}[{position}]");
        Ok(match phase {
            spec::Phase::ComputePs(time) => Phase::Compute(Picoseconds(*time)),
            spec::Phase::Motif(motif) => {
                let matrix = match motif.kind {
                    MotifKind::Matrix(spec::Matrix { .. }) => {
                        let how = (&context.algorithms, context.progress);
                        read_recording(motif, Some(context.ranks), how, &path)?
                    }
                    _ => None,
                };
                let script = Phase::Script(build_script(motif, matrix, context, &path)?);
                match &motif.traffic_class {
                    None => script,
                    Some(name) => {
                        let key = || format!("{path}.traffic_class");
                        let class = context.router.class_number(name, key)?;
                        Phase::OfClass(class, vec![script])
                    }
                }
            }
            spec::Phase::Repeat(spec::RepeatPhase { times: 0, .. }) => {
                let allowed = "1 or more";
                return Err(SpecError::value(format!("{path}.repeat"), 0, allowed));
            }
            spec::Phase::Repeat(spec::RepeatPhase { times, phases }) => {
                let path = format!("{path}.phases");
                Phase::Repeat(*times, build_phases(phases, context, &path)?)
            }
        })
    });
    phases.collect()
}

fn grid_of(extents: &[u32], periodic: bool, ranks: u32) -> Result<Grid, LoadError> {
    let grid = Grid::new(extents, periodic)?;
    Pattern::Stencil(grid).check(ranks)?;
    Ok(grid)
}

fn build_traffic(traffic: &Traffic, context: &JobContext<'_>) -> Result<OpenLoop, SpecError> {
    let fail = |error: LoadError| load_error(&error, &context.path("traffic"));
    let pattern = match (context.additions.rates(context), &traffic.pattern) {
        (Some(rates), _) => Pattern::Matrix(Arc::new(rates?)),
        (None, spec::Pattern::Matrix(spec::MatrixTraffic { file, between })) => {
            rates(file, *between, context)?
        }
        (None, pattern) => build_pattern(pattern, context).map_err(fail)?,
    };
    let at_once = f64::from(pattern.most_at_once().max(1));
    // Bytes per second of one message per interval.
    let of_one_message = match traffic.offered {
        Offered::Load(load) => {
            let terminal = terminal_bandwidth(context)?.bytes_per_second() as f64;
            Some(load * terminal / f64::from(context.ranks_per_node) / at_once)
        }
        Offered::Tgll(load) => Some(load * tgll_bandwidth(context)?.bytes_per_second() as f64),
        Offered::RateBytesPerS(rate) => Some(rate as f64 / at_once),
        Offered::IntervalPs(_) => None,
    };
    let second = Picoseconds::SECOND.0 as f64;
    let message = match (traffic.message_bytes, traffic.interval_ps, of_one_message) {
        (Some(bytes), None, _) => Bytes(bytes),
        (None, Some(interval), Some(rate)) => derived_message(rate, interval, context)?,
        (Some(_), Some(_), _) => {
            let allowed = "only without `message`, which then follows from the load";
            let found = "both an interval and a message";
            return Err(SpecError::value(
                context.path("traffic.interval"),
                found,
                allowed,
            ));
        }
        (None, ..) => {
            let allowed = "a size, or a `load` or `rate` together with an `interval`";
            return Err(SpecError::value(
                context.path("traffic.message"),
                "nothing",
                allowed,
            ));
        }
    };
    let process = match traffic.process {
        spec::ProcessName::Poisson => Process::Poisson,
        spec::ProcessName::Periodic => Process::Periodic,
        spec::ProcessName::Aligned => Process::Aligned,
        spec::ProcessName::Drifting => Process::Drifting {
            drift: Picoseconds(traffic.drift_ps),
        },
        spec::ProcessName::Bernoulli => Process::Bernoulli {
            slot: match traffic.slot_ps {
                Some(slot) => Picoseconds(slot),
                None => terminal_bandwidth(context)?.duration_of(message.0),
            },
        },
    };
    let interval = match traffic.offered {
        Offered::IntervalPs(interval) => Some(interval),
        _ => traffic.interval_ps,
    };
    let bytes_per_second = match (interval, of_one_message) {
        (Some(interval), _) => message.0 as f64 * second / interval as f64,
        (None, rate) => rate.unwrap_or(0.0),
    };
    let arrivals = Arrivals::from_rate(message, bytes_per_second, process).map_err(fail)?;
    let source = OpenLoop::new(pattern, arrivals, message, context.ranks).map_err(fail)?;
    match traffic.messages {
        Some(messages) => source.ending_after(messages).map_err(fail),
        None => Ok(source),
    }
}

/// Traffic by the matrix of rates in a file.
fn rates(
    file: &Path,
    between: spec::Between,
    context: &JobContext<'_>,
) -> Result<Pattern, SpecError> {
    let of_nodes = |of: &dyn Fn(NodeId) -> u32| {
        let blocks: Vec<u32> = context.node_of_rank.iter().map(|&node| of(node)).collect();
        Arc::new(Blocks::new(&blocks))
    };
    let blocks = match between {
        spec::Between::Ranks => None,
        spec::Between::Nodes => Some(of_nodes(&|node| node.0)),
        spec::Between::Routers => Some(of_nodes(&|node| context.topology.router_of_node(node).0)),
        spec::Between::Groups => Some(context.blocks()),
    };
    let path = context.path("traffic");
    let rows = blocks
        .as_ref()
        .map_or(context.ranks, |blocks| blocks.count());
    let matrix = read_rates(file, Some(rows)).map_err(|error| matrix_error(&error, file, &path))?;
    let rates = match blocks {
        None => Rates::between_ranks(&matrix, context.ranks),
        Some(blocks) => Rates::between_blocks(&matrix, blocks),
    };
    let rates = rates.map_err(|error| SpecError::new(format!("{path}.file"), error.to_string()))?;
    Ok(Pattern::Matrix(Arc::new(rates)))
}

/// The message that, once in every interval, makes a rate; to the nearest byte.
fn derived_message(
    bytes_per_second: f64,
    interval_ps: u64,
    context: &JobContext<'_>,
) -> Result<Bytes, SpecError> {
    let bytes = bytes_per_second * interval_ps as f64 / Picoseconds::SECOND.0 as f64;
    // Any larger one takes years.
    if !(0.5..1e15).contains(&bytes) {
        let found = format!("{bytes:.3e} B in {}", Picoseconds(interval_ps));
        let allowed = "an interval in which the load makes a message of 1 B to 1 PB";
        return Err(SpecError::value(
            context.path("traffic.interval"),
            found,
            allowed,
        ));
    }
    Ok(Bytes(bytes.round() as u64))
}

/// Why a theoretical global link load means nothing.
pub(crate) enum NoGlobalBandwidth {
    /// There is no global link.
    None,
    /// Two classes differ.
    Differs(String, String),
}

/// Bandwidth of the global links.
pub(crate) fn global_bandwidth(topology: &Topology) -> Result<Bandwidth, NoGlobalBandwidth> {
    let mut used = vec![false; topology.link_classes.len()];
    for (class, peer) in topology.class_of_port.iter().zip(&topology.peer) {
        used[class.index()] |= matches!(peer, Peer::Port(_));
    }
    let classes = topology.link_classes.iter().zip(used);
    let mut global = classes
        .filter(|(class, used)| *used && class.kind == LinkKind::Global)
        .map(|(class, _)| class);
    let first = global.next().ok_or(NoGlobalBandwidth::None)?;
    match global.find(|class| class.bandwidth != first.bandwidth) {
        None => Ok(first.bandwidth),
        Some(other) => Err(NoGlobalBandwidth::Differs(
            first.name.clone(),
            other.name.clone(),
        )),
    }
}

/// Bandwidth of the global links, which the theoretical global link load is a fraction of.
fn tgll_bandwidth(context: &JobContext<'_>) -> Result<Bandwidth, SpecError> {
    let path = context.path("traffic.load");
    global_bandwidth(context.topology).map_err(|flaw| match flaw {
        NoGlobalBandwidth::None => SpecError::value(
            path,
            "a theoretical global link load (TGLL)",
            "a fraction of the terminal bandwidth such as 0.5, `rate` or `interval`, as the network \
             has no global link",
        ),
        NoGlobalBandwidth::Differs(one, other) => SpecError::new(
            path,
            format!(
                "the global links differ in bandwidth ({one} and {other}), so that a theoretical \
                 global link load (TGLL) has no single meaning; give `rate` or `interval`"
            ),
        ),
    })
}

/// Bandwidth of the terminal links of a job's nodes, which `load` is a fraction of.
fn terminal_bandwidth(context: &JobContext<'_>) -> Result<Bandwidth, SpecError> {
    let topology = context.topology;
    if let Some(inside) = &topology.inside {
        let rate = inside.interface_bandwidth(inside.node_of(context.node_of_rank[0]));
        let named = |error: BandwidthError| {
            SpecError::new(
                context.path("traffic.load"),
                format!("the interfaces of a node together: {error}"),
            )
        };
        return Bandwidth::new(rate).map_err(named);
    }
    let of = |node: NodeId| {
        topology
            .link_class(topology.port_of_node[node.index()])
            .bandwidth
    };
    let first = of(context.node_of_rank[0]);
    match context.node_of_rank.iter().find(|&&node| of(node) != first) {
        None => Ok(first),
        Some(node) => Err(SpecError::new(
            context.path("traffic.load"),
            format!(
                "the terminal links of the job's nodes differ in bandwidth (nodes {} and {node}), \
                 so that `load` has no single meaning; give `rate` or `interval`",
                context.node_of_rank[0]
            ),
        )),
    }
}

fn build_pattern(pattern: &spec::Pattern, context: &JobContext<'_>) -> Result<Pattern, LoadError> {
    let ranks = context.ranks;
    let pattern = match pattern {
        spec::Pattern::UniformRandom => Pattern::UniformRandom,
        spec::Pattern::UniformOrSelf => Pattern::UniformOrSelf,
        spec::Pattern::Permutation => {
            // Sources draw from the streams of their ranks, which count from
            // below; the permutation's stream counts jobs from above.
            let entity = u64::MAX - context.position as u64;
            let mut stream = StreamKey::new(context.seed, Purpose::Destination).stream(entity);
            let permutation = Permutation::random_derangement(ranks, &mut stream)?;
            Pattern::Permutation(Arc::new(permutation))
        }
        spec::Pattern::Tornado => Pattern::Tornado,
        spec::Pattern::Shift(spec::Shift { offset }) => Pattern::Shift { offset: *offset },
        spec::Pattern::Transpose => Pattern::transpose(ranks)?,
        spec::Pattern::Bisection => Pattern::Bisection,
        spec::Pattern::BisectionPairs => Pattern::BisectionPairs,
        spec::Pattern::Neighbour => Pattern::Neighbour,
        spec::Pattern::Stencil(spec::Stencil {
            grid,
            dimensions,
            periodic,
            to,
        }) => {
            let grid = match grid {
                Some(extents) => grid_of(extents, *periodic, ranks)?,
                None => Grid::near_cubic(ranks, dimensions.unwrap_or(3), *periodic)?,
            };
            match to {
                Turn::Random => Pattern::Stencil(grid),
                to => Pattern::Partners(Arc::new(Partners::neighbours(&grid, *to)?)),
            }
        }
        spec::Pattern::GroupPeers(spec::GroupPeers { to }) => {
            let partners = Partners::counterparts(&context.blocks(), *to)?;
            Pattern::Partners(Arc::new(partners))
        }
        spec::Pattern::Broadcast(spec::BroadcastTraffic { root }) => {
            Pattern::Partners(Arc::new(Partners::all_of_one(ranks, RankId(*root))?))
        }
        spec::Pattern::WithinGroup => Pattern::WithinBlock {
            blocks: context.blocks(),
        },
        spec::Pattern::Adversarial(spec::GroupShift { k }) => {
            Pattern::adversarial(context.blocks(), *k)?
        }
        spec::Pattern::GroupShift(spec::GroupShift { k }) => {
            Pattern::block_shift(context.blocks(), *k)?
        }
        spec::Pattern::GroupTornado => Pattern::block_tornado(context.blocks())?,
        spec::Pattern::HotSpot(spec::HotSpot {
            hot_ranks,
            fraction,
        }) => {
            let hot: Vec<RankId> = hot_ranks.iter().copied().map(RankId).collect();
            Pattern::hot_spot(&hot, *fraction)?
        }
        spec::Pattern::LongestMatching => {
            Pattern::Permutation(Arc::new(context.routers()?.longest_matching()?))
        }
        spec::Pattern::TwoHop => Pattern::Permutation(Arc::new(context.routers()?.two_hops_on()?)),
        // Read from its file by `rates`.
        spec::Pattern::Matrix(spec::MatrixTraffic { .. }) => return Err(LoadError::NoRates),
    };
    pattern.check(ranks)?;
    Ok(pattern)
}

/// The key of `table` that a flaw of the load comes from.
fn load_error(error: &LoadError, table: &str) -> SpecError {
    let key = match error {
        LoadError::GridSize { .. } | LoadError::GridShape { .. } => "grid",
        LoadError::Fraction { .. } => "fraction",
        LoadError::NoHotRanks | LoadError::RepeatedRank { .. } => "hot_ranks",
        LoadError::UnknownRank { list, .. }
            if *list == "the root" || !table.ends_with("traffic") =>
        {
            "root"
        }
        LoadError::NoMessages | LoadError::TooManyTimes { .. } => "messages",
        LoadError::OneBlock { .. } | LoadError::BetweenRouters { .. } => "pattern",
        LoadError::UnknownRank { .. } => "hot_ranks",
        LoadError::BlockShift { load: "shift", .. } => "offset",
        LoadError::BlockShift { .. } => "k",
        LoadError::EmptyMessage | LoadError::TooManyMessages { .. } => "message",
        LoadError::Probability { .. } | LoadError::NoSlot => "slot",
        LoadError::NoIterations => "iterations",
        LoadError::NoWindow => "window",
        LoadError::Scale { .. } => "scale",
        LoadError::NoMessageCounts => "recorded",
        LoadError::ReceivesInTurn => "receives",
        LoadError::Parameter { parameter, .. } => parameter,
        LoadError::UnknownAlgorithm { .. } => "algorithm",
        LoadError::NoPhases | LoadError::TooManyPhases => "phases",
        _ => return SpecError::new(table, error.to_string()),
    };
    SpecError::new(format!("{table}.{key}"), error.to_string())
}
