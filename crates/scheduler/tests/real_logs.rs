//! Real logs, where `../shared/data` lies beside the checkout; otherwise the tests
//! say that they skip.

use odonata_scheduler::Seconds;
use odonata_scheduler::log::{
    JobLog, ReadOptions, Report, Rule, Status, hostlist, read_log, read_log_from, write_swf,
};

use odonata_testdata::data as shared;

fn read(file: &str, options: &ReadOptions) -> Option<(JobLog, Report)> {
    let (log, report) = read_log(&shared(file)?, options).unwrap();
    let of_lines = report.comments + report.blank + report.continued + report.records;
    assert_eq!(report.lines, of_lines, "every line is accounted for");
    assert_eq!(report.records, report.jobs + report.dropped());
    Some((log, report))
}

fn read_plainly(file: &str) -> Option<(JobLog, Report)> {
    read(file, &ReadOptions::default())
}

#[test]
fn kth_sp2_is_read_whole() {
    let Some((log, report)) = read_plainly("kth-sp2-jobs/KTH-SP2-1996-2.1-cln.swf") else {
        return;
    };
    // As the file's header says, less one: MaxRecords 28,476, MaxNodes, UnixStartTime.
    assert_eq!((log.jobs.len(), log.machine_nodes), (28_475, Some(100)));
    assert_eq!(log.epoch, Some(843_480_031));
    // Job 27313 has −1 processors.
    assert_eq!((report.dropped(), report.count(Rule::ZeroNodes)), (1, 1));
    // 332.9 days between first and last submission, mean wait 4.25 h.
    assert!((log.span().as_hours() / 24.0 - 332.9).abs() < 0.1);
    let waits = log
        .jobs
        .iter()
        .map(|job| (job.start.unwrap() - job.submit).as_hours());
    let mean = waits.sum::<f64>() / log.jobs.len() as f64;
    assert!((mean - 4.25).abs() < 0.01, "{mean}");
    // Written and read again it is the same log.
    let mut written = Vec::new();
    write_swf(&log, &mut written).unwrap();
    let (again, _) = read_log_from(&written[..], "written", &ReadOptions::default()).unwrap();
    let key = |log: &JobLog| {
        let fields = log.jobs.iter().map(|job| {
            (
                job.id.clone(),
                job.submit,
                job.start,
                job.run,
                job.requested,
                job.nodes,
                job.status,
            )
        });
        fields.collect::<Vec<_>>()
    };
    assert_eq!(key(&again), key(&log));
}

/// Without its header a log of SWF holds the same jobs; nothing says then how large the
/// machine was and when the log began.
#[test]
fn swf_without_header_is_read() {
    let Some((log, _)) = read_plainly("kth-sp2-jobs/KTH-SP2-1996-2.1-cln.swf") else {
        return;
    };
    let path = shared("kth-sp2-jobs/KTH-SP2-1996-2.1-cln.swf").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let bare: String = text
        .lines()
        .filter(|line| !line.starts_with(';'))
        .map(|line| format!("{line}\n"))
        .collect();
    let (without, report) =
        read_log_from(bare.as_bytes(), "bare.swf", &ReadOptions::default()).unwrap();
    assert_eq!((report.records, report.comments), (28_476, 0));
    assert_eq!((without.machine_nodes, without.epoch), (None, None));
    let key = |log: &JobLog| {
        let fields = log.jobs.iter().map(|job| {
            (
                job.id.clone(),
                job.submit,
                job.start,
                job.run,
                job.nodes,
                job.status,
            )
        });
        fields.collect::<Vec<_>>()
    };
    assert_eq!(key(&without), key(&log));
}

#[test]
fn theta_2022_is_read_whole_and_its_overruns_counted() {
    let Some((log, report)) = read_plainly("theta-jobs/theta_2022.swf") else {
        return;
    };
    assert_eq!((log.jobs.len(), log.machine_nodes), (23_911, Some(4_360)));
    // Unix times although the header's UnixStartTime is 0.
    assert_eq!(log.epoch, Some(0));
    assert_eq!(report.count(Rule::OverRequest), 6_264);
    assert_eq!(log.jobs.iter().map(|job| job.nodes).max(), Some(4_048));
}

#[test]
fn the_mira_extract_is_read_whole() {
    let Some((log, report)) = read_plainly("mira-jobs/mira-2019-01.txt") else {
        return;
    };
    assert_eq!(
        (log.jobs.len(), report.dropped(), log.epoch),
        (3_000, 0, Some(0))
    );
    let sizes = log.jobs.iter().map(|job| job.nodes);
    assert!(sizes.clone().all(|nodes| nodes.is_power_of_two()));
    assert_eq!(
        (sizes.clone().min(), sizes.max()),
        (Some(512), Some(16_384))
    );
    assert_eq!(
        report.count(Rule::NoRequest),
        3_000,
        "the extract has no requested times"
    );
}

#[test]
fn results_of_cqsim_are_read_whole() {
    let Some((log, report)) = read_plainly("theta-jobs/ref_cqsim_theta_1000.rst") else {
        return;
    };
    assert_eq!((log.jobs.len(), report.dropped()), (1_000, 0));
    // The file lists jobs as they end.
    assert!(report.count(Rule::Unsorted) > 0);
    let job = log.jobs.iter().find(|job| &*job.id == "134").unwrap();
    assert_eq!(
        job.start.map(|start| start - job.submit),
        Some(Seconds(10_571))
    );
}

