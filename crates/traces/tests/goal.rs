//! GOAL schedules: real examples come back byte for byte, text and binary hold the
//! same graphs, and damaged files are distinguished from good ones.

#[path = "shared/damage.rs"]
mod damage;
mod shared;

use std::collections::HashMap;
use std::io::Cursor;

use damage::{Numbers, attack, rounds, start};
use odonata_traces::goal::{
    Action, Condition, Dependency, GoalBinaryReader, GoalBinaryWriter, GoalTextReader,
    GoalTextWriter, Operation, RankNodes, RankSchedule, Tag, text_to_binary,
};

use odonata_traces::{Position, TraceError};
use odonata_units::{Bytes, RankId};
use shared::{contents, data, files};

fn read_text(text: &[u8]) -> Result<Vec<RankSchedule>, TraceError> {
    GoalTextReader::new(text, "a.goal".to_owned())?
        .map(|rank| rank.map(|(_, schedule)| schedule))
        .collect()
}

fn write_text(ranks: &[RankSchedule]) -> Vec<u8> {
    let mut writer = GoalTextWriter::new(Vec::new(), ranks.len() as u32).unwrap();
    ranks.iter().for_each(|rank| writer.push(rank).unwrap());
    writer.finish().unwrap()
}

fn read_binary(bytes: &[u8]) -> Result<Vec<RankSchedule>, TraceError> {
    let mut reader = GoalBinaryReader::new(Cursor::new(bytes), "a.bin".to_owned())?;
    (0..reader.ranks())
        .map(|rank| reader.rank(RankId(rank)))
        .collect()
}

fn write_binary(ranks: &[RankSchedule]) -> Vec<u8> {
    let out = Cursor::new(Vec::new());
    let mut writer = GoalBinaryWriter::new(out, ranks.len() as u32).unwrap();
    ranks.iter().for_each(|rank| writer.push(rank).unwrap());
    writer.finish().unwrap().into_inner()
}

/// Two ranks with everything that the format has.
const EXAMPLE: &str = "\
num_ranks 2

rank 0 {
l1: calc 100
l2: send 8b to 1 tag 5
l2 requires l1
l3: recv 8b from -1 tag -1 cpu 1 nic 2
l3 requires l1
l3 irequires l2
}

rank 1 {
l1: recv 8b from 0 tag 5
l2: calc 7 cpu 1
l3: send 8b to 0 tag 0
l2 requires l3
}
";

#[test]
fn examples_come_back_byte_for_byte() {
    let Some(folder) = data("goal-examples") else {
        return;
    };
    let examples = files(&folder, ".goal");
    assert_eq!(examples.len(), 4);
    for path in examples {
        let text = contents(&path);
        let ranks = read_text(&text).unwrap();
        assert_eq!(write_text(&ranks), text, "{}", path.display());
        let binary = write_binary(&ranks);
        assert_eq!(read_binary(&binary).unwrap(), ranks, "{}", path.display());
    }
}

#[test]
fn graphs_of_the_examples() {
    let Some(folder) = data("goal-examples") else {
        return;
    };
    // Dissemination among n ranks: log2 n rounds of a send and a receive each;
    // every send but the first waits for the receive before it.
    for (name, ranks, rounds) in [("dissemination_16", 16, 4), ("dissemination_32", 32, 5)] {
        let read = read_text(&contents(&folder.join(format!("{name}.goal")))).unwrap();
        assert_eq!(read.len(), ranks);
        for rank in &read {
            assert_eq!(rank.operations().len(), 2 * rounds);
            assert_eq!(rank.edges(), rounds - 1);
        }
    }
    // A broadcast tree among n ranks has n − 1 messages.
    for (name, ranks) in [("binary_tree_16", 16), ("binary_tree_32", 32)] {
        let read = read_text(&contents(&folder.join(format!("{name}.goal")))).unwrap();
        let sends = read
            .iter()
            .flat_map(RankSchedule::operations)
            .filter(|operation| matches!(operation.action, Action::Send { .. }))
            .count();
        assert_eq!((read.len(), sends), (ranks, ranks - 1));
    }
}

