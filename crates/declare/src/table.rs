//! Tables of a scenario, declared once: the struct that a room works with, its defaults, and
//! what documentation says of every key.

use std::any::type_name;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::Listed;

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
    /// The tables of the engine's form that it is in, one inside the other, besides that of its
    /// table.
    pub within: Vec<&'static str>,
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
    /// The key of the entries of a list of tables that grows from each to the next.
    pub grows: Option<&'static str>,
    /// What the values are called in messages, where there is a word or a plain number as well.
    pub called: Option<&'static str>,
    /// Words in place of a value, and what each is in the engine's form.
    pub words: Vec<(&'static str, Value)>,
    /// The key of a table whose value may stand for all of the table.
    pub short: Option<&'static str>,
    /// The key that has no say where this one is given.
    pub instead_of: Option<&'static str>,
    /// Key of the engine's form that says whether it is a word.
    pub word_key: Option<&'static str>,
    /// The plain numbers that may stand in the place of a quantity.
    pub number: Option<OrNumber>,
    /// Whether it may be nothing.
    pub optional: bool,
    /// Whether it must be given.
    pub needed: bool,
    /// What holds where nothing is said, in base units.
    pub default: Value,
    /// Whether it is left out of the engine's form where it is as by default, since it came
    /// when scenarios were already known by that form.
    pub later: bool,
    /// How it stands on the command line, where its table has options.
    pub command_line: CommandLine,
}

/// How a key stands on the command line, where that does not follow from its name and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CommandLine {
    /// The option. Default: the key's name.
    pub option: Option<&'static str>,
    /// What stands for its value in the help.
    pub metavar: Option<&'static str>,
    /// The option is a flag that sets the key to false: what it does.
    pub off: Option<&'static str>,
}

impl CommandLine {
    /// An option of the key's name, whose value needs no placeholder.
    pub const NONE: Self = Self {
        option: None,
        metavar: None,
        off: None,
    };

    /// An option of the key's name.
    pub const fn value(metavar: &'static str) -> Self {
        Self {
            metavar: Some(metavar),
            ..Self::NONE
        }
    }

    /// An option of another name.
    pub const fn named(option: &'static str, metavar: &'static str) -> Self {
        Self {
            option: Some(option),
            ..Self::value(metavar)
        }
    }
}

impl KeyDeclaration {
    /// A key with values of a kind of which nothing else is said.
    pub fn new(key: &str, text: &str, kind: Kind) -> Self {
        Self {
            key: key.to_owned(),
            engine_key: "",
            within: Vec::new(),
            text: lines(text),
            kind,
            least: None,
            most: None,
            more_than: None,
            fewest_entries: None,
            most_entries: None,
            grows: None,
            called: None,
            words: Vec::new(),
            short: None,
            instead_of: None,
            word_key: None,
            number: None,
            optional: false,
            needed: false,
            default: Value::Null,
            later: false,
            command_line: CommandLine::NONE,
        }
    }
}

impl KeyDeclaration {
    /// The key inside another table of the engine's form.
    #[must_use]
    pub fn within(mut self, table: &'static str) -> Self {
        self.within.insert(0, table);
        self
    }
}

