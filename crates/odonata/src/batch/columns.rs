//! Logs and schedules as columns, and logs back from columns.

use std::collections::HashMap;

use odonata_placement::grap::GrapModeName;
use odonata_scheduler::Seconds;
use odonata_scheduler::batch::{Fate, Occupancy, Row, Schedule, Started};
use odonata_scheduler::log::{Job, JobLog, Label, Status, Unit};
use odonata_scheduler::outages::in_words;

use crate::coupling::Planned;
use crate::error::{Error, refused};
use crate::tables::{Column, Table};

/// Columns of a log by name. −1 and NaN stand for no value, as does an empty text.
#[derive(Clone, Debug, Default)]
pub struct LogColumns {
    /// Times, sizes and counts.
    pub integers: HashMap<String, Vec<i64>>,
    /// Real numbers.
    pub reals: HashMap<String, Vec<f64>>,
    /// Texts.
    pub texts: HashMap<String, Vec<String>>,
}

fn seconds(value: Option<Seconds>) -> i64 {
    value.map_or(-1, |time| time.0)
}

/// A log as a table: labels as numbers of `names`, the last column.
pub fn log_table(log: &JobLog) -> (Table, Vec<String>) {
    let mut table = Table::new("log");
    let jobs = &log.jobs;
    let mut add = |name: &str, column: Column| table.columns.push((name.to_owned(), column));
    add(
        "id",
        Column::Text(jobs.iter().map(|job| job.id.to_string()).collect()),
    );
    let mut time = |name: &str, of: &dyn Fn(&Job) -> i64| {
        add(name, Column::I64(jobs.iter().map(of).collect()));
    };
    time("submit_s", &|job| job.submit.0);
    time("eligible_s", &|job| seconds(job.eligible));
    time("start_s", &|job| seconds(job.start));
    time("run_s", &|job| job.run.0);
    time("requested_s", &|job| seconds(job.requested));
    time("nodes", &|job| i64::from(job.nodes));
    time("processors", &|job| job.processors.map_or(-1, i64::from));
    time("requested_processors", &|job| {
        job.requested_processors.map_or(-1, i64::from)
    });
    time("think_s", &|job| seconds(job.think));
    let mut real = |name: &str, of: &dyn Fn(&Job) -> Option<f64>| {
        let values = jobs.iter().map(|job| of(job).unwrap_or(f64::NAN));
        add(name, Column::F64(values.collect()));
    };
    real("cpu_s", &|job| job.cpu_seconds);
    real("memory_kb", &|job| job.memory_kb);
    real("requested_memory_kb", &|job| job.requested_memory_kb);
    real("communication_share", &|job| job.communication_share);
    add(
        "status",
        Column::I8(jobs.iter().map(|job| job.status as i8).collect()),
    );
    let mut label = |name: &str, of: &dyn Fn(&Job) -> Label| {
        let codes = jobs
            .iter()
            .map(|job| of(job).index().map_or(-1, |index| index as i32));
        add(name, Column::I32(codes.collect()));
    };
    label("user", &|job| job.user);
    label("group", &|job| job.group);
    label("account", &|job| job.account);
    label("application", &|job| job.application);
    label("queue", &|job| job.queue);
    label("partition", &|job| job.partition);
    let mut text = |name: &str, of: &dyn Fn(&Job) -> Option<&str>| {
        let texts = jobs
            .iter()
            .map(|job| of(job).unwrap_or_default().to_owned());
        add(name, Column::Text(texts.collect()));
    };
    text("preceding", &|job| job.preceding.as_deref());
    text("node_list", &|job| job.node_list.as_deref());
    let names = log.names.texts().iter().map(|name| name.to_string());
    (table, names.collect())
}