/// Text and binary of the same schedule, as others made them: storage traffic with comments,
/// labels of two kinds, operations without a tag, and dependencies on operations that come
/// later (174 lines with a colon; 150 with `requires`).
#[test]
fn schedules_of_storage_are_the_same_in_text_and_binary() {
    let Some(folder) = data("goal-storage") else {
        return;
    };
    let text = |name: &str| read_text(&contents(&folder.join(name))).unwrap();
    let binary = |name: &str| read_binary(&contents(&folder.join(name))).unwrap();
    let count = |ranks: &[RankSchedule]| {
        let operations = ranks.iter().map(|rank| rank.operations().len());
        let edges = ranks.iter().map(RankSchedule::edges);
        (operations.sum::<usize>(), edges.sum::<usize>())
    };
    let one = text("Financial_1.goal");
    assert_eq!((one.len(), count(&one)), (77, (174, 150)));
    let untagged = Action::Send {
        size: Bytes(4_096),
        to: RankId(2),
        tag: Tag(0),
    };
    assert_eq!(one[0].operations()[0].action, untagged);
    assert_eq!(binary("Fin1.bin"), one);
    assert_eq!(read_binary(&write_binary(&one)).unwrap(), one);
    let ten = text("Financial_10.goal");
    assert_eq!((ten.len(), count(&ten)), (77, (626, 524)));
    // The binary of the other one was made of a text with an eighth of the bytes.
    let (mut large, small) = (text("128sched.goal"), binary("128sched.bin"));
    assert_eq!((large.len(), count(&large)), (128, (256, 0)));
    let text = String::from_utf8(write_text(&large)).unwrap();
    large = read_text(text.replace("32000000b", "4000000b").as_bytes()).unwrap();
    assert_eq!(small, large);
}

#[test]
fn everything_is_read() {
    let ranks = read_text(EXAMPLE.as_bytes()).unwrap();
    let receive = Operation {
        action: Action::Receive {
            size: Bytes(8),
            from: None,
            tag: Tag::ANY,
        },
        cpu: 1,
        nic: 2,
    };
    assert_eq!(ranks[0].operations()[2], receive);
    let expected = [
        Dependency {
            on: 0,
            condition: Condition::Finished,
        },
        Dependency {
            on: 1,
            condition: Condition::Started,
        },
    ];
    assert_eq!(ranks[0].dependencies(2), expected);
    assert_eq!(ranks[1].dependencies(1)[0].on, 2);
    assert_eq!(String::from_utf8(write_text(&ranks)).unwrap(), EXAMPLE);
}

#[test]
fn free_form_is_read_as_its_canonical_form() {
    let free = "\
// a comment
num_ranks 2\r
rank 0 { /* another
over two lines */ first: calc 100
  second :send 8 b to 1 tag 5
third: recv 8b from -1 tag -1 cpu 1 nic 2
third irequires second // why
second\trequires first
third requires first
}
rank 1 {
a: recv 8b from 0 tag 5

b: calc 7 cpu 1
c: send 8b to 0
b requires c
}";
    assert_eq!(
        read_text(free.as_bytes()).unwrap(),
        read_text(EXAMPLE.as_bytes()).unwrap()
    );
    // Labels are needed only where something depends on them.
    let bare = read_text(b"num_ranks 1\nrank 0 {\ncalc 1\ncalc 2\n}\n").unwrap();
    assert_eq!(bare[0].operations().len(), 2);
}

