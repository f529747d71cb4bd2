//! Values of the environment: they reach the agent, and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::fleet::{Fleet, agent};
use crate::support::process;

/// Every file below `dir` that contains `needle`.
fn files_with(dir: &Path, needle: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let kind = entry.file_type().expect("it exists");
            let has =
                || fs::read(entry.path()).is_ok_and(|text| text.windows(needle.len()).any(|w| w == needle.as_bytes()));
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() && has() {
                found.push(entry.path());
            }
        }
    }
    found
}

/// No file of the state directory, no argument of any process and no tmux option holds `secret`.
fn is_nowhere(fleet: &Fleet, secret: &str) {
    assert_eq!(files_with(&fleet.state(), secret), Vec::<PathBuf>::new());
    for p in process::all() {
        let holds = process::argv(p.pid)
            .iter()
            .any(|word| word.as_bytes().windows(secret.len()).any(|w| w == secret.as_bytes()));
        assert!(!holds, "an argument of process {} holds it: {:?}", p.pid, process::argv(p.pid));
    }
    let tmux = fleet.tmux();
    for listing in [&["show-environment", "-g"][..], &["list-panes", "-a", "-F", "#{pane_start_command}"]] {
        assert!(!tmux.try_run(listing).unwrap_or_default().contains(secret), "tmux holds it: {listing:?}");
    }
    for pane in tmux.panes() {
        for listing in [["show-options", "-p", "-t", &pane.id], ["show-environment", "-t", &pane.id, ""]] {
            let words: Vec<&str> = listing.into_iter().filter(|w| !w.is_empty()).collect();
            assert!(!tmux.try_run(&words).unwrap_or_default().contains(secret), "tmux holds it: {words:?}");
        }
    }
}

#[test]
fn c9_a_changed_value_is_shown_as_changed_and_never_itself() {
    let fleet = Fleet::new();
    fleet.file("fleet.env", "FROM_FILE=secret-three\n");
    let with = |value: &str| {
        let file = fleet.path("work/fleet.env").display().to_string();
        agent("a").with(&format!("env: {{TOKEN: {value}}}")).with(&format!("env_file: {file}"))
    };
    fleet.agents([with("secret-one")]);
    fleet.apply();
    assert_eq!(fleet.started("a", 1).environment["TOKEN"], "secret-one");
    fleet.is_settled();
    fleet.agents([with("secret-two")]);
    let secrets = ["secret-one", "secret-two", "secret-three"];
    let verbs: [&[&str]; 10] = [
        &["plan"],
        &["plan", "--json"],
        &["plan", "--all", "--out", "saved.plan"],
        &["render"],
        &["render", "--origin"],
        &["apply", "-y"],
        &["apply", "-y", "--json"],
        &["status", "--json"],
        &["status"],
        &["events"],
    ];
    for verb in verbs {
        let ran = fleet.farhelm(verb).ok();
        for secret in secrets {
            ran.clone().never_says(secret);
        }
        if verb == ["plan"] {
            ran.says("env.TOKEN");
        }
    }
    let environment = fleet.started("a", 2).environment;
    assert_eq!((environment["TOKEN"].as_str(), environment["FROM_FILE"].as_str()), ("secret-two", "secret-three"));
    for secret in secrets {
        is_nowhere(&fleet, secret);
    }
    let saved = fs::read_to_string(fleet.path("work/saved.plan")).expect("saved");
    assert!(secrets.iter().all(|secret| !saved.contains(secret)));
    fleet.down();
    for secret in secrets {
        is_nowhere(&fleet, secret);
    }
}

#[test]
fn a_secret_by_reference_reaches_the_agent_alone_and_its_change_is_no_difference() {
    let fleet = Fleet::new();
    let file = fleet.file("token", "secret-file\n").display().to_string();
    let references = format!("env_from: {{FILE: {{file: {file}}}, COMMAND: {{command: [cat, {file}]}}}}");
    fleet.agents([agent("a").with(&references)]);
    fleet.apply();
    let environment = fleet.started("a", 1).environment;
    assert_eq!((environment["FILE"].as_str(), environment["COMMAND"].as_str()), ("secret-file", "secret-file"));
    is_nowhere(&fleet, "secret-file");

    fs::write(&file, "secret-rotated\n").expect("our own file");
    fleet.is_settled();
    fleet.farhelm(["restart", "a"]).ok();
    assert_eq!(fleet.started("a", 2).environment["FILE"], "secret-rotated");
    is_nowhere(&fleet, "secret-rotated");
    fleet.down();
}

