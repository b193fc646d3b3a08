//! The tables of study files: a scenario, the axes along which it changes, what is measured and
//! drawn, and what was published. Python runs studies (`python/odonata/study`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::table::{Declared, Kind, Notes, TableDeclaration, table};

/// The name of a column of the dataset.
const COLUMN: Notes = Notes {
    written: Some("column"),
    ..Notes::NONE
};
/// The names of columns, at least one.
const COLUMNS: Notes = Notes {
    fewest_entries: Some(1),
    ..COLUMN
};
/// The name of a column that must be given.
const NEEDED_COLUMN: Notes = Notes {
    needed: true,
    ..COLUMN
};
/// A list with something in it.
const ENTRIES: Notes = Notes {
    fewest_entries: Some(1),
    ..Notes::NONE
};
/// What of the repetitions counts.
const STATISTIC: Notes = Notes {
    one_of: &["mean", "median", "minimum", "maximum"],
    ..Notes::NONE
};

/// A value by which people know a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Label(Value);

impl Declared for Label {
    fn kind() -> Kind {
        Kind::Label
    }
}

/// A key of the scenario, or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AxisKey(Value);

/// A count, or several with the conditions under which they hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RepetitionCounts(Value);

/// Keys of a scenario and their values.
type Changes = BTreeMap<String, Value>;

table! {
    /// One value of an axis that sets several keys.
    pub struct Setting {
        /// What the value is called in the dataset, in pictures and in conditions.
        label: Label = Label(Value::Null) => Notes::NEEDED,
        /// Keys of the scenario and their values.
        set: Changes = Changes::new() => Notes::NEEDED,
    }
}

table! {
    /// What changes from point to point: one key over some values, or several keys together.
    pub struct Axis {
        /// Name in the dataset, with its unit if it has one. Default: the last part of `key`.
        name: Option<String> = None => COLUMN,
        /// Key of the scenario that the values are for, as of `--set`, or several that get the same
        /// value. `job.*.nodes` is a key of every job.
        key: Option<AxisKey> = None,
        /// The values.
        values: Option<Vec<Value>> = None => ENTRIES,
        /// Text with `{}` for the value, such as `"{} GB/s"`: sets that, and the dataset has the
        /// number.
        format: Option<String> = None => Notes { written: Some("value-text"), ..Notes::NONE },
        /// What the values are called, one for each; needed where they are tables or lists.
        labels: Option<Vec<Label>> = None => ENTRIES,
        /// Instead of `key` and `values`: for each value the keys that it sets.
        setting: Option<Vec<Setting>> = None => ENTRIES,
        /// Axes with the same word here advance together instead of being combined.
        zip: Option<String> = None => COLUMN,
        /// Condition on the axes before this one. Elsewhere the axis sets nothing and is empty in
        /// the dataset.
        when: Option<String> = None,
    }
    refuse "key" when [("setting", Test::Given), ("key", Test::Given)] => "only without `setting`";
    refuse "values" when [("setting", Test::Given), ("values", Test::Given)] => "only without `setting`";
    refuse "format" when [("setting", Test::Given), ("format", Test::Given)] => "only without `setting`";
    refuse "labels" when [("setting", Test::Given), ("labels", Test::Given)] => "only without `setting`";
    refuse "name" when [("setting", Test::Given), ("name", Test::Absent)] => "a name, as there is no `key` to take it from";
    refuse "key" when [("setting", Test::Absent), ("key", Test::Absent)] => "a value, or `setting`";
    refuse "values" when [("setting", Test::Absent), ("values", Test::Absent)] => "a value, or `setting`";
}

table! {
    /// Keys that follow from the values of the axes, without being an axis.
    pub struct StudyRule {
        /// Condition on the axes.
        when: String = String::new() => Notes::NEEDED,
        /// Keys of the scenario and their values, where it is true.
        set: Changes = Changes::new() => Notes::NEEDED,
    }
}

table! {
    /// How often the points are simulated for which a condition is true.
    pub struct Repetitions {
        /// Condition on the axes. Default: all points that no earlier entry is for.
        when: Option<String> = None,
        /// Repetitions.
        count: u32 = 1 => Notes::NEEDED_COUNT,
    }
}

