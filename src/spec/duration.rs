//! Durations as an operator writes them: `250ms`, `5s`, `10m`, `1h`.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A length of time: a whole number and one of `ms`, `s`, `m`, `h`, `d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^[0-9]+(ms|s|m|h|d)$",
            "x-expects" = "a duration: a whole number and ms, s, m, h or d, such as 250ms or 10m"))]
pub struct Period(pub Duration);

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration: write a whole number and ms, s, m, h or d, such as 250ms or 10m")]
pub struct PeriodError(String);

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl std::str::FromStr for Period {
    type Err = PeriodError;
    fn from_str(text: &str) -> Result<Self, PeriodError> {
        let bad = || PeriodError(text.to_owned());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| bad())?;
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
        number.checked_mul(*scale).map(|ms| Self(Duration::from_millis(ms))).ok_or_else(bad)
    }
}

impl fmt::Display for Period {
    /// The largest unit that divides the value exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        let (unit, scale) = UNITS.iter().rev().find(|(_, scale)| ms >= *scale && ms % scale == 0).unwrap_or(&UNITS[1]);
        write!(f, "{}{unit}", ms / scale)
    }
}

impl TryFrom<String> for Period {
    type Error = PeriodError;
    fn try_from(text: String) -> Result<Self, PeriodError> {
        text.parse()
    }
}

impl From<Period> for String {
    fn from(period: Period) -> Self {
        period.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print_the_same() {
        for text in ["250ms", "5s", "10m", "1h", "30d", "0s", "1500ms"] {
            assert_eq!(text.parse::<Period>().unwrap().to_string(), text);
        }
        for bad in ["", "5", "s", "5 s", "-5s", "1.5s", "5S", "99999999999999999999s", "9999999999999999h"] {
            assert!(bad.parse::<Period>().is_err(), "{bad}");
        }
    }
}
