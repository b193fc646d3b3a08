//! The output of `ibnetdiscover`, and net files of `ibsim`, which have the same form.
//!
//! ```text
//! switchguid=0x200001(200001)
//! Switch  8 "S-0000000000200001"   # "leaf 1" base port 0 lid 3 lmc 0
//! [1]  "H-0000000000100002"[1](100003)   # "node 7" lid 5 4xEDR
//! [2]  "S-0000000000200002"[3]           # "leaf 2" lid 4 4xEDR
//! ```
//!
//! Sections of adapters (`Ca`, in net files `Hca`) repeat what the switches' say; what is not
//! cabled to a switch has no part in the network.
//!
//! Where standard error went into the same file, warnings of libibumad, libibmad and libibnetdisc
//! stand between the lines, or within one that had not been written whole:
//!
//! ```text
//! ibwarn: [4711] _do_madrpc: recv failed: Connection timed out
//! src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,20 Attr 0x11:0) bad status 110; Connection timed out
//! ```

use super::{End, Far, Found, Rate, Subnet, SubnetError, Switch, Wired};

type Checked<T = ()> = Result<T, SubnetError>;

const LINES: &str = "lines of ibnetdiscover: `Switch PORTS \"ID\"` or `Ca PORTS \"ID\"`, then \
                     `[PORT] \"ID\"[PORT]` for each cable";

/// Reads one.
pub(super) fn read(text: &str) -> Checked<Subnet> {
    let mut found = Found::default();
    let mut guid = None;
    let mut current = Section::None;
    let mut begun = String::new();
    for (line, content) in (1..).zip(text.lines()) {
        if let Some(at) = warning(content) {
            found.warnings += 1;
            begun.push_str(&content[..at]);
            continue;
        }
        let whole = std::mem::take(&mut begun) + content;
        let content = whole.trim();
        let wrong = || SubnetError::Line {
            line,
            found: content.chars().take(60).collect(),
            allowed: LINES,
        };
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if content.starts_with('[') {
            match current {
                Section::None => return Err(wrong()),
                Section::Other => {}
                Section::Switch(switch) => {
                    if let Some(wired) = port(line, content).ok_or_else(wrong)? {
                        found.wire(switch, wired)?;
                    }
                }
            }
            continue;
        }
        let word = content.split_whitespace().next().unwrap_or_default();
        match word {
            "Switch" => {
                let (id, switch) = switch(content, guid.take()).ok_or_else(wrong)?;
                current = Section::Switch(found.switch(line, id, switch)?);
            }
            "Ca" | "Hca" | "Rt" => current = Section::Other,
            _ => match content.split_once('=') {
                Some(("switchguid", value)) => guid = Some(hexadecimal(value).ok_or_else(wrong)?),
                // Other identities, which the wiring does not need.
                Some((key, _)) if key.bytes().all(|byte| byte.is_ascii_alphabetic()) => {}
                // A heading of grouped output (-g).
                _ if word == "Chassis" || word == "Non-Chassis" => {}
                _ => return Err(wrong()),
            },
        }
    }
    found.into_subnet()
}

/// Where a warning begins that ends with the line.
fn warning(line: &str) -> Option<usize> {
    let words = [
        "ibwarn: [",
        "ibpanic: [",
        "iberror: ",
        "ibdebug: [",
        "libibumad: ",
        "libibmad: ",
    ];
    let word = words.iter().filter_map(|word| line.find(word)).min();
    // The file of a library and the line in it, the whole path where it begins the line.
    let place = line.find(".c:").filter(|&at| {
        let number = line[at + 3..].split(';').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let place = place.and_then(|at| match line[..at].contains(char::is_whitespace) {
        false if !line.starts_with('[') => Some(0),
        _ => line[..at].rfind("src/"),
    });
    [word, place].into_iter().flatten().min()
}

enum Section {
    None,
    Switch(usize),
    Other,
}

/// `0x200001(200001)` or `200001`.
fn hexadecimal(text: &str) -> Option<u64> {
    let text = text.split('(').next()?.trim();
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// Text in quotes at the beginning, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('"')?.split_once('"')
}

/// A number in brackets at the beginning, and what follows.
fn bracketed(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    Some((number.trim().parse().ok()?, rest))
}

/// GUID of an id of `ibnetdiscover`, such as `S-0000000000200001`.
fn guid_of(id: &str) -> Option<u64> {
    let (_, digits) = id.split_once('-')?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

/// The number after the word `lid`.
fn lid(comment: &str) -> Option<u16> {
    let mut words = comment.split_whitespace().skip_while(|word| *word != "lid");
    words.nth(1)?.parse().ok()
}

fn switch(content: &str, guid: Option<u64>) -> Option<(&str, Switch)> {
    let (content, comment) = content.split_once('#').unwrap_or((content, ""));
    let rest = content.strip_prefix("Switch")?.trim_start();
    let (ports, rest) = rest.split_once(char::is_whitespace)?;
    let (id, _) = quoted(rest)?;
    let (name, after) = quoted(comment).unwrap_or((id, comment));
    let switch = Switch {
        guid: guid.or_else(|| guid_of(id)).unwrap_or(0),
        name: name.to_owned(),
        ports: ports.parse().ok()?,
        lid: lid(after),
    };
    Some((id, switch))
}

/// A cable; the inner `None` is one to a router of InfiniBand, beyond the subnet.
#[expect(clippy::option_option, reason = "no cable, and no line of a cable")]
fn port(line: usize, content: &str) -> Option<Option<Wired>> {
    let (content, comment) = content.split_once('#').unwrap_or((content, ""));
    let (port, rest) = bracketed(content)?;
    // The port's label on the chassis.
    let rest = match rest.trim_start().strip_prefix("[ext") {
        Some(label) => label.split_once(']')?.1,
        None => rest,
    };
    let (id, rest) = quoted(rest)?;
    let (far, rest) = bracketed(rest)?;
    let (name, after) = quoted(comment).unwrap_or((id, comment));
    let rate = after.split_whitespace().last().and_then(Rate::new);
    let end = End {
        id: id.to_owned(),
        port: far,
    };
    let far = match id.as_bytes().first()? {
        b'S' => Far::Switch(end),
        b'R' => return Some(None),
        _ => Far::Host {
            end,
            guid: guid_of(id).unwrap_or(0),
            port_guid: rest
                .trim()
                .strip_prefix('(')
                .and_then(|guid| hexadecimal(guid.trim_end_matches(')'))),
            name: name.to_owned(),
            lid: lid(after),
        },
    };
    Some(Some(Wired {
        line,
        port,
        far,
        rate,
    }))
}
