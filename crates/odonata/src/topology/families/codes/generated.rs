//! The models of CODES that wire a network from numbers: `torus`, `fattree` and `slimfly`.
//!
//! What each key means, its unit, and what CODES takes where it is left out is read off
//! `src/networks/model-net/torus.c`, `fattree.c` and `slimfly.c`. Bandwidths are in GiB/s but
//! those of `fattree`, which computes the time of a byte as `1 / bandwidth` nanoseconds and so
//! takes them in GB/s.

use odonata_network::topology::{
    CodesFatTree, CodesFatTreeError, CodesSlimFly, CodesSlimFlyError, CodesTops, TorusSpec,
};
use odonata_network::{LinkClass, LinkKind, Topology};
use odonata_traces::TraceError;
use odonata_traces::codes::Parameters;

use super::{Facts, Unit, bandwidth, in_conf, link};
use crate::error::SpecError;
use crate::spec::link::Link;
use crate::topology::classes::Classes;
use odonata_network::routing::AlgorithmName;

/// A model that wires a network from numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Torus,
    FatTree,
    SlimFly,
}

/// Keys that CODES or programs on top of it read of any of these models' configurations.
const OF_ANY: &[&str] = &[
    "chunk_size",
    "copy_per_byte",
    "eager_limit",
    "intra_bandwidth",
    "message_size",
    "modelnet_scheduler",
    "net_bw_mbps",
    "net_startup_ns",
    "nic_delay",
    "nic_seq_delay",
    "node_copy_queues",
    "node_eager_limit",
    "num_injection_queues",
    "packet_size",
    "prio-sched-num-prios",
    "prio-sched-sub-sched",
    "rdma_delay",
    "routing",
    "soft_delay",
];

impl Model {
    /// The model of a name in `modelnet_order`, if it is one of these.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "torus" => Some(Self::Torus),
            "fattree" => Some(Self::FatTree),
            "slimfly" => Some(Self::SlimFly),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Torus => "torus",
            Self::FatTree => "fattree",
            Self::SlimFly => "slimfly",
        }
    }

    /// Keys that decide about the network.
    const fn used(self) -> &'static [&'static str] {
        match self {
            Self::Torus => &[
                "buffer_size",
                "cn_bandwidth",
                "dim_length",
                "link_bandwidth",
                "modelnet_order",
                "n_dims",
                "router_delay",
            ],
            Self::FatTree => &[
                "cn_bandwidth",
                "cn_vc_size",
                "ft_type",
                "link_bandwidth",
                "modelnet_order",
                "num_levels",
                "num_rails",
                "router_delay",
                "switch_count",
                "switch_radix",
                "tapering",
                "vc_size",
            ],
            Self::SlimFly => &[
                "cn_bandwidth",
                "cn_vc_size",
                "generator_set_X",
                "generator_set_X_prime",
                "global_bandwidth",
                "global_channels",
                "global_vc_size",
                "local_bandwidth",
                "local_channels",
                "local_vc_size",
                "modelnet_order",
                "num_rails",
                "num_routers",
                "num_terminals",
                "router_delay",
                "sf_type",
            ],
        }
    }

    /// Further keys that CODES knows, without a meaning here.
    const fn known(self) -> &'static [&'static str] {
        match self {
            Self::Torus => &["mean_process", "num_vc"],
            Self::FatTree => &[
                "dot_file",
                "dump_topo",
                "num_vcs",
                "rail_routing",
                "rail_select",
                "rail_select_limit",
                "routing_folder",
                "terminal_radix",
            ],
            Self::SlimFly => &["csf_ratio", "link_delay", "num_vcs", "rail_select"],
        }
    }

    /// Logical processes of CODES of which the groups of `LPGROUPS` hold nodes, routers.
    const fn processes(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Torus => ("modelnet_torus", &[]),
            Self::FatTree => ("modelnet_fattree", &["fattree_switch"]),
            Self::SlimFly => (
                "modelnet_slimfly",
                &["modelnet_slimfly_router", "slimfly_router"],
            ),
        }
    }

    /// What a packet's way through a router takes in CODES where nothing is said, ns.
    const fn usual_delay_ns(self) -> f64 {
        match self {
            Self::Torus | Self::FatTree => 50.0,
            Self::SlimFly => 0.0,
        }
    }

    const fn routing(self) -> AlgorithmName {
        match self {
            Self::Torus => AlgorithmName::DimensionOrder,
            Self::FatTree => AlgorithmName::UpDown,
            Self::SlimFly => AlgorithmName::ShortestPath,
        }
    }
}

