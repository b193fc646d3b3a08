//! Traffic classes: channels of their own on every link, and shares of it.

use odonata_declare::table;
use odonata_load::{CollectiveKind, Origin};
use odonata_units::Bytes;

use crate::error::SimError;
use crate::parameter::Parameter;

table! {
    /// A class of traffic: it has virtual channels of its own on every link, and a share of each.
    pub struct TrafficClass {
        /// Name, by which jobs name it.
        name: String = String::new() => Notes { fewest_entries: Some(1), most_entries: Some(200), ..Notes::NEEDED },
        /// Share of each link that the class gets before any other, whatever the priorities, as long
        /// as it has packets that can leave. Those of all classes are 100 % at most together.
        guaranteed: f64 = 0.0 => Notes { quantity: Some("share"), least: Some(0.0), most: Some(1e6), ..Notes::NONE },
        /// Share of each link that the class gets at most, even if nobody else wants the rest.
        largest: f64 = 1.0 => Notes { quantity: Some("share"), least: Some(1e3), most: Some(1e6), ..Notes::NONE },
        /// A class of higher priority takes all that it wants of what is not guaranteed before one of
        /// lower.
        priority: u32 = 0 => Notes { least: Some(0.0), most: Some(255.0), ..Notes::NONE },
        /// How classes of one priority share what is left to them: in proportion to their weights.
        weight: u32 = 1 => Notes { least: Some(1.0), most: Some(1_000.0), ..Notes::NONE },
    }
}

/// Some of a job's messages, and the class that they are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRule {
    /// Number of the class.
    pub class: u8,
    /// The collective that sends them; `None`: any, or none.
    pub collective: Option<CollectiveKind>,
    /// Their largest size; `None`: any.
    pub up_to: Option<Bytes>,
}

/// Which classes the messages of a job are of, where there are classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobClasses {
    /// Number of the class of all messages of which nothing else says it.
    pub usual: u8,
    /// The class of what the protocol sends for messages: requests, grants and acknowledgements;
    /// `None`: that of the message.
    pub control: Option<u8>,
    /// The first that fits a message says its class, before the phase that sends it.
    pub rules: Vec<ClassRule>,
    /// The classes that phases of the job name, a bit each.
    pub of_phases: u16,
}

impl JobClasses {
    /// All messages are of one class.
    pub fn all(usual: u8) -> Self {
        Self {
            usual,
            ..Self::default()
        }
    }

    /// Whether all messages of a program are of one class, whatever they are.
    #[inline(always)]
    pub fn are_one(&self) -> bool {
        self.rules.is_empty() && self.of_phases == 0
    }

    /// The first rule that fits a message.
    pub fn rule(&self, bytes: Bytes, origin: Origin) -> Option<usize> {
        self.rules.iter().position(|rule| {
            rule.collective
                .is_none_or(|kind| origin.collective == Some(kind))
                && rule.up_to.is_none_or(|most| bytes <= most)
        })
    }

    /// The class of a message.
    pub fn of(&self, bytes: Bytes, origin: Origin) -> u8 {
        match self.rule(bytes, origin) {
            Some(rule) => self.rules[rule].class,
            None => origin.class.unwrap_or(self.usual),
        }
    }

    /// All classes that messages may be of, a bit each.
    pub fn bits(&self) -> u16 {
        let rules = self.rules.iter().map(|rule| rule.class);
        let all = rules.chain(self.control).chain([self.usual]);
        all.fold(self.of_phases, |bits, class| bits | 1 << class)
    }
}

impl TrafficClass {
    /// Most classes of a network.
    pub const MOST: usize = 16;

    /// A class with this name and defaults for the rest.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Checks the classes of a network.
    ///
    /// # Errors
    /// Shares or weights out of range, more guaranteed than there is, a guaranteed share above the
    /// largest, more classes than [`Self::MOST`], or two of one name.
    pub fn check_all(classes: &[Self]) -> Result<(), SimError> {
        let refuse = |found: String, allowed: String| {
            Err(SimError::Parameter {
                parameter: Parameter::TrafficClasses,
                found,
                allowed,
            })
        };
        if classes.len() > Self::MOST {
            let found = format!("{} classes", classes.len());
            return refuse(found, format!("at most {}", Self::MOST));
        }
        for (number, class) in classes.iter().enumerate() {
            let Self { name, .. } = class;
            let percent = |share: f64| format!("{} %", share * 100.0);
            if classes[..number].iter().any(|other| other.name == *name) {
                let found = format!("two classes called \"{name}\"");
                return refuse(found, "names that differ".to_owned());
            }
            if !(0.0..=1.0).contains(&class.guaranteed) {
                let found = format!("{} guaranteed to \"{name}\"", percent(class.guaranteed));
                return refuse(found, "0 % to 100 %".to_owned());
            }
            if !(0.001..=1.0).contains(&class.largest) {
                let found = format!(
                    "{} as the largest share of \"{name}\"",
                    percent(class.largest)
                );
                return refuse(found, "0.1 % to 100 %".to_owned());
            }
            if class.guaranteed > class.largest {
                let found = format!("{} guaranteed to \"{name}\"", percent(class.guaranteed));
                let allowed = format!("no more than its largest share, {}", percent(class.largest));
                return refuse(found, allowed);
            }
            if !(1..=1_000).contains(&class.weight) || class.priority > 255 {
                let found = format!(
                    "weight {} and priority {} of \"{name}\"",
                    class.weight, class.priority
                );
                return refuse(
                    found,
                    "weights of 1 to 1,000, priorities of 0 to 255".to_owned(),
                );
            }
        }
        let guaranteed: f64 = classes.iter().map(|class| class.guaranteed).sum();
        if guaranteed > 1.0 + 1e-9 {
            let found = format!("{:.3} % guaranteed in all", guaranteed * 100.0);
            return refuse(found, "at most 100 %".to_owned());
        }
        Ok(())
    }

    /// The classes that may get nothing at all, by number, each with those whose traffic can keep
    /// it from a link: classes of higher priority that may have all that is not guaranteed.
    pub fn starving(classes: &[Self]) -> Vec<(usize, Vec<usize>)> {
        let starved_by = |starving: &Self| {
            let higher = classes.iter().enumerate();
            let higher = higher.filter(|(_, other)| other.priority > starving.priority);
            let mut above: Vec<usize> = Vec::new();
            let mut taken: f64 = classes
                .iter()
                .filter(|other| other.priority <= starving.priority)
                .map(|other| other.guaranteed)
                .sum();
            for (number, other) in higher {
                taken += other.largest;
                above.push(number);
            }
            (taken >= 1.0 - 1e-9 && !above.is_empty()).then_some(above)
        };
        let each = classes.iter().enumerate();
        let unprotected = each.filter(|(_, class)| class.guaranteed == 0.0);
        unprotected
            .filter_map(|(number, class)| Some((number, starved_by(class)?)))
            .collect()
    }
}