table! {
    /// One column of the dataset: a figure of the summary, or of a column of a result table.
    pub struct Measure {
        /// Name without its unit. Default: that of the quantity.
        name: Option<String> = None => COLUMN,
        /// A figure of the summary: `run.QUANTITY`, `job.NAME.QUANTITY` or `link_class.NAME.QUANTITY`;
        /// `*` for NAME means all of them, one of which `reduce` makes. Of a scenario with `[schedule]`:
        /// `schedule.QUANTITY`, of its first schedule.
        figure: Option<String> = None,
        /// A result table, instead of `figure`.
        table: Option<String> = None,
        /// With `table`: the numeric column.
        column: Option<String> = None,
        /// With `table`: condition on its columns for the rows that count, such as
        /// `kind == 'global'`.
        only: Option<String> = None,
        /// With `table`: the numeric column that says how often a row counts, such as `count` of
        /// `histograms`; for a mean, sum or standard deviation.
        weight: Option<String> = None,
        /// A function of a [plug-in](plug-ins.md), instead of `figure`; its unit belongs into `name`.
        plug_in: Option<String> = None,
        /// What is kept of several values: `minimum`, `maximum`, `mean`, `median`, `sum`, `count`,
        /// `standard-deviation`, or a percentile such as `p99`.
        reduce: Option<String> = None => Notes { written: Some("reduction"), ..Notes::NONE },
        /// What a number of bytes is divided by, to make it a rate: a duration such as `"200 us"`, or a
        /// duration of the summary such as `job.NAME.run_time_ps`.
        per: Option<String> = None,
        /// Unit to convert to, such as `"us"` or `"GB/s"`. Default: that of the source.
        unit: Option<String> = None,
        /// What it means, for people; a label of pictures.
        about: String = String::new(),
    }
    refuse "figure" as "neither" when [("figure", Test::Absent), ("table", Test::Absent), ("plug_in", Test::Absent)] => "exactly one of `figure`, `table` and `plug_in`";
    refuse "figure" as "figure and table" when [("figure", Test::Given), ("table", Test::Given)] => "exactly one of `figure`, `table` and `plug_in`";
    refuse "figure" as "figure and plug_in" when [("figure", Test::Given), ("plug_in", Test::Given)] => "exactly one of `figure`, `table` and `plug_in`";
    refuse "figure" as "table and plug_in" when [("table", Test::Given), ("plug_in", Test::Given)] => "exactly one of `figure`, `table` and `plug_in`";
    refuse "column" when [("table", Test::Absent), ("column", Test::Given)] => "only with `table`";
    refuse "only" when [("table", Test::Absent), ("only", Test::Given)] => "only with `table`";
    refuse "weight" when [("table", Test::Absent), ("weight", Test::Given)] => "only with `table`";
    refuse "reduce" when [("plug_in", Test::Given), ("reduce", Test::Given)] => "only without `plug_in`";
    refuse "unit" when [("plug_in", Test::Given), ("unit", Test::Given)] => "only without `plug_in`";
    refuse "reduce" when [("table", Test::Given), ("reduce", Test::Absent)] => "a value, as a table has several rows";
    refuse "weight" when [("weight", Test::Given), ("reduce", Test::NotIn(vec!["mean", "sum", "standard-deviation"]))] => "only with mean, sum, standard-deviation";
}

table! {
    /// A picture drawn from the dataset.
    pub struct Figure {
        /// Name of its file, without `.png`.
        name: String = String::new() => Notes { written: Some("file-name"), ..Notes::NEEDED },
        /// What it shows.
        title: String = String::new(),
        /// Lines with markers, bars side by side, or boxes (median, quartiles, whiskers to the
        /// extremes) of the repetitions, or of what each of them found (`quantiles`).
        kind: String = "line".into() => Notes { one_of: &["line", "bar", "box"], ..Notes::NONE },
        /// Axis along the picture.
        x: String = String::new() => NEEDED_COLUMN,
        /// What is measured.
        y: String = String::new() => NEEDED_COLUMN,
        /// For boxes: measures that are the minimum, lower quartile, median, upper quartile and maximum
        /// within one run, such as those of message latencies; `y` is then drawn as a mark. Of several
        /// repetitions the `statistic` of each.
        quantiles: Option<Vec<String>> = None => Notes { fewest_entries: Some(5), most_entries: Some(5), ..COLUMN },
        /// Axis whose values are the lines, or the bars of a group.
        series: Option<String> = None => COLUMN,
        /// Axes whose values have a panel each: columns, and rows.
        facets: Vec<String> = Vec::new() => Notes { most_entries: Some(2), ..COLUMN },
        /// Condition on the points that are drawn.
        only: Option<String> = None,
        /// What of the repetitions is drawn; a mean with its 95 % confidence interval.
        statistic: String = "mean".into() => STATISTIC,
        /// Condition that chooses, among the points that agree in all axes it does not name, the one
        /// that values are divided by.
        relative_to: Option<String> = None,
        /// Default: the axis' name.
        x_label: String = String::new(),
        /// Default: the measure's name.
        y_label: String = String::new(),
        /// Logarithmic scale.
        log_x: bool = false,
        /// Logarithmic scale.
        log_y: bool = false,
        /// Whether the vertical scale begins at 0.
        y_from_zero: bool = true,
        /// Whether all panels have one vertical scale.
        share_y: bool = true,
    }
    refuse "quantiles" as "a value" when [("quantiles", Test::Given), ("kind", Test::IsNot("box"))] => "no value, but with kind = \"box\"";
    refuse "relative_to" when [("quantiles", Test::Given), ("relative_to", Test::Given)] => "no value with quantiles";
}

