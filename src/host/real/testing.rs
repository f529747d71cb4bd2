//! What the tests of the real ports share.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Machine, Settings};
use crate::host::process::{Processes, Signal};
use crate::host::tmux::Socket;

/// A machine that takes no signals and no scopes.
pub(super) fn machine() -> Machine {
    let settings = Settings { scopes: false, tmux_timeout: Duration::from_secs(20), ..Settings::default() };
    Machine::new(settings).unwrap()
}

/// A child that is ended and collected with the test.
pub(super) struct Guarded(pub(super) Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `holds`, and fails after a generous limit.
#[track_caller]
pub(super) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < limit, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A tmux server of the test's own: own socket, own home (so that nobody's `tmux.conf` applies), ended with the test.
pub(super) struct TestTmux {
    pub(super) machine: Machine,
    pub(super) socket: Socket,
    pub(super) dir: tempfile::TempDir,
}

impl TestTmux {
    pub(super) fn new() -> Self {
        Self::with(machine())
    }

    pub(super) fn with(mut machine: Machine) -> Self {
        let dir = tempfile::tempdir().unwrap();
        machine.environment.set("HOME", dir.path());
        machine.environment.set("XDG_CONFIG_HOME", dir.path());
        machine.environment.set("SHELL", "/bin/sh");
        Self { machine, socket: Socket(dir.path().join("socket")), dir }
    }

    /// A command line for this server, as a user would type it.
    pub(super) fn client(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-S"]).arg(self.socket.path()).stdin(Stdio::null()).env_remove("TMUX");
        command.env("HOME", self.dir.path()).env("XDG_CONFIG_HOME", self.dir.path());
        command
    }

    /// What the user's command prints.
    #[track_caller]
    pub(super) fn tmux(&self, args: &[&str]) -> String {
        let output = self.client().args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned()
    }

    /// Ends the server, and waits until it and all its panes' processes are gone.
    pub(super) fn end(&self) {
        let Ok(output) = self.client().args(["list-panes", "-a", "-F", "#{pid} #{pane_pid}"]).output() else { return };
        let table = self.machine.table().unwrap();
        let pids = String::from_utf8(output.stdout).unwrap();
        let pids = pids.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        let roots: Vec<_> = pids.filter_map(|pid| Some(table.running(pid)?.key)).collect();
        let all = table.trees(&roots);
        let _ = self.client().arg("kill-server").output();
        for key in self.machine.wait_gone(&all, Duration::from_millis(300)) {
            self.machine.signal(key, Signal::Kill);
        }
        let left = self.machine.wait_gone(&all, Duration::from_secs(10));
        assert!(left.is_empty() || std::thread::panicking(), "left behind: {left:?}");
    }
}

impl Drop for TestTmux {
    fn drop(&mut self) {
        self.end();
    }
}
