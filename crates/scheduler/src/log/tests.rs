//! Readers on records with known contents, on damaged ones, and on real files.

use proptest::prelude::*;

use super::*;
use crate::Seconds;

fn read(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<(JobLog, Report), LogError> {
    read_log_from(text.as_ref(), "log", options)
}

fn read_well(text: impl AsRef<[u8]>) -> (JobLog, Report) {
    let (log, report) = read(text, &ReadOptions::default()).unwrap();
    accounts_for_every_line(&report);
    (log, report)
}

/// Every line is a comment, blank, or of a record; every record a job or dropped.
fn accounts_for_every_line(report: &Report) {
    let of_lines = report.comments + report.blank + report.continued + report.records;
    assert_eq!(report.lines, of_lines, "{report:?}");
    assert_eq!(report.records, report.jobs + report.dropped(), "{report:?}");
}

fn rules(report: &Report) -> Vec<(Rule, u64)> {
    report
        .cases
        .iter()
        .map(|(rule, cases)| (*rule, cases.count))
        .collect()
}

const SWF: &str = "\
; Version: 2.2
; MaxNodes: 100
; MaxProcs: 200
; UnixStartTime: 843480031
; a remark without colon
  7  100  20  30  8  1.5  64  8  60  128  1  3  4  5  6  9  2  15
";

#[test]
fn all_fields_of_swf_arrive() {
    let (log, report) = read_well(SWF);
    let job = &log.jobs[0];
    assert_eq!(&*job.id, "7");
    assert_eq!((job.submit, job.run), (Seconds(100), Seconds(30)));
    assert_eq!(job.start, Some(Seconds(120)));
    assert_eq!(job.requested, Some(Seconds(60)));
    // 200 processors on 100 nodes: 2 each, so 8 processors are 4 nodes.
    assert_eq!(
        (job.nodes, job.processors, job.requested_processors),
        (4, Some(8), Some(8))
    );
    assert_eq!(job.cpu_seconds, Some(1.5));
    assert_eq!(
        (job.memory_kb, job.requested_memory_kb),
        (Some(64.0), Some(128.0))
    );
    assert_eq!(job.status, Status::Completed);
    let text = |label| log.names.text(label).unwrap();
    let labels = [
        job.user,
        job.group,
        job.application,
        job.queue,
        job.partition,
    ];
    assert_eq!(labels.map(text), ["3", "4", "5", "6", "9"]);
    assert_eq!(
        (job.preceding.as_deref(), job.think),
        (Some("2"), Some(Seconds(15)))
    );
    assert_eq!(log.epoch, Some(843_480_031));
    assert_eq!(
        (log.machine_nodes, log.machine_processors),
        (Some(100), Some(200))
    );
    assert_eq!(log.header_value("Version"), Some("2.2"));
    assert_eq!((report.comments, report.records, report.jobs), (5, 1, 1));
    assert!(report.cases.is_empty());
}

#[test]
fn swf_survives_being_written_and_read() {
    let text = format!("{SWF}8 90 -1 5 -1 -1 -1 3 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n");
    let (log, _) = read_well(text);
    let mut written = Vec::new();
    write_swf(&log, &mut written).unwrap();
    let (again, _) = read_well(&written);
    assert_eq!(again.jobs.len(), 2);
    for (a, b) in log.jobs.iter().zip(&again.jobs) {
        let fields = |job: &Job| {
            (
                job.id.clone(),
                job.submit,
                job.start,
                job.run,
                job.requested,
                job.nodes,
                job.processors,
                job.status,
                job.think,
                job.preceding.clone(),
            )
        };
        // What a job asks for is always written, so it is known afterwards.
        assert_eq!(fields(a), fields(b));
    }
    assert_eq!(
        (again.epoch, again.machine_nodes),
        (log.epoch, log.machine_nodes)
    );
}

#[test]
fn every_fault_of_swf_is_counted_under_its_rule() {
    let mut text = "; MaxNodes: 10\n".to_owned();
    // id submit wait run processors cpu memory requested-processors requested-time …
    text += "1 5 0 10 1 -1 -1 1 20 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
    for line in [
        "2 3 0 10 1 -1 -1 1 20",   // before job 1
        "3 6 0 -7 1 -1 -1 1 20",   // ran for −7 s
        "4 -9 0 7 1 -1 -1 1 20",   // submitted at −9 s
        "5 6 0 10 0 -1 -1 0 20",   // no processors
        "6 6 0 10 11 -1 -1 11 20", // 11 of 10 nodes
        "1 5 0 10 1 -1 -1 1 20",   // job 1 again
        "7 6 0 10 1 -1 -1 1",      // 17 columns
        "8 6 x 10 1 -1 -1 1 20",   // no number
        "9 6 -4 10 1 -1 -1 1 20",  // started before it was submitted
        "10 6 0 -1 1 -1 -1 1 20",  // no run time
        "11 -1 0 1 1 -1 -1 1 20",  // no submission
        "12 7 0 30 1 -1 -1 1 20",  // longer than requested
        "13 7 0 0 1 -1 -1 1 -1",   // 0 s, nothing requested
        "14 7.4 0 9 1 -1 -1 1 20", // a fraction
    ] {
        text += &format!("{line} -1 1 -1 -1 -1 -1 -1 -1 -1\n");
    }
    let (log, report) = read_well(&text);
    assert_eq!(
        rules(&report),
        [
            (Rule::ColumnCount, 1),
            (Rule::BadValue, 1),
            (Rule::NegativeTime, 2),
            (Rule::NoSubmit, 1),
            (Rule::NoRunTime, 1),
            (Rule::ZeroNodes, 1),
            (Rule::LargerThanMachine, 1),
            (Rule::Unsorted, 1),
            (Rule::DuplicateId, 1),
            (Rule::StartBeforeSubmit, 1),
            (Rule::Fraction, 1),
            (Rule::OverRequest, 1),
            (Rule::ZeroRunTime, 1),
            (Rule::NoRequest, 1),
        ]
    );
    let ids: Vec<&str> = log.jobs.iter().map(|job| &*job.id).collect();
    assert_eq!(
        ids,
        ["2", "1", "6", "9", "12", "13", "14"],
        "sorted by submission"
    );
    assert_eq!(
        log.jobs[3].start, None,
        "the start before submission is ignored"
    );
}

#[test]
fn strict_reading_ends_at_the_first_fault_with_its_line() {
    let text = SWF.to_owned() + "8 90 0 5 1 -1 -1 1 9 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    let error = read(&text, &strict).unwrap_err();
    assert_eq!(error.line, Some(7));
    assert!(
        error.to_string().starts_with("log:7: unsorted: "),
        "{error}"
    );
    // What sound logs have too is no fault.
    let text = SWF.to_owned() + "8 100 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n";
    let (_, report) = read(&text, &strict).unwrap();
    assert_eq!(rules(&report), [(Rule::NoRequest, 1)]);
}

#[test]
fn bytes_that_are_no_utf8_are_counted_and_replaced() {
    let mut text = SWF.as_bytes().to_vec();
    text.extend(b"; Note: Universit\xe9\n8 100 0 5 1 -1 -1 1 5 -1 1 \xff -1 -1 -1 -1 -1 -1\n");
    let (log, report) = read_well(&text);
    assert_eq!(
        rules(&report),
        [(Rule::InvalidUtf8, 2), (Rule::BadValue, 1)]
    );
    assert_eq!(log.jobs.len(), 1);
    assert_eq!(log.header_value("Note"), Some("Universit\u{fffd}"));
}

#[test]
fn overlong_lines_are_skipped() {
    let text = format!("{SWF}{}\n; Note: end\n", "9 ".repeat(MAX_LINE_BYTES));
    let (log, report) = read_well(text);
    assert_eq!(rules(&report), [(Rule::OverlongLine, 1)]);
    assert_eq!((log.jobs.len(), log.header_value("Note")), (1, Some("end")));
}

#[test]
fn a_file_of_no_format_is_told_what_is_known() {
    let message = |text: &str| read(text, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message("").contains("is empty"));
    assert!(message("Hello\nworld").contains("It begins with \"Hello\""));
    assert!(message("PAR1...").contains("Parquet"));
    let table = ReadOptions {
        format: Some(Format::Table),
        ..ReadOptions::default()
    };
    let error = read("1 2 3\n", &table).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("log:1: a table of jobs begins with")
    );
}

