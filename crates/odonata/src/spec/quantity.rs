//! Quantities as people write them: numbers with units, exact in whole base units.

/// A kind of quantity.
pub struct Quantity {
    /// What it is, as messages name it.
    pub kind: &'static str,
    /// The base unit.
    pub base_unit: &'static str,
    /// Every unit, and the base units that it is: numerator and denominator.
    pub units: &'static [(&'static str, u128, u128)],
    /// Units that texts of values have.
    printed: &'static [&'static str],
    /// For messages.
    pub example: &'static str,
    /// The largest value, and how messages name it.
    pub largest: (u128, &'static str),
    /// Whether values between two base units are rounded; otherwise they are refused.
    rounds: bool,
}

const LARGEST: (u128, &str) = (i64::MAX as u128, "2^63 of its smallest unit");

const DURATION: Quantity = Quantity {
    kind: "a duration",
    base_unit: "ps",
    units: &[
        ("ps", 1, 1),
        ("ns", 1_000, 1),
        ("us", 1_000_000, 1),
        ("µs", 1_000_000, 1),
        ("μs", 1_000_000, 1),
        ("ms", 1_000_000_000, 1),
        ("s", 1_000_000_000_000, 1),
        ("min", 60_000_000_000_000, 1),
        ("h", 3_600_000_000_000_000, 1),
    ],
    printed: &["ps", "ns", "us", "ms", "s"],
    example: "100 ns",
    largest: (
        50 * 24 * 3_600_000_000_000_000,
        "50 days (1200 h), the longest time that is simulated",
    ),
    rounds: false,
};

const SIZE: Quantity = Quantity {
    kind: "a size",
    base_unit: "B",
    units: &[
        ("B", 1, 1),
        ("kB", 1_000, 1),
        ("MB", 1_000_000, 1),
        ("GB", 1_000_000_000, 1),
        ("TB", 1_000_000_000_000, 1),
        ("KiB", 1 << 10, 1),
        ("MiB", 1 << 20, 1),
        ("GiB", 1 << 30, 1),
        ("TiB", 1 << 40, 1),
    ],
    printed: &["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"],
    example: "1 MB",
    largest: LARGEST,
    rounds: false,
};

const RATE: Quantity = Quantity {
    kind: "a bandwidth",
    base_unit: "B/s",
    units: &[
        ("B/s", 1, 1),
        ("kB/s", 1_000, 1),
        ("MB/s", 1_000_000, 1),
        ("GB/s", 1_000_000_000, 1),
        ("TB/s", 1_000_000_000_000, 1),
        ("KiB/s", 1 << 10, 1),
        ("MiB/s", 1 << 20, 1),
        ("GiB/s", 1 << 30, 1),
        ("TiB/s", 1 << 40, 1),
        ("bit/s", 1, 8),
        ("kbit/s", 1_000, 8),
        ("Mbit/s", 1_000_000, 8),
        ("Gbit/s", 1_000_000_000, 8),
        ("Tbit/s", 1_000_000_000_000, 8),
    ],
    printed: &[
        "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s",
    ],
    example: "16 GB/s",
    largest: LARGEST,
    rounds: true,
};

const SHARE: Quantity = Quantity {
    kind: "a share",
    base_unit: "ppm",
    units: &[("ppm", 1, 1), ("%", 10_000, 1)],
    printed: &["%"],
    example: "2 %",
    largest: LARGEST,
    rounds: false,
};

const FLOP_RATE: Quantity = Quantity {
    kind: "a computing rate",
    base_unit: "FLOP/s",
    units: &[
        ("FLOP/s", 1, 1),
        ("kFLOP/s", 1_000, 1),
        ("MFLOP/s", 1_000_000, 1),
        ("GFLOP/s", 1_000_000_000, 1),
        ("TFLOP/s", 1_000_000_000_000, 1),
        ("PFLOP/s", 1_000_000_000_000_000, 1),
    ],
    printed: &[
        "FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s",
    ],
    example: "10 GFLOP/s",
    largest: LARGEST,
    rounds: true,
};

/// A theoretical global link load (Kang et al. 2019, equation 4).
const GLOBAL_LOAD: Quantity = Quantity {
    kind: "a theoretical global link load",
    base_unit: "ppm TGLL",
    units: &[
        ("% TGLL", 10_000, 1),
        ("TGLL", 1_000_000, 1),
        ("ppm TGLL", 1, 1),
    ],
    printed: &["% TGLL"],
    example: "90 % TGLL",
    largest: LARGEST,
    rounds: false,
};

/// A duration of job logs.
const SPAN: Quantity = Quantity {
    kind: "a duration",
    base_unit: "s",
    units: &[
        ("s", 1, 1),
        ("min", 60, 1),
        ("h", 3_600, 1),
        ("d", 86_400, 1),
        ("w", 7 * 86_400, 1),
    ],
    printed: &["s", "min", "h", "d"],
    example: "30 min",
    largest: LARGEST,
    rounds: false,
};

