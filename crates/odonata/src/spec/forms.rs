//! Values of a scenario that have one of several forms, such as a name or a table.

use odonata_declare::table::Declared;
use serde::Serialize;
use serde_json::Value;

use super::job::{Mapping, Placement};
use super::motif::{Phase, TraceBorder};
use super::pattern::{Pattern, TrafficLoad};
use super::study::{AxisKey, RepetitionCounts};
use super::table::{KeyDeclaration, Kind};

/// The key by which the engine's form says that a plug-in of Python gives something.
pub(super) const PLUG_IN: &str = "plug-in";

/// A value that has one of several forms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forms {
    /// Their name.
    pub name: &'static str,
    /// What they are.
    pub text: &'static str,
    /// The forms; the first one that fits is meant.
    pub forms: Vec<Form>,
}

/// One of the forms of a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Form {
    /// What it is called in messages.
    pub called: &'static str,
    /// Which values have it.
    pub fits: Fits,
    /// What is said of the value.
    pub value: KeyDeclaration,
    /// The key of the engine's form under which it stands.
    #[serde(skip)]
    pub(super) under: Option<&'static str>,
}

/// Which values have a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fits {
    /// Texts.
    Text,
    /// Texts with this in it, in capitals or not.
    TextWith(&'static str),
    /// Numbers.
    Number,
    /// Lists.
    List,
    /// Tables.
    Table,
    /// Tables with this key.
    Has(&'static str),
    /// Names of plug-ins of this kind.
    PlugIn(&'static str),
    /// Tables with a plug-in of this kind.
    PlugInTable(&'static str),
}

impl Form {
    fn new(called: &'static str, fits: Fits, kind: Kind) -> Self {
        Self {
            called,
            fits,
            value: KeyDeclaration::new("", "", kind),
            under: None,
        }
    }

    fn under(self, key: &'static str) -> Self {
        Self {
            under: Some(key),
            ..self
        }
    }

    fn at_least(mut self, least: impl Into<Value>) -> Self {
        self.value.least = Some(least.into());
        self
    }

    /// Whether a value of a scenario file has it; `is_known` says which plug-ins of a kind there
    /// are.
    pub(super) fn is_of(&self, value: &Value, is_known: &dyn Fn(&str, &str) -> bool) -> bool {
        match self.fits {
            Fits::Text => value.is_string(),
            Fits::TextWith(part) => value
                .as_str()
                .is_some_and(|text| text.to_lowercase().contains(part)),
            Fits::Number => value.is_number(),
            Fits::List => value.is_array(),
            Fits::Table => value.is_object(),
            Fits::Has(key) => value.get(key).is_some(),
            // Python may have put what the plug-in is in place of its name.
            Fits::PlugIn(kind) => match value.as_str() {
                Some(name) => is_known(kind, name),
                None => value.get(PLUG_IN).is_some(),
            },
            Fits::PlugInTable(_) => value.get(PLUG_IN).is_some() || value.get("plug_in").is_some(),
        }
    }
}

/// All values that have one of several forms.
pub fn forms() -> Vec<Forms> {
    let table = |called, fits, name| Form::new(called, fits, Kind::Table(name));
    let plug_ins = |kind| {
        let name = Form::new("the name of a plug-in", Fits::PlugIn(kind), Kind::Text);
        let in_full = Form::new(
            "a table with `plug_in`",
            Fits::PlugInTable(kind),
            Kind::Text,
        );
        (name, in_full)
    };
    let numbers = |called| {
        let list = Kind::List(Box::new(Kind::Integer));
        let mut form = Form::new(called, Fits::List, list).at_least(0);
        form.value.most = Some(u32::MAX.into());
        form.value.fewest_entries = Some(1);
        form
    };
    let (placement, placement_in_full) = plug_ins("placement");
    let (mapping, mapping_in_full) = plug_ins("mapping");
    let mut factor = Form::new("a number", Fits::Number, Kind::Number);
    factor.value.more_than = Some(0.0.into());
    let texts = Kind::List(Box::new(Kind::Text));
    let mut keys = Form::new("a list of keys", Fits::List, texts);
    keys.value.fewest_entries = Some(1);
    let mut count = Form::new("a whole number", Fits::Number, Kind::Integer).at_least(1);
    count.value.most = Some(u32::MAX.into());
    let counts = Kind::List(Box::new(Kind::Table("Repetitions")));
    let mut counts = Form::new("a list", Fits::List, counts);
    counts.value.fewest_entries = Some(1);
    let mut load = Form::new("a number", Fits::Number, Kind::Number).under("load");
    load.value.more_than = Some(0.0.into());
    vec![
        Forms {
            name: "TrafficLoad",
            text: "How much traffic a node offers.",
            forms: vec![
                load,
                Form::new(
                    "a theoretical global link load such as \"90 % TGLL\"",
                    Fits::TextWith("tgll"),
                    Kind::Quantity("globalload"),
                )
                .at_least(1)
                .under("tgll"),
                Form::new(
                    "a share such as \"50 %\"",
                    Fits::TextWith("%"),
                    Kind::Quantity("share"),
                )
                .at_least(1)
                .under("load"),
            ],
        },
        Forms {
            name: "Border",
            text: "Where a region of interest of a trace starts or ends.",
            forms: vec![
                table("a table with `time`", Fits::Has("time"), "TimeBorder"),
                table("one with `region`", Fits::Has("region"), "RegionBorder").under("region"),
                table("one with `marker`", Fits::Has("marker"), "MarkerBorder").under("marker"),
            ],
        },
        Forms {
            name: "Phase",
            text: "A part of an application of several.",
            forms: vec![
                Form::new(
                    "a motif (a table with `kind`)",
                    Fits::Has("kind"),
                    Kind::Kinds("Motif"),
                )
                .under("motif"),
                table(
                    "a table with `compute`",
                    Fits::Has("compute"),
                    "ComputePhase",
                ),
                table(
                    "a table with `repeat` and `phases`",
                    Fits::Has("repeat"),
                    "RepeatPhase",
                )
                .under("repeat"),
            ],
        },
        Forms {
            name: "Placement",
            text: "Which free nodes a job gets.",
            forms: vec![
                placement,
                Form::new("a name", Fits::Text, Kind::Name("placement".into())).under("policy"),
                numbers("a list of nodes").under("nodes"),
                table(
                    "a table with `rank_map`",
                    Fits::Has("rank_map"),
                    "RankMapPlacement",
                ),
                placement_in_full,
                table("a table", Fits::Table, "PlacementTable"),
            ],
        },
        Forms {
            name: "Order",
            text: "The order of the queue.",
            forms: vec![
                Form::new("the name of a plug-in", Fits::PlugIn("order"), Kind::Text),
                Form::new("a name", Fits::Text, Kind::Name("order".into())),
            ],
        },
        Forms {
            name: "Estimates",
            text: "Run times that a scheduler assumes.",
            forms: vec![
                Form::new("a text", Fits::Text, Kind::Written("estimates")),
                factor,
            ],
        },
        Forms {
            name: "AxisKey",
            text: "Keys of a scenario that an axis sets.",
            forms: vec![Form::new("a key", Fits::Text, Kind::Text), keys],
        },
        Forms {
            name: "RepetitionCounts",
            text: "How often the points of a study are simulated.",
            forms: vec![count, counts],
        },
        Forms {
            name: "Mapping",
            text: "Which rank sits on which of a job's nodes.",
            forms: vec![
                mapping,
                Form::new("a name", Fits::Text, Kind::Name("mapping".into())).under("policy"),
                numbers("a list").under("node_of_rank"),
                mapping_in_full,
                table("a table", Fits::Table, "MappingTable"),
            ],
        },
    ]
}

/// Types of values that are read in their own way.
macro_rules! declared_as {
    ($($type:ty: $kind:expr,)+) => {
        $(impl Declared for $type {
            fn kind() -> Kind {
                $kind
            }
        })+
    };
}

declared_as! {
    Pattern: Kind::Kinds("Traffic"),
    TraceBorder: Kind::Forms("Border"),
    TrafficLoad: Kind::Forms("TrafficLoad"),
    Phase: Kind::Forms("Phase"),
    Placement: Kind::Forms("Placement"),
    Mapping: Kind::Forms("Mapping"),
    AxisKey: Kind::Forms("AxisKey"),
    RepetitionCounts: Kind::Forms("RepetitionCounts"),
}