const SACCT: &str = "\
JobID|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|NodeList|JobName
";

fn sacct(rows: &str) -> (JobLog, Report) {
    read_well(format!("{SACCT}{rows}"))
}

#[test]
fn a_job_of_sacct_has_its_steps_left_out() {
    let (log, report) = sacct("\
12_3|ann|phys|main|normal|TIMEOUT|2024-11-13T08:00:00|2024-11-13T08:00:10|2024-11-13T09:00:00|2024-11-13T09:10:00|600|10|3|12|c[1-2],d7|a b
12_3.batch||phys|||CANCELLED|2024-11-13T09:00:00|2024-11-13T09:00:00|2024-11-13T09:00:00|2024-11-13T09:10:00|600||1|4|c1|batch
12_3.extern||phys|||COMPLETED|2024-11-13T09:00:00|2024-11-13T09:00:00|2024-11-13T09:00:00|2024-11-13T09:10:00|600||3|12|c[1-2],d7|extern
");
    let job = &log.jobs[0];
    assert_eq!((&*job.id, job.nodes, job.processors), ("12_3", 3, Some(12)));
    // `date -u -d 2024-11-13T08:00:00 +%s`
    assert_eq!(job.submit, Seconds(1_731_484_800));
    assert_eq!(job.eligible, Some(Seconds(1_731_484_810)));
    assert_eq!(job.start, Some(Seconds(1_731_488_400)));
    assert_eq!((job.run, job.requested), (Seconds(600), Some(Seconds(600))));
    assert_eq!((job.status, log.epoch), (Status::Timeout, Some(0)));
    let text = |label| log.names.text(label).unwrap();
    assert_eq!(
        [job.user, job.account, job.queue, job.partition].map(text),
        ["ann", "phys", "normal", "main"]
    );
    assert_eq!(rules(&report), [(Rule::JobStep, 2)]);
}

#[test]
fn what_never_ran_and_what_ran_twice_is_counted() {
    let at = "2024-11-13T08:00:00|2024-11-13T08:00:00";
    let rows = format!(
        "\
1|u|a|p|q|CANCELLED by 7|{at}|None|2024-11-13T08:05:00|0|10|0|4|None assigned|x
2|u|a|p|q|PENDING|{at}|Unknown|Unknown|0|10|1|4|None assigned|x
3_[4-9%2]|u|a|p|q|PENDING|{at}|Unknown|Unknown|0|10|1|4|None assigned|x
4|u|a|p|q|RUNNING|{at}|2024-11-13T08:00:00|Unknown|10|10|1|4|n1|x
5|u|a|p|q|REQUEUED|{at}|2024-11-13T08:10:00|2024-11-13T08:20:00|600|UNLIMITED|1|4|n1|x
5|u|a|p|q|COMPLETED|{at}|2024-11-13T09:10:00|2024-11-13T09:20:00|600|UNLIMITED|1|4|n1|x
5|u|a|p|q|COMPLETED|{at}|2024-11-13T09:10:00|2024-11-13T09:20:00|600|UNLIMITED|1|4|n1|x
6|u|a|p|q|CANCELLED|{at}|2024-11-13T09:10:00|2024-11-13T09:20:00|600|5|2|4|n[1-3]|x
7|u|a|p|q|NEWSTATE|{at}|2024-11-13T09:10:00|2024-11-13T09:20:00|six|5|2|4|n[1-2]|x
"
    );
    let (log, report) = sacct(&rows);
    let ids: Vec<_> = log.jobs.iter().map(|job| (&*job.id, job.status)).collect();
    assert_eq!(
        ids,
        [
            ("5", Status::Requeued),
            ("5#2", Status::Completed),
            ("6", Status::Cancelled)
        ]
    );
    assert_eq!(
        rules(&report),
        [
            (Rule::BadValue, 1),
            (Rule::DuplicateId, 1),
            (Rule::NodeListMismatch, 1),
            (Rule::OverRequest, 1),
            (Rule::NoRequest, 2),
            (Rule::NeverStarted, 1),
            (Rule::Unfinished, 3),
            (Rule::Requeued, 1),
        ]
    );
}

#[test]
fn records_split_by_line_breaks_are_joined_and_pieces_dropped() {
    let row = "1|u|a|p|q|COMPLETED|2024-11-13T08:00:00|2024-11-13T08:00:00|2024-11-13T09:10:00|2024-11-13T09:20:00|600|20|1|4|n1|";
    let rows = format!(
        "\
{row}first
line
second line
{}left over
pieces|of|a|record
{}good
{}one|too|many
",
        row.replace("1|u", "2|u"),
        row.replace("1|u", "3|u"),
        row.replace("1|u", "4|u")
    );
    // Job 1's name has two more lines, which have no separators: as a name is the
    // last column, the record is whole with its first line and they are pieces.
    let (log, report) = sacct(&rows);
    let ids: Vec<&str> = log.jobs.iter().map(|job| &*job.id).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    assert_eq!(report.count(Rule::ColumnCount), 3, "{report:?}");
    // A break in the middle of a record is mended.
    let (log, report) = sacct(&row.replace("|p|q|", "|p\nx|q|"));
    assert_eq!(rules(&report), [(Rule::LineBreak, 1)]);
    assert_eq!((log.jobs.len(), report.continued), (1, 1));
    assert_eq!(log.names.text(log.jobs[0].partition), Some("p\nx"));
}

#[test]
fn a_dump_without_needed_columns_says_which() {
    let error = read("JobID|State|End\n1|COMPLETED|x\n", &ReadOptions::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("log:1: no column Submit; found: jobid, state, end."),
        "{error}"
    );
}

#[test]
fn tables_and_results_of_cqsim_are_read() {
    let (log, report) = read_well(
        "Job_name Submit Runtime Nodes Comment Perc\n17 1546326862 3649 512 1 50\n18 1546326906 12 x 0 10\n",
    );
    assert_eq!(log.jobs[0].communication_share, Some(0.5));
    assert_eq!((log.jobs[0].nodes, log.epoch), (512, Some(0)));
    assert_eq!(report.count(Rule::BadValue), 1);
    let (log, _) = read_well("5;128;128;2400.0;2359.0;7.0;1775.0;1782.0;4134.0\n");
    let job = &log.jobs[0];
    assert_eq!((&*job.id, job.nodes, job.run), ("5", 128, Seconds(2359)));
    assert_eq!(
        (job.submit, job.start, job.requested),
        (Seconds(1775), Some(Seconds(1782)), Some(Seconds(2400)))
    );
    // Lines are in the order of ends, numbers in that of submissions.
    let (log, _) = read_well(
        "10;1;1;9.0;1.0;0.0;7.0;7.0;8.0\n9;1;1;9.0;2.0;0.0;7.0;7.0;9.0\n11;1;1;9.0;5.0;0.0;6.0;6.0;11.0\n",
    );
    let order: Vec<&str> = log.jobs.iter().map(|job| &*job.id).collect();
    assert_eq!(order, ["11", "9", "10"]);
}

#[test]
fn scaling_doubles_nodes_up_to_the_machine() {
    let (mut log, _) = read_well("Job_name Submit Runtime Nodes\n1 100 10 512\n2 200 20 49152\n");
    // Feng et al. 2023, 5.1.4: doubled, and reduced to 82,944.
    let feng = Scaling {
        nodes: 2.0,
        machine_nodes: Some(82_944),
        ..Scaling::default()
    };
    scale(&mut log, &feng).unwrap();
    let sizes: Vec<u32> = log.jobs.iter().map(|job| job.nodes).collect();
    assert_eq!(
        (sizes, log.machine_nodes),
        (vec![1024, 82_944], Some(82_944))
    );
    scale(
        &mut log,
        &Scaling {
            arrivals: 0.5,
            run_times: 3.0,
            ..Scaling::default()
        },
    )
    .unwrap();
    let times: Vec<_> = log
        .jobs
        .iter()
        .map(|job| (job.submit.0, job.run.0))
        .collect();
    assert_eq!(times, [(100, 30), (150, 60)], "the first submission stays");
    assert!(
        scale(
            &mut log,
            &Scaling {
                nodes: 0.0,
                ..Scaling::default()
            }
        )
        .is_err()
    );
    assert!(
        scale(
            &mut log,
            &Scaling {
                arrivals: f64::NAN,
                ..Scaling::default()
            }
        )
        .is_err()
    );
}

proptest! {
    /// No bytes make a reader panic, hang or lose a line.
    #[test]
    fn readers_are_total(
        bytes in prop::collection::vec(prop_oneof![
            Just(b' '), Just(b'\n'), Just(b'|'), Just(b';'), Just(b'-'), Just(b'['), Just(b':'),
            b'0'..=b'9', any::<u8>(),
        ], 0..2000),
        format in prop::sample::select(Format::ALL),
    ) {
        let columns = SACCT.trim().split('|').map(str::to_owned).collect();
        for columns in [None, Some(columns)] {
            let options = ReadOptions { format: Some(format), columns, ..ReadOptions::default() };
            if let Ok((log, report)) = read(&bytes, &options) {
                accounts_for_every_line(&report);
                prop_assert_eq!(log.jobs.len() as u64, report.jobs);
            }
        }
    }

    /// A log with a few bytes changed or cut off keeps its account, and every job
    /// that comes out of it can be scheduled: times from 0, at least one node.
    #[test]
    fn damage_is_counted(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
        swf in any::<bool>(),
    ) {
        let row = "9|u|a|p|q|COMPLETED|2024-11-13T08:00:00|2024-11-13T08:00:00|2024-11-13T09:10:00|2024-11-13T09:20:00|600|20|1|4|n1|x\n";
        let sound = if swf { SWF.to_owned() } else { format!("{SACCT}{row}{}", row.replace("9|u", "10|u")) };
        let mut bytes = sound.into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len()) / 4);
        if let Ok((log, report)) = read(&bytes, &ReadOptions::default()) {
            accounts_for_every_line(&report);
            for job in &log.jobs {
                prop_assert!(job.submit >= Seconds::ZERO && job.run >= Seconds::ZERO && job.nodes > 0);
                prop_assert!(job.start.is_none_or(|start| start >= job.submit));
            }
            prop_assert!(log.jobs.windows(2).all(|pair| pair[0].submit <= pair[1].submit));
        }
    }

    /// Every list of nodes that can be counted is as long as it says.
    #[test]
    fn lists_of_nodes_are_as_long_as_counted(list in "[a-z]{0,2}(\\[[0-9]{1,2}(-[0-9]{1,2})?(,[0-9]{1,2})?\\])?[,a-z\\[\\]0-9-]{0,6}") {
        match (hostlist::count(&list), hostlist::expand(&list)) {
            (Some(count), Some(names)) => prop_assert_eq!(count, names.len() as u64),
            (count, names) => prop_assert!(count.is_none() && names.is_none()),
        }
    }
}

