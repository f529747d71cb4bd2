//! Situations reported against planners: which sessions are ours to end, and how many at once.

use std::fs;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;

#[test]
fn c14_one_forbidden_reap_does_not_keep_the_others() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b").with("protect: true"), agent("c"), agent("d")]);
    fleet.apply();
    let pids = fleet.pids(&["a", "b", "c", "d"]);
    fleet.agents([agent("d")]);
    fleet.farhelm(["plan"]).ok().says("blocked").says("2 to reap");
    fleet.apply();
    let running: Vec<bool> = pids.iter().map(|pid| process::runs(*pid)).collect();
    assert_eq!(running, [false, true, false, true]);
    fleet.farhelm(["unprotect", "b"]).ok();
    fleet.down();
}

#[test]
fn c15_what_only_looks_like_ours_is_left_alone() {
    let fleet = Fleet::new();
    fleet.agents([agent("a")]);
    fleet.apply();
    let tmux = fleet.tmux();
    // The same name pattern; a window of the user's in our session; a copy of our stamp without our owner.
    tmux.run(&["new-session", "-d", "-s", "t_b", "sleep 1000"]);
    tmux.run(&["new-window", "-d", "-t", "=t_a:", "-n", "mine", "sleep 1000"]);
    tmux.run(&["new-session", "-d", "-s", "copy", "sleep 1000"]);
    tmux.run(&["set-option", "-p", "-t", "=copy:", "@farhelm_stamp", "fleet=t;session=copy"]);
    fleet.agents([]);
    fleet.farhelm(["plan"]).ok().says("1 to reap");
    fleet.apply();
    let left: Vec<String> = tmux.panes().into_iter().map(|pane| pane.session).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    fleet.down();
    assert_eq!(tmux.panes().len(), 3);
}

#[test]
fn c15_more_reaps_than_the_cap_are_blocked_as_a_whole() {
    let names = ["a", "b", "c", "d"];
    let fleet = Fleet::new();
    fleet.agents(names.map(agent));
    fleet.apply();
    fleet.agents_under("policy: {max_reap: 2}", [agent("a")]);
    fleet.farhelm(["plan", "--detailed-exitcode"]).ok().says("3 blocked");
    fleet.apply();
    assert_eq!(fleet.marked().len(), 4);
    fleet.farhelm(["apply", "-y", "--max-reap", "3"]).ok();
    assert_eq!(fleet.marked().len(), 1);
    fleet.down();
}

#[test]
fn c27_a_lost_state_directory_is_rebuilt_from_the_stamps_without_a_restart() {
    let names = ["a", "b", "c"];
    let fleet = Fleet::new();
    fleet.agents(names.map(|name| agent(name).with("tabs: {shell: {}}").with("env: {X: y}")));
    fleet.apply();
    let before = fleet.pids(&names);
    let tabs: Vec<_> = names.iter().map(|name| fleet.status().of(name).tabs[0].pid).collect();
    fs::remove_dir_all(fleet.state()).expect("our own directory");

    fleet.farhelm(["plan"]).ok().says("adopt");
    fleet.apply();
    assert_eq!(fleet.pids(&names), before);
    let after: Vec<_> = names.iter().map(|name| fleet.status().of(name).tabs[0].pid).collect();
    assert_eq!(after, tabs);
    fleet.is_settled();

    // The sources are known again: what is removed from them is reaped.
    fleet.agents([agent("a").with("tabs: {shell: {}}").with("env: {X: y}")]);
    fleet.apply();
    assert!(!process::runs(before[1]));
    fleet.down();
}

#[test]
fn other_sources_destroy_nothing_until_told_to_take_over() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    let pids = fleet.pids(&["a", "b"]);
    let text = fs::read_to_string(fleet.agents([agent("a")])).expect("just written");
    fleet.file("copy/farhelm.yaml", text);

    fleet.farhelm(["plan", "copy/farhelm.yaml"]).ok().says("blocked").mentions("--take-over");
    fleet.farhelm(["apply", "-y", "copy/farhelm.yaml"]).ok();
    assert!(process::runs(pids[1]));
    fleet.farhelm(["apply", "-y", "copy/farhelm.yaml", "--take-over"]).ok();
    assert!(!process::runs(pids[1]));
    assert!(process::runs(pids[0]));
    fleet.farhelm(["down", "-y", "copy/farhelm.yaml"]).ok();
    assert_eq!(fleet.marked(), []);
}

#[test]
fn a_removed_session_and_a_new_one_in_its_directory_are_probably_a_rename() {
    let fleet = Fleet::new();
    fleet.agents([agent("old")]);
    fleet.apply();
    let pid = fleet.pid("old");
    let text = fs::read_to_string(fleet.agents([agent("new")])).expect("just written");
    fleet.file("farhelm.yaml", text.replace("/new'\n    invocation", "/old'\n    invocation"));
    fleet.farhelm(["plan"]).ok().says("blocked").says("moved");
    fleet.apply();
    assert!(process::runs(pid));
    assert_eq!(fleet.starts("new"), []);
    fleet.down();
}

#[test]
fn a_paused_session_is_left_alone_until_it_is_unpaused() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    fleet.farhelm(["pause", "a", "-m", "looking at it"]).ok();
    fleet.crash("a");
    fleet.farhelm(["plan"]).ok().says("blocked").says("looking at it");
    fleet.apply();
    assert_eq!(fleet.starts("a").len(), 1);
    assert_eq!(fleet.status().of("a").health, "paused");
    fleet.farhelm(["unpause", "a"]).ok();
    fleet.apply();
    fleet.started("a", 2);
    fleet.down();
}

#[test]
fn a_fleet_that_is_down_stays_down_until_the_next_apply() {
    let fleet = Fleet::new();
    fleet.agents([agent("a"), agent("b")]);
    fleet.apply();
    fleet.down();
    fleet.farhelm(["down", "-y"]).ok();
    fleet.apply();
    fleet.started("a", 2);
    fleet.down();
}
