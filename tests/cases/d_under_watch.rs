//! Situations of processes and tmux, met by a resident `watch`.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::fleet::{Fleet, agent};
use crate::support::process;
use crate::support::wait::{wait_at_most, wait_until};
use crate::support::watching::Watching;

/// `watch` may reap.
const PRUNE: &str = "policy: {watch: {prune: true}, launch: {stagger: 0s}}";
const CHILDREN: &str = "--children plain,nohup,setsid,double-fork,scrubbed --pids @RECORDS@/pids";

/// What still runs of the noted children, by how they were started.
fn survivors(fleet: &Fleet) -> Vec<String> {
    fleet.noted("pids").into_iter().filter(|(_, pid)| process::runs(*pid)).map(|(how, _)| how).collect()
}

/// Starts `a` with the children beside `b`, and removes it from the files.
fn reaps_with_children(fleet: &Fleet) {
    fleet.agents_under(PRUNE, [agent("a").does(CHILDREN), agent("b")]);
    let watching = Watching::start(fleet);
    wait_until("the children start", || fleet.noted("pids").len() == 5);
    for (_, pid) in fleet.noted("pids").into_iter().filter(|(how, _)| how == "scrubbed") {
        fleet.end_with_fleet(pid);
    }
    let b = fleet.started("b", 1);
    fleet.agents_under(PRUNE, [agent("b")]);
    watching.did("reap", "a");
    assert!(process::runs(b.pid));
    watching.stop();
    fleet.down();
}

#[test]
fn d1_under_watch_every_child_ends_but_a_detached_scrubbed_one() {
    let fleet = Fleet::new();
    reaps_with_children(&fleet);
    assert_eq!(survivors(&fleet), ["scrubbed"]);
}

#[test]
fn d1_under_watch_and_a_scope_every_child_ends() {
    let Some(fleet) = Fleet::under_a_user_manager() else { return };
    reaps_with_children(&fleet);
    assert_eq!(survivors(&fleet), [""; 0]);
}

#[test]
fn d2_a_session_that_forks_while_watch_ends_it_ends() {
    let fleet = Fleet::new();
    let forks = agent("a").does("--forks-on-term 400 --pids @RECORDS@/pids").with("stop: {grace: 2s}");
    fleet.agents_under(PRUNE, [forks, agent("b")]);
    let watching = Watching::start(&fleet);
    fleet.started("a", 1);
    let b = fleet.started("b", 1);
    fleet.agents_under(PRUNE, [agent("b")]);
    watching.did("reap", "a");
    assert!(fleet.noted("pids").len() > 20, "it did not fork");
    assert_eq!(survivors(&fleet), [""; 0]);
    assert!(process::runs(b.pid));
    watching.stop();
    fleet.down();
}

#[test]
fn d11_a_hangup_in_the_middle_of_a_launch_of_watch_leaves_one_agent() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").with("before_launch: {run: [sleep, '1']}")]);
    let watching = Watching::start(&fleet);
    wait_until("the pane is open", || !fleet.tmux().stamped().is_empty());
    for pane in fleet.tmux().stamped() {
        process::signal(pane.pid, Signal::SIGHUP);
        process::signal(pane.pid, Signal::SIGCONT);
    }
    wait_until("it runs", || fleet.agent_count("a") == 1);
    wait_until("it is in sync", || fleet.status().of("a").sync == "in-sync");
    let latest = fleet.starts("a").pop().expect("it has started");
    assert_eq!(fleet.marked().iter().map(|p| p.pid).collect::<Vec<_>>(), [latest.pid]);
    watching.stop();
    fleet.down();
}

#[test]
fn d13_watch_ends_left_overs_before_it_launches_again() {
    let fleet = Fleet::new();
    fleet.agents([agent("a").does("--children nohup,setsid,double-fork --pids @RECORDS@/pids")]);
    let watching = Watching::start(&fleet);
    wait_until("the children start", || fleet.noted("pids").len() == 3);
    fleet.started("a", 1);
    let old = fleet.noted("pids");
    fleet.tmux().kill_server();
    fleet.started("a", 2);
    assert!(old.iter().all(|(_, pid)| !process::runs(*pid)), "left-overs live beside the new agent");
    watching.stop();
    fleet.down();
}

#[test]
fn d13_an_agent_that_outlives_its_wrapper_has_its_grace_and_gets_no_second_one_beside_it() {
    let fleet = Fleet::new();
    let wrapped = "invocation: [sh, -c, 'setsid \"$@\" & exec sleep 1000', w, '@AGENT@', --ignore, TERM, --record, \
                   '@RECORDS@/a']";
    fleet.agents([agent("a").with(wrapped).with("stop: {grace: 4s}"), agent("b")]);
    let watching = Watching::start(&fleet);
    let (first, b) = (fleet.started("a", 1), fleet.started("b", 1));
    wait_until("it is known to run", || fleet.status().of("a").sync == "in-sync");
    process::kill_hard(fleet.pid("a"));
    wait_until("what is left is asked to end", || fleet.record("a")["leaving"].is_array());
    // Others do not wait for it.
    process::kill_hard(b.pid);
    fleet.started("b", 2);
    assert!(process::runs(first.pid), "it has its grace");
    assert_eq!(fleet.starts("a").len(), 1);
    fleet.started("a", 2);
    assert!(!process::runs(first.pid), "two writers");
    watching.stop();
    fleet.down();
}

