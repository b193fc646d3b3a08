//! Sizes of MPI datatypes.

use std::collections::HashMap;

use odonata_traces::dumpi::{self, Function, Value};

/// Sizes of MPI's own types by their number in a trace, bytes, where the trace
/// does not tell: those of 64-bit Unix systems.
const USUAL: [u64; 28] = [
    0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20,
];

/// What is known of the sizes of a rank's types: from the calls that made them,
/// and from the list at the end of the trace, which knows a reused number's last
/// meaning only.
#[derive(Debug, Default)]
pub(super) struct Types {
    listed: Vec<i32>,
    made: HashMap<u16, Option<u64>>,
}

impl Types {
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

    /// Takes note of a call that makes a type.
    pub fn note(&mut self, call: &dumpi::Call) {
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

    fn insert(&mut self, call: &dumpi::Call, size: Option<u64>) {
        if let Some(new) = call.int("newtype").and_then(|new| u16::try_from(new).ok()) {
            self.made.insert(new, size);
        }
    }

    fn of_struct(&self, call: &dumpi::Call) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_calls_that_made_the_types() {
        let mut types = Types::new(&[0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8]);
        let int = 9;
        assert_eq!(types.size(int), Some(4));
        // Beyond the list: MPI_DOUBLE as usual.
        assert_eq!(types.size(14), Some(8));
        assert_eq!(types.size(40), None);
        let handle = Value::Handle;
        // 3 blocks of 5 integers: 60 bytes, whatever the stride.
        types.note(&dumpi::Call::with_values(
            Function::Type_vector,
            vec![
                Value::Int(3),
                Value::Int(5),
                Value::Int(100),
                handle(int),
                handle(30),
            ],
        ));
        assert_eq!(types.size(30), Some(60));
        // 2 of those and 7 characters: 127 bytes.
        types.note(&dumpi::Call::with_values(
            Function::Type_struct,
            vec![
                Value::Int(2),
                Value::Ints(vec![2, 7]),
                Value::Ints(vec![0, 200]),
                Value::Handles(vec![30, 2]),
                handle(31),
            ],
        ));
        assert_eq!(types.size(31), Some(127));
        // Of a type that nobody knows: not known.
        types.note(&dumpi::Call::with_values(
            Function::Type_contiguous,
            vec![Value::Int(2), handle(99), handle(32)],
        ));
        assert_eq!(types.size(32), None);
    }
}
