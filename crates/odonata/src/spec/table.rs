//! Tables of a scenario, declared once: the struct that the engine reads, its defaults, and
//! what users are told of every key.

use serde::Serialize;
use serde_json::Value;

use crate::registry::list_of;

/// A table of a scenario, for code that writes, checks or describes scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableDeclaration {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub text: String,
    /// Its keys, in the order in which users read of them.
    pub keys: Vec<KeyDeclaration>,
    /// What does not go together.
    pub rules: Vec<Rule>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyDeclaration {
    /// The key.
    pub key: String,
    /// The same in the engine's form: with the unit of its quantity.
    pub engine_key: &'static str,
    /// What it means.
    pub text: String,
    /// What its values are.
    pub kind: Kind,
    /// Least value, in base units.
    pub least: Option<Value>,
    /// Largest value, in base units.
    pub most: Option<Value>,
    /// What the values are called in messages, where there is a word as well.
    pub called: Option<&'static str>,
    /// A word in place of a value, which is nothing in the engine's form.
    pub word: Option<&'static str>,
    /// Whether it may be nothing.
    pub optional: bool,
    /// What holds where nothing is said, in base units.
    pub default: Value,
    /// Whether it is left out of the engine's form where it is as by default, since it came
    /// when scenarios were already known by that form.
    pub later: bool,
}

/// What the values of a key are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A text with a unit; in the engine's form the number of its base units.
    Quantity(&'static str),
    /// One of the names of a list of the registry.
    Name(String),
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Flag,
}

/// Two keys whose values do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The key to change.
    pub key: &'static str,
    /// Its value.
    pub value: &'static str,
    /// The other key.
    pub with: &'static str,
    /// Its value.
    pub with_value: &'static str,
    /// What is allowed instead.
    pub allowed: &'static str,
}

/// What a declaration says of a key beside its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    /// See [`KeyDeclaration::key`]; none: the name of the field without its unit.
    pub key: Option<&'static str>,
    /// See [`KeyDeclaration::least`].
    pub least: Option<f64>,
    /// See [`KeyDeclaration::most`].
    pub most: Option<f64>,
    /// See [`KeyDeclaration::word`].
    pub word: Option<&'static str>,
    /// See [`KeyDeclaration::called`].
    pub called: Option<&'static str>,
}

impl Notes {
    pub(crate) const NONE: Self = Self {
        key: None,
        least: None,
        most: None,
        word: None,
        called: None,
    };
    /// A latency, delay or overhead: up to an hour.
    pub(crate) const DELAY: Self = Self {
        least: Some(0.0),
        most: Some(3.6e15),
        ..Self::NONE
    };
    /// Not nothing.
    pub(crate) const POSITIVE: Self = Self {
        least: Some(1.0),
        ..Self::NONE
    };
    /// The rate of a link: 1 kB/s to 1000 TB/s.
    pub(crate) const BANDWIDTH: Self = Self {
        least: Some(1e3),
        most: Some(1e15),
        ..Self::NONE
    };
}

/// A type that values of keys have.
pub(crate) trait Declared: Serialize {
    /// Whether it may be nothing.
    const OPTIONAL: bool = false;
    /// What its values are, but for units.
    fn kind() -> Kind;
}

macro_rules! declared {
    ($($type:ty: $kind:expr,)+) => {
        $(impl Declared for $type {
            fn kind() -> Kind {
                $kind
            }
        })+
    };
}

declared! {
    u8: Kind::Integer,
    u32: Kind::Integer,
    u64: Kind::Integer,
    usize: Kind::Integer,
    f64: Kind::Number,
    bool: Kind::Flag,
    super::Arbitration: Kind::Name(list_of::<super::Arbitration>()),
    super::CreditUse: Kind::Name(list_of::<super::CreditUse>()),
    super::InjectionOrder: Kind::Name(list_of::<super::InjectionOrder>()),
    super::Room: Kind::Name(list_of::<super::Room>()),
    super::OccupancyCount: Kind::Name(list_of::<super::OccupancyCount>()),
    super::SwitchingName: Kind::Name(list_of::<super::SwitchingName>()),
}

impl<T: Declared> Declared for Option<T> {
    const OPTIONAL: bool = true;

    fn kind() -> Kind {
        T::kind()
    }
}

