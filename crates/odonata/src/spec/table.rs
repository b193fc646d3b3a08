//! Tables of a scenario, declared once: the struct that the engine reads, its defaults, and
//! what users are told of every key.

use serde::{Deserialize, Deserializer, Serialize};
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
    /// Tables of the engine's form that keys of this one are in and that are there without
    /// any of them.
    pub always: Vec<&'static str>,
}

impl TableDeclaration {
    /// The declaration of a key.
    pub fn key(&self, name: &str) -> Option<&KeyDeclaration> {
        self.keys.iter().find(|key| key.key == name)
    }
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyDeclaration {
    /// The key.
    pub key: String,
    /// The same in the engine's form: with the unit of its quantity.
    pub engine_key: &'static str,
    /// The table of the engine's form that it is in, besides that of its table.
    pub within: Option<&'static str>,
    /// What it means.
    pub text: String,
    /// What its values are.
    pub kind: Kind,
    /// Least value, in base units; of lists that of their entries.
    pub least: Option<Value>,
    /// Largest value, in base units; of lists that of their entries.
    pub most: Option<Value>,
    /// What values are more than, in base units.
    pub more_than: Option<Value>,
    /// Least number of entries of a list.
    pub fewest_entries: Option<usize>,
    /// Largest number of entries of a list.
    pub most_entries: Option<usize>,
    /// What the values are called in messages, where there is a word or a share as well.
    pub called: Option<&'static str>,
    /// Words in place of a value, and what each is in the engine's form.
    pub words: Vec<(&'static str, Value)>,
    /// Of a table: the key of it whose value may stand for all of it.
    pub short: Option<&'static str>,
    /// Key of the engine's form that says whether it is a word.
    pub word_key: Option<&'static str>,
    /// Key of the engine's form that has the value where it is a share, 0 to 1, instead.
    pub share_key: Option<&'static str>,
    /// Whether it may be nothing.
    pub optional: bool,
    /// Whether it must be given.
    pub needed: bool,
    /// What holds where nothing is said, in base units.
    pub default: Value,
    /// Whether it is left out of the engine's form where it is as by default, since it came
    /// when scenarios were already known by that form.
    pub later: bool,
}

impl KeyDeclaration {
    /// A key with values of a kind of which nothing else is said.
    pub(crate) fn new(key: &str, text: &str, kind: Kind) -> Self {
        Self {
            key: key.to_owned(),
            engine_key: "",
            within: None,
            text: lines(text),
            kind,
            least: None,
            most: None,
            more_than: None,
            fewest_entries: None,
            most_entries: None,
            called: None,
            words: Vec::new(),
            short: None,
            word_key: None,
            share_key: None,
            optional: false,
            needed: false,
            default: Value::Null,
            later: false,
        }
    }
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
    /// A text.
    Text,
    /// Name of a file, and what belongs to it.
    File(&'static str),
    /// Values one after another.
    List(Box<Kind>),
    /// Numbers of groups or routers: a list, or a text such as `0, 3-8`.
    Numbers,
    /// A table of that name.
    Table(&'static str),
    /// The same, of two values; in the engine's form the one after the other. In a list the
    /// first ones grow and the second ones do not fall.
    Pair(&'static str),
}

/// Values of keys that do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// When it is broken: all of these.
    pub when: &'static [(&'static str, Test)],
    /// The key to change.
    pub key: &'static str,
    /// What is allowed instead; `{key}` is the value of that key.
    pub allowed: &'static str,
}

/// What the value of a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// This text.
    Is(&'static str),
    /// Another one than this text.
    IsNot(&'static str),
    /// Something.
    Given,
    /// Nothing.
    Absent,
    /// A list of more entries.
    Longer(usize),
    /// No less than another key's.
    Reaches(&'static str),
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
    /// See [`KeyDeclaration::more_than`].
    pub more_than: Option<f64>,
    /// See [`KeyDeclaration::fewest_entries`].
    pub fewest_entries: Option<usize>,
    /// See [`KeyDeclaration::most_entries`].
    pub most_entries: Option<usize>,
    /// See [`KeyDeclaration::words`].
    pub words: &'static [(&'static str, Word)],
    /// See [`KeyDeclaration::word_key`].
    pub word_key: Option<&'static str>,
    /// See [`KeyDeclaration::share_key`].
    pub share_key: Option<&'static str>,
    /// See [`KeyDeclaration::called`].
    pub called: Option<&'static str>,
    /// See [`KeyDeclaration::short`].
    pub short: Option<&'static str>,
    /// Whether users have its keys in the table that it is in.
    pub flat: bool,
    /// What belongs to the file.
    pub parts: &'static str,
    /// The quantity, where the name of the field does not say it.
    pub quantity: Option<&'static str>,
    /// See [`KeyDeclaration::needed`].
    pub needed: bool,
    /// Whether users see no default but that of the text: the engine has it.
    pub unsaid: bool,
    /// Whether another key sets it.
    pub hidden: bool,
    /// Whether the values are numbers of groups or routers.
    pub numbers: bool,
}

/// What a word is in the engine's form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    /// Nothing.
    Nothing,
    /// A number.
    Number(u64),
    /// The word.
    Itself,
}

impl Notes {
    pub(crate) const NONE: Self = Self {
        key: None,
        least: None,
        most: None,
        more_than: None,
        fewest_entries: None,
        most_entries: None,
        words: &[],
        word_key: None,
        share_key: None,
        called: None,
        short: None,
        flat: false,
        parts: "itself",
        quantity: None,
        needed: false,
        unsaid: false,
        hidden: false,
        numbers: false,
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
    /// A number of things, at least one.
    pub(crate) const COUNT: Self = Self {
        least: Some(1.0),
        most: Some(4_294_967_295.0),
        ..Self::NONE
    };
    /// A number of things that must be given.
    pub(crate) const NEEDED_COUNT: Self = Self {
        needed: true,
        ..Self::COUNT
    };
    /// A number of things of which the text says the default.
    pub(crate) const UNSAID_COUNT: Self = Self {
        unsaid: true,
        ..Self::COUNT
    };
    /// Numbers of things, at least one of them.
    pub(crate) const COUNTS: Self = Self {
        fewest_entries: Some(1),
        ..Self::COUNT
    };
    /// Times by size.
    pub(crate) const POINTS: Self = Self {
        most_entries: Some(16),
        ..Self::NONE
    };
    /// A part of something.
    pub(crate) const FRACTION: Self = Self {
        least: Some(0.0),
        most: Some(1.0),
        ..Self::NONE
    };
    /// A part of something that is not nothing.
    pub(crate) const POSITIVE_FRACTION: Self = Self {
        more_than: Some(0.0),
        most: Some(1.0),
        ..Self::NONE
    };
    /// Must be given.
    pub(crate) const NEEDED: Self = Self {
        needed: true,
        ..Self::NONE
    };
    /// Set by another key.
    pub(crate) const HIDDEN: Self = Self {
        hidden: true,
        ..Self::NONE
    };
}

/// A type that values of keys have.
pub(crate) trait Declared: Serialize {
    /// Whether it may be nothing.
    const OPTIONAL: bool = false;
    /// What its values are, but for units.
    fn kind() -> Kind;
    /// Its keys, of a table.
    fn keys() -> Vec<KeyDeclaration> {
        Vec::new()
    }
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

/// Types of values that have nothing but names.
macro_rules! named {
    ($($type:ty,)+) => {
        declared! { $($type: Kind::Name(list_of::<$type>()),)+ }
    };
}

declared! {
    u8: Kind::Integer,
    u32: Kind::Integer,
    u64: Kind::Integer,
    usize: Kind::Integer,
    f64: Kind::Number,
    bool: Kind::Flag,
    String: Kind::Text,
    std::path::PathBuf: Kind::File("itself"),
    (u64, u64): Kind::Pair("HostTime"),
    super::Weights: Kind::List(Box::new(Kind::Integer)),
}

named! {
    super::Arbitration,
    super::CreditUse,
    super::InjectionOrder,
    super::Room,
    super::OccupancyCount,
    super::SwitchingName,
    super::Engine,
    super::AlgorithmName,
    super::LinkKind,
    super::MinimalLinks,
    super::Choice,
    super::Paths,
    super::Via,
    super::FparRules,
    super::Decisions,
    super::GroupWiringName,
    super::ArrangementName,
    super::SpineArrangement,
    super::CircuitSource,
    super::Strategy,
    super::CodesModel,
    super::Completion,
    super::UplinkCircuits,
    super::UplinkSteering,
    odonata_load::collective::Family,
}

impl<T: Declared> Declared for Option<T> {
    const OPTIONAL: bool = true;

