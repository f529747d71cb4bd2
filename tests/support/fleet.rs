//! One fleet in a world of its own: state directory, home, tmux socket, and the certainty that nothing of it remains.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::process::{self, Seen};
use super::ran::{Ran, Running};
use super::status::Status;
use super::terminal::Terminal;
use super::user_manager::UserManager;
use super::wait::wait_until;

/// The scriptable agent.
pub const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/fake-agent");

/// One session whose program is the scriptable agent, in a directory of its own.
pub struct Agent {
    name: String,
    does: String,
    fields: Vec<String>,
}

/// A session of this name that runs until it is ended.
pub fn agent(name: &str) -> Agent {
    Agent { name: name.to_owned(), does: String::new(), fields: Vec::new() }
}

impl Agent {
    /// Arguments of the agent, see `fake-agent`.
    pub fn does(mut self, arguments: &str) -> Self {
        self.does = format!(" {arguments}");
        self
    }

    /// One more line of the session's YAML.
    pub fn with(mut self, field: &str) -> Self {
        self.fields.push(field.to_owned());
        self
    }
}

/// One start of the scriptable agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub pid: i32,
    /// The agent's arguments; its own name first.
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub environment: BTreeMap<String, String>,
}

/// A fleet called `t`.
pub struct Fleet {
    root: TempDir,
    manager: Option<UserManager>,
    variables: RefCell<BTreeMap<OsString, OsString>>,
    /// `down` said that nothing is left.
    down: Cell<bool>,
    /// Processes that no trace leads to.
    untraceable: RefCell<Vec<Seen>>,
}

impl Fleet {
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("fh-").tempdir().expect("a temporary directory");
        for dir in ["work", "home", "state", "bin", "records", "runtime"] {
            fs::create_dir(root.path().join(dir)).expect("a new directory");
        }
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(root.path().join("runtime"), private).expect("our own directory");
        let fleet = Self {
            root,
            manager: None,
            variables: RefCell::default(),
            down: Cell::new(false),
            untraceable: RefCell::default(),
        };
        let path = [fleet.path("bin").into_os_string(), std::env::var_os("PATH").unwrap_or_default()];
        let at = |name: &str| fleet.path(name).into_os_string();
        let variables: [(&str, OsString); 13] = [
            ("PATH", path.join(OsStr::new(":"))),
            ("HOME", at("home")),
            ("XDG_STATE_HOME", at("home/.local/state")),
            ("XDG_CONFIG_HOME", at("home/.config")),
            ("XDG_RUNTIME_DIR", at("runtime")),
            ("TMUX_TMPDIR", at("runtime")),
            ("FARHELM_STATE_DIR", at("state")),
            ("FARHELM_TMUX_SOCKET", fleet.socket().into_os_string()),
            ("SHELL", "/bin/bash".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("COLUMNS", "120".into()),
            ("NO_COLOR", "1".into()),
            ("TERM", "xterm-256color".into()),
        ];
        for (name, value) in variables {
            fleet.set(name, value);
        }
        fleet
    }

    /// A fleet whose launches have a systemd user manager; `None` where there can be none.
    pub fn under_a_user_manager() -> Option<Self> {
        let mut fleet = Self::new();
        fleet.manager = Some(UserManager::start(fleet.root.path())?);
        for (name, value) in UserManager::variables() {
            fleet.set(name, value);
        }
        Some(fleet)
    }

    pub fn manager(&self) -> &UserManager {
        self.manager.as_ref().expect("made by `under_a_user_manager`")
    }