#[test]
fn broken_dumps_of_sacct_are_read_as_far_as_they_go() {
    let folder = "slurm-outputs/meta-gcm";
    for (file, jobs, breaks) in [
        ("sample-sacct-one-multiline.txt", 2, 1),
        ("sample-sacct-one-multiline-expected.txt", 2, 0),
        // Three records with breaks, two of them of a job that is there already.
        ("sample-sacct-multiple-multiline.txt", 2, 3),
        ("sample-sacct-fake-line-break.txt", 2, 1),
    ] {
        let Some((log, report)) = read_plainly(&format!("{folder}/{file}")) else {
            return;
        };
        assert_eq!(
            (log.jobs.len(), report.count(Rule::LineBreak)),
            (jobs, breaks),
            "{file}"
        );
        assert_eq!(report.count(Rule::ColumnCount), 0, "{file}");
    }
    for (file, jobs, rule, count) in [
        (
            "sample-sacct-output-invalid-utf8.txt",
            2,
            Rule::InvalidUtf8,
            1,
        ),
        (
            "sample-sacct-output-with-invalid-lines.txt",
            0,
            Rule::ColumnCount,
            1,
        ),
        (
            "sample-sacct-running-output-large.txt",
            0,
            Rule::JobStep,
            5_040,
        ),
    ] {
        if jobs == 0 {
            // Nothing that could be scheduled: an error that says what became of the records.
            let path = shared(&format!("{folder}/{file}")).unwrap();
            let error = read_log(&path, &ReadOptions::default()).unwrap_err();
            let said = format!("{count} as {}", rule.name());
            assert!(error.to_string().contains(&said), "{error}");
            continue;
        }
        let (log, report) = read_plainly(&format!("{folder}/{file}")).unwrap();
        assert_eq!(
            (log.jobs.len(), report.count(rule)),
            (jobs, count),
            "{file}"
        );
    }
    let path = shared(&format!(
        "{folder}/sample-sacct-output-with-invalid-lines.txt"
    ))
    .unwrap();
    let strict = ReadOptions {
        strict: true,
        ..ReadOptions::default()
    };
    let error = read_log(&path, &strict).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("invalid-lines.txt:2: column-count"),
        "{error}"
    );
}

#[test]
fn real_dumps_without_needed_columns_say_which() {
    for (file, found) in [
        (
            "sample-sacct-output-midnight-edge-case-small-expected.txt",
            "jobid, state",
        ),
        (
            "sample-sacct-output-midnight-edge-case-small.txt",
            "jobid, state, end",
        ),
        (
            "sample-sacct-output-midnight-edge-case.txt",
            "jobid, state, start, end",
        ),
    ] {
        let Some(path) = shared(&format!("slurm-outputs/meta-gcm/{file}")) else {
            return;
        };
        let error = read_log(&path, &ReadOptions::default()).unwrap_err();
        let said = format!("{file}:1: no column Submit; found: {found}.");
        assert!(error.to_string().contains(&said), "{error}");
    }
}

/// Columns of the headerless dump of a cluster called Fox.
const FOX: &str = "JobID,JobIDRaw,User,Account,State,Start,End,AveCPU,AveDiskRead,AveDiskWrite,\
AveRSS,AveVMSize,ElapsedRaw,ExitCode,Layout,MaxRSS,MaxVMSize,MinCPU,ReqCPUS,ReqMem,ReqNodes,\
Reservation,Submit,Suspended,SystemCPU,TimelimitRaw,UserCPU,NodeList,Partition,AllocTRES,\
Priority,JobName";

#[test]
fn dumps_without_header_are_read_with_the_columns_named() {
    let named = |names: &str| Some(names.split(',').map(str::to_owned).collect());
    let options = ReadOptions {
        columns: named(FOX),
        ..ReadOptions::default()
    };
    let Some((log, report)) = read(
        "slurm-outputs/sonar/tests_testdata_sacct_output.txt",
        &options,
    ) else {
        return;
    };
    assert_eq!(log.jobs.len(), 55);
    let counts =
        [Rule::NeverStarted, Rule::Unfinished, Rule::JobStep].map(|rule| report.count(rule));
    assert_eq!(counts, [4, 63, 179]);
    let names = "JobID,JobName,User,Partition,NodeList,NNodes,NCPUS,NTasks,State,Submit,Start,End,\
        Timelimit,Elapsed,a,b,c,d,e,f,g,h,i,j,k,l,m,n";
    let options = ReadOptions {
        columns: named(names),
        separator: Some("☃".to_owned()),
        ..ReadOptions::default()
    };
    let (log, report) = read("slurm-outputs/rug-jobinfo/sacct.txt", &options).unwrap();
    assert_eq!((log.jobs.len(), report.count(Rule::DuplicateId)), (10, 10));
    let ended = log.jobs.iter().all(|job| job.status != Status::Unknown);
    assert!(ended);
    let lists = log.jobs.iter().filter_map(|job| job.node_list.as_deref());
    assert!(lists.clone().count() > 0 && lists.clone().all(|list| hostlist::count(list).is_some()));
}