#[test]
fn d14_a_loop_that_succeeds_each_time_is_slowed_down_and_given_up() {
    let fleet = Fleet::new();
    let always = "restart: {when: always, backoff: {initial: 500ms, max: 2s}, max_restarts: 4}";
    fleet.agents([agent("a").does("--exit 0").with(always)]);
    let begun = Instant::now();
    let watching = Watching::start(&fleet);
    watching.held("a", "crash-loop");
    // Nothing, 500 ms, 1 s and 2 s, each up to a quarter shorter.
    assert!(begun.elapsed() > Duration::from_millis(2_600), "{:?}", begun.elapsed());
    fleet.started("a", 5);
    watching.stop();
    fleet.down();
}

#[test]
fn d18_under_watch_the_end_of_one_scope_brings_back_its_session_and_touches_no_other() {
    let Some(fleet) = Fleet::under_a_user_manager() else { return };
    fleet.agents_under("policy: {launch: {parallel: 1, stagger: 300ms}}", [agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let (_, b) = (fleet.started("a", 1), fleet.started("b", 1));
    let server = fleet.tmux().server().expect("there is a server");
    let id = fleet.status().of("a").id.clone().expect("it has an id");
    let scopes = fleet.manager().scopes();
    let first = scopes.iter().find(|scope| scope.contains(&id)).unwrap_or_else(|| panic!("{id} is not in {scopes:?}"));
    fleet.manager().systemctl(&["kill", "--signal", "KILL", first]);
    fleet.started("a", 2);
    assert!(process::runs(server));
    assert_eq!(fleet.pid("b"), b.pid);
    watching.stop();
    fleet.down();
}

/// While tmux is broken nothing is killed or launched by `watch`, which says so once; afterwards it heals by itself.
fn nothing_is_done_while_tmux(instead: &str) {
    let fleet = Fleet::new();
    let flag = fleet.breakable_tmux(instead);
    fleet.agents([agent("a"), agent("b")]);
    let watching = Watching::start(&fleet);
    let (a, b) = (fleet.started("a", 1), fleet.started("b", 1));
    wait_until("both are known to run", || fleet.status().sessions.iter().all(|session| session.sync == "in-sync"));
    fs::write(&flag, "").expect("a file");
    process::kill_hard(a.pid);
    watching.held("a", "unobservable");
    thread::sleep(Duration::from_secs(5));
    assert_eq!(watching.count(|line| line["said"] == "held" && line["session"] == "a"), 1, "{:#?}", watching.said());
    assert!(process::runs(b.pid));
    fleet.started("a", 1);
    fs::remove_file(&flag).expect("just made");
    wait_at_most(Duration::from_secs(90), "it is back", || fleet.starts("a").len() == 2);
    assert_eq!(fleet.pid("b"), b.pid);
    watching.stop();
    fleet.down();
}

#[test]
fn b17_under_watch_nothing_is_done_while_tmux_does_not_answer() {
    nothing_is_done_while_tmux("exec sleep 1000");
}

#[test]
fn d28_under_watch_nothing_is_done_while_tmux_speaks_another_protocol_than_its_server() {
    nothing_is_done_while_tmux(
        "[ \"$1\" = -V ] && echo 'tmux 3.5' && exit 0\necho 'open terminal failed: protocol version mismatch (client 8, server 7)' >&2; exit 1",
    );
}

#[test]
fn c20_an_error_whose_words_change_each_time_is_told_once_and_not_tried_in_a_hot_loop() {
    let fleet = Fleet::new();
    let secret = "env_from: {TOKEN: {command: [sh, -c, 'echo \"no /tmp/key.$$\" >&2; exit 1']}}";
    fleet.agents([agent("a").with(secret), agent("b")]);
    let watching = Watching::start(&fleet);
    fleet.started("b", 1);
    let failed = |line: &serde_json::Value| line["session"] == "a" && line["failure"].is_string();
    watching.wait("said that it failed", failed);
    thread::sleep(Duration::from_secs(8));
    assert_eq!(watching.count(failed), 1, "{:#?}", watching.said());
    let events = fleet.farhelm(["events"]).ok().stdout;
    let tries = events.lines().filter(|line| line.contains("\"a\"") && line.contains("failed")).count();
    assert!((1..=3).contains(&tries), "{events}");
    watching.stop();
    fleet.down();
}
