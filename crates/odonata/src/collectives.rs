//! How the collectives of a job are carried out.

use odonata_declare::{Listed, Named};
use odonata_load::collective::{
    Algorithms, CollectiveCall, Family, Groups, Nccl, NcclWay, NodeLinks, Nodes,
};
use odonata_load::{CollectiveKind, LoadError, Member};
use odonata_network::Topology;
use odonata_units::{Bandwidth, Bytes, GroupId, NodeId};

use crate::error::SpecError;
use crate::spec;

/// What NCCL's search makes channels of: the interfaces of a node and the links inside it. A node without
/// an inside has one interface, its link.
pub(crate) fn links_of(topology: &Topology) -> NodeLinks {
    let Some(inside) = &topology.inside else {
        return NodeLinks {
            interfaces: 1,
            interface: topology.link_class(topology.port_of_node[0]).bandwidth,
            inside: None,
        };
    };
    let port = inside.plane.port_of_node[inside.port_of(0, 0).index()];
    NodeLinks {
        interfaces: inside.interfaces,
        interface: inside.plane.link_class(port).bandwidth,
        inside: Bandwidth::new(inside.rank_bandwidth).ok(),
    }
}

/// What NCCL's tuner goes by.
fn nccl(settings: &spec::Nccl, links: NodeLinks) -> Result<Nccl, SpecError> {
    let path = |key: &str| format!("mpi.collectives.nccl.{key}");
    let rate = |key: &str, rate: Option<u64>, found: Bandwidth| match rate {
        Some(rate) => {
            Bandwidth::new(rate).map_err(|error| SpecError::new(path(key), error.to_string()))
        }
        None => Ok(found),
    };
    let found = settings.gpu.search(links);
    let channels = settings.channels.unwrap_or(found.channels);
    if !(1..=8).contains(&channels) {
        return Err(SpecError::value(path("channels"), channels, "1 to 8"));
    }
    Ok(Nccl {
        version: settings.version,
        gpu: settings.gpu,
        cpu: settings.cpu,
        channels,
        network: rate(
            "network_bandwidth",
            settings.network_bandwidth_bytes_per_s,
            found.network,
        )?,
        within: rate(
            "node_bandwidth",
            settings.node_bandwidth_bytes_per_s,
            found.within,
        )?,
        algorithms: allowed(&settings.algo, &path("algo"))?,
        protocols: allowed(&settings.proto, &path("proto"))?,
    })
}

/// The ones that a list allows, as NCCL reads `NCCL_ALGO` and `NCCL_PROTO`.
fn allowed<T: Copy + Named + Listed + 'static>(
    list: &str,
    path: &str,
) -> Result<Box<[T]>, SpecError> {
    let (without, names) = match list.strip_prefix('^') {
        Some(names) => (true, names),
        None => (false, list),
    };
    let named: Vec<String> = names
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty())
        .collect();
    let known = |name: &&String| T::NAMES.contains(&name.as_str());
    if let Some(unknown) = named.iter().find(|name| !known(name)) {
        let names = T::NAMES.join(", ");
        let allowed = format!("{names}, with commas between them, after a ^ those to leave out");
        return Err(SpecError::value(path, format!("\"{unknown}\""), allowed));
    }
    let all = T::ALL.iter().zip(T::NAMES);
    let taken =
        all.filter(|(_, name)| named.is_empty() || named.iter().any(|one| one == *name) != without);
    let taken: Box<[T]> = taken.map(|(&one, _)| one).collect();
    match taken.is_empty() {
        true => Err(SpecError::value(
            path,
            format!("\"{list}\""),
            "a list that leaves something",
        )),
        false => Ok(taken),
    }
}

