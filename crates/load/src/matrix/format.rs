//! Which of the known file formats a matrix is in.

/// Layout of a communication-matrix file, told from its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `src,dst,bytes` and optionally `messages`: one directed entry per line.
    Directed,
    /// `a,b,bytes`: one line per pair of ranks, with the bytes of both
    /// directions together. Half of them go each way, an odd byte from a to b.
    Undirected,
    /// `src,dst,pdf_num_bytes`: directed entries with their share of all bytes;
    /// the shares sum to 1.
    Probabilities,
    /// No header: n lines of n numbers, line i column j holding the bytes from
    /// rank i to rank j.
    Dense,
}

/// Which columns of an edge list hold what; indices from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) format: Format,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) amount: usize,
    pub(super) messages: Option<usize>,
    /// Number of columns of the header.
    pub(super) count: usize,
}

/// Header names that mean the same; the first is the documented one.
const FROM: [&str; 3] = ["src", "source", "from"];
const TO: [&str; 4] = ["dst", "dest", "destination", "to"];
const BYTES: [&str; 2] = ["bytes", "num_bytes"];
const MESSAGES: [&str; 2] = ["messages", "num_messages"];
const SHARE: [&str; 2] = ["pdf_num_bytes", "probability"];

impl Columns {
    /// Reads the header of an edge list. `None` if it is none of the known ones.
    pub(super) fn of_header(names: &[String]) -> Option<Self> {
        let find = |wanted: &[&str]| {
            names
                .iter()
                .position(|name| wanted.contains(&name.as_str()))
        };
        let columns = |format, from, to, amount| Self {
            format,
            from,
            to,
            amount,
            messages: find(&MESSAGES),
            count: names.len(),
        };
        if let (Some(from), Some(to)) = (find(&FROM), find(&TO)) {
            return match (find(&BYTES), find(&SHARE)) {
                (Some(bytes), None) => Some(columns(Format::Directed, from, to, bytes)),
                (None, Some(share)) => Some(columns(Format::Probabilities, from, to, share)),
                _ => None,
            };
        }
        let (a, b, bytes) = (find(&["a"])?, find(&["b"])?, find(&BYTES)?);
        Some(columns(Format::Undirected, a, b, bytes))
    }
}

/// What separates fields, told from the first line: the one of comma, semicolon
/// and tab that occurs in it, in this order.
pub(super) fn delimiter(first_line: &str) -> u8 {
    [b',', b';', b'\t']
        .into_iter()
        .find(|&separator| first_line.as_bytes().contains(&separator))
        .unwrap_or(b',')
}

/// Names of a header line: lower case, without blanks, quotes and a leading `#`.
pub(super) fn header_names(first_line: &str, delimiter: u8) -> Vec<String> {
    first_line
        .trim()
        .trim_start_matches(['\u{feff}', '#'])
        .split(char::from(delimiter))
        .map(|name| name.trim().trim_matches('"').to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(header: &str) -> Option<Columns> {
        Columns::of_header(&header_names(header, delimiter(header)))
    }

    #[test]
    fn headers_tell_the_format() {
        let found = columns("src,dst,bytes,messages").unwrap();
        assert_eq!(found.format, Format::Directed);
        assert_eq!(found.messages, Some(3));
        let found = columns("a,b,bytes").unwrap();
        assert_eq!((found.format, found.messages), (Format::Undirected, None));
        let found = columns("#tor_pair_id,src,dst,pdf_num_bytes").unwrap();
        assert_eq!(found.format, Format::Probabilities);
        assert_eq!((found.from, found.to, found.amount), (1, 2, 3));
        let found = columns("Bytes; To; From").unwrap();
        assert_eq!((found.from, found.to, found.amount), (2, 1, 0));
        assert_eq!(columns("0,1,2"), None);
        assert_eq!(columns("src,dst"), None);
    }
}