/// Units of time as words, each with its seconds; an `s` may follow.
const TIMES_IN_WORDS: [(&str, u128); 8] = [
    ("sec", 1),
    ("second", 1),
    ("minute", 60),
    ("hr", 3_600),
    ("hour", 3_600),
    ("d", 86_400),
    ("day", 86_400),
    ("week", 7 * 86_400),
];

/// What was found, and what is allowed instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was given.
    pub found: String,
    /// What would be accepted.
    pub allowed: String,
    /// What was probably meant, or nothing.
    pub hint: String,
}

impl Refused {
    pub(crate) fn new(found: String, allowed: String) -> Self {
        Self {
            found,
            allowed,
            hint: String::new(),
        }
    }

    /// What is allowed, with what was probably meant.
    pub fn allowed_with_hint(&self) -> String {
        match self.hint.as_str() {
            "" => self.allowed.clone(),
            hint => format!("{} ({hint})", self.allowed),
        }
    }
}

/// The digits, the power of ten and the unit of a text such as `1.5e3 us`.
fn parts(text: &str) -> Option<(u128, i32, &str)> {
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    let number = text
        .find(|c: char| !(c.is_ascii_digit() || c == '_' || c == '.'))
        .unwrap_or(text.len());
    let (number, mut rest) = text.split_at(number);
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let is_point_last = number.ends_with('.') || number.starts_with('_');
    if (whole.is_empty() && places.is_empty()) || is_point_last || places.contains(['.', '_']) {
        return None;
    }
    let places = places.trim_end_matches('0');
    let digits: String = whole
        .chars()
        .chain(places.chars())
        .filter(|c| *c != '_')
        .collect();
    let mut power = -i32::try_from(places.len()).ok()?;
    if let Some(after) = rest.strip_prefix(['e', 'E']) {
        let sign = usize::from(after.starts_with(['+', '-']));
        let count = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if (1..=2).contains(&count) {
            power += after[..sign + count].parse::<i32>().ok()?;
            rest = &after[sign + count..];
        }
    }
    let unit = rest.trim_start();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some((0, 0, unit));
    }
    // No number of so many digits is any quantity; it is refused as too large.
    Some((digits.parse().unwrap_or(u128::MAX), power, unit))
}

/// The exact decimal text of a fraction, if it has one.
fn decimal(value: u128, by: u128) -> Option<String> {
    let mut text = (value / by).to_string();
    let mut rest = value % by;
    if rest > 0 {
        text.push('.');
    }
    // A fraction of units has no more places than its denominator has factors of 2.
    for _ in 0..64 {
        if rest == 0 {
            return Some(text);
        }
        rest *= 10;
        text.push(char::from_digit((rest / by) as u32, 10)?);
        rest %= by;
    }
    None
}

/// A number as messages show it, with at most six digits that count.
fn six_digits(value: f64) -> String {
    let exponent = value.abs().log10().floor();
    if !(-5.0..6.0).contains(&exponent) {
        return format!("{value:.5e}");
    }
    let scale = 10f64.powi(5 - exponent as i32);
    format!("{}", (value * scale).round() / scale)
}

