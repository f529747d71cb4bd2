//! Agents that have a hook and do not report: what keeps them is named, and no keys are sent.
//!
//! The program is one of ours; which dialogs there are, and that it should have reported, is what farhelm knows of Claude.

use std::time::Duration;

use crate::support::fleet::Fleet;
use crate::support::wait::wait_at_most;

/// An agent that should report at its start is given 15 seconds.
const PATIENCE: Duration = Duration::from_secs(60);

fn claude(shows: &str) -> Fleet {
    let fleet = Fleet::new();
    let script =
        format!("#!/bin/bash\nprintf '%s\\n' {shows}\nread -r line\necho \"GOT $line\"\nexec tail -f /dev/null\n");
    let program = fleet.program("claude", &script);
    fleet.dir("api");
    let command = format!("kind: claude, invocation: ['{}']", program.display());
    fleet.write(&format!("farhelm: v1\nfleet: t\nsessions: {{api: {{{command}, dir: '@WORK@/api'}}}}\n"));
    fleet.apply();
    fleet
}

#[test]
fn b36_a_dialog_of_its_kind_is_named_and_left_to_the_operator() {
    let fleet = claude("'Quick safety check: Is this a project you trust?' ' 1. Yes, I trust this folder'");
    wait_at_most(PATIENCE, "the dialog is named", || fleet.status().of("api").health == "needs-input");
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
    assert_eq!(fleet.status().of("api").health, "running");
    wait_at_most(PATIENCE, "it is said to be starting", || fleet.status().of("api").health == "starting");
    let reason = fleet.status().of("api").reason.clone();
    assert!(reason.contains("starting, no report yet after "), "{reason}");
    fleet.is_settled();
    fleet.down();
}
