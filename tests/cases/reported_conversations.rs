//! Conversations that agents report by themselves, where they lie and how long they take to come back.
//!
//! The program is one of ours: it keeps its conversations where Claude keeps them, and runs the hook that it was given.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::fleet::{Fleet, Start};
use crate::support::process;
use crate::support::wait::wait_until;
use crate::support::watching::Watching;

/// Records its start, writes its conversation and says so. While `slow` is there it takes for ever to resume one. What is
/// typed is shown.
const CLAUDE: &str = r#"#!/bin/bash
hex() { od -An -v -tx1 | tr -d ' \n'; }
printf '%s %s %s %s\n' $$ "$(hex < /proc/$$/cmdline)" "$(pwd | hex)" "$(hex < /proc/$$/environ)" >> "@RECORDS@"
while [ $# -gt 0 ]; do
  case $1 in
    --session-id) id=$2; shift ;;
    --resume) id=$2; resumed=yes; shift ;;
    --settings) settings=$2; shift ;;
  esac
  shift
done
file=${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects/here/$id.jsonl
if [ -e "@SLOW@" ] && [ -n "${resumed:-}" ]; then
  read -r line
  echo "GOT $line"
  exec tail -f /dev/null
fi
launch=$(grep -o -- '--launch [0-9]*' <<< "$settings" | head -n 1)
hook() {
  printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"%s"%s}' "$id" "$file" "$PWD" "$1" "$2" |
    "@FARHELM@" internal hook --vendor claude $launch
}
mkdir -p "${file%/*}"
hook SessionStart ',"source":"startup"'
echo '{"type":"user","uuid":"1"}' >> "$file"
hook UserPromptSubmit ',"prompt":"hello"'
read -r line
echo "GOT $line"
exec tail -f /dev/null
"#;

struct Bed {
    fleet: Fleet,
    slow: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let fleet = Fleet::new();
        let slow = fleet.path("slow");
        let text = |path: PathBuf| path.display().to_string();
        let script = CLAUDE
            .replace("@RECORDS@", &text(fleet.path("records/api")))
            .replace("@SLOW@", &text(slow.clone()))
            .replace("@FARHELM@", env!("CARGO_BIN_EXE_farhelm"));
        fleet.program("claude", &script);
        fleet.dir("api");
        Self { fleet, slow }
    }

    /// One session, whose agent keeps its conversations below this directory.
    fn keeps_below(&self, config: &str) {
        let program = self.fleet.path("bin/claude");
        let config = self.fleet.path(config);
        self.fleet.write(&format!(
            "farhelm: v1\nfleet: t\nsessions:\n  api:\n    kind: claude\n    dir: '@WORK@/api'\n    invocation: ['{}']\n    \
             env: {{CLAUDE_CONFIG_DIR: '{}'}}\n",
            program.display(),
            config.display()
        ));
    }

    fn record(&self) -> Value {
        self.fleet.record("api")
    }

    /// Waits until farhelm knows the conversation: its file.
    fn known(&self) -> PathBuf {
        wait_until("the conversation is known", || {
            // Reports count when somebody looks who writes.
            self.fleet.farhelm(["apply", "-y"]).ok();
            self.record()["identity"]["prompted"] == true
        });
        PathBuf::from(self.record()["identity"]["transcripts"][0].as_str().expect("a file"))
    }

    /// Makes the latest launch one of so many seconds ago.
    fn age(&self, seconds: i64) {
        let records = fs::read_dir(self.fleet.state().join("sessions")).expect("records");
        let file = records.flatten().find(|file| file.path().extension().is_some_and(|end| end == "json"));
        let file = file.expect("one").path();
        let mut record: Value = serde_json::from_slice(&fs::read(&file).expect("a record")).expect("JSON");
        let launch = record["launches"].as_array_mut().and_then(|all| all.last_mut()).expect("a launch");
        for clock in ["boot_ms", "wall_ms"] {
            launch["at"][clock] = json!(launch["at"][clock].as_i64().expect("a time") - seconds * 1000);
        }
        let aside = file.with_extension("aged");
        fs::write(&aside, record.to_string()).expect("our own state");
        fs::rename(aside, file).expect("our own state");
    }

    fn screen(&self) -> String {
        let pane = self.fleet.status().of("api").pane.clone().expect("it has a pane");
        self.fleet.tmux().run(&["capture-pane", "-p", "-t", &pane])
    }
}

fn resumed(start: &Start) -> Option<&str> {
    let at = start.argv.iter().position(|word| word == "--resume")?;
    start.argv.get(at + 1).map(String::as_str)
}

