//! Where one agent is tested: a fleet, a home configured for the agent, a model, and hands on the terminal.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::agent::{Agent, Home};
use crate::cache;
use crate::model::Model;
use crate::support::fleet::Fleet;
use crate::support::process;

/// How long a test waits for an agent. One needs eight seconds of a processor to start.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A fleet for one agent. What a [`Fleet`] can, this can.
pub struct Bed {
    pub agent: &'static Agent,
    model: Model,
    fleet: Fleet,
}

impl Deref for Bed {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.fleet
    }
}

impl Agent {
    /// A new bed for this agent; `None`, and said, when it is not to be tested.
    #[track_caller]
    pub fn bed(&'static self) -> Option<Bed> {
        cache::chosen(self.name).then(|| Bed::new(self))
    }
}

impl Bed {
    fn new(agent: &'static Agent) -> Self {
        let bed = Self { agent, model: Model::start(), fleet: Fleet::new() };
        fs::create_dir(bed.home().path.join("tmp")).expect("a new directory");
        (agent.configure)(&bed.home());
        bed
    }

    /// The model the agents talk to.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Writes `farhelm.yaml` with these sessions: a name, and lines of YAML. Each has a repository of its own for a
    /// directory, unless it says another one (`dir: '@WORK@/…'`), which the agent trusts, and the agent's profile and
    /// environment.
    ///
    /// Name all sessions before the first runs, if need be `desired: stopped`: an agent that runs may write its
    /// configuration anew, and without a directory that was trusted meanwhile.
    pub fn sessions(&self, sessions: &[(&str, &str)]) -> &Self {
        let mut text = String::from("farhelm: v1\nfleet: t\npolicy: {launch: {parallel: 8, stagger: 1ms}}\n");
        text += &format!("defaults:\n  profile: {}\n  env: {}\n", self.agent.name, self.environment_yaml());
        text += if self.agent.kind().choices.trusted.is_some() { "  trust: trusted\n" } else { "" };
        text += if sessions.is_empty() { "sessions: {}\n" } else { "sessions:\n" };
        for (name, fields) in sessions {
            let dir = fields.lines().find_map(|line| line.strip_prefix("dir: '@WORK@/")?.strip_suffix('\''));
            self.repository(dir.unwrap_or(name));
            text += &format!("  {name}:\n");
            text += &if dir.is_none() { format!("    dir: '@WORK@/{name}'\n") } else { String::new() };
            for line in fields.lines().filter(|line| !line.is_empty()) {
                text += &format!("    {line}\n");
            }
        }
        self.write(&text);
        self
    }

    fn repository(&self, name: &str) {
        let dir = self.dir(name);
        if dir.join(".git").exists() {
            return;
        }
        let made = Command::new("git").args(["init", "--quiet"]).arg(&dir).env("HOME", self.home().path).status();
        assert!(made.expect("git is installed").success(), "no repository in {}", dir.display());
        (self.agent.trust)(&self.home(), &dir);
    }