/// What a configuration says besides the network, and what of it is not used.
pub(super) fn facts(model: Model, parameters: &Parameters) -> Result<Facts, TraceError> {
    let unused = unused_keys(model, parameters)?;
    let delay = parameters.at_least_zero("router_delay")?;
    let delay_ps = (delay.unwrap_or(model.usual_delay_ns()) * 1e3).round();
    // A day of a router's time is a mistake of the unit.
    if delay_ps > 8.64e16 {
        let reason = format!("`router_delay` makes {delay_ps:e} ps; it is given in nanoseconds");
        return Err(parameters.refuse("router_delay", reason));
    }
    let notice = (!unused.is_empty()).then(|| {
        format!(
            "{}: not used of this configuration: {}; packets, routing and all costs of software are \
             the scenario's",
            parameters.name(),
            unused.join(", ")
        )
    });
    Ok(Facts {
        model: model.name().to_owned(),
        routing: Some(model.routing()),
        router_delay_ps: Some(delay_ps as u64),
        notices: notice.into_iter().collect(),
    })
}

/// Keys without a meaning here, in the order of the file.
fn unused_keys(model: Model, parameters: &Parameters) -> Result<Vec<String>, TraceError> {
    let mut unused: Vec<String> = vec![];
    let mut seen: Vec<&odonata_traces::codes::Assignment> = vec![];
    for assignment in parameters.assignments() {
        let name = assignment.name.as_str();
        if assignment.section == "LPGROUPS" {
            let (nodes, routers) = model.processes();
            if name != "repetitions" && name != nodes && !routers.contains(&name) {
                unused.push(name.to_owned());
            }
            continue;
        }
        if assignment.section != "PARAMS" {
            unused.push(name.to_owned());
            continue;
        }
        let earlier = seen.iter().find(|earlier| earlier.name == name);
        if let Some(earlier) = earlier.filter(|earlier| earlier.values != assignment.values) {
            let reason = format!(
                "`{name}` is \"{}\", but \"{}\" in line {}; give it once",
                assignment.values.join(","),
                earlier.values.join(","),
                earlier.line
            );
            return Err(parameters.refuse_at(assignment, reason));
        }
        if earlier.is_none() {
            seen.push(assignment);
        }
        if model.used().contains(&name) {
            continue;
        }
        if !OF_ANY.contains(&name) && !model.known().contains(&name) {
            let mut allowed: Vec<&str> = [model.used(), model.known(), OF_ANY].concat();
            allowed.sort_unstable();
            let reason = format!(
                "found the key `{name}`, which the model `{}` does not have; allowed: {}",
                model.name(),
                allowed.join(", ")
            );
            return Err(parameters.refuse_at(assignment, reason));
        }
        unused.push(name.to_owned());
    }
    unused.dedup();
    Ok(unused)
}

/// Builds the network of a configuration.
pub(super) fn build(
    model: Model,
    parameters: &Parameters,
    classes: &Classes<'_>,
) -> Result<Topology, SpecError> {
    let conf = |error: TraceError| in_conf(&error);
    facts(model, parameters).map_err(conf)?;
    match model {
        Model::Torus => torus(parameters, classes),
        Model::FatTree => fat_tree(parameters, classes),
        Model::SlimFly => slim_fly(parameters, classes),
    }
}

