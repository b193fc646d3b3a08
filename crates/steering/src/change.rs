//! What it takes to go from one configuration to another.

use std::collections::BTreeMap;

use odonata_network::topology::{Circuit, Circuits};
use odonata_units::{OcsId, Picoseconds};

/// The circuits that a reconfiguration takes down and sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Circuits taken down.
    pub removed: Vec<Circuit>,
    /// Circuits set.
    pub added: Vec<Circuit>,
    /// Switches that do so, and how many circuits each takes down or sets.
    pub switches: BTreeMap<OcsId, u32>,
}

impl Change {
    /// What has to be done for `before` to become `after`, of the same switches.
    pub fn between(before: &Circuits, after: &Circuits) -> Self {
        // Both list circuits in ascending order.
        let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        loop {
            match (old.peek(), new.peek()) {
                (Some(one), Some(other)) if one == other => {
                    old.next();
                    new.next();
                }
                (Some(one), other) if other.is_none_or(|other| one < other) => {
                    removed.extend(old.next());
                }
                (_, Some(_)) => added.extend(new.next()),
                (_, None) => break,
            }
        }
        let mut switches = BTreeMap::new();
        for circuit in removed.iter().chain(&added) {
            let switch = after.switches().switch_of(circuit.from.link);
            *switches.entry(switch).or_insert(0) += 1;
        }
        Self {
            removed,
            added,
            switches,
        }
    }

    /// Number of circuits taken down or set.
    pub fn circuits(&self) -> usize {
        self.removed.len() + self.added.len()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.circuits() == 0
    }
}

/// How fast switches are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchTiming {
    /// From the command until light passes steadily. Mirrors of one switch move at the
    /// same time, and so do all switches.
    pub settle: Picoseconds,
    /// Time that a switch takes for the command of one circuit; it takes them one by one.
    pub command: Picoseconds,
}

impl SwitchTiming {
    /// Switches of micro-mirrors: a hundred milliseconds (Feng et al. 2023, section 6).
    pub const MIRRORS: Self = Self {
        settle: Picoseconds(100_000_000_000),
        command: Picoseconds(0),
    };

    /// Time until a change is done; none if nothing changes.
    pub fn delay(&self, change: &Change) -> Picoseconds {
        match change.switches.values().max() {
            None => Picoseconds(0),
            Some(&most) => {
                let commands = self.command.0.saturating_mul(u64::from(most));
                Picoseconds(self.settle.0.saturating_add(commands))
            }
        }
    }
}
