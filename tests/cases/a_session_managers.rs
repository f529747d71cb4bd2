//! Situations reported against session managers: launching, restarting, stopping.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::wait_until;

#[test]
fn a1_a_closed_window_returns_alone_and_a_third_apply_is_a_no_op() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b"), agent("c")]);
    fleet.apply();
    let before = fleet.pids(&["a", "b", "c"]);

    let pane = fleet.status().of("b").pane.clone().expect("it has a pane");
    fleet.tmux().run(&["kill-pane", "-t", &pane]);
    wait_until("the closed window's agent ends", || !process::runs(before[1]));
    fleet.apply();
    let after = fleet.pids(&["a", "b", "c"]);
    assert_eq!((before[0], before[2]), (after[0], after[2]), "the others were touched");
    assert_ne!(before[1], after[1]);

    fleet.apply();
    assert_eq!(fleet.pids(&["a", "b", "c"]), after);
    fleet.is_settled();
    fleet.down();
}

#[test]
fn a2_a_failing_before_launch_fails_that_session_alone() {
    let fleet = Fleet::new();
    fleet.agents([agent("old")]);
    fleet.apply();
    let old = fleet.pid("old");

    fleet.agents([agent("old"), agent("new").with("before_launch: {run: [sh, -c, 'echo no-store >&2; exit 1']}")]);
    let ran = fleet.farhelm(["apply", "-y"]).code(5).mentions("new");
    assert!(
        ran.stdout.contains("before_launch") || ran.stderr.contains("before_launch"),
        "it does not say what failed\n{ran}"
    );
    assert_eq!(fleet.pid("old"), old);
    assert_eq!(fleet.starts("new"), [], "the agent was started all the same");
    let status = fleet.status();
    assert_eq!(status.of("new").health, "failed", "{status:#?}");
    assert!(status.of("new").reason.contains("before_launch"), "{status:#?}");
    fleet.down();
}

#[test]
fn a2_before_launch_runs_in_the_directory_before_a_fresh_launch_only() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")
        .with("before_launch: {run: [sh, -c, 'echo ran >> log']}")
        .with("resume: '@AGENT@ --record @RECORDS@/a --resumed'")]);
    fleet.apply();
    fleet.started("a", 1);
    let log = fleet.path("work/a/log");
    assert_eq!(fs::read_to_string(&log).expect("before_launch ran"), "ran\n");
    fleet.crash("a");
    fleet.apply();
    fleet.started("a", 2);
    assert_eq!(fs::read_to_string(&log).expect("before_launch ran"), "ran\n");
    fleet.down();
}

#[test]
fn a5_the_first_apply_ever_finds_no_server_and_starts_one() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.farhelm(["plan", "--detailed-exitcode"]).code(2).never_says("no tmux server");
    fleet.apply().never_says("no tmux server");
    fleet.pid("a");
    fleet.down();
}

#[test]
fn a8_a_slow_login_shell_loses_nothing() {
    let fleet = Fleet::new();
    // Anything typed would be read by the start file.
    fs::write(fleet.path("home/.profile"), "sleep 2; read -r -t 0.1 typed && echo \"$typed\" > ~/typed\n")
        .expect("a file");
    fleet.agents([agent("a").does("one 'two words' --three ''")]);
    fleet.apply();
    let start = fleet.started("a", 1);
    assert_eq!(start.argv[3..], ["one", "two words", "--three", ""]);
    assert!(!fleet.path("home/typed").exists(), "something was typed");
    fleet.down();
}

#[test]
fn a16_a_stopped_session_stays_stopped_although_it_ends_with_a_failure() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--term-exit 1").with("restart: {when: on-failure}")]);
    fleet.apply();
    let pid = fleet.pid("a");
    fleet.farhelm(["stop", "a"]).ok();
    assert!(!process::runs(pid));
    for _ in 0..2 {
        fleet.apply();
        assert_eq!(fleet.starts("a").len(), 1);
        assert_eq!(fleet.status().of("a").health, "stopped");
    }
    fleet.farhelm(["start", "a"]).ok();
    fleet.started("a", 2);
    fleet.down();
}

#[test]
fn a18_editing_one_of_ten_restarts_that_one() {
    let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fleet = Fleet::new();
    fleet.agents(names.iter().map(|name| agent(name)));
    fleet.apply();
    let before = fleet.pids(&names);
    fleet.agents(names.iter().map(|name| if *name == "s4" { agent(name).does("--edited") } else { agent(name) }));
    fleet.farhelm(["plan"]).ok().says("s4").never_says("s5");
    fleet.apply();
    let after = fleet.pids(&names);
    for (n, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(before == after, n != 4, "s{n}: {before} -> {after}");
    }
    fleet.is_settled();
    fleet.down();
}

#[test]
fn a20_a_dead_pane_that_the_users_configuration_keeps_is_removed_in_the_end() {
    let fleet = Fleet::new();
    fs::write(fleet.path("home/.tmux.conf"), "set -g remain-on-exit on\n").expect("a file");
    fleet.agents([agent("a").does("--term-exit 0"), agent("b").does("--ignore TERM").with("stop: {grace: 300ms}")]);
    fleet.apply();
    let pids = fleet.pids(&["a", "b"]);
    let begin = Instant::now();
    fleet.farhelm(["stop", "a", "b"]).ok();
    assert!(pids.iter().all(|pid| !process::runs(*pid)));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    fleet.down();
    assert_eq!(fleet.tmux().panes(), []);
}

#[test]
fn a23_no_worker_of_a_pool_survives_a_stop() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")
        .does("--children plain,plain,nohup,setsid --pids @RECORDS@/pids --ignore TERM")
        .with("stop: {grace: 200ms}")]);
    fleet.apply();
    wait_until("the workers start", || fleet.noted("pids").len() == 4);
    fleet.farhelm(["stop", "a"]).ok();
    for (how, pid) in fleet.noted("pids") {
        assert!(!process::runs(pid), "{how} worker {pid} survives");
    }
    assert_eq!(fleet.marked(), []);
    fleet.down();
}

#[test]
fn a24_after_the_servers_death_the_commands_run() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b").with("desired: stopped")]);
    fleet.apply();
    fleet.tmux().kill_server();
    fleet.apply();
    fleet.started("a", 2);
    assert_eq!(fleet.starts("b"), []);
    fleet.down();
}