#[test]
fn binary_layout_is_that_of_txt2bin() {
    // Put together by hand from the layout.
    let ranks = read_text(
        b"num_ranks 1\nrank 0 {\na: calc 258\nb: send 3b to 0 tag 4 cpu 1\nb requires a\n}\n",
    )
    .unwrap();
    let mut expected: Vec<u8> = Vec::new();
    expected.extend(4_223u64.to_le_bytes());
    expected.extend([1, 0, 0, 0, 1, 0]); // 1 rank, highest cpu 1, highest nic 0
    expected.extend(22u64.to_le_bytes()); // behind 6 + 16 bytes
    expected.extend(116u64.to_le_bytes()); // 22 + 8 + 4 + 2 × 39 + 4
    expected.extend([2, 0, 0, 0, 1, 0, 0, 0]); // operations, roots
    expected.extend([0, 0, 0, 0]); // the root
    expected.extend([0, 0, 0, 0, 3, 0, 0, 0, 0]); // waits for none, calculates
    expected.extend(258u64.to_le_bytes());
    expected.extend([0, 0, 0, 0, 0, 0]); // tag, cpu, nic
    expected.extend([1, 0, 0, 0, 0, 0, 0, 0]); // one waits for its end
    expected.extend([0, 0, 0, 0, 1, 0, 0, 0]); // none for its start
    expected.extend([1, 0, 0, 0, 1, 0, 0, 0, 0]); // waits for one, sends to 0
    expected.extend(3u64.to_le_bytes());
    expected.extend([4, 0, 0, 0, 1, 0]);
    expected.extend([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    expected.extend([1, 0, 0, 0]); // appendix: operation 1
    assert_eq!(write_binary(&ranks), expected);
    assert_eq!(read_binary(&expected).unwrap(), ranks);
}

fn reason(text: &str) -> (Position, String) {
    let error = read_text(text.as_bytes()).unwrap_err();
    assert_eq!(error.file, "a.goal");
    (error.position, error.reason)
}

#[test]
fn errors_in_text_name_the_line() {
    let cases = [
        ("", Position::Whole, "no line \"num_ranks N\""),
        ("rank 0 {\n", Position::Line(1), "expected \"num_ranks\""),
        ("num_ranks 0\n", Position::Line(1), "num_ranks is 0"),
        (
            "num_ranks 2\nrank 1 {\n}\n",
            Position::Line(2),
            "rank 0 is next",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\n",
            Position::Whole,
            "after 1 of 2 ranks",
        ),
        ("num_ranks 1\nrank 0 {\n", Position::Whole, "within rank 0"),
        (
            "num_ranks 1\nrank 0 {\n}\nrank 1 {",
            Position::Line(4),
            "all 1 ranks",
        ),
        (
            "num_ranks 1\nrank 0 {\n/* x",
            Position::Whole,
            "within a comment",
        ),
        (
            "num_ranks 1\nrank 0 {\na: send 1b to 1\n}",
            Position::Line(3),
            "rank 1, but there are the ranks 0 to 0",
        ),
        (
            "num_ranks 1\nrank 0 {\na: send 1b from 0\n}",
            Position::Line(3),
            "expected \"to\", but found \"from 0\"",
        ),
        (
            "num_ranks 1\nrank 0 {\na: send 1b to -1\n}",
            Position::Line(3),
            "expected a whole number",
        ),
        (
            "num_ranks 1\nrank 0 {\na: wait 1\n}",
            Position::Line(3),
            "\"wait\" is no operation",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}",
            Position::Line(4),
            "label a is there twice",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}",
            Position::Line(4),
            "no operation above is labelled b",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}",
            Position::Line(5),
            "in a circle",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}",
            Position::Line(4),
            "in a circle",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 99999999999999999999\n}",
            Position::Line(3),
            "a number above 18446744073709551615",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 1 cpu 256\n}",
            Position::Line(3),
            "a number above 255",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 1 nic 1\n}",
            Position::Line(3),
            "expected the end of the line, but found \"nic 1\"",
        ),
    ];
    for (text, position, why) in cases {
        let (found, reason) = reason(text);
        assert_eq!(found, position, "{text}: {reason}");
        assert!(reason.contains(why), "{text}: {reason}");
    }
}

#[test]
fn errors_in_binary_name_the_byte() {
    let good = write_binary(&read_text(EXAMPLE.as_bytes()).unwrap());
    let reason = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        let error = read_binary(&bytes).unwrap_err();
        assert!(matches!(error.position, Position::Byte(_)));
        error.reason
    };
    assert!(reason(&|bytes| bytes[0] = 0).contains("a binary schedule with 4223"));
    let used = 2_342u64.to_le_bytes();
    assert!(reason(&|bytes| bytes[..8].copy_from_slice(&used)).contains("used up"));
    assert!(reason(&|bytes| bytes[11] = 0x7f).contains("room for"));
    assert!(reason(&|bytes| bytes[14] += 1).contains("must follow that of the rank before"));
    assert!(reason(&|bytes| bytes.truncate(bytes.len() - 4)).contains("truncated"));
    // Data of rank 0 starts at 8 + 6 + 32 = 46: counts 8, one root 4, then the
    // kind of operation 0 behind its count of dependencies.
    assert!(reason(&|bytes| bytes[62] = 9).contains("operation of kind 9"));
    assert!(reason(&|bytes| bytes[58] = 1).contains("said to have 1 dependencies, but has 0"));
    assert!(reason(&|bytes| bytes[54] = 1).contains("missing among the roots"));
    for length in 0..good.len() {
        assert!(read_binary(&good[..length]).is_err(), "{length} bytes");
    }
}

