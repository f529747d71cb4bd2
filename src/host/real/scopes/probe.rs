//! Proving that scopes work: one is made, seen, killed, and seen to go.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::super::Machine;
use super::super::command::run;
use super::Tools;
use crate::host::process::Signal;
use crate::host::scope::{ScopeError, ScopeSupport, Scopes};
use crate::spec::visible::visible;

/// How long the whole proof may take.
const LIMIT: Duration = Duration::from_secs(15);

/// How long the throwaway process would run if farhelm died meanwhile, in seconds.
const SLEEP: &str = "20";

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// systemd 254 brought `--expand-environment`, and with it the expansion of `$` in arguments.
const EXPANDS_SINCE: u32 = 254;

/// systemd 253 gave scopes an out-of-memory policy (Debian's 252.38 has it too), and with it the habit of ending a whole
/// scope when the kernel kills one process of it for its memory (systemd.scope(5)).
const OOM_POLICY_SINCE: u32 = 252;

/// The policy that leaves the rest of the scope alone.
const OOM_POLICY: &str = "--property=OOMPolicy=continue";

impl Machine {
    /// Whether scopes can be used, found out anew.
    pub(super) fn probe(&self) -> ScopeSupport {
        let unusable = |why: &str| ScopeSupport::Unusable(why.to_owned());
        // Without this socket there is no manager to ask, and no need to start a program to hear so.
        let socket = self.environment.get("XDG_RUNTIME_DIR").map(|dir| Path::new(dir).join("systemd/private"));
        if !socket.is_some_and(|socket| socket.exists()) {
            return unusable("no systemd user manager runs for this account");
        }
        let Some(tools) = self.tools() else { return unusable("`systemd-run` and `systemctl` are not both on PATH") };
        match self.prove(tools) {
            Ok(support) => support,
            Err(error) => ScopeSupport::Unknown(error.0),
        }
    }

    /// The verdict, or why there is none.
    fn prove(&self, tools: &Tools) -> Result<ScopeSupport, ScopeError> {
        let Some(program) = tools.systemd_run.to_str() else {
            return Ok(ScopeSupport::Unusable("the path of `systemd-run` is not UTF-8".to_owned()));
        };
        let mut runner: Vec<String> =
            [program, "--user", "--scope", "--collect", "--quiet"].map(str::to_owned).to_vec();
        let version = self.systemd_version(tools)?;
        if version >= EXPANDS_SINCE {
            runner.push("--expand-environment=no".to_owned());
        }
        if version >= OOM_POLICY_SINCE {
            let runner = [runner.clone(), vec![OOM_POLICY.to_owned()]].concat();
            // The manager may be older than its programs.
            if self.prove_runner(&runner)?.is_none() {
                return Ok(ScopeSupport::Usable { runner });
            }
        }
        Ok(self.prove_runner(&runner)?.map_or(ScopeSupport::Usable { runner }, ScopeSupport::Unusable))
    }

    /// `None` when `runner` makes scopes as it should, or why it does not.
    fn prove_runner(&self, runner: &[String]) -> Result<Option<String>, ScopeError> {
        let unit = format!("farhelm-probe-{}.scope", uuid::Uuid::new_v4());
        let mut command = Command::new(&runner[0]);
        command.args(&runner[1..]).arg(format!("--unit={unit}")).args(["--", "sleep", SLEEP]);
        self.environment.apply(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn().map_err(|error| ScopeError(format!("cannot start `{}`: {error}", runner[0])))?;
        self.prove_unit(&mut Throwaway(child), &unit)
    }

    /// `None` when everything went as it should, or why scopes are unusable.
    fn prove_unit(&self, throwaway: &mut Throwaway, unit: &str) -> Result<Option<String>, ScopeError> {
        let deadline = Instant::now() + LIMIT;
        while !throwaway.is_in(unit) {
            if let Some(words) = throwaway.ended() {
                return Ok(Some(format!("`systemd-run` failed: {words}")));
            }
            pause(deadline, "the probe's scope did not appear")?;
        }
        if !self.exists(unit)? {
            return Ok(Some("a scope that was just made is not known to the manager".to_owned()));
        }
        // Its exit status is only advice: the scope's disappearance decides.
        let advice = self.kill(unit, Signal::Kill);
        while throwaway.ended().is_none() || self.exists(unit)? {
            pause(deadline, "the probe's scope did not go away").map_err(|late| match &advice {
                Err(why) => ScopeError(format!("{late}: {why}")),
                Ok(()) => late,
            })?;
        }
        Ok(None)
    }

    fn systemd_version(&self, tools: &Tools) -> Result<u32, ScopeError> {
        let mut command = Command::new(&tools.systemd_run);
        command.arg("--version").stdin(Stdio::null());
        self.environment.apply(&mut command);
        let output = run(&mut command, super::QUERY, 64 * 1024).map_err(|error| ScopeError(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_ascii_whitespace().nth(1).unwrap_or_default();
        let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| ScopeError("`systemd-run` does not say its version".to_owned()))
    }
}

fn pause(deadline: Instant, late: &str) -> Result<(), ScopeError> {
    if Instant::now() > deadline {
        return Err(ScopeError(format!("{late} within {}s", LIMIT.as_secs())));
    }
    std::thread::sleep(PAUSE);
    Ok(())
}

/// The process in the throwaway scope; `systemd-run --scope` becomes it.
struct Throwaway(Child);

impl Throwaway {
    fn is_in(&self, unit: &str) -> bool {
        let cgroups = fs::read_to_string(format!("/proc/{}/cgroup", self.0.id())).unwrap_or_default();
        cgroups.lines().any(|line| line.rsplit('/').next() == Some(unit))
    }

    /// What it said, once it has ended.
    fn ended(&mut self) -> Option<String> {
        let status = self.0.try_wait().ok().flatten()?;
        let mut words = Vec::new();
        if let Some(stderr) = self.0.stderr.take() {
            let _ = stderr.take(4096).read_to_end(&mut words);
        }
        let words = visible(String::from_utf8_lossy(&words).trim());
        Some(if words.is_empty() { status.to_string() } else { words })
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
