//! Running a short-lived helper program: one process, a deadline, bounded output.

use crate::spec::visible::visible;

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// What a program said.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

impl Output {
    /// Standard error as text, trimmed, its control characters made visible.
    pub(super) fn complaint(&self) -> String {
        visible(String::from_utf8_lossy(&self.stderr).trim())
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error("cannot start it: {0}")]
    Start(io::Error),
    #[error("no answer within {}s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("it printed more than {0} bytes")]
    TooMuch(usize),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Runs `command` to its end, for at most `limit`, taking at most `bytes` of each output. The program gets a process
/// group of its own, so that an interrupt typed at farhelm's terminal does not cut it off half-way.
pub(super) fn run(command: &mut Command, limit: Duration, bytes: usize) -> Result<Output, RunError> {
    run_and(command, limit, bytes, |child| {
        // Our own child, not yet waited for: its number cannot be anybody else's.
        let _ = child.kill();
    })
}

/// As [`run`], for a program that starts others: when it gives no answer, they end with it.
pub(super) fn run_all(command: &mut Command, limit: Duration, bytes: usize) -> Result<Output, RunError> {
    run_and(command, limit, bytes, |child| {
        // The group is led by our own child, not yet waited for: its number cannot be another group's.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    })
}

fn run_and(command: &mut Command, limit: Duration, bytes: usize, end: impl Fn(&mut Child)) -> Result<Output, RunError> {
    let deadline = Instant::now() + limit;
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(RunError::Start)?;
    let collected = collect(&mut child, deadline, bytes);
    if collected.is_err() {
        end(&mut child);
    }
    let status = child.wait()?;
    match collected {
        Ok((stdout, stderr)) => Ok(Output { status, stdout, stderr }),
        Err(RunError::Timeout(_)) => Err(RunError::Timeout(limit)),
        Err(error) => Err(error),
    }
}

fn collect(child: &mut Child, deadline: Instant, bytes: usize) -> Result<(Vec<u8>, Vec<u8>), RunError> {
    let exited = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_err(io::Error::from)?;
    let mut out = Stream::new(child.stdout.take(), bytes)?;
    let mut err = Stream::new(child.stderr.take(), bytes)?;
    loop {
        let mut fds = vec![PollFd::new(&exited, PollFlags::IN)];
        fds.extend(out.fd().into_iter().chain(err.fd()).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let woken = wait_on(&mut fds, deadline.saturating_duration_since(Instant::now()))?;
        let done = !fds[0].revents().is_empty();
        out.drain()?;
        err.drain()?;
        if done {
            // A daemon the program left behind may hold the pipes open: the program's own end is what counts.
            return Ok((out.text, err.text));
        }
        if !woken {
            return Err(RunError::Timeout(Duration::ZERO));
        }
    }
}

/// Polls until one of `fds` is ready (`true`) or `time` is over (`false`); also wakes, with `true`, on a stray signal.
pub(super) fn wait_on(fds: &mut [PollFd<'_>], time: Duration) -> io::Result<bool> {
    let time = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 });
    match poll(fds, Some(&time)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// One output of a program, read without blocking.
struct Stream<R> {
    pipe: Option<R>,
    text: Vec<u8>,
    limit: usize,
}

impl<R: Read + AsFd> Stream<R> {
    fn new(pipe: Option<R>, limit: usize) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { pipe, text: Vec::new(), limit })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    fn drain(&mut self) -> Result<(), RunError> {
        let mut chunk = [0; 16 * 1024];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(n) if self.text.len() + n > self.limit => return Err(RunError::TooMuch(self.limit)),
                Ok(n) => self.text.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    #[test]
    fn both_outputs_and_the_status_are_returned() {
        let output = run(&mut sh("echo out; echo err >&2; exit 3"), Duration::from_secs(10), 1000).unwrap();
        assert_eq!((output.stdout.as_slice(), output.complaint().as_str()), (&b"out\n"[..], "err"));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn large_output_on_both_pipes_does_not_block() {
        let script = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2";
        let output = run(&mut sh(script), Duration::from_secs(10), 400_000).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 300_000));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_at_the_deadline() {
        let begun = Instant::now();
        let error = run(&mut sh("exec sleep 1000"), Duration::from_millis(50), 1000).unwrap_err();
        assert!(matches!(error, RunError::Timeout(limit) if limit == Duration::from_millis(50)), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn endless_output_is_cut_off() {
        let error = run(&mut sh("exec cat /dev/zero"), Duration::from_secs(10), 100_000).unwrap_err();
        assert!(matches!(error, RunError::TooMuch(100_000)), "{error}");
    }

    #[test]
    fn a_daemon_that_keeps_the_pipes_does_not_delay_the_answer() {
        let begun = Instant::now();
        let output = run(&mut sh("sleep 30 & echo $!"), Duration::from_secs(20), 1000).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10));
        let pid: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn a_missing_program_is_told_apart() {
        let error = run(&mut Command::new("/nonexistent/program"), Duration::from_secs(1), 10).unwrap_err();
        assert!(matches!(error, RunError::Start(e) if e.kind() == io::ErrorKind::NotFound));
    }
}
