//! Traffic classes: channels of their own on every link, and shares of it.

use odonata_declare::table;

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