table! {
    /// A published statement, or one of our own, to be held against what is measured here.
    pub struct Finding {
        /// What they found, in words.
        claim: String = String::new() => Notes::NEEDED,
        /// Where: publication, figure or table; of a statement of our own, what it is taken from.
        source: String = String::new() => Notes::NEEDED,
        /// Whether it is a statement of our own: what was published of another machine or other traffic,
        /// asked of this one. The page lists such statements apart from published findings.
        own: bool = false,
        /// What is computed of `y`, for every combination of the other axes: its `value` itself; the
        /// `difference` of the points where `this` holds to those where `to` holds, in per cent of the
        /// latter, or their `ratio`; the `range`
        /// over the values of the axis `over`, largest less smallest in per cent of the smallest; the
        /// `scatter` over the repetitions, largest less smallest in per cent of the median; or the
        /// values of the axes `over` that have the smallest (`best`) or largest (`worst`) figure.
        quantity: String = String::new() => Notes { one_of: &["value", "difference", "ratio", "range", "scatter", "best", "worst"], ..Notes::NEEDED },
        /// What is measured.
        y: String = String::new() => NEEDED_COLUMN,
        /// Condition on the points that count.
        only: Option<String> = None,
        /// What of the repetitions counts.
        statistic: String = "mean".into() => STATISTIC,
        /// For a difference or ratio: condition that chooses what is compared.
        this: Option<String> = None,
        /// For a difference or ratio: condition that chooses what it is compared with.
        to: Option<String> = None,
        /// For a range, `best` or `worst`: the axes whose values are compared.
        over: Option<Vec<String>> = None => COLUMNS,
        /// Smallest value published: in per cent; of a `value` in the unit of `y`, of a `ratio` as a
        /// multiple.
        at_least: Option<f64> = None,
        /// Largest value published, likewise.
        at_most: Option<f64> = None,
        /// For `best` or `worst`: the values of the axes `over` that were published.
        values: Option<BTreeMap<String, Label>> = None,
        /// What the published range is of: the figure at every combination, only the largest or
        /// smallest over all of them ("up to"), or their mean ("on average").
        combinations: String = "every".into() => Notes { one_of: &["every", "largest", "smallest", "mean"], ..Notes::NONE },
        /// By how much ours may lie outside: half the last digit of the published figures, or more
        /// where they are given as "about" or are said to be met so closely. In per cent points; of a
        /// `value` or `ratio` in per cent of what is published.
        slack: f64 = 0.5 => Notes::AMOUNT,
        /// Why ours differs, where it does.
        explanation: String = String::new(),
    }
    refuse "this" when [("this", Test::Absent), ("quantity", Test::In(vec!["difference", "ratio"]))] => "a value with quantity = \"{quantity}\"";
    refuse "this" when [("this", Test::Given), ("quantity", Test::NotIn(vec!["difference", "ratio"]))] => "no value with quantity = \"{quantity}\"";
    refuse "to" when [("to", Test::Absent), ("quantity", Test::In(vec!["difference", "ratio"]))] => "a value with quantity = \"{quantity}\"";
    refuse "to" when [("to", Test::Given), ("quantity", Test::NotIn(vec!["difference", "ratio"]))] => "no value with quantity = \"{quantity}\"";
    refuse "over" when [("over", Test::Absent), ("quantity", Test::In(vec!["range", "best", "worst"]))] => "a value with quantity = \"{quantity}\"";
    refuse "over" when [("over", Test::Given), ("quantity", Test::NotIn(vec!["range", "best", "worst"]))] => "no value with quantity = \"{quantity}\"";
    refuse "values" when [("values", Test::Absent), ("quantity", Test::In(vec!["best", "worst"]))] => "a value with quantity = \"{quantity}\"";
    refuse "values" when [("values", Test::Given), ("quantity", Test::NotIn(vec!["best", "worst"]))] => "no value with quantity = \"{quantity}\"";
    refuse "combinations" when [("values", Test::Given), ("combinations", Test::Is("mean"))] => "another value where `values` are given, as these have no mean";
    refuse "at_most" when [("values", Test::Absent), ("at_least", Test::Absent), ("at_most", Test::Absent)] => "a value, or `at_least`";
}