/// A compressed log is the log, whatever its name; one that ends too early is an error.
#[test]
fn compressed_logs_are_read_like_others() {
    let text: String = (1..=2000)
        .map(|id| format!("{id} {id} 5 60 4 -1 -1 4 120 -1 1 3 1 1 1 1 -1 -1\n"))
        .collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let path = std::env::temp_dir().join(format!("odonata-log-{}.swf.gz", std::process::id()));
    std::fs::write(&path, &packed).unwrap();
    let (log, report) = read_log(&path, &ReadOptions::default()).unwrap();
    assert_eq!(
        (log.jobs.len(), report.jobs, report.dropped()),
        (2000, 2000, 0)
    );
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let error = read_log(&path, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("gzip data are damaged or end too early"),
        "{error}"
    );
    std::fs::remove_file(&path).unwrap();
}

/// Columns beyond the 18 of the format: lists of nodes are kept, whatever else is there is
/// counted.
#[test]
fn swf_with_more_columns_is_read() {
    let job = |id, more: &str| format!("{id} 0 1 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1 -1{more}\n");
    let lists = [
        "",
        " {1-4}",
        " 7 {n1, n2} 9",
        "\t{}",
        " { 1 2  3 4 }",
        " n[1-4]",
        " -1 3.5 {a} {b}",
    ];
    let text: String = lists
        .iter()
        .enumerate()
        .map(|(id, more)| job(id + 1, more))
        .collect();
    let (log, report) = read_well(&text);
    let found: Vec<_> = log
        .jobs
        .iter()
        .map(|job| job.node_list.as_deref())
        .collect();
    let wanted = [
        None,
        Some("1-4"),
        Some("n1, n2"),
        None,
        Some("1 2  3 4"),
        Some("n[1-4]"),
        Some("a"),
    ];
    assert_eq!(found, wanted);
    assert_eq!(rules(&report), [(Rule::ExtraColumns, 2)]);
    let first = &report.cases[&Rule::ExtraColumns].examples[0];
    assert_eq!(
        (first.line, &*first.found),
        (3, "2 behind the 18 of the format")
    );
    // Too few are still no record.
    let (_, report) = read_well("1 0 1 10 4 -1 -1 4 20\n; x\n");
    assert_eq!(rules(&report), [(Rule::ColumnCount, 1)]);
}

