//! The hook leaving a report, against `/bin/true` started the same way and the syncs that the report itself needs.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use farhelm::host::real::{Machine, Settings};
use farhelm::state::owner::Account;
use farhelm::state::record::SessionId;
use farhelm::state::store::Store;

use crate::bed::{Bed, FARHELM};
use crate::{RUNS, report};

const START: &str = r#"{"session_id":"aa26917c-c1af-4f41-8f16-0ebefbcd3c3f","transcript_path":"/home/user/.claude/projects/-tmp-demo/aa26917c-c1af-4f41-8f16-0ebefbcd3c3f.jsonl","cwd":"/tmp/demo","hook_event_name":"SessionStart","source":"startup"}"#;

/// Hooks of one measurement.
const MANY: u32 = 20;

pub fn run() {
    let bed = Bed::new();
    let state = bed.path("state");
    fs::create_dir(&state).and_then(|()| fs::set_permissions(&state, fs::Permissions::from_mode(0o700))).expect("ours");
    let session = SessionId(uuid::Uuid::new_v4());
    let machine = Machine::new(Settings::default()).expect("this machine");
    let account = Account { hostname: "host".to_owned(), uid: rustix::process::getuid().as_raw() };
    let token = Store::open(&machine, &state, &account).and_then(|store| store.token(session)).expect("a token");
    let hook = || {
        let mut command = bed.command(FARHELM);
        command.args(["internal", "hook", "--vendor", "claude", "--launch", "1"]);
        command.env("FARHELM_SESSION_ID", session.to_string());
        command.env("FARHELM_SESSION_TOKEN", &token);
        command.env("FARHELM_SUPERVISOR_SOCK", state.join("supervisor.sock"));
        command
    };
    told(hook());
    let dir = state.join("reports").join(session.to_string());
    let left = fs::read_dir(&dir).expect("a report").flatten().map(|entry| entry.path());
    let left: Vec<u8> = left
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .find_map(|path| fs::read(path).ok())
        .expect("a report");
    let pairs: Vec<(Duration, Duration)> = (0..RUNS)
        .map(|_| {
            let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
            for _ in 0..MANY {
                theirs += told(bed.command("/bin/true")) + kept(&dir, &left);
                ours += told(hook());
            }
            (ours / MANY, theirs / MANY)
        })
        .collect();
    report("the hook of a session's start / (/bin/true + one synced file in a synced directory)", 3.0, &pairs);
}

/// How long a command takes that is told of a session's start.
fn told(mut command: Command) -> Duration {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    // One that does not read it may be gone.
    let _ = child.stdin.take().expect("its input").write_all(START.as_bytes());
    assert!(child.wait().expect("it ends").success());
    begun.elapsed()
}

/// How long it takes to keep these bytes, whole or not at all, so that they outlive a power cut.
fn kept(dir: &std::path::Path, bytes: &[u8]) -> Duration {
    let begun = Instant::now();
    let unfinished = dir.join(".yardstick");
    let mut file = File::create(&unfinished).expect("a file");
    file.write_all(bytes).and_then(|()| file.sync_data()).expect("written");
    fs::rename(&unfinished, dir.join("yardstick")).expect("its name");
    File::open(dir).and_then(|dir| dir.sync_all()).expect("synced");
    begun.elapsed()
}
