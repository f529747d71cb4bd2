//! The commit that the fleet files' repository has checked out, and whether they differ from it.

use std::path::Path;

use crate::config::desired::Desired;
use crate::host::disk::Disk;
use crate::host::real::{Machine, checkout};

/// Digits of a commit that are shown.
const SHORT: usize = 7;
const LIMIT: u64 = 4 * 1024 * 1024;

/// What a fleet's files are at: `a1b2c3d`, or `a1b2c3d+` where one of them differs from that commit. None outside of git.
#[must_use]
pub fn of(machine: &Machine, desired: &Desired) -> Option<String> {
    let commit = head(machine, desired.sources.first()?)?;
    let modified = checkout::modified(&desired.sources).unwrap_or(false);
    Some(if modified { format!("{commit}+") } else { commit })
}

/// The commit of `HEAD`, shortened, when `file` is in a git work tree. No git process is started.
fn head(disk: &dyn Disk, file: &Path) -> Option<String> {
    let read = |path: &Path| String::from_utf8(disk.read(path, LIMIT).ok()?).ok();
    let git = file.ancestors().skip(1).map(|dir| dir.join(".git")).find(|git| git.exists())?;
    let git = match read(&git) {
        Some(link) => file.parent()?.join(link.trim().strip_prefix("gitdir: ")?),
        None => git,
    };
    let head = read(&git.join("HEAD"))?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(reference) => {
            let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |dir| git.join(dir.trim()));
            read(&common.join(reference)).or_else(|| packed(&read(&common.join("packed-refs"))?, reference))?
        }
    };
    let short: String = commit.trim().chars().take(SHORT).collect();
    (short.len() == SHORT && short.bytes().all(|b| b.is_ascii_hexdigit())).then_some(short)
}

fn packed(refs: &str, reference: &str) -> Option<String> {
    let line = refs.lines().find(|line| line.split_once(' ').is_some_and(|(_, name)| name == reference))?;
    line.split_once(' ').map(|(commit, _)| commit.to_owned())
}
