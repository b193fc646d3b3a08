//! The tables of a scenario that are declared.

pub(crate) use odonata_declare::table;
pub(crate) use odonata_declare::table::Declared;
pub use odonata_declare::table::{KeyDeclaration, Kind, Rule, TableDeclaration, Test};

/// Whether a value is as by default. Keys that came when scenarios were already known by
/// this form are left out of it where they are, so that those are still recognised.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
