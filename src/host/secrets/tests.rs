use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use super::*;
use crate::host::clock::{Interrupt, Moment};

/// An operator who waits, or does not.
struct Operator(Interrupt);

impl Clock for Operator {
    fn now(&self) -> Moment {
        Moment { boot_ms: 0, wall_ms: 0 }
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn interrupt(&self) -> Interrupt {
        self.0
    }
}

const PATIENT: Operator = Operator(Interrupt::None);

fn file(path: PathBuf) -> SecretRef {
    SecretRef::File { path, restart_on_change: false }
}

fn command(script: &str) -> SecretRef {
    SecretRef::Command { argv: ["sh", "-c", script].map(str::to_owned).to_vec() }
}

fn fetch(reference: &SecretRef) -> Result<String, Why> {
    Fetcher::new(&PATIENT).fetch(reference).map(|secret| secret.expose().to_owned())
}

fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_value_is_shown_by_no_format() {
    let secret = Secret("hunter2".to_owned());
    assert_eq!(
        format!("{secret} {secret:?} {:?}", Ok::<_, Why>(&secret)),
        "(hidden) Secret(hidden) Ok(Secret(hidden))"
    );
}

#[test]
fn a_file_is_its_content_without_one_trailing_newline() {
    let dir = tempfile::tempdir().unwrap();
    for (content, value) in [("a b", "a b"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("", "")] {
        let path = dir.path().join("secret");
        fs::write(&path, content).unwrap();
        assert_eq!(fetch(&file(path)), Ok(value.to_owned()));
    }
}

#[test]
fn a_link_to_a_file_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink("secret", dir.path().join("link")).unwrap();
    assert_eq!(fetch(&file(dir.path().join("link"))), Ok("x".to_owned()));
}

#[test]
fn what_is_no_small_text_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("secret");
    assert!(matches!(fetch(&file(path.clone())), Err(Why::System(words)) if words.contains("No such file")));
    assert_eq!(fetch(&file(dir.path().to_owned())), Err(Why::NotAFile));
    assert_eq!(fetch(&file("/dev/zero".into())), Err(Why::NotAFile));
    fs::write(&path, "x".repeat(MAX_SECRET + 1)).unwrap();
    assert_eq!(fetch(&file(path.clone())), Err(Why::TooLarge));
    fs::write(&path, "a\0b").unwrap();
    assert_eq!(fetch(&file(path.clone())), Err(Why::NotText));
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(fetch(&file(path)), Err(Why::NotText));
}

#[test]
fn a_pipe_that_nobody_writes_does_not_hang() {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap();
    assert!(made.success());
    assert_eq!(fetch(&file(dir.path().join("pipe"))), Err(Why::NotAFile));
}

#[test]
fn a_command_is_its_output_and_never_its_errors() {
    assert_eq!(fetch(&command("echo hunter2; echo noise >&2")), Ok("hunter2".to_owned()));
    let long = "x".repeat(MAX_SECRET);
    assert_eq!(fetch(&command("head -c 65536 /dev/zero | tr '\\0' x")), Ok(long));
}

#[test]
fn arguments_of_a_command_meet_no_shell() {
    let argv = ["printf", "%s|", "$HOME", "a b", ";"].map(str::to_owned).to_vec();
    assert_eq!(fetch(&SecretRef::Command { argv }), Ok("$HOME|a b|;|".to_owned()));
}

#[test]
fn a_command_has_no_terminal_no_input_and_a_session_of_its_own() {
    let script = "cat; (: < /dev/tty) 2>/dev/null && echo tty; ps -o pid=,sid= -p $$ | tr -s ' '";
    let seen = fetch(&command(script)).unwrap();
    let ids: Vec<&str> = seen.split_whitespace().collect();
    assert_eq!(ids.len(), 2, "{seen}");
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn a_failing_command_says_its_status_and_nothing_it_printed() {
    let error = fetch(&command("echo hunter2; echo hunter2 >&2; exit 3")).unwrap_err();
    assert_eq!(error.to_string(), "the command ended with exit status: 3; run it by hand to see why");
    let argv = vec!["no-such-program-anywhere".to_owned()];
    assert!(matches!(fetch(&SecretRef::Command { argv }), Err(Why::Ended(words)) if words.contains("127")));
    assert!(matches!(fetch(&SecretRef::Command { argv: Vec::new() }), Err(Why::System(_))));
}

#[test]
fn a_command_that_does_not_end_is_killed_with_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let script = format!("sleep 1000 & echo $$ $! > {}; wait", pids.display());
    let mut fetcher = Fetcher { time_limit: Duration::from_millis(1500), ..Fetcher::new(&PATIENT) };
    let error = fetcher.fetch(&command(&script)).unwrap_err();
    assert_eq!(error, Why::TimedOut(Duration::from_millis(1500)));
    let pids = fs::read_to_string(pids).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while pids.split_whitespace().any(runs) {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_command_is_not_waited_for_after_an_interrupt() {
    let begun = Instant::now();
    let answer = Fetcher::new(&Operator(Interrupt::Finish)).fetch(&command("exec sleep 1000"));
    assert_eq!(answer.err(), Some(Why::Interrupted));
    assert!(begun.elapsed() < TIME_LIMIT);
}

#[test]
fn a_command_that_prints_without_end_is_stopped() {
    assert_eq!(fetch(&command("exec yes")), Err(Why::TooLarge));
}

#[test]
fn a_daemon_that_keeps_the_output_open_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let script = format!("setsid sleep 1000 & echo $! > {}; echo value", pid.display());
    assert_eq!(fetch(&command(&script)), Ok("value".to_owned()));
    let pid = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL).unwrap();
}

#[test]
fn a_reference_is_fetched_once_even_when_it_fails() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let mut fetcher = Fetcher::new(&PATIENT);
    for status in [0, 1] {
        let reference = command(&format!("echo x >> {}; exit {status}", count.display()));
        assert_eq!(fetcher.fetch(&reference), fetcher.fetch(&reference));
    }
    assert_eq!(fs::read_to_string(count).unwrap(), "x\nx\n");
}
