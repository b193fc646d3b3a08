//! All that is declared of scenarios, with the names of the registry's lists.

use super::congestion;
use super::family::FamilyDeclaration;
use super::kinds::{self, Kinds, job_tables};
use super::schedule::schedule_tables;
use super::table::{Kind, TableDeclaration};
use super::{
    Arrivals, Background, Collectives, DrawnFailures, Failures, Family, FreshBuffers, HostRange,
    HostTime, InlineMessages, Link, LinkFailure, Machine, ManyRanks, MessageCosts, Mpi, Nccl, Nic,
    Node, NodeNetwork, Noise, OpticalLayer, Outage, Record, Router, Routing, ServerBuffer,
    SharedNodes, Simulation, SizedError, SizedRate, SizedSpread, Skip, Storage, TrafficClass,
    WithinNode,
};
use crate::registry::registry;

/// The tables that are declared so, but for those of families of networks and those of
/// which a key says the kind.
pub fn tables() -> Vec<TableDeclaration> {
    let mut tables = vec![
        TrafficClass::declaration(),
        Router::declaration(),
        congestion::declaration(),
        Nic::declaration(),
        Routing::declaration(),
        Skip::declaration(),
        Simulation::declaration(),
        HostTime::declaration(),
        WithinNode::declaration(),
        Noise::declaration(),
        Collectives::declaration(),
        Nccl::declaration(),
        Mpi::declaration(),
        Arrivals::declaration(),
        Record::declaration(),
        OpticalLayer::declaration(),
        LinkFailure::declaration(),
        DrawnFailures::declaration(),
        Outage::declaration(),
        Failures::declaration(),
        NodeNetwork::declaration(),
        Node::declaration(),
        ServerBuffer::declaration(),
        Storage::declaration(),
        HostRange::declaration(),
        SizedRate::declaration(),
        SizedSpread::declaration(),
        SizedError::declaration(),
        SharedNodes::declaration(),
        MessageCosts::declaration(),
        InlineMessages::declaration(),
        ManyRanks::declaration(),
        FreshBuffers::declaration(),
        Background::declaration(),
        Machine::declaration(),
    ];
    tables.extend(Link::declarations());
    tables.extend(job_tables());
    name_lists(&mut tables);
    tables
}

/// The tables of `[schedule]` by themselves: all but its network's, and the levels of that.
pub fn tables_of_schedules() -> (Vec<TableDeclaration>, Kinds) {
    let (mut tables, mut levels) = (schedule_tables(), kinds::levels());
    name_lists(&mut tables);
    name_lists(levels.kinds.iter_mut().map(|kind| &mut kind.table));
    (tables, levels)
}

/// Puts the names of lists where the rooms that declare a table only know the type.
pub(crate) fn name_lists<'a>(tables: impl IntoIterator<Item = &'a mut TableDeclaration>) {
    let lists = registry();
    for key in tables.into_iter().flat_map(|table| &mut table.keys) {
        let mut kind = &mut key.kind;
        while let Kind::List(inner) = kind {
            kind = inner;
        }
        if let Kind::Name(of) = kind
            && let Some(list) = lists.iter().find(|list| list.type_name == *of)
        {
            list.name.clone_into(of);
        }
    }
}

/// The families of networks.
pub fn families() -> Vec<FamilyDeclaration> {
    let mut all = Family::declarations();
    name_lists(all.iter_mut().map(|family| &mut family.table));
    all
}

/// The tables of which a key says the kind.
pub fn kinds() -> Vec<Kinds> {
    let mut all = kinds::kinds();
    for kinds in &mut all {
        name_lists(kinds.kinds.iter_mut().map(|kind| &mut kind.table));
        name_lists(kinds.plug_in.as_mut().map(|plug_in| &mut plug_in.table));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    use crate::spec::{Dragonfly, Family, Simulation};

    #[test]
    fn a_key_has_its_unit_range_default_and_text() {
        let all = tables();
        let router = all.iter().find(|table| table.name == "Router").unwrap();
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
                .starts_with("Time from the arrival of a packet's head")
        );
        let crossbar = key("crossbar");
        assert_eq!(
            (crossbar.words.as_slice(), crossbar.kind.clone()),
            (&[("ideal", Value::Null)][..], Kind::Quantity("rate"))
        );
        let number = crossbar.number.unwrap();
        assert_eq!((number.key, number.least), ("crossbar_speedup", 1.0));
        assert!(router.key("crossbar_speedup").is_none());
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
    fn names_are_those_of_a_list() {
        let lists = registry();
        let kinds = kinds();
        let of_kinds = kinds.iter().flat_map(|kinds| &kinds.kinds);
        let of_kinds = of_kinds.map(|kind| kind.table.clone());
        let families = families();
        let families = families.into_iter().map(|family| family.table);
        for table in tables().into_iter().chain(of_kinds).chain(families) {
            for key in &table.keys {
                if let Kind::Name(list) = &key.kind {
                    let known = lists.iter().any(|one| one.name == *list);
                    assert!(known, "{}.{}: {list}", table.name, key.key);
                }
            }
        }
    }

    #[test]
    fn rules_name_keys_of_the_table() {
        let families = Family::declarations()
            .into_iter()
            .map(|family| family.table);
        for table in tables().into_iter().chain(families) {
            for rule in &table.rules {
                let named = rule.when.iter().map(|(key, _)| *key).chain([rule.key]);
                // With a dot of a table inside, and none where the table is to blame.
                for key in named.filter(|key| !key.contains('.') && !key.is_empty()) {
                    assert!(table.key(key).is_some(), "{}: {key}", table.name);
                }
            }
        }
    }
}