    /// The environment of the agent's sessions, as JSON, which is YAML.
    fn environment_yaml(&self) -> String {
        let home = self.home();
        let usual = "/usr/local/bin:/usr/bin:/bin";
        let path = [self.agent.name, "node"].map(|name| cache::programs(name).display().to_string());
        let text = |path: &Path| path.display().to_string();
        let mut environment = BTreeMap::from([
            ("HOME", text(&home.path)),
            // Some complain of a home below the folder of temporary files.
            ("TMPDIR", text(&home.path.join("tmp"))),
            ("PATH", format!("{}:{usual}", path.join(":"))),
            ("LANG", "C.UTF-8".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ]);
        environment.extend((self.agent.environment)(&home));
        serde_json::to_string(&environment).expect("plain texts").replace('$', "$$")
    }

    /// What a session's pane shows.
    #[track_caller]
    pub fn screen(&self, name: &str) -> String {
        self.shown(&self.pane(name))
    }

    fn shown(&self, pane: &str) -> String {
        self.tmux().run(&["capture-pane", "-p", "-t", pane])
    }

    #[track_caller]
    fn pane(&self, name: &str) -> String {
        let status = self.status();
        status.of(name).pane.clone().unwrap_or_else(|| panic!("`{name}` has no pane: {status:#?}"))
    }

    /// Whether this screen is that of an agent that waits for a prompt.
    fn looks_idle(&self, screen: &str) -> bool {
        self.agent.idle.iter().all(|sign| screen.contains(sign))
            && !self.agent.busy.iter().any(|sign| screen.contains(sign))
    }

    /// Waits until the agent waits for a prompt: by its screen, and no request is open. Its screen.
    #[track_caller]
    pub fn wait_idle(&self, name: &str) -> String {
        let pane = self.pane(name);
        let mut screen = String::new();
        self.wait(name, "the agent is idle", || {
            screen = self.shown(&pane);
            self.model.is_quiet() && self.looks_idle(&screen)
        });
        screen
    }

    /// Waits until `condition` holds; shows the session's screen when it does not.
    #[track_caller]
    pub fn wait(&self, name: &str, what: &str, mut condition: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !condition() {
            if begin.elapsed() > PATIENCE {
                panic!("waited {PATIENCE:?} in vain: {what}\n{}\n{:#?}", self.screen(name), self.model.requests());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Puts a text into the composer as a terminal pastes it, and waits until it stands there.
    ///
    /// Gemini draws its composer before it reads: what it is given too early it drops. Then the line is emptied, and given
    /// the text again.
    #[track_caller]
    pub fn paste_into(&self, name: &str, text: &str) {
        let pane = self.pane(name);
        let begin: String = text.chars().take(20).collect();
        let mut pasted: Option<Instant> = None;
        self.wait(name, "the text is in the composer", || {
            if pasted.is_none_or(|at| at.elapsed() > Duration::from_secs(15)) {
                if pasted.is_some() {
                    self.press(name, &["C-u"]);
                }
                self.tmux().run(&["set-buffer", "-b", "typed", "--", text]);
                self.tmux().run(&["paste-buffer", "-p", "-d", "-b", "typed", "-t", &pane]);
                pasted = Some(Instant::now());
            }
            self.shown(&pane).contains(&begin)
        });
    }

    /// Presses keys, in tmux's names.
    #[track_caller]
    pub fn press(&self, name: &str, keys: &[&str]) {
        self.tmux().run(&[&["send-keys", "-t", &self.pane(name)], keys].concat());
    }

    /// Types a prompt: pastes it, and presses Enter until the model is asked.
    ///
    /// Soon after a paste some agents take Enter for one more line of it, and nothing on the screen says until when. One
    /// Enter too many meets an empty composer.
    #[track_caller]
    pub fn type_into(&self, name: &str, text: &str) {
        let before = self.model.turns().len();
        self.paste_into(name, text);
        let mut pressed: Option<Instant> = None;
        self.wait(name, "the model is asked what was typed", || {
            if pressed.is_none_or(|at| at.elapsed() > Duration::from_secs(5)) {
                self.press(name, &["Enter"]);
                pressed = Some(Instant::now());
            }
            self.model.turns().len() > before
        });
    }

    /// Types a command of the agent's own, which asks the model nothing, and waits until it took `gone` off the screen.
    #[track_caller]
    pub fn slash(&self, name: &str, text: &str, gone: &str) {
        self.paste_into(name, text);
        let pane = self.pane(name);
        let mut pressed: Option<Instant> = None;
        self.wait(name, "the command is carried out", || {
            if pressed.is_none_or(|at| at.elapsed() > Duration::from_secs(3)) {
                self.press(name, &["Enter"]);
                pressed = Some(Instant::now());
            }
            !self.shown(&pane).contains(gone)
        });
    }

    /// Waits until the model has been asked this often to begin a turn; all of these requests.
    #[track_caller]
    pub fn wait_turns(&self, name: &str, count: usize) -> Vec<crate::model::Request> {
        self.wait(name, &format!("the model is asked {count} times"), || self.model.turns().len() >= count);
        self.model.turns()
    }

    /// A prompt that makes the agent run a tool that never ends: a process of its own, also where the agent's shell has
    /// a `tail` built in.
    pub fn endless(&self, name: &str) -> String {
        let file = self.file(&format!("{name}/endless"), "");
        format!("go [[run /usr/bin/tail -f {}]]", file.display())
    }

    /// Waits until that tool runs.
    #[track_caller]
    pub fn wait_tool(&self, name: &str) {
        let file = self.path("work").join(name).join("endless");
        let is_tool = |argv: &[OsString]| argv.len() == 3 && argv[0] == *"/usr/bin/tail" && argv[2] == *file;
        self.wait(name, "the tool runs", || process::all().iter().any(|p| is_tool(&process::argv(p.pid))));
    }

    /// What runs in a session's pane: the process, or the child of its wrapper, that is the agent.
    #[track_caller]
    pub fn agent_pid(&self, name: &str) -> i32 {
        let pid = self.pid(name);
        let mut candidates = vec![pid];
        candidates.extend(process::children(pid));
        let mut found = None;
        self.wait(name, "the agent has its process", || {
            found = candidates.iter().copied().find(|pid| self.is_agent(*pid));
            candidates.splice(1.., process::children(pid));
            found.is_some()
        });
        found.expect("just seen")
    }

    /// Whether this process is the agent.
    pub fn is_agent(&self, pid: i32) -> bool {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        comm.trim_end() == self.agent.comm
    }

    /// Every process of this bed but the tmux server: by what it was started with, and by where it is.
    pub fn left(&self) -> Vec<String> {
        let root = self.root().canonicalize().expect("it exists");
        let server = self.tmux().server();
        let mut found = process::mentioning(self.root().as_os_str());
        found.extend(
            process::all()
                .into_iter()
                .filter(|p| fs::read_link(format!("/proc/{}/cwd", p.pid)).is_ok_and(|cwd| cwd.starts_with(&root))),
        );
        found.sort();
        found.dedup();
        found.retain(|p| Some(p.pid) != server);
        found.iter().map(|p| format!("pid {}: {:?}", p.pid, process::argv(p.pid))).collect()
    }

    /// Waits until nothing but the tmux server is left.
    #[track_caller]
    pub fn wait_left_nothing(&self) {
        crate::support::wait::wait_at_most(PATIENCE, "all of it has ended", || self.left().is_empty());
    }

    fn home(&self) -> Home {
        Home { path: self.path("home"), model: self.model.url().to_owned() }
    }
}