fn torus(parameters: &Parameters, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    classes.check_names(&["terminal", "local"])?;
    let conf = |error: TraceError| in_conf(&error);
    let size = parameters.counts("dim_length").map_err(conf)?;
    let dimensions = parameters.count("n_dims").map_err(conf)?;
    let refuse = |key, reason: String| in_conf(&parameters.refuse(key, reason));
    if dimensions as usize != size.len() {
        let reason = format!(
            "`dim_length` has {} lengths; allowed: {dimensions}, as `n_dims` says",
            size.len()
        );
        return Err(refuse("dim_length", reason));
    }
    if size.contains(&0) {
        let reason = "`dim_length` has a length of 0; allowed: at least 1";
        return Err(refuse("dim_length", reason.to_owned()));
    }
    let nodes = size
        .iter()
        .fold(1, |all: u64, &n| all.saturating_mul(n.into()));
    check_processes(Model::Torus, parameters, nodes, nodes).map_err(conf)?;
    let link = link(
        parameters,
        "link_bandwidth",
        Unit::Gib,
        "buffer_size",
        "local",
    )
    .map_err(conf)?;
    // The torus of CODES knows no links of nodes; TraceR's user guide has their bandwidth.
    let usual = Link::default_for("terminal");
    let terminal = match parameters.has("cn_bandwidth") {
        true => Link {
            bandwidth_bytes_per_s: bandwidth(parameters, "cn_bandwidth", Unit::Gib)
                .map_err(conf)?,
            ..usual
        },
        false => usual,
    };
    let spec = TorusSpec {
        wrap: vec![true; size.len()],
        p: 1,
        terminal: classes.class_or("terminal", LinkKind::Terminal, &terminal)?,
        links: (1..=size.len())
            .map(|dimension| {
                let class = classes.class_or("local", LinkKind::Local, &link)?;
                Ok(LinkClass {
                    name: format!("dim{dimension}"),
                    ..class
                })
            })
            .collect::<Result<_, SpecError>>()?,
        size,
    };
    let built = spec.build();
    built.map_err(|error| refuse("dim_length", error.to_string()))
}

fn fat_tree(parameters: &Parameters, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    classes.check_names(&["terminal", "local", "global"])?;
    let conf = |error: TraceError| in_conf(&error);
    let refuse = |key, reason: String| in_conf(&parameters.refuse(key, reason));
    only(parameters, "num_rails", "1", "as nodes have one link here").map_err(conf)?;
    only(
        parameters,
        "tapering",
        "1",
        "as tapered trees are not known",
    )
    .map_err(conf)?;
    let tops = match parameters.has("ft_type") {
        false => CodesTops::Half,
        true => match parameters.text("ft_type").map_err(conf)? {
            "0" => CodesTops::Few,
            "1" => CodesTops::Half,
            found => {
                let reason = format!("`ft_type` is \"{found}\"; allowed: 0, 1");
                return Err(refuse("ft_type", reason));
            }
        },
    };
    let counts = parameters.counts("switch_count").map_err(conf)?;
    let radixes = parameters.counts("switch_radix").map_err(conf)?;
    let first = |numbers: &[u32]| numbers.first().copied().unwrap_or(0);
    let tree = CodesFatTree {
        levels: parameters.count("num_levels").map_err(conf)?,
        leaves: first(&counts),
        radix: first(&radixes),
        tops,
    };
    let wrong = |error: CodesFatTreeError| match error.parameter() {
        Some(key) => refuse(key, format!("`{key}`: {error}")),
        None => SpecError::new("network.file", error.to_string()),
    };
    let switches = tree.switches().map_err(wrong)?;
    // Of either list CODES takes the first number and computes the others.
    let made = [
        ("switch_count", &counts, switches.clone()),
        ("switch_radix", &radixes, vec![tree.radix; switches.len()]),
    ];
    for (key, found, made) in made {
        if !made.starts_with(found) {
            let list = |numbers: &[u32]| {
                let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
                words.join(",")
            };
            let reason = format!(
                "`{key}` is \"{}\", but CODES makes {} of its first number; allowed: these, or the \
                 first alone",
                list(found),
                list(&made)
            );
            return Err(refuse(key, reason));
        }
    }
    let leaves = u64::from(tree.leaves);
    let nodes = leaves * u64::from(tree.radix / 2);
    let processes = leaves * u64::from(tree.levels);
    check_processes(Model::FatTree, parameters, nodes, processes).map_err(conf)?;
    let of = |bandwidth, buffer, class| {
        link(parameters, bandwidth, Unit::Gb, buffer, class).map_err(conf)
    };
    let terminal = of("cn_bandwidth", "cn_vc_size", "terminal")?;
    let mut above = vec![];
    if tree.levels == 3 {
        let local = of("link_bandwidth", "vc_size", "local")?;
        above.push(classes.class_or("local", LinkKind::Local, &local)?);
    }
    let global = of("link_bandwidth", "vc_size", "global")?;
    above.push(classes.class_or("global", LinkKind::Global, &global)?);
    let terminal = classes.class_or("terminal", LinkKind::Terminal, &terminal)?;
    tree.build(&terminal, &above).map_err(wrong)
}

