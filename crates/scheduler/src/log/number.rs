//! Numbers in logs: integers, sometimes written with a fraction.

use crate::Seconds;

/// Reads a number as a whole one and whether it had to be rounded; `None` if it is
/// no number or beyond ±2⁵³.
pub(super) fn whole(text: &str) -> Option<(i64, bool)> {
    if let Ok(value) = text.parse::<i64>() {
        return (value.unsigned_abs() <= Seconds::LIMIT.0 as u64).then_some((value, false));
    }
    let value = real(text)?;
    if value.abs() > Seconds::LIMIT.0 as f64 {
        return None;
    }
    let rounded = value.round();
    Some((rounded as i64, rounded != value))
}

/// Reads a finite number.
pub(super) fn real(text: &str) -> Option<f64> {
    // Rust also reads "inf" and "nan", which no log means.
    let starts_well = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    if !text.starts_with(starts_well) {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}
