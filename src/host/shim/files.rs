//! The shim's files: the spec it takes, and what it leaves.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK};

use crate::state::launch_files::{Failure, LaunchSpec, Sentinel, VERSION};

/// The largest spec. The kernel takes 2 MiB of arguments and environment; JSON may write a byte as six.
const MAX_SPEC: u64 = 16 * 1024 * 1024;

/// Why a spec cannot be used. None of these texts holds any of its content.
#[derive(Debug, thiserror::Error)]
pub(super) enum SpecError {
    #[error("cannot read the launch spec {path}: {error}", path = .0.display(), error = .1)]
    Io(PathBuf, io::Error),
    #[error("{} is no launch spec: it must be a plain file of this user, readable by nobody else", .0.display())]
    NotOurs(PathBuf),
    #[error("the launch spec {} is larger than {MAX_SPEC} bytes", .0.display())]
    TooLarge(PathBuf),
    #[error("the launch spec {} is damaged or of another farhelm version (line {line}, column {column})", .path.display())]
    Damaged { path: PathBuf, line: usize, column: usize },
}

/// Reads the spec and unlinks it, before anything can go wrong with its content.
pub(super) fn take(path: &Path) -> Result<LaunchSpec, SpecError> {
    let io = |error| SpecError::Io(path.to_owned(), error);
    let file =
        OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC).open(path).map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    let private = meta.mode() & 0o077 == 0 && meta.uid() == nix::unistd::geteuid().as_raw();
    if !meta.is_file() || !private {
        return Err(SpecError::NotOurs(path.to_owned()));
    }
    std::fs::remove_file(path).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(MAX_SPEC + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_SPEC {
        return Err(SpecError::TooLarge(path.to_owned()));
    }
    // serde_json's own words quote the value they stumble over.
    let damaged = |line, column| SpecError::Damaged { path: path.to_owned(), line, column };
    let spec: LaunchSpec = serde_json::from_slice(&bytes).map_err(|e| damaged(e.line(), e.column()))?;
    if spec.version == VERSION { Ok(spec) } else { Err(damaged(1, 1)) }
}

/// Where the sentinel of an unreadable spec belongs: `launch/<session>.<generation>.status`.
pub(super) fn status_beside(spec_file: &Path) -> PathBuf {
    spec_file.with_extension("status")
}

/// Writes the sentinel: whole and on the disk, or an error.
pub(super) fn report(status_file: &Path, failure: Failure, words: &str) -> io::Result<()> {
    let dir = status_file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let sentinel = Sentinel::new(failure, words);
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&serde_json::to_vec(&sentinel)?)?;
    file.as_file().sync_all()?;
    file.persist(status_file)?;
    File::open(dir)?.sync_all()
}

/// Says that the program is about to take over this process.
pub(super) fn mark_exec(exec_file: &Path, durable: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).custom_flags(O_NOFOLLOW).open(exec_file)?;
    writeln!(file, "{}", std::process::id())?;
    match exec_file.parent() {
        Some(dir) if durable => file.sync_all().and_then(|()| File::open(dir)?.sync_all()),
        _ => Ok(()),
    }
}

/// Takes it back. Where that fails the sentinel still says more than the mark.
pub(super) fn unmark_exec(exec_file: &Path) {
    let _ = std::fs::remove_file(exec_file);
}
