//! Names of fleets, sessions, profiles, kinds and tabs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest name, in bytes.
pub const MAX_NAME: usize = 63;

/// A name: `[a-z0-9]([a-z0-9-]*[a-z0-9])?`, at most 63 bytes. Safe in file names, tmux names and stamps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
            "x-expects" = "a name: a-z, 0-9 and inner `-`, at most 63 characters"))]
pub struct Name(String);

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing there.
    #[error("a name must not be empty")]
    Empty,
    /// More than [`MAX_NAME`] bytes.
    #[error("`{0}` is {len} characters long; a name has at most {MAX_NAME}", len = .0.len())]
    TooLong(String),
    /// A character outside the alphabet, or a `-` at an end.
    #[error("`{0}` is not a name: use a-z, 0-9 and inner `-`")]
    BadCharacter(String),
}

impl Name {
    /// Checks and wraps `text`.
    ///
    /// # Errors
    /// [`NameError`] says what is wrong with it.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        match text.as_bytes() {
            [] => Err(NameError::Empty),
            bytes if bytes.len() > MAX_NAME => Err(NameError::TooLong(text)),
            [first, .., last] if !plain(*first) || !plain(*last) => Err(NameError::BadCharacter(text)),
            bytes if bytes.iter().any(|b| !plain(*b) && *b != b'-') || bytes == b"-" => {
                Err(NameError::BadCharacter(text))
            }
            _ => Ok(Self(text)),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_lower_case_with_inner_dashes_and_at_most_63_long() {
        for good in ["a", "0", "a-b", "web-2", &"x".repeat(63)] {
            assert!(Name::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-", "-a", "a-", "A", "a_b", "a.b", "é", &"x".repeat(64)] {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }
}