/// The settings of a scenario, for a job whose ranks are in these groups of the
/// network, and on these nodes. Of NCCL nodes have these `links`.
pub(crate) fn algorithms(
    settings: &spec::Collectives,
    links: Option<NodeLinks>,
    group_of_rank: &[GroupId],
    node_of_rank: &[NodeId],
) -> Result<Algorithms, SpecError> {
    let path = |key: &str| format!("mpi.collectives.{key}");
    let combine = settings
        .combine_bandwidth_bytes_per_s
        .map(Bandwidth::new)
        .transpose()
        .map_err(|error| SpecError::new(path("combine_bandwidth"), error.to_string()))?;
    if settings.segment_bytes == 0 {
        return Err(SpecError::value(path("segment"), "0 B", "1 B or more"));
    }
    if settings.nccl.is_some() && settings.family != Family::Nccl {
        let library = format!("library = \"{}\"", settings.family.name());
        return Err(SpecError::value(
            path("nccl"),
            library,
            "library = \"nccl\", whose tuner it is for",
        ));
    }
    let nccl = match links.filter(|_| settings.family == Family::Nccl) {
        None => Nccl::default(),
        Some(links) => nccl(&settings.nccl.clone().unwrap_or_default(), links)?,
    };
    let groups: Vec<u32> = group_of_rank.iter().map(|group| group.0).collect();
    let mut algorithms = Algorithms {
        family: settings.family,
        combine,
        segment: Bytes(settings.segment_bytes),
        groups: Some(Groups::new(&groups)),
        nodes: Some(Nodes::new(node_of_rank)),
        nccl,
        ..Algorithms::default()
    };
    for (operation, name) in &settings.algorithms.0 {
        let set = algorithms.set(operation, name);
        set.map_err(|error| SpecError::new(path(&operation.replace('-', "_")), error.to_string()))?;
    }
    Ok(algorithms)
}

/// The operation whose algorithms one has: those of exclusive scans are those of
/// scans.
fn setting_of(operation: CollectiveKind) -> &'static str {
    match operation {
        CollectiveKind::Barrier => "barrier",
        CollectiveKind::Broadcast => "broadcast",
        CollectiveKind::Reduce => "reduce",
        CollectiveKind::Allreduce => "allreduce",
        CollectiveKind::Gather => "gather",
        CollectiveKind::Scatter => "scatter",
        CollectiveKind::Allgather => "allgather",
        CollectiveKind::Alltoall => "alltoall",
        CollectiveKind::ReduceScatter => "reduce-scatter",
        CollectiveKind::Scan | CollectiveKind::ExclusiveScan => "scan",
    }
}

/// By which of NCCL's algorithms all ranks of a job call a collective, and the bytes of a rank's vector,
/// all blocks together; `None` if not by one of them.
pub(crate) fn of_nccl(
    settings: &spec::Collectives,
    asked: &spec::Collective,
    links: NodeLinks,
    node_of_rank: &[NodeId],
) -> Option<(NcclWay, u64)> {
    let ranks = node_of_rank.len() as u32;
    let operation = setting_of(asked.operation);
    let set = settings.algorithms.0.iter();
    let set = set.filter(|(of, _)| of.as_str() == operation);
    let named = asked
        .algorithm
        .as_deref()
        .or_else(|| set.map(|(_, name)| name.as_str()).next())
        .filter(|name| *name != "auto");
    let algorithms = algorithms(settings, Some(links), &[], node_of_rank).ok()?;
    let bytes = Bytes(asked.message_bytes);
    let way = algorithms.of_nccl(operation, named, bytes, ranks)?;
    let blocks = match operation {
        "allreduce" | "broadcast" | "reduce" => 1,
        _ => u64::from(ranks),
    };
    Some((way, asked.message_bytes.saturating_mul(blocks)))
}

/// The call of a collective of all `ranks` ranks of a job, by `algorithm` or as
/// `algorithms` say.
pub(crate) fn call(
    operation: CollectiveKind,
    bytes: Bytes,
    root: u32,
    algorithm: Option<&str>,
    algorithms: &Algorithms,
    ranks: u32,
) -> Result<CollectiveCall, LoadError> {
    let mut algorithms = algorithms.clone();
    if let Some(name) = algorithm {
        algorithms.set(setting_of(operation), name)?;
    }
    if root >= ranks {
        return Err(LoadError::UnknownRank {
            list: "the root of the collective",
            rank: root,
            last: ranks.saturating_sub(1),
        });
    }
    let root = Member(root);
    Ok(match operation {
        CollectiveKind::Barrier => algorithms.barrier(ranks),
        CollectiveKind::Broadcast => algorithms.broadcast(root, bytes, ranks),
        CollectiveKind::Reduce => algorithms.reduce(root, bytes, ranks),
        CollectiveKind::Allreduce => algorithms.allreduce(bytes, ranks),
        CollectiveKind::Gather => algorithms.gather(root, bytes, ranks),
        CollectiveKind::Scatter => algorithms.scatter(root, bytes, ranks),
        CollectiveKind::Allgather => algorithms.allgather(bytes, ranks),
        CollectiveKind::Alltoall => algorithms.alltoall(bytes, ranks),
        CollectiveKind::ReduceScatter => algorithms.reduce_scatter_block(bytes, ranks),
        CollectiveKind::Scan => algorithms.scan(bytes, ranks),
        CollectiveKind::ExclusiveScan => algorithms.exclusive_scan(bytes, ranks),
    })
}

