//! Arguments of a call, by name.

use odonata_traces::dumpi::{self, Datatypes, Function, Value};

use super::super::call::Shape;

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a>(pub &'a dumpi::Call);

impl<'a> Arguments<'a> {
    pub fn int(self, name: &str) -> Result<i32, String> {
        let value = self.0.int(name).and_then(|value| i32::try_from(value).ok());
        value.ok_or_else(|| self.missing(name))
    }

    /// A number that cannot be negative.
    pub fn whole(self, name: &str) -> Result<u32, String> {
        let value = self.int(name)?;
        u32::try_from(value).map_err(|_| {
            let function = self.0.function.name();
            format!("{function}: {name} is {value}, but cannot be negative")
        })
    }

    pub fn handle(self, name: &str) -> Result<u16, String> {
        match self.0.value(name) {
            Some(Value::Handle(handle)) => Ok(*handle),
            _ => Err(self.missing(name)),
        }
    }

    pub fn ints(self, name: &str) -> Result<&'a [i32], String> {
        self.0.ints(name).ok_or_else(|| self.missing(name))
    }

    /// Numbers that cannot be negative.
    pub fn wholes(self, name: &str) -> Result<Box<[u32]>, String> {
        let numbers = self.ints(name)?.iter().map(|&number| {
            u32::try_from(number).map_err(|_| {
                let function = self.0.function.name();
                format!("{function}: {number} among {name}, which cannot be negative")
            })
        });
        numbers.collect()
    }

    /// Ranges of ranks: first, last, stride.
    pub fn ranges(self) -> Result<Box<[[i32; 3]]>, String> {
        let Some(Value::IntRows(rows)) = self.0.value("ranges") else {
            return Err(self.missing("ranges"));
        };
        let rows = rows.iter().map(|row| {
            <[i32; 3]>::try_from(row.as_slice()).map_err(|_| {
                let function = self.0.function.name();
                format!(
                    "{function}: a range of {} numbers; a range has 3",
                    row.len()
                )
            })
        });
        rows.collect()
    }

    fn missing(self, name: &str) -> String {
        format!("{} has no argument {name}", self.0.function.name())
    }

    /// Bytes of `count` elements of a type.
    pub fn bytes(self, types: &Datatypes, count: &str, datatype: &str) -> Result<u64, String> {
        self.sized(types, self.whole(count)?, self.handle(datatype)?)
    }

    fn sized(self, types: &Datatypes, count: u32, datatype: u16) -> Result<u64, String> {
        types.bytes(self.0.function, count, datatype)
    }

    /// Bytes of as many elements of a type as each of `counts` says.
    fn list(self, types: &Datatypes, counts: &str, datatype: &str) -> Result<Box<[u64]>, String> {
        let datatype = self.handle(datatype)?;
        let counts = self.wholes(counts)?;
        let counts = counts
            .iter()
            .map(|&count| self.sized(types, count, datatype));
        counts.collect()
    }

    /// Bytes of as many elements of each type as each of `counts` says.
    fn lists(self, types: &Datatypes, counts: &str, datatypes: &str) -> Result<Box<[u64]>, String> {
        let Some(Value::Handles(datatypes)) = self.0.value(datatypes) else {
            return Err(self.missing(datatypes));
        };
        let counts = self.wholes(counts)?;
        let both = counts.iter().zip(datatypes);
        both.map(|(&count, &of)| self.sized(types, count, of))
            .collect()
    }

    /// What a collective does; `None` of other calls. Where data stays in place
    /// (`MPI_IN_PLACE`), arguments of the sending side mean nothing: sizes are
    /// taken from the receiving side where both tell.
    pub fn shape(self, types: &Datatypes) -> Result<Option<Shape>, String> {
        use Function as F;
        let root = || self.whole("root");
        let bytes = |count, datatype| self.bytes(types, count, datatype);
        let has = |name| self.0.value(name).is_some();
        Ok(Some(match self.0.function {
            F::Barrier => Shape::Barrier,
            F::Bcast => Shape::Broadcast {
                root: root()?,
                bytes: bytes("count", "datatype")?,
            },
            F::Reduce => Shape::Reduce {
                root: root()?,
                bytes: bytes("count", "datatype")?,
            },
            F::Allreduce => Shape::Allreduce {
                bytes: bytes("count", "datatype")?,
            },
            F::Scan => Shape::Scan {
                bytes: bytes("count", "datatype")?,
            },
            F::Exscan => Shape::ExclusiveScan {
                bytes: bytes("count", "datatype")?,
            },
            F::Gather => Shape::Gather {
                root: root()?,
                bytes: match has("recvcount") {
                    true => bytes("recvcount", "recvtype")?,
                    false => bytes("sendcount", "sendtype")?,
                },
            },
            F::Gatherv => {
                let root = root()?;
                let all = match has("recvcounts") {
                    true => Some(self.list(types, "recvcounts", "recvtype")?),
                    false => None,
                };
                let at_root = all.as_ref().and_then(|all| all.get(root as usize));
                let mine = match at_root {
                    Some(&mine) => mine,
                    None => bytes("sendcount", "sendtype")?,
                };
                Shape::GatherVarying { root, mine, all }
            }
            F::Scatter => Shape::Scatter {
                root: root()?,
                bytes: match has("sendcount") {
                    true => bytes("sendcount", "sendtype")?,
                    false => bytes("recvcount", "recvtype")?,
                },
            },
            F::Scatterv => {
                let root = root()?;
                let all = match has("sendcounts") {
                    true => Some(self.list(types, "sendcounts", "sendtype")?),
                    false => None,
                };
                let at_root = all.as_ref().and_then(|all| all.get(root as usize));
                let mine = match at_root {
                    Some(&mine) => mine,
                    None => bytes("recvcount", "recvtype")?,
                };
                Shape::ScatterVarying { root, mine, all }
            }
            F::Allgather => Shape::Allgather {
                bytes: bytes("recvcount", "recvtype")?,
            },
            F::Allgatherv => Shape::AllgatherVarying {
                all: self.list(types, "recvcounts", "recvtype")?,
            },
            F::Alltoall => Shape::Alltoall {
                bytes: bytes("recvcount", "recvtype")?,
            },
            F::Alltoallv => Shape::AlltoallVarying {
                sent: self.list(types, "sendcounts", "sendtype")?,
                received: self.list(types, "recvcounts", "recvtype")?,
                exact: true,
            },
            F::Alltoallw => Shape::AlltoallVarying {
                sent: self.lists(types, "sendcounts", "sendtypes")?,
                received: self.lists(types, "recvcounts", "recvtypes")?,
                exact: true,
            },
            F::Reduce_scatter => Shape::ReduceScatter {
                all: self.list(types, "recvcounts", "datatype")?,
            },
            _ => return Ok(None),
        }))
    }
}