/// A file without a job that could be scheduled is no log.
#[test]
fn no_job_left_is_an_error_that_says_why() {
    let path = std::env::temp_dir().join(format!("odonata-empty-{}.swf", std::process::id()));
    let says = |text: &str| {
        std::fs::write(&path, text).unwrap();
        read_log(&path, &ReadOptions::default())
            .unwrap_err()
            .to_string()
    };
    let message = says("; Version: 2.2\n1 2 3\n1 2 3 4\n");
    assert!(message.contains("no job is left of 2 records"), "{message}");
    assert!(
        message.contains("2 as column-count") && message.contains("line 2"),
        "{message}"
    );
    assert!(says("; Version: 2.2\n").contains("no jobs"));
    std::fs::remove_file(&path).unwrap();
}

/// What sizes count follows from the header, and from what jobs had; or from who reads.
#[test]
fn the_unit_of_a_log_is_found() {
    // Two jobs side by side, of these sizes.
    let text = |header: &str, sizes: [u32; 2]| {
        let job = |(id, size): (usize, u32)| {
            format!(
                "{} 0 5 10 {size} -1 -1 {size} 20 -1 1 1 1 1 1 1 -1 -1\n",
                id + 1
            )
        };
        let jobs: String = sizes.into_iter().enumerate().map(job).collect();
        format!("{header}{jobs}")
    };
    let both = "; MaxNodes: 100\n; MaxProcs: 800\n";
    for (header, sizes, unit, nodes) in [
        (
            "; MaxNodes: 100\n; MaxProcs: 100\n",
            [60, 20],
            Unit::Nodes,
            [60, 20],
        ),
        // More than nodes, alone or together, can only be processors.
        (both, [120, 9], Unit::Processors, [15, 2]),
        (both, [60, 50], Unit::Processors, [8, 7]),
        // Never more than the nodes, and most of them: the archive counts nodes.
        (both, [60, 30], Unit::Nodes, [60, 30]),
        (both, [10, 30], Unit::Processors, [2, 4]),
        ("; MaxProcs: 800\n", [10, 30], Unit::Processors, [10, 30]),
        ("; MaxNodes: 100\n", [10, 30], Unit::Nodes, [10, 30]),
        ("; MaxNodes: 100\n", [10, 130], Unit::Nodes, [10, 130]),
        ("", [10, 30], Unit::Nodes, [10, 30]),
        // Nodes of 7 and 8 processors: 7.5 on average.
        (
            "; MaxNodes: 100\n; MaxProcs: 750\n",
            [120, 9],
            Unit::Processors,
            [16, 2],
        ),
    ] {
        let (log, _) = read_well(text(header, sizes));
        let found: Vec<u32> = log.jobs.iter().map(|job| job.nodes).collect();
        assert_eq!(
            (log.unit, &found[..]),
            (unit, &nodes[..]),
            "{header}{sizes:?}: {}",
            log.unit_because
        );
        let mut written = Vec::new();
        write_swf(&log, &mut written).unwrap();
        let (again, _) = read(
            &written,
            &ReadOptions {
                unit: Some(unit),
                ..ReadOptions::default()
            },
        )
        .unwrap();
        let same = again.jobs.iter().map(|job| job.nodes);
        assert!(same.eq(found.iter().copied()), "{header}{sizes:?}");
    }
    let asked = |unit| ReadOptions {
        unit: Some(unit),
        ..ReadOptions::default()
    };
    let (log, _) = read(text(both, [60, 50]), &asked(Unit::Nodes)).unwrap();
    assert_eq!((log.unit, log.jobs[0].nodes), (Unit::Nodes, 60));
    let (log, report) = read(text(both, [60, 900]), &asked(Unit::Processors)).unwrap();
    assert_eq!(
        (log.jobs[0].nodes, log.processors_of(&log.jobs[0])),
        (8, 60)
    );
    assert_eq!(
        report.cases[&Rule::LargerThanMachine].examples[0].found,
        "job 2: 900 processors"
    );
    let per_node = ReadOptions {
        processors_per_node: Some(4),
        ..ReadOptions::default()
    };
    let (log, _) = read(text(both, [60, 30]), &per_node).unwrap();
    assert_eq!((log.unit, log.jobs[0].nodes), (Unit::Processors, 15));
}

#[test]
fn what_is_kept_of_a_record_or_header_is_limited() {
    let begins = "JobId=1 JobName=a\n";
    let more = format!("   {}\n", "x".repeat(1 << 19));
    let error = read(
        begins.to_owned() + &more.repeat(33),
        &ReadOptions::default(),
    )
    .unwrap_err();
    assert!(
        error.message.contains("a job of more than 16 MiB"),
        "{error}"
    );
    assert_eq!(error.line, Some(1));
    let error = read("; Key: value\n".repeat(10_001), &ReadOptions::default()).unwrap_err();
    assert!(error.message.contains("more than 10000 lines"), "{error}");
}

/// Half a record of a million lines takes no longer to read than this many records.
#[test]
fn a_record_of_many_lines_is_read_in_linear_time() {
    let begun = std::time::Instant::now();
    let text = "JobID|Submit|Start|End|NNodes|State\n".to_owned() + &"a\n".repeat(500_000);
    let (log, report) = read(text, &ReadOptions::default()).unwrap();
    assert!(log.jobs.is_empty());
    assert_eq!(report.lines, 500_001);
    // At every line a look at all before it took minutes.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
