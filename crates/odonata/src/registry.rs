//! All that scenarios, schedules and commands call by a name, in one place: what the
//! rooms' own types say of themselves.

use std::any::type_name;

use odonata_declare::{Entry, Named, entries};
use odonata_load::application::{Application, Model, Schedule};
use odonata_load::collective::{self, Cpu, Family as Library, Gpu, NcclVersion};
use odonata_load::replay::Format as TraceFormat;
use odonata_load::{CollectiveKind, MessageProgress};
use odonata_scheduler::log::{Format as LogFormat, Kind as LogKind, Unit};
use odonata_units::{Bytes, NodeId};
use serde::Serialize;

use crate::collectives;
use crate::coupling::Traffic;
use crate::error::SpecError;
use crate::spec;
use crate::topology::build_topology;

/// Things that are called by a name, of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct List {
    /// What they are: the key of a scenario where there is one.
    pub name: String,
    /// The type that has them.
    #[serde(skip)]
    pub(crate) type_name: &'static str,
    /// What each is.
    pub entries: Vec<Entry>,
    /// The one that it is if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<&'static str>,
}

fn list<T: Named>(name: &str) -> List {
    List {
        name: name.to_owned(),
        type_name: type_name::<T>(),
        entries: entries::<T>(),
        default: T::DEFAULT,
    }
}

/// In place of the name of an algorithm for a collective.
const AUTO: Entry = Entry {
    name: "auto",
    text: "The one that the rules of the library choose, by size and number of ranks.",
    options: &[],
    by_value: false,
};

/// What is chosen: the algorithm, the bytes of its segments and NCCL's protocol.
pub type Chosen = (&'static str, Option<u64>, Option<&'static str>);

/// What the rules of the library of a scenario's `mpi.collectives` choose for an operation of `ranks`,
/// of which `per_node` are on each node, with a vector of these bytes, or blocks.
///
/// # Errors
/// If the scenario is wrong, or there is no such operation.
pub fn chosen_algorithm(
    scenario: &spec::Scenario,
    operation: &str,
    bytes: u64,
    (ranks, per_node): (u32, u32),
) -> Result<Chosen, SpecError> {
    let nodes: Vec<NodeId> = (0..ranks)
        .map(|rank| NodeId(rank / per_node.max(1)))
        .collect();
    let settings = &scenario.mpi.collectives;
    let links = match settings.family {
        Library::Nccl => Some(collectives::links_of(&build_topology(scenario)?)),
        _ => None,
    };
    let algorithms = collectives::algorithms(settings, links, &[], &nodes)?;
    let chosen = algorithms.chosen(operation, Bytes(bytes), ranks);
    let (name, segment, protocol) =
        chosen.map_err(|error| SpecError::new("mpi.collectives", error.to_string()))?;
    let segment = segment.map(|segment| segment.0);
    Ok((name, segment, protocol.map(|protocol| protocol.name())))
}

