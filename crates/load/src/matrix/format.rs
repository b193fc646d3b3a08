//! Which of the known file formats a matrix is in.

/// Layout of a communication-matrix file, recognised by its first line.
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
    /// A report of mpiP with a communication matrix: source, target, bytes and
    /// messages a line, for all pairs of ranks. On the diagonal stands what a rank
    /// sends in all, not what it sends to itself.
    MpiP,
    /// The list of edges that the statistics of such a matrix begin with
    /// (`graphStats.txt`): `a , b = BYTES`, as [`Undirected`](Self::Undirected).
    GraphStats,
}

/// What separates the fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// This character.
    Character(char),
    /// Blanks and tabs, one or several.
    Blanks,
}

/// What marks begin and end of the matrix in a report, and what the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) format: Format,
    pub(super) begins: &'static str,
    pub(super) ends: &'static str,
    /// Name of the file's kind, for messages.
    pub(super) name: &'static str,
}

impl Section {
    /// The kind of report that begins with a line.
    pub(super) fn of_first_line(line: &str) -> Option<Self> {
        let (format, begins, ends, name) = match line {
            line if line.starts_with("@ mpiP") => (
                Format::MpiP,
                "Start Communication Matrix",
                "End Communication Matrix",
                "a report of mpiP",
            ),
            line if line.contains("Graph Information") => (
                Format::GraphStats,
                "Graph Information",
                "Graph info end",
                "statistics of a communication graph",
            ),
            _ => return None,
        };
        Some(Self {
            format,
            begins,
            ends,
            name,
        })
    }
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

/// What separates fields, by the first line: the one of comma and semicolon
/// that occurs in it, in this order, or else blanks.
pub(super) fn separator(first_line: &str) -> Separator {
    [',', ';']
        .into_iter()
        .find(|&character| first_line.contains(character))
        .map_or(Separator::Blanks, Separator::Character)
}

/// Names of a header line: lower case, without blanks, quotes and a leading `#`.
pub(super) fn header_names(first_line: &str, separator: Separator) -> Vec<String> {
    let line = first_line.trim().trim_start_matches(['\u{feff}', '#']);
    let name = |name: &str| name.trim().trim_matches('"').to_ascii_lowercase();
    match separator {
        Separator::Character(character) => line.split(character).map(name).collect(),
        Separator::Blanks => line.split_whitespace().map(name).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(header: &str) -> Option<Columns> {
        Columns::of_header(&header_names(header, separator(header)))
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
        let found = columns("# src  dst\tbytes").unwrap();
        assert_eq!((found.from, found.to, found.amount), (0, 1, 2));
        assert_eq!(columns("0,1,2"), None);
        assert_eq!(columns("src,dst"), None);
    }
}
