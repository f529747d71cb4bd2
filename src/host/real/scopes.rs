//! systemd user scopes, through `systemd-run` and `systemctl`.
//!
//! Seen on systemd 252 (Debian 12). The manager's word is checked against the cgroups themselves: a manager that was
//! restarted says `not-found` of a scope whose processes live on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::Machine;
use super::command::{Output, RunError, run};
use crate::host::clock::{Clock, Interrupt};
use crate::host::process::Signal;
use crate::host::scope::{ScopeError, ScopeSupport, Scopes};

mod cgroup;
mod probe;

/// How long one question may take: with a dead manager behind a live bus it would be 25 s.
const QUERY: Duration = Duration::from_secs(5);

/// How long a verdict on the support of scopes holds.
const HOLDS: Duration = Duration::from_secs(60);

/// First and longest pause between two looks at units that are going.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(200));

/// Most that is taken of an answer, in bytes.
const ANSWER_LIMIT: usize = 4 * 1024 * 1024;

/// What is known of the user manager.
#[derive(Debug)]
pub(super) struct Prober {
    allowed: bool,
    tools: OnceLock<Option<Tools>>,
    verdict: Mutex<Option<(Instant, ScopeSupport)>>,
    /// The directory of the manager's own cgroup.
    cgroup: OnceLock<PathBuf>,
}

impl Prober {
    pub(super) fn new(allowed: bool) -> Self {
        Self { allowed, tools: OnceLock::new(), verdict: Mutex::new(None), cgroup: OnceLock::new() }
    }
}

/// systemd's programs, by absolute path: a session's `PATH` has no say in them.
#[derive(Debug)]
struct Tools {
    systemctl: PathBuf,
    systemd_run: PathBuf,
}

impl Scopes for Machine {
    fn support(&self) -> ScopeSupport {
        let mut verdict = self.scopes.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        match &*verdict {
            Some((at, support)) if at.elapsed() < HOLDS => support.clone(),
            _ => {
                let support = if self.scopes.allowed {
                    self.probe()
                } else {
                    ScopeSupport::Unusable("scopes are switched off".to_owned())
                };
                *verdict = Some((Instant::now(), support.clone()));
                support
            }
        }
    }

    fn exists(&self, unit: &str) -> Result<bool, ScopeError> {
        check(unit)?;
        Ok(self.is_loaded(unit)? || cgroup::populated(self.manager_cgroup()?, unit))
    }

    fn kill(&self, unit: &str, signal: Signal) -> Result<(), ScopeError> {
        check(unit)?;
        let output = self.systemctl(&["kill", &format!("--signal={}", name(signal)), unit], QUERY)?;
        if output.status.success() {
            return Ok(());
        }
        let manager = self.manager_cgroup()?;
        if cgroup::populated(manager, unit) && !self.is_loaded(unit)? {
            return cgroup::kill(self, manager, unit, signal);
        }
        Err(ScopeError(output.complaint()))
    }

    fn wait_collected(&self, units: &[String], limit: Duration) -> Vec<String> {
        let deadline = Instant::now() + limit;
        let mut left: Vec<String> = units.to_vec();
        let mut pause = PAUSES.0;
        loop {
            let time = deadline.saturating_duration_since(Instant::now());
            if let Ok(present) = self.present(&left, time.clamp(PAUSES.1, QUERY)) {
                left.retain(|unit| present.contains(unit));
            }
            let time = deadline.saturating_duration_since(Instant::now());
            if left.is_empty() || time.is_zero() || self.interrupt() == Interrupt::Abandon {
                return left;
            }
            self.sleep(pause.min(time));
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

impl Machine {
    /// systemd's programs, where they are installed.
    fn tools(&self) -> Option<&Tools> {
        let find = |name: &str| {
            let path = self.environment.get("PATH")?;
            std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| file.is_absolute() && file.is_file())
        };
        let tools = || Some(Tools { systemctl: find("systemctl")?, systemd_run: find("systemd-run")? });
        self.scopes.tools.get_or_init(tools).as_ref()
    }

    /// Whether the manager knows the unit.
    fn is_loaded(&self, unit: &str) -> Result<bool, ScopeError> {
        let output = self.success(&["show", "-p", "LoadState", "--value", unit], QUERY)?;
        match String::from_utf8_lossy(&output.stdout).trim() {
            "" => Err(ScopeError(format!("it does not say whether {unit} is loaded"))),
            state => Ok(state != "not-found"),
        }
    }

    /// Which of `units` exist.
    fn present(&self, units: &[String], limit: Duration) -> Result<BTreeSet<String>, ScopeError> {
        units.iter().try_for_each(|unit| check(unit))?;
        let mut args = vec!["list-units", "--all", "--plain", "--no-legend", "--no-pager", "--type=scope", "--"];
        args.extend(units.iter().map(String::as_str));
        let output = self.success(&args, limit)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut present: BTreeSet<String> = text
            .lines()
            .filter_map(|line| {
                let mut columns = line.split_ascii_whitespace();
                let unit = columns.next()?;
                (columns.next()? != "not-found").then(|| unit.to_owned())
            })
            .collect();
        let manager = self.manager_cgroup()?;
        present.extend(units.iter().filter(|unit| cgroup::populated(manager, unit)).cloned());
        Ok(present)
    }

    /// The directory of the manager's own cgroup.
    fn manager_cgroup(&self) -> Result<&PathBuf, ScopeError> {
        if let Some(known) = self.scopes.cgroup.get() {
            return Ok(known);
        }
        let output = self.success(&["show", "-p", "ControlGroup", "--value"], QUERY)?;
        let path = cgroup::directory(String::from_utf8_lossy(&output.stdout).trim())?;
        Ok(self.scopes.cgroup.get_or_init(|| path))
    }

    fn success(&self, args: &[&str], limit: Duration) -> Result<Output, ScopeError> {
        let output = self.systemctl(args, limit)?;
        if output.status.success() { Ok(output) } else { Err(ScopeError(output.complaint())) }
    }

    fn systemctl(&self, args: &[&str], limit: Duration) -> Result<Output, ScopeError> {
        let Some(tools) = self.tools() else { return Err(ScopeError("there is no `systemctl` on PATH".to_owned())) };
        let mut command = Command::new(&tools.systemctl);
        command.arg("--user").args(args).stdin(Stdio::null());
        self.environment.apply(&mut command);
        command.env("LC_ALL", "C").env("SYSTEMD_COLORS", "0");
        run(&mut command, limit, ANSWER_LIMIT).map_err(|error| match error {
            RunError::Timeout(limit) => ScopeError(format!("no answer within {}s", limit.as_secs_f32())),
            other => ScopeError(other.to_string()),
        })
    }
}

/// Refuses what `systemctl` would take for an option or a pattern.
fn check(unit: &str) -> Result<(), ScopeError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    let good = unit.strip_suffix(".scope").is_some_and(|stem| {
        stem.starts_with(|c: char| c.is_ascii_alphanumeric()) && stem.bytes().all(plain) && stem.len() <= 200
    });
    good.then_some(()).ok_or_else(|| ScopeError(format!("`{unit}` is not the name of a scope of farhelm's")))
}

/// A signal as systemd names it.
fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::Term => "SIGTERM",
        Signal::Hup => "SIGHUP",
        Signal::Stop => "SIGSTOP",
        Signal::Cont => "SIGCONT",
        Signal::Kill => "SIGKILL",
        Signal::Usr1 => "SIGUSR1",
    }
}

#[cfg(test)]
mod tests;
