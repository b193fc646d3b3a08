//! The file holds against damage; a run goes on from it, and from no other.

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;

use odonata_run::{Outcome, PausedRun, Progress, SimError, Wish};
use odonata_units::Picoseconds;
use odonata_units::random::{Purpose, StreamKey};

use super::*;
use crate::spec::{Job, Offered, Pattern};
use crate::testing::{all_to_all, traffic, with_jobs};

/// A directory that is removed when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("odonata-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("checkpoint")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Closed and open loop together: lasts 18 µs.
fn scenario() -> Scenario {
    let offered = Offered::Load(0.4);
    with_jobs([
        Job::new("exchange", 40, all_to_all()),
        Job::new("noise", 32, traffic(Pattern::UniformRandom, offered)),
    ])
}

/// Ends a run at a time, as a kill would: without another word.
#[derive(Default)]
struct Watch {
    kill_at: Option<Picoseconds>,
    interrupt: bool,
    events: Vec<String>,
}

impl Observer for Watch {
    fn progress(&mut self, _: &Progress) -> Wish {
        if self.interrupt {
            Wish::Interrupt
        } else {
            Wish::Continue
        }
    }
    fn next_pause(&mut self) -> Option<Picoseconds> {
        self.kill_at
    }
    fn paused(&mut self, run: &PausedRun<'_>) -> Result<ControlFlow<()>, SimError> {
        Err(SimError::Interrupted { at: run.at })
    }
}

/// Runs with checkpoints; what it hears of them goes to the watch's events.
fn simulate(
    scenario: &Scenario,
    checkpoints: &Checkpoints,
    watch: &mut Watch,
) -> Result<Run, Error> {
    let mut events = Vec::new();
    let run = run_with_checkpoints(scenario, checkpoints, watch, &mut |event| {
        events.push(match event {
            Event::Resumed { at } => format!("resumed at {at}"),
            Event::Written { .. } => "written".to_owned(),
            Event::Failed { error, .. } => error.to_string(),
        });
    });
    watch.events.extend(events);
    run
}

fn every(us: u64) -> Option<Every> {
    Some(Every {
        wall: None,
        simulated: Some(Picoseconds(us * 1_000_000)),
    })
}

fn assert_same(one: &Outcome, other: &Outcome) {
    assert_eq!(one.end, other.end);
    assert_eq!(one.jobs, other.jobs);
    assert_eq!(one.ports, other.ports);
    assert_eq!(one.injection, other.injection);
    assert_eq!(one.timeline, other.timeline);
    assert_eq!(one.conservation, other.conservation);
    assert_eq!(one.packet_hops, other.packet_hops);
}

/// Writes checkpoints of `scenario` every 2 µs until it is "killed" at 7 µs.
fn killed(scenario: &Scenario, scratch: &Scratch) -> Checkpoints {
    let mut checkpoints = Checkpoints {
        file: scratch.file(),
        every: every(2),
        resume: false,
        identity: Identity::of(scenario),
    };
    let mut watch = Watch {
        kill_at: Some(Picoseconds(7_000_000)),
        ..Watch::default()
    };
    let killed = simulate(scenario, &checkpoints, &mut watch);
    assert!(matches!(
        killed,
        Err(Error::Simulation(SimError::Interrupted { .. }))
    ));
    assert_eq!(watch.events, ["written"; 3]);
    checkpoints.resume = true;
    checkpoints
}

