//! Waiting until processes are gone, through pidfds: a descriptor becomes readable when its process has exited, collected
//! or not.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::super::command::wait_on;
use super::{current, open};
use crate::host::process::ProcessKey;

/// Most pidfds held at once; far below the usual limit of 1,024 open files.
const CHUNK: usize = 256;

/// How often processes are looked up for which there is no pidfd (no descriptors left, say).
const LOOK: Duration = Duration::from_millis(20);

/// Waits until all of `keys` are gone, at most `limit` or until `abandon` is readable; returns those that are not.
///
/// All must go, so the chunks are waited for one after the other without losing time.
pub(super) fn until_gone(
    keys: &BTreeSet<ProcessKey>,
    limit: Duration,
    abandon: Option<&OwnedFd>,
) -> BTreeSet<ProcessKey> {
    let deadline = Instant::now() + limit;
    let all: Vec<ProcessKey> = keys.iter().copied().collect();
    all.chunks(CHUNK).flat_map(|chunk| chunk_gone(chunk, deadline, abandon)).collect()
}

/// One process that is waited for.
struct Watched {
    key: ProcessKey,
    /// `None`: to be looked up instead.
    fd: Option<OwnedFd>,
}

fn chunk_gone(chunk: &[ProcessKey], deadline: Instant, abandon: Option<&OwnedFd>) -> Vec<ProcessKey> {
    let mut watched: Vec<Watched> = chunk.iter().filter_map(|key| watch(*key)).collect();
    while !watched.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = if watched.iter().any(|w| w.fd.is_none()) { left.min(LOOK) } else { left };
        let (gone, abandoned) = ready(&watched, wait, abandon);
        let mut index = 0;
        watched.retain(|w| {
            index += 1;
            match w.fd {
                Some(_) => !gone[index - 1],
                None => !matches!(current(w.key), Ok(None)),
            }
        });
        if left.is_zero() || abandoned {
            break;
        }
    }
    watched.into_iter().map(|w| w.key).collect()
}

fn watch(key: ProcessKey) -> Option<Watched> {
    match open(key) {
        Ok(None) => None,
        Ok(Some(fd)) => Some(Watched { key, fd: Some(fd) }),
        Err(_) => Some(Watched { key, fd: None }),
    }
}

/// Which of `watched` have exited, and whether the operator gave up, after at most `wait`.
fn ready(watched: &[Watched], wait: Duration, abandon: Option<&OwnedFd>) -> (Vec<bool>, bool) {
    let with_fd = || watched.iter().filter_map(|w| w.fd.as_ref());
    let mut fds: Vec<PollFd<'_>> = with_fd().chain(abandon).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    if wait_on(&mut fds, wait).is_err() {
        // No memory for polling: fall back to looking again a little later.
        std::thread::sleep(wait.min(LOOK));
        return (vec![false; watched.len()], false);
    }
    let mut states = fds.iter().map(|fd| !fd.revents().is_empty());
    let gone = watched.iter().map(|w| w.fd.is_some() && states.next().unwrap_or(false)).collect();
    (gone, states.next().unwrap_or(false))
}
