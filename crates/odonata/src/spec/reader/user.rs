//! What the user of a table has given, and what holds for it.

use serde_json::Value;

use super::Object;
use super::values::is_numbers;
use crate::spec::table::{TableDeclaration, Test};

/// The values of a table as its user has them, defaults included.
pub(super) struct User<'a> {
    declaration: &'a TableDeclaration,
    given: &'a Object,
}

impl<'a> User<'a> {
    pub(super) fn new(declaration: &'a TableDeclaration, given: &'a Object) -> Self {
        Self { declaration, given }
    }

    /// The value of a key, or with dots of one of a table inside this one.
    pub(super) fn of(&self, name: &str) -> Value {
        if let Some((outer, inner)) = name.split_once('.') {
            return self
                .given
                .get(outer)
                .map_or(Value::Null, |outer| outer[inner].clone());
        }
        if let Some(value) = self.given.get(name) {
            return value.clone();
        }
        let Some(key) = self.declaration.key(name) else {
            return Value::Null;
        };
        let word = key
            .words
            .iter()
            .find(|(_, meaning)| *meaning == key.default);
        match word {
            Some((word, _)) if key.word_key.is_none() => (*word).into(),
            _ if key.optional || key.needed => Value::Null,
            _ => key.default.clone(),
        }
    }

    /// Whether all tests hold that ask nothing of two keys.
    pub(super) fn hold(&self, tests: &[(&str, Test)]) -> bool {
        self.hold_in(tests, &Object::new())
    }

    /// Whether all tests hold; `form` is the engine's form of the table.
    pub(super) fn hold_in(&self, tests: &[(&str, Test)], form: &Object) -> bool {
        tests.iter().all(|(name, test)| {
            let value = self.of(name);
            match test {
                Test::Is(word) => value.as_str().map(str::trim) == Some(*word),
                Test::IsNot(word) => value.as_str().map(str::trim) != Some(*word),
                Test::NotIn(words) => !value.as_str().is_some_and(|word| words.contains(&word)),
                Test::In(words) => value.as_str().is_some_and(|word| words.contains(&word)),
                Test::Given => !value.is_null(),
                Test::Set => self.given.contains_key(*name),
                Test::Absent => value.is_null(),
                Test::NoList => !value.is_array() && !value.as_str().is_some_and(is_numbers),
                Test::Positive => {
                    let key = self.declaration.key(name);
                    let value = key.and_then(|key| form.get(key.engine_key));
                    value.is_some_and(|value| {
                        *value == Value::Bool(true) || value.as_f64().is_some_and(|n| n > 0.0)
                    })
                }
                Test::Longer(entries) => value.as_array().is_some_and(|list| list.len() > *entries),
                Test::Reaches(other) => {
                    let number = |name: &str| {
                        let key = self.declaration.key(name)?;
                        let is_word = key.words.iter().any(|word| self.of(name) == word.0);
                        form.get(key.engine_key)?.as_f64().filter(|_| !is_word)
                    };
                    number(name)
                        .zip(number(other))
                        .is_some_and(|(one, other)| one >= other)
                }
            }
        })
    }
}
