//! What runs in a pane farhelm opened: the login shell, the shim, and the agent the shim becomes.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::process::{Markers, ProcessKey};
use super::faults::DiskMode;
use super::ledger::{AgentRun, What, flag_value};
use super::machine::{Event, Machine};
use super::program::{self, Habits, OnTerm};
use super::table::{End, Spawn};
use super::talks::Vendor;

/// The part of a launch's spec file that the simulated shim needs.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Spec {
    argv: Vec<String>,
    session: String,
    #[serde(default)]
    tab: Option<String>,
    #[serde(default)]
    socket: Option<String>,
    #[serde(default)]
    dir: PathBuf,
    #[serde(default)]
    before_launch: Option<serde_json::Value>,
    exec_file: PathBuf,
    status_file: PathBuf,
    #[serde(default)]
    durable_exec: bool,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    token: String,
}

impl Spec {
    fn markers(&self) -> Markers {
        let session = Some(self.session.clone());
        let agent = if self.tab.is_none() { session.clone() } else { None };
        Markers { session, agent, tab: self.tab.clone(), socket: self.socket.clone() }
    }
}

/// The spec's path and the scope's unit in a pane's command.
fn launch_in(argv: &[String]) -> Option<(PathBuf, Option<String>)> {
    let words = shell_words::split(argv.last()?).ok()?;
    let at = words.windows(2).position(|pair| pair[0] == "internal" && pair[1] == "launch")?;
    let unit = words[..at].iter().find_map(|word| word.strip_prefix("--unit=")).map(str::to_owned);
    Some((PathBuf::from(words.get(at + 2)?), unit))
}

impl Machine {
    /// A pane farhelm opened has its first process: a login shell on its way to the shim.
    pub(super) fn begin_shim(&mut self, key: ProcessKey) {
        // An interactive shell ignores TERM and dies of HUP.
        self.take_up(key, Habits { term: OnTerm::Ignores, ..Habits::default() });
        if self.table.live(key).is_none_or(|shell| launch_in(&shell.argv).is_none()) {
            return;
        }
        if self.random.chance(self.faults.shell_stuck) {
            return self.note(format!("the login shell {key} never comes to the shim"));
        }
        let after = self.random.range(1, self.faults.shim_ms.max(2));
        let dies = self.random.chance(self.faults.shell_dies);
        self.schedule(after, if dies { Event::Exit(key, 1) } else { Event::Shim(key) });
    }

    /// The login shell execs the shim, perhaps through a scope; the shim reads its spec.
    pub(super) fn run_shim(&mut self, key: ProcessKey) {
        let Some((path, unit)) = self.table.live(key).and_then(|shell| launch_in(&shell.argv)) else { return };
        if unit.is_some() && self.random.chance(self.faults.scope_fails) {
            return self.die(key, End::Exited(1));
        }
        if let Some(shell) = self.table.live_mut(key) {
            "farhelm".clone_into(&mut shell.comm);
            shell.unit = unit;
        }
        self.take_up(key, Habits { term: OnTerm::Exits(1, 125), ..Habits::default() });
        let Some(spec) = self.take_spec(&path) else {
            return self.launch_failed(key, &path.with_extension("status"), "cannot read the launch spec");
        };
        if self.files.resolve_dir(&spec.dir).is_err() && !spec.dir.as_os_str().is_empty() {
            return self.launch_failed(key, &spec.status_file, "cannot enter its directory");
        }
        let after = if spec.before_launch.is_some() { self.prepare(key, &spec) } else { 0 };
        self.launching.insert(key, spec);
        self.schedule(after, Event::Prepared(key));
    }

    /// `before_launch` runs as a child of the shim, marked as the session's; it takes so many milliseconds.
    fn prepare(&mut self, shim: ProcessKey, spec: &Spec) -> u64 {
        let (markers, origin) = (spec.markers(), self.table.origin(shim).cloned());
        let child = self.spawn(shim.pid, Spawn { comm: "prepare", markers, origin, ..Spawn::default() });
        let after = self.random.range(10, 2_000);
        self.schedule(after, Event::Exit(child, 0));
        after
    }

    fn take_spec(&mut self, path: &Path) -> Option<Spec> {
        let bytes = self.files.read(path, 4 << 20).ok()?;
        if self.faults.disk != DiskMode::ReadOnly {
            self.files.remove(path).ok()?;
        }
        serde_json::from_slice(&bytes).ok()
    }

    /// The shim becomes the program.
    pub(super) fn finish_shim(&mut self, key: ProcessKey) {
        let Some(spec) = self.launching.remove(&key) else { return };
        if spec.before_launch.is_some() && self.random.chance(self.faults.before_launch_fails) {
            return self.launch_failed(key, &spec.status_file, "before_launch ended with status 1");
        }
        let name = spec.argv.first().cloned().unwrap_or_default();
        let mut random = self.random.split();
        let Some(habits) = program::habits(&name, &mut random) else {
            return self.launch_failed(key, &spec.status_file, &format!("`{name}` is not in PATH"));
        };
        let proof = key.pid.to_string();
        if !self.write_from_shim(&spec.exec_file, proof.as_bytes(), spec.durable_exec) {
            return self.launch_failed(key, &spec.status_file, "cannot write the exec file");
        }
        if let Some(process) = self.table.live_mut(key) {
            process.comm = name.rsplit('/').next().unwrap_or(&name).chars().take(15).collect();
            process.argv.clone_from(&spec.argv);
            process.markers = spec.markers();
            process.agent = spec.tab.is_none();
        }
        let origin = self.table.origin(key).cloned();
        self.happened(origin, What::Exec { key, argv: spec.argv.clone() });
        if spec.tab.is_none() {
            self.agent_runs(key, &spec);
        }
        self.take_up(key, habits);
    }

    fn write_from_shim(&mut self, path: &Path, bytes: &[u8], durable: bool) -> bool {
        if self.faults.disk != DiskMode::Well {
            return false;
        }
        let written = if durable {
            self.files.replace(path, bytes)
        } else {
            self.files.remove(path).and_then(|()| self.files.create(path, bytes))
        };
        written.is_ok()
    }

    fn launch_failed(&mut self, key: ProcessKey, status: &Path, words: &str) {
        let origin = self.table.origin(key).cloned();
        self.happened(origin, What::LaunchFailed { words: words.to_owned() });
        let sentinel = serde_json::json!({ "version": 1, "what": "unreadable-spec", "words": words });
        self.write_from_shim(status, sentinel.to_string().as_bytes(), true);
        self.die(key, End::Exited(125));
    }

    /// An agent has begun: what must hold at that moment is checked here.
    fn agent_runs(&mut self, key: ProcessKey, spec: &Spec) {
        let Some(origin) = self.table.origin(key).cloned() else { return };
        let argv = spec.argv.clone();
        let subcommand = argv.get(1).filter(|word| *word == "resume").and_then(|_| argv.get(2)).cloned();
        let resumed = flag_value(&argv, "--resume").or(subcommand);
        let assigned = flag_value(&argv, "--session-id");
        let vendor = Vendor::of(spec.kind.as_deref());
        let run = AgentRun { origin, key, argv, at: self.time, resumed, assigned };
        self.check_run(&run, vendor.is_some());
        if let Some(vendor) = vendor {
            let state = spec.socket.as_deref().and_then(|socket| Path::new(socket).parent()).unwrap_or(Path::new("/"));
            let reports = state.join("reports").join(&spec.session);
            self.speaker_begins(vendor, &run, reports, spec.dir.clone());
        }
        self.tokens.insert(spec.session.clone(), spec.token.clone());
        self.ledger.runs.push(run);
    }
}
