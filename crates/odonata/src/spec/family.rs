//! What a family of networks declares beside its table.

use odonata_network::Topology;
use odonata_network::routing::{AlgorithmName, Paths};
use serde::Serialize;

use super::link::UsualLink;
use super::table::{TableDeclaration, Test};
use crate::error::SpecError;
use crate::topology::classes::Classes;

/// Tests of keys that all hold.
pub type Tests = &'static [(&'static str, Test)];

/// A family of networks: its table, and what a network of it has where a scenario says
/// nothing.
pub(crate) trait NetworkFamily {
    /// The algorithm by which packets are routed by default: the first of which the tests hold.
    const ROUTING: &'static [(Tests, AlgorithmName)];
    /// What minimal routes are by default; `None`: those over groups if there is more than
    /// one, else shortest paths.
    const PATHS: Option<Paths> = None;
    /// Its link classes.
    const LINKS: Links;

    /// Builds the network.
    ///
    /// # Errors
    /// If its numbers do not fit together, a file cannot be read or is wrong, or a link class
    /// is unknown or makes no sense; the path names the key.
    fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError>;
}

/// A family of networks, for those who write, check or describe scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyDeclaration {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The keys that it has besides those of every family.
    pub table: TableDeclaration,
    /// The algorithm by which packets are routed by default: the first of which the tests hold.
    pub routing: &'static [(Tests, AlgorithmName)],
    /// Its link classes.
    pub links: Links,
}

/// The link classes of a family.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// The link classes of a file, by its names.
    OfFile {
        /// What they are.
        text: &'static str,
        /// Whether they have a role.
        kinds: bool,
    },
    /// These.
    Classes {
        /// What the table of them is called.
        name: &'static str,
        /// What it is.
        text: &'static str,
        /// What is said of the key.
        key_text: &'static str,
        /// The classes, besides `terminal`.
        classes: &'static [DeclaredLink],
        /// When only those that are given stand in the engine's form, which has the others.
        given_only: Option<Tests>,
    },
}

/// A link class of a family.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeclaredLink {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub text: &'static str,
    /// What it is like where nothing is said.
    pub usual: UsualLink,
    /// Whether it is not there unless it is given.
    pub later: bool,
    /// When the network has it: any of these; empty: always.
    pub only: &'static [Tests],
}

impl DeclaredLink {
    /// A class that the network always has.
    pub(crate) const fn new(name: &'static str, usual: UsualLink, text: &'static str) -> Self {
        Self {
            name,
            text,
            usual,
            later: false,
            only: &[],
        }
    }

    /// The class, where any of the tests holds.
    pub(crate) const fn only(self, only: &'static [Tests]) -> Self {
        Self { only, ..self }
    }

    /// The class, which is not there unless it is given.
    pub(crate) const fn later(self) -> Self {
        Self {
            later: true,
            ..self
        }
    }
}

/// Declares the families of networks: which there are, what each is, and its table.
macro_rules! families {
    ($($(#[$attribute:meta])+ $family:ident($table:ty) as $class:literal,)+) => {
        /// A family of networks with its parameters.
        #[derive(
            Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, odonata_declare::Named,
        )]
        #[serde(tag = "family", rename_all = "kebab-case")]
        pub enum Family {
            $($(#[$attribute])+ $family($table),)+
        }

        impl Family {
            /// What documentation says of each, in the order in which they are declared.
            pub fn declarations() -> Vec<FamilyDeclaration> {
                let tables = [$((
                    $class,
                    stringify!($table),
                    <$table>::declaration(),
                    <$table as NetworkFamily>::ROUTING,
                    <$table as NetworkFamily>::LINKS,
                )),+];
                let names = <Self as odonata_declare::Named>::NAMES
                    .iter()
                    .zip(<Self as odonata_declare::Named>::TEXTS);
                let shared = tables.clone().map(|(_, table, ..)| table);
                (names.zip(tables))
                    .map(|((name, text), (class, of, table, routing, links))| FamilyDeclaration {
                        name,
                        table: TableDeclaration {
                            name: class,
                            // A table that several families have says nothing of one.
                            text: if shared.iter().filter(|other| **other == of).count() > 1 {
                                (*text).to_owned()
                            } else {
                                table.text
                            },
                            ..table
                        },
                        routing,
                        links,
                    })
                    .collect()
            }

            /// The algorithm that a network has which says nothing else of itself.
            pub(crate) fn usual_routing(&self) -> AlgorithmName {
                let routing = match self {
                    $(Self::$family(_) => <$table as NetworkFamily>::ROUTING,)+
                };
                routing.last().map_or_else(AlgorithmName::default, |usual| usual.1)
            }

            /// What minimal routes are by default, where the family says it.
            pub(crate) fn usual_paths(&self) -> Option<Paths> {
                match self {
                    $(Self::$family(_) => <$table as NetworkFamily>::PATHS,)+
                }
            }

            /// Builds the network.
            ///
            /// # Errors
            /// As for [`NetworkFamily::build`].
            pub(crate) fn build(&self, classes: &Classes<'_>) -> Result<Topology, SpecError> {
                match self {
                    $(Self::$family(table) => table.build(classes),)+
                }
            }
        }
    };
}
pub(crate) use families;
