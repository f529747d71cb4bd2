//! Whether a conversation can be resumed: the exact evidence that its agent reported, looked at again before each resume.
//!
//! Only files named by a report are looked at, only their heads, and never through a link. Nothing is searched for: a
//! conversation that is not where it was said to be is missing, whatever else lies beside it.

use std::path::{Path, PathBuf};

use crate::host::disk::{Disk, DiskFault};

use super::kind::reports::EvidenceRule;

mod assigned;
mod heads;

pub use assigned::written;

/// The most that is read of a conversation's file, in bytes. Codex's header line takes about 23 KB (0.171.0).
pub const HEAD: u64 = 64 << 10;

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// The id as the agent reported it.
    pub reported: &'a str,
    /// The id it was verified to be before; it must be the same again.
    pub bound: Option<&'a str>,
    /// The files that reports of it named, the best first.
    pub transcripts: &'a [PathBuf],
    /// Where the agent will look, when that is no longer where it wrote: see [`root`]. `None`: where it always did.
    pub root: Option<&'a Path>,
    /// A prompt was given, for all that is known.
    pub prompted: bool,
    /// Its file was seen before.
    pub seen: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The exact evidence.
    Verified {
        /// The conversation's id.
        id: String,
        /// What it is resumed by, the value of `{conversation}`: the id, or the file.
        target: String,
    },
    /// No prompt was given and no file was ever there: nothing to resume, and nothing to lose.
    NeverPrompted,
    /// Its file is there and nothing was said in it: nothing to lose, and its id cannot be used again.
    Empty,
    /// Not written yet, in words.
    Pending(String),
    /// It should be there and is not, in words.
    Missing(String),
    /// It is there and is something else, in words.
    Changed(String),
    /// It could not be looked at, in words: nothing is known.
    Unreadable(String),
}

/// Looks for the evidence.
#[must_use]
pub fn verify(rule: EvidenceRule, sought: &Sought<'_>, disk: &dyn Disk) -> Finding {
    match rule {
        EvidenceRule::ReportedId => same(sought.reported),
        EvidenceRule::ClaudeTranscript => first(sought, |path| claude(sought, path, disk)),
        EvidenceRule::CodexRollout => {
            // It reports at a prompt, never before.
            let sought = &Sought { prompted: true, ..*sought };
            first(sought, |path| {
                below(sought, path, "sessions").or_else(|| Some(head(path, sought, disk, heads::codex)))
            })
        }
        EvidenceRule::SessionFile => first(sought, |path| Some(head(path, sought, disk, heads::session))),
        EvidenceRule::GeminiChat => {
            // Its file is there from the start, and goes at the end when nothing was said.
            let sought = &Sought { seen: sought.seen && sought.prompted, ..*sought };
            first(sought, |path| below(sought, path, "tmp").or_else(|| Some(head(path, sought, disk, heads::gemini))))
        }
    }
}

/// Where an agent with this environment looks for its conversations; `None` where it is told the file, or keeps none.
#[must_use]
pub fn root<'a>(rule: EvidenceRule, env: impl Fn(&str) -> Option<&'a str>) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = |name: &str| set("HOME").map(|home| home.join(name));
    match rule {
        EvidenceRule::ClaudeTranscript => set("CLAUDE_CONFIG_DIR").or_else(|| home(".claude")),
        EvidenceRule::CodexRollout => set("CODEX_HOME").or_else(|| home(".codex")),
        EvidenceRule::GeminiChat => set("GEMINI_CLI_HOME").map(|home| home.join(".gemini")).or_else(|| home(".gemini")),
        EvidenceRule::SessionFile | EvidenceRule::ReportedId => None,
    }
}

fn same(id: &str) -> Finding {
    Finding::Verified { id: id.to_owned(), target: id.to_owned() }
}

