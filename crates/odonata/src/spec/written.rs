//! Texts with a grammar of their own, such as `depth:4` or `10%..50%`: how each is read, and
//! what messages say of one that cannot be read.

use odonata_declare::{Listed, Named};
use odonata_scheduler::batch::{Estimate, Policy};
use odonata_scheduler::log::date;
use serde_json::{Value, json};

use super::quantity::{Quantity, Refused};
use super::schedule::{OrderName, PolicyName};

/// A schedule to compare with: that which the log records.
const RECORDED: &str = "recorded";

/// Characters of a name of a study.
const LONGEST_NAME: usize = 60;

/// What a study keeps of several values, beside percentiles.
const REDUCTIONS: [&str; 7] = [
    "minimum",
    "maximum",
    "mean",
    "median",
    "sum",
    "count",
    "standard-deviation",
];

/// Keys that schedules of one log may have different values of, beside policy and order.
const CHANGED: [&str; 12] = [
    "estimates",
    "running_estimates",
    "limits",
    "every",
    "per_event",
    "eligible",
    "larger",
    "grap",
    "multifactor",
    "network",
    "failures",
    "requeue",
];

/// No number of a router or group in a text is larger, so that no range takes all memory.
const MOST_NUMBERS: u64 = 1 << 20;

/// What lists of numbers may be.
pub(super) const NUMBERS: &str =
    "a number, a list of numbers, or a text such as \"3-8\" or \"0, 2, 5-7\"";