#[test]
fn a_secret_that_fails_or_hangs_blocks_its_session_alone_and_is_no_crash_loop() {
    let fleet = Fleet::new();
    fleet.agents([
        agent("fails").with("env_from: {TOKEN: {command: [sh, -c, 'echo locked vault >&2; exit 3']}}"),
        agent("missing").with("env_from: {TOKEN: {file: /nonexistent/token}}"),
        agent("hangs").with("env_from: {TOKEN: {command: [sleep, '1000']}}"),
        agent("fine"),
    ]);
    let begin = Instant::now();
    let ran = fleet.farhelm(["apply", "-y"]);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    ran.mentions("fails").mentions("missing").mentions("hangs").mentions("TOKEN");
    fleet.pid("fine");
    for name in ["fails", "missing", "hangs"] {
        assert_eq!(fleet.starts(name), []);
        let health = fleet.status().of(name).health.clone();
        assert!(health != "crash-loop" && health != "backoff", "{name}: {health}");
    }
    assert_eq!(fleet.marked().len(), 1);
    let left = process::all().into_iter().filter(|p| process::argv(p.pid) == [OsStr::new("sleep"), OsStr::new("1000")]);
    let ours = left.filter(|p| process::environment(p.pid).get(OsStr::new("HOME")) == Some(&fleet.path("home").into()));
    assert_eq!(ours.count(), 0, "the hanging command is left");
    fleet.down();
}

#[test]
fn a_secret_command_runs_once_a_pass_and_without_a_terminal() {
    let fleet = Fleet::new();
    let count = fleet.path("count").display().to_string();
    fleet.program("vault", &format!("#!/bin/bash\necho \"$(tty)\" >> {count}\necho value\n"));
    let vault = fleet.path("bin/vault").display().to_string();
    let reference = format!("env_from: {{TOKEN: {{command: [{vault}]}}}}");
    fleet.agents(["a", "b", "c"].map(|name| agent(name).with(&reference)));
    fleet.farhelm(["plan"]).ok();
    assert!(!Path::new(&count).exists(), "a plan fetched a secret");
    fleet.apply();
    assert_eq!(fs::read_to_string(&count).expect("it ran"), "not a tty\n");
    for name in ["a", "b", "c"] {
        assert_eq!(fleet.started(name, 1).environment["TOKEN"], "value");
    }
    fleet.down();
}

#[test]
fn a_bundle_of_secrets_fills_many_variables() {
    let fleet = Fleet::new();
    fleet.file("bundle", "ONE=first\nTWO='second value'\n# a comment\n");
    let path = fleet.path("work/bundle").display().to_string();
    fleet.agents([agent("a").with(&format!("env_from: {{BUNDLE: {{command: [cat, {path}], format: dotenv}}}}"))]);
    fleet.apply();
    let environment = fleet.started("a", 1).environment;
    assert_eq!((environment["ONE"].as_str(), environment["TWO"].as_str()), ("first", "second value"));
    is_nowhere(&fleet, "second value");
    fleet.down();
}

#[test]
fn a_watched_files_changed_content_restarts_its_session_and_is_shown_as_changed_only() {
    let fleet = Fleet::new();
    let token = fleet.file("token", "secret-one\n");
    let with = |change: &str| {
        agent("a").with(&format!("env_from: {{TOKEN: {{file: {}, on_change: {change}}}}}", token.display()))
    };
    fleet.agents([with("restart"), agent("b")]);
    fleet.apply();
    fleet.file("token", "secret-one"); // the newline is not part of the value
    fleet.is_settled();

    fleet.file("token", "secret-two\n");
    let plan = fleet.farhelm(["plan", "--detailed-exitcode"]).code(2).says("env.TOKEN changed");
    assert!(!plan.stdout.contains("secret-"), "{plan}");
    let b = fleet.pid("b");
    fleet.apply();
    assert_eq!(fleet.started("a", 2).environment["TOKEN"], "secret-two");
    assert_eq!(fleet.pid("b"), b);
    fleet.is_settled();
    is_nowhere(&fleet, "secret-one");
    is_nowhere(&fleet, "secret-two");
    fleet.down();
}

#[test]
fn a_watched_file_that_cannot_be_read_restarts_nothing_and_is_named() {
    let fleet = Fleet::new();
    let token = fleet.file("token", "secret\n");
    fleet.agents([
        agent("a").with(&format!("env_from: {{TOKEN: {{file: {}, on_change: restart}}}}", token.display())),
        agent("b"),
    ]);
    fleet.apply();
    let before = fleet.pids(&["a", "b"]);
    fs::remove_file(&token).expect("our own file");
    fleet.crash("b");
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(4).says("unknown").says(&token.display().to_string());
    fleet.farhelm(["apply", "-y"]).mentions("could not be observed");
    assert_eq!(fleet.pid("a"), before[0]);
    fleet.started("b", 2); // the other session is none the worse
    fleet.farhelm(["stop", "a"]).ok();
    assert!(!process::runs(before[0]), "a file that is gone prevented a stop");
    fleet.down();
}
