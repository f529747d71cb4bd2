//! One session's state directory, and agents that run its hook.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use farhelm::host::real::{Machine, Settings};
use farhelm::state::owner::Account;
use farhelm::state::record::SessionId;
use farhelm::state::reports::Report;
use farhelm::state::reports::reading::{self, Found};
use farhelm::state::store::Store;

/// The farhelm under test.
pub const FARHELM: &str = env!("CARGO_BIN_EXE_farhelm");

/// A session's start, as Claude Code tells it.
pub const START: &str = r#"{"session_id":"aa26917c-c1af-4f41-8f16-0ebefbcd3c3f","transcript_path":"/home/user/.claude/projects/-tmp-demo/aa26917c-c1af-4f41-8f16-0ebefbcd3c3f.jsonl","cwd":"/tmp/demo","hook_event_name":"SessionStart","source":"startup"}"#;

pub struct World {
    dir: tempfile::TempDir,
    pub session: SessionId,
    token: String,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("our own directory");
        let session = SessionId(uuid::Uuid::new_v4());
        let machine = machine();
        let account = Account { hostname: "host".to_owned(), uid: 0 };
        let store = Store::open(&machine, dir.path(), &account).expect("a state directory");
        let token = store.token(session).expect("a token");
        Self { dir, session, token }
    }

    pub fn state(&self) -> &Path {
        self.dir.path()
    }

    pub fn reports_dir(&self) -> PathBuf {
        self.dir.path().join("reports").join(self.session.to_string())
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("supervisor.sock")
    }

    /// `command` with what a launch hands down.
    pub fn launched(&self, mut command: Command) -> Command {
        command
            .env("FARHELM_SESSION_ID", self.session.to_string())
            .env("FARHELM_SESSION_TOKEN", &self.token)
            .env("FARHELM_SUPERVISOR_SOCK", self.socket())
            .env("HOOK", FARHELM);
        command
    }

    /// The hook itself, a child of the test.
    pub fn hook(&self) -> Command {
        self.launched(hook())
    }

    pub fn found(&self) -> Vec<Found> {
        reading::all(&machine(), &self.reports_dir()).expect("the directory of reports")
    }

    /// The reports there are, oldest first; all of them must be readable.
    pub fn reports(&self) -> Vec<Report> {
        self.found().into_iter().map(|found| found.report.expect("a readable report")).collect()
    }

    #[track_caller]
    pub fn only_report(&self) -> Report {
        let mut reports = self.reports();
        assert_eq!(reports.len(), 1, "{reports:?}\n{}", self.log());
        reports.remove(0)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.reports_dir().join("log")).unwrap_or_default()
    }

    /// The last line of the log, without its time.
    pub fn last_line(&self) -> String {
        let log = self.log();
        log.lines().last().and_then(|line| line.split_once(' ')).map_or("", |(_, rest)| rest).to_owned()
    }
}

pub fn machine() -> Machine {
    Machine::new(Settings::default()).expect("this machine")
}

pub fn hook() -> Command {
    let mut command = Command::new(FARHELM);
    command.args(["internal", "hook", "--vendor", "claude", "--launch", "1"]);
    command
}

/// Runs `command` to its end with `input`; it may not read all of it.
pub fn run(mut command: Command, input: &[u8]) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    let _ = child.stdin.take().expect("its input").write_all(input);
    child.wait_with_output().expect("it ends")
}

/// Runs a hook, which must be silent and succeed.
#[track_caller]
pub fn silently(command: Command, input: &[u8]) {
    let output = run(command, input);
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(String::from_utf8_lossy(&said), "");
}
