//! Sizes of MPI datatypes, and with them of what calls send.

use std::collections::HashMap;

use super::function::Function;
use super::record::{Call, Value};

/// Sizes of MPI's own types by their number in a trace, bytes, where the trace
/// does not tell: those of 64-bit Unix systems.
const USUAL: [u64; 28] = [
    0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20,
];

/// What is known of the sizes of a rank's datatypes: from the calls that made them,
/// and from the list at the end of the trace, which knows a reused number's last
/// meaning only. The one place that turns elements into bytes.
#[derive(Clone, Debug, Default)]
pub struct Datatypes {
    listed: Vec<i32>,
    made: HashMap<u16, Option<u64>>,
}

impl Datatypes {
    /// The datatypes of a trace whose trailer lists these sizes
    /// ([`Trailer::datatype_sizes`](super::Trailer::datatype_sizes)).
    pub fn new(listed: &[i32]) -> Self {
        Self {
            listed: listed.to_vec(),
            made: HashMap::new(),
        }
    }

    /// Size of a type, bytes; `None` if nothing tells.
    pub fn size(&self, handle: u16) -> Option<u64> {
        if let Some(Some(size)) = self.made.get(&handle) {
            return Some(*size);
        }
        let listed = self.listed.get(usize::from(handle)).copied();
        let listed = listed.and_then(|size| u64::try_from(size).ok());
        let usual = USUAL.get(usize::from(handle)).copied();
        // A size of 0 for a type of MPI's own is one that was not recorded.
        listed.filter(|&size| size > 0 || usual.is_none()).or(usual)
    }

    /// Bytes of `count` elements of a type, which `function` names.
    ///
    /// # Errors
    /// If nothing tells the type's size or the bytes exceed 64 bits.
    pub fn bytes(&self, function: Function, count: u32, handle: u16) -> Result<u64, String> {
        if count == 0 {
            return Ok(0);
        }
        let name = function.name();
        let size = self.size(handle).ok_or_else(|| {
            format!("{name}: {count} elements of datatype {handle}, whose size is not known")
        })?;
        size.checked_mul(count.into())
            .ok_or_else(|| format!("{name}: {count} elements of {size} B exceed 64 bits"))
    }

    /// Takes note of a call that makes a type. To be called with every call, in order.
    pub fn note(&mut self, call: &Call) {
        use Function as F;
        let product = |names: &[&str]| {
            names.iter().try_fold(1u64, |product, name| {
                product.checked_mul(u64::try_from(call.int(name)?).ok()?)
            })
        };
        let sum = |name| {
            call.ints(name)?.iter().try_fold(0u64, |sum, &length| {
                sum.checked_add(u64::try_from(length).ok()?)
            })
        };
        let elements = match call.function {
            F::Type_contiguous => product(&["count"]),
            F::Type_vector | F::Type_hvector | F::Type_create_hvector => {
                product(&["count", "blocklength"])
            }
            F::Type_create_indexed_block => product(&["count", "blocklength"]),
            F::Type_indexed | F::Type_hindexed => sum("lengths"),
            F::Type_create_hindexed => sum("blocklengths"),
            F::Type_dup | F::Type_create_resized => Some(1),
            F::Type_create_subarray => call.ints("subsizes").and_then(|sizes| {
                sizes.iter().try_fold(1u64, |product, &size| {
                    product.checked_mul(u64::try_from(size).ok()?)
                })
            }),
            F::Type_struct | F::Type_create_struct => {
                let size = self.of_struct(call);
                return self.insert(call, size);
            }
            F::Type_create_darray => None,
            _ => return,
        };
        let old = call.int("oldtype").and_then(|old| u16::try_from(old).ok());
        let size = old.and_then(|old| self.size(old)?.checked_mul(elements?));
        self.insert(call, size);
    }

    fn insert(&mut self, call: &Call, size: Option<u64>) {
        if let Some(new) = call.int("newtype").and_then(|new| u16::try_from(new).ok()) {
            self.made.insert(new, size);
        }
    }

    fn of_struct(&self, call: &Call) -> Option<u64> {
        let lengths = call.ints("lengths").or(call.ints("blocklengths"))?;
        let Some(Value::Handles(types)) = call.value("oldtypes") else {
            return None;
        };
        let fields = lengths.iter().zip(types);
        fields
            .map(|(&length, &of)| u64::try_from(length).ok()?.checked_mul(self.size(of)?))
            .try_fold(0u64, |sum, field| sum.checked_add(field?))
    }
}

/// Counts what the calls of a rank send: messages to another rank and one-sided
/// writes, at the call that begins them. Memory: datatypes and persistent requests.
#[derive(Clone, Debug, Default)]
pub struct SentBytes {
    datatypes: Datatypes,
    /// Bytes of a persistent send by its request; `None`: not known.
    prepared: HashMap<i32, Option<u64>>,
}

impl SentBytes {
    /// The state for a trace whose trailer lists these sizes of datatypes.
    pub fn new(listed: &[i32]) -> Self {
        Self {
            datatypes: Datatypes::new(listed),
            prepared: HashMap::new(),
        }
    }

    /// Bytes that a call sends; `None`: a size that nothing tells. To be called with
    /// every call, in order.
    pub fn of(&mut self, call: &Call) -> Option<u64> {
        use Function as F;
        self.datatypes.note(call);
        let sent = |count, datatype, peer| self.elements(call, count, datatype, peer);
        let request = || i32::try_from(call.int("request")?).ok();
        match call.function {
            F::Send
            | F::Bsend
            | F::Ssend
            | F::Rsend
            | F::Isend
            | F::Ibsend
            | F::Issend
            | F::Irsend
            | F::Sendrecv_replace => sent("count", "datatype", "dest"),
            F::Sendrecv => sent("sendcount", "sendtype", "dest"),
            F::Put | F::Accumulate => sent("origincount", "origintype", "targetrank"),
            F::Send_init | F::Bsend_init | F::Ssend_init | F::Rsend_init => {
                let bytes = sent("count", "datatype", "dest");
                if let Some(request) = request() {
                    self.prepared.insert(request, bytes);
                }
                Some(0)
            }
            F::Recv_init | F::Request_free => {
                if let Some(request) = request() {
                    self.prepared.remove(&request);
                }
                Some(0)
            }
            F::Start => self.started(&[request()?]),
            F::Startall => self.started(call.ints("requests")?),
            _ => Some(0),
        }
    }

    fn elements(&self, call: &Call, count: &str, datatype: &str, peer: &str) -> Option<u64> {
        // Negative: MPI_PROC_NULL, to whom nothing is sent.
        if call.int(peer)? < 0 {
            return Some(0);
        }
        let count = u32::try_from(call.int(count)?).ok()?;
        let datatype = u16::try_from(call.int(datatype)?).ok()?;
        self.datatypes.bytes(call.function, count, datatype).ok()
    }

    fn started(&self, requests: &[i32]) -> Option<u64> {
        // Others are receives.
        let sends = requests.iter().filter_map(|of| self.prepared.get(of));
        sends
            .copied()
            .try_fold(0u64, |sum, bytes| sum.checked_add(bytes?))
    }
}

#[cfg(test)]
mod tests;
