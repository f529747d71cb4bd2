//! The commit that the fleet files' repository has checked out, read from its files: no git process is started.

use std::path::Path;

use crate::host::disk::Disk;

/// Digits of a commit that are shown.
const SHORT: usize = 7;
const LIMIT: u64 = 4 * 1024 * 1024;

/// The commit of `HEAD`, shortened, when `file` is in a git work tree.
#[must_use]
pub fn head(disk: &dyn Disk, file: &Path) -> Option<String> {
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
