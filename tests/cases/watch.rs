//! `watch`: what it does by itself, and what it leaves alone.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::Duration;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::{wait_at_most, wait_until};
use crate::support::watching::Watching;

/// The fleet may be reaped from by `watch`.
const PRUNE: &str = "policy: {watch: {prune: true}, launch: {stagger: 0s}}";
/// A restart that does not keep a test waiting.
const QUICK: &str = "restart: {backoff: {initial: 100ms, max: 1s}, max_restarts: 2}";

#[test]
fn c36_what_changed_while_watch_was_down_is_picked_up_at_its_start() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    fleet.agents([agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    watching.did("launch", "b");
    fleet.started("b", 1);
    fleet.started("a", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn an_agent_that_was_killed_is_back_and_the_others_are_left_alone() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let (first, other) = (fleet.started("a", 1), fleet.started("b", 1));
    process::kill_hard(first.pid);
    let second = fleet.started("a", 2);
    assert_eq!(second.argv, first.argv);
    wait_until("it is the session's process", || fleet.status().of("a").pid == Some(second.pid));
    assert_eq!(fleet.pid("b"), other.pid);
    watching.stop();
    fleet.down();
}

#[test]
fn saved_files_are_applied_however_an_editor_writes_them() {
    let fleet = Fleet::new();
    let file = fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    let text = |names: &[&str]| {
        let path = fleet.agents(names.iter().map(|name| agent(name)));
        fs::read_to_string(path).expect("just written")
    };
    // Written in place.
    text(&["a", "b"]);
    fleet.started("b", 1);
    // Written aside, and renamed over it.
    let three = text(&["a", "b", "c"]);
    fs::write(file.with_extension("new"), &three).expect("a file");
    fs::rename(file.with_extension("new"), &file).expect("the same directory");
    fleet.started("c", 1);
    // Removed, and written again.
    fs::remove_file(&file).expect("it is there");
    text(&["a", "b", "c", "d"]);
    fleet.started("d", 1);
    for (name, times) in [("a", 1), ("b", 1), ("c", 1)] {
        fleet.started(name, times);
    }
    watching.stop();
    fleet.down();
}

#[test]
fn c32_files_that_are_truncated_and_written_three_hundred_times_reap_nothing() {
    let fleet = Fleet::new();
    let file = fleet.agents_under(PRUNE, ["a", "b", "c"].map(agent));
    let watching = Watching::start(&fleet);
    let pids = ["a", "b", "c"].map(|name| fleet.started(name, 1).pid);
    let text = fs::read(&file).expect("just written");
    for n in 0..300 {
        fs::write(&file, "").expect("our own file");
        // Mostly shorter than it takes to settle, sometimes longer.
        thread::sleep(Duration::from_millis(if n % 60 == 59 { 700 } else { 20 }));
        fs::write(&file, &text).expect("our own file");
        thread::sleep(Duration::from_millis(5));
    }
    fleet.agents_under(PRUNE, ["a", "b", "c", "last"].map(agent));
    fleet.started("last", 1);
    assert_eq!(["a", "b", "c"].map(|name| fleet.pid(name)), pids);
    assert_eq!(watching.count(|line| line["what"] == "reap"), 0);
    watching.stop();
    fleet.down();
}

#[test]
fn files_that_cannot_be_used_change_nothing_are_said_once_and_recover() {
    let fleet = Fleet::new();
    let file = fleet.agents_under(PRUNE, [agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let a = fleet.started("a", 1);
    fleet.started("b", 1);
    let text = fs::read_to_string(&file).expect("just written");
    let broken = ["", "<<<<<<< HEAD\nfarhelm: v1\n=======\n>>>>>>> other\n", "sessions: [", "farhelm: v1\n"];
    for (n, broken) in broken.iter().enumerate() {
        fs::write(&file, broken).expect("our own file");
        wait_until("it is said", || watching.count(|line| line["said"] == "unfit") == n + 1);
        watching.reload();
    }
    fs::remove_file(&file).expect("it is there");
    wait_until("a vanished file is said", || watching.count(|line| line["said"] == "unfit") == broken.len() + 1);
    // Healing goes on.
    process::kill_hard(a.pid);
    fleet.started("a", 2);
    assert_eq!(watching.count(|line| line["said"] == "unfit"), broken.len() + 1);
    fs::write(&file, text).expect("our own file");
    wait_until("it is right again", || watching.count(|line| line["said"] == "loaded") == 2);
    fleet.started("b", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn a_start_on_broken_files_keeps_the_fleet_as_it_was_last_right() {
    let fleet = Fleet::new();
    let file = fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    let first = fleet.started("a", 1);
    watching.kill();
    let text = fs::read_to_string(&file).expect("just written");
    fs::write(&file, format!("<<<<<<< HEAD\n{text}")).expect("our own file");
    process::kill_hard(first.pid);
    let watching = Watching::start(&fleet);
    fleet.started("a", 2);
    assert_eq!(watching.count(|line| line["said"] == "unfit"), 1);
    watching.stop();
    fs::write(&file, text).expect("our own file");
    fleet.down();
}

#[test]
fn a_first_start_on_broken_files_is_refused_with_what_is_wrong() {
    let fleet = Fleet::new();
    fleet.write("farhelm: v1\nfleet: t\nsessions: {a: {dirr: /}}\n");
    fleet.farhelm(["watch"]).code(1).mentions("dirr");
}

#[test]
fn an_agent_that_keeps_failing_is_started_later_and_later_then_not_until_it_is_restarted() {
    let fleet = Fleet::new();
    let flag = fleet.path("mended");
    let does = format!("--wait-file {} --exit 3", flag.display());
    fleet.agents([agent("a").does("--exit 3").with(QUICK), agent("b").does(&does).with(QUICK)]);
    let watching = Watching::start(&fleet);
    watching.held("a", "crash-loop");
    assert_eq!(fleet.starts("a").len(), 3);
    fleet.started("b", 1);
    assert_eq!(fleet.status().of("a").health, "crash-loop");
    fleet.farhelm(["restart", "a"]).code(5).mentions("status 3");
    wait_until("it is tried from the beginning", || fleet.starts("a").len() == 6);
    watching.stop();
    fleet.down();
}

#[test]
fn c25_a17_what_ends_well_is_left_so_and_watch_stays() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--exit 0")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    wait_until("it is completed", || fleet.status().of("a").health == "completed");
    fleet.agents([agent("a").does("--exit 0"), agent("b")]);
    fleet.started("b", 1);
    fleet.started("a", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn a16_b28_what_was_stopped_stays_stopped_also_for_the_next_watch() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--term-exit 1").with("restart: {when: always}"), agent("b")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    let b = fleet.started("b", 1);
    fleet.farhelm(["stop", "a"]).ok();
    process::kill_hard(b.pid);
    fleet.started("b", 2);
    watching.kill();
    let watching = Watching::start(&fleet);
    process::kill_hard(fleet.pid("b"));
    fleet.started("b", 3);
    fleet.started("a", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn b3_every_session_comes_back_when_the_tmux_server_is_killed() {
    let fleet = Fleet::new();
    let names = ["a", "b", "c"];
    fleet.agents(names.map(agent));
    let watching = Watching::start(&fleet);
    let _ = names.map(|name| fleet.started(name, 1));
    fleet.tmux().kill_server();
    let _ = names.map(|name| fleet.started(name, 2));
    wait_until("all are in sync", || fleet.status().sessions.iter().all(|session| session.sync == "in-sync"));
    watching.stop();
    fleet.down();
}

#[test]
fn what_is_removed_waits_for_an_apply() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let a = fleet.started("a", 1);
    fleet.started("b", 1);
    fleet.agents([agent("b")]);
    watching.held("a", "no-prune");
    assert!(process::runs(a.pid));
    fleet.farhelm(["apply", "-y"]).ok();
    wait_until("apply ends it", || !process::runs(a.pid));
    watching.stop();
    fleet.down();
}

#[test]
fn with_prune_what_is_removed_is_reaped_and_what_is_protected_is_not() {
    let fleet = Fleet::new();
    fleet.agents_under(PRUNE, [agent("a"), agent("b").with("protect: true"), agent("c")]);
    let watching = Watching::start(&fleet);
    let [a, b, c] = ["a", "b", "c"].map(|name| fleet.started(name, 1).pid);
    fleet.agents_under(PRUNE, [agent("c")]);
    watching.did("reap", "a");
    assert!(!process::runs(a));
    watching.held("b", "protected");
    assert!(process::runs(b) && process::runs(c));
    watching.stop();
    fleet.agents_under(PRUNE, [agent("b").with("protect: true"), agent("c")]);
    fleet.apply();
}

#[test]
fn without_healing_only_changes_are_carried_out() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    let watching = Watching::with(&fleet, &["--no-heal"]);
    process::kill_hard(fleet.pid("a"));
    watching.held("a", "killed");
    fleet.agents([agent("a"), agent("b"), agent("c")]);
    fleet.started("c", 1);
    fleet.started("a", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn without_applying_differences_are_only_said() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let watching = Watching::with(&fleet, &["--no-apply"]);
    fleet.agents([agent("a"), agent("b")]);
    watching.held("b", "not-running");
    process::kill_hard(fleet.pid("a"));
    watching.held("a", "killed");
    assert!(fleet.starts("b").is_empty());
    fleet.started("a", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn a_second_watch_of_a_fleet_is_refused_and_names_the_first() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    let kept = fleet.state().join("kept");
    let as_kept = || fs::read_dir(&kept).expect("kept").flatten().map(|file| file.path()).collect::<Vec<_>>();
    let before = as_kept();
    // Other files of the same fleet: what is kept of them would be a file of its own.
    let text = fs::read(fleet.path("work").join("farhelm.yaml")).expect("just written");
    fleet.file("copy.yaml", text);
    let ran = fleet.farhelm(["watch", "copy.yaml"]).code(1).mentions(&watching.pid().to_string());
    assert!(!ran.stderr.contains(" read "), "it says more than that: {ran}");
    assert_eq!(as_kept(), before);
    fleet.started("a", 1);
    watching.stop();
    fleet.down();
}

#[test]
fn the_end_of_watch_leaves_every_session_running() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let pids = ["a", "b"].map(|name| fleet.started(name, 1).pid);
    watching.stop();
    assert_eq!(["a", "b"].map(|name| fleet.pid(name)), pids);
    fleet.down();
}

#[test]
fn c17_a_launch_that_fails_is_tried_again_by_itself() {
    let fleet = Fleet::new();
    let key = fleet.path("work").join("key");
    let secret = format!("env_from: {{TOKEN: {{file: {}}}}}", key.display());
    fleet.agents([agent("a").with(&secret)]);
    let watching = Watching::start(&fleet);
    watching.wait("said that it failed", |line| line["session"] == "a" && line["failure"].is_string());
    fs::write(&key, "secret-9431\n").expect("a file");
    let start = fleet.started("a", 1);
    assert_eq!(start.environment["TOKEN"], "secret-9431");
    watching.stop();
    fleet.down();
}

#[test]
fn down_is_not_undone_until_the_next_apply() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    fleet.down();
    watching.held("a", "fleet-down");
    fleet.started("a", 1);
    fleet.apply();
    fleet.started("a", 2);
    watching.stop();
    fleet.down();
}

#[test]
fn a_pause_that_ends_by_itself_is_noticed() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    let first = fleet.started("a", 1);
    fleet.farhelm(["pause", "a", "--for", "3s"]).ok();
    process::kill_hard(first.pid);
    watching.held("a", "paused");
    fleet.started("a", 2);
    watching.stop();
    fleet.down();
}

#[test]
fn a13_many_restarts_at_once_beside_watch_give_one_instance_each_time() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    let restarts: Vec<_> = (0..8).map(|_| fleet.start(["restart", "a"])).collect();
    for restart in restarts {
        let _ = restart.wait();
    }
    wait_until("one runs", || fleet.status().of("a").health == "running" && fleet.agent_count("a") > 0);
    assert_eq!(fleet.agent_count("a"), 1);
    watching.stop();
    fleet.down();
}

#[test]
fn a13_two_hundred_restarts_at_once_beside_watch_never_give_two_instances() {
    let fleet = Fleet::new();
    let alone = fleet.path("alone");
    fleet.agents([agent("a").does(&format!("--alone {}", alone.display())), agent("b")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    let b = fleet.started("b", 1);
    let restarts: Vec<_> = (0..200).map(|_| fleet.start(["restart", "a"])).collect();
    let done = restarts.into_iter().map(|restart| restart.wait().code).filter(|code| *code == 0).count();
    assert!(done > 0, "none of them succeeded");
    wait_until("one runs", || fleet.status().of("a").health == "running" && fleet.agent_count("a") > 0);
    assert_eq!(fleet.agent_count("a"), 1);
    assert!(!alone.with_extension("twice").exists(), "two ran at once");
    assert_eq!(fleet.pid("b"), b.pid);
    watching.stop();
    fleet.down();
}

#[test]
fn a_killed_watch_leaves_nothing_half_done_that_the_next_does_not_mend() {
    let fleet = Fleet::new();
    let names = ["a", "b", "c", "d"];
    fleet.agents(names.map(agent));
    for _ in 0..4 {
        let watching = Watching::start(&fleet);
        watching.wait("begun", |line| line["said"] == "done");
        watching.kill();
        fleet.tmux().kill_server();
    }
    let watching = Watching::start(&fleet);
    wait_until("all run", || fleet.status().sessions.iter().all(|session| session.health == "running"));
    for name in names {
        wait_until("its agent has begun", || fleet.agent_count(name) > 0);
        assert_eq!(fleet.agent_count(name), 1);
    }
    watching.stop();
    fleet.down();
}

#[test]
fn a_service_manager_is_told_when_the_fleet_was_looked_at_and_when_watch_stops() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let path = fleet.path("notify");
    let manager = UnixDatagram::bind(&path).expect("a new socket");
    manager.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    fleet.set("NOTIFY_SOCKET", &path);
    fleet.set("WATCHDOG_USEC", "400000");
    let heard = || {
        let mut words = [0; 512];
        let length = manager.recv(&mut words).expect("it says something");
        String::from_utf8_lossy(&words[..length]).into_owned()
    };
    let watching = Watching::start(&fleet);
    let first = heard();
    assert!(first.contains("READY=1") && first.contains("STATUS=1 sessions of t"), "{first}");
    assert!(heard().contains("WATCHDOG=1"));
    watching.stop();
    wait_at_most(Duration::from_secs(20), "it says that it stops", || heard().contains("STOPPING=1"));
    fleet.down();
}

#[test]
fn d20_the_printed_unit_keeps_a_fleet_and_its_restart_and_stop_leave_the_sessions() {
    let Some(fleet) = Fleet::under_a_user_manager() else { return };
    fleet.agents([agent("a")]);
    let unit = fleet.farhelm(["watch", "--print-unit"]).ok().stdout;
    let manager = fleet.manager();
    let name = "farhelm-watch-test.service";
    let variables = [format!("HOME={}", fleet.path("home").display()), "SHELL=/bin/bash".to_owned()];
    manager.unit(&fleet.path(name), &unit, &variables);
    assert_eq!(manager.systemctl(&["start", name]), "", "{}", manager.systemctl(&["status", name]));
    let first = fleet.started("a", 1);
    process::kill_hard(first.pid);
    let second = fleet.started("a", 2);
    assert_eq!(manager.systemctl(&["restart", name]), "");
    assert_eq!(fleet.pid("a"), second.pid);
    manager.systemctl(&["stop", name]);
    assert!(process::runs(second.pid));
    fleet.down();
}

#[test]
fn status_says_who_keeps_the_fleet_and_shows_it_as_last_read_when_the_files_are_broken() {
    let fleet = Fleet::new();
    let file = fleet.agents([agent("a")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    fleet.farhelm(["status"]).ok().says(&format!("kept by watch (pid {})", watching.pid()));
    let text = fs::read_to_string(&file).expect("just written");
    fs::write(&file, "sessions: [").expect("our own file");
    let ran = fleet.farhelm(["status"]).ok().says("running").mentions("as `watch` last read it");
    assert!(ran.stderr.contains("farhelm.yaml"), "{ran}");
    fleet.farhelm(["status", "--health"]).code(1);
    fs::write(&file, text).expect("our own file");
    watching.stop();
    fleet.farhelm(["status"]).ok().never_says("kept by watch");
    fleet.down();
}

#[test]
fn logs_show_the_terminal_of_what_runs_and_the_last_lines_of_what_ran() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--say first-4711")]);
    fleet.apply();
    fleet.started("a", 1);
    wait_until("it says so", || fleet.farhelm(["logs", "a"]).ok().stdout.contains("first-4711"));
    fleet.agents([agent("a").does("--say second-4712")]);
    fleet.apply();
    wait_until("it says so", || fleet.farhelm(["logs", "a"]).ok().stdout.contains("second-4712"));
    fleet.tmux().kill_server();
    fleet.farhelm(["logs", "a"]).ok().says("first-4711");
    fleet.farhelm(["logs", "b"]).code(1).mentions("no session `b`");
    fleet.down();
}
