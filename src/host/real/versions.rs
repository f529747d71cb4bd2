//! What version an installed program says it is.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::command::{RunError, run_all};
use crate::spec::visible::visible;

/// Most that a program may print for its version, in bytes.
const MOST: usize = 64 * 1024;

/// Variables that name directories a program writes to.
const HOMES: [&str; 6] = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR"];

/// What `program --version` prints within `limit`. It gets no terminal, none of our environment but `path` as its
/// `PATH`, and an empty home that is removed behind it: several agents write files even then (Gemini CLI 0.61.0, Pi
/// 1.6.0 and Oh My Pi 18.2.3 do).
///
/// # Errors
/// In words: it cannot be started, takes too long, or fails.
pub fn printed(program: &Path, path: &OsStr, limit: Duration) -> Result<String, String> {
    let home = tempfile::Builder::new().prefix("farhelm-").tempdir();
    let home = home.map_err(|error: io::Error| format!("no temporary directory: {error}"))?;
    let mut command = Command::new(program);
    command.arg("--version").env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8").current_dir(home.path());
    command.envs(HOMES.map(|name| (name, home.path()))).stdin(Stdio::null());
    let output = run_all(&mut command, limit, MOST).map_err(|error| match error {
        RunError::Start(error) if error.kind() == io::ErrorKind::NotFound => "its interpreter is missing".to_owned(),
        other => other.to_string(),
    })?;
    if output.status.success() {
        Ok(visible(String::from_utf8_lossy(&output.stdout).trim()))
    } else {
        let complaint = output.complaint();
        Err(format!("`--version` fails ({}): {}", output.status, complaint.lines().next().unwrap_or("no word")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn program(dir: &Path, text: &str) -> PathBuf {
        let path = dir.join("agent");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn asked(text: &str, limit: Duration) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        printed(&program(dir.path(), text), OsStr::new("/usr/bin:/bin"), limit)
    }

    #[test]
    fn a_program_is_asked_in_a_home_of_its_own() {
        let home = asked("touch \"$HOME/x\" && echo \"$# $1 $HOME ${USER-unset}\"", LIMIT).unwrap();
        let words: Vec<&str> = home.split(' ').collect();
        assert_eq!((words[0], words[1], words[3]), ("1", "--version", "unset"));
        assert!(!Path::new(words[2]).exists(), "{home}");
    }

    #[test]
    fn a_failing_program_is_quoted() {
        let words = asked("echo no such thing >&2; exit 3", LIMIT).unwrap_err();
        assert!(words.contains("no such thing") && words.contains('3'), "{words}");
    }

    #[test]
    fn one_that_does_not_answer_ends_with_all_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("alive");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        // The child holds the fifo open for writing for as long as it lives: reading it ends when the child does.
        let text = format!("sh -c 'exec 9>{0}; sleep 1000' & exec 8<{0}; sleep 1000", fifo.display());
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || fs::read(fifo).map(|bytes| bytes.len())
        });
        let begun = Instant::now();
        let words = printed(&program(dir.path(), &text), OsStr::new("/usr/bin:/bin"), Duration::from_secs(1));
        assert!(words.unwrap_err().contains("no answer"));
        assert_eq!(reader.join().unwrap().unwrap(), 0);
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}