/// The numbers of a text such as `0, 3-8`.
pub(super) fn ranges(text: &str) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |word: &str| {
            word.trim()
                .parse::<u64>()
                .ok()
                .filter(|n| *n < MOST_NUMBERS)
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// What a text of a grammar says; `orders` are plug-ins that sort a queue.
///
/// # Errors
/// If it says nothing.
pub fn written(grammar: &str, text: &str, orders: &[String]) -> Result<Value, Refused> {
    match grammar {
        "policy" => policy(text).map(|_| text.into()),
        "schedule" => schedule(text, orders),
        "estimates" => estimate(text).map(|_| text.into()),
        "time" => time(text),
        "numbers" => ranges(text)
            .map(Value::from)
            .ok_or_else(|| refused(text, NUMBERS)),
        "mix" => mix(text),
        "mpi-share" => mpi_share(text),
        "injection" => injection(text).map(Value::from),
        "column" => name(text, "_", false),
        "file-name" => name(text, "_-", true),
        "reduction" => reduction(text),
        "value-text" => value_text(text),
        _ => Err(refused(text, "no text of this grammar")),
    }
}

fn refused(text: &str, allowed: impl Into<String>) -> Refused {
    Refused::new(format!("\"{text}\""), allowed.into())
}

/// A name of small letters, digits and other `signs`, the first of them a letter, or a digit if a
/// number may be first.
fn name(text: &str, signs: &str, may_be_number: bool) -> Result<Value, Refused> {
    let is_letter = |c: char| c.is_ascii_lowercase() || (may_be_number && c.is_ascii_digit());
    let is_sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || signs.contains(c);
    if text.starts_with(is_letter) && text.chars().all(is_sign) && text.len() <= LONGEST_NAME {
        return Ok(text.into());
    }
    let first = match may_be_number {
        true => "a letter or digit",
        false => "a letter",
    };
    let signs: Vec<String> = signs.chars().map(String::from).collect();
    let allowed = format!(
        "a name of at most {LONGEST_NAME} characters: a-z, 0-9 and {}, first {first}",
        signs.join(" ")
    );
    Err(refused(text, allowed))
}

/// What is kept of several values.
fn reduction(text: &str) -> Result<Value, Refused> {
    let percentile = text.strip_prefix('p').filter(|of| !of.starts_with('0'));
    let is_percentile = percentile.and_then(digits).is_some_and(|of| of < 100);
    if is_percentile || REDUCTIONS.contains(&text) {
        return Ok(text.into());
    }
    let allowed = format!("{}, or a percentile such as p99", REDUCTIONS.join(", "));
    Err(refused(text, allowed))
}

/// A text in which a value is put.
fn value_text(text: &str) -> Result<Value, Refused> {
    match text.contains("{}") {
        true => Ok(text.into()),
        false => Err(refused(text, "a text with {} for the value")),
    }
}

/// Which jobs may overtake.
pub(super) fn policy(text: &str) -> Result<Policy, Refused> {
    if let Ok(name) = PolicyName::by_name(text) {
        return Ok(name.policy());
    }
    let depth = text.strip_prefix("depth:").and_then(digits);
    depth
        .map(|depth| Policy::Backfill { depth })
        .ok_or_else(|| {
            let names = PolicyName::NAMES.join(", ");
            refused(
                text,
                format!("{names}, depth:N (reservations for the first N)"),
            )
        })
}

fn digits(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

/// Run times that a scheduler assumes.
pub(super) fn estimate(text: &str) -> Result<Estimate, Refused> {
    match text {
        "requested" => Ok(Estimate::Requested),
        "perfect" => Ok(Estimate::Perfect),
        _ => number(text).map(Estimate::Factor).ok_or_else(|| {
            refused(
                text,
                "requested, perfect, or a multiple of the run time such as 2",
            )
        }),
    }
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// A number, or per cent.
fn share(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    }
}

fn injection(text: &str) -> Result<f64, Refused> {
    share(text).ok_or_else(|| refused(text, "a share such as 25%"))
}

/// The share of their time that jobs communicate, in the engine's form.
fn mpi_share(text: &str) -> Result<Value, Refused> {
    if text == "log" {
        return Ok("log".into());
    }
    let found = match text.split_once("..") {
        Some((low, high)) => {
            (share(low).zip(share(high))).map(|(low, high)| json!({"between": [low, high]}))
        }
        None => share(text).map(|share| json!({ "fixed": share })),
    };
    found.ok_or_else(|| {
        refused(
            text,
            "log, a share such as 30%, or two between which it is drawn such as 10%..50%",
        )
    })
}

/// Sizes, and names with their shares of the jobs of these sizes: `[FROM..TO:]NAME[=SHARE],…`.
/// In the place of sizes or before them stand `user=NAME:` and `name=NAME:` for the jobs of a
/// user, and for those that the log calls by a name.
/// `by-mode` is a name like others here.
fn mix(text: &str) -> Result<Value, Refused> {
    let (head, names) = text.rsplit_once(':').unwrap_or(("1..", text));
    let (mut sizes, mut user, mut name) = ("1..", None, None);
    for part in head.split(':') {
        match part.split_once('=') {
            Some(("user", asked)) => user = Some(asked.trim()),
            Some(("name", asked)) => name = Some(asked.trim()),
            _ => sizes = part,
        }
    }
    let (first, last) = sizes.split_once("..").unwrap_or((sizes, sizes));
    let size = |text: &str, default: u32| match text.trim() {
        "" => Some(default),
        text => digits(text),
    };
    let share_of = |part: &str| {
        let (name, share_of) = part.split_once('=').unwrap_or((part, "1"));
        let name = name.trim();
        share(share_of)
            .filter(|_| !name.is_empty())
            .map(|share| (name.to_owned(), share))
    };
    let shares: Option<Vec<_>> = names.split(',').map(share_of).collect();
    let read = size(first, 1).zip(size(last, u32::MAX)).zip(shares);
    let Some(((from, to), shares)) = read else {
        return Err(refused(
            text,
            "NAME, or FROM..TO:NAME=SHARE,NAME=SHARE with sizes in nodes, such as \
             576..65536:adaptive=40%,custom=60%",
        ));
    };
    let mut found = json!({"from": from, "to": to, "shares": shares});
    for (key, asked) in [("user", user), ("name", name)] {
        if let Some(asked) = asked {
            found[key] = asked.into();
        }
    }
    Ok(found)
}

/// A point in a log's time: `{"date": seconds since 1970}`, or `{"after": seconds}` after the
/// first submission.
fn time(text: &str) -> Result<Value, Refused> {
    if let Some(date) = date(text) {
        return Ok(json!({ "date": date }));
    }
    let span = Quantity::of("span").parse(text);
    span.map(|span| json!({ "after": span })).map_err(|_| {
        refused(
            text,
            "a date such as 2022-03-01T08:00 (UTC), or a duration after the first submission \
             such as \"12 h\"",
        )
    })
}

/// One of the schedules of a log: `recorded`, or `POLICY[/ORDER][+grap][,KEY=VALUE…]` as a table
/// with these parts; other keys than policy, order and placement are under `changes`.
fn schedule(text: &str, orders: &[String]) -> Result<Value, Refused> {
    if text == RECORDED {
        return Ok(text.into());
    }
    let mut parts = text.split(',');
    let what = parts.next().unwrap_or_default().trim();
    let (plain, placed) = what
        .split_once('+')
        .map_or((what, None), |(plain, placed)| (plain, Some(placed)));
    let allowed = "recorded, or POLICY[/ORDER][+grap][,KEY=VALUE…] such as easy/wfp";
    let mut changes = Vec::new();
    for part in parts {
        match part.split_once('=') {
            Some((key, value)) if !value.trim().is_empty() => {
                changes.push([key.trim(), value.trim()]);
            }
            _ => return Err(refused(part.trim(), allowed)),
        }
    }
    if let Some(placed) = placed.filter(|placed| *placed != "grap") {
        return Err(refused(&format!("+{placed}"), allowed));
    }
    let (named, order) = plain.split_once('/').unwrap_or((plain, ""));
    policy(named)?;
    let order = if order.is_empty() { "fcfs" } else { order };
    if OrderName::by_name(order).is_err() && !orders.iter().any(|known| known == order) {
        let names = OrderName::NAMES.iter().copied();
        let all: Vec<&str> = names.chain(orders.iter().map(String::as_str)).collect();
        return Err(refused(order, all.join(", ")));
    }
    for [key, _] in &changes {
        let table = key.split('.').next().unwrap_or_default();
        if !CHANGED.contains(&table) {
            return Err(refused(key, format!("keys of {}", CHANGED.join(", "))));
        }
    }
    Ok(json!({
        "policy": named, "order": order, "grap": placed.is_some(), "changes": changes,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(grammar: &str, text: &str) -> Value {
        written(grammar, text, &["aged".to_owned()]).unwrap_or_else(|error| error.found.into())
    }

    #[test]
    fn every_grammar_reads_what_it_says() {
        assert_eq!(policy("depth:4"), Ok(Policy::Backfill { depth: 4 }));
        assert_eq!(estimate("2.5"), Ok(Estimate::Factor(2.5)));
        assert_eq!(read("injection", "25%"), json!(0.25));
        assert_eq!(
            read("mpi-share", "10%..0.5"),
            json!({"between": [0.1, 0.5]})
        );
        assert_eq!(read("time", "12 h"), json!({"after": 43_200}));
        assert_eq!(read("time", "1970-01-02"), json!({"date": 86_400}));
        assert_eq!(
            read("mix", "576..1000:a=40%,b=3"),
            json!({"from": 576, "to": 1000, "shares": [["a", 0.4], ["b", 3.0]]})
        );
        let open = json!({"from": 7, "to": u32::MAX, "shares": [["a", 1.0]]});
        assert_eq!(read("mix", "7..:a"), open);
        assert_eq!(read("mix", "7:a")["to"], 7);
        assert_eq!(
            read("schedule", "easy/aged+grap,grap.groups=5"),
            json!({"policy": "easy", "order": "aged", "grap": true, "changes": [["grap.groups", "5"]]})
        );
        assert_eq!(read("schedule", "recorded"), "recorded");
    }

    #[test]
    fn texts_that_say_nothing_are_refused() {
        for (grammar, text) in [
            ("policy", "depth:x"),
            ("policy", "depth:+4"),
            ("estimates", "inf"),
            ("injection", "much"),
            ("mpi-share", "10%.."),
            ("time", "noon"),
            ("mix", "9..a:x"),
            ("mix", "=3"),
            ("schedule", "easy/fast"),
            ("schedule", "easy+best"),
            ("schedule", "easy,estimates"),
            ("schedule", "easy,nodes=3"),
        ] {
            assert!(written(grammar, text, &[]).is_err(), "{grammar}: {text}");
        }
    }
}