    /// Everything of this fleet lies below.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    pub fn socket(&self) -> PathBuf {
        self.path("tmux")
    }

    pub fn tmux(&self) -> Terminal {
        Terminal::new(self.socket(), self.path("home"))
    }

    /// Sets an environment variable for every later run.
    pub fn set(&self, name: &str, value: impl Into<OsString>) {
        self.variables.borrow_mut().insert(name.into(), value.into());
    }

    /// Writes a file relative to the working directory, and its parents.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path("work").join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Makes a directory relative to the working directory.
    pub fn dir(&self, name: &str) -> PathBuf {
        let path = self.path("work").join(name);
        fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// Puts a program first in PATH.
    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        // Another thread may fork while this file is open for writing, and would keep it busy: write it aside first.
        let aside = self.path(&format!("bin/.{name}"));
        fs::write(&aside, text).expect("a file");
        fs::set_permissions(&aside, fs::Permissions::from_mode(0o755)).expect("our own file");
        fs::rename(&aside, &path).expect("our own file");
        path
    }

    /// Puts a `tmux` first in PATH that does `instead` (bash) while the returned file exists, and else is the real one.
    pub fn breakable_tmux(&self, instead: &str) -> PathBuf {
        let flag = self.path("broken");
        let path = std::env::var_os("PATH").expect("set");
        let mut candidates = std::env::split_paths(&path).map(|dir| dir.join("tmux"));
        let real = candidates.find(|path| path.is_file()).expect("tmux is installed");
        let (flag_, real) = (flag.display(), real.display());
        self.program("tmux", &format!("#!/bin/bash\nif [ -e {flag_} ]; then\n{instead}\nfi\nexec {real} \"$@\"\n"));
        flag
    }

    /// Writes `farhelm.yaml` with `@AGENT@`, `@WORK@` and `@RECORDS@` filled in.
    pub fn write(&self, text: &str) -> PathBuf {
        let text = text
            .replace("@AGENT@", AGENT)
            .replace("@WORK@", &self.path("work").display().to_string())
            .replace("@RECORDS@", &self.path("records").display().to_string());
        self.file("farhelm.yaml", text)
    }

    /// Writes `farhelm.yaml` with these sessions, which start without delay, and makes their directories.
    pub fn agents(&self, agents: impl IntoIterator<Item = Agent>) -> PathBuf {
        self.agents_under("policy: {launch: {parallel: 8, stagger: 1ms}}", agents)
    }

    /// Like [`Self::agents`], with these top-level lines.
    pub fn agents_under(&self, top: &str, agents: impl IntoIterator<Item = Agent>) -> PathBuf {
        let mut text = format!("farhelm: v1\nfleet: t\n{top}\nsessions:\n");
        for Agent { name, does, fields } in agents {
            self.dir(&name);
            text += &format!("  {name}:\n    dir: '@WORK@/{name}'\n");
            if !fields.iter().any(|field| field.starts_with("invocation:") || field.starts_with("profile:")) {
                text += &format!("    invocation: '@AGENT@ --record @RECORDS@/{name}{}'\n", does.replace('\'', "''"));
            }
            for field in fields {
                text += &format!("    {}\n", field.replace('\n', "\n    "));
            }
        }
        if text.ends_with("sessions:\n") {
            text = text.replace("sessions:\n", "sessions: {}\n");
        }
        self.write(&text)
    }

    /// A run to be started: hermetic environment, working directory, no standard input.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let work = self.path("work");
        let mut words: Vec<OsString> = self.manager.as_ref().map(|manager| manager.prefix(&work)).unwrap_or_default();
        words.push(env!("CARGO_BIN_EXE_farhelm").into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(arguments).env_clear().envs(&*self.variables.borrow());
        command.current_dir(work);
        command
    }

    /// Runs farhelm.
    #[must_use = "check how it ended: `.ok()` or `.code(n)`"]
    #[track_caller]
    pub fn farhelm<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        self.start(arguments).wait()
    }

    /// Starts farhelm.
    pub fn start<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Running {
        Running::start(self.command(arguments))
    }

    /// `apply -y`, which must succeed.
    #[track_caller]
    pub fn apply(&self) -> Ran {
        self.farhelm(["apply", "-y"]).ok()
    }

    /// The next plan finds no difference.
    #[track_caller]
    pub fn is_settled(&self) {
        self.farhelm(["plan", "--detailed-exitcode"]).ok();
    }

    /// `status --json`.
    #[track_caller]
    pub fn status(&self) -> Status {
        let ran = self.farhelm(["status", "--json"]).ok();
        serde_json::from_value(ran.json()).unwrap_or_else(|error| panic!("{error}\n{ran}"))
    }

    /// What is recorded of a session; null when nothing is.
    pub fn record(&self, name: &str) -> Value {
        let files = fs::read_dir(self.state().join("sessions")).into_iter().flatten().flatten();
        // Not those that are being written.
        let whole = files.filter(|file| file.path().extension().is_some_and(|end| end == "json"));
        let read = |file: fs::DirEntry| serde_json::from_slice(&fs::read(file.path()).ok()?).ok();
        whole.filter_map(read).find(|record: &Value| record["name"] == name).unwrap_or_default()
    }

    /// The process of a session's pane, which must run.
    #[track_caller]
    pub fn pid(&self, name: &str) -> i32 {
        let status = self.status();
        let pid = status.of(name).pid.unwrap_or_else(|| panic!("`{name}` has no process: {status:#?}"));
        assert!(process::runs(pid), "`{name}` does not run: {status:#?}");
        pid
    }

    /// The processes of several sessions, in order.
    #[track_caller]
    pub fn pids(&self, names: &[&str]) -> Vec<i32> {
        let status = self.status();
        names.iter().map(|name| status.of(name).pid.unwrap_or_else(|| panic!("`{name}` has no process"))).collect()
    }

    /// Kills a session's pane process as a crash would; tmux has noticed when this returns. Its former number.
    #[track_caller]
    pub fn crash(&self, name: &str) -> i32 {
        let status = self.status();
        let session = status.of(name);
        let pid = session.pid.unwrap_or_else(|| panic!("`{name}` has no process"));
        process::kill_hard(pid);
        self.tmux().wait_dead(session.pane.as_deref().unwrap_or_else(|| panic!("`{name}` has no pane")));
        pid
    }

    /// Every start so far of the scriptable agent that records under this name.
    pub fn starts(&self, name: &str) -> Vec<Start> {
        self.recorded(name).lines().map(read_start).collect()
    }

    /// Waits until the agent has started this often in all; its latest start.
    #[track_caller]
    pub fn started(&self, name: &str, times: usize) -> Start {
        wait_until(&format!("`{name}` starts {times} times"), || self.starts(name).len() >= times);
        let mut starts = self.starts(name);
        assert_eq!(starts.len(), times, "`{name}` started too often: {starts:#?}");
        starts.pop().expect("at least one")
    }

    /// How many of the agent's starts still run.
    pub fn agent_count(&self, name: &str) -> usize {
        self.starts(name).iter().filter(|start| process::runs(start.pid)).count()
    }

    /// Processes marked as being of this state directory's sessions.
    pub fn marked(&self) -> Vec<Seen> {
        let state = self.state();
        let mut found = process::all();
        found.retain(|p| {
            let environment = process::environment(p.pid);
            environment.contains_key(OsStr::new("FARHELM_SESSION_ID"))
                && environment
                    .get(OsStr::new("FARHELM_SUPERVISOR_SOCK"))
                    .is_some_and(|s| Path::new(s).starts_with(&state))
        });
        found
    }

    /// Pids that the scriptable agent noted of its children (`--pids`), by how they were started.
    pub fn noted(&self, file: &str) -> Vec<(String, i32)> {
        let read = |line: &str| {
            let (how, pid) = line.split_once(' ')?;
            Some((how.to_owned(), pid.parse().ok()?))
        };
        self.recorded(file).lines().filter_map(read).collect()
    }

    /// The whole lines of a record: the last may be being written.
    fn recorded(&self, file: &str) -> String {
        let mut text = fs::read_to_string(self.path("records").join(file)).unwrap_or_default();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text
    }

    /// Ends this process with the fleet, although nothing shows that it belongs to it.
    pub fn end_with_fleet(&self, pid: i32) {
        self.untraceable.borrow_mut().extend(process::seen(pid));
    }

    /// `down -y`, which must succeed and leave nothing.
    #[track_caller]
    pub fn down(&self) -> Ran {
        let ran = self.farhelm(["down", "-y"]).ok();
        self.down.set(true);
        assert_eq!(self.tmux().stamped(), [], "panes are left\n{ran}");
        assert_eq!(self.describe(&self.marked()), "", "processes are left\n{ran}");
        ran
    }

    fn describe(&self, processes: &[Seen]) -> String {
        let line = |p: &Seen| format!("pid {}: {:?}\n", p.pid, process::argv(p.pid));
        processes.iter().map(line).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let survivors = self.describe(&self.marked());
        drop(self.manager.take());
        self.tmux().kill_server();
        // A process may be starting another one just now: until nothing is found.
        wait_until("everything of a test's fleet ends", || {
            let mut found = process::mentioning(self.root.path().as_os_str());
            found.extend(self.untraceable.borrow().iter().filter(|p| process::seen(p.pid) == Some(**p)));
            for p in &found {
                process::signal(p.pid, Signal::SIGKILL);
            }
            found.is_empty()
        });
        if self.down.get() && !survivors.is_empty() && !std::thread::panicking() {
            panic!("`down` said that nothing is left:\n{survivors}");
        }
    }
}

fn read_start(line: &str) -> Start {
    let words: Vec<&str> = line.split(' ').collect();
    let text = |bytes: OsString| bytes.to_string_lossy().into_owned();
    let mut cwd = unhex(words[2]);
    assert_eq!(cwd.pop(), Some(b'\n'), "pwd ends its line");
    Start {
        pid: words[0].parse().expect("the agent notes its number"),
        argv: process::split_nul(&unhex(words[1])).into_iter().map(text).collect(),
        cwd: PathBuf::from(OsString::from_vec(cwd)),
        environment: process::variables(&unhex(words[3])).into_iter().map(|(n, v)| (text(n), text(v))).collect(),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |b: u8| (b as char).to_digit(16).expect("the agent writes hexadecimal digits") as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
