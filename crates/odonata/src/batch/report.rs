//! Reports of readers and figures of schedules as JSON.

use odonata_scheduler::batch::{Schedule, Spread, Summary};
use odonata_scheduler::log::{JobLog, Report, Rule, Unit};
use serde_json::{Value, json};

/// What a reader made of a file.
pub fn report_json(report: &Report) -> Value {
    let rule = |rule: Rule| {
        let cases = report.cases.get(&rule)?;
        let example = |example: &odonata_scheduler::log::Example| json!({"line": example.line, "found": example.found});
        Some(json!({
            "rule": rule.name(),
            "explanation": rule.explanation(),
            "action": rule.action().name(),
            "fault": rule.is_fault(),
            "count": cases.count,
            "examples": cases.examples.iter().map(example).collect::<Vec<_>>(),
        }))
    };
    json!({
        "file": report.file,
        "format": report.format,
        "lines": report.lines,
        "comments": report.comments,
        "blank": report.blank,
        "continued": report.continued,
        "records": report.records,
        "jobs": report.jobs,
        "dropped": report.dropped(),
        "rules": Rule::ALL.into_iter().filter_map(rule).collect::<Vec<_>>(),
    })
}

/// What a log says of itself.
pub fn log_meta(log: &JobLog) -> Value {
    json!({
        "epoch": log.epoch,
        "machine_nodes": log.machine_nodes,
        "machine_processors": log.machine_processors,
        "unit": log.unit.name(),
        "unit_because": log.unit_because,
        "processors_per_node": log.processors_per_node,
        "header": log.header,
    })
}

/// A number; none if it is no number.
fn finite(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else {
        Value::Null
    }
}

fn spread(spread: &Spread) -> Value {
    json!({
        "mean": finite(spread.mean),
        "median": finite(spread.median),
        "p90": finite(spread.p90),
        "p99": finite(spread.p99),
        "max": finite(spread.max),
    })
}

/// The figures of a schedule.
pub(super) fn summary_json(summary: &Summary, schedule: &Schedule, unit: Unit) -> Value {
    let (from, to, seconds) = match unit {
        Unit::Nodes => ("nodes_from", "nodes_to", "node_seconds"),
        Unit::Processors => ("processors_from", "processors_to", "processor_seconds"),
    };
    let classes = summary.classes.iter().filter(|class| class.jobs > 0);
    let classes = classes.map(|class| {
        json!({
            (from): class.from,
            (to): class.to,
            "jobs": class.jobs,
            (seconds): class.node_seconds,
            "wait_s": spread(&class.wait_s),
            "bounded_slowdown": spread(&class.bounded_slowdown),
            "fragmentation": finite(class.fragmentation),
        })
    });
    let mut all = json!({
        "machine": schedule.machine,
        "unit": unit.name(),
        "jobs": summary.jobs,
        "refused": summary.refused,
        "killed": summary.killed,
        "backfilled": summary.backfilled,
        "broken_promises": schedule.broken_promises,
        "first_submit_s": summary.first_submit.0,
        "last_end_s": summary.last_end.0,
        "makespan_s": summary.makespan.0,
        "utilisation": summary.utilisation,
        "utilisation_until_last_submit": summary.utilisation_until_last_submit,
        "wait_s": spread(&summary.wait_s),
        "weighted_wait_s": summary.weighted_wait_s,
        "slowdown": spread(&summary.slowdown),
        "bounded_slowdown": spread(&summary.bounded_slowdown),
        "mean_queue": summary.mean_queue,
        "max_queue": summary.max_queue,
        "fragmentation": finite(summary.fragmentation),
        "classes": classes.collect::<Vec<_>>(),
    });
    if schedule.out.is_some() {
        all["failures"] = json!({
            "requeued": summary.requeued,
            "requeues": summary.requeues,
            "node_fails": summary.node_fails,
            (format!("lost_{seconds}")): summary.lost_node_seconds,
            (format!("out_{seconds}")): summary.out_node_seconds,
        });
    }
    all
}