/// Every list.
pub fn registry() -> Vec<List> {
    let mut lists = vec![
        list::<spec::Family>("family"),
        list::<spec::GroupWiringName>("group_wiring"),
        list::<spec::ArrangementName>("arrangement"),
        list::<spec::SpineArrangement>("spine_arrangement"),
        list::<spec::CircuitSource>("circuits"),
        list::<spec::Strategy>("steering"),
        list::<spec::UplinkCircuits>("uplink_circuits"),
        list::<spec::UplinkSteering>("uplink_steering"),
        list::<spec::CodesModel>("codes_model"),
        list::<spec::Interfaces>("interfaces"),
        list::<spec::LinkKind>("link_kind"),
        list::<spec::InFlight>("in_flight"),
        list::<spec::Part>("part"),
        list::<spec::InsideNetwork>("inside_network"),
        list::<spec::InterfaceChoice>("interface_choice"),
        list::<spec::InterfaceWiring>("interface_wiring"),
        list::<spec::AlgorithmName>("routing"),
        list::<spec::MinimalLinks>("minimal_links"),
        list::<spec::Choice>("choice"),
        list::<spec::Paths>("paths"),
        list::<spec::Via>("via"),
        list::<spec::Queue>("queue"),
        list::<spec::HopTime>("hop_time"),
        list::<spec::Decisions>("per"),
        list::<spec::CreditUse>("credit_use"),
        list::<spec::SwitchingName>("switching"),
        list::<spec::OccupancyCount>("occupancy"),
        list::<spec::Arbitration>("arbitration"),
        list::<spec::Room>("room"),
        list::<spec::FparRules>("fpar_rules"),
        list::<spec::InjectionOrder>("injection"),
        list::<spec::CongestionControlName>("congestion_control"),
        list::<spec::Engine>("engine"),
        list::<spec::Completion>("rendezvous_completion"),
        list::<MessageProgress>("progress"),
        list::<spec::Placement>("placement"),
        list::<spec::GrapModeName>("grap_mode"),
        mappings(),
        list::<spec::MappingStart>("mapping_start"),
        list::<spec::MappingObjective>("mapping_objective"),
        list::<spec::Refinement>("refine"),
        list::<spec::MotifKind>("motif"),
        list::<Application>("application"),
        list::<Model>("training_model"),
        list::<Schedule>("training_schedule"),
        list::<spec::BisectionOrder>("bisection_order"),
        list::<spec::HaloOrder>("halo_order"),
        list::<spec::MatrixOrder>("matrix_order"),
        list::<spec::Receives>("receives"),
        list::<spec::Tree>("tree"),
        list::<spec::RepeatRank>("repeat_rank"),
        list::<spec::Pattern>("pattern"),
        list::<spec::ProcessName>("process"),
        list::<spec::Turn>("turn"),
        list::<spec::Between>("between"),
        list::<CollectiveKind>("operation"),
        list::<Library>("library"),
        list::<NcclVersion>("nccl_version"),
        list::<Gpu>("gpu"),
        list::<Cpu>("cpu"),
        list::<TraceFormat>("trace_format"),
        list::<LogFormat>("log_format"),
        list::<LogKind>("log_kind"),
        list::<Unit>("log_unit"),
        read_formats(),
        list::<spec::OrderName>("order"),
        list::<spec::PolicyName>("policy"),
        list::<spec::LargerName>("larger"),
        list::<spec::Stretch>("stretch"),
        list::<Traffic>("schedule_traffic"),
    ];
    lists.extend(collective::lists().map(|list| List {
        name: format!("{}_algorithm", list.operation.replace('-', "_")),
        type_name: "",
        entries: [AUTO].into_iter().chain(list.entries).collect(),
        default: Some(AUTO.name),
    }));
    for list in &mut lists {
        list.entries.retain(|entry| !entry.by_value);
    }
    lists
}

/// Formats that logs are read from: those of the engine, and the tables that we write.
fn read_formats() -> List {
    let mut list = list::<LogFormat>("read_format");
    list.type_name = "";
    list.entries.push(Entry {
        name: "parquet",
        text: "A table that `odonata log` wrote.",
        options: &[],
        by_value: false,
    });
    list
}

/// Mappings that need nothing but a name, and mappings that are fitted to the network.
fn mappings() -> List {
    let mut list = list::<spec::Mapping>("mapping");
    let fitted = entries::<spec::MappingStart>().into_iter();
    let fitted = fitted.filter(|one| list.entries.iter().all(|known| known.name != one.name));
    let fitted: Vec<Entry> = fitted.collect();
    list.entries.extend(fitted);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_thing_has_a_text() {
        let lists = registry();
        for list in &lists {
            assert!(!list.entries.is_empty(), "{}", list.name);
            let same_name = lists.iter().filter(|other| other.name == list.name);
            assert_eq!(same_name.count(), 1, "{}", list.name);
            for entry in &list.entries {
                let same = list.entries.iter().filter(|other| other.name == entry.name);
                assert_eq!(same.count(), 1, "{}: {}", list.name, entry.name);
                let ends = entry.text.ends_with('.');
                // Links of documentation mean nothing to users.
                let plain = !entry.text.contains("[`") && !entry.text.contains("`]");
                assert!(ends && plain, "{}: {}", list.name, entry.text);
            }
            if let Some(default) = list.default {
                let known = list.entries.iter().any(|entry| entry.name == default);
                assert!(known, "{}: {default}", list.name);
            }
        }
    }
}
