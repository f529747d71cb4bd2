//! The files of a fleet: which they are, their text, and where their values stand.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draft::{Draft, FileId, Site};
use super::tree::{self, Found, Step, Stretch, Tree};

/// The largest file, in bytes.
pub const MAX_FILE: u64 = 1 << 20;

/// One file.
#[derive(Debug)]
pub struct File {
    /// Its name in messages.
    pub display: String,
    /// Its real path; `-` for standard input.
    pub real: PathBuf,
    /// Where its relative paths start.
    pub dir: PathBuf,
    /// Its text.
    pub text: String,
    /// Where its values stand.
    pub tree: Tree,
    /// The tree covers the whole text.
    pub whole: bool,
}

/// All files of one run, in the order they were read.
pub type Files = Vec<File>;

/// Reads a plain file of at most [`MAX_FILE`] bytes as UTF-8.
///
/// # Errors
/// What is wrong with it, in words that follow its name.
pub fn read_text(path: &Path) -> Result<String, String> {
    // Opening a pipe would wait for its writer.
    let options = fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
    let file = options.map_err(|error| format!("cannot be read: {error}"))?;
    if !file.metadata().is_ok_and(|it| it.is_file()) {
        return Err("is not a plain file".to_owned());
    }
    read_from(file)
}

/// Reads at most [`MAX_FILE`] bytes of UTF-8.
///
/// # Errors
/// What is wrong, in words that follow the source's name.
pub fn read_from(from: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("is larger than {} KiB", MAX_FILE / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        format!("is not UTF-8 (line {})", before.iter().filter(|byte| **byte == b'\n').count() + 1)
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Parses a file: where its values stand, and the values. The value is none when it cannot be had.
pub fn parse(id: FileId, file: &mut File, drafts: &mut Vec<Draft>) -> Option<Value> {
    let (tree, faults) = tree::read(&file.text);
    file.whole = !faults.iter().any(|fault| fault.fatal);
    file.tree = tree;
    for fault in faults {
        let site = |at| Site { file: id, at: Some(at) };
        let help = fault.help.or_else(|| fault.fatal.then(|| flow_trap(&file.text, fault.at)).flatten());
        let draft = Draft::error(site(fault.at), "", fault.words).help(help);
        drafts.push(match fault.other {
            Some((at, label)) => draft.and(Some(site(at)), label),
            None => draft,
        });
    }
    if !file.whole || file.tree.root().is_none() {
        return None;
    }
    match values(&file.text, file.tree.merges()) {
        Ok(value) => Some(value),
        Err(error) => {
            // Tags and duplicates were reported above; what else the value parser refuses is reported here.
            if !drafts.iter().any(|draft| draft.is_of(id)) {
                let at = error.location().map(|at| tree::Pos {
                    line: u32::try_from(at.line().saturating_sub(1)).unwrap_or(u32::MAX),
                    column: u32::try_from(at.column().saturating_sub(1)).unwrap_or(u32::MAX),
                });
                let at = at.map(|at| Stretch { start: at, end: at });
                drafts.push(Draft::error(Site { file: id, at }, "", format!("this is no YAML: {error}")));
            }
            None
        }
    }
}

/// The values of a text whose tree was built without a fatal fault. Without merge keys they are read in one step.
fn values(text: &str, merges: bool) -> Result<Value, serde_yaml::Error> {
    if !merges {
        return serde_yaml::from_str(text);
    }
    let mut value: serde_yaml::Value = serde_yaml::from_str(text)?;
    value.apply_merge()?;
    serde_yaml::from_value(value)
}

/// The usual reason for a syntax error beside `${`.
fn flow_trap(text: &str, at: Stretch) -> Option<String> {
    let line = text.lines().nth(at.start.line as usize)?;
    let before = text.lines().nth((at.start.line as usize).checked_sub(1)?).unwrap_or_default();
    let trapped = |line: &str| {
        line.find("${")
            .is_some_and(|dollar| line[..dollar].contains(['{', '[']) && !line[..dollar].ends_with(['"', '\'']))
    };
    (trapped(line) || trapped(before))
        .then(|| "inside `{…}` and `[…]` a value with `${…}` must be quoted: \"~/${x}\"".to_owned())
}

impl File {
    /// Where a path from `node` leads, as a site: the value if it is a scalar, otherwise its key.
    #[must_use]
    pub fn site(&self, id: FileId, found: Found) -> Site {
        let value = self.tree.at(found.node);
        let owner = found.key.filter(|_| self.tree.is_container(found.node) || value.start == value.end);
        let at = match owner {
            Some(key) => self.tree.at(key),
            None if self.tree.is_container(found.node) => Stretch { start: value.start, end: value.start },
            None => value,
        };
        Site { file: id, at: Some(at) }
    }
}

/// A path as people write it: `sessions.api.invocation[2]`.
#[must_use]
pub fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Item(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}