/// A random schedule; operations wait for earlier ones and a few for later ones.
fn random(numbers: &mut Numbers) -> Vec<RankSchedule> {
    let ranks = 1 + numbers.below(4);
    let mut all = Vec::new();
    for _ in 0..ranks {
        let count = numbers.below(30);
        let mut operations = Vec::new();
        let mut edges = Vec::new();
        for index in 0..count {
            let size = numbers.next() >> numbers.below(64);
            let tag = match numbers.below(4) {
                0 => Tag(0),
                _ => Tag(numbers.next() as u32),
            };
            let peer = RankId(numbers.below(ranks) as u32);
            let action = match numbers.below(3) {
                0 => Action::Send {
                    size: Bytes(size),
                    to: peer,
                    tag,
                },
                1 => Action::Receive {
                    size: Bytes(size),
                    from: (numbers.below(4) > 0).then_some(peer),
                    tag,
                },
                _ => Action::Calculate { duration: size },
            };
            let calculates = matches!(action, Action::Calculate { .. });
            operations.push(Operation {
                action,
                cpu: numbers.below(3) as u8,
                nic: if calculates {
                    0
                } else {
                    numbers.below(3) as u8
                },
            });
            for _ in 0..numbers.below(3).min(index) {
                let condition = match numbers.below(2) {
                    0 => Condition::Finished,
                    _ => Condition::Started,
                };
                let on = numbers.below(index) as u32;
                edges.push((index as u32, Dependency { on, condition }));
            }
        }
        all.push(RankSchedule::new(operations, &edges).unwrap());
    }
    all
}

#[test]
fn random_schedules_survive_both_forms() {
    let mut numbers = Numbers(start());
    for _ in 0..500 {
        let ranks = random(&mut numbers);
        let text = write_text(&ranks);
        assert_eq!(read_text(&text).unwrap(), ranks);
        assert_eq!(write_text(&read_text(&text).unwrap()), text);
        let binary = write_binary(&ranks);
        assert_eq!(read_binary(&binary).unwrap(), ranks);
        assert_eq!(write_binary(&read_binary(&binary).unwrap()), binary);
    }
}

/// Runs a rank's graph by what its nodes say; returns how many operations ran.
fn run(nodes: &mut RankNodes<Cursor<&[u8]>>) -> Result<u32, TraceError> {
    let mut waiting: HashMap<u32, u32> = HashMap::new();
    let mut ready = nodes.roots()?;
    let mut ran = 0;
    while let Some(next) = ready.pop() {
        let node = nodes.node(next)?;
        ran += 1;
        for other in node.on_finish.into_iter().chain(node.on_start) {
            let left = match waiting.get(&other) {
                Some(&left) => left,
                None => nodes.node(other)?.dependencies,
            };
            // A damaged file may count less dependencies than there are.
            match left {
                1 => ready.push(other),
                _ => drop(waiting.insert(other, left.saturating_sub(1))),
            }
        }
        if ran > 10_000 {
            break;
        }
    }
    Ok(ran)
}

fn nodes(bytes: &[u8], rank: u32) -> Result<RankNodes<Cursor<&[u8]>>, TraceError> {
    RankNodes::new(
        Cursor::new(bytes),
        Cursor::new(bytes),
        "a.bin",
        RankId(rank),
    )
}

