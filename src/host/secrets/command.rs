//! A command that prints a secret.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::{MAX_SECRET, Why};
use crate::host::clock::{Clock, Interrupt};

/// Between two looks at whether the operator has had enough.
const GLANCE: Duration = Duration::from_millis(100);

/// Runs `argv` and returns what it printed: no shell, no input, no terminal to ask on, at most `limit` and
/// [`MAX_SECRET`]. One that is not done by then, or when the operator interrupts, is killed with its group.
pub(super) fn output(argv: &[String], limit: Duration, clock: &dyn Clock) -> Result<Vec<u8>, Why> {
    let mut child = Running(spawn(argv).map_err(system)?);
    let bytes = collect(&mut child.0, limit, clock)?;
    let status = child.0.wait().map_err(system)?;
    if status.success() { Ok(bytes) } else { Err(Why::Ended(status.to_string())) }
}

fn system(error: impl Into<std::io::Error>) -> Why {
    Why::System(error.into().to_string())
}

/// A child in a session of its own, which has no terminal that a program could open and ask on. Only setsid(1) can make
/// one without unsafe code; where that is missing, a background group cannot read from the terminal either.
fn spawn(argv: &[String]) -> std::io::Result<Child> {
    let start =
        |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Some((program, args)) = argv.split_first() else { return Err(std::io::ErrorKind::NotFound.into()) };
    match start(Command::new("setsid").arg(program).args(args)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            start(Command::new(program).args(args).process_group(0))
        }
        started => started,
    }
}

/// A child that does not outlive this value, nor does its group. It is killed before it is waited for, while its number
/// cannot be another's.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // Its own group, once setsid has made one; until then the child alone.
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// All that `child` prints until it ends. What it leaves behind may hold the pipe open for ever, and is not waited for.
fn collect(child: &mut Child, limit: Duration, clock: &dyn Clock) -> Result<Vec<u8>, Why> {
    let end = Instant::now() + limit;
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_err(system)?;
    let Some(mut pipe) = child.stdout.take() else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let mut open = true;
    loop {
        let mut polled = [PollFd::new(&ended, PollFlags::IN), PollFd::new(&pipe, PollFlags::IN)];
        // A closed pipe is always readable: only the end of the process is left to wait for.
        let watched = if open { &mut polled[..] } else { &mut polled[..1] };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Why::TimedOut(limit));
        }
        if clock.interrupt() != Interrupt::None {
            return Err(Why::Interrupted);
        }
        let glance = Timespec { tv_sec: 0, tv_nsec: left.min(GLANCE).subsec_nanos().into() };
        match poll(watched, Some(&glance)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            answer => answer.map_err(system)?,
        };
        let readable = open && !polled[1].revents().is_empty();
        let over = !polled[0].revents().is_empty();
        if !readable && over {
            return Ok(bytes);
        }
        if readable {
            let read = pipe.read(&mut buffer).map_err(system)?;
            open = read > 0;
            bytes.extend_from_slice(&buffer[..read]);
            if bytes.len() > MAX_SECRET {
                return Err(Why::TooLarge);
            }
        }
    }
}