#[test]
fn a_killed_run_goes_on_from_its_last_checkpoint() {
    let scratch = Scratch::new("resume");
    let scenario = scenario();
    let whole = crate::run(&scenario, &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
    let checkpoints = killed(&scenario, &scratch);
    let header = inspect(&checkpoints.file).unwrap();
    assert_eq!(header.every, every(2).unwrap());
    // The first window at or after 6 µs; windows are far shorter than 0.1 µs.
    assert!(
        (6_000_000..6_100_000).contains(&header.at.0),
        "{:?}",
        header.at
    );
    assert!(header.cost.wall_seconds > 0.0);

    let mut threaded = scenario.clone();
    threaded.simulation.threads = 3;
    threaded.title = "for people".to_owned();
    let on = Checkpoints {
        every: None,
        ..checkpoints
    };
    let mut watch = Watch::default();
    let resumed = simulate(&threaded, &on, &mut watch).unwrap();
    assert_same(&whole.outcome, &resumed.outcome);
    assert!(resumed.cost.wall_seconds > header.cost.wall_seconds);
    // Every 2 µs as before, from 8 µs on.
    let later = (whole.outcome.end.0 / 2_000_000 - 3) as usize;
    assert_eq!(watch.events.len(), 1 + later);
    assert!(
        watch.events[0].starts_with("resumed at 6"),
        "{:?}",
        watch.events
    );
    // The last checkpoint is still there, and leads to the same end.
    let again = simulate(&scenario, &on, &mut Watch::default()).unwrap();
    assert_same(&whole.outcome, &again.outcome);
}

/// What is found on the way, the end of the warm-up and whether the means are
/// precise enough, is found by a resumed run too, wherever it was killed.
#[test]
fn a_resumed_run_knows_its_steady_state() {
    let scratch = Scratch::new("steady");
    let offered = Offered::Load(0.3);
    let mut scenario = with_jobs([Job::new(
        "all",
        72,
        traffic(Pattern::UniformRandom, offered),
    )]);
    scenario.simulation.duration_ps = Some(100_000_000);
    scenario.simulation.detect_warmup = true;
    scenario.simulation.precision = Some(0.02);
    let whole = crate::run(&scenario, &mut |_: &Progress| ControlFlow::Continue(())).unwrap();
    assert_eq!(
        (whole.warmup_found, whole.precise),
        (Some(true), Some(true))
    );
    assert!(whole.outcome.warmup.0 > 0);
    // Before and after the warm-up, and late.
    let end = whole.outcome.end.0;
    for kill_at in [
        whole.outcome.warmup.0 / 2,
        whole.outcome.warmup.0 + 200_000,
        end * 9 / 10,
    ] {
        let mut checkpoints = Checkpoints {
            file: scratch.file(),
            every: Some(Every {
                wall: None,
                simulated: Some(Picoseconds(150_000)),
            }),
            resume: false,
            identity: Identity::of(&scenario),
        };
        let mut watch = Watch {
            kill_at: Some(Picoseconds(kill_at)),
            ..Watch::default()
        };
        assert!(simulate(&scenario, &checkpoints, &mut watch).is_err());
        checkpoints.resume = true;
        let resumed = simulate(&scenario, &checkpoints, &mut Watch::default()).unwrap();
        assert_same(&whole.outcome, &resumed.outcome);
        assert_eq!(whole.outcome.warmup, resumed.outcome.warmup);
        assert_eq!(whole.statistics, resumed.statistics);
        assert_eq!(whole.warmup_found, resumed.warmup_found);
        assert_eq!(whole.precise, resumed.precise);
    }
}

#[test]
fn an_interruption_writes_a_last_checkpoint() {
    let scratch = Scratch::new("interrupt");
    // Would run for hours, so that there is something to interrupt.
    let mut scenario = scenario();
    scenario.simulation.duration_ps = Some(10_000_000_000_000);
    let checkpoints = Checkpoints {
        file: scratch.file(),
        every: None,
        resume: false,
        identity: Identity::of(&scenario),
    };
    let mut watch = Watch {
        interrupt: true,
        ..Watch::default()
    };
    let stopped = simulate(&scenario, &checkpoints, &mut watch);
    let Err(Error::Simulation(SimError::Interrupted { at })) = stopped else {
        panic!("not interrupted");
    };
    assert_eq!(watch.events, ["written"]);
    assert_eq!(inspect(&scratch.file()).unwrap().at, at);
}

/// The old checkpoint stays when a new one cannot be written, and so does the run.
#[test]
fn a_failed_checkpoint_leaves_the_one_before() {
    let scratch = Scratch::new("failed");
    let scenario = scenario();
    let checkpoints = killed(&scenario, &scratch);
    let before = fs::read(scratch.file()).unwrap();
    // A directory where the new file would be written.
    fs::create_dir(scratch.0.join(".checkpoint.partial")).unwrap();
    let mut watch = Watch::default();
    simulate(&scenario, &checkpoints, &mut watch).unwrap();
    assert!(watch.events.len() > 2);
    for event in &watch.events[1..] {
        assert!(event.contains("cannot be written"), "{event}");
    }
    assert!(fs::read(scratch.file()).unwrap() == before);
}

/// Cut off anywhere, one bit flipped anywhere, something appended: always an
/// error that says what is wrong, and never another one than that.
#[test]
#[cfg(unix)]
fn a_link_in_the_place_of_a_checkpoint_is_not_followed() {
    let scratch = Scratch::new("links");
    let theirs = scratch.0.join("theirs");
    fs::write(&theirs, "theirs").unwrap();
    for name in ["checkpoint", ".checkpoint.partial"] {
        std::os::unix::fs::symlink(&theirs, scratch.0.join(name)).unwrap();
    }
    killed(&scenario(), &scratch);
    assert!(!scratch.file().is_symlink());
    assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
}

#[test]
fn damage_is_noticed() {
    let scratch = Scratch::new("damage");
    killed(&scenario(), &scratch);
    let whole = fs::read(scratch.file()).unwrap();
    let damaged = scratch.0.join("damaged");
    let error_of = |bytes: &[u8]| {
        fs::write(&damaged, bytes).unwrap();
        inspect(&damaged).unwrap_err()
    };
    let mut stream = StreamKey::new(1, Purpose::Arrival).stream(0);
    let length = whole.len();
    let cuts = (0..80).chain((0..200).map(|_| stream.below(length as u32) as usize));
    for cut in cuts.chain([length - 1]) {
        match error_of(&whole[..cut]) {
            CheckpointError::Foreign { .. } => assert!(cut < 8, "{cut}"),
            CheckpointError::Length { .. } => assert!(cut >= 8, "{cut}"),
            other => panic!("cut to {cut}: {other}"),
        }
    }
    let mut stream = StreamKey::new(2, Purpose::Arrival).stream(0);
    let everywhere = (0..52 * 8).chain((0..400).map(|_| stream.below(8 * length as u32) as usize));
    for bit in everywhere {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (byte, error) = (bit / 8, error_of(&bytes));
        let expected = match error {
            CheckpointError::Foreign { .. } => byte < 8,
            CheckpointError::Format { .. } => (8..12).contains(&byte),
            CheckpointError::Length { .. } => (12..20).contains(&byte),
            CheckpointError::Damaged { .. } => byte >= 20,
            _ => false,
        };
        assert!(expected, "bit {bit}: {error}");
    }
    let longer = [&whole[..], b"x"].concat();
    assert!(matches!(error_of(&longer), CheckpointError::Length { .. }));
    assert!(matches!(
        error_of(b"PAR1 and more"),
        CheckpointError::Foreign { .. }
    ));
    let missing = inspect(&scratch.0.join("missing")).unwrap_err();
    assert!(matches!(missing, CheckpointError::File { .. }));
}

#[test]
fn only_the_same_scenario_goes_on() {
    let scratch = Scratch::new("other");
    let scenario = scenario();
    let checkpoints = killed(&scenario, &scratch);
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut other = scenario.clone();
        change(&mut other);
        let checkpoints = Checkpoints {
            identity: Identity::of(&other),
            ..checkpoints.clone()
        };
        match simulate(&other, &checkpoints, &mut Watch::default()) {
            Err(Error::Checkpoint(CheckpointError::OtherScenario {
                key, found, own, ..
            })) => (key, found, own),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("went on"),
        }
    };
    let of = |key: &str, found: &str, own: &str| (key.into(), found.into(), own.into());
    assert_eq!(refused(&|s| s.seed = 9), of("seed", "1", "9"));
    assert_eq!(
        refused(&|s| s.simulation.duration_ps = Some(20_000_000)),
        of("simulation.duration", "nothing", "20000000")
    );
    assert_eq!(
        refused(&|s| s.jobs[1].name = "other".to_owned()),
        of("job[1].name", "\"noise\"", "\"other\"")
    );
    let (key, ..) = refused(&|s| {
        s.jobs.pop();
    });
    assert_eq!(key, "job[1]");
}

/// A checkpoint of another version or build is whole, but not ours.
#[test]
fn only_the_same_program_goes_on() {
    let scratch = Scratch::new("version");
    let scenario = scenario();
    let checkpoints = killed(&scenario, &scratch);
    for (version, sources, words) in [
        ("0.0.9", crate::SOURCES, "Odonata 0.0.9, not"),
        (crate::VERSION, "0123", "another build"),
    ] {
        let (header, mut body) = file::open(&scratch.file()).unwrap();
        let header = Header {
            version: version.to_owned(),
            sources: sources.to_owned(),
            ..header
        };
        let mut state = Vec::new();
        body.read_to_end(&mut state).unwrap();
        file::write(&scratch.file(), &header, |out| out.write_all(&state)).unwrap();
        let error = simulate(&scenario, &checkpoints, &mut Watch::default());
        let error = error.err().expect("refused").to_string();
        assert!(error.contains(words), "{error}");
    }
}
