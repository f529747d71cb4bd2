//! Agents that have a hook and do not report: what keeps them is named, and no keys are sent.
//!
//! The program is one of ours; which dialogs there are, and that it should have reported, is what farhelm knows of Claude.

use std::fs;

use serde_json::{Value, json};

use crate::support::fleet::Fleet;
use crate::support::wait::wait_until;

fn claude(shows: &str) -> Fleet {
    wrapped(shows, "'@'")
}

/// A fleet of one that shows these lines. `command` starts it, with its program for the `@`.
fn wrapped(shows: &str, command: &str) -> Fleet {
    let fleet = Fleet::new();
    let script =
        format!("#!/bin/bash\nprintf '%s\\n' {shows}\nread -r line\necho \"GOT $line\"\nexec tail -f /dev/null\n");
    let program = fleet.program("claude", &script);
    fleet.dir("api");
    let command = command.replace('@', &program.display().to_string());
    let command = format!("kind: claude, invocation: [{command}], resume: [{command}, --resume, '{{conversation}}']");
    fleet.write(&format!("farhelm: v1\nfleet: t\nsessions: {{api: {{{command}, dir: '@WORK@/api'}}}}\n"));
    fleet.apply();
    fleet
}

/// Makes the agent one that was launched so many seconds ago.
fn age(fleet: &Fleet, seconds: i64) {
    let records = fs::read_dir(fleet.state().join("sessions")).expect("records");
    let file = records.flatten().next().expect("one").path();
    let mut record: Value = serde_json::from_slice(&fs::read(&file).expect("a record")).expect("JSON");
    let at = &mut record["launches"][0]["at"];
    for clock in ["boot_ms", "wall_ms"] {
        let then = at[clock].as_i64().expect("a time") - seconds * 1000;
        assert!(then > 0, "this machine was just started");
        at[clock] = json!(then);
    }
    fs::write(file, record.to_string()).expect("our own state");
}

#[test]
fn b36_a_dialog_of_its_kind_is_named_and_left_to_the_operator() {
    let fleet = claude("'Quick safety check: Is this a project you trust?' ' 1. Yes, I trust this folder'");
    age(&fleet, 15);
    wait_until("the dialog is named", || fleet.status().of("api").health == "needs-input");
    let status = fleet.status();
    let reason = &status.of("api").reason;
    assert!(reason.contains("it asks something before it starts: `trust` (farhelm attach api)"), "{reason}");
    fleet.farhelm(["plan"]).ok().says("it asks something before it starts");
    let screen = fleet.tmux().run(&["capture-pane", "-p", "-t", status.of("api").pane.as_deref().expect("it runs")]);
    assert!(!screen.contains("GOT"), "keys were sent: {screen}");
    fleet.is_settled();
    fleet.down();
}

#[test]
fn one_that_shows_nothing_known_is_said_to_be_starting() {
    let fleet = claude("'Half of it: Yes, I trust this folder'");
    age(&fleet, 10);
    assert_eq!(fleet.status().of("api").health, "running");
    age(&fleet, 10);
    let starting = fleet.status().of("api").clone();
    assert_eq!(starting.health, "starting");
    assert!(starting.reason.contains("starting, no report yet after 2"), "{}", starting.reason);
    fleet.is_settled();
    fleet.down();
}

#[test]
fn one_that_still_says_nothing_after_a_minute_is_told_with_the_likely_cause() {
    for (command, cause) in [
        ("'@'", "the agent asks something before it starts, or its hooks are switched off"),
        ("bash, -c, '@'", "arguments behind `bash -c …` go to that shell, not to the agent (pass on \"$@\")"),
        ("env, '@'", "`env` may not pass its arguments on to the agent"),
    ] {
        let fleet = wrapped("'nothing known'", command);
        age(&fleet, 60);
        assert!(fleet.status().of("api").reason.contains("no report yet"), "{command}");
        age(&fleet, 6);
        let reason = fleet.status().of("api").reason.clone();
        assert!(reason.contains("no report came: ") && reason.contains(cause), "{command}: {reason}");
        fleet.farhelm(["plan"]).ok().says("no report came: ");
        fleet.is_settled();
        fleet.down();
    }
}
