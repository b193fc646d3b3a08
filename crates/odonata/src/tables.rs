//! Result tables as plain columns: what a run measured, ready for Arrow, numpy
//! or a file. Units are in the columns' names; −1 and NaN stand for no value.

mod attribution;
mod classes;
mod congestion;
mod jobs;
mod links;
mod losses;
mod ranks;
mod storage;

use std::cell::Cell;
use std::ops::ControlFlow;

use odonata_network::LinkKind;
use odonata_run::Progress;
use serde::Serialize;

use crate::error::Error;
use crate::finished::Run;
use crate::spec::{Crossbar, Family, Job, Load, Network, Offered, Pattern, Scenario, Traffic};

/// A named column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Small codes, such as of link classes.
    I8(Vec<i8>),
    /// Ids.
    I32(Vec<i32>),
    /// Times, sizes and counts.
    I64(Vec<i64>),
    /// Rates, means and fractions.
    F64(Vec<f64>),
    /// Names.
    Text(Vec<String>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::I8(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table; all columns have the same length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Columns by name, in order.
    pub columns: Vec<(String, Column)>,
}

impl Table {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            columns: Vec::new(),
        }
    }

    pub(crate) fn i8(&mut self, name: &str, values: impl Iterator<Item = u8>) {
        let column = Column::I8(values.map(|value| value as i8).collect());
        self.columns.push((name.to_owned(), column));
    }

    pub(crate) fn i32(&mut self, name: &str, values: impl Iterator<Item = i32>) {
        let column = Column::I32(values.collect());
        self.columns.push((name.to_owned(), column));
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        found.map(|(_, column)| column)
    }
}

/// Code of a kind of link in the `kind` columns.
pub(crate) fn kind_code(kind: LinkKind) -> u8 {
    match kind {
        LinkKind::Terminal => 0,
        LinkKind::Local => 1,
        LinkKind::Global => 2,
    }
}

fn id(value: u32) -> i32 {
    value as i32
}

/// A column of a result, for those who read or describe results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnDeclaration {
    /// Ends in the unit where there is one.
    pub name: String,
    /// What its values are: `i8`, `i32`, `i64`, `f64` or `text`.
    pub kind: &'static str,
    /// What it holds.
    pub text: String,
    /// Whether rows without a value exist.
    pub may_be_none: bool,
    /// The texts that its codes stand for.
    pub names: Option<Vec<&'static str>>,
    /// The entry of the run's scalars that lists them.
    pub meta: Option<&'static str>,
}

impl ColumnDeclaration {
    /// Rows without a value exist.
    fn or_none(&mut self) -> &mut Self {
        self.may_be_none = true;
        self
    }

    /// Its codes stand for these.
    fn names(&mut self, names: &[&'static str]) {
        self.names = Some(names.to_vec());
    }

    /// Its codes stand for what that scalar of the run lists.
    fn meta(&mut self, scalar: &'static str) {
        self.meta = Some(scalar);
    }
}

/// A table of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultDeclaration {
    /// Its name.
    pub name: &'static str,
    /// What one row is, and in which order they come.
    pub text: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnDeclaration>,
}

/// A table with what is said of its columns.
struct Filled {
    table: Table,
    declaration: ResultDeclaration,
}

/// A table while it is filled, of a row for each of `rows`.
struct Filling<'r, R> {
    rows: &'r [R],
    filled: Filled,
}

impl<'r, R> Filling<'r, R> {
    fn new(rows: &'r [R], name: &'static str, text: &'static str) -> Self {
        Self {
            rows,
            filled: Filled {
                table: Table::new(name),
                declaration: ResultDeclaration {
                    name,
                    text,
                    columns: Vec::new(),
                },
            },
        }
    }

    fn add<T>(
        &mut self,
        (name, text, kind): (&str, &str, &'static str),
        column: fn(Vec<T>) -> Column,
        value: impl Fn(&'r R) -> T,
    ) -> &mut ColumnDeclaration {
        let column = column(self.rows.iter().map(value).collect());
        self.filled.table.columns.push((name.to_owned(), column));
        let columns = &mut self.filled.declaration.columns;
        let place = columns.len();
        columns.push(ColumnDeclaration {
            name: name.to_owned(),
            kind,
            text: text.to_owned(),
            may_be_none: false,
            names: None,
            meta: None,
        });
        &mut columns[place]
    }

    /// Numbers of the rows, from 0.
    fn numbers(&mut self, name: &str, text: &str) {
        let next = Cell::new(0);
        self.i32(name, text, |_| next.replace(next.get() + 1));
    }

    fn i8(
        &mut self,
        name: &str,
        text: &str,
        value: impl Fn(&'r R) -> u8,
    ) -> &mut ColumnDeclaration {
        self.add((name, text, "i8"), Column::I8, |row| value(row) as i8)
    }

    fn i32(
        &mut self,
        name: &str,
        text: &str,
        value: impl Fn(&'r R) -> i32,
    ) -> &mut ColumnDeclaration {
        self.add((name, text, "i32"), Column::I32, value)
    }

    fn i64(&mut self, name: &str, text: &str, value: impl Fn(&'r R) -> u64) {
        self.add((name, text, "i64"), Column::I64, |row| value(row) as i64);
    }

    fn i64_or_none(&mut self, name: &str, text: &str, value: impl Fn(&'r R) -> Option<u64>) {
        let value = |row| value(row).map_or(-1, |value| value as i64);
        self.add((name, text, "i64"), Column::I64, value).or_none();
    }

    fn f64(
        &mut self,
        name: &str,
        text: &str,
        value: impl Fn(&'r R) -> f64,
    ) -> &mut ColumnDeclaration {
        self.add((name, text, "f64"), Column::F64, value)
    }

    fn text(&mut self, name: &str, text: &str, value: impl Fn(&'r R) -> String) {
        self.add((name, text, "text"), Column::Text, value);
    }
}

/// What is said of all tables and columns of a result.
///
/// # Errors
/// If the smallest run fails, by which they are filled.
pub fn result_tables() -> Result<Vec<ResultDeclaration>, Error> {
    let nodes = Family::Crossbar(Crossbar { nodes: 2 });
    let mut scenario = Scenario::new(Network::new(nodes));
    scenario.simulation.duration_ps = Some(1);
    let traffic = Traffic::new(Pattern::UniformRandom, 1, Offered::IntervalPs(1_000));
    scenario.jobs = vec![Job::new("job", 2, Load::Traffic(traffic))];
    let run = crate::run::run(&scenario, &mut |_: &Progress| ControlFlow::Continue(()))?;
    Ok(filled(&run)
        .into_iter()
        .map(|table| table.declaration)
        .collect())
}

impl Run {
    /// What was measured, as tables.
    pub fn tables(&self) -> Vec<Table> {
        filled(self)
            .into_iter()
            .map(|filled| filled.table)
            .collect()
    }
}

fn filled(run: &Run) -> Vec<Filled> {
    vec![
        jobs::jobs(run),
        links::links(run),
        links::routers(run),
        links::timeline(run),
        jobs::statistics(run),
        jobs::histograms(run),
        jobs::routers_visited(run),
        jobs::iterations(run),
        jobs::placement(run),
        ranks::messages(run),
        ranks::ranks(run),
        ranks::rank_activity(run),
        ranks::message_sizes(run),
        ranks::communication(run),
        attribution::link_jobs(run),
        attribution::link_waits(run),
        attribution::arrivals(run),
        congestion::held_pairs(run),
        classes::traffic_classes(run),
        losses::losses(run),
        storage::storage(run),
        ranks::parallelism(run),
    ]
}
