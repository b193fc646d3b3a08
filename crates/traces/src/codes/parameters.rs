//! Configuration files.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Position, TraceError};
use crate::lines::{LineReader, shown};

/// What a configuration file assigns to names, such as `num_groups="5";`, whatever
/// the block in which it does. Of several assignments to one name the last counts.
#[derive(Clone, Debug)]
pub struct Parameters {
    file: String,
    /// Value and line by name; of a list in brackets the first value.
    values: HashMap<String, (String, u64)>,
}

impl Parameters {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, or an assignment has no value in double quotes.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let source = odonata_files::open(path).map_err(|error| TraceError::open(path, &error))?;
        Self::read(source, path.display().to_string())
    }

    /// Reads a file from `source`; `file` is its name in messages.
    ///
    /// # Errors
    /// As [`Parameters::open`].
    pub fn read(source: impl Read, file: String) -> Result<Self, TraceError> {
        let mut lines = LineReader::new(source, file.clone());
        let mut values = HashMap::new();
        while let Some(line) = lines.advance()? {
            let line = line.to_vec();
            let Ok(text) = std::str::from_utf8(&line) else {
                return Err(lines.error("no text; a configuration of CODES is expected"));
            };
            for part in assignments(text) {
                let Some((name, value)) = part.split_once('=') else {
                    continue;
                };
                let quoted = value
                    .split('"')
                    .nth(1)
                    .filter(|_| value.matches('"').count() > 1);
                let Some(value) = quoted else {
                    let reason = format!(
                        "`{}` has no value in double quotes, such as num_groups=\"5\";",
                        shown(part.trim().as_bytes())
                    );
                    return Err(lines.error(reason));
                };
                let entry = (value.to_owned(), lines.number());
                values.insert(name.trim().to_owned(), entry);
            }
        }
        Ok(Self { file, values })
    }

    /// The value of a name that must be there.
    ///
    /// # Errors
    /// If it is not.
    pub fn text(&self, name: &str) -> Result<&str, TraceError> {
        self.entry(name).map(|(value, _)| value.as_str())
    }

    fn entry(&self, name: &str) -> Result<&(String, u64), TraceError> {
        self.values.get(name).ok_or_else(|| {
            let reason = format!("`{name}` is not given, which this network needs");
            TraceError::new(&self.file, Position::Whole, reason)
        })
    }

    /// The whole number of a name that must be there.
    ///
    /// # Errors
    /// If it is not, or no whole number below 2^32.
    pub fn count(&self, name: &str) -> Result<u32, TraceError> {
        let (value, line) = self.entry(name)?;
        value.parse().map_err(|_| {
            let reason = format!(
                "`{name}` is \"{}\"; a whole number is needed",
                shown(value.as_bytes())
            );
            TraceError::new(&self.file, Position::Line(*line), reason)
        })
    }

    /// The positive number of a name that must be there.
    ///
    /// # Errors
    /// If it is not, or no finite number above 0.
    pub fn positive(&self, name: &str) -> Result<f64, TraceError> {
        let (value, line) = self.entry(name)?;
        let number = value
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite() && *n > 0.0);
        number.ok_or_else(|| {
            let reason = format!(
                "`{name}` is \"{}\"; a number above 0 is needed",
                shown(value.as_bytes())
            );
            TraceError::new(&self.file, Position::Line(*line), reason)
        })
    }

    /// An error at the assignment to `name`, or of the file as a whole if there is none.
    pub fn refuse(&self, name: &str, reason: impl Into<String>) -> TraceError {
        let line = self.values.get(name).map(|(_, line)| Position::Line(*line));
        TraceError::new(&self.file, line.unwrap_or(Position::Whole), reason)
    }

    /// The file that a name refers to. Its path is relative to where CODES was
    /// started, which nobody knows here: it is tried from the configuration's
    /// directory, and if there is nothing, the file of that name beside the
    /// configuration is taken.
    ///
    /// # Errors
    /// If the name is not there.
    pub fn file(&self, name: &str) -> Result<PathBuf, TraceError> {
        let given = Path::new(self.text(name)?);
        let directory = Path::new(&self.file).parent().unwrap_or(Path::new(""));
        let as_given = directory.join(given);
        Ok(match given.file_name() {
            Some(last) if !as_given.exists() => directory.join(last),
            _ => as_given,
        })
    }
}

/// The parts of a line that semicolons end, without its comment. Neither counts
/// within double quotes.
fn assignments(line: &str) -> Vec<&str> {
    let (mut parts, mut start, mut quoted) = (vec![], 0, false);
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => {
                parts.push(&line[start..at]);
                return parts;
            }
            ';' if !quoted => {
                parts.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&line[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "LPGROUPS\n{\n   GRP { repetitions=\"5\"; }\n}\nPARAMS\n{\n# packet_size=\"1\"\n\
        \x20  modelnet_order=( \"dragonfly_plus\",\"dragonfly_plus_router\" );\n\
        \x20  num_groups=\"5\"; local_bandwidth=\"5.25\"; #1/16 of \"32768\"\n\
        \x20  intra=\"../a/b#c;d\";\n}\n";

    fn read(text: &str) -> Result<Parameters, TraceError> {
        Parameters::read(text.as_bytes(), "conf/some.conf".to_owned())
    }

    #[test]
    fn names_have_their_values() {
        let found = read(TEXT).unwrap();
        assert_eq!(found.text("modelnet_order").unwrap(), "dragonfly_plus");
        assert_eq!(found.count("num_groups").unwrap(), 5);
        assert_eq!(found.positive("local_bandwidth").unwrap(), 5.25);
        assert_eq!(found.file("intra").unwrap(), Path::new("conf/b#c;d"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let found = read(TEXT).unwrap();
        let message = |error: TraceError| error.to_string();
        assert_eq!(
            message(found.count("packet_size").unwrap_err()),
            "conf/some.conf: `packet_size` is not given, which this network needs"
        );
        assert_eq!(
            message(found.count("local_bandwidth").unwrap_err()),
            "conf/some.conf: line 9: `local_bandwidth` is \"5.25\"; a whole number is needed"
        );
        assert!(message(found.positive("intra").unwrap_err()).contains("line 10"));
        let torn = read("num_groups=5;\n").unwrap_err();
        assert!(message(torn).contains("line 1: `num_groups=5` has no value"));
    }
}
