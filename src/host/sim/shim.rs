//! What runs in a pane farhelm opened: the login shell, the shim, and the agent the shim becomes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::process::ProcessKey;
use super::faults::DiskMode;
use super::ledger::{AgentRun, What, flag_value};
use super::machine::{Event, Machine, markers_of};
use super::program::{self, Habits, OnTerm};
use super::table::End;

/// The part of a launch's spec file that the simulated shim needs.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Spec {
    argv: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    session: String,
    #[serde(default)]
    tab: Option<serde_json::Value>,
    #[serde(default)]
    before_launch: Option<serde_json::Value>,
    #[serde(default)]
    exec_file: Option<PathBuf>,
    #[serde(default)]
    status_file: Option<PathBuf>,
}

/// The path behind `internal launch` in a pane's command.
fn spec_path(argv: &[String]) -> Option<PathBuf> {
    let inner = argv.join(" ");
    let (_, rest) = inner.split_once("internal launch ")?;
    shell_words::split(rest).ok()?.into_iter().next().map(PathBuf::from)
}

impl Machine {
    /// A pane farhelm opened has its first process: a login shell, unless it is a program by itself.
    pub fn begin_shim(&mut self, key: ProcessKey) {
        // An interactive shell ignores TERM and dies of HUP.
        self.take_up(key, Habits { term: OnTerm::Ignores, ..Habits::default() });
        if self.table.live(key).is_none_or(|shell| spec_path(&shell.argv).is_none()) {
            return;
        }
        if self.random.chance(self.faults.shell_stuck) {
            return self.note(format!("the login shell {key} never comes to the shim"));
        }
        let after = self.random.range(1, self.faults.shim_ms.max(2));
        let dies = self.random.chance(self.faults.shell_dies);
        self.schedule(after, if dies { Event::Exit(key, 1) } else { Event::Shim(key) });
    }

    /// The login shell execs the shim, which reads its spec.
    pub fn run_shim(&mut self, key: ProcessKey) {
        let Some(path) = self.table.live(key).and_then(|shell| spec_path(&shell.argv)) else { return };
        if let Some(shell) = self.table.live_mut(key) {
            "farhelm".clone_into(&mut shell.comm);
        }
        let Some(spec) = self.take_spec(&path) else {
            return self.launch_failed(key, &path.with_extension("status"), "cannot read the launch spec");
        };
        let prepares = spec.before_launch.as_ref().is_some_and(|value| !value.is_null());
        let after = if prepares { self.random.range(10, 2_000) } else { 0 };
        if prepares && self.random.chance(self.faults.before_launch_fails) {
            let status = spec.status_file.unwrap_or_else(|| path.with_extension("status"));
            return self.launch_failed(key, &status, "before_launch ended with status 1");
        }
        self.launching.insert(key, (path, spec));
        self.schedule(after, Event::Prepared(key));
    }

    fn take_spec(&mut self, path: &Path) -> Option<Spec> {
        let bytes = self.files.read(path, 4 << 20).ok()?;
        if self.faults.disk != DiskMode::ReadOnly {
            self.files.remove(path).ok()?;
        }
        serde_json::from_slice(&bytes).ok()
    }

    /// The shim becomes the program.
    pub fn finish_shim(&mut self, key: ProcessKey) {
        let Some((path, spec)) = self.launching.remove(&key) else { return };
        let name = spec.argv.first().cloned().unwrap_or_default();
        let mut random = self.random.split();
        let Some(habits) = program::habits(&name, &mut random) else {
            let status = spec.status_file.unwrap_or_else(|| path.with_extension("status"));
            return self.launch_failed(key, &status, &format!("`{name}` is not in PATH"));
        };
        let proof = spec.exec_file.clone().unwrap_or_else(|| path.with_extension("exec"));
        self.write_from_shim(&proof, format!("{{\"pid\":{},\"start\":{}}}", key.pid, key.start).as_bytes());
        let mut markers = markers_of(&spec.env);
        let is_tab = spec.tab.as_ref().is_some_and(|tab| !tab.is_null());
        markers.session.get_or_insert_with(|| spec.session.clone());
        if !is_tab {
            markers.agent.get_or_insert_with(|| spec.session.clone());
        }
        if let Some(process) = self.table.live_mut(key) {
            process.comm = name.rsplit('/').next().unwrap_or(&name).chars().take(15).collect();
            process.argv.clone_from(&spec.argv);
            process.markers = markers;
            process.agent = !is_tab;
        }
        let origin = self.table.origin(key).cloned();
        self.happened(origin, What::Exec { key, argv: spec.argv.clone() });
        if !is_tab {
            self.agent_runs(key, spec.argv);
        }
        self.take_up(key, habits);
    }

    fn write_from_shim(&mut self, path: &Path, bytes: &[u8]) {
        if self.faults.disk == DiskMode::Well && self.files.replace(path, bytes).is_err() {
            self.note(format!("the shim cannot write {}", path.display()));
        }
    }

    fn launch_failed(&mut self, key: ProcessKey, status: &Path, words: &str) {
        let origin = self.table.origin(key).cloned();
        self.happened(origin, What::LaunchFailed { words: words.to_owned() });
        let sentinel = serde_json::json!({ "version": 1, "error": words });
        self.write_from_shim(status, sentinel.to_string().as_bytes());
        self.die(key, End::Exited(127));
    }

    /// An agent has begun: what must hold at that moment is checked here.
    fn agent_runs(&mut self, key: ProcessKey, argv: Vec<String>) {
        let Some(origin) = self.table.origin(key).cloned() else { return };
        let resumed = flag_value(&argv, "--resume");
        let assigned = flag_value(&argv, "--session-id");
        let run = AgentRun { origin, key, argv, at: self.time, resumed, assigned };
        self.check_run(&run);
        self.ledger.runs.push(run);
    }
}