#[test]
fn nodes_tell_what_the_graph_does() {
    let mut numbers = Numbers(start());
    for _ in 0..100 {
        let ranks = random(&mut numbers);
        let binary = write_binary(&ranks);
        for (rank, graph) in ranks.iter().enumerate() {
            let mut nodes = nodes(&binary, rank as u32).unwrap();
            let count = nodes.operations();
            assert_eq!(count as usize, graph.operations().len());
            let mut edges = 0;
            for index in 0..count {
                let node = nodes.node(index).unwrap();
                assert_eq!(node.operation, graph.operations()[index as usize]);
                assert_eq!(node.dependencies as usize, graph.dependencies(index).len());
                for (others, condition) in [
                    (&node.on_finish, Condition::Finished),
                    (&node.on_start, Condition::Started),
                ] {
                    for &other in others {
                        let dependency = Dependency {
                            on: index,
                            condition,
                        };
                        assert!(graph.dependencies(other).contains(&dependency));
                    }
                    edges += others.len();
                }
            }
            assert_eq!(edges, graph.edges());
            assert_eq!(run(&mut nodes).unwrap(), count);
            assert!(nodes.node(count).is_err());
        }
        assert!(nodes(&binary, ranks.len() as u32).is_err());
    }
}

#[test]
fn text_becomes_binary() {
    let mut text = GoalTextReader::new(EXAMPLE.as_bytes(), "a.goal".to_owned()).unwrap();
    let binary = text_to_binary(&mut text, Cursor::new(Vec::new())).unwrap();
    let ranks = read_binary(&binary.into_inner()).unwrap();
    assert_eq!(ranks, read_text(EXAMPLE.as_bytes()).unwrap());
    let broken = EXAMPLE.replace("to 1", "to 2");
    let mut text = GoalTextReader::new(broken.as_bytes(), "a.goal".to_owned()).unwrap();
    let error = text_to_binary(&mut text, Cursor::new(Vec::new())).unwrap_err();
    assert!(
        error.to_string().starts_with("a.goal: line 5: rank 2"),
        "{error}"
    );
}

fn seeds(write: impl Fn(&[RankSchedule]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut numbers = Numbers(7);
    let mut seeds: Vec<_> = (0..6).map(|_| write(&random(&mut numbers))).collect();
    seeds.push(write(&read_text(EXAMPLE.as_bytes()).unwrap()));
    seeds
}

#[test]
fn damaged_text_is_refused_or_read() {
    let (refused, all) = attack(&seeds(write_text), rounds(3_000), start(), |bytes| {
        let Ok(ranks) = read_text(bytes) else {
            return false;
        };
        // What is read has a canonical form that means the same.
        assert_eq!(read_text(&write_text(&ranks)).unwrap(), ranks);
        true
    });
    assert!(refused * 2 > all, "{refused} of {all}");
}

#[test]
fn damaged_binaries_are_refused_or_read() {
    let (refused, all) = attack(&seeds(write_binary), rounds(3_000), start(), |bytes| {
        for rank in 0..4 {
            let _ = nodes(bytes, rank).and_then(|mut nodes| run(&mut nodes));
        }
        let Ok(ranks) = read_binary(bytes) else {
            return false;
        };
        assert_eq!(read_binary(&write_binary(&ranks)).unwrap(), ranks);
        true
    });
    assert!(refused * 2 > all, "{refused} of {all}");
}

/// What is compressed is recognised by its content, whatever its name, and reads like what is not.
#[test]
fn compressed_schedules_are_read_like_others() {
    let text = b"num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n";
    let ranks = read_text(text).unwrap();
    let binary = write_binary(&ranks);
    let gzip = |data: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, data).unwrap();
        out.finish().unwrap()
    };
    let name = format!("odonata-goal-packed-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, gzip(text)).unwrap();
    let reader = GoalTextReader::open(&path).unwrap();
    let read: Vec<_> = reader.map(|rank| rank.unwrap().1).collect();
    assert_eq!(read, ranks);
    std::fs::write(&path, gzip(&binary)).unwrap();
    let mut reader = GoalBinaryReader::open(&path).unwrap();
    let read: Vec<_> = (0..2)
        .map(|rank| reader.rank(RankId(rank)).unwrap())
        .collect();
    assert_eq!(read, ranks);
    assert_eq!(RankNodes::open(&path, RankId(1)).unwrap().operations(), 1);
    std::fs::remove_file(&path).unwrap();
}