/// The first file with a good answer, else the answer for the first file at all.
fn first(sought: &Sought<'_>, look: impl Fn(&Path) -> Option<Finding>) -> Finding {
    let mut worst = None;
    for path in sought.transcripts {
        let found = if path.is_absolute() {
            look(path)
        } else {
            Some(Finding::Changed(format!("{} is not an absolute path", path.display())))
        };
        match found {
            Some(good @ Finding::Verified { .. }) => return good,
            other => worst = worst.or(other),
        }
    }
    worst.unwrap_or_else(|| Finding::Missing("the agent named no file of it".to_owned()))
}

/// The answer for a file that is elsewhere than `part` below where the agent will look.
fn below(sought: &Sought<'_>, path: &Path, part: &str) -> Option<Finding> {
    let root = sought.root?.join(part);
    let there = path.starts_with(&root);
    (!there).then(|| {
        Finding::Missing(format!("{} is not below {}, where the agent will look", path.display(), root.display()))
    })
}

/// `<config>/projects/<directory>/<id>.jsonl`: named at the start, there from the first prompt or a `/clear` on. What is in
/// it is Claude's own affair; one without a message is no conversation to `--resume`, and taken to `--session-id`.
fn claude(sought: &Sought<'_>, path: &Path, disk: &dyn Disk) -> Option<Finding> {
    if path.file_name().and_then(|name| name.to_str()) != Some(&format!("{}.jsonl", sought.reported)) {
        return Some(Finding::Changed(format!("{} is another conversation's file", path.display())));
    }
    if let Some(elsewhere) = below(sought, path, "projects") {
        return Some(elsewhere);
    }
    Some(match disk.head(path, HEAD) {
        Ok(bytes) if bytes.len() as u64 >= HEAD || heads::has_claude_message(&bytes) => same(sought.reported),
        Ok(_) => match absent(sought, format!("{} holds no message", path.display()), false) {
            Finding::NeverPrompted => Finding::Empty,
            other => other,
        },
        Err(error) if error.fault == DiskFault::Missing => {
            absent(sought, format!("{} is not there", path.display()), false)
        }
        Err(error) if error.fault == DiskFault::WrongType => Finding::Changed(error.to_string()),
        Err(error) => Finding::Unreadable(error.to_string()),
    })
}

/// What a head says.
enum Said {
    /// It is of the conversation with this id, to be resumed by it.
    Id(String),
    /// It is of the conversation, to be resumed by the file.
    File,
    /// It is not all there yet.
    Unfinished,
    /// It is something else, in words.
    Other(String),
}

fn head(path: &Path, sought: &Sought<'_>, disk: &dyn Disk, read: fn(&[u8], &Sought<'_>) -> Said) -> Finding {
    let bytes = match disk.head(path, HEAD) {
        Ok(bytes) => bytes,
        Err(error) if error.fault == DiskFault::Missing => {
            return absent(sought, format!("{} is not there", path.display()), true);
        }
        Err(error) if error.fault == DiskFault::WrongType => return Finding::Changed(error.to_string()),
        Err(error) => return Finding::Unreadable(error.to_string()),
    };
    let changed = |words: &str| Finding::Changed(format!("{}: {words}", path.display()));
    match read(&bytes, sought) {
        Said::Id(id) if sought.bound.is_some_and(|bound| bound != id) => changed("it is another conversation's now"),
        Said::Id(id) => Finding::Verified { target: id.clone(), id },
        Said::File => match path.to_str() {
            Some(target) => Finding::Verified { id: sought.reported.to_owned(), target: target.to_owned() },
            None => changed("its path is not UTF-8"),
        },
        Said::Unfinished if bytes.len() as u64 >= HEAD => changed("its head is longer than 64 KiB"),
        Said::Unfinished if sought.seen => changed("its head is cut off"),
        Said::Unfinished => Finding::Pending(format!("{} is being written", path.display())),
        Said::Other(words) => changed(&words),
    }
}

/// The answer for a file that is not there. `late`: the agent writes it some time after the first prompt.
fn absent(sought: &Sought<'_>, words: String, late: bool) -> Finding {
    match (sought.seen, sought.prompted) {
        (false, false) => Finding::NeverPrompted,
        (false, true) if late => Finding::Pending(words),
        _ => Finding::Missing(words),
    }
}

#[cfg(test)]
mod tests;