    fn kind() -> Kind {
        T::kind()
    }

    fn keys() -> Vec<KeyDeclaration> {
        T::keys()
    }
}

impl<T: Declared> Declared for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }
}

/// Ends of fields' names, and what the quantity is.
const UNITS: [(&str, &str); 3] = [
    ("_ps", "duration"),
    ("_bytes_per_s", "rate"),
    ("_bytes", "size"),
];

/// The declarations of a field's key, or of the keys of a table that users have in this one.
pub(crate) fn keys<T: Declared>(
    field: &'static str,
    text: &str,
    serde: &str,
    default: &T,
    notes: Notes,
) -> Vec<KeyDeclaration> {
    if !notes.flat {
        return vec![key(field, text, serde, default, notes)];
    }
    let inner = T::keys().into_iter().map(|key| KeyDeclaration {
        within: Some(field),
        ..key
    });
    inner.collect()
}

/// The declaration of a key from its field.
fn key<T: Declared>(
    field: &'static str,
    text: &str,
    serde: &str,
    default: &T,
    notes: Notes,
) -> KeyDeclaration {
    let unit = UNITS.iter().find(|(suffix, _)| field.ends_with(suffix));
    let plain = unit.map_or(field, |(suffix, _)| field.trim_end_matches(suffix));
    let kind = match (unit, notes.quantity, T::kind()) {
        (Some((_, quantity)), ..) => Kind::Quantity(quantity),
        (None, Some(quantity), _) => Kind::Quantity(quantity),
        (None, None, Kind::File(_)) => Kind::File(notes.parts),
        (None, None, Kind::List(_)) if notes.numbers => Kind::Numbers,
        (None, None, kind) => kind,
    };
    let number = |value: f64| match kind {
        Kind::Number => Value::from(value),
        _ => Value::from(value as u64),
    };
    let words = notes.words.iter().map(|(word, meaning)| {
        let value = match meaning {
            Word::Nothing => Value::Null,
            Word::Number(number) => (*number).into(),
            Word::Itself => (*word).into(),
        };
        (*word, value)
    });
    KeyDeclaration {
        engine_key: field,
        least: notes.least.map(number),
        most: notes.most.map(number),
        more_than: notes.more_than.map(number),
        fewest_entries: notes.fewest_entries,
        most_entries: notes.most_entries,
        called: notes.called,
        short: notes.short,
        words: words.collect(),
        word_key: notes.word_key,
        share_key: notes.share_key,
        optional: T::OPTIONAL || notes.unsaid,
        needed: notes.needed,
        // Plain values always have a JSON form.
        default: serde_json::to_value(default).unwrap_or_default(),
        later: is_later(serde),
        ..KeyDeclaration::new(notes.key.unwrap_or(plain), text, kind.clone())
    }
}

/// Whether a field is left out of the engine's form where it is as by default.
pub(crate) fn is_later(serde: &str) -> bool {
    serde.contains("skip_serializing_if")
}

/// A documentation comment without the blank before each line.
pub(crate) fn lines(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// A value that is there, be it nothing, unlike one that is left out.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Declares a table: a struct for serde with the default of every field, and its
/// [`TableDeclaration`].
///
/// A field's quantity follows from the unit that its name ends in. After `=>` stand
/// [`Notes`], such as the range of its values; of a key that must be given the value is
/// nobody's default. Rules follow: `require` a key exactly where another one has a value,
/// `refuse` what a list of tests says.
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
        $(refuse $key:literal when $tests:expr => $allowed:literal;)*
    ) => {
        $(#[doc = $text])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
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

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Given {
                    $(
                        #[serde(default, deserialize_with = "crate::spec::table::given")]
                        $field: Option<$type>,
                    )+
                }
                let given = Given::deserialize(deserializer)?;
                let default = Self::default();
                Ok(Self {
                    $($field: match given.$field {
                        Some(value) => value,
                        None if Self::notes(stringify!($field)).needed => {
                            return Err(serde::de::Error::missing_field(stringify!($field)));
                        }
                        None => default.$field,
                    },)+
                })
            }
        }

