//! Who sends to whom within a job.

use odonata_declare::{Listed, Named};
use odonata_placement::grap::GrapModeName;

use super::spec::wrong;
use crate::error::Error;

/// Who sends to whom within a job, its nodes in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Named)]
pub enum Traffic {
    /// Every node to every other.
    Uniform,
    /// To the six neighbours in a periodic grid as close to a cube as can be.
    Stencil,
    /// To the two on either side, and to those as far away as one and two groups have
    /// nodes (Feng et al. 2023, 5.1.3: four in the own group, four in others).
    Neighbouring,
    /// To the one before and the one after, in a circle.
    Ring,
    /// To the one half of the job away.
    Halves,
}

impl Traffic {
    /// How far from a node those are that it sends to, each getting as much, among
    /// `nodes` that are numbered in a circle; none for uniform traffic. `group` is the
    /// number of nodes of a group.
    ///
    /// What a node would send to itself (distance 0, in jobs that are small for their
    /// pattern) never enters the network.
    pub(super) fn distances(self, nodes: usize, group: usize) -> Vec<usize> {
        let ways = match self {
            Self::Uniform => return vec![],
            Self::Halves => return vec![nodes / 2],
            Self::Ring => vec![1],
            Self::Neighbouring => vec![1, 2, group, 2 * group],
            Self::Stencil => {
                let [x, y, _] = sides(nodes);
                // Rows follow each other, so that a neighbour is an offset away; the
                // grid is closed in the order of nodes, as a twisted torus.
                vec![1, x, x * y]
            }
        };
        let both = |way: usize| [way % nodes, (nodes - way % nodes) % nodes];
        ways.into_iter().flat_map(both).collect()
    }
}

/// The traffics of jobs that share a machine.
pub(super) fn named_traffics(names: &[String]) -> Result<Vec<Traffic>, Error> {
    let named = |name: &String| {
        Traffic::by_name(name).map_err(|unknown| wrong("mix", name, unknown.allowed.join(", ")))
    };
    names.iter().map(named).collect()
}

/// What a mode of GRAP stands for in the paper's figure 4: stencils on equal parts of groups,
/// exchanges of all with all on any, neighbours on parts that differ.
pub(super) fn of_mode(mode: GrapModeName) -> &'static str {
    match mode {
        GrapModeName::Adaptive => "uniform",
        GrapModeName::MinimalBalance | GrapModeName::CustomBalance => "stencil",
        GrapModeName::Custom => "neighbouring",
    }
}

/// Sides of a grid of at least `nodes` places, as alike as can be.
fn sides(nodes: usize) -> [usize; 3] {
    let x = (1..).find(|x| x * x * x >= nodes).unwrap_or(1);
    let y = (1..).find(|y| x * y * y >= nodes).unwrap_or(1);
    [x, y, nodes.div_ceil(x * y)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_go_both_ways_around() {
        assert_eq!(Traffic::Ring.distances(10, 4), [1, 9]);
        assert_eq!(Traffic::Halves.distances(10, 4), [5]);
        // 27 nodes are 3 × 3 × 3.
        let mut stencil = Traffic::Stencil.distances(27, 4);
        stencil.sort_unstable();
        assert_eq!(stencil, [1, 3, 9, 18, 24, 26]);
        let mut near = Traffic::Neighbouring.distances(100, 16);
        near.sort_unstable();
        assert_eq!(near, [1, 2, 16, 32, 68, 84, 98, 99]);
    }
}
