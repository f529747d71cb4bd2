//! Faults of tmux and of the login shell.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;

#[test]
fn a_missing_tmux_is_said_plainly() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.set("PATH", fleet.path("bin"));
    fleet.farhelm(["plan"]).mentions("tmux").never_says("panicked");
    let ran = fleet.farhelm(["apply", "-y"]).mentions("tmux");
    assert_ne!(ran.code, 0, "{ran}");
}

#[test]
fn a_too_old_tmux_is_refused_naming_both_versions() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.program("tmux", "#!/bin/bash\n[ \"$1\" = -V ] && echo 'tmux 2.9' && exit\necho \"error connecting to $3 (No such file or directory)\" >&2\nexit 1\n");
    let ran = fleet.farhelm(["apply", "-y"]).mentions("2.9").mentions("3.2");
    assert_ne!(ran.code, 0, "{ran}");
    assert_eq!(fleet.starts("a"), []);
}

#[test]
fn a_hanging_tmux_keeps_nobody_waiting() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.program("tmux", "#!/bin/bash\nexec sleep 1000\n");
    for verb in [&["plan"][..], &["status"], &["apply", "-y"], &["down", "-y"]] {
        let begin = Instant::now();
        fleet.farhelm(verb).mentions("did not answer");
        assert!(begin.elapsed() < Duration::from_secs(30), "{verb:?} took {:?}", begin.elapsed());
    }
    wait_until("the hanging programs are ended", || {
        process::mentioning(fleet.path("bin").as_os_str())
            .iter()
            .all(|p| process::argv(p.pid).first().is_none_or(|a| a != "sleep"))
    });
}

#[test]
fn a_socket_deleted_under_a_live_server_starts_no_second_server() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let (pid, server) = (fleet.pid("a"), fleet.tmux().server());
    fs::remove_file(fleet.socket()).expect("the socket");
    let _ = fleet.farhelm(["plan"]);
    let _ = fleet.farhelm(["apply", "-y"]);
    assert!(process::runs(pid));
    assert_eq!(fleet.starts("a").len(), 1, "a second agent was started");
    assert_eq!(fleet.marked().len(), 1);
    assert_eq!(fleet.tmux().server(), server);
    // The server makes its socket again when told to.
    process::signal(server.expect("it runs"), nix::sys::signal::Signal::SIGUSR1);
    wait_until("the socket is back", || fleet.socket().exists());
    fleet.is_settled();
    assert_eq!(fleet.pid("a"), pid);
    fleet.down();
}

#[test]
fn another_socket_never_makes_an_absence_of_what_runs_on_the_recorded_one() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let pid = fleet.pid("a");
    let other = fleet.path("other-tmux").display().to_string();
    let _ = fleet.farhelm(["--tmux-socket", &other, "apply", "-y"]);
    assert!(process::runs(pid));
    assert_eq!(fleet.starts("a").len(), 1);
    fleet.down();
}

#[test]
fn a_server_killed_in_mid_apply_is_an_interruption_that_the_next_apply_repairs() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let fleet = Fleet::new();
    fleet.agents_under("policy: {launch: {parallel: 1, stagger: 300ms}}", names.map(agent));
    let first = fleet.start(["apply", "-y"]);
    wait_until("some agents have started", || fleet.marked().len() >= 2);
    fleet.tmux().kill_server();
    let _ = first.wait();
    fleet.apply();
    assert_eq!(fleet.marked().len(), names.len());
    fleet.is_settled();
    fleet.down();
}

#[test]
fn an_agent_that_ends_at_once_is_a_failed_launch() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--exit 3 --after 0.1"), agent("b")]);
    fleet.farhelm(["apply", "-y"]).code(5).mentions("a");
    fleet.pid("b");
    assert_eq!(fleet.status().of("a").health, "failed");
    fleet.down();
}

#[test]
fn a_start_file_that_hangs_is_launch_stuck() {
    let fleet = Fleet::new();
    fs::write(fleet.path("home/.profile"), "echo 'Upgrade the shell? [Y/n]'; sleep 1000\n").expect("a file");
    fleet.agents([agent("a")]);
    let begin = Instant::now();
    let ran = fleet.farhelm(["apply", "-y"]);
    assert_ne!(ran.code, 0, "{ran}");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    ran.mentions("launch stuck").mentions("Upgrade the shell?");
    fleet.down();
}

#[test]
fn a_start_file_that_replaces_the_shell_is_reported_and_leaves_nothing() {
    let fleet = Fleet::new();
    fs::write(fleet.path("home/.profile"), "exit 3\n").expect("a file");
    fleet.agents([agent("a")]);
    fleet.farhelm(["apply", "-y"]).code(5).mentions("shell");
    assert_eq!(fleet.starts("a"), []);
    fleet.down();
}
