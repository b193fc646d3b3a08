//! Jobs that TraceR's maps of ranks place.

use std::collections::HashMap;

use odonata_network::Topology;
use odonata_traces::tracer::{global_map, job_map};
use odonata_units::{NodeId, RouterId};

use crate::error::SpecError;
use crate::spec::{Job, Mapping, Placement};

/// The job with the nodes and the mapping of its map, if it has one.
///
/// Servers are numbered router by router, of the routers that have nodes. A router with `p` nodes
/// has `p` times `ranks_per_node` of them, of which number `s` is on node `s mod p` (TraceR,
/// `docs/userguide/job-placement-file.rst`).
///
/// # Errors
/// If the map is damaged, its ranks are not those of the job, or it names servers that the network
/// does not have.
pub(super) fn resolve(
    job: &Job,
    topology: &Topology,
    path: &dyn Fn(&str) -> String,
) -> Result<Option<Job>, SpecError> {
    let Placement::RankMap { file, job: of } = &job.placement else {
        return Ok(None);
    };
    if job.ranks_per_node == 0 {
        // Refused of every job.
        return Ok(None);
    }
    let key = path("placement.rank_map");
    if topology.inside.is_some() {
        let message = "maps of TraceR do not know nodes with an inside, [node]: use a `mapping`, or remove \
                       [node]";
        return Err(SpecError::new(key, message));
    }
    let refuse = |reason: String| SpecError::new(&key, format!("{}: {reason}", file.display()));
    let servers = match of {
        Some(of) => global_map(file, *of),
        None => job_map(file),
    };
    let servers = servers.map_err(|error| SpecError::new(&key, error.to_string()))?;
    if let Some(ranks) = job.ranks
        && ranks as usize != servers.len()
    {
        let found = format!("{ranks} ranks");
        let allowed = format!("{}, the ranks of {}", servers.len(), file.display());
        return Err(SpecError::value(path("ranks"), found, allowed));
    }
    let mut of_router: Vec<Vec<NodeId>> = vec![vec![]; topology.routers()];
    for node in (0..topology.nodes()).map(NodeId::from_index) {
        of_router[topology.router_of_node(node).index()].push(node);
    }
    let with_nodes: Vec<(usize, &Vec<NodeId>)> = of_router
        .iter()
        .enumerate()
        .filter(|(_, nodes)| !nodes.is_empty())
        .collect();
    let p = with_nodes.first().map_or(0, |(_, nodes)| nodes.len());
    if let Some((router, nodes)) = with_nodes.iter().find(|(_, nodes)| nodes.len() != p) {
        return Err(refuse(format!(
            "servers are numbered where all routers have as many nodes, but router {} has {} and \
             another one {p}",
            RouterId::from_index(*router),
            nodes.len()
        )));
    }
    let per_router = p as u64 * u64::from(job.ranks_per_node);
    let last = (with_nodes.len() as u64 * per_router).saturating_sub(1);
    let mut indices: HashMap<NodeId, u32> = HashMap::new();
    let mut nodes = vec![];
    let mut node_of_rank = Vec::with_capacity(servers.len());
    for (rank, &server) in servers.iter().enumerate() {
        let server = u64::from(server);
        if server > last {
            return Err(refuse(format!(
                "rank {rank} is on server {server}; allowed: 0 to {last}, which are {} routers × \
                 {p} nodes × {} ranks per node",
                with_nodes.len(),
                job.ranks_per_node
            )));
        }
        let (_, of) = with_nodes[(server / per_router) as usize];
        let node = of[(server % per_router) as usize % p];
        let index = *indices.entry(node).or_insert_with(|| {
            nodes.push(node.0);
            nodes.len() as u32 - 1
        });
        node_of_rank.push(index);
    }
    if let Some(given) = job.nodes
        && given as usize != nodes.len()
    {
        let allowed = format!("{}, the nodes of {}", nodes.len(), file.display());
        return Err(SpecError::value(path("nodes"), given, allowed));
    }
    Ok(Some(Job {
        ranks: Some(servers.len() as u32),
        placement: Placement::Explicit { nodes },
        mapping: Mapping::Explicit { node_of_rank },
        ..job.clone()
    }))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use odonata_units::NodeId;

    use crate::spec::{Job, Placement};
    use crate::testing::{all_to_all, with_jobs};
    use crate::{build_topology, plan_jobs};

    /// A map that is removed with the value, and a job that it places.
    struct Written(PathBuf);

    impl Written {
        fn new(name: &str, text: &str) -> Self {
            let name = format!("odonata-{}-{name}-map", std::process::id());
            let file = std::env::temp_dir().join(name);
            std::fs::write(&file, text).unwrap();
            Self(file)
        }

        fn job(&self, of: Option<u32>, ranks_per_node: u32) -> Job {
            Job {
                nodes: None,
                ranks_per_node,
                placement: Placement::RankMap {
                    file: self.0.clone(),
                    job: of,
                },
                ..Job::new("job", 1, all_to_all())
            }
        }
    }

    impl Drop for Written {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn nodes(jobs: impl IntoIterator<Item = Job>) -> Result<Vec<Vec<u32>>, String> {
        let scenario = with_jobs(jobs);
        let planned = plan_jobs(&scenario, &build_topology(&scenario).unwrap());
        let planned = planned.map_err(|error| error.to_string())?;
        let of = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect();
        Ok(planned
            .iter()
            .map(|job| of(&job.plan.node_of_rank))
            .collect())
    }

    #[test]
    fn servers_go_around_the_nodes_of_each_router() {
        // Two nodes on each router; with two ranks per node servers 4 to 7 are on router 1: 4 and
        // 6 on its first node, which is node 2, 5 and 7 on node 3.
        let own = Written::new("own", "7\n0\n4\n5\n6\n");
        assert_eq!(nodes([own.job(None, 2)]).unwrap(), [[3, 0, 2, 3, 2]]);
        // With a rank per node a server is a node.
        assert_eq!(nodes([own.job(None, 1)]).unwrap(), [[7, 0, 4, 5, 6]]);
        let global = Written::new("global", "9 1 0\n3 0 1\n8 0 0\n5 1 1\n");
        let jobs = [global.job(Some(0), 1), global.job(Some(1), 1)];
        assert_eq!(nodes(jobs).unwrap(), [[8, 9], [3, 5]]);
    }

    #[test]
    fn maps_of_other_jobs_and_networks_are_refused() {
        let own = Written::new("wrong", "0\n72\n");
        let wrong = nodes([own.job(None, 1)]).unwrap_err();
        assert!(wrong.starts_with("job[0].placement.rank_map: "), "{wrong}");
        assert!(
            wrong.contains("rank 1 is on server 72; allowed: 0 to 71"),
            "{wrong}"
        );
        assert_eq!(nodes([own.job(None, 2)]).unwrap(), [[0, 36]]);
        let more = Job {
            ranks: Some(3),
            ..own.job(None, 2)
        };
        let wrong = nodes([more]).unwrap_err();
        assert!(
            wrong.starts_with("job[0].ranks: found 3 ranks; allowed: 2"),
            "{wrong}"
        );
        // Two jobs on one node.
        let wrong = nodes([own.job(None, 2), own.job(None, 2)]).unwrap_err();
        assert!(wrong.contains("job[1].placement"), "{wrong}");
        assert!(
            nodes([own.job(None, 0)])
                .unwrap_err()
                .contains("ranks_per_node")
        );
        let torn = Written::new("torn", "0\nx\n");
        assert!(nodes([torn.job(None, 1)]).unwrap_err().contains("line 2"));
    }
}