/// A conversation's file that is as long as months of work make it.
fn fatten(file: &PathBuf) {
    let open = fs::OpenOptions::new().append(true).open(file).expect("it is there");
    open.set_len(74 << 20).expect("room for a hole");
}

#[test]
fn b2_a_conversation_that_lies_elsewhere_than_a_relaunch_will_look_is_not_begun_anew() {
    let bed = Bed::new();
    bed.keeps_below("old");
    bed.fleet.apply();
    let first = bed.fleet.started("api", 1);
    let file = bed.known();
    assert!(file.starts_with(bed.fleet.path("old")), "{}", file.display());
    bed.keeps_below("new");
    bed.fleet.farhelm(["plan"]).ok().says("blocked").says("where the agent will look");
    bed.fleet.apply();
    assert!(process::runs(first.pid), "what runs was ended for nothing");
    process::kill_hard(first.pid);
    bed.fleet.farhelm(["plan"]).ok().says("blocked").says("where the agent will look");
    bed.fleet.apply();
    assert_eq!(bed.fleet.starts("api").len(), 1, "a blank conversation was begun");
    // Where it was before, it goes on.
    bed.keeps_below("old");
    bed.fleet.apply();
    assert_eq!(resumed(&bed.fleet.started("api", 2)), file.file_stem().and_then(|id| id.to_str()));
    bed.fleet.down();
}

#[test]
fn b2_a_watch_holds_a_session_whose_conversation_lies_elsewhere_and_begins_none_anew() {
    let bed = Bed::new();
    bed.keeps_below("old");
    bed.fleet.apply();
    let first = bed.fleet.started("api", 1);
    let file = bed.known();
    let watching = Watching::start(&bed.fleet);
    bed.keeps_below("new");
    watching.held("api", "conversation");
    assert!(process::runs(first.pid), "what runs was ended for nothing");
    process::kill_hard(first.pid);
    wait_until("its end is seen", || bed.fleet.status().of("api").pid.is_none());
    bed.keeps_below("old");
    assert_eq!(resumed(&bed.fleet.started("api", 2)), file.file_stem().and_then(|id| id.to_str()));
    watching.stop();
    bed.fleet.down();
}

/// A session that runs, and its conversation: huge, and slow to resume from now on.
fn slow_to_resume() -> (Bed, Start, PathBuf) {
    let bed = Bed::new();
    bed.keeps_below("config");
    bed.fleet.apply();
    let first = bed.fleet.started("api", 1);
    let file = bed.known();
    fatten(&file);
    fs::write(&bed.slow, "").expect("a file");
    (bed, first, file)
}

#[test]
fn b16_a_huge_conversation_that_is_slow_to_resume_is_waited_for_and_told_and_left_alone() {
    let (bed, first, file) = slow_to_resume();
    process::kill_hard(first.pid);
    let begun = Instant::now();
    bed.fleet.apply();
    assert!(begun.elapsed() < Duration::from_secs(20), "an apply waited {:?} for it", begun.elapsed());
    is_waited_for_and_left_alone(&bed, &file);
    bed.fleet.down();
}

#[test]
fn b16_a_watch_waits_for_a_slow_resume_too_and_starts_nothing_beside_it() {
    let (bed, first, file) = slow_to_resume();
    let watching = Watching::start(&bed.fleet);
    process::kill_hard(first.pid);
    bed.fleet.started("api", 2);
    watching.did("launch, resume", "api");
    is_waited_for_and_left_alone(&bed, &file);
    watching.stop();
    bed.fleet.down();
}

/// The second launch resumes, does not come up, and is all there is.
fn is_waited_for_and_left_alone(bed: &Bed, file: &std::path::Path) {
    let second = bed.fleet.started("api", 2);
    assert_eq!(resumed(&second), file.file_stem().and_then(|id| id.to_str()));
    bed.age(20);
    assert!(bed.fleet.status().of("api").reason.contains("no report yet"), "{:?}", bed.fleet.status());
    bed.age(60);
    wait_until("it is told", || bed.fleet.status().of("api").reason.contains("no report came"));
    bed.fleet.apply();
    assert!(process::runs(second.pid), "it was not waited for");
    assert_eq!(bed.fleet.starts("api").len(), 2);
    assert_eq!(bed.fleet.marked().len(), 1, "a process beside it: {:?}", bed.fleet.marked());
    assert!(!bed.screen().contains("GOT"), "keys were sent: {}", bed.screen());
}