/// Ends of fields' names, and what the quantity is.
const UNITS: [(&str, &str); 3] = [
    ("_ps", "duration"),
    ("_bytes_per_s", "rate"),
    ("_bytes", "size"),
];

/// The declaration of a key from its field.
pub(crate) fn key<T: Declared>(
    field: &'static str,
    text: &str,
    serde: &str,
    default: &T,
    notes: Notes,
) -> KeyDeclaration {
    let unit = UNITS.iter().find(|(suffix, _)| field.ends_with(suffix));
    let plain = unit.map_or(field, |(suffix, _)| field.trim_end_matches(suffix));
    let kind = unit.map_or_else(T::kind, |(_, quantity)| Kind::Quantity(quantity));
    let number = |value: f64| match kind {
        Kind::Number => Value::from(value),
        _ => Value::from(value as u64),
    };
    KeyDeclaration {
        key: notes.key.unwrap_or(plain).to_owned(),
        engine_key: field,
        text: lines(text),
        least: notes.least.map(number),
        most: notes.most.map(number),
        called: notes.called,
        word: notes.word,
        optional: T::OPTIONAL,
        // Plain values always have a JSON form.
        default: serde_json::to_value(default).unwrap_or_default(),
        later: serde.contains("skip_serializing_if"),
        kind,
    }
}

/// A documentation comment without the blank before each line.
pub(crate) fn lines(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Declares a table: a struct for serde with the default of every field, and its
/// [`TableDeclaration`].
///
/// A field's quantity follows from the unit that its name ends in. After `=>` stand
/// [`Notes`], such as the range of its values.
macro_rules! table {
    (
        $(#[doc = $text:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $field_text:literal])+
                $(#[serde($($serde:tt)+)])?
                $field:ident: $type:ty = $default:expr $(=> $notes:expr)?,
            )+
        }
        $(refuse $key:literal = $value:literal with $with:literal = $with_value:literal:
          $allowed:literal;)*
    ) => {
        $(#[doc = $text])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                $(#[doc = $field_text])+
                $(#[serde($($serde)+)])?
                pub $field: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        impl $name {
            /// What users are told of it.
            pub fn declaration() -> $crate::spec::TableDeclaration {
                use $crate::spec::table::{Notes, TableDeclaration, key, lines};
                let default = Self::default();
                TableDeclaration {
                    name: stringify!($name),
                    text: lines(concat!($($text, "\n"),+)),
                    keys: vec![$({
                        #[allow(unused_mut, unused_assignments)]
                        let mut notes = Notes::NONE;
                        $(notes = $notes;)?
                        key::<$type>(
                            stringify!($field),
                            concat!($($field_text, "\n"),+),
                            concat!("", $(stringify!($($serde)+))?),
                            &default.$field,
                            notes,
                        )
                    }),+],
                    rules: vec![$($crate::spec::table::Rule {
                        key: $key,
                        value: $value,
                        with: $with,
                        with_value: $with_value,
                        allowed: $allowed,
                    }),*],
                }
            }
        }
    };
}
pub(crate) use table;

/// The tables that are declared so.
pub fn tables() -> Vec<TableDeclaration> {
    vec![super::Router::declaration(), super::Nic::declaration()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_unit_range_default_and_text() {
        let router = super::super::Router::declaration();
        let key = |name: &str| router.keys.iter().find(|key| key.key == name).unwrap();
        let delay = key("delay");
        assert_eq!(delay.engine_key, "delay_ps");
        assert_eq!(delay.kind, Kind::Quantity("duration"));
        assert_eq!(
            (&delay.default, &delay.most),
            (&50_000.into(), &Some(3_600_000_000_000_000u64.into()))
        );
        assert!(
            delay
                .text
                .starts_with("From the arrival of a packet's head")
        );
        let crossbar = key("crossbar");
        assert_eq!(
            (crossbar.word, crossbar.kind.clone()),
            (Some("ideal"), Kind::Number)
        );
        assert!(crossbar.optional && crossbar.default.is_null());
        assert!(key("occupancy").later && !key("arbitration").later);
        assert_eq!(key("credit_use").kind, Kind::Name("credit_use".into()));
    }

    #[test]
    fn rules_name_keys_of_the_table() {
        for table in tables() {
            let known = |name: &str| table.keys.iter().any(|key| key.key == name);
            assert!(
                table
                    .rules
                    .iter()
                    .all(|rule| known(rule.key) && known(rule.with))
            );
        }
    }
}