/// A log from columns: needs `submit_s`, `run_s` and `nodes`; understands all that
/// [`log_table`] writes, labels as texts.
///
/// # Errors
/// If a needed column is missing, columns differ in length, or a value makes no sense.
pub fn log_from_columns(columns: &LogColumns) -> Result<JobLog, Error> {
    let needed = |name: &str| {
        let found = columns.integers.get(name);
        found.ok_or_else(|| refused(format!("a job log needs a column {name} of integers")))
    };
    let (submit, run, nodes) = (needed("submit_s")?, needed("run_s")?, needed("nodes")?);
    let count = submit.len();
    let lengths = columns
        .integers
        .iter()
        .map(|(name, values)| (name, values.len()));
    let lengths = lengths
        .chain(
            columns
                .reals
                .iter()
                .map(|(name, values)| (name, values.len())),
        )
        .chain(
            columns
                .texts
                .iter()
                .map(|(name, values)| (name, values.len())),
        );
    for (name, length) in lengths {
        if length != count {
            return Err(refused(format!(
                "column {name} has {length} rows, submit_s {count}"
            )));
        }
    }
    let mut log = JobLog::default();
    let integer = |name: &str, row: usize| {
        let value = columns.integers.get(name).map(|values| values[row]);
        value.filter(|&value| value >= 0)
    };
    let time = |name: &str, row: usize| integer(name, row).map(Seconds);
    let small = |name: &str, row: usize| integer(name, row).and_then(|n| u32::try_from(n).ok());
    let real = |name: &str, row: usize| {
        columns
            .reals
            .get(name)
            .map(|values| values[row])
            .filter(|value| value.is_finite())
    };
    let text = |name: &str, row: usize| {
        let value = columns.texts.get(name).map(|values| values[row].as_str());
        value.filter(|text| !text.is_empty())
    };
    for row in 0..count {
        let sound = (0..=Seconds::LIMIT.0).contains(&submit[row])
            && (0..=Seconds::LIMIT.0).contains(&run[row]);
        let size = u32::try_from(nodes[row]).ok().filter(|&nodes| nodes > 0);
        let Some(size) = size.filter(|_| sound) else {
            return Err(refused(format!(
                "row {row} (from 0): submit_s {}, run_s {}, nodes {}; allowed: times from 0, at \
                 least 1 node",
                submit[row], run[row], nodes[row]
            )));
        };
        let number = (row + 1).to_string();
        let id = text("id", row).unwrap_or(&number);
        let mut job = Job::new(id, Seconds(submit[row]), Seconds(run[row]), size);
        job.eligible = time("eligible_s", row);
        job.start = time("start_s", row).filter(|&start| start >= job.submit);
        job.requested = time("requested_s", row).filter(|&limit| limit > Seconds::ZERO);
        job.processors = small("processors", row);
        job.requested_processors = small("requested_processors", row);
        job.think = time("think_s", row);
        job.cpu_seconds = real("cpu_s", row);
        job.memory_kb = real("memory_kb", row);
        job.requested_memory_kb = real("requested_memory_kb", row);
        job.communication_share = real("communication_share", row);
        let status = text("status", row).unwrap_or_default();
        let known = Status::ALL.into_iter().find(|known| known.name() == status);
        job.status = known.unwrap_or(Status::Unknown);
        let mut label = |name: &str| text(name, row).map_or(Label::NONE, |t| log.names.label(t));
        job.user = label("user");
        job.group = label("group");
        job.account = label("account");
        job.application = label("application");
        job.queue = label("queue");
        job.partition = label("partition");
        job.preceding = text("preceding", row).map(Into::into);
        job.node_list = text("node_list", row).map(Into::into);
        log.jobs.push(job);
    }
    log.jobs.sort_by_key(|job| job.submit);
    Ok(log)
}

