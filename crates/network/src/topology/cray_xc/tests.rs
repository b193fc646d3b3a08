use super::*;
use crate::topology::LinkKind;
use crate::topology::testing::{class, shared_data};
use odonata_units::RouterId;
use std::fmt::Write as _;

fn spec() -> CrayXcSpec {
    CrayXcSpec {
        nodes_per_router: 4,
        links: CrayXcLinks {
            terminal: class("terminal", LinkKind::Terminal),
            green: class("green", LinkKind::Local),
            black: class("black", LinkKind::Local),
            blue: class("blue", LinkKind::Global),
        },
    }
}

/// A machine of 2 groups of 2 rows and 2 columns: per router one green, one
/// black, one blue, one unused and two processor tiles.
fn small() -> Vec<String> {
    let tile = |g: u32, r: u32, c: u32, t: &str| format!("c{g}-0c{r}s{c}a0l{t}({g}:{r}:{c})");
    let mut lines = Vec::new();
    for g in 0..2 {
        for r in 0..2 {
            for c in 0..2 {
                let mut line = |t: &str, colour: &str, end: String| {
                    lines.push(format!("{} {colour} -> {end}", tile(g, r, c, t)));
                };
                line("00", "green", tile(g, r, 1 - c, "00"));
                line("01", "black", tile(g, 1 - r, c, "01"));
                line("02", "blue", tile(1 - g, r, c, "02"));
                line("03", "blue", "unused".into());
                line("50", "ptile", "processor".into());
                line("51", "ptile", "processor".into());
            }
        }
    }
    lines
}

fn import(lines: &[String]) -> Result<Topology, CrayXcError> {
    spec().import(&lines.join("\n"))
}

/// The message about `small()` after `change`.
fn refused(change: impl FnOnce(&mut Vec<String>)) -> String {
    let mut lines = small();
    change(&mut lines);
    import(&lines).expect_err("this list is wrong").to_string()
}

#[test]
fn a_small_machine_is_read() {
    let topology = import(&small()).unwrap();
    assert_eq!((topology.routers(), topology.nodes()), (8, 32));
    assert_eq!(topology.groups, 2);
    // 4 nodes, green, black, blue; the unused tile is no port.
    assert_eq!(topology.ports(), 8 * 7);
    assert_eq!(topology.position_in_group[7], (1, 1));
    // Router 5 is at 1:0:1; its blue link leads to 0:0:1, router 1.
    let blue = topology.ports_of(RouterId(5)).end - 1;
    let Peer::Port(end) = topology.peer[blue] else {
        panic!("port {blue} is not linked")
    };
    assert_eq!(topology.router_of_port(end), RouterId(1));
    assert_eq!(topology.link_class(end).name, "blue");
}

#[test]
fn comments_and_empty_lines_are_skipped() {
    let mut lines = small();
    lines.insert(0, "# a comment".into());
    lines.insert(3, String::new());
    assert_eq!(import(&lines), import(&small()));
}

#[test]
fn every_mistake_names_its_line() {
    let message = refused(|l| l[4] = l[4].replace("ptile", "purple"));
    assert!(message.starts_with("line 5: `c0-0c0s0a0l50"), "{message}");
    let message = refused(|l| l[0] = l[0].replace("(0:0:1)", "(0:1)"));
    assert!(message.starts_with("line 1"), "{message}");
    let message = refused(|l| l[0] = l[0].replace("(0:0:1)", "(0:1:1)"));
    assert!(
        message.contains("a green link cannot lead from 0:0:0 to 0:1:1"),
        "{message}"
    );
    let message = refused(|l| l.push(l[7].clone()));
    assert!(
        message.starts_with("line 49: tile c0-0c0s1a0l01 is listed already in line 8"),
        "{message}"
    );
    let message = refused(|l| l[10] = l[10].replacen("(0:0:1)", "(0:0:0)", 1));
    assert!(
        message.contains("line 1 says c0-0c0s0a0(0:0:0)"),
        "{message}"
    );
    let message = refused(|l| l[3] = l[3].replace("(0:0:0)", "(0:0:1)"));
    assert!(
        message.starts_with("line 4: router c0-0c0s0a0 is at c0-0c0s0a0(0:0:1)"),
        "{message}"
    );
    // The other end of line 3 claims to be unused, or leads elsewhere.
    let message = refused(|l| l[26] = "c1-0c0s0a0l02(1:0:0) blue -> unused".into());
    assert!(message.starts_with("line 3"), "{message}");
    assert!(
        message.contains("by line 27 that tile has no blue link"),
        "{message}"
    );
    let message = refused(|l| l[2] = l[2].replace("c1-0c0s0a0l02(1:0:0)", "c1-0c0s1a0l02(1:0:1)"));
    assert!(message.starts_with("line 3"), "{message}");
    let message = refused(|l| drop(l.remove(4)));
    assert!(
        message.starts_with("line 6: router c0-0c0s1a0 has 2 tiles (ptile)"),
        "{message}"
    );
    assert_eq!(spec().import("# nothing\n"), Err(CrayXcError::Empty));
    let none = CrayXcSpec {
        nodes_per_router: 0,
        ..spec()
    };
    assert_eq!(
        none.import(&small().join("\n")),
        Err(CrayXcError::NodesPerRouter { found: 0 })
    );
}

