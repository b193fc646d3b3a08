//! Congestion control of network interfaces: one table with the keys of all schemes, each
//! declared in the scheme's own file.

use odonata_declare::table::Declared;
use odonata_run::OccupancyCount;
pub use odonata_run::{CongestionControl, CongestionControlName};
use serde_json::Value;

use super::quantity::Quantity;
use super::router::{Nic, Router};
use super::table::{KeyDeclaration, Kind, Rule, TableDeclaration, Test};
use crate::error::SpecError;

/// The table with the keys of all schemes.
pub(super) fn declaration() -> TableDeclaration {
    let kind = KeyDeclaration {
        engine_key: "kind",
        default: CongestionControlName::default().name().into(),
        ..KeyDeclaration::new("kind", " The scheme.", CongestionControlName::kind())
    };
    let (mut keys, mut rules) = (vec![kind], Vec::new());
    for scheme in CongestionControlName::ALL {
        let own = scheme
            .declaration()
            .map_or_else(Vec::new, |table| table.keys);
        for key in own {
            // Without its unit.
            let name = &key.engine_key[..key.key.len()];
            rules.push(Rule {
                when: vec![(name, Test::Given), ("kind", Test::IsNot(scheme.name()))],
                key: name,
                found: None,
                allowed: format!("only with kind = \"{}\"", scheme.name()),
            });
            keys.push(optional(key, scheme.name()));
        }
    }
    TableDeclaration {
        name: "CongestionControl",
        text: "What keeps nodes from sending more than the network takes, besides credits.\n\nThe \
               schemes are described in [congestion control](congestion-control.md)."
            .to_owned(),
        keys,
        rules,
        always: Vec::new(),
    }
}

/// A key of a scheme as one of a table where it is left out with other schemes.
fn optional(key: KeyDeclaration, scheme: &str) -> KeyDeclaration {
    let default = match &key.kind {
        Kind::Quantity(name) => {
            Quantity::of(name).shortest(key.default.as_u64().unwrap_or_default())
        }
        _ => key.default.to_string(),
    };
    KeyDeclaration {
        text: format!(
            "With `{scheme}`: {}\nDefault: {default}.",
            first_lower(&key.text)
        ),
        optional: true,
        later: true,
        default: Value::Null,
        ..key
    }
}

fn first_lower(text: &str) -> String {
    let text = text.trim();
    let end = text.chars().next().map_or(0, char::len_utf8);
    text[..end].to_lowercase() + &text[end..]
}

/// The scheme of interfaces, if its parameters go together and with those of the routers.
pub(crate) fn checked(
    nic: &Nic,
    router: &Router,
    packet: u64,
) -> Result<CongestionControl, SpecError> {
    let scheme = &nic.congestion_control;
    let path = |key: &str| format!("network.nic.congestion_control.{key}");
    let size = |bytes: u64| Quantity::of("size").shortest(bytes);
    let bounded =
        router.crossbar_bandwidth_bytes_per_s.is_some() || router.crossbar_speedup.is_some();
    let queues = bounded && router.occupancy != OccupancyCount::Requests;
    match scheme {
        CongestionControl::Ecn(keys) => {
            if keys.mark_from_bytes >= keys.mark_all_bytes {
                let allowed = format!("less than `mark_all`, {}", size(keys.mark_all_bytes));
                let found = size(keys.mark_from_bytes);
                return Err(SpecError::value(path("mark_from"), found, allowed));
            }
            refuse_unseen(queues, router, packet, "mark_from", keys.mark_from_bytes)?;
        }
        CongestionControl::Slingshot(keys) => {
            refuse_unseen(queues, router, packet, "hold_from", keys.hold_from_bytes)?;
        }
        CongestionControl::Infiniband(_) if queues => {
            let allowed = "with a bounded crossbar only with network.router.occupancy = \
                           \"requests\": what waits at inputs counts for no port otherwise";
            return Err(SpecError::value(path("kind"), "\"infiniband\"", allowed));
        }
        _ => {}
    }
    Ok(scheme.clone())
}

/// Refuses a threshold that no queue reaches, as only what is in an output buffer counts.
fn refuse_unseen(
    applies: bool,
    router: &Router,
    packet: u64,
    key: &str,
    bytes: u64,
) -> Result<(), SpecError> {
    let buffer = router.output_buffer_bytes;
    let buffer = buffer.unwrap_or(packet.saturating_mul(2));
    if !applies || bytes < buffer {
        return Ok(());
    }
    let allowed = format!(
        "less than network.router.output_buffer, {}, which is all that counts as queued with a \
         bounded crossbar; or network.router.occupancy = \"requests\"",
        Quantity::of("size").shortest(buffer)
    );
    let path = format!("network.nic.congestion_control.{key}");
    let found = Quantity::of("size").shortest(bytes);
    Err(SpecError::value(path, found, allowed))
}
