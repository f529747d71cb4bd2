//! The process table: `/proc`, and pidfds to signal and to wait.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid as RawPid, PidfdFlags, pidfd_open, pidfd_send_signal};

use super::{Machine, clock};
use crate::host::clock::Moment;
use crate::host::process::{
    BootId, Markers, MarkersRead, Pid, Process, ProcessError, ProcessKey, ProcessTable, Processes, Signal, Signalled,
};

mod stat;
mod wait;

use stat::Stat;

/// Most that is read of one process's environment or arguments, in bytes. The kernel lets both together be 2 MiB.
const READ_LIMIT: u64 = 1024 * 1024;

/// How often an empty environment is read again: during its exec a process shows none for a moment.
const EMPTY_READS: u32 = 3;

/// The most open files of one process that are looked at.
const MAX_OPEN: usize = 4096;

impl Processes for Machine {
    fn boot(&self) -> Result<BootId, ProcessError> {
        boot()
    }

    fn table(&self) -> Result<ProcessTable, ProcessError> {
        let failed = |error: io::Error| ProcessError(format!("/proc: {error}"));
        let page = procfs::page_size();
        let mut processes = BTreeMap::new();
        for entry in fs::read_dir("/proc").map_err(failed)? {
            let Some(pid) = entry.map_err(failed)?.file_name().to_str().and_then(number) else { continue };
            match Stat::read(pid) {
                Ok(Some(stat)) => {
                    processes.insert(pid, stat.into_process(page));
                }
                // Under `hidepid` another account's process is listed and yet closed to us.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Ok(None) => {}
                Err(error) => return Err(ProcessError(format!("/proc/{pid}/stat: {error}"))),
            }
        }
        if processes.is_empty() {
            return Err(ProcessError("/proc lists no process, not even this one".to_owned()));
        }
        Ok(processes.into())
    }

    fn markers(&self, key: ProcessKey) -> MarkersRead {
        read_markers(key)
            .unwrap_or_else(|error| if is_gone(&error) { MarkersRead::Gone } else { MarkersRead::Unreadable })
    }

    fn argv(&self, key: ProcessKey) -> Option<Vec<String>> {
        let bytes = read_bounded(Path::new(&format!("/proc/{}/cmdline", key.pid))).ok()??;
        // Looked at afterwards: what was read is this process's when the number is still its own.
        current(key).ok().flatten()?;
        let text = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        Some(text.split(|b| *b == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect())
    }

    fn open_files(&self, key: ProcessKey) -> Option<Vec<PathBuf>> {
        let open = fs::read_dir(format!("/proc/{}/fd", key.pid)).ok()?;
        let files = open.flatten().take(MAX_OPEN).filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
        current(key).ok().flatten()?;
        Some(files)
    }

    fn dir(&self, key: ProcessKey) -> Option<PathBuf> {
        let dir = fs::read_link(format!("/proc/{}/cwd", key.pid)).ok()?;
        current(key).ok().flatten()?;
        Some(dir)
    }

    fn signal(&self, key: ProcessKey, signal: Signal) -> Signalled {
        match send(key, signal) {
            Ok(sent) => sent,
            Err(error) if is_gone(&error) => Signalled::Gone,
            Err(error) => Signalled::Refused(error.to_string()),
        }
    }

    fn wait_gone(&self, keys: &BTreeSet<ProcessKey>, limit: Duration) -> BTreeSet<ProcessKey> {
        wait::until_gone(keys, limit, self.signals.abandon_mark())
    }

    fn own(&self) -> Pid {
        rustix::process::getpid().as_raw_pid()
    }

    fn started(&self, start: u64) -> Moment {
        let now = clock::now();
        let boot_ms = start.saturating_mul(1000) / procfs::ticks_per_second();
        let ago = i64::try_from(now.boot_ms.saturating_sub(boot_ms)).unwrap_or(i64::MAX);
        Moment { boot_ms, wall_ms: now.wall_ms.saturating_sub(ago) }
    }
}

/// This boot's id.
pub(in crate::host) fn boot() -> Result<BootId, ProcessError> {
    let path = "/proc/sys/kernel/random/boot_id";
    let id = fs::read_to_string(path).map_err(|error| ProcessError(format!("{path}: {error}")))?;
    Ok(BootId(id.trim().to_owned()))
}

/// The process with this number as it is now; `None` when there is none.
pub(in crate::host) fn process(pid: Pid) -> io::Result<Option<Process>> {
    Ok(Stat::read(pid)?.map(|stat| stat.into_process(procfs::page_size())))
}

/// A directory name of `/proc` that is a process number.
fn number(name: &str) -> Option<Pid> {
    if name.starts_with(|c: char| c.is_ascii_digit()) { name.parse().ok() } else { None }
}

/// Whether a failed look at `/proc/PID` means that the process has gone.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// The process's `stat`, when it is still this one and runs.
fn current(key: ProcessKey) -> io::Result<Option<Stat>> {
    let stat = Stat::read(key.pid)?;
    Ok(stat.filter(|stat| stat.start == key.start && !stat.dead()))
}

/// Opens a pidfd of exactly this process; `None` when it is gone.
pub(super) fn open(key: ProcessKey) -> io::Result<Option<std::os::fd::OwnedFd>> {
    // 0 and negative numbers mean groups, and everybody.
    let Some(pid) = (key.pid > 0).then(|| RawPid::from_raw(key.pid)).flatten() else { return Ok(None) };
    let fd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => fd,
        Err(rustix::io::Errno::SRCH) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // The descriptor is bound to whoever had the number when it was opened; if the start time is right now, then it was
    // right then.
    Ok(current(key)?.map(|_| fd))
}

fn send(key: ProcessKey, signal: Signal) -> io::Result<Signalled> {
    let Some(fd) = open(key)? else { return Ok(Signalled::Gone) };
    pidfd_send_signal(&fd, raw_signal(signal))?;
    Ok(Signalled::Sent)
}

fn raw_signal(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Term => rustix::process::Signal::TERM,
        Signal::Hup => rustix::process::Signal::HUP,
        Signal::Stop => rustix::process::Signal::STOP,
        Signal::Cont => rustix::process::Signal::CONT,
        Signal::Kill => rustix::process::Signal::KILL,
        Signal::Usr1 => rustix::process::Signal::USR1,
    }
}

