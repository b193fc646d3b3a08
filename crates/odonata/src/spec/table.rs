//! The tables of a scenario that are declared.

pub(crate) use odonata_declare::table;
pub use odonata_declare::table::{CommandLine, KeyDeclaration, Kind, Rule, TableDeclaration, Test};
pub(crate) use odonata_declare::table::{Declared, Notes};

/// Whether a value is as by default. Keys that came when scenarios were already known by
/// this form are left out of it where they are, so that those are still recognised.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