        impl $name {
            /// What is said of a field beside its type.
            fn notes(field: &str) -> $crate::spec::table::Notes {
                #[allow(unused_imports)]
                use $crate::spec::table::{Notes, Word};
                match field {
                    $($(stringify!($field) => $notes,)?)+
                    _ => Notes::NONE,
                }
            }

            /// What users are told of it.
            pub fn declaration() -> $crate::spec::TableDeclaration {
                #[allow(unused_imports)]
                use $crate::spec::table::{Rule, TableDeclaration, Test, is_later, keys, lines};
                let default = Self::default();
                let (mut all, mut always) = (Vec::new(), Vec::new());
                $({
                    let notes = Self::notes(stringify!($field));
                    let serde = concat!("", $(stringify!($($serde)+))?);
                    if !notes.hidden {
                        all.extend(keys::<$type>(
                            stringify!($field),
                            concat!($($field_text, "\n"),+),
                            serde,
                            &default.$field,
                            notes,
                        ));
                    }
                    if notes.flat && !is_later(serde) {
                        always.push(stringify!($field));
                    }
                })+
                TableDeclaration {
                    name: stringify!($name),
                    text: lines(concat!($($text, "\n"),+)),
                    keys: all,
                    rules: vec![$(Rule {
                        when: &$tests,
                        key: $key,
                        allowed: $allowed,
                    }),*],
                    always,
                }
            }
        }