table! {
    /// What is less under `--quick`.
    pub struct Quick {
        /// Condition on the axes: the points that remain.
        only: Option<String> = None,
        /// Repetitions at most.
        repetitions: Option<u32> = None => Notes::COUNT,
        /// Keys of the scenario and their values.
        set: Changes = Changes::new(),
    }
}

table! {
    /// Where a parameter of the study's model is from.
    pub struct Parameter {
        /// What it is, in words, with its value.
        name: String = String::new() => Notes::NEEDED,
        /// The text that the study is held against, its authors' program, their data, an assumption
        /// made before any comparison, or a fit to some of the published figures.
        from: String = String::new() => Notes { one_of: &["paper", "program", "data", "assumption", "fit"], ..Notes::NEEDED },
        /// Where there: section, file, commit; of an assumption or fit, why this value.
        source: String = String::new() => Notes::NEEDED,
        /// For a fit: the findings, by their claims, that it was made on. They get no verdict; it is
        /// judged by the others.
        fitted_to: Option<Vec<String>> = None => ENTRIES,
    }
    refuse "fitted_to" when [("from", Test::Is("fit")), ("fitted_to", Test::Absent)] => "the findings it was made on with from = \"fit\"";
    refuse "fitted_to" when [("from", Test::IsNot("fit")), ("fitted_to", Test::Given)] => "no value, but with from = \"fit\"";
}

table! {
    /// A study: a base scenario, axes, repetitions, what to measure, and what it shows.
    pub struct StudyFile {
        /// What it is about.
        title: String = String::new() => Notes::NEEDED,
        /// What the study's page says first, in Markdown.
        text: String = String::new(),
        /// File of the base scenario, relative to the study.
        base: Option<PathBuf> = None,
        /// The base scenario itself, instead of `base`.
        scenario: Option<Changes> = None,
        /// What changes. All values of one axis are combined with all of the next.
        axis: Vec<Axis> = Vec::new(),
        /// What else is set under some condition, after the axes; all rules whose condition is true,
        /// in the order of the file.
        rule: Vec<StudyRule> = Vec::new(),
        /// Condition on the axes: combinations that are simulated. Default: all.
        condition: Option<String> = None => Notes { key: Some("where"), ..Notes::NONE },
        /// How often each point is simulated, each time with another seed; or a list of counts, each
        /// with the condition under which it holds.
        repetitions: RepetitionCounts = RepetitionCounts(1.into()),
        /// Seeds of the repetitions. Default: the scenario's and those that follow it. All points
        /// have the same ones.
        seeds: Option<Vec<u32>> = None => Notes { fewest_entries: Some(1), ..Notes::INDEX },
        /// What is kept of every simulation.
        measure: Vec<Measure> = Vec::new() => Notes { needed: true, ..ENTRIES },
        /// Pictures.
        figure: Vec<Figure> = Vec::new(),
        /// What was published, to be held against ours.
        finding: Vec<Finding> = Vec::new(),
        /// How findings are judged. By `intervals` one holds if all of our 95 % interval lies in the
        /// published range, does not if none of it does, and is undecided else, or with fewer than five
        /// repetitions; and under `--quick` nothing is judged. By `values`: by where the figure itself
        /// lies.
        judged: String = "values".into() => Notes { one_of: &["values", "intervals"], ..Notes::NONE },
        /// Where the parameters of the model are from; the page lists them.
        parameter: Vec<Parameter> = Vec::new(),
        /// What was published and this study does not have, each with the reason; the page lists it. Of
        /// a study that has only statements of our own, what it leaves open.
        lacking: Vec<String> = Vec::new(),
        /// What is less under `--quick`.
        quick: Option<Quick> = None,
    }
    refuse "base" as "neither" when [("base", Test::Absent), ("scenario", Test::Absent)] => "exactly one of `base` and `scenario`";
    refuse "base" as "both" when [("base", Test::Given), ("scenario", Test::Given)] => "exactly one of `base` and `scenario`";
}

/// The tables of study files.
pub fn study_tables() -> Vec<TableDeclaration> {
    vec![
        Setting::declaration(),
        Axis::declaration(),
        StudyRule::declaration(),
        Repetitions::declaration(),
        Measure::declaration(),
        Figure::declaration(),
        Finding::declaration(),
        Quick::declaration(),
        Parameter::declaration(),
        StudyFile::declaration(),
    ]
}
