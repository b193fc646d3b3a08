//! Derives of `odonata-declare`, which says what they are for.

mod documentation;
mod named;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Named` for an enum, and `Listed` if no variant has fields.
///
/// Names are those that serde gives the variants: its `rename_all` (kebab-case unless
/// another is given) and `rename`. The text of a variant is the first paragraph of its
/// documentation.
///
/// - `#[named(kinds = Name)]` on an enum with fields declares an enum `Name` of the same
///   variants without fields, with serde's derives.
/// - `#[named(options("a", "b"))]` on a variant: keys of a scenario that mean something
///   with it, besides those that all have.
/// - `#[named(by_value)]` on a variant: what users write is a value of another form, and
///   the name is not for them.
#[proc_macro_derive(Named, attributes(named, serde, default))]
pub fn derive_named(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    named::derive(&input)
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