fn read_markers(key: ProcessKey) -> io::Result<MarkersRead> {
    let dir = format!("/proc/{}", key.pid);
    let own = rustix::process::geteuid().as_raw();
    if fs::metadata(&dir)?.uid() != own {
        return refused(&dir, key, own);
    }
    let mut reads = 0;
    loop {
        reads += 1;
        let environ = read_bounded(Path::new(&format!("{dir}/environ")))?;
        // Looked at afterwards: what was read is this process's when the number is still its own.
        let Some(stat) = current(key)? else { return Ok(MarkersRead::Gone) };
        match environ {
            None => return Ok(MarkersRead::Unreadable),
            Some(bytes) if bytes.is_empty() && !stat.kernel_thread() && reads < EMPTY_READS => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Some(bytes) => return Ok(MarkersRead::Read(parse_markers(&bytes))),
        }
    }
}

/// Tells another account's process from one of ours that cannot be read: `/proc/PID` of an undumpable process belongs to
/// root, but its `status` still says whose it is.
fn refused(dir: &str, key: ProcessKey, own: u32) -> io::Result<MarkersRead> {
    let status = read_bounded(Path::new(&format!("{dir}/status")))?.unwrap_or_default();
    if current(key)?.is_none() {
        return Ok(MarkersRead::Gone);
    }
    let status = String::from_utf8_lossy(&status);
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    // Real and effective.
    let ours = uids.split_ascii_whitespace().take(2).any(|uid| uid.parse() == Ok(own));
    Ok(if ours { MarkersRead::Unreadable } else { MarkersRead::Foreign })
}

/// The variables as `getenv` would find them: the first of a name counts.
fn parse_markers(environ: &[u8]) -> Markers {
    let mut markers = Markers::default();
    for entry in environ.split(|b| *b == 0) {
        let Some(rest) = entry.strip_prefix(b"FARHELM_") else { continue };
        let Some(equals) = rest.iter().position(|b| *b == b'=') else { continue };
        let place = match &rest[..equals] {
            b"SESSION_ID" => &mut markers.session,
            b"AGENT_ID" => &mut markers.agent,
            b"TAB_ID" => &mut markers.tab,
            b"SUPERVISOR_SOCK" => &mut markers.socket,
            _ => continue,
        };
        place.get_or_insert_with(|| String::from_utf8_lossy(&rest[equals + 1..]).into_owned());
    }
    markers
}

/// A file of `/proc`, or `None` when it is longer than the limit.
fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = File::options().read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
    // Room for what is usual: the kernel does not tell the size, and each smaller read takes as long.
    let mut bytes = Vec::with_capacity(16 << 10);
    file.take(READ_LIMIT + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= READ_LIMIT).then_some(bytes))
}

#[cfg(test)]
mod tests;
