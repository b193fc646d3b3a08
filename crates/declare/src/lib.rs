//! What things are called in scenarios, and what they are, declared once: on the type
//! that the room which owns them works with.
//!
//! [`Named`] is derived for enums: names are those of serde, texts are the first
//! paragraphs of the documentation. Scenario files, messages, the command line, the
//! Python package and the documentation all read that one list.

// What the derives write names this crate.
#[cfg(test)]
extern crate self as odonata_declare;

use thiserror::Error;

pub use odonata_declare_derive::Named;
pub use serde;

pub mod table;

/// One of several things with names.
pub trait Named {
    /// The names in scenarios.
    const NAMES: &'static [&'static str];
    /// What each is, for users.
    const TEXTS: &'static [&'static str];
    /// Keys that mean something with each, besides those that all have.
    const OPTIONS: &'static [&'static [&'static str]];
    /// Whether users write a value of another form in place of the name.
    const BY_VALUE: &'static [bool];
    /// The one that it is if nothing is said.
    const DEFAULT: Option<&'static str>;

    /// Which of the names is its own.
    fn place(&self) -> usize;

    /// What it is, for users.
    fn text(&self) -> &'static str {
        Self::TEXTS[self.place()]
    }

    /// Keys that mean something with it, besides those that all have.
    fn options(&self) -> &'static [&'static str] {
        Self::OPTIONS[self.place()]
    }

    /// Whether a key means something with it, of those that not all have.
    fn has_option(&self, key: &str) -> bool {
        self.options().contains(&key)
    }

    /// Names of those with which a key means something.
    fn with_option(key: &str) -> Vec<&'static str> {
        let all = Self::NAMES.iter().zip(Self::OPTIONS);
        all.filter(|(_, options)| options.contains(&key))
            .map(|(name, _)| *name)
            .collect()
    }
}

/// One of several things that have nothing but names.
pub trait Listed: Named + Copy + 'static {
    /// All of them, in the order in which they are declared.
    const ALL: &'static [Self];

    /// The one of a name.
    ///
    /// # Errors
    /// If there is none; the error lists those that there are.
    fn by_name(name: &str) -> Result<Self, UnknownName> {
        let place = Self::NAMES.iter().position(|known| *known == name);
        place
            .and_then(|place| Self::ALL.get(place).copied())
            .ok_or_else(|| UnknownName {
                found: name.into(),
                allowed: Self::NAMES,
            })
    }
}

/// A name that is none of those allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("found \"{found}\"; allowed: {}", allowed.join(", "))]
pub struct UnknownName {
    /// The name.
    pub found: Box<str>,
    /// Names that exist.
    pub allowed: &'static [&'static str],
}

/// A thing of a list, for code that only shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it is.
    pub text: &'static str,
    /// Keys that mean something with it, besides those that all have.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub options: &'static [&'static str],
    /// Whether users write a value of another form in place of the name.
    #[serde(skip)]
    pub by_value: bool,
}

/// All things of a kind.
pub fn entries<T: Named>() -> Vec<Entry> {
    let all = T::NAMES
        .iter()
        .zip(T::TEXTS)
        .zip(T::OPTIONS)
        .zip(T::BY_VALUE);
    all.map(|(((name, text), options), by_value)| Entry {
        name,
        text,
        options,
        by_value: *by_value,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    /// A way.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
    #[serde(rename_all = "kebab-case")]
    enum Way {
        /// First up,
        /// then down.
        ///
        /// By tables.
        #[default]
        UpDown,
        /// Round.
        #[serde(rename = "ring+")]
        #[named(options("turns", "speed"))]
        Ring,
    }

    #[derive(Debug, PartialEq, Named)]
    #[named(kinds = ShapeName)]
    enum Shape {
        /// A point.
        Point,
        /// A circle.
        #[default]
        Circle { radius: u32 },
        /// A square.
        #[serde(rename = "quad")]
        #[named(options("side"), by_value)]
        Square(u32),
    }

    #[test]
    fn names_are_those_of_serde() {
        for way in Way::ALL {
            let json = serde_json::to_string(way).unwrap();
            assert_eq!(json, format!("\"{}\"", way.name()));
            assert_eq!(Way::by_name(way.name()), Ok(*way));
        }
        for kind in ShapeName::ALL {
            let json = serde_json::to_string(kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()));
        }
        assert_eq!(Way::NAMES, ["up-down", "ring+"]);
        assert_eq!(ShapeName::NAMES, ["point", "circle", "quad"]);
        assert_eq!(Shape::NAMES, ShapeName::NAMES);
    }

    #[test]
    fn texts_are_first_paragraphs() {
        assert_eq!(Way::UpDown.text(), "First up, then down.");
        assert_eq!(Shape::Square(2).text(), "A square.");
        assert_eq!(ShapeName::Circle.text(), "A circle.");
    }

    #[test]
    fn options_have_owners() {
        assert!(Way::Ring.has_option("turns") && !Way::UpDown.has_option("turns"));
        assert_eq!(Way::with_option("speed"), ["ring+"]);
        assert_eq!(Shape::with_option("side"), ["quad"]);
        assert!(Way::with_option("colour").is_empty());
    }

    #[test]
    fn kinds_lose_the_fields() {
        assert_eq!(Shape::Circle { radius: 3 }.kind(), ShapeName::Circle);
        assert_eq!(Shape::Point.kind(), ShapeName::Point);
        assert_eq!(Shape::Square(1).kind().name(), Shape::Square(1).name());
        assert_eq!(ShapeName::default(), ShapeName::Circle);
        assert_eq!(
            (Shape::DEFAULT, Way::DEFAULT),
            (Some("circle"), Some("up-down"))
        );
    }

    #[test]
    fn an_unknown_name_is_told_those_that_there_are() {
        let error = Way::by_name("up").unwrap_err();
        assert_eq!(error.to_string(), "found \"up\"; allowed: up-down, ring+");
    }

    #[test]
    fn entries_have_all_of_it() {
        let entries = entries::<Way>();
        assert!(super::entries::<ShapeName>()[2].by_value && !entries[1].by_value);
        assert_eq!(entries.len(), Way::ALL.len());
        assert_eq!(
            (entries[1].name, entries[1].options),
            ("ring+", &["turns", "speed"][..])
        );
    }
}