/// What the values of a key are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A text with a unit; in the engine's form the number of its base units.
    Quantity(&'static str),
    /// One of the names of a list, by the type that has them or, where none has, by the name of
    /// the list.
    Name(String),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number, at least 0.
    Integer,
    /// A whole number.
    Signed,
    /// A number.
    Number,
    /// True or false.
    Flag,
    /// A text.
    Text,
    /// A text with a grammar of its own, by the name of what it says.
    Written(&'static str),
    /// Name of a file, and what belongs to it.
    File(&'static str),
    /// Values one after another.
    List(Box<Kind>),
    /// Values by names that the user chooses.
    ByName(Box<Kind>),
    /// A text, a number, or true or false.
    Label,
    /// Anything that a file can say.
    Any,
    /// Numbers of groups or routers: a list, or a text such as `0, 3-8`.
    Numbers,
    /// A table of one of the kinds of that name, such as a motif.
    Kinds(&'static str),
    /// A value of one of several forms, which are declared under that name.
    Forms(&'static str),
    /// A table of that name.
    Table(&'static str),
    /// The same, of two values; in the engine's form the one after the other. In a list the
    /// first ones grow and the second ones do not fall.
    Pair(&'static str),
}

/// Values of keys that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// When it is broken: all of these.
    pub when: Vec<(&'static str, Test)>,
    /// The key to change; empty: the table.
    pub key: &'static str,
    /// What was found, where that is not the value of the key.
    pub found: Option<String>,
    /// What is allowed instead; `{key}` is the value of that key.
    pub allowed: String,
}

/// What the value of a key is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// This text.
    Is(&'static str),
    /// Another one than this text.
    IsNot(&'static str),
    /// None of these texts.
    NotIn(Vec<&'static str>),
    /// One of these texts.
    In(Vec<&'static str>),
    /// Something.
    Given,
    /// Something that the user has said, and be it the default.
    Set,
    /// Nothing.
    Absent,
    /// More than nothing: a number above zero, a flag that is set.
    Positive,
    /// No list.
    NoList,
    /// A list of more entries.
    Longer(usize),
    /// No less than another key's.
    Reaches(&'static str),
}

/// What a declaration says of a key beside its type.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
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
    /// See [`KeyDeclaration::grows`].
    pub grows: Option<&'static str>,
    /// See [`KeyDeclaration::words`].
    pub words: &'static [(&'static str, Word)],
    /// See [`KeyDeclaration::word_key`].
    pub word_key: Option<&'static str>,
    /// See [`KeyDeclaration::number`].
    pub number: Option<OrNumber>,
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
    /// The list of which the text is one of the names.
    pub list: Option<&'static str>,
    /// The grammar of the text ([`Kind::Written`]).
    pub written: Option<&'static str>,
    /// The words of which the text is one ([`Kind::OneOf`]).
    pub one_of: &'static [&'static str],
    /// See [`KeyDeclaration::command_line`].
    pub command_line: CommandLine,
}

/// Plain numbers in place of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OrNumber {
    /// Key of the engine's form that has them, where that of the quantity has nothing.
    pub key: &'static str,
    /// What they are called in messages.
    pub called: &'static str,
    /// Smallest one.
    pub least: f64,
    /// Largest one.
    pub most: Option<f64>,
}

/// What a word is in the engine's form.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// Nothing.
    Nothing,
    /// A number.
    Number(u64),
    /// The word.
    Itself,
}

impl Notes {
    /// Nothing.
    pub const NONE: Self = Self {
        key: None,
        least: None,
        most: None,
        more_than: None,
        fewest_entries: None,
        most_entries: None,
        grows: None,
        words: &[],
        word_key: None,
        number: None,
        called: None,
        short: None,
        flat: false,
        parts: "itself",
        quantity: None,
        needed: false,
        unsaid: false,
        hidden: false,
        numbers: false,
        list: None,
        written: None,
        one_of: &[],
        command_line: CommandLine::NONE,
    };
    /// A latency, delay or overhead: up to an hour.
    pub const DELAY: Self = Self {
        least: Some(0.0),
        most: Some(3.6e15),
        ..Self::NONE
    };
    /// A number above zero.
    pub const POSITIVE: Self = Self {
        least: Some(1.0),
        ..Self::NONE
    };
    /// The rate of a link: 1 kB/s to 1000 TB/s.
    pub const BANDWIDTH: Self = Self {
        least: Some(1e3),
        most: Some(1e15),
        ..Self::NONE
    };
    /// A number of things, at least one.
    pub const COUNT: Self = Self {
        least: Some(1.0),
        most: Some(4_294_967_295.0),
        ..Self::NONE
    };
    /// A number of things that must be given.
    pub const NEEDED_COUNT: Self = Self {
        needed: true,
        ..Self::COUNT
    };
    /// A number of things whose default stands in the key's text.
    pub const OPTIONAL_COUNT: Self = Self {
        unsaid: true,
        ..Self::COUNT
    };
    /// Numbers of things, at least one of them.
    pub const COUNTS: Self = Self {
        fewest_entries: Some(1),
        ..Self::COUNT
    };
    /// Times by size.
    pub const POINTS: Self = Self {
        most_entries: Some(16),
        ..Self::NONE
    };
    /// A share.
    pub const FRACTION: Self = Self {
        least: Some(0.0),
        most: Some(1.0),
        ..Self::NONE
    };
    /// A share above zero.
    pub const POSITIVE_FRACTION: Self = Self {
        more_than: Some(0.0),
        most: Some(1.0),
        ..Self::NONE
    };
    /// Must be given.
    pub const NEEDED: Self = Self {
        needed: true,
        ..Self::NONE
    };
    /// A size that must be given.
    pub const NEEDED_SIZE: Self = Self {
        needed: true,
        ..Self::POSITIVE
    };
    /// An index, or a number of things that may be none.
    pub const INDEX: Self = Self {
        least: Some(0.0),
        most: Some(4_294_967_295.0),
        ..Self::NONE
    };
    /// A number that is not negative.
    pub const AMOUNT: Self = Self {
        least: Some(0.0),
        ..Self::NONE
    };
    /// Whose keys users have in the table that it is in.
    pub const FLAT: Self = Self {
        flat: true,
        ..Self::NONE
    };
    /// Set by another key.
    pub const HIDDEN: Self = Self {
        hidden: true,
        ..Self::NONE
    };
}

/// A type that values of keys have.
pub trait Declared: Serialize {
    /// Whether it may be nothing.
    const OPTIONAL: bool = false;
    /// How many entries a list of it has, if always as many.
    const ENTRIES: Option<usize> = None;
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

declared! {
    u8: Kind::Integer,
    u32: Kind::Integer,
    u64: Kind::Integer,
    usize: Kind::Integer,
    i64: Kind::Signed,
    f64: Kind::Number,
    bool: Kind::Flag,
    String: Kind::Text,
    Value: Kind::Any,
    std::path::PathBuf: Kind::File("itself"),
    (u64, u64): Kind::Pair("HostTime"),
}

impl<T: Listed + Serialize> Declared for T {
    fn kind() -> Kind {
        Kind::Name(type_name::<T>().to_owned())
    }
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

impl<T: Declared, const N: usize> Declared for [T; N]
where
    [T; N]: Serialize,
{
    const ENTRIES: Option<usize> = Some(N);

    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }
}

impl<T: Declared> Declared for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }
}

impl<T: Declared> Declared for BTreeMap<String, T> {
    fn kind() -> Kind {
        Kind::ByName(Box::new(T::kind()))
    }
}

/// Ends of fields' names, and what the quantity is.
const UNITS: [(&str, &str); 4] = [
    ("_ps", "duration"),
    ("_bytes_per_s", "rate"),
    ("_bytes", "size"),
    ("_s", "span"),
];

/// The declarations of a field's key, or of the keys of a table that users have in this one.
pub fn keys<T: Declared>(
    field: &'static str,
    text: &str,
    serde: &str,
    default: &T,
    notes: Notes,
) -> Vec<KeyDeclaration> {
    if !notes.flat {
        return vec![key(field, text, serde, default, notes)];
    }
    T::keys().into_iter().map(|key| key.within(field)).collect()
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
        (None, None, Kind::Text) if notes.list.is_some() => {
            Kind::Name(notes.list.unwrap_or_default().to_owned())
        }
        (None, None, Kind::Text) if !notes.one_of.is_empty() => Kind::OneOf(notes.one_of),
        (None, None, Kind::Text) if notes.written.is_some() => {
            Kind::Written(notes.written.unwrap_or_default())
        }
        (None, None, Kind::List(inner)) if *inner == Kind::Text && notes.written.is_some() => {
            let grammar = notes.written.unwrap_or_default();
            Kind::List(Box::new(Kind::Written(grammar)))
        }
        (None, None, Kind::File(_)) => Kind::File(notes.parts),
        (None, None, Kind::List(_)) if notes.numbers => Kind::Numbers,
        (None, None, kind) => kind,
    };
    let number = |value: f64| match kind {
        Kind::Number => Value::from(value),
        Kind::List(ref inner) if **inner == Kind::Number => Value::from(value),
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
        fewest_entries: notes.fewest_entries.or(T::ENTRIES),
        most_entries: notes.most_entries.or(T::ENTRIES),
        grows: notes.grows,
        called: notes.called,
        short: notes.short,
        instead_of: None,
        words: words.collect(),
        word_key: notes.word_key,
        number: notes.number,
        optional: T::OPTIONAL || notes.unsaid,
        needed: notes.needed,
        // Plain values always have a JSON form.
        default: serde_json::to_value(default).unwrap_or_default(),
        later: is_later(serde),
        command_line: notes.command_line,
        ..KeyDeclaration::new(notes.key.unwrap_or(plain), text, kind.clone())
    }
}

/// Whether a field is left out of the engine's form where it is as by default.
pub fn is_later(serde: &str) -> bool {
    serde.contains("skip_serializing_if")
}

/// A documentation comment without the blank before each line, up to its first heading: what
/// follows is for those who work with the type.
pub fn lines(text: &str) -> String {
    let for_users = text.split("\n # ").next().unwrap_or_default().trim_end();
    let lines = for_users
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// A value that is there, be it nothing, unlike one that is left out.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
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
#[macro_export]
macro_rules! table {
    (
        $(#[doc = $text:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $field_text:literal])+
                $(#[serde($($serde:tt)+)])?
                $field:ident: $type:ty = $default:expr $(=> $notes:expr)?,
            )*
        }
        $(refuse $key:literal $(as $found:literal)? when $tests:expr => $allowed:literal;)*
    ) => {
        $(#[doc = $text])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name {
            $(
                $(#[doc = $field_text])+
                $(#[serde($($serde)+)])?
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields)]
                struct Given {
                    $(
                        #[serde(default, deserialize_with = "odonata_declare::table::given")]
                        $field: Option<$type>,
                    )*
                }
                let _given = Given::deserialize(deserializer)?;
                let _default = Self::default();
                Ok(Self {
                    $($field: match _given.$field {
                        Some(value) => value,
                        None if Self::notes(stringify!($field)).needed => {
                            return Err(serde::de::Error::missing_field(stringify!($field)));
                        }
                        None => _default.$field,
                    },)*
                })
            }
        }

        impl $name {
            /// What is said of a field beside its type.
            fn notes(field: &str) -> $crate::table::Notes {
                #[allow(unused_imports)]
                use $crate::table::{CommandLine, Notes, OrNumber, Word};
                match field {
                    $($(stringify!($field) => $notes,)?)*
                    _ => Notes::NONE,
                }
            }

            /// What documentation says of it.
            pub fn declaration() -> $crate::table::TableDeclaration {
                #[allow(unused_imports)]
                use $crate::table::{Rule, TableDeclaration, Test, is_later, keys, lines};
                let _default = Self::default();
                #[allow(unused_mut)]
                let (mut all, mut always) = (Vec::new(), Vec::new());
                $({
                    let notes = Self::notes(stringify!($field));
                    let serde = concat!("", $(stringify!($($serde)+))?);
                    if !notes.hidden {
                        all.extend(keys::<$type>(
                            stringify!($field),
                            concat!($($field_text, "\n"),+),
                            serde,
                            &_default.$field,
                            notes,
                        ));
                    }
                    if notes.flat && !is_later(serde) {
                        always.push(stringify!($field));
                    }
                })*
                TableDeclaration {
                    name: stringify!($name),
                    text: lines(concat!($($text, "\n"),+)),
                    keys: all,
                    rules: vec![$(Rule {
                        when: Vec::from($tests),
                        key: $key,
                        found: None $(.or(Some(String::from($found))))?,
                        allowed: String::from($allowed),
                    }),*],
                    always,
                }
            }
        }

        impl $crate::table::Declared for $name {
            fn kind() -> $crate::table::Kind {
                $crate::table::Kind::Table(stringify!($name))
            }

            fn keys() -> Vec<$crate::table::KeyDeclaration> {
                Self::declaration().keys
            }
        }
    };
}
