//! Whether files of a git work tree differ from its commit.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::command::run_all;

/// How long git may take: an answer is nice to have.
const LIMIT: Duration = Duration::from_secs(2);
/// The most that it may print, in bytes.
const MOST: usize = 1 << 20;

/// Whether one of `files`, all of them of one work tree, is modified, staged or untracked. None where git does not say.
/// No hook and no monitor of the repository is started, and nothing is written.
#[must_use]
pub fn modified(files: &[PathBuf]) -> Option<bool> {
    let dir = files.first()?.parent()?;
    let mut git = Command::new("git");
    git.args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    git.arg("--literal-pathspecs").args(["status", "--porcelain", "--untracked-files=all", "--"]).args(files);
    git.current_dir(dir).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    let output = run_all(&mut git, LIMIT, MOST).ok().filter(|output| output.status.success())?;
    Some(!output.stdout.is_empty())
}
