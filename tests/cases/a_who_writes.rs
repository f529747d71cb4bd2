//! Situations reported against session managers: several commands at once, killed commands, commands from inside tmux.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::fleet::{Fleet, agent};
use crate::support::operator::Operator;
use crate::support::process;
use crate::support::terminal::Terminal;
use crate::support::wait::wait_until;

#[test]
fn a11_it_runs_inside_tmux_without_touching_the_session_it_runs_in() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let mine = Terminal::new(fleet.path("my-tmux"), fleet.path("home"));
    Operator::runs(&fleet, &mine, "mine", &["apply", "-y"]).ends_with(0);
    assert_eq!(mine.sessions(), ["mine"]);
    assert_eq!(mine.stamped(), []);
    let start = fleet.started("a", 1);
    let of_tmux: Vec<&String> =
        start.environment.keys().filter(|name| *name == "TMUX" || *name == "TMUX_PANE").collect();
    assert!(of_tmux.is_empty(), "{of_tmux:?}");
    mine.kill_server();
    fleet.down();
}

#[test]
fn a12_an_unrelated_session_on_the_same_server_stays_as_it_is() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let tmux = fleet.tmux();
    Operator::runs(&fleet, &tmux, "mine", &["apply", "-y"]).ends_with(0);
    let look = || {
        let windows =
            tmux.run(&["list-windows", "-t", "=mine", "-F", "#{window_id} #{automatic-rename} #{window_width}"]);
        (windows, tmux.run(&["show-options", "-t", "=mine:"]))
    };
    let before = look();
    assert_eq!(before.0.lines().count(), 1, "{}", before.0);
    fleet.pid("a");
    fleet.down();
    assert_eq!(tmux.sessions(), ["mine"]);
    assert_eq!(look(), before);
}

#[test]
fn a13_two_restarts_at_the_same_instant_leave_exactly_one_instance() {
    let repeats = std::env::var("FARHELM_TEST_REPEATS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let fleet = Fleet::new();
    fleet.agents([agent("x")]);
    fleet.apply();
    for _ in 0..repeats {
        let both = [fleet.start(["restart", "x"]), fleet.start(["restart", "x"])];
        let codes = both.map(|run| run.wait().code);
        assert!(codes.contains(&0), "neither restarted it: {codes:?}");
        let pid = fleet.pid("x");
        let marked: Vec<i32> = fleet.marked().iter().map(|p| p.pid).collect();
        assert_eq!(marked, [pid]);
    }
    fleet.is_settled();
    fleet.down();
}

#[test]
fn a21_after_a_kill_in_mid_apply_the_next_apply_completes_it() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let fleet = Fleet::new();
    fleet.agents_under("policy: {launch: {parallel: 1, stagger: 200ms}}", names.map(agent));
    let first = fleet.start(["apply", "-y"]);
    wait_until("the first agents start", || fleet.marked().len() >= 2);
    process::signal(first.pid(), Signal::SIGKILL);
    first.wait().code(137);

    fleet.apply();
    for name in names {
        fleet.started(name, 1);
    }
    assert_eq!(fleet.marked().len(), names.len());
    fleet.is_settled();
    fleet.down();
}

#[test]
fn a25_what_was_launched_before_a_kill_is_known_afterwards() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    let first = fleet.start(["apply", "-y"]);
    wait_until("the agent starts", || fleet.starts("a").len() == 1);
    std::thread::sleep(Duration::from_millis(100)); // the situation's own number
    process::signal(first.pid(), Signal::SIGKILL);
    let _ = first.wait();

    let plan = fleet.farhelm(["plan", "--json"]).ok().json();
    assert_eq!((&plan["counters"]["launch"], &plan["counters"]["restart"]), (&0.into(), &0.into()), "{plan:#}");
    fleet.apply();
    fleet.started("a", 1);
    fleet.is_settled();
    fleet.down();
}

#[test]
fn b22_two_applies_at_once_launch_each_session_once() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b"), agent("c")]);
    let both = [fleet.start(["apply", "-y"]), fleet.start(["apply", "-y"])];
    let ran = both.map(crate::support::ran::Running::wait);
    assert!(ran.iter().any(|r| r.code == 0), "{ran:?}");
    for name in ["a", "b", "c"] {
        fleet.started(name, 1);
    }
    assert_eq!(fleet.marked().len(), 3);
    fleet.is_settled();
    fleet.down();
}

#[test]
fn an_interrupt_finishes_what_has_begun_and_begins_nothing_else() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let fleet = Fleet::new();
    fleet.agents_under("policy: {launch: {parallel: 1, stagger: 500ms}}", names.map(agent));
    let first = fleet.start(["apply", "-y"]);
    wait_until("the first agent starts", || !fleet.marked().is_empty());
    process::signal(first.pid(), Signal::SIGINT);
    first.wait().code(130);
    let running = fleet.marked();
    assert!(running.len() < names.len(), "it went on");

    let plan = fleet.farhelm(["plan", "--json"]).ok().json();
    assert_eq!(plan["counters"]["launch"], names.len() - running.len(), "{plan:#}");
    assert_eq!(plan["counters"]["restart"], 0, "{plan:#}");
    fleet.apply();
    for name in names {
        fleet.started(name, 1);
    }
    assert!(running.iter().all(|p| process::seen(p.pid) == Some(*p)), "what had been started was restarted");
    fleet.down();
}

#[test]
fn a_second_interrupt_ends_the_waiting_for_a_slow_stop() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--ignore TERM").with("stop: {grace: 60s}")]);
    fleet.apply();
    let stop = fleet.start(["stop", "a"]);
    std::thread::sleep(Duration::from_millis(700)); // the stop sends TERM, then waits
    process::signal(stop.pid(), Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(300)); // two signals at once are one
    process::signal(stop.pid(), Signal::SIGINT);
    stop.wait().code(130);
    // Nothing is left frozen.
    for p in fleet.marked() {
        let stat = fs::read_to_string(format!("/proc/{}/stat", p.pid)).unwrap_or_default();
        assert!(!stat.contains(") T "), "left stopped: {stat}");
    }
}

#[test]
fn an_interrupt_ends_the_waiting_for_a_secret_and_the_next_apply_starts_its_session() {
    let fleet = Fleet::new();
    let with = |script: &str| agent("a").with(&format!("env_from: {{T: {{command: [sh, -c, '{script}']}}}}"));
    fleet.agents([with("echo pid $$$$ >> @RECORDS@/asked; exec sleep 1000")]);
    let apply = fleet.start(["apply", "-y"]);
    wait_until("the secret is fetched", || !fleet.noted("asked").is_empty());
    let vault = fleet.noted("asked")[0].1;
    fleet.end_with_fleet(vault);
    let begin = Instant::now();
    process::signal(apply.pid(), Signal::SIGINT);
    apply.wait().code(130).mentions("interrupted");
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    wait_until("the command is ended", || !process::runs(vault));
    assert_eq!(fleet.marked(), []);
    fleet.agents([with("echo x")]);
    fleet.apply();
    fleet.started("a", 1);
    fleet.down();
}