        impl $crate::spec::table::Declared for $name {
            fn kind() -> $crate::spec::Kind {
                $crate::spec::Kind::Table(stringify!($name))
            }

            fn keys() -> Vec<$crate::spec::KeyDeclaration> {
                Self::declaration().keys
            }
        }
    };
}
pub(crate) use table;

/// The tables that are declared so, but for those of families of networks.
pub fn tables() -> Vec<TableDeclaration> {
    vec![
        super::Router::declaration(),
        super::Nic::declaration(),
        super::Routing::declaration(),
        super::Simulation::declaration(),
        super::HostTime::declaration(),
        super::WithinNode::declaration(),
        super::Collectives::declaration(),
        super::Mpi::declaration(),
        super::Arrivals::declaration(),
        super::Record::declaration(),
        super::OpticalLayer::declaration(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Dragonfly, Family, Router, Simulation};

    #[test]
    fn a_key_has_its_unit_range_default_and_text() {
        let router = Router::declaration();
        let key = |name: &str| router.key(name).unwrap();
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
            (crossbar.words.as_slice(), crossbar.kind.clone()),
            (&[("ideal", Value::Null)][..], Kind::Number)
        );
        assert!(crossbar.optional && crossbar.default.is_null());
        assert!(key("occupancy").later && !key("arbitration").later);
        assert_eq!(key("credit_use").kind, Kind::Name("credit_use".into()));
    }

    #[test]
    fn keys_that_another_one_sets_are_no_keys_of_their_own() {
        let simulation = Simulation::declaration();
        assert!(simulation.key("detect_warmup").is_none());
        let warmup = simulation.key("warmup").unwrap();
        assert_eq!(warmup.word_key, Some("detect_warmup"));
        assert_eq!(
            simulation.key("precision").unwrap().kind,
            Kind::Quantity("share")
        );
    }

    #[test]
    fn what_must_be_given_is_missed_and_all_else_is_not() {
        let read = |text: &str| serde_json::from_str::<Dragonfly>(text);
        let missing = read(r#"{"p": 2, "a": 4}"#).unwrap_err();
        assert!(missing.to_string().contains("missing field `h`"));
        let unknown = read(r#"{"p": 2, "a": 4, "h": 2, "q": 1}"#).unwrap_err();
        assert!(unknown.to_string().contains("unknown field `q`"));
        let nothing = read(r#"{"p": 2, "a": 4, "h": 2, "g": null}"#).unwrap();
        assert_eq!((nothing.g, nothing.row_links), (None, 1));
    }

    #[test]
    fn rules_name_keys_of_the_table() {
        let families = Family::declarations()
            .into_iter()
            .map(|family| family.table);
        for table in tables().into_iter().chain(families) {
            for rule in &table.rules {
                let named = rule.when.iter().map(|(key, _)| *key).chain([rule.key]);
                for key in named {
                    assert!(table.key(key).is_some(), "{}: {key}", table.name);
                }
            }
        }
    }
}
