//! Whatever a hook meets: nothing printed, status 0, soon over, and a line in the log.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::{START, World, hook, run, silently};

#[test]
fn a_report_is_left_in_private_files_and_noted() {
    let world = World::new();
    silently(world.hook(), START.as_bytes());
    let report = world.only_report();
    assert_eq!((report.vendor.as_str(), report.generation), ("claude", 1));
    assert_eq!(report.conversation, "aa26917c-c1af-4f41-8f16-0ebefbcd3c3f");
    assert_eq!(report.source.as_deref(), Some("startup"));
    assert!(report.transcript.is_some_and(|path| path.starts_with("/home/user/.claude/projects/")));
    assert_eq!(world.last_line(), "reported aa26917c-c1af-4f41-8f16-0ebefbcd3c3f startup");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&world.reports_dir()), 0o700);
    for entry in fs::read_dir(world.reports_dir()).expect("a directory") {
        assert_eq!(mode(&entry.expect("an entry").path()), 0o600);
    }
}

#[test]
fn a_bad_payload_leaves_a_line_and_no_report() {
    let world = World::new();
    let long = format!(r#"{{"session_id":"a","x":"{}"}}"#, "x".repeat(64 << 10));
    let large = vec![b' '; (8 << 20) + 10];
    for (input, expected) in [
        (&b""[..], "unparsable"),
        (b"no json", "unparsable"),
        (b"\xff\xfe", "unparsable"),
        (b"{}", "missing-session-id"),
        (b"{\"session_id\":\"\"}", "empty-session-id"),
        (b"{\"session_id\":1}", "session-id-not-a-string"),
        (long.as_bytes(), "oversized"),
        (&large, "oversized"),
    ] {
        silently(world.hook(), input);
        assert_eq!(world.last_line(), format!("bad-payload {expected} - -"));
    }
    assert_eq!(world.reports(), []);
}

#[test]
fn without_the_sessions_own_token_there_is_no_report() {
    let world = World::new();
    for token in ["", "wrong"] {
        let mut hook = world.hook();
        hook.env("FARHELM_SESSION_TOKEN", token);
        silently(hook, START.as_bytes());
        assert_eq!(world.last_line(), "no-credential - -", "{token}");
    }
    let other = World::new();
    let mut hook = world.hook();
    hook.env("FARHELM_SESSION_ID", other.session.to_string());
    silently(hook, START.as_bytes());
    assert_eq!(world.reports(), []);
}

#[test]
fn without_a_session_nothing_is_written_anywhere() {
    let world = World::new();
    let before = fs::read_dir(world.state()).expect("a directory").count();
    silently(hook(), START.as_bytes());
    for (name, value) in [
        ("FARHELM_SESSION_ID", "../../x"),
        ("FARHELM_SUPERVISOR_SOCK", "relative/supervisor.sock"),
        ("FARHELM_SUPERVISOR_SOCK", "/nonexistent/supervisor.sock"),
        ("FARHELM_SUPERVISOR_SOCK", "/tmp/supervisor.sock"),
        ("FARHELM_SUPERVISOR_SOCK", ""),
    ] {
        let mut hook = world.hook();
        hook.env(name, value);
        silently(hook, START.as_bytes());
    }
    assert_eq!(fs::read_dir(world.state()).expect("a directory").count(), before);
    assert!(!world.reports_dir().exists());
}

#[test]
fn a_command_line_that_is_none_is_no_reason_to_fail() {
    let world = World::new();
    for args in [&["internal", "hook"][..], &["internal", "hook", "--vendor"], &["internal", "hook", "--help"]] {
        let mut command = Command::new(crate::world::FARHELM);
        command.args(args);
        silently(world.launched(command), START.as_bytes());
    }
    assert_eq!(world.reports(), []);
}

#[test]
fn input_that_never_ends_is_not_waited_for() {
    let world = World::new();
    let mut hook = world.hook();
    let began = Instant::now();
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(START.as_bytes()).expect("it listens");
    let status = child.wait().expect("it ends");
    assert!(status.success());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(world.last_line(), "timeout - -");
    assert_eq!(world.reports(), []);
}

#[test]
fn a_directory_that_cannot_be_written_is_no_reason_to_fail() {
    let world = World::new();
    fs::remove_dir(world.state().join("reports")).expect("an empty directory");
    fs::write(world.state().join("reports"), "in the way").expect("our own file");
    silently(world.hook(), START.as_bytes());
    assert_eq!(fs::read_to_string(world.state().join("reports")).expect("still there"), "in the way");
}

#[test]
fn a_link_in_the_place_of_the_log_is_not_followed() {
    let world = World::new();
    silently(world.hook(), START.as_bytes());
    let other = world.state().join("other");
    fs::write(&other, "untouched").expect("our own file");
    let log = world.reports_dir().join("log");
    fs::remove_file(&log).expect("the log");
    symlink(&other, &log).expect("a link");
    silently(world.hook(), START.as_bytes());
    assert_eq!(fs::read_to_string(&other).expect("still there"), "untouched");
    assert_eq!(world.reports().len(), 1);
}

#[test]
fn a_supervisor_is_told_whose_report_there_is() {
    let world = World::new();
    let listener = UnixListener::bind(world.socket()).expect("a socket");
    silently(world.hook(), START.as_bytes());
    let mut said = String::new();
    listener.accept().expect("somebody called").0.read_to_string(&mut said).expect("words");
    assert_eq!(said, format!("report {}\n", world.session));
}

#[test]
fn a_supervisor_that_does_not_answer_is_not_waited_for() {
    let world = World::new();
    let listener = UnixListener::bind(world.socket()).expect("a socket");
    for _ in 0..200 {
        let _ = std::os::unix::net::UnixStream::connect(world.socket());
    }
    let began = Instant::now();
    silently(world.hook(), START.as_bytes());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    drop(listener);
    assert_eq!(world.reports().len(), 1);
}

#[test]
fn the_log_stays_within_its_bounds() {
    let world = World::new();
    silently(world.hook(), START.as_bytes());
    let log = world.reports_dir().join("log");
    let line = "1700000000 reported x y\n";
    fs::write(&log, line.repeat((64 << 10) / line.len() + 2)).expect("our own file");
    silently(world.hook(), START.as_bytes());
    let text = world.log();
    assert!(text.len() < 34 << 10, "{} bytes", text.len());
    assert!(text.starts_with("1700000000 reported x y\n") && text.ends_with(" startup\n"), "{text}");
    assert_eq!(world.last_line(), "reported aa26917c-c1af-4f41-8f16-0ebefbcd3c3f startup");
}

#[test]
fn help_does_not_speak_of_it_and_other_verbs_are_what_they_were() {
    let help = run(Command::new(crate::world::FARHELM), b"");
    assert!(!String::from_utf8_lossy(&help.stderr).contains("hook"), "{help:?}");
    let mut launch = Command::new(crate::world::FARHELM);
    launch.args(["internal", "other"]);
    assert_eq!(run(launch, b"").status.code(), Some(64));
}
