//! The network of a scenario file: its family, routing, links.

use odonata_declare::Listed;
use odonata_network::routing::AlgorithmName;
use serde_json::Value;

use super::user::User;
use super::words::{below, describe};
use super::{Object, Reader, SHARED, families};
use crate::error::SpecError;
use crate::spec::family::{FamilyDeclaration, Links, Tests};
use crate::spec::routing::with_all_keys;
use crate::spec::{Routing, UsualLink};

impl Reader<'_> {
    pub(super) fn network(&mut self, given: &Object) -> Object {
        let families = families();
        let names: Vec<&str> = families.iter().map(|family| family.name).collect();
        let named = given.get("family");
        let family = named.and_then(|named| {
            let name = named.as_str()?;
            families.iter().find(|family| family.name == name)
        });
        let Some(family) = family else {
            self.no_name(
                "network.family",
                "family",
                named.unwrap_or(&Value::Null),
                &names,
            );
            return Object::new();
        };
        let mut form = Object::new();
        for (key, name) in [("router", "Router"), ("nic", "Nic")] {
            let path = below("network", key);
            let inner = self.declared_table(&path, name, given.get(key), &[]);
            form.insert(key.into(), Value::Object(inner));
        }
        let before = self.found.len();
        let mut topology = self.table("network", &family.table, given, &SHARED);
        topology.insert("family".into(), family.name.into());
        form.insert("topology".into(), Value::Object(topology));
        let is_right = self.found.len() == before;
        let values = User::new(&family.table, given);
        let routing = self.routing(family, given, &values);
        form.insert("routing".into(), Value::Object(routing));
        let links = self.links(family, given.get("links"), &values, is_right);
        form.insert("links".into(), Value::Object(links));
        if family.name == "codes" {
            self.configured(given, &mut form);
        }
        form
    }

    fn routing(&mut self, family: &FamilyDeclaration, given: &Object, values: &User<'_>) -> Object {
        let path = "network.routing";
        match given.get("routing") {
            None => {
                let usual = family.routing.iter().find(|(tests, _)| values.hold(tests));
                let usual = usual.map_or_else(AlgorithmName::default, |usual| usual.1);
                self.routing_table(&named(usual.name()))
            }
            Some(Value::String(name)) => {
                let before = self.found.len();
                let form = self.routing_table(&named(name));
                for error in &mut self.found[before..] {
                    error.path = path.into();
                }
                form
            }
            Some(Value::Object(routing)) => self.routing_table(routing),
            Some(other) => {
                self.refuse(path, describe(other), "a name or a table");
                Object::new()
            }
        }
    }

    /// The engine's form of an algorithm with its keys.
    fn routing_table(&mut self, given: &Object) -> Object {
        let path = "network.routing";
        let name = given.get("algorithm").and_then(Value::as_str);
        let Some(algorithm) = name.and_then(|name| AlgorithmName::by_name(name).ok()) else {
            return self.table(path, &Routing::declaration(), given, &[]);
        };
        let declaration = Routing::of(algorithm);
        let others = given
            .keys()
            .map(String::as_str)
            .filter(|key| declaration.key(key).is_none() && !Routing::with_key(key).is_empty());
        let others: Vec<&str> = others.collect();
        for key in &others {
            self.add(SpecError::new(
                below(path, key),
                Routing::refusal(algorithm, key),
            ));
        }
        with_all_keys(self.table(path, &declaration, given, &others))
    }

    fn links(
        &mut self,
        family: &FamilyDeclaration,
        given: Option<&Value>,
        values: &User<'_>,
        is_right: bool,
    ) -> Object {
        let nothing = Object::new();
        let given = match given {
            None => &nothing,
            Some(Value::Object(links)) => links,
            Some(other) => {
                self.refuse("network.links", describe(other), "a table");
                return nothing;
            }
        };
        let mut form = Object::new();
        match family.links {
            Links::OfFile { kinds, .. } => {
                for (name, link) in given {
                    let table = if kinds { "NamedLink" } else { "Link" };
                    let link = self.link(name, Some(link), table);
                    form.insert(name.clone(), link);
                }
            }
            Links::Classes {
                classes,
                given_only,
                ..
            } => {
                let terminal = ("terminal", UsualLink::Short, false, true);
                let has =
                    |only: &[Tests]| only.is_empty() || only.iter().any(|tests| values.hold(tests));
                let others = classes
                    .iter()
                    .map(|class| (class.name, class.usual, class.later, has(class.only)));
                let all: Vec<_> = std::iter::once(terminal).chain(others).collect();
                let there: Vec<&str> = all
                    .iter()
                    .filter(|class| class.3)
                    .map(|class| class.0)
                    .collect();
                let known: Vec<&str> = all.iter().map(|class| class.0).collect();
                self.unknown("network.links", given, &known);
                let given_only = given_only.is_some_and(|tests| values.hold(tests));
                for (name, usual, later, is_there) in all {
                    let one = given.get(name);
                    if one.is_some() && !is_there && is_right {
                        let path = below("network.links", name);
                        let found = format!("`{name}`, which this network has not");
                        self.refuse(&path, found, there.join(", "));
                    }
                    if is_there && (one.is_some() || !(later || given_only)) {
                        let link = self.link(name, one, usual.table());
                        form.insert(name.into(), link);
                    }
                }
            }
        }
        form
    }

    /// Checks the link classes of a family by themselves; `table` is what their table is called.
    /// Returns whether there is one.
    pub(super) fn link_classes(&mut self, table: &str, given: &Object) -> bool {
        let classes = families().iter().find_map(|family| match family.links {
            Links::Classes { name, classes, .. } if name == table => Some(classes),
            _ => None,
        });
        let named = classes.into_iter().flatten().map(|class| class.name);
        let known: Vec<&str> = std::iter::once("terminal").chain(named).collect();
        self.unknown("network.links", given, &known);
        for (name, link) in given
            .iter()
            .filter(|(name, _)| known.contains(&name.as_str()))
        {
            self.link(name, Some(link), UsualLink::Short.table());
        }
        classes.is_some()
    }

    /// The engine's form of a link class with the defaults of a table.
    fn link(&mut self, name: &str, given: Option<&Value>, table: &str) -> Value {
        let path = below("network.links", name);
        let before = self.found.len();
        let mut form = self.declared_table(&path, table, given, &[]);
        if form.is_empty() && self.found.len() > before {
            return Value::Null;
        }
        form.entry("kind").or_insert(Value::Null);
        Value::Object(form)
    }

    /// What the configuration of a network of CODES says besides what is wired.
    fn configured(&mut self, given: &Object, form: &mut Object) {
        let file = given.get("file").and_then(Value::as_str);
        // What cannot be read is said where the network is built.
        let Some(Ok(facts)) = file.map(|file| crate::codes_facts(&self.directory.join(file)))
        else {
            return;
        };
        if given.get("routing").is_none() && facts["routing"].is_string() {
            let routing = self.routing_table(&named(facts["routing"].as_str().unwrap_or_default()));
            form.insert("routing".into(), Value::Object(routing));
        }
        let given_delay = given.get("router").and_then(|router| router.get("delay"));
        let router = form.get_mut("router").and_then(Value::as_object_mut);
        if let (None, Some(router), true) = (given_delay, router, facts["router_delay_ps"].is_u64())
        {
            router.insert("delay_ps".into(), facts["router_delay_ps"].clone());
        }
    }
}

/// A routing table with nothing but the algorithm.
fn named(algorithm: &str) -> Object {
    Object::from_iter([("algorithm".to_owned(), algorithm.into())])
}
