//! Collectives by the names of their functions.

use odonata_traces::liballprof::{self, Comm};

use crate::replay::call::Shape;

/// A collective of a name.
#[derive(Clone, Copy)]
pub(super) struct Collective<'a> {
    /// Without `MPI_`, and of non-blocking ones without `I`.
    name: &'a str,
    /// Whether the call waits.
    pub waits: bool,
}

impl<'a> Collective<'a> {
    pub fn of(function: &'a str) -> Option<Self> {
        const NAMES: [&str; 17] = [
            "barrier",
            "bcast",
            "reduce",
            "allreduce",
            "scan",
            "exscan",
            "gather",
            "gatherv",
            "scatter",
            "scatterv",
            "allgather",
            "allgatherv",
            "alltoall",
            "alltoallv",
            "alltoallw",
            "reduce_scatter",
            "reduce_scatter_block",
        ];
        let name = function.strip_prefix("MPI_")?;
        let is = |name: &str, known: &&str| name.eq_ignore_ascii_case(known);
        if NAMES.iter().any(|known| is(name, known)) {
            return Some(Self { name, waits: true });
        }
        let name = name.strip_prefix('I')?;
        let found = NAMES.iter().any(|known| is(name, known));
        found.then_some(Self { name, waits: false })
    }

    /// Which argument is the communicator: the last, but for the request.
    pub fn place(&self, call: &liballprof::Call<'_>) -> usize {
        let behind = if self.waits { 1 } else { 2 };
        call.arguments().saturating_sub(behind)
    }

    pub fn shape(&self, call: &liballprof::Call<'_>, comm: Comm) -> Result<Shape, String> {
        // A list of counts is two arguments, if it is written at all.
        let with_lists = |arguments: usize| match self.place(call) + 1 == arguments {
            true => Ok(()),
            false => Err(format!(
                "{}: the trace does not tell the counts of its members",
                call.function()
            )),
        };
        Ok(match self.name.to_ascii_lowercase().as_str() {
            "barrier" => Shape::Barrier,
            "bcast" => Shape::Broadcast {
                root: call.whole(3)?,
                bytes: call.bytes(1, 2)?,
            },
            "reduce" => Shape::Reduce {
                root: call.whole(5)?,
                bytes: call.bytes(2, 3)?,
            },
            "allreduce" => Shape::Allreduce {
                bytes: call.bytes(2, 3)?,
            },
            "scan" => Shape::Scan {
                bytes: call.bytes(2, 3)?,
            },
            "exscan" => Shape::ExclusiveScan {
                bytes: call.bytes(2, 3)?,
            },
            // Only the root's receiving side means something, and everybody's sending side.
            "gather" => {
                let root = call.whole(6)?;
                let bytes = match comm.rank == root {
                    true => call.bytes(4, 5)?,
                    false => call.bytes(1, 2)?,
                };
                Shape::Gather { root, bytes }
            }
            "gatherv" => {
                with_lists(11)?;
                let root = call.whole(9)?;
                let (mine, all) = counts_of_root(call, comm, root, (5, 8), (1, 2))?;
                Shape::GatherVarying { root, mine, all }
            }
            "scatter" => {
                let root = call.whole(6)?;
                let bytes = match comm.rank == root {
                    true => call.bytes(1, 2)?,
                    false => call.bytes(4, 5)?,
                };
                Shape::Scatter { root, bytes }
            }
            "scatterv" => {
                with_lists(11)?;
                let root = call.whole(9)?;
                let (mine, all) = counts_of_root(call, comm, root, (2, 5), (7, 8))?;
                Shape::ScatterVarying { root, mine, all }
            }
            "allgather" => Shape::Allgather {
                bytes: call.bytes(4, 5)?,
            },
            "allgatherv" => {
                with_lists(10)?;
                Shape::AllgatherVarying {
                    all: call.list(5, 8)?,
                }
            }
            "alltoall" => Shape::Alltoall {
                bytes: call.bytes(4, 5)?,
            },
            "alltoallv" => {
                with_lists(13)?;
                Shape::AlltoallVarying {
                    sent: call.list(2, 5)?,
                    received: call.list(8, 11)?,
                    exact: true,
                }
            }
            "reduce_scatter" => {
                with_lists(7)?;
                Shape::ReduceScatter {
                    all: call.list(3, 4)?,
                }
            }
            "reduce_scatter_block" => Shape::ReduceScatter {
                all: vec![call.bytes(2, 3)?; comm.size as usize].into(),
            },
            _ => {
                with_lists(usize::MAX)?;
                Shape::Unknown
            }
        })
    }
}

/// A member's own count, and at the root those of all.
type Counts = (u64, Option<Box<[u64]>>);

/// What this member knows of the counts. `all` and `own`: the arguments that are the
/// counts and the type at the root, and at others.
fn counts_of_root(
    call: &liballprof::Call<'_>,
    comm: Comm,
    root: u32,
    all: (usize, usize),
    own: (usize, usize),
) -> Result<Counts, String> {
    if comm.rank != root {
        return Ok((call.bytes(own.0, own.1)?, None));
    }
    let all = call.list(all.0, all.1)?;
    let mine = all.get(root as usize).copied();
    let mine = mine.ok_or_else(|| format!("{} counts, but the root is {root}", all.len()))?;
    Ok((mine, Some(all)))
}