#[cfg(test)]
mod tests {
    use odonata_load::collective::{NcclAlgorithm, Protocol};

    use super::*;

    fn set(operation: &str, name: &str) -> Result<Algorithms, SpecError> {
        let settings = spec::Collectives {
            algorithms: spec::NamedAlgorithms([(operation.to_owned(), name.to_owned())].into()),
            ..spec::Collectives::default()
        };
        algorithms(&settings, None, &[GroupId(0), GroupId(1)], &[])
    }

    #[test]
    fn flaws_name_their_key_and_what_is_allowed() {
        let error = set("reduce-scatter", "bruck").unwrap_err();
        assert_eq!(error.path, "mpi.collectives.reduce_scatter");
        let allowed = "auto, recursive-halving, pairwise, ring";
        assert!(error.message.contains(allowed), "{error}");
        let slow = spec::Collectives {
            combine_bandwidth_bytes_per_s: Some(1),
            ..spec::Collectives::default()
        };
        let error = algorithms(&slow, None, &[], &[]).unwrap_err();
        assert_eq!(error.path, "mpi.collectives.combine_bandwidth");
        let empty = spec::Collectives {
            segment_bytes: 0,
            ..spec::Collectives::default()
        };
        assert_eq!(
            algorithms(&empty, None, &[], &[]).unwrap_err().path,
            "mpi.collectives.segment"
        );
    }

    #[test]
    fn nccl_is_told_what_it_may_choose() {
        let with = |family, algo: &str, proto: &str| spec::Collectives {
            family,
            nccl: Some(spec::Nccl {
                algo: algo.into(),
                proto: proto.into(),
                ..spec::Nccl::default()
            }),
            ..spec::Collectives::default()
        };
        let found = |settings: &spec::Collectives| {
            let links = NodeLinks {
                interfaces: 8,
                interface: Bandwidth::new(50_000_000_000).unwrap(),
                inside: None,
            };
            algorithms(settings, Some(links), &[], &[])
        };
        let taken = found(&with(Family::Nccl, "Ring", "^LL128")).unwrap().nccl;
        assert_eq!(*taken.algorithms, [NcclAlgorithm::Ring]);
        assert_eq!(*taken.protocols, [Protocol::Ll, Protocol::Simple]);
        let error = |settings: &spec::Collectives| found(settings).unwrap_err().to_string();
        let unknown = error(&with(Family::Nccl, "nvls", ""));
        assert!(unknown.contains("tree, ring, pat"), "{unknown}");
        let none = error(&with(Family::Nccl, "", "^ll,ll128,simple"));
        assert!(none.contains("mpi.collectives.nccl.proto"), "{none}");
        let other = error(&with(Family::Mpich, "", ""));
        assert!(other.contains("library = \"nccl\""), "{other}");
    }

    #[test]
    fn a_motif_goes_before_the_settings() {
        let settings = set("allreduce", "ring").unwrap();
        let call = |name| {
            let kind = CollectiveKind::Allreduce;
            call(kind, Bytes(64), 0, name, &settings, 4).unwrap()
        };
        let sent = |name| call(name).sent(Member(1), 4).messages;
        // Twice three blocks around the ring; two exchanges between partners.
        assert_eq!(sent(None), 6);
        assert_eq!(sent(Some("recursive-doubling")), 2);
        let kind = CollectiveKind::Broadcast;
        let error = super::call(kind, Bytes(64), 4, None, &settings, 4).unwrap_err();
        assert!(matches!(
            error,
            LoadError::UnknownRank {
                rank: 4,
                last: 3,
                ..
            }
        ));
    }
}