/// A schedule as a table, a row per job of its log.
/// Sizes are in the column that `unit` names.
pub(super) fn schedule_table(log: &JobLog, schedule: &Schedule, unit: Unit) -> Table {
    let mut table = Table::new("jobs");
    let rows = &schedule.rows;
    let job = |row: u32| &log.jobs[row as usize];
    let mut add = |name: &str, column: Column| table.columns.push((name.to_owned(), column));
    let i64s = |values: &mut dyn Iterator<Item = i64>| Column::I64(values.collect());
    add(
        "id",
        Column::Text(rows.iter().map(|row| job(row.job).id.to_string()).collect()),
    );
    let users = rows
        .iter()
        .map(|row| log.names.text(job(row.job).user).unwrap_or_default());
    add("user", Column::Text(users.map(str::to_owned).collect()));
    add(
        unit.name(),
        i64s(&mut rows.iter().map(|row| i64::from(row.nodes))),
    );
    add("submit_s", i64s(&mut rows.iter().map(|row| row.arrival.0)));
    add(
        "start_s",
        i64s(&mut rows.iter().map(|row| seconds(row.start))),
    );
    add("end_s", i64s(&mut rows.iter().map(|row| seconds(row.end))));
    add(
        "wait_s",
        i64s(&mut rows.iter().map(|row| seconds(row.wait()))),
    );
    add(
        "run_s",
        i64s(&mut rows.iter().map(|row| seconds(row.run()))),
    );
    add(
        "log_run_s",
        i64s(&mut rows.iter().map(|row| job(row.job).run.0)),
    );
    add(
        "requested_s",
        i64s(&mut rows.iter().map(|row| seconds(job(row.job).requested))),
    );
    add(
        "promised_s",
        i64s(&mut rows.iter().map(|row| seconds(row.promised))),
    );
    let recorded = rows.iter().map(|row| {
        let job = job(row.job);
        seconds(job.start.map(|start| start - job.submit))
    });
    add("recorded_wait_s", Column::I64(recorded.collect()));
    let groups = rows
        .iter()
        .map(|row| row.groups.as_ref().map_or(-1, |groups| groups.len() as i64));
    add("groups", Column::I64(groups.collect()));
    if rows.iter().any(|row| row.groups.is_some()) {
        let list = |groups: &Vec<(u32, u32)>| {
            let parts = groups
                .iter()
                .map(|(group, nodes)| format!("{group}:{nodes}"));
            parts.collect::<Vec<_>>().join(",")
        };
        let lists = rows
            .iter()
            .map(|row| row.groups.as_ref().map(list).unwrap_or_default());
        add("group_nodes", Column::Text(lists.collect()));
    }
    let fate = |fate: &Fate| match fate {
        Fate::Finished => 0,
        Fate::Killed => 1,
        Fate::Refused(_) => 2,
        Fate::NodeFail(_) => 3,
    };
    add(
        "fate",
        Column::I8(rows.iter().map(|row| fate(&row.fate)).collect()),
    );
    let started = |started: Option<Started>| match started {
        None => -1,
        Some(Started::InOrder) => 0,
        Some(Started::Backfilled) => 1,
        Some(Started::InReservation) => 2,
    };
    add(
        "started",
        Column::I8(rows.iter().map(|row| started(row.started)).collect()),
    );
    let reasons = rows.iter().map(|row| match &row.fate {
        Fate::Refused(reason) | Fate::NodeFail(reason) => reason.clone(),
        _ => String::new(),
    });
    add("reason", Column::Text(reasons.collect()));
    if schedule.out.is_some() {
        let requeues = rows.iter().map(|row| row.lost.len() as i64);
        add("requeues", Column::I64(requeues.collect()));
        let lost = rows.iter().map(|row| row.lost_time().0);
        add("lost_run_s", Column::I64(lost.collect()));
    }
    if rows.iter().any(|row| row.held.is_some()) {
        let held = rows.iter().map(|row| row.held.map_or(0, |held| held.0));
        add("held_s", Column::I64(held.collect()));
    }
    table
}

/// The mode of each job, if modes were drawn.
pub(super) fn add_modes(table: &mut Table, modes: &[Option<GrapModeName>]) {
    if modes.is_empty() {
        return;
    }
    let names = modes
        .iter()
        .map(|mode| mode.map_or("", |mode| mode.name()).to_owned());
    let modes = Column::Text(names.collect());
    table.columns.push(("mode".to_owned(), modes));
}

/// What each job of a schedule does on its network, if there is one.
pub(super) fn add_communication(table: &mut Table, planned: &Planned) {
    if planned.jobs.is_empty() {
        return;
    }
    let shares: Vec<f64> = planned.jobs.iter().map(|job| job.share).collect();
    let traffics = planned.jobs.iter().map(|job| {
        let number = job.traffic.map(|traffic| traffic as usize);
        number.map_or(String::new(), |number| planned.traffics[number].clone())
    });
    // An application computes and communicates as it does.
    if !shares.iter().all(|share| share.is_nan()) {
        let share = Column::F64(shares);
        table
            .columns
            .push(("communication_share".to_owned(), share));
    }
    let traffic = Column::Text(traffics.collect());
    table.columns.push(("traffic".to_owned(), traffic));
}

/// The numbers of each job's nodes in its last run, where it is known who is on which node.
pub(super) fn add_nodes(table: &mut Table, schedule: &Schedule) {
    if schedule.rows.iter().all(|row| row.placed.is_none()) {
        return;
    }
    let list = |row: &Row| {
        let mut nodes = row.placed.clone().unwrap_or_default();
        nodes.sort_unstable();
        in_words(&nodes)
    };
    let lists = Column::Text(schedule.rows.iter().map(list).collect());
    table.columns.push(("node_list".to_owned(), lists));
}

/// Occupancy as a table, a row per interval.
pub(super) fn occupancy_table(full: &Occupancy, unit: Unit) -> Table {
    let of_unit = |what: &str| format!("{what}_{}", unit.name());
    let mut table = Table::new("occupancy");
    let starts = (0..full.busy_nodes.len() as i64).map(|i| full.first.0 + i * full.interval.0);
    table.columns = vec![
        ("time_s".to_owned(), Column::I64(starts.collect())),
        (of_unit("busy"), Column::F64(full.busy_nodes.clone())),
        (
            "waiting_jobs".to_owned(),
            Column::F64(full.waiting_jobs.clone()),
        ),
        (of_unit("waiting"), Column::F64(full.waiting_nodes.clone())),
    ];
    if let Some(out) = &full.out_nodes {
        let out = Column::F64(out.clone());
        table.columns.push((of_unit("out_of_service"), out));
    }
    table
}
