//! Lists of nodes as Slurm writes them: `node[1820-1822,1838],gpu-2`,
//! `rack[1-2]node[01-04]` (`scontrol show hostlist`).

/// Longest list that [`expand`] writes out.
pub const MAX_HOSTS: u64 = 1 << 22;

/// Most bytes that the names of such a list have together.
const MAX_BYTES: u64 = 1 << 28;

/// Most digits of a number, leading zeros included.
const MAX_DIGITS: usize = 32;

/// Number of nodes of a list, `None` if it is damaged.
pub fn count(list: &str) -> Option<u64> {
    items(list)?
        .into_iter()
        .try_fold(0u64, |nodes, item| nodes.checked_add(count_of_item(item)?))
}

/// The same of a part between commas.
fn count_of_item(item: &str) -> Option<u64> {
    let mut product = 1u64;
    for part in parts(item)? {
        if let Part::Ranges(ranges) = part {
            let mut of_part = 0u64;
            for range in ranges.split(',') {
                let (low, high, _) = range_of(range)?;
                of_part = of_part.checked_add(high.checked_sub(low)?.checked_add(1)?)?;
            }
            product = product.checked_mul(of_part)?;
        }
    }
    Some(product)
}

/// The names of a list's nodes in its order; `None` if it is damaged or longer
/// than [`MAX_HOSTS`].
pub fn expand(list: &str) -> Option<Vec<String>> {
    let (mut hosts, mut bytes) = (0u64, 0u64);
    for item in items(list)? {
        let count = count_of_item(item)?;
        hosts = hosts.checked_add(count)?;
        // No name is longer than what stands for it.
        bytes = bytes.checked_add(count.checked_mul(item.len() as u64)?)?;
    }
    if hosts > MAX_HOSTS || bytes > MAX_BYTES {
        return None;
    }
    let mut names = Vec::new();
    for item in items(list)? {
        let mut built = vec![String::new()];
        for part in parts(item)? {
            match part {
                Part::Text(text) => built.iter_mut().for_each(|name| name.push_str(text)),
                Part::Ranges(ranges) => {
                    let mut numbers = Vec::new();
                    for range in ranges.split(',') {
                        let (low, high, width) = range_of(range)?;
                        numbers.extend((low..=high).map(|n| format!("{n:0width$}")));
                    }
                    let with = |name: &String| {
                        let name = name.clone();
                        numbers
                            .iter()
                            .map(move |number| format!("{name}{number}"))
                            .collect::<Vec<_>>()
                    };
                    built = built.iter().flat_map(with).collect();
                }
            }
        }
        names.append(&mut built);
    }
    Some(names)
}

enum Part<'a> {
    Text(&'a str),
    /// The inside of a pair of brackets.
    Ranges(&'a str),
}

/// The parts of a list between commas outside brackets.
fn items(list: &str) -> Option<Vec<&str>> {
    let mut items = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        if !(0..=1).contains(&depth) {
            return None;
        }
    }
    items.push(&list[start..]);
    (depth == 0 && items.iter().all(|item| !item.is_empty())).then_some(items)
}

/// An item's text and brackets in turn; brackets are known to be balanced.
fn parts(item: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = item;
    while !rest.is_empty() {
        let (text, brackets) = match rest.split_once('[') {
            None => (rest, None),
            Some((text, inside)) => (text, Some(inside.split_once(']')?)),
        };
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        let Some((ranges, after)) = brackets else {
            break;
        };
        parts.push(Part::Ranges(ranges));
        rest = after;
    }
    Some(parts)
}

/// Lowest and highest number of `7` or `007-012`, and the width to pad to.
fn range_of(range: &str) -> Option<(u64, u64, usize)> {
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let digits = |text: &str| {
        let sound = (1..=MAX_DIGITS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit());
        sound.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (first, last) = (digits(low)?, digits(high)?);
    (first <= last).then_some((first, last, low.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_slurm_are_counted_and_written_out() {
        let written = |list| expand(list).unwrap().join(" ");
        assert_eq!(written("c1-28"), "c1-28");
        assert_eq!(
            written("node[9-11,20],gpu-2"),
            "node9 node10 node11 node20 gpu-2"
        );
        assert_eq!(written("n[08-10]"), "n08 n09 n10");
        assert_eq!(written("r[1-2]n[1,3]x"), "r1n1x r1n3x r2n1x r2n3x");
        assert_eq!(count("r[1-2]n[1,3]x,y[0-99]"), Some(104));
        // Of public listings of jobs and of Slurm's documents.
        assert_eq!(
            written("node1g[0010,0011],node2g0005"),
            "node1g0010 node1g0011 node2g0005"
        );
        assert_eq!(
            written("rack[1-2]n[01-03]"),
            "rack1n01 rack1n02 rack1n03 rack2n01 rack2n02 rack2n03"
        );
    }

    #[test]
    fn damaged_lists_have_no_number() {
        for list in [
            "", ",", "n[", "n]", "n[1-", "n[1-]", "n[3-1]", "n[[1]]", "n[a]", "n[1],,m",
        ] {
            assert_eq!(count(list), None, "{list}");
            assert_eq!(expand(list), None, "{list}");
        }
        // Too long to write out, yet it can be counted.
        assert_eq!(count("n[0-99999999999]"), Some(100_000_000_000));
        assert_eq!(expand("n[0-99999999999]"), None);
        // So do names that are long, whether text or zeros make them so.
        let long = "x".repeat(1 << 20);
        assert_eq!(count(&format!("{long}[0-999]")), Some(1_000));
        assert_eq!(expand(&format!("{long}[0-999]")), None);
        assert_eq!(expand(&format!("n[{}1]", "0".repeat(31))).unwrap().len(), 1);
        assert_eq!(expand(&format!("n[{}1]", "0".repeat(70_000))), None);
    }
}
