//! The hook log of a session: one line for each run of the hook and each judgement, for whoever wonders why a
//! conversation is not known. Nothing depends on it: every failure to write it is ignored.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::host::disk::{Disk, DiskError, DiskFault};
use crate::spec::visible::shortened;

use super::{MAX_ID, MAX_WORD};

/// The size past which the log is cut, in bytes; the newer half stays.
pub const MAX_LOG: u64 = 64 << 10;

/// The most that is ever read of it.
const MAX_READ: u64 = MAX_LOG * 16;

/// What came of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The hook left it.
    Reported,
    /// It counts.
    Accepted,
    /// It counts for nothing, for the reason of this code.
    Refused(&'static str),
    /// The hook was run without the credentials of a session's agent.
    NoCredential,
    /// The hook was given something else than a report.
    BadPayload(BadPayload),
    /// The hook could not write it.
    NotWritten,
    /// The hook's time was over.
    Timeout,
    /// The hook itself failed.
    Panic,
}

/// What is wrong with what the hook was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadPayload {
    /// Longer than a report may be.
    Oversized,
    /// It could not be read.
    Unreadable,
    /// No JSON object.
    Unparsable,
    /// No `session_id`.
    MissingSessionId,
    /// A `session_id` of another type.
    SessionIdNotAString,
    /// An empty `session_id`.
    EmptySessionId,
    /// A `session_id` longer than [`MAX_ID`].
    OversizedSessionId,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported => f.write_str("reported"),
            Self::Accepted => f.write_str("accepted"),
            Self::Refused(code) => write!(f, "refused {code}"),
            Self::NoCredential => f.write_str("no-credential"),
            Self::BadPayload(what) => write!(f, "bad-payload {what}"),
            Self::NotWritten => f.write_str("not-written"),
            Self::Timeout => f.write_str("timeout"),
            Self::Panic => f.write_str("panic"),
        }
    }
}

impl fmt::Display for BadPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Oversized => "oversized",
            Self::Unreadable => "unreadable",
            Self::Unparsable => "unparsable",
            Self::MissingSessionId => "missing-session-id",
            Self::SessionIdNotAString => "session-id-not-a-string",
            Self::EmptySessionId => "empty-session-id",
            Self::OversizedSessionId => "oversized-session-id",
        })
    }
}

/// Where the log is, in a session's directory of reports.
#[must_use]
pub fn file(dir: &Path) -> PathBuf {
    dir.join("log")
}

/// One line of the log, its newline included: `<unix seconds> <outcome> [<detail> ]<conversation> <source>`. What is not
/// known is `-`; what a terminal would not only show, and every space, is replaced.
#[must_use]
pub fn line(wall_ms: i64, outcome: Outcome, conversation: Option<&str>, source: Option<&str>) -> String {
    let conversation = word(conversation, MAX_ID);
    let source = word(source, MAX_WORD);
    format!("{} {outcome} {conversation} {source}\n", wall_ms.div_euclid(1000))
}

fn word(text: Option<&str>, limit: usize) -> String {
    match text {
        None | Some("") => "-".to_owned(),
        Some(text) => shortened(text, limit).replace(char::is_whitespace, "\u{fffd}"),
    }
}

/// The part of an overlong log that stays: whole lines of its newer half.
#[must_use]
pub fn newer_half(log: &[u8]) -> &[u8] {
    let half = &log[log.len() / 2..];
    half.iter().position(|byte| *byte == b'\n').map_or(&[][..], |at| &half[at + 1..])
}

/// Adds a judgement to the log in a session's directory of reports.
///
/// # Errors
/// [`DiskError`], to be ignored.
pub fn append(disk: &dyn Disk, dir: &Path, line: &str) -> Result<(), DiskError> {
    disk.append(&file(dir), line.as_bytes())
}

/// The log's lines, oldest first, safe to print; none where there is no log.
///
/// # Errors
/// [`DiskError`].
pub fn lines(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>, DiskError> {
    let bytes = match disk.read(&file(dir), MAX_READ) {
        Err(error) if error.fault == DiskFault::Missing => return Ok(Vec::new()),
        other => other?,
    };
    Ok(String::from_utf8_lossy(&bytes).lines().map(|line| shortened(line, 1000)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_when_what_and_of_which_conversation() {
        for (outcome, conversation, source, line_) in [
            (Outcome::Reported, Some("id-1"), Some("startup"), "1700000000 reported id-1 startup\n"),
            (Outcome::Refused("old-launch"), Some("id-1"), None, "1700000000 refused old-launch id-1 -\n"),
            (
                Outcome::BadPayload(BadPayload::EmptySessionId),
                None,
                None,
                "1700000000 bad-payload empty-session-id - -\n",
            ),
            (Outcome::NoCredential, Some(""), Some(""), "1700000000 no-credential - -\n"),
        ] {
            assert_eq!(line(1_700_000_000_999, outcome, conversation, source), line_);
        }
    }

    #[test]
    fn a_reported_word_cannot_forge_a_line_nor_steer_a_terminal() {
        let line = line(0, Outcome::Reported, Some("a\nb c\u{1b}[2J\u{202e}"), Some("x\u{2028}y\t"));
        assert_eq!(line, "0 reported a\\u{a}b\u{fffd}c\\u{1b}[2J\\u{202e} x\\u{2028}y\\u{9}\n");
    }

    #[test]
    fn of_an_overlong_log_whole_lines_of_the_newer_half_stay() {
        assert_eq!(newer_half(b"one\ntwo\nthree\nfour\n"), b"four\n");
        assert_eq!(newer_half(b"no newline at all"), b"");
        assert_eq!(newer_half(b""), b"");
    }
}