impl Quantity {
    /// The kind of quantity of a name.
    pub fn of(name: &str) -> &'static Self {
        match name {
            "duration" => &DURATION,
            "size" => &SIZE,
            "rate" => &RATE,
            "floprate" => &FLOP_RATE,
            "globalload" => &GLOBAL_LOAD,
            "span" => &SPAN,
            _ => &SHARE,
        }
    }

    /// What texts are accepted, for messages.
    pub fn allowed(&self) -> String {
        let units: Vec<&str> = self.units.iter().map(|unit| unit.0).collect();
        let (kind, example) = (self.kind, self.example);
        format!(
            "{kind} with a unit such as \"{example}\" (units: {})",
            units.join(", ")
        )
    }

    /// The base units of a unit of time that is written as a word.
    fn in_words(&self, unit: &str) -> Option<(u128, u128)> {
        let (_, second, by) = self.units.iter().find(|known| known.0 == "s")?;
        let many = unit.strip_suffix('s').filter(|word| word.len() > 1);
        let is_meant = |word: &str| unit == word || many == Some(word);
        let mut words = TIMES_IN_WORDS.iter();
        let (_, seconds) = words.find(|(word, _)| is_meant(word))?;
        Some((seconds * second, *by))
    }

    /// The number of base units of a text.
    ///
    /// # Errors
    /// If the text is no such quantity.
    pub fn parse(&self, text: &str) -> Result<u64, Refused> {
        let refused = |found: String, allowed: String| Err(Refused::new(found, allowed));
        let quoted = format!("\"{text}\"");
        let is_negative = text.trim().starts_with('-');
        let positive = text.trim().trim_start_matches('-');
        let Some((digits, power, unit)) = parts(if is_negative { positive } else { text }) else {
            return refused(quoted, self.allowed());
        };
        if unit.is_empty() {
            return refused(format!("{quoted} without a unit"), self.allowed());
        }
        // Units of two words may be written as one.
        let plain = |text: &str| text.replace(' ', "");
        let is_unit =
            |known: &str| known == unit || (known.contains(' ') && plain(known) == plain(unit));
        let known = self.units.iter().find(|known| is_unit(known.0));
        let known = known.map(|(_, numerator, denominator)| (*numerator, *denominator));
        let Some((numerator, denominator)) = known.or_else(|| self.in_words(unit)) else {
            return Err(Refused {
                hint: self.hint(unit),
                ..Refused::new(format!("unit \"{unit}\" in {quoted}"), self.allowed())
            });
        };
        if is_negative && digits != 0 {
            return refused(quoted, format!("{} of at least 0", self.kind));
        }
        let ten = |power: i32| 10u128.checked_pow(u32::try_from(power.max(0)).unwrap_or(0));
        let value = (digits.checked_mul(numerator))
            .and_then(|value| value.checked_mul(ten(power)?))
            .zip(ten(-power).and_then(|ten| ten.checked_mul(denominator)));
        let Some((value, parts)) = value else {
            return Err(self.too_large(quoted));
        };
        let (whole, rest) = (value / parts, value % parts);
        if rest != 0 && !self.rounds {
            let exact = six_digits(value as f64 / parts as f64);
            let found = format!("{quoted}, which is {exact} {}", self.base_unit);
            let allowed = format!("{} that is a whole number of {}", self.kind, self.base_unit);
            return refused(found, allowed);
        }
        // To the nearest, of two to the even one.
        let below = parts - rest;
        let up = rest > below || (rest == below && whole % 2 == 1);
        let whole = whole + u128::from(up);
        if whole > self.largest.0 {
            return Err(self.too_large(quoted));
        }
        Ok(u64::try_from(whole).unwrap_or(u64::MAX))
    }

    /// A number of base units, if it is none too many.
    ///
    /// # Errors
    /// If there are too many.
    pub fn checked(&self, value: i128) -> Result<u64, Refused> {
        match u64::try_from(value) {
            Ok(value) if u128::from(value) <= self.largest.0 => Ok(value),
            _ => Err(self.too_large(format!("{value} {}", self.base_unit))),
        }
    }

    fn too_large(&self, found: String) -> Refused {
        Refused::new(
            found,
            format!("{} between 0 and {}", self.kind, self.largest.1),
        )
    }

    /// What a wrong unit was probably meant to be.
    fn hint(&self, unit: &str) -> String {
        let is_known = |wanted: &str| self.units.iter().any(|known| known.0 == wanted);
        let lower = unit.to_lowercase();
        if self.base_unit == "B" && ["bit", "kbit", "mbit", "gbit"].contains(&lower.as_str()) {
            return "sizes are in bytes".to_owned();
        }
        if self.base_unit == "B/s" {
            let prefix = unit
                .strip_suffix("b/s")
                .or_else(|| unit.strip_suffix("bps"));
            if let Some(prefix) =
                prefix.filter(|prefix| "kKMGT".contains(prefix) && !prefix.is_empty())
            {
                let prefix = prefix.replace('K', "k");
                return format!(
                    "did you mean \"{prefix}B/s\" (bytes) or \"{prefix}bit/s\" (bits)?"
                );
            }
            if is_known(&format!("{unit}/s")) {
                return format!("did you mean \"{unit}/s\"?");
            }
        }
        let mut folded = self.units.iter().map(|known| known.0).rev();
        let near = folded.find(|known| known.to_lowercase() == lower);
        near.map_or_else(String::new, |near| format!("did you mean \"{near}\"?"))
    }

    /// The shortest exact text of a number of base units, such as `1.5 us`.
    pub fn shortest(&self, value: u64) -> String {
        let mut best = String::new();
        for unit in self.printed {
            let Some((_, numerator, denominator)) =
                self.units.iter().find(|known| known.0 == *unit)
            else {
                continue;
            };
            let value = u128::from(value) * denominator;
            let Some(number) = decimal(value, *numerator) else {
                continue;
            };
            let text = format!("{number} {unit}");
            let is_short =
                text.chars().count() <= best.chars().count() && (value >= *numerator || value == 0);
            if best.is_empty() || is_short {
                best = text;
            }
        }
        best
    }

    /// What values of at least `least` and at most `most` are called.
    pub fn between(&self, least: Option<u64>, most: Option<u64>) -> String {
        let least = self.text(least.unwrap_or(0));
        match most {
            Some(most) => format!("{} between {least} and {}", self.kind, self.text(most)),
            None => format!("{} at least {least}", self.kind),
        }
    }

    /// A number of base units with the largest unit of which it is a whole number.
    pub fn text(&self, value: u64) -> String {
        let is_base_printed = self.printed.contains(&self.base_unit);
        let fitting = self.units.iter().filter(|(unit, numerator, denominator)| {
            let whole = u128::from(value);
            let is_printed = is_base_printed || *unit != self.base_unit;
            is_printed && *denominator == 1 && whole >= *numerator && whole % numerator == 0
        });
        match fitting.max_by_key(|unit| unit.1) {
            Some((unit, numerator, _)) => format!("{} {unit}", u128::from(value) / numerator),
            None if is_base_printed => format!("{value} {}", self.base_unit),
            None => self.shortest(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        let parse = |kind: &str, text: &str| Quantity::of(kind).parse(text).ok();
        for (kind, text, value) in [
            ("duration", "1.5 us", 1_500_000),
            ("duration", "30 days", 2_592_000_000_000_000_000),
            ("duration", "2 secs", 2_000_000_000_000),
            ("span", "1.5 hours", 5_400),
            ("span", "1 day", 86_400),
            ("duration", "2e-3 ns", 2),
            ("duration", " .5ns ", 500),
            ("size", "4 KiB", 4096),
            ("size", "1_000 B", 1000),
            ("rate", "42 Gbit/s", 5_250_000_000),
            // 4.69 · 2^30 = 5,035,849,154.56, and 5.25 · 2^30 exactly.
            ("rate", "4.69 GiB/s", 5_035_849_155),
            ("rate", "5.25 GiB/s", 5_637_144_576),
            // Half a byte to the even one.
            ("rate", "4 bit/s", 0),
            ("rate", "12 bit/s", 2),
            ("share", "2.5 %", 25_000),
        ] {
            assert_eq!(parse(kind, text), Some(value), "{text}");
        }
        for (kind, text) in [
            ("duration", "0.1 ps"),
            ("duration", "1201 h"),
            ("duration", "10"),
            ("duration", "1 MB"),
            ("duration", "2 ds"),
            ("duration", "1. ns"),
            ("duration", "-1 ns"),
            ("size", "0.5 B"),
            ("size", "1e40 TB"),
            ("size", "99999999999999999999999999999999999999999999 B"),
            ("rate", "1 Gb/s"),
            ("rate", ""),
        ] {
            assert_eq!(parse(kind, text), None, "{text}");
        }
    }

    #[test]
    fn what_was_probably_meant_is_said() {
        let refused = |kind: &str, text: &str| Quantity::of(kind).parse(text).unwrap_err();
        for (kind, text, hint) in [
            ("duration", "100 NS", "did you mean \"ns\"?"),
            ("size", "1 mb", "did you mean \"MB\"?"),
            ("size", "8 Gbit", "sizes are in bytes"),
            ("rate", "4 GB", "did you mean \"GB/s\"?"),
            (
                "rate",
                "10 Gbps",
                "did you mean \"GB/s\" (bytes) or \"Gbit/s\" (bits)?",
            ),
            ("rate", "10 parsecs", ""),
        ] {
            assert_eq!(refused(kind, text).hint, hint, "{text}");
        }
        assert_eq!(
            refused("duration", "-1 ns").allowed,
            "a duration of at least 0"
        );
        assert_eq!(Quantity::of("duration").parse("-0 ns"), Ok(0));
        assert_eq!(
            refused("duration", "0.5 ps").found,
            "\"0.5 ps\", which is 0.5 ps"
        );
        assert!(refused("duration", "1e99 s").allowed.contains("50 days"));
    }

    #[test]
    fn texts_have_the_largest_unit() {
        assert_eq!(Quantity::of("duration").text(7_200_000_000_000_000), "2 h");
        assert_eq!(Quantity::of("size").text(4096), "4 KiB");
        for (kind, value, text) in [
            ("duration", 1_500_000, "1.5 us"),
            ("duration", 0, "0 s"),
            ("duration", 999, "999 ps"),
            ("size", 64, "64 B"),
            ("rate", 5_637_144_576, "5.25 GiB/s"),
            ("rate", 12_500_000_000, "12.5 GB/s"),
            ("share", 25_000, "2.5 %"),
            ("span", 5_400, "1.5 h"),
        ] {
            assert_eq!(Quantity::of(kind).shortest(value), text);
        }
        let allowed = Quantity::of("rate").between(Some(1_000), Some(1_000_000_000_000_000));
        assert_eq!(allowed, "a bandwidth between 1 kB/s and 1000 TB/s");
    }
}