fn slim_fly(parameters: &Parameters, classes: &Classes<'_>) -> Result<Topology, SpecError> {
    classes.check_names(&["terminal", "local", "global"])?;
    let conf = |error: TraceError| in_conf(&error);
    only(parameters, "num_rails", "1", "as nodes have one link here").map_err(conf)?;
    only(parameters, "sf_type", "0", "as nodes have one link here").map_err(conf)?;
    let count = |key| parameters.count(key).map_err(conf);
    let set = |key| parameters.counts(key).map_err(conf);
    let class = |class: &str, kind, bandwidth, buffer| {
        let link = link(parameters, bandwidth, Unit::Gib, buffer, class).map_err(conf)?;
        classes.class_or(class, kind, &link)
    };
    let spec = CodesSlimFly {
        q: count("num_routers")?,
        p: count("num_terminals")?,
        local_channels: count("local_channels")?,
        global_channels: count("global_channels")?,
        x: set("generator_set_X")?,
        x_prime: set("generator_set_X_prime")?,
        terminal: class("terminal", LinkKind::Terminal, "cn_bandwidth", "cn_vc_size")?,
        local: class("local", LinkKind::Local, "local_bandwidth", "local_vc_size")?,
        global: class(
            "global",
            LinkKind::Global,
            "global_bandwidth",
            "global_vc_size",
        )?,
    };
    let built = spec.build().map_err(|error: CodesSlimFlyError| {
        let Some(key) = error.parameter() else {
            return SpecError::new("network.file", error.to_string());
        };
        in_conf(&parameters.refuse(key, format!("`{key}`: {error}")))
    })?;
    let routers = 2 * u64::from(spec.q).pow(2);
    let nodes = routers * u64::from(spec.p);
    check_processes(Model::SlimFly, parameters, nodes, routers).map_err(conf)?;
    Ok(built)
}

/// Refuses another value of a key than one.
fn only(parameters: &Parameters, key: &str, value: &str, why: &str) -> Result<(), TraceError> {
    if !parameters.has(key) || parameters.text(key)? == value {
        return Ok(());
    }
    let found = parameters.text(key)?;
    let reason = format!("`{key}` is \"{found}\"; allowed: {value}, {why}");
    Err(parameters.refuse(key, reason))
}

/// Checks that the groups of `LPGROUPS`, if there are any, hold as many nodes and processes of
/// routers as the parameters imply.
fn check_processes(
    model: Model,
    parameters: &Parameters,
    nodes: u64,
    routers: u64,
) -> Result<(), TraceError> {
    let (of_nodes, of_routers) = model.processes();
    let total = |names: &[&str]| -> Result<Option<u64>, TraceError> {
        let mut total = None;
        let mut repetitions = 1;
        for assignment in parameters.assignments() {
            let name = assignment.name.as_str();
            if assignment.section != "LPGROUPS" {
                continue;
            }
            let is_repetitions = name == "repetitions";
            if !is_repetitions && !names.contains(&name) {
                continue;
            }
            let value = assignment.values.first().map_or("", String::as_str);
            let Ok(number) = value.parse::<u32>() else {
                let reason = format!("`{name}` is \"{value}\"; a whole number is needed");
                return Err(parameters.refuse_at(assignment, reason));
            };
            if is_repetitions {
                repetitions = u64::from(number);
            } else {
                let sum = total.unwrap_or(0_u64);
                total = Some(sum.saturating_add(repetitions * u64::from(number)));
            }
        }
        Ok(total)
    };
    for (names, expected) in [(&[of_nodes][..], nodes), (of_routers, routers)] {
        let Some(found) = total(names)? else { continue };
        if found != expected {
            let name = names
                .iter()
                .copied()
                .find(|name| parameters.has(name))
                .unwrap_or("");
            let reason = format!(
                "`repetitions` times `{name}` is {found}, but the parameters of the model make \
                 {expected}; allowed: that"
            );
            return Err(parameters.refuse(name, reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