#[test]
fn unlinked_groups_are_found() {
    // Without blue links each group is sound by itself.
    let message = refused(|lines| {
        for line in lines.iter_mut().filter(|l| l.contains("blue")) {
            let tile = line.split(' ').next().unwrap().to_owned();
            *line = format!("{tile} blue -> unused");
        }
    });
    assert!(message.starts_with("line 1: group 0"), "{message}");
}

#[test]
fn a_missing_router_is_found() {
    // A third row, of which one router is listed.
    let message = refused(|lines| {
        let far = |line: &String| line.replace("s1a0", "s2a0").replace(":1:1)", ":2:1)");
        let lone: Vec<String> = lines[18..24].iter().map(far).collect();
        lines.extend(lone.into_iter().filter(|line| line.contains("ptile")));
    });
    assert!(
        message.contains("no line lists a router at 0:2:0"),
        "{message}"
    );
}

#[test]
fn groups_keep_their_numbers_where_one_is_missing() {
    let renamed: Vec<String> = small()
        .iter()
        .map(|line| line.replace("(1:", "(2:"))
        .collect();
    let topology = import(&renamed).unwrap();
    let whole = import(&small()).unwrap();
    assert_eq!(topology.groups, 2);
    assert_eq!(topology.peer, whole.peer);
    assert_eq!(
        topology.title,
        "Cray XC groups=2 numbered 0, 2 rows=2 columns=2 nodes_per_router=4"
    );
    // Errors name groups as the list does.
    let unlinked: Vec<String> = renamed
        .iter()
        .map(|line| match line.split_once(" blue ->") {
            Some((tile, _)) => format!("{tile} blue -> unused"),
            None => line.clone(),
        })
        .collect();
    let message = import(&unlinked).unwrap_err().to_string();
    assert!(message.contains("no blue link to group 2"), "{message}");
}

#[test]
fn every_truncation_is_an_error_with_a_line() {
    let whole = small().join("\n");
    // Cut after every byte; the complete text is the only one accepted, and no
    // cut panics.
    for cut in 0..whole.len() {
        let error = spec()
            .import(&whole[..cut])
            .expect_err("truncated")
            .to_string();
        assert!(
            cut == 0 || error.starts_with("line "),
            "cut at {cut}: {error}"
        );
    }
    assert!(spec().import(&whole).is_ok());
}

/// Theta, the XC40 of Argonne National Laboratory: 9 groups of 6 x 16 routers.
/// The counts are those of the machine's description and of a count by hand
/// over the list (48 blue tiles per ordered pair of groups).
#[test]
fn theta_is_read_as_it_stands() {
    let Some(path) = shared_data("theta-topology/theta.interconnect") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let topology = spec().import(&text).unwrap();
    assert_eq!((topology.routers(), topology.nodes()), (864, 3456));
    assert_eq!(topology.groups, 9);
    let owner = topology.router_of_every_port();
    let mut between = [[0; 9]; 9];
    let mut of_class = [0; 4];
    for (port, peer) in topology.peer.iter().enumerate() {
        of_class[topology.class_of_port[port].index()] += 1;
        if let Peer::Port(end) = peer {
            let group = |router: RouterId| topology.group_of_router[router.index()].index();
            between[group(owner[port])][group(owner[end.index()])] += 1;
        }
    }
    // Per router: 4 nodes, 15 green, 5 neighbours x 3 black, 4 blue.
    assert_eq!(of_class, [864 * 4, 864 * 15, 864 * 15, 864 * 4]);
    for (a, row) in between.iter().enumerate() {
        for (b, &links) in row.iter().enumerate() {
            assert!(a == b || links == 48, "groups {a} and {b}: {links}");
        }
    }

    // Cut at the end of a line, within a line, and at the end of a group.
    let lines: Vec<&str> = text.lines().collect();
    for keep in [lines.len() - 1, lines.len() / 2, 8 * 4608, 1] {
        let mut cut = String::new();
        for line in &lines[..keep] {
            writeln!(cut, "{line}").unwrap();
        }
        let error = spec().import(&cut).unwrap_err().to_string();
        assert!(error.starts_with("line "), "{error}");
    }
    let error = spec().import(&text[..text.len() - 12]).unwrap_err();
    assert!(matches!(error, CrayXcError::Syntax { line: 41_472, .. }));
}
