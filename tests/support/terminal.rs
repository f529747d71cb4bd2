//! tmux, used as an operator beside farhelm would.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::process;
use super::wait::wait_until;

/// One pane of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    pub id: String,
    pub session: String,
    pub pid: i32,
    pub dead: bool,
    /// farhelm's session UUID, when the pane is stamped.
    pub stamp: Option<String>,
}

/// A tmux server by its socket.
#[derive(Debug, Clone)]
pub struct Terminal {
    socket: PathBuf,
    home: PathBuf,
}

impl Terminal {
    pub fn new(socket: PathBuf, home: PathBuf) -> Self {
        Self { socket, home }
    }

    /// Runs one tmux command; its output, or what it complained of.
    pub fn try_run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("tmux")
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("SHELL", "/bin/bash")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .output()
            .expect("tmux can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Runs one tmux command that must succeed.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        self.try_run(arguments).unwrap_or_else(|error| panic!("tmux {arguments:?}: {error}"))
    }

    /// All panes; none when there is no server.
    pub fn panes(&self) -> Vec<Pane> {
        let format = "#{pane_id} #{session_name} #{pane_pid} #{pane_dead} #{@farhelm_id}";
        let Ok(listed) = self.try_run(&["list-panes", "-a", "-F", format]) else { return Vec::new() };
        listed.lines().map(read_pane).collect()
    }

    /// The panes that farhelm stamped.
    pub fn stamped(&self) -> Vec<Pane> {
        self.panes().into_iter().filter(|pane| pane.stamp.is_some()).collect()
    }

    /// Names of the tmux sessions, sorted.
    pub fn sessions(&self) -> Vec<String> {
        let listed = self.try_run(&["list-sessions", "-F", "#{session_name}"]).unwrap_or_default();
        let mut names: Vec<String> = listed.lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    /// The server's process, found without asking it.
    pub fn server(&self) -> Option<i32> {
        let ours = |pid: i32| process::argv(pid).iter().any(|word| word == self.socket.as_os_str());
        let is_server = |pid: i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.starts_with("tmux: server"))
        };
        process::all().into_iter().map(|p| p.pid).find(|pid| is_server(*pid) && ours(*pid))
    }

    /// Kills the server as a crash would, and waits until it is gone.
    pub fn kill_server(&self) {
        if let Some(pid) = self.server() {
            process::kill_hard(pid);
        }
    }

    /// Waits until tmux says the pane is dead, or gone.
    #[track_caller]
    pub fn wait_dead(&self, pane: &str) {
        wait_until("tmux notices a dead pane", || self.panes().iter().all(|p| p.id != pane || p.dead));
    }
}

fn read_pane(line: &str) -> Pane {
    let mut words = line.split(' ');
    let mut next = || words.next().unwrap_or_default().to_owned();
    Pane {
        id: next(),
        session: next(),
        pid: next().parse().expect("tmux prints a number"),
        dead: next() == "1",
        stamp: Some(next()).filter(|id| !id.is_empty()),
    }
}
