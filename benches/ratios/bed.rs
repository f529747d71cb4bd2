//! Where a bench runs: a directory of its own, a tmux server of its own, nothing left behind.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program under measurement.
pub const FARHELM: &str = env!("CARGO_BIN_EXE_farhelm");

/// A private place.
pub struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    /// A new one.
    pub fn new() -> Self {
        Self { dir: tempfile::Builder::new().prefix("farhelm-bench").tempdir().expect("a temporary directory") }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a fleet of `many` sessions running `command`, and returns its path.
    pub fn fleet(&self, many: usize, command: &str) -> PathBuf {
        let file = self.path("farhelm.yaml");
        let mut text = "farhelm: v1\nfleet: bench\npolicy:\n  max_reap: 1000\n  launch: {parallel: 1000, stagger: 0s}\nsessions:\n".to_owned();
        for index in 0..many {
            text.push_str(&format!("  s{index:04}:\n    invocation: [{command}]\n    dir: /tmp\n    model_note: x\n"));
        }
        fs::write(&file, text.replace("    model_note: x\n", "")).expect("the fleet file");
        file
    }

    /// A command with this bed's surroundings.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("SHELL", "/bin/bash")
            .env("FARHELM_STATE_DIR", self.path("state"))
            .env("FARHELM_TMUX_SOCKET", self.path("sock"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// farhelm with these words.
    pub fn farhelm(&self, words: &[&str]) -> Command {
        let mut command = self.command(FARHELM);
        command.args(words);
        command
    }

    /// tmux on this bed's server.
    pub fn tmux(&self, words: &[&str]) -> Command {
        let mut command = self.command("tmux");
        command.arg("-u").arg("-S").arg(self.path("sock")).args(words);
        command
    }

    /// Ends the server, and waits for it.
    pub fn kill_server(&self) {
        let pid = self.tmux(&["display-message", "-p", "#{pid}"]).stdout(Stdio::piped()).output();
        let pid = pid.ok().map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
        let _ = self.tmux(&["kill-server"]).status();
        if !pid.is_empty() {
            until(|| !is_running(&pid));
        }
        let _ = fs::remove_file(self.path("sock"));
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.kill_server();
    }
}

fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// Waits for something, closely.
pub fn until(mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not come about within 60 s");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The processes whose arguments are exactly these.
pub fn running(argv: &[&str]) -> Vec<i32> {
    let wanted: Vec<u8> = argv.iter().flat_map(|word| word.bytes().chain([0])).collect();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted))
        .collect()
}

/// How long a command takes as a whole.
pub fn time(command: &mut Command) -> Duration {
    let begun = Instant::now();
    let status = command.status().expect("the command starts");
    assert!(status.success(), "{command:?} failed: {status}");
    begun.elapsed()
}
