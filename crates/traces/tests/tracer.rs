//! Maps and configurations of TraceR.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use odonata_traces::tracer::{TracerConfig, global_map, job_map};

/// A file that is removed with the value.
struct Written(PathBuf);

impl Written {
    fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("odonata-{}-{number}-tracer", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, bytes).unwrap();
        Self(file)
    }

    fn binary(numbers: &[i32]) -> Self {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        Self::new(&bytes)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn both_maps_give_the_server_of_each_rank() {
    // A job of three ranks on the servers 4, 0 and 9; another one on 1.
    let own = Written::binary(&[4, 0, 9]);
    assert_eq!(job_map(&own.0).unwrap(), [4, 0, 9]);
    let global = Written::binary(&[0, 1, 0, 1, 0, 1, 4, 0, 0, 9, 2, 0]);
    assert_eq!(global_map(&global.0, 0).unwrap(), [4, 0, 9]);
    assert_eq!(global_map(&global.0, 1).unwrap(), [1]);
    // The same as text.
    let own = Written::new(b"# servers\n 4\n\n0\n9 # the last\n");
    assert_eq!(job_map(&own.0).unwrap(), [4, 0, 9]);
    let global = Written::new(b"0 1 0\n1 0 1\n4 0 0\n9 2 0\n");
    assert_eq!(global_map(&global.0, 0).unwrap(), [4, 0, 9]);
}

#[test]
fn flawed_maps_are_refused_where_they_are() {
    let job = |written: Written| job_map(&written.0).unwrap_err().to_string();
    let global = |written: Written| global_map(&written.0, 0).unwrap_err().to_string();
    for (message, words) in [
        (
            job(Written::new(&[0; 6])),
            "6 bytes; allowed: a whole number of records of 4 bytes",
        ),
        (
            job(Written::binary(&[4, 0, 4])),
            "byte 8: rank 2 has server 4, as rank 0",
        ),
        (
            job(Written::binary(&[4, -1])),
            "byte 4: server -1; allowed: 0 to 2147483647",
        ),
        (
            job(Written::new(b"1\n2 3\n")),
            "line 2: found \"2 3\"; allowed: a whole number",
        ),
        (job(Written::new(b"1\nx\n")), "line 2: found \"x\""),
        (job(Written::new(b"")), "no rank"),
        (
            global(Written::binary(&[0, 0, 0, 1])),
            "16 bytes; allowed: a whole number of records of 12",
        ),
        (
            global(Written::binary(&[0, 0, 0, 0, 1, 0])),
            "byte 12: server 0 is there already in record 0",
        ),
        (
            global(Written::binary(&[0, 1, 0, 1, 1, 0])),
            "byte 12: rank 1 of job 0 is there already in record 0",
        ),
        (
            global(Written::binary(&[0, 1, 0, 1, 2, 0])),
            "job 0 has 2 ranks, but not rank 0",
        ),
        (
            global(Written::binary(&[0, 0, 1, 1, 1, 2])),
            "no rank of job 0; the file has the jobs 0 to 2",
        ),
        (
            global(Written::new(b"0 0 0\n1 1\n")),
            "line 2: found \"1 1\"; allowed: three whole numbers",
        ),
    ] {
        assert!(message.contains(words), "{message}\n{words}");
    }
    assert!(job_map(&PathBuf::from("/nowhere/map")).is_err());
}

#[test]
fn configurations_name_traces_maps_and_ranks() {
    let config = Written::new(b"global.bin\n2\ntraces/a.otf2 job0 4 1\nb.otf2 NA 2\n3\n");
    let found = TracerConfig::open(&config.0).unwrap();
    // Nothing of that name is there: beside the configuration.
    let beside = |name: &str| config.0.parent().unwrap().join(name);
    assert_eq!(found.global_map, Some(beside("global.bin")));
    assert_eq!(found.jobs.len(), 2);
    assert_eq!(
        (&found.jobs[0].trace, &found.jobs[0].map),
        (&beside("a.otf2"), &Some(beside("job0")))
    );
    assert_eq!(
        (
            &found.jobs[1].map,
            found.jobs[1].ranks,
            found.jobs[1].iterations
        ),
        (&None, 2, 3)
    );
    for (text, words) in [
        ("NA\n", "ends before the number of jobs"),
        ("NA\nmany\n", "line 2: the number of jobs is \"many\""),
        ("NA\n1\na NA 4\n", "ends before the iterations of job 0"),
        ("NA\n1\na NA 0 1\n", "line 3: the number of ranks is \"0\""),
        (
            "NA\n1\na NA 4 1\nb\n",
            "line 4: found \"b\"; allowed: nothing behind 1 jobs",
        ),
    ] {
        let config = Written::new(text.as_bytes());
        let message = TracerConfig::open(&config.0).unwrap_err().to_string();
        assert!(message.contains(words), "{message}\n{words}");
    }
}
